//! Workers on virtual time.

use crate::{Schedule, Start, Stay, starvation::Pauses};
use ids::Instant;
use std::time::Duration;

/// Workers that do what those of a [`crate::Pool`] do.
#[derive(Debug)]
pub struct Crew<H> {
    now: Instant,
    workers: Vec<Worker<H>>,
    busy: Duration,
}

/// What a step comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// How long it takes.
    pub took: Duration,
    /// Whether the next would do nothing.
    pub is_quiet: bool,
    /// Whether the task is no more afterwards: it panicked, or had been removed.
    pub is_gone: bool,
}

#[derive(Debug)]
struct Worker<H> {
    doing: Doing<H>,
    pauses: Pauses,
}

#[derive(Debug)]
enum Doing<H> {
    Waits,
    Runs {
        stay: Stay<H>,
        until: Instant,
        step: Step,
    },
    /// Whether it goes on with its batch then.
    Pauses {
        stay: Stay<H>,
        until: Instant,
        goes_on: bool,
    },
}

impl<H> Doing<H> {
    const fn until(&self) -> Option<Instant> {
        match self {
            Self::Waits => None,
            Self::Runs { until, .. } | Self::Pauses { until, .. } => Some(*until),
        }
    }
}

impl<H: Clone> Crew<H> {
    /// So many workers, who wait.
    #[must_use]
    pub fn new(n_workers: usize) -> Self {
        let worker = || Worker { doing: Doing::Waits, pauses: Pauses::default() };
        Self { now: Instant::ZERO, workers: (0..n_workers).map(|_| worker()).collect(), busy: Duration::ZERO }
    }

    /// The time that it has come to.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// What all steps that have ended took together.
    #[must_use]
    pub const fn busy(&self) -> Duration {
        self.busy
    }

    /// Workers that are in a step.
    #[must_use]
    pub fn n_running(&self) -> usize {
        self.workers.iter().filter(|worker| matches!(worker.doing, Doing::Runs { .. })).count()
    }

    /// Goes on until then. `make` makes a step when it begins.
    pub fn advance(
        &mut self,
        schedule: &mut Schedule<H>,
        until: Instant,
        make: &mut impl FnMut(&Start, &H) -> Step,
    ) {
        loop {
            // What was told to the schedule since the last time may have made something due.
            self.look(schedule, make);
            let Some(next_at) = self.next_at(schedule).filter(|at| *at <= until) else { break };
            self.now = next_at;
            for number in 0..self.workers.len() {
                if self.workers[number].doing.until().is_some_and(|until| until <= next_at) {
                    self.go_on(number, schedule, make);
                }
            }
        }
        self.now = self.now.max(until);
    }

    /// When something happens next.
    fn next_at(&self, schedule: &Schedule<H>) -> Option<Instant> {
        let ends = self.workers.iter().filter_map(|worker| worker.doing.until()).min();
        let may_look = self.workers.iter().take(schedule.signs().n_workers());
        let is_looking = may_look.into_iter().any(|worker| matches!(worker.doing, Doing::Waits));
        let due_at = schedule.next_due_at().filter(|_| is_looking).map(|due_at| due_at.max(self.now));
        ends.into_iter().chain(due_at).min()
    }

    /// Those who wait see what there is.
    fn look(&mut self, schedule: &mut Schedule<H>, make: &mut impl FnMut(&Start, &H) -> Step) {
        for number in 0..self.workers.len().min(schedule.signs().n_workers()) {
            while matches!(self.workers[number].doing, Doing::Waits)
                && let Some(stay) = schedule.look(self.now)
            {
                self.work(number, stay, schedule, make);
            }
        }
    }

    /// A step or a pause is over.
    fn go_on(
        &mut self,
        number: usize,
        schedule: &mut Schedule<H>,
        make: &mut impl FnMut(&Start, &H) -> Step,
    ) {
        let worker = &mut self.workers[number];
        let stay = match std::mem::replace(&mut worker.doing, Doing::Waits) {
            Doing::Waits => return,
            Doing::Pauses { stay, goes_on: false, .. } => return schedule.leave(stay),
            Doing::Pauses { stay, .. } => stay,
            Doing::Runs { stay, step, .. } => {
                let job = stay.last_job().expect("it was pulled");
                if step.is_gone {
                    job.gone(number);
                } else {
                    job.done(number, self.now, step.is_quiet);
                }
                self.busy += step.took;
                let signs = schedule.signs();
                let goes_on = signs.go_on(stay.round, self.now, step.took, job.dt());
                if let Some(pause) = worker.pauses.after(step.took, signs.pause_per_mille()) {
                    worker.pauses.made(pause);
                    worker.doing = Doing::Pauses { stay, until: self.now + pause, goes_on };
                    return;
                }
                if !goes_on {
                    return schedule.leave(stay);
                }
                stay
            }
        };
        self.work(number, stay, schedule, make);
    }

    /// Pulls until a step begins or there is nothing left.
    fn work(
        &mut self,
        number: usize,
        mut stay: Stay<H>,
        schedule: &mut Schedule<H>,
        make: &mut impl FnMut(&Start, &H) -> Step,
    ) {
        while let Some(job) = stay.pull() {
            let Some(start) = job.start(self.now) else {
                job.put_off(number);
                continue;
            };
            let step = make(&start, job.handle());
            self.workers[number].doing = Doing::Runs { until: self.now + step.took, stay, step };
            return;
        }
        schedule.leave(stay);
    }
}
