//! `throng oar` and `throng iar`: archives of regions and of inventories.

use super::{DataArg, StoreArgs, parse};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `throng oar …`.
#[derive(Clone, Debug, Subcommand)]
pub enum OarCommand {
    /// Look an archive of a region through without loading it: counts, missing, damaged and unused assets, unreadable parts, unknown accounts, cost. Exit
    /// status 1: it loads except for unreadable parts and damaged assets; 2: there is no archive, or an empty one. Missing assets are listed only.
    #[command(after_help = "Sizes are in bytes. Examples:
  throng oar check harbour.oar
  throng oar check harbour.oar --json --config /etc/throng.toml")]
    Check(ArchiveCheckArgs),
    /// Compare two archives, element by element, with text character by character. Exit status 1: they differ; 2: one of them is no archive.
    #[command(
        after_help = "The order of entries has no meaning; objects and assets are compared by their ids.
Example:
  throng oar diff before.oar after.oar --json"
    )]
    Diff(ArchiveDiffArgs),
    /// Load an archive into a region of a running server. Everything is checked before anything shows; the region has all of the archive then, or nothing.
    /// Exit status 1: it was loaded except for unreadable parts and damaged assets, or not at all; 2: there is no archive, or an empty one.
    #[command(
        after_help = "Without --merge the archive takes the place of the region's objects, parcels, terrain and settings. Metres and degrees; the order is:
rotation, box, displacement. The load is a job: it continues if this command ends, and `throng jobs cancel` takes it back. Examples:
  throng oar load harbour.oar --region Harbour --default-user \"Ada Lovelace\"
  throng oar load house.oar --region Harbour --merge --displacement 128,64,0 --rotation 90
  throng oar load hills.oar --region Harbour --merge --force-terrain --no-objects"
    )]
    Load(OarLoadArgs),
    /// Save a region of a running server, or all of them, into a new archive, while building continues. Exit status 1: something of it is damaged and missing in
    /// the archive, or there is none. Missing assets are listed only.
    #[command(after_help = "The archive has the region of one moment. Examples:
  throng oar save harbour.oar --region Harbour
  throng oar save grid.oar --all --home http://grid.example:8002
  throng oar save gift.oar --region Harbour --publish --perm CT")]
    Save(OarSaveArgs),
}

/// `throng iar …`.
#[derive(Clone, Debug, Subcommand)]
pub enum IarCommand {
    /// Look an archive of an inventory through without loading it: counts, missing, damaged and unused assets, unreadable parts, unknown accounts. Exit
    /// status 1: it loads except for unreadable parts and damaged assets; 2: there is no archive, or an empty one. Missing assets are listed only.
    #[command(after_help = "Sizes are in bytes. Example:
  throng iar check chairs.iar --json")]
    Check(ArchiveCheckArgs),
    /// Load an archive into a folder of an account's inventory, on a running server. All of it is there then, or nothing. Exit status 1: it was loaded except for
    /// unreadable parts and damaged assets, or not at all; 2: there is no archive, or an empty one.
    #[command(after_help = "A present user sees it at the next login. Example:
  throng iar load chairs.iar --user \"Ada Lovelace\" --folder /Objects --merge")]
    Load(IarLoadArgs),
    /// Save a folder of an account's inventory into a new archive, on a running server. Exit status 1: there is none. Missing assets are listed only.
    #[command(
        after_help = "With /* at the end of its path, the archive has the content of the folder, without the folder itself. Example:
  throng iar save chairs.iar --user \"Ada Lovelace\" --folder /Objects/Chairs"
    )]
    Save(IarSaveArgs),
}

/// `throng oar check …` and `throng iar check …`. Without a database, all accounts of an archive are unknown, and assets are in the archive or missing.
#[derive(Args, Clone, Debug)]
pub struct ArchiveCheckArgs {
    /// The archive, a tar file, compressed with gzip or not.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Prims that a region may have.
    #[arg(long, value_name = "N", default_value_t = 45_000)]
    pub prims_max: u64,
    /// Answer in JSON.
    #[arg(long)]
    pub json: bool,
    /// The database that accounts and assets are looked up in. One of these flags is needed for that.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `throng oar diff …`.
#[derive(Args, Clone, Debug)]
pub struct ArchiveDiffArgs {
    /// The first archive.
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// The second archive.
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Answer in JSON: a list of path, a and b.
    #[arg(long)]
    pub json: bool,
}

/// `throng oar load …`.
#[derive(Args, Clone, Debug)]
pub struct OarLoadArgs {
    /// The archive, a tar file, compressed with gzip or not.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Name of the region.
    #[arg(long, value_name = "NAME")]
    pub region: String,
    /// Name or folder of the region in an archive of several [default: that of --region].
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// Add to the region: terrain, parcels and settings stay.
    #[arg(long)]
    pub merge: bool,
    /// With --merge: objects with ids of the archive take the place of those that are there, and keep these ids.
    #[arg(long)]
    pub replace: bool,
    /// Store no assets: they are there already.
    #[arg(long)]
    pub skip_assets: bool,
    /// Load the terrain also with --merge.
    #[arg(long)]
    pub force_terrain: bool,
    /// Load the parcels also with --merge.
    #[arg(long)]
    pub force_parcels: bool,
    /// Load no objects; those that are there stay.
    #[arg(long)]
    pub no_objects: bool,
    /// Account in place of owners and creators without one, "First Last" [default: the owner of the estate].
    #[arg(long, value_name = "NAME")]
    pub default_user: Option<String>,
    /// Metres that everything is moved, after the rotation.
    #[arg(long, value_name = "X,Y,Z", value_parser = parse::metres, allow_hyphen_values = true)]
    pub displacement: Option<[f32; 3]>,
    /// Rotation around the middle of the archive's region, degrees, counterclockwise.
    #[arg(long, value_name = "DEG", allow_hyphen_values = true)]
    pub rotation: Option<f32>,
    /// Corner of a box in the archive's region, metres, after the rotation: only its content is loaded, and its corner becomes the corner of the region.
    #[arg(long, value_name = "X,Y,Z", value_parser = parse::metres, allow_hyphen_values = true)]
    pub bounding_origin: Option<[f32; 3]>,
    /// Size of the box, metres; 0 for no end.
    #[arg(long, value_name = "X,Y,Z", value_parser = parse::metres)]
    pub bounding_size: Option<[f32; 3]>,
    /// Keep the ids of objects and items. Without it they get new ones, so that an archive can be loaded twice.
    #[arg(long)]
    pub keep_ids: bool,
    /// Answer in JSON.
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}

/// `throng oar save …`.
#[derive(Args, Clone, Debug)]
pub struct OarSaveArgs {
    /// The archive to make; there must be none yet.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Name of the region.
    #[arg(long, value_name = "NAME", required_unless_present = "all", conflicts_with = "all")]
    pub region: Option<String>,
    /// All regions, in an archive of version 1.
    #[arg(long)]
    pub all: bool,
    /// Address of this grid: the archive has it with the name of each creator, so that other grids show them.
    #[arg(long, value_name = "URI")]
    pub home: Option<String>,
    /// Leave the assets out.
    #[arg(long)]
    pub noassets: bool,
    /// Leave the owners out, for an archive that is given to others.
    #[arg(long)]
    pub publish: bool,
    /// Only objects that the owner of the estate may copy (C), give away (T), or both (CT).
    #[arg(long, value_name = "CT")]
    pub perm: Option<String>,
    /// Answer in JSON.
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}

/// `throng iar load …`.
#[derive(Args, Clone, Debug)]
pub struct IarLoadArgs {
    /// The archive, a tar file, compressed with gzip or not.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The account, "First Last".
    #[arg(long, value_name = "NAME")]
    pub user: String,
    /// Path of the folder that gets the content of the archive.
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub folder: String,
    /// Folders of the archive become those of the same name that are there.
    #[arg(long)]
    pub merge: bool,
    /// Store no assets: they are there already.
    #[arg(long)]
    pub skip_assets: bool,
    /// Answer in JSON.
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}

/// `throng iar save …`.
#[derive(Args, Clone, Debug)]
pub struct IarSaveArgs {
    /// The archive to make; there must be none yet.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The account, "First Last".
    #[arg(long, value_name = "NAME")]
    pub user: String,
    /// Path of the folder.
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub folder: String,
    /// Address of this grid: the archive has it with the name of each creator, so that other grids show them.
    #[arg(long, value_name = "URI")]
    pub home: Option<String>,
    /// Leave the assets out.
    #[arg(long)]
    pub noassets: bool,
    /// Only items that their owner may copy (C), give away (T), or both (CT).
    #[arg(long, value_name = "CT")]
    pub perm: Option<String>,
    /// Answer in JSON.
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}

impl ArchiveCheckArgs {
    /// True if a database is named.
    #[must_use]
    pub const fn has_store(&self) -> bool {
        self.store.data.is_some() || self.store.config.is_some() || self.store.store.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    fn parse(words: &str) -> Result<OarCommand, clap::Error> {
        let command = OarCommand::augment_subcommands(clap::Command::new("throng").no_binary_name(true));
        OarCommand::from_arg_matches(&command.try_get_matches_from(words.split_whitespace())?)
    }

    #[test]
    fn places_and_saves_have_their_forms() {
        let words = "load a.oar --region Harbour --displacement -10,0,5 --rotation -90 --bounding-size 9,9,0";
        let OarCommand::Load(args) = parse(words).unwrap() else { panic!("load") };
        assert_eq!((args.displacement, args.rotation), (Some([-10.0, 0.0, 5.0]), Some(-90.0)));
        assert_eq!((args.bounding_size, args.merge), (Some([9.0, 9.0, 0.0]), false));
        for good in ["save a.oar --region Harbour --perm CT", "save a.oar --all --noassets --home http://a"] {
            assert!(matches!(parse(good), Ok(OarCommand::Save(_))), "{good}");
        }
        for wrong in [
            "load a.oar",
            "load --region Harbour",
            "load a.oar --region Harbour --displacement 1,2",
            "save a.oar",
            "save a.oar --all --region Harbour",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_database_is_used_if_it_is_named() {
        let OarCommand::Check(args) = parse("check a.oar --json").unwrap() else { panic!("check") };
        assert_eq!((args.has_store(), args.json, args.prims_max), (false, true, 45_000));
        for flag in ["--data x", "--config x", "--store sqlite:"] {
            let OarCommand::Check(args) = parse(&format!("check a.oar {flag}")).unwrap() else {
                panic!("check")
            };
            assert!(args.has_store(), "{flag}");
        }
        assert!(matches!(parse("diff a b"), Ok(OarCommand::Diff(args)) if !args.json));
        for wrong in ["check", "check a b", "diff a", "check a --prims-max x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
