//! Casts between types, and values as conditions.

use crate::dialect::Dialect;
use crate::string::Text;
use crate::value::{Element, Rotation, Vector};

pub use crate::convert_float::{decimals_of_c, float_to_string};
pub use crate::convert_text::{string_to_float, string_to_integer, string_to_rotation, string_to_vector};

/// Decimals of floats, and of components inside of lists.
const DECIMALS: usize = 6;

/// Decimals of components outside of lists in `sl`.
const DECIMALS_ALONE: usize = 5;

/// `(integer)` of a float: truncated. In `sl` it goes through float32. −2³¹ if it is out of range or not a number.
#[must_use]
pub fn float_to_integer(value: f64, dialect: Dialect) -> i32 {
    let value = dialect.float(value);
    if value > -2_147_483_649.0 && value < 2_147_483_648.0 { value as i32 } else { i32::MIN }
}

/// `(string)` of an integer.
#[must_use]
pub fn integer_to_string(value: i32) -> Text {
    value.to_string().into()
}

/// `(string)` of a vector outside of lists.
#[must_use]
pub fn vector_to_string(value: Vector, dialect: Dialect) -> Text {
    components(&[value.x, value.y, value.z], decimals_alone(dialect), dialect).into()
}

/// `(string)` of a rotation outside of lists.
#[must_use]
pub fn rotation_to_string(value: Rotation, dialect: Dialect) -> Text {
    components(&[value.x, value.y, value.z, value.s], decimals_alone(dialect), dialect).into()
}

/// The string of a list's element: like `(string)`, with 6 decimals for components.
#[must_use]
pub fn element_to_string(element: &Element, dialect: Dialect) -> Text {
    match element {
        Element::Integer(value) => integer_to_string(*value),
        Element::Float(value) => float_to_string(*value, DECIMALS, dialect).into(),
        Element::Text(text) => text.clone(),
        Element::Key(key) => key.to_text(),
        Element::Vector(Vector { x, y, z }) => components(&[*x, *y, *z], DECIMALS, dialect).into(),
        Element::Rotation(value) => {
            components(&[value.x, value.y, value.z, value.s], DECIMALS, dialect).into()
        }
    }
}

/// `(string)` of a list: the strings of its elements, without anything between them.
#[must_use]
pub fn list_to_string<'a>(list: impl IntoIterator<Item = &'a Element>, dialect: Dialect) -> Text {
    let mut string = String::new();
    for element in list {
        string.push_str(element_to_string(element, dialect).as_str());
    }
    string.into()
}

/// A float as a condition. NaN is true.
#[must_use]
pub fn float_is_true(value: f64) -> bool {
    value != 0.0
}

/// A vector as a condition.
#[must_use]
pub fn vector_is_true(value: Vector) -> bool {
    value != Vector::ZERO
}

/// A rotation as a condition: `ZERO_ROTATION` is false.
#[must_use]
pub fn rotation_is_true(value: Rotation) -> bool {
    value != Rotation::ZERO
}

const fn decimals_alone(dialect: Dialect) -> usize {
    match dialect {
        Dialect::Sl => DECIMALS_ALONE,
        Dialect::OpenSim => DECIMALS,
    }
}

fn components(values: &[f64], decimals: usize, dialect: Dialect) -> String {
    let values: Vec<String> = values.iter().map(|&value| float_to_string(value, decimals, dialect)).collect();
    format!("<{}>", values.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Dialect::{OpenSim, Sl};

    #[test]
    fn floats_become_integers_by_truncation() {
        for (value, sl, opensim) in [
            (1.9, 1, 1),
            (-1.9, -1, -1),
            (0.999_999_99, 1, 0),
            (16_777_217.0, 16_777_216, 16_777_217),
            (2_147_483_520.0, 2_147_483_520, 2_147_483_520),
            (2_147_483_647.0, i32::MIN, i32::MAX),
            (2_147_483_648.0, i32::MIN, i32::MIN),
            (-2_147_483_648.0, i32::MIN, i32::MIN),
            (-2_147_483_904.0, i32::MIN, i32::MIN),
            (1e30, i32::MIN, i32::MIN),
            (f64::INFINITY, i32::MIN, i32::MIN),
            (f64::NEG_INFINITY, i32::MIN, i32::MIN),
            (f64::NAN, i32::MIN, i32::MIN),
            (-0.0, 0, 0),
        ] {
            assert_eq!(float_to_integer(value, Sl), sl, "{value}");
            assert_eq!(float_to_integer(value, OpenSim), opensim, "{value}");
        }
    }

    #[test]
    fn components_have_5_decimals_alone_and_6_in_lists() {
        let vector = Vector::new(1.0, -0.5, 0.333_333_34);
        let rotation = Rotation::new(0.0, 0.25, 1e-6, 1.0);
        let inside = |element: Element, dialect| element_to_string(&element, dialect);
        for (actual, expected) in [
            (vector_to_string(vector, Sl), "<1.00000, -0.50000, 0.33333>"),
            (inside(vector.into(), Sl), "<1.000000, -0.500000, 0.333333>"),
            (vector_to_string(vector, OpenSim), "<1.000000, -0.500000, 0.333333>"),
            (inside(vector.into(), OpenSim), "<1.000000, -0.500000, 0.333333>"),
            (rotation_to_string(rotation, Sl), "<0.00000, 0.25000, 0.00000, 1.00000>"),
            (inside(rotation.into(), Sl), "<0.000000, 0.250000, 0.000001, 1.000000>"),
            (rotation_to_string(rotation, OpenSim), "<0.000000, 0.250000, 0.000001, 1.000000>"),
        ] {
            assert_eq!(actual.as_str(), expected);
        }
        let infinite = Vector::new(f64::INFINITY, f64::NEG_INFINITY, f64::NAN);
        assert_eq!(vector_to_string(infinite, Sl).as_str(), "<Infinity, -Infinity, NaN>");
    }

    #[test]
    fn strings_of_lists_have_nothing_between_elements() {
        let id = "01234567-89ab-cdef-0123-456789abcdef";
        let list: [Element; 5] =
            [1.into(), "a".into(), 1.5.into(), crate::Key::from(id).into(), Vector::ZERO.into()];
        for dialect in [Sl, OpenSim] {
            let expected = format!("1a1.500000{id}<0.000000, 0.000000, 0.000000>");
            assert_eq!(list_to_string(&list, dialect).as_str(), expected);
        }
        assert_eq!(list_to_string(&[], Sl).as_str(), "");
    }

    #[test]
    fn conditions_are_comparisons_with_zero() {
        for (value, is_true) in [(0.0, false), (-0.0, false), (1e-40, true), (f64::NAN, true)] {
            assert_eq!(float_is_true(value), is_true, "{value}");
        }
        for (value, is_true) in
            [(Vector::ZERO, false), (Vector::new(-0.0, 0.0, 0.0), false), (Vector::new(0.0, 0.0, 0.1), true)]
        {
            assert_eq!(vector_is_true(value), is_true, "{value:?}");
        }
        for (value, is_true) in [
            (Rotation::ZERO, false),
            (Rotation::new(0.0, 0.0, 0.0, 0.0), true),
            (Rotation::new(0.0, 0.0, 0.0, -1.0), true),
        ] {
            assert_eq!(rotation_is_true(value), is_true, "{value:?}");
        }
    }
}
