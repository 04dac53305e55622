//! Convex hulls of points.
//!
//! Points are rounded to a lattice of 65,536 steps along each axis of the box around them, so that all tests of sides are exact in 64-bit integers: no rounding leads to a surface with
//! a gap, and equal points give equal hulls on every machine. A step is 4 mm in a prim of 256 m.

use glam::Vec3;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Points of which a hull is made as they are. Of more, the outermost ones are taken.
pub(crate) const POINTS_MAX: usize = 256;

/// Steps of the lattice along an axis. Differences have 17 bits with their sign, and a volume of three of them 53.
const STEPS: f32 = 65_535.0;

/// Thinner than this, in shares of a prim's scale, points have no hull.
const FLAT: f32 = 1e-4;

/// Fineness of the directions in which points are compared to find the outermost ones: components from −n to n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directions {
    /// 26 directions.
    Coarse,
    /// 124 directions, of which some are the same.
    Fine,
}

/// A closed surface: vertices, and triangles that are counter-clockwise as seen from outside.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HullSurface {
    pub(crate) vertices: Vec<Vec3>,
    pub(crate) triangles: Vec<[u16; 3]>,
}

/// A point of the lattice.
type Place = [i64; 3];

/// The convex hull of points, at most [`POINTS_MAX`] of them; `None` for points in a plane.
pub(crate) fn hull_of(points: &[Vec3]) -> Option<HullSurface> {
    let outer = if points.len() > POINTS_MAX { outermost(points, Directions::Fine) } else { points.to_vec() };
    let places = Lattice::around(&outer)?.places(&outer);
    // Corners come before the points between them, most of which see no side then.
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&index| Reverse(distance_from_middle(places[index])));
    let ordered: Vec<Place> = order.iter().map(|&index| places[index]).collect();
    let triangles = hull(&ordered)?;
    let mut used: Vec<u16> = triangles.as_flattened().to_vec();
    used.sort_unstable();
    used.dedup();
    let renamed = |corner: u16| used.binary_search(&corner).map_or(0, |place| place as u16);
    Some(HullSurface {
        vertices: used.iter().map(|&corner| outer[order[usize::from(corner)]]).collect(),
        triangles: triangles.iter().map(|triangle| triangle.map(renamed)).collect(),
    })
}

/// The outermost points in each of some directions. The box around them is that around all, but for a step of the lattice.
pub(crate) fn outermost(points: &[Vec3], directions: Directions) -> Vec<Vec3> {
    let Some(lattice) = Lattice::around(points) else { return corners_of_flat(points) };
    let places = lattice.places(points);
    let reach = match directions {
        Directions::Coarse => 1,
        Directions::Fine => 2,
    };
    let mut found = BTreeSet::new();
    for x in -reach..=reach {
        for y in -reach..=reach {
            for z in -reach..=reach {
                // The first of equal ones; in no direction at all the very first.
                let along = |&(_, place): &(usize, &Place)| dot(*place, [x, y, z]);
                let farthest = places.iter().enumerate().rev().max_by_key(along);
                found.extend(farthest.map(|(index, _)| index));
            }
        }
    }
    found.into_iter().map(|index| points[index]).collect()
}

/// Lowest and highest coordinates of points; `None` without a point.
pub(crate) fn bounds_of(points: &[Vec3]) -> Option<(Vec3, Vec3)> {
    let first = *points.first()?;
    Some(points.iter().fold((first, first), |(low, high), &point| (low.min(point), high.max(point))))
}

/// Two points that have the box around flat ones.
fn corners_of_flat(points: &[Vec3]) -> Vec<Vec3> {
    bounds_of(points).map_or_else(Vec::new, |(low, high)| vec![low, high])
}

/// Steps along the axes of a box.
struct Lattice {
    low: Vec3,
    per_unit: Vec3,
}

impl Lattice {
    /// Of the box around points; `None` if it is flat.
    fn around(points: &[Vec3]) -> Option<Self> {
        let (low, high) = bounds_of(points)?;
        let width = high - low;
        (width.min_element() >= FLAT).then(|| Self { low, per_unit: Vec3::splat(STEPS) / width })
    }

    fn places(&self, points: &[Vec3]) -> Vec<Place> {
        let place = |&point: &Vec3| {
            let steps = ((point - self.low) * self.per_unit + 0.5).floor();
            steps.clamp(Vec3::ZERO, Vec3::splat(STEPS)).to_array().map(|steps| steps as i64)
        };
        points.iter().map(place).collect()
    }
}

/// Triangles of the convex hull, by the numbers of the points; `None` for points in a plane. Points are added one by one: those sides that one sees are replaced by
/// a cone from their border to the point. A point in the plane of a side does not see it, so that no triangle without an area comes into being.
fn hull(places: &[Place]) -> Option<Vec<[u16; 3]>> {
    let first = first_tetrahedron(places)?;
    let [a, b, c, d] = first;
    let mut triangles = vec![[a, b, c], [a, d, b], [b, d, c], [c, d, a]];
    for point in 0..places.len() as u16 {
        if first.contains(&point) {
            continue;
        }
        let sees = |&[a, b, c]: &[u16; 3]| {
            let at = |corner: u16| places[usize::from(corner)];
            side(at(a), at(b), at(c), at(point)) > 0
        };
        let (seen, kept): (Vec<_>, Vec<_>) = triangles.into_iter().partition(sees);
        triangles = kept;
        let edges: BTreeSet<(u16, u16)> =
            seen.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]).collect();
        let border = edges.iter().filter(|&&(from, to)| !edges.contains(&(to, from)));
        triangles.extend(border.map(|&(from, to)| [from, to, point]));
    }
    Some(triangles)
}

/// Four points that are not in a plane, the last one behind the first three as seen from outside.
fn first_tetrahedron(places: &[Place]) -> Option<[u16; 4]> {
    let &origin = places.first()?;
    let find = |is_one: &dyn Fn(Place) -> bool| places.iter().position(|&place| is_one(place));
    let b = find(&|place| place != origin)?;
    let along = minus(places[b], origin);
    let c = find(&|place| cross(along, minus(place, origin)) != [0; 3])?;
    let d = find(&|place| side(origin, places[b], places[c], place) != 0)?;
    let [b, c, d] = [b, c, d].map(|index| index as u16);
    let is_behind = side(origin, places[usize::from(b)], places[usize::from(c)], places[usize::from(d)]) < 0;
    Some(if is_behind { [0, b, c, d] } else { [0, c, b, d] })
}

/// Square of twice the distance from the middle of the lattice.
fn distance_from_middle(place: Place) -> i64 {
    let offset = place.map(|steps| 2 * steps - STEPS as i64);
    dot(offset, offset)
}

/// Positive if a point is in front of a triangle, which is counter-clockwise as seen from there; 0 if it is in its plane.
fn side(a: Place, b: Place, c: Place, point: Place) -> i64 {
    dot(cross(minus(b, a), minus(c, a)), minus(point, a))
}

fn minus(a: Place, b: Place) -> Place {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: Place, b: Place) -> i64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Place, b: Place) -> Place {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn cube() -> Vec<Vec3> {
        (0..8_u8).map(|n| Vec3::new(f32::from(n & 1), f32::from(n >> 1 & 1), f32::from(n >> 2))).collect()
    }

    /// Each edge belongs to two triangles, in opposite directions.
    fn is_closed(triangles: &[[u16; 3]]) -> bool {
        let mut edges: BTreeMap<(u16, u16), u32> = BTreeMap::new();
        for &[a, b, c] in triangles {
            for edge in [(a, b), (b, c), (c, a)] {
                *edges.entry(edge).or_default() += 1;
            }
        }
        edges.iter().all(|(&(a, b), &count)| count == 1 && edges.contains_key(&(b, a)))
    }

    /// No point is in front of a triangle.
    fn contains_all(triangles: &[[u16; 3]], places: &[Place]) -> bool {
        triangles.iter().all(|triangle| {
            let [a, b, c] = triangle.map(|corner| places[usize::from(corner)]);
            cross(minus(b, a), minus(c, a)) != [0; 3] && places.iter().all(|&place| side(a, b, c, place) <= 0)
        })
    }

    fn is_same_box(a: &[Vec3], b: &[Vec3]) -> bool {
        let ((low, high), (other_low, other_high)) = (bounds_of(a).unwrap(), bounds_of(b).unwrap());
        low.distance(other_low) < 1e-4 && high.distance(other_high) < 1e-4
    }

    #[test]
    fn the_hull_of_a_cube_has_its_corners_and_twelve_triangles() {
        let mut points = cube();
        points.extend([Vec3::splat(0.5), Vec3::new(0.5, 0.5, 1.0), Vec3::new(0.5, 0.0, 0.0), Vec3::ZERO]);
        points.reverse();
        let surface = hull_of(&points).expect("a hull");
        assert_eq!((surface.vertices.len(), surface.triangles.len()), (8, 12));
        assert!(is_closed(&surface.triangles));
    }

    #[test]
    fn points_in_a_plane_have_no_hull() {
        assert_eq!(hull_of(&[]), None);
        assert_eq!(hull_of(&[Vec3::ONE; 9]), None);
        let flat: Vec<Vec3> = cube().into_iter().map(|corner| corner.with_z(0.3)).collect();
        assert_eq!(hull_of(&flat), None);
        let oblique: Vec<Vec3> = cube().into_iter().map(|corner| corner.with_z(corner.x)).collect();
        assert_eq!(hull_of(&oblique), None);
        assert_eq!(outermost(&flat, Directions::Fine), [Vec3::Z * 0.3, Vec3::new(1.0, 1.0, 0.3)]);
    }

    #[test]
    fn of_many_points_the_outermost_ones_make_the_hull() {
        let points: Vec<Vec3> = (0..5_000_u16)
            .map(|n| {
                let (turn, height) = (f32::from(n) * 2.4, f32::from(n) / 2_500.0 - 1.0);
                let radius = (1.0 - height * height).max(0.0).sqrt();
                Vec3::new(turn.cos() * radius, turn.sin() * radius, height)
            })
            .collect();
        let surface = hull_of(&points).expect("a hull");
        assert!((60..=124).contains(&surface.vertices.len()), "{}", surface.vertices.len());
        assert!(is_closed(&surface.triangles));
        // Within the ball, and not far inside it.
        let least = surface.triangles.iter().map(|triangle| {
            let corners = triangle.map(|corner| surface.vertices[usize::from(corner)]);
            ((corners[0] + corners[1] + corners[2]) / 3.0).length()
        });
        let least = least.fold(f32::INFINITY, f32::min);
        assert!(least > 0.85, "{least}");
        let coarse = outermost(&points, Directions::Coarse);
        assert!(coarse.len() <= 26, "{}", coarse.len());
        assert!(is_same_box(&coarse, &points));
    }

    fn places(points: Vec<[u8; 3]>) -> Vec<Place> {
        points.into_iter().map(|point| point.map(i64::from)).collect()
    }

    proptest! {
        #[test]
        fn hulls_are_closed_convex_and_around_their_points(
            points in prop::collection::vec(any::<[u8; 3]>(), 1..80),
        ) {
            let places = places(points);
            let Some(triangles) = hull(&places) else { return Ok(()) };
            prop_assert!(is_closed(&triangles) && contains_all(&triangles, &places));
        }

        /// Few values, so that many points are in a line or a plane, or the same.
        #[test]
        fn points_that_lie_alike_make_a_hull_too(
            points in prop::collection::vec([0_u8..3, 0..3, 0..3], 1..60),
        ) {
            let places = places(points);
            let Some(triangles) = hull(&places) else { return Ok(()) };
            prop_assert!(is_closed(&triangles) && contains_all(&triangles, &places));
        }

        #[test]
        fn a_hull_has_the_box_of_its_points(
            points in prop::collection::vec([-0.5_f32..0.5, -0.5..0.5, -0.5..0.5], 1..600),
        ) {
            let points: Vec<Vec3> = points.into_iter().map(Vec3::from).collect();
            let Some(HullSurface { vertices, triangles }) = hull_of(&points) else { return Ok(()) };
            prop_assert!(is_closed(&triangles) && is_same_box(&vertices, &points));
            prop_assert_eq!(triangles.len(), 2 * vertices.len() - 4);
            prop_assert!(triangles.as_flattened().iter().all(|&corner| usize::from(corner) < vertices.len()));
        }
    }
}
