//! `throng record`: has a running server record one of its worlds, and takes the file over.

use crate::cli::RecordArgs;
use crate::operator::{self, OperatorError};
use data_dir::recordings_path;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit of the server for beginning and ending a recording.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reasons for which there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordCommandError {
    /// The server.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// The file.
    #[error("cannot make {path}")]
    File {
        /// Its path.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
}

/// Orders a recording, waits until it is made, and moves it from the server's folder to where it was asked for.
///
/// # Errors
/// When no server runs there, or it refuses, or its disk is full, or the file cannot be moved.
pub fn run(args: &RecordArgs) -> Result<String, RecordCommandError> {
    let failed = |source| RecordCommandError::File { path: args.out.clone(), source };
    // Before anything is recorded for nothing.
    if args.out.symlink_metadata().is_ok() {
        return Err(failed(io::ErrorKind::AlreadyExists.into()));
    }
    let name = args.out.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?;
    let body =
        serde_json::json!({ "world": args.world, "seconds": args.seconds, "out": name.to_string_lossy() });
    let patience = Duration::from_secs(args.seconds.into()) + PATIENCE;
    let told = operator::command_within(patience, &args.data.data, "/v1/record", &body)?;
    take_over(&recordings_path(&args.data.data).join(name), &args.out).map_err(failed)?;
    Ok(told)
}

/// Moves a file to where none is.
pub(crate) fn take_over(made: &Path, out: &Path) -> io::Result<()> {
    if fs::hard_link(made, out).is_err() {
        // On another disk.
        let mut from = fs::File::open(made)?;
        let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(out)?;
        io::copy(&mut from, &mut to)?;
        to.sync_all()?;
    }
    fs::remove_file(made)
}
