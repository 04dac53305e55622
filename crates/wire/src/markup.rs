//! Bounded pull parsing of the XML that LLSD and XML-RPC use, and the escaping they share.
//!
//! It knows elements, text, comments and CDATA, the five predefined entities and numeric character
//! references. It refuses document types, so there are no other entities and nothing expands: text in memory
//! is never longer than the bytes that came. It does not know what the elements mean; nesting is bounded by
//! the callers, which open an element only where their dialect allows one. Start with [`Markup::child`].

use crate::Malformed;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

/// A cursor over a document: always just inside the element that was opened last.
pub(crate) struct Markup<'a> {
    reader: Reader<&'a [u8]>,
    /// Elements open around the cursor; 0 outside the root.
    depth: usize,
}

/// An element whose opening tag was just read.
pub(crate) struct Element<'a>(BytesStart<'a>);

/// Result of one step of the cursor.
enum MarkupItem<'a> {
    Open(Element<'a>),
    Close,
    Text(String),
    /// A comment, the prolog or a processing instruction: means nothing to either dialect.
    Nothing,
    End,
}

impl<'a> Markup<'a> {
    /// A cursor before the root element of `document`.
    ///
    /// # Errors
    /// [`Malformed::Oversized`] above `bytes_max` bytes, [`Malformed::Text`] if it is not UTF-8, the only
    /// encoding that clients send.
    pub(crate) fn new(document: &'a [u8], bytes_max: usize) -> Result<Self, Malformed> {
        if document.len() > bytes_max {
            return Err(Malformed::Oversized);
        }
        let text = std::str::from_utf8(document).map_err(|_| Malformed::Text)?;
        let mut reader = Reader::from_str(text.trim_start_matches('\u{FEFF}'));
        reader.config_mut().expand_empty_elements = true;
        Ok(Self { reader, depth: 0 })
    }

    /// Opens the next child of the open element. `None` when that element closes instead, or, outside the
    /// root, at the end of the document.
    ///
    /// # Errors
    /// [`Malformed::Syntax`] for text that is not white space, [`Malformed::Truncated`] if the document ends
    /// inside an element.
    pub(crate) fn child(&mut self) -> Result<Option<Element<'a>>, Malformed> {
        loop {
            match self.step()? {
                MarkupItem::Open(element) => return Ok(Some(element)),
                MarkupItem::Close | MarkupItem::End => return Ok(None),
                MarkupItem::Text(text) if text.chars().all(is_blank) => {}
                MarkupItem::Text(_) => return Err(Malformed::Syntax),
                MarkupItem::Nothing => {}
            }
        }
    }

    /// Opens the next child, which must be called `name`.
    pub(crate) fn expect(&mut self, name: &str) -> Result<Element<'a>, Malformed> {
        match self.child()? {
            Some(element) if element.name() == name => Ok(element),
            _ => Err(Malformed::Syntax),
        }
    }

    /// Closes the open element, or outside the root sees the end of the document; nothing may stand before
    /// it.
    pub(crate) fn close(&mut self) -> Result<(), Malformed> {
        match self.child()? {
            None => Ok(()),
            Some(_) => Err(Malformed::Syntax),
        }
    }

    /// All text up to the close of the open element, which is consumed; a child element is refused.
    pub(crate) fn text(&mut self) -> Result<String, Malformed> {
        match self.text_or_child()? {
            (text, None) => Ok(text),
            (_, Some(_)) => Err(Malformed::Syntax),
        }
    }

    /// Text up to the close of the open element or up to its first child, which is then open.
    pub(crate) fn text_or_child(&mut self) -> Result<(String, Option<Element<'a>>), Malformed> {
        let mut whole = String::new();
        loop {
            match self.step()? {
                MarkupItem::Text(text) if whole.is_empty() => whole = text,
                MarkupItem::Text(text) => whole.push_str(&text),
                MarkupItem::Open(element) => return Ok((whole, Some(element))),
                MarkupItem::Close | MarkupItem::End => return Ok((whole, None)),
                MarkupItem::Nothing => {}
            }
        }
    }

    fn step(&mut self) -> Result<MarkupItem<'a>, Malformed> {
        let event = self.reader.read_event().map_err(|_| Malformed::Syntax)?;
        Ok(match event {
            Event::Start(start) | Event::Empty(start) => {
                self.depth += 1;
                MarkupItem::Open(Element(start))
            }
            Event::End(_) => {
                self.depth -= 1;
                MarkupItem::Close
            }
            Event::Text(text) => MarkupItem::Text(text.xml10_content().into_owned()),
            Event::CData(text) => MarkupItem::Text(text.xml10_content().into_owned()),
            Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                Ok(Some(character)) => MarkupItem::Text(character.into()),
                Ok(None) => {
                    MarkupItem::Text(resolve_predefined_entity(&reference).ok_or(Malformed::Syntax)?.into())
                }
                Err(_) => return Err(Malformed::Syntax),
            },
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) => MarkupItem::Nothing,
            Event::DocType(_) => return Err(Malformed::Syntax),
            Event::Eof if self.depth > 0 => return Err(Malformed::Truncated),
            Event::Eof => MarkupItem::End,
        })
    }
}

impl Element<'_> {
    pub(crate) fn name(&self) -> &str {
        self.0.name().into_inner()
    }

    /// The value of an attribute as written; neither dialect has one that needs escapes.
    pub(crate) fn attribute(&self, name: &str) -> Result<Option<String>, Malformed> {
        let found = self.0.try_get_attribute(name).map_err(|_| Malformed::Syntax)?;
        Ok(found.map(|attribute| attribute.value.into_owned()))
    }
}

/// XML's own white space, which is less than Unicode's.
pub(crate) const fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

/// Appends `text` as element content. What XML 1.0 cannot say (most control characters) becomes U+FFFD; a
/// carriage return becomes a reference, because a parser would turn a bare one into a newline.
pub(crate) fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#13;"),
            '\t' | '\n' => out.push(character),
            '\0'..='\x1F' | '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
            _ => out.push(character),
        }
    }
}

/// Appends `<name>`, what `content` appends, and `</name>`.
pub(crate) fn tagged(name: &str, out: &mut String, content: impl FnOnce(&mut String)) {
    out.push('<');
    out.push_str(name);
    out.push('>');
    content(out);
    out.push_str("</");
    out.push_str(name);
    out.push('>');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(document: &str) -> Result<String, Malformed> {
        let mut markup = Markup::new(document.as_bytes(), 1_000)?;
        markup.expect("a")?;
        let text = markup.text()?;
        markup.close()?;
        Ok(text)
    }

    #[test]
    fn text_is_joined_across_comments_cdata_and_references() {
        let document =
            "\u{FEFF}<?xml version='1.0'?><!-- x --><a>1&lt;<!-- y -->2<![CDATA[<&>]]>&#x41;&#66;</a>\n";
        assert_eq!(text_of(document).as_deref(), Ok("1<2<&>AB"));
        assert_eq!(text_of("<a/>").as_deref(), Ok(""));
    }

    #[test]
    fn entities_and_doctypes_are_refused() {
        for document in [
            "<!DOCTYPE a [<!ENTITY b 'bbbb'>]><a>&b;</a>",
            "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
            "<a>&b;</a>",
            "<a>&#0;</a>",
            "<a>&#x110000;</a>",
            "<a>& b</a>",
        ] {
            assert_eq!(text_of(document), Err(Malformed::Syntax), "{document}");
        }
    }

    #[test]
    fn broken_structure_is_refused() {
        assert_eq!(text_of("<a>1"), Err(Malformed::Truncated));
        assert_eq!(text_of("<a>1</b>"), Err(Malformed::Syntax));
        assert_eq!(text_of("<a><b/></a>"), Err(Malformed::Syntax));
        assert_eq!(text_of("<a/><a/>"), Err(Malformed::Syntax));
        assert_eq!(text_of("<a/>text"), Err(Malformed::Syntax));
        assert_eq!(text_of("<a/></a>"), Err(Malformed::Syntax));
        assert_eq!(text_of(""), Err(Malformed::Syntax));
        assert_eq!(Markup::new(b"\xFF<a/>", 100).err(), Some(Malformed::Text));
        assert_eq!(Markup::new(b"<a></a>", 6).err(), Some(Malformed::Oversized));
    }

    #[test]
    fn escaped_text_reads_back_and_the_unsayable_is_replaced() {
        let mut document = String::from("<a>");
        escape("a&b<c>d\re\nf\0g", &mut document);
        document.push_str("</a>");
        assert_eq!(text_of(&document).as_deref(), Ok("a&b<c>d\re\nf\u{FFFD}g"));
    }
}
