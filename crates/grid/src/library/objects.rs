//! Objects of the library: linksets of plain prims, as assets in the form that inventories have.

use super::house::DOOR_M;
use super::textures::{BRICKS, ROOF_TILES};
use super::{CREATED_S, LIBRARY_OWNER, PARTS};
use archive::object::{PartPlace, SceneGroup, ScenePart, WriteOptions, XmlForm, write_group};
use glam::{Quat, Vec3, vec3};
use ids::{AgentId, PLYWOOD_TEXTURE, Uuid};
use prim::{Body, HoverText, Mask, Material, Names, Ownership, Permissions, Shape, ShapeKind, SitTarget};
use std::sync::Arc;
use wire::texture_entry::{BLANK_TEXTURE, Face, TextureEntry};

/// A part of an object. The first one of an object is its root.
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    /// Metres.
    pub(super) size: Vec3,
    /// Centre, metres from the root's.
    pub(super) position: Vec3,
    /// Against the root.
    pub(super) rotation: Quat,
    pub(super) paint: Paint,
    pub(super) hover_text: HoverText,
    pub(super) sit_target: Option<SitTarget>,
}

/// Texture and matter of a part.
#[derive(Clone, Copy)]
pub(super) struct Paint {
    texture: Uuid,
    /// Metres that the texture covers once.
    tile_m: f32,
    /// Red, green, blue, opacity.
    color: [u8; 4],
    material: Material,
}

const WHITE: [u8; 4] = [255; 4];
pub(super) const WOOD: Paint =
    Paint { texture: PLYWOOD_TEXTURE, tile_m: 1.0, color: WHITE, material: Material::Wood };
pub(super) const WALLS: Paint =
    Paint { texture: BRICKS, tile_m: 1.0, color: WHITE, material: Material::Stone };
pub(super) const ROOF: Paint =
    Paint { texture: ROOF_TILES, tile_m: 1.5, color: WHITE, material: Material::Stone };
const DARK_WOOD: Paint = Paint { color: [150, 110, 80, 255], ..WOOD };
const BOARD: Paint = Paint { texture: BLANK_TEXTURE, color: [236, 228, 206, 255], ..WOOD };

/// Colour of texts: red, green, blue, and as in messages 0 for opaque.
const TEXT_COLOR: [u8; 4] = [255, 255, 255, 0];
/// Diameter of legs, metres.
const LEG_M: f32 = 0.06;

impl Part {
    /// A box without a turn.
    pub(super) fn new(name: &'static str, size: Vec3, position: Vec3, paint: Paint) -> Self {
        Self {
            name,
            shape: Shape::BOX,
            size,
            position,
            rotation: Quat::IDENTITY,
            paint,
            hover_text: HoverText::default(),
            sit_target: None,
        }
    }

    /// Its faces, each with as many repetitions as it has room for. Those of a box are its top, the sides towards −y, +x, +y and −x, and the bottom.
    fn texture_entry(&self) -> TextureEntry {
        let Paint { texture, tile_m, color, .. } = self.paint;
        let Vec3 { x, y, z } = self.size;
        let face = |[across, up]: [f32; 2]| Face {
            color,
            repeat_u: across / tile_m,
            repeat_v: up / tile_m,
            ..Face::plain(texture)
        };
        let faces = [[x, y], [x, z], [y, z], [x, z], [y, z], [x, y]].map(face);
        TextureEntry { default: faces[1], faces: (0..).zip(faces).collect() }
    }

    /// With everything for its owner and the next ones, nothing for others.
    fn body(self, id: Uuid) -> Body {
        let owner = AgentId(LIBRARY_OWNER);
        let ownership = Ownership {
            creator: owner,
            owner,
            last_owner: owner,
            group: Uuid::nil(),
            permissions: Permissions { next_owner: Mask::ALL, ..Permissions::NEW },
        };
        let created_us = CREATED_S.unsigned_abs() * 1_000_000;
        let plain = Body::new(id, self.shape, self.texture_entry().encode().into(), owner, created_us);
        Body {
            material: self.paint.material,
            scale: self.size,
            hover_text: self.hover_text,
            names: Names { name: self.name.into(), ..Names::default() },
            ownership: Arc::new(ownership),
            sit_target: self.sit_target,
            ..plain
        }
    }
}

/// The asset of an object, by the number of its entry. Low halves of the ids of its parts are this number and, in the lowest byte, the number of the part.
///
/// # Panics
/// Without parts.
pub(super) fn document(number: u64, parts: Vec<Part>) -> String {
    let mut parts = (0..).zip(parts).map(|(n, part)| {
        let place = PartPlace { position: part.position, rotation: part.rotation, ..PartPlace::default() };
        let id = Uuid::from_u64_pair(PARTS, number << 8 | n);
        ScenePart { place, flags: 0, body: Arc::new(part.body(id)) }
    });
    let root = parts.next().expect("an object has a root");
    let group = SceneGroup { root, others: parts.collect() };
    write_group(&group, &WriteOptions { form: XmlForm::Original, ..WriteOptions::default() })
}

/// Its back is towards −x.
pub(super) fn chair() -> Vec<Part> {
    let (seat, back) = (vec3(0.48, 0.48, 0.06), vec3(0.05, 0.48, 0.55));
    let target = SitTarget { position: vec3(0.04, 0.0, 0.05), rotation: Quat::IDENTITY };
    let at_back = vec3((back.x - seat.x) / 2.0, 0.0, (seat.z + back.z) / 2.0);
    let mut parts = vec![
        Part { sit_target: Some(target), ..Part::new("Chair", seat, Vec3::ZERO, WOOD) },
        Part::new("Back", back, at_back, WOOD),
    ];
    parts.extend(legs(seat, 0.42));
    parts
}

pub(super) fn table() -> Vec<Part> {
    let top = vec3(1.4, 0.8, 0.05);
    let mut parts = vec![Part::new("Table", top, Vec3::ZERO, WOOD)];
    parts.extend(legs(top, 0.7));
    parts
}

/// A board on a post.
pub(super) fn sign() -> Vec<Part> {
    let (board, post) = (vec3(1.2, 0.06, 0.6), vec3(0.08, 0.08, 1.4));
    let hover_text = HoverText { text: "Welcome!".into(), color: TEXT_COLOR };
    let below = vec3(0.0, 0.0, -(board.z + post.z) / 2.0);
    vec![
        Part { hover_text, ..Part::new("Sign", board, Vec3::ZERO, BOARD) },
        round(Part::new("Post", post, below, DARK_WOOD)),
    ]
}

/// Half of a box: its profile is cut from the middle of one side to the middle of the opposite one, so that the centre is at the edge.
pub(super) fn door() -> Vec<Part> {
    // 0.375 and 0.875 of the profile; the end counts from the end.
    let shape = Shape { profile_begin: 18_750, profile_end: 6_250, ..Shape::BOX };
    let size = vec3(2.0 * DOOR_M.x, 0.08, DOOR_M.y);
    vec![Part { shape, ..Part::new("Door", size, Vec3::ZERO, DARK_WOOD) }]
}

/// Four legs below a board.
fn legs(board: Vec3, height: f32) -> impl Iterator<Item = Part> {
    let at = vec3((board.x - LEG_M) / 2.0, (board.y - LEG_M) / 2.0, -(board.z + height) / 2.0);
    let corners = [vec3(1.0, 1.0, 1.0), vec3(1.0, -1.0, 1.0), vec3(-1.0, 1.0, 1.0), vec3(-1.0, -1.0, 1.0)];
    let size = vec3(LEG_M, LEG_M, height);
    let leg = move |corner: Vec3| round(Part::new("Leg", size, at * corner, DARK_WOOD));
    corners.into_iter().map(leg)
}

/// The same part as a cylinder.
fn round(part: Part) -> Part {
    Part { shape: Shape::plain(ShapeKind::Cylinder), ..part }
}
