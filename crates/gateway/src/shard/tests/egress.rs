//! Clients of a line that is too narrow for all of them.

use crate::shard::egress::HEADERS_BYTES;
use crate::testing::{Node, Setup};

const LIMIT: u64 = 200_000;

/// Bytes per second of each client, without headers, and of all with them, over ten seconds.
fn measure(node: &mut Node) -> (Vec<u64>, u64) {
    let counted = |node: &Node| -> Vec<_> {
        node.clients.iter().map(|client| (client.bytes_in, client.circuit.stats().datagrams_in)).collect()
    };
    let before = counted(node);
    node.run_ms(10_000);
    let mut all = 0;
    let mut each = Vec::new();
    for (now, before) in counted(node).iter().zip(before) {
        let (bytes, datagrams) = (now.0 - before.0, now.1 - before.1);
        all += bytes + datagrams * HEADERS_BYTES;
        each.push(bytes / 10);
    }
    (each, all / 10)
}

/// A dozen clients among as many walkers as use up all the bytes of each.
fn crowd(egress_bytes_per_s: Option<u64>) -> Node {
    let mut node = Node::with(Setup { egress_bytes_per_s, visible_max: 1_000, ..Setup::default() });
    node.crowd(500);
    node.run_ms(100);
    for n in 0..12 {
        node.enter(&format!("Guest{n}"));
    }
    node
}

#[test]
fn a_line_that_is_too_narrow_is_shared_fairly() {
    let mut unlimited = crowd(None);
    unlimited.run_ms(30_000);
    let (_, wanted) = measure(&mut unlimited);
    assert!(wanted > 2 * LIMIT, "{wanted} bytes a second are no test");

    let mut node = crowd(Some(LIMIT));
    // Two are content with little: seven categories of 100 bytes at least.
    for modest in [3, 8] {
        node.clients[modest].throttle([8_000; 7]);
    }
    node.run_ms(60_000);
    let (each, all) = measure(&mut node);
    assert!((LIMIT * 90 / 100..=LIMIT * 103 / 100).contains(&all), "{all} of {LIMIT}");
    let share = u64::from(node.shards[0].counters().client_bytes_per_s);
    assert!(share < 20_000, "{share}");
    for (n, bytes) in each.into_iter().enumerate() {
        let due = if [3, 8].contains(&n) { 7_000 } else { share };
        assert!((due * 85 / 100..=due * 105 / 100).contains(&bytes), "{n}: {bytes} of {due}");
    }
    assert_eq!(node.shards[0].counters().circuits_lost, 0);
}

#[test]
fn after_departures_the_remaining_clients_get_their_need() {
    let mut node = crowd(Some(LIMIT));
    node.run_ms(20_000);
    let share = u64::from(node.shards[0].counters().client_bytes_per_s);
    for n in 3..12 {
        node.clients[n].log_out();
    }
    node.run_ms(20_000);
    assert!(u64::from(node.shards[0].counters().client_bytes_per_s) > 2 * share);
    let (each, _) = measure(&mut node);
    assert!(each[..3].iter().all(|&bytes| bytes > 2 * share), "{each:?} after {share}");
}
