//! Arguments of `throng script`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// `throng script …`.
#[derive(Debug, Subcommand)]
pub enum ScriptCommand {
    /// Find the errors of scripts, and code that does not do what it seems to. Exit status 1: an error; 2: a file that cannot be read.
    Check(ScriptCheckArgs),
}

/// `throng script check …`.
#[derive(Args, Clone, Debug)]
pub struct ScriptCheckArgs {
    /// The scripts.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Rules for scripts whose first line is not `//#dialect NAME`.
    #[arg(long, value_enum, value_name = "NAME", default_value = "auto")]
    pub dialect: DialectName,
    /// Answer in JSON: a list of files with their problems.
    #[arg(long)]
    pub json: bool,
}

/// Dialect of scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DialectName {
    /// `opensim` for a script that calls a function of OpenSimulator's, `sl` for every other one.
    Auto,
    /// Second Life's.
    Sl,
    /// OpenSimulator's.
    Opensim,
}
