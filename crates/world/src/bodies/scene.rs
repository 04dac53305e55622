//! A world as its moving linksets see it.

use crate::objects::ObjectStore;
use crate::solids::Forms;
use glam::{Quat, Vec3};
use ids::LocalId;
use link::{PrimFlags, PrimMotion, Terrain};
use physics::{BodyPart, BodyPlan, Colliders, Geometry, Neighbourhood, Placement, PrimSurface};
use prim::{Body, PhysicsShape};

/// Linksets that collide with the ground only.
const PASSABLE: PrimFlags = PrimFlags(PrimFlags::PHANTOM.0 | PrimFlags::VOLUME_DETECT.0);

/// Objects, their solids and the ground, between the edits of a step and its end: solids are those of the last frame.
pub(super) struct BodyScene<'a> {
    pub(super) objects: &'a ObjectStore,
    pub(super) colliders: &'a Colliders,
    pub(super) forms: &'a mut Forms,
    pub(super) terrain: &'a Terrain,
    pub(super) ground_version: u64,
}

/// True for a linkset that physics moves: not worn, and physical. `root` is its root.
pub(super) fn is_movable(root: &PrimMotion) -> bool {
    root.link_number == 0 && root.parent == LocalId(0) && root.flags.any(PrimFlags::PHYSICS)
}

impl BodyScene<'_> {
    /// Solid of a prim; [`Geometry::Empty`] for one that collides with nothing.
    fn geometry(&mut self, body: &Body) -> Geometry {
        if body.physics.shape == PhysicsShape::None { Geometry::Empty } else { self.forms.of_body(body) }
    }
}

impl Neighbourhood for BodyScene<'_> {
    fn colliders(&self) -> &Colliders {
        self.colliders
    }

    fn surface(&self, prim: LocalId) -> Option<PrimSurface> {
        let physics = &self.objects.body(prim)?.body.physics;
        let root = self.objects.root_of(prim)?;
        let is_sleeper = self.objects.motion(root).is_some_and(is_movable);
        Some(PrimSurface {
            sleeper: is_sleeper.then_some(root),
            friction: physics.friction,
            restitution: physics.restitution,
        })
    }

    fn describe(&mut self, root: LocalId, plan: &mut BodyPlan) -> bool {
        let objects = self.objects;
        let Some((prim, versioned)) = objects.motion(root).zip(objects.body(root)) else { return false };
        if !is_movable(prim) {
            return false;
        }
        let motion = prim.motion;
        (plan.position, plan.rotation) = (motion.position, motion.rotation);
        (plan.velocity, plan.angular_velocity) = (motion.velocity, motion.angular_velocity);
        plan.gravity = versioned.body.physics.gravity;
        plan.is_phantom = prim.flags.any(PASSABLE);
        for id in objects.linkset(root) {
            let Some((part, versioned)) = objects.motion(id).zip(objects.body(id)) else { continue };
            let body = &*versioned.body;
            // From an archive or an inventory: no edit makes it physical.
            if !body.has_physical_size() {
                return false;
            }
            let geometry = self.geometry(body);
            if geometry == Geometry::Empty {
                continue;
            }
            let (position, rotation) = if id == root {
                (Vec3::ZERO, Quat::IDENTITY)
            } else {
                (part.motion.position, part.motion.rotation)
            };
            plan.parts.push(BodyPart {
                id,
                geometry,
                placement: Placement { position, rotation, scale: body.scale },
                density: body.physics.density,
                friction: body.physics.friction,
                restitution: body.physics.restitution,
            });
        }
        true
    }

    fn ground_height(&self, x: u32, y: u32) -> f32 {
        let size_m = self.terrain.size_m();
        let [x, y] = [x, y].map(|at| at.min(size_m - 1));
        self.terrain.heights()[(y * size_m + x) as usize]
    }

    fn ground_version(&self) -> u64 {
        self.ground_version
    }
}
