//! Avatars on ground that is edited: those that stood on it stand on it, and none is below it.

use crate::{gait::KERB_M, ground::SolidGround, presence::Presence, roster::Roster};

/// Slots of the avatars whose soles are on the ground, ascending.
pub(super) fn grounded_slots(roster: &Roster, ground: &SolidGround) -> Vec<u32> {
    let is_on_ground = |presence: &Presence| {
        presence.seat.is_none()
            && presence.stance.is_grounded()
            && (presence.motion.position.z - lowest(presence, ground)).abs() < KERB_M
    };
    roster.iter().filter(|(_, presence)| is_on_ground(presence)).map(|(slot, _)| slot).collect()
}

/// Puts avatars on the ground: those of the listed slots, and those below it. Avatars on a seat stay on it.
pub(super) fn follow_ground(roster: &mut Roster, ground: &SolidGround, grounded: &[u32]) {
    for (slot, presence) in roster.iter_mut().filter(|(_, presence)| presence.seat.is_none()) {
        let lowest = lowest(presence, ground);
        let z = &mut presence.motion.position.z;
        if *z != lowest && (*z < lowest || grounded.binary_search(&slot).is_ok()) {
            *z = lowest;
            presence.dirty.touched = true;
        }
    }
}

/// Height of an avatar's centre when it stands on the ground.
fn lowest(presence: &Presence, ground: &SolidGround) -> f32 {
    ground.height(presence.motion.position.truncate()) + presence.half_height()
}
