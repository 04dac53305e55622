//! `throng store`: the database as a whole.

use super::StoreArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use store::StoreUrl;

/// `throng store …`.
#[derive(Clone, Debug, Subcommand)]
pub enum StoreCommand {
    /// Bring the tables up to date, as a starting server does.
    Migrate {
        /// The database.
        #[command(flatten)]
        store: StoreArgs,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
    },
    /// Look the database through without changing it. Exit status 1: it is damaged or not up to date.
    Check {
        /// The database.
        #[command(flatten)]
        store: StoreArgs,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
    },
    /// Copy a database into an empty one of either engine; repeat the command when it was interrupted.
    Copy(CopyArgs),
}

/// `throng store copy …`. No server may run on either: its writes meanwhile are not copied.
#[derive(Args, Clone, Debug)]
pub struct CopyArgs {
    /// The source, which stays as it is: sqlite:, sqlite:PATH or postgres://USER@HOST/DATABASE.
    #[arg(long, value_name = "URL")]
    pub from: StoreUrl,
    /// The target, which is empty.
    #[arg(long, value_name = "URL")]
    pub to: StoreUrl,
    /// The data directory that sqlite: stands for.
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub data: PathBuf,
    /// Answer in JSON.
    #[arg(long)]
    pub json: bool,
}
