//! Types, vectors, rotations, and the elements of lists.

use crate::key::Key;
use crate::string::Text;
use serde::{Deserialize, Serialize};

/// Type of a list's element. The numbers are those of the `TYPE_` constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
pub enum Type {
    /// `integer`: 32 bits.
    Integer = 1,
    /// `float`: 32 bits in `sl`, 64 in `opensim`.
    Float = 2,
    /// `string`
    Text = 3,
    /// `key`: text that may be an id.
    Key = 4,
    /// `vector`: three floats.
    Vector = 5,
    /// `rotation`: four floats, a quaternion.
    Rotation = 6,
}

/// Three floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vector {
    /// The first component, to the east.
    pub x: f64,
    /// The second component, to the north.
    pub y: f64,
    /// The third component, up.
    pub z: f64,
}

impl Vector {
    /// `ZERO_VECTOR`
    pub const ZERO: Self = Self { x: 0.0, y: 0.0, z: 0.0 };

    /// A vector of its components.
    #[must_use]
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }
}

/// A quaternion; not necessarily of length 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rotation {
    /// The axis' first component, times the sine of half the angle.
    pub x: f64,
    /// The axis' second component, times the sine of half the angle.
    pub y: f64,
    /// The axis' third component, times the sine of half the angle.
    pub z: f64,
    /// The cosine of half the angle.
    pub s: f64,
}

impl Rotation {
    /// `ZERO_ROTATION`: no rotation.
    pub const ZERO: Self = Self { x: 0.0, y: 0.0, z: 0.0, s: 1.0 };

    /// A rotation of its components.
    #[must_use]
    pub const fn new(x: f64, y: f64, z: f64, s: f64) -> Self {
        Self { x, y, z, s }
    }
}

/// Element of a list. Lists contain no lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Element {
    /// An integer.
    Integer(i32),
    /// A float, stored by [`crate::Dialect::float`].
    Float(f64),
    /// A string.
    Text(Text),
    /// A key.
    Key(Key),
    /// A vector.
    Vector(Vector),
    /// A rotation. Boxed: it is rare, and 8 bytes longer than all others.
    Rotation(Box<Rotation>),
}

impl Element {
    /// Logical memory of an integer or a float.
    pub const NUMBER_BYTES: usize = 16;
    /// Logical memory of a vector.
    pub const VECTOR_BYTES: usize = 24;
    /// Logical memory of a rotation.
    pub const ROTATION_BYTES: usize = 28;

    /// Its type.
    #[must_use]
    pub const fn kind(&self) -> Type {
        match self {
            Self::Integer(_) => Type::Integer,
            Self::Float(_) => Type::Float,
            Self::Text(_) => Type::Text,
            Self::Key(_) => Type::Key,
            Self::Vector(_) => Type::Vector,
            Self::Rotation(_) => Type::Rotation,
        }
    }

    /// Logical memory that it counts for.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Integer(_) | Self::Float(_) => Self::NUMBER_BYTES,
            Self::Text(text) => text.bytes(),
            Self::Key(key) => key.bytes(),
            Self::Vector(_) => Self::VECTOR_BYTES,
            Self::Rotation(_) => Self::ROTATION_BYTES,
        }
    }

    /// Physical memory behind its own bytes, at most.
    pub(crate) fn footprint(&self) -> usize {
        match self {
            Self::Integer(_) | Self::Float(_) | Self::Vector(_) => 0,
            Self::Text(text) => text.footprint(),
            Self::Key(key) => key.footprint(),
            Self::Rotation(_) => size_of::<Rotation>() + crate::heap::ALLOCATION_BYTES,
        }
    }
}

impl From<i32> for Element {
    fn from(value: i32) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Element {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Element {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<Text> for Element {
    fn from(value: Text) -> Self {
        Self::Text(value)
    }
}

impl From<Key> for Element {
    fn from(value: Key) -> Self {
        Self::Key(value)
    }
}

impl From<Vector> for Element {
    fn from(value: Vector) -> Self {
        Self::Vector(value)
    }
}

impl From<Rotation> for Element {
    fn from(value: Rotation) -> Self {
        Self::Rotation(Box::new(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01234567-89ab-cdef-0123-456789abcdef";

    #[test]
    fn elements_count_what_they_count_in_second_life() {
        let key = |text: &str| Element::Key(Key::from(text));
        for (element, kind, bytes) in [
            (Element::from(7), Type::Integer, 16),
            (Element::from(0.5), Type::Float, 16),
            (Element::from(Vector::ZERO), Type::Vector, 24),
            (Element::from(Rotation::ZERO), Type::Rotation, 28),
            (Element::from(""), Type::Text, 18),
            (Element::from("abc"), Type::Text, 24),
            (Element::from("äöü"), Type::Text, 24),
            (key(ID), Type::Key, 102),
            (key(&ID.to_uppercase()), Type::Key, 102),
            (key(""), Type::Key, 102),
            (key(&"x".repeat(1_000)), Type::Key, 2_030),
        ] {
            assert_eq!((element.kind(), element.bytes()), (kind, bytes), "{element:?}");
        }
    }

    #[test]
    fn elements_take_32_bytes() {
        assert!(size_of::<Element>() <= 32, "{}", size_of::<Element>());
    }
}
