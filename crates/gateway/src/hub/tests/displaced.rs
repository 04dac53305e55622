//! No avatar is left without a world.

use super::{events, follow, kicked};
use crate::mail::{FromShard, ShardIndex};
use crate::places::Scene;
use crate::testing::{ARRIVAL_TIMEOUT, FULL, HARBOUR, MEADOW, Node, Setup};
use glam::Vec3;
use ids::SessionKey;
use link::{Passage, PassageRefusal};
use std::sync::Arc;
use std::time::Duration;
use wire::messages::{Message, TeleportCancel, TeleportCancelInfo};

const SOMEWHERE: Vec3 = Vec3::new(60.0, 70.0, 22.0);

fn visitor(setup: Setup) -> (Node, usize, SessionKey) {
    let mut node = Node::with(setup);
    let ada = node.enter_at("Ada", node.spot(HARBOUR, 40.0, 50.0));
    let session = node.hub.session_named("Ada Resident").expect("she is here");
    (node, ada, session)
}

/// Texts received by the client.
pub(super) fn alerts(node: &Node, client: usize) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::AlertMessage(alert) => Some(wire::text::from_wire(&alert.alert_data.message)),
        _ => None,
    };
    node.clients[client].inbox.iter().filter_map(text).collect()
}

fn is_in(scene: &Scene, session: SessionKey) -> Option<Vec3> {
    let replica = scene.feed.current();
    let own = replica.of_session(session)?;
    Some(replica.hot()[own as usize].position)
}

/// Ada, in an instance of another size than her region.
fn in_a_plain(setup: Setup, max_avatars: u32) -> (Node, usize, SessionKey, Arc<Scene>) {
    let (mut node, ada, session) = visitor(setup);
    let plain = node.instance("Plain", 512, 0, max_avatars);
    assert_eq!(node.hub.enter(node.now, session, plain.world, Some(SOMEWHERE)), Ok(Passage::Teleported));
    let there = follow(&mut node, ada);
    (node, there, session, plain)
}

#[test]
fn a_user_whom_an_instance_refuses_returns_to_the_former_place() {
    let (mut node, ada, session) = visitor(Setup::default());
    let shut = node.instance_for("Shut", (256, 0), 10, 0);
    node.clients[ada].control(link::ControlFlags::AT_POS);
    node.run_ms(3_000);
    node.clients[ada].control(link::ControlFlags::default());
    node.run_ms(1_000);
    let stood = node.position_in(HARBOUR, "Ada").expect("she is there");
    assert!(stood.x > 45.0, "she has walked: {stood}");
    assert_eq!(node.hub.enter(node.now, session, shut.world, None), Ok(Passage::Switched));
    node.relay();
    node.run_until(|node| node.mail.iter().any(|mail| matches!(mail, FromShard::Refused(..))));
    node.run_until(|node| node.position_in(HARBOUR, "Ada").is_some());
    node.run_ms(2_000);
    let back = node.position_in(HARBOUR, "Ada").expect("she is back");
    assert!(back.distance(stood) < 0.5, "{stood} and then {back}");
    assert_eq!((alerts(&node, ada), kicked(&node, ada)), (vec!["That world is full.".to_owned()], None));
    assert_eq!(node.hub.n_in(shut.world), 0);
    // And may go on.
    let cave = node.instance("Cave", 256, 0, 10);
    assert_eq!(node.hub.enter(node.now, session, cave.world, None), Ok(Passage::Switched));
}

#[test]
fn from_one_instance_of_another_size_to_the_next_one_comes_back_into_the_first() {
    let (mut node, there, session, plain) = in_a_plain(Setup::default(), 10);
    let shut = node.instance_for("Shut", (512, 0), 10, 0);
    assert_eq!(node.hub.enter(node.now, session, shut.world, None), Ok(Passage::Switched));
    node.relay();
    node.run_until(|_| is_in(&plain, session).is_none());
    node.run_until(|_| is_in(&plain, session).is_some());
    node.run_ms(3_000);
    let back = is_in(&plain, session).expect("she stays");
    assert!(back.truncate().distance(SOMEWHERE.truncate()) < 1.0, "she came out at {back}");
    assert!(node.clients[there].sees_itself() && kicked(&node, there).is_none());
    assert!(events(&mut node, there).is_empty(), "no teleport");
}

#[test]
fn displaced_users_teleport_to_their_region_if_the_former_instance_is_full_or_ended() {
    for ends in [false, true] {
        let (mut node, there, session, plain) = in_a_plain(Setup::default(), 1);
        node.enter_at("Bob", node.spot(MEADOW, 40.0, 50.0));
        let bob = node.hub.session_named("Bob Resident").expect("he is here");
        let shut = node.instance_for("Shut", (512, 0), 10, 0);
        assert_eq!(node.hub.enter(node.now, session, shut.world, None), Ok(Passage::Switched));
        if ends {
            node.hub.empty(node.now, plain.world, "That world has ended.");
        } else {
            assert_eq!(node.hub.enter(node.now, bob, plain.world, None), Ok(Passage::Switched));
        }
        node.relay();
        node.run_until(|node| node.mail.iter().any(|mail| matches!(mail, FromShard::Refused(..))));
        let home = follow(&mut node, there);
        let at = node.position_in(HARBOUR, "Ada").expect("she is back");
        assert!(at.truncate().distance(glam::Vec2::new(40.0, 50.0)) < 1.0, "{at}");
        assert!(kicked(&node, there).is_none() && kicked(&node, home).is_none());
    }
}

#[test]
fn displaced_users_of_a_full_region_go_to_another_and_are_alerted_if_none_has_room() {
    for meadow_is_full in [false, true] {
        let setup = Setup { max_avatars: 1, ..Setup::default() };
        let (mut node, there, session, plain) = in_a_plain(setup, 10);
        node.enter_at("Bob", node.spot(HARBOUR, 40.0, 50.0));
        if meadow_is_full {
            node.enter_at("Eve", node.spot(MEADOW, 40.0, 50.0));
        }
        // A user who only wants to leave stays.
        assert_eq!(node.hub.leave(node.now, session), Err(PassageRefusal::Full));
        node.hub.empty(node.now, plain.world, "That world has ended.");
        if meadow_is_full {
            node.relay();
            node.run_ms(1_000);
            let why = "That world has ended. There is nowhere else to go just now.";
            assert_eq!(kicked(&node, there).as_deref(), Some(why));
            assert_eq!(node.hub.n_sessions(), 2);
        } else {
            let home = follow(&mut node, there);
            assert!(node.position_in(MEADOW, "Ada").is_some());
            assert!(kicked(&node, there).is_none() && kicked(&node, home).is_none());
        }
    }
}

#[test]
fn a_region_that_turns_out_to_be_full_is_not_asked_twice() {
    let setup = Setup { world_max_avatars: 1, ..Setup::default() };
    let (mut node, there, _, plain) = in_a_plain(setup, 10);
    // The hub knows nothing of a crowd.
    node.crowd(1);
    node.run_ms(500);
    node.hub.empty(node.now, plain.world, "That world has ended.");
    node.relay();
    let events = events(&mut node, there);
    let (_, body) = events.iter().rfind(|(name, _)| name == "TeleportFinish").expect("a way back");
    let refused = node.follow_teleport(there, body);
    node.run_until(|node| node.mail.iter().any(|mail| matches!(mail, FromShard::Refused(..))));
    let home = follow(&mut node, there);
    assert!(node.position_in(MEADOW, "Ada").is_some());
    assert!([there, refused, home].iter().all(|&client| kicked(&node, client).is_none()));
}

#[test]
fn a_user_whose_viewer_does_not_follow_is_alerted_in_the_end_and_cannot_cancel() {
    let (mut node, there, _, plain) = in_a_plain(Setup::default(), 10);
    node.hub.empty(node.now, plain.world, "That world has ended.");
    node.relay();
    let client = &mut node.clients[there];
    let info = TeleportCancelInfo { agent_id: client.agent.0, session_id: client.session_id.0 };
    client.send(&TeleportCancel { info }.into());
    node.run_ms(500);
    let names: Vec<String> = events(&mut node, there).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["TeleportFinish"], "there is nothing to stay in");
    let refusal = "This teleport can no longer be cancelled.";
    assert_eq!(alerts(&node, there).last().map(String::as_str), Some(refusal));
    node.run_for(ARRIVAL_TIMEOUT + Duration::from_secs(2));
    assert_eq!(kicked(&node, there).as_deref(), Some("The region did not hear from your viewer in time."));
    assert_eq!(node.hub.n_sessions(), 0);
}

#[test]
fn a_refusal_by_another_world_than_the_one_behind_the_circuit_counts_for_nothing() {
    let (mut node, ada, session) = visitor(Setup::default());
    let cave = node.instance("Cave", 256, 0, 10);
    let other = node.instance("Other", 256, 0, 10);
    let circuit = node.hub.circuit_of(session).expect("she is here");
    let refuse = |node: &mut Node, world| {
        node.hub.handle(node.now, ShardIndex(0), FromShard::Refused(circuit, world, FULL));
    };
    assert_eq!(node.hub.enter(node.now, session, cave.world, None), Ok(Passage::Switched));
    refuse(&mut node, other.world);
    node.relay();
    node.run_until(|_| is_in(&cave, session).is_some());
    refuse(&mut node, other.world);
    node.relay();
    node.run_ms(1_000);
    assert!(is_in(&cave, session).is_some() && kicked(&node, ada).is_none());

    // A duplicate refusal turns her back once.
    assert_eq!(node.hub.enter(node.now, session, other.world, None), Ok(Passage::Switched));
    node.relay();
    for _ in 0..3 {
        refuse(&mut node, other.world);
    }
    node.relay();
    node.run_ms(2_000);
    assert!(is_in(&cave, session).is_some() && kicked(&node, ada).is_none());
    assert_eq!(alerts(&node, ada), ["That world is full."]);
    assert!(is_in(&other, session).is_none(), "she is in one world");
}

#[test]
fn an_arrival_that_crosses_the_way_back_does_not_end_it() {
    let (mut node, ada, session) = visitor(Setup::default());
    let cave = node.instance("Cave", 256, 0, 10);
    let circuit = node.hub.circuit_of(session).expect("she is here");
    assert_eq!(node.hub.enter(node.now, session, cave.world, None), Ok(Passage::Switched));
    node.hub.handle(node.now, ShardIndex(0), FromShard::Refused(circuit, cave.world, FULL));
    node.hub.handle(node.now, ShardIndex(0), FromShard::Arrived(circuit, cave.world));
    assert_eq!(node.hub.enter(node.now, session, cave.world, None), Err(PassageRefusal::OnItsWay));
    node.relay();
    node.run_ms(2_000);
    assert!(node.position_in(HARBOUR, "Ada").is_some() && kicked(&node, ada).is_none());
}

#[test]
fn a_user_one_tick_into_a_switch_returns_to_the_former_place_when_the_instance_ends() {
    for steps_ms in [0, 5, 50, 100, 150] {
        let (mut node, ada, session) = visitor(Setup::default());
        let cave = node.instance("Cave", 256, 0, 10);
        let stood = node.position_in(HARBOUR, "Ada").expect("she is there");
        assert_eq!(node.hub.enter(node.now, session, cave.world, None), Ok(Passage::Switched));
        node.relay();
        node.run_ms(steps_ms);
        node.hub.empty(node.now, cave.world, "That world has ended.");
        node.relay();
        node.run_until(|node| node.position_in(HARBOUR, "Ada").is_some());
        node.run_ms(2_000);
        let back = node.position_in(HARBOUR, "Ada").expect("she is back");
        assert!(back.distance(stood) < 0.5, "{stood} and then {back} after {steps_ms} ms");
        assert!(node.clients[ada].sees_itself() && kicked(&node, ada).is_none());
        assert!(is_in(&cave, session).is_none());
    }
}

#[test]
fn a_user_admitted_late_is_not_left_behind() {
    let (mut node, ada, session) = visitor(Setup::default());
    let cave = node.instance("Cave", 256, 0, 10);
    assert_eq!(node.hub.enter(node.now, session, cave.world, None), Ok(Passage::Switched));
    node.relay();
    // Word of an earlier attempt, before the command of this one is in the world.
    let refused = link::Event::Refused { session, reason: FULL };
    node.send_events(cave.world, vec![refused]);
    node.run_ms(3_000);
    assert!(node.position_in(HARBOUR, "Ada").is_some() && node.clients[ada].sees_itself());
    assert!(is_in(&cave, session).is_none(), "she is in two worlds");
}
