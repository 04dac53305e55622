//! Real time and a pace for long work, of the server's jobs and of commands.

use backup::{BytePace, WorkDriver, WorkEnded};
use jobs::JobProgress;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;
use workplace::opaque_debug;

/// A request to end, which a waiting thread notices at once.
#[derive(Debug, Default)]
pub struct EndRequest {
    is_made: Mutex<bool>,
    made: Condvar,
}

impl EndRequest {
    /// Makes the request.
    pub fn make(&self) {
        *self.is_made.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.made.notify_all();
    }

    /// Waits for the request, at most for this time; true if it was made.
    pub fn wait(&self, time: Duration) -> bool {
        let is_made = self.is_made.lock().unwrap_or_else(PoisonError::into_inner);
        if time.is_zero() {
            return *is_made;
        }
        let waited = self.made.wait_timeout_while(is_made, time, |is_made| !*is_made);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Real time for long work.
pub struct WorkClock<'a> {
    /// Time since any fixed moment.
    pub monotonic: &'a dyn Fn() -> Duration,
    /// Seconds since 1970.
    pub unix_s: &'a dyn Fn() -> i64,
}

/// Drives long work at a pace, until a request to end.
pub struct PacedDriver<'a> {
    /// The time.
    pub clock: WorkClock<'a>,
    /// None: as fast as the disk.
    pub pace: Option<BytePace>,
    /// The request to end.
    pub end: &'a EndRequest,
    /// Gets the progress of each part.
    pub show: &'a mut dyn FnMut(JobProgress),
}

opaque_debug!(WorkClock<'_>, PacedDriver<'_>);

impl WorkDriver for PacedDriver<'_> {
    fn unix_s(&self) -> i64 {
        (self.clock.unix_s)()
    }

    fn advance(&mut self, progress: JobProgress, bytes: u64) -> Result<(), WorkEnded> {
        (self.show)(progress);
        let now = (self.clock.monotonic)();
        let wait = self.pace.as_mut().map_or(Duration::ZERO, |pace| pace.charge(bytes, now));
        if self.end.wait(wait) { Err(WorkEnded) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn work_ends_when_that_is_requested_and_not_before() {
        let (end, mut shown) = (EndRequest::default(), Vec::new());
        let now = Cell::new(Duration::ZERO);
        let (monotonic, unix_s) = (|| now.get(), || 7);
        let mut show = |progress: JobProgress| shown.push(progress.done);
        let clock = WorkClock { monotonic: &monotonic, unix_s: &unix_s };
        let mut driver = PacedDriver { clock, pace: None, end: &end, show: &mut show };
        assert_eq!(driver.unix_s(), 7);
        let progress = |done| JobProgress { part: "rows", done, total: 9 };
        assert_eq!(driver.advance(progress(1), u64::MAX), Ok(()));
        end.make();
        assert_eq!(driver.advance(progress(2), 0), Err(WorkEnded));
        // Without waiting for its turn.
        driver.pace = Some(BytePace::new(1));
        assert_eq!(driver.advance(progress(3), 1_000_000), Err(WorkEnded));
        assert_eq!(shown, [1, 2, 3]);
    }
}
