//! A flat list of steps, from which workers pull jobs without a lock.
//!
//! One thread fills a batch and shares it; after the last worker has left, it is filled again. The order is fixed at sharing: a pull is
//! one atomic addition to an index. The worker of a job writes its result into the job, and the holder of the schedule collects it
//! ([`crate::Schedule::leave_batch`]).

use crate::{StepStart, TaskId};
use ids::{Instant, Tick};
use std::{
    sync::{
        Arc,
        atomic::{
            AtomicU64, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::Duration,
};

/// Workers of one pool at most: a job's result has this many bits for the worker's number.
pub const WORKERS_MAX: usize = 1 << WORKER_BITS;

const WORKER_BITS: u32 = 10;
const OUTCOME_BITS: u32 = 3;
const TOOK_SHIFT: u32 = WORKER_BITS + OUTCOME_BITS;

/// One step of one task. Size and alignment are those of a cache line, so that neighbouring jobs do not cause false sharing.
#[derive(Debug)]
#[repr(align(64))]
pub struct StepJob<H> {
    handle: H,
    id: TaskId,
    tick: Tick,
    due_at: Instant,
    dt_ns: u64,
    dilation: f32,
    pub(crate) slot: u32,
    began_ns: AtomicU64,
    /// Nanoseconds taken, worker and outcome, from the high bits down; 0 until the job is over.
    result: AtomicU64,
}

/// Fields of a new job.
pub(crate) struct NewJob<H> {
    pub(crate) handle: H,
    pub(crate) id: TaskId,
    pub(crate) tick: Tick,
    pub(crate) due_at: Instant,
    pub(crate) dt: Duration,
    pub(crate) dilation: f32,
    pub(crate) slot: u32,
}

/// Result of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JobResult {
    pub(crate) outcome: StepOutcome,
    pub(crate) worker: u16,
    pub(crate) began_at: Instant,
    /// Start − due time.
    pub(crate) late_by: Duration,
    pub(crate) took: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    /// The step was made, and there is another to make.
    Awake = 1,
    /// The step was made, and the next would do nothing.
    Quiet = 2,
    /// It was pulled before its time.
    PutOff = 3,
    /// There was no such task any more: it had been removed.
    Gone = 4,
    /// The step was begun, and the task is no more.
    Panicked = 5,
}

/// Stands in a result that was taken.
const TAKEN: u64 = 7;

impl<H> StepJob<H> {
    pub(crate) fn new(plan: NewJob<H>) -> Self {
        let NewJob { handle, id, tick, due_at, dt, dilation, slot } = plan;
        let dt_ns = whole_ns(dt);
        let (began_ns, result) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { handle, id, tick, due_at, dt_ns, dilation, slot, began_ns, result }
    }

    /// Handle with which the task was added.
    pub const fn handle(&self) -> &H {
        &self.handle
    }

    /// World time to pass.
    pub const fn dt(&self) -> Duration {
        Duration::from_nanos(self.dt_ns)
    }

    /// Begins it; `None` before its time: put it off.
    pub fn start(&self, now: Instant) -> Option<StepStart> {
        if now < self.due_at {
            return None;
        }
        self.began_ns.store(now.0, Relaxed);
        let late_by = now - self.due_at;
        Some(StepStart {
            id: self.id,
            tick: self.tick,
            dt: self.dt(),
            dilation: self.dilation,
            at: now,
            late_by,
        })
    }

    /// The step was made.
    pub fn done(&self, worker: usize, now: Instant, quiet: bool) {
        let took = now - Instant(self.began_ns.load(Relaxed));
        self.store_result(worker, took, if quiet { StepOutcome::Quiet } else { StepOutcome::Awake });
    }

    /// It was pulled before its time, and comes again.
    pub fn put_off(&self, worker: usize) {
        self.store_result(worker, Duration::ZERO, StepOutcome::PutOff);
    }

    /// The step ended in a panic, and the task is no more.
    pub fn panicked(&self, worker: usize, now: Instant) {
        self.store_result(worker, now - Instant(self.began_ns.load(Relaxed)), StepOutcome::Panicked);
    }

    /// The task was no more when its turn came.
    pub fn gone(&self, worker: usize) {
        self.store_result(worker, Duration::ZERO, StepOutcome::Gone);
    }

    fn store_result(&self, worker: usize, took: Duration, outcome: StepOutcome) {
        let took_ns = whole_ns(took).min(u64::MAX >> TOOK_SHIFT);
        let result = took_ns << TOOK_SHIFT | (worker as u64) << OUTCOME_BITS | outcome as u64;
        self.result.store(result, Release);
    }

    /// Collects the result; `None` before the job is over, and after the first collection.
    pub(crate) fn collect_result(&self) -> Option<JobResult> {
        let result = self.result.load(Acquire);
        let outcome = match result & ((1 << OUTCOME_BITS) - 1) {
            1 => StepOutcome::Awake,
            2 => StepOutcome::Quiet,
            3 => StepOutcome::PutOff,
            4 => StepOutcome::Gone,
            5 => StepOutcome::Panicked,
            _ => return None,
        };
        // Only the holder of the schedule collects results.
        self.result.store(TAKEN, Relaxed);
        let worker = (result >> OUTCOME_BITS & ((1 << WORKER_BITS) - 1)) as u16;
        let took = Duration::from_nanos(result >> TOOK_SHIFT);
        let began_at = Instant(self.began_ns.load(Relaxed));
        Some(JobResult { outcome, worker, began_at, late_by: began_at - self.due_at, took })
    }

    /// True if the job was pulled before its time and its result has not been collected.
    pub(crate) fn is_put_off(&self) -> bool {
        self.result.load(Acquire) & ((1 << OUTCOME_BITS) - 1) == StepOutcome::PutOff as u64
    }

    /// True once the result was collected.
    pub(crate) fn is_taken(&self) -> bool {
        self.result.load(Relaxed) == TAKEN
    }
}

/// Jobs in the order of their starts.
#[derive(Debug)]
pub(crate) struct Batch<H> {
    pub(crate) jobs: Vec<StepJob<H>>,
    next: AtomicUsize,
}

impl<H> Default for Batch<H> {
    fn default() -> Self {
        Self { jobs: Vec::new(), next: AtomicUsize::new(0) }
    }
}

impl<H> Batch<H> {
    pub(crate) fn clear(&mut self) {
        self.jobs.clear();
        *self.next.get_mut() = 0;
    }

    /// Jobs not pulled yet.
    pub(crate) fn remaining(&self) -> usize {
        self.jobs.len().saturating_sub(self.next.load(Relaxed))
    }
}

/// A worker's time with one batch. It ends in [`crate::Schedule::leave_batch`].
#[derive(Debug)]
#[must_use = "every pulled task must be handed back"]
pub struct Stay<H> {
    pub(crate) batch: Arc<Batch<H>>,
    /// Jobs pulled so far.
    pub(crate) n_pulled: usize,
    /// The last of them.
    pub(crate) last: usize,
    /// [`crate::WorkerFlags`] of when it began.
    pub(crate) round: u32,
}

impl<H> Stay<H> {
    /// The next job, until there is none.
    pub fn pull(&mut self) -> Option<&StepJob<H>> {
        let index = self.batch.next.fetch_add(1, Relaxed);
        let job = self.batch.jobs.get(index)?;
        self.n_pulled += 1;
        self.last = index;
        Some(job)
    }

    /// The job that was pulled last.
    pub(crate) fn last_job(&self) -> Option<&StepJob<H>> {
        (self.n_pulled > 0).then(|| &self.batch.jobs[self.last])
    }

    /// Jobs not pulled yet.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.batch.remaining()
    }
}

fn whole_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(due_ms: u64) -> StepJob<()> {
        let due_at = Instant::from_millis(due_ms);
        let dt = Duration::from_millis(50);
        StepJob::new(NewJob { handle: (), id: TaskId(7), tick: Tick(3), due_at, dt, dilation: 0.5, slot: 0 })
    }

    #[test]
    fn a_job_fills_a_cache_line() {
        assert_eq!(size_of::<StepJob<Arc<()>>>(), 64);
    }

    #[test]
    fn worker_and_duration_come_back_once() {
        let job = job(10);
        assert_eq!(job.collect_result(), None);
        let began_at = Instant::from_millis(12);
        let start = job.start(began_at).unwrap();
        assert_eq!((start.late_by, start.dt), (Duration::from_millis(2), Duration::from_millis(50)));
        let took = Duration::from_nanos(123_456_789);
        job.done(WORKERS_MAX - 1, began_at + took, true);
        let worker = WORKERS_MAX as u16 - 1;
        let late_by = Duration::from_millis(2);
        assert_eq!(
            job.collect_result(),
            Some(JobResult { outcome: StepOutcome::Quiet, worker, began_at, late_by, took })
        );
        assert_eq!((job.collect_result(), job.is_taken()), (None, true));
    }

    #[test]
    fn nothing_begins_before_it_is_due() {
        let job = job(10);
        assert_eq!(job.start(Instant::from_millis(9)), None);
        job.put_off(0);
        assert_eq!(job.collect_result().map(|made| made.outcome), Some(StepOutcome::PutOff));
    }

    #[test]
    fn everything_is_pulled_once_and_in_order() {
        let batch = Batch { jobs: (0..5).map(job).collect(), ..Batch::default() };
        let batch = Arc::new(batch);
        let stay = || Stay { batch: Arc::clone(&batch), n_pulled: 0, last: 0, round: 0 };
        let mut stays = [stay(), stay()];
        let mut pulled = Vec::new();
        while let Some(job) = stays[pulled.len() % 2].pull() {
            pulled.push(job.due_at);
        }
        assert_eq!(pulled, (0..5).map(Instant::from_millis).collect::<Vec<_>>());
        assert!(stays.iter_mut().all(|stay| stay.pull().is_none() && stay.remaining() == 0));
    }
}
