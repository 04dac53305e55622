//! Writing: records one after the other, in memory.

use crate::layout::{Chain, Format, RECORD_HEAD_LEN, RawHead};
use crate::part::{END, Part};
use flate2::{Compression, write::ZlibEncoder};
use serde::Serialize;
use std::io::Write;

/// Records under way. A caller that writes a file empties it from time to time ([`Self::take_bytes`]).
#[derive(Debug)]
pub struct RecordBuffer {
    bytes: Vec<u8>,
    chain: Chain,
}

impl RecordBuffer {
    /// Begins with the format's preamble.
    #[must_use]
    pub fn new(format: &Format) -> Self {
        Self { bytes: format.preamble().to_vec(), chain: Chain::of(format) }
    }

    /// Adds a record of the part's newest version, its body encoded as postcard.
    ///
    /// # Panics
    /// When the value does not encode, or to more than 4 GiB.
    pub fn push(&mut self, part: &Part, value: &(impl Serialize + ?Sized)) {
        let start = self.begin_record();
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes = postcard::to_extend(value, bytes).expect("plain data in memory always encodes");
        self.end_record(start, raw_head(part));
    }

    /// Adds a record with this body.
    ///
    /// # Panics
    /// When it is longer than 4 GiB.
    pub fn push_bytes(&mut self, part: &Part, body: &[u8]) {
        self.write_record(raw_head(part), body);
    }

    /// The same in an earlier version: for readers of layouts that had no records yet.
    ///
    /// # Panics
    /// As [`Self::push_bytes`].
    pub fn push_version(&mut self, part: &Part, version: u16, body: &[u8]) {
        self.write_record(RawHead { version, ..raw_head(part) }, body);
    }

    /// Adds a record with this body, deflated at the fastest level if that makes it shorter.
    ///
    /// # Panics
    /// When it is longer than 4 GiB.
    pub fn push_deflated(&mut self, part: &Part, body: &[u8]) {
        self.put_deflated(raw_head(part), body);
    }

    /// Copies a record as it is, and another body into it.
    pub(crate) fn copy(&mut self, head: RawHead, body: &[u8]) {
        if head.is_deflated {
            self.put_deflated(head, body);
        } else {
            self.write_record(head, body);
        }
    }

    fn put_deflated(&mut self, head: RawHead, body: &[u8]) {
        let start = self.begin_record();
        let mut encoder = ZlibEncoder::new(std::mem::take(&mut self.bytes), Compression::fast());
        self.bytes = encoder
            .write_all(body)
            .and_then(|()| encoder.finish())
            .expect("memory takes whatever is written");
        let is_deflated = self.bytes.len() - start - RECORD_HEAD_LEN < body.len();
        if !is_deflated {
            self.bytes.truncate(start + RECORD_HEAD_LEN);
            self.bytes.extend_from_slice(body);
        }
        self.end_record(start, RawHead { is_deflated, raw: length(body.len()), ..head });
    }

    /// Adds the last record, with the format's own body.
    ///
    /// # Panics
    /// As [`Self::push`].
    pub fn push_end(&mut self, value: &(impl Serialize + ?Sized)) {
        self.push(&END, value);
    }

    /// Adds an empty last record. All bytes that were not taken before.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.push_end(&());
        self.bytes
    }

    /// The bytes written since the last call.
    #[must_use]
    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    fn write_record(&mut self, head: RawHead, body: &[u8]) {
        let start = self.begin_record();
        self.bytes.extend_from_slice(body);
        self.end_record(start, head);
    }

    fn begin_record(&mut self) -> usize {
        let start = self.bytes.len();
        self.bytes.resize(start + RECORD_HEAD_LEN, 0);
        start
    }

    /// Fills in the head, now that the body is there. `raw` counts where the body is deflated.
    fn end_record(&mut self, start: usize, head: RawHead) {
        let (bytes, body) = self.bytes[start..].split_first_chunk_mut().expect("the head was made room for");
        let stored = length(body.len());
        let raw = if head.is_deflated { head.raw } else { stored };
        RawHead { stored, raw, ..head }.write(&mut self.chain, bytes, body);
    }
}

/// Head of a record in the part's newest version.
const fn raw_head(part: &Part) -> RawHead {
    let Part { tag, is_skippable, .. } = *part;
    RawHead { tag, version: part.version(), is_deflated: false, is_skippable, stored: 0, raw: 0 }
}

fn length(n: usize) -> u32 {
    u32::try_from(n).expect("a record is shorter than 4 GiB")
}
