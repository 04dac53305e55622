//! Pause after writes of states that have failed: it doubles with each failure, from one journal period to half a minute.

use ids::Instant;
use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The pause, since a write has failed until one succeeds.
#[derive(Debug, Default)]
pub struct WritePause {
    failing: Option<Failing>,
}

/// Failures in a row.
#[derive(Debug)]
pub(super) struct Failing {
    pub(super) since: Instant,
    pub(super) n: u32,
    pub(super) next_at: Instant,
    pub(super) why: String,
}

impl WritePause {
    /// A write of states has failed. A failure within the pause, of another caller, does not prolong it.
    pub fn note_failure(&mut self, now: Instant, why: &str) {
        if let Some(failing) = self.failing.as_mut().filter(|failing| now < failing.next_at) {
            failing.why = why.to_owned();
            return;
        }
        let (since, n) = self.failing.as_ref().map_or((now, 0), |failing| (failing.since, failing.n));
        let pause = (FIRST_PAUSE * (1 << n.min(16))).min(PAUSE_MAX);
        self.failing = Some(Failing { since, n: n + 1, next_at: now + pause, why: why.to_owned() });
    }

    /// A write has succeeded. True if one had failed before.
    pub fn note_success(&mut self) -> bool {
        self.failing.take().is_some()
    }

    /// End of the pause; `None` since a write has succeeded.
    pub fn until(&self) -> Option<Instant> {
        self.failing.as_ref().map(|failing| failing.next_at)
    }

    pub(super) const fn failing(&self) -> Option<&Failing> {
        self.failing.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_up_to_its_maximum_and_ends_with_a_success() {
        let (mut pause, mut now) = (WritePause::default(), Instant::from_millis(1_000));
        let mut lengths = Vec::new();
        for _ in 0..8 {
            pause.note_failure(now, "full");
            let until = pause.until().expect("a write has failed");
            lengths.push((until - now).as_millis());
            pause.note_failure(now, "still full");
            assert_eq!(pause.until(), Some(until), "a failure within the pause does not prolong it");
            now = until;
        }
        assert_eq!(lengths, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
        assert!(pause.note_success() && !pause.note_success());
        assert_eq!(pause.until(), None);
    }
}
