//! From region to region, and what happens when that does not work.

use super::displaced::alerts;
use super::events;
use crate::hub::{EventQueueAnswer, PORT_REST, Record};
use crate::mail::Spot;
use crate::testing::{ARRIVAL_TIMEOUT, HARBOUR, MEADOW, Node, Setup, TransferDirection, agent};
use glam::Vec3;
use ids::Uuid;
use link::Action;
use std::sync::Arc;
use std::time::Duration;
use wire::llsd::Llsd;
use wire::messages::*;

/// Asks to go to a spot.
fn ask(node: &mut Node, client: usize, to: Spot) {
    let region_handle = node.places.get(to.place).handle.0;
    let client = &mut node.clients[client];
    let message = TeleportLocationRequest {
        agent_data: TeleportLocationRequestAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        info: TeleportLocationRequestInfo { region_handle, position: to.position, look_at: to.look_at },
    };
    client.send(&message.into());
    node.run_ms(100);
}

/// The TeleportFinish that a client was sent.
pub(super) fn finish(node: &mut Node, client: usize) -> Llsd {
    let events = events(node, client);
    let [(name, body)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(name, "TeleportFinish");
    body.clone()
}

/// The reason that a client was given through its event queue, and over UDP not: hippolyzer takes that for an attack.
pub(super) fn failure(node: &mut Node, client: usize) -> String {
    assert!(!node.clients[client].got(TeleportFailed::NUMBER));
    let events = events(node, client);
    let last = events.iter().rev().find(|(name, _)| name == "TeleportFailed").expect("an event");
    last.1.get("Info").at(0).get("Reason").as_str().expect("a reason").to_owned()
}

/// Goes to a spot in another region; the client there.
fn go(node: &mut Node, client: usize, to: Spot) -> usize {
    ask(node, client, to);
    let body = finish(node, client);
    let arrived = node.follow_teleport(client, &body);
    node.run_until(|node| node.clients[arrived].sees_itself());
    arrived
}

fn visitor() -> (Node, usize, Spot) {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let meadow = node.spot(MEADOW, 300.0, 200.0);
    (node, ada, meadow)
}

#[test]
fn a_teleport_names_its_destination_and_the_old_circuit_ends_on_arrival() {
    let (mut node, ada, meadow) = visitor();
    let bob = node.enter("Bob");
    node.run_until(|node| node.clients[bob].sees("Ada").is_some());
    ask(&mut node, ada, meadow);
    assert!(node.clients[ada].got(TeleportStart::NUMBER));
    let body = finish(&mut node, ada);
    let info = body.get("Info").at(0);
    let place = node.places.get(MEADOW);
    assert_eq!(info.get("RegionHandle").as_u64(), Some(place.handle.0));
    assert_eq!(info.get("SimPort").as_i32(), Some(9_001));
    assert_eq!(*info.get("SimIP"), Llsd::Binary(vec![127, 0, 0, 1]));
    assert_eq!(info.get("LocationID").as_u32(), Some(4));
    assert_eq!(info.get("TeleportFlags").as_u32(), Some(1 << 4));
    assert_eq!(info.get("RegionSizeX").as_i32(), Some(512));
    assert_eq!(*info.get("AgentID"), Llsd::Uuid(agent("Ada").0));

    assert_eq!((node.avatars_in(HARBOUR), node.avatars_in(MEADOW)), (2, 0), "no avatar has moved yet");
    assert!(!node.clients[ada].got(DisableSimulator::NUMBER));
    let arrived = node.follow_teleport(ada, &body);
    node.run_until(|node| node.clients[arrived].sees_itself());
    node.run_ms(300);
    assert!(node.clients[ada].got(DisableSimulator::NUMBER));
    assert_eq!((node.avatars_in(HARBOUR), node.avatars_in(MEADOW)), (1, 1));
    assert_eq!(node.clients[bob].sees("Ada"), None);
    let at = node.position_in(MEADOW, "Ada").expect("there");
    assert!(at.truncate().distance(meadow.position.truncate()) < 1.0, "{at}");
    assert_eq!((node.hub.counters().teleports, node.hub.counters().teleports_failed), (1, 0));
    assert!(matches!(node.hub.poll_events(node.clients[ada].seed, None), EventQueueAnswer::Farewell(_)));
    node.run_for(Duration::from_secs(5));
    assert_eq!((node.hub.n_sessions(), node.shards[0].n_clients()), (2, 2));
}

#[test]
fn nothing_but_its_end_is_sent_on_the_circuit_that_was_left() {
    let (mut node, ada, meadow) = visitor();
    node.crowd(30);
    node.run_ms(1_000);
    let arrived = go(&mut node, ada, meadow);
    node.run_until(|node| node.clients[ada].got(DisableSimulator::NUMBER));
    let n = node.clients[ada].arrivals.len();
    node.run_for(Duration::from_secs(5));
    let later = &node.clients[ada].arrivals[n..];
    let resent = |number: MessageNumber| number == DisableSimulator::NUMBER || number == PacketAck::NUMBER;
    assert!(later.iter().all(|arrival| resent(arrival.number)), "{later:?}");
    assert!(node.clients[arrived].sees_itself());
}

#[test]
fn a_user_can_go_there_and_back_and_there_again_at_once() {
    let (mut node, ada, meadow) = visitor();
    let harbour = node.spot(HARBOUR, 40.0, 50.0);
    let mut at = ada;
    let mut sequences = Vec::new();
    for (n, to) in [meadow, harbour, meadow, harbour].into_iter().enumerate() {
        at = go(&mut node, at, to);
        node.run_ms(500);
        let here = node.position_in(to.place, "Ada").expect("there");
        assert!(here.truncate().distance(to.position.truncate()) < 1.0, "trip {n}: {here}");
        sequences.push((node.clients[at].port, node.clients[at].arrivals[0].sequence));
    }
    assert_eq!((node.avatars_in(HARBOUR), node.avatars_in(MEADOW), node.hub.n_sessions()), (1, 0, 1));
    assert_eq!(sequences.iter().map(|(port, _)| *port).collect::<Vec<u8>>(), [1, 0, 1, 0]);
    // A client with one socket remembers sequence numbers: each circuit of a port counts on.
    assert!(sequences[2].1 > sequences[0].1 && sequences[3].1 > sequences[1].1, "{sequences:?}");
}

#[test]
fn appearance_and_session_come_along() {
    let (mut node, ada, meadow) = visitor();
    let client = &mut node.clients[ada];
    let appearance = AgentSetAppearance {
        agent_data: AgentSetAppearanceAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
            serial_num: 1,
            size: Vec3::new(0.45, 0.6, 1.5),
        },
        visual_param: vec![AgentSetAppearanceVisualParam { param_value: 9 }; 218],
        ..AgentSetAppearance::default()
    };
    client.send(&appearance.into());
    node.run_ms(200);
    let (session, code) = (node.clients[ada].session_id, node.clients[ada].code);
    let arrived = go(&mut node, ada, meadow);
    assert_eq!((node.clients[arrived].session_id, node.clients[arrived].code), (session, code));
    let worn = node.commands.iter().rev().find_map(|(_, command)| match &command.action {
        Action::Enter(enter) => enter.appearance.as_ref().map(|worn| worn.height_m),
        _ => None,
    });
    assert_eq!(worn, Some(1.5));
}

#[test]
fn the_last_location_is_where_the_avatar_is_and_not_where_it_came_from() {
    let (mut node, ada, meadow) = visitor();
    go(&mut node, ada, meadow);
    node.run_for(Duration::from_secs(5));
    let last = node.records.iter().rev().find_map(|record| match record {
        Record::LastLocation(_, spot) => Some(spot.place),
        Record::Home(..) | Record::Appearance(..) => None,
    });
    assert_eq!(last, Some(MEADOW));
}

#[test]
fn loss_of_any_message_of_an_arrival_heals() {
    for (way, number) in [
        (TransferDirection::Up, UseCircuitCode::NUMBER),
        (TransferDirection::Up, CompleteAgentMovement::NUMBER),
        (TransferDirection::Up, RegionHandshakeReply::NUMBER),
        (TransferDirection::Down, RegionHandshake::NUMBER),
        (TransferDirection::Down, AgentMovementComplete::NUMBER),
        (TransferDirection::Down, DisableSimulator::NUMBER),
    ] {
        let (mut node, ada, meadow) = visitor();
        node.run_ms(3_000);
        node.loss.lose(way, number, 2);
        go(&mut node, ada, meadow);
        node.run_ms(8_000);
        assert_eq!(node.loss.left(), 0, "{number:?} was lost");
        assert_eq!((node.avatars_in(HARBOUR), node.avatars_in(MEADOW)), (0, 1), "{number:?} was lost");
        assert!(node.clients[ada].got(DisableSimulator::NUMBER));
        assert_eq!(node.hub.n_sessions(), 1);
    }
}

#[test]
fn a_teleport_that_the_client_does_not_follow_fails_and_leaves_it_where_it_is() {
    let (mut node, ada, meadow) = visitor();
    let stood = node.position_in(HARBOUR, "Ada");
    ask(&mut node, ada, meadow);
    let body = finish(&mut node, ada);
    node.run_for(ARRIVAL_TIMEOUT + Duration::from_secs(2));
    assert!(!failure(&mut node, ada).is_empty());
    assert_eq!(node.position_in(HARBOUR, "Ada"), stood);
    let late = node.follow_teleport(ada, &body);
    node.run_ms(1_500);
    assert_eq!(node.clients[late].arrivals.len(), 0, "the ticket is void");
    let arrived = go(&mut node, ada, meadow);
    assert!(node.clients[arrived].sees_itself(), "the next attempt works");
}

#[test]
fn a_client_that_opens_the_new_circuit_and_does_not_move_in_stays_and_can_try_again() {
    let (mut node, ada, meadow) = visitor();
    ask(&mut node, ada, meadow);
    let body = finish(&mut node, ada);
    let half = node.follow_half(ada, &body);
    node.run_for(ARRIVAL_TIMEOUT + Duration::from_secs(2));
    assert!(!failure(&mut node, ada).is_empty());
    assert_eq!((node.avatars_in(HARBOUR), node.avatars_in(MEADOW)), (1, 0));
    node.run_for(Duration::from_secs(5));
    assert_eq!(node.shards[0].n_clients(), 1);
    assert!(!node.clients[half].sees_itself());
    go(&mut node, ada, meadow);
}

#[test]
fn a_teleport_can_be_cancelled_until_the_client_shows_its_ticket() {
    let (mut node, ada, meadow) = visitor();
    let cancel = |node: &mut Node| {
        let client = &mut node.clients[ada];
        let info = TeleportCancelInfo { agent_id: client.agent.0, session_id: client.session_id.0 };
        client.send(&TeleportCancel { info }.into());
        node.run_ms(100);
    };
    cancel(&mut node);
    assert_eq!(events(&mut node, ada), [], "there was nothing to cancel");
    assert_eq!(alerts(&node, ada), ["There is no teleport to cancel."]);
    ask(&mut node, ada, meadow);
    finish(&mut node, ada);
    cancel(&mut node);
    assert!(!failure(&mut node, ada).is_empty());
    assert_eq!((node.avatars_in(HARBOUR), node.avatars_in(MEADOW)), (1, 0));
    ask(&mut node, ada, meadow);
    let body = finish(&mut node, ada);
    let opened = node.follow_half(ada, &body);
    node.run_ms(100);
    cancel(&mut node);
    assert_eq!(alerts(&node, ada)[1..], ["This teleport can no longer be cancelled."]);
    node.clients[opened].complete_movement();
    node.run_until(|node| node.clients[opened].sees_itself());
}

#[test]
#[should_panic(expected = "is sent to a second place while it is on its way to one")]
fn a_session_on_its_way_has_one_ticket() {
    let (mut node, ada, meadow) = visitor();
    ask(&mut node, ada, meadow);
    let session = node.hub.session_named("Ada Resident").expect("she is here");
    let place = Arc::clone(node.places.get(meadow.place));
    node.hub.issue_ticket(node.now, session, &place, meadow.position, meadow.look_at);
}

#[test]
fn a_second_request_on_the_way_is_refused_and_the_first_still_works() {
    let (mut node, ada, meadow) = visitor();
    ask(&mut node, ada, meadow);
    let body = finish(&mut node, ada);
    ask(&mut node, ada, meadow);
    assert!(!failure(&mut node, ada).is_empty());
    let arrived = node.follow_teleport(ada, &body);
    node.run_until(|node| node.clients[arrived].sees_itself());
}

#[test]
fn a_client_that_closes_its_old_circuit_before_it_opens_the_new_one_still_arrives() {
    let (mut node, ada, meadow) = visitor();
    ask(&mut node, ada, meadow);
    let body = finish(&mut node, ada);
    node.clients[ada].send(&CloseCircuit {}.into());
    node.run_ms(500);
    assert_eq!((node.hub.n_sessions(), node.avatars_in(HARBOUR)), (1, 0));
    let arrived = node.follow_teleport(ada, &body);
    node.run_until(|node| node.clients[arrived].sees_itself());
    assert_eq!((node.hub.n_sessions(), node.avatars_in(MEADOW)), (1, 1));
    node.clients[arrived].log_out();
    node.run_ms(500);
    assert_eq!((node.hub.n_sessions(), node.avatars_in(MEADOW)), (0, 0));
}

#[test]
fn a_client_that_leaves_both_circuits_on_its_way_ends_its_session() {
    let (mut node, ada, meadow) = visitor();
    ask(&mut node, ada, meadow);
    finish(&mut node, ada);
    node.clients[ada].send(&CloseCircuit {}.into());
    node.run_for(ARRIVAL_TIMEOUT + Duration::from_secs(2));
    assert_eq!(node.hub.n_sessions(), 0);
}

#[test]
fn a_logout_during_a_teleport_ends_the_session() {
    let (mut node, ada, meadow) = visitor();
    ask(&mut node, ada, meadow);
    let body = finish(&mut node, ada);
    node.clients[ada].log_out();
    node.run_ms(500);
    assert_eq!((node.hub.n_sessions(), node.avatars_in(HARBOUR)), (0, 0));
    let late = node.follow_teleport(ada, &body);
    node.run_ms(1_500);
    assert_eq!(node.clients[late].arrivals.len(), 0, "the ticket is void");
}

#[test]
fn a_login_during_a_teleport_ends_both_circuits() {
    let (mut node, ada, meadow) = visitor();
    ask(&mut node, ada, meadow);
    let body = finish(&mut node, ada);
    let half = node.follow_half(ada, &body);
    let again = node.enter("Ada");
    node.run_for(Duration::from_secs(5));
    assert_eq!((node.hub.n_sessions(), node.shards[0].n_clients()), (1, 1));
    assert_eq!((node.avatars_in(HARBOUR), node.avatars_in(MEADOW)), (1, 0));
    assert!(node.clients[ada].got(KickUser::NUMBER) && !node.clients[half].sees_itself());
    assert!(node.clients[again].sees_itself());
}

#[test]
fn places_that_do_not_exist_or_are_full_are_refused() {
    let mut node = Node::with(Setup { max_avatars: 1, ..Setup::default() });
    let ada = node.enter("Ada");
    let meadow = node.spot(MEADOW, 300.0, 200.0);
    node.enter_at("Bob", meadow);
    ask(&mut node, ada, meadow);
    assert_eq!(failure(&mut node, ada), "That region is full.");
    let client = &mut node.clients[ada];
    let nowhere = TeleportLocationRequest {
        agent_data: TeleportLocationRequestAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        ..TeleportLocationRequest::default()
    };
    client.send(&nowhere.into());
    node.run_ms(100);
    assert_eq!(failure(&mut node, ada), "There is no region at that place.");
    assert_eq!(node.avatars_in(HARBOUR), 1);
}

#[test]
fn a_world_that_refuses_an_arrival_fails_the_teleport() {
    let mut node = Node::with(Setup { world_max_avatars: 1, ..Setup::default() });
    let ada = node.enter("Ada");
    let meadow = node.spot(MEADOW, 300.0, 200.0);
    node.enter_at("Bob", meadow);
    ask(&mut node, ada, meadow);
    let body = finish(&mut node, ada);
    let refused = node.follow_teleport(ada, &body);
    node.run_ms(1_000);
    assert_eq!(failure(&mut node, ada), "The region is full.");
    assert!(!node.clients[refused].sees_itself());
    node.run_for(Duration::from_secs(5));
    assert_eq!((node.avatars_in(HARBOUR), node.hub.n_sessions(), node.shards[0].n_clients()), (1, 2, 2));
}

#[test]
fn two_ports_are_enough_to_go_to_and_fro_between_two_regions() {
    let mut node = Node::with(Setup { ports: 2, ..Setup::default() });
    let ada = node.enter("Ada");
    let meadow = node.spot(MEADOW, 300.0, 200.0);
    let there = go(&mut node, ada, meadow);
    let harbour = node.spot(HARBOUR, 128.0, 128.0);
    let back = go(&mut node, there, harbour);
    // A port needs no rest to stand for the place for which it stood before.
    assert_eq!((node.clients[there].port, node.clients[back].port), (1, 0));
}

#[test]
fn a_session_without_a_free_port_is_asked_to_wait() {
    let mut node = Node::with(Setup { ports: 1, ..Setup::default() });
    let ada = node.enter("Ada");
    let meadow = node.spot(MEADOW, 300.0, 200.0);
    ask(&mut node, ada, meadow);
    assert_eq!(failure(&mut node, ada), "Please wait a minute before you travel on.");
    assert_eq!(node.avatars_in(HARBOUR), 1);
    node.run_for(PORT_REST);
    ask(&mut node, ada, meadow);
    assert_eq!(failure(&mut node, ada), "Please wait a minute before you travel on.", "it is in use");
}

#[test]
fn a_teleport_within_the_region_needs_no_new_circuit() {
    let (mut node, ada, _) = visitor();
    let corner = node.spot(HARBOUR, 20.0, 30.0);
    ask(&mut node, ada, corner);
    node.run_ms(200);
    let landed = node.clients[ada].inbox.iter().find_map(|message| match message {
        Message::TeleportLocal(local) => Some(local.info.position),
        _ => None,
    });
    let landed = landed.expect("landed");
    assert!(landed.truncate().distance(corner.position.truncate()) < 1.0, "{landed}");
    assert_eq!(node.clients[ada].sees("Ada").map(|seen| seen.position.distance(landed) < 0.1), Some(true));
    assert_eq!(events(&mut node, ada), []);
    assert_eq!(node.hub.counters().teleports, 0);
}

#[test]
fn a_square_inside_a_large_region_leads_there() {
    let (mut node, ada, _) = visitor();
    let place = node.places.get(MEADOW);
    let inner = ids::RegionHandle::from_grid(1_005, 1_001);
    assert_eq!(node.places.by_handle(inner).map(|found| found.id), Some(place.id));
    let client = &mut node.clients[ada];
    let message = TeleportLocationRequest {
        agent_data: TeleportLocationRequestAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        info: TeleportLocationRequestInfo {
            region_handle: inner.0,
            position: Vec3::new(10.0, 20.0, 22.0),
            look_at: Vec3::X,
        },
    };
    client.send(&message.into());
    node.run_ms(100);
    let body = finish(&mut node, ada);
    let arrived = node.follow_teleport(ada, &body);
    node.run_until(|node| node.clients[arrived].sees_itself());
    let at = node.position_in(MEADOW, "Ada").expect("there");
    assert!(at.truncate().distance(glam::Vec2::new(266.0, 276.0)) < 1.0, "{at}");
}

#[test]
fn home_is_where_it_was_set_and_the_first_region_before() {
    let mut node = Node::new();
    let meadow = node.spot(MEADOW, 300.0, 200.0);
    let ada = node.enter_at("Ada", meadow);
    let go_home = |node: &mut Node, client: usize| {
        let client = &mut node.clients[client];
        let info = TeleportLandmarkRequestInfo {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
            landmark_id: Uuid::nil(),
        };
        client.send(&TeleportLandmarkRequest { info }.into());
        node.run_ms(100);
    };
    go_home(&mut node, ada);
    let body = finish(&mut node, ada);
    let arrived = node.follow_teleport(ada, &body);
    node.run_until(|node| node.clients[arrived].sees_itself());
    assert_eq!(node.avatars_in(HARBOUR), 1);

    let client = &mut node.clients[arrived];
    let set = SetStartLocationRequest {
        agent_data: SetStartLocationRequestAgentData {
            agent_id: client.agent.0,
            session_id: client.session_id.0,
        },
        start_location_data: SetStartLocationRequestStartLocationData {
            location_id: 1,
            location_pos: Vec3::new(40.0, 50.0, 22.0),
            location_look_at: Vec3::Y,
            ..SetStartLocationRequestStartLocationData::default()
        },
    };
    client.send(&set.into());
    node.run_ms(200);
    let home = Spot { place: HARBOUR, position: Vec3::new(40.0, 50.0, 22.0), look_at: Vec3::Y };
    assert!(node.records.contains(&Record::Home(agent("Ada"), home)));
    go_home(&mut node, arrived);
    node.run_ms(200);
    let at = node.position_in(HARBOUR, "Ada").expect("there");
    assert!(at.truncate().distance(home.position.truncate()) < 1.0, "{at}");
}

#[test]
fn positions_beyond_all_measure_are_brought_inside() {
    let (mut node, ada, mut meadow) = visitor();
    meadow.position = Vec3::new(9_999.0, -50.0, 100_000.0);
    go(&mut node, ada, meadow);
    let at = node.position_in(MEADOW, "Ada").expect("there");
    assert!((0.0..512.0).contains(&at.x) && (0.0..512.0).contains(&at.y), "{at}");
}
