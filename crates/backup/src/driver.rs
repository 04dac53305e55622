//! The caller's side of long work: clock, pace, progress and end.

use jobs::JobProgress;

/// The work is to end before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it was ended")]
pub struct WorkEnded;

/// Drives long work.
pub trait WorkDriver {
    /// Time, seconds since 1970.
    fn unix_s(&self) -> i64;

    /// Called between pieces of work, with the bytes of the last one. It may wait to keep the pace, half a minute at most: a database ends the view of a client
    /// that is silent for longer.
    ///
    /// # Errors
    /// [`WorkEnded`] if the work is to end here.
    fn advance(&mut self, progress: JobProgress, bytes: u64) -> Result<(), WorkEnded>;
}
