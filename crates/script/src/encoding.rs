//! Strings as bytes in URLs and in Base64.
//!
//! Strings have no NUL: decoded text ends in front of the first.

use crate::dialect::Dialect;
use crate::string::Text;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use base64::engine::{DecodePaddingMode, Engine};
use std::fmt::Write;

/// Decoder of Base64 with or without `=` at the end; bits behind the last byte may have any value.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The digits of Base64, by value.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The longest text of `llBase64ToInteger`.
const INTEGER_CHARS_MAX: usize = 8;

/// `llEscapeURL`: each byte as `%XX`, but for letters and digits, and in `opensim` `-_.~`.
#[must_use]
pub fn escape_url(text: &str, dialect: Dialect) -> Text {
    let is_kept = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || dialect == Dialect::OpenSim && matches!(byte, b'-' | b'_' | b'.' | b'~')
    };
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_kept(byte) {
            escaped.push(char::from(byte));
        } else {
            write!(escaped, "%{byte:02X}").expect("a string takes all text");
        }
    }
    escaped.into()
}

/// `llUnescapeURL`: the bytes of `%XX` as UTF-8. In `sl` two characters behind `%` are a byte, whatever they are (a digit that is none counts 0), and
/// each byte that is no UTF-8 becomes `?`. `opensim` leaves alone what it cannot decode.
#[must_use]
pub fn unescape_url(text: &str, dialect: Dialect) -> Text {
    match dialect {
        Dialect::Sl => until_nul(text_of(&unescaped(text))),
        Dialect::OpenSim => until_nul(unescaped_strictly(text)),
    }
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let (Some(high), Some(low)) = (chars.next(), chars.next()) else { break };
        let digit = |c: char| c.to_digit(16).unwrap_or(0) as u8;
        bytes.push(digit(high) << 4 | digit(low));
    }
    bytes
}

fn unescaped_strictly(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        result.push_str(&rest[..at]);
        rest = &rest[at..];
        let escape = |piece: &str| {
            let digits = piece.strip_prefix('%')?;
            let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_hex { u8::from_str_radix(digits, 16).ok() } else { None }
        };
        // All escapes in a row: a character may consist of several.
        let pieces = (0..).step_by(3).map_while(|at| rest.get(at..at + 3));
        let run: Vec<u8> = pieces.map_while(escape).collect();
        if run.is_empty() {
            result.push('%');
            rest = &rest[1..];
            continue;
        }
        for chunk in run.utf8_chunks() {
            result.push_str(chunk.valid());
            for byte in chunk.invalid() {
                write!(result, "%{byte:02X}").expect("a string takes all text");
            }
        }
        rest = &rest[run.len() * 3..];
    }
    result.push_str(rest);
    result
}

/// `llStringToBase64`: the bytes of UTF-8.
#[must_use]
pub fn to_base64(text: &str) -> Text {
    STANDARD.encode(text).into()
}

/// `llBase64ToString`. `sl` decodes up to the first character that is no Base64; control characters and broken characters become `?`. `opensim` refuses
/// text that is no Base64 as a whole, with an empty string, and broken characters become U+FFFD.
#[must_use]
pub fn from_base64(text: &str, dialect: Dialect) -> Text {
    match dialect {
        Dialect::Sl => until_nul(text_of(&without_controls(&decoded(text)))),
        Dialect::OpenSim => {
            let text: String = text.chars().filter(|c| !matches!(c, ' ' | '\t' | '\r' | '\n')).collect();
            if !text.len().is_multiple_of(4) {
                return Text::default();
            }
            LENIENT.decode(text).map_or_else(
                |_| Text::default(),
                |bytes| until_nul(String::from_utf8_lossy(&bytes).into_owned()),
            )
        }
    }
}

/// `llIntegerToBase64`: four bytes, the highest first.
#[must_use]
pub fn integer_to_base64(value: i32) -> Text {
    STANDARD.encode(value.to_be_bytes()).into()
}

/// `llBase64ToInteger`: up to four bytes, the highest first; missing ones are 0. 0 for more than 8 characters.
#[must_use]
pub fn base64_to_integer(text: &Text) -> i32 {
    if text.n_chars() > INTEGER_CHARS_MAX {
        return 0;
    }
    let mut bytes = [0; 4];
    for (byte, decoded) in bytes.iter_mut().zip(decoded(text.as_str())) {
        *byte = decoded;
    }
    i32::from_be_bytes(bytes)
}

/// `llXorBase64`: the bytes of one text, each with one of another, which is repeated. Without bytes in the other it is one zero.
#[must_use]
pub fn xor_base64(text: &Text, other: &Text) -> Text {
    if other.is_empty() {
        return text.clone();
    }
    let mut key = decoded(other.as_str());
    if key.is_empty() {
        key.push(0);
    }
    let bytes = decoded(text.as_str()).into_iter().zip(key.iter().cycle());
    STANDARD.encode(bytes.map(|(byte, key)| byte ^ key).collect::<Vec<_>>()).into()
}

/// `llXorBase64Strings`: the digits of one text, each with one of another, which is repeated. The `=` at the end of the first remain.
#[must_use]
pub fn xor_base64_digits(text: &Text, other: &Text) -> Text {
    let padding = text.as_str().len() - text.as_str().trim_end_matches('=').len();
    let (values, key) = (digits(text.as_str()), digits(other.as_str()));
    if key.is_empty() {
        return text.clone();
    }
    let values = values.iter().zip(key.iter().cycle());
    let mut result: String =
        values.map(|(value, key)| char::from(DIGITS[usize::from(value ^ key)])).collect();
    result.extend(std::iter::repeat_n('=', padding));
    result.into()
}

/// The values of the longest beginning that is Base64.
fn digits(text: &str) -> Vec<u8> {
    let value = |byte: u8| DIGITS.iter().position(|&digit| digit == byte).map(|value| value as u8);
    text.bytes().map_while(value).collect()
}

/// The bytes of the longest beginning that is Base64.
fn decoded(text: &str) -> Vec<u8> {
    let n_digits =
        text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')).count();
    // A single digit behind whole groups has too few bits for a byte.
    let n_digits = if n_digits % 4 == 1 { n_digits - 1 } else { n_digits };
    LENIENT.decode(&text[..n_digits]).expect("digits of Base64, in a number that has bytes")
}

/// Bytes as text. Each byte that belongs to no character becomes `?`, and so do those of U+FFFE.
fn text_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    if text.contains('\u{fffe}') { text.replace('\u{fffe}', "???") } else { text }
}

/// Bytes with `?` for control characters but tab, line feed, 0x0F and 0x1F, and for sequences in the old form of UTF-8 of up to six bytes that are too
/// short or too long for their character. A NUL at the end remains.
fn without_controls(bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let n_more = match first {
            0xC0..=0xDF => 1,
            0xE0..=0xEF => 2,
            0xF0..=0xF7 => 3,
            0xF8..=0xFB => 4,
            0xFC..=0xFD => 5,
            _ => 0,
        };
        let more = bytes[at + 1..].iter().take(n_more).take_while(|byte| matches!(byte, 0x80..=0xBF)).count();
        let second_min = match first {
            0xE0 => 0xA0,
            0xF0 => 0x90,
            0xF8 => 0x88,
            0xFC => 0x84,
            _ => 0x80,
        };
        let is_kept = match first {
            0 => at + 1 == bytes.len(),
            0x09 | 0x0A | 0x0F | 0x1F..=0x7F | 0xFE | 0xFF => true,
            0xC2..=0xFD => more == n_more && bytes[at + 1] >= second_min,
            _ => false,
        };
        if is_kept {
            kept.extend_from_slice(&bytes[at..=at + more]);
        } else {
            kept.push(b'?');
        }
        at += 1 + more;
    }
    kept
}

fn until_nul(mut text: String) -> Text {
    if let Some(at) = text.find('\0') {
        text.truncate(at);
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Dialect::{OpenSim, Sl};
    use proptest::prelude::*;

    #[test]
    fn urls_are_escaped_by_bytes() {
        for (text, sl, opensim) in [
            ("aZ9", "aZ9", "aZ9"),
            ("a b", "a%20b", "a%20b"),
            ("-_.~", "%2D%5F%2E%7E", "-_.~"),
            ("ä", "%C3%A4", "%C3%A4"),
            ("%/?", "%25%2F%3F", "%25%2F%3F"),
            ("", "", ""),
        ] {
            assert_eq!(escape_url(text, Sl).as_str(), sl);
            assert_eq!(escape_url(text, OpenSim).as_str(), opensim);
        }
    }

    #[test]
    fn urls_are_unescaped() {
        for (text, sl, opensim) in [
            ("a%20b", "a b", "a b"),
            ("%c3%A4", "ä", "ä"),
            ("ä+", "ä+", "ä+"),
            ("%80x", "?x", "%80x"),
            ("%E4%F6", "??", "%E4%F6"),
            ("%ED%A0%80", "???", "%ED%A0%80"),
            ("%EF%BF%BE", "???", "\u{fffe}"),
            ("a%00b", "a", "a"),
            ("a%", "a", "a%"),
            ("a%4", "a", "a%4"),
            ("a%4zb", "a@b", "a%4zb"),
            ("%+4", "\u{4}", "%+4"),
            ("%ä41", "\u{4}1", "%ä41"),
            ("100%%41", "100\u{4}1", "100%A"),
        ] {
            assert_eq!(unescape_url(text, Sl).as_str(), sl, "{text}");
            assert_eq!(unescape_url(text, OpenSim).as_str(), opensim, "{text}");
        }
    }

    #[test]
    fn base64_is_decoded() {
        for (text, sl, opensim) in [
            ("aGVsbG8=", "hello", "hello"),
            ("aGVsbG8", "hello", ""),
            ("aGVs!bG8=", "hel", ""),
            ("aGVsb", "hel", ""),
            ("aGVs\nbG8=", "hel", "hello"),
            ("w6Q=", "ä", "ä"),
            ("gGE=", "?a", "\u{fffd}a"),
            ("YQBi", "a?b", "a"),
            ("YQA=", "a", "a"),
            ("AQkK", "?\t\n", "\u{1}\t\n"),
            ("7aCA", "???", "\u{fffd}\u{fffd}\u{fffd}"),
            ("4ICA", "?", "\u{fffd}\u{fffd}\u{fffd}"),
            ("w2E=", "?a", "\u{fffd}a"),
            ("", "", ""),
        ] {
            assert_eq!(from_base64(text, Sl).as_str(), sl, "{text}");
            assert_eq!(from_base64(text, OpenSim).as_str(), opensim, "{text}");
        }
        assert_eq!(to_base64("hello").as_str(), "aGVsbG8=");
        assert_eq!(to_base64("ä").as_str(), "w6Q=");
    }

    #[test]
    fn integers_are_four_bytes() {
        for (value, text) in [(0, "AAAAAA=="), (1, "AAAAAQ=="), (-1, "/////w=="), (0x0102_0304, "AQIDBA==")] {
            assert_eq!(integer_to_base64(value).as_str(), text);
            assert_eq!(base64_to_integer(&text.into()), value);
        }
        for (text, expected) in [
            ("", 0),
            ("A", 0),
            ("AQ", 0x0100_0000),
            ("AQID", 0x0102_0300),
            ("AQID!", 0x0102_0300),
            ("AQIDBAAAA", 0),
        ] {
            assert_eq!(base64_to_integer(&text.into()), expected, "{text}");
        }
    }

    #[test]
    fn bytes_are_combined_with_a_repeated_key() {
        for (text, other, expected) in [
            ("aGVsbG8=", "", "aGVsbG8="),
            ("AQIDBA==", "AQ==", "AAMCBQ=="),
            ("AQIDBA==", "AQI=", "AAACBg=="),
            ("AQIDBA==", "!", "AQIDBA=="),
        ] {
            assert_eq!(xor_base64(&text.into(), &other.into()).as_str(), expected, "{text} {other}");
        }
    }

    proptest! {
        #[test]
        fn text_survives_both_codings(text in "[^\0-\u{1f}\u{fffe}]{0,20}") {
            for dialect in [Sl, OpenSim] {
                prop_assert_eq!(unescape_url(escape_url(&text, dialect).as_str(), dialect), Text::from(&*text));
                prop_assert_eq!(from_base64(to_base64(&text).as_str(), dialect), Text::from(&*text));
            }
        }

        #[test]
        fn any_text_is_decoded(text in "[%0-9a-f=/+\u{e4}]{0,30}") {
            for dialect in [Sl, OpenSim] {
                let _ = (unescape_url(&text, dialect), from_base64(&text, dialect));
            }
        }

        #[test]
        fn any_bytes_are_text(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
            let _ = from_base64(&STANDARD.encode(bytes), Sl);
        }
    }
}
