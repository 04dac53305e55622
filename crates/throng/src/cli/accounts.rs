//! Commands on users of a server: `throng user`, `kick`, `alert`.

use super::{DataArg, NameArg, StoreArgs};
use clap::{Args, Subcommand};

/// `throng user …`. Works on the database, whether a server runs on it or not.
#[derive(Clone, Debug, Subcommand)]
pub enum UserCommand {
    /// Create an account; the password is read from standard input.
    Add {
        /// The user.
        #[command(flatten)]
        name: NameArg,
        /// The database.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Replace a password; the new one is read from standard input.
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
        /// The database.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Refuse further logins of an account.
    Ban {
        /// The user.
        #[command(flatten)]
        name: NameArg,
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
}

/// `throng kick NAME`: ends a user's session on a running server.
#[derive(Args, Clone, Debug)]
pub struct KickArgs {
    /// The user.
    #[command(flatten)]
    pub name: NameArg,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}

/// `throng alert TEXT`: shows a message to everyone on a running server.
#[derive(Args, Clone, Debug)]
pub struct AlertArgs {
    /// The message.
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// The server.
    #[command(flatten)]
    pub data: DataArg,
}
