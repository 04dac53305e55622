//! `throng region`: regions as a whole.

use super::{DataArg, StoreArgs};
use clap::Subcommand;
use std::path::PathBuf;

/// `throng region …`. Exit status 1: refused or not found.
#[derive(Clone, Debug, Subcommand)]
pub enum RegionCommand {
    /// Write a region's objects to a file. Without a running server, those in the database, in which nothing is changed. Damaged parts are named, and no
    /// file is written then without `--partial`.
    Export {
        /// Name of the region.
        #[arg(value_name = "NAME")]
        name: String,
        /// The file to make; there must be none yet.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Write the file also if parts of the region are damaged in the database, without these.
        #[arg(long)]
        partial: bool,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server, or its database.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Add the objects of a file to a region. Without a running server, to those in the database.
    Import {
        /// Name of the region.
        #[arg(value_name = "NAME")]
        name: String,
        /// A file of `throng region export`.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server, or its database.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Have a running server save a region now, and print the number of the frame that is on the disk.
    Save {
        /// Name of the region.
        #[arg(value_name = "NAME")]
        name: String,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
}
