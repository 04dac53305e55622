//! A table of an SQLite file in which pages were overwritten: built anew from the rows that can be read.
//!
//! A row is found through the pages of its table's tree. A page that cannot be read ends a walk through the table, and a write to it fails with its
//! whole transaction. So the readable rows are copied into a new table, and the former one is kept under another name: to remove it, SQLite
//! would have to read all of it. The rows are in memory meanwhile, since SQLite refuses writes in a transaction that has met damage.
//!
//! An index is removed and made anew. One with a page that cannot be read cannot be removed for the same reason: it stays with the former table, and
//! its name with it, so that the new one has another name.

use super::EngineError;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, Statement, TransactionBehavior, params_from_iter};

/// No key is negative.
const BEFORE_ALL: i64 = -1;

/// Outcome of a rebuild that was necessary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rebuilt {
    /// Name under which the former table is kept; none if only indexes of it were built anew.
    pub(crate) former: Option<String>,
    /// True if each row could be read, and only an index was damaged.
    pub(crate) is_whole: bool,
}

/// Builds a table anew if rows of it cannot be read, or its indexes if these are damaged. `key` is the column of the table's row ids.
pub(super) fn rebuild(
    connection: &mut Connection,
    table: &str,
    key: &str,
) -> Result<Option<Rebuilt>, EngineError> {
    let damaged = Walk::new(connection, table, key)?.rows_of_damaged()?;
    let is_whole = damaged.is_none();
    let indexes = indexes_of(connection, table)?;
    let rows = match damaged {
        Some(rows) => rows,
        None if indexes.is_empty() || !is_any_index_damaged(connection, table)? => return Ok(None),
        None if renew(connection, &indexes)? => return Ok(Some(Rebuilt { former: None, is_whole })),
        None => Walk::new(connection, table, key)?.all_rows()?,
    };
    let mut removable = Vec::new();
    for index in &indexes {
        removable.push(can_be_removed(connection, index)?);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let find = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = $1";
    let create: String = transaction.query_row(find, [table], |row| row.get(0))?;
    let former = unused_name(&transaction, &format!("{table}_damaged"))?;
    for (index, _) in indexes.iter().zip(&removable).filter(|(_, is_removable)| **is_removable) {
        transaction.execute_batch(&index.removal())?;
    }
    transaction.execute_batch(&format!("ALTER TABLE {table} RENAME TO {former}; {create};"))?;
    for cells in rows {
        let places: Vec<String> = (1..=cells.len()).map(|n| format!("${n}")).collect();
        // A page that was overwritten by another one of the table has rows twice.
        let insert = format!("INSERT OR IGNORE INTO {table} VALUES ({})", places.join(", "));
        match transaction.prepare_cached(&insert)?.execute(params_from_iter(cells)) {
            // A page of another table, or a damaged header of the row.
            Err(rusqlite::Error::SqliteFailure(why, _))
                if why.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_DATATYPE => {}
            inserted => drop(inserted?),
        }
    }
    for (Index { name, create }, is_removable) in indexes.iter().zip(removable) {
        if is_removable {
            transaction.execute_batch(create)?;
        } else {
            // Its name is the first one in its definition.
            let other = unused_name(&transaction, name)?;
            transaction.execute_batch(&create.replacen(name, &other, 1))?;
        }
    }
    transaction.commit()?;
    Ok(Some(Rebuilt { former: Some(former), is_whole }))
}

/// An index of a table.
struct Index {
    name: String,
    /// Its definition.
    create: String,
}

impl Index {
    fn removal(&self) -> String {
        format!("DROP INDEX {};", self.name)
    }
}

/// Indexes that a table was given, without those that SQLite makes for its rules.
fn indexes_of(connection: &Connection, table: &str) -> Result<Vec<Index>, EngineError> {
    let find = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = $1 AND sql IS NOT NULL ORDER BY name";
    let mut select = connection.prepare(find)?;
    let found = select.query_map([table], |row| Ok(Index { name: row.get(0)?, create: row.get(1)? }))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// True if an index cannot be read, or does not have the rows of its table, which can be read.
fn is_any_index_damaged(connection: &Connection, table: &str) -> Result<bool, EngineError> {
    let look = || -> Result<bool, EngineError> {
        let mut select = connection.prepare(&format!("PRAGMA integrity_check({table})"))?;
        let mut lines = select.query([])?;
        while let Some(line) = lines.next()? {
            if line.get_ref(0)? != ValueRef::Text(b"ok") {
                return Ok(true);
            }
        }
        Ok(false)
    };
    match look() {
        // The look ends with a page that it cannot read.
        Err(why) if why.is_damage() => Ok(true),
        looked => looked,
    }
}

/// Makes indexes anew; false, and no change, if one cannot be removed.
fn renew(connection: &mut Connection, indexes: &[Index]) -> Result<bool, EngineError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for index in indexes {
        let renewed = transaction.execute_batch(&(index.removal() + &index.create));
        if !readable(renewed.map_err(EngineError::from))? {
            return Ok(false);
        }
    }
    transaction.commit()?;
    Ok(true)
}

/// True if each page of an index can be read: a removal reads all of them. Tried in a transaction of its own, which is of no use after damage.
fn can_be_removed(connection: &mut Connection, index: &Index) -> Result<bool, EngineError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let removed = transaction.execute_batch(&index.removal());
    transaction.rollback()?;
    readable(removed.map_err(EngineError::from))
}

/// Cells of a row.
type Cells = Vec<Value>;

/// Reads a table in the order of its pages.
struct Walk<'a> {
    /// Key and all columns of the rows behind a key, up to a limit.
    select: Statement<'a>,
}

impl<'a> Walk<'a> {
    fn new(connection: &'a Connection, table: &str, key: &str) -> Result<Self, EngineError> {
        let select = format!("SELECT {key}, * FROM {table} WHERE {key} > $1 ORDER BY {key} LIMIT $2");
        Ok(Self { select: connection.prepare(&select)? })
    }

    /// All rows that can be read, of a table in which some cannot, or are out of order.
    fn rows_of_damaged(&mut self) -> Result<Option<Vec<Cells>>, EngineError> {
        if self.is_whole()? {
            return Ok(None);
        }
        let (mut after, mut rows) = (BEFORE_ALL, Vec::new());
        // Behind each damage the walk begins anew with the next readable row.
        while after < i64::MAX {
            let mut last = after;
            let walked = self.read(after, None, |key, cells| {
                last = last.max(key);
                rows.extend(cells);
            });
            if readable(walked)? {
                break;
            }
            after = self.end_of_damage(last)?;
        }
        Ok(Some(rows))
    }

    /// All rows of a table in which each can be read.
    fn all_rows(&mut self) -> Result<Vec<Cells>, EngineError> {
        let mut rows = Vec::new();
        self.read(BEFORE_ALL, None, |_, cells| rows.extend(cells))?;
        Ok(rows)
    }

    /// True if every row can be read, in the order of the keys.
    fn is_whole(&mut self) -> Result<bool, EngineError> {
        let (mut last, mut is_ordered) = (BEFORE_ALL, true);
        let walked = self.read(BEFORE_ALL, None, |key, _| {
            is_ordered &= key > last;
            last = key;
        });
        Ok(readable(walked)? && is_ordered)
    }

    /// The lowest key behind which rows can be read again, after the last one before damage.
    fn end_of_damage(&mut self, last: i64) -> Result<i64, EngineError> {
        let (mut bad, mut step) = (last, 1_i64);
        let mut good = loop {
            let key = last.saturating_add(step);
            if key == i64::MAX || self.can_read_behind(key)? {
                break key;
            }
            (bad, step) = (key, step.saturating_mul(2));
        };
        while good - bad > 1 {
            let middle = bad + (good - bad) / 2;
            if self.can_read_behind(middle)? {
                good = middle;
            } else {
                bad = middle;
            }
        }
        Ok(good)
    }

    fn can_read_behind(&mut self, after: i64) -> Result<bool, EngineError> {
        readable(self.read(after, Some(1), |_, _| ()))
    }

    /// Hands out rows behind a key, each with its key; one with text that is none without its cells.
    fn read(
        &mut self,
        after: i64,
        limit: Option<u32>,
        mut take: impl FnMut(i64, Option<Cells>),
    ) -> Result<(), EngineError> {
        let n_columns = self.select.column_count();
        let mut rows = self.select.query((after, limit.map_or(-1, i64::from)))?;
        while let Some(row) = rows.next()? {
            let mut cells = Cells::with_capacity(n_columns);
            for at in 1..n_columns {
                cells.extend(owned(row.get_ref(at)?));
            }
            take(row.get(0)?, Some(cells).filter(|cells| cells.len() == n_columns - 1));
        }
        Ok(())
    }
}

/// A cell; none if it is text that is not UTF-8.
fn owned(cell: ValueRef<'_>) -> Option<Value> {
    match cell {
        ValueRef::Null => Some(Value::Null),
        ValueRef::Integer(number) => Some(Value::Integer(number)),
        ValueRef::Real(number) => Some(Value::Real(number)),
        ValueRef::Text(text) => String::from_utf8(text.to_vec()).ok().map(Value::Text),
        ValueRef::Blob(bytes) => Some(Value::Blob(bytes.to_vec())),
    }
}

/// False if a walk came upon damage.
fn readable(walked: Result<(), EngineError>) -> Result<bool, EngineError> {
    match walked {
        Ok(()) => Ok(true),
        Err(why) if why.is_damage() => Ok(false),
        Err(why) => Err(why),
    }
}

/// A name for a table that is kept aside, or for an index beside one that is.
fn unused_name(connection: &Connection, prefix: &str) -> Result<String, EngineError> {
    let find = "SELECT 1 FROM sqlite_master WHERE name = $1";
    for n in 1_u32.. {
        let name = format!("{prefix}_{n}");
        if connection.query_row(find, [&name], |_| Ok(())).optional()?.is_none() {
            return Ok(name);
        }
    }
    unreachable!("a file has fewer tables")
}
