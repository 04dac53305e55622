//! Reading a whole file that lies in memory.

use crate::buffer::RecordBuffer;
use crate::error::RecordError;
use crate::layout::{Chain, Format, PREAMBLE_LEN, RECORD_HEAD_LEN, RawHead};
use crate::part::{END, Part};
use crate::tag::Tag;
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// Records that a format in memory may have: each part at most once.
const RECORDS_MAX: usize = 256;

/// The records of a file, each checked, none decoded yet.
#[derive(Debug)]
pub struct Records<'a> {
    format: &'static str,
    list: Vec<Record<'a>>,
}

/// One record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    head: RawHead,
    body: &'a [u8],
    offset: u64,
}

impl<'a> Records<'a> {
    /// Checks all records of a format of which each part has one at most. `parts` are those that the reader knows.
    ///
    /// # Errors
    /// [`RecordError`]. A record of another part is an error unless it may be skipped.
    pub fn parse(format: &Format, bytes: &'a [u8], parts: &[&Part]) -> Result<Self, RecordError> {
        let records = Self::parse_any(format, bytes)?;
        for record in &records.list {
            let is_known = parts.iter().any(|part| part.tag == record.head.tag);
            if !is_known && !record.head.is_skippable {
                let Record { head: RawHead { tag, version, .. }, offset, .. } = *record;
                return Err(RecordError::UnknownPart { tag, version, offset });
            }
        }
        Ok(records)
    }

    /// A file in which every record has its part's newest version, made from one of any versions that there have been; `None` if
    /// it is one already. Records of unknown parts that may be skipped are copied.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn migrate(
        format: &Format,
        bytes: &'a [u8],
        parts: &[&Part],
    ) -> Result<Option<Vec<u8>>, RecordError> {
        let records = Self::parse(format, bytes, parts)?;
        let mut buffer = RecordBuffer::new(format);
        let mut is_newest = true;
        for Record { mut head, body, offset } in records.list {
            let mut body = head.unpack(body, offset)?;
            if let Some(part) = parts.iter().find(|part| part.tag == head.tag) {
                is_newest &= head.version == part.version();
                body = part.migrate(head.version, body, offset)?;
                head.version = part.version();
            }
            buffer.copy(head, &body);
        }
        Ok((!is_newest).then(|| buffer.finish()))
    }

    fn parse_any(format: &Format, bytes: &'a [u8]) -> Result<Self, RecordError> {
        let preamble = bytes.get(..PREAMBLE_LEN).unwrap_or(bytes);
        let mut chain = format.check(preamble)?;
        let mut list: Vec<Record<'a>> = Vec::new();
        let mut rest = &bytes[PREAMBLE_LEN..];
        loop {
            let offset = (bytes.len() - rest.len()) as u64;
            let record = Record::split(format, &mut chain, &mut rest, offset)?;
            if record.head.tag == END.tag {
                // Its content is the format's own and may be unused; damage to it is still damage to the file.
                record.head.unpack(record.body, offset)?;
                if !rest.is_empty() {
                    let offset = (bytes.len() - rest.len()) as u64;
                    return Err(RecordError::TooLong { format: format.name, offset });
                }
                return Ok(Self { format: format.name, list });
            }
            if list.iter().any(|other| other.head.tag == record.head.tag) {
                return Err(RecordError::Twice { format: format.name, tag: record.head.tag, offset });
            }
            if list.len() == RECORDS_MAX {
                return Err(RecordError::TooMany { format: format.name, max: RECORDS_MAX });
            }
            list.push(record);
        }
    }

    /// The record of a part, if there is one.
    #[must_use]
    pub fn find(&self, part: &Part) -> Option<&Record<'a>> {
        self.list.iter().find(|record| record.head.tag == part.tag)
    }

    /// The record of a part without which the format means nothing.
    ///
    /// # Errors
    /// [`RecordError::Missing`].
    pub fn need(&self, part: &Part) -> Result<&Record<'a>, RecordError> {
        self.find(part).ok_or(RecordError::Missing { format: self.format, part: part.name })
    }

    /// The state of a part without which the format means nothing, of version N or N−1.
    ///
    /// # Errors
    /// [`RecordError::Missing`], and those of [`Record::decode`].
    pub fn decode<T: DeserializeOwned>(&self, part: &Part) -> Result<T, RecordError> {
        self.need(part)?.decode(part)
    }

    /// All records but the last one, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Record<'a>> {
        self.list.iter()
    }
}

impl<'a> Record<'a> {
    fn split(
        format: &Format,
        chain: &mut Chain,
        rest: &mut &'a [u8],
        offset: u64,
    ) -> Result<Self, RecordError> {
        let cut_off = RecordError::CutOff { format: format.name, offset };
        let Some((head, behind)) = rest.split_first_chunk::<RECORD_HEAD_LEN>() else { return Err(cut_off) };
        let Some((body, behind)) = behind.split_at_checked(RawHead::stored(head) as usize) else {
            return Err(cut_off);
        };
        *rest = behind;
        let head = RawHead::read(format, chain, head, body, offset)?;
        Ok(Self { head, body, offset })
    }

    /// Tag of its part.
    #[must_use]
    pub const fn tag(&self) -> Tag {
        self.head.tag
    }

    /// Version of its body.
    #[must_use]
    pub const fn version(&self) -> u16 {
        self.head.version
    }

    /// Bytes before it.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The body as it was written.
    ///
    /// # Errors
    /// [`RecordError::Unpackable`].
    pub fn body(&self) -> Result<Cow<'a, [u8]>, RecordError> {
        self.head.unpack(self.body, self.offset)
    }

    /// The body in the part's newest version, from N or N−1.
    ///
    /// # Errors
    /// [`RecordError::Unpackable`] and those of [`Part::read`].
    pub fn read(&self, part: &Part) -> Result<Cow<'a, [u8]>, RecordError> {
        part.read(self.head.version, self.body()?, self.offset)
    }

    /// The state that the body encodes (postcard), from version N or N−1.
    ///
    /// # Errors
    /// As [`Self::read`], and [`RecordError::Undecodable`].
    pub fn decode<T: DeserializeOwned>(&self, part: &Part) -> Result<T, RecordError> {
        part.decode(&self.read(part)?, self.offset)
    }
}
