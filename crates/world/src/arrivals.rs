//! Finding newcomers and teleported avatars a place to stand.
//!
//! A whole crowd may log in at one point. The first gets the point itself; those after it get a free spot nearby, tried at random on a
//! spiral that widens with every try, so that the cost does not depend on the number of avatars there.

use crate::{
    animations,
    contacts::Contacts,
    gait::KERB_M,
    ground::SolidGround,
    local_ids::LocalIds,
    presence::{Presence, Stance},
    roster::Roster,
    setting::WorldSetting,
    solids::Solids,
};
use glam::{Vec2, Vec3};
use state_hash::mix;

/// Spots tried for one arrival. After the last one it stands among others, which let it walk out.
const TRIES_MAX: u32 = 12;

/// Spots in the first widening; each further try has twice as many to choose from, 16,384 in the end.
const FIRST_SPOTS: u64 = 8;

/// Scale of the spiral: neighbouring spots lie about 0.8 m apart.
const SPIRAL_M: f32 = 0.45;

/// Radians between spots of a sunflower's spiral, which fills a disc evenly.
const GOLDEN_ANGLE: f32 = 2.399_963_2;

/// Largest height above the ground, in metres, at which an arriving walker stands on it instead of dropping: clients round heights.
const STEP_IN_M: f32 = 1.0;

/// Places the visitors that entered or were teleported in this tick.
pub(crate) fn settle_arrivals(
    roster: &mut Roster,
    contacts: &mut Contacts,
    setting: &WorldSetting,
    local_ids: &LocalIds,
    solids: Option<&Solids>,
) {
    for (slot, presence) in roster.iter_mut() {
        if !presence.dirty.arriving {
            continue;
        }
        presence.dirty.arriving = false;
        // The place, not the id: ids differ when the world continues elsewhere.
        let arrival = local_ids.place_of(presence.id);
        let random = mix(setting.seed ^ u64::from(arrival));
        presence.motion.position = free_spot(presence, random, &setting.ground, contacts, solids);
        contacts.insert(slot, presence.motion.position, presence.half_height());
    }
}

/// Moves an avatar to a requested place, out of its seat if it has one; the movement phase finds the free spot nearby.
pub(crate) fn place(presence: &mut Presence, requested: Vec3, ground: &SolidGround, solids: Option<&Solids>) {
    presence.leave_seat();
    let half = presence.half_height();
    let position = ground.recover(requested, half);
    let standing = floor(position, half, ground, solids) + half;
    presence.motion.velocity = Vec3::ZERO;
    if presence.stance != Stance::Flying {
        let near = position.z <= standing + STEP_IN_M;
        presence.stance =
            if near { Stance::Standing } else { Stance::Airborne { jumped: false, sub_steps: 0 } };
    }
    presence.motion.position =
        if presence.stance == Stance::Standing { position.with_z(standing) } else { position };
    presence.dirty.arriving = true;
    presence.dirty.touched = true;
}

/// Seats an avatar with its soles at `seat`. Other avatars do not push it away, since a seat is on an object and not on the ground.
pub(crate) fn sit_down(presence: &mut Presence, seat: Vec3, ground: &SolidGround) {
    presence.leave_seat();
    let half = presence.half_height();
    presence.motion.position = ground.recover(seat + Vec3::Z * half, half);
    presence.motion.velocity = Vec3::ZERO;
    presence.stance = Stance::Sitting;
    // An earlier press in the same tick is older than the seat.
    presence.controls.pressed.posture = None;
    presence.dirty.arriving = false;
    presence.dirty.touched = true;
}

/// Has a sitter stand up. Static objects are not solid: from a seat on one it falls to the ground, and is shown standing until it is shown
/// falling. One on a prim stays on its seat until the movement phase puts it beside (`seats`).
pub(crate) fn stand_up(presence: &mut Presence, ground: &SolidGround) {
    let position = presence.motion.position;
    let is_on_ground = position.z <= ground.height(position.truncate()) + presence.half_height() + KERB_M;
    presence.stance =
        if is_on_ground { Stance::Standing } else { Stance::Airborne { jumped: false, sub_steps: 0 } };
    presence.dirty.animated |= presence.animator.show_movement(animations::STAND);
}

/// Height of the floor at a place of an avatar: of the ground, or of a prim that reaches no higher than its middle.
fn floor(centre: Vec3, half: f32, ground: &SolidGround, solids: Option<&Solids>) -> f32 {
    let height = ground.height(centre.truncate());
    let of_prim = solids.and_then(|solids| solids.floor_below(centre, half + STEP_IN_M));
    of_prim.map_or(height, |floor| floor.max(height))
}

fn free_spot(
    presence: &Presence,
    random: u64,
    ground: &SolidGround,
    contacts: &Contacts,
    solids: Option<&Solids>,
) -> Vec3 {
    let half = presence.half_height();
    let requested = presence.motion.position;
    let mut spot = requested;
    for attempt in 0..TRIES_MAX {
        if attempt > 0 {
            let spots = FIRST_SPOTS << (attempt - 1);
            let at = requested.truncate() + spiral(mix(random ^ u64::from(attempt)) % spots + 1);
            if at != ground.within(at) {
                continue;
            }
            let lowest = floor(at.extend(requested.z), half, ground, solids) + half;
            spot = at.extend(if presence.stance.is_grounded() { lowest } else { requested.z.max(lowest) });
        }
        if contacts.is_free(spot, half) {
            break;
        }
    }
    spot
}

/// Offset of the n-th spot.
fn spiral(n: u64) -> Vec2 {
    // At most 16,384: exact in a float.
    let n = n as f32;
    Vec2::from_angle(n * GOLDEN_ANGLE) * (SPIRAL_M * libm::sqrtf(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spots_of_the_spiral_leave_room_for_one_body_each() {
        let spots: Vec<Vec2> = (1..400).map(spiral).collect();
        for (i, a) in spots.iter().enumerate() {
            for b in &spots[..i] {
                assert!(a.distance(*b) > 2.0 * crate::contacts::RADIUS_M, "{a} and {b}");
            }
        }
    }
}
