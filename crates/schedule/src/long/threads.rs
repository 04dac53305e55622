//! The threads that run long tasks.

use super::{
    ABANDONED_MAX, AbandonError, Finished, LongContext, LongEnded, LongId, LongOutcome, LongSpec, LongTasks,
    StartedTask,
    shared::{
        Clock, DISPOSE, DISPOSE_ESTIMATE, Disposal, LongShared, LongStore, LongWork, OnThread, UNPOISONED,
    },
};
use crate::panics::message_of;
use rustix::{process::setpriority_process, thread::gettid};
use std::{
    any::Any,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::Ordering::{Relaxed, SeqCst},
    },
    time::Duration,
};
use telemetry::recorder::{Recorder, Scope, frame_end};

/// One long task.
static TASK: Scope = Scope::new("long.task");

/// One thing that is dropped.
static DISPOSAL: Scope = Scope::new("long.dispose");

/// Niceness of the threads. On idle cores it costs them nothing; on busy ones worlds and clients come first, until
/// [`crate::starvation`] intervenes.
const NICE: i32 = 10;

/// Time for which a dropped pool waits for cancelled tasks to end, before it leaves them behind.
const GRACE: Duration = Duration::from_secs(5);

/// Next work of a thread.
enum NextTask {
    Task(StartedTask<LongWork>),
    Dispose(LongId, Box<dyn Any + Send>),
}

/// The threads of one pool. Dropping it ends them.
pub(crate) struct LongThreads {
    shared: Arc<LongShared>,
}

impl LongThreads {
    pub(crate) fn start(n_threads: usize, clock: Clock, recorder: Recorder) -> io::Result<Self> {
        let shared = Arc::new(LongShared::new(n_threads, clock, recorder));
        // Dropped on an error, which ends the threads that already run.
        let threads = Self { shared };
        for spot in 0..n_threads {
            spawn(&threads.shared, spot)?;
            threads.shared.lock().n_threads += 1;
        }
        Ok(threads)
    }

    pub(crate) fn tasks(&self) -> LongTasks {
        LongTasks { shared: Arc::clone(&self.shared) }
    }
}

impl Drop for LongThreads {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

fn spawn(shared: &Arc<LongShared>, spot: usize) -> io::Result<()> {
    let name = format!("long-{spot}");
    let record = shared.recorder.thread(&name);
    let shared = Arc::clone(shared);
    let work = move || {
        // It only ever gets nicer, so this is refused nowhere.
        let _ = setpriority_process(Some(gettid()), NICE);
        record.install();
        shared.work_until_stopped(spot);
    };
    // Never joined without a limit: the thread may be in a task that does not end.
    std::thread::Builder::new().name(name).spawn(work).map(drop)
}

/// See [`LongTasks::abandon`].
pub(super) fn abandon(shared: &Arc<LongShared>, id: LongId) -> Result<(), AbandonError> {
    let mut state = shared.lock();
    let place = state.running.iter().position(|running| running.id == id);
    let place = place.ok_or(AbandonError::NotRunning(id))?;
    if state.tasks.n_abandoned() >= ABANDONED_MAX {
        return Err(AbandonError::TooMany);
    }
    let OnThread { spot, outcome, .. } = &state.running[place];
    spawn(shared, *spot).map_err(AbandonError::Thread)?;
    if let Some(outcome) = outcome {
        let _ = outcome.try_send(LongOutcome::Abandoned);
    }
    state.tasks.abandon(id);
    state.running.swap_remove(place);
    shared.n_running.fetch_sub(1, Relaxed);
    shared.counts.abandoned.fetch_add(1, Relaxed);
    shared.ended.notify_all();
    Ok(())
}

impl LongShared {
    fn work_until_stopped(&self, spot: usize) {
        self.parking.occupy(spot);
        let mut state = self.lock();
        state.set_account(spot);
        while !self.is_stopping.load(SeqCst) {
            self.put_in_order(&mut state);
            let turn = self.next_turn(&mut state, spot);
            drop(state);
            // For others, too.
            self.call_thread_if_ordered();
            let Some(turn) = turn else {
                self.parking.wait(spot, None, || self.has_work() || self.is_stopping.load(SeqCst));
                state = self.lock();
                continue;
            };
            let (id, is_sound) = self.run(turn);
            frame_end();
            state = self.lock();
            let Finished { kind, waited, took, is_abandoned } = state.tasks.finish(id, (self.clock)());
            self.note_ended(&mut state, LongEnded { kind, waited, took, is_sound });
            if is_abandoned {
                // Its place is taken.
                return;
            }
            state.running.retain(|running| running.id != id);
            self.n_running.fetch_sub(1, Relaxed);
            self.ended.notify_all();
        }
        state.n_threads -= 1;
        self.ended.notify_all();
    }

    fn next_turn(&self, state: &mut LongStore, spot: usize) -> Option<NextTask> {
        let now = (self.clock)();
        if let Some(Disposal { submitted_at, what }) = state.disposals.pop_front() {
            let id = self.next_id();
            let spec = LongSpec { kind: DISPOSE, name: String::new(), estimated: DISPOSE_ESTIMATE };
            state.tasks.begin(id, now, submitted_at, spec);
            state.begin(id, spot, None);
            self.count_ordered(state);
            self.n_running.fetch_add(1, Relaxed);
            self.n_disposals.fetch_sub(1, SeqCst);
            return Some(NextTask::Dispose(id, what));
        }
        let begun = state.tasks.start_task(now)?;
        state.begin(begun.id, spot, Some(begun.work.outcome.clone()));
        self.n_running.fetch_add(1, Relaxed);
        self.count_ordered(state);
        self.n_waiting.fetch_sub(1, SeqCst);
        Some(NextTask::Task(begun))
    }

    /// Returns the task's id, and false after a panic.
    fn run(&self, turn: NextTask) -> (LongId, bool) {
        match turn {
            NextTask::Dispose(id, what) => {
                let _scope = DISPOSAL.enter(0);
                let result = catch_unwind(AssertUnwindSafe(|| drop(what)));
                self.counts.panicked.fetch_add(u64::from(result.is_err()), Relaxed);
                self.counts.disposed.fetch_add(1, Relaxed);
                (id, result.is_ok())
            }
            NextTask::Task(StartedTask { id, work: LongWork { run, outcome }, is_cancelled }) => {
                let context = LongContext { id, is_cancelled };
                let _scope = TASK.enter(0);
                let result = catch_unwind(AssertUnwindSafe(|| run(&context)));
                let (count, end) = match result {
                    Ok(()) => (&self.counts.done, LongOutcome::Done),
                    Err(payload) => {
                        (&self.counts.panicked, LongOutcome::Panicked(message_of(payload.as_ref())))
                    }
                };
                count.fetch_add(1, Relaxed);
                let is_sound = end == LongOutcome::Done;
                // The submitter may have dropped its ticket, or received [`LongOutcome::Abandoned`] before.
                let _ = outcome.try_send(end);
                (id, is_sound)
            }
        }
    }

    fn stop(&self) {
        self.is_stopping.store(true, SeqCst);
        self.cancel_waiting();
        self.parking.call_all();
        let until = (self.clock)() + GRACE;
        let mut state = self.lock();
        while state.n_threads > 0 {
            let left = until - (self.clock)();
            if left.is_zero() {
                break;
            }
            (state, _) = self.ended.wait_timeout(state, left).expect(UNPOISONED);
        }
        drop(state);
        self.drop_disposals();
    }
}
