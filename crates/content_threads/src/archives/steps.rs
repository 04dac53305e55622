//! Steps of a job on an archive: progress, its end before the end, and files whose bytes are counted.

use archive::file::ArchiveWriteError;
use backup::{WorkDriver, WorkEnded};
use jobs::{JobEnd, JobProgress, JobState};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use store::StoreError;

/// Bytes between two steps.
const STEP_BYTES: u64 = 1 << 20;

/// Bytes of the figures of an outcome that are kept.
const RESULT_BYTES_MAX: usize = 200 * 1_024;

/// Reason for which a job has not done its work.
#[derive(Debug)]
pub(super) enum ArchiveFailure {
    /// The job was ended.
    Ended,
    /// The job failed: a sentence without a full stop.
    Failed(String),
}

impl ArchiveFailure {
    pub(super) fn new(why: impl Into<String>) -> Self {
        let why: String = why.into();
        Self::Failed(why.trim_end_matches('.').to_owned())
    }

    /// An error with its causes.
    pub(super) fn of(error: &dyn Error) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        Self::new(text)
    }
}

impl From<WorkEnded> for ArchiveFailure {
    fn from(_: WorkEnded) -> Self {
        Self::Ended
    }
}

impl From<StoreError> for ArchiveFailure {
    fn from(error: StoreError) -> Self {
        Self::of(&error)
    }
}

impl From<ArchiveWriteError> for ArchiveFailure {
    fn from(error: ArchiveWriteError) -> Self {
        Self::of(&error)
    }
}

/// An outcome in a sentence, and its figures.
pub(super) type ArchiveDone = Result<(String, Value), ArchiveFailure>;

/// The end of a job with this outcome.
pub(super) fn job_end(done: ArchiveDone) -> JobEnd {
    match done {
        Ok((outcome, result)) => {
            let result = Some(bounded(result).to_string().into());
            JobEnd { state: JobState::Done, outcome, result }
        }
        Err(ArchiveFailure::Ended) => {
            let outcome = "it was cancelled, and nothing of it stays".to_owned();
            JobEnd { state: JobState::Cancelled, outcome, result: None }
        }
        Err(ArchiveFailure::Failed(outcome)) => JobEnd { state: JobState::Failed, outcome, result: None },
    }
}

/// Figures whose lists are halved until they are short enough. The number of all entries is beside each list.
fn bounded(mut result: Value) -> Value {
    while result.to_string().len() > RESULT_BYTES_MAX {
        let lists = result.as_object_mut().into_iter().flat_map(|fields| fields.values_mut());
        let lists = lists.filter_map(Value::as_array_mut).filter(|list| !list.is_empty());
        let Some(longest) = lists.max_by_key(|list| list.len()) else { break };
        longest.truncate(longest.len() / 2);
    }
    result
}

/// The driver of a job, for several parts of its work at once.
pub(super) struct WorkSteps<'a> {
    driver: RefCell<&'a mut dyn WorkDriver>,
    shown: Cell<JobProgress>,
    is_ended: Cell<bool>,
}

impl<'a> WorkSteps<'a> {
    pub(super) fn new(driver: &'a mut dyn WorkDriver) -> Self {
        let shown = JobProgress::default();
        Self { driver: RefCell::new(driver), shown: Cell::new(shown), is_ended: Cell::new(false) }
    }

    /// Shows progress; an error if the job is to end.
    pub(super) fn advance(
        &self,
        part: &'static str,
        done: u64,
        total: u64,
        bytes: u64,
    ) -> Result<(), WorkEnded> {
        let progress = JobProgress { part, done, total };
        self.shown.set(progress);
        let advanced = self.driver.borrow_mut().advance(progress, bytes);
        self.is_ended.set(self.is_ended.get() | advanced.is_err());
        advanced
    }

    /// An error if the job is to end; the progress stays as it was shown last.
    pub(super) fn poll(&self) -> Result<(), WorkEnded> {
        let JobProgress { part, done, total } = self.shown.get();
        self.advance(part, done, total, 0)
    }

    /// The failure of work that read through [`WatchedFile`]: a file that could not be read on since the job was to end has no fault.
    pub(super) fn failure(&self, error: &dyn Error) -> ArchiveFailure {
        if self.is_ended.get() { ArchiveFailure::Ended } else { ArchiveFailure::of(error) }
    }
}

/// A file whose reader shows its progress, and can be ended.
pub(super) struct WatchedFile<'a, 'd> {
    file: &'a File,
    steps: &'a WorkSteps<'d>,
    part: &'static str,
    done: u64,
    total: u64,
    shown: u64,
}

impl<'a, 'd> WatchedFile<'a, 'd> {
    /// A file that is read from its beginning on.
    pub(super) fn new(
        file: &'a File,
        steps: &'a WorkSteps<'d>,
        part: &'static str,
    ) -> Result<Self, ArchiveFailure> {
        let begin = || -> io::Result<u64> {
            let mut from = file;
            from.seek(SeekFrom::Start(0))?;
            Ok(file.metadata()?.len())
        };
        let total = begin().map_err(|error| ArchiveFailure::of(&error))?;
        steps.advance(part, 0, total, 0)?;
        Ok(Self { file, steps, part, done: 0, total, shown: 0 })
    }
}

impl Read for WatchedFile<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file;
        let n_read = file.read(into)?;
        self.done += n_read as u64;
        let unshown = self.done - self.shown;
        if unshown >= STEP_BYTES || n_read == 0 {
            self.shown = self.done;
            self.steps.advance(self.part, self.done, self.total, unshown).map_err(io::Error::other)?;
        }
        Ok(n_read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::Write as _;

    /// Ends after this number of steps.
    struct Steps(u64);

    impl WorkDriver for Steps {
        fn unix_s(&self) -> i64 {
            0
        }

        fn advance(&mut self, _: JobProgress, _: u64) -> Result<(), WorkEnded> {
            self.0 = self.0.checked_sub(1).ok_or(WorkEnded)?;
            Ok(())
        }
    }

    #[test]
    fn a_file_is_read_from_its_beginning_until_the_job_is_to_end() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&vec![7; 3 << 20]).expect("written");
        let read = |n_steps| {
            let mut driver = Steps(n_steps);
            let steps = WorkSteps::new(&mut driver);
            let mut bytes = Vec::new();
            let read = WatchedFile::new(&file, &steps, "check").map(|mut watched| {
                let read = watched.read_to_end(&mut bytes);
                read.map_err(|error| steps.failure(&error))
            });
            (read.and_then(|read| read).is_ok(), bytes.len(), steps.is_ended.get())
        };
        assert_eq!(read(10), (true, 3 << 20, false));
        let (is_whole, n_bytes, is_ended) = read(2);
        assert!(!is_whole && n_bytes < 3 << 20 && is_ended);
        assert_eq!(read(0), (false, 0, true));
    }

    #[test]
    fn a_job_can_be_ended_between_steps() {
        let mut driver = Steps(2);
        let steps = WorkSteps::new(&mut driver);
        assert!(steps.advance("objects", 1, 2, 0).is_ok() && steps.poll().is_ok());
        assert!(matches!(steps.poll().map_err(ArchiveFailure::from), Err(ArchiveFailure::Ended)));
        assert_eq!(steps.shown.get(), JobProgress { part: "objects", done: 1, total: 2 });
    }

    #[test]
    fn ends_of_jobs_have_sentences_and_bounded_figures() {
        let long: Vec<String> = (0..10_000).map(|n| format!("{n:>60}")).collect();
        let end = job_end(Ok(("well".into(), json!({ "objects": 3, "missing": long, "damaged": ["a"] }))));
        let result: Value = serde_json::from_str(&end.result.expect("figures")).expect("JSON");
        assert!(result.to_string().len() <= RESULT_BYTES_MAX);
        assert_eq!((&result["objects"], &result["damaged"]), (&json!(3), &json!(["a"])));
        assert!(result["missing"].as_array().is_some_and(|list| list.len() > 1_000));
        let failed = job_end(Err(ArchiveFailure::new("It is full.")));
        assert_eq!((failed.state, &*failed.outcome), (JobState::Failed, "It is full"));
        assert_eq!(job_end(Err(ArchiveFailure::Ended)).state, JobState::Cancelled);
    }
}
