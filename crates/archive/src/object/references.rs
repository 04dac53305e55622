//! Assets that linksets name.
//!
//! The places are those in which OpenSimulator looks for assets when it writes an archive. Assets that are named within other assets, such as in notecards, are
//! found where those are read.

use super::kept::{KeptData, KeptScope, KeptScopeKind};
use super::table::{ITEM, PART};
use super::{SceneGroup, ScenePart, values};
use crate::xml::{XmlDocument, XmlElement, XmlLimits};
use ids::Uuid;
use prim::{Body, ExtraParam};
use std::fmt;
use std::sync::Arc;
use wire::llsd::{self, Llsd};
use wire::texture_entry::TextureEntry;

/// Bytes of a block of particles in its old form, and the place of the texture in it.
const PARTICLES_LEN: usize = 86;
const PARTICLE_TEXTURE_AT: usize = 36;

/// Bytes of the number before the new form.
const PARTICLES_HEAD_LEN: usize = 4;

/// Kind of a sculpt whose form is a mesh, in its lowest bits.
const SCULPT_MESH: u8 = 5;
const SCULPT_KIND_BITS: u8 = 7;

/// The place of an asset in a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReferenceRole {
    /// Texture of a face, or of all others.
    FaceTexture(Option<u8>),
    /// Legacy material of a face, or of all others.
    FaceMaterial(Option<u8>),
    /// Texture with the form of a sculpt.
    Sculpt,
    /// The mesh that the part shows.
    Mesh,
    /// Texture that a light projects.
    LightImage,
    /// Render material of a face.
    RenderMaterial(u8),
    /// Texture in an override of a face's render material.
    OverrideTexture(u8),
    /// Looped sound.
    Sound,
    /// Sound of collisions.
    CollisionSound,
    /// Texture of particles.
    ParticleTexture,
    /// Animation of an animated mesh.
    Animation,
    /// Texture of a legacy material whose content stands in the part.
    MaterialTexture,
    /// An item, by its place, with its name and the kind of its asset.
    Content {
        /// Place in the list, from 0.
        index: usize,
        /// Its name.
        name: Arc<str>,
        /// Kind of the asset, in the protocol's numbers.
        asset_type: i8,
    },
}

/// An asset, and the place that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetReference {
    /// The asset; never null.
    pub asset: Uuid,
    /// The part: 0 for the root.
    pub part: usize,
    /// The place in it.
    pub role: ReferenceRole,
}

impl AssetReference {
    /// Kind of the asset by its place, in the protocol's numbers: 0 for textures, 1 for sounds, 20 for animations, 49 for meshes, 57 for materials.
    /// `None` for legacy materials, which have a form of their own.
    #[must_use]
    pub const fn asset_type(&self) -> Option<i8> {
        match self.role {
            ReferenceRole::FaceTexture(_)
            | ReferenceRole::Sculpt
            | ReferenceRole::LightImage
            | ReferenceRole::OverrideTexture(_)
            | ReferenceRole::ParticleTexture
            | ReferenceRole::MaterialTexture => Some(0),
            ReferenceRole::Sound | ReferenceRole::CollisionSound => Some(1),
            ReferenceRole::Animation => Some(20),
            ReferenceRole::Mesh => Some(49),
            ReferenceRole::RenderMaterial(_) => Some(57),
            ReferenceRole::FaceMaterial(_) => None,
            ReferenceRole::Content { asset_type, .. } => Some(asset_type),
        }
    }
}

impl fmt::Display for ReferenceRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_face = |f: &mut fmt::Formatter<'_>, name: &str, face: Option<u8>| match face {
            Some(face) => write!(f, "{name} of face {face}"),
            None => write!(f, "{name}"),
        };
        match self {
            Self::FaceTexture(face) => of_face(f, "texture", *face),
            Self::FaceMaterial(face) => of_face(f, "legacy material", *face),
            Self::Sculpt => f.write_str("sculpt"),
            Self::Mesh => f.write_str("mesh"),
            Self::LightImage => f.write_str("image of the light"),
            Self::RenderMaterial(face) => of_face(f, "render material", Some(*face)),
            Self::OverrideTexture(face) => of_face(f, "texture in the render material", Some(*face)),
            Self::Sound => f.write_str("sound"),
            Self::CollisionSound => f.write_str("sound of collisions"),
            Self::ParticleTexture => f.write_str("texture of particles"),
            Self::Animation => f.write_str("animation"),
            Self::MaterialTexture => f.write_str("texture of a legacy material"),
            Self::Content { name, .. } => write!(f, "item {name:?}"),
        }
    }
}

impl fmt::Display for AssetReference {
    /// `root, texture of face 3`; `part 2, item "Script"`, with parts counted from the root, which is part 1.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            0 => write!(f, "root, {}", self.role),
            part => write!(f, "part {}, {}", part + 1, self.role),
        }
    }
}

/// Assets of a linkset.
pub(super) fn of_group(group: &SceneGroup) -> Vec<AssetReference> {
    let mut found = Vec::new();
    for (part, scene_part) in group.parts().enumerate() {
        of_part(scene_part, &mut |asset: Uuid, role| {
            // A texture of all bits stands for none.
            if !asset.is_nil() && !asset.is_max() {
                found.push(AssetReference { asset, part, role });
            }
        });
    }
    found
}

fn of_part(part: &ScenePart, add: &mut impl FnMut(Uuid, ReferenceRole)) {
    let body = &*part.body;
    of_textures(&body.texture_entry, add);
    of_extra_params(body, add);
    for (face, changes) in body.overrides.iter().flat_map(|overrides| overrides.faces()) {
        changes.textures.iter().flatten().for_each(|id| add(*id, ReferenceRole::OverrideTexture(face)));
    }
    if let Some(sound) = body.sound {
        add(sound.id, ReferenceRole::Sound);
    }
    if let Some(texture) = particle_texture(&body.particles) {
        add(texture, ReferenceRole::ParticleTexture);
    }
    let items = body.contents.iter().flat_map(|contents| &contents.items).enumerate();
    for (index, item) in items {
        let role =
            ReferenceRole::Content { index, name: Arc::clone(&item.name), asset_type: item.asset_type };
        add(item.asset, role);
    }
    if let Some(carried) = &body.carried {
        let kept = KeptData::of(carried.as_bytes());
        kept.scope(KeptScopeKind::Part).into_iter().for_each(|scope| of_kept(scope, add));
    }
}

/// Textures and legacy materials of faces; of a face only those that other faces do not have.
fn of_textures(entry: &[u8], add: &mut impl FnMut(Uuid, ReferenceRole)) {
    let Ok(TextureEntry { default, faces }) = TextureEntry::decode(entry) else { return };
    add(default.texture_id, ReferenceRole::FaceTexture(None));
    add(default.material_id, ReferenceRole::FaceMaterial(None));
    for (face, own) in faces {
        if own.texture_id != default.texture_id {
            add(own.texture_id, ReferenceRole::FaceTexture(Some(face)));
        }
        if own.material_id != default.material_id {
            add(own.material_id, ReferenceRole::FaceMaterial(Some(face)));
        }
    }
}

fn of_extra_params(body: &Body, add: &mut impl FnMut(Uuid, ReferenceRole)) {
    let params = &body.extra_params;
    if let Some((id, kind)) = params.sculpt() {
        let is_mesh = kind & SCULPT_KIND_BITS == SCULPT_MESH;
        add(id, if is_mesh { ReferenceRole::Mesh } else { ReferenceRole::Sculpt });
    }
    if let Some(id) = params.get(ExtraParam::LightImage).and_then(|data| id_at(data, 0)) {
        add(id, ReferenceRole::LightImage);
    }
    for (face, id) in params.render_materials() {
        add(id, ReferenceRole::RenderMaterial(face));
    }
}

/// Texture of particles, in their old form or in the new one, which begins with a number.
fn particle_texture(block: &[u8]) -> Option<Uuid> {
    match block.len() {
        PARTICLES_LEN => id_at(block, PARTICLE_TEXTURE_AT),
        len if len > PARTICLES_LEN => id_at(block, PARTICLES_HEAD_LEN + PARTICLE_TEXTURE_AT),
        _ => None,
    }
}

fn id_at(bytes: &[u8], at: usize) -> Option<Uuid> {
    bytes.get(at..)?.first_chunk().map(|id| Uuid::from_bytes(*id))
}

/// Assets in elements that are no part of the model.
fn of_kept(scope: &KeptScope, add: &mut impl FnMut(Uuid, ReferenceRole)) {
    if let Some(id) = read_kept(scope, "CollisionSound", |element| values::id(element).ok()) {
        add(id, ReferenceRole::CollisionSound);
    }
    let animations = read_kept(scope, "SOPAnims", |element| values::bytes(element).ok());
    for id in animations.iter().flat_map(|bytes| animation_ids(bytes)) {
        add(id, ReferenceRole::Animation);
    }
    let attributes = read_kept(scope, "DynAttrs", |element| {
        let inner = element.inner();
        let limits = llsd::Limits { bytes_max: inner.len(), values_max: 65_536 };
        llsd::xml::decode(inner.as_bytes(), limits).ok()
    });
    let materials = attributes
        .as_ref()
        .map_or(&Llsd::Undef, |attributes| attributes.get("OpenSim").get("Materials").get("Materials"));
    for material in materials.as_array() {
        for name in ["NormMap", "SpecMap"] {
            let id = material.get("Material").get(name).as_uuid();
            id.into_iter().for_each(|id| add(id, ReferenceRole::MaterialTexture));
        }
    }
}

/// The value of a kept element.
fn read_kept<T>(scope: &KeptScope, name: &str, read: impl FnOnce(&XmlElement<'_>) -> Option<T>) -> Option<T> {
    let markup = scope.markup(&PART, name)?;
    let document = XmlDocument::parse(markup.as_bytes(), &XmlLimits::SMALL).ok()?;
    read(&document.root())
}

/// Animations: their number U16, then for each the id, the length of its name U8, and the name.
fn animation_ids(bytes: &[u8]) -> Vec<Uuid> {
    let mut ids = Vec::new();
    let Some((count, mut rest)) = bytes.split_first_chunk() else { return ids };
    for _ in 0..u16::from_le_bytes(*count) {
        let Some((id, behind)) = rest.split_first_chunk::<16>() else { break };
        let Some((&len, behind)) = behind.split_first() else { break };
        ids.push(Uuid::from_bytes(*id));
        rest = behind.get(usize::from(len)..).unwrap_or_default();
    }
    ids
}

/// `CreatorData` of a part or an item.
pub(super) fn creator_data(carried: &[u8], kind: KeptScopeKind) -> Option<String> {
    let kept = KeptData::of(carried);
    let table = if kind == KeptScopeKind::Item { &ITEM } else { &PART };
    let markup = kept.scope(kind)?.markup(table, "CreatorData")?;
    let document = XmlDocument::parse(markup.as_bytes(), &XmlLimits::SMALL).ok()?;
    let text = document.root().text()?.into_owned();
    (!text.is_empty()).then_some(text)
}
