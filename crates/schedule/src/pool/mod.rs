//! Threads of a [`Schedule`].
//!
//! [`Pool`] is the handle. `worker` is the loop of its threads: look for work under one lock, once per batch and worker, and make the
//! steps without it. `slot` resumes sleeping tasks.
//!
//! Only workers take that lock under a deadline. Additions, removals and wake-ups are noted in a mailbox, which workers drain when they
//! look: worlds are added by threads of low priority, and their preemption must not delay workers.

mod task;
#[cfg(test)]
mod tests;
mod wake_slot;
mod worker;

pub use task::{Panicked, PoolBalance, Task, Threads};
pub use wake_slot::Waker;

use crate::{
    Schedule, StepStats, TaskId, WorkerFlags,
    batch::WORKERS_MAX,
    frames::{FRAMES_MAX, FrameRecord, FrameSummary, FrameTrace, TRACE_FRAMES_MAX},
    long::{Long, LongRefusal, LongTasks, LongThreads, LongTicket},
    mailbox::MpscMailbox,
    parking::Parking,
    starvation::{Backlog, Measure, Starvation},
};
use crossbeam_channel::{Receiver, Sender};
use ids::{Instant, Tick};
use rustix::{process::setpriority_process, thread::gettid};
use std::{
    any::Any,
    collections::BTreeMap,
    fmt, io,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Relaxed, SeqCst},
        },
    },
    thread::JoinHandle,
    time::Duration,
};
use telemetry::{LockWait, recorder::Recorder};
use wake_slot::{SlottedTask, WakeSlot};

/// Pool of threads `world-0`, `world-1` …, which step tasks when they are due, and `long-0` … for long tasks.
///
/// Dropping it stops the workers after their current steps, cancels long tasks and waits some seconds for the running ones.
pub struct Pool {
    shared: Arc<PoolShared>,
    workers: Vec<JoinHandle<()>>,
    panicked: Receiver<Panicked>,
    long: LongThreads,
}

type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

struct PoolShared {
    clock: Clock,
    lock_wait: LockWait,
    state: Mutex<PoolState>,
    flags: Arc<WorkerFlags>,
    parking: Parking,
    /// Times that a worker has started on a batch: a worker about to wait looks again if it changed.
    taken_up: AtomicU64,
    /// Notes that workers have not read. At most three for each task. Their order does not matter: a task removed before its addition
    /// was noted is found gone at its first step, and no task is woken before its first step.
    notes: MpscMailbox<Note>,
    /// The tasks. Workers only take this when one panics.
    tasks: Mutex<BTreeMap<TaskId, Arc<SlottedTask>>>,
    last_id: AtomicU64,
    /// Time of the last sample of the long backlog, in nanoseconds.
    looked_at: AtomicU64,
    is_stopping: AtomicBool,
    panicked: Sender<Panicked>,
    long: LongTasks,
}

struct PoolState {
    schedule: Schedule<Arc<SlottedTask>>,
    /// Room for the notes that are gone through.
    notes: Vec<Note>,
    starvation: Starvation,
    balance: PoolBalance,
    /// Time for which workers held the lock since the last report.
    serial: Duration,
    /// Until when the worker that keeps the time waits.
    watched_until: Option<Instant>,
}

/// Something that workers have to know.
enum Note {
    Added { task: Arc<SlottedTask>, dt: Duration, first_tick: Tick },
    Removed(TaskId),
    Woken(TaskId),
}

/// Niceness of workers, where the system permits it (CAP_SYS_NICE, or RLIMIT_NICE as in the packaged systemd unit). A world's step is
/// short and all clients wait for it, but a shard that has the core keeps it for 3 ms: with some 4,000 walkers on two busy cores 1.7 %
/// of the steps took longer than 10 ms at niceness 0, and none at −5 (300 steps each).
const NICE: i32 = -5;

impl Pool {
    /// Starts the threads. `clock` is read once for each step and each time that a worker looks for work; it must run with
    /// real time, since workers wait on it.
    ///
    /// # Errors
    /// When the system gives no more threads.
    ///
    /// # Panics
    /// When there are no workers or no long threads, or more than 1,024 workers.
    pub fn start(
        threads: impl Into<Threads>,
        clock: impl Fn() -> Instant + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::start_recorded(threads, clock, Recorder::off(), LockWait::default())
    }

    /// [`Pool::start`] with a recorder for tasks and for the workers' waits for each other.
    ///
    /// # Errors
    /// As for [`Pool::start`].
    ///
    /// # Panics
    /// As for [`Pool::start`].
    pub fn start_recorded(
        threads: impl Into<Threads>,
        clock: impl Fn() -> Instant + Send + Sync + 'static,
        recorder: Recorder,
        lock_wait: LockWait,
    ) -> io::Result<Self> {
        let threads = threads.into();
        assert!((1..=WORKERS_MAX).contains(&threads.workers), "a pool needs a worker");
        assert!(threads.long > 0, "long tasks have to run somewhere");
        let clock: Clock = Arc::new(clock);
        let long = LongThreads::start(threads.long, Arc::clone(&clock), recorder)?;
        // Unbounded, and at most as long as the number of tasks: each panics once, and its successor is added by the reader of this
        // channel.
        let (sender, panicked) = crossbeam_channel::unbounded();
        let shared = Arc::new(PoolShared::new(threads.workers, clock, lock_wait, sender, long.tasks()));
        let mut pool = Self { shared, workers: Vec::new(), panicked, long };
        for n in 0..threads.workers {
            let shared = Arc::clone(&pool.shared);
            let name = format!("world-{n}");
            let record = recorder.thread(&name);
            let work = move || {
                // Without permission the worker keeps its niceness.
                let _ = setpriority_process(Some(gettid()), NICE);
                record.install();
                shared.work_until_stopped(n);
            };
            // On an error `pool` is dropped, which stops the workers that already run.
            pool.workers.push(std::thread::Builder::new().name(name).spawn(work)?);
        }
        Ok(pool)
    }

    /// Adds a task with frames of `dt`, the first now. The waker belongs beside the task's input. Waits for no step.
    ///
    /// # Panics
    /// If `dt` is zero.
    pub fn add(&self, task: Box<dyn Task>, dt: Duration, first_tick: Tick) -> Waker {
        let wake_slot = Arc::new(WakeSlot::default());
        self.wake_slot(task, dt, first_tick, &wake_slot);
        Waker::new(wake_slot, Arc::clone(&self.shared))
    }

    /// Adds the successor of a task that panicked or was removed, under a new id. `waker` and its clones wake the successor.
    ///
    /// # Panics
    /// If the former task is still present, the waker belongs to another pool, or `dt` is zero.
    pub fn add_again(&self, waker: &Waker, task: Box<dyn Task>, dt: Duration, first_tick: Tick) {
        assert!(waker.is_of(&self.shared), "wakers belong to one pool");
        self.wake_slot(task, dt, first_tick, waker.wake_slot());
    }

    fn wake_slot(&self, task: Box<dyn Task>, dt: Duration, first_tick: Tick, wake_slot: &Arc<WakeSlot>) {
        assert!(!dt.is_zero(), "frames have a length");
        let mut tasks = self.shared.tasks.lock().expect(UNPOISONED);
        if tasks.contains_key(&wake_slot.task()) {
            // No panic is possible under the lock.
            drop(tasks);
            panic!("{:?} still sits there", wake_slot.task());
        }
        let id = TaskId(self.shared.last_id.fetch_add(1, Relaxed) + 1);
        // Due at once, so input that arrived while the slot was empty is seen without a wake-up.
        wake_slot.occupy(id);
        let slotted = Arc::new(SlottedTask::new(id, task, Arc::clone(wake_slot)));
        tasks.insert(id, Arc::clone(&slotted));
        drop(tasks);
        self.shared.post_note(Note::Added { task: slotted, dt, first_tick });
    }

    /// Takes a task out, after the step that it may be in; `None` when there is none (any more).
    pub fn remove(&self, id: TaskId) -> Option<Box<dyn Task>> {
        let slotted = self.shared.tasks.lock().expect(UNPOISONED).remove(&id)?;
        self.shared.post_note(Note::Removed(id));
        slotted.take_out()
    }

    /// Statistics of each task's steps since the last call.
    #[must_use]
    pub fn drain_step_stats(&self) -> Vec<(TaskId, StepStats)> {
        // Not with the lock in hand.
        let n_tasks = self.shared.lock().schedule.n_tasks();
        let mut step_stats = Vec::with_capacity(n_tasks + n_tasks / 8);
        self.shared.lock().schedule.drain_step_stats(&mut step_stats);
        step_stats
    }

    /// Drains the frame records since the last call into `records` ([`FRAMES_MAX`] at most), and returns the summary of all.
    pub fn drain_frames(&self, records: &mut Vec<FrameRecord>) -> FrameSummary {
        // Not with the lock in hand.
        records.reserve(FRAMES_MAX);
        let mut state = self.shared.lock();
        let serial = std::mem::take(&mut state.serial);
        FrameSummary { serial, ..state.schedule.drain_frames(records) }
    }

    /// Traces the steps of the next `n_frames` beats ([`TRACE_FRAMES_MAX`] at most). Replaces an earlier trace.
    pub fn trace_next_frames(&self, n_frames: usize) {
        let n_frames = n_frames.min(TRACE_FRAMES_MAX);
        let n_awake = self.shared.lock().schedule.n_awake();
        let room = FrameTrace::with_room(n_frames, n_awake);
        let former = self.shared.lock().schedule.trace(room, n_frames);
        // Megabytes, and not with the lock in hand.
        drop(former);
    }

    /// The trace that was asked for, once it is whole.
    #[must_use]
    pub fn take_trace(&self) -> Option<FrameTrace> {
        self.shared.lock().schedule.take_trace()
    }

    /// Balance between short and long tasks.
    #[must_use]
    pub fn balance(&self) -> PoolBalance {
        // Workers look too seldom when all worlds sleep.
        let now = (self.shared.clock)();
        let backlog = self.shared.sample(now);
        let mut state = self.shared.lock();
        let again = state.control_starvation(&self.shared.flags, now, backlog);
        let balance = state.balance;
        drop(state);
        again.for_each(|spot| self.shared.parking.call_to(spot));
        balance
    }

    /// Handle for submitting long tasks.
    #[must_use]
    pub fn long(&self) -> LongTasks {
        self.long.tasks()
    }

    /// Queues a long task, see [`LongTasks::submit`].
    ///
    /// # Errors
    /// When the queue is full.
    pub fn submit(&self, long: Long) -> Result<LongTicket, LongRefusal> {
        self.shared.long.submit(long)
    }

    /// Has something large dropped where no frame waits for it, see [`LongTasks::dispose`].
    pub fn dispose(&self, what: Box<dyn Any + Send>) {
        self.shared.long.dispose(what);
    }

    /// Tasks that panicked, to be restored.
    #[must_use]
    pub const fn panicked(&self) -> &Receiver<Panicked> {
        &self.panicked
    }

    /// Stops the threads and hands back all tasks in order of their ids, for instance to be saved.
    #[must_use]
    pub fn stop(mut self) -> Vec<(TaskId, Box<dyn Task>)> {
        self.join();
        let tasks = std::mem::take(&mut *self.shared.tasks.lock().expect(UNPOISONED));
        tasks.into_iter().filter_map(|(id, slotted)| Some((id, slotted.take_out()?))).collect()
    }

    fn join(&mut self) {
        self.shared.is_stopping.store(true, SeqCst);
        // After the steps that they are in, and not after their batches.
        self.shared.flags.call();
        self.shared.parking.call_all();
        for worker in self.workers.drain(..) {
            worker.join().expect("workers survive panics of their tasks");
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.join();
    }
}

const UNPOISONED: &str = "nothing panics while it holds the schedule";

impl PoolShared {
    fn new(
        n_workers: usize,
        clock: Clock,
        lock_wait: LockWait,
        panicked: Sender<Panicked>,
        long: LongTasks,
    ) -> Self {
        let schedule = Schedule::new(n_workers);
        let flags = Arc::clone(schedule.flags());
        let measure = Measure { level: 0, n_workers, pause_per_mille: 0 };
        let state = PoolState {
            schedule,
            notes: Vec::new(),
            starvation: Starvation::new(n_workers),
            balance: PoolBalance { measure, backlog: Backlog::default(), demand: 0.0 },
            serial: Duration::ZERO,
            watched_until: None,
        };
        Self {
            clock,
            lock_wait,
            state: Mutex::new(state),
            flags,
            parking: Parking::new(n_workers),
            taken_up: AtomicU64::new(0),
            notes: MpscMailbox::default(),
            tasks: Mutex::default(),
            last_id: AtomicU64::new(0),
            looked_at: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
            panicked,
            long,
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.lock_wait.lock(&self.state).expect(UNPOISONED)
    }

    /// Leaves a note for the workers.
    fn post_note(&self, note: Note) {
        self.notes.push(note);
        self.parking.call();
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("workers", &self.workers.len()).finish_non_exhaustive()
    }
}
