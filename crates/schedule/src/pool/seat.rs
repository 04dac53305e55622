//! How a quiet task is woken, and where a task is while nobody runs it.

use super::{Note, Shared, Task, UNPOISONED};
use crate::TaskId;
use std::{
    fmt,
    sync::{
        Arc, Mutex, TryLockError,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release, SeqCst},
            fence,
        },
    },
};

/// What wakers point to: it outlives the tasks that sit on it one after the other.
#[derive(Debug, Default)]
pub(super) struct Seat {
    /// [`TaskId`] of who sits on it; 0 is nobody's.
    task: AtomicU64,
    asleep: AtomicBool,
}

impl Seat {
    pub(super) fn task(&self) -> TaskId {
        TaskId(self.task.load(Acquire))
    }

    pub(super) fn sit_down(&self, id: TaskId) {
        self.task.store(id.0, Release);
        self.asleep.store(false, Relaxed);
    }
}

/// A task on its seat.
pub(super) struct Seated {
    pub(super) id: TaskId,
    seat: Arc<Seat>,
    /// `None` once it was taken out. Held during its step: whoever takes it out waits for that, and nobody else ever waits here.
    task: Mutex<Option<Box<dyn Task>>>,
}

impl Seated {
    pub(super) fn new(id: TaskId, task: Box<dyn Task>, seat: Arc<Seat>) -> Self {
        Self { id, seat, task: Mutex::new(Some(task)) }
    }

    /// The task, after the step that it may be in.
    pub(super) fn take_out(&self) -> Option<Box<dyn Task>> {
        self.task.lock().expect(UNPOISONED).take()
    }

    /// Runs `f` on the task; `None` when it was taken out, or is just being.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Option<Box<dyn Task>>) -> R) -> Option<R> {
        match self.task.try_lock() {
            Ok(mut task) if task.is_some() => Some(f(&mut task)),
            Ok(_) | Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(_)) => panic!("{UNPOISONED}"),
        }
    }

    /// Whether the task sleeps from now on, until somebody calls its waker.
    pub(super) fn falls_asleep(&self, task: &mut dyn Task) -> bool {
        if !task.is_quiet() {
            return false;
        }
        // Announce the sleep first and look again after: a command that came in between has either seen the announcement or
        // is seen now.
        self.seat.asleep.store(true, Relaxed);
        fence(SeqCst);
        let quiet = task.is_quiet();
        if !quiet {
            self.seat.asleep.store(false, Relaxed);
        }
        quiet
    }
}

/// Ends the sleep of one quiet task, or of its successor. Cheap to call after every command: while the task is awake it
/// reads one flag.
#[derive(Clone)]
pub struct Waker {
    seat: Arc<Seat>,
    shared: Arc<Shared>,
}

impl Waker {
    pub(super) const fn new(seat: Arc<Seat>, shared: Arc<Shared>) -> Self {
        Self { seat, shared }
    }

    pub(super) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    pub(super) const fn seat(&self) -> &Arc<Seat> {
        &self.seat
    }

    /// The task's name in the pool; its successor has another.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.seat.task()
    }

    /// Call it after the task's inbox has been filled. Never waits.
    pub fn wake(&self) {
        // Pairs with the fence of a worker between going to sleep and its last look: either we see the flag, or it
        // sees what came into the inbox.
        fence(SeqCst);
        let asleep = &self.seat.asleep;
        if asleep.load(Relaxed) && asleep.swap(false, Relaxed) {
            self.shared.note(Note::Woken(self.seat.task()));
        }
    }
}

impl fmt::Debug for Waker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Waker").field(&self.id()).finish()
    }
}
