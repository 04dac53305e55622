//! `throng experiment`: from the command line to the experiments and their reports.

use crate::cli::{ExperimentArgs, SinkName, SummaryArgs};
use crate::database;
use experiment::{
    EXPERIMENTS, ExperimentError, ExperimentReport, RunParameters, RunStore, RunsSummary, SinkKind,
};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The experiments with their questions, a line each.
#[must_use]
pub fn list() -> String {
    EXPERIMENTS.iter().fold(String::new(), |mut out, experiment| {
        let _ = writeln!(out, "{:<16} {}", experiment.name, experiment.question);
        out
    })
}

/// Output of a run.
#[derive(Debug)]
pub struct ExperimentOutput {
    /// To standard output.
    pub output: String,
    /// To standard error: missed limits, a line each, unless `output` has them.
    pub complaints: String,
    /// True if every limit held.
    pub is_well: bool,
}

/// Runs one, once or several times.
///
/// # Errors
/// When it could not be run to its end.
pub fn run(args: &ExperimentArgs) -> Result<ExperimentOutput, ExperimentError> {
    let sink = match args.sink {
        Some(SinkName::Tun) => SinkKind::Tun,
        Some(SinkName::Lo) => SinkKind::Lo,
        None => SinkKind::usual(),
    };
    let executable = std::env::current_exe().map_err(|source| ExperimentError::Start {
        what: "another process of this program".into(),
        source,
    })?;
    let store = args.store.as_deref().map(|text| RunStore::new(text, database::with_password)).transpose()?;
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    let request = RunParameters {
        name: args.name.clone(),
        quick: args.quick,
        sink,
        out: args.out.clone(),
        duration: args.duration,
        starve: args.starve,
        kills: args.kills,
        part: args.part.clone(),
        command: store.as_ref().map_or_else(|| command.clone(), |store| store.mask(&command)),
        store,
        executable,
    };
    if args.runs > 1 {
        let out = args.out.clone().unwrap_or_else(|| experiment::usual_out(&args.name));
        let run = |n| {
            Ok(experiment::run(&RunParameters {
                out: Some(out.join(format!("run-{n}"))),
                ..request.clone()
            })?
            .directory)
        };
        let runs = (1..=args.runs).map(run).collect::<Result<Vec<PathBuf>, ExperimentError>>()?;
        return summed(&runs, Some(&out), args.json);
    }
    let outcome = experiment::run(&request)?;
    let is_well = outcome.failures.is_empty();
    Ok(if args.json {
        ExperimentOutput { output: outcome.figures_json() + "\n", complaints: failures(&outcome), is_well }
    } else {
        ExperimentOutput { output: summary(&outcome), complaints: String::new(), is_well }
    })
}

/// Puts several runs together.
///
/// # Errors
/// When they cannot be read, or are of different experiments.
pub fn summarize(args: &SummaryArgs) -> Result<ExperimentOutput, ExperimentError> {
    summed(&args.runs, args.out.as_deref(), args.json)
}

fn summed(runs: &[PathBuf], out: Option<&Path>, as_json: bool) -> Result<ExperimentOutput, ExperimentError> {
    let summary = experiment::summarize(runs)?;
    if let Some(out) = out {
        summary.write(out)?;
    }
    let RunsSummary { failures, .. } = &summary;
    let complaints: String = failures.iter().map(|failure| format!("DID NOT HOLD: {failure}\n")).collect();
    let is_well = failures.is_empty();
    Ok(if as_json {
        ExperimentOutput { output: summary.figures_json() + "\n", complaints, is_well }
    } else {
        ExperimentOutput { output: summary.to_text() + &complaints, complaints: String::new(), is_well }
    })
}

/// Exit status for an error.
#[must_use]
pub const fn exit_status(error: &ExperimentError) -> u8 {
    match error {
        ExperimentError::NoTun { .. } => 3,
        ExperimentError::Unknown { .. }
        | ExperimentError::Option { .. }
        | ExperimentError::Store { .. }
        | ExperimentError::Summary { .. } => 2,
        _ => 1,
    }
}

fn summary(outcome: &ExperimentReport) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} at {} (sink {}, USO {})",
        outcome.experiment, outcome.commit, outcome.sink, outcome.uso
    );
    for (name, value) in &outcome.figures {
        let _ = writeln!(out, "  {name:<48} {value:>14.4}");
    }
    out += &failures(outcome);
    let _ = writeln!(out, "{}", outcome.directory.join("report.html").display());
    out
}

fn failures(outcome: &ExperimentReport) -> String {
    outcome.failures.iter().map(|failure| format!("DID NOT HOLD: {failure}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_is_listed_with_its_question() {
        let list = list();
        assert_eq!(list.lines().count(), EXPERIMENTS.len());
        assert!(list.contains("agent-updates ") && list.contains('?'));
    }

    #[test]
    fn an_unknown_experiment_is_a_usage_error_that_names_the_known_ones() {
        let error = experiment::run(&RunParameters {
            name: "nothing".into(),
            quick: true,
            sink: SinkKind::Lo,
            out: None,
            duration: None,
            starve: None,
            kills: None,
            part: None,
            store: None,
            executable: "throng".into(),
            command: String::new(),
        })
        .unwrap_err();
        assert_eq!(exit_status(&error), 2);
        assert!(error.to_string().contains("bot-fidelity"), "{error}");
    }

    #[test]
    fn an_option_of_another_experiment_is_a_usage_error() {
        let error = experiment::run(&RunParameters {
            name: "worlds".into(),
            quick: true,
            sink: SinkKind::Lo,
            out: None,
            duration: None,
            starve: Some(40),
            kills: None,
            part: None,
            store: None,
            executable: "throng".into(),
            command: String::new(),
        })
        .unwrap_err();
        assert_eq!((exit_status(&error), error.to_string().as_str()), (2, "worlds has no option --starve"));
    }

    #[test]
    fn a_database_is_for_one_experiment_on_loopback() {
        for (name, sink, why) in [
            ("keep", SinkKind::Lo, "keep has no option --store"),
            ("keep-kills", SinkKind::Tun, "--store needs --sink lo: servers in a network of their own"),
        ] {
            let store = RunStore::new("postgres://throng@db.example/grid", |url| url).unwrap();
            let error = experiment::run(&RunParameters {
                name: name.into(),
                quick: true,
                sink,
                out: None,
                duration: None,
                starve: None,
                kills: None,
                part: None,
                store: Some(store),
                executable: "throng".into(),
                command: String::new(),
            })
            .unwrap_err();
            assert!(exit_status(&error) == 2 && error.to_string().starts_with(why), "{error}");
        }
    }
}
