//! Recordings of former versions in the newest one.

use crate::error::RecordingError;
use crate::format::{FORMAT, SNAPSHOT};
use crate::read::{check_end, cut_off};
use crate::source::{Reach, RecordSource};
use crate::write::WriteError;
use record::{END, RecordBuffer};
use std::io::{Read, Write};
use thiserror::Error;
use world::World;

/// Why a recording was not upgraded.
#[derive(Debug, Error)]
pub enum UpgradeError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] RecordingError),
    /// The new one cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Writes the same recording in the newest version of everything in it, and says whether it is any different. Every version from 4 on is
/// read; snapshots as in [`World::upgrade_snapshot`]. Records are copied one by one, and nothing is made of them: whether this build
/// comes to the same states says a replay.
///
/// # Errors
/// [`UpgradeError`]; what was written then is to be thrown away.
pub fn upgrade(input: &mut impl Read, out: &mut impl Write) -> Result<bool, UpgradeError> {
    let mut source = RecordSource::begin(input, Reach::All)?;
    let mut is_newest = source.is_records();
    let mut records = RecordBuffer::new(&FORMAT);
    let mut body = Vec::new();
    loop {
        let offset = source.offset();
        let (part, version) = source.read(input, &mut body)?.ok_or_else(|| cut_off(offset))?;
        is_newest &= version == part.version();
        if part.tag == SNAPSHOT.tag
            && let Some(upgraded) = World::upgrade_snapshot(&body).map_err(RecordingError::from)?
        {
            is_newest = false;
            body = upgraded;
        }
        records.push_deflated(part, &body);
        out.write_all(&records.take_bytes()).map_err(WriteError::from)?;
        if part.tag == END.tag {
            check_end(input, source, &mut body)?;
            out.flush().map_err(WriteError::from)?;
            return Ok(!is_newest);
        }
    }
}
