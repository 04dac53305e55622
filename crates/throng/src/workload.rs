//! `throng workload`: from the command line to the simulator's workloads.

use crate::cli::WorkloadArgs;
use sim::workload::{self, Workload, WorkloadError};
use std::path::PathBuf;
use std::{fs, io};

/// Reasons for which a workload was neither prepared nor run.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadCommandError {
    /// It went wrong itself.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The result cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// Its path.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
}

/// Exit status for an error: 4 for a file of another build or version.
#[must_use]
pub const fn exit_status(error: &WorkloadCommandError) -> u8 {
    match error {
        WorkloadCommandError::Workload(
            WorkloadError::Inputs(_) | WorkloadError::Recording { .. } | WorkloadError::TooShort { .. },
        ) => preflight::measure::EXIT_INCOMPATIBLE as u8,
        WorkloadCommandError::Workload(WorkloadError::Unknown(_)) => 2,
        _ => 1,
    }
}

/// Prepares or runs one.
///
/// # Errors
/// As [`WorkloadCommandError`] has them.
pub fn run(args: &WorkloadArgs) -> Result<(), WorkloadCommandError> {
    let named = args.workload.to_str().and_then(Workload::named);
    if let Some(path) = &args.prepare {
        let workload = named.ok_or_else(|| WorkloadError::Unknown(args.workload.clone()))?;
        workload::prepare(workload, args.ticks, path)?;
    }
    if let Some(path) = &args.out {
        let outcome = workload::run(&args.workload, args.ticks, &args.burdens)?;
        let json = serde_json::to_string(&outcome).expect("numbers and names become JSON");
        fs::write(path, json).map_err(|source| WorkloadCommandError::Write { path: path.clone(), source })?;
    }
    Ok(())
}
