//! Avatars among walls, doors, stairs, slopes and objects that move.

use crate::scene::{CYLINDER, RUN_M_PER_S, Random, STEPS_PER_S, Scene, WALK_M_PER_S, Walker};
use glam::{Quat, Vec2, Vec3};
use ids::LocalId;
use physics::{AvatarStep, ColliderKind, Gait, Placement, Support, Surroundings, step_avatar};
use prim::Shape;
use std::f32::consts::TAU;

const HERE: Vec2 = Vec2::new(128.0, 128.0);

fn at(x: f32, y: f32) -> Vec2 {
    HERE + Vec2::new(x, y)
}

/// A room of 6 m, of one hollow prim, with or without its southern wall.
fn room(has_door: bool) -> Scene {
    let mut scene = Scene::new();
    let shape =
        Shape { profile_hollow: 47_500, profile_begin: if has_door { 12_500 } else { 0 }, ..Shape::BOX };
    let placement =
        Placement { position: HERE.extend(1.5), rotation: Quat::IDENTITY, scale: Vec3::new(6.0, 6.0, 3.0) };
    scene.prim(&shape, placement);
    scene
}

fn is_in_room(walker: &Walker) -> bool {
    (walker.at.truncate() - HERE).abs().max_element() < 2.9
}

#[test]
fn a_hollow_room_is_entered_by_its_open_side_only() {
    for (has_door, from) in
        [(true, at(0.0, -6.0)), (false, at(0.0, -6.0)), (true, at(0.0, 6.0)), (true, at(-6.0, 0.5))]
    {
        let scene = room(has_door);
        let mut walker = Walker::new(from, 0.0);
        let highest = walker.walk(&scene, HERE - from, 2.0);
        assert_eq!(is_in_room(&walker), has_door && from == at(0.0, -6.0), "from {from} to {}", walker.at);
        assert_eq!(highest, 0.0);
    }
}

#[test]
fn no_wall_of_a_closed_room_lets_an_avatar_in_or_out() {
    let scene = room(false);
    for degrees in (0..360).step_by(7) {
        let way = Vec2::from_angle((degrees as f32).to_radians());
        let mut outside = Walker::new(HERE + way * 6.0, 0.0);
        outside.walk(&scene, -way, 3.0);
        assert!(!is_in_room(&outside), "in from {degrees}°");
        let mut inside = Walker::new(HERE, 0.0);
        inside.walk(&scene, way, 3.0);
        assert!(is_in_room(&inside), "out at {degrees}°");
    }
}

#[test]
fn a_door_of_the_width_of_an_avatar_is_passed_at_a_slant() {
    let mut scene = Scene::new();
    for side in [-1.0, 1.0] {
        scene.block(at(side * 1.35, 0.0).extend(1.5), Vec3::new(2.0, 0.2, 3.0));
    }
    // A lintel above the head.
    scene.block(HERE.extend(2.6), Vec3::new(0.7, 0.2, 0.8));
    for slant in [-0.3, 0.0, 0.3] {
        let mut walker = Walker::new(at(-slant * 2.0, -2.0), 0.0);
        walker.walk(&scene, Vec2::new(slant, 1.0), 2.0);
        assert!(walker.at.y > 129.0, "slant {slant}: stuck at {}", walker.at);
    }
}

fn stairs(riser: f32, tread: f32, count: u32) -> Scene {
    let mut scene = Scene::new();
    for step in 0..count {
        let height = riser * (step + 1) as f32;
        let centre = at(0.0, tread * (step as f32 + 0.5)).extend(height / 2.0);
        scene.block(centre, Vec3::new(2.0, tread, height));
    }
    scene
}

#[test]
fn stairs_are_climbed_up_to_the_height_of_a_step() {
    for (riser, tread) in [(0.2, 0.3), (0.3, 0.3), (0.34, 0.25)] {
        let scene = stairs(riser, tread, 10);
        let mut walker = Walker::new(at(0.1, -1.0), 0.0);
        let highest = walker.walk(&scene, Vec2::Y, 3.0);
        assert!((highest - riser * 10.0).abs() < 1e-3, "riser {riser}: up to {highest}");
        assert!(walker.soles() < 0.1, "down the far side");
    }
    let mut walker = Walker::new(at(0.1, -1.0), 0.0);
    assert_eq!(walker.walk(&stairs(0.36, 0.5, 10), Vec2::Y, 3.0), 0.0);
}

#[test]
fn stairs_are_walked_down_without_a_fall() {
    let scene = stairs(0.3, 0.3, 10);
    let mut walker = Walker::new(at(0.0, 2.85), 3.0);
    for _ in 0..70 {
        walker.step(&scene, Vec2::new(0.0, -WALK_M_PER_S));
        assert_ne!(walker.on, Support::Air, "at {}", walker.at);
    }
    assert_eq!(walker.soles(), 0.0);
}

#[test]
fn a_wall_of_half_a_metre_is_not_stepped_over_and_a_kerb_is() {
    for (height, passes) in [(0.5, false), (0.36, false), (0.34, true)] {
        let mut scene = Scene::new();
        let wall = scene.block(HERE.extend(height / 2.0), Vec3::new(4.0, 0.3, height));
        let mut walker = Walker::new(at(0.0, -1.0), 0.0);
        walker.walk(&scene, Vec2::Y, 1.0);
        assert_eq!(walker.at.y > 129.0, passes, "{height} m: at {}", walker.at);
        if !passes {
            let hit = walker.step(&scene, Vec2::Y).hit.expect("it stands at the wall");
            assert_eq!((hit.id, hit.normal), (wall, Vec3::NEG_Y));
        }
    }
}

#[test]
fn leaning_and_turned_boxes_stop_like_walls_and_are_climbed_like_kerbs() {
    for (height, passes) in [(0.3, true), (0.6, false)] {
        let mut scene = Scene::new();
        let rotation = Quat::from_rotation_z(0.3) * Quat::from_rotation_x(0.05);
        let scale = Vec3::new(4.0, 0.5, 2.0 * height);
        scene.prim(&Shape::BOX, Placement { position: HERE.extend(0.0), rotation, scale });
        let mut walker = Walker::new(at(0.0, -1.5), 0.0);
        walker.walk(&scene, Vec2::Y, 2.0);
        assert_eq!(walker.at.y > 129.0, passes, "{height} m: at {}", walker.at);
    }
}

#[test]
fn slopes_are_climbed_up_to_sixty_degrees() {
    for (degrees, climbs) in [(20.0_f32, true), (40.0, true), (55.0, true), (65.0, false), (80.0, false)] {
        let mut scene = Scene::new();
        let rotation = Quat::from_rotation_x(degrees.to_radians());
        scene.prim(
            &Shape::BOX,
            Placement { position: HERE.extend(0.0), rotation, scale: Vec3::new(6.0, 20.0, 0.2) },
        );
        let mut walker = Walker::new(at(0.0, -6.0), 0.0);
        // The foot of the slope lies below the ground, south of the middle.
        let highest = walker.walk(&scene, Vec2::Y, 3.5);
        assert_eq!(highest > 1.0, climbs, "{degrees}°: up to {highest}");
        if !climbs {
            assert!(highest < 0.1, "{degrees}°: up to {highest}");
        }
    }
}

#[test]
fn an_avatar_lands_on_a_roof_and_falls_off_its_edge() {
    let mut scene = Scene::new();
    let roof = scene.block(HERE.extend(4.9), Vec3::new(4.0, 4.0, 0.2));
    let mut walker = Walker::new(HERE, 9.0);
    walker.on = Support::Air;
    walker.walk(&scene, Vec2::ZERO, 2.0);
    assert_eq!(walker.on, Support::Object(roof));
    assert!((walker.soles() - 5.0).abs() < 1e-5, "{}", walker.soles());
    walker.walk(&scene, Vec2::X, 3.0);
    assert_eq!((walker.on, walker.soles()), (Support::Ground, 0.0));
}

#[test]
fn no_floor_is_too_thin_and_no_wall_for_any_speed_in_use() {
    [0.01, 0.001].into_iter().for_each(check_thin_prims);
}

fn check_thin_prims(thickness: f32) {
    let mut scene = Scene::new();
    let floor = scene.block(HERE.extend(20.0), Vec3::new(10.0, 10.0, thickness));
    scene.block(at(3.0, 0.0).extend(25.0), Vec3::new(thickness, 10.0, 10.0));
    let step = |from: Vec3, velocity: Vec3| AvatarStep {
        from,
        wish: velocity / STEPS_PER_S,
        carried: Vec3::ZERO,
        cylinder: CYLINDER,
        gait: Gait::Airborne,
    };
    let mut walker = Walker::new(HERE, 0.0);
    for offset in 0..50 {
        let height = 22.0 + offset as f32 * 0.05;
        let mut from = HERE.extend(height);
        let mut on = Support::Air;
        while on == Support::Air {
            let input = step(from, Vec3::NEG_Z * 128.0);
            let moved = step_avatar(&scene.colliders, &mut walker.surroundings, |_| 0.0, &input);
            (from, on) = (moved.position, moved.on);
        }
        assert_eq!(on, Support::Object(floor), "from {height}");
        let mut from = at(-3.0 + offset as f32 * 0.05, 0.0).extend(25.0);
        for _ in 0..10 {
            let input = step(from, Vec3::new(128.0, 5.0, 0.0));
            from = step_avatar(&scene.colliders, &mut walker.surroundings, |_| 0.0, &input).position;
            assert!(from.x <= 131.0 - CYLINDER.radius + 0.02, "through the wall at {from}");
        }
    }
}

#[test]
fn a_ceiling_stops_a_jump_and_a_low_beam_a_walk() {
    let mut scene = Scene::new();
    let ceiling = scene.block(HERE.extend(2.6), Vec3::new(4.0, 4.0, 0.2));
    let mut walker = Walker::new(HERE, 0.0);
    let input = AvatarStep {
        from: walker.at,
        wish: Vec3::Z * 2.0,
        carried: Vec3::ZERO,
        cylinder: CYLINDER,
        gait: Gait::Airborne,
    };
    let moved = step_avatar(&scene.colliders, &mut walker.surroundings, |_| 0.0, &input);
    assert!((moved.position.z + CYLINDER.half_height - 2.5).abs() < 1e-4, "{moved:?}");
    assert_eq!(moved.hit.map(|hit| (hit.id, hit.normal)), Some((ceiling, Vec3::NEG_Z)));

    scene.block(at(0.0, 5.0).extend(1.6), Vec3::new(4.0, 0.2, 0.2));
    walker.walk(&scene, Vec2::Y, 3.0);
    assert!((walker.at.y - (132.9 - CYLINDER.radius)).abs() < 0.01, "at {}", walker.at);
}

#[test]
fn an_avatar_falls_from_a_prim_that_is_higher_than_a_step() {
    for (height, speed) in [(0.4, WALK_M_PER_S), (0.6, WALK_M_PER_S), (0.5, RUN_M_PER_S), (0.95, RUN_M_PER_S)]
    {
        // At different distances, since a stride may end anywhere at the edge.
        for begin in (0_u8..8).map(|n| f32::from(n) * 0.02) {
            let mut scene = Scene::new();
            scene.block(at(0.0, 0.0).extend(height / 2.0), Vec3::new(4.0, 4.0, height));
            let mut walker = Walker::new(at(0.0, begin), height);
            walker.on = Support::Object(LocalId(1));
            let fell = (0..20).any(|_| {
                let from = walker.soles();
                walker.tick(&scene, Vec2::Y * speed);
                assert!(walker.on == Support::Air || walker.soles() == from, "{height} m at once");
                walker.on == Support::Air
            });
            assert!(fell, "from {height} m at {speed} m/s: {}", walker.at);
        }
    }
}

#[test]
fn an_avatar_on_its_way_down_a_slope_passes_no_floor() {
    let mut scene = Scene::new();
    let deck = scene.block(at(0.0, 3.0).extend(0.0), Vec3::new(4.0, 6.0, 0.2));
    // Steep ground that leads below the deck.
    let ground = |place: Vec2| (128.0 - place.y) * 3.0;
    let mut surroundings = Surroundings::default();
    let mut from = at(0.0, -0.5).extend(1.5 + CYLINDER.half_height);
    for _ in 0..10 {
        let wish = Vec3::Y * 0.16;
        let gait = Gait::Walking { ground_drop: 0.65 };
        let step = AvatarStep { from, wish, carried: Vec3::ZERO, cylinder: CYLINDER, gait };
        let moved = step_avatar(&scene.colliders, &mut surroundings, ground, &step);
        from = moved.position;
        if moved.on == Support::Object(deck) {
            assert!((from.z - CYLINDER.half_height - 0.1).abs() < 1e-3, "at {from}");
            return;
        }
    }
    panic!("it passed through the deck: {from}");
}

#[test]
fn a_step_without_headroom_is_not_climbed() {
    let mut scene = Scene::new();
    scene.block(at(0.0, 2.0).extend(0.15), Vec3::new(4.0, 2.0, 0.3));
    scene.block(at(0.0, 2.0).extend(2.1), Vec3::new(4.0, 2.0, 0.2));
    let mut walker = Walker::new(HERE, 0.0);
    let highest = walker.walk(&scene, Vec2::Y, 2.0);
    assert_eq!(highest, 0.0);
    assert!(walker.at.y < 129.0 && walker.on == Support::Ground, "at {}", walker.at);
}

#[test]
fn sliding_never_increases_the_wished_distance() {
    let mut random = Random(7);
    let mut scene = Scene::new();
    for _ in 0..60 {
        let centre = at(random.between(-6.0, 6.0), random.between(-6.0, 6.0));
        let scale = Vec3::new(random.between(0.1, 3.0), random.between(0.1, 3.0), 4.0);
        let rotation = Quat::from_rotation_z(random.between(0.0, 6.0));
        let shape = if random.share() < 0.5 { Shape::BOX } else { Shape::plain(prim::ShapeKind::Cylinder) };
        scene.prim(&shape, Placement { position: centre.extend(1.5), rotation, scale });
    }
    let mut n_hindered = 0;
    for _ in 0..100 {
        let mut walker = Walker::new(HERE + Vec2::from_angle(random.between(0.0, TAU)) * 12.0, 0.0);
        for _ in 0..4 {
            let aim = at(random.between(-5.0, 5.0), random.between(-5.0, 5.0));
            let velocity = (aim - walker.at.truncate()).normalize() * WALK_M_PER_S;
            for _ in 0..150 {
                let before = walker.at;
                let moved = walker.step(&scene, velocity);
                let length = before.truncate().distance(moved.position.truncate());
                assert!(length <= WALK_M_PER_S / STEPS_PER_S * 1.001, "{length} m at {before}");
                n_hindered += u32::from(moved.hit.is_some());
            }
        }
    }
    assert!(n_hindered > 1_000, "{n_hindered} steps along walls");
}

#[test]
fn an_unhindered_step_is_exact_beside_prims_as_without() {
    let mut scene = Scene::new();
    scene.block(at(0.4, 0.0).extend(1.0), Vec3::new(0.1, 0.1, 2.0));
    let velocity = Vec2::new(1.3, 15.7);
    let (mut near, mut far) = (Walker::new(HERE, 0.0), Walker::new(HERE, 0.0));
    let moved = near.step(&scene, velocity);
    assert_eq!(moved, far.step(&Scene::new(), velocity));
    assert!(!near.surroundings.is_empty());
    assert_eq!(moved.position.truncate(), HERE + velocity / STEPS_PER_S);
}

#[test]
fn an_avatar_rides_on_objects_that_move() {
    let mut scene = Scene::new();
    let lift = scene.block(HERE.extend(0.1), Vec3::new(3.0, 3.0, 0.2));
    let mut walker = Walker::new(HERE, 0.2);
    let mut centre = HERE.extend(0.1);
    for each in [Vec3::new(0.02, 0.01, 0.05), Vec3::new(-0.03, 0.0, -0.04), Vec3::new(0.0, 0.1, 0.0)] {
        for _ in 0..30 {
            centre += each;
            assert_eq!(scene.colliders.relocate(lift, centre, Quat::IDENTITY), Ok(true));
            walker.step_on(&scene, Vec2::ZERO, each);
            assert_eq!(walker.on, Support::Object(lift));
            assert!((walker.soles() - centre.z - 0.1).abs() < 2e-3, "{} on {centre}", walker.at);
        }
        assert!(walker.at.truncate().distance(centre.truncate()) < 1e-3);
    }
    // And walks on it meanwhile.
    walker.step_on(&scene, Vec2::X, Vec3::ZERO);
    assert!((walker.at.x - centre.x - 1.0 / STEPS_PER_S).abs() < 1e-3);
}

#[test]
fn a_wall_stops_from_the_step_after_it_came_and_no_longer_once_it_is_gone() {
    let mut scene = Scene::new();
    scene.block(at(30.0, 0.0).extend(1.0), Vec3::ONE);
    let mut walker = Walker::new(HERE, 0.0);
    walker.walk(&scene, Vec2::Y, 0.1);
    let wall = scene.block(at(0.0, 1.0).extend(1.0), Vec3::new(4.0, 0.2, 4.0));
    walker.walk(&scene, Vec2::Y, 1.0);
    assert!(walker.at.y < 128.65, "at {}", walker.at);
    assert!(scene.colliders.remove(wall));
    walker.walk(&scene, Vec2::Y, 1.0);
    assert!(walker.at.y > 130.0, "at {}", walker.at);
}

#[test]
fn phantoms_stop_no_avatar() {
    let mut scene = Scene::new();
    let placement =
        Placement { position: HERE.extend(1.0), rotation: Quat::IDENTITY, scale: Vec3::splat(2.0) };
    let id = LocalId(9);
    scene.colliders.insert(id, ColliderKind::Phantom, &physics::Geometry::BOX, &placement).unwrap();
    let mut walker = Walker::new(at(0.0, -3.0), 0.0);
    walker.walk(&scene, Vec2::Y, 2.0);
    assert!(walker.at.y > 130.0);
}

#[test]
fn an_avatar_inside_a_solid_walks_out_and_not_in_again() {
    let shapes =
        [Shape::BOX, Shape::plain(prim::ShapeKind::Sphere), Shape { path_scale_x: 150, ..Shape::BOX }];
    for shape in shapes {
        let mut scene = Scene::new();
        let scale = Vec3::new(4.0, 4.0, 6.0);
        scene.prim(
            &shape,
            Placement { position: HERE.extend(1.0), rotation: Quat::from_rotation_z(0.2), scale },
        );
        // From several places, since a stride may end anywhere in the wall; but the many facets of a sphere hold an avatar in some.
        let n_places = if shape.path_curve == Shape::BOX.path_curve { 12 } else { 1 };
        for from in (0_u8..n_places).map(|n| 0.3 + f32::from(n) * 0.015) {
            let mut walker = Walker::new(at(from, 0.0), 0.0);
            walker.walk(&scene, Vec2::X, 2.0);
            assert!(walker.at.x > 131.0, "{shape:?}: held at {}", walker.at);
            walker.walk(&scene, Vec2::NEG_X, 3.0);
            assert!(walker.at.x > 129.5, "{shape:?}: in at {}", walker.at);
        }
    }
}

#[test]
fn an_overlapped_wall_pushes_out_as_the_avatar_moves_along_it() {
    let mut scene = Scene::new();
    scene.block(at(1.0, 0.0).extend(1.0), Vec3::new(1.0, 20.0, 4.0));
    let mut walker = Walker::new(at(0.35, 0.0), 0.0);
    walker.walk(&scene, Vec2::Y, 0.5);
    let gap = 128.5 - walker.at.x;
    assert!((gap - CYLINDER.radius).abs() < 0.01, "{gap} m from the wall");
    assert!(walker.at.y > 129.3, "at {}", walker.at);
}
