//! Properties of every script of events.

use super::pair::{Network, Pair, Side, test_message};
use super::raw::{datagram, sent, server};
use crate::{AppendAcks, Category, Config, Reliability, Throttles};
use ids::Instant;
use proptest::prelude::*;
use std::time::Duration;
use wire::header::Flags;

#[derive(Clone, Debug)]
enum Event {
    Send { from: Side, len: usize },
    Queue { from: Side, category: usize, len: usize },
    FanOut { len: usize },
    Run { ms: u64 },
    Stop { side: Side, ms: u64 },
    Pause { paused: bool },
    Throttle { bits_per_s: u32 },
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Server), Just(Side::Client)]
}

fn event() -> impl Strategy<Value = Event> {
    let len = 8_usize..1194;
    prop_oneof![
        4 => (side(), len.clone()).prop_map(|(from, len)| Event::Send { from, len }),
        4 => (side(), 0..Category::COUNT, len.clone())
            .prop_map(|(from, category, len)| Event::Queue { from, category, len }),
        2 => len.prop_map(|len| Event::FanOut { len }),
        4 => (0_u64..3000).prop_map(|ms| Event::Run { ms }),
        1 => (side(), 0_u64..20_000).prop_map(|(side, ms)| Event::Stop { side, ms }),
        1 => any::<bool>().prop_map(|paused| Event::Pause { paused }),
        1 => any::<u32>().prop_map(|bits_per_s| Event::Throttle { bits_per_s }),
    ]
}

fn network() -> impl Strategy<Value = Network> {
    (0_u64..300, 0_u64..300, 0_u64..40, 0_u64..40, 0_u64..20).prop_map(
        |(latency_ms, jitter_ms, loss, duplicated, late)| Network {
            latency: Duration::from_millis(latency_ms),
            jitter: Duration::from_millis(jitter_ms),
            loss,
            duplicated,
            late,
            carried: None,
        },
    )
}

/// Bytes that often look like a message number or a count.
fn message_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![Just(0xFF), 0_u8..5, any::<u8>()], 0..40)
}

/// Applies the events, then heals the network and waits. Gives how many reliable messages each side was
/// given.
fn play(pair: &mut Pair, events: &[Event]) -> (u32, u32) {
    let (mut from_server, mut from_client) = (0, 0);
    for (serial, event) in (1..).zip(events) {
        let now = pair.now;
        match *event {
            Event::Send { from, len } => {
                let count = if from == Side::Server { &mut from_server } else { &mut from_client };
                let message = test_message(*count, len);
                if pair.end(from).circuit.send(Reliability::Reliable, &message, true).is_ok() {
                    *count += 1;
                }
            }
            Event::Queue { from, category, len } => {
                let count = if from == Side::Server { &mut from_server } else { &mut from_client };
                let message = test_message(*count, len);
                let category = Category::ALL[category];
                if pair.end(from).circuit.queue(category, Reliability::Reliable, &message, true).is_ok() {
                    *count += 1;
                }
            }
            Event::FanOut { len } => {
                // Its first transmission is lost here; the resend has to deliver it.
                let message = test_message(from_server, len);
                if pair.server.circuit.write_reliable(now, &message, false, &mut Vec::new()).is_ok() {
                    from_server += 1;
                }
            }
            Event::Run { ms } => pair.run_for(Duration::from_millis(ms)),
            Event::Stop { side, ms } => pair.stop(side, Duration::from_millis(ms)),
            Event::Pause { paused } => pair.server.circuit.set_paused(paused, serial),
            Event::Throttle { bits_per_s } => {
                pair.server.circuit.set_throttles(now, &Throttles::from_bits_per_s([bits_per_s; 7]));
            }
        }
    }
    pair.network = Network::PERFECT;
    // Queues of the slowest category hold little in these scripts, but may need minutes for it.
    let patient = Throttles::from_bits_per_s([u32::MAX; 7]);
    for side in [Side::Server, Side::Client] {
        let now = pair.now;
        pair.end(side).circuit.set_throttles(now, &patient);
    }
    pair.run_for(Duration::from_secs(60));
    (from_server, from_client)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Safety: under all faults nothing reliable arrives twice and no datagram is too long (the harness checks that). Liveness: once
    /// the network heals, everything arrives and no side is lost.
    #[test]
    fn every_reliable_message_arrives_once(
        seed in any::<u64>(), network in network(), events in prop::collection::vec(event(), 1..60),
        first in any::<u32>(),
    ) {
        let config = Config { append_acks: [AppendAcks::Never, AppendAcks::ToReliable, AppendAcks::ToAll][(seed % 3) as usize], ..Config::server() };
        let mut pair = Pair::with_configs(seed, network, (&config, first), (&Config::client(), first / 3));
        let (from_server, from_client) = play(&mut pair, &events);
        prop_assert_eq!(pair.server.circuit.closed(), None);
        prop_assert_eq!(pair.client.circuit.closed(), None);
        pair.client.received.sort_unstable();
        pair.server.received.sort_unstable();
        prop_assert_eq!(&pair.client.received, &(0..from_server).collect::<Vec<_>>());
        prop_assert_eq!(&pair.server.received, &(0..from_client).collect::<Vec<_>>());
        prop_assert_eq!((pair.server.circuit.unacked(), pair.client.circuit.unacked()), (0, 0));
    }

    #[test]
    fn a_script_gives_the_same_trace_twice(
        seed in any::<u64>(), network in network(), events in prop::collection::vec(event(), 1..30),
    ) {
        let run = || {
            let mut pair = Pair::new(seed, network);
            play(&mut pair, &events);
            (pair.trace(), *pair.server.circuit.stats(), *pair.client.circuit.stats())
        };
        prop_assert_eq!(run(), run());
    }
}

proptest! {
    /// Anything may come from the right address. It is taken or dropped, costs bounded memory, and the
    /// circuit stays usable.
    #[test]
    fn random_datagrams_do_no_harm(
        datagrams in prop::collection::vec(
            (any::<u8>(), any::<u32>(), message_bytes()),
            1..200,
        ),
    ) {
        let mut circuit = server();
        let mut scratch = Vec::new();
        for (i, (flags, sequence, message)) in (0..).zip(&datagrams) {
            let now = Instant::from_millis(i * 50);
            let bytes = datagram(Flags(*flags), *sequence, message);
            let _ = circuit.handle_datagram(now, &bytes, &mut scratch);
            circuit.handle_timeout(now);
            sent(&mut circuit, now);
            prop_assert!(circuit.poll_timeout().is_some_and(|next| next > now));
            prop_assert!(scratch.len() <= wire::header::EXPANDED_MAX);
        }
        prop_assert_eq!(circuit.closed(), None);
        prop_assert_eq!(circuit.stats().datagrams_in, datagrams.len() as u64);
    }
}
