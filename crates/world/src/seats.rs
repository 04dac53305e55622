//! Seats on prims: where an avatar sits, how it moves with the linkset, and where it stands up.
//!
//! A seat is a place relative to the root of a linkset, so that it needs no step of its own: when a root moves, the avatars on it are put to the same places
//! of it. A sit target, which a prim's maker sets, is a place for one avatar; on surfaces any number sits.

use crate::{
    arrivals::stand_up,
    contacts::RADIUS_M,
    ground::SolidGround,
    objects::{ObjectStore, relative_to},
    presence::{AvatarSeat, Presence, Stance, facing, upright},
    roster::Roster,
    solids::Solids,
};
use glam::{Mat3, Quat, Vec3};
use ids::{LocalId, Uuid};
use link::{Motion, Seat, SitRefusal};
use prim::SitTarget;
use std::sync::Arc;

/// Reach of an avatar, metres from its centre to the seat. OpenSimulator's figure.
const REACH_MAX_M: f32 = 10.0;
/// Height of a sitting avatar's centre above its seat, metres.
const CENTRE_M: f32 = 0.4;
/// A surface is searched so far above the chosen point, metres: the user has chosen a side of a chair.
const ABOVE_M: f32 = 0.4;
/// And so far below it.
const BELOW_M: f32 = 2.0;
/// Distance from the prim at which an avatar stands up, metres.
const BESIDE_M: f32 = 0.1;
/// An avatar stands up where it sits if the prim's side is farther away than this, metres.
const ASIDE_MAX_M: f32 = 3.0;
/// The ground beside a seat may be so far below it, metres.
const DROP_MAX_M: f32 = 2.0;
/// Height above its floor at which an avatar is put down, metres: it comes to stand in the sub-step after.
const PUT_DOWN_M: f32 = 0.02;

/// A place to sit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FoundSeat {
    /// Id of the prim.
    pub(crate) object: Uuid,
    /// Place of the avatar in relation to the prim.
    pub(crate) on_prim: Motion,
    seat: AvatarSeat,
}

/// Objects and what follows from them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeatSurroundings<'a> {
    pub(crate) objects: &'a ObjectStore,
    pub(crate) solids: Option<&'a Solids>,
    pub(crate) ground: &'a SolidGround,
}

impl SeatSurroundings<'_> {
    /// A seat for an avatar on a prim, near a point that is given in the prim's axes. `is_taken` tells whether another avatar sits on a prim.
    ///
    /// # Errors
    /// [`SitRefusal`].
    pub(crate) fn find(
        &self,
        presence: &Presence,
        prim: LocalId,
        offset: Vec3,
        is_taken: impl Fn(LocalId) -> bool,
    ) -> Result<FoundSeat, SitRefusal> {
        let root = self.objects.root_of(prim).ok_or(SitRefusal::Unknown)?;
        let root_prim = self.objects.motion(root).filter(|root| root.parent == LocalId(0));
        let root_motion = root_prim.ok_or(SitRefusal::Unknown)?.motion;
        let with_target = self.free_target(prim, root, is_taken);
        let prim = with_target.map_or(prim, |(prim, _)| prim);
        let own = self.objects.motion_in_region(prim).ok_or(SitRefusal::Unknown)?;
        let place = match with_target {
            Some((_, target)) => at_target(&own, &target),
            None => self.on_surface(prim, &own, offset).ok_or(SitRefusal::Unknown)?,
        };
        let sits_there = presence.seat.as_ref().is_some_and(|seat| seat.seat.parent == root);
        let is_near = presence.motion.position.distance(place.position) <= REACH_MAX_M;
        if !place.position.is_finite() || !(is_near || sits_there) {
            return Err(SitRefusal::Far);
        }
        let on_root = relative_to(&root_motion, place);
        let seat =
            Seat { parent: root, position: on_root.position, rotation: with_positive_w(on_root.rotation) };
        Ok(FoundSeat {
            object: self.objects.body(prim).ok_or(SitRefusal::Unknown)?.body.id,
            on_prim: relative_to(&own, place),
            seat: AvatarSeat { seat, prim },
        })
    }

    /// The sit target of a prim, else the first one of its linkset, that is free.
    fn free_target(
        &self,
        prim: LocalId,
        root: LocalId,
        is_taken: impl Fn(LocalId) -> bool,
    ) -> Option<(LocalId, SitTarget)> {
        let prims = std::iter::once(prim).chain(self.objects.linkset(root));
        let mut targets = prims.filter_map(|id| Some((id, self.objects.body(id)?.body.sit_target?)));
        targets.find(|(id, _)| !is_taken(*id))
    }

    /// Place of an avatar on the surface of a prim.
    fn on_surface(&self, prim: LocalId, own: &Motion, offset: Vec3) -> Option<Motion> {
        let half = self.objects.body(prim)?.body.scale / 2.0;
        let offset = if offset.is_finite() { offset.clamp(-half, half) } else { Vec3::ZERO };
        let at = own.position + own.rotation * offset;
        let axes = Mat3::from_quat(own.rotation);
        let half_height = Vec3::new(axes.x_axis.z, axes.y_axis.z, axes.z_axis.z).abs().dot(half);
        let top = at.with_z(own.position.z + half_height);
        let near = |solids: &Solids| solids.seat_below(prim, at, ABOVE_M, BELOW_M);
        let from_above = |solids: &Solids| solids.seat_below(prim, top, ABOVE_M, 2.0 * half_height + ABOVE_M);
        let seat = self.solids.and_then(|solids| near(solids).or_else(|| from_above(solids)));
        // Without a form the box of the prim is its surface.
        let seat = seat.unwrap_or(top);
        let rotation = facing(own.rotation * Vec3::X).unwrap_or(Quat::IDENTITY);
        Some(Motion { position: seat + Vec3::Z * CENTRE_M, rotation, ..Motion::default() })
    }

    /// Puts an avatar on a seat.
    pub(crate) fn sit(&self, presence: &mut Presence, found: &FoundSeat) {
        let seat = found.seat;
        let Some(root) = self.objects.motion(seat.seat.parent) else { return };
        presence.motion = motion_on(&root.motion, &seat.seat, self.ground);
        presence.seat = Some(Arc::new(seat));
        presence.stance = Stance::Sitting;
        // An earlier press in the same tick is older than the seat.
        presence.controls.pressed.posture = None;
        presence.controls.body_rotation = upright(presence.motion.rotation);
        presence.dirty.arriving = false;
        presence.dirty.seated = true;
        presence.dirty.touched = true;
    }

    /// Moves the seated avatars with their linksets, after changes of objects. Those whose prim is gone, or is in another linkset, stand up.
    pub(crate) fn follow(&self, roster: &mut Roster) {
        for (_, presence) in roster.iter_mut() {
            let Some(seat) = &presence.seat else { continue };
            let AvatarSeat { seat, prim } = **seat;
            let is_whole = self.objects.root_of(prim) == Some(seat.parent);
            let root = self.objects.motion(seat.parent).filter(|root| is_whole && root.parent == LocalId(0));
            let sits = presence.stance == Stance::Sitting;
            let Some(root) = root.filter(|_| sits) else {
                if sits {
                    stand_up(presence, self.ground);
                }
                // One that got up in the step in which the first prim of the world was made is on it still.
                stand_beside(presence, self.ground, self.solids);
                continue;
            };
            let motion = motion_on(&root.motion, &seat, self.ground);
            if motion != presence.motion {
                presence.motion = motion;
                presence.dirty.touched = true;
            }
        }
    }

    /// Gives restored avatars the places of their seats. A seat of another linkset than there is leaves its avatar standing.
    pub(crate) fn restore(&self, presence: &mut Presence) {
        let Some(seat) = presence.seat.clone() else { return };
        let is_whole = self.objects.root_of(seat.prim) == Some(seat.seat.parent);
        match self.objects.motion(seat.seat.parent).filter(|_| is_whole) {
            Some(root) => presence.motion = motion_on(&root.motion, &seat.seat, self.ground),
            None => {
                presence.seat = None;
                presence.stance = Stance::Airborne { jumped: false, sub_steps: 0 };
                presence.recover(self.ground);
            }
        }
    }
}

/// Puts an avatar that has got up beside the prim that it sat on, or on it if there is no room.
pub(crate) fn stand_beside(presence: &mut Presence, ground: &SolidGround, solids: Option<&Solids>) {
    let Some(seat) = presence.leave_seat() else { return };
    let half = presence.half_height();
    let from = presence.motion.position;
    let spot = solids.and_then(|solids| spot_beside(presence, seat.prim, ground, solids));
    let on_seat = from + Vec3::Z * (half - CENTRE_M);
    presence.motion.position = ground.recover(spot.unwrap_or(on_seat), half);
    presence.motion.rotation = upright(presence.motion.rotation);
    presence.motion.velocity = Vec3::ZERO;
    if presence.stance != Stance::Flying {
        presence.stance = Stance::Airborne { jumped: false, sub_steps: 0 };
    }
    presence.dirty.touched = true;
}

/// Centre of an avatar beside a prim: in front of its seat, else to a side, else behind it.
fn spot_beside(presence: &Presence, prim: LocalId, ground: &SolidGround, solids: &Solids) -> Option<Vec3> {
    let around = solids.oriented_box(prim)?;
    let half = presence.half_height();
    let from = presence.motion.position;
    let facing = upright(presence.motion.rotation);
    let ways = [Vec3::X, Vec3::Y, Vec3::NEG_Y, Vec3::NEG_X];
    ways.into_iter().map(|way| facing * way).find_map(|way| {
        let own = around.axes.transpose() * way;
        let aside = around.half.dot(own.abs()) - (from - around.centre).dot(way) + RADIUS_M + BESIDE_M;
        let spot = from + way * aside.max(RADIUS_M);
        let at = spot.truncate();
        if aside > ASIDE_MAX_M || ground.within(at) != at || !solids.is_free(from, spot) {
            return None;
        }
        let prim_floor = solids.floor_below(spot, CENTRE_M + DROP_MAX_M).unwrap_or(f32::NEG_INFINITY);
        let floor = prim_floor.max(ground.height(at));
        let is_near = floor >= from.z - CENTRE_M - DROP_MAX_M && floor < spot.z;
        let head = at.extend((floor + 2.0 * half).max(spot.z));
        (is_near && solids.is_free(spot, head)).then(|| at.extend(floor + half + PUT_DOWN_M))
    })
}

/// Motion of an avatar on a seat of a root, in the region. The seat of a part that hangs over the border is shown at the border.
fn motion_on(root: &Motion, seat: &Seat, ground: &SolidGround) -> Motion {
    let position = root.position + root.rotation * seat.position;
    Motion {
        position: ground.within(position.truncate()).extend(position.z),
        rotation: with_positive_w((root.rotation * seat.rotation).normalize()),
        ..Motion::default()
    }
}

fn at_target(own: &Motion, target: &SitTarget) -> Motion {
    Motion {
        position: own.position + own.rotation * (target.position + Vec3::Z * CENTRE_M),
        rotation: (own.rotation * target.rotation).normalize(),
        ..Motion::default()
    }
}

/// The same rotation with a real part that is not negative, as in messages.
fn with_positive_w(rotation: Quat) -> Quat {
    if rotation.w < 0.0 { -rotation } else { rotation }
}
