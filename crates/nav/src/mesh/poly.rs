//! One polygon: corners, links across its edges, floor.

use super::CELL_M;
use glam::Vec2;

/// A convex polygon of three to six corners, counter-clockwise, on the grid. 40 bytes, so that three fit into two cache lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Poly {
    /// Cells east of the region's corner. Unused places repeat the first corner: their edges have no length and hold everything, so
    /// that all polygons are tested alike.
    pub(crate) xs: [u16; Self::CORNERS_MAX],
    /// Cells north of it.
    pub(crate) ys: [u16; Self::CORNERS_MAX],
    /// Link across the edge from each corner to the next.
    pub(crate) links: [EdgeLink; Self::CORNERS_MAX],
    /// Index of a plane of its tile, or [`Poly::GROUND`].
    pub(crate) floor: u16,
    len: u16,
}

/// Target of an edge: none (a wall), a polygon of the same tile, or one of the neighbouring tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EdgeLink(pub(crate) u16);

/// A side of a tile, or its inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Side {
    Inside = 0,
    East = 1,
    North = 2,
    West = 3,
    South = 4,
}

/// A plane over a tile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Plane {
    /// Height at the tile's south-west corner, metres.
    pub(crate) z: f32,
    /// Metres up per metre.
    pub(crate) slope: Vec2,
}

/// Exit of a line from a polygon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exit {
    pub(crate) edge: usize,
    /// Fraction of the way, 0–1.
    pub(crate) share: f32,
}

/// Tolerance per cell of an edge's length, see [`super::TOLERANCE_M`]: one millimetre. The length is taken as the sum of its parts
/// along the axes, up to 1.41 times the true one.
const TOLERANCE: f32 = 1e-3 / CELL_M;

/// Edges that a line meets within this distance, in cells, are met at the same point.
const SLACK: f32 = 4.0 * TOLERANCE;

impl Poly {
    pub(crate) const CORNERS_MAX: usize = 6;
    /// Floor of polygons on the ground.
    pub(crate) const GROUND: u16 = 0;

    /// Takes corners in cells, counter-clockwise; without links.
    pub(crate) fn new(corners: &[[u16; 2]], floor: u16) -> Self {
        debug_assert!((3..=Self::CORNERS_MAX).contains(&corners.len()), "{} corners", corners.len());
        let mut poly = Self {
            xs: [corners[0][0]; Self::CORNERS_MAX],
            ys: [corners[0][1]; Self::CORNERS_MAX],
            links: [EdgeLink::WALL; Self::CORNERS_MAX],
            floor,
            len: corners.len() as u16,
        };
        for (place, [x, y]) in corners.iter().enumerate() {
            (poly.xs[place], poly.ys[place]) = (*x, *y);
        }
        poly
    }

    pub(crate) const fn len(&self) -> usize {
        self.len as usize
    }

    /// A corner as it is on the grid.
    pub(crate) const fn grid_corner(&self, place: usize) -> [u16; 2] {
        [self.xs[place], self.ys[place]]
    }

    /// A corner in cells.
    pub(crate) fn corner(&self, place: usize) -> Vec2 {
        Vec2::new(f32::from(self.xs[place]), f32::from(self.ys[place]))
    }

    /// Both ends of an edge in cells.
    pub(crate) fn edge(&self, edge: usize) -> (Vec2, Vec2) {
        let next = if edge + 1 == Self::CORNERS_MAX { 0 } else { edge + 1 };
        (self.corner(edge), self.corner(next))
    }

    /// True if a point, in cells, lies in the polygon or within the tolerance of it. False if it is not finite.
    #[inline]
    pub(crate) fn holds(&self, at: Vec2) -> bool {
        let mut all = true;
        // Without a branch: the compiler makes vectors of it.
        for edge in 0..Self::CORNERS_MAX {
            let (from, to) = self.edge(edge);
            let way = to - from;
            all &= way.perp_dot(at - from) >= -TOLERANCE * (way.x.abs() + way.y.abs());
        }
        all
    }

    /// True if a point, in cells, lies on the inner side of an edge's line, or within the tolerance of it.
    pub(crate) fn is_beside(&self, edge: usize, at: Vec2) -> bool {
        let (begin, end) = self.edge(edge);
        let way = end - begin;
        way.perp_dot(at - begin) >= -TOLERANCE * (way.x.abs() + way.y.abs())
    }

    /// Exit of the way between two points; `None` if it ends inside. Several edges can lie on one line, so of those met at the same
    /// point the one that contains the point counts, and at a corner the one that leads on.
    pub(crate) fn exit(&self, from: Vec2, to: Vec2) -> Option<Exit> {
        let mut shares = [f32::INFINITY; Self::CORNERS_MAX];
        let mut first = f32::INFINITY;
        for (edge, share) in shares.iter_mut().enumerate() {
            let (begin, end) = self.edge(edge);
            let way = end - begin;
            let after = way.perp_dot(to - begin);
            if after < -TOLERANCE * (way.x.abs() + way.y.abs()) {
                let before = way.perp_dot(from - begin).max(0.0);
                *share = before / (before - after);
                first = first.min(*share);
            }
        }
        if first == f32::INFINITY {
            return None;
        }
        let at = from + (to - from) * first;
        let slack = first + SLACK / (to - from).length().max(SLACK);
        let mut best: Option<(f32, bool, usize)> = None;
        for (edge, _) in shares.iter().enumerate().filter(|(_, share)| **share <= slack) {
            let (begin, end) = self.edge(edge);
            let off = nearest_on_segment(begin, end, at).distance_squared(at);
            // Distances below the tolerance count as equal.
            let key = (off.max(TOLERANCE * TOLERANCE), self.links[edge] == EdgeLink::WALL);
            if best.is_none_or(|(off, is_wall, _)| key < (off, is_wall)) {
                best = Some((key.0, key.1, edge));
            }
        }
        best.map(|(_, _, edge)| Exit { edge, share: first })
    }

    /// The point of the polygon nearest to another one, in cells.
    pub(crate) fn nearest(&self, to: Vec2) -> Vec2 {
        if self.holds(to) {
            return to;
        }
        let mut best = (f32::INFINITY, self.corner(0));
        for edge in 0..self.len() {
            let (from, end) = self.edge(edge);
            let at = nearest_on_segment(from, end, to);
            let square = at.distance_squared(to);
            if square < best.0 {
                best = (square, at);
            }
        }
        best.1
    }
}

/// The point of a segment nearest to another one.
pub(crate) fn nearest_on_segment(from: Vec2, end: Vec2, to: Vec2) -> Vec2 {
    let way = end - from;
    let square = way.length_squared();
    if square > 0.0 { from + way * ((to - from).dot(way) / square).clamp(0.0, 1.0) } else { from }
}

impl EdgeLink {
    pub(crate) const WALL: Self = Self(u16::MAX);
    /// Polygons of a tile at most: thirteen bits of a name.
    pub(crate) const POLYS_MAX: usize = 1 << 13;

    pub(crate) const fn new(side: Side, index: u16) -> Self {
        Self((side as u16) << 13 | index)
    }

    /// Side of the tile that it crosses; `None` for a wall.
    pub(crate) const fn side(self) -> Option<Side> {
        match self.0 >> 13 {
            0 => Some(Side::Inside),
            1 => Some(Side::East),
            2 => Some(Side::North),
            3 => Some(Side::West),
            4 => Some(Side::South),
            _ => None,
        }
    }

    /// Place of the polygon in its tile.
    pub(crate) const fn index(self) -> u32 {
        (self.0 & 0x1FFF) as u32
    }
}

impl Side {
    pub(crate) const BORDERS: [Self; 4] = [Self::East, Self::North, Self::West, Self::South];

    pub(crate) const fn opposite(self) -> Self {
        match self {
            Self::Inside => Self::Inside,
            Self::East => Self::West,
            Self::North => Self::South,
            Self::West => Self::East,
            Self::South => Self::North,
        }
    }

    /// The tile on this side of another one. Links lead only across sides behind which there is a tile.
    #[inline]
    pub(crate) const fn tile_beyond(self, tile: u32, side: u32) -> u32 {
        match self {
            Self::Inside => tile,
            Self::East => tile + 1,
            Self::North => tile + side,
            Self::West => tile.wrapping_sub(1),
            Self::South => tile.wrapping_sub(side),
        }
    }

    /// Neighbouring tile on this side, if the region continues there.
    pub(crate) const fn neighbour(self, tile: u32, side: u32) -> Option<u32> {
        let (x, y) = (tile % side, tile / side);
        let there = match self {
            Self::Inside => true,
            Self::East => x + 1 < side,
            Self::North => y + 1 < side,
            Self::West => x > 0,
            Self::South => y > 0,
        };
        if there { Some(self.tile_beyond(tile, side)) } else { None }
    }
}

impl Plane {
    /// Height at a point given from the tile's corner.
    pub(crate) fn height(self, from_origin: Vec2) -> f32 {
        self.z + self.slope.dot(from_origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polygon_is_small() {
        assert_eq!(size_of::<Poly>(), 40);
    }

    #[test]
    fn a_line_leaves_through_the_edge_it_meets_first() {
        let poly = Poly::new(&[[0, 0], [8, 0], [8, 8], [0, 8]], Poly::GROUND);
        assert!(poly.holds(Vec2::new(8.0, 8.0)) && poly.holds(Vec2::new(4.0, -0.007)));
        assert!(!poly.holds(Vec2::new(4.0, -0.1)) && !poly.holds(Vec2::NAN));
        let exit = poly.exit(Vec2::splat(4.0), Vec2::new(12.0, 6.0)).unwrap();
        assert_eq!((exit.edge, exit.share), (1, 0.5));
        assert!(poly.exit(Vec2::splat(4.0), Vec2::splat(7.0)).is_none());
    }

    #[test]
    fn of_edges_on_one_line_the_crossed_one_counts() {
        let mut poly = Poly::new(&[[0, 0], [8, 0], [8, 3], [8, 8], [0, 8]], Poly::GROUND);
        poly.links[2] = EdgeLink::new(Side::Inside, 3);
        let edge = |from: Vec2, to: Vec2| poly.exit(from, to).unwrap().edge;
        assert_eq!(edge(Vec2::new(4.0, 1.0), Vec2::new(12.0, 1.5)), 1);
        assert_eq!(edge(Vec2::new(4.0, 4.0), Vec2::new(12.0, 4.5)), 2);
        assert_eq!(edge(Vec2::new(8.0, 3.0), Vec2::new(12.0, 3.0)), 2, "along the side of the door");
        assert_eq!(edge(Vec2::new(8.0, 1.0), Vec2::new(8.1, 7.0)), 1);
    }

    #[test]
    fn at_a_corner_the_way_on_wins_over_the_wall() {
        let mut poly = Poly::new(&[[0, 0], [8, 0], [8, 8], [0, 8]], Poly::GROUND);
        poly.links[2] = EdgeLink::new(Side::Inside, 3);
        let exit = poly.exit(Vec2::splat(4.0), Vec2::splat(12.0)).unwrap();
        assert_eq!((exit.edge, exit.share), (2, 0.5));
    }

    #[test]
    fn links_name_side_and_polygon() {
        for side in Side::BORDERS {
            let link = EdgeLink::new(side, 8_190);
            assert_eq!((link.side(), link.index()), (Some(side), 8_190));
        }
        assert_eq!(EdgeLink::WALL.side(), None);
    }
}
