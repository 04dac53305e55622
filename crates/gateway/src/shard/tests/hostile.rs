//! Bytes that no honest client sends.

use crate::testing::{HARBOUR, Node};
use proptest::prelude::*;
use wire::header::{self, Flags};
use wire::messages::{Message, SCHEMA};

/// A datagram with a valid beginning and a random rest.
fn datagram() -> impl Strategy<Value = Vec<u8>> {
    let number = (0..SCHEMA.len()).prop_map(|at| SCHEMA[at].number);
    let body = prop::collection::vec(any::<u8>(), 0..300);
    (any::<u8>(), 2_u32..5_000, number, body).prop_map(|(flags, sequence, number, body)| {
        let mut bytes = Vec::new();
        header::write_header(&mut bytes, Flags(flags), sequence);
        number.write(&mut bytes);
        bytes.extend_from_slice(&body);
        bytes
    })
}

/// A well-formed message of the circuit's own session, with the rest at random.
fn well_formed() -> impl Strategy<Value = Vec<u8>> {
    let number = (0..SCHEMA.len()).prop_map(|at| SCHEMA[at].number);
    (number, prop::collection::vec(any::<u8>(), 0..400), any::<u8>()).prop_map(|(number, body, fill)| {
        let mut bytes = Vec::new();
        number.write(&mut bytes);
        // 32 bytes for the two ids that most messages begin with.
        bytes.extend_from_slice(&[fill; 32]);
        bytes.extend_from_slice(&body);
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn strangers_bytes_open_nothing_and_are_answered_by_nothing(
        datagrams in prop::collection::vec(
            prop_oneof![datagram(), prop::collection::vec(any::<u8>(), 0..1_500)], 1..40),
    ) {
        let mut node = Node::new();
        let spot = node.spot(HARBOUR, 128.0, 128.0);
        let ada = node.login("Ada", spot);
        let address = node.clients[ada].address();
        for bytes in &datagrams {
            node.deliver_up(address, bytes);
        }
        node.run_ms(200);
        prop_assert_eq!(node.clients[ada].arrivals.len(), 0);
        prop_assert_eq!(node.shards[0].n_clients(), 0);
        let dropped = node.drops("unknown_address") + node.drops("no_ticket");
        prop_assert_eq!(dropped, datagrams.len() as u64);
    }

    #[test]
    fn a_clients_bytes_break_nothing_for_the_others(
        datagrams in prop::collection::vec(
            prop_oneof![datagram(), prop::collection::vec(any::<u8>(), 0..1_500)], 1..60),
        messages in prop::collection::vec(well_formed(), 1..60),
    ) {
        let mut node = Node::new();
        let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
        let address = node.clients[ada].address();
        for bytes in &datagrams {
            node.deliver_up(address, bytes);
            node.run_ms(5);
        }
        for message in &messages {
            let mut own = message.clone();
            // The ids stand behind a number of one, two or four bytes.
            let at = match own[0] {
                0xFF if own[1] == 0xFF => 4,
                0xFF => 2,
                _ => 1,
            };
            own[at..at + 16].copy_from_slice(node.clients[ada].agent.0.as_bytes());
            own[at + 16..at + 32].copy_from_slice(node.clients[ada].session_id.0.as_bytes());
            if matches!(Message::decode(&own), Ok(Message::LogoutRequest(_) | Message::CloseCircuit(_))) {
                continue;
            }
            let mut bytes = Vec::new();
            let sequence = node.clients[ada].circuit.next_sequence() + 10_000;
            header::write_header(&mut bytes, Flags::NONE, sequence + node.commands.len() as u32);
            bytes.extend_from_slice(&own);
            node.deliver_up(address, &bytes);
            node.run_ms(5);
        }
        node.run_ms(500);
        prop_assert!(node.clients[bob].sees_itself());
        prop_assert_eq!(node.clients[bob].circuit.closed(), None);
    }
}
