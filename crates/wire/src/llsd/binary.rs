//! LLSD as bytes, the form inside materials and mesh assets.
//!
//! A value is a marker byte and its content; lengths and counts are big-endian `u32`:
//!
//! ```text
//! !            undefined            u  16 bytes             UUID
//! 1  0         true, false          d  f64 little-endian    date, seconds since 1970
//! i  i32 BE    integer              s  length, UTF-8        string
//! r  f64 BE    real                 l  length, UTF-8        link
//! b  length, bytes                  [  count, values, ]
//! {  count, entries of (k, length, UTF-8 key, value), }
//! ```
//!
//! The date is the one little-endian number: viewers store the order of their host. (node-metaverse takes
//! dates as big-endian and integers as unsigned; viewers are the ones to agree with.) A document may open
//! with the line `<? LLSD/Binary ?>`, which files have and materials do not.

use super::{Budget, Limits, Llsd, after_opening_line};
use crate::Malformed;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Reads one value and nothing after it, with or without the opening line.
///
/// # Errors
/// [`Malformed::Oversized`] or [`Malformed::Depth`] beyond the limits, [`Malformed::Truncated`] if it ends
/// early, [`Malformed::Text`] for text that is not UTF-8, [`Malformed::Syntax`] for an unknown marker or
/// bytes after the end.
pub fn decode(bytes: &[u8], limits: Limits) -> Result<Llsd, Malformed> {
    if bytes.len() > limits.bytes_max {
        return Err(Malformed::Oversized);
    }
    let mut source =
        BinarySource { rest: after_opening_line(bytes, "llsd/binary")?, budget: Budget::new(limits) };
    let value = source.value(1)?;
    if source.rest.is_empty() { Ok(value) } else { Err(Malformed::Syntax) }
}

/// Reads one value at the front of a longer document, as the header of a mesh is, with or without the opening line. Returns its length too. The value ends within
/// the first `limits.bytes_max` bytes.
///
/// # Errors
/// As [`decode`], but for the length of the document and bytes after the end.
pub fn decode_prefix(bytes: &[u8], limits: Limits) -> Result<(Llsd, usize), Malformed> {
    let bytes = &bytes[..bytes.len().min(limits.bytes_max)];
    let mut source =
        BinarySource { rest: after_opening_line(bytes, "llsd/binary")?, budget: Budget::new(limits) };
    let value = source.value(1)?;
    Ok((value, bytes.len() - source.rest.len()))
}

struct BinarySource<'a> {
    rest: &'a [u8],
    budget: Budget,
}

impl BinarySource<'_> {
    fn value(&mut self, level: usize) -> Result<Llsd, Malformed> {
        self.budget.spend(level)?;
        Ok(match self.byte()? {
            b'!' => Llsd::Undef,
            b'1' => Llsd::Boolean(true),
            b'0' => Llsd::Boolean(false),
            b'i' => Llsd::Integer(i32::from_be_bytes(self.array()?)),
            b'r' => Llsd::Real(f64::from_be_bytes(self.array()?)),
            b'd' => Llsd::Date(f64::from_le_bytes(self.array()?)),
            b'u' => Llsd::Uuid(Uuid::from_bytes(self.array()?)),
            b's' => Llsd::String(self.text()?),
            b'l' => Llsd::Uri(self.text()?),
            b'b' => Llsd::Binary(self.run()?.to_vec()),
            b'[' => {
                let mut values = Vec::new();
                for _ in 0..self.count()? {
                    values.push(self.value(level + 1)?);
                }
                self.expect(b']')?;
                Llsd::Array(values)
            }
            b'{' => {
                let mut entries = BTreeMap::new();
                for _ in 0..self.count()? {
                    self.expect(b'k')?;
                    let key = self.text()?;
                    entries.insert(key, self.value(level + 1)?);
                }
                self.expect(b'}')?;
                Llsd::Map(entries)
            }
            _ => return Err(Malformed::Syntax),
        })
    }

    fn text(&mut self) -> Result<String, Malformed> {
        std::str::from_utf8(self.run()?).map(str::to_owned).map_err(|_| Malformed::Text)
    }

    /// A length and as many bytes.
    fn run(&mut self) -> Result<&[u8], Malformed> {
        let length = self.count()?;
        let (run, rest) = self.rest.split_at_checked(length).ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(run)
    }

    fn count(&mut self) -> Result<usize, Malformed> {
        usize::try_from(u32::from_be_bytes(self.array()?)).map_err(|_| Malformed::Oversized)
    }

    fn expect(&mut self, marker: u8) -> Result<(), Malformed> {
        if self.byte()? == marker { Ok(()) } else { Err(Malformed::Syntax) }
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(*array)
    }
}

/// Writes one value without the opening line.
///
/// # Panics
/// If a string, binary or container is longer than `u32` counts; no message of ours is.
#[must_use]
pub fn encode(value: &Llsd) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out);
    out
}

fn write(value: &Llsd, out: &mut Vec<u8>) {
    match value {
        Llsd::Undef => out.push(b'!'),
        Llsd::Boolean(true) => out.push(b'1'),
        Llsd::Boolean(false) => out.push(b'0'),
        Llsd::Integer(value) => marked(b'i', &value.to_be_bytes(), out),
        Llsd::Real(value) => marked(b'r', &value.to_be_bytes(), out),
        Llsd::Date(value) => marked(b'd', &value.to_le_bytes(), out),
        Llsd::Uuid(value) => marked(b'u', value.as_bytes(), out),
        Llsd::String(text) => run(b's', text.as_bytes(), out),
        Llsd::Uri(text) => run(b'l', text.as_bytes(), out),
        Llsd::Binary(bytes) => run(b'b', bytes, out),
        Llsd::Array(values) => {
            marked(b'[', &count(values.len()), out);
            values.iter().for_each(|value| write(value, out));
            out.push(b']');
        }
        Llsd::Map(entries) => {
            marked(b'{', &count(entries.len()), out);
            for (key, value) in entries {
                run(b'k', key.as_bytes(), out);
                write(value, out);
            }
            out.push(b'}');
        }
    }
}

fn marked(marker: u8, content: &[u8], out: &mut Vec<u8>) {
    out.push(marker);
    out.extend_from_slice(content);
}

fn run(marker: u8, content: &[u8], out: &mut Vec<u8>) {
    marked(marker, &count(content.len()), out);
    out.extend_from_slice(content);
}

fn count(length: usize) -> [u8; 4] {
    u32::try_from(length).expect("LLSD lengths fit 32 bits").to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::{DEPTH_MAX, arbitrary};
    use super::*;
    use proptest::prelude::*;

    fn parse(bytes: &[u8]) -> Result<Llsd, Malformed> {
        decode(bytes, Limits::REQUEST)
    }

    #[test]
    fn layout_is_the_documented_one() {
        let value = Llsd::map([
            ("a", Llsd::array([Llsd::Integer(-2), Llsd::Real(1.0), Llsd::Date(1.0)])),
            ("b", "hi".into()),
            ("c", vec![9_u8].into()),
        ]);
        let expected =
            b"{\0\0\0\x03k\0\0\0\x01a[\0\0\0\x03i\xFF\xFF\xFF\xFEr\x3F\xF0\0\0\0\0\0\0d\0\0\0\0\0\0\xF0\x3F]\
            k\0\0\0\x01bs\0\0\0\x02hik\0\0\0\x01cb\0\0\0\x01\x09}";
        assert_eq!(encode(&value), expected);
        assert_eq!(parse(expected), Ok(value));
        // The empty materials answer before compression.
        assert_eq!(encode(&Llsd::Array(Vec::new())), b"[\0\0\0\0]");
    }

    #[test]
    fn a_value_is_read_from_the_front_of_a_longer_document() {
        let value = Llsd::map([("size", Llsd::Integer(7))]);
        let encoded = encode(&value);
        for opening in ["", "<? LLSD/Binary ?>\n"] {
            let document = [opening.as_bytes(), &encoded, b"1 and more"].concat();
            let length = opening.len() + encoded.len();
            assert_eq!(decode_prefix(&document, Limits::REQUEST), Ok((value.clone(), length)));
            let limits = Limits { bytes_max: length - 1, values_max: 9 };
            assert_eq!(decode_prefix(&document, limits), Err(Malformed::Truncated));
        }
    }

    #[test]
    fn opening_line_is_optional_and_checked() {
        assert_eq!(parse(b"<? LLSD/Binary ?>\n1"), Ok(Llsd::Boolean(true)));
        assert_eq!(parse(b"<?llsd/binary?>1"), Ok(Llsd::Boolean(true)));
        assert_eq!(parse(b"<? LLSD/XML ?>\n1"), Err(Malformed::Syntax));
        assert_eq!(parse(b"<? LLSD/Binary"), Err(Malformed::Syntax));
        assert_eq!(parse(b"<?"), Err(Malformed::Syntax));
    }

    #[test]
    fn damage_is_refused_with_its_reason() {
        for (bytes, reason) in [
            (&b""[..], Malformed::Truncated),
            (b"i\0\0\0", Malformed::Truncated),
            (b"s\xFF\xFF\xFF\xFFab", Malformed::Truncated),
            (b"[\xFF\xFF\xFF\xFF", Malformed::Truncated),
            (b"[\0\0\0\x01!}", Malformed::Syntax),
            (b"{\0\0\0\x01s\0\0\0\x01a!}", Malformed::Syntax),
            (b"s\0\0\0\x01\xFF", Malformed::Text),
            (b"x", Malformed::Syntax),
            (b"!!", Malformed::Syntax),
        ] {
            assert_eq!(parse(bytes), Err(reason), "{bytes:?}");
        }
    }

    #[test]
    fn depth_bytes_and_values_are_bounded() {
        let nested = b"[\0\0\0\x01".repeat(100_000);
        assert_eq!(decode(&nested, Limits::REQUEST), Err(Malformed::Depth));
        let mut at_limit = b"[\0\0\0\x01".repeat(DEPTH_MAX - 1);
        at_limit.push(b'!');
        at_limit.extend(b"]".repeat(DEPTH_MAX - 1));
        assert!(parse(&at_limit).is_ok());
        let limits = Limits { bytes_max: 8, values_max: 2 };
        assert_eq!(decode(b"[\0\0\0\x02!!]", limits), Err(Malformed::Oversized));
        assert_eq!(decode(b"s\0\0\0\x04abcd", limits), Err(Malformed::Oversized));
    }

    proptest! {
        #[test]
        fn written_values_read_back(value in arbitrary::value()) {
            prop_assert_eq!(parse(&encode(&value)), Ok(value));
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn a_damaged_document_is_decoded_without_panic(
            value in arbitrary::value(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
        ) {
            let mut bytes = encode(&value);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = parse(&bytes);
        }
    }
}
