//! Configuration of a shard.

use super::filter::FilterMode;
use super::sending::Sending;
use assets::SizeLimits;
use grid::asset_sources::AssetSources;
use std::sync::Arc;
use std::time::Duration;

/// Tunables of a shard.
#[derive(Clone, Debug)]
pub struct ShardConfig {
    /// Configuration of every circuit.
    pub circuit: circuit::Config,
    /// Maximum bytes per second to one client; the client's AgentThrottle may lower it.
    pub client_bytes_per_s: u32,
    /// Maximum bytes per second to all clients of this shard together, including IP and UDP headers; `None` is unlimited.
    pub egress_bytes_per_s: Option<u64>,
    /// Maximum number of avatars shown to a client, the nearest ones, in addition to its own.
    pub visible_max: usize,
    /// Pace and packing of the output.
    pub sending: Sending,
    /// Filter of agent updates.
    pub filter: FilterMode,
    /// Time without a change after which viewers may cache an object.
    pub cache_after: Duration,
    /// Content for clients.
    pub assets: Arc<AssetSources>,
    /// Maximum sizes of assets that clients upload in messages.
    pub asset_limits: SizeLimits,
    /// Maximum number of objects that an avatar wears.
    pub attachments_max: u32,
    /// Unix time in seconds at [`ids::Instant::ZERO`].
    pub unix_start_s: u64,
    /// Secret keys of the hash table of addresses, random in production: an attacker that knows them could choose colliding addresses.
    pub hash_keys: [u64; 2],
}

/// Default of [`ShardConfig::cache_after`].
pub const CACHE_AFTER: Duration = Duration::from_secs(60);
