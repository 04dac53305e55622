//! Commands on users of a server: `throng user`, `kick`, `alert`.

use super::{DataArg, NameArg, StoreArgs};
use clap::{Args, Subcommand};

/// `throng user …`. Works on the database, whether a server runs on it or not; `online` asks a running server. Exit status 1: refused or not found.
#[derive(Clone, Debug, Subcommand)]
pub enum UserCommand {
    /// Create an account; the password is read from standard input.
    #[command(
        alias = "create",
        after_help = "A password has 1 to 16 characters: clients use no more.
Examples:
  throng user add Ada Lovelace
  echo secret | throng user add Ada Lovelace --config /etc/throng.toml"
    )]
    Add {
        /// The user.
        #[command(flatten)]
        name: NameArg,
        /// The database.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Replace a password; the new one is read from standard input.
    #[command(alias = "password")]
    Passwd {
        /// The user.
        #[command(flatten)]
        name: NameArg,
        /// The database.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List the accounts.
    List {
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The database.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Show an account: its id, creation, ban, last place and home. Places are metres from a region's corner: east, north, up.
    #[command(after_help = "Examples:
  throng user show Ada Lovelace
  throng user show 6f2a3c1e-0d54-4f0b-9a35-1c1f3f0b7a11 --json")]
    Show {
        /// The user, or the id of the account.
        #[command(flatten)]
        name: NameArg,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The database.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Refuse further logins of an account.
    #[command(after_help = "A session that has begun lasts: end it with throng kick.
Example:
  throng user ban Eve Byron --reason \"sold other people's houses\"")]
    Ban {
        /// The user.
        #[command(flatten)]
        name: NameArg,
        /// Reason that the user is shown, in one line of 1 to 200 characters.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// The database.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Allow the logins of a banned account again.
    Unban {
        /// The user.
        #[command(flatten)]
        name: NameArg,
        /// The database.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List the present users of a running server, with their regions and places: metres from the region's corner, east, north, up.
    #[command(after_help = "Examples:
  throng user online
  throng user online --region Harbour --circuits")]
    Online {
        /// Name of the only region; all regions and instances without it.
        #[arg(long, value_name = "NAME")]
        region: Option<String>,
        /// Also list each user's circuits: UDP port and region.
        #[arg(long)]
        circuits: bool,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
        /// The server.
        #[command(flatten)]
        data: DataArg,
    },
}

/// `throng kick NAME`: ends a user's session on a running server.
#[derive(Args, Clone, Debug)]
#[command(after_help = "The account may log in again: see throng user ban.
Example:
  throng kick Jane Doe --reason \"Please read the rules.\"")]
pub struct KickArgs {
    /// The user.
    #[command(flatten)]
    pub name: NameArg,
    /// Reason that the user is shown, at most 254 bytes.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}

/// `throng alert TEXT`: shows a message to users of a running server, in a box of their viewers.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  throng alert \"Back in five minutes.\"
  throng alert \"The ferry leaves.\" --region Harbour
  throng alert \"Your house burns.\" --user \"Ada Lovelace\"")]
pub struct AlertArgs {
    /// The message, at most 254 bytes.
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// First and last name of the only user to get it; all users without it.
    #[arg(long, value_name = "NAME", conflicts_with = "region")]
    pub user: Option<String>,
    /// Name of the only region whose users get it.
    #[arg(long, value_name = "NAME")]
    pub region: Option<String>,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::parse;

    #[test]
    fn an_alert_is_for_a_user_or_a_region() {
        let alert: AlertArgs = parse("Hello --region Harbour").unwrap();
        assert_eq!(
            (alert.text.as_str(), alert.region.as_deref(), alert.user),
            ("Hello", Some("Harbour"), None)
        );
        assert!(parse::<AlertArgs>("Hello --region Harbour --user Ada").is_err());
        assert!(parse::<AlertArgs>("").is_err());
        let kick: KickArgs = parse("Jane Doe --reason rules").unwrap();
        assert_eq!((kick.name.name(), kick.reason.as_deref()), ("Jane Doe".to_owned(), Some("rules")));
    }
}
