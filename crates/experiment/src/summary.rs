//! Several runs of one experiment side by side: the median and spread of each figure, whether the medians keep the budgets, and which reference
//! each figure follows.
//!
//! It reads the `report.json` of each run, so that runs of different days or machines can be put together, too.

use crate::ExperimentError;
use crate::median::median;
use crate::references::Reference;
use report::{Cell, Column, Report, Section, Table, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A run as its `report.json` describes it.
#[derive(Clone, Debug, Deserialize)]
struct KeptRun {
    experiment: String,
    commit: String,
    machine: String,
    sink: String,
    quick: bool,
    figures: BTreeMap<String, f64>,
    /// Reports of earlier builds have none.
    #[serde(default)]
    budgets: Vec<KeptBudget>,
    failures: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct KeptBudget {
    figure: String,
    what: String,
    unit: String,
    is_most: bool,
    limit: f64,
    failure: Option<String>,
}

/// A figure over several runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The middle one of the runs, of two the larger.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// Runs that have the figure.
    pub runs: usize,
    /// Pearson's correlation with the median of each reference, by the reference's figure, -1 to 1. Absent with fewer than three runs, and where
    /// one of both did not vary.
    pub correlation: BTreeMap<String, f64>,
}

/// A budget over several runs.
#[derive(Clone, Debug, Serialize)]
pub struct MedianBudget {
    /// Its figure.
    pub figure: String,
    /// Description for readers.
    pub what: String,
    /// Of the figure.
    pub unit: String,
    /// The limit of each run: relative ones differ.
    pub limits: Vec<f64>,
    /// True if the median distance to the limit is on the right side.
    pub holds: bool,
    /// Runs in which it held.
    pub held_in: usize,
}

/// Several runs of one experiment.
#[derive(Clone, Debug, Serialize)]
pub struct RunsSummary {
    /// Name of the experiment.
    pub experiment: String,
    /// Commits that were measured; one, if the figures are to be quoted.
    pub commits: BTreeSet<String>,
    /// The machines of the runs.
    pub machines: BTreeSet<String>,
    /// Directories of the runs.
    pub runs: Vec<PathBuf>,
    /// True if any of the runs was quick: its figures are no measurements.
    pub quick: bool,
    /// The figures by name.
    pub figures: BTreeMap<String, Spread>,
    /// In the order of the experiment.
    pub budgets: Vec<MedianBudget>,
    /// Conditions that did not hold, in sentences: medians beyond their limits, and other failures of a run.
    pub failures: Vec<String>,
}

/// Reads the reports of several runs and puts them together.
///
/// # Errors
/// When a report cannot be read, or they are of different experiments or sinks.
pub fn summarize(runs: &[PathBuf]) -> Result<RunsSummary, ExperimentError> {
    let kept = runs.iter().map(|run| read(run)).collect::<Result<Vec<_>, _>>()?;
    let differ = |of: fn(&KeptRun) -> &str| {
        let all: BTreeSet<&str> = kept.iter().map(of).collect();
        (all.len() != 1).then(|| all.into_iter().collect::<Vec<_>>().join(", "))
    };
    for (what, names) in [("experiments", differ(|run| &run.experiment)), ("sinks", differ(|run| &run.sink))]
    {
        if let Some(names) = names {
            return Err(ExperimentError::Summary {
                reason: format!("the runs are of different {what}: {names}"),
            });
        }
    }
    Ok(RunsSummary::of(runs, &kept))
}

fn read(run: &Path) -> Result<KeptRun, ExperimentError> {
    let path = run.join("report.json");
    let failed = |source| ExperimentError::File { path: path.clone(), source };
    let text = fs::read_to_string(&path).map_err(failed)?;
    serde_json::from_str(&text).map_err(|error| failed(io::Error::other(error)))
}

impl RunsSummary {
    fn of(directories: &[PathBuf], runs: &[KeptRun]) -> Self {
        let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.figures.keys()).collect();
        let figures = names.into_iter().map(|name| (name.clone(), spread(name, runs))).collect();
        let budgets = runs.first().map_or_else(Vec::new, |first| {
            first.budgets.iter().map(|budget| median_budget(&budget.figure, budget, runs)).collect()
        });
        let commits: BTreeSet<String> = runs.iter().map(|run| run.commit.clone()).collect();
        let quick = runs.iter().any(|run| run.quick);
        let mut failures = Vec::new();
        if commits.len() > 1 {
            let commits: Vec<&str> = commits.iter().map(String::as_str).collect();
            failures.push(format!("the runs are of different commits: {}", commits.join(", ")));
        }
        for MedianBudget { what, holds, held_in, .. } in &budgets {
            if !holds && !quick {
                failures.push(format!(
                    "{what}: the median is beyond its limit; {held_in} of {} runs kept it",
                    runs.len()
                ));
            }
        }
        for (directory, run) in directories.iter().zip(runs) {
            let is_judged = |failure: &&String| {
                run.budgets.iter().any(|budget| budget.failure.as_ref() == Some(*failure))
            };
            let others = run.failures.iter().filter(|failure| !is_judged(failure));
            failures.extend(others.map(|failure| format!("{}: {failure}", directory.display())));
        }
        let first = runs.first();
        Self {
            experiment: first.map_or_else(String::new, |run| run.experiment.clone()),
            commits,
            machines: runs.iter().map(|run| run.machine.clone()).collect(),
            runs: directories.to_vec(),
            quick,
            figures,
            budgets,
            failures,
        }
    }

    /// Writes `summary.json` and `summary.html` into a directory.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), ExperimentError> {
        let json = serde_json::to_string_pretty(self).expect("text and numbers");
        for (name, text) in [("summary.json", json), ("summary.html", self.page())] {
            let path = directory.join(name);
            fs::write(&path, text).map_err(|source| ExperimentError::File { path, source })?;
        }
        Ok(())
    }

    /// The figures as one JSON object.
    ///
    /// # Panics
    /// Never: names and numbers can be written.
    #[must_use]
    pub fn figures_json(&self) -> String {
        serde_json::to_string(&self.figures).expect("names and numbers")
    }

    /// Figures and budgets as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let commits: Vec<&str> = self.commits.iter().map(String::as_str).collect();
        let mut out = format!("{}: {} runs at {}\n", self.experiment, self.runs.len(), commits.join(", "));
        let references = Reference::ALL.map(Reference::figure);
        let _ = writeln!(
            out,
            "  {:<48} {:>14} {:>14} {:>14}   correlation with {}",
            "figure",
            "median",
            "min",
            "max",
            references.join(", ")
        );
        for (name, Spread { median, min, max, correlation, .. }) in &self.figures {
            let _ = write!(out, "  {name:<48} {median:>14.4} {min:>14.4} {max:>14.4}  ");
            for reference in references {
                let _ = match of_reference(correlation, reference) {
                    Some(r) => write!(out, " {r:>6.2}"),
                    None => write!(out, " {:>6}", "-"),
                };
            }
            out.push('\n');
        }
        for MedianBudget { what, holds, held_in, .. } in &self.budgets {
            let verdict = if *holds { "holds" } else { "DOES NOT HOLD" };
            let _ = writeln!(out, "{verdict} in the median, {held_in} of {} runs: {what}", self.runs.len());
        }
        out
    }

    fn page(&self) -> String {
        let mut report = Report::new(
            &self.experiment,
            "Several runs: medians, spreads, and the correlation of each figure with the references.",
        );
        let list = |all: &BTreeSet<String>| all.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        report.fact("commits", list(&self.commits));
        report.fact("machines", list(&self.machines));
        report.fact("runs", self.runs.len() as f64);
        if !self.failures.is_empty() {
            report.section(Section::new("Failures").verbatim(&(self.failures.join("\n") + "\n")));
        }
        let mut budgets = Table::new(vec![
            Column::text("budget"),
            Column::number("median", ""),
            Column::text("unit"),
            Column::text("limits"),
            Column::number("held in", "runs"),
            Column::text("held in the median"),
        ]);
        for MedianBudget { figure, what, unit, limits, holds, held_in } in &self.budgets {
            let limits = limits.iter().map(|limit| report::number(*limit)).collect::<Vec<_>>().join(", ");
            let verdict = if *holds { (Verdict::Good, "yes") } else { (Verdict::Bad, "no") };
            budgets.row(vec![
                what.as_str().into(),
                self.figures.get(figure).map_or(f64::NAN, |spread| spread.median).into(),
                unit.as_str().into(),
                limits.into(),
                (*held_in as f64).into(),
                Cell::verdict(verdict.0, verdict.1),
            ]);
        }
        report.section(Section::new("Budgets").table(budgets));
        let references = Reference::ALL.map(Reference::figure);
        let mut columns = vec![Column::text("figure")];
        columns.extend(["median", "min", "max", "runs"].map(|name| Column::number(name, "")));
        columns.extend(references.map(|reference| Column::number(&format!("r with {reference}"), "")));
        let mut figures = Table::new(columns).caption(
            "r is Pearson's correlation over the runs: a limit relative to the reference that a figure follows holds on machines of any speed.",
        );
        for (name, spread) in &self.figures {
            let mut row: Vec<Cell> = vec![name.as_str().into()];
            row.extend([spread.median, spread.min, spread.max, spread.runs as f64].map(Cell::from));
            row.extend(references.map(|reference| Cell::from(of_reference(&spread.correlation, reference))));
            figures.row(row);
        }
        report.section(Section::new("Figures").table(figures));
        report.to_html()
    }
}

/// References have the suffix of the sink, as all figures of a run.
fn of_reference(correlation: &BTreeMap<String, f64>, reference: &str) -> Option<f64> {
    correlation.iter().find(|(name, _)| name.starts_with(reference)).map(|(_, r)| *r)
}

fn spread(name: &str, runs: &[KeptRun]) -> Spread {
    let mut values: Vec<f64> = runs.iter().filter_map(|run| run.figures.get(name).copied()).collect();
    let correlation = Reference::ALL.iter().filter_map(|reference| {
        let is_it = |figure: &&String| {
            *figure == reference.figure() || **figure == format!("{}_lo", reference.figure())
        };
        let reference = runs.first()?.figures.keys().find(is_it)?;
        let pair = |run: &KeptRun| Some((*run.figures.get(reference)?, *run.figures.get(name)?));
        let pairs: Vec<(f64, f64)> = runs.iter().filter_map(pair).collect();
        Some((reference.clone(), pearson(&pairs)?))
    });
    let correlation = correlation.collect();
    let median = median(&mut values);
    let (min, max) = (values.first().copied(), values.last().copied());
    Spread {
        median,
        min: min.unwrap_or(f64::NAN),
        max: max.unwrap_or(f64::NAN),
        runs: values.len(),
        correlation,
    }
}

fn median_budget(figure: &str, first: &KeptBudget, runs: &[KeptRun]) -> MedianBudget {
    let of_run = |run: &KeptRun| {
        let budget = run.budgets.iter().find(|budget| budget.figure == figure)?;
        // A run without the figure is beyond every limit.
        let value = run.figures.get(figure).copied();
        let beyond = value.map_or(f64::INFINITY, |value| {
            if budget.is_most { value - budget.limit } else { budget.limit - value }
        });
        Some((budget.limit, beyond))
    };
    let all: Vec<(f64, f64)> = runs.iter().filter_map(of_run).collect();
    let mut beyond: Vec<f64> = all.iter().map(|(_, beyond)| *beyond).collect();
    MedianBudget {
        figure: figure.to_owned(),
        what: first.what.clone(),
        unit: first.unit.clone(),
        limits: all.iter().map(|(limit, _)| *limit).collect(),
        holds: median(&mut beyond) <= 0.0,
        held_in: beyond.iter().filter(|beyond| **beyond <= 0.0).count(),
    }
}

/// Pairs of which fewer say nothing: two are always on a line.
const PAIRS_MIN: usize = 3;

/// Pearson's correlation of pairs; none of too few, or where one side does not vary.
fn pearson(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < PAIRS_MIN {
        return None;
    }
    let n = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
    let (mean_x, mean_y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum =
        |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|(x, y)| of(x - mean_x, y - mean_y)).sum::<f64>();
    let r = sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    r.is_finite().then_some(r)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(l_us: f64, cost: f64, limit: f64) -> KeptRun {
        let failure = (cost > limit).then(|| format!("cost: {cost}, at most {limit}"));
        let budget = KeptBudget {
            figure: "cost".to_owned(),
            what: "what it costs".to_owned(),
            unit: "ns".to_owned(),
            is_most: true,
            limit,
            failure: failure.clone(),
        };
        KeptRun {
            experiment: "crowd".to_owned(),
            commit: "abc".to_owned(),
            machine: "2 cores".to_owned(),
            sink: "tun".to_owned(),
            quick: false,
            figures: [("l_us".to_owned(), l_us), ("cost".to_owned(), cost)].into(),
            budgets: vec![budget],
            failures: failure.into_iter().collect(),
        }
    }

    fn summed(runs: &[KeptRun]) -> RunsSummary {
        let directories: Vec<PathBuf> = (1..=runs.len()).map(|n| format!("run-{n}").into()).collect();
        RunsSummary::of(&directories, runs)
    }

    #[test]
    fn a_figure_has_its_median_its_spread_and_the_reference_that_it_follows() {
        let summary = summed(&[run(2.0, 20.0, 60.0), run(4.0, 40.0, 60.0), run(3.0, 30.0, 60.0)]);
        let Spread { median, min, max, runs, correlation } = &summary.figures["cost"];
        assert_eq!((*median, *min, *max, *runs), (30.0, 20.0, 40.0, 3));
        assert!((correlation["l_us"] - 1.0).abs() < 1e-9);
        assert!(!correlation.contains_key("reference_cpu_ns"), "no run has it");
        assert!(summary.failures.is_empty() && summary.to_text().contains("cost"), "{summary:?}");
    }

    #[test]
    fn a_budget_holds_when_the_median_distance_to_its_limit_does() {
        // The limits follow L: 25, 50 and 38.
        let summary = summed(&[run(2.0, 26.0, 25.0), run(4.0, 40.0, 50.0), run(3.0, 30.0, 38.0)]);
        let MedianBudget { holds, held_in, limits, .. } = &summary.budgets[0];
        assert_eq!((*holds, *held_in, limits.as_slice()), (true, 2, [25.0, 50.0, 38.0].as_slice()));
        assert!(summary.failures.is_empty(), "a run beyond a limit is no failure: {:?}", summary.failures);
        let missing = KeptRun { figures: BTreeMap::new(), ..run(2.0, 1.0, 25.0) };
        let runs = [missing.clone(), missing, run(2.0, 1.0, 25.0)];
        assert!(!summed(&runs).budgets[0].holds, "what was not measured holds nothing");
    }

    #[test]
    fn different_commits_and_other_complaints_are_failures() {
        let mut runs = [run(2.0, 1.0, 25.0), run(2.0, 1.0, 25.0)];
        runs[1].commit = "def".to_owned();
        runs[1].failures.push("a window began too early".to_owned());
        let failures = summed(&runs).failures;
        assert_eq!(failures.len(), 2, "{failures:?}");
        assert!(failures[0].contains("abc, def") && failures[1].contains("run-2: a window began"));
    }

    #[test]
    fn reports_are_read_from_their_directories_and_have_to_be_of_one_experiment() {
        let directory = tempfile::tempdir().expect("a directory");
        let write = |name: &str, experiment: &str| {
            let run = directory.path().join(name);
            fs::create_dir_all(&run).expect("a directory");
            let report = format!(
                "{{\"experiment\":\"{experiment}\",\"commit\":\"abc\",\"machine\":\"m\",\"sink\":\"lo\",\"quick\":true,\
                 \"figures\":{{\"l_us_lo\":2.5}},\"failures\":[],\"series\":{{}}}}"
            );
            fs::write(run.join("report.json"), report).expect("written");
            run
        };
        let (one, two) = (write("one", "crowd"), write("two", "crowd"));
        let summary = summarize(&[one.clone(), two]).expect("both are there");
        assert_eq!((summary.figures["l_us_lo"].median, summary.quick), (2.5, true));
        summary.write(directory.path()).expect("written");
        let page = fs::read_to_string(directory.path().join("summary.html")).expect("a page");
        assert!(page.contains("l_us_lo"));
        let other = write("other", "worlds");
        assert!(matches!(summarize(&[one, other]), Err(ExperimentError::Summary { .. })));
        assert!(matches!(summarize(&[directory.path().join("none")]), Err(ExperimentError::File { .. })));
    }

    #[test]
    fn correlation_is_of_three_pairs_that_vary() {
        let r = |ys: [f64; 3]| pearson(&[(1.0, ys[0]), (2.0, ys[1]), (3.0, ys[2])]);
        assert!(r([3.0, 2.0, 1.0]).is_some_and(|r| (r + 1.0).abs() < 1e-9));
        assert!(r([1.0, 5.0, 1.0]).is_some_and(|r| r.abs() < 1e-9));
        assert_eq!((r([2.0; 3]), pearson(&[(1.0, 1.0), (2.0, 2.0)])), (None, None));
    }
}
