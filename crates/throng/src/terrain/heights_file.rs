//! Grounds as files: raw heights, and pictures.
//!
//! | name ends with | content |
//! |---|---|
//! | `.r32`, `.raw` | heights in metres as little-endian 32-bit floats, row by row from the south-west |
//! | `.png` | 16-bit greys, row by row from the north-west; black is the lowest height of a range, white the highest |

use super::png16::{self, GreyPicture, PngError};
use link::{Terrain, TerrainError};
use std::path::Path;

/// Forms of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeightsForm {
    Raw,
    Png,
}

impl HeightsForm {
    /// The form that a file's name stands for.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "r32" | "raw" => Some(Self::Raw),
            "png" => Some(Self::Png),
            _ => None,
        }
    }
}

/// Heights of the darkest and of the brightest pixel, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HeightRange {
    pub(super) lowest_m: f32,
    pub(super) highest_m: f32,
}

/// Reasons for which bytes are no ground, or a ground is no picture.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum HeightsError {
    /// Its heights.
    #[error(transparent)]
    Terrain(#[from] TerrainError),
    /// It is no such picture.
    #[error(transparent)]
    Png(#[from] PngError),
    /// Another number of samples than that of a region.
    #[error(
        "{0} bytes are not the heights of a region: 256 m, 512 m, 768 m or 1,024 m wide, with four bytes for each square metre"
    )]
    Bytes(usize),
    /// A picture that is not as high as wide.
    #[error("a picture of {0} × {1} pixels is no region")]
    Shape(u32, u32),
    /// Heights of no range.
    #[error("{0} m to {1} m is no range of heights")]
    Range(f32, f32),
    /// A ground beyond the range of a picture.
    #[error("the ground reaches from {0} m to {1} m: state a range that holds it (--lowest, --highest)")]
    Beyond(f32, f32),
}

/// Reads a ground.
pub(super) fn decode(form: HeightsForm, bytes: &[u8], range: HeightRange) -> Result<Terrain, HeightsError> {
    match form {
        HeightsForm::Raw => {
            let size_m = (bytes.len() / 4).isqrt();
            let size_m = u32::try_from(size_m).ok().filter(|_| size_m * size_m * 4 == bytes.len());
            Ok(Terrain::from_r32(size_m.ok_or(HeightsError::Bytes(bytes.len()))?, bytes)?)
        }
        HeightsForm::Png => {
            range.check()?;
            let GreyPicture { width, height, samples } = png16::decode(bytes)?;
            if width != height {
                return Err(HeightsError::Shape(width, height));
            }
            let rows = samples.chunks_exact(width as usize).rev().flatten();
            Ok(Terrain::from_heights(width, rows.map(|sample| range.height_of(*sample)).collect())?)
        }
    }
}

/// Writes a ground.
pub(super) fn encode(
    form: HeightsForm,
    ground: &Terrain,
    range: HeightRange,
) -> Result<Vec<u8>, HeightsError> {
    match form {
        HeightsForm::Raw => Ok(ground.to_r32()),
        HeightsForm::Png => {
            range.check()?;
            let (lowest, highest) = ground.extremes();
            if lowest < range.lowest_m || highest > range.highest_m {
                return Err(HeightsError::Beyond(lowest, highest));
            }
            let size_m = ground.size_m();
            let rows = ground.heights().chunks_exact(size_m as usize).rev().flatten();
            let samples = rows.map(|height| range.sample_of(*height)).collect();
            Ok(png16::encode(&GreyPicture { width: size_m, height: size_m, samples }))
        }
    }
}

impl HeightRange {
    fn check(self) -> Result<(), HeightsError> {
        let Self { lowest_m, highest_m } = self;
        let is_height = |height: f32| height.abs() <= Terrain::HEIGHT_MAX_M;
        let is_range = is_height(lowest_m) && is_height(highest_m) && lowest_m < highest_m;
        if is_range { Ok(()) } else { Err(HeightsError::Range(lowest_m, highest_m)) }
    }

    fn height_of(self, sample: u16) -> f32 {
        let share = f64::from(sample) / f64::from(u16::MAX);
        let (lowest, highest) = (f64::from(self.lowest_m), f64::from(self.highest_m));
        (lowest + share * (highest - lowest)) as f32
    }

    /// The sample whose height is the nearest one.
    fn sample_of(self, height: f32) -> u16 {
        let (lowest, highest) = (f64::from(self.lowest_m), f64::from(self.highest_m));
        let share = (f64::from(height) - lowest) / (highest - lowest);
        // Between 0 and 65,535: the height is within the range.
        (share * f64::from(u16::MAX)).round() as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: HeightRange = HeightRange { lowest_m: 0.0, highest_m: 256.0 };

    fn hills() -> Terrain {
        Terrain::hills(256, 7)
    }

    #[test]
    fn names_tell_the_form() {
        let form = |name: &str| HeightsForm::of(Path::new(name));
        assert_eq!([form("a/b.r32"), form("B.RAW")], [Some(HeightsForm::Raw); 2]);
        assert_eq!(form("x.png"), Some(HeightsForm::Png));
        assert_eq!([form("x"), form("x.jpg"), form(".png")], [None; 3]);
    }

    #[test]
    fn raw_heights_come_back_as_they_went() {
        let bytes = encode(HeightsForm::Raw, &hills(), RANGE).unwrap();
        assert_eq!(decode(HeightsForm::Raw, &bytes, RANGE), Ok(hills()));
        for n in [0, 1, bytes.len() - 4, bytes.len() - 1] {
            assert!(decode(HeightsForm::Raw, &bytes[..n], RANGE).is_err(), "{n} bytes");
        }
    }

    #[test]
    fn a_picture_has_the_north_above_and_the_nearest_greys() {
        let mut ground = Terrain::flat(256, 20.0);
        ground.set_heights(0, 255, &[100.0]);
        let bytes = encode(HeightsForm::Png, &ground, RANGE).unwrap();
        let picture = png16::decode(&bytes).unwrap();
        assert_eq!(picture.samples[0], 25_600, "the north-west corner is the first pixel");
        let read = decode(HeightsForm::Png, &bytes, RANGE).unwrap();
        let step = 256.0 / f32::from(u16::MAX);
        let is_near = |(one, other): (&f32, &f32)| (one - other).abs() <= step;
        assert!(read.heights().iter().zip(ground.heights()).all(is_near));
    }

    #[test]
    fn grounds_beyond_the_range_and_ranges_of_nothing_are_refused() {
        let ground = Terrain::flat(256, 300.0);
        let why = encode(HeightsForm::Png, &ground, RANGE).unwrap_err();
        assert_eq!(why, HeightsError::Beyond(300.0, 300.0));
        for (lowest_m, highest_m) in [(5.0, 5.0), (6.0, 5.0), (0.0, f32::NAN), (0.0, 1e9)] {
            let range = HeightRange { lowest_m, highest_m };
            assert!(matches!(encode(HeightsForm::Png, &ground, range), Err(HeightsError::Range(..))));
        }
        let wide = png16::encode(&GreyPicture { width: 512, height: 256, samples: vec![0; 512 * 256] });
        assert_eq!(decode(HeightsForm::Png, &wide, RANGE), Err(HeightsError::Shape(512, 256)));
        let small = png16::encode(&GreyPicture { width: 16, height: 16, samples: vec![0; 256] });
        assert_eq!(
            decode(HeightsForm::Png, &small, RANGE),
            Err(HeightsError::Terrain(TerrainError::Size(16)))
        );
    }
}
