//! Tasks, numbers of threads, and values that a pool returns.

use crate::{
    StepStart, TaskId,
    starvation::{Backlog, Measure},
};
use ids::{Instant, Tick};
use std::{any::Any, fmt};

/// A unit stepped at a fixed rate: a world with its mailbox and outbox.
///
/// `Any`, so that the owner of a returned task ([`Panicked`], [`Pool::stop`](super::Pool::stop)) can recover its type.
pub trait Task: Send + Any {
    /// True if a step would do nothing until the task's [`Waker`](super::Waker) is called. Asked after every step.
    fn is_quiet(&mut self) -> bool;

    /// One frame of `start.dt` of world time.
    fn step(&mut self, start: &StepStart);
}

/// Task whose step panicked. The pool does not run it any more; the receiver makes a successor for
/// [`Pool::add_again`](super::Pool::add_again) and drops the rest off the frame.
pub struct Panicked {
    /// Id.
    pub id: TaskId,
    /// In which step; it is not made again.
    pub tick: Tick,
    /// Time of the panic.
    pub at: Instant,
    /// Panic message.
    pub message: String,
    /// The task, as the panic left it.
    pub task: Box<dyn Task>,
}

/// Numbers of threads of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// Workers, which step tasks.
    pub workers: usize,
    /// Threads of low priority for long tasks.
    pub long: usize,
}

impl From<usize> for Threads {
    /// `workers` workers and `max(workers / 4, 2)` long threads, so that one hanging task does not block all others.
    fn from(workers: usize) -> Self {
        Self { workers, long: (workers / 4).max(2) }
    }
}

/// Balance between short and long tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoolBalance {
    /// Orders to the workers.
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
