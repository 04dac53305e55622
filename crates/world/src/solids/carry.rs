//! Avatars that stand on prims, or where prims come, at the end of a step in which these change.
//!
//! An avatar moves with the prim under its feet, falls when that is gone, and is lifted by one that rises under it by no more than a step. Its support is
//! looked up among the colliders before the changes, so that nothing about it has to be kept from step to step. A flying or falling avatar meets the
//! changed prims in its next sub-step.

use super::index::WORK_PER_STEP;
use super::{Solids, cylinder};
use crate::{
    animations,
    gait::KERB_M,
    ground::SolidGround,
    presence::{Presence, SPEED_MAX_M_PER_S, Stance},
    roster::Roster,
};
use glam::Vec3;
use ids::LocalId;
use physics::{AvatarStep, Gait, Moved, OrientedBox, Support, step_avatar};
use std::time::Duration;

/// A prim that moves farther in one step leaves the avatars on it behind, metres.
const CARRIED_MAX_M: f32 = 2.0;

/// An avatar on a prim, with the prim's place before the changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    slot: u32,
    id: LocalId,
    before: OrientedBox,
}

impl Solids {
    /// Lists the avatars that stand on prims near the places of the listed changes, and of the boxes that may become finer.
    pub(super) fn note_standing(&mut self, roster: &Roster, ground: &SolidGround) {
        for index in 0..self.changes.len() {
            self.mark(self.changes[index].id());
        }
        let Self { colliders, changed, changes, refining, .. } = self;
        // No step refines more, also if each change takes a prim off the list.
        let next = refining.iter().take(WORK_PER_STEP as usize + changes.len());
        for box_now in next.filter_map(|&id| colliders.oriented_box(id)) {
            changed.mark(&box_now.aabb());
        }
        self.standing.clear();
        for (slot, presence) in roster.iter() {
            if !is_on_feet(presence) || !self.changed.has(presence.motion.position.truncate()) {
                continue;
            }
            let Support::Object(id) = self.stand(slot, presence, Vec3::ZERO, ground).on else { continue };
            let before =
                self.colliders.oriented_box(id).expect("a prim that carries an avatar has a collider");
            self.standing.push(Standing { slot, id, before });
        }
    }

    /// Moves the avatars that the changes concern.
    pub(super) fn carry(&mut self, roster: &mut Roster, ground: &SolidGround, dt: Duration) {
        let standing = std::mem::take(&mut self.standing);
        let mut next = standing.iter().peekable();
        for (slot, presence) in roster.iter_mut() {
            let stood = next.next_if(|stood| stood.slot == slot);
            let is_concerned = stood.is_some() || self.changed.has(presence.motion.position.truncate());
            // One that sits on the ground or on an object of the scenery is held up by neither.
            let is_held = presence.stance == Stance::Sitting && stood.is_none();
            if !is_concerned || is_held || !is_on_feet(presence) {
                continue;
            }
            let carried =
                stood.map_or(Vec3::ZERO, |stood| self.displacement(stood, presence.motion.position));
            let moved = self.stand(slot, presence, carried, ground);
            settle(presence, &moved, carried, ground, dt);
        }
        self.standing = standing;
    }

    /// The step of an avatar that does not walk.
    fn stand(&mut self, slot: u32, presence: &Presence, carried: Vec3, ground: &SolidGround) -> Moved {
        let step = AvatarStep {
            from: presence.motion.position,
            wish: Vec3::ZERO,
            carried,
            cylinder: cylinder(presence.half_height()),
            gait: Gait::Walking { ground_drop: KERB_M },
        };
        let (colliders, surroundings) = self.surroundings_of(slot);
        step_avatar(colliders, surroundings, |at| ground.height(at), &step)
    }

    /// Way of a point of a prim in this step; none if the prim is gone or has jumped away.
    fn displacement(&self, stood: &Standing, at: Vec3) -> Vec3 {
        let before = &stood.before;
        // A box that becomes the solid of its asset is another box, and has not moved.
        if self.refined.binary_search(&stood.id).is_ok() {
            return Vec3::ZERO;
        }
        let Some(after) = self.colliders.oriented_box(stood.id).filter(|after| after != before) else {
            return Vec3::ZERO;
        };
        let own = before.axes.transpose() * (at - before.centre);
        let way = after.centre + after.axes * own - at;
        if way.length_squared() <= CARRIED_MAX_M * CARRIED_MAX_M { way } else { Vec3::ZERO }
    }
}

/// True if an avatar stands, walks or sits without a seat.
fn is_on_feet(presence: &Presence) -> bool {
    presence.stance.is_grounded() && presence.seat.is_none()
}

/// Puts an avatar where its step led.
fn settle(presence: &mut Presence, moved: &Moved, carried: Vec3, ground: &SolidGround, dt: Duration) {
    let is_in_air = moved.on == Support::Air;
    if !is_in_air && moved.position == presence.motion.position {
        return;
    }
    presence.motion.position = ground.within(moved.position.truncate()).extend(moved.position.z);
    let was_sitting = presence.stance == Stance::Sitting;
    if is_in_air {
        presence.stance = Stance::Airborne { jumped: false, sub_steps: 0 };
        if was_sitting {
            presence.dirty.animated |= presence.animator.show_movement(animations::STAND);
        }
    }
    // Clients move it along until it is carried no further. One that sits has no step that would end that.
    if carried != Vec3::ZERO && !dt.is_zero() && (is_in_air || !was_sitting) {
        let most = Vec3::splat(SPEED_MAX_M_PER_S);
        let velocity = presence.motion.velocity + carried / dt.as_secs_f32();
        presence.motion.velocity = velocity.clamp(-most, most);
    }
    presence.dirty.touched = true;
}
