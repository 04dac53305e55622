//! View of a region that bodies move in, and descriptions of its linksets.

use crate::colliders::{Colliders, Placement};
use crate::shape::Geometry;
use glam::{Quat, Vec3};
use ids::LocalId;

/// Region in which bodies move. Implemented by the world, over its own stores; nothing is copied until a body comes near.
///
/// Answers are a function of the region's state: equal states, equal answers.
pub trait Neighbourhood {
    /// Solids of all prims, those of linksets that physics moves included. Solids of awake bodies may lag behind: they are passed over.
    fn colliders(&self) -> &Colliders;

    /// Surface of a prim that is among the colliders; `None` lets bodies pass through it.
    fn surface(&self, prim: LocalId) -> Option<PrimSurface>;

    /// Describes the linkset with this root in an empty plan. False if there is none, or if physics does not move it.
    fn describe(&mut self, root: LocalId, plan: &mut BodyPlan) -> bool;

    /// Height of the ground at a corner of the metre grid, metres. `x` and `y` are 0 to the region's width, its far border included.
    fn ground_height(&self, x: u32, y: u32) -> f32;

    /// A number that changes whenever a height does.
    fn ground_version(&self) -> u64;
}

/// Surface of a prim that does not move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrimSurface {
    /// Root of the linkset, if physics moves that: a hit wakes it.
    pub sleeper: Option<LocalId>,
    /// Coefficient of friction, 0–255.
    pub friction: f32,
    /// Part of the speed that is left after a bounce, 0–1.
    pub restitution: f32,
}

/// A linkset as a body: the state that it begins with, and its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyPlan {
    /// Position of the root, metres from the region's corner.
    pub position: Vec3,
    /// Rotation of the root, a quaternion of length 1.
    pub rotation: Quat,
    /// Velocity of the root's position, m/s.
    pub velocity: Vec3,
    /// Radians per second about each axis of the region.
    pub angular_velocity: Vec3,
    /// Factor of gravity.
    pub gravity: f32,
    /// It collides with the ground only.
    pub is_phantom: bool,
    /// Its solid prims. Those without a solid are left out.
    pub parts: Vec<BodyPart>,
}

/// A solid prim of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyPart {
    /// The prim.
    pub id: LocalId,
    /// Its solid; dents and holes are filled.
    pub geometry: Geometry,
    /// Its place relative to the root.
    pub placement: Placement,
    /// Mass per volume, kg/m³.
    pub density: f32,
    /// Coefficient of friction, 0–255.
    pub friction: f32,
    /// Part of the speed that is left after a bounce, 0–1.
    pub restitution: f32,
}

impl Default for BodyPlan {
    fn default() -> Self {
        Self {
            position: Vec3::ZERO,
            rotation: Quat::IDENTITY,
            velocity: Vec3::ZERO,
            angular_velocity: Vec3::ZERO,
            gravity: 1.0,
            is_phantom: false,
            parts: Vec::new(),
        }
    }
}

impl BodyPlan {
    /// Empties it and keeps its memory.
    pub(super) fn clear(&mut self) {
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        *self = Self { parts, ..Self::default() };
    }

    /// True if all of its numbers are numbers in range, so that no arithmetic on them overflows.
    pub(super) fn is_sound(&self) -> bool {
        let own = Placement { position: self.position, rotation: self.rotation, scale: Vec3::ONE };
        own.is_sound()
            && self.velocity.is_finite()
            && self.angular_velocity.is_finite()
            && self.gravity.is_finite()
            && self.parts.iter().all(BodyPart::is_sound)
    }
}

impl BodyPart {
    fn is_sound(&self) -> bool {
        let is_amount = |value: f32| value.is_finite() && value >= 0.0;
        self.placement.is_sound()
            && self.density.is_finite()
            && self.density > 0.0
            && is_amount(self.friction)
            && is_amount(self.restitution)
    }
}
