//! Objects and items on their way between the inventory and the world, with a region that is saved.

use super::{last, outcomes};
use crate::coverage::{Feature, MessageOutcome};
use crate::shard::tests::editing::{PLACE, alerts, make};
use crate::testing::{Client, DiskRows, FOLDER, HARBOUR, ITEM, Node, Setup, agent};
use assets::AssetKind;
use glam::Vec3;
use ids::{LocalId, Uuid};
use link::EditRefusal;
use prim::Mask;
use store::{InventoryChange, InventoryLimits, Item, ItemUpdate, MarkItem};
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, from_wire, to_wire};

const TAKE_COPY: u8 = 1;
pub(super) const TAKE: u8 = 4;
const SAVE: u8 = 0;
/// A place for rezzed objects.
pub(super) const THERE: Vec3 = Vec3::new(140.0, 128.0, 21.0);

/// A server that saves the harbour, with clients of Ada, who has an inventory, and Bea.
pub(super) fn node_of_two() -> (Node, usize, usize) {
    let setup = Setup { keeps_assets: true, ..Setup::default() };
    let mut node = Node::on_disk(setup, DiskRows::default());
    let (ada, bea) = (node.enter("Ada"), node.enter("Bea"));
    node.run_ms(1_000);
    (node, ada, bea)
}

/// A message with the ids of its client.
macro_rules! message_of {
    ($client:expr, $Message:ident, $fill:expr) => {{
        let mut message = $Message::default();
        message.agent_data.agent_id = $client.agent.0;
        message.agent_data.session_id = $client.session_id.0;
        let fill: &dyn Fn(&mut $Message) = &$fill;
        fill(&mut message);
        Message::from(message)
    }};
}

/// Sends a message, and lets a save pass.
pub(super) fn ask(node: &mut Node, client: usize, message: impl FnOnce(&Client) -> Message) {
    let message = message(&node.clients[client]);
    node.clients[client].send(&message);
    node.run_ms(1_500);
}

/// Requests differ by the numbers of their transactions.
pub(super) fn derez(client: &Client, destination: u8, transaction: u128, objects: &[u32]) -> Message {
    message_of!(client, DeRezObject, |m| {
        m.agent_block.destination = destination;
        m.agent_block.destination_id = FOLDER;
        m.agent_block.transaction_id = Uuid::from_u128(transaction);
        m.agent_block.packet_count = 1;
        m.object_data = objects.iter().map(|&id| DeRezObjectObjectData { object_local_id: id }).collect();
    })
}

pub(super) fn rez(client: &Client, item: Uuid) -> Message {
    message_of!(client, RezObject, |m| {
        m.rez_data.bypass_raycast = 1;
        m.rez_data.ray_start = THERE + Vec3::Z * 5.0;
        m.rez_data.ray_end = THERE;
        m.rez_data.rez_selected = true;
        m.inventory_data.item_id = item;
    })
}

pub(super) fn put(client: &Client, id: u32, item: Uuid) -> Message {
    message_of!(client, UpdateTaskInventory, |m| {
        m.update_data.local_id = id;
        m.inventory_data.item_id = item;
    })
}

fn acks(client: &Client) -> Vec<bool> {
    let success = |message: &Message| match message {
        Message::DeRezAck(ack) => Some(ack.transaction_data.success),
        _ => None,
    };
    client.inbox.iter().filter_map(success).collect()
}

/// Items that a client was sent as new ones, with their folders and names.
pub(super) fn made(client: &Client) -> Vec<(Uuid, Uuid, String)> {
    let rows = client.inbox.iter().filter_map(|message| match message {
        Message::UpdateCreateInventoryItem(m) => Some(&m.inventory_data),
        _ => None,
    });
    rows.flatten().map(|row| (row.item_id, row.folder_id, from_wire(&row.name))).collect()
}

/// Items that are gone, as a client has heard.
pub(super) fn gone(client: &Client) -> Vec<Uuid> {
    let rows = client.inbox.iter().filter_map(|message| match message {
        Message::RemoveInventoryItem(m) => Some(&m.inventory_data),
        _ => None,
    });
    rows.flatten().map(|row| row.item_id).collect()
}

/// Items that a client was shown as they are.
fn shown(client: &Client) -> Vec<Uuid> {
    let rows = client.inbox.iter().filter_map(|message| match message {
        Message::BulkUpdateInventory(m) => Some(&m.item_data),
        _ => None,
    });
    rows.flatten().map(|row| row.item_id).collect()
}

/// Takes a prim that Ada has just made; its item.
pub(super) fn taken(node: &mut Node, ada: usize) -> Uuid {
    let (id, _) = make(node, ada, PLACE);
    ask(node, ada, |client| derez(client, TAKE, 0, &[id]));
    let item = made(&node.clients[ada]).pop().expect("an item").0;
    node.clients[ada].inbox.clear();
    item
}

pub(super) fn item(node: &mut Node, id: Uuid) -> Option<Item> {
    node.store().item(agent("Ada"), id).expect("a database in memory")
}

/// Takes the right to copy an item away.
pub(super) fn forbid_copies(node: &mut Node, id: Uuid) {
    let mut permissions = item(node, id).expect("an item").permissions;
    permissions.owner &= !Mask::COPY.bits();
    let update = ItemUpdate { item: id, permissions: Some(permissions), ..ItemUpdate::default() };
    let changes = [InventoryChange::UpdateItem(update)];
    let done = node.store().change_inventory(agent("Ada"), &changes, &InventoryLimits::default());
    assert!(done.expect("a database in memory")[0].is_ok());
}

/// Local ids and ids of the prims in the harbour.
pub(super) fn prims(node: &Node) -> Vec<(u32, Uuid)> {
    let replica = node.places.get(HARBOUR).scene.feed.current();
    let objects = replica.objects();
    let ids: Vec<u32> = node.clients[0].prims.keys().copied().collect();
    ids.into_iter().filter_map(|id| Some((id, objects.get(LocalId(id))?.body.id))).collect()
}

/// Names of the items in a prim.
pub(super) fn contents(node: &Node, id: u32) -> Vec<String> {
    let replica = node.places.get(HARBOUR).scene.feed.current();
    let body = &replica.objects().get(LocalId(id)).expect("it is there").body;
    body.contents.iter().flat_map(|contents| &contents.items).map(|item| item.name.to_string()).collect()
}

#[test]
fn a_taken_object_is_gone_for_all_and_an_item_of_the_folder() {
    let (mut node, ada, bea) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    ask(&mut node, ada, |client| derez(client, TAKE, 1, &[id]));
    assert!([ada, bea].iter().all(|&client| !node.clients[client].prims.contains_key(&id)));
    assert_eq!(acks(&node.clients[ada]), [true]);
    let made = made(&node.clients[ada]);
    let [(new, folder, name)] = &made[..] else { panic!("{made:?}") };
    assert_eq!((*folder, &**name), (FOLDER, "Primitive"));
    let stored = item(&mut node, *new).expect("it is in the inventory");
    let asset = node.assets.read(stored.asset).unwrap().expect("its content");
    assert_eq!((stored.asset_type, asset.kind), (6, AssetKind::Object));
    assert_eq!(alerts(&node.clients[ada]), Vec::<String>::new());
}

#[test]
fn a_repeated_request_is_acknowledged_and_has_no_second_effect() {
    let (mut node, ada, _) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    for _ in 0..2 {
        ask(&mut node, ada, |client| derez(client, TAKE_COPY, 1, &[id]));
    }
    assert_eq!((acks(&node.clients[ada]), made(&node.clients[ada]).len()), (vec![true; 2], 1));
    assert_eq!(prims(&node).len(), 1, "the object stays");
    assert_eq!(outcomes(&node)[&("DeRezObject", MessageOutcome::Ignored)], 1);
    // Another number is another request.
    ask(&mut node, ada, |client| derez(client, TAKE_COPY, 2, &[id]));
    assert_eq!(made(&node.clients[ada]).len(), 2);
    let copy = made(&node.clients[ada])[0].0;
    for _ in 0..2 {
        ask(&mut node, ada, |client| match rez(client, copy) {
            Message::RezObject(mut m) => {
                m.inventory_data.transaction_id = Uuid::from_u128(9);
                m.into()
            }
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(prims(&node).len(), 2);
}

#[test]
fn objects_that_are_taken_together_become_one_item_and_come_back_together() {
    let (mut node, ada, _) = node_of_two();
    let ids = [0.0, 1.0, 2.0].map(|y| make(&mut node, ada, PLACE + Vec3::Y * y).0);
    // In two datagrams, the second one first.
    for (number, part) in [(1, &ids[2..]), (0, &ids[..2])] {
        ask(&mut node, ada, |client| match derez(client, TAKE, 1, part) {
            Message::DeRezObject(mut m) => {
                (m.agent_block.packet_count, m.agent_block.packet_number) = (2, number);
                m.into()
            }
            other => panic!("{other:?}"),
        });
    }
    assert_eq!((acks(&node.clients[ada]), prims(&node)), (vec![true], vec![]));
    let made = made(&node.clients[ada]);
    let [(together, ..)] = &made[..] else { panic!("{made:?}") };
    ask(&mut node, ada, |client| rez(client, *together));
    assert_eq!(prims(&node).len(), 3);
}

#[test]
fn an_object_is_rezzed_selected_and_tells_its_item() {
    let (mut node, ada, bea) = node_of_two();
    let kept = taken(&mut node, ada);
    ask(&mut node, ada, |client| rez(client, kept));
    let found = prims(&node);
    let &[(id, object)] = &found[..] else { panic!("{found:?}") };
    assert!(node.clients[bea].prims[&id].position.distance(THERE + Vec3::Z * 0.25) < 0.01);
    let shown = last(&node.clients[ada], |message| match message {
        Message::ObjectProperties(m) => m.object_data.iter().find(|row| row.object_id == object).cloned(),
        _ => None,
    });
    assert_eq!((shown.item_id, shown.owner_id), (kept, agent("Ada").0));
    assert!(item(&mut node, kept).is_some(), "it may be copied");
    // It can be rezzed as often as its owner likes.
    ask(&mut node, ada, |client| rez(client, kept));
    assert_eq!(prims(&node).len(), 2);
    assert_eq!(alerts(&node.clients[ada]), Vec::<String>::new());
}

#[test]
fn an_object_that_may_not_be_copied_is_in_one_place() {
    let (mut node, ada, _) = node_of_two();
    let single = taken(&mut node, ada);
    forbid_copies(&mut node, single);
    // Twice at once, by a client that does not wait.
    for _ in 0..2 {
        let message = rez(&node.clients[ada], single);
        node.clients[ada].send(&message);
    }
    node.run_ms(1_500);
    assert_eq!((prims(&node).len(), item(&mut node, single)), (1, None));
    assert_eq!(gone(&node.clients[ada]), [single]);
    let alerts = alerts(&node.clients[ada]);
    assert_eq!(alerts, ["The item stays where it is: it is on its way into a region."]);
    let id = prims(&node)[0].0;
    ask(&mut node, ada, |client| derez(client, TAKE, 5, &[id]));
    let back = made(&node.clients[ada]).pop().expect("an item").0;
    assert!(back != single && item(&mut node, back).is_some());
    assert_eq!(prims(&node), []);
}

#[test]
fn an_object_comes_back_to_where_it_was_taken() {
    let (mut node, ada, _) = node_of_two();
    let kept = taken(&mut node, ada);
    ask(&mut node, ada, |client| message_of!(client, RezRestoreToWorld, |m| m.inventory_data.item_id = kept));
    let id = prims(&node)[0].0;
    assert!(node.clients[ada].prims[&id].position.distance(PLACE + Vec3::Z * 0.25) < 0.01);
}

#[test]
fn the_content_of_an_item_is_replaced_by_the_object_that_came_out_of_it() {
    let (mut node, ada, _) = node_of_two();
    let (never, _) = make(&mut node, ada, PLACE + Vec3::Y * 4.0);
    let kept = taken(&mut node, ada);
    let before = item(&mut node, kept).expect("an item").asset;
    ask(&mut node, ada, |client| rez(client, kept));
    let (id, _) = *prims(&node).iter().find(|(id, _)| *id != never).expect("the rezzed one");
    ask(&mut node, ada, |client| {
        message_of!(client, ObjectDescription, |m| m.object_data = vec![ObjectDescriptionObjectData {
            local_id: id,
            description: to_wire("changed", VARIABLE1_MAX),
        }])
    });
    ask(&mut node, ada, |client| derez(client, SAVE, 7, &[id, never]));
    let after = item(&mut node, kept).expect("the same item").asset;
    assert!(after != before && node.assets.read(after).unwrap().is_some());
    assert_eq!(prims(&node).len(), 2, "both stay");
    assert_eq!(alerts(&node.clients[ada]), [Feature::UnknownItem.to_string()], "one came out of none");
}

#[test]
fn a_texture_is_not_rezzed() {
    let (mut node, ada, _) = node_of_two();
    ask(&mut node, ada, |client| rez(client, ITEM));
    let alert = alerts(&node.clients[ada]).pop().expect("another one");
    assert_eq!(alert, "The item stays where it is: it is no object.");
    assert_eq!(shown(&node.clients[ada]), [ITEM], "viewers have removed it already");
}

#[test]
fn items_go_into_a_prim_and_out_of_it() {
    let (mut node, ada, _) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    ask(&mut node, ada, |client| put(client, id, ITEM));
    assert_eq!(contents(&node, id), ["Wood"]);
    assert!(item(&mut node, ITEM).is_some(), "it may be copied");
    let serial = last(&node.clients[ada], |message| match message {
        Message::ObjectProperties(m) => Some(m.object_data[0].inventory_serial),
        _ => None,
    });
    assert_eq!(serial, 1);
    forbid_copies(&mut node, ITEM);
    ask(&mut node, ada, |client| put(client, id, ITEM));
    assert_eq!(contents(&node, id), ["Wood", "Wood 1"]);
    assert_eq!(item(&mut node, ITEM), None);
    assert_eq!(gone(&node.clients[ada]), [ITEM]);
    // Out again: the first is copied, the second one moves.
    let inside = |node: &Node, name: &str| {
        let replica = node.places.get(HARBOUR).scene.feed.current();
        let contents = replica.objects().get(LocalId(id))?.body.contents.clone()?;
        contents.items.iter().find(|item| &*item.name == name).map(|item| item.id)
    };
    for (name, left) in [("Wood", 2), ("Wood 1", 1)] {
        let item_id = inside(&node, name).expect("it is there");
        ask(&mut node, ada, |client| {
            message_of!(client, MoveTaskInventory, |m| {
                m.agent_data.folder_id = FOLDER;
                (m.inventory_data.local_id, m.inventory_data.item_id) = (id, item_id);
            })
        });
        assert_eq!(contents(&node, id).len(), left, "{name}");
        let (_, folder, made) = made(&node.clients[ada]).pop().expect("an item");
        assert_eq!((folder, &*made), (FOLDER, name));
    }
    assert_eq!(alerts(&node.clients[ada]), Vec::<String>::new());
}

#[test]
fn an_item_that_a_prim_refuses_stays_and_is_shown_again() {
    let (mut node, ada, bea) = node_of_two();
    let (id, _) = make(&mut node, bea, PLACE);
    forbid_copies(&mut node, ITEM);
    ask(&mut node, ada, |client| put(client, id, ITEM));
    assert_eq!(alerts(&node.clients[ada]), [EditRefusal::Rights.text()]);
    assert_eq!((shown(&node.clients[ada]), contents(&node, id).len()), (vec![ITEM], 0));
    // It is free again.
    let region = node.places.get(HARBOUR).world();
    let marked = node.store().mark_item(agent("Ada"), ITEM, region).unwrap();
    assert!(matches!(marked, MarkItem::Marked { .. }), "{marked:?}");
    // Contents are read again.
    let serial = last(&node.clients[ada], |message| match message {
        Message::ObjectProperties(m) => Some(m.object_data[0].inventory_serial),
        _ => None,
    });
    assert!(serial > 0, "{serial}");
}

#[test]
fn a_script_goes_into_a_prim_new_or_out_of_the_inventory() {
    let (mut node, ada, _) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    let script = |client: &Client, item: Uuid| {
        message_of!(client, RezScript, |m| {
            m.update_block.object_local_id = id;
            m.inventory_block.item_id = item;
            m.inventory_block.name = to_wire("New Script", VARIABLE1_MAX);
        })
    };
    ask(&mut node, ada, |client| script(client, Uuid::nil()));
    assert_eq!(contents(&node, id), ["New Script"]);
    ask(&mut node, ada, |client| script(client, ITEM));
    assert_eq!(alerts(&node.clients[ada]), ["The item stays where it is: it is no script."]);
    assert_eq!(contents(&node, id).len(), 1);
}
