//! Views of clients, and their cost.

use crate::shard::{Outbox, Packing, Sending, TURN_BYTES};
use crate::testing::{HARBOUR, MEADOW, Node, Setup, TransferDirection};
use glam::Quat;
use link::ControlFlags;
use std::time::Duration;
use wire::messages::*;

/// Two clients that display each other.
fn pair() -> (Node, usize, usize) {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    node.run_until(|node| node.clients[ada].sees("Bob").is_some() && node.clients[bob].sees("Ada").is_some());
    (node, ada, bob)
}

/// True if a client displays another at rest at its true position.
fn sees_at_rest(node: &Node, who: usize, name: &str) -> bool {
    let seen = node.clients[who].sees(name).expect("shown");
    let stands = node.position_in(HARBOUR, name).expect("in the world");
    seen.velocity.length() < 0.01 && seen.position.distance(stands) < 0.02
}

#[test]
fn a_walker_is_seen_to_walk_and_to_stop_where_it_stopped() {
    let (mut node, ada, bob) = pair();
    let start = node.position_in(HARBOUR, "Ada").expect("in the world");
    node.clients[ada].control(ControlFlags::AT_POS);
    node.run_ms(2_000);
    let seen = node.clients[bob].sees("Ada").expect("shown");
    assert!(seen.velocity.x > 1.0, "{}", seen.velocity);
    node.clients[ada].control(ControlFlags::default());
    node.run_ms(1_000);
    assert!(node.position_in(HARBOUR, "Ada").expect("in the world").distance(start) > 3.0);
    assert!(sees_at_rest(&node, bob, "Ada") && sees_at_rest(&node, ada, "Ada"));
}

#[test]
fn a_walker_is_shown_where_it_is_at_any_time_between_its_tick_and_a_turn() {
    let mut node = Node::new();
    // Turns at all times of a tick.
    let now = node.now;
    node.shards[0].set_sending(now, Sending { hz: 9, ..Sending::default() });
    let ada = node.enter("Ada");
    let observers: Vec<usize> = (0..12).map(|n| node.enter(&format!("Observer{n}"))).collect();
    node.run_ms(1_000);
    node.clients[ada].control(ControlFlags::AT_POS);
    node.run_ms(1_000);
    // Newcomers are shown it in full, the others by terse updates.
    let newcomers: Vec<usize> = (0..4).map(|n| node.enter(&format!("Newcomer{n}"))).collect();
    node.run_ms(1_000);
    for _ in 0..200 {
        node.run_ms(10);
        for &observer in observers.iter().chain(&newcomers) {
            let error_m = node.shown_error_m(observer, HARBOUR, "Ada");
            assert!(error_m < 0.05, "{error_m} m");
        }
    }
}

#[test]
fn a_stop_arrives_though_three_of_its_updates_get_lost() {
    let (mut node, ada, bob) = pair();
    node.clients[ada].control(ControlFlags::AT_POS);
    node.run_ms(1_000);
    node.clients[ada].control(ControlFlags::default());
    node.run_until(|node| node.position_in(HARBOUR, "Ada").is_some());
    let moving = |node: &Node| node.clients[bob].sees("Ada").expect("shown").velocity.length() > 0.01;
    node.run_until(|node| !moving(node));
    // Once more, with loss of the first sends: two clients need four sends each.
    node.clients[ada].control(ControlFlags::AT_POS);
    node.run_ms(1_000);
    let before = node.shards[0].counters().terse_sent;
    node.clients[ada].control(ControlFlags::default());
    node.run_ms(150);
    node.loss.lose(TransferDirection::Down, ImprovedTerseObjectUpdate::NUMBER, 4);
    node.run_ms(1_500);
    assert_eq!(node.loss.left(), 0);
    assert!(sees_at_rest(&node, bob, "Ada"));
    assert!(node.shards[0].counters().terse_sent > before);
}

#[test]
fn avatars_at_rest_cost_nothing_and_jitter_of_their_clients_neither() {
    let (mut node, ada, _) = pair();
    node.clients[ada].send_update();
    node.run_ms(2_000);
    let before = node.shards[0].counters().clone();
    let commands = node.commands.len();
    for n in 0..100 {
        let client = &mut node.clients[ada];
        let jitter = if n % 2 == 0 { 0.002 } else { -0.002 };
        client.update.body_rotation = Quat::from_rotation_z(jitter);
        client.update.camera_center.x = jitter;
        client.send_update();
        node.run_ms(50);
    }
    let after = node.shards[0].counters();
    assert_eq!(node.commands.len(), commands);
    assert_eq!(after.updates_dropped - before.updates_dropped, 100);
    assert_eq!(after.terse_sent, before.terse_sent);
}

#[test]
fn avatars_in_another_region_are_not_seen() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let spot = node.spot(MEADOW, 128.0, 128.0);
    let bob = node.enter_at("Bob", spot);
    node.run_ms(2_000);
    assert_eq!((node.clients[ada].avatars.len(), node.clients[bob].avatars.len()), (1, 1));
}

#[test]
fn animations_are_sent_only_when_they_change() {
    let (mut node, ada, bob) = pair();
    node.run_ms(2_000);
    let told =
        |node: &Node| node.clients[bob].count(|message| matches!(message, Message::AvatarAnimation(_)));
    let standing = told(&node);
    node.run_ms(3_000);
    assert_eq!(told(&node), standing);
    node.clients[ada].control(ControlFlags::AT_POS);
    node.run_ms(1_000);
    assert_eq!(told(&node), standing + 1, "near ones are told reliably, once");
}

#[test]
fn an_appearance_reaches_others_once_they_have_been_together_for_a_second() {
    let (mut node, ada, bob) = pair();
    let client = &mut node.clients[ada];
    let appearance = AgentSetAppearance {
        agent_data: AgentSetAppearanceAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
            serial_num: 1,
            size: glam::Vec3::new(0.45, 0.6, 1.7),
        },
        visual_param: vec![AgentSetAppearanceVisualParam { param_value: 9 }; 218],
        ..AgentSetAppearance::default()
    };
    client.send(&appearance.into());
    node.run_ms(3_000);
    let looks = |at: usize| node.clients[at].count(|message| matches!(message, Message::AvatarAppearance(_)));
    assert_eq!((looks(bob), looks(ada)), (1, 0), "the own looks are the client's");
}

#[test]
fn an_avatar_that_left_while_full_updates_were_lost_does_not_remain() {
    let (mut node, ada, bob) = pair();
    for n in 0..5 {
        node.loss.lose(TransferDirection::Down, ObjectUpdate::NUMBER, 2);
        let spot = node.spot(HARBOUR, 120.0 + n as f32, 100.0);
        let visitor = node.login(&format!("Visitor{n}"), spot);
        node.clients[visitor].manners.moves_in = true;
        node.clients[visitor].open();
        node.run_ms(400);
        node.clients[visitor].log_out();
        node.run_ms(300);
    }
    node.run_ms(5_000);
    assert_eq!((node.clients[ada].avatars.len(), node.clients[bob].avatars.len()), (2, 2));
}

#[test]
fn an_avatar_that_left_while_the_circuit_was_full_does_not_remain() {
    let (mut node, ada, bob) = pair();
    node.loss.lose(TransferDirection::Up, PacketAck::NUMBER, usize::MAX);
    // Messages that are not resent make room once more.
    for _ in 0..4 {
        (0..512).for_each(|_| node.hub.alert("As many as may be under way."));
        node.run_ms(1_000);
    }
    let kills = node.shards[0].counters().kills_sent;
    node.clients[bob].log_out();
    node.run_ms(1_000);
    assert_eq!(node.shards[0].counters().kills_sent, kills, "the circuit takes no more");
    assert!(node.clients[ada].sees("Bob").is_some());
    node.loss.stop_losses();
    node.run_until(|node| node.clients[ada].sees("Bob").is_none());
}

/// The kill of an avatar that leaves the visible set is resent until it is acked, so it may arrive after the full update that brings
/// the avatar back.
#[test]
fn an_avatar_back_in_the_visible_set_before_its_kill_arrives_is_shown() {
    let mut node = Node::with(Setup { visible_max: 1, ..Setup::default() });
    let spot = |node: &Node, x| node.spot(HARBOUR, x, 100.0);
    let (of_ada, of_bob, of_carol) = (spot(&node, 100.0), spot(&node, 106.0), spot(&node, 102.0));
    let (ada, _) = (node.enter_at("Ada", of_ada), node.enter_at("Bob", of_bob));
    node.run_until(|node| node.clients[ada].sees("Bob").is_some());
    node.loss.lose(TransferDirection::Down, KillObject::NUMBER, usize::MAX);
    let carol = node.enter_at("Carol", of_carol);
    node.run_until(|node| node.clients[ada].sees("Carol").is_some());
    let shown = |node: &Node| {
        node.clients[ada].arrivals.iter().filter(|arrival| arrival.number == ObjectUpdate::NUMBER).count()
    };
    let before = shown(&node);
    node.clients[carol].log_out();
    node.run_until(|node| shown(node) > before);
    assert!(!node.clients[ada].got(KillObject::NUMBER), "Bob is shown again, and the kill is still to come");
    node.loss.stop_losses();
    node.run_until(|node| node.clients[ada].got(KillObject::NUMBER));
    node.run_ms(1_000);
    assert!(node.clients[ada].sees("Bob").is_some());
}

#[test]
fn a_client_gets_its_bytes_per_second_and_no_more_among_five_hundred_walkers() {
    // Less than half of the rate of updates of walkers that go straight on.
    const BYTES_PER_S: u32 = 16_384;
    for (wanted, expected) in [(None, 16_384), (Some([1_000_000; 7]), 16_384), (Some([12_000; 7]), 10_500)] {
        let mut node =
            Node::with(Setup { client_bytes_per_s: BYTES_PER_S, visible_max: 1_000, ..Setup::default() });
        node.crowd(500);
        node.run_ms(100);
        let ada = node.enter("Ada");
        if let Some(bits_per_s) = wanted {
            node.clients[ada].throttle(bits_per_s);
        }
        // Terrain and all first full updates are through by then.
        node.run_for(Duration::from_secs(90));
        assert_eq!(node.clients[ada].avatars.len(), 501);
        let before = node.clients[ada].bytes_in;
        node.run_for(Duration::from_secs(5));
        let per_s = (node.clients[ada].bytes_in - before) as f32 / 5.0;
        let share = per_s / expected as f32;
        assert!((0.90..1.02).contains(&share), "{per_s} B/s of {expected}");
    }
}

#[test]
fn of_five_hundred_walkers_each_shown_one_is_at_most_three_seconds_old() {
    let mut node = Node::with(Setup { visible_max: 1_000, ..Setup::default() });
    node.crowd(500);
    node.run_ms(100);
    let ada = node.enter("Ada");
    node.run_for(Duration::from_secs(20));
    let (seen_before, true_before) = (node.clients[ada].avatars.clone(), node.positions_in(HARBOUR));
    node.run_for(Duration::from_secs(3));
    let (seen_after, true_after) = (&node.clients[ada].avatars, node.positions_in(HARBOUR));
    let stale: Vec<u32> = true_before
        .iter()
        .filter(|(id, position)| true_after[id].distance(**position) > 1.0)
        .filter(|(id, _)| seen_after[id].position == seen_before[id].position)
        .map(|(id, _)| *id)
        .collect();
    assert_eq!(stale, [0_u32; 0]);
}

#[test]
fn a_slow_process_gives_each_client_one_turn_and_not_one_for_each_missed() {
    let (mut node, ada, _) = pair();
    node.crowd(50);
    node.run_ms(3_000);
    node.clients[ada].arrivals.clear();
    // Half a second in which the shard did not run.
    node.now += Duration::from_millis(500);
    node.run_ms(5);
    let terse = node.clients[ada].arrivals.iter().filter(|a| a.number == ImprovedTerseObjectUpdate::NUMBER);
    assert!(terse.count() <= 3, "53 blocks are three datagrams");
}

#[test]
fn a_turn_in_which_much_is_sent_goes_on_at_the_next_call() {
    let (mut node, ..) = pair();
    // All turns of a round are due. What others were sent in them waits for the driver.
    let now = node.now + Duration::from_millis(100);
    let shard = &mut node.shards[0];
    let mut out = Outbox::default();
    out.bytes.resize(TURN_BYTES, 0);
    let mut calls_without_visit = 0;
    while !shard.poll(now, &mut out) {
        calls_without_visit += 1;
        assert!(calls_without_visit < 20, "both have their turn in a round");
    }
    assert!(shard.poll(now, &mut out), "and nothing happens until it was sent");
    assert_eq!(out.bytes.len(), TURN_BYTES);
    assert!(shard.poll_timeout().is_some_and(|due| due <= now));
    out.clear();
    assert!(!shard.poll(now, &mut out));
}

#[test]
fn datagram_size_and_send_rate_may_change_meanwhile() {
    let mut node = Node::new();
    node.enter("Ada");
    node.crowd(50);
    node.run_ms(4_000);
    // Movements of ten seconds, and how many a datagram holds.
    let mut measure = |sending: Sending| {
        let now = node.now;
        node.shards[0].set_sending(now, sending);
        node.shards[0].release_buffers();
        node.run_ms(1_000);
        let before = node.shards[0].counters().clone();
        node.run_ms(10_000);
        let after = node.shards[0].counters();
        let movements = after.terse_sent - before.terse_sent;
        (movements, movements as f64 / (after.terse_datagrams - before.terse_datagrams) as f64)
    };
    let packing = Packing::default();
    let (usual, usual_packed) = measure(Sending::default());
    let (_, alone) = measure(Sending { packing: Packing { terse: 1, ..packing }, ..Sending::default() });
    // 6 and 12 bytes of header and prefix, and 63 for each.
    let (_, small) = measure(Sending { packing: Packing { bytes: 400, ..packing }, ..Sending::default() });
    let (rare, _) = measure(Sending { hz: 2, ..Sending::default() });
    assert!(usual_packed > 6.0, "{usual_packed}");
    assert_eq!(alone, 1.0);
    assert!(small > 4.0 && small <= 6.0, "{small}");
    assert!(rare < usual, "{rare} and {usual}");
}
