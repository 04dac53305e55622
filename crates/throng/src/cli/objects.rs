//! `throng objects`: objects of a running server's regions.

use super::DataArg;
use super::parse::{place, sphere};
use clap::{ArgGroup, Args, Subcommand};
use ids::{HeldKey, Uuid};

/// `throng objects …`. Exit status 1: refused or not found.
#[derive(Clone, Debug, Subcommand)]
pub enum ObjectsCommand {
    /// List the objects of one region or of all.
    #[command(after_help = "Examples:
  throng objects list --region Harbour --owner \"Ada Lovelace\"
  throng objects list --region Harbour --within 128,128,25,20 --json")]
    List {
        /// The objects.
        #[command(flatten)]
        filter: ObjectFilterArgs,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
    /// Show an object with its settings and parts.
    #[command(after_help = "Example:
  throng objects show 3b3f5a90-6c5e-4c4f-8a53-6d1a0f6d2f11")]
    Show {
        /// Its id, or that of one of its parts.
        #[arg(value_name = "ID")]
        id: Uuid,
        /// Name of the region; without it, all regions are searched.
        #[arg(long, value_name = "NAME")]
        region: Option<String>,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
    /// Return objects to their owners.
    #[command(after_help = "Example:
  throng objects return --owner \"Eve Byron\" --dry-run")]
    Return(RemovalArgs),
    /// Delete objects, which cannot be undone.
    #[command(after_help = "Example:
  throng objects delete --region Harbour --parcel 3")]
    Delete(RemovalArgs),
    /// List the objects that left the regions and cannot be items: their owners have no accounts, or they are too large.
    #[command(after_help = "Example:
  throng objects held --region Harbour")]
    Held {
        /// Owner: "First Last", or the id of an account.
        #[arg(long, value_name = "NAME")]
        owner: Option<String>,
        /// Name of the region that they left.
        #[arg(long, value_name = "NAME")]
        region: Option<String>,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
    /// Put a held object into a region.
    #[command(after_help = "Example:
  throng objects restore 1-27 --at 128,128,25")]
    Restore {
        /// Its key, as `throng objects held` shows it.
        #[arg(value_name = "KEY")]
        held: HeldKey,
        /// Name of the region; the one that it left without it.
        #[arg(long, value_name = "NAME")]
        region: Option<String>,
        /// New place of its root, metres from the region's corner; where it was without it.
        #[arg(long, value_name = "X,Y,Z", value_parser = place, allow_hyphen_values = true)]
        at: Option<[f32; 3]>,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
    /// Delete a held object for good.
    #[command(after_help = "Example:
  throng objects discard 1-27")]
    Discard {
        /// Its key, as `throng objects held` shows it.
        #[arg(value_name = "KEY")]
        held: HeldKey,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
}

/// Conditions on objects, all of which hold.
#[derive(Args, Clone, Debug, Default)]
pub struct ObjectFilterArgs {
    /// Name of the region; all regions without it.
    #[arg(long, value_name = "NAME")]
    pub region: Option<String>,
    /// Owner: "First Last", or the id of an account.
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    /// Number of the parcel on which an object's root stands.
    #[arg(long, value_name = "N", requires = "region", value_parser = clap::value_parser!(u16).range(1..))]
    pub parcel: Option<u16>,
    /// A place and a radius, metres: roots at most that far from it.
    #[arg(long, value_name = "X,Y,Z,R", requires = "region", value_parser = sphere, allow_hyphen_values = true)]
    pub within: Option<[f32; 4]>,
}

/// `throng objects return …` and `throng objects delete …`. At least one condition is needed.
#[derive(Args, Clone, Debug)]
#[command(group(ArgGroup::new("condition").required(true).multiple(true).args(["owner", "parcel", "within"])))]
pub struct RemovalArgs {
    /// The objects.
    #[command(flatten)]
    pub filter: ObjectFilterArgs,
    /// Change nothing, and say how many objects meet the conditions.
    #[arg(long)]
    pub dry_run: bool,
    /// Answer in JSON.
    #[arg(long)]
    pub json: bool,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    fn parse(words: &str) -> Result<ObjectsCommand, clap::Error> {
        let command = ObjectsCommand::augment_subcommands(clap::Command::new("throng").no_binary_name(true));
        ObjectsCommand::from_arg_matches(&command.try_get_matches_from(words.split_whitespace())?)
    }

    #[test]
    fn objects_are_named_by_owner_parcel_and_place() {
        let ObjectsCommand::List { filter, json, .. } =
            parse("list --region Harbour --owner Ada --parcel 3 --within -1,2,3.5,4 --json").unwrap()
        else {
            panic!("list")
        };
        assert_eq!(
            (filter.region.as_deref(), filter.owner.as_deref(), json),
            (Some("Harbour"), Some("Ada"), true)
        );
        assert_eq!((filter.parcel, filter.within), (Some(3), Some([-1.0, 2.0, 3.5, 4.0])));
        assert!(
            matches!(parse("return --owner Ada --dry-run"), Ok(ObjectsCommand::Return(args)) if args.dry_run)
        );
        for wrong in [
            "list --parcel 3",
            "list --region Harbour --parcel 0",
            "list --region Harbour --within 1,2,3",
            "list --region Harbour --within 1,2,3,-4",
            "show nothing",
            "delete --region Harbour",
            "return",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn held_objects_are_named_by_their_keys() {
        let ObjectsCommand::Restore { held, region, at, .. } =
            parse("restore 1-27 --region Harbour --at -1,2,3.5").unwrap()
        else {
            panic!("restore")
        };
        assert_eq!((held.to_string().as_str(), region.as_deref()), ("1-27", Some("Harbour")));
        assert_eq!(at, Some([-1.0, 2.0, 3.5]));
        assert!(parse("held --owner Ada").is_ok() && parse("discard 1-27").is_ok());
        for wrong in
            ["restore", "restore 27", "restore 1-27 --at 1,2", "restore 1-27 --at 1,2,NaN", "discard 1:27"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
