//! Registry of instances: existence, owners, lifecycle, placement in memory, quotas and admission of visitors.
//!
//! A sans-IO state machine with one owner. Inputs: [`Registry::handle_request`], [`Registry::handle_outcome`],
//! [`Registry::handle_notice`], [`Registry::record_sample`] and, every [`Registry::TIMEOUT_PERIOD`], [`Registry::handle_timeout`].
//! Outputs, to be drained after each input: [`Registry::poll_job`] (work that takes long), [`Registry::poll_order`] (for the gateway) and
//! [`Registry::poll_reply`] (exactly one per request).
//!
//! It holds no world, row or connection: jobs and notices name worlds by id. The lifecycle of an instance is the diagram in `phase.rs`;
//! what a request does in each phase is `requests.rs`; memory and slots for another world are `room.rs`; ends of jobs are `outcomes.rs`.
//!
//! Occupancy is the gateway's: each admission is ordered and answered, and each change of a world's occupants is reported. Between order
//! and answer the world counts as occupied, so that it is never suspended under a visitor.

mod message;
mod outcomes;
mod phase;
mod requests;
mod room;
#[cfg(test)]
mod tests;

pub use link::{
    GatewayNotice, GatewayOrder, InstanceRefusal, InstanceReply, InstanceRequest, Maker, NewInstance,
    RequestId, Visitor,
};
pub use message::{InstanceRow, Job, JobId, JobOutcome, StartFailure, SuspendOutcome};
pub use room::ROOM_WAITERS_MAX;

use crate::capacity::{NodeSample, Shortage, WorldCapacity};
use ids::{Instant, Uuid, WorldId};
use phase::{ActiveInstance, InstancePhase};
use room::RoomWaiter;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Requests that wait for one instance to settle; more are refused as [`InstanceRefusal::Busy`].
pub const WAITING_MAX: usize = 256;
/// Instances suspended in one transaction: bounds the time for which the journal waits for it.
pub const SUSPEND_BATCH_MAX: usize = 8;
/// Suspensions of idle instances under way at once.
const SUSPEND_JOBS_MAX: usize = 2;
/// Attempts to save instances when the node stops.
const STOP_TRIES_MAX: u32 = 5;

/// Limits and periods.
#[derive(Clone, Copy, Debug)]
pub struct RegistryConfig {
    /// Existing instances.
    pub instances_max: usize,
    /// Instances in memory.
    pub active_max: usize,
    /// Time without occupants until an instance is suspended.
    pub suspend_after: Duration,
    /// Number of the first instance's world; rises with each instance.
    pub first_world: u32,
    /// Local ids for instances.
    pub local_ids: (u32, u32),
}

/// Template, as far as admission depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateFacts {
    /// Name.
    pub name: Arc<str>,
    /// Local ids of one world: static objects and avatars.
    pub n_local_ids: u32,
    /// NPCs of one world.
    pub n_npcs: usize,
}

/// Instance as the API reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceSummary {
    /// Stored description.
    pub row: InstanceRow,
    /// Number of its world.
    pub world: WorldId,
    /// Phase, as a word.
    pub phase: &'static str,
    /// Occupants, as last reported by the gateway.
    pub occupants: u32,
    /// Reason why it cannot be resumed.
    pub blocked: Option<Arc<str>>,
}

/// Reason why an instance cannot be resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Blocked {
    /// Damaged state: until the node restarts.
    Damaged(Arc<str>),
    /// State that does not fit the template: until the template changes.
    Misfit(Arc<str>),
}

/// One instance.
#[derive(Debug)]
struct InstanceRecord {
    row: InstanceRow,
    phase: InstancePhase,
    blocked: Option<Blocked>,
    /// Cause of a deletion after a failed first start.
    failure: Option<InstanceRefusal>,
    /// Requests that wait until it settles, in order of arrival.
    waiting: VecDeque<(RequestId, Ask)>,
}

/// Request for one instance, after its resolution.
#[derive(Clone, Debug)]
enum Ask {
    /// Reply once the new instance has settled.
    Created,
    /// Reply once the existing instance has settled.
    Exists,
    Enter {
        visitor: Visitor,
        position: Option<glam::Vec3>,
    },
    Suspend,
    Resume,
    End,
}

impl Ask {
    /// The request for this instance, to be tried again from its beginning.
    fn into_request(self, instance: Uuid) -> InstanceRequest {
        match self {
            Self::Enter { visitor, position } => InstanceRequest::Enter { instance, visitor, position },
            Self::Suspend => InstanceRequest::Suspend(instance),
            Self::Resume => InstanceRequest::Resume(instance),
            Self::End => InstanceRequest::End(instance),
            Self::Created | Self::Exists => unreachable!("the reply to a creation needs no room"),
        }
    }
}

/// All instances of a node.
#[derive(Debug)]
pub struct Registry {
    config: RegistryConfig,
    templates: Vec<TemplateFacts>,
    instances: BTreeMap<WorldId, InstanceRecord>,
    by_id: BTreeMap<Uuid, WorldId>,
    /// Local ids of the worlds in memory, by their first.
    local_ids: BTreeMap<u32, u32>,
    next_local_id: u32,
    next_world: u32,
    /// Empty active instances, by the start of that time.
    empty: BTreeSet<(Instant, WorldId)>,
    room_waiters: VecDeque<RoomWaiter>,
    capacity: WorldCapacity,
    admissions: BTreeMap<RequestId, WorldId>,
    /// Jobs with an outcome that has not come yet, with the worlds they are about.
    under_way: BTreeMap<JobId, Vec<WorldId>>,
    n_suspending: usize,
    next_job: u64,
    /// Attempts to save that are left, once the node stops.
    stopping: Option<u32>,
    jobs: VecDeque<(JobId, Job)>,
    orders: VecDeque<GatewayOrder>,
    replies: VecDeque<(RequestId, Result<InstanceReply, InstanceRefusal>)>,
}

impl Registry {
    /// Period of [`Self::handle_timeout`].
    pub const TIMEOUT_PERIOD: Duration = Duration::from_millis(100);

    /// A node without instances.
    #[must_use]
    pub fn new(config: RegistryConfig, templates: Vec<TemplateFacts>) -> Self {
        assert!(config.local_ids.0 < config.local_ids.1, "no local ids for instances");
        Self {
            templates,
            instances: BTreeMap::new(),
            by_id: BTreeMap::new(),
            local_ids: BTreeMap::new(),
            next_local_id: config.local_ids.0,
            next_world: config.first_world,
            empty: BTreeSet::new(),
            room_waiters: VecDeque::new(),
            capacity: WorldCapacity::default(),
            admissions: BTreeMap::new(),
            under_way: BTreeMap::new(),
            n_suspending: 0,
            next_job: 0,
            stopping: None,
            jobs: VecDeque::new(),
            orders: VecDeque::new(),
            replies: VecDeque::new(),
            config,
        }
    }

    /// Takes in a stored instance at the start of the node, suspended. `damage` is the reason why its state cannot be read. Not bounded by
    /// `instances_max`: a lowered limit deletes nothing.
    pub fn load(&mut self, row: InstanceRow, damage: Option<Arc<str>>) {
        let template = self.template(&row.template).map(|template| Arc::clone(&template.name));
        let row = InstanceRow { template: template.unwrap_or_else(|_| Arc::clone(&row.template)), ..row };
        let world = self.insert(row, InstancePhase::Suspended);
        self.record_mut(world).blocked = damage.map(Blocked::Damaged);
    }

    /// Replaces what is known of a template, after a hot reload: its instances may fit again.
    pub fn update_template(&mut self, facts: TemplateFacts) {
        for record in self.instances.values_mut() {
            let is_misfit = matches!(record.blocked, Some(Blocked::Misfit(_)));
            if is_misfit && record.row.template.eq_ignore_ascii_case(&facts.name) {
                record.blocked = None;
            }
        }
        match self.templates.iter_mut().find(|known| known.name.eq_ignore_ascii_case(&facts.name)) {
            Some(known) => *known = facts,
            None => self.templates.push(facts),
        }
    }

    /// Takes in the measurements of one second.
    pub fn record_sample(&mut self, now: Instant, sample: &NodeSample) {
        self.capacity.record_sample(now, sample);
        self.retry_room_waiters(now);
    }

    /// Suspends instances that have been empty for `suspend_after`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.stopping.is_some() {
            return;
        }
        let after = self.config.suspend_after;
        let is_due = |&&(since, _): &&(Instant, WorldId)| now.since(since) >= after;
        let due: Vec<WorldId> = self
            .empty
            .iter()
            .take_while(is_due)
            .map(|&(_, world)| world)
            .filter(|world| self.is_evictable(now, *world))
            .collect();
        for batch in due.chunks(SUSPEND_BATCH_MAX) {
            if self.n_suspending >= SUSPEND_JOBS_MAX {
                break;
            }
            self.begin_suspend(batch.to_vec());
        }
    }

    /// Takes in a message of the gateway.
    pub fn handle_notice(&mut self, now: Instant, notice: GatewayNotice) {
        match notice {
            GatewayNotice::Admission { request, outcome } => self.on_admission(now, request, outcome),
            GatewayNotice::Occupants { world, n } => self.set_occupants(now, world, n),
        }
    }

    /// Refuses waiting and later requests, and suspends every instance in memory, occupied or not.
    pub fn begin_stop(&mut self) {
        if self.stopping.replace(STOP_TRIES_MAX).is_some() {
            return;
        }
        for waiter in std::mem::take(&mut self.room_waiters) {
            self.refuse(waiter.request, InstanceRefusal::Stopping);
        }
        self.suspend_all();
    }

    /// True once the node may stop: no job is under way, and no instance is in memory or cannot be saved.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        let is_over = self.stopping == Some(0) || self.n_in_memory() == 0;
        self.stopping.is_some() && self.under_way.is_empty() && is_over
    }

    /// The next job.
    pub fn poll_job(&mut self) -> Option<(JobId, Job)> {
        self.jobs.pop_front()
    }

    /// The next order to the gateway.
    pub fn poll_order(&mut self) -> Option<GatewayOrder> {
        self.orders.pop_front()
    }

    /// The next reply.
    pub fn poll_reply(&mut self) -> Option<(RequestId, Result<InstanceReply, InstanceRefusal>)> {
        self.replies.pop_front()
    }

    /// Every instance, in order of creation.
    pub fn summaries(&self) -> impl Iterator<Item = InstanceSummary> {
        self.instances.iter().map(|(&world, record)| record.summary(world))
    }

    /// One instance.
    ///
    /// # Errors
    /// [`InstanceRefusal::NoInstance`].
    pub fn summary(&self, id: Uuid) -> Result<InstanceSummary, InstanceRefusal> {
        let world = self.world_of(id)?;
        Ok(self.record(world).summary(world))
    }

    /// Existing instances, and those of them in memory or on their way in or out.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.instances.len(), self.n_in_memory())
    }

    /// Asserts what the phases, indexes and sets say of each other. The simulator calls it after each input.
    ///
    /// # Panics
    /// If they disagree.
    pub fn assert_invariants(&self) {
        assert_eq!(self.by_id.len(), self.instances.len(), "one id for each instance");
        assert!(self.n_in_memory() <= self.config.active_max, "more instances in memory than allowed");
        let mut local_ids = BTreeMap::new();
        for (world, record) in &self.instances {
            assert_eq!(self.by_id.get(&record.row.id), Some(world), "the id names the world");
            let is_under_way = self.under_way.values().flatten().any(|busy| busy == world);
            assert_eq!(record.phase.is_settled(), !is_under_way, "world {}: one job unless settled", world.0);
            assert!(
                !record.phase.is_settled() || record.waiting.is_empty(),
                "a settled instance has no queue"
            );
            if let Some(ids) = record.phase.local_ids() {
                local_ids.insert(ids.start, ids.end);
            }
            if let InstancePhase::Active(active) = &record.phase {
                let entry = active.empty_since.map(|since| (since, *world));
                assert_eq!(active.is_empty(), entry.is_some(), "world {}: empty since", world.0);
                assert!(
                    entry.is_none_or(|entry| self.empty.contains(&entry)),
                    "an empty world is a candidate"
                );
            }
        }
        assert_eq!(local_ids, self.local_ids, "local ids belong to worlds in memory");
        let disjoint =
            self.local_ids.iter().zip(self.local_ids.keys().skip(1)).all(|((_, end), next)| end <= next);
        assert!(disjoint, "a local id has one world");
        let is_active = |world| matches!(self.record(world).phase, InstancePhase::Active(_));
        assert!(self.empty.iter().all(|&(_, world)| is_active(world)), "only active worlds are candidates");
    }

    /// Capacity of the node, for metrics.
    #[must_use]
    pub const fn capacity(&self) -> &WorldCapacity {
        &self.capacity
    }

    fn n_in_memory(&self) -> usize {
        self.local_ids.len()
    }

    fn on_admission(&mut self, now: Instant, request: RequestId, outcome: Result<u32, Arc<str>>) {
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
            Ok(occupants) => {
                active.is_visited = true;
                active.spared_until = Instant::ZERO;
                self.set_occupants(now, world, occupants);
                self.reply(request, InstanceReply::Admitted(id));
            }
            Err(reason) => {
                self.update_empty(now, world);
                self.refuse(request, InstanceRefusal::Passage(reason));
            }
        }
        self.retry_room_waiters(now);
    }

    fn set_occupants(&mut self, now: Instant, world: WorldId, n: u32) {
        let Some(record) = self.instances.get_mut(&world) else { return };
        let is_active = matches!(record.phase, InstancePhase::Active(_));
        let Some(active) = record.phase.active_mut() else { return };
        let has_emptied = active.occupants > 0 && n == 0;
        active.occupants = n;
        self.update_empty(now, world);
        if has_emptied && is_active {
            self.push_job(Job::SaveState(world));
            self.retry_room_waiters(now);
        }
    }

    /// Enters an active world into the set of empty ones, or takes it out.
    fn update_empty(&mut self, now: Instant, world: WorldId) {
        let Some(record) = self.instances.get_mut(&world) else { return };
        let is_active = matches!(record.phase, InstancePhase::Active(_));
        let Some(active) = record.phase.active_mut() else { return };
        let before = active.empty_since;
        active.empty_since = active.is_empty().then(|| before.unwrap_or(now));
        let after = active.empty_since.filter(|_| is_active);
        if let Some(since) = before {
            self.empty.remove(&(since, world));
        }
        self.empty.extend(after.map(|since| (since, world)));
    }

    fn is_evictable(&self, now: Instant, world: WorldId) -> bool {
        match &self.record(world).phase {
            InstancePhase::Active(active) => active.is_evictable(now),
            _ => false,
        }
    }

    /// Marks active worlds as suspending and orders the job.
    fn begin_suspend(&mut self, worlds: Vec<WorldId>) {
        assert!(
            !worlds.is_empty() && worlds.len() <= SUSPEND_BATCH_MAX,
            "{} worlds to suspend",
            worlds.len()
        );
        for &world in &worlds {
            let InstancePhase::Active(active) = &self.record(world).phase else {
                panic!("world {}: only an active instance is suspended", world.0);
            };
            let active = active.clone();
            if let Some(since) = active.empty_since {
                self.empty.remove(&(since, world));
            }
            self.set_phase(world, InstancePhase::Suspending(active));
        }
        self.n_suspending += 1;
        let job = Job::Suspend(worlds.clone());
        self.push_job_for(worlds, job);
    }

    fn suspend_all(&mut self) {
        let is_active = |(world, record): (&WorldId, &InstanceRecord)| {
            matches!(record.phase, InstancePhase::Active(_)).then_some(*world)
        };
        let active: Vec<WorldId> = self.instances.iter().filter_map(is_active).collect();
        for batch in active.chunks(SUSPEND_BATCH_MAX) {
            self.begin_suspend(batch.to_vec());
        }
    }

    fn insert(&mut self, row: InstanceRow, phase: InstancePhase) -> WorldId {
        let world = WorldId(self.next_world);
        self.next_world += 1;
        let former = self.by_id.insert(row.id, world);
        assert!(former.is_none(), "an instance id stands for one world");
        let record = InstanceRecord { row, phase, blocked: None, failure: None, waiting: VecDeque::new() };
        self.instances.insert(world, record);
        world
    }

    /// Deletes a record; requests that wait for it are refused.
    fn remove(&mut self, world: WorldId, why: &InstanceRefusal) {
        let record = self.instances.remove(&world).expect("a removed instance exists");
        self.by_id.remove(&record.row.id);
        for (request, ask) in record.waiting {
            match ask {
                Ask::End => self.reply(request, InstanceReply::Ended(record.row.id)),
                _ => self.refuse(request, why.clone()),
            }
        }
    }

    fn set_phase(&mut self, world: WorldId, phase: InstancePhase) {
        let record = self.record_mut(world);
        record.phase.assert_transition(world, &phase);
        record.phase = phase;
    }

    fn record(&self, world: WorldId) -> &InstanceRecord {
        self.instances.get(&world).expect("the world of a known instance")
    }

    fn record_mut(&mut self, world: WorldId) -> &mut InstanceRecord {
        self.instances.get_mut(&world).expect("the world of a known instance")
    }

    fn world_of(&self, id: Uuid) -> Result<WorldId, InstanceRefusal> {
        self.by_id.get(&id).copied().ok_or(InstanceRefusal::NoInstance(id))
    }

    fn template(&self, name: &str) -> Result<&TemplateFacts, InstanceRefusal> {
        let found = self.templates.iter().find(|known| known.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let known: Vec<&str> = self.templates.iter().map(|known| &*known.name).collect();
            InstanceRefusal::NoTemplate { wanted: name.to_owned(), known: known.join(", ") }
        })
    }

    fn push_job(&mut self, job: Job) {
        let id = JobId(self.next_job);
        self.next_job += 1;
        self.jobs.push_back((id, job));
    }

    /// Orders a job with an outcome.
    fn push_job_for(&mut self, worlds: Vec<WorldId>, job: Job) {
        self.under_way.insert(JobId(self.next_job), worlds);
        self.push_job(job);
    }

    fn reply(&mut self, request: RequestId, reply: InstanceReply) {
        self.replies.push_back((request, Ok(reply)));
    }

    fn refuse(&mut self, request: RequestId, why: InstanceRefusal) {
        if let InstanceRefusal::Shortage(Shortage::Memory) = why {
            self.capacity.note_refused_for_memory();
        }
        self.replies.push_back((request, Err(why)));
    }
}

impl InstanceRecord {
    fn summary(&self, world: WorldId) -> InstanceSummary {
        let active: Option<&ActiveInstance> = match &self.phase {
            InstancePhase::Active(active) | InstancePhase::Suspending(active) => Some(active),
            _ => None,
        };
        InstanceSummary {
            row: self.row.clone(),
            world,
            phase: self.phase.as_str(),
            occupants: active.map_or(0, |active| active.occupants),
            blocked: self
                .blocked
                .as_ref()
                .map(|(Blocked::Damaged(why) | Blocked::Misfit(why))| Arc::clone(why)),
        }
    }
}

/// A range that is free.
fn gap(taken: &BTreeMap<u32, u32>, from: u32, end: u32, n: u32) -> Option<Range<u32>> {
    let mut first = from;
    for (&start, &stop) in taken {
        if stop <= first {
            continue;
        }
        if first.checked_add(n).is_some_and(|last| last <= start) {
            break;
        }
        first = stop;
    }
    first.checked_add(n).filter(|&last| last <= end).map(|last| first..last)
}
