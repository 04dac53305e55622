//! The threads that run a [`Schedule`].
//!
//! Workers take frames under one lock and run them outside of it. An idle worker waits for the next due time, and the
//! others for a notice, so that a frame wakes one thread; when all tasks sleep, nobody wakes at all.
//!
//! A task that panics is handed back through [`Pool::panicked`] and its [`Seat`] stays: [`Pool::add_again`] puts a
//! successor on it, whom every waker that was given out wakes from then on.

use crate::{
    laps::Laps,
    queue::{Schedule, Start, TaskId},
};
use crossbeam_channel::{Receiver, Sender};
use ids::{Instant, Tick};
use rustix::process::setpriority_process;
use rustix::thread::gettid;
use std::{
    any::Any,
    collections::BTreeMap,
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering, fence},
    },
    thread::JoinHandle,
    time::Duration,
};
use telemetry::{LockWait, recorder::Recorder};

/// Something that is stepped at a fixed rate: a world with its inbox and outbox.
///
/// `Any`, so that whoever gets a task back ([`Panicked`], [`Pool::stop`]) finds what it is made of.
pub trait Task: Send + Any {
    /// Whether a step would do nothing until somebody calls this task's [`Waker`]. Asked after every step.
    fn is_quiet(&mut self) -> bool;

    /// One frame of `start.dt` of world time.
    fn step(&mut self, start: &Start);
}

/// A few threads, named `world-0`, `world-1` …, that step tasks when they are due.
///
/// Dropping it stops the threads after the steps they are in.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    panicked: Receiver<Panicked>,
}

/// A task whose step panicked. The pool runs it no more; who reads this makes a successor of it for [`Pool::add_again`], and
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

struct Shared {
    clock: Box<dyn Fn() -> Instant + Send + Sync>,
    lock_wait: LockWait,
    state: Mutex<State>,
    /// A frame may be due earlier than those who wait think.
    work: Condvar,
    /// A task has come back from its step.
    returned: Condvar,
    panicked: Sender<Panicked>,
}

#[derive(Default)]
struct State {
    schedule: Schedule,
    /// The tasks; `None` while one runs.
    tasks: BTreeMap<TaskId, Slot>,
    /// Until when the worker that keeps the time waits.
    watched_until: Option<Instant>,
    /// Workers that wait. A notice costs a system call also when nobody hears it.
    n_idle: usize,
    /// Callers that wait for a task to return from its step.
    n_removing: usize,
    stopping: bool,
}

struct Slot {
    task: Option<Box<dyn Task>>,
    seat: Arc<Seat>,
}

/// What wakers point to: it outlives the tasks that sit on it one after the other.
#[derive(Debug)]
struct Seat {
    /// [`TaskId`] of who sits on it.
    task: AtomicU64,
    asleep: AtomicBool,
}

impl Seat {
    fn task(&self) -> TaskId {
        TaskId(self.task.load(Ordering::Acquire))
    }
}

/// How nice workers are, where the system lets them choose (CAP_SYS_NICE, or RLIMIT_NICE as in our systemd unit). All wait for the
/// step of a world and it is short, but a shard that has the core keeps it for three milliseconds: among some 4,000 walkers on two busy
/// cores 1.7 % of the steps took longer than 10 ms at niceness 0, and none at this (300 steps each).
const NICE: i32 = -5;

impl Pool {
    /// Starts so many workers. `clock` is read once per frame and wake-up; it must run with real time, since workers wait on it.
    ///
    /// # Errors
    /// When the system gives no more threads.
    ///
    /// # Panics
    /// When `n_workers` is 0.
    pub fn start(n_workers: usize, clock: impl Fn() -> Instant + Send + Sync + 'static) -> io::Result<Self> {
        Self::start_recorded(n_workers, clock, Recorder::off(), LockWait::default())
    }

    /// As [`Pool::start`], with workers that record what their tasks do, and tell how long they wait for each other.
    ///
    /// # Errors
    /// As for [`Pool::start`].
    ///
    /// # Panics
    /// As for [`Pool::start`].
    pub fn start_recorded(
        n_workers: usize,
        clock: impl Fn() -> Instant + Send + Sync + 'static,
        recorder: Recorder,
        lock_wait: LockWait,
    ) -> io::Result<Self> {
        assert!(n_workers > 0, "somebody has to do the work");
        // Unbounded, and no longer than the number of tasks: each panics once at most, and its successor is added by
        // whoever has read of that.
        let (sender, panicked) = crossbeam_channel::unbounded();
        let shared = Arc::new(Shared {
            clock: Box::new(clock),
            lock_wait,
            state: Mutex::default(),
            work: Condvar::new(),
            returned: Condvar::new(),
            panicked: sender,
        });
        let mut pool = Self { shared, workers: Vec::new(), panicked };
        for n in 0..n_workers {
            let shared = pool.shared.clone();
            let name = format!("world-{n}");
            let record = recorder.thread(&name);
            let work = move || {
                // Whoever may not goes without.
                let _ = setpriority_process(Some(gettid()), NICE);
                record.install();
                shared.work_until_stopped();
            };
            // On an error `pool` is dropped, which stops those that run already.
            pool.workers.push(std::thread::Builder::new().name(name).spawn(work)?);
        }
        Ok(pool)
    }

    /// Adds a task whose frames last `dt`, the first now. Keep the waker with whatever feeds the task.
    pub fn add(&self, task: Box<dyn Task>, dt: Duration, first_tick: Tick) -> Waker {
        let seat = Arc::new(Seat { task: AtomicU64::new(0), asleep: AtomicBool::new(false) });
        self.seat(task, dt, first_tick, &seat);
        Waker { seat, shared: Arc::clone(&self.shared) }
    }

    /// Adds the successor of a task that panicked or was removed, under a new id. `waker` and all its clones wake it.
    ///
    /// # Panics
    /// When the former task is still here, or the waker is another pool's.
    pub fn add_again(&self, waker: &Waker, task: Box<dyn Task>, dt: Duration, first_tick: Tick) {
        assert!(Arc::ptr_eq(&waker.shared, &self.shared), "wakers belong to one pool");
        self.seat(task, dt, first_tick, &waker.seat);
    }

    fn seat(&self, task: Box<dyn Task>, dt: Duration, first_tick: Tick, seat: &Arc<Seat>) {
        let now = (self.shared.clock)();
        let mut state = self.shared.lock();
        if state.tasks.contains_key(&seat.task()) {
            // Nobody panics with the lock in hand.
            drop(state);
            panic!("{:?} still sits there", seat.task());
        }
        let id = state.schedule.add(now, dt, first_tick);
        // It is due at once, so whatever came while nobody sat here is seen without a wake.
        seat.task.store(id.0, Ordering::Release);
        seat.asleep.store(false, Ordering::Relaxed);
        state.tasks.insert(id, Slot { task: Some(task), seat: Arc::clone(seat) });
        state.notify(&self.shared.work);
    }

    /// Takes a task out, after the step that it may be in; `None` when there is none (any more).
    pub fn remove(&self, id: TaskId) -> Option<Box<dyn Task>> {
        let mut state = self.shared.lock();
        state.schedule.remove(id);
        while state.tasks.get(&id)?.task.is_none() {
            state.n_removing += 1;
            state = self.shared.returned.wait(state).expect(UNPOISONED);
            state.n_removing -= 1;
        }
        state.tasks.remove(&id)?.task
    }

    /// What each task's frames cost since the last call.
    #[must_use]
    pub fn take_laps(&self) -> Vec<(TaskId, Laps)> {
        self.shared.lock().schedule.take_laps()
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
        let tasks = std::mem::take(&mut self.shared.lock().tasks);
        tasks.into_iter().filter_map(|(id, slot)| Some((id, slot.task?))).collect()
    }

    fn join(&mut self) {
        self.shared.lock().stopping = true;
        self.shared.work.notify_all();
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

/// Ends the sleep of one quiet task, or of its successor. Cheap to call after every command: while the task is awake it
/// reads one flag.
#[derive(Clone)]
pub struct Waker {
    seat: Arc<Seat>,
    shared: Arc<Shared>,
}

impl Waker {
    /// The task's name in the pool; its successor has another.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.seat.task()
    }

    /// Call it after the task's inbox has been filled.
    pub fn wake(&self) {
        // Pairs with the fence of a worker between going to sleep and its last look: either we see the flag, or it
        // sees what came into the inbox.
        fence(Ordering::SeqCst);
        let asleep = &self.seat.asleep;
        if !asleep.load(Ordering::Relaxed) || !asleep.swap(false, Ordering::Relaxed) {
            return;
        }
        let now = (self.shared.clock)();
        let mut state = self.shared.lock();
        if state.schedule.wake(self.seat.task(), now) {
            state.notify(&self.shared.work);
        }
    }
}

const UNPOISONED: &str = "nothing panics while it holds the schedule";

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.lock_wait.lock(&self.state).expect(UNPOISONED)
    }

    fn work_until_stopped(&self) {
        let mut state = self.lock();
        while !state.stopping {
            let now = (self.clock)();
            let Some(start) = state.schedule.take(now) else {
                state = self.idle(state, now);
                continue;
            };
            let slot = state.tasks.get_mut(&start.id).expect("scheduled tasks are here");
            let mut task = slot.task.take().expect("a task runs once at a time");
            let seat = Arc::clone(&slot.seat);
            // Somebody has to run what else is due, or to keep the time meanwhile.
            if state.unwatched_due_at().is_some() {
                state.notify(&self.work);
            }
            drop(state);

            let result = catch_unwind(AssertUnwindSafe(|| run(task.as_mut(), &start, &seat.asleep)));

            let now = (self.clock)();
            state = self.lock();
            match result {
                Ok(quiet) => {
                    state.schedule.finish(start.id, now, quiet);
                    let slot = state.tasks.get_mut(&start.id).expect("a running task is not taken out");
                    slot.task = Some(task);
                }
                Err(payload) => {
                    state.schedule.remove(start.id);
                    state.tasks.remove(&start.id);
                    let message = message_of(payload.as_ref());
                    // Only fails when the pool is being dropped, and then nobody restores anything.
                    let _ = self.panicked.send(Panicked {
                        id: start.id,
                        tick: start.tick,
                        at: now,
                        message,
                        task,
                    });
                }
            }
            if state.n_removing > 0 {
                self.returned.notify_all();
            }
        }
    }

    /// Waits for work. One worker watches the clock for all.
    fn idle<'a>(&'a self, mut state: MutexGuard<'a, State>, now: Instant) -> MutexGuard<'a, State> {
        state.n_idle += 1;
        let Some(due_at) = state.unwatched_due_at() else {
            let mut state = self.work.wait(state).expect(UNPOISONED);
            state.n_idle -= 1;
            return state;
        };
        state.watched_until = Some(due_at);
        let (mut state, _) = self.work.wait_timeout(state, due_at - now).expect(UNPOISONED);
        state.n_idle -= 1;
        if state.watched_until == Some(due_at) {
            state.watched_until = None;
        }
        state
    }
}

impl State {
    /// When the next frame is due, unless a waiting worker will be up by then.
    fn unwatched_due_at(&self) -> Option<Instant> {
        self.schedule.next_due_at().filter(|&due_at| self.watched_until.is_none_or(|until| due_at < until))
    }

    /// Lets a waiting worker look again.
    fn notify(&self, work: &Condvar) {
        if self.n_idle > 0 {
            work.notify_one();
        }
    }
}

/// Steps a task; true when it may sleep.
fn run(task: &mut dyn Task, start: &Start, asleep: &AtomicBool) -> bool {
    task.step(start);
    if !task.is_quiet() {
        return false;
    }
    // Announce the sleep first and look again after: a command that came in between has either seen the announcement or
    // is seen now.
    asleep.store(true, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    let quiet = task.is_quiet();
    if !quiet {
        asleep.store(false, Ordering::Relaxed);
    }
    quiet
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("workers", &self.workers.len()).finish_non_exhaustive()
    }
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

impl fmt::Debug for Waker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Waker").field(&self.id()).finish()
    }
}

#[cfg(test)]
mod tests;
