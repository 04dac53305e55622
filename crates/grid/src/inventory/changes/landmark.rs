//! Landmarks of the place where the avatar stands: clients ask for an item without content, and the server makes its asset.

use super::{
    ChangeInventoryError, ChangeRefusal, InventoryParts, InventoryReplies, InventoryRequest, items,
    permissions, refusal, replies, text,
};
use crate::inventory::InventoryType;
use crate::random_id;
use assets::{AddAssetError, AssetKind, NewAsset, NewAssets, landmark_text};
use ids::{AgentId, RegionHandle};
use std::sync::mpsc::sync_channel;
use store::{InventoryChange, Item, ItemChange, Sale, StoreError};
use uuid::Uuid;
use wire::messages::*;

/// Origin of these assets.
const ORIGIN: &str = "landmark";

/// The place where an avatar stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Its region.
    pub region: Uuid,
    /// The region's position on the grid.
    pub handle: RegionHandle,
    /// Metres from the region's corner.
    pub position: [f32; 3],
}

/// The request for a landmark without content.
pub(super) fn of_here(request: &InventoryRequest) -> Option<&CreateInventoryItem> {
    let InventoryRequest::CreateItem(m) = request else { return None };
    let row = &m.inventory_block;
    let is_here = row.r#type == AssetKind::Landmark.number() && row.transaction_id.is_nil();
    is_here.then_some(m)
}

/// Makes a landmark: asset and item in one transaction, which is on the disk when this returns. No place stands for an instance, which may end.
pub(super) fn make(
    parts: InventoryParts<'_>,
    agent: AgentId,
    m: &CreateInventoryItem,
    standing: Option<Standing>,
    unix_s: i64,
) -> Result<InventoryReplies, ChangeInventoryError> {
    let row = &m.inventory_block;
    let made = match standing {
        None => Err(ChangeRefusal::NoPlace),
        Some(standing) => store_both(parts, agent, row, &standing, unix_s)?,
    };
    let mut rows = replies::ReplyRows::default();
    let refusal = match made {
        Ok(item) => {
            rows.push(replies::made_item(agent, &item, row.callback_id));
            None
        }
        Err(refusal) => {
            rows.push(replies::unmade_item(row));
            refusal::alert_text(&[refusal])
        }
    };
    let messages = rows.into_messages(agent, row.transaction_id);
    Ok(InventoryReplies { messages, refusal, ..InventoryReplies::default() })
}

/// Stores the asset with its item.
fn store_both(
    parts: InventoryParts<'_>,
    agent: AgentId,
    row: &CreateInventoryItemInventoryBlock,
    standing: &Standing,
    unix_s: i64,
) -> Result<Result<Item, ChangeRefusal>, ChangeInventoryError> {
    let kind = AssetKind::Landmark;
    let item = Item {
        id: random_id()?,
        folder: row.folder_id,
        asset: random_id()?,
        asset_type: kind.number(),
        inventory_type: InventoryType::LANDMARK,
        name: text::name(&row.name).unwrap_or_else(|| items::UNNAMED.to_owned()),
        description: text::description(&row.description),
        flags: 0,
        created_s: unix_s,
        permissions: permissions::of_new_item(agent, row.next_owner_mask),
        sale: Sale::default(),
    };
    let asset = NewAsset {
        id: item.asset,
        kind,
        bytes: landmark_text(standing.region, standing.position, standing.handle.0).into(),
        creator: agent,
        origin: ORIGIN.into(),
        is_temporary: false,
    };
    let change = ItemChange { owner: agent, change: InventoryChange::CreateItem(item.clone()) };
    let (done, stored) = sync_channel(1);
    let new = NewAssets { assets: vec![asset], item: Some(change) };
    // The room of one is free: the thread that writes does not wait.
    parts.assets.stored().add_all(new, Box::new(move |outcome| drop(done.send(outcome))));
    match stored.recv().unwrap_or(Err(AddAssetError::Ended)) {
        Ok(()) => Ok(Ok(item)),
        Err(AddAssetError::Item(refusal)) => Ok(Err(refusal.into())),
        Err(AddAssetError::UnknownOwner) => Err(StoreError::UnknownAccount(agent).into()),
        Err(why) => Ok(Err(ChangeRefusal::NotStored(why))),
    }
}
