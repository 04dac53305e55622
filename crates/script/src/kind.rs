//! Kinds of registers, and values outside of a heap: arguments of events, results of functions.

use crate::dialect::Dialect;
use crate::heap::Object;
use crate::key::Key;
use crate::list::List;
use crate::string::Text;
use crate::value::{Element, Rotation, Vector};
use serde::{Deserialize, Serialize};
use state_hash::StateHasher;

/// Type of a register, a global, a parameter or a result. It never changes, so that cells need no tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// 32 bits, in the lower half of a cell.
    Integer,
    /// A double.
    Float,
    /// A reference to a string.
    Text,
    /// A reference to a key.
    Key,
    /// A reference to a list.
    List,
    /// Three doubles. Each component is also a register of kind float.
    Vector,
    /// Four doubles. Each component is also a register of kind float.
    Rotation,
}

impl Kind {
    /// Number of cells.
    #[must_use]
    pub const fn n_cells(self) -> usize {
        match self {
            Self::Integer | Self::Float | Self::Text | Self::Key | Self::List => 1,
            Self::Vector => 3,
            Self::Rotation => 4,
        }
    }

    /// True if its cell is a reference.
    #[must_use]
    pub const fn is_reference(self) -> bool {
        matches!(self, Self::Text | Self::Key | Self::List)
    }

    /// Number of cells of all.
    #[must_use]
    pub fn cells_of(kinds: &[Self]) -> usize {
        kinds.iter().map(|kind| kind.n_cells()).sum()
    }
}

/// A value of any kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// An integer.
    Integer(i32),
    /// A float.
    Float(f64),
    /// A string.
    Text(Text),
    /// A key.
    Key(Key),
    /// A list.
    List(List),
    /// A vector.
    Vector(Vector),
    /// A rotation.
    Rotation(Rotation),
}

impl Value {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Integer(_) => Kind::Integer,
            Self::Float(_) => Kind::Float,
            Self::Text(_) => Kind::Text,
            Self::Key(_) => Kind::Key,
            Self::List(_) => Kind::List,
            Self::Vector(_) => Kind::Vector,
            Self::Rotation(_) => Kind::Rotation,
        }
    }

    /// The initial value of a variable: zero, the empty string, key or list, no rotation.
    #[must_use]
    pub fn zero(kind: Kind) -> Self {
        match kind {
            Kind::Integer => Self::Integer(0),
            Kind::Float => Self::Float(0.0),
            Kind::Text => Self::Text(Text::default()),
            Kind::Key => Self::Key(Key::from("")),
            Kind::List => Self::List(List::default()),
            Kind::Vector => Self::Vector(Vector::ZERO),
            Kind::Rotation => Self::Rotation(Rotation::ZERO),
        }
    }

    /// The value as a variable keeps it: floats by the dialect.
    #[must_use]
    pub fn stored(self, dialect: Dialect) -> Self {
        match self {
            Self::Float(value) => Self::Float(dialect.float(value)),
            Self::Vector(value) => Self::Vector(dialect.vector(value)),
            Self::Rotation(value) => Self::Rotation(dialect.rotation(value)),
            other => other,
        }
    }

    /// Logical memory that it counts for in a list, or in a heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Integer(_) | Self::Float(_) => Element::NUMBER_BYTES,
            Self::Text(text) => text.bytes(),
            Self::Key(key) => key.bytes(),
            Self::List(list) => list.bytes(),
            Self::Vector(_) => Element::VECTOR_BYTES,
            Self::Rotation(_) => Element::ROTATION_BYTES,
        }
    }

    /// Folds it into a digest.
    pub(crate) fn fold(&self, digest: &mut StateHasher) {
        match self {
            Self::Integer(value) => digest.u32(value.cast_unsigned()),
            Self::Float(value) => fold_float(*value, digest),
            Self::Text(text) => digest.bytes(text.as_str().as_bytes()),
            Self::Key(key) => fold_key(key, digest),
            Self::List(list) => fold_list(list, digest),
            Self::Vector(Vector { x, y, z }) => fold_floats(&[*x, *y, *z], digest),
            Self::Rotation(Rotation { x, y, z, s }) => fold_floats(&[*x, *y, *z, *s], digest),
        }
    }
}

/// Folds an object into a digest.
pub(crate) fn fold_object(object: &Object, digest: &mut StateHasher) {
    match object {
        Object::Text(text) => digest.bytes(text.as_str().as_bytes()),
        Object::Key(key) => fold_key(key, digest),
        Object::List(list) => fold_list(list, digest),
    }
}

fn fold_key(key: &Key, digest: &mut StateHasher) {
    match key.id() {
        Some(id) => digest.bytes(&id),
        None => key.with_str(|text| digest.bytes(text.as_bytes())),
    }
}

fn fold_list(list: &List, digest: &mut StateHasher) {
    digest.u64(list.len() as u64);
    for element in list {
        match element {
            Element::Integer(value) => digest.u32(value.cast_unsigned()),
            Element::Float(value) => fold_float(*value, digest),
            Element::Text(text) => digest.bytes(text.as_str().as_bytes()),
            Element::Key(key) => fold_key(key, digest),
            Element::Vector(value) => fold_floats(&[value.x, value.y, value.z], digest),
            Element::Rotation(value) => fold_floats(&[value.x, value.y, value.z, value.s], digest),
        }
    }
}

fn fold_floats(values: &[f64], digest: &mut StateHasher) {
    for value in values {
        fold_float(*value, digest);
    }
}

/// Folds a float into a digest. All NaNs are one, since their bits differ between processors.
pub(crate) const fn fold_float(value: f64, digest: &mut StateHasher) {
    digest.u64(if value.is_nan() { f64::NAN } else { value }.to_bits());
}

macro_rules! value_from {
    ($($from:ty => $to:ident),*) => {
        $(impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Self::$to(value)
            }
        })*
    };
}

value_from!(i32 => Integer, f64 => Float, Text => Text, Key => Key, List => List, Vector => Vector, Rotation => Rotation);

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Integer(i32::from(value))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_cells_and_zeros() {
        for (kind, n_cells, is_reference) in [
            (Kind::Integer, 1, false),
            (Kind::Float, 1, false),
            (Kind::Text, 1, true),
            (Kind::Key, 1, true),
            (Kind::List, 1, true),
            (Kind::Vector, 3, false),
            (Kind::Rotation, 4, false),
        ] {
            assert_eq!((kind.n_cells(), kind.is_reference()), (n_cells, is_reference), "{kind:?}");
            assert_eq!(Value::zero(kind).kind(), kind);
        }
        assert_eq!(Value::zero(Kind::Rotation), Value::Rotation(Rotation::ZERO));
        assert_eq!(Value::from(0.1).stored(Dialect::Sl), Value::Float(f64::from(0.1_f32)));
    }

    fn digest(value: Value) -> u64 {
        let mut digest = StateHasher::new();
        value.fold(&mut digest);
        digest.finish()
    }

    #[test]
    fn the_sign_of_a_nan_is_in_no_digest() {
        let values = |nan: f64| {
            let vector = Vector::new(1.0, nan, 2.0);
            let list = List::from(vec![nan.into(), vector.into()]);
            [Value::from(nan), Value::from(vector), Value::from(list)]
        };
        for (value, other) in values(f64::NAN).into_iter().zip(values(-f64::NAN)) {
            assert_eq!(digest(value), digest(other));
        }
    }

    #[test]
    fn different_values_have_different_digests() {
        let list = |elements: Vec<Element>| Value::List(elements.into());
        let all = [
            Value::from(1),
            Value::from(0.1),
            Value::from("a"),
            Value::from("b"),
            Value::from(Key::NULL),
            Value::from(Key::from("x")),
            list(vec![1.into()]),
            list(vec![1.into(), 2.into()]),
            Value::from(Vector::new(1.0, 2.0, 3.0)),
            Value::from(Rotation::new(1.0, 2.0, 3.0, 4.0)),
        ];
        let mut digests: Vec<u64> = all.iter().cloned().map(digest).collect();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), all.len());
    }
}
