//! LLSD as notation, the compact text form of environment settings, scripts' results and login fields.
//!
//! ```text
//! !                          undefined        u01234567-…-ef              UUID
//! 1 0 t f true false         boolean          d"2026-01-31T23:59:59Z"     date
//! i-7                        integer          l"http://…"                 link
//! r1.5                       real             b64"…" b16"…" b(3)"raw"     bytes
//! 'text' "text" s(4)"text"   string           [v, v]  {'key':v, 'key':v}
//! ```
//!
//! Quoted text has C's escapes (`\n`, `\\`, `\'`, `\x1F`). White space may stand between tokens, and the line
//! `<? LLSD/Notation ?>` before all. Output puts one blank after each comma, because a client reads `home` of
//! the login reply by hand and needs it there.

use super::date;
use super::scalar::{
    base16_decode, base64_decode, base64_encode, parse_boolean, parse_integer, parse_real, push_real,
};
use super::{Budget, Limits, Llsd, after_opening_line};
use crate::Malformed;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use uuid::Uuid;

/// Reads one value and nothing after it but white space.
///
/// # Errors
/// [`Malformed::Oversized`] or [`Malformed::Depth`] beyond the limits, [`Malformed::Truncated`] if it ends
/// early, [`Malformed::Text`] for text that is not UTF-8, [`Malformed::Value`] for a scalar that is none of
/// its type, [`Malformed::Syntax`] for anything else.
pub fn decode(text: &[u8], limits: Limits) -> Result<Llsd, Malformed> {
    if text.len() > limits.bytes_max {
        return Err(Malformed::Oversized);
    }
    let mut source =
        NotationSource { rest: after_opening_line(text, "llsd/notation")?, budget: Budget::new(limits) };
    let value = source.value(1)?;
    source.skip_blanks();
    if source.rest.is_empty() { Ok(value) } else { Err(Malformed::Syntax) }
}

struct NotationSource<'a> {
    rest: &'a [u8],
    budget: Budget,
}

impl<'a> NotationSource<'a> {
    fn value(&mut self, level: usize) -> Result<Llsd, Malformed> {
        self.budget.spend(level)?;
        self.skip_blanks();
        Ok(match self.peek()? {
            b'!' => {
                self.byte()?;
                Llsd::Undef
            }
            b'0' | b'1' | b't' | b'T' | b'f' | b'F' => Llsd::Boolean(self.boolean()?),
            b'i' => Llsd::Integer(self.word_after_marker(parse_integer)?),
            b'r' => Llsd::Real(self.word_after_marker(parse_real)?),
            b'u' => Llsd::Uuid(self.word_after_marker(|word| Uuid::try_parse(word).ok())?),
            b'\'' | b'"' | b's' => Llsd::String(self.text()?),
            b'l' => {
                self.byte()?;
                Llsd::Uri(self.text()?)
            }
            b'd' => {
                self.byte()?;
                Llsd::Date(date::parse(&self.text()?).ok_or(Malformed::Value)?)
            }
            b'b' => Llsd::Binary(self.binary()?),
            b'[' => {
                let mut values = Vec::new();
                let mut first = true;
                while self.more(b'[', b']', &mut first)? {
                    values.push(self.value(level + 1)?);
                }
                Llsd::Array(values)
            }
            b'{' => {
                let mut entries = BTreeMap::new();
                let mut first = true;
                while self.more(b'{', b'}', &mut first)? {
                    self.skip_blanks();
                    let key = self.text()?;
                    self.skip_blanks();
                    self.expect(b':')?;
                    entries.insert(key, self.value(level + 1)?);
                }
                Llsd::Map(entries)
            }
            _ => return Err(Malformed::Syntax),
        })
    }

    /// Steps over the container's opening or a comma; false when it closes instead.
    fn more(&mut self, open: u8, close: u8, first: &mut bool) -> Result<bool, Malformed> {
        if *first {
            self.expect(open)?;
        }
        self.skip_blanks();
        if self.peek()? == close {
            self.byte()?;
            return Ok(false);
        }
        if !std::mem::take(first) {
            self.expect(b',')?;
        }
        Ok(true)
    }

    fn boolean(&mut self) -> Result<bool, Malformed> {
        match self.word(|byte| byte.is_ascii_alphanumeric())? {
            "t" | "T" => Ok(true),
            "f" | "F" => Ok(false),
            word => parse_boolean(word).ok_or(Malformed::Value),
        }
    }

    /// A marker byte and the word behind it, which `parse` understands.
    fn word_after_marker<T>(&mut self, parse: impl Fn(&str) -> Option<T>) -> Result<T, Malformed> {
        self.byte()?;
        let word = self.word(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))?;
        if word.is_empty() { Err(Malformed::Value) } else { parse(word).ok_or(Malformed::Value) }
    }

    /// The longest run of bytes that belong to a word.
    fn word(&mut self, belongs: impl Fn(u8) -> bool) -> Result<&'a str, Malformed> {
        let length = self.rest.iter().position(|&byte| !belongs(byte)).unwrap_or(self.rest.len());
        std::str::from_utf8(self.take(length)?).map_err(|_| Malformed::Text)
    }

    /// `b64"…"`, `b16"…"` or `b(length)"raw"`.
    fn binary(&mut self) -> Result<Vec<u8>, Malformed> {
        self.expect(b'b')?;
        match self.word(|byte| byte.is_ascii_digit())? {
            "64" => base64_decode(&self.text()?).ok_or(Malformed::Value),
            "16" => base16_decode(&self.text()?).ok_or(Malformed::Value),
            "" => self.sized().map(<[u8]>::to_vec),
            _ => Err(Malformed::Value),
        }
    }

    /// `'…'` or `"…"` with escapes, or `s(length)"raw"`.
    fn text(&mut self) -> Result<String, Malformed> {
        let bytes = match self.byte()? {
            b's' => self.sized()?.to_vec(),
            quote @ (b'\'' | b'"') => self.quoted(quote)?,
            _ => return Err(Malformed::Syntax),
        };
        String::from_utf8(bytes).map_err(|_| Malformed::Text)
    }

    /// `(length)"raw bytes"`.
    fn sized(&mut self) -> Result<&'a [u8], Malformed> {
        self.expect(b'(')?;
        let length = self.word(|byte| byte.is_ascii_digit())?.parse().map_err(|_| Malformed::Value)?;
        self.expect(b')')?;
        let quote = self.byte()?;
        if !matches!(quote, b'\'' | b'"') {
            return Err(Malformed::Syntax);
        }
        let bytes = self.take(length)?;
        self.expect(quote)?;
        Ok(bytes)
    }

    /// Text up to the closing quote, with its escapes resolved.
    fn quoted(&mut self, quote: u8) -> Result<Vec<u8>, Malformed> {
        let mut bytes = Vec::new();
        loop {
            match self.byte()? {
                byte if byte == quote => return Ok(bytes),
                b'\\' => bytes.push(self.escape()?),
                byte => bytes.push(byte),
            }
        }
    }

    fn escape(&mut self) -> Result<u8, Malformed> {
        Ok(match self.byte()? {
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0C,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0B,
            b'x' => {
                let digits = std::str::from_utf8(self.take(2)?).map_err(|_| Malformed::Value)?;
                base16_decode(digits).and_then(|bytes| bytes.first().copied()).ok_or(Malformed::Value)?
            }
            byte => byte,
        })
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn expect(&mut self, wanted: u8) -> Result<(), Malformed> {
        if self.byte()? == wanted { Ok(()) } else { Err(Malformed::Syntax) }
    }

    fn peek(&self) -> Result<u8, Malformed> {
        self.rest.first().copied().ok_or(Malformed::Truncated)
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        let (&byte, rest) = self.rest.split_first().ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(byte)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

/// Writes one value on one line.
#[must_use]
pub fn encode(value: &Llsd) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Llsd, out: &mut String) {
    match value {
        Llsd::Undef => out.push('!'),
        Llsd::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
        Llsd::Integer(value) => {
            out.push('i');
            out.push_str(&value.to_string());
        }
        Llsd::Real(value) => {
            out.push('r');
            push_real(*value, out);
        }
        Llsd::String(text) => quote('\'', text, out),
        Llsd::Uuid(value) => {
            out.push('u');
            out.push_str(&value.to_string());
        }
        Llsd::Date(seconds) => {
            out.push('d');
            quote('"', &date::format(*seconds), out);
        }
        Llsd::Uri(text) => {
            out.push('l');
            quote('"', text, out);
        }
        Llsd::Binary(bytes) => {
            out.push_str("b64\"");
            base64_encode(bytes, out);
            out.push('"');
        }
        Llsd::Array(values) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                separate(index, out);
                write(value, out);
            }
            out.push(']');
        }
        Llsd::Map(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                separate(index, out);
                quote('\'', key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn separate(index: usize, out: &mut String) {
    if index > 0 {
        out.push_str(", ");
    }
}

fn quote(mark: char, text: &str, out: &mut String) {
    out.push(mark);
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            _ if character == mark => {
                out.push('\\');
                out.push(mark);
            }
            '\0'..='\x1F' | '\x7F' => {
                write!(out, "\\x{:02x}", u32::from(character)).expect("writing to a String cannot fail");
            }
            _ => out.push(character),
        }
    }
    out.push(mark);
}

#[cfg(test)]
mod tests {
    use super::super::{DEPTH_MAX, arbitrary};
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Llsd, Malformed> {
        decode(text.as_bytes(), Limits::REQUEST)
    }

    #[test]
    fn home_of_a_login_reply_looks_as_clients_expect() {
        let home = Llsd::map([
            ("region_handle", Llsd::array([256_000.0, 256_256.0])),
            ("position", Llsd::array([128.0, 128.5, 25.0])),
        ]);
        let text = "{'position':[r128, r128.5, r25], 'region_handle':[r256000, r256256]}";
        assert_eq!(encode(&home), text);
        assert_eq!(parse(text), Ok(home));
    }

    #[test]
    fn every_form_is_read() {
        for (text, expected) in [
            (" ! ", Llsd::Undef),
            ("T", true.into()),
            ("False", false.into()),
            ("<?llsd/notation?>\n1", true.into()),
            (r"'\xc3\xa4'", "ä".into()),
            ("i-7", (-7).into()),
            ("r-1.5e3", (-1500.0).into()),
            ("u00000000-0000-0000-0000-00000000000a", Uuid::from_u128(10).into()),
            (r#""a\x41\n\"'""#, "aA\n\"'".into()),
            ("s(3)'a'b'", "a'b".into()),
            ("l\"http://x\"", Llsd::Uri("http://x".into())),
            ("d\"1970-01-01T00:00:01Z\"", Llsd::Date(1.0)),
            ("b64\"AQI=\"", vec![1_u8, 2].into()),
            ("b16'0102'", vec![1_u8, 2].into()),
            ("b(2)\"\"\"\"", b"\"\"".to_vec().into()),
            ("[ i1 ,\n'x' ]", Llsd::Array(vec![1.into(), "x".into()])),
            ("[]", Llsd::Array(Vec::new())),
            ("{ 'a' : i1, \"b\":! }", Llsd::map([("a", 1.into()), ("b", Llsd::Undef)])),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn damage_is_refused_with_its_reason() {
        for (text, reason) in [
            ("", Malformed::Truncated),
            ("[i1", Malformed::Truncated),
            ("'abc", Malformed::Truncated),
            ("s(99999999999999999999)'a'", Malformed::Value),
            ("s(9)'a'", Malformed::Truncated),
            ("ix", Malformed::Value),
            ("tr", Malformed::Value),
            ("<? LLSD/XML ?>\n1", Malformed::Syntax),
            ("i", Malformed::Value),
            ("r", Malformed::Value),
            ("u12", Malformed::Value),
            ("d'soon'", Malformed::Value),
            ("b64'*'", Malformed::Value),
            (r"'\xé'", Malformed::Value),
            (r"'\xff'", Malformed::Text),
            ("[i1 i2]", Malformed::Syntax),
            ("[,]", Malformed::Syntax),
            ("{i1:i2}", Malformed::Syntax),
            ("{'a' i2}", Malformed::Syntax),
            ("i1 i2", Malformed::Syntax),
            ("?", Malformed::Syntax),
        ] {
            assert_eq!(parse(text), Err(reason), "{text}");
        }
    }

    #[test]
    fn depth_bytes_and_values_are_bounded() {
        assert_eq!(parse(&"[".repeat(100_000)), Err(Malformed::Depth));
        let at_limit = format!("{}!{}", "[".repeat(DEPTH_MAX - 1), "]".repeat(DEPTH_MAX - 1));
        assert!(parse(&at_limit).is_ok());
        let limits = Limits { bytes_max: 5, values_max: 2 };
        assert_eq!(decode(b"[!,!]", limits), Err(Malformed::Oversized));
        assert_eq!(decode(b"'abcd'", limits), Err(Malformed::Oversized));
    }

    proptest! {
        #[test]
        fn written_values_read_back(value in arbitrary::value()) {
            prop_assert_eq!(parse(&encode(&value)), Ok(value));
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes, Limits::REQUEST);
        }

        #[test]
        fn token_soup_is_decoded_without_panic(text in r#"[\[\]{}:,'"\\x!01tfirubsdl()0-9 ]{0,60}"#) {
            let _ = parse(&text);
        }
    }
}
