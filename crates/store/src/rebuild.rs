//! Tables of regions in an SQLite file with damaged pages: built anew from what can be read, in the middle of the call that came upon the damage.

use crate::{Store, StoreError};
use std::fmt;

/// Tables that a region or its held objects are read from and saved to, with the columns of their keys.
const TABLES: [(&str, &str); 6] = [
    ("regions", "region"),
    ("object_bodies", "object"),
    ("object_states", "object"),
    ("region_land", "land"),
    ("held_objects", "held"),
    ("objects_set_aside", "number"),
];

/// A table that was built anew, or its indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebuiltTable {
    /// Its name.
    pub table: &'static str,
    /// Name under which the former table is kept; none if only indexes of it were built anew.
    pub former: Option<String>,
    /// False if rows may be missing; true if only an index was damaged.
    pub is_whole: bool,
}

impl fmt::Display for RebuiltTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, former, is_whole } = self;
        match (former, is_whole) {
            (Some(former), false) => {
                write!(f, "table {table} had damaged pages and is kept as {former}; rows are missing")
            }
            (Some(former), true) => {
                write!(
                    f,
                    "an index of table {table} had damaged pages and is kept with the table as {former}; "
                )?;
                f.write_str("no row is missing")
            }
            (None, _) => {
                write!(f, "an index of table {table} was damaged and is built anew; no row is missing")
            }
        }
    }
}

impl Store {
    /// Makes a call. If it comes upon damaged pages, the tables of all regions that have some are built anew from the rows that can be read, each is
    /// reported, and the call is made once more. A PostgreSQL server mends its own files.
    ///
    /// # Errors
    /// Those of the call, and [`StoreError::Query`] of the rebuild. Tables that were reported are built anew all the same.
    pub fn with_rebuild<T>(
        &self,
        mut call: impl FnMut() -> Result<T, StoreError>,
        mut report: impl FnMut(RebuiltTable),
    ) -> Result<T, StoreError> {
        let why = match call() {
            Err(why) if why.is_damage() => why,
            done => return done,
        };
        let mut is_any_rebuilt = false;
        for (table, key) in TABLES {
            let rebuilt = self.engine().rebuild(table, key);
            if let Some(rebuilt) = rebuilt.map_err(StoreError::query("building anew the table", table))? {
                is_any_rebuilt = true;
                report(RebuiltTable { table, former: rebuilt.former, is_whole: rebuilt.is_whole });
            }
        }
        if is_any_rebuilt { call() } else { Err(why) }
    }
}

#[cfg(test)]
mod tests;
