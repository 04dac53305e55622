//! Reliable messages arrive, and once.

use super::pair::{Network, Pair, Side, test_message};
use crate::{Category, Config, Reliability};
use std::time::Duration;

fn assert_each_once(received: &[u32], count: u32) {
    let mut sorted = received.to_vec();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..count).collect::<Vec<_>>());
}

#[test]
fn reliable_messages_arrive_once_through_a_bad_network() {
    for seed in 0..20 {
        let mut pair = Pair::new(seed, Network::BAD);
        for batch in 0..10 {
            pair.send(Side::Server, batch * 20..(batch + 1) * 20, 100);
            pair.send(Side::Client, batch * 20..(batch + 1) * 20, 100);
            pair.run_for(Duration::from_millis(700));
        }
        pair.run_for(Duration::from_secs(60));
        assert_each_once(&pair.client.received, 200);
        assert_each_once(&pair.server.received, 200);
        assert_eq!((pair.server.circuit.unacked(), pair.client.circuit.unacked()), (0, 0), "seed {seed}");
        assert_eq!((pair.server.circuit.closed(), pair.client.circuit.closed()), (None, None));
    }
}

#[test]
fn numbers_wrap_in_mid_flight() {
    let mut pair = Pair::with_configs(
        7,
        Network::BAD,
        (&Config::server(), 0x00FF_FFD0),
        (&Config::client(), 0x00FF_FFF0),
    );
    pair.send(Side::Server, 0..100, 200);
    pair.send(Side::Client, 0..100, 200);
    pair.run_for(Duration::from_secs(60));
    assert_each_once(&pair.client.received, 100);
    assert_each_once(&pair.server.received, 100);
    assert!(pair.server.circuit.next_sequence() < 0x1000, "wrapped to the beginning");
}

#[test]
fn nothing_is_resent_on_a_good_network() {
    let mut pair = Pair::new(1, Network::PERFECT);
    for batch in 0..20 {
        pair.send(Side::Server, batch..batch + 1, 100);
        pair.send(Side::Client, batch..batch + 1, 100);
        pair.run_for(Duration::from_secs(1));
    }
    assert_eq!(pair.server.circuit.stats().resends + pair.client.circuit.stats().resends, 0);
    assert_eq!(pair.server.circuit.loss(), 0.0);
    let rtt = pair.server.circuit.rtt().expect("pings were answered");
    assert_eq!(rtt, Duration::from_millis(80));
}

#[test]
fn loss_and_round_trips_are_measured() {
    let network = Network { loss: 10, duplicated: 0, late: 0, ..Network::BAD };
    let mut pair = Pair::new(3, network);
    for batch in 0..100 {
        pair.send(Side::Server, batch * 4..(batch + 1) * 4, 50);
        pair.run_for(Duration::from_millis(500));
    }
    // One transmission in ten and one ack in ten are lost: 19 % go unanswered.
    let loss = pair.server.circuit.loss();
    assert!((0.05..0.35).contains(&loss), "{loss}");
    let rtt = pair.server.circuit.rtt().expect("measured");
    assert!(rtt > Duration::from_millis(120) && rtt < Duration::from_millis(300), "{rtt:?}");
}

#[test]
fn queued_reliable_messages_wait_for_room_in_flight_and_all_arrive() {
    let config = Config { in_flight_max: 8, total_bytes_per_s: 1_000_000, ..Config::server() };
    let mut pair = Pair::with_configs(5, Network::BAD, (&config, 1), (&Config::client(), 0));
    for index in 0..200 {
        let message = test_message(index, 60);
        pair.server.circuit.queue(Category::Task, Reliability::Reliable, &message, false).expect("room");
    }
    for _ in 0..1200 {
        pair.run_for(Duration::from_millis(100));
        assert!(pair.server.circuit.unacked() <= 8);
    }
    assert_each_once(&pair.client.received, 200);
    assert_eq!(pair.server.circuit.queued_messages(), 0);
}

#[test]
fn the_fan_out_path_is_numbered_and_resent_like_the_rest() {
    let mut pair = Pair::new(1, Network { loss: 100, ..Network::PERFECT });
    let now = pair.now;
    let mut out = Vec::new();
    let circuit = &mut pair.server.circuit;
    assert_eq!(circuit.begin_unreliable(&mut out), 1);
    assert_eq!(out, [0, 0, 0, 0, 1, 0]);
    out.clear();
    assert_eq!(circuit.write_reliable(now, &test_message(0, 40), false, &mut out), Ok(2));
    assert_eq!((out.len(), &out[..6]), (46, &[0x40, 0, 0, 0, 2, 0][..]));
    assert_eq!((circuit.next_sequence(), circuit.unacked()), (3, 1));
    // The first transmission never reached the wire of the harness: only the resend can deliver it.
    pair.network = Network::PERFECT;
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.client.received, [0]);
    assert_eq!(pair.server.circuit.stats().resends, 1);
}

#[test]
fn a_seed_gives_the_same_trace_twice() {
    let run = |seed| {
        let mut pair = Pair::new(seed, Network::BAD);
        pair.send(Side::Server, 0..50, 300);
        pair.send(Side::Client, 0..50, 300);
        pair.run_for(Duration::from_secs(30));
        (pair.trace(), pair.server.received, pair.client.received)
    };
    assert_eq!(run(42), run(42));
    assert_ne!(run(42).0, run(43).0);
}
