//! `throng token`: tokens of further programs and people for the operator's API.

use super::StoreArgs;
use super::parse::duration;
use clap::{Args, Subcommand};
use grid::tokens::TokenScope;
use std::time::Duration;

/// `throng token …`. Works on the database, whether a server runs on it or not; a running one goes by it at once.
#[derive(Clone, Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token and print it: it cannot be shown again.
    Create(TokenArgs),
    /// List the tokens: scopes, expiry, and maximum number of instances.
    List {
        /// The database.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// End a token. Instances that were made with it stay.
    Revoke {
        /// Name of the token.
        #[arg(value_name = "NAME")]
        name: String,
        /// The database.
        #[command(flatten)]
        store: StoreArgs,
    },
}

/// `throng token create …`.
#[derive(Args, Clone, Debug)]
pub struct TokenArgs {
    /// Its name in the log: small letters, digits and hyphens.
    #[arg(long, value_name = "NAME")]
    pub name: String,
    /// Its scopes: worlds:read, worlds:write (includes worlds:read), templates:write, regions.read, regions.write (includes regions.read),
    /// assets.read, assets.write (includes assets.read), inventory.read, inventory.write (includes inventory.read), archives (of regions and inventories), backup (backups, looks through all that is stored,
    /// jobs), operate (everything else).
    #[arg(long = "scope", value_name = "SCOPE", required = true, value_delimiter = ',')]
    pub scopes: Vec<TokenScope>,
    /// For how long, such as 12h or 30d; without it, until it is revoked.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub expires: Option<Duration>,
    /// Instances that may be there at once of those made with it.
    #[arg(long, value_name = "N")]
    pub max_worlds: Option<u32>,
    /// The database.
    #[command(flatten)]
    pub store: StoreArgs,
}
