//! The operator's list of sessions, and texts from the operator.

use super::displaced::alerts;
use crate::testing::{HARBOUR, MEADOW, Node, Setup, agent};
use wire::messages::Message;
use wire::text::from_wire;

/// Speakers and texts of the chat that a client got.
fn heard(node: &Node, client: usize) -> Vec<(String, String, u8)> {
    let line = |message: &Message| match message {
        Message::ChatFromSimulator(m) => {
            let chat = &m.chat_data;
            Some((from_wire(&chat.from_name), from_wire(&chat.message), chat.source_type))
        }
        _ => None,
    };
    node.clients[client].inbox.iter().filter_map(line).collect()
}

/// Ada in the harbour, and Bob in the meadow, on two shards.
fn two_regions() -> (Node, usize, usize) {
    let mut node = Node::with(Setup { shards: 2, ..Setup::default() });
    let spot = node.spot(MEADOW, 128.0, 128.0);
    let (ada, bob) = (node.enter("Ada"), node.enter_at("Bob", spot));
    (node, ada, bob)
}

#[test]
fn an_alert_reaches_the_user_or_the_region_that_it_is_for() {
    let (mut node, ada, bob) = two_regions();
    assert!(node.hub.alert_user("ada RESIDENT", "for Ada"));
    assert!(!node.hub.alert_user("Eve Resident", "for Eve"));
    let meadow = node.places.get(MEADOW).world();
    node.hub.alert_in(meadow, "for the meadow");
    node.run_ms(300);
    assert_eq!(alerts(&node, ada), ["for Ada"]);
    assert_eq!(alerts(&node, bob), ["for the meadow"]);
}

#[test]
fn a_line_of_the_operator_is_heard_in_its_region_at_any_distance() {
    let (mut node, ada, bob) = two_regions();
    let eve = {
        let spot = node.spot(HARBOUR, 250.0, 250.0);
        node.enter_at("Eve", spot)
    };
    let harbour = node.places.get(HARBOUR).world();
    node.hub.say_in(harbour, "Harbour master", "The ferry leaves.");
    node.run_ms(300);
    let line = ("Harbour master".to_owned(), "The ferry leaves.".to_owned(), 0);
    assert_eq!((heard(&node, ada), heard(&node, eve)), (vec![line.clone()], vec![line]));
    assert!(heard(&node, bob).is_empty());
}

#[test]
fn sessions_are_listed_with_their_places_and_circuits() {
    let (node, ..) = two_regions();
    let present = node.hub.present();
    let seen: Vec<_> = present
        .iter()
        .map(|session| {
            let region = session.place.as_ref().map(|place| place.name().to_owned());
            let circuits: Vec<_> =
                session.circuits.iter().map(|circuit| (circuit.is_open, circuit.is_main)).collect();
            (session.agent, session.name.as_str(), region, session.has_arrived, circuits)
        })
        .collect();
    let row =
        |name, full, region: &str| (agent(name), full, Some(region.to_owned()), true, vec![(true, true)]);
    assert_eq!(seen, [row("Ada", "Ada Resident", "Harbour"), row("Bob", "Bob Resident", "Meadow")]);
    assert!((9_000..9_004).contains(&present[0].circuits[0].port));
}
