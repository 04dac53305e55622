//! All tables as rows of cells, for commands that go through everything: copy and check.
//!
//! Rows are read in the order of their keys, a page at a time, and compared by a hash over their cells that is the same in both engines.

use crate::engine::{EngineError, Row, Session, Sql, Value};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::LazyLock;

/// A table and the statements for its rows. Parents stand before their children.
#[derive(Debug)]
pub(crate) struct StoreTable {
    pub(crate) name: &'static str,
    /// The key's columns, which are the first ones.
    n_keys: usize,
    n_columns: usize,
    /// Names of all columns.
    columns: Vec<&'static str>,
    /// Rows read at once; few where a row holds a whole state.
    page: usize,
    first: String,
    next: String,
    insert: String,
    remove: String,
    count: String,
}

const SMALL: usize = 500;
const LARGE: usize = 16;

/// Name, columns (those of the key before the semicolon), rows of a page.
const DESCRIPTIONS: &[(&str, &str, usize)] = &[
    (
        "accounts",
        "agent; first_name, last_name, password_hash, created_s, ban_reason, last_region, last_handle, last_x, last_y, \
         last_z, last_look_x, last_look_y, last_look_z, home_region, home_handle, home_x, home_y, home_z, home_look_x, \
         home_look_y, home_look_z, checksum, last_checksum, home_checksum",
        SMALL,
    ),
    ("inventory_folders", "owner, folder; parent, name, type_default, version, checksum", SMALL),
    (
        "inventory_items",
        "owner, item; folder, asset, asset_type, inventory_type, name, description, flags, created_s, creator, \
         last_owner, group_id, group_owned, base_mask, owner_mask, group_mask, everyone_mask, next_owner_mask, \
         sale_type, sale_price, checksum",
        SMALL,
    ),
    ("worn_objects", "owner, item; point, revision, is_ahead, value, checksum", LARGE),
    ("avatar_appearances", "agent; height_m, texture_entry, visual_params, checksum", SMALL),
    ("appearance_bakes", "agent, face; cache_id, asset, checksum", SMALL),
    ("avatar_wearables", "agent; worn, checksum", SMALL),
    (
        "inventory_offers",
        "receiver, offer; giver, transaction_id, kind, made_s, state, checksum, state_checksum",
        SMALL,
    ),
    (
        "instances",
        "instance; template, name, owner, created_s, checksum, trouble, born, trouble_checksum",
        SMALL,
    ),
    ("portal_instances", "instance; visited_s, checksum", SMALL),
    ("instance_images", "instance; sequence, state, checksum", LARGE),
    ("instance_journal", "instance; sequence, state, checksum", LARGE),
    ("instances_set_aside", "number; instance, part, why, content, checksum", LARGE),
    ("api_tokens", "name; hash, scopes, created_s, expires_s, worlds_max, checksum", SMALL),
    ("api_worlds", "instance; token, checksum", SMALL),
    ("counters", "name; value, checksum", SMALL),
    ("regions", "region; epoch, sequence, cache_id, state, checksum, name, ticket", LARGE),
    ("object_bodies", "object; value, checksum", SMALL),
    ("object_states", "object; value, checksum", SMALL),
    ("region_land", "land; value, checksum", SMALL),
    ("held_objects", "held; owner, kind, author, held_s, value, checksum, taken_by, taken_checksum", LARGE),
    ("objects_set_aside", "number; object, part, why, content, checksum", SMALL),
    ("region_materials", "region, material; value, checksum", SMALL),
    ("region_documents", "region, document; value, checksum", LARGE),
    ("asset_contents", "hash; length, damage, checksum, damage_checksum", SMALL),
    ("assets", "asset; hash, kind, creator, created_s, origin, used_s, checksum, used_checksum", SMALL),
    (
        "jobs",
        "job; kind, subject, author, state, created_s, started_s, ended_s, outcome, result, checksum",
        LARGE,
    ),
    ("item_marks", "held; owner, item, taken_by, checksum", SMALL),
    ("database_identity", "number; id, checksum", SMALL),
];

/// All tables with rows of their own.
pub(crate) static TABLES: LazyLock<Vec<StoreTable>> = LazyLock::new(|| {
    DESCRIPTIONS.iter().map(|&(name, columns, page)| StoreTable::new(name, columns, page)).collect()
});

impl StoreTable {
    fn new(name: &'static str, description: &'static str, page: usize) -> Self {
        let (key, others) = description.split_once(';').expect("a key and other columns");
        let n_keys = key.split(',').count();
        let columns = format!("{key},{others}");
        let n_columns = columns.split(',').count();
        let numbered = |n: usize| (1..=n).map(|n| format!("${n}")).collect::<Vec<_>>().join(", ");
        let is_key: Vec<String> =
            (1..).zip(key.split(',')).map(|(n, column)| format!("{} = ${n}", column.trim())).collect();
        Self {
            name,
            n_keys,
            n_columns,
            columns: description.split([';', ',']).map(str::trim).collect(),
            page,
            first: format!("SELECT {columns} FROM {name} ORDER BY {key} LIMIT {page}"),
            next: format!(
                "SELECT {columns} FROM {name} WHERE ({key}) > ({}) ORDER BY {key} LIMIT {page}",
                numbered(n_keys)
            ),
            insert: format!("INSERT INTO {name} ({columns}) VALUES ({})", numbered(n_columns)),
            remove: format!("DELETE FROM {name} WHERE {}", is_key.join(" AND ")),
            count: format!("SELECT count(*) FROM {name}"),
        }
    }

    /// Name, columns, and columns of the key.
    #[cfg(test)]
    pub(crate) fn shape(&self) -> (String, u32, u32) {
        (self.name.to_owned(), self.n_columns as u32, self.n_keys as u32)
    }

    /// Changes that are made in one transaction.
    pub(crate) const fn page(&self) -> usize {
        self.page
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// Names of the columns, those of the key first.
    pub(crate) fn columns(&self) -> &[&'static str] {
        &self.columns
    }

    pub(crate) const fn n_keys(&self) -> usize {
        self.n_keys
    }

    pub(crate) fn insert(
        &'static self,
        session: &mut Session<'_>,
        row: &TableRow,
    ) -> Result<(), EngineError> {
        let cells: Vec<Value<'_>> = row.cells.iter().map(TableCell::value).collect();
        session.execute(Sql::same(&self.insert), &cells).map(drop)
    }

    pub(crate) fn remove(
        &'static self,
        session: &mut Session<'_>,
        row: &TableRow,
    ) -> Result<(), EngineError> {
        let key: Vec<Value<'_>> = row.key().iter().map(TableCell::value).collect();
        session.execute(Sql::same(&self.remove), &key).map(drop)
    }

    pub(crate) fn count(&'static self, session: &mut Session<'_>) -> Result<u64, EngineError> {
        let n = session.query_row(Sql::same(&self.count), &[], |row| row.get::<i64>(0))?;
        Ok(n.map_or(0, i64::cast_unsigned))
    }

    fn read_page(
        &'static self,
        session: &mut Session<'_>,
        after: Option<&TableRow>,
    ) -> Result<Vec<TableRow>, EngineError> {
        let read = |row: Row<'_>| {
            let cells = (0..self.n_columns).map(|at| Ok(TableCell::from(row.value(at)?)));
            Ok(TableRow { cells: cells.collect::<Result<_, EngineError>>()?, n_keys: self.n_keys })
        };
        self.query_page(session, after.map(TableRow::key), read)
    }

    /// A page of rows behind a key, as `read` makes them.
    pub(crate) fn query_page<T>(
        &'static self,
        session: &mut Session<'_>,
        after: Option<&[TableCell]>,
        read: impl FnMut(Row<'_>) -> Result<T, EngineError>,
    ) -> Result<Vec<T>, EngineError> {
        match after {
            None => session.query(Sql::same(&self.first), &[], read),
            Some(key) => {
                let key: Vec<Value<'_>> = key.iter().map(TableCell::value).collect();
                session.query(Sql::same(&self.next), &key, read)
            }
        }
    }
}

/// The rows of a table in the order of their keys. Rows before the current one may be changed meanwhile.
#[derive(Debug)]
pub(crate) struct Cursor {
    table: &'static StoreTable,
    rows: VecDeque<TableRow>,
    last: Option<TableRow>,
    is_at_end: bool,
}

impl Cursor {
    pub(crate) const fn new(table: &'static StoreTable) -> Self {
        Self { table, rows: VecDeque::new(), last: None, is_at_end: false }
    }

    /// The next row, which stays.
    pub(crate) fn peek(
        &mut self,
        read: impl FnOnce(&mut ReadPage<'_>) -> Result<Vec<TableRow>, EngineError>,
    ) -> Result<Option<&TableRow>, EngineError> {
        if self.rows.is_empty() && !self.is_at_end {
            let page = read(&mut |session| self.table.read_page(session, self.last.as_ref()))?;
            self.is_at_end = page.len() < self.table.page;
            self.last = page.last().cloned();
            self.rows = page.into();
        }
        Ok(self.rows.front())
    }

    /// Takes the row that was seen.
    pub(crate) fn advance(&mut self) -> Option<TableRow> {
        self.rows.pop_front()
    }
}

/// Reads a page on whichever connection it is given.
pub(crate) type ReadPage<'a> = dyn FnMut(&mut Session<'_>) -> Result<Vec<TableRow>, EngineError> + 'a;

/// A row with all its cells, key first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableRow {
    cells: Vec<TableCell>,
    n_keys: usize,
}

/// A cell of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TableCell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl TableCell {
    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(n) => Value::Integer(*n),
            Self::Real(n) => Value::Real(*n),
            Self::Text(text) => Value::Text(text),
            Self::Blob(bytes) => Value::Blob(bytes),
        }
    }

    pub(crate) fn n_bytes(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Integer(_) | Self::Real(_) => 8,
            Self::Text(text) => text.len(),
            Self::Blob(bytes) => bytes.len(),
        }
    }
}

impl From<Value<'_>> for TableCell {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(n) => Self::Integer(n),
            Value::Real(n) => Self::Real(n),
            Value::Text(text) => Self::Text(text.to_owned()),
            Value::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

impl TableRow {
    fn key(&self) -> &[TableCell] {
        &self.cells[..self.n_keys]
    }

    /// The order in which both engines give rows: numbers by value, text and blobs by bytes.
    pub(crate) fn compare_keys(&self, other: &Self) -> Ordering {
        let cells = self.key().iter().zip(other.key());
        let orders = cells.map(|cells| match cells {
            (TableCell::Integer(a), TableCell::Integer(b)) => a.cmp(b),
            (TableCell::Text(a), TableCell::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (TableCell::Blob(a), TableCell::Blob(b)) => a.cmp(b),
            cells => unreachable!("keys of one table are of one kind, and never NULL: {cells:?}"),
        });
        orders.fold(Ordering::Equal, Ordering::then)
    }

    /// Bytes of its cells.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.cells.iter().map(TableCell::n_bytes).sum::<usize>() as u64
    }

    /// Its key, for messages.
    pub(crate) fn describe_key(&self) -> String {
        let cells = self.key().iter().map(|cell| match cell {
            TableCell::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            TableCell::Text(text) => text.clone(),
            TableCell::Integer(n) => n.to_string(),
            other => format!("{other:?}"),
        });
        cells.collect::<Vec<String>>().join(" ")
    }

    /// Over all cells with their kinds and lengths.
    pub(crate) fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        self.cells.iter().for_each(|cell| hash_cell(&mut hasher, cell.value()));
        hasher.finalize()
    }
}

/// As much of a hash as an integer holds: it guards against accidents, not against an attacker with write access to the file.
pub(crate) fn first_half(hash: &blake3::Hash) -> i64 {
    let first = hash.as_bytes().first_chunk().expect("a hash has 32 bytes");
    i64::from_le_bytes(*first)
}

/// Adds a cell with its kind and length to a hash.
pub(crate) fn hash_cell(hasher: &mut blake3::Hasher, cell: Value<'_>) {
    let number;
    let (kind, bytes): (u8, &[u8]) = match cell {
        Value::Null => (b'n', &[][..]),
        Value::Integer(n) => {
            number = n.to_le_bytes();
            (b'i', &number[..])
        }
        Value::Real(n) => {
            // SQLite does not keep the sign of zero.
            number = (n + 0.0).to_le_bytes();
            (b'r', &number[..])
        }
        Value::Text(text) => (b't', text.as_bytes()),
        Value::Blob(bytes) => (b'b', bytes),
    };
    hasher.update(&[kind]).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
}

/// Digest of a table: number of rows, and a hash over the rows' hashes in key order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDigest {
    /// Name of the table.
    pub table: &'static str,
    /// Its rows.
    pub rows: u64,
    /// Hexadecimal digits; the same for the same rows in both engines.
    pub hash: String,
}

/// Sums rows up.
#[derive(Debug, Default)]
pub(crate) struct Digester {
    rows: u64,
    hasher: blake3::Hasher,
}

impl Digester {
    pub(crate) fn add(&mut self, row: &TableRow) {
        self.rows += 1;
        self.hasher.update(row.hash().as_bytes());
    }

    pub(crate) fn finish(&self, table: &'static StoreTable) -> TableDigest {
        TableDigest { table: table.name, rows: self.rows, hash: self.hasher.finalize().to_hex().to_string() }
    }
}

/// All rows of all tables in sum.
pub(crate) fn digest(session: &mut Session<'_>) -> Result<Vec<TableDigest>, EngineError> {
    let mut digests = Vec::new();
    for table in TABLES.iter() {
        let (mut cursor, mut digester) = (Cursor::new(table), Digester::default());
        while let Some(row) = cursor.peek(|read| read(session))? {
            digester.add(row);
            cursor.advance();
        }
        digests.push(digester.finish(table));
    }
    Ok(digests)
}
