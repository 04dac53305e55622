//! Insides of outlines as convex polygons: triangulated, and triangles joined while they stay convex.
//!
//! `spade` triangulates with exact predicates. Simplified lines may touch or cross where a region is narrow; such lines get back a
//! corner until no two cross. Lines from cell to cell never cross, so this ends.

use super::{
    outlines::{Corner, Fixed, RegionOutline, bulge, straighten},
    regions::{Behind, Regions},
    shapes::PolyShape,
};
use crate::mesh::poly::Poly;
use smallvec::SmallVec;
use spade::{ConstrainedDelaunayTriangulation, Point2, Triangulation};

/// Rounds of giving back single corners; after that a region in trouble gets back all of them.
const ROUNDS_GENTLE: u32 = 8;
/// Rounds in all; a region that is in trouble even then is left out.
const ROUNDS_MAX: u32 = 12;

/// Fills all outlines of a tile.
pub(super) fn fill(outlines: Vec<RegionOutline>, regions: &Regions) -> Vec<PolyShape> {
    let mut fixed = Fixed::pinches(&outlines);
    let mut drafts: Vec<Draft> = outlines.into_iter().map(Draft::new).collect();
    for round in 0..ROUNDS_MAX {
        let mut is_done = true;
        for draft in &mut drafts {
            draft.straighten(&fixed);
        }
        for draft in &mut drafts {
            is_done &= draft.triangulate(&mut fixed, round >= ROUNDS_GENTLE);
        }
        if is_done {
            break;
        }
    }
    drafts.iter().flat_map(|draft| draft.shapes(regions)).collect()
}

/// A region on its way from outline to polygons.
struct Draft {
    outline: RegionOutline,
    /// Places of the kept corners, by line.
    kept: Vec<Vec<usize>>,
    /// Triangles of the kept corners, once computed; indexes of `points`.
    triangles: Option<Vec<[u32; 3]>>,
    points: Vec<[u16; 2]>,
    /// Edges between points, in the direction that has the region to the left.
    edges: Vec<KeptCorners>,
}

#[derive(Clone, Copy)]
struct KeptCorners {
    ends: [u32; 2],
    behind: Behind,
    line: usize,
    /// Places in the line.
    places: [usize; 2],
}

impl Draft {
    fn new(outline: RegionOutline) -> Self {
        let kept = Vec::new();
        Self { outline, kept, triangles: None, points: Vec::new(), edges: Vec::new() }
    }

    fn straighten(&mut self, fixed: &Fixed) {
        let kept: Vec<Vec<usize>> = self.outline.lines.iter().map(|line| straighten(line, fixed)).collect();
        if kept == self.kept && self.triangles.is_some() {
            return;
        }
        self.kept = kept;
        self.triangles = None;
        self.points.clear();
        for (line, kept) in self.outline.lines.iter().zip(&self.kept) {
            self.points.extend(kept.iter().map(|&place| line[place].at));
        }
        self.points.sort_unstable();
        self.points.dedup();
        self.edges.clear();
        for (number, (line, kept)) in self.outline.lines.iter().zip(&self.kept).enumerate() {
            for (n, &place) in kept.iter().enumerate() {
                let next = kept[(n + 1) % kept.len()];
                let point =
                    |at: [u16; 2]| self.points.binary_search(&at).expect("all corners are points") as u32;
                let ends = [point(line[place].at), point(line[next].at)];
                let behind = line[place].behind;
                self.edges.push(KeptCorners { ends, behind, line: number, places: [place, next] });
            }
        }
        self.edges.sort_unstable_by_key(|edge| edge.ends);
    }

    /// False when lines cross: then some of their corners are fixed.
    fn triangulate(&mut self, fixed: &mut Fixed, all: bool) -> bool {
        if self.triangles.is_some() {
            return true;
        }
        let mut troubled = self.doubled();
        if troubled.is_empty() {
            match self.try_triangulate() {
                Ok(triangles) => {
                    self.triangles = Some(triangles);
                    return true;
                }
                Err(edges) => troubled = edges,
            }
        }
        let mut is_fixed = false;
        for edge in self.with_crossing(&troubled) {
            let KeptCorners { line, places: [begin, end], .. } = self.edges[edge];
            if let Some((place, _)) = bulge(&self.outline.lines[line], begin, end) {
                is_fixed |= fixed.fix(self.outline.lines[line][place].at);
            }
        }
        if all || !is_fixed {
            for Corner { at, .. } in self.outline.lines.iter().flatten() {
                fixed.fix(*at);
            }
        }
        false
    }

    /// Edges that are one: both sides of a strip that became a line.
    fn doubled(&self) -> Vec<usize> {
        let twin = |edge: &KeptCorners| {
            let [a, b] = edge.ends;
            a == b || self.edges.binary_search_by_key(&[b, a], |other| other.ends).is_ok()
        };
        let same = |n: usize| n > 0 && self.edges[n].ends == self.edges[n - 1].ends;
        (0..self.edges.len()).filter(|&n| twin(&self.edges[n]) || same(n)).collect()
    }

    /// Triangles inside the region, or edges that cannot be.
    fn try_triangulate(&self) -> Result<Vec<[u32; 3]>, Vec<usize>> {
        let points = self.points.iter().map(|&[x, y]| Point2::new(f64::from(x), f64::from(y))).collect();
        let ends = self.edges.iter().map(|edge| edge.ends.map(|end| end as usize)).collect();
        let mut refused: Vec<[u32; 2]> = Vec::new();
        let triangulation =
            ConstrainedDelaunayTriangulation::<Point2<f64>>::try_bulk_load_cdt(points, ends, |edge| {
                refused.push(edge.map(|end| end as u32));
            });
        let everything = || (0..self.edges.len()).collect::<Vec<_>>();
        // Points on a grid are neither too large nor no numbers.
        let Ok(triangulation) = triangulation else { return Err(everything()) };
        let vertex = |of: u32| spade::handles::FixedVertexHandle::from_index(of as usize);
        let is_missing =
            |edge: &KeptCorners| !triangulation.exists_constraint(vertex(edge.ends[0]), vertex(edge.ends[1]));
        let missing: Vec<usize> = (0..self.edges.len()).filter(|&n| is_missing(&self.edges[n])).collect();
        if !missing.is_empty() || !refused.is_empty() {
            return Err(if missing.is_empty() { everything() } else { missing });
        }
        Ok(self.inside(&triangulation))
    }

    /// The triangles to the left of edges, and all that one reaches from them without crossing one.
    fn inside(&self, triangulation: &ConstrainedDelaunayTriangulation<Point2<f64>>) -> Vec<[u32; 3]> {
        let is_edge = |from: usize, to: usize| {
            let ends = [from as u32, to as u32];
            self.edges.binary_search_by_key(&ends, |edge| edge.ends).is_ok()
        };
        let faces = triangulation.num_all_faces();
        let mut is_inside = vec![false; faces];
        let mut open = Vec::new();
        for face in triangulation.inner_faces() {
            let starts =
                face.adjacent_edges().iter().any(|edge| is_edge(edge.from().index(), edge.to().index()));
            if starts && !is_inside[face.index()] {
                is_inside[face.index()] = true;
                open.push(face);
            }
        }
        while let Some(face) = open.pop() {
            for edge in face.adjacent_edges() {
                if let Some(beyond) = edge.rev().face().as_inner()
                    && !edge.is_constraint_edge()
                    && !std::mem::replace(&mut is_inside[beyond.index()], true)
                {
                    open.push(beyond);
                }
            }
        }
        triangulation
            .inner_faces()
            .filter(|face| is_inside[face.index()])
            .map(|face| face.vertices().map(|vertex| vertex.index() as u32))
            .collect()
    }

    /// These edges, and all that cross or touch one of them.
    fn with_crossing(&self, troubled: &[usize]) -> Vec<usize> {
        let ends = |n: usize| self.edges[n].ends.map(|end| self.points[end as usize]);
        let mut all = troubled.to_vec();
        for &edge in troubled {
            all.extend((0..self.edges.len()).filter(|&other| crosses(ends(edge), ends(other))));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Joins triangles across the longest edges first. A failed join never becomes possible: polygons only get more corners.
    fn shapes(&self, regions: &Regions) -> Vec<PolyShape> {
        let Some(triangles) = &self.triangles else { return Vec::new() };
        let mut parts: Vec<Ring> = triangles.iter().map(|corners| Ring::from_slice(corners)).collect();
        let mut owner: Vec<usize> = (0..parts.len()).collect();
        for (_, [from, to], [a, b]) in self.seams(triangles) {
            let (a, b) = (find(&mut owner, a), find(&mut owner, b));
            if a != b
                && let Some(joined) = self.join(&parts[a], &parts[b], from, to)
            {
                let (into, gone) = (a.min(b), a.max(b));
                parts[into] = joined;
                parts[gone].clear();
                owner[gone] = into;
            }
        }
        parts.iter().filter(|ring| !ring.is_empty()).map(|ring| self.shape(ring, regions)).collect()
    }

    /// Edges between two triangles: minus the square of the length, the ends as the first triangle has them, the triangles.
    fn seams(&self, triangles: &[[u32; 3]]) -> Vec<(i64, [u32; 2], [usize; 2])> {
        let mut sides: Vec<([u32; 2], [u32; 2], usize)> = Vec::new();
        for (index, corners) in triangles.iter().enumerate() {
            for n in 0..3 {
                let (from, to) = (corners[n], corners[(n + 1) % 3]);
                sides.push(([from.min(to), from.max(to)], [from, to], index));
            }
        }
        sides.sort_unstable();
        let is_edge = |ends: [u32; 2]| {
            let is = |ends| self.edges.binary_search_by_key(&ends, |edge| edge.ends).is_ok();
            is(ends) || is([ends[1], ends[0]])
        };
        let mut seams: Vec<_> = sides
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0 && !is_edge(pair[0].0))
            .map(|pair| {
                let [a, b] = pair[0].0.map(|end| self.points[end as usize].map(i64::from));
                let square = (a[0] - b[0]).pow(2) + (a[1] - b[1]).pow(2);
                (-square, pair[0].1, [pair[0].2, pair[1].2])
            })
            .collect();
        seams.sort_unstable();
        seams
    }

    /// Two rings as one, if it is convex and has not too many corners.
    fn join(&self, a: &Ring, b: &Ring, from: u32, to: u32) -> Option<Ring> {
        if a.len() + b.len() - 2 > Poly::CORNERS_MAX {
            return None;
        }
        let at = |ring: &Ring, corner: u32| ring.iter().position(|&other| other == corner);
        // `from` → `to` is an edge of the first, and backwards of the other.
        let (begin, other) = (at(a, to)?, at(b, from)?);
        let (a_next, b_next) = ((begin + a.len() - 1) % a.len(), (other + b.len() - 1) % b.len());
        if a[a_next] != from || b[b_next] != to {
            return None;
        }
        // From `to` around the one to `from`, then around the other back to `to`.
        let mut ring: Ring = (0..a.len()).map(|n| a[(begin + n) % a.len()]).collect();
        ring.extend((1..b.len() - 1).map(|n| b[(other + n) % b.len()]));
        let count = ring.len();
        let is_convex =
            (0..count).all(|n| self.orientation(ring[n], ring[(n + 1) % count], ring[(n + 2) % count]) >= 0);
        is_convex.then_some(ring)
    }

    /// Positive to the left, 0 straight on.
    fn orientation(&self, a: u32, b: u32, c: u32) -> i64 {
        let [a, b, c] = [a, b, c].map(|point| self.points[point as usize]);
        cross(a, b, c)
    }

    fn shape(&self, ring: &Ring, regions: &Regions) -> PolyShape {
        let behind = |n: usize| {
            let ends = [ring[n], ring[(n + 1) % ring.len()]];
            let edge = self.edges.binary_search_by_key(&ends, |edge| edge.ends).ok()?;
            Some(self.edges[edge].behind)
        };
        PolyShape {
            region: self.outline.region,
            floor: regions.floor(self.outline.region),
            corners: ring.iter().map(|&point| self.points[point as usize]).collect(),
            behind: (0..ring.len()).map(behind).collect(),
        }
    }
}

/// Corners of a polygon, counter-clockwise.
type Ring = SmallVec<[u32; Poly::CORNERS_MAX]>;

fn find(owner: &mut [usize], mut part: usize) -> usize {
    while owner[part] != part {
        owner[part] = owner[owner[part]];
        part = owner[part];
    }
    part
}

fn cross(a: [u16; 2], b: [u16; 2], c: [u16; 2]) -> i64 {
    let [a, b, c] = [a, b, c].map(|at| at.map(i64::from));
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// True if two segments have a point in common, other than an end of both.
fn crosses([a, b]: [[u16; 2]; 2], [c, d]: [[u16; 2]; 2]) -> bool {
    let is_between = |from: [u16; 2], to: [u16; 2], at: [u16; 2]| {
        at != from
            && at != to
            && cross(from, to, at) == 0
            && (from[0].min(to[0])..=from[0].max(to[0])).contains(&at[0])
            && (from[1].min(to[1])..=from[1].max(to[1])).contains(&at[1])
    };
    let sides = |from, to, p, q| cross(from, to, p).signum() * cross(from, to, q).signum();
    sides(a, b, c, d) < 0 && sides(c, d, a, b) < 0
        || is_between(a, b, c)
        || is_between(a, b, d)
        || is_between(c, d, a)
        || is_between(c, d, b)
}
