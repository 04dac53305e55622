//! Long tasks: work longer than a frame (saves, loads, navmeshes, creation and destruction of worlds, archives).
//!
//! They run on threads of low priority, `long-0`, `long-1` …. [`LongTasks::submit`] queues a task, [`LongTasks::dispose`] hands a large
//! value over to be dropped. Neither waits for a thread of low priority, so a world may call them within its step. The others are for
//! operators: [`LongTasks::list`], [`LongTasks::cancel`], and [`LongTasks::abandon`] for a task that ignores its cancellation.
//!
//! - `queue`: order of tasks, without threads. `shared`: submission. `threads`: the threads. `cores`: their CPU time.
//!
//! | queue | bound | when full |
//! |---|---|---|
//! | waiting tasks | [`LONG_WAITING_MAX`] | refused with an error |
//! | waiting disposals | none of its own: one pointer for each value that exists | never refused |
//! | results of ended tasks, until they are polled | [`LONG_ENDED_MAX`] | the oldest are dropped and counted |
//! | abandoned threads | [`ABANDONED_MAX`] | the next is not abandoned |
//!
//! Disposals run before tasks. They free memory, are short, and cannot crowd tasks out for long: each value was created by a task that
//! took longer. They age like tasks, so worlds make room for a disposal behind tasks that lack a core.

mod cores;
mod queue;
mod shared;
#[cfg(test)]
mod tests;
mod threads;

pub use queue::{Cancelled, Finished, LongQueue, LongSpec, StartedTask};
pub(crate) use threads::LongThreads;

use crate::starvation::Backlog;
use crossbeam_channel::Receiver;
use ids::Instant;
use std::{
    any::Any,
    fmt,
    sync::{
        Arc,
        atomic::{
            AtomicBool,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::Duration,
};

/// Waiting tasks at most. At 0.1 s each and with one thread this is two minutes of work, so submitters must see a refusal.
pub const LONG_WAITING_MAX: usize = 1_024;

/// Results kept until [`LongTasks::drain_ended`].
pub const LONG_ENDED_MAX: usize = 1_024;

/// Threads that are in a task which was given up, at most. More would be a fault that repeats, and each keeps its stack.
pub const ABANDONED_MAX: usize = 16;

/// Names a long task; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LongId(pub u64);

/// Something that takes long.
pub struct Long {
    /// Kind of work. Tasks of one kind run in order, and estimates are corrected per kind.
    pub kind: &'static str,
    /// Object of the work, for operators: a world, a file.
    pub name: String,
    /// Expected duration, as the submitter estimates it.
    pub estimated: Duration,
    /// The work. It looks at its context now and then.
    pub work: Box<dyn FnOnce(&LongContext) + Send>,
}

/// Argument of a long task.
#[derive(Clone, Debug)]
pub struct LongContext {
    id: LongId,
    is_cancelled: Arc<AtomicBool>,
}

impl LongContext {
    /// Id of the task.
    #[must_use]
    pub const fn id(&self) -> LongId {
        self.id
    }

    /// True if the task must end early. A task longer than a second checks this at least once a second.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Relaxed)
    }
}

/// End of a long task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LongOutcome {
    /// It returned. A cancelled task reports its early end by its own means.
    Done,
    /// It panicked, and said this.
    Panicked(String),
    /// It was cancelled before it began.
    Cancelled,
    /// It did not listen, and its thread was given up. It may still run.
    Abandoned,
}

/// Handle to a submitted task. It may be dropped if its end does not matter.
#[derive(Debug)]
pub struct LongTicket {
    id: LongId,
    outcome: Receiver<LongOutcome>,
}

impl LongTicket {
    /// Id of the task.
    #[must_use]
    pub const fn id(&self) -> LongId {
        self.id
    }

    /// Channel of the outcome; disconnected without one if the pool was dropped before. After [`LongOutcome::Abandoned`] a second
    /// outcome follows if the task ends after all.
    #[must_use]
    pub const fn outcome(&self) -> &Receiver<LongOutcome> {
        &self.outcome
    }
}

/// Refusal of a long task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LongRefusal {
    /// [`LONG_WAITING_MAX`] tasks wait already.
    #[error("{LONG_WAITING_MAX} long tasks wait; this one, of kind {kind}, was not taken")]
    Full {
        /// Kind of the refused task.
        kind: &'static str,
    },
    /// The pool is being dropped.
    #[error("no long task of kind {kind} is taken while the server stops")]
    Stopping {
        /// Kind of the refused task.
        kind: &'static str,
    },
}

/// Failure of [`LongTasks::abandon`].
#[derive(Debug, thiserror::Error)]
pub enum AbandonError {
    /// There is no such task that runs, or it was given up already.
    #[error("no long task {0:?} runs that could be given up")]
    NotRunning(LongId),
    /// [`ABANDONED_MAX`] abandoned threads have not ended.
    #[error("{ABANDONED_MAX} threads were given up already and have not ended: restart the server")]
    TooMany,
    /// The system gives no thread to take its place.
    #[error("no thread to replace an abandoned one")]
    Thread(#[source] std::io::Error),
}

/// A long task as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongInfo {
    /// Id.
    pub id: LongId,
    /// Kind of work.
    pub kind: &'static str,
    /// Object of the work.
    pub name: String,
    /// Since when it has been known.
    pub submitted_at: Instant,
    /// Duration estimated by the submitter.
    pub estimated: Duration,
    /// Duration expected from other tasks of its kind.
    pub expected: Duration,
    /// True once it was cancelled.
    pub is_cancelled: bool,
    /// True if it has run for so much longer than expected that it probably hangs.
    pub is_overdue: bool,
    /// Waiting, running or abandoned.
    pub state: LongState,
}

/// Progress of a long task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongState {
    /// Not yet.
    Waiting,
    /// It runs.
    Running {
        /// Since when.
        since: Instant,
    },
    /// Running on an abandoned thread, which has a successor.
    Abandoned {
        /// Since when it runs.
        since: Instant,
    },
}

/// A long task, or a disposal, that has run and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongEnded {
    /// Kind of work; `"dispose"` for a disposal.
    pub kind: &'static str,
    /// Before it began.
    pub waited: Duration,
    /// From then on.
    pub took: Duration,
    /// False after a panic.
    pub is_sound: bool,
}

/// Long tasks so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LongCounters {
    /// Tasks that were taken.
    pub submitted: u64,
    /// Tasks that were not.
    pub refused: u64,
    /// Tasks that ended by themselves.
    pub done: u64,
    /// Tasks and disposals that panicked.
    pub panicked: u64,
    /// Tasks that were cancelled before they began.
    pub cancelled: u64,
    /// Abandoned tasks.
    pub abandoned: u64,
    /// Things that were dropped.
    pub disposed: u64,
    /// Tasks that wait now.
    pub waiting: u64,
    /// Disposals that wait now.
    pub disposals_waiting: u64,
    /// Results lost to [`LONG_ENDED_MAX`] because [`LongTasks::drain_ended`] was called too rarely.
    pub ended_unreported: u64,
}

/// Handle for submitting long tasks. Cheap to clone; it outlives the pool, and refuses afterwards.
#[derive(Clone)]
pub struct LongTasks {
    shared: Arc<shared::LongShared>,
}

impl LongTasks {
    /// Queues a task. Never waits, so it may be called in a step.
    ///
    /// # Errors
    /// When the queue is full or the pool is being dropped. The task is dropped then, where it was called.
    pub fn submit(&self, long: Long) -> Result<LongTicket, LongRefusal> {
        self.shared.submit(long)
    }

    /// Drops a large value on a long thread. Never waits and never refuses. After the end of the pool the value is dropped here.
    ///
    /// Destruction never happens within a short task: large values that a step no longer needs are passed here.
    pub fn dispose(&self, what: Box<dyn Any + Send>) {
        self.shared.dispose(what);
    }

    /// All tasks: running ones, then waiting ones.
    #[must_use]
    pub fn list(&self) -> Vec<LongInfo> {
        self.shared.list()
    }

    /// Cancels a task: a waiting one never starts, a running one is notified. False if there is none.
    #[must_use]
    pub fn cancel(&self, id: LongId) -> bool {
        self.shared.cancel(id)
    }

    /// Abandons a running task that ignores its cancellation: another thread replaces its own, so that the queue continues. The former
    /// thread ends with the task, if ever.
    ///
    /// # Errors
    /// If the task does not run, too many threads are abandoned, or the system gives no thread.
    pub fn abandon(&self, id: LongId) -> Result<(), AbandonError> {
        threads::abandon(&self.shared, id)
    }

    /// Drains the results since the last call, in order; the latest [`LONG_ENDED_MAX`] of them.
    pub fn drain_ended(&self, ended: &mut Vec<LongEnded>) {
        self.shared.drain_ended(ended);
    }

    /// True once the pool is being dropped.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.shared.is_stopping.load(SeqCst)
    }

    /// Totals since the start.
    #[must_use]
    pub fn counters(&self) -> LongCounters {
        self.shared.counters()
    }

    /// Time that tasks of a kind have taken ÷ time that was estimated, lately.
    #[must_use]
    pub fn ratio(&self, kind: &str) -> f64 {
        self.shared.ratio(kind)
    }

    /// Backlog of waiting work; `None` while a thread holds the lock. Never waits.
    pub(crate) fn backlog(&self, now: Instant) -> Option<Backlog> {
        self.shared.backlog(now)
    }

    /// Waits until nothing waits or runs any more, at most for `patience`; true if that was reached. For a server that stops.
    #[must_use]
    pub fn wait_until_empty(&self, patience: Duration) -> bool {
        self.shared.wait_until_empty(patience)
    }
}

impl fmt::Debug for LongTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LongTasks").field("counters", &self.counters()).finish()
    }
}

impl fmt::Debug for Long {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, estimated, .. } = self;
        f.debug_struct("Long")
            .field("kind", kind)
            .field("name", name)
            .field("estimated", estimated)
            .finish_non_exhaustive()
    }
}
