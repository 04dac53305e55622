//! Loop of a worker: look, run, look again.

use super::{Note, Panicked, PoolBalance, PoolShared, PoolState, Task, UNPOISONED, wake_slot::SlottedTask};
use crate::{
    batch::{Stay, StepJob},
    flags::WorkerFlags,
    panics::message_of,
    starvation::{Backlog, Pauses},
};
use ids::Instant;
use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::Ordering::{Relaxed, SeqCst},
    },
    time::Duration,
};
use telemetry::recorder::Scope;

/// Period at which a resting worker checks for held-up workers.
const HELD_UP_AFTER: Duration = WorkerFlags::HELD_UP_AFTER;

type Tasks = Stay<Arc<SlottedTask>>;

/// The serial parts: taking batches back and putting them together, and waiting for another worker that does.
static LOOK: Scope = Scope::new("schedule.look");

/// Period of samples of the long backlog.
pub(super) const GOVERN_EVERY: Duration = Duration::from_millis(50);

/// Workers called by each worker that starts on a batch, which call as many in turn: all run within a few wake-ups, and none makes
/// dozens of calls before its first step.
const CALLS: usize = 2;

/// Next action of a worker.
enum WorkerTurn {
    Run(Tasks),
    /// There is nothing to do, for a bounded time if this worker keeps the time.
    Wait {
        at_most: Option<Duration>,
        taken_up: u64,
    },
    /// Others do, until the starvation level falls.
    Rest,
    Stop,
}

impl PoolShared {
    pub(super) fn work_until_stopped(&self, me: usize) {
        self.parking.occupy(me);
        let (mut left, mut watch, mut pauses) = (None, None, Pauses::default());
        loop {
            match self.change_batch(me, left.take(), &mut watch) {
                WorkerTurn::Run(stay) => left = Some(self.run(me, stay, &mut pauses)),
                WorkerTurn::Wait { at_most, taken_up } => {
                    let is_changed = || self.taken_up.load(Relaxed) != taken_up;
                    self.parking.wait(me, at_most, || {
                        is_changed() || self.notes.has_some() || self.is_stopping.load(Relaxed)
                    });
                }
                WorkerTurn::Rest => self.rest(me),
                WorkerTurn::Stop => return,
            }
        }
    }

    /// Waits until this worker may run again, or replaces a held-up one.
    fn rest(&self, me: usize) {
        let is_over = || self.is_stopping.load(Relaxed) || self.flags.may_run(me, (self.clock)());
        while !is_over() {
            self.parking.rest(HELD_UP_AFTER, is_over);
        }
    }

    /// The tail of the batch that the worker comes from, and the head of the next. `watch` is until when it was waiting to keep the time.
    fn change_batch(&self, me: usize, left: Option<Tasks>, watch: &mut Option<Instant>) -> WorkerTurn {
        let _scope = LOOK.enter(0);
        let backlog = self.sample((self.clock)());
        let mut state = self.lock();
        let now = (self.clock)();
        let again = state.control_starvation(&self.flags, now, backlog);
        let (turn, n_calls) = self.next_turn(&mut state, now, me, left, watch);
        state.serial += (self.clock)() - now;
        drop(state);
        again.for_each(|spot| self.parking.call_to(spot));
        for _ in 0..n_calls {
            if !self.parking.call() {
                break;
            }
        }
        turn
    }

    /// Next action of this worker, and the number of workers to call first.
    fn next_turn(
        &self,
        state: &mut PoolState,
        now: Instant,
        me: usize,
        left: Option<Tasks>,
        watch: &mut Option<Instant>,
    ) -> (WorkerTurn, usize) {
        if let Some(stay) = left {
            state.schedule.leave_batch(stay);
        }
        if self.is_stopping.load(SeqCst) {
            return (WorkerTurn::Stop, 0);
        }
        self.drain_notes(state, now);
        if watch.is_some() && *watch == state.watched_until {
            state.watched_until = None;
        }
        *watch = None;
        if !self.flags.may_run(me, now) {
            // This worker may have been the one to look for all. A worker that has just looked and found nothing cannot be called yet,
            // and sees by the count that it must look again.
            self.flags.set_look_at(Some(now));
            self.taken_up.fetch_add(1, Relaxed);
            let is_wanted = state.unwatched_due_at().is_some() || state.schedule.has_jobs();
            return (WorkerTurn::Rest, usize::from(is_wanted));
        }
        let Some(stay) = state.schedule.join_batch(now) else {
            *watch = state.unwatched_due_at();
            if watch.is_some() {
                state.watched_until = *watch;
            }
            let taken_up = self.taken_up.load(Relaxed);
            return (WorkerTurn::Wait { at_most: watch.map(|due_at| due_at - now), taken_up }, 0);
        };
        // Other workers must take further due work, or keep the time.
        let n_others = stay.remaining().saturating_sub(1).min(CALLS);
        self.taken_up.fetch_add(1, Relaxed);
        (WorkerTurn::Run(stay), n_others.max(usize::from(state.unwatched_due_at().is_some())))
    }

    fn drain_notes(&self, state: &mut PoolState, now: Instant) {
        let mut notes = std::mem::take(&mut state.notes);
        self.notes.drain_into(&mut notes);
        notes.drain(..).for_each(|note| state.take_note(note, now));
        state.notes = notes;
    }

    /// Makes one job of a batch after the other, until there is none or it should look for something else.
    fn run(&self, me: usize, mut stay: Tasks, pauses: &mut Pauses) -> Tasks {
        let round = stay.round;
        // The end of one step is the beginning of the next: one reading for both.
        let mut now = (self.clock)();
        while let Some(job) = stay.pull() {
            let began_at = now;
            self.flags.step_begins(me, began_at);
            now = self.make(me, job, began_at);
            let took = now - began_at;
            let continues = self.flags.continues_batch(round, now, took, job.dt());
            // Also after a step so long that the worker must look: among such steps it would never pause.
            if let Some(pause) = pauses.after(took, self.flags.pause_per_mille()) {
                self.flags.steps_end(me);
                std::thread::park_timeout(pause);
                let resumed_at = (self.clock)();
                pauses.made(resumed_at - now);
                now = resumed_at;
            }
            if !continues {
                break;
            }
        }
        self.flags.steps_end(me);
        stay
    }

    /// Makes one step; returns when it was done.
    fn make(&self, me: usize, job: &StepJob<Arc<SlottedTask>>, now: Instant) -> Instant {
        let Some(start) = job.start(now) else {
            job.put_off(me);
            return now;
        };
        let slotted = job.handle();
        let result = slotted.with(|slot| {
            let task: &mut dyn Task = slot.as_deref_mut()?;
            let step = || {
                task.step(&start);
                slotted.falls_asleep(task)
            };
            match catch_unwind(AssertUnwindSafe(step)) {
                Ok(quiet) => Some(Ok(quiet)),
                Err(payload) => Some(Err((slot.take()?, message_of(payload.as_ref())))),
            }
        });
        let ended_at = (self.clock)();
        match result.flatten() {
            Some(Ok(quiet)) => job.done(me, ended_at, quiet),
            Some(Err((task, message))) => {
                self.tasks.lock().expect(UNPOISONED).remove(&slotted.id);
                job.panicked(me, ended_at);
                let (id, tick) = (start.id, start.tick);
                // Fails only while the pool is being dropped, when no successor is made.
                let _ = self.panicked.send(Panicked { id, tick, at: ended_at, message, task });
            }
            // It was removed.
            None => job.gone(me),
        }
        ended_at
    }

    /// Backlog of long work, if a sample is due. Not under the schedule's lock: it asks the kernel.
    pub(super) fn sample(&self, now: Instant) -> Option<Backlog> {
        let looked_at = self.looked_at.load(Relaxed);
        let is_time = now - Instant(looked_at) >= GOVERN_EVERY
            && self.looked_at.compare_exchange(looked_at, now.0, Relaxed, Relaxed).is_ok();
        // While a long thread holds the queue, the last sample remains in use.
        if is_time { self.long.backlog(now) } else { None }
    }
}

impl PoolState {
    /// Applies starvation control. Returns the workers that may run again, to be called without the lock.
    pub(super) fn control_starvation(
        &mut self,
        flags: &WorkerFlags,
        now: Instant,
        backlog: Option<Backlog>,
    ) -> Range<usize> {
        let Some(backlog) = backlog else { return 0..0 };
        let demand = self.schedule.demand();
        let measure = self.starvation.update(now, backlog, demand);
        let n_before = self.balance.measure.n_workers;
        self.balance = PoolBalance { measure, backlog, demand };
        self.schedule.set_level(measure.level);
        flags.limit(measure.n_workers, measure.pause_per_mille);
        n_before..measure.n_workers
    }

    fn take_note(&mut self, note: Note, now: Instant) {
        match note {
            Note::Added { task, dt, first_tick } => {
                self.schedule.add(now, task.id, dt, first_tick, task);
            }
            Note::Removed(id) => {
                self.schedule.remove(id);
            }
            Note::Woken(id) => {
                self.schedule.wake(id, now);
            }
        }
    }

    /// Due time of the next frame, unless a waiting worker will be up by then.
    fn unwatched_due_at(&self) -> Option<Instant> {
        let is_unwatched = |due_at: &Instant| self.watched_until.is_none_or(|until| *due_at < until);
        self.schedule.next_due_at().filter(is_unwatched)
    }
}
