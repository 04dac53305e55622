//! Objects by place and size: where a client looks for those within whose reach it is.
//!
//! The reach of an object is the distance from which it is sent: radius × 170, from 32 to 512 m. Objects of similar reach are in one grid, whose
//! cells are a quarter of that reach wide, so that a look visits at most 81 cells of each grid. A cell has the places of its objects, so that those
//! out of reach are passed over in a row, without a look at the objects.
//!
//! A client that draws less far than this is sent what lies up to [`BEYOND_DRAW_M`] beyond. Wide objects, whose radius is greater, are sent from their
//! radius beyond instead: their position may be far from the part that the client stands on. They have a grid of their own.

use glam::Vec3;
use ids::LocalId;
use std::sync::Arc;

/// Metres of reach for each metre of radius. A prim of half a metre, 0.43 m of radius, is seen from 74 m.
const REACH_FACTOR: f32 = 170.0;
/// Reach of the objects of each grid, at most.
const REACHES_M: [f32; 5] = [32.0, 64.0, 128.0, 256.0, 512.0];
/// Grids: one for each reach, and the last one for wide objects.
const GRIDS: usize = REACHES_M.len() + 1;
/// Cells along the reach of a grid.
const CELLS_PER_REACH: f32 = 4.0;
/// Metres beyond the draw distance of the client that are still sent.
pub(crate) const BEYOND_DRAW_M: f32 = 64.0;

/// Metres from which an object of this radius is sent.
#[must_use]
pub fn reach_m(radius_m: f32) -> f32 {
    (radius_m * REACH_FACTOR).clamp(REACHES_M[0], REACHES_M[4])
}

/// An object as far as its place decides whether a client is sent it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlacedObject {
    pub(crate) id: LocalId,
    pub(crate) position: Vec3,
    /// Metres from its position to its farthest corner.
    pub(crate) radius_m: f32,
}

impl PlacedObject {
    /// Metres from which it is sent to a client that draws up to [`BEYOND_DRAW_M`] less than `reach_max_m`.
    pub(crate) fn reach_m(&self, reach_max_m: f32) -> f32 {
        reach_m(self.radius_m).min(reach_max_m + (self.radius_m - BEYOND_DRAW_M).max(0.0))
    }
}

/// Grids of objects, by reach.
#[derive(Clone, Debug)]
pub(crate) struct SizeGrids {
    grids: [Grid; GRIDS],
}

#[derive(Clone, Debug)]
struct Grid {
    cell_m: f32,
    /// Cells along a side.
    side: usize,
    /// By row and column; a copy of the grids shares the cells that do not change. None before the first object.
    cells: Vec<Arc<Vec<PlacedObject>>>,
}

impl SizeGrids {
    /// Empty grids for a region of `size_m` along a side.
    pub(crate) fn new(size_m: f32) -> Self {
        let grid = |class: usize| {
            let cell_m = reach_of_grid(class) / CELLS_PER_REACH;
            let side = (size_m / cell_m).ceil().max(1.0) as usize;
            Grid { cell_m, side, cells: Vec::new() }
        };
        Self { grids: std::array::from_fn(grid) }
    }

    pub(crate) fn insert(&mut self, id: LocalId, position: Vec3, radius_m: f32) {
        let object = PlacedObject { id, position, radius_m };
        Arc::make_mut(self.cell_mut(position, radius_m)).push(object);
    }

    /// Takes an object out that was put in with this position and radius.
    pub(crate) fn remove(&mut self, id: LocalId, position: Vec3, radius_m: f32) {
        let cell = Arc::make_mut(self.cell_mut(position, radius_m));
        if let Some(at) = cell.iter().position(|other| other.id == id) {
            cell.swap_remove(at);
        }
    }

    /// Hands out all objects no further from a place than `beyond_m` more than their reach with `reach_max_m` ([`PlacedObject::reach_m`]), and some more.
    pub(crate) fn around(
        &self,
        eye: Vec3,
        [reach_max_m, beyond_m]: [f32; 2],
        mut take: impl FnMut(&PlacedObject),
    ) {
        for (class, grid) in self.grids.iter().enumerate() {
            let reach = reach_of_grid(class);
            let is_wide = class == GRIDS - 1;
            let reach = if is_wide { reach } else { reach.min(reach_max_m) };
            grid.around(eye, reach + beyond_m, &mut take);
        }
    }

    fn place_of(&self, position: Vec3, radius_m: f32) -> (usize, usize) {
        let reach = reach_m(radius_m);
        let class = if radius_m > BEYOND_DRAW_M {
            GRIDS - 1
        } else {
            REACHES_M.iter().position(|&most| reach <= most).unwrap_or(REACHES_M.len() - 1)
        };
        let grid = &self.grids[class];
        (class, grid.index(position.y) * grid.side + grid.index(position.x))
    }

    fn cell_mut(&mut self, position: Vec3, radius_m: f32) -> &mut Arc<Vec<PlacedObject>> {
        let (class, cell) = self.place_of(position, radius_m);
        let grid = &mut self.grids[class];
        if grid.cells.is_empty() {
            grid.cells.resize(grid.side * grid.side, Arc::new(Vec::new()));
        }
        &mut grid.cells[cell]
    }
}

/// Reach of the objects of a grid, at most.
fn reach_of_grid(class: usize) -> f32 {
    REACHES_M[class.min(REACHES_M.len() - 1)]
}

impl Grid {
    /// Row or column of a coordinate. Coordinates outside the region count to the cells at its borders.
    fn index(&self, along: f32) -> usize {
        ((along / self.cell_m) as usize).min(self.side - 1)
    }

    /// Hands out the objects of all cells within a distance of a place.
    fn around(&self, eye: Vec3, reach: f32, take: &mut impl FnMut(&PlacedObject)) {
        let span = |along: f32| self.index(along - reach)..=self.index(along + reach);
        for row in span(eye.y) {
            for column in span(eye.x) {
                if let Some(objects) = self.cells.get(row * self.side + column) {
                    objects.iter().for_each(&mut *take);
                }
            }
        }
    }
}
