//! Work that takes longer than a frame may: saves, loads, navmeshes, worlds that come and go, archives, destruction.
//!
//! It runs on threads of low priority, `long-0`, `long-1` …. [`LongTasks`] is how it gets there: [`LongTasks::submit`] queues a
//! task, [`LongTasks::dispose`] hands something big over to be dropped. Neither ever waits for a thread of low priority, so a
//! world may call them in the middle of its step. The rest is for operators: what waits and runs ([`LongTasks::list`]), ending a task
//! ([`LongTasks::cancel`]), giving up on one that does not listen ([`LongTasks::abandon`]).
//!
//! - `queue`: which task is next, without threads. `shared`: how tasks get there. `threads`: the threads, and `cores` what they get
//!   of the cores.
//!
//! | queue | bound | when full |
//! |---|---|---|
//! | tasks that wait | [`LONG_WAITING_MAX`] | refused, with an error that says so |
//! | disposals that wait | none of its own: no more than what is there to be dropped, a pointer each | never refused |
//! | what is known of tasks that ended, until somebody asks | [`LONG_ENDED_MAX`] | the oldest go, counted |
//! | threads given up | [`ABANDONED_MAX`] | the next is not given up |
//!
//! Disposals go before tasks. They give memory back, they are short, and they cannot crowd tasks out for long: what is
//! dropped was made by a long task before, which took longer. They grow old as tasks do: worlds make room for one that waits
//! behind tasks that lack a core.

mod cores;
mod queue;
mod shared;
#[cfg(test)]
mod tests;
mod threads;

pub use queue::{Begun, Cancelled, Finished, LongQueue, LongSpec};
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

/// Tasks that wait at most. At a tenth of a second each and one thread that is two minutes' work: whoever submits more has to hear it.
pub const LONG_WAITING_MAX: usize = 1_024;

/// Tasks that have ended and that nobody has asked for ([`LongTasks::take_ended`]).
pub const LONG_ENDED_MAX: usize = 1_024;

/// Threads that are in a task which was given up, at most. More would be a fault that repeats, and each keeps its stack.
pub const ABANDONED_MAX: usize = 16;

/// Names a long task; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LongId(pub u64);

/// Something that takes long.
pub struct Long {
    /// What sort of work. Tasks of one kind run in their order, and estimates are corrected for each kind.
    pub kind: &'static str,
    /// Of what, for operators: a world, a file.
    pub name: String,
    /// How long it will take, about.
    pub estimated: Duration,
    /// The work. It looks at its context now and then.
    pub work: Box<dyn FnOnce(&LongContext) + Send>,
}

/// What a long task is told.
#[derive(Clone, Debug)]
pub struct LongContext {
    id: LongId,
    is_cancelled: Arc<AtomicBool>,
}

impl LongContext {
    /// Which task it is.
    #[must_use]
    pub const fn id(&self) -> LongId {
        self.id
    }

    /// Whether it shall end early. A task that takes longer than a second looks more often than once a second.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Relaxed)
    }
}

/// What became of a long task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LongOutcome {
    /// It ran to its end. Whether it was cancelled on the way it knows itself.
    Done,
    /// It panicked, and said this.
    Panicked(String),
    /// It was cancelled before it began.
    Cancelled,
    /// It did not listen, and its thread was given up. It may still run.
    Abandoned,
}

/// A task that was submitted. Whoever does not care how it ends drops this.
#[derive(Debug)]
pub struct Ticket {
    id: LongId,
    outcome: Receiver<LongOutcome>,
}

impl Ticket {
    /// Which task it is.
    #[must_use]
    pub const fn id(&self) -> LongId {
        self.id
    }

    /// Where the outcome comes; disconnected without one when the pool was dropped before. After [`LongOutcome::Abandoned`] another one
    /// tells how it ended after all, if it does.
    #[must_use]
    pub const fn outcome(&self) -> &Receiver<LongOutcome> {
        &self.outcome
    }
}

/// Why a long task was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// So many wait already.
    #[error("{LONG_WAITING_MAX} long tasks wait; this one, of kind {kind}, was not taken")]
    Full {
        /// Of which kind it was.
        kind: &'static str,
    },
    /// The pool is being dropped.
    #[error("no long task of kind {kind} is taken while the server stops")]
    Stopping {
        /// Of which kind it was.
        kind: &'static str,
    },
}

/// Why a long task was not given up.
#[derive(Debug, thiserror::Error)]
pub enum AbandonError {
    /// There is no such task that runs, or it was given up already.
    #[error("no long task {0:?} runs that could be given up")]
    NotRunning(LongId),
    /// So many threads were given up and have not ended.
    #[error("{ABANDONED_MAX} threads were given up already and have not ended: restart the server")]
    TooMany,
    /// The system gives no thread to take its place.
    #[error("no thread to take the place of the one that was given up")]
    Thread(#[source] std::io::Error),
}

/// A long task as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongInfo {
    /// Which one.
    pub id: LongId,
    /// What sort of work.
    pub kind: &'static str,
    /// Of what.
    pub name: String,
    /// Since when it has been known.
    pub submitted_at: Instant,
    /// How long its submitter thought that it would take.
    pub estimated: Duration,
    /// How long it will take, judging by others of its kind.
    pub expected: Duration,
    /// Whether it was told to end.
    pub is_cancelled: bool,
    /// Whether it has run for so much longer than expected that it probably hangs.
    pub is_overdue: bool,
    /// Whether it has begun.
    pub state: LongState,
}

/// Whether a long task has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongState {
    /// Not yet.
    Waiting,
    /// It runs.
    Running {
        /// Since when.
        since: Instant,
    },
    /// It runs, and nobody counts on its end: its thread has a successor.
    Abandoned {
        /// Since when it runs.
        since: Instant,
    },
}

/// A long task, or a disposal, that has run and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongEnded {
    /// What sort of work it was; `"dispose"` for a disposal.
    pub kind: &'static str,
    /// Before it began.
    pub waited: Duration,
    /// From then on.
    pub took: Duration,
    /// Whether it ended without a panic.
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
    /// Tasks whose threads were given up.
    pub abandoned: u64,
    /// Things that were dropped.
    pub disposed: u64,
    /// Tasks that wait now.
    pub waiting: u64,
    /// Disposals that wait now.
    pub disposals_waiting: u64,
    /// Tasks of which [`LongTasks::take_ended`] did not tell, because it was called too seldom.
    pub ended_untold: u64,
}

/// Where long tasks go. Cheap to clone; it outlives the pool, and then refuses.
#[derive(Clone)]
pub struct LongTasks {
    shared: Arc<shared::Shared>,
}

impl LongTasks {
    /// Queues a task. Never waits, so it may be called in a step.
    ///
    /// # Errors
    /// When the queue is full or the pool is being dropped. The task is dropped then, where it was called.
    pub fn submit(&self, long: Long) -> Result<Ticket, Refused> {
        self.shared.submit(long)
    }

    /// Has something dropped where no frame waits for it. Never waits, and never refuses. Once the pool was dropped, it is dropped here.
    ///
    /// Destruction never happens on a short task: what a step no longer needs and what is large goes here.
    pub fn dispose(&self, what: Box<dyn Any + Send>) {
        self.shared.dispose(what);
    }

    /// All tasks there are: what runs, then what waits.
    #[must_use]
    pub fn list(&self) -> Vec<LongInfo> {
        self.shared.list()
    }

    /// Has a task end: one that waits does not begin, one that runs is told. False when there is none.
    #[must_use]
    pub fn cancel(&self, id: LongId) -> bool {
        self.shared.cancel(id)
    }

    /// Gives up on a task that runs and does not listen: another thread takes the place of its own, so that the queue goes on.
    /// The former thread ends when the task does, if ever.
    ///
    /// # Errors
    /// When it does not run, when too many were given up, or when the system gives no thread.
    pub fn abandon(&self, id: LongId) -> Result<(), AbandonError> {
        threads::abandon(&self.shared, id)
    }

    /// What has ended since the last call, appended in that order; of more than [`LONG_ENDED_MAX`] the latest.
    pub fn take_ended(&self, ended: &mut Vec<LongEnded>) {
        self.shared.take_ended(ended);
    }

    /// Whether the pool is being dropped, or was.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.shared.is_stopping.load(SeqCst)
    }

    /// What was counted.
    #[must_use]
    pub fn counters(&self) -> LongCounters {
        self.shared.counters()
    }

    /// Time that tasks of a kind have taken ÷ time that was estimated, lately.
    #[must_use]
    pub fn ratio(&self, kind: &str) -> f64 {
        self.shared.ratio(kind)
    }

    /// What waits; `None` when a thread is just looking at it. Never waits.
    pub(crate) fn backlog(&self, now: Instant) -> Option<Backlog> {
        self.shared.backlog(now)
    }

    /// Waits until nothing waits or runs any more, at most for so long; true when it came to that. For a server that stops.
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
