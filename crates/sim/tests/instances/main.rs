//! Instances of a node on virtual time: the registry and the hub as a server runs them, with models of the store, the worlds and the shards.
//!
//! Users log in, walk into portals, are sent and sent back; programs create, suspend, resume and end; worlds panic, the store refuses writes,
//! and the node is killed with jobs under way and starts again. After each input the registry's own invariants are asserted. The model knows
//! the truth: rows that were acknowledged, and the number of visits that the state of each instance must contain. Sabotaged models show that
//! a run notices.

mod acts;
mod effects;

use gateway::hub::{Hub, HubConfig, Login, Order};
use gateway::mail::{CircuitKey, Closed, FromShard, Request, ShardIndex, Spot, ToShard};
use gateway::places::{Land, PlaceId, PlaceSettings, Places, Scene};
use glam::Vec3;
use host::registry::{
    GatewayNotice, GatewayOrder, InstanceRefusal, InstanceReply, InstanceRequest, InstanceRow, Job, JobId,
    JobOutcome, NewInstance, OccupantCount, Registry, RegistryConfig, RequestId, StartFailure,
    SuspendOutcome, SuspendTarget, TemplateFacts, Visitor,
};
use ids::{AgentId, Epoch, Incarnation, Instant, SessionKey, Uuid, WorldId};
use link::{GroundSpec, Portal, PortalTo, Refusal, Terrain, WorldSpec};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv4Addr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

const SEEDS: u64 = 60;
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
const CENSUS_PERIOD: Duration = Duration::from_millis(700);
/// Time for everything to come to rest: teleports are given up, worlds restart, instances are suspended.
const REST: Duration = Duration::from_secs(120);
/// Local ids for three worlds at once, so that now and then there are none.
const LOCAL_IDS: (u32, u32) = (1 << 31, (1 << 31) + 350);
const FIRST_WORLD: u32 = 2;
const TEMPLATES: [(&str, u32); 2] = [("Cave", 256), ("Plain", 512)];

/// SplitMix64.
struct Dice(u64);

impl Dice {
    /// From 0 up to `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn ms(&mut self, max: u64) -> Duration {
        Duration::from_millis(self.roll(max))
    }
}

/// Fault of a model, to show that a run notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sabotage {
    /// The gateway counts no visitor.
    BlindCensus,
    /// The store acknowledges rows that it does not write.
    LostRow,
    /// The store acknowledges states that it does not write.
    LostState,
}

/// The durable part of a node. It survives a kill.
#[derive(Default)]
struct StoreModel {
    rows: BTreeMap<Uuid, InstanceRow>,
    /// Visits in the saved state.
    visits: BTreeMap<Uuid, u64>,
    refuses: bool,
}

/// A world that is stepped, or is down after a panic.
struct WorldModel {
    id: Uuid,
    visits: u64,
    down_until: Instant,
}

/// Sender of a request.
enum Asker {
    Program,
    Portal(Order),
}

/// One life of the node's process.
struct Process {
    hub: Hub,
    registry: Registry,
    worlds: BTreeMap<WorldId, WorldModel>,
    /// Jobs under way, by the time of their end.
    jobs: BTreeMap<(Instant, JobId), Job>,
    asked: BTreeMap<RequestId, Asker>,
    /// Mail on its way to the shard, in order.
    mail: VecDeque<(Instant, ToShard)>,
    /// Circuits whose avatars have arrived, as the shard knows them.
    standing: BTreeMap<AgentId, (CircuitKey, WorldId)>,
    agents: BTreeMap<CircuitKey, AgentId>,
    next_census: Instant,
    next_request: u64,
}

struct Node {
    dice: Dice,
    now: Instant,
    store: StoreModel,
    sabotage: Option<Sabotage>,
    /// Visits of each instance since its creation. A kill takes those back that were not saved.
    visits: BTreeMap<Uuid, u64>,
    /// Time at which each instance had visitors last, since the last kill.
    seen: BTreeMap<Uuid, Instant>,
    /// Requested to end.
    ending: BTreeSet<Uuid>,
    n_expired: u64,
    is_stopping: bool,
    /// Acknowledged and not requested to end.
    acknowledged: BTreeSet<Uuid>,
    /// Acknowledged as ended.
    ended: BTreeSet<Uuid>,
    lands: Vec<Arc<Land>>,
    process: Process,
    n_replies: u64,
    n_suspended: u64,
    n_resumed: u64,
    n_admitted: u64,
}

/// An instance without portals.
fn spec(world: WorldId, name: String, local_ids: Range<u32>, land: &Land) -> WorldSpec {
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

/// A run; the numbers of replies, suspensions, resumptions, admissions and expiries.
fn run(seed: u64, sabotage: Option<Sabotage>) -> [u64; 5] {
    let mut node = Node::new(seed, sabotage);
    (0..USERS).for_each(|user| node.log_in(user));
    for _ in 0..TURNS {
        node.act();
        node.drain();
        let time = node.dice.ms(300);
        node.pass(time);
    }
    if seed.is_multiple_of(2) {
        node.rest();
        node.assert_at_rest();
    }
    node.stop();
    [node.n_replies, node.n_suspended, node.n_resumed, node.n_admitted, node.n_expired]
}

#[test]
fn no_user_and_no_acknowledged_instance_is_lost_whatever_happens() {
    let mut n_expired = 0;
    for seed in 1..=SEEDS {
        let figures @ [replies, suspended, resumed, admitted, expired] = run(seed, None);
        let is_busy = replies > 300 && suspended > 5 && resumed > 2 && admitted > 20;
        assert!(is_busy, "seed {seed}: {figures:?}");
        n_expired += expired;
    }
    assert!(n_expired > SEEDS, "{n_expired} instances of portals have expired");
}

#[test]
fn equal_seeds_make_equal_runs() {
    assert_eq!(run(7, None), run(7, None));
}

#[test]
#[should_panic(expected = "is suspended under a visitor")]
fn a_gateway_that_counts_no_visitors_is_noticed() {
    run(1, Some(Sabotage::BlindCensus));
}

#[test]
#[should_panic(expected = "is not durable")]
fn a_row_that_is_not_written_is_noticed() {
    run(1, Some(Sabotage::LostRow));
}

#[test]
#[should_panic(expected = "are not in its saved state")]
fn a_state_that_is_not_written_is_noticed() {
    run(1, Some(Sabotage::LostState));
}
