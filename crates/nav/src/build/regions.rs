//! Samples that hang together: each region lies on one floor, and one can walk all over it, and back.
//!
//! A floor is a function of place, so a region never lies above itself.

use super::{
    WalkerSize,
    samples::{NONE, Sample, SampleState, Samples, WIDTH, column_of},
};
use crate::{
    CELL_M,
    mesh::{TILE_CELLS, poly::Side},
};

/// Sides of a cell, counter-clockwise from the south. Going round a cell with it on the left, each side is gone along in the direction
/// of the next one.
pub(super) const SIDES: u32 = 4;

/// Far side of a region's edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Behind {
    /// Nothing to walk on.
    Wall,
    /// Another region of the tile.
    Region { region: u32, passage: Crossing },
    /// The tile beyond.
    Border { side: Side, floor: u32, passage: Crossing },
}

/// Directions in which an edge can be crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Crossing {
    pub(super) out: bool,
    pub(super) back: bool,
}

/// A tile's regions.
#[derive(Debug)]
pub(super) struct Regions {
    /// By sample and side: the sample to which one could go, or from which one could come.
    beside: Vec<[u32; SIDES as usize]>,
    /// By sample.
    of: Vec<u32>,
    /// Floor of each region. Those of isles stay, without samples.
    floors: Vec<u32>,
    /// True for regions whose samples are at the foot of a ledge.
    is_foot: Vec<bool>,
    /// Step up and drop.
    step_m: f32,
    drop_m: f32,
}

impl Regions {
    pub(super) fn new(samples: &Samples, walker: &WalkerSize) -> Self {
        let mut regions = Self {
            beside: vec![[NONE; SIDES as usize]; samples.list.len()],
            of: vec![NONE; samples.list.len()],
            floors: Vec::new(),
            is_foot: Vec::new(),
            step_m: walker.step_m,
            drop_m: walker.drop_m,
        };
        each_cell(|x, y| regions.link_column(samples, column_of(x, y)));
        each_cell(|x, y| {
            for sample in samples.column_range(column_of(x, y)) {
                if samples.list[sample].is_open() && regions.of[sample] == NONE {
                    regions.flood(samples, sample as u32);
                }
            }
        });
        regions.drop_isles(samples, walker);
        regions
    }

    pub(super) fn count(&self) -> u32 {
        self.floors.len() as u32
    }

    pub(super) fn floor(&self, region: u32) -> u32 {
        self.floors[region as usize]
    }

    pub(super) fn floors(&self) -> impl Iterator<Item = u32> {
        self.floors.iter().copied()
    }

    /// The region of a sample, or [`NONE`].
    pub(super) fn of(&self, sample: u32) -> u32 {
        self.of[sample as usize]
    }

    /// The sample of the same region on a side.
    pub(super) fn same(&self, sample: u32, side: u32) -> Option<u32> {
        let beside = self.beside[sample as usize][side as usize];
        (beside != NONE && self.of(beside) == self.of(sample)).then_some(beside)
    }

    /// Far side of a sample's border to another region.
    pub(super) fn behind(&self, samples: &Samples, sample: u32, x: u32, y: u32, side: u32) -> Behind {
        let beside = self.beside[sample as usize][side as usize];
        if beside == NONE {
            return Behind::Wall;
        }
        let (here, there) = (samples.list[sample as usize], samples.list[beside as usize]);
        let passage = Crossing { out: self.can_go(here, there), back: self.can_go(there, here) };
        let last = TILE_CELLS - 1;
        let beyond = match side {
            0 if y == 0 => Some(Side::South),
            1 if x == last => Some(Side::East),
            2 if y == last => Some(Side::North),
            3 if x == 0 => Some(Side::West),
            _ => None,
        };
        match beyond {
            _ if passage == Crossing::NONE => Behind::Wall,
            Some(side) => Behind::Border { side, floor: there.floor, passage },
            None if self.of(beside) == NONE => Behind::Wall,
            None => Behind::Region { region: self.of(beside), passage },
        }
    }

    /// True if a walker can go from a sample to its neighbour.
    fn can_go(&self, from: Sample, to: Sample) -> bool {
        let rise = to.z - from.z;
        // To the foot of something one comes down from it, or along it.
        let is_welcome =
            to.state == SampleState::Free || from.state == SampleState::Foot || rise < -self.step_m;
        (-self.drop_m..=self.step_m).contains(&rise) && is_welcome
    }

    /// Finds the neighbours of a column's open samples.
    fn link_column(&mut self, samples: &Samples, column: u32) {
        for sample in samples.column_range(column) {
            let here = samples.list[sample];
            if !here.is_open() {
                continue;
            }
            let columns = [column - WIDTH, column + 1, column + WIDTH, column - 1];
            for (beside, column) in self.beside[sample].iter_mut().zip(columns) {
                let near = |&there: &usize| {
                    let there = samples.list[there];
                    there.is_open() && (there.z - here.z).abs() <= self.drop_m
                };
                // At most one: open samples of a column are farther apart.
                *beside = samples.column_range(column).find(near).map_or(NONE, |there| there as u32);
            }
        }
    }

    fn flood(&mut self, samples: &Samples, first: u32) {
        let region = self.count();
        let Sample { floor, state, .. } = samples.list[first as usize];
        self.floors.push(floor);
        self.is_foot.push(state == SampleState::Foot);
        self.of[first as usize] = region;
        let mut open = vec![first];
        while let Some(sample) = open.pop() {
            for beside in self.beside[sample as usize] {
                // Samples of the margin have nothing beside them and belong to no region.
                if beside == NONE
                    || self.of(beside) != NONE
                    || self.beside[beside as usize] == [NONE; SIDES as usize]
                {
                    continue;
                }
                let (here, there) = (samples.list[sample as usize], samples.list[beside as usize]);
                if there.floor == floor && there.state == state && (there.z - here.z).abs() <= self.step_m {
                    self.of[beside as usize] = region;
                    open.push(beside);
                }
            }
        }
    }

    /// Removes the samples of unreachable regions: those without a way from a region that continues beyond the tile or is large.
    fn drop_isles(&mut self, samples: &Samples, walker: &WalkerSize) {
        let count = self.floors.len();
        let mut group: Vec<u32> = (0..self.count()).collect();
        let (mut cells, mut is_reached) = (vec![0u32; count], vec![false; count]);
        let mut ways: Vec<(u32, u32)> = Vec::new();
        each_cell(|x, y| {
            for sample in samples.column_range(column_of(x, y)) {
                let region = self.of[sample];
                if region == NONE {
                    continue;
                }
                cells[region as usize] += u32::from(!self.is_foot[region as usize]);
                for side in 0..SIDES {
                    match self.behind(samples, sample as u32, x, y, side) {
                        // Along the foot of something one comes only if one has come down from it.
                        Behind::Border { passage, .. } => {
                            is_reached[region as usize] |=
                                passage.back && !(passage.out && self.is_foot[region as usize]);
                        }
                        Behind::Region { region: other, passage } if other != region => {
                            if passage.out && passage.back {
                                join(&mut group, region, other);
                            } else if passage.out {
                                ways.push((region, other));
                            }
                        }
                        Behind::Region { .. } | Behind::Wall => {}
                    }
                }
            }
        });
        let least = walker.isle_min_m2 / (CELL_M * CELL_M);
        let mut size = vec![0u32; count];
        for region in 0..count {
            size[root(&mut group, region as u32) as usize] += cells[region];
        }
        let mut open: Vec<u32> = Vec::new();
        for (region, &is_reached) in (0u32..).zip(&is_reached) {
            let of = root(&mut group, region);
            if is_reached || size[of as usize] as f32 >= least {
                open.push(of);
            }
        }
        for (from, to) in &mut ways {
            (*from, *to) = (root(&mut group, *from), root(&mut group, *to));
        }
        ways.sort_unstable();
        ways.dedup();
        is_reached.fill(false);
        while let Some(from) = open.pop() {
            if !std::mem::replace(&mut is_reached[from as usize], true) {
                let first = ways.partition_point(|&(other, _)| other < from);
                open.extend(ways[first..].iter().take_while(|&&(other, _)| other == from).map(|&(_, to)| to));
            }
        }
        for sample in &mut self.of {
            if *sample != NONE && !is_reached[root(&mut group, *sample) as usize] {
                *sample = NONE;
            }
        }
    }
}

impl Crossing {
    const NONE: Self = Self { out: false, back: false };
}

/// The first of a group; paths are halved on the way.
fn root(group: &mut [u32], mut member: u32) -> u32 {
    while group[member as usize] != member {
        group[member as usize] = group[group[member as usize] as usize];
        member = group[member as usize];
    }
    member
}

fn join(group: &mut [u32], a: u32, b: u32) {
    let (a, b) = (root(group, a), root(group, b));
    group[a.max(b) as usize] = a.min(b);
}

/// Every cell of the tile.
pub(super) fn each_cell(mut visit: impl FnMut(u32, u32)) {
    for y in 0..TILE_CELLS {
        for x in 0..TILE_CELLS {
            visit(x, y);
        }
    }
}
