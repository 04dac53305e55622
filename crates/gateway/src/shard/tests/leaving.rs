//! Ends of circuits, and their remains.

use crate::mail::{Closed, FromShard};
use crate::testing::{HARBOUR, Node, TransferDirection};
use ids::{SessionId, Uuid};
use link::Action;
use std::time::Duration;
use wire::messages::*;

fn closings(node: &Node) -> Vec<Closed> {
    node.mail
        .iter()
        .filter_map(|mail| match mail {
            FromShard::Closed { why, .. } => Some(*why),
            _ => None,
        })
        .collect()
}

fn leaves(node: &Node) -> usize {
    node.commands.iter().filter(|(_, command)| matches!(command.action, Action::Leave)).count()
}

#[test]
fn a_logout_is_answered_and_others_see_the_avatar_go() {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    node.run_until(|node| node.clients[bob].sees("Ada").is_some());
    node.clients[ada].log_out();
    node.run_ms(500);
    assert_eq!(node.clients[ada].count(|message| matches!(message, Message::LogoutReply(_))), 1);
    assert_eq!(closings(&node), [Closed::LoggedOut]);
    assert_eq!((leaves(&node), node.avatars_in(HARBOUR)), (1, 1));
    assert!(node.clients[bob].got(KillObject::NUMBER));
    assert_eq!(node.clients[bob].sees("Ada"), None);
    assert_eq!(node.hub.n_sessions(), 1);
}

#[test]
fn a_logout_reply_that_got_lost_is_sent_again_before_the_circuit_is_forgotten() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.loss.lose(TransferDirection::Down, LogoutReply::NUMBER, 1);
    node.clients[ada].log_out();
    node.run_ms(2_500);
    assert!(node.clients[ada].got(LogoutReply::NUMBER));
    assert_eq!(node.shards[0].n_clients(), 1, "it lingers");
    node.run_ms(1_000);
    assert_eq!(node.shards[0].n_clients(), 0);
    assert_eq!(leaves(&node), 1);
}

#[test]
fn a_client_that_logged_out_is_not_pinged() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.run_until(|node| node.clients[ada].got(StartPingCheck::NUMBER));
    // The next ping would be due while the circuit lingers.
    node.run_ms(3_500);
    node.clients[ada].log_out();
    node.run_ms(2_500);
    assert_eq!(node.shards[0].n_clients(), 1, "it lingers");
    let pings = node.clients[ada].arrivals.iter().filter(|arrival| arrival.number == StartPingCheck::NUMBER);
    assert_eq!(pings.count(), 1);
}

#[test]
fn messages_on_a_lingering_circuit_move_no_avatar() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.clients[ada].log_out();
    node.run_ms(100);
    let commands = node.commands.len();
    node.clients[ada].control(link::ControlFlags::AT_POS);
    node.clients[ada].send_chat(link::ChatKind::Say, "still here?");
    node.clients[ada].complete_movement();
    node.run_ms(500);
    assert_eq!(node.commands.len(), commands);
    assert_eq!(node.avatars_in(HARBOUR), 0);
}

#[test]
fn a_logout_with_another_session_id_is_refused() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let own = node.clients[ada].session_id;
    node.clients[ada].session_id = SessionId(Uuid::from_u128(7));
    node.clients[ada].log_out();
    node.run_ms(500);
    assert_eq!(node.drops("wrong_session"), 1);
    assert_eq!(node.avatars_in(HARBOUR), 1);
    node.clients[ada].session_id = own;
    node.clients[ada].log_out();
    node.run_ms(500);
    assert_eq!(node.avatars_in(HARBOUR), 0);
}

#[test]
fn an_agent_update_with_another_session_id_moves_no_avatar() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.clients[ada].update.session_id = Uuid::from_u128(7);
    node.clients[ada].control(link::ControlFlags::AT_POS);
    node.run_ms(500);
    assert_eq!(node.drops("wrong_session"), 1);
    assert!(!node.commands.iter().any(|(_, command)| matches!(command.action, Action::Control(_))));
}

#[test]
fn a_client_that_falls_silent_is_removed_with_its_avatar() {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    node.run_until(|node| node.clients[bob].sees("Ada").is_some());
    node.clients[ada].circuit.close(circuit::CloseReason::Idle);
    node.run_for(Duration::from_secs(59));
    assert_eq!(node.avatars_in(HARBOUR), 2);
    node.run_for(Duration::from_secs(3));
    assert_eq!(closings(&node), [Closed::TimedOut]);
    assert_eq!((node.avatars_in(HARBOUR), node.shards[0].n_clients()), (1, 1));
    assert_eq!(node.clients[bob].sees("Ada"), None);
    let counters = node.shards[0].counters();
    assert_eq!((counters.circuits_lost, counters.circuits_unresponsive), (1, 0));
    assert_eq!(node.hub.n_sessions(), 1);
}

#[test]
fn a_client_that_answers_pings_and_never_acks_a_message_is_lost_as_unresponsive() {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    node.run_until(|node| node.clients[ada].sees("Bob").is_some());
    node.loss.lose(TransferDirection::Down, KillObject::NUMBER, usize::MAX);
    node.clients[bob].log_out();
    node.run_for(Duration::from_secs(180));
    assert_eq!(closings(&node), [Closed::LoggedOut, Closed::Unresponsive]);
    let counters = node.shards[0].counters();
    assert_eq!((counters.circuits_lost, counters.circuits_unresponsive), (1, 1));
}

#[test]
fn a_client_that_closes_its_circuit_is_gone() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.clients[ada].send(&CloseCircuit {}.into());
    node.run_ms(500);
    assert_eq!(closings(&node), [Closed::HungUp]);
    assert_eq!((node.avatars_in(HARBOUR), node.hub.n_sessions()), (0, 0));
}

#[test]
fn a_socket_that_comes_back_with_a_new_ticket_gets_a_new_circuit_while_the_old_one_lingers() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let first_circuit_sent = node.clients[ada].arrivals.iter().map(|a| a.sequence).max().expect("some");
    node.clients[ada].log_out();
    node.run_ms(200);
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    let again = node.login("Ada", spot);
    let remote = node.clients[ada].remote;
    node.clients[ada].remote.set_port(1);
    node.clients[again].remote = remote;
    node.clients[again].open();
    node.run_until(|node| node.clients[again].sees_itself());
    assert_eq!(node.shards[0].n_clients(), 1, "the old circuit is gone");
    // A new session counts from 1: this client has forgotten its former one.
    assert!(node.clients[again].arrivals[0].sequence < first_circuit_sent);
    node.run_ms(5_000);
    assert_eq!((node.avatars_in(HARBOUR), node.shards[0].n_clients()), (1, 1));
    assert_eq!(leaves(&node), 1);
}

#[test]
fn the_farewell_of_a_circuit_says_where_its_avatar_stood() {
    let mut node = Node::new();
    let spot = node.spot(HARBOUR, 60.0, 70.0);
    let ada = node.enter_at("Ada", spot);
    node.clients[ada].log_out();
    node.run_ms(500);
    let stood = node.mail.iter().find_map(|mail| match mail {
        FromShard::Closed { spot, .. } => *spot,
        _ => None,
    });
    let stood = stood.expect("it was in the world");
    assert_eq!(stood.place, HARBOUR);
    assert!(stood.position.truncate().distance(glam::Vec2::new(60.0, 70.0)) < 1.0, "{}", stood.position);
    assert!(stood.look_at.distance(glam::Vec3::X) < 0.01, "{}", stood.look_at);
}
