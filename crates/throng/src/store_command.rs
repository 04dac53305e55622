//! `throng store`: migrate, check and copy.

use crate::cli::{CopyArgs, StoreArgs, StoreCommand};
use crate::config::{self, ConfigError};
use crate::database;
use data_dir::recordings_path;
use recordings::UpgradedRecordings;
use serde_json::{Value, json};
use states::UpgradedStates;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};
use store::{CheckReport, CopyError, CopyReport, Store, StoreError, StoreUrl, TableDigest};

mod recordings;
mod states;

/// Period of progress lines on standard error during a copy.
const PROGRESS_PERIOD: Duration = Duration::from_secs(5);

/// Errors of store commands.
#[derive(Debug, thiserror::Error)]
pub enum StoreCommandError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The database.
    #[error("cannot use the database")]
    Store(#[from] StoreError),
    /// The copy.
    #[error(transparent)]
    Copy(#[from] CopyError),
}

/// Runs a command; returns its output, and true if all is well.
///
/// # Errors
/// With a sentence for the operator.
pub fn run(command: StoreCommand) -> Result<(String, bool), StoreCommandError> {
    match command {
        StoreCommand::Migrate { store, json } => {
            let config = config::load(&store.sources())?.config;
            let url = database::url(&config);
            let (from, to) = store::migrate(&url)?;
            let states = states::upgrade(&Store::open(&url)?)?;
            let recordings = recordings::upgrade(&recordings_path(&config.server.data));
            let problems = [states.problems.as_slice(), &recordings.problems].concat();
            let is_well = problems.is_empty();
            let text = match json {
                true => line(&json!({
                    "store": url.to_string(),
                    "from": from,
                    "to": to,
                    "states_upgraded": states.n_upgraded,
                    "recordings_upgraded": recordings.n_upgraded,
                    "problems": problems,
                })),
                false => migrate_text(&url, from, to, &states, &recordings),
            };
            Ok((text, is_well))
        }
        StoreCommand::Check { store, json } => {
            let url = url(&store)?;
            let report = store::check(&url)?;
            let is_well =
                report.problems.is_empty() && !report.is_half_copied && report.version == report.newest;
            let text =
                if json { line(&check_json(&url, &report, is_well)) } else { check_text(&url, &report) };
            Ok((text, is_well))
        }
        StoreCommand::Copy(args) => copy(args).map(|text| (text, true)),
    }
}

fn migrate_text(
    url: &StoreUrl,
    from: u32,
    to: u32,
    states: &UpgradedStates,
    recordings: &UpgradedRecordings,
) -> String {
    let mut text = match from == to {
        true => format!("{url} has schema version {to} already.\n"),
        false => format!("{url} is brought from schema version {from} to {to}.\n"),
    };
    let _ = writeln!(text, "{} states of instances are upgraded.", states.n_upgraded);
    let _ = writeln!(text, "{} recordings are upgraded.", recordings.n_upgraded);
    for problem in states.problems.iter().chain(&recordings.problems) {
        let _ = writeln!(text, "left as it is: {problem}");
    }
    text
}

fn url(args: &StoreArgs) -> Result<StoreUrl, ConfigError> {
    Ok(database::url(&config::load(&args.sources())?.config))
}

fn copy(args: CopyArgs) -> Result<String, StoreCommandError> {
    let CopyArgs { from, to, data, json } = args;
    let [from, to] = [from, to].map(|url| database::with_password(url).within(&data));
    #[expect(clippy::disallowed_methods, reason = "a command's progress for its operator")]
    let now = Instant::now;
    let mut next_at = now() + PROGRESS_PERIOD;
    let report = store::copy(&from, &to, |progress| {
        if now() >= next_at {
            next_at = now() + PROGRESS_PERIOD;
            // Progress is for a watching operator; without one, it is lost.
            let _ = writeln!(std::io::stderr(), "{}: {} rows inserted", progress.table, progress.inserted);
        }
    })?;
    let CopyReport { tables, inserted, removed } = &report;
    Ok(if json {
        line(&json!({
            "from": from.to_string(),
            "to": to.to_string(),
            "inserted": inserted,
            "removed": removed,
            "tables": tables_json(tables),
        }))
    } else {
        let mut text =
            format!("{to} has the rows of {from}; {inserted} were inserted and {removed} removed.\n");
        tables_text(&mut text, tables);
        text
    })
}

fn check_json(url: &StoreUrl, report: &CheckReport, is_well: bool) -> Value {
    json!({
        "store": url.to_string(),
        "version": report.version,
        "newest": report.newest,
        "half_copied": report.is_half_copied,
        "well": is_well,
        "problems": report.problems,
        "tables": tables_json(&report.tables),
    })
}

fn check_text(url: &StoreUrl, report: &CheckReport) -> String {
    let mut text = format!("{url} has schema version {}", report.version);
    match report.version == report.newest {
        true => text.push_str(".\n"),
        false => {
            let _ = writeln!(text, "; {} is the newest: run `throng store migrate`.", report.newest);
        }
    }
    if report.is_half_copied {
        text.push_str("It is an unfinished copy: repeat the `throng store copy` that began it.\n");
    }
    tables_text(&mut text, &report.tables);
    for problem in &report.problems {
        let _ = writeln!(text, "damaged: {problem}");
    }
    text
}

fn tables_json(tables: &[TableDigest]) -> Value {
    tables
        .iter()
        .map(|table| json!({ "table": table.table, "rows": table.rows, "hash": table.hash }))
        .collect()
}

fn tables_text(text: &mut String, tables: &[TableDigest]) {
    for TableDigest { table, rows, hash } in tables {
        let _ = writeln!(text, "{table:<20} {rows:>10} rows  {hash}");
    }
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}
