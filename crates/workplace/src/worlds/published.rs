//! State that the worlds' threads share with others: the pool itself, and counters.

use super::{Steady, TickTotals, WorldTotals};
use crate::lock_order::{COUNTERS, POOL, RUNNING};
use ids::{Instant, WorldId};
use schedule::Pool;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use telemetry::Held;
use telemetry::captures::MissedTick;
use world::{NpcCounts, RecentEdit, RecentEdits};

/// The pool, until the server stops. All users take the read lock: a removal waits for the world's step without blocking the others.
#[derive(Clone)]
pub(super) struct SharedPool(Arc<RwLock<Option<Pool>>>);

impl SharedPool {
    pub(super) fn new(pool: Pool) -> Self {
        Self(Arc::new(RwLock::new(Some(pool))))
    }

    /// None once the server stops.
    pub(super) fn read(&self) -> Held<RwLockReadGuard<'_, Option<Pool>>> {
        POOL.hold(|| self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the pool from all users.
    pub(super) fn take(&self) -> Option<Pool> {
        POOL.hold(|| self.0.write().unwrap_or_else(PoisonError::into_inner)).take()
    }
}

/// State of a world for other threads.
#[derive(Debug)]
pub(super) struct PublishedState {
    counted: Mutex<WorldTotals>,
    /// Begin of the current step, in nanoseconds; 0 between two steps.
    pub(super) in_step_since: AtomicU64,
    /// Ticks that it missed since they were taken.
    missed: Mutex<VecDeque<MissedTick>>,
    edits: Mutex<SeenEdits>,
}

/// An edit of a world's objects, with the time of its step.
#[derive(Clone, Debug)]
pub struct TimedEdit {
    /// Time of the step.
    pub at: Instant,
    /// The edit.
    pub edit: RecentEdit,
}

/// Edits that are kept for operators. When full, the oldest is dropped.
const EDITS_MAX: usize = 64;

/// The newest edits of a world.
#[derive(Debug, Default)]
struct SeenEdits {
    list: VecDeque<TimedEdit>,
    /// Edits of the world's present life that were taken over.
    n_known: u64,
}

/// Missed ticks of one world that wait for `watch`: those of three seconds at 20 Hz. The oldest go.
const MISSED_MAX: usize = 64;

impl PublishedState {
    /// Of a world that is not stepped yet.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            counted: Mutex::new(WorldTotals { dilation: 1.0, ..WorldTotals::default() }),
            in_step_since: AtomicU64::new(0),
            missed: Mutex::default(),
            edits: Mutex::default(),
        })
    }

    /// Takes over the edits of a step that has ended. Without new ones this costs a comparison.
    pub(super) fn note_edits(&self, at: Instant, recent: &RecentEdits) {
        let mut edits = self.edits();
        if recent.n_noted() == edits.n_known {
            return;
        }
        // A world that restarted counts from 0 again.
        let n_known = if recent.n_noted() < edits.n_known { 0 } else { edits.n_known };
        edits.n_known = recent.n_noted();
        for edit in recent.since(n_known) {
            if edits.list.len() == EDITS_MAX {
                edits.list.pop_front();
            }
            edits.list.push_back(TimedEdit { at, edit: edit.clone() });
        }
    }

    /// The newest edits, the newest first.
    pub(super) fn newest_edits(&self) -> Vec<TimedEdit> {
        self.edits().list.iter().rev().cloned().collect()
    }

    fn edits(&self) -> Held<MutexGuard<'_, SeenEdits>> {
        COUNTERS.hold(|| self.edits.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn counted(&self) -> Held<MutexGuard<'_, WorldTotals>> {
        COUNTERS.hold(|| self.counted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn miss(&self, miss: MissedTick) {
        let mut missed = self.missed();
        if missed.len() == MISSED_MAX {
            missed.pop_front();
        }
        missed.push_back(miss);
    }

    pub(super) fn take_missed(&self) -> VecDeque<MissedTick> {
        std::mem::take(&mut self.missed())
    }

    fn missed(&self) -> Held<MutexGuard<'_, VecDeque<MissedTick>>> {
        COUNTERS.hold(|| self.missed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Instances in the pool, and the totals of former ones.
#[derive(Debug, Default)]
pub(super) struct InstancesSeen {
    pub(super) there: BTreeMap<WorldId, Arc<PublishedState>>,
    pub(super) gone: NpcCounts,
    pub(super) gone_steady: Steady,
    pub(super) gone_ticks: TickTotals,
    pub(super) gone_missions_completed: u64,
    /// Of former instances, until they are drained; [`MISSES_MAX`](telemetry::captures::MISSES_MAX) at most, the oldest go.
    pub(super) gone_missed: VecDeque<MissedTick>,
}

/// The same for all threads.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenInstances(Arc<Mutex<InstancesSeen>>);

impl SeenInstances {
    pub(super) fn lock(&self) -> Held<MutexGuard<'_, InstancesSeen>> {
        RUNNING.hold(|| self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    #[should_panic(
        expected = "the list of running instances is locked by a thread that holds the counters of a world"
    )]
    fn the_list_of_running_instances_is_locked_before_counters() {
        let (seen, instances) = (PublishedState::new(), SeenInstances::default());
        let _counted = seen.counted();
        let _instances = instances.lock();
    }
}
