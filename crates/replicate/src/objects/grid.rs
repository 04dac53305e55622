//! Objects by place and size: where a client looks for those within whose reach it is.
//!
//! The reach of an object is the distance from which it is sent: radius × 170, from 32 to 512 m. Objects of similar reach are in one grid, whose
//! cells are a quarter of that reach wide, so that a look visits at most 81 cells of each grid.

use glam::Vec3;
use ids::LocalId;
use std::sync::Arc;

/// Metres of reach for each metre of radius. A prim of half a metre, 0.43 m of radius, is seen from 74 m.
const REACH_FACTOR: f32 = 170.0;
/// Reach of the objects of each grid, at most.
const REACHES_M: [f32; 5] = [32.0, 64.0, 128.0, 256.0, 512.0];
/// Cells along the reach of a grid.
const CELLS_PER_REACH: f32 = 4.0;

/// Metres from which an object of this radius is sent.
#[must_use]
pub fn reach_m(radius_m: f32) -> f32 {
    (radius_m * REACH_FACTOR).clamp(REACHES_M[0], REACHES_M[4])
}

/// Grids of objects, by reach.
#[derive(Clone, Debug)]
pub(crate) struct SizeGrids {
    grids: [Grid; 5],
}

#[derive(Clone, Debug)]
struct Grid {
    cell_m: f32,
    /// Cells along a side.
    side: usize,
    /// By row and column; a copy of the grids shares the cells that do not change. None before the first object.
    cells: Vec<Arc<Vec<LocalId>>>,
}

impl SizeGrids {
    /// Empty grids for a region of `size_m` along a side.
    pub(crate) fn new(size_m: f32) -> Self {
        let grid = |reach: f32| {
            let cell_m = reach / CELLS_PER_REACH;
            let side = (size_m / cell_m).ceil().max(1.0) as usize;
            Grid { cell_m, side, cells: Vec::new() }
        };
        Self { grids: REACHES_M.map(grid) }
    }

    pub(crate) fn insert(&mut self, id: LocalId, position: Vec3, radius_m: f32) {
        Arc::make_mut(self.cell_mut(position, radius_m)).push(id);
    }

    /// Takes an object out that was put in with this position and radius.
    pub(crate) fn remove(&mut self, id: LocalId, position: Vec3, radius_m: f32) {
        let cell = Arc::make_mut(self.cell_mut(position, radius_m));
        if let Some(at) = cell.iter().position(|&other| other == id) {
            cell.swap_remove(at);
        }
    }

    /// True if both places are in one cell.
    pub(crate) fn is_same_cell(&self, a: (Vec3, f32), b: (Vec3, f32)) -> bool {
        self.place_of(a.0, a.1) == self.place_of(b.0, b.1)
    }

    /// Objects that may be within reach of a place, and some more. No reach is longer than `reach_max_m`.
    pub(crate) fn around(&self, eye: Vec3, reach_max_m: f32) -> impl Iterator<Item = LocalId> {
        self.grids
            .iter()
            .zip(REACHES_M)
            .flat_map(move |(grid, reach)| grid.around(eye, reach.min(reach_max_m)))
    }

    fn place_of(&self, position: Vec3, radius_m: f32) -> (usize, usize) {
        let reach = reach_m(radius_m);
        let class = REACHES_M.iter().position(|&most| reach <= most).unwrap_or(REACHES_M.len() - 1);
        let grid = &self.grids[class];
        (class, grid.index(position.y) * grid.side + grid.index(position.x))
    }

    fn cell_mut(&mut self, position: Vec3, radius_m: f32) -> &mut Arc<Vec<LocalId>> {
        let (class, cell) = self.place_of(position, radius_m);
        let grid = &mut self.grids[class];
        if grid.cells.is_empty() {
            grid.cells.resize(grid.side * grid.side, Arc::new(Vec::new()));
        }
        &mut grid.cells[cell]
    }
}

impl Grid {
    /// Row or column of a coordinate. Coordinates outside the region count to the cells at its borders.
    fn index(&self, along: f32) -> usize {
        ((along / self.cell_m) as usize).min(self.side - 1)
    }

    fn around(&self, eye: Vec3, reach: f32) -> impl Iterator<Item = LocalId> {
        let span = |along: f32| self.index(along - reach)..=self.index(along + reach);
        let columns = span(eye.x);
        span(eye.y)
            .flat_map(move |row| columns.clone().map(move |column| row * self.side + column))
            .filter_map(|cell| self.cells.get(cell))
            .flat_map(|ids| ids.iter().copied())
    }
}
