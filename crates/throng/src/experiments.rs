//! `throng experiment`: from the command line to the experiments and their reports.

use crate::cli::{ExperimentArgs, SinkName};
use experiment::{EXPERIMENTS, ExperimentError, Outcome, Request, SinkKind};
use std::fmt::Write as _;

/// The experiments and what they ask, a line each.
#[must_use]
pub fn list() -> String {
    EXPERIMENTS.iter().fold(String::new(), |mut out, experiment| {
        let _ = writeln!(out, "{:<16} {}", experiment.name, experiment.question);
        out
    })
}

/// What a run has to say.
#[derive(Debug)]
pub struct Told {
    /// To standard output.
    pub output: String,
    /// To standard error: what did not hold, a line each, unless `output` says so.
    pub complaints: String,
    /// Whether everything held.
    pub is_well: bool,
}

/// Runs one.
///
/// # Errors
/// When it could not be run to its end.
pub fn run(args: &ExperimentArgs) -> Result<Told, ExperimentError> {
    let sink = match args.sink {
        Some(SinkName::Tun) => SinkKind::Tun,
        Some(SinkName::Lo) => SinkKind::Lo,
        None => SinkKind::usual(),
    };
    let executable = std::env::current_exe().map_err(|source| ExperimentError::Start {
        what: "another process of this program".into(),
        source,
    })?;
    let outcome = experiment::run(&Request {
        name: args.name.clone(),
        quick: args.quick,
        sink,
        out: args.out.clone(),
        duration: args.duration,
        executable,
        command: std::env::args().collect::<Vec<_>>().join(" "),
    })?;
    let is_well = outcome.failures.is_empty();
    Ok(if args.json {
        Told { output: outcome.figures_json() + "\n", complaints: failures(&outcome), is_well }
    } else {
        Told { output: summary(&outcome), complaints: String::new(), is_well }
    })
}

/// Exit status for an error.
#[must_use]
pub const fn exit_status(error: &ExperimentError) -> u8 {
    match error {
        ExperimentError::NoTun { .. } => 3,
        ExperimentError::Unknown { .. } => 2,
        _ => 1,
    }
}

fn summary(outcome: &Outcome) -> String {
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

fn failures(outcome: &Outcome) -> String {
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
    fn an_experiment_that_does_not_exist_is_a_usage_error_that_names_those_that_do() {
        let error = experiment::run(&Request {
            name: "nothing".into(),
            quick: true,
            sink: SinkKind::Lo,
            out: None,
            duration: None,
            executable: "throng".into(),
            command: String::new(),
        })
        .unwrap_err();
        assert_eq!(exit_status(&error), 2);
        assert!(error.to_string().contains("bot-fidelity"), "{error}");
    }
}
