//! Boxes of a region, with a spatial index.
//!
//! A grid of square cells lists the boxes whose outline reaches into each cell, with the height of the highest, so that segments above
//! it skip the cell. Boxes wider than [`FINE_MAX_M`] are in a second, coarser grid: a floor under the whole region is listed a hundred
//! times and not a hundred thousand.

use glam::{Mat3, Quat, Vec2, Vec3};
use thiserror::Error;

/// A box that never moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solid {
    /// Centre, metres from the region's south-west corner.
    pub centre: Vec3,
    /// Unit quaternion.
    pub rotation: Quat,
    /// Full width along each of its own axes, metres.
    pub size: Vec3,
}

/// All boxes of a region. Immutable; share it with an `Arc`.
#[derive(Clone, Debug, PartialEq)]
pub struct Solids {
    shapes: Vec<Shape>,
    fine: Grid,
    coarse: Grid,
}

/// Boxes that are no solids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SolidsError {
    /// More than the indexes of the grid can name.
    #[error("{0} boxes are more than {max}", max = Solids::COUNT_MAX)]
    TooMany(usize),
    /// A place, a turn or a size that is none.
    #[error("box {0} stands nowhere: its place, turn or size is no number of metres within ±{max}", max = Solids::COORDINATE_MAX_M)]
    NotANumber(usize),
}

/// Width of a cell of the fine grid, metres: a few boxes of usual size each.
const FINE_M: f32 = 4.0;
/// Wider boxes are in the coarse grid.
const FINE_MAX_M: f32 = 16.0;
/// Width of a cell of the coarse grid, metres.
const COARSE_M: f32 = 64.0;

/// A box ready for tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    /// Its axes in the world, unit vectors.
    pub(crate) axes: [Vec3; 3],
    /// Half its width along each.
    pub(crate) half: Vec3,
    pub(crate) centre: Vec3,
}

/// A box in a cell, with the sphere around it: most boxes of a cell are passed at a distance, and need not be looked up.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SolidEntry {
    centre: Vec3,
    radius_square: f32,
    index: u16,
}

impl Solids {
    /// The most boxes of a region.
    pub const COUNT_MAX: usize = 16_384;
    /// Boxes lie within these coordinates and are no larger, metres.
    pub const COORDINATE_MAX_M: f32 = 8_192.0;

    /// Takes the boxes of a region of this width. Their order is their index.
    ///
    /// # Errors
    /// [`SolidsError`] with the first box that cannot be.
    pub fn new(size_m: u32, solids: &[Solid]) -> Result<Self, SolidsError> {
        if solids.len() > Self::COUNT_MAX {
            return Err(SolidsError::TooMany(solids.len()));
        }
        let is_usual = |v: Vec3| v.is_finite() && v.abs().max_element() <= Self::COORDINATE_MAX_M;
        for (index, solid) in solids.iter().enumerate() {
            if !is_usual(solid.centre) || !is_usual(solid.size) || !solid.rotation.is_normalized() {
                return Err(SolidsError::NotANumber(index));
            }
        }
        let shapes: Vec<Shape> = solids.iter().map(Shape::new).collect();
        let is_fine = |shape: &Shape| {
            let (low, high) = shape.bounds();
            (high - low).truncate().max_element() <= FINE_MAX_M
        };
        let fine = Grid::new(size_m, FINE_M, &shapes, is_fine);
        let coarse = Grid::new(size_m, COARSE_M, &shapes, |shape| !is_fine(shape));
        Ok(Self { shapes, fine, coarse })
    }

    /// Number of boxes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.shapes.len()
    }

    /// True without boxes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    pub(crate) fn shape(&self, index: u16) -> &Shape {
        &self.shapes[usize::from(index)]
    }

    /// The indexes of all boxes that may reach into a rectangle, ascending.
    pub(crate) fn within(&self, low: Vec2, high: Vec2, found: &mut Vec<u16>) {
        found.clear();
        for grid in [&self.fine, &self.coarse] {
            grid.each_in(low, high, |entries| found.extend(entries.iter().map(|entry| entry.index)));
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|&index| {
            let (least, most) = self.shape(index).bounds();
            least.x <= high.x && most.x >= low.x && least.y <= high.y && most.y >= low.y
        });
    }

    /// True if a segment meets no box.
    pub(crate) fn is_clear(&self, from: Vec3, to: Vec3) -> bool {
        let way = to - from;
        let square = way.length_squared();
        let per_square = if square > 0.0 { 1.0 / square } else { 0.0 };
        let grids = [&self.fine, &self.coarse];
        grids.into_iter().filter(|grid| !grid.entries.is_empty()).all(|grid| {
            grid.walk(from, to, |entries| {
                entries.iter().all(|entry| {
                    let rel = entry.centre - from;
                    let nearest = way * (rel.dot(way) * per_square).clamp(0.0, 1.0);
                    nearest.distance_squared(rel) > entry.radius_square
                        || !self.shape(entry.index).meets(from, to)
                })
            })
        })
    }
}

impl Shape {
    fn new(solid: &Solid) -> Self {
        let axes = Mat3::from_quat(solid.rotation);
        let half = solid.size.abs() / 2.0;
        Self { axes: [axes.x_axis, axes.y_axis, axes.z_axis], half, centre: solid.centre }
    }

    /// Lowest and highest coordinates.
    pub(crate) fn bounds(&self) -> (Vec3, Vec3) {
        let [x, y, z] = self.axes;
        let reach = x.abs() * self.half.x + y.abs() * self.half.y + z.abs() * self.half.z;
        (self.centre - reach, self.centre + reach)
    }

    /// True if a segment meets the box.
    fn meets(&self, from: Vec3, to: Vec3) -> bool {
        let (way, rel) = (to - from, self.centre - from);
        let (mut enter, mut leave) = (0.0f32, 1.0f32);
        for (axis, half) in self.axes.into_iter().zip(self.half.to_array()) {
            let (speed, offset) = (axis.dot(way), axis.dot(rel));
            if speed.abs() < 1e-6 {
                if offset.abs() > half {
                    return false;
                }
                continue;
            }
            let (a, b) = ((offset - half) / speed, (offset + half) / speed);
            enter = enter.max(a.min(b));
            leave = leave.min(a.max(b));
        }
        enter <= leave
    }
}

/// Square cells with lists of boxes.
#[derive(Clone, Debug, PartialEq)]
struct Grid {
    cell_m: f32,
    /// Cells along a side.
    side: u32,
    /// First entry of each cell, and the end of the last.
    starts: Vec<u32>,
    entries: Vec<SolidEntry>,
    /// Height of the highest of each cell.
    tops: Vec<f32>,
}

impl Grid {
    fn new(size_m: u32, cell_m: f32, shapes: &[Shape], takes: impl Fn(&Shape) -> bool) -> Self {
        let side = libm::ceilf(size_m as f32 / cell_m).max(1.0) as u32;
        let cells = (side * side) as usize;
        let mut grid = Self {
            cell_m,
            side,
            starts: vec![0; cells + 1],
            entries: Vec::new(),
            tops: vec![f32::MIN; cells],
        };
        let listed = |index: usize| {
            let (low, high) = shapes[index].bounds();
            (takes(&shapes[index]) && grid_overlaps(size_m, low, high)).then_some((low, high))
        };
        for (low, high) in (0..shapes.len()).filter_map(listed) {
            let cells = grid.cells(low.truncate(), high.truncate());
            for cell in cells {
                grid.starts[cell + 1] += 1;
                grid.tops[cell] = grid.tops[cell].max(high.z);
            }
        }
        for cell in 0..cells {
            grid.starts[cell + 1] += grid.starts[cell];
        }
        let nobody = SolidEntry { centre: Vec3::ZERO, radius_square: 0.0, index: 0 };
        grid.entries.resize(grid.starts[cells] as usize, nobody);
        let mut ends = grid.starts.clone();
        for (index, shape) in (0u16..).zip(shapes) {
            let Some((low, high)) = listed(usize::from(index)) else { continue };
            // A hair wider, so that rounding of the two tests does not matter.
            let radius_square = shape.half.length_squared() * 1.001 + 1e-6;
            for cell in grid.cells(low.truncate(), high.truncate()) {
                grid.entries[ends[cell] as usize] = SolidEntry { centre: shape.centre, radius_square, index };
                ends[cell] += 1;
            }
        }
        grid
    }

    /// Cells of a rectangle; parts beyond the region count to the cells at its edge.
    fn cells(&self, low: Vec2, high: Vec2) -> impl Iterator<Item = usize> + use<> {
        let (west, south) = (self.cell(low.x), self.cell(low.y));
        let (east, north, side) = (self.cell(high.x), self.cell(high.y), self.side);
        (south..=north).flat_map(move |y| (west..=east).map(move |x| (y * side + x) as usize))
    }

    /// Negative numbers and no numbers count as 0.
    fn cell(&self, at: f32) -> u32 {
        ((at / self.cell_m) as u32).min(self.side - 1)
    }

    fn each_in(&self, low: Vec2, high: Vec2, mut visit: impl FnMut(&[SolidEntry])) {
        if self.entries.is_empty() {
            return;
        }
        for cell in self.cells(low, high) {
            visit(&self.entries[self.starts[cell] as usize..self.starts[cell + 1] as usize]);
        }
    }

    /// Visits the cells under a segment, from its beginning, unless it passes above all in them; stops and is false when a
    /// visit is.
    fn walk(&self, from: Vec3, to: Vec3, mut visit: impl FnMut(&[SolidEntry]) -> bool) -> bool {
        let mut stride = Stride::new(from.truncate(), to.truncate(), self.cell_m);
        let rise = to.z - from.z;
        let mut enter = 0.0f32;
        loop {
            let leave = stride.cell_exit();
            let lowest = from.z + rise * if rise < 0.0 { leave } else { enter };
            let (x, y) = stride.cell();
            if x < self.side && y < self.side {
                let cell = (y * self.side + x) as usize;
                if lowest <= self.tops[cell]
                    && !visit(&self.entries[self.starts[cell] as usize..self.starts[cell + 1] as usize])
                {
                    return false;
                }
            }
            enter = leave;
            if !stride.advance() {
                return true;
            }
        }
    }
}

fn grid_overlaps(size_m: u32, low: Vec3, high: Vec3) -> bool {
    let size = size_m as f32;
    low.x <= size && low.y <= size && high.x >= 0.0 && high.y >= 0.0
}

/// A walk along a segment from cell to cell of a square grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stride {
    x: i32,
    y: i32,
    step_x: i32,
    step_y: i32,
    /// Fraction of the segment at the next cell border, by axis.
    next_x: f32,
    next_y: f32,
    /// Share of the segment from border to border.
    each_x: f32,
    each_y: f32,
    /// Borders left to cross: ends the traversal regardless of rounding.
    left: u32,
}

impl Stride {
    /// Traverses cells of `cell_m` metres from one point to another. Points that are not finite traverse nothing.
    pub(crate) fn new(from: Vec2, to: Vec2, cell_m: f32) -> Self {
        // Far beyond any region, and small enough for the sums of cells below.
        let within = |v: Vec2| (v / cell_m).clamp(Vec2::splat(-1e6), Vec2::splat(1e6));
        let (from, to) = (within(from), within(to));
        let (x, y) = (libm::floorf(from.x) as i32, libm::floorf(from.y) as i32);
        let (end_x, end_y) = (libm::floorf(to.x) as i32, libm::floorf(to.y) as i32);
        let way = to - from;
        let axis = |from: f32, way: f32, cell: i32| {
            if way > 0.0 {
                (1, (cell as f32 + 1.0 - from) / way, 1.0 / way)
            } else if way < 0.0 {
                (-1, (cell as f32 - from) / way, -1.0 / way)
            } else {
                (0, f32::INFINITY, f32::INFINITY)
            }
        };
        let (step_x, next_x, each_x) = axis(from.x, way.x, x);
        let (step_y, next_y, each_y) = axis(from.y, way.y, y);
        let left = end_x.abs_diff(x) + end_y.abs_diff(y);
        Self { x, y, step_x, step_y, next_x, next_y, each_x, each_y, left }
    }

    /// Current cell; negative coordinates come out huge.
    pub(crate) const fn cell(&self) -> (u32, u32) {
        (self.x.cast_unsigned(), self.y.cast_unsigned())
    }

    /// Fraction of the segment at the end of the cell.
    pub(crate) const fn cell_exit(&self) -> f32 {
        if self.left == 0 { 1.0 } else { self.next_x.min(self.next_y).min(1.0) }
    }

    /// Advances to the next cell; false at the end.
    pub(crate) const fn advance(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        if self.next_x <= self.next_y {
            self.x += self.step_x;
            self.next_x += self.each_x;
        } else {
            self.y += self.step_y;
            self.next_y += self.each_y;
        }
        true
    }
}

#[cfg(test)]
mod tests;
