//! Clients make, change and remove objects, and others see it.

use crate::shard::tests::objects::first;
use crate::testing::{Client, HARBOUR, Node, Setup, agent};
use glam::{Quat, Vec3};
use ids::{LocalId, Uuid};
use prim::receiver_flags::YOU_OWNER;
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, from_wire, to_wire};

const CREATE_SELECTED: u32 = 2;
pub(super) const PLACE: Vec3 = Vec3::new(130.0, 128.0, 21.0);

pub(super) fn node_of_two() -> (Node, usize, usize) {
    let mut node = Node::new();
    let (ada, bea) = (node.enter("Ada"), node.enter("Bea"));
    node.run_ms(1_000);
    (node, ada, bea)
}

pub(super) fn add(client: &Client, end: Vec3, target: Uuid) -> ObjectAdd {
    ObjectAdd {
        agent_data: ObjectAddAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
            group_id: Uuid::nil(),
        },
        object_data: ObjectAddObjectData {
            p_code: 9,
            material: 3,
            add_flags: CREATE_SELECTED,
            path_curve: 0x10,
            profile_curve: 1,
            path_scale_x: 100,
            path_scale_y: 100,
            scale: Vec3::splat(0.5),
            rotation: Quat::IDENTITY,
            ray_start: end + Vec3::Z * 10.0,
            ray_end: end,
            ray_target_id: target,
            bypass_raycast: u8::from(target.is_nil()),
            ..ObjectAddObjectData::default()
        },
    }
}

/// A client makes a prim; its local id and its id.
pub(super) fn make(node: &mut Node, client: usize, end: Vec3) -> (u32, Uuid) {
    let before: Vec<u32> = node.clients[client].prims.keys().copied().collect();
    let message = add(&node.clients[client], end, Uuid::nil());
    node.clients[client].send(&message.into());
    node.run_ms(500);
    let new = node.clients[client].prims.keys().copied().find(|id| !before.contains(id));
    let id = new.expect("a prim that was not there");
    let replica = node.places.get(HARBOUR).scene.feed.current();
    (id, replica.objects().get(LocalId(id)).expect("in the replica").body.id)
}

pub(super) fn rename(client: &Client, id: u32, name: &str) -> Message {
    let agent_data = ObjectNameAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
    let object_data = vec![ObjectNameObjectData { local_id: id, name: to_wire(name, VARIABLE1_MAX) }];
    ObjectName { agent_data, object_data }.into()
}

pub(super) fn move_to(client: &Client, id: u32, position: Vec3) -> Message {
    let agent_data =
        MultipleObjectUpdateAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
    let data = position.to_array().iter().flat_map(|part| part.to_le_bytes()).collect();
    let object_data = vec![MultipleObjectUpdateObjectData { object_local_id: id, r#type: 1 | 8, data }];
    MultipleObjectUpdate { agent_data, object_data }.into()
}

pub(super) fn delete(client: &Client, id: u32, destination: u8) -> Message {
    DeRezObject {
        agent_data: DeRezObjectAgentData { agent_id: client.agent.0, session_id: client.session_id.0 },
        agent_block: DeRezObjectAgentBlock {
            destination,
            packet_count: 1,
            transaction_id: Uuid::from_u128(5),
            ..DeRezObjectAgentBlock::default()
        },
        object_data: vec![DeRezObjectObjectData { object_local_id: id }],
    }
    .into()
}

pub(super) fn alerts(client: &Client) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::AlertMessage(alert) => Some(from_wire(&alert.alert_data.message)),
        _ => None,
    };
    client.inbox.iter().filter_map(text).collect()
}

/// The name in the newest properties that a client got of an object.
fn name_of(client: &Client, object: Uuid) -> Option<String> {
    let rows = client.inbox.iter().filter_map(|message| match message {
        Message::ObjectProperties(properties) => Some(&properties.object_data),
        _ => None,
    });
    rows.flatten().filter(|row| row.object_id == object).map(|row| from_wire(&row.name)).next_back()
}

#[test]
fn a_made_prim_is_seen_by_all_and_selected_by_its_maker() {
    let (mut node, ada, bea) = node_of_two();
    let (id, object) = make(&mut node, ada, PLACE);
    assert!((first(&node)..first(&node) + 10).contains(&id), "the lowest local ids of the region");
    let (own, other) = (node.clients[ada].prims[&id], node.clients[bea].prims[&id]);
    assert_eq!((own.position, other.position), (PLACE + Vec3::Z * 0.25, PLACE + Vec3::Z * 0.25));
    assert_eq!(own.flags & (CREATE_SELECTED | YOU_OWNER), CREATE_SELECTED | YOU_OWNER);
    assert_eq!(other.flags & (CREATE_SELECTED | YOU_OWNER), 0);
    assert_eq!(name_of(&node.clients[ada], object).as_deref(), Some("Primitive"));
    assert_eq!(name_of(&node.clients[bea], object), None);
    let replica = node.places.get(HARBOUR).scene.feed.current();
    let body = &replica.objects().get(LocalId(id)).expect("in the replica").body;
    assert_eq!((body.ownership.owner, body.ownership.creator), (agent("Ada"), agent("Ada")));
    assert!(body.created_us > 1_750_000_000 * 1_000_000);
}

#[test]
fn the_first_update_of_a_made_prim_selects_it_even_before_its_event() {
    let (mut node, ada, bea) = node_of_two();
    node.holds_events = true;
    let (id, object) = make(&mut node, ada, PLACE);
    let flags = |node: &Node, client: usize| node.clients[client].prims[&id].flags & CREATE_SELECTED;
    assert_eq!((flags(&node, ada), flags(&node, bea)), (CREATE_SELECTED, 0));
    assert_eq!(name_of(&node.clients[ada], object), None, "its properties come with the event");
    node.release_events();
    node.run_ms(500);
    assert_eq!((flags(&node, ada), flags(&node, bea)), (CREATE_SELECTED, 0));
    assert_eq!(name_of(&node.clients[ada], object).as_deref(), Some("Primitive"));
}

#[test]
fn a_selected_prim_is_no_longer_new() {
    let (mut node, ada, _) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    let client = &mut node.clients[ada];
    let agent_data = ObjectSelectAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
    let object_data = vec![ObjectSelectObjectData { object_local_id: id }];
    client.send(&ObjectSelect { agent_data, object_data }.into());
    let message = move_to(client, id, PLACE + Vec3::X);
    client.send(&message);
    node.run_ms(500);
    let seen = node.clients[ada].prims[&id];
    assert_eq!((seen.position, seen.flags & CREATE_SELECTED), (PLACE + Vec3::X, 0));
}

#[test]
fn a_prim_on_another_one_stands_on_its_upper_side() {
    let (mut node, ada, _) = node_of_two();
    let (_, lower) = make(&mut node, ada, PLACE);
    let message = add(&node.clients[ada], PLACE, lower);
    node.clients[ada].send(&message.into());
    node.run_ms(500);
    let heights: Vec<f32> = node.clients[ada].prims.values().map(|prim| prim.position.z).collect();
    let [lower, upper] = heights[..] else { panic!("two prims: {heights:?}") };
    assert_eq!(lower, PLACE.z + 0.25);
    assert!((upper - PLACE.z - 0.75).abs() < 1e-4, "{upper}");
}

#[test]
fn an_owner_moves_and_renames_a_prim_for_all_to_see() {
    let (mut node, ada, bea) = node_of_two();
    let (id, object) = make(&mut node, ada, PLACE);
    for message in [rename(&node.clients[ada], id, "Stool"), move_to(&node.clients[ada], id, PLACE + Vec3::Y)]
    {
        node.clients[ada].send(&message);
    }
    node.run_ms(500);
    assert_eq!(node.clients[bea].prims[&id].position, PLACE + Vec3::Y);
    let client = &mut node.clients[bea];
    let agent_data =
        RequestObjectPropertiesFamilyAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
    let object_data = RequestObjectPropertiesFamilyObjectData { request_flags: 0, object_id: object };
    client.send(&RequestObjectPropertiesFamily { agent_data, object_data }.into());
    node.run_ms(300);
    let family = node.clients[bea].inbox.iter().find_map(|message| match message {
        Message::ObjectPropertiesFamily(family) => Some(&family.object_data),
        _ => None,
    });
    let family = family.expect("an answer");
    assert_eq!((from_wire(&family.name).as_str(), family.owner_id), ("Stool", agent("Ada").0));
}

#[test]
fn a_user_without_rights_sees_the_object_as_it_is() {
    let (mut node, ada, bea) = node_of_two();
    let (id, object) = make(&mut node, ada, PLACE);
    // The client shows its own change.
    node.clients[bea].prims.get_mut(&id).expect("seen").position = Vec3::ZERO;
    for message in
        [move_to(&node.clients[bea], id, Vec3::splat(50.0)), rename(&node.clients[bea], id, "Mine")]
    {
        node.clients[bea].send(&message);
    }
    node.run_ms(1_000);
    let client = &node.clients[bea];
    assert_eq!(client.prims[&id].position, PLACE + Vec3::Z * 0.25);
    assert_eq!(name_of(client, object).as_deref(), Some("Primitive"));
    let alerts = alerts(client);
    assert!(alerts.iter().any(|alert| alert.starts_with("You are not allowed")), "{alerts:?}");
    assert_eq!(node.clients[ada].prims[&id].position, PLACE + Vec3::Z * 0.25);
}

#[test]
fn a_deleted_prim_is_gone_for_all() {
    let (mut node, ada, bea) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    let message = delete(&node.clients[ada], id, 6);
    node.clients[ada].send(&message);
    node.run_ms(500);
    assert!([ada, bea].iter().all(|&client| !node.clients[client].prims.contains_key(&id)));
    let acks = node.clients[ada].inbox.iter().filter_map(|message| match message {
        Message::DeRezAck(ack) => Some((ack.transaction_data.transaction_id, ack.transaction_data.success)),
        _ => None,
    });
    assert_eq!(acks.collect::<Vec<_>>(), [(Uuid::from_u128(5), true)]);
}

#[test]
fn a_prim_for_a_destination_that_no_object_has_stays_and_the_client_is_told() {
    let (mut node, ada, _) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    let message = delete(&node.clients[ada], id, 2);
    node.clients[ada].send(&message);
    node.run_ms(500);
    assert!(node.clients[ada].prims.contains_key(&id));
    assert!(!alerts(&node.clients[ada]).is_empty());
    let failed =
        |message: &Message| matches!(message, Message::DeRezAck(ack) if !ack.transaction_data.success);
    assert_eq!(node.clients[ada].count(failed), 1);
}

#[test]
fn a_static_object_is_not_edited() {
    let mut node = Node::with(Setup { boxes: 50, ..Setup::default() });
    let ada = node.enter("Ada");
    node.run_ms(2_000);
    let id = node.places.get(HARBOUR).scene.avatar_ids().start;
    let message = move_to(&node.clients[ada], id, PLACE);
    node.clients[ada].send(&message);
    node.run_ms(500);
    assert_eq!(alerts(&node.clients[ada]).len(), 1);
    assert!(node.commands.iter().all(|(_, command)| !matches!(command.action, link::Action::Object(_))));
}

#[test]
fn every_new_object_has_another_id() {
    let (mut node, ada, bea) = node_of_two();
    let mut ids = Vec::new();
    for n in 0..6 {
        let client = if n % 2 == 0 { ada } else { bea };
        ids.push(make(&mut node, client, PLACE + Vec3::Y * n as f32).1);
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6);
}

fn attach(client: &Client, id: u32, point: u8) -> Message {
    ObjectAttach {
        agent_data: ObjectAttachAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
            attachment_point: point,
        },
        object_data: vec![ObjectAttachObjectData { object_local_id: id, rotation: Quat::IDENTITY }],
    }
    .into()
}

/// The local id of a prim in the replica.
fn id_of(node: &Node, object: Uuid) -> Option<u32> {
    let replica = node.places.get(HARBOUR).scene.feed.current();
    replica.objects().of_id(object).map(|id| id.0)
}

#[test]
fn a_worn_object_is_shown_with_its_wearer_and_goes_with_it() {
    let (mut node, ada, bea) = node_of_two();
    let (id, object) = make(&mut node, ada, PLACE);
    let message = attach(&node.clients[ada], id, 5);
    node.clients[ada].send(&message);
    node.run_ms(1_000);
    let worn = id_of(&node, object).expect("it is there");
    assert_ne!(worn, id);
    for client in [ada, bea] {
        let prims = &node.clients[client].prims;
        assert!(prims.contains_key(&worn) && !prims.contains_key(&id));
    }
    // A client that comes later is shown it as well.
    let eve = node.enter("Eve");
    node.run_ms(2_000);
    assert!(node.clients[eve].prims.contains_key(&worn));
    node.clients[ada].log_out();
    node.run_ms(1_000);
    assert_eq!(id_of(&node, object), None);
    assert!([bea, eve].iter().all(|&client| !node.clients[client].prims.contains_key(&worn)));
}

#[test]
fn an_object_on_a_screen_is_shown_to_its_wearer_only() {
    let (mut node, ada, bea) = node_of_two();
    let (id, object) = make(&mut node, ada, PLACE);
    let message = attach(&node.clients[ada], id, 31);
    node.clients[ada].send(&message);
    node.run_ms(2_000);
    let worn = id_of(&node, object).expect("it is there");
    assert!(node.clients[ada].prims.contains_key(&worn));
    assert!(!node.clients[bea].prims.contains_key(&worn));
}

#[test]
fn a_dropped_object_is_on_the_ground_again() {
    let (mut node, ada, bea) = node_of_two();
    let (id, object) = make(&mut node, ada, PLACE);
    let message = attach(&node.clients[ada], id, 5);
    node.clients[ada].send(&message);
    node.run_ms(1_000);
    let worn = id_of(&node, object).expect("it is there");
    let client = &mut node.clients[ada];
    let agent_data = ObjectDropAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
    client.send(
        &ObjectDrop { agent_data, object_data: vec![ObjectDropObjectData { object_local_id: worn }] }.into(),
    );
    node.run_ms(1_000);
    let dropped = id_of(&node, object).expect("it is there");
    let prims = &node.clients[bea].prims;
    let position = prims[&dropped].position;
    assert!(
        !prims.contains_key(&worn) && position.distance(Vec3::new(128.0, 128.0, 22.0)) < 4.0,
        "{position}"
    );
}

fn grab_update(client: &Client, object: Uuid, to: Vec3) -> Message {
    let agent_data = ObjectGrabUpdateAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
    let object_data = ObjectGrabUpdateObjectData {
        object_id: object,
        grab_offset_initial: Vec3::ZERO,
        grab_position: to,
        time_since_last: 100,
    };
    ObjectGrabUpdate { agent_data, object_data, ..ObjectGrabUpdate::default() }.into()
}

/// Place of a prim in the region, as clients are shown it.
fn place_of(node: &Node, id: u32) -> Vec3 {
    let replica = node.places.get(HARBOUR).scene.feed.current();
    replica.objects().get(LocalId(id)).expect("in the replica").prim.motion.position
}

#[test]
fn a_physical_prim_follows_the_pointer_of_its_owner_until_the_button_goes_up() {
    let (mut node, ada, bea) = node_of_two();
    let (id, object) = make(&mut node, ada, PLACE);
    let client = &node.clients[ada];
    let agent_data = ObjectFlagUpdateAgentData {
        agent_id: client.agent.0,
        session_id: client.session_id.0,
        object_local_id: id,
        use_physics: true,
        ..ObjectFlagUpdateAgentData::default()
    };
    let message = ObjectFlagUpdate { agent_data, ..ObjectFlagUpdate::default() }.into();
    node.clients[ada].send(&message);
    node.run_ms(2_000);
    let there = place_of(&node, id);
    let target = there + Vec3::new(1.0, 0.0, 2.0);
    let message = grab_update(&node.clients[bea], object, target);
    node.clients[bea].send(&message);
    node.run_ms(1_000);
    assert!(place_of(&node, id).distance(there) < 0.05, "it is not Bea's");
    let message = grab_update(&node.clients[ada], object, target);
    node.clients[ada].send(&message);
    node.run_ms(3_000);
    assert!(place_of(&node, id).distance(target) < 0.2, "{}", place_of(&node, id));
    let client = &node.clients[ada];
    let message = ObjectDeGrab {
        agent_data: ObjectDeGrabAgentData { agent_id: client.agent.0, session_id: client.session_id.0 },
        object_data: ObjectDeGrabObjectData { local_id: id },
        ..ObjectDeGrab::default()
    }
    .into();
    node.clients[ada].send(&message);
    node.run_ms(3_000);
    assert!(place_of(&node, id).z < there.z + 0.05, "{}", place_of(&node, id));
    assert_eq!(alerts(&node.clients[ada]), Vec::<String>::new());
}
