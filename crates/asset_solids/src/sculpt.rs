//! Sculpts: a map of points as an image, red, green and blue being x, y and z.
//!
//! A prim collides as the convex hull of these points. Their stitching changes the surface between them, and its hull only for spheres, of which the first and the last row of the map are a
//! point each, that in the middle of the row. A sculpt that is turned inside out has the same hull.

use crate::parts::hull_solid;
use crate::{DecodedSolid, SolidError, SolidSource};
use glam::Vec3;
use hayro_jpeg2000::{DecodeSettings, DecoderContext, Image};

/// Pixels along a side of a map, at most. Viewers use 64 of them; a decoder's memory grows with their number.
pub(crate) const SIDE_MAX: u32 = 256;
/// Bits of a colour.
const DEPTH: u8 = 8;
const COLOUR_MAX: f32 = 255.0;

/// The hull of a sculpt map.
pub(crate) fn hull(
    codestream: &[u8],
    is_sphere: bool,
    is_mirrored: bool,
) -> Result<DecodedSolid, SolidError> {
    let map = SculptMap::decode(codestream)?;
    let solid = hull_solid(&map.points(is_sphere, is_mirrored)).ok_or(SolidError::Colours)?;
    Ok(DecodedSolid { solid, source: SolidSource::Hull })
}

/// A decoded map.
struct SculptMap {
    width: usize,
    /// Coordinates in shares of the scale, row by row.
    places: Vec<Vec3>,
}

impl SculptMap {
    fn decode(codestream: &[u8]) -> Result<Self, SolidError> {
        let settings = DecodeSettings::default();
        let image = Image::new(codestream, &settings).map_err(|_| SolidError::Codestream)?;
        let (width, height) = (image.width(), image.height());
        if width > SIDE_MAX || height > SIDE_MAX {
            return Err(SolidError::Pixels { width, height });
        }
        let mut context = DecoderContext::default();
        let decoded = image.decode(&mut context).map_err(|_| SolidError::Codestream)?;
        let [red, green, blue, ..] = decoded.components() else { return Err(SolidError::Colours) };
        let colours = [red, green, blue];
        let n_pixels = width as usize * height as usize;
        let is_map = |colour: &hayro_jpeg2000::ComponentData| {
            colour.bit_depth() == DEPTH && colour.samples().len() >= n_pixels
        };
        if n_pixels == 0 || !colours.into_iter().all(is_map) {
            return Err(SolidError::Colours);
        }
        let place = |pixel: usize| {
            let [x, y, z] = colours.map(|colour| coordinate(colour.samples()[pixel]));
            Vec3::new(x, y, z)
        };
        Ok(Self { width: width as usize, places: (0..n_pixels).map(place).collect() })
    }

    /// The points of the surface.
    fn points(&self, is_sphere: bool, is_mirrored: bool) -> Vec<Vec3> {
        let rows = self.places.chunks_exact(self.width);
        let last = rows.len().saturating_sub(1);
        let points = rows.enumerate().flat_map(|(row, points)| {
            let is_pole = is_sphere && (row == 0 || row == last);
            if is_pole { &points[self.width / 2..=self.width / 2] } else { points }
        });
        points.map(|&point| if is_mirrored { point.with_x(-point.x) } else { point }).collect()
    }
}

/// A coordinate from a colour. What a decoder makes of damaged bytes may be any number.
fn coordinate(colour: f32) -> f32 {
    let colour = if colour.is_finite() { colour.round().clamp(0.0, COLOUR_MAX) } else { 0.0 };
    colour / COLOUR_MAX - 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rows: &[&[[i8; 3]]]) -> SculptMap {
        let places = rows.concat().into_iter().map(|place| Vec3::from(place.map(f32::from)) / 10.0);
        SculptMap { width: rows[0].len(), places: places.collect() }
    }

    #[test]
    fn rows_at_the_poles_of_a_sphere_are_a_point_each() {
        let rows = [[[0; 3], [1; 3], [2; 3]], [[3; 3]; 3], [[4; 3], [5; 3], [4; 3]]];
        let map = map(&rows.each_ref().map(|row| &row[..]));
        let x_of = |is_sphere| -> Vec<i32> {
            let points = map.points(is_sphere, false);
            points.iter().map(|point| (point.x * 10.0).round() as i32).collect()
        };
        assert_eq!(x_of(false), [0, 1, 2, 3, 3, 3, 4, 5, 4]);
        assert_eq!(x_of(true), [1, 3, 3, 3, 5]);
    }

    #[test]
    fn mirrored_maps_are_turned_over_along_x() {
        let map = map(&[&[[1, 2, 3]]]);
        assert_eq!(map.points(true, true), [Vec3::new(-0.1, 0.2, 0.3)]);
    }

    #[test]
    fn colours_are_shares_of_the_scale_whatever_the_decoder_makes() {
        assert_eq!([0.0, 255.0, 300.0, -4.0].map(coordinate), [-0.5, 0.5, 0.5, -0.5]);
        assert_eq!([f32::NAN, f32::INFINITY].map(coordinate), [-0.5; 2]);
    }

    #[test]
    fn bytes_that_are_no_map_are_refused() {
        for bytes in [&b""[..], b"\xFF\x4F\xFF\x51", b"glTF", &[0; 1_000]] {
            assert_eq!(hull(bytes, false, false), Err(SolidError::Codestream));
        }
    }
}
