//! Reasons for which a call into the database failed, with the facts needed to act on it.

use crate::StoreUrl;
use crate::engine::{ClaimError, EngineError};
use data_dir::FileLockError;
use ids::AgentId;

/// A failure of the database or of the connection to it, the same for both engines. Its text is complete: it has no further sources.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct DatabaseFailure {
    text: String,
    is_outcome_unknown: bool,
    is_damage: bool,
}

impl DatabaseFailure {
    /// True if the outcome of a write is not known: it was carried out wholly or not at all.
    #[must_use]
    pub const fn is_outcome_unknown(&self) -> bool {
        self.is_outcome_unknown
    }
}

impl From<EngineError> for DatabaseFailure {
    fn from(error: EngineError) -> Self {
        Self {
            text: error.to_string(),
            is_outcome_unknown: error.is_outcome_unknown(),
            is_damage: error.is_damage(),
        }
    }
}

/// A failure of the database, or a request that its rows do not allow.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file could not be opened, or the server did not let us in.
    #[error("cannot open the database {url}")]
    Open {
        /// Its address.
        url: StoreUrl,
        /// The failure of the database.
        source: DatabaseFailure,
    },
    /// Another server uses the database.
    #[error("the database {url} is in use by {holder}; stop that server first, or name another database")]
    InUse {
        /// Its address.
        url: StoreUrl,
        /// The other server, as it named itself.
        holder: String,
    },
    /// The lock file beside an SQLite file.
    #[error("cannot claim the database {url}")]
    Claim {
        /// Its address.
        url: StoreUrl,
        /// The failed lock.
        source: FileLockError,
    },
    /// The database was written by a later version; further use could damage it.
    #[error("the database {url} has schema version {found}, but this program knows only up to {known}")]
    NewerSchema {
        /// Its address.
        url: StoreUrl,
        /// Version in the database.
        found: u32,
        /// Newest version this program can make.
        known: u32,
    },
    /// The database is of an earlier version, and is not to be changed here.
    #[error(
        "the database {url} has schema version {found} instead of {newest}: run `throng store migrate` on it first"
    )]
    OlderSchema {
        /// Its address.
        url: StoreUrl,
        /// Version in the database.
        found: u32,
        /// The version that is read.
        newest: u32,
    },
    /// A copy into the database has begun and did not end.
    #[error(
        "the database {url} is an unfinished copy: repeat the `throng store copy` that began it, which goes on where it ended"
    )]
    HalfCopied {
        /// Its address.
        url: StoreUrl,
    },
    /// A step of the schema could not be applied; the database is as it was before that step.
    #[error("cannot bring the database {url} to schema version {version}")]
    Migrate {
        /// Its address.
        url: StoreUrl,
        /// The step.
        version: u32,
        /// The failure of the database.
        source: DatabaseFailure,
    },
    /// A statement failed: a full disk, a damaged file, a lock held too long, a server that is away.
    #[error("database error while {doing} {subject}")]
    Query {
        /// The attempted action, such as "reading the account".
        doing: &'static str,
        /// Key of the row: an agent, a folder, a name.
        subject: String,
        /// The failure of the database.
        source: DatabaseFailure,
    },
    /// The name exists already, perhaps in other capitals.
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
    /// Each number that a life of a gateway can have was given out.
    #[error(
        "the database {url} has given out all {max} incarnations of gateways; none is used again, because session \
         keys would repeat: serve from a new database"
    )]
    IncarnationsExhausted {
        /// Its address.
        url: StoreUrl,
        /// The last number.
        max: u16,
    },
    /// A row does not match its checksum, and is not used.
    #[error(
        "the row of {subject} in table {table} is damaged: its checksum does not match; `throng verify` names all damage"
    )]
    DamagedRow {
        /// The table.
        table: &'static str,
        /// Key of the row: an account, a token.
        subject: String,
    },
    /// The account to be changed does not exist.
    #[error("there is no account with the id {}", .0.0)]
    UnknownAccount(AgentId),
}

impl StoreError {
    /// True if a statement came upon damaged pages of an SQLite file: [`Store::with_rebuild`](crate::Store::with_rebuild).
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        matches!(self, Self::Query { source, .. } if source.is_damage)
    }

    /// Wraps the engine's error with the attempted action and the key of the row.
    pub(crate) fn query(
        doing: &'static str,
        subject: impl std::fmt::Display,
    ) -> impl FnOnce(EngineError) -> Self {
        move |source| Self::Query { doing, subject: subject.to_string(), source: source.into() }
    }

    /// A damaged row.
    pub(crate) fn damaged_row(table: &'static str, subject: impl std::fmt::Display) -> Self {
        Self::DamagedRow { table, subject: subject.to_string() }
    }

    /// Wraps the failure of a claim with the address.
    pub(crate) fn claim(url: &StoreUrl) -> impl FnOnce(ClaimError) -> Self {
        move |why| match why {
            ClaimError::Held(holder) => Self::InUse { url: url.clone(), holder },
            ClaimError::File(source) => Self::Claim { url: url.clone(), source },
            ClaimError::Engine(source) => Self::Open { url: url.clone(), source: source.into() },
        }
    }

    /// Wraps the engine's error with the address.
    pub(crate) fn open(url: &StoreUrl) -> impl FnOnce(EngineError) -> Self {
        move |source| Self::Open { url: url.clone(), source: source.into() }
    }
}
