//! Properties of any crowd in any place.

use super::throng::{Crowd, DT, SPEED_MAX_M_PER_S};
use crate::site::{Random, Site};
use glam::{Quat, Vec2, Vec3};
use nav::{GIVE_UP_S, NavMesh, PolyRef, Solid, crowd::OVERLAP_MAX_M};
use proptest::prelude::*;
use std::sync::LazyLock;

/// A walker with a goal stands no longer: then it gives up and takes another goal. That is [`GIVE_UP_S`] after it last came
/// half a metre away from a place, which may be the end of a slow drift, and so up to as long again after it began to stand.
const WAIT_MAX_TICKS: u32 = (2.0 * GIVE_UP_S / DT) as u32;
/// Contribution of rounding to an overlap, metres.
const ROUNDING_M: f32 = 2e-3;

/// Doors of 1.2 m; boxes as thick as they come; walls of a few centimetres at all angles.
static SITES: LazyLock<Vec<(Site, NavMesh)>> = LazyLock::new(|| {
    let sites = [Site::rooms(64), Site::flat(64).with_boxes(400, 5), walls(64, 6), walls(64, 7)];
    sites.into_iter().map(|site| (site.mesh(), site)).map(|(mesh, site)| (site, mesh)).collect()
});

fn walls(size_m: u32, seed: u64) -> Site {
    let mut site = Site::flat(size_m).with_boxes(60, seed);
    let mut random = Random(seed);
    for _ in 0..60 {
        let centre = Vec3::new(random.share(), random.share(), 0.0) * size_m as f32 + Vec3::Z * 21.0;
        let rotation = Quat::from_rotation_z(random.share() * 6.2);
        let size = Vec3::new(1.0 + random.share() * 9.0, 0.03 + random.share() * 0.3, 2.5);
        site.solids.push(Solid { centre, rotation, size });
    }
    site
}

/// Places near a middle that are not in each other.
fn places(
    site: &Site,
    mesh: &NavMesh,
    count: usize,
    random: &mut Random,
) -> Option<(nav::MeshPoint, Vec<Vec2>)> {
    let middle = Vec2::new(random.share(), random.share()) * site.size_m as f32;
    let home = mesh.locate(site.ground(), middle.extend(20.0), 2.0, PolyRef::NONE)?;
    let mut places: Vec<Vec2> = Vec::new();
    // On a small island there is no room for all.
    for _ in 0..count * 8 {
        let spot = mesh.random_near(site.ground(), home, 15.0, random.bits())?;
        let is_level = (mesh.height(site.ground(), spot) - 20.0).abs() < 0.5;
        if is_level && places.len() < count && places.iter().all(|place| place.distance(spot.at) > 0.65) {
            places.push(spot.at);
        }
    }
    Some((home, places))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// [`Crowd::tick`] looks for walls and for the mesh in every tick.
    #[test]
    fn walkers_neither_pass_walls_nor_overlap_nor_stand_for_long(
        which in 0usize..4, seed: u64, count in 2usize..40,
    ) {
        let (site, mesh) = &SITES[which];
        let mut random = Random(seed);
        let Some((home, places)) = places(site, mesh, count, &mut random) else { return Ok(()) };
        let mut crowd = Crowd::new(site, places.into_iter());
        for tick in 0..1_000 {
            for walker in &mut crowd.walkers {
                // Most go on at once, and some stand about, which is in others' way.
                if walker.follower.goal().is_none() && random.share() < 0.05 {
                    let goal = mesh.random_near(site.ground(), home, 15.0, random.bits()).unwrap();
                    walker.follower.set_goal(goal, 1.0 + random.share() * (SPEED_MAX_M_PER_S - 1.0), 0.3);
                }
            }
            crowd.tick();
            prop_assert!(
                crowd.waited < WAIT_MAX_TICKS,
                "in tick {tick} a walker has waited {}: {}",
                crowd.waited,
                crowd.of_who_waits()
            );
        }
        prop_assert!(crowd.deepest <= OVERLAP_MAX_M + ROUNDING_M, "{} m", crowd.deepest);
    }
}
