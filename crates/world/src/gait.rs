//! Movement of an avatar in one physics sub-step, or in a stride of some: walking, falling, flying.
//!
//! Speeds apply at once on foot, so that a stop is a stop and viewers predict a walk exactly; flight gathers and loses speed. Each
//! function leaves the velocity with which viewers extrapolate, exactly zero at rest.

use crate::{
    contacts::Contacts,
    ground::SolidGround,
    presence::{Impact, Presence, SPEED_MAX_M_PER_S, Stance},
};
use glam::{Vec2, Vec3};
use link::CEILING_M;

/// Physics sub-steps per second, independent of the tick: three per tick of 50 ms.
pub const SUB_STEPS_PER_S: u32 = 60;

/// Walking speed across the ground, metres per second: that of measured walkers of the field. (OpenSim's constant 4.096 is scaled by
/// its physics engines.)
pub const WALK_M_PER_S: f32 = 3.2;

/// With SetAlwaysRun.
pub const RUN_M_PER_S: f32 = 5.1;

/// Crouching, and for the small steps of a nudge.
pub const CROUCH_M_PER_S: f32 = 1.6;

/// Flying along.
pub const FLY_M_PER_S: f32 = 16.0;

/// Flying up and down.
pub const FLY_VERTICAL_M_PER_S: f32 = 8.0;

/// A jump clears 1.6 m.
const JUMP_M_PER_S: f32 = 5.6;

pub(crate) const GRAVITY_M_PER_S2: f32 = 9.81;

/// Maximum speed of a fall; also within the range of terse updates (±128 m/s).
pub(crate) const FALL_MAX_M_PER_S: f32 = 54.0;

/// Acceleration of flight.
pub(crate) const FLY_M_PER_S2: f32 = 30.0;

/// Steering acceleration in a jump or fall.
pub(crate) const AIR_M_PER_S2: f32 = 4.0;

/// Speed at which a flyer below the surface of ground or water is lifted to it.
pub(crate) const BUOYANCY_M_PER_S: f32 = 4.0;

/// Maximum slope for walking up: tan 60°.
pub(crate) const CLIMB_MAX: f32 = 1.732;

/// A blocked step slower than this is none: rounding must not make avatars creep.
pub(crate) const CREEP_M_PER_S: f32 = 0.05;

/// Going down, feet keep to ground that drops up to 75° (and a kerb more); below that one falls.
pub(crate) const DESCENT_MAX: f32 = 3.73;
pub(crate) const KERB_M: f32 = 0.05;

/// Sub-steps from the press to the jump, unless FINISH_ANIM ends it: 0.45 s.
pub(crate) const PRE_JUMP: u16 = 27;

/// Landing slower than this needs no catching.
const IMPACT_LIGHT_M_PER_S: f32 = 3.0;
const IMPACT_FIRM_M_PER_S: f32 = 12.6;
const IMPACT_HARD_M_PER_S: f32 = 17.3;

/// Minimum difference from the mean velocity of the tick for a correction: smaller ones are rounding, or invisible.
const UNEVEN_M_PER_S: f32 = 0.05;

pub(crate) const DT: f32 = 1.0 / SUB_STEPS_PER_S as f32;

/// Space that avatars move in: open ground, or ground with prims on it (`solids`).
pub(crate) trait Space {
    /// Sub-steps of those `left` that an avatar on its feet makes at once, 1 at least. `preferred` is the level velocity that it wants. Speeds apply at once on
    /// foot, so that the way of a stride is that of its sub-steps but at corners, edges and other avatars, which it meets up to a stride later.
    fn stride(&self, presence: &Presence, preferred: Vec2, left: u64) -> u64;

    /// Moves an avatar on its feet for `dt` seconds. `preferred` is the level velocity that it wants.
    fn walk(&mut self, presence: &mut Presence, slot: u32, preferred: Vec2, dt: f32);

    /// Moves an avatar in a jump or a fall.
    fn fall(&mut self, presence: &mut Presence, slot: u32, preferred: Vec2);

    /// Moves a flying avatar.
    fn fly(&mut self, presence: &mut Presence, slot: u32, preferred: Vec3);

    /// Notes where an avatar is now.
    fn note_place(&mut self, slot: u32, position: Vec3);
}

/// Ground without prims.
#[derive(Debug)]
pub(crate) struct OpenGround<'a> {
    pub(crate) ground: &'a SolidGround,
    pub(crate) contacts: &'a mut Contacts,
}

impl Space for OpenGround<'_> {
    fn stride(&self, _: &Presence, _: Vec2, _: u64) -> u64 {
        1
    }

    fn walk(&mut self, presence: &mut Presence, slot: u32, preferred: Vec2, dt: f32) {
        walk(presence, slot, preferred, dt, self.ground, self.contacts);
    }

    fn fall(&mut self, presence: &mut Presence, slot: u32, preferred: Vec2) {
        fall(presence, slot, preferred, self.ground, self.contacts);
    }

    fn fly(&mut self, presence: &mut Presence, slot: u32, preferred: Vec3) {
        fly(presence, slot, preferred, self.ground, self.contacts);
    }

    fn note_place(&mut self, slot: u32, position: Vec3) {
        self.contacts.relocate(slot, position);
    }
}

/// One sub-step, or up to `left` of them in one stride. `preferred` is the velocity that the flags ask for. Returns the sub-steps made.
pub(crate) fn step<S: Space>(
    presence: &mut Presence,
    slot: u32,
    preferred: Vec3,
    left: u64,
    space: &mut S,
) -> u64 {
    let mut made = 1;
    match presence.stance {
        Stance::Sitting => return left,
        Stance::Standing => {
            made = space.stride(presence, preferred.truncate(), left);
            space.walk(presence, slot, preferred.truncate(), made as f32 * DT);
        }
        Stance::Landing { left, impact } => {
            presence.stance = match left.checked_sub(1) {
                Some(left) => Stance::Landing { left, impact },
                None => Stance::Standing,
            };
            space.walk(presence, slot, preferred.truncate(), DT);
        }
        Stance::PreJump { left } => {
            presence.stance = match left.checked_sub(1) {
                Some(left) => Stance::PreJump { left },
                None => Stance::Airborne { jumped: true, sub_steps: 0 },
            };
            space.walk(presence, slot, preferred.truncate(), DT);
            if left == 0 {
                presence.motion.velocity.z = JUMP_M_PER_S;
            }
        }
        Stance::Airborne { jumped, sub_steps } => {
            presence.stance = Stance::Airborne { jumped, sub_steps: sub_steps.saturating_add(1) };
            space.fall(presence, slot, preferred.truncate());
        }
        Stance::Flying => space.fly(presence, slot, preferred),
    }
    space.note_place(slot, presence.motion.position);
    made
}

fn walk(
    presence: &mut Presence,
    slot: u32,
    preferred: Vec2,
    dt: f32,
    ground: &SolidGround,
    contacts: &Contacts,
) {
    let half = presence.half_height();
    let from = presence.motion.position;
    let velocity = climbable(preferred, ground.slope(from.truncate()));
    if velocity == Vec2::ZERO {
        presence.motion.velocity = Vec3::ZERO;
        return;
    }
    let (at, level) = advance(slot, from, half, velocity, dt, ground, contacts);
    let (height, slope) = ground.terrain.facet(at);
    let z = height + half;
    let drop = from.z - z;
    if drop > at.distance(from.truncate()) * DESCENT_MAX + KERB_M {
        presence.stance = Stance::Airborne { jumped: false, sub_steps: 0 };
        presence.motion.position = at.extend(from.z);
        presence.motion.velocity = level.extend(0.0);
        return;
    }
    presence.motion.position = at.extend(z);
    presence.motion.velocity = level.extend(bounded(level.dot(slope)));
}

fn fall(presence: &mut Presence, slot: u32, preferred: Vec2, ground: &SolidGround, contacts: &Contacts) {
    let half = presence.half_height();
    let Vec3 { z: rise, .. } = presence.motion.velocity;
    let level =
        approach(presence.motion.velocity.truncate().extend(0.0), preferred.extend(0.0), AIR_M_PER_S2 * DT);
    let rise = (rise - GRAVITY_M_PER_S2 * DT).max(-FALL_MAX_M_PER_S);
    let from = presence.motion.position;
    let (at, level) = advance(slot, from, half, level.truncate(), DT, ground, contacts);
    let floor = ground.height(at) + half;
    let z = from.z + rise * DT;
    if z > floor {
        presence.motion.position = at.extend(z);
        presence.motion.velocity = level.extend(rise);
        return;
    }
    presence.motion.position = at.extend(floor);
    presence.motion.velocity = Vec3::ZERO;
    presence.stance = caught(-rise);
}

fn fly(presence: &mut Presence, slot: u32, preferred: Vec3, ground: &SolidGround, contacts: &Contacts) {
    let half = presence.half_height();
    let from = presence.motion.position;
    let sunk = from.z < ground.surface(from.truncate()) + half;
    let preferred = if sunk { preferred.with_z(preferred.z.max(BUOYANCY_M_PER_S)) } else { preferred };
    let velocity = approach(presence.motion.velocity, preferred, FLY_M_PER_S2 * DT);
    let (at, level) = advance(slot, from, half, velocity.truncate(), DT, ground, contacts);

    let surface = ground.surface(at) + half;
    let ceiling = CEILING_M - half;
    let z = from.z + velocity.z * DT;
    // A flyer stays above the surface, except on the way up to it.
    let lowest = if sunk { ground.height(at) + half } else { surface };
    let (z, rise) = if z <= lowest {
        (lowest, velocity.z.max(0.0))
    } else if sunk && z >= surface {
        (surface, 0.0)
    } else if z >= ceiling {
        (ceiling, velocity.z.min(0.0))
    } else {
        (z, velocity.z)
    };
    presence.motion.position = at.extend(z);
    presence.motion.velocity = level.extend(rise);
}

/// For an avatar that slid along others, the velocity for extrapolation becomes its mean over the tick: the last sub-step alone
/// misleads viewers.
pub(crate) fn even_out(presence: &mut Presence, from: Vec3, sub_steps: u64) {
    if !presence.stance.is_grounded() {
        return;
    }
    let mean = (presence.motion.position - from) / (sub_steps as f32 * DT);
    let uneven = mean.truncate().distance_squared(presence.motion.velocity.truncate());
    if uneven > UNEVEN_M_PER_S * UNEVEN_M_PER_S && mean.length_squared() >= CREEP_M_PER_S * CREEP_M_PER_S {
        presence.motion.velocity = mean.with_z(bounded(mean.z));
    }
}

/// A rate of climb within the range of updates: edited ground has cliffs.
pub(crate) const fn bounded(climb: f32) -> f32 {
    climb.clamp(-SPEED_MAX_M_PER_S, SPEED_MAX_M_PER_S)
}

/// A step of `dt` seconds across the ground: where it leads, and the level velocity with which it led there.
pub(crate) fn advance(
    slot: u32,
    from: Vec3,
    half: f32,
    velocity: Vec2,
    dt: f32,
    ground: &SolidGround,
    contacts: &Contacts,
) -> (Vec2, Vec2) {
    let here = from.truncate();
    if velocity == Vec2::ZERO {
        return (here, Vec2::ZERO);
    }
    let wanted = here + velocity * dt;
    let at = ground.within(contacts.slide(slot, from, half, ground.within(wanted)));
    if at == wanted {
        // Unhindered, the velocity is the preferred one, not the difference of rounded positions: a steady walk keeps one velocity.
        return (at, velocity);
    }
    let hindered = (at - here) / dt;
    if hindered.length_squared() < CREEP_M_PER_S * CREEP_M_PER_S {
        (here, Vec2::ZERO)
    } else {
        (at, hindered)
    }
}

/// The part of a preferred velocity that a slope allows: on ground too steep to climb, only along and down.
pub(crate) fn climbable(preferred: Vec2, slope: Vec2) -> Vec2 {
    let uphill = preferred.dot(slope);
    if uphill <= 0.0 || slope.length_squared() <= CLIMB_MAX * CLIMB_MAX {
        return preferred;
    }
    let along = preferred - slope * (uphill / slope.length_squared());
    if along.length_squared() < CREEP_M_PER_S * CREEP_M_PER_S { Vec2::ZERO } else { along }
}

/// Stance after a landing at this speed.
pub(crate) fn caught(speed: f32) -> Stance {
    // The thresholds and times of OpenSim's landings: 0.6, 1.5 and 3 s.
    match speed {
        s if s < IMPACT_LIGHT_M_PER_S => Stance::Standing,
        s if s < IMPACT_FIRM_M_PER_S => Stance::Landing { left: 36, impact: Impact::Light },
        s if s < IMPACT_HARD_M_PER_S => Stance::Landing { left: 90, impact: Impact::Firm },
        _ => Stance::Landing { left: 180, impact: Impact::Hard },
    }
}

/// Moves a velocity toward another; reaches it exactly.
pub(crate) fn approach(from: Vec3, to: Vec3, most: f32) -> Vec3 {
    let difference = to - from;
    let length = difference.length();
    if length <= most { to } else { from + difference * (most / length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approach_arrives_exactly_and_never_overshoots() {
        let target = Vec3::new(0.1, 0.2, 0.3);
        let mut velocity = Vec3::new(16.0, -3.0, 1.0);
        let mut steps = 0;
        while velocity != target {
            let before = velocity.distance(target);
            velocity = approach(velocity, target, 0.5);
            assert!(velocity.distance(target) < before);
            steps += 1;
        }
        assert_eq!(steps, 33);
        assert_eq!(approach(Vec3::X, Vec3::ZERO, 2.0), Vec3::ZERO);
    }

    #[test]
    fn steep_ground_leaves_only_the_way_along_it() {
        let cliff = Vec2::new(3.0, 0.0);
        assert_eq!(climbable(Vec2::new(3.2, 0.0), cliff), Vec2::ZERO);
        assert_eq!(climbable(Vec2::new(1.0, 2.0), cliff), Vec2::new(0.0, 2.0));
        assert_eq!(climbable(Vec2::new(-3.2, 0.0), cliff), Vec2::new(-3.2, 0.0), "down is free");
        assert_eq!(climbable(Vec2::new(3.2, 0.0), Vec2::new(1.5, 0.0)), Vec2::new(3.2, 0.0));
    }
}
