//! Registry of instances: existence, owners, lifecycle, placement in memory, quotas and admission of visitors.
//!
//! A sans-IO state machine with one owner. Inputs: [`Registry::handle_request`], [`Registry::handle_outcome`],
//! [`Registry::handle_notice`], [`Registry::record_sample`] and, every [`Registry::TIMEOUT_PERIOD`], [`Registry::handle_timeout`].
//! Outputs, to be drained after each input: [`Registry::poll_job`] (work that takes long), [`Registry::poll_order`] (for the gateway) and
//! [`Registry::poll_reply`] (exactly one per request).
//!
//! The registry holds no world, database row or connection: jobs and notices refer to worlds by id. The table in `phase.rs` is the lifecycle of an
//! instance; `intake.rs` accepts requests and queues those that need room; `requests.rs` has the effect of a request in each phase; `room.rs`
//! reserves memory and slots; `outcomes.rs` handles the ends of jobs; `occupancy.rs` tracks visitors and saves worlds that they have left;
//! `expiry.rs` ends unvisited instances of portals; `stop.rs` stops the node.
//!
//! The gateway owns the occupancy of worlds: it answers each order to admit a visitor, and reports each change of a world's occupant count. Between
//! order and answer the world counts as occupied, so that it is never suspended under a visitor. A count taken before the last admission into its
//! world is ignored, because it does not include that visitor.

mod expiry;
mod intake;
mod invariants;
mod message;
mod occupancy;
mod outcomes;
mod phase;
mod requests;
mod room;
mod stop;
#[cfg(test)]
mod tests;

pub use intake::ROOM_WAITERS_MAX;
pub use link::{
    AdmissionNumber, GatewayNotice, GatewayOrder, InstanceRefusal, InstanceReply, InstanceRequest, Maker,
    NewInstance, OccupantCount, RequestId, Visitor,
};
pub use message::{InstanceRow, Job, JobId, JobOutcome, StartFailure, SuspendOutcome, SuspendTarget};

use crate::capacity::{NodeSample, Shortage, WorldCapacity};
use crate::local_ids::{LocalIdPool, LocalIdSpace};
use crate::world_numbers::InstanceWorlds;
use ids::{Instant, Uuid, WorldId};
use intake::RoomWaiter;
use link::HostNumber;
use phase::{ActiveInstance, InstancePhase};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use stop::StopProgress;

/// Maximum number of requests that wait for one instance to settle; further ones are refused as [`InstanceRefusal::Busy`].
pub const WAITING_MAX: usize = 256;
/// Maximum number of instances suspended in one transaction: bounds the time for which the journal waits for the transaction.
pub const SUSPEND_BATCH_MAX: usize = 8;
/// Maximum number of concurrent suspension jobs for idle instances.
const SUSPEND_JOBS_MAX: usize = 2;
/// Limits and periods.
#[derive(Clone, Copy, Debug)]
pub struct RegistryConfig {
    /// Maximum number of existing instances.
    pub instances_max: usize,
    /// Maximum number of instances that portals created.
    pub portal_max: usize,
    /// Maximum number of instances that portals created for one user; 0 is unlimited.
    pub per_user_max: usize,
    /// Maximum number of instances in memory.
    pub active_max: usize,
    /// Time without occupants until an instance is suspended.
    pub suspend_after: Duration,
    /// Host of the instances; its number is part of each world's number.
    pub host: HostNumber,
    /// Local ids available for instances.
    pub local_ids: LocalIdSpace,
    /// Seconds since 1970 at [`Instant::ZERO`].
    pub unix_start_s: i64,
}

/// Properties of a template that admission depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateFacts {
    /// Name.
    pub name: Arc<str>,
    /// Local ids of one world: static objects and avatars.
    pub n_local_ids: u32,
    /// NPCs of one world.
    pub n_npcs: usize,
    /// Time without visitors after which an instance that a portal created ends; `None` is never.
    pub keep: Option<Duration>,
}

/// Totals since the start of the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegistryCounters {
    /// Requests refused for each [`Shortage`], in the order of [`Shortage::ALL`].
    pub refused: [u64; Shortage::ALL.len()],
    /// Instances suspended to make room for another one.
    pub evicted: u64,
    /// Instances suspended, for any reason.
    pub suspended: u64,
    /// Instances of portals that ended for lack of visits.
    pub expired: u64,
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
    /// Start of the phase; [`Instant::ZERO`] for a phase since the start of the node. A failed attempt to leave a phase does not restart the phase.
    pub since: Instant,
    /// Occupants, as last reported by the gateway.
    pub occupants: u32,
    /// Reason why the instance cannot be resumed.
    pub blocked: Option<Arc<str>>,
}

/// Reason why an instance cannot be resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Blocked {
    /// The saved state is damaged. Lasts until the node restarts.
    Damaged(Arc<str>),
    /// The saved state does not fit the template. Lasts until the template changes.
    Misfit(Arc<str>),
}

/// One instance.
#[derive(Debug)]
struct InstanceRecord {
    row: InstanceRow,
    phase: InstancePhase,
    since: Instant,
    /// The previous settled phase: true if it was `Active`, and its start.
    former: Option<(bool, Instant)>,
    /// Stored value of [`InstanceRow::visited_s`].
    noted_s: Option<i64>,
    blocked: Option<Blocked>,
    /// Reason for the deletion after a failed first start.
    failure: Option<Box<InstanceRefusal>>,
    /// Requests that wait until the instance settles, in order of arrival. Without memory of its own while it is settled.
    waiting: VecDeque<(RequestId, Ask)>,
}

/// Request whose instance has been resolved.
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
    /// Converts back into a request for this instance, for a retry from the beginning.
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
    /// Local ids of the worlds in memory.
    local_ids: LocalIdPool,
    worlds: InstanceWorlds,
    /// Empty active instances, ordered by the time since which they are empty.
    empty: BTreeSet<(Instant, WorldId)>,
    room_waiters: VecDeque<RoomWaiter>,
    capacity: WorldCapacity,
    admissions: BTreeMap<RequestId, WorldId>,
    /// Dismissals without an answer from the gateway.
    dismissals: BTreeSet<RequestId>,
    /// Unfinished jobs that determine the phase of instances, with their worlds.
    under_way: BTreeMap<JobId, Vec<WorldId>>,
    /// Unfinished saves of worlds that are being stepped.
    saves: BTreeMap<JobId, WorldId>,
    /// Last visits that a job is writing.
    noting: Option<(JobId, Vec<(Uuid, i64)>)>,
    n_suspending: usize,
    next_job: u64,
    next_sweep: Instant,
    /// Number of template changes so far.
    revision: u64,
    /// Progress of the stop; `None` until the node stops.
    stopping: Option<StopProgress>,
    counters: RegistryCounters,
    /// Time of the input that is being handled.
    now: Instant,
    jobs: VecDeque<(JobId, Job)>,
    orders: VecDeque<GatewayOrder>,
    replies: VecDeque<(RequestId, Result<InstanceReply, InstanceRefusal>)>,
}

impl Registry {
    /// Period of [`Self::handle_timeout`].
    pub const TIMEOUT_PERIOD: Duration = Duration::from_millis(100);

    /// Creates a registry without instances.
    #[must_use]
    pub fn new(config: RegistryConfig, templates: Vec<TemplateFacts>) -> Self {
        Self {
            templates,
            instances: BTreeMap::new(),
            by_id: BTreeMap::new(),
            local_ids: LocalIdPool::new(config.local_ids),
            worlds: InstanceWorlds::new(config.host),
            empty: BTreeSet::new(),
            room_waiters: VecDeque::new(),
            capacity: WorldCapacity::default(),
            admissions: BTreeMap::new(),
            dismissals: BTreeSet::new(),
            under_way: BTreeMap::new(),
            saves: BTreeMap::new(),
            noting: None,
            n_suspending: 0,
            next_job: 0,
            next_sweep: Instant::ZERO,
            revision: 0,
            stopping: None,
            counters: RegistryCounters::default(),
            now: Instant::ZERO,
            jobs: VecDeque::new(),
            orders: VecDeque::new(),
            replies: VecDeque::new(),
            config,
        }
    }

    /// Adds a stored instance as suspended, at the start of the node. `damage` is the reason why its state cannot be read. `instances_max` does not
    /// apply: a lowered limit deletes nothing.
    pub fn load(&mut self, row: InstanceRow, damage: Option<Arc<str>>) {
        let template = self.template(&row.template).map(|template| Arc::clone(&template.name));
        let row = InstanceRow { template: template.unwrap_or_else(|_| Arc::clone(&row.template)), ..row };
        let world = self.insert(row, InstancePhase::Suspended);
        let record = self.record_mut(world);
        (record.since, record.blocked) = (Instant::ZERO, damage.map(Blocked::Damaged));
    }

    /// Replaces the facts of a template after a hot reload: its blocked instances may fit again.
    pub fn update_template(&mut self, facts: TemplateFacts) {
        self.revision += 1;
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

    /// Handles the measurements of one second.
    pub fn record_sample(&mut self, now: Instant, sample: &NodeSample) {
        self.now = now;
        self.capacity.record_sample(now, sample);
        self.retry_room_waiters(now);
    }

    /// Suspends instances that have been empty for `suspend_after`, saves worlds that visitors have left, and ends expired instances.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        if self.stopping.is_some() {
            return self.go_on_stopping();
        }
        self.suspend_idle(now);
        self.save_left(now);
        if now >= self.next_sweep {
            self.next_sweep = now + Self::SWEEP_PERIOD;
            self.sweep();
        }
    }

    fn suspend_idle(&mut self, now: Instant) {
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

    /// Handles a message of the gateway.
    pub fn handle_notice(&mut self, now: Instant, notice: GatewayNotice) {
        self.now = now;
        match notice {
            GatewayNotice::Admission { request, outcome } => self.on_admission(now, request, outcome),
            GatewayNotice::Dismissal { request, outcome } => self.on_dismissal(request, outcome),
            GatewayNotice::Occupants { world, count } => self.on_count(now, world, count),
        }
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

    /// Number of existing instances, and number of those that are in memory, starting or suspending.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.instances.len(), self.n_in_memory())
    }

    /// Complete worlds in memory, including those being suspended.
    pub fn worlds_in_memory(&self) -> impl Iterator<Item = WorldId> {
        let is_complete = |(world, record): (&WorldId, &InstanceRecord)| {
            matches!(record.phase, InstancePhase::Active(_) | InstancePhase::Suspending(_)).then_some(*world)
        };
        self.instances.iter().filter_map(is_complete)
    }

    /// True if slots or memory do not suffice for another world, so that the next start evicts an instance. An up-to-date occupancy yields more
    /// candidates for it.
    #[must_use]
    pub fn lacks_room(&self) -> bool {
        self.n_in_memory() >= self.config.active_max || !self.capacity.has_memory()
    }

    /// Totals, for metrics.
    #[must_use]
    pub const fn counters(&self) -> RegistryCounters {
        self.counters
    }

    /// Capacity of the node, for metrics.
    #[must_use]
    pub const fn capacity(&self) -> &WorldCapacity {
        &self.capacity
    }

    fn n_in_memory(&self) -> usize {
        self.local_ids.n_used()
    }

    /// Marks active worlds as suspending and issues the job.
    fn begin_suspend(&mut self, worlds: Vec<WorldId>) {
        assert!(
            !worlds.is_empty() && worlds.len() <= SUSPEND_BATCH_MAX,
            "{} worlds to suspend",
            worlds.len()
        );
        let mut targets = Vec::with_capacity(worlds.len());
        for &world in &worlds {
            let InstancePhase::Active(active) = &self.record(world).phase else {
                panic!("world {}: only an active instance is suspended", world.0);
            };
            let active = active.clone();
            targets.push(SuspendTarget { world, is_changed: active.is_changed() });
            if let Some(since) = active.empty_since {
                self.empty.remove(&(since, world));
            }
            self.set_phase(world, InstancePhase::Suspending(active));
        }
        self.n_suspending += 1;
        self.push_job_for(worlds, Job::Suspend(targets));
    }

    fn insert(&mut self, row: InstanceRow, phase: InstancePhase) -> WorldId {
        let world = self.worlds.deal(|world| self.instances.contains_key(&world));
        let former = self.by_id.insert(row.id, world);
        assert!(former.is_none(), "an instance id stands for one world");
        let record = InstanceRecord {
            noted_s: row.visited_s,
            row,
            phase,
            since: self.now,
            former: None,
            blocked: None,
            failure: None,
            waiting: VecDeque::new(),
        };
        self.instances.insert(world, record);
        world
    }

    /// Deletes a record. The first waiting request to end the instance is granted, all other waiting requests are refused.
    fn remove(&mut self, world: WorldId, why: &InstanceRefusal) {
        let record = self.instances.remove(&world).expect("a removed instance exists");
        self.by_id.remove(&record.row.id);
        let mut is_ended = false;
        for (request, ask) in record.waiting {
            match ask {
                Ask::End if !std::mem::replace(&mut is_ended, true) => {
                    self.reply(request, InstanceReply::Ended(record.row.id));
                }
                _ => self.refuse(request, why.clone()),
            }
        }
    }

    fn set_phase(&mut self, world: WorldId, phase: InstancePhase) {
        let now = self.now;
        let record = self.record_mut(world);
        record.phase.assert_transition(world, &phase);
        if record.phase.is_settled() {
            record.former = Some((record.phase.is_active(), record.since));
        }
        let is_return =
            |(was_active, _): &(bool, Instant)| phase.is_settled() && phase.is_active() == *was_active;
        record.since = record.former.filter(is_return).map_or(now, |(_, since)| since);
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

    fn push_job(&mut self, job: Job) -> JobId {
        let id = JobId(self.next_job);
        self.next_job += 1;
        self.jobs.push_back((id, job));
        id
    }

    /// Issues a job that reports an outcome.
    fn push_job_for(&mut self, worlds: Vec<WorldId>, job: Job) {
        self.under_way.insert(JobId(self.next_job), worlds);
        self.push_job(job);
    }

    fn reply(&mut self, request: RequestId, reply: InstanceReply) {
        self.replies.push_back((request, Ok(reply)));
    }

    fn refuse(&mut self, request: RequestId, why: InstanceRefusal) {
        if let InstanceRefusal::Shortage(shortage) = why {
            self.counters.refused[shortage as usize] += 1;
            if shortage == Shortage::Memory {
                self.capacity.note_refused_for_memory();
            }
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
            since: self.since,
            occupants: active.map_or(0, |active| active.occupants),
            blocked: self
                .blocked
                .as_ref()
                .map(|(Blocked::Damaged(why) | Blocked::Misfit(why))| Arc::clone(why)),
        }
    }
}
