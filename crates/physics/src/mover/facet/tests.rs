use super::*;
use crate::mover::upright::UprightBox;
use proptest::prelude::*;

fn triangle() -> impl Strategy<Value = [Vec3; 3]> {
    let corner = [-1.0_f32..1.0, -1.0..1.0, -1.0..1.0].prop_map(Vec3::from);
    [corner.clone(), corner.clone(), corner]
}

fn facet(corners: &[Vec3]) -> Option<Facet> {
    Facet::new(corners, LocalId(7), None)
}

/// Points of a triangle, close together.
fn samples([a, b, c]: [Vec3; 3]) -> impl Iterator<Item = Vec3> {
    const N: u32 = 150;
    (0..=N).flat_map(move |row| {
        (0..=N - row).map(move |column| {
            let (u, v) = (row as f32 / N as f32, column as f32 / N as f32);
            a + (b - a) * u + (c - a) * v
        })
    })
}

proptest! {
    #[test]
    fn a_contact_is_the_nearest_of_all_points_in_the_slab(
        corners in triangle(), at in [-1.5_f32..1.5, -1.5..1.5].prop_map(Vec2::from),
        low in -1.0_f32..0.5, height in 0.1_f32..1.0,
    ) {
        let Some(piece) = facet(&corners) else { return Ok(()) };
        let slab = Slab { low, high: low + height };
        let inside = samples(corners).filter(|point| (slab.low..=slab.high).contains(&point.z));
        let nearest = inside.map(|point| point.truncate().distance(at)).fold(f32::INFINITY, f32::min);
        prop_assert_eq!(piece.contact(at, slab, 0.5), piece.section(slab).contact(at, 0.5).filter(|_| piece.stops_in(slab)));
        if let Some(contact) = piece.contact(at, slab, 0.5) {
            prop_assert!(contact.distance < 0.5 && contact.away.is_normalized());
            // The samples are up to 2 cm apart.
            prop_assert!(contact.distance < nearest + 1e-3 && contact.distance > nearest - 0.04, "{:?}, not {}", contact, nearest);
            let point = at - contact.away * contact.distance;
            prop_assert!(piece.normal.truncate().dot(at - point) > 0.0, "from behind");
        } else {
            // The facet with its corners reversed has the contact, if there is any.
            let back = facet(&[corners[0], corners[2], corners[1]]).unwrap();
            let is_level = piece.normal.truncate().length() < 0.01;
            let touches = nearest > 0.02 && nearest < 0.49;
            prop_assert!(!touches || is_level || back.contact(at, slab, 0.5).is_some());
        }
    }

    #[test]
    fn heights_in_a_disc_are_those_of_its_points(
        corners in triangle(), at in [-1.0_f32..1.0, -1.0..1.0].prop_map(Vec2::from), radius in 0.1_f32..0.6,
    ) {
        let Some(facet) = facet(&corners).filter(|facet| facet.normal.z.abs() > 0.1) else { return Ok(()) };
        let inside = samples(corners).filter(|point| point.truncate().distance(at) <= radius);
        let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
        inside.for_each(|point| (low, high) = (low.min(point.z), high.max(point.z)));
        let heights = facet.heights_in(at, radius);
        if low <= high {
            let heights = heights.expect("it has points in the disc");
            // 2 cm along a slope of 10 at most.
            prop_assert!(heights.low <= low + 1e-4 && heights.low > low - 0.25, "{:?}, not {}", heights, low);
            prop_assert!(heights.high >= high - 1e-4 && heights.high < high + 0.25, "{:?}, not {}", heights, high);
        }
    }
}

#[test]
fn a_wall_stops_from_its_outer_side_only() {
    let wall = [Vec3::ZERO, Vec3::new(0.0, 4.0, 0.0), Vec3::new(0.0, 4.0, 4.0), Vec3::new(0.0, 0.0, 4.0)];
    let wall = facet(&wall).unwrap();
    let slab = Slab { low: 1.0, high: 2.0 };
    let contact = wall.contact(Vec2::new(0.2, 2.0), slab, 0.3).unwrap();
    assert!((contact.distance - 0.2).abs() < 1e-6 && contact.away == Vec2::X, "{contact:?}");
    assert_eq!(wall.contact(Vec2::new(-0.2, 2.0), slab, 0.3), None);
    assert_eq!(wall.contact(Vec2::new(0.2, 2.0), Slab { low: 4.0, high: 5.0 }, 0.3), None, "above it");
    let corner = wall.contact(Vec2::new(0.1, -0.1), slab, 0.3).unwrap();
    assert!(corner.away.distance(Vec2::new(1.0, -1.0).normalize()) < 1e-6);
}

#[test]
fn a_slope_stops_at_the_height_of_the_slab() {
    // It rises to the east, one metre per metre.
    let slope = [
        Vec3::new(0.0, -1.0, 0.0),
        Vec3::new(2.0, -1.0, 2.0),
        Vec3::new(2.0, 1.0, 2.0),
        Vec3::new(0.0, 1.0, 0.0),
    ];
    let slope = facet(&slope).unwrap();
    let contact = slope.contact(Vec2::new(0.3, 0.0), Slab { low: 0.5, high: 2.0 }, 0.3).unwrap();
    assert!((contact.distance - 0.2).abs() < 1e-6 && contact.away == Vec2::NEG_X, "{contact:?}");
    let heights = slope.heights_in(Vec2::new(1.0, 0.0), 0.25).unwrap();
    assert!((heights.low - 0.75).abs() < 1e-6 && (heights.high - 1.25).abs() < 1e-6);
    assert!(slope.is_floor() && !slope.is_ceiling());
}

#[test]
fn an_upright_box_stops_outside_and_carries_above() {
    let upright = UprightBox {
        centre: Vec2::new(1.0, 0.0),
        axes: [Vec2::X, Vec2::Y],
        half: Vec2::splat(0.5),
        slab: Slab { low: 0.0, high: 1.0 },
        id: LocalId(1),
    };
    let body = Slab { low: 0.4, high: 2.0 };
    let contact = upright.contact(Vec2::new(0.3, 0.0), body, 0.3).unwrap();
    assert!((contact.distance - 0.2).abs() < 1e-6 && contact.away == Vec2::NEG_X);
    assert_eq!(upright.contact(Vec2::new(0.1, 0.0), body, 0.3), None, "out of reach");
    assert_eq!(upright.contact(Vec2::new(1.0, 0.2), body, 0.3), None, "inside");
    assert_eq!(upright.contact(Vec2::new(0.3, 0.0), Slab { low: 1.0, high: 2.0 }, 0.3), None, "on top");
    assert!(upright.is_under(Vec2::new(0.4, 0.0), 0.15) && !upright.is_under(Vec2::new(0.3, 0.0), 0.15));
}

#[test]
fn facets_without_a_part_in_the_area_are_left_out() {
    let area = Aabb { low: Vec3::ZERO, high: Vec3::ONE };
    let reaches =
        |corners: [[f32; 3]; 3]| Facet::new(&corners.map(Vec3::from), LocalId(7), Some(&area)).is_some();
    assert!(reaches([[-1.0, 0.5, 0.5], [2.0, 0.5, 0.5], [0.5, 2.0, 0.5]]));
    assert!(!reaches([[-1.0, 0.5, 1.5], [2.0, 0.5, 1.5], [0.5, 2.0, 1.5]]), "above it");
    // Its bounds overlap the area, its plane passes by.
    assert!(!reaches([[3.2, 0.0, 0.0], [0.0, 3.2, 0.0], [0.0, 0.0, 3.2]]));
    assert!(reaches([[2.8, 0.0, 0.0], [0.0, 2.8, 0.0], [0.0, 0.0, 2.8]]));
    assert!(!reaches([[0.1, 0.1, 0.1], [0.2, 0.2, 0.2], [0.3, 0.3, 0.3]]), "without area");
}

#[test]
fn an_edge_of_any_length_meets_a_disc_at_the_same_distance() {
    const RADIUS_M: f32 = 0.15;
    for length in [1.0_f32, 60.0, 128.0, 200.0, 440.0] {
        for degrees in (0_u16..360).step_by(7) {
            let along = Vec2::from_angle(f32::from(degrees).to_radians());
            let edge = |distance: f32| (along.perp() * distance - along * (0.7 * length), along * length);
            let (from, way) = edge(0.13);
            let (first, last) = share_in_disc(from, way, RADIUS_M).expect("it passes through the disc");
            assert!(((first + last) / 2.0 - 0.7).abs() < 1e-4, "{length} m at {degrees}°");
            let (from, way) = edge(0.17);
            assert_eq!(share_in_disc(from, way, RADIUS_M), None, "{length} m at {degrees}°");
        }
    }
}
