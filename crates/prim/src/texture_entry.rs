//! Structure of a texture entry. It stays the bytes that a client sent; only a whole one is accepted.
//!
//! ```text
//! entry  = 10 or 11 fields: texture id 16, colour 4, repeat u F32, repeat v F32, offset u S16, offset v S16, rotation S16, material 1,
//!          media 1, glow 1, render material id 16
//! field  = value of all other faces, exceptions, 0x00 (left out at the end of the bytes)
//! exception = faces, value
//! faces  = bits of the faces 0–44, 7 a byte, highest ones first, 0x80 on all bytes but the last
//! ```

use crate::body::TEXTURE_ENTRY_MAX;
use crate::media::FACES_MAX;
use ids::Uuid;
use thiserror::Error;

/// Bytes of a value of each field.
const FIELD_LENS: [usize; 11] = [16, 4, 4, 4, 2, 2, 2, 1, 1, 1, 16];
/// Fields that no entry lacks: clients older than render materials send no more.
const FIELDS_MIN: usize = 10;
/// The fields that are floats: repeats.
const FLOAT_FIELDS: [usize; 2] = [2, 3];
/// Number of the field with the marks of faces, and the bit of media in it.
const MARKS_FIELD: usize = 8;
const HAS_MEDIA: u8 = 1;
/// Number of the field with the ids of legacy materials.
const MATERIAL_ID_FIELD: usize = 10;

/// Reasons to refuse bytes as a texture entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TextureEntryError {
    /// More than [`TEXTURE_ENTRY_MAX`] bytes.
    #[error("a texture entry of {0} bytes")]
    Oversized(usize),
    /// The bytes end within a value, or before the tenth field.
    #[error("a texture entry that ends early")]
    Truncated,
    /// Bytes behind the last field.
    #[error("{0} bytes behind a texture entry")]
    Trailing(usize),
    /// Faces that no prim has, or none.
    #[error("a texture entry with values for faces that no prim has")]
    Faces,
    /// A repeat that is infinite or not a number.
    #[error("a texture entry with a value that is not a number")]
    NotANumber,
}

/// Checks that these bytes are a whole texture entry.
///
/// # Errors
/// [`TextureEntryError`].
pub fn check_texture_entry(bytes: &[u8]) -> Result<(), TextureEntryError> {
    if bytes.len() > TEXTURE_ENTRY_MAX {
        return Err(TextureEntryError::Oversized(bytes.len()));
    }
    let mut rest = bytes;
    for (field, len) in FIELD_LENS.into_iter().enumerate() {
        if rest.is_empty() && field >= FIELDS_MIN {
            return Ok(());
        }
        rest = skip_field(rest, len, FLOAT_FIELDS.contains(&field))?;
    }
    if rest.is_empty() { Ok(()) } else { Err(TextureEntryError::Trailing(rest.len())) }
}

/// The bytes behind a field.
fn skip_field(bytes: &[u8], len: usize, is_float: bool) -> Result<&[u8], TextureEntryError> {
    let mut rest = skip_value(bytes, len, is_float)?;
    loop {
        match rest.split_first() {
            None => return Ok(rest),
            Some((0, behind)) => return Ok(behind),
            Some(_) => rest = skip_value(split_faces(rest)?.1, len, is_float)?,
        }
    }
}

fn skip_value(bytes: &[u8], len: usize, is_float: bool) -> Result<&[u8], TextureEntryError> {
    let (value, rest) = bytes.split_at_checked(len).ok_or(TextureEntryError::Truncated)?;
    let (floats, _) = value.as_chunks::<4>();
    if is_float && !floats.iter().all(|&float| f32::from_le_bytes(float).is_finite()) {
        return Err(TextureEntryError::NotANumber);
    }
    Ok(rest)
}

/// The faces of an exception, a bit for each, and the bytes behind them.
fn split_faces(bytes: &[u8]) -> Result<(u64, &[u8]), TextureEntryError> {
    let mut faces = 0_u64;
    for (index, byte) in bytes.iter().enumerate() {
        faces = faces << 7 | u64::from(byte & 0x7F);
        if faces >> FACES_MAX != 0 {
            return Err(TextureEntryError::Faces);
        }
        if byte & 0x80 == 0 {
            return if faces == 0 { Err(TextureEntryError::Faces) } else { Ok((faces, &bytes[index + 1..])) };
        }
    }
    Err(TextureEntryError::Truncated)
}

/// A texture entry whose faces are marked as having media, or not, by the bits of `faces`.
///
/// # Errors
/// [`TextureEntryError`], also if the result would be too long.
pub fn with_media_marks(entry: &[u8], faces: u64) -> Result<Vec<u8>, TextureEntryError> {
    with_field(entry, MARKS_FIELD, |face, value| {
        let has_media = face.is_some_and(|face| faces >> face & 1 == 1);
        value[0] = (value[0] & !HAS_MEDIA) | (u8::from(has_media) * HAS_MEDIA);
    })
}

/// A texture entry with this legacy material on a face, or on all; null for none.
///
/// # Errors
/// [`TextureEntryError`], also if the result would be too long.
pub fn with_material_id(entry: &[u8], face: Option<u8>, id: Uuid) -> Result<Vec<u8>, TextureEntryError> {
    with_field(entry, MATERIAL_ID_FIELD, |other, value| {
        if face.is_none() || face.map(u32::from) == other {
            value.copy_from_slice(id.as_bytes());
        }
    })
}

/// A texture entry in which `set` has changed the values of a field: that of all other faces (`None`), and that of each face.
fn with_field(
    entry: &[u8],
    changed: usize,
    set: impl Fn(Option<u32>, &mut [u8]),
) -> Result<Vec<u8>, TextureEntryError> {
    check_texture_entry(entry)?;
    let (mut out, mut rest) = (Vec::with_capacity(entry.len() + FIELD_LENS[MATERIAL_ID_FIELD] + 8), entry);
    for (number, len) in FIELD_LENS.into_iter().enumerate() {
        // Clients older than the last field leave it out: zeros on all faces.
        let is_left_out = rest.is_empty() && number >= FIELDS_MIN;
        if is_left_out && number != changed {
            break;
        }
        let mut field = if is_left_out { Field::zeros(len) } else { Field::split(&mut rest, len)? };
        if number == changed {
            field = field.changed(&set);
        }
        field.write(&mut out);
    }
    if out.len() > TEXTURE_ENTRY_MAX { Err(TextureEntryError::Oversized(out.len())) } else { Ok(out) }
}

/// A value, and the bytes behind it.
fn split_value(bytes: &[u8], len: usize) -> Result<(Vec<u8>, &[u8]), TextureEntryError> {
    let (value, behind) = bytes.split_at_checked(len).ok_or(TextureEntryError::Truncated)?;
    Ok((value.to_vec(), behind))
}

/// Values of a field.
struct Field {
    others: Vec<u8>,
    /// Faces, a bit for each, and their value. Later ones count.
    exceptions: Vec<(u64, Vec<u8>)>,
}

impl Field {
    fn zeros(len: usize) -> Self {
        Self { others: vec![0; len], exceptions: Vec::new() }
    }

    /// Takes a field from the begin of a checked entry.
    fn split(entry: &mut &[u8], len: usize) -> Result<Self, TextureEntryError> {
        let (others, mut rest) = split_value(entry, len)?;
        let mut exceptions = Vec::new();
        while let Some((&first, behind)) = rest.split_first() {
            if first == 0 {
                rest = behind;
                break;
            }
            let (faces, behind) = split_faces(rest)?;
            let (value, behind) = split_value(behind, len)?;
            exceptions.push((faces, value));
            rest = behind;
        }
        *entry = rest;
        Ok(Self { others, exceptions })
    }

    fn changed(&self, set: &impl Fn(Option<u32>, &mut [u8])) -> Self {
        let mut others = self.others.clone();
        set(None, &mut others);
        let mut exceptions: Vec<(u64, Vec<u8>)> = Vec::new();
        for face in 0..FACES_MAX {
            let own = self.exceptions.iter().rev().find(|(faces, _)| faces >> face & 1 == 1);
            let mut value = own.map_or(&self.others, |(_, value)| value).clone();
            set(Some(face), &mut value);
            if value == others {
                continue;
            }
            match exceptions.iter_mut().find(|(_, other)| *other == value) {
                Some((faces, _)) => *faces |= 1 << face,
                None => exceptions.push((1 << face, value)),
            }
        }
        Self { others, exceptions }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.others);
        for (faces, value) in &self.exceptions {
            let n_groups = (u64::BITS - faces.leading_zeros()).div_ceil(7);
            for group in (0..n_groups).rev() {
                let more = if group == 0 { 0 } else { 0x80 };
                out.push((faces >> (7 * group) & 0x7F) as u8 | more);
            }
            out.extend_from_slice(value);
        }
        out.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One texture on every face, without a render material.
    fn plain() -> Vec<u8> {
        let one = 1.0_f32.to_le_bytes();
        let fields: [&[u8]; 10] =
            [&[7; 16], &[0; 4], &one, &one, &[0; 2], &[0; 2], &[0; 2], &[0], &[0], &[0]];
        fields.into_iter().flat_map(|value| [value, &[0]].concat()).collect()
    }

    #[test]
    fn an_entry_may_end_before_the_render_material_and_without_its_last_zero() {
        let plain = plain();
        assert_eq!(plain.len(), 47);
        assert_eq!(check_texture_entry(&plain), Ok(()));
        assert_eq!(check_texture_entry(&plain[..46]), Ok(()));
        let with_material = [&plain[..], &[9; 16], &[0]].concat();
        assert_eq!(check_texture_entry(&with_material), Ok(()));
        assert_eq!(check_texture_entry(&with_material[..63]), Ok(()));
    }

    #[test]
    fn exceptions_name_faces_that_a_prim_has() {
        let with_faces = |faces: &[u8]| {
            let plain = plain();
            check_texture_entry(&[&plain[..16], faces, &[8; 16], &plain[16..]].concat())
        };
        assert_eq!(with_faces(&[0x01]), Ok(()));
        // The highest of 45 faces: bit 44.
        assert_eq!(with_faces(&[0x84, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00]), Ok(()));
        for faces in [&[0x88, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00][..], &[0x80, 0x00], &[0xFF; 30]] {
            assert_eq!(with_faces(faces), Err(TextureEntryError::Faces), "{faces:x?}");
        }
    }

    #[test]
    fn damage_is_refused_with_its_reason() {
        let plain = plain();
        for len in 0..45 {
            assert_eq!(check_texture_entry(&plain[..len]), Err(TextureEntryError::Truncated), "{len}");
        }
        let trailing = [&plain[..], &[9; 16], &[0, 1, 2]].concat();
        assert_eq!(check_texture_entry(&trailing), Err(TextureEntryError::Trailing(2)));
        assert_eq!(check_texture_entry(&[0; 2_049]), Err(TextureEntryError::Oversized(2_049)));
        let mut infinite = plain;
        infinite[22..26].copy_from_slice(&f32::INFINITY.to_le_bytes());
        assert_eq!(check_texture_entry(&infinite), Err(TextureEntryError::NotANumber));
    }

    /// Values of a field on the first faces.
    fn values(entry: &[u8], number: usize) -> Vec<Vec<u8>> {
        let mut rest = entry;
        let mut fields = FIELD_LENS.into_iter().map(|len| Field::split(&mut rest, len));
        let field = fields.nth(number).unwrap().unwrap();
        (0..6_u32)
            .map(|face| {
                let own = field.exceptions.iter().rev().find(|(faces, _)| faces >> face & 1 == 1);
                own.map_or(&field.others, |(_, value)| value).clone()
            })
            .collect()
    }

    #[test]
    fn faces_are_marked_and_other_fields_stay() {
        let plain = plain();
        for entry in [&plain[..], &plain[..46]] {
            let marked = with_media_marks(entry, 0b10_0010).unwrap();
            assert_eq!(check_texture_entry(&marked), Ok(()));
            let marks: Vec<u8> = values(&marked, MARKS_FIELD).concat();
            assert_eq!(marks, [0, 1, 0, 0, 0, 1]);
            assert_eq!(with_media_marks(&marked, 0).unwrap(), plain);
        }
    }

    #[test]
    fn a_material_is_set_on_one_face_or_on_all() {
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let on_one = with_material_id(&plain(), Some(3), one).unwrap();
        assert_eq!(check_texture_entry(&on_one), Ok(()));
        let ids = values(&on_one, MATERIAL_ID_FIELD);
        assert_eq!((&ids[2][..], &ids[3][..]), (&[0; 16][..], &one.as_bytes()[..]));
        let on_two = with_material_id(&on_one, Some(4), other).unwrap();
        assert_eq!(
            values(&on_two, MATERIAL_ID_FIELD)[3..5],
            [one.as_bytes().to_vec(), other.as_bytes().to_vec()]
        );
        let on_all = with_material_id(&on_two, None, other).unwrap();
        assert!(values(&on_all, MATERIAL_ID_FIELD).iter().all(|id| id == other.as_bytes()));
        assert_eq!(on_all.len(), 47 + 17, "without exceptions");
    }

    #[test]
    fn the_highest_face_is_written_as_it_is_read() {
        let entry = with_material_id(&plain(), Some(44), Uuid::from_u128(1)).unwrap();
        let mut rest = &entry[47..];
        let field = Field::split(&mut rest, 16).unwrap();
        assert_eq!(field.exceptions[0].0, 1 << 44);
        assert!(rest.is_empty());
    }

    proptest! {
        #[test]
        fn a_changed_entry_is_a_whole_one(at in 0_usize..47, byte: u8, face in 0_u8..45, marks: u64) {
            let mut entry = plain();
            entry[at] = byte;
            let marked = with_media_marks(&entry, marks);
            prop_assert_eq!(marked.is_ok(), check_texture_entry(&entry).is_ok());
            if let Ok(marked) = marked {
                let both = with_material_id(&marked, Some(face), Uuid::from_u128(7)).unwrap();
                prop_assert_eq!(check_texture_entry(&both), Ok(()));
            }
        }

        #[test]
        fn any_bytes_are_judged_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = check_texture_entry(&bytes);
        }

        #[test]
        fn an_entry_with_one_byte_changed_is_judged_without_panic(at in 0_usize..47, byte: u8) {
            let mut entry = plain();
            entry[at] = byte;
            let _ = check_texture_entry(&entry);
        }
    }
}
