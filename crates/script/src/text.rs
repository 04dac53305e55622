//! Functions of strings. Characters are counted as by [`Text`].

use crate::dialect::Dialect;
use crate::error::RunError;
use crate::string::Text;
use crate::sub_range::{SubRange, clamp, place, resolve};

/// `STRING_TRIM_HEAD`
const TRIM_HEAD: i32 = 1;
/// `STRING_TRIM_TAIL`
const TRIM_TAIL: i32 = 2;

/// White space of `sl`.
const SPACE: [char; 6] = [' ', '\t', '\n', '\u{b}', '\u{c}', '\r'];

/// `left + right` of strings.
///
/// # Errors
///
/// [`RunError::StackHeapCollision`] if the sum is larger than `room`, before memory is taken for it.
pub fn concat(left: &Text, right: &Text, room: usize) -> Result<Text, RunError> {
    if Text::bytes_of(left.n_chars() + right.n_chars()) > room {
        return Err(RunError::StackHeapCollision);
    }
    Ok([left.as_str(), right.as_str()].concat().into())
}

/// `left != right` of strings: 1 if they differ, also in order.
#[must_use]
pub fn difference(left: &Text, right: &Text) -> i32 {
    i32::from(left != right)
}

/// `llGetSubString`: a range of characters. If `start` lies behind `end`, all but those between them.
#[must_use]
pub fn sub_string(text: &Text, start: i32, end: i32) -> Text {
    match SubRange::new(start, end, text.n_chars()) {
        SubRange::Inside(range) => text.slice(range).into(),
        SubRange::Outside(range) => without(text, range),
    }
}

/// `llDeleteSubString`: all characters but those of a range. If `start` lies behind `end`, those between them remain.
#[must_use]
pub fn delete_sub_string(text: &Text, start: i32, end: i32) -> Text {
    match SubRange::new(start, end, text.n_chars()) {
        SubRange::Inside(range) => without(text, range),
        SubRange::Outside(range) => text.slice(range).into(),
    }
}

fn without(text: &Text, range: std::ops::Range<usize>) -> Text {
    [text.slice(0..range.start), text.slice(range.end..text.n_chars())].concat().into()
}

/// `llInsertString`: other characters in front of an index. In `sl` a negative one is 0, in `opensim` it counts from the end.
///
/// # Errors
///
/// [`RunError::StackHeapCollision`] if the string is larger than `room`.
pub fn insert(
    text: &Text,
    index: i32,
    inserted: &Text,
    room: usize,
    dialect: Dialect,
) -> Result<Text, RunError> {
    if Text::bytes_of(text.n_chars() + inserted.n_chars()) > room {
        return Err(RunError::StackHeapCollision);
    }
    let at = match dialect {
        Dialect::Sl => i64::from(index),
        Dialect::OpenSim => resolve(index, text.n_chars()),
    };
    let (before, after) = text.as_str().split_at(text.byte_at(clamp(at, text.n_chars())));
    Ok([before, inserted.as_str(), after].concat().into())
}

/// `llSubStringIndex`: the index of the first occurrence, −1 without one. The empty pattern is found at 0, but in `opensim` not in the empty string.
#[must_use]
pub fn index_of(text: &Text, pattern: &str, dialect: Dialect) -> i32 {
    if dialect == Dialect::OpenSim && text.is_empty() {
        return -1;
    }
    text.as_str().find(pattern).map_or(-1, |at| text.char_at(at) as i32)
}

/// `llReplaceSubString`: a pattern replaced everywhere (`count` 0), the first `count` times, or the last −`count` times. The pattern is no regular
/// expression, as it is in OpenSimulator.
///
/// # Errors
///
/// [`RunError::StackHeapCollision`] if the string is larger than `room`, before memory is taken for it.
pub fn replace(text: &Text, pattern: &Text, by: &Text, count: i32, room: usize) -> Result<Text, RunError> {
    if pattern.is_empty() {
        return Ok(text.clone());
    }
    let n_max = if count == 0 { usize::MAX } else { count.unsigned_abs() as usize };
    let mut places: Vec<usize> = if count < 0 {
        text.as_str().rmatch_indices(pattern.as_str()).take(n_max).map(|(at, _)| at).collect()
    } else {
        text.as_str().match_indices(pattern.as_str()).take(n_max).map(|(at, _)| at).collect()
    };
    places.sort_unstable();
    let n_chars = text.n_chars() - places.len() * pattern.n_chars() + places.len() * by.n_chars();
    if Text::bytes_of(n_chars) > room {
        return Err(RunError::StackHeapCollision);
    }
    let mut replaced = String::new();
    let mut start = 0;
    for at in places {
        replaced.push_str(&text.as_str()[start..at]);
        replaced.push_str(by.as_str());
        start = at + pattern.as_str().len();
    }
    replaced.push_str(&text.as_str()[start..]);
    Ok(replaced.into())
}

/// `llToUpper`: each character on its own. Those whose upper case has several characters remain.
#[must_use]
pub fn to_upper(text: &Text) -> Text {
    text.as_str().chars().map(|c| only(c.to_uppercase()).unwrap_or(c)).collect::<String>().into()
}

/// `llToLower`: each character on its own. Those whose lower case has several characters remain.
#[must_use]
pub fn to_lower(text: &Text) -> Text {
    text.as_str().chars().map(|c| only(c.to_lowercase()).unwrap_or(c)).collect::<String>().into()
}

fn only(mut chars: impl Iterator<Item = char>) -> Option<char> {
    chars.next().filter(|_| chars.next().is_none())
}

/// `llStringTrim`: without white space at its head, its tail, or both. `opensim` counts all white space of Unicode.
#[must_use]
pub fn trim(text: &Text, ends: i32, dialect: Dialect) -> Text {
    let is_space = |c: char| match dialect {
        Dialect::Sl => SPACE.contains(&c),
        Dialect::OpenSim => c.is_whitespace(),
    };
    if dialect == Dialect::OpenSim && !(TRIM_HEAD..=TRIM_HEAD | TRIM_TAIL).contains(&ends) {
        return text.clone();
    }
    let mut trimmed = text.as_str();
    if ends & TRIM_HEAD != 0 {
        trimmed = trimmed.trim_start_matches(is_space);
    }
    if ends & TRIM_TAIL != 0 {
        trimmed = trimmed.trim_end_matches(is_space);
    }
    trimmed.into()
}

/// `llChar`: the string of a code point. Empty for 0, U+FFFD for a number that no character has.
#[must_use]
pub fn char_of(code: i32, dialect: Dialect) -> Text {
    if code == 0 {
        return Text::default();
    }
    let found = u32::try_from(code).ok().and_then(char::from_u32);
    let is_refused = |c: &char| dialect == Dialect::Sl && matches!(c, '\u{fffe}' | '\u{ffff}');
    String::from(found.filter(|c| !is_refused(c)).unwrap_or(char::REPLACEMENT_CHARACTER)).into()
}

/// `llOrd`: the code point of a character, negative from the end; 0 beside the string.
#[must_use]
pub fn code_of(text: &Text, index: i32) -> i32 {
    let found = place(index, text.n_chars()).and_then(|place| text.slice(place..place + 1).chars().next());
    found.map_or(0, |c| u32::from(c) as i32)
}

#[cfg(test)]
#[path = "text/tests.rs"]
mod tests;
