//! Preamble and record heads, byte by byte, and the checksum that runs through all of them.

use crate::error::{RecordError, Unreadable};
use crate::tag::Tag;
use flate2::read::ZlibDecoder;
use std::borrow::Cow;
use std::io::Read;

/// Bytes before the first record.
pub const PREAMBLE_LEN: usize = 8;
/// Bytes of a record before its body.
pub const RECORD_HEAD_LEN: usize = 20;

/// Bytes of a head that its checksum covers.
const CHECKED_LEN: usize = 16;
const DEFLATED: u16 = 1;
const SKIPPABLE: u16 = 2;

/// A durable format: the beginning of its files, and the size limit of its records.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// First four bytes.
    pub magic: [u8; 4],
    /// Number of the layout. It counts on from the versions that the format had before it consisted of records.
    pub number: u16,
    /// The layouts that the format's readers know, in words: for messages.
    pub reads: &'static str,
    /// Name in messages.
    pub name: &'static str,
    /// Maximum size of an inflated body, bytes: the bound on the cost of a small deflated record.
    pub body_bytes_max: u32,
}

impl Format {
    pub(crate) const fn preamble(&self) -> [u8; PREAMBLE_LEN] {
        let [a, b, c, d] = self.magic;
        let [low, high] = self.number.to_le_bytes();
        [a, b, c, d, low, high, 0, 0]
    }

    /// The number of the layout, of bytes that begin with this format's magic.
    ///
    /// # Errors
    /// [`RecordError::OtherFormat`].
    pub fn number_of(&self, bytes: &[u8]) -> Result<u16, RecordError> {
        match bytes.strip_prefix(&self.magic) {
            Some(&[low, high, ..]) => Ok(u16::from_le_bytes([low, high])),
            _ => Err(RecordError::OtherFormat { format: self.name }),
        }
    }

    /// Checks a preamble, and begins the chain of checksums.
    pub(crate) fn check(&self, preamble: &[u8]) -> Result<Chain, RecordError> {
        let found = self.number_of(preamble)?;
        if found != self.number {
            return Err(RecordError::Layout { format: self.name, found, reads: self.reads });
        }
        if *preamble != self.preamble() {
            return Err(RecordError::OtherFormat { format: self.name });
        }
        Ok(Chain::of(self))
    }
}

/// The checksum before the next record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain(u32);

impl Chain {
    pub(crate) fn of(format: &Format) -> Self {
        Self(crc32fast::hash(&format.preamble()))
    }

    fn next(self, checked: &[u8], body: &[u8]) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.0.to_le_bytes());
        hasher.update(checked);
        hasher.update(body);
        Self(hasher.finalize())
    }
}

/// The head before a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawHead {
    pub(crate) tag: Tag,
    pub(crate) version: u16,
    pub(crate) is_deflated: bool,
    pub(crate) is_skippable: bool,
    pub(crate) stored: u32,
    pub(crate) raw: u32,
}

impl RawHead {
    /// Writes it, and its checksum behind it.
    pub(crate) fn write(&self, chain: &mut Chain, head: &mut [u8; RECORD_HEAD_LEN], body: &[u8]) {
        let flags =
            if self.is_deflated { DEFLATED } else { 0 } | if self.is_skippable { SKIPPABLE } else { 0 };
        head[..4].copy_from_slice(&self.tag.0);
        head[4..6].copy_from_slice(&self.version.to_le_bytes());
        head[6..8].copy_from_slice(&flags.to_le_bytes());
        head[8..12].copy_from_slice(&self.stored.to_le_bytes());
        head[12..16].copy_from_slice(&self.raw.to_le_bytes());
        *chain = chain.next(&head[..CHECKED_LEN], body);
        head[16..].copy_from_slice(&chain.0.to_le_bytes());
    }

    /// Bytes of the body behind a head, before anything of that is believed.
    pub(crate) fn stored(head: &[u8; RECORD_HEAD_LEN]) -> u32 {
        u32::from_le_bytes([head[8], head[9], head[10], head[11]])
    }

    /// Checks a head with its body, and advances the chain.
    pub(crate) fn read(
        format: &Format,
        chain: &mut Chain,
        head: &[u8; RECORD_HEAD_LEN],
        body: &[u8],
        offset: u64,
    ) -> Result<Self, RecordError> {
        let tag = Tag([head[0], head[1], head[2], head[3]]);
        *chain = chain.next(&head[..CHECKED_LEN], body);
        // A fuzzer never guesses a checksum, and the code behind it has to be total as well.
        if head[16..] != chain.0.to_le_bytes() && !cfg!(fuzzing) {
            return Err(RecordError::Damaged { tag, offset });
        }
        let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let flags = short(6);
        let head = Self {
            tag,
            version: short(4),
            is_deflated: flags & DEFLATED != 0,
            is_skippable: flags & SKIPPABLE != 0,
            stored: Self::stored(head),
            raw: u32::from_le_bytes([head[12], head[13], head[14], head[15]]),
        };
        let unpackable = |why| Err(RecordError::Unpackable { tag, offset, why: Unreadable(why) });
        if flags & !(DEFLATED | SKIPPABLE) != 0 {
            return unpackable("it has unknown flags");
        }
        if !head.is_deflated && head.raw != head.stored {
            return unpackable("it has two lengths");
        }
        if head.raw > format.body_bytes_max {
            return unpackable("it is too long");
        }
        Ok(head)
    }

    /// The body as it was before it was deflated.
    pub(crate) fn unpack<'a>(&self, body: &'a [u8], offset: u64) -> Result<Cow<'a, [u8]>, RecordError> {
        if !self.is_deflated {
            return Ok(Cow::Borrowed(body));
        }
        let unpackable = |why| RecordError::Unpackable { tag: self.tag, offset, why: Unreadable(why) };
        let mut raw = Vec::new();
        // One byte more than there should be is enough to notice it.
        ZlibDecoder::new(body)
            .take(u64::from(self.raw) + 1)
            .read_to_end(&mut raw)
            .map_err(|_| unpackable("it does not inflate"))?;
        if raw.len() != self.raw as usize {
            return Err(unpackable("it inflates to another length"));
        }
        Ok(Cow::Owned(raw))
    }
}
