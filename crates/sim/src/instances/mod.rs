//! Instances on several hosts and virtual time: coordinator with its registry, hub and hosts as a server runs them, with models of the store and
//! the shards.
//!
//! Users log in, walk into portals, are sent and sent back; programs create, suspend, resume and end; worlds panic, the store refuses writes,
//! and the node is killed with jobs under way and starts again. Meanwhile worlds that are stepped move between hosts at random ticks. After each
//! input the registry's own invariants are asserted. Each world is compared in every tick with one that stays, and its frames are numbered
//! without a gap. The model knows the truth: rows that were acknowledged, the owner of each instance, the number of visits that its state must
//! contain, and that state as the world that stays has it.
//! [Sabotaged](InstanceSabotage) models show that a run notices.

mod acts;
mod constructions;
mod effects;
mod hosted;
mod stepping;
mod stored;

use crate::host::CastLibrary;
use crate::sabotage::Sabotage;
use crate::streams::{Purpose, stream};
use crate::village;
use bots::rng::Rng;
use constructions::ConstructionModel;
use gateway::hub::{Hub, HubConfig, Login};
use gateway::mail::{Closed, FromShard, Request, ShardIndex, Spot, ToShard};
use gateway::places::{EncodedGround, PlaceId, PlaceSettings, Places};
use glam::Vec3;
use host::coordinator::{Admitted, Coordinator, CoordinatorOutput, Granted, RequestRefusal};
use host::local_ids::LocalIdSpace;
use host::registry::{
    GatewayOrder, InstanceReply, InstanceRequest, InstanceRow, Job, JobId, JobOutcome, NewInstance, Registry,
    RegistryConfig, RequestId, SuspendTarget, TemplateFacts, Visitor,
};
use hosted::PoolModel;
use ids::{AgentId, Epoch, Incarnation, Instant, SessionKey, Tick, Uuid, WorldId};
use link::{
    CircuitKey, EntryRefusal, GroundSpec, HostNumber, Portal, PortalTo, SHARED_WORLDS_MAX, Terrain,
    TravelOrder, WorldSpec,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stored::StoreModel;
use telemetry::Metrics;
use workplace::Clock;
use workplace::instances::{InstanceWorkplace, JOURNAL_PERIOD, JobReports, Template, WorkplaceBackend};
use world::NpcCast;

const TURNS: u32 = 2_000;
/// A turn takes less than this, milliseconds.
const TURN_MS: u64 = 300;
const TURN_MAX: Duration = Duration::from_millis(TURN_MS);
const USERS: u128 = 12;
const INSTANCES_MAX: usize = 9;
const ACTIVE_MAX: usize = 4;
const MAX_AVATARS: u32 = 3;
const SUSPEND_AFTER: Duration = Duration::from_secs(5);
/// Instances that portals may create, and the time for which one without visitors is kept.
const PORTAL_MAX: usize = 7;
const KEEP: Duration = Duration::from_secs(20);
const UNIX_START_S: i64 = 1_700_000_000;
/// Time for everything to come to rest: teleports are given up, worlds restart, instances are suspended.
const REST: Duration = Duration::from_secs(120);
/// Local ids for eight worlds in use or at rest, so that a start is refused now and then.
const LOCAL_IDS: LocalIdSpace = LocalIdSpace { first: 1 << 31, end: (1 << 31) + 800, block: 200 };
const N_REGIONS: u32 = 2;
const TEMPLATES: [(&str, u32); 2] = [(VILLAGE, 256), ("Plain", 512)];
/// The template with NPCs.
const VILLAGE: &str = "Village";

/// From 0 up to `sides`.
fn roll(rng: &mut Rng, sides: u64) -> u64 {
    rng.next() % sides
}

fn entropy_of(seed: u64) -> Box<dyn FnMut() -> [u8; 16] + Send> {
    let mut rng = stream(seed, Purpose::Entropy, 0);
    Box::new(move || std::array::from_fn(|_| rng.next() as u8))
}

/// Fault of a model, to show that a run notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceSabotage {
    /// The gateway counts no visitor.
    BlindCensus,
    /// The store acknowledges rows that it does not write.
    LostRow,
    /// The store acknowledges states that it does not write.
    LostState,
    /// The store acknowledges progress that it does not write.
    LostJournal,
    /// Progress is not journalled.
    LateJournal,
    /// A saved state lacks the last step of its world.
    StaleImage,
    /// The store writes rows without their owners.
    LostOwner,
    /// A move leaves something out, or repeats it.
    Move(Sabotage),
}

/// A run of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceScenario {
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// Hosts that step the worlds, 1 or more.
    pub hosts: u16,
    /// True if worlds move between the hosts.
    pub moves: bool,
    /// A defect, for tests of the checks.
    pub sabotage: Option<InstanceSabotage>,
}

/// Figures of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstanceReport {
    /// Replies to requests.
    pub replies: u64,
    /// Suspended worlds.
    pub suspended: u64,
    /// Worlds resumed from a saved state.
    pub resumed: u64,
    /// Visitors admitted.
    pub admitted: u64,
    /// Instances that expired.
    pub expired: u64,
    /// Moves of worlds between hosts.
    pub moves: u64,
    /// Panics of worlds.
    pub panics: u64,
    /// Kills of the node.
    pub kills: u64,
    /// Changes of progress that were journalled.
    pub journalled: u64,
    /// Steps of worlds that were compared with worlds that stay.
    pub compared: u64,
    /// Hash of the states in all frames. Moves do not change it.
    pub frames_hash: u64,
}

/// Things that survive a kill, and configuration.
struct Surroundings {
    store: Arc<StoreModel>,
    grounds: Vec<Arc<EncodedGround>>,
    /// Fighting NPCs and a mission, in the first template.
    cast: Arc<NpcCast>,
    casts: Arc<CastLibrary>,
    /// The present, nanoseconds.
    time: Arc<AtomicU64>,
    clock: Clock,
}

/// Ends of jobs on their way to the coordinator.
#[derive(Clone, Default)]
struct Reports {
    waiting: Arc<Mutex<VecDeque<(JobId, JobOutcome)>>>,
}

impl Reports {
    fn sink(&self) -> JobReports {
        let reports = self.clone();
        Arc::new(move |id, outcome| reports.waiting().push_back((id, outcome)))
    }

    fn next(&self) -> Option<(JobId, JobOutcome)> {
        self.waiting().pop_front()
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<(JobId, JobOutcome)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One life of the node: gateway, coordinator, workplace and hosts.
struct Process {
    hub: Hub,
    coordinator: Coordinator,
    pool: PoolModel,
    workplace: Arc<InstanceWorkplace>,
    constructions: Arc<ConstructionModel>,
    reports: Reports,
    /// Jobs that wait for a thread, by the time at which they are carried out.
    jobs: BTreeMap<(Instant, JobId), Job>,
    /// Requests of programs without a reply.
    asked: BTreeSet<RequestId>,
    /// Travel orders without an end.
    travelling: Vec<TravelOrder>,
    is_stopped: bool,
    /// Mail on its way to the shard, in order.
    mail: VecDeque<(Instant, ToShard)>,
    /// Circuits whose avatars have arrived, as the shard knows them.
    standing: BTreeMap<AgentId, (CircuitKey, WorldId)>,
    agents: BTreeMap<CircuitKey, AgentId>,
    next_journal: Instant,
    next_request: u64,
    /// Number of the next command.
    next_command: u64,
}

struct InstanceRun {
    scenario: InstanceScenario,
    rng: Rng,
    /// Chance of moves, apart from all else, so that a run without moves is the same otherwise.
    moves_rng: Rng,
    now: Instant,
    tick: Tick,
    /// Since when the store has taken each write.
    writable_since: Instant,
    around: Surroundings,
    /// Visits of each instance since its creation. A kill takes those back that were not saved.
    visits: BTreeMap<Uuid, u64>,
    /// Owner of each instance.
    owners: BTreeMap<Uuid, Option<AgentId>>,
    /// Time at which each instance had visitors last, since the last kill.
    seen: BTreeMap<Uuid, Instant>,
    /// Requested to end.
    ending: BTreeSet<Uuid>,
    is_stopping: bool,
    /// Acknowledged and not requested to end.
    acknowledged: BTreeSet<Uuid>,
    /// Acknowledged as ended.
    ended: BTreeSet<Uuid>,
    process: Process,
    report: InstanceReport,
}

/// A shared world.
fn region_spec(n: u32, ground: &EncodedGround, portals: Arc<[Portal]>) -> WorldSpec {
    WorldSpec {
        world: WorldId(n + 1),
        epoch: Epoch(0),
        is_shared: true,
        name: format!("Region {n}"),
        max_avatars: 100,
        max_objects: 0,
        hz: 20,
        local_ids: 1 + n * 1_000..(n + 1) * 1_000,
        ground: Arc::clone(ground.spec()),
        portals,
        seed: 0,
        cache_id: Uuid::nil(),
    }
}

fn agent(user: u128) -> AgentId {
    AgentId(Uuid::from_u128(user + 1))
}

impl InstanceScenario {
    /// Runs it to its end.
    ///
    /// # Panics
    /// With the first check that fails. The seed repeats it.
    #[must_use]
    pub fn run(self) -> InstanceReport {
        let mut run = InstanceRun::new(self);
        (0..USERS).for_each(|user| run.log_in(user));
        for _ in 0..TURNS {
            run.act();
            run.drain();
            let time = run.ms(TURN_MS);
            run.pass(time);
        }
        if self.seed.is_multiple_of(2) {
            run.rest();
            run.assert_at_rest();
        }
        run.stop();
        run.report
    }
}

/// The command that repeats the run.
impl fmt::Display for InstanceScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, hosts, moves, .. } = self;
        let moves = if *moves { " --moves" } else { "" };
        write!(f, "cargo run -p sim -- --instances --seed {seed} --hosts {hosts}{moves}")
    }
}

impl fmt::Display for InstanceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            replies,
            suspended,
            resumed,
            admitted,
            expired,
            moves,
            panics,
            kills,
            journalled,
            compared,
            frames_hash,
        } = self;
        write!(
            f,
            "{replies} requests to the registry, {admitted} visitors admitted, {suspended} worlds suspended, {resumed} resumed, \
             {expired} expired, {moves} moved, {panics} panics, {kills} kills, {journalled} changes of progress journalled, {compared} steps compared, frames {frames_hash:016x}"
        )
    }
}
