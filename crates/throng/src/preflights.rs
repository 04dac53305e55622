//! `throng preflight`: from two commits or binaries to a comparison of their costs.

use crate::cli::PreflightArgs;
use preflight::builds::{Built, CommitBuildError, CommitBuilder};
use preflight::compare::{Comparison, Incomparable, compare};
use preflight::measure::{EXIT_INCOMPATIBLE, MeasurementError, WorkloadSource, WorkloadTask};
use preflight::page::{self, Subject};
use preflight::text::text;
use preflight::trial::measure_both;
use sim::workload::Workload;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Exit status when two builds could not be measured at all.
const EXIT_NOT_RUN: u8 = 3;
/// Exit status for a command line with unknown names.
const EXIT_USAGE: u8 = 2;

/// Reasons for which two builds were not compared.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// No such workload.
    #[error("there is no workload {0}, and no such file; there are: crowd, worlds, npcs")]
    NoWorkload(String),
    /// Neither option nor environment says where builds are kept.
    #[error("there is no HOME to keep builds in: name a directory with --cache")]
    NoCache,
    /// A commit was not built.
    #[error(transparent)]
    Build(#[from] CommitBuildError),
    /// A build was not measured.
    #[error(transparent)]
    Measure(#[from] MeasurementError),
    /// They had different things to do.
    #[error(transparent)]
    Incomparable(#[from] Incomparable),
    /// A report cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// Its path.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
}

/// Exit status for an error: 4 when the builds are too different to be compared.
#[must_use]
pub const fn exit_status(error: &PreflightError) -> u8 {
    match error {
        PreflightError::Incomparable(_) | PreflightError::Measure(MeasurementError::Incompatible { .. }) => {
            EXIT_INCOMPATIBLE as u8
        }
        PreflightError::NoWorkload(_)
        | PreflightError::NoCache
        | PreflightError::Build(CommitBuildError::Unknown { .. }) => EXIT_USAGE,
        _ => EXIT_NOT_RUN,
    }
}

/// Compares two builds. Returns the report, and true if nothing became more expensive or different.
///
/// # Errors
/// If a build is missing or does not run, or the two cannot be compared.
pub fn run(args: &PreflightArgs) -> Result<(String, bool), PreflightError> {
    let task = WorkloadTask { workload: source(&args.workload)?, ticks: args.ticks };
    let base = build(&args.base, args.cache.as_deref())?;
    let head = build(&args.head, args.cache.as_deref())?;
    let (one, other) = measure_both(&base.binary, &head.binary, &task, &args.out)?;
    let comparison = compare(&one, &other)?;

    let subjects = [subject(&args.base, &base), subject(&args.head, &head)];
    let json = serde_json::to_string_pretty(&comparison).expect("numbers and names become JSON") + "\n";
    write(&args.out.join("report.json"), &json)?;
    write(&args.out.join("report.html"), &html(&comparison, &subjects))?;
    let text = if args.json {
        json
    } else {
        let [base, head] = &subjects;
        let page = args.out.join("report.html");
        format!("{}{}\n", text(&comparison, &base.to_string(), &head.to_string()), page.display())
    };
    Ok((text, comparison.is_clean()))
}

/// A name goes before a file that is called so.
fn source(workload: &str) -> Result<WorkloadSource, PreflightError> {
    if Workload::named(workload).is_some() {
        return Ok(WorkloadSource::Named(workload.to_owned()));
    }
    let path = PathBuf::from(workload);
    if path.is_file() {
        Ok(WorkloadSource::File(path))
    } else {
        Err(PreflightError::NoWorkload(workload.to_owned()))
    }
}

/// A binary is taken as it is, a commit built.
fn build(name: &str, cache: Option<&Path>) -> Result<Built, PreflightError> {
    let path = Path::new(name);
    if path.is_file() {
        return Ok(Built { commit: String::new(), binary: path.to_owned() });
    }
    let cache = cache.map(Path::to_owned).or_else(default_cache).ok_or(PreflightError::NoCache)?;
    Ok(CommitBuilder::new(Path::new("."), &cache)?.build(name)?)
}

/// Beside the other things that take long to make.
fn default_cache() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")))?;
    Some(cache.join("throng/preflight"))
}

fn subject(name: &str, built: &Built) -> Subject {
    Subject { name: name.to_owned(), commit: Some(built.commit.clone()).filter(|commit| !commit.is_empty()) }
}

fn html(comparison: &Comparison, subjects: &[Subject; 2]) -> String {
    let command: Vec<String> = env::args().collect();
    page::page(comparison, subjects, &command.join(" "))
}

fn write(path: &Path, text: &str) -> Result<(), PreflightError> {
    fs::write(path, text).map_err(|source| PreflightError::Write { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_a_name_or_a_file() {
        assert_eq!(source("worlds").unwrap(), WorkloadSource::Named("worlds".to_owned()));
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(source(path).unwrap(), WorkloadSource::File(file.path().to_owned()));
        assert_eq!(exit_status(&source("plaza").unwrap_err()), EXIT_USAGE);
    }

    #[test]
    fn builds_that_are_too_different_have_a_status_of_their_own() {
        let error = MeasurementError::Incompatible { binary: "b".into(), why: "w".into() };
        assert_eq!(exit_status(&error.into()), 4);
        assert_eq!(exit_status(&MeasurementError::NoValgrind.into()), EXIT_NOT_RUN);
    }
}
