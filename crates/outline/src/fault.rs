//! Faults of text, independent of its language.

/// A fault in a file's text or nesting.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TextFault {
    /// Bytes that are no text.
    #[error("this is not UTF-8 text")]
    NotText,
    /// A file or a quotation is too long.
    #[error("{bytes} bytes, where {max} are allowed")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The greatest length allowed.
        max: usize,
    },
    /// There are too many of something.
    #[error("more than {max} {what}")]
    TooMany {
        /// Subject.
        what: &'static str,
        /// The greatest number allowed.
        max: usize,
    },
    /// Nested too deep.
    #[error("nested more than {max} deep")]
    TooDeep {
        /// The greatest depth allowed.
        max: usize,
    },
    /// A character that has no meaning outside of quotations.
    #[error("{0:?} has no meaning here")]
    Character(char),
    /// A quotation that does not end on its line.
    #[error("this quotation has no closing `\"`")]
    OpenQuotation,
    /// An escape that does not exist.
    #[error("`\\{0}` is unknown in a quotation; there are `\\\"` and `\\\\`")]
    Escape(char),
    /// Tabs and spaces before the lines of one file.
    #[error("indented with {found}, where this file began with {first}")]
    MixedIndent {
        /// Indentation of this line.
        found: &'static str,
        /// Indentation of the file's first indented line.
        first: &'static str,
    },
    /// A first line that is indented.
    #[error("indented, with no line above it")]
    FirstIndented,
    /// A block under a line that cannot have one.
    #[error("indented more than the line above, which has no block under it")]
    NoBlock,
    /// A line with an indentation unlike its neighbours'.
    #[error("indented by {found}, where the other lines of this block are by {block}")]
    Indent {
        /// Indentation of this line.
        found: u32,
        /// Indentation of the block's first line.
        block: u32,
    },
    /// Something else should stand here.
    #[error("expected {wanted}, found {found}")]
    Expected {
        /// The form wanted.
        wanted: String,
        /// The text found.
        found: String,
    },
}
