//! Patches of the ground, in which edits are reported and stored.

use crate::terrain::Terrain;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Edge of a patch, metres: that of the protocol's patches.
pub const PATCH_M: u32 = 16;
/// Samples of a patch.
pub const PATCH_SAMPLES: usize = (PATCH_M * PATCH_M) as usize;

/// Heights of a patch in metres, row by row from its south-west corner.
pub type PatchHeights = [f32; PATCH_SAMPLES];

/// Heights of one patch of a region, each within ±[`Terrain::HEIGHT_MAX_M`].
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "EncodedPatch", into = "EncodedPatch")]
pub struct GroundPatch {
    column: u8,
    row: u8,
    heights: Arc<PatchHeights>,
}

impl GroundPatch {
    /// A patch by its place, counted in patches from the south-west corner. `None` for a height that no ground has.
    #[must_use]
    pub fn new(column: u8, row: u8, heights: PatchHeights) -> Option<Self> {
        let is_possible = |height: &f32| height.abs() <= Terrain::HEIGHT_MAX_M;
        heights.iter().all(is_possible).then(|| Self { column, row, heights: Arc::new(heights) })
    }

    /// Patches between it and the west border.
    #[must_use]
    pub const fn column(&self) -> u8 {
        self.column
    }

    /// Patches between it and the south border.
    #[must_use]
    pub const fn row(&self) -> u8 {
        self.row
    }

    /// Its heights.
    #[must_use]
    pub fn heights(&self) -> &PatchHeights {
        &self.heights
    }

    /// True if a region of this width has such a patch.
    #[must_use]
    pub const fn is_within(&self, size_m: u32) -> bool {
        let side = size_m / PATCH_M;
        (self.column as u32) < side && (self.row as u32) < side
    }

    /// True if the other one has the same bits of heights.
    #[must_use]
    pub fn has_same_heights(&self, other: &PatchHeights) -> bool {
        self.heights.iter().zip(other).all(|(one, other)| one.to_bits() == other.to_bits())
    }
}

impl Terrain {
    /// Heights of a patch, counted in patches from the south-west corner.
    ///
    /// # Panics
    /// If the region has no such patch.
    #[must_use]
    pub fn patch(&self, column: u8, row: u8) -> PatchHeights {
        let (first, size) = (corner_of(self.size_m(), column, row), self.size_m() as usize);
        let side = PATCH_M as usize;
        std::array::from_fn(|n| self.heights()[first + n / side * size + n % side])
    }

    /// Gives a patch these heights. The fingerprint stays, as with [`Terrain::set_heights`].
    ///
    /// # Panics
    /// If the region has no such patch.
    pub fn set_patch(&mut self, patch: &GroundPatch) {
        let (west, south) = (u32::from(patch.column) * PATCH_M, u32::from(patch.row) * PATCH_M);
        for (row, heights) in (south..).zip(patch.heights.chunks_exact(PATCH_M as usize)) {
            self.set_heights(west, row, heights);
        }
    }
}

/// Index of the first sample of a patch.
fn corner_of(size_m: u32, column: u8, row: u8) -> usize {
    assert!(u32::from(column.max(row)) < size_m / PATCH_M, "a patch of the region");
    ((u32::from(row) * size_m + u32::from(column)) * PATCH_M) as usize
}

impl std::fmt::Debug for GroundPatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GroundPatch({}, {})", self.column, self.row)
    }
}

/// A patch by its fields.
#[derive(Serialize, Deserialize)]
struct EncodedPatch(u8, u8, Vec<f32>);

impl From<GroundPatch> for EncodedPatch {
    fn from(GroundPatch { column, row, heights }: GroundPatch) -> Self {
        Self(column, row, heights.to_vec())
    }
}

impl TryFrom<EncodedPatch> for GroundPatch {
    type Error = &'static str;

    fn try_from(EncodedPatch(column, row, heights): EncodedPatch) -> Result<Self, &'static str> {
        let heights = heights.try_into().map_err(|_| "a patch has 256 heights")?;
        Self::new(column, row, heights).ok_or("a height that no ground has")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_survives_its_encoding_and_impossible_ones_are_refused() {
        let patch = GroundPatch::new(3, 15, std::array::from_fn(|n| n as f32 - 100.0)).unwrap();
        let bytes = postcard::to_stdvec(&patch).unwrap();
        assert_eq!(postcard::from_bytes(&bytes), Ok(patch));
        for heights in [vec![0.0; 255], vec![0.0; 257], vec![f32::NAN; 256], vec![3_000.0; 256]] {
            let bytes = postcard::to_stdvec(&EncodedPatch(0, 0, heights)).unwrap();
            assert!(postcard::from_bytes::<GroundPatch>(&bytes).is_err());
        }
    }

    #[test]
    fn a_patch_of_a_ground_is_read_as_it_was_written() {
        let mut ground = Terrain::hills(512, 7);
        let former = ground.clone();
        let patch = GroundPatch::new(31, 2, std::array::from_fn(|n| n as f32)).unwrap();
        ground.set_patch(&patch);
        assert_eq!(&ground.patch(31, 2), patch.heights());
        assert_eq!(ground.height(31.0 * 16.0 + 3.0, 2.0 * 16.0 + 1.0), 19.0);
        assert_eq!((ground.patch(30, 2), ground.patch(31, 3)), (former.patch(30, 2), former.patch(31, 3)));
        ground.set_patch(&GroundPatch::new(31, 2, former.patch(31, 2)).unwrap());
        assert_eq!(ground, former);
    }

    #[test]
    fn a_patch_is_within_regions_that_are_wide_enough() {
        let at = |column, row| GroundPatch::new(column, row, [0.0; PATCH_SAMPLES]).unwrap();
        assert!(at(15, 15).is_within(256) && !at(16, 0).is_within(256) && !at(0, 16).is_within(256));
        assert!(at(63, 63).is_within(1_024));
    }
}
