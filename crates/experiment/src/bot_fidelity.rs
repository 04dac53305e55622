//! `bot-fidelity`: whether our bots load a server as real clients do.
//!
//! Twenty node-metaverse clients and twenty of our bots that resemble them do the same, one after the other, against
//! servers of their own: they walk, rest and talk in rounds of 20 s. Compared are the server's CPU time, and packets and
//! bytes of every message that makes more than a hundredth of either, by the server's own count.

use crate::bots::Bots;
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::foreign::Foreign;
use crate::meter::{Sampler, Window};
use crate::server::Server;
use crate::{Experiment, Run, clock};
use report::{BarPlot, Cell, Column, Section, Table, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "bot-fidelity",
    question: "Do our bots load the server as node-metaverse, a real client library, does?",
    run,
    figures,
};

const CLIENTS: u32 = 20;
const CLIENTS_QUICK: u32 = 2;

/// Six rounds of the clients' behaviour.
const WINDOW: Duration = Duration::from_secs(120);
const WINDOW_QUICK: Duration = Duration::from_secs(5);

/// Behind the last login: arrivals, appearances and names are over.
const SETTLE: Duration = Duration::from_secs(15);
const SETTLE_QUICK: Duration = Duration::from_secs(1);

/// Messages below this share of packets and bytes are not compared.
const SHARE_MIN: f64 = 0.01;

/// Allowed ratio of bots to clients.
const RATIO: std::ops::RangeInclusive<f64> = 0.85..=1.15;

fn figures() -> Vec<String> {
    let ratios = ["fidelity_cpu_ratio", "fidelity_packets_ratio", "fidelity_bytes_ratio"];
    ratios
        .into_iter()
        .chain(["fidelity_ratio_min", "fidelity_ratio_max", "fidelity_one_sided"])
        .map(str::to_owned)
        .collect()
}

/// Packets and bytes a second of each direction and message.
type Traffic = BTreeMap<(String, String), [f64; 2]>;

/// The load of one kind of client on the server.
struct Load {
    /// Seconds of CPU a second.
    cpu: f64,
    traffic: Traffic,
}

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let mut findings = Findings::default();
    let count = run.pick(CLIENTS, CLIENTS_QUICK);

    let server = Server::start(run, "server-clients")?;
    let sampler = Sampler::start(server.pid())?;
    let clients = Foreign::start(run, &server, count)?;
    let real = measure(run, &server)?;
    clients.leave()?;
    let of_clients = sampler.finish();
    server.stop()?;

    let server = Server::start(run, "server-bots")?;
    let sampler = Sampler::start(server.pid())?;
    let options = ["--behavior", "mingle", "--profile", "node-metaverse"];
    let mut bots = Bots::start_with_sockets(run, &server, "bots", count, &options)?;
    bots.command(&format!("enter {count}"))?;
    let ours = measure(run, &server)?;
    let report = bots.leave()?;
    let of_bots = sampler.finish();
    server.stop()?;

    if report.logins_failed + report.circuits_lost > 0 {
        findings.failures.push(format!("bots failed: {:?}", report.failures));
    }
    compare(&real, &ours, !run.quick, &mut findings);
    findings.usage("server_with_clients", "The server with node-metaverse", &of_clients);
    findings.usage("server_with_bots", "The server with our bots", &of_bots);
    Ok(findings)
}

fn measure(run: &Run, server: &Server) -> Result<Load, ExperimentError> {
    clock::wait(run.pick(SETTLE, SETTLE_QUICK));
    let window = run.window(server, run.pick(WINDOW, WINDOW_QUICK))?;
    Ok(Load { cpu: window.cpu_s_per_s(), traffic: traffic(&window) })
}

fn traffic(window: &Window) -> Traffic {
    let mut traffic = Traffic::new();
    for (index, name) in
        ["throng_message_datagrams_total", "throng_message_bytes_total"].into_iter().enumerate()
    {
        for (sign, metrics) in [(1.0, &window.end.metrics), (-1.0, &window.begin.metrics)] {
            for (labels, value) in metrics.series(name) {
                let label = |name: &str| labels.get(name).cloned().unwrap_or_default();
                let rates = traffic.entry((label("direction"), label("message"))).or_default();
                rates[index] += sign * value / window.seconds();
            }
        }
    }
    traffic
}

/// Packets and bytes of one direction, or of both.
fn total(traffic: &Traffic) -> [f64; 2] {
    traffic.values().fold([0.0; 2], |sum, rates| [sum[0] + rates[0], sum[1] + rates[1]])
}

fn compare(real: &Load, ours: &Load, judge: bool, findings: &mut Findings) {
    let cpu = ours.cpu / real.cpu;
    findings.figure("fidelity_cpu_ratio", cpu);
    let (real_total, ours_total) = (total(&real.traffic), total(&ours.traffic));
    findings.figure("fidelity_packets_ratio", ours_total[0] / real_total[0]);
    findings.figure("fidelity_bytes_ratio", ours_total[1] / real_total[1]);

    let mut table = Table::new(vec![
        Column::text("direction"),
        Column::text("message"),
        Column::number("clients", "packets/s"),
        Column::number("bots", "packets/s"),
        Column::number("ratio", ""),
        Column::number("clients", "bytes/s"),
        Column::number("bots", "bytes/s"),
        Column::number("ratio", ""),
        Column::text("within 0.85–1.15"),
    ])
    .caption("Every message that makes more than 1 % of the packets or bytes of its direction, by the server's count.");
    let mut bars =
        BarPlot::new("Bots' packets and bytes for each of the clients'", "", &["packets", "bytes"]);
    let mut judged = vec![("server CPU".to_owned(), cpu)];
    let keys: BTreeSet<&(String, String)> = real.traffic.keys().chain(ours.traffic.keys()).collect();
    for key in keys {
        let of = |load: &Load| load.traffic.get(key).copied().unwrap_or_default();
        let (theirs, our) = (of(real), of(ours));
        let share = |load: &Load, rates: [f64; 2]| {
            let same: Traffic = load
                .traffic
                .iter()
                .filter(|(other, _)| other.0 == key.0)
                .map(|(k, v)| (k.clone(), *v))
                .collect();
            let all = total(&same);
            (rates[0] / all[0]).max(rates[1] / all[1])
        };
        if share(real, theirs) <= SHARE_MIN && share(ours, our) <= SHARE_MIN {
            continue;
        }
        let ratios = [our[0] / theirs[0], our[1] / theirs[1]];
        let holds = ratios.iter().all(|ratio| RATIO.contains(ratio));
        let verdict = if holds { (Verdict::Good, "yes") } else { (Verdict::Bad, "no") };
        let (direction, message) = key;
        table.row(vec![
            direction.as_str().into(),
            message.as_str().into(),
            theirs[0].into(),
            our[0].into(),
            ratios[0].into(),
            theirs[1].into(),
            our[1].into(),
            ratios[1].into(),
            Cell::verdict(verdict.0, verdict.1),
        ]);
        bars = bars.bar(&format!("{message} ({direction})"), &ratios);
        for (measure, ratio) in ["packets", "bytes"].into_iter().zip(ratios) {
            // A message that one side alone sends has no ratio that is a number; it shows as a failure below.
            if ratio.is_finite() {
                findings.figure(format!("fidelity_{measure}_ratio_{direction}_{message}"), ratio);
            }
            judged.push((format!("{measure} of {message} ({direction})"), ratio));
        }
    }
    let one_sided = judged.iter().filter(|(_, ratio)| *ratio == 0.0 || !ratio.is_finite());
    findings.figure("fidelity_one_sided", one_sided.count() as f64);
    let finite = || judged.iter().map(|(_, ratio)| *ratio).filter(|ratio| ratio.is_finite());
    findings.figure("fidelity_ratio_min", finite().fold(f64::INFINITY, f64::min));
    findings.figure("fidelity_ratio_max", finite().fold(f64::NEG_INFINITY, f64::max));
    if judge {
        for (what, ratio) in judged.iter().filter(|(_, ratio)| !RATIO.contains(ratio)) {
            findings
                .failures
                .push(format!("{what}: bots make {} of what clients do", report::number(*ratio)));
        }
    }
    let summary = format!(
        "The server used {} % of a core with node-metaverse and {} % with our bots: a ratio of {}.",
        report::number(real.cpu * 100.0),
        report::number(ours.cpu * 100.0),
        report::number(cpu)
    );
    findings.sections.push(Section::new("Messages").text(&summary).table(table).bar_plot(bars));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(cpu: f64, messages: &[(&str, &str, f64, f64)]) -> Load {
        let traffic = messages.iter().map(|&(direction, message, packets, bytes)| {
            ((direction.to_owned(), message.to_owned()), [packets, bytes])
        });
        Load { cpu, traffic: traffic.collect() }
    }

    #[test]
    fn messages_above_a_hundredth_are_compared_and_only_whole_runs_judged() {
        let real = load(
            0.10,
            &[
                ("in", "AgentUpdate", 100.0, 9_000.0),
                ("in", "Rare", 0.5, 5.0),
                ("out", "Terse", 50.0, 60_000.0),
            ],
        );
        let ours = load(0.11, &[("in", "AgentUpdate", 90.0, 9_000.0), ("out", "Terse", 80.0, 60_000.0)]);
        let mut findings = Findings::default();
        compare(&real, &ours, true, &mut findings);
        let figure = |name: &str| findings.figures.get(name).copied().unwrap_or(f64::NAN);
        assert!((figure("fidelity_cpu_ratio") - 1.1).abs() < 1e-9);
        assert!((figure("fidelity_packets_ratio_in_AgentUpdate") - 0.9).abs() < 1e-9);
        assert!((figure("fidelity_ratio_max") - 1.6).abs() < 1e-9);
        assert!(!findings.figures.keys().any(|name| name.contains("Rare")));
        assert_eq!(findings.failures.len(), 1, "{:?}", findings.failures);
        assert!(findings.failures[0].contains("packets of Terse"));

        let mut quick = Findings::default();
        compare(&real, &ours, false, &mut quick);
        assert!(quick.failures.is_empty());
    }

    #[test]
    fn a_message_sent_by_one_side_alone_is_reported() {
        let both = [("in", "AgentUpdate", 10.0, 100.0), ("in", "Extra", 10.0, 100.0)];
        for (n_real, n_ours) in [(2, 1), (1, 2)] {
            let mut findings = Findings::default();
            compare(&load(0.1, &both[..n_real]), &load(0.1, &both[..n_ours]), true, &mut findings);
            assert!(
                findings.failures.iter().any(|failure| failure.contains("Extra")),
                "{:?}",
                findings.failures
            );
            // Packets and bytes.
            assert_eq!(findings.figures["fidelity_one_sided"], 2.0);
        }
    }
}
