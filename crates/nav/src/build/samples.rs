//! Columns of a tile: the floors of each, and their clearance for a walker.
//!
//! A column is sampled along the upright line through its middle. The line's upper exit from a box is a floor, if it is not too steep,
//! and so is the ground. A walker is an upright cylinder; a box obstructs it if the box, widened by the walker's radius, meets the line
//! between the height of a step and the walker's height. Widening keeps edges straight, so corners have a little more clearance than
//! necessary, and outlines have four corners instead of rounded ones.

use super::{
    BuildError, WalkerSize,
    lines::{BoxLines, LineHit, top_plane},
};
use crate::{
    CELL_M,
    ground::GroundHeights,
    mesh::{TILE_CELLS, TILE_M, poly::Plane},
    solids::Solids,
};
use glam::Vec2;

/// Columns sampled beyond the tile on each side, so that its border is known as well as its inside.
const MARGIN: u32 = 6;
/// The same in metres.
const MARGIN_M: f32 = MARGIN as f32 * CELL_M;
/// Columns along a side.
pub(super) const WIDTH: u32 = TILE_CELLS + 2 * MARGIN;
/// No sample.
pub(super) const NONE: u32 = u32::MAX;
/// Hits of lines and boxes in one tile: 32 MB of them.
const HITS_MAX: usize = 1 << 20;
/// Boxes on one line. Among more of them there is no room to stand.
const PILE_MAX: usize = 64;
/// Floors that differ less are one.
pub(super) const SAME_M: f32 = 0.01;
/// Hits between two checks for cancellation.
const HITS_PER_QUESTION: usize = 1 << 16;

/// A place where a walker's feet could be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) z: f32,
    /// 0 for the ground, else a box's index and one.
    pub(super) floor: u32,
    pub(super) state: SampleState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleState {
    /// A walker can be here.
    Free,
    /// At the foot of a ledge, too high to step on and low enough to step down from: a walker that comes down can be here, and
    /// continues.
    Foot,
    /// Something is in the way.
    Blocked,
    /// Too steep to stand on, or too close to such a slope.
    Steep,
}

/// All samples of a tile, column by column from below.
#[derive(Debug, Default)]
pub(super) struct Samples {
    starts: Vec<u32>,
    pub(super) list: Vec<Sample>,
    hits: Vec<LineHit>,
    /// Places in `hits`, column by column.
    order: Vec<u32>,
    near: Vec<u16>,
    seeds: Vec<(u32, u32)>,
}

/// Planes of a tile's polygons.
#[derive(Debug)]
pub(super) struct Floors {
    /// Planes, the first a placeholder for the ground.
    pub(super) planes: Vec<Plane>,
    /// The floors of the planes, ascending.
    of: Vec<u32>,
}

impl Sample {
    /// True if a walker can be here.
    pub(super) const fn is_open(self) -> bool {
        matches!(self.state, SampleState::Free | SampleState::Foot)
    }
}

impl Samples {
    /// Samples a tile.
    pub(super) fn sample_tile(
        &mut self,
        tile: [u32; 2],
        ground: GroundHeights<'_>,
        solids: &Solids,
        walker: &WalkerSize,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), BuildError> {
        let corner = Vec2::new((tile[0] * TILE_M) as f32, (tile[1] * TILE_M) as f32) - MARGIN_M;
        self.hit(corner, solids, walker, go_on)?
            .then_some(())
            .ok_or(BuildError::Crowded { x: tile[0] * TILE_M, y: tile[1] * TILE_M })?;
        let columns = self.by_column();
        self.starts.clear();
        self.list.clear();
        let mut order = std::mem::take(&mut self.order);
        for column in 0..WIDTH * WIDTH {
            self.starts.push(self.list.len() as u32);
            let at = corner + (Vec2::new((column % WIDTH) as f32, (column / WIDTH) as f32) + 0.5) * CELL_M;
            let pile = &mut order[columns[column as usize] as usize..columns[column as usize + 1] as usize];
            self.column(at, pile, ground, walker);
        }
        self.starts.push(self.list.len() as u32);
        order.clear();
        self.order = order;
        self.keep_from_ledges(walker);
        Ok(())
    }

    /// The samples of a column.
    pub(super) fn column_range(&self, column: u32) -> std::ops::Range<usize> {
        self.starts[column as usize] as usize..self.starts[column as usize + 1] as usize
    }

    /// The floors of regions, each once.
    pub(super) fn floors(&self, of: impl Iterator<Item = u32>, origin: Vec2, solids: &Solids) -> Floors {
        let mut of: Vec<u32> = of.collect();
        of.push(0);
        of.sort_unstable();
        of.dedup();
        let plane =
            |&floor: &u32| match floor.checked_sub(1).and_then(|solid| top_plane(solids.shape(solid as u16)))
            {
                Some((z, slope)) => Plane { z: z + slope.dot(origin), slope },
                None => Plane::default(),
            };
        Floors { planes: of.iter().map(plane).collect(), of }
    }

    /// Meets all columns with all boxes. False when there are too many meetings.
    fn hit(
        &mut self,
        corner: Vec2,
        solids: &Solids,
        walker: &WalkerSize,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool, BuildError> {
        let far = corner + WIDTH as f32 * CELL_M;
        let reach = Vec2::splat(walker.radius_m);
        solids.within(corner - reach, far + reach, &mut self.near);
        self.hits.clear();
        let mut asked = 0;
        for &solid in &self.near {
            let shape = solids.shape(solid);
            let lines = BoxLines::new(shape, walker);
            let (low, high) = shape.bounds();
            let cell = |at: f32, corner: f32| (((at - corner) / CELL_M).max(0.0) as u32).min(WIDTH - 1);
            let (low, high) = (low.truncate() - reach, high.truncate() + reach);
            for y in cell(low.y, corner.y)..=cell(high.y, corner.y) {
                for x in cell(low.x, corner.x)..=cell(high.x, corner.x) {
                    let at = corner + (Vec2::new(x as f32, y as f32) + 0.5) * CELL_M;
                    let Some(hit) = lines.intersect(at, y * WIDTH + x, solid) else { continue };
                    if self.hits.len() == HITS_MAX {
                        return Ok(false);
                    }
                    self.hits.push(hit);
                }
            }
            if self.hits.len() >= asked + HITS_PER_QUESTION {
                asked = self.hits.len();
                if !go_on() {
                    return Err(BuildError::Cancelled);
                }
            }
        }
        Ok(true)
    }

    /// Sorts hits by column; the result is each column's first index in `order`.
    fn by_column(&mut self) -> Vec<u32> {
        let mut starts = vec![0u32; (WIDTH * WIDTH) as usize + 1];
        for hit in &self.hits {
            starts[hit.column as usize + 1] += 1;
        }
        for column in 1..starts.len() {
            starts[column] += starts[column - 1];
        }
        self.order.clear();
        self.order.resize(self.hits.len(), 0);
        let mut ends = starts.clone();
        for (place, hit) in (0u32..).zip(&self.hits) {
            let end = &mut ends[hit.column as usize];
            self.order[*end as usize] = place;
            *end += 1;
        }
        starts
    }

    /// Adds the samples of a column, ascending. `pile` are its hits.
    fn column(&mut self, at: Vec2, pile: &mut [u32], ground: GroundHeights<'_>, walker: &WalkerSize) {
        let size = ground.size_m() as f32;
        if !(at.x >= 0.0 && at.y >= 0.0 && at.x < size && at.y < size) || pile.len() > PILE_MAX {
            return;
        }
        let begin = self.list.len();
        let (height, slope) = ground.facet(at);
        let is_steep = slope.length_squared() > walker.slope_max * walker.slope_max;
        let is_beyond = at.min_element() < walker.border_m || at.max_element() > size - walker.border_m;
        let hits = &self.hits;
        // A surface inside a box, or so low under one that feet would enter it, is no floor.
        let is_covered = |z: f32| {
            pile.iter()
                .map(|&place| &hits[place as usize])
                .any(|hit| hit.high > z + SAME_M && hit.low < z + walker.drop_m)
        };
        let is_blocked = |z: f32, above: f32, own: u32| {
            pile.iter().map(|&place| &hits[place as usize]).any(|hit| {
                hit.wide_high > z + above
                    && hit.wide_low < z + walker.height_m
                    && u32::from(hit.solid) + 1 != own
            })
        };
        let state = |z: f32, own: u32| {
            let is_deep = z < walker.water_m - walker.wade_m;
            if is_beyond || is_deep || is_blocked(z, walker.drop_m, own) {
                SampleState::Blocked
            } else if is_blocked(z, walker.step_m, own) {
                SampleState::Foot
            } else {
                SampleState::Free
            }
        };
        let mut samples: smallvec::SmallVec<[Sample; 8]> = smallvec::SmallVec::new();
        if !is_covered(height) {
            let state = if is_steep { SampleState::Steep } else { state(height, 0) };
            samples.push(Sample { z: height, floor: 0, state });
        }
        for &place in pile.iter() {
            let hit = &hits[place as usize];
            if !hit.is_floor || hit.high < height - SAME_M || is_covered(hit.high) {
                continue;
            }
            let floor = u32::from(hit.solid) + 1;
            samples.push(Sample { z: hit.high, floor, state: state(hit.high, floor) });
        }
        samples.sort_by(|a, b| a.z.total_cmp(&b.z).then(a.floor.cmp(&b.floor)));
        for sample in samples {
            let is_double = self.list[begin..].last().is_some_and(|below| sample.z - below.z <= SAME_M);
            if !is_double {
                self.list.push(sample);
            }
        }
    }

    /// Blocks samples closer to a ledge or a steep slope than the walker's radius.
    fn keep_from_ledges(&mut self, walker: &WalkerSize) {
        self.seeds.clear();
        for row in 1..WIDTH - 1 {
            for column in row * WIDTH + 1..row * WIDTH + WIDTH - 1 {
                for place in self.column_range(column) {
                    if self.list[place].state == SampleState::Free {
                        for beside in [column + 1, column + WIDTH, column - 1, column - WIDTH] {
                            if self.is_ledge(self.list[place].z, beside, walker) {
                                self.seeds.push((beside, place as u32));
                            }
                        }
                    }
                }
            }
        }
        // The ledge lies half a cell from the middle of the column that is missing.
        let reach = walker.radius_m / CELL_M + 0.5;
        let span = libm::ceilf(reach) as i32;
        let seeds = std::mem::take(&mut self.seeds);
        for &(column, place) in &seeds {
            let z = self.list[place as usize].z;
            let (x, y) = ((column % WIDTH) as i32, (column / WIDTH) as i32);
            for (dx, dy) in (-span..=span).flat_map(|dy| (-span..=span).map(move |dx| (dx, dy))) {
                let (x, y) = (x + dx, y + dy);
                let inside = 0..WIDTH as i32;
                if ((dx * dx + dy * dy) as f32) < reach * reach && inside.contains(&x) && inside.contains(&y)
                {
                    for near in self.column_range(y as u32 * WIDTH + x as u32) {
                        let sample = &mut self.list[near];
                        if sample.state == SampleState::Free && (sample.z - z).abs() <= walker.drop_m {
                            sample.state = SampleState::Blocked;
                        }
                    }
                }
            }
        }
        self.seeds = seeds;
    }

    /// True if a walker that comes from this height cannot enter this column.
    fn is_ledge(&self, z: f32, column: u32, walker: &WalkerSize) -> bool {
        let range = self.column_range(column);
        // Beyond the region, which no walker approaches, or among so many boxes that the floor is unknown.
        let is_unknown = range.is_empty();
        let step =
            self.list[range].iter().find(|there| (-walker.drop_m..=walker.step_m).contains(&(there.z - z)));
        !is_unknown && step.is_none_or(|there| there.state == SampleState::Steep)
    }
}

impl Floors {
    /// Place of a floor's plane.
    pub(super) fn place(&self, floor: u32) -> u16 {
        self.of.binary_search(&floor).expect("floors are those of all regions") as u16
    }
}

/// Column of a cell of the tile.
pub(super) const fn column_of(x: u32, y: u32) -> u32 {
    (y + MARGIN) * WIDTH + x + MARGIN
}
