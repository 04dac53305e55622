//! Queued messages leave at the rates that were asked for.

use super::pair::{Network, Pair, test_message};
use super::raw::{handle, sent, server};
use crate::{Category, Circuit, Config, Reliability, Throttles, TransmitKind};
use ids::Instant;
use std::time::Duration;

/// A client's wish in bytes per second, the same for every category.
fn throttles_of(bytes_per_s: u32) -> Throttles {
    Throttles::from_bits_per_s([bytes_per_s * 8; Category::COUNT])
}

/// Runs a circuit as a shard would, polling every 10 ms, and keeps these categories supplied. Returns the bytes sent in each,
/// identified by the first number of the message.
fn bytes_by_category(
    circuit: &mut Circuit,
    categories: &[(Category, usize)],
    duration: Duration,
) -> [usize; Category::COUNT] {
    let mut bytes = [0; Category::COUNT];
    let mut out = Vec::new();
    for turn in 0..duration.as_millis() as u64 / 10 {
        let now = Instant::from_millis(turn * 10);
        for &(category, len) in categories {
            while circuit.queued_bytes(category) < 50_000 {
                let message = test_message(category.index() as u32, len);
                circuit.queue(category, Reliability::Unreliable, &message, false).expect("room");
            }
        }
        out.clear();
        while let Some(transmit) = circuit.poll_transmit(now, &mut out) {
            if transmit.kind == TransmitKind::Message {
                bytes[usize::from(out[out.len() - transmit.len + 10])] += transmit.len;
            }
        }
    }
    bytes
}

fn assert_near(actual: usize, expected: usize) {
    assert!(actual.abs_diff(expected) * 100 <= expected * 4, "{actual} instead of {expected}");
}

#[test]
fn a_category_keeps_its_rate() {
    for (rate, len) in [(2000, 300), (20_000, 1000), (100_000, 1194)] {
        let config = Config { total_bytes_per_s: 640_000, ..Config::server() };
        let mut circuit = Circuit::new(Instant::ZERO, &config, 1);
        circuit.set_throttles(Instant::ZERO, &throttles_of(rate));
        let bytes = bytes_by_category(&mut circuit, &[(Category::Task, len)], Duration::from_secs(40));
        assert_near(bytes[Category::Task.index()], rate as usize * 40);
    }
}

#[test]
fn categories_share_a_scarce_total_whatever_their_message_sizes() {
    let config = Config { total_bytes_per_s: 30_000, ..Config::server() };
    let mut circuit = Circuit::new(Instant::ZERO, &config, 1);
    circuit.set_throttles(Instant::ZERO, &throttles_of(20_000));
    let supplied = [(Category::Land, 1194), (Category::Task, 1194), (Category::Asset, 200)];
    let bytes = bytes_by_category(&mut circuit, &supplied, Duration::from_secs(40));
    assert_near(bytes.iter().sum(), 30_000 * 40);
    for (category, _) in supplied {
        assert!(bytes[category.index()] > 40 * 1000, "{category:?} starves: {bytes:?}");
    }
    assert_near(bytes[Category::Land.index()], bytes[Category::Task.index()]);
}

#[test]
fn fan_out_uses_up_the_budget_that_queues_share() {
    let mut circuit = server();
    circuit.set_total_bytes_per_s(Instant::ZERO, 40_000);
    circuit.set_throttles(Instant::ZERO, &throttles_of(640_000));
    let budget = circuit.budget_bytes(Instant::ZERO);
    assert_eq!(budget, 10_000, "a burst of 250 ms");
    let mut out = Vec::new();
    for _ in 0..10 {
        circuit.begin_unreliable(&mut out);
        circuit.note_sent(Instant::ZERO, 1000);
    }
    assert_eq!(circuit.budget_bytes(Instant::ZERO), 0);
    circuit.queue(Category::Task, Reliability::Unreliable, &test_message(0, 994), false).expect("room");
    assert!(sent(&mut circuit, Instant::ZERO).is_empty());
    assert_eq!(circuit.poll_timeout(), Some(Instant::from_millis(25)));
    assert_eq!(sent(&mut circuit, Instant::from_millis(25)).len(), 1);
    assert_eq!(circuit.stats().datagrams_out, 11);
    assert_eq!(circuit.stats().bytes_out, 11_000);
}

#[test]
fn answers_do_not_wait_for_the_budget() {
    let mut circuit = server();
    circuit.note_sent(Instant::ZERO, 1_000_000);
    let ping = [0, 0, 0, 0, 0, 0, 1, 9, 0, 0, 0, 0];
    handle(&mut circuit, Instant::ZERO, &ping).expect("a ping");
    circuit.send(Reliability::Unreliable, &test_message(0, 10), false).expect("room");
    assert_eq!(sent(&mut circuit, Instant::ZERO).len(), 2);
}

#[test]
fn resends_keep_the_rate_of_their_category() {
    let mut pair = Pair::new(1, Network { loss: 100, ..Network::PERFECT });
    // 4,000 B/s for resends, which 100 packets of 1,006 bytes each few seconds would exceed many times.
    pair.server.circuit.set_throttles(Instant::ZERO, &throttles_of(4000));
    for index in 0..100 {
        pair.server.circuit.send(Reliability::Reliable, &test_message(index, 1000), false).expect("room");
    }
    pair.run_for(Duration::from_secs(41));
    let resends = pair.server.sent.iter().filter(|transmit| transmit.kind == TransmitKind::Resend);
    assert_near(resends.map(|transmit| transmit.len).sum(), 4000 * 40);
}

#[test]
fn a_queue_wakes_the_circuit_exactly_when_it_may_send() {
    let mut pair = Pair::new(1, Network::PERFECT);
    for index in 0..100 {
        let message = test_message(index, 994);
        pair.server.circuit.queue(Category::Task, Reliability::Unreliable, &message, false).expect("room");
    }
    // The default of the category: 18,500 B/s after a burst of 4,625 bytes. The last of 100,000 bytes leaves
    // at 5,155.4 ms and arrives 40 ms later.
    pair.run_for(Duration::from_millis(5195));
    assert_eq!(pair.client.received.len(), 100 - 1);
    pair.run_for(Duration::from_millis(1));
    assert_eq!(pair.client.received.len(), 100);
}

/// The server's mean rate in the last three of four minutes in which it sends as much as it may over such a path, at most 8,000
/// bytes a second.
fn rate_over(network: Network) -> u32 {
    let config = Config { total_bytes_per_s: 8_000, ..Config::server() };
    let mut pair = Pair::with_configs(5, network, (&config, 1), (&Config::client(), 1));
    let mut rates = Vec::new();
    for index in 0..240 * 4 {
        while pair.server.circuit.queued_bytes(Category::Task) < 5_000 {
            let message = test_message(index, 200);
            pair.server.circuit.queue(Category::Task, Reliability::Reliable, &message, false).expect("room");
        }
        pair.run_for(Duration::from_millis(250));
        rates.push(pair.server.circuit.total_bytes_per_s());
    }
    let rates = &rates[rates.len() / 4..];
    rates.iter().sum::<u32>() / rates.len() as u32
}

#[test]
fn a_path_is_sent_its_capacity() {
    assert_eq!(rate_over(Network::PERFECT), 8_000);
    let lossy = rate_over(Network { loss: 4, duplicated: 0, late: 0, ..Network::BAD });
    assert!(lossy > 7_500, "{lossy}");
    let full = rate_over(Network { carried: Some(4_000), ..Network::PERFECT });
    assert!((3_000..5_500).contains(&full), "{full}");
}
