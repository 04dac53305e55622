//! A world as it is saved: its whole state as an *image*, and the progress since then as a *journal*.
//!
//! Both are files of records (`docs/internals/formats.md`): an image has the deflated snapshot, a journal [`World::progress`]. Bytes of
//! the previous build are readable too; older ones after [`upgrade_image`] and [`upgrade_journal`]. Not here: where they are kept, and
//! which of two is the later one.

use crate::{
    progress::{PROGRESS, ProgressError},
    snapshot::RestoreError,
    world::{World, WorldConfig},
};
use record::{Format, Part, RecordBuffer, RecordError, Records};
use thiserror::Error;

mod version1;

/// Version of the layout that [`encode_image`] writes.
pub const IMAGE_VERSION: u16 = 2;
/// Version of the layout that [`encode_journal`] writes.
pub const JOURNAL_VERSION: u16 = 2;

/// Maximum size of a snapshot, saved or read, bytes: instances stay far below.
const SNAPSHOT_BYTES_MAX: u32 = 64 << 20;

const IMAGE: Format = Format {
    magic: *b"THRI",
    number: IMAGE_VERSION,
    reads: "1 and 2",
    name: "image",
    body_bytes_max: SNAPSHOT_BYTES_MAX,
};
const JOURNAL: Format = Format {
    magic: *b"THRJ",
    number: JOURNAL_VERSION,
    reads: "1 and 2",
    name: "journal",
    body_bytes_max: 1 << 20,
};

/// A whole snapshot, deflated. Its parts have versions of their own.
const SNAPSHOT: Part = Part::new(*b"WRLD", "world");

/// Reasons why a saved world cannot be restored.
#[derive(Debug, Error)]
pub enum SavedError {
    /// The bytes are not read.
    #[error(transparent)]
    Bytes(#[from] RecordError),
    /// The snapshot makes none.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The journal does not belong to the world.
    #[error(transparent)]
    Progress(#[from] ProgressError),
}

impl SavedError {
    /// True if the bytes are damaged. Bytes of another build or for another configuration are not.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        match self {
            Self::Bytes(why) | Self::Restore(RestoreError::Bytes(why)) => why.is_damage(),
            Self::Restore(why) => matches!(why, RestoreError::Inconsistent),
            Self::Progress(why) => matches!(why, ProgressError::Undecodable(_) | ProgressError::Inconsistent),
        }
    }
}

/// [`World::snapshot`] as an image.
#[must_use]
pub fn encode_image(snapshot: &[u8]) -> Vec<u8> {
    let mut buffer = RecordBuffer::new(&IMAGE);
    buffer.push_deflated(&SNAPSHOT, snapshot);
    buffer.finish()
}

/// [`World::progress`] as a journal.
#[must_use]
pub fn encode_journal(progress: &[u8]) -> Vec<u8> {
    let mut buffer = RecordBuffer::new(&JOURNAL);
    buffer.push_bytes(&PROGRESS, progress);
    buffer.finish()
}

/// A world that continues from an image, or begins without one. It has no visitors, since their circuits are gone.
///
/// # Errors
/// [`SavedError`].
///
/// # Panics
/// As [`World::new`].
pub fn restore(config: WorldConfig, image: Option<&[u8]>) -> Result<World, SavedError> {
    match image {
        Some(image) => Ok(World::restore_without_visitors(config, &snapshot_of(image)?)?),
        None => Ok(World::new(config)),
    }
}

/// Applies a journal to a world that was restored from the image before it. False if the journal belongs to other missions; the world's
/// own restart then.
///
/// # Errors
/// [`SavedError`]; then nothing has changed.
pub fn apply_journal(world: &mut World, journal: &[u8]) -> Result<bool, SavedError> {
    match world.take_up_progress(&progress_of(journal)?) {
        Ok(()) => Ok(true),
        Err(ProgressError::OtherMissions { .. }) => Ok(false),
        Err(why) => Err(why.into()),
    }
}

/// The same image in the newest version of everything in it; `None` if it is current. Every version from 1 on is readable, for any
/// ground. Its snapshot is of version 6 or later (as in [`World::upgrade_snapshot`]).
///
/// # Errors
/// [`RecordError`].
pub fn upgrade_image(image: &[u8]) -> Result<Option<Vec<u8>>, RecordError> {
    let is_version1 = version1::is_it(image);
    let container = if is_version1 { None } else { Records::migrate(&IMAGE, image, &[&SNAPSHOT])? };
    let snapshot = snapshot_of(container.as_deref().unwrap_or(image))?;
    let upgraded = World::upgrade_snapshot(&snapshot)?;
    if upgraded.is_none() && !is_version1 {
        return Ok(container);
    }
    Ok(Some(encode_image(upgraded.as_deref().unwrap_or(&snapshot))))
}

/// The same journal in the newest version of everything in it; `None` if it is current. Every version from 1 on is readable, for any
/// ground.
///
/// # Errors
/// [`RecordError`].
pub fn upgrade_journal(journal: &[u8]) -> Result<Option<Vec<u8>>, RecordError> {
    if !version1::is_it(journal) {
        return Records::migrate(&JOURNAL, journal, &[&PROGRESS]);
    }
    let records = version1::journal_to_records(journal)?;
    let upgraded = Records::migrate(&JOURNAL, &records, &[&PROGRESS])?;
    Ok(Some(upgraded.unwrap_or(records)))
}

fn snapshot_of(image: &[u8]) -> Result<Vec<u8>, RecordError> {
    if version1::is_it(image) {
        return version1::snapshot_of(image);
    }
    let records = Records::parse(&IMAGE, image, &[&SNAPSHOT])?;
    Ok(records.need(&SNAPSHOT)?.read(&SNAPSHOT)?.into_owned())
}

fn progress_of(journal: &[u8]) -> Result<Vec<u8>, RecordError> {
    let read = |journal: &[u8]| {
        let records = Records::parse(&JOURNAL, journal, &[&PROGRESS])?;
        Ok(records.need(&PROGRESS)?.read(&PROGRESS)?.into_owned())
    };
    if version1::is_it(journal) { read(&version1::journal_to_records(journal)?) } else { read(journal) }
}

#[cfg(test)]
mod tests;
