//! Static objects of a region are sent to clients near them.

use crate::testing::{Client, HARBOUR, Node, Setup, TransferDirection};
use glam::Vec3;
use ids::Uuid;
use link::ControlFlags;
use std::time::Duration;
use wire::messages::*;
use wire::texture_entry::TextureEntry;

/// As many as that a client has a fifth of a region's within reach.
const BOXES: u32 = 1_000;

fn node() -> Node {
    Node::with(Setup { boxes: BOXES, ..Setup::default() })
}

/// Everything within 64 m of a place, by local id, where it stands.
fn near(node: &Node, place: Vec3) -> Vec<(u32, Vec3)> {
    // They have the first ids of those that avatars have, too.
    let first = node.places.get(HARBOUR).scene.avatar_ids().start;
    let objects = (first..).zip(node.scenery(HARBOUR).prims()).map(|(id, object)| (id, object.position));
    objects.filter(|(_, position)| position.distance(place) <= 64.0).collect()
}

fn lacks(client: &Client, near: &[(u32, Vec3)]) -> usize {
    near.iter().filter(|(id, at)| client.objects.get(id).map(|(seen, _)| seen) != Some(at)).count()
}

#[test]
fn a_client_has_near_objects_soon_and_once() {
    let mut node = node();
    let ada = node.enter("Ada");
    let place = node.position_in(HARBOUR, "Ada").expect("in the world");
    let near = near(&node, place);
    assert!(near.len() > 150, "{}", near.len());
    node.run_ms(3_000);
    let client = &node.clients[ada];
    assert_eq!(lacks(client, &near), 0);
    assert!(client.objects.values().all(|(_, times)| *times == 1));
    assert!(client.objects.values().all(|(at, _)| at.distance(place) < 75.0), "no more than it needs");
    assert_eq!(node.shards[0].counters().sceneries_filled, 1);
}

#[test]
fn a_walking_client_is_sent_approaching_objects_and_keeps_the_others() {
    let mut node = node();
    let ada = node.enter("Ada");
    node.run_ms(3_000);
    let before = node.clients[ada].objects.len();
    node.clients[ada].control(ControlFlags::AT_POS.union(ControlFlags::FAST_AT));
    node.run_ms(12_000);
    let place = node.position_in(HARBOUR, "Ada").expect("in the world");
    let client = &node.clients[ada];
    // It walks on while the newest of them are under way: those as near as a moment ago are there.
    let near: Vec<(u32, Vec3)> =
        near(&node, place).into_iter().filter(|(_, at)| at.distance(place) < 62.0).collect();
    assert_eq!(lacks(client, &near), 0);
    assert!(client.objects.len() > before + 50, "{before} before, {} after", client.objects.len());
    assert_eq!(client.count(|message| matches!(message, Message::KillObject(_))), 0);
}

#[test]
fn lost_objects_are_sent_again() {
    let mut node = node();
    let ada = node.login("Ada", node.spot(HARBOUR, 100.0, 100.0));
    node.clients[ada].open();
    node.loss.lose(TransferDirection::Down, ObjectUpdate::NUMBER, 12);
    node.run_ms(8_000);
    assert_eq!(node.loss.left(), 0);
    let place = node.position_in(HARBOUR, "Ada").expect("in the world");
    assert_eq!(lacks(&node.clients[ada], &near(&node, place)), 0);
}

#[test]
fn a_client_that_acks_late_is_sent_all_near_objects_and_few_twice() {
    // Until the first late acks come, datagrams expire after 250 ms: at most delay ÷ 250 ms + 1 times each. Then the timeout follows, as far as it may, and
    // late acks settle what they prove.
    for (ack_delay_s, most_sent) in [(1, 5.0), (5, 21.0)] {
        let mut node = node();
        let ada = node.login("Ada", node.spot(HARBOUR, 100.0, 100.0));
        node.clients[ada].open();
        node.run_until(|node| node.clients[ada].objects.len() > 20);
        node.ack_delay = Duration::from_secs(ack_delay_s);
        node.run_ms(20_000);
        let place = node.position_in(HARBOUR, "Ada").expect("in the world");
        let near = near(&node, place);
        assert_eq!(lacks(&node.clients[ada], &near), 0, "acks {ack_delay_s} s late");
        let n_sent_before = node.shards[0].counters().static_objects_sent;
        node.run_ms(20_000);
        let counters = node.shards[0].counters();
        assert_eq!(counters.static_objects_sent, n_sent_before, "acks {ack_delay_s} s late");
        let n_sent = counters.static_objects_sent as f64 / near.len() as f64;
        assert!(n_sent < most_sent, "{n_sent} times the near objects, acks {ack_delay_s} s late");
        assert!(counters.acked_late > 0 && counters.acked_late <= counters.perished);
        assert_eq!(counters.circuits_lost, 0);
    }
}

#[test]
fn requested_objects_are_sent_again() {
    let mut node = node();
    let ada = node.enter("Ada");
    node.run_ms(3_000);
    let client = &mut node.clients[ada];
    let (&id, _) = client.objects.first_key_value().expect("something is near");
    client.objects.clear();
    let request = RequestMultipleObjects {
        agent_data: RequestMultipleObjectsAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        object_data: vec![RequestMultipleObjectsObjectData { id, ..Default::default() }],
    };
    client.send(&request.into());
    node.run_ms(500);
    let client = &node.clients[ada];
    assert_eq!(client.objects.keys().copied().collect::<Vec<_>>(), [id]);
    assert_eq!(client.count(|message| matches!(message, Message::KillObject(_))), 0);
}

#[test]
fn a_box_has_a_plain_cubes_textures() {
    let node = node();
    let prim = &node.scenery(HARBOUR).prims()[0].prim;
    let plain = TextureEntry::plain(Uuid::from_u128(0x8955_6747_24cb_43ed_920b_47ca_ed15_465f));
    assert_eq!(TextureEntry::decode(&prim.texture_entry).expect("ours"), plain);
}
