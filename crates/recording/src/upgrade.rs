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

/// Reasons for which a recording was not upgraded.
#[derive(Debug, Error)]
pub enum UpgradeError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] RecordingError),
    /// The new one cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Writes the same recording in the newest version of each part, and returns whether it differs. Every version from 4 on is read;
/// snapshots as in [`World::upgrade_snapshot`]. Records are copied one by one without making a world of them; only a replay shows that
/// this build reaches the same states.
///
/// # Errors
/// [`UpgradeError`]; discard the output then.
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
