//! Search: from spot to spot over the mesh, as the corners around which to walk.
//!
//! A* over polygons: a polygon is entered where the straight line from the last place to the goal crosses its edge, or at the end of
//! the edge that is nearer to that. Then the corridor of polygons is pulled tight (`funnel`). The scratch memory is kept from search to search;
//! work is counted in polygons that were looked at, so that the same search ends at the same place on every machine.

mod funnel;

use crate::mesh::{CELLS_PER_M, MeshPoint, NavMesh, PolyRef, poly::nearest_on_segment};
use glam::Vec2;
use std::{cmp::Reverse, collections::BinaryHeap};

/// Most polygons that a search can be allowed to look at.
pub const NODES_MAX: u32 = 16_384;

/// Most corners of a path; farther ones are found by another search, from there.
pub const CORNERS_MAX: usize = 16;

/// Polygons that a search without a way to the goal visits at most, instead of the whole island.
const NODES_ELSEWHERE_MAX: u32 = 256;

/// Weight of the remaining distance. Above 1 fewer polygons are visited, and a path may exceed the shortest by the same factor; in
/// practice by less than 1 %.
const GREED: f32 = 1.1;

/// The corners around which to walk, from the first after the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    corners: [Vec2; CORNERS_MAX],
    len: u8,
    /// End of the complete way: the goal, or the nearest place to it that was found.
    pub end: MeshPoint,
    /// True if the last corner is that end; else the way continues from there.
    pub complete: bool,
}

impl Path {
    /// From nowhere to nowhere.
    pub const EMPTY: Self =
        Self { corners: [Vec2::ZERO; CORNERS_MAX], len: 0, end: MeshPoint::NOWHERE, complete: true };

    /// Metres from the region's south-west corner, in the order of walking.
    #[must_use]
    pub fn corners(&self) -> &[Vec2] {
        &self.corners[..usize::from(self.len)]
    }

    /// False when there is no room.
    fn push(&mut self, corner: Vec2) -> bool {
        let Some(place) = self.corners.get_mut(usize::from(self.len)) else { return false };
        *place = corner;
        self.len += 1;
        true
    }
}

/// Result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEnd {
    /// At the goal.
    Goal,
    /// There is no way to the goal; the path leads to the nearest place that can be reached, as far as the search went.
    Nearest,
    /// The budget was spent before; the path leads to the nearest place found so far.
    Budget,
    /// Start or goal is no spot of this mesh. There is no path.
    Nowhere,
}

/// Result and cost of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathSearch {
    /// Result.
    pub end: PathEnd,
    /// Polygons that it looked at: the work.
    pub nodes: u32,
}

/// The scratch memory of searches. One for each thread will do; it keeps nothing that a later search depends on.
#[derive(Clone, Debug, Default)]
pub struct PathFinder {
    nodes: Vec<SearchNode>,
    /// Nodes by polygon: open addressing, a power of two of places.
    table: Vec<u32>,
    /// Cost so far and to go, and node; an older entry of a node that was reached by a better way is skipped.
    open: BinaryHeap<Reverse<(u32, u32)>>,
    /// Edges of the corridor from its end: right and left end, in cells.
    portals: Vec<[Vec2; 2]>,
}

/// A polygon that was reached.
#[derive(Clone, Copy, Debug)]
struct SearchNode {
    poly: PolyRef,
    parent: u32,
    /// Edge of the parent through which it was reached.
    edge: u8,
    closed: bool,
    /// Point of entry, in cells.
    at: Vec2,
    /// Way from the start, in cells.
    cost: f32,
    /// Straight line to the goal.
    left: f32,
}

const NO_NODE: u32 = u32::MAX;

/// Paths keep so far from the ends of doors, in cells, or a quarter of the door if that is less: 6 cm. On the very corner one would be in all
/// polygons that meet there, and not all of them lead on.
const AWAY: f32 = 0.5;

impl PathFinder {
    /// Without memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Searches a way and writes its corners. Looks at no more than `nodes_max` polygons.
    pub fn find(
        &mut self,
        mesh: &NavMesh,
        from: MeshPoint,
        to: MeshPoint,
        nodes_max: u32,
        path: &mut Path,
    ) -> PathSearch {
        *path = Path::EMPTY;
        let is_there = |spot: MeshPoint| mesh.poly(spot.poly).is_some() && spot.at.is_finite();
        if !is_there(from) || !is_there(to) {
            return PathSearch { end: PathEnd::Nowhere, nodes: 0 };
        }
        if mesh.ray_within(from, to) {
            path.end = to;
            path.push(to.at);
            return PathSearch { end: PathEnd::Goal, nodes: 1 };
        }
        let (last, end) = self.search(mesh, from, to, nodes_max.clamp(1, NODES_MAX));
        path.end = match end {
            PathEnd::Goal => to,
            _ => self.nearest_end(mesh, last, to.at),
        };
        self.pull(mesh, from.at, last, path);
        PathSearch { end, nodes: self.nodes.len() as u32 }
    }

    /// The node at the goal or nearest to it.
    fn search(&mut self, mesh: &NavMesh, from: MeshPoint, to: MeshPoint, nodes_max: u32) -> (u32, PathEnd) {
        let is_elsewhere = !mesh.are_connected(from, to) && !mesh.islands.has_one_way();
        let limit = if is_elsewhere { nodes_max.min(NODES_ELSEWHERE_MAX) } else { nodes_max };
        self.reset(limit);
        let goal = to.at * CELLS_PER_M;
        let start = from.at * CELLS_PER_M;
        let first = SearchNode {
            poly: from.poly,
            parent: NO_NODE,
            edge: 0,
            closed: false,
            at: start,
            cost: 0.0,
            left: start.distance(goal),
        };
        if let Err(free) = self.lookup(from.poly) {
            self.reach(first, free);
        }
        let mut best = 0;
        let mut is_cut = false;
        while let Some(Reverse((_, place))) = self.open.pop() {
            let node = self.nodes[place as usize];
            if std::mem::replace(&mut self.nodes[place as usize].closed, true) {
                continue;
            }
            if node.poly == to.poly {
                return (place, PathEnd::Goal);
            }
            let nearest = self.nodes[best as usize];
            if (node.left, node.cost) < (nearest.left, nearest.cost) {
                best = place;
            }
            is_cut |= !self.expand(mesh, place, goal, limit);
        }
        (best, if is_cut && !is_elsewhere { PathEnd::Budget } else { PathEnd::Nearest })
    }

    /// Looks at the neighbours of a node. False when one of them is beyond the budget.
    fn expand(&mut self, mesh: &NavMesh, place: u32, goal: Vec2, limit: u32) -> bool {
        let node = self.nodes[place as usize];
        let Some(poly) = mesh.poly(node.poly) else { return true };
        let mut is_all = true;
        for edge in 0..poly.len() {
            let Some(next) = mesh.across(node.poly, poly.links[edge]) else { continue };
            let (begin, end) = poly.edge(edge);
            let at = crossing(node.at, goal, begin, end);
            let reached = SearchNode {
                poly: next,
                parent: place,
                edge: edge as u8,
                closed: false,
                at,
                cost: node.cost + node.at.distance(at),
                left: at.distance(goal),
            };
            match self.lookup(next) {
                Ok(known) => {
                    let other = &self.nodes[known as usize];
                    if !other.closed && reached.cost + reached.left * GREED < other.cost + other.left * GREED
                    {
                        self.nodes[known as usize] = reached;
                        self.open.push(Reverse((reached.rank(), known)));
                    }
                }
                Err(_) if self.nodes.len() as u32 >= limit => is_all = false,
                Err(free) => self.reach(reached, free),
            }
        }
        is_all
    }

    fn reset(&mut self, limit: u32) {
        self.nodes.clear();
        self.open.clear();
        // At once, so that no later search within the same budget asks for memory.
        self.nodes.reserve(limit as usize);
        self.open.reserve(2 * limit as usize);
        self.portals.reserve(limit as usize);
        let places = (limit as usize * 2).next_power_of_two();
        self.table.clear();
        self.table.resize(places, NO_NODE);
    }

    /// Adds a node at a free place of the table.
    fn reach(&mut self, node: SearchNode, free: usize) {
        let place = self.nodes.len() as u32;
        self.table[free] = place;
        self.open.push(Reverse((node.rank(), place)));
        self.nodes.push(node);
    }

    /// The node of a polygon, or the place in the table where it would be.
    fn lookup(&self, poly: PolyRef) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        let mut place = (poly.0.wrapping_mul(0x9E37_79B1) >> 7) as usize & mask;
        loop {
            match self.table[place] {
                NO_NODE => return Err(place),
                node if self.nodes[node as usize].poly == poly => return Ok(node),
                _ => place = (place + 1) & mask,
            }
        }
    }

    /// The point of the last polygon that is nearest to the goal.
    fn nearest_end(&self, mesh: &NavMesh, last: u32, goal: Vec2) -> MeshPoint {
        let poly = self.nodes[last as usize].poly;
        let at = mesh.poly(poly).map_or(Vec2::ZERO, |poly| poly.nearest(goal * CELLS_PER_M) / CELLS_PER_M);
        MeshPoint { poly, at }
    }

    /// Writes the corners of the way to a node.
    fn pull(&mut self, mesh: &NavMesh, from: Vec2, last: u32, path: &mut Path) {
        self.portals.clear();
        let mut place = last;
        while self.nodes[place as usize].parent != NO_NODE {
            let node = self.nodes[place as usize];
            place = node.parent;
            let parent = mesh.poly(self.nodes[place as usize].poly);
            let (right, left) = parent.map_or((node.at, node.at), |poly| poly.edge(usize::from(node.edge)));
            self.portals.push(narrowed(right, left));
        }
        self.portals.reverse();
        let mut before = from * CELLS_PER_M;
        path.complete = funnel::pull_string(before, path.end.at * CELLS_PER_M, &self.portals, |corner| {
            // A corner shared by several doors appears more than once; the end counts even at the start.
            let is_new = corner != before || path.len == 0;
            before = corner;
            !is_new || path.push(corner / CELLS_PER_M)
        });
    }
}

impl SearchNode {
    /// Orders as the estimate does: bits of floats that are not negative compare as the floats.
    const fn rank(&self) -> u32 {
        (self.cost + self.left * GREED).to_bits()
    }
}

/// Intersection of an edge with the way from a point to the goal.
fn crossing(from: Vec2, goal: Vec2, begin: Vec2, end: Vec2) -> Vec2 {
    let (way, edge) = (goal - from, end - begin);
    let across = way.perp_dot(edge);
    if across.abs() < 1e-6 {
        return nearest_on_segment(begin, end, from);
    }
    let ahead = (begin - from).perp_dot(edge) / across;
    if ahead < 0.0 {
        return nearest_on_segment(begin, end, from);
    }
    let share = ((begin - from).perp_dot(way) / across).clamp(0.0, 1.0);
    begin + edge * share
}

/// A door without its ends, right and left.
fn narrowed(right: Vec2, left: Vec2) -> [Vec2; 2] {
    let width = right.distance(left);
    let off = (left - right) * (AWAY.min(width / 4.0) / width.max(f32::MIN_POSITIVE));
    [right + off, left - off]
}

impl NavMesh {
    /// True if a straight line leads from spot to spot, to the very polygon.
    fn ray_within(&self, from: MeshPoint, to: MeshPoint) -> bool {
        let ray = self.ray(from, to.at);
        ray.clear && ray.spot.poly == to.poly
    }
}
