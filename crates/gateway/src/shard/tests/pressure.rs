//! A shard that does not keep up leaves out those who are far away, and nobody else.

use crate::testing::{HARBOUR, Node};
use glam::Vec3;
use std::time::Duration;
use world::ControlFlags;

/// Two among two hundred who walk, and a shard all of whose turns begin so late from the fifth second on.
fn crowd(late: Duration) -> (Node, usize, usize) {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    node.crowd(200);
    node.run_ms(5_000);
    node.keeps_up = false;
    node.now += late;
    node.run_ms(3_000);
    (node, ada, bob)
}

/// Movements that clients are told in four seconds, and turns in which they are not told of those far away.
fn told(node: &mut Node) -> (u64, u64) {
    let before = node.shards[0].counters().clone();
    node.run_ms(4_000);
    let after = node.shards[0].counters();
    (after.terse_sent - before.terse_sent, after.far_left_out - before.far_left_out)
}

#[test]
fn a_shard_that_is_late_for_long_tells_of_those_far_away_less_often_until_it_keeps_up() {
    let (mut node, ..) = crowd(Duration::ZERO);
    let (usual, left_out) = told(&mut node);
    assert_eq!((left_out, node.shards[0].counters().pressure), (0, 0));

    let (mut node, ada, bob) = crowd(Duration::from_millis(50));
    assert_eq!(node.shards[0].counters().pressure, 3);
    let (pressed, left_out) = told(&mut node);
    // Two clients have 80 turns in that time, of which seven in eight are without.
    assert_eq!(left_out, 70);
    // Those who walk straight on are no news anyway.
    assert!(pressed < usual * 9 / 10, "{pressed} and {usual}");

    // Who is near is followed as ever.
    node.clients[ada].control(ControlFlags::AT_POS);
    let stands = |node: &Node| node.position_in(HARBOUR, "Ada").expect("in the world");
    for _ in 0..20 {
        node.run_ms(100);
        let seen = node.clients[bob].sees("Ada").expect("shown").position;
        assert!(seen.distance(stands(&node)) < 1.5, "{seen} and {}", stands(&node));
    }
    node.clients[ada].control(ControlFlags::default());
    node.run_ms(1_000);
    let seen = node.clients[bob].sees("Ada").expect("shown");
    assert!(seen.velocity == Vec3::ZERO && seen.position.distance(stands(&node)) < 0.02, "{seen:?}");

    node.keeps_up = true;
    node.run_ms(60_000);
    assert_eq!(node.shards[0].counters().pressure, 0);
    assert_eq!(told(&mut node).1, 0);
}
