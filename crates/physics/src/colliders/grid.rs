//! Square cells that list the colliders above them, and the walk of a segment through them.

use crate::bounds::Aabb;
use glam::Vec2;
use std::ops::RangeInclusive;

/// Cells of one width over a region. Places beyond its border belong to the cells at the border.
#[derive(Debug)]
pub(crate) struct CellGrid {
    cell_m: f32,
    /// Cells along a side.
    side: u32,
    cells: Vec<GridCell>,
}

#[derive(Clone, Debug, Default)]
struct GridCell {
    /// The store's version at the last change here.
    version: u64,
    slots: Vec<u32>,
}

/// Rows and columns of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellRange {
    west: u32,
    east: u32,
    south: u32,
    north: u32,
}

impl CellRange {
    fn rows(&self) -> RangeInclusive<u32> {
        self.south..=self.north
    }

    fn columns(&self) -> RangeInclusive<u32> {
        self.west..=self.east
    }

    /// True for the first cell that both ranges have, in the order of a walk: a collider in several cells is visited there.
    const fn is_first_of_both(&self, other: &Self, x: u32, y: u32) -> bool {
        let west = if self.west > other.west { self.west } else { other.west };
        let south = if self.south > other.south { self.south } else { other.south };
        x == west && y == south
    }
}

impl CellGrid {
    pub(crate) fn new(size_m: u32, cell_m: f32) -> Self {
        let side = libm::ceilf(size_m as f32 / cell_m).max(1.0) as u32;
        Self { cell_m, side, cells: vec![GridCell::default(); (side * side) as usize] }
    }

    /// Cells under a box.
    pub(crate) fn range(&self, area: &Aabb) -> CellRange {
        CellRange {
            west: self.cell(area.low.x),
            east: self.cell(area.high.x),
            south: self.cell(area.low.y),
            north: self.cell(area.high.y),
        }
    }

    pub(crate) fn insert(&mut self, slot: u32, range: &CellRange, version: u64) {
        self.each_cell_mut(range, |cell| {
            cell.version = version;
            cell.slots.push(slot);
        });
    }

    pub(crate) fn remove(&mut self, slot: u32, range: &CellRange, version: u64) {
        self.each_cell_mut(range, |cell| {
            cell.version = version;
            let place = cell.slots.iter().position(|&other| other == slot);
            cell.slots.swap_remove(place.expect("a collider is listed in each cell of its range"));
        });
    }

    /// Marks cells as changed.
    pub(crate) fn touch(&mut self, range: &CellRange, version: u64) {
        self.each_cell_mut(range, |cell| cell.version = version);
    }

    /// Visits each collider under a box once. `bounds` returns the box of a slot.
    pub(crate) fn each_in(
        &self,
        area: &Aabb,
        bounds: impl Fn(u32) -> Aabb,
        mut visit: impl FnMut(u32, Aabb),
    ) {
        let range = self.range(area);
        for y in range.rows() {
            for x in range.columns() {
                for &slot in &self.cells[(y * self.side + x) as usize].slots {
                    let around = bounds(slot);
                    if around.overlaps(area) && range.is_first_of_both(&self.range(&around), x, y) {
                        visit(slot, around);
                    }
                }
            }
        }
    }

    /// True if something changed under a box after a version of the store.
    pub(crate) fn has_changed(&self, area: &Aabb, version: u64) -> bool {
        let range = self.range(area);
        range.rows().any(|y| {
            let row = (y * self.side) as usize;
            let cells = &self.cells[row + range.west as usize..=row + range.east as usize];
            cells.iter().any(|cell| cell.version > version)
        })
    }

    /// Visits the colliders of the cells under a segment from its begin, each once for each of its cells. A visit returns the share of the
    /// segment that is still of interest; the walk ends behind it.
    pub(crate) fn walk(
        &self,
        from: Vec2,
        way: Vec2,
        mut most: f32,
        mut visit: impl FnMut(u32, f32) -> f32,
    ) -> f32 {
        let mut walk = CellWalk::new(from / self.cell_m, way / self.cell_m);
        let mut last = None;
        loop {
            let cell = (self.clamp(walk.x), self.clamp(walk.y));
            // Beyond the border all cells of a row are one.
            if last.replace(cell) != Some(cell) {
                for &slot in &self.cells[(cell.1 * self.side + cell.0) as usize].slots {
                    most = most.min(visit(slot, most));
                }
            }
            if walk.leaves_at() > most || !walk.advance() {
                return most;
            }
        }
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        let lists: usize = self.cells.iter().map(|cell| cell.slots.capacity() * size_of::<u32>()).sum();
        self.cells.capacity() * size_of::<GridCell>() + lists
    }

    fn each_cell_mut(&mut self, range: &CellRange, mut visit: impl FnMut(&mut GridCell)) {
        for y in range.rows() {
            for x in range.columns() {
                visit(&mut self.cells[(y * self.side + x) as usize]);
            }
        }
    }

    /// Column or row of a coordinate.
    fn cell(&self, at: f32) -> u32 {
        ((at / self.cell_m) as u32).min(self.side - 1)
    }

    fn clamp(&self, cell: i32) -> u32 {
        cell.clamp(0, (self.side - 1).cast_signed()).cast_unsigned()
    }
}

/// A walk from cell to cell of width 1 along a segment.
struct CellWalk {
    x: i32,
    y: i32,
    step: (i32, i32),
    /// Share of the segment at the next border, by axis.
    next: Vec2,
    /// Share of the segment from border to border.
    each: Vec2,
    /// Borders left to cross: they end the walk, whatever rounding does.
    left: u32,
}

impl CellWalk {
    fn new(from: Vec2, way: Vec2) -> Self {
        let cell = |at: f32| libm::floorf(at) as i32;
        let to = from + way;
        let axis = |from: f32, way: f32| {
            let cell = libm::floorf(from);
            if way > 0.0 {
                (1, (cell + 1.0 - from) / way, 1.0 / way)
            } else if way < 0.0 {
                (-1, (cell - from) / way, -1.0 / way)
            } else {
                (0, f32::INFINITY, f32::INFINITY)
            }
        };
        let (step_x, next_x, each_x) = axis(from.x, way.x);
        let (step_y, next_y, each_y) = axis(from.y, way.y);
        let (x, y) = (cell(from.x), cell(from.y));
        Self {
            x,
            y,
            step: (step_x, step_y),
            next: Vec2::new(next_x, next_y),
            each: Vec2::new(each_x, each_y),
            left: cell(to.x).abs_diff(x) + cell(to.y).abs_diff(y),
        }
    }

    fn leaves_at(&self) -> f32 {
        self.next.min_element()
    }

    fn advance(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        if self.next.x <= self.next.y {
            self.x += self.step.0;
            self.next.x += self.each.x;
        } else {
            self.y += self.step.1;
            self.next.y += self.each.y;
        }
        true
    }
}
