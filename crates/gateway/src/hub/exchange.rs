//! Requests, replies and output of the hub: plain data.

use super::Poll;
use crate::mail::{Look, ShardIndex, Spot, Wearable};
use crate::places::Place;
use ids::{AgentId, CircuitCode, Incarnation, SessionId, Uuid};
use link::CircuitKey;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Bounds and addresses of the sessions.
#[derive(Clone, Debug)]
pub struct HubConfig {
    /// UDP ports of the pool, in order; at most [`PORTS_MAX`](super::PORTS_MAX).
    pub udp_ports: Vec<u16>,
    /// Port of the capabilities' HTTP server.
    pub http_port: u16,
    /// Logins at once; more are refused.
    pub sessions_max: usize,
    /// Time limit of an avatar's arrival, at login and in a teleport.
    pub arrival_timeout: Duration,
}

/// A source of unguessable numbers; a seeded one in the simulator.
pub type Entropy = Box<dyn FnMut() -> [u8; 16] + Send>;

/// A login, after the grid has checked the password.
#[derive(Clone, Debug)]
pub struct Login {
    /// This life of the gateway; the session's key contains it.
    pub incarnation: Incarnation,
    /// Account.
    pub agent: AgentId,
    /// First name.
    pub first_name: Arc<str>,
    /// Last name.
    pub last_name: Arc<str>,
    /// Address of this node as the client reached it, or as it is advertised.
    pub server_ip: Ipv4Addr,
    /// Arrival place.
    pub start: Spot,
    /// Home of the user.
    pub home: Option<Spot>,
    /// Outfit of the account.
    pub wearables: Arc<[Wearable]>,
    /// Appearance of the account, if a client has ever sent one.
    pub look: Option<Look>,
}

/// Data of a new session for the login reply.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Id in most messages.
    pub session_id: SessionId,
    /// Id in transfers.
    pub secure_session_id: Uuid,
    /// Code in UseCircuitCode.
    pub code: CircuitCode,
    /// UDP port of the circuit.
    pub sim_port: u16,
    /// Seed capability.
    pub seed_url: String,
    /// Region of arrival.
    pub place: Arc<Place>,
}

/// Reasons for refusing a verified user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoginRefusal {
    /// `sessions_max` reached.
    ServerFull,
    /// The region of arrival has its `max_avatars`.
    RegionFull,
    /// The server is about to stop.
    Draining,
}

/// A fact that the store should keep.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Last place of a user.
    LastLocation(AgentId, Spot),
    /// Home of a user.
    Home(AgentId, Spot),
    /// Appearance of a user's avatar.
    Appearance(AgentId, Look),
}

/// Destinations of messages to shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// One shard.
    One(ShardIndex),
    /// Every shard.
    All,
}

/// Holder of a capability.
#[derive(Clone, Debug)]
pub struct Holder {
    /// Account.
    pub agent: AgentId,
    /// Its circuit.
    pub circuit: CircuitKey,
    /// Region of the circuit.
    pub place: Arc<Place>,
    /// Address of this node as the client knows it.
    pub server_ip: Ipv4Addr,
}

/// Result of EventQueueGet.
#[derive(Clone, Debug)]
pub enum EventQueueAnswer {
    /// Answer or wait.
    Poll(Poll),
    /// The circuit ended a moment ago: a `done` poll is answered politely, another one waits for nothing.
    Farewell(Arc<Notify>),
    /// No such capability.
    Unknown,
}

/// Counters for metrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct HubCounters {
    /// Sessions begun.
    pub logins: u64,
    /// Sessions ended because the same user logged in again.
    pub superseded: u64,
    /// Teleports begun between regions.
    pub teleports: u64,
    /// Teleports that have failed.
    pub teleports_failed: u64,
    /// Times that another world was put behind a circuit.
    pub switches: u64,
    /// Orders given to others, see [`TravelOrder`](link::TravelOrder).
    pub orders: u64,
    /// Orders refused: too many waited, or the executing thread has ended.
    pub orders_refused: u64,
    /// Questions for the store that were refused: too many waited, or the store did not answer.
    pub lookups_refused: u64,
    /// Changes of inventories that were not carried out: too many waited, or the store failed.
    pub inventory_refused: u64,
    /// Requests for capabilities that do not exist (altered, guessed, ended).
    pub unknown_capabilities: u64,
    /// Instant messages passed on.
    pub instant_messages: u64,
    /// Events dropped from queues without a poll.
    pub events_dropped: u64,
}
