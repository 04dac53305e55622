//! The object that is made of a model: a linkset with a prim for each part.

use super::{BadModel, Model, ModelFace, ModelPart};
use glam::{Quat, Vec3};
use ids::{AgentId, Uuid};
use prim::body::{NAME_MAX, TEXTURE_ENTRY_MAX};
use prim::{
    Body, ExtraParam, Mask, Material, Names, Ownership, Permissions, PhysicsShape, PrimPhysics, Shape,
};
use std::sync::Arc;
use store::Item;
use wire::texture_entry::{BLANK_TEXTURE, Face, TextureEntry};

/// The kind of a sculpt whose form is a mesh.
const SCULPT_MESH: u8 = 5;
/// Bit of a face's material field: fully bright.
const FULLBRIGHT: u8 = 0x20;

/// A prim with its place: the root's in the space of the model, that of the others against the root.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::uploads) struct PlacedPrim {
    pub(in crate::uploads) body: Body,
    pub(in crate::uploads) position: Vec3,
    pub(in crate::uploads) rotation: Quat,
}

/// Ids that the model's files have as assets.
#[derive(Clone, Copy, Debug)]
pub(in crate::uploads) struct FileIds<'a> {
    pub(in crate::uploads) meshes: &'a [Uuid],
    /// None for a texture without bytes.
    pub(in crate::uploads) textures: &'a [Option<Uuid>],
}

/// The prims of a model, the root first. They have the name and the masks of the item that holds them.
pub(in crate::uploads) fn prims<E>(
    model: &Model,
    files: FileIds<'_>,
    item: &Item,
    owner: AgentId,
    mut new_id: impl FnMut() -> Result<Uuid, E>,
) -> Result<Result<Vec<PlacedPrim>, BadModel>, E> {
    let Some(root) = model.parts.first() else { return Ok(Err(BadModel::Missing("parts"))) };
    let ownership = Arc::new(Ownership {
        creator: owner,
        owner,
        last_owner: owner,
        group: Uuid::nil(),
        permissions: permissions(&item.permissions),
    });
    let from_root = root.rotation.conjugate();
    let mut prims = Vec::with_capacity(model.parts.len());
    for (n, part) in model.parts.iter().enumerate() {
        let Some(body) = body(part, files, item, &ownership, new_id()?) else {
            return Ok(Err(BadModel::Part { part: n + 1, field: "faces" }));
        };
        let (position, rotation) = if n == 0 {
            (root.position, root.rotation)
        } else {
            (from_root * (part.position - root.position), (from_root * part.rotation).normalize())
        };
        prims.push(PlacedPrim { body, position, rotation });
    }
    Ok(Ok(prims))
}

/// A prim of a part; none if its faces have more values than a prim can have.
fn body(
    part: &ModelPart,
    files: FileIds<'_>,
    item: &Item,
    ownership: &Arc<Ownership>,
    id: Uuid,
) -> Option<Body> {
    let entry = texture_entry(&part.faces, files.textures);
    if entry.len() > TEXTURE_ENTRY_MAX {
        return None;
    }
    let created_us = u64::try_from(item.created_s).unwrap_or(0).saturating_mul(1_000_000);
    let body = Body::new(id, Shape::default(), entry.into(), ownership.creator, created_us);
    let sculpt = [&files.meshes[part.mesh].as_bytes()[..], &[SCULPT_MESH]].concat();
    let extra_params = body.extra_params.with(ExtraParam::Sculpt, Some(&sculpt)).ok()?;
    let name = if part.name.trim().is_empty() { item.name.as_str() } else { part.name.trim() };
    let physics = PrimPhysics {
        shape: PhysicsShape::of_code(part.physics_shape).unwrap_or(PhysicsShape::Convex),
        ..PrimPhysics::default()
    };
    Some(Body {
        material: Material::of_code(part.material).unwrap_or_default(),
        scale: part.scale,
        extra_params,
        names: Names { name: name_of(name).into(), ..Names::default() },
        ownership: Arc::clone(ownership),
        physics,
        ..body
    })
}

/// A name on one line, as short as prims have them.
fn name_of(name: &str) -> String {
    let mut name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    name.truncate(name.floor_char_boundary(NAME_MAX));
    name
}

fn texture_entry(faces: &[ModelFace], textures: &[Option<Uuid>]) -> Vec<u8> {
    let mut entry = TextureEntry::plain(BLANK_TEXTURE);
    entry.faces = (0..).zip(faces.iter().map(|face| painted(face, textures))).collect();
    entry.encode()
}

fn painted(face: &ModelFace, textures: &[Option<Uuid>]) -> Face {
    let texture = face.texture.and_then(|index| textures[index]).unwrap_or(BLANK_TEXTURE);
    let offset = face.offset.clamp(glam::Vec2::NEG_ONE, glam::Vec2::ONE);
    // Whole turns are none.
    let turns = (face.rotation / std::f32::consts::TAU).fract();
    Face {
        color: face.color,
        repeat_u: face.repeats.x,
        repeat_v: face.repeats.y,
        offset_u: (offset.x * 32_767.0).round() as i16,
        offset_v: (offset.y * 32_767.0).round() as i16,
        rotation: (turns * 32_767.0).round() as i16,
        material: if face.is_fullbright { FULLBRIGHT } else { 0 },
        ..Face::plain(texture)
    }
}

fn permissions(item: &store::Permissions) -> Permissions {
    Permissions {
        base: Mask::of_bits(item.base),
        owner: Mask::of_bits(item.owner),
        group: Mask::of_bits(item.group_mask),
        everyone: Mask::of_bits(item.everyone),
        next_owner: Mask::of_bits(item.next_owner),
    }
    .bounded()
}
