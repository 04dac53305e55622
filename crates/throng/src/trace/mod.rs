//! `throng trace`: why the server was slow, and its current activity.
//!
//! Captures are files in the data directory and are read there, so that they can be looked at after the server has ended; only `save`
//! and `live` talk to a running one.

mod live;

use crate::cli::TraceCommand;
use crate::operator::{self, OperatorError};
use data_dir::captures_path;
use operator_api::{CaptureRow, timeline_page};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use telemetry::captures::perfetto::{SliceRow, Timeline};
use telemetry::captures::{CaptureEntry, CaptureStore, CaptureStoreError, CaptureSummary};

/// Errors of trace commands.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The directory of captures cannot be read.
    #[error("cannot look at the captures")]
    Store(#[from] CaptureStoreError),
    /// There is no such capture.
    #[error("there is no capture {0:?}; throng trace list shows their names")]
    Unknown(String),
    /// There are no captures.
    #[error("there are no captures in {0}")]
    None(PathBuf),
    /// A file of a capture cannot be read.
    #[error("cannot read {path}")]
    File {
        /// Its path.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// A page cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// Its path.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The server.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// The terminal.
    #[error("cannot write")]
    Terminal(#[source] io::Error),
}

/// Runs a command and returns its output; `live` draws on `terminal` until it is ended.
///
/// # Errors
/// With a sentence for the operator.
pub fn run(command: TraceCommand, terminal: &mut impl Write) -> Result<String, TraceError> {
    match command {
        TraceCommand::List { data } => list(&CaptureStore::new(captures_path(&data.data))),
        TraceCommand::Show { name, least, html, data } => {
            let store = CaptureStore::new(captures_path(&data.data));
            match html {
                Some(path) => write_page(&store, &name, &path),
                None => show(&store, &name, least),
            }
        }
        TraceCommand::Summary { name, json, data } => {
            let store = CaptureStore::new(captures_path(&data.data));
            let name = match name {
                Some(name) => name,
                None => store.list()?.last().ok_or_else(|| TraceError::None(store.dir().into()))?.name(),
            };
            let bytes = read(&store, &name, if json { "json" } else { "txt" })?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        TraceCommand::Save { data } => {
            let answer = operator::command(&data.data, "/v1/captures", &serde_json::json!({}))?;
            let told: CaptureRow = serde_json::from_str(&answer).map_err(OperatorError::from)?;
            Ok(format!("{}\n", told.name))
        }
        TraceCommand::Live { once, data } => live::run(&data.data, once, terminal),
    }
}

fn list(store: &CaptureStore) -> Result<String, TraceError> {
    let mut out = String::new();
    for entry in store.list()? {
        let (name, mib) = (entry.name(), entry.bytes as f64 / f64::from(1 << 20));
        let _ = writeln!(out, "{name:<32} {mib:>8.2} MiB  {}", headline(store, &entry));
    }
    Ok(out)
}

/// Reason of a capture, from its summary.
fn headline(store: &CaptureStore, entry: &CaptureEntry) -> String {
    let summary = read(store, &entry.name(), "json").ok().and_then(|json| serde_json::from_slice(&json).ok());
    summary
        .map_or_else(|| "(its summary cannot be read)".into(), |summary: CaptureSummary| summary.headline())
}

fn read(store: &CaptureStore, name: &str, ending: &str) -> Result<Vec<u8>, TraceError> {
    let unknown = || TraceError::Unknown(name.to_owned());
    // A name may be given with the ending of any of its files.
    let plain = name.split_once('.').map_or(name, |(plain, _)| plain);
    let path = store.path_of(&format!("{plain}.{ending}")).ok_or_else(unknown)?;
    match std::fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(unknown()),
        Err(source) => Err(TraceError::File { path, source }),
        Ok(bytes) => Ok(bytes),
    }
}

/// A capture's timeline and summary, and where the timeline is.
fn open(store: &CaptureStore, name: &str) -> Result<(Timeline, CaptureSummary, PathBuf), TraceError> {
    let trace = read(store, name, "perfetto-trace")?;
    let json = read(store, name, "json")?;
    let path = |ending: &str| {
        let plain = name.split_once('.').map_or(name, |(plain, _)| plain);
        store.path_of(&format!("{plain}.{ending}")).unwrap_or_else(|| Path::new(name).into())
    };
    let invalid = |ending: &str, error: Box<dyn std::error::Error + Send + Sync>| TraceError::File {
        path: path(ending),
        source: io::Error::new(io::ErrorKind::InvalidData, error),
    };
    let timeline = Timeline::read(&trace).map_err(|error| invalid("perfetto-trace", error.into()))?;
    let summary = serde_json::from_slice(&json).map_err(|error| invalid("json", error.into()))?;
    Ok((timeline, summary, path("perfetto-trace")))
}

fn write_page(store: &CaptureStore, name: &str, path: &Path) -> Result<String, TraceError> {
    let (timeline, summary, _) = open(store, name)?;
    let page = timeline_page::page(name, &summary, &timeline);
    std::fs::write(path, page).map_err(|source| TraceError::Write { path: path.into(), source })?;
    Ok(format!("{}\n", path.display()))
}

fn show(store: &CaptureStore, name: &str, least: f64) -> Result<String, TraceError> {
    let (timeline, summary, path) = open(store, name)?;
    // The slow scope from its beginning to its end; without one, everything.
    let (begin_ns, end_ns) = match summary.overrun {
        Some(overrun) => (overrun.at_ns - overrun.took_ns, overrun.at_ns),
        None => (timeline.begin_ns(), timeline.end_ns()),
    };
    Ok(format!(
        "{}\nOpen this file at https://ui.perfetto.dev to see all of it.\n{}",
        path.display(),
        around(&timeline, begin_ns, end_ns, least)
    ))
}

/// Activity of every thread in this time. Slices shorter than `least` of it are left out.
fn around(timeline: &Timeline, begin_ns: u64, end_ns: u64, least: f64) -> String {
    let span_ns = end_ns.saturating_sub(begin_ns);
    let least_ns = (span_ns as f64 * least) as u64;
    let mut out = String::new();
    for thread in &timeline.threads {
        let shown = |row: &&SliceRow| {
            row.begin_ns < end_ns && row.end_ns > begin_ns && row.end_ns - row.begin_ns >= least_ns.max(1)
        };
        let mut rows = thread.rows.iter().filter(shown).peekable();
        if rows.peek().is_none() {
            continue;
        }
        let _ = writeln!(out, "\n{:<50} {:>14} {:>14}", thread.name, "begins at", "takes");
        for row in rows {
            let name = format!("{:indent$}{}{}", "", row.name, row.about, indent = 2 + 2 * row.depth);
            let begins_ms = (row.begin_ns as f64 - begin_ns as f64) / 1e6;
            let takes_ms = (row.end_ns - row.begin_ns) as f64 / 1e6;
            let _ = writeln!(out, "{name:<50} {begins_ms:>11.3} ms {takes_ms:>11.3} ms");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use telemetry::captures::perfetto::ThreadRows;

    fn row(name: &str, depth: usize, begin_ns: u64, end_ns: u64) -> SliceRow {
        SliceRow { name: name.into(), about: " client=17".into(), depth, begin_ns, end_ns }
    }

    #[test]
    fn every_thread_is_shown_for_the_given_time_without_short_slices() {
        let thread = |name: &str, rows| ThreadRows { name: name.into(), rows };
        let timeline = Timeline {
            threads: vec![
                thread("idle", vec![row("before", 0, 0, 1_000_000)]),
                thread(
                    "shard-0",
                    vec![
                        row("shard.turn", 0, 1_500_000, 12_000_000),
                        row("shard.client", 1, 2_500_000, 9_500_000),
                        row("shard.client", 1, 9_500_000, 9_550_000),
                    ],
                ),
            ],
        };
        let lines = [
            "",
            "shard-0                                                 begins at          takes",
            "  shard.turn client=17                                  -0.500 ms      10.500 ms",
            "    shard.client client=17                               0.500 ms       7.000 ms",
            "",
        ];
        assert_eq!(around(&timeline, 2_000_000, 12_000_000, 0.01), lines.join("\n"));
    }
}
