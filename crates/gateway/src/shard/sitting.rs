//! Sitting on objects.
//!
//! AgentRequestSit seats the avatar at once, as OpenSimulator does for a seat within reach, and AvatarSitResponse names the seat.
//! AutoPilot stays off: it would have the viewer walk to the seat first and complete the sit with AgentSit.
//!
//! On a prim the world chooses the seat, and reports it: the avatar becomes a child of the linkset (`ParentID`), and viewers move it with that. On a static
//! object of the scenery, which never moves, it keeps ParentID 0 and its position in the region.

use super::counters::Refused;
use super::incoming::{Handled, Incoming};
use super::notices::NoticeKind;
use super::outbox::Outbox;
use super::{COMMANDS_MAX, Shard};
use crate::coverage::{Feature, MessageOutcome};
use crate::places::Place;
use glam::{Mat3, Quat, Vec3};
use ids::{Instant, SessionKey, Uuid, WorldId};
use link::{Action, SitRefusal, StaticObject};
use std::sync::Arc;
use wire::messages::*;

/// Reach of an avatar, metres from its centre to the seat. OpenSimulator's figure.
const REACH_MAX_M: f32 = 10.0;

impl Shard {
    pub(super) fn on_request_sit(&mut self, at: &mut Incoming<'_>, m: AgentRequestSit) -> Handled {
        if !self.client(at.index).asks.try_spend(at.now) {
            return Err(Refused::Flood.into());
        }
        let AgentRequestSitTargetObject { target_id, offset } = m.target_object;
        let place = Arc::clone(&self.client(at.index).place);
        let prim = place.scene.feed.current().objects().of_id(target_id);
        if let Some(object) = prim {
            if self.commands.len() >= COMMANDS_MAX {
                return Err(Refused::WorldBusy.into());
            }
            self.command(at.index, Action::SitOn { object, offset });
            return Ok(MessageOutcome::Done);
        }
        let Some(object) = static_object(&place, target_id) else {
            return Ok(self.refuse_feature(at, Feature::UnknownObject));
        };
        let seat = seat_on(&object, offset);
        if self.own_position(at.index).distance(seat) > REACH_MAX_M {
            return Ok(self.refuse_feature(at, Feature::FarObject));
        }
        self.command(at.index, Action::Sit { seat, look_at: object.rotation * Vec3::X });
        self.answer(at, sit_response(&object, target_id, seat))
    }

    /// A world has seated a session's avatar at a place on a prim.
    pub(super) fn on_seated(
        &mut self,
        now: Instant,
        world: WorldId,
        session: SessionKey,
        object: Uuid,
        (position, rotation): (Vec3, Quat),
        out: &mut Outbox,
    ) {
        let Some(index) = self.in_world(session, world) else { return };
        let mut message = Vec::new();
        response(object, position, rotation).encode(&mut message);
        self.send_reliable(now, index, &message, out);
    }

    /// A world has left it as it is.
    pub(super) fn on_sit_refused(
        &mut self,
        now: Instant,
        world: WorldId,
        session: SessionKey,
        reason: SitRefusal,
        out: &mut Outbox,
    ) {
        let Some(index) = self.in_world(session, world) else { return };
        let feature = match reason {
            SitRefusal::Unknown => Feature::UnknownObject,
            SitRefusal::Far => Feature::FarObject,
        };
        let name = Some(MessageName::AgentRequestSit);
        self.notify(now, index, NoticeKind::Missing(feature, name), out);
    }
}

/// A static object of a place.
fn static_object(place: &Place, id: Uuid) -> Option<StaticObject> {
    place.ground().scenery.prims().iter().find(|object| object.prim.id == id).cloned()
}

/// Point on the upper side of an object above or below `offset`, which is in metres along the object's axes from its centre. An offset that
/// is not within the object is moved into it.
fn seat_on(object: &StaticObject, offset: Vec3) -> Vec3 {
    let half = object.prim.scale.abs() / 2.0;
    let offset = if offset.is_finite() { offset.clamp(-half, half) } else { Vec3::ZERO };
    let axes = Mat3::from_quat(object.rotation);
    let half_height = Vec3::new(axes.x_axis.z, axes.y_axis.z, axes.z_axis.z).abs().dot(half);
    let at = object.position + object.rotation * offset;
    at.with_z(object.position.z + half_height)
}

/// Seat and direction in the object's own axes.
fn sit_response(object: &StaticObject, id: Uuid, seat: Vec3) -> AvatarSitResponse {
    response(id, object.rotation.inverse() * (seat - object.position), Quat::IDENTITY)
}

fn response(id: Uuid, sit_position: Vec3, sit_rotation: Quat) -> AvatarSitResponse {
    AvatarSitResponse {
        sit_object: AvatarSitResponseSitObject { id },
        sit_transform: AvatarSitResponseSitTransform {
            auto_pilot: false,
            sit_position,
            sit_rotation,
            camera_eye_offset: Vec3::ZERO,
            camera_at_offset: Vec3::ZERO,
            force_mouselook: false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::Prim;
    use std::f32::consts::FRAC_PI_2;

    fn block(rotation: Quat) -> StaticObject {
        let prim = Prim { id: Uuid::nil(), scale: Vec3::new(2.0, 4.0, 1.0), texture_entry: Arc::from([]) };
        StaticObject { position: Vec3::new(30.0, 40.0, 25.0), rotation, prim }
    }

    #[test]
    fn a_sitting_place_is_on_the_upper_side_where_the_client_points() {
        let at = |offset| seat_on(&block(Quat::IDENTITY), offset);
        assert_eq!(at(Vec3::ZERO), Vec3::new(30.0, 40.0, 25.5));
        assert_eq!(at(Vec3::new(0.5, -1.0, -0.5)), Vec3::new(30.5, 39.0, 25.5));
    }

    #[test]
    fn an_offset_outside_the_object_is_moved_into_it() {
        let at = |offset| seat_on(&block(Quat::IDENTITY), offset);
        assert_eq!(at(Vec3::splat(1e9)), Vec3::new(31.0, 42.0, 25.5));
        assert_eq!(at(Vec3::new(f32::NAN, 1.0, 1.0)), Vec3::new(30.0, 40.0, 25.5));
    }

    #[test]
    fn the_upper_side_of_a_turned_object_is_above_its_longest_half() {
        let turned = seat_on(&block(Quat::from_rotation_x(FRAC_PI_2)), Vec3::ZERO);
        assert!(turned.distance(Vec3::new(30.0, 40.0, 27.0)) < 1e-4, "{turned}");
    }

    #[test]
    fn a_response_is_in_the_object_s_own_axes() {
        let object = block(Quat::from_rotation_z(FRAC_PI_2));
        let seat = seat_on(&object, Vec3::new(1.0, 0.0, 0.0));
        assert!(seat.distance(Vec3::new(30.0, 41.0, 25.5)) < 1e-4, "{seat}");
        let response = sit_response(&object, Uuid::nil(), seat).sit_transform;
        assert!(response.sit_position.distance(Vec3::new(1.0, 0.0, 0.5)) < 1e-4);
        assert!(!response.auto_pilot);
    }
}
