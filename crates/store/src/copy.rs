//! Copies a whole database into another one, of either engine.
//!
//! The source is read from one unchanging view and never written. While a copy is under way its target has a table `copy_in_progress`, which
//! keeps servers out; it goes in the transaction that ends the copy. A copy that was killed at any point is repeated by the same command:
//!
//! 1. *Prune*: rows of the target that the source does not have, or has otherwise, are removed.
//! 2. *Fill*: rows that are missing are inserted, a page per transaction.
//! 3. *Verify*: the rows of both are compared by count and by a hash of each.

use crate::engine::{EngineError, Session, Sql};
use crate::schema;
use crate::tables::{Cursor, Digester, StoreTable, TABLES, TableDigest, TableRow};
use crate::{DatabaseFailure, Store, StoreError, StoreUrl};
use std::cmp::Ordering;

/// A finished copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyReport {
    /// Rows of each table, the same in source and target.
    pub tables: Vec<TableDigest>,
    /// Rows that were inserted by this run.
    pub inserted: u64,
    /// Rows of the target that were removed by this run: the source has changed since an earlier one.
    pub removed: u64,
}

/// A transaction of a copy that has been committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyProgress {
    /// The table that it is at.
    pub table: &'static str,
    /// Rows inserted so far, by this run.
    pub inserted: u64,
}

/// Failure of a copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The source or the target cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The source is of an earlier version, and is not to be changed here.
    #[error(
        "the source {url} has schema version {found} instead of {newest}: run `throng store migrate` on it first"
    )]
    OldSource {
        /// Its address.
        url: StoreUrl,
        /// Its version.
        found: u32,
        /// The version that is copied.
        newest: u32,
    },
    /// The source is the target of another copy.
    #[error("the source {url} is itself an unfinished copy")]
    HalfSource {
        /// Its address.
        url: StoreUrl,
    },
    /// The target has rows that were not copied there.
    #[error(
        "the target {url} is not empty and differs from the source in table {table}; nothing was changed"
    )]
    NotEmpty {
        /// Its address.
        url: StoreUrl,
        /// The first table that differs.
        table: &'static str,
    },
    /// Reading the source failed.
    #[error("cannot read the source")]
    Source(#[from] DatabaseFailure),
    /// Writing the target failed.
    #[error("cannot write table {table} of the target (at the row {key})")]
    Target {
        /// The table.
        table: &'static str,
        /// The last row's key.
        key: String,
        /// The failure of the target.
        source: DatabaseFailure,
    },
    /// After everything was copied the two differ.
    #[error("the copy of table {table} differs from the source; begin anew with an empty target")]
    Differs {
        /// The first table that differs.
        table: &'static str,
    },
}

impl From<EngineError> for CopyError {
    fn from(error: EngineError) -> Self {
        Self::Source(error.into())
    }
}

const BEGIN: Sql = Sql {
    sqlite: "CREATE TABLE copy_in_progress (source TEXT NOT NULL) STRICT",
    postgres: "CREATE TABLE copy_in_progress (source TEXT NOT NULL)",
};
/// The target's sequences continue behind the copied numbers; SQLite does so by itself.
const END: Sql = Sql {
    sqlite: "DROP TABLE copy_in_progress",
    postgres: "DROP TABLE copy_in_progress; \
               SELECT setval(pg_get_serial_sequence('instances_set_aside', 'number'), max(number)) \
               FROM instances_set_aside HAVING max(number) IS NOT NULL; \
               SELECT setval(pg_get_serial_sequence('objects_set_aside', 'number'), max(number)) \
               FROM objects_set_aside HAVING max(number) IS NOT NULL",
};

/// Copies everything from one database to another, which is empty or an unfinished copy. `report_progress` is called after each
/// transaction.
///
/// # Errors
/// [`CopyError`]; the same call may be made again.
pub fn copy(
    from: &StoreUrl,
    to: &StoreUrl,
    mut report_progress: impl FnMut(CopyProgress),
) -> Result<CopyReport, CopyError> {
    let newest = schema::newest();
    let source = Store::open_for_maintenance(from, true)?;
    let found = source.inspect()?;
    if found.is_half_copied {
        return Err(CopyError::HalfSource { url: from.clone() });
    }
    if found.version != newest {
        return Err(CopyError::OldSource { url: from.clone(), found: found.version, newest });
    }
    let target = Store::open_for_maintenance(to, false)?;
    let is_half_copied = target.inspect()?.is_half_copied;
    target.migrate_to(newest)?;
    source.snapshot(|source| {
        let mut copy =
            Copy { source, target: &target, inserted: 0, removed: 0, report_progress: &mut report_progress };
        if !is_half_copied && !copy.is_target_empty()? {
            // Perhaps a copy that was killed when it had just ended.
            return match copy.verify()? {
                Ok(tables) => Ok(copy.report(tables)),
                Err(table) => Err(CopyError::NotEmpty { url: to.clone(), table }),
            };
        }
        if is_half_copied {
            TABLES.iter().try_for_each(|table| copy.prune(table))?;
        } else {
            copy.on_target("copy_in_progress", "", |session| session.batch(BEGIN))?;
        }
        TABLES.iter().try_for_each(|table| copy.fill(table))?;
        let tables = copy.verify()?.map_err(|table| CopyError::Differs { table })?;
        copy.on_target("copy_in_progress", "", |session| session.batch(END))?;
        Ok(copy.report(tables))
    })
}

struct Copy<'a, 'b> {
    source: &'a mut Session<'b>,
    target: &'a Store,
    inserted: u64,
    removed: u64,
    report_progress: &'a mut dyn FnMut(CopyProgress),
}

/// The next rows of both sides, of which at least one has a row.
enum RowPair {
    OnlySource(TableRow),
    OnlyTarget(TableRow),
    Both(TableRow, TableRow),
}

/// Both sides of a table in the order of their keys.
struct Merge {
    source: Cursor,
    target: Cursor,
}

impl Merge {
    const fn new(table: &'static StoreTable) -> Self {
        Self { source: Cursor::new(table), target: Cursor::new(table) }
    }

    fn next(&mut self, source: &mut Session<'_>, target: &Store) -> Result<Option<RowPair>, EngineError> {
        let ours = self.source.peek(|read| read(source))?;
        let theirs = self.target.peek(|read| target.read(read))?;
        let order = match (ours, theirs) {
            (None, None) => return Ok(None),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(ours), Some(theirs)) => ours.compare_keys(theirs),
        };
        let mut take_source = || self.source.advance().expect("it was seen");
        let mut take_target = || self.target.advance().expect("it was seen");
        Ok(Some(match order {
            Ordering::Less => RowPair::OnlySource(take_source()),
            Ordering::Greater => RowPair::OnlyTarget(take_target()),
            Ordering::Equal => RowPair::Both(take_source(), take_target()),
        }))
    }
}

impl Copy<'_, '_> {
    fn is_target_empty(&self) -> Result<bool, CopyError> {
        let is_empty = self.target.read(|session| {
            for table in TABLES.iter() {
                if table.count(session)? > 0 {
                    return Ok(false);
                }
            }
            Ok(true)
        });
        is_empty.map_err(|source| CopyError::Target {
            table: "accounts",
            key: String::new(),
            source: source.into(),
        })
    }

    /// Removes rows unlike the source's. Rows that belong to a removed one go with it.
    fn prune(&mut self, table: &'static StoreTable) -> Result<(), CopyError> {
        let mut merge = Merge::new(table);
        let mut stale = Vec::new();
        while let Some(pair) = merge.next(self.source, self.target)? {
            match pair {
                RowPair::OnlyTarget(theirs) => stale.push(theirs),
                RowPair::Both(ours, theirs) if ours.hash() != theirs.hash() => stale.push(theirs),
                RowPair::Both(..) | RowPair::OnlySource(_) => {}
            }
            if stale.len() >= table.page() {
                self.remove(table, &mut stale)?;
            }
        }
        self.remove(table, &mut stale)
    }

    fn remove(&mut self, table: &'static StoreTable, stale: &mut Vec<TableRow>) -> Result<(), CopyError> {
        let Some(last) = stale.last() else { return Ok(()) };
        self.on_target(table.name, &last.describe_key(), |session| {
            stale.iter().try_for_each(|row| table.remove(session, row))
        })?;
        self.removed += stale.len() as u64;
        stale.clear();
        (self.report_progress)(CopyProgress { table: table.name, inserted: self.inserted });
        Ok(())
    }

    /// Inserts missing rows.
    fn fill(&mut self, table: &'static StoreTable) -> Result<(), CopyError> {
        let mut merge = Merge::new(table);
        let mut missing = Vec::new();
        while let Some(pair) = merge.next(self.source, self.target)? {
            if let RowPair::OnlySource(ours) = pair {
                missing.push(ours);
            }
            if missing.len() >= table.page() {
                self.insert(table, &mut missing)?;
            }
        }
        self.insert(table, &mut missing)
    }

    fn insert(&mut self, table: &'static StoreTable, missing: &mut Vec<TableRow>) -> Result<(), CopyError> {
        let Some(last) = missing.last() else { return Ok(()) };
        self.on_target(table.name, &last.describe_key(), |session| {
            missing.iter().try_for_each(|row| table.insert(session, row))
        })?;
        self.inserted += missing.len() as u64;
        missing.clear();
        (self.report_progress)(CopyProgress { table: table.name, inserted: self.inserted });
        Ok(())
    }

    /// Compares everything; else the first table that differs.
    fn verify(&mut self) -> Result<Result<Vec<TableDigest>, &'static str>, CopyError> {
        let mut digests = Vec::new();
        for table in TABLES.iter() {
            let mut merge = Merge::new(table);
            let (mut ours, mut theirs) = (Digester::default(), Digester::default());
            while let Some(pair) = merge.next(self.source, self.target)? {
                let RowPair::Both(our_row, their_row) = pair else { return Ok(Err(table.name)) };
                if our_row.hash() != their_row.hash() {
                    return Ok(Err(table.name));
                }
                ours.add(&our_row);
                theirs.add(&their_row);
            }
            let (ours, theirs) = (ours.finish(table), theirs.finish(table));
            let (in_source, in_target) =
                (table.count(self.source)?, self.target.read(|session| table.count(session))?);
            if ours != theirs || in_source != ours.rows || in_target != ours.rows {
                return Ok(Err(table.name));
            }
            digests.push(ours);
        }
        Ok(Ok(digests))
    }

    fn on_target(
        &self,
        table: &'static str,
        key: &str,
        work: impl FnMut(&mut Session<'_>) -> Result<(), EngineError>,
    ) -> Result<(), CopyError> {
        self.target.write(work).map_err(|source| CopyError::Target {
            table,
            key: key.to_owned(),
            source: source.into(),
        })
    }

    const fn report(&self, tables: Vec<TableDigest>) -> CopyReport {
        CopyReport { tables, inserted: self.inserted, removed: self.removed }
    }
}

#[cfg(test)]
pub(crate) mod tests;
