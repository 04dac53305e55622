//! Profile of a prim as a polygon with a face number for each edge.
//!
//! A profile is a regular polygon around the origin, walked from an angle that depends on its kind; a circle is one with many corners. A position
//! on it is a share of the walk, which is linear along each side and not in the angle. A cut leaves out the begin and the end of the walk; the
//! centre then becomes a corner, unless there is a hole, which is walked backwards with the same cut. All this is as in viewers, down
//! to the radii of polygons with few corners and the hole of a triangle, which is half as large as its number says.

use super::lattice::snap2;
use core::f32::consts::{FRAC_1_SQRT_2, TAU};
use glam::Vec2;
use prim::{Hole, Profile, Shape};

/// A whole walk. Steps of a cut (1/50,000) and corners of polygons with 2, 3, 4, 6, 8, 12, 16 and 24 sides are whole numbers of it.
pub(super) const WHOLE: u32 = 1_200_000;
/// Steps of a cut in the protocol.
const CUT_STEPS: u32 = 50_000;
/// Hole of a triangle, as a share of that of other profiles.
const TRIANGLE_HOLE: f32 = 0.5;
/// A square hole in a triangle, or in a circle: a larger one would cut the outline.
const SQUARE_HOLE_MAX: f32 = 0.7;
/// A triangular hole in half a circle, and one whose corners meet no corners of a circle, likewise.
const TRIANGLE_IN_HALF_MAX: f32 = 0.94;
const TRIANGLE_ASIDE_MAX: f32 = 0.85;

/// An edge of an outline: indices of its points, and the number of the face that it sweeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutlineEdge {
    pub(super) from: u16,
    pub(super) to: u16,
    pub(super) face: u8,
}

/// A polygon in the plane of the profile, perhaps with a hole. Its inside lies to the left of each edge.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    pub(super) points: Vec<Vec2>,
    /// Each point begins one edge and ends one.
    pub(super) edges: Vec<OutlineEdge>,
    /// Triangles of the polygon, counter-clockwise.
    pub(super) cap: Vec<[u16; 3]>,
    /// Number of the face at the end of the path.
    pub(super) top: u8,
    /// Number of the face at its begin.
    pub(super) bottom: u8,
    pub(super) is_convex: bool,
}

/// A regular polygon, or half of one.
#[derive(Clone, Copy, Debug)]
struct Ring {
    /// Sides of the walk.
    sides: u32,
    /// Angle of the first corner, turns.
    start: f32,
    /// Turns of the walk: 1 or 1/2.
    span: f32,
    radius: f32,
}

impl Ring {
    fn new(sides: u32, start: f32, span: f32) -> Self {
        // Viewers choose the radius so that a polygon fills the unit square in their eyes.
        let radius = match libm::roundf(sides as f32 / span) as u32 {
            4 => FRAC_1_SQRT_2,
            6 => 0.525,
            _ => 0.5,
        };
        Self { sides, start, span, radius }
    }

    /// The point at a share of the walk, in parts of [`WHOLE`].
    fn at(&self, share: u32) -> Vec2 {
        let (side, rest) = (share * self.sides / WHOLE, share * self.sides % WHOLE);
        match rest {
            0 => self.corner(side),
            _ => self.corner(side).lerp(self.corner(side + 1), rest as f32 / WHOLE as f32),
        }
    }

    fn corner(&self, number: u32) -> Vec2 {
        let turns = self.start + self.span * number as f32 / self.sides as f32;
        let (sin, cos) = libm::sincosf(turns * TAU);
        Vec2::new(cos, sin) * self.radius
    }

    /// Shares of the corners.
    fn corners(&self) -> impl Iterator<Item = u32> + use<> {
        let each = WHOLE / self.sides;
        (0..=self.sides).map(move |corner| corner * each)
    }
}

/// Outer ring of a profile, its hole before scaling, and the scale of the hole per hollow with its limit.
fn rings(profile: Profile, hole: Hole, circle: u32) -> (Ring, Ring, f32, f32) {
    let (start, span, sides) = match profile {
        Profile::Square => (-0.375, 1.0, 4),
        Profile::Circle => (0.0, 1.0, circle),
        Profile::HalfCircle => (0.5, 0.5, circle / 2),
        Profile::IsoscelesTriangle | Profile::EquilateralTriangle | Profile::RightTriangle => (0.0, 1.0, 3),
    };
    let is_half = profile == Profile::HalfCircle;
    let hole_sides = match hole {
        Hole::Same => sides,
        Hole::Circle if is_half => circle / 2,
        Hole::Circle => circle,
        Hole::Square if is_half => 2,
        Hole::Square => 4,
        Hole::Triangle => 3,
    };
    let is_triangle = sides == 3;
    let per_hollow = if is_triangle { TRIANGLE_HOLE } else { 1.0 };
    let most = match hole {
        Hole::Square if profile != Profile::Square => SQUARE_HOLE_MAX,
        Hole::Triangle if sides % 3 != 0 && profile != Profile::Square => TRIANGLE_ASIDE_MAX,
        Hole::Triangle if is_half => TRIANGLE_IN_HALF_MAX,
        _ => 1.0,
    };
    (Ring::new(sides, start, span), Ring::new(hole_sides, start, span), per_hollow, most)
}

impl Outline {
    /// The profile of a clamped shape, with so many sides for a whole circle. An open path has a face at each end.
    pub(super) fn new(
        shape: &Shape,
        (profile, hole): (Profile, Hole),
        circle: u32,
        path_is_open: bool,
    ) -> Self {
        let (outer, inner, per_hollow, hollow_max) = rings(profile, hole, circle);
        let hollow = (f32::from(shape.profile_hollow) / CUT_STEPS as f32).min(hollow_max) * per_hollow;
        let is_hollow = shape.profile_hollow > 0;
        let is_half = profile == Profile::HalfCircle;
        let parts_per_step = WHOLE / CUT_STEPS;
        let begin = u32::from(shape.profile_begin) * parts_per_step;
        let end = WHOLE - u32::from(shape.profile_end) * parts_per_step;
        // Viewers close a gap below a hundredth with a straight side.
        let is_closed = !is_half && (end - begin) * 100 >= WHOLE * 99;

        let mut shares: Vec<u32> = outer.corners().collect();
        if is_hollow {
            shares.extend(inner.corners());
        }
        shares.retain(|&share| share > begin && share < end);
        shares.extend([begin, end]);
        shares.sort_unstable();
        shares.dedup();
        if end - begin == WHOLE && !is_half {
            shares.pop();
        }
        let count = shares.len() as u16;

        let is_round = matches!(profile, Profile::Circle | Profile::HalfCircle);
        let side_of = |share: u32| if is_round { 0 } else { (share * outer.sides / WHOLE) as u8 };
        let last_side = shares.iter().rev().find(|&&share| share < end).map_or(0, |&share| side_of(share));
        let first_outer = u8::from(path_is_open);
        let inner_face = first_outer + last_side - side_of(begin) + 1;
        let bottom = inner_face + u8::from(is_hollow);
        let begin_face = bottom + u8::from(path_is_open);
        let has_cut_faces = !is_half || is_hollow || end - begin < WHOLE;
        let (begin_face, end_face) =
            if has_cut_faces { (begin_face, begin_face + 1) } else { (first_outer, first_outer) };
        let outer_face =
            |index: u16| first_outer + side_of(shares[usize::from(index)]).min(last_side) - side_of(begin);

        let mut points: Vec<Vec2> = shares.iter().map(|&share| snap2(outer.at(share))).collect();
        let mut edges = Vec::new();
        let mut cap = Vec::new();
        let next = |index: u16| (index + 1) % count;
        let n_sides = if is_closed { count } else { count - 1 };
        for index in 0..n_sides {
            edges.push(OutlineEdge { from: index, to: next(index), face: outer_face(index) });
        }
        if is_hollow {
            points.extend(shares.iter().map(|&share| snap2(inner.at(share) * hollow)));
            for index in 0..n_sides {
                let (from, to) = (count + next(index), count + index);
                edges.push(OutlineEdge { from, to, face: inner_face });
                cap.extend(halves(&points, [index, next(index), from, to]));
            }
            if !is_closed {
                edges.push(OutlineEdge { from: count - 1, to: 2 * count - 1, face: end_face });
                edges.push(OutlineEdge { from: count, to: 0, face: begin_face });
            }
        } else if is_closed {
            cap.extend((1..count - 1).map(|index| [0, index, index + 1]));
        } else {
            points.push(Vec2::ZERO);
            edges.push(OutlineEdge { from: count - 1, to: count, face: end_face });
            edges.push(OutlineEdge { from: count, to: 0, face: begin_face });
            cap.extend((0..count - 1).map(|index| [count, index, index + 1]));
        }
        let turns_left_at_centre = || (-points[usize::from(count) - 1]).perp_dot(points[0]) >= -1e-6;
        let is_convex = !is_hollow && (is_closed || turns_left_at_centre());
        Self { points, edges, cap, top: 0, bottom, is_convex }
    }
}

/// Two triangles that cover a quadrilateral with at most one dent.
fn halves(points: &[Vec2], [a, b, c, d]: [u16; 4]) -> [[u16; 3]; 2] {
    let area = |[a, b, c]: [u16; 3]| {
        let [a, b, c] = [a, b, c].map(|index| points[usize::from(index)]);
        (b - a).perp_dot(c - a)
    };
    let splits = [[[a, b, c], [a, c, d]], [[a, b, d], [b, c, d]]];
    let least = |split: [[u16; 3]; 2]| area(split[0]).min(area(split[1]));
    if least(splits[0]) >= least(splits[1]) { splits[0] } else { splits[1] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prim::ShapeKind;

    fn outline(shape: Shape) -> Outline {
        Outline::new(&shape, shape.profile().unwrap(), 24, true)
    }

    fn area(outline: &Outline) -> f32 {
        let cross = |edge: &OutlineEdge| {
            outline.points[usize::from(edge.from)].perp_dot(outline.points[usize::from(edge.to)])
        };
        outline.edges.iter().map(cross).sum::<f32>() / 2.0
    }

    #[test]
    fn a_square_has_corners_at_halves_and_its_first_side_to_the_south() {
        let square = outline(Shape::BOX);
        let corners = [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)].map(Vec2::from);
        assert_eq!(square.points, corners);
        let faces: Vec<u8> = square.edges.iter().map(|edge| edge.face).collect();
        assert_eq!((faces, square.top, square.bottom), (vec![1, 2, 3, 4], 0, 5));
        assert!(square.is_convex);
    }

    #[test]
    fn a_triangle_points_east_and_its_hole_is_half_as_large() {
        let triangle = outline(Shape::plain(ShapeKind::Prism));
        assert!((area(&triangle) - 0.75_f32.sqrt() * 0.375).abs() < 1e-5, "{}", area(&triangle));
        assert_eq!(triangle.points[0], Vec2::new(0.5, 0.0));
        let hollow = outline(Shape { profile_hollow: 25_000, ..Shape::plain(ShapeKind::Prism) });
        assert!((area(&hollow) / area(&triangle) - 15.0 / 16.0).abs() < 1e-4);
    }

    #[test]
    fn a_cut_square_has_its_centre_as_a_corner_and_two_more_faces() {
        let cut = outline(Shape { profile_begin: 12_500, ..Shape::BOX });
        assert_eq!(cut.points.len(), 5);
        assert_eq!(cut.points[4], Vec2::ZERO);
        assert!((area(&cut) - 0.75).abs() < 1e-5);
        let faces: Vec<u8> = cut.edges.iter().map(|edge| edge.face).collect();
        assert_eq!((faces, cut.bottom), (vec![1, 2, 3, 6, 5], 4));
        assert!(!cut.is_convex);
        assert!(outline(Shape { profile_begin: 25_000, ..Shape::BOX }).is_convex);
    }

    #[test]
    fn a_cut_below_a_hundredth_is_closed_by_a_straight_side() {
        let slit = outline(Shape { profile_begin: 400, ..Shape::BOX });
        assert!(!slit.points.contains(&Vec2::ZERO));
        assert!((area(&slit) - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_hole_has_the_walk_of_its_profile_backwards() {
        let tube = outline(Shape { profile_hollow: 25_000, ..Shape::plain(ShapeKind::Cylinder) });
        let disc = outline(Shape::plain(ShapeKind::Cylinder));
        assert!((area(&tube) - 0.75 * area(&disc)).abs() < 1e-4);
        let cut = outline(Shape { profile_hollow: 25_000, profile_begin: 12_500, ..Shape::BOX });
        assert!((area(&cut) - 0.75 * 0.75).abs() < 1e-5);
        let faces: Vec<u8> = cut.edges.iter().map(|edge| edge.face).collect();
        assert_eq!((faces, cut.bottom), (vec![1, 2, 3, 4, 4, 4, 7, 6], 5));
    }

    #[test]
    fn caps_cover_the_polygon_whatever_its_hole() {
        for circle in [8, 12, 16, 24] {
            check_caps(circle);
        }
    }

    fn check_caps(circle: u32) {
        for (profile, hole) in (0_u8..6).flat_map(|profile| (0_u8..4).map(move |hole| (profile, hole))) {
            for (hollow, begin, end) in
                [(0, 0, 0), (49_500, 0, 0), (30_000, 7_777, 3_210), (0, 21_000, 9_999)]
            {
                let shape = Shape {
                    profile_curve: profile | hole << 4,
                    profile_hollow: hollow,
                    profile_begin: begin,
                    profile_end: end,
                    ..Shape::BOX
                };
                let shape = shape.clamped().unwrap();
                let outline = Outline::new(&shape, shape.profile().unwrap(), circle, true);
                let corner = |index: u16| outline.points[usize::from(index)];
                let areas: Vec<f32> = outline
                    .cap
                    .iter()
                    .map(|&[a, b, c]| (corner(b) - corner(a)).perp_dot(corner(c) - corner(a)) / 2.0)
                    .collect();
                assert!((areas.iter().sum::<f32>() - area(&outline)).abs() < 1e-5, "{shape:?}");
                assert!(areas.iter().all(|&area| area > -1e-5), "{shape:?}: {areas:?}");
            }
        }
    }
}
