//! Bounded reading of binary assets from front to back.
//!
//! Each read names the field or part that it is for, and fails with that name ([`Unfit`]). The cursor knows no byte order but for [`Cursor::finite`]: formats of
//! viewers are little-endian, codestreams are big-endian.

use super::Unfit;
use crate::kind::AssetKind;

/// A position in the bytes of an asset.
pub(super) struct Cursor<'a> {
    kind: AssetKind,
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// A cursor at the front of `bytes`.
    pub(super) const fn new(kind: AssetKind, bytes: &'a [u8]) -> Self {
        Self { kind, rest: bytes }
    }

    /// True behind the last byte.
    pub(super) const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `length` bytes.
    pub(super) fn take(&mut self, length: usize, part: &'static str) -> Result<&'a [u8], Unfit> {
        let kind = self.kind;
        let (run, rest) = self.rest.split_at_checked(length).ok_or(Unfit::Truncated { kind, part })?;
        self.rest = rest;
        Ok(run)
    }

    /// The next `N` bytes.
    pub(super) fn array<const N: usize>(&mut self, part: &'static str) -> Result<[u8; N], Unfit> {
        let kind = self.kind;
        let (array, rest) = self.rest.split_first_chunk::<N>().ok_or(Unfit::Truncated { kind, part })?;
        self.rest = rest;
        Ok(*array)
    }

    /// A little-endian float that is neither infinite nor NaN.
    pub(super) fn finite(&mut self, field: &'static str) -> Result<f32, Unfit> {
        let value = f32::from_le_bytes(self.array(field)?);
        if value.is_finite() { Ok(value) } else { Err(Unfit::Invalid { kind: self.kind, field }) }
    }

    /// The bytes before a NUL, at most `length_max`; the NUL is consumed too.
    pub(super) fn c_string(&mut self, length_max: usize, field: &'static str) -> Result<&'a [u8], Unfit> {
        let kind = self.kind;
        let searched = &self.rest[..self.rest.len().min(length_max.saturating_add(1))];
        let Some(length) = searched.iter().position(|&byte| byte == 0) else {
            return Err(if searched.len() > length_max {
                Unfit::Invalid { kind, field }
            } else {
                Unfit::Truncated { kind, part: field }
            });
        };
        let text = self.take(length, field)?;
        self.take(1, field)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KIND: AssetKind = AssetKind::Animation;

    #[test]
    fn reads_end_with_the_bytes() {
        let mut cursor = Cursor::new(KIND, b"abcde");
        assert_eq!(cursor.array::<2>("x"), Ok(*b"ab"));
        let truncated = Unfit::Truncated { kind: KIND, part: "x" };
        assert_eq!(cursor.array::<4>("x"), Err(truncated.clone()));
        assert_eq!(cursor.take(usize::MAX, "x"), Err(truncated));
        assert_eq!(cursor.take(3, "x"), Ok(&b"cde"[..]), "a failed read moves nothing");
        assert!(cursor.is_at_end());
    }

    #[test]
    fn strings_end_at_a_nul_within_their_limit() {
        let name = |bytes: &'static [u8]| Cursor::new(KIND, bytes).c_string(3, "name");
        assert_eq!(name(b"abc\0d"), Ok(&b"abc"[..]));
        assert_eq!(name(b"\0"), Ok(&b""[..]));
        assert_eq!(name(b"abcd\0"), Err(Unfit::Invalid { kind: KIND, field: "name" }));
        assert_eq!(name(b"abc"), Err(Unfit::Truncated { kind: KIND, part: "name" }));
        assert_eq!(name(b""), Err(Unfit::Truncated { kind: KIND, part: "name" }));
    }

    #[test]
    fn floats_are_finite() {
        let float = |value: f32| Cursor::new(KIND, &value.to_le_bytes()).finite("weight");
        assert_eq!(float(-1.5), Ok(-1.5));
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(float(value), Err(Unfit::Invalid { kind: KIND, field: "weight" }));
        }
    }

    proptest! {
        #[test]
        fn no_read_panics(
            bytes in proptest::collection::vec(any::<u8>(), 0..20), length in any::<usize>(), limit in any::<usize>(),
        ) {
            let _ = Cursor::new(KIND, &bytes).take(length, "x");
            let _ = Cursor::new(KIND, &bytes).c_string(limit, "x");
            let _ = Cursor::new(KIND, &bytes).c_string(limit % 20, "x");
        }
    }
}
