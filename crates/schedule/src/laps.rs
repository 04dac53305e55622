//! What the frames of a task cost.

use std::time::Duration;

/// Frames since the last look, with the worst kept: one slow frame must not vanish in a mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Laps {
    /// Frames that ended.
    pub frames: u64,
    /// Time they took together.
    pub took: Duration,
    /// The longest of them.
    pub took_max: Duration,
    /// Frames that began later than [`Laps::LATE`] after they were due.
    pub late: u64,
    /// The latest of all, late or not.
    pub late_by_max: Duration,
}

impl Laps {
    /// A frame that begins later than this after its time counts as late: more than a wake-up's jitter.
    pub const LATE: Duration = Duration::from_millis(5);

    pub(crate) fn add(&mut self, took: Duration, late_by: Duration) {
        self.frames += 1;
        self.took += took;
        self.took_max = self.took_max.max(took);
        self.late += u64::from(late_by > Self::LATE);
        self.late_by_max = self.late_by_max.max(late_by);
    }
}
