//! Commands that measure builds: `throng experiment` and `preflight`.

use super::parse::{burden, duration};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use systems::System;

/// `throng experiment …`.
#[derive(Debug, Subcommand)]
pub enum ExperimentCommand {
    /// Print the experiments with their questions.
    List,
    /// Run one. Exit status 1: it could not be run, or something did not hold; 3: no sink is available.
    Run(ExperimentArgs),
    /// Put several runs of one experiment together: medians, spreads, and which reference each figure follows. Exit status 1: a median does not
    /// hold, or a run had another complaint.
    Summary(SummaryArgs),
}

/// `throng experiment summary …`.
#[derive(Args, Clone, Debug)]
pub struct SummaryArgs {
    /// Directories with the report.json of a run each.
    #[arg(value_name = "DIR", required = true)]
    pub runs: Vec<PathBuf>,
    /// Print the figures as one JSON object and nothing else.
    #[arg(long)]
    pub json: bool,
    /// Directory of summary.json and summary.html; they are not written without it.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `throng experiment run …`.
#[derive(Args, Clone, Debug)]
pub struct ExperimentArgs {
    /// Name of the experiment; `throng experiment list` prints them.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Less than a minute, to see that every figure comes out; nothing is judged.
    #[arg(long)]
    pub quick: bool,
    /// Print the figures as one JSON object and nothing else.
    #[arg(long)]
    pub json: bool,
    /// Directory of report.json and report.html [default: target/experiments/NAME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Network between server and clients: TUN devices between namespaces, or loopback [default: tun for root].
    #[arg(long, value_enum)]
    pub sink: Option<SinkName>,
    /// Length of the window of `daily` [default: 10m].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Number of runs; if more than one, reports are in DIR/run-1 and so on, and DIR has summary.json and summary.html.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// A further part of `crowd`: 5,000 clients beside a process that takes PERCENT of a core.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub starve: Option<u32>,
    /// Number of kills of `kills`, `keep` and `keep-kills`; of power cuts half as many, in `keep` as many [default: 200].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub kills: Option<u32>,
    /// One part alone: of `build` load, rest, bulk, rez, edits, disk, crowd, movers, scene, kills or power; of `keep` kills, slow, power, full, transfers,
    /// uploads, textures or inventory.
    #[arg(long, value_name = "NAME")]
    pub part: Option<String>,
    /// Address of an empty database of PostgreSQL for the servers of `keep-kills`, which then makes its first part alone; needs --sink lo [default: a file].
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
}

/// A network between server and clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SinkName {
    /// Two namespaces joined by TUN devices; needs root.
    Tun,
    /// Loopback.
    Lo,
}

/// `throng preflight …`.
#[derive(Args, Clone, Debug)]
pub struct PreflightArgs {
    /// The build to compare with: a commit of the repository one is in, or a binary.
    #[arg(value_name = "BASE")]
    pub base: String,
    /// The build that is compared.
    #[arg(value_name = "HEAD")]
    pub head: String,
    /// The workload: crowd (worlds, gateway and clients), worlds (worlds only), or a recording of `throng record`.
    #[arg(long, value_name = "NAME|FILE", default_value = "crowd")]
    pub workload: String,
    /// Ticks that are measured; a second has 20.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub ticks: u64,
    /// Directory of report.html, report.json and both profiles.
    #[arg(long, value_name = "DIR", default_value = "target/preflight")]
    pub out: PathBuf,
    /// Directory in which commits are built and kept [default: throng/preflight in the user's cache].
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Print the comparison as one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// `throng workload …`. Preflight calls it; by hand it is of use when a difference is looked for.
#[derive(Args, Clone, Debug)]
pub struct WorkloadArgs {
    /// A workload's name, or a file: one made by --prepare, or a recording.
    #[arg(value_name = "NAME|FILE")]
    pub workload: PathBuf,
    /// Measured ticks of a workload to be prepared, or of a recording.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub ticks: u64,
    /// Keep the calls into the server in this file instead of running them.
    #[arg(long, value_name = "FILE", conflicts_with = "out", required_unless_present = "out")]
    pub prepare: Option<PathBuf>,
    /// Run a prepared workload, and write the result as JSON.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Make a system more expensive on purpose, by this number of turns of a short loop per 1,000 of its entries.
    #[arg(long = "burden", value_name = "SYSTEM=LAPS", value_parser = burden, requires = "out")]
    pub burdens: Vec<(System, u64)>,
}

/// `throng measure-recorder`.
#[derive(Args, Clone, Debug)]
pub struct MeasureRecorderArgs {
    /// Batches of scopes and of bare timestamps.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub batches: u32,
    /// Times that nothing is saved and then captures are.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Length of each of the two phases.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub phase: Duration,
    /// Directory of captures.
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
}
