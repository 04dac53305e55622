//! Backoff of the restarts of a task that panics.
//!
//! The first restart is immediate. Each restart costs the neighbours a restore, so the pauses double up to a limit;
//! [`Backoff::GOOD_WHILE`] without a panic resets them.

use ids::Instant;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Pause before the next restart, by the number of panics in a row. The default is [`Backoff::new`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Backoff {
    began_at: Instant,
    in_a_row: u32,
}

impl Backoff {
    /// The pause before the second restart in a row; the first has none.
    pub const FIRST: Duration = Duration::from_millis(500);
    /// The longest pause: short enough that users who wait for a region stay.
    pub const MOST: Duration = Duration::from_secs(60);
    /// Run time after which a task counts as healthy: longer than the longest pause, so that a task that panics at every restart never
    /// does.
    pub const GOOD_WHILE: Duration = Duration::from_secs(90);

    /// For a task that begins now.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self { began_at: now, in_a_row: 0 }
    }

    /// Records a panic; returns the time of the restart, to be confirmed with [`Backoff::began`].
    pub fn panicked(&mut self, now: Instant) -> Instant {
        if now.since(self.began_at) >= Self::GOOD_WHILE {
            self.in_a_row = 0;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        now + self.pause()
    }

    /// It runs again.
    pub const fn began(&mut self, now: Instant) {
        self.began_at = now;
    }

    /// Panics without a good while between them, up to the last one.
    #[must_use]
    pub const fn in_a_row(&self) -> u32 {
        self.in_a_row
    }

    fn pause(&self) -> Duration {
        match self.in_a_row {
            0 | 1 => Duration::ZERO,
            // Beyond 2^16 first pauses lies the limit anyway.
            n => (Self::FIRST * (1 << (n - 2).min(16))).min(Self::MOST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Pauses of a task that lives `lived` each time.
    fn pauses(n: usize, lived: Duration) -> Vec<u64> {
        let mut backoff = Backoff::new(at(0));
        let mut now = at(0);
        (0..n)
            .map(|_| {
                now += lived;
                let next = backoff.panicked(now);
                let pause = (next - now).as_millis() as u64;
                now = next;
                backoff.began(now);
                pause
            })
            .collect()
    }

    #[test]
    fn the_first_restart_comes_at_once_and_pauses_double_up_to_a_minute() {
        let expected = [0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000];
        assert_eq!(pauses(10, Duration::ZERO), expected);
        assert_eq!(pauses(10, Backoff::GOOD_WHILE / 2), expected);
    }

    #[test]
    fn a_good_while_makes_up_for_everything() {
        assert_eq!(pauses(5, Backoff::GOOD_WHILE), [0; 5]);
    }

    #[test]
    fn a_task_that_panics_for_ever_never_overflows() {
        assert_eq!(pauses(100, Duration::ZERO)[99], 60_000);
    }

    #[test]
    fn time_that_it_was_down_is_no_good_while() {
        let mut backoff = Backoff::new(at(0));
        for _ in 0..9 {
            backoff.panicked(at(0));
        }
        let next = backoff.panicked(at(0));
        backoff.began(next + Backoff::GOOD_WHILE);
        backoff.panicked(next + Backoff::GOOD_WHILE + Duration::from_millis(1));
        assert_eq!(backoff.in_a_row(), 11);
    }
}
