//! The connection: how the file is opened, and who may use it when.

use crate::{StoreError, schema};
use rusqlite::Connection;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use telemetry::LockWait;

/// How long a statement waits for another process (`throng user …` beside a running server) before it fails.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Settings of every connection.
///
/// - WAL: readers in other processes never wait for the writer, and a commit is one sequential write.
/// - `synchronous = FULL`: a commit is on the disk before it is acknowledged (DESIGN §8); NORMAL could forget the
///   last accounts at a power cut.
/// - `cache_size = -2048`: 2 MiB of pages. An idle server stays below 60 MB, and the hot rows of thousands of
///   accounts fit.
/// - `journal_size_limit`: a burst of registrations does not leave a large log behind for ever.
/// - `trusted_schema = OFF`, `foreign_keys = ON`: the file is data, not code; no item without its folder.
const SETTINGS: &str = "
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA cache_size = -2048;
PRAGMA journal_size_limit = 4194304;
PRAGMA trusted_schema = OFF;
PRAGMA foreign_keys = ON;
";

/// Statements kept compiled; there are about thirty in all.
const STATEMENTS_MAX: usize = 48;

/// The database. Cheap to share behind an `Arc`; calls from several threads take turns.
#[derive(Debug)]
pub struct Store {
    connection: Mutex<Connection>,
    lock_wait: LockWait,
}

impl Store {
    /// Opens the file, creates it when it is not there, and brings its tables up to date.
    ///
    /// # Errors
    /// [`StoreError::Open`], [`StoreError::NewerSchema`] and [`StoreError::Migrate`], each with the path.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::prepare(Connection::open(path), path)
    }

    /// A database that lives as long as the value: for tests and simulations.
    ///
    /// # Errors
    /// [`StoreError::Open`] when SQLite has no memory for it.
    pub fn open_in_memory() -> Result<Self, StoreError> {
        Self::prepare(Connection::open_in_memory(), Path::new(":memory:"))
    }

    fn prepare(connection: rusqlite::Result<Connection>, path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Open { path: path.to_owned(), source };
        let mut connection = connection.map_err(failed)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        connection.execute_batch(SETTINGS).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        schema::migrate(&mut connection, path)?;
        Ok(Self { connection: Mutex::new(connection), lock_wait: LockWait::default() })
    }

    /// Tells from now on how long callers wait for each other's turn.
    #[must_use]
    pub fn with_lock_wait(self, lock_wait: LockWait) -> Self {
        Self { lock_wait, ..self }
    }

    /// Takes the connection. A thread that panicked while it held it left no half-done work behind, since an
    /// unfinished transaction rolls back when it is dropped; so the poison is ignored.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Connection> {
        self.lock_wait.lock(&self.connection).unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_rows_and_opens_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("grid.sqlite");
        let agent = crate::account::tests::create(&Store::open(&path).unwrap(), 1, "Ada", "Lovelace");
        let again = Store::open(&path).unwrap();
        assert_eq!(again.account(agent).unwrap().unwrap().first, "Ada");
    }

    #[test]
    fn two_processes_may_use_one_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("grid.sqlite");
        let (server, admin) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
        let agent = crate::account::tests::create(&admin, 1, "Ada", "Lovelace");
        assert!(server.account(agent).unwrap().is_some());
    }

    #[test]
    fn a_file_of_a_later_version_is_refused_by_name_and_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("grid.sqlite");
        Store::open(&path)
            .unwrap()
            .lock()
            .execute("INSERT INTO schema_version VALUES (99, 'from the future')", [])
            .unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::NewerSchema { found: 99, .. }), "{error}");
        assert!(error.to_string().contains("grid.sqlite"));
    }

    #[test]
    fn a_place_that_cannot_be_opened_is_named() {
        let error = Store::open(Path::new("/nowhere/at/all.sqlite")).unwrap_err();
        assert_eq!(error.to_string(), "cannot open the database /nowhere/at/all.sqlite");
    }

    #[test]
    fn a_commit_waits_for_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("grid.sqlite")).unwrap();
        let connection = store.lock();
        let setting = |name: &str| {
            connection.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0)).unwrap()
        };
        assert_eq!(setting("synchronous"), rusqlite::types::Value::Integer(2));
        assert_eq!(setting("journal_mode"), rusqlite::types::Value::Text("wal".into()));
        assert_eq!(setting("foreign_keys"), rusqlite::types::Value::Integer(1));
    }
}
