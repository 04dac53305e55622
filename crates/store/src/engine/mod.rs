//! The two engines behind one interface: statements in two dialects, values, rows and transactions.
//!
//! A method of the store is one body of code over a [`Session`]; only the texts of its statements differ between engines, and they stand
//! side by side in an [`Sql`]. How connections are had, shared and replaced is in [`sqlite`] and [`pool`].

mod claim;
mod connection;
mod error;
mod members;
mod pool;
mod salvage;
mod sqlite;
mod value;

pub(crate) use claim::{Claim, ClaimError};
pub(crate) use connection::Connection;
pub(crate) use error::{Conflict, EngineError};
pub(crate) use pool::{Patience, Pool};
pub(crate) use salvage::Rebuilt;
pub(crate) use sqlite::Sqlite;
pub(crate) use value::{ColumnValue, Parameter, Row, Value, values};

/// One statement in both dialects. Parameters are `$1`, `$2`, …; each appears for the first time in this order, since SQLite numbers them
/// by that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sql {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

impl Sql {
    /// A statement that both engines understand alike.
    pub(crate) const fn same(text: &'static str) -> Self {
        Self { sqlite: text, postgres: text }
    }
}

/// Rows that PostgreSQL gets at once. A statement with these takes milliseconds.
const BULK_ROWS: usize = 1_000;

/// A connection that is one caller's for as long as it is borrowed, inside a transaction or outside.
pub(crate) enum Session<'a> {
    Sqlite(&'a rusqlite::Connection),
    Postgres(&'a mut Connection),
}

impl Session<'_> {
    /// Carries out a statement that answers nothing; how many rows it changed.
    pub(crate) fn execute(&mut self, sql: Sql, values: &[Value<'_>]) -> Result<usize, EngineError> {
        match self {
            Self::Sqlite(connection) => sqlite::execute(connection, sql.sqlite, values),
            Self::Postgres(connection) => connection.execute(sql.postgres, values),
        }
    }

    /// Carries out a statement for each of many rows. SQLite gets one row after the other; PostgreSQL gets up to [`BULK_ROWS`] at once, each
    /// parameter as an array with a cell of every row.
    pub(crate) fn execute_many<'v, const N: usize>(
        &mut self,
        sql: Sql,
        rows: impl Iterator<Item = [Value<'v>; N]>,
    ) -> Result<(), EngineError> {
        match self {
            Self::Sqlite(connection) => sqlite::execute_many(connection, sql.sqlite, rows),
            Self::Postgres(connection) => {
                let mut rows = rows.peekable();
                while rows.peek().is_some() {
                    let mut columns = vec![Vec::with_capacity(BULK_ROWS); N];
                    for row in rows.by_ref().take(BULK_ROWS) {
                        columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
                    }
                    connection.execute_columns(sql.postgres, &columns)?;
                }
                Ok(())
            }
        }
    }

    /// All rows of an answer, as `read` makes them.
    pub(crate) fn query<T>(
        &mut self,
        sql: Sql,
        values: &[Value<'_>],
        mut read: impl FnMut(Row<'_>) -> Result<T, EngineError>,
    ) -> Result<Vec<T>, EngineError> {
        match self {
            Self::Sqlite(connection) => sqlite::query(connection, sql.sqlite, values, read),
            Self::Postgres(connection) => {
                let rows = connection.query(sql.postgres, values)?;
                rows.iter().map(|row| read(Row::Postgres(row))).collect()
            }
        }
    }

    /// The only row of an answer, if there is one.
    pub(crate) fn query_row<T>(
        &mut self,
        sql: Sql,
        values: &[Value<'_>],
        read: impl FnMut(Row<'_>) -> Result<T, EngineError>,
    ) -> Result<Option<T>, EngineError> {
        Ok(self.query(sql, values, read)?.pop())
    }

    /// Carries out statements without parameters, such as those of a migration.
    pub(crate) fn batch(&mut self, sql: Sql) -> Result<(), EngineError> {
        match self {
            Self::Sqlite(connection) => Ok(connection.execute_batch(sql.sqlite)?),
            Self::Postgres(connection) => connection.batch(sql.postgres),
        }
    }
}

/// One of the two.
#[derive(Debug)]
pub(crate) enum Engine {
    Sqlite(Sqlite),
    Postgres(Box<Pool>),
}

impl Engine {
    /// Carries out a single statement that reads.
    pub(crate) fn read<T>(
        &self,
        work: impl FnMut(&mut Session<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.read(work),
            Self::Postgres(pool) => pool.read(work),
        }
    }

    /// Carries out statements that read, from one unchanging view of everything. `work` may be called several times, each time with another view.
    pub(crate) fn read_view<T>(
        &self,
        work: impl FnMut(&mut Session<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.snapshot(work),
            Self::Postgres(pool) => pool.read_view(work),
        }
    }

    /// Carries out a transaction, on the disk before this returns; nothing of it when `work` fails. `work` may be called several times,
    /// each time in a new transaction after the former one was found to have had no effect.
    pub(crate) fn write<T>(
        &self,
        work: impl FnMut(&mut Session<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.write(work),
            Self::Postgres(pool) => pool.write(work),
        }
    }

    /// Builds a table or its indexes anew if pages of them in the file are damaged. `key` is the column of the table's row ids. A PostgreSQL server mends
    /// its own files.
    pub(crate) fn rebuild(&self, table: &str, key: &str) -> Result<Option<Rebuilt>, EngineError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.rebuild(table, key),
            Self::Postgres(_) => Ok(None),
        }
    }

    /// Carries out a statement that writes, as far as to the disk where the engine can do that without a commit, and takes it back.
    pub(crate) fn probe(&self, sql: Sql) -> Result<(), EngineError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.probe(sql.sqlite),
            Self::Postgres(pool) => pool.probe(sql.postgres),
        }
    }

    /// Frees memory that only saves time, without waiting; false if that is in use. A PostgreSQL server has its own.
    pub(crate) fn release_caches(&self) -> Result<bool, EngineError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.release_caches(),
            Self::Postgres(_) => Ok(true),
        }
    }

    /// Reads from one unchanging view of everything, once: a connection that breaks ends it.
    pub(crate) fn snapshot<T, E: From<EngineError>>(
        &self,
        work: impl FnOnce(&mut Session<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        match self {
            Self::Sqlite(sqlite) => sqlite.snapshot(work),
            Self::Postgres(pool) => pool.snapshot(work),
        }
    }
}
