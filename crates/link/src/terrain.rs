//! The ground of a region: a grid of heights, one a metre, interpolated between.
//!
//! Shared and, but for the copy that a world with edits has of its own, immutable: gateways send the same grid to clients. `generate` makes hills.

use glam::{Vec2, Vec3};
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;
use thiserror::Error;

/// Nothing rises above this height, metres: object positions of the protocol end there.
pub const CEILING_M: f32 = 4_096.0;

/// Heights of a square region, `size_m` × `size_m` samples, one a metre, row by row from the south-west corner.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Heights", into = "Heights")]
pub struct Terrain {
    size_m: u32,
    heights: Vec<f32>,
    fingerprint: u64,
}

/// Encoding of a terrain: width in metres, and its heights.
#[derive(Serialize, Deserialize)]
struct Heights(u32, Vec<f32>);

impl TryFrom<Heights> for Terrain {
    type Error = TerrainError;

    fn try_from(Heights(size_m, heights): Heights) -> Result<Self, TerrainError> {
        Self::from_heights(size_m, heights)
    }
}

impl From<Terrain> for Heights {
    fn from(terrain: Terrain) -> Self {
        Self(terrain.size_m, terrain.heights)
    }
}

/// Reasons to refuse heights as a terrain.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum TerrainError {
    /// Regions are 256–1,024 m, in steps of 256.
    #[error("a region cannot be {0} m wide: 256, 512, 768 or 1,024")]
    Size(u32),
    /// The file holds another number of samples than the region has square metres.
    #[error("a region of {size_m} m needs {expected} samples, not {found}")]
    Samples {
        /// Width that was asked for.
        size_m: u32,
        /// Samples it takes.
        expected: usize,
        /// Samples there are; a broken last one counts.
        found: usize,
    },
    /// A sample is not a number, or outside ±[`Terrain::HEIGHT_MAX_M`].
    #[error("the sample at ({x}, {y}) is {height}, outside ±{max} m", max = Terrain::HEIGHT_MAX_M)]
    Height {
        /// Metres east of the corner.
        x: u32,
        /// Metres north of the corner.
        y: u32,
        /// The height found.
        height: f32,
    },
}

impl Terrain {
    /// No ground lies higher, or deeper than its negative; leaves room for flight below [`crate::CEILING_M`].
    pub const HEIGHT_MAX_M: f32 = 2_048.0;

    /// Takes heights in metres, row by row from the south-west corner, x running fastest.
    ///
    /// # Errors
    /// [`TerrainError`] when the width is no region's, or the samples are too few, too many or impossible.
    pub fn from_heights(size_m: u32, heights: Vec<f32>) -> Result<Self, TerrainError> {
        if !is_region_size(size_m) {
            return Err(TerrainError::Size(size_m));
        }
        let expected = size_m as usize * size_m as usize;
        if heights.len() != expected {
            return Err(TerrainError::Samples { size_m, expected, found: heights.len() });
        }
        let mut hasher = StateHasher::new();
        hasher.u32(size_m);
        for (index, &height) in (0u32..).zip(&heights) {
            if height.is_nan() || height.abs() > Self::HEIGHT_MAX_M {
                return Err(TerrainError::Height { x: index % size_m, y: index / size_m, height });
            }
            hasher.f32(height);
        }
        Ok(Self { size_m, heights, fingerprint: hasher.finish() })
    }

    /// The same height everywhere.
    ///
    /// # Panics
    /// When no region can have this size or height.
    #[must_use]
    pub fn flat(size_m: u32, height_m: f32) -> Self {
        Self::from_heights(size_m, vec![height_m; size_m as usize * size_m as usize])
            .expect("callers choose a region's size and a height on earth")
    }

    /// Reads the `.r32` form: bare little-endian floats in the order of [`Terrain::heights`].
    ///
    /// # Errors
    /// As [`Terrain::from_heights`].
    pub fn from_r32(size_m: u32, bytes: &[u8]) -> Result<Self, TerrainError> {
        let expected = size_m as usize * size_m as usize;
        if bytes.len() != expected * 4 {
            return Err(TerrainError::Samples { size_m, expected, found: bytes.len().div_ceil(4) });
        }
        let (samples, _) = bytes.as_chunks::<4>();
        Self::from_heights(size_m, samples.iter().map(|&sample| f32::from_le_bytes(sample)).collect())
    }

    /// Writes the `.r32` form.
    #[must_use]
    pub fn to_r32(&self) -> Vec<u8> {
        self.heights.iter().flat_map(|height| height.to_le_bytes()).collect()
    }

    /// Width and depth in metres.
    #[must_use]
    pub const fn size_m(&self) -> u32 {
        self.size_m
    }

    /// Every sample, row by row from the south-west corner, x running fastest.
    #[must_use]
    pub fn heights(&self) -> &[f32] {
        &self.heights
    }

    /// The lowest and the highest point, metres.
    #[must_use]
    pub fn extremes(&self) -> (f32, f32) {
        self.heights().iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(lowest, highest), height| {
            (lowest.min(*height), highest.max(*height))
        })
    }

    /// A number that differs when any height does; a snapshot names the ground it stands on by it. Of an edited ground, that of the one from
    /// which it was made ([`Terrain::set_heights`]).
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Replaces heights of a row, from a column eastward. The fingerprint stays.
    ///
    /// # Panics
    /// If a sample is outside, or a height is none of a ground.
    pub fn set_heights(&mut self, column: u32, row: u32, heights: &[f32]) {
        let (size, first) = (self.size_m as usize, column as usize);
        assert!(row < self.size_m && first + heights.len() <= size, "samples outside the ground");
        let is_possible = |height: &f32| height.abs() <= Self::HEIGHT_MAX_M;
        assert!(heights.iter().all(is_possible), "a height that no ground has");
        self.heights[row as usize * size + first..][..heights.len()].copy_from_slice(heights);
    }

    /// Height at a point, metres. Points outside count as the nearest border.
    #[must_use]
    pub fn height(&self, x: f32, y: f32) -> f32 {
        self.facet(Vec2::new(x, y)).0
    }

    /// Upward unit normal of the ground at a point.
    #[must_use]
    pub fn normal(&self, x: f32, y: f32) -> Vec3 {
        let (_, slope) = self.facet(Vec2::new(x, y));
        Vec3::new(-slope.x, -slope.y, 1.0).normalize()
    }

    /// Height and slope (metres up per metre east and north) of the triangle under a point.
    ///
    /// Each square metre is two triangles that meet on the diagonal from its south-east to its north-west corner: height
    /// is continuous, and a walker's climb rate is constant on each, so that viewers predict it.
    #[must_use]
    pub fn facet(&self, at: Vec2) -> (f32, Vec2) {
        let last = (self.size_m - 1) as f32;
        // A NaN comes out of `clamp` as NaN and becomes column 0 below: no point makes this panic.
        let (x, y) = (at.x.clamp(0.0, last), at.y.clamp(0.0, last));
        let (column, row) = ((x as u32).min(self.size_m - 2), (y as u32).min(self.size_m - 2));
        let (east, north) = (x - column as f32, y - row as f32);
        let corner = (row * self.size_m + column) as usize;
        let (sw, se) = (self.heights[corner], self.heights[corner + 1]);
        let above = corner + self.size_m as usize;
        let (nw, ne) = (self.heights[above], self.heights[above + 1]);
        if east + north < 1.0 {
            let slope = Vec2::new(se - sw, nw - sw);
            (sw + slope.x * east + slope.y * north, slope)
        } else {
            let slope = Vec2::new(ne - nw, ne - se);
            (ne - slope.x * (1.0 - east) - slope.y * (1.0 - north), slope)
        }
    }
}

impl std::fmt::Debug for Terrain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Terrain({} m, {:016x})", self.size_m, self.fingerprint)
    }
}

/// True if a region can have this width: whole grid squares, up to four of them.
#[must_use]
pub const fn is_region_size(size_m: u32) -> bool {
    size_m >= 256 && size_m <= 1024 && size_m.is_multiple_of(256)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rises a metre per metre eastward and half a metre per metre northward.
    fn ramp() -> Terrain {
        let heights = (0..256 * 256).map(|i| (i % 256) as f32 + (i / 256) as f32 * 0.5).collect();
        Terrain::from_heights(256, heights).unwrap()
    }

    #[test]
    fn height_between_samples_lies_on_the_plane_through_them() {
        let ramp = ramp();
        for (x, y) in [(0.0, 0.0), (10.25, 20.5), (99.9, 3.3), (254.5, 254.75)] {
            assert!((ramp.height(x, y) - (x + y * 0.5)).abs() < 1e-4, "at {x}, {y}");
        }
    }

    #[test]
    fn height_is_continuous_across_the_diagonal_and_between_squares() {
        let hills = Terrain::hills(256, 7);
        for i in 0..2_000 {
            let (x, y) = (0.12 * i as f32, 250.0 - 0.11 * i as f32);
            let step = (hills.height(x, y) - hills.height(x + 1e-3, y)).abs();
            assert!(step < 0.02, "a cliff of {step} m at {x}, {y}");
        }
    }

    #[test]
    fn points_outside_and_no_numbers_have_a_height() {
        let ramp = ramp();
        assert_eq!(ramp.height(-5.0, -5.0), 0.0);
        assert_eq!(ramp.height(1e9, 1e9), ramp.height(255.0, 255.0));
        // Any result for a NaN is fine; a panic is not.
        let _ = ramp.height(f32::NAN, f32::NAN);
    }

    #[test]
    fn normal_stands_on_the_slope() {
        let normal = ramp().normal(40.3, 40.3);
        assert!((normal.length() - 1.0).abs() < 1e-6);
        assert!(normal.dot(Vec3::new(1.0, 0.0, 1.0)).abs() < 1e-5, "leans against the eastward climb");
        assert_eq!(Terrain::flat(256, 21.0).normal(3.0, 3.0), Vec3::Z);
    }

    #[test]
    fn extremes_are_the_heights_of_the_lowest_and_the_highest_sample() {
        let mut ground = Terrain::flat(256, 21.0);
        assert_eq!(ground.extremes(), (21.0, 21.0));
        ground.set_heights(3, 4, &[-7.0, 90.0]);
        assert_eq!(ground.extremes(), (-7.0, 90.0));
    }

    #[test]
    fn an_edited_ground_keeps_its_fingerprint() {
        let mut ramp = ramp();
        ramp.set_heights(254, 255, &[7.0, 8.0]);
        assert_eq!((ramp.height(254.0, 255.0), ramp.height(255.0, 255.0)), (7.0, 8.0));
        assert_eq!(ramp.height(253.0, 255.0), 253.0 + 127.5);
        assert_eq!(ramp.fingerprint(), self::ramp().fingerprint());
    }

    #[test]
    #[should_panic(expected = "samples outside the ground")]
    fn samples_behind_the_end_of_a_row_are_refused() {
        ramp().set_heights(255, 0, &[7.0, 8.0]);
    }

    #[test]
    fn r32_comes_back_as_it_went() {
        let hills = Terrain::hills(256, 3);
        assert_eq!(Terrain::from_r32(256, &hills.to_r32()), Ok(hills));
    }

    #[test]
    fn impossible_files_are_refused_with_the_place() {
        let bytes = ramp().to_r32();
        assert_eq!(
            Terrain::from_r32(300, &bytes[..300 * 300 * 2]).unwrap_err().to_string(),
            "a region of 300 m needs 90000 samples, not 45000"
        );
        assert_eq!(Terrain::from_heights(300, vec![0.0; 90_000]), Err(TerrainError::Size(300)));
        let mut broken = bytes;
        broken[(3 * 256 + 2) * 4..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
        let error = Terrain::from_r32(256, &broken).unwrap_err();
        assert!(matches!(error, TerrainError::Height { x: 2, y: 3, .. }), "{error}");
    }
}
