//! A budget of bytes per second.

use std::time::Duration;

/// Time for which an unused budget is kept: no burst is longer.
const SAVED_MAX: Duration = Duration::from_millis(250);

/// Longest wait after one piece of work; the rest of the time follows the next piece.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Spreads work over time. Times are those since any fixed moment.
#[derive(Clone, Copy, Debug)]
pub struct BytePace {
    bytes_per_s: f64,
    /// Time by which all bytes so far are paid for.
    paid_at: Duration,
}

impl BytePace {
    /// At most this number of bytes per second, one at least.
    #[must_use]
    pub fn new(bytes_per_s: u64) -> Self {
        Self { bytes_per_s: bytes_per_s.max(1) as f64, paid_at: Duration::ZERO }
    }

    /// Counts bytes that were read at `now`; the time to wait before more are.
    pub fn charge(&mut self, bytes: u64, now: Duration) -> Duration {
        // A year: sums of absurd numbers stay times.
        let cost_s = (bytes as f64 / self.bytes_per_s).min(31_536_000.0);
        let begin = self.paid_at.max(now.saturating_sub(SAVED_MAX));
        self.paid_at = begin.saturating_add(Duration::from_secs_f64(cost_s));
        self.paid_at.saturating_sub(now).min(WAIT_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Work that waits as it is asked to stays within its budget, but for the first burst.
        #[test]
        fn bytes_are_spread_over_time(
            pieces in prop::collection::vec((0_u64..2_000_000, 0_u64..50), 1..200),
            rate in 100_000_u64..10_000_000,
        ) {
            let mut pace = BytePace::new(rate);
            let (mut now, mut total) = (Duration::from_secs(5), 0);
            for (bytes, work_ms) in pieces {
                now += Duration::from_millis(work_ms);
                total += bytes;
                now += pace.charge(bytes, now);
            }
            let passed = (now - Duration::from_secs(5) + SAVED_MAX).as_secs_f64();
            prop_assert!(total as f64 <= passed * rate as f64 + 1.0, "{total} in {passed} s");
        }
    }

    #[test]
    fn a_wait_is_bounded_and_its_rest_is_not_forgotten() {
        let mut pace = BytePace::new(1_000);
        let now = Duration::from_secs(1_000);
        assert_eq!(pace.charge(50_000, now), WAIT_MAX);
        let rest = pace.charge(0, now + WAIT_MAX);
        assert!(rest > Duration::from_secs(19) && rest <= WAIT_MAX, "{rest:?}");
        assert_eq!(BytePace::new(0).charge(u64::MAX, now), WAIT_MAX);
        assert_eq!(BytePace::new(u64::MAX).charge(1 << 40, now), Duration::ZERO);
    }
}
