//! Which long task is next, and how long it will probably take.
//!
//! Sans-IO. Tasks of one kind run in the order of their ids, which is that in which they came. Of several kinds the one comes next that has had the least
//! time so far, so that a flood of one kind leaves the others their share; a kind that had nothing to do does not save up.
//!
//! How long a task takes its submitter estimates, in the kind's own measure; how far off that is, is learned from the tasks that ended.

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

/// What is known of a long task but what it does.
#[derive(Clone, Debug)]
pub struct LongSpec {
    /// What sort of work.
    pub kind: &'static str,
    /// Of what, for operators.
    pub name: String,
    /// How long it will take, about.
    pub estimated: Duration,
}

/// What waits and what runs. `W` is the work itself.
#[derive(Debug)]
pub struct LongQueue<W> {
    kinds: Vec<Kind<W>>,
    running: Vec<Running>,
    /// How much time the kind that was taken up last had had.
    served: Duration,
}

#[derive(Debug)]
struct Kind<W> {
    name: &'static str,
    waiting: VecDeque<Waiting<W>>,
    /// Of those that wait, by their submitters.
    estimated: Duration,
    /// Time that tasks of this kind took ÷ time that was estimated.
    ratio: f64,
    /// Time that tasks of this kind have had.
    served: Duration,
}

#[derive(Debug)]
struct Waiting<W> {
    id: LongId,
    spec: LongSpec,
    submitted_at: Instant,
    is_cancelled: Arc<AtomicBool>,
    work: W,
}

#[derive(Debug)]
struct Running {
    id: LongId,
    spec: LongSpec,
    submitted_at: Instant,
    began_at: Instant,
    expected: Duration,
    is_cancelled: Arc<AtomicBool>,
    is_abandoned: bool,
    progress: Option<Progress>,
}

/// What is known of a running task's way through the cores.
#[derive(Clone, Copy, Debug)]
struct Progress {
    ran: Duration,
    /// How much longer it was ready without a core than it ran, lately: nothing as long as it gets half of one.
    behind: Duration,
    /// When it last was either of the two.
    active_at: Instant,
}

/// A task that begins.
#[derive(Debug)]
pub struct Begun<W> {
    /// Which one.
    pub id: LongId,
    /// What to do.
    pub work: W,
    /// Set when it shall end.
    pub is_cancelled: Arc<AtomicBool>,
}

/// A task that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// What sort of work it was.
    pub kind: &'static str,
    /// Before it began.
    pub waited: Duration,
    /// From then on.
    pub took: Duration,
    /// Its thread was given up meanwhile and has a successor.
    pub is_abandoned: bool,
}

/// What cancelling a task came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Cancelled<W> {
    /// It had not begun, and will not.
    Waiting(W),
    /// It runs and was told; it may not listen.
    Running,
}

/// Weight of the newest task in a kind's ratio: half the way to a new truth in three tasks.
const RATIO_WEIGHT: f64 = 0.25;
/// A task that has run for so long, and for so many times as long as was expected of it, is overdue: it hangs, or it is not what its
/// submitter thought.
const OVERDUE_AFTER: Duration = Duration::from_secs(10);
const OVERDUE_TIMES: u32 = 4;
/// A task that has neither run nor been ready to for so long waits for something else than a core.
const IDLE_MAX: Duration = Duration::from_secs(2);
/// Of what a task has lacked, so much is remembered: more than the highest level asks for.
const BEHIND_MAX: Duration = Duration::from_secs(3);
/// No estimate is believed to be further off: one task that waited for a dead disk shall not make all others look like that.
const RATIO_MAX: f64 = 16.0;
/// Estimates beyond these count as these: nothing is free, and sums of what nobody meant stay in bounds.
const ESTIMATE_MIN: Duration = Duration::from_micros(10);
const ESTIMATE_MAX: Duration = Duration::from_secs(3_600);

impl LongSpec {
    /// What it counts as.
    fn weight(&self) -> Duration {
        self.estimated.clamp(ESTIMATE_MIN, ESTIMATE_MAX)
    }
}

impl Running {
    fn is_overdue(&self, now: Instant) -> bool {
        now - self.began_at > self.patience()
    }

    fn patience(&self) -> Duration {
        OVERDUE_AFTER.max(self.expected.saturating_mul(OVERDUE_TIMES))
    }

    /// Whether a core would not help it: it has had far more of one than expected, or does not want one.
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
        // Nearly always at the end: those of several threads do not come here in their order.
        let place = kind.waiting.partition_point(|waiting| waiting.id < id);
        kind.waiting.insert(place, Waiting { id, spec, submitted_at, is_cancelled, work });
    }

    /// Begins the next one.
    pub fn take(&mut self, now: Instant) -> Option<Begun<W>> {
        let waiting = self.kinds.iter_mut().filter(|kind| !kind.waiting.is_empty());
        let kind = waiting.min_by_key(|kind| (kind.served, kind.waiting[0].id))?;
        let Waiting { id, spec, submitted_at, is_cancelled, work } = kind.waiting.pop_front()?;
        let estimated = spec.weight();
        kind.estimated = kind.estimated.saturating_sub(estimated);
        let expected = estimated.mul_f64(kind.ratio);
        self.served = kind.served;
        kind.served += expected;
        self.running.push(Running {
            id,
            spec,
            submitted_at,
            began_at: now,
            expected,
            is_cancelled: Arc::clone(&is_cancelled),
            is_abandoned: false,
            progress: None,
        });
        Some(Begun { id, work, is_cancelled })
    }

    /// Notes a task that waited elsewhere and runs from now on.
    pub(super) fn begin(&mut self, id: LongId, now: Instant, submitted_at: Instant, spec: LongSpec) {
        let (is_cancelled, expected) = (Arc::default(), Duration::ZERO);
        self.kind(spec.kind);
        self.running.push(Running {
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

    /// Since this was last said of a running task, it ran for so long, and was ready to without a core for so long.
    pub fn observe(&mut self, id: LongId, now: Instant, ran: Duration, delayed: Duration) {
        let Some(running) = self.running.iter_mut().find(|running| running.id == id) else { return };
        let usual = Progress { ran: Duration::ZERO, behind: Duration::ZERO, active_at: running.began_at };
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
        // A task that was told to end early, or that nobody waited for any more, says nothing about the others.
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

    /// Takes a task out that waits, or tells one that runs. `None` when there is none.
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

    /// Tells all running tasks to end, and takes out those that wait.
    pub(super) fn cancel_all(&mut self) -> Vec<W> {
        self.running.iter().for_each(|running| running.is_cancelled.store(true, Relaxed));
        let waiting = self.kinds.iter_mut().flat_map(|kind| {
            kind.estimated = Duration::ZERO;
            std::mem::take(&mut kind.waiting)
        });
        waiting.map(|waiting| waiting.work).collect()
    }

    /// What waits or lacks a core, for so many threads. Those whose tasks a core would not help do not count.
    #[must_use]
    pub fn backlog(&self, now: Instant, n_threads: usize) -> Backlog {
        let expected = self.kinds.iter().map(|kind| kind.estimated.mul_f64(kind.ratio)).sum::<Duration>();
        let on_threads = || self.running.iter().filter(|running| !running.is_abandoned);
        let n_hanging = on_threads().filter(|running| running.hangs(now)).count();
        let is_stuck = n_hanging >= n_threads.max(1);
        let n_threads = u32::try_from(n_threads.saturating_sub(n_hanging).max(1)).unwrap_or(u32::MAX);
        let behind = on_threads().map(Running::behind).max().unwrap_or_default();
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

    /// All of them: what runs, then what waits, each in the order in which it came.
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
            self.kinds.push(Kind {
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
