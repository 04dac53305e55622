//! Neighbour search: all bodies of one world, updated as they move.
//!
//! Few bodies are searched linearly, [`LANES`] positions at a time: most are far from most others. From [`GRID_MIN`] bodies on there is a grid of cells, folded like
//! a torus onto some buckets, so that its size grows with the number of bodies and not with the region.

use super::{CrowdBody, NEIGHBOURS_MAX, REACH_M, STOREY_M};
use glam::{IVec2, Vec2};
use smallvec::SmallVec;

/// Fewer bodies are looked at one by one; measured, see `benches/nav.rs`.
const GRID_MIN: usize = 48;

/// Width of a cell, metres.
const CELL_M: f32 = 2.5;

const NO_BODY: u32 = u32::MAX;

/// Positions that are compared together.
const LANES: usize = 8;

/// The nearest bodies of one, nearest first.
pub type Nearby = SmallVec<[CrowdBody; NEIGHBOURS_MAX]>;

/// Positions of all bodies.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    bodies: Vec<CrowdBody>,
    /// Positions of the bodies while there are few.
    places: Vec<Places>,
    /// First body of each bucket, row by row. Empty while there are few bodies.
    buckets: Vec<u32>,
    /// Columns and rows of buckets, less one: a mask of a cell's coordinates, as they are a power of two.
    mask: i32,
    /// By body, once there are buckets: the next one in the bucket.
    next: Vec<u32>,
}

/// Positions of [`LANES`] bodies; lanes without a body are NaN and near to none.
#[derive(Clone, Copy, Debug)]
struct Places {
    x: [f32; LANES],
    y: [f32; LANES],
}

impl Places {
    const NONE: Self = Self { x: [f32::NAN; LANES], y: [f32::NAN; LANES] };

    /// True if one of them is within [`REACH_M`], that of lane `own` aside. Without a branch for each, so that it compiles to vector
    /// instructions.
    #[inline]
    fn is_any_near(&self, centre: Vec2, own: u32) -> bool {
        let near: [bool; LANES] = std::array::from_fn(|lane| {
            let (x, y) = (self.x[lane] - centre.x, self.y[lane] - centre.y);
            (x * x + y * y < REACH_M * REACH_M) & (lane as u32 != own)
        });
        near.iter().fold(false, |any, is_near| any | is_near)
    }
}

impl Neighbours {
    /// Without bodies.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Without bodies, and with memory for `n` of them.
    #[must_use]
    pub fn with_capacity(n: usize) -> Self {
        let side = buckets_side(n) as usize;
        Self {
            bodies: Vec::with_capacity(n),
            places: Vec::with_capacity(GRID_MIN.div_ceil(LANES)),
            buckets: Vec::with_capacity(side * side),
            mask: 0,
            next: Vec::with_capacity(n),
        }
    }

    /// Replaces all bodies. Their index is their order; a body with a position that is not finite is near to none.
    pub fn rebuild(&mut self, bodies: impl Iterator<Item = CrowdBody>) {
        self.bodies.clear();
        self.bodies.extend(bodies);
        self.buckets.clear();
        self.next.clear();
        self.places.clear();
        if self.bodies.len() < GRID_MIN {
            for bodies in self.bodies.chunks(LANES) {
                let mut places = Places::NONE;
                for (lane, body) in bodies.iter().enumerate() {
                    (places.x[lane], places.y[lane]) = (body.at.x, body.at.y);
                }
                self.places.push(places);
            }
            return;
        }
        let side = buckets_side(self.bodies.len());
        self.mask = side - 1;
        self.buckets.resize((side as usize).pow(2), NO_BODY);
        self.next.resize(self.bodies.len(), NO_BODY);
        // From behind, so that a bucket lists its bodies in order.
        for index in (0..self.bodies.len() as u32).rev() {
            self.link(index);
        }
    }

    /// All bodies, by index.
    #[must_use]
    pub fn bodies(&self) -> &[CrowdBody] {
        &self.bodies
    }

    /// Updates a body that moved or turned.
    ///
    /// # Panics
    /// If there is no such body.
    pub fn relocate(&mut self, index: u32, body: CrowdBody) {
        let old = self.bodies[index as usize];
        if let Some(places) = self.places.get_mut(index as usize / LANES) {
            let lane = index as usize % LANES;
            (places.x[lane], places.y[lane]) = (body.at.x, body.at.y);
        }
        if self.buckets.is_empty() || cell_of(old.at) == cell_of(body.at) {
            self.bodies[index as usize] = body;
            return;
        }
        self.unlink(index);
        self.bodies[index as usize] = body;
        self.link(index);
    }

    /// Writes the bodies nearest to one, without itself: within [`REACH_M`], on the same storey, nearest first. Ties go to the lower
    /// index.
    ///
    /// # Panics
    /// If there is no such body.
    pub fn around(&self, index: u32, found: &mut Nearby) {
        let centre = self.bodies[index as usize];
        let mut ranked = Ranked::default();
        if self.buckets.is_empty() {
            for ((first, bodies), places) in
                (0u32..).step_by(LANES).zip(self.bodies.chunks(LANES)).zip(&self.places)
            {
                if !places.is_any_near(centre.at, index.wrapping_sub(first)) {
                    continue;
                }
                for (other, body) in (first..).zip(bodies) {
                    if other != index {
                        ranked.offer(&centre, other, body);
                    }
                }
            }
        } else {
            // In a crowd the nearest eight are close, and farther bodies need not be visited.
            for reach in [REACH_M / 2.0, REACH_M] {
                ranked.len = 0;
                self.each_near(centre.at, reach, |other, body| {
                    if other != index {
                        ranked.offer(&centre, other, body);
                    }
                });
                if ranked.len == NEIGHBOURS_MAX && ranked.list[NEIGHBOURS_MAX - 1].0 <= reach * reach {
                    break;
                }
            }
        }
        found.clear();
        found.extend(ranked.list[..ranked.len].iter().map(|&(_, other)| self.bodies[other as usize]));
    }

    /// Bodies in the cells around a point.
    fn each_near(&self, at: Vec2, reach: f32, mut visit: impl FnMut(u32, &CrowdBody)) {
        let (low, high) = (cell_of(at - reach), cell_of(at + reach));
        // A torus narrower than the query would be looked at twice.
        let wide = |low: i32, high: i32| low..=high.min(low + self.mask);
        for y in wide(low.y, high.y) {
            for x in wide(low.x, high.x) {
                let mut other = self.buckets[self.bucket(IVec2::new(x, y))];
                while other != NO_BODY {
                    visit(other, &self.bodies[other as usize]);
                    other = self.next[other as usize];
                }
            }
        }
    }

    fn bucket(&self, cell: IVec2) -> usize {
        ((cell.y & self.mask) * (self.mask + 1) + (cell.x & self.mask)) as usize
    }

    fn link(&mut self, index: u32) {
        let bucket = self.bucket(cell_of(self.bodies[index as usize].at));
        self.next[index as usize] = std::mem::replace(&mut self.buckets[bucket], index);
    }

    fn unlink(&mut self, index: u32) {
        let bucket = self.bucket(cell_of(self.bodies[index as usize].at));
        let after = self.next[index as usize];
        if self.buckets[bucket] == index {
            self.buckets[bucket] = after;
            return;
        }
        let mut before = self.buckets[bucket];
        while before != NO_BODY {
            let next = &mut self.next[before as usize];
            if *next == index {
                *next = after;
                return;
            }
            before = *next;
        }
    }
}

/// Columns and rows of buckets for `n` bodies.
const fn buckets_side(n: usize) -> i32 {
    let mut side = 8;
    while (side as usize).pow(2) < n {
        side *= 2;
    }
    side
}

/// Casts turn NaN into 0.
fn cell_of(at: Vec2) -> IVec2 {
    (at / CELL_M).floor().as_ivec2()
}

/// The nearest so far: square of the distance and index.
#[derive(Default)]
struct Ranked {
    list: [(f32, u32); NEIGHBOURS_MAX],
    len: usize,
}

impl Ranked {
    #[inline]
    fn offer(&mut self, centre: &CrowdBody, index: u32, body: &CrowdBody) {
        let square = centre.at.distance_squared(body.at);
        let is_near = square < REACH_M * REACH_M && (centre.z - body.z).abs() < STOREY_M;
        if !is_near {
            return;
        }
        let key = (square, index);
        let mut place = self.len;
        if self.len == NEIGHBOURS_MAX {
            if key >= self.list[NEIGHBOURS_MAX - 1] {
                return;
            }
            place -= 1;
        } else {
            self.len += 1;
        }
        while place > 0 && self.list[place - 1] > key {
            self.list[place] = self.list[place - 1];
            place -= 1;
        }
        self.list[place] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn body(x: f32, y: f32, z: f32) -> CrowdBody {
        CrowdBody { at: Vec2::new(x, y), z, radius: 0.3, ..CrowdBody::default() }
    }

    fn by_hand(bodies: &[CrowdBody], index: usize) -> Vec<CrowdBody> {
        let centre = bodies[index];
        let mut list: Vec<(f32, usize)> = (0..bodies.len())
            .filter(|&other| other != index && (bodies[other].z - centre.z).abs() < STOREY_M)
            .map(|other| (bodies[other].at.distance_squared(centre.at), other))
            .filter(|&(square, _)| square < REACH_M * REACH_M)
            .collect();
        list.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        list.iter().take(NEIGHBOURS_MAX).map(|&(_, other)| bodies[other]).collect()
    }

    proptest! {
        #[test]
        fn the_nearest_are_found_however_many_there_are_and_wherever_they_went(
            places in prop::collection::vec((-20.0f32..90.0, -20.0f32..90.0, 0u8..2), 1..300),
            moves in prop::collection::vec((0usize..300, -20.0f32..90.0, -20.0f32..90.0), 0..60),
            index in 0usize..300,
        ) {
            let mut bodies: Vec<CrowdBody> = places.iter().map(|&(x, y, z)| body(x, y, f32::from(z) * 3.0)).collect();
            let mut neighbours = Neighbours::new();
            neighbours.rebuild(bodies.iter().copied());
            for (who, x, y) in moves {
                let who = who % bodies.len();
                bodies[who] = body(x, y, bodies[who].z);
                neighbours.relocate(who as u32, bodies[who]);
            }
            let index = index % bodies.len();
            let mut found = Nearby::new();
            neighbours.around(index as u32, &mut found);
            prop_assert_eq!(found.to_vec(), by_hand(&bodies, index));
        }
    }

    #[test]
    fn a_walker_without_a_place_has_no_neighbours() {
        let mut neighbours = Neighbours::new();
        for count in [2, 100] {
            let lost = CrowdBody { at: Vec2::NAN, ..body(0.0, 0.0, 0.0) };
            neighbours
                .rebuild((0..count).map(|n| if n == 1 { lost } else { body(n as f32 * 9.0, 0.0, 0.0) }));
            let mut found = Nearby::new();
            neighbours.around(0, &mut found);
            assert!(found.is_empty(), "{found:?}");
            neighbours.around(1, &mut found);
            assert!(found.is_empty(), "{found:?}");
        }
    }
}
