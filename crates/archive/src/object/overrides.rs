//! Overrides of render materials in archives.
//!
//! ```text
//! number of overrides U8, then for each: face U8, length of the text U16, text
//! ```
//!
//! A text is LLSD in notation with the keys of the message to viewers. No override, 0, is written for a prim that has had one.

use super::error::Flaw;
use crate::face_llsd::{Digits, override_llsd, read_override};
use prim::MaterialOverrides;
use wire::llsd::{Limits, notation};

/// Values of an override: those of four textures are 40.
const VALUES_MAX: usize = 256;

/// The bytes of overrides.
pub(super) fn encode(overrides: &MaterialOverrides) -> Vec<u8> {
    let mut bytes = vec![overrides.faces().len() as u8];
    for (face, changes) in overrides.faces() {
        let text = notation::encode(&override_llsd(changes, Digits::All));
        bytes.push(face);
        bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

/// Overrides from their bytes; no bytes are none at all.
///
/// # Errors
/// [`Flaw`] of the first damaged override.
pub(super) fn decode(bytes: &[u8]) -> Result<Option<MaterialOverrides>, Flaw> {
    let Some((&count, mut rest)) = bytes.split_first() else { return Ok(None) };
    let mut overrides = MaterialOverrides::default();
    for _ in 0..count {
        let (&[face, low, high], behind) = rest.split_first_chunk().ok_or(Flaw::NoOverrides)?;
        let len = usize::from(u16::from_le_bytes([low, high]));
        let (text, behind) = behind.split_at_checked(len).ok_or(Flaw::NoOverrides)?;
        let limits = Limits { bytes_max: len, values_max: VALUES_MAX };
        let changes = notation::decode(text, limits).map_err(|_| Flaw::NoOverrides)?;
        overrides.set(face, read_override(&changes).ok_or(Flaw::NoOverrides)?)?;
        rest = behind;
    }
    Ok(Some(overrides))
}
