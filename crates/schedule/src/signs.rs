//! What a worker looks at between two jobs, without a lock.

use ids::Instant;
use std::{
    sync::atomic::{
        AtomicU32, AtomicU64, AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
    time::Duration,
};

/// When a worker's step began, in nanoseconds; 0 between two. A cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct InStep(AtomicU64);

/// Written by whoever holds the schedule, read by all. Reading late is harmless: a worker then makes one job more.
#[derive(Debug)]
pub struct Signs {
    /// By worker.
    in_step: Box<[InStep]>,
    /// From when on somebody should look for what is due although there is work at hand; `NEVER` while somebody does.
    look_at: AtomicU64,
    /// Changes when workers should choose anew what they work at.
    round: AtomicU32,
    /// Workers that may run, counted from the first.
    n_workers: AtomicUsize,
    /// Of a worker's time, in thousandths, what it leaves to others by pausing.
    pause_per_mille: AtomicU32,
}

const NEVER: u64 = u64::MAX;

impl Signs {
    /// A worker whose step takes so long is held up: another may run in its place, even where others are to rest.
    pub(crate) const HELD_UP_AFTER: Duration = Duration::from_millis(100);

    pub(crate) fn new(n_workers: usize) -> Self {
        Self {
            in_step: (0..n_workers).map(|_| InStep::default()).collect(),
            look_at: AtomicU64::new(NEVER),
            round: AtomicU32::new(0),
            n_workers: AtomicUsize::new(n_workers),
            pause_per_mille: AtomicU32::new(0),
        }
    }

    pub(crate) fn set_look_at(&self, at: Option<Instant>) {
        self.look_at.store(at.map_or(NEVER, |at| at.0), Relaxed);
    }

    /// Has all workers choose anew after the jobs they are in.
    pub(crate) fn call(&self) {
        self.round.fetch_add(1, Relaxed);
    }

    pub(crate) fn round(&self) -> u32 {
        self.round.load(Relaxed)
    }

    /// So many workers may run, each pausing for this share of its time, in thousandths.
    pub fn limit(&self, n_workers: usize, pause_per_mille: u32) {
        self.pause_per_mille.store(pause_per_mille, Relaxed);
        // A worker that goes to rest looks once more whether it should: together with its announcement this is ordered.
        if self.n_workers.swap(n_workers, SeqCst) != n_workers {
            self.call();
        }
    }

    /// Workers that may run, counted from the first.
    #[must_use]
    pub fn n_workers(&self) -> usize {
        self.n_workers.load(SeqCst)
    }

    pub(crate) fn step_begins(&self, worker: usize, now: Instant) {
        self.in_step[worker].0.store(now.0.max(1), Relaxed);
    }

    pub(crate) fn steps_end(&self, worker: usize) {
        self.in_step[worker].0.store(0, Relaxed);
    }

    /// Whether a worker is among those that may run: the first ones that are not held up.
    pub(crate) fn may_run(&self, worker: usize, now: Instant) -> bool {
        let n_workers = self.n_workers();
        let is_free = |in_step: &&InStep| {
            let began = in_step.0.load(Relaxed);
            began == 0 || now - Instant(began) < Self::HELD_UP_AFTER
        };
        worker < n_workers || self.in_step[..worker].iter().filter(is_free).count() < n_workers
    }

    /// Of a worker's time, in thousandths, what it leaves to others by pausing.
    #[must_use]
    pub fn pause_per_mille(&self) -> u32 {
        self.pause_per_mille.load(Relaxed)
    }

    /// Workers' worth of time that may be spent on steps.
    pub(crate) fn capacity(&self) -> f32 {
        self.n_workers() as f32 * (1_000 - self.pause_per_mille().min(999)) as f32 / 1_000.0
    }

    /// Whether a worker goes on with its batch after a job that took so long; if not, it hands back what it did and
    /// looks for work anew ([`crate::Schedule::leave`], [`crate::Schedule::look`]).
    #[must_use]
    pub fn go_on(&self, round: u32, now: Instant, took: Duration, dt: Duration) -> bool {
        // Who took so long may have missed a beat, and is due already.
        if self.round() != round || took >= dt / 2 {
            return false;
        }
        let look_at = self.look_at.load(Relaxed);
        // One worker is enough to look.
        now.0 < look_at || self.look_at.compare_exchange(look_at, NEVER, Relaxed, Relaxed).is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DT: Duration = Duration::from_millis(50);

    #[test]
    fn when_something_is_due_one_worker_looks() {
        let signs = Signs::new(2);
        let goes_on = |ms| signs.go_on(signs.round(), Instant::from_millis(ms), Duration::ZERO, DT);
        assert!(goes_on(1_000));
        signs.set_look_at(Some(Instant::from_millis(50)));
        assert!(goes_on(49));
        assert!(!goes_on(50));
        assert!(goes_on(51), "the other one looks");
    }

    #[test]
    fn another_stands_in_for_a_worker_that_is_held_up() {
        let signs = Signs::new(3);
        signs.limit(1, 0);
        let may_run = |ms| [0, 1, 2].map(|worker| signs.may_run(worker, Instant::from_millis(ms)));
        signs.step_begins(0, Instant::from_millis(10));
        assert_eq!(may_run(60), [true, false, false]);
        assert_eq!(may_run(110), [true, true, false]);
        signs.step_begins(1, Instant::from_millis(120));
        assert_eq!(may_run(220), [true, true, true], "that one, too");
        signs.steps_end(0);
        assert_eq!(may_run(230), [true, false, false]);
    }

    #[test]
    fn everybody_chooses_anew_when_called_and_after_a_long_job() {
        let signs = Signs::new(2);
        let round = signs.round();
        assert!(!signs.go_on(round, Instant::ZERO, DT / 2, DT));
        signs.limit(2, 0);
        assert!(signs.go_on(round, Instant::ZERO, DT / 3, DT));
        signs.limit(1, 0);
        assert!(!signs.go_on(round, Instant::ZERO, DT / 3, DT));
    }
}
