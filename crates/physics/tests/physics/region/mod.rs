//! A region in which linksets move, for tests and benchmarks.
#![allow(dead_code, reason = "each test and benchmark takes what it needs")]

use glam::{Quat, Vec3};
use ids::LocalId;
use physics::{
    BodyMotion, BodyPart, BodyPlan, ColliderKind, Colliders, Dynamics, DynamicsSettings, Geometry,
    Neighbourhood, Outcome, Placement, PrimSurface, ShapeCache,
};
use prim::Shape;
use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) const SIZE_M: u32 = 256;
/// A tick at 20 Hz: three sub-steps.
pub(crate) const TICK: Duration = Duration::from_millis(50);
/// One sub-step.
pub(crate) const SUB_STEP: Duration = Duration::from_nanos(16_666_667);
const SURFACE: PrimSurface = PrimSurface { sleeper: None, friction: 0.6, restitution: 0.1 };

/// Prims of a region, of which some belong to linksets that physics moves.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) cache: ShapeCache,
    pub(crate) colliders: Colliders,
    surfaces: BTreeMap<LocalId, PrimSurface>,
    /// Prims that stay where they are.
    fixed: BTreeMap<LocalId, (Geometry, Placement)>,
    /// Linksets that physics moves, as they are now.
    pub(crate) linksets: BTreeMap<LocalId, BodyPlan>,
    height: fn(f32, f32) -> f32,
    ground_version: u64,
    next_id: u32,
}

impl Region {
    /// A region without prims, on ground of this form.
    pub(crate) fn new(height: fn(f32, f32) -> f32) -> Self {
        Self {
            cache: ShapeCache::default(),
            colliders: Colliders::new(SIZE_M),
            surfaces: BTreeMap::new(),
            fixed: BTreeMap::new(),
            linksets: BTreeMap::new(),
            height,
            ground_version: 1,
            next_id: 1,
        }
    }

    /// The same region, as a restarted process has it: its stores count anew, and prims come in another order.
    pub(crate) fn rebuilt(&self) -> Self {
        let mut again = Self { ground_version: 77, next_id: self.next_id, ..Self::new(self.height) };
        again.fixed.clone_from(&self.fixed);
        again.surfaces.clone_from(&self.surfaces);
        again.linksets.clone_from(&self.linksets);
        for (&id, (geometry, placement)) in self.fixed.iter().rev() {
            again.colliders.insert(id, ColliderKind::Solid, geometry, placement).unwrap();
        }
        self.linksets.keys().rev().for_each(|&root| again.place(root));
        again
    }

    fn take_id(&mut self) -> LocalId {
        let id = LocalId(self.next_id);
        self.next_id += 1;
        id
    }

    /// Adds a prim that stays where it is.
    pub(crate) fn prim(&mut self, shape: &Shape, placement: Placement) -> LocalId {
        let id = self.take_id();
        let geometry = self.cache.of_shape(shape, placement.scale);
        self.colliders.insert(id, ColliderKind::Solid, &geometry, &placement).unwrap();
        self.surfaces.insert(id, SURFACE);
        self.fixed.insert(id, (geometry, placement));
        id
    }

    /// Adds a box that stays where it is.
    pub(crate) fn block(&mut self, centre: Vec3, size: Vec3) -> LocalId {
        self.prim(&Shape::BOX, Placement { position: centre, rotation: Quat::IDENTITY, scale: size })
    }

    /// Adds a linkset that physics moves, of one prim, asleep.
    pub(crate) fn sleeper(&mut self, shape: &Shape, placement: Placement) -> LocalId {
        self.linkset(placement.position, placement.rotation, &[(*shape, Vec3::ZERO, placement.scale)])
    }

    /// Adds a box that physics moves, asleep.
    pub(crate) fn sleeping_box(&mut self, centre: Vec3, size: Vec3) -> LocalId {
        self.sleeper(&Shape::BOX, Placement { position: centre, rotation: Quat::IDENTITY, scale: size })
    }

    /// Adds a linkset that physics moves, asleep: its prims with their offsets from the root and their sizes, the root first.
    pub(crate) fn linkset(
        &mut self,
        position: Vec3,
        rotation: Quat,
        prims: &[(Shape, Vec3, Vec3)],
    ) -> LocalId {
        let parts: Vec<BodyPart> = prims
            .iter()
            .map(|&(shape, offset, scale)| BodyPart {
                id: self.take_id(),
                geometry: self.cache.of_shape(&shape, scale),
                placement: Placement { position: offset, rotation: Quat::IDENTITY, scale },
                density: 1_000.0,
                friction: 0.6,
                restitution: 0.1,
            })
            .collect();
        let root = parts[0].id;
        for part in &parts {
            self.surfaces.insert(part.id, PrimSurface { sleeper: Some(root), ..SURFACE });
        }
        self.linksets.insert(root, BodyPlan { position, rotation, parts, ..BodyPlan::default() });
        self.place(root);
        root
    }

    /// Brings the colliders of a linkset to where it is.
    pub(crate) fn place(&mut self, root: LocalId) {
        let plan = &self.linksets[&root];
        for part in &plan.parts {
            let placement = Placement {
                position: plan.position + plan.rotation * part.placement.position,
                rotation: plan.rotation * part.placement.rotation,
                scale: part.placement.scale,
            };
            let geometry: &Geometry = &part.geometry;
            self.colliders.insert(part.id, ColliderKind::Solid, geometry, &placement).unwrap();
        }
    }

    /// Moves a linkset as a body has moved.
    pub(crate) fn follow(&mut self, motion: &BodyMotion) {
        let Some(plan) = self.linksets.get_mut(&motion.root) else { return };
        (plan.position, plan.rotation) = (motion.position, motion.rotation);
        (plan.velocity, plan.angular_velocity) = (motion.velocity, motion.angular_velocity);
        for part in &plan.parts {
            let position = plan.position + plan.rotation * part.placement.position;
            let rotation = plan.rotation * part.placement.rotation;
            self.colliders.relocate(part.id, position, rotation).unwrap();
        }
    }

    /// Removes a linkset or a prim.
    pub(crate) fn remove(&mut self, id: LocalId) {
        let parts = self
            .linksets
            .remove(&id)
            .map_or_else(|| vec![id], |plan| plan.parts.iter().map(|part| part.id).collect());
        for id in parts {
            self.colliders.remove(id);
            self.surfaces.remove(&id);
            self.fixed.remove(&id);
        }
    }

    /// Gives the ground another form.
    pub(crate) fn shape_ground(&mut self, height: fn(f32, f32) -> f32) {
        self.height = height;
        self.ground_version += 1;
    }

    pub(crate) fn at(&self, root: LocalId) -> Vec3 {
        self.linksets[&root].position
    }
}

impl Neighbourhood for Region {
    fn colliders(&self) -> &Colliders {
        &self.colliders
    }

    fn surface(&self, prim: LocalId) -> Option<PrimSurface> {
        self.surfaces.get(&prim).copied()
    }

    fn describe(&mut self, root: LocalId, plan: &mut BodyPlan) -> bool {
        let Some(known) = self.linksets.get(&root) else { return false };
        plan.clone_from(known);
        true
    }

    fn ground_height(&self, x: u32, y: u32) -> f32 {
        (self.height)(x as f32, y as f32)
    }

    fn ground_version(&self) -> u64 {
        self.ground_version
    }
}

/// A region with its moving linksets.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) region: Region,
    pub(crate) dynamics: Dynamics,
    pub(crate) outcome: Outcome,
}

impl Stage {
    /// A region without prims on level ground at height 0.
    pub(crate) fn new() -> Self {
        Self::on(|_, _| 0.0)
    }

    /// A region without prims on this ground.
    pub(crate) fn on(height: fn(f32, f32) -> f32) -> Self {
        Self {
            region: Region::new(height),
            dynamics: Dynamics::new(DynamicsSettings::new(SIZE_M)),
            outcome: Outcome::default(),
        }
    }

    /// Adds a box that physics moves, and wakes it.
    pub(crate) fn moving_box(&mut self, centre: Vec3, size: Vec3) -> LocalId {
        let root = self.region.sleeping_box(centre, size);
        assert!(self.dynamics.wake(root));
        root
    }

    /// One step, and the region follows.
    pub(crate) fn step(&mut self, dt: Duration) {
        self.dynamics.step(dt, &mut self.region, &mut self.outcome);
        for motion in self.outcome.moved.iter().chain(&self.outcome.left) {
            self.region.follow(motion);
        }
    }

    /// Ticks until nothing moves; their number.
    pub(crate) fn settle(&mut self, ticks_max: u32) -> u32 {
        for tick in 0..ticks_max {
            if self.dynamics.is_idle() {
                return tick;
            }
            self.step(TICK);
        }
        panic!("{} bodies move after {ticks_max} ticks", self.dynamics.n_awake());
    }
}
