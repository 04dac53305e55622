//! Sitting on objects, as the sitter and another client see it.

use super::editing::{PLACE, delete, make, move_to, node_of_two};
use crate::coverage::Feature;
use crate::testing::{Client, HARBOUR, Node, Seen, Setup, agent};
use glam::Vec3;
use ids::Uuid;
use link::{ControlFlags, StaticObject};
use wire::messages::*;
use wire::text::from_wire;

/// Height of a standing avatar's centre above its soles, metres.
const HALF_HEIGHT_M: f32 = 0.95;

/// Two clients 3 m from an object, and the object.
fn beside_an_object() -> (Node, [usize; 2], StaticObject) {
    let mut node = Node::with(Setup { boxes: 60, ..Setup::default() });
    let inside = |object: &&StaticObject| (10.0..246.0).contains(&object.position.x);
    let object = node.scenery(HARBOUR).prims().iter().find(inside).expect("a box").clone();
    let spot = node.spot(HARBOUR, object.position.x + 3.0, object.position.y);
    let clients = ["Ada", "Bob"].map(|name| node.enter_at(name, spot));
    node.run_until(|node| node.clients[clients[1]].sees("Ada").is_some());
    (node, clients, object)
}

fn request_sit(client: &mut Client, target_id: Uuid) {
    let agent_data = AgentRequestSitAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
    let target_object = AgentRequestSitTargetObject { target_id, offset: Vec3::ZERO };
    client.send(&AgentRequestSit { agent_data, target_object }.into());
}

fn responses(client: &Client) -> Vec<AvatarSitResponse> {
    let response = |message: &Message| match message {
        Message::AvatarSitResponse(response) => Some(response.clone()),
        _ => None,
    };
    client.inbox.iter().filter_map(response).collect()
}

fn last_alert(client: &Client) -> Option<String> {
    client.inbox.iter().rev().find_map(|message| match message {
        Message::AlertMessage(alert) => Some(from_wire(&alert.alert_data.message)),
        _ => None,
    })
}

fn top_of(object: &StaticObject) -> Vec3 {
    object.position + Vec3::Z * (object.prim.scale.z / 2.0 + HALF_HEIGHT_M)
}

#[test]
fn a_client_gets_its_sitting_place_and_all_see_the_avatar_on_it() {
    let (mut node, [ada, bob], object) = beside_an_object();
    request_sit(&mut node.clients[ada], object.prim.id);
    node.run_ms(1_000);
    let told = responses(&node.clients[ada]);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].sit_object.id, object.prim.id);
    let upper_side = Vec3::Z * object.prim.scale.z / 2.0;
    assert!(told[0].sit_transform.sit_position.distance(upper_side) < 1e-4);
    assert!(!told[0].sit_transform.auto_pilot);
    assert!(responses(&node.clients[bob]).is_empty());
    for client in [ada, bob] {
        let seen = node.clients[client].sees("Ada").expect("Ada is shown");
        assert!(seen.position.distance(top_of(&object)) < 0.01, "{seen:?}");
        assert_eq!(seen.velocity, Vec3::ZERO);
        let sits = |message: &Message| match message {
            Message::AvatarAnimation(m) => {
                m.sender.id == agent("Ada").0
                    && m.animation_list.iter().any(|row| row.anim_id == world::animations::SIT_GROUND)
            }
            _ => false,
        };
        assert!(node.clients[client].count(sits) > 0);
    }
}

#[test]
fn an_avatar_sits_until_it_stands_up_or_teleports() {
    let (mut node, [ada, bob], object) = beside_an_object();
    request_sit(&mut node.clients[ada], object.prim.id);
    node.run_ms(500);
    node.clients[ada].control(ControlFlags::AT_POS);
    node.run_ms(1_000);
    let seen = node.clients[bob].sees("Ada").expect("Ada is shown");
    assert!(seen.position.distance(top_of(&object)) < 0.01, "{seen:?}");
    node.clients[ada].control(ControlFlags::AT_POS.union(ControlFlags::STAND_UP));
    node.run_ms(1_000);
    let seen = node.clients[bob].sees("Ada").expect("Ada is shown");
    assert!(seen.position.distance(top_of(&object)) > 1.0, "{seen:?}");

    node.clients[ada].control(ControlFlags::default());
    node.run_ms(500);
    node.clients[ada].inbox.clear();
    request_sit(&mut node.clients[ada], object.prim.id);
    node.run_ms(500);
    let info = TeleportLocationRequestInfo {
        region_handle: node.places.get(HARBOUR).handle.0,
        position: Vec3::new(200.0, 200.0, 22.0),
        look_at: Vec3::X,
    };
    let client = &mut node.clients[ada];
    let agent_data =
        TeleportLocationRequestAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
    client.send(&TeleportLocationRequest { agent_data, info }.into());
    node.run_ms(1_000);
    assert!(node.clients[ada].got(TeleportLocal::NUMBER));
    let position = node.position_in(HARBOUR, "Ada").expect("Ada is there");
    assert!(position.truncate().distance(glam::Vec2::splat(200.0)) < 2.0, "{position}");
}

#[test]
fn an_object_that_is_far_or_unknown_is_refused_by_name() {
    let (mut node, [ada, _], object) = beside_an_object();
    let is_far = |other: &&StaticObject| other.position.distance(object.position) > 20.0;
    let far = node.scenery(HARBOUR).prims().iter().find(is_far).expect("another box").prim.id;
    let before = node.position_in(HARBOUR, "Ada");
    for (target, refusal) in [(far, Feature::FarObject), (Uuid::from_u128(0xBAD), Feature::UnknownObject)] {
        request_sit(&mut node.clients[ada], target);
        node.run_ms(1_000);
        assert_eq!(last_alert(&node.clients[ada]), Some(refusal.to_string()));
    }
    assert!(responses(&node.clients[ada]).is_empty());
    assert_eq!(node.position_in(HARBOUR, "Ada"), before);
}

#[test]
fn a_restarted_world_has_the_avatar_sitting() {
    let (mut node, [ada, _], object) = beside_an_object();
    node.await_checkpoint();
    request_sit(&mut node.clients[ada], object.prim.id);
    node.run_ms(500);
    node.panic(HARBOUR);
    node.run_ms(2_000);
    let position = node.position_in(HARBOUR, "Ada").expect("Ada is there");
    assert!(position.distance(top_of(&object)) < 0.01, "{position} instead of {}", top_of(&object));
}

/// Ada's avatar as a client was shown it.
fn shown(node: &Node, client: usize) -> Seen {
    *node.clients[client].avatars.values().find(|seen| seen.agent == agent("Ada").0).expect("Ada is shown")
}

#[test]
fn an_avatar_on_a_prim_is_a_child_of_it_for_all_and_moves_with_it() {
    let (mut node, ada, bea) = node_of_two();
    let (id, object) = make(&mut node, ada, PLACE);
    node.run_ms(500);
    request_sit(&mut node.clients[ada], object);
    node.run_ms(1_000);
    let [response] = &responses(&node.clients[ada])[..] else { panic!("one response") };
    assert_eq!(response.sit_object.id, object);
    let seat = response.sit_transform.sit_position;
    for client in [ada, bea] {
        let seen = shown(&node, client);
        assert_eq!(seen.parent, id);
        assert!(seen.position.distance(seat) < 1e-3, "{seen:?} and {seat}");
    }
    let before = node.position_in(HARBOUR, "Ada").expect("Ada is there");
    let message = move_to(&node.clients[ada], id, PLACE + Vec3::new(3.0, 1.0, 0.25));
    node.clients[ada].send(&message);
    node.run_ms(1_000);
    let way = node.position_in(HARBOUR, "Ada").expect("Ada is there") - before;
    assert!(way.distance(Vec3::new(3.0, 1.0, 0.0)) < 1e-3, "moved by {way}");
    for client in [ada, bea] {
        assert!(shown(&node, client).position.distance(seat) < 1e-3, "relative to the prim");
    }
    node.clients[ada].control(ControlFlags::STAND_UP);
    node.run_ms(2_000);
    for client in [ada, bea] {
        let seen = shown(&node, client);
        let stands = node.position_in(HARBOUR, "Ada").expect("Ada is there");
        assert_eq!(seen.parent, 0);
        assert!(seen.position.distance(stands) < 0.01, "{seen:?} and {stands}");
    }
}

#[test]
fn an_avatar_whose_prim_is_deleted_stands() {
    let (mut node, ada, bea) = node_of_two();
    let (id, object) = make(&mut node, ada, PLACE);
    request_sit(&mut node.clients[ada], object);
    node.run_ms(1_000);
    assert_eq!(shown(&node, bea).parent, id);
    let message = delete(&node.clients[ada], id, 6);
    node.clients[ada].send(&message);
    node.run_ms(2_000);
    let stands = node.position_in(HARBOUR, "Ada").expect("Ada is there");
    for client in [ada, bea] {
        let seen = shown(&node, client);
        assert_eq!(seen.parent, 0);
        assert!(seen.position.distance(stands) < 0.01, "{seen:?} and {stands}");
    }
}

#[test]
fn a_prim_that_is_far_away_is_no_seat() {
    let (mut node, ada, _) = node_of_two();
    let (_, object) = make(&mut node, ada, PLACE + Vec3::X * 40.0);
    request_sit(&mut node.clients[ada], object);
    node.run_ms(1_000);
    assert_eq!(last_alert(&node.clients[ada]), Some(Feature::FarObject.to_string()));
    assert!(responses(&node.clients[ada]).is_empty());
}
