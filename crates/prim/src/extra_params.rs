//! Extra parameters of a prim: flexible, light, light image, sculpt, mesh, render materials, reflection probe.
//!
//! They are kept as the bytes that clients get: a count, then per entry a type (U16), a length (U32) and its data, all little-endian.
//! Entries stand in the order of their types, so that equal parameters are equal bytes. A client sends one entry at a time
//! (ObjectExtraParams); [`ExtraParams::with`] puts it among the others. Entries of unknown types are refused: what viewers do with them is
//! not known.

use ids::Uuid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use thiserror::Error;

/// Bytes of all entries. Those of every type together with 45 render materials are fewer.
pub const EXTRA_PARAMS_MAX: usize = 1_000;
/// Faces with a render material of their own.
const RENDER_MATERIALS_MAX: usize = 45;
/// A face, and the id of its material.
const RENDER_MATERIAL_LEN: usize = 17;
/// Type and length before the data of an entry.
const ENTRY_HEAD_LEN: usize = 6;

/// Type of an entry, by its code in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum ExtraParam {
    /// The prim bends: softness, tension, drag, gravity, wind, and a force.
    Flexible = 0x10,
    /// It is a point light: colour, radius, cutoff, falloff.
    Light = 0x20,
    /// A texture or a mesh asset has its form, and the kind of it.
    Sculpt = 0x30,
    /// The light projects an image: texture, field of view, focus, ambiance.
    LightImage = 0x40,
    /// Reserved for meshes; without meaning to viewers.
    Mesh = 0x60,
    /// Flags of a mesh: animated.
    MeshFlags = 0x70,
    /// A render material for each of some faces.
    RenderMaterial = 0x80,
    /// The prim reflects its surroundings: ambiance, clip distance, flags.
    ReflectionProbe = 0x90,
}

impl ExtraParam {
    const ALL: [Self; 8] = [
        Self::Flexible,
        Self::Light,
        Self::Sculpt,
        Self::LightImage,
        Self::Mesh,
        Self::MeshFlags,
        Self::RenderMaterial,
        Self::ReflectionProbe,
    ];

    /// The type with this code.
    ///
    /// # Errors
    /// [`ExtraParamError::Type`].
    pub fn of_code(code: u16) -> Result<Self, ExtraParamError> {
        Self::ALL.into_iter().find(|kind| *kind as u16 == code).ok_or(ExtraParamError::Type(code))
    }

    /// Checks the length of the data, and that its floats are numbers.
    fn check(self, data: &[u8]) -> Result<(), ExtraParamError> {
        let has_length = match self {
            Self::Flexible => matches!(data.len(), 4 | 16),
            Self::Light => data.len() == 16,
            Self::Sculpt | Self::Mesh => data.len() == 17,
            Self::LightImage => data.len() == 28,
            Self::MeshFlags => data.len() == 4,
            Self::RenderMaterial => data.first().is_some_and(|&n| {
                usize::from(n) <= RENDER_MATERIALS_MAX
                    && data.len() == 1 + usize::from(n) * RENDER_MATERIAL_LEN
            }),
            Self::ReflectionProbe => data.len() == 9,
        };
        if !has_length {
            return Err(ExtraParamError::Length { kind: self, len: data.len() });
        }
        let floats = match self {
            Self::Flexible if data.len() == 16 => 4..16,
            Self::Light => 4..16,
            Self::LightImage => 16..28,
            Self::ReflectionProbe => 0..8,
            _ => 0..0,
        };
        let (floats, _) = data[floats].as_chunks::<4>();
        if floats.iter().all(|&float| f32::from_le_bytes(float).is_finite()) {
            Ok(())
        } else {
            Err(ExtraParamError::NotANumber(self))
        }
    }
}

/// Reasons to refuse an entry, or bytes as entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ExtraParamError {
    /// No type has this code.
    #[error("no extra parameter has type {0:#x}")]
    Type(u16),
    /// An entry of this type has another length.
    #[error("{kind:?} of {len} bytes")]
    Length {
        /// Type of the entry.
        kind: ExtraParam,
        /// Its length in bytes.
        len: usize,
    },
    /// A float is infinite or no number.
    #[error("{0:?} with a value that is not a number")]
    NotANumber(ExtraParam),
    /// The bytes end within an entry, or after it.
    #[error("extra parameters that end elsewhere than they say")]
    Truncated,
    /// Two entries of one type.
    #[error("{0:?} twice")]
    Twice(ExtraParam),
    /// More than [`EXTRA_PARAMS_MAX`] bytes.
    #[error("extra parameters of {0} bytes")]
    Oversized(usize),
}

/// Entries in the order of their types. Cheap to clone: prims of an object often share them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Arc<[u8]>", into = "Arc<[u8]>")]
pub struct ExtraParams(Arc<[u8]>);

impl Default for ExtraParams {
    fn default() -> Self {
        Self(Arc::new([0]))
    }
}

impl TryFrom<Arc<[u8]>> for ExtraParams {
    type Error = ExtraParamError;

    fn try_from(bytes: Arc<[u8]>) -> Result<Self, ExtraParamError> {
        let parsed = Self::parse(&bytes)?;
        Ok(if *parsed.0 == *bytes { Self(bytes) } else { parsed })
    }
}

impl From<ExtraParams> for Arc<[u8]> {
    fn from(params: ExtraParams) -> Self {
        params.0
    }
}

impl ExtraParams {
    /// Reads entries in any order. No bytes are no entries.
    ///
    /// # Errors
    /// [`ExtraParamError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ExtraParamError> {
        if bytes.len() > EXTRA_PARAMS_MAX {
            return Err(ExtraParamError::Oversized(bytes.len()));
        }
        let Some((&count, mut rest)) = bytes.split_first() else { return Ok(Self::default()) };
        let mut entries = Vec::new();
        for _ in 0..count {
            let (entry, behind) = split_entry(rest)?;
            let (code, data) = entry;
            let kind = ExtraParam::of_code(code)?;
            kind.check(data)?;
            if entries.iter().any(|&(other, _)| other == kind) {
                return Err(ExtraParamError::Twice(kind));
            }
            entries.push((kind, data));
            rest = behind;
        }
        if !rest.is_empty() {
            return Err(ExtraParamError::Truncated);
        }
        Ok(Self::of(&mut entries))
    }

    fn of(entries: &mut [(ExtraParam, &[u8])]) -> Self {
        entries.sort_unstable_by_key(|&(kind, _)| kind);
        let mut bytes = vec![entries.len() as u8];
        for (kind, data) in entries {
            bytes.extend_from_slice(&(*kind as u16).to_le_bytes());
            bytes.extend_from_slice(&(data.len() as u32).to_le_bytes());
            bytes.extend_from_slice(data);
        }
        Self(bytes.into())
    }

    /// In the protocol's encoding; a zero byte without entries.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Entries, in the order of their types.
    pub fn entries(&self) -> impl Iterator<Item = (ExtraParam, &[u8])> {
        let mut rest = &self.0[1..];
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let ((code, data), behind) = split_entry(rest).expect("checked when it was made");
            rest = behind;
            Some((ExtraParam::of_code(code).expect("checked when it was made"), data))
        })
    }

    /// Data of the entry of a type.
    #[must_use]
    pub fn get(&self, kind: ExtraParam) -> Option<&[u8]> {
        self.entries().find_map(|(other, data)| (other == kind).then_some(data))
    }

    /// With another entry of this type, or with none.
    ///
    /// # Errors
    /// [`ExtraParamError`]; nothing changes then.
    pub fn with(&self, kind: ExtraParam, data: Option<&[u8]>) -> Result<Self, ExtraParamError> {
        if let Some(data) = data {
            kind.check(data)?;
        }
        let others = self.entries().filter(|&(other, _)| other != kind);
        let mut entries: Vec<_> = others.chain(data.map(|data| (kind, data))).collect();
        let len = 1 + entries.iter().map(|(_, data)| ENTRY_HEAD_LEN + data.len()).sum::<usize>();
        if len > EXTRA_PARAMS_MAX {
            return Err(ExtraParamError::Oversized(len));
        }
        Ok(Self::of(&mut entries))
    }

    /// Faces with a render material, and its id.
    pub fn render_materials(&self) -> impl Iterator<Item = (u8, Uuid)> {
        let data = self.get(ExtraParam::RenderMaterial).and_then(|data| data.get(1..)).unwrap_or_default();
        let (rows, _) = data.as_chunks::<RENDER_MATERIAL_LEN>();
        rows.iter().map(|&[face, ref id @ ..]| (face, Uuid::from_bytes(*id)))
    }

    /// With another render material on some faces; null for none.
    ///
    /// # Errors
    /// [`ExtraParamError`]; nothing changes then.
    pub fn with_render_material(&self, faces: RangeInclusive<u8>, id: Uuid) -> Result<Self, ExtraParamError> {
        let mut rows: BTreeMap<u8, Uuid> = self.render_materials().collect();
        rows.extend(faces.map(|face| (face, id)));
        rows.retain(|_, id| !id.is_nil());
        if rows.is_empty() {
            return self.with(ExtraParam::RenderMaterial, None);
        }
        let mut data = vec![rows.len() as u8];
        for (face, id) in &rows {
            data.push(*face);
            data.extend_from_slice(id.as_bytes());
        }
        self.with(ExtraParam::RenderMaterial, Some(&data))
    }

    /// Id of the texture or mesh that has the prim's form, and its kind (5 is a mesh).
    #[must_use]
    pub fn sculpt(&self) -> Option<(Uuid, u8)> {
        let data = self.get(ExtraParam::Sculpt)?;
        let (id, kind) = data.split_first_chunk::<16>()?;
        Some((Uuid::from_bytes(*id), *kind.first()?))
    }
}

type Entry<'a> = (u16, &'a [u8]);

/// The first entry, and the bytes behind it.
fn split_entry(bytes: &[u8]) -> Result<(Entry<'_>, &[u8]), ExtraParamError> {
    let (code, rest) = bytes.split_first_chunk().ok_or(ExtraParamError::Truncated)?;
    let (len, rest) = rest.split_first_chunk().ok_or(ExtraParamError::Truncated)?;
    let len = usize::try_from(u32::from_le_bytes(*len)).map_err(|_| ExtraParamError::Truncated)?;
    let (data, rest) = rest.split_at_checked(len).ok_or(ExtraParamError::Truncated)?;
    Ok(((u16::from_le_bytes(*code), data), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn light(radius: f32) -> Vec<u8> {
        [&[255, 255, 255, 255], &radius.to_le_bytes()[..], &[0; 4], &1.0_f32.to_le_bytes()].concat()
    }

    fn sculpt(kind: u8) -> Vec<u8> {
        [&[7; 16][..], &[kind]].concat()
    }

    #[test]
    fn entries_are_kept_in_the_order_of_their_types() {
        let none = ExtraParams::default();
        assert_eq!(none.as_bytes(), [0]);
        let one = none.with(ExtraParam::Sculpt, Some(&sculpt(5))).unwrap();
        let two = one.with(ExtraParam::Light, Some(&light(5.0))).unwrap();
        assert_eq!(
            two.entries().map(|(kind, _)| kind).collect::<Vec<_>>(),
            [ExtraParam::Light, ExtraParam::Sculpt]
        );
        assert_eq!(two.sculpt(), Some((Uuid::from_bytes([7; 16]), 5)));
        assert_eq!(two.with(ExtraParam::Light, None).unwrap(), one);
        assert_eq!(ExtraParams::parse(two.as_bytes()), Ok(two.clone()));
        let other_order = [
            &[2][..],
            &one.as_bytes()[1..],
            &none.with(ExtraParam::Light, Some(&light(5.0))).unwrap().0[1..],
        ]
        .concat();
        assert_eq!(ExtraParams::parse(&other_order), Ok(two));
    }

    #[test]
    fn an_entry_replaces_the_former_one_of_its_type() {
        let dim = ExtraParams::default().with(ExtraParam::Light, Some(&light(1.0))).unwrap();
        let bright = dim.with(ExtraParam::Light, Some(&light(20.0))).unwrap();
        assert_eq!(bright.get(ExtraParam::Light), Some(&light(20.0)[..]));
        assert_eq!(bright.as_bytes()[0], 1);
    }

    #[test]
    fn damage_is_refused_with_its_reason() {
        let none = ExtraParams::default();
        assert_eq!(
            none.with(ExtraParam::Light, Some(&[1, 2])),
            Err(ExtraParamError::Length { kind: ExtraParam::Light, len: 2 })
        );
        for broken in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let refused = none.with(ExtraParam::Light, Some(&light(broken)));
            assert_eq!(refused, Err(ExtraParamError::NotANumber(ExtraParam::Light)));
        }
        let good = none.with(ExtraParam::Light, Some(&light(1.0))).unwrap();
        for len in 1..good.as_bytes().len() {
            assert_eq!(ExtraParams::parse(&good.as_bytes()[..len]), Err(ExtraParamError::Truncated), "{len}");
        }
        let trailing = [good.as_bytes(), &[0]].concat();
        assert_eq!(ExtraParams::parse(&trailing), Err(ExtraParamError::Truncated));
        let twice = [&[2][..], &good.as_bytes()[1..], &good.as_bytes()[1..]].concat();
        assert_eq!(ExtraParams::parse(&twice), Err(ExtraParamError::Twice(ExtraParam::Light)));
        assert_eq!(ExtraParams::parse(&[1, 0x11, 0, 0, 0, 0, 0]), Err(ExtraParamError::Type(0x11)));
        assert_eq!(ExtraParams::parse(&[1, 0x20, 0, 255, 255, 255, 255]), Err(ExtraParamError::Truncated));
        assert_eq!(ExtraParams::parse(&[0; 1_001]), Err(ExtraParamError::Oversized(1_001)));
        assert_eq!(ExtraParams::parse(&[]), Ok(none));
    }

    #[test]
    fn a_render_material_stands_for_each_face_that_it_counts() {
        let none = ExtraParams::default();
        let materials = [&[2][..], &[0; 17], &[1; 17]].concat();
        assert!(none.with(ExtraParam::RenderMaterial, Some(&materials)).is_ok());
        assert!(none.with(ExtraParam::RenderMaterial, Some(&materials[..34])).is_err());
        assert!(none.with(ExtraParam::RenderMaterial, Some(&[])).is_err());
        let many = [&[46][..], &[0; 46 * 17]].concat();
        assert!(none.with(ExtraParam::RenderMaterial, Some(&many)).is_err());
    }

    #[test]
    fn render_materials_are_set_face_by_face() {
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let params = ExtraParams::default().with_render_material(0..=2, one).unwrap();
        let params = params.with_render_material(1..=1, other).unwrap();
        let params = params.with_render_material(0..=0, Uuid::nil()).unwrap();
        assert_eq!(params.render_materials().collect::<Vec<_>>(), [(1, other), (2, one)]);
        assert_eq!(params.with_render_material(0..=44, Uuid::nil()).unwrap(), ExtraParams::default());
        assert!(params.with_render_material(0..=45, one).is_err(), "a prim has 45 faces");
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_panic_and_read_back(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(params) = ExtraParams::parse(&bytes) {
                prop_assert_eq!(ExtraParams::parse(params.as_bytes()), Ok(params.clone()));
                let stored = postcard::to_stdvec(&params).unwrap();
                prop_assert_eq!(postcard::from_bytes(&stored), Ok(params));
            }
        }
    }
}
