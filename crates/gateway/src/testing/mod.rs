//! A node on virtual time for this crate's tests: hub, shards, two flat worlds and clients in one thread, and a network with the losses
//! of a test. Start with [`Node::enter`].

mod client;
mod disk;
mod entry;
mod network;
mod region;
mod setup;
mod time;
mod worlds;

pub(crate) use client::{Client, Seen, use_circuit_code};
pub(crate) use disk::DiskRows;
pub(crate) use network::{SimulatedLoss, TransferDirection, number_of};
pub(crate) use region::GATE;
pub(crate) use setup::Setup;

use crate::hub::{Hub, Record};
use crate::mail::FromShard;
use crate::places::{PlaceId, Places};
use crate::shard::{CircuitAddress, Outbox, Shard};
use grid::asset_sources::AssetSources;
use ids::{AgentId, Incarnation, Instant, Uuid, WorldId};
use keeper::Wardrobe;
use link::{Action, Command, EntryRefusal, Event, TravelOrder};
use region::Region;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use store::Store;

/// A 256 m region.
pub(crate) const HARBOUR: PlaceId = PlaceId(0);
/// A 512 m region.
pub(crate) const MEADOW: PlaceId = PlaceId(1);
/// Prims that a region has room for.
pub(crate) const MAX_OBJECTS: u32 = 12_800;
/// Height of the flat ground of both, metres.
pub(crate) const GROUND_M: f32 = 21.0;
/// Time limit of an avatar's arrival.
pub(crate) const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(20);
/// Latency of the network each way, and the step of all clocks.
const STEP: Duration = Duration::from_millis(5);
/// Steps between two ticks of the worlds.
const STEPS_PER_TICK: u64 = 10;
/// Ticks a second.
const HZ: u32 = 20;
/// Sessions of [`Node::crowd`], which have no clients.
const CROWD: u64 = 1 << 40;

/// Names of accounts that are not logged in.
pub(crate) const OFFLINE_AGENT: AgentId = AgentId(Uuid::from_u128(0xABCD));

/// Creation time of the account of [`OFFLINE_AGENT`]: 14 November 2023.
pub(crate) const OFFLINE_BORN_S: i64 = 1_700_000_000;
/// Id of the one parcel of a region with land.
pub(crate) const PARCEL: Uuid = Uuid::from_u128(0xACE);
/// Time of day at the start, seconds since 1970.
pub(crate) const START_S: u64 = 1_750_000_000;
/// A folder of an account's inventory, and an item in it.
pub(crate) const FOLDER: Uuid = Uuid::from_u128(0xF01);
pub(crate) const ITEM: Uuid = Uuid::from_u128(0x17E);

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) now: Instant,
    pub(crate) places: Arc<Places>,
    pub(crate) assets: Arc<AssetSources>,
    pub(crate) hub: Hub,
    pub(crate) shards: Vec<Shard>,
    pub(crate) clients: Vec<Client>,
    pub(crate) loss: SimulatedLoss,
    /// Orders of the hub.
    pub(crate) orders: Vec<TravelOrder>,
    /// Records for the store.
    pub(crate) records: Vec<Record>,
    /// Everything that went to worlds.
    pub(crate) commands: Vec<(WorldId, Command)>,
    /// All messages of shards to the hub.
    pub(crate) mail: Vec<FromShard>,
    /// Restarts of worlds that the hub has ordered.
    pub(crate) restarts: Vec<WorldId>,
    /// Panics of worlds.
    pub(crate) panics: usize,
    /// Ticks that commands take to their worlds, as in a storm of logins.
    pub(crate) lag_ticks: u64,
    /// Commands under way, with the step at which they arrive.
    lagging: VecDeque<(u64, WorldId, Command)>,
    /// True if shards have all due turns; otherwise two in fifteen steps, in which three are due with 130 to 256 avatars, so that they
    /// miss a third.
    pub(crate) keeps_up: bool,
    /// True if events of worlds reach shards later than their frames: [`Node::release_events`].
    pub(crate) holds_events: bool,
    held_events: Vec<(WorldId, Vec<Event>)>,
    regions: Vec<Region>,
    /// Commands that a world panics of.
    poison: fn(&Action) -> bool,
    /// And how often they still do.
    poisoned: usize,
    steps: u64,
    /// Delay of the clients' PacketAcks beyond that of other datagrams, as of clients short of CPU time.
    pub(crate) ack_delay: Duration,
    /// On the way to the server, with times of arrival.
    up: Vec<(Instant, CircuitAddress, Vec<u8>)>,
    out: Outbox,
    crowd: u64,
    /// Made when something is looked up or changed.
    store: Option<Arc<Store>>,
    /// Worn objects of users in saved regions.
    wardrobe: Wardrobe,
    /// Number of the servers before this one on the same disk.
    incarnation: Incarnation,
}

impl Node {
    /// Accounts and inventories.
    pub(crate) fn store(&mut self) -> &Store {
        self.store.get_or_insert_with(setup::store)
    }

    /// Refused and dropped by all shards for this reason.
    pub(crate) fn drops(&self, label: &str) -> u64 {
        let of = |shard: &Shard| -> u64 {
            shard.counters().drops().filter(|(name, _)| *name == label).map(|(_, n)| n).sum()
        };
        self.shards.iter().map(of).sum()
    }
}

/// The account of a user.
pub(crate) fn agent(name: &str) -> AgentId {
    let mut bytes = [0; 16];
    for (byte, letter) in bytes.iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    AgentId(Uuid::from_bytes(bytes))
}

/// A world's refusal, as a shard hears it.
pub(crate) const FULL: EntryRefusal = EntryRefusal::Full;
