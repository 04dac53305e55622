//! What a pool runs, on how many threads, and what it gives back.

use crate::{
    Start, TaskId,
    starvation::{Backlog, Measure},
};
use ids::{Instant, Tick};
use std::{any::Any, fmt};

/// Something that is stepped at a fixed rate: a world with its inbox and outbox.
///
/// `Any`, so that whoever gets a task back ([`Panicked`], [`Pool::stop`](super::Pool::stop)) finds what it is made of.
pub trait Task: Send + Any {
    /// Whether a step would do nothing until somebody calls this task's [`Waker`](super::Waker). Asked after every step.
    fn is_quiet(&mut self) -> bool;

    /// One frame of `start.dt` of world time.
    fn step(&mut self, start: &Start);
}

/// A task whose step panicked. The pool runs it no more; who reads this makes a successor of it for [`Pool::add_again`](super::Pool::add_again), and
/// drops what is left where that disturbs no frame.
pub struct Panicked {
    /// Which one.
    pub id: TaskId,
    /// In which step; it is not made again.
    pub tick: Tick,
    /// When.
    pub at: Instant,
    /// What it said.
    pub message: String,
    /// What is left of it.
    pub task: Box<dyn Task>,
}

/// How many threads a pool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// Workers, which step tasks.
    pub workers: usize,
    /// Threads of low priority for long tasks.
    pub long: usize,
}

impl From<usize> for Threads {
    /// So many workers, and a quarter as many long threads, two at least: so that one task that hangs does not hold up all others.
    fn from(workers: usize) -> Self {
        Self { workers, long: (workers / 4).max(2) }
    }
}

/// How the pool stands between short and long tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// What workers are told.
    pub measure: Measure,
    /// Long work that waits.
    pub backlog: Backlog,
    /// Workers that short tasks need.
    pub demand: f32,
}

impl fmt::Debug for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Panicked")
            .field("id", &self.id)
            .field("tick", &self.tick)
            .field("message", &self.message)
            .finish_non_exhaustive()
    }
}
