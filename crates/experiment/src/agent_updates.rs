//! `agent-updates`: the cost of agent updates, by posture, sender and filter.
//!
//! Clients send agent updates ten times a second even without a key press, and some updates differ slightly each time. The field's
//! published chart compares a server without a filter, with one for equal updates and with one for insignificant differences, for bots
//! that sit or stand. This experiment adds walking bots, steady senders, more bots and other rates. The bots stay logged in: behaviour
//! and sender are changed by command, the filter at run time.

use crate::bots::Bots;
use crate::error::ExperimentError;
use crate::findings::{Chart, ChartLine, Findings};
use crate::meter::{Sampler, Window};
use crate::server::Server;
use crate::{Experiment, Run, clock};
use report::{Column, Section, Table};
use std::time::Duration;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "agent-updates",
    question: "What do agent updates cost the server, by behaviour of the clients and by filter?",
    run,
    figures,
};

const COUNTS: [u32; 6] = [10, 50, 100, 200, 500, 1_000];
const COUNTS_QUICK: [u32; 1] = [5];

/// Duration of a condition at the largest count.
const WINDOW: Duration = Duration::from_secs(15);

/// Duration of a condition at the other counts. All 72 conditions for 15 s would take 18 minutes, and a run has 15.
const WINDOW_SMALL: Duration = Duration::from_secs(7);

const WINDOW_QUICK: Duration = Duration::from_secs(1);

/// Time for bots to obey a command: three updates for a posture, some steps for a walk.
const SETTLE_BEHAVIOR: Duration = Duration::from_secs(2);

/// Settling time of a switched sender or filter. Waiting for the server's next export adds up to a second.
const SETTLE_CONDITION: Duration = Duration::from_millis(250);

const POSTURES: [&str; 3] = ["sit", "stand", "walk"];

/// Updates a second that viewers send.
const RATE_HZ: u32 = 10;

/// Other rates, measured with standing bots at the largest count.
const OTHER_RATES_HZ: [u32; 2] = [1, 60];

/// Sender and filter of a measurement.
#[derive(Clone, Copy, Debug)]
struct SenderSetup {
    key: &'static str,
    title: &'static str,
    sender: &'static str,
    filter: &'static str,
}

/// In the order of measuring; each differs from the one before in as little as can be.
const CONDITIONS: [SenderSetup; 4] = [
    SenderSetup { key: "stable", title: "stable", sender: "stable", filter: "significance" },
    SenderSetup {
        key: "unstable_significance",
        title: "unstable, filter significance",
        sender: "unstable",
        filter: "significance",
    },
    SenderSetup {
        key: "unstable_equality",
        title: "unstable, filter equality",
        sender: "unstable",
        filter: "equality",
    },
    SenderSetup { key: "unstable_off", title: "unstable, filter off", sender: "unstable", filter: "off" },
];

/// Measurements of each condition: name of the figure, title of the column, unit.
const MEASURES: [(&str, &str, &str); 5] = [
    ("cpu_us", "server CPU", "µs per bot and second"),
    ("accepted", "updates accepted", "per bot and second"),
    ("dropped", "updates dropped", "per bot and second"),
    ("packets_in", "packets in", "per bot and second"),
    ("packets_out", "packets out", "per bot and second"),
];

fn figures() -> Vec<String> {
    let mut names = vec!["bots".to_owned()];
    for condition in CONDITIONS {
        for (measure, ..) in MEASURES {
            names.extend(POSTURES.map(|posture| format!("{measure}_{posture}_{}", condition.key)));
            names.extend(OTHER_RATES_HZ.map(|rate| format!("{measure}_stand_{}_{rate}hz", condition.key)));
        }
    }
    names
}

/// One measured condition.
struct FilterFigures {
    posture: &'static str,
    rate_hz: u32,
    condition: SenderSetup,
    count: u32,
    /// In the order of [`MEASURES`].
    values: [f64; MEASURES.len()],
}

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let counts = run.pick(&COUNTS[..], &COUNTS_QUICK);
    let largest = counts[counts.len() - 1];
    let server = Server::start(run, "server")?;
    let sampler = Sampler::start(server.pid())?;
    let mut bots = Bots::start(run, &server, "bots", largest, &["--behavior", "sit"])?;
    let mut cells = Vec::new();
    for &count in counts {
        bots.command(&format!("enter {count}"))?;
        let window = if count == largest { WINDOW } else { WINDOW_SMALL };
        for posture in POSTURES {
            bots.command(&format!("behavior {posture}"))?;
            clock::wait(run.pick(SETTLE_BEHAVIOR, SETTLE_CONDITION));
            let place = FixedSetup { posture, rate_hz: RATE_HZ, count };
            run.references.sample();
            measure(&server, &mut bots, place, run.pick(window, WINDOW_QUICK), &mut cells)?;
        }
    }
    bots.command("behavior stand")?;
    clock::wait(run.pick(SETTLE_BEHAVIOR, SETTLE_CONDITION));
    for rate_hz in OTHER_RATES_HZ {
        bots.command(&format!("rate {rate_hz}"))?;
        let place = FixedSetup { posture: "stand", rate_hz, count: largest };
        run.references.sample();
        measure(&server, &mut bots, place, run.pick(WINDOW_SMALL, WINDOW_QUICK), &mut cells)?;
    }
    let report = bots.leave()?;
    let samples = sampler.finish();
    server.stop()?;

    let mut findings = Findings::default();
    findings.figure("bots", largest.into());
    if report.logins_failed + report.circuits_lost > 0 {
        findings.failures.push(format!(
            "{} logins failed and {} circuits were lost: {:?}",
            report.logins_failed, report.circuits_lost, report.failures
        ));
    }
    report_conditions(&cells, largest, &mut findings);
    findings.usage("server", "The server over the run", &samples);
    Ok(findings)
}

/// The constant part of all conditions.
#[derive(Clone, Copy)]
struct FixedSetup {
    posture: &'static str,
    rate_hz: u32,
    count: u32,
}

fn measure(
    server: &Server,
    bots: &mut Bots,
    place: FixedSetup,
    duration: Duration,
    cells: &mut Vec<FilterFigures>,
) -> Result<(), ExperimentError> {
    for condition in CONDITIONS {
        bots.command(&format!("sender {}", condition.sender))?;
        server.tune("gateway.agent_update_filter", condition.filter)?;
        clock::wait(SETTLE_CONDITION);
        let window = Window::of(server, duration)?;
        let updates = |outcome| window.rate_with("throng_agent_updates_total", "outcome", outcome);
        let datagrams = |outcome| window.rate_with("throng_datagrams_total", "outcome", outcome);
        let per_bot = |value: f64| value / f64::from(place.count);
        let values = [
            window.cpu_s_per_s() * 1e6,
            updates("accepted"),
            updates("dropped"),
            datagrams("received"),
            datagrams("sent"),
        ];
        cells.push(FilterFigures {
            posture: place.posture,
            rate_hz: place.rate_hz,
            condition,
            count: place.count,
            values: values.map(per_bot),
        });
    }
    Ok(())
}

/// Figures of the largest count and of the other rates, charts and tables of everything.
fn report_conditions(cells: &[FilterFigures], largest: u32, findings: &mut Findings) {
    for cell in cells.iter().filter(|cell| cell.count == largest) {
        for ((measure, ..), value) in MEASURES.into_iter().zip(cell.values) {
            let rate = if cell.rate_hz == RATE_HZ { String::new() } else { format!("_{}hz", cell.rate_hz) };
            findings.figure(format!("{measure}_{}_{}{rate}", cell.posture, cell.condition.key), value);
        }
    }
    for posture in POSTURES {
        let of_posture =
            || cells.iter().filter(move |cell| cell.posture == posture && cell.rate_hz == RATE_HZ);
        let lines = CONDITIONS.map(|condition| {
            let points = of_posture().filter(|cell| cell.condition.key == condition.key);
            ChartLine {
                name: condition.title.to_owned(),
                points: points.map(|cell| (cell.count.into(), cell.values[0])).collect(),
            }
        });
        let chart = Chart {
            title: format!("Bots that {posture}"),
            x: ("bots".to_owned(), String::new()),
            y: ("server CPU".to_owned(), MEASURES[0].2.to_owned()),
            is_log: true,
            lines: lines.into(),
        };
        let plot = findings.chart(&format!("cpu_us_{posture}"), chart);
        findings.sections.push(
            Section::new(&format!("Bots that {posture}, {RATE_HZ} updates a second each"))
                .line_plot(plot)
                .table(table(of_posture())),
        );
    }
    let others = cells.iter().filter(|cell| cell.rate_hz != RATE_HZ);
    findings
        .sections
        .push(Section::new(&format!("{largest} bots that stand, at other rates")).table(table(others)));
}

fn table<'a>(cells: impl Iterator<Item = &'a FilterFigures>) -> Table {
    let mut columns =
        vec![Column::text("sender and filter"), Column::number("bots", ""), Column::number("rate", "Hz")];
    columns.extend(MEASURES.map(|(_, title, _)| Column::number(title, "")));
    let mut table = Table::new(columns)
        .caption("Per bot and second; CPU in µs. Accepted updates reached a world or changed a view.");
    for cell in cells {
        let mut row = vec![cell.condition.title.into(), cell.count.into(), cell.rate_hz.into()];
        row.extend(cell.values.map(report::Cell::from));
        table.row(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_cells_yield_every_figure() {
        let mut cells = Vec::new();
        for (postures, rate_hz) in [(&POSTURES[..], RATE_HZ), (&["stand"], 1), (&["stand"], 60)] {
            for &posture in postures {
                cells.extend(CONDITIONS.map(|condition| FilterFigures {
                    posture,
                    rate_hz,
                    condition,
                    count: 5,
                    values: [1.0; 5],
                }));
            }
        }
        let mut findings = Findings::default();
        findings.figure("bots", 5.0);
        report_conditions(&cells, 5, &mut findings);
        let yielded: Vec<&String> = findings.figures.keys().collect();
        let mut expected = figures();
        expected.sort();
        assert_eq!(yielded, expected.iter().collect::<Vec<_>>());
    }
}
