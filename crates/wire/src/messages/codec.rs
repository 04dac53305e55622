//! Codecs of the field kinds.
//!
//! A codec is named by its word in the message tables: the Rust type itself where that is specific enough (`u32`, `Uuid`, `Vec3`),
//! otherwise one of the marker types below (`Port`, `Variable1`).

use super::reader::BodyReader;
use super::schema::FieldKind;
use crate::Malformed;
use glam::{DVec3, Quat, Vec3, Vec4};
use uuid::Uuid;

/// One kind of field.
pub(crate) trait Codec {
    /// Type of the field in a message struct.
    type Value;
    const KIND: FieldKind;
    /// Fewest bytes that it takes.
    const LEN_MIN: usize;

    fn read(reader: &mut BodyReader<'_>) -> Result<Self::Value, Malformed>;
    fn write(value: &Self::Value, out: &mut Vec<u8>);

    /// A value for property tests, made of random words.
    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self::Value;
}

/// IPADDR: four bytes in network order.
pub(crate) enum Ip {}

/// IPPORT: the one big-endian field.
pub(crate) enum Port {}

/// Bytes behind a length of one byte.
pub(crate) enum Variable1 {}

/// Bytes behind a length of two bytes.
pub(crate) enum Variable2 {}

macro_rules! integer {
    ($($Type:ty => $kind:ident,)*) => {$(
        impl Codec for $Type {
            type Value = Self;
            const KIND: FieldKind = FieldKind::$kind;
            const LEN_MIN: usize = size_of::<Self>();

            fn read(reader: &mut BodyReader<'_>) -> Result<Self, Malformed> {
                reader.take().map(Self::from_le_bytes)
            }

            fn write(value: &Self, out: &mut Vec<u8>) {
                out.extend_from_slice(&value.to_le_bytes());
            }

            #[cfg(test)]
            fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self {
                let bytes = next().to_le_bytes();
                Self::from_le_bytes(*bytes.first_chunk().expect("no integer is wider than 64 bits"))
            }
        }
    )*};
}

integer! {
    u8 => U8,
    u16 => U16,
    u32 => U32,
    u64 => U64,
    i8 => S8,
    i16 => S16,
    i32 => S32,
}

impl Codec for f32 {
    type Value = Self;
    const KIND: FieldKind = FieldKind::F32;
    const LEN_MIN: usize = 4;

    fn read(reader: &mut BodyReader<'_>) -> Result<Self, Malformed> {
        reader.take_f32()
    }

    fn write(value: &Self, out: &mut Vec<u8>) {
        out.extend_from_slice(&value.to_le_bytes());
    }

    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self {
        let value = Self::from_bits(u32::arbitrary(next));
        if value.is_finite() { value } else { 1.5 }
    }
}

impl Codec for f64 {
    type Value = Self;
    const KIND: FieldKind = FieldKind::F64;
    const LEN_MIN: usize = 8;

    fn read(reader: &mut BodyReader<'_>) -> Result<Self, Malformed> {
        reader.take_f64()
    }

    fn write(value: &Self, out: &mut Vec<u8>) {
        out.extend_from_slice(&value.to_le_bytes());
    }

    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self {
        let value = Self::from_bits(next());
        if value.is_finite() { value } else { 1.5 }
    }
}

impl Codec for bool {
    type Value = Self;
    const KIND: FieldKind = FieldKind::Bool;
    const LEN_MIN: usize = 1;

    fn read(reader: &mut BodyReader<'_>) -> Result<Self, Malformed> {
        reader.take_u8().map(|byte| byte != 0)
    }

    fn write(value: &Self, out: &mut Vec<u8>) {
        out.push(u8::from(*value));
    }

    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self {
        next() & 1 == 1
    }
}

impl Codec for Uuid {
    type Value = Self;
    const KIND: FieldKind = FieldKind::Uuid;
    const LEN_MIN: usize = 16;

    fn read(reader: &mut BodyReader<'_>) -> Result<Self, Malformed> {
        reader.take().map(Self::from_bytes)
    }

    fn write(value: &Self, out: &mut Vec<u8>) {
        out.extend_from_slice(value.as_bytes());
    }

    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self {
        Self::from_u64_pair(next(), next())
    }
}

impl Codec for Vec3 {
    type Value = Self;
    const KIND: FieldKind = FieldKind::Vector3;
    const LEN_MIN: usize = 12;

    fn read(reader: &mut BodyReader<'_>) -> Result<Self, Malformed> {
        reader.take_f32s().map(Self::from_array)
    }

    fn write(value: &Self, out: &mut Vec<u8>) {
        value.to_array().iter().for_each(|part| f32::write(part, out));
    }

    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self {
        Self::new(f32::arbitrary(next), f32::arbitrary(next), f32::arbitrary(next))
    }
}

impl Codec for DVec3 {
    type Value = Self;
    const KIND: FieldKind = FieldKind::Vector3d;
    const LEN_MIN: usize = 24;

    fn read(reader: &mut BodyReader<'_>) -> Result<Self, Malformed> {
        Ok(Self::new(reader.take_f64()?, reader.take_f64()?, reader.take_f64()?))
    }

    fn write(value: &Self, out: &mut Vec<u8>) {
        value.to_array().iter().for_each(|part| f64::write(part, out));
    }

    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self {
        Self::new(f64::arbitrary(next), f64::arbitrary(next), f64::arbitrary(next))
    }
}

impl Codec for Vec4 {
    type Value = Self;
    const KIND: FieldKind = FieldKind::Vector4;
    const LEN_MIN: usize = 16;

    fn read(reader: &mut BodyReader<'_>) -> Result<Self, Malformed> {
        reader.take_f32s().map(Self::from_array)
    }

    fn write(value: &Self, out: &mut Vec<u8>) {
        value.to_array().iter().for_each(|part| f32::write(part, out));
    }

    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self {
        Self::from((Vec3::arbitrary(next), f32::arbitrary(next)))
    }
}

impl Codec for Quat {
    type Value = Self;
    const KIND: FieldKind = FieldKind::Quaternion;
    const LEN_MIN: usize = 12;

    fn read(reader: &mut BodyReader<'_>) -> Result<Self, Malformed> {
        Vec3::read(reader).map(quaternion_from_xyz)
    }

    fn write(value: &Self, out: &mut Vec<u8>) {
        Vec3::write(&xyz_of_quaternion(*value), out);
    }

    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self {
        // Components up to a half keep the length below 1, where x, y and z come back exactly.
        let mut part = || (f32::from(i16::arbitrary(next))) / 65_536.0;
        quaternion_from_xyz(Vec3::new(part(), part(), part()))
    }
}

/// A unit quaternion from its x, y and z. A vector longer than 1 is no part of a unit quaternion; it is scaled
/// to length 1, since clients that round or forget to normalise mean a rotation all the same.
pub(crate) fn quaternion_from_xyz(xyz: Vec3) -> Quat {
    // In f64 the square of the largest f32 does not overflow.
    let wide = xyz.as_dvec3();
    let length_squared = wide.length_squared();
    if length_squared > 1.0 {
        let unit = (wide / length_squared.sqrt()).as_vec3();
        return Quat::from_xyzw(unit.x, unit.y, unit.z, 0.0);
    }
    #[expect(clippy::cast_possible_truncation, reason = "a value in 0..=1 loses precision only")]
    let w = (1.0 - length_squared).sqrt() as f32;
    Quat::from_xyzw(xyz.x, xyz.y, xyz.z, w)
}

/// x, y and z of the same rotation with w not negative, so that the receiver can rebuild w.
pub(crate) fn xyz_of_quaternion(rotation: Quat) -> Vec3 {
    if rotation.w < 0.0 { -rotation.xyz() } else { rotation.xyz() }
}

impl Codec for Ip {
    type Value = [u8; 4];
    const KIND: FieldKind = FieldKind::IpAddress;
    const LEN_MIN: usize = 4;

    fn read(reader: &mut BodyReader<'_>) -> Result<[u8; 4], Malformed> {
        reader.take()
    }

    fn write(value: &[u8; 4], out: &mut Vec<u8>) {
        out.extend_from_slice(value);
    }

    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> [u8; 4] {
        <[u8; 4]>::arbitrary(next)
    }
}

impl Codec for Port {
    type Value = u16;
    const KIND: FieldKind = FieldKind::IpPort;
    const LEN_MIN: usize = 2;

    fn read(reader: &mut BodyReader<'_>) -> Result<u16, Malformed> {
        reader.take().map(u16::from_be_bytes)
    }

    fn write(value: &u16, out: &mut Vec<u8>) {
        out.extend_from_slice(&value.to_be_bytes());
    }

    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> u16 {
        u16::arbitrary(next)
    }
}

impl<const N: usize> Codec for [u8; N] {
    type Value = Self;
    #[expect(clippy::cast_possible_truncation, reason = "no field of the protocol is as long as 256 bytes")]
    const KIND: FieldKind = FieldKind::Fixed(N as u8);
    const LEN_MIN: usize = N;

    fn read(reader: &mut BodyReader<'_>) -> Result<Self, Malformed> {
        reader.take()
    }

    fn write(value: &Self, out: &mut Vec<u8>) {
        out.extend_from_slice(value);
    }

    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> Self {
        std::array::from_fn(|_| u8::arbitrary(next))
    }
}

impl Codec for Variable1 {
    type Value = Vec<u8>;
    const KIND: FieldKind = FieldKind::Variable1;
    const LEN_MIN: usize = 1;

    fn read(reader: &mut BodyReader<'_>) -> Result<Vec<u8>, Malformed> {
        let len = reader.take_u8()?;
        reader.take_slice(usize::from(len)).map(<[u8]>::to_vec)
    }

    fn write(value: &Vec<u8>, out: &mut Vec<u8>) {
        let len = u8::try_from(value.len()).expect("a Variable 1 field holds at most 255 bytes");
        out.push(len);
        out.extend_from_slice(value);
    }

    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> Vec<u8> {
        (0..u8::arbitrary(next)).map(|_| u8::arbitrary(next)).collect()
    }
}

impl Codec for Variable2 {
    type Value = Vec<u8>;
    const KIND: FieldKind = FieldKind::Variable2;
    const LEN_MIN: usize = 2;

    fn read(reader: &mut BodyReader<'_>) -> Result<Vec<u8>, Malformed> {
        let len = reader.take_u16()?;
        reader.take_slice(usize::from(len)).map(<[u8]>::to_vec)
    }

    fn write(value: &Vec<u8>, out: &mut Vec<u8>) {
        let len = u16::try_from(value.len()).expect("a Variable 2 field holds at most 65,535 bytes");
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(value);
    }

    #[cfg(test)]
    fn arbitrary(next: &mut dyn FnMut() -> u64) -> Vec<u8> {
        (0..u16::arbitrary(next) % 1_200).map(|_| u8::arbitrary(next)).collect()
    }
}
