//! Rows of objects that avatars wear.

use crate::engine::{ColumnValue, EngineError, Row, Session, Sql, values};
use crate::object_damage::OBJECTS_SET_ASIDE_MAX;
use crate::seals::{self, seal_numbered};
use crate::tables::first_half;
use ids::AgentId;
use std::sync::Arc;
use uuid::Uuid;

/// Name of these rows among those that were set aside.
const PART: &str = "worn";

/// A worn object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WornRow {
    /// The user.
    pub owner: AgentId,
    /// The item as which it is worn.
    pub item: Uuid,
    /// Number of the attachment point.
    pub point: u8,
    /// Rises with each change: microseconds since 1970, or the one before and 1.
    pub revision: i64,
    /// True if the asset of the item has an earlier state.
    pub is_ahead: bool,
    /// The object, as a record.
    pub value: Arc<[u8]>,
}

const INSERT: Sql = Sql::same(
    "INSERT INTO worn_objects (owner, item, point, revision, is_ahead, value, checksum) \
     VALUES ($1, $2, $3, $4, $5, $6, $7)",
);
const UPDATE: Sql = Sql::same(
    "UPDATE worn_objects SET point = $1, revision = $2, is_ahead = $3, value = $4, checksum = $5 \
     WHERE owner = $6 AND item = $7 AND revision < $8",
);
const REMOVE: Sql = Sql::same("DELETE FROM worn_objects WHERE owner = $1 AND item = $2 AND revision <= $3");
const OF_OWNER: Sql = Sql::same(
    "SELECT owner, item, point, revision, is_ahead, value, checksum FROM worn_objects WHERE owner = $1 ORDER BY item",
);
const PAGE: Sql = Sql::same(
    "SELECT owner, item, point, revision, is_ahead, value, checksum FROM worn_objects \
     WHERE (owner, item) > ($1, $2) ORDER BY owner, item LIMIT $3",
);
const ITEMS_OF_OWNER: Sql = Sql::same("SELECT item FROM worn_objects WHERE owner = $1 ORDER BY item");
const POINTS_OF_OWNER: Sql = Sql::same("SELECT item, point FROM worn_objects WHERE owner = $1 ORDER BY item");
const POINT: Sql = Sql::same("SELECT point FROM worn_objects WHERE owner = $1 AND item = $2");
// Damage may have changed the type of a cell, and SQLite's tables are strict.
const SET_ASIDE: Sql = Sql {
    sqlite: "INSERT INTO objects_set_aside (object, part, why, content) \
             SELECT 0, $1, $2, coalesce(CAST(value AS BLOB), X'') FROM worn_objects WHERE owner = $3 AND item = $4 RETURNING number",
    postgres: "INSERT INTO objects_set_aside (object, part, why, content) \
               SELECT 0, $1, $2, value FROM worn_objects WHERE owner = $3 AND item = $4 RETURNING number",
};
const REMOVE_DAMAGED: Sql = Sql::same("DELETE FROM worn_objects WHERE owner = $1 AND item = $2");
const FORGET_OLDEST: Sql = Sql::same(
    "DELETE FROM objects_set_aside WHERE number <= (SELECT max(number) FROM objects_set_aside) - $1",
);

/// A damaged row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("worn object of {}, item {item}: the checksum does not match", .owner.0)]
pub struct WornDamage {
    /// Its owner.
    pub owner: AgentId,
    /// The item.
    pub item: Uuid,
}

/// The rows of a user, and damaged ones.
pub(crate) fn of_owner(
    session: &mut Session<'_>,
    owner: AgentId,
) -> Result<Vec<Result<WornRow, WornDamage>>, EngineError> {
    session.query(OF_OWNER, values![owner.0], |row| read_row(&row))
}

/// The items that a user wears.
pub(crate) fn items_of(session: &mut Session<'_>, owner: AgentId) -> Result<Vec<Uuid>, EngineError> {
    session.query(ITEMS_OF_OWNER, values![owner.0], |row| row.get(0))
}

/// The items that a user wears, with their attachment points.
pub(crate) fn points_of(session: &mut Session<'_>, owner: AgentId) -> Result<Vec<(Uuid, u8)>, EngineError> {
    session.query(POINTS_OF_OWNER, values![owner.0], |row| {
        // A damaged row counts, and is at no point.
        Ok((row.get(0)?, cell(&row, 1).unwrap_or_default()))
    })
}

/// True for an item that is worn.
pub(crate) fn is_worn(session: &mut Session<'_>, owner: AgentId, item: Uuid) -> Result<bool, EngineError> {
    let point = session.query_row(POINT, values![owner.0, item], |row| row.get::<i64>(0))?;
    Ok(point.is_some())
}

/// Adds the row of an item that is not worn.
pub(crate) fn insert(session: &mut Session<'_>, row: &WornRow) -> Result<(), EngineError> {
    let WornRow { owner, item, point, revision, is_ahead, value } = row;
    let value = &**value;
    session
        .execute(INSERT, values![owner.0, item, *point, *revision, *is_ahead, value, checksum(row)])
        .map(drop)
}

/// Gives a row a newer state; false without a row that is older.
pub(crate) fn update(session: &mut Session<'_>, row: &WornRow) -> Result<bool, EngineError> {
    let WornRow { owner, item, point, revision, is_ahead, value } = row;
    let sum = checksum(row);
    let value = &**value;
    let cells = values![*point, *revision, *is_ahead, value, sum, owner.0, item, *revision];
    session.execute(UPDATE, cells).map(|n| n > 0)
}

/// Removes a row; false without one that is not newer.
pub(crate) fn remove(session: &mut Session<'_>, row: &WornRow) -> Result<bool, EngineError> {
    session.execute(REMOVE, values![row.owner.0, row.item, row.revision]).map(|n| n > 0)
}

/// Damaged rows behind one of an owner, of a number of rows. The last one.
pub(crate) fn damaged(
    session: &mut Session<'_>,
    before: (AgentId, Uuid),
    limit: u32,
    report: impl FnMut(WornDamage),
) -> Result<Option<(AgentId, Uuid)>, EngineError> {
    let rows = after(session, before, limit)?;
    let last = rows.last().map(|row| match row {
        Ok(WornRow { owner, item, .. }) | Err(WornDamage { owner, item }) => (*owner, *item),
    });
    rows.into_iter().filter_map(Result::err).for_each(report);
    Ok(last)
}

/// Rows behind one of an owner, damaged ones included.
pub(crate) fn after(
    session: &mut Session<'_>,
    (owner, item): (AgentId, Uuid),
    limit: u32,
) -> Result<Vec<Result<WornRow, WornDamage>>, EngineError> {
    session.query(PAGE, values![owner.0, item, limit], |row| read_row(&row))
}

/// Sets a row aside: its object is worn no more.
pub(crate) fn set_aside(session: &mut Session<'_>, damage: &WornDamage) -> Result<(), EngineError> {
    let WornDamage { owner, item } = damage;
    let why = damage.to_string();
    let numbers: Vec<i64> = session.query(SET_ASIDE, values![PART, why, owner.0, item], |row| row.get(0))?;
    seal_numbered(session, &seals::OBJECT_ASIDE, &numbers)?;
    session.execute(REMOVE_DAMAGED, values![owner.0, item])?;
    session.execute(FORGET_OLDEST, values![OBJECTS_SET_ASIDE_MAX]).map(drop)
}

/// A row, or its owner and item if it is damaged.
fn read_row(row: &Row<'_>) -> Result<Result<WornRow, WornDamage>, EngineError> {
    let (owner, item) = (AgentId(row.get(0)?), row.get(1)?);
    let cells = || {
        let row = WornRow {
            owner,
            item,
            point: cell(row, 2)?,
            revision: cell(row, 3)?,
            is_ahead: cell(row, 4)?,
            value: cell::<Vec<u8>>(row, 5)?.into(),
        };
        Some(row)
    };
    let sum = cell::<i64>(row, 6);
    Ok(cells().filter(|row| sum == Some(checksum(row))).ok_or(WornDamage { owner, item }))
}

/// A cell, if it holds a value of this type.
fn cell<T: ColumnValue>(row: &Row<'_>, at: usize) -> Option<T> {
    row.value(at).ok().and_then(T::from_value)
}

fn checksum(row: &WornRow) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(PART.as_bytes())
        .update(row.owner.0.as_bytes())
        .update(row.item.as_bytes())
        .update(&[row.point, u8::from(row.is_ahead)])
        .update(&row.revision.to_le_bytes())
        .update(&row.value);
    first_half(&hasher.finalize())
}
