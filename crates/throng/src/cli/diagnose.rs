//! Commands that examine a server: `throng trace`, `tune`, `crash`, `record`, `replay`.

use super::DataArg;
use super::parse::{fraction, world_label};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `throng record …`: a world's state and, from then on, everything that it is given.
#[derive(Args, Clone, Debug)]
pub struct RecordArgs {
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
    /// Name of the region.
    #[arg(long, value_name = "NAME")]
    pub world: String,
    /// For how long, in seconds.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub seconds: u32,
    /// The file to make, on the server's machine; there must be none yet.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// `throng replay FILE`: needs no server and no data directory.
#[derive(Args, Clone, Debug)]
pub struct ReplayArgs {
    /// A recording of `throng record`.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// End with status 1 when any tick comes to another state than the recorded one.
    #[arg(long)]
    pub verify: bool,
    /// Play it under the flight recorder, and leave a capture of the end in the data directory DIR, for `throng trace`.
    #[arg(long, value_name = "DIR")]
    pub capture: Option<PathBuf>,
    /// Number of runs, each from the beginning.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: u32,
}

/// `throng crash …`. Reads files, whether a server runs or not.
#[derive(Clone, Debug, Subcommand)]
pub enum CrashCommand {
    /// List the crashes, the oldest first.
    List {
        /// The data directory.
        #[command(flatten)]
        data: DataArg,
    },
    /// Explain a dump: cause, place, and the activity of each thread.
    Show {
        /// The dump: a path, or its name in the data directory's crashes.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Data directory with the symbols.
        #[command(flatten)]
        data: DataArg,
    },
}

/// `throng crash-monitor`, with the socket to the server as standard input.
#[derive(Args, Clone, Debug)]
pub struct CrashMonitorArgs {
    /// The server's data directory.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// The server's process id.
    #[arg(long, value_name = "PID")]
    pub server: u32,
    /// Id and name of a shared world.
    #[arg(long = "world", value_name = "ID=NAME", value_parser = world_label)]
    pub worlds: Vec<(u64, String)>,
    /// Dumps of each kind to keep.
    #[arg(long, value_name = "N")]
    pub dumps_max: u32,
    /// Space for the dumps of each kind.
    #[arg(long, value_name = "MIB")]
    pub mib_max: u32,
    /// Form of log lines.
    #[arg(long, value_name = "FORMAT")]
    pub log_format: String,
    /// Filter of log lines.
    #[arg(long, value_name = "FILTER")]
    pub log_filter: String,
}

/// `throng trace …`. Captures are read from the data directory, whether a server runs on it or not.
#[derive(Clone, Debug, Subcommand)]
pub enum TraceCommand {
    /// List the captures, the oldest first, each with its culprit.
    List {
        /// The data directory.
        #[command(flatten)]
        data: DataArg,
    },
    /// Print the activity of every thread around the moment of a capture.
    Show {
        /// The capture's name, as listed.
        #[arg(value_name = "NAME")]
        name: String,
        /// Leave out activities shorter than this part of the time shown.
        #[arg(long, value_name = "FRACTION", default_value_t = 0.01, value_parser = fraction)]
        least: f64,
        /// Write a page with the timeline as a picture and the summary to this file instead.
        #[arg(long, value_name = "FILE", conflicts_with = "least")]
        html: Option<PathBuf>,
        /// The data directory.
        #[command(flatten)]
        data: DataArg,
    },
    /// Print the cause and the highest costs.
    Summary {
        /// The capture's name, as listed; the newest without one.
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
        /// The data directory.
        #[command(flatten)]
        data: DataArg,
    },
    /// Have a running server write its last seconds, and print the capture's name.
    Save {
        /// The data directory.
        #[command(flatten)]
        data: DataArg,
    },
    /// Watch the costs of a running server's systems and threads, against their budgets.
    Live {
        /// Print one table and end.
        #[arg(long)]
        once: bool,
        /// The data directory.
        #[command(flatten)]
        data: DataArg,
    },
}

/// `throng tune [KEY VALUE]`.
#[derive(Args, Clone, Debug)]
pub struct TuneArgs {
    /// Key; without one all keys and their values are listed.
    #[arg(value_name = "KEY", requires = "value")]
    pub key: Option<String>,
    /// New value.
    #[arg(value_name = "VALUE")]
    pub value: Option<String>,
    /// Keep it for the next starts too.
    #[arg(long, requires = "value")]
    pub persist: bool,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}
