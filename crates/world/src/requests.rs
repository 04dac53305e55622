//! Requests of users that need the surfaces of prims, or are only passed on: places on a pointer's ray, touches, effects.

use crate::{objects::ObjectStore, presence::Presence, solids::Solids};
use glam::{Quat, Vec2, Vec3};
use ids::LocalId;
use link::{
    CopyPlace, Effect, EffectEvent, HeldObject, ObjectCommand, Ray, Rezzing, ShownEffect, SurfacePoint,
    Touch, TouchCommand,
};

/// Height of an avatar's eyes above its centre, as a share of half its height.
const EYES_SHARE: f32 = 0.85;
/// A ray to a gripped point goes on by this share: the point is on the surface but for rounding.
const BEYOND_SHARE: f32 = 1.05;
/// Coordinates of a touch within ± this, metres, are those of a place.
const PLACE_MAX_M: f32 = 16_384.0;
/// Difference of a normal's length from 1 that is rounding.
const UNIT_TOLERANCE: f32 = 0.1;
/// Texture coordinates where none are known.
const NO_UV: Vec2 = Vec2::NEG_ONE;
/// Metres to the farthest avatar that is sent an effect: that of a shout is 100.
const EFFECT_RADIUS_M: f32 = 64.0;

/// Puts new prims and copies on the surfaces that their rays meet. A ray that meets none leaves them where the client's own account ends.
pub(crate) fn follow_rays(request: &mut ObjectCommand, objects: &ObjectStore, solids: &Solids) {
    let place = |Ray { start, end, target }: Ray, scale: Vec3, rotation| {
        solids.place_on(objects.local_id(target)?, start, end, scale, rotation)
    };
    if let ObjectCommand::Create(new) = request {
        let on_surface = new.ray.and_then(|ray| place(ray, new.scale, new.rotation));
        new.position = on_surface.filter(|at| at.is_finite()).unwrap_or(new.position);
    }
    if let ObjectCommand::Duplicate(duplicates) = request {
        for (original, copy) in &mut duplicates.copies {
            let CopyPlace::At { position, ray: Some(ray), rotation } = copy else { continue };
            let root = objects.root_of(*original);
            let prim = root.and_then(|root| objects.motion(root).zip(objects.body(root)));
            let Some((prim, versioned)) = prim else { continue };
            let rotation = rotation.unwrap_or(prim.motion.rotation);
            let on_surface = place(*ray, versioned.body.scale, rotation);
            *position = on_surface.filter(|at| at.is_finite()).unwrap_or(*position);
        }
    }
}

/// Place of the first root of an object that a user rezzes. The object lies on the surface that the ray meets, or stands where the client's own ray ended. A
/// linkset has its root above that point; of several, the middle of all is there.
pub(crate) fn rez_place(
    object: &HeldObject,
    rezzing: &Rezzing,
    objects: &ObjectStore,
    solids: Option<&Solids>,
) -> Vec3 {
    let Some((root, (low, high))) = object.root().zip(object.extent()) else { return rezzing.position };
    let (size, middle) = (high - low, (low + high) / 2.0);
    let on_surface = rezzing.ray.zip(solids).and_then(|(Ray { start, end, target }, solids)| {
        solids.place_on(objects.local_id(target)?, start, end, size, Quat::IDENTITY)
    });
    let standing = rezzing.position + Vec3::Z * (size.z / 2.0);
    let at = on_surface.filter(|at| at.is_finite()).unwrap_or(standing);
    let from_middle = root.0.motion.position - middle;
    at + if object.linksets.len() == 1 { Vec3::Z * from_middle.z } else { from_middle }
}

/// A touch of a prim that is there; `None` if it is not, or a number of the touch is not finite.
pub(crate) fn touch(
    presence: &Presence,
    command: &TouchCommand,
    objects: &ObjectStore,
    solids: Option<&Solids>,
) -> Option<Touch> {
    let &TouchCommand { object, phase, offset, surface } = command;
    let root = objects.root_of(object)?;
    if !is_place(offset) {
        return None;
    }
    let surface = match surface {
        Some(surface) => Some(checked(surface)?),
        None => solids.and_then(|solids| surface_seen(presence, object, offset, objects, solids)),
    };
    let (session, agent) = (presence.identity.session, presence.identity.agent);
    Some(Touch { session, agent, object, root, phase, offset, surface })
}

/// The point of a surface as a client states it.
fn checked(surface: SurfacePoint) -> Option<SurfacePoint> {
    let SurfacePoint { uv, st, position, normal, binormal, .. } = surface;
    let is_normal = (normal.length() - 1.0).abs() <= UNIT_TOLERANCE;
    let is_sound = uv.is_finite() && st.is_finite() && is_place(position) && is_place(binormal) && is_normal;
    is_sound.then_some(surface)
}

/// The surface that the avatar sees at a point of a prim.
fn surface_seen(
    presence: &Presence,
    prim: LocalId,
    offset: Vec3,
    objects: &ObjectStore,
    solids: &Solids,
) -> Option<SurfacePoint> {
    let motion = objects.motion_in_region(prim)?;
    let eyes = presence.motion.position + Vec3::Z * (presence.half_height() * EYES_SHARE);
    let target = motion.position + motion.rotation * offset;
    let hit = solids.surface_of(prim, eyes, eyes + (target - eyes) * BEYOND_SHARE)?;
    Some(SurfacePoint {
        face: hit.face,
        uv: NO_UV,
        st: NO_UV,
        position: hit.point,
        normal: hit.normal,
        binormal: Vec3::ZERO,
    })
}

/// An effect for the neighbours of an avatar; `None` for one that no viewer makes.
pub(crate) fn effect(presence: &Presence, effect: Effect) -> Option<EffectEvent> {
    let is_sound = match &effect {
        Effect::Shown(shown) => {
            let is_usual =
                |one: &ShownEffect| one.duration_s.is_finite() && one.data.len() <= Effect::DATA_MAX;
            !shown.is_empty() && shown.len() <= Effect::SHOWN_MAX && shown.iter().all(is_usual)
        }
        Effect::Sound { gain, .. } => (0.0..=1.0).contains(gain),
    };
    is_sound.then(|| EffectEvent {
        session: presence.identity.session,
        agent: presence.identity.agent,
        position: presence.motion.position,
        radius_m: EFFECT_RADIUS_M,
        effect,
    })
}

fn is_place(at: Vec3) -> bool {
    at.is_finite() && at.abs().max_element() <= PLACE_MAX_M
}
