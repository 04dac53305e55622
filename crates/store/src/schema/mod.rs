//! Versions of the tables, and migration to the newest.
//!
//! The table `schema_version` holds one row per applied [step](steps). Both engines have the same steps under the same numbers; a test
//! compares the resulting columns.

mod steps;

#[cfg(test)]
mod tests;

use crate::engine::{Engine, EngineError, Row, Session, Sql, values};
use std::collections::BTreeMap;
use steps::STEPS;

/// Changes rows by more than statements.
type Fill = fn(&mut Session<'_>) -> Result<(), EngineError>;

/// One step: its purpose, and its statements.
struct SchemaStep {
    name: &'static str,
    sql: Sql,
    /// What no statement does, behind the statements and in their transaction.
    fill: Option<Fill>,
}

/// State of a database before its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inspection {
    /// Steps that were applied; 0 when it is empty.
    pub(crate) version: u32,
    /// A copy into it has begun and did not end.
    pub(crate) is_half_copied: bool,
}

/// The newest version.
pub(crate) fn newest() -> u32 {
    STEPS.len() as u32
}

/// Names of the applied steps.
const NAMES: Sql = Sql::same("SELECT version, name FROM schema_version ORDER BY version");

/// Versions whose rows do not have the name of their step, in a database of the newest version; also those that are missing.
pub(crate) fn damaged_steps(session: &mut Session<'_>) -> Result<Vec<u32>, EngineError> {
    let read = |row: Row<'_>| Ok((row.get::<u32>(0)?, row.get::<String>(1).unwrap_or_default()));
    let found: BTreeMap<u32, String> = session.query(NAMES, &[], read)?.into_iter().collect();
    let is_damaged =
        |(version, step): &(u32, &SchemaStep)| found.get(version).is_none_or(|name| name != step.name);
    Ok((1..).zip(STEPS).filter(is_damaged).map(|(version, _)| version).collect())
}

const TABLES: Sql = Sql {
    sqlite: "SELECT name FROM sqlite_master WHERE type = 'table'",
    postgres: "SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema()",
};
const VERSION: Sql = Sql::same("SELECT coalesce(max(version), 0) FROM schema_version");

pub(crate) fn inspect(session: &mut Session<'_>) -> Result<Inspection, EngineError> {
    let tables = session.query(TABLES, &[], |row| row.get::<String>(0))?;
    let has = |name| tables.iter().any(|table| table == name);
    let version = if has("schema_version") { version(session)? } else { 0 };
    Ok(Inspection { version, is_half_copied: has("copy_in_progress") })
}

fn version(session: &mut Session<'_>) -> Result<u32, EngineError> {
    Ok(session.query_row(VERSION, &[], |row| row.get(0))?.unwrap_or(0))
}

/// The tables that steps need. PostgreSQL's lock keeps apart two programs that start on one database, as SQLite's write lock does; its
/// `commit_marks` is explained at [`Connection`](crate::engine::Connection).
const BASE: Sql = Sql {
    sqlite: "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL) STRICT",
    postgres: r#"
SET LOCAL lock_timeout = '10min';
SELECT pg_advisory_xact_lock(7526769876213);
CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY, name TEXT COLLATE "C" NOT NULL);
CREATE TABLE IF NOT EXISTS commit_marks (
    writer          TEXT COLLATE "C" NOT NULL,
    number          BIGINT NOT NULL,
    is_fence        BIGINT NOT NULL DEFAULT 0,
    made_at         TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (writer, number)
);
-- Of connections that have ended. A commit is in doubt for seconds.
DELETE FROM commit_marks WHERE made_at < now() - interval '1 day';
"#,
};

/// Failure of a migration.
#[derive(Debug)]
pub(crate) enum MigrateError {
    /// The database has steps that this program does not know.
    Newer { found: u32 },
    /// A step failed; the database is as it was before it.
    Step { version: u32, source: EngineError },
}

/// Applies the steps up to `newest` that the database does not have yet, each in a transaction of its own.
pub(crate) fn migrate(engine: &Engine, newest: u32) -> Result<(), MigrateError> {
    for (version, step) in (1..=newest).zip(STEPS) {
        // The version is read under the lock: two programs that start on one empty database (the server and `throng user add`) must
        // not both apply the step.
        let applied = engine.write(|session| {
            session.batch(BASE)?;
            let found = self::version(session)?;
            if found < version {
                session.batch(step.sql)?;
                if let Some(fill) = step.fill {
                    fill(session)?;
                }
                let insert = Sql::same("INSERT INTO schema_version (version, name) VALUES ($1, $2)");
                session.execute(insert, values![version, step.name])?;
            }
            Ok(found)
        });
        match applied {
            Ok(found) if found > self::newest() => return Err(MigrateError::Newer { found }),
            Ok(_) => {}
            Err(source) => return Err(MigrateError::Step { version, source }),
        }
    }
    Ok(())
}
