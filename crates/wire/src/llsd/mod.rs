//! LLSD, the value tree that capabilities, event queues and materials speak, in its three forms: [`xml`],
//! [`binary`] and [`notation`].
//!
//! [`Llsd`] is the tree, with builders for replies and accessors that convert between scalars as the dialect
//! demands: clients write one boolean as `<boolean>1</boolean>`, `<boolean>true</boolean>` or
//! `<integer>1</integer>`, and none of them is wrong. XML-RPC ([`crate::xmlrpc`]) uses the
//! same tree. Typed messages are no matter of this module: each capability's handler picks its fields.
//! Decoding is bounded by [`Limits`] and [`DEPTH_MAX`].

mod date;
mod scalar;

pub mod binary;
pub mod notation;
pub mod xml;

#[cfg(test)]
pub(crate) mod arbitrary;

pub use date::profile_date;
pub(crate) use date::{format_compact, parse as parse_date};
pub(crate) use scalar::{base64_decode, base64_encode, parse_boolean, parse_integer, parse_real, push_real};

use crate::Malformed;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Values may nest so deep: a scalar alone is one level. Clients stay below ten.
pub const DEPTH_MAX: usize = 32;

/// Bytes within which an opening line has to end.
const OPENING_LINE_MAX: usize = 64;

/// One LLSD value. Maps are ordered by key, so that equal values have equal bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Llsd {
    /// No value.
    #[default]
    Undef,
    /// True or false.
    Boolean(bool),
    /// A signed 32-bit number. Unsigned ones travel as [`Llsd::Binary`]; see [`Llsd::from_u32`].
    Integer(i32),
    /// A 64-bit float.
    Real(f64),
    /// Text.
    String(String),
    /// A UUID.
    Uuid(Uuid),
    /// Seconds since 1970-01-01 UTC.
    Date(f64),
    /// A link.
    Uri(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// Values in order.
    Array(Vec<Self>),
    /// Values by name.
    Map(BTreeMap<String, Self>),
}

/// Limits of a decoder, in addition to [`DEPTH_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of input.
    pub bytes_max: usize,
    /// Values in the tree. One costs up to 700 bytes of memory (a map of one entry), so this bounds a peer's
    /// cost.
    pub values_max: usize,
}

impl Limits {
    /// For strangers: a login request. Viewers send some 2 KiB and 60 values.
    pub const STRANGER: Self = Self { bytes_max: 65_536, values_max: 1_024 };

    /// Limits of a capability request from a client with a login. The largest is an inventory fetch of many folders.
    pub const REQUEST: Self = Self { bytes_max: 524_288, values_max: 16_384 };

    /// For a client that reads its server's replies: login replies and inventories of tens of thousands of
    /// folders.
    pub const REPLY: Self = Self { bytes_max: 16_777_216, values_max: 1_000_000 };
}

/// The share of [`Limits`] that is left while one document is decoded.
pub(crate) struct Budget {
    values_left: usize,
}

impl Budget {
    pub(crate) const fn new(limits: Limits) -> Self {
        Self { values_left: limits.values_max }
    }

    /// Takes one value at a nesting level, counted from 1, before it is built.
    pub(crate) fn spend(&mut self, level: usize) -> Result<(), Malformed> {
        if level > DEPTH_MAX {
            return Err(Malformed::Depth);
        }
        self.values_left = self.values_left.checked_sub(1).ok_or(Malformed::Oversized)?;
        Ok(())
    }
}

/// The document behind an opening line such as `<? LLSD/Binary ?>`, which is optional and has any case and
/// spacing.
fn after_opening_line<'a>(document: &'a [u8], form: &str) -> Result<&'a [u8], Malformed> {
    let Some(opened) = document.strip_prefix(b"<?") else { return Ok(document) };
    let length =
        opened.windows(2).take(OPENING_LINE_MAX).position(|pair| pair == b"?>").ok_or(Malformed::Syntax)?;
    if !opened[..length].trim_ascii().eq_ignore_ascii_case(form.as_bytes()) {
        return Err(Malformed::Syntax);
    }
    let rest = &opened[length + 2..];
    let rest = rest.strip_prefix(b"\r").unwrap_or(rest);
    Ok(rest.strip_prefix(b"\n").unwrap_or(rest))
}

/// Result of [`Llsd::get`] and [`Llsd::at`] for a missing value.
static UNDEF: Llsd = Llsd::Undef;

impl Llsd {
    /// A map of these entries; of two with the same key the later one stays.
    #[must_use]
    pub fn map<K: Into<String>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// An array of these values.
    #[must_use]
    pub fn array<V: Into<Self>>(values: impl IntoIterator<Item = V>) -> Self {
        Self::Array(values.into_iter().map(Into::into).collect())
    }

    /// An unsigned number as this ecosystem sends it: four bytes, big-endian (flags, masks, addresses).
    #[must_use]
    pub fn from_u32(value: u32) -> Self {
        Self::Binary(value.to_be_bytes().to_vec())
    }

    /// A 64-bit number (a region handle): eight bytes, big-endian.
    #[must_use]
    pub fn from_u64(value: u64) -> Self {
        Self::Binary(value.to_be_bytes().to_vec())
    }

    /// The value of a key; [`Llsd::Undef`] if it is absent or this is no map.
    #[must_use]
    pub fn get(&self, key: &str) -> &Self {
        match self {
            Self::Map(entries) => entries.get(key).unwrap_or(&UNDEF),
            _ => &UNDEF,
        }
    }

    /// The value at an index; [`Llsd::Undef`] if it is absent or this is no array.
    #[must_use]
    pub fn at(&self, index: usize) -> &Self {
        self.as_array().get(index).unwrap_or(&UNDEF)
    }

    /// The values of an array; nothing of anything else.
    #[must_use]
    pub fn as_array(&self) -> &[Self] {
        match self {
            Self::Array(values) => values,
            _ => &[],
        }
    }

    /// The entries of a map.
    #[must_use]
    pub const fn as_map(&self) -> Option<&BTreeMap<String, Self>> {
        match self {
            Self::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// True for no value.
    #[must_use]
    pub const fn is_undef(&self) -> bool {
        matches!(self, Self::Undef)
    }

    /// True or false, also from numbers (zero is false) and from the texts `1`, `true`, `0`, `false` and the
    /// empty one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Boolean(value) => Some(*value),
            Self::Integer(value) => Some(*value != 0),
            Self::Real(value) => Some(*value != 0.0),
            Self::String(text) => parse_boolean(text),
            _ => None,
        }
    }

    /// A signed number, also from booleans, whole or broken reals within range (cut towards zero) and decimal
    /// text.
    #[must_use]
    pub fn as_i32(&self) -> Option<i32> {
        match self {
            Self::Boolean(value) => Some(i32::from(*value)),
            Self::Integer(value) => Some(*value),
            Self::Real(value) if value.abs() <= f64::from(i32::MAX) => Some(*value as i32),
            Self::String(text) => parse_integer(text),
            _ => None,
        }
    }

    /// An unsigned number from four big-endian bytes, from an integer's bit pattern or from decimal text.
    #[must_use]
    pub fn as_u32(&self) -> Option<u32> {
        match self {
            Self::Binary(bytes) => bytes.as_slice().try_into().ok().map(u32::from_be_bytes),
            _ => self.as_i32().map(i32::cast_unsigned),
        }
    }

    /// A 64-bit number from eight big-endian bytes.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Binary(bytes) => bytes.as_slice().try_into().ok().map(u64::from_be_bytes),
            _ => None,
        }
    }

    /// A float, also from booleans, integers and decimal text.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Boolean(value) => Some(f64::from(u8::from(*value))),
            Self::Integer(value) => Some(f64::from(*value)),
            Self::Real(value) | Self::Date(value) => Some(*value),
            Self::String(text) => parse_real(text),
            _ => None,
        }
    }

    /// The text of a string or link.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) | Self::Uri(text) => Some(text),
            _ => None,
        }
    }

    /// Any scalar but bytes as text: `true`, `7`, `1.5`, a hyphenated UUID, an ISO date.
    #[must_use]
    pub fn to_text(&self) -> Option<String> {
        match self {
            Self::Boolean(value) => Some(value.to_string()),
            Self::Integer(value) => Some(value.to_string()),
            Self::Real(value) => {
                let mut text = String::new();
                push_real(*value, &mut text);
                Some(text)
            }
            Self::Uuid(value) => Some(value.to_string()),
            Self::Date(value) => Some(date::format(*value)),
            Self::String(text) | Self::Uri(text) => Some(text.clone()),
            Self::Undef | Self::Binary(_) | Self::Array(_) | Self::Map(_) => None,
        }
    }

    /// A UUID, also from its text.
    #[must_use]
    pub fn as_uuid(&self) -> Option<Uuid> {
        match self {
            Self::Uuid(value) => Some(*value),
            Self::String(text) => Uuid::try_parse(text.trim()).ok(),
            _ => None,
        }
    }

    /// The bytes of a binary.
    #[must_use]
    pub fn as_binary(&self) -> Option<&[u8]> {
        match self {
            Self::Binary(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A vector from an array of three numbers.
    #[must_use]
    pub fn as_vec3(&self) -> Option<glam::Vec3> {
        let [x, y, z] = self.as_array() else { return None };
        Some(glam::DVec3::new(x.as_f64()?, y.as_f64()?, z.as_f64()?).as_vec3())
    }
}

impl From<bool> for Llsd {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<i32> for Llsd {
    fn from(value: i32) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Llsd {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<&str> for Llsd {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Llsd {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<Uuid> for Llsd {
    fn from(value: Uuid) -> Self {
        Self::Uuid(value)
    }
}

impl From<Vec<u8>> for Llsd {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Binary(bytes)
    }
}

impl From<Vec<Self>> for Llsd {
    fn from(values: Vec<Self>) -> Self {
        Self::Array(values)
    }
}

/// Vectors are arrays of three reals.
impl From<glam::Vec3> for Llsd {
    fn from(value: glam::Vec3) -> Self {
        Self::array(value.as_dvec3().to_array())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_boolean_is_read_from_every_form_that_clients_write() {
        for (value, expected) in [
            (Llsd::Boolean(true), Some(true)),
            (Llsd::Integer(0), Some(false)),
            (Llsd::Real(1.0), Some(true)),
            ("true".into(), Some(true)),
            ("0".into(), Some(false)),
            ("".into(), Some(false)),
            ("perhaps".into(), None),
            (Llsd::Undef, None),
            (Llsd::array([true]), None),
        ] {
            assert_eq!(value.as_bool(), expected, "{value:?}");
        }
    }

    #[test]
    fn numbers_convert_between_scalars_within_their_range() {
        assert_eq!(Llsd::from("-7").as_i32(), Some(-7));
        assert_eq!(Llsd::Real(-7.9).as_i32(), Some(-7));
        assert_eq!(Llsd::Real(3e9).as_i32(), None);
        assert_eq!(Llsd::Real(f64::NAN).as_i32(), None);
        assert_eq!(Llsd::from_u32(0x8000_0001), Llsd::Binary(vec![0x80, 0, 0, 1]));
        assert_eq!(Llsd::from_u32(0x8000_0001).as_u32(), Some(0x8000_0001));
        assert_eq!(Llsd::Integer(-1).as_u32(), Some(u32::MAX));
        assert_eq!(Llsd::from_u64(256_000 << 32).as_u64(), Some(256_000 << 32));
        assert_eq!(Llsd::from_u64(1).as_u32(), None);
        assert_eq!(Llsd::from("1.5").as_f64(), Some(1.5));
    }

    #[test]
    fn fields_are_reached_without_asking_for_their_presence() {
        let folder = Uuid::from_u128(7);
        let request =
            Llsd::map([("folders", Llsd::array([Llsd::map([("folder_id", folder.to_string().into())])]))]);
        assert_eq!(request.get("folders").at(0).get("folder_id").as_uuid(), Some(folder));
        assert!(request.get("folders").at(1).get("folder_id").is_undef());
        assert!(request.at(0).is_undef());
    }

    #[test]
    fn vectors_are_arrays_of_reals() {
        let vector = glam::Vec3::new(1.0, 2.5, -3.0);
        assert_eq!(Llsd::from(vector), Llsd::array([1.0, 2.5, -3.0]));
        assert_eq!(Llsd::from(vector).as_vec3(), Some(vector));
        assert_eq!(Llsd::array([1.0, 2.5]).as_vec3(), None);
    }
}
