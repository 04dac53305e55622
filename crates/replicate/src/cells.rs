//! Spatial index: positions in an order in which neighbours on the ground are neighbours in memory.
//!
//! A region is cut into small square cells. Entities are sorted by the Z-order of their cells, so that a cell, and every square
//! of 2 × 2, 4 × 4 … cells that begins at a multiple of its size, is one range of the list, whose ends stand in one table. A
//! search takes squares as coarse as the crowd is thin: a plaza of thousands and a lone walker in a field cost about the same.
//! All viewers of a world share the list.

use glam::Vec3;

/// An entity's slot in a replica.
pub type SlotIndex = u32;

/// Finest cells along a side, as a power of two: 2 m in a region of 512 m.
const BITS_MAX: u32 = 8;
/// Edge below which finer cells separate no entities, metres.
const CELL_MIN_M: f32 = 2.0;
/// Cells for each entity at most: a table that is much longer than the list costs more than it saves, in each of thousands of
/// worlds.
const CELLS_PER_ENTITY: usize = 4;
/// Up to this many entities lie in one cell: a search reads all of them faster than a table is made in each tick of a small world.
const ONE_CELL_MAX: usize = 64;
/// Squares on each side of the one in which the search begins.
const REACH: i32 = 2;

/// Positions of entities in one region, in Z-order.
#[derive(Clone, Debug)]
pub struct Cells {
    /// Metres along the region's side.
    size_m: f32,
    /// Cells along a side, as a power of two.
    bits: u32,
    /// Metres along the side of a cell.
    cell_m: f32,
    /// First entry of each cell, and the end of the last.
    starts: Vec<u32>,
    entries: Vec<Entry>,
    unsorted: Vec<(u32, Entry)>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    position: Vec3,
    slot: SlotIndex,
}

impl Cells {
    /// Without entities, for a region of `size_m` along a side.
    #[must_use]
    pub fn new(size_m: f32) -> Self {
        Self {
            size_m,
            bits: 0,
            cell_m: size_m,
            starts: vec![0; 2],
            entries: Vec::new(),
            unsorted: Vec::new(),
        }
    }

    /// Chooses the number of cells for this number of entities.
    fn cut_for(&mut self, entities: usize) {
        self.bits = 0;
        let finer_m = |bits: u32| self.size_m / (2 << bits) as f32;
        while entities > ONE_CELL_MAX
            && self.bits < BITS_MAX
            && finer_m(self.bits) >= CELL_MIN_M
            && 1 << (2 * self.bits) < entities * CELLS_PER_ENTITY
        {
            self.bits += 1;
        }
        self.cell_m = self.size_m / (1 << self.bits) as f32;
        self.starts.clear();
        self.starts.resize((1 << (2 * self.bits)) + 1, 0);
    }

    /// Replaces all entities. Positions outside the region count to the cell at its edge.
    pub fn rebuild(&mut self, entities: impl Iterator<Item = (SlotIndex, Vec3)>) {
        self.unsorted.clear();
        self.unsorted.extend(entities.map(|(slot, position)| (0, Entry { position, slot })));
        self.cut_for(self.unsorted.len());
        if self.bits == 0 {
            self.entries.clear();
            self.entries.extend(self.unsorted.iter().map(|(_, entry)| *entry));
            self.starts[1] = self.entries.len() as u32;
            return;
        }
        for at in 0..self.unsorted.len() {
            let position = self.unsorted[at].1.position;
            let code = interleave(self.cell(position.x), self.cell(position.y));
            self.unsorted[at].0 = code;
            self.starts[code as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        self.entries.clear();
        self.entries.resize(self.unsorted.len(), Entry { position: Vec3::ZERO, slot: 0 });
        // From behind, each cell's end moves to its beginning, and entries of a cell keep their order.
        for &(code, entry) in self.unsorted.iter().rev() {
            let end = &mut self.starts[code as usize + 1];
            *end -= 1;
            self.entries[*end as usize] = entry;
        }
        // Each cell's end has become its beginning: one place too far.
        self.starts.copy_within(1.., 0);
        let last = self.starts.len() - 1;
        self.starts[last] = sum;
    }

    /// Adds the `want` nearest to `eye` to `found`, and some more that are farther, with the squares of their distances, in
    /// no order. Fewer only if there are no more.
    pub fn nearest(&self, eye: Vec3, want: usize, found: &mut Vec<(f32, SlotIndex)>) {
        if want == 0 {
            return;
        }
        // As in most places at most times.
        if want >= self.entries.len() {
            found.extend(self.entries.iter().map(|entry| (entry.position.distance_squared(eye), entry.slot)));
            return;
        }
        let start = found.len();
        for level in 0..=self.bits {
            let block = self.block(eye, level);
            let is_all = level == self.bits;
            if !is_all && self.count(&block, level) < want {
                continue;
            }
            let mut n_certain = 0;
            self.each_range(&block, level, |entries| {
                for entry in entries {
                    let square = entry.position.distance_squared(eye);
                    n_certain += usize::from(square <= block.certain_m * block.certain_m);
                    found.push((square, entry.slot));
                }
            });
            // Beyond the distance to the border of the searched squares, an entity outside them may be nearer.
            if is_all || n_certain >= want {
                return;
            }
            found.truncate(start);
        }
    }

    /// The squares of a level around a place.
    fn block(&self, eye: Vec3, level: u32) -> CellBlock {
        let side_m = self.cell_m * (1 << level) as f32;
        let last = (1 << (self.bits - level)) - 1;
        let axis = |at: f32, cell: u32| {
            let center = (cell >> level) as i32;
            let (low, high) = ((center - REACH).max(0), (center + REACH).min(last));
            // No entity is beyond the region's edge.
            let below = if low == 0 { f32::INFINITY } else { at - low as f32 * side_m };
            let above = if high == last { f32::INFINITY } else { (high + 1) as f32 * side_m - at };
            (low as u32, high as u32, below.min(above))
        };
        let (west, east, certain_x) = axis(eye.x, self.cell(eye.x));
        let (south, north, certain_y) = axis(eye.y, self.cell(eye.y));
        CellBlock { west, east, south, north, certain_m: certain_x.min(certain_y).max(0.0) }
    }

    fn count(&self, block: &CellBlock, level: u32) -> usize {
        let mut count = 0;
        self.each_range(block, level, |entries| count += entries.len());
        count
    }

    fn each_range(&self, block: &CellBlock, level: u32, mut visit: impl FnMut(&[Entry])) {
        for y in block.south..=block.north {
            for x in block.west..=block.east {
                let code = interleave(x, y) as usize;
                let (first, behind) = (code << (2 * level), (code + 1) << (2 * level));
                visit(&self.entries[self.starts[first] as usize..self.starts[behind] as usize]);
            }
        }
    }

    /// The finest cell along one axis. NaN counts as 0.
    fn cell(&self, at: f32) -> u32 {
        ((at / self.cell_m) as u32).min((1 << self.bits) - 1)
    }
}

/// Squares of one level, ends included.
struct CellBlock {
    west: u32,
    east: u32,
    south: u32,
    north: u32,
    /// Distance from the searched point to the nearest border with possible entities behind it, metres.
    certain_m: f32,
}

/// Z-order: the bits of `x` and `y` in turn.
const fn interleave(x: u32, y: u32) -> u32 {
    spread(x) | spread(y) << 1
}

/// A zero between any two bits of a number below 65,536.
const fn spread(mut n: u32) -> u32 {
    n = (n | n << 8) & 0x00FF_00FF;
    n = (n | n << 4) & 0x0F0F_0F0F;
    n = (n | n << 2) & 0x3333_3333;
    (n | n << 1) & 0x5555_5555
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cells(size_m: f32, positions: &[Vec3]) -> Cells {
        let mut cells = Cells::new(size_m);
        // Former content must not matter.
        cells.rebuild((0..3).map(|slot| (slot, Vec3::splat(slot as f32))));
        cells.rebuild((0..).zip(positions.iter().copied()));
        cells
    }

    fn sorted(mut found: Vec<(f32, SlotIndex)>) -> Vec<(f32, SlotIndex)> {
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        found
    }

    fn by_hand(positions: &[Vec3], eye: Vec3) -> Vec<(f32, SlotIndex)> {
        sorted(
            positions
                .iter()
                .zip(0..)
                .map(|(position, slot)| (position.distance_squared(eye), slot))
                .collect(),
        )
    }

    #[test]
    fn bits_are_taken_in_turn() {
        assert_eq!(interleave(0b101, 0b011), 0b01_10_11);
        assert_eq!(interleave(0xFFFF, 0), 0x5555_5555);
    }

    #[test]
    fn cells_are_as_fine_as_region_and_crowd_are_worth() {
        let bits = |size_m: f32, n: u32| {
            let mut cells = Cells::new(size_m);
            cells.rebuild((0..n).map(|slot| (slot, Vec3::ONE)));
            cells.bits
        };
        assert_eq!([bits(256.0, 100_000), bits(512.0, 100_000), bits(4_096.0, 100_000)], [7, 8, 8]);
        assert_eq!([bits(512.0, 0), bits(512.0, 64), bits(512.0, 65), bits(512.0, 5_000)], [0, 0, 5, 8]);
        assert_eq!(bits(1.0, 100), 0);
    }

    #[test]
    fn an_empty_place_has_no_neighbours() {
        let mut found = Vec::new();
        cells(256.0, &[]).nearest(Vec3::ZERO, 10, &mut found);
        cells(256.0, &[Vec3::ZERO]).nearest(Vec3::ZERO, 0, &mut found);
        assert_eq!(found, []);
    }

    #[test]
    fn a_search_in_a_crowd_looks_at_few() {
        // 5,000 on a plaza of 128 m in the middle of a region of 512 m.
        let plaza = |n: u32| {
            Vec3::new(192.0 + (n * 37 % 1_280) as f32 / 10.0, 192.0 + (n * 91 % 1_279) as f32 / 10.0, 22.0)
        };
        let positions: Vec<Vec3> = (0..5_000).map(plaza).collect();
        let mut found = Vec::new();
        cells(512.0, &positions).nearest(Vec3::new(256.0, 256.0, 22.0), 225, &mut found);
        assert!((225..1_000).contains(&found.len()), "{}", found.len());
    }

    /// Inside, at the edge, outside, and on borders of cells.
    fn place() -> impl Strategy<Value = Vec3> {
        let axis = || {
            prop_oneof![
                (0.0f32..256.0),
                (-5.0f32..261.0),
                (0u32..=128).prop_map(|n| n as f32 * 2.0),
                (100.0f32..101.0)
            ]
        };
        (axis(), axis(), 0.0f32..50.0).prop_map(|(x, y, z)| Vec3::new(x, y, z))
    }

    proptest! {
        #[test]
        fn the_nearest_are_found(
            positions in prop::collection::vec(place(), 0..400), eye in place(), want in 0usize..100,
        ) {
            let mut found = vec![(-1.0, 7)];
            cells(256.0, &positions).nearest(eye, want, &mut found);
            prop_assert_eq!(found.remove(0), (-1.0, 7));
            let found = sorted(found);
            let expected = by_hand(&positions, eye);
            let n = want.min(expected.len());
            prop_assert!(found.len() >= n);
            // Positions outside count to a cell at the edge, so only their distances are exact.
            let inside = |position: &Vec3| (0.0..256.0).contains(&position.x) && (0.0..256.0).contains(&position.y);
            if positions.iter().all(inside) {
                prop_assert_eq!(&found[..n], &expected[..n]);
            }
        }
    }
}
