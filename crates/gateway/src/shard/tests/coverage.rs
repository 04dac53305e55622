//! Every message that a client may send ends in the outcome that the table states.

use crate::coverage::{Feature, MESSAGES, Outcome};
use crate::testing::{Client, Node};
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

/// How often each message ended in each outcome.
fn outcomes(node: &Node) -> BTreeMap<(&'static str, Outcome), u64> {
    let occurred = node.shards.iter().flat_map(|shard| shard.outcomes().occurred());
    occurred.map(|(name, outcome, n)| ((name, outcome), n)).collect()
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
        assert_eq!(outcomes(&node).get(&(row.name.as_str(), Outcome::Refused)), Some(&1));
    }
}

#[test]
fn a_missing_feature_is_named_once_in_ten_seconds_however_often_it_is_asked_for() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    for name in
        [MessageName::GroupProfileRequest, MessageName::GroupTitlesRequest, MessageName::GroupProfileRequest]
    {
        node.clients[ada].send_bare(name);
        node.run_ms(100);
    }
    node.clients[ada].send_bare(MessageName::MoneyTransferRequest);
    node.run_ms(100);
    assert_eq!(alerts(&node.clients[ada]), [Feature::Groups.to_string(), Feature::Money.to_string()]);
    node.run_ms(10_000);
    node.clients[ada].send_bare(MessageName::GroupProfileRequest);
    node.run_ms(100);
    assert_eq!(alerts(&node.clients[ada]).len(), 3);
    assert_eq!(outcomes(&node)[&("GroupProfileRequest", Outcome::Refused)], 3);
}

#[test]
fn what_is_ignored_or_comes_from_simulators_only_changes_nothing_and_is_counted() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.run_ms(5_000);
    let inbox = node.clients[ada].inbox.len();
    let reserved = MessageName::ALL.iter().filter(|name| name.is_trusted());
    let rows = MESSAGES.iter().map(|row| (row.name, row.outcome));
    let silent = rows.filter(|(_, outcome)| matches!(outcome, Outcome::Ignored | Outcome::Dropped));
    let silent: Vec<_> = silent.chain(reserved.map(|name| (*name, Outcome::Dropped))).collect();
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
    let dropped = silent.iter().filter(|(_, outcome)| *outcome == Outcome::Dropped).count() as u64;
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
    assert_eq!(outcomes(&node)[&("unknown", Outcome::Dropped)], 1);
    assert_eq!(node.drops("unknown_message"), 1);
}
