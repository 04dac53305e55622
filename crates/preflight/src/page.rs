//! A comparison as an HTML page.

use crate::compare::{Comparison, CostChange, SystemChange, TOLERANCE, TOLERANCE_INSTRUCTIONS, percent};
use crate::text::{change_in_percent, grouped};
use report::{BarPlot, Cell, Column, Report, Section, Table, Verdict};
use std::fmt;

/// One of the two builds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its name from the command line.
    pub name: String,
    /// Its full hash, if it is a commit.
    pub commit: Option<String>,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.commit {
            Some(commit) if *commit != self.name => write!(f, "{} ({})", self.name, &commit[..12]),
            _ => f.write_str(&self.name),
        }
    }
}

/// The page; `command` is the command line that made it.
#[must_use]
pub fn page(comparison: &Comparison, [base, head]: &[Subject; 2], command: &str) -> String {
    let mut report = Report::new(
        "preflight",
        "What each system of two builds executes for the same work, counted in instructions.",
    );
    report.fact("base", base.to_string());
    report.fact("head", head.to_string());
    report.fact("workload", format!("{}, {} ticks", comparison.workload, comparison.ticks));
    report.fact("command", command);
    let verdict = if comparison.is_clean() { Verdict::Good } else { Verdict::Bad };
    report.fact("verdict", Cell::verdict(verdict, &comparison.to_string()));
    report.section(systems(comparison));
    report.section(behaviour(comparison));
    report.section(work_section(comparison));
    report.to_html()
}

fn systems(comparison: &Comparison) -> Section {
    let mut table = Table::new(vec![
        Column::text("system"),
        Column::text("base, instructions"),
        Column::text("head, instructions"),
        Column::text("change"),
        Column::text("base, allocations"),
        Column::text("head, allocations"),
        Column::text("verdict"),
    ]);
    for system in &comparison.systems {
        let SystemChange { base, head, .. } = system;
        table.row(vec![
            system.system.as_str().into(),
            grouped(base.instructions).into(),
            grouped(head.instructions).into(),
            change_in_percent(system.percent()).into(),
            grouped(base.allocations).into(),
            grouped(head.allocations).into(),
            verdict(system.change()),
        ]);
    }
    let (base, head) = comparison.instructions();
    table.row(vec![
        "all".into(),
        grouped(base).into(),
        grouped(head).into(),
        change_in_percent(percent(base, head)).into(),
        "".into(),
        "".into(),
        "".into(),
    ]);
    let plot =
        comparison.systems.iter().fold(BarPlot::new("Change", "%", &["instructions"]), |plot, system| {
            plot.bar(&system.system, &[system.percent().unwrap_or(f64::NAN)])
        });
    let note = format!(
        "A change of up to {} %, or of {TOLERANCE_INSTRUCTIONS} instructions a tick, counts as none. What a system's calls into \
         other systems and into the allocator execute is not charged to it.",
        TOLERANCE * 100.0,
    );
    Section::new("Systems").table(table).text(&note).bar_plot(plot)
}

fn verdict(change: CostChange) -> Cell {
    let verdict = match change {
        CostChange::Cheaper => Verdict::Good,
        CostChange::Equal => Verdict::Neutral,
        CostChange::Dearer => Verdict::Bad,
    };
    Cell::verdict(verdict, change.as_str())
}

fn behaviour(comparison: &Comparison) -> Section {
    let text = match &comparison.divergence {
        None => "State hashes, frames and all that clients were sent are equal in every tick.".to_owned(),
        Some(divergence) => format!("The builds behave differently, first {divergence}."),
    };
    Section::new("Behaviour").text(&text)
}

fn work_section(comparison: &Comparison) -> Section {
    let section = Section::new("Work done");
    if comparison.work.is_empty() {
        return section.text("Both builds did equally much of everything that is counted.");
    }
    let columns = ["work", "base", "head", "change"].map(Column::text);
    let mut table = Table::new(columns.into());
    for change in &comparison.work {
        let percent = change_in_percent(percent(change.base, change.head));
        let cells = [change.work.clone(), grouped(change.base), grouped(change.head), percent];
        table.row(cells.map(Cell::from).into());
    }
    section.table(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::WorkChange;
    use crate::costs::SystemCharge;

    #[test]
    fn the_page_names_builds_systems_and_verdict() {
        let cost = |instructions| SystemCharge { instructions, allocations: 0, entries: 1 };
        let comparison = Comparison {
            workload: "crowd".into(),
            ticks: 100,
            systems: vec![SystemChange {
                system: "hub".into(),
                base: cost(1_000_000),
                head: cost(1_050_000),
                instructions: CostChange::Dearer,
                allocations: CostChange::Equal,
            }],
            work: vec![WorkChange { work: "kills".into(), base: 1, head: 2 }],
            divergence: None,
        };
        let commit = Some("0123456789abcdef0123456789abcdef01234567".to_owned());
        let subjects = [
            Subject { name: "main".into(), commit },
            Subject { name: "target/release/throng".into(), commit: None },
        ];
        let page = page(&comparison, &subjects, "throng preflight main target/release/throng");
        for part in
            ["main (0123456789ab)", "+5.00 %", "1,050,000", "dearer: hub", "kills", "equal in every tick"]
        {
            assert!(page.contains(part), "{part}");
        }
    }
}
