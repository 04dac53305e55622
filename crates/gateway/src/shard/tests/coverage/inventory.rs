//! Changes of the inventory: rows stored, messages to clients, refusals.

use super::{alerts, last, outcomes};
use crate::coverage::MessageOutcome;
use crate::testing::{FOLDER, ITEM, Node, START_S, agent};
use ids::Uuid;
use store::{Folder, Item, NewAccount, PasswordHash};
use wire::messages::*;

/// Sends a message with the ids of agent and session.
macro_rules! send {
    ($node:ident, $client:expr, $Message:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        let mut message = $Message { $($field: $value,)* ..$Message::default() };
        message.agent_data.agent_id = $node.clients[$client].agent.0;
        message.agent_data.session_id = $node.clients[$client].session_id.0;
        $node.clients[$client].send(&message.into());
    }};
}

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

/// A server, and a client whose account has a folder and an item.
fn with_ada() -> (Node, usize) {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    (node, ada)
}

fn item_of(node: &mut Node, name: &str, item: Uuid) -> Option<Item> {
    node.store().item(agent(name), item).expect("a database in memory")
}

fn folder_of(node: &mut Node, name: &str, folder: Uuid) -> Option<Folder> {
    node.store().folder(agent(name), folder).expect("a database in memory")
}

fn new_folder(folder_id: Uuid) -> CreateInventoryFolderFolderData {
    CreateInventoryFolderFolderData { folder_id, parent_id: FOLDER, r#type: -1, name: b"New\0".to_vec() }
}

fn new_notecard(folder_id: Uuid, callback_id: u32) -> CreateInventoryItemInventoryBlock {
    CreateInventoryItemInventoryBlock {
        callback_id,
        folder_id,
        next_owner_mask: 0x0008_E000,
        r#type: 7,
        inv_type: 7,
        name: b"Notes\0".to_vec(),
        ..CreateInventoryItemInventoryBlock::default()
    }
}

fn copy_of(old_item_id: Uuid) -> CopyInventoryItemInventoryData {
    CopyInventoryItemInventoryData {
        callback_id: 5,
        old_item_id,
        new_folder_id: FOLDER,
        ..CopyInventoryItemInventoryData::default()
    }
}

fn link_to(old_item_id: Uuid, folder_id: Uuid) -> LinkInventoryItemInventoryBlock {
    LinkInventoryItemInventoryBlock {
        callback_id: 6,
        folder_id,
        old_item_id,
        r#type: 24,
        ..LinkInventoryItemInventoryBlock::default()
    }
}

/// The last UpdateCreateInventoryItem: whether it is approved, and its first row.
fn made(node: &Node, client: usize) -> (bool, UpdateCreateInventoryItemInventoryData) {
    last(&node.clients[client], |message| match message {
        Message::UpdateCreateInventoryItem(m) => {
            Some((m.agent_data.sim_approved, m.inventory_data[0].clone()))
        }
        _ => None,
    })
}

/// The last BulkUpdateInventory.
fn bulk(node: &Node, client: usize) -> BulkUpdateInventory {
    last(&node.clients[client], |message| match message {
        Message::BulkUpdateInventory(m) => Some(m.clone()),
        _ => None,
    })
}

#[test]
fn a_new_item_is_answered_for_its_callback() {
    let (mut node, ada) = with_ada();
    send!(node, ada, CreateInventoryItem { inventory_block: new_notecard(FOLDER, 77) });
    node.run_ms(300);
    let (is_approved, row) = made(&node, ada);
    assert_eq!((is_approved, row.callback_id, row.owner_id), (true, 77, agent("Ada").0));
    let item = item_of(&mut node, "Ada", row.item_id).expect("it is stored");
    assert_eq!((&*item.name, item.folder, item.created_s), ("Notes", FOLDER, START_S.cast_signed()));
    assert_eq!(alerts(&node.clients[ada]), Vec::<String>::new());
    assert_eq!(outcomes(&node)[&("CreateInventoryItem", MessageOutcome::Done)], 1);
}

#[test]
fn a_gesture_is_switched_on_and_off_without_an_answer() {
    let (mut node, ada) = with_ada();
    let block = new_notecard(FOLDER, 77);
    let gesture = CreateInventoryItemInventoryBlock { r#type: 21, inv_type: 20, ..block };
    send!(node, ada, CreateInventoryItem { inventory_block: gesture });
    node.run_ms(300);
    let wave = made(&node, ada).1.item_id;
    // Viewers state those of the library, too, and such as they do not have any more.
    let of = |item_id| ActivateGesturesData { item_id, ..ActivateGesturesData::default() };
    send!(node, ada, ActivateGestures { data: vec![of(id(0xBAD)), of(wave)] });
    node.run_ms(300);
    assert_eq!(item_of(&mut node, "Ada", wave).map(|item| item.flags), Some(1));
    let row = DeactivateGesturesData { item_id: wave, ..DeactivateGesturesData::default() };
    send!(node, ada, DeactivateGestures { data: vec![row] });
    node.run_ms(300);
    assert_eq!(item_of(&mut node, "Ada", wave).map(|item| item.flags), Some(0));
    assert_eq!(alerts(&node.clients[ada]), Vec::<String>::new());
    let occurred = outcomes(&node);
    for name in ["ActivateGestures", "DeactivateGestures"] {
        assert_eq!(occurred[&(name, MessageOutcome::Done)], 1, "{name}");
    }
}

#[test]
fn an_item_that_is_not_made_is_answered_with_a_null_item_for_the_callback() {
    let (mut node, ada) = with_ada();
    let mut uploaded = new_notecard(FOLDER, 77);
    uploaded.transaction_id = id(0x55);
    send!(node, ada, CreateInventoryItem { inventory_block: uploaded });
    // The upload could come yet.
    node.run_ms(7_900);
    assert!(!node.clients[ada].got(UpdateCreateInventoryItem::NUMBER));
    node.run_ms(500);
    let (is_approved, row) = made(&node, ada);
    assert_eq!((is_approved, row.callback_id), (false, 77));
    assert!(row.item_id.is_nil(), "viewers skip it");
    let alerts = alerts(&node.clients[ada]);
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert!(alerts[0].contains("the content that was uploaded"), "{alerts:?}");
}

#[test]
fn a_folder_is_made_renamed_moved_filled_purged_and_removed() {
    let (mut node, ada) = with_ada();
    // In one go: each finds what the ones before have made.
    send!(node, ada, CreateInventoryFolder { folder_data: new_folder(id(1)) });
    send!(node, ada, CreateInventoryFolder { folder_data: new_folder(id(2)) });
    let row = MoveInventoryFolderInventoryData { folder_id: id(2), parent_id: id(1) };
    send!(node, ada, MoveInventoryFolder { inventory_data: vec![row] });
    let row = UpdateInventoryFolderFolderData {
        folder_id: id(1),
        parent_id: FOLDER,
        r#type: 47,
        name: b"Blue\0".to_vec(),
    };
    send!(node, ada, UpdateInventoryFolder { folder_data: vec![row] });
    let row = MoveInventoryItemInventoryData { item_id: ITEM, folder_id: id(2), new_name: Vec::new() };
    send!(node, ada, MoveInventoryItem { inventory_data: vec![row] });
    node.run_ms(300);
    let folder = folder_of(&mut node, "Ada", id(1)).expect("it is stored");
    assert_eq!((&*folder.name, folder.type_default), ("Blue", 47));
    assert_eq!(folder_of(&mut node, "Ada", id(2)).map(|folder| folder.parent), Some(id(1)));
    assert_eq!(item_of(&mut node, "Ada", ITEM).map(|item| item.folder), Some(id(2)));

    let row = PurgeInventoryDescendentsInventoryData { folder_id: id(1) };
    send!(node, ada, PurgeInventoryDescendents { inventory_data: row });
    node.run_ms(300);
    assert_eq!((folder_of(&mut node, "Ada", id(2)), item_of(&mut node, "Ada", ITEM)), (None, None));
    let row = RemoveInventoryFolderFolderData { folder_id: id(1) };
    send!(node, ada, RemoveInventoryFolder { folder_data: vec![row] });
    node.run_ms(300);
    assert_eq!(folder_of(&mut node, "Ada", id(1)), None);
    assert_eq!(alerts(&node.clients[ada]), Vec::<String>::new());
}

#[test]
fn properties_and_flags_of_an_item_change_and_it_is_removed() {
    let (mut node, ada) = with_ada();
    let row = UpdateInventoryItemInventoryData {
        item_id: ITEM,
        callback_id: 9,
        everyone_mask: u32::MAX,
        name: b"Oak\0".to_vec(),
        ..UpdateInventoryItemInventoryData::default()
    };
    send!(node, ada, UpdateInventoryItem { inventory_data: vec![row] });
    let row = ChangeInventoryItemFlagsInventoryData { item_id: ITEM, flags: 0x0010_0000 };
    send!(node, ada, ChangeInventoryItemFlags { inventory_data: vec![row] });
    node.run_ms(300);
    let (is_approved, row) = made(&node, ada);
    assert_eq!((is_approved, row.callback_id, row.item_id, row.everyone_mask), (true, 9, ITEM, 0x0009_8000));
    let item = item_of(&mut node, "Ada", ITEM).expect("it is stored");
    assert_eq!((&*item.name, item.flags, item.permissions.everyone), ("Oak", 0x0010_0000, 0x0009_8000));

    let row = RemoveInventoryItemInventoryData { item_id: ITEM };
    send!(node, ada, RemoveInventoryItem { inventory_data: vec![row] });
    node.run_ms(300);
    assert_eq!(item_of(&mut node, "Ada", ITEM), None);
    assert_eq!(alerts(&node.clients[ada]), Vec::<String>::new());
}

#[test]
fn copies_come_in_bulk_and_links_for_their_callback() {
    let (mut node, ada) = with_ada();
    send!(node, ada, CopyInventoryItem { inventory_data: vec![copy_of(ITEM)] });
    send!(node, ada, CreateInventoryFolder { folder_data: new_folder(id(1)) });
    send!(node, ada, LinkInventoryItem { inventory_block: link_to(ITEM, id(1)) });
    node.run_ms(300);
    let copies = bulk(&node, ada);
    let [row] = &copies.item_data[..] else { panic!("{copies:?}") };
    assert_eq!((row.callback_id, row.folder_id), (5, FOLDER));
    let copied = item_of(&mut node, "Ada", row.item_id).expect("it is stored");
    assert_eq!((copied.asset, &*copied.name), (ids::PLYWOOD_TEXTURE, "Wood"));
    assert_ne!(copied.id, ITEM);
    let (is_approved, row) = made(&node, ada);
    assert_eq!((is_approved, row.callback_id, row.asset_id, row.r#type), (true, 6, ITEM, 24));
    let link = item_of(&mut node, "Ada", row.item_id).expect("it is stored");
    assert_eq!((link.folder, link.permissions.base), (id(1), 0));
    assert_eq!(alerts(&node.clients[ada]), Vec::<String>::new());
}

#[test]
fn ids_of_another_user_are_refused_as_unknown_each_by_one_alert() {
    let (mut node, ada) = with_ada();
    let mut item = item_of(&mut node, "Ada", ITEM).expect("it is there");
    (item.id, item.folder) = (id(11), id(1));
    let folder = Folder { id: id(1), parent: Uuid::nil(), name: "Root".into(), type_default: 8, version: 1 };
    let bob = NewAccount {
        agent: agent("Bob"),
        first: "Bob".into(),
        last: "Resident".into(),
        password_hash: PasswordHash(String::new()),
        created_s: 0,
        folders: vec![folder],
        items: vec![item.clone()],
    };
    node.store().create_account(&bob).expect("an account");

    send!(node, ada, CopyInventoryItem { inventory_data: vec![copy_of(id(11))] });
    send!(node, ada, LinkInventoryItem { inventory_block: link_to(id(11), FOLDER) });
    let row = MoveInventoryItemInventoryData { item_id: id(11), folder_id: FOLDER, new_name: Vec::new() };
    send!(node, ada, MoveInventoryItem { inventory_data: vec![row] });
    let row = MoveInventoryItemInventoryData { item_id: ITEM, folder_id: id(1), new_name: Vec::new() };
    send!(node, ada, MoveInventoryItem { inventory_data: vec![row] });
    let row = RemoveInventoryItemInventoryData { item_id: id(11) };
    send!(node, ada, RemoveInventoryItem { inventory_data: vec![row] });
    let row = RemoveInventoryFolderFolderData { folder_id: id(1) };
    send!(node, ada, RemoveInventoryFolder { folder_data: vec![row] });
    node.run_ms(300);
    let alerts = alerts(&node.clients[ada]);
    assert_eq!(alerts.len(), 6, "{alerts:?}");
    assert!(alerts.iter().all(|text| text.contains("there is no ")), "{alerts:?}");
    assert_eq!((made(&node, ada).0, made(&node, ada).1.callback_id), (false, 6));
    // Her own item, shown where it still is.
    let shown = bulk(&node, ada);
    assert_eq!((shown.item_data[0].item_id, shown.item_data[0].folder_id), (ITEM, FOLDER));
    assert_eq!(item_of(&mut node, "Bob", id(11)), Some(item));
    assert!(folder_of(&mut node, "Bob", id(1)).is_some());
}

#[test]
fn the_owner_is_the_sessions_whatever_a_message_states() {
    let (mut node, ada) = with_ada();
    let row = UpdateInventoryItemInventoryData {
        item_id: ITEM,
        owner_id: agent("Bob").0,
        creator_id: agent("Bob").0,
        group_owned: true,
        base_mask: u32::MAX,
        ..UpdateInventoryItemInventoryData::default()
    };
    let before = item_of(&mut node, "Ada", ITEM).expect("it is there").permissions;
    send!(node, ada, UpdateInventoryItem { inventory_data: vec![row] });
    node.run_ms(300);
    let after = item_of(&mut node, "Ada", ITEM).expect("it is still there").permissions;
    assert_eq!(
        (after.creator, after.last_owner, after.base, after.owner, after.group_owned),
        (before.creator, before.last_owner, before.base, before.owner, false)
    );
}

#[test]
fn a_flood_is_cut_to_a_clients_budget_and_requests_within_it_are_carried_out() {
    let (mut node, ada) = with_ada();
    for n in 0..300 {
        send!(node, ada, CreateInventoryFolder { folder_data: new_folder(id(0x1_0000 + n)) });
    }
    node.run_ms(5_000);
    let occurred = outcomes(&node);
    let done = occurred[&("CreateInventoryFolder", MessageOutcome::Done)];
    let dropped = occurred[&("CreateInventoryFolder", MessageOutcome::Dropped)];
    assert_eq!((done + dropped, node.drops("flood")), (300, dropped));
    assert!(done >= 190 && dropped > 0, "{done} of 300");
    let folders = node.store().folders(agent("Ada")).expect("a database in memory");
    assert_eq!(folders.len() as u64, 1 + done);
    let notices = alerts(&node.clients[ada]);
    assert!(notices.iter().any(|text| text.starts_with("You are sending too much at once")), "{notices:?}");
    // The budget recovers.
    send!(node, ada, CreateInventoryFolder { folder_data: new_folder(id(1)) });
    node.run_ms(300);
    assert!(folder_of(&mut node, "Ada", id(1)).is_some());
}

#[test]
fn a_user_whose_inventory_cannot_be_changed_is_answered() {
    let mut node = Node::new();
    // The database does not have him.
    let bob = node.enter("Bob");
    send!(node, bob, CreateInventoryItem { inventory_block: new_notecard(FOLDER, 77) });
    send!(node, bob, CopyInventoryItem { inventory_data: vec![copy_of(ITEM), copy_of(id(11))] });
    send!(node, bob, CreateInventoryFolder { folder_data: new_folder(id(1)) });
    node.run_ms(300);
    let (is_approved, row) = made(&node, bob);
    assert_eq!((is_approved, row.callback_id, row.item_id), (false, 77, Uuid::nil()));
    assert_eq!(bulk(&node, bob).item_data.len(), 2);
    let alerts = alerts(&node.clients[bob]);
    let busy = alerts.iter().filter(|text| text.contains("just now"));
    assert_eq!((alerts.len(), busy.count()), (3, 2), "{alerts:?}");
    assert_eq!(node.hub.counters().inventory_refused, 2);
}
