//! Landmarks: a place, as a few lines of text. [`super::text`] has the form.

use super::Unfit;
use super::lines::{Lines, are_finite, is_uuid, value_of};
use crate::kind::AssetKind;
use ids::Uuid;

/// The place that a landmark leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Landmark {
    /// In a region.
    InRegion {
        /// The region.
        region: Uuid,
        /// Metres from its corner, finite.
        position: [f32; 3],
    },
    /// Anywhere on the grid, by the old form.
    OnGrid {
        /// Metres from the grid's corner, finite.
        position: [f32; 3],
    },
}

/// Reads a landmark.
///
/// # Errors
/// [`Unfit`] with the reason for the user.
pub fn read_landmark(bytes: &[u8]) -> Result<Landmark, Unfit> {
    let kind = AssetKind::Landmark;
    let mut lines = Lines::new(kind, bytes);
    let version = "Landmark version";
    if !(1..=2).contains(&lines.number(version)?) {
        return Err(lines.invalid(version));
    }
    let line = lines.populated("position")?;
    let invalid = |field| Unfit::Invalid { kind, field };
    if let Some(region) = value_of(line, "region_id") {
        let region = Some(region).filter(|text| is_uuid(text)).and_then(|text| Uuid::try_parse(text).ok());
        let region = region.ok_or_else(|| invalid("region_id"))?;
        let position = position(lines.field("local_pos")?).ok_or_else(|| invalid("position"))?;
        return Ok(Landmark::InRegion { region, position });
    }
    let text = value_of(line, "position").ok_or(Unfit::Missing { kind, part: "position" })?;
    let position = position(text).ok_or_else(|| invalid("position"))?;
    Ok(Landmark::OnGrid { position })
}

/// The text of a landmark in a region, with the region's handle as OpenSimulator expects it behind the place.
#[must_use]
pub fn landmark_text(region: Uuid, [x, y, z]: [f32; 3], handle: u64) -> String {
    format!("Landmark version 2\nregion_id {region}\nlocal_pos {x} {y} {z}\nregion_handle {handle}\n")
}

/// Three finite numbers.
fn position(text: &str) -> Option<[f32; 3]> {
    if !are_finite(text, 3) {
        return None;
    }
    let mut words = text.split_whitespace().map(|word| word.parse::<f32>().ok().filter(|n| n.is_finite()));
    let mut next = || words.next().flatten();
    Some([next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REGION: Uuid = Uuid::from_u128(0xC228_D1CF_4B5D_4BA8_84F4_899A_0796_AA97);

    #[test]
    fn both_forms_are_read() {
        let text = format!("Landmark version 2\nregion_id {REGION}\nlocal_pos 128 64.5 2\n\0");
        let expected = Landmark::InRegion { region: REGION, position: [128.0, 64.5, 2.0] };
        assert_eq!(read_landmark(text.as_bytes()), Ok(expected));
        let old = read_landmark(b"Landmark version 1\nposition 256000.5 256000 2");
        assert_eq!(old, Ok(Landmark::OnGrid { position: [256_000.5, 256_000.0, 2.0] }));
    }

    #[test]
    fn positions_are_finite_as_they_are_kept() {
        let invalid = Err(Unfit::Invalid { kind: AssetKind::Landmark, field: "position" });
        for position in ["1 2 1e300", "1 2", "1 2 3 4", "a b c"] {
            let text = format!("Landmark version 1\nposition {position}");
            assert_eq!(read_landmark(text.as_bytes()), invalid, "{position}");
        }
    }

    proptest! {
        #[test]
        fn a_written_landmark_is_read_back(
            region in any::<u128>(), position in prop::array::uniform3(-1e6_f32..1e6), handle in any::<u64>(),
        ) {
            let region = Uuid::from_u128(region);
            let text = landmark_text(region, position, handle);
            prop_assert_eq!(read_landmark(text.as_bytes()), Ok(Landmark::InRegion { region, position }));
        }
    }
}
