//! Values of a database: a record on its own. The row around it has its key, its length and its checksum.
//!
//! ```text
//! tag [u8; 4] | version u16 | 0 u16 | body                                                             8 + body bytes
//! ```

use crate::error::{RecordError, Unreadable};
use crate::part::Part;
use crate::tag::Tag;
use serde::Serialize;
use std::borrow::Cow;

/// Bytes of a value before its body.
pub const VALUE_HEAD_LEN: usize = 8;

/// Appends a value of the part's newest version, its body encoded as postcard.
///
/// # Panics
/// When the value does not encode.
pub fn push_value(out: &mut Vec<u8>, part: &Part, value: &(impl Serialize + ?Sized)) {
    out.extend_from_slice(&part.tag.0);
    out.extend_from_slice(&part.version().to_le_bytes());
    out.extend_from_slice(&[0; 2]);
    let bytes = std::mem::take(out);
    *out = postcard::to_extend(value, bytes).expect("plain data in memory always encodes");
}

/// A value whose body was not decoded yet.
#[derive(Clone, Copy, Debug)]
pub struct RecordValue<'a> {
    tag: Tag,
    version: u16,
    body: &'a [u8],
}

impl<'a> RecordValue<'a> {
    /// Splits a value into head and body.
    ///
    /// # Errors
    /// [`RecordError::CutOff`], and [`RecordError::Unpackable`] for bits without a meaning.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let Some((head, body)) = bytes.split_first_chunk::<VALUE_HEAD_LEN>() else {
            return Err(RecordError::CutOff { format: "value", offset: 0 });
        };
        let [a, b, c, d, low, high, flags @ ..] = *head;
        let tag = Tag([a, b, c, d]);
        if flags != [0; 2] {
            return Err(RecordError::Unpackable { tag, offset: 0, why: Unreadable("it has unknown flags") });
        }
        Ok(Self { tag, version: u16::from_le_bytes([low, high]), body })
    }

    /// Version of its body.
    #[must_use]
    pub const fn version(&self) -> u16 {
        self.version
    }

    /// The body in the part's newest version, from N or N−1.
    ///
    /// # Errors
    /// [`RecordError::UnknownPart`] for a value of another part, and those of [`Part::read`].
    pub fn read(&self, part: &Part) -> Result<Cow<'a, [u8]>, RecordError> {
        self.check_part(part)?;
        part.read(self.version, Cow::Borrowed(self.body), 0)
    }

    /// The body in the part's newest version, from any version that there has been.
    ///
    /// # Errors
    /// [`RecordError::UnknownPart`] for a value of another part, and those of [`Part::migrate`].
    pub fn migrate(&self, part: &Part) -> Result<Cow<'a, [u8]>, RecordError> {
        self.check_part(part)?;
        part.migrate(self.version, Cow::Borrowed(self.body), 0)
    }

    fn check_part(&self, part: &Part) -> Result<(), RecordError> {
        let Self { tag, version, .. } = *self;
        if tag == part.tag { Ok(()) } else { Err(RecordError::UnknownPart { tag, version, offset: 0 }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OLD: Part = Part::new(*b"TEST", "test");
    const NEW: Part = Part { upgrades: &[|body| Ok([body, b"!"].concat())], ..OLD };

    fn value(part: &Part) -> Vec<u8> {
        let mut bytes = b"before".to_vec();
        push_value(&mut bytes, part, &(7_u8, "text"));
        bytes.split_off(6)
    }

    #[test]
    fn a_value_is_read_back() {
        let bytes = value(&OLD);
        assert_eq!(bytes, b"TEST\x01\x00\x00\x00\x07\x04text");
        let body = RecordValue::parse(&bytes).unwrap().read(&OLD).unwrap();
        assert_eq!(OLD.decode::<(u8, &str)>(&body, 0).unwrap(), (7, "text"));
        assert!(OLD.decode::<u8>(&body, 0).is_err(), "bytes are left");
    }

    #[test]
    fn the_version_before_is_upgraded_and_a_later_one_refused() {
        let (old, new) = (value(&OLD), value(&NEW));
        let read = |bytes, part| RecordValue::parse(bytes).unwrap().read(part).map(Cow::into_owned);
        assert_eq!(read(&old, &NEW).unwrap(), b"\x07\x04text!");
        assert_eq!(RecordValue::parse(&old).unwrap().migrate(&NEW).unwrap(), read(&old, &NEW).unwrap());
        assert!(matches!(read(&new, &OLD), Err(RecordError::Newer { found: 2, newest: 1, .. })));
    }

    #[test]
    fn values_of_other_parts_and_heads_of_other_layouts_are_refused() {
        let bytes = value(&OLD);
        let other = RecordValue::parse(&bytes).unwrap().read(&Part::new(*b"ELSE", "other"));
        assert!(matches!(other, Err(RecordError::UnknownPart { version: 1, .. })));
        for len in 0..VALUE_HEAD_LEN {
            assert!(matches!(RecordValue::parse(&bytes[..len]), Err(RecordError::CutOff { .. })));
        }
        let mut flagged = bytes;
        flagged[6] = 1;
        assert!(matches!(RecordValue::parse(&flagged), Err(RecordError::Unpackable { .. })));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(value) = RecordValue::parse(&bytes) {
                prop_assert!(value.read(&NEW).is_err() || bytes.starts_with(b"TEST"));
            }
        }
    }
}
