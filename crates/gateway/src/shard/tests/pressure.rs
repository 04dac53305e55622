//! A shard that is short of CPU time updates distant avatars more rarely and lets clients in one by one.

use crate::testing::{HARBOUR, Node};
use glam::Vec3;
use link::{Action, ControlFlags};

/// Two clients among two hundred walkers, and a shard that keeps up or, from the fifth second on, misses a third of its turns.
fn crowd(keeps_up: bool) -> (Node, usize, usize) {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    node.crowd(200);
    node.run_ms(5_000);
    node.keeps_up = keeps_up;
    node.run_ms(3_000);
    (node, ada, bob)
}

/// Movements sent to clients in four seconds, and turns without far avatars.
fn told(node: &mut Node) -> (u64, u64) {
    let before = node.shards[0].counters().clone();
    node.run_ms(4_000);
    let after = node.shards[0].counters();
    (after.terse_sent - before.terse_sent, after.far_left_out - before.far_left_out)
}

#[test]
fn a_shard_short_of_time_updates_far_avatars_less_often_until_it_keeps_up() {
    let (mut node, ..) = crowd(true);
    let (usual, left_out) = told(&mut node);
    assert_eq!((left_out, node.shards[0].counters().pressure), (0, 1.0));

    let (mut node, ada, bob) = crowd(false);
    assert!(node.shards[0].counters().pressure > 4.0);
    assert!(node.shards[0].counters().cpu_need_ratio > 1.2);
    let (pressed, left_out) = told(&mut node);
    // Two clients have 53 of 80 turns in that time, and two in three of those are without.
    assert!((31..=40).contains(&left_out), "{left_out}");
    assert!(pressed < usual * 4 / 5, "{pressed} and {usual}");

    // Near avatars are followed as before.
    node.clients[ada].control(ControlFlags::AT_POS);
    node.run_ms(400);
    let seen = node.clients[bob].sees("Ada").expect("shown");
    assert!(seen.velocity.length() > 1.0, "{seen:?}");
    node.run_ms(1_000);
    node.clients[ada].control(ControlFlags::default());
    node.run_ms(1_000);
    let seen = node.clients[bob].sees("Ada").expect("shown");
    let stands = node.position_in(HARBOUR, "Ada").expect("in the world");
    assert!(seen.velocity == Vec3::ZERO && seen.position.distance(stands) < 0.02, "{seen:?} and {stands}");

    node.keeps_up = true;
    node.run_ms(60_000);
    assert_eq!(node.shards[0].counters().pressure, 1.0);
    assert_eq!(told(&mut node).1, 0);
}

#[test]
fn clients_that_come_while_time_is_short_come_in_one_by_one_and_in_order() {
    let (mut node, ..) = crowd(false);
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    let clients: Vec<usize> = (0..6).map(|n| node.login(&format!("New{n}"), spot)).collect();
    clients.iter().for_each(|&client| node.clients[client].open());
    node.run_ms(100);
    let waiting = node.shards[0].counters().arrivals_waiting;
    assert!((4..=5).contains(&waiting), "{waiting} wait");
    let entered = |node: &Node| -> Vec<String> {
        let names = node.commands.iter().filter_map(|(_, command)| match &command.action {
            Action::Enter(enter) if enter.first_name.starts_with("New") => Some(enter.first_name.clone()),
            _ => None,
        });
        names.collect()
    };
    assert!(entered(&node).len() + waiting == 6, "{:?}", entered(&node));
    node.run_until(|node| clients.iter().all(|&client| node.clients[client].sees_itself()));
    assert_eq!(entered(&node), ["New0", "New1", "New2", "New3", "New4", "New5"]);
    assert_eq!(node.shards[0].counters().arrivals_waiting, 0);
}
