//! The house of the library: one room with an opening for a door in the front, towards −y, below a roof with its ridge along x.

use super::objects::{Part, ROOF, WALLS, WOOD};
use glam::{Quat, Vec2, Vec3, vec3};
use prim::Shape;

/// Metres along x and y.
const SIDES_M: Vec2 = Vec2::new(8.0, 6.0);
/// Thickness of the floor, of walls and of the roof.
const FLOOR_M: f32 = 0.2;
const WALL_M: f32 = 0.2;
const ROOF_M: f32 = 0.15;
/// Height of walls above the floor.
const HEIGHT_M: f32 = 2.8;
/// Height of the ridge above the walls.
const RISE_M: f32 = 1.75;
/// Length of the roof beyond the walls: down its slope, and at each end.
const EAVES_M: f32 = 0.4;
/// Width and height of the opening.
pub(super) const DOOR_M: Vec2 = Vec2::new(1.4, 2.3);
/// A box whose top is a line along x: code of a scale of 0.
const WEDGE: Shape = Shape { path_scale_y: 200, ..Shape::BOX };

/// Its parts. The floor is the root.
pub(super) fn parts() -> Vec<Part> {
    let Vec2 { x: length, y: width } = SIDES_M;
    let foot = FLOOR_M / 2.0;
    let middle = foot + HEIGHT_M / 2.0;
    // Centres of the walls along y, of those at the ends along x.
    let (along, end) = ((width - WALL_M) / 2.0, (length - WALL_M) / 2.0);
    let between = vec3(WALL_M, width - 2.0 * WALL_M, HEIGHT_M);
    let beside = vec3((length - DOOR_M.x) / 2.0, WALL_M, HEIGHT_M);
    let at_beside = (length - beside.x) / 2.0;
    let above = vec3(DOOR_M.x, WALL_M, HEIGHT_M - DOOR_M.y);
    let gable = vec3(WALL_M, width, RISE_M);
    let eaves = foot + HEIGHT_M;
    let wall = |name, size, position| Part::new(name, size, position, WALLS);
    let at_gable = |x| Part { shape: WEDGE, ..wall("Gable", gable, vec3(x, 0.0, eaves + RISE_M / 2.0)) };
    vec![
        Part::new("House", vec3(length, width, FLOOR_M), Vec3::ZERO, WOOD),
        wall("Back wall", vec3(length, WALL_M, HEIGHT_M), vec3(0.0, along, middle)),
        wall("Left wall", between, vec3(-end, 0.0, middle)),
        wall("Right wall", between, vec3(end, 0.0, middle)),
        wall("Front wall, left", beside, vec3(-at_beside, -along, middle)),
        wall("Front wall, right", beside, vec3(at_beside, -along, middle)),
        wall("Lintel", above, vec3(0.0, -along, foot + DOOR_M.y + above.z / 2.0)),
        at_gable(-end),
        at_gable(end),
        slope(1.0, eaves),
        slope(-1.0, eaves),
    ]
}

/// One side of the roof, towards +y or −y by the sign `side`. Its lower face lies on the wall, whose top is at `eaves`.
fn slope(side: f32, eaves: f32) -> Part {
    let down = vec3(0.0, side * SIDES_M.y / 2.0, -RISE_M);
    // Both sides cross above the ridge, where their upper faces would leave a gap.
    let beyond_ridge = ROOF_M * RISE_M / (SIDES_M.y / 2.0);
    let below_ridge = down.length() + EAVES_M;
    let size = vec3(SIDES_M.x + 2.0 * EAVES_M, below_ridge + beyond_ridge, ROOF_M);
    let rotation = Quat::from_rotation_arc(side * Vec3::Y, down.normalize());
    let from_ridge = vec3(0.0, side * (below_ridge - beyond_ridge) / 2.0, ROOF_M / 2.0);
    let position = vec3(0.0, 0.0, eaves + RISE_M) + rotation * from_ridge;
    Part { rotation, ..Part::new("Roof", size, position, ROOF) }
}
