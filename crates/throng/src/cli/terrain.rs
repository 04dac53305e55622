//! `throng terrain`: the ground of a region of a running server.

use super::DataArg;
use super::parse::ground_height;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `throng terrain …`. Files are raw 32-bit heights (.r32, .raw) or pictures of 16-bit greys (.png).
#[derive(Clone, Debug, Subcommand)]
pub enum TerrainCommand {
    /// Give a region the ground of a file. Users cannot undo it.
    #[command(after_help = "Examples:
  throng terrain load hills.r32 --region Harbour
  throng terrain load hills.png --lowest -10 --highest 90 --region Harbour")]
    Load {
        /// The file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Heights of a picture.
        #[command(flatten)]
        range: RangeArgs,
        /// The region.
        #[command(flatten)]
        target: TerrainArgs,
    },
    /// Write the ground of a region into a file.
    #[command(after_help = "Example:
  throng terrain save hills.r32 --region Harbour")]
    Save {
        /// The file to make; there must be none yet.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Heights of a picture.
        #[command(flatten)]
        range: RangeArgs,
        /// The region.
        #[command(flatten)]
        target: TerrainArgs,
    },
    /// Give the whole ground of a region one height. Users cannot undo it.
    #[command(after_help = "Example:
  throng terrain fill 21 --region Harbour")]
    Fill {
        /// The height, in metres: -2048 to 2048.
        #[arg(value_name = "METRES", allow_negative_numbers = true, value_parser = ground_height)]
        height_m: f32,
        /// The region.
        #[command(flatten)]
        target: TerrainArgs,
    },
    /// Make the present ground of a region the one from which edits of users are limited, and to which they revert it.
    #[command(after_help = "Example:
  throng terrain bake --region Harbour")]
    Bake {
        /// The region.
        #[command(flatten)]
        target: TerrainArgs,
    },
}

/// The region of a command on the ground.
#[derive(Args, Clone, Debug)]
pub struct TerrainArgs {
    /// Name of the region.
    #[arg(long, value_name = "NAME")]
    pub region: String,
    /// Print the server's answer as JSON.
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}

/// Heights of the greys of a picture.
#[derive(Args, Clone, Copy, Debug)]
pub struct RangeArgs {
    /// Height of black pixels, in metres.
    #[arg(long, value_name = "METRES", default_value_t = 0.0, allow_negative_numbers = true)]
    pub lowest: f32,
    /// Height of white pixels, in metres.
    #[arg(long, value_name = "METRES", default_value_t = 256.0, allow_negative_numbers = true)]
    pub highest: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_height_is_a_wrong_use() {
        let parse = |height| {
            let command = TerrainCommand::augment_subcommands(clap::Command::new("throng"));
            command.try_get_matches_from(["throng", "fill", height, "--region", "Harbour", "--data", "x"])
        };
        for height in ["99999", "-2048.5", "NaN", "inf"] {
            let error = parse(height).expect_err(height);
            assert_eq!(error.exit_code(), 2, "{height}");
        }
        assert!(parse("-2048").is_ok());
    }
}
