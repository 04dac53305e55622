//! Why a call into the database failed, with what is needed to act on it.

use ids::AgentId;
use std::path::PathBuf;

/// A failure of the database, or a request that its rows do not allow.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file could not be opened, or its settings could not be made.
    #[error("cannot open the database {path}")]
    Open {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The file was written by a later version; going on could damage it.
    #[error("the database {path} has schema version {found}, but this program knows only up to {known}")]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Version in the file.
        found: u32,
        /// Newest version this program can make.
        known: u32,
    },
    /// A step of the schema could not be applied; the file is as it was before that step.
    #[error("cannot bring the database {path} to schema version {version}")]
    Migrate {
        /// The file.
        path: PathBuf,
        /// The step.
        version: u32,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// A statement failed: a full disk, a damaged file, a lock held too long.
    #[error("database error while {doing} {subject}")]
    Query {
        /// What was tried, such as "reading the account".
        doing: &'static str,
        /// Whose row: an agent, a folder, a name.
        subject: String,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// Somebody has this name already, perhaps in other capitals.
    #[error("there is already an account named {first} {last}")]
    NameTaken {
        /// First name as asked for.
        first: String,
        /// Last name as asked for.
        last: String,
    },
    /// There is a token of this name.
    #[error("there is already a token named {0}")]
    TokenTaken(String),
    /// The account to be changed does not exist.
    #[error("there is no account with the id {}", .0.0)]
    UnknownAccount(AgentId),
}

impl StoreError {
    /// Wraps SQLite's error with what was tried and whose row it was.
    pub(crate) fn query(
        doing: &'static str,
        subject: impl std::fmt::Display,
    ) -> impl FnOnce(rusqlite::Error) -> Self {
        move |source| Self::Query { doing, subject: subject.to_string(), source }
    }
}
