//! Copies of items, of the own inventory or of the library, and links.

use super::gifts::folder_for;
use super::items::{is_link, unknown};
use super::replies::{self, Answer};
use super::{ChangeInventoryError, ChangeRefusal, Planner, Step, gestures, permissions, text};
use crate::inventory::{AssetType, InventoryType, library_folder, library_item};
use crate::random_id;
use store::{InventoryChange, InventoryRefusal, Item, Permissions, Sale};
use uuid::Uuid;
use wire::messages::*;

/// Properties of a link that come from its target.
struct LinkTarget {
    name: String,
    inventory_type: i8,
    flags: u32,
}

impl Planner<'_> {
    /// Copies an item for the user, with the masks of the original. Viewers that wear an item of the library name no folder: the copy comes into the folder of its kind.
    pub(super) fn copy_item(
        &self,
        row: &CopyInventoryItemInventoryData,
    ) -> Result<Step, ChangeInventoryError> {
        let refused = replies::unmade_copy(row);
        let original = match self.original(row.old_item_id)? {
            Ok(original) => original,
            Err(refusal) => return Ok(Step { change: Err(refusal), made: Answer::Nothing, refused }),
        };
        let folder = match row.new_folder_id {
            folder if !folder.is_nil() => folder,
            none => folder_for(self.store, self.agent, original.asset_type)?.unwrap_or(none),
        };
        let copy = Item {
            id: random_id()?,
            folder,
            flags: gestures::of_copy(&original),
            name: text::name(&row.new_name).unwrap_or(original.name),
            created_s: self.unix_s,
            permissions: Permissions { last_owner: self.agent.0, ..original.permissions },
            sale: Sale::default(),
            ..original
        };
        let made = replies::item(self.agent, &copy, row.callback_id);
        Ok(Step { change: Ok(InventoryChange::CreateItem(copy)), made, refused })
    }

    /// An item that the user may copy. Items of the library are for all users, and a copied link is another link.
    fn original(&self, id: Uuid) -> Result<Result<Item, ChangeRefusal>, ChangeInventoryError> {
        if let Some(own) = self.store.item(self.agent, id)? {
            let is_allowed = is_link(&own) || permissions::may_copy(&own.permissions);
            return Ok(if is_allowed { Ok(own) } else { Err(ChangeRefusal::NoCopy) });
        }
        Ok(library_item(id).cloned().ok_or_else(|| unknown(id)))
    }

    /// Links to an item or folder of the user, which becomes the link's asset: viewers copy items of the library before they link them.
    pub(super) fn link_item(
        &self,
        row: &LinkInventoryItemInventoryBlock,
    ) -> Result<Step, ChangeInventoryError> {
        let refused = replies::unmade_link(row);
        let target = match self.link_target(row.r#type, row.old_item_id)? {
            Ok(target) => target,
            Err(refusal) => return Ok(Step { change: Err(refusal), made: Answer::Nothing, refused }),
        };
        let link = Item {
            id: random_id()?,
            folder: row.folder_id,
            asset: row.old_item_id,
            asset_type: row.r#type,
            inventory_type: target.inventory_type,
            name: text::name(&row.name).unwrap_or(target.name),
            description: text::description(&row.description),
            flags: target.flags,
            created_s: self.unix_s,
            permissions: permissions::of_link(self.agent),
            sale: Sale::default(),
        };
        let made = replies::made_item(self.agent, &link, row.callback_id);
        Ok(Step { change: Ok(InventoryChange::CreateItem(link)), made, refused })
    }

    fn link_target(
        &self,
        link_type: i8,
        id: Uuid,
    ) -> Result<Result<LinkTarget, ChangeRefusal>, ChangeInventoryError> {
        Ok(match link_type {
            AssetType::LINK => match self.store.item(self.agent, id)? {
                Some(link) if is_link(&link) => Err(ChangeRefusal::LinkToLink),
                Some(Item { name, inventory_type, flags, .. }) => {
                    Ok(LinkTarget { name, inventory_type, flags })
                }
                None if library_item(id).is_some() => Err(ChangeRefusal::LinkToLibrary),
                None => Err(unknown(id)),
            },
            AssetType::FOLDER_LINK => match self.store.folder(self.agent, id)? {
                Some(folder) => {
                    Ok(LinkTarget { name: folder.name, inventory_type: InventoryType::FOLDER, flags: 0 })
                }
                None if library_folder(id).is_some() => Err(ChangeRefusal::LinkToLibrary),
                None => Err(InventoryRefusal::UnknownFolder(id).into()),
            },
            other => Err(ChangeRefusal::LinkType(other)),
        })
    }
}
