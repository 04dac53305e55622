//! Prims and linksets to be added: new ones, copies, and those of files.

use crate::object::{PrimFlags, PrimMotion};
use glam::{Quat, Vec3};
use ids::{LocalId, Uuid};
use prim::{Body, Shape};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Linksets to be added, as a file has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Insertion {
    /// Chosen at random. Ids of prims whose own ids other objects have are derived from it, and so are the first versions of all prims: a viewer
    /// may have cached another state of an object with the same id.
    pub ids: Uuid,
    /// Each is added whole or refused.
    pub linksets: Vec<InsertedLinkset>,
}

/// A linkset to be added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InsertedLinkset {
    /// Prims, the root first, with their places: the root's in the region, the others' relative to it. Parents and numbers are set by the world.
    pub prims: Vec<(PrimMotion, Arc<Body>)>,
}

/// A prim to be made. Its owner is the acting user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewObject {
    /// Its id, which the gateway chooses at random: a world that goes back to a checkpoint would count the same numbers again, and an id stands
    /// for one prim on the whole grid.
    pub id: Uuid,
    /// Time of its making, microseconds since 1970: worlds know no date.
    pub created_us: u64,
    /// Code of its class.
    pub p_code: u8,
    /// Species of a tree or grass.
    pub state: u8,
    /// Code of its material.
    pub material: u8,
    /// Shape, in any numbers.
    pub shape: Shape,
    /// Metres.
    pub scale: Vec3,
    /// Its centre, metres from the region's corner: where the client's ray ended. Counts if `ray` meets nothing.
    pub position: Vec3,
    /// The new prim stands on the surface that this ray meets.
    pub ray: Option<Ray>,
    /// Rotation.
    pub rotation: Quat,
    /// Null for none.
    pub group: Uuid,
    /// Physical, temporary and phantom count.
    pub flags: PrimFlags,
    /// True if its maker's client selects it.
    pub is_selected: bool,
}

/// The way from a user's camera through the pointer to an object.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ray {
    /// Its begin, metres from the region's corner.
    pub start: Vec3,
    /// Its end, by the client's account.
    pub end: Vec3,
    /// Id of the prim that it meets there.
    pub target: Uuid,
}

/// Copies to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Duplicates {
    /// Id of the first new prim, which the gateway chooses at random as for [`NewObject::id`]. Ids of the others are derived from it.
    pub ids: Uuid,
    /// Null for none; counts for copies of other users' objects.
    pub group: Uuid,
    /// True if the client selects the copies.
    pub is_selected: bool,
    /// Prims of the linksets to be copied, and the places of the copies.
    pub copies: Vec<(LocalId, CopyPlace)>,
}

/// Place of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum CopyPlace {
    /// Metres from the original.
    Offset(Vec3),
    /// End of a ray.
    At {
        /// Metres from the region's corner. Counts if `ray` meets nothing.
        position: Vec3,
        /// The copy stands on the surface that this ray meets.
        ray: Option<Ray>,
        /// Rotation; that of the original without one.
        rotation: Option<Quat>,
    },
}
