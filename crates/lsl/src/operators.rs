//! Operators, and the types for which they exist.

use crate::types::Type;

/// `-x`, `!x`, `~x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Negate,
    Not,
    BitNot,
}

/// Operators between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
    ShiftLeft,
    ShiftRight,
}

impl BinaryOp {
    /// As it is written.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "^",
            Self::And => "&&",
            Self::Or => "||",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
        }
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
