//! Line by line reading of assets that are text: notecards, landmarks, calling cards, gestures and wearables.
//!
//! Lines end with `\n` or `\r\n`, and one NUL behind the text is no part of it: old viewers write their buffers with it. The fields of such assets are a keyword and
//! a value with blanks between them. Each read names its part, and fails with that name ([`Unfit`]).

use super::Unfit;
use crate::kind::AssetKind;
use ids::Uuid;
use std::str::FromStr;

/// A position before a line of an asset.
pub(super) struct Lines<'a> {
    kind: AssetKind,
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    /// Lines of `bytes` without the NUL behind them.
    pub(super) fn new(kind: AssetKind, bytes: &'a [u8]) -> Self {
        Self { kind, rest: bytes.strip_suffix(b"\0").unwrap_or(bytes) }
    }

    /// All behind the last line that was read.
    pub(super) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next line in UTF-8, without its end.
    pub(super) fn line(&mut self, part: &'static str) -> Result<&'a str, Unfit> {
        let line = self.raw_line(part)?;
        std::str::from_utf8(line).map_err(|_| self.invalid(part))
    }

    /// The next line that is not blank, without blanks around it.
    pub(super) fn populated(&mut self, part: &'static str) -> Result<&'a str, Unfit> {
        loop {
            let line = self.line(part)?.trim();
            if !line.is_empty() {
                return Ok(line);
            }
        }
    }

    /// The value in the next line that is not blank, which has to open with `keyword`.
    pub(super) fn field(&mut self, keyword: &'static str) -> Result<&'a str, Unfit> {
        let kind = self.kind;
        let line = self.populated(keyword)?;
        value_of(line, keyword).ok_or(Unfit::Missing { kind, part: keyword })
    }

    /// The number behind `keyword`.
    pub(super) fn number(&mut self, keyword: &'static str) -> Result<u32, Unfit> {
        let value = self.field(keyword)?;
        self.parse(value, keyword)
    }

    /// The number of items behind the keyword `items`, a plural, at most `count_max`.
    pub(super) fn count(&mut self, items: &'static str, count_max: u32) -> Result<u32, Unfit> {
        let count = self.number(items)?;
        if count > count_max {
            return Err(Unfit::TooMany { kind: self.kind, items, count, count_max });
        }
        Ok(count)
    }

    /// A value of a type that is written as text.
    pub(super) fn parse<T: FromStr>(&self, value: &str, field: &'static str) -> Result<T, Unfit> {
        value.trim().parse().map_err(|_| self.invalid(field))
    }

    /// Reads `{`, alone in the next line that is not blank.
    pub(super) fn open_block(&mut self, part: &'static str) -> Result<(), Unfit> {
        let kind = self.kind;
        if self.populated(part)? == "{" { Ok(()) } else { Err(Unfit::Missing { kind, part }) }
    }

    /// Reads up to the `}` of the block that was opened last, with the blocks inside it. Text in it may be of any encoding.
    pub(super) fn skip_block(&mut self, part: &'static str) -> Result<(), Unfit> {
        // Each level takes a line, so the number is bounded by the bytes.
        let mut n_open = 1_usize;
        while n_open > 0 {
            match self.raw_line(part)?.trim_ascii() {
                b"{" => n_open += 1,
                b"}" => n_open -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// The refusal of a field.
    pub(super) const fn invalid(&self, field: &'static str) -> Unfit {
        Unfit::Invalid { kind: self.kind, field }
    }

    fn raw_line(&mut self, part: &'static str) -> Result<&'a [u8], Unfit> {
        let text = self.rest;
        if text.is_empty() {
            return Err(Unfit::Truncated { kind: self.kind, part });
        }
        let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
        self.rest = text.get(end + 1..).unwrap_or_default();
        let line = &text[..end];
        Ok(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// The value in a line that opens with `keyword` and a blank.
pub(super) fn value_of<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    let value = line.strip_prefix(keyword)?;
    value.starts_with([' ', '\t']).then(|| value.trim())
}

/// True for a UUID with hyphens, as viewers write it.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36 && Uuid::try_parse(text).is_ok()
}

/// True for `n_numbers` finite numbers with blanks between them.
pub(super) fn are_finite(text: &str, n_numbers: usize) -> bool {
    let is_finite = |word: &str| word.parse::<f64>().is_ok_and(f64::is_finite);
    text.split_whitespace().count() == n_numbers && text.split_whitespace().all(is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KIND: AssetKind = AssetKind::Gesture;

    fn lines(text: &str) -> Lines<'_> {
        Lines::new(KIND, text.as_bytes())
    }

    #[test]
    fn lines_end_in_either_way_and_a_nul_is_dropped() {
        let mut text = lines("a\r\n\n b \nc\0");
        for line in ["a", "", " b ", "c"] {
            assert_eq!(text.line("x"), Ok(line));
        }
        assert_eq!(text.line("x"), Err(Unfit::Truncated { kind: KIND, part: "x" }));
        assert_eq!(lines("\n \t\n b \n").populated("x"), Ok("b"));
        assert_eq!(Lines::new(KIND, b"\xFF\n").line("x"), Err(Unfit::Invalid { kind: KIND, field: "x" }));
    }

    #[test]
    fn fields_are_a_keyword_and_a_value() {
        assert_eq!(lines("\ttype\t 13 \n").number("type"), Ok(13));
        for other in ["types 13", "sale_type 13", "type"] {
            assert_eq!(lines(other).number("type"), Err(Unfit::Missing { kind: KIND, part: "type" }));
        }
        for value in ["type -1", "type 4294967296", "type x"] {
            assert_eq!(lines(value).number("type"), Err(Unfit::Invalid { kind: KIND, field: "type" }));
        }
        let many = Unfit::TooMany { kind: KIND, items: "steps", count: 9, count_max: 8 };
        assert_eq!(lines("steps 9").count("steps", 8), Err(many));
    }

    #[test]
    fn blocks_are_skipped_with_those_inside_them() {
        let mut text = lines("{\n\titem\n\t{\r\n\t}\n name {|\n}\nrest");
        assert_eq!(text.open_block("items"), Ok(()));
        assert_eq!(text.skip_block("items"), Ok(()));
        assert_eq!(text.rest(), b"rest");
        let mut endless = Lines::new(KIND, b"{\n{\n}\n");
        assert_eq!(endless.skip_block("items"), Err(Unfit::Truncated { kind: KIND, part: "items" }));
    }

    #[test]
    fn ids_and_numbers_are_recognised() {
        assert!(is_uuid("c228d1cf-4b5d-4ba8-84f4-899a0796aa97"));
        assert!(!is_uuid("c228d1cf4b5d4ba884f4899a0796aa97"));
        assert!(!is_uuid("c228d1cf-4b5d-4ba8-84f4-899a0796aa9x"));
        assert!(are_finite("128 -.5\t2e1", 3));
        for text in ["1 2", "1 2 3 4", "1 2 NaN", "1 2 inf", "1 2 1e999", "a b c"] {
            assert!(!are_finite(text, 3), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_read_panics(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'{'), any::<u8>()], 0..40),
        ) {
            let mut text = Lines::new(KIND, &bytes);
            while text.line("x").is_ok() {}
            let _ = Lines::new(KIND, &bytes).skip_block("x");
            let _ = Lines::new(KIND, &bytes).number("x");
        }
    }
}
