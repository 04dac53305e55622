//! Everything about a prim but its place and movement.
//!
//! Long and often equal fields are behind `Arc`, so that a copy with one field changed is cheap and equal parts can be shared.

mod encoding;

pub use crate::ownership::{DESCRIPTION_MAX, NAME_MAX, Ownership, Sale, SaleKind};
pub use encoding::{RareFields, RareParts};

use crate::contents::{CARRIED_MAX, Carried, Contents, ContentsError};
use crate::extra_params::ExtraParams;
use crate::material_override::{MaterialOverrides, OverrideError};
use crate::media::{Media, MediaError};
use crate::permissions::{Mask, Permissions};
use crate::physics::PrimPhysics;
use crate::shape::Shape;
use encoding::EncodedBody;
use glam::{Quat, Vec3};
use ids::{AgentId, Uuid};
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use std::hash::Hash as _;
use std::sync::Arc;
use thiserror::Error;

/// Least and most metres of a prim along an axis: those of OpenSimulator, whose archives have prims of any size in between.
pub const SIZE_RANGE_M: (f32, f32) = (0.001, 256.0);
/// The same of a prim that physics moves.
pub const PHYSICAL_SIZE_RANGE_M: (f32, f32) = (0.01, 64.0);
/// Bytes of a texture entry: those of 45 faces that differ in everything take fewer.
pub const TEXTURE_ENTRY_MAX: usize = 2_048;
/// Bytes of a hover text.
pub const HOVER_TEXT_MAX: usize = 254;
/// Bytes of a media address.
pub const MEDIA_URL_MAX: usize = 254;
/// Bytes of a texture animation: flags, face, sizes, start, length, rate.
pub const TEXTURE_ANIMATION_LEN: usize = 16;
/// Bytes of a particle block, old or new form.
pub const PARTICLES_MAX: usize = 1_024;

/// Metres of a sit target from its prim along each axis at most: the range of scripts.
pub const SIT_OFFSET_MAX_M: f32 = 300.0;
/// Difference of a quaternion's length from 1 that is rounding.
const UNIT_TOLERANCE: f32 = 1e-5;

/// Largest code of a click action: 0 touch, 1 sit, 2 buy, 3 pay, 4 open, 5 play, 6 open media, 7 zoom, 8 disabled, 9 ignore.
pub const CLICK_ACTION_MAX: u8 = 9;

/// Class of an object in messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum PCode {
    /// A prim of any shape; sculpts and meshes, too.
    #[default]
    Prim = 9,
    /// Grass.
    Grass = 95,
    /// A tree of the newer kind.
    NewTree = 111,
    /// A tree.
    Tree = 255,
}

impl PCode {
    /// The class with this code, if objects can have it. Avatars and particle systems have others.
    #[must_use]
    pub const fn of_code(code: u8) -> Option<Self> {
        match code {
            9 => Some(Self::Prim),
            95 => Some(Self::Grass),
            111 => Some(Self::NewTree),
            255 => Some(Self::Tree),
            _ => None,
        }
    }
}

/// What a prim is made of: sound of collisions, friction, bounce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Material {
    /// Stone.
    Stone = 0,
    /// Metal.
    Metal = 1,
    /// Glass.
    Glass = 2,
    /// Wood, of which new prims are.
    #[default]
    Wood = 3,
    /// Flesh.
    Flesh = 4,
    /// Plastic.
    Plastic = 5,
    /// Rubber.
    Rubber = 6,
    /// Light, of old content.
    Light = 7,
}

impl Material {
    /// The material with this code.
    #[must_use]
    pub const fn of_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Stone,
            1 => Self::Metal,
            2 => Self::Glass,
            3 => Self::Wood,
            4 => Self::Flesh,
            5 => Self::Plastic,
            6 => Self::Rubber,
            7 => Self::Light,
            _ => return None,
        })
    }
}

/// Names that its makers gave a prim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Names {
    /// Name, at most [`NAME_MAX`] bytes.
    pub name: Arc<str>,
    /// Description, at most [`DESCRIPTION_MAX`] bytes.
    pub description: Arc<str>,
    /// Text of the menu entry that touches it; empty for the viewer's own.
    pub touch: Arc<str>,
    /// Text of the menu entry that sits on it; empty for the viewer's own.
    pub sit: Arc<str>,
}

/// Text above a prim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HoverText {
    /// At most [`HOVER_TEXT_MAX`] bytes.
    pub text: Arc<str>,
    /// Red, green, blue, alpha.
    pub color: [u8; 4],
}

/// A sound that a prim plays in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopedSound {
    /// Asset.
    pub id: Uuid,
    /// Loudness, 0 to 1.
    pub gain: f32,
    /// Flags of AttachedSound.
    pub flags: u8,
    /// Metres at which it is heard; 0 for the default.
    pub radius_m: f32,
}

/// Place for an avatar that sits on a prim, as the prim's maker has set it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SitTarget {
    /// Metres from the prim's position along its axes, within ±[`SIT_OFFSET_MAX_M`].
    pub position: Vec3,
    /// Against the prim's rotation; a unit quaternion.
    pub rotation: Quat,
}

/// A prim but for its place and movement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "EncodedBody", into = "EncodedBody")]
pub struct Body {
    /// Its id in every region, for ever; `FullID` in messages.
    pub id: Uuid,
    /// Class.
    pub p_code: PCode,
    /// Species of a tree or grass, attachment point of a worn linkset; 0 otherwise.
    pub state: u8,
    /// Material.
    pub material: Material,
    /// What a click does, at most [`CLICK_ACTION_MAX`].
    pub click_action: u8,
    /// Size along each axis, in metres, within [`SIZE_RANGE_M`].
    pub scale: Vec3,
    /// Shape, clamped.
    pub shape: Shape,
    /// Textures in the protocol's encoding, at most [`TEXTURE_ENTRY_MAX`] bytes.
    pub texture_entry: Arc<[u8]>,
    /// Movement of textures; empty or [`TEXTURE_ANIMATION_LEN`] bytes.
    pub texture_animation: Arc<[u8]>,
    /// Flexible, light, sculpt and so on.
    pub extra_params: ExtraParams,
    /// Particles that it emits, in the protocol's encoding; at most [`PARTICLES_MAX`] bytes.
    pub particles: Arc<[u8]>,
    /// Text above it.
    pub hover_text: HoverText,
    /// Address of its media, at most [`MEDIA_URL_MAX`] bytes; [`Media::address`] while there is [`Self::media`].
    pub media_url: Arc<str>,
    /// Media of its faces, for prims that have or had any.
    pub media: Option<Arc<Media>>,
    /// Changes of render materials, for prims that have or had any.
    pub overrides: Option<Arc<MaterialOverrides>>,
    /// Looped sound.
    pub sound: Option<LoopedSound>,
    /// Names.
    pub names: Names,
    /// Owner and masks, which the prims of a maker have alike.
    pub ownership: Arc<Ownership>,
    /// Time of its making, microseconds since 1970: of each prim its own.
    pub created_us: u64,
    /// Offer for sale.
    pub sale: Sale,
    /// Shape and matter in collisions.
    pub physics: PrimPhysics,
    /// Place for a sitting avatar.
    pub sit_target: Option<SitTarget>,
    /// Its items, for prims that have or had any.
    pub contents: Option<Arc<Contents>>,
    /// Data of an archive that have no field here.
    pub carried: Option<Arc<Carried>>,
    /// Item of its owner's inventory as which its linkset is worn, in the root of one that is.
    pub worn_item: Option<Uuid>,
}

/// Reasons to refuse a body.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BodyError {
    /// A size that is not a number.
    #[error("a size that is not a number")]
    Size,
    /// A field that is too long, and its bytes.
    #[error("{field} of {len} bytes, at most {max}")]
    Length {
        /// Name of the field.
        field: &'static str,
        /// Its length in bytes.
        len: usize,
        /// The most that it may have.
        max: usize,
    },
    /// A density, friction, restitution or gravity that is not a number.
    #[error("matter that is not a number")]
    Physics,
    /// A sit target that is no place or no rotation.
    #[error("a sit target that is no place")]
    SitTarget,
    /// A sound whose gain or radius is not a number.
    #[error("a sound without a loudness")]
    Sound,
    /// Media that no prim can have.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// Overrides of render materials that no prim can have.
    #[error(transparent)]
    Overrides(#[from] OverrideError),
    /// Contents that no prim can have.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// Another length than those of a texture animation.
    #[error("a texture animation of {0} bytes")]
    TextureAnimation(usize),
}

impl Body {
    /// A new prim of this shape, half a metre wide, as a viewer makes it: plywood, all rights for its maker.
    #[must_use]
    pub fn new(id: Uuid, shape: Shape, texture_entry: Arc<[u8]>, creator: AgentId, created_us: u64) -> Self {
        let ownership = Ownership {
            creator,
            owner: creator,
            last_owner: creator,
            group: Uuid::nil(),
            permissions: Permissions::NEW,
        };
        Self {
            id,
            p_code: PCode::Prim,
            state: 0,
            material: Material::default(),
            click_action: 0,
            scale: Vec3::splat(0.5),
            shape,
            texture_entry,
            texture_animation: Arc::default(),
            extra_params: ExtraParams::default(),
            particles: Arc::default(),
            hover_text: HoverText::default(),
            media_url: Arc::default(),
            media: None,
            overrides: None,
            sound: None,
            names: Names { name: "Primitive".into(), ..Names::default() },
            ownership: Arc::new(ownership),
            created_us,
            sale: Sale::default(),
            physics: PrimPhysics::default(),
            sit_target: None,
            contents: None,
            carried: None,
            worn_item: None,
        }
    }

    /// True if physics moves prims of its size: [`PHYSICAL_SIZE_RANGE_M`].
    #[must_use]
    pub fn has_physical_size(&self) -> bool {
        let (least, most) = PHYSICAL_SIZE_RANGE_M;
        self.scale.min_element() >= least && self.scale.max_element() <= most
    }

    /// Number of its items.
    #[must_use]
    pub fn n_items(&self) -> usize {
        self.contents.as_ref().map_or(0, |contents| contents.items.len())
    }

    /// Bytes of data of archives in it and in its items.
    #[must_use]
    pub fn carried_len(&self) -> usize {
        let items = self.contents.iter().flat_map(|contents| &contents.items).map(|item| &item.carried);
        let all = items.chain(self.carried.as_deref());
        all.map(|carried| carried.as_bytes().len()).sum()
    }

    /// Rights that its owner has to all of its items; every right without any.
    #[must_use]
    pub fn contents_rights(&self) -> Mask {
        self.contents.as_ref().map_or(Mask::ALL, |contents| contents.shared_rights())
    }

    /// True if clients are shown the same by both. Contents and the data of archives are not shown.
    #[must_use]
    pub fn shows_the_same_as(&self, other: &Self) -> bool {
        let Self { contents, carried, .. } = other;
        if (&self.contents, &self.carried) == (contents, carried) {
            return self == other;
        }
        Self { contents: contents.clone(), carried: carried.clone(), ..self.clone() } == *other
    }

    /// Folds all of it into a hash of state.
    pub fn fold_into(&self, hasher: &mut StateHasher) {
        self.fold_with(self.long_hash(), hasher);
    }

    /// Hash of contents and of data of archives; 0 without any. It takes long for a prim with many items, and those seldom change.
    #[must_use]
    pub fn long_hash(&self) -> u64 {
        if self.contents.is_none() && self.carried.is_none() {
            return 0;
        }
        let mut hasher = StateHasher::new();
        if let Some(contents) = &self.contents {
            contents.hash(&mut hasher);
        }
        if let Some(carried) = &self.carried {
            hasher.bytes(carried.as_bytes());
        }
        hasher.finish()
    }

    /// As [`Self::fold_into`], with its [`Self::long_hash`].
    pub fn fold_with(&self, long_hash: u64, hasher: &mut StateHasher) {
        let Self {
            id,
            p_code,
            state,
            material,
            click_action,
            scale,
            shape,
            texture_entry,
            texture_animation,
            extra_params,
            particles,
            hover_text,
            media_url,
            media,
            overrides,
            sound,
            names,
            ownership,
            created_us,
            sale,
            physics,
            sit_target,
            contents: _,
            carried: _,
            worn_item,
        } = self;
        hasher.bytes(id.as_bytes());
        hasher.bytes(&[*p_code as u8, *state, *material as u8, *click_action]);
        hasher.vec3(*scale);
        shape.hash(hasher);
        for bytes in [texture_entry, texture_animation, particles] {
            hasher.bytes(bytes);
        }
        hasher.bytes(extra_params.as_bytes());
        hasher.bytes(hover_text.text.as_bytes());
        hasher.u32(u32::from_le_bytes(hover_text.color));
        hasher.bytes(media_url.as_bytes());
        if let Some(media) = media {
            media.hash(hasher);
        }
        if let Some(overrides) = overrides {
            overrides.fold_into(hasher);
        }
        if let Some(LoopedSound { id, gain, flags, radius_m }) = sound {
            hasher.bytes(id.as_bytes());
            hasher.f32(*gain);
            hasher.u32(u32::from(*flags));
            hasher.f32(*radius_m);
        }
        for name in [&names.name, &names.description, &names.touch, &names.sit] {
            hasher.bytes(name.as_bytes());
        }
        ownership.hash(hasher);
        created_us.hash(hasher);
        sale.hash(hasher);
        physics.fold_into(hasher);
        if let Some(SitTarget { position, rotation }) = sit_target {
            hasher.vec3(*position);
            hasher.quat(*rotation);
        }
        if let Some(item) = worn_item {
            hasher.bytes(item.as_bytes());
        }
        if long_hash != 0 {
            hasher.u64(long_hash);
        }
    }

    /// Number of the attachment point of a worn linkset: viewers read it with its nibbles exchanged.
    #[must_use]
    pub const fn attachment_point(&self) -> u8 {
        self.state.rotate_left(4)
    }

    /// Checks lengths and numbers, and clamps size, sound, price and matter into their ranges.
    ///
    /// # Errors
    /// [`BodyError`] for fields that cannot be cut without changing what they mean.
    pub fn checked(mut self) -> Result<Self, BodyError> {
        if !self.scale.is_finite() {
            return Err(BodyError::Size);
        }
        let (least, most) = SIZE_RANGE_M;
        self.scale = self.scale.clamp(Vec3::splat(least), Vec3::splat(most));
        if let Some(media) = &self.media {
            media.check()?;
            let address = media.address();
            if *self.media_url != *address {
                self.media_url = address.into();
            }
        }
        if let Some(overrides) = &self.overrides {
            overrides.check()?;
        }
        if let Some(contents) = &self.contents {
            contents.check()?;
        }
        if let Some(carried) = &self.carried
            && carried.as_bytes().len() > CARRIED_MAX
        {
            return Err(ContentsError::Carried(carried.as_bytes().len()).into());
        }
        let lengths = [
            ("texture entry", self.texture_entry.len(), TEXTURE_ENTRY_MAX),
            ("particles", self.particles.len(), PARTICLES_MAX),
            ("hover text", self.hover_text.text.len(), HOVER_TEXT_MAX),
            ("media address", self.media_url.len(), MEDIA_URL_MAX),
            ("name", self.names.name.len(), NAME_MAX),
            ("description", self.names.description.len(), DESCRIPTION_MAX),
            ("touch text", self.names.touch.len(), NAME_MAX),
            ("sit text", self.names.sit.len(), NAME_MAX),
        ];
        if let Some(&(field, len, max)) = lengths.iter().find(|(_, len, max)| len > max) {
            return Err(BodyError::Length { field, len, max });
        }
        if !matches!(self.texture_animation.len(), 0 | TEXTURE_ANIMATION_LEN) {
            return Err(BodyError::TextureAnimation(self.texture_animation.len()));
        }
        if let Some(sound) = &mut self.sound {
            if !sound.gain.is_finite() || !sound.radius_m.is_finite() {
                return Err(BodyError::Sound);
            }
            sound.gain = sound.gain.clamp(0.0, 1.0);
            sound.radius_m = sound.radius_m.clamp(0.0, 1_000.0);
        }
        self.sale.price = self.sale.price.max(0);
        self.physics = self.physics.clamped().ok_or(BodyError::Physics)?;
        if let Some(target) = &mut self.sit_target {
            let length = target.rotation.length();
            if !target.position.is_finite() || !length.is_finite() || length < 0.1 {
                return Err(BodyError::SitTarget);
            }
            let most = Vec3::splat(SIT_OFFSET_MAX_M);
            target.position = target.position.clamp(-most, most);
            if (length - 1.0).abs() > UNIT_TOLERANCE {
                target.rotation /= length;
            }
        }
        Ok(self)
    }
}
