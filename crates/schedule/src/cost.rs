//! Expected duration of a world's next step, learned from its last ones.

use std::time::Duration;

/// Share of the newest step in the estimate, as a power of two: 1/4, a mean over about four steps.
///
/// A batch lasts as long as its last worker, so expensive steps must not begin last. Nearly any estimate achieves that: in the model
/// (`cargo bench -p schedule --bench model`: 36 workers, costs that drift by 10 % a frame) frames exceed the shortest possible length
/// by 0.17 % with the last step alone, 0.23 % with 1/4, 0.27 % with 1/8 and 0.32 % with 1/16. The choice depends on reaction to change:
/// 1/8 needs ten frames to follow a crowd into a world, and the last step alone follows every page fault and preemption.
const SHIFT: u32 = 2;

/// Estimates within a sixteenth beyond its borders leave a task in its class.
const HYSTERESIS_SHIFT: u32 = 4;

/// An estimate, and the class that it is ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CostEstimate {
    estimate_ns: u64,
    class: CostClass,
}

/// Costs of equal rank: four classes an octave, each at most a quarter wide.
///
/// Worlds of similar cost keep their order from frame to frame, since a world whose place in the batch varies gets its frames at uneven
/// intervals. Exact order would gain nothing: longest-first needs long steps early, not sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CostClass(pub(crate) u8);

impl CostClass {
    /// Number of classes.
    pub(crate) const COUNT: usize = 1 << u8::BITS;

    const fn of(ns: u64) -> Self {
        // The place of the highest bit, and the next two bits.
        let octave = (ns | 4).ilog2();
        Self((octave << 2 | (ns >> (octave - 2) & 3) as u32) as u8)
    }
}

impl CostEstimate {
    /// Learns from the duration of a frame.
    pub(crate) fn record_duration(&mut self, took: Duration) {
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) >> SHIFT;
        self.estimate_ns = match self.estimate_ns {
            // Nothing is known yet.
            0 => took_ns << SHIFT,
            ns => ns - (ns >> SHIFT) + took_ns,
        };
        let margin_ns = self.estimate_ns >> HYSTERESIS_SHIFT;
        let (least, most) = (
            CostClass::of(self.estimate_ns - margin_ns),
            CostClass::of(self.estimate_ns.saturating_add(margin_ns)),
        );
        if self.class < least || self.class > most {
            self.class = CostClass::of(self.estimate_ns);
        }
    }

    pub(crate) const fn estimate(&self) -> Duration {
        Duration::from_nanos(self.estimate_ns)
    }

    pub(crate) const fn class(&self) -> CostClass {
        self.class
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn us(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    fn learned(frames: impl IntoIterator<Item = Duration>) -> CostEstimate {
        let mut cost = CostEstimate::default();
        frames.into_iter().for_each(|took| cost.record_duration(took));
        cost
    }

    #[test]
    fn the_first_frame_is_believed_and_a_change_within_some_frames() {
        let mut cost = learned([us(400)]);
        assert_eq!(cost.estimate(), us(400));
        (0..8).for_each(|_| cost.record_duration(us(4_000)));
        assert!(cost.estimate() > us(3_500), "{cost:?}");
    }

    #[test]
    fn one_page_fault_is_forgotten() {
        let steady = learned([us(100); 20]);
        let mut cost = steady;
        cost.record_duration(us(3_000));
        assert!(cost.class() > steady.class());
        (0..16).for_each(|_| cost.record_duration(us(100)));
        assert_eq!(cost.class(), steady.class());
    }

    #[test]
    fn a_similar_cost_stays_in_its_class() {
        // Around the border between two classes.
        let mut cost = learned([us(1_048); 20]);
        let class = cost.class();
        for frame in 0..100 {
            cost.record_duration(us(if frame % 2 == 0 { 1_000 } else { 1_100 }));
            assert_eq!(cost.class(), class);
        }
    }

    proptest! {
        #[test]
        fn classes_are_in_the_order_of_costs_and_none_is_wider_than_a_quarter(ns in 16..u64::MAX / 2) {
            prop_assert!(CostClass::of(ns) <= CostClass::of(ns + 1));
            prop_assert!(CostClass::of(ns) < CostClass::of(ns + ns / 4 + 1));
        }

        #[test]
        fn no_frame_upsets_the_estimate(frames in prop::collection::vec(any::<u64>(), 0..50)) {
            let most = frames.iter().copied().max().unwrap_or(0);
            prop_assert!(learned(frames.into_iter().map(Duration::from_nanos)).estimate().as_nanos() <= u128::from(most));
        }
    }
}
