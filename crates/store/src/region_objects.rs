//! Objects and land of regions. Of a prim, the fields that change seldom are in one row, its *body*, and those that change often in another, its *state*.
//!
//! Values are bytes to this crate, which guarantees that they are read as they were written, or not at all. A save is one transaction with
//! everything that has changed up to a frame, so that the stored region is always the whole one of some frame. A damaged row is reported, and the
//! others are read without it. It stays until a save sets it aside: together with what became of the region without it.

use crate::engine::{EngineError, Session, Sql, Value, values};
use crate::held_items::ItemEffect;
use crate::held_objects::{self, HeldChange};
use crate::object_damage::{ObjectDamage, ObjectPart, RowAside, key_of, object_of, set_aside};
use crate::object_rows::ObjectRows;
use crate::region::{self, RegionRow};
use crate::region_documents::{self, DocumentChanges};
use crate::region_land::{LandChanges, LandKey, LandRows};
use crate::tables::first_half;
use crate::worn_objects::WornSave;
use crate::{RebuiltTable, Store, StoreError};
use ids::{LocalId, Ticket, WorldId};

/// The difference of a region to its last save.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionChanges {
    /// The region's row.
    pub row: RegionRow,
    /// New and changed bodies.
    pub bodies: ObjectRows,
    /// New and changed states.
    pub states: ObjectRows,
    /// Objects that are gone, in the order of their local ids, each once. An object that is not stored is left out.
    pub gone: Vec<LocalId>,
    /// New, changed and removed rows of the land.
    pub land: LandChanges,
    /// Documents of an archive that came into the region.
    pub documents: DocumentChanges,
    /// Transfers between the region and the held objects or inventories, in the order of their tickets, up to that of the row. Those up to the ticket that is
    /// stored have taken effect, and do so no more.
    pub held: Vec<(Ticket, HeldChange)>,
    /// Newer states of objects that avatars wear. One that is not newer than the row has no effect.
    pub worn: Vec<WornSave>,
    /// Rows to set aside, before new ones take their places. Of those that are no longer as they were read, nothing is done: the save may be repeated.
    pub aside: Vec<RowAside>,
}

/// A region as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredRegion {
    /// Its row; `None` before its first save, and where it is damaged.
    pub row: Option<RegionRow>,
    /// Bodies of its objects.
    pub bodies: ObjectRows,
    /// States of its objects. An object of which one row is damaged has the other one here.
    pub states: ObjectRows,
    /// Rows of its land.
    pub land: LandRows,
    /// Damaged rows, which are still stored.
    pub damages: Vec<ObjectDamage>,
    /// Tables that were built anew by this read, of which rows may be missing.
    pub rebuilt: Vec<RebuiltTable>,
    /// Without a row: the last ticket that its held objects have. It gives no earlier one again.
    pub last_held: Ticket,
}

macro_rules! save_rows {
    ($table:literal, $key:literal) => {
        Sql {
            sqlite: concat!(
                "INSERT INTO ",
                $table,
                " (",
                $key,
                ", value, checksum) VALUES ($1, $2, $3) ON CONFLICT (",
                $key,
                ") DO UPDATE SET value = excluded.value, checksum = excluded.checksum"
            ),
            postgres: concat!(
                "INSERT INTO ",
                $table,
                " (",
                $key,
                ", value, checksum) SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) ON CONFLICT (",
                $key,
                ") DO UPDATE SET value = excluded.value, checksum = excluded.checksum"
            ),
        }
    };
}

macro_rules! remove_rows {
    ($table:literal, $key:literal) => {
        Sql {
            sqlite: concat!("DELETE FROM ", $table, " WHERE ", $key, " = $1"),
            postgres: concat!("DELETE FROM ", $table, " WHERE ", $key, " = ANY ($1::bigint[])"),
        }
    };
}

const SAVE_BODIES: Sql = save_rows!("object_bodies", "object");
const SAVE_STATES: Sql = save_rows!("object_states", "object");
const SAVE_LAND: Sql = save_rows!("region_land", "land");
const REMOVE_BODIES: Sql = remove_rows!("object_bodies", "object");
const REMOVE_STATES: Sql = remove_rows!("object_states", "object");
const REMOVE_LAND: Sql = remove_rows!("region_land", "land");

const READ_BODIES: Sql = Sql::same(
    "SELECT object, value, checksum FROM object_bodies WHERE object > $1 AND object <= $2 ORDER BY object LIMIT $3",
);
const READ_STATES: Sql = Sql::same(
    "SELECT object, value, checksum FROM object_states WHERE object > $1 AND object <= $2 ORDER BY object LIMIT $3",
);
const READ_LAND: Sql = Sql::same(
    "SELECT land, value, checksum FROM region_land WHERE land > $1 AND land <= $2 ORDER BY land LIMIT $3",
);
const COUNT: Sql = Sql::same("SELECT count(*) FROM object_bodies WHERE object > $1 AND object <= $2");

impl Store {
    /// Saves the changes of a region in one transaction, which is on the disk when this returns. The effects of its transfers on inventories, in order.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed, unless the outcome is unknown. The same call may be made again.
    ///
    /// # Panics
    /// When the number of the region is that of an instance.
    pub fn save_region(
        &self,
        region: WorldId,
        changes: &RegionChanges,
    ) -> Result<Vec<ItemEffect>, StoreError> {
        let RegionChanges { row, bodies, states, gone, land, documents, held, worn, aside } = changes;
        let saved = self.write(|session| {
            if !aside.is_empty() {
                set_rows_aside(session, aside)?;
            }
            for sql in [REMOVE_BODIES, REMOVE_STATES] {
                let keys = gone.iter().map(|&object| [Value::Integer(key_of(region, object))]);
                session.execute_many(sql, keys)?;
            }
            for (sql, part, rows) in
                [(SAVE_BODIES, ObjectPart::Body, bodies), (SAVE_STATES, ObjectPart::State, states)]
            {
                session.execute_many(
                    sql,
                    rows.iter().map(|(object, value)| cells(part, region, object, value)),
                )?;
            }
            let keys = land.gone.iter().map(|key| [Value::Integer(key_of(region, key.place()))]);
            session.execute_many(REMOVE_LAND, keys)?;
            let rows = land.rows.iter();
            let rows = rows.map(|(key, value)| cells(ObjectPart::Land, region, key.place(), value));
            session.execute_many(SAVE_LAND, rows)?;
            region_documents::save(session, region, documents)?;
            let effects = if held.is_empty() && worn.is_empty() {
                Vec::new()
            } else {
                let stored = region::stored_ticket(session, region)?;
                held_objects::apply(session, region, stored, held, worn)?
            };
            region::save(session, region, row)?;
            Ok(effects)
        });
        saved.map_err(StoreError::query("saving the region", region.0))
    }

    /// Reads a region with all its objects and its land, and changes nothing. Damaged rows are reported and stay.
    ///
    /// # Errors
    /// [`StoreError::Query`], for a file with damaged pages as well.
    ///
    /// # Panics
    /// As [`Store::save_region`].
    pub fn read_region(&self, region: WorldId) -> Result<StoredRegion, StoreError> {
        let read = self.read_view(|session| read_region(session, region));
        read.map_err(StoreError::query("reading the region", region.0))
    }

    /// The same for a region that no keeper saves yet: if pages of an SQLite file are damaged, the tables of all regions are built anew from the rows that
    /// can be read ([`Store::with_rebuild`]).
    ///
    /// # Errors
    /// [`StoreError::Query`].
    ///
    /// # Panics
    /// As [`Store::save_region`].
    pub fn region_objects(&self, region: WorldId) -> Result<StoredRegion, StoreError> {
        let mut rebuilt = Vec::new();
        let stored = self.with_rebuild(|| self.read_region(region), |table| rebuilt.push(table))?;
        Ok(StoredRegion { rebuilt, ..stored })
    }

    /// Number of stored objects of a region.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    ///
    /// # Panics
    /// As [`Store::save_region`].
    pub fn count_region_objects(&self, region: WorldId) -> Result<u64, StoreError> {
        let (before, last) = keys_of(region);
        let n = self.read(|session| session.query_row(COUNT, values![before, last], |row| row.get::<i64>(0)));
        let n = n.map_err(StoreError::query("counting the objects of region", region.0))?;
        Ok(n.map_or(0, i64::cast_unsigned))
    }
}

/// Sets rows aside that are as they were read. One that was replaced since by a save with an unknown outcome is no longer.
fn set_rows_aside(session: &mut Session<'_>, rows: &[RowAside]) -> Result<(), EngineError> {
    let mut damages = Vec::new();
    for row in rows {
        if is_as_read(session, row)? {
            damages.push(row.damage.clone());
        }
    }
    set_aside(session, &damages)
}

fn is_as_read(session: &mut Session<'_>, row: &RowAside) -> Result<bool, EngineError> {
    let RowAside { damage: ObjectDamage { region, object, part, .. }, value } = row;
    match part {
        ObjectPart::Region => Ok(matches!(region::read(session, *region)?, Some(Err(_)))),
        ObjectPart::Body | ObjectPart::State | ObjectPart::Land => {
            let (key, mut is_as_read) = (key_of(*region, *object), false);
            read_rows(session, *part, [key - 1, key, 1], |_, found| {
                is_as_read = found.ok().is_none_or(|found| value.as_deref() == Some(found));
            })?;
            Ok(is_as_read)
        }
        // No save of a region replaces such a row.
        ObjectPart::HeldObject => Ok(true),
    }
}

/// The key before the first object of a region, which is that of the first row of its land, and the last possible one.
fn keys_of(region: WorldId) -> (i64, i64) {
    (key_of(region, LocalId(0)), key_of(region, LocalId(u32::MAX)))
}

/// Key, value and checksum.
fn cells(part: ObjectPart, region: WorldId, object: LocalId, value: &[u8]) -> [Value<'_>; 3] {
    let key = key_of(region, object);
    [Value::Integer(key), Value::Blob(value), Value::Integer(checksum(part, key, value))]
}

pub(crate) fn read_region(session: &mut Session<'_>, region: WorldId) -> Result<StoredRegion, EngineError> {
    let mut stored = StoredRegion::default();
    match region::read(session, region)? {
        Some(Ok(row)) => stored.row = Some(row),
        Some(Err(why)) => stored.damages.push(damage(ObjectPart::Region, key_of(region, LocalId(0)), why)),
        None => {}
    }
    if stored.row.is_none() {
        stored.last_held = held_objects::last_ticket(session, region)?;
    }
    let (before, last) = keys_of(region);
    for (part, rows) in [(ObjectPart::Body, &mut stored.bodies), (ObjectPart::State, &mut stored.states)] {
        read_rows(session, part, [before, last, i64::MAX], |key, value| match value {
            Ok(value) => rows.push(object_of(key).1, value),
            Err(why) => stored.damages.push(damage(part, key, why)),
        })?;
    }
    // The land of a region has number 0, which no object has.
    let mut unknown = None;
    read_rows(session, ObjectPart::Land, [before - 1, last, i64::MAX], |key, value| {
        match (LandKey::of_code(object_of(key).1.0), value) {
            (Some(land), Ok(value)) => stored.land.push(land, value),
            (None, Ok(_)) => unknown = Some(key),
            (_, Err(why)) => stored.damages.push(damage(ObjectPart::Land, key, why)),
        }
    })?;
    match unknown {
        Some(key) => Err(EngineError::unfit(format!("row {key} of region_land is of an unknown kind"))),
        None => Ok(stored),
    }
}

/// Hands out rows above a key and up to another one, by their keys and up to a limit: each with its value or how its damage was noticed. The
/// last key.
pub(crate) fn read_rows(
    session: &mut Session<'_>,
    part: ObjectPart,
    [before, last, limit]: [i64; 3],
    mut take: impl FnMut(i64, Result<&[u8], &'static str>),
) -> Result<Option<i64>, EngineError> {
    let sql = match part {
        ObjectPart::Body => READ_BODIES,
        ObjectPart::State => READ_STATES,
        ObjectPart::Land => READ_LAND,
        ObjectPart::Region | ObjectPart::HeldObject => unreachable!("it is no row of an object"),
    };
    let mut before_key = before;
    session.query(sql, values![before, last, limit], |row| {
        let key = row.get::<i64>(0)?;
        // Rows of a page that was overwritten by another one of the table.
        if key <= before_key || key > last {
            return Err(EngineError::disorder());
        }
        before_key = key;
        let value = match (row.value(1), row.value(2)) {
            (Ok(Value::Blob(value)), Ok(Value::Integer(sum))) if checksum(part, key, value) == sum => {
                Ok(value)
            }
            _ => Err("the checksum does not match"),
        };
        take(key, value);
        Ok(())
    })?;
    Ok((before_key > before).then_some(before_key))
}

pub(crate) fn damage(part: ObjectPart, key: i64, why: &str) -> ObjectDamage {
    let (region, object) = object_of(key);
    ObjectDamage { region, object, part, why: why.to_owned() }
}

fn checksum(part: ObjectPart, key: i64, value: &[u8]) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(part.as_str().as_bytes()).update(&key.to_le_bytes()).update(value);
    first_half(&hasher.finalize())
}

#[cfg(test)]
pub(crate) mod tests;
