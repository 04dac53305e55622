//! Experiments: a server and its clients as separate processes of the same executable, measured from outside.
//!
//! [`EXPERIMENTS`] lists them, [`run`] runs one and writes `report.json` and `report.html`. What an experiment measures
//! is in its own module; what all of them need is here:
//!
//! | what | where |
//! |---|---|
//! | the network between server and clients | [`sink`], whose cost [`calibrate`] measures |
//! | processes that end with us | [`child`], `server`, `bots`, `foreign` |
//! | what they use | `usage`, `metrics`, together in `meter`; `stages` of a ping's way |
//! | what comes out | `findings`, `budget`, `outcome` |
//!
//! It knows nothing of the server but its command line, its operator's address and `/proc`: what is measured is what an
//! operator would see. Only `preflight` calls another crate, the one whose promises it checks, and `freshness` replays a recording
//! of the world, which is what observers' views are compared with. It judges only what an experiment's own page says that it judges.

mod agent_updates;
mod aggregation;
mod bot_fidelity;
mod bots;
mod budget;
pub mod calibrate;
pub mod child;
mod clock;
mod crash;
mod crowd;
mod daily;
mod error;
mod findings;
mod foreign;
mod freshness;
mod http;
mod latency;
mod login_storm;
mod machine;
mod meter;
mod metrics;
mod neighbours;
mod outcome;
mod preflight;
mod recorder;
mod server;
pub mod sink;
mod stages;
mod usage;
mod worlds;

pub use error::ExperimentError;
pub use outcome::Outcome;
pub use sink::SinkKind;

use findings::Findings;
use sink::Sink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// One experiment.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// What it is called on the command line and in reports.
    pub name: &'static str,
    /// What it asks, in a sentence.
    pub question: &'static str,
    run: fn(&Run) -> Result<Findings, ExperimentError>,
    /// Every figure that a run has to yield, quick or not.
    figures: fn() -> Vec<String>,
}

/// All experiments.
pub const EXPERIMENTS: [Experiment; 12] = [
    agent_updates::EXPERIMENT,
    aggregation::EXPERIMENT,
    bot_fidelity::EXPERIMENT,
    crash::EXPERIMENT,
    crowd::EXPERIMENT,
    daily::EXPERIMENT,
    latency::EXPERIMENT,
    login_storm::EXPERIMENT,
    neighbours::EXPERIMENT,
    preflight::EXPERIMENT,
    recorder::EXPERIMENT,
    worlds::EXPERIMENT,
];

/// How to run an experiment.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which one, by its name.
    pub name: String,
    /// A run of less than a minute that proves that every figure comes out, and no more.
    pub quick: bool,
    /// The network between server and clients.
    pub sink: SinkKind,
    /// Where the reports go; `target/experiments/NAME` when `None`.
    pub out: Option<PathBuf>,
    /// How long `daily` takes, when not as usual.
    pub duration: Option<Duration>,
    /// The executable that is server and bots.
    pub executable: PathBuf,
    /// The command line, for the report.
    pub command: String,
}

/// A run under way: what experiments get.
#[derive(Debug)]
struct Run {
    executable: PathBuf,
    /// What is measured. It is asked for before the run: the checkout may be at another one after it.
    commit: String,
    out: PathBuf,
    quick: bool,
    duration: Option<Duration>,
    sink: Arc<Sink>,
    /// L of this run, microseconds.
    l_us: f64,
}

impl Run {
    /// One of two values: of a whole run, or of a quick one.
    const fn pick<T: Copy>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

/// Runs an experiment and writes its reports.
///
/// # Errors
/// When it could not be run to its end. One that ran and did not hold what it has to hold is no error:
/// [`Outcome::failures`] says so.
pub fn run(request: &Request) -> Result<Outcome, ExperimentError> {
    let experiment = EXPERIMENTS
        .iter()
        .find(|experiment| experiment.name == request.name)
        .ok_or_else(|| ExperimentError::Unknown { name: request.name.clone(), known: names() })?;
    // Before anything is written: whoever asks for a sink that is not to be had gets nothing else.
    let sink = Arc::new(Sink::open(request.sink, &request.executable)?);
    let out = request.out.clone().unwrap_or_else(|| Path::new("target/experiments").join(experiment.name));
    std::fs::create_dir_all(&out).map_err(|source| ExperimentError::File { path: out.clone(), source })?;
    let rounds = if request.quick { calibrate::ROUNDS_QUICK } else { calibrate::ROUNDS };
    let calibration = calibrate::measure(&sink, rounds)?;
    let run = Run {
        commit: machine::commit(&request.executable),
        executable: request.executable.clone(),
        out,
        quick: request.quick,
        duration: request.duration,
        sink,
        l_us: calibration.l_us,
    };
    let mut findings = (experiment.run)(&run)?;
    findings.figure("l_us", calibration.l_us);
    if !run.quick && calibration.lost > calibrate::LOST_MAX {
        let percent = report::number(calibration.lost * 100.0);
        findings
            .failures
            .push(format!("the calibrator lost {percent} % of its datagrams, so that L is too small"));
    }
    for name in (experiment.figures)() {
        if !findings.figures.get(&name).is_some_and(|figure| figure.is_finite()) {
            findings.failures.push(format!("the run yielded no figure {name}"));
        }
    }
    let outcome = Outcome::new(experiment, request, &run, &calibration, findings);
    outcome.write()?;
    Ok(outcome)
}

fn names() -> String {
    EXPERIMENTS.map(|experiment| experiment.name).join(", ")
}
