//! Functions of strings that only OpenSimulator has, and times as text.
//!
//! Indexes and lengths count characters. Case is ignored as `llToLower` has it.

use crate::convert::element_to_string;
use crate::dialect::Dialect;
use crate::error::RunError;
use crate::list::List;
use crate::string::Text;
use crate::text::to_lower;

/// Bytes of a gap in the pattern of [`fill`] at most. A longer piece in braces is text.
const GAP_MAX: usize = 64;

/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// `osFormatString`: a pattern with elements of a list instead of `{0}`, `{1}`, …; `{0,8}` and `{0,-8}` fill with spaces on the left or right, a format as
/// in `{0:F2}` is ignored. `{{` and `}}` are braces. A gap without an element remains as it is.
///
/// # Errors
///
/// [`RunError::StackHeapCollision`] if the string is larger than `room`.
pub fn fill(pattern: &str, list: &List, room: usize, dialect: Dialect) -> Result<Text, RunError> {
    let mut filled = Limited { text: String::new(), n_chars: 0, room };
    let mut rest = pattern;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push(&rest[..at])?;
        rest = &rest[at..];
        let (brace, behind) = rest.split_at(1);
        if let Some(behind) = behind.strip_prefix(brace) {
            filled.push(brace)?;
            rest = behind;
            continue;
        }
        let gap = Gap::read(rest);
        let found = gap.and_then(|gap| Some((list.as_slice().get(gap.index)?, gap)));
        let Some((element, gap)) = found else {
            filled.push(brace)?;
            rest = behind;
            continue;
        };
        let element = element_to_string(element, dialect);
        let n_spaces = (gap.width.unsigned_abs() as usize).saturating_sub(element.n_chars());
        if gap.width > 0 {
            filled.push_spaces(n_spaces)?;
        }
        filled.push(element.as_str())?;
        if gap.width < 0 {
            filled.push_spaces(n_spaces)?;
        }
        rest = &rest[gap.length..];
    }
    filled.push(rest)?;
    Ok(filled.text.into())
}

/// `{INDEX,WIDTH:FORMAT}` in a pattern.
#[derive(Clone, Copy, Debug)]
struct Gap {
    index: usize,
    width: i32,
    /// Bytes with the braces.
    length: usize,
}

impl Gap {
    fn read(text: &str) -> Option<Self> {
        let end = text.bytes().take(GAP_MAX).position(|byte| byte == b'}')?;
        let inside = text[..end].strip_prefix('{')?;
        let inside = inside.split_once(':').map_or(inside, |(inside, _)| inside);
        let (index, width) = inside.split_once(',').unwrap_or((inside, "0"));
        Some(Self { index: index.trim().parse().ok()?, width: width.trim().parse().ok()?, length: end + 1 })
    }
}

/// A string that grows within a limit.
#[derive(Debug)]
pub(crate) struct Limited {
    pub(crate) text: String,
    pub(crate) n_chars: usize,
    /// Logical memory that it may take.
    pub(crate) room: usize,
}

impl Limited {
    fn grow(&mut self, n_chars: usize) -> Result<(), RunError> {
        self.n_chars = self.n_chars.saturating_add(n_chars);
        let n_max = self.room.saturating_sub(Text::BASE_BYTES) / Text::CHAR_BYTES;
        if self.n_chars > n_max { Err(RunError::StackHeapCollision) } else { Ok(()) }
    }

    pub(crate) fn push(&mut self, piece: &str) -> Result<(), RunError> {
        self.grow(piece.chars().count())?;
        self.text.push_str(piece);
        Ok(())
    }

    fn push_spaces(&mut self, n_spaces: usize) -> Result<(), RunError> {
        self.grow(n_spaces)?;
        self.text.extend(std::iter::repeat_n(' ', n_spaces));
        Ok(())
    }
}

/// `osStringStartsWith`. An empty string is the beginning of none.
#[must_use]
pub fn starts_with(text: &Text, value: &Text, ignores_case: bool) -> bool {
    let (text, value) = (folded(text, ignores_case), folded(value, ignores_case));
    !value.is_empty() && text.as_str().starts_with(value.as_str())
}

/// `osStringEndsWith`. An empty string is the end of none.
#[must_use]
pub fn ends_with(text: &Text, value: &Text, ignores_case: bool) -> bool {
    let (text, value) = (folded(text, ignores_case), folded(value, ignores_case));
    !value.is_empty() && text.as_str().ends_with(value.as_str())
}

/// `osStringIndexOf`: the index of the first occurrence; −1 without one, and for the empty string.
#[must_use]
pub fn index_of(text: &Text, value: &Text, ignores_case: bool) -> i32 {
    if value.is_empty() {
        return -1;
    }
    let (text, value) = (folded(text, ignores_case), folded(value, ignores_case));
    text.as_str().find(value.as_str()).map_or(-1, |at| text.char_at(at) as i32)
}

/// `osStringLastIndexOf`: the index of the last occurrence within `count` characters from `start` on, or from there to the end if `count` is 0 or less;
/// −1 without one, and for the empty string.
#[must_use]
pub fn last_index_of(text: &Text, value: &Text, start: i32, count: i32, ignores_case: bool) -> i32 {
    let Some((start, end)) = piece(text, start, count) else { return -1 };
    if value.is_empty() {
        return -1;
    }
    let (text, value) = (folded(text, ignores_case), folded(value, ignores_case));
    let searched = text.slice(start..end);
    let found = searched.rfind(value.as_str());
    found.map_or(-1, |at| (start + searched[..at].chars().count()) as i32)
}

/// `osStringRemove`: without `count` characters from `start` on, or without all of these if `count` is 0 or less. Empty if `start` lies behind the end.
#[must_use]
pub fn remove(text: &Text, start: i32, count: i32) -> Text {
    let Some((start, end)) = piece(text, start, count) else { return Text::default() };
    [text.slice(0..start), text.slice(end..text.n_chars())].concat().into()
}

/// `osStringReplace`: all occurrences. Empty if `value` is.
///
/// # Errors
///
/// [`RunError::StackHeapCollision`] if the string is larger than `room`.
pub fn replace(text: &Text, value: &Text, by: &Text, room: usize) -> Result<Text, RunError> {
    if value.is_empty() {
        return Ok(Text::default());
    }
    crate::text::replace(text, value, by, 0, room)
}

/// `osStringSubString`: `length` characters from `start` on, none if `length` is 0 or less.
#[must_use]
pub fn sub_string(text: &Text, start: i32, length: i32) -> Text {
    match piece(text, start, length) {
        Some((start, end)) if length > 0 => text.slice(start..end).into(),
        _ => Text::default(),
    }
}

/// The characters from `start`, or the first one if it is negative, for `count`, or to the end if it is 0 or less. None if `start` lies behind the end.
fn piece(text: &Text, start: i32, count: i32) -> Option<(usize, usize)> {
    let n_chars = text.n_chars();
    let start = usize::try_from(start).unwrap_or(0);
    if start >= n_chars {
        return None;
    }
    let count = usize::try_from(count).unwrap_or(0);
    let end = if count == 0 { n_chars } else { n_chars.min(start + count) };
    Some((start, end))
}

/// A string as comparisons have it. As many characters as before.
fn folded(text: &Text, ignores_case: bool) -> Text {
    if ignores_case { to_lower(text) } else { text.clone() }
}

/// `osUnixTimeToTimestamp`: seconds since 1970 as `2009-02-13T23:31:30.0000000Z`.
#[must_use]
pub fn timestamp(seconds: i32) -> Text {
    let seconds = i64::from(seconds);
    let (year, month, day) = date(seconds.div_euclid(DAY_S));
    let second = seconds.rem_euclid(DAY_S);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.0000000Z").into()
}

/// Year, month and day of a day since 1970, by the calendar of Gregory. Years begin with March here, so that a leap day is their last.
const fn date(day: i64) -> (i64, i64, i64) {
    const DAYS_TO_1970: i64 = 719_468;
    const DAYS_OF_400_YEARS: i64 = 146_097;
    let day = day + DAYS_TO_1970;
    let day_of_era = day.rem_euclid(DAYS_OF_400_YEARS);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + day.div_euclid(DAYS_OF_400_YEARS) * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day_of_year - (153 * month_from_march + 2) / 5 + 1)
}

#[cfg(test)]
#[path = "opensim_text/tests.rs"]
mod tests;
