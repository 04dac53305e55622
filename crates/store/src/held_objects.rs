//! Objects that have left the regions for their owners, and that no inventory has: one row each, by the region and the ticket with which it left. What inventories
//! take, and give to regions, is in `held_items`.
//!
//! A row comes and goes in the transaction that saves its region ([`Store::save_region`]), with the objects of the same frame. The region's row has the
//! ticket of the last transfer that it has the effects of, and no transfer up to that takes effect again: a save whose outcome was unknown may
//! be repeated, whatever has become of its rows since. Values are bytes to this crate.

use crate::engine::{ColumnValue, EngineError, Row, Session, Sql, Value, values};
use crate::held_items::{ChangedInventories, ItemEffect, ItemOrigin, ItemTransfer};
use crate::held_row::HeldRow;
use crate::inventory::{Item, marks};
use crate::object_damage::{ObjectDamage, ObjectPart, key_of, object_of, set_aside};
use crate::seals;
use crate::tables::first_half;
use crate::worn_objects::{WornArrival, WornSave};
use crate::worn_rows::WornRow;
use crate::{Store, StoreError};
use ids::{AgentId, HeldKey, LocalId, SessionKey, Ticket, Uuid, WorldId};
use std::collections::BTreeSet;

mod earlier;

/// Effect of a transfer on the rows, or on an inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldChange {
    /// An object has left its region, or is not in another one after all.
    Insert(HeldRow),
    /// An object has left its region for an inventory, or an item has left a prim.
    InsertItem(Box<ItemTransfer>),
    /// An object is in a region: its row goes, or its item with the mark that has this key.
    Remove(HeldKey),
    /// The same of an item that is known, which is reported again if the save is repeated.
    RemoveItem {
        /// Key of its mark.
        key: HeldKey,
        /// Its owner.
        owner: AgentId,
        /// The item.
        item: Uuid,
    },
    /// An object was not taken: others may take it, and its item may be changed.
    Release(HeldKey),
    /// The objects that left the region with these tickets are in it after all: rows of them go.
    Undo {
        /// The first ticket.
        first: Ticket,
        /// The last one.
        last: Ticket,
    },
    /// The same of an item. Its owner may have changed and moved it since; what was given away or is in another region by then stays there.
    UndoItem(ItemOrigin),
    /// An item that was removed by a ticket is not in the region after all. Without its former folder it comes into Lost and Found. Stands behind the undone items
    /// of the same ticket: one of these stays gone.
    ReturnItem {
        /// Its owner.
        owner: AgentId,
        /// The item as it was.
        item: Box<Item>,
    },
    /// An avatar wears an object that lay in the region: its rows have gone, and it is an item.
    PutOn(Box<WornArrival>),
    /// A worn object lies in the region: its item goes.
    PutDown {
        /// Its owner.
        owner: AgentId,
        /// The item.
        item: Uuid,
    },
    /// A worn object has left the region with its avatar, or was taken off.
    Worn(Box<WornSave>),
    /// The object that came by [`Self::PutOn`] lies in the region after all: its item goes.
    UndoPutOn {
        /// Its owner.
        owner: AgentId,
        /// The item.
        item: Uuid,
    },
    /// An object is worn after all, with this item if that had gone. Stands behind the undone items of the same ticket: one of these stays gone.
    WearAgain(Box<WornRow>, Option<Box<Item>>),
}

/// A row of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldEntry {
    /// The object.
    pub row: HeldRow,
    /// The region that it is on its way to.
    pub taken_by: Option<WorldId>,
}

/// Part of a list of held objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldPage {
    /// By their keys.
    pub entries: Vec<HeldEntry>,
    /// Damaged rows among them.
    pub damages: Vec<ObjectDamage>,
    /// The key to continue behind; `None` at the end of the list.
    pub next: Option<HeldKey>,
}

/// Held objects to be listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldFilter {
    /// Those of this user only.
    pub owner: Option<AgentId>,
    /// Those that left this region only.
    pub region: Option<WorldId>,
}

/// Outcome of [`Store::take_held`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakeHeld {
    /// It is this region's, until a save removes or releases it.
    Taken(HeldRow),
    /// There is none with this key.
    Unknown,
    /// It is on its way to a region.
    Busy(WorldId),
    /// Its row is damaged, and was set aside.
    Damaged(ObjectDamage),
}

const INSERT: Sql = Sql {
    sqlite: "INSERT INTO held_objects (held, owner, kind, author, held_s, value, checksum, taken_checksum) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
             ON CONFLICT (held) DO UPDATE SET owner = excluded.owner, kind = excluded.kind, author = excluded.author, \
             held_s = excluded.held_s, value = excluded.value, checksum = excluded.checksum, taken_by = NULL, \
             taken_checksum = excluded.taken_checksum",
    postgres: "INSERT INTO held_objects (held, owner, kind, author, held_s, value, checksum, taken_checksum) \
               SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], \
               $7::bigint[], $8::bigint[]) \
               ON CONFLICT (held) DO UPDATE SET owner = excluded.owner, kind = excluded.kind, author = excluded.author, \
               held_s = excluded.held_s, value = excluded.value, checksum = excluded.checksum, taken_by = NULL, \
               taken_checksum = excluded.taken_checksum",
};
const REMOVE: Sql = Sql::same("DELETE FROM held_objects WHERE held = $1");
const REMOVE_FREE: Sql = Sql::same("DELETE FROM held_objects WHERE held = $1 AND taken_by IS NULL");
const REMOVE_RANGE: Sql = Sql::same("DELETE FROM held_objects WHERE held >= $1 AND held <= $2");
const TAKE: Sql = Sql::same(
    "UPDATE held_objects SET taken_by = $1, taken_checksum = $2 WHERE held = $3 AND taken_by IS NULL",
);
const RELEASE: Sql =
    Sql::same("UPDATE held_objects SET taken_by = NULL, taken_checksum = $1 WHERE held = $2");
/// Keys in the order of the table, with their marks. SQLite would take an index for the keys unless it is told otherwise.
const MARKS: Sql = Sql {
    sqlite: "SELECT held, taken_by, taken_checksum FROM held_objects NOT INDEXED ORDER BY held",
    postgres: "SELECT held, taken_by, taken_checksum FROM held_objects ORDER BY held",
};
const READ: Sql = Sql::same(
    "SELECT held, owner, kind, author, held_s, value, checksum, taken_by FROM held_objects WHERE held = $1",
);
const READ_PAGE: Sql = Sql::same(
    "SELECT held, owner, kind, author, held_s, value, checksum, taken_by FROM held_objects \
     WHERE held > $1 AND held <= $2 ORDER BY held LIMIT $3",
);
const READ_PAGE_OF_OWNER: Sql = Sql::same(
    "SELECT held, owner, kind, author, held_s, value, checksum, taken_by FROM held_objects \
     WHERE held > $1 AND held <= $2 AND owner = $3 ORDER BY held LIMIT $4",
);
const COUNT: Sql = Sql::same("SELECT count(*) FROM held_objects WHERE owner = $1");
const FULL: Sql =
    Sql::same("SELECT owner FROM held_objects GROUP BY owner HAVING count(*) >= $1 ORDER BY owner");
const LAST: Sql =
    Sql::same("SELECT coalesce(max(held), -1) FROM held_objects WHERE held >= $1 AND held <= $2");

/// The first possible key of a region, and the last one.
fn keys_of(region: WorldId) -> (i64, i64) {
    (key(HeldKey { region, ticket: Ticket(0) }), key(HeldKey { region, ticket: Ticket(u32::MAX) }))
}

fn key(HeldKey { region, ticket: Ticket(ticket) }: HeldKey) -> i64 {
    key_of(region, LocalId(ticket))
}

const fn held_of(key: i64) -> HeldKey {
    let (region, LocalId(ticket)) = object_of(key);
    HeldKey { region, ticket: Ticket(ticket) }
}

impl Store {
    /// Linksets that are held, by their keys, behind `after` and `limit` at most. Damaged rows stay where they are.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    ///
    /// # Panics
    /// When the number of a region is that of an instance.
    pub fn held_objects(
        &self,
        filter: HeldFilter,
        after: Option<HeldKey>,
        limit: u32,
    ) -> Result<HeldPage, StoreError> {
        let (first, last) = filter.region.map_or((0, i64::MAX), keys_of);
        let before = after.map_or(first - 1, |after| key(after).max(first - 1));
        let owner = filter.owner.map(|owner| owner.0);
        let page = self.read(|session| {
            let mut page = HeldPage::default();
            let (mut last_key, mut n_rows) = (None, 0);
            let read = |row: Row<'_>| {
                n_rows += 1;
                last_key = Some(row.get::<i64>(0)?);
                match read_row(&row)? {
                    Ok(entry) => page.entries.push(entry),
                    Err(damage) => page.damages.push(damage),
                }
                Ok::<(), EngineError>(())
            };
            match &owner {
                Some(owner) => {
                    session.query(READ_PAGE_OF_OWNER, values![before, last, owner, limit], read)?;
                }
                None => {
                    session.query(READ_PAGE, values![before, last, limit], read)?;
                }
            }
            page.next = last_key.filter(|_| n_rows == limit).map(held_of);
            Ok(page)
        });
        page.map_err(StoreError::query("listing", "held objects"))
    }

    /// Number of objects that are held for a user.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn count_held(&self, owner: AgentId) -> Result<u64, StoreError> {
        let n = self.read(|session| session.query_row(COUNT, values![owner.0], |row| row.get::<i64>(0)));
        let n = n.map_err(StoreError::query("counting the held objects of", owner.0))?;
        Ok(n.map_or(0, i64::cast_unsigned))
    }

    /// Users for whom at least this number of objects is held.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn full_owners(&self, limit: u32) -> Result<Vec<AgentId>, StoreError> {
        let owners = self.read(|session| session.query(FULL, values![limit], |row| row.get(0).map(AgentId)));
        owners.map_err(StoreError::query("counting", "held objects"))
    }

    /// Marks an object for a region, so that no other one takes it. A save of that region removes or releases it.
    ///
    /// # Errors
    /// [`StoreError::Query`]; if the outcome is unknown, it may be marked: [`Store::release_held`].
    ///
    /// # Panics
    /// When the number of a region is that of an instance.
    pub fn take_held(&self, held: HeldKey, by: WorldId) -> Result<TakeHeld, StoreError> {
        let taken = self.write(|session| {
            let sum = taken_checksum(key(held), Some(by));
            let n = session.execute(TAKE, values![by.0, sum, key(held)])?;
            let entry = session.query_row(READ, values![key(held)], |row| read_row(&row))?;
            Ok(match entry {
                None => TakeHeld::Unknown,
                Some(Ok(HeldEntry { taken_by: Some(other), .. })) if n == 0 => TakeHeld::Busy(other),
                Some(Ok(HeldEntry { row, .. })) => TakeHeld::Taken(row),
                Some(Err(damage)) => {
                    set_aside(session, std::slice::from_ref(&damage))?;
                    TakeHeld::Damaged(damage)
                }
            })
        });
        taken.map_err(StoreError::query("taking the held object", held))
    }

    /// Takes a mark back; false if there is no such object.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed.
    ///
    /// # Panics
    /// When the number of the region is that of an instance.
    pub fn release_held(&self, held: HeldKey) -> Result<bool, StoreError> {
        let n = self.write(|session| release(session, key(held)));
        n.map(|n| n > 0).map_err(StoreError::query("releasing the held object", held))
    }

    /// Takes all marks back, of a server that begins, damaged ones too: a region that had got the object would have removed the row with the same save. Their number.
    /// Each page with keys is read.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed.
    pub fn release_all_held(&self) -> Result<usize, StoreError> {
        let n = self.write(|session| {
            let mut last = -1;
            let marked = session.query(MARKS, &[], |row| {
                let key = row.get::<i64>(0)?;
                // Rows of a page that was overwritten by another one of the table.
                if key <= last {
                    return Err(EngineError::disorder());
                }
                last = key;
                let is_free = matches!(row.value(1), Ok(Value::Null))
                    && cell(&row, 2) == Some(taken_checksum(key, None));
                Ok((!is_free).then_some(key))
            })?;
            let mut n = 0;
            for key in marked.into_iter().flatten() {
                n += release(session, key)?;
            }
            Ok(n)
        });
        n.map_err(StoreError::query("releasing", "held objects"))
    }

    /// Deletes an object for good; false if there is none, or if it is on its way to a region.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed.
    ///
    /// # Panics
    /// When the number of the region is that of an instance.
    pub fn remove_held(&self, held: HeldKey) -> Result<bool, StoreError> {
        let n = self.write(|session| session.execute(REMOVE_FREE, values![key(held)]));
        n.map(|n| n > 0).map_err(StoreError::query("removing the held object", held))
    }

    /// Makes an item of an object, whose asset's bytes are on the disk already. `None`, and the row stays, if the inventory can take none, or if it is on its way to a
    /// region.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed, unless the outcome is unknown.
    ///
    /// # Panics
    /// When the number of the region is that of an instance.
    pub fn make_item(&self, transfer: &ItemTransfer) -> Result<Option<ItemEffect>, StoreError> {
        let ItemOrigin { key: held, owner, .. } = transfer.origin;
        let made = self.write(|session| {
            if session.execute(REMOVE_FREE, values![key(held)])? == 0 {
                return Ok(None);
            }
            let mut inventories = ChangedInventories::begin(session, BTreeSet::from([owner]))?;
            let effect = inventories.insert(session, held.ticket, transfer)?;
            if effect.is_none() {
                session.execute_many(INSERT, transfer.row.iter().map(cells))?;
            }
            Ok(effect)
        });
        made.map_err(StoreError::query("making an item of the held object", held))
    }

    /// Sets an object aside: one with a value that is whole and means nothing.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed.
    ///
    /// # Panics
    /// When the number of the region is that of an instance.
    pub fn set_held_aside(&self, held: HeldKey, why: &str) -> Result<(), StoreError> {
        let damage = damage_of(held, why);
        self.write(|session| set_aside(session, std::slice::from_ref(&damage)))
            .map_err(StoreError::query("setting aside the held object", held))
    }
}

/// Applies transfers of a region behind the ticket `stored`, in their order, and newer states of worn objects behind these. Their effects on inventories; of
/// transfers up to that ticket, as far as they can be seen still.
pub(crate) fn apply(
    session: &mut Session<'_>,
    region: WorldId,
    stored: Ticket,
    changes: &[(Ticket, HeldChange)],
    worn: &[WornSave],
) -> Result<Vec<ItemEffect>, EngineError> {
    let (earlier, rest) = changes.split_at(changes.partition_point(|(ticket, _)| *ticket <= stored));
    let mut effects = Vec::new();
    for (ticket, change) in earlier {
        effects.extend(earlier::earlier_effect(session, *ticket, change)?);
    }
    let mut owners = owners_of(session, rest)?;
    owners.extend(worn.iter().filter_map(owner_of_renewed));
    let mut inventories = ChangedInventories::begin(session, owners)?;
    let mut rest = rest.iter().peekable();
    while let Some((ticket, change)) = rest.next() {
        let effect = match change {
            HeldChange::Insert(row) => {
                // Neighbours go in one journey to a server.
                let mut rows = vec![row];
                while let Some((_, HeldChange::Insert(row))) =
                    rest.next_if(|(_, next)| is_insertion_beside(next, &rows))
                {
                    rows.push(row);
                }
                session.execute_many(INSERT, rows.into_iter().map(cells))?;
                None
            }
            HeldChange::InsertItem(transfer) => {
                let effect = inventories.insert(session, *ticket, transfer)?;
                if effect.is_none() {
                    session.execute_many(INSERT, transfer.row.iter().map(cells))?;
                }
                effect
            }
            HeldChange::RemoveItem { key, .. } => inventories.remove(session, *ticket, *key)?,
            HeldChange::Remove(held) if held.is_of_item() => inventories.remove(session, *ticket, *held)?,
            HeldChange::Remove(held) => {
                session.execute(REMOVE, values![key(*held)])?;
                None
            }
            HeldChange::Release(held) if held.is_of_item() => {
                marks::release(session, *held)?;
                None
            }
            HeldChange::Release(held) => {
                release(session, key(*held))?;
                None
            }
            HeldChange::Undo { first, last } => {
                let [first, last] = [*first, *last].map(|ticket| key(HeldKey { region, ticket }));
                session.execute(REMOVE_RANGE, values![first, last])?;
                None
            }
            HeldChange::UndoItem(origin) => inventories.undo(session, *ticket, origin)?,
            HeldChange::ReturnItem { owner, item } => inventories.put_back(session, *ticket, *owner, item)?,
            HeldChange::PutOn(arrival) => {
                let effect = inventories.put_on(session, *ticket, arrival)?;
                if effect.is_none() {
                    session.execute_many(INSERT, std::iter::once(cells(&arrival.held)))?;
                }
                effect
            }
            HeldChange::PutDown { owner, item } => inventories.put_down(session, *ticket, (*owner, *item))?,
            HeldChange::Worn(save) => inventories.save_worn(session, *ticket, save)?,
            HeldChange::UndoPutOn { owner, item } => {
                inventories.undo_put_on(session, *ticket, (*owner, *item))?
            }
            HeldChange::WearAgain(row, item) => {
                inventories.wear_again(session, *ticket, row, item.as_deref())?
            }
        };
        effects.extend(effect);
    }
    for save in worn {
        // No ticket of a world.
        effects.extend(inventories.save_worn(session, Ticket(0), save)?);
    }
    Ok(effects)
}

/// Takes a mark back; the number of rows, one or none.
fn release(session: &mut Session<'_>, key: i64) -> Result<usize, EngineError> {
    session.execute(RELEASE, values![taken_checksum(key, None), key])
}

/// The user whose item gets another asset.
fn owner_of_renewed(save: &WornSave) -> Option<AgentId> {
    save.asset.as_ref().map(|_| save.row.owner)
}

/// Users whose inventories these changes concern.
fn owners_of(
    session: &mut Session<'_>,
    changes: &[(Ticket, HeldChange)],
) -> Result<BTreeSet<AgentId>, EngineError> {
    let mut owners = BTreeSet::new();
    for (_, change) in changes {
        let owner = match change {
            HeldChange::InsertItem(transfer) => Some(transfer.origin.owner),
            HeldChange::UndoItem(origin) => Some(origin.owner),
            HeldChange::ReturnItem { owner, .. } => Some(*owner),
            HeldChange::PutOn(arrival) => Some(arrival.origin.owner),
            HeldChange::PutDown { owner, .. } | HeldChange::UndoPutOn { owner, .. } => Some(*owner),
            HeldChange::Worn(save) => owner_of_renewed(save),
            HeldChange::WearAgain(row, _) => Some(row.owner),
            HeldChange::RemoveItem { owner, .. } => Some(*owner),
            HeldChange::Remove(key) if key.is_of_item() => {
                marks::marked_item(session, *key)?.map(|(owner, _)| owner)
            }
            HeldChange::Insert(_)
            | HeldChange::Remove(_)
            | HeldChange::Release(_)
            | HeldChange::Undo { .. } => None,
        };
        owners.extend(owner);
    }
    Ok(owners)
}

/// True for an insertion that fits into one statement with those before it: a statement writes a row once.
fn is_insertion_beside(change: &HeldChange, rows: &[&HeldRow]) -> bool {
    matches!(change, HeldChange::Insert(row) if rows.last().is_some_and(|last| last.key < row.key))
}

/// The highest ticket of a region's rows, for a region whose own row is lost; 0 without rows.
pub(crate) fn last_ticket(session: &mut Session<'_>, region: WorldId) -> Result<Ticket, EngineError> {
    let (first, last) = keys_of(region);
    let found = session.query_row(LAST, values![first, last], |row| row.get::<i64>(0))?;
    Ok(found.filter(|key| *key >= first).map_or(Ticket(0), |key| held_of(key).ticket))
}

/// Linksets behind a key, by their keys, and damaged rows among them.
pub(crate) fn read_page(
    session: &mut Session<'_>,
    after: Option<HeldKey>,
    limit: u32,
) -> Result<HeldPage, EngineError> {
    let before = after.map_or(-1, key);
    let mut page = HeldPage::default();
    let (mut last_key, mut n_rows) = (None, 0);
    session.query(READ_PAGE, values![before, i64::MAX, limit], |row| {
        n_rows += 1;
        last_key = Some(row.get::<i64>(0)?);
        match read_row(&row)? {
            Ok(entry) => page.entries.push(entry),
            Err(damage) => page.damages.push(damage),
        }
        Ok(())
    })?;
    page.next = last_key.filter(|_| n_rows == limit).map(held_of);
    Ok(page)
}

/// Damaged rows behind a key, of a number of rows. The last key.
pub(crate) fn damaged(
    session: &mut Session<'_>,
    before: i64,
    limit: i64,
    mut report: impl FnMut(ObjectDamage),
) -> Result<Option<i64>, EngineError> {
    let mut last = None;
    session.query(READ_PAGE, values![before, i64::MAX, limit], |row| {
        last = Some(row.get::<i64>(0)?);
        if let Err(damage) = read_row(&row)? {
            report(damage);
        }
        Ok(())
    })?;
    Ok(last)
}

/// An entry, or how its damage was noticed.
fn read_row(row: &Row<'_>) -> Result<Result<HeldEntry, ObjectDamage>, EngineError> {
    let key = held_of(row.get(0)?);
    let cells = || {
        let row = HeldRow {
            key,
            owner: AgentId(cell(row, 1)?),
            kind: cell(row, 2)?,
            by: SessionKey(cell::<i64>(row, 3)?.cast_unsigned()),
            held_s: cell(row, 4)?,
            value: cell::<Vec<u8>>(row, 5)?.into(),
        };
        Some(row)
    };
    let sum = cell::<i64>(row, 6);
    let taken_by = cell::<Option<u32>>(row, 7);
    let whole = cells().zip(taken_by).filter(|(row, _)| sum == Some(checksum(row)));
    Ok(match whole {
        Some((row, taken_by)) => Ok(HeldEntry { row, taken_by: taken_by.map(WorldId) }),
        None => Err(damage_of(key, "the checksum does not match")),
    })
}

fn damage_of(HeldKey { region, ticket: Ticket(ticket) }: HeldKey, why: &str) -> ObjectDamage {
    ObjectDamage { region, object: LocalId(ticket), part: ObjectPart::HeldObject, why: why.to_owned() }
}

/// A cell, if it holds a value of this type.
fn cell<T: ColumnValue>(row: &Row<'_>, at: usize) -> Option<T> {
    row.value(at).ok().and_then(T::from_value)
}

/// Cells of a new row.
fn cells(row: &HeldRow) -> [Value<'_>; 8] {
    [
        Value::Integer(key(row.key)),
        Value::Blob(row.owner.0.as_bytes()),
        Value::Integer(row.kind.into()),
        Value::Integer(row.by.0.cast_signed()),
        Value::Integer(row.held_s),
        Value::Blob(&row.value),
        Value::Integer(checksum(row)),
        Value::Integer(taken_checksum(key(row.key), None)),
    ]
}

/// Of the mark of a row, beside the checksum of the rest. Readers pass over it: marks are as the running server has set them.
fn taken_checksum(key: i64, taken_by: Option<WorldId>) -> i64 {
    seals::TAKEN.of(values![key, taken_by.map(|region| region.0)])
}

fn checksum(row: &HeldRow) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(ObjectPart::HeldObject.as_str().as_bytes())
        .update(&key(row.key).to_le_bytes())
        .update(row.owner.0.as_bytes())
        .update(&[row.kind])
        .update(&row.by.0.to_le_bytes())
        .update(&row.held_s.to_le_bytes())
        .update(&row.value);
    first_half(&hasher.finalize())
}

#[cfg(test)]
mod tests;
