//! Terrain of a region: heights of the samples, metres, row by row from the south-west corner, as little-endian floats without a header.

/// Side of a region without a stated size, metres, and the unit of all sizes.
pub const REGION_SIDE_M: u32 = 256;

/// Side of the largest region, metres.
pub const REGION_SIDE_MAX_M: u32 = 4_096;

/// Heights of a region.
#[derive(Clone, Debug, PartialEq)]
pub struct TerrainHeights {
    /// Samples of a row, from west to east: the region's width in metres.
    pub width: u32,
    /// Rows, from south to north: the region's depth in metres.
    pub depth: u32,
    /// Metres, all finite.
    pub heights: Vec<f32>,
}

/// Reason for which a terrain cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TerrainFileError {
    /// The bytes are those of no region.
    #[error("its {bytes} bytes are not the heights of a region")]
    Length {
        /// Their number.
        bytes: u64,
    },
    /// The bytes are those of another size than the control file states.
    #[error("its {bytes} bytes are not the heights of a region of {width} x {depth} m")]
    Size {
        /// Their number.
        bytes: u64,
        /// The stated width.
        width: u32,
        /// The stated depth.
        depth: u32,
    },
    /// A height is infinite, or no number.
    #[error("the height at {x}, {y} is not finite")]
    Infinite {
        /// Metres from the west.
        x: u32,
        /// Metres from the south.
        y: u32,
    },
}

/// Width and depth of a terrain by its bytes: the stated size, or else a square.
///
/// # Errors
/// [`TerrainFileError::Length`] or [`TerrainFileError::Size`].
pub fn terrain_size(bytes: u64, stated: Option<(u32, u32)>) -> Result<(u32, u32), TerrainFileError> {
    if let Some((width, depth)) = stated {
        let samples = u64::from(width) * u64::from(depth);
        let is_equal = samples.checked_mul(4) == Some(bytes);
        let other = TerrainFileError::Size { bytes, width, depth };
        return if is_equal { Ok((width, depth)) } else { Err(other) };
    }
    let side = (1..=REGION_SIDE_MAX_M / REGION_SIDE_M)
        .map(|n| n * REGION_SIDE_M)
        .find(|&side| u64::from(side) * u64::from(side) * 4 == bytes);
    side.map(|side| (side, side)).ok_or(TerrainFileError::Length { bytes })
}

impl TerrainHeights {
    /// Reads a terrain. Without a stated size of the region it is a square.
    ///
    /// # Errors
    /// [`TerrainFileError`].
    pub fn read(bytes: &[u8], stated: Option<(u32, u32)>) -> Result<Self, TerrainFileError> {
        let (width, depth) = terrain_size(bytes.len() as u64, stated)?;
        let mut scan = HeightScan::default();
        scan.add(bytes);
        scan.check(width)?;
        let (samples, _) = bytes.as_chunks::<4>();
        Ok(Self { width, depth, heights: samples.iter().map(|&sample| f32::from_le_bytes(sample)).collect() })
    }

    /// The bytes of the file.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        self.heights.iter().flat_map(|height| height.to_le_bytes()).collect()
    }
}

/// A look through heights without memory for them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeightScan {
    /// Heights seen.
    pub n_heights: u64,
    /// The lowest and the highest one, metres.
    pub range: Option<(f32, f32)>,
    /// The first one, if any, that has no finite value.
    pub first_infinite: Option<u64>,
}

impl HeightScan {
    /// Looks through the next part of a file: whole heights, but for the end of the last part.
    pub fn add(&mut self, bytes: &[u8]) {
        let (samples, _) = bytes.as_chunks::<4>();
        for &sample in samples {
            let height = f32::from_le_bytes(sample);
            if height.is_finite() {
                let (lowest, highest) = self.range.unwrap_or((height, height));
                self.range = Some((lowest.min(height), highest.max(height)));
            } else {
                self.first_infinite.get_or_insert(self.n_heights);
            }
            self.n_heights += 1;
        }
    }

    /// True of all heights seen, in rows of this width.
    ///
    /// # Errors
    /// [`TerrainFileError::Infinite`].
    pub fn check(&self, width: u32) -> Result<(), TerrainFileError> {
        let Some(at) = self.first_infinite else { return Ok(()) };
        let width = u64::from(width.max(1));
        let saturated = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        Err(TerrainFileError::Infinite { x: saturated(at % width), y: saturated(at / width) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(n_heights: usize) -> Vec<u8> {
        (0..n_heights).flat_map(|n| (n as f32 / 8.0).to_le_bytes()).collect()
    }

    #[test]
    fn terrains_of_every_size_are_read_as_they_are_written() {
        for (stated, size) in [
            (None, (256, 256)),
            (None, (512, 512)),
            (Some((512, 256)), (512, 256)),
            (Some((256, 256)), (256, 256)),
            (Some((16, 48)), (16, 48)),
        ] {
            let file = bytes((size.0 * size.1) as usize);
            let terrain = TerrainHeights::read(&file, stated).unwrap();
            assert_eq!((terrain.width, terrain.depth, terrain.heights[3]), (size.0, size.1, 0.375));
            assert_eq!(terrain.write(), file);
        }
        assert_eq!(terrain_size(64 << 20, None), Ok((REGION_SIDE_MAX_M, REGION_SIDE_MAX_M)));
    }

    #[test]
    fn other_lengths_and_heights_that_are_no_numbers_are_refused() {
        for n_bytes in [0, 3, 4, 262_143, 262_148, 257 * 257 * 4] {
            assert_eq!(terrain_size(n_bytes, None), Err(TerrainFileError::Length { bytes: n_bytes }));
        }
        let other = Err(TerrainFileError::Size { bytes: 262_144, width: 512, depth: 256 });
        assert_eq!(terrain_size(262_144, Some((512, 256))), other);
        assert!(terrain_size(4, Some((u32::MAX, u32::MAX))).is_err());
        for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut file = bytes(65_536);
            file[4 * 515..4 * 516].copy_from_slice(&wrong.to_le_bytes());
            assert_eq!(TerrainHeights::read(&file, None), Err(TerrainFileError::Infinite { x: 3, y: 2 }));
        }
    }

    #[test]
    fn a_scan_in_parts_sees_what_a_whole_one_sees() {
        let file = bytes(65_536);
        let (mut whole, mut parts) = (HeightScan::default(), HeightScan::default());
        whole.add(&file);
        file.chunks(4_096).for_each(|part| parts.add(part));
        assert_eq!(whole, parts);
        assert_eq!((whole.n_heights, whole.range), (65_536, Some((0.0, 8_191.875))));
    }
}
