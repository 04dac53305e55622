//! Elements of a document that is written.

use super::number::push_f32;
use super::text::{push_escaped, push_escaped_value};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::fmt::{Display, Write as _};

/// A document that is written: no declaration, no white space, empty elements as `<Name />`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XmlWriter {
    text: String,
}

impl XmlWriter {
    /// An empty document.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The text so far.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Bytes of the text so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// True without any text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Removes all text, and keeps its memory.
    pub fn clear(&mut self) {
        self.text.clear();
    }

    /// The document.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }

    /// Opens an element.
    pub fn open(&mut self, name: &str) {
        self.open_with(name, "");
    }

    /// Opens an element with attributes as they stand in a tag, with the space before each of them.
    pub fn open_with(&mut self, name: &str, attributes: &str) {
        self.text.push('<');
        self.text.push_str(name);
        self.text.push_str(attributes);
        self.text.push('>');
    }

    /// Closes an element. The caller closes those that it has opened, in the opposite order.
    pub fn close(&mut self, name: &str) {
        self.text.push_str("</");
        self.text.push_str(name);
        self.text.push('>');
    }

    /// An element with the content that is written in it, or one tag without any, with attributes as in [`Self::open_with`].
    pub fn element(&mut self, name: &str, attributes: &str, write: impl FnOnce(&mut Self)) {
        let start = self.text.len();
        self.open_with(name, attributes);
        let content_start = self.text.len();
        write(self);
        if self.text.len() == content_start {
            self.text.truncate(start);
            self.empty(name, attributes);
        } else {
            self.close(name);
        }
    }

    /// An element without content, with attributes as in [`Self::open_with`].
    pub fn empty(&mut self, name: &str, attributes: &str) {
        self.text.push('<');
        self.text.push_str(name);
        self.text.push_str(attributes);
        self.text.push_str(" />");
    }

    /// An element with this text.
    pub fn leaf(&mut self, name: &str, text: &str) {
        if text.is_empty() {
            return self.empty(name, "");
        }
        self.open(name);
        push_escaped(text, &mut self.text);
        self.close(name);
    }

    /// An element with a value that has no character to be escaped: a number, an id, a word.
    pub fn value(&mut self, name: &str, value: impl Display) {
        self.open(name);
        write!(self.text, "{value}").expect("a text takes all characters");
        self.close(name);
    }

    /// An element with a number.
    pub fn float(&mut self, name: &str, value: f32) {
        self.open(name);
        push_f32(value, &mut self.text);
        self.close(name);
    }

    /// An element with bytes as base64. It has two tags also without bytes.
    pub fn bytes(&mut self, name: &str, bytes: &[u8]) {
        self.open(name);
        BASE64_STANDARD.encode_string(bytes, &mut self.text);
        self.close(name);
    }

    /// Text that is markup already.
    pub fn raw(&mut self, markup: &str) {
        self.text.push_str(markup);
    }
}

/// An attribute as it stands in a tag, with the space before it.
#[must_use]
pub fn attribute(name: &str, value: &str) -> String {
    let mut text = format!(" {name}=\"");
    push_escaped_value(value, &mut text);
    text.push('"');
    text
}
