//! Rays among prims: the surface under an avatar, the surface that a pointer meets, a free way.

use super::Solids;
use glam::{Mat3, Quat, Vec3};
use ids::LocalId;
use physics::{ColliderKind, RayHit};

/// Upward part of the normal of the steepest surface to stand and to sit on: 60°.
const LEVEL_NORMAL_Z: f32 = 0.5;
/// A pointer's ray goes so far beyond the end that the client states, which is on a surface but for rounding, metres.
const BEYOND_M: f32 = 0.5;

impl Solids {
    /// Height of the first surface below a point, at most so many metres, if it is one to stand on.
    pub(crate) fn floor_below(&self, at: Vec3, depth_m: f32) -> Option<f32> {
        let below = at - Vec3::Z * depth_m;
        let hit = self.colliders.cast_ray(at, below, |_, kind| kind == ColliderKind::Solid)?;
        (hit.normal.z >= LEVEL_NORMAL_Z).then_some(hit.point.z)
    }

    /// Surface of a prim between two points.
    pub(crate) fn surface_of(&self, prim: LocalId, from: Vec3, to: Vec3) -> Option<RayHit> {
        self.colliders.cast_ray(from, to, |id, _| id == prim)
    }

    /// Surface of a prim to sit on, between two heights above and below a point.
    pub(crate) fn seat_below(&self, prim: LocalId, at: Vec3, above_m: f32, below_m: f32) -> Option<Vec3> {
        let hit = self.surface_of(prim, at + Vec3::Z * above_m, at - Vec3::Z * below_m)?;
        (hit.normal.z >= LEVEL_NORMAL_Z).then_some(hit.point)
    }

    /// True if no solid is between two points.
    pub(crate) fn is_free(&self, from: Vec3, to: Vec3) -> bool {
        self.colliders.cast_ray(from, to, |_, kind| kind == ColliderKind::Solid).is_none()
    }

    /// Centre of a new prim of this size that lies on the surface of another one, where a pointer's ray meets it.
    pub(crate) fn place_on(
        &self,
        target: LocalId,
        start: Vec3,
        end: Vec3,
        scale: Vec3,
        rotation: Quat,
    ) -> Option<Vec3> {
        let way = (end - start).try_normalize()?;
        let hit = self.surface_of(target, start, end + way * BEYOND_M)?;
        // Half of its width along the normal.
        let own = Mat3::from_quat(rotation).transpose() * hit.normal;
        Some(hit.point + hit.normal * (scale * 0.5).dot(own.abs()))
    }
}
