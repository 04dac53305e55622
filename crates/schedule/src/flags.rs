//! Flags that workers check between two jobs, without a lock.

use ids::Instant;
use std::{
    sync::atomic::{
        AtomicU32, AtomicU64, AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
    time::Duration,
};

/// Start of a worker's current step in nanoseconds, 0 between steps. A cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct StepBegan(AtomicU64);

/// Written by the holder of the schedule, read by all workers. A late read is harmless: the worker makes one job more.
#[derive(Debug)]
pub struct WorkerFlags {
    /// By worker.
    in_step: Box<[StepBegan]>,
    /// Time from which on a busy worker must check for due work; `NEVER` while another one does.
    look_at: AtomicU64,
    /// Changes when workers must choose their batch again.
    round: AtomicU32,
    /// Workers that may run, counted from the first.
    n_workers: AtomicUsize,
    /// Share of a worker's time spent on pauses, in thousandths.
    pause_per_mille: AtomicU32,
}

const NEVER: u64 = u64::MAX;

impl WorkerFlags {
    /// Step duration from which on a worker counts as held up: another may run in its place, even if the number of workers is reduced.
    pub(crate) const HELD_UP_AFTER: Duration = Duration::from_millis(100);

    pub(crate) fn new(n_workers: usize) -> Self {
        Self {
            in_step: (0..n_workers).map(|_| StepBegan::default()).collect(),
            look_at: AtomicU64::new(NEVER),
            round: AtomicU32::new(0),
            n_workers: AtomicUsize::new(n_workers),
            pause_per_mille: AtomicU32::new(0),
        }
    }

    pub(crate) fn set_look_at(&self, at: Option<Instant>) {
        self.look_at.store(at.map_or(NEVER, |at| at.0), Relaxed);
    }

    /// Makes all workers choose their batch again after their current jobs.
    pub(crate) fn call(&self) {
        self.round.fetch_add(1, Relaxed);
    }

    pub(crate) fn round(&self) -> u32 {
        self.round.load(Relaxed)
    }

    /// Sets the number of workers that may run, and each one's share of pauses in thousandths.
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

    /// True if a worker is among those that may run: the first `n_workers` that are not held up.
    pub(crate) fn may_run(&self, worker: usize, now: Instant) -> bool {
        let n_workers = self.n_workers();
        let is_free = |in_step: &&StepBegan| {
            let began = in_step.0.load(Relaxed);
            began == 0 || now - Instant(began) < Self::HELD_UP_AFTER
        };
        worker < n_workers || self.in_step[..worker].iter().filter(is_free).count() < n_workers
    }

    /// Share of a worker's time spent on pauses, in thousandths.
    #[must_use]
    pub fn pause_per_mille(&self) -> u32 {
        self.pause_per_mille.load(Relaxed)
    }

    /// Workers' worth of time that may be spent on steps.
    pub(crate) fn capacity(&self) -> f32 {
        self.n_workers() as f32 * (1_000 - self.pause_per_mille().min(999)) as f32 / 1_000.0
    }

    /// True if a worker continues its batch after a job of duration `took`. If false, it hands back its results and looks for work
    /// again ([`crate::Schedule::leave_batch`], [`crate::Schedule::join_batch`]).
    #[must_use]
    pub fn continues_batch(&self, round: u32, now: Instant, took: Duration, dt: Duration) -> bool {
        // A task this slow may have missed a beat and be due already.
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
    fn one_worker_checks_when_a_task_is_due() {
        let flags = WorkerFlags::new(2);
        let continues =
            |ms| flags.continues_batch(flags.round(), Instant::from_millis(ms), Duration::ZERO, DT);
        assert!(continues(1_000));
        flags.set_look_at(Some(Instant::from_millis(50)));
        assert!(continues(49));
        assert!(!continues(50));
        assert!(continues(51), "the other one looks");
    }

    #[test]
    fn another_stands_in_for_a_worker_that_is_held_up() {
        let flags = WorkerFlags::new(3);
        flags.limit(1, 0);
        let may_run = |ms| [0, 1, 2].map(|worker| flags.may_run(worker, Instant::from_millis(ms)));
        flags.step_begins(0, Instant::from_millis(10));
        assert_eq!(may_run(60), [true, false, false]);
        assert_eq!(may_run(110), [true, true, false]);
        flags.step_begins(1, Instant::from_millis(120));
        assert_eq!(may_run(220), [true, true, true], "that one, too");
        flags.steps_end(0);
        assert_eq!(may_run(230), [true, false, false]);
    }

    #[test]
    fn workers_choose_again_when_called_and_after_a_long_job() {
        let flags = WorkerFlags::new(2);
        let round = flags.round();
        assert!(!flags.continues_batch(round, Instant::ZERO, DT / 2, DT));
        flags.limit(2, 0);
        assert!(flags.continues_batch(round, Instant::ZERO, DT / 3, DT));
        flags.limit(1, 0);
        assert!(!flags.continues_batch(round, Instant::ZERO, DT / 3, DT));
    }
}
