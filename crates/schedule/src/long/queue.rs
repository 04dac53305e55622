//! Order of long tasks, and their expected durations.
//!
//! Sans-IO. Tasks of one kind run in the order of their ids, which is that of submission. Among kinds the one with the least time so
//! far is next, so that a flood of one kind leaves the others their share; an idle kind saves up no time.
//!
//! A submitter estimates a task's duration in its kind's own measure; the factor between estimate and truth is learned from ended
//! tasks.

use super::{LongId, LongInfo, LongState};
use crate::starvation::Backlog;
use ids::Instant;
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

/// Description of a long task, without its work.
#[derive(Clone, Debug)]
pub struct LongSpec {
    /// Kind of work.
    pub kind: &'static str,
    /// Object of the work, for operators.
    pub name: String,
    /// Expected duration, as the submitter estimates it.
    pub estimated: Duration,
}

/// Waiting and running tasks. `W` is the work itself.
#[derive(Debug)]
pub struct LongQueue<W> {
    kinds: Vec<KindQueue<W>>,
    running: Vec<RunningTask>,
    /// Time served to the kind that was started last.
    served: Duration,
}

#[derive(Debug)]
struct KindQueue<W> {
    name: &'static str,
    waiting: VecDeque<QueuedTask<W>>,
    /// Sum of the waiting tasks' estimates.
    estimated: Duration,
    /// Time that tasks of this kind took ÷ time that was estimated.
    ratio: f64,
    /// Time that tasks of this kind have had.
    served: Duration,
}

#[derive(Debug)]
struct QueuedTask<W> {
    id: LongId,
    spec: LongSpec,
    submitted_at: Instant,
    is_cancelled: Arc<AtomicBool>,
    work: W,
}

#[derive(Debug)]
struct RunningTask {
    id: LongId,
    spec: LongSpec,
    submitted_at: Instant,
    began_at: Instant,
    expected: Duration,
    is_cancelled: Arc<AtomicBool>,
    is_abandoned: bool,
    progress: Option<CoreDeficit>,
}

/// CPU time of a running task.
#[derive(Clone, Copy, Debug)]
struct CoreDeficit {
    ran: Duration,
    /// Recent time ready without a core − time on a core: zero as long as the task gets half of one.
    behind: Duration,
    /// Last time at which it was ready or running.
    active_at: Instant,
}

/// A task that begins.
#[derive(Debug)]
pub struct StartedTask<W> {
    /// Id.
    pub id: LongId,
    /// Work to do.
    pub work: W,
    /// Set to cancel it.
    pub is_cancelled: Arc<AtomicBool>,
}

/// A task that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Kind of work.
    pub kind: &'static str,
    /// Time from its submission until it began.
    pub waited: Duration,
    /// Time from then on.
    pub took: Duration,
    /// Its thread was given up meanwhile and has a successor.
    pub is_abandoned: bool,
}

/// Result of cancelling a task.
#[derive(Debug, PartialEq, Eq)]
pub enum Cancelled<W> {
    /// It had not begun, and will not.
    Waiting(W),
    /// It runs and was notified; it may ignore that.
    Running,
}

/// Weight of the newest task in a kind's ratio: half the way to a new truth in three tasks.
const RATIO_WEIGHT: f64 = 0.25;
/// A task is overdue, hanging or misjudged by its submitter, after `max(OVERDUE_AFTER, OVERDUE_RATIO × expected)`.
const OVERDUE_AFTER: Duration = Duration::from_secs(10);
const OVERDUE_TIMES: u32 = 4;
/// Time without running or being ready after which a task waits for something other than a core.
const IDLE_MAX: Duration = Duration::from_secs(2);
/// Deficit of a task that is remembered: more than the highest level requires.
const BEHIND_MAX: Duration = Duration::from_secs(3);
/// Bound on the learned factor: a task that waited for a dead disk must not distort all others.
const RATIO_MAX: f64 = 16.0;
/// Estimates are clamped to these: no task is free, and sums of absurd estimates stay bounded.
const ESTIMATE_MIN: Duration = Duration::from_micros(10);
const ESTIMATE_MAX: Duration = Duration::from_secs(3_600);

impl LongSpec {
    /// Clamped estimate.
    fn weight(&self) -> Duration {
        self.estimated.clamp(ESTIMATE_MIN, ESTIMATE_MAX)
    }
}

impl RunningTask {
    fn is_overdue(&self, now: Instant) -> bool {
        now - self.began_at > self.patience()
    }

    fn patience(&self) -> Duration {
        OVERDUE_AFTER.max(self.expected.saturating_mul(OVERDUE_TIMES))
    }

    /// True if a core would not help it: it has had far more CPU time than expected, or blocks on something else.
    fn hangs(&self, now: Instant) -> bool {
        match self.progress {
            Some(progress) => progress.ran > self.patience() || now - progress.active_at > IDLE_MAX,
            None => self.is_overdue(now),
        }
    }

    fn behind(&self) -> Duration {
        self.progress.map_or(Duration::ZERO, |progress| progress.behind)
    }
}

impl<W> Default for LongQueue<W> {
    fn default() -> Self {
        Self { kinds: Vec::new(), running: Vec::new(), served: Duration::ZERO }
    }
}

impl<W> LongQueue<W> {
    /// A task waits from now on.
    pub fn push(
        &mut self,
        id: LongId,
        submitted_at: Instant,
        is_cancelled: Arc<AtomicBool>,
        spec: LongSpec,
        work: W,
    ) {
        let index = self.kind(spec.kind);
        let is_running = self.running.iter().any(|running| running.spec.kind == spec.kind);
        let kind = &mut self.kinds[index];
        if kind.waiting.is_empty() && !is_running {
            kind.served = kind.served.max(self.served);
        }
        kind.estimated += spec.weight();
        // Nearly always at the end: submissions of several threads arrive out of order.
        let place = kind.waiting.partition_point(|waiting| waiting.id < id);
        kind.waiting.insert(place, QueuedTask { id, spec, submitted_at, is_cancelled, work });
    }

    /// Begins the next one.
    pub fn start_task(&mut self, now: Instant) -> Option<StartedTask<W>> {
        let waiting = self.kinds.iter_mut().filter(|kind| !kind.waiting.is_empty());
        let kind = waiting.min_by_key(|kind| (kind.served, kind.waiting[0].id))?;
        let QueuedTask { id, spec, submitted_at, is_cancelled, work } = kind.waiting.pop_front()?;
        let estimated = spec.weight();
        kind.estimated = kind.estimated.saturating_sub(estimated);
        let expected = estimated.mul_f64(kind.ratio);
        self.served = kind.served;
        kind.served += expected;
        self.running.push(RunningTask {
            id,
            spec,
            submitted_at,
            began_at: now,
            expected,
            is_cancelled: Arc::clone(&is_cancelled),
            is_abandoned: false,
            progress: None,
        });
        Some(StartedTask { id, work, is_cancelled })
    }

    /// Notes a task that waited elsewhere and runs from now on.
    pub(super) fn begin(&mut self, id: LongId, now: Instant, submitted_at: Instant, spec: LongSpec) {
        let (is_cancelled, expected) = (Arc::default(), Duration::ZERO);
        self.kind(spec.kind);
        self.running.push(RunningTask {
            id,
            spec,
            submitted_at,
            began_at: now,
            expected,
            is_cancelled,
            is_abandoned: false,
            progress: None,
        });
    }

    /// Adds times of a running task since the last call: it ran for `ran`, and was ready without a core for `delayed`.
    pub fn observe(&mut self, id: LongId, now: Instant, ran: Duration, delayed: Duration) {
        let Some(running) = self.running.iter_mut().find(|running| running.id == id) else { return };
        let usual = CoreDeficit { ran: Duration::ZERO, behind: Duration::ZERO, active_at: running.began_at };
        let progress = running.progress.get_or_insert(usual);
        progress.ran += ran;
        progress.behind = (progress.behind + delayed).saturating_sub(ran).min(BEHIND_MAX);
        if !(ran + delayed).is_zero() {
            progress.active_at = now;
        }
    }

    /// A task has ended.
    ///
    /// # Panics
    /// When no such task runs.
    pub fn finish(&mut self, id: LongId, now: Instant) -> Finished {
        let index = self.running.iter().position(|running| running.id == id);
        let running = self.running.swap_remove(index.expect("what ends was begun"));
        let took = now - running.began_at;
        let index = self.kind(running.spec.kind);
        let kind = &mut self.kinds[index];
        kind.served = (kind.served + took).saturating_sub(running.expected);
        // The duration of a cancelled task, or of one without a waiting submitter, is no measure for the others.
        if !running.is_cancelled.load(Relaxed) {
            let estimated = running.spec.weight();
            let ratio = (took.as_secs_f64() / estimated.as_secs_f64()).clamp(1.0 / RATIO_MAX, RATIO_MAX);
            kind.ratio += (ratio - kind.ratio) * RATIO_WEIGHT;
        }
        Finished {
            kind: running.spec.kind,
            waited: running.began_at - running.submitted_at,
            took,
            is_abandoned: running.is_abandoned,
        }
    }

    /// Removes a waiting task, or notifies a running one. `None` if there is none.
    pub fn cancel(&mut self, id: LongId) -> Option<Cancelled<W>> {
        if let Some(running) = self.running.iter().find(|running| running.id == id) {
            running.is_cancelled.store(true, Relaxed);
            return Some(Cancelled::Running);
        }
        self.kinds.iter_mut().find_map(|kind| {
            let place = kind.waiting.iter().position(|waiting| waiting.id == id)?;
            let waiting = kind.waiting.remove(place)?;
            kind.estimated = kind.estimated.saturating_sub(waiting.spec.weight());
            Some(Cancelled::Waiting(waiting.work))
        })
    }

    /// Gives a running task's thread up. False when no such task runs, or its thread was given up already.
    pub fn abandon(&mut self, id: LongId) -> bool {
        let Some(running) = self.running.iter_mut().find(|running| running.id == id) else { return false };
        running.is_cancelled.store(true, Relaxed);
        !std::mem::replace(&mut running.is_abandoned, true)
    }

    /// Cancels all running tasks and removes the waiting ones.
    pub(super) fn cancel_all(&mut self) -> Vec<W> {
        self.running.iter().for_each(|running| running.is_cancelled.store(true, Relaxed));
        let waiting = self.kinds.iter_mut().flat_map(|kind| {
            kind.estimated = Duration::ZERO;
            std::mem::take(&mut kind.waiting)
        });
        waiting.map(|waiting| waiting.work).collect()
    }

    /// Backlog for `n_threads` threads. Tasks that a core would not help do not count.
    #[must_use]
    pub fn backlog(&self, now: Instant, n_threads: usize) -> Backlog {
        let expected = self.kinds.iter().map(|kind| kind.estimated.mul_f64(kind.ratio)).sum::<Duration>();
        let on_threads = || self.running.iter().filter(|running| !running.is_abandoned);
        let n_hanging = on_threads().filter(|running| running.hangs(now)).count();
        let is_stuck = n_hanging >= n_threads.max(1);
        let n_threads = u32::try_from(n_threads.saturating_sub(n_hanging).max(1)).unwrap_or(u32::MAX);
        let behind = on_threads().map(RunningTask::behind).max().unwrap_or_default();
        let oldest =
            self.kinds.iter().filter_map(|kind| kind.waiting.front()).map(|waiting| waiting.submitted_at);
        Backlog {
            work: expected / n_threads,
            oldest: oldest.min().map_or(Duration::ZERO, |oldest| now - oldest).max(behind),
            is_stuck,
        }
    }

    /// Time that tasks of a kind have taken ÷ time that was estimated, lately.
    #[must_use]
    pub fn ratio(&self, kind: &str) -> f64 {
        self.kinds.iter().find(|known| known.name == kind).map_or(1.0, |kind| kind.ratio)
    }

    /// Tasks that wait.
    #[must_use]
    pub fn n_waiting(&self) -> usize {
        self.kinds.iter().map(|kind| kind.waiting.len()).sum()
    }

    /// Tasks that run on threads which were not given up.
    #[must_use]
    pub fn n_running(&self) -> usize {
        self.running.iter().filter(|running| !running.is_abandoned).count()
    }

    /// Tasks that run on threads which were given up.
    #[must_use]
    pub fn n_abandoned(&self) -> usize {
        self.running.len() - self.n_running()
    }

    /// All tasks: running ones, then waiting ones, each in order of submission.
    #[must_use]
    pub fn list(&self, now: Instant) -> Vec<LongInfo> {
        let runs = self.running.iter().map(|running| LongInfo {
            id: running.id,
            kind: running.spec.kind,
            name: running.spec.name.clone(),
            submitted_at: running.submitted_at,
            estimated: running.spec.estimated,
            expected: running.expected,
            is_cancelled: running.is_cancelled.load(Relaxed),
            is_overdue: running.is_overdue(now),
            state: match running.is_abandoned {
                true => LongState::Abandoned { since: running.began_at },
                false => LongState::Running { since: running.began_at },
            },
        });
        let mut list: Vec<LongInfo> = runs.collect();
        list.sort_by_key(|info| info.id);
        let n_running = list.len();
        for kind in &self.kinds {
            list.extend(kind.waiting.iter().map(|waiting| LongInfo {
                id: waiting.id,
                kind: kind.name,
                name: waiting.spec.name.clone(),
                submitted_at: waiting.submitted_at,
                estimated: waiting.spec.estimated,
                expected: waiting.spec.weight().mul_f64(kind.ratio),
                is_cancelled: false,
                is_overdue: false,
                state: LongState::Waiting,
            }));
        }
        list[n_running..].sort_by_key(|info| info.id);
        list
    }

    /// The place of a kind. There are as many as the code has names for.
    fn kind(&mut self, name: &'static str) -> usize {
        let known = self.kinds.iter().position(|kind| kind.name == name);
        known.unwrap_or_else(|| {
            self.kinds.push(KindQueue {
                name,
                waiting: VecDeque::new(),
                estimated: Duration::ZERO,
                ratio: 1.0,
                served: self.served,
            });
            self.kinds.len() - 1
        })
    }
}

#[cfg(test)]
mod tests;
