//! SQLite: one connection to one file, which callers use in turn.

use super::salvage::{self, Rebuilt};
use super::{EngineError, Row, Session, Value};
use rusqlite::{CachedStatement, ErrorCode, OpenFlags, TransactionBehavior, params_from_iter};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;
use telemetry::{LockHold, LockWait};

/// Wait of a statement for another process (`throng user …` beside a running server) before it fails.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Programs that open a new file at the same time, at most.
const BUSY_MAX: u32 = 64;

/// Settings of every connection.
///
/// - WAL: readers in other processes never wait for the writer, and a commit is one sequential write.
/// - `synchronous = FULL`: a commit is on the disk before it is acknowledged; NORMAL could forget the last accounts at a power cut.
/// - `cache_size = -2048`: 2 MiB of pages. An idle server stays below 60 MB, and the hot rows of thousands of accounts fit. [`Sqlite::release_caches`]
///   frees them.
/// - `journal_size_limit`: a burst of registrations does not leave a large log behind.
/// - `trusted_schema = OFF`, `foreign_keys = ON`: the file is data, not code; no item without its folder.
const SETTINGS: &str = "
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA cache_size = -2048;
PRAGMA journal_size_limit = 4194304;
PRAGMA trusted_schema = OFF;
PRAGMA foreign_keys = ON;
";

/// Settings for a file that is void unless it is completed: a crash leaves a file without a reader, and its writer syncs it once. Rows of a damaged
/// database are copied as they are, also those that refer to nothing.
const SCRATCH_SETTINGS: &str = "
PRAGMA journal_mode = MEMORY;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -8192;
PRAGMA trusted_schema = OFF;
PRAGMA foreign_keys = OFF;
";

/// The read-only part of these: the file must not change.
const READ_ONLY_SETTINGS: &str = "PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;";

/// Statements kept compiled; there are about eighty in all.
const STATEMENTS_MAX: usize = 128;

#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Mutex<rusqlite::Connection>,
    lock_wait: LockWait,
}

impl Sqlite {
    /// Opens the file, creating it when it is missing.
    pub(crate) fn open(path: &Path) -> Result<Self, EngineError> {
        Self::prepare(rusqlite::Connection::open(path)?, SETTINGS)
    }

    /// Opens a file that exists, and changes nothing in it.
    pub(crate) fn open_read_only(path: &Path) -> Result<Self, EngineError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Self::prepare(rusqlite::Connection::open_with_flags(path, flags)?, READ_ONLY_SETTINGS)
    }

    /// Opens a file of which nothing has to survive a crash, creating it when it is missing.
    pub(crate) fn open_scratch(path: &Path) -> Result<Self, EngineError> {
        Self::prepare(rusqlite::Connection::open(path)?, SCRATCH_SETTINGS)
    }

    pub(crate) fn open_in_memory() -> Result<Self, EngineError> {
        Self::prepare(rusqlite::Connection::open_in_memory()?, SETTINGS)
    }

    fn prepare(connection: rusqlite::Connection, settings: &str) -> Result<Self, EngineError> {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // Programs that open a new file at once all change its journal's mode, for which SQLite does not wait: it does for the lock of a transaction.
        let mut n_busy = 0;
        while let Err(why) = connection.execute_batch(settings) {
            n_busy += 1;
            if why.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) || n_busy > BUSY_MAX {
                return Err(why.into());
            }
            connection.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
        }
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        Ok(Self { connection: Mutex::new(connection), lock_wait: LockWait::default() })
    }

    pub(crate) fn set_lock_wait(&mut self, lock_wait: LockWait) {
        self.lock_wait = lock_wait;
    }

    pub(super) fn read<T>(
        &self,
        mut work: impl FnMut(&mut Session<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        work(&mut Session::Sqlite(&self.lock()))
    }

    /// The write lock is taken at the beginning: a transaction that read first could find that another process has written meanwhile,
    /// and would fail without waiting.
    pub(super) fn write<T>(
        &self,
        mut work: impl FnMut(&mut Session<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = work(&mut Session::Sqlite(&transaction))?;
        transaction.commit()?;
        Ok(result)
    }

    /// The pages are written to the log, so a full disk is noticed, and are void without a commit.
    pub(super) fn probe(&self, sql: &str) -> Result<(), EngineError> {
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        execute(&transaction, sql, &[])?;
        transaction.cache_flush()?;
        Ok(transaction.rollback()?)
    }

    pub(super) fn snapshot<T, E: From<EngineError>>(
        &self,
        work: impl FnOnce(&mut Session<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut connection = self.lock();
        let transaction = connection.transaction().map_err(EngineError::from)?;
        work(&mut Session::Sqlite(&transaction))
    }

    /// Builds a table anew if rows of it cannot be read, or its indexes if these are damaged.
    pub(super) fn rebuild(&self, table: &str, key: &str) -> Result<Option<Rebuilt>, EngineError> {
        salvage::rebuild(&mut self.lock(), table, key)
    }

    /// Frees cached pages and compiled statements; false if a caller uses the connection just now.
    pub(super) fn release_caches(&self) -> Result<bool, EngineError> {
        let connection = match self.connection.try_lock() {
            Ok(connection) => connection,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(false),
        };
        connection.flush_prepared_statement_cache();
        connection.execute_batch("PRAGMA shrink_memory")?;
        Ok(true)
    }

    /// Takes the connection. A thread that panicked while it held it left no half-done work behind, since an
    /// unfinished transaction rolls back when it is dropped; so the poison is ignored.
    fn lock(&self) -> MutexGuard<'_, rusqlite::Connection> {
        LockHold::assert_none("the store's connection");
        self.lock_wait.lock(&self.connection).unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn execute(
    connection: &rusqlite::Connection,
    sql: &str,
    values: &[Value<'_>],
) -> Result<usize, EngineError> {
    Ok(prepare(connection, sql)?.execute(params_from_iter(values))?)
}

pub(super) fn execute_many<'v, const N: usize>(
    connection: &rusqlite::Connection,
    sql: &str,
    mut rows: impl Iterator<Item = [Value<'v>; N]>,
) -> Result<(), EngineError> {
    let mut statement = prepare(connection, sql)?;
    rows.try_for_each(|row| statement.execute(params_from_iter(row)).map(drop))?;
    Ok(())
}

pub(super) fn query<T>(
    connection: &rusqlite::Connection,
    sql: &str,
    values: &[Value<'_>],
    mut read: impl FnMut(Row<'_>) -> Result<T, EngineError>,
) -> Result<Vec<T>, EngineError> {
    let mut select = prepare(connection, sql)?;
    let mut rows = select.query(params_from_iter(values))?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(Row::Sqlite(row))?);
    }
    Ok(all)
}

fn prepare<'a>(connection: &'a rusqlite::Connection, sql: &str) -> rusqlite::Result<CachedStatement<'a>> {
    let statement = connection.prepare_cached(sql)?;
    debug_assert!(
        (1..=statement.parameter_count())
            .all(|n| statement.parameter_name(n).is_some_and(|name| name[1..] == n.to_string())),
        "parameters appear in the order of their numbers: {sql}"
    );
    Ok(statement)
}
