//! The state machine of all jobs of a server.

use crate::entry::{JobEntry, JobKind, JobNumber, JobProgress, JobState};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Jobs that wait at most; another one is refused.
pub const WAITING_MAX: usize = 16;

/// Ended jobs that are kept; the oldest are forgotten.
pub const ENDED_MAX: usize = 500;

/// Outcome of a job that the end of the process has cut short.
const SERVER_ENDED: &str = "the server ended";

/// Outcome of a job that was cancelled before it began.
const NEVER_BEGUN: &str = "it was cancelled before it began";

/// Refusal of an order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobRefusal {
    /// [`WAITING_MAX`] jobs wait.
    #[error("{WAITING_MAX} jobs wait already; cancel one, or try again when one has ended")]
    Full,
    /// The same work waits or runs.
    #[error("job {number} does the same and is {state}")]
    Twice {
        /// The other job.
        number: JobNumber,
        /// Its state.
        state: JobState,
    },
}

/// End of a job's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnd {
    /// [`JobState::Done`], [`JobState::Failed`] or [`JobState::Cancelled`].
    pub state: JobState,
    /// The outcome in a sentence.
    pub outcome: String,
    /// Figures of the outcome, as JSON.
    pub result: Option<Arc<str>>,
}

/// Reply to a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelReply {
    /// It waited, and will not begin.
    Ended,
    /// It runs, and has been asked to end.
    Asked,
    /// It had ended before.
    Over(JobState),
    /// There is no such job.
    Unknown,
}

/// A change that the driver keeps, in the order in which they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobRecord {
    /// The job is like this from now on.
    Keep(JobEntry),
    /// The job is forgotten.
    Forget(JobNumber),
}

/// Jobs that wait, run and have ended.
#[derive(Debug, Default)]
pub struct Jobs {
    /// All of them, by their numbers.
    entries: BTreeMap<JobNumber, JobEntry>,
    /// Those that wait, the oldest first.
    waiting: VecDeque<JobNumber>,
    /// Those that have ended, in the order of their ends.
    ended: VecDeque<JobNumber>,
    last: u64,
    records: VecDeque<JobRecord>,
}

impl Jobs {
    /// The jobs of earlier processes, in any order. `last` is the highest number that was ever given, at least. Jobs that had not ended have failed.
    #[must_use]
    pub fn resume(kept: impl IntoIterator<Item = JobEntry>, last: u64, now_s: i64) -> Self {
        let mut jobs = Self { last, ..Self::default() };
        let mut kept: Vec<JobEntry> = kept.into_iter().collect();
        kept.sort_by_key(|entry| (entry.ended_s.unwrap_or(i64::MAX), entry.number));
        for entry in kept {
            let number = entry.number;
            let is_over = entry.state.is_end();
            jobs.last = jobs.last.max(number.0);
            jobs.entries.insert(number, entry);
            if is_over {
                jobs.ended.push_back(number);
            } else {
                let outcome = SERVER_ENDED.to_owned();
                jobs.end(number, JobEnd { state: JobState::Failed, outcome, result: None }, now_s);
            }
        }
        jobs.forget_oldest();
        jobs
    }

    /// A job waits from now on. Work on one subject waits or runs once.
    ///
    /// # Errors
    /// [`JobRefusal`]; then there is no such job.
    pub fn submit(
        &mut self,
        kind: JobKind,
        subject: &str,
        author: &str,
        now_s: i64,
    ) -> Result<JobNumber, JobRefusal> {
        let is_same = |entry: &&JobEntry| {
            !entry.state.is_end() && !entry.is_cancelled && entry.kind == kind && entry.subject == subject
        };
        if let Some(JobEntry { number, state, .. }) = self.entries.values().find(is_same) {
            return Err(JobRefusal::Twice { number: *number, state: *state });
        }
        if self.waiting.len() >= WAITING_MAX {
            return Err(JobRefusal::Full);
        }
        self.last += 1;
        let number = JobNumber(self.last);
        let entry = JobEntry {
            number,
            kind,
            subject: subject.to_owned(),
            author: author.to_owned(),
            state: JobState::Queued,
            created_s: now_s,
            started_s: None,
            ended_s: None,
            progress: JobProgress::default(),
            is_cancelled: false,
            outcome: None,
            result: None,
        };
        self.records.push_back(JobRecord::Keep(entry.clone()));
        self.entries.insert(number, entry);
        self.waiting.push_back(number);
        Ok(number)
    }

    /// Begins the job that has waited longest of those without a running one in their group.
    pub fn start_next(&mut self, now_s: i64) -> Option<JobEntry> {
        let group = |number: &JobNumber| self.entries[number].kind.group();
        let runs = |entry: &JobEntry| entry.state == JobState::Running;
        let busy: Vec<_> =
            self.entries.values().filter(|entry| runs(entry)).map(|entry| entry.kind.group()).collect();
        let at = self.waiting.iter().position(|number| !busy.contains(&group(number)))?;
        let number = self.waiting.remove(at).expect("its place was found");
        let entry = self.entries.get_mut(&number).expect("a job that waits is known");
        entry.state = JobState::Running;
        entry.started_s = Some(now_s);
        self.records.push_back(JobRecord::Keep(entry.clone()));
        Some(entry.clone())
    }

    /// Progress of a job that runs; of others nothing changes. True if it continues, false if it has been asked to end.
    pub fn record_progress(&mut self, number: JobNumber, progress: JobProgress) -> bool {
        match self.entries.get_mut(&number) {
            Some(entry) if entry.state == JobState::Running => {
                entry.progress = progress;
                !entry.is_cancelled
            }
            _ => false,
        }
    }

    /// A job that ran has ended. Nothing changes if it does not run.
    ///
    /// # Panics
    /// When the state is none of an end.
    pub fn finish(&mut self, number: JobNumber, end: JobEnd, now_s: i64) {
        assert!(end.state.is_end(), "a job ends done, failed or cancelled");
        if self.entries.get(&number).is_some_and(|entry| entry.state == JobState::Running) {
            self.end(number, end, now_s);
            self.forget_oldest();
        }
    }

    /// Ends a waiting job, and asks a running one to end.
    pub fn cancel(&mut self, number: JobNumber, now_s: i64) -> CancelReply {
        let Some(entry) = self.entries.get_mut(&number) else { return CancelReply::Unknown };
        match entry.state {
            JobState::Queued => {
                self.waiting.retain(|waiting| *waiting != number);
                let outcome = NEVER_BEGUN.to_owned();
                self.end(number, JobEnd { state: JobState::Cancelled, outcome, result: None }, now_s);
                self.forget_oldest();
                CancelReply::Ended
            }
            JobState::Running => {
                entry.is_cancelled = true;
                CancelReply::Asked
            }
            state => CancelReply::Over(state),
        }
    }

    /// The next change to be kept.
    pub fn poll_record(&mut self) -> Option<JobRecord> {
        self.records.pop_front()
    }

    /// All jobs, the newest first.
    pub fn iter(&self) -> impl Iterator<Item = &JobEntry> {
        self.entries.values().rev()
    }

    /// A job.
    #[must_use]
    pub fn get(&self, number: JobNumber) -> Option<&JobEntry> {
        self.entries.get(&number)
    }

    fn end(&mut self, number: JobNumber, JobEnd { state, outcome, result }: JobEnd, now_s: i64) {
        let entry = self.entries.get_mut(&number).expect("a job that ends is known");
        entry.state = state;
        entry.ended_s = Some(now_s);
        entry.outcome = Some(outcome);
        entry.result = result;
        self.records.push_back(JobRecord::Keep(entry.clone()));
        self.ended.push_back(number);
    }

    fn forget_oldest(&mut self) {
        while self.ended.len() > ENDED_MAX {
            let number = self.ended.pop_front().expect("it is not empty");
            self.entries.remove(&number);
            self.records.push_back(JobRecord::Forget(number));
        }
    }
}

#[cfg(test)]
mod tests;
