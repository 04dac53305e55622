//! From login to the end of a session.

use super::{events, follow, kicked};
use crate::hub::{EVENTS_MAX, EventQueue, EventQueueAnswer, FAREWELL, LoginRefusal, Poll, Record};
use crate::testing::{ARRIVAL_TIMEOUT, HARBOUR, MEADOW, Node, Setup, agent};
use ids::Uuid;
use link::Passage;
use std::time::Duration;
use wire::llsd::Llsd;
use wire::messages::*;
use wire::text::from_wire;

#[test]
fn a_second_login_ends_the_first_session_and_enters() {
    let mut node = Node::new();
    let first = node.enter("Ada");
    let second = node.enter("Ada");
    node.run_ms(500);
    assert_eq!(kicked(&node, first).as_deref(), Some("You have logged in from another place."));
    assert_eq!((node.hub.n_sessions(), node.avatars_in(HARBOUR)), (1, 1));
    assert!(node.clients[second].sees_itself());
    assert_eq!(node.hub.counters().superseded, 1);
    assert!(matches!(node.hub.poll_events(node.clients[first].seed, None), EventQueueAnswer::Farewell(_)));
    node.run_for(Duration::from_secs(5));
    assert_eq!(node.hub.n_sessions(), 1, "what the first circuit still reports ends nothing");
}

#[test]
fn a_second_login_before_the_first_client_opened_its_circuit_voids_that_ticket() {
    let mut node = Node::new();
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    let first = node.login("Ada", spot);
    let second = node.enter("Ada");
    node.clients[first].open();
    node.run_ms(1_500);
    assert_eq!(node.clients[first].arrivals.len(), 0);
    assert!(node.drops("no_ticket") > 0);
    assert!(node.clients[second].sees_itself());
}

#[test]
fn a_full_server_refuses_newcomers_but_not_its_present_users() {
    let mut node = Node::with(Setup { sessions_max: 2, ..Setup::default() });
    node.enter("Ada");
    node.enter("Bob");
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    assert_eq!(node.admit("Eve", spot).err(), Some(LoginRefusal::ServerFull));
    node.enter("Ada");
    assert_eq!(node.hub.n_sessions(), 2);
}

#[test]
fn a_full_region_refuses_newcomers_and_counts_those_on_their_way() {
    let mut node = Node::with(Setup { max_avatars: 2, ..Setup::default() });
    let ada = node.enter("Ada");
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    node.login("Bob", spot);
    assert_eq!(node.admit("Eve", spot).err(), Some(LoginRefusal::RegionFull));
    let elsewhere = node.spot(MEADOW, 128.0, 128.0);
    assert!(node.admit("Eve", elsewhere).is_ok());
    node.enter("Ada");
    node.clients[ada].log_out();
    node.run_ms(500);
    assert_eq!(node.admit("Joe", spot).err(), Some(LoginRefusal::RegionFull), "Ada's other session is here");
}

#[test]
fn a_login_without_a_circuit_is_given_up_and_makes_room() {
    let mut node = Node::with(Setup { sessions_max: 1, ..Setup::default() });
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    node.login("Ada", spot);
    node.run_for(ARRIVAL_TIMEOUT - Duration::from_secs(1));
    assert_eq!(node.hub.n_sessions(), 1);
    node.run_for(Duration::from_secs(2));
    assert_eq!(node.hub.n_sessions(), 0);
    node.enter("Bob");
}

#[test]
fn a_client_that_opens_a_circuit_and_never_moves_in_is_put_out() {
    let mut node = Node::new();
    let spot = node.spot(HARBOUR, 128.0, 128.0);
    let ada = node.login("Ada", spot);
    node.clients[ada].manners.moves_in = false;
    node.clients[ada].open();
    node.run_for(ARRIVAL_TIMEOUT + Duration::from_secs(2));
    assert!(kicked(&node, ada).is_some());
    assert_eq!(node.hub.n_sessions(), 0);
    node.run_for(Duration::from_secs(5));
    assert_eq!(node.shards[0].n_clients(), 0);
}

#[test]
fn draining_alerts_every_user_and_records_their_places() {
    let mut node = Node::new();
    let spots = [node.spot(HARBOUR, 50.0, 60.0), node.spot(MEADOW, 400.0, 300.0)];
    let (ada, bob) = (node.enter_at("Ada", spots[0]), node.enter_at("Bob", spots[1]));
    node.records.clear();
    node.hub.drain(node.now, "The server restarts.");
    node.run_ms(500);
    for client in [ada, bob] {
        assert_eq!(kicked(&node, client).as_deref(), Some("The server restarts."));
    }
    assert_eq!(node.admit("Eve", spots[0]).err(), Some(LoginRefusal::Draining));
    assert_eq!((node.hub.n_sessions(), node.avatars_in(HARBOUR), node.avatars_in(MEADOW)), (0, 0, 0));
    for (name, spot) in [("Ada", spots[0]), ("Bob", spots[1])] {
        let stored = node.records.iter().find_map(|record| match record {
            Record::LastLocation(of, spot) if *of == agent(name) => Some(*spot),
            _ => None,
        });
        let stored = stored.expect("recorded");
        assert_eq!(stored.place, spot.place);
        assert!(stored.position.truncate().distance(spot.position.truncate()) < 1.0, "{}", stored.position);
    }
}

#[test]
fn a_kick_finds_its_user_by_name_in_any_case() {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    assert!(!node.hub.kick(node.now, "Eve Resident", "because"));
    assert!(node.hub.kick(node.now, "ada RESIDENT", "because"));
    node.run_ms(500);
    assert_eq!(kicked(&node, ada).as_deref(), Some("because"));
    assert_eq!(kicked(&node, bob), None);
    assert_eq!((node.hub.n_sessions(), node.avatars_in(HARBOUR)), (1, 1));
    assert_eq!(node.clients[bob].sees("Ada"), None);
}

#[test]
fn an_alert_reaches_every_user_on_every_shard() {
    let mut node = Node::with(Setup { shards: 3, ..Setup::default() });
    let clients: Vec<usize> = ["Ada", "Bob", "Eve"].map(|name| node.enter(name)).into();
    node.hub.alert("Soup is ready.");
    node.run_ms(300);
    for client in clients {
        let alert = node.clients[client].inbox.iter().find_map(|message| match message {
            Message::AlertMessage(alert) => Some(from_wire(&alert.alert_data.message)),
            _ => None,
        });
        assert_eq!(alert.as_deref(), Some("Soup is ready."));
    }
}

#[test]
fn after_a_logout_the_queue_answers_a_last_poll_for_a_while_and_then_is_unknown() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let seed = node.clients[ada].seed;
    assert!(node.hub.holder(seed).is_some());
    node.clients[ada].log_out();
    node.run_ms(500);
    assert_eq!(node.hub.n_sessions(), 0);
    assert!(node.hub.holder(seed).is_none(), "no other capability answers");
    assert!(matches!(node.hub.poll_events(seed, Some(1)), EventQueueAnswer::Farewell(_)));
    node.run_for(FAREWELL + Duration::from_secs(2));
    assert!(matches!(node.hub.poll_events(seed, Some(1)), EventQueueAnswer::Unknown));
}

#[test]
fn guessed_capabilities_are_unknown_and_counted() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    let altered = Uuid::from_u128(node.clients[ada].seed.as_u128() ^ 1);
    assert!(node.hub.holder(altered).is_none());
    assert!(matches!(node.hub.poll_events(altered, None), EventQueueAnswer::Unknown));
    assert_eq!(node.hub.counters().unknown_capabilities, 2);
}

#[test]
fn an_arrival_is_recorded_so_that_a_crash_forgets_only_the_walk_since() {
    let mut node = Node::new();
    let spot = node.spot(MEADOW, 300.0, 200.0);
    node.enter_at("Ada", spot);
    let expected =
        crate::mail::Spot { position: node.places.get(MEADOW).ground().clamp(spot.position), ..spot };
    assert_eq!(node.records, [Record::LastLocation(agent("Ada"), expected)]);
}

#[test]
fn codes_and_capabilities_of_two_sessions_differ() {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    let (a, b) = (&node.clients[ada], &node.clients[bob]);
    assert_ne!((a.code, a.session_id, a.seed), (b.code, b.session_id, b.seed));
    assert!(a.code.0 != 0 && b.code.0 != 0);
    assert!(a.code.0 <= 0x7FFF_FFFF, "node-metaverse reads it as signed");
}

/// Takes what a queue has, as (id, names).
fn take(queue: &mut EventQueue, ack: Option<i32>) -> Option<(i32, Vec<String>)> {
    match queue.poll(ack) {
        Poll::Ready(events) => {
            let reply = events.to_llsd();
            let name = |event: &Llsd| event.get("message").as_str().expect("a name").to_owned();
            let names = reply.get("events").as_array().iter().map(name).collect();
            Some((reply.get("id").as_i32().expect("an id"), names))
        }
        Poll::Wait(_) => None,
    }
}

#[test]
fn events_come_until_they_are_acknowledged() {
    let mut queue = EventQueue::new();
    assert_eq!(take(&mut queue, None), None);
    queue.push("One", Llsd::Undef);
    queue.push("Two", Llsd::Undef);
    assert_eq!(take(&mut queue, None), Some((1, vec!["One".into(), "Two".into()])));
    queue.push("Three", Llsd::Undef);
    let all = ["One", "Two", "Three"].map(String::from).to_vec();
    assert_eq!(take(&mut queue, None), Some((2, all.clone())), "the reply got lost");
    assert_eq!(take(&mut queue, Some(1)), Some((3, all)), "an older ack is none");
    assert_eq!(take(&mut queue, Some(3)), None);
    assert_eq!(take(&mut queue, None), None);
    assert_eq!(queue.dropped, 0);
}

#[test]
fn a_queue_without_polls_drops_the_oldest() {
    let mut queue = EventQueue::new();
    for n in 0..EVENTS_MAX + 10 {
        queue.push(&n.to_string(), Llsd::Undef);
    }
    let (_, names) = take(&mut queue, None).expect("events");
    assert_eq!((names.len(), names[0].as_str(), queue.dropped), (EVENTS_MAX, "10", 10));
}

#[test]
fn a_client_that_polls_without_acknowledging_piles_up_nothing() {
    let mut queue = EventQueue::new();
    for n in 0..3 * EVENTS_MAX {
        queue.push(&n.to_string(), Llsd::Undef);
        let (_, names) = take(&mut queue, None).expect("events");
        assert!(names.len() <= EVENTS_MAX);
        assert_eq!(names.last(), Some(&n.to_string()), "the newest is kept");
    }
}

#[test]
fn an_event_answers_a_waiting_poll() {
    let mut queue = EventQueue::new();
    let Poll::Wait(notify) = queue.poll(None) else { panic!("nothing to get") };
    queue.push("One", Llsd::Undef);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    // Would wait without end.
    runtime.block_on(notify.notified());
    assert!(take(&mut queue, None).is_some());
}

#[test]
fn a_newer_poll_ends_the_older_one_and_gets_the_events() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    events(&mut node, ada);
    let (seed, ack) = (node.clients[ada].seed, node.clients[ada].acked);
    let wait = |node: &mut Node| match node.hub.poll_events(seed, ack) {
        EventQueueAnswer::Poll(Poll::Wait(poll)) => poll,
        other => panic!("{other:?}"),
    };
    let older = wait(&mut node);
    assert!(node.hub.resume_poll(seed, ack, &older).is_some(), "it is the newest");
    let newer = wait(&mut node);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    // Would wait without end.
    runtime.block_on(older.notified());
    assert!(node.hub.resume_poll(seed, ack, &older).is_none(), "displaced");
    assert!(matches!(node.hub.resume_poll(seed, ack, &newer), Some(EventQueueAnswer::Poll(Poll::Wait(_)))));
    // The same holds when the session has ended, for the poll that waited then and for later ones.
    node.clients[ada].log_out();
    node.run_ms(500);
    assert!(matches!(node.hub.resume_poll(seed, ack, &newer), Some(EventQueueAnswer::Farewell(_))));
    let EventQueueAnswer::Farewell(last) = node.hub.poll_events(seed, ack) else { panic!("not over") };
    runtime.block_on(newer.notified());
    assert!(node.hub.resume_poll(seed, ack, &newer).is_none(), "displaced");
    node.run_for(FAREWELL + Duration::from_secs(2));
    assert!(matches!(node.hub.resume_poll(seed, ack, &last), Some(EventQueueAnswer::Unknown)));
}

#[test]
fn parcel_events_of_one_client_are_not_anothers() {
    let mut node = Node::new();
    let (ada, bob) = (node.enter("Ada"), node.enter("Bob"));
    assert_eq!((events(&mut node, ada).len(), events(&mut node, bob).len()), (0, 0));
}

#[test]
fn a_session_that_is_about_to_be_replaced_says_where_its_avatar_stands() {
    let mut node = Node::new();
    let spot = node.spot(MEADOW, 300.0, 200.0);
    let ada = node.enter_at("Ada", spot);
    node.clients[ada].control(link::ControlFlags::AT_POS);
    node.run_ms(2_000);
    let walked = node.position_in(MEADOW, "Ada").expect("here");
    assert!(walked.x > spot.position.x + 2.0, "{walked}");
    let shared_spot = node.hub.shared_spot(agent("Ada")).expect("she is here");
    assert_eq!((shared_spot.place, shared_spot.position), (MEADOW, walked));
    assert_eq!(node.hub.shared_spot(agent("Bob")), None);
}

#[test]
fn out_of_an_instance_a_replaced_session_comes_back_to_where_it_went_in() {
    let mut node = Node::new();
    let spot = node.spot(HARBOUR, 60.0, 70.0);
    let ada = node.enter_at("Ada", spot);
    let cave = node.instance("Cave", 256, 0, 10);
    let session = node.hub.session_of(agent("Ada")).expect("she is here");
    node.hub.enter(node.now, session, cave.world, None).expect("there is room");
    node.relay();
    node.run_ms(1_000);
    assert!(node.clients[ada].sees_itself());
    let shared_spot = node.hub.shared_spot(agent("Ada")).expect("she is here");
    assert_eq!(shared_spot.place, HARBOUR);
    assert!(shared_spot.position.distance(spot.position) < 2.0, "{shared_spot:?}");
}

/// Names of the parcels that a client's arrivals brought since it was last asked for events.
fn parcels_of_arrivals(node: &mut Node, client: usize) -> Vec<String> {
    let (seed, acked) = (node.clients[client].seed, node.clients[client].acked);
    let EventQueueAnswer::Poll(Poll::Ready(events)) = node.hub.poll_events(seed, acked) else {
        panic!("nothing in the event queue")
    };
    let reply = events.to_llsd();
    node.clients[client].acked = reply.get("id").as_i32();
    let parcels = reply.get("events").as_array().iter().filter(|event| {
        let parcel = event.get("body").get("ParcelData").at(0);
        event.get("message").as_str() == Some("ParcelProperties")
            && parcel.get("SequenceID").as_i32() == Some(0)
    });
    let name = |event: &Llsd| {
        event.get("body").get("ParcelData").at(0).get("Name").as_str().expect("a name").to_owned()
    };
    parcels.map(name).collect()
}

#[test]
fn every_arrival_brings_the_parcel() {
    let mut node = Node::new();
    let ada = node.enter("Ada");
    node.run_ms(500);
    assert_eq!(parcels_of_arrivals(&mut node, ada).len(), 1, "a login");

    let cave = node.instance("Cave", 256, 0, 10);
    let session = node.hub.session_of(agent("Ada")).expect("she is here");
    assert_eq!(node.hub.enter(node.now, session, cave.world, None), Ok(Passage::Switched));
    node.relay();
    node.run_ms(1_000);
    assert_eq!(parcels_of_arrivals(&mut node, ada), ["Cave"], "another world behind the circuit");

    let hall = node.instance("Hall", 512, 0, 10);
    assert_eq!(node.hub.enter(node.now, session, hall.world, None), Ok(Passage::Teleported));
    let there = follow(&mut node, ada);
    assert_eq!(parcels_of_arrivals(&mut node, there), ["Hall"], "a teleport to another place");
}
