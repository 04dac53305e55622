//! Reports of a run: `report.json` for machines, `report.html` for readers.

use crate::calibrate::{Calibration, DATAGRAM_BYTES, DESTINATIONS};
use crate::findings::{Chart, Findings, Judged};
use crate::references::ReferenceSample;
use crate::{Experiment, ExperimentError, Run, RunParameters, machine};
use report::{Cell, Column, Report, Section, Table};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// The result of a run, in the form of `report.json`. Later versions may only add fields.
#[derive(Debug, Serialize)]
pub struct ExperimentReport {
    /// Its name.
    pub experiment: String,
    /// The measured commit.
    pub commit: String,
    /// The machine of the run.
    pub machine: String,
    /// Load average of the minute before the end, the run's own included.
    pub load: f64,
    /// The command line of the run.
    pub command: String,
    /// `tun` or `lo`.
    pub sink: String,
    /// True if the kernel granted segmentation offload in the sink.
    pub uso: bool,
    /// True for a quick run, whose figures are no measurements.
    pub quick: bool,
    /// The figures by name; those measured on loopback end in `_lo`.
    pub figures: BTreeMap<String, f64>,
    /// Budgets as they were applied, with the limits of this run.
    budgets: Vec<Judged>,
    /// Costs of the references during the run.
    references: Vec<ReferenceSample>,
    /// Charts by name.
    series: BTreeMap<String, Chart>,
    /// Conditions that did not hold, in sentences.
    pub failures: Vec<String>,
    /// Folder of the reports.
    #[serde(skip)]
    pub directory: PathBuf,
    #[serde(skip)]
    page: String,
}

impl ExperimentReport {
    pub(crate) fn new(
        experiment: &Experiment,
        request: &RunParameters,
        run: &Run,
        calibration: &Calibration,
        findings: Findings,
    ) -> Self {
        let suffix = run.sink.kind.suffix();
        // JSON has no NaN and no infinity, and readers take null for 0. The absence of such a figure is one of the failures.
        let finite = findings.figures.into_iter().filter(|(_, value)| value.is_finite());
        let figures = finite.map(|(name, value)| (name + suffix, value)).collect();
        let mut budgets = findings.judged;
        budgets.iter_mut().for_each(|judged| judged.figure += suffix);
        let mut outcome = Self {
            experiment: experiment.name.to_owned(),
            commit: run.commit.clone(),
            machine: machine::machine(),
            load: machine::load(),
            command: request.command.clone(),
            sink: run.sink.kind.as_str().to_owned(),
            uso: run.sink.uso,
            quick: run.quick,
            figures,
            budgets,
            references: run.references.samples(),
            series: findings.series,
            failures: findings.failures,
            directory: run.out.clone(),
            page: String::new(),
        };
        outcome.page = outcome.page(experiment, calibration, findings.sections);
        outcome
    }

    /// The figures as one JSON object.
    #[must_use]
    pub fn figures_json(&self) -> String {
        serde_json::to_string(&self.figures).expect("names and numbers")
    }

    /// Writes both reports.
    pub(crate) fn write(&self) -> Result<(), ExperimentError> {
        let json = serde_json::to_string_pretty(self).expect("text and numbers");
        for (name, text) in [("report.json", &json), ("report.html", &self.page)] {
            let path = self.directory.join(name);
            fs::write(&path, text).map_err(|source| ExperimentError::File { path, source })?;
        }
        Ok(())
    }

    fn page(&self, experiment: &Experiment, calibration: &Calibration, sections: Vec<Section>) -> String {
        let mut report = Report::new(experiment.name, experiment.question);
        report.fact("commit", self.commit.as_str());
        report.fact("machine", self.machine.as_str());
        report.fact("load average", self.load);
        report.fact("command", self.command.as_str());
        let sink = match (self.sink.as_str(), self.uso) {
            ("lo", _) => "loopback: the clients' receiving is charged to the server, figures end in _lo",
            (_, true) => "TUN between two network namespaces, with segmentation offload (USO)",
            (_, false) => "TUN between two network namespaces, without segmentation offload (USO)",
        };
        report.fact("sink", sink);
        report.fact(
            "calibrator L",
            format!(
                "{} µs of CPU for a datagram of {DATAGRAM_BYTES} bytes to {DESTINATIONS} destinations, the median of the run; {} % lost",
                report::number(calibration.l_us),
                report::number(calibration.lost * 100.0)
            ),
        );
        report.fact("figures", Cell::link("report.json", "report.json"));
        if self.quick {
            report.section(
                Section::new("A quick run")
                    .text("A check that every figure is produced. The figures are no measurements."),
            );
        }
        if !self.failures.is_empty() {
            report.section(Section::new("Failures").verbatim(&(self.failures.join("\n") + "\n")));
        }
        sections.into_iter().for_each(|section| report.section(section));
        let mut table = Table::new(vec![Column::text("figure"), Column::number("value", "")]);
        for (name, value) in &self.figures {
            table.row(vec![name.as_str().into(), (*value).into()]);
        }
        report.section(Section::new("All figures").table(table));
        report.to_html()
    }
}
