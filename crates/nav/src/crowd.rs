//! Walkers among others: who is near, which way around them, and the step itself.
//!
//! Walkers are moved one after the other, each with the places of the others as they are at that moment: nobody moves while
//! somebody else does, so whoever keeps out of contact by its own step alone is kept out of contact. [`Neighbours`] tells who is near and is told of
//! every step, [`steer()`] turns a wish into a velocity, [`advance`] takes the step on the mesh, and [`walk`] is both.

mod neighbours;
mod steer;

use crate::mesh::{NavMesh, Spot};
use glam::Vec2;

pub use neighbours::{Nearby, Neighbours};
pub use steer::steer;

/// Most neighbours that count: the nearest. Eight make a ring around a walker.
pub const NEIGHBOURS_MAX: usize = 8;

/// Within this distance between axes others count, metres: two seconds of walking toward each other would be 13 m, but who is beyond
/// some bodies is hidden by them, and turning aside 5 m before is early enough to look natural.
pub const REACH_M: f32 = 5.0;

/// Two walkers, one of whom is stuck, overlap no deeper than this, metres: they turn their shoulders. An avatar is 0.6 m wide and 0.45 m deep, so
/// this is what both together gain. Without it, a door of 1 m and somebody who stands in it would be a wall.
pub const OVERLAP_MAX_M: f32 = 0.15;

/// Bodies this far apart upright do not meet: they are on different storeys, metres.
pub const STOREY_M: f32 = 1.8;

/// What an obstacle leaves of a step is nothing below this speed, metres a second: rounding makes nobody creep.
const CREEP_M_PER_S: f32 = 0.05;

/// Somebody who is in the way, or may be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Body {
    /// Axis, metres from the region's south-west corner.
    pub at: Vec2,
    /// How it moves, metres a second.
    pub velocity: Vec2,
    /// How it would move if nobody was in the way; zero for who stands.
    pub wish: Vec2,
    /// Height of the feet, metres.
    pub z: f32,
    /// Half of the width, metres.
    pub radius: f32,
    /// Metres to the next corner of its way ([`Pace::left_m`](crate::Pace::left_m)). Where there is room for one only, and neither is
    /// behind the other, who is nearer goes first; 0 for those who give way to nobody, as visitors' avatars do.
    pub left_m: f32,
}

/// Who moves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mover {
    /// Its place, present velocity and wish.
    pub body: Body,
    /// Stuck for a while: it turns its shoulders and pushes through those before whom it goes ([`OVERLAP_MAX_M`]).
    pub pressing: bool,
}

/// A step that was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Where it led.
    pub spot: Spot,
    /// With which velocity: what was asked for bit for bit if nothing was in the way, else the way that was made, or nothing.
    pub velocity: Vec2,
    /// Whether a wall was in the way.
    pub hindered: bool,
}

/// Takes a step on the mesh, along walls in the way. `dt` in seconds.
#[must_use]
#[inline]
pub fn advance(mesh: &NavMesh, from: Spot, velocity: Vec2, dt: f32) -> Step {
    if velocity == Vec2::ZERO {
        return Step { spot: from, velocity, hindered: false };
    }
    let slid = mesh.slide(from, from.at + velocity * dt);
    if !slid.hindered {
        return Step { spot: slid.spot, velocity, hindered: false };
    }
    let made = (slid.spot.at - from.at) / dt;
    if made.length_squared() < CREEP_M_PER_S * CREEP_M_PER_S || !made.is_finite() {
        Step { spot: from, velocity: Vec2::ZERO, hindered: true }
    } else {
        Step { spot: slid.spot, velocity: made, hindered: true }
    }
}

/// Steers and takes the step. `others` are the nearest, without the mover itself.
#[must_use]
#[inline]
pub fn walk(mesh: &NavMesh, from: Spot, mover: &Mover, others: &[Body], dt: f32) -> Step {
    let velocity = steer(mover, others, dt);
    let step = advance(mesh, from, velocity, dt);
    if step.hindered && !others.is_empty() {
        along_wall(mesh, from, mover, others, velocity, step, dt)
    } else {
        step
    }
}

/// Steers once more where a wall was in the way: who knew nothing of it may have turned toward it, or be led along it to somebody whom one
/// would have passed.
fn along_wall(
    mesh: &NavMesh,
    from: Spot,
    mover: &Mover,
    others: &[Body],
    velocity: Vec2,
    blind: Step,
    dt: f32,
) -> Step {
    let stay = Step { spot: from, velocity: Vec2::ZERO, hindered: true };
    let is_fair =
        |step: &Step| !others.iter().any(|other| steer::is_closer(mover, other, from.at, step.spot.at));
    let wall = (velocity - blind.velocity).normalize_or_zero();
    let knowing = advance(mesh, from, steer::steer_along(mover, others, wall, dt), dt);
    let gain = |step: &Step| (step.spot.at - from.at).dot(mover.body.wish);
    let knowing = if is_fair(&knowing) { knowing } else { stay };
    let blind = if is_fair(&blind) { blind } else { stay };
    // To the side is better than nowhere.
    let is_better = gain(&knowing) > gain(&blind) || blind.velocity == Vec2::ZERO;
    Step { hindered: true, ..if is_better { knowing } else { blind } }
}
