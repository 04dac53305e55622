//! Changes of items and links.
//!
//! An asset that an item names is no longer temporary: the transaction that makes or changes the item keeps it. An item that is on its way into a world
//! (`marks`) stays as it is.

use super::{Failure, InventoryEdit, check_id, check_text, counted};
use crate::asset::keep_asset;
use crate::engine::{Session, Sql, values};
use crate::inventory::changes::{InventoryOutcome, InventoryRefusal, ItemUpdate};
use crate::inventory::{Item, has_item, insert_item, tree, update_item};
use crate::worn_rows;
use uuid::Uuid;

const COUNT_ITEMS: Sql = Sql::same("SELECT count(*) FROM inventory_items WHERE owner = $1");
pub(super) const REMOVE_ITEM: Sql = Sql::same("DELETE FROM inventory_items WHERE owner = $1 AND item = $2");

impl InventoryEdit {
    pub(super) fn create_item(
        &mut self,
        session: &mut Session<'_>,
        item: &Item,
    ) -> Result<InventoryOutcome, Failure> {
        let items_max = self.limits.items_max;
        check_id(item.id)?;
        check_text(&item.name)?;
        check_text(&item.description)?;
        let folder = self.folder(session, item.folder)?;
        if has_item(session, self.owner, item.id)? {
            return Err(InventoryRefusal::ItemExists(item.id).into());
        }
        let n = counted(session, &mut self.n_items, COUNT_ITEMS, self.owner)?;
        if *n >= u64::from(items_max) {
            return Err(InventoryRefusal::TooManyItems { max: items_max }.into());
        }
        *n += 1;
        insert_item(session, self.owner, item)?;
        keep_asset(session, item.asset)?;
        self.raise_known(session, folder)
    }

    pub(super) fn update_item(
        &mut self,
        session: &mut Session<'_>,
        update: &ItemUpdate,
    ) -> Result<InventoryOutcome, Failure> {
        let ItemUpdate { item, asset, name, description, flags, permissions, sale } = update;
        name.as_deref().map_or(Ok(()), check_text)?;
        description.as_deref().map_or(Ok(()), check_text)?;
        let former = self.free_item(session, *item)?;
        let item = Item {
            asset: asset.unwrap_or(former.asset),
            name: name.as_ref().unwrap_or(&former.name).clone(),
            description: description.as_ref().unwrap_or(&former.description).clone(),
            flags: flags.unwrap_or(former.flags),
            permissions: permissions.as_ref().unwrap_or(&former.permissions).clone(),
            sale: sale.unwrap_or(former.sale),
            ..former
        };
        self.replace_item(session, &former, &item)
    }

    pub(super) fn move_item(
        &mut self,
        session: &mut Session<'_>,
        item: Uuid,
        folder: Uuid,
        name: Option<&str>,
    ) -> Result<InventoryOutcome, Failure> {
        name.map_or(Ok(()), check_text)?;
        let former = self.free_item(session, item)?;
        self.folder(session, folder)?;
        let name = name.unwrap_or(&former.name).to_owned();
        let item = Item { folder, name, ..former.clone() };
        self.replace_item(session, &former, &item)
    }

    pub(super) fn remove_item(
        &mut self,
        session: &mut Session<'_>,
        item: Uuid,
    ) -> Result<InventoryOutcome, Failure> {
        let folder = self.free_item(session, item)?.folder;
        self.assert_free(item);
        if worn_rows::is_worn(session, self.owner, item)? {
            return Err(InventoryRefusal::Worn(item).into());
        }
        session.execute(REMOVE_ITEM, values![self.owner.0, item])?;
        self.finish_removal(session, folder, tree::Removed { n_folders: 0, n_items: 1 })
    }

    fn replace_item(
        &self,
        session: &mut Session<'_>,
        former: &Item,
        item: &Item,
    ) -> Result<InventoryOutcome, Failure> {
        if item == former {
            return Ok(InventoryOutcome::default());
        }
        self.assert_free(item.id);
        update_item(session, self.owner, item)?;
        if item.asset != former.asset {
            keep_asset(session, item.asset)?;
        }
        if item.folder == former.folder {
            self.raise_versions(session, &[item.folder])
        } else {
            self.raise_versions(session, &[former.folder, item.folder])
        }
    }

    /// The last look before a write: no rule has let this change pass.
    fn assert_free(&self, id: Uuid) {
        let is_marked = self.marked.as_ref().is_some_and(|marked| marked.contains(&id));
        assert!(!is_marked, "a marked item is neither changed nor removed: {id}");
    }
}

#[cfg(test)]
mod tests;
