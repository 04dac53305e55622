//! Gifts between users: delivered at once, or at the receiver's next arrival.

use super::displaced::alerts;
use crate::hub::{INVENTORY_HELD_MAX, InventoryOrder};
use crate::mail::{FromShard, Request, ShardIndex};
use crate::testing::{HARBOUR, ITEM, Node, START_S, agent};
use grid::inventory::{GiftRequest, InventoryTask, transfer_notices};
use ids::{Ticket, Uuid};
use link::CircuitKey;
use store::{Folder, ItemEffect, NewAccount, PasswordHash};
use wire::messages::*;
use wire::text::from_wire;

/// Folders of Bob's.
const TEXTURES: Uuid = Uuid::from_u128(0xB1);
const PRESENTS: Uuid = Uuid::from_u128(0xB2);
const TRASH: Uuid = Uuid::from_u128(0xB3);
/// Id of the giver's message.
const TRANSACTION: Uuid = Uuid::from_u128(0x7A);

/// A server with an inventory of Bob's, and a client of Ada, whose account has an item.
fn with_ada() -> (Node, usize) {
    let mut node = Node::new();
    let folder = |id, parent, name: &str, type_default| Folder {
        id,
        parent,
        name: name.into(),
        type_default,
        version: 1,
    };
    let folders = vec![
        folder(TEXTURES, Uuid::nil(), "Textures", 0),
        folder(PRESENTS, TEXTURES, "Presents", -1),
        folder(TRASH, TEXTURES, "Trash", 14),
    ];
    let bob = NewAccount {
        agent: agent("Bob"),
        first: "Bob".into(),
        last: "Resident".into(),
        password_hash: PasswordHash(String::new()),
        created_s: 0,
        folders,
        items: Vec::new(),
    };
    node.store().create_account(&bob).expect("an account");
    let ada = node.enter("Ada");
    (node, ada)
}

/// Sends a message about a gift.
fn send(node: &mut Node, client: usize, dialog: u8, id: Uuid, bucket: Vec<u8>) {
    let to = if node.clients[client].agent == agent("Ada") { agent("Bob") } else { agent("Ada") };
    let client = &mut node.clients[client];
    let message = ImprovedInstantMessage {
        agent_data: ImprovedInstantMessageAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        message_block: ImprovedInstantMessageMessageBlock {
            to_agent_id: to.0,
            dialog,
            id,
            binary_bucket: bucket,
            ..ImprovedInstantMessageMessageBlock::default()
        },
        ..ImprovedInstantMessage::default()
    };
    client.send(&message.into());
    node.run_ms(200);
}

/// Ada gives her item to Bob.
fn give(node: &mut Node, ada: usize, transaction: Uuid) {
    let bucket = [&[0], &ITEM.as_bytes()[..]].concat();
    send(node, ada, 4, transaction, bucket);
}

/// Instant messages of a dialog that a client got.
fn got(node: &Node, client: usize, dialog: u8) -> Vec<ImprovedInstantMessageMessageBlock> {
    let read = |message: &Message| match message {
        Message::ImprovedInstantMessage(m) if m.message_block.dialog == dialog => {
            Some(m.message_block.clone())
        }
        _ => None,
    };
    node.clients[client].inbox.iter().filter_map(read).collect()
}

/// The one offer that a client got: its id, and the bit of a late offer.
fn offered(node: &Node, client: usize) -> (Uuid, u8) {
    let offers = got(node, client, 4);
    let [offer] = &offers[..] else { panic!("{offers:?}") };
    let id = Uuid::from_slice(&offer.binary_bucket[1..]).expect("an id");
    assert_eq!((offer.binary_bucket[0], offer.id), (0, id));
    assert_eq!(from_wire(&offer.from_agent_name), "Ada Resident");
    (id, offer.offline)
}

/// Rows of items that a client was sent.
fn rows(node: &Node, client: usize) -> Vec<BulkUpdateInventoryItemData> {
    let read = |message: &Message| match message {
        Message::BulkUpdateInventory(m) => m.item_data.clone(),
        _ => Vec::new(),
    };
    node.clients[client].inbox.iter().flat_map(read).collect()
}

fn folder_of(node: &mut Node, item: Uuid) -> Option<Uuid> {
    node.store().item(agent("Bob"), item).expect("a database in memory").map(|item| item.folder)
}

fn n_waiting(node: &mut Node) -> usize {
    node.store().waiting_offers(agent("Bob")).expect("a database in memory").len()
}

#[test]
fn a_gift_to_a_present_user_is_in_the_inventory_and_shown_once() {
    let (mut node, ada) = with_ada();
    let bob = node.enter("Bob");
    for _ in 0..2 {
        // A client repeats what it does not know to have arrived.
        give(&mut node, ada, TRANSACTION);
    }
    let (gift, offline) = offered(&node, bob);
    assert_eq!((offline, folder_of(&mut node, gift)), (0, Some(TEXTURES)));
    let shown: Vec<Uuid> = rows(&node, bob).iter().map(|row| row.item_id).collect();
    assert_eq!(shown, [gift]);
    assert_eq!(alerts(&node, ada), Vec::<String>::new());
    node.run_ms(1_500);
    assert_eq!(n_waiting(&mut node), 0);
    let again = node.enter("Bob");
    node.run_ms(1_500);
    assert!(got(&node, again, 4).is_empty());
}

#[test]
fn a_gift_to_an_absent_user_is_shown_at_the_next_arrival_and_then_no_more() {
    let (mut node, ada) = with_ada();
    give(&mut node, ada, TRANSACTION);
    assert_eq!(alerts(&node, ada), ["The user is not online. The gift waits in the user's inventory."]);
    assert_eq!(n_waiting(&mut node), 1);
    let bob = node.enter("Bob");
    node.run_ms(100);
    let (gift, offline) = offered(&node, bob);
    assert_eq!((offline, folder_of(&mut node, gift)), (1, Some(TEXTURES)));
    let [offer] = &got(&node, bob, 4)[..] else { panic!("one offer") };
    assert_eq!(u64::from(offer.timestamp), START_S);
    // Within the same second: the end of the session reports it.
    let again = node.enter("Bob");
    node.run_ms(1_500);
    assert!(got(&node, again, 4).is_empty());
    assert_eq!(n_waiting(&mut node), 0);
}

#[test]
fn a_gift_to_an_arriving_user_is_shown_on_arrival() {
    let (mut node, ada) = with_ada();
    let spot = node.spot(HARBOUR, 130.0, 128.0);
    let bob = node.login("Bob", spot);
    give(&mut node, ada, TRANSACTION);
    assert_eq!((alerts(&node, ada), n_waiting(&mut node)), (Vec::new(), 1));
    node.clients[bob].open();
    node.run_until(|node| node.clients[bob].sees_itself());
    node.run_ms(1_500);
    let (gift, _) = offered(&node, bob);
    let shown: Vec<Uuid> = rows(&node, bob).iter().map(|row| row.item_id).collect();
    assert_eq!(shown, [gift], "the login has not listed it");
    assert_eq!(n_waiting(&mut node), 0);
}

#[test]
fn an_answer_moves_the_gift_and_its_giver_is_shown_it() {
    for (dialog, bucket, folder) in [(5, PRESENTS.as_bytes().to_vec(), PRESENTS), (6, Vec::new(), TRASH)] {
        let (mut node, ada) = with_ada();
        let bob = node.enter("Bob");
        give(&mut node, ada, TRANSACTION);
        let (gift, _) = offered(&node, bob);
        send(&mut node, bob, dialog, gift, bucket);
        assert_eq!(folder_of(&mut node, gift), Some(folder));
        assert_eq!(rows(&node, bob).last().map(|row| row.folder_id), Some(folder));
        let [answer] = &got(&node, ada, dialog)[..] else { panic!("one answer") };
        assert_eq!((answer.id, from_wire(&answer.from_agent_name)), (TRANSACTION, "Bob Resident".into()));
    }
}

#[test]
fn an_answer_to_no_offer_reaches_no_other_user() {
    let (mut node, ada) = with_ada();
    let bob = node.enter("Bob");
    send(&mut node, bob, 5, TRANSACTION, Vec::new());
    assert_eq!(alerts(&node, bob), ["That offer is no longer open."]);
    assert!(got(&node, ada, 5).is_empty());
}

#[test]
fn an_offer_of_nothing_is_refused_by_an_alert() {
    let (mut node, ada) = with_ada();
    let bob = node.enter("Bob");
    send(&mut node, ada, 4, TRANSACTION, vec![0; 16]);
    assert_eq!(alerts(&node, ada), ["Nothing was given: your viewer does not say what it is."]);
    assert!(got(&node, bob, 4).is_empty());
}

#[test]
fn an_announcement_waits_until_there_is_room_for_its_order() {
    let (mut node, _) = with_ada();
    let (spot, now) = (node.spot(HARBOUR, 130.0, 128.0), node.now);
    let session = node.hub.session_of(agent("Ada")).expect("she is here");
    let circuit = node.hub.circuit_of(session).expect("she is here");
    let order = Request::Inventory(Box::new(RemoveInventoryItem::default().into()));
    for _ in 0..INVENTORY_HELD_MAX {
        node.hub.handle(now, ShardIndex(0), FromShard::Request(circuit, order.clone()));
    }
    node.admit("Bob", spot).expect("there is room");
    let session = node.hub.session_of(agent("Bob")).expect("he is let in");
    let (circuit, world) = (CircuitKey { session, ticket: 1 }, node.places.get(HARBOUR).world());
    node.hub.handle(now, ShardIndex(0), FromShard::Opened(circuit));
    node.hub.handle(now, ShardIndex(0), FromShard::Arrived(circuit, world));
    let announcement = InventoryTask::Gift(GiftRequest::Announce);
    let held = |node: &mut Node| -> Vec<InventoryOrder> {
        let orders = std::iter::from_fn(|| node.hub.poll_inventory());
        orders.filter(|order| !matches!(order.task, InventoryTask::Wear(_))).collect()
    };
    let first = held(&mut node);
    assert_eq!(first.len(), INVENTORY_HELD_MAX);
    assert!(first.iter().all(|order| order.task != announcement));
    node.hub.handle_timeout(now);
    let [second] = &held(&mut node)[..] else { panic!("one order") };
    assert_eq!((&second.task, second.agent), (&announcement, agent("Bob")));
    node.hub.handle_timeout(now);
    assert!(held(&mut node).is_empty(), "it is under way");
    // The user is not shown an alert about something that its client has not asked for.
    let refused = node.hub.counters().inventory_refused;
    node.hub.refuse_inventory(second);
    assert_eq!(node.hub.counters().inventory_refused, refused);
}

#[test]
fn a_user_hears_of_items_that_no_order_has_brought() {
    let (mut node, ada) = with_ada();
    let item = node.store().item(agent("Ada"), ITEM).expect("a store").expect("Ada's item");
    let effect = |owner| {
        let item = item.clone();
        let (ticket, owner) = (Ticket(1), agent(owner));
        ItemEffect { ticket, owner, item, is_there: true, version: 2, new_folder: None }
    };
    // Bob is absent.
    node.hub.send_notices(transfer_notices(&[effect("Ada"), effect("Bob")]));
    node.run_ms(200);
    let made = node.clients[ada].inbox.iter().filter_map(|message| match message {
        Message::UpdateCreateInventoryItem(made) => Some(made.inventory_data[0].item_id),
        _ => None,
    });
    assert_eq!(made.collect::<Vec<_>>(), [ITEM]);
}
