//! Text → tokens, as Second Life reads them: a character without a meaning is left out.

use crate::fault::Fault;
use crate::token::{Token, TokenKind};
use crate::{Faults, Span};

/// The tokens of a source, with one [`TokenKind::End`] behind the last.
pub(crate) fn tokens(source: &str, faults: &mut Faults) -> Vec<Token> {
    let mut lexer = Lexer { bytes: source.as_bytes(), at: 0, is_text_open: false, faults };
    // A token has three bytes in the mean of real scripts.
    let mut tokens = Vec::with_capacity(source.len() / 3);
    while let Some(token) = lexer.next() {
        tokens.push(token);
    }
    let end = source.len() as u32;
    tokens.push(Token { kind: TokenKind::End, span: Span { start: end, end } });
    tokens
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    /// A string had no closing mark. All marks behind its opening one are escaped, so that no later string has one.
    is_text_open: bool,
    faults: &'a mut Faults,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<Token> {
        loop {
            let start = self.at;
            let kind = match *self.bytes.get(start)? {
                b' ' | b'\t' | b'\r' | b'\n' => {
                    self.at += 1;
                    continue;
                }
                b'/' if self.is_next(b'/') => {
                    self.skip_to(b"\n");
                    continue;
                }
                b'/' if self.is_next(b'*') => {
                    self.at += 2;
                    self.skip_to(b"*/");
                    continue;
                }
                b'"' => self.text(1),
                b'L' if self.is_next(b'"') => self.text(2),
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => Some(self.word()),
                b'0'..=b'9' => Some(self.number()),
                b'.' if self.bytes.get(start + 1).is_some_and(u8::is_ascii_digit) => Some(self.number()),
                _ => self.symbol(),
            };
            let span = Span { start: start as u32, end: self.at as u32 };
            match kind {
                Some(kind) => return Some(Token { kind, span }),
                None => self.faults.add(span, Fault::Ignored),
            }
        }
    }

    fn is_next(&self, byte: u8) -> bool {
        self.bytes.get(self.at + 1) == Some(&byte)
    }

    /// Goes behind the next `end`, or to the end of the source.
    fn skip_to(&mut self, end: &[u8]) {
        let rest = &self.bytes[self.at..];
        let length = rest.windows(end.len()).position(|window| window == end).map(|at| at + end.len());
        self.at += length.unwrap_or(rest.len());
    }

    fn skip_while(&mut self, is_part: impl Fn(u8) -> bool) {
        while self.bytes.get(self.at).is_some_and(|&byte| is_part(byte)) {
            self.at += 1;
        }
    }

    fn word(&mut self) -> TokenKind {
        let start = self.at;
        self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let word = std::str::from_utf8(&self.bytes[start..self.at]).expect("ASCII letters");
        TokenKind::of_word(word)
    }

    /// `12`, `0x1F`, `1.5`, `.5`, `1.`, `1e3`, `1.5e-3f`.
    fn number(&mut self) -> TokenKind {
        let start = self.at;
        if self.bytes[start] == b'0' && matches!(self.bytes.get(start + 1), Some(b'x' | b'X')) {
            self.at += 2;
            self.skip_while(|byte| byte.is_ascii_hexdigit());
            if self.at > start + 2 {
                return TokenKind::Integer;
            }
            self.at = start;
        }
        self.skip_while(|byte| byte.is_ascii_digit());
        let has_point = self.bytes.get(self.at) == Some(&b'.');
        if has_point {
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_digit());
        }
        let has_exponent = self.exponent();
        if has_point && matches!(self.bytes.get(self.at), Some(b'f' | b'F')) {
            self.at += 1;
        }
        if has_point || has_exponent { TokenKind::Float } else { TokenKind::Integer }
    }

    fn exponent(&mut self) -> bool {
        let start = self.at;
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            let digits = self.at;
            self.skip_while(|byte| byte.is_ascii_digit());
            if self.at > digits {
                return true;
            }
        }
        self.at = start;
        false
    }

    /// A string that begins after so many bytes. Without a closing mark the opening one has no meaning.
    fn text(&mut self, opening: usize) -> Option<TokenKind> {
        let start = self.at;
        self.at += opening;
        if self.is_text_open {
            return None;
        }
        loop {
            match self.bytes.get(self.at) {
                None => {
                    self.is_text_open = true;
                    self.at = start + opening;
                    return None;
                }
                Some(b'"') => {
                    self.at += 1;
                    return Some(TokenKind::Text);
                }
                // The character behind it may have several bytes, none of which is a mark or a backslash.
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
    }

    fn symbol(&mut self) -> Option<TokenKind> {
        let rest = &self.bytes[self.at..];
        let symbol = TokenKind::of_symbol(rest);
        // All bytes of a character without a meaning.
        let length = |rest: &[u8]| 1 + rest[1..].iter().take_while(|&&byte| byte & 0xC0 == 0x80).count();
        self.at += symbol.map_or_else(|| length(rest), |(_, length)| length);
        symbol.map(|(kind, _)| kind)
    }
}

/// The value of a string token.
pub(crate) fn text_value(token: &str) -> String {
    // Behind `L"` the mark itself is a part of the value, in Second Life too.
    let (mut value, inner) = match token.strip_prefix('L') {
        Some(rest) => (String::from("\""), &rest[1..]),
        None => (String::new(), &token[1..]),
    };
    let mut letters = inner[..inner.len() - 1].chars();
    value.reserve(inner.len());
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            value.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => value.push('\n'),
            Some('t') => value.push_str("    "),
            Some(other) => value.push(other),
            None => {}
        }
    }
    value
}

/// The value of an integer token: it wraps from 2³¹ to 2³² − 1, and is −1 beyond.
pub(crate) fn integer_value(token: &str) -> i32 {
    let hexadecimal = token.strip_prefix("0x").or_else(|| token.strip_prefix("0X"));
    let value = match hexadecimal {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => token.parse(),
    };
    value.map_or(-1, u32::cast_signed)
}

/// The value of a float token, as a double.
pub(crate) fn float_value(token: &str) -> f64 {
    token.trim_end_matches(['f', 'F']).parse().expect("digits, a point and an exponent")
}

#[cfg(test)]
mod tests {
    use super::*;
    use TokenKind as T;

    fn kinds(source: &str) -> (Vec<TokenKind>, usize) {
        let mut faults = Faults::default();
        let kinds = tokens(source, &mut faults).iter().map(|token| token.kind).collect();
        (kinds, faults.list.len())
    }

    #[test]
    fn the_longest_token_wins() {
        let expected = vec![T::Name, T::MinusMinus, T::Minus, T::Minus, T::Name, T::End];
        assert_eq!(kinds("a--- -b"), (expected, 0));
        let expected = vec![T::ShiftLeft, T::LessEqual, T::Less, T::Assign, T::End];
        assert_eq!(kinds("<<<=< ="), (expected, 0));
        assert_eq!(kinds("integers float_ do"), (vec![T::Name, T::Name, T::Do, T::End], 0));
    }

    #[test]
    fn numbers_have_their_kinds_and_values() {
        for (source, kind) in
            [("12", T::Integer), ("0x1F", T::Integer), ("1.", T::Float), (".5f", T::Float), ("1e3", T::Float)]
        {
            assert_eq!(kinds(source), (vec![kind, T::End], 0), "{source}");
        }
        assert_eq!(kinds("1e"), (vec![T::Integer, T::Name, T::End], 0));
        assert_eq!(kinds("0x"), (vec![T::Integer, T::Name, T::End], 0));
        assert_eq!(kinds("1.x"), (vec![T::Float, T::Name, T::End], 0));
        let integers = ["0", "2147483648", "4294967295", "4294967296", "0xFFFFFFFF", "0x100000000"];
        assert_eq!(integers.map(integer_value), [0, i32::MIN, -1, -1, -1, -1]);
        assert_eq!(["1.", ".5f", "1e3", "1.5E-3F"].map(float_value), [1.0, 0.5, 1000.0, 0.0015]);
    }

    #[test]
    fn strings_have_four_escapes() {
        assert_eq!(text_value(r#""a\n\t\"\\\q""#), "a\n    \"\\q");
        assert_eq!(text_value("L\"x\ny\""), "\"x\ny");
        assert_eq!(kinds(r#""a\"" L"b" "\\""#), (vec![T::Text, T::Text, T::Text, T::End], 0));
    }

    #[test]
    fn comments_and_meaningless_characters_are_left_out() {
        assert_eq!(kinds("a // b\nc /* d\n */ e /* f"), (vec![T::Name, T::Name, T::Name, T::End], 0));
        assert_eq!(kinds("a $ ü # \u{feff}b"), (vec![T::Name, T::Name, T::End], 4));
        assert_eq!(kinds("a \"b\\"), (vec![T::Name, T::Name, T::End], 2), "a string without an end");
    }

    #[test]
    fn spans_are_those_of_the_bytes() {
        let spans: Vec<_> =
            tokens("ab  \"ü\"", &mut Faults::default()).iter().map(|token| token.span).collect();
        let span = |start, end| Span { start, end };
        assert_eq!(spans, [span(0, 2), span(4, 8), span(8, 8)]);
    }
}
