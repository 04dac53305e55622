//! Items that transfers bring into an inventory and take out of it, within the save of a region.
//!
//! Unlike a change that a client asks for, none of these is refused: the world has carried it out already. So the bounds of the inventory do not count here, and
//! a mark does not keep an item from its own transfer.

use super::InventoryEdit;
use super::items::REMOVE_ITEM;
use crate::asset::keep_asset;
use crate::engine::{EngineError, Session, values};
use crate::inventory::changes::SYSTEM_FOLDER_TYPES;
use crate::inventory::{
    Folder, Item, Permissions, find_folder, find_folder_of_type, find_item, find_root, has_folder, has_item,
    insert_folder, insert_item, marks, update_item,
};
use crate::worn_rows;
use uuid::Uuid;

/// Type of items that are objects.
const OBJECT: i8 = 6;
/// Type of folders that users make.
const PLAIN_FOLDER: i8 = -1;

/// Folder for an item that comes into an inventory: the first that the owner has of the wanted one, the one of a system type, and the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolderChoice {
    /// Its id; null for none.
    pub wanted: Uuid,
    /// One of [`SYSTEM_FOLDER_TYPES`].
    pub type_default: i8,
}

/// An item that has come into an inventory.
#[derive(Debug)]
pub(crate) struct Received {
    /// As it is now.
    pub(crate) item: Item,
    /// New version of its folder.
    pub(crate) version: i32,
    /// The folder, if it was made for the item.
    pub(crate) new_folder: Option<Folder>,
}

impl InventoryEdit {
    /// Puts an item into a folder. With a name for it, the wanted folder is made in the root unless the owner has it. `None` without any folder, or if there is an
    /// item with this id. A NUL in a text is left out, since PostgreSQL keeps none.
    pub(crate) fn receive(
        &mut self,
        session: &mut Session<'_>,
        item: &Item,
        choice: FolderChoice,
        new_folder: Option<&str>,
    ) -> Result<Option<Received>, EngineError> {
        if has_item(session, self.owner, item.id)? {
            return Ok(None);
        }
        let made = match new_folder {
            Some(name) => self.make_folder(session, choice.wanted, name)?,
            None => None,
        };
        let folder = match &made {
            Some(made) => made.clone(),
            None => match self.chosen_folder(session, choice)? {
                Some(folder) => folder,
                None => return Ok(None),
            },
        };
        let (name, description) = (without_nul(&item.name), without_nul(&item.description));
        let item = Item { folder: folder.id, name, description, ..item.clone() };
        insert_item(session, self.owner, &item)?;
        keep_asset(session, item.asset)?;
        self.n_items = self.n_items.map(|n| n + 1);
        let version = self.raise(session, folder)?;
        let new_folder = made.map(|made| Folder { version, ..made });
        Ok(Some(Received { item, version, new_folder }))
    }

    /// Gives an object of the owner another asset. The item as it is now, and its folder's new version; `None` without such an object, while it is on its way into
    /// a region, or while it is worn: it gets the worn state when it is taken off.
    pub(crate) fn replace_content(
        &mut self,
        session: &mut Session<'_>,
        id: Uuid,
        asset: Uuid,
    ) -> Result<Option<(Item, i32)>, EngineError> {
        let former = find_item(session, self.owner, id)?.filter(|item| item.asset_type == OBJECT);
        let Some(former) = former else { return Ok(None) };
        if self.marked(session)?.contains(&id) || worn_rows::is_worn(session, self.owner, id)? {
            return Ok(None);
        }
        let item = Item { asset, ..former };
        update_item(session, self.owner, &item)?;
        let version = self.raise_version(session, item.folder)?.unwrap_or_default();
        Ok(Some((item, version)))
    }

    /// Gives an object of the owner an asset and masks with its last state: one that was worn. The item as it is now, and its folder's new version; `None` without such an
    /// object.
    pub(crate) fn renew(
        &mut self,
        session: &mut Session<'_>,
        id: Uuid,
        asset: Uuid,
        masks: &Permissions,
    ) -> Result<Option<(Item, i32)>, EngineError> {
        let former = find_item(session, self.owner, id)?.filter(|item| item.asset_type == OBJECT);
        let Some(former) = former else { return Ok(None) };
        let Permissions { base, owner, group_mask, everyone, next_owner, .. } = *masks;
        let permissions =
            Permissions { base, owner, group_mask, everyone, next_owner, ..former.permissions.clone() };
        let item = Item { asset, permissions, ..former };
        update_item(session, self.owner, &item)?;
        let version = self.raise_version(session, item.folder)?.unwrap_or_default();
        Ok(Some((item, version)))
    }

    /// True if the owner has an item with this id, damaged or not.
    pub(crate) fn has_item(&self, session: &mut Session<'_>, id: Uuid) -> Result<bool, EngineError> {
        has_item(session, self.owner, id)
    }

    /// Makes a folder in the root; `None` if the owner has it, or has no root.
    fn make_folder(
        &mut self,
        session: &mut Session<'_>,
        id: Uuid,
        name: &str,
    ) -> Result<Option<Folder>, EngineError> {
        if id.is_nil() || has_folder(session, self.owner, id)? {
            return Ok(None);
        }
        let Some(root) = find_root(session, self.owner)? else { return Ok(None) };
        let name = without_nul(name);
        let folder = Folder { id, parent: root.id, name, type_default: PLAIN_FOLDER, version: 1 };
        insert_folder(session, self.owner, &folder)?;
        self.n_folders = self.n_folders.map(|n| n + 1);
        self.raise(session, root)?;
        Ok(Some(folder))
    }

    /// Takes an item out, with its mark. The item as it was, and its folder's new version; `None` without such an item. A damaged one goes as well, unseen: the world
    /// has it.
    pub(crate) fn give_up(
        &mut self,
        session: &mut Session<'_>,
        id: Uuid,
    ) -> Result<Option<(Item, i32)>, EngineError> {
        marks::release_item(session, self.owner, id)?;
        if let Some(marked) = &mut self.marked {
            marked.remove(&id);
        }
        let item = find_item(session, self.owner, id)?;
        let n_removed = session.execute(REMOVE_ITEM, values![self.owner.0, id])? as u64;
        self.n_items = self.n_items.map(|n| n.saturating_sub(n_removed));
        let Some(item) = item else { return Ok(None) };
        let version = self.raise_version(session, item.folder)?.unwrap_or_default();
        Ok(Some((item, version)))
    }

    fn chosen_folder(
        &self,
        session: &mut Session<'_>,
        FolderChoice { wanted, type_default }: FolderChoice,
    ) -> Result<Option<Folder>, EngineError> {
        let wanted = if wanted.is_nil() { None } else { find_folder(session, self.owner, wanted)? };
        if wanted.is_some() {
            return Ok(wanted);
        }
        if SYSTEM_FOLDER_TYPES.contains(&type_default)
            && let Some(folder) = find_folder_of_type(session, self.owner, type_default)?
        {
            return Ok(Some(folder));
        }
        find_root(session, self.owner)
    }
}

fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}
