//! A driver without a clock, which counts its calls, ends the work at one of them, and lets something happen meanwhile.

use backup::{WorkDriver, WorkEnded};
use jobs::JobProgress;

/// Called with the number of the call, from 1, and the progress.
pub(crate) type Meanwhile<'a> = Box<dyn FnMut(u64, JobProgress) + 'a>;

pub(crate) struct TestDriver<'a> {
    pub(crate) now_s: i64,
    pub(crate) calls: u64,
    end_at: Option<u64>,
    meanwhile: Option<Meanwhile<'a>>,
}

impl<'a> TestDriver<'a> {
    pub(crate) fn at(now_s: i64) -> Self {
        Self { now_s, calls: 0, end_at: None, meanwhile: None }
    }

    pub(crate) fn ending_at(now_s: i64, call: u64) -> Self {
        Self { end_at: Some(call), ..Self::at(now_s) }
    }

    pub(crate) fn with(now_s: i64, meanwhile: impl FnMut(u64, JobProgress) + 'a) -> Self {
        Self { meanwhile: Some(Box::new(meanwhile)), ..Self::at(now_s) }
    }
}

impl WorkDriver for TestDriver<'_> {
    fn unix_s(&self) -> i64 {
        self.now_s
    }

    fn advance(&mut self, progress: JobProgress, _: u64) -> Result<(), WorkEnded> {
        self.calls += 1;
        if let Some(meanwhile) = &mut self.meanwhile {
            meanwhile(self.calls, progress);
        }
        if self.end_at == Some(self.calls) { Err(WorkEnded) } else { Ok(()) }
    }
}
