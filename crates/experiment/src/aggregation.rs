//! `aggregation`: the gain from many updates in one datagram, and the cost of the other steps of sending.
//!
//! All avatars see all, without a visible set or limits, as in the field's published tables: each walker is sent to all clients ten
//! times a second. The bots stay logged in while conditions change at run time (`POST /v1/tune`), so that conditions of one count
//! differ in nothing else.

use crate::bots::Bots;
use crate::budget::{self, FigureLimit, Limit, budget};
use crate::crowd::{NO_CAP_BYTES_PER_S, NO_THROTTLE_BITS_PER_S, await_scenery};
use crate::error::ExperimentError;
use crate::findings::{Chart, ChartLine, Findings};
use crate::meter::{Sampler, Window};
use crate::server::Server;
use crate::{Experiment, Run, clock};
use report::{Column, Section, Table};
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "aggregation",
    question: "How much CPU time does aggregation of updates into one datagram save?",
    run,
    figures,
};

const COUNTS: [u32; 6] = [10, 50, 100, 200, 500, 1_000];
const COUNTS_QUICK: [u32; 6] = [2, 3, 4, 5, 6, 7];
const BOXES: u32 = 10_000;
const BOXES_QUICK: u32 = 50;

const WINDOW: Duration = Duration::from_secs(12);
const WINDOW_QUICK: Duration = Duration::from_secs(1);
/// Measured this often in turn, and reported by the median: one window of this machine says little.
const ROUNDS: usize = 3;
/// The judged count, measured in several rounds. Others are measured once.
const JUDGED: usize = 2;
/// Time for new bots to be displayed to all clients and to set out.
const SETTLE: Duration = Duration::from_secs(15);
const SETTLE_QUICK: Duration = Duration::from_secs(1);
/// Settling time of a condition. Waiting for the server's next export adds up to a second.
const SETTLE_CONDITION: Duration = Duration::from_millis(500);
const SETTLE_CONDITION_QUICK: Duration = Duration::from_millis(50);

/// Figures that the authors of OpenSim's aggregation published for 100 moving avatars: packets a second, bytes of each, cores.
const PUBLISHED: Published = Published { avatars: 100, packets: 22_863.0, bytes: 394.0, cores: 1.5 };
/// Their packets: 18 bytes of header and prefix, and 63 for each update.
const HEADERS_BYTES: f64 = 18.0;
const UPDATE_BYTES: f64 = 63.0;
/// Required ratio of their cost per update to ours. Eight runs on several machines had 24 to 43.
const TIMES_CHEAPER: f64 = 25.0;

struct Published {
    avatars: u32,
    packets: f64,
    bytes: f64,
    cores: f64,
}

impl Published {
    fn updates(&self) -> f64 {
        self.packets * (self.bytes - HEADERS_BYTES) / UPDATE_BYTES
    }

    /// 11 µs.
    fn ns_per_update(&self) -> f64 {
        self.cores / self.updates() * 1e9
    }
}

/// One way to send.
struct SendingMode {
    key: &'static str,
    title: &'static str,
    /// Keys of section `gateway` that differ from the defaults.
    keys: &'static [(&'static str, i64)],
    /// Places in [`COUNTS`] where it is measured. Where each update goes alone, 500 avatars would need six cores.
    at: &'static [usize],
}

const CONDITIONS: [SendingMode; 10] = [
    SendingMode { key: "on", title: "as usual", keys: &[], at: &[0, 1, 2, 3, 4, 5] },
    SendingMode {
        key: "off",
        title: "each update alone",
        keys: &[("terse_per_datagram", 1), ("full_per_datagram", 1), ("objects_per_datagram", 1)],
        at: &[0, 1, 2, 3],
    },
    SendingMode { key: "two", title: "two in a datagram", keys: &[("terse_per_datagram", 2)], at: &[3] },
    SendingMode { key: "six", title: "six in a datagram", keys: &[("terse_per_datagram", 6)], at: &[2] },
    SendingMode {
        key: "bytes400",
        title: "datagrams of 400 bytes",
        keys: &[("datagram_bytes", 400)],
        at: &[3],
    },
    SendingMode {
        key: "bytes800",
        title: "datagrams of 800 bytes",
        keys: &[("datagram_bytes", 800)],
        at: &[3],
    },
    SendingMode { key: "hz5", title: "5 sends a second", keys: &[("send_hz", 5)], at: &[3] },
    SendingMode { key: "hz20", title: "20 sends a second", keys: &[("send_hz", 20)], at: &[3] },
    SendingMode { key: "fresh", title: "buffers not reused", keys: &[("reuse_buffers", 0)], at: &[3, 5] },
    SendingMode { key: "again", title: "as usual, once more", keys: &[], at: &[5] },
];

/// The usual values of all keys that any condition sets.
const USUAL: [(&str, i64); 6] = [
    ("terse_per_datagram", 18),
    ("full_per_datagram", 8),
    ("objects_per_datagram", 80),
    ("datagram_bytes", 1_200),
    ("send_hz", 10),
    ("reuse_buffers", 1),
];

/// Measurements of each condition: name of the figure, title of the column, unit.
const MEASURES: [(&str, &str, &str); 7] = [
    ("cores", "server", "cores"),
    ("updates", "movements", "1/s"),
    ("packets", "packets", "1/s"),
    ("blocks", "movements in a datagram", ""),
    ("bytes", "mean packet", "bytes"),
    ("mbit", "to all", "Mbit/s"),
    ("ns", "CPU of a movement", "ns"),
];

/// The limit follows no reference: over 20 windows of one run (319 to 568 ns) the correlation was 0.22 with L, -0.02 with the CPU
/// reference and 0.52 with the memory reference. A quarter of the server's time among 100 avatars are switches to woken threads.
fn budgets() -> [FigureLimit; 2] {
    [
        budget(
            "ns_on_100",
            "server CPU per delivered update, 100 all see all",
            "ns",
            Limit::AtMost(PUBLISHED.ns_per_update() / TIMES_CHEAPER),
        ),
        budget("circuits_lost", "circuits lost", "", Limit::AtMost(0.0)),
    ]
}

fn figures() -> Vec<String> {
    let mut names = vec!["circuits_lost".to_owned()];
    for condition in &CONDITIONS {
        for (measure, ..) in MEASURES {
            names.extend(condition.at.iter().map(|&at| name_of(measure, condition, COUNTS[at])));
        }
    }
    names
}

fn name_of(measure: &str, condition: &SendingMode, count: u32) -> String {
    format!("{measure}_{}_{count}", condition.key)
}

/// Movements that were sent.
const MOVEMENTS: &str = "throng_terse_sent_total";

/// In the order of [`MEASURES`].
type Values = [f64; MEASURES.len()];

/// One measured condition.
struct ConditionFigures {
    condition: &'static SendingMode,
    /// As in whole runs.
    count: u32,
    values: Values,
}

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let counts = run.pick(COUNTS, COUNTS_QUICK);
    let settings = format!(
        "size_m = 512\nboxes = {}\n\n[gateway]\nclient_bytes_per_s = {NO_CAP_BYTES_PER_S}\nsend_hz = 10\nvisible_max = 0\n\
         dead_reckoning = false\n",
        run.pick(BOXES, BOXES_QUICK)
    );
    let server = Server::start_with(run, "server", "", &settings)?;
    let sampler = Sampler::start(server.pid())?;
    let options = ["--behavior", "roam", "--throttle", NO_THROTTLE_BITS_PER_S];
    let mut bots = Bots::start(run, &server, "bots", counts[counts.len() - 1], &options)?;
    let mut findings = Findings::default();
    let mut cells = Vec::new();
    for (at, count) in counts.into_iter().enumerate() {
        bots.command(&format!("enter {count}"))?;
        await_scenery(&server, count, &mut findings)?;
        clock::wait(run.pick(SETTLE, SETTLE_QUICK));
        let conditions = || CONDITIONS.iter().filter(|condition| condition.at.contains(&at));
        let mut measured: Vec<Vec<Values>> = conditions().map(|_| Vec::new()).collect();
        for _ in 0..if at == JUDGED { run.pick(ROUNDS, 1) } else { 1 } {
            for (condition, measured) in conditions().zip(&mut measured) {
                measured.push(measure(run, &server, condition)?);
            }
        }
        for (condition, measured) in conditions().zip(measured) {
            cells.push(ConditionFigures { condition, count: COUNTS[at], values: median(measured) });
        }
    }
    let report = bots.leave()?;
    let samples = sampler.finish();
    server.stop()?;

    findings.figure("circuits_lost", f64::from(report.circuits_lost + report.logins_failed));
    report_conditions(&cells, &mut findings);
    budget::judge(run, &budgets(), &mut findings);
    findings.usage("server", "The server over the run", &samples);
    Ok(findings)
}

/// One window of a condition.
fn measure(run: &Run, server: &Server, condition: &SendingMode) -> Result<Values, ExperimentError> {
    for (key, usual) in USUAL {
        let own = condition.keys.iter().find(|(own, _)| *own == key);
        server.tune(&format!("gateway.{key}"), value_of(key, own.map_or(usual, |(_, value)| *value)))?;
    }
    clock::wait(run.pick(SETTLE_CONDITION, SETTLE_CONDITION_QUICK));
    Ok(values(&run.window(server, run.pick(WINDOW, WINDOW_QUICK))?))
}

/// The window in the middle, by the CPU of a movement.
fn median(mut windows: Vec<Values>) -> Values {
    let ns = |values: &Values| values[MEASURES.len() - 1];
    windows.sort_by(|a, b| ns(a).total_cmp(&ns(b)));
    windows[windows.len() / 2]
}

fn value_of(key: &str, value: i64) -> Value {
    if key == "reuse_buffers" { json!(value != 0) } else { json!(value) }
}

fn values(window: &Window) -> Values {
    let cores = window.cpu_s_per_s();
    let updates = window.rate(MOVEMENTS);
    let packets = window.rate_with("throng_datagrams_total", "outcome", "sent");
    let bytes = window.rate_with("throng_datagram_bytes_total", "outcome", "sent");
    [
        cores,
        updates,
        packets,
        updates / window.rate("throng_terse_datagrams_total"),
        bytes / packets,
        bytes * 8.0 / 1e6,
        cores / updates * 1e9,
    ]
}

fn report_conditions(cells: &[ConditionFigures], findings: &mut Findings) {
    for cell in cells {
        for ((measure, ..), value) in MEASURES.into_iter().zip(cell.values) {
            findings.figure(name_of(measure, cell.condition, cell.count), value);
        }
    }
    let line = |condition: &SendingMode, measure: usize| ChartLine {
        name: condition.title.to_owned(),
        points: cells
            .iter()
            .filter(|cell| cell.condition.key == condition.key)
            .map(|cell| (f64::from(cell.count), cell.values[measure]))
            .collect(),
    };
    let mut section = Section::new("All see all");
    for (measure, published) in [(0, PUBLISHED.cores), (2, PUBLISHED.packets)] {
        let (name, title, unit) = MEASURES[measure];
        let mut lines: Vec<ChartLine> =
            CONDITIONS[..2].iter().map(|condition| line(condition, measure)).collect();
        let published = vec![(f64::from(PUBLISHED.avatars), published)];
        lines.push(ChartLine { name: "OpenSim with aggregation, published".to_owned(), points: published });
        let chart = Chart {
            title: title.to_owned(),
            x: ("avatars".to_owned(), String::new()),
            y: (title.to_owned(), unit.to_owned()),
            is_log: true,
            lines,
        };
        section = section.line_plot(findings.chart(name, chart));
    }
    findings.sections.push(section.table(table(cells)));
}

fn table(cells: &[ConditionFigures]) -> Table {
    let mut columns = vec![Column::text("sent"), Column::number("avatars", "")];
    columns.extend(MEASURES.map(|(_, title, unit)| Column::number(title, unit)));
    let mut table = Table::new(columns).caption(
        "All avatars walk all the time. As usual, updates of distant avatars wait for a full datagram, up to three sends: with few avatars, \
         movements replaced by newer ones meanwhile are left out. The first row has the figures published by the authors of OpenSim's \
         aggregation.",
    );
    let Published { avatars, packets, bytes, cores } = PUBLISHED;
    let updates = PUBLISHED.updates();
    let published = [
        cores,
        updates,
        packets,
        updates / packets,
        bytes,
        bytes * packets * 8.0 / 1e6,
        PUBLISHED.ns_per_update(),
    ];
    let mut row = |title: &str, count: u32, values: Values| {
        let mut cells = vec![title.into(), count.into()];
        cells.extend(values.map(report::Cell::from));
        table.row(cells);
    };
    row("OpenSim, published", avatars, published);
    for cell in cells {
        row(cell.condition.title, cell.count, cell.values);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_cells_yield_every_figure() {
        let mut cells = Vec::new();
        for condition in &CONDITIONS {
            let counts = condition.at.iter().map(|&at| COUNTS[at]);
            cells.extend(counts.map(|count| ConditionFigures {
                condition,
                count,
                values: [1.0; MEASURES.len()],
            }));
        }
        let mut findings = Findings::default();
        findings.figure("circuits_lost", 0.0);
        report_conditions(&cells, &mut findings);
        let yielded: Vec<&String> = findings.figures.keys().collect();
        let mut expected = figures();
        expected.sort();
        assert_eq!(yielded, expected.iter().collect::<Vec<_>>());
        for budget in budgets() {
            assert!(findings.figures.contains_key(budget.figure), "{}", budget.figure);
        }
    }

    #[test]
    fn the_window_in_the_middle_is_reported() {
        let window = |ns: f64| [0.0, 0.0, 0.0, 0.0, 0.0, -ns, ns];
        assert_eq!(median([3.0, 1.0, 2.0].map(window).to_vec()), window(2.0));
        assert_eq!(median(vec![window(5.0)]), window(5.0));
    }

    #[test]
    fn keys_set_by_a_condition_are_reset_by_the_others() {
        for condition in &CONDITIONS {
            for (key, _) in condition.keys {
                assert!(USUAL.iter().any(|(usual, _)| usual == key), "{key}");
            }
        }
    }

    #[test]
    fn the_published_update_cost_eleven_microseconds() {
        assert!((PUBLISHED.ns_per_update() - 11_000.0).abs() < 100.0, "{}", PUBLISHED.ns_per_update());
    }
}
