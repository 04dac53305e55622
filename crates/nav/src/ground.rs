//! Ground as numbers: one height per metre, interpolated in between.
//!
//! A view of the owner's samples, so that a region's ground is in memory once. Interpolation is that of `world`: each square metre is
//! two triangles that meet on the diagonal from its south-east to its north-west corner.

use glam::Vec2;
use thiserror::Error;

/// Heights of a square region, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct GroundHeights<'a> {
    size_m: u32,
    heights: &'a [f32],
}

/// Samples that are no ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GroundError {
    /// Too narrow or too wide.
    #[error("a ground of {0} m: it takes {min} to {max} m", min = GroundHeights::SIZE_MIN_M, max = GroundHeights::SIZE_MAX_M)]
    Size(u32),
    /// Another number of samples than square metres.
    #[error("a ground of {size_m} m needs {expected} samples, not {found}")]
    Samples {
        /// Width that was asked for.
        size_m: u32,
        /// Samples it takes.
        expected: usize,
        /// Samples there are.
        found: usize,
    },
}

impl<'a> GroundHeights<'a> {
    /// Narrowest ground: two samples, one square.
    pub const SIZE_MIN_M: u32 = 2;
    /// Widest ground, metres.
    pub const SIZE_MAX_M: u32 = 1_024;

    /// Wraps `size_m` × `size_m` heights in metres, row by row from the south-west corner, x running fastest. Values are not checked
    /// here: [`crate::NavMesh::build`] refuses those that are not finite.
    ///
    /// # Errors
    /// [`GroundError`] if width and samples do not fit.
    pub const fn new(size_m: u32, heights: &'a [f32]) -> Result<Self, GroundError> {
        if size_m < Self::SIZE_MIN_M || size_m > Self::SIZE_MAX_M {
            return Err(GroundError::Size(size_m));
        }
        let expected = size_m as usize * size_m as usize;
        if heights.len() != expected {
            return Err(GroundError::Samples { size_m, expected, found: heights.len() });
        }
        Ok(Self { size_m, heights })
    }

    /// Width and depth in metres.
    #[must_use]
    pub const fn size_m(self) -> u32 {
        self.size_m
    }

    /// Every sample, row by row from the south-west corner.
    #[must_use]
    pub const fn heights(self) -> &'a [f32] {
        self.heights
    }

    /// Height at a point, metres. Points outside count as the nearest border.
    #[must_use]
    pub fn height(self, at: Vec2) -> f32 {
        self.facet(at).0
    }

    /// Height and slope (metres up per metre east and north) of the triangle under a point.
    #[must_use]
    pub fn facet(self, at: Vec2) -> (f32, Vec2) {
        let last = (self.size_m - 1) as f32;
        // A NaN comes out of `clamp` as NaN and becomes column 0 below: no point makes this panic.
        let (x, y) = (at.x.clamp(0.0, last), at.y.clamp(0.0, last));
        let (column, row) = ((x as u32).min(self.size_m - 2), (y as u32).min(self.size_m - 2));
        let (east, north) = (x - column as f32, y - row as f32);
        let Corners { sw, se, nw, ne } = self.corners(column, row);
        if east + north < 1.0 {
            let slope = Vec2::new(se - sw, nw - sw);
            (sw + slope.x * east + slope.y * north, slope)
        } else {
            let slope = Vec2::new(ne - nw, ne - se);
            (ne - slope.x * (1.0 - east) - slope.y * (1.0 - north), slope)
        }
    }

    /// Heights around a square, which has to be one.
    pub(crate) fn corners(self, column: u32, row: u32) -> Corners {
        let south = (row * self.size_m + column) as usize;
        let north = south + self.size_m as usize;
        Corners {
            sw: self.heights[south],
            se: self.heights[south + 1],
            nw: self.heights[north],
            ne: self.heights[north + 1],
        }
    }
}

/// Heights at the corners of a square metre.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Corners {
    pub(crate) sw: f32,
    pub(crate) se: f32,
    pub(crate) nw: f32,
    pub(crate) ne: f32,
}

impl Corners {
    pub(crate) const fn highest(self) -> f32 {
        self.sw.max(self.se).max(self.nw.max(self.ne))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_to_fit_the_width() {
        assert_eq!(GroundHeights::new(1, &[0.0]).unwrap_err(), GroundError::Size(1));
        assert_eq!(
            GroundHeights::new(3, &[0.0; 4]).unwrap_err().to_string(),
            "a ground of 3 m needs 9 samples, not 4"
        );
    }

    #[test]
    fn height_lies_on_the_two_triangles_of_a_square() {
        let heights = [0.0, 1.0, 2.0, 5.0];
        let ground = GroundHeights::new(2, &heights).unwrap();
        assert_eq!(ground.facet(Vec2::new(0.25, 0.5)), (1.25, Vec2::new(1.0, 2.0)));
        assert_eq!(ground.facet(Vec2::new(0.75, 0.5)), (2.25, Vec2::new(3.0, 4.0)));
        assert_eq!(ground.height(Vec2::new(9.0, 9.0)), 5.0);
        // The result for NaN does not matter, only that there is one.
        let _ = ground.height(Vec2::NAN);
    }
}
