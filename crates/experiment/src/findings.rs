//! Results of an experiment: figures for machines, charts and sections for readers, and failures.

use crate::usage::ProcessUsage;
use report::{Axis, LinePlot, SERIES_MAX, Section, Series};
use serde::Serialize;
use std::collections::BTreeMap;

/// Lines over a common axis, kept as numbers and shown as a plot.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// Quantity of the x axis, and its unit.
    pub(crate) x: (String, String),
    /// Quantity of the y axis, and its unit.
    pub(crate) y: (String, String),
    #[serde(skip)]
    pub(crate) is_log: bool,
    /// By name, in the order of the legend.
    pub(crate) lines: Vec<ChartLine>,
}

/// One line of a chart.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ChartLine {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

impl Chart {
    pub(crate) fn plot(&self) -> LinePlot {
        let axis = |(label, unit): &(String, String)| {
            if self.is_log { Axis::log(label, unit) } else { Axis::linear(label, unit) }
        };
        let plot = LinePlot::new(&self.title, axis(&self.x), axis(&self.y));
        let shown = self.lines.iter().take(SERIES_MAX);
        shown.fold(plot, |plot, line| plot.series(Series::new(&line.name, line.points.clone())))
    }
}

/// A budget as it was applied to a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Judged {
    pub(crate) figure: String,
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    /// True for an upper limit.
    pub(crate) is_most: bool,
    /// With the run's references put in.
    pub(crate) limit: f64,
    /// Among the failures of the run, if it is one.
    pub(crate) failure: Option<String>,
}

/// Everything that an experiment found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// By name, without the sink's suffix.
    pub(crate) figures: BTreeMap<String, f64>,
    /// By a name for machines.
    pub(crate) series: BTreeMap<String, Chart>,
    pub(crate) sections: Vec<Section>,
    /// Conditions that did not hold, in sentences.
    pub(crate) failures: Vec<String>,
    /// Budgets as they were applied.
    pub(crate) judged: Vec<Judged>,
}

impl Findings {
    pub(crate) fn figure(&mut self, name: impl Into<String>, value: f64) {
        self.figures.insert(name.into(), value);
    }

    /// Adds those of another part. Of two figures of one name the other part's stays.
    pub(crate) fn add(&mut self, found: Self) {
        let Self { figures, series, sections, failures, judged } = found;
        self.figures.extend(figures);
        self.series.extend(series);
        self.sections.extend(sections);
        self.failures.extend(failures);
        self.judged.extend(judged);
    }

    /// Keeps a chart under a name and gives its plot.
    pub(crate) fn chart(&mut self, name: &str, chart: Chart) -> LinePlot {
        let plot = chart.plot();
        self.series.insert(name.to_owned(), chart);
        plot
    }

    /// Adds the resources of a process over the run, by thread, as charts and a section.
    pub(crate) fn usage(&mut self, key: &str, title: &str, samples: &[(f64, ProcessUsage)]) {
        let mut lines: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        for pair in samples.windows(2) {
            let [(before_at, before), (at, usage)] = pair else { unreachable!("windows of two") };
            for (thread, ran_ns) in usage.ran_ns_since(before) {
                let percent = ran_ns as f64 / 1e9 / (at - before_at) * 100.0;
                lines.entry(thread.to_owned()).or_default().push((*at, percent));
            }
        }
        let mut lines: Vec<ChartLine> =
            lines.into_iter().map(|(name, points)| ChartLine { name, points }).collect();
        // The busiest first, since a plot holds a limited number; threads that hardly run are left out.
        let total = |line: &ChartLine| line.points.iter().map(|point| point.1).sum::<f64>();
        lines.retain(|line| total(line) > 0.1 * line.points.len() as f64);
        lines.sort_by(|a, b| total(b).total_cmp(&total(a)));
        let time = || ("time".to_owned(), "s".to_owned());
        let cpu = Chart {
            title: format!("{title}: CPU by thread"),
            x: time(),
            y: ("of a core".to_owned(), "%".to_owned()),
            is_log: false,
            lines,
        };
        let memory = Chart {
            title: format!("{title}: resident memory"),
            x: time(),
            y: ("memory".to_owned(), "MiB".to_owned()),
            is_log: false,
            lines: vec![ChartLine {
                name: "resident".to_owned(),
                points: samples
                    .iter()
                    .map(|(at, usage)| (*at, usage.rss_bytes as f64 / 1_048_576.0))
                    .collect(),
            }],
        };
        let cpu = self.chart(&format!("{key}_cpu_percent"), cpu);
        let memory = self.chart(&format!("{key}_rss_mib"), memory);
        self.sections.push(Section::new(title).line_plot(cpu).line_plot(memory));
    }
}
