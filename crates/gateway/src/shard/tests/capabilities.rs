//! Changes of objects that come over HTTP, and their consequences for clients: media, overrides of materials, matter.

use super::editing::{PLACE, alerts, make, move_to, node_of_two};
use crate::hub::tests::events;
use crate::testing::{HARBOUR, Node, TransferDirection};
use glam::Vec3;
use grid::capability::OVERRIDES_METHOD;
use ids::{LocalId, Uuid};
use link::{ObjectCommand, RenderMaterialEdit};
use prim::{MaterialOverride, MediaEntry};
use wire::llsd::{Limits, Llsd, notation};
use wire::messages::*;

/// Passes a change on as a capability does; false if the hub refuses it.
fn change(node: &mut Node, client: usize, command: ObjectCommand) -> bool {
    let seed = node.clients[client].seed;
    let circuit = node.hub.holder(seed).expect("its capability").circuit;
    let is_passed_on = node.hub.change_objects(circuit, command);
    node.run_ms(500);
    is_passed_on
}

/// Overrides that a client got, in order.
fn overrides(node: &Node, client: usize) -> Vec<Llsd> {
    let data = node.clients[client].inbox.iter().filter_map(|message| match message {
        Message::GenericStreamingMessage(m) if m.method_data.method == OVERRIDES_METHOD => {
            Some(&m.data_block.data)
        }
        _ => None,
    });
    data.map(|data| notation::decode(data, Limits::REQUEST).expect("LLSD")).collect()
}

fn edit(material: Option<Uuid>, metallic: Option<f32>) -> RenderMaterialEdit {
    let changes = MaterialOverride { metallic, ..MaterialOverride::default() };
    RenderMaterialEdit { face: Some(2), material, changes: Some(Box::new(changes)) }
}

/// Matter of prims in the events of a client.
fn matter(node: &mut Node, client: usize) -> Vec<(i32, f64)> {
    let events = events(node, client).into_iter().filter(|(name, _)| name == "ObjectPhysicsProperties");
    let rows = events.flat_map(|(_, body)| body.get("ObjectData").as_array().to_vec());
    let row = |row: Llsd| Some((row.get("LocalID").as_i32()?, row.get("Density").as_f64()?));
    rows.map(|one| row(one).expect("a whole row")).collect()
}

#[test]
fn media_reach_the_world_and_their_version_the_clients() {
    let (mut node, ada, bea) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    let faces = vec![None, Some(MediaEntry { home: "http://a.org/".into(), ..MediaEntry::default() })];
    assert!(change(&mut node, ada, ObjectCommand::Media(LocalId(id), faces)));
    let address = {
        let replica = node.places.get(HARBOUR).scene.feed.current();
        let body = &replica.objects().get(LocalId(id)).expect("it is there").body;
        assert_eq!(body.media.as_ref().expect("media").marks(), 2);
        body.media_url.to_string()
    };
    assert!(address.starts_with("x-mv:0000000001/"), "{address}");
    assert_eq!(node.clients[bea].media_urls[&id], [address.as_bytes(), &[0]].concat());
    assert!(change(&mut node, bea, ObjectCommand::Media(LocalId(id), Vec::new())));
    assert_eq!(alerts(&node.clients[bea]), ["You are not allowed to change that object in this way."]);
}

#[test]
fn a_client_without_an_avatar_changes_nothing() {
    let mut node = Node::new();
    let ada = node.login("Ada", node.spot(HARBOUR, 128.0, 128.0));
    let request = ObjectCommand::Name(vec![(LocalId(1), "Mine".into())]);
    assert!(!change(&mut node, ada, request));
}

#[test]
fn overrides_follow_an_object_to_each_client_once() {
    let (mut node, ada, bea) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    let gold = Uuid::from_u128(0x601d);
    let request = ObjectCommand::RenderMaterial(vec![(LocalId(id), edit(Some(gold), Some(0.5)))]);
    assert!(change(&mut node, ada, request));
    for client in [ada, bea] {
        let all = overrides(&node, client);
        let [message] = &all[..] else { panic!("{all:?}") };
        assert_eq!(message.get("id").as_i32(), Some(id.cast_signed()));
        assert_eq!(message.get("te"), &Llsd::array([2]));
        assert_eq!(message.get("od").at(0).get("mf").as_f64(), Some(0.5));
    }
    // A movement changes no override.
    let message = move_to(&node.clients[ada], id, PLACE + Vec3::X);
    node.clients[ada].send(&message);
    node.run_ms(500);
    assert_eq!(overrides(&node, bea).len(), 1);
    // An override that changes nothing removes the former one.
    let request = ObjectCommand::RenderMaterial(vec![(LocalId(id), edit(None, None))]);
    assert!(change(&mut node, ada, request));
    let all = overrides(&node, bea);
    assert_eq!((all.len(), all[1].get("te")), (2, &Llsd::Array(Vec::new())));
    // The list without faces comes with the object to a client that arrives later, too.
    let cyd = node.enter("Cyd");
    node.run_ms(1_500);
    assert_eq!(overrides(&node, cyd).len(), 1);
}

#[test]
fn the_newest_overrides_win_although_older_ones_got_lost() {
    let (mut node, ada, bea) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    let number = GenericStreamingMessage::NUMBER;
    // Those to both clients.
    node.loss.lose(TransferDirection::Down, number, 2);
    let circuit = node.hub.holder(node.clients[ada].seed).expect("its capability").circuit;
    let gold = Uuid::from_u128(0x601d);
    for metallic in [0.25, 0.75] {
        let request = ObjectCommand::RenderMaterial(vec![(LocalId(id), edit(Some(gold), Some(metallic)))]);
        assert!(node.hub.change_objects(circuit, request));
        node.run_ms(200);
    }
    node.run_ms(5_000);
    assert_eq!(node.loss.left(), 0);
    for client in [ada, bea] {
        let all = overrides(&node, client);
        let last = all.last().expect("overrides");
        assert_eq!(last.get("od").at(0).get("mf").as_f64(), Some(0.75), "{all:?}");
    }
}

#[test]
fn matter_of_a_selected_prim_is_an_event_when_it_is_selected_and_when_it_changes() {
    let (mut node, ada, _) = node_of_two();
    let (id, _) = make(&mut node, ada, PLACE);
    matter(&mut node, ada);
    let client = &mut node.clients[ada];
    let (agent_id, session_id) = (client.agent.0, client.session_id.0);
    let select = ObjectSelect {
        agent_data: ObjectSelectAgentData { agent_id, session_id },
        object_data: vec![ObjectSelectObjectData { object_local_id: id }],
    };
    let deselect = ObjectDeselect {
        agent_data: ObjectDeselectAgentData { agent_id, session_id },
        object_data: vec![ObjectDeselectObjectData { object_local_id: id }],
    };
    let with_density = |density: f32| {
        let mut flags = ObjectFlagUpdate::default();
        flags.agent_data.agent_id = agent_id;
        flags.agent_data.session_id = session_id;
        flags.agent_data.object_local_id = id;
        let matter = ObjectFlagUpdateExtraPhysics { density, ..ObjectFlagUpdateExtraPhysics::default() };
        flags.extra_physics = vec![matter];
        flags
    };
    client.send(&select.into());
    node.run_ms(500);
    assert_eq!(matter(&mut node, ada), [(id.cast_signed(), 1_000.0)]);
    node.clients[ada].send(&with_density(500.0).into());
    node.run_ms(500);
    assert_eq!(matter(&mut node, ada), [(id.cast_signed(), 500.0)]);
    node.clients[ada].send(&deselect.into());
    node.clients[ada].send(&with_density(250.0).into());
    node.run_ms(500);
    assert_eq!(matter(&mut node, ada), []);
}
