//! JSON: texts from lists, and changes of values by their path.

use crate::convert::{decimals_of_c, element_to_string};
use crate::dialect::Dialect;
use crate::error::RunError;
use crate::json::{
    ARRAY, DELETE, Document, FALSE, INVALID, JsonKind, JsonMember, NULL, OBJECT, SPACE, TRUE, index_of,
    is_number,
};
use crate::list::List;
use crate::string::Text;
use crate::value::{Element, Rotation, Vector};
use std::fmt::Write;

/// `JSON_APPEND` as an integer.
const APPEND: i32 = -1;

/// `JSON_APPEND` in `opensim`, where it is a string.
const APPEND_TEXT: &str = "-1";

/// `llList2Json`: an array of all elements, or an object of keys and values in turn. `JSON_INVALID` for another type, a key without a value, or a
/// key of another type than string.
#[must_use]
pub fn from_list(kind: &str, list: &List, dialect: Dialect) -> Text {
    let elements = list.as_slice();
    let value = |element: &Element| value_of(element, NumberText::InQuotes, dialect);
    if kind == ARRAY {
        let values: Vec<String> = elements.iter().map(value).collect();
        return format!("[{}]", values.join(",")).into();
    }
    if kind != OBJECT {
        return INVALID.into();
    }
    let member = |pair: &[Element]| match pair {
        [Element::Text(key), element] => {
            Some(format!("{}:{}", quoted(key.as_str(), dialect), value(element)))
        }
        [Element::Key(key), element] => {
            Some(key.with_str(|key| format!("{}:{}", quoted(key, dialect), value(element))))
        }
        _ => None,
    };
    let members: Option<Vec<String>> = elements.chunks(2).map(member).collect();
    members.map_or_else(|| INVALID.into(), |members| format!("{{{}}}", members.join(",")).into())
}

/// Strings that look like a number.
#[derive(Clone, Copy, PartialEq)]
enum NumberText {
    /// They remain strings.
    InQuotes,
    /// They become numbers.
    AsNumbers,
}

/// An element of a list as a value. Strings that are JSON already (in quotes or brackets, or a word) are taken as they are, without white space around
/// them.
fn value_of(element: &Element, numbers: NumberText, dialect: Dialect) -> String {
    match element {
        Element::Integer(value) => value.to_string(),
        Element::Float(value) => float(*value, dialect),
        Element::Text(text) => text_value(text.as_str(), numbers, dialect),
        Element::Key(key) => key.with_str(|key| quoted(key, dialect)),
        Element::Vector(Vector { x, y, z }) => vector(&[*x, *y, *z], element, dialect),
        Element::Rotation(value) => {
            let Rotation { x, y, z, s } = **value;
            vector(&[x, y, z, s], element, dialect)
        }
    }
}

fn float(value: f64, dialect: Dialect) -> String {
    match dialect {
        Dialect::Sl => decimals_of_c(value),
        Dialect::OpenSim if value.is_infinite() => "\"Inf\"".to_owned(),
        Dialect::OpenSim if value.is_nan() => "\"NaN\"".to_owned(),
        // The shortest digits that are read as the same double.
        Dialect::OpenSim => value.to_string(),
    }
}

fn vector(components: &[f64], element: &Element, dialect: Dialect) -> String {
    match dialect {
        Dialect::Sl => {
            let components: Vec<String> = components.iter().map(|&value| decimals_of_c(value)).collect();
            format!("\"<{}>\"", components.join(", "))
        }
        Dialect::OpenSim => format!("\"{}\"", element_to_string(element, dialect)),
    }
}

fn text_value(text: &str, numbers: NumberText, dialect: Dialect) -> String {
    let text = text.trim_matches(SPACE);
    let is_within =
        |open: char, close: char| text.len() > 1 && text.starts_with(open) && text.ends_with(close);
    match text {
        NULL => "null".to_owned(),
        TRUE => "true".to_owned(),
        FALSE => "false".to_owned(),
        "null" | "true" | "false" => text.to_owned(),
        _ if is_within('"', '"') || is_within('[', ']') || is_within('{', '}') => text.to_owned(),
        _ if numbers == NumberText::AsNumbers && is_number(text) => text.to_owned(),
        _ => quoted(text, dialect),
    }
}

/// A string in quotes. `sl` escapes slashes, too.
fn quoted(text: &str, dialect: Dialect) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '/' if dialect == Dialect::Sl => quoted.push_str("\\/"),
            '\u{8}' => quoted.push_str("\\b"),
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\u{c}' => quoted.push_str("\\f"),
            '\r' => quoted.push_str("\\r"),
            c if c < ' ' => write!(quoted, "\\u{:04x}", u32::from(c)).expect("a string takes all text"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// `llJsonSetValue`: the text with another value at the end of a path, or without that value (`JSON_DELETE`). What the path lacks is created: a key makes
/// an object, index 0 and `JSON_APPEND` an array, in place of whatever else is there. `JSON_INVALID` for an index beyond the end of its array, for one above
/// 0 without an array, for a value to be deleted that does not exist, and if a level on the path is no JSON.
///
/// # Errors
///
/// [`RunError::StackHeapCollision`] if the text is larger than `room`.
pub fn set_value(
    json: &str,
    path: &List,
    value: &str,
    room: usize,
    dialect: Dialect,
) -> Result<Text, RunError> {
    if path.is_empty() {
        let whole = if value == DELETE {
            value.to_owned()
        } else {
            text_value(value, NumberText::AsNumbers, dialect)
        };
        return Ok(whole.into());
    }
    let document = Document::new(json);
    let root = document.root();
    if root.is_none() && !json.trim_matches(SPACE).is_empty() {
        return Ok(INVALID.into());
    }
    let Some(pieces) = pieces(&document, path, value, dialect) else { return Ok(INVALID.into()) };
    let n_chars = pieces.iter().map(|piece| piece.chars().count()).sum();
    if Text::bytes_of(n_chars) > room {
        return Err(RunError::StackHeapCollision);
    }
    Ok(pieces.concat().into())
}

/// The pieces of the changed text: what stands in front of each level, the value, and what stands behind each level.
fn pieces(document: &Document<'_>, path: &List, value: &str, dialect: Dialect) -> Option<Vec<String>> {
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    let mut present = document.root();
    for (n, specifier) in path.iter().enumerate() {
        let is_last = n + 1 == path.len();
        let level = present.filter(|value| matches!(value.kind, JsonKind::Object | JsonKind::Array));
        let members = level.map(|value| document.members(value).ok_or(())).transpose().ok()?;
        let members = members.as_deref().unwrap_or_default();
        let step = step(document, level.map(|value| value.kind), members, specifier, dialect)?;
        if is_last && value == DELETE {
            let place = step.place?;
            let kept: Vec<String> = members
                .iter()
                .enumerate()
                .filter(|(n, _)| *n != place)
                .map(|(_, member)| text_of(document, member))
                .collect();
            before.push(format!("{}{}{}", step.open, kept.join(","), step.close));
            break;
        }
        let mut front = step.open.to_owned();
        for member in &members[..step.n_before] {
            front.push_str(&text_of(document, member));
            front.push(',');
        }
        front.push_str(&step.key);
        let mut back = String::new();
        for member in &members[step.n_before + usize::from(step.place.is_some())..] {
            if step.keeps_rest {
                back.push(',');
                back.push_str(&text_of(document, member));
            }
        }
        back.push_str(step.close);
        before.push(front);
        behind.push(back);
        if is_last {
            before.push(text_value(value, NumberText::AsNumbers, dialect));
        }
        present = step.place.map(|place| members[place].value);
    }
    before.extend(behind.into_iter().rev());
    Some(before)
}

/// A level of a path.
struct PathStep {
    open: &'static str,
    close: &'static str,
    /// Members that remain in front of the one on the path.
    n_before: usize,
    /// True if members behind it remain.
    keeps_rest: bool,
    /// The key of the member, with its colon.
    key: String,
    /// The member on the path, if it exists.
    place: Option<usize>,
}

fn step(
    document: &Document<'_>,
    kind: Option<JsonKind>,
    members: &[JsonMember],
    specifier: &Element,
    dialect: Dialect,
) -> Option<PathStep> {
    let is_append = match specifier {
        Element::Integer(index) => *index == APPEND,
        Element::Text(text) => {
            dialect == Dialect::OpenSim && text.as_str() == APPEND_TEXT && kind != Some(JsonKind::Object)
        }
        _ => false,
    };
    let index = match specifier {
        Element::Integer(index) => Some(usize::try_from(*index).ok()),
        Element::Text(text) if kind == Some(JsonKind::Array) => index_of(text.as_str()).map(Some),
        _ => None,
    };
    if is_append || index.is_some() {
        let (n_members, is_array) =
            if kind == Some(JsonKind::Array) { (members.len(), true) } else { (0, false) };
        let at = if is_append { n_members } else { index.flatten().filter(|&index| index <= n_members)? };
        let place = (at < n_members).then_some(at);
        return Some(PathStep {
            open: "[",
            close: "]",
            n_before: at,
            keeps_rest: is_array,
            key: String::new(),
            place,
        });
    }
    let key = match specifier {
        Element::Text(text) => text.clone(),
        Element::Key(key) => key.to_text(),
        _ => return None,
    };
    let is_object = kind == Some(JsonKind::Object);
    let place = if is_object { document.find(members, JsonKind::Object, specifier) } else { None };
    let n_before = if is_object { place.unwrap_or(members.len()) } else { 0 };
    let key = format!("{}:", quoted(key.as_str(), dialect));
    Some(PathStep { open: "{", close: "}", n_before, keeps_rest: is_object, key, place })
}

/// A member as it stands, with its key.
fn text_of(document: &Document<'_>, member: &JsonMember) -> String {
    let value = document.raw(member.value);
    member.key.map_or_else(|| value.to_owned(), |_| format!("{}:{value}", document.raw_key(member)))
}

#[cfg(test)]
#[path = "json_build/tests.rs"]
mod tests;
