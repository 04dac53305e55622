//! Task slots: wake-up of a quiet task, and ownership of a task between its steps.

use super::{Note, PoolShared, Task, UNPOISONED};
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

/// Target of wakers: it outlives the successive tasks in it.
#[derive(Debug, Default)]
pub(super) struct WakeSlot {
    /// [`TaskId`] of the current task; 0 without one.
    task: AtomicU64,
    asleep: AtomicBool,
}

impl WakeSlot {
    pub(super) fn task(&self) -> TaskId {
        TaskId(self.task.load(Acquire))
    }

    pub(super) fn occupy(&self, id: TaskId) {
        self.task.store(id.0, Release);
        self.asleep.store(false, Relaxed);
    }
}

/// A task in its slot.
pub(super) struct SlottedTask {
    pub(super) id: TaskId,
    wake_slot: Arc<WakeSlot>,
    /// `None` after removal. Locked during a step: a remover waits for its end, and no other thread waits here.
    task: Mutex<Option<Box<dyn Task>>>,
}

impl SlottedTask {
    pub(super) fn new(id: TaskId, task: Box<dyn Task>, wake_slot: Arc<WakeSlot>) -> Self {
        Self { id, wake_slot, task: Mutex::new(Some(task)) }
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

    /// True if the task sleeps from now on, until its waker is called.
    pub(super) fn falls_asleep(&self, task: &mut dyn Task) -> bool {
        if !task.is_quiet() {
            return false;
        }
        // Announce the sleep first and look again after: a command that came in between has either seen the announcement or
        // is seen now.
        self.wake_slot.asleep.store(true, Relaxed);
        fence(SeqCst);
        let quiet = task.is_quiet();
        if !quiet {
            self.wake_slot.asleep.store(false, Relaxed);
        }
        quiet
    }
}

/// Ends the sleep of one quiet task, or of its successor. Cheap to call after every command: while the task is awake it
/// reads one flag.
#[derive(Clone)]
pub struct Waker {
    wake_slot: Arc<WakeSlot>,
    shared: Arc<PoolShared>,
}

impl Waker {
    pub(super) const fn new(wake_slot: Arc<WakeSlot>, shared: Arc<PoolShared>) -> Self {
        Self { wake_slot, shared }
    }

    pub(super) fn is_of(&self, shared: &Arc<PoolShared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    pub(super) const fn wake_slot(&self) -> &Arc<WakeSlot> {
        &self.wake_slot
    }

    /// The task's name in the pool; its successor has another.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.wake_slot.task()
    }

    /// Call it after the task's mailbox has been filled. Never waits.
    pub fn wake(&self) {
        // Pairs with the worker's fence between going to sleep and its last check: either this thread sees the flag, or the worker sees
        // the input.
        fence(SeqCst);
        let asleep = &self.wake_slot.asleep;
        if asleep.load(Relaxed) && asleep.swap(false, Relaxed) {
            self.shared.post_note(Note::Woken(self.wake_slot.task()));
        }
    }
}

impl fmt::Debug for Waker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Waker").field(&self.id()).finish()
    }
}
