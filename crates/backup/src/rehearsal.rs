//! The outcome of a rehearsal, as it lies beside the backup.

use crate::files::{FileFailure, read_bounded, write_whole};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Bytes of an outcome.
const BYTES_MAX: u64 = 1_024 * 1_024;

/// Outcome of a rehearsal: the backup was restored, verified, and the worlds were started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rehearsal {
    /// Time of its end, seconds since 1970.
    pub at_s: i64,
    /// Tables and contents that differed from the backup's manifest.
    pub differences: u64,
    /// Names of the worlds that ran for a second; none after a failure.
    pub worlds: Vec<String>,
    /// Assets in the restored database.
    pub assets: u64,
    /// Items in inventories and prims.
    pub items: u64,
    /// Prims in regions, and in linksets that are held or worn.
    pub objects: u64,
    /// Faults of rows and contents that are damaged.
    pub damaged: u64,
    /// Things that are missing.
    pub missing: u64,
    /// Reason for which the worlds did not start, or stopped otherwise than they should.
    pub failure: Option<String>,
}

impl Rehearsal {
    /// True if the backup can be restored as it was made, and a server runs on it.
    #[must_use]
    pub const fn has_succeeded(&self) -> bool {
        self.differences == 0 && self.failure.is_none()
    }

    /// True if the backup is not any more as it was made.
    #[must_use]
    pub const fn is_damaged(&self) -> bool {
        self.differences > 0
    }

    /// None if there is none, or it cannot be read: another rehearsal makes one.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&read_bounded(path, BYTES_MAX).ok()?).ok()
    }

    pub(crate) fn write(&self, path: &Path) -> Result<(), FileFailure> {
        let mut text = serde_json::to_string(self).expect("an outcome becomes JSON");
        text.push('\n');
        write_whole(path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_kept_and_a_damaged_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rehearsal.json");
        assert_eq!(Rehearsal::read(&path), None);
        let rehearsal = Rehearsal { at_s: 7, worlds: vec!["Harbour".into()], ..Rehearsal::default() };
        assert!(rehearsal.has_succeeded() && !rehearsal.is_damaged());
        rehearsal.write(&path).unwrap();
        assert_eq!(Rehearsal::read(&path), Some(rehearsal.clone()));
        std::fs::write(&path, b"{").unwrap();
        assert_eq!(Rehearsal::read(&path), None);
        let failed = Rehearsal { failure: Some("no memory".into()), ..rehearsal.clone() };
        assert!(!failed.has_succeeded() && !failed.is_damaged(), "the backup is as it was");
        let differs = Rehearsal { differences: 1, ..rehearsal };
        assert!(!differs.has_succeeded() && differs.is_damaged());
    }
}
