//! `throng verify`, `throng backup` and `throng restore`. The first two are jobs of a running server, if there is one.

mod local;

use crate::cli::{BackupArgs, RestoreArgs, StoreArgs, VerifyArgs};
use crate::config::{self, Config, ConfigError, Sources};
use crate::jobs_command::{fault_text, follow};
use crate::operator::{self, OperatorError};
use backup::{BackupError, RehearsalError, RestoreError, VerifyError};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time for a server to take an order: its database has to keep it.
const PATIENCE: Duration = Duration::from_secs(30);
/// The data directory that a restore makes unless another one is named.
const DATA: &str = "data";

/// Reasons for which a command fails.
#[derive(Debug, thiserror::Error)]
pub enum BackupCommandError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The running server.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// Its answer.
    #[error("the server's answer is not understood; is it of another version?")]
    Answer(#[from] serde_json::Error),
    /// The server's job.
    #[error("job {id} is {state}: {outcome}")]
    Job {
        /// Its number.
        id: u64,
        /// `failed` or `cancelled`.
        state: String,
        /// The reason.
        outcome: String,
    },
    /// The place of the directory of backups.
    #[error("cannot find the place of {}", .path.display())]
    Place {
        /// The directory.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The look through.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The backup.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The restore.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The rehearsal.
    #[error(transparent)]
    Rehearsal(#[from] RehearsalError),
}

/// Looks through the stored data; returns the output, and true if nothing is damaged or missing.
///
/// # Errors
/// With a sentence for the operator.
pub fn verify(args: &VerifyArgs) -> Result<(String, bool), BackupCommandError> {
    let config = config::load(&args.store.sources())?.config;
    let found = match by_server(&config, &args.store, "/v1/verify", &json!({ "deep": args.deep }))? {
        Some(found) => found,
        None => local::verify(&config, args.deep)?.to_json(),
    };
    let text = match args.json {
        true => format!("{found}\n"),
        false => with_faults(&found, &format!("{}.", figures(&found))),
    };
    Ok((text, is_without_fault(&found)))
}

/// Makes a backup; returns the output, and true if it is whole.
///
/// # Errors
/// With a sentence for the operator.
pub fn back_up(args: &BackupArgs) -> Result<(String, bool), BackupCommandError> {
    let config = config::load(&args.store.sources())?.config;
    let place = |source| BackupCommandError::Place { path: args.directory.clone(), source };
    let directory = std::path::absolute(&args.directory).map_err(place)?;
    let order = json!({ "directory": directory.to_string_lossy() });
    let made = match by_server(&config, &args.store, "/v1/backups", &order)? {
        Some(made) => made,
        None => local::back_up(&config, &directory)?.to_json(),
    };
    let text = match args.json {
        true => format!("{made}\n"),
        false => with_faults(&made, &backup_text(&made)),
    };
    Ok((text, made["whole"] == true))
}

/// Makes a data directory of a backup, or rehearses that; returns the output, and true if all is well.
///
/// # Errors
/// With a sentence for the operator.
pub fn restore(args: &RestoreArgs) -> Result<(String, bool), BackupCommandError> {
    let config = config::load(&Sources::with_process_env(args.config.clone(), Vec::new()))?.config;
    let (result, text, is_well) = if args.rehearse {
        let report = local::rehearse(&config, args)?;
        let is_well = report.outcome.has_succeeded() && report.faults.is_empty();
        (report.to_json(), format!("Rehearsal: {}.", report.summary()), is_well)
    } else {
        let data = args.to.clone().unwrap_or_else(|| DATA.into());
        let report = local::restore(&config, args, &data)?;
        let is_well = report.differences == 0 && report.faults.is_empty();
        let result = report.to_json();
        let text = restore_text(&config, &result, &data);
        (result, text, is_well)
    };
    let text = if args.json { format!("{result}\n") } else { with_faults(&result, &text) };
    Ok((text, is_well))
}

/// Has the running server of the data directory do it, as a job, and waits for its result; none if no server runs, or a database is named.
fn by_server(
    config: &Config,
    store: &StoreArgs,
    path: &str,
    order: &Value,
) -> Result<Option<Value>, BackupCommandError> {
    if store.store.is_some() {
        return Ok(None);
    }
    let data = &config.server.data;
    let job: Value = match operator::command_within(PATIENCE, data, path, order) {
        Ok(answer) => serde_json::from_str(&answer)?,
        Err(OperatorError::NotRunning { .. } | OperatorError::Unreachable { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let id = job["id"].as_u64().unwrap_or_default();
    let mut job = follow(data, id)?;
    if job["state"] != "done" {
        let text = |key: &str| job[key].as_str().unwrap_or("unknown").to_owned();
        return Err(BackupCommandError::Job { id, state: text("state"), outcome: text("outcome") });
    }
    let mut result = job["result"].take();
    result["job"] = id.into();
    Ok(Some(result))
}

fn is_without_fault(result: &Value) -> bool {
    result["damaged"] == 0 && result["missing"] == 0
}

fn figures(result: &Value) -> String {
    format!(
        "{} assets, {} items and {} objects; {} damaged, {} missing",
        result["assets"], result["items"], result["objects"], result["damaged"], result["missing"]
    )
}

fn backup_text(made: &Value) -> String {
    let mut text = format!(
        "Backup {} of {}: {}. {} files were copied, {} bytes.",
        made["backup"].as_str().unwrap_or_default(),
        made["cut_at"].as_str().unwrap_or_default(),
        figures(made),
        made["copied_files"],
        made["copied_bytes"]
    );
    for name in made["removed"].as_array().into_iter().flatten() {
        let _ = write!(text, "\nBackup {} is removed.", name.as_str().unwrap_or_default());
    }
    if let Some(why) = made["unswept"].as_str() {
        let _ = write!(text, "\nOld backups or their files were not removed: {why}.");
    }
    text
}

fn restore_text(config: &Config, result: &Value, data: &Path) -> String {
    let mut text = format!(
        "{} has backup {} of {}: {}; {} differences from its manifest.",
        data.display(),
        result["backup"].as_str().unwrap_or_default(),
        result["cut_at"].as_str().unwrap_or_default(),
        figures(result),
        result["differences"]
    );
    if !crate::database::url(config).is_file() {
        let _ = write!(
            text,
            "\nIts database is a file: bring it to an empty one with `throng store copy --from sqlite: --to … --data {}`.",
            data.display()
        );
    }
    text
}

/// A text, with a line for each fault behind it.
fn with_faults(result: &Value, text: &str) -> String {
    let mut text = format!("{text}\n");
    let faults = result["faults"].as_array().map(Vec::as_slice).unwrap_or_default();
    for fault in faults {
        let _ = writeln!(text, "{}", fault_text(fault));
    }
    let count = |key: &str| result[key].as_u64().unwrap_or_default();
    let n_unnamed = (count("damaged") + count("missing")).saturating_sub(faults.len() as u64);
    if n_unnamed > 0 {
        let _ = writeln!(text, "{n_unnamed} more faults are not listed");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_faults_are_listed_or_counted() {
        let found = json!({
            "assets": 3, "items": 2, "objects": 1, "damaged": 1, "missing": 4, "deep": true, "verified_at": "then",
            "faults": [{
                "fault": "damaged", "part": "asset", "id": "a", "name": "", "owner": null, "owner_name": null, "why": "w",
            }],
        });
        let text = with_faults(&found, &format!("{}.", figures(&found)));
        let expected = "3 assets, 2 items and 1 objects; 1 damaged, 4 missing.\ndamaged asset a: w\n4 more faults are not listed\n";
        assert_eq!(text, expected);
        assert!(!is_without_fault(&found));
        assert!(is_without_fault(&json!({ "damaged": 0, "missing": 0 })));
    }

    #[test]
    fn a_backup_names_those_that_were_removed() {
        let made = json!({
            "backup": "20261224T180000Z", "cut_at": "2026-12-24T18:00:00Z", "assets": 3, "items": 2, "objects": 1,
            "damaged": 0, "missing": 0, "whole": true, "copied_files": 1, "copied_bytes": 9, "faults": [],
            "removed": ["20261210T180000Z"], "unswept": "the disk is read-only",
        });
        let text = backup_text(&made);
        assert_eq!(
            text.lines().skip(1).collect::<Vec<_>>(),
            [
                "Backup 20261210T180000Z is removed.",
                "Old backups or their files were not removed: the disk is read-only."
            ]
        );
    }
}
