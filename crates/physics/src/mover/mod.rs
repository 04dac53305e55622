//! Movement of one avatar among prims and ground.
//!
//! An avatar is an upright cylinder. Sideways it is stopped by all that reaches into the part of the cylinder above the height of a step; what is lower
//! is climbed. It stands on the highest surface under its foot, a disc that is narrower than the body, so that a slope does not lift the avatar
//! much and a gap between two floors does not swallow it. A displacement is cut into pieces that are shorter than a radius: no wall is too thin.
//!
//! Surfaces stop from outside only. An avatar inside a solid, after a prim was put over it, can walk out. An avatar that overlaps one may go on to, but not deeper,
//! and is pushed out as it moves. Bodies that move do not push an avatar; they carry it when the caller passes their displacement.
//!
//! Other avatars, borders of the region, and the steepness of the ground are the caller's.

mod facet;
mod lanes;
mod memory;
mod obstacles;
mod section;
mod slide;
mod surroundings;
mod upright;

pub use surroundings::Surroundings;

use crate::bounds::Aabb;
use crate::colliders::Colliders;
use glam::{Vec2, Vec3};
use ids::LocalId;
use memory::Heights;
use obstacles::{Floor, Reached};
use section::{FacetSection, Slab};
use slide::{PUSH_M, slide};

/// Steps up to this height are climbed, and so are steps down, metres.
pub const STEP_UP_M: f32 = 0.35;
/// Edges up to this height above the soles do not stop an avatar in the air, metres: a jump that just misses a top lands on it.
const LIP_M: f32 = 0.2;
/// The same in the second try of a piece, in which no step is climbed, metres.
const NO_STEP_M: f32 = 0.02;
/// Radius of the foot, as a share of the body's.
const FOOT_SHARE: f32 = 0.5;
/// A rise below this is rounding.
const RISE_MIN_M: f32 = 1e-3;

/// Pieces of a displacement, at most.
const PIECES_MAX: f32 = 16.0;
/// Length of a piece along the ground at most, in radii: 0.165 m for a radius of 0.3 m (a walker of 3.2 m/s has one piece in 50 ms).
pub const PIECE_SHARE: f32 = 0.55;
/// Height of a piece up or down at most, metres.
const PIECE_Z_M: f32 = 0.3;

// A piece is shorter than the body's radius, and half a piece shorter than the foot's: no axis crosses a wall that its disc touches.
const _: () = assert!(PIECE_SHARE < 1.0 && PIECE_SHARE * 0.5 < FOOT_SHARE);

/// Size of an avatar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cylinder {
    /// Metres, above 0.
    pub radius: f32,
    /// From its centre to its soles, metres.
    pub half_height: f32,
}

/// Support of an avatar at the begin of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gait {
    /// On its feet: it climbs steps and keeps to the ground. The displacement's z counts for nothing.
    Walking {
        /// Greatest drop of the ground over the step that the avatar follows, metres; at a larger one it falls. Off a prim it also follows a drop of up to
        /// [`STEP_UP_M`].
        ground_drop: f32,
    },
    /// Jumping, falling or flying: it moves up and down as displaced, and lands.
    Airborne,
}

/// Input of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AvatarStep {
    /// Centre of the avatar, metres from the region's corner.
    pub from: Vec3,
    /// Displacement that its owner, gravity or a jump asks for, metres.
    pub wish: Vec3,
    /// Displacement of the object that it stands on, at its place, since the step before, metres.
    pub carried: Vec3,
    /// Its size.
    pub cylinder: Cylinder,
    /// Support.
    pub gait: Gait,
}

/// The surface under an avatar's feet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// None.
    Air,
    /// The ground.
    Ground,
    /// A prim.
    Object(LocalId),
}

/// An obstacle in an avatar's way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Obstruction {
    /// The prim.
    pub id: LocalId,
    /// Unit vector from it to the avatar: level for a wall, down for a ceiling.
    pub normal: Vec3,
}

/// Output of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// New centre of the avatar, metres from the region's corner. Without obstacles `from + carried + wish` exactly along x and y.
    pub position: Vec3,
    /// The surface that it stands on, or has landed on.
    pub on: Support,
    /// The last obstacle in its way, if any.
    pub hit: Option<Obstruction>,
}

/// An avatar within a step; x and y are relative to an origin nearby.
struct Walk<'a, G> {
    obstacles: Reached<'a>,
    origin: Vec2,
    ground: G,
    /// Heights of the ground that the step depends on.
    heights: Heights,
    /// Scratch of slides.
    sections: Vec<FacetSection>,
    cylinder: Cylinder,
    at: Vec2,
    /// Height of its centre.
    z: f32,
    /// The place after this piece if nothing is in the way, relative to the origin and from the region's corner: the same but for rounding.
    straight: (Vec2, Vec2),
    on: Support,
    hit: Option<Obstruction>,
}

/// Moves an avatar by one step. A displacement of more than 8.8 radii along the ground, or 4.8 m up or down, is shortened: at 60 steps per
/// second these are 158 and 288 m/s. `ground` returns the height of the ground at a place of the region.
///
/// Costs about 1 ns for each surface of the surroundings, and some dozens of ns for each that is near. A step that was made before in the same
/// surroundings costs some dozens of ns in all. Numbers have to be finite.
pub fn step_avatar(
    colliders: &Colliders,
    surroundings: &mut Surroundings,
    ground: impl Fn(Vec2) -> f32,
    step: &AvatarStep,
) -> Moved {
    if let Some(moved) = surroundings.recall(colliders, step, &ground) {
        return moved;
    }
    let AvatarStep { from, cylinder, gait, .. } = *step;
    let (total, pieces) = in_pieces(step);
    let (here, way) = (from.truncate(), total.truncate());
    let origin = Surroundings::origin(here);
    let area = reach(step, total, pieces);
    let mut lists = std::mem::take(&mut surroundings.lists);
    let sections = std::mem::take(&mut lists.sections);
    let around = surroundings.around(colliders, &area, total.truncate(), origin);
    let obstacles = around.within(&area, origin, &mut lists);
    let begin = here - origin;
    let straight = (begin, here);
    let mut walk = Walk {
        obstacles,
        origin,
        ground,
        heights: Heights::default(),
        sections,
        cylinder,
        at: begin,
        z: from.z,
        straight,
        on: Support::Air,
        hit: None,
    };
    let mut is_unhindered = true;
    let each = 1.0 / pieces as f32;
    let mut ground_drop = match gait {
        Gait::Walking { ground_drop } => Some(ground_drop * each),
        Gait::Airborne => None,
    };
    for piece in 1..=pieces {
        let share = piece as f32 / pieces as f32;
        walk.straight = (begin + way * share, here + way * share);
        let to = if is_unhindered { walk.straight.0 } else { walk.at + way * each };
        match ground_drop {
            Some(drop) => walk.walk(to, way * each, step.carried.z * each, drop),
            None => walk.fly(to, way * each, total.z * each),
        }
        ground_drop = match (walk.on, ground_drop) {
            (Support::Air, _) => None,
            // After a landing, and on the ground after the first piece, a further piece may go down by a step. On a prim `settle` allows that anyway.
            (_, None) if total.z <= 0.0 => Some(STEP_UP_M),
            (Support::Ground, Some(drop)) => Some(drop.max(STEP_UP_M)),
            (_, drop) => drop,
        };
        is_unhindered &= walk.at == to;
    }
    let moved = Moved { position: walk.place().extend(walk.z), on: walk.on, hit: walk.hit };
    let (heights, sections) = (walk.heights, walk.sections);
    lists.sections = sections;
    surroundings.lists = lists;
    surroundings.remember(step, &heights, &moved);
    moved
}

/// The displacement of a step, shortened to the longest one, and the number of its pieces.
fn in_pieces(step: &AvatarStep) -> (Vec3, u32) {
    let upright = match step.gait {
        Gait::Walking { .. } => step.carried.z,
        Gait::Airborne => step.wish.z + step.carried.z,
    };
    let total = (step.wish.truncate() + step.carried.truncate()).extend(upright);
    let along = total.truncate().length() / (step.cylinder.radius * PIECE_SHARE);
    let pieces = along.max(total.z.abs() / PIECE_Z_M);
    if pieces > PIECES_MAX {
        return (total * (PIECES_MAX / pieces), PIECES_MAX as u32);
    }
    (total, libm::ceilf(pieces).max(1.0) as u32)
}

/// The space that a step can touch.
fn reach(step: &AvatarStep, total: Vec3, pieces: u32) -> Aabb {
    let Cylinder { radius, half_height } = step.cylinder;
    // A foot may be pushed in both halves of a piece.
    let along = total.truncate().length() + radius + 2.0 * PUSH_M * pieces as f32;
    // Steps up and down add up, one for each piece.
    let up = half_height + (STEP_UP_M + RISE_MIN_M) * pieces as f32;
    let drop = match step.gait {
        Gait::Walking { ground_drop } => ground_drop,
        Gait::Airborne => 0.0,
    };
    Aabb {
        low: step.from - Vec3::new(along, along, up + drop - total.z.min(0.0)),
        high: step.from + Vec3::new(along, along, up + total.z.max(0.0)),
    }
}

impl<G: Fn(Vec2) -> f32> Walk<'_, G> {
    /// One piece on foot. `lift` is the upright displacement of the object below.
    fn walk(&mut self, to: Vec2, way: Vec2, lift: f32, ground_drop: f32) {
        self.lift(lift);
        let (before, z) = (self.at, self.z);
        self.slide(to, way, STEP_UP_M, self.cylinder.radius);
        if self.settle(before, STEP_UP_M, ground_drop) {
            return;
        }
        // The step up is blocked above or too steep: now the foot slides along it as along a wall, and the body may get no nearer to others.
        self.at = before;
        self.slide_foot(to, way);
        let is_blocked = !self.has_clearance(before, self.feet()) && !self.has_come_out(before);
        if !is_blocked && self.settle(before, 0.0, ground_drop) {
            return;
        }
        (self.at, self.z) = (before, z);
        if !self.settle(before, 0.0, ground_drop) {
            let ground = self.ground_height();
            self.stand(ground, Support::Ground);
        }
    }

    /// Puts the feet on the surface below, up to the height of a step, or leaves them in the air; false if there is no room for that.
    fn settle(&mut self, before: Vec2, step: f32, ground_drop: f32) -> bool {
        let (feet, ground) = (self.feet(), self.ground_height());
        // No floor is passed on the way down to the ground.
        let lowest = feet - STEP_UP_M.max(ground_drop);
        let near = Slab { low: lowest, high: feet + step.max(RISE_MIN_M) };
        let floor = self.obstacles.floor(self.at, self.foot(), feet, near);
        let floor = floor.filter(|floor| floor.z >= ground && floor.z >= lowest);
        let (soles, on) = match floor {
            Some(Floor { z, id, .. }) => (z, Support::Object(id)),
            None if ground >= feet - ground_drop => (ground, Support::Ground),
            None if ground >= feet - STEP_UP_M && self.is_on_object(before) => (ground, Support::Ground),
            None => {
                self.on = Support::Air;
                return true;
            }
        };
        if soles > feet + RISE_MIN_M {
            let is_too_steep = floor.is_some_and(|floor| floor.is_steep);
            let has_room = || self.has_headroom(soles) && self.has_clearance(before, soles);
            if step == 0.0 || is_too_steep || !has_room() {
                return false;
            }
        }
        self.stand(soles, on);
        true
    }

    /// One piece in the air.
    fn fly(&mut self, to: Vec2, way: Vec2, rise: f32) {
        self.slide(to, way, LIP_M, self.cylinder.radius);
        self.on = Support::Air;
        let ground = self.ground_height();
        if rise > 0.0 {
            self.lift(rise);
        } else {
            let feet = self.feet();
            let near = Slab { low: feet + rise, high: feet + LIP_M };
            let floor = self.obstacles.floor(self.at, self.foot(), feet, near);
            let floor = floor.filter(|floor| floor.z >= feet + rise && floor.z >= ground);
            if let Some(Floor { z, id, .. }) = floor {
                let soles = if z <= feet || self.has_headroom(z) { z } else { feet };
                self.stand(soles, Support::Object(id));
            } else {
                self.z += rise;
            }
        }
        // As in a region without prims, to the bit.
        if self.z <= ground + self.cylinder.half_height {
            self.stand(ground, Support::Ground);
        }
    }

    /// Moves up, until a ceiling stops it, or down.
    fn lift(&mut self, rise: f32) {
        if rise > 0.0 {
            let head = self.z + self.cylinder.half_height;
            let ceiling = self.obstacles.ceiling(self.at, self.cylinder.radius, head, head + rise);
            if let Some((z, id)) = ceiling.filter(|(z, _)| *z < head + rise) {
                self.z += z - head;
                self.hit = Some(Obstruction { id, normal: Vec3::NEG_Z });
                return;
            }
        }
        self.z += rise;
    }

    /// Moves a disc of this radius sideways, around all that is higher than a step.
    fn slide(&mut self, to: Vec2, way: Vec2, step: f32, radius: f32) {
        let body = self.body(self.feet(), step);
        let slid = slide(&self.obstacles, self.at, to, way, body, radius, &mut self.sections);
        self.at = slid.at;
        if let Some(contact) = slid.contact {
            self.hit = Some(Obstruction { id: contact.id, normal: contact.away.extend(0.0) });
        }
    }

    /// Moves the foot around all that a step could climb, in two halves: a whole piece is longer than the foot's radius.
    fn slide_foot(&mut self, to: Vec2, way: Vec2) {
        let (half, middle) = (way * 0.5, self.at + way * 0.5);
        self.slide(middle, half, NO_STEP_M, self.foot());
        let to = if self.at == middle { to } else { self.at + half };
        self.slide(to, half, NO_STEP_M, self.foot());
    }

    /// Puts the soles at a height.
    fn stand(&mut self, soles: f32, on: Support) {
        self.on = on;
        // Rounding must not make an avatar creep that stays at its height.
        if soles != self.feet() {
            self.z = soles + self.cylinder.half_height;
        }
    }

    /// True if no ceiling is in the way of raising the feet to a height.
    fn has_headroom(&self, feet: f32) -> bool {
        let raised = feet + 2.0 * self.cylinder.half_height;
        let head = self.z + self.cylinder.half_height;
        let ceiling = self.obstacles.ceiling(self.at, self.cylinder.radius, head, raised);
        ceiling.is_none_or(|(z, _)| z >= raised)
    }

    /// True if no wall is in the way of the body with its feet at a height, or none is deeper in it than before.
    fn has_clearance(&self, before: Vec2, feet: f32) -> bool {
        let radius = self.cylinder.radius;
        let clearance =
            |at: Vec2, feet: f32| self.obstacles.clearance(at, self.body(feet, STEP_UP_M), radius);
        slide::is_clear(clearance(self.at, feet), radius, || clearance(before, self.feet()))
    }

    /// True if the wall next to the body is that of a solid in which the body was, at the same height.
    fn has_come_out(&self, before: Vec2) -> bool {
        let (radius, way) = (self.cylinder.radius, self.at.distance(before));
        let body = self.body(self.feet(), STEP_UP_M);
        let clearance = self.obstacles.clearance(self.at, body, radius);
        slide::comes_out(clearance, self.obstacles.clearance(before, body, radius + way), way)
    }

    /// True if a prim carries the foot at a place.
    fn is_on_object(&self, at: Vec2) -> bool {
        let feet = self.feet();
        let near = Slab { low: feet - RISE_MIN_M, high: feet + RISE_MIN_M };
        let floor = self.obstacles.floor(at, self.foot(), feet, near);
        floor.is_some_and(|floor| floor.z >= feet - RISE_MIN_M)
    }

    /// The part of the body above the height of a step, with its feet at a height.
    fn body(&self, feet: f32, step: f32) -> Slab {
        Slab { low: feet + step, high: feet + 2.0 * self.cylinder.half_height }
    }

    fn feet(&self) -> f32 {
        self.z - self.cylinder.half_height
    }

    fn foot(&self) -> f32 {
        self.cylinder.radius * FOOT_SHARE
    }

    /// Its place in the region.
    fn place(&self) -> Vec2 {
        if self.at == self.straight.0 { self.straight.1 } else { self.origin + self.at }
    }

    fn ground_height(&mut self) -> f32 {
        let place = self.place();
        let height = (self.ground)(place);
        self.heights.note(place, height);
        height
    }
}
