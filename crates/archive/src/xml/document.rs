//! A parsed document: its elements in one list, each as places in the source.

use super::error::XmlError;
use super::is_blank;
use super::text::{content, forbidden_at, has_known_references, resolve};
use quick_xml::Reader;
use quick_xml::events::attributes::Attributes;
use quick_xml::events::{BytesStart, Event};
use std::borrow::Cow;

/// Bounds on a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XmlLimits {
    /// Bytes of the document; at most 4 GiB, whatever is said here.
    pub bytes_max: usize,
    /// Elements within each other.
    pub depth_max: usize,
    /// Elements; each takes 32 bytes of memory while the document is read.
    pub elements_max: usize,
    /// Attributes of one element.
    pub attributes_max: usize,
}

impl XmlLimits {
    /// Of an object. Readers of OpenSimulator end at 10,000,000 characters; a prim without contents has 230 elements in 7,000 bytes.
    pub const OBJECT: Self =
        Self { bytes_max: 16 << 20, depth_max: 64, elements_max: 1_000_000, attributes_max: 64 };

    /// Of a document about an archive, a region, a parcel or an item.
    pub const SMALL: Self =
        Self { bytes_max: 4 << 20, depth_max: 64, elements_max: 100_000, attributes_max: 64 };
}

impl Default for XmlLimits {
    fn default() -> Self {
        Self::OBJECT
    }
}

/// A document whose markup is well-formed and within the limits. It refers to the bytes that were read.
#[derive(Debug)]
pub struct XmlDocument<'a> {
    source: &'a str,
    /// In the order of their tags; the first is the root.
    nodes: Vec<ElementNode>,
}

/// An element, as places in the source.
#[derive(Clone, Copy, Debug)]
struct ElementNode {
    name: (u32, u32),
    /// End of the attributes, which begin behind the name.
    attributes_end: u32,
    inner: (u32, u32),
    /// The place behind its last tag.
    end: u32,
    /// The next element within the same one; 0, which is the root's number, for none.
    next: u32,
    has_children: bool,
    /// Text other than blanks stands directly in it.
    has_text: bool,
}

/// An element that is not closed yet, and its last child so far.
struct OpenElement {
    node: u32,
    last_child: Option<u32>,
}

/// An element of a document.
#[derive(Clone, Copy, Debug)]
pub struct XmlElement<'d> {
    document: &'d XmlDocument<'d>,
    index: u32,
}

/// Children of an element, in their order.
#[derive(Clone, Debug)]
pub struct Children<'d> {
    document: &'d XmlDocument<'d>,
    next: Option<u32>,
}

impl<'a> XmlDocument<'a> {
    /// Parses a document. A byte order mark before it and NULs behind it are left out, as programs of this field append them.
    ///
    /// # Errors
    /// [`XmlError`].
    pub fn parse(bytes: &'a [u8], limits: &XmlLimits) -> Result<Self, XmlError> {
        let max = limits.bytes_max.min(u32::MAX as usize);
        if bytes.len() > max {
            return Err(XmlError::Oversized { len: bytes.len(), max });
        }
        let text = std::str::from_utf8(bytes).map_err(|why| XmlError::Utf8 { offset: why.valid_up_to() })?;
        let text = text.trim_end_matches('\0');
        let source = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let mark_len = text.len() - source.len();
        if let Some(at) = forbidden_at(source) {
            return Err(XmlError::Character { offset: mark_len + at });
        }
        let mut builder = DocumentBuilder { source, mark_len, limits, nodes: Vec::new(), open: Vec::new() };
        builder.read()?;
        Ok(Self { source, nodes: builder.nodes })
    }

    /// The outermost element.
    #[must_use]
    pub fn root(&self) -> XmlElement<'_> {
        XmlElement { document: self, index: 0 }
    }
}

struct DocumentBuilder<'a> {
    source: &'a str,
    /// Bytes before the source.
    mark_len: usize,
    limits: &'a XmlLimits,
    nodes: Vec<ElementNode>,
    open: Vec<OpenElement>,
}

impl DocumentBuilder<'_> {
    fn read(&mut self) -> Result<(), XmlError> {
        let mut reader = Reader::from_str(self.source);
        loop {
            let start = reader.buffer_position() as usize;
            let event = reader
                .read_event()
                .map_err(|why| self.syntax(reader.error_position() as usize, why.to_string()))?;
            let end = reader.buffer_position() as usize;
            match event {
                Event::Start(tag) => self.begin(start, end - 1, end, &tag)?,
                Event::Empty(tag) => {
                    self.begin(start, end - 2, end, &tag)?;
                    self.finish(end, end);
                }
                Event::End(_) => self.finish(start, end),
                Event::Text(text) if text.chars().all(is_blank) => {}
                Event::Text(_) | Event::CData(_) => self.note_text(start)?,
                Event::GeneralRef(reference) => {
                    if resolve(&reference).is_none() {
                        return Err(XmlError::Entity { offset: self.mark_len + start });
                    }
                    self.note_text(start)?;
                }
                Event::DocType(_) => {
                    return Err(XmlError::DocumentType { offset: self.mark_len + start });
                }
                Event::Comment(_) | Event::PI(_) | Event::Decl(_) => {}
                Event::Eof => break,
            }
        }
        if !self.open.is_empty() {
            return Err(XmlError::Truncated);
        }
        if self.nodes.is_empty() { Err(XmlError::Empty) } else { Ok(()) }
    }

    /// Adds an element. `attributes_end` is the place of the end of its tag.
    fn begin(
        &mut self,
        start: usize,
        attributes_end: usize,
        end: usize,
        tag: &BytesStart<'_>,
    ) -> Result<(), XmlError> {
        let offset = self.mark_len + start;
        if self.open.len() >= self.limits.depth_max {
            return Err(XmlError::Depth { offset, max: self.limits.depth_max });
        }
        if self.nodes.len() >= self.limits.elements_max {
            return Err(XmlError::Elements { max: self.limits.elements_max });
        }
        if self.open.is_empty() && !self.nodes.is_empty() {
            return Err(self.syntax(start, "a second outermost element".to_owned()));
        }
        let name = tag.name().into_inner();
        if !is_name(name) {
            return Err(self.syntax(start, "a tag without a name".to_owned()));
        }
        self.check_attributes(start, tag)?;
        let index = self.nodes.len() as u32;
        if let Some(parent) = self.open.last_mut() {
            match parent.last_child.replace(index) {
                Some(former) => self.nodes[former as usize].next = index,
                None => self.nodes[parent.node as usize].has_children = true,
            }
        }
        let name_start = start + 1;
        self.nodes.push(ElementNode {
            name: (name_start as u32, (name_start + name.len()) as u32),
            attributes_end: attributes_end as u32,
            inner: (end as u32, end as u32),
            end: end as u32,
            next: 0,
            has_children: false,
            has_text: false,
        });
        self.open.push(OpenElement { node: index, last_child: None });
        Ok(())
    }

    fn check_attributes(&self, start: usize, tag: &BytesStart<'_>) -> Result<(), XmlError> {
        if tag.attributes_raw().is_empty() {
            return Ok(());
        }
        for (n, attribute) in tag.attributes().enumerate() {
            if n >= self.limits.attributes_max {
                let max = self.limits.attributes_max;
                return Err(XmlError::Attributes { offset: self.mark_len + start, max });
            }
            let attribute = attribute.map_err(|why| self.syntax(start, why.to_string()))?;
            if !is_name(attribute.key.into_inner()) || attribute.value.contains('<') {
                return Err(self.syntax(start, "an attribute without a name or with markup".to_owned()));
            }
            if !has_known_references(&attribute.value) {
                return Err(XmlError::Entity { offset: self.mark_len + start });
            }
        }
        Ok(())
    }

    /// Closes the element that was opened last, whose closing tag has these places.
    fn finish(&mut self, start: usize, end: usize) {
        // The reader refuses closing tags without opening ones.
        if let Some(OpenElement { node, .. }) = self.open.pop() {
            let node = &mut self.nodes[node as usize];
            node.inner.1 = start as u32;
            node.end = end as u32;
        }
    }

    fn note_text(&mut self, start: usize) -> Result<(), XmlError> {
        let Some(OpenElement { node, .. }) = self.open.last() else {
            return Err(self.syntax(start, "text outside of the outermost element".to_owned()));
        };
        self.nodes[*node as usize].has_text = true;
        Ok(())
    }

    fn syntax(&self, at: usize, reason: String) -> XmlError {
        XmlError::Syntax { offset: self.mark_len + at, reason }
    }
}

/// True for a name of an element or attribute. Letters beyond ASCII are not told apart.
fn is_name(text: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | ':') || !c.is_ascii();
    let is_part = |c: char| is_start(c) || c.is_ascii_digit() || matches!(c, '-' | '.');
    text.starts_with(is_start) && text.chars().all(is_part)
}

impl<'d> XmlElement<'d> {
    fn node(&self) -> &'d ElementNode {
        &self.document.nodes[self.index as usize]
    }

    fn slice(&self, (start, end): (u32, u32)) -> &'d str {
        &self.document.source[start as usize..end as usize]
    }

    /// Its name, with its prefix if it has one.
    #[must_use]
    pub fn name(&self) -> &'d str {
        self.slice(self.node().name)
    }

    /// Its attributes as they stand in its tag, with the blanks before and behind them.
    #[must_use]
    pub fn attributes(&self) -> &'d str {
        let node = self.node();
        self.slice((node.name.1, node.attributes_end))
    }

    /// The value of an attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<Cow<'d, str>> {
        let node = self.node();
        let tag = self.slice((node.name.0, node.attributes_end));
        let mut attributes = Attributes::new(tag, (node.name.1 - node.name.0) as usize);
        let found =
            attributes.find_map(|attribute| attribute.ok().filter(|it| it.key.into_inner() == name))?;
        Some(match found.value {
            Cow::Borrowed(value) => content(value),
            Cow::Owned(value) => Cow::Owned(content(&value).into_owned()),
        })
    }

    /// All of it, with its tags.
    #[must_use]
    pub fn outer(&self) -> &'d str {
        let node = self.node();
        self.slice((node.name.0 - 1, node.end))
    }

    /// Everything between its tags.
    #[must_use]
    pub fn inner(&self) -> &'d str {
        self.slice(self.node().inner)
    }

    /// Place of its first byte in the source, without a byte order mark.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.node().name.0 as usize - 1
    }

    /// True if other elements stand in it.
    #[must_use]
    pub fn has_children(&self) -> bool {
        self.node().has_children
    }

    /// True if text other than blanks stands directly in it.
    #[must_use]
    pub fn has_text(&self) -> bool {
        self.node().has_text
    }

    /// Its text, exactly; `None` if other elements stand in it.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'d, str>> {
        if self.has_children() { None } else { Some(content(self.inner())) }
    }

    /// Elements that stand in it.
    #[must_use]
    pub fn children(&self) -> Children<'d> {
        let first = self.has_children().then_some(self.index + 1);
        Children { document: self.document, next: first }
    }

    /// The first child of a name.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<Self> {
        self.children().find(|child| child.name() == name)
    }
}

impl<'d> Iterator for Children<'d> {
    type Item = XmlElement<'d>;

    fn next(&mut self) -> Option<XmlElement<'d>> {
        let element = XmlElement { document: self.document, index: self.next? };
        let next = element.node().next;
        self.next = (next != 0).then_some(next);
        Some(element)
    }
}
