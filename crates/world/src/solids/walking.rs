//! The sub-step of an avatar among prims: as on open ground (`gait`), with the prims in its way and under its feet. A walker makes those of a tick in one stride.
//!
//! The order is that of open ground: the ground's slope and other avatars turn a velocity into a displacement, then the prims do.

use super::{Solids, cylinder};
use crate::{
    contacts::{Contacts, RADIUS_M},
    gait::{
        AIR_M_PER_S2, BUOYANCY_M_PER_S, CLIMB_MAX, CREEP_M_PER_S, DESCENT_MAX, DT, FALL_MAX_M_PER_S,
        FLY_M_PER_S2, GRAVITY_M_PER_S2, KERB_M, Space, advance, approach, bounded, caught, climbable,
    },
    ground::SolidGround,
    presence::{Presence, Stance},
};
use glam::{Vec2, Vec3};
use link::CEILING_M;
use physics::{AvatarStep, Gait, Moved, PIECE_SHARE, Support, step_avatar};

/// Way of a stride, metres, at most: one piece of a displacement for the mover, which a walker's tick of 50 ms is.
const STRIDE_MAX_M: f32 = PIECE_SHARE * RADIUS_M;

/// Ground with prims on it.
#[derive(Debug)]
pub(crate) struct AmongPrims<'a> {
    pub(crate) ground: &'a SolidGround,
    pub(crate) contacts: &'a mut Contacts,
    pub(crate) solids: &'a mut Solids,
}

impl Space for AmongPrims<'_> {
    fn stride(&self, presence: &Presence, preferred: Vec2, left: u64) -> u64 {
        let each = preferred.length() * DT;
        let most = (STRIDE_MAX_M / each.max(f32::EPSILON)) as u64;
        let stride = left.min(most.max(1));
        let end = presence.motion.position.truncate() + preferred * (stride as f32 * DT);
        let slope = self.ground.slope(self.ground.within(end));
        // The slope is looked up at the begin of a step: a stride would lead up a cliff.
        if slope.length_squared() > CLIMB_MAX * CLIMB_MAX { 1 } else { stride }
    }

    fn walk(&mut self, presence: &mut Presence, slot: u32, preferred: Vec2, dt: f32) {
        let half = presence.half_height();
        let from = presence.motion.position;
        let here = from.truncate();
        let (height, slope) = self.ground.terrain.facet(here);
        let is_on_ground = from.z - half <= height + KERB_M;
        let velocity = if is_on_ground { climbable(preferred, slope) } else { preferred };
        if velocity == Vec2::ZERO {
            presence.motion.velocity = Vec3::ZERO;
            return;
        }
        let (at, level) = advance(slot, from, half, velocity, dt, self.ground, self.contacts);
        let way = at - here;
        // The ground has slopes but no edges: from a prim an avatar falls.
        let slope_drop = if is_on_ground { way.length() * DESCENT_MAX } else { 0.0 };
        let gait = Gait::Walking { ground_drop: slope_drop + KERB_M };
        let moved = self.step(slot, from, way.extend(0.0), half, gait);
        let level = if moved.hit.is_none() { level } else { self.hindered(from, &moved, dt) };
        presence.motion.position = self.within(&moved);
        if moved.on == Support::Air {
            presence.stance = Stance::Airborne { jumped: false, sub_steps: 0 };
            presence.motion.velocity = level.extend(0.0);
            return;
        }
        let climb = if moved.on == Support::Ground {
            level.dot(self.ground.slope(moved.position.truncate()))
        } else {
            // A step is climbed at once, and no velocity of it.
            let most = level.length() * CLIMB_MAX;
            ((moved.position.z - from.z) / dt).clamp(-most, most)
        };
        presence.motion.velocity = level.extend(bounded(climb));
    }

    fn fall(&mut self, presence: &mut Presence, slot: u32, preferred: Vec2) {
        let half = presence.half_height();
        let from = presence.motion.position;
        let velocity = presence.motion.velocity;
        let level = approach(velocity.with_z(0.0), preferred.extend(0.0), AIR_M_PER_S2 * DT).truncate();
        let rise = (velocity.z - GRAVITY_M_PER_S2 * DT).max(-FALL_MAX_M_PER_S);
        let (at, level) = advance(slot, from, half, level, DT, self.ground, self.contacts);
        let way = (at - from.truncate()).extend(rise * DT);
        let moved = self.step(slot, from, way, half, Gait::Airborne);
        presence.motion.position = self.within(&moved);
        if moved.on != Support::Air {
            presence.motion.velocity = Vec3::ZERO;
            presence.stance = caught(-rise);
            return;
        }
        let level = if moved.hit.is_none() { level } else { self.hindered(from, &moved, DT) };
        let is_stopped = rise > 0.0 && hits_ceiling(&moved);
        presence.motion.velocity = level.extend(if is_stopped { 0.0 } else { rise });
    }

    fn fly(&mut self, presence: &mut Presence, slot: u32, preferred: Vec3) {
        let half = presence.half_height();
        let from = presence.motion.position;
        let sunk = from.z < self.ground.surface(from.truncate()) + half;
        let preferred = if sunk { preferred.with_z(preferred.z.max(BUOYANCY_M_PER_S)) } else { preferred };
        let velocity = approach(presence.motion.velocity, preferred, FLY_M_PER_S2 * DT);
        let (at, level) = advance(slot, from, half, velocity.truncate(), DT, self.ground, self.contacts);
        let way = (at - from.truncate()).extend(velocity.z * DT);
        let moved = self.step(slot, from, way, half, Gait::Airborne);
        let level = if moved.hit.is_none() { level } else { self.hindered(from, &moved, DT) };
        let position = self.within(&moved);
        let is_stopped = hits_ceiling(&moved) || matches!(moved.on, Support::Object(_));
        let rise = if is_stopped { 0.0 } else { velocity.z };

        let at = position.truncate();
        let surface = self.ground.surface(at) + half;
        let ceiling = CEILING_M - half;
        // As over open ground: a flyer stays above the surface, except on the way up to it.
        let lowest = if sunk { self.ground.height(at) + half } else { surface };
        let (z, rise) = if position.z <= lowest {
            (lowest, rise.max(0.0))
        } else if sunk && position.z >= surface {
            (surface, 0.0)
        } else if position.z >= ceiling {
            (ceiling, rise.min(0.0))
        } else {
            (position.z, rise)
        };
        presence.motion.position = at.extend(z);
        presence.motion.velocity = level.extend(rise);
    }

    fn note_place(&mut self, slot: u32, position: Vec3) {
        self.contacts.relocate(slot, position);
    }
}

impl AmongPrims<'_> {
    fn step(&mut self, slot: u32, from: Vec3, wish: Vec3, half: f32, gait: Gait) -> Moved {
        let ground = self.ground;
        let step = AvatarStep { from, wish, carried: Vec3::ZERO, cylinder: cylinder(half), gait };
        let (colliders, surroundings) = self.solids.surroundings_of(slot);
        step_avatar(colliders, surroundings, |at| ground.height(at), &step)
    }

    /// The level velocity with which prims let an avatar go.
    fn hindered(&self, from: Vec3, moved: &Moved, dt: f32) -> Vec2 {
        let velocity = (moved.position - from).truncate() / dt;
        if velocity.length_squared() < CREEP_M_PER_S * CREEP_M_PER_S { Vec2::ZERO } else { velocity }
    }

    /// The place that a step led to. Walls at the border may push beyond it.
    fn within(&self, moved: &Moved) -> Vec3 {
        self.ground.within(moved.position.truncate()).extend(moved.position.z)
    }
}

fn hits_ceiling(moved: &Moved) -> bool {
    moved.hit.is_some_and(|hit| hit.normal.z < 0.0)
}
