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
    /// Bytes per second that a client may be sent; less when its AgentThrottle says so.
    pub client_bytes_per_s: u32,
    /// Bytes per second, with the headers of IP and UDP, that all clients of this shard are sent in all, if that is limited.
    pub egress_bytes_per_s: Option<u64>,
    /// Avatars that a client is shown, the nearest ones, beside its own.
    pub visible_max: usize,
    /// Pace and packing of the output.
    pub sending: Sending,
    /// Filter of agent updates.
    pub filter: FilterMode,
    /// Time without a change after which viewers may keep an object.
    pub cache_after: Duration,
    /// Content for clients.
    pub assets: Arc<AssetSources>,
    /// Sizes of what clients upload in messages.
    pub asset_limits: SizeLimits,
    /// Objects that an avatar wears at most.
    pub attachments_max: u32,
    /// Unix time in seconds at [`ids::Instant::ZERO`].
    pub unix_start_s: u64,
    /// Secret keys of the hash table of addresses, random on a real server: an attacker that knew them could choose
    /// addresses that collide.
    pub hash_keys: [u64; 2],
}

/// Default of [`ShardConfig::cache_after`].
pub const CACHE_AFTER: Duration = Duration::from_secs(60);
