//! Contents of objects: lists as files, also over losses, and changes of items.

use super::{last, outcomes};
use crate::coverage::MessageOutcome;
use crate::shard::tests::editing::{PLACE, alerts, make, node_of_two};
use crate::testing::{Client, HARBOUR, Node, agent};
use ids::{LocalId, Uuid};
use link::{Action, ContentReplacement, ObjectCommand};
use prim::{Carried, ContentItem, Contents, Mask, Ownership, Permissions, Sale};
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, from_wire, to_wire};

const LAST_PART: u32 = 1 << 31;
const NO_ASSET: &str = "\t\tasset_id\t00000000-0000-0000-0000-000000000000\n";

/// A notecard of Ada's.
fn note(n: u128) -> ContentItem {
    let ada = agent("Ada");
    ContentItem {
        id: Uuid::from_u128(n),
        asset: Uuid::from_u128(1 << 100 | n),
        asset_type: 7,
        inventory_type: 7,
        name: format!("Note {n}").into(),
        description: "of a test".into(),
        flags: 0,
        ownership: Ownership {
            creator: ada,
            owner: ada,
            last_owner: ada,
            group: Uuid::nil(),
            permissions: Permissions::NEW,
        },
        sale: Sale::default(),
        created_s: 1_700_000_000,
        carried: Carried::default(),
    }
}

/// Puts notes into a prim, numbered from 1.
fn fill(node: &mut Node, id: u32, n_items: u128) {
    for n in 1..=n_items {
        let request = ObjectCommand::PutItem(LocalId(id), Box::new(note(n)));
        node.order(HARBOUR, Action::Object(Box::new(request)));
    }
    node.run_ms(500);
}

fn contents(node: &Node, id: u32) -> Contents {
    let replica = node.places.get(HARBOUR).scene.feed.current();
    let body = &replica.objects().get(LocalId(id)).expect("it is there").body;
    body.contents.as_deref().cloned().unwrap_or_default()
}

/// The newest answer on contents that a client got.
fn answer(client: &Client) -> ReplyTaskInventoryInventoryData {
    last(client, |message| match message {
        Message::ReplyTaskInventory(m) => Some(m.inventory_data.clone()),
        _ => None,
    })
}

fn ask(node: &mut Node, client: usize, id: u32) -> ReplyTaskInventoryInventoryData {
    let one = &mut node.clients[client];
    let mut message = RequestTaskInventory::default();
    message.agent_data.agent_id = one.agent.0;
    message.agent_data.session_id = one.session_id.0;
    message.inventory_data.local_id = id;
    one.send(&message.into());
    node.run_ms(1_500);
    answer(&node.clients[client])
}

fn request_file(node: &mut Node, client: usize, id: u64, name: &[u8]) {
    let filename = to_wire(&from_wire(name), VARIABLE1_MAX);
    let xfer_id = RequestXferXferID { id, filename, ..RequestXferXferID::default() };
    node.clients[client].send(&RequestXfer { xfer_id }.into());
}

/// Downloads a file as viewers do: parts in their order alone, each of them confirmed.
fn download(node: &mut Node, client: usize, id: u64, name: &[u8]) -> String {
    let mut read = node.clients[client].inbox.len();
    request_file(node, client, id, name);
    let (mut bytes, mut next) = (Vec::new(), 0);
    for _ in 0..600 {
        node.run_ms(100);
        while let Some(message) = node.clients[client].inbox.get(read).cloned() {
            read += 1;
            let Message::SendXferPacket(m) = message else { continue };
            let part = m.xfer_id.packet & !LAST_PART;
            if m.xfer_id.id != id || part > next {
                continue;
            }
            if part == next {
                bytes.extend_from_slice(&m.data_packet.data);
                next += 1;
            }
            let xfer_id = ConfirmXferPacketXferID { id, packet: part };
            node.clients[client].send(&ConfirmXferPacket { xfer_id }.into());
            if m.xfer_id.packet & LAST_PART != 0 {
                let (length, text) = bytes.split_first_chunk().expect("a length");
                assert_eq!(u32::from_le_bytes(*length) as usize, text.len());
                node.run_ms(500);
                return String::from_utf8(text.to_vec()).expect("a text");
            }
        }
    }
    panic!("only {next} parts have come");
}

/// A change of an item that keeps everything but its name.
fn rename(client: &Client, id: u32, item: &ContentItem, name: &str) -> Message {
    let masks = item.ownership.permissions;
    UpdateTaskInventory {
        agent_data: UpdateTaskInventoryAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        update_data: UpdateTaskInventoryUpdateData { local_id: id, key: 0 },
        inventory_data: UpdateTaskInventoryInventoryData {
            item_id: item.id,
            base_mask: masks.base.bits(),
            owner_mask: masks.owner.bits(),
            group_mask: masks.group.bits(),
            everyone_mask: Mask::COPY.bits(),
            next_owner_mask: masks.next_owner.bits(),
            name: to_wire(name, VARIABLE1_MAX),
            description: to_wire("renamed", VARIABLE1_MAX),
            ..UpdateTaskInventoryInventoryData::default()
        },
    }
    .into()
}

fn remove(client: &Client, id: u32, item_id: Uuid) -> Message {
    RemoveTaskInventory {
        agent_data: RemoveTaskInventoryAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        inventory_data: RemoveTaskInventoryInventoryData { local_id: id, item_id },
    }
    .into()
}

#[test]
fn a_list_arrives_over_losses_and_has_assets_for_a_user_with_the_right_to_change_the_object() {
    let (mut node, ada, bea) = node_of_two();
    let (id, object) = make(&mut node, ada, PLACE);
    let empty = ask(&mut node, ada, id);
    assert_eq!((empty.task_id, empty.serial, empty.filename), (object, 0, Vec::new()), "no file");
    fill(&mut node, id, 30);
    let own = ask(&mut node, ada, id);
    assert_eq!((own.task_id, own.serial), (object, 30));
    let name = from_wire(&own.filename);
    assert!(name.starts_with("inventory_") && name.ends_with(".tmp"), "{name}");
    node.loss.percent = 15;
    let text = download(&mut node, ada, 77, &own.filename);
    node.loss.percent = 0;
    for n in 1..=30 {
        assert!(text.contains(&format!("\t\tname\tNote {n}|\n")), "{n} of {text}");
    }
    assert!(!text.contains(NO_ASSET) && text.len() > 20_000);
    let other = ask(&mut node, bea, id);
    assert_ne!(other.filename, own.filename);
    let text = download(&mut node, bea, 77, &other.filename);
    assert_eq!((text.matches("inv_item").count(), text.matches(NO_ASSET).count()), (30, 30));
    // A file is for the client that got its name.
    request_file(&mut node, bea, 78, &own.filename);
    node.run_ms(300);
    let refused = last(&node.clients[bea], |message| match message {
        Message::AbortXfer(m) => Some(m.xfer_id.id),
        _ => None,
    });
    assert_eq!(refused, 78);
}

#[test]
fn a_client_ends_a_file_that_it_does_not_want() {
    let (mut node, ada, _) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    fill(&mut node, id, 30);
    let answer = ask(&mut node, ada, id);
    request_file(&mut node, ada, 5, &answer.filename);
    node.run_ms(300);
    let n_parts = |node: &Node| node.clients[ada].count(|m| matches!(m, Message::SendXferPacket(_)));
    assert_eq!(n_parts(&node), 1, "the first one is alone");
    for _ in 0..2 {
        let xfer_id = AbortXferXferID { id: 5, result: -1 };
        node.clients[ada].send(&AbortXfer { xfer_id }.into());
        node.run_ms(300);
    }
    node.run_ms(10_000);
    assert_eq!(n_parts(&node), 1);
    let occurred = outcomes(&node);
    for outcome in [MessageOutcome::Done, MessageOutcome::Ignored] {
        assert_eq!(occurred[&("AbortXfer", outcome)], 1, "{outcome:?}");
    }
}

#[test]
fn an_item_is_renamed_and_removed_and_each_change_is_answered() {
    let (mut node, ada, _) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    fill(&mut node, id, 1);
    let message = rename(&node.clients[ada], id, &note(1), "List");
    node.clients[ada].send(&message);
    node.run_ms(500);
    assert_eq!(answer(&node.clients[ada]).serial, 2);
    let held = contents(&node, id);
    assert_eq!((&*held.items[0].name, &*held.items[0].description), ("List", "renamed"));
    assert_eq!(held.items[0].ownership.permissions.everyone, Mask::COPY);
    let message = remove(&node.clients[ada], id, note(1).id);
    node.clients[ada].send(&message);
    node.run_ms(500);
    let answer = answer(&node.clients[ada]);
    assert_eq!((answer.serial, answer.filename), (3, Vec::new()));
    assert!(contents(&node, id).items.is_empty());
    assert_eq!(alerts(&node.clients[ada]), Vec::<String>::new());
}

#[test]
fn a_refused_change_brings_a_notice_and_the_contents_as_they_are() {
    let (mut node, ada, bea) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    fill(&mut node, id, 1);
    let before = contents(&node, id);
    // Of the inventory, which does not have it.
    let message = rename(&node.clients[ada], id, &note(9), "New");
    node.clients[ada].send(&message);
    node.run_ms(500);
    let text = "The item stays where it is: it is not in your inventory.";
    assert_eq!(alerts(&node.clients[ada]), [text]);
    assert_eq!(answer(&node.clients[ada]).serial, 1);
    // Of an object of another user.
    for message in
        [rename(&node.clients[bea], id, &note(1), "Mine"), remove(&node.clients[bea], id, note(1).id)]
    {
        node.clients[bea].inbox.clear();
        node.clients[bea].send(&message);
        node.run_ms(1_500);
        assert_eq!(answer(&node.clients[bea]).serial, 1);
        assert_eq!(alerts(&node.clients[bea]).len(), 1);
        // The client reads them again if it sees another number.
        let shown = last(&node.clients[bea], |message| match message {
            Message::ObjectProperties(m) => Some(m.object_data[0].inventory_serial),
            _ => None,
        });
        assert!(shown > 1, "{shown}");
    }
    assert_eq!(contents(&node, id), before);
}

#[test]
fn a_file_too_many_is_refused_and_a_request_that_comes_twice_is_not() {
    let (mut node, ada, _) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    fill(&mut node, id, 30);
    let answer = ask(&mut node, ada, id);
    let refused = |node: &Node| node.clients[ada].count(|m| matches!(m, Message::AbortXfer(_)));
    for id in [1, 2, 3, 4, 4] {
        request_file(&mut node, ada, id, &answer.filename);
        node.run_ms(100);
    }
    assert_eq!(refused(&node), 0);
    request_file(&mut node, ada, 5, &answer.filename);
    node.run_ms(300);
    assert_eq!(refused(&node), 1, "four are under way");
}

#[test]
fn content_of_an_item_that_the_node_replaces_brings_the_serial_number() {
    let (mut node, ada, bea) = node_of_two();
    let (id, object) = make(&mut node, ada, PLACE);
    fill(&mut node, id, 1);
    let assets = [1, 2].map(|n| Uuid::from_u128(0xA55E7 + n));
    for ((client, serial), asset) in [(bea, 1), (ada, 2)].into_iter().zip(assets) {
        let session = node.hub.session_named(["Ada Resident", "Bea Resident"][usize::from(client == bea)]);
        let session = session.expect("a user");
        let order = ContentReplacement { session, object, item: note(1).id, asset_type: 7, asset };
        node.order(HARBOUR, Action::ReplaceContent(Box::new(order)));
        node.run_ms(500);
        assert_eq!(answer(&node.clients[client]).serial, serial);
    }
    assert_eq!(contents(&node, id).items[0].asset, assets[1]);
}
