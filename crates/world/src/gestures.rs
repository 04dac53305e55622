//! The animation of movement: from an avatar's stance and flags to the built-in animation that shows them.

use crate::{
    animations::{
        AWAY, CROUCH, CROUCH_WALK, FALL_DOWN, FLY, HOVER, HOVER_DOWN, HOVER_UP, JUMP, LAND, PRE_JUMP, RUN,
        Reason, SIT, SIT_GROUND, SOFT_LAND, STAND, STAND_UP, TURN_LEFT, TURN_RIGHT, WALK,
    },
    presence::{Impact, Presence, Stance},
};
use ids::Uuid;
use link::ControlFlags;

/// A fall shorter than this (sub-steps) keeps the animation from before: a kerb is no fall.
const FALL_SHOWN_AFTER: u16 = 24;

/// A jump longer than this (sub-steps) has become a fall.
const JUMP_SHOWN_FOR: u16 = 75;

/// Shows how an avatar moves; `travels` when its flags ask for a way across the ground. True when the list changed.
pub(crate) fn show_state(presence: &mut Presence, flags: ControlFlags, travels: bool) -> bool {
    let moved = match movement(presence, flags, travels) {
        Some(id) => presence.animator.show_movement(id),
        None => false,
    };
    presence.animator.set_playing(AWAY, Reason::Away, flags.any(ControlFlags::AWAY)) || moved
}

/// The animation of movement; `None` keeps the current one.
fn movement(presence: &Presence, flags: ControlFlags, travels: bool) -> Option<Uuid> {
    let crouches = flags.any(ControlFlags::UP_NEG);
    let id = match presence.stance {
        Stance::Sitting if presence.seat.is_some() => SIT,
        Stance::Sitting => SIT_GROUND,
        Stance::PreJump { .. } => PRE_JUMP,
        Stance::Landing { impact: Impact::Light, .. } => LAND,
        Stance::Landing { impact: Impact::Firm, .. } => SOFT_LAND,
        Stance::Landing { impact: Impact::Hard, .. } => STAND_UP,
        Stance::Airborne { jumped: true, sub_steps } if sub_steps < JUMP_SHOWN_FOR => JUMP,
        Stance::Airborne { jumped: false, sub_steps } if sub_steps < FALL_SHOWN_AFTER => return None,
        Stance::Airborne { .. } => FALL_DOWN,
        Stance::Flying if travels => FLY,
        Stance::Flying if flags.any(ControlFlags::UP_POS.union(ControlFlags::NUDGE_UP_POS)) => HOVER_UP,
        Stance::Flying if flags.any(ControlFlags::UP_NEG.union(ControlFlags::NUDGE_UP_NEG)) => HOVER_DOWN,
        Stance::Flying => HOVER,
        Stance::Standing if travels && crouches => CROUCH_WALK,
        Stance::Standing if travels && presence.controls.always_run => RUN,
        Stance::Standing if travels => WALK,
        Stance::Standing if crouches => CROUCH,
        Stance::Standing if flags.any(ControlFlags::TURN_LEFT) => TURN_LEFT,
        Stance::Standing if flags.any(ControlFlags::TURN_RIGHT) => TURN_RIGHT,
        Stance::Standing => STAND,
    };
    Some(id)
}
