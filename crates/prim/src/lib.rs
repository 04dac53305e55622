//! Prims: the parts that objects are made of, as data.
//!
//! A prim is a [`Shape`] with textures, [`ExtraParams`], [`Media`], names, an owner and [`Permissions`]; its [`Body`] holds all of it but place and
//! movement. Everything here is checked when it is made and plain afterwards: no world, no packets, no files. World, replica, store and
//! archives share these types.

mod asset_solid;
pub mod body;
mod contents;
mod extra_params;
mod material_override;
mod media;
mod ownership;
mod permissions;
mod physics;
mod shape;
mod texture_entry;

pub use asset_solid::{
    ASSET_REACH, ASSET_TRIANGLES_MAX, ASSET_VERTICES_MAX, AssetSolid, AssetSolidError, SolidBox, SolidKey,
    SolidPart, SolidSurface,
};
pub use body::{
    Body, BodyError, HoverText, LoopedSound, Material, Names, Ownership, PCode, RareFields, RareParts, Sale,
    SaleKind, SitTarget,
};
pub use contents::{
    CARRIED_MAX, CONTENT_ITEMS_MAX, CONTENTS_CARRIED_MAX, Carried, ContentItem, Contents, ContentsError,
    item_flags,
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
    Edit, ItemDrop, LinksetPermissions, Mask, MaskField, Permissions, Role, allows, allows_drop,
    receiver_flags, update_flags,
};
pub use physics::{PhysicsShape, PrimPhysics};
pub use shape::{Hole, Path, Profile, Shape, ShapeError, ShapeKind};
pub use texture_entry::{TextureEntryError, check_texture_entry, with_material_id, with_media_marks};
