//! Transfers of worn objects: each has the item that it is worn as at its far end.

use super::earlier::there;
use super::{ChangedInventories, ItemEffect, asset_id, came, derived_id};
use crate::asset::{AssetAdded, AssetRow, add_asset, asset_identity};
use crate::engine::{EngineError, Session};
use crate::held_items::ItemOrigin;
use crate::inventory::edit::FolderChoice;
use crate::inventory::{Item, find_item};
use crate::worn_objects::{WornArrival, WornAsset, WornSave};
use crate::worn_rows::{self, WornRow};
use ids::{AgentId, HeldKey, Ticket};
use uuid::Uuid;

/// Type of objects, for the folder of their items.
const OBJECT: i8 = 6;
/// Type of the folder Lost and Found.
const LOST_AND_FOUND: i8 = 16;

impl ChangedInventories {
    /// Makes an item of an object that came from the ground, and the row that it is worn; `None` if the inventory can take none, so that a row of held objects has
    /// to have it.
    pub(crate) fn put_on(
        &mut self,
        session: &mut Session<'_>,
        ticket: Ticket,
        arrival: &WornArrival,
    ) -> Result<Option<ItemEffect>, EngineError> {
        let WornArrival { origin, item, asset, row, .. } = arrival;
        let Some(asset) = asset else { return Ok(None) };
        let identity = self.identity(session)?;
        let Some(edit) = self.edits.get_mut(&origin.owner) else { return Ok(None) };
        let asset = AssetRow { id: asset_id(identity, origin, asset), ..asset.clone() };
        let item = Item { asset: asset.id, ..item.clone() };
        let choice = FolderChoice { wanted: Uuid::nil(), type_default: OBJECT };
        let Some(received) = edit.receive(session, &item, choice, None)? else { return Ok(None) };
        add(session, &asset)?;
        worn_rows::insert(session, row)?;
        Ok(Some(came(ticket, origin.owner, received)))
    }

    /// Takes the item of an object out that lies on the ground now. Nothing happens to one that is not worn.
    pub(crate) fn put_down(
        &mut self,
        session: &mut Session<'_>,
        ticket: Ticket,
        (owner, item): (AgentId, Uuid),
    ) -> Result<Option<ItemEffect>, EngineError> {
        if !worn_rows::is_worn(session, owner, item)? {
            return Ok(None);
        }
        let effect = self.give_up(session, ticket, owner, item)?;
        self.put_down.extend(effect.iter().map(|effect| (item, effect.item.clone())));
        Ok(effect)
    }

    /// Takes the item of an object out that is on the ground after all.
    pub(crate) fn undo_put_on(
        &mut self,
        session: &mut Session<'_>,
        ticket: Ticket,
        (owner, item): (AgentId, Uuid),
    ) -> Result<Option<ItemEffect>, EngineError> {
        self.undone.insert(item);
        self.give_up(session, ticket, owner, item)
    }

    /// Lets an object be worn again that has neither been taken off nor put down after all, with its item if that is gone.
    pub(crate) fn wear_again(
        &mut self,
        session: &mut Session<'_>,
        ticket: Ticket,
        row: &WornRow,
        item: Option<&Item>,
    ) -> Result<Option<ItemEffect>, EngineError> {
        let Some(edit) = self.edits.get_mut(&row.owner).filter(|_| !self.undone.contains(&row.item)) else {
            return Ok(None);
        };
        let mut effect = None;
        if let Some(item) = self.put_down.get(&row.item).or(item) {
            let choice = FolderChoice { wanted: item.folder, type_default: LOST_AND_FOUND };
            let received = edit.receive(session, item, choice, None)?;
            effect = received.map(|received| came(ticket, row.owner, received));
        }
        let is_there = edit.has_item(session, row.item)?;
        if is_there && !worn_rows::is_worn(session, row.owner, row.item)? {
            worn_rows::insert(session, row)?;
        }
        Ok(effect)
    }

    /// Keeps the newer state of a worn object, and gives its item an asset with it if there is one. Nothing happens if the state is not newer; if the item has got
    /// this very asset by an earlier save, that is reported again.
    pub(crate) fn save_worn(
        &mut self,
        session: &mut Session<'_>,
        ticket: Ticket,
        save: &WornSave,
    ) -> Result<Option<ItemEffect>, EngineError> {
        let WornSave { row, ends, asset, .. } = save;
        let is_newer =
            if *ends { worn_rows::remove(session, row)? } else { worn_rows::update(session, row)? };
        let Some(WornAsset { asset, permissions }) = asset else { return Ok(None) };
        let identity = self.identity(session)?;
        let id = match current_asset(session, row, asset)? {
            // It was worn as it was before.
            Some(current) => current,
            None => {
                // The revision and the content stand for the state: a repeated save finds the asset there.
                let key = HeldKey { region: HeldKey::ITEMS, ticket: Ticket(0) };
                let origin = ItemOrigin { key, owner: row.owner, held_s: row.revision };
                let content = [&row.item.as_bytes()[..], &asset.hash.0].concat();
                derived_id(identity, "worn", &origin, &content)
            }
        };
        let asset = AssetRow { id, ..asset.clone() };
        if !is_newer {
            let effect = there(session, ticket, row.owner, row.item)?;
            return Ok(effect.filter(|effect| effect.item.asset == asset.id));
        }
        let Some(edit) = self.edits.get_mut(&row.owner) else { return Ok(None) };
        let Some((item, version)) = edit.renew(session, row.item, asset.id, permissions)? else {
            return Ok(None);
        };
        add(session, &asset)?;
        let (owner, new_folder) = (row.owner, None);
        Ok(Some(ItemEffect { ticket, owner, item, is_there: true, version, new_folder }))
    }
}

/// The asset of a worn item, if it has this content.
fn current_asset(
    session: &mut Session<'_>,
    row: &WornRow,
    asset: &AssetRow,
) -> Result<Option<Uuid>, EngineError> {
    let Some(item) = find_item(session, row.owner, row.item)? else { return Ok(None) };
    let identity = asset_identity(session, item.asset)?;
    Ok((identity == Some((asset.hash, asset.kind))).then_some(item.asset))
}

fn add(session: &mut Session<'_>, asset: &AssetRow) -> Result<(), EngineError> {
    match add_asset(session, asset)? {
        AssetAdded::New | AssetAdded::Known => Ok(()),
        AssetAdded::Taken => Err(EngineError::unfit(format!("the asset {} has another content", asset.id))),
    }
}
