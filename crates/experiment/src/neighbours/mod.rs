//! `neighbours`: the effect of attackers, slow readers and a storm of logins on walkers beside them.
//!
//! One region with walkers, some of which observe. Attackers and slow readers are inside all the time and stand still; for a phase they
//! switch to their own behaviour. Phases alternate: alone, attackers, alone, slow readers, alone, storm. Other clients therefore see as
//! many avatars in a phase as before and after it, apart from the newcomers of the storm.
//!
//! The comparison covers how walkers are displayed to each other ([`crate::freshness`], by their last name); the display of an attacker
//! that turns to and fro is not judged. Each phase is set against the mean of the quiet ones around it.

mod shown;
mod stage;

use crate::bots::{Bots, BotsReport};
use crate::budget::{FigureLimit, FigureList, Limit, budget};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::freshness::{self, ObserverFile, ObserverKind};
use crate::meter::{Sampler, Window};
use crate::metrics::MetricScrape;
use crate::server::Server;
use crate::usage::ProcessUsage;
use crate::{Experiment, Run, clock};
use report::{Column, Section, Table};
use shown::OF_PHASE;
use stage::{FinishedPhase, PHASES, PhaseRunner, STORM_MAX, STORM_MAX_QUICK};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "neighbours",
    question: "How fresh are walkers to each other while other clients attack the server, read slowly or log in at once?",
    run,
    figures,
};

/// Number of bots of each kind.
struct NeighboursSize {
    walkers: u32,
    observers: u32,
    attackers: u32,
    slow: u32,
    storm: u32,
}

const SIZE: NeighboursSize =
    NeighboursSize { walkers: 200, observers: 40, attackers: 50, slow: 50, storm: 300 };
/// An attacker of each kind at least.
const SIZE_QUICK: NeighboursSize =
    NeighboursSize { walkers: 12, observers: 4, attackers: 3, slow: 2, storm: 4 };

/// Last name of those whose freshness is compared.
const WALKERS: &str = "Walker";

/// Time for a crowd to spread out after its arrival.
const SPREAD: Duration = Duration::from_secs(30);
const SPREAD_QUICK: Duration = Duration::from_secs(5);
/// All at once: no gap between two of them is longer than a millisecond.
const AT_ONCE: &str = "100000/s";

/// Allowed ratio of the walkers' errors to those in quiet phases.
const RATIO_MAX: Limit = Limit::AtMost(1.1);

const BUDGETS: [FigureLimit; 15] = [
    budget("hostile_error_ratio", "error of walkers among attackers ÷ alone", "", RATIO_MAX),
    budget("hostile_error_p95_ratio", "p95 of it ÷ alone", "", RATIO_MAX),
    budget("slow_error_ratio", "error of walkers among slow readers ÷ alone", "", RATIO_MAX),
    budget("slow_error_p95_ratio", "p95 of it ÷ alone", "", RATIO_MAX),
    budget("storm_error_ratio", "error of walkers in a storm of logins ÷ alone", "", RATIO_MAX),
    budget("storm_error_p95_ratio", "p95 of it ÷ alone", "", RATIO_MAX),
    budget("missing_percent", "walkers among the nearest 20 not shown, worst phase", "%", Limit::AtMost(0.1)),
    budget("circuits_lost", "circuits of walkers lost", "", Limit::AtMost(0.0)),
    budget("logins_failed", "logins that failed", "", Limit::AtMost(0.0)),
    budget("dropped_truncated", "truncated datagrams dropped", "", Limit::AtLeast(1.0)),
    budget("dropped_zero_code", "datagrams with bad zero-coding dropped", "", Limit::AtLeast(1.0)),
    budget("dropped_unknown_message", "unknown messages dropped", "", Limit::AtLeast(1.0)),
    budget("dropped_wrong_session", "messages of other sessions dropped", "", Limit::AtLeast(1.0)),
    budget("dropped_flood", "lines of chat floods dropped", "", Limit::AtLeast(1.0)),
    budget(
        "slow_overflowed",
        "datagrams dropped by the full queues of slow readers",
        "",
        Limit::AtLeast(1.0),
    ),
];

/// Reasons for which the server drops an attack's messages; figures `dropped_…`.
const DROPS: [&str; 5] = ["truncated", "zero_code", "unknown_message", "wrong_session", "flood"];

/// Figures without a budget.
const OTHERS: [&str; 7] = [
    "walkers",
    "alone_error_spread",
    "hostile_age_more_ms",
    "slow_age_more_ms",
    "storm_age_more_ms",
    "storm_s",
    "strangers_lost",
];

const FIGURES: FigureList = FigureList { limited: &[&BUDGETS], others: &OTHERS };

fn figures() -> Vec<String> {
    let of_phases = PHASES.iter().flat_map(|phase| OF_PHASE.map(|name| format!("{phase}_{name}")));
    FIGURES.names().into_iter().chain(of_phases).collect()
}

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let size = run.pick(&SIZE, &SIZE_QUICK);
    let mut findings = Findings::default();
    findings.figure("walkers", size.walkers.into());
    let street = play(run, size, &mut findings)?;
    let views = views(run);
    let mut fresh = Vec::new();
    for phase in &street.phases {
        let source = ObserverFile { views: &views, kind: ObserverKind::Clear };
        let window = phase.window_ns.clone();
        fresh.push(freshness::measure(&phase.recording, &[source], window, Duration::ZERO, Some(WALKERS))?);
        // It is large, and everything that is wanted of it is in the report.
        let _ = fs::remove_file(&phase.recording);
    }
    let _ = fs::remove_file(&views);
    shown::compare(&street.phases, &fresh, &mut findings);
    street.of_bots(&mut findings);
    FIGURES.judge(run, &mut findings);
    findings.usage("server", "The server over the run", &street.samples);
    Ok(findings)
}

/// All that happened in the region.
struct Street {
    /// By [`PHASES`].
    phases: Vec<FinishedPhase>,
    walkers: BotsReport,
    slow: BotsReport,
    /// Attackers and newcomers of the storm, before it and in it.
    others: Vec<BotsReport>,
    samples: Vec<(f64, ProcessUsage)>,
}

fn views(run: &Run) -> PathBuf {
    run.out.join("walkers.views")
}

fn play(run: &Run, size: &NeighboursSize, findings: &mut Findings) -> Result<Street, ExperimentError> {
    // No verified password is cached, so that a storm is as long as possible; and all avatars are displayed to all clients, so that
    // newcomers displace none from a visible set.
    let region = "size_m = 512\n\n[gateway]\nvisible_max = 0\n";
    let server = Server::start_with(run, "server", "remember_min = 0\n", region)?;
    let sampler = Sampler::start(server.pid())?;
    // The bots of the storm have been here before, and return to their last places.
    let known = ["--behavior", "walk", "--last-name", "Storm"];
    let mut first = Bots::start(run, &server, "storm-first", size.storm, &known)?;
    first.command(&format!("enter {}", size.storm))?;
    clock::wait(run.pick(SPREAD, Duration::ZERO));
    let mut others = vec![first.leave()?];

    let (observers, views) = (size.observers.to_string(), views(run).display().to_string());
    let options =
        ["--behavior", "walk", "--last-name", WALKERS, "--observers", &observers, "--views", &views];
    let mut walkers = Bots::start(run, &server, "walkers", size.walkers, &options)?;
    let mut attackers = Bots::start(run, &server, "attackers", size.attackers, &["--last-name", "Attacker"])?;
    let mut slow = Bots::start(run, &server, "slow", size.slow, &["--last-name", "Slow"])?;
    for (bots, count) in
        [(&mut walkers, size.walkers), (&mut attackers, size.attackers), (&mut slow, size.slow)]
    {
        bots.command(&format!("enter {count}"))?;
    }
    clock::wait(run.pick(SPREAD, SPREAD_QUICK));

    let mut stage = PhaseRunner { run, server: &server, phases: Vec::new() };
    stage.quiet()?;
    stage.act(&mut attackers, "hostile")?;
    stage.quiet()?;
    stage.act(&mut slow, "slow-reader")?;
    stage.quiet()?;
    let mut storm = Bots::start_at(run, &server, "storm", size.storm, AT_ONCE, &["--last-name", "Storm"])?;
    let storm_s = stage.storm(&mut storm, size.storm)?;
    let phases = stage.phases;
    findings.figure("storm_s", storm_s);
    if storm_s > run.pick(STORM_MAX, STORM_MAX_QUICK).as_secs_f64() {
        findings.failures.push(format!(
            "the storm took {} s and so was longer than its recording",
            report::number(storm_s)
        ));
    }
    drops(&phases[1].server, findings);
    for bots in [storm, attackers] {
        others.push(bots.leave()?);
    }
    let (slow, walkers) = (slow.leave()?, walkers.leave()?);
    let samples = sampler.finish();
    server.stop()?;
    Ok(Street { phases, walkers, slow, others, samples })
}

/// The attack's messages that the server dropped, by reason.
fn drops(attack: &Window, findings: &mut Findings) {
    let mut table = Table::new(vec![Column::text("reason"), Column::number("dropped", "1/s")]);
    let of = |metrics: &MetricScrape, reason| metrics.with("throng_dropped_total", "reason", reason);
    for reason in DROPS {
        let dropped = of(&attack.end.metrics, reason) - of(&attack.begin.metrics, reason);
        findings.figure(format!("dropped_{reason}"), dropped);
        table.row(vec![reason.into(), attack.rate_with("throng_dropped_total", "reason", reason).into()]);
    }
    findings.sections.push(Section::new("Dropped datagrams of the attack").table(table));
}

impl Street {
    fn of_bots(&self, findings: &mut Findings) {
        let all = || self.others.iter().chain([&self.walkers, &self.slow]);
        let strangers = || self.others.iter().chain([&self.slow]);
        findings.figure("circuits_lost", self.walkers.circuits_lost.into());
        findings.figure("strangers_lost", strangers().map(|report| f64::from(report.circuits_lost)).sum());
        findings.figure("logins_failed", all().map(|report| f64::from(report.logins_failed)).sum());
        findings.figure("slow_overflowed", self.slow.datagrams_overflowed as f64);
        let missed = self.walkers.datagrams_lost_locally;
        if missed > 0 {
            findings.failures.push(format!(
                "{missed} datagrams were lost on the walkers' side, which is no part of the network"
            ));
        }
    }
}
