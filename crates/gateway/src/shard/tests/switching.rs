//! Another world comes behind a circuit that is full.

use crate::testing::{Client, MEADOW, Node, TransferDirection};
use circuit::Reliability;
use glam::Vec3;
use link::Passage;
use std::collections::BTreeSet;
use wire::header::{self, Flags};
use wire::messages::*;
use wire::text::from_wire;

#[test]
fn a_client_that_changes_worlds_with_a_full_circuit_gets_its_arrival_once_there_is_room() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.run_ms(1_000);
    node.loss.percent = 100;
    switch_while_full(&mut node);
    node.loss.percent = 0;
    node.run_until(|node| node.clients[ada].got(TeleportLocal::NUMBER) && node.clients[ada].sees_itself());
    assert_eq!(handshakes(&node.clients[ada]).last().map(String::as_str), Some("Cave"));
    assert_eq!(node.clients[ada].avatars.len(), 1, "nothing is left of the world before");
}

#[test]
fn room_for_one_message_at_a_time_is_enough_for_one_arrival() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.run_ms(1_000);
    // Everything reaches her, and what she acks is chosen below.
    node.loss.lose(TransferDirection::Up, PacketAck::NUMBER, usize::MAX);
    node.run_ms(100);
    switch_while_full(&mut node);
    let alerts = node.clients[ada].arrivals.iter().filter(|arrival| arrival.number == AlertMessage::NUMBER);
    let alerts: BTreeSet<u32> = alerts.map(|arrival| arrival.sequence).collect();
    let mut told = Vec::new();
    for sequence in alerts.into_iter().take(5) {
        ack(&mut node, ada, sequence);
        node.run_ms(200);
        let client = &node.clients[ada];
        let of_cave = handshakes(client).iter().filter(|name| *name == "Cave").count();
        told.push((of_cave, client.count(|message| matches!(message, Message::TeleportLocal(_)))));
    }
    assert_eq!(told, [(1, 0), (1, 1), (1, 1), (1, 1), (1, 1)]);
}

#[test]
#[should_panic(expected = "another world comes behind a circuit at the same place only")]
fn a_circuit_is_not_switched_to_another_place() {
    let mut node = Node::new();
    node.enter("Ada");
    let shard = &mut node.shards[0];
    let index = *shard.by_circuit.values().next().expect("hers");
    shard.switch(node.now, index, node.places.get(MEADOW), (Vec3::ZERO, Vec3::X), false);
}

/// Fills the only circuit, and sends the avatar behind it into an instance, whose arrival message finds no room.
fn switch_while_full(node: &mut Node) {
    let session = node.hub.session_named("ada resident").expect("she is here");
    let cave = node.instance("Cave", 256, 0, 10);
    let shard = &mut node.shards[0];
    let index = *shard.by_circuit.values().next().expect("hers");
    let mut message = Vec::new();
    AlertMessage::default().encode(&mut message);
    while shard.client(index).circuit.send(Reliability::Reliable, &message, true).is_ok() {}
    assert_eq!(
        node.hub.enter(node.now, session, cave.world, Some(Vec3::new(60.0, 70.0, 30.0))),
        Ok(Passage::Switched)
    );
    node.relay();
    node.run_ms(1_000);
    assert_eq!(node.hub.n_in(cave.world), 1);
    assert!(cave.feed.current().of_session(session).is_some(), "her avatar is there");
    assert!(!handshakes(&node.clients[0]).contains(&"Cave".to_owned()), "and she does not know it");
}

/// One acknowledgement, past what the network loses.
fn ack(node: &mut Node, client: usize, sequence: u32) {
    let mut bytes = Vec::new();
    header::write_header(&mut bytes, Flags::NONE, 0);
    PacketAck::NUMBER.write(&mut bytes);
    bytes.push(1);
    bytes.extend_from_slice(&sequence.to_le_bytes());
    node.deliver_up(node.clients[client].address(), &bytes);
}

/// Names of the regions that introduced themselves to a client.
fn handshakes(client: &Client) -> Vec<String> {
    let name = |message: &Message| match message {
        Message::RegionHandshake(m) => Some(from_wire(&m.region_info.sim_name)),
        _ => None,
    };
    client.inbox.iter().filter_map(name).collect()
}
