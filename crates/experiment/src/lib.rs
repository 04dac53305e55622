//! Experiments: a server and its clients as separate processes of the same executable, measured from outside.
//!
//! [`EXPERIMENTS`] lists them, [`run`] runs one and writes `report.json` and `report.html`. Each experiment has its own module; shared
//! parts are here:
//!
//! | part | module |
//! |---|---|
//! | the network between server and clients | [`sink`], whose cost [`calibrate`] measures |
//! | the machine's speed meanwhile | `references`, sampled between windows |
//! | a process that takes a part of a core | [`burner`] |
//! | processes that end with us | [`child`], `server`, `bots`, `foreign` |
//! | a database of the servers outside of their data directory | [`RunStore`] |
//! | their resources | `usage`, `metrics`, together in `meter`; `stages` of a ping's way |
//! | a file system without unsynchronised data; slow synchronisations; the disk's own time | `image`, `tracer`, `disk` |
//! | results | `findings`, `budget`, `outcome`; of several runs together, `summary` |
//!
//! It knows the command line of the server, its operator's address and `/proc`, and nothing else: an operator could measure the same.
//! Only `preflight` calls another crate, the one whose promises it checks, `freshness` replays a recording of the world for
//! comparison with observers' views, and `build` and `keep` fill and read the databases of servers that do not run, as these do; `keep` also writes
//! archives by their own codec. It judges only the budgets listed on the page of an experiment.

mod agent_updates;
mod aggregation;
mod bot_fidelity;
mod bots;
mod budget;
mod build;
pub mod burner;
pub mod calibrate;
pub mod child;
mod clock;
mod crash;
mod crowd;
mod daily;
mod disk;
mod error;
mod findings;
mod foreign;
mod freshness;
mod http;
mod image;
mod journal;
mod keep;
mod latency;
mod login_storm;
mod machine;
mod median;
mod meter;
mod metrics;
mod neighbours;
mod outcome;
mod preflight;
mod recorder;
mod references;
mod run_store;
mod server;
pub mod sink;
mod stages;
mod summary;
mod tracer;
mod usage;
mod worlds;

pub use error::ExperimentError;
pub use keep::ArchiveFacts;
pub use outcome::ExperimentReport;
pub use run_store::RunStore;
pub use sink::SinkKind;
pub use summary::{MedianBudget, RunsSummary, Spread, summarize};

use findings::Findings;
use meter::Window;
use references::{Reference, References};
use server::Server;
use sink::Sink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// One experiment.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Name on the command line and in reports.
    pub name: &'static str,
    /// Its question, in a sentence.
    pub question: &'static str,
    run: fn(&Run) -> Result<Findings, ExperimentError>,
    /// Every figure that a run has to yield, quick or not; those of [`OF_WHOLE_RUNS`] in whole runs only.
    figures: fn() -> Vec<String>,
}

/// Beginnings of the names of figures that a quick run need not yield: the few walkers of its seconds need not stop, its worlds need not journal,
/// and it may run without loop devices and without a tracer.
const OF_WHOLE_RUNS: [&str; 7] = [
    "stop_error_",
    "journal_lag_s_",
    "lost_edits_power_",
    "lost_acknowledged_power",
    "lost_acknowledged_full",
    "lost_acknowledged_slow",
    "fsyncs_per_1000_uploads",
];

/// All experiments.
pub const EXPERIMENTS: [Experiment; 16] = [
    agent_updates::EXPERIMENT,
    aggregation::EXPERIMENT,
    bot_fidelity::EXPERIMENT,
    build::EXPERIMENT,
    build::KILLS,
    crash::EXPERIMENT,
    crowd::EXPERIMENT,
    daily::EXPERIMENT,
    keep::EXPERIMENT,
    keep::KILLS,
    latency::EXPERIMENT,
    login_storm::EXPERIMENT,
    neighbours::EXPERIMENT,
    preflight::EXPERIMENT,
    recorder::EXPERIMENT,
    worlds::EXPERIMENT,
];

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct RunParameters {
    /// Name of the experiment.
    pub name: String,
    /// A run of less than a minute that proves that every figure comes out, and no more.
    pub quick: bool,
    /// The network between server and clients.
    pub sink: SinkKind,
    /// Folder of the reports; `target/experiments/NAME` when `None`.
    pub out: Option<PathBuf>,
    /// Duration of `daily`, if it differs from the default.
    pub duration: Option<Duration>,
    /// Percent of a core that another process takes in a second part of `crowd`.
    pub starve: Option<u32>,
    /// Kills of `kills`, `keep` and `keep-kills`, if their number differs from the default.
    pub kills: Option<u32>,
    /// The one part of `build` or `keep` to run; all when `None`.
    pub part: Option<String>,
    /// An empty database for the servers of `keep-kills`; a file in their data directory when `None`.
    pub store: Option<RunStore>,
    /// The executable that is server and bots.
    pub executable: PathBuf,
    /// The command line, for the report.
    pub command: String,
}

/// A run under way: the context of experiments.
struct Run {
    executable: PathBuf,
    /// The measured commit. It is read before the run: the checkout may be at another one after it.
    commit: String,
    out: PathBuf,
    quick: bool,
    duration: Option<Duration>,
    /// Share of a core that another process takes.
    starve: Option<f64>,
    kills: Option<u32>,
    part: Option<String>,
    store: Option<RunStore>,
    sink: Arc<Sink>,
    references: References,
}

impl Run {
    /// One of two values: of a whole run, or of a quick one.
    const fn pick<T: Copy>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// True if parts of the experiment are left out, and their figures with them.
    const fn is_partial(&self) -> bool {
        self.part.is_some() || self.store.is_some()
    }

    /// L of this run so far, microseconds.
    fn l_us(&self) -> f64 {
        self.references.median(Reference::Datagram)
    }

    /// A window of the server, with a sample of the references before it. Behind it comes that of the next one, or of the run's end.
    fn window(&self, server: &Server, duration: Duration) -> Result<Window, ExperimentError> {
        self.references.sample();
        Window::of(server, duration)
    }
}

/// Runs an experiment and writes its reports.
///
/// # Errors
/// [`ExperimentError`] if it could not be run to its end. A run that misses a limit is no error: [`ExperimentReport::failures`] lists it.
pub fn run(request: &RunParameters) -> Result<ExperimentReport, ExperimentError> {
    let experiment = EXPERIMENTS
        .iter()
        .find(|experiment| experiment.name == request.name)
        .ok_or_else(|| ExperimentError::Unknown { name: request.name.clone(), known: names() })?;
    check_options(request)?;
    // This precedes all writing: a request for an unavailable sink leaves no files.
    let sink = Arc::new(Sink::open(request.sink, &request.executable)?);
    let out = request.out.clone().unwrap_or_else(|| usual_out(experiment.name));
    std::fs::create_dir_all(&out).map_err(|source| ExperimentError::File { path: out.clone(), source })?;
    let references = References::open(&sink, request.quick)?;
    let run = Run {
        commit: machine::commit(&request.executable),
        executable: request.executable.clone(),
        out,
        quick: request.quick,
        duration: request.duration,
        starve: request.starve.map(|percent| f64::from(percent) / 100.0),
        kills: request.kills,
        part: request.part.clone(),
        store: request.store.clone(),
        sink,
        references,
    };
    let mut findings = (experiment.run)(&run)?;
    run.references.sample();
    references::report_references(&run, &mut findings);
    let calibration = run.references.calibration();
    if !run.quick && calibration.lost > calibrate::LOST_MAX {
        let percent = report::number(calibration.lost * 100.0);
        findings
            .failures
            .push(format!("the calibrator lost {percent} % of its datagrams, so that L is too small"));
    }
    for name in (experiment.figures)() {
        if run.is_partial() || run.quick && OF_WHOLE_RUNS.iter().any(|beginning| name.starts_with(beginning))
        {
            continue;
        }
        if !findings.figures.get(&name).is_some_and(|figure| figure.is_finite()) {
            findings.failures.push(format!("the run yielded no figure {name}"));
        }
    }
    let outcome = ExperimentReport::new(experiment, request, &run, &calibration, findings);
    outcome.write()?;
    Ok(outcome)
}

/// Refuses options that the experiment does not have, and a database that its servers do not reach.
fn check_options(request: &RunParameters) -> Result<(), ExperimentError> {
    let options: [(_, _, &[&str]); 4] = [
        ("--starve", request.starve.is_some(), &[crowd::EXPERIMENT.name]),
        ("--kills", request.kills.is_some(), &[build::KILLS.name, keep::EXPERIMENT.name, keep::KILLS.name]),
        ("--part", request.part.is_some(), &[build::EXPERIMENT.name, keep::EXPERIMENT.name]),
        ("--store", request.store.is_some(), &[keep::KILLS.name]),
    ];
    for (option, is_given, names) in options {
        if is_given && !names.contains(&request.name.as_str()) {
            return Err(ExperimentError::Option { option, name: request.name.clone() });
        }
    }
    if request.store.is_some() && request.sink == SinkKind::Tun {
        let reason = "needs --sink lo: servers in a network of their own do not reach it".to_owned();
        return Err(ExperimentError::Store { reason });
    }
    Ok(())
}

/// Default folder of an experiment's reports.
#[must_use]
pub fn usual_out(name: &str) -> PathBuf {
    Path::new("target/experiments").join(name)
}

fn names() -> String {
    EXPERIMENTS.map(|experiment| experiment.name).join(", ")
}
