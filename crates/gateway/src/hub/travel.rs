//! Terms of a journey: the way, the order, the invitation, its result, and the flags sent to clients. Plain data; the hub acts on them
//! in `passages.rs`, `teleport.rs`, `displaced.rs` and `messaging.rs`.

use crate::mail::{CircuitKey, Spot};
use crate::places::Place;
use glam::Vec3;
use ids::{AgentId, SessionKey, Uuid, WorldId};
use std::sync::Arc;
use thiserror::Error;

/// Teleport flag: by an accepted invitation.
pub(crate) const VIA_LURE: u32 = 1 << 2;
/// Teleport flag: to a position, as by a click on the map.
pub(crate) const VIA_LOCATION: u32 = 1 << 4;
/// Teleport flag: to the home position.
pub(crate) const VIA_HOME: u32 = 1 << 5;
/// Teleport flag: the avatar stays in the region, as clients see it.
pub(crate) const WITHIN_REGION: u32 = 1 << 17;

/// Invitations open at once on the node; the oldest lapse first.
pub(super) const LURES_MAX: usize = 1_000;

/// Offset of an arriving guest from the inviting avatar.
const BESIDE: Vec3 = Vec3::new(1.0, 0.0, 0.0);

/// Results of a passage into another world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It is there already, and is put somewhere else in it.
    Within,
    /// Behind the same circuit.
    Switched,
    /// By a teleport to another place.
    Teleported,
}

/// Reasons for refusing a passage. The texts are shown to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PassageRefusal {
    /// The circuit has no session, or its avatar has not arrived yet.
    #[error("That user is not here.")]
    NotHere,
    /// One passage at a time.
    #[error("You are already on your way.")]
    OnItsWay,
    /// The other world has its `max_avatars`.
    #[error("That region is full.")]
    Full,
    /// It is not in an instance that it could leave.
    #[error("That user is in no instance.")]
    Outside,
    /// The order was made in another world.
    #[error("You are somewhere else by now.")]
    Elsewhere,
    /// The world is not in memory: it has ended.
    #[error("That world has ended.")]
    Gone,
    /// All ports of the session are in use, or rest.
    #[error("Please wait a minute before you travel on.")]
    NoPort,
    /// The server is about to stop.
    #[error("The server is about to stop.")]
    Draining,
}

/// Destination of an avatar.
#[derive(Debug)]
pub(super) struct ArrivalTarget {
    pub(super) place: Arc<Place>,
    /// Metres from the place's corner.
    pub(super) position: Vec3,
    pub(super) look_at: Vec3,
    /// It was not let in elsewhere and comes back.
    pub(super) returns: bool,
}

/// Orders that another thread carries out.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Send a session into its user's own instance of a template, which may have to be made. A session has one such order at a time, until
    /// [`super::Hub::end_order`]; it is void once the avatar is elsewhere, see [`super::Hub::is_in`].
    EnterOwn {
        /// Behind which circuit the avatar was.
        circuit: CircuitKey,
        /// In which world.
        world: WorldId,
        /// The user.
        agent: AgentId,
        /// Name of the template.
        template: Arc<str>,
    },
    /// Send a session into an instance to which its user was invited, and which may have to be resumed. A session has at most one order
    /// of either kind.
    Enter {
        /// Behind which circuit the avatar was.
        circuit: CircuitKey,
        /// Destination.
        world: WorldId,
        /// Metres from its corner.
        position: Vec3,
    },
}

impl Order {
    /// Circuit of the order's user.
    #[must_use]
    pub const fn circuit(&self) -> CircuitKey {
        match self {
            Self::EnterOwn { circuit, .. } | Self::Enter { circuit, .. } => *circuit,
        }
    }
}

/// An invitation that can still be followed.
#[derive(Clone, Debug)]
pub(super) struct Lure {
    pub(super) id: Uuid,
    pub(super) to_session: SessionKey,
    /// The destination. An instance may be suspended until the invitation is followed, and nothing here keeps it in memory.
    pub(super) world: WorldId,
    /// True if that lies at its place for all clients.
    pub(super) is_shared: bool,
    /// And where in it.
    pub(super) spot: Spot,
}

/// Default arrival place.
pub(crate) fn landing_spot(place: Option<&Arc<Place>>) -> Spot {
    let place = place.expect("a node has at least one place");
    Spot { place: place.id, position: place.ground().landing, look_at: Vec3::X }
}

/// Destination of an accepted invitation.
pub(super) fn spot_beside(place: &Place, position: Vec3) -> Spot {
    Spot { place: place.id, position: position + BESIDE, look_at: -BESIDE }
}
