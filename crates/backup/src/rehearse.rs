//! A backup restored for trial: verified, started, thrown away, and its outcome kept.

use crate::copier::SET_ASIDE;
use crate::date::date;
use crate::directory::{BackupDir, BackupDirError};
use crate::driver::{WorkDriver, WorkEnded};
use crate::error::in_full;
use crate::files::{FileFailure, empty_dir, failed, has_entries, remove_dir};
use crate::rehearsal::Rehearsal;
use crate::restore::{FilesMode, RestoreError, RestoreOrder, RestoreReport, choose, restore_entry};
use crate::verify::FaultList;
use assets::{AssetHash, content_path};
use data_dir::DataDirError;
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::Path;

/// Starts a server without clients on a data directory for a second; the names of its worlds, or the reason for which it did not do that.
///
/// # Errors
/// [`WorkEnded`] if the driver has ended the work.
pub type StartWorlds<'a> =
    dyn FnMut(&Path, &mut dyn WorkDriver) -> Result<Result<Vec<String>, String>, WorkEnded> + 'a;

/// Failure of a rehearsal, which says nothing about the backup.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// The directory of backups.
    #[error(transparent)]
    Directory(#[from] BackupDirError),
    /// The backup, or the scratch directory.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// A file or folder.
    #[error(transparent)]
    File(#[from] FileFailure),
    /// It was ended.
    #[error(transparent)]
    Ended(#[from] WorkEnded),
}

/// A finished rehearsal, whose outcome is kept beside the backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RehearsalReport {
    /// Name of the backup.
    pub name: String,
    /// Time of its cut, seconds since 1970.
    pub cut_s: i64,
    /// The outcome.
    pub outcome: Rehearsal,
    /// Contents that are damaged or missing.
    pub faults: FaultList,
}

impl RehearsalReport {
    /// For programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let Self { name, cut_s, outcome, faults } = self;
        json!({
            "backup": name,
            "cut_at": date(*cut_s),
            "assets": outcome.assets,
            "items": outcome.items,
            "objects": outcome.objects,
            "damaged": outcome.damaged,
            "missing": outcome.missing,
            "differences": outcome.differences,
            "verified_at": date(outcome.at_s),
            "worlds": outcome.worlds,
            "failure": outcome.failure,
            "faults": faults.to_json(),
        })
    }

    /// In a sentence.
    #[must_use]
    pub fn summary(&self) -> String {
        let Rehearsal { differences, worlds, failure, .. } = &self.outcome;
        let differences = match differences {
            0 => "is as it was made".to_owned(),
            n => format!("differs from its manifest in {n} places"),
        };
        match failure {
            Some(why) => format!("backup {} {differences}; {why}", self.name),
            None => format!("backup {} {differences}; {} worlds ran", self.name, worlds.len()),
        }
    }
}

/// The directory that a backup is restored into, and all of which is removed at the end: nothing of others may be in it.
struct ScratchDir<'a> {
    data: &'a Path,
    /// It was there before, and stays there.
    is_kept: bool,
}

impl<'a> ScratchDir<'a> {
    /// A directory that is missing or empty. Also one that a restore has left half is refused: it may be wanted.
    fn new(data: &'a Path) -> Result<Self, RehearsalError> {
        match has_entries(data)? {
            Some(true) => Err(RestoreError::from(DataDirError::NotEmpty(data.to_owned())).into()),
            found => Ok(Self { data, is_kept: found.is_some() }),
        }
    }

    /// Removes what was restored.
    fn remove(self) -> Result<(), FileFailure> {
        if self.is_kept { empty_dir(self.data) } else { remove_dir(self.data) }
    }
}

/// Restores a backup into a scratch directory, compares everything with its sums, has the worlds started, and keeps the outcome. Contents that are found
/// damaged are set aside, so that the next backup copies them anew. The scratch directory is `scratch`, which has to be missing or empty and is so again at the
/// end, or one in the directory of backups, which is removed. After an error the copy stays.
///
/// # Errors
/// [`RehearsalError`]; before anything else, if `scratch` is not empty.
pub fn rehearse(
    dir: &BackupDir,
    name: Option<&str>,
    scratch: Option<&Path>,
    start_worlds: &mut StartWorlds<'_>,
    driver: &mut dyn WorkDriver,
) -> Result<RehearsalReport, RehearsalError> {
    let own = dir.scratch();
    // Of an interrupted one.
    remove_dir(&own)?;
    let scratch = ScratchDir::new(scratch.unwrap_or(&own))?;
    let (chosen, manifest) = choose(dir.path(), dir.list()?, name)?;
    let data = scratch.data;
    let order = RestoreOrder {
        from: dir.path(),
        name: Some(&chosen.name),
        data,
        assets: Path::new("assets"),
        mode: FilesMode::Link,
    };
    let cut_s = manifest.cut_s;
    let (outcome, faults, is_restored) = match restore_entry(&order, &chosen, manifest, driver) {
        Ok((report, damaged)) => {
            set_aside(dir, &damaged)?;
            let started = start_worlds(data, driver)?;
            let (outcome, faults) = outcome_of(report, started, driver.unix_s());
            (outcome, faults, true)
        }
        Err(RestoreError::Ended(why)) => return Err(why.into()),
        // It is the backup that failed, which is the outcome. Nothing was restored then.
        Err(why) if why.is_damage() => {
            let outcome = Rehearsal {
                at_s: driver.unix_s(),
                differences: 1,
                damaged: 1,
                failure: Some(in_full(&why)),
                ..Rehearsal::default()
            };
            (outcome, FaultList::default(), false)
        }
        Err(why) => return Err(why.into()),
    };
    dir.keep_rehearsal(&chosen.name, &outcome)?;
    if is_restored {
        scratch.remove()?;
    }
    Ok(RehearsalReport { name: chosen.name, cut_s, outcome, faults })
}

fn outcome_of(
    report: RestoreReport,
    started: Result<Vec<String>, String>,
    at_s: i64,
) -> (Rehearsal, FaultList) {
    let RestoreReport { manifest, differences, faults, .. } = report;
    let (worlds, failure) = match started {
        Ok(worlds) => (worlds, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let outcome = Rehearsal {
        at_s,
        differences,
        worlds,
        assets: manifest.assets,
        items: manifest.items,
        objects: manifest.objects,
        damaged: faults.damaged(),
        missing: faults.missing(),
        failure,
    };
    (outcome, faults)
}

/// Takes damaged files away from under their names: the next backup finds that they are missing, and copies them again.
fn set_aside(dir: &BackupDir, damaged: &[AssetHash]) -> Result<(), FileFailure> {
    for hash in damaged {
        let path = content_path(dir.assets(), *hash);
        match fs::rename(&path, path.with_extension(SET_ASIDE)) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            moved => moved.map_err(failed("rename", &path))?,
        }
    }
    Ok(())
}
