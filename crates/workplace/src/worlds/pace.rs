//! Ticks of a world, those on time and those that were dilated: sums that only rise, so that no look between two others loses the worst tick.

use std::ops::AddAssign;
use std::time::Duration;

/// Lower edges of the classes of dilation, the highest first. Dilation is 1 or at most 0.99: the schedule treats values between as
/// noise.
const EDGES: [(f32, &str); 12] = [
    (0.98, "0.98"),
    (0.97, "0.97"),
    (0.96, "0.96"),
    (0.95, "0.95"),
    (0.94, "0.94"),
    (0.92, "0.92"),
    (0.9, "0.9"),
    (0.8, "0.8"),
    (0.65, "0.65"),
    (0.5, "0.5"),
    (0.25, "0.25"),
    (0.0, "0"),
];

/// Statistics of a world's ticks since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickTotals {
    /// Ticks.
    pub ticks: u64,
    /// Ticks finished within one tick of their due time.
    pub on_time: u64,
    /// By class of [`EDGES`].
    dilated: [u64; EDGES.len()],
}

impl TickTotals {
    /// Counts a tick with its lateness, duration and dilation.
    pub(super) fn count(&mut self, late_by: Duration, took: Duration, dt: Duration, dilation: f32) {
        self.ticks += 1;
        self.on_time += u64::from(late_by + took <= dt);
        if dilation < 1.0 {
            let class = EDGES.iter().position(|(edge, _)| dilation >= *edge).unwrap_or(EDGES.len() - 1);
            self.dilated[class] += 1;
        }
    }

    /// Dilated ticks by the lower edge of their class; classes without any are left out.
    pub fn dilated(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let classes = EDGES.iter().zip(self.dilated).map(|((_, name), ticks)| (*name, ticks));
        classes.filter(|(_, ticks)| *ticks > 0)
    }
}

impl AddAssign for TickTotals {
    fn add_assign(&mut self, more: Self) {
        self.ticks += more.ticks;
        self.on_time += more.on_time;
        self.dilated.iter_mut().zip(more.dilated).for_each(|(ticks, more)| *ticks += more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_tick_is_on_time_when_it_is_done_before_the_next_one_is_due() {
        let mut totals = TickTotals::default();
        for (late, took) in [(0, 50), (20, 30), (20, 31), (60, 1), (0, 51)] {
            totals.count(ms(late), ms(took), ms(50), 1.0);
        }
        assert_eq!((totals.ticks, totals.on_time, totals.dilated().count()), (5, 2, 0));
    }

    #[test]
    fn every_dilated_tick_is_in_the_class_whose_edge_is_next_below_it() {
        let mut totals = TickTotals::default();
        for dilation in [1.0, 0.9504, 0.95, 0.949, 0.1, 0.985, f32::NAN] {
            totals.count(ms(0), ms(1), ms(50), dilation);
        }
        let mut both = totals;
        both += totals;
        for (totals, times) in [(totals, 1), (both, 2)] {
            let dilated: Vec<_> = totals.dilated().collect();
            assert_eq!(dilated, [("0.98", times), ("0.95", 2 * times), ("0.94", times), ("0", times)]);
            assert_eq!(totals.ticks, 7 * times);
        }
    }
}
