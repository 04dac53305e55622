//! The database that the configuration names, for the server and for commands beside it.

use crate::cli::StoreArgs;
use crate::config::{self, Config, ConfigError};
use data_dir::{PrivacyError, create_privately, make_private};
use store::{Store, StoreError, StoreUrl};

/// Variable of PostgreSQL's own programs: the password missing in an address.
const PASSWORD: &str = "PGPASSWORD";

/// Reasons for which a command has no database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data directory.
    #[error(transparent)]
    Data(#[from] PrivacyError),
    /// The database.
    #[error("cannot use the database")]
    Store(#[from] StoreError),
}

/// The address of the database in a configuration, with its password.
pub(crate) fn url(config: &Config) -> StoreUrl {
    with_password(config.store.url.url().clone()).within(&config.server.data)
}

/// An address with the password that the environment gives, if it has none.
pub(crate) fn with_password(url: StoreUrl) -> StoreUrl {
    match std::env::var(PASSWORD) {
        Ok(password) => url.or_password(&password),
        Err(_) => url,
    }
}

/// Name of this server, reported to a server that finds its database in use.
pub(crate) fn server_name() -> String {
    let pid = std::process::id();
    match std::fs::read_to_string("/proc/sys/kernel/hostname") {
        Ok(host) => format!("the server with process id {pid} on {}", host.trim()),
        Err(_) => format!("the server with process id {pid}"),
    }
}

/// Opens the database that a command is for.
///
/// # Errors
/// [`DatabaseError`].
pub(crate) fn open(args: &StoreArgs) -> Result<Store, DatabaseError> {
    let config = config::load(&args.sources())?.config;
    let (url, data) = (url(&config), &config.server.data);
    if url.is_file() {
        create_privately();
        make_private(data)?;
    }
    Ok(Store::open(&url)?)
}
