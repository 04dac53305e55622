//! `throng crash`: crashes of a server; and `throng crash-monitor`, which records them.

use crate::cli::{CrashCommand, CrashMonitorArgs};
use crash::directory::{Directory, DirectoryError, Quota};
use crash::monitor;
use crash::report::{self, ReportError};
use crash::symbols::Symbols;
use std::fmt::Write as _;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use telemetry::LogFormat;

/// Errors of commands on crashes.
#[derive(Debug, thiserror::Error)]
pub enum CrashesError {
    /// The directory of dumps.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The dump.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The log cannot be set up.
    #[error("cannot write logs")]
    Logging(#[from] telemetry::LoggingError),
    /// The socket to the server.
    #[error("the crash monitor cannot hear its server")]
    Socket(#[from] io::Error),
}

/// Runs one command and gives its output.
///
/// # Errors
/// When files cannot be read, or are no dumps.
pub fn run(command: CrashCommand) -> Result<String, CrashesError> {
    match command {
        CrashCommand::List { data } => list(&data.data),
        CrashCommand::Show { file, data } => {
            let path = find(&data.data, file);
            Ok(report::read_report(&path, &Symbols::of(&data.data))?.to_string())
        }
    }
}

fn list(data: &Path) -> Result<String, CrashesError> {
    let directory = Directory::of(data);
    let mut text = String::new();
    for entry in directory.list()? {
        // The first line of the summary says it; without one, the dump has to be read.
        let summary = std::fs::read_to_string(entry.dump.with_extension("txt")).ok();
        let why = match summary.as_deref().and_then(|summary| summary.lines().next()) {
            Some(line) => line.to_owned(),
            None => report::read_report(&entry.dump, &Symbols::of(data))
                .map_or_else(|error| error.to_string(), |report| report.headline()),
        };
        let kib = entry.bytes.div_ceil(1024);
        writeln!(text, "{}.dmp  {kib:>7} KiB  {why}", entry.stem).expect("to a string");
    }
    if text.is_empty() {
        writeln!(text, "No crashes in {}.", directory.path().display()).expect("to a string");
    }
    Ok(text)
}

/// A path as it is, or the name of a dump in the data directory, with or without extension.
fn find(data: &Path, file: PathBuf) -> PathBuf {
    let kept = Directory::of(data).path().join(&file).with_extension("dmp");
    if !file.exists() && kept.exists() { kept } else { file }
}

/// Serves one server until it ends.
///
/// # Errors
/// When the log or the socket cannot be used.
pub fn monitor(args: CrashMonitorArgs) -> Result<(), CrashesError> {
    let format = if args.log_format == "json" { LogFormat::Json } else { LogFormat::Text };
    // The writer warns of every mapping without a build id, which is no trouble.
    telemetry::start_logging(format, &format!("{},minidump_writer=error", args.log_filter))?;
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let config = monitor::MonitorConfig {
        data: args.data,
        server: args.server,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        worlds: args.worlds,
        quota: Quota { dumps: args.dumps_max as usize, bytes: u64::from(args.mib_max) * 1024 * 1024 },
    };
    Ok(monitor::run(config, socket)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_directory_without_crashes_says_so() {
        let data = tempfile::tempdir().unwrap();
        assert!(list(data.path()).unwrap().starts_with("No crashes in "));
    }

    #[test]
    fn a_dump_is_found_by_path_or_by_name() {
        let data = tempfile::tempdir().unwrap();
        let dump = data.path().join("crashes/20260101T000000Z-1.dmp");
        std::fs::create_dir(data.path().join("crashes")).unwrap();
        std::fs::write(&dump, "").unwrap();
        for file in ["20260101T000000Z-1", "20260101T000000Z-1.dmp", dump.to_str().unwrap()] {
            assert_eq!(find(data.path(), file.into()), dump, "{file}");
        }
        assert_eq!(find(data.path(), "other.dmp".into()), Path::new("other.dmp"));
    }

    #[test]
    fn a_file_that_is_no_dump_is_listed_with_the_reason() {
        let data = tempfile::tempdir().unwrap();
        std::fs::create_dir(data.path().join("crashes")).unwrap();
        std::fs::write(data.path().join("crashes/20260101T000000Z-1.dmp"), "half a dump").unwrap();
        assert!(list(data.path()).unwrap().contains("as a minidump"));
    }
}
