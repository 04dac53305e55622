//! Room for another world: memory, one of `active_max` slots, and local ids; evictions that free them.

use super::phase::{InstancePhase, StartingInstance};
use super::{InstanceRefusal, Job, Registry, RequestId, TemplateFacts};
use crate::capacity::Shortage;
use ids::{Instant, WorldId};
use std::sync::Arc;

/// Result of an attempt to find room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RoomOutcome {
    /// Number of reserved bytes.
    Reserved(u64),
    /// An unfinished suspension may provide the room; if not, this is the refusal.
    Pending(InstanceRefusal),
}

impl Registry {
    /// Reserves memory for another world.
    pub(super) fn acquire_memory(
        &mut self,
        now: Instant,
        template: &TemplateFacts,
    ) -> Result<RoomOutcome, InstanceRefusal> {
        let bytes = self.capacity.expected_bytes(&template.name, template.n_npcs);
        match self.capacity.reserve(bytes) {
            Ok(()) => Ok(RoomOutcome::Reserved(bytes)),
            Err(Shortage::Cpu) => Err(InstanceRefusal::Shortage(Shortage::Cpu)),
            Err(Shortage::Memory) => self.evict(now, InstanceRefusal::Shortage(Shortage::Memory)),
        }
    }

    /// Reserves memory and a slot for another world. CPU time is checked first, because no eviction ends a CPU shortage.
    pub(super) fn acquire_slot(
        &mut self,
        now: Instant,
        template: &TemplateFacts,
    ) -> Result<RoomOutcome, InstanceRefusal> {
        if self.capacity.is_cpu_short() {
            return Err(InstanceRefusal::Shortage(Shortage::Cpu));
        }
        if self.n_in_memory() >= self.config.active_max {
            return self.evict(now, InstanceRefusal::ActiveFull(self.config.active_max));
        }
        self.acquire_memory(now, template)
    }

    /// Suspends the instance that has been empty for the longest time, unless the unfinished suspensions suffice for the waiting requests.
    fn evict(&mut self, now: Instant, why: InstanceRefusal) -> Result<RoomOutcome, InstanceRefusal> {
        if self.n_suspending > self.room_waiters.len() {
            return Ok(RoomOutcome::Pending(why));
        }
        let candidate =
            self.empty.iter().map(|&(_, world)| world).find(|&world| self.is_evictable(now, world));
        match candidate {
            Some(world) => {
                if let Some(active) = self.record_mut(world).phase.active_mut() {
                    active.is_evicted = true;
                }
                self.begin_suspend(vec![world]);
            }
            None if self.n_suspending == 0 => return Err(why),
            None => {}
        }
        Ok(RoomOutcome::Pending(why))
    }

    /// Issues the start of a suspended instance with reserved memory, for a request or as the first start of a new instance. A shortage of local ids
    /// cancels the reservation.
    pub(super) fn begin_start(
        &mut self,
        now: Instant,
        world: WorldId,
        template: &TemplateFacts,
        reserved_bytes: u64,
        request: Option<RequestId>,
    ) -> Result<(), InstanceRefusal> {
        let Some(local_ids) = self.local_ids.allocate(now, template.n_local_ids) else {
            self.capacity.cancel_reservation(reserved_bytes);
            return Err(InstanceRefusal::LocalIds(template.n_local_ids));
        };
        let starting = StartingInstance {
            local_ids: local_ids.clone(),
            reserved_bytes,
            is_first: request.is_none(),
            revision: self.revision,
        };
        self.set_phase(world, InstancePhase::Starting(starting));
        let row = &self.record(world).row;
        let job = Job::Start {
            request,
            world,
            instance: row.id,
            template: Arc::clone(&template.name),
            name: Arc::clone(&row.name),
            local_ids,
        };
        self.push_job_for(vec![world], job);
        Ok(())
    }
}
