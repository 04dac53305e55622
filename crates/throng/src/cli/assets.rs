//! `throng assets`: content of users on a running server.

use super::DataArg;
use clap::Subcommand;
use ids::Uuid;

/// `throng assets …`. Exit status 1: refused, not found, or damaged.
#[derive(Clone, Debug, Subcommand)]
pub enum AssetsCommand {
    /// List the kinds of assets with their numbers and bytes, the scrubber's progress, and the assets in quarantine.
    #[command(after_help = "Example:
  throng assets list --json")]
    List {
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
    /// Show an asset: kind, bytes, hash, creator, source, and the evidence of damage.
    #[command(
        after_help = "The library and other assets of the server's own are in the program, and are not stored.
Example:
  throng assets show 8dcd4a48-2d37-4909-9f78-f7a9eb4ef903"
    )]
    Show {
        /// Its id.
        #[arg(value_name = "ID")]
        id: Uuid,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
    /// Verify the bytes of an asset now, such as after its file was restored. It leaves the quarantine if they match their hash. Exit status 1: they do not.
    #[command(
        after_help = "Its file is named by its hash (throng assets show ID) in the folder of assets and in that of a directory of backups.
Example:
  throng assets verify 8dcd4a48-2d37-4909-9f78-f7a9eb4ef903"
    )]
    Verify {
        /// Its id.
        #[arg(value_name = "ID")]
        id: Uuid,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
    /// List the assets that nothing names, by creator and kind: a job, which reads all regions and inventories. Nothing is deleted.
    #[command(
        after_help = "Sizes are in bytes. Of creators and kinds, and of single assets, those with the most bytes are listed.
Example:
  throng assets report --json"
    )]
    Report {
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
}
