//! The row of a region: the frame after which its objects were saved, and what the world needs beside them.

use crate::engine::{ColumnValue, EngineError, Row, Session, Sql, values};
use crate::tables::first_half;
use crate::{Store, StoreError};
use ids::{Epoch, Ticket, Uuid, WorldId};

/// Facts about a region that every save brings up to date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionRow {
    /// Epoch of the frame after which the objects were as they are stored.
    pub epoch: Epoch,
    /// Number of that frame in its epoch.
    pub sequence: u64,
    /// Id of the clients' caches of the region: another one voids them.
    pub cache_id: Uuid,
    /// State of the region beside its objects, as a record.
    pub state: Vec<u8>,
    /// Name of the region: its number may follow from its place in a configuration, and come to stand for another one. Empty in rows from before
    /// there was a name.
    pub name: String,
    /// The last transfer between the region and the held objects whose effects are stored.
    pub ticket: Ticket,
}

const SAVE: Sql = Sql::same(
    "INSERT INTO regions (region, epoch, sequence, cache_id, state, checksum, name, ticket) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
     ON CONFLICT (region) DO UPDATE SET epoch = excluded.epoch, sequence = excluded.sequence, \
     cache_id = excluded.cache_id, state = excluded.state, checksum = excluded.checksum, name = excluded.name, \
     ticket = excluded.ticket",
);
const READ: Sql = Sql::same(
    "SELECT region, epoch, sequence, cache_id, state, checksum, name, ticket FROM regions WHERE region = $1",
);
const READ_TICKET: Sql = Sql::same("SELECT ticket FROM regions WHERE region = $1");
const READ_ALL: Sql = Sql::same(
    "SELECT region, epoch, sequence, cache_id, state, checksum, name, ticket FROM regions ORDER BY region",
);

impl Store {
    /// The row of a region as of its last save; `None` before the first one, and where it is damaged.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn region_row(&self, region: WorldId) -> Result<Option<RegionRow>, StoreError> {
        let row = self.read(|session| read(session, region));
        let row = row.map_err(StoreError::query("reading the row of region", region.0))?;
        Ok(row.and_then(Result::ok))
    }
}

/// A row as it was written, or how its damage was noticed.
pub(crate) type ReadRegion = Result<RegionRow, &'static str>;

pub(crate) fn save(session: &mut Session<'_>, region: WorldId, row: &RegionRow) -> Result<(), EngineError> {
    let RegionRow { epoch, sequence, cache_id, state, name, ticket } = row;
    let sum = checksum(region, row);
    let sequence = sequence.cast_signed();
    session
        .execute(SAVE, values![region.0, epoch.0, sequence, cache_id, state, sum, name, ticket.0])
        .map(drop)
}

pub(crate) fn read(session: &mut Session<'_>, region: WorldId) -> Result<Option<ReadRegion>, EngineError> {
    Ok(session.query_row(READ, values![region.0], read_row)?.map(|(_, row)| row))
}

/// The last transfer whose effects are stored; 0 for a region without a row.
pub(crate) fn stored_ticket(session: &mut Session<'_>, region: WorldId) -> Result<Ticket, EngineError> {
    let found = session.query_row(READ_TICKET, values![region.0], |row| row.get::<u32>(0))?;
    Ok(Ticket(found.unwrap_or(0)))
}

/// All of them, by their numbers.
pub(crate) fn read_all(session: &mut Session<'_>) -> Result<Vec<(WorldId, ReadRegion)>, EngineError> {
    session.query(READ_ALL, &[], read_row)
}

fn read_row(row: Row<'_>) -> Result<(WorldId, ReadRegion), EngineError> {
    let region = WorldId(row.get(0)?);
    let cells = || {
        let (epoch, sequence) = (cell::<u32>(&row, 1)?, cell::<i64>(&row, 2)?);
        let (cache_id, state, name) = (cell(&row, 3)?, cell(&row, 4)?, cell(&row, 6)?);
        let (sequence, ticket) = (sequence.cast_unsigned(), Ticket(cell(&row, 7)?));
        let found = RegionRow { epoch: Epoch(epoch), sequence, cache_id, state, name, ticket };
        (checksum(region, &found) == cell::<i64>(&row, 5)?).then_some(found)
    };
    Ok((region, cells().ok_or("the checksum does not match")))
}

/// A cell, if it holds a value of this type.
fn cell<T: ColumnValue>(row: &Row<'_>, at: usize) -> Option<T> {
    row.value(at).ok().and_then(T::from_value)
}

fn checksum(region: WorldId, row: &RegionRow) -> i64 {
    let RegionRow { epoch, sequence, cache_id, state, name, ticket } = row;
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(b"region")
        .update(&region.0.to_le_bytes())
        .update(&epoch.0.to_le_bytes())
        .update(&sequence.to_le_bytes())
        .update(cache_id.as_bytes())
        .update(state);
    // Rows from before there were names and tickets have the checksum of their time.
    hasher.update(name.as_bytes());
    if *ticket != Ticket(0) {
        hasher.update(&ticket.0.to_le_bytes());
    }
    first_half(&hasher.finalize())
}
