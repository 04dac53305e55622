//! `daily`: a full server every day. A thousand bots do everything that bots can do while others come and go, and the server is held to
//! budgets. Its complaints and its files are linked in the report.

use crate::bots::{Bots, BotsReport};
use crate::budget::{FigureLimit, FigureList, Limit, budget};
use crate::error::ExperimentError;
use crate::findings::{Chart, ChartLine, Findings};
use crate::meter::{Reading, Sampler, Window};
use crate::server::{LOG_FILE, METRICS_FILE, REGION, Server};
use crate::usage::ProcessUsage;
use crate::worlds::frames::MissedTickReader;
use crate::worlds::grounds::{self, BEHAVIOURS};
use crate::{Experiment, Run, clock, journal};
use bots::behavior::PLAY_PORTAL;
use report::{Cell, Column, Section, Table};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "daily",
    question: "Does a full server stay within its budgets while clients log in and out?",
    run,
    figures: || FIGURES.names(),
};

/// Permanent bots: behaviour, number per thousand, and further options.
const STAYING: [(&str, u32, &[&str]); 5] = [
    ("stand", 200, &["--sender", "unstable"]),
    ("sit", 200, &[]),
    ("walk", 300, &["--observers", "5"]),
    ("mingle", 100, &[]),
    ("play", 100, &[]),
];

/// NPCs in the instance of each player, and seconds of their day.
const NPCS: u32 = 20;
const DAY_S: usize = 240;

/// The fate of a missed tick is known by then: a capture is written a quarter of a second behind it, and reported within a second.
const FATE_MAX: Duration = Duration::from_secs(3);

/// Bots that enter and leave in rounds.
const VISITORS: u32 = 100;
const VISIT: Duration = Duration::from_secs(30);

/// Divisor of the number of bots in quick runs.
const QUICK_DIVISOR: u32 = 50;

/// Duration of the window, and the period of reading counters.
const WINDOW: Duration = Duration::from_secs(600);
const WINDOW_QUICK: Duration = Duration::from_secs(8);
const READING_PERIOD: Duration = Duration::from_secs(30);
const READING_PERIOD_QUICK: Duration = Duration::from_secs(2);
const VISIT_QUICK: Duration = Duration::from_secs(1);

/// Limits for a server of this size on any machine that is not too small for it.
const BUDGETS: [FigureLimit; 19] = [
    budget("logins_failed", "logins that failed", "", Limit::AtMost(0.0)),
    budget("circuits_lost", "circuits lost", "", Limit::AtMost(0.0)),
    budget("pings_unanswered", "pings unanswered", "", Limit::AtMost(0.0)),
    budget("ping_ms_p99", "99th percentile of pings", "ms", Limit::AtMost(100.0)),
    budget("dilation_min", "lowest dilation of any tick", "", Limit::AtLeast(0.95)),
    budget("tick_ms_mean", "mean duration of a tick", "ms", Limit::AtMost(25.0)),
    budget("frames_lost", "frames lost on the way to the replica", "", Limit::AtMost(0.0)),
    budget("udp_receive_drops", "datagrams dropped by the kernel, in", "", Limit::AtMost(0.0)),
    budget("udp_send_drops", "datagrams dropped by the kernel, out", "", Limit::AtMost(0.0)),
    budget("messages_refused", "reliable messages refused by circuits", "", Limit::AtMost(0.0)),
    budget("http_failed", "HTTP requests that failed", "", Limit::AtMost(0.0)),
    budget("not_live", "readings at which /healthz/live failed", "", Limit::AtMost(0.0)),
    budget("crashes", "crash dumps", "", Limit::AtMost(0.0)),
    budget("world_restarts", "restarts of worlds after a panic", "", Limit::AtMost(0.0)),
    budget("frames_missed_untold", "missed ticks neither captured nor counted", "", Limit::AtMost(0.0)),
    budget("missions_completed", "missions completed", "", Limit::AtLeast(50.0)),
    budget("journalled", "states of worlds written to the journal", "", Limit::AtLeast(500.0)),
    journal::LAG_LIMIT,
    budget("rss_growth_percent", "growth of memory over the second half", "%", Limit::AtMost(10.0)),
];

/// Figures without a budget: they depend on the machine, or are informative.
const OTHERS: [&str; 13] = [
    journal::LAG_P99,
    "ticks_missed",
    "rate_held",
    "bots",
    "visits",
    "server_cpu_cores",
    "rss_mib_max",
    "login_s_p99",
    "captures",
    "growth_mb_per_h",
    "world_switches",
    "npc_falls",
    "frames_missed",
];

/// A run this long, a soak, is judged by the slope of its memory.
const SOAK: Duration = Duration::from_secs(40 * 60);
/// Allowed growth of the server's memory, in megabytes an hour.
const GROWTH_MAX_MB_PER_H: f64 = 5.0;

const FIGURES: FigureList = FigureList { limited: &[&BUDGETS], others: &OTHERS };

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let share = |count: u32| if run.quick { count / QUICK_DIVISOR } else { count };
    let (settings, files) = instances();
    let server = Server::start_with_files(run, "server", &settings, &files)?;
    let sampler = Sampler::start(server.pid())?;
    let mut staying = Vec::new();
    for (behavior, count, options) in STAYING {
        let mut options = options.to_vec();
        options.extend(["--behavior", behavior]);
        if run.quick {
            options.retain(|option| !["--observers", "5"].contains(option));
        }
        let mut bots = Bots::start(run, &server, behavior, share(count), &options)?;
        bots.command(&format!("enter {}", share(count)))?;
        staying.push(bots);
    }

    run.references.sample();
    let began = clock::now();
    let from_s = sampler.seconds();
    let ends_at = began + run.duration.unwrap_or_else(|| run.pick(WINDOW, WINDOW_QUICK));
    let begin = Reading::take(&server)?;
    let operator = server.operator();
    let mut missed = MissedTickReader::from_now(&operator)?;
    let mut readings = vec![(0.0, begin.clone())];
    let mut reports = Vec::new();
    let (mut visits, mut not_live) = (0, 0);
    while clock::now() < ends_at {
        // Visitors have names of their own and keep them from round to round, as returning users do.
        let mut visitors = Bots::start(
            run,
            &server,
            "visitors",
            share(VISITORS),
            &["--behavior", "walk", "--last-name", "Visitor"],
        )?;
        visitors.command(&format!("enter {}", share(VISITORS)))?;
        visits += share(VISITORS);
        let leave_at = clock::now() + run.pick(VISIT, VISIT_QUICK);
        while clock::now() < leave_at.min(ends_at) {
            clock::wait_until(
                (clock::now() + run.pick(READING_PERIOD, READING_PERIOD_QUICK)).min(leave_at).min(ends_at),
            );
            not_live += u32::from(!server.is_live());
            readings.push((began.elapsed().as_secs_f64(), Reading::take(&server)?));
            missed.read()?;
        }
        reports.push(visitors.leave()?);
    }
    let window_s = from_s..sampler.seconds();
    clock::wait(FATE_MAX);
    missed.read()?;
    server.keep_metrics()?;
    let (_, end) = readings.last().expect("there is the first").clone();
    let window = Window { begin, end };
    for bots in staying {
        reports.push(bots.leave()?);
    }
    let samples = sampler.finish();
    let data = server.data.clone();
    let stopped = server.stop();

    let mut findings = Findings::default();
    if let Err(error) = stopped {
        findings.failures.push(error.to_string());
    }
    findings.figure(
        "bots",
        f64::from(STAYING.map(|(_, count, _)| share(count)).iter().sum::<u32>() + share(VISITORS)),
    );
    findings.figure("visits", visits.into());
    findings.figure("not_live", not_live.into());
    missed.report_fates(&mut findings);
    of_bots(&reports, &mut findings);
    of_server(&window, within(&samples, &window_s), &mut findings);
    let left_behind = left_behind(run, &data, &mut findings);
    FIGURES.judge(run, &mut findings);
    let growth = findings.figures.get("growth_mb_per_h").copied().unwrap_or(f64::NAN);
    if run.duration.is_some_and(|duration| duration >= SOAK)
        && (growth.is_nan() || growth > GROWTH_MAX_MB_PER_H)
    {
        let growth = report::number(growth);
        findings.failures.push(format!("memory grew by {growth} MB/h, at most {GROWTH_MAX_MB_PER_H}"));
    }
    charts(&readings, &mut findings);
    findings.usage("server", "The server over the run", &samples);
    findings.sections.push(left_behind);
    Ok(findings)
}

/// Portals into instances of a template and back, where players look for them.
fn instances() -> (String, Vec<(String, String)>) {
    let portal = |from: &str, to: &str| {
        let (x, y) = (PLAY_PORTAL.x, PLAY_PORTAL.y);
        format!("\n[[portal]]\nfrom = \"{from}\"\nx = {x:.1}\ny = {y:.1}\nradius_m = 3.0\nto = \"{to}\"\n")
    };
    let settings = format!(
        "\n[[template]]\nname = \"Hamlet\"\nterrain = \"hills\"\nboxes = 150\nmax_avatars = 8\nnpcs = \"hamlet.toml\"\n{}{}",
        portal(REGION, "Hamlet"),
        portal("Hamlet", "back"),
    );
    let files = [("hamlet.behaviour", BEHAVIOURS.to_owned()), ("hamlet.toml", grounds::script(NPCS, DAY_S))];
    (settings, files.map(|(name, text)| (name.to_owned(), text)).into())
}

fn of_bots(reports: &[BotsReport], findings: &mut Findings) {
    let sum = |of: fn(&BotsReport) -> f64| reports.iter().map(of).sum::<f64>();
    let worst = |of: fn(&BotsReport) -> Option<f64>| {
        reports.iter().filter_map(of).reduce(f64::max).unwrap_or(f64::NAN)
    };
    findings.figure("logins_failed", sum(|report| report.logins_failed.into()));
    findings.figure("circuits_lost", sum(|report| report.circuits_lost.into()));
    findings.figure("pings_unanswered", sum(|report| report.pings_unanswered as f64));
    findings.figure("ping_ms_p99", worst(|report| report.ping_ms_p99));
    findings.figure("login_s_p99", worst(|report| report.login_s_p99));
    let mut table = Table::new(vec![
        Column::number("logins", ""),
        Column::number("failed", ""),
        Column::number("circuits lost", ""),
        Column::number("ping p50", "ms"),
        Column::number("ping p99", "ms"),
        Column::number("avatars seen", ""),
        Column::number("HTTP errors", ""),
        Column::number("lost by us", "datagrams"),
        Column::text("reasons"),
    ])
    .caption("Visitors, one row per round, then the permanent bots.");
    for report in reports {
        let reasons: Vec<String> =
            report.failures.iter().map(|(reason, count)| format!("{reason} × {count}")).collect();
        table.row(vec![
            report.logins_ok.into(),
            report.logins_failed.into(),
            report.circuits_lost.into(),
            report.ping_ms_p50.into(),
            report.ping_ms_p99.into(),
            report.avatars_seen_min.map(|seen| seen as f64).into(),
            (report.http_errors as f64).into(),
            (report.datagrams_lost_locally as f64).into(),
            reasons.join(", ").into(),
        ]);
    }
    findings.sections.push(Section::new("Results of the bots").table(table));
}

fn of_server(window: &Window, samples: &[(f64, ProcessUsage)], findings: &mut Findings) {
    let rise = |name: &str| window.end.metrics.sum(name) - window.begin.metrics.sum(name);
    findings.figure("dilation_min", window.least_dilation());
    findings.figure("rate_held", window.rate_held());
    let ticks = rise("throng_world_tick_seconds_count");
    findings.figure("tick_ms_mean", rise("throng_world_tick_seconds_sum") / ticks * 1e3);
    findings.figure("frames_lost", rise("throng_frames_lost_total"));
    findings.figure("world_restarts", rise("throng_world_restarts_total"));
    findings.figure("udp_receive_drops", rise("throng_udp_receive_drops_total"));
    findings.figure("udp_send_drops", rise("throng_udp_send_drops_total"));
    findings.figure("messages_refused", rise("throng_messages_refused_total"));
    let failed = |reading: &Reading| reading.metrics.with("throng_http_requests_total", "outcome", "failed");
    findings.figure("http_failed", failed(&window.end) - failed(&window.begin));
    findings.figure("server_cpu_cores", window.cpu_s_per_s());
    let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
    let rss = |samples: &[(f64, ProcessUsage)]| {
        samples.iter().map(|(_, usage)| mib(usage.rss_bytes)).fold(0.0, f64::max)
    };
    findings.figure("rss_mib_max", rss(samples));
    // The first half fills tables up to their bounds; further growth in the second has no bound.
    let middle = samples.len() / 2;
    findings.figure(
        "rss_growth_percent",
        (rss(&samples[middle..]) / rss(&samples[..middle.max(1)]) - 1.0) * 100.0,
    );
    findings.figure("growth_mb_per_h", growth_mb_per_h(samples));
    findings.figure("missions_completed", window.rise_exported("throng_missions_completed_total", None));
    let journalled = ("what", "journal");
    findings
        .figure("journalled", window.rise_exported("throng_instance_states_saved_total", Some(journalled)));
    journal::report_lag(window, findings);
    findings.figure("world_switches", rise("throng_world_switches_total"));
    findings.figure("npc_falls", {
        let falls = |reading: &Reading| reading.metrics.with("throng_npc_work_total", "what", "falls");
        falls(&window.end) - falls(&window.begin)
    });
    findings.figure("frames_missed", rise("throng_frames_over_total"));
}

/// Samples of the measured window. Outside of it the bots log in and out, which is growth and decline of another kind.
fn within<'a>(samples: &'a [(f64, ProcessUsage)], window_s: &Range<f64>) -> &'a [(f64, ProcessUsage)] {
    let before = |limit_s: f64| samples.partition_point(|(at_s, _)| *at_s < limit_s);
    &samples[before(window_s.start)..before(window_s.end)]
}

/// The slope of the resident memory, by least squares. The memory left behind by visitors differs from minute to minute, so that it
/// takes most of an hour to distinguish a leak from that.
fn growth_mb_per_h(samples: &[(f64, ProcessUsage)]) -> f64 {
    let n = samples.len() as f64;
    let mb = |usage: &ProcessUsage| usage.rss_bytes as f64 / 1e6;
    let mean_h = samples.iter().map(|(at, _)| at / 3_600.0).sum::<f64>() / n;
    let mean_mb = samples.iter().map(|(_, usage)| mb(usage)).sum::<f64>() / n;
    let both = samples.iter().map(|(at, usage)| (at / 3_600.0 - mean_h) * (mb(usage) - mean_mb));
    let square = samples.iter().map(|(at, _)| (at / 3_600.0 - mean_h).powi(2));
    both.sum::<f64>() / square.sum::<f64>()
}

/// Captures and crashes in the server's data directory, and its log, as links from the report.
fn left_behind(run: &Run, data: &Path, findings: &mut Findings) -> Section {
    let mut table = Table::new(vec![Column::text("what"), Column::text("file")]);
    for (what, directory, counted) in
        [("captures", "captures", "perfetto-trace"), ("crashes", "crashes", "dmp")]
    {
        let mut files: Vec<String> = fs::read_dir(data.join(directory))
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        files.sort();
        let count = files.iter().filter(|file| file.ends_with(counted)).count();
        findings.figure(what, count as f64);
        for file in files {
            let path = data.join(directory).join(&file);
            let link = path.strip_prefix(&run.out).unwrap_or(&path).display().to_string();
            table.row(vec![what.into(), Cell::link(&file, &link)]);
        }
    }
    for (what, file) in [("log", LOG_FILE), ("metrics at the end", METRICS_FILE)] {
        let path = data.join(file);
        let link = path.strip_prefix(&run.out).unwrap_or(&path).display().to_string();
        table.row(vec![what.into(), Cell::link(file, &link)]);
    }
    Section::new("Files of the server").table(table)
}

fn charts(readings: &[(f64, Reading)], findings: &mut Findings) {
    let line = |name: &str, of: &dyn Fn(&Reading) -> Option<f64>| ChartLine {
        name: name.to_owned(),
        points: readings.iter().filter_map(|(at, reading)| Some((*at, of(reading)?))).collect(),
    };
    let time = || ("time".to_owned(), "s".to_owned());
    let ticks = Chart {
        title: "Longest tick of the last half minute".to_owned(),
        x: time(),
        y: ("tick".to_owned(), "ms".to_owned()),
        is_log: false,
        lines: vec![line("longest tick", &|reading| {
            Some(reading.metrics.max("throng_world_tick_seconds_max")? * 1e3)
        })],
    };
    let sessions = Chart {
        title: "Sessions".to_owned(),
        x: time(),
        y: ("sessions".to_owned(), String::new()),
        is_log: false,
        lines: vec![line("sessions", &|reading| reading.metrics.max("throng_sessions"))],
    };
    let ticks = findings.chart("tick_ms_max", ticks);
    let sessions = findings.chart("sessions", sessions);
    findings.sections.push(Section::new("Over time").line_plot(ticks).line_plot(sessions));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds::grounds::checks::assert_is_game;

    #[test]
    fn the_instances_have_the_mission_of_the_players_and_blows_that_hurt() {
        let (settings, files) = instances();
        assert!(settings.contains("npcs = \"hamlet.toml\""), "{settings}");
        let (_, script) = files.iter().find(|(name, _)| name == "hamlet.toml").expect("the script");
        assert_is_game(script);
    }

    #[test]
    fn growth_is_the_slope_of_memory_over_hours() {
        let at = |second: u32, megabytes: f64| {
            let rss_bytes = (megabytes * 1e6) as u64;
            (f64::from(second), ProcessUsage { rss_bytes, ..ProcessUsage::default() })
        };
        let rising: Vec<_> =
            (0..600).map(|second| at(second, 100.0 + f64::from(second) / 3_600.0 * 7.0)).collect();
        assert!((growth_mb_per_h(&rising) - 7.0).abs() < 1e-3);
        let swinging: Vec<_> = (0..600).map(|second| at(second, 100.0 + f64::from(second % 2))).collect();
        assert!(growth_mb_per_h(&swinging).abs() < 0.1);
    }

    #[test]
    fn growth_covers_the_window_and_neither_login_nor_logout() {
        let at = |second: u32, megabytes: f64| {
            let rss_bytes = (megabytes * 1e6) as u64;
            (f64::from(second), ProcessUsage { rss_bytes, ..ProcessUsage::default() })
        };
        // 50 MB of logins, 3 MB/h for ten minutes, and a logout that gives back 40 MB.
        let memory_mb = |second: u32| match second {
            ..60 => f64::from(second) / 60.0 * 50.0,
            60..660 => 50.0 + f64::from(second - 60) / 3_600.0 * 3.0,
            660.. => 10.0,
        };
        let samples: Vec<_> = (0..700).map(|second| at(second, memory_mb(second))).collect();
        let window = within(&samples, &(60.0..660.0));
        assert_eq!((window[0].0, window[window.len() - 1].0, window.len()), (60.0, 659.0, 600));
        assert!((growth_mb_per_h(window) - 3.0).abs() < 1e-3);
        assert!((growth_mb_per_h(&samples) - 3.0).abs() > 1.0, "the whole run has another slope");
    }

    #[test]
    fn a_thousand_bots_are_a_thousand() {
        assert_eq!(STAYING.map(|(_, count, _)| count).iter().sum::<u32>() + VISITORS, 1_000);
    }
}
