//! Items on their way into a world. An item that its owner may not copy is *marked* before a world is given its content, and stays as it is until the answer of the
//! world is on the disk: the save of the region removes it, or takes its mark away.

use super::edit::InventoryEdit;
use super::{InventoryLimits, Item, find_item, marks};
use crate::counter::{self, CounterValue};
use crate::engine::{EngineError, Session, Sql, values};
use crate::seals;
use crate::worn_rows;
use crate::{Store, StoreError};
use ids::{AgentId, HeldKey, Ticket, WorldId};
use uuid::Uuid;

/// The owner's right to copy an item, in its masks.
const COPY: u32 = 1 << 15;

/// Outcome of [`Store::mark_item`] and [`Store::mark_leaving`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkItem {
    /// It is this region's, until a save removes or releases it.
    Marked {
        /// Its key in transfers.
        key: HeldKey,
        /// The item.
        item: Item,
    },
    /// Its owner may copy it: it stays, without a mark.
    Copyable(Item),
    /// The owner has no such item.
    Unknown,
    /// It is on its way into a region.
    Busy(WorldId),
    /// Its owner's avatar wears it.
    Worn,
}

/// Row of the number of the last mark, in the table of counters. Behind the last number it begins anew: marks live for seconds.
const MARKS: &str = "item_marks";
const MARK: Sql =
    Sql::same("INSERT INTO item_marks (held, owner, item, taken_by, checksum) VALUES ($1, $2, $3, $4, $5)");
/// The highest number of a mark: a damaged counter goes on behind it.
const LAST_MARK: Sql = Sql::same("SELECT coalesce(max(held), 0) FROM item_marks");
const TAKEN_BY: Sql = Sql::same("SELECT taken_by FROM item_marks WHERE owner = $1 AND item = $2");
const RELEASE_ALL: Sql = Sql::same("DELETE FROM item_marks");

impl Store {
    /// Marks an item for a region, so that it goes into no other one, and nothing changes it. A save of that region removes or releases it. An item that its owner
    /// may copy needs no mark, and gets none.
    ///
    /// # Errors
    /// [`StoreError::Query`]; if the outcome is unknown, it may be marked: [`Store::release_item`].
    pub fn mark_item(&self, owner: AgentId, item: Uuid, by: WorldId) -> Result<MarkItem, StoreError> {
        self.mark(owner, item, by, may_copy)
    }

    /// The same for an item that its owner gives up: also one that may be copied is marked, and goes.
    ///
    /// # Errors
    /// As [`Self::mark_item`].
    pub fn mark_leaving(&self, owner: AgentId, item: Uuid, by: WorldId) -> Result<MarkItem, StoreError> {
        self.mark(owner, item, by, |_| false)
    }

    fn mark(
        &self,
        owner: AgentId,
        item: Uuid,
        by: WorldId,
        stays: fn(&Item) -> bool,
    ) -> Result<MarkItem, StoreError> {
        // Most need no write.
        match self.item(owner, item)? {
            None => return Ok(MarkItem::Unknown),
            Some(found) if stays(&found) => return Ok(MarkItem::Copyable(found)),
            Some(_) => {}
        }
        let marked = self.write(|session| {
            let account = InventoryEdit::begin(session, owner, InventoryLimits::NONE)?;
            let found = match account {
                Some(_) => find_item(session, owner, item)?,
                None => None,
            };
            let Some(found) = found else { return Ok(MarkItem::Unknown) };
            if stays(&found) {
                return Ok(MarkItem::Copyable(found));
            }
            let taken_by = session.query_row(TAKEN_BY, values![owner.0, item], |row| row.get::<u32>(0))?;
            if let Some(region) = taken_by {
                return Ok(MarkItem::Busy(WorldId(region)));
            }
            if worn_rows::is_worn(session, owner, item)? {
                return Ok(MarkItem::Worn);
            }
            let number = next_number(session)?;
            let sum = seals::MARK.of(values![number, owner.0, item, by.0]);
            session.execute(MARK, values![number, owner.0, item, by.0, sum])?;
            let key = HeldKey { region: HeldKey::ITEMS, ticket: Ticket(number) };
            Ok(MarkItem::Marked { key, item: found })
        });
        marked.map_err(StoreError::query("marking the item", item))
    }

    /// Takes the mark of an item back for which no order has gone to a world; false without a mark.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed, unless the outcome is unknown.
    pub fn release_item(&self, owner: AgentId, item: Uuid) -> Result<bool, StoreError> {
        let released = self.write(|session| marks::release_item(session, owner, item));
        released.map_err(StoreError::query("releasing the item", item))
    }

    /// Takes all marks back, of a server that begins: a region that had got the item would have removed it with the same save. Their number.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed.
    pub fn release_all_marks(&self) -> Result<usize, StoreError> {
        let n = self.write(|session| session.execute(RELEASE_ALL, &[]));
        n.map_err(StoreError::query("releasing", "items on their way"))
    }
}

fn next_number(session: &mut Session<'_>) -> Result<u32, EngineError> {
    let last = match counter::lock(session, MARKS)? {
        CounterValue::Whole(last) => last,
        CounterValue::Damaged => {
            session.query_row(LAST_MARK, &[], |row| row.get::<i64>(0))?.unwrap_or_default()
        }
    };
    let next = u32::try_from(last).ok().and_then(|last| last.checked_add(1)).unwrap_or(1);
    counter::set(session, MARKS, next.into())?;
    Ok(next)
}

/// True if an item stays when it is used.
const fn may_copy(item: &Item) -> bool {
    item.permissions.base & item.permissions.owner & COPY != 0
}

#[cfg(test)]
mod tests;
