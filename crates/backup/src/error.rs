//! Failures of backups.

use crate::copier::CopyFailure;
use crate::directory::BackupDirError;
use crate::driver::WorkEnded;
use crate::files::FileFailure;
use crate::verify::VerifyError;
use std::error::Error;
use std::path::PathBuf;
use store::{CutError, StoreError};

/// Failure of a backup, which does not exist then. Earlier ones are as they were.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The directory of backups.
    #[error(transparent)]
    Directory(#[from] BackupDirError),
    /// A file or folder.
    #[error(transparent)]
    File(#[from] FileFailure),
    /// The database.
    #[error("cannot read the database")]
    Store(#[from] StoreError),
    /// The cut of the database.
    #[error("cannot make a cut of the database")]
    Cut(#[source] CutError),
    /// The disk has other bytes than were written.
    #[error("{} was written and reads back otherwise; check the disk", .0.display())]
    ReadBack(PathBuf),
    /// It was ended.
    #[error(transparent)]
    Ended(#[from] WorkEnded),
}

impl From<CopyFailure> for BackupError {
    fn from(why: CopyFailure) -> Self {
        match why {
            CopyFailure::File(why) => Self::File(why),
            CopyFailure::ReadBack(path) => Self::ReadBack(path),
        }
    }
}

impl From<VerifyError> for BackupError {
    fn from(why: VerifyError) -> Self {
        match why {
            VerifyError::Store(why) => Self::Store(why),
            VerifyError::File(why) => Self::File(why),
            VerifyError::Ended(why) => Self::Ended(why),
        }
    }
}

/// An error with its sources.
pub(crate) fn in_full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
