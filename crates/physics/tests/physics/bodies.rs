//! Linksets that fall, collide, rest, sleep, and wake others.

use crate::region::{SIZE_M, SUB_STEP, Stage, TICK};
use glam::{Quat, Vec3};
use ids::LocalId;
use physics::{Aabb, Dynamics, DynamicsSettings, Placement, StopReason};
use prim::{Shape, ShapeKind};

/// Distance of bodies at rest from where they touch, metres: rapier leaves half a centimetre of overlap.
const SLOP_M: f32 = 0.02;

fn turned(position: Vec3, rotation: Quat, scale: Vec3) -> Placement {
    Placement { position, rotation, scale }
}

fn box_around(at: Vec3, half: f32) -> Aabb {
    Aabb { low: at - Vec3::splat(half), high: at + Vec3::splat(half) }
}

#[test]
fn a_body_falls_onto_a_prim_and_rests_there() {
    let mut stage = Stage::new();
    stage.region.block(Vec3::new(100.0, 100.0, 1.0), Vec3::new(4.0, 4.0, 2.0));
    let body = stage.moving_box(Vec3::new(100.0, 100.5, 5.0), Vec3::splat(0.5));
    let mut rests = 0;
    for _ in 0..200 {
        stage.step(TICK);
        let at_rest = |motion: &&physics::BodyMotion| motion.velocity == Vec3::ZERO;
        rests += stage.outcome.moved.iter().filter(at_rest).count();
    }
    let at = stage.region.at(body);
    assert!((at.z - 2.25).abs() < SLOP_M && (at.y - 100.5).abs() < 0.05, "{at}");
    assert_eq!(
        (rests, stage.dynamics.is_idle()),
        (1, true),
        "its rest is reported once, and then it costs nothing"
    );
    stage.step(TICK);
    assert!(stage.outcome.moved.is_empty());
}

#[test]
fn a_body_rests_on_floors_of_a_millimetre_and_of_256_metres() {
    for size in [Vec3::new(4.0, 4.0, 0.001), Vec3::new(256.0, 256.0, 0.5), Vec3::splat(256.0)] {
        let mut stage = Stage::new();
        let top = 300.0;
        stage.region.block(Vec3::new(128.0, 128.0, top - size.z / 2.0), size);
        let body = stage.moving_box(Vec3::new(128.5, 127.5, top + 2.0), Vec3::splat(0.5));
        stage.settle(400);
        let at = stage.region.at(body);
        assert!((at.z - top - 0.25).abs() < SLOP_M, "{at} on {size}");
    }
}

#[test]
fn a_body_falls_through_a_tube_and_not_through_its_wall() {
    let mut stage = Stage::new();
    let tube = Shape { profile_hollow: 45_000, ..Shape::BOX };
    stage.region.prim(&tube, turned(Vec3::new(100.0, 100.0, 2.0), Quat::IDENTITY, Vec3::splat(4.0)));
    let inside = stage.moving_box(Vec3::new(100.0, 100.0, 3.0), Vec3::splat(0.5));
    let on_wall = stage.moving_box(Vec3::new(101.9, 100.0, 4.3), Vec3::new(0.16, 1.0, 0.1));
    stage.settle(400);
    assert!((stage.region.at(inside).z - 0.25).abs() < SLOP_M, "{}", stage.region.at(inside));
    assert!(stage.region.at(on_wall).z > 4.0, "{}", stage.region.at(on_wall));
}

#[test]
fn bodies_of_every_form_rest_at_their_height() {
    let mut stage = Stage::new();
    let forms = [
        (Shape::plain(ShapeKind::Sphere), 0.5),
        (Shape::plain(ShapeKind::Cylinder), 0.5),
        (Shape::plain(ShapeKind::Prism), 0.5),
        (Shape { profile_hollow: 25_000, ..Shape::BOX }, 0.5),
    ];
    let bodies: Vec<(LocalId, f32)> = (0_u8..)
        .zip(&forms)
        .map(|(n, &(shape, rest))| {
            let at = Vec3::new(100.0 + 4.0 * f32::from(n), 100.0, 0.6);
            let body = stage.region.sleeper(&shape, turned(at, Quat::IDENTITY, Vec3::ONE));
            assert!(stage.dynamics.wake(body));
            (body, rest)
        })
        .collect();
    for _ in 0..100 {
        stage.step(TICK);
    }
    for (body, rest) in bodies {
        let at = stage.region.at(body);
        assert!((at.z - rest).abs() < SLOP_M, "{at}");
    }
}

#[test]
fn a_linkset_falls_as_one_with_its_weight_where_its_prims_are() {
    let mut stage = Stage::new();
    // The root stands on a post, the other prim hangs beside it and is heavier: the linkset tips over.
    stage.region.block(Vec3::new(100.0, 100.0, 1.0), Vec3::new(0.4, 0.4, 2.0));
    let prims = [
        (Shape::BOX, Vec3::ZERO, Vec3::splat(0.4)),
        (Shape::BOX, Vec3::new(0.9, 0.0, 0.0), Vec3::new(1.0, 0.8, 0.8)),
    ];
    let body = stage.region.linkset(Vec3::new(100.0, 100.0, 2.21), Quat::IDENTITY, &prims);
    assert!(stage.dynamics.wake(body));
    stage.settle(600);
    let plan = &stage.region.linksets[&body];
    assert!(plan.position.z < 2.0, "{}", plan.position);
    let other = plan.position + plan.rotation * prims[1].1;
    assert!(other.is_finite() && (other.distance(plan.position) - 0.9).abs() < 1e-3);
}

#[test]
fn ground_is_where_it_is_drawn() {
    // Different slopes along x and y, so that no swap of axes goes unnoticed.
    let mut stage = Stage::on(|x, y| 10.0 + 0.08 * x + 0.03 * y);
    let bodies = [(40.0, 100.0), (200.5, 20.5), (15.9, 16.1)].map(|(x, y)| {
        let ground = 10.0 + 0.08 * x + 0.03 * y;
        stage.moving_box(Vec3::new(x, y, ground + 0.6), Vec3::splat(0.5))
    });
    stage.settle(400);
    for body in bodies {
        let at = stage.region.at(body);
        let above = at.z - (10.0 + 0.08 * at.x + 0.03 * at.y);
        assert!((above - 0.25).abs() < 0.03, "{at} is {above} m above the ground");
    }
}

#[test]
fn ground_that_is_dug_lets_the_bodies_on_it_fall() {
    let mut stage = Stage::on(|_, _| 20.0);
    let body = stage.moving_box(Vec3::new(100.0, 100.0, 20.3), Vec3::splat(0.5));
    stage.settle(200);
    stage.region.shape_ground(|_, _| 15.0);
    stage.dynamics.disturb(&box_around(Vec3::new(104.0, 104.0, 20.0), 8.0), &stage.region);
    stage.settle(400);
    assert!((stage.region.at(body).z - 15.25).abs() < SLOP_M, "{}", stage.region.at(body));
}

#[test]
fn a_stack_rests() {
    let mut stage = Stage::new();
    let bodies: Vec<LocalId> = (0_u8..6)
        .map(|n| stage.moving_box(Vec3::new(100.0, 100.0, 0.26 + 0.5 * f32::from(n)), Vec3::splat(0.5)))
        .collect();
    stage.settle(400);
    for (n, &body) in (0_u8..).zip(&bodies) {
        let at = stage.region.at(body);
        let expected = Vec3::new(100.0, 100.0, 0.25 + 0.5 * f32::from(n));
        assert!(at.distance(expected) < 0.05, "number {n} is at {at}");
    }
}

#[test]
fn a_pile_of_500_sleeps_and_then_costs_nothing() {
    let mut stage = Stage::new();
    for n in 0_u16..500 {
        let (column, row, layer) = (n % 8, n / 8 % 8, n / 64);
        let at = Vec3::new(
            100.0 + f32::from(column) * 0.55,
            100.0 + f32::from(row) * 0.55,
            0.3 + f32::from(layer) * 0.6,
        );
        stage.moving_box(at, Vec3::splat(0.5));
    }
    stage.settle(1_200);
    assert_eq!((stage.dynamics.n_bodies(), stage.dynamics.n_static_prims()), (0, 0));
    stage.step(TICK);
    assert!(stage.outcome.moved.is_empty() && stage.dynamics.is_idle());
}

#[test]
fn wakes_come_in_portions() {
    let mut stage = Stage::new();
    let bodies: Vec<LocalId> = (0_u8..100)
        .map(|n| stage.moving_box(Vec3::new(10.0 + 2.0 * f32::from(n), 100.0, 5.0), Vec3::splat(0.5)))
        .collect();
    let mut counts = Vec::new();
    for _ in 0..4 {
        stage.step(SUB_STEP);
        counts.push((stage.dynamics.n_bodies(), stage.dynamics.n_waiting()));
    }
    assert_eq!(counts, [(32, 68), (64, 36), (96, 4), (100, 0)]);
    assert!(bodies.iter().all(|&body| stage.dynamics.has_body(body)));
}

#[test]
fn dominoes_wake_one_after_the_other() {
    let mut stage = Stage::new();
    let dominoes: Vec<LocalId> = (0_u8..20)
        .map(|n| {
            let at = Vec3::new(100.0 + 0.6 * f32::from(n), 100.0, 0.5);
            stage.region.sleeping_box(at, Vec3::new(0.15, 0.6, 1.0))
        })
        .collect();
    // The first one leans.
    let tilt = Quat::from_rotation_y(0.35);
    let first = stage.region.linksets.get_mut(&dominoes[0]).unwrap();
    (first.rotation, first.position) = (tilt, first.position + Vec3::new(0.15, 0.0, 0.04));
    stage.region.place(dominoes[0]);
    assert!(stage.dynamics.wake(dominoes[0]));
    stage.step(SUB_STEP);
    assert_eq!(stage.dynamics.n_bodies(), 1, "the others sleep until they are hit");
    stage.settle(800);
    for (n, domino) in dominoes.iter().enumerate() {
        let up = stage.region.linksets[domino].rotation * Vec3::Z;
        assert!(up.z < 0.9, "number {n} stands: {up}");
    }
}

#[test]
fn sleepers_fall_when_their_support_goes() {
    let mut stage = Stage::new();
    let shelf = stage.region.block(Vec3::new(100.0, 100.0, 3.0), Vec3::new(2.0, 2.0, 0.2));
    let body = stage.moving_box(Vec3::new(100.0, 100.0, 3.4), Vec3::splat(0.5));
    stage.settle(200);
    let place = stage.region.colliders.oriented_box(shelf).unwrap().aabb();
    stage.region.remove(shelf);
    stage.dynamics.disturb(&place, &stage.region);
    stage.settle(400);
    assert!((stage.region.at(body).z - 0.25).abs() < SLOP_M, "{}", stage.region.at(body));
}

#[test]
fn a_body_that_is_awake_falls_when_its_support_goes() {
    let mut stage = Stage::new();
    let shelf = stage.region.block(Vec3::new(100.0, 100.0, 3.0), Vec3::new(2.0, 2.0, 0.2));
    let body = stage.moving_box(Vec3::new(100.0, 100.0, 3.4), Vec3::splat(0.5));
    // It has come to rest and has not left rapier yet.
    for _ in 0..25 {
        stage.step(TICK);
    }
    assert!(stage.dynamics.has_body(body));
    stage.region.remove(shelf);
    stage.settle(400);
    assert!((stage.region.at(body).z - 0.25).abs() < SLOP_M, "{}", stage.region.at(body));
}

#[test]
fn a_prim_that_is_removed_while_no_body_is_near_stops_none_that_comes_back() {
    let mut stage = Stage::new();
    let shelf = stage.region.block(Vec3::new(100.0, 100.0, 3.0), Vec3::new(2.0, 2.0, 0.2));
    let body = stage.moving_box(Vec3::new(100.0, 100.0, 3.6), Vec3::splat(0.5));
    let move_to = |stage: &mut Stage, position: Vec3| {
        stage.region.linksets.get_mut(&body).unwrap().position = position;
        stage.region.place(body);
        stage.dynamics.edited(body);
        stage.step(TICK);
    };
    stage.step(TICK);
    move_to(&mut stage, Vec3::new(200.0, 200.0, 80.0));
    assert_eq!(stage.dynamics.n_static_prims(), 1, "it stays for a while");
    stage.region.remove(shelf);
    stage.step(TICK);
    assert_eq!(stage.dynamics.n_static_prims(), 0);
    move_to(&mut stage, Vec3::new(100.0, 100.0, 3.6));
    stage.settle(400);
    assert!((stage.region.at(body).z - 0.25).abs() < SLOP_M, "{}", stage.region.at(body));
}

#[test]
fn prims_without_bodies_near_them_stay_in_a_bounded_number() {
    let mut stage = Stage::new();
    for n in 0_u8..200 {
        let at = Vec3::new(20.0 + f32::from(n % 20) * 10.0, 20.0 + f32::from(n / 20) * 10.0, 20.0);
        stage.region.block(at, Vec3::ONE);
    }
    let body = stage.moving_box(Vec3::new(20.0, 20.0, 22.0), Vec3::splat(0.5));
    let mut most = 0;
    for n in 0_u8..200 {
        let at = Vec3::new(20.0 + f32::from(n % 20) * 10.0, 20.0 + f32::from(n / 20) * 10.0, 22.0);
        stage.region.linksets.get_mut(&body).unwrap().position = at;
        stage.region.place(body);
        stage.dynamics.edited(body);
        stage.step(TICK);
        most = most.max(stage.dynamics.n_static_prims());
    }
    assert!((50..=75).contains(&most), "{most}");
}

#[test]
fn edits_remove_move_and_reshape_bodies() {
    let mut stage = Stage::new();
    let [gone, moved, cut] =
        [20.0, 60.0, 100.0].map(|x| stage.moving_box(Vec3::new(x, 100.0, 50.0), Vec3::splat(0.5)));
    stage.step(TICK);
    assert_eq!(stage.dynamics.n_bodies(), 3);
    stage.region.remove(gone);
    stage.region.linksets.get_mut(&moved).unwrap().position = Vec3::new(200.0, 200.0, 1.0);
    let plan = stage.region.linksets.get_mut(&cut).unwrap();
    plan.parts[0].placement.scale = Vec3::splat(2.0);
    for root in [gone, moved, cut] {
        stage.dynamics.edited(root);
    }
    stage.region.place(moved);
    stage.region.place(cut);
    stage.step(TICK);
    assert_eq!(stage.dynamics.n_bodies(), 2);
    assert!(stage.outcome.moved.iter().all(|motion| motion.root != gone));
    stage.settle(600);
    let at = stage.region.at(moved);
    assert!(at.distance(Vec3::new(200.0, 200.0, 0.25)) < 0.1, "{at}");
    assert!((stage.region.at(cut).z - 1.0).abs() < SLOP_M, "{}", stage.region.at(cut));
}

#[test]
fn a_body_keeps_its_velocity_through_an_edit() {
    let mut stage = Stage::new();
    let body = stage.moving_box(Vec3::new(100.0, 100.0, 90.0), Vec3::splat(0.5));
    for _ in 0..10 {
        stage.step(TICK);
    }
    let before = stage.region.linksets[&body].velocity;
    stage.dynamics.edited(body);
    stage.step(TICK);
    let after = stage.region.linksets[&body].velocity;
    assert!((after.z - before.z + 9.8 * 0.05).abs() < 0.02, "{before} and {after}");
}

#[test]
fn a_body_that_leaves_the_region_is_reported_and_gone() {
    let mut stage = Stage::new();
    let body = stage.region.sleeping_box(Vec3::new(255.0, 100.0, 30.0), Vec3::splat(0.5));
    stage.region.linksets.get_mut(&body).unwrap().velocity = Vec3::new(30.0, 0.0, 0.0);
    assert!(stage.dynamics.wake(body));
    let mut left = Vec::new();
    for _ in 0..10 {
        stage.step(TICK);
        left.extend_from_slice(&stage.outcome.left);
        let is_in_both =
            stage.outcome.left.iter().any(|l| stage.outcome.moved.iter().any(|m| m.root == l.root));
        assert!(!is_in_both);
    }
    assert_eq!(left.iter().map(|motion| motion.root).collect::<Vec<_>>(), [body]);
    assert!(left[0].position.x > 256.0 && left[0].velocity.x > 20.0, "{:?}", left[0]);
    assert!(stage.dynamics.is_idle());
}

#[test]
fn a_drag_brings_a_body_to_its_target_with_bounded_force() {
    let mut stage = Stage::new();
    let body = stage.region.sleeping_box(Vec3::new(100.0, 100.0, 0.25), Vec3::splat(0.5));
    let target = Vec3::new(103.0, 100.0, 2.0);
    assert!(stage.dynamics.drag(body, Vec3::ZERO, target));
    stage.step(SUB_STEP);
    let speed = stage.region.linksets[&body].velocity.length();
    assert!(speed <= 40.0 / 60.0 + 0.01, "{speed} m/s after one sub-step");
    for _ in 0..100 {
        stage.step(TICK);
    }
    let at = stage.region.at(body);
    assert!(at.distance(target) < 0.1, "{at}");
    assert!(!stage.dynamics.is_idle(), "it hangs, and would fall");
    assert!(stage.dynamics.release(body) && !stage.dynamics.release(body));
    stage.settle(400);
    assert!((stage.region.at(body).z - 0.25).abs() < SLOP_M);
    assert!(
        !stage.dynamics.drag(body, Vec3::NAN, target)
            && !stage.dynamics.drag(body, Vec3::ZERO, Vec3::INFINITY)
    );
    assert!(stage.dynamics.is_idle(), "a drag to no place does nothing");
}

#[test]
fn a_linkset_with_numbers_that_are_none_is_stopped_by_name() {
    let mut stage = Stage::new();
    let spoil: [fn(&mut physics::BodyPlan); 5] = [
        |plan| plan.velocity.x = f32::NAN,
        |plan| plan.position.y = f32::INFINITY,
        |plan| plan.gravity = f32::NAN,
        |plan| plan.parts[0].density = f32::NAN,
        |plan| plan.rotation = Quat::from_xyzw(0.0, 0.0, 0.0, 0.0),
    ];
    for change in spoil {
        let body = stage.region.sleeping_box(Vec3::new(100.0, 100.0, 50.0), Vec3::splat(0.5));
        change(stage.region.linksets.get_mut(&body).unwrap());
        assert!(stage.dynamics.wake(body));
        stage.step(TICK);
        assert_eq!(stage.outcome.stopped, [(body, StopReason::NotANumber)]);
        assert!(stage.outcome.moved.is_empty() && stage.dynamics.is_idle());
    }
    let hollow = stage.region.sleeping_box(Vec3::new(100.0, 100.0, 50.0), Vec3::splat(0.5));
    stage.region.linksets.get_mut(&hollow).unwrap().parts.clear();
    assert!(stage.dynamics.wake(hollow));
    stage.step(TICK);
    assert_eq!(stage.outcome.stopped, [(hollow, StopReason::NoSolid)]);
}

#[test]
fn bodies_above_the_limit_wait_for_room() {
    let mut stage = Stage::new();
    stage.dynamics = Dynamics::new(DynamicsSettings { bodies_max: 3, ..DynamicsSettings::new(SIZE_M) });
    let bodies = [20.0, 60.0, 100.0, 140.0, 180.0, 220.0]
        .map(|x| stage.region.sleeping_box(Vec3::new(x, 100.0, 1.0), Vec3::splat(0.5)));
    let taken = bodies.map(|body| stage.dynamics.wake(body));
    assert_eq!(taken, [true, true, true, false, false, false], "the queue is bounded");
    stage.step(TICK);
    assert!(stage.dynamics.wake(bodies[3]));
    stage.step(TICK);
    assert_eq!((stage.dynamics.n_bodies(), stage.dynamics.n_waiting()), (3, 1));
    stage.settle(600);
    assert!((stage.region.at(bodies[3]).z - 0.25).abs() < SLOP_M);
    assert_eq!(stage.region.at(bodies[4]).z, 1.0);
}

#[test]
fn phantoms_fall_through_prims_onto_the_ground() {
    let mut stage = Stage::new();
    stage.region.block(Vec3::new(100.0, 100.0, 1.0), Vec3::new(4.0, 4.0, 2.0));
    let body = stage.region.sleeping_box(Vec3::new(100.0, 100.0, 5.0), Vec3::splat(0.5));
    stage.region.linksets.get_mut(&body).unwrap().is_phantom = true;
    assert!(stage.dynamics.wake(body));
    stage.settle(400);
    assert!((stage.region.at(body).z - 0.25).abs() < SLOP_M);
}

#[test]
fn a_region_without_moving_linksets_has_no_bodies() {
    let mut stage = Stage::new();
    let fixed = stage.region.block(Vec3::new(100.0, 100.0, 1.0), Vec3::splat(2.0));
    assert!(stage.dynamics.wake(fixed), "physics does not move it");
    stage.dynamics.disturb(&box_around(Vec3::new(100.0, 100.0, 1.0), 2.0), &stage.region);
    stage.step(TICK);
    assert!(stage.dynamics.is_idle() && stage.outcome.moved.is_empty());
}

#[test]
fn a_part_that_leaves_a_moving_linkset_is_no_part_of_its_body_any_more() {
    let mut stage = Stage::new();
    let prims = [(Shape::BOX, Vec3::ZERO, Vec3::splat(0.5)), (Shape::BOX, Vec3::X, Vec3::splat(0.5))];
    let body = stage.region.linkset(Vec3::new(100.0, 100.0, 5.0), Quat::IDENTITY, &prims);
    assert!(stage.dynamics.wake(body));
    stage.step(TICK);
    let part = stage.region.linksets.get_mut(&body).unwrap().parts.pop().unwrap();
    // The caller reports the prim that has left, and knows its former root no more.
    stage.dynamics.edited(part.id);
    stage.region.remove(part.id);
    // A shelf below the part alone.
    stage.region.block(Vec3::new(101.2, 100.0, 3.0), Vec3::new(1.2, 2.0, 0.2));
    stage.settle(400);
    let at = stage.region.at(body);
    // With the part it would have hit the shelf and tipped off it.
    assert!((at.z - 0.25).abs() < SLOP_M && at.distance(Vec3::new(100.0, 100.0, 0.25)) < 0.2, "{at}");
}
