//! The records of a file one after the other, whichever version it has.

use crate::error::RecordingError;
use crate::format::{FORMAT, PARTS};
use crate::version4::{self, ChunkChecksum};
use record::{PREAMBLE_LEN, Part, RecordCursor, RecordError};
use std::borrow::Cow;
use std::io::Read;

/// Versions of a part that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The newest and the one before.
    Previous,
    /// All that there have been.
    All,
}

/// A place between two records, from which to read on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordSource {
    layout: Layout,
    reach: Reach,
}

#[derive(Clone, Copy, Debug)]
enum Layout {
    Records(RecordCursor),
    /// Of version 4. Offset of the next chunk.
    Chunks(ChunkChecksum, u64),
}

impl RecordSource {
    /// Reads the preamble.
    pub(crate) fn begin(input: &mut impl Read, reach: Reach) -> Result<Self, RecordingError> {
        let mut preamble = Vec::with_capacity(PREAMBLE_LEN);
        input.by_ref().take(PREAMBLE_LEN as u64).read_to_end(&mut preamble)?;
        let layout = match FORMAT.number_of(&preamble)? {
            version4::NUMBER if preamble.len() == PREAMBLE_LEN => {
                Layout::Chunks(ChunkChecksum::default(), PREAMBLE_LEN as u64)
            }
            _ => Layout::Records(RecordCursor::begin(&FORMAT, &preamble)?),
        };
        Ok(Self { layout, reach })
    }

    /// True if every record has the newest layout; its version may be an older one.
    pub(crate) const fn is_records(&self) -> bool {
        matches!(self.layout, Layout::Records(_))
    }

    /// Bytes before the next record.
    pub(crate) const fn offset(&self) -> u64 {
        match &self.layout {
            Layout::Records(cursor) => cursor.offset(),
            Layout::Chunks(_, offset) => *offset,
        }
    }

    /// Reads the next record that may not be skipped: its part and the version that it had. `body` is overwritten with its body, upgraded to
    /// the part's newest version. `None` where the file ends between two records.
    pub(crate) fn read(
        &mut self,
        input: &mut impl Read,
        body: &mut Vec<u8>,
    ) -> Result<Option<(&'static Part, u16)>, RecordingError> {
        let at = self.offset();
        let (part, version) = match &mut self.layout {
            Layout::Chunks(chain, offset) => match version4::read(input, chain, offset, body)? {
                Some(part) => (part, 1),
                None => return Ok(None),
            },
            Layout::Records(cursor) => loop {
                let Some(head) = cursor.read(input, body)? else { return Ok(None) };
                match PARTS.into_iter().find(|part| part.tag == head.tag) {
                    Some(part) => break (part, head.version),
                    None if head.is_skippable => {}
                    None => {
                        let record::Head { tag, version, offset, .. } = head;
                        return Err(RecordError::UnknownPart { tag, version, offset }.into());
                    }
                }
            },
        };
        let found = Cow::Borrowed(body.as_slice());
        let newest = match self.reach {
            Reach::Previous => part.read(version, found, at)?,
            Reach::All => part.migrate(version, found, at)?,
        };
        if let Cow::Owned(newest) = newest {
            *body = newest;
        }
        Ok(Some((part, version)))
    }
}
