//! Each request with its effect in the store and its answer, and each refusal.

use super::*;
use crate::inventory::tests::{create, store_with_ada};
use crate::inventory::{AssetType, FolderType, InventoryType, LIBRARY_OWNER, library_items};
use store::{InventoryLimits, Item, ItemUpdate, Permissions, Sale};
use wire::llsd::Llsd;

/// Seconds since 1970 of all requests.
const NOW_S: i64 = 1_750_000_000;
/// Secret of each user's session.
const SECRET: Uuid = Uuid::from_u128(0x5EC);

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

/// The user's folder of a type.
fn folder_of(store: &Store, agent: AgentId, type_default: i8) -> Uuid {
    store.folder_of_type(agent, type_default).unwrap().expect("a folder of the skeleton").id
}

fn root(store: &Store, agent: AgentId) -> Uuid {
    folder_of(store, agent, FolderType::ROOT)
}

/// An item of the user's skeleton that is no link.
fn body_part(store: &Store, agent: AgentId) -> Item {
    let body = folder_of(store, agent, FolderType::BODY_PARTS);
    store.items_in(agent, body, 1).unwrap().remove(0)
}

fn ask(store: &Store, agent: AgentId, request: impl Into<InventoryRequest>) -> InventoryReplies {
    let user = InventoryUser { agent, secure_session: SECRET };
    change_inventory(store, user, &request.into(), NOW_S).unwrap()
}

/// A request that is carried out as a whole; the messages that answer it.
fn done(store: &Store, agent: AgentId, request: impl Into<InventoryRequest>) -> Vec<Message> {
    let InventoryReplies { messages, refusal, .. } = ask(store, agent, request);
    assert_eq!(refusal, None);
    messages
}

/// A request that is refused; the text of the alert, and the messages.
fn refused(store: &Store, agent: AgentId, request: impl Into<InventoryRequest>) -> (String, Vec<Message>) {
    let InventoryReplies { messages, refusal, .. } = ask(store, agent, request);
    (refusal.expect("it is refused"), messages)
}

/// Approved or not, and the rows of the one UpdateCreateInventoryItem.
fn made(messages: &[Message]) -> (bool, Uuid, Vec<UpdateCreateInventoryItemInventoryData>) {
    match messages {
        [Message::UpdateCreateInventoryItem(m)] => {
            (m.agent_data.sim_approved, m.agent_data.transaction_id, m.inventory_data.clone())
        }
        other => panic!("{other:?}"),
    }
}

/// Rows of items of all BulkUpdateInventory.
fn bulk_items(messages: &[Message]) -> Vec<BulkUpdateInventoryItemData> {
    let rows = messages.iter().flat_map(|message| match message {
        Message::BulkUpdateInventory(m) => m.item_data.clone(),
        other => panic!("{other:?}"),
    });
    rows.collect()
}

/// Rows of folders of the one BulkUpdateInventory.
fn bulk_folders(messages: &[Message]) -> Vec<BulkUpdateInventoryFolderData> {
    match messages {
        [Message::BulkUpdateInventory(m)] => m.folder_data.clone(),
        other => panic!("{other:?}"),
    }
}

fn create_folder(folder_id: Uuid, parent_id: Uuid, r#type: i8, name: &str) -> CreateInventoryFolder {
    let folder_data = CreateInventoryFolderFolderData { folder_id, parent_id, r#type, name: name.into() };
    CreateInventoryFolder { folder_data, ..CreateInventoryFolder::default() }
}

/// A plain folder in the root.
fn make_folder(store: &Store, agent: AgentId, n: u128) -> Uuid {
    done(store, agent, create_folder(id(n), root(store, agent), -1, "Folder"));
    id(n)
}

fn create_item(folder_id: Uuid, r#type: i8) -> CreateInventoryItem {
    let inventory_block = CreateInventoryItemInventoryBlock {
        callback_id: 77,
        folder_id,
        next_owner_mask: 0x0008_E000,
        r#type,
        inv_type: r#type,
        wearable_type: 3,
        name: b"Notes\0".to_vec(),
        description: b"to myself\0".to_vec(),
        ..CreateInventoryItemInventoryBlock::default()
    };
    CreateInventoryItem { inventory_block, ..CreateInventoryItem::default() }
}

/// A notecard in a folder.
fn make_item(store: &Store, agent: AgentId, folder: Uuid) -> Item {
    let (_, _, rows) = made(&done(store, agent, create_item(folder, AssetType::NOTECARD)));
    store.item(agent, rows[0].item_id).unwrap().expect("it was made")
}

/// A request that states all of an item as it is.
fn update_of(item: &Item) -> UpdateInventoryItem {
    let permissions = &item.permissions;
    let row = UpdateInventoryItemInventoryData {
        item_id: item.id,
        folder_id: item.folder,
        base_mask: permissions.base,
        owner_mask: permissions.owner,
        group_mask: permissions.group_mask,
        everyone_mask: permissions.everyone,
        next_owner_mask: permissions.next_owner,
        r#type: item.asset_type,
        inv_type: item.inventory_type,
        flags: item.flags,
        // As viewers describe an item without a price.
        sale_price: 10,
        name: item.name.clone().into_bytes(),
        description: item.description.clone().into_bytes(),
        ..UpdateInventoryItemInventoryData::default()
    };
    UpdateInventoryItem { inventory_data: vec![row], ..UpdateInventoryItem::default() }
}

fn copy(old_item_id: Uuid, new_folder_id: Uuid, new_name: &str) -> CopyInventoryItem {
    let row = CopyInventoryItemInventoryData {
        callback_id: 5,
        old_agent_id: LIBRARY_OWNER,
        old_item_id,
        new_folder_id,
        new_name: new_name.into(),
    };
    CopyInventoryItem { inventory_data: vec![row], ..CopyInventoryItem::default() }
}

fn link(old_item_id: Uuid, folder_id: Uuid, r#type: i8) -> LinkInventoryItem {
    let inventory_block = LinkInventoryItemInventoryBlock {
        callback_id: 6,
        folder_id,
        transaction_id: id(0x7A),
        old_item_id,
        r#type,
        ..LinkInventoryItemInventoryBlock::default()
    };
    LinkInventoryItem { inventory_block, ..LinkInventoryItem::default() }
}

fn move_items(rows: &[(Uuid, Uuid, &str)]) -> MoveInventoryItem {
    let row = |&(item_id, folder_id, name): &(Uuid, Uuid, &str)| MoveInventoryItemInventoryData {
        item_id,
        folder_id,
        new_name: name.into(),
    };
    MoveInventoryItem { inventory_data: rows.iter().map(row).collect(), ..MoveInventoryItem::default() }
}

fn remove_item(item_id: Uuid) -> RemoveInventoryItem {
    let inventory_data = vec![RemoveInventoryItemInventoryData { item_id }];
    RemoveInventoryItem { inventory_data, ..RemoveInventoryItem::default() }
}

fn move_folder(folder_id: Uuid, parent_id: Uuid) -> MoveInventoryFolder {
    let inventory_data = vec![MoveInventoryFolderInventoryData { folder_id, parent_id }];
    MoveInventoryFolder { inventory_data, ..MoveInventoryFolder::default() }
}

fn update_folder(folder_id: Uuid, r#type: i8, name: &str) -> UpdateInventoryFolder {
    let row = UpdateInventoryFolderFolderData {
        folder_id,
        r#type,
        name: name.into(),
        ..UpdateInventoryFolderFolderData::default()
    };
    UpdateInventoryFolder { folder_data: vec![row], ..UpdateInventoryFolder::default() }
}

mod folders;
mod gestures;
mod gifts;
mod items;
mod landmarks;
mod notecards;
mod uploads;
