//! Terms of a journey: the destination, the invitation, and the flags sent to clients. Plain data; the hub acts on them in `passages.rs`,
//! `teleport.rs`, `displaced.rs` and `messaging.rs`. Orders and results of journeys are messages of [`link`].

use crate::mail::Spot;
use crate::places::Place;
use glam::Vec3;
use ids::{SessionKey, Uuid, WorldId};
use std::sync::Arc;

/// Teleport flag: by an accepted invitation.
pub(crate) const VIA_LURE: u32 = 1 << 2;
/// Teleport flag: to the place of a landmark.
pub(crate) const VIA_LANDMARK: u32 = 1 << 3;
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

/// Destination of an avatar.
#[derive(Debug)]
pub(super) struct ArrivalTarget {
    pub(super) place: Arc<Place>,
    /// Metres from the place's corner.
    pub(super) position: Vec3,
    pub(super) look_at: Vec3,
    /// The avatar was not let in elsewhere and comes back.
    pub(super) returns: bool,
}

/// An invitation that can still be followed.
#[derive(Clone, Debug)]
pub(super) struct Lure {
    pub(super) id: Uuid,
    pub(super) to_session: SessionKey,
    /// The destination. An instance may be suspended until the invitation is followed, and nothing here keeps it in memory.
    pub(super) world: WorldId,
    /// True if the world lies at its place for all clients.
    pub(super) is_shared: bool,
    /// Position in that world.
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
