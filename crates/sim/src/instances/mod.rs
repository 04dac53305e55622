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
mod effects;
mod stepping;

use crate::host::{CastLibrary, Host};
use crate::reference::WorldReference;
use crate::sabotage::Sabotage;
use crate::streams::{Purpose, stream};
use crate::workload::village;
use bots::rng::Rng;
use gateway::hub::{Hub, HubConfig, Login};
use gateway::mail::{Closed, FromShard, Request, ShardIndex, Spot, ToShard};
use gateway::places::{EncodedGround, PlaceId, PlaceSettings, Places, Scene};
use glam::Vec3;
use host::coordinator::{Admitted, Coordinator, CoordinatorOutput, Granted, RequestRefusal};
use host::local_ids::LocalIdSpace;
use host::registry::{
    GatewayOrder, InstanceReply, InstanceRequest, InstanceRow, Job, JobId, JobOutcome, NewInstance, Registry,
    RegistryConfig, RequestId, StartFailure, SuspendOutcome, SuspendTarget, TemplateFacts, Visitor,
};
use ids::{AgentId, Epoch, Incarnation, Instant, SessionKey, Tick, Uuid, WorldId};
use link::{
    CircuitKey, EntryRefusal, GroundSpec, HostNumber, Portal, PortalTo, SHARED_WORLDS_MAX, Terrain,
    TravelOrder, WorldSpec,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use world::NpcCast;

const TURNS: u32 = 2_000;
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
    /// Steps of worlds that were compared with worlds that stay.
    pub compared: u64,
    /// Hash of the states in all frames. Moves do not change it.
    pub frames_hash: u64,
}

/// The durable part of a node. It survives a kill.
#[derive(Default)]
struct StoreModel {
    rows: BTreeMap<Uuid, InstanceRow>,
    /// Visits in the saved state.
    visits: BTreeMap<Uuid, u64>,
    /// Images of worlds.
    images: BTreeMap<Uuid, Vec<u8>>,
    /// Rises with every start of a world, which makes its first epoch.
    next_epoch: u32,
    refuses: bool,
}

/// A world that is stepped on one of the hosts, or is down after a panic.
struct InstanceWorld {
    id: Uuid,
    visits: u64,
    /// Index of its host.
    host: usize,
    /// The world that it is compared with; none while it recovers from a panic.
    reference: Option<WorldReference>,
    /// Epoch and number of its last frame.
    last_frame: Option<(Epoch, u64)>,
    /// It panics in its next step.
    is_to_panic: bool,
}

/// One life of the node: gateway, coordinator and hosts.
struct Process {
    hub: Hub,
    coordinator: Coordinator,
    hosts: Vec<Host>,
    worlds: BTreeMap<WorldId, InstanceWorld>,
    /// Jobs under way, by the time of their end.
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
    store: StoreModel,
    /// Visits of each instance since its creation. A kill takes those back that were not saved.
    visits: BTreeMap<Uuid, u64>,
    /// Owner of each instance.
    owners: BTreeMap<Uuid, Option<AgentId>>,
    /// Saved state that each instance must have, by the worlds that stay.
    images: BTreeMap<Uuid, Vec<u8>>,
    /// Time at which each instance had visitors last, since the last kill.
    seen: BTreeMap<Uuid, Instant>,
    /// Requested to end.
    ending: BTreeSet<Uuid>,
    is_stopping: bool,
    /// Acknowledged and not requested to end.
    acknowledged: BTreeSet<Uuid>,
    /// Acknowledged as ended.
    ended: BTreeSet<Uuid>,
    lands: Vec<Arc<EncodedGround>>,
    /// Fighting NPCs and a mission, in the first template.
    cast: Arc<NpcCast>,
    casts: Arc<CastLibrary>,
    process: Process,
    report: InstanceReport,
}

/// An instance without portals.
fn spec(world: WorldId, name: String, local_ids: Range<u32>, land: &EncodedGround) -> WorldSpec {
    WorldSpec {
        world,
        epoch: Epoch(0),
        is_shared: false,
        name,
        max_avatars: MAX_AVATARS,
        hz: 20,
        local_ids,
        ground: Arc::clone(land.spec()),
        portals: Arc::default(),
        seed: 0,
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
            let time = run.ms(300);
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
            compared,
            frames_hash,
        } = self;
        write!(
            f,
            "{replies} requests to the registry, {admitted} visitors admitted, {suspended} worlds suspended, {resumed} resumed, \
             {expired} expired, {moves} moved, {panics} panics, {kills} kills, {compared} steps compared, frames {frames_hash:016x}"
        )
    }
}
