//! Overrides of render materials in archives.
//!
//! ```text
//! number of overrides U8, then for each: face U8, length of the text U16, text
//! ```
//!
//! A text is LLSD in notation with the keys of the message to viewers. No override, 0, is written for a prim that has had one.

use super::error::Flaw;
use ids::Uuid;
use prim::{AlphaMode, MATERIAL_TEXTURES, MaterialOverride, MaterialOverrides, TextureTransform};
use wire::llsd::{Limits, Llsd, notation};

/// Values of an override: those of four textures are 40.
const VALUES_MAX: usize = 256;

/// The bytes of overrides.
pub(super) fn encode(overrides: &MaterialOverrides) -> Vec<u8> {
    let mut bytes = vec![overrides.faces().len() as u8];
    for (face, changes) in overrides.faces() {
        let text = notation::encode(&override_llsd(changes));
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
        overrides.set(face, read_override(&changes)?)?;
        rest = behind;
    }
    Ok(Some(overrides))
}

fn read_override(changes: &Llsd) -> Result<MaterialOverride, Flaw> {
    if changes.as_map().is_none() {
        return Err(Flaw::NoOverrides);
    }
    let mut textures = [None; MATERIAL_TEXTURES];
    let mut transforms = [TextureTransform::default(); MATERIAL_TEXTURES];
    for (slot, texture) in textures.iter_mut().enumerate() {
        *texture = changes.get("tex").at(slot).as_uuid().filter(|id| !id.is_nil());
    }
    for (slot, transform) in transforms.iter_mut().enumerate() {
        let changes = changes.get("ti").at(slot);
        *transform = TextureTransform {
            offset: numbers(changes.get("o"))?,
            scale: numbers(changes.get("s"))?,
            rotation: number(changes.get("r"))?,
        };
    }
    let alpha_mode = match changes.get("am") {
        Llsd::Undef => None,
        mode => Some(match mode.as_i32() {
            Some(0) => AlphaMode::Opaque,
            Some(1) => AlphaMode::Blend,
            Some(2) => AlphaMode::Mask,
            _ => return Err(Flaw::NoOverrides),
        }),
    };
    Ok(MaterialOverride {
        textures,
        transforms,
        base_color: numbers(changes.get("bc"))?,
        emissive_color: numbers(changes.get("ec"))?,
        metallic: number(changes.get("mf"))?,
        roughness: number(changes.get("rf"))?,
        alpha_mode,
        alpha_cutoff: number(changes.get("ac"))?,
        is_double_sided: changes.get("ds").as_bool(),
    })
}

fn number(value: &Llsd) -> Result<Option<f32>, Flaw> {
    match value {
        Llsd::Undef => Ok(None),
        value => value.as_f64().map(|number| Some(number as f32)).ok_or(Flaw::NoOverrides),
    }
}

fn numbers<const N: usize>(value: &Llsd) -> Result<Option<[f32; N]>, Flaw> {
    if value.is_undef() {
        return Ok(None);
    }
    let mut numbers = [0.0; N];
    if value.as_array().len() != N {
        return Err(Flaw::NoOverrides);
    }
    for (at, entry) in numbers.iter_mut().zip(value.as_array()) {
        *at = number(entry)?.ok_or(Flaw::NoOverrides)?;
    }
    Ok(Some(numbers))
}

fn override_llsd(changes: &MaterialOverride) -> Llsd {
    let MaterialOverride {
        textures,
        transforms,
        base_color,
        emissive_color,
        metallic,
        roughness,
        alpha_mode,
        alpha_cutoff,
        is_double_sided,
    } = changes;
    let has_texture = textures.iter().any(Option::is_some);
    let has_transform = transforms.iter().any(|transform| *transform != TextureTransform::default());
    let texture = |id: &Option<Uuid>| id.map_or(Llsd::Undef, Llsd::Uuid);
    let entries = [
        ("tex", has_texture.then(|| Llsd::Array(textures.iter().map(texture).collect()))),
        ("bc", base_color.map(|color| reals(&color))),
        ("ec", emissive_color.map(|color| reals(&color))),
        ("mf", metallic.map(real)),
        ("rf", roughness.map(real)),
        ("am", alpha_mode.map(|mode| Llsd::Integer(mode as i32))),
        ("ac", alpha_cutoff.map(real)),
        ("ds", is_double_sided.map(Llsd::Boolean)),
        ("ti", has_transform.then(|| Llsd::Array(transforms.iter().map(transform_llsd).collect()))),
    ];
    Llsd::map(entries.into_iter().filter_map(|(key, value)| Some((key, value?))))
}

fn transform_llsd(transform: &TextureTransform) -> Llsd {
    let TextureTransform { offset, scale, rotation } = transform;
    let entries = [
        ("o", offset.map(|offset| reals(&offset))),
        ("s", scale.map(|scale| reals(&scale))),
        ("r", rotation.map(real)),
    ];
    Llsd::map(entries.into_iter().filter_map(|(key, value)| Some((key, value?))))
}

/// Exactly, unlike in the message to viewers: an archive has all of a material's digits.
fn real(value: f32) -> Llsd {
    Llsd::Real(f64::from(value))
}

fn reals(values: &[f32]) -> Llsd {
    Llsd::array(values.iter().map(|value| f64::from(*value)))
}
