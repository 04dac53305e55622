//! `throng estate`: owner, managers and access of a region's estate, of a running server.

use super::{DataArg, NameArg};
use clap::{Args, Subcommand};

/// `throng estate …`. Each region has an estate of its own. Exit status 1: refused or not found.
#[derive(Clone, Debug, Subcommand)]
pub enum EstateCommand {
    /// Show the estate of a region: owner, lists, and settings. Heights and limits are in metres.
    #[command(after_help = "Example:
  throng estate show --region Harbour")]
    Show {
        /// The region.
        #[command(flatten)]
        target: EstateTarget,
    },
    /// Give an estate another name.
    #[command(after_help = "Example:
  throng estate name \"Old Harbour\" --region Harbour")]
    Name {
        /// The name, at most 63 bytes.
        #[arg(value_name = "TEXT")]
        name: String,
        /// The region.
        #[command(flatten)]
        target: EstateTarget,
    },
    /// Give an estate another owner, or none.
    #[command(after_help = "Without an owner, operators alone have the rights of one.
Examples:
  throng estate owner Ada Lovelace --region Harbour
  throng estate owner --none --region Harbour")]
    Owner {
        /// The new owner.
        #[arg(value_name = "NAME", num_args = 1..=2, required_unless_present = "none")]
        words: Vec<String>,
        /// No owner.
        #[arg(long, conflicts_with = "words")]
        none: bool,
        /// The region.
        #[command(flatten)]
        target: EstateTarget,
    },
    /// Make a user a manager of an estate: at most 20.
    AddManager(EstateListArgs),
    /// Take the rights of a manager away.
    RemoveManager(EstateListArgs),
    /// Let a user into an estate that is not public: at most 500.
    Allow(EstateListArgs),
    /// Remove a user from the list of `allow`.
    Disallow(EstateListArgs),
    /// Ban a user from an estate: at most 500. A present user is sent away.
    Ban(EstateListArgs),
    /// Lift a ban.
    Unban(EstateListArgs),
}

/// The region of a command on an estate.
#[derive(Args, Clone, Debug)]
pub struct EstateTarget {
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

/// An account for a list of an estate.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:
  throng estate add-manager Ada Lovelace --region Harbour")]
pub struct EstateListArgs {
    /// The user, or the id of the account.
    #[command(flatten)]
    pub name: NameArg,
    /// The region.
    #[command(flatten)]
    pub target: EstateTarget,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    fn parse(words: &str) -> Result<EstateCommand, clap::Error> {
        let command = EstateCommand::augment_subcommands(clap::Command::new("throng").no_binary_name(true));
        EstateCommand::from_arg_matches(&command.try_get_matches_from(words.split_whitespace())?)
    }

    #[test]
    fn an_owner_is_named_or_there_is_none() {
        let EstateCommand::Owner { words, none, target } =
            parse("owner Ada Lovelace --region Harbour").unwrap()
        else {
            panic!("owner")
        };
        assert_eq!((words.join(" "), none, target.region), ("Ada Lovelace".into(), false, "Harbour".into()));
        assert!(matches!(
            parse("owner --none --region Harbour"),
            Ok(EstateCommand::Owner { none: true, .. })
        ));
        for wrong in
            ["owner --region Harbour", "owner Ada --none --region Harbour", "show", "ban --region Harbour"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
