//! Strings of scripts: shared, immutable, in UTF-8, with their number of characters.
//!
//! A character is a code point. Second Life's functions count these; OpenSimulator counts UTF-16 units, so that a character outside of the basic plane counts 2
//! there and can be cut in half. Strings here cannot contain halves, and such a character counts 1 in both dialects.

use crate::heap::ALLOCATION_BYTES;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;
use std::{fmt, ops::Range};

/// A string.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text {
    text: Arc<str>,
    /// Equal to the number of bytes if, and only if, all characters are ASCII. In that case indexes of characters are indexes of bytes.
    n_chars: u32,
}

impl Text {
    /// Logical memory of an empty string.
    pub const BASE_BYTES: usize = 18;
    /// Logical memory of each character.
    pub const CHAR_BYTES: usize = 2;

    /// Its characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Number of characters.
    #[must_use]
    pub const fn n_chars(&self) -> usize {
        self.n_chars as usize
    }

    /// True if it has no characters.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.n_chars == 0
    }

    /// True if all characters are ASCII.
    #[must_use]
    pub fn is_ascii(&self) -> bool {
        self.n_chars as usize == self.text.len()
    }

    /// Logical memory that it counts for.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        Self::bytes_of(self.n_chars as usize)
    }

    /// Logical memory of a string with this many characters.
    #[must_use]
    pub const fn bytes_of(n_chars: usize) -> usize {
        Self::BASE_BYTES + n_chars * Self::CHAR_BYTES
    }

    /// The byte at which a character begins, or the end.
    #[must_use]
    pub fn byte_at(&self, at_char: usize) -> usize {
        if self.is_ascii() {
            return at_char.min(self.text.len());
        }
        place_of(&self.text, at_char)
    }

    /// The index of the character that begins at a byte.
    #[must_use]
    pub fn char_at(&self, at_byte: usize) -> usize {
        if self.is_ascii() { at_byte } else { self.text[..at_byte].chars().count() }
    }

    /// The characters of a range of characters, as far as they exist.
    #[must_use]
    pub fn slice(&self, chars: Range<usize>) -> &str {
        if self.is_ascii() {
            let end = chars.end.min(self.text.len());
            return &self.text[chars.start.min(end)..end];
        }
        let start = self.byte_at(chars.start);
        let rest = &self.text[start..];
        let length = chars.end.saturating_sub(chars.start);
        &rest[..place_of(rest, length)]
    }

    /// Physical memory behind its own bytes: two counts, the characters and what an allocation costs.
    pub(crate) fn footprint(&self) -> usize {
        2 * size_of::<usize>() + self.text.len() + ALLOCATION_BYTES
    }

    fn new(text: Arc<str>) -> Self {
        let n_chars = if text.is_ascii() { text.len() } else { text.chars().count() };
        Self { n_chars: u32::try_from(n_chars).expect("a string is shorter than 4 GiB"), text }
    }
}

/// The byte at which a character begins, or the end. Characters in front are counted, not decoded: many bytes at a time.
fn place_of(text: &str, at_char: usize) -> usize {
    let bytes = text.as_bytes();
    let is_start = |byte: &u8| *byte & 0xC0 != 0x80;
    let (mut at, mut n_left) = (0, at_char);
    for chunk in bytes.chunks(64) {
        let n_starts = chunk.iter().filter(|&byte| is_start(byte)).count();
        if n_starts > n_left {
            break;
        }
        n_left -= n_starts;
        at += chunk.len();
    }
    let mut starts = (at..bytes.len()).filter(|&at| is_start(&bytes[at]));
    starts.nth(n_left).unwrap_or(bytes.len())
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::from("")
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new(text.into())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::new(text.into())
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&str>::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_code_points() {
        for (text, n_chars, is_ascii) in
            [("", 0, true), ("abc", 3, true), ("äb", 2, false), ("a😀b", 3, false)]
        {
            let text = Text::from(text);
            assert_eq!((text.n_chars(), text.is_ascii()), (n_chars, is_ascii), "{text}");
            assert_eq!(text.bytes(), 18 + 2 * n_chars);
        }
    }

    #[test]
    fn characters_of_long_strings_have_their_places() {
        for (n_ascii, n_wide) in [(0, 40), (1, 40), (63, 3), (64, 1), (65, 100), (200, 0)] {
            let text = format!("{}{}ä", "a".repeat(n_ascii), "😀".repeat(n_wide));
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let text = Text::from(text);
            for (n, &place) in places.iter().enumerate() {
                assert_eq!(text.byte_at(n), place, "character {n} behind {n_ascii}");
            }
            assert_eq!(text.byte_at(places.len()), text.as_str().len());
        }
    }

    #[test]
    fn slices_are_ranges_of_characters() {
        for text in ["abcd", "äb😀d"] {
            let text = Text::from(text);
            let chars: Vec<char> = text.as_str().chars().collect();
            for start in 0..6 {
                for end in start..7 {
                    let expected: String = chars.iter().take(end).skip(start).collect();
                    assert_eq!(text.slice(start..end), expected, "{text} {start}..{end}");
                }
                let at = text.byte_at(start);
                assert_eq!(text.char_at(at), start.min(4), "{text} {start}");
            }
        }
    }
}
