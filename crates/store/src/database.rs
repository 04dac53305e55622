//! Opening a database, of whichever engine.

use crate::engine::{Claim, Engine, EngineError, Patience, Pool, Session, Sql, Sqlite};
use crate::schema::{self, Inspection, MigrateError};
use crate::url::StoreLocation;
use crate::{InventoryLimits, StoreError, StoreUrl};
use std::path::Path;
use telemetry::{LockWait, Metrics};

/// The database. Cheap to share behind an `Arc`; calls may come from any thread, and block it.
#[derive(Debug)]
pub struct Store {
    /// Before the engine, which it uses.
    claim: Option<Claim>,
    engine: Engine,
    url: StoreUrl,
    inventory_limits: InventoryLimits,
}

/// Changes no value; the transaction around it is taken back.
const PROBE: Sql = Sql::same("UPDATE schema_version SET name = name");

impl Store {
    /// Opens a database, creates it when it is a file that is missing, and brings its tables up to date.
    ///
    /// # Errors
    /// [`StoreError::Open`], [`StoreError::NewerSchema`], [`StoreError::HalfCopied`] and [`StoreError::Migrate`], each with the address.
    pub fn open(url: &StoreUrl) -> Result<Self, StoreError> {
        Self::with_patience(url, Patience::SERVING)
    }

    /// The same for a server: no other one uses the database as long as this lives. `holder` is reported to a rival, such as "the
    /// server with process id 7".
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`StoreError::InUse`] before anything was changed.
    pub fn open_claimed(url: &StoreUrl, holder: &str) -> Result<Self, StoreError> {
        let mut store = Self::connect(url, Patience::SERVING)?;
        let claim = Claim::acquire(&store.engine, url.path(), holder).map_err(StoreError::claim(url))?;
        store.claim = Some(claim);
        store.prepare()
    }

    /// Opens the same database again, with connections of their own, under the claim of this one: for work that must not wait for the other's.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_second(&self) -> Result<Self, StoreError> {
        self.connect_again(Patience::SERVING)?.prepare()
    }

    /// Tries whether the database takes a write, and whether it is still claimed: makes a change and rolls it back.
    ///
    /// # Errors
    /// [`StoreError::Query`] with the engine's error, [`StoreError::InUse`] if the claim was lost to another server.
    pub fn probe(&self) -> Result<(), StoreError> {
        if let Some(claim) = &self.claim {
            claim.confirm(&self.engine).map_err(StoreError::claim(&self.url))?;
        }
        self.engine.probe(PROBE).map_err(StoreError::query("trying a write to", "the database"))
    }

    /// Frees memory that only saves time: up to 2 MiB of pages of an SQLite file, and its compiled statements. It does not wait: false if a caller uses
    /// the connection just now.
    ///
    /// # Errors
    /// [`StoreError::Query`] with the engine's error.
    pub fn release_caches(&self) -> Result<bool, StoreError> {
        self.engine.release_caches().map_err(StoreError::query("releasing caches of", "the database"))
    }

    pub(crate) fn with_patience(url: &StoreUrl, patience: Patience) -> Result<Self, StoreError> {
        Self::connect(url, patience)?.prepare()
    }

    /// Brings the tables up to date.
    fn prepare(self) -> Result<Self, StoreError> {
        let (store, url) = (&self, &self.url);
        let Inspection { version, is_half_copied } = store.inspect()?;
        if is_half_copied {
            return Err(StoreError::HalfCopied { url: url.clone() });
        }
        if version != schema::newest() {
            store.migrate_to(schema::newest())?;
        }
        Ok(self)
    }

    /// Opens a database as it is, for commands that read or change all of it. A file has to exist.
    ///
    /// # Errors
    /// [`StoreError::Open`].
    pub(crate) fn open_for_maintenance(url: &StoreUrl, is_read_only: bool) -> Result<Self, StoreError> {
        match &url.0 {
            StoreLocation::File(path) if is_read_only => {
                let sqlite = Sqlite::open_read_only(path).map_err(StoreError::open(url))?;
                Ok(Self::of_engine(Engine::Sqlite(sqlite), url.clone()))
            }
            _ => Self::connect(url, Patience::MAINTENANCE),
        }
    }

    /// Opens an existing database of the newest version, and changes nothing in it.
    ///
    /// # Errors
    /// [`StoreError::Open`], [`StoreError::NewerSchema`], [`StoreError::OlderSchema`], [`StoreError::HalfCopied`].
    pub(crate) fn open_to_read(url: &StoreUrl) -> Result<Self, StoreError> {
        let store = Self::open_for_maintenance(url, true)?;
        let (Inspection { version, is_half_copied }, newest) = (store.inspect()?, schema::newest());
        match version {
            _ if is_half_copied => Err(StoreError::HalfCopied { url: url.clone() }),
            found if found != newest => Err(StoreError::OlderSchema { url: url.clone(), found, newest }),
            _ => Ok(store),
        }
    }

    /// Opens an SQLite file of which nothing has to survive a crash, creating it when it is missing, and brings its tables up to date.
    ///
    /// # Errors
    /// [`StoreError::Open`], [`StoreError::Migrate`].
    pub(crate) fn open_scratch(path: &Path) -> Result<Self, StoreError> {
        let url = StoreUrl::file(path);
        let sqlite = Sqlite::open_scratch(path).map_err(StoreError::open(&url))?;
        let store = Self::of_engine(Engine::Sqlite(sqlite), url);
        store.migrate_to(schema::newest())?;
        Ok(store)
    }

    /// A database that lives as long as the value: for tests and simulations.
    ///
    /// # Errors
    /// [`StoreError::Open`] when SQLite has no memory for it.
    pub fn open_in_memory() -> Result<Self, StoreError> {
        let url = StoreUrl::file(":memory:");
        let sqlite = Sqlite::open_in_memory().map_err(StoreError::open(&url))?;
        let store = Self::of_engine(Engine::Sqlite(sqlite), url);
        store.migrate_to(schema::newest())?;
        Ok(store)
    }

    /// Counts from now on how long callers wait for each other's turn, in `throng_lock_wait_seconds` with the label `system`.
    #[must_use]
    pub fn with_metrics(mut self, metrics: &Metrics, system: &str) -> Self {
        let lock_wait = LockWait::new(metrics, system);
        match &mut self.engine {
            Engine::Sqlite(sqlite) => sqlite.set_lock_wait(lock_wait),
            Engine::Postgres(pool) => pool.set_lock_wait(lock_wait),
        }
        self
    }

    /// Bounds each owner's inventory so from now on, in place of the default.
    #[must_use]
    pub const fn with_inventory_limits(mut self, limits: InventoryLimits) -> Self {
        self.inventory_limits = limits;
        self
    }

    /// Bounds of each owner's inventory: those of all changes that have none of their own.
    pub const fn inventory_limits(&self) -> InventoryLimits {
        self.inventory_limits
    }

    /// Its address.
    pub fn url(&self) -> &StoreUrl {
        &self.url
    }

    pub(crate) const fn engine(&self) -> &Engine {
        &self.engine
    }

    fn of_engine(engine: Engine, url: StoreUrl) -> Self {
        Self { claim: None, engine, url, inventory_limits: InventoryLimits::default() }
    }

    fn connect(url: &StoreUrl, patience: Patience) -> Result<Self, StoreError> {
        let engine = match &url.0 {
            StoreLocation::DataDirectory => {
                Sqlite::open(&Path::new(".").join("throng.sqlite")).map(Engine::Sqlite)
            }
            StoreLocation::File(path) => Sqlite::open(path).map(Engine::Sqlite),
            StoreLocation::Server(config) => {
                Pool::new(config.as_ref().clone(), patience).map(|pool| Engine::Postgres(Box::new(pool)))
            }
        };
        Ok(Self::of_engine(engine.map_err(StoreError::open(url))?, url.clone()))
    }

    /// Connects to the same database, under the same claim.
    fn connect_again(&self, patience: Patience) -> Result<Self, StoreError> {
        let mut again = Self::connect(&self.url, patience)?;
        if let (Engine::Postgres(again), Engine::Postgres(pool)) = (&mut again.engine, &self.engine) {
            again.share_claim(pool);
        }
        Ok(again)
    }

    /// Identifies a database before its use. These are the first statements sent to a server.
    pub(crate) fn inspect(&self) -> Result<Inspection, StoreError> {
        let inspection = self.engine.read(schema::inspect).map_err(StoreError::open(&self.url))?;
        let known = schema::newest();
        if inspection.version > known {
            return Err(StoreError::NewerSchema { url: self.url.clone(), found: inspection.version, known });
        }
        Ok(inspection)
    }

    pub(crate) fn migrate_to(&self, newest: u32) -> Result<(), StoreError> {
        let url = || self.url.clone();
        // A step may take longer than a server's callers wait.
        let patient = match &self.url.0 {
            StoreLocation::Server(_) => Some(self.connect_again(Patience::MAINTENANCE)?),
            _ => None,
        };
        let engine = patient.as_ref().map_or(&self.engine, |patient| &patient.engine);
        schema::migrate(engine, newest).map_err(|why| match why {
            MigrateError::Newer { found } => {
                StoreError::NewerSchema { url: url(), found, known: schema::newest() }
            }
            MigrateError::Step { version, source } => {
                StoreError::Migrate { url: url(), version, source: source.into() }
            }
        })
    }

    pub(crate) fn read<T>(
        &self,
        work: impl FnMut(&mut Session<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.engine.read(work)
    }

    pub(crate) fn write<T>(
        &self,
        work: impl FnMut(&mut Session<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.engine.write(work)
    }

    pub(crate) fn read_view<T>(
        &self,
        work: impl FnMut(&mut Session<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.engine.read_view(work)
    }

    pub(crate) fn snapshot<T, E: From<EngineError>>(
        &self,
        work: impl FnOnce(&mut Session<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.engine.snapshot(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::tests::create;
    use crate::engine::{Sql, Value};
    use crate::testing::{TestDatabase, on_both_engines, tamper};
    use std::sync::Barrier;

    on_both_engines! {
        a_database_keeps_its_rows_and_opens_again,
        two_processes_may_use_one_database,
        programs_that_start_on_an_empty_database_at_once_all_get_its_tables,
        a_database_of_a_later_version_is_refused_by_name_and_left_alone,
        an_unfinished_copy_is_refused,
        a_database_has_one_server,
        a_database_that_takes_no_write_is_told_from_one_that_does,
        a_database_works_without_its_caches,
    }

    fn a_database_has_one_server(database: &TestDatabase) {
        let first = Store::open_claimed(&database.url, "the first server").unwrap();
        first.probe().unwrap();
        let refused = Store::open_claimed(&database.url, "the second server").unwrap_err();
        assert!(matches!(refused, StoreError::InUse { .. }), "{refused:?}");
        let why = refused.to_string();
        assert!(
            why.contains("is in use by the first server") && why.contains(&database.url.to_string()),
            "{why}"
        );
        // Commands work beside it.
        assert!(database.open().tokens().unwrap().is_empty());
        drop(first);
        Store::open_claimed(&database.url, "the second server").unwrap();
    }

    fn a_database_that_takes_no_write_is_told_from_one_that_does(database: &TestDatabase) {
        let store = database.open();
        store.probe().unwrap();
        let steps = || store.read(schema::inspect).unwrap().version;
        assert_eq!(steps(), schema::newest(), "a probe leaves nothing");
        tamper(&store, Sql::same("ALTER TABLE schema_version RENAME TO elsewhere"), &[]);
        let refused = store.probe().unwrap_err();
        assert!(refused.to_string().contains("trying a write"), "{refused}");
    }

    fn a_database_works_without_its_caches(database: &TestDatabase) {
        let store = database.open();
        let ada = create(&store, 1, "Ada", "Lovelace");
        assert!(store.release_caches().unwrap());
        assert_eq!(store.account(ada).unwrap().unwrap().first, "Ada");
        let bob = create(&store, 2, "Bob", "Hall");
        assert!(store.release_caches().unwrap());
        assert_eq!(store.account(bob).unwrap().unwrap().first, "Bob");
    }

    #[test]
    fn caches_in_use_are_not_waited_for() {
        let database = TestDatabase::sqlite();
        let store = database.open();
        let is_released = store.read(|_| store.engine.release_caches()).unwrap();
        assert!(!is_released);
        assert!(store.release_caches().unwrap());
    }

    #[test]
    fn a_file_that_may_not_be_written_takes_no_probe() {
        let database = TestDatabase::sqlite();
        drop(database.open());
        let store = Store::open_for_maintenance(&database.url, true).unwrap();
        assert!(store.inspect().is_ok(), "it can be read");
        assert!(store.probe().is_err());
    }

    #[test]
    fn two_names_of_a_file_are_one_database() {
        let database = TestDatabase::sqlite();
        let _first = Store::open_claimed(&database.url, "the first server").unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let link = elsewhere.path().join("link.sqlite");
        std::os::unix::fs::symlink(database.url.path().unwrap(), &link).unwrap();
        let refused = Store::open_claimed(&StoreUrl::file(&link), "the second server").unwrap_err();
        assert!(matches!(refused, StoreError::InUse { .. }), "{refused:?}");
    }

    fn a_database_keeps_its_rows_and_opens_again(database: &TestDatabase) {
        let agent = create(&database.open(), 1, "Ada", "Lovelace");
        assert_eq!(database.open().account(agent).unwrap().unwrap().first, "Ada");
    }

    fn two_processes_may_use_one_database(database: &TestDatabase) {
        let (server, admin) = (database.open(), database.open());
        let agent = create(&admin, 1, "Ada", "Lovelace");
        assert!(server.account(agent).unwrap().is_some());
    }

    fn programs_that_start_on_an_empty_database_at_once_all_get_its_tables(database: &TestDatabase) {
        let start = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    assert!(database.open().tokens().unwrap().is_empty());
                });
            }
        });
    }

    fn a_database_of_a_later_version_is_refused_by_name_and_left_alone(database: &TestDatabase) {
        let insert = Sql::same("INSERT INTO schema_version (version, name) VALUES (99, 'from the future')");
        tamper(&database.open(), insert, &[]);
        let error = Store::open(&database.url).unwrap_err();
        assert!(matches!(error, StoreError::NewerSchema { found: 99, .. }), "{error}");
        assert!(error.to_string().contains(&database.url.to_string()));
    }

    fn an_unfinished_copy_is_refused(database: &TestDatabase) {
        let begin = Sql::same("CREATE TABLE copy_in_progress (source TEXT NOT NULL)");
        tamper(&database.open(), begin, &[]);
        let error = Store::open(&database.url).unwrap_err();
        assert!(error.to_string().contains("unfinished copy"), "{error}");
    }

    #[test]
    fn a_place_that_cannot_be_opened_is_named() {
        let error = Store::open(&StoreUrl::file("/nowhere/at/all.sqlite")).unwrap_err();
        assert_eq!(error.to_string(), "cannot open the database sqlite:/nowhere/at/all.sqlite");
    }

    #[test]
    fn a_commit_waits_for_the_disk() {
        let store = TestDatabase::sqlite();
        let store = store.open();
        let setting = |sql| {
            let read = |row: crate::engine::Row<'_>| {
                Ok(match row.value(0)? {
                    Value::Integer(n) => n.to_string(),
                    other => format!("{other:?}"),
                })
            };
            store.read(|session| session.query_row(Sql::same(sql), &[], read)).unwrap().unwrap()
        };
        assert_eq!(setting("PRAGMA synchronous"), "2");
        assert_eq!(setting("PRAGMA journal_mode"), "Text(\"wal\")");
        assert_eq!(setting("PRAGMA foreign_keys"), "1");
    }
}
