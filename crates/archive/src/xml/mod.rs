//! XML of archives: reading within bounds, and writing in the form of .NET's `XmlTextWriter`, with which OpenSimulator writes.
//!
//! [`XmlDocument`] is a parsed document: elements with their attributes and text, all as places in the bytes that were read, so that a part that is not
//! understood can be kept as it is. It knows no document types and no entities but the five predefined ones and character references, so that nothing
//! expands. Bytes are UTF-8 in every archive; a declaration of another encoding is ignored, as OpenSimulator declares UTF-16 and writes UTF-8.
//! [`XmlWriter`] appends elements to a text.

mod document;
mod error;
mod number;
mod text;
mod writer;

#[cfg(test)]
mod tests;

pub use document::{Children, XmlDocument, XmlElement, XmlLimits};
pub use error::XmlError;
pub use number::push_f32;
pub use text::{push_escaped, push_escaped_value};
pub use writer::{XmlWriter, attribute};

/// Blanks of XML, which are fewer than those of Unicode.
#[must_use]
pub const fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}
