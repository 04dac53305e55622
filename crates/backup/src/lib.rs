//! Keeps stored data from being lost: looks through it, writes backups, and proves that they can be restored.
//!
//! - [`verify()`] looks through a database and the files of its assets, and names each fault with its owner.
//! - [`back_up`] writes one consistent cut of a database, and the files of all assets that it names, into a [`BackupDir`], while a server runs.
//! - [`restore()`] makes a data directory of a backup; [`rehearse()`] does so for trial, starts the worlds, and records the date.
//! - [`BackupSchedule`] says when backups and rehearsals are due, and since when they are late.
//!
//! Everything works on the calling thread and reports to a [`WorkDriver`], which owns the clock, sets the pace and may end the work. No failure and no end of
//! the process leaves an earlier backup other than it was.
//!
//! ```text
//! DIR/throng-backups                          the directory is one of backups
//! DIR/lock                                    held by the program that writes
//! DIR/assets/ab/ab01…                         bytes of assets by their hash, for all backups together
//! DIR/backups/20261224T180000Z/database.sqlite   the cut
//!                              contents.list     hashes of the assets that it names
//!                              manifest.json     sums and figures of both; with it the backup exists
//!                              rehearsal.json    outcome of its last rehearsal
//! ```

mod backup;
mod content_list;
mod copier;
mod date;
mod directory;
mod driver;
mod error;
mod files;
mod manifest;
mod pace;
mod prune;
mod rehearsal;
mod rehearse;
mod restore;
mod schedule;
mod verify;

pub use backup::{BackupReport, BackupSource, back_up};
pub use content_list::ContentSum;
pub use copier::CopyFailure;
pub use date::date;
pub use directory::{BackupDir, BackupDirError, BackupEntry, list_backups};
pub use driver::{WorkDriver, WorkEnded};
pub use error::BackupError;
pub use files::{FileFailure, FileSum};
pub use manifest::{Manifest, ManifestError, RegionSum, TableSum};
pub use pace::BytePace;
pub use rehearsal::Rehearsal;
pub use rehearse::{RehearsalError, RehearsalReport, StartWorlds, rehearse};
pub use restore::{FilesMode, RestoreError, RestoreOrder, RestoreReport, restore};
pub use schedule::{BackupSchedule, BackupTimes, ScheduledWork};
pub use verify::{
    FaultList, FlawKind, RegionToVerify, StoredFlaw, StoredPart, Verification, VerifyError, VerifyOrder,
    verify,
};

/// Decoders and encoders of the files, for fuzz targets.
#[cfg(fuzzing)]
pub mod fuzzing {
    use crate::content_list::{ENTRY, ListedContent};
    use crate::{Manifest, ManifestError};

    /// Reads a manifest.
    ///
    /// # Errors
    /// [`ManifestError`].
    pub fn decode_manifest(bytes: &[u8]) -> Result<Manifest, ManifestError> {
        Manifest::decode(bytes)
    }

    /// A manifest as it is written.
    #[must_use]
    pub fn encode_manifest(manifest: &Manifest) -> Vec<u8> {
        manifest.encode()
    }

    /// An entry of a list of contents as it is written again.
    #[must_use]
    pub fn entry_again(entry: &[u8; ENTRY]) -> [u8; ENTRY] {
        ListedContent::decode(entry).encode()
    }
}
