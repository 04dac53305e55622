//! Backoff of restarts after crashes of the server.

use std::time::Duration;

/// Run time after which a server was well; the next crash counts as the first.
const GOOD_TIME: Duration = Duration::from_secs(60);
/// Pause after the second of two quick crashes; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Counts crashes in quick succession.
#[derive(Debug, Default)]
pub(super) struct CrashBackoff {
    quick_crashes: u32,
}

impl CrashBackoff {
    /// The pause after a crash of a server that ran for `ran_for`: none at first, since users are waiting.
    pub(super) fn after_crash(&mut self, ran_for: Duration) -> Duration {
        if ran_for >= GOOD_TIME {
            self.quick_crashes = 0;
        }
        let earlier = self.quick_crashes;
        self.quick_crashes = earlier.saturating_add(1);
        match earlier.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => {
                FIRST_PAUSE.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX)).min(PAUSE_MAX)
            }
        }
    }

    /// True if there was a crash since the server last ran well; now it has run for `ran_for`.
    pub(super) fn has_crashed_before(&self, ran_for: Duration) -> bool {
        self.quick_crashes > 0 && ran_for < GOOD_TIME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_restart_is_at_once_and_further_ones_wait_longer_and_longer() {
        let mut backoff = CrashBackoff::default();
        let pauses: Vec<u64> =
            (0..9).map(|_| backoff.after_crash(Duration::from_secs(5)).as_secs()).collect();
        assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
        backoff.quick_crashes = u32::MAX;
        assert_eq!(backoff.after_crash(Duration::ZERO), PAUSE_MAX);
    }

    #[test]
    fn a_good_time_forgives_earlier_failures() {
        let mut backoff = CrashBackoff::default();
        for _ in 0..5 {
            backoff.after_crash(Duration::ZERO);
        }
        assert_eq!(backoff.after_crash(GOOD_TIME), Duration::ZERO);
        assert_eq!(backoff.after_crash(Duration::ZERO), FIRST_PAUSE);
    }
}
