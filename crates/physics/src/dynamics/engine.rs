//! Rapier's world behind the few calls that bodies need.
//!
//! Colliders are tagged: low 32 bits the prim, next 32 bits the root of a sleeping linkset that it belongs to. Bodies are tagged with their roots.

use super::neighbourhood::{BodyPlan, PrimSurface};
use super::outcome::BodyMotion;
use super::solid::{self, Dents, from_rotation, from_vector, to_pose, to_vector};
use super::sub_steps::SUB_STEPS_PER_S;
use crate::bounds::{Aabb, OrientedBox};
use crate::colliders::Collider;
use crate::shape::Geometry;
use glam::{Mat3, Vec3};
use ids::LocalId;
use rapier3d::geometry::Array2;
use rapier3d::math::Vector;
use rapier3d::prelude::{
    CCDSolver, ColliderBuilder, ColliderHandle, Group, InteractionGroups, InteractionTestMode, PhysicsWorld,
    RigidBodyBuilder, RigidBodyHandle,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Acceleration of a body with gravity 1, m/s².
pub const GRAVITY_M_PER_S2: f32 = 9.8;
/// Length of a sub-step, seconds.
pub(super) const SUB_STEP_S: f32 = 1.0 / SUB_STEPS_PER_S as f32;
/// Speed of a body at most, m/s: rapier's own bound. Higher speeds are clamped to it.
const SPEED_MAX_M_PER_S: f32 = 400.0;
/// Coefficient of friction of the ground, as of a prim by default.
const GROUND_FRICTION: f32 = 0.6;

const GROUND: Group = Group::GROUP_1;
const PRIMS: Group = Group::GROUP_2;
const PHANTOMS: Group = Group::GROUP_3;

/// A body and its static surroundings as rapier has them.
#[derive(Serialize, Deserialize)]
pub(super) struct Engine {
    world: PhysicsWorld,
}

/// A body that was added.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddedBody {
    pub(super) handle: RigidBodyHandle,
    /// Ball around its solids, in its own axes.
    pub(super) centre: Vec3,
    pub(super) radius: f32,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bodies, colliders) = (self.world.bodies.len(), self.world.colliders.len());
        f.debug_struct("Engine")
            .field("bodies", &bodies)
            .field("colliders", &colliders)
            .finish_non_exhaustive()
    }
}

impl Engine {
    pub(super) fn new() -> Self {
        let mut world = PhysicsWorld::new();
        world.gravity = Vector::new(0.0, 0.0, -GRAVITY_M_PER_S2);
        world.integration_parameters.dt = SUB_STEP_S;
        Self { world }
    }

    /// Advances by one sub-step. `is_near_static` is false if no body that is awake has anything static to hit: then rapier's continuous
    /// collision detection, which allocates in every sub-step, is switched off.
    pub(super) fn step(&mut self, is_near_static: bool) {
        self.world.integration_parameters.max_ccd_substeps = usize::from(is_near_static);
        self.world.step();
    }

    /// Adds a body; `None` if no part of the plan is solid. The plan is a sound one.
    pub(super) fn add_body(&mut self, root: LocalId, plan: &BodyPlan) -> Option<AddedBody> {
        let solids: Vec<ColliderBuilder> = plan
            .parts
            .iter()
            .filter_map(|part| {
                let solid = solid::collider_at(&part.geometry, &part.placement, Dents::Filled)?;
                Some(solid.density(part.density).friction(part.friction).restitution(part.restitution))
            })
            .collect();
        if solids.is_empty() {
            return None;
        }
        let groups = if plan.is_phantom { groups(PHANTOMS, GROUND) } else { groups(PRIMS, GROUND | PRIMS) };
        let body = RigidBodyBuilder::dynamic()
            .pose(to_pose(plan.position, plan.rotation.normalize()))
            .gravity_scale(plan.gravity)
            .user_data(u128::from(root.0));
        let handle = self.world.insert_body(body);
        for solid in solids {
            self.world.insert_collider(solid.collision_groups(groups), Some(handle));
        }
        let body = &mut self.world.bodies[handle];
        body.recompute_mass_properties_from_colliders(&self.world.colliders);
        // Rapier's velocity is that of the centre of mass.
        let arm = from_vector(body.center_of_mass()) - plan.position;
        let velocity = plan.velocity + plan.angular_velocity.cross(arm);
        body.set_linvel(to_vector(velocity.clamp_length_max(SPEED_MAX_M_PER_S)), true);
        body.set_angvel(to_vector(plan.angular_velocity.clamp_length_max(SPEED_MAX_M_PER_S)), true);
        let bounds = bounds_of(plan);
        Some(AddedBody { handle, centre: bounds.centre(), radius: bounds.half().length() })
    }

    pub(super) fn remove_body(&mut self, handle: RigidBodyHandle) {
        self.world.remove_body(handle);
    }

    /// Adds a prim that does not move; `None` if it collides with nothing.
    pub(super) fn add_prim(
        &mut self,
        id: LocalId,
        collider: &Collider,
        surface: &PrimSurface,
    ) -> Option<ColliderHandle> {
        let dents = if surface.sleeper.is_some() { Dents::Filled } else { Dents::Kept };
        let sleeper = surface.sleeper.map_or(0, |root| root.0);
        let solid = solid::of_collider(collider, dents)?
            .friction(surface.friction)
            .restitution(surface.restitution)
            .collision_groups(groups(PRIMS, PRIMS))
            .user_data(u128::from(sleeper) << 32 | u128::from(id.0));
        Some(self.add_static(solid))
    }

    /// Adds a patch of ground of `n` × `n` cells of one metre, with this south-west corner. `height(x, y)` is the height at a corner of a cell.
    pub(super) fn add_ground(
        &mut self,
        corner: (u32, u32),
        n: u32,
        height: impl Fn(u32, u32) -> f32,
    ) -> ColliderHandle {
        // Rapier's rows run along its z axis, which points south after the turn that brings its y axis up.
        let samples = n as usize + 1;
        let heights = Array2::from_fn(samples, samples, |row, column| height(column as u32, n - row as u32));
        let half = n as f32 / 2.0;
        let centre = Vec3::new(corner.0 as f32 + half, corner.1 as f32 + half, 0.0);
        let solid = ColliderBuilder::heightfield(heights, Vector::new(n as f32, 1.0, n as f32))
            .position(to_pose(centre, solid::upright()))
            .friction(GROUND_FRICTION)
            .collision_groups(groups(GROUND, PRIMS | PHANTOMS));
        self.add_static(solid)
    }

    fn add_static(&mut self, solid: ColliderBuilder) -> ColliderHandle {
        self.forget_fixed_targets();
        self.world.insert_collider(solid, None)
    }

    /// Removes a prim or a patch of ground. Bodies that touch it wake.
    pub(super) fn remove_static(&mut self, handle: ColliderHandle) {
        self.forget_fixed_targets();
        self.world.remove_collider(handle);
    }

    /// Empties the CCD solver's list of colliders that fast bodies may hit. Rapier 0.35.2 renews the list only in steps with a fast body, and panics at a
    /// listed collider that was removed since (its issue 985). The solver has no other state.
    fn forget_fixed_targets(&mut self) {
        self.world.ccd_solver = CCDSolver::new();
    }

    pub(super) fn wake(&mut self, handle: RigidBodyHandle) {
        self.world.wake_up(handle, true);
    }

    pub(super) fn is_asleep(&self, handle: RigidBodyHandle) -> bool {
        self.world.bodies[handle].is_sleeping()
    }

    /// Number of bodies that are not asleep.
    pub(super) fn n_awake(&self) -> usize {
        self.world.islands.num_active_bodies()
    }

    /// Motion of a body; `None` if one of its numbers is not finite.
    pub(super) fn motion(&self, root: LocalId, handle: RigidBodyHandle) -> Option<BodyMotion> {
        let body = &self.world.bodies[handle];
        let at = body.translation();
        let motion = BodyMotion {
            root,
            position: from_vector(at),
            rotation: from_rotation(body.rotation()),
            velocity: from_vector(body.velocity_at_point(at)),
            angular_velocity: from_vector(body.angvel()),
            acceleration: Vec3::ZERO,
        };
        let BodyMotion { position, rotation, velocity, angular_velocity, .. } = motion;
        let is_finite = position.is_finite()
            && rotation.is_finite()
            && velocity.is_finite()
            && angular_velocity.is_finite();
        is_finite.then_some(motion)
    }

    /// Acceleration of a body by gravity; zero if something touches it.
    pub(super) fn free_fall(&self, handle: RigidBodyHandle) -> Vec3 {
        let PhysicsWorld { bodies, narrow_phase, .. } = &self.world;
        let body = &bodies[handle];
        let mut pairs = body.colliders().iter().flat_map(|&own| narrow_phase.contact_pairs_with(own));
        let is_touched = pairs.any(|pair| pair.has_any_active_contact());
        if is_touched { Vec3::ZERO } else { Vec3::NEG_Z * (GRAVITY_M_PER_S2 * body.gravity_scale()) }
    }

    /// Centre of a ball around a body, and the most that a point of it moves in a second, metres.
    pub(super) fn reach(&self, handle: RigidBodyHandle, centre: Vec3, radius: f32) -> (Vec3, f32) {
        let body = &self.world.bodies[handle];
        let at = from_vector(body.translation()) + from_rotation(body.rotation()) * centre;
        let speed = from_vector(body.linvel()).length() + from_vector(body.angvel()).length() * radius;
        (at, speed)
    }

    /// Velocity of a body's centre of mass, metres per second.
    pub(super) fn velocity(&self, handle: RigidBodyHandle) -> Vec3 {
        from_vector(self.world.bodies[handle].linvel())
    }

    /// Visits the roots of sleeping linksets that a body touches.
    pub(super) fn each_touched_sleeper(&self, handle: RigidBodyHandle, mut visit: impl FnMut(LocalId)) {
        let PhysicsWorld { bodies, colliders, narrow_phase, .. } = &self.world;
        for &own in bodies[handle].colliders() {
            for pair in narrow_phase.contact_pairs_with(own) {
                let other = if pair.collider1 == own { pair.collider2 } else { pair.collider1 };
                let sleeper = match colliders.get(other) {
                    Some(other) if other.parent().is_none() => (other.user_data >> 32) as u32,
                    _ => 0,
                };
                if sleeper != 0 && pair.has_any_active_contact() {
                    visit(LocalId(sleeper));
                }
            }
        }
    }

    /// Visits the roots of bodies whose state became non-finite in the last sub-step (rapier's quarantine). Rapier has put them back to their last valid pose.
    pub(super) fn each_broken(&self, mut visit: impl FnMut(LocalId)) {
        let quarantine = self.world.quarantine();
        let of_colliders = quarantine.colliders().iter().filter_map(|&collider| {
            self.world.colliders.get(collider).and_then(|collider| collider.parent())
        });
        for handle in quarantine.bodies().iter().copied().chain(of_colliders) {
            if let Some(body) = self.world.bodies.get(handle) {
                visit(LocalId(body.user_data as u32));
            }
        }
    }

    /// Pulls a point of a body, given in its own axes, towards a target for one sub-step. The acceleration of the mass as a whole is at most `most`, m/s².
    pub(super) fn pull(&mut self, handle: RigidBodyHandle, grip: Vec3, pull: &Pull) {
        let body = &mut self.world.bodies[handle];
        let point = from_vector(body.translation()) + from_rotation(body.rotation()) * grip;
        let velocity = from_vector(body.velocity_at_point(to_vector(point)));
        let weight = Vec3::Z * (GRAVITY_M_PER_S2 * body.gravity_scale());
        let wished = (pull.target - point) * pull.stiffness - velocity * pull.damping + weight;
        let impulse = wished.clamp_length_max(pull.most) * (body.mass() * SUB_STEP_S);
        let slower = from_vector(body.angvel()) * pull.spin_left;
        body.set_angvel(to_vector(slower), true);
        body.apply_impulse_at_point(to_vector(impulse), to_vector(point), true);
    }

    pub(super) fn has_body(&self, handle: RigidBodyHandle) -> bool {
        self.world.bodies.contains(handle)
    }

    pub(super) fn has_collider(&self, handle: ColliderHandle) -> bool {
        self.world.colliders.contains(handle)
    }

    pub(super) fn n_bodies(&self) -> usize {
        self.world.bodies.len()
    }

    /// Breaks a body, as a fault of the solver would.
    #[cfg(test)]
    pub(super) fn break_body(&mut self, handle: RigidBodyHandle) {
        self.world.bodies[handle].add_force(Vector::new(f32::NAN, 0.0, 0.0), true);
    }
}

/// A pull at a point: a damped spring that also carries the body's weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pull {
    pub(super) target: Vec3,
    /// Acceleration per metre of distance, 1/s².
    pub(super) stiffness: f32,
    /// Acceleration per m/s, 1/s.
    pub(super) damping: f32,
    /// Acceleration at most, m/s².
    pub(super) most: f32,
    /// Share of the spin that is left after a sub-step.
    pub(super) spin_left: f32,
}

const fn groups(own: Group, others: Group) -> InteractionGroups {
    InteractionGroups::new(own, others, InteractionTestMode::And)
}

/// The box around the solids of a plan, in the axes of its root.
fn bounds_of(plan: &BodyPlan) -> Aabb {
    let corners = plan.parts.iter().filter(|part| part.geometry != Geometry::Empty).flat_map(|part| {
        let (unit, placement) = (part.geometry.bounds(), part.placement);
        let axes = Mat3::from_quat(placement.rotation.normalize());
        let solid = OrientedBox {
            centre: placement.position + axes * (unit.centre() * placement.scale),
            axes,
            half: unit.half() * placement.scale,
        };
        solid.corners()
    });
    Aabb::around(corners)
}
