//! Costs of crowds, and lost circuits with their reasons.

use super::{CAP_BYTES_PER_S, CrowdSize};
use crate::bots::BotsReport;
use crate::findings::Findings;
use crate::meter::{Window, least};
use crate::metrics::MetricScrape;
use report::{Column, Section, Table};
use std::collections::BTreeMap;

/// Threads that have their part in every tick, by how their names begin: from the world's step to the datagram.
const TICK_THREADS: [&str; 3] = ["world-", "replica", "shard-"];

/// The windows of the server with the limits that the targets name.
pub(super) struct Windows {
    pub(super) few: Window,
    pub(super) middle: Window,
    pub(super) many: Window,
    pub(super) plaza: Window,
}

/// Without the thread that writes the recording.
pub(super) fn cores(window: &Window) -> f64 {
    window.cpu_s_per_s() - window.cpu_s_per_s_of("recording")
}

/// Adds the costs of crowds, as figures and a section.
pub(super) fn report_costs(size: &CrowdSize, windows: &Windows, findings: &mut Findings) {
    let Windows { few, middle, many, plaza } = windows;
    let per_client = |window: &Window, clients: u32| cores(window) / f64::from(clients);
    let datagrams = |window: &Window, outcome| window.rate_with("throng_datagrams_total", "outcome", outcome);
    findings.figure("server_cores_1000", cores(few));
    findings.figure("server_cores_2000", cores(middle));
    findings.figure("server_cores_5000", cores(many));
    findings.figure("server_cores_5000_plaza", cores(plaza));
    findings.figure("recording_cores", many.cpu_s_per_s_of("recording"));
    findings.figure("cost_ratio_5000_1000", per_client(many, size.many) / per_client(few, size.few));
    findings.figure("cost_ratio_2000_1000", per_client(middle, size.middle) / per_client(few, size.few));
    findings.figure("world_tick_ms_p99_2000", tick_ms_p99(middle));
    findings.figure("world_tick_ms_p99_5000", tick_ms_p99(many));
    findings.figure("pressed_ratio_5000", pressed_ratio(many));
    let windows = [few, middle, many, plaza];
    findings.figure("dilation_min", windows.map(Window::least_dilation).into_iter().fold(1.0, least));
    findings.figure("rate_held", windows.map(Window::rate_held).into_iter().fold(1.0, least));
    let per_tick = |name| {
        let of_tick = TICK_THREADS.iter().map(|prefix| plaza.rate_of_threads(name, prefix));
        of_tick.sum::<f64>() / plaza.rate("throng_world_tick_seconds_count")
    };
    findings.figure("allocs_per_tick", per_tick("throng_thread_allocations_total"));
    findings.figure("faults_per_tick", per_tick("throng_thread_page_faults_total"));
    let rss = |window: &Window| window.end.usage.rss_bytes as f64 / 1024.0;
    findings.figure("client_kib", (rss(many) - rss(few)) / f64::from(size.many - size.few));
    findings.figure("packets_per_client_5000", datagrams(many, "sent") / f64::from(size.many));
    let bytes = many.rate_with("throng_datagram_bytes_total", "outcome", "sent");
    findings.figure("bytes_per_client_5000", bytes / f64::from(size.many));
    // In a window of a quick run, four seconds, all of its two dozen walkers may stand.
    let has_movement = |window: &&Window| window.rate("throng_terse_datagrams_total") > 0.0;
    let moved = [many, plaza, middle, few].into_iter().find(has_movement).unwrap_or(many);
    findings.figure(
        "blocks_per_datagram",
        moved.rate("throng_terse_sent_total") / moved.rate("throng_terse_datagrams_total"),
    );

    let mut table = Table::new(vec![
        Column::text("crowd"),
        Column::number("server", "cores"),
        Column::number("a client", "µs/s"),
        Column::number("packets to a client", "1/s"),
        Column::number("packets from a client", "1/s"),
        Column::number("bytes to a client", "1/s"),
        Column::number("movements", "1/s and client"),
        Column::number("memory", "MiB"),
    ]);
    for (name, window, clients) in [
        ("few, all over", few, size.few),
        ("more, all over", middle, size.middle),
        ("many, all over", many, size.many),
        ("many, plaza", plaza, size.many),
    ] {
        let each = f64::from(clients);
        table.row(vec![
            format!("{clients} ({name})").as_str().into(),
            cores(window).into(),
            (cores(window) / each * 1e6).into(),
            (datagrams(window, "sent") / each).into(),
            (datagrams(window, "received") / each).into(),
            (window.rate_with("throng_datagram_bytes_total", "outcome", "sent") / each).into(),
            (window.rate("throng_terse_sent_total") / each).into(),
            (rss(window) / 1024.0).into(),
        ]);
    }
    findings.sections.push(Section::new("Costs of crowds").table(table));
}

/// 99th percentile of the world's step in a window, milliseconds.
pub(super) fn tick_ms_p99(window: &Window) -> f64 {
    window.end.metrics.percentile_since(&window.begin.metrics, "throng_world_tick_seconds", 0.99) * 1e3
}

/// Share of a window in which a shard was short of CPU time, the mean of all shards.
pub(super) fn pressed_ratio(window: &Window) -> f64 {
    const SPANS: &str = "throng_shard_pressed_spans_total";
    const SPANS_PER_S: f64 = 2.0;
    let n_shards = window.end.metrics.series(SPANS).count();
    window.rate(SPANS) / SPANS_PER_S / n_shards as f64
}

/// Lost circuits and failed logins, as reported by both sides.
pub(super) struct Lost {
    circuits: u32,
    logins: u32,
    /// The bots' reasons, of both.
    reasons: BTreeMap<String, u32>,
    /// The server's.
    timed_out: f64,
    unresponsive: f64,
}

impl Lost {
    pub(super) fn of(reports: &[BotsReport], server: &MetricScrape) -> Self {
        let mut reasons = BTreeMap::new();
        for (reason, count) in reports.iter().flat_map(|report| &report.failures) {
            *reasons.entry(reason.clone()).or_default() += count;
        }
        let of_server = |reason| server.with("throng_circuits_lost_total", "reason", reason);
        Self {
            circuits: reports.iter().map(|report| report.circuits_lost).sum(),
            logins: reports.iter().map(|report| report.logins_failed).sum(),
            reasons,
            timed_out: of_server("timed_out"),
            unresponsive: of_server("unresponsive"),
        }
    }

    /// Adds figures whose names end so, and a table of reasons when there are any.
    pub(super) fn report_losses(self, suffix: &str, findings: &mut Findings) {
        let Self { circuits, logins, reasons, timed_out, unresponsive } = self;
        findings.figure(format!("circuits_lost{suffix}"), circuits.into());
        findings.figure(format!("logins_failed{suffix}"), logins.into());
        findings.figure(format!("circuits_timed_out{suffix}"), timed_out);
        findings.figure(format!("circuits_unresponsive{suffix}"), unresponsive);
        let of_server = [("timed_out", timed_out), ("unresponsive", unresponsive)];
        if reasons.is_empty() && of_server.iter().all(|(_, count)| *count == 0.0) {
            return;
        }
        let mut table =
            Table::new(vec![Column::text("side"), Column::text("reason"), Column::number("times", "")]);
        for (reason, count) in of_server {
            table.row(vec!["server".into(), reason.into(), count.into()]);
        }
        for (reason, count) in reasons {
            table.row(vec!["bots".into(), reason.into(), count.into()]);
        }
        findings
            .sections
            .push(Section::new(&format!("Circuits lost and logins failed{suffix}")).table(table));
    }
}

/// Adds the bots' figures of the cap and of themselves.
pub(super) fn of_bots(reports: &[BotsReport], findings: &mut Findings) {
    let bytes = reports.iter().filter_map(|report| report.second_bytes_p99).reduce(f64::max);
    findings.figure("cap_ratio_p99", bytes.unwrap_or(f64::NAN) / CAP_BYTES_PER_S);
    let cores = reports.iter().map(|report| report.bots_cpu_s / report.window_s).sum();
    findings.figure("bots_cores_5000", cores);
    let missed: u64 = reports.iter().map(|report| report.datagrams_lost_locally).sum();
    if missed > 0 {
        findings
            .failures
            .push(format!("{missed} datagrams were lost on the bots' side, which is no part of the network"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_circuits_failed_logins_and_their_reasons_are_distinguished() {
        let report = |circuits_lost, logins_failed, reason: &str| BotsReport {
            circuits_lost,
            logins_failed,
            failures: [(reason.to_owned(), circuits_lost + logins_failed)].into(),
            ..BotsReport::default()
        };
        let reports = [
            report(3, 0, "the circuit is silent"),
            report(1, 2, "the circuit is silent"),
            report(0, 1, "refused"),
        ];
        let metrics = "throng_circuits_lost_total{reason=\"timed_out\"} 3\nthrong_circuits_lost_total{reason=\"unresponsive\"} 1\n";
        let lost = Lost::of(&reports, &MetricScrape::parse(metrics));
        assert_eq!(lost.reasons, [("refused".to_owned(), 1), ("the circuit is silent".to_owned(), 6)].into());
        let mut findings = Findings::default();
        lost.report_losses("_starved", &mut findings);
        let figure = |name: &str| findings.figures[&format!("{name}_starved")];
        let all = ["circuits_lost", "logins_failed", "circuits_timed_out", "circuits_unresponsive"];
        assert_eq!(all.map(figure), [4.0, 3.0, 3.0, 1.0]);
        assert_eq!(findings.sections.len(), 1);
    }
}
