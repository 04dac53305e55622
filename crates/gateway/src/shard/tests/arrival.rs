//! From a ticket to an avatar that its client sees, on good networks and bad ones.

use crate::mail::FromShard;
use crate::testing::{Client, HARBOUR, Node, Setup, TransferDirection, agent, number_of};
use circuit::Reliability;
use ids::{CircuitCode, Instant, SessionId, Uuid};
use link::{Action, ControlFlags};
use wire::messages::*;

/// A harbour visitor who has a ticket and has not shown it.
fn ticketed(node: &mut Node) -> usize {
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    node.login("Ada", spot)
}

/// Sequence number of the first datagram with a message.
fn sequence_of(client: &Client, number: MessageNumber) -> u32 {
    let first = client.arrivals.iter().find(|arrival| arrival.number == number);
    first.unwrap_or_else(|| panic!("{number:?} never came")).sequence
}

fn assert_arrived(node: &Node, client: usize) {
    assert!(node.clients[client].got(AgentMovementComplete::NUMBER));
    assert!(node.clients[client].sees_itself());
    assert_eq!(node.avatars_in(HARBOUR), 1);
    assert_eq!(node.shards[0].counters().circuits_opened, 1);
    let arrived = node.mail.iter().filter(|mail| matches!(mail, FromShard::Arrived(..))).count();
    assert_eq!(arrived, 1);
}

#[test]
fn the_ack_of_use_circuit_code_comes_first_and_alone() {
    let mut node = Node::new();
    let ada = ticketed(&mut node);
    node.clients[ada].open();
    node.run_until(|node| node.clients[ada].arrivals.len() > 1);
    let first = node.clients[ada].arrivals[0];
    assert_eq!((first.number, first.sequence), (PacketAck::NUMBER, 1));
    assert_eq!(first.at, Instant::from_millis(10), "at once");
    assert!(!first.reliable);
}

#[test]
fn a_client_is_sent_region_then_position_then_itself_then_the_others() {
    let mut node = Node::new();
    node.crowd(20);
    node.run_ms(500);
    let ada = node.enter("Ada");
    node.run_ms(4_000);
    let client = &node.clients[ada];
    let order = [
        PacketAck::NUMBER,
        RegionHandshake::NUMBER,
        AgentMovementComplete::NUMBER,
        ObjectUpdate::NUMBER,
        ImprovedTerseObjectUpdate::NUMBER,
    ]
    .map(|number| sequence_of(client, number));
    assert!(order.is_sorted(), "{order:?}");
    assert!(
        sequence_of(client, CoarseLocationUpdate::NUMBER) > order[3],
        "clients ask for names of unknown dots"
    );
    assert_eq!(client.avatars.len(), 21);
}

#[test]
fn the_own_avatar_is_in_the_first_object_update_with_the_flags_of_an_owner() {
    let mut node = Node::new();
    node.crowd(200);
    node.run_ms(500);
    let ada = ticketed(&mut node);
    node.clients[ada].open();
    node.run_until(|node| !node.clients[ada].avatars.is_empty());
    assert!(node.clients[ada].sees_itself());
    let flags = |seen: crate::testing::Seen| seen.flags;
    assert_ne!(node.clients[ada].sees("Ada").map(flags), Some(0));
    let strangers = node.clients[ada].avatars.values().filter(|seen| seen.agent != agent("Ada").0);
    assert!(strangers.map(|seen| seen.flags).all(|flags| flags == 0));
}

#[test]
fn the_whole_ground_arrives_reliably_and_the_overlay_with_it() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let expected = node.places.get(HARBOUR).ground().layers.len();
    let layers = |client: &Client| client.count(|message| matches!(message, Message::LayerData(_)));
    node.run_until(|node| layers(&node.clients[ada]) == expected);
    let client = &node.clients[ada];
    assert!(client.arrivals.iter().filter(|a| a.number == LayerData::NUMBER).all(|a| a.reliable));
    assert_eq!(client.count(|message| matches!(message, Message::ParcelOverlay(_))), 4);
    node.run_ms(5_000);
    assert_eq!(layers(&node.clients[ada]), expected, "once");
}

#[test]
fn the_position_in_the_movement_answer_is_that_of_the_avatar() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let position = node.clients[ada].inbox.iter().find_map(|message| match message {
        Message::AgentMovementComplete(m) => Some((m.data.position, m.data.region_handle, m.data.timestamp)),
        _ => None,
    });
    let (position, handle, timestamp) = position.expect("came");
    assert_eq!(Some(position), node.position_in(HARBOUR, "Ada"));
    assert_eq!(handle, node.places.get(HARBOUR).handle.0);
    assert_eq!(timestamp, 1_750_000_000);
}

#[test]
fn a_ticket_shown_wrongly_in_any_part_gets_no_answer_at_all() {
    let mut node = Node::new();
    let ada = ticketed(&mut node);
    let client = &node.clients[ada];
    let (code, session, agent) = (client.code, client.session_id, client.agent);
    let stranger = SessionId(Uuid::from_u128(1));
    let wrong = [
        (CircuitCode(code.0 + 1), session, agent, 0),
        (code, stranger, agent, 0),
        (code, session, crate::testing::agent("Bob"), 0),
        (code, session, agent, 1),
    ];
    for (n, (code, session, agent, port)) in wrong.into_iter().enumerate() {
        let mut client_like = circuit::Circuit::new(node.now, &circuit::Config::client(), 1);
        let mut body = Vec::new();
        crate::testing::use_circuit_code(code, session, agent).encode(&mut body);
        client_like.send(Reliability::Reliable, &body, false).expect("open");
        let mut bytes = Vec::new();
        client_like.poll_transmit(node.now, &mut bytes).expect("a datagram");
        let mut address = node.clients[ada].address();
        address.port = port;
        node.deliver_up(address, &bytes);
        assert_eq!(node.drops("no_ticket"), n as u64 + 1);
    }
    node.run_ms(2_000);
    assert_eq!(node.clients[ada].arrivals.len(), 0);
    assert_eq!(node.shards[0].counters().circuits_opened, 0);
    // The right one is still good.
    node.clients[ada].open();
    node.run_until(|node| node.clients[ada].sees_itself());
}

#[test]
fn other_messages_from_unknown_addresses_get_no_answer() {
    let mut node = Node::new();
    let ada = ticketed(&mut node);
    node.clients[ada].complete_movement();
    node.clients[ada].send_update();
    node.run_ms(1_500);
    assert!(node.drops("unknown_address") >= 2);
    assert_eq!(node.clients[ada].arrivals.len(), 0);
    assert_eq!(node.shards[0].n_clients(), 0);
}

#[test]
fn a_ticket_is_void_after_its_time() {
    let mut node = Node::new();
    node.run_ms(500);
    let ada = ticketed(&mut node);
    // Neither the hub, which looks once a second, nor the shard's sweep has noticed yet.
    node.run_for(crate::testing::ARRIVAL_TIMEOUT);
    node.clients[ada].open();
    node.run_ms(100);
    assert_eq!(node.hub.n_sessions(), 1);
    assert!(node.drops("no_ticket") > 0);
    assert_eq!(node.clients[ada].arrivals.len(), 0);
}

#[test]
fn a_ticket_opens_one_circuit_on_whichever_shard() {
    let mut node = Node::with(Setup { shards: 2, ..Setup::default() });
    let ada = node.enter("Ada");
    let client = &node.clients[ada];
    let mut body = Vec::new();
    crate::testing::use_circuit_code(client.code, client.session_id, client.agent).encode(&mut body);
    let mut replay = circuit::Circuit::new(node.now, &circuit::Config::client(), 1);
    replay.send(Reliability::Reliable, &body, false).expect("open");
    let mut bytes = Vec::new();
    replay.poll_transmit(node.now, &mut bytes).expect("a datagram");
    for port in [30_000, 30_001] {
        let mut address = node.clients[ada].address();
        address.remote.set_port(port);
        node.deliver_up(address, &bytes);
    }
    assert_eq!(node.drops("no_ticket"), 2);
}

#[test]
fn complete_agent_movement_right_behind_use_circuit_code_and_unreliable_is_enough() {
    let mut node = Node::new();
    let ada = ticketed(&mut node);
    node.clients[ada].manners.move_in = Reliability::Unreliable;
    node.clients[ada].open();
    node.run_ms(500);
    assert_arrived(&node, ada);
}

#[test]
fn loss_of_any_message_of_an_arrival_heals() {
    for (way, number, n) in [
        (TransferDirection::Up, UseCircuitCode::NUMBER, 3),
        (TransferDirection::Up, CompleteAgentMovement::NUMBER, 3),
        (TransferDirection::Up, RegionHandshakeReply::NUMBER, 3),
        (TransferDirection::Down, RegionHandshake::NUMBER, 3),
        (TransferDirection::Down, AgentMovementComplete::NUMBER, 3),
        (TransferDirection::Down, ObjectUpdate::NUMBER, 3),
        (TransferDirection::Down, PacketAck::NUMBER, 3),
        (TransferDirection::Down, LayerData::NUMBER, 5),
        (TransferDirection::Down, ParcelOverlay::NUMBER, 5),
    ] {
        let mut node = Node::new();
        node.loss.lose(way, number, n);
        let ada = ticketed(&mut node);
        node.clients[ada].open();
        node.run_ms(15_000);
        assert_eq!(node.loss.left(), 0, "{number:?} was lost");
        assert_arrived(&node, ada);
        let ground = node.places.get(HARBOUR).ground().layers.len() + 4;
        let is_ground =
            |message: &Message| matches!(message, Message::LayerData(_) | Message::ParcelOverlay(_));
        assert_eq!(node.clients[ada].count(is_ground), ground, "{number:?} was lost");
    }
}

#[test]
fn an_agent_update_stands_in_for_a_movement_message_that_got_lost_for_ever() {
    let mut node = Node::new();
    let ada = ticketed(&mut node);
    node.clients[ada].manners.moves_in = false;
    node.clients[ada].open();
    node.run_ms(500);
    assert_eq!(node.avatars_in(HARBOUR), 0);
    node.clients[ada].send_update();
    node.run_ms(500);
    assert_arrived(&node, ada);
}

#[test]
fn a_handshake_that_is_never_answered_opens_the_scene_after_a_while() {
    let mut node = Node::new();
    let ada = ticketed(&mut node);
    node.clients[ada].manners.replies = None;
    node.clients[ada].open();
    node.run_ms(2_900);
    assert!(node.clients[ada].got(AgentMovementComplete::NUMBER));
    assert!(!node.clients[ada].sees_itself());
    node.run_ms(500);
    assert_arrived(&node, ada);
}

#[test]
fn arrivals_survive_a_network_that_loses_a_fifth_each_way() {
    let mut node = Node::new();
    node.loss.percent = 20;
    let visitors: Vec<usize> = (0..20)
        .map(|n| {
            let spot = node.spot(HARBOUR, 100.0 + 2.0 * n as f32, 100.0);
            let client = node.login(&format!("Visitor{n}"), spot);
            node.clients[client].open();
            client
        })
        .collect();
    // Repeated losses of one message make its resends ever rarer.
    node.run_ms(30_000);
    for &client in &visitors {
        assert_eq!(node.clients[client].avatars.len(), 20, "{}", node.clients[client].name);
    }
    assert_eq!(node.shards[0].counters().circuits_lost, 0);
}

#[test]
fn a_repeated_movement_message_enters_once() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.clients[ada].complete_movement();
    node.run_ms(500);
    let enters = node.commands.iter().filter(|(_, command)| matches!(command.action, Action::Enter(_)));
    assert_eq!(enters.count(), 1);
}

#[test]
fn a_world_that_is_full_ends_the_login_with_a_reason() {
    let mut node = Node::with(Setup { world_max_avatars: 1, ..Setup::default() });
    node.enter("Ada");
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    let bob = node.login("Bob", spot);
    node.clients[bob].open();
    node.run_ms(1_000);
    assert!(node.mail.iter().any(|mail| matches!(mail, FromShard::Refused(_, _, crate::testing::FULL))));
    assert!(node.clients[bob].got(KickUser::NUMBER));
    assert_eq!(node.hub.n_sessions(), 1);
}

#[test]
fn commands_of_a_circuit_are_numbered_from_its_ticket_on() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    for flags in [ControlFlags::AT_POS, ControlFlags::default(), ControlFlags::FLY] {
        node.clients[ada].control(flags);
        node.run_ms(100);
    }
    let numbers: Vec<u64> = node.commands.iter().map(|(_, command)| command.sequence).collect();
    assert_eq!(numbers, [0, 1, 2, 3].map(|n| 1 << 32 | n));
}

#[test]
fn an_older_agent_update_changes_nothing() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.clients[ada].control(ControlFlags::AT_POS);
    let address = node.clients[ada].address();
    let walk = node.clients[ada].take_datagrams(node.now);
    node.clients[ada].control(ControlFlags::default());
    let stop = node.clients[ada].take_datagrams(node.now);
    for (_, bytes) in stop.iter().chain(&walk) {
        assert_eq!(number_of(bytes), Some(AgentUpdate::NUMBER));
        node.deliver_up(address, bytes);
    }
    assert_eq!(node.drops("out_of_order"), 1);
    node.run_ms(100);
    let newest = node.commands.iter().rev().find_map(|(_, command)| match &command.action {
        Action::Control(control) => Some(control.flags),
        _ => None,
    });
    assert_eq!(newest, Some(ControlFlags::default()));
}
