//! `throng region`: regions as a whole.

use super::parse::squares;
use super::{DataArg, StoreArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `throng region …`. Exit status 1: refused or not found.
#[derive(Clone, Debug, Subcommand)]
pub enum RegionCommand {
    /// List the regions of a running server: size, avatars, prims, and unsaved changes; changes that a restart applies; stored content of regions that are not configured.
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
    /// Add a region to the configuration file of a running server. A restart of the server applies it.
    #[command(
        after_help = "The file is the one that the server was started with (--config FILE); comments and order in it stay. A server would start with the new one, or nothing is \
written. Stored content of a region of this name that is not configured is the new region's.
Examples:
  throng region create Quay
  throng region create \"Old Town\" --at 1020,1000 --size 512 --water 20 --owner \"Ada Lovelace\""
    )]
    Create(RegionCreateArgs),
    /// Remove a region from the configuration file of a running server, which a restart of the server applies. The content of the region stays stored.
    #[command(
        after_help = "A region that is created again under its name has its content. `throng region list` names regions with content that are not configured.
Examples:
  throng region remove Quay
  throng region remove Quay --delete-content    # behind a restart without it: its content goes, at once and for good"
    )]
    Remove {
        /// Name of the region; or, of one that is not configured, its number.
        #[arg(value_name = "NAME")]
        name: String,
        /// Delete the stored content of a region that is not configured and does not run any more. This cannot be undone.
        #[arg(long)]
        delete_content: bool,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
    /// Give a region another name in the configuration file of a running server, which a restart of the server applies. Content, place, homes and landmarks stay.
    #[command(after_help = "Example:
  throng region rename Harbour \"Old Harbour\"")]
    Rename {
        /// Name of the region.
        #[arg(value_name = "NAME")]
        name: String,
        /// Its name from the restart on, at most 63 bytes.
        #[arg(value_name = "NEW_NAME")]
        to: String,
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
    /// Add the objects of a file to a region, and on order put the file's land in place of the region's. Without a running server, in the database.
    #[command(after_help = "Examples:
  throng region import Harbour harbour.region
  throng region import Harbour harbour.region --land")]
    Import {
        /// Name of the region.
        #[arg(value_name = "NAME")]
        name: String,
        /// A file of `throng region export`.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Put the file's ground, parcels and estate in place of the region's. The file has to be of a region of the same width.
        #[arg(long)]
        land: bool,
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

/// Arguments of `throng region create`.
#[derive(Args, Clone, Debug)]
pub struct RegionCreateArgs {
    /// Name of the region, at most 63 bytes.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// South-west corner on the grid's map, in squares of 256 m; without it, to the east of all others with a gap.
    #[arg(long, value_name = "X,Y", value_parser = squares)]
    pub at: Option<[u32; 2]>,
    /// Length of its sides, metres: 256, 512, 768 or 1024 [default: 256].
    #[arg(long, value_name = "METRES")]
    pub size: Option<u32>,
    /// Shape of its ground [default: hills].
    #[arg(long, value_name = "SHAPE", value_parser = ["hills", "flat"])]
    pub terrain: Option<String>,
    /// Seed of the hills: equal seeds give equal ground [default: 1].
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,
    /// Height of the water, metres, 0 to 255 [default: 20].
    #[arg(long, value_name = "METRES")]
    pub water: Option<f32>,
    /// Owner of the estate: "First Last", or the id of an account.
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    /// Answer in JSON.
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}
