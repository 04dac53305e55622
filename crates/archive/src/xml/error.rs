//! Reasons to refuse a document.

use thiserror::Error;

/// A reason to refuse bytes as a document. Offsets count the bytes of the document from 0.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum XmlError {
    /// More bytes than the limit.
    #[error("a document of {len} bytes, at most {max}")]
    Oversized {
        /// Bytes of the document.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// Bytes in another encoding than UTF-8, or damaged ones.
    #[error("no UTF-8 at byte {offset}")]
    Utf8 {
        /// The first byte that is none.
        offset: usize,
    },
    /// A control character, or U+FFFE or U+FFFF, as it is: documents have them as references only.
    #[error("a character that XML forbids at byte {offset}")]
    Character {
        /// Its place.
        offset: usize,
    },
    /// A document type: archives have none, and entities are made in them.
    #[error("a document type at byte {offset}")]
    DocumentType {
        /// Its place.
        offset: usize,
    },
    /// A reference to an entity that is not predefined, or to no character.
    #[error("an unknown entity at byte {offset}")]
    Entity {
        /// Its place, or that of the tag that has it.
        offset: usize,
    },
    /// More elements within each other than the limit.
    #[error("elements nested more than {max} deep at byte {offset}")]
    Depth {
        /// Place of the first element that is too deep.
        offset: usize,
        /// The limit.
        max: usize,
    },
    /// More elements than the limit.
    #[error("more than {max} elements")]
    Elements {
        /// The limit.
        max: usize,
    },
    /// More attributes on one element than the limit.
    #[error("more than {max} attributes on the element at byte {offset}")]
    Attributes {
        /// Place of the element.
        offset: usize,
        /// The limit.
        max: usize,
    },
    /// Markup that is not well-formed.
    #[error("damaged markup at byte {offset}: {reason}")]
    Syntax {
        /// Place of the damage, or of the tag that has it.
        offset: usize,
        /// Explanation.
        reason: String,
    },
    /// The document ends within an element.
    #[error("the document ends within an element")]
    Truncated,
    /// The document has no element.
    #[error("the document has no element")]
    Empty,
}
