//! `latency`: how long a ping and a chat line take through a server with a crowd in it.
//!
//! Some probes ping every 50 ms and chat every half second. Beside the server runs a plain echo, which they ask every 5 ms on the same
//! way: its time is the machine's, so a ping's own time is the difference of the two. The server's histograms divide it into stages.
//! Between two counts more walkers log in; all are on one server.

use crate::bots::{Bots, ProbeFigures, TimeSummary};
use crate::budget::{FigureLimit, FigureList, Limit, budget};
use crate::error::ExperimentError;
use crate::findings::Findings;
use crate::meter::Sampler;
use crate::server::Server;
use crate::stages::{STAGES, StageTimes, StageWindow};
use crate::{Experiment, Run, clock};
use report::{Column, Section, Table};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "latency",
    question: "How long do a ping and a chat line take through a server with a crowd in it?",
    run,
    figures,
};

/// Number of walkers during each measurement.
const CROWDS: [u32; 5] = [0, 100, 800, 1_400, 5_000];
const CROWDS_QUICK: [u32; 5] = [0, 4, 8, 12, 16];
/// The one whose figures have budgets.
const JUDGED: usize = 3;

/// Number of bots that ping and speak.
const PROBES: u32 = 20;
const PROBES_QUICK: u32 = 3;

const WINDOW: Duration = Duration::from_secs(60);
const WINDOW_QUICK: Duration = Duration::from_secs(3);

/// Looks at the server in a window, evenly spread: each sees the longest times of the last 30 s.
const READINGS: u32 = 3;

/// Time for a crowd to spread out and to be displayed.
const SPREAD: Duration = Duration::from_secs(20);

/// A step of the world, in milliseconds.
const TICK_MS: f64 = 50.0;

/// Period at which the echo checks for its end.
const ECHO_TIMEOUT: Duration = Duration::from_millis(100);

const BUDGETS: [FigureLimit; 6] = [
    budget(
        "ping_ms_p999_1400",
        "ping less the control echo, 1,400 clients, p99.9",
        "ms",
        Limit::AtMost(10.0),
    ),
    budget("chat_ticks_p999_1400", "chat echo, 1,400 clients, p99.9", "ticks", Limit::AtMost(2.0)),
    budget("reordered", "datagrams and words out of order", "", Limit::AtMost(0.0)),
    budget("pings_unanswered", "pings not answered before the next", "", Limit::AtMost(0.0)),
    budget("words_lost", "words not heard within ten seconds", "", Limit::AtMost(0.0)),
    budget("circuits_lost", "circuits lost", "", Limit::AtMost(0.0)),
];

const FIGURES: FigureList = FigureList { limited: &[&BUDGETS], others: &[] };

fn figures() -> Vec<String> {
    let of_each = CROWDS.iter().flat_map(|count| {
        ["ping_ms_p999", "control_ms_p999", "chat_ms_p999"].map(|name| format!("{name}_of_{count}"))
    });
    let of_stages = CROWDS.iter().flat_map(|&count| {
        STAGES.iter().flat_map(move |stage| ["p99", "p999"].map(|what| stage_figure(stage, what, count)))
    });
    FIGURES.names().into_iter().chain(of_each).chain(of_stages).collect()
}

fn stage_figure(stage: &str, what: &str, count: u32) -> String {
    format!("stage_{stage}_us_{what}_of_{count}")
}

/// Measurements beside one crowd.
struct LatencyFigures {
    probes: ProbeFigures,
    /// Stages of their pings in the server.
    stages: [StageTimes; STAGES.len()],
}

fn run(run: &Run) -> Result<Findings, ExperimentError> {
    let mut findings = Findings::default();
    let crowds = run.pick(CROWDS, CROWDS_QUICK);
    let n_probes = run.pick(PROBES, PROBES_QUICK);
    let server = Server::start_with(run, "server", "", "size_m = 512\n")?;
    let sampler = Sampler::start(server.pid())?;
    let echo = EchoThread::start(run)?;
    let options = ["--behavior", "probe", "--last-name", "Probe", "--ping-every", "50ms"];
    let options = [&options[..], &["--control-echo", &echo.address]].concat();
    let mut probes = Bots::start(run, &server, "probes", n_probes, &options)?;
    probes.command(&format!("enter {n_probes}"))?;
    let mut crowd = Bots::start(run, &server, "crowd", crowds[crowds.len() - 1], &["--behavior", "walk"])?;
    let mut measured = Vec::new();
    for count in crowds {
        if count > 0 {
            crowd.command(&format!("enter {count}"))?;
        }
        clock::wait(run.pick(SPREAD, Duration::from_millis(500)));
        run.references.sample();
        probes.command("probes")?;
        let mut stages = StageWindow::begin(&server)?;
        for _ in 1..READINGS {
            clock::wait(run.pick(WINDOW, WINDOW_QUICK) / READINGS);
            stages.read(&server)?;
        }
        clock::wait(run.pick(WINDOW, WINDOW_QUICK) / READINGS);
        let stages = stages.end(&server)?;
        measured
            .push(LatencyFigures { probes: probes.command("probes")?.probes.unwrap_or_default(), stages });
    }
    let reports = [crowd.leave()?, probes.leave()?];
    drop(echo);
    findings.usage("server", "The server over the run", &sampler.finish());
    server.stop()?;

    let nan = |ms: Option<f64>| ms.unwrap_or(f64::NAN);
    // Names of figures are those of a whole run, also in a quick one.
    for (&count, LatencyFigures { probes, stages }) in CROWDS.iter().zip(&measured) {
        findings.figure(format!("ping_ms_p999_of_{count}"), nan(probes.pings.p999_ms));
        findings.figure(format!("control_ms_p999_of_{count}"), nan(probes.control.p999_ms));
        findings.figure(format!("chat_ms_p999_of_{count}"), nan(probes.echoes.p999_ms));
        for (stage, times) in STAGES.iter().zip(stages) {
            findings.figure(stage_figure(stage, "p99", count), times.p99_us);
            findings.figure(stage_figure(stage, "p999", count), times.p999_us);
        }
    }
    let judged = &measured[JUDGED].probes;
    let own_ms = nan(judged.pings.p999_ms) - nan(judged.control.p999_ms);
    findings.figure("ping_ms_p999_1400", own_ms);
    findings.figure("chat_ticks_p999_1400", nan(judged.echoes.p999_ms) / TICK_MS);
    // These are counted from the beginning.
    let last = &measured.last().expect("there are crowds").probes;
    findings.figure("reordered", last.reordered as f64);
    findings.figure("pings_unanswered", last.pings_unanswered as f64);
    findings.figure("words_lost", last.words_lost as f64);
    let lost: u32 = reports.iter().map(|report| report.circuits_lost).sum();
    findings.figure("circuits_lost", lost.into());
    findings.sections.push(waits(&crowds, &measured));
    findings.sections.push(ping_stages(&crowds, &measured));
    FIGURES.judge(run, &mut findings);
    Ok(findings)
}

/// All times of all crowds.
fn waits(crowds: &[u32], measured: &[LatencyFigures]) -> Section {
    let times = ["min", "mean", "max", "standard deviation", "p99", "p99.9"];
    let mut columns =
        vec![Column::text("what"), Column::number("clients", ""), Column::number("measured", "")];
    columns.extend(times.map(|name| Column::number(name, "ms")));
    let mut table = Table::new(columns);
    type Of = fn(&ProbeFigures) -> &TimeSummary;
    let kinds: [(&str, Of); 3] = [
        ("ping", |probes| &probes.pings),
        ("control echo", |probes| &probes.control),
        ("chat echo", |probes| &probes.echoes),
    ];
    for (what, of) in kinds {
        for (count, LatencyFigures { probes, .. }) in crowds.iter().zip(measured) {
            let times = of(probes);
            let mut row = vec![what.into(), f64::from(*count).into(), (times.count as f64).into()];
            let all = [times.min_ms, times.mean_ms, times.max_ms, times.sd_ms, times.p99_ms, times.p999_ms];
            row.extend(all.map(|ms| ms.unwrap_or(f64::NAN).into()));
            table.row(row);
        }
    }
    Section::new("Waiting times of probes").table(table)
}

/// A ping as its client sees it beside its stages in the server, for each crowd.
fn ping_stages(crowds: &[u32], measured: &[LatencyFigures]) -> Section {
    let times = ["min", "mean", "max", "standard deviation", "p50", "p99", "p99.9"];
    let mut columns =
        vec![Column::number("clients", ""), Column::text("where"), Column::number("measured", "")];
    columns.extend(times.map(|name| Column::number(name, "µs")));
    let mut table = Table::new(columns);
    for (count, LatencyFigures { probes, stages }) in crowds.iter().zip(measured) {
        let mut row = |place: &str, n: f64, times: [f64; 7]| {
            let mut cells = vec![f64::from(*count).into(), place.into(), n.into()];
            cells.extend(times.map(Into::into));
            table.row(cells);
        };
        for (place, t) in [("client: ping", &probes.pings), ("client: control echo", &probes.control)] {
            let all = [t.min_ms, t.mean_ms, t.max_ms, t.sd_ms, t.p50_ms, t.p99_ms, t.p999_ms];
            row(place, t.count as f64, all.map(|ms| ms.map_or(f64::NAN, |ms| ms * 1_000.0)));
        }
        for (stage, t) in STAGES.iter().zip(stages) {
            let all = [t.min_us, t.mean_us, t.max_us, t.sd_us, t.p50_us, t.p99_us, t.p999_us];
            row(&format!("server: {stage}"), t.count, all);
        }
    }
    let text = "Stages of a ping in the server: in the kernel until the shard has read it, until its handler begins (dispatch), in the \
                handler, until its answer is with the kernel (send). The rest of the client's time belongs to the network, the \
                client's kernel and the client. Pings of walkers, one each five seconds, count here, too. The server's smallest \
                times and percentiles are those of a histogram with five buckets a decade.";
    Section::new("Stages of a ping").text(text).table(table)
}

/// A plain echo beside the server, on a thread of its own.
struct EchoThread {
    /// Its address.
    address: String,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl EchoThread {
    fn start(run: &Run) -> Result<Self, ExperimentError> {
        let failed = |source| ExperimentError::Start { what: "the control echo".to_owned(), source };
        let ip = run.sink.server.ip;
        let open = move || {
            let socket = UdpSocket::bind((ip, 0))?;
            socket.set_read_timeout(Some(ECHO_TIMEOUT))?;
            Ok((socket.local_addr()?.to_string(), socket))
        };
        let (address, socket) = run.sink.server.run(open).map_err(failed)?;
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopping);
        let echo = move || {
            let mut datagram = [0; 64];
            while !stop.load(Ordering::Relaxed) {
                if let Ok((length, from)) = socket.recv_from(&mut datagram) {
                    // A lost datagram is missing among the times.
                    let _ = socket.send_to(&datagram[..length], from);
                }
            }
        };
        let thread = std::thread::Builder::new().name("echo".to_owned()).spawn(echo).map_err(failed)?;
        Ok(Self { address, stopping, thread: Some(thread) })
    }
}

impl Drop for EchoThread {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its panic was printed when it happened.
            let _ = thread.join();
        }
    }
}
