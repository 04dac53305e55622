//! Builder of navmeshes from ground and boxes, tile by tile.
//!
//! A tile's columns, one a [`CELL_M`](crate::CELL_M), are looked at from above (`samples`): where is a floor, could a walker
//! stand there. Floors that hang together become regions (`regions`), their borders outlines with few corners (`outlines`), and
//! the insides of those convex polygons (`polygons`). ADR 0015 says why not by an existing crate.
//!
//! A tile depends on nothing but ground and boxes in and closely around it.

mod lines;
mod outlines;
mod polygons;
mod regions;
mod samples;
mod shapes;

use crate::{
    ground::GroundHeights,
    mesh::{Border, NavMesh, Parts, TILE_CELLS, TILE_M, Tile, island::Islands, locate::Buckets, poly::Poly},
    solids::Solids,
};
use glam::Vec2;
use samples::Samples;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use thiserror::Error;

/// Dimensions and abilities of a walker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WalkerSize {
    /// Half of its width, metres: walls and ledges stay so far away.
    pub radius_m: f32,
    /// Height upright, metres: lower ceilings block it.
    pub height_m: f32,
    /// The highest step up, metres.
    pub step_m: f32,
    /// The deepest step down, metres; deeper ones are ledges.
    pub drop_m: f32,
    /// The steepest walkable slope, metres up per metre.
    pub slope_max: f32,
    /// Height of the water, metres.
    pub water_m: f32,
    /// Greatest depth of water to wade through, metres.
    pub wade_m: f32,
    /// It keeps so far from the border of the region, metres.
    pub border_m: f32,
    /// Isles that are smaller, square metres, and cannot be walked to are left out: tops of boxes.
    pub isle_min_m2: f32,
}

impl Default for WalkerSize {
    /// An avatar on dry land.
    fn default() -> Self {
        Self {
            radius_m: 0.3,
            height_m: 1.9,
            step_m: 0.4,
            drop_m: 0.6,
            slope_max: 1.0,
            water_m: f32::MIN,
            wade_m: 0.5,
            border_m: 0.5,
            isle_min_m2: 4.0,
        }
    }
}

/// Failure to build a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum BuildError {
    /// The ground has a height that is none.
    #[error("the ground at ({x}, {y}) is {height} m high, outside ±{max} m", max = HEIGHT_MAX_M)]
    Height {
        /// Metres east of the corner.
        x: u32,
        /// Metres north of the corner.
        y: u32,
        /// Offending height.
        height: f32,
    },
    /// The walker has a measure that is none.
    #[error("no walker has a {name} of {value}: {least} to {most}")]
    Walker {
        /// Name of the property.
        name: &'static str,
        /// Offending value.
        value: f32,
        /// Least allowed.
        least: f32,
        /// Most allowed.
        most: f32,
    },
    /// More boxes above each other than memory for building permits.
    #[error("too many boxes within the tile at ({x}, {y}) m")]
    Crowded {
        /// Metres east of the corner.
        x: u32,
        /// Metres north of the corner.
        y: u32,
    },
    /// More polygons than a tile can have.
    #[error("the tile at ({x}, {y}) m falls into {polys} polygons, more than {max}", max = crate::mesh::poly::EdgeLink::POLYS_MAX - 1)]
    Ragged {
        /// Metres east of the corner.
        x: u32,
        /// Metres north of the corner.
        y: u32,
        /// Number of polygons.
        polys: usize,
    },
    /// The caller's answer was no.
    #[error("the work was called off")]
    Cancelled,
}

/// Heights beyond this are no region's, metres.
const HEIGHT_MAX_M: f32 = 8_192.0;

impl WalkerSize {
    fn check(&self) -> Result<(), BuildError> {
        let ranges = [
            ("radius_m", self.radius_m, 0.0, 0.6),
            ("height_m", self.height_m, 0.5, 10.0),
            ("step_m", self.step_m, 0.0, 0.5),
            ("drop_m", self.drop_m, self.step_m, 0.9),
            ("slope_max", self.slope_max, 0.0, 3.0),
            ("wade_m", self.wade_m, 0.0, 10.0),
            ("border_m", self.border_m, 0.0, 64.0),
            ("isle_min_m2", self.isle_min_m2, 0.0, 1e6),
        ];
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(BuildError::Walker { name, value, least, most });
            }
        }
        if self.water_m.is_nan() {
            return Err(BuildError::Walker {
                name: "water_m",
                value: self.water_m,
                least: f32::MIN,
                most: f32::MAX,
            });
        }
        Ok(())
    }
}

impl NavMesh {
    /// Builds the mesh of a region. Before each tile, and now and then within one, `go_on` is asked whether to; a tile takes
    /// milliseconds, and some megabytes that the next one uses again.
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn build(
        ground: GroundHeights<'_>,
        solids: &Solids,
        walker: &WalkerSize,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Self, BuildError> {
        let side = ground.size_m().div_ceil(TILE_M);
        let empty = || Tile { polys: Arc::from([]), parts: Arc::default() };
        let mut mesh = Self {
            size_m: ground.size_m(),
            side,
            tiles: (0..side * side).map(|_| empty()).collect(),
            islands: Arc::default(),
        };
        mesh.build_tiles(ground, solids, walker, go_on)?;
        Ok(mesh)
    }

    /// True without walkable floor.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.poly_count() == 0
    }

    fn build_tiles(
        &mut self,
        ground: GroundHeights<'_>,
        solids: &Solids,
        walker: &WalkerSize,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), BuildError> {
        walker.check()?;
        for (place, &height) in (0u32..).zip(ground.heights()) {
            if height.is_nan() || height.abs() > HEIGHT_MAX_M {
                return Err(BuildError::Height { x: place % self.size_m, y: place / self.size_m, height });
            }
        }
        let mut workshop = Workshop { ground, solids, walker, samples: Samples::default() };
        let tiles = 0..self.side * self.side;
        for tile in tiles.clone() {
            if !go_on() {
                return Err(BuildError::Cancelled);
            }
            self.tiles[tile as usize] = workshop.tile(tile % self.side, tile / self.side, go_on)?;
        }
        for tile in tiles {
            self.stitch(tile);
        }
        self.islands = Arc::new(Islands::new(self));
        Ok(())
    }
}

/// Buffers reused from tile to tile.
struct Workshop<'a> {
    ground: GroundHeights<'a>,
    solids: &'a Solids,
    walker: &'a WalkerSize,
    samples: Samples,
}

impl Workshop<'_> {
    fn tile(&mut self, x: u32, y: u32, go_on: &mut dyn FnMut() -> bool) -> Result<Tile, BuildError> {
        let (x_m, y_m) = (x * TILE_M, y * TILE_M);
        self.samples.sample_tile([x, y], self.ground, self.solids, self.walker, go_on)?;
        let regions = regions::Regions::new(&self.samples, self.walker);
        let outlines = outlines::trace(&self.samples, &regions);
        if !go_on() {
            return Err(BuildError::Cancelled);
        }
        let origin = [x * TILE_CELLS, y * TILE_CELLS];
        let shapes = polygons::fill(outlines, &regions);
        if shapes.len() >= crate::mesh::poly::EdgeLink::POLYS_MAX {
            return Err(BuildError::Ragged { x: x_m, y: y_m, polys: shapes.len() });
        }
        let floors = self.samples.floors(regions.floors(), [x_m as f32, y_m as f32].into(), self.solids);
        let mut polys: Vec<Poly> = shapes.iter().map(|shape| shape.poly(origin, &floors)).collect();
        shapes::link(&shapes, &mut polys);
        let borders: Box<[Border]> = shapes::borders(&shapes, |floor, at| {
            self.floor_height(floor, at, [x_m as f32, y_m as f32].into())
        });
        let planes = floors.planes.into_boxed_slice();
        let buckets = Buckets::new(origin, &polys);
        Ok(Tile { polys: polys.into(), parts: Arc::new(Parts { floors: planes, borders, buckets }) })
    }

    /// Height of a floor at a point given in cells from the tile's corner.
    fn floor_height(&self, floor: u32, at: Vec2, origin: Vec2) -> f32 {
        let at = origin + at * crate::CELL_M;
        match floor.checked_sub(1) {
            None => self.ground.height(at),
            Some(solid) => {
                lines::top_plane(self.solids.shape(solid as u16)).map_or(0.0, |(z, slope)| z + slope.dot(at))
            }
        }
    }
}
