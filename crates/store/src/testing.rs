//! Databases for tests: one body runs on both engines.
//!
//! Tests on PostgreSQL are ignored by a plain `cargo test`, which says so; `scripts/postgres.sh cargo test -- --ignored postgres` starts a
//! server and runs them.

use crate::engine::{Sql, Value};
use crate::seals::seal_all_rows;
use crate::{Store, StoreUrl};
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// The address of a server on which tests may make schemas of their own.
const SERVER: &str = "THRONG_TEST_POSTGRES";

/// Makes each function, which takes a [`TestDatabase`], two tests: one on SQLite and one on PostgreSQL.
macro_rules! on_both_engines {
    ($($body:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $body() {
                super::$body(&$crate::testing::TestDatabase::sqlite());
            })+
        }

        mod postgres {
            $(#[test]
            #[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
            fn $body() {
                super::$body(&$crate::testing::TestDatabase::postgres());
            })+
        }
    };
}
pub(crate) use on_both_engines;

/// An empty database, which goes with this.
#[derive(Debug)]
pub(crate) struct TestDatabase {
    pub(crate) url: StoreUrl,
    _directory: Option<TempDir>,
    /// The server's address and the schema.
    schema: Option<(StoreUrl, String)>,
}

impl TestDatabase {
    pub(crate) fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = StoreUrl::of_directory(directory.path());
        Self { url, _directory: Some(directory), schema: None }
    }

    pub(crate) fn postgres() -> Self {
        static SCHEMAS: AtomicU32 = AtomicU32::new(0);
        let server = server();
        let n = SCHEMAS.fetch_add(1, Ordering::Relaxed);
        let schema = format!("throng_test_{}_{n}", std::process::id());
        let admin: StoreUrl = server.parse().unwrap();
        run_batch(&admin, &format!("CREATE SCHEMA {schema}"));
        let url = within_schema(&server, &schema);
        Self { url: url.parse().unwrap(), _directory: None, schema: Some((admin, schema)) }
    }

    /// An empty database of the same engine.
    pub(crate) fn another(&self) -> Self {
        if self.schema.is_some() { Self::postgres() } else { Self::sqlite() }
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(&self.url).unwrap()
    }
}

/// The server's address, for tests that reach it in their own way.
pub(crate) fn server() -> String {
    std::env::var(SERVER).unwrap_or_else(|_| panic!("{SERVER} is not set: run scripts/postgres.sh COMMAND"))
}

/// Address of a database with its tables in this schema.
pub(crate) fn within_schema(server: &str, schema: &str) -> String {
    let separator = if server.contains('?') { '&' } else { '?' };
    format!("{server}{separator}options=-c%20search_path%3D{schema}")
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let Some((admin, schema)) = &self.schema {
            run_batch(admin, &format!("DROP SCHEMA {schema} CASCADE"));
        }
    }
}

fn run_batch(server: &StoreUrl, sql: &str) {
    let sql: &'static str = sql.to_owned().leak();
    let store = Store::open_for_maintenance(server, false).unwrap();
    store.read(|session| session.batch(Sql::same(sql))).unwrap();
}

/// Changes rows in ways that the store itself would not; returns their number.
pub(crate) fn tamper(store: &Store, sql: Sql, values: &[Value<'_>]) -> usize {
    store.write(|session| session.execute(sql, values)).unwrap()
}

/// Changes rows in ways that the store has no call for, and seals them: they are not damaged.
pub(crate) fn rewrite(store: &Store, sql: Sql, values: &[Value<'_>]) -> usize {
    let rewritten = store.write(|session| {
        let n = session.execute(sql, values)?;
        seal_all_rows(session)?;
        Ok(n)
    });
    rewritten.unwrap()
}
