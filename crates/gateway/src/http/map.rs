//! Data of a world's map: its ground, and its avatars with their positions. All browsers get those of regions ([`super::live`]), the
//! operator's also those of instances.

use crate::land::water_m;
use crate::map_boxes::{Outline, outlines, static_prims};
use crate::places::Scene;
use axum::body::Bytes;
use glam::Vec2;
use ids::SessionKey;
use link::PortalTo;
use replicate::Replica;
use serde::Serialize;
use utoipa::ToSchema;

/// Samples along a side of the height map.
const HEIGHTS_SIDE: u32 = 128;
/// Kind of a binary frame.
const POSITIONS: u8 = 1;

/// A world with its avatars, as of its newest state. A world without a visitor so far is empty.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Map {
    /// Its number, by which frames of positions name it.
    pub world: u32,
    /// As shown.
    pub name: String,
    /// Metres along a side.
    pub size_m: u32,
    /// Height of the water, metres.
    pub water_m: f32,
    /// Avatars, in the order of frames of positions.
    pub avatars: Vec<Present>,
}

/// An avatar in a world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Present {
    /// Local id.
    pub id: u32,
    /// First and last name.
    pub name: String,
    /// True for an NPC.
    pub is_npc: bool,
}

impl Map {
    /// Map of a world's present state.
    #[must_use]
    pub fn of(scene: &Scene) -> Self {
        let (size_m, replica) = (scene.ground.size_m, scene.feed.current());
        let (water_m, avatars) = (water_m(&scene.ground, &replica), present(&replica));
        Self { world: scene.world.0, name: scene.name.clone(), size_m, water_m, avatars }
    }
}

/// The objects and portals of a world, as seen from above.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct MapObjects {
    /// Prims in the world; [`Self::boxes`] has 10,000 of them at most, the largest.
    pub n_boxes: usize,
    /// The box around each prim: x and y of its centre, width and depth, all in decimetres, and its turn about the upright axis in degrees
    /// (0 to 359, counter-clockwise from east).
    #[schema(value_type = Vec<[i32; 5]>)]
    pub boxes: Vec<Outline>,
    /// Portals.
    pub portals: Vec<MapPortal>,
}

/// A portal on a map.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct MapPortal {
    /// Metres east of the world's corner.
    pub x: f32,
    /// Metres north of it.
    pub y: f32,
    /// Metres.
    pub radius_m: f32,
    /// The template into an instance of which it leads; none: back to the world that the visitor came from.
    pub to: Option<String>,
}

impl MapObjects {
    /// Objects of a world: those of its newest picture if it was changed, else those of its description.
    #[must_use]
    pub fn of(scene: &Scene) -> Self {
        let (n_boxes, boxes) = match scene.redrawn() {
            Some(map) => (map.n_prims, map.outlines.clone()),
            None => {
                let prims = static_prims(&scene.ground.scenery);
                (prims.len(), outlines(&prims))
            }
        };
        let portals = scene.portals.iter().map(|portal| MapPortal {
            x: portal.at.x,
            y: portal.at.y,
            radius_m: portal.radius_m,
            to: match &portal.to {
                PortalTo::Own(template) => Some(template.to_string()),
                PortalTo::Back => None,
            },
        });
        Self { n_boxes, boxes, portals: portals.collect() }
    }
}

/// All avatars in a world.
pub(super) fn present(replica: &Replica) -> Vec<Present> {
    replica
        .entities()
        .map(|(_, hot, slot)| Present {
            id: hot.id,
            name: format!("{} {}", slot.first_name, slot.last_name),
            is_npc: slot.session == SessionKey::NODE,
        })
        .collect()
}

/// Ground of a world's newest state: 128² little-endian `f32` in metres, rows from south to north.
#[must_use]
pub fn heights(scene: &Scene) -> Vec<u8> {
    let (ground, replica) = (&scene.ground, scene.feed.current());
    let step = ground.size_m as f32 / HEIGHTS_SIDE as f32;
    let centre = |n: u32| (n as f32 + 0.5) * step;
    let height = |n: u32| {
        let at = Vec2::new(centre(n % HEIGHTS_SIDE), centre(n / HEIGHTS_SIDE));
        let edited = replica.land().and_then(|land| land.edited_height(at));
        edited.unwrap_or_else(|| ground.terrain.height(at.x, at.y))
    };
    (0..HEIGHTS_SIDE * HEIGHTS_SIDE).flat_map(|n| height(n).to_le_bytes()).collect()
}

/// Positions of all avatars in a world: see `positions`. The world is given by its number.
#[must_use]
pub fn positions_in(scene: &Scene) -> Bytes {
    positions(scene.world.0, scene.ground.size_m, &scene.feed.current())
}

/// Kind, region, count; then for each avatar id, x and y over the region's size, direction and speed.
pub(super) fn positions(region: u32, size_m: u32, replica: &Replica) -> Bytes {
    let mut out = Vec::with_capacity(9 + replica.n_entities() * 10);
    out.push(POSITIONS);
    out.extend_from_slice(&region.to_le_bytes());
    out.extend_from_slice(&(replica.n_entities() as u32).to_le_bytes());
    let along = |metres: f32| (metres / size_m as f32 * 65_535.0).clamp(0.0, 65_535.0) as u16;
    for (_, hot, slot) in replica.entities() {
        let facing = slot.motion.rotation * glam::Vec3::X;
        let turn = facing.y.atan2(facing.x).rem_euclid(std::f32::consts::TAU) / std::f32::consts::TAU;
        let speed = slot.motion.velocity.length() * 10.0;
        out.extend_from_slice(&hot.id.to_le_bytes());
        out.extend_from_slice(&along(hot.position.x).to_le_bytes());
        out.extend_from_slice(&along(hot.position.y).to_le_bytes());
        out.push((turn * 256.0) as u8);
        out.push(speed.clamp(0.0, 255.0) as u8);
    }
    out.into()
}
