//! Walking on the mesh: from polygon to polygon along a line, and along the walls that are in its way.

use super::{
    CELLS_PER_M, MeshPoint, NavMesh, PolyRef,
    poly::{Exit, Poly},
};
use glam::Vec2;

/// Result of a walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slid {
    /// The end, on the mesh.
    pub spot: MeshPoint,
    /// True if a wall was in the way. If false, the end is the requested point bit for bit.
    pub hindered: bool,
}

/// Result of a straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// The end: the goal, or the last one before a wall.
    pub spot: MeshPoint,
    /// True if the end is the requested point.
    pub clear: bool,
}

/// Polygons crossed in one walk at most, about twice the need of a tick at full speed among small ones.
const STEPS_MAX: u32 = 48;
/// Walls along which one walk may slide.
const WALLS_MAX: u32 = 4;
/// So close to a corner, in cells, one stands at it: more than rounding, less than shows.
const CORNER: f32 = 0.02;
/// Polygons around a corner that are looked at.
const FAN_MAX: u32 = 12;
/// Polygons that a straight line may cross: 1,000 m among small ones would take more, and count as blocked.
const RAY_STEPS_MAX: u32 = 512;

impl NavMesh {
    /// Walks from a spot toward a point, metres, never off the mesh, along walls in the way. An invalid spot, or a point that is not
    /// finite, gives no movement and `hindered`.
    #[inline]
    #[must_use]
    pub fn slide(&self, from: MeshPoint, to: Vec2) -> Slid {
        match self.poly(from.poly) {
            Some(poly) if poly.holds(to * CELLS_PER_M) => {
                Slid { spot: MeshPoint { poly: from.poly, at: to }, hindered: false }
            }
            _ => self.slide_on(from, to),
        }
    }

    fn slide_on(&self, from: MeshPoint, to: Vec2) -> Slid {
        let stay = Slid { spot: from, hindered: true };
        if !to.is_finite() || !from.at.is_finite() {
            return stay;
        }
        let (mut reference, mut at, mut goal) = (from.poly, from.at * CELLS_PER_M, to * CELLS_PER_M);
        let mut before = reference;
        let way = goal - at;
        let mut walls = 0;
        for _ in 0..STEPS_MAX {
            let Some(poly) = self.poly(reference) else { return stay };
            let Some(Exit { edge, share }) = poly.exit(at, goal) else {
                let end = if walls == 0 { to } else { goal / CELLS_PER_M };
                return Slid { spot: MeshPoint { poly: reference, at: end }, hindered: walls > 0 };
            };
            at += (goal - at) * share;
            if let Some(next) = self.across(reference, poly.links[edge]) {
                (before, reference) = (reference, next);
                continue;
            }
            if let Some((next, corner)) = self.around_corner([reference, before], edge, at, goal) {
                (reference, at) = (next, corner);
                continue;
            }
            walls += 1;
            let (begin, end) = poly.edge(edge);
            let along = (end - begin).normalize_or_zero();
            goal = at + along * (goal - at).dot(along);
            // In a corner that closes, sliding on would lead back.
            if walls > WALLS_MAX || (goal - at).dot(way) <= 0.0 {
                break;
            }
        }
        Slid { spot: self.point_in(reference, at), hindered: true }
    }

    /// A spot in a polygon at a point, in cells. At a sharp corner a line may leave by one edge while the point is barely outside of
    /// another one: then it is moved in.
    fn point_in(&self, reference: PolyRef, at: Vec2) -> MeshPoint {
        let at = self.poly(reference).map_or(at, |poly| poly.nearest(at));
        MeshPoint { poly: reference, at: at / CELLS_PER_M }
    }

    /// Follows a straight line over the mesh to a point or the first wall.
    #[must_use]
    pub fn ray(&self, from: MeshPoint, to: Vec2) -> Ray {
        let blocked = |poly: PolyRef, at: Vec2| Ray { spot: self.point_in(poly, at), clear: false };
        if !to.is_finite() || !from.at.is_finite() {
            return Ray { spot: from, clear: false };
        }
        let (mut reference, mut at, goal) = (from.poly, from.at * CELLS_PER_M, to * CELLS_PER_M);
        let mut before = reference;
        for _ in 0..RAY_STEPS_MAX {
            let Some(poly) = self.poly(reference) else { return Ray { spot: from, clear: false } };
            let Some(Exit { edge, share }) = poly.exit(at, goal) else {
                return Ray { spot: MeshPoint { poly: reference, at: to }, clear: true };
            };
            at += (goal - at) * share;
            if let Some(next) = self.across(reference, poly.links[edge]) {
                (before, reference) = (reference, next);
            } else if let Some((next, corner)) = self.around_corner([reference, before], edge, at, goal) {
                (reference, at) = (next, corner);
            } else {
                return blocked(reference, at);
            }
        }
        blocked(reference, at)
    }

    /// A point at the end of a wall is in all polygons that meet there, but is assigned to one. Returns the polygon into which the way
    /// leads, and the corner itself. `from` are the polygon with the wall and the one before, from which there may be another way on.
    fn around_corner(
        &self,
        from: [PolyRef; 2],
        wall: usize,
        at: Vec2,
        goal: Vec2,
    ) -> Option<(PolyRef, Vec2)> {
        let poly = self.poly(from[0])?;
        [wall, (wall + 1) % poly.len()].into_iter().find_map(|place| {
            if poly.corner(place).distance_squared(at) > CORNER * CORNER {
                return None;
            }
            let corner = poly.grid_corner(place);
            let turns = from.into_iter().flat_map(|from| [(from, true), (from, false)]);
            turns.into_iter().find_map(|(from, backwards)| self.turn_corner(from, corner, goal, backwards))
        })
    }

    /// Turns from polygon to polygon around a corner: across the edges that begin there, or `backwards` across those that end there.
    fn turn_corner(
        &self,
        from: PolyRef,
        corner: [u16; 2],
        goal: Vec2,
        backwards: bool,
    ) -> Option<(PolyRef, Vec2)> {
        let mut reference = from;
        for n in 0..=FAN_MAX {
            let poly = self.poly(reference)?;
            let place = (0..poly.len()).find(|&place| poly.grid_corner(place) == corner)?;
            let before = (place + poly.len() - 1) % poly.len();
            if n > 0 && points_into(poly, before, place, goal) {
                return Some((reference, poly.corner(place)));
            }
            reference = self.across(reference, poly.links[if backwards { before } else { place }])?;
        }
        None
    }
}

/// True if a point lies between the two edges of a polygon that meet at a corner, or on their lines.
fn points_into(poly: &Poly, before: usize, place: usize, goal: Vec2) -> bool {
    poly.is_beside(before, goal) && poly.is_beside(place, goal)
}
