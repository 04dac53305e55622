//! Workers on virtual time.

use crate::{Schedule, Stay, StepStart, starvation::Pauses};
use ids::Instant;
use std::time::Duration;

/// Virtual workers with the behaviour of a [`crate::Pool`]'s.
#[derive(Debug)]
pub struct Crew<H> {
    now: Instant,
    workers: Vec<Worker<H>>,
    busy: Duration,
}

/// Result of a virtual step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VirtualStep {
    /// Duration.
    pub took: Duration,
    /// True if the next step would do nothing.
    pub is_quiet: bool,
    /// True if the task ended with it: it panicked, or had been removed.
    pub is_gone: bool,
}

#[derive(Debug)]
struct Worker<H> {
    doing: VirtualActivity<H>,
    pauses: Pauses,
}

#[derive(Debug)]
enum VirtualActivity<H> {
    Waits,
    Runs {
        stay: Stay<H>,
        until: Instant,
        step: VirtualStep,
    },
    /// True if the worker continues its batch afterwards.
    Pauses {
        stay: Stay<H>,
        until: Instant,
        continues: bool,
    },
}

impl<H> VirtualActivity<H> {
    const fn until(&self) -> Option<Instant> {
        match self {
            Self::Waits => None,
            Self::Runs { until, .. } | Self::Pauses { until, .. } => Some(*until),
        }
    }
}

impl<H: Clone> Crew<H> {
    /// A crew of `n_workers` idle workers.
    #[must_use]
    pub fn new(n_workers: usize) -> Self {
        let worker = || Worker { doing: VirtualActivity::Waits, pauses: Pauses::default() };
        Self { now: Instant::ZERO, workers: (0..n_workers).map(|_| worker()).collect(), busy: Duration::ZERO }
    }

    /// The time that it has come to.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Total duration of all ended steps.
    #[must_use]
    pub const fn busy(&self) -> Duration {
        self.busy
    }

    /// Workers that are in a step.
    #[must_use]
    pub fn n_running(&self) -> usize {
        self.workers.iter().filter(|worker| matches!(worker.doing, VirtualActivity::Runs { .. })).count()
    }

    /// Advances virtual time to `until`. `make` decides each step at its start.
    pub fn advance(
        &mut self,
        schedule: &mut Schedule<H>,
        until: Instant,
        make: &mut impl FnMut(&StepStart, &H) -> VirtualStep,
    ) {
        loop {
            // Calls to the schedule since the last advance may have made tasks due.
            self.start_idle(schedule, make);
            let Some(next_at) = self.next_at(schedule).filter(|at| *at <= until) else { break };
            self.now = next_at;
            for number in 0..self.workers.len() {
                if self.workers[number].doing.until().is_some_and(|until| until <= next_at) {
                    self.continues_batch(number, schedule, make);
                }
            }
        }
        self.now = self.now.max(until);
    }

    /// Time of the next event.
    fn next_at(&self, schedule: &Schedule<H>) -> Option<Instant> {
        let ends = self.workers.iter().filter_map(|worker| worker.doing.until()).min();
        let may_look = self.workers.iter().take(schedule.flags().n_workers());
        let is_looking = may_look.into_iter().any(|worker| matches!(worker.doing, VirtualActivity::Waits));
        let due_at = schedule.next_due_at().filter(|_| is_looking).map(|due_at| due_at.max(self.now));
        ends.into_iter().chain(due_at).min()
    }

    /// Idle workers look for work.
    fn start_idle(
        &mut self,
        schedule: &mut Schedule<H>,
        make: &mut impl FnMut(&StepStart, &H) -> VirtualStep,
    ) {
        for number in 0..self.workers.len().min(schedule.flags().n_workers()) {
            while matches!(self.workers[number].doing, VirtualActivity::Waits)
                && let Some(stay) = schedule.join_batch(self.now)
            {
                self.pull_jobs(number, stay, schedule, make);
            }
        }
    }

    /// A step or a pause is over.
    fn continues_batch(
        &mut self,
        number: usize,
        schedule: &mut Schedule<H>,
        make: &mut impl FnMut(&StepStart, &H) -> VirtualStep,
    ) {
        let worker = &mut self.workers[number];
        let stay = match std::mem::replace(&mut worker.doing, VirtualActivity::Waits) {
            VirtualActivity::Waits => return,
            VirtualActivity::Pauses { stay, continues: false, .. } => return schedule.leave_batch(stay),
            VirtualActivity::Pauses { stay, .. } => stay,
            VirtualActivity::Runs { stay, step, .. } => {
                let job = stay.last_job().expect("it was pulled");
                if step.is_gone {
                    job.gone(number);
                } else {
                    job.done(number, self.now, step.is_quiet);
                }
                self.busy += step.took;
                let flags = schedule.flags();
                let continues = flags.continues_batch(stay.round, self.now, step.took, job.dt());
                if let Some(pause) = worker.pauses.after(step.took, flags.pause_per_mille()) {
                    worker.pauses.made(pause);
                    worker.doing = VirtualActivity::Pauses { stay, until: self.now + pause, continues };
                    return;
                }
                if !continues {
                    return schedule.leave_batch(stay);
                }
                stay
            }
        };
        self.pull_jobs(number, stay, schedule, make);
    }

    /// Pulls until a step begins or there is nothing left.
    fn pull_jobs(
        &mut self,
        number: usize,
        mut stay: Stay<H>,
        schedule: &mut Schedule<H>,
        make: &mut impl FnMut(&StepStart, &H) -> VirtualStep,
    ) {
        while let Some(job) = stay.pull() {
            let Some(start) = job.start(self.now) else {
                job.put_off(number);
                continue;
            };
            let step = make(&start, job.handle());
            self.workers[number].doing = VirtualActivity::Runs { until: self.now + step.took, stay, step };
            return;
        }
        schedule.leave_batch(stay);
    }
}
