//! Answers to requests, as rows of the messages that carry them.
//!
//! UpdateCreateInventoryItem answers new items and links, BulkUpdateInventory copies, and whatever a client shows in another way than it is stored. Rows without
//! an id are negative: viewers skip them, and fire the callback.

use crate::inventory::datagrams::{
    DESCRIPTION_MAX, FOLDERS_PER_MESSAGE, ITEMS_PER_MESSAGE, NAME_MAX, item_row,
};
use ids::AgentId;
use store::{Folder, Item, Store, StoreError};
use uuid::Uuid;
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, from_wire, to_wire};

/// Answer to a client about a row of its request.
pub(super) enum Answer {
    Nothing,
    /// A row of UpdateCreateInventoryItem.
    Made(UpdateCreateInventoryItemInventoryData),
    /// A row of BulkUpdateInventory about an item.
    Item(BulkUpdateInventoryItemData),
    /// A row of BulkUpdateInventory about a folder.
    Folder(BulkUpdateInventoryFolderData),
    /// The item as it is in the store, if it is there.
    StoredItem(Uuid),
    /// The folder as it is in the store, if it is there.
    StoredFolder(Uuid),
}

/// The fields of a row of InventoryDescendents in the row of another message, which has a callback besides.
macro_rules! with_callback {
    ($Row:ident, $row:expr, $callback_id:expr) => {{
        let row: InventoryDescendentsItemData = $row;
        $Row {
            item_id: row.item_id,
            folder_id: row.folder_id,
            callback_id: $callback_id,
            creator_id: row.creator_id,
            owner_id: row.owner_id,
            group_id: row.group_id,
            base_mask: row.base_mask,
            owner_mask: row.owner_mask,
            group_mask: row.group_mask,
            everyone_mask: row.everyone_mask,
            next_owner_mask: row.next_owner_mask,
            group_owned: row.group_owned,
            asset_id: row.asset_id,
            r#type: row.r#type,
            inv_type: row.inv_type,
            flags: row.flags,
            sale_type: row.sale_type,
            sale_price: row.sale_price,
            name: row.name,
            description: row.description,
            creation_date: row.creation_date,
            crc: row.crc,
        }
    }};
}

/// A new item or link, for its callback.
pub(super) fn made_item(agent: AgentId, item: &Item, callback_id: u32) -> Answer {
    Answer::Made(with_callback!(UpdateCreateInventoryItemInventoryData, item_row(agent.0, item), callback_id))
}

/// An item as the client has it from now on.
pub(super) fn item(agent: AgentId, item: &Item, callback_id: u32) -> Answer {
    Answer::Item(with_callback!(BulkUpdateInventoryItemData, item_row(agent.0, item), callback_id))
}

/// A folder as the client has it from now on.
pub(super) fn folder(folder: &Folder) -> Answer {
    Answer::Folder(BulkUpdateInventoryFolderData {
        folder_id: folder.id,
        parent_id: folder.parent,
        r#type: folder.type_default,
        name: to_wire(&folder.name, NAME_MAX),
    })
}

/// A null item with the fields of a request.
macro_rules! null_item {
    ($row:expr) => {
        Answer::Made(UpdateCreateInventoryItemInventoryData {
            folder_id: $row.folder_id,
            callback_id: $row.callback_id,
            r#type: $row.r#type,
            inv_type: $row.inv_type,
            name: cut(&$row.name, NAME_MAX),
            description: cut(&$row.description, DESCRIPTION_MAX),
            ..UpdateCreateInventoryItemInventoryData::default()
        })
    };
}

/// The null item for the callback of an item that is not made.
pub(super) fn unmade_item(row: &CreateInventoryItemInventoryBlock) -> Answer {
    null_item!(row)
}

/// The null item for the callback of a link that is not made.
pub(super) fn unmade_link(row: &LinkInventoryItemInventoryBlock) -> Answer {
    null_item!(row)
}

/// The null item for the callback of new properties that an item does not get.
pub(super) fn unchanged_item(row: &UpdateInventoryItemInventoryData) -> Answer {
    null_item!(row)
}

/// The null item for the callback of a copy that is not made.
pub(super) fn unmade_copy(row: &CopyInventoryItemInventoryData) -> Answer {
    Answer::Item(BulkUpdateInventoryItemData {
        callback_id: row.callback_id,
        folder_id: row.new_folder_id,
        name: cut(&row.new_name, NAME_MAX),
        description: to_wire("", VARIABLE1_MAX),
        ..BulkUpdateInventoryItemData::default()
    })
}

/// A text of a request, cut to the room of a datagram's rows.
fn cut(field: &[u8], max: usize) -> Vec<u8> {
    to_wire(&from_wire(field), max)
}

/// The answer to a refused row, with the stored item or folder where it names one.
pub(super) fn as_stored(store: &Store, agent: AgentId, answer: Answer) -> Result<Answer, StoreError> {
    Ok(match answer {
        Answer::StoredItem(id) => {
            store.item(agent, id)?.map_or(Answer::Nothing, |stored| item(agent, &stored, 0))
        }
        Answer::StoredFolder(id) => {
            store.folder(agent, id)?.map_or(Answer::Nothing, |stored| folder(&stored))
        }
        other => other,
    })
}

/// Rows that wait to be messages.
#[derive(Default)]
pub(super) struct ReplyRows {
    made: Vec<UpdateCreateInventoryItemInventoryData>,
    items: Vec<BulkUpdateInventoryItemData>,
    folders: Vec<BulkUpdateInventoryFolderData>,
}

impl ReplyRows {
    pub(super) fn push(&mut self, answer: Answer) {
        match answer {
            Answer::Made(row) => self.made.push(row),
            Answer::Item(row) => self.items.push(row),
            Answer::Folder(row) => self.folders.push(row),
            Answer::Nothing | Answer::StoredItem(_) | Answer::StoredFolder(_) => {}
        }
    }

    /// The rows in datagrams that fit. Negative rows of UpdateCreateInventoryItem have a message of their own, which is not approved.
    pub(super) fn into_messages(self, agent: AgentId, transaction_id: Uuid) -> Vec<Message> {
        let Self { made, items, folders } = self;
        let agent_id = agent.0;
        let (made, unmade): (Vec<_>, Vec<_>) = made.into_iter().partition(|row| !row.item_id.is_nil());
        let mut messages: Vec<Message> = Vec::new();
        for (rows, sim_approved) in [(&made, true), (&unmade, false)] {
            messages.extend(rows.chunks(ITEMS_PER_MESSAGE).map(|part| -> Message {
                let agent_data =
                    UpdateCreateInventoryItemAgentData { agent_id, sim_approved, transaction_id };
                UpdateCreateInventoryItem { agent_data, inventory_data: part.to_vec() }.into()
            }));
        }
        let bulk = |folder_data, item_data| -> Message {
            let agent_data =
                BulkUpdateInventoryAgentData { agent_id, ..BulkUpdateInventoryAgentData::default() };
            BulkUpdateInventory { agent_data, folder_data, item_data }.into()
        };
        messages.extend(folders.chunks(FOLDERS_PER_MESSAGE).map(|part| bulk(part.to_vec(), Vec::new())));
        messages.extend(items.chunks(ITEMS_PER_MESSAGE).map(|part| bulk(Vec::new(), part.to_vec())));
        messages
    }
}
