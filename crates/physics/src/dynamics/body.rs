//! A linkset that rapier moves, with its claim on static surroundings.

use super::engine::{AddedBody, SUB_STEP_S};
use crate::bounds::Aabb;
use glam::Vec3;
use ids::LocalId;
use rapier3d::prelude::RigidBodyHandle;
use serde::{Deserialize, Serialize};

/// Least distance of a body from the border of its area, metres: rapier looks two centimetres ahead.
const NEAR_M: f32 = 0.1;
/// Metres that an area reaches beyond a body at rest.
const MARGIN_M: f32 = 0.6;
/// An area reaches velocity × this further, in the direction of the velocity, seconds.
const AHEAD_S: f32 = 0.3;
/// An area holds what a body covers in this many sub-steps: the next one, and one more since the body may be accelerated in it.
const AHEAD_SUB_STEPS: f32 = 2.0;

/// A linkset that rapier moves.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Body {
    pub(super) handle: RigidBodyHandle,
    /// Ball around its solids, in the axes of its root.
    pub(super) centre: Vec3,
    pub(super) radius: f32,
    /// It needs the prims and the ground in here. Empty before the first look.
    pub(super) area: Aabb,
    /// Prims in there, ascending. Empty for a phantom.
    pub(super) prims: Vec<LocalId>,
    /// Ground in there, ascending.
    pub(super) patches: Vec<(u8, u8)>,
    /// Its own solid prims.
    pub(super) parts: Vec<LocalId>,
    pub(super) is_phantom: bool,
    /// Sub-steps since it fell asleep; 0 while it is awake.
    pub(super) asleep: u32,
    /// Its rest was reported.
    pub(super) is_rest_known: bool,
}

impl Body {
    pub(super) fn new(added: AddedBody, is_phantom: bool) -> Self {
        let AddedBody { handle, centre, radius } = added;
        Self {
            handle,
            centre,
            radius,
            area: Aabb::EMPTY,
            prims: Vec::new(),
            patches: Vec::new(),
            parts: Vec::new(),
            is_phantom,
            asleep: 0,
            is_rest_known: false,
        }
    }

    /// Takes over another form of the same linkset. Its area is looked at anew.
    pub(super) fn replace(&mut self, added: AddedBody, is_phantom: bool) {
        let AddedBody { handle, centre, radius } = added;
        (self.handle, self.centre, self.radius) = (handle, centre, radius);
        (self.is_phantom, self.area) = (is_phantom, Aabb::EMPTY);
        (self.asleep, self.is_rest_known) = (0, false);
    }

    /// The box around it, with its ball at this place.
    pub(super) fn bounds(&self, at: Vec3) -> Aabb {
        Aabb { low: at, high: at }.grown(Vec3::splat(self.radius))
    }

    /// True if its ball, there and this fast, needs another area.
    pub(super) fn leaves_area(&self, at: Vec3, speed: f32) -> bool {
        let needed = self.bounds(at).grown(Vec3::splat(NEAR_M + speed * AHEAD_SUB_STEPS * SUB_STEP_S));
        !self.area.contains(&needed)
    }

    /// The area of the body at a place. It is extended ahead only: a fast body meets little of what lies beside its path.
    pub(super) fn area_around(&self, at: Vec3, speed: f32, velocity: Vec3) -> Aabb {
        let near = self.bounds(at).grown(Vec3::splat(MARGIN_M + speed * AHEAD_SUB_STEPS * SUB_STEP_S));
        let ahead = velocity * AHEAD_S;
        Aabb { low: near.low + ahead.min(Vec3::ZERO), high: near.high + ahead.max(Vec3::ZERO) }
    }
}
