//! The address of a database: `sqlite:`, `sqlite:PATH` or `postgres://USER@HOST/DATABASE`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The database's file in a data directory.
const FILE: &str = "throng.sqlite";

/// The address of a database. Shown without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(pub(crate) StoreLocation);

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum StoreLocation {
    /// The SQLite file of the data directory, which is known later.
    DataDirectory,
    File(PathBuf),
    Server(Box<Config>),
}

/// Text that is no address of a database. It is not repeated here, since it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreUrlError {
    /// Neither of the two engines, or not in the form that it needs.
    #[error("must be \"sqlite:\", \"sqlite:PATH\" or \"postgres://USER@HOST/DATABASE\"")]
    Form,
    /// Encryption was demanded, which this program does not have.
    #[error(
        "demands TLS, which is not supported: leave sslmode out and use a Unix socket, a private network or a tunnel"
    )]
    Tls,
}

impl StoreUrl {
    /// An SQLite file.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(StoreLocation::File(path.into()))
    }

    /// The SQLite file of this data directory.
    #[must_use]
    pub fn of_directory(data: &Path) -> Self {
        Self::file(Self::path_in_directory(data))
    }

    /// The path of the SQLite file of this data directory.
    #[must_use]
    pub fn path_in_directory(data: &Path) -> PathBuf {
        data.join(FILE)
    }

    /// The same with `sqlite:` standing for the file of this data directory.
    #[must_use]
    pub fn within(self, data: &Path) -> Self {
        if self.0 == StoreLocation::DataDirectory { Self::of_directory(data) } else { self }
    }

    /// Gives an address of a server this password, if it has none.
    #[must_use]
    pub fn or_password(mut self, password: &str) -> Self {
        if let StoreLocation::Server(config) = &mut self.0
            && config.get_password().is_none()
        {
            config.password(password);
        }
        self
    }

    /// The path of an SQLite file, once it is known.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.0 {
            StoreLocation::File(path) => Some(path),
            StoreLocation::DataDirectory | StoreLocation::Server(_) => None,
        }
    }

    /// True for an SQLite file.
    #[must_use]
    pub const fn is_file(&self) -> bool {
        !matches!(self.0, StoreLocation::Server(_))
    }
}

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(text: &str) -> Result<Self, StoreUrlError> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return Ok(Self(if path.is_empty() {
                StoreLocation::DataDirectory
            } else {
                StoreLocation::File(path.into())
            }));
        }
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(StoreUrlError::Form);
        }
        let config: Config = text.parse().map_err(|_| StoreUrlError::Form)?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(StoreUrlError::Form);
        }
        if matches!(config.get_ssl_mode(), SslMode::Require) {
            return Err(StoreUrlError::Tls);
        }
        Ok(Self(StoreLocation::Server(Box::new(config))))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            StoreLocation::DataDirectory => f.write_str("sqlite:"),
            StoreLocation::File(path) => write!(f, "sqlite:{}", path.display()),
            StoreLocation::Server(config) => {
                f.write_str("postgres://")?;
                if let Some(user) = config.get_user() {
                    write!(f, "{user}@")?;
                }
                for (i, host) in config.get_hosts().iter().enumerate() {
                    let separator = if i > 0 { "," } else { "" };
                    match host {
                        Host::Tcp(name) => write!(f, "{separator}{name}")?,
                        Host::Unix(path) => write!(f, "{separator}{}", path.display())?,
                    }
                    let ports = config.get_ports();
                    if let Some(port) = ports.get(i).or_else(|| ports.first()) {
                        write!(f, ":{port}")?;
                    }
                }
                write!(f, "/{}", config.get_dbname().or_else(|| config.get_user()).unwrap_or_default())
            }
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        text.parse::<StoreUrl>().unwrap().within(Path::new("/data")).to_string()
    }

    #[test]
    fn addresses_name_a_file_or_a_server() {
        assert_eq!(shown("sqlite:"), "sqlite:/data/throng.sqlite");
        assert_eq!(shown("sqlite:other/grid.sqlite"), "sqlite:other/grid.sqlite");
        assert_eq!(shown("sqlite:///srv/grid.sqlite"), "sqlite:/srv/grid.sqlite");
        assert_eq!(shown("postgres://throng@db.example:5433/grid"), "postgres://throng@db.example:5433/grid");
        assert_eq!(
            shown("postgresql://throng@/grid?host=/run/postgresql"),
            "postgres://throng@/run/postgresql/grid"
        );
    }

    #[test]
    fn passwords_are_not_shown() {
        for text in [
            "postgres://throng:hunter2@db.example/grid",
            "postgres://throng@db.example/grid?password=hunter2",
        ] {
            let url: StoreUrl = text.parse().unwrap();
            assert!(!format!("{url} {url:?} {url:#?}").contains("hunter2"), "{url}");
        }
        let given: StoreUrl = "postgres://throng@db.example/grid".parse().unwrap();
        let StoreLocation::Server(config) = given.or_password("hunter2").or_password("other").0 else {
            panic!("a server")
        };
        assert_eq!(config.get_password(), Some(&b"hunter2"[..]));
    }

    #[test]
    fn an_invalid_address_is_refused_without_being_repeated() {
        for text in
            ["", "throng.sqlite", "mysql://a:hunter2@b/c", "postgres://", "postgres://a:hunter2@b:port/c"]
        {
            assert_eq!(text.parse::<StoreUrl>(), Err(StoreUrlError::Form), "{text}");
        }
        let demanding = "postgres://a@b/c?sslmode=require".parse::<StoreUrl>();
        assert_eq!(demanding, Err(StoreUrlError::Tls));
    }
}
