//! Between users: instant messages and invitations.

use super::events;
use crate::hub::delivery::UNDELIVERED_MAX;
use crate::hub::messages::Delivery;
use crate::testing::{ARRIVAL_TIMEOUT, HARBOUR, MEADOW, Node, OFFLINE_AGENT, agent};
use ids::{AgentId, Uuid};
use std::sync::Arc;
use std::time::Duration;
use wire::messages::*;
use wire::text::{from_wire, to_wire};

/// Sends a message from a client to a user.
pub(super) fn send(node: &mut Node, from: usize, to: AgentId, dialog: u8, text: &str) {
    let client = &mut node.clients[from];
    let message = ImprovedInstantMessage {
        agent_data: ImprovedInstantMessageAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        message_block: ImprovedInstantMessageMessageBlock {
            to_agent_id: to.0,
            dialog,
            id: Uuid::from_u128(77),
            from_agent_name: to_wire("Somebody Else", 255),
            message: to_wire(text, 1_024),
            ..ImprovedInstantMessageMessageBlock::default()
        },
        ..ImprovedInstantMessage::default()
    };
    client.send(&message.into());
    node.run_ms(200);
}

/// Messages received by a client, newest last: (from, name, dialog, text).
pub(super) fn got(node: &Node, client: usize) -> Vec<(Uuid, String, u8, String)> {
    let read = |message: &Message| match message {
        Message::ImprovedInstantMessage(m) => {
            let block = &m.message_block;
            let (name, text) = (from_wire(&block.from_agent_name), from_wire(&block.message));
            Some((m.agent_data.agent_id, name, block.dialog, text))
        }
        _ => None,
    };
    node.clients[client].inbox.iter().filter_map(read).collect()
}

#[test]
fn a_message_reaches_its_user_in_another_region_under_the_senders_true_name() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let spot = node.spot(MEADOW, 128.0, 128.0);
    let (bob, eve) = (node.enter_at("Bob", spot), node.enter("Eve"));
    send(&mut node, ada, agent("Bob"), 0, "hello");
    assert_eq!(got(&node, bob), [(agent("Ada").0, "Ada Resident".into(), 0, "hello".into())]);
    assert_eq!((got(&node, ada), got(&node, eve)), (vec![], vec![]));
    assert_eq!(node.hub.counters().instant_messages, 1);
}

#[test]
fn a_message_to_an_absent_user_is_answered() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    send(&mut node, ada, OFFLINE_AGENT, 0, "hello");
    let answers = got(&node, ada);
    assert_eq!(answers.len(), 1);
    assert_eq!((answers[0].0, answers[0].2), (OFFLINE_AGENT.0, 20));
    send(&mut node, ada, OFFLINE_AGENT, 41, "typing");
    assert_eq!(got(&node, ada).len(), 1, "typing is not answered");
}

#[test]
fn a_request_or_offer_of_a_teleport_to_an_absent_user_is_answered() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    send(&mut node, ada, OFFLINE_AGENT, 26, "may I come?");
    invite(&mut node, ada, &[OFFLINE_AGENT]);
    let text = |what| format!("This user is not online. Your {what} was not delivered.");
    let answer = |what| (OFFLINE_AGENT.0, "Throng".to_owned(), 20, text(what));
    assert_eq!(got(&node, ada), [answer("request for a teleport"), answer("invitation")]);
    // A refusal and an automatic response expect no reaction.
    send(&mut node, ada, OFFLINE_AGENT, 24, "no");
    send(&mut node, ada, OFFLINE_AGENT, 20, "busy");
    assert_eq!(got(&node, ada).len(), 2);
}

#[test]
fn of_several_invited_users_the_absent_are_named_and_the_present_invited() {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    let unknown = AgentId(Uuid::from_u128(0xBAD));
    invite(&mut node, ada, &[OFFLINE_AGENT, agent("Bob"), unknown]);
    let absent: Vec<Uuid> = got(&node, ada).into_iter().map(|(from, ..)| from).collect();
    assert_eq!(absent, [OFFLINE_AGENT.0, unknown.0]);
    assert!(!offer(&node, bob).id.is_nil());
}

#[test]
fn an_invitation_of_more_users_than_one_message_may_invite_says_how_many_are_left_out() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let users: Vec<AgentId> = (1..=40).map(|n| AgentId(Uuid::from_u128(n))).collect();
    invite(&mut node, ada, &users);
    node.run_ms(1_000);
    assert_eq!(got(&node, ada).len(), 32);
    assert_eq!(alert(&node, ada).as_deref(), Some("One offer invites 32 users at most. Not invited: 8."));
}

#[test]
fn an_invitation_of_no_user_is_answered_by_an_alert() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    invite(&mut node, ada, &[]);
    node.run_ms(1_000);
    assert_eq!(alert(&node, ada).as_deref(), Some("The offer of a teleport names no user."));
}

/// Text of the first alert that a client got.
fn alert(node: &Node, client: usize) -> Option<String> {
    node.clients[client].inbox.iter().find_map(|message| match message {
        Message::AlertMessage(alert) => Some(from_wire(&alert.alert_data.message)),
        _ => None,
    })
}

#[test]
fn an_invitation_to_a_session_that_ends_before_its_avatar_arrives_comes_back_to_its_author() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    node.admit("Bob", spot).expect("there is room");
    invite(&mut node, ada, &[agent("Bob")]);
    assert_eq!(got(&node, ada), []);
    node.run_for(ARRIVAL_TIMEOUT + Duration::from_secs(2));
    let answers = got(&node, ada);
    assert_eq!(answers.len(), 1);
    assert_eq!((answers[0].0, answers[0].2), (agent("Bob").0, 20));
}

#[test]
fn a_message_to_a_session_that_ends_before_its_avatar_arrives_comes_back_to_its_author() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    node.admit("Bob", spot).expect("there is room");
    send(&mut node, ada, agent("Bob"), 0, "hello");
    assert_eq!(got(&node, ada), []);
    node.run_for(ARRIVAL_TIMEOUT + Duration::from_secs(2));
    let answers = got(&node, ada);
    assert_eq!(answers.len(), 1);
    assert_eq!((answers[0].0, answers[0].2), (agent("Bob").0, 20));
}

#[test]
fn a_message_to_an_arriving_session_reaches_its_replacement() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    node.admit("Bob", spot).expect("there is room");
    send(&mut node, ada, agent("Bob"), 0, "hello");
    let bob = node.enter("Bob");
    node.run_ms(200);
    assert_eq!(got(&node, bob), [(agent("Ada").0, "Ada Resident".into(), 0, "hello".into())]);
    assert_eq!(got(&node, ada), []);
}

#[test]
#[should_panic(expected = "more messages are kept for SessionKey(")]
fn messages_above_the_bound_are_not_kept() {
    let mut node = Node::new();
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    node.login("Bob", spot);
    let session = node.hub.session_named("Bob Resident").expect("he is on his way");
    let delivery = || Delivery { message: Arc::default(), receipt: None };
    let kept = &mut node.hub.sessions.get_mut(&session).expect("named above").undelivered;
    kept.extend((0..=UNDELIVERED_MAX).map(|_| delivery()));
    node.hub.deliver(session, delivery());
}

#[test]
fn messages_to_an_arriving_session_are_bounded_and_the_rest_is_answered() {
    let mut node = Node::new();
    let authors: Vec<usize> = (0..5).map(|n| node.enter(&format!("Author{n}"))).collect();
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    let bob = node.login("Bob", spot);
    for &author in &authors {
        (0..15).for_each(|n| send(&mut node, author, agent("Bob"), 0, &n.to_string()));
    }
    let answers: usize = authors.iter().map(|&author| got(&node, author).len()).sum();
    assert_eq!(answers, 5 * 15 - UNDELIVERED_MAX);
    node.clients[bob].open();
    node.run_until(|node| got(node, bob).len() == UNDELIVERED_MAX);
}

#[test]
fn a_user_is_found_in_every_spelling_of_the_name_that_logins_accept() {
    let mut node = Node::new();
    node.enter("Ada");
    for name in ["Ada Resident", "ada resident", "ADA.RESIDENT", " Ada ", "\u{ff21}da Resident"] {
        assert!(node.hub.session_named(name).is_some(), "{name}");
    }
    for name in ["Ad Resident", "Ada Lovelace", "", "Ada Resident Jr"] {
        assert!(node.hub.session_named(name).is_none(), "{name}");
    }
}

#[test]
fn dialogs_that_only_a_server_may_send_are_not_passed_on() {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    for dialog in [1, 3, 9, 19, 22, 25, 31, 38] {
        send(&mut node, ada, agent("Bob"), dialog, "forged");
    }
    assert_eq!(got(&node, bob), []);
}

fn invite(node: &mut Node, from: usize, to: &[AgentId]) {
    let client = &mut node.clients[from];
    let message = StartLure {
        agent_data: StartLureAgentData { agent_id: client.agent.0, session_id: client.session_id.0 },
        info: StartLureInfo { lure_type: 0, message: to_wire("come here", 255) },
        target_data: to.iter().map(|to| StartLureTargetData { target_id: to.0 }).collect(),
    };
    client.send(&message.into());
    node.run_ms(200);
}

fn accept(node: &mut Node, client: usize, lure: Uuid) {
    let client = &mut node.clients[client];
    let message = TeleportLureRequest {
        info: TeleportLureRequestInfo {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
            lure_id: lure,
            teleport_flags: 4,
        },
    };
    client.send(&message.into());
    node.run_ms(200);
}

fn offer(node: &Node, client: usize) -> ImprovedInstantMessageMessageBlock {
    let lure = node.clients[client].inbox.iter().rev().find_map(|message| match message {
        Message::ImprovedInstantMessage(m) if m.message_block.dialog == 22 => Some(m.message_block.clone()),
        _ => None,
    });
    lure.expect("an invitation")
}

#[test]
fn an_invitation_leads_to_its_sender_and_only_for_its_guest() {
    let mut node = Node::new();
    let spot = node.spot(MEADOW, 400.0, 300.0);
    let ada = node.enter_at("Ada", spot);
    let (bob, eve) = (node.enter("Bob"), node.enter("Eve"));
    invite(&mut node, ada, &[agent("Bob")]);
    let lure = offer(&node, bob);
    let bucket = from_wire(&lure.binary_bucket);
    assert!(bucket.starts_with("1004|1000|"), "{bucket}");

    accept(&mut node, eve, lure.id);
    let refused = events(&mut node, eve);
    assert_eq!(refused.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["TeleportFailed"]);

    accept(&mut node, bob, lure.id);
    assert!(node.clients[bob].got(TeleportStart::NUMBER));
    let finish = events(&mut node, bob);
    assert_eq!(finish[0].0, "TeleportFinish");
    let arrived = node.follow_teleport(bob, &finish[0].1);
    node.run_until(|node| node.clients[arrived].sees_itself());
    let (ada_at, bob_at) = (node.position_in(MEADOW, "Ada"), node.position_in(MEADOW, "Bob"));
    assert!(ada_at.expect("here").distance(bob_at.expect("here")) < 3.0, "{ada_at:?} {bob_at:?}");
}

#[test]
fn an_invitation_within_the_region_moves_its_guest_there() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let spot = node.spot(HARBOUR, 20.0, 20.0);
    let bob = node.enter_at("Bob", spot);
    invite(&mut node, ada, &[agent("Bob"), OFFLINE_AGENT]);
    let lure = offer(&node, bob);
    accept(&mut node, bob, lure.id);
    let first = |number| node.clients[bob].arrivals.iter().position(|arrival| arrival.number == number);
    let (start, local) = (first(TeleportStart::NUMBER), first(TeleportLocal::NUMBER));
    assert!(start.expect("a start") < local.expect("an end"));
    let (ada_at, bob_at) = (node.position_in(HARBOUR, "Ada"), node.position_in(HARBOUR, "Bob"));
    assert!(ada_at.expect("here").distance(bob_at.expect("here")) < 3.0);
}
