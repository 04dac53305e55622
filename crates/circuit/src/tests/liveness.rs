//! Pings, silence, pauses, stops and giving up.

use super::pair::{Network, Pair, Side, test_message};
use super::raw::{datagram, handle, sent, server};
use crate::{Circuit, CloseReason, Config, DropReason, Reliability};
use ids::Instant;
use std::time::Duration;
use wire::header::Flags;

const DEAD: Network = Network { loss: 100, ..Network::PERFECT };

#[test]
fn pings_keep_both_ends_alive_and_measure_the_path() {
    let mut pair = Pair::new(1, Network::PERFECT);
    pair.run_for(Duration::from_secs(601));
    for end in [&pair.server, &pair.client] {
        assert_eq!(end.circuit.closed(), None);
        assert_eq!(end.circuit.rtt(), Some(Duration::from_millis(80)));
        assert_eq!(end.circuit.latest_ping(), Some(Duration::from_millis(80)));
        let stats = end.circuit.stats();
        assert_eq!((stats.pings_out, stats.pings_answered, stats.pings_unanswered), (120, 120, 0));
    }
}

#[test]
fn a_ping_is_answered_at_once_even_when_sent_reliably() {
    let mut circuit = server();
    let now = Instant::from_millis(100);
    assert_eq!(handle(&mut circuit, now, &datagram(Flags::RELIABLE, 0, &[1, 42, 0, 0, 0, 0])), Ok(None));
    assert_eq!(sent(&mut circuit, now), [datagram(Flags::NONE, 1, &[2, 42])]);
    let ack = [0xFF, 0xFF, 0xFF, 0xFB, 1, 0, 0, 0, 0];
    assert_eq!(sent(&mut circuit, Instant::from_millis(120)), [datagram(Flags::NONE, 2, &ack)]);
}

#[test]
fn a_ping_names_the_oldest_packet_in_flight() {
    let mut circuit = Circuit::new(Instant::ZERO, &Config::server(), 10);
    let now = Instant::from_millis(4900);
    for index in 0..3 {
        circuit.send(Reliability::Reliable, &test_message(index, 10), false).expect("room");
    }
    sent(&mut circuit, now);
    let now = Instant::from_millis(5000);
    let ack = [0xFF, 0xFF, 0xFF, 0xFB, 1, 10, 0, 0, 0];
    assert_eq!(handle(&mut circuit, now, &datagram(Flags::NONE, 0, &ack)), Ok(None));
    circuit.handle_timeout(now);
    assert_eq!(sent(&mut circuit, now), [datagram(Flags::NONE, 13, &[1, 0, 11, 0, 0, 0])]);
}

#[test]
fn a_reliable_ping_is_sent_again_until_acked() {
    let config = Config { reliable_pings: true, ..Config::client() };
    let mut circuit = Circuit::new(Instant::ZERO, &config, 0);
    let now = Instant::from_millis(5000);
    circuit.handle_timeout(now);
    let ping = [1, 0, 0, 0, 0, 0];
    assert_eq!(sent(&mut circuit, now), [datagram(Flags::RELIABLE, 0, &ping)]);
    let now = Instant::from_millis(6000);
    assert_eq!(sent(&mut circuit, now), [datagram(Flags::RELIABLE | Flags::RESENT, 0, &ping)]);
    let ack = [0xFF, 0xFF, 0xFF, 0xFB, 1, 0, 0, 0, 0];
    assert_eq!(handle(&mut circuit, now, &datagram(Flags::NONE, 1, &ack)), Ok(None));
    assert_eq!((circuit.unacked(), circuit.stats().pings_unanswered), (0, 0));
}

#[test]
fn silence_closes_after_the_idle_timeout() {
    let mut pair = Pair::new(1, Network::PERFECT);
    pair.run_for(Duration::from_millis(5500));
    pair.network = DEAD;
    // The client was last heard when its answer to the server's ping arrived, at 5.08 s.
    pair.run_for(Duration::from_secs(59));
    assert_eq!(pair.server.circuit.closed(), None);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.server.circuit.closed(), Some(CloseReason::Idle));
    assert_eq!(pair.client.circuit.closed(), None, "viewers wait 100 s");
    pair.run_for(Duration::from_secs(60));
    assert_eq!(pair.client.circuit.closed(), Some(CloseReason::Idle));
}

#[test]
fn a_paused_client_may_be_silent_for_longer_until_it_resumes() {
    let mut pair = Pair::new(1, DEAD);
    pair.server.circuit.set_paused(true, 1);
    pair.run_for(Duration::from_secs(299));
    assert_eq!((pair.server.circuit.closed(), pair.server.circuit.is_paused()), (None, true));
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.server.circuit.closed(), Some(CloseReason::Idle));

    let mut pair = Pair::new(1, DEAD);
    pair.server.circuit.set_paused(true, 1);
    pair.run_for(Duration::from_secs(50));
    pair.server.circuit.set_paused(false, 2);
    pair.run_for(Duration::from_secs(11));
    assert_eq!(pair.server.circuit.closed(), Some(CloseReason::Idle));
}

#[test]
fn a_server_stopped_for_a_while_loses_no_client_and_no_message() {
    for (seed, seconds) in [(1, 30), (2, 90)] {
        let mut pair = Pair::new(seed, Network { loss: 10, ..Network::PERFECT });
        pair.run_for(Duration::from_secs(12));
        pair.send(Side::Server, 0..40, 100);
        pair.send(Side::Client, 0..40, 100);
        pair.stop(Side::Server, Duration::from_secs(seconds));
        pair.run_for(Duration::from_secs(seconds + 30));
        for end in [&mut pair.server, &mut pair.client] {
            assert_eq!(end.circuit.closed(), None, "stopped for {seconds} s");
            assert_eq!(end.circuit.unacked(), 0, "stopped for {seconds} s: {:?}", end.circuit.stats());
            end.received.sort_unstable();
            assert_eq!(end.received, (0..40).collect::<Vec<_>>());
        }
        let timeout = pair.server.circuit.resend_timeout();
        assert!(timeout < Duration::from_secs(3), "the stop is not taken for a round trip: {timeout:?}");
    }
}

#[test]
fn a_stop_of_hours_is_survived_by_silent_clients_too() {
    let mut circuit = server();
    circuit.handle_timeout(Instant::from_millis(7_200_000));
    assert_eq!(circuit.closed(), None);
    assert_eq!(sent(&mut circuit, Instant::from_millis(7_200_000)).len(), 1, "one ping, not a thousand");
}

#[test]
fn a_peer_that_talks_but_never_acks_is_given_up() {
    let mut circuit = server();
    circuit.send(Reliability::Reliable, &test_message(0, 10), false).expect("room");
    let mut closed_at = None;
    for second in 0..100_u32 {
        let now = Instant::from_millis(u64::from(second) * 1000);
        circuit.handle_timeout(now);
        if circuit.closed().is_some() {
            closed_at = Some(second);
            break;
        }
        handle(&mut circuit, now, &datagram(Flags::NONE, second, &test_message(0, 10))).expect("new");
        sent(&mut circuit, now);
    }
    assert_eq!(circuit.closed(), Some(CloseReason::NotAcking));
    assert!((60..=64).contains(&closed_at.expect("closed")), "{closed_at:?}");
    assert!(circuit.stats().resends >= 20, "{}", circuit.stats().resends);
}

/// A server's circuit that is served every 400 ms for this time; with `is_told` it knows that 300 ms of them were its own lateness.
fn serve_late(seconds: u64, is_told: bool, mut peer: impl FnMut(&mut Circuit, Instant, u32)) -> Circuit {
    let mut circuit = server();
    circuit.send(Reliability::Reliable, &test_message(0, 10), false).expect("room");
    for service in 0..seconds * 1000 / 400 {
        let now = Instant::from_millis(service * 400);
        peer(&mut circuit, now, service as u32);
        if is_told {
            circuit.handle_lateness(now, Duration::from_millis(300));
        }
        circuit.handle_timeout(now);
        sent(&mut circuit, now);
    }
    circuit
}

#[test]
fn time_in_which_the_server_did_not_serve_is_no_silence_of_the_peer() {
    let silent = |_: &mut Circuit, _, _| {};
    assert_eq!(serve_late(70, false, silent).closed(), Some(CloseReason::Idle));
    assert_eq!(serve_late(200, true, silent).closed(), None);
    assert_eq!(serve_late(260, true, silent).closed(), Some(CloseReason::Idle), "a quarter of it counts");
}

#[test]
fn a_late_server_gives_up_no_peer_that_talks() {
    let talk = |circuit: &mut Circuit, now: Instant, service: u32| {
        if circuit.closed().is_none() {
            handle(circuit, now, &datagram(Flags::NONE, service, &test_message(0, 10))).expect("new");
        }
    };
    assert_eq!(serve_late(90, false, talk).closed(), Some(CloseReason::NotAcking));
    assert_eq!(serve_late(90, true, talk).closed(), None);
}

#[test]
fn a_late_server_takes_its_own_lateness_for_no_path_and_waits_longer_for_acks() {
    let answer_ping = |circuit: &mut Circuit, now: Instant| {
        circuit.handle_timeout(now);
        sent(circuit, now);
        handle(circuit, now + Duration::from_millis(400), &datagram(Flags::NONE, 7, &[2, 0]))
            .expect("an answer");
        circuit.rtt()
    };
    let now = Instant::from_millis(5_000);
    assert_eq!(answer_ping(&mut server(), now), Some(Duration::from_millis(400)));
    let mut circuit = server();
    circuit.handle_lateness(now, Duration::from_millis(300));
    circuit.send(Reliability::Reliable, &test_message(0, 10), false).expect("room");
    assert_eq!(answer_ping(&mut circuit, now), None);
    assert!(sent(&mut circuit, now + Duration::from_millis(1_299)).is_empty());
    assert_eq!(sent(&mut circuit, now + Duration::from_millis(1_300)).len(), 1, "it is sent again");
}

#[test]
fn two_forged_pings_far_ahead_do_not_make_deaf() {
    let mut pair = Pair::new(1, Network::PERFECT);
    pair.send(Side::Client, 0..20, 100);
    pair.run_for(Duration::from_secs(3));
    for ahead in [8_000, 16_000] {
        let forged = datagram(Flags::NONE, 20 + ahead, &[1, 42, 0, 0, 0, 0]);
        let heard = handle(&mut pair.server.circuit, pair.now, &forged);
        assert_eq!(heard, Err(DropReason::SequenceJump));
    }
    pair.send(Side::Client, 20..40, 100);
    pair.run_for(Duration::from_secs(3));
    assert_eq!(pair.server.received, (0..40).collect::<Vec<_>>());
    assert_eq!(pair.client.circuit.unacked(), 0);
}

#[test]
fn the_peers_messages_after_a_forged_run_arrive_once() {
    let mut pair = Pair::new(1, Network::PERFECT);
    pair.send(Side::Client, 0..20, 100);
    pair.run_for(Duration::from_secs(3));
    for sequence in 20_000..20_010 {
        let _ = handle(
            &mut pair.server.circuit,
            pair.now,
            &datagram(Flags::NONE, sequence, &[1, 42, 0, 0, 0, 0]),
        );
    }
    pair.send(Side::Client, 20..40, 100);
    pair.run_for(Duration::from_secs(20));
    pair.server.received.sort_unstable();
    assert_eq!(pair.server.received, (0..40).collect::<Vec<_>>());
    assert_eq!(pair.client.circuit.unacked(), 0);
}

#[test]
fn copies_and_forgeries_keep_no_circuit_alive() {
    let mut circuit = server();
    handle(&mut circuit, Instant::ZERO, &datagram(Flags::NONE, 5, &test_message(0, 10))).expect("new");
    for second in 1..61_u32 {
        let now = Instant::from_millis(u64::from(second) * 1_000);
        assert_eq!(circuit.closed(), None, "{second}");
        let copy = datagram(Flags::NONE, 5, &test_message(0, 10));
        assert_eq!(handle(&mut circuit, now, &copy), Err(DropReason::Duplicate));
        let forged = datagram(Flags::NONE, second * 100_000, &test_message(0, 10));
        assert_eq!(handle(&mut circuit, now, &forged), Err(DropReason::SequenceJump));
        circuit.handle_timeout(now);
    }
    assert_eq!(circuit.closed(), Some(CloseReason::Idle));
}

#[test]
fn a_circuit_at_rest_is_small() {
    assert!(size_of::<Circuit>() <= 1448, "{} bytes", size_of::<Circuit>());
}
