//! `throng jobs`: the long orders of a running server.

use super::DataArg;
use clap::Subcommand;

/// `throng jobs …`. Exit status 1: refused or not found.
#[derive(Clone, Debug, Subcommand)]
pub enum JobsCommand {
    /// List the jobs that wait and run, and those that have ended lately.
    #[command(after_help = "Example:
  throng jobs list --json")]
    List {
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
    /// Show a job with its outcome.
    #[command(after_help = "Example:
  throng jobs show 7 --json")]
    Show {
        /// Its number.
        #[arg(value_name = "ID")]
        id: u64,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
    /// Cancel a waiting job, or have a running one end.
    #[command(after_help = "Example:
  throng jobs cancel 7")]
    Cancel {
        /// Its number.
        #[arg(value_name = "ID")]
        id: u64,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
}
