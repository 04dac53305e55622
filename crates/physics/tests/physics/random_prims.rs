//! Avatars that fall onto prims of any shape, turn and size.

use crate::scene::{Random, Scene, Walker};
use glam::{Quat, Vec2, Vec3};
use physics::{Aabb, Geometry, OrientedBox, Placement, Support};
use std::f32::consts::TAU;

/// Triangles of a prim in the region.
fn triangles(geometry: &Geometry, placement: &Placement) -> Vec<[Vec3; 3]> {
    let axes = glam::Mat3::from_quat(placement.rotation);
    match geometry {
        Geometry::Empty => Vec::new(),
        Geometry::Box(unit) => {
            let centre = placement.position + axes * (unit.centre() * placement.scale);
            let corners = OrientedBox { centre, axes, half: unit.half() * placement.scale }.corners();
            let faces = [[1, 3, 7, 5], [0, 4, 6, 2], [2, 6, 7, 3], [0, 1, 5, 4], [4, 5, 7, 6], [0, 2, 3, 1]];
            let halves = faces.map(|[a, b, c, d]: [usize; 4]| [[a, b, c], [a, c, d]]);
            halves.as_flattened().iter().map(|triangle| triangle.map(|corner| corners[corner])).collect()
        }
        Geometry::Mesh(mesh) => {
            let corner = |index: u16| {
                placement.position + axes * (mesh.vertices()[usize::from(index)] * placement.scale)
            };
            mesh.triangles().iter().map(|triangle| triangle.map(corner)).collect()
        }
    }
}

/// Heights at which an upright line enters and leaves the solid, with +1 and −1.
fn crossings(triangles: &[[Vec3; 3]], at: Vec2) -> Vec<(f32, i32)> {
    let crossing = |&[a, b, c]: &[Vec3; 3]| {
        let side = |from: Vec3, to: Vec3| (to - from).truncate().perp_dot(at - from.truncate());
        let (ab, bc, ca) = (side(a, b), side(b, c), side(c, a));
        let area = ab + bc + ca;
        let is_hit = (ab > 0.0 && bc > 0.0 && ca > 0.0) || (ab < 0.0 && bc < 0.0 && ca < 0.0);
        is_hit.then(|| ((a.z * bc + b.z * ca + c.z * ab) / area, if area > 0.0 { -1 } else { 1 }))
    };
    triangles.iter().filter_map(crossing).collect()
}

/// True if a point of the axis of an avatar, above the height of a step, is inside the solid.
fn is_inside(triangles: &[[Vec3; 3]], walker: &Walker) -> bool {
    let crossings = crossings(triangles, walker.at.truncate());
    [-0.55, 0.0, 0.4, 0.85].into_iter().any(|height| {
        let z = walker.at.z + height;
        crossings.iter().filter(|(at, _)| *at < z).map(|(_, sign)| sign).sum::<i32>() > 0
    })
}

#[test]
fn no_avatar_falls_through_ten_thousand_random_prims() {
    let (mut n_landed, mut n_steps) = (0, 0_u64);
    for seed in 0..10_000 {
        let mut random = Random(seed << 20);
        let shape = random.shape();
        let mut scale = || random.between(0.05, 3.0).powi(2);
        let scale = Vec3::new(scale(), scale(), scale());
        let placement =
            Placement { position: Vec3::new(100.0, 100.0, 20.0), rotation: random.rotation(), scale };
        let mut scene = Scene::new();
        let prim = scene.prim(&shape, placement);
        let triangles = triangles(&scene.cache.of_shape(&shape, scale), &placement);
        let corners = triangles.as_flattened();
        let low = corners.iter().copied().reduce(Vec3::min).unwrap();
        let high = corners.iter().copied().reduce(Vec3::max).unwrap();
        // Above the solid, if it is not very thin.
        let mut over = Vec2::ZERO;
        for _ in 0..40 {
            over = Vec2::new(random.between(low.x, high.x), random.between(low.y, high.y));
            if !crossings(&triangles, over).is_empty() {
                break;
            }
        }
        let mut walker = Walker::new(over, high.z + random.between(0.1, 3.0));
        walker.on = Support::Air;
        let mut velocity = Vec2::new(random.between(-2.0, 2.0), random.between(-2.0, 2.0));
        let is_dropped = seed % 2 == 0;
        let mut left_on_feet = 90;
        while walker.on == Support::Air || left_on_feet > 0 {
            let falls = is_dropped && walker.on == Support::Air;
            walker.step(&scene, if falls { Vec2::ZERO } else { velocity });
            n_steps += 1;
            assert!(
                !is_inside(&triangles, &walker),
                "seed {seed}: inside at {} ({:?}), {shape:?} at {placement:?}",
                walker.at,
                walker.on,
            );
            match walker.on {
                Support::Air => {}
                Support::Ground => break,
                Support::Object(id) => {
                    assert_eq!(id, prim);
                    n_landed += u32::from(left_on_feet == 90);
                    left_on_feet -= 1;
                    if left_on_feet == 45 {
                        velocity = velocity.perp();
                    }
                }
            }
        }
    }
    assert!(n_landed > 6_000, "{n_landed} landed");
    assert!(n_steps > 500_000, "{n_steps} steps");
}

/// A heap of 10,000 prims over 64 m, up to 20 m high. Prims there reach into each other, so that avatars are squeezed and stand in gaps.
#[test]
fn no_avatar_falls_or_walks_into_the_prims_of_a_heap() {
    const SIZE_M: f32 = 64.0;
    let mut random = Random(99);
    let mut scene = Scene::new();
    let mut solids = Vec::new();
    for _ in 0..10_000 {
        let shape = if random.share() < 0.5 { prim::Shape::BOX } else { random.shape() };
        let position = Vec3::new(
            random.between(20.0, 20.0 + SIZE_M),
            random.between(20.0, 20.0 + SIZE_M),
            random.between(0.0, 20.0),
        );
        let mut scale = || random.between(0.2, 1.5);
        let scale = Vec3::new(scale(), scale(), scale());
        let placement = Placement { position, rotation: random.rotation(), scale };
        let id = scene.prim(&shape, placement);
        solids.push((id, triangles(&scene.cache.of_shape(&shape, scale), &placement)));
    }
    let mut on_prims = 0;
    for _ in 0..100 {
        let over = Vec2::new(random.between(22.0, 18.0 + SIZE_M), random.between(22.0, 18.0 + SIZE_M));
        let mut walker = Walker::new(over, random.between(22.0, 26.0));
        walker.on = Support::Air;
        for step in 0_u32..200 {
            let velocity = Vec2::from_angle((step / 40) as f32 * 2.0 + over.x) * 3.2;
            walker.tick(&scene, velocity);
            on_prims += u32::from(matches!(walker.on, Support::Object(_)));
            let axis = walker.at.truncate();
            let around = Aabb { low: axis.extend(walker.soles()), high: axis.extend(walker.at.z + 0.95) };
            for id in scene.colliders.ids_in(&around) {
                let (_, triangles) = &solids[solids.partition_point(|(other, _)| *other < id)];
                assert!(!is_inside(triangles, &walker), "step {step}: inside {id:?} at {}", walker.at);
            }
        }
    }
    assert!(on_prims > 1_700, "{on_prims} ticks on prims");
}

#[test]
fn avatars_land_on_thin_and_huge_boxes() {
    let mut random = Random(7);
    for n in 0..600 {
        let mut pick = |sizes: &[f32]| sizes[(random.share() * sizes.len() as f32) as usize];
        let wide = [1.0, 8.0, 64.0, 256.0];
        let scale = Vec3::new(pick(&wide), pick(&wide), pick(&[0.001, 0.01, 0.5, 64.0, 256.0]));
        let rotation = Quat::from_rotation_z(random.between(0.0, TAU))
            * Quat::from_rotation_x(random.between(-0.5, 0.5));
        let placement = Placement { position: Vec3::new(128.0, 128.0, 300.0), rotation, scale };
        let mut scene = Scene::new();
        let prim = scene.prim(&prim::Shape::BOX, placement);
        let near = scale.min(Vec3::splat(64.0));
        let own =
            Vec3::new(random.between(-0.3, 0.3) * near.x, random.between(-0.3, 0.3) * near.y, scale.z / 2.0);
        let top = placement.position + rotation * own;
        let mut walker = Walker::new(top.truncate(), top.z + random.between(0.2, 3.0));
        walker.on = Support::Air;
        while walker.on == Support::Air {
            walker.step(&scene, Vec2::ZERO);
        }
        assert_eq!(walker.on, Support::Object(prim), "box {n}: {placement:?}");
        // The highest point under a foot of 0.15 m, on a slope of up to half a radian.
        let above = walker.soles() - top.z;
        assert!((-0.01..0.1).contains(&above), "box {n}: {above} m above its top, {placement:?}");
    }
}
