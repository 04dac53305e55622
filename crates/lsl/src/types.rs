//! Types of values, and the operators, conversions and casts between them.

use crate::syntax::{BinaryOp, UnaryOp};
use std::fmt;

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// 32 bits.
    Integer,
    /// 32 or 64 bits, by dialect.
    Float,
    /// Text.
    String,
    /// Text that may be an id.
    Key,
    /// Three floats.
    Vector,
    /// Four floats. Its other name is `quaternion`.
    Rotation,
    /// Values of all types but this one.
    List,
    /// No value: of functions that return nothing.
    Void,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Integer => "integer",
            Self::Float => "float",
            Self::String => "string",
            Self::Key => "key",
            Self::Vector => "vector",
            Self::Rotation => "rotation",
            Self::List => "list",
            Self::Void => "void",
        })
    }
}

impl Type {
    /// True if a value of this type stands for one of the other without a cast.
    pub(crate) fn converts_to(self, to: Self) -> bool {
        self == to
            || matches!(
                (self, to),
                (Self::Integer, Self::Float) | (Self::String, Self::Key) | (Self::Key, Self::String)
            )
    }

    /// True if a cast between these types exists.
    pub(crate) fn casts_to(self, to: Self) -> bool {
        use Type::{Float, Integer, Key, List, Rotation, String, Vector, Void};
        match (self, to) {
            (Void, _) | (_, Void) => false,
            (_, String | List) => true,
            (Integer | Float, Integer | Float) | (String, _) => true,
            (Key, Key) | (Vector, Vector) | (Rotation, Rotation) => true,
            (Integer | Float | Key | Vector | Rotation | List, _) => false,
        }
    }

    const fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Float)
    }

    const fn is_text(self) -> bool {
        matches!(self, Self::String | Self::Key)
    }
}

/// The type of `op value`, if there is such an operator.
pub(crate) fn unary(op: UnaryOp, value: Type) -> Option<Type> {
    use Type::{Float, Integer, Rotation, Vector};
    match (op, value) {
        (UnaryOp::Negate, Integer | Float | Vector | Rotation) => Some(value),
        (UnaryOp::Not | UnaryOp::BitNot, Integer) => Some(Integer),
        _ => None,
    }
}

/// The type of `left op right`, if there is such an operator.
pub(crate) fn binary(op: BinaryOp, left: Type, right: Type) -> Option<Type> {
    use BinaryOp as Op;
    use Type::{Float, Integer, List, Rotation, String, Vector, Void};
    let number = if left == Integer && right == Integer { Integer } else { Float };
    match (op, left, right) {
        (_, Void, _) | (_, _, Void) => None,
        (Op::Add, List, _) | (Op::Add, _, List) => Some(List),
        (Op::Add, String, String) => Some(String),
        (Op::Add | Op::Subtract, Vector, Vector) => Some(Vector),
        (Op::Add | Op::Subtract | Op::Multiply | Op::Divide, Rotation, Rotation) => Some(Rotation),
        (Op::Add | Op::Subtract | Op::Multiply | Op::Divide, _, _)
            if left.is_number() && right.is_number() =>
        {
            Some(number)
        }
        (Op::Multiply, Vector, Vector) => Some(Float),
        (Op::Multiply, _, Vector) if left.is_number() => Some(Vector),
        (Op::Multiply | Op::Divide, Vector, Integer | Float | Rotation) => Some(Vector),
        (Op::Remainder, Integer, Integer) => Some(Integer),
        (Op::Remainder, Vector, Vector) => Some(Vector),
        (Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual, _, _)
            if left.is_number() && right.is_number() =>
        {
            Some(Integer)
        }
        (Op::Equal | Op::NotEqual, _, _) => {
            let is_comparable =
                left == right || left.is_number() && right.is_number() || left.is_text() && right.is_text();
            is_comparable.then_some(Integer)
        }
        (
            Op::BitAnd | Op::BitOr | Op::BitXor | Op::And | Op::Or | Op::ShiftLeft | Op::ShiftRight,
            Integer,
            Integer,
        ) => Some(Integer),
        _ => None,
    }
}

/// True if `place op= value` exists: as `place = place op value`, and `integer *= float`, which truncates.
pub(crate) fn assigns(op: BinaryOp, place: Type, value: Type) -> bool {
    if (op, place, value) == (BinaryOp::Multiply, Type::Integer, Type::Float) {
        return true;
    }
    binary(op, place, value).is_some_and(|result| result.converts_to(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Type::{Float, Integer, Key, List, Rotation, String, Vector, Void};

    const ALL: [Type; 8] = [Integer, Float, String, Key, Vector, Rotation, List, Void];

    /// All pairs of types for which something holds, as `left right`.
    fn pairs(holds: impl Fn(Type, Type) -> bool) -> Vec<std::string::String> {
        let all = ALL.into_iter().flat_map(|left| ALL.map(|right| (left, right)));
        all.filter(|&(left, right)| holds(left, right))
            .map(|(left, right)| format!("{left} {right}"))
            .collect()
    }

    #[test]
    fn casts_exist_as_in_second_life() {
        let casts = pairs(Type::casts_to);
        let expected = [
            "integer integer",
            "integer float",
            "integer string",
            "integer list",
            "float integer",
            "float float",
            "float string",
            "float list",
            "string integer",
            "string float",
            "string string",
            "string key",
            "string vector",
            "string rotation",
            "string list",
            "key string",
            "key key",
            "key list",
            "vector string",
            "vector vector",
            "vector list",
            "rotation string",
            "rotation rotation",
            "rotation list",
            "list string",
            "list list",
        ];
        assert_eq!(casts, expected);
    }

    #[test]
    fn operators_exist_as_in_second_life() {
        let of = |op| {
            let pairs = pairs(|left, right| binary(op, left, right).is_some());
            pairs.into_iter().filter(|pair| !pair.contains("list")).collect::<Vec<_>>()
        };
        let numbers = ["integer integer", "integer float", "float integer", "float float"];
        let and = |more: &[&str]| {
            let mut all: Vec<&str> = [&numbers, more].concat();
            all.sort_unstable();
            all.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let sorted = |op| {
            let mut pairs = of(op);
            pairs.sort_unstable();
            pairs
        };
        let alike = ["vector vector", "rotation rotation"];
        assert_eq!(sorted(BinaryOp::Add), and(&[&alike[..], &["string string"]].concat()));
        assert_eq!(sorted(BinaryOp::Subtract), and(&alike));
        let times = ["integer vector", "float vector", "vector integer", "vector float", "vector rotation"];
        assert_eq!(sorted(BinaryOp::Multiply), and(&[&alike[..], &times].concat()));
        let divide = ["vector integer", "vector float", "vector rotation", "rotation rotation"];
        assert_eq!(sorted(BinaryOp::Divide), and(&divide));
        assert_eq!(sorted(BinaryOp::Remainder), ["integer integer", "vector vector"]);
        assert_eq!(sorted(BinaryOp::Less), and(&[]));
        let texts = ["string string", "string key", "key string", "key key"];
        assert_eq!(sorted(BinaryOp::NotEqual), and(&[&alike[..], &texts].concat()));
        assert_eq!(sorted(BinaryOp::Or), ["integer integer"]);
        assert_eq!(binary(BinaryOp::Add, List, Void), None);
        assert_eq!(binary(BinaryOp::Add, Integer, List), Some(List));
        assert_eq!(binary(BinaryOp::Multiply, Vector, Vector), Some(Float), "the scalar product");
        assert_eq!(binary(BinaryOp::Equal, List, List), Some(Integer));
    }

    #[test]
    fn compound_assignments_keep_the_type_of_the_place() {
        for (op, place, value, exists) in [
            (BinaryOp::Add, Float, Integer, true),
            (BinaryOp::Add, Integer, Float, false),
            (BinaryOp::Multiply, Integer, Float, true),
            (BinaryOp::Divide, Integer, Float, false),
            (BinaryOp::Multiply, Vector, Vector, false),
            (BinaryOp::Remainder, Vector, Vector, true),
            (BinaryOp::Add, List, Vector, true),
            (BinaryOp::Add, String, List, false),
            (BinaryOp::Add, String, Key, false),
            (BinaryOp::Multiply, Vector, Rotation, true),
        ] {
            assert_eq!(assigns(op, place, value), exists, "{place} {}= {value}", op.as_str());
        }
    }
}
