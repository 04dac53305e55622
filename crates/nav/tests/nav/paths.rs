//! Paths lead where they say, within their budget.

use crate::site::{Random, Site};
use glam::{Vec2, Vec3};
use nav::{MeshPoint, NavMesh, Path, PathEnd, PathFinder, PolyRef};
use proptest::prelude::*;
use std::sync::LazyLock;

static HILLS: LazyLock<(Site, NavMesh)> = LazyLock::new(|| {
    let site = Site::hills(128, 2).with_boxes(2_500, 2);
    let mesh = site.mesh();
    (site, mesh)
});

static ROOMS: LazyLock<(Site, NavMesh)> = LazyLock::new(|| {
    let site = Site::rooms(96);
    let mesh = site.mesh();
    (site, mesh)
});

fn somewhere((site, mesh): &(Site, NavMesh), random: &mut Random) -> MeshPoint {
    loop {
        let at = Vec2::new(random.share(), random.share()) * site.size_m as f32;
        let z = site.ground().height(at) + 3.0 * random.share();
        if let Some(spot) = mesh.locate(site.ground(), at.extend(z), 1.0, PolyRef::NONE) {
            return spot;
        }
    }
}

/// Walks along the corners; how far it came from the last of them, and the way.
fn follow(mesh: &NavMesh, from: MeshPoint, path: &Path) -> (MeshPoint, f32) {
    let (mut spot, mut way) = (from, 0.0);
    for &corner in path.corners() {
        let leg = corner - spot.at;
        let steps = libm::ceilf(leg.length() / 0.3).max(1.0) as u32;
        let begin = spot.at;
        for n in 1..=steps {
            spot = mesh.slide(spot, begin + leg * (n as f32 / steps as f32)).spot;
        }
        way += spot.at.distance(begin);
    }
    (spot, way)
}

/// Searches on from where each path ends, until one is complete.
fn whole(
    finder: &mut PathFinder,
    mesh: &NavMesh,
    from: MeshPoint,
    to: MeshPoint,
) -> (MeshPoint, f32, PathEnd) {
    let (mut spot, mut way, mut path) = (from, 0.0, Path::EMPTY);
    for _ in 0..40 {
        let search = finder.find(mesh, spot, to, 16_384, &mut path);
        let (end, made) = follow(mesh, spot, &path);
        way += made;
        spot = end;
        assert!(path.complete || made > 0.0, "no way on from {spot:?}");
        if path.complete {
            return (spot, way, search.end);
        }
    }
    panic!("{from:?} to {to:?}: not complete after 40 searches");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_follower_of_a_path_arrives(seed: u64, indoors: bool) {
        let region = if indoors { &*ROOMS } else { &*HILLS };
        let mut random = Random(seed);
        let (from, to) = (somewhere(region, &mut random), somewhere(region, &mut random));
        let mesh = &region.1;
        let mut finder = PathFinder::new();
        let (end, way, how) = whole(&mut finder, mesh, from, to);
        if mesh.are_connected(from, to) {
            prop_assert_eq!(how, PathEnd::Goal);
            prop_assert!(end.at.distance(to.at) < 0.02, "{:?} instead of {:?}", end, to);
            prop_assert!(way >= from.at.distance(to.at) - 0.1);
            // The way back is no shorter than ledges and a greedy search let it be.
            let (_, back, _) = whole(&mut finder, mesh, to, from);
            prop_assert!(way < back * 1.4 + 2.0 && back < way * 1.4 + 2.0, "{way} m and {back} m back");
        }
    }

    #[test]
    fn a_search_keeps_its_budget_and_says_so(seed: u64, budget in 1u32..400) {
        let mut random = Random(seed);
        let (from, to) = (somewhere(&HILLS, &mut random), somewhere(&HILLS, &mut random));
        let mesh = &HILLS.1;
        let (mut finder, mut path, mut again) = (PathFinder::new(), Path::EMPTY, Path::EMPTY);
        let search = finder.find(mesh, from, to, budget, &mut path);
        prop_assert!(search.nodes <= budget);
        prop_assert!(mesh.holds(path.end));
        match search.end {
            PathEnd::Goal => prop_assert_eq!(path.end, to),
            PathEnd::Budget | PathEnd::Nearest => {
                prop_assert!(path.end.at.distance(to.at) <= from.at.distance(to.at) + 0.01);
            }
            PathEnd::Nowhere => prop_assert!(false, "both ends are on the mesh"),
        }
        // Former searches do not matter.
        prop_assert_eq!(PathFinder::new().find(mesh, from, to, budget, &mut again), search);
        prop_assert_eq!(again, path);
    }

    #[test]
    fn ends_that_are_none_have_no_path(poly: u32, x: f32, y: f32) {
        let (from, to) = (MeshPoint { poly: PolyRef(poly), at: Vec2::new(x, y) }, somewhere(&HILLS, &mut Random(1)));
        let (mut finder, mut path) = (PathFinder::new(), Path::EMPTY);
        for (from, to) in [(from, to), (to, from), (MeshPoint::NOWHERE, to)] {
            let search = finder.find(&HILLS.1, from, to, 500, &mut path);
            prop_assert!(search.nodes <= 500);
            prop_assert!(search.end != PathEnd::Nowhere || path == Path::EMPTY);
        }
    }
}

#[test]
fn a_goal_behind_walls_is_approached_and_no_more() {
    let mut site = Site::flat(64);
    for (x, y, w, d) in
        [(40.0, 32.0, 0.2, 10.0), (50.0, 32.0, 0.2, 10.0), (45.0, 27.0, 10.0, 0.2), (45.0, 37.0, 10.0, 0.2)]
    {
        site.block(Vec3::new(x, y, 21.5), Vec3::new(w, d, 3.0));
    }
    let mesh = site.mesh();
    let at = |x, y| mesh.locate(site.ground(), Vec3::new(x, y, 20.0), 1.0, PolyRef::NONE).unwrap();
    let (mut finder, mut path) = (PathFinder::new(), Path::EMPTY);
    let search = finder.find(&mesh, at(10.0, 33.0), at(45.0, 33.0), 2_000, &mut path);
    assert_eq!(search.end, PathEnd::Nearest);
    // The wall to the north is nearer than the one to the west.
    assert!((path.end.at - Vec2::new(45.0, 37.4)).length() < 0.3, "{:?}", path.end);
    assert!(path.complete);
}

#[test]
fn a_corner_is_cut_where_the_wall_ends() {
    let mut site = Site::flat(64);
    site.block(Vec3::new(22.0, 32.0, 21.5), Vec3::new(40.0, 0.2, 3.0));
    let mesh = site.mesh();
    let at = |x, y| mesh.locate(site.ground(), Vec3::new(x, y, 20.0), 1.0, PolyRef::NONE).unwrap();
    let (mut finder, mut path) = (PathFinder::new(), Path::EMPTY);
    finder.find(&mesh, at(30.0, 30.0), at(30.0, 34.0), 2_000, &mut path);
    let [around @ .., goal] = path.corners() else { panic!("no corners") };
    for corner in around {
        assert!((corner - Vec2::new(42.3, 32.0)).length() < 0.5, "{corner}");
    }
    assert!((2..=5).contains(&around.len()), "{around:?}");
    assert_eq!(*goal, Vec2::new(30.0, 34.0));
}
