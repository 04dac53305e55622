//! Functions of regular expressions. Their matches are found in a time proportional to the text; back references and conditions on what lies around a
//! match do not exist.
//!
//! | bound | value | beyond |
//! |---|---|---|
//! | bytes of a text | [`TEXT_MAX`] | [`RunError::Pattern`] |
//! | bytes of an expression, of a replacement; of an expression's program | [`PATTERN_MAX`]; [`PROGRAM_MAX`] | [`RunError::Pattern`] |
//! | bytes from the beginnings of all searches to the end of the text | [`SCANNED_MAX`] | [`RunError::Pattern`] |
//!
//! The last one bounds the time of all matches: each may have looked at the whole rest of the text.

use crate::error::RunError;
use crate::list::List;
use crate::opensim_text::Limited;
use crate::string::Text;
use crate::sub_range::place;
use crate::value::Element;
use regex::{Captures, Regex, RegexBuilder};

/// Bytes of a text at most.
pub const TEXT_MAX: usize = 16 << 10;
/// Bytes of an expression, and of a replacement, at most.
pub const PATTERN_MAX: usize = 1 << 10;
/// Bytes of the program that an expression becomes, at most.
pub const PROGRAM_MAX: usize = 128 << 10;
/// Bytes that the searches of one call may have looked at.
pub const SCANNED_MAX: usize = 1 << 24;

/// Fuel of an expression's preparation, per byte.
const PREPARE_FUEL: u32 = 500;
/// Bytes looked at for one fuel.
const BYTES_PER_FUEL: usize = 16;

/// A text to be searched for an expression.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The text.
    pub text: &'a Text,
    /// The expression.
    pub pattern: &'a str,
    /// Index of the first character at which a match may begin; negative from the end.
    pub start: i32,
}

/// `osRegexIsMatch`: true if there is a match. False for an expression that is none.
///
/// # Errors
///
/// [`RunError::Pattern`] beyond the bounds of text and expression.
pub fn is_match(text: &Text, pattern: &str, fuel: &mut u32) -> Result<bool, RunError> {
    bounded(text, pattern)?;
    *fuel = fuel.saturating_add(scan_fuel(text.as_str().len()));
    Ok(prepared(text, pattern, fuel).is_ok_and(|regex| regex.is_match(text.as_str())))
}

/// `osMatchString`: of each match, and of each group that takes part in it, the text and the index. Empty if `start` lies outside of the text.
///
/// # Errors
///
/// [`RunError::Pattern`], and [`RunError::StackHeapCollision`] if the list is larger than `room`.
pub fn matches(search: &Search<'_>, room: usize, fuel: &mut u32) -> Result<List, RunError> {
    let regex = prepared(search.text, search.pattern, fuel)?;
    let mut list = List::default();
    let text = search.text.as_str();
    let (mut byte, mut n_chars) = (0, 0);
    each_match(&regex, search, fuel, |captures| {
        for (n, group) in captures.iter().enumerate() {
            let Some(group) = group else { continue };
            // All groups begin at or behind the beginning of the match, which is the first of them.
            if n == 0 {
                n_chars += text[byte..group.start()].chars().count();
                byte = group.start();
            }
            let index = n_chars + text[byte..group.start()].chars().count();
            list.push_within(room, Element::from(group.as_str()))?;
            list.push_within(room, Element::from(index as i32))?;
        }
        Ok(true)
    })?;
    Ok(list)
}

/// `osReplaceString`: the first `count` matches replaced, all if it is negative. In the replacement `$1` and `${1}` are groups, `${name}` is one by name, `$&`
/// the match, and `$$` a dollar. The text as it is if `start` lies outside of it.
///
/// # Errors
///
/// [`RunError::Pattern`], and [`RunError::StackHeapCollision`] if the string is larger than `room`.
pub fn replace(
    search: &Search<'_>,
    by: &str,
    count: i32,
    room: usize,
    fuel: &mut u32,
) -> Result<Text, RunError> {
    if by.len() > PATTERN_MAX {
        return Err(RunError::Pattern);
    }
    let regex = prepared(search.text, search.pattern, fuel)?;
    let text = search.text.as_str();
    let mut left = usize::try_from(count).unwrap_or(usize::MAX);
    if left == 0 {
        return Ok(search.text.clone());
    }
    let pieces = pieces_of(by, &regex);
    let mut replaced = Limited { text: String::new(), n_chars: 0, room };
    let mut kept_from = 0;
    each_match(&regex, search, fuel, |captures| {
        let whole = captures.get_match();
        replaced.push(&text[kept_from..whole.start()])?;
        for piece in &pieces {
            match piece {
                Piece::Text(piece) => replaced.push(piece)?,
                Piece::Group(n) => replaced.push(captures.get(*n).map_or("", |group| group.as_str()))?,
            }
        }
        kept_from = whole.end();
        left -= 1;
        Ok(left > 0)
    })?;
    replaced.push(&text[kept_from..])?;
    Ok(replaced.text.into())
}

fn bounded(text: &Text, pattern: &str) -> Result<(), RunError> {
    let is_within = text.as_str().len() <= TEXT_MAX && pattern.len() <= PATTERN_MAX;
    if is_within { Ok(()) } else { Err(RunError::Pattern) }
}

/// An expression within the bounds.
fn prepared(text: &Text, pattern: &str, fuel: &mut u32) -> Result<Regex, RunError> {
    bounded(text, pattern)?;
    *fuel = fuel.saturating_add(PREPARE_FUEL * (1 + pattern.len() as u32));
    let regex = RegexBuilder::new(pattern).size_limit(PROGRAM_MAX).dfa_size_limit(PROGRAM_MAX).build();
    regex.map_err(|_| RunError::Pattern)
}

/// Calls a function with each match, in order, until it returns false. Behind an empty match the search continues one character further.
fn each_match(
    regex: &Regex,
    search: &Search<'_>,
    fuel: &mut u32,
    mut found: impl FnMut(&Captures<'_>) -> Result<bool, RunError>,
) -> Result<(), RunError> {
    let text = search.text.as_str();
    let Some(start) = place(search.start, search.text.n_chars()) else { return Ok(()) };
    let mut at = search.text.byte_at(start);
    let mut n_scanned = 0;
    let mut continues = true;
    while continues && at <= text.len() {
        let n_bytes = text.len() - at;
        n_scanned += n_bytes;
        if n_scanned > SCANNED_MAX {
            return Err(RunError::Pattern);
        }
        *fuel = fuel.saturating_add(scan_fuel(n_bytes));
        let Some(captures) = regex.captures_at(text, at) else { break };
        let whole = captures.get_match();
        continues = found(&captures)?;
        at = whole.end();
        if whole.is_empty() {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    Ok(())
}

fn scan_fuel(n_bytes: usize) -> u32 {
    (n_bytes / BYTES_PER_FUEL + 50) as u32
}

/// A piece of a replacement.
#[derive(Debug)]
enum Piece<'a> {
    Text(&'a str),
    Group(usize),
}

/// The pieces of a replacement. A group that the expression does not have is text.
fn pieces_of<'a>(by: &'a str, regex: &Regex) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let mut rest = by;
    while let Some(at) = rest.find('$') {
        pieces.push(Piece::Text(&rest[..at]));
        rest = &rest[at..];
        let (piece, length) = reference(rest, regex).unwrap_or((Piece::Text("$"), 1));
        pieces.push(piece);
        rest = &rest[length..];
    }
    pieces.push(Piece::Text(rest));
    pieces
}

/// The group or character behind a `$`, and the bytes of its name.
fn reference(text: &str, regex: &Regex) -> Option<(Piece<'static>, usize)> {
    let behind = &text[1..];
    match behind.as_bytes().first()? {
        b'$' => Some((Piece::Text("$"), 2)),
        b'&' => Some((Piece::Group(0), 2)),
        b'{' => {
            let name = &behind[1..behind.find('}')?];
            Some((Piece::Group(group_of(name, regex)?), name.len() + 3))
        }
        _ => {
            let n_digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            Some((Piece::Group(group_of(&behind[..n_digits], regex)?), n_digits + 1))
        }
    }
}

/// The number of a group by its number or name.
fn group_of(name: &str, regex: &Regex) -> Option<usize> {
    if let Ok(number) = name.parse::<usize>() {
        return (number < regex.captures_len()).then_some(number);
    }
    regex.capture_names().position(|known| known == Some(name))
}

#[cfg(test)]
#[path = "pattern/tests.rs"]
mod tests;
