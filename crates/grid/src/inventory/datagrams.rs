//! The answers of FetchInventory and FetchInventoryDescendents: the inventory as old viewers and bots read it, over UDP.
//!
//! The same inventories as over HTTP (`fetch.rs`); the library is looked in when the user has no such item or folder.

use super::fetch::{Content, InventoryTree};
use super::{ITEMS_MAX, LIBRARY_OWNER, library_item};
use ids::AgentId;
use store::{Folder, Item, Store, StoreError};
use uuid::Uuid;
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, to_wire};

/// Rows of a folder that are sent; a larger folder is cut, since a circuit's queue has room for no more than 2,048 messages.
const FOLDER_ROWS_MAX: usize = 1_000;
/// Folders in one datagram: 33 bytes and the name each.
pub(super) const FOLDERS_PER_MESSAGE: usize = 8;
/// Items in one datagram: 144 bytes with their callback, name and description each.
pub(super) const ITEMS_PER_MESSAGE: usize = 3;
/// Bytes of an item's name and description, each with its NUL.
pub(super) const NAME_MAX: usize = 64;
pub(super) const DESCRIPTION_MAX: usize = 128;
/// Summand of a checksum for the kind of sale.
const SALE_CHECKSUM: u32 = 0x0707_3096;

/// Answers FetchInventory: the items, and whether all of them exist.
///
/// # Errors
/// [`StoreError::Query`].
pub fn item_messages(
    store: &Store,
    agent: AgentId,
    ids: &[Uuid],
) -> Result<(Vec<Message>, bool), StoreError> {
    let mut found: Vec<(Uuid, Item)> = Vec::new();
    for &id in ids.iter().take(ITEMS_MAX) {
        let own = store.item(agent, id)?.map(|item| (agent.0, item));
        found.extend(own.or_else(|| Some((LIBRARY_OWNER, library_item(id)?.clone()))));
    }
    let is_complete = found.len() == ids.len();
    let message = |items: &[(Uuid, Item)]| {
        let row = |(owner, item): &(Uuid, Item)| {
            let InventoryDescendentsItemData {
                item_id,
                folder_id,
                creator_id,
                owner_id,
                group_id,
                base_mask,
                owner_mask,
                group_mask,
                everyone_mask,
                next_owner_mask,
                group_owned,
                asset_id,
                r#type,
                inv_type,
                flags,
                sale_type,
                sale_price,
                name,
                description,
                creation_date,
                crc,
            } = item_row(*owner, item);
            FetchInventoryReplyInventoryData {
                item_id,
                folder_id,
                creator_id,
                owner_id,
                group_id,
                base_mask,
                owner_mask,
                group_mask,
                everyone_mask,
                next_owner_mask,
                group_owned,
                asset_id,
                r#type,
                inv_type,
                flags,
                sale_type,
                sale_price,
                name,
                description,
                creation_date,
                crc,
            }
        };
        let agent_data = FetchInventoryReplyAgentData { agent_id: agent.0 };
        FetchInventoryReply { agent_data, inventory_data: items.iter().map(row).collect() }.into()
    };
    // A reply without rows ends the wait of a client that asked for nothing that exists.
    let messages = match found.is_empty() {
        true => vec![message(&[])],
        false => found.chunks(ITEMS_PER_MESSAGE).map(message).collect(),
    };
    Ok((messages, is_complete))
}

/// Answers FetchInventoryDescendents: the contents of a folder, folders first; `None` without such a folder.
///
/// # Errors
/// [`StoreError::Query`].
pub fn folder_messages(
    store: &Store,
    agent: AgentId,
    id: Uuid,
    folders: bool,
    items: bool,
) -> Result<Option<Vec<Message>>, StoreError> {
    let content = |tree: InventoryTree<'_>| tree.content(id, FOLDER_ROWS_MAX);
    let own = content(InventoryTree::Agent(store, agent))?.map(|content| (agent.0, content));
    let library = || Ok(content(InventoryTree::Library)?.map(|content| (LIBRARY_OWNER, content)));
    let found = own.map_or_else(library, |own| Ok(Some(own)))?;
    let Some((owner, Content { version, folders: held_folders, items: held_items })) = found else {
        return Ok(None);
    };
    let agent_data = InventoryDescendentsAgentData {
        agent_id: agent.0,
        folder_id: id,
        owner_id: owner,
        version,
        // Number of all entries, requested or not: viewers compare it with theirs.
        descendents: i32::try_from(held_folders.len() + held_items.len()).expect("bounded above"),
    };
    let message = |folder_data, item_data| -> Message {
        InventoryDescendents { agent_data: agent_data.clone(), folder_data, item_data }.into()
    };
    let mut messages = Vec::new();
    if folders {
        let rows = |part: &[Folder]| part.iter().map(folder_row).collect();
        let parts = held_folders.chunks(FOLDERS_PER_MESSAGE);
        messages.extend(parts.map(|part| message(rows(part), vec![no_item()])));
    }
    if items {
        let rows = |part: &[Item]| part.iter().map(|item| item_row(owner, item)).collect();
        let parts = held_items.chunks(ITEMS_PER_MESSAGE);
        messages.extend(parts.map(|part| message(vec![no_folder()], rows(part))));
    }
    if messages.is_empty() {
        messages.push(message(vec![no_folder()], vec![no_item()]));
    }
    Ok(Some(messages))
}

fn folder_row(folder: &Folder) -> InventoryDescendentsFolderData {
    InventoryDescendentsFolderData {
        folder_id: folder.id,
        parent_id: folder.parent,
        r#type: folder.type_default,
        name: to_wire(&folder.name, NAME_MAX),
    }
}

/// Row in place of a folder where there is none: libomv reads the first row without a check.
fn no_folder() -> InventoryDescendentsFolderData {
    InventoryDescendentsFolderData {
        r#type: -1,
        name: to_wire("", VARIABLE1_MAX),
        ..InventoryDescendentsFolderData::default()
    }
}

/// Row in place of an item where there is none.
fn no_item() -> InventoryDescendentsItemData {
    InventoryDescendentsItemData {
        name: to_wire("", VARIABLE1_MAX),
        description: to_wire("", VARIABLE1_MAX),
        ..InventoryDescendentsItemData::default()
    }
}

/// An item with its checksum.
pub(super) fn item_row(owner: Uuid, item: &Item) -> InventoryDescendentsItemData {
    let permissions = &item.permissions;
    let mut row = InventoryDescendentsItemData {
        item_id: item.id,
        folder_id: item.folder,
        creator_id: permissions.creator,
        owner_id: owner,
        group_id: permissions.group,
        base_mask: permissions.base,
        owner_mask: permissions.owner,
        group_mask: permissions.group_mask,
        everyone_mask: permissions.everyone,
        next_owner_mask: permissions.next_owner,
        group_owned: permissions.group_owned,
        asset_id: item.asset,
        r#type: item.asset_type,
        inv_type: item.inventory_type,
        flags: item.flags,
        sale_type: item.sale.kind,
        sale_price: item.sale.price,
        name: to_wire(&item.name, NAME_MAX),
        description: to_wire(&item.description, DESCRIPTION_MAX),
        creation_date: i32::try_from(item.created_s).unwrap_or(i32::MAX),
        crc: 0,
    };
    row.crc = checksum(&row);
    row
}

/// Checksum by which viewers notice damaged rows: the sum of the numbers, and of the ids as four little-endian words each.
fn checksum(row: &InventoryDescendentsItemData) -> u32 {
    let words = |id: Uuid| {
        let (words, _) = id.as_bytes().as_chunks();
        words.iter().fold(0_u32, |sum, word| sum.wrapping_add(u32::from_le_bytes(*word)))
    };
    let ids = [row.asset_id, row.folder_id, row.item_id, row.creator_id, row.owner_id, row.group_id];
    let numbers = [
        row.owner_mask,
        row.next_owner_mask,
        row.everyone_mask,
        row.group_mask,
        row.flags,
        i32::from(row.inv_type).cast_unsigned(),
        i32::from(row.r#type).cast_unsigned(),
        row.creation_date.cast_unsigned(),
        row.sale_price.cast_unsigned(),
        u32::from(row.sale_type).wrapping_mul(SALE_CHECKSUM),
    ];
    ids.into_iter().map(words).chain(numbers).fold(0, u32::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::tests::{store_with_a_large_folder, store_with_ada};
    use crate::inventory::{FolderType, LIBRARY_ROOT, library_items};

    fn folder(store: &Store, agent: AgentId, id: Uuid) -> Option<Vec<InventoryDescendents>> {
        let messages = folder_messages(store, agent, id, true, true).unwrap()?;
        let read = |message| match message {
            Message::InventoryDescendents(m) => m,
            other => panic!("{other:?}"),
        };
        Some(messages.into_iter().map(read).collect())
    }

    #[test]
    fn a_folder_comes_in_datagrams_that_fit_and_each_has_both_kinds_of_rows() {
        let (store, ada) = store_with_ada();
        let root = store.folders(ada).unwrap()[0].id;
        let parts = folder(&store, ada, root).unwrap();
        assert_eq!(parts.len(), 3, "20 folders");
        let mut n = 0;
        for part in &parts {
            let mut body = Vec::new();
            part.encode(&mut body);
            assert!(body.len() <= 1_190, "{}", body.len());
            assert_eq!((part.agent_data.descendents, part.item_data.len()), (20, 1));
            n += part.folder_data.len();
        }
        assert_eq!(n, 20);
        let outfit = store.folder_of_type(ada, FolderType::CURRENT_OUTFIT).unwrap().unwrap().id;
        let parts = folder(&store, ada, outfit).unwrap();
        assert_eq!(parts.iter().map(|part| part.item_data.len()).sum::<usize>(), 4);
        assert!(parts.iter().all(|part| part.folder_data[0].folder_id.is_nil()));
    }

    #[test]
    fn a_folder_beyond_the_bounds_is_cut() {
        let (store, ada, large) = store_with_a_large_folder(2 * FOLDER_ROWS_MAX);
        let parts = folder(&store, ada, large).unwrap();
        let n_folders: usize = parts.iter().map(|part| n_there(&part.folder_data, |row| row.folder_id)).sum();
        let n_items: usize = parts.iter().map(|part| n_there(&part.item_data, |row| row.item_id)).sum();
        assert_eq!([n_folders, n_items], [5, FOLDER_ROWS_MAX - 5]);
        assert!(parts.iter().all(|part| part.agent_data.descendents as usize == FOLDER_ROWS_MAX));
    }

    /// Rows that stand for a folder or an item.
    fn n_there<T>(rows: &[T], id: impl Fn(&T) -> Uuid) -> usize {
        rows.iter().filter(|row| !id(row).is_nil()).count()
    }

    #[test]
    fn an_empty_folder_an_unknown_one_and_the_library_are_distinguished() {
        let (store, ada) = store_with_ada();
        let trash = store.folder_of_type(ada, FolderType::TRASH).unwrap().unwrap().id;
        let [part] = &folder(&store, ada, trash).unwrap()[..] else { panic!("one message") };
        assert_eq!((part.agent_data.descendents, part.agent_data.owner_id), (0, ada.0));
        assert!(folder(&store, ada, Uuid::from_u128(0xBAD)).is_none());
        let [part] = &folder(&store, ada, LIBRARY_ROOT).unwrap()[..] else { panic!("one message") };
        assert_eq!(part.agent_data.owner_id, LIBRARY_OWNER);
    }

    #[test]
    fn items_are_found_and_a_missing_one_is_noticed() {
        let (store, ada) = store_with_ada();
        let body = store.folder_of_type(ada, FolderType::BODY_PARTS).unwrap().unwrap().id;
        let ids: Vec<Uuid> = store.items_in(ada, body, 10).unwrap().iter().map(|item| item.id).collect();
        let (messages, is_complete) = item_messages(&store, ada, &ids).unwrap();
        assert!(is_complete);
        let rows = messages.iter().flat_map(|message| match message {
            Message::FetchInventoryReply(m) => m.inventory_data.clone(),
            other => panic!("{other:?}"),
        });
        assert_eq!(rows.map(|row| row.item_id).collect::<Vec<_>>(), ids);
        let (messages, is_complete) = item_messages(&store, ada, &[Uuid::from_u128(0xBAD)]).unwrap();
        assert_eq!((messages.len(), is_complete), (1, false));
        let eve = AgentId(Uuid::from_u128(0xE));
        assert!(!item_messages(&store, eve, &ids).unwrap().1, "items of another account are unknown");
        let thing = &library_items()[0];
        let (messages, is_complete) = item_messages(&store, ada, &[thing.id]).unwrap();
        let [Message::FetchInventoryReply(m)] = &messages[..] else { panic!("{messages:?}") };
        let row = &m.inventory_data[0];
        assert_eq!((row.asset_id, row.owner_id, is_complete), (thing.asset, LIBRARY_OWNER, true));
    }

    #[test]
    fn the_checksum_is_the_sum_that_viewers_compute() {
        let row = InventoryDescendentsItemData {
            item_id: Uuid::from_bytes([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]),
            r#type: -1,
            sale_type: 2,
            flags: 7,
            ..no_item()
        };
        assert_eq!(checksum(&row), 10 + 7 - 1 + 2 * 0x0707_3096);
    }
}
