//! Errors of an engine, and their consequences.

use std::fmt;
use std::time::Duration;
use tokio_postgres::error::{Severity, SqlState};

/// An error of the database or of the connection to it. The text is complete: it has no further sources.
#[derive(Debug)]
pub(crate) struct EngineError(Cause);

#[derive(Debug)]
pub(crate) enum Cause {
    Sqlite(rusqlite::Error),
    Postgres(tokio_postgres::Error),
    /// A cell did not hold a value of the written type.
    Cell {
        at: usize,
        wanted: &'static str,
    },
    /// The server did not answer in time.
    Silence(Duration),
    /// No connection became free in time.
    Busy(Duration),
    /// The connection broke after COMMIT was sent, and the outcome could not be determined.
    CommitUnknown(Box<EngineError>),
    /// Rows came in another order than that of their keys.
    Disorder,
    /// Something that is not as the store needs it.
    Unfit(String),
}

/// Rules of the tables that callers ask about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// Two accounts of one name.
    AccountName,
    /// Any other rule.
    Other,
}

impl EngineError {
    pub(crate) const fn cell(at: usize, wanted: &'static str) -> Self {
        Self(Cause::Cell { at, wanted })
    }

    pub(crate) const fn silence(limit: Duration) -> Self {
        Self(Cause::Silence(limit))
    }

    pub(crate) const fn busy(limit: Duration) -> Self {
        Self(Cause::Busy(limit))
    }

    pub(crate) fn commit_unknown(self) -> Self {
        Self(Cause::CommitUnknown(Box::new(self)))
    }

    pub(crate) fn unfit(why: impl Into<String>) -> Self {
        Self(Cause::Unfit(why.into()))
    }

    /// A row that does not match its checksum, and that this work cannot do without.
    pub(crate) fn damaged_row(table: &'static str, key: impl fmt::Display) -> Self {
        Self(Cause::Unfit(format!(
            "the row of {key} in table {table} is damaged: its checksum does not match"
        )))
    }

    pub(crate) const fn disorder() -> Self {
        Self(Cause::Disorder)
    }

    /// True if pages of the database's file are damaged.
    pub(crate) fn is_damage(&self) -> bool {
        match &self.0 {
            Cause::Sqlite(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt),
            Cause::Disorder => true,
            _ => false,
        }
    }

    /// True if the outcome of a write is not known: it was carried out wholly or not at all.
    pub(crate) const fn is_outcome_unknown(&self) -> bool {
        matches!(self.0, Cause::CommitUnknown(_))
    }

    /// The rule that a statement would have broken, if that is why it failed.
    pub(crate) fn conflict(&self) -> Option<Conflict> {
        let is_name = match &self.0 {
            // SQLite names the columns, in its message only.
            Cause::Sqlite(rusqlite::Error::SqliteFailure(code, message))
                if code.code == rusqlite::ErrorCode::ConstraintViolation =>
            {
                message.as_ref().is_some_and(|message| message.contains("accounts.first_name"))
            }
            Cause::Postgres(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
                error.as_db_error().and_then(|error| error.constraint()) == Some("accounts_by_name")
            }
            Cause::Postgres(error) if error.code() == Some(&SqlState::FOREIGN_KEY_VIOLATION) => false,
            _ => return None,
        };
        Some(if is_name { Conflict::AccountName } else { Conflict::Other })
    }

    /// True if the connection is of no further use.
    pub(crate) fn is_broken(&self) -> bool {
        match &self.0 {
            Cause::Silence(_) => true,
            Cause::Postgres(error) => error.as_db_error().is_none_or(|error| {
                matches!(error.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
            }),
            _ => false,
        }
    }

    /// True if a retry on another connection may succeed: the connection broke, the server starts or stops, or two transactions
    /// conflicted.
    pub(crate) fn is_passing(&self) -> bool {
        let Cause::Postgres(error) = &self.0 else { return false };
        match error.code() {
            None => !is_of_our_making(error),
            Some(code) => {
                [
                    SqlState::ADMIN_SHUTDOWN,
                    SqlState::CRASH_SHUTDOWN,
                    SqlState::CANNOT_CONNECT_NOW,
                    SqlState::TOO_MANY_CONNECTIONS,
                    SqlState::T_R_SERIALIZATION_FAILURE,
                    SqlState::T_R_DEADLOCK_DETECTED,
                    SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                ]
                .contains(code)
                    || code.code().starts_with("08")
            }
        }
    }
}

/// Errors of the client that a new connection would not cure: a value that does not fit, a password that is missing.
fn is_of_our_making(error: &tokio_postgres::Error) -> bool {
    let is_io = |error: &(dyn std::error::Error + 'static)| error.is::<std::io::Error>();
    let source = std::error::Error::source(error);
    !error.is_closed() && !source.is_some_and(is_io)
}

impl From<rusqlite::Error> for EngineError {
    fn from(error: rusqlite::Error) -> Self {
        Self(Cause::Sqlite(error))
    }
}

impl From<tokio_postgres::Error> for EngineError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self(Cause::Postgres(error))
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Sqlite(error) => error.fmt(f),
            Cause::Postgres(error) => match error.as_db_error() {
                Some(error) => {
                    write!(f, "PostgreSQL: {} (SQLSTATE {})", error.message(), error.code().code())?;
                    error.detail().map_or(Ok(()), |detail| write!(f, ": {detail}"))
                }
                None => {
                    write!(f, "PostgreSQL: {error}")?;
                    let source = std::error::Error::source(error);
                    source.map_or(Ok(()), |why| write!(f, ": {why}"))
                }
            },
            Cause::Cell { at, wanted } => write!(f, "column {at} does not hold {wanted}"),
            Cause::Silence(limit) => write!(f, "PostgreSQL has not answered for {limit:?}"),
            Cause::Busy(limit) => write!(f, "no connection to PostgreSQL became free within {limit:?}"),
            Cause::CommitUnknown(why) => {
                write!(
                    f,
                    "the connection broke during COMMIT, and it is not known whether the change was made: {why}"
                )
            }
            Cause::Disorder => f.write_str("rows come in another order than that of their keys"),
            Cause::Unfit(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for EngineError {}
