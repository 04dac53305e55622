//! Requests: resolution of the instance, and the effect in each phase.

use super::phase::{ActiveInstance, InstancePhase};
use super::room::RoomOutcome;
use super::{
    Ask, Blocked, GatewayOrder, InstanceRefusal, InstanceReply, InstanceRequest, InstanceRow, Job,
    NewInstance, Registry, RequestId, WAITING_MAX,
};
use crate::capacity::Shortage;
use ids::{AgentId, Instant, WorldId};
use std::sync::Arc;

/// Result of an attempt to carry out a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The request has been answered, or waits for its instance.
    Taken,
    /// The request needs room for a world, and an unfinished suspension may provide it; if not, this is the refusal.
    NeedsRoom(InstanceRefusal),
}

/// Creator of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CreatedBy {
    /// A program or an operator.
    Request,
    /// A portal.
    Portal,
}

impl Registry {
    /// Tries a request from the beginning. No effect unless the result is [`Progress::Taken`].
    pub(super) fn try_request(
        &mut self,
        now: Instant,
        id: RequestId,
        request: &InstanceRequest,
    ) -> Result<Progress, InstanceRefusal> {
        match request {
            InstanceRequest::Open(new) => self.open(now, id, new, CreatedBy::Request, Ask::Created),
            InstanceRequest::Enter { instance, visitor, position } => {
                let world = self.world_of(*instance)?;
                self.apply(now, world, id, Ask::Enter { visitor: *visitor, position: *position })
            }
            InstanceRequest::EnterWorld { world, visitor, position } => {
                if !self.instances.contains_key(world) {
                    return Err(InstanceRefusal::Ended);
                }
                let ask = Ask::Enter { visitor: *visitor, position: Some(*position) };
                self.apply(now, *world, id, ask)
            }
            InstanceRequest::Dismiss(visitor) => {
                let is_new = self.dismissals.insert(id);
                assert!(is_new, "a request is for one dismissal");
                self.orders.push_back(GatewayOrder::Dismiss { request: id, visitor: *visitor });
                Ok(Progress::Taken)
            }
            InstanceRequest::EnterOwn { new, visitor } => {
                let ask = Ask::Enter { visitor: *visitor, position: None };
                match new.owner.and_then(|owner| self.of_owner(owner, &new.template)) {
                    Some(world) => self.apply(now, world, id, ask),
                    // No instance is created for a visitor for whom it could not be resumed.
                    None if self.capacity.is_cpu_short() => Err(InstanceRefusal::Shortage(Shortage::Cpu)),
                    None => self.open(now, id, new, CreatedBy::Portal, ask),
                }
            }
            InstanceRequest::Suspend(instance) => {
                self.apply(now, self.world_of(*instance)?, id, Ask::Suspend)
            }
            InstanceRequest::Resume(instance) => self.apply(now, self.world_of(*instance)?, id, Ask::Resume),
            InstanceRequest::End(instance) => self.apply(now, self.world_of(*instance)?, id, Ask::End),
        }
    }

    /// Creates an instance, then applies `ask`. A repeated request id resolves to the instance of the first request.
    fn open(
        &mut self,
        now: Instant,
        id: RequestId,
        new: &NewInstance,
        origin: CreatedBy,
        ask: Ask,
    ) -> Result<Progress, InstanceRefusal> {
        let template = self.template(&new.template)?.clone();
        let name = new.name.as_deref().unwrap_or(&template.name);
        if !(1..=NewInstance::NAME_BYTES_MAX).contains(&name.len()) || name.chars().any(link::is_misleading) {
            return Err(InstanceRefusal::Name);
        }
        // This check precedes the limits: a repeated request succeeds on a full node.
        if let Some(&world) = self.by_id.get(&new.id) {
            let row = &self.record(world).row;
            let is_same = row.template.eq_ignore_ascii_case(&new.template) && row.owner == new.owner;
            return if is_same {
                self.apply(now, world, id, Ask::Exists)
            } else {
                Err(InstanceRefusal::Taken(new.id))
            };
        }
        if new.owner.is_some_and(|owner| self.of_owner(owner, &template.name).is_some()) {
            return Err(InstanceRefusal::Owned);
        }
        if self.instances.len() >= self.config.instances_max {
            return Err(InstanceRefusal::Full(self.config.instances_max));
        }
        self.check_quotas(new, origin)?;
        // With a CPU shortage the instance is created and stays suspended; with a memory shortage it is not created.
        let reserved = if self.capacity.is_cpu_short() {
            None
        } else {
            match self.acquire_memory(now, &template)? {
                RoomOutcome::Reserved(bytes) => Some(bytes),
                RoomOutcome::Pending(why) => return Ok(Progress::NeedsRoom(why)),
            }
        };
        let row = InstanceRow {
            id: new.id,
            name: if name == &*template.name { Arc::clone(&template.name) } else { name.into() },
            template: template.name,
            owner: new.owner,
            created_s: new.created_s,
            maker: new.maker.as_ref().map(|maker| Arc::clone(&maker.token)),
            visited_s: (origin == CreatedBy::Portal).then(|| self.unix_now_s()),
        };
        let job = Job::WriteRow(row.clone());
        let world = self.insert(row, InstancePhase::Recording(reserved));
        self.record_mut(world).waiting.push_back((id, ask));
        self.push_job_for(vec![world], job);
        Ok(Progress::Taken)
    }

    /// Checks the limits of instances per token and of instances created by portals.
    fn check_quotas(&self, new: &NewInstance, origin: CreatedBy) -> Result<(), InstanceRefusal> {
        let count = |is_it: &dyn Fn(&InstanceRow) -> bool| {
            self.instances.values().filter(|known| is_it(&known.row)).count()
        };
        if let Some(maker) = &new.maker
            && let Some(max) = maker.instances_max
            && count(&|row| row.maker.as_ref() == Some(&maker.token)) as u64 >= u64::from(max)
        {
            return Err(InstanceRefusal::Quota { token: Arc::clone(&maker.token), max });
        }
        if origin == CreatedBy::Portal {
            let (portal_max, user_max) = (self.config.portal_max, self.config.per_user_max);
            if count(&|row| row.visited_s.is_some()) >= portal_max {
                return Err(InstanceRefusal::PortalsFull(portal_max));
            }
            if user_max > 0 && count(&|row| row.visited_s.is_some() && row.owner == new.owner) >= user_max {
                return Err(InstanceRefusal::UserQuota(user_max));
            }
        }
        Ok(())
    }

    /// Finds the instance of an owner and template.
    fn of_owner(&self, owner: AgentId, template: &str) -> Option<WorldId> {
        let is_it =
            |row: &InstanceRow| row.owner == Some(owner) && row.template.eq_ignore_ascii_case(template);
        self.instances.iter().find(|(_, record)| is_it(&record.row)).map(|(&world, _)| world)
    }

    /// Applies a request to its instance, or queues it until the instance settles.
    pub(super) fn apply(
        &mut self,
        now: Instant,
        world: WorldId,
        id: RequestId,
        ask: Ask,
    ) -> Result<Progress, InstanceRefusal> {
        let record = self.record_mut(world);
        if !record.phase.is_settled() {
            if record.waiting.len() >= WAITING_MAX {
                return Err(InstanceRefusal::Busy);
            }
            record.waiting.push_back((id, ask));
            return Ok(Progress::Taken);
        }
        let instance = record.row.id;
        let active = record.phase.active_mut().map(|active| active.clone());
        match (ask, active) {
            (Ask::Created, _) => self.reply(id, InstanceReply::Created(instance)),
            (Ask::Exists, _) => self.reply(id, InstanceReply::Exists(instance)),
            (Ask::Enter { visitor, position }, Some(_)) => {
                let active = self.record_mut(world).phase.active_mut().expect("matched above");
                active.admissions += 1;
                self.update_empty(now, world);
                let former = self.admissions.insert(id, world);
                assert!(former.is_none(), "a request is for one admission");
                self.orders.push_back(GatewayOrder::Admit { request: id, world, visitor, position });
            }
            (ask @ (Ask::Enter { .. } | Ask::Resume), None) => return self.start(now, world, id, ask),
            (Ask::Resume, Some(_)) => self.reply(id, InstanceReply::Active(instance)),
            (Ask::Suspend, None) => self.reply(id, InstanceReply::Suspended(instance)),
            (Ask::Suspend, Some(active)) => return self.suspend(world, id, &active),
            (Ask::End, _) => {
                self.begin_delete(world);
                self.record_mut(world).waiting.push_front((id, Ask::End));
            }
        }
        Ok(Progress::Taken)
    }

    /// Issues the deletion of a settled instance's row. A world in memory is stepped until the deletion has ended.
    pub(super) fn begin_delete(&mut self, world: WorldId) {
        let record = self.record_mut(world);
        let instance = record.row.id;
        let active = record.phase.active_mut().map(|active| active.clone());
        if let Some(since) = active.as_ref().and_then(|active| active.empty_since) {
            self.empty.remove(&(since, world));
        }
        self.set_phase(world, InstancePhase::Deleting(active));
        self.push_job_for(vec![world], Job::DeleteRow(instance));
    }

    fn suspend(
        &mut self,
        world: WorldId,
        id: RequestId,
        active: &ActiveInstance,
    ) -> Result<Progress, InstanceRefusal> {
        if !active.is_empty() {
            return Err(InstanceRefusal::InUse);
        }
        self.begin_suspend(vec![world]);
        self.record_mut(world).waiting.push_front((id, Ask::Suspend));
        Ok(Progress::Taken)
    }

    /// Starts a suspended instance, and applies `ask` once it is active.
    fn start(
        &mut self,
        now: Instant,
        world: WorldId,
        id: RequestId,
        ask: Ask,
    ) -> Result<Progress, InstanceRefusal> {
        let record = self.record(world);
        if let Some(Blocked::Damaged(why) | Blocked::Misfit(why)) = &record.blocked {
            return Err(InstanceRefusal::Blocked(Arc::clone(why)));
        }
        let gone = |_| InstanceRefusal::TemplateGone(Arc::clone(&record.row.template));
        let template = self.template(&record.row.template).map_err(gone)?.clone();
        match self.acquire_slot(now, &template)? {
            RoomOutcome::Pending(why) => return Ok(Progress::NeedsRoom(why)),
            RoomOutcome::Reserved(bytes) => self.begin_start(now, world, &template, bytes, Some(id))?,
        }
        self.record_mut(world).waiting.push_front((id, ask));
        Ok(Progress::Taken)
    }
}
