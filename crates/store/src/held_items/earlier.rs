//! Effects of transfers that an earlier save has carried out, reported again: the answer of that save was lost, and with it the news for the owners' clients.
//!
//! They show the inventories as they are now, so that a report that comes twice, or after the owner has changed the item, says nothing that is wrong. An item that
//! is not there any more has only its id left, also if the owner has removed it since, or never had it because a row holds the object.

use super::{ItemEffect, ItemOrigin, ItemTransfer, came, item_id};
use crate::engine::{EngineError, Session};
use crate::identity::identity;
use crate::inventory::edit::Received;
use crate::inventory::{Item, Permissions, Sale, find_folder, find_item, has_item};
use ids::{AgentId, Ticket};
use uuid::Uuid;

/// The item of a transfer into an inventory, or the one that it has replaced.
pub(crate) fn inserted(
    session: &mut Session<'_>,
    ticket: Ticket,
    transfer: &ItemTransfer,
) -> Result<Option<ItemEffect>, EngineError> {
    let owner = transfer.origin.owner;
    let id = item_id(identity(session)?, &transfer.origin);
    let mut effect = there(session, ticket, owner, id)?;
    if effect.is_none()
        && let Some(replaced) = transfer.replaces
    {
        effect = there(session, ticket, owner, replaced)?;
    }
    let Some(mut effect) = effect else { return Ok(None) };
    if transfer.new_folder.is_some() {
        effect.new_folder = find_folder(session, owner, effect.item.folder)?;
    }
    Ok(Some(effect))
}

/// The item of a transfer that was taken back.
pub(crate) fn undone(
    session: &mut Session<'_>,
    ticket: Ticket,
    origin: &ItemOrigin,
) -> Result<Option<ItemEffect>, EngineError> {
    let item = item_id(identity(session)?, origin);
    gone(session, ticket, origin.owner, item)
}

/// An item as it is; `None` without it.
pub(crate) fn there(
    session: &mut Session<'_>,
    ticket: Ticket,
    owner: AgentId,
    id: Uuid,
) -> Result<Option<ItemEffect>, EngineError> {
    let Some(item) = find_item(session, owner, id)? else { return Ok(None) };
    let version = find_folder(session, owner, item.folder)?.map_or(0, |folder| folder.version);
    Ok(Some(came(ticket, owner, Received { item, version, new_folder: None })))
}

/// An item that is not there; `None` if it is.
pub(crate) fn gone(
    session: &mut Session<'_>,
    ticket: Ticket,
    owner: AgentId,
    id: Uuid,
) -> Result<Option<ItemEffect>, EngineError> {
    if has_item(session, owner, id)? {
        return Ok(None);
    }
    let (item, is_there, new_folder) = (with_nothing_but(id), false, None);
    Ok(Some(ItemEffect { ticket, owner, item, is_there, version: 0, new_folder }))
}

fn with_nothing_but(id: Uuid) -> Item {
    let nil = Uuid::nil();
    let permissions = Permissions {
        creator: nil,
        last_owner: nil,
        group: nil,
        group_owned: false,
        base: 0,
        owner: 0,
        group_mask: 0,
        everyone: 0,
        next_owner: 0,
    };
    Item {
        id,
        folder: nil,
        asset: nil,
        asset_type: 0,
        inventory_type: 0,
        name: String::new(),
        description: String::new(),
        flags: 0,
        created_s: 0,
        permissions,
        sale: Sale::default(),
    }
}
