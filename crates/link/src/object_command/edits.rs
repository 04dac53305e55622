//! Changes of prims, their faces and their items.

use glam::{Quat, Vec3};
use ids::Uuid;
use prim::{MaterialOverride, Permissions};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Change of a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// Metres from the region's corner for a root and a whole linkset, from the root for another part.
    pub position: Option<Vec3>,
    /// Rotation against the same.
    pub rotation: Option<Quat>,
    /// Size of the prim, of the root for a whole linkset; metres.
    pub scale: Option<Vec3>,
    /// The whole linkset moves. Else one prim does, and a root's other parts stay where they are.
    pub is_linked_set: bool,
    /// A whole linkset is scaled with its root, all prims by the same factors; without it, only the prim is.
    pub is_uniform: bool,
}

/// Textures of a prim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Textures {
    /// In the protocol's encoding.
    pub entry: Arc<[u8]>,
    /// Address of its media; empty for none.
    pub media_url: String,
}

/// Change of an extra parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExtraParamEdit {
    /// Code of its type.
    pub kind: u16,
    /// In the protocol's encoding; `None` removes it.
    pub data: Option<Vec<u8>>,
}

/// Physical properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlagsEdit {
    /// The linkset is moved by physics.
    pub is_physical: bool,
    /// The linkset vanishes a while later, and is not kept.
    pub is_temporary: bool,
    /// The linkset collides with nothing.
    pub is_phantom: bool,
    /// Form and matter of the named prim.
    pub physics: Option<PhysicsEdit>,
}

/// Form and matter of a prim in collisions, see [`prim::PrimPhysics`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhysicsEdit {
    /// Code of the form.
    pub shape: u8,
    /// kg/m³.
    pub density: f32,
    /// Coefficient of friction.
    pub friction: f32,
    /// Part of the speed that is left after a bounce.
    pub restitution: f32,
    /// Factor of gravity.
    pub gravity: f32,
}

/// A visit to another address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Navigation {
    /// Number of the face.
    pub face: u8,
    /// The address.
    pub address: String,
}

/// Change of render materials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RenderMaterialEdit {
    /// Number of the face; `None` for all.
    pub face: Option<u8>,
    /// The new material, null for none; `None` keeps the former one.
    pub material: Option<Uuid>,
    /// The new override, which may be one that changes nothing; `None` keeps the former one.
    pub changes: Option<Box<MaterialOverride>>,
}

/// Change of a legacy material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaceMaterial {
    /// Number of the face; `None` for all.
    pub face: Option<u8>,
    /// Id of the material; null for none.
    pub material: Uuid,
}

/// Change of an item of a prim. Asset, kind, flags and makers stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemEdit {
    /// The item.
    pub item: Uuid,
    /// Its new name; an empty one keeps the former. Longer names than [`prim::body::NAME_MAX`] are cut.
    pub name: String,
    /// Its new description. Longer ones than [`prim::body::DESCRIPTION_MAX`] are cut.
    pub description: String,
    /// Its new masks, of which those count that the acting user may change.
    pub masks: Permissions,
    /// Its new offer for sale.
    pub offer: Offer,
}

/// Change of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskEdit {
    /// Code of the mask.
    pub field: u8,
    /// The bits are set (`true`) or cleared.
    pub is_set: bool,
    /// Bits of rights.
    pub bits: u32,
}

/// An offer for sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Code of the kind of sale.
    pub kind: u8,
    /// In the grid's currency.
    pub price: i32,
}
