//! The `jobs` thread: it owns the state machine, keeps its rows, hands jobs to the thread of their group, and follows the schedule.

use super::desk::{DeskMail, DeskRefusal, JobDesk, MAIL_MAX, PublishedJobs};
use super::orders::{BackupSettings, JobOrder, OwnWork};
use super::status::BackupStatus;
use super::stored_data::DataSource;
use super::worker::{JobControl, JobWorker, StartedJob};
use backup::{BackupSchedule, ScheduledWork};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use jobs::{
    CancelReply, JobEnd, JobEntry, JobGroup, JobKind, JobNumber, JobProgress, JobRecord, JobRefusal,
    JobState, Jobs,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use store::{JobRow, Store, StoreError};
use telemetry::recorder::{Recorder, Scope, frame_end};
use tokio::sync::watch;
use workplace::{Clock, ThreadError, opaque_debug};

/// Period at which progress is published and unsaved rows are tried again.
const PERIOD: Duration = Duration::from_secs(1);
/// Periods between two looks at the directory of backups and the schedule.
const LOOK_PERIODS: u64 = 60;
/// Looks between two lines in the log about work that is late.
const WARN_LOOKS: u64 = 60;
/// Time for a job to notice the end of the server.
const STOP_PATIENCE: Duration = Duration::from_secs(30);

/// Author of jobs that the server orders by itself.
const SCHEDULE: &str = "schedule";

/// Rows of jobs that are written.
static SAVE: Scope = Scope::new("jobs.save").limit_us(1_000_000);

/// Arguments of the threads.
pub struct JobThreadsConfig<'a> {
    /// Settings of backups and their schedule.
    pub backup: BackupSettings,
    /// The server whose data are backed up.
    pub source: Box<dyn DataSource>,
    /// The store of the jobs' rows.
    pub store: &'a Arc<Store>,
    /// The clock of the process.
    pub clock: &'a Clock,
    /// Time when that was zero, seconds since 1970.
    pub unix_start_s: u64,
    /// The flight recorder.
    pub recorder: Recorder,
}

/// Reasons for which the threads do not start.
#[derive(Debug, thiserror::Error)]
pub enum JobThreadsError {
    /// A thread.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// The rows of earlier jobs.
    #[error("cannot read the jobs of earlier servers")]
    Store(#[from] StoreError),
}

/// The threads of jobs.
pub struct JobThreads {
    desk: JobDesk,
    thread: JoinHandle<()>,
}

/// Takes up the jobs of earlier servers, and starts all threads.
///
/// # Errors
/// [`JobThreadsError`].
pub fn start(start: JobThreadsConfig<'_>) -> Result<JobThreads, JobThreadsError> {
    let JobThreadsConfig { backup, source, store, clock, unix_start_s, recorder } = start;
    let own = Arc::new(OwnWork { backup, source });
    let (mail, letters) = bounded(MAIL_MAX);
    let worker_clock = Arc::clone(clock);
    let worker = JobWorker { own: Arc::clone(&own), clock: worker_clock, unix_start_s, recorder };
    let (mut to_workers, mut workers) = (BTreeMap::new(), Vec::new());
    for group in JobGroup::ALL {
        let to_desk = mail.clone();
        let (to_worker, thread) = worker.clone().start(group, move |number, end| {
            // The thread may have given the job up.
            let _ = to_desk.send(DeskMail::Ended { number, end });
        })?;
        to_workers.insert(group, to_worker);
        workers.push(thread);
    }
    let now_s = unix_start_s.cast_signed();
    let kept = store.jobs()?;
    let jobs = Jobs::resume(kept.rows.into_iter().filter_map(entry_of), kept.last, now_s);
    let (published, list) = watch::channel(PublishedJobs::default());
    let settings = &own.backup;
    let status = Arc::new(BackupStatus::new(&settings.directory));
    let (every_h, rehearse_every_h) = match status.directory() {
        Some(_) => (settings.every_h, settings.rehearse_every_h),
        None => (0, 0),
    };
    let mut books = JobBooks {
        jobs,
        unsaved: Vec::new(),
        orders: BTreeMap::new(),
        running: BTreeMap::new(),
        to_workers,
        published,
        store: Arc::clone(store),
        clock: Arc::clone(clock),
        unix_start_s,
        status: Arc::clone(&status),
        schedule: BackupSchedule::new(every_h, rehearse_every_h, now_s),
        scheduled: None,
        n_periods: 0,
        n_late_looks: 0,
    };
    // Jobs that were cut short have failed, on the disk as well.
    books.save();
    books.publish();
    let thread = std::thread::Builder::new()
        .name("jobs".into())
        .spawn(move || {
            recorder.thread("jobs").install();
            let have_ended = books.run(&letters);
            // The end of the other threads' queues.
            drop(books);
            for worker in workers.into_iter().filter(|_| have_ended) {
                if worker.join().is_err() {
                    tracing::error!("a thread of jobs has panicked");
                }
            }
        })
        .map_err(|source| ThreadError { name: "jobs", source })?;
    Ok(JobThreads { desk: JobDesk { mail, list, status }, thread })
}

impl JobThreads {
    /// Way of orders to the threads.
    #[must_use]
    pub fn desk(&self) -> JobDesk {
        self.desk.clone()
    }

    /// State of the configured directory of backups.
    #[must_use]
    pub fn status(&self) -> Arc<BackupStatus> {
        Arc::clone(&self.desk.status)
    }

    /// Has the jobs that run end, and ends all threads.
    pub fn stop(self) {
        let Self { desk, thread } = self;
        // Fails if the thread has panicked.
        let _ = desk.mail.send(DeskMail::Stop);
        drop(desk);
        if thread.join().is_err() {
            tracing::error!("the jobs thread has panicked");
        }
    }
}

opaque_debug!(JobThreadsConfig<'_>, JobThreads);

/// State of the `jobs` thread.
struct JobBooks {
    jobs: Jobs,
    /// Records that the database has not taken yet.
    unsaved: Vec<JobRecord>,
    /// Orders of jobs that wait.
    orders: BTreeMap<JobNumber, JobOrder>,
    /// One of a group at most.
    running: BTreeMap<JobNumber, Arc<JobControl>>,
    to_workers: BTreeMap<JobGroup, Sender<StartedJob>>,
    published: watch::Sender<PublishedJobs>,
    store: Arc<Store>,
    clock: Clock,
    unix_start_s: u64,
    status: Arc<BackupStatus>,
    schedule: BackupSchedule,
    /// The job of the schedule that has not ended.
    scheduled: Option<(JobNumber, ScheduledWork)>,
    n_periods: u64,
    n_late_looks: u64,
}

impl JobBooks {
    /// Until the server ends; false if a job that ran does not end.
    fn run(&mut self, letters: &Receiver<DeskMail>) -> bool {
        self.look();
        loop {
            match letters.recv_timeout(PERIOD) {
                Ok(DeskMail::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(mail) => self.handle(mail),
                Err(RecvTimeoutError::Timeout) => self.handle_period(),
            }
            frame_end();
        }
        self.stop(letters)
    }

    fn now_s(&self) -> i64 {
        self.unix_start_s.saturating_add((self.clock)().0 / 1_000_000_000).cast_signed()
    }

    fn handle(&mut self, mail: DeskMail) {
        match mail {
            DeskMail::Submit { order, author, reply } => {
                // The handler may have given up.
                let _ = reply.send(self.submit(order, &author));
            }
            DeskMail::Cancel { number, reply } => {
                let answer = self.jobs.cancel(number, self.now_s());
                let running = self.running.get(&number);
                if let (CancelReply::Asked, Some(control)) = (answer, running) {
                    control.end.make();
                }
                self.orders.remove(&number);
                self.end_of_schedule(number);
                self.save();
                self.publish();
                let _ = reply.send(answer);
            }
            DeskMail::Ended { number, end } => self.finish(number, end),
            DeskMail::Stop => unreachable!("the loop has ended"),
        }
        self.start_next();
    }

    /// A job waits once the database has it.
    fn submit(&mut self, order: JobOrder, author: &str) -> Result<JobNumber, DeskRefusal> {
        let now_s = self.now_s();
        let submitted = self.jobs.submit(order.kind(), &order.subject(), author, now_s);
        let number = submitted.map_err(DeskRefusal::Refused)?;
        if let Some(why) = self.save() {
            self.jobs.cancel(number, now_s);
            self.publish();
            return Err(DeskRefusal::Unavailable(format!("The database does not keep the job: {why}.")));
        }
        self.orders.insert(number, order);
        self.publish();
        Ok(number)
    }

    fn start_next(&mut self) {
        let now_s = self.now_s();
        while let Some(JobEntry { number, kind, .. }) = self.jobs.start_next(now_s) {
            let order = self.orders.remove(&number).expect("a job that waits has an order");
            let control = Arc::new(JobControl::default());
            self.running.insert(number, Arc::clone(&control));
            self.save();
            self.publish();
            let to_worker = self.to_workers.get(&kind.group()).expect("each group has a thread");
            if to_worker.send(StartedJob { number, order, control }).is_err() {
                let outcome = "the thread of jobs has ended".to_owned();
                self.finish(number, JobEnd { state: JobState::Failed, outcome, result: None });
            }
        }
    }

    fn finish(&mut self, number: JobNumber, end: JobEnd) {
        self.jobs.finish(number, end, self.now_s());
        self.running.remove(&number);
        self.save();
        self.end_of_schedule(number);
        self.look();
        self.publish();
    }

    /// Takes note of the end of a job that the schedule has ordered.
    fn end_of_schedule(&mut self, number: JobNumber) {
        let Some((_, work)) = self.scheduled.filter(|(scheduled, _)| *scheduled == number) else { return };
        let state = self.jobs.get(number).map(|job| job.state);
        if let Some(state) = state.filter(|state| state.is_end()) {
            self.scheduled = None;
            self.schedule.record_end(work, state == JobState::Done, self.now_s());
        }
    }

    fn handle_period(&mut self) {
        for (number, control) in &self.running {
            self.jobs.record_progress(*number, control.progress());
        }
        if !self.running.is_empty() {
            self.publish();
        }
        if !self.unsaved.is_empty() {
            self.save();
        }
        self.n_periods += 1;
        if self.n_periods.is_multiple_of(LOOK_PERIODS) {
            self.look();
            self.order_what_is_due();
        }
    }

    /// Looks at the directory of backups, and warns of work that is late.
    fn look(&mut self) {
        self.status.look(&self.schedule, self.now_s());
        let late = self.status.late();
        if late.is_empty() {
            self.n_late_looks = 0;
            return;
        }
        if self.n_late_looks.is_multiple_of(WARN_LOOKS) {
            late.iter().for_each(|sentence| tracing::warn!("{sentence}"));
        }
        self.n_late_looks += 1;
    }

    fn order_what_is_due(&mut self) {
        let Some(directory) = self.status.directory().map(ToOwned::to_owned) else { return };
        if self.scheduled.is_some() {
            return;
        }
        let Some(work) = self.schedule.poll_due(self.now_s(), &self.status.times()) else { return };
        let order = match work {
            ScheduledWork::Backup => JobOrder::Backup { directory },
            ScheduledWork::Rehearsal => JobOrder::Rehearsal { backup: None },
        };
        match self.submit(order, SCHEDULE) {
            Ok(number) => self.scheduled = Some((number, work)),
            // An operator has ordered the same, or too much waits: the next look comes.
            Err(DeskRefusal::Refused(JobRefusal::Twice { .. } | JobRefusal::Full)) => {}
            Err(DeskRefusal::Unavailable(why)) => {
                tracing::error!("the schedule of backups: {why}");
                self.schedule.record_end(work, false, self.now_s());
            }
        }
        self.start_next();
    }

    /// Brings what has changed to the database; the reason for which it does not take it. It is tried again.
    fn save(&mut self) -> Option<String> {
        while let Some(record) = self.jobs.poll_record() {
            self.unsaved.push(record);
        }
        if self.unsaved.is_empty() {
            return None;
        }
        let (mut changed, mut forgotten) = (BTreeMap::new(), Vec::new());
        for record in &self.unsaved {
            match record {
                JobRecord::Keep(entry) => drop(changed.insert(entry.number, row_of(entry))),
                JobRecord::Forget(number) => forgotten.push(number.0),
            }
        }
        let changed: Vec<JobRow> = changed.into_values().collect();
        let _scope = SAVE.enter(0);
        match self.store.save_jobs(&changed, &forgotten) {
            Ok(()) => {
                self.unsaved.clear();
                None
            }
            Err(error) => {
                tracing::error!(%error, "jobs are not kept");
                Some(error.to_string())
            }
        }
    }

    fn publish(&mut self) {
        self.published.send_replace(self.jobs.iter().cloned().collect());
    }

    /// Has the jobs that run end; false if one does not.
    fn stop(&mut self, letters: &Receiver<DeskMail>) -> bool {
        self.running.values().for_each(|control| control.end.make());
        while !self.running.is_empty() {
            match letters.recv_timeout(STOP_PATIENCE) {
                Ok(DeskMail::Ended { number, end }) => {
                    // It may have been done just then.
                    let outcome = match end.state {
                        JobState::Cancelled => {
                            let outcome = "the server ended".to_owned();
                            JobEnd { state: JobState::Failed, outcome, result: None }
                        }
                        _ => end,
                    };
                    self.jobs.finish(number, outcome, self.now_s());
                    self.running.remove(&number);
                    self.save();
                }
                // The next start finds that the job was cut short.
                Err(_) => return false,
                Ok(_) => {}
            }
        }
        true
    }
}

fn row_of(entry: &JobEntry) -> JobRow {
    JobRow {
        number: entry.number.0,
        kind: entry.kind.name().to_owned(),
        subject: plain(&entry.subject),
        author: plain(&entry.author),
        state: entry.state.name().to_owned(),
        created_s: entry.created_s,
        started_s: entry.started_s,
        ended_s: entry.ended_s,
        outcome: entry.outcome.as_deref().map(plain),
        result: entry.result.as_deref().map(plain),
    }
}

/// PostgreSQL takes no NUL in a text.
fn plain(text: &str) -> String {
    text.replace('\0', "")
}

/// A job of an earlier server; none of a kind that this build does not know.
fn entry_of(row: JobRow) -> Option<JobEntry> {
    let (kind, state): (JobKind, JobState) = (row.kind.parse().ok()?, row.state.parse().ok()?);
    Some(JobEntry {
        number: JobNumber(row.number),
        kind,
        subject: row.subject,
        author: row.author,
        state,
        created_s: row.created_s,
        started_s: row.started_s,
        ended_s: row.ended_s,
        progress: JobProgress::default(),
        is_cancelled: false,
        outcome: row.outcome,
        result: row.result.map(Into::into),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_comes_back_from_its_row() {
        let entry = JobEntry {
            number: JobNumber(7),
            kind: JobKind::Rehearsal,
            subject: "20261224T180000Z".into(),
            author: SCHEDULE.into(),
            state: JobState::Done,
            created_s: 1,
            started_s: Some(2),
            ended_s: Some(3),
            progress: JobProgress::default(),
            is_cancelled: false,
            outcome: Some("well".into()),
            result: Some("{}".into()),
        };
        assert_eq!(entry_of(row_of(&entry)), Some(entry.clone()));
        let later = JobRow { kind: "of a later build".into(), ..row_of(&entry) };
        assert_eq!(entry_of(later), None);
        let with_nul = JobEntry { outcome: Some("a\0b".into()), ..entry };
        assert_eq!(row_of(&with_nul).outcome.as_deref(), Some("ab"));
    }
}
