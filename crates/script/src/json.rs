//! JSON: reads of values by their path.
//!
//! Text is not parsed as a whole. Each level on a path is read as far as its members reach; values beside the path need no more than brackets that match.
//! So a fault in a neighbour does not hide a value, as in Second Life. One pass finds the ends of all brackets, so that a path costs no more than the
//! text is long, and nothing is recursive.
//!
//! Numbers may have leading zeros, and no digits on one side of their point. `\uXXXX` is decoded in both dialects.

use crate::dialect::Dialect;
use crate::error::RunError;
use crate::list::List;
use crate::string::Text;
use crate::value::Element;

/// `JSON_INVALID`: no value, or text that is no JSON.
pub const INVALID: &str = "\u{fdd0}";
/// `JSON_OBJECT`
pub const OBJECT: &str = "\u{fdd1}";
/// `JSON_ARRAY`
pub const ARRAY: &str = "\u{fdd2}";
/// `JSON_NUMBER`
pub const NUMBER: &str = "\u{fdd3}";
/// `JSON_STRING`
pub const STRING: &str = "\u{fdd4}";
/// `JSON_NULL`
pub const NULL: &str = "\u{fdd5}";
/// `JSON_TRUE`
pub const TRUE: &str = "\u{fdd6}";
/// `JSON_FALSE`
pub const FALSE: &str = "\u{fdd7}";
/// `JSON_DELETE`
pub const DELETE: &str = "\u{fdd8}";

/// White space between tokens.
pub(crate) const SPACE: [char; 6] = [' ', '\t', '\n', '\u{b}', '\u{c}', '\r'];

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonKind {
    Object,
    Array,
    Text,
    Number,
    True,
    False,
    Null,
}

/// A value where it stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JsonValue {
    pub(crate) kind: JsonKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A member of an array, or of an object with its key in quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JsonMember {
    /// Start and end of the key.
    pub(crate) key: Option<(usize, usize)>,
    pub(crate) value: JsonValue,
}

/// A text and the ends of its brackets.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    text: &'a str,
    /// Places of opening brackets and of those that close them, ascending.
    brackets: Vec<(usize, usize)>,
}

impl<'a> Document<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let mut brackets = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    // Without an end no bracket behind it counts.
                    let Some(end) = string_end(text, at) else { break };
                    at = end - 1;
                }
                b'{' | b'[' => {
                    open.push(brackets.len());
                    brackets.push((at, usize::MAX));
                }
                b'}' | b']' => {
                    let Some(opened) = open.pop() else { break };
                    let is_pair = matches!((bytes[brackets[opened].0], byte), (b'{', b'}') | (b'[', b']'));
                    if !is_pair {
                        break;
                    }
                    brackets[opened].1 = at;
                }
                _ => {}
            }
            at += 1;
        }
        Self { text, brackets }
    }

    pub(crate) fn raw(&self, value: JsonValue) -> &'a str {
        &self.text[value.start..value.end]
    }

    /// The one value of the text.
    pub(crate) fn root(&self) -> Option<JsonValue> {
        let value = self.value(0)?;
        (self.skip_space(value.end) == self.text.len()).then_some(value)
    }

    /// The members of an object or an array, if each of them is one.
    pub(crate) fn members(&self, of: JsonValue) -> Option<Vec<JsonMember>> {
        let mut members = Vec::new();
        let last = of.end - 1;
        let mut at = self.skip_space(of.start + 1);
        if at == last {
            return Some(members);
        }
        loop {
            let mut key = None;
            if of.kind == JsonKind::Object {
                let start = self.skip_space(at);
                let end = self
                    .byte(start)
                    .filter(|&byte| byte == b'"')
                    .and_then(|_| string_end(self.text, start))?;
                let colon = self.skip_space(end);
                self.byte(colon).filter(|&byte| byte == b':')?;
                key = Some((start, end));
                at = colon + 1;
            }
            let value = self.value(at)?;
            members.push(JsonMember { key, value });
            at = self.skip_space(value.end);
            if at == last {
                return Some(members);
            }
            self.byte(at).filter(|&byte| byte == b',')?;
            at += 1;
        }
    }

    /// The key of a member as it stands, in quotes; empty in an array.
    pub(crate) fn raw_key(&self, member: &JsonMember) -> &'a str {
        member.key.map_or("", |(start, end)| &self.text[start..end])
    }

    /// The key of a member, as it is meant.
    pub(crate) fn key(&self, member: &JsonMember) -> Option<String> {
        member.key.map(|(start, end)| unquoted(&self.text[start..end]))
    }

    /// The member that a specifier names. Digits name members of arrays as well. Of equal keys the last counts.
    pub(crate) fn find(&self, members: &[JsonMember], of: JsonKind, specifier: &Element) -> Option<usize> {
        match (of, specifier) {
            (JsonKind::Array, Element::Integer(index)) => {
                usize::try_from(*index).ok().filter(|&index| index < members.len())
            }
            (JsonKind::Array, Element::Text(text)) => {
                index_of(text.as_str()).filter(|&index| index < members.len())
            }
            (JsonKind::Object, Element::Text(text)) => self.find_key(members, text.as_str()),
            (JsonKind::Object, Element::Key(key)) => key.with_str(|key| self.find_key(members, key)),
            _ => None,
        }
    }

    fn find_key(&self, members: &[JsonMember], key: &str) -> Option<usize> {
        members.iter().rposition(|member| self.key(member).is_some_and(|found| found == key))
    }

    /// The value at the end of a path.
    fn at_path(&self, path: &List) -> Option<JsonValue> {
        let mut value = self.root()?;
        for specifier in path {
            if !matches!(value.kind, JsonKind::Object | JsonKind::Array) {
                return None;
            }
            let members = self.members(value)?;
            value = members[self.find(&members, value.kind, specifier)?].value;
        }
        Some(value)
    }

    /// The value that begins behind white space.
    fn value(&self, at: usize) -> Option<JsonValue> {
        let start = self.skip_space(at);
        let bracket = |kind| {
            let found = self.brackets.binary_search_by_key(&start, |(open, _)| *open).ok()?;
            let close = self.brackets[found].1;
            (close != usize::MAX).then(|| JsonValue { kind, start, end: close + 1 })
        };
        match self.byte(start)? {
            b'{' => bracket(JsonKind::Object),
            b'[' => bracket(JsonKind::Array),
            b'"' => string_end(self.text, start).map(|end| JsonValue { kind: JsonKind::Text, start, end }),
            _ => {
                let rest = &self.text[start..];
                let length =
                    rest.find(|c| SPACE.contains(&c) || matches!(c, ',' | ':' | ']' | '}' | '[' | '{' | '"'));
                let end = start + length.unwrap_or(rest.len());
                word_kind(&self.text[start..end]).map(|kind| JsonValue { kind, start, end })
            }
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn skip_space(&self, at: usize) -> usize {
        self.text.len() - self.text[at..].trim_start_matches(SPACE).len()
    }
}

/// `llJsonGetValue`: the value at the end of a path. Strings without quotes, objects, arrays and numbers as they stand, the constants for `true`, `false`
/// and `null`.
#[must_use]
pub fn get_value(json: &str, path: &List) -> Text {
    let document = Document::new(json);
    let Some(value) = document.at_path(path) else { return INVALID.into() };
    match value.kind {
        JsonKind::Text => unquoted(document.raw(value)).into(),
        JsonKind::Object | JsonKind::Array | JsonKind::Number => document.raw(value).into(),
        JsonKind::True | JsonKind::False | JsonKind::Null => constant(value.kind).into(),
    }
}

/// `llJsonValueType`: the constant for the type of the value at the end of a path.
#[must_use]
pub fn value_type(json: &str, path: &List) -> Text {
    let found = Document::new(json).at_path(path);
    found.map_or(INVALID, |value| constant(value.kind)).into()
}

/// `llJson2List`: the elements of an array, keys and values of an object in turn, or the one value. Objects and arrays within are strings as they stand.
/// Text that is no JSON is one string; with brackets around it, `JSON_INVALID`.
///
/// # Errors
///
/// [`RunError::StackHeapCollision`] if the list is larger than `room`; checked while it grows, since commas take less memory than elements.
pub fn to_list(json: &str, room: usize, dialect: Dialect) -> Result<List, RunError> {
    let json = json.trim_matches(SPACE);
    if json.is_empty() {
        return Ok(List::default());
    }
    let single = |element: Element| Ok(List::from(vec![element]));
    let document = Document::new(json);
    let is_bracketed = json.starts_with(['[', '{']);
    let Some(value) = document.root() else {
        return single(if is_bracketed { INVALID } else { json }.into());
    };
    if !is_bracketed {
        return single(element(&document, value, dialect));
    }
    let Some(members) = document.members(value) else { return single(INVALID.into()) };
    let mut list = List::default();
    for member in &members {
        if let Some(key) = document.key(member) {
            list.push_within(room, Text::from(key).into())?;
        }
        list.push_within(room, element(&document, member.value, dialect))?;
    }
    Ok(list)
}

/// A value as an element of a list. Integers out of range become the nearest.
fn element(document: &Document<'_>, value: JsonValue, dialect: Dialect) -> Element {
    let raw = document.raw(value);
    match value.kind {
        JsonKind::Text => Text::from(unquoted(raw)).into(),
        JsonKind::Object | JsonKind::Array => raw.into(),
        JsonKind::True | JsonKind::False | JsonKind::Null => constant(value.kind).into(),
        JsonKind::Number if raw.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => {
            let nearest = if raw.starts_with('-') { i32::MIN } else { i32::MAX };
            Element::Integer(raw.parse().unwrap_or(nearest))
        }
        JsonKind::Number => Element::Float(crate::convert::string_to_float(raw, dialect)),
    }
}

/// The constant for a type.
const fn constant(kind: JsonKind) -> &'static str {
    match kind {
        JsonKind::Object => OBJECT,
        JsonKind::Array => ARRAY,
        JsonKind::Text => STRING,
        JsonKind::Number => NUMBER,
        JsonKind::True => TRUE,
        JsonKind::False => FALSE,
        JsonKind::Null => NULL,
    }
}

/// The index that digits name.
pub(crate) fn index_of(text: &str) -> Option<usize> {
    let is_index = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_index { text.parse().ok() } else { None }
}

fn word_kind(word: &str) -> Option<JsonKind> {
    match word {
        "true" => Some(JsonKind::True),
        "false" => Some(JsonKind::False),
        "null" => Some(JsonKind::Null),
        _ => is_number(word).then_some(JsonKind::Number),
    }
}

/// True for a number: a sign, digits with a point among or beside them, an exponent.
pub(crate) fn is_number(word: &str) -> bool {
    let word = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) =
        word.split_once(['e', 'E']).map_or((word, None), |(mantissa, exponent)| (mantissa, Some(exponent)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && are_digits(digits)
    });
    are_digits(whole) && are_digits(fraction) && whole.len() + fraction.len() > 0 && has_exponent
}

/// The byte behind a string that begins at a quote.
fn string_end(text: &str, start: usize) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().skip(start + 1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The characters of a string in quotes. A backslash before a character without a meaning is left out. Half a pair of UTF-16 becomes U+FFFD.
pub(crate) fn unquoted(quoted: &str) -> String {
    let inside = &quoted[1..quoted.len() - 1];
    if !inside.contains('\\') {
        return inside.to_owned();
    }
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(escaped) = rest.chars().next() else { break };
        if let Some((c, length)) = code_point(rest) {
            text.push(c);
            rest = &rest[length..];
            continue;
        }
        text.push(match escaped {
            'b' => '\u{8}',
            't' => '\t',
            'n' => '\n',
            'f' => '\u{c}',
            'r' => '\r',
            c => c,
        });
        rest = &rest[escaped.len_utf8()..];
    }
    text.push_str(rest);
    text
}

/// The character of `uXXXX`, or of two of them that are a pair of UTF-16, and their length.
fn code_point(text: &str) -> Option<(char, usize)> {
    let unit = |text: &str| {
        let digits = text.strip_prefix('u')?.get(..4)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hex { u16::from_str_radix(digits, 16).ok() } else { None }
    };
    let first = unit(text)?;
    let second = text[5..].strip_prefix('\\').and_then(unit);
    if let Some(second) = second
        && let Some(Ok(c)) = char::decode_utf16([first, second]).next()
        && c.len_utf16() == 2
    {
        return Some((c, 11));
    }
    Some((char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER), 5))
}

#[cfg(test)]
#[path = "json/tests.rs"]
mod tests;
