//! Stop of the node: every instance in memory is suspended, whether occupied or not.

use super::{InstancePhase, InstanceRecord, InstanceRefusal, Registry, SUSPEND_BATCH_MAX};
use ids::{Instant, WorldId};
use std::time::Duration;

/// Maximum number of attempts to save all instances.
pub(super) const STOP_TRIES_MAX: u32 = 5;
/// Time between two attempts.
const STOP_TRY_PERIOD: Duration = Duration::from_millis(700);

/// Progress of the attempts to save all instances while the node stops.
#[derive(Clone, Copy, Debug)]
pub(super) struct StopProgress {
    tries_left: u32,
    next_try_at: Instant,
}

impl Registry {
    /// Refuses waiting and later requests, and suspends every instance in memory, whether occupied or not.
    pub fn begin_stop(&mut self, now: Instant) {
        self.now = now;
        if self.stopping.is_some() {
            return;
        }
        self.stopping = Some(StopProgress { tries_left: STOP_TRIES_MAX, next_try_at: now });
        for waiter in std::mem::take(&mut self.room_waiters) {
            self.refuse(waiter.request, InstanceRefusal::Stopping);
        }
        self.write_visits(1);
        self.go_on_stopping();
    }

    /// True once the node may stop: no complete instance is in memory, or all attempts to save have failed; and no write is unfinished. Worlds under
    /// construction do not delay the stop, because they hold no unsaved state.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        let Some(stop) = self.stopping else { return false };
        let is_over = stop.tries_left == 0 || self.active_worlds().next().is_none();
        is_over && !self.is_busy() && self.noting.is_none()
    }

    /// Suspends the instances that have become active since the last attempt or could not be saved.
    pub(super) fn go_on_stopping(&mut self) {
        let Some(stop) = self.stopping else { return };
        let is_due = stop.tries_left > 0 && self.now >= stop.next_try_at;
        if !is_due || self.is_busy() || self.active_worlds().next().is_none() {
            return;
        }
        self.stopping =
            Some(StopProgress { tries_left: stop.tries_left - 1, next_try_at: self.now + STOP_TRY_PERIOD });
        let active: Vec<WorldId> = self.active_worlds().collect();
        for batch in active.chunks(SUSPEND_BATCH_MAX) {
            self.begin_suspend(batch.to_vec());
        }
    }

    /// True while a job other than the construction of a world is unfinished.
    fn is_busy(&self) -> bool {
        let is_start = |worlds: &Vec<WorldId>| {
            worlds.iter().all(|world| matches!(self.record(*world).phase, InstancePhase::Starting(_)))
        };
        !self.under_way.values().all(is_start)
    }

    fn active_worlds(&self) -> impl Iterator<Item = WorldId> {
        let is_active =
            |(world, record): (&WorldId, &InstanceRecord)| record.phase.is_active().then_some(*world);
        self.instances.iter().filter_map(is_active)
    }
}
