//! A thread of one group of jobs: the work of one after the other. `job` has backups and looks through the stored data, `archive` has archives.

use super::orders::{JobOrder, OwnWork};
use super::paced_driver::{EndRequest, PacedDriver, WorkClock};
use backup::BytePace;
use crossbeam_channel::{Receiver, Sender, bounded};
use jobs::{JobEnd, JobGroup, JobNumber, JobProgress, JobState};
use rustix::process::setpriority_process;
use rustix::thread::gettid;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use telemetry::recorder::{Recorder, frame_end};
use workplace::{Clock, ThreadError};

/// Niceness of the thread: that of long tasks.
const NICE: i32 = 10;

/// A job that runs, as the `jobs` thread sees it.
#[derive(Debug, Default)]
pub(super) struct JobControl {
    pub(super) end: EndRequest,
    progress: Mutex<JobProgress>,
}

impl JobControl {
    pub(super) fn progress(&self) -> JobProgress {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, progress: JobProgress) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }
}

/// A job for the thread.
pub(super) struct StartedJob {
    pub(super) number: JobNumber,
    pub(super) order: JobOrder,
    pub(super) control: Arc<JobControl>,
}

/// The thread, and its clocks.
#[derive(Clone)]
pub(super) struct JobWorker {
    pub(super) own: Arc<OwnWork>,
    pub(super) clock: Clock,
    pub(super) unix_start_s: u64,
    pub(super) recorder: Recorder,
}

/// Name of the thread of a group.
const fn name_of(group: JobGroup) -> &'static str {
    match group {
        JobGroup::Safety => "job",
        JobGroup::Archives => "archive",
    }
}

impl JobWorker {
    /// Starts the thread of a group. It ends with the queue of jobs; `ended` gets the end of each.
    pub(super) fn start(
        self,
        group: JobGroup,
        ended: impl Fn(JobNumber, JobEnd) + Send + 'static,
    ) -> Result<(Sender<StartedJob>, JoinHandle<()>), ThreadError> {
        // One job runs, and the next is not sent before its end.
        let (sender, jobs) = bounded::<StartedJob>(1);
        let name = name_of(group);
        let thread = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                self.recorder.thread(name).install();
                // It only ever gets nicer, so this is refused nowhere.
                let _ = setpriority_process(Some(gettid()), NICE);
                self.work(&jobs, ended);
            })
            .map_err(|source| ThreadError { name, source })?;
        Ok((sender, thread))
    }

    fn work(&self, jobs: &Receiver<StartedJob>, ended: impl Fn(JobNumber, JobEnd)) {
        while let Ok(StartedJob { number, order, control }) = jobs.recv() {
            let (kind, subject) = (order.kind().name(), order.subject());
            tracing::info!(job = number.0, kind, subject, "a job begins");
            let work = AssertUnwindSafe(|| self.carry_out(&order, &control));
            let end = catch_unwind(work).unwrap_or_else(|_| JobEnd {
                state: JobState::Failed,
                outcome: "it panicked; the log has the reason".to_owned(),
                result: None,
            });
            let outcome = end.outcome.as_str();
            match end.state {
                JobState::Failed => tracing::error!(job = number.0, "a job has failed: {outcome}"),
                state => tracing::info!(job = number.0, state = state.name(), "a job has ended: {outcome}"),
            }
            ended(number, end);
            frame_end();
        }
    }

    fn carry_out(&self, order: &JobOrder, control: &JobControl) -> JobEnd {
        let monotonic = || Duration::from_nanos((self.clock)().0);
        let unix_s = || self.unix_start_s.saturating_add((self.clock)().0 / 1_000_000_000).cast_signed();
        let mut show = |progress| {
            control.show(progress);
            frame_end();
        };
        let mut driver = PacedDriver {
            clock: WorkClock { monotonic: &monotonic, unix_s: &unix_s },
            pace: self.pace(order.kind().group()),
            end: &control.end,
            show: &mut show,
        };
        order.carry_out(&self.own, &mut driver)
    }

    /// Backups share the disk at a pace. Archives are waited for, and are small beside it.
    fn pace(&self, group: JobGroup) -> Option<BytePace> {
        match group {
            JobGroup::Safety => Some(BytePace::new(self.own.backup.bytes_per_s)),
            JobGroup::Archives => None,
        }
    }
}
