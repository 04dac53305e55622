//! Into instances and back, behind the same circuit where that goes.

use super::{events, follow};
use crate::hub::Record;
use crate::hub::travel::{ArrivalTarget, VIA_LOCATION, WITHIN_REGION};
use crate::places::Scene;
use crate::testing::{GATE, GROUND_M, HARBOUR, MEADOW, Node, Setup, agent};
use glam::Vec3;
use ids::{SessionKey, WorldId};
use link::{CircuitKey, Passage, PassageRefusal, TravelOrder, WorldSpec};
use std::sync::Arc;
use std::time::Duration;
use wire::messages::*;

const BOXES: u32 = 300;

/// A visitor in the harbour, with its boxes, and a world of the same size with others.
fn visitor() -> (Node, usize, SessionKey, Arc<Scene>) {
    let mut node = Node::with(Setup { boxes: BOXES, ..Setup::default() });
    let ada = node.enter("Ada");
    let session = node.hub.session_named("ada resident").expect("she is here");
    let cave = node.instance("Cave", 256, BOXES, 10);
    node.run_ms(5_000);
    (node, ada, session, cave)
}

/// Sends a session into an instance and waits until its client shows it there.
pub(super) fn go_in(node: &mut Node, client: usize, session: SessionKey, scene: &Arc<Scene>, at: Vec3) {
    let former = own_id(node, client);
    assert_eq!(node.hub.enter(node.now, session, scene.world, Some(at)), Ok(Passage::Switched));
    node.relay();
    node.run_until(|node| node.clients[client].sees_itself() && own_id(node, client) != former);
}

fn go_back(node: &mut Node, client: usize, session: SessionKey) {
    let former = own_id(node, client);
    assert_eq!(node.hub.leave(node.now, session), Ok(Passage::Switched));
    node.relay();
    node.run_until(|node| node.clients[client].sees_itself() && own_id(node, client) != former);
}

fn own_id(node: &Node, client: usize) -> Option<u32> {
    let client = &node.clients[client];
    client.avatars.iter().find(|(_, seen)| seen.agent == client.agent.0).map(|(id, _)| *id)
}

fn handshakes(node: &Node, client: usize) -> Vec<String> {
    let name = |message: &Message| match message {
        Message::RegionHandshake(m) => Some(wire::text::from_wire(&m.region_info.sim_name)),
        _ => None,
    };
    node.clients[client].inbox.iter().filter_map(name).collect()
}

/// Checks that all avatars and objects displayed by a client belong to one world.
fn assert_shows_only(node: &Node, client: usize, scene: &Scene) {
    let replica = scene.feed.current();
    let shown = &node.clients[client];
    for (id, seen) in &shown.avatars {
        assert!(replica.of_id(ids::LocalId(*id)).is_some(), "{seen:?} is not in {}", scene.name);
    }
    for id in shown.objects.keys() {
        assert!(replica.scenery().of_id(ids::LocalId(*id)).is_some(), "object {id} is not in {}", scene.name);
    }
}

#[test]
fn another_world_comes_behind_the_circuit_and_nothing_is_left_of_the_first() {
    let (mut node, ada, session, cave) = visitor();
    let bob = node.enter("Bob");
    node.run_until(|node| node.clients[bob].sees("Ada").is_some() && node.clients[ada].sees("Bob").is_some());
    let objects = node.clients[ada].objects.len();
    assert!(objects > 20, "{objects} objects");
    let harbour = Arc::clone(&node.places.get(HARBOUR).scene);
    let layers =
        |node: &Node| node.clients[ada].inbox.iter().filter(|m| matches!(m, Message::LayerData(_))).count();
    let layers_before = layers(&node);

    go_in(&mut node, ada, session, &cave, Vec3::new(60.0, 70.0, 30.0));
    node.run_ms(5_000);
    assert_shows_only(&node, ada, &cave);
    assert_eq!(node.clients[ada].avatars.len(), 1, "her own avatar, once");
    assert!(node.clients[ada].objects.len() > 20, "what stands there");
    assert_eq!(handshakes(&node, ada).last().map(String::as_str), Some("Cave"));
    assert_eq!(layers(&node) - layers_before, cave.ground.layers.len(), "the ground, once");
    let local = node.clients[ada].inbox.iter().rev().find_map(|message| match message {
        Message::TeleportLocal(m) => Some(m.info.position),
        _ => None,
    });
    assert!(local.is_some_and(|at| at.truncate().distance(glam::Vec2::new(60.0, 70.0)) < 1.0), "{local:?}");
    assert_eq!(node.clients[bob].sees("Ada"), None);
    assert_eq!(node.hub.n_in(cave.world), 1);

    go_back(&mut node, ada, session);
    node.run_until(|node| node.clients[bob].sees("Ada").is_some() && node.clients[ada].sees("Bob").is_some());
    node.run_ms(5_000);
    assert_shows_only(&node, ada, &harbour);
    assert_eq!(handshakes(&node, ada).last().map(String::as_str), Some("Harbour"));
    assert_eq!(node.hub.n_in(cave.world), 0);
    assert!(events(&mut node, ada).is_empty(), "no teleport");
    assert!(
        node.mail.iter().all(|mail| !matches!(mail, crate::mail::FromShard::Closed { .. })),
        "one circuit"
    );
}

#[test]
fn the_way_back_leads_to_where_one_was_and_is_kept_for_the_next_login() {
    let (mut node, ada, session, cave) = visitor();
    let before = node.position_in(HARBOUR, "Ada").expect("she is there");
    node.records.clear();
    go_in(&mut node, ada, session, &cave, Vec3::new(10.0, 20.0, 30.0));
    let kept = |record: &Record| match record {
        Record::LastLocation(who, spot) if *who == agent("Ada") => Some((spot.place, spot.position)),
        _ => None,
    };
    assert_eq!(node.records.iter().filter_map(kept).collect::<Vec<_>>(), [(HARBOUR, before)]);
    node.records.clear();
    node.clients[ada].log_out();
    node.run_ms(500);
    assert!(
        node.records.is_empty(),
        "where she was in the instance is no place to log in: {:?}",
        node.records
    );

    let (mut node, ada, session, cave) = visitor();
    go_in(&mut node, ada, session, &cave, Vec3::new(10.0, 20.0, 30.0));
    go_back(&mut node, ada, session);
    let after = node.position_in(HARBOUR, "Ada").expect("she is back");
    assert!(after.distance(before) < 0.5, "{before} and then {after}");
}

#[test]
fn a_passage_behind_the_circuit_is_announced_before_the_client_learns_of_the_other_world() {
    #[derive(Debug, PartialEq)]
    enum Announced {
        Start(u32),
        Region(String),
        Local,
    }
    let (mut node, ada, session, cave) = visitor();
    let n = node.clients[ada].inbox.len();
    let announced = |node: &Node| -> Vec<Announced> {
        let announced = |message: &Message| match message {
            Message::TeleportStart(m) => Some(Announced::Start(m.info.teleport_flags)),
            Message::RegionHandshake(m) => {
                Some(Announced::Region(wire::text::from_wire(&m.region_info.sim_name)))
            }
            Message::TeleportLocal(_) => Some(Announced::Local),
            _ => None,
        };
        node.clients[ada].inbox[n..].iter().filter_map(announced).collect()
    };
    let passage = |name: &str| {
        [Announced::Start(VIA_LOCATION | WITHIN_REGION), Announced::Region(name.to_owned()), Announced::Local]
    };
    go_in(&mut node, ada, session, &cave, Vec3::new(60.0, 70.0, 30.0));
    assert_eq!(announced(&node), passage("Cave"));
    go_back(&mut node, ada, session);
    assert_eq!(announced(&node)[3..], passage("Harbour"));
}

#[test]
fn held_keys_and_worn_items_come_along() {
    let (mut node, ada, session, cave) = visitor();
    node.clients[ada].control(link::ControlFlags::AT_POS);
    node.run_ms(300);
    go_in(&mut node, ada, session, &cave, Vec3::new(60.0, 70.0, 30.0));
    node.clients[ada].send_update();
    node.run_ms(2_000);
    let at = |node: &Node| {
        cave.feed
            .current()
            .of_session(session)
            .map(|own| cave.feed.current().hot()[own as usize].position)
            .or_else(|| node.position_in(HARBOUR, "Ada"))
    };
    let walked = at(&node).expect("she is there");
    assert!(walked.x > 62.0, "a key that is held goes on: {walked}");
}

#[test]
fn kills_of_the_left_world_arrive_despite_losses() {
    for seed in 1..=6 {
        let (mut node, ada, session, cave) = visitor();
        node.loss.percent = 3 * seed;
        go_in(&mut node, ada, session, &cave, Vec3::new(60.0, 70.0, 30.0));
        node.run_ms(20_000);
        assert_shows_only(&node, ada, &cave);
        assert_eq!(node.clients[ada].avatars.len(), 1, "{} of a hundred lost", 3 * seed);
        let harbour = Arc::clone(&node.places.get(HARBOUR).scene);
        go_back(&mut node, ada, session);
        node.run_ms(20_000);
        assert_shows_only(&node, ada, &harbour);
    }
}

#[test]
fn a_world_of_another_size_is_reached_by_a_teleport_to_a_place_apart() {
    let (mut node, ada, session, _) = visitor();
    let plain = node.instance("Plain", 512, 0, 10);
    assert_eq!(node.hub.enter(node.now, session, plain.world, None), Ok(Passage::Teleported));
    node.relay();
    let outbound = events(&mut node, ada);
    let [(name, body)] = outbound.as_slice() else { panic!("{outbound:?}") };
    assert_eq!(name, "TeleportFinish");
    let there = node.follow_teleport(ada, body);
    node.run_until(|node| node.clients[there].sees_itself());
    assert_eq!(handshakes(&node, there), ["Plain"]);
    assert_eq!(body.get("Info").at(0).get("RegionSizeX").as_i32(), Some(512));

    // And back to the region that it came from.
    assert_eq!(node.hub.leave(node.now, session), Ok(Passage::Teleported));
    node.relay();
    let events = events(&mut node, there);
    let (_, body) = events.iter().find(|(name, _)| name == "TeleportFinish").expect("a way back");
    let home = node.follow_teleport(there, body);
    node.run_until(|node| node.clients[home].sees_itself());
    assert_eq!(handshakes(&node, home), ["Harbour"]);
}

#[test]
fn a_click_on_the_map_means_the_instance_that_one_sees_there() {
    let (mut node, ada, session, cave) = visitor();
    go_in(&mut node, ada, session, &cave, Vec3::new(60.0, 70.0, 30.0));
    let region_handle = node.places.get(HARBOUR).handle.0;
    let client = &mut node.clients[ada];
    let message = TeleportLocationRequest {
        agent_data: TeleportLocationRequestAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        info: TeleportLocationRequestInfo {
            region_handle,
            position: Vec3::new(200.0, 210.0, GROUND_M + 1.0),
            look_at: Vec3::X,
        },
    };
    client.send(&message.into());
    node.run_ms(1_000);
    let replica = cave.feed.current();
    let own = replica.of_session(session).expect("she stays");
    assert!(replica.hot()[own as usize].position.truncate().distance(glam::Vec2::new(200.0, 210.0)) < 1.0);
}

#[test]
fn an_invited_user_comes_into_the_instance() {
    let (mut node, ada, session, cave) = visitor();
    let bob = node.enter("Bob");
    go_in(&mut node, ada, session, &cave, Vec3::new(60.0, 70.0, 30.0));
    let offer = StartLure {
        agent_data: StartLureAgentData {
            agent_id: node.clients[ada].agent.0,
            session_id: node.clients[ada].session_id.0,
        },
        info: StartLureInfo { lure_type: 0, message: b"come\0".to_vec() },
        target_data: vec![StartLureTargetData { target_id: agent("Bob").0 }],
    };
    node.clients[ada].send(&offer.into());
    node.run_ms(500);
    let lure = node.clients[bob].inbox.iter().rev().find_map(|message| match message {
        Message::ImprovedInstantMessage(m) => Some(m.message_block.id),
        _ => None,
    });
    let follow = TeleportLureRequest {
        info: TeleportLureRequestInfo {
            agent_id: node.clients[bob].agent.0,
            session_id: node.clients[bob].session_id.0,
            lure_id: lure.expect("an offer"),
            teleport_flags: 0,
        },
    };
    node.clients[bob].send(&follow.into());
    node.run_until(|node| !node.orders.is_empty());
    let order = node.orders.pop().expect("an order");
    let TravelOrder::Enter { circuit, world, position } = order else { panic!("{order:?}") };
    assert_eq!((world, node.hub.visitors().get(&world)), (cave.world, Some(&1)));
    assert_eq!([world, WorldId(world.0 + 1)].map(|world| node.hub.visitors_of(world)), [1, 0]);
    let count = link::OccupantCount { n: 1, as_of: node.hub.last_admission() };
    assert_eq!(node.hub.occupants_of(world), count);
    assert!(count.as_of > link::AdmissionNumber::default(), "the visitor was admitted");
    assert_eq!(node.hub.enter(node.now, circuit.session, cave.world, Some(position)), Ok(Passage::Switched));
    node.hub.end_order(&order);
    node.relay();
    node.run_until(|node| node.clients[ada].sees("Bob").is_some() && node.clients[bob].sees("Ada").is_some());
    assert_eq!(node.hub.n_in(cave.world), 2);
}

#[test]
#[should_panic(expected = "goes into a second world before it is in the first")]
fn a_circuit_has_one_switch_at_a_time() {
    let (mut node, _, session, cave) = visitor();
    let cell = node.instance("Cell", 256, 0, 10);
    let circuit = node.hub.circuit_of(session).expect("she is here");
    for scene in [cave, cell] {
        let place = Arc::new(node.places.get(HARBOUR).showing(&scene));
        let target = ArrivalTarget { place, position: Vec3::ZERO, look_at: Vec3::X, returns: false };
        assert_eq!(node.hub.begin_passage(node.now, circuit, &target, 0), Ok(Passage::Switched));
    }
}

#[test]
fn a_full_world_turns_people_back_and_one_passage_is_made_at_a_time() {
    let (mut node, ada, session, _) = visitor();
    let cell = node.instance("Cell", 256, 0, 1);
    go_in(&mut node, ada, session, &cell, Vec3::new(60.0, 70.0, 30.0));
    let bob = node.enter("Bob");
    let other = node.hub.session_named("Bob Resident").expect("he is here");
    assert_eq!(node.hub.enter(node.now, other, cell.world, None), Err(PassageRefusal::Full));
    assert_eq!(node.hub.leave(node.now, session), Ok(Passage::Switched));
    assert_eq!(node.hub.leave(node.now, session), Err(PassageRefusal::OnItsWay));
    node.relay();
    node.run_until(|node| node.clients[bob].sees("Ada").is_some());
    assert_eq!(node.hub.enter(node.now, SessionKey(999), cell.world, None), Err(PassageRefusal::NotHere));
}

#[test]
fn a_user_that_does_not_appear_in_the_world_in_time_comes_back() {
    let (mut node, ada, session, _) = visitor();
    // It is never stepped.
    let void = {
        let ground = Arc::clone(&node.places.get(HARBOUR).scene.ground);
        let local_ids = 77_000_001..78_000_000;
        let spec = WorldSpec::clone(node.places.get(HARBOUR).scene.spec());
        let spec = WorldSpec { world: WorldId(77), is_shared: false, name: "Void".into(), local_ids, ..spec };
        Arc::new(Scene::new(spec, ground))
    };
    node.places.add_instance(Arc::clone(&void));
    assert_eq!(node.hub.enter(node.now, session, void.world, None), Ok(Passage::Switched));
    node.relay();
    node.run_for(crate::testing::ARRIVAL_TIMEOUT + Duration::from_secs(5));
    assert!(node.clients[ada].sees_itself());
    assert!(node.position_in(HARBOUR, "Ada").is_some());
}

#[test]
fn an_instance_that_ends_sends_every_visitor_back() {
    let (mut node, ada, session, cave) = visitor();
    go_in(&mut node, ada, session, &cave, Vec3::new(60.0, 70.0, 30.0));
    node.hub.empty(node.now, cave.world, "That world has ended.");
    node.relay();
    node.run_until(|node| node.position_in(HARBOUR, "Ada").is_some());
    node.run_ms(3_000);
    assert_shows_only(&node, ada, &Arc::clone(&node.places.get(HARBOUR).scene));
    assert_eq!(node.hub.n_in(cave.world), 0);
}

#[test]
fn a_user_teleporting_at_the_end_of_an_instance_stays_logged_in() {
    // On the way into it.
    let (mut node, ada, session, _) = visitor();
    let plain = node.instance("Plain", 512, 0, 10);
    assert_eq!(node.hub.enter(node.now, session, plain.world, None), Ok(Passage::Teleported));
    node.hub.empty(node.now, plain.world, "That world has ended.");
    node.relay();
    node.run_ms(3_000);
    assert!(node.position_in(HARBOUR, "Ada").is_some(), "she stays where she is");
    assert_eq!((node.hub.n_in(plain.world), node.hub.n_in(node.places.get(HARBOUR).world())), (0, 1));
    let names: Vec<String> = events(&mut node, ada).into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"TeleportFailed".to_owned()), "{names:?}");

    // On the way out of it.
    let other = node.instance("Other", 512, 0, 10);
    assert_eq!(node.hub.enter(node.now, session, other.world, None), Ok(Passage::Teleported));
    node.relay();
    let outbound = events(&mut node, ada);
    let (_, body) = outbound.iter().find(|(name, _)| name == "TeleportFinish").expect("a way there");
    let there = node.follow_teleport(ada, body);
    node.run_until(|node| node.clients[there].sees_itself());
    assert_eq!(node.hub.leave(node.now, session), Ok(Passage::Teleported));
    node.hub.empty(node.now, other.world, "That world has ended.");
    node.relay();
    let events = events(&mut node, there);
    let (_, body) = events.iter().rfind(|(name, _)| name == "TeleportFinish").expect("a way back");
    let home = node.follow_teleport(there, body);
    node.run_until(|node| node.clients[home].sees_itself());
    assert_eq!(node.hub.n_in(node.places.get(HARBOUR).world()), 1);
}

/// Puts a client's avatar somewhere and lets time pass.
fn put(node: &mut Node, session: SessionKey, at: Vec3) {
    let here = node.places.get(HARBOUR).id;
    let spot = crate::mail::Spot { place: here, position: at, look_at: Vec3::X };
    let circuit = node.hub.circuit_of(session).expect("she is here");
    assert_eq!(node.hub.pass_to_spot(node.now, circuit, spot, 0), Ok(Passage::Within));
    node.relay();
    node.run_ms(1_000);
}

#[test]
fn a_walk_into_a_portal_sends_on_once_and_an_arrival_in_one_does_not() {
    let (mut node, ada, session, cave) = visitor();
    let circuit = node.hub.circuit_of(session).expect("she is here");
    let world = node.places.get(HARBOUR).world();
    let into = || TravelOrder::EnterOwn { circuit, world, agent: agent("Ada"), template: "cave".into() };
    put(&mut node, session, GATE + Vec3::new(-5.0, 0.0, 1.0));
    assert!(node.orders.is_empty());
    put(&mut node, session, GATE + Vec3::Z);
    node.run_ms(3_000);
    assert_eq!(node.orders, [into()]);
    // She comes out where a portal is.
    go_in(&mut node, ada, session, &cave, GATE + Vec3::Z);
    node.run_ms(3_000);
    assert_eq!(node.hub.n_in(cave.world), 1, "she has only just come");
    // Out of it and in again: back.
    node.clients[ada].control(link::ControlFlags::AT_POS);
    node.run_ms(2_000);
    node.clients[ada].control(link::ControlFlags::AT_NEG);
    node.run_until(|node| node.hub.n_in(cave.world) == 0);
    node.clients[ada].control(link::ControlFlags::default());
    node.run_until(|node| node.position_in(HARBOUR, "Ada").is_some());
    node.run_ms(3_000);
    assert_eq!(node.orders, [into()], "she stands in the portal by which she left");
}

#[test]
fn a_session_has_one_order_at_a_time_and_it_is_void_elsewhere() {
    let (mut node, ada, session, cave) = visitor();
    let circuit = node.hub.circuit_of(session).expect("she is here");
    let harbour = node.places.get(HARBOUR).world();
    let walk_in = |node: &mut Node| {
        put(node, session, GATE + Vec3::new(-5.0, 0.0, 1.0));
        put(node, session, GATE + Vec3::Z);
        std::mem::take(&mut node.orders)
    };
    let orders = walk_in(&mut node);
    let [order] = orders.as_slice() else { panic!("{orders:?}") };
    assert!(walk_in(&mut node).is_empty(), "one waits already");
    assert_eq!(node.hub.is_in(circuit, harbour), Ok(()));
    assert_eq!(node.hub.is_in(circuit, cave.world), Err(PassageRefusal::Elsewhere));
    node.hub.end_order(order);
    assert_eq!(walk_in(&mut node).len(), 1);

    // On the way, and then elsewhere.
    assert_eq!(node.hub.enter(node.now, session, cave.world, None), Ok(Passage::Switched));
    assert_eq!(node.hub.is_in(circuit, harbour), Err(PassageRefusal::Elsewhere));
    assert_eq!(node.hub.is_in(circuit, cave.world), Err(PassageRefusal::OnItsWay));
    node.relay();
    node.run_ms(1_000);
    assert_eq!(node.hub.is_in(circuit, cave.world), Ok(()));
    let former = CircuitKey { ticket: 0, ..circuit };
    assert_eq!(node.hub.is_in(former, cave.world), Err(PassageRefusal::Elsewhere));

    // A refused order is answered.
    node.hub.refuse_order(order, "Too many.");
    node.relay();
    node.run_ms(200);
    assert!(node.clients[ada].got(AlertMessage::NUMBER));
    let counters = node.hub.counters();
    assert_eq!((counters.orders, counters.orders_refused), (2, 1));
}

#[test]
fn a_portal_entered_in_another_world_leads_nowhere() {
    let (mut node, ada, session, cave) = visitor();
    go_in(&mut node, ada, session, &cave, Vec3::new(60.0, 70.0, 30.0));
    let circuit = node.hub.circuit_of(session).expect("she is here");
    let harbour = node.places.get(HARBOUR).world();
    // The report crossed the passage. The cave's own portal of that number leads back.
    let portal = crate::mail::Request::Portal { world: harbour, number: 0 };
    node.hub.handle(node.now, crate::mail::ShardIndex(0), crate::mail::FromShard::Request(circuit, portal));
    node.relay();
    node.run_ms(1_000);
    assert_eq!((node.hub.n_in(cave.world), node.orders.len()), (1, 0));
}

#[test]
fn a_user_in_no_instance_can_leave_none() {
    let (mut node, ada, session, cave) = visitor();
    let refused = Err(PassageRefusal::Outside);
    assert_eq!(node.hub.leave(node.now, session), refused);
    go_in(&mut node, ada, session, &cave, Vec3::new(60.0, 70.0, 30.0));
    go_back(&mut node, ada, session);
    assert_eq!(node.hub.leave(node.now, session), refused);
}

#[test]
fn a_logout_in_an_instance_of_another_size_records_the_place_of_entry() {
    let (mut node, ada, session, _) = visitor();
    let plain = node.instance("Plain", 512, 0, 10);
    node.clients[ada].control(link::ControlFlags::AT_POS);
    node.run_ms(3_000);
    node.records.clear();
    assert_eq!(node.hub.enter(node.now, session, plain.world, None), Ok(Passage::Teleported));
    let there = follow(&mut node, ada);
    node.run_ms(500);
    node.clients[there].log_out();
    node.run_ms(1_000);
    let kept = |record: &Record| match record {
        Record::LastLocation(who, spot) if *who == agent("Ada") => Some(*spot),
        _ => None,
    };
    let kept: Vec<_> = node.records.iter().filter_map(kept).collect();
    let [spot] = kept.as_slice() else { panic!("{kept:?}") };
    assert!(spot.place == HARBOUR && spot.position.x > 130.0, "where she had walked to: {spot:?}");
}

#[test]
fn the_way_back_is_the_way_into_the_instance_regardless_of_other_passages() {
    let (mut node, ada, session, _) = visitor();
    let circuit = node.hub.circuit_of(session).expect("she is here");
    let meadow = node.spot(MEADOW, 300.0, 200.0);
    assert_eq!(node.hub.pass_to_spot(node.now, circuit, meadow, 0), Ok(Passage::Teleported));
    let there = follow(&mut node, ada);
    let plain = node.instance("Plain", 512, 0, 10);
    go_in(&mut node, there, session, &plain, Vec3::new(60.0, 70.0, 30.0));
    // The circuit in the harbour closes late.
    let late = crate::mail::FromShard::Closed {
        circuit,
        why: crate::mail::Closed::Asked,
        agent: agent("Ada"),
        spot: Some(node.spot(HARBOUR, 10.0, 10.0)),
        next_sequence: 1_000,
    };
    node.records.clear();
    node.hub.handle(node.now, crate::mail::ShardIndex(0), late);
    node.relay();
    assert!(node.records.is_empty(), "{:?}", node.records);
    go_back(&mut node, there, session);
    let back = node.position_in(MEADOW, "Ada").expect("she is back");
    assert!(back.truncate().distance(meadow.position.truncate()) < 1.0, "{back}");
}

#[test]
fn shards_learn_of_a_visitors_departure() {
    let (mut node, ada, session, cave) = visitor();
    let before = node.places.n_avatars();
    go_in(&mut node, ada, session, &cave, Vec3::new(60.0, 70.0, 30.0));
    assert_eq!(node.places.n_avatars(), before);
    node.clients[ada].log_out();
    node.run_ms(1_000);
    assert_eq!(node.places.n_avatars(), before - 1);
}

/// Number of nearby objects that a client does not display, in a region with the maximum of boxes.
fn lacks(node: &Node, client: usize, scene: &Scene) -> usize {
    let client = &node.clients[client];
    let own = client.avatars.values().find(|seen| seen.agent == client.agent.0).expect("she sees herself");
    let near =
        scene.ground.scenery.prims().iter().filter(|object| object.position.distance(own.position) < 60.0);
    let shown: std::collections::BTreeSet<_> =
        client.objects.values().map(|(at, _)| at.to_array().map(f32::to_bits)).collect();
    near.filter(|object| !shown.contains(&object.position.to_array().map(f32::to_bits))).count()
}

#[test]
fn a_user_back_at_once_in_a_crowded_world_sees_its_static_objects() {
    // She knows some 1,600 of them, more than are killed in a turn, and some 7,000, more than a full circuit takes kills of.
    for (boxes, percent, fill_ms) in [(6_000, 0, 10_000), (6_000, 5, 20_000), (28_000, 0, 45_000)] {
        let setup = Setup { boxes, client_bytes_per_s: 1 << 20, ..Setup::default() };
        let mut node = Node::with(setup);
        node.loss.percent = percent;
        let ada = node.enter("Ada");
        let session = node.hub.session_named("Ada Resident").expect("she is here");
        let cave = node.instance("Cave", 256, 300, 10);
        let harbour = Arc::clone(&node.places.get(HARBOUR).scene);
        node.run_ms(fill_ms);
        assert_eq!(lacks(&node, ada, &harbour), 0);
        assert!(node.clients[ada].objects.len() > boxes as usize / 5, "{}", node.clients[ada].objects.len());
        assert_eq!(node.hub.enter(node.now, session, cave.world, None), Ok(Passage::Switched));
        node.relay();
        let circuit = node.hub.circuit_of(session).expect("she is here");
        node.run_until(|node| node.hub.is_in(circuit, cave.world).is_ok());
        assert_eq!(node.hub.leave(node.now, session), Ok(Passage::Switched));
        node.relay();
        node.run_ms(fill_ms);
        assert_eq!(lacks(&node, ada, &harbour), 0, "of {boxes} boxes, with {percent} of a hundred lost");
        assert_shows_only(&node, ada, &harbour);
    }
}

#[test]
fn nothing_of_a_world_is_left_however_much_stood_there_and_however_full_the_circuit_is() {
    let setup = Setup { boxes: 28_000, client_bytes_per_s: 1 << 20, ..Setup::default() };
    let mut node = Node::with(setup);
    let ada = node.enter("Ada");
    let session = node.hub.session_named("Ada Resident").expect("she is here");
    let cave = node.instance("Cave", 256, 300, 10);
    node.run_ms(45_000);
    let objects = node.clients[ada].objects.len();
    assert!(objects > 5_096, "{objects}");
    assert_eq!(node.hub.enter(node.now, session, cave.world, None), Ok(Passage::Switched));
    node.relay();
    let circuit = node.hub.circuit_of(session).expect("she is here");
    node.run_until(|node| node.hub.is_in(circuit, cave.world).is_ok());
    // Nothing is acked for a while, and the circuit takes nothing more.
    node.loss.percent = 100;
    (0..600).for_each(|_| node.hub.notify(session, "The sky is falling."));
    node.relay();
    node.run_ms(3_000);
    node.loss.percent = 0;
    node.run_ms(30_000);
    assert_shows_only(&node, ada, &cave);
    assert_eq!(node.clients[ada].avatars.len(), 1, "her own avatar, once");
}
