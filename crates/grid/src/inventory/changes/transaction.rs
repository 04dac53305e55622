//! Assets of items that come with an upload: clients send the content of an asset under a transaction, and an item that names the transaction gets it.
//!
//! There are no such uploads yet, so that each transaction is unknown. An item without one begins without an asset, if viewers show its kind empty.

use super::super::{AssetType, InventoryType};
use super::ChangeRefusal;
use uuid::Uuid;

/// The content with which an item begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content {
    /// Nil as long as there is none.
    pub(super) asset: Uuid,
    /// Display of the item.
    pub(super) inventory_type: i8,
}

/// Content of a new item of a kind.
pub(super) fn content(transaction: Uuid, asset_type: i8) -> Result<Content, ChangeRefusal> {
    check(transaction)?;
    let inventory_type = match asset_type {
        AssetType::CALLING_CARD => InventoryType::CALLING_CARD,
        AssetType::NOTECARD => InventoryType::NOTECARD,
        AssetType::SCRIPT => InventoryType::SCRIPT,
        AssetType::GESTURE => InventoryType::GESTURE,
        AssetType::SETTINGS => InventoryType::SETTINGS,
        AssetType::MATERIAL => InventoryType::MATERIAL,
        other => return Err(ChangeRefusal::NoContent(other)),
    };
    Ok(Content { asset: Uuid::nil(), inventory_type })
}

/// Refuses a request with a transaction.
pub(super) const fn check(transaction: Uuid) -> Result<(), ChangeRefusal> {
    if transaction.is_nil() { Ok(()) } else { Err(ChangeRefusal::UnknownUpload) }
}
