//! Outcomes of jobs.

use super::phase::{ActiveInstance, InstancePhase, StartingInstance};
use super::requests::Progress;
use super::{
    Ask, Blocked, GatewayOrder, InstanceRefusal, Job, JobId, JobOutcome, Registry, StartFailure,
    SuspendOutcome,
};
use ids::{Instant, WorldId};
use link::AdmissionNumber;
use std::sync::Arc;
use std::time::Duration;

/// Time for which a resumed instance is not evicted, because its visitor is expected.
const EXPECTED_VISIT: Duration = Duration::from_secs(10);

impl Registry {
    /// Handles the outcome of a job.
    ///
    /// # Panics
    /// If the job is unknown or has ended, or the outcome belongs to another kind of job.
    pub fn handle_outcome(&mut self, now: Instant, job: JobId, outcome: JobOutcome) {
        self.now = now;
        match outcome {
            JobOutcome::StateSaved(saved) => {
                let world = self.saves.remove(&job).expect("a save ends once");
                return self.on_state_saved(job, world, saved);
            }
            JobOutcome::VisitsNoted(is_written) => return self.on_visits_noted(job, is_written),
            _ => {}
        }
        let worlds = self.under_way.remove(&job).expect("a job ends once");
        match outcome {
            JobOutcome::StateSaved(_) | JobOutcome::VisitsNoted(_) => unreachable!("they have returned"),
            JobOutcome::RowWritten(written) => self.on_row_written(now, worlds[0], written),
            JobOutcome::RowDeleted(deleted) => self.on_row_deleted(now, worlds[0], deleted),
            JobOutcome::Started(started) => self.on_started(now, worlds[0], started),
            JobOutcome::Suspended(ended) => {
                assert!(
                    ended.iter().map(|(world, _)| world).eq(&worlds),
                    "one outcome for each world of the job"
                );
                self.n_suspending -= 1;
                for (world, outcome) in ended {
                    self.on_suspended(now, world, outcome);
                }
            }
        }
        self.retry_room_waiters(now);
        self.go_on_stopping();
    }

    fn on_row_written(&mut self, now: Instant, world: WorldId, written: Result<(), Arc<str>>) {
        let record = self.record_mut(world);
        let InstancePhase::Recording(reserved) = record.phase else {
            panic!("world {}: only a new instance's row is written", world.0);
        };
        let template = Arc::clone(&record.row.template);
        if let Err(why) = written {
            self.cancel(reserved);
            self.remove(world, &InstanceRefusal::Failed(why));
            return;
        }
        self.set_phase(world, InstancePhase::Suspended);
        // An instance without a visitor does not evict other worlds.
        let has_slot = self.n_in_memory() < self.config.active_max && self.stopping.is_none();
        let facts = self.template(&template).ok().filter(|_| has_slot).cloned();
        match reserved.zip(facts) {
            Some((bytes, facts)) => {
                if self.begin_start(now, world, &facts, bytes, None).is_ok() {
                    return;
                }
            }
            None => self.cancel(reserved),
        }
        self.settle(now, world);
    }

    fn cancel(&mut self, reserved: Option<u64>) {
        if let Some(bytes) = reserved {
            self.capacity.cancel_reservation(bytes);
        }
    }

    fn on_started(&mut self, now: Instant, world: WorldId, started: Result<Option<u64>, StartFailure>) {
        let record = self.record_mut(world);
        let InstancePhase::Starting(starting) = record.phase.clone() else {
            panic!("world {}: only an instance under construction is started", world.0);
        };
        let StartingInstance { local_ids, reserved_bytes, is_first, revision } = starting;
        let template = Arc::clone(&record.row.template);
        let failure = match started {
            Ok(kept) => {
                self.capacity.note_created(reserved_bytes);
                if let Some(kept) = kept.filter(|&kept| kept > 0) {
                    self.capacity.learn_from_creation(&template, kept);
                }
                let spared_until = if is_first { Instant::ZERO } else { now + EXPECTED_VISIT };
                let active = ActiveInstance {
                    local_ids,
                    bytes: kept.unwrap_or(reserved_bytes),
                    occupants: 0,
                    admissions: 0,
                    last_admission: AdmissionNumber::default(),
                    visits: 0,
                    visits_saved: 0,
                    saving: None,
                    empty_since: None,
                    spared_until,
                    is_evicted: false,
                };
                self.set_phase(world, InstancePhase::Active(active));
                self.update_empty(now, world);
                self.settle(now, world);
                return;
            }
            Err(failure) => failure,
        };
        self.capacity.cancel_reservation(reserved_bytes);
        self.local_ids.release(now, &local_ids);
        self.set_phase(world, InstancePhase::Suspended);
        let has_changed = self.revision != revision;
        let record = self.record_mut(world);
        let why = match failure {
            StartFailure::Stopping => InstanceRefusal::Stopping,
            StartFailure::Failed(why) => InstanceRefusal::Failed(why),
            StartFailure::Damaged(why) => {
                record.blocked = Some(Blocked::Damaged(Arc::clone(&why)));
                InstanceRefusal::Blocked(why)
            }
            StartFailure::Misfit(why) if has_changed => InstanceRefusal::Failed(why),
            StartFailure::Misfit(why) => {
                record.blocked = Some(Blocked::Misfit(Arc::clone(&why)));
                InstanceRefusal::Blocked(why)
            }
        };
        if is_first {
            // The requester receives the reason, and a retry must not find the instance.
            record.failure = Some(Box::new(why));
            let id = record.row.id;
            self.set_phase(world, InstancePhase::Deleting(None));
            self.push_job_for(vec![world], Job::DeleteRow(id));
            return;
        }
        self.refuse_starters(world, &why);
        self.settle(now, world);
    }

    /// Refuses the waiting requests that need the world in memory: each of them would repeat the failed start.
    fn refuse_starters(&mut self, world: WorldId, why: &InstanceRefusal) {
        let waiting = std::mem::take(&mut self.record_mut(world).waiting);
        let (starters, others): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(_, ask)| matches!(ask, Ask::Enter { .. } | Ask::Resume));
        self.record_mut(world).waiting.extend(others);
        for (request, _) in starters {
            self.refuse(request, why.clone());
        }
    }

    fn on_suspended(&mut self, now: Instant, world: WorldId, outcome: SuspendOutcome) {
        let record = self.record_mut(world);
        let InstancePhase::Suspending(mut active) = record.phase.clone() else {
            panic!("world {}: only a suspending instance is suspended", world.0);
        };
        let template = Arc::clone(&record.row.template);
        match outcome {
            SuspendOutcome::Saved(size) => {
                let is_free = active.admissions == 0 || self.stopping.is_some();
                assert!(is_free, "world {}: suspended under a visitor on its way in", world.0);
                self.counters.suspended += 1;
                self.counters.evicted += u64::from(active.is_evicted);
                if let Some(size) = size.filter(|_| active.visits > 0) {
                    self.capacity.learn_from_use(&template, size);
                }
                self.capacity.note_freed(size.unwrap_or(active.bytes));
                self.local_ids.release(now, &active.local_ids);
                self.set_phase(world, InstancePhase::Suspended);
            }
            SuspendOutcome::Kept { until, failure } => {
                active.spared_until = active.spared_until.max(until);
                active.is_evicted = false;
                self.set_phase(world, InstancePhase::Active(active));
                self.update_empty(now, world);
                self.refuse_suspenders(world, failure);
            }
        }
        self.settle(now, world);
    }

    fn refuse_suspenders(&mut self, world: WorldId, failure: Option<Arc<str>>) {
        let why = failure.map_or(InstanceRefusal::InUse, InstanceRefusal::Failed);
        let waiting = std::mem::take(&mut self.record_mut(world).waiting);
        let (suspenders, others): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(_, ask)| matches!(ask, Ask::Suspend));
        self.record_mut(world).waiting.extend(others);
        for (request, _) in suspenders {
            self.refuse(request, why.clone());
        }
    }

    fn on_row_deleted(&mut self, now: Instant, world: WorldId, deleted: Result<(), Arc<str>>) {
        let record = self.record_mut(world);
        let InstancePhase::Deleting(former) = record.phase.clone() else {
            panic!("world {}: only an ending instance's row is deleted", world.0);
        };
        let failure = record.failure.take().map(|why| *why);
        match (deleted, former) {
            (Ok(()), former) => {
                if let Some(active) = former {
                    let reason = "That world has ended.".into();
                    self.orders.push_back(GatewayOrder::Empty { world, reason });
                    self.push_job(Job::Remove(world));
                    self.local_ids.release(now, &active.local_ids);
                    self.capacity.note_freed(active.bytes);
                }
                self.remove(world, &failure.unwrap_or(InstanceRefusal::Ended));
            }
            (Err(why), former) => {
                let next = former.map_or(InstancePhase::Suspended, InstancePhase::Active);
                self.set_phase(world, next);
                self.update_empty(now, world);
                let waiting = std::mem::take(&mut self.record_mut(world).waiting);
                for (request, ask) in waiting {
                    match ask {
                        Ask::End => self.refuse(request, InstanceRefusal::Failed(Arc::clone(&why))),
                        Ask::Created if failure.is_some() => {
                            self.refuse(request, failure.clone().expect("matched"));
                        }
                        ask => self.record_mut(world).waiting.push_back((request, ask)),
                    }
                }
                self.settle(now, world);
            }
        }
    }

    /// Applies the requests that waited for an instance, in order, up to the first that starts another job.
    fn settle(&mut self, now: Instant, world: WorldId) {
        while let Some(record) = self.instances.get_mut(&world)
            && record.phase.is_settled()
            && let Some((request, ask)) = record.waiting.pop_front()
        {
            if self.stopping.is_some() && !matches!(ask, Ask::Created | Ask::Exists) {
                self.refuse(request, InstanceRefusal::Stopping);
                continue;
            }
            let row_id = self.record(world).row.id;
            match self.apply(now, world, request, ask.clone()) {
                Ok(Progress::Taken) => {}
                Ok(Progress::NeedsRoom(_)) => self.wait_for_room(request, ask.into_request(row_id)),
                Err(why) => self.refuse(request, why),
            }
        }
        // Most instances are suspended, and their queue was allocated in the midst of the world that was built for it: the block would hold a whole
        // page of that world's memory in the process.
        if let Some(record) = self.instances.get_mut(&world)
            && record.waiting.is_empty()
        {
            record.waiting.shrink_to_fit();
        }
    }
}
