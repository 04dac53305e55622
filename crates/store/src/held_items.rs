//! Transfers with an item of an inventory at their far end: an object that was taken, and that its owner's inventory has from now on; a marked item that is in a
//! region now; and both taken back.
//!
//! Like those of [held objects](crate::HeldChange), their effects are part of the save of a region. The ids of what they make follow from the transfer, so that a save
//! whose outcome was unknown makes the same, and `earlier` reports it again.

use crate::InventoryLimits;
use crate::asset::{AssetAdded, AssetRow, add_asset};
use crate::engine::{EngineError, Session};
use crate::held_row::HeldRow;
use crate::identity::identity;
use crate::inventory::edit::{FolderChoice, InventoryEdit, Received};
use crate::inventory::{Folder, Item, marks};
use ids::{AgentId, HeldKey, Ticket};
use std::collections::{BTreeMap, BTreeSet};
use uuid::{Builder, Uuid};

mod earlier;
mod worn;

pub(crate) use earlier::{gone, inserted, there, undone};

/// Type of the folder Lost and Found.
const LOST_AND_FOUND: i8 = 16;

/// The transfer by which an item came into an inventory. Its id follows from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemOrigin {
    /// Region and ticket.
    pub key: HeldKey,
    /// The user who has the item.
    pub owner: AgentId,
    /// Time at which it left the region, seconds since 1970. A region whose row is lost may give a ticket again.
    pub held_s: i64,
}

/// An object, or an item of a prim, that comes into an inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemTransfer {
    /// Its origin.
    pub origin: ItemOrigin,
    /// Its folder.
    pub folder: FolderChoice,
    /// Name of the wanted folder, which is made in the root if the owner does not have it; none for a folder that exists.
    pub new_folder: Option<String>,
    /// The item that gets the asset in place of a new one, if the owner has it: an object that was saved. What an undone ticket has saved stays saved.
    pub replaces: Option<Uuid>,
    /// The item, with null ids in place of those that are chosen here: its own, that of its folder, and that of a new asset.
    pub item: Item,
    /// The asset, with a null id, whose bytes are on the disk already; none if the item names an asset that exists.
    pub asset: Option<AssetRow>,
    /// The row that holds the object instead, if its owner has no inventory. Without one, nothing is left of the item then.
    pub row: Option<HeldRow>,
}

/// Effect of a transfer on an inventory, as it is on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemEffect {
    /// The ticket.
    pub ticket: Ticket,
    /// Owner of the inventory.
    pub owner: AgentId,
    /// The item as it is, or as it was before it went. If an earlier save has taken it out, only the id is left, and its folder is null.
    pub item: Item,
    /// False for an item that is gone.
    pub is_there: bool,
    /// New version of its folder; 0 if that is not known.
    pub version: i32,
    /// The folder, if it was made with the item.
    pub new_folder: Option<Folder>,
}

/// Inventories that a save changes, in a transaction.
#[derive(Debug)]
pub(crate) struct ChangedInventories {
    edits: BTreeMap<AgentId, InventoryEdit>,
    identity: Option<Uuid>,
    /// Items that came by tickets that are undone: the region has their objects, also those that went back into it by one of these tickets.
    undone: BTreeSet<Uuid>,
    /// Items that went because their objects were put down.
    put_down: BTreeMap<Uuid, Item>,
}

impl ChangedInventories {
    /// Begins with the inventories of these users, in the order of their ids.
    pub(crate) fn begin(session: &mut Session<'_>, owners: BTreeSet<AgentId>) -> Result<Self, EngineError> {
        let mut edits = BTreeMap::new();
        for owner in owners {
            if let Some(edit) = InventoryEdit::begin(session, owner, InventoryLimits::NONE)? {
                edits.insert(owner, edit);
            }
        }
        Ok(Self { edits, identity: None, undone: BTreeSet::new(), put_down: BTreeMap::new() })
    }

    /// Puts an item into its owner's inventory; `None` if it can take none, so that a row has to hold the object.
    pub(crate) fn insert(
        &mut self,
        session: &mut Session<'_>,
        ticket: Ticket,
        transfer: &ItemTransfer,
    ) -> Result<Option<ItemEffect>, EngineError> {
        let ItemTransfer { origin, folder, new_folder, replaces, item, asset, .. } = transfer;
        let identity = self.identity(session)?;
        let Some(edit) = self.edits.get_mut(&origin.owner) else { return Ok(None) };
        let asset = asset.as_ref().map(|row| AssetRow { id: asset_id(identity, origin, row), ..row.clone() });
        let item = Item {
            id: item_id(identity, origin),
            asset: asset.as_ref().map_or(item.asset, |row| row.id),
            ..item.clone()
        };
        let replaced = match replaces {
            Some(replaced) => edit.replace_content(session, *replaced, item.asset)?,
            None => None,
        };
        let received = match replaced {
            Some((item, version)) => Received { item, version, new_folder: None },
            None => match edit.receive(session, &item, *folder, new_folder.as_deref())? {
                Some(received) => received,
                None => return Ok(None),
            },
        };
        if let Some(row) = &asset
            && add_asset(session, row)? == AssetAdded::Taken
        {
            return Err(EngineError::unfit(format!("the asset {} has another content", row.id)));
        }
        Ok(Some(came(ticket, origin.owner, received)))
    }

    /// Takes the item with a mark out of its inventory: it is in a region now.
    pub(crate) fn remove(
        &mut self,
        session: &mut Session<'_>,
        ticket: Ticket,
        key: HeldKey,
    ) -> Result<Option<ItemEffect>, EngineError> {
        let Some((owner, item)) = marks::marked_item(session, key)? else { return Ok(None) };
        let effect = self.give_up(session, ticket, owner, item)?;
        marks::release(session, key)?;
        Ok(effect)
    }

    /// Takes the item that came with a transfer out of its inventory: the object is in the region after all.
    pub(crate) fn undo(
        &mut self,
        session: &mut Session<'_>,
        ticket: Ticket,
        origin: &ItemOrigin,
    ) -> Result<Option<ItemEffect>, EngineError> {
        let item = item_id(self.identity(session)?, origin);
        self.undone.insert(item);
        self.give_up(session, ticket, origin.owner, item)
    }

    /// Puts an item back that went into a region: it is not there after all. To be called behind [`Self::undo`] of all tickets that are undone.
    pub(crate) fn put_back(
        &mut self,
        session: &mut Session<'_>,
        ticket: Ticket,
        owner: AgentId,
        item: &Item,
    ) -> Result<Option<ItemEffect>, EngineError> {
        let Some(edit) = self.edits.get_mut(&owner).filter(|_| !self.undone.contains(&item.id)) else {
            return Ok(None);
        };
        let choice = FolderChoice { wanted: item.folder, type_default: LOST_AND_FOUND };
        let received = edit.receive(session, item, choice, None)?;
        Ok(received.map(|received| came(ticket, owner, received)))
    }

    fn give_up(
        &mut self,
        session: &mut Session<'_>,
        ticket: Ticket,
        owner: AgentId,
        item: Uuid,
    ) -> Result<Option<ItemEffect>, EngineError> {
        let Some(edit) = self.edits.get_mut(&owner) else { return Ok(None) };
        let removed = edit.give_up(session, item)?;
        let gone = |(item, version)| {
            let (is_there, new_folder) = (false, None);
            ItemEffect { ticket, owner, item, is_there, version, new_folder }
        };
        Ok(removed.map(gone))
    }

    fn identity(&mut self, session: &mut Session<'_>) -> Result<Uuid, EngineError> {
        let known = match self.identity {
            Some(known) => known,
            None => identity(session)?,
        };
        Ok(*self.identity.insert(known))
    }
}

fn came(ticket: Ticket, owner: AgentId, received: Received) -> ItemEffect {
    let Received { item, version, new_folder } = received;
    ItemEffect { ticket, owner, item, is_there: true, version, new_folder }
}

fn item_id(identity: Uuid, origin: &ItemOrigin) -> Uuid {
    derived_id(identity, "item", origin, &[])
}

/// An id always stands for one content, also in a database that was restored from a backup and continues from there.
fn asset_id(identity: Uuid, origin: &ItemOrigin, row: &AssetRow) -> Uuid {
    derived_id(identity, "asset", origin, &row.hash.0)
}

/// In the form of random ids.
fn derived_id(identity: Uuid, kind: &str, origin: &ItemOrigin, content: &[u8]) -> Uuid {
    let ItemOrigin { key, owner, held_s } = origin;
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(kind.as_bytes())
        .update(identity.as_bytes())
        .update(&key.region.0.to_le_bytes())
        .update(&key.ticket.0.to_le_bytes())
        .update(owner.0.as_bytes())
        .update(&held_s.to_le_bytes())
        .update(content);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Builder::from_random_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
