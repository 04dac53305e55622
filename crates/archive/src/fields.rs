//! Documents of named values: control files, settings of regions, parcels, items of inventories, profiles. Each value is the text of an element of its own.
//!
//! A document is read into a plain struct by a table of [`DocumentField`]s, and its text is kept ([`DocumentSource`]). When the struct is written, unchanged
//! values stand as they stood, with elements and attributes that are not in the table, comments and blanks; changed values are replaced in place. A value that
//! cannot be read keeps its default and its text, and is named ([`UnreadValue`]).

use crate::xml::{XmlDocument, XmlElement, XmlError, XmlLimits, push_escaped, push_f32};
use ids::Uuid;
use std::fmt::Write as _;

/// Values named as unreadable, at most.
const UNREAD_MAX: usize = 32;

/// Characters of a text in a message.
const SHOWN_MAX: usize = 64;

/// A value and the element that has it.
pub(crate) struct DocumentField<T> {
    /// Element around it within the outermost one; empty if it stands in the outermost one itself.
    pub(crate) group: &'static str,
    /// Name of its element.
    pub(crate) name: &'static str,
    /// Sets it from its element; none if that cannot be read.
    pub(crate) read: fn(&mut T, &XmlElement<'_>) -> Option<()>,
    /// Its content in a document.
    pub(crate) write: fn(&T) -> FieldContent,
}

/// Content of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldContent {
    /// There is no such element.
    Absent,
    /// Text, which is escaped.
    Text(String),
    /// Elements.
    Markup(String),
}

/// A field whose type is [`Plain`].
macro_rules! field {
    ($name:literal, $($place:ident).+) => { $crate::fields::field!("", $name, $($place).+) };
    ($group:literal, $name:literal, $($place:ident).+) => {
        $crate::fields::DocumentField {
            group: $group,
            name: $name,
            read: |it, element| {
                it.$($place).+ = $crate::fields::Plain::read(&element.text()?)?;
                Some(())
            },
            write: |it| $crate::fields::Plain::write(&it.$($place).+),
        }
    };
}
pub(crate) use field;

/// The methods `read` and `write` of a struct that has its document in a field `source`.
macro_rules! document_methods {
    ($root:expr, $fields:expr, $layout:expr) => {
        /// Reads a document.
        ///
        /// # Errors
        /// [`DocumentError`].
        pub fn read(bytes: &[u8]) -> Result<ReadDocument<Self>, DocumentError> {
            let (mut read, source) = $crate::fields::read($root, &$fields, bytes)?;
            read.value.source = source;
            Ok(read)
        }

        /// Writes its document: as it was read, but for values that have changed.
        #[must_use]
        pub fn write(&self) -> String {
            $crate::fields::write($root, &$fields, $layout, self, &self.source)
        }
    };
}
pub(crate) use document_methods;

/// The text of the document that a value was read from; empty for a value that was not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentSource(Box<str>);

/// A value that could not be read. It has its default.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{element} has an invalid value: {text:?}")]
pub struct UnreadValue {
    /// Name of its element.
    pub element: Box<str>,
    /// Its text, cut.
    pub text: Box<str>,
}

/// Reason for which a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Its markup.
    #[error(transparent)]
    Xml(#[from] XmlError),
    /// It is another document.
    #[error("it is a document of {found}, not of {expected}")]
    Other {
        /// Name of the outermost element of such a document.
        expected: &'static str,
        /// Name of its outermost element.
        found: Box<str>,
    },
    /// Its outermost element lacks an attribute, or has it with no number.
    #[error("its attribute {0} is no number")]
    Attribute(&'static str),
    /// It is of a version that is not known.
    #[error("it has version {0}.{1}, which is newer than this program")]
    Version(u32, u32),
}

/// Layout of a document that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocumentLayout {
    /// Each element on a line of its own. OpenSimulator's readers of control files and settings skip a node behind each value, which has to be a blank.
    Lines,
    /// Without blanks.
    Dense,
}

/// A value with the document that it was read from, and its values that could not be read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadDocument<T> {
    /// The value.
    pub value: T,
    /// Values that have their default, since theirs cannot be read.
    pub unread: Vec<UnreadValue>,
}

/// Parses a document, and checks the name of its outermost element.
pub(crate) fn parse<'a>(root: &'static str, bytes: &'a [u8]) -> Result<XmlDocument<'a>, DocumentError> {
    let document = XmlDocument::parse(bytes, &XmlLimits::SMALL)?;
    let found = document.root().name();
    if found != root {
        return Err(DocumentError::Other { expected: root, found: shown(found) });
    }
    Ok(document)
}

/// Reads all fields of a document. Of two elements with the same name the later one counts, as in OpenSimulator.
pub(crate) fn read<T: Default>(
    root: &'static str,
    fields: &[DocumentField<T>],
    bytes: &[u8],
) -> Result<(ReadDocument<T>, DocumentSource), DocumentError> {
    let document = parse(root, bytes)?;
    let mut value = T::default();
    let mut unread = Vec::new();
    each_field(document.root(), fields, &mut |field, element| {
        if (field.read)(&mut value, &element).is_none() && unread.len() < UNREAD_MAX {
            unread.push(UnreadValue { element: element.name().into(), text: shown(element.inner()) });
        }
    });
    Ok((ReadDocument { value, unread }, DocumentSource::of(bytes)))
}

/// Writes all fields of a document, in the form of its source if it has one.
pub(crate) fn write<T: Default>(
    root: &'static str,
    fields: &[DocumentField<T>],
    layout: DocumentLayout,
    value: &T,
    source: &DocumentSource,
) -> String {
    match read(root, fields, source.0.as_bytes()) {
        Ok((former, _)) => patch(fields, layout, &former.value, value, &source.0),
        Err(_) => fresh(root, "", fields, layout, value),
    }
}

/// A new document, with attributes of the outermost element as they stand in its tag.
pub(crate) fn fresh<T>(
    root: &str,
    attributes: &str,
    fields: &[DocumentField<T>],
    layout: DocumentLayout,
    value: &T,
) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>");
    let line = |text: &mut String, depth: usize| {
        if layout == DocumentLayout::Lines {
            text.push('\n');
            text.extend((0..depth).map(|_| "  "));
        }
    };
    line(&mut text, 0);
    write!(text, "<{root}{attributes}>").expect("a text takes all characters");
    let mut group = "";
    for field in fields {
        let content = (field.write)(value);
        if content == FieldContent::Absent {
            continue;
        }
        if field.group != group {
            close_group(&mut text, group, &line);
            group = field.group;
            if !group.is_empty() {
                line(&mut text, 1);
                write!(text, "<{group}>").expect("a text takes all characters");
            }
        }
        line(&mut text, if group.is_empty() { 1 } else { 2 });
        push_element(field.name, "", &content, &mut text);
    }
    close_group(&mut text, group, &line);
    line(&mut text, 0);
    write!(text, "</{root}>").expect("a text takes all characters");
    text
}

fn close_group(text: &mut String, group: &str, line: &impl Fn(&mut String, usize)) {
    if !group.is_empty() {
        line(text, 1);
        write!(text, "</{group}>").expect("a text takes all characters");
    }
}

/// The source with the contents of changed fields replaced, and with those that it lacks at the end of their group.
fn patch<T>(
    fields: &[DocumentField<T>],
    layout: DocumentLayout,
    former: &T,
    value: &T,
    source: &str,
) -> String {
    let Ok(document) = XmlDocument::parse(source.as_bytes(), &XmlLimits::SMALL) else {
        return source.to_owned();
    };
    let is_changed = |field: &DocumentField<T>| (field.write)(former) != (field.write)(value);
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    let mut present = Vec::new();
    each_field(document.root(), fields, &mut |field, element| {
        present.push((field.group, field.name));
        if is_changed(field) {
            let mut text = String::new();
            push_element(field.name, element.attributes().trim_end(), &(field.write)(value), &mut text);
            edits.push((element.offset(), element.offset() + element.outer().len(), text));
        }
    });
    let mut groups: Vec<&'static str> = fields.iter().map(|field| field.group).collect();
    groups.sort_unstable();
    groups.dedup();
    let mut behind = String::new();
    for group in groups {
        let mut added = String::new();
        let of_group = fields.iter().filter(|field| field.group == group);
        let missing = of_group.filter(|field| !present.contains(&(field.group, field.name)));
        for field in missing.filter(|field| is_changed(field)) {
            push_element(field.name, "", &(field.write)(value), &mut added);
            if layout == DocumentLayout::Lines {
                added.push('\n');
            }
        }
        match document.root().child(group) {
            _ if added.is_empty() => {}
            _ if group.is_empty() => behind.push_str(&added),
            Some(element) => edits.push(appended(&element, &added)),
            None => {
                write!(behind, "<{group}>\n{added}</{group}>\n").expect("a text takes all characters");
            }
        }
    }
    if !behind.is_empty() {
        edits.push(appended(&document.root(), &behind));
    }
    edits.sort_by_key(|(start, ..)| *start);
    let mut text = String::with_capacity(source.len());
    let mut end = 0;
    for (start, edit_end, added) in edits {
        text.push_str(&source[end..start]);
        text.push_str(&added);
        end = edit_end;
    }
    text.push_str(&source[end..]);
    text
}

/// The edit that adds markup to the end of an element.
fn appended(element: &XmlElement<'_>, added: &str) -> (usize, usize, String) {
    let (offset, outer) = (element.offset(), element.outer());
    if outer.ends_with("/>") {
        let (name, attributes) = (element.name(), element.attributes().trim_end());
        return (offset, offset + outer.len(), format!("<{name}{attributes}>\n{added}</{name}>"));
    }
    let at = offset + outer.rfind("</").unwrap_or(outer.len());
    (at, at, added.to_owned())
}

fn push_element(name: &str, attributes: &str, content: &FieldContent, text: &mut String) {
    let inner = match content {
        FieldContent::Absent => return,
        FieldContent::Text(inner) | FieldContent::Markup(inner) => inner,
    };
    if inner.is_empty() {
        write!(text, "<{name}{attributes} />").expect("a text takes all characters");
        return;
    }
    write!(text, "<{name}{attributes}>").expect("a text takes all characters");
    match content {
        FieldContent::Text(_) => push_escaped(inner, text),
        _ => text.push_str(inner),
    }
    write!(text, "</{name}>").expect("a text takes all characters");
}

/// Passes each element that has a field.
fn each_field<'d, T>(
    root: XmlElement<'d>,
    fields: &[DocumentField<T>],
    found: &mut dyn FnMut(&DocumentField<T>, XmlElement<'d>),
) {
    let field_of =
        |group: &str, name: &str| fields.iter().find(|field| field.name == name && field.group == group);
    for child in root.children() {
        if let Some(field) = field_of("", child.name()) {
            found(field, child);
        } else {
            for grandchild in child.children() {
                if let Some(field) = field_of(child.name(), grandchild.name()) {
                    found(field, grandchild);
                }
            }
        }
    }
}

/// A text for a message.
pub(crate) fn shown(text: &str) -> Box<str> {
    text.chars().take(SHOWN_MAX).collect()
}

impl DocumentSource {
    /// The text of a document that was parsed.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).unwrap_or_default().trim_end_matches('\0');
        Self(text.strip_prefix('\u{FEFF}').unwrap_or(text).into())
    }

    /// True for a value that was not read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text, without a byte order mark.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A type with one form of text.
pub(crate) trait Plain: Sized {
    /// Reads a text.
    fn read(text: &str) -> Option<Self>;
    /// Writes it.
    fn write(&self) -> FieldContent;
}

impl Plain for String {
    fn read(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn write(&self) -> FieldContent {
        FieldContent::Text(self.clone())
    }
}

/// `True` and `False` in any case, as .NET reads them, and the numbers of XML.
impl Plain for bool {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("true") || text == "1" {
            Some(true)
        } else if text.eq_ignore_ascii_case("false") || text == "0" {
            Some(false)
        } else {
            None
        }
    }

    fn write(&self) -> FieldContent {
        FieldContent::Text(if *self { "True" } else { "False" }.to_owned())
    }
}

/// Without hyphens, too. Nothing stands for the null id.
impl Plain for Uuid {
    fn read(text: &str) -> Option<Self> {
        match text.trim() {
            "" => Some(Self::nil()),
            text => Self::try_parse(text).ok(),
        }
    }

    fn write(&self) -> FieldContent {
        FieldContent::Text(self.to_string())
    }
}

macro_rules! plain_integer {
    ($($integer:ty),+) => {
        $(impl Plain for $integer {
            fn read(text: &str) -> Option<Self> {
                text.trim().parse().ok()
            }

            fn write(&self) -> FieldContent {
                FieldContent::Text(self.to_string())
            }
        })+
    };
}
plain_integer!(i8, u8, i32, i64);

/// Masks are written as signed numbers by some programs.
impl Plain for u32 {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        text.parse().ok().or_else(|| text.parse().ok().map(i32::cast_unsigned))
    }

    fn write(&self) -> FieldContent {
        FieldContent::Text(self.to_string())
    }
}

impl Plain for f32 {
    fn read(text: &str) -> Option<Self> {
        text.trim().parse().ok().filter(|number: &Self| number.is_finite())
    }

    fn write(&self) -> FieldContent {
        let mut text = String::new();
        push_f32(*self, &mut text);
        FieldContent::Text(text)
    }
}

impl Plain for f64 {
    fn read(text: &str) -> Option<Self> {
        text.trim().parse().ok().filter(|number: &Self| number.is_finite())
    }

    fn write(&self) -> FieldContent {
        FieldContent::Text(self.to_string())
    }
}

/// `<1, 2, 3>`.
impl Plain for [f32; 3] {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.trim().strip_prefix('<')?.strip_suffix('>')?.split(',').map(f32::read);
        let vector = [parts.next()??, parts.next()??, parts.next()??];
        parts.next().is_none().then_some(vector)
    }

    fn write(&self) -> FieldContent {
        let mut text = String::from("<");
        for (n, part) in self.iter().enumerate() {
            text.push_str(if n == 0 { "" } else { ", " });
            push_f32(*part, &mut text);
        }
        text.push('>');
        FieldContent::Text(text)
    }
}

/// None is no element.
impl<T: Plain> Plain for Option<T> {
    fn read(text: &str) -> Option<Self> {
        T::read(text).map(Some)
    }

    fn write(&self) -> FieldContent {
        self.as_ref().map_or(FieldContent::Absent, T::write)
    }
}

#[cfg(test)]
mod tests;
