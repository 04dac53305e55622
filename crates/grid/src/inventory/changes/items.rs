//! Requests about items: new ones, their properties, their places.
//!
//! An item's kinds, creator, base and owner mask never change. Its asset changes by an upload only (`transaction`).

use super::permissions::{self, SharedMasks};
use super::replies::{self, Answer};
use super::{ChangeInventoryError, ChangeRefusal, Planner, Step, gestures, text};
use crate::asset_sources::blank_content;
use crate::inventory::AssetType;
use crate::random_id;
use assets::AssetKind;
use store::{InventoryChange, InventoryRefusal, Item, ItemUpdate, Sale};
use uuid::Uuid;
use wire::messages::*;
use wire::text::from_wire;

/// Name of an item without a name.
pub(super) const UNNAMED: &str = "New Item";
/// Bits of the flags by which kinds of wearables and of settings differ.
pub(super) const SUBTYPE: u32 = 0xFF;

impl Planner<'_> {
    pub(super) fn create_item(
        &self,
        row: &CreateInventoryItemInventoryBlock,
    ) -> Result<Step, ChangeInventoryError> {
        let refused = replies::unmade_item(row);
        let content = match self.new_content(row.transaction_id, row.r#type, row.inv_type)? {
            Ok(content) => content,
            Err(refusal) => return Ok(Step { change: Err(refusal), made: Answer::Nothing, refused }),
        };
        let kind = AssetKind::from_number(row.r#type).filter(|_| content.asset.is_nil());
        let item = Item {
            id: random_id()?,
            folder: row.folder_id,
            asset: kind.map_or(content.asset, |kind| blank_content(kind, row.wearable_type)),
            asset_type: row.r#type,
            inventory_type: content.inventory_type,
            name: text::name(&row.name).unwrap_or_else(|| UNNAMED.to_owned()),
            description: text::description(&row.description),
            // Other kinds have a number in this field that stands for none.
            flags: if has_subtype(row.r#type) { row.wearable_type.into() } else { 0 },
            created_s: self.unix_s,
            permissions: permissions::of_new_item(self.agent, row.next_owner_mask),
            sale: Sale::default(),
        };
        let made = replies::made_item(self.agent, &item, row.callback_id);
        Ok(Step { change: Ok(InventoryChange::CreateItem(item)), made, refused })
    }

    /// Changes name, description, flags, masks and sale. Clients state all of an item; owner, group, kinds and folder are not read.
    pub(super) fn update_item(
        &self,
        row: &UpdateInventoryItemInventoryData,
    ) -> Result<Step, ChangeInventoryError> {
        let refused = match row.callback_id {
            0 => Answer::StoredItem(row.item_id),
            _ => replies::unchanged_item(row),
        };
        let Some(stored) = self.store.item(self.agent, row.item_id)? else {
            return Ok(Step::shown(Err(unknown(row.item_id)), refused));
        };
        let uploaded = match self.new_asset(&stored, row.transaction_id)? {
            Ok(uploaded) => uploaded,
            Err(refusal) => return Ok(Step::shown(Err(refusal), refused)),
        };
        let updated = match updated(&stored, row) {
            Ok(updated) => Item { asset: uploaded.unwrap_or(updated.asset), ..updated },
            Err(refusal) => return Ok(Step::shown(Err(refusal), refused)),
        };
        // A client that has uploaded waits for the item to learn of its asset.
        let made = if row.callback_id != 0 || uploaded.is_some() {
            replies::made_item(self.agent, &updated, row.callback_id)
        } else if is_as_stated(&updated, row) {
            // The client shows it already.
            Answer::Nothing
        } else {
            replies::item(self.agent, &updated, 0)
        };
        let update = ItemUpdate {
            item: stored.id,
            asset: uploaded,
            name: Some(updated.name),
            description: Some(updated.description),
            flags: Some(updated.flags),
            permissions: Some(updated.permissions),
            sale: Some(updated.sale),
        };
        Ok(Step { change: Ok(InventoryChange::UpdateItem(update)), made, refused })
    }

    /// The asset that an upload brings for an item; none without a transaction.
    fn new_asset(
        &self,
        stored: &Item,
        transaction: Uuid,
    ) -> Result<Result<Option<Uuid>, ChangeRefusal>, ChangeInventoryError> {
        if transaction.is_nil() {
            return Ok(Ok(None));
        }
        if !permissions::may_modify(&stored.permissions) {
            return Ok(Err(ChangeRefusal::NoModify));
        }
        Ok(self.uploaded(transaction, stored.asset_type)?.map(Some))
    }

    pub(super) fn change_flags(
        &self,
        row: &ChangeInventoryItemFlagsInventoryData,
    ) -> Result<Step, ChangeInventoryError> {
        let Some(stored) = self.store.item(self.agent, row.item_id)? else {
            return Ok(Step::silent(Err(unknown(row.item_id))));
        };
        let flags = Some(flags(&stored, row.flags));
        let update = ItemUpdate { item: stored.id, flags, ..ItemUpdate::default() };
        Ok(Step::shown(Ok(InventoryChange::UpdateItem(update)), Answer::StoredItem(stored.id)))
    }
}

pub(super) fn relocate(row: &MoveInventoryItemInventoryData) -> Step {
    let (item, folder, name) = (row.item_id, row.folder_id, text::name(&row.new_name));
    Step::shown(Ok(InventoryChange::MoveItem { item, folder, name }), Answer::StoredItem(item))
}

pub(super) fn remove(item: Uuid) -> Step {
    Step::silent(Ok(InventoryChange::RemoveItem { item }))
}

/// Refusal of a request about an item that the owner does not have.
pub(super) const fn unknown(item: Uuid) -> ChangeRefusal {
    ChangeRefusal::Store(InventoryRefusal::UnknownItem(item))
}

/// True for links to items and to folders.
pub(super) const fn is_link(item: &Item) -> bool {
    matches!(item.asset_type, AssetType::LINK | AssetType::FOLDER_LINK)
}

/// The item as a request changes it.
fn updated(stored: &Item, row: &UpdateInventoryItemInventoryData) -> Result<Item, ChangeRefusal> {
    let renamed = Item {
        name: text::name(&row.name).unwrap_or_else(|| stored.name.clone()),
        description: text::description(&row.description),
        ..stored.clone()
    };
    if is_link(stored) {
        return Ok(renamed);
    }
    Ok(Item {
        flags: flags(stored, row.flags),
        permissions: permissions::with_masks(&stored.permissions, stated_masks(row)),
        sale: permissions::sale(row.sale_type, row.sale_price)?,
        ..renamed
    })
}

const fn stated_masks(row: &UpdateInventoryItemInventoryData) -> SharedMasks {
    SharedMasks { group: row.group_mask, everyone: row.everyone_mask, next_owner: row.next_owner_mask }
}

/// True if a client that shows what it has stated shows the item as it is.
fn is_as_stated(item: &Item, row: &UpdateInventoryItemInventoryData) -> bool {
    let has_texts = item.name == from_wire(&row.name) && item.description == from_wire(&row.description);
    let has_masks = SharedMasks::of(&item.permissions).known() == stated_masks(row).known();
    let is_for_sale = item.sale.kind == row.sale_type;
    has_texts && (is_link(item) || has_masks && is_for_sale && item.flags == row.flags)
}

/// True for kinds whose flags have a subtype.
pub(super) const fn has_subtype(asset_type: i8) -> bool {
    matches!(asset_type, AssetType::CLOTHING | AssetType::BODY_PART | AssetType::SETTINGS)
}

/// Flags with the subtype that the item was made with, and the stored state of a gesture.
const fn flags(stored: &Item, flags: u32) -> u32 {
    if has_subtype(stored.asset_type) {
        flags & !SUBTYPE | stored.flags & SUBTYPE
    } else {
        gestures::kept(stored, flags)
    }
}
