//! Progress of a client on this shard, from its ticket to its last datagram.

use crate::mail::Closed;
use ids::Instant;

/// Progress of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It showed its ticket; its avatar is nowhere yet.
    Opened,
    /// Its avatar was sent into the world.
    Entering,
    /// Its avatar is in the world.
    Present,
    /// The world did not let its avatar in: the hub sends it elsewhere.
    Outside,
    /// It has no avatar any more; its circuit delivers the last messages until then.
    Leaving(Instant, Closed),
}

/// Progress of a client's arrival.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Greeting {
    /// Time of the RegionHandshake.
    pub(super) handshake_at: Option<Instant>,
    /// RegionHandshakeReply came, or was waited for long enough.
    pub(super) scene_open: bool,
    /// Terrain and overlay were queued.
    pub(super) ground_sent: bool,
    /// The viewer's cache of objects.
    pub(super) cache: ViewerCache,
}

/// A viewer's cache of the region's objects, as RegionHandshakeReply announces it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ViewerCache {
    /// It keeps none.
    #[default]
    None,
    /// It keeps them, and has none yet.
    Empty,
    /// It has some.
    Filled,
}

impl ViewerCache {
    /// By the flags of RegionHandshakeReply: 1 for a viewer with a cache, 2 for an empty one.
    pub(super) const fn of_flags(flags: u32) -> Self {
        match flags & 3 {
            1 => Self::Filled,
            3 => Self::Empty,
            _ => Self::None,
        }
    }
}

/// Messages on the avatar's arrival sent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ArrivalMessages {
    Nothing,
    /// The region's new name, and not where in it: there was no room in its circuit for more.
    Region,
    #[default]
    All,
}
