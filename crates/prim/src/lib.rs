//! Prims: the parts that objects are made of, as data.
//!
//! A prim is a [`Shape`] with textures, [`ExtraParams`], [`Media`], names, an owner and [`Permissions`]; its [`Body`] holds all of it but place and
//! movement. Everything here is checked when it is made and plain afterwards: no world, no packets, no files. World, replica, store and
//! archives share these types.

pub mod body;
mod extra_params;
mod material_override;
mod media;
mod permissions;
mod physics;
mod shape;
mod texture_entry;

pub use body::{
    Body, BodyError, HoverText, LoopedSound, Material, Names, Ownership, PCode, Sale, SaleKind, SitTarget,
};
pub use extra_params::{EXTRA_PARAMS_MAX, ExtraParam, ExtraParamError, ExtraParams};
pub use material_override::{
    AlphaMode, MATERIAL_TEXTURES, MaterialOverride, MaterialOverrides, OVERRIDE_FACES, OverrideError,
    TextureTransform,
};
pub use media::{
    FACES_MAX, MEDIA_ADDRESS_MAX, MEDIA_PATTERNS_MAX, MEDIA_SIDE_MAX_PX, MEDIA_TEXT_MAX, Media, MediaEntry,
    MediaError, MediaUsers,
};
pub use permissions::{
    Edit, LinksetPermissions, Mask, MaskField, Permissions, Role, allows, receiver_flags, update_flags,
};
pub use physics::{PhysicsShape, PrimPhysics};
pub use shape::{Hole, Path, Profile, Shape, ShapeError, ShapeKind};
pub use texture_entry::{TextureEntryError, check_texture_entry, with_material_id, with_media_marks};
