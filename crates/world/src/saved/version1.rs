//! Images and journals of version 1, the last without records. Their checksums are those of the store.
//!
//! ```text
//! image    1 u16 | length u32 | zlib of the snapshot, `length` bytes                 integers little-endian
//! journal  1 u16 | 1 u8 (the form of what follows) | progress
//! ```

use super::{IMAGE, JOURNAL, SNAPSHOT, SNAPSHOT_BYTES_MAX};
use crate::progress::PROGRESS;
use flate2::read::ZlibDecoder;
use record::{RecordBuffer, RecordError, Unreadable};
use std::io::Read;

const NUMBER: u16 = 1;
/// Of the only progress that journals of version 1 had.
const FORM: u8 = 1;

/// True if the bytes have this version. Records begin with a magic number instead.
pub(super) fn is_it(bytes: &[u8]) -> bool {
    bytes.starts_with(&NUMBER.to_le_bytes())
}

/// The snapshot in an image.
pub(super) fn snapshot_of(image: &[u8]) -> Result<Vec<u8>, RecordError> {
    let undecodable = |why| RecordError::Undecodable { part: SNAPSHOT.name, offset: 0, why: Unreadable(why) };
    let cut_off = || RecordError::CutOff { format: IMAGE.name, offset: 0 };
    let (_, rest) = image.split_first_chunk::<2>().ok_or_else(cut_off)?;
    let (length, deflated) = rest.split_first_chunk().ok_or_else(cut_off)?;
    let length = u32::from_le_bytes(*length);
    if length > SNAPSHOT_BYTES_MAX {
        return Err(undecodable("it is too long"));
    }
    let mut snapshot = Vec::new();
    // One byte more than there should be is enough to notice it.
    let read = ZlibDecoder::new(deflated).take(u64::from(length) + 1).read_to_end(&mut snapshot);
    match read {
        Ok(n) if n == length as usize => Ok(snapshot),
        Ok(_) => Err(undecodable("it inflates to another length")),
        Err(_) => Err(undecodable("it does not inflate")),
    }
}

/// A journal as records of version 1.
pub(super) fn journal_to_records(journal: &[u8]) -> Result<Vec<u8>, RecordError> {
    let (_, rest) =
        journal.split_first_chunk::<2>().ok_or(RecordError::CutOff { format: JOURNAL.name, offset: 0 })?;
    let undecodable = |why| RecordError::Undecodable { part: PROGRESS.name, offset: 2, why: Unreadable(why) };
    match rest.split_first() {
        Some((&FORM, progress)) => {
            let mut buffer = RecordBuffer::new(&JOURNAL);
            buffer.push_version(&PROGRESS, 1, progress);
            Ok(buffer.finish())
        }
        Some(_) => Err(undecodable("it has another form")),
        None => Err(undecodable("it ends too early")),
    }
}
