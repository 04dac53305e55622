//! Types of values, and the conversions and casts between them.

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

    pub(crate) const fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Float)
    }

    pub(crate) const fn is_text(self) -> bool {
        matches!(self, Self::String | Self::Key)
    }
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
}
