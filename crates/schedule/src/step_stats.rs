//! Statistics of one task's steps.

use std::time::Duration;

/// Frames since the last look, with the worst kept: one slow frame must not vanish in a mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepStats {
    /// Frames that ended.
    pub frames: u64,
    /// Time they took together.
    pub took: Duration,
    /// The longest of them.
    pub took_max: Duration,
    /// Steps that began later than [`StepStats::LATE`] after their due time.
    pub late: u64,
    /// The latest of all, late or not.
    pub late_by_max: Duration,
}

impl StepStats {
    /// Delay from which on a step counts as late: more than the jitter of a thread's wake-up.
    pub const LATE: Duration = Duration::from_millis(5);

    pub(crate) fn add(&mut self, took: Duration, late_by: Duration) {
        self.frames += 1;
        self.took += took;
        self.took_max = self.took_max.max(took);
        self.late += u64::from(late_by > Self::LATE);
        self.late_by_max = self.late_by_max.max(late_by);
    }
}
