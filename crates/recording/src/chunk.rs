//! Chunks: compressed, checksummed pieces of a file; drawn in [`crate::format`].

use crate::read::RecordingError;
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use std::io::{self, Read, Write};

/// Bytes of a chunk when it is inflated. A snapshot of 10,000 dressed avatars is 13 MB
/// (`cargo bench -p world --bench snapshot`).
pub(crate) const RAW_MAX: u32 = 256 << 20;

const HEADER_LEN: usize = 20;
const CHECKED_LEN: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    About = b'A',
    Ground = b'G',
    Objects = b'O',
    Snapshot = b'S',
    Steps = b'T',
    End = b'E',
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        [Self::About, Self::Ground, Self::Objects, Self::Snapshot, Self::Steps, Self::End]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// Checksum of the chunk before, which each chunk's own covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chain([u8; 8]);

impl Chain {
    fn next(self, checked: &[u8], body: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0).update(checked).update(body);
        let mut sum = [0; 8];
        sum.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        Self(sum)
    }
}

/// Writes one chunk.
pub(crate) fn write(out: &mut impl Write, chain: &mut Chain, kind: Kind, raw: &[u8]) -> io::Result<u64> {
    // The fastest level: it runs beside a loaded server, and repeated commands shrink even so.
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::fast());
    deflated.write_all(raw)?;
    let deflated = deflated.finish()?;
    let body = if deflated.len() < raw.len() { deflated.as_slice() } else { raw };
    let length =
        |bytes: &[u8]| u32::try_from(bytes.len()).map_err(|_| io::Error::other("a chunk of more than 4 GiB"));
    let mut header = [0; HEADER_LEN];
    header[0] = kind as u8;
    header[4..8].copy_from_slice(&length(body)?.to_le_bytes());
    header[8..12].copy_from_slice(&length(raw)?.to_le_bytes());
    *chain = chain.next(&header[..CHECKED_LEN], body);
    header[CHECKED_LEN..].copy_from_slice(&chain.0);
    out.write_all(&header)?;
    out.write_all(body)?;
    Ok((HEADER_LEN + body.len()) as u64)
}

/// Reads the next chunk into `raw`. `None` where the file ends between two of them.
pub(crate) fn read(
    input: &mut impl Read,
    chain: &mut Chain,
    raw: &mut Vec<u8>,
) -> Result<Option<Kind>, RecordingError> {
    let mut header = Vec::with_capacity(HEADER_LEN);
    input.by_ref().take(HEADER_LEN as u64).read_to_end(&mut header)?;
    if header.is_empty() {
        return Ok(None);
    }
    let Ok(header) = <[u8; HEADER_LEN]>::try_from(header.as_slice()) else {
        return Err(RecordingError::CutOff);
    };
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (stored, raw_len) = (number(4), number(8));
    // Read in pieces: a length that lies costs no more memory than the file has bytes.
    let mut body = Vec::new();
    input.by_ref().take(stored.into()).read_to_end(&mut body)?;
    if body.len() != stored as usize {
        return Err(RecordingError::CutOff);
    }
    *chain = chain.next(&header[..CHECKED_LEN], &body);
    // A fuzzer never guesses a checksum, and what lies behind it has to hold as well.
    if header[CHECKED_LEN..] != chain.0 && !cfg!(fuzzing) {
        return Err(RecordingError::Damaged);
    }
    let kind = Kind::from_byte(header[0]).ok_or(RecordingError::Undecodable("a chunk of no known kind"))?;
    if raw_len > RAW_MAX {
        return Err(RecordingError::Undecodable("a chunk that is too long"));
    }
    raw.clear();
    if stored == raw_len {
        *raw = body;
        return Ok(Some(kind));
    }
    ZlibDecoder::new(body.as_slice())
        .take(u64::from(raw_len) + 1)
        .read_to_end(raw)
        .map_err(|_| RecordingError::Undecodable("a chunk that does not inflate"))?;
    if raw.len() != raw_len as usize {
        return Err(RecordingError::Undecodable("a chunk of another length than it says"));
    }
    Ok(Some(kind))
}
