//! `throng parcel`: parcels of a running server's regions.

use super::DataArg;
use clap::{Args, Subcommand};

/// `throng parcel …`. Areas are in square metres, places in metres from the region's corner. Exit status 1: refused or not found.
#[derive(Clone, Debug, Subcommand)]
pub enum ParcelCommand {
    /// List the parcels of a region: number, area, prims, owner, name.
    #[command(after_help = "Example:
  throng parcel list --region Harbour")]
    List {
        /// The region.
        #[command(flatten)]
        target: ParcelTarget,
    },
    /// Show a parcel with its settings and lists.
    #[command(after_help = "Example:
  throng parcel show 3 --region Harbour --json")]
    Show {
        /// Number of the parcel.
        #[arg(value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
        number: u16,
        /// The region.
        #[command(flatten)]
        target: ParcelTarget,
    },
}

/// The region of a command on parcels.
#[derive(Args, Clone, Debug)]
pub struct ParcelTarget {
    /// Name of the region.
    #[arg(long, value_name = "NAME")]
    pub region: String,
    /// Answer in JSON.
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}
