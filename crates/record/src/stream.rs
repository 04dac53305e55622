//! Reading a file of any length record by record.

use crate::error::RecordError;
use crate::layout::{Chain, Format, PREAMBLE_LEN, RECORD_HEAD_LEN, RawHead};
use crate::tag::Tag;
use std::borrow::Cow;
use std::io::Read;

/// A place between two records. A copy of it, with the input set back to [`Self::offset`], reads the same again.
#[derive(Clone, Copy, Debug)]
pub struct RecordCursor {
    format: Format,
    chain: Chain,
    offset: u64,
}

/// Facts about a record beside its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Tag of its part.
    pub tag: Tag,
    /// Version of its body.
    pub version: u16,
    /// A reader that does not know the part may leave it out.
    pub is_skippable: bool,
    /// Bytes before it.
    pub offset: u64,
}

impl RecordCursor {
    /// Behind a preamble that the caller has read.
    ///
    /// # Errors
    /// [`RecordError::OtherFormat`] and [`RecordError::Layout`].
    pub fn begin(format: &Format, preamble: &[u8]) -> Result<Self, RecordError> {
        Ok(Self { format: *format, chain: format.check(preamble)?, offset: PREAMBLE_LEN as u64 })
    }

    /// Bytes before the next record.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads the next record and replaces the content of `body` with its body. `None` where the input ends between two records.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn read(&mut self, input: &mut impl Read, body: &mut Vec<u8>) -> Result<Option<Head>, RecordError> {
        let offset = self.offset;
        let cut_off = || RecordError::CutOff { format: self.format.name, offset };
        body.clear();
        input.by_ref().take(RECORD_HEAD_LEN as u64).read_to_end(body)?;
        if body.is_empty() {
            return Ok(None);
        }
        let head = <[u8; RECORD_HEAD_LEN]>::try_from(body.as_slice()).map_err(|_| cut_off())?;
        let stored = RawHead::stored(&head);
        body.clear();
        // In pieces: a length that lies costs no more memory than the input has bytes.
        input.by_ref().take(stored.into()).read_to_end(body)?;
        if body.len() != stored as usize {
            return Err(cut_off());
        }
        let head = RawHead::read(&self.format, &mut self.chain, &head, body, offset)?;
        if let Cow::Owned(raw) = head.unpack(body, offset)? {
            *body = raw;
        }
        self.offset += RECORD_HEAD_LEN as u64 + u64::from(stored);
        let RawHead { tag, version, is_skippable, .. } = head;
        Ok(Some(Head { tag, version, is_skippable, offset }))
    }
}
