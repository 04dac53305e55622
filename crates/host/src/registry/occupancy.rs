//! Visitors of instances: admissions, occupant counts of the gateway, and saves of worlds that visitors have left.

use super::phase::InstancePhase;
use super::{InstanceRecord, InstanceRefusal, InstanceReply, Job, JobId, OccupantCount, Registry, RequestId};
use ids::{Instant, WorldId};
use std::sync::Arc;

impl Registry {
    pub(super) fn on_admission(
        &mut self,
        now: Instant,
        request: RequestId,
        outcome: Result<OccupantCount, Arc<str>>,
    ) {
        let Some(world) = self.admissions.remove(&request) else { return };
        let is_stopping = self.stopping.is_some();
        let Some(record) = self.instances.get_mut(&world) else {
            self.refuse(request, InstanceRefusal::Ended);
            return;
        };
        let id = record.row.id;
        let Some(active) = record.phase.active_mut() else {
            assert!(is_stopping, "world {}: suspended under a visitor on its way in", world.0);
            self.refuse(request, InstanceRefusal::Stopping);
            return;
        };
        active.admissions = active.admissions.checked_sub(1).expect("an admission is answered once");
        match outcome {
            Ok(count) => {
                active.last_admission = count.as_of;
                active.visits += 1;
                active.spared_until = Instant::ZERO;
                self.note_visit(world);
                self.set_occupants(now, world, count.n);
                self.reply(request, InstanceReply::Admitted(id));
            }
            Err(reason) => {
                self.update_empty(now, world);
                self.refuse(request, InstanceRefusal::Passage(reason));
            }
        }
        self.retry_room_waiters(now);
    }

    pub(super) fn on_dismissal(&mut self, request: RequestId, outcome: Result<(), Arc<str>>) {
        if self.dismissals.remove(&request) {
            match outcome {
                Ok(()) => self.reply(request, InstanceReply::Dismissed),
                Err(reason) => self.refuse(request, InstanceRefusal::Passage(reason)),
            }
        }
    }

    pub(super) fn on_count(&mut self, now: Instant, world: WorldId, count: OccupantCount) {
        let active = self.instances.get_mut(&world).and_then(|record| record.phase.active_mut());
        if active.is_some_and(|active| count.as_of >= active.last_admission) {
            self.set_occupants(now, world, count.n);
        }
    }

    fn set_occupants(&mut self, now: Instant, world: WorldId, n: u32) {
        let Some(record) = self.instances.get_mut(&world) else { return };
        let is_active = record.phase.is_active();
        let Some(active) = record.phase.active_mut() else { return };
        let has_emptied = active.occupants > 0 && n == 0;
        active.occupants = n;
        self.update_empty(now, world);
        if has_emptied {
            self.note_visit(world);
        }
        if has_emptied && is_active {
            self.retry_room_waiters(now);
        }
    }

    /// Issues a save of each empty world with visits since its saved state, except shortly after a failed attempt.
    pub(super) fn save_left(&mut self, now: Instant) {
        let empty: Vec<WorldId> = self.empty.iter().map(|&(_, world)| world).collect();
        for world in empty {
            let Some(active) = self.record_mut(world).phase.active_mut() else { continue };
            let visits = active.visits;
            if active.is_changed() && active.saving.is_none() && active.spared_until <= now {
                let job = self.push_job(Job::SaveState(world));
                self.saves.insert(job, world);
                let active = self.record_mut(world).phase.active_mut().expect("found above");
                active.saving = Some((job, visits));
            }
        }
    }

    /// Handles the end of a save. The world may have been suspended and resumed since the save was issued.
    pub(super) fn on_state_saved(&mut self, job: JobId, world: WorldId, saved: Result<(), Instant>) {
        let Some(record) = self.instances.get_mut(&world) else { return };
        let Some(active) = record.phase.active_mut() else { return };
        let Some((_, visits)) = active.saving.take_if(|(known, _)| *known == job) else { return };
        match saved {
            Ok(()) => active.visits_saved = visits,
            Err(until) => active.spared_until = active.spared_until.max(until),
        }
    }

    /// Worlds in memory with visits since their saved state.
    pub fn unsaved(&self) -> impl Iterator<Item = WorldId> {
        let is_changed = |(world, record): (&WorldId, &InstanceRecord)| match &record.phase {
            InstancePhase::Active(active) | InstancePhase::Suspending(active) => {
                active.is_changed().then_some(*world)
            }
            _ => None,
        };
        self.instances.iter().filter_map(is_changed)
    }

    /// Adds an active world to the set of empty worlds, or removes it.
    pub(super) fn update_empty(&mut self, now: Instant, world: WorldId) {
        let Some(record) = self.instances.get_mut(&world) else { return };
        let is_active = record.phase.is_active();
        let Some(active) = record.phase.active_mut() else { return };
        let before = active.empty_since;
        active.empty_since = active.is_empty().then(|| before.unwrap_or(now));
        let after = active.empty_since.filter(|_| is_active);
        if let Some(since) = before {
            self.empty.remove(&(since, world));
        }
        self.empty.extend(after.map(|since| (since, world)));
    }

    pub(super) fn is_evictable(&self, now: Instant, world: WorldId) -> bool {
        match &self.record(world).phase {
            InstancePhase::Active(active) => active.is_evictable(now),
            _ => false,
        }
    }
}
