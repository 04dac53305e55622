//! Every message that a client may send ends in the outcome that the table states.

mod assets;
mod contents;
mod conversations;
mod early;
mod inventory;
mod objects;
mod permissions;
mod places;
mod task_assets;
mod transfers;
mod unpacking;
mod uploads;
mod wearing;

use crate::coverage::{Feature, MESSAGES, MessageOutcome};
use crate::testing::{Client, Node, Setup, agent};
use ids::Uuid;
use link::Action;
use std::collections::BTreeMap;
use wire::messages::*;
use wire::text::from_wire;

/// Texts that a client was shown, in order.
fn alerts(client: &Client) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::AlertMessage(alert) => Some(from_wire(&alert.alert_data.message)),
        _ => None,
    };
    client.inbox.iter().filter_map(text).collect()
}

/// Counts of messages by outcome.
pub(super) fn outcomes(node: &Node) -> BTreeMap<(&'static str, MessageOutcome), u64> {
    let occurred = node.shards.iter().flat_map(|shard| shard.outcomes().nonzero_counts());
    occurred.map(|(name, outcome, n)| ((name, outcome), n)).collect()
}

fn last<T>(client: &Client, pick: impl Fn(&Message) -> Option<T>) -> T {
    client.inbox.iter().rev().find_map(pick).expect("an answer")
}

/// The local id of an object that the client sees.
fn seen_object(client: &Client) -> u32 {
    *client.objects.keys().next().expect("it sees objects")
}

/// A request for a texture, from a part of it on.
fn image(image: Uuid, packet: u32) -> RequestImageRequestImage {
    RequestImageRequestImage { image, packet, ..RequestImageRequestImage::default() }
}

/// A node with objects, and a client that sees some.
fn furnished() -> (Node, usize) {
    let mut node = Node::with(Setup { boxes: 60, ..Setup::default() });
    let ada = node.enter("Ada");
    node.run_until(|node| !node.clients[ada].objects.is_empty());
    node.run_ms(1_000);
    (node, ada)
}

#[test]
fn a_request_for_a_missing_feature_is_refused_by_name_within_a_second() {
    for row in MESSAGES {
        let Some(feature) = row.feature else { continue };
        let mut node = Node::new();
        let ada = node.enter("Ada");
        node.clients[ada].send_bare(row.name);
        node.run_ms(1_000);
        assert_eq!(alerts(&node.clients[ada]), [feature.to_string()], "{}", row.name.as_str());
        assert_eq!(outcomes(&node).get(&(row.name.as_str(), MessageOutcome::Refused)), Some(&1));
    }
}

#[test]
fn each_request_for_a_missing_feature_is_in_a_notice_within_a_second() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    for name in [MessageName::ActivateGroup, MessageName::UpdateGroupInfo, MessageName::ActivateGroup] {
        node.clients[ada].send_bare(name);
        node.run_ms(100);
    }
    let groups = Feature::Groups.to_string();
    assert_eq!(alerts(&node.clients[ada]), [groups.clone(), groups.clone()], "one for each message");
    node.clients[ada].send_bare(MessageName::ActivateGroup);
    node.run_ms(1_000);
    assert_eq!(alerts(&node.clients[ada])[2..], [format!("{groups} Requests refused: 2.")]);
    assert_eq!(outcomes(&node)[&("ActivateGroup", MessageOutcome::Refused)], 3);
}

#[test]
fn ignored_and_simulator_messages_change_nothing_and_are_counted() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.run_ms(5_000);
    let inbox = node.clients[ada].inbox.len();
    let reserved = MessageName::ALL.iter().filter(|name| name.is_trusted());
    let rows = MESSAGES.iter().map(|row| (row.name, row.outcome));
    let silent =
        rows.filter(|(_, outcome)| matches!(outcome, MessageOutcome::Ignored | MessageOutcome::Dropped));
    let silent: Vec<_> = silent.chain(reserved.map(|name| (*name, MessageOutcome::Dropped))).collect();
    let before = node.drops("not_for_clients");
    for (name, _) in &silent {
        node.clients[ada].send_bare(*name);
        node.run_ms(5);
    }
    node.run_ms(500);
    let occurred = outcomes(&node);
    for (name, outcome) in &silent {
        assert!(occurred.contains_key(&(name.as_str(), *outcome)), "{} is not {outcome:?}", name.as_str());
    }
    let dropped = silent.iter().filter(|(_, outcome)| *outcome == MessageOutcome::Dropped).count() as u64;
    assert_eq!(node.drops("not_for_clients") - before, dropped);
    let periodic = |message: &&Message| {
        matches!(
            message,
            Message::CoarseLocationUpdate(_) | Message::SimStats(_) | Message::SimulatorViewerTimeMessage(_)
        )
    };
    let answers: Vec<_> = node.clients[ada].inbox[inbox..].iter().filter(|m| !periodic(m)).collect();
    assert!(answers.is_empty(), "{answers:?}");
}

#[test]
fn a_number_that_the_protocol_does_not_have_is_counted_as_unknown() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.clients[ada].send_body(&[0xFF, 0xFF, 0x7F, 0x01, 1, 2, 3]);
    node.run_ms(100);
    assert_eq!(outcomes(&node)[&("unknown", MessageOutcome::Dropped)], 1);
    assert_eq!(node.drops("unknown_message"), 1);
}

#[test]
fn acks_and_pings_are_counted_though_they_come_no_further_than_the_circuit() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    // Between two pings.
    node.run_ms(2_000);
    let so_far = |node: &Node| {
        let occurred = outcomes(node);
        let done = |name| occurred.get(&(name, MessageOutcome::Done)).copied().unwrap_or_default();
        let counted = ["StartPingCheck", "CompletePingCheck", "PacketAck"].map(done);
        let stats = node.clients[ada].circuit.stats();
        (counted, [stats.pings_out, stats.pings_in, stats.acks_out])
    };
    let (counted_before, sent_before) = so_far(&node);
    node.run_ms(20_000);
    let (counted, sent) = so_far(&node);
    let risen = |now: [u64; 3], before: [u64; 3]| std::array::from_fn(|n| now[n] - before[n]);
    let [pings, answers, _] = risen(counted, counted_before);
    let [pings_sent, pings_heard, _]: [u64; 3] = risen(sent, sent_before);
    assert!(pings_sent > 2 && pings_heard > 2, "{pings_sent} and {pings_heard} pings");
    assert_eq!((pings, answers), (pings_sent, pings_heard));
    // One message may ack several datagrams, and in the window there was none to ack.
    assert!((1..=sent[2]).contains(&counted[2]), "{} acks of {} datagrams", counted[2], sent[2]);

    // An ack whose only id is missing.
    node.clients[ada].send_body(&[0xFF, 0xFF, 0xFF, 0xFB, 1]);
    node.run_ms(100);
    assert_eq!(outcomes(&node).get(&("PacketAck", MessageOutcome::Dropped)), Some(&1));
}

#[test]
fn dialogs_that_are_neither_passed_on_nor_refused_count_as_ignored() {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    let dialogs = [1, 9, 18, 19, 22, 25, 31, 33, 39, 40, 255];
    for dialog in dialogs {
        let client = &node.clients[ada];
        let mut message = ImprovedInstantMessage::default();
        message.agent_data.agent_id = client.agent.0;
        message.agent_data.session_id = client.session_id.0;
        message.message_block.to_agent_id = agent("Bob").0;
        message.message_block.dialog = dialog;
        node.clients[ada].send(&message.into());
    }
    node.run_ms(300);
    assert!(!node.clients[bob].got(ImprovedInstantMessage::NUMBER));
    let occurred = outcomes(&node);
    assert_eq!(occurred[&("ImprovedInstantMessage", MessageOutcome::Ignored)], dialogs.len() as u64);
    assert!(!occurred.contains_key(&("ImprovedInstantMessage", MessageOutcome::Done)));
}

#[test]
fn running_and_animations_reach_the_world() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let ids = (node.clients[ada].agent.0, node.clients[ada].session_id.0);
    let agent_data = SetAlwaysRunAgentData { agent_id: ids.0, session_id: ids.1, always_run: true };
    node.clients[ada].send(&SetAlwaysRun { agent_data }.into());
    let wave = Uuid::from_u128(0x77);
    let animation = AgentAnimation {
        agent_data: AgentAnimationAgentData { agent_id: ids.0, session_id: ids.1 },
        animation_list: vec![AgentAnimationAnimationList { anim_id: wave, start_anim: true }],
        ..AgentAnimation::default()
    };
    node.clients[ada].send(&animation.into());
    node.run_ms(300);
    let has = |is_it: fn(&Action) -> bool| node.commands.iter().any(|(_, command)| is_it(&command.action));
    assert!(has(|action| matches!(action, Action::AlwaysRun(true))));
    assert!(has(
        |action| matches!(action, Action::Animate(list) if list[..] == [(Uuid::from_u128(0x77), true)])
    ));
}

#[test]
fn a_client_that_pauses_is_waited_for_longer_until_it_resumes() {
    for (pauses, resumes, is_there) in [(false, false, false), (true, false, true), (true, true, false)] {
        let mut node = Node::new();
        let ada = node.enter("Ada");
        let client = &mut node.clients[ada];
        let ids = (client.agent.0, client.session_id.0);
        if pauses {
            let agent_data = AgentPauseAgentData { agent_id: ids.0, session_id: ids.1, serial_num: 1 };
            client.send(&AgentPause { agent_data }.into());
        }
        node.run_ms(200);
        if resumes {
            let agent_data = AgentResumeAgentData { agent_id: ids.0, session_id: ids.1, serial_num: 2 };
            node.clients[ada].send(&AgentResume { agent_data }.into());
        }
        node.run_ms(200);
        node.loss.percent = 100;
        node.run_ms(100_000);
        assert_eq!(node.shards[0].n_clients() == 1, is_there, "paused {pauses}, resumed {resumes}");
    }
}
