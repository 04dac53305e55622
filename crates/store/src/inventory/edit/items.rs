//! Changes of items and links.

use super::{Failure, InventoryEdit, check_id, check_text, counted};
use crate::engine::{Session, Sql, values};
use crate::inventory::changes::{InventoryOutcome, InventoryRefusal, ItemUpdate};
use crate::inventory::{Item, find_item, insert_item, tree, update_item};
use uuid::Uuid;

const COUNT_ITEMS: Sql = Sql::same("SELECT count(*) FROM inventory_items WHERE owner = $1");
const REMOVE_ITEM: Sql = Sql::same("DELETE FROM inventory_items WHERE owner = $1 AND item = $2");

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
        self.folder(session, item.folder)?;
        if find_item(session, self.owner, item.id)?.is_some() {
            return Err(InventoryRefusal::ItemExists(item.id).into());
        }
        let n = counted(session, &mut self.n_items, COUNT_ITEMS, self.owner)?;
        if *n >= u64::from(items_max) {
            return Err(InventoryRefusal::TooManyItems { max: items_max }.into());
        }
        *n += 1;
        insert_item(session, self.owner, item)?;
        self.raise_versions(session, &[item.folder])
    }

    pub(super) fn update_item(
        &self,
        session: &mut Session<'_>,
        update: &ItemUpdate,
    ) -> Result<InventoryOutcome, Failure> {
        let ItemUpdate { item, asset, name, description, flags, permissions, sale } = update;
        name.as_deref().map_or(Ok(()), check_text)?;
        description.as_deref().map_or(Ok(()), check_text)?;
        let former = self.item(session, *item)?;
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
        &self,
        session: &mut Session<'_>,
        item: Uuid,
        folder: Uuid,
        name: Option<&str>,
    ) -> Result<InventoryOutcome, Failure> {
        name.map_or(Ok(()), check_text)?;
        let former = self.item(session, item)?;
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
        let folder = self.item(session, item)?.folder;
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
        update_item(session, self.owner, item)?;
        if item.folder == former.folder {
            self.raise_versions(session, &[item.folder])
        } else {
            self.raise_versions(session, &[former.folder, item.folder])
        }
    }
}

#[cfg(test)]
mod tests;
