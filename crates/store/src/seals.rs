//! Checksums of rows that have no other one: those of accounts and inventories, of assets, and of the operator's tokens and jobs.
//!
//! A seal is a column with 64 bits of BLAKE3 over other columns of its row, its key among them. The code that writes a row computes it from the very values that it
//! writes, so that both engines have the same, and no statement reads a row to seal it. Columns that are written together, and without the others, have a seal
//! of their own: the last place of an avatar is written without a look at its account.
//!
//! The table of each seal has one function for its writers and its readers, beside its statements. Here all seals are known at once, for [the look](crate::seal_check)
//! at all rows and for the step of the schema that seals the rows of earlier versions.

use crate::engine::{EngineError, Row, Session, Sql, Value};
use crate::tables::first_half;
use crate::tables::{TableCell, hash_cell};
use std::sync::LazyLock;

/// A checksum in a row.
#[derive(Debug)]
pub(crate) struct Seal {
    pub(crate) table: &'static str,
    /// Its column.
    pub(crate) column: &'static str,
    /// The covered columns, in the order in which they are hashed.
    covers: &'static str,
    /// Columns of the table's key, with their types in PostgreSQL.
    key: &'static [(&'static str, &'static str)],
}

const BLOB: &str = "bytea";
const INTEGER: &str = "bigint";
const TEXT: &str = "text";

macro_rules! seals {
    ($($(#[$doc:meta])* $name:ident: $table:literal [$(($key:literal, $kind:ident)),+] $column:literal over $covers:literal;)+) => {
        $($(#[$doc])*
        pub(crate) static $name: Seal =
            Seal { table: $table, column: $column, covers: $covers, key: &[$(($key, $kind)),+] };)+

        /// All of them.
        pub(crate) static SEALS: &[&Seal] = &[$(&$name),+];
    };
}

seals! {
    /// An account without its places.
    ACCOUNT: "accounts" [("agent", BLOB)] "checksum"
        over "agent, first_name, last_name, password_hash, created_s, ban_reason";
    LAST_PLACE: "accounts" [("agent", BLOB)] "last_checksum"
        over "agent, last_region, last_handle, last_x, last_y, last_z, last_look_x, last_look_y, last_look_z";
    HOME: "accounts" [("agent", BLOB)] "home_checksum"
        over "agent, home_region, home_handle, home_x, home_y, home_z, home_look_x, home_look_y, home_look_z";
    FOLDER: "inventory_folders" [("owner", BLOB), ("folder", BLOB)] "checksum"
        over "owner, folder, parent, name, type_default, version";
    ITEM: "inventory_items" [("owner", BLOB), ("item", BLOB)] "checksum"
        over "owner, item, folder, asset, asset_type, inventory_type, name, description, flags, created_s, creator, \
              last_owner, group_id, group_owned, base_mask, owner_mask, group_mask, everyone_mask, next_owner_mask, \
              sale_type, sale_price";
    BAKE: "appearance_bakes" [("agent", BLOB), ("face", INTEGER)] "checksum"
        over "agent, face, cache_id, asset";
    WEARABLES: "avatar_wearables" [("agent", BLOB)] "checksum"
        over "agent, worn";
    /// An offer without its state.
    OFFER: "inventory_offers" [("receiver", BLOB), ("offer", BLOB)] "checksum"
        over "receiver, offer, giver, transaction_id, kind, made_s";
    OFFER_STATE: "inventory_offers" [("receiver", BLOB), ("offer", BLOB)] "state_checksum"
        over "receiver, offer, state";
    /// Beside the checksum that an instance has of its other columns.
    TROUBLE: "instances" [("instance", BLOB)] "trouble_checksum"
        over "instance, trouble";
    /// The number is left out: the database chooses it.
    INSTANCE_ASIDE: "instances_set_aside" [("number", INTEGER)] "checksum"
        over "instance, part, why, content";
    TOKEN: "api_tokens" [("name", TEXT)] "checksum"
        over "name, hash, scopes, created_s, expires_s, worlds_max";
    TOKEN_WORLD: "api_worlds" [("instance", BLOB)] "checksum"
        over "instance, token";
    COUNTER: "counters" [("name", TEXT)] "checksum"
        over "name, value";
    /// Beside the checksum that a held object has of its other columns.
    TAKEN: "held_objects" [("held", INTEGER)] "taken_checksum"
        over "held, taken_by";
    /// The number is left out: the database chooses it.
    OBJECT_ASIDE: "objects_set_aside" [("number", INTEGER)] "checksum"
        over "object, part, why, content";
    MATERIAL: "region_materials" [("region", INTEGER), ("material", BLOB)] "checksum"
        over "region, material, value";
    DOCUMENT: "region_documents" [("region", INTEGER), ("document", BLOB)] "checksum"
        over "region, document, value";
    CONTENT: "asset_contents" [("hash", BLOB)] "checksum"
        over "hash, length";
    QUARANTINE: "asset_contents" [("hash", BLOB)] "damage_checksum"
        over "hash, damage";
    /// An asset without its last use.
    ASSET: "assets" [("asset", BLOB)] "checksum"
        over "asset, hash, kind, creator, created_s, origin";
    ASSET_USE: "assets" [("asset", BLOB)] "used_checksum"
        over "asset, used_s";
    JOB: "jobs" [("job", INTEGER)] "checksum"
        over "job, kind, subject, author, state, created_s, started_s, ended_s, outcome, result";
    MARK: "item_marks" [("held", INTEGER)] "checksum"
        over "held, owner, item, taken_by";
    IDENTITY: "database_identity" [("number", INTEGER)] "checksum"
        over "number, id";
}

impl Seal {
    /// The covered columns.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.covers.split(", ")
    }

    /// The checksum of a row with these values in the covered columns.
    pub(crate) fn of(&self, cells: &[Value<'_>]) -> i64 {
        debug_assert_eq!(cells.len(), self.columns().count(), "{} of {}", self.column, self.table);
        let mut hasher = blake3::Hasher::new();
        hash_cell(&mut hasher, Value::Text(self.table));
        hash_cell(&mut hasher, Value::Text(self.column));
        cells.iter().for_each(|cell| hash_cell(&mut hasher, *cell));
        first_half(&hasher.finalize())
    }
}

/// Rows that are sealed at once.
const ROWS_AT_ONCE: usize = 500;

/// Statements that seal the rows of a table as they are.
#[derive(Debug)]
struct SealStatements {
    seal: &'static Seal,
    /// The key's columns, then the covered ones, of the first rows and of those behind a key.
    first: String,
    next: String,
    /// The row of a key.
    one: String,
    /// Sets the seals of rows, by their keys.
    set_sqlite: String,
    set_postgres: String,
}

static STATEMENTS: LazyLock<Vec<SealStatements>> =
    LazyLock::new(|| SEALS.iter().map(|seal| SealStatements::new(seal)).collect());

impl SealStatements {
    fn new(seal: &'static Seal) -> Self {
        let &Seal { table, column, covers, key } = seal;
        let names: Vec<&str> = key.iter().map(|(name, _)| *name).collect();
        let keys = names.join(", ");
        let numbers = (1..=key.len()).map(|n| format!("${n}")).collect::<Vec<_>>().join(", ");
        let select = format!("SELECT {keys}, {covers} FROM {table}");
        let order = format!("ORDER BY {keys} LIMIT {ROWS_AT_ONCE}");
        let is_key = |prefix: &str, value: &dyn Fn(usize, &str) -> String| {
            let equal = names.iter().zip(2..).map(|(name, n)| format!("{prefix}{name} = {}", value(n, name)));
            equal.collect::<Vec<_>>().join(" AND ")
        };
        let arrays: Vec<String> =
            key.iter().zip(2..).map(|((_, kind), n)| format!("${n}::{kind}[]")).collect();
        Self {
            seal,
            first: format!("{select} {order}"),
            next: format!("{select} WHERE ({keys}) > ({numbers}) {order}"),
            one: format!("{select} WHERE ({keys}) = ({numbers})"),
            set_sqlite: format!(
                "UPDATE {table} SET {column} = $1 WHERE {}",
                is_key("", &|n, _| format!("${n}"))
            ),
            set_postgres: format!(
                "UPDATE {table} AS t SET {column} = u.seal FROM unnest($1::bigint[], {}) AS u (seal, {keys}) WHERE {}",
                arrays.join(", "),
                is_key("t.", &|_, name| format!("u.{name}"))
            ),
        }
    }

    fn n_keys(&self) -> usize {
        self.seal.key.len()
    }

    /// Key and seal of a row as it is; none with a cell that cannot be read.
    fn read(&self, row: &Row<'_>) -> Option<SealedKey> {
        let n_columns = self.n_keys() + self.seal.columns().count();
        let cells: Vec<Value<'_>> =
            (0..n_columns).map(|at| row.value(at)).collect::<Result<_, EngineError>>().ok()?;
        let (key, covered) = cells.split_at(self.n_keys());
        Some(SealedKey {
            key: key.iter().map(|cell| TableCell::from(*cell)).collect(),
            sum: self.seal.of(covered),
        })
    }

    fn set(&'static self, session: &mut Session<'_>, rows: &[SealedKey]) -> Result<(), EngineError> {
        let sql = Sql { sqlite: &self.set_sqlite, postgres: &self.set_postgres };
        match self.n_keys() {
            1 => session
                .execute_many(sql, rows.iter().map(|row| [Value::Integer(row.sum), row.key[0].value()])),
            2 => session.execute_many(
                sql,
                rows.iter().map(|row| [Value::Integer(row.sum), row.key[0].value(), row.key[1].value()]),
            ),
            n => unreachable!("a key has one column or two: {n}"),
        }
    }

    /// Seals all rows.
    fn set_all(&'static self, session: &mut Session<'_>) -> Result<(), EngineError> {
        let mut last: Option<Vec<TableCell>> = None;
        loop {
            let read = |row: Row<'_>| Ok(self.read(&row));
            let rows = match &last {
                None => session.query(Sql::same(&self.first), &[], read)?,
                Some(key) => {
                    let key: Vec<Value<'_>> = key.iter().map(TableCell::value).collect();
                    session.query(Sql::same(&self.next), &key, read)?
                }
            };
            let is_end = rows.len() < ROWS_AT_ONCE;
            // A row that cannot be read stays without a seal, and is damaged from then on.
            let rows: Vec<SealedKey> = rows.into_iter().flatten().collect();
            self.set(session, &rows)?;
            match rows.into_iter().next_back() {
                Some(row) if !is_end => last = Some(row.key),
                _ => return Ok(()),
            }
        }
    }
}

/// Key of a row, and the seal that it should have.
struct SealedKey {
    key: Vec<TableCell>,
    sum: i64,
}

/// Seals all rows of all tables as they are, whatever seals they have.
pub(crate) fn seal_all_rows(session: &mut Session<'_>) -> Result<(), EngineError> {
    STATEMENTS.iter().try_for_each(|statements| statements.set_all(session))
}

/// Seals rows as they are that were just written by a statement that selects, by their numbers.
pub(crate) fn seal_numbered(
    session: &mut Session<'_>,
    seal: &'static Seal,
    numbers: &[i64],
) -> Result<(), EngineError> {
    let statements = STATEMENTS.iter().find(|statements| std::ptr::eq(statements.seal, seal));
    let statements = statements.expect("each seal has its statements");
    for number in numbers {
        let key = [Value::Integer(*number)];
        let row = session.query_row(Sql::same(&statements.one), &key, |row| Ok(statements.read(&row)))?;
        statements.set(session, &row.flatten().into_iter().collect::<Vec<_>>())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
