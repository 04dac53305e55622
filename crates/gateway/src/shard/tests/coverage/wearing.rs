//! Objects that avatars wear, and their looks, with a region that is saved.

use super::transfers::{ask, gone, item, made, node_of_two, taken};
use super::{last, outcomes};
use crate::coverage::{Feature, MessageOutcome};
use crate::hub::Record;
use crate::shard::tests::editing::{PLACE, alerts, make};
use crate::testing::{Client, HARBOUR, Node, agent};
use glam::{Quat, Vec3};
use ids::{LocalId, Uuid};
use store::{StoredAppearance, StoredBake, StoredWearable};
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, to_wire};
use wire::texture_entry::{Face, TextureEntry};

/// Objects that avatars wear in the harbour: each root with its item, its point and its place there.
fn worn(node: &Node) -> Vec<(u32, Option<Uuid>, u8, Vec3)> {
    let replica = node.places.get(HARBOUR).scene.feed.current();
    let objects = replica.objects();
    let ids: Vec<u32> = node.clients.iter().flat_map(|client| client.prims.keys().copied()).collect();
    let mut worn = Vec::new();
    for id in ids {
        let Some(entry) = objects.get(LocalId(id)).filter(|entry| entry.body.worn_item.is_some()) else {
            continue;
        };
        let row = (id, entry.body.worn_item, entry.body.attachment_point(), entry.prim.motion.position);
        if !worn.contains(&row) {
            worn.push(row);
        }
    }
    worn.sort_by_key(|row| row.1);
    worn
}

pub(super) fn items(node: &Node) -> Vec<Option<Uuid>> {
    worn(node).into_iter().map(|(_, item, ..)| item).collect()
}

pub(super) fn wear(client: &Client, item_id: Uuid, attachment_pt: u8) -> Message {
    let mut m = RezSingleAttachmentFromInv::default();
    (m.agent_data.agent_id, m.agent_data.session_id) = (client.agent.0, client.session_id.0);
    (m.object_data.item_id, m.object_data.attachment_pt) = (item_id, attachment_pt);
    m.into()
}

fn wear_outfit(client: &Client, outfit: u128, first_detach_all: bool, items: &[Uuid]) -> Message {
    let mut m = RezMultipleAttachmentsFromInv::default();
    (m.agent_data.agent_id, m.agent_data.session_id) = (client.agent.0, client.session_id.0);
    m.header_data.compound_msg_id = Uuid::from_u128(outfit);
    m.header_data.first_detach_all = first_detach_all;
    let row = |item_id: &Uuid| RezMultipleAttachmentsFromInvObjectData {
        item_id: *item_id,
        attachment_pt: 0x80 | 5,
        ..RezMultipleAttachmentsFromInvObjectData::default()
    };
    m.object_data = items.iter().map(row).collect();
    m.into()
}

fn detach(client: &Client, object_local_id: u32) -> Message {
    let mut m = ObjectDetach::default();
    (m.agent_data.agent_id, m.agent_data.session_id) = (client.agent.0, client.session_id.0);
    m.object_data = vec![ObjectDetachObjectData { object_local_id }];
    m.into()
}

pub(super) fn attach(client: &Client, ids: &[u32]) -> Message {
    attach_at(client, 5, ids)
}

fn attach_at(client: &Client, point: u8, ids: &[u32]) -> Message {
    let mut m = ObjectAttach::default();
    (m.agent_data.agent_id, m.agent_data.session_id) = (client.agent.0, client.session_id.0);
    m.agent_data.attachment_point = point;
    let row = |&object_local_id| ObjectAttachObjectData { object_local_id, rotation: Quat::IDENTITY };
    m.object_data = ids.iter().map(row).collect();
    m.into()
}

fn rename(client: &Client, local_id: u32, name: &str) -> Message {
    let mut m = ObjectName::default();
    (m.agent_data.agent_id, m.agent_data.session_id) = (client.agent.0, client.session_id.0);
    m.object_data = vec![ObjectNameObjectData { local_id, name: to_wire(name, VARIABLE1_MAX) }];
    m.into()
}

fn name_of(node: &Node, id: u32) -> String {
    let replica = node.places.get(HARBOUR).scene.feed.current();
    replica.objects().get(LocalId(id)).expect("it is there").body.names.name.to_string()
}

#[test]
fn an_item_is_worn_edited_and_taken_off_with_its_last_state() {
    let (mut node, ada, bea) = node_of_two();
    let hat = taken(&mut node, ada);
    let before = item(&mut node, hat).expect("an item");
    ask(&mut node, ada, |client| wear(client, hat, 2));
    let shown_worn = worn(&node);
    let [(id, Some(of), 2, _)] = shown_worn[..] else { panic!("{shown_worn:?}") };
    assert_eq!(of, hat);
    assert!([ada, bea].iter().all(|&client| node.clients[client].prims.contains_key(&id)));
    assert_eq!(item(&mut node, hat), Some(before.clone()), "it stays");
    // Worn once, and shown again to a client that does not display it.
    node.clients[ada].prims.remove(&id);
    ask(&mut node, ada, |client| wear(client, hat, 9));
    assert!(node.clients[ada].prims.contains_key(&id));
    assert_eq!((worn(&node).len(), alerts(&node.clients[ada]).len()), (1, 0));
    ask(&mut node, ada, |client| rename(client, id, "Hat"));
    let rows = node.store().worn_objects(agent("Ada")).unwrap().rows;
    assert!(rows.len() == 1 && rows[0].is_ahead, "saved within a second and a half");
    node.clients[ada].inbox.clear();
    ask(&mut node, ada, |client| detach(client, id));
    assert_eq!((worn(&node), node.store().worn_objects(agent("Ada")).unwrap().rows), (vec![], vec![]));
    let after = item(&mut node, hat).expect("an item");
    assert_ne!(after.asset, before.asset);
    assert_eq!(store::Item { asset: before.asset, ..after }, before, "but for its content");
    let told: Vec<Uuid> = made(&node.clients[ada]).into_iter().map(|(item, ..)| item).collect();
    assert_eq!(told, [hat], "the client knows the new asset");
}

#[test]
fn an_object_of_the_ground_becomes_an_item_until_it_is_dropped() {
    let (mut node, ada, _) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    ask(&mut node, ada, |client| attach(client, &[id]));
    let made = made(&node.clients[ada]);
    let [(coat, ..)] = made[..] else { panic!("{made:?}") };
    assert_eq!(items(&node), [Some(coat)]);
    let worn_id = worn(&node)[0].0;
    ask(&mut node, ada, |client| {
        let mut m = ObjectDrop::default();
        (m.agent_data.agent_id, m.agent_data.session_id) = (client.agent.0, client.session_id.0);
        m.object_data = vec![ObjectDropObjectData { object_local_id: worn_id }];
        m.into()
    });
    assert_eq!((items(&node), gone(&node.clients[ada]), item(&mut node, coat)), (vec![], vec![coat], None));
    // More than an avatar may wear.
    let many: Vec<u32> = vec![id; 39];
    ask(&mut node, ada, |client| attach(client, &many));
    let text = alerts(&node.clients[ada]).pop().expect("an alert");
    assert!(text.contains("38 objects at most"), "{text}");
}

#[test]
fn objects_that_are_replaced_do_not_count_against_the_limit() {
    let (mut node, ada, _) = node_of_two();
    let made: Vec<u32> = (0..39).map(|n| make(&mut node, ada, PLACE + Vec3::Y * 0.5 * n as f32).0).collect();
    let (&last, many) = made.split_last().expect("some");
    ask(&mut node, ada, |client| attach(client, many));
    assert_eq!((worn(&node).len(), alerts(&node.clients[ada]).len()), (38, 0));
    for point in [0x80 | 5, 6, 0] {
        ask(&mut node, ada, |client| attach_at(client, point, &[last]));
        assert_eq!(worn(&node).len(), 38, "one more than 38 would be worn");
    }
    ask(&mut node, ada, |client| attach(client, &[last]));
    assert_eq!(worn(&node).len(), 1);
}

#[test]
fn an_outfit_comes_in_several_messages_and_items_are_taken_off_by_name() {
    let (mut node, ada, _) = node_of_two();
    let things: Vec<Uuid> = (0..4).map(|_| taken(&mut node, ada)).collect();
    ask(&mut node, ada, |client| wear(client, things[0], 0x80 | 5));
    for part in [&things[1..3], &things[3..]] {
        ask(&mut node, ada, |client| wear_outfit(client, 1, true, part));
    }
    let mut expected: Vec<Option<Uuid>> = things[1..].iter().copied().map(Some).collect();
    expected.sort_unstable();
    assert_eq!(items(&node), expected, "what was worn before is off, and both parts are on");
    let session = node.clients[ada].session_id.0;
    ask(&mut node, ada, |client| {
        let object_data = DetachAttachmentIntoInvObjectData { agent_id: client.agent.0, item_id: things[1] };
        DetachAttachmentIntoInv { object_data }.into()
    });
    ask(&mut node, ada, |client| {
        let agent_data = RemoveAttachmentAgentData { agent_id: client.agent.0, session_id: session };
        let attachment_block = RemoveAttachmentAttachmentBlock { attachment_point: 5, item_id: things[2] };
        RemoveAttachment { agent_data, attachment_block }.into()
    });
    assert_eq!(items(&node), [Some(things[3])]);
    // In place of the one at the point.
    ask(&mut node, ada, |client| wear(client, things[0], 5));
    assert_eq!(items(&node), [Some(things[0])]);
    assert_eq!(alerts(&node.clients[ada]), Vec::<String>::new());
    // Of another user.
    ask(&mut node, ada, |_| {
        let object_data = DetachAttachmentIntoInvObjectData { agent_id: agent("Bea").0, item_id: things[0] };
        DetachAttachmentIntoInv { object_data }.into()
    });
    assert_eq!(outcomes(&node)[&("DetachAttachmentIntoInv", MessageOutcome::Dropped)], 1);
}

#[test]
fn what_an_avatar_wears_is_there_after_the_next_login() {
    let (mut node, ada, bea) = node_of_two();
    let hat = taken(&mut node, ada);
    ask(&mut node, ada, |client| wear(client, hat, 31));
    let id = worn(&node)[0].0;
    ask(&mut node, ada, |client| rename(client, id, "Display"));
    let before = item(&mut node, hat).expect("an item").asset;
    node.clients[ada].log_out();
    node.run_ms(2_000);
    assert_eq!(worn(&node), []);
    assert_ne!(item(&mut node, hat).expect("an item").asset, before, "it has the state of the logout");
    let again = node.enter("Ada");
    node.run_ms(3_000);
    let shown_worn = worn(&node);
    let [(id, Some(of), 31, _)] = shown_worn[..] else { panic!("{shown_worn:?}") };
    assert_eq!((of, name_of(&node, id)), (hat, "Display".to_owned()));
    assert!(node.clients[again].prims.contains_key(&id), "on the screen of its wearer");
    assert!(!node.clients[bea].prims.contains_key(&id), "and on no other");
}

#[test]
fn what_cannot_be_worn_is_refused_in_an_alert() {
    let (mut node, ada, _) = node_of_two();
    ask(&mut node, ada, |client| wear(client, Uuid::from_u128(5), 2));
    assert_eq!(alerts(&node.clients[ada]), ["It cannot be worn: it is not in your inventory."]);
    ask(&mut node, ada, |client| wear(client, Uuid::from_u128(5), 77));
    assert!(alerts(&node.clients[ada])[1].contains("no attachment point 77"));
    // Without rows there is nothing to be done, and null items are none.
    ask(&mut node, ada, |client| wear_outfit(client, 1, false, &[]));
    assert_eq!(outcomes(&node)[&("RezMultipleAttachmentsFromInv", MessageOutcome::Ignored)], 1);
    // In an instance.
    let cave = node.instance("Cave", 256, 0, 10);
    let session = node.hub.session_of(agent("Ada")).expect("she is here");
    let now = node.now;
    node.hub.enter(now, session, cave.world, None).expect("there is room");
    node.run_ms(2_000);
    ask(&mut node, ada, |client| wear(client, Uuid::from_u128(5), 2));
    assert_eq!(alerts(&node.clients[ada])[2..], [Feature::InventoryObjects.to_string()]);
}

#[test]
fn objects_come_back_from_an_instance() {
    let (mut node, ada, _) = node_of_two();
    let hat = taken(&mut node, ada);
    ask(&mut node, ada, |client| wear(client, hat, 2));
    let cave = node.instance("Cave", 256, 0, 10);
    let session = node.hub.session_of(agent("Ada")).expect("she is here");
    let now = node.now;
    node.hub.enter(now, session, cave.world, None).expect("there is room");
    node.run_ms(3_000);
    assert_eq!(worn(&node), [], "instances show none");
    let now = node.now;
    node.hub.leave(now, session).expect("there is room");
    node.run_ms(3_000);
    assert_eq!(items(&node), [Some(hat)]);
}

fn set_appearance(client: &Client, serial_num: u32, texture_entry: Vec<u8>) -> Message {
    let cache_id = Uuid::from_u128(0xCAC4E);
    AgentSetAppearance {
        agent_data: AgentSetAppearanceAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
            serial_num,
            size: Vec3::new(0.45, 0.6, 1.7),
        },
        wearable_data: vec![AgentSetAppearanceWearableData { cache_id, texture_index: 8 }],
        object_data: AgentSetAppearanceObjectData { texture_entry },
        visual_param: vec![AgentSetAppearanceVisualParam { param_value: serial_num as u8 }; 218],
    }
    .into()
}

#[test]
fn an_appearance_is_kept_once_in_five_seconds_and_at_the_end() {
    let (mut node, ada, _) = node_of_two();
    let head = Uuid::from_u128(0xBA4E);
    let mut entry = TextureEntry::avatar();
    entry.faces.insert(8, Face::plain(head));
    for serial in 1..=20 {
        let message = set_appearance(&node.clients[ada], serial, entry.encode());
        node.clients[ada].send(&message);
        node.run_ms(200);
    }
    let kept = |node: &Node| -> Vec<u8> {
        let looks = node.records.iter().filter_map(|record| match record {
            Record::Appearance(of, look) if *of == agent("Ada") => Some(look.appearance.visual_params[0]),
            _ => None,
        });
        looks.collect()
    };
    let early = kept(&node);
    assert!((1..=2).contains(&early.len()), "{early:?}");
    node.run_ms(6_000);
    assert_eq!(kept(&node).last(), Some(&20), "the newest");
    // Without textures those of before stay.
    let message = set_appearance(&node.clients[ada], 21, Vec::new());
    node.clients[ada].send(&message);
    node.run_ms(300);
    node.clients[ada].log_out();
    node.run_ms(1_000);
    let looks = node.records.iter().rev().find_map(|record| match record {
        Record::Appearance(_, look) => Some(look.clone()),
        _ => None,
    });
    let look = looks.expect("it is kept");
    let bake = StoredBake { face: 8, cache_id: Uuid::from_u128(0xCAC4E), asset: head };
    assert_eq!((look.appearance.visual_params[0], &*look.bakes), (21, &[bake][..]));
    assert_eq!(look.appearance.texture_entry, entry.encode());
}

/// The newest appearance of a user's avatar that a client was sent: texture entry, and one of its parameters.
fn shown_look(client: &Client, name: &str) -> Option<(Vec<u8>, u8)> {
    client.inbox.iter().rev().find_map(|message| match message {
        Message::AvatarAppearance(m) if m.sender.id == agent(name).0 => {
            Some((m.object_data.texture_entry.clone(), m.visual_param.first()?.param_value))
        }
        _ => None,
    })
}

#[test]
fn a_kept_appearance_is_shown_before_the_avatars_client_has_sent_one() {
    let (mut node, ada, bea) = node_of_two();
    let mut entry = TextureEntry::avatar();
    entry.faces.insert(8, Face::plain(Uuid::from_u128(0xBA4E)));
    ask(&mut node, ada, |client| set_appearance(client, 77, entry.encode()));
    let of_ada = shown_look(&node.clients[bea], "Ada").expect("the client has sent one");
    assert_eq!(of_ada.1, 77);
    node.clients[ada].log_out();
    node.run_ms(2_000);
    assert_eq!(node.avatars_in(HARBOUR), 1);
    // As the threads of the store and of logins do it.
    let mut records = node.records.iter().rev();
    let kept = records.find_map(|record| match record {
        Record::Appearance(of, look) if *of == agent("Ada") => Some(StoredAppearance::from(look)),
        _ => None,
    });
    node.store().save_appearances(&[(agent("Ada"), kept.expect("it is kept"))]).unwrap();
    let stored = node.store().appearance(agent("Ada")).unwrap().expect("it is stored").expect("it is whole");
    node.clients[bea].inbox.clear();
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    let admission = node.admit_in("Ada", spot, Some(stored.into())).expect("there is room");
    node.relay();
    let again = node.add_client("Ada", &admission);
    node.clients[again].open();
    node.run_ms(3_000);
    assert!(node.clients[again].sees_itself());
    assert_eq!(shown_look(&node.clients[bea], "Ada"), Some(of_ada), "it has sent none since");
    // A newer one of its client replaces it.
    ask(&mut node, again, |client| set_appearance(client, 78, entry.encode()));
    assert_eq!(shown_look(&node.clients[bea], "Ada").map(|(_, first)| first), Some(78));
}

#[test]
fn cached_textures_are_those_of_the_appearance() {
    let (mut node, ada, _) = node_of_two();
    let head = Uuid::from_u128(0xBA4E);
    let mut entry = TextureEntry::avatar();
    entry.faces.insert(8, Face::plain(head));
    ask(&mut node, ada, |client| set_appearance(client, 1, entry.encode()));
    ask(&mut node, ada, |client| {
        let agent_data = AgentCachedTextureAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
            serial_num: 3,
        };
        let row =
            |id, texture_index| AgentCachedTextureWearableData { id: Uuid::from_u128(id), texture_index };
        AgentCachedTexture { agent_data, wearable_data: vec![row(0xCAC4E, 0), row(5, 1), row(0, 2)] }.into()
    });
    let rows = last(&node.clients[ada], |message| match message {
        Message::AgentCachedTextureResponse(m) => Some(m.wearable_data.clone()),
        _ => None,
    });
    let textures: Vec<Uuid> = rows.iter().map(|row| row.texture_id).collect();
    assert_eq!(textures, [head, Uuid::nil(), Uuid::nil()]);
    // A texture entry that is none is refused.
    ask(&mut node, ada, |client| set_appearance(client, 2, vec![1, 2, 3]));
    assert_eq!(outcomes(&node)[&("AgentSetAppearance", MessageOutcome::Dropped)], 1);
}

#[test]
fn an_outfit_of_clothing_is_kept_with_the_account() {
    let (mut node, ada, _) = node_of_two();
    let shape = Uuid::from_u128(0x5);
    ask(&mut node, ada, |client| {
        let agent_data =
            AgentIsNowWearingAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
        let row = |item_id, wearable_type| AgentIsNowWearingWearableData { item_id, wearable_type };
        AgentIsNowWearing { agent_data, wearable_data: vec![row(shape, 0), row(Uuid::nil(), 4)] }.into()
    });
    let worn = node.store().wearables(agent("Ada")).unwrap();
    assert_eq!(worn, [StoredWearable { item: shape, kind: 0 }]);
    assert_eq!(outcomes(&node)[&("AgentIsNowWearing", MessageOutcome::Done)], 1);
}
