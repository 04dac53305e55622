//! Objects that avatars wear, one row each, by the owner and the item as which it is worn. The item stays in the inventory meanwhile; its asset may be older than the
//! row, and gets the row's state when the object is taken off.
//!
//! A row changes in the transaction that saves a region ([`Store::save_region`]), or comes when an item is put on ([`Store::wear`]). Regions save on their own, so that an
//! earlier state may come behind a later one, of an avatar that has moved on: a change has a *revision*, and one that is not higher than that of the row has no effect.
//! Values are bytes to this crate.

use crate::asset::AssetRow;
use crate::held_items::ItemOrigin;
use crate::held_row::HeldRow;
use crate::inventory::edit::InventoryEdit;
use crate::inventory::{InventoryLimits, Item, Permissions, find_item, marks};
use crate::worn_rows::{self, WornDamage, WornRow};
use crate::{Store, StoreError};
use ids::AgentId;
use std::sync::Arc;
use uuid::Uuid;

/// Type of objects, for items.
const OBJECT: i8 = 6;

/// Newer state of a worn object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WornSave {
    /// Its row from now on, or its last one.
    pub row: WornRow,
    /// It is worn no more: the row goes.
    pub ends: bool,
    /// The item gets an asset with this state.
    pub renews: bool,
    /// That asset, for [`Self::renews`].
    pub asset: Option<WornAsset>,
}

/// New content of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WornAsset {
    /// The asset, with a null id, whose bytes are on the disk already.
    pub asset: AssetRow,
    /// Masks of the object; creator, last owner and group of the item stay.
    pub permissions: Permissions,
}

/// An object that lay in a region, and that an avatar wears from now on. It becomes an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WornArrival {
    /// The transfer.
    pub origin: ItemOrigin,
    /// The item, with null ids of its folder and its asset.
    pub item: Item,
    /// The asset, with a null id, whose bytes are on the disk already. Without one, the object cannot be an item.
    pub asset: Option<AssetRow>,
    /// The row.
    pub row: WornRow,
    /// The row that holds the object if it cannot be an item.
    pub held: HeldRow,
}

/// An item to be worn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWorn {
    /// The item as it was read.
    pub item: Item,
    /// Number of the attachment point.
    pub point: u8,
    /// As in [`WornRow::revision`].
    pub revision: i64,
    /// The object of the item's asset, as a record.
    pub value: Arc<[u8]>,
}

/// Outcome of [`Store::wear`], for one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WearOutcome {
    /// It is worn from now on.
    Worn,
    /// It is worn already, as it was.
    Already,
    /// The owner has no such object.
    Unknown,
    /// The item is another than it was read.
    Changed,
    /// It is on its way into a region.
    Busy,
    /// The owner wears as many objects as there may be.
    Full,
}

/// Objects that a user wears.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WornList {
    /// By their items.
    pub rows: Vec<WornRow>,
    /// Those of damaged rows, which were set aside: they are worn no more, and their items have their last assets.
    pub damages: Vec<WornDamage>,
}

impl Store {
    /// All objects that a user wears. Damaged rows are set aside.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn worn_objects(&self, owner: AgentId) -> Result<WornList, StoreError> {
        let failed = || StoreError::query("reading the worn objects of", owner.0);
        let rows = self.read(|session| worn_rows::of_owner(session, owner)).map_err(failed())?;
        let mut list = WornList::default();
        for row in rows {
            match row {
                Ok(row) => list.rows.push(row),
                Err(damage) => list.damages.push(damage),
            }
        }
        if !list.damages.is_empty() {
            let set_aside = self.write(|session| {
                list.damages.iter().try_for_each(|damage| worn_rows::set_aside(session, damage))
            });
            set_aside.map_err(failed())?;
        }
        Ok(list)
    }

    /// True for an item with a worn object. After a take-off it is true until the save of the region.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn is_worn(&self, owner: AgentId, item: Uuid) -> Result<bool, StoreError> {
        let found = self.read(|session| worn_rows::is_worn(session, owner, item));
        found.map_err(StoreError::query("reading the worn item", item))
    }

    /// Lets a user wear items, as many as `max` in all. Each row is on the disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::UnknownAccount`], [`StoreError::Query`]; then nothing has changed, unless the outcome is unknown.
    pub fn wear(&self, owner: AgentId, items: &[NewWorn], max: u32) -> Result<Vec<WearOutcome>, StoreError> {
        self.wear_in_place(owner, items, max, |_, _| false)
    }

    /// The same when others are taken off for them, which do not count: `leaves` is asked for each by its item and its attachment point.
    ///
    /// # Errors
    /// As [`Self::wear`].
    pub fn wear_in_place(
        &self,
        owner: AgentId,
        items: &[NewWorn],
        max: u32,
        leaves: impl Fn(Uuid, u8) -> bool,
    ) -> Result<Vec<WearOutcome>, StoreError> {
        let worn = self.write(|session| {
            if InventoryEdit::begin(session, owner, InventoryLimits::NONE)?.is_none() {
                return Ok(None);
            }
            let worn = worn_rows::points_of(session, owner)?;
            let mut n_worn = worn.iter().filter(|(item, point)| !leaves(*item, *point)).count();
            let marked = marks::marked_items(session, owner)?;
            let mut outcomes = Vec::with_capacity(items.len());
            for new in items {
                let found = find_item(session, owner, new.item.id)?;
                let outcome = match found.filter(|found| found.asset_type == OBJECT) {
                    None => WearOutcome::Unknown,
                    Some(_) if worn_rows::is_worn(session, owner, new.item.id)? => WearOutcome::Already,
                    Some(_) if marked.contains(&new.item.id) => WearOutcome::Busy,
                    Some(found) if found.asset != new.item.asset => WearOutcome::Changed,
                    Some(_) if n_worn >= max as usize => WearOutcome::Full,
                    Some(found) => {
                        let NewWorn { point, revision, value, .. } = new;
                        let (point, revision, value) = (*point, *revision, Arc::clone(value));
                        let row = WornRow { owner, item: found.id, point, revision, is_ahead: false, value };
                        worn_rows::insert(session, &row)?;
                        n_worn += 1;
                        WearOutcome::Worn
                    }
                };
                outcomes.push(outcome);
            }
            Ok(Some(outcomes))
        });
        let worn = worn.map_err(StoreError::query("wearing items of", owner.0))?;
        worn.ok_or(StoreError::UnknownAccount(owner))
    }
}

#[cfg(test)]
mod tests;
