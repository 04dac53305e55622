//! Steps of a region in which clients walk, while an archive is loaded into another region of the server, while that one is saved, and while a backup is made.
//!
//! Each round has a server of its own, so that each load stores all assets. Steps are those of the server's own traces, to the nanosecond: a histogram's classes
//! are wider than the differences that count. Times without such work lie before, between and behind the three.

use super::super::command::{self, text};
use super::super::site::KeepStage;
use super::{LargeArchive, ROOM};
use crate::bots::Bots;
use crate::clock;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::server::{CONFIG_FILE, Operator, Server};
use report::{Column, Section, Table};
use serde::Deserialize;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Rounds, of which all steps are put together.
const ROUNDS: usize = 3;
const ROUNDS_QUICK: usize = 1;
/// Time of each window without work, and until walking clients have their surroundings.
const QUIET: Duration = Duration::from_secs(30);
const SETTLE: Duration = Duration::from_secs(15);
const SHORT: Duration = Duration::from_millis(800);

/// Number of the region in which clients walk: the first of the configuration.
const WALKED: u32 = 1;
/// The region that gets the archive, apart from it.
const LOADED: &str = "Quarry";
const LAST_NAME: &str = "Walker";
const WALKER: &str = "Bot0001 Walker";

/// A second of frames.
const TRACE: &str = "/v1/frames/trace?frames=20";
/// The share of steps that are as short or shorter.
const SHARE: f64 = 0.99;

/// Kinds of work, by the ends of their figures.
const KINDS: [&str; 3] = ["load", "save", "backup"];

/// Durations of steps, seconds.
#[derive(Debug, Default)]
struct StepTimes {
    quiet: Vec<f64>,
    /// By kind of work.
    busy: [Vec<f64>; KINDS.len()],
}

pub(super) fn measure(
    stage: &KeepStage<'_>,
    archive: &LargeArchive,
    findings: &mut Findings,
) -> Result<(), ExperimentError> {
    let mut times = StepTimes::default();
    for _ in 0..stage.run.pick(ROUNDS, ROUNDS_QUICK) {
        measure_round(stage, archive, &mut times)?;
    }
    let quiet_s = p99(&mut times.quiet);
    findings.figure("archive_p99_quiet_ms", quiet_s * 1e3);
    let mut table = Table::new(vec![
        Column::text("work beside"),
        Column::number("steps", ""),
        Column::number("p99", "ms"),
        Column::number("÷ without", ""),
    ]);
    table.row(vec!["none".into(), (times.quiet.len() as f64).into(), (quiet_s * 1e3).into(), 1.0.into()]);
    let mut worst = f64::NEG_INFINITY;
    for (kind, steps) in KINDS.into_iter().zip(&mut times.busy) {
        let busy_s = p99(steps);
        let ratio = busy_s / quiet_s;
        findings.figure(format!("archive_p99_ratio_{kind}"), ratio);
        table.row(vec![kind.into(), (steps.len() as f64).into(), (busy_s * 1e3).into(), ratio.into()]);
        worst = if ratio.is_nan() { f64::NAN } else { worst.max(ratio) };
    }
    findings.figure("archive_p99_ratio", worst);
    let text = format!(
        "{} clients walk in one region while the archive is loaded into another one, saved from it, and a \
         backup of all is made, at the usual pace. Steps of the first region, of all rounds together.",
        stage.size.walkers
    );
    findings.sections.push(Section::new("Other worlds beside archives").text(&text).table(table));
    Ok(())
}

fn measure_round(
    stage: &KeepStage<'_>,
    archive: &LargeArchive,
    times: &mut StepTimes,
) -> Result<(), ExperimentError> {
    let (run, n_walkers) = (stage.run, stage.size.walkers);
    let settings = format!("\n[[region]]\nname = \"{LOADED}\"\nterrain = \"flat\"\nx = 1004\n{ROOM}");
    let data = stage.prepare("archive-beside", &settings)?;
    let (saved, backups) = (run.out.join("archive-beside.oar"), run.out.join("archive-beside-backups"));
    remove(&saved, &backups)?;
    let server = Server::start_in(run, "archive-beside", &data)?;
    let options = ["--behavior", "walk", "--last-name", LAST_NAME];
    let mut walkers = Bots::start(run, &server, "archive-walkers", n_walkers, &options)?;
    walkers.command(&format!("enter {n_walkers}"))?;
    clock::wait(run.pick(SETTLE, SHORT));

    let operator = server.operator();
    let (file, config) = (text(&archive.whole), text(&data.join(CONFIG_FILE)));
    let (data_text, saved_text, backups_text) = (text(&data), text(&saved), text(&backups));
    let load = ["oar", "load", &file, "--region", LOADED, "--default-user", WALKER, "--json"];
    let save = ["oar", "save", &saved_text, "--region", LOADED, "--json"];
    let backup = ["backup", &backups_text, "--json", "--config", &config];
    let works = [&load[..], &save, &backup];
    for ((kind, words), steps) in KINDS.into_iter().zip(works).zip(&mut times.busy) {
        rest(stage, &operator, &mut times.quiet)?;
        run.references.sample();
        let words = [words, &["--data", &data_text]].concat();
        let work = || command::run(run, &format!("archive-beside-{kind}"), &words);
        let (finished, traced) = trace_during(&operator, work)?;
        finished?.expect(&[0])?;
        steps.extend(traced);
    }
    rest(stage, &operator, &mut times.quiet)?;
    stage.dismiss(walkers)?;
    server.stop()?;
    remove(&saved, &backups)
}

/// Steps while nothing but walking happens.
fn rest(stage: &KeepStage<'_>, operator: &Operator, quiet: &mut Vec<f64>) -> Result<(), ExperimentError> {
    let ((), steps) = trace_during(operator, || clock::wait(stage.run.pick(QUIET, SHORT)))?;
    quiet.extend(steps);
    Ok(())
}

/// Removes the saved archive and the backups, if they are there.
fn remove(saved: &Path, backups: &Path) -> Result<(), ExperimentError> {
    let removed = [(saved, fs::remove_file(saved)), (backups, fs::remove_dir_all(backups))];
    removed.into_iter().try_for_each(|(path, removed)| match removed {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(ExperimentError::File { path: path.to_owned(), source })
        }
        _ => Ok(()),
    })
}

/// The used part of a trace of frames.
#[derive(Deserialize)]
struct FrameTrace {
    steps: Vec<TracedStep>,
}

#[derive(Deserialize)]
struct TracedStep {
    /// None of a world that has ended.
    world: Option<u32>,
    began_ns: u64,
    ended_ns: u64,
}

/// Does work, and gives the durations of the walked region's steps meanwhile, seconds.
fn trace_during<T>(operator: &Operator, work: impl FnOnce() -> T) -> Result<(T, Vec<f64>), ExperimentError> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| trace_until(operator, &is_over));
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        let steps = watcher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((done, steps))
    })
}

/// One trace after the other. The last one, which is partly of a later time, does not count unless it is the only one.
fn trace_until(operator: &Operator, is_over: &AtomicBool) -> Result<Vec<f64>, ExperimentError> {
    let mut all = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let answer = operator.order("GET", TRACE, None)?;
        let unreadable =
            |source| ExperimentError::Operator { path: TRACE.to_owned(), source: io::Error::other(source) };
        let trace: FrameTrace = serde_json::from_str(&answer).map_err(unreadable)?;
        if !is_over.load(Ordering::Relaxed) || all.is_empty() {
            all.extend(trace.durations_s());
        }
    }
    Ok(all)
}

impl FrameTrace {
    /// Of the walked region.
    fn durations_s(&self) -> impl Iterator<Item = f64> {
        let steps = self.steps.iter().filter(|step| step.world == Some(WALKED));
        steps.map(|step| step.ended_ns.saturating_sub(step.began_ns) as f64 / 1e9)
    }
}

/// The 99th percentile by rank; not a number without steps.
fn p99(steps: &mut [f64]) -> f64 {
    steps.sort_unstable_by(f64::total_cmp);
    let rank = (steps.len() as f64 * SHARE).ceil() as usize;
    steps.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_whole_steps_and_none_is_no_number() {
        let mut steps: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!((p99(&mut steps), p99(&mut [7.0])), (198.0, 7.0));
        assert!(p99(&mut []).is_nan());
    }

    #[test]
    fn steps_of_other_regions_and_of_ended_ones_do_not_count() {
        let trace: FrameTrace = serde_json::from_str(
            r#"{"frames": [], "dropped": 0, "steps": [
                {"frame": 0, "worker": 0, "world": 1, "began_ns": 1000000, "ended_ns": 3000000},
                {"frame": 0, "worker": 0, "world": 2, "began_ns": 0, "ended_ns": 9000000},
                {"frame": 0, "worker": 0, "world": null, "began_ns": 0, "ended_ns": 9000000}]}"#,
        )
        .unwrap();
        assert_eq!(trace.durations_s().collect::<Vec<_>>(), [0.002]);
    }
}
