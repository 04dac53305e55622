//! A walker stays on the mesh and out of walls for any input.

use crate::site::{Random, Site};
use glam::{Quat, Vec2, Vec3};
use nav::{MeshPoint, NavMesh, PolyRef, SightObstacles, Solid, TOLERANCE_M};
use proptest::prelude::*;
use std::{sync::Arc, sync::LazyLock};

/// 64 m of boxes, thin walls and pillars, at all angles.
fn maze(seed: u64) -> Site {
    let mut site = Site::flat(64).with_boxes(250, seed);
    let mut random = Random(seed);
    for _ in 0..60 {
        let centre = Vec3::new(random.share() * 64.0, random.share() * 64.0, 21.0);
        let rotation = Quat::from_rotation_z(random.share() * 6.2);
        let size = Vec3::new(1.0 + random.share() * 9.0, 0.05 + random.share() * 0.3, 2.5);
        site.solids.push(Solid { centre, rotation, size });
    }
    site
}

struct Built {
    site: Site,
    mesh: NavMesh,
    sight: SightObstacles,
}

static MAZES: LazyLock<Vec<Built>> = LazyLock::new(|| {
    (1..=4)
        .map(|seed| {
            let site = maze(seed);
            let sight = SightObstacles::new(site.ground(), Arc::new(site.solids()));
            Built { mesh: site.mesh(), sight, site }
        })
        .collect()
});

fn somewhere(built: &Built, random: &mut Random) -> MeshPoint {
    loop {
        let at = Vec2::new(random.share(), random.share()) * 64.0;
        if let Some(spot) = built.mesh.locate(built.site.ground(), at.extend(20.0), 1.0, PolyRef::NONE) {
            return spot;
        }
    }
}

proptest! {
    #[test]
    fn a_random_walk_stays_on_the_mesh_and_out_of_walls(maze in 0usize..4, seed: u64, longest in 0.02f32..0.4) {
        let built = &MAZES[maze];
        let mut random = Random(seed);
        let mut spot = somewhere(built, &mut random);
        let mut way = Vec2::X;
        for _ in 0..300 {
            let wished = spot.at + way * longest;
            let slid = built.mesh.slide(spot, wished);
            prop_assert!(built.mesh.holds(slid.spot), "{slid:?} from {spot:?}");
            prop_assert_eq!(slid.hindered, slid.spot.at != wished);
            prop_assert!(slid.spot.at.distance(spot.at) <= longest * 1.001 + TOLERANCE_M, "{slid:?} from {spot:?}");
            let head = |spot: MeshPoint| spot.at.extend(21.3);
            prop_assert!(built.sight.is_clear(built.site.ground(), head(spot), head(slid.spot)), "through a wall");
            if slid.hindered || random.share() < 0.05 {
                way = Vec2::from_angle(random.share() * 6.3) * random.share();
            }
            spot = slid.spot;
        }
    }

    #[test]
    fn a_free_ray_can_be_walked_and_a_blocked_one_cannot(maze in 0usize..4, seed: u64) {
        let built = &MAZES[maze];
        let mut random = Random(seed);
        let from = somewhere(built, &mut random);
        let to = from.at + Vec2::from_angle(random.share() * 6.3) * 12.0 * random.share();
        let ray = built.mesh.ray(from, to);
        prop_assert!(built.mesh.holds(ray.spot));
        prop_assert_eq!(ray.clear, ray.spot.at == to);
        let mut spot = from;
        for n in 1..=100 {
            let slid = built.mesh.slide(spot, from.at.lerp(ray.spot.at, n as f32 / 100.0));
            prop_assert!(slid.spot.at.distance(from.at.lerp(ray.spot.at, n as f32 / 100.0)) < 5e-3);
            spot = slid.spot;
        }
    }

    #[test]
    fn odd_input_stays_where_it_is(
        maze in 0usize..4, poly: u32, x: f32, y: f32, to_x: f32, to_y: f32, reach: f32, seed: u64,
    ) {
        let Built { site, mesh, .. } = &MAZES[maze];
        let spot = MeshPoint { poly: PolyRef(poly % 0x5_0000), at: Vec2::new(x, y) };
        let to = Vec2::new(to_x, to_y);
        let slid = mesh.slide(spot, to);
        prop_assert!(slid.spot == spot || mesh.holds(slid.spot) || !mesh.holds(spot));
        let _ = (mesh.ray(spot, to), mesh.height(site.ground(), spot), mesh.random_near(site.ground(), spot, reach, seed));
        let found = mesh.locate(site.ground(), to.extend(x), reach, spot.poly);
        prop_assert!(found.is_none_or(|spot| mesh.holds(spot)));
    }

    #[test]
    fn random_spots_are_near_and_can_be_reached(maze in 0usize..4, seed: u64, radius in 0.0f32..40.0) {
        let built = &MAZES[maze];
        let from = somewhere(built, &mut Random(seed));
        let spot = built.mesh.random_near(built.site.ground(), from, radius, seed).unwrap();
        prop_assert!(built.mesh.holds(spot) && built.mesh.are_connected(from, spot));
        prop_assert!(spot.at.distance(from.at) <= radius + 2.0 * TOLERANCE_M);
    }

    #[test]
    fn points_off_the_mesh_find_the_nearest(maze in 0usize..4, x in -3.0f32..67.0, y in -3.0f32..67.0, reach in 0.0f32..6.0) {
        let Built { site, mesh, .. } = &MAZES[maze];
        let at = Vec3::new(x, y, 20.0);
        let off = |spot: MeshPoint| spot.at.extend(mesh.height(site.ground(), spot)).distance(at);
        let least = mesh
            .polys()
            .map(|poly| {
                let corners: Vec<Vec2> = mesh.outline(poly).map(|(at, _)| at).collect();
                off(MeshPoint { poly, at: nearest(&corners, at.truncate()) })
            })
            .fold(f32::MAX, f32::min);
        match mesh.locate(site.ground(), at, reach, PolyRef::NONE) {
            Some(spot) => {
                prop_assert!(mesh.holds(spot));
                // Mesh right above or below counts first.
                prop_assert!(spot.at == at.truncate() || off(spot) <= least + 1e-3, "{spot:?}, nearest at {least}");
                prop_assert!(off(spot) <= reach + 1e-3);
            }
            None => prop_assert!(least >= reach - 1e-3, "{least} m from the mesh"),
        }
    }
}

/// The point of a convex polygon that is nearest to another.
fn nearest(corners: &[Vec2], at: Vec2) -> Vec2 {
    let edges = (0..corners.len()).map(|n| (corners[n], corners[(n + 1) % corners.len()]));
    if edges.clone().all(|(from, to)| (to - from).perp_dot(at - from) >= 0.0) {
        return at;
    }
    edges
        .map(|(from, to)| {
            let way = to - from;
            let share = ((at - from).dot(way) / way.length_squared()).clamp(0.0, 1.0);
            from + way * share
        })
        .min_by(|a, b| a.distance_squared(at).total_cmp(&b.distance_squared(at)))
        .expect("a polygon has edges")
}

#[test]
fn a_walker_at_an_angle_to_a_wall_slides_at_the_remaining_speed() {
    let mut site = Site::flat(64);
    site.block(Vec3::new(32.0, 30.0, 21.0), Vec3::new(60.0, 0.2, 2.0));
    let mesh = site.mesh();
    let mut spot = mesh.locate(site.ground(), Vec3::new(20.0, 29.0, 20.0), 1.0, PolyRef::NONE).unwrap();
    for _ in 0..40 {
        spot = mesh.slide(spot, spot.at + Vec2::new(0.06, 0.08)).spot;
    }
    assert!((spot.at.x - 22.4).abs() < 1e-3, "{spot:?}");
    assert!((29.4..29.7).contains(&spot.at.y), "{spot:?}");
}
