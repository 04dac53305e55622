//! The work of jobs.

use super::stored_data::StoredData;
use crate::config::Config;
use crate::database;
use crate::trial::start_worlds;
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

/// Work of another part of the server.
pub(in crate::serve) trait JobWork: fmt::Debug + Send + Sync {
    fn kind(&self) -> JobKind;

    /// Object of the work, in words.
    fn subject(&self) -> String;

    /// Does the work on the calling thread.
    fn carry_out(&self, driver: &mut dyn WorkDriver) -> JobEnd;
}

/// Work that was ordered.
#[derive(Clone, Debug)]
pub(in crate::serve) enum JobOrder {
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
    pub(super) fn carry_out(&self, config: &Config, driver: &mut dyn WorkDriver) -> JobEnd {
        let now_s = u64::try_from(driver.unix_s()).unwrap_or_default();
        let done = match self {
            Self::Backup { directory } => make_backup(config, now_s, directory, driver),
            Self::Rehearsal { backup } => make_rehearsal(config, backup.as_deref(), driver),
            Self::Verification { is_deep } => look_through(config, now_s, *is_deep, driver),
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

fn make_backup(config: &Config, now_s: u64, directory: &Path, driver: &mut dyn WorkDriver) -> Done {
    let dir = open(directory)?;
    let data = StoredData::of(config, now_s);
    let report = back_up(&dir, &data.to_back_up(), config.backup.keep, driver)?;
    for fault in &report.manifest.faults {
        tracing::error!(backup = report.manifest.name, "found while backing up: {fault}");
    }
    if let Some(why) = &report.unswept {
        tracing::warn!(backup = report.manifest.name, "old backups were not cleared away: {why}");
    }
    Ok((report.summary(), report.to_json()))
}

fn make_rehearsal(config: &Config, name: Option<&str>, driver: &mut dyn WorkDriver) -> Done {
    let dir = open(&config.backup.directory)?;
    let mut start = |data: &Path, driver: &mut dyn WorkDriver| start_worlds(config, data, driver);
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

fn look_through(config: &Config, now_s: u64, is_deep: bool, driver: &mut dyn WorkDriver) -> Done {
    let data = StoredData::of(config, now_s);
    let found = verify(&data.to_verify(is_deep), driver)?;
    for fault in found.faults.named() {
        tracing::error!("found by a look through the stored data: {fault}");
    }
    Ok((found.summary(), found.to_json()))
}

fn open(directory: &Path) -> Result<BackupDir, WorkFailure> {
    BackupDir::open(directory, &database::server_name()).map_err(|why| BackupError::from(why).into())
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
