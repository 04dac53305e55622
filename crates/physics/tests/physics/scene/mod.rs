//! Prims to walk among, for tests and benchmarks.
#![allow(dead_code, reason = "each test and benchmark takes what it needs")]

mod built;

use glam::{Quat, Vec2, Vec3};
use ids::LocalId;
use physics::{
    AvatarStep, ColliderKind, Colliders, Cylinder, Gait, Geometry, Moved, Placement, ShapeCache, Support,
    Surroundings, step_avatar,
};
use prim::{Shape, ShapeKind};

/// Sub-steps per second.
pub(crate) const STEPS_PER_S: f32 = 60.0;
/// Sub-steps of a tick of 50 ms. An avatar on its feet makes them in one stride.
pub(crate) const SUB_STEPS: u32 = 3;
pub(crate) const WALK_M_PER_S: f32 = 3.2;
pub(crate) const RUN_M_PER_S: f32 = 5.1;
pub(crate) const GRAVITY_M_PER_S2: f32 = 9.81;
pub(crate) const CYLINDER: Cylinder = Cylinder { radius: 0.3, half_height: 0.95 };

/// A region with prims, with level ground at height 0.
pub(crate) struct Scene {
    pub(crate) cache: ShapeCache,
    pub(crate) colliders: Colliders,
    next_id: u32,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { cache: ShapeCache::default(), colliders: Colliders::new(256), next_id: 1 }
    }

    pub(crate) fn prim(&mut self, shape: &Shape, placement: Placement) -> LocalId {
        let geometry = self.cache.of_shape(shape, placement.scale);
        self.put(ColliderKind::Solid, &geometry, placement)
    }

    fn put(&mut self, kind: ColliderKind, geometry: &Geometry, placement: Placement) -> LocalId {
        let id = LocalId(self.next_id);
        self.next_id += 1;
        self.colliders.insert(id, kind, geometry, &placement).unwrap();
        id
    }

    /// A box along the axes.
    pub(crate) fn block(&mut self, centre: Vec3, size: Vec3) -> LocalId {
        self.prim(&Shape::BOX, Placement { position: centre, rotation: Quat::IDENTITY, scale: size })
    }
}

/// An avatar with its velocity.
#[derive(Clone)]
pub(crate) struct Walker {
    pub(crate) at: Vec3,
    pub(crate) on: Support,
    pub(crate) surroundings: Surroundings,
    pub(crate) fall_m_per_s: f32,
}

impl Walker {
    /// Standing with its soles at a height.
    pub(crate) fn new(at: Vec2, soles: f32) -> Self {
        Self {
            at: at.extend(soles + CYLINDER.half_height),
            on: Support::Ground,
            surroundings: Surroundings::default(),
            fall_m_per_s: 0.0,
        }
    }

    pub(crate) fn soles(&self) -> f32 {
        self.at.z - CYLINDER.half_height
    }

    /// One sub-step of a walk or a fall.
    pub(crate) fn step(&mut self, scene: &Scene, velocity: Vec2) -> Moved {
        self.step_on(scene, velocity, Vec3::ZERO)
    }

    /// The same on an object that moves.
    pub(crate) fn step_on(&mut self, scene: &Scene, velocity: Vec2, carried: Vec3) -> Moved {
        self.steps_on(scene, velocity, carried, 1)
    }

    /// A tick, as a walker's in a region: in one stride on its feet, in sub-steps in the air. Returns the last movement.
    pub(crate) fn tick(&mut self, scene: &Scene, velocity: Vec2) -> Moved {
        let mut left = SUB_STEPS;
        loop {
            let n_steps = if self.on == Support::Air { 1 } else { left };
            let moved = self.steps_on(scene, velocity, Vec3::ZERO, n_steps);
            left -= n_steps;
            if left == 0 {
                return moved;
            }
        }
    }

    fn steps_on(&mut self, scene: &Scene, velocity: Vec2, carried: Vec3, n_steps: u32) -> Moved {
        let is_airborne = self.on == Support::Air;
        if is_airborne {
            self.fall_m_per_s = (self.fall_m_per_s + GRAVITY_M_PER_S2 / STEPS_PER_S).min(54.0);
        } else {
            self.fall_m_per_s = 0.0;
        }
        let wish = velocity.extend(-self.fall_m_per_s) / STEPS_PER_S * n_steps as f32;
        // Ground has slopes, prims have edges.
        let ground_drop = if self.on == Support::Ground { 0.25 * n_steps as f32 } else { 0.05 };
        let gait = if is_airborne { Gait::Airborne } else { Gait::Walking { ground_drop } };
        let step = AvatarStep { from: self.at, wish, carried, cylinder: CYLINDER, gait };
        let moved = step_avatar(&scene.colliders, &mut self.surroundings, |_| 0.0, &step);
        (self.at, self.on) = (moved.position, moved.on);
        moved
    }

    /// Walks straight for some seconds; the highest place of the soles.
    pub(crate) fn walk(&mut self, scene: &Scene, direction: Vec2, seconds: f32) -> f32 {
        let velocity = direction.normalize_or_zero() * WALK_M_PER_S;
        let mut highest = self.soles();
        for _ in 0..(seconds * STEPS_PER_S) as u32 / SUB_STEPS {
            self.tick(scene, velocity);
            highest = highest.max(self.soles());
        }
        highest
    }
}

/// A row of random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        state_hash::mix(self.0)
    }

    /// 0…1.
    pub(crate) fn share(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1_u32 << 24) as f32
    }

    pub(crate) fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.share()
    }

    /// Any turn.
    pub(crate) fn rotation(&mut self) -> Quat {
        loop {
            let [x, y, z, w] = std::array::from_fn(|_| self.between(-1.0, 1.0));
            let quaternion = Quat::from_xyzw(x, y, z, w);
            if (0.1..1.0).contains(&quaternion.length_squared()) {
                return quaternion.normalize();
            }
        }
    }

    /// A shape as builders use it: mostly plain cylinders, spheres, and boxes with a hole or a cut.
    pub(crate) fn usual_shape(&mut self) -> Shape {
        let cut = |steps: f32| (steps * 100.0) as u16 * 250;
        match self.share() {
            share if share < 0.35 => Shape::plain(ShapeKind::Cylinder),
            share if share < 0.5 => Shape::plain(ShapeKind::Sphere),
            share if share < 0.55 => Shape::plain(ShapeKind::Prism),
            share if share < 0.6 => Shape::plain(ShapeKind::Torus),
            share if share < 0.7 => Shape { profile_hollow: cut(self.between(0.5, 1.9)), ..Shape::BOX },
            share if share < 0.8 => Shape { profile_end: cut(self.between(0.2, 1.5)), ..Shape::BOX },
            share if share < 0.9 => Shape { path_scale_x: 150, path_scale_y: 200, ..Shape::BOX },
            _ => self.shape(),
        }
    }

    /// Any shape that a viewer's build tool makes.
    pub(crate) fn shape(&mut self) -> Shape {
        let is_circle = self.share() < 0.4;
        let profile = [0, 1, 1, 3, 5][(self.share() * 5.0) as usize];
        let mut code = |often: f32, least: f32, most: f32| {
            if self.share() < often { self.between(least, most) as i32 } else { 0 }
        };
        let is_sphere = is_circle && profile == 5;
        let scale = |code: i32| if is_sphere { 100 } else { (100 + code) as u8 };
        let shape = Shape {
            path_curve: if is_circle { 0x20 } else { 0x10 },
            profile_curve: profile | (code(0.5, 0.0, 4.0) as u8) << 4,
            path_begin: code(0.3, 0.0, 40_000.0) as u16,
            path_end: code(0.3, 0.0, 40_000.0) as u16,
            profile_begin: code(0.3, 0.0, 40_000.0) as u16,
            profile_end: code(0.3, 0.0, 40_000.0) as u16,
            profile_hollow: code(0.4, 0.0, 49_500.0) as u16,
            path_scale_x: scale(code(0.4, -100.0, 100.0)),
            path_scale_y: scale(code(0.4, -100.0, 100.0)),
            path_shear_x: code(0.2, -50.0, 50.0) as i8,
            path_shear_y: code(0.2, -50.0, 50.0) as i8,
            path_twist: code(0.2, -100.0, 100.0) as i8,
            path_twist_begin: code(0.2, -100.0, 100.0) as i8,
            path_radius_offset: code(0.2, -100.0, 100.0) as i8,
            path_taper_x: code(0.2, -100.0, 100.0) as i8,
            path_taper_y: code(0.2, -100.0, 100.0) as i8,
            path_revolutions: code(0.2, 0.0, 200.0) as u8,
            path_skew: code(0.2, -95.0, 95.0) as i8,
        };
        shape.clamped().unwrap()
    }
}
