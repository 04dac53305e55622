//! `login-storm`: a thousand logins at once: the wait of the last of them, and the effect on clients already inside.
//!
//! Passwords are hashed on one thread, in turn, so a storm of new users waits for it; a user verified in the last quarter of an hour is
//! cached and does not wait. There are two servers: one without that cache, one with it. Both know all accounts before.

use crate::bots::{Bots, BotsReport, TimeSummary};
use crate::budget::{FigureLimit, FigureList, Limit, budget};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter::{Reading, Sampler, Window};
use crate::server::Server;
use crate::usage::ProcessUsage;
use crate::{Experiment, Run, clock};
use report::{Column, Section, Table};
use std::time::Duration;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "login-storm",
    question: "How long do logins take when a crowd logs in at once, and how does that affect clients in the region?",
    run,
    figures: || FIGURES.names(),
};

/// Number of logins in the storm, and of clients inside.
const STORM: u32 = 1_000;
const STORM_QUICK: u32 = 20;
const INSIDE: u32 = 200;
const INSIDE_QUICK: u32 = 5;
/// All at once: no gap between two of them is longer than a millisecond.
const AT_ONCE: &str = "100000/s";
/// Observation of the clients inside without logins.
const CALM: Duration = Duration::from_secs(60);
const CALM_QUICK: Duration = Duration::from_secs(6);

const BUDGETS: [FigureLimit; 5] = [
    budget("login_s_p99_cold", "login of a stranger among 1,000, p99", "s", Limit::AtMost(40.0)),
    budget("login_s_p99_warm", "login of a remembered user among 1,000, p99", "s", Limit::AtMost(8.0)),
    budget("logins_failed", "logins that failed", "", Limit::AtMost(0.0)),
    budget("circuits_lost", "circuits lost", "", Limit::AtMost(0.0)),
    budget("inside_gap_s", "longest gap between updates to clients in the region", "s", Limit::AtMost(1.0)),
];

const OTHERS: [&str; 5] = [
    "inside_ping_ms_p99_calm",
    "inside_ping_ms_p99_cold",
    "inside_ping_ms_p99_warm",
    "cpu_cores_cold",
    "cpu_cores_warm",
];

const FIGURES: FigureList = FigureList { limited: &[&BUDGETS], others: &OTHERS };

/// Results of one server.
struct Stormed {
    calm: TimeSummary,
    storm: TimeSummary,
    gap_s: f64,
    login_s_p50: f64,
    login_s_p99: f64,
    cpu_cores: f64,
    reports: Vec<BotsReport>,
    samples: Vec<(f64, ProcessUsage)>,
}

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let cold = storm(run, "server-cold", "remember_min = 0\n")?;
    let warm = storm(run, "server-warm", "")?;
    let mut findings = Findings::default();
    let mut table = Table::new(vec![
        Column::text("newcomers"),
        Column::number("login p50", "s"),
        Column::number("login p99", "s"),
        Column::number("server meanwhile", "cores"),
        Column::number("pings inside before, p99", "ms"),
        Column::number("pings inside meanwhile, p99", "ms"),
        Column::number("longest", "ms"),
        Column::number("longest gap between updates inside", "s"),
    ]);
    for (key, name, stormed) in [("cold", "strangers", &cold), ("warm", "remembered", &warm)] {
        let nan = |ms: Option<f64>| ms.unwrap_or(f64::NAN);
        findings.figure(format!("login_s_p99_{key}"), stormed.login_s_p99);
        findings.figure(format!("inside_ping_ms_p99_{key}"), nan(stormed.storm.p99_ms));
        findings.figure(format!("cpu_cores_{key}"), stormed.cpu_cores);
        table.row(vec![
            name.into(),
            stormed.login_s_p50.into(),
            stormed.login_s_p99.into(),
            stormed.cpu_cores.into(),
            nan(stormed.calm.p99_ms).into(),
            nan(stormed.storm.p99_ms).into(),
            nan(stormed.storm.max_ms).into(),
            stormed.gap_s.into(),
        ]);
    }
    findings.figure("inside_ping_ms_p99_calm", cold.calm.p99_ms.unwrap_or(f64::NAN));
    findings.figure("inside_gap_s", cold.gap_s.max(warm.gap_s));
    let reports = || cold.reports.iter().chain(&warm.reports);
    findings.figure("logins_failed", reports().map(|report| f64::from(report.logins_failed)).sum());
    findings.figure("circuits_lost", reports().map(|report| f64::from(report.circuits_lost)).sum());
    findings.sections.push(Section::new("Two storms").table(table));
    FIGURES.judge(run, &mut findings);
    findings.usage("server_cold", "The server without remembered logins", &cold.samples);
    findings.usage("server_warm", "The server that remembers", &warm.samples);
    Ok(findings)
}

fn storm(run: &Run, name: &str, login: &str) -> Result<Stormed, ExperimentError> {
    let (count, inside) = (run.pick(STORM, STORM_QUICK), run.pick(INSIDE, INSIDE_QUICK));
    let server = Server::start_with(run, name, login, "size_m = 512\n")?;
    let sampler = Sampler::start(server.pid())?;
    // All accounts have logged in before.
    let storm_name = format!("{name}-storm");
    let known = ["--behavior", "walk", "--last-name", "Storm"];
    let mut first = Bots::start(run, &server, &format!("{name}-first"), count, &known)?;
    first.command(&format!("enter {count}"))?;
    let mut reports = vec![first.leave()?];

    let observers = inside.to_string();
    let options = ["--behavior", "walk", "--last-name", "Inside", "--observers", &observers];
    let mut insiders = Bots::start(run, &server, &format!("{name}-inside"), inside, &options)?;
    insiders.command(&format!("enter {inside}"))?;
    insiders.command("pings")?;
    clock::wait(run.pick(CALM, CALM_QUICK));
    let calm = insiders.command("pings")?.pings.unwrap_or_default();
    insiders.command("gap")?;

    run.references.sample();
    let begin = Reading::take(&server)?;
    let mut storm = Bots::start_at(run, &server, &storm_name, count, AT_ONCE, &known)?;
    storm.command(&format!("enter {count}"))?;
    // Pings come every five seconds.
    clock::wait(Duration::from_secs(5));
    let window = Window { begin, end: Reading::take(&server)? };
    let during = insiders.command("pings")?.pings.unwrap_or_default();
    let gap_s = insiders.command("gap")?.gap_s.unwrap_or(f64::NAN);
    let stormed = storm.leave()?;
    let nan = |seconds: Option<f64>| seconds.unwrap_or(f64::NAN);
    let (login_s_p50, login_s_p99) = (nan(stormed.login_s_p50), nan(stormed.login_s_p99));
    reports.push(stormed);
    reports.push(insiders.leave()?);
    let samples = sampler.finish();
    server.stop()?;
    let cpu_cores = window.cpu_s_per_s();
    Ok(Stormed { calm, storm: during, gap_s, login_s_p50, login_s_p99, cpu_cores, reports, samples })
}
