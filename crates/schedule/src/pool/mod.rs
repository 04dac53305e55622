//! The threads that run a [`Schedule`].
//!
//! [`Pool`] is what others hold. `worker` is what its threads do: look for work under one lock, once for each batch and worker,
//! and make the steps without one. `seat` is how a sleeping task is woken.
//!
//! Nobody but workers takes that lock in a hurry. Tasks that come, go or are to be woken are noted in an inbox, which workers go
//! through when they look: whoever adds worlds does so from a thread of low priority, and whether it loses its core with the inbox in hand must
//! be nothing to them.

mod seat;
mod task;
#[cfg(test)]
mod tests;
mod worker;

pub use seat::Waker;
pub use task::{Panicked, Standing, Task, Threads};

use crate::{
    Laps, Schedule, Signs, TaskId,
    batch::WORKERS_MAX,
    frames::{FRAMES_MAX, FrameRecord, FrameSummary, TRACE_FRAMES_MAX, Trace},
    inbox::Inbox,
    long::{Long, LongTasks, LongThreads, Refused, Ticket},
    parking::Parking,
    starvation::{Backlog, Measure, Starvation},
};
use crossbeam_channel::{Receiver, Sender};
use ids::{Instant, Tick};
use rustix::{process::setpriority_process, thread::gettid};
use seat::{Seat, Seated};
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

/// A few threads, named `world-0`, `world-1` …, that step tasks when they are due; and others, named `long-0` …, for what takes
/// longer than a frame may.
///
/// Dropping it stops the workers after the steps they are in, cancels long tasks and waits some seconds for those that run.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    panicked: Receiver<Panicked>,
    long: LongThreads,
}

type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

struct Shared {
    clock: Clock,
    lock_wait: LockWait,
    state: Mutex<State>,
    signs: Arc<Signs>,
    parking: Parking,
    /// Counts how often a worker took up work: whoever is about to wait looks again if that happened meanwhile.
    taken_up: AtomicU64,
    /// What workers do not know yet. No longer than there are tasks, three notes for each. In whatever order they come: a task that was
    /// taken out before it was added is found to be gone by its first step, and none is woken before it has had one.
    notes: Inbox<Note>,
    /// The tasks. Workers only take this when one panics.
    tasks: Mutex<BTreeMap<TaskId, Arc<Seated>>>,
    last_id: AtomicU64,
    /// When it was last seen how much long work waits, in nanoseconds.
    looked_at: AtomicU64,
    is_stopping: AtomicBool,
    panicked: Sender<Panicked>,
    long: LongTasks,
}

struct State {
    schedule: Schedule<Arc<Seated>>,
    /// Room for the notes that are gone through.
    notes: Vec<Note>,
    starvation: Starvation,
    standing: Standing,
    /// How long workers had it since somebody asked.
    serial: Duration,
    /// Until when the worker that keeps the time waits.
    watched_until: Option<Instant>,
}

/// Something that workers have to know.
enum Note {
    Added { task: Arc<Seated>, dt: Duration, first_tick: Tick },
    Removed(TaskId),
    Woken(TaskId),
}

/// How nice workers are, where the system lets them choose (CAP_SYS_NICE, or RLIMIT_NICE as in our systemd unit). All wait for the
/// step of a world and it is short, but a shard that has the core keeps it for three milliseconds: among some 4,000 walkers on two busy
/// cores 1.7 % of the steps took longer than 10 ms at niceness 0, and none at this (300 steps each).
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

    /// As [`Pool::start`], with threads that record what their tasks do, and workers that tell how long they wait for each other.
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
        assert!((1..=WORKERS_MAX).contains(&threads.workers), "somebody has to do the work");
        assert!(threads.long > 0, "long tasks have to run somewhere");
        let clock: Clock = Arc::new(clock);
        let long = LongThreads::start(threads.long, Arc::clone(&clock), recorder)?;
        // Unbounded, and no longer than the number of tasks: each panics once at most, and its successor is added by
        // whoever has read of that.
        let (sender, panicked) = crossbeam_channel::unbounded();
        let shared = Arc::new(Shared::new(threads.workers, clock, lock_wait, sender, long.tasks()));
        let mut pool = Self { shared, workers: Vec::new(), panicked, long };
        for n in 0..threads.workers {
            let shared = Arc::clone(&pool.shared);
            let name = format!("world-{n}");
            let record = recorder.thread(&name);
            let work = move || {
                // Whoever may not goes without.
                let _ = setpriority_process(Some(gettid()), NICE);
                record.install();
                shared.work_until_stopped(n);
            };
            // On an error `pool` is dropped, which stops those that run already.
            pool.workers.push(std::thread::Builder::new().name(name).spawn(work)?);
        }
        Ok(pool)
    }

    /// Adds a task whose frames last `dt`, the first now. Keep the waker with whatever feeds the task. Waits for no step.
    ///
    /// # Panics
    /// When `dt` is zero.
    pub fn add(&self, task: Box<dyn Task>, dt: Duration, first_tick: Tick) -> Waker {
        let seat = Arc::new(Seat::default());
        self.seat(task, dt, first_tick, &seat);
        Waker::new(seat, Arc::clone(&self.shared))
    }

    /// Adds the successor of a task that panicked or was removed, under a new id. `waker` and all its clones wake it.
    ///
    /// # Panics
    /// When the former task is still here, or the waker is another pool's, or `dt` is zero.
    pub fn add_again(&self, waker: &Waker, task: Box<dyn Task>, dt: Duration, first_tick: Tick) {
        assert!(waker.is_of(&self.shared), "wakers belong to one pool");
        self.seat(task, dt, first_tick, waker.seat());
    }

    fn seat(&self, task: Box<dyn Task>, dt: Duration, first_tick: Tick, seat: &Arc<Seat>) {
        assert!(!dt.is_zero(), "frames have a length");
        let mut tasks = self.shared.tasks.lock().expect(UNPOISONED);
        if tasks.contains_key(&seat.task()) {
            // Nobody panics with the lock in hand.
            drop(tasks);
            panic!("{:?} still sits there", seat.task());
        }
        let id = TaskId(self.shared.last_id.fetch_add(1, Relaxed) + 1);
        // It is due at once, so whatever came while nobody sat here is seen without a wake.
        seat.sit_down(id);
        let seated = Arc::new(Seated::new(id, task, Arc::clone(seat)));
        tasks.insert(id, Arc::clone(&seated));
        drop(tasks);
        self.shared.note(Note::Added { task: seated, dt, first_tick });
    }

    /// Takes a task out, after the step that it may be in; `None` when there is none (any more).
    pub fn remove(&self, id: TaskId) -> Option<Box<dyn Task>> {
        let seated = self.shared.tasks.lock().expect(UNPOISONED).remove(&id)?;
        self.shared.note(Note::Removed(id));
        seated.take_out()
    }

    /// What each task's frames cost since the last call.
    #[must_use]
    pub fn take_laps(&self) -> Vec<(TaskId, Laps)> {
        // Not with the lock in hand.
        let n_tasks = self.shared.lock().schedule.n_tasks();
        let mut laps = Vec::with_capacity(n_tasks + n_tasks / 8);
        self.shared.lock().schedule.take_laps(&mut laps);
        laps
    }

    /// What frames took since the last call: the latest ([`FRAMES_MAX`]) appended to `records`, and what all come to.
    pub fn take_frames(&self, records: &mut Vec<FrameRecord>) -> FrameSummary {
        // Not with the lock in hand.
        records.reserve(FRAMES_MAX);
        let mut state = self.shared.lock();
        let serial = std::mem::take(&mut state.serial);
        FrameSummary { serial, ..state.schedule.take_frames(records) }
    }

    /// Keeps who makes which step when for the next `n_frames` beats ([`TRACE_FRAMES_MAX`] at most), in place of a trace that was
    /// asked for before.
    pub fn trace_next_frames(&self, n_frames: usize) {
        let n_frames = n_frames.min(TRACE_FRAMES_MAX);
        let n_awake = self.shared.lock().schedule.n_awake();
        let room = Trace::with_room(n_frames, n_awake);
        let former = self.shared.lock().schedule.trace(room, n_frames);
        // Megabytes, and not with the lock in hand.
        drop(former);
    }

    /// The trace that was asked for, once it is whole.
    #[must_use]
    pub fn take_trace(&self) -> Option<Trace> {
        self.shared.lock().schedule.take_trace()
    }

    /// How the pool stands between short and long tasks.
    #[must_use]
    pub fn standing(&self) -> Standing {
        // Workers look too seldom when all worlds sleep.
        let now = (self.shared.clock)();
        let backlog = self.shared.sample(now);
        let mut state = self.shared.lock();
        let again = state.govern(&self.shared.signs, now, backlog);
        let standing = state.standing;
        drop(state);
        again.for_each(|spot| self.shared.parking.call_to(spot));
        standing
    }

    /// Where long tasks go; a clone for whoever submits some.
    #[must_use]
    pub fn long(&self) -> LongTasks {
        self.long.tasks()
    }

    /// Queues a long task, see [`LongTasks::submit`].
    ///
    /// # Errors
    /// When the queue is full.
    pub fn submit(&self, long: Long) -> Result<Ticket, Refused> {
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
        tasks.into_iter().filter_map(|(id, seated)| Some((id, seated.take_out()?))).collect()
    }

    fn join(&mut self) {
        self.shared.is_stopping.store(true, SeqCst);
        // After the steps that they are in, and not after their batches.
        self.shared.signs.call();
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

impl Shared {
    fn new(
        n_workers: usize,
        clock: Clock,
        lock_wait: LockWait,
        panicked: Sender<Panicked>,
        long: LongTasks,
    ) -> Self {
        let schedule = Schedule::new(n_workers);
        let signs = Arc::clone(schedule.signs());
        let measure = Measure { level: 0, n_workers, pause_per_mille: 0 };
        let state = State {
            schedule,
            notes: Vec::new(),
            starvation: Starvation::new(n_workers),
            standing: Standing { measure, backlog: Backlog::default(), demand: 0.0 },
            serial: Duration::ZERO,
            watched_until: None,
        };
        Self {
            clock,
            lock_wait,
            state: Mutex::new(state),
            signs,
            parking: Parking::new(n_workers),
            taken_up: AtomicU64::new(0),
            notes: Inbox::default(),
            tasks: Mutex::default(),
            last_id: AtomicU64::new(0),
            looked_at: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
            panicked,
            long,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.lock_wait.lock(&self.state).expect(UNPOISONED)
    }

    /// Tells workers something, soon.
    fn note(&self, note: Note) {
        self.notes.put(note);
        self.parking.call();
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("workers", &self.workers.len()).finish_non_exhaustive()
    }
}
