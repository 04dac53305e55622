//! Texture entries: what each face of an object or avatar is painted with.
//!
//! A list of fields, each with the value of most faces, then the values of the others by face sets:
//!
//! ```text
//! value | (face set, value)* | 00      for each of, in this order,
//! texture 16 | colour 4, inverted | repeat u, v F32 | offset u, v S16 | rotation S16
//! | material U8 | media U8 | glow U8 | material id 16 (only if some face has one)
//! ```
//!
//! A face set is a bit mask in groups of 7 bits, highest group first, 0x80 on all but the last. Values stay
//! as they are on the wire, so that an entry of a client passes through unchanged. Images are no matter of
//! this module.

use crate::Malformed;
use std::collections::BTreeMap;
use uuid::{Uuid, uuid};

/// Faces that an entry may name; the widest avatars have as many.
pub const FACES_MAX: u8 = 45;

/// Texture that viewers display on an avatar before its own textures are known; they treat it as "not baked".
pub const AVATAR_TEXTURE: Uuid = uuid!("c228d1cf-4b5d-4ba8-84f4-899a0796aa97");

/// White plywood, the texture of a new prim.
pub const PRIM_TEXTURE: Uuid = uuid!("89556747-24cb-43ed-920b-47caed15465f");

/// The texture that viewers call blank: white, for faces that are painted with a colour only.
pub const BLANK_TEXTURE: Uuid = uuid!("5748decc-f629-461c-9a36-a35a221fe21f");

/// Bytes of a set of [`FACES_MAX`] faces, at seven bits per byte.
const FACE_SET_BYTES_MAX: usize = 7;

/// Texture and material of one face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Face {
    /// The image.
    pub texture_id: Uuid,
    /// Red, green, blue, opacity; 255 is white and opaque. (Inverted on the wire only.)
    pub color: [u8; 4],
    /// Repetitions across the face.
    pub repeat_u: f32,
    /// Repetitions up the face.
    pub repeat_v: f32,
    /// Shift across, in 1/32,767 of the image.
    pub offset_u: i16,
    /// Shift up, in 1/32,767 of the image.
    pub offset_v: i16,
    /// Turn, in 1/32,768 of a full one.
    pub rotation: i16,
    /// Bump map in 5 bits, full brightness 0x20, shininess 0xC0.
    pub material: u8,
    /// Web media 0x01, mapping 0x06.
    pub media: u8,
    /// Glow, in 1/255.
    pub glow: u8,
    /// The normal and specular maps, or nil.
    pub material_id: Uuid,
}

impl Face {
    /// A face with this image, plain, once across and up.
    #[must_use]
    pub const fn plain(texture_id: Uuid) -> Self {
        Self {
            texture_id,
            color: [255; 4],
            repeat_u: 1.0,
            repeat_v: 1.0,
            offset_u: 0,
            offset_v: 0,
            rotation: 0,
            material: 0,
            media: 0,
            glow: 0,
            material_id: Uuid::nil(),
        }
    }
}

/// Textures and materials of all faces of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct TextureEntry {
    /// Every face that is not named below.
    pub default: Face,
    /// Faces that differ, by index below [`FACES_MAX`].
    pub faces: BTreeMap<u8, Face>,
}

impl TextureEntry {
    /// Every face alike.
    #[must_use]
    pub const fn plain(texture_id: Uuid) -> Self {
        Self { default: Face::plain(texture_id), faces: BTreeMap::new() }
    }

    /// An avatar that no client has dressed yet: all faces, worn and baked, show [`AVATAR_TEXTURE`].
    #[must_use]
    pub const fn avatar() -> Self {
        Self::plain(AVATAR_TEXTURE)
    }

    /// Texture and material of a face.
    #[must_use]
    pub fn face(&self, index: u8) -> &Face {
        self.faces.get(&index).unwrap_or(&self.default)
    }

    /// Writes the entry. A face that equals the default takes no bytes.
    ///
    /// # Panics
    /// If a face's index is not below [`FACES_MAX`].
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.faces.keys().all(|&index| index < FACES_MAX), "a face index is beyond {FACES_MAX}");
        let mut out = Vec::with_capacity(64);
        self.write(&mut out, |face| face.texture_id.into_bytes());
        self.write(&mut out, |face| face.color.map(|channel| 255 - channel));
        self.write(&mut out, |face| face.repeat_u.to_le_bytes());
        self.write(&mut out, |face| face.repeat_v.to_le_bytes());
        self.write(&mut out, |face| face.offset_u.to_le_bytes());
        self.write(&mut out, |face| face.offset_v.to_le_bytes());
        self.write(&mut out, |face| face.rotation.to_le_bytes());
        self.write(&mut out, |face| [face.material]);
        self.write(&mut out, |face| [face.media]);
        self.write(&mut out, |face| [face.glow]);
        let material_ids = || self.faces.values().chain([&self.default]).map(|face| face.material_id);
        if material_ids().any(|id| !id.is_nil()) {
            self.write(&mut out, |face| face.material_id.into_bytes());
        }
        out
    }

    /// Writes one field: the default, and each other value once with the set of its faces.
    fn write<const N: usize>(&self, out: &mut Vec<u8>, field: impl Fn(&Face) -> [u8; N]) {
        let default = field(&self.default);
        out.extend_from_slice(&default);
        let mut sets: BTreeMap<[u8; N], u64> = BTreeMap::new();
        for (&index, face) in &self.faces {
            let value = field(face);
            if value != default {
                *sets.entry(value).or_default() |= 1 << index;
            }
        }
        for (value, set) in sets {
            write_face_set(set, out);
            out.extend_from_slice(&value);
        }
        out.push(0);
    }

    /// Reads an entry. The last field may lack its closing zero, and material ids may be absent.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] if it ends within a field, [`Malformed::Value`] for a face beyond
    /// [`FACES_MAX`], [`Malformed::Oversized`] for bytes after the end.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut source = EntrySource { rest: bytes, entry: Self::plain(Uuid::nil()) };
        source.field(|face, value| face.texture_id = Uuid::from_bytes(value))?;
        source.field(|face, value: [u8; 4]| face.color = value.map(|channel| 255 - channel))?;
        source.field(|face, value| face.repeat_u = f32::from_le_bytes(value))?;
        source.field(|face, value| face.repeat_v = f32::from_le_bytes(value))?;
        source.field(|face, value| face.offset_u = i16::from_le_bytes(value))?;
        source.field(|face, value| face.offset_v = i16::from_le_bytes(value))?;
        source.field(|face, value| face.rotation = i16::from_le_bytes(value))?;
        source.field(|face, [value]| face.material = value)?;
        source.field(|face, [value]| face.media = value)?;
        source.field(|face, [value]| face.glow = value)?;
        if !source.rest.is_empty() {
            source.field(|face, value| face.material_id = Uuid::from_bytes(value))?;
        }
        if source.rest.is_empty() { Ok(source.entry) } else { Err(Malformed::Oversized) }
    }
}

fn write_face_set(set: u64, out: &mut Vec<u8>) {
    let groups = (u64::BITS - set.leading_zeros()).div_ceil(7);
    for group in (0..groups).rev() {
        let bits = (set >> (7 * group)) as u8 & 0x7F;
        out.push(if group > 0 { bits | 0x80 } else { bits });
    }
}

/// An entry that is filled field by field.
struct EntrySource<'a> {
    rest: &'a [u8],
    entry: TextureEntry,
}

impl EntrySource<'_> {
    /// Reads one field into the default and the faces that differ.
    fn field<const N: usize>(&mut self, set: impl Fn(&mut Face, [u8; N])) -> Result<(), Malformed> {
        let default = self.value()?;
        set(&mut self.entry.default, default);
        // Faces named by an earlier field exist already, and have the default of this one too.
        for face in self.entry.faces.values_mut() {
            set(face, default);
        }
        loop {
            let named = self.face_set()?;
            if named == 0 {
                return Ok(());
            }
            let value = self.value()?;
            for index in (0..FACES_MAX).filter(|index| named >> index & 1 == 1) {
                set(self.entry.faces.entry(index).or_insert(self.entry.default), value);
            }
        }
    }

    /// Zero at the end of a field, which in the last one may also be the end of the bytes.
    fn face_set(&mut self) -> Result<u64, Malformed> {
        if self.rest.is_empty() {
            return Ok(0);
        }
        let mut set = 0;
        for _ in 0..FACE_SET_BYTES_MAX {
            let [byte] = self.value()?;
            set = set << 7 | u64::from(byte & 0x7F);
            if byte & 0x80 == 0 {
                return if set >> FACES_MAX == 0 { Ok(set) } else { Err(Malformed::Value) };
            }
        }
        Err(Malformed::Value)
    }

    fn value<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (value, rest) = self.rest.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_undressed_avatar_is_one_value_for_every_face() {
        let mut expected = AVATAR_TEXTURE.as_bytes().to_vec();
        expected.push(0);
        expected.extend([0, 0, 0, 0, 0]); // white, inverted, and its end
        expected.extend([0, 0, 0x80, 0x3F, 0].repeat(2)); // repeats of 1.0
        expected.extend([0, 0, 0].repeat(3)); // offsets and rotation
        expected.extend([0, 0].repeat(3)); // material, media, glow
        let avatar = TextureEntry::avatar();
        assert_eq!(avatar.encode(), expected);
        assert_eq!(TextureEntry::decode(&expected), Ok(avatar.clone()));
        assert_eq!(avatar.face(20).texture_id, AVATAR_TEXTURE);
    }

    #[test]
    fn faces_that_share_a_value_share_its_set() {
        let mut entry = TextureEntry::plain(PRIM_TEXTURE);
        let other = Face { texture_id: Uuid::from_u128(5), ..entry.default };
        entry.faces.extend([(0, other), (8, other), (20, other)]);
        let bytes = entry.encode();
        // Bits 20, 8 and 0 in groups of seven, highest first.
        assert_eq!(bytes[16..19], [0x80 | 0b100_0000, 0x80 | 0b000_0010, 0b000_0001]);
        assert_eq!(bytes[19..35], *Uuid::from_u128(5).as_bytes());
        assert_eq!(TextureEntry::decode(&bytes), Ok(entry));
    }

    #[test]
    fn a_face_named_late_keeps_the_defaults_of_the_fields_before() {
        let mut entry = TextureEntry::plain(PRIM_TEXTURE);
        entry.faces.insert(3, Face { glow: 9, ..entry.default });
        entry.faces.insert(4, Face { color: [1, 2, 3, 4], ..entry.default });
        let read = TextureEntry::decode(&entry.encode()).expect("our own entry reads back");
        assert_eq!(read, entry);
        assert_eq!(read.face(4).glow, 0);
    }

    #[test]
    fn the_last_field_may_end_without_its_zero() {
        let bytes = TextureEntry::avatar().encode();
        assert_eq!(TextureEntry::decode(&bytes[..bytes.len() - 1]), Ok(TextureEntry::avatar()));
        let mut entry = TextureEntry::avatar();
        entry.faces.insert(1, Face { material_id: Uuid::from_u128(8), ..entry.default });
        let bytes = entry.encode();
        assert_eq!(TextureEntry::decode(&bytes[..bytes.len() - 1]), Ok(entry));
    }

    #[test]
    fn damage_is_refused_with_its_reason() {
        let good = TextureEntry::avatar().encode();
        assert_eq!(TextureEntry::decode(&[]), Err(Malformed::Truncated));
        for length in 0..good.len() - 1 {
            assert_eq!(TextureEntry::decode(&good[..length]), Err(Malformed::Truncated), "{length}");
        }
        let with_set = |set: &[u8]| [&good[..16], set, &[7; 16], &good[16..]].concat();
        assert!(TextureEntry::decode(&with_set(&[0x84, 0x80, 0x80, 0x80, 0x80, 0x80, 0])).is_ok(), "face 44");
        assert_eq!(
            TextureEntry::decode(&with_set(&[0x88, 0x80, 0x80, 0x80, 0x80, 0x80, 0])),
            Err(Malformed::Value)
        );
        assert_eq!(TextureEntry::decode(&with_set(&[0xFF; 8])), Err(Malformed::Value));
        let trailing = [&good[..], &[0; 17], &[1]].concat();
        assert_eq!(TextureEntry::decode(&trailing), Err(Malformed::Oversized));
    }

    fn face() -> impl Strategy<Value = Face> {
        // Few values, so that faces share some and equal the default in others.
        (0_u128..3, any::<[u8; 4]>(), 0_u8..3, -2_i16..2, any::<u8>(), 0_u128..2).prop_map(
            |(texture, color, repeat, offset, byte, material)| Face {
                texture_id: Uuid::from_u128(texture),
                color,
                repeat_u: f32::from(repeat),
                repeat_v: f32::from(repeat) / 2.0,
                offset_u: offset,
                offset_v: -offset,
                rotation: offset * 2,
                material: byte,
                media: byte / 2,
                glow: byte / 3,
                material_id: Uuid::from_u128(material),
            },
        )
    }

    proptest! {
        #[test]
        fn written_values_read_back(
            default in face(),
            faces in proptest::collection::btree_map(0..FACES_MAX, face(), 0..46),
        ) {
            let entry = TextureEntry { default, faces };
            let read = TextureEntry::decode(&entry.encode()).expect("our own entry reads back");
            prop_assert_eq!(read.default, entry.default);
            for index in 0..FACES_MAX {
                prop_assert_eq!(read.face(index), entry.face(index));
            }
            prop_assert_eq!(read.encode(), entry.encode());
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = TextureEntry::decode(&bytes);
        }

        #[test]
        fn a_damaged_entry_is_decoded_without_panic(
            default in face(), faces in proptest::collection::btree_map(0..FACES_MAX, face(), 0..9),
            at in any::<prop::sample::Index>(), byte in any::<u8>(),
        ) {
            let mut bytes = TextureEntry { default, faces }.encode();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = TextureEntry::decode(&bytes);
        }
    }
}
