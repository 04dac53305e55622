//! `preflight`: checks that `throng preflight` finds slowdowns of one system, and reports no difference between equal builds.
//!
//! A whole run builds the commit of the checkout twice, in two directories, and a third time with a change in a crate that
//! no system uses; compiled dependencies are copied from the target directory of this executable. A quick run compares this executable with
//! a copy of itself.

use crate::budget::{FigureLimit, FigureList, Limit, budget};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::{Experiment, Run, machine};
use ::preflight::builds::CommitBuilder;
use ::preflight::compare::Comparison;
use ::preflight::measure::{WorkloadSource, WorkloadTask};
use ::preflight::trial::{Slowdown, Trial, compare_often, is_false_alarm, smallest_percent};
use report::{Cell, Column, Section, Table, Verdict};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "preflight",
    question: "Which slowdowns does preflight detect, and how often does it raise a false alarm?",
    run,
    figures: || FIGURES.names(),
};

const WORKLOAD: &str = "crowd";
const TICKS: u64 = 100;
const TICKS_QUICK: u64 = 10;

const SLOWDOWNS: usize = 20;
const SLOWDOWNS_QUICK: usize = 2;

/// Comparisons of each pair of builds that should be equal.
const COMPARISONS: usize = 10;
const COMPARISONS_QUICK: usize = 1;

const BUDGETS: [FigureLimit; 2] = [
    budget(
        "preflight_smallest_percent",
        "smallest slowdown from which on all are detected",
        "%",
        Limit::AtMost(2.0),
    ),
    budget("preflight_false", "false alarms of comparisons of equal builds", "", Limit::AtMost(0.0)),
];

const FIGURES: FigureList = FigureList {
    limited: &[&BUDGETS],
    others: &["slowdowns", "slowdowns_found", "comparisons", "preflight_noise_percent"],
};

/// Two builds in which preflight should see no difference.
struct BuildPair {
    /// Their origin.
    what: &'static str,
    base: PathBuf,
    head: PathBuf,
}

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let pairs = if run.quick { vec![copy(run)?] } else { build(run)? };
    let task = WorkloadTask {
        workload: WorkloadSource::Named(WORKLOAD.to_owned()),
        ticks: run.pick(TICKS, TICKS_QUICK),
    };
    let trial = Trial::new(&pairs[0].base, &task, &run.out.join("slowdowns"))?;
    let slowdowns = trial.slowdowns(run.pick(SLOWDOWNS, SLOWDOWNS_QUICK))?;

    let runs = run.pick(COMPARISONS, COMPARISONS_QUICK);
    let mut compared = Vec::new();
    for pair in &pairs {
        let comparisons = compare_often(&pair.base, &pair.head, &task, runs, &run.out.join("equal"))?;
        compared.push((pair.what, comparisons));
    }

    let mut findings = Findings::default();
    report_slowdowns(&slowdowns, &mut findings);
    report_comparisons(&compared, &mut findings);
    FIGURES.judge(run, &mut findings);
    Ok(findings)
}

/// This executable in another place.
fn copy(run: &Run) -> Result<BuildPair, ExperimentError> {
    let directory = run.out.join("in-another-directory");
    let head = directory.join("throng");
    fs::create_dir_all(&directory)
        .and_then(|()| fs::copy(&run.executable, &head))
        .map_err(|source| ExperimentError::File { path: head.clone(), source })?;
    Ok(BuildPair { what: "a build and its copy", base: run.executable.clone(), head })
}

/// Builds of the checkout's commit, in a clone that keeps it free of build files.
fn build(run: &Run) -> Result<Vec<BuildPair>, ExperimentError> {
    let clone = run.out.join("repository");
    let _ = fs::remove_dir_all(&clone);
    let checkout = machine::checkout(&run.executable).ok_or_else(|| ExperimentError::Missing {
        what: "there is no checkout here whose commit could be built: run this in one".to_owned(),
    })?;
    git(&checkout, &["clone", "--quiet", "--shared", "."], Some(&clone))?;
    let here = CommitBuilder::new(&clone, &run.out.join("built-here"))?;
    let there = CommitBuilder::new(&clone, &run.out.join("built/in/another/directory"))?;
    // `target/release/throng` lies among the dependencies that were compiled for it.
    if let Some(target) = run.executable.ancestors().nth(2) {
        here.take_dependencies(target, "HEAD")?;
        there.take_dependencies(target, "HEAD")?;
    }
    let base = here.build("HEAD")?.binary;
    let twin = there.build("HEAD")?.binary;

    change_unrelated(&clone)?;
    let identity = ["-c", "user.name=experiment", "-c", "user.email=experiment@localhost"];
    let commit = ["-c", "commit.gpgsign=false", "commit", "--quiet", "--all", "--message", "Unrelated"];
    git(&clone, &[identity.as_slice(), &commit].concat(), None)?;
    let changed = here.build("HEAD")?.binary;
    Ok(vec![
        BuildPair { what: "one commit, built in two directories", base: base.clone(), head: twin },
        BuildPair { what: "a change in crate report, which no system uses", base, head: changed },
    ])
}

/// The file of the unrelated change, with the place of its code: any function called by the server's commands, but not by a workload.
const UNRELATED: (&str, &str) = ("crates/report/src/number.rs", "pub fn number(value: f64) -> String {\n");

/// Adds a collection and formatting to the function, so that the linker has a new layout to make.
const UNRELATED_CODE: &str = "    if value.to_bits() == 0x7ff8_0000_dead_beef {\n        \
    let one = std::collections::BTreeMap::from([(value.to_bits(), value.to_string())]);\n        \
    return format!(\"{one:?}\");\n    }\n";

fn change_unrelated(repository: &Path) -> Result<(), ExperimentError> {
    let (file, place) = UNRELATED;
    let path = repository.join(file);
    let failed = |source| ExperimentError::File { path: path.clone(), source };
    let text = fs::read_to_string(&path).map_err(failed)?;
    if !text.contains(place) {
        let what =
            format!("{file} has no {:?} any more, behind which the unrelated change goes", place.trim());
        return Err(ExperimentError::Missing { what });
    }
    fs::write(&path, text.replacen(place, &format!("{place}{UNRELATED_CODE}"), 1)).map_err(failed)
}

fn git(directory: &Path, words: &[&str], path: Option<&Path>) -> Result<(), ExperimentError> {
    let missing = |what: String| ExperimentError::Missing { what };
    // A relative path is meant from here, not from the directory that git goes to.
    let path = path.map(std::path::absolute).transpose();
    let path = path.map_err(|error| missing(format!("the working directory is gone: {error}")))?;
    let mut git = Command::new("git");
    // A fixed time, so that the change is the same commit in every run and is built once.
    git.env("GIT_AUTHOR_DATE", "2000-01-01T00:00:00Z").env("GIT_COMMITTER_DATE", "2000-01-01T00:00:00Z");
    let output = git.arg("-C").arg(directory).args(words).args(path).output();
    let output = output.map_err(|error| missing(format!("git cannot be run: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(missing(format!("git {} in {}: {}", words.join(" "), directory.display(), why.trim())))
}

fn report_slowdowns(slowdowns: &[Slowdown], findings: &mut Findings) {
    findings.figure("preflight_smallest_percent", smallest_percent(slowdowns));
    findings.figure("slowdowns", slowdowns.len() as f64);
    findings.figure("slowdowns_found", slowdowns.iter().filter(|slowdown| slowdown.is_found).count() as f64);
    let mut table = Table::new(vec![
        Column::text("system"),
        Column::number("asked for", "%"),
        Column::number("put in", "%"),
        Column::text("verdict of preflight"),
        Column::text("found"),
    ])
    .caption(
        "Found: preflight names this system as dearer, no other system as changed, and behaviour as equal.",
    );
    for Slowdown { system, asked_percent, percent, is_found, verdict } in slowdowns {
        table.row(vec![
            system.name().into(),
            (*asked_percent).into(),
            (*percent).into(),
            verdict.as_str().into(),
            yes_or_no(*is_found),
        ]);
    }
    findings.sections.push(Section::new("Slowdowns of one system").table(table));
}

fn report_comparisons(compared: &[(&str, Vec<Comparison>)], findings: &mut Findings) {
    let all = || compared.iter().flat_map(|(_, comparisons)| comparisons);
    findings.figure("comparisons", all().count() as f64);
    findings.figure("preflight_false", all().filter(|comparison| is_false_alarm(comparison)).count() as f64);
    findings.figure("preflight_noise_percent", all().map(noise_percent).fold(0.0, f64::max));
    let mut table = Table::new(vec![
        Column::text("builds"),
        Column::number("largest difference of a system", "%"),
        Column::text("verdict of preflight"),
        Column::text("quiet"),
    ]);
    for (what, comparisons) in compared {
        for comparison in comparisons {
            table.row(vec![
                (*what).into(),
                noise_percent(comparison).into(),
                comparison.to_string().as_str().into(),
                yes_or_no(!is_false_alarm(comparison)),
            ]);
        }
    }
    findings.sections.push(Section::new("Builds that are equal").table(table));
}

/// By how much the system differs that differs most, cheaper or dearer.
fn noise_percent(comparison: &Comparison) -> f64 {
    let percents = comparison.systems.iter().map(|system| system.percent().unwrap_or(f64::INFINITY).abs());
    percents.fold(0.0, f64::max)
}

fn yes_or_no(good: bool) -> Cell {
    if good { Cell::verdict(Verdict::Good, "yes") } else { Cell::verdict(Verdict::Bad, "no") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unrelated_change_has_its_place_and_is_refused_without() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(UNRELATED.0);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, include_str!("../../report/src/number.rs")).unwrap();
        change_unrelated(directory.path()).unwrap();
        let changed = fs::read_to_string(&path).unwrap();
        assert_eq!(changed.matches("dead_beef").count(), 1);

        fs::write(&path, "pub fn another() {}\n").unwrap();
        let error = change_unrelated(directory.path()).unwrap_err();
        assert!(error.to_string().contains("number.rs has no"), "{error}");
    }
}
