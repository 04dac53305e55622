//! Reasons to refuse bytes.

use std::fmt;

/// The reason a decoder refuses its input. Each is a metric label, so the set is closed and small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Malformed {
    /// Ends before a field that must be there.
    Truncated,
    /// Longer than anything of its kind may be.
    Oversized,
    /// A zero run would expand past the buffer, or lacks its count.
    ZeroCode,
    /// No such message in our set.
    UnknownMessage,
    /// A count, enumeration or length with an impossible value.
    Value,
    /// Text that is not UTF-8 where UTF-8 is required.
    Text,
    /// Nested deeper than any honest sender goes.
    Depth,
    /// Markup that does not parse, or holds what the dialect does not allow (entities, doctypes).
    Syntax,
}

impl Malformed {
    /// Every reason, for registering metrics.
    pub const ALL: [Self; 8] = [
        Self::Truncated,
        Self::Oversized,
        Self::ZeroCode,
        Self::UnknownMessage,
        Self::Value,
        Self::Text,
        Self::Depth,
        Self::Syntax,
    ];

    /// Metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Oversized => "oversized",
            Self::ZeroCode => "zero_code",
            Self::UnknownMessage => "unknown_message",
            Self::Value => "value",
            Self::Text => "text",
            Self::Depth => "depth",
            Self::Syntax => "syntax",
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for Malformed {}
