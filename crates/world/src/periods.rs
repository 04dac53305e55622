//! Periodic work in world time, independent of the tick rate.
//!
//! A period in ticks would run more often, and cost more, at 45 Hz than at 20 Hz. Due times are therefore computed from the elapsed
//! world time and the step's length; both are deterministic.

use std::time::Duration;

/// Nanoseconds, ticks or frames of a world are fewer, by far: six years.
pub(crate) const TIME_MAX: u64 = u64::MAX / 100;

/// A step's world time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    from_ns: u64,
    length_ns: u64,
}

impl Span {
    /// The span `[from_ns, from_ns + dt)` since the world began.
    pub(crate) const fn new(from_ns: u64, dt: Duration) -> Self {
        Self { from_ns, length_ns: dt.as_nanos() as u64 }
    }

    /// True if work with period `period_ms`, first due at `offset_ms < period_ms`, is due in this span; at most once per step.
    pub(crate) const fn is_due(self, period_ms: u64, offset_ms: u64) -> bool {
        let period_ns = period_ms * 1_000_000;
        // Since the time that came last at which it was due, or comes now.
        let late_ns = (self.from_ns + period_ns - offset_ms * 1_000_000) % period_ns;
        late_ns == 0 || late_ns + self.length_ns > period_ns
    }

    /// Number of due times in this span for a rate of `per_s`.
    pub(crate) const fn n(self, per_s: u64) -> u64 {
        n_until(self.from_ns + self.length_ns, per_s) - self.n_before(per_s)
    }

    /// Number of due times before this span.
    pub(crate) const fn n_before(self, per_s: u64) -> u64 {
        n_until(self.from_ns, per_s)
    }
}

const fn n_until(ns: u64, per_s: u64) -> u64 {
    const SECOND_NS: u64 = 1_000_000_000;
    ns / SECOND_NS * per_s + ns % SECOND_NS * per_s / SECOND_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of ten seconds at this rate.
    fn steps(hz: u32) -> impl Iterator<Item = Span> {
        let dt = Duration::from_secs(1) / hz;
        (0..u64::from(hz) * 10).map(move |step| Span::new(step * dt.as_nanos() as u64, dt))
    }

    #[test]
    fn at_every_rate_it_comes_due_as_often() {
        for hz in [5, 20, 30, 45] {
            for (period_ms, offset_ms) in [(200, 0), (200, 150), (500, 0), (800, 350)] {
                let n = steps(hz).filter(|span| span.is_due(period_ms, offset_ms)).count() as u64;
                let expected = 10_000 / period_ms;
                assert!((expected..=expected + 1).contains(&n), "{n} at {hz} Hz, every {period_ms} ms");
            }
        }
    }

    #[test]
    fn at_20_hz_it_is_the_tick_that_begins_then() {
        for (tick, span) in steps(20).enumerate() {
            assert_eq!(span.is_due(500, 0), tick % 10 == 0, "tick {tick}");
            assert_eq!(span.is_due(800, 150), tick % 16 == 3, "tick {tick}");
            assert_eq!((span.n(80), span.n_before(80)), (4, 4 * tick as u64), "tick {tick}");
        }
    }

    #[test]
    fn shares_of_a_rate_per_second_add_up_to_it() {
        for hz in [1, 20, 30, 45, 100] {
            let in_each: Vec<u64> = steps(hz).map(|span| span.n(80)).collect();
            let all: u64 = in_each.iter().sum();
            assert!((799..=800).contains(&all), "{all} at {hz} Hz");
            let (least, most) = (in_each.iter().min(), in_each.iter().max());
            assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "evenly");
        }
    }
}
