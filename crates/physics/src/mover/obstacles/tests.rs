//! Culling changes no result: queries of the surfaces within reach are compared with queries that test all surfaces one by one.

use super::*;
use proptest::prelude::*;

const RADIUS_M: f32 = 0.3;
const EVERYWHERE: Aabb = Aabb { low: Vec3::splat(-10.0), high: Vec3::splat(10.0) };

fn place(most: f32) -> impl Strategy<Value = Vec2> {
    [-most..most, -most..most].prop_map(Vec2::from)
}

/// A small triangle or an upright box.
fn obstacles() -> impl Strategy<Value = Obstacles> {
    let corner = || [-0.8_f32..0.8, -0.8..0.8, -0.8..0.8].prop_map(Vec3::from);
    let triangle = ([corner(), corner(), corner()], place(1.0), -1.0_f32..1.0);
    let upright = (place(1.0), 0.0_f32..6.0, [0.05_f32..0.6, 0.05..0.6], -1.0_f32..1.0, 0.05_f32..1.0);
    let triangles = prop::collection::vec(triangle, 0..60);
    (triangles, prop::collection::vec(upright, 0..5)).prop_map(|(triangles, uprights)| {
        let mut obstacles = Obstacles::default();
        for (id, (corners, at, z)) in (0..).zip(triangles) {
            obstacles.add_facet(&corners.map(|corner| corner + at.extend(z)), LocalId(id), None);
        }
        for (id, (centre, angle, half, low, height)) in (100..).zip(uprights) {
            let (x, slab) = (Vec2::from_angle(angle), Slab { low, high: low + height });
            let axes = [x, x.perp()];
            obstacles.uprights.push(UprightBox { centre, axes, half: half.into(), slab, id: LocalId(id) });
        }
        obstacles
    })
}

/// As [`Reached::deepest`] among all pieces.
fn deepest_of_all(obstacles: &Obstacles, axis: Vec2, slab: Slab, radius: f32) -> Option<Contact> {
    let uprights = obstacles.uprights.iter();
    let first = nearest(uprights, None, radius, |upright, reach| upright.contact(axis, slab, reach));
    let facets = obstacles.facets.iter().filter(|facet| facet.stops_in(slab));
    nearest(facets, first, radius, |facet, reach| facet.section(slab).contact(axis, reach))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn pieces_out_of_reach_change_nothing(
        obstacles in obstacles(), from in place(0.5), way in place(0.3), feet in -1.0_f32..0.5, height in 0.3_f32..1.5,
    ) {
        let slab = Slab { low: feet + 0.3, high: feet + 0.3 + height };
        let at = from + way;
        let half = Vec3::new(0.6, 0.6, 2.5);
        let centre = from.extend(feet);
        let (mut near, mut everywhere) = (ReachLists::default(), ReachLists::default());
        let reached = obstacles.within(&Aabb { low: centre - half, high: centre + half }, Vec2::ZERO, &mut near);
        let expected = deepest_of_all(&obstacles, at, slab, RADIUS_M);
        prop_assert_eq!(reached.deepest(at, slab, RADIUS_M), expected);
        for reach in [0.0, 0.2, 0.5] {
            prop_assert_eq!(reached.section(from, reach, slab, RADIUS_M, &mut Vec::new()).deepest(at, RADIUS_M), expected);
        }
        let all = obstacles.within(&EVERYWHERE, Vec2::ZERO, &mut everywhere);
        let (low, high) = (feet - 0.35, feet + 0.35);
        let floor = |reached: &Reached<'_>, low: f32| reached.floor(from, RADIUS_M, feet, Slab { low, high });
        let expected = floor(&all, f32::NEG_INFINITY).filter(|floor| floor.z >= low);
        prop_assert_eq!(floor(&reached, low).filter(|floor| floor.z >= low), expected);
        let (head, highest) = (slab.high, slab.high + 0.3);
        let ceiling = |reached: &Reached<'_>, highest: f32| reached.ceiling(from, RADIUS_M, head, highest);
        let expected = ceiling(&all, f32::INFINITY).filter(|(z, _)| *z < highest);
        prop_assert_eq!(ceiling(&reached, highest).filter(|(z, _)| *z < highest), expected);
    }
}
