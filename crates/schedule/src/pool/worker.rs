//! What a worker does: look, run, and look again.

use super::{Note, Panicked, Shared, Standing, State, Task, UNPOISONED, seat::Seated};
use crate::{
    batch::{Job, Stay},
    panics::message_of,
    signs::Signs,
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

/// How often a resting worker sees whether those that may run are held up.
const HELD_UP_AFTER: Duration = Signs::HELD_UP_AFTER;

type Tasks = Stay<Arc<Seated>>;

/// The serial parts: taking batches back and putting them together, and waiting for another worker that does.
static LOOK: Scope = Scope::new("schedule.look");

/// How often it is seen how much long work waits.
pub(super) const GOVERN_EVERY: Duration = Duration::from_millis(50);

/// Who takes up a batch calls so many others to it, and they do the same: all are there within a few wake-ups, and nobody
/// makes dozens of them before the first step.
const CALLS: usize = 2;

/// What a worker does until it looks again.
enum Turn {
    Run(Tasks),
    /// There is nothing to do, for so long at most if this is the worker that keeps the time.
    Wait {
        at_most: Option<Duration>,
        taken_up: u64,
    },
    /// Others do, until the starvation level falls.
    Rest,
    Stop,
}

impl Shared {
    pub(super) fn work_until_stopped(&self, me: usize) {
        self.parking.sit_down(me);
        let (mut left, mut watch, mut pauses) = (None, None, Pauses::default());
        loop {
            match self.look(me, left.take(), &mut watch) {
                Turn::Run(stay) => left = Some(self.run(me, stay, &mut pauses)),
                Turn::Wait { at_most, taken_up } => {
                    let is_changed = || self.taken_up.load(Relaxed) != taken_up;
                    self.parking.wait(me, at_most, || {
                        is_changed() || self.notes.has_some() || self.is_stopping.load(Relaxed)
                    });
                }
                Turn::Rest => self.rest(me),
                Turn::Stop => return,
            }
        }
    }

    /// Waits until this worker may run again, or stands in for one that does not come back from its step.
    fn rest(&self, me: usize) {
        let is_over = || self.is_stopping.load(Relaxed) || self.signs.may_run(me, (self.clock)());
        while !is_over() {
            self.parking.rest(HELD_UP_AFTER, is_over);
        }
    }

    /// The tail of the batch that the worker comes from, and the head of the next. `watch` is until when it was waiting to keep the time.
    fn look(&self, me: usize, left: Option<Tasks>, watch: &mut Option<Instant>) -> Turn {
        let _scope = LOOK.enter(0);
        let backlog = self.sample((self.clock)());
        let mut state = self.lock();
        let now = (self.clock)();
        let again = state.govern(&self.signs, now, backlog);
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

    /// What the worker does next, and how many others it calls before.
    fn next_turn(
        &self,
        state: &mut State,
        now: Instant,
        me: usize,
        left: Option<Tasks>,
        watch: &mut Option<Instant>,
    ) -> (Turn, usize) {
        if let Some(stay) = left {
            state.schedule.leave(stay);
        }
        if self.is_stopping.load(SeqCst) {
            return (Turn::Stop, 0);
        }
        self.take_notes(state, now);
        if watch.is_some() && *watch == state.watched_until {
            state.watched_until = None;
        }
        *watch = None;
        if !self.signs.may_run(me, now) {
            // This may be the one that came to look for all. Another one, who has just looked and found nothing, is not to be called
            // yet, and sees by the count that it has to look again.
            self.signs.set_look_at(Some(now));
            self.taken_up.fetch_add(1, Relaxed);
            let is_wanted = state.unwatched_due_at().is_some() || state.schedule.has_jobs();
            return (Turn::Rest, usize::from(is_wanted));
        }
        let Some(stay) = state.schedule.look(now) else {
            *watch = state.unwatched_due_at();
            if watch.is_some() {
                state.watched_until = *watch;
            }
            let taken_up = self.taken_up.load(Relaxed);
            return (Turn::Wait { at_most: watch.map(|due_at| due_at - now), taken_up }, 0);
        };
        // Others have to take what else is due, or to keep the time meanwhile.
        let n_others = stay.remaining().saturating_sub(1).min(CALLS);
        self.taken_up.fetch_add(1, Relaxed);
        (Turn::Run(stay), n_others.max(usize::from(state.unwatched_due_at().is_some())))
    }

    fn take_notes(&self, state: &mut State, now: Instant) {
        let mut notes = std::mem::take(&mut state.notes);
        self.notes.take(&mut notes);
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
            self.signs.step_begins(me, began_at);
            now = self.make(me, job, began_at);
            let took = now - began_at;
            let goes_on = self.signs.go_on(round, now, took, job.dt());
            // Also after a step so long that the worker has to look: where all are like that it would never pause.
            if let Some(pause) = pauses.after(took, self.signs.pause_per_mille()) {
                self.signs.steps_end(me);
                std::thread::park_timeout(pause);
                let resumed_at = (self.clock)();
                pauses.made(resumed_at - now);
                now = resumed_at;
            }
            if !goes_on {
                break;
            }
        }
        self.signs.steps_end(me);
        stay
    }

    /// Makes one step; returns when it was done.
    fn make(&self, me: usize, job: &Job<Arc<Seated>>, now: Instant) -> Instant {
        let Some(start) = job.start(now) else {
            job.put_off(me);
            return now;
        };
        let seated = job.handle();
        let result = seated.with(|slot| {
            let task: &mut dyn Task = slot.as_deref_mut()?;
            let step = || {
                task.step(&start);
                seated.falls_asleep(task)
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
                self.tasks.lock().expect(UNPOISONED).remove(&seated.id);
                job.panicked(me, ended_at);
                let (id, tick) = (start.id, start.tick);
                // Only fails when the pool is being dropped, and then nobody restores anything.
                let _ = self.panicked.send(Panicked { id, tick, at: ended_at, message, task });
            }
            // It was removed.
            None => job.gone(me),
        }
        ended_at
    }

    /// How much long work waits, if it is time to look. Not to be called with the schedule in hand: it asks the kernel.
    pub(super) fn sample(&self, now: Instant) -> Option<Backlog> {
        let looked_at = self.looked_at.load(Relaxed);
        let is_time = now - Instant(looked_at) >= GOVERN_EVERY
            && self.looked_at.compare_exchange(looked_at, now.0, Relaxed, Relaxed).is_ok();
        // When a long thread just has the queue in hand, what was known has to do until the next time.
        if is_time { self.long.backlog(now) } else { None }
    }
}

impl State {
    /// Has workers make room for so much long work. Those who may run again are to be called, without the lock in hand.
    pub(super) fn govern(&mut self, signs: &Signs, now: Instant, backlog: Option<Backlog>) -> Range<usize> {
        let Some(backlog) = backlog else { return 0..0 };
        let demand = self.schedule.demand();
        let measure = self.starvation.update(now, backlog, demand);
        let n_before = self.standing.measure.n_workers;
        self.standing = Standing { measure, backlog, demand };
        self.schedule.set_level(measure.level);
        signs.limit(measure.n_workers, measure.pause_per_mille);
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

    /// When the next frame is due, unless a waiting worker will be up by then.
    fn unwatched_due_at(&self) -> Option<Instant> {
        let is_unwatched = |due_at: &Instant| self.watched_until.is_none_or(|until| *due_at < until);
        self.schedule.next_due_at().filter(is_unwatched)
    }
}
