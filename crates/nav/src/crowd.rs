//! Walkers among others: neighbours, steering around them, and the step itself.
//!
//! Walkers move one after the other, each with the positions of the others at that moment. No two move at once, so a walker that avoids
//! contact by its own step is free of contact. [`Neighbours`] finds nearby bodies and is updated at every step, [`steer()`] turns a
//! preferred velocity into a velocity, [`advance`] takes the step on the mesh, and [`walk`] does both.

mod neighbours;
mod steer;

use crate::mesh::{MeshPoint, NavMesh};
use glam::Vec2;

pub use neighbours::{Nearby, Neighbours};
pub use steer::steer;

/// Most neighbours that count: the nearest. Eight make a ring around a walker.
pub const NEIGHBOURS_MAX: usize = 8;

/// Distance between axes within which others count, metres. Two seconds of walking toward each other would be 13 m, but farther walkers
/// are hidden behind nearer ones, and turning aside 5 m before looks natural.
pub const REACH_M: f32 = 5.0;

/// Greatest overlap of two walkers of which one is stuck, metres: they turn their shoulders. An avatar is 0.6 m wide and 0.45 m deep,
/// so this is the gain of both together. Without it a body in a door 1 m wide would be a wall.
pub const OVERLAP_MAX_M: f32 = 0.15;

/// Bodies this far apart upright do not meet: they are on different storeys, metres.
pub const STOREY_M: f32 = 1.8;

/// Speed below which the rest of an obstructed step is dropped, metres a second: rounding moves no walker.
const CREEP_M_PER_S: f32 = 0.05;

/// A body that is or may be in the way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrowdBody {
    /// Axis, metres from the region's south-west corner.
    pub at: Vec2,
    /// Velocity, metres a second.
    pub velocity: Vec2,
    /// Preferred velocity: the one that it would have without obstacles; zero if it stands.
    pub preferred: Vec2,
    /// Height of the feet, metres.
    pub z: f32,
    /// Half of the width, metres.
    pub radius: f32,
    /// Metres to the next corner of its path ([`WalkStep::left_m`](crate::WalkStep::left_m)). If there is room for one only and neither
    /// is behind the other, the nearer one goes first; 0 for bodies that never give way, as visitors' avatars.
    pub left_m: f32,
}

/// The moving body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SteeredBody {
    /// Its place, present velocity and preferred velocity.
    pub body: CrowdBody,
    /// Stuck for a while: it turns its shoulders and pushes past those that it precedes ([`OVERLAP_MAX_M`]).
    pub pressing: bool,
}

/// A step that was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrowdStep {
    /// End of the step.
    pub spot: MeshPoint,
    /// Resulting velocity: the requested one bit for bit without obstacles, else the distance made ÷ time, or zero.
    pub velocity: Vec2,
    /// True if a wall was in the way.
    pub hindered: bool,
}

/// Takes a step on the mesh, along walls in the way. `dt` in seconds.
#[must_use]
#[inline]
pub fn advance(mesh: &NavMesh, from: MeshPoint, velocity: Vec2, dt: f32) -> CrowdStep {
    if velocity == Vec2::ZERO {
        return CrowdStep { spot: from, velocity, hindered: false };
    }
    let slid = mesh.slide(from, from.at + velocity * dt);
    if !slid.hindered {
        return CrowdStep { spot: slid.spot, velocity, hindered: false };
    }
    let made = (slid.spot.at - from.at) / dt;
    if made.length_squared() < CREEP_M_PER_S * CREEP_M_PER_S || !made.is_finite() {
        CrowdStep { spot: from, velocity: Vec2::ZERO, hindered: true }
    } else {
        CrowdStep { spot: slid.spot, velocity: made, hindered: true }
    }
}

/// Steers and takes the step. `others` are the nearest, without the mover itself.
#[must_use]
#[inline]
pub fn walk(
    mesh: &NavMesh,
    from: MeshPoint,
    mover: &SteeredBody,
    others: &[CrowdBody],
    dt: f32,
) -> CrowdStep {
    let velocity = steer(mover, others, dt);
    let step = advance(mesh, from, velocity, dt);
    if step.hindered && !others.is_empty() {
        along_wall(mesh, from, mover, others, velocity, step, dt)
    } else {
        step
    }
}

/// Steers again after a wall: the first choice did not know the wall, and may have turned toward it, or be led along it into another
/// body.
fn along_wall(
    mesh: &NavMesh,
    from: MeshPoint,
    mover: &SteeredBody,
    others: &[CrowdBody],
    velocity: Vec2,
    blind: CrowdStep,
    dt: f32,
) -> CrowdStep {
    let stay = CrowdStep { spot: from, velocity: Vec2::ZERO, hindered: true };
    let is_fair =
        |step: &CrowdStep| !others.iter().any(|other| steer::is_closer(mover, other, from.at, step.spot.at));
    let wall = (velocity - blind.velocity).normalize_or_zero();
    let knowing = advance(mesh, from, steer::steer_along(mover, others, wall, dt), dt);
    let gain = |step: &CrowdStep| (step.spot.at - from.at).dot(mover.body.preferred);
    let knowing = if is_fair(&knowing) { knowing } else { stay };
    let blind = if is_fair(&blind) { blind } else { stay };
    // To the side is better than nowhere.
    let is_better = gain(&knowing) > gain(&blind) || blind.velocity == Vec2::ZERO;
    CrowdStep { hindered: true, ..if is_better { knowing } else { blind } }
}
