//! One consistent cut of a database, as an SQLite file of its own, whichever engine the database has.
//!
//! The database is read once, from one unchanging view on a connection of its own, while servers and commands go on writing. The file is void until its
//! writer has brought it to the disk and read it back ([`read_back`]): unlike a [copy](crate::copy()), an interrupted cut is not continued.

use crate::asset::{AssetHash, damage_checksum};
use crate::engine::{EngineError, Session, Sql, values};
use crate::region;
use crate::schema;
use crate::tables::{Cursor, Digester, StoreTable, TABLES, TableDigest, TableRow, digest};
use crate::{DatabaseFailure, Store, StoreError, StoreUrl};
use ids::{Epoch, WorldId};
use std::ops::ControlFlow;
use std::path::Path;

/// A region as of a cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionCut {
    /// Its number.
    pub region: WorldId,
    /// Its name.
    pub name: String,
    /// Life of its world.
    pub epoch: Epoch,
    /// Number of the frame whose region it is.
    pub sequence: u64,
}

/// A finished cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutReport {
    /// Version of the tables.
    pub version: u32,
    /// Rows and hash of each table, as they were read.
    pub tables: Vec<TableDigest>,
    /// Regions with a row that is not damaged.
    pub regions: Vec<RegionCut>,
}

/// Progress of a cut, after each part of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutProgress {
    /// The table.
    pub table: &'static str,
    /// Rows that were written, of all tables.
    pub rows: u64,
    /// Rows that there are.
    pub rows_total: u64,
    /// Bytes of the rows of this part.
    pub bytes: u64,
}

/// Failure of a cut. The file is void.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// The database or the file cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Reading the database failed.
    #[error("cannot read the database")]
    Source(#[from] DatabaseFailure),
    /// Writing the file failed.
    #[error("cannot write table {table} of the file")]
    Target {
        /// The table.
        table: &'static str,
        /// The failure of the file.
        source: DatabaseFailure,
    },
    /// Rows of a table are missing in the order of their keys: pages of it are damaged.
    #[error("table {table} has other rows than it counts; `throng store check` names the damage")]
    Disorder {
        /// The table.
        table: &'static str,
    },
    /// The receiver of its progress has ended it.
    #[error("it was ended")]
    Ended,
}

impl From<EngineError> for CutError {
    fn from(error: EngineError) -> Self {
        Self::Source(error.into())
    }
}

/// Writes everything in a database into a new SQLite file. `report` gets the progress, and may end the cut; between two calls a minute may pass at most, since a
/// server ends the view of a client that is silent for longer. Cells are written as they are, those of damaged rows as well.
///
/// # Errors
/// [`CutError`]; the file is to be deleted then.
pub fn cut(
    from: &StoreUrl,
    to: &Path,
    mut report: impl FnMut(CutProgress) -> ControlFlow<()>,
) -> Result<CutReport, CutError> {
    let source = Store::open_to_read(from)?;
    let target = Store::open_scratch(to)?;
    source.snapshot(|session| {
        let mut rows_total = 0;
        for table in TABLES.iter() {
            rows_total += table.count(session)?;
        }
        let mut writer =
            CutWriter { session: &mut *session, target: &target, rows: 0, rows_total, report: &mut report };
        let tables = TABLES.iter().map(|table| writer.write(table)).collect::<Result<_, _>>()?;
        let rows = region::read_all(session)?.into_iter();
        let regions = rows.filter_map(|(region, row)| {
            let row = row.ok()?;
            Some(RegionCut { region, name: row.name, epoch: row.epoch, sequence: row.sequence })
        });
        Ok(CutReport { version: schema::newest(), tables, regions: regions.collect() })
    })
}

/// The version of the tables that this program makes and reads.
#[must_use]
pub fn newest_version() -> u32 {
    schema::newest()
}

/// Rows and hash of each table of a database that exists, from one unchanging view.
///
/// # Errors
/// [`StoreError`].
pub fn read_back(url: &StoreUrl) -> Result<Vec<TableDigest>, StoreError> {
    let store = Store::open_to_read(url)?;
    store.snapshot(digest).map_err(StoreError::query("reading back", url))
}

/// Removes contents with all assets that have them from the file of a cut, which has to be read back again: assets that have expired since.
///
/// # Errors
/// [`StoreError`]; the file is to be deleted then.
pub fn remove_from_cut(file: &Path, contents: &[AssetHash]) -> Result<(), StoreError> {
    const ASSETS: Sql = Sql::same("DELETE FROM assets WHERE hash = $1");
    const CONTENT: Sql = Sql::same("DELETE FROM asset_contents WHERE hash = $1");
    let store = Store::open_scratch(file)?;
    let removed = store.write(|session| {
        for hash in contents {
            session.execute(ASSETS, values![hash.0])?;
            session.execute(CONTENT, values![hash.0])?;
        }
        Ok(())
    });
    removed.map_err(StoreError::query("removing expired assets from the cut", file.display()))
}

/// Ends the quarantine of contents in the file of a cut that has been restored with their sound bytes.
///
/// # Errors
/// [`StoreError`].
pub fn end_quarantine(file: &Path, contents: &[AssetHash]) -> Result<(), StoreError> {
    const HEAL: Sql =
        Sql::same("UPDATE asset_contents SET damage = NULL, damage_checksum = $1 WHERE hash = $2");
    let store = Store::open_scratch(file)?;
    let healed = store.write(|session| {
        contents.iter().try_for_each(|hash| {
            session.execute(HEAL, values![damage_checksum(*hash, None), hash.0]).map(drop)
        })
    });
    healed.map_err(StoreError::query("ending the quarantine of contents in", file.display()))
}

/// Writes tables one after the other.
struct CutWriter<'a, 'b> {
    session: &'a mut Session<'b>,
    target: &'a Store,
    rows: u64,
    rows_total: u64,
    report: &'a mut dyn FnMut(CutProgress) -> ControlFlow<()>,
}

impl CutWriter<'_, '_> {
    fn write(&mut self, table: &'static StoreTable) -> Result<TableDigest, CutError> {
        let (mut cursor, mut digester, mut part) = (Cursor::new(table), Digester::default(), Vec::new());
        while let Some(row) = cursor.peek(|read| read(self.session))? {
            digester.add(row);
            part.push(cursor.advance().expect("it was seen"));
            if part.len() >= table.page() {
                self.insert(table, &mut part)?;
            }
        }
        self.insert(table, &mut part)?;
        let digest = digester.finish(table);
        if table.count(self.session)? != digest.rows {
            return Err(CutError::Disorder { table: table.name });
        }
        Ok(digest)
    }

    fn insert(&mut self, table: &'static StoreTable, part: &mut Vec<TableRow>) -> Result<(), CutError> {
        let inserted =
            self.target.write(|session| part.iter().try_for_each(|row| table.insert(session, row)));
        inserted.map_err(|source| CutError::Target { table: table.name, source: source.into() })?;
        self.rows += part.len() as u64;
        let bytes = part.iter().map(TableRow::n_bytes).sum();
        part.clear();
        let Self { rows, rows_total, .. } = *self;
        match (self.report)(CutProgress { table: table.name, rows, rows_total, bytes }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(CutError::Ended),
        }
    }
}

#[cfg(test)]
mod tests;
