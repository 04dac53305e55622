//! The work of jobs.

use super::stored_data::DataSource;
use backup::{
    BackupDir, BackupError, RehearsalError, VerifyError, WorkDriver, WorkEnded, back_up, rehearse, verify,
};
use jobs::{JobEnd, JobKind, JobState};
use serde_json::Value;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the figures of an outcome that are kept: those of a look through with many faults leave the last of these out.
const RESULT_BYTES_MAX: usize = 256 * 1_024;

/// Settings of backups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupSettings {
    /// Directory of the backups; empty: none is configured.
    pub directory: PathBuf,
    /// Hours between two backups; 0: none without an order.
    pub every_h: u32,
    /// Hours between two rehearsals, likewise.
    pub rehearse_every_h: u32,
    /// Backups that are kept.
    pub keep: u32,
    /// Bytes per second that backups, rehearsals and looks through read.
    pub bytes_per_s: u64,
}

/// Objects of the server's own work.
pub(super) struct OwnWork {
    pub(super) backup: BackupSettings,
    pub(super) source: Box<dyn DataSource>,
}

/// Work of another part of the server.
pub trait JobWork: fmt::Debug + Send + Sync {
    /// Kind of the job.
    fn kind(&self) -> JobKind;

    /// Object of the work, in words.
    fn subject(&self) -> String;

    /// Does the work on the calling thread.
    fn carry_out(&self, driver: &mut dyn WorkDriver) -> JobEnd;
}

/// Work that was ordered.
#[derive(Clone, Debug)]
pub enum JobOrder {
    /// A backup into a directory.
    Backup {
        /// The whole path.
        directory: PathBuf,
    },
    /// A rehearsal of a backup in the configured directory, by default of the newest.
    Rehearsal {
        /// Its name.
        backup: Option<String>,
    },
    /// A look through all that is stored.
    Verification {
        /// Also through the bytes of all files.
        is_deep: bool,
    },
    /// Work of another part.
    Other(Arc<dyn JobWork>),
}

impl JobOrder {
    pub(super) fn kind(&self) -> JobKind {
        match self {
            Self::Backup { .. } => JobKind::Backup,
            Self::Rehearsal { .. } => JobKind::Rehearsal,
            Self::Verification { .. } => JobKind::Verification,
            Self::Other(work) => work.kind(),
        }
    }

    /// Object of the work, in words.
    pub(super) fn subject(&self) -> String {
        match self {
            Self::Backup { directory } => directory.display().to_string(),
            Self::Rehearsal { backup } => backup.clone().unwrap_or_else(|| "the newest backup".to_owned()),
            Self::Verification { is_deep: true } => "rows and files, with their bytes".to_owned(),
            Self::Verification { is_deep: false } => "rows and files".to_owned(),
            Self::Other(work) => work.subject(),
        }
    }

    /// Does the work on the calling thread.
    pub(super) fn carry_out(&self, own: &OwnWork, driver: &mut dyn WorkDriver) -> JobEnd {
        let now_s = u64::try_from(driver.unix_s()).unwrap_or_default();
        let done = match self {
            Self::Backup { directory } => make_backup(own, now_s, directory, driver),
            Self::Rehearsal { backup } => make_rehearsal(own, backup.as_deref(), driver),
            Self::Verification { is_deep } => look_through(own, now_s, *is_deep, driver),
            Self::Other(work) => return work.carry_out(driver),
        };
        match done {
            Ok((outcome, result)) => {
                let result = Some(bounded(result).to_string().into());
                JobEnd { state: JobState::Done, outcome, result }
            }
            Err(WorkFailure::Ended) => {
                let outcome = "it was cancelled before its end".to_owned();
                JobEnd { state: JobState::Cancelled, outcome, result: None }
            }
            Err(WorkFailure::Failed(outcome)) => JobEnd { state: JobState::Failed, outcome, result: None },
        }
    }
}

/// Reason for which work has no result.
enum WorkFailure {
    Ended,
    Failed(String),
}

impl From<WorkEnded> for WorkFailure {
    fn from(_: WorkEnded) -> Self {
        Self::Ended
    }
}

impl From<BackupError> for WorkFailure {
    fn from(why: BackupError) -> Self {
        if matches!(why, BackupError::Ended(_)) { Self::Ended } else { Self::Failed(in_full(&why)) }
    }
}

impl From<RehearsalError> for WorkFailure {
    fn from(why: RehearsalError) -> Self {
        if matches!(why, RehearsalError::Ended(_)) { Self::Ended } else { Self::Failed(in_full(&why)) }
    }
}

impl From<VerifyError> for WorkFailure {
    fn from(why: VerifyError) -> Self {
        if matches!(why, VerifyError::Ended(_)) { Self::Ended } else { Self::Failed(in_full(&why)) }
    }
}

/// An outcome in a sentence, and its figures.
type Done = Result<(String, Value), WorkFailure>;

fn make_backup(own: &OwnWork, now_s: u64, directory: &Path, driver: &mut dyn WorkDriver) -> Done {
    let dir = open(own, directory)?;
    let data = own.source.stored_data(now_s);
    let report = back_up(&dir, &data.to_back_up(), own.backup.keep, driver)?;
    for fault in &report.manifest.faults {
        tracing::error!(backup = report.manifest.name, "found while backing up: {fault}");
    }
    if let Some(why) = &report.unswept {
        tracing::warn!(backup = report.manifest.name, "old backups were not cleared away: {why}");
    }
    Ok((report.summary(), report.to_json()))
}

fn make_rehearsal(own: &OwnWork, name: Option<&str>, driver: &mut dyn WorkDriver) -> Done {
    let dir = open(own, &own.backup.directory)?;
    let mut start = |data: &Path, driver: &mut dyn WorkDriver| own.source.start_worlds(data, driver);
    let report = rehearse(&dir, name, None, &mut start, driver)?;
    for fault in report.faults.named() {
        tracing::error!(backup = report.name, "found by a rehearsal: {fault}");
    }
    if !report.outcome.has_succeeded() {
        let failure = report.outcome.failure.as_deref().unwrap_or("it differs from its manifest");
        tracing::error!(backup = report.name, failure, "the rehearsal of a backup has failed");
        return Err(WorkFailure::Failed(report.summary()));
    }
    Ok((report.summary(), report.to_json()))
}

fn look_through(own: &OwnWork, now_s: u64, is_deep: bool, driver: &mut dyn WorkDriver) -> Done {
    let data = own.source.stored_data(now_s);
    let found = verify(&data.to_verify(is_deep), driver)?;
    for fault in found.faults.named() {
        tracing::error!("found by a look through the stored data: {fault}");
    }
    Ok((found.summary(), found.to_json()))
}

fn open(own: &OwnWork, directory: &Path) -> Result<BackupDir, WorkFailure> {
    BackupDir::open(directory, &own.source.holder()).map_err(|why| BackupError::from(why).into())
}

/// Figures of which the last faults are left out when they are too long.
fn bounded(mut result: Value) -> Value {
    while result.to_string().len() > RESULT_BYTES_MAX {
        let faults = result.get_mut("faults").and_then(Value::as_array_mut);
        let Some(faults) = faults.filter(|faults| !faults.is_empty()) else { break };
        faults.truncate(faults.len() / 2);
    }
    result
}

/// An error with its sources.
pub(super) fn in_full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn figures_are_cut_at_their_faults() {
        let short = json!({ "assets": 1, "faults": ["a", "b"] });
        assert_eq!(bounded(short.clone()), short);
        let long = json!({ "assets": 1, "faults": vec!["x".repeat(1_000); 1_000] });
        let cut = bounded(long);
        assert!(cut.to_string().len() <= RESULT_BYTES_MAX && !cut["faults"].as_array().unwrap().is_empty());
        assert_eq!(cut["assets"], 1);
        let other = json!("x".repeat(RESULT_BYTES_MAX + 1));
        assert_eq!(bounded(other.clone()), other);
    }

    #[test]
    fn orders_for_the_same_work_have_the_same_subject() {
        let backup = |directory: &str| JobOrder::Backup { directory: directory.into() };
        assert_eq!(backup("/a").subject(), backup("/a").subject());
        assert_ne!(backup("/a").subject(), backup("/b").subject());
        let deep = JobOrder::Verification { is_deep: true };
        assert_ne!(deep.subject(), JobOrder::Verification { is_deep: false }.subject());
    }
}
