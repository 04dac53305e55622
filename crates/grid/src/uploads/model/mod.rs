//! Models as viewers upload them: meshes and textures as binaries, and the parts of the object that is made of them.
//!
//! ```text
//! asset_resources = {mesh_list: [binary], texture_list: [binary], instance_list: [part]}
//! part            = {mesh: index, position, rotation, scale, material, physics_shape_type, mesh_name, face_list: [face]}
//! face            = {image: index, diffuse_color, fullbright, imagerot, offsets, offsett, scales, scalet}
//! ```
//!
//! Both requests of an upload have them. The first one is for a price, and may leave the bytes of textures out. [`linkset`] makes prims of the parts, [`object`]
//! the asset of the object.

pub(super) mod linkset;
pub(super) mod object;
#[cfg(test)]
pub(super) mod tests;

use assets::{AssetKind, SizeLimits, Unfit, check_asset};
use bytes::Bytes;
use glam::{Quat, Vec2, Vec3};
use prim::body::SIZE_RANGE_M;
use std::collections::BTreeMap;
use wire::llsd::{Limits, Llsd};
use wire::texture_entry::FACES_MAX;

/// Bytes of a request with a model, in which binaries take four thirds of theirs. A mesh of the default limit fits.
pub const MODEL_BODY_BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// Limits of its decoder. A part with eight faces has some 120 values.
pub const MODEL_LIMITS: Limits = Limits { bytes_max: MODEL_BODY_BYTES_MAX, values_max: 65_536 };

/// Parts of a model, as of a linkset.
const PARTS_MAX: usize = 256;
/// Meshes, and textures.
const FILES_MAX: usize = 256;
/// Metres of a part from the origin along each axis.
const POSITION_MAX_M: f32 = 4_096.0;

/// Reason for which no object can be made of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadModel {
    /// A list is absent or empty.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// A list is too long.
    #[error("it has {count} {what}, at most {max} are taken")]
    TooMany {
        /// Name of the elements, in the plural.
        what: &'static str,
        /// Their number.
        count: usize,
        /// The limit.
        max: usize,
    },
    /// An element of a list is no binary.
    #[error("one of its {0} is no file")]
    NoFile(&'static str),
    /// A field of a part that it cannot have.
    #[error("part {part} has no valid {field}")]
    Part {
        /// Number of the part, from 1 on.
        part: usize,
        /// Name of the field.
        field: &'static str,
    },
    /// A part is larger than a prim can be.
    #[error("part {part} is larger than {max} m", max = SIZE_RANGE_M.1)]
    TooLarge {
        /// Number of the part, from 1 on.
        part: usize,
    },
    /// A mesh or a texture is none.
    #[error(transparent)]
    Unfit(#[from] Unfit),
}

/// A model whose indexes lead to its files.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Model {
    pub(super) meshes: Vec<Bytes>,
    /// Those without bytes are left out, when the request is for a price.
    pub(super) textures: Vec<Bytes>,
    /// The root first.
    pub(super) parts: Vec<ModelPart>,
}

/// A part: an instance of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelPart {
    /// Index of its mesh.
    pub(super) mesh: usize,
    pub(super) name: String,
    /// Metres, and directions, in the space of all parts.
    pub(super) position: Vec3,
    pub(super) rotation: Quat,
    /// Metres.
    pub(super) scale: Vec3,
    /// As messages have them.
    pub(super) material: u8,
    pub(super) physics_shape: u8,
    pub(super) faces: Vec<ModelFace>,
}

/// Paint of a face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ModelFace {
    /// Index of its texture, if it has one.
    pub(super) texture: Option<usize>,
    /// Red, green, blue and opacity.
    pub(super) color: [u8; 4],
    pub(super) is_fullbright: bool,
    pub(super) repeats: Vec2,
    /// Parts of the image.
    pub(super) offset: Vec2,
    /// Radians.
    pub(super) rotation: f32,
}

/// Codes of a part that states none: wood, and the convex hull.
const MATERIAL: u8 = 3;
const PHYSICS_SHAPE: u8 = 2;

impl Model {
    /// Reads a model, whose binaries it takes out of the request.
    pub(super) fn read(resources: Llsd, limits: &SizeLimits) -> Result<Self, BadModel> {
        let Llsd::Map(mut lists) = resources else {
            return Err(BadModel::Missing("lists of files and parts"));
        };
        let meshes = files(&mut lists, "mesh_list", "meshes")?;
        if meshes.is_empty() {
            return Err(BadModel::Missing("meshes"));
        }
        let textures = files(&mut lists, "texture_list", "textures")?;
        for mesh in &meshes {
            check_asset(AssetKind::Mesh, mesh, limits)?;
        }
        for texture in textures.iter().filter(|texture| !texture.is_empty()) {
            check_asset(AssetKind::Texture, texture, limits)?;
        }
        let instances = lists.get("instance_list").map(Llsd::as_array).unwrap_or_default();
        check_count("parts", instances.len(), PARTS_MAX)?;
        if instances.is_empty() {
            return Err(BadModel::Missing("parts"));
        }
        let files = (meshes.len(), textures.len());
        let parts = instances.iter().zip(1..).map(|(instance, number)| read_part(instance, number, files));
        let parts = parts.collect::<Result<_, _>>()?;
        Ok(Self { meshes, textures, parts })
    }
}

/// The binaries of a list, which may be absent.
fn files(lists: &mut BTreeMap<String, Llsd>, key: &str, what: &'static str) -> Result<Vec<Bytes>, BadModel> {
    let Some(Llsd::Array(values)) = lists.remove(key) else { return Ok(Vec::new()) };
    check_count(what, values.len(), FILES_MAX)?;
    let file = |value| match value {
        Llsd::Binary(bytes) => Ok(Bytes::from(bytes)),
        _ => Err(BadModel::NoFile(what)),
    };
    values.into_iter().map(file).collect()
}

const fn check_count(what: &'static str, count: usize, max: usize) -> Result<(), BadModel> {
    if count > max { Err(BadModel::TooMany { what, count, max }) } else { Ok(()) }
}

fn read_part(
    instance: &Llsd,
    part: usize,
    (n_meshes, n_textures): (usize, usize),
) -> Result<ModelPart, BadModel> {
    let invalid = |field| BadModel::Part { part, field };
    let vector = |field| {
        let vector = instance.get(field).as_vec3().filter(|vector| vector.is_finite());
        vector.ok_or_else(|| invalid(field))
    };
    let mesh = index(instance.get("mesh"), n_meshes).ok_or_else(|| invalid("mesh"))?;
    let (position, scale) = (vector("position")?, vector("scale")?);
    if position.abs().max_element() > POSITION_MAX_M {
        return Err(invalid("position"));
    }
    if scale.min_element() <= 0.0 {
        return Err(invalid("scale"));
    }
    if scale.max_element() > SIZE_RANGE_M.1 {
        return Err(BadModel::TooLarge { part });
    }
    let rotation = rotation(instance.get("rotation")).ok_or_else(|| invalid("rotation"))?;
    let faces = instance.get("face_list").as_array();
    check_count("faces on a part", faces.len(), FACES_MAX.into())?;
    let read = |face| read_face(face, n_textures).ok_or_else(|| invalid("face"));
    Ok(ModelPart {
        mesh,
        name: instance.get("mesh_name").as_str().unwrap_or_default().to_owned(),
        position,
        rotation,
        scale: scale.max(Vec3::splat(SIZE_RANGE_M.0)),
        material: code(instance.get("material"), MATERIAL),
        physics_shape: code(instance.get("physics_shape_type"), PHYSICS_SHAPE),
        faces: faces.iter().map(read).collect::<Result<_, _>>()?,
    })
}

fn read_face(face: &Llsd, n_textures: usize) -> Option<ModelFace> {
    let number = |key, default: f64| {
        let value = match face.get(key) {
            Llsd::Undef => Some(default),
            value => value.as_f64(),
        };
        value.map(|value| value as f32).filter(|value| value.is_finite())
    };
    let texture = match face.get("image") {
        Llsd::Undef => None,
        value => Some(index(value, n_textures)?),
    };
    let color = match face.get("diffuse_color").as_array() {
        [] => [255; 4],
        [r, g, b, rest @ ..] => {
            let opacity = rest.first().map_or(Some(1.0), Llsd::as_f64)?;
            // Beyond the range, and for no number, the nearest that there is.
            [r.as_f64()?, g.as_f64()?, b.as_f64()?, opacity].map(|value| (value * 255.0).round() as u8)
        }
        _ => return None,
    };
    Some(ModelFace {
        texture,
        color,
        is_fullbright: face.get("fullbright").as_bool().unwrap_or(false),
        repeats: Vec2::new(number("scales", 1.0)?, number("scalet", 1.0)?),
        offset: Vec2::new(number("offsets", 0.0)?, number("offsett", 0.0)?),
        rotation: number("imagerot", 0.0)?,
    })
}

/// A unit quaternion from x, y, z and w; none of no direction.
fn rotation(value: &Llsd) -> Option<Quat> {
    let [x, y, z, w] = value.as_array() else { return None };
    let [x, y, z, w] = [x.as_f64()?, y.as_f64()?, z.as_f64()?, w.as_f64()?].map(|part| part as f32);
    let rotation = Quat::from_xyzw(x, y, z, w);
    let length = rotation.length();
    // Of numbers that are too large for the sum of their squares, too.
    (length.is_finite() && length > 1e-3).then(|| rotation.normalize())
}

fn index(value: &Llsd, count: usize) -> Option<usize> {
    let index = usize::try_from(value.as_i32()?).ok()?;
    (index < count).then_some(index)
}

fn code(value: &Llsd, default: u8) -> u8 {
    value.as_i32().and_then(|code| u8::try_from(code).ok()).unwrap_or(default)
}
