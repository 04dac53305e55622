//! Acks: their triggers, times and forms.

use super::pair::test_message;
use super::raw::{datagram, handle, sent, server};
use crate::lanes::Unnumbered;
use crate::{AppendAcks, Circuit, Config, DropReason, Reliability, SendError};
use ids::Instant;
use wire::Malformed;
use wire::header::{DATAGRAM_MAX, Datagram, Flags};

const NOW: Instant = Instant::from_millis(1000);
/// After the longest wait for an ack.
const LATER: Instant = Instant::from_millis(1020);

/// UseCircuitCode with an empty code: only its number matters here.
fn use_circuit_code() -> Vec<u8> {
    [&[0xFF, 0xFF, 0, 3][..], &[0; 36]].concat()
}

/// A PacketAck of one id.
fn packet_ack(id: u8) -> [u8; 9] {
    [0xFF, 0xFF, 0xFF, 0xFB, 1, id, 0, 0, 0]
}

#[test]
fn the_ack_of_use_circuit_code_goes_alone_and_first() {
    let mut circuit = server();
    handle(&mut circuit, NOW, &datagram(Flags::RELIABLE, 7, &test_message(0, 10))).expect("new");
    let hello = datagram(Flags::RELIABLE, 0, &use_circuit_code());
    assert_eq!(handle(&mut circuit, NOW, &hello), Ok(Some(0)));
    circuit.send(Reliability::Reliable, &test_message(0, 10), false).expect("room");
    let datagrams = sent(&mut circuit, LATER);
    assert_eq!(datagrams[0], datagram(Flags::NONE, 1, &packet_ack(0)));
    assert_eq!(datagrams[1], datagram(Flags::NONE, 2, &packet_ack(7)));
    assert_eq!(datagrams.len(), 3);
    // Its resend means that the ack was lost: alone and at once again.
    let resent = datagram(Flags::RELIABLE | Flags::RESENT, 0, &use_circuit_code());
    assert_eq!(handle(&mut circuit, LATER, &resent), Err(DropReason::Duplicate));
    assert_eq!(sent(&mut circuit, LATER), [datagram(Flags::NONE, 4, &packet_ack(0))]);
}

#[test]
fn an_unreliable_use_circuit_code_is_delivered_and_not_acked() {
    let mut circuit = server();
    assert_eq!(handle(&mut circuit, NOW, &datagram(Flags::NONE, 0, &use_circuit_code())), Ok(Some(0)));
    assert!(sent(&mut circuit, LATER).is_empty());
}

#[test]
fn acks_wait_and_share_a_datagram() {
    let mut circuit = server();
    for sequence in [3, 5, 4] {
        handle(&mut circuit, NOW, &datagram(Flags::RELIABLE, sequence, &test_message(0, 10))).expect("new");
    }
    assert!(sent(&mut circuit, Instant::from_millis(1019)).is_empty());
    assert_eq!(circuit.poll_timeout(), Some(LATER));
    let body = [0xFF, 0xFF, 0xFF, 0xFB, 3, 3, 0, 0, 0, 5, 0, 0, 0, 4, 0, 0, 0];
    assert_eq!(sent(&mut circuit, LATER), [datagram(Flags::NONE, 1, &body)]);
}

#[test]
fn duplicates_are_dropped_and_acked_again() {
    let mut circuit = server();
    let packet = datagram(Flags::RELIABLE, 9, &test_message(0, 10));
    assert_eq!(handle(&mut circuit, NOW, &packet), Ok(Some(9)));
    assert_eq!(sent(&mut circuit, LATER), [datagram(Flags::NONE, 1, &packet_ack(9))]);
    assert_eq!(handle(&mut circuit, NOW, &packet), Err(DropReason::Duplicate));
    assert_eq!(sent(&mut circuit, Instant::from_millis(1040)), [datagram(Flags::NONE, 2, &packet_ack(9))]);
    assert_eq!((circuit.stats().duplicates, circuit.stats().acks_out), (1, 2));
}

#[test]
fn unreliable_duplicates_are_dropped_too() {
    let mut circuit = server();
    let packet = datagram(Flags::NONE, 9, &test_message(0, 10));
    assert_eq!(handle(&mut circuit, NOW, &packet), Ok(Some(9)));
    assert_eq!(handle(&mut circuit, NOW, &packet), Err(DropReason::Duplicate));
    assert!(sent(&mut circuit, LATER).is_empty());
}

/// benthic: every PacketAck is reliable and numbered 0, and so is its UseCircuitCode.
#[test]
fn packet_acks_numbered_zero_all_count_and_are_never_acked() {
    let mut circuit = server();
    handle(&mut circuit, NOW, &datagram(Flags::NONE, 0, &use_circuit_code())).expect("new");
    for index in 0..2 {
        circuit.send(Reliability::Reliable, &test_message(index, 10), false).expect("room");
    }
    sent(&mut circuit, NOW);
    assert_eq!(circuit.unacked(), 2);
    for id in [1, 2] {
        assert_eq!(handle(&mut circuit, NOW, &datagram(Flags::RELIABLE, 0, &packet_ack(id))), Ok(None));
    }
    assert_eq!(circuit.unacked(), 0);
    assert!(sent(&mut circuit, LATER).is_empty());
}

#[test]
fn appended_acks_count_on_any_datagram() {
    let mut circuit = server();
    circuit.send(Reliability::Reliable, &test_message(0, 10), false).expect("room");
    sent(&mut circuit, NOW);
    let mut bytes = datagram(Flags::ACKS, 0, &test_message(0, 10));
    bytes.extend_from_slice(&[0, 0, 0, 1, 1]);
    assert_eq!(handle(&mut circuit, NOW, &bytes), Ok(Some(0)));
    assert_eq!(circuit.unacked(), 0);
}

#[test]
fn a_viewer_appends_acks_to_whatever_it_sends() {
    let config = Config { append_acks: AppendAcks::ToAll, ..Config::client() };
    let mut circuit = Circuit::new(Instant::ZERO, &config, 1);
    handle(&mut circuit, NOW, &datagram(Flags::RELIABLE, 7, &test_message(0, 10))).expect("new");
    let zeros = [&test_message(0, 10)[..], &[0; 50]].concat();
    circuit.send(Reliability::Unreliable, &zeros, true).expect("room");
    let bytes = sent(&mut circuit, NOW).pop().expect("one datagram");
    assert_eq!(bytes[0], (Flags::ZERO_CODED | Flags::ACKS).0);
    assert_eq!(Datagram::parse(&bytes).expect("ours").acks().collect::<Vec<_>>(), [7]);
    assert!(sent(&mut circuit, LATER).is_empty());
}

#[test]
fn acks_are_appended_only_where_asked_and_only_to_plain_reliable_packets() {
    let config = Config { append_acks: AppendAcks::ToReliable, ..Config::server() };
    let mut circuit = Circuit::new(Instant::ZERO, &config, 1);
    let mut next = 0;
    let mut after = |circuit: &mut Circuit, reliability, message: &[u8], zero_code| {
        handle(circuit, NOW, &datagram(Flags::RELIABLE, next, &test_message(0, 10))).expect("new");
        next += 1;
        circuit.send(reliability, message, zero_code).expect("room");
        sent(circuit, NOW).pop().expect("one datagram")
    };
    let zeros = [&test_message(0, 10)[..], &[0; 50]].concat();
    let plain = after(&mut circuit, Reliability::Unreliable, &zeros, false);
    assert_eq!(plain[0], Flags::NONE.0);
    let coded = after(&mut circuit, Reliability::Reliable, &zeros, true);
    assert_eq!(coded[0], (Flags::RELIABLE | Flags::ZERO_CODED).0);
    let full = after(&mut circuit, Reliability::Reliable, &test_message(0, 1194), false);
    assert_eq!((full[0], full.len()), (Flags::RELIABLE.0, 1200), "no room for acks");
    let reliable = after(&mut circuit, Reliability::Reliable, &zeros, false);
    assert_eq!(reliable[0], (Flags::RELIABLE | Flags::ACKS).0);
    assert_eq!(Datagram::parse(&reliable).expect("ours").acks().collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(sent(&mut circuit, LATER).is_empty(), "all acks have left");
    // The copy kept for the resend has none.
    let resent = sent(&mut circuit, Instant::from_millis(2000)).pop().expect("a resend");
    assert_eq!(resent[0], (Flags::RELIABLE | Flags::RESENT).0);
    assert_eq!(resent.len(), reliable.len() - 17);
}

#[test]
fn a_resend_is_the_same_packet_with_the_flag() {
    let mut circuit = server();
    circuit.send(Reliability::Reliable, &test_message(0, 10), false).expect("room");
    let first = sent(&mut circuit, NOW).pop().expect("sent");
    assert_eq!(circuit.poll_timeout(), Some(Instant::from_millis(2000)));
    assert!(sent(&mut circuit, Instant::from_millis(1999)).is_empty());
    let again = sent(&mut circuit, Instant::from_millis(2000)).pop().expect("resent");
    assert_eq!(again[0], first[0] | Flags::RESENT.0);
    assert_eq!(again[1..], first[1..]);
    assert_eq!(circuit.poll_timeout(), Some(Instant::from_millis(4000)), "twice as long");
}

#[test]
fn zero_coding_is_used_only_where_it_is_shorter() {
    let mut circuit = server();
    let dense = test_message(0x0101_0101, 30);
    let sparse = [&dense[..], &[0; 2000]].concat();
    for message in [&dense, &sparse] {
        circuit.send(Reliability::Unreliable, message, true).expect("fits");
    }
    let datagrams = sent(&mut circuit, NOW);
    assert_eq!(datagrams[0][0], Flags::NONE.0);
    assert_eq!(datagrams[1][0], Flags::ZERO_CODED.0);
    let mut scratch = Vec::new();
    let mut client = Circuit::new(NOW, &Config::client(), 0);
    let received = client.handle_datagram(NOW, &datagrams[1], &mut scratch).expect("new").expect("a message");
    assert_eq!(received.body, &sparse[4..]);
}

#[test]
#[should_panic(expected = "a Message datagram of 1201 bytes")]
fn a_datagram_above_the_bound_does_not_leave() {
    let mut circuit = Circuit::new(NOW, &Config::server(), 1);
    circuit.lanes.express.push(Unnumbered(vec![0; DATAGRAM_MAX + 1]));
    circuit.poll_transmit(NOW, &mut Vec::new());
}

#[test]
fn unsendable_messages_are_refused_with_the_reason() {
    let config = Config { in_flight_max: 2, queue_bytes_max: 3000, ..Config::server() };
    let mut circuit = Circuit::new(NOW, &config, 1);
    let long = test_message(0x0101_0101, 1195);
    assert_eq!(circuit.send(Reliability::Reliable, &long, false), Err(SendError::TooLong { len: 1195 }));
    assert_eq!(
        circuit.write_reliable(NOW, &long, true, &mut Vec::new()),
        Err(SendError::TooLong { len: 1195 })
    );
    let message = test_message(0, 1194);
    let category = crate::Category::Land;
    assert_eq!(circuit.send(Reliability::Reliable, &message, false), Ok(()));
    assert_eq!(circuit.write_reliable(NOW, &message, false, &mut Vec::new()), Ok(1));
    assert_eq!(circuit.send(Reliability::Reliable, &message, false), Err(SendError::InFlightFull));
    assert_eq!(circuit.write_reliable(NOW, &message, false, &mut Vec::new()), Err(SendError::InFlightFull));
    assert_eq!(circuit.send(Reliability::Unreliable, &message, false), Ok(()), "unreliable needs no room");
    for expected in [Ok(()), Ok(()), Err(SendError::QueueFull)] {
        assert_eq!(circuit.queue(category, Reliability::Unreliable, &message, false), expected);
    }
    assert_eq!(circuit.queued_bytes(category), 2400);
    circuit.close(crate::CloseReason::Local);
    assert_eq!(circuit.send(Reliability::Reliable, &message, false), Err(SendError::Closed));
    assert_eq!(handle(&mut circuit, NOW, &datagram(Flags::NONE, 1, &message)), Err(DropReason::Closed));
    assert_eq!((circuit.poll_timeout(), circuit.unacked()), (None, 0));
}

#[test]
fn malformed_datagrams_are_dropped_with_the_reason_and_counted() {
    let mut circuit = server();
    let check = |circuit: &mut Circuit, bytes: &[u8], expected| {
        assert_eq!(handle(circuit, NOW, bytes), Err(DropReason::Malformed(expected)), "{bytes:02x?}");
    };
    check(&mut circuit, &[], Malformed::Truncated);
    check(&mut circuit, &datagram(Flags::NONE, 1, &[0xFF, 0xFF]), Malformed::Truncated);
    check(&mut circuit, &datagram(Flags::ZERO_CODED, 2, &[1, 0]), Malformed::ZeroCode);
    check(&mut circuit, &datagram(Flags::NONE, 3, &[0xFF, 0xFF, 0xFF, 0xFB, 9]), Malformed::Truncated);
    check(&mut circuit, &datagram(Flags::NONE, 4, &[1]), Malformed::Truncated);
    check(&mut circuit, &vec![0; 9000], Malformed::Oversized);
    assert_eq!((circuit.stats().datagrams_in, circuit.stats().malformed), (6, 6));
    assert!(sent(&mut circuit, LATER).is_empty());
}

#[test]
fn a_stray_number_is_dropped_unacked() {
    let mut circuit = server();
    handle(&mut circuit, NOW, &datagram(Flags::NONE, 1, &test_message(0, 10))).expect("new");
    let stray = datagram(Flags::RELIABLE, 500_000, &test_message(0, 10));
    assert_eq!(handle(&mut circuit, NOW, &stray), Err(DropReason::SequenceJump));
    assert_eq!(handle(&mut circuit, NOW, &datagram(Flags::NONE, 2, &test_message(0, 10))), Ok(Some(2)));
    assert!(sent(&mut circuit, LATER).is_empty());
}
