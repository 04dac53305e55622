//! `recorder`: costs of the flight recorder.
//!
//! A process of the same build measures its own recorder (`throng measure-recorder`, `telemetry::probe`): the cost of a scope beyond
//! its two timestamps, and the effect of a capture in progress on a recording thread. Then a server is filled with walking bots, and
//! counts the scopes that it records. Captures of that server prove that it records the scopes needed for a diagnosis.

use crate::bots::Bots;
use crate::budget::{FigureLimit, FigureList, Limit, budget};
use crate::child::{self, Running};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter::{Sampler, Window};
use crate::server::Server;
use crate::{Experiment, Run, clock};
use report::{Cell, Column, Section, Table, Verdict};
use serde::Deserialize;
use std::fs;
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "recorder",
    question: "What does the flight recorder cost, and does a save delay recording threads?",
    run,
    figures: || FIGURES.names(),
};

const BOTS: u32 = 1_000;
const BOTS_QUICK: u32 = 6;

/// Duration of counting scopes.
const WINDOW: Duration = Duration::from_secs(60);
const WINDOW_QUICK: Duration = Duration::from_secs(4);

/// Walkers have found their ways by then.
const SETTLE: Duration = Duration::from_secs(10);
const SETTLE_QUICK: Duration = Duration::from_secs(1);

/// Arguments of the measuring process: batches of scopes, rounds of quiet and saving, seconds of each of the two.
const MEASURE: [&str; 3] = ["20000", "10", "3s"];
const MEASURE_QUICK: [&str; 3] = ["200", "1", "500ms"];

const BUDGETS: [FigureLimit; 4] = [
    budget("scope_extra_ns", "a scope beyond its two timestamps", "ns", Limit::AtMost(12.0)),
    budget("recorder_share", "recording, of a core", "", Limit::AtMost(0.005)),
    budget("save_stall_ratio", "p99.99 of recording during a save ÷ without", "", Limit::AtMost(1.5)),
    budget("save_waits", "waits of recording during saves", "", Limit::AtMost(0.0)),
];

const FIGURES: FigureList = FigureList {
    limited: &[&BUDGETS],
    others: &["timestamp_ns", "scopes_per_s", "scope_extra_flat_ns", "scope_idle_ns", "frame_end_ns", "bots"],
};

/// The used part of the output of `throng measure-recorder`.
#[derive(Clone, Debug, Deserialize)]
struct RecorderBenchmark {
    cost: ScopeCost,
    stall: Stall,
}

#[derive(Clone, Debug, Deserialize)]
struct ScopeCost {
    timestamp_ns: f64,
    scope_extra_ns: f64,
    scope_extra_flat_ns: f64,
    scope_idle_ns: f64,
    frame_end_ns: f64,
    batches: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct Stall {
    quiet_p9999_ns: Vec<f64>,
    saving_p9999_ns: Vec<f64>,
    p50_ns: [f64; 2],
    waits: u64,
    saves: u64,
    saved_slices: u64,
    saved_bytes: u64,
    batches: u64,
    batch_scopes: u64,
}

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let mut findings = Findings::default();
    let measured = measure(run)?;
    report_benchmark(&measured, &mut findings);

    let bots = run.pick(BOTS, BOTS_QUICK);
    let server = Server::start(run, "server")?;
    let sampler = Sampler::start(server.pid())?;
    let mut walkers = Bots::start(run, &server, "walkers", bots, &["--behavior", "walk"])?;
    walkers.command(&format!("enter {bots}"))?;
    // The last seconds have logins in them.
    let arriving = CaptureFile::take(&server)?;
    clock::wait(run.pick(SETTLE, SETTLE_QUICK));
    let window = run.window(&server, run.pick(WINDOW, WINDOW_QUICK))?;
    let walking = CaptureFile::take(&server)?;
    let report = walkers.leave()?;
    let samples = sampler.finish();
    server.stop()?;

    findings.figure("bots", bots.into());
    if report.logins_failed + report.circuits_lost > 0 {
        findings.failures.push(format!(
            "{} logins failed and {} circuits were lost: {:?}",
            report.logins_failed, report.circuits_lost, report.failures
        ));
    }
    let scopes_per_s = window.rate("throng_recorder_scopes_total");
    findings.figure("scopes_per_s", scopes_per_s);
    findings.figure("recorder_share", share(scopes_per_s, &measured.cost));
    let lost = window.rate("throng_recorder_events_lost_total");
    if lost > 0.0 {
        findings.failures.push(format!("{} scopes a second were not recorded", report::number(lost)));
    }
    demand(&demands(&arriving, &walking, &window, bots), &mut findings);
    report_costs(&walking, &mut findings);
    FIGURES.judge(run, &mut findings);
    findings.usage("server", "The server over the run", &samples);
    Ok(findings)
}

/// Share of a core: each scope with both of its timestamps.
fn share(scopes_per_s: f64, cost: &ScopeCost) -> f64 {
    scopes_per_s * 2.0f64.mul_add(cost.timestamp_ns, cost.scope_extra_ns) / 1e9
}

/// Has a process of the same build measure itself, before anything else runs.
fn measure(run: &Run) -> Result<RecorderBenchmark, ExperimentError> {
    let log = run.out.join("measure.log");
    let [batches, rounds, phase] = run.pick(MEASURE, MEASURE_QUICK);
    let mut command = child::command(&run.executable, run.executable.as_os_str(), &log)?;
    command.args(["measure-recorder", "--batches", batches, "--rounds", rounds, "--phase", phase]);
    command.arg("--dir").arg(run.out.join("measured-captures")).stdout(Stdio::piped());
    let child = command
        .spawn()
        .map_err(|source| ExperimentError::Start { what: "the measuring process".to_owned(), source })?;
    let mut process = Running { what: "the measuring process".to_owned(), child, log };
    let mut text = String::new();
    let output = process.child.stdout.as_mut().expect("it is piped");
    let read = output.read_to_string(&mut text);
    let status = process.wait()?;
    if read.is_err() || !status.success() {
        return Err(process.error(format!("ended with {status}")));
    }
    serde_json::from_str(&text).map_err(|error| process.error(format!("printed {text:?}: {error}")))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn report_benchmark(measured: &RecorderBenchmark, findings: &mut Findings) {
    let RecorderBenchmark { cost, stall } = measured;
    findings.figure("timestamp_ns", cost.timestamp_ns);
    findings.figure("scope_extra_ns", cost.scope_extra_ns);
    findings.figure("scope_extra_flat_ns", cost.scope_extra_flat_ns);
    findings.figure("scope_idle_ns", cost.scope_idle_ns);
    findings.figure("frame_end_ns", cost.frame_end_ns);
    findings.figure("save_stall_ratio", median(&stall.saving_p9999_ns) / median(&stall.quiet_p9999_ns));
    findings.figure("save_waits", stall.waits as f64);

    let columns = || vec![Column::text("operation"), Column::number("CPU", "ns")];
    let mut table =
        Table::new(columns()).caption(&format!("Medians of {} batches of each operation.", cost.batches));
    table.row(vec!["reading the clock".into(), cost.timestamp_ns.into()]);
    table.row(vec!["a scope beyond its two timestamps, nested".into(), cost.scope_extra_ns.into()]);
    table.row(vec!["the same, side by side".into(), cost.scope_extra_flat_ns.into()]);
    table.row(vec!["a scope on a thread that records nothing".into(), cost.scope_idle_ns.into()]);
    table.row(vec!["the end of a frame".into(), cost.frame_end_ns.into()]);
    findings.sections.push(Section::new("A scope").table(table));

    let mut table = Table::new(vec![
        Column::number("round", ""),
        Column::number("p99.99 without a save", "ns"),
        Column::number("p99.99 during saves", "ns"),
    ])
    .caption(&format!(
        "CPU of {} scopes. The medians of all {} batches are {} and {} ns. {} captures of {} slices and {} MB were saved meanwhile; \
         the recording thread waited {} times.",
        stall.batch_scopes,
        stall.batches,
        report::number(stall.p50_ns[0]),
        report::number(stall.p50_ns[1]),
        stall.saves,
        stall.saved_slices,
        stall.saved_bytes / 1_000_000,
        stall.waits,
    ));
    for (n, (quiet, saving)) in stall.quiet_p9999_ns.iter().zip(&stall.saving_p9999_ns).enumerate() {
        table.row(vec![((n + 1) as f64).into(), (*quiet).into(), (*saving).into()]);
    }
    findings.sections.push(Section::new("A save beside a thread that records").table(table));
}

/// The used part of a capture's summary.
#[derive(Clone, Debug, Deserialize)]
struct CaptureFile {
    window_ns: u64,
    costs: SystemCosts,
}

#[derive(Clone, Debug, Deserialize)]
struct SystemCosts {
    systems: Vec<SystemCost>,
}

#[derive(Clone, Debug, Deserialize)]
struct SystemCost {
    name: String,
    count: u64,
    self_ns: u64,
}

impl CaptureFile {
    /// Has a server take one, as operators do.
    fn take(server: &Server) -> Result<Self, ExperimentError> {
        #[derive(Deserialize)]
        struct CaptureName {
            name: String,
        }
        let answer = server.order("/v1/captures", serde_json::json!({}))?;
        let unreadable = |error: serde_json::Error| ExperimentError::Operator {
            path: "/v1/captures".to_owned(),
            source: error.into(),
        };
        let CaptureName { name } = serde_json::from_str(&answer).map_err(unreadable)?;
        let path = server.data.join("captures").join(format!("{name}.json"));
        let text = fs::read_to_string(&path).map_err(|source| ExperimentError::File { path, source })?;
        serde_json::from_str(&text).map_err(unreadable)
    }

    fn count(&self, scope: &str) -> u64 {
        self.costs.systems.iter().filter(|system| system.name == scope).map(|system| system.count).sum()
    }

    fn seconds(&self) -> f64 {
        self.window_ns as f64 / 1e9
    }
}

/// Scopes that have to be there, and how many of them at least.
struct Demand {
    what: &'static str,
    scope: String,
    counted: u64,
    wanted: u64,
}

/// Phases of a step that every tick has.
const SYSTEMS: [&str; 4] = ["world.inbox", "world.movement", "world.tell", "world.resync"];

/// Turns of a client, `gateway.send_hz`.
const TURNS_PER_S: f64 = 10.0;
/// Datagrams of the largest batches, so that the server's count of datagrams says how many batches there were at least.
const RECEIVED_TOGETHER_MAX: f64 = 64.0;
const SENT_TOGETHER_MAX: f64 = 1_024.0;

/// Scopes that stand at the edge of a capture may be missing.
const EDGE: u64 = 3;

fn demands(arriving: &CaptureFile, walking: &CaptureFile, window: &Window, bots: u32) -> Vec<Demand> {
    let mut demands = Vec::new();
    // A capture reaches back as long as its threads remember; ticks of that time, by the server's own count.
    let ticks = window.rate("throng_world_tick_seconds_count") * walking.seconds();
    for scope in SYSTEMS.into_iter().chain(["world.frame"]) {
        let counted = walking.count(scope);
        let wanted = (0.9 * ticks) as u64;
        demands.push(Demand {
            what: "one for each system and tick",
            scope: scope.to_owned(),
            counted,
            wanted,
        });
    }
    let frames = walking.count("world.frame");
    for scope in SYSTEMS {
        let (counted, wanted) = (walking.count(scope), frames.saturating_sub(EDGE));
        demands.push(Demand { what: "as many as frames", scope: scope.to_owned(), counted, wanted });
    }
    let counted = |name: &str, outcome: &str| window.rate_with(name, "outcome", outcome) * walking.seconds();
    let turns = f64::from(bots) * TURNS_PER_S * walking.seconds();
    let batches = |outcome: &str, most: f64| 0.8 * counted("throng_datagrams_total", outcome) / most;
    for (what, scope, capture, wanted) in [
        ("one for each client's sending", "shard.client", walking, 0.8 * turns),
        (
            "one for each batch handed to the kernel",
            "shard.send",
            walking,
            batches("sent", SENT_TOGETHER_MAX),
        ),
        ("one for each batch received", "shard.receive", walking, batches("received", RECEIVED_TOGETHER_MAX)),
        ("passwords that are checked", "passwords.hash", arriving, 1.0),
    ] {
        let wanted = wanted as u64;
        demands.push(Demand { what, scope: scope.to_owned(), counted: capture.count(scope), wanted });
    }
    demands
}

/// Scopes that are missing are a failure in quick runs, too: it is no measurement.
fn demand(demands: &[Demand], findings: &mut Findings) {
    let mut table = Table::new(vec![
        Column::text("scope"),
        Column::text("demanded"),
        Column::number("at least", ""),
        Column::number("in the capture", ""),
        Column::text("there"),
    ]);
    for Demand { what, scope, counted, wanted } in demands {
        let holds = *counted >= (*wanted).max(1);
        if !holds {
            findings.failures.push(format!("a capture has {counted} scopes {scope}, of at least {wanted}"));
        }
        let verdict = if holds { (Verdict::Good, "yes") } else { (Verdict::Bad, "no") };
        table.row(vec![
            scope.as_str().into(),
            (*what).into(),
            (*wanted as f64).into(),
            (*counted as f64).into(),
            Cell::verdict(verdict.0, verdict.1),
        ]);
    }
    findings.sections.push(Section::new("Required scopes").table(table));
}

fn report_costs(capture: &CaptureFile, findings: &mut Findings) {
    let mut table = Table::new(vec![
        Column::text("scope"),
        Column::number("recorded", "per second"),
        Column::number("its own time", "ms per second"),
    ])
    .caption("Costs of scopes in the capture at the end of the window.");
    for system in &capture.costs.systems {
        let per_s = |value: f64| value / capture.seconds();
        table.row(vec![
            system.name.as_str().into(),
            per_s(system.count as f64).into(),
            per_s(system.self_ns as f64 / 1e6).into(),
        ]);
    }
    findings.sections.push(Section::new("Recorded scopes").table(table));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> RecorderBenchmark {
        let text = r#"{"cost":{"timestamp_ns":20.0,"scope_extra_ns":10.0,"scope_extra_flat_ns":9.0,"scope_idle_ns":2.0,
            "frame_end_ns":50.0,"batches":3,"batch_scopes":510},"stall":{"quiet_p9999_ns":[900.0,1000.0,5000.0],
            "saving_p9999_ns":[1100.0,100.0,9000.0],"p50_ns":[600.0,610.0],"waits":0,"saves":4,"saved_slices":1000,
            "saved_bytes":50000,"batches":100,"batch_scopes":8}}"#;
        serde_json::from_str(text).expect("what measure-recorder prints")
    }

    fn capture(counts: &[(&str, u64)]) -> CaptureFile {
        let system = |&(name, count): &(&str, u64)| SystemCost { name: name.to_owned(), count, self_ns: 0 };
        CaptureFile {
            window_ns: 5_000_000_000,
            costs: SystemCosts { systems: counts.iter().map(system).collect() },
        }
    }

    #[test]
    fn a_scope_is_charged_with_both_of_its_timestamps() {
        let share = share(100_000.0, &measured().cost);
        assert!((share - 0.005).abs() < 1e-12, "{share}");
    }

    #[test]
    fn the_stall_is_the_ratio_of_the_rounds_medians() {
        let mut findings = Findings::default();
        report_benchmark(&measured(), &mut findings);
        assert_eq!(findings.figures["save_stall_ratio"], 1.1);
        assert_eq!(findings.figures["save_waits"], 0.0);
    }

    #[test]
    fn a_scope_that_is_missing_is_named() {
        let walking = capture(&[("shard.client", 5_000), ("shard.send", 0)]);
        let demand_of = |scope: &str, wanted| Demand {
            what: "",
            scope: scope.to_owned(),
            counted: walking.count(scope),
            wanted,
        };
        let mut findings = Findings::default();
        demand(&[demand_of("shard.client", 5_000)], &mut findings);
        assert_eq!(findings.failures, [""; 0]);
        demand(&[demand_of("shard.client", 5_001), demand_of("shard.send", 0)], &mut findings);
        assert_eq!(findings.failures.len(), 2, "what is never there is missing however little is wanted");
        assert!(findings.failures[1].contains("shard.send"));
    }
}
