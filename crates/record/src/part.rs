//! Parts: the pieces of state that have records, and the versions of each.

use crate::error::{RecordError, Unreadable};
use crate::tag::Tag;
use serde::Deserialize;
use std::borrow::Cow;

/// Turns a body of one version into the same state in the next version.
///
/// It sees bytes and nothing else: no configuration, no clock. So a store can be migrated without the worlds that it holds.
pub type Upgrade = fn(&[u8]) -> Result<Vec<u8>, Unreadable>;

/// The upgrade to a version that reads bodies of the one before as they are: it has further forms, which earlier builds do not know.
///
/// # Errors
/// None.
pub fn unchanged(body: &[u8]) -> Result<Vec<u8>, Unreadable> {
    Ok(body.to_vec())
}

/// A piece of state with a record of its own.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Name in the file; never used again for anything else.
    pub tag: Tag,
    /// Name in messages.
    pub name: &'static str,
    /// `upgrades[n]` leads from version n + 1 to version n + 2. Entries are appended and never removed: a version written once stays
    /// readable.
    pub upgrades: &'static [Upgrade],
    /// A reader that does not know the part may leave its records out; the rest is complete without them.
    pub is_skippable: bool,
}

/// The last record of every file. Its body is the format's.
pub const END: Part = Part::new(*b"END ", "end");

impl Part {
    /// A part of which there has been one version so far, and that must not be left out.
    #[must_use]
    pub const fn new(tag: [u8; 4], name: &'static str) -> Self {
        Self { tag: Tag(tag), name, upgrades: &[], is_skippable: false }
    }

    /// The version that this build writes, from 1.
    #[must_use]
    pub const fn version(&self) -> u16 {
        assert!(
            self.upgrades.len() < u16::MAX as usize,
            "a part with more versions than a number has room for"
        );
        self.upgrades.len() as u16 + 1
    }

    /// The oldest version that this build reads without a migration.
    #[must_use]
    pub const fn oldest(&self) -> u16 {
        let newest = self.version();
        if newest > 1 { newest - 1 } else { 1 }
    }

    /// A body of the newest version or the one before, as one of the newest. `offset` is that of the record, for messages.
    ///
    /// # Errors
    /// [`RecordError::Older`] and [`RecordError::Newer`] for other versions, [`RecordError::Undecodable`] when the upgrade fails.
    pub fn read<'a>(
        &self,
        version: u16,
        body: Cow<'a, [u8]>,
        offset: u64,
    ) -> Result<Cow<'a, [u8]>, RecordError> {
        if version < self.oldest() {
            return Err(RecordError::Older {
                part: self.name,
                found: version,
                oldest: self.oldest(),
                offset,
            });
        }
        self.migrate(version, body, offset)
    }

    /// A body of any version that there has been, as one of the newest.
    ///
    /// # Errors
    /// [`RecordError::Newer`] for a version that this build does not know, [`RecordError::Undecodable`] when an upgrade fails.
    pub fn migrate<'a>(
        &self,
        version: u16,
        body: Cow<'a, [u8]>,
        offset: u64,
    ) -> Result<Cow<'a, [u8]>, RecordError> {
        if version == 0 {
            return Err(self.undecodable(offset, Unreadable("version 0")));
        }
        let Some(upgrades) = self.upgrades.get(usize::from(version) - 1..) else {
            return Err(RecordError::Newer {
                part: self.name,
                found: version,
                newest: self.version(),
                offset,
            });
        };
        upgrades.iter().try_fold(body, |body, upgrade| {
            upgrade(&body).map(Cow::Owned).map_err(|source| self.undecodable(offset, source))
        })
    }

    /// The state that a body of the newest version encodes (postcard); texts and bytes of it may be borrowed. `offset` is that of the record, for
    /// messages.
    ///
    /// # Errors
    /// [`RecordError::Undecodable`], also for bytes behind its end.
    pub fn decode<'a, T: Deserialize<'a>>(&self, body: &'a [u8], offset: u64) -> Result<T, RecordError> {
        let undecodable = |why| self.undecodable(offset, why);
        let (value, rest) = postcard::take_from_bytes(body).map_err(|error| undecodable(error.into()))?;
        if rest.is_empty() { Ok(value) } else { Err(undecodable(Unreadable("it goes on behind its end"))) }
    }

    pub(crate) const fn undecodable(&self, offset: u64, why: Unreadable) -> RecordError {
        RecordError::Undecodable { part: self.name, offset, why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(digit: u8) -> impl Fn(&[u8]) -> Result<Vec<u8>, Unreadable> {
        move |body| match body.last() {
            Some(b'!') => Err(Unreadable("an exclamation mark")),
            _ => Ok([body, &[digit]].concat()),
        }
    }

    const THREE: Part =
        Part { upgrades: &[|body| add(b'2')(body), |body| add(b'3')(body)], ..Part::new(*b"TEST", "test") };

    #[test]
    fn the_version_before_is_read_and_older_ones_are_migrated() {
        let read = |version| THREE.read(version, Cow::Borrowed(b"a"), 8).map(Cow::into_owned);
        let migrate = |version| THREE.migrate(version, Cow::Borrowed(b"a"), 8).map(Cow::into_owned);
        assert_eq!((read(3).unwrap(), read(2).unwrap()), (b"a".to_vec(), b"a3".to_vec()));
        let older = read(1).unwrap_err();
        assert_eq!(
            older.to_string(),
            "record \"test\" at byte 8 has version 1, and this build reads versions from 2 on: `throng store migrate` upgrades it"
        );
        assert_eq!(migrate(1).unwrap(), b"a23");
        for version in [4, u16::MAX] {
            assert!(matches!(read(version), Err(RecordError::Newer { newest: 3, .. })));
            assert!(matches!(migrate(version), Err(RecordError::Newer { newest: 3, .. })));
        }
        assert!(matches!(migrate(0), Err(RecordError::Undecodable { .. })));
    }

    #[test]
    fn an_upgrade_that_fails_names_the_record() {
        let failed = THREE.read(2, Cow::Borrowed(b"!"), 77).unwrap_err();
        assert_eq!(failed.to_string(), "record \"test\" at byte 77 cannot be decoded: an exclamation mark");
    }

    #[test]
    fn a_part_of_one_version_reads_that() {
        assert_eq!((END.version(), END.oldest()), (1, 1));
    }

    #[test]
    fn a_tag_of_any_bytes_is_one_line_of_text() {
        assert_eq!(Tag(*b"NPCS").to_string(), "NPCS");
        assert_eq!(Tag([b'\n', 0xFF, b'a', 0]).to_string(), "\\n\\xffa\\x00");
    }
}
