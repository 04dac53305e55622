//! Recordings of version 4, the last without records: they are read and not written.
//!
//! ```text
//! "THRR" | 4 u32 | chunk | chunk | … | last chunk
//!
//! chunk:  kind u8 | 0 u8 ×3 | stored u32 | raw u32 | checksum u64 | body       20 bytes, then `stored` bytes
//! ```
//!
//! A checksum is the first 8 bytes of BLAKE3 over the checksum before it (8 zero bytes for the first chunk), the 12 bytes before it,
//! and the body. A body is deflated (zlib) unless `stored` and `raw` are equal. Bodies are version 1 of the part of that kind.

use crate::error::RecordingError;
use crate::format;
use flate2::read::ZlibDecoder;
use record::{END, Part, RecordError, Tag};
use std::io::Read;

/// The version in the preamble.
pub(crate) const NUMBER: u16 = 4;

const HEADER_LEN: usize = 20;
const CHECKED_LEN: usize = 12;

/// The part of which a kind of chunk was.
fn part(kind: u8) -> Option<&'static Part> {
    Some(match kind {
        b'A' => &format::ABOUT,
        b'G' => &format::GROUND,
        b'O' => &format::OBJECTS,
        b'S' => &format::SNAPSHOT,
        b'T' => &format::STEPS,
        b'E' => &END,
        _ => return None,
    })
}

/// Checksum of the chunk before, which each chunk's own covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkChecksum([u8; 8]);

impl ChunkChecksum {
    fn next(self, checked: &[u8], body: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0).update(checked).update(body);
        let mut sum = [0; 8];
        sum.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        Self(sum)
    }
}

/// Reads the next chunk into `raw`. `None` where the file ends between two of them.
pub(crate) fn read(
    input: &mut impl Read,
    chain: &mut ChunkChecksum,
    offset: &mut u64,
    raw: &mut Vec<u8>,
) -> Result<Option<&'static Part>, RecordingError> {
    let mut header = Vec::with_capacity(HEADER_LEN);
    input.by_ref().take(HEADER_LEN as u64).read_to_end(&mut header)?;
    if header.is_empty() {
        return Ok(None);
    }
    let Ok(header) = <[u8; HEADER_LEN]>::try_from(header.as_slice()) else {
        return Err(cut_off(*offset));
    };
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (stored, raw_len) = (number(4), number(8));
    // Read in pieces: a length that lies costs no more memory than the file has bytes.
    let mut body = Vec::new();
    input.by_ref().take(stored.into()).read_to_end(&mut body)?;
    if body.len() != stored as usize {
        return Err(cut_off(*offset));
    }
    *chain = chain.next(&header[..CHECKED_LEN], &body);
    // A fuzzer never guesses a checksum, and the code behind it has to hold as well.
    if header[CHECKED_LEN..] != chain.0 && !cfg!(fuzzing) {
        let tag = Tag([header[0], b' ', b' ', b' ']);
        return Err(RecordError::Damaged { tag, offset: *offset }.into());
    }
    let part = part(header[0]).ok_or(RecordingError::Undecodable("a chunk of no known kind"))?;
    if raw_len > format::FORMAT.body_bytes_max {
        return Err(RecordingError::Undecodable("a chunk that is too long"));
    }
    *offset += HEADER_LEN as u64 + u64::from(stored);
    raw.clear();
    if stored == raw_len {
        *raw = body;
        return Ok(Some(part));
    }
    ZlibDecoder::new(body.as_slice())
        .take(u64::from(raw_len) + 1)
        .read_to_end(raw)
        .map_err(|_| RecordingError::Undecodable("a chunk that does not inflate"))?;
    if raw.len() != raw_len as usize {
        return Err(RecordingError::Undecodable("a chunk of another length than it says"));
    }
    Ok(Some(part))
}

const fn cut_off(offset: u64) -> RecordingError {
    RecordingError::Bytes(RecordError::CutOff { format: format::FORMAT.name, offset })
}
