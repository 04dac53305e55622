//! `throng region`: regions as a whole.

use super::{DataArg, StoreArgs};
use clap::Subcommand;
use std::path::PathBuf;

/// `throng region …`. Exit status 1: refused or not found.
#[derive(Clone, Debug, Subcommand)]
pub enum RegionCommand {
    /// List the regions of a running server: size, avatars, prims, and unsaved changes.
    #[command(after_help = "Example:
  throng region list --json")]
    List {
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
    /// Show a region of a running server: place on the grid, size in metres, numbers, estate, and the state of its saves.
    #[command(after_help = "Example:
  throng region show Harbour --json")]
    Show {
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
    /// Begin a region of a running server again from its present state. Visitors, objects and land stay; visitors see a short pause.
    #[command(
        after_help = "A recording of the region ends. A region that has panicked begins again by itself.
Example:
  throng region restart Harbour --message \"A short pause.\""
    )]
    Restart {
        /// Name of the region.
        #[arg(value_name = "NAME")]
        name: String,
        /// Text for the region's visitors, at most 254 bytes.
        #[arg(long, value_name = "TEXT")]
        message: Option<String>,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
    /// Write a region's objects to a file. Without a running server, those in the database, in which nothing is changed. Damaged parts are named, and no
    /// file is written then without `--partial`.
    #[command(after_help = "Example:
  throng region export Harbour harbour.region")]
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
    #[command(after_help = "Example:
  throng region import Harbour harbour.region")]
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
    #[command(after_help = "Example:
  throng region save Harbour")]
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
