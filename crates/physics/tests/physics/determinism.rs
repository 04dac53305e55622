//! Equal input gives equal output, whatever was in the caches and in which order the prims came.

use crate::scene::{self, RUN_M_PER_S, Random, Scene, WALK_M_PER_S, Walker};
use glam::{Vec2, Vec3};
use ids::LocalId;
use physics::{AvatarStep, ColliderKind, Gait, Placement, Surroundings, step_avatar};
use prim::{Shape, ShapeKind};
use state_hash::StateHasher;

const SIZE_M: f32 = 20.0;

fn prims() -> Vec<(LocalId, Shape, Placement)> {
    let mut random = Random(11);
    let mut place = |id: u32| {
        let position =
            Vec3::new(random.between(0.0, SIZE_M), random.between(0.0, SIZE_M), random.between(0.0, 2.0));
        let shape = if random.share() < 0.6 { Shape::BOX } else { random.shape() };
        let scale = Vec3::new(random.between(0.2, 3.0), random.between(0.2, 3.0), random.between(0.2, 3.0));
        (LocalId(id), shape, Placement { position, rotation: random.rotation(), scale })
    };
    (0..150).map(&mut place).collect()
}

/// Hash of all places of 30 avatars over 10 s, of which each third runs. A prim moves meanwhile.
fn run(prims: &[(LocalId, Shape, Placement)], forgets: bool) -> u64 {
    let mut scene = Scene::new();
    for (id, shape, placement) in prims {
        let geometry = scene.cache.of_shape(shape, placement.scale);
        scene.colliders.insert(*id, ColliderKind::Solid, &geometry, placement).unwrap();
    }
    let mut random = Random(5);
    let mut walkers: Vec<Walker> = (0..30)
        .map(|_| Walker::new(Vec2::new(random.between(0.0, SIZE_M), random.between(0.0, SIZE_M)), 6.0))
        .collect();
    let mut hasher = StateHasher::new();
    for tick in 0..200 {
        let angle = tick as f32 * 0.03;
        let moving = Vec3::new(10.0 + angle, 10.0, 1.0);
        scene.colliders.relocate(LocalId(77), moving, glam::Quat::from_rotation_z(angle)).unwrap();
        for (index, walker) in walkers.iter_mut().enumerate() {
            if forgets {
                walker.surroundings = Surroundings::default();
            }
            let turn = (tick / 33 + index) as f32;
            let speed = if index % 3 == 0 { RUN_M_PER_S } else { WALK_M_PER_S };
            walker.tick(&scene, Vec2::from_angle(turn * 1.7) * speed);
            hasher.vec3(walker.at);
        }
    }
    hasher.finish()
}

#[test]
fn equal_input_gives_equal_output_in_any_order_and_with_empty_caches() {
    let prims = prims();
    let hash = run(&prims, false);
    assert_eq!(run(&prims, false), hash);
    assert_eq!(run(&prims, true), hash, "with empty caches");
    let backwards: Vec<_> = prims.into_iter().rev().collect();
    assert_eq!(run(&backwards, false), hash, "in another order");
}

/// A heap in which each step has more pieces than it may have.
#[test]
fn the_pieces_that_a_step_leaves_out_do_not_depend_on_the_steps_before() {
    let mut random = Random(23);
    let mut scene = Scene::new();
    let torus = Shape { profile_hollow: 25_000, ..Shape::plain(ShapeKind::Torus) };
    for _ in 0..120 {
        let position =
            Vec3::new(random.between(10.0, 13.0), random.between(10.0, 13.0), random.between(0.0, 2.0));
        scene.prim(&torus, Placement { position, rotation: random.rotation(), scale: Vec3::splat(1.5) });
    }
    let mut walkers: Vec<Walker> =
        (0..8).map(|n| Walker::new(Vec2::splat(10.2 + 0.3 * n as f32), 0.0)).collect();
    let (mut n_cut, mut n_moved) = (0, 0);
    for tick in 0..60 {
        for (index, walker) in walkers.iter_mut().enumerate() {
            let velocity = Vec2::from_angle((tick / 15 + index) as f32 * 1.7) * WALK_M_PER_S;
            let mut fresh = walker.clone();
            fresh.surroundings = Surroundings::default();
            fresh.tick(&scene, velocity);
            let from = walker.at;
            walker.tick(&scene, velocity);
            assert_eq!((walker.at, walker.on), (fresh.at, fresh.on), "tick {tick} of walker {index}");
            n_cut += u32::from(walker.surroundings.len() > 4_096);
            n_moved += u32::from(walker.at != from);
        }
    }
    assert!(n_cut > 400 && n_moved > 10, "{n_cut} of 480 steps left pieces out, {n_moved} led somewhere");
}

/// Results travel between machines: another value on one of them would let a moved world go its own way.
#[test]
fn movements_are_those_of_other_machines() {
    assert_eq!(run(&prims(), false), 16_276_876_152_307_590_110);
}

#[test]
fn a_walker_pressed_against_a_wall_goes_on_when_the_wall_or_the_ground_has_changed() {
    let mut scene = Scene::new();
    let wall = scene.block(Vec3::new(11.0, 10.0, 1.0), Vec3::new(1.0, 8.0, 2.0));
    let mut surroundings = Surroundings::default();
    let mut press = |scene: &Scene, from: Vec3, ground: f32| {
        let wish = Vec3::X * (WALK_M_PER_S / scene::STEPS_PER_S);
        let gait = Gait::Walking { ground_drop: 0.25 };
        let step = AvatarStep { from, wish, carried: Vec3::ZERO, cylinder: scene::CYLINDER, gait };
        step_avatar(&scene.colliders, &mut surroundings, |_| ground, &step)
    };
    let mut at = Vec3::new(10.0, 10.0, scene::CYLINDER.half_height);
    for _ in 0..20 {
        at = press(&scene, at, 0.0).position;
    }
    assert!(at.x < 10.3 && press(&scene, at, 0.0).position == at, "it rests at the wall: {at}");
    let raised = press(&scene, at, 0.1).position;
    assert_eq!(raised, at.with_z(0.1 + scene::CYLINDER.half_height));
    assert_eq!(press(&scene, at, 0.0).position, at);
    scene.colliders.remove(wall);
    assert!(press(&scene, at, 0.0).position.x > at.x + 0.05);
}
