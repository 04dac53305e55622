//! Objects that change are sent to clients within their reach, in the forms that their viewers keep.

use crate::shard::CACHE_AFTER;
use crate::testing::{Client, HARBOUR, Node, Setup, TransferDirection, agent};
use glam::Vec3;
use ids::{AgentId, LocalId, Uuid};
use link::{
    Motion, ObjectChange, ObjectMask, ObjectPage, PrimFlags, PrimMotion, VersionedBody, index_in_page,
};
use prim::receiver_flags::{MODIFY, YOU_OWNER};
use prim::{Body, ExtraParam, ExtraParams, Shape};
use std::sync::Arc;
use std::time::Duration;
use wire::messages::*;

const PLAIN: MessageNumber = ObjectUpdate::NUMBER;
const COMPRESSED: MessageNumber = ObjectUpdateCompressed::NUMBER;
const CACHED: MessageNumber = ObjectUpdateCached::NUMBER;
const TERSE: MessageNumber = ImprovedTerseObjectUpdate::NUMBER;

/// Where clients arrive.
const ARRIVAL: Vec3 = Vec3::new(128.0, 128.0, 22.0);
const N_PRIMS: u32 = 300;

/// The lowest local id of an object of the harbour.
pub(super) fn first(node: &Node) -> u32 {
    node.places.get(HARBOUR).scene.local_ids.start
}

fn owner() -> AgentId {
    agent("Ada")
}

fn body(n: u32) -> Body {
    let id = Uuid::from_u128(1_000 + u128::from(n));
    Body::new(id, Shape::BOX, Arc::from(link::plain_texture(7)), owner(), 0)
}

fn at(position: Vec3) -> PrimMotion {
    PrimMotion { motion: Motion { position, ..Motion::default() }, ..PrimMotion::NONE }
}

fn set(node: &Node, n: u32, motion: PrimMotion, body: Body, version: u32) -> ObjectChange {
    let body = VersionedBody { version, body: Arc::new(body) };
    ObjectChange::Set { id: LocalId(first(node) + n), motion, body, mask: ObjectMask::CREATED }
}

/// A region that has begun with a row of prims through the place of arrival, a metre between two.
fn built() -> Node {
    let mut node = Node::new();
    let first = first(&node);
    let mut pages = vec![ObjectPage::empty(LocalId(first)), ObjectPage::empty(LocalId(first + 256))];
    for n in 0..N_PRIMS {
        let page = &mut pages[n as usize / 256];
        let index = index_in_page(LocalId(first + n));
        let body = VersionedBody { version: 1, body: Arc::new(body(n)) };
        Arc::make_mut(&mut page.bodies)[index] = Some(body);
        Arc::make_mut(&mut page.motions)[index] = at(Vec3::new(n as f32 - 22.0, 128.0, 22.0));
    }
    node.publish(HARBOUR, ObjectChange::Pages(pages));
    node.run_ms(100);
    node
}

/// A client with a viewer that keeps objects, `flags` as in RegionHandshakeReply.
fn login_with_cache(node: &mut Node, name: &str, flags: u32) -> usize {
    let client = node.login(name, node.spot(HARBOUR, ARRIVAL.x, ARRIVAL.y));
    node.clients[client].manners.cache_flags = flags;
    client
}

fn forms(client: &Client) -> Vec<MessageNumber> {
    let mut forms: Vec<MessageNumber> = client.prims.values().map(|prim| prim.form).collect();
    forms.sort_unstable();
    forms.dedup();
    forms
}

#[test]
fn a_client_that_acks_late_is_sent_all_prims_and_few_twice() {
    // Until the first late acks come, datagrams expire after 250 ms: at most delay ÷ 250 ms + 1 times each. Then the timeout follows, as far as it may, and
    // late acks settle what they prove.
    for (ack_delay_s, most_sent) in [(1, 5.0), (5, 21.0)] {
        let mut node = built();
        let bea = node.login("Bea", node.spot(HARBOUR, ARRIVAL.x, ARRIVAL.y));
        node.clients[bea].open();
        node.run_until(|node| node.clients[bea].prims.len() > 20);
        node.ack_delay = Duration::from_secs(ack_delay_s);
        let n_sent = |node: &Node| node.shards[0].counters().objects_sent.iter().sum::<u64>();
        node.run_ms(20_000);
        let n_sent_before = n_sent(&node);
        node.run_ms(20_000);
        assert_eq!(n_sent(&node), n_sent_before, "acks {ack_delay_s} s late");
        let n_near = node.clients[bea].prims.len();
        assert!(n_near > 140, "{n_near}");
        let n_sent = n_sent_before as f64 / n_near as f64;
        assert!(n_sent < most_sent, "{n_sent} times the near prims, acks {ack_delay_s} s late");
    }
}

#[test]
fn a_client_has_the_prims_within_their_reach_once() {
    let mut node = built();
    let bea = node.enter("Bea");
    node.run_ms(4_000);
    let client = &node.clients[bea];
    // Half a metre wide, they are seen from 73.6 m.
    let near = |at: &Vec3, most: f32| at.distance(ARRIVAL) <= most;
    let n_near = (0..N_PRIMS).filter(|&n| near(&Vec3::new(n as f32 - 22.0, 128.0, 22.0), 73.0)).count();
    assert!(n_near > 100);
    assert!(client.prims.len() >= n_near, "{} of {n_near}", client.prims.len());
    assert!(client.objects.values().all(|(at, times)| *times == 1 && near(at, 83.0)));
    assert_eq!(forms(client), [PLAIN]);
}

#[test]
fn the_nearest_come_first() {
    let mut node = built();
    let bea = node.enter("Bea");
    while node.clients[bea].prims.is_empty() {
        node.run_ms(50);
    }
    let seen = &node.clients[bea].objects;
    let farthest = seen.values().map(|(at, _)| at.distance(ARRIVAL)).fold(0.0, f32::max);
    assert!(farthest < seen.len() as f32 / 2.0 + 2.0, "{} prims, {farthest} m", seen.len());
}

#[test]
fn a_change_is_sent_and_a_removed_prim_is_killed() {
    let mut node = built();
    let bea = node.enter("Bea");
    node.run_ms(4_000);
    let (moved, gone) = (first(&node) + 150, first(&node) + 151);
    let change = set(&node, 150, at(ARRIVAL + Vec3::Z), body(150), 2);
    node.publish(HARBOUR, change);
    node.publish(HARBOUR, ObjectChange::Removed(LocalId(gone)));
    node.run_ms(400);
    let client = &node.clients[bea];
    assert_eq!(client.prims[&moved].position, ARRIVAL + Vec3::Z);
    assert!(!client.prims.contains_key(&gone));
    let others = client.objects.iter().filter(|(id, _)| **id != moved);
    assert!(others.map(|(_, (_, times))| times).all(|times| *times == 1));
}

#[test]
fn lost_datagrams_are_made_up_for_with_the_newest_state() {
    let mut node = built();
    let bea = node.login("Bea", node.spot(HARBOUR, ARRIVAL.x, ARRIVAL.y));
    node.clients[bea].open();
    node.loss.lose(TransferDirection::Down, PLAIN, 6);
    node.run_ms(1_000);
    for version in 2..6 {
        node.loss.lose(TransferDirection::Down, PLAIN, 1);
        let change = set(&node, 150, at(ARRIVAL.with_z(20.0 + version as f32)), body(150), version);
        node.publish(HARBOUR, change);
        node.run_ms(300);
    }
    node.run_ms(6_000);
    assert_eq!(node.loss.left(), 0);
    let client = &node.clients[bea];
    assert_eq!(client.prims[&(first(&node) + 150)].position, ARRIVAL.with_z(25.0));
    assert!(client.prims.len() > 140, "{}", client.prims.len());
}

#[test]
fn an_owner_has_other_flags_than_the_others() {
    let mut node = built();
    let clients = ["Ada", "Bea"].map(|name| node.enter(name));
    node.run_ms(4_000);
    let flags = clients.map(|client| node.clients[client].prims[&(first(&node) + 150)].flags);
    assert_eq!(flags[0] & (YOU_OWNER | MODIFY), YOU_OWNER | MODIFY);
    assert_eq!(flags[1] & (YOU_OWNER | MODIFY), 0);
}

#[test]
fn an_empty_cache_is_filled_and_the_next_visit_takes_from_it() {
    let mut node = built();
    let bea = login_with_cache(&mut node, "Bea", 3);
    node.clients[bea].open();
    node.run_ms(5_000);
    assert_eq!(forms(&node.clients[bea]), [COMPRESSED]);
    let shown: Vec<(u32, u32)> = node.clients[bea].prims.iter().map(|(id, prim)| (*id, prim.crc)).collect();
    // One prim changes while the viewer is away: it has not changed for a minute when it comes back.
    let cache = node.clients[bea].cache.clone();
    // Two avatars do not stand in one place, and so do not see the same prims.
    node.clients[bea].log_out();
    let change = set(&node, 150, at(ARRIVAL + Vec3::Z), body(150), 2);
    node.publish(HARBOUR, change);
    node.run_ms(CACHE_AFTER.as_millis() as u64 + 100);
    let eve = login_with_cache(&mut node, "Eve", 1);
    node.clients[eve].cache = cache;
    node.clients[eve].open();
    node.run_ms(3_000);
    let changed = first(&node) + 150;
    let client = &node.clients[eve];
    let others = client.prims.iter().filter(|(id, _)| **id != changed);
    assert!(others.clone().all(|(_, prim)| prim.form == CACHED));
    let now: Vec<(u32, u32)> = others.map(|(id, prim)| (*id, prim.crc)).collect();
    let before: Vec<(u32, u32)> = shown.into_iter().filter(|(id, _)| *id != changed).collect();
    assert_eq!(now, before);
    assert_eq!(client.prims[&changed].form, COMPRESSED, "the cache has it with another checksum");
    assert_eq!(client.prims[&changed].position, ARRIVAL + Vec3::Z);
    assert_eq!(node.shards[0].counters().cache_misses, 1);
}

#[test]
fn a_viewer_whose_cache_was_lost_gets_everything() {
    let mut node = built();
    let bea = login_with_cache(&mut node, "Bea", 1);
    node.clients[bea].open();
    node.run_ms(6_000);
    assert_eq!(forms(&node.clients[bea]), [COMPRESSED]);
    assert!(node.clients[bea].prims.len() > 140);
}

#[test]
fn a_lost_offer_from_the_cache_is_made_again() {
    let mut node = built();
    let bea = login_with_cache(&mut node, "Bea", 3);
    node.clients[bea].open();
    node.run_ms(5_000);
    let cache = node.clients[bea].cache.clone();
    node.clients[bea].log_out();
    node.run_ms(1_000);
    let eve = login_with_cache(&mut node, "Eve", 1);
    node.clients[eve].cache = cache;
    node.clients[eve].open();
    node.loss.lose(TransferDirection::Down, CACHED, 3);
    node.run_ms(6_000);
    assert_eq!(node.loss.left(), 0);
    let client = &node.clients[eve];
    assert!(client.prims.len() > 130, "{}", client.prims.len());
    let lacking = client.cache.keys().filter(|id| !client.prims.contains_key(*id)).count();
    assert!(lacking < 20, "{lacking} are within reach of one place of arrival and not of the other");
}

#[test]
fn a_refused_change_is_taken_back_on_the_screen_of_a_viewer_with_a_cache() {
    let mut node = built();
    let bea = login_with_cache(&mut node, "Bea", 3);
    node.clients[bea].open();
    node.run_ms(5_000);
    let id = first(&node) + 150;
    let there = node.clients[bea].prims[&id].position;
    assert_eq!(node.clients[bea].prims[&id].form, COMPRESSED);
    let client = &mut node.clients[bea];
    client.prims.get_mut(&id).expect("displayed").position = there + Vec3::X;
    let request = super::editing::move_to(client, id, there + Vec3::X);
    client.send(&request);
    node.run_ms(1_000);
    let shown = node.clients[bea].prims[&id];
    assert_eq!((shown.position, shown.form), (there, PLAIN));
}

#[test]
fn a_prim_that_was_sent_as_an_update_stays_in_that_form() {
    let mut node = built();
    let bea = login_with_cache(&mut node, "Bea", 3);
    node.clients[bea].open();
    node.run_ms(5_000);
    let id = first(&node) + 150;
    for version in 2..4 {
        let change = set(&node, 150, at(ARRIVAL.with_z(version as f32)), body(150), version);
        node.publish(HARBOUR, change);
        node.run_ms(500);
        assert_eq!(node.clients[bea].prims[&id].form, PLAIN);
        assert_eq!(node.clients[bea].prims[&id].position, ARRIVAL.with_z(version as f32));
        node.run_ms(CACHE_AFTER.as_millis() as u64);
    }
    assert!(!node.clients[bea].cache.contains_key(&id), "a viewer has evicted it");
    // It asks again, and has to get the form that it displays.
    let client = &mut node.clients[bea];
    let agent_data =
        RequestMultipleObjectsAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
    let object_data = vec![RequestMultipleObjectsObjectData { cache_miss_type: 0, id }];
    client.prims.remove(&id);
    client.send(&RequestMultipleObjects { agent_data, object_data }.into());
    node.run_ms(500);
    assert_eq!(node.clients[bea].prims[&id].form, PLAIN);
}

#[test]
fn prims_that_may_change_at_any_time_are_not_for_the_cache() {
    let mut node = Node::new();
    let flags = [PrimFlags::PHYSICS, PrimFlags::TEMPORARY, PrimFlags::PHANTOM];
    let mut page = ObjectPage::empty(LocalId(first(&node)));
    for (n, flags) in flags.into_iter().enumerate() {
        let body = VersionedBody { version: 1, body: Arc::new(body(n as u32)) };
        Arc::make_mut(&mut page.bodies)[n] = Some(body);
        Arc::make_mut(&mut page.motions)[n] = PrimMotion { flags, ..at(ARRIVAL) };
    }
    node.publish(HARBOUR, ObjectChange::Pages(vec![page]));
    let bea = login_with_cache(&mut node, "Bea", 3);
    node.clients[bea].open();
    node.run_ms(3_000);
    let forms: Vec<MessageNumber> = node.clients[bea].prims.values().map(|prim| prim.form).collect();
    assert_eq!(forms, [PLAIN, PLAIN, COMPRESSED]);
}

/// A physical prim of the row, and a client that has it.
fn node_with_body() -> (Node, usize, LocalId) {
    let mut node = built();
    let bea = node.enter("Bea");
    let resting = PrimMotion { flags: PrimFlags::PHYSICS, ..at(ARRIVAL) };
    let change = set(&node, 150, resting, body(150), 2);
    node.publish(HARBOUR, change);
    node.run_ms(4_000);
    let id = LocalId(first(&node) + 150);
    assert_eq!(node.clients[bea].prims[&id.0].form, PLAIN);
    (node, bea, id)
}

/// It moves a metre per second along x, for two seconds, and rests there.
fn push(node: &mut Node, id: LocalId) -> Vec3 {
    let mut motion = Motion { position: ARRIVAL, velocity: Vec3::X, ..Motion::default() };
    let publish = |node: &mut Node, motion| {
        let prim = PrimMotion { motion, flags: PrimFlags::PHYSICS, ..PrimMotion::NONE };
        node.publish(HARBOUR, ObjectChange::Moved(id, prim));
        node.run_ms(50);
    };
    for _ in 0..40 {
        motion.position.x += 0.05;
        publish(node, motion);
    }
    motion.velocity = Vec3::ZERO;
    publish(node, motion);
    motion.position
}

#[test]
fn a_moving_prim_is_shown_by_few_terse_updates_and_its_rest_exactly() {
    let (mut node, bea, id) = node_with_body();
    let end = push(&mut node, id);
    node.run_ms(2_000);
    let client = &node.clients[bea];
    assert_eq!((client.prims[&id.0].form, client.prims[&id.0].position), (TERSE, end));
    // The begin, a repetition within two seconds, and the rest with its repetitions.
    assert!((3..=8).contains(&client.movements), "{}", client.movements);
    assert_eq!(client.objects[&id.0].1, 2, "full updates");
}

#[test]
fn a_bounce_is_shown_soon_after_its_frame() {
    let (mut node, bea, id) = node_with_body();
    push(&mut node, id);
    let mut motion = Motion { position: ARRIVAL, velocity: Vec3::X, ..Motion::default() };
    for n in 0..20 {
        // At other times within a round each time.
        node.run_ms(250);
        motion.velocity = -motion.velocity;
        motion.position.y = ARRIVAL.y + f32::from(n % 2_u8);
        let prim = PrimMotion { motion, flags: PrimFlags::PHYSICS, ..PrimMotion::NONE };
        node.publish(HARBOUR, ObjectChange::Moved(id, prim));
        let frame = node.next_frame_at();
        node.run_for(frame.since(node.now) + Duration::from_millis(10));
        let shown = node.clients[bea].prims[&id.0].position;
        assert!((shown.y - motion.position.y).abs() < 0.1 || n == 0, "bounce {n}: {shown}");
    }
}

#[test]
fn a_rest_is_shown_although_its_datagrams_are_lost() {
    let (mut node, bea, id) = node_with_body();
    node.loss.lose(TransferDirection::Down, TERSE, 6);
    let end = push(&mut node, id);
    node.run_ms(6_000);
    assert_eq!(node.loss.left(), 0);
    assert_eq!(node.clients[bea].prims[&id.0].position, end);
}

#[test]
fn a_client_that_comes_during_a_movement_sees_its_end() {
    let (mut node, _, id) = node_with_body();
    let moving = Motion { position: ARRIVAL, velocity: Vec3::X, ..Motion::default() };
    let prim = PrimMotion { motion: moving, flags: PrimFlags::PHYSICS, ..PrimMotion::NONE };
    node.publish(HARBOUR, ObjectChange::Moved(id, prim));
    let eve = node.enter("Eve");
    node.run_ms(2_000);
    let end = push(&mut node, id);
    node.run_ms(2_000);
    assert_eq!(node.clients[eve].prims[&id.0].position, end);
}

#[test]
fn a_prim_with_long_fields_is_compressed_for_every_viewer() {
    let mut node = Node::new();
    let materials = [&[40_u8][..], &[5; 40 * 17]].concat();
    let long = ExtraParams::default().with(ExtraParam::RenderMaterial, Some(&materials)).expect("valid");
    let change = set(&node, 0, at(ARRIVAL), Body { extra_params: long, ..body(0) }, 1);
    node.publish(HARBOUR, change);
    let bea = node.enter("Bea");
    node.run_ms(1_000);
    assert_eq!(forms(&node.clients[bea]), [COMPRESSED]);
}

#[test]
fn properties_of_a_prim_are_its_names_owners_and_masks() {
    let mut node = built();
    let bea = node.enter("Bea");
    node.run_ms(3_000);
    let first = first(&node);
    let client = &mut node.clients[bea];
    let agent_data = ObjectSelectAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
    let object_local_id = first + 150;
    let object_data = vec![ObjectSelectObjectData { object_local_id }];
    client.send(&ObjectSelect { agent_data, object_data }.into());
    node.run_ms(300);
    let rows = node.clients[bea].inbox.iter().find_map(|message| match message {
        Message::ObjectProperties(properties) => Some(&properties.object_data),
        _ => None,
    });
    let row = &rows.expect("an answer")[0];
    assert_eq!((row.object_id, row.owner_id, row.creator_id), (body(150).id, owner().0, owner().0));
    assert_eq!(wire::text::from_wire(&row.name), "Primitive");
    assert_eq!(row.owner_mask, prim::Permissions::NEW.owner.bits());
}

fn request(client: &Client, ids: impl IntoIterator<Item = u32>) -> Message {
    let agent_data =
        RequestMultipleObjectsAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
    let row = |id| RequestMultipleObjectsObjectData { cache_miss_type: 0, id };
    RequestMultipleObjects { agent_data, object_data: ids.into_iter().map(row).collect() }.into()
}

#[test]
fn a_prim_that_is_asked_for_is_sent_from_any_distance() {
    let mut node = built();
    let bea = node.enter("Bea");
    node.run_ms(3_000);
    let far = first(&node) + 280;
    let client = &mut node.clients[bea];
    assert!(!client.prims.contains_key(&far));
    client.send(&request(client, [far]));
    node.run_ms(500);
    assert!(node.clients[bea].prims[&far].position.distance(ARRIVAL) > 100.0);
}

#[test]
fn misses_above_the_rate_are_answered_for_prims_that_were_offered() {
    let mut node = built();
    let bea = node.enter("Bea");
    node.run_ms(3_000);
    let client = &mut node.clients[bea];
    let lost: Vec<u32> = std::mem::take(&mut client.prims).into_keys().collect();
    assert!(lost.len() > 100);
    (0..60).for_each(|_| client.send(&request(client, [5; 200])));
    client.send(&request(client, lost.iter().copied()));
    node.run_ms(2_000);
    assert!(node.drops("flood") > 0, "unknown ones");
    assert_eq!(node.clients[bea].prims.keys().copied().collect::<Vec<_>>(), lost);
}

#[test]
fn a_mover_has_its_share_of_the_bytes_beside_a_crowd() {
    // Less than half of what the crowd's walkers would take.
    let mut node = Node::with(Setup { client_bytes_per_s: 16_384, visible_max: 1_000, ..Setup::default() });
    node.crowd(500);
    let resting = PrimMotion { flags: PrimFlags::PHYSICS, ..at(ARRIVAL) };
    let change = set(&node, 0, resting, body(0), 1);
    node.publish(HARBOUR, change);
    node.run_ms(100);
    let bea = node.enter("Bea");
    node.run_ms(60_000);
    let id = LocalId(first(&node));
    let mut motion = Motion { position: ARRIVAL, velocity: Vec3::X, ..Motion::default() };
    for _ in 0..60 {
        motion.position.x += 0.05;
        let prim = PrimMotion { motion, flags: PrimFlags::PHYSICS, ..PrimMotion::NONE };
        node.publish(HARBOUR, ObjectChange::Moved(id, prim));
        node.run_ms(50);
    }
    let shown = &node.clients[bea].prims[&id.0];
    assert_eq!(shown.form, TERSE);
    assert!(shown.position.x > ARRIVAL.x + 1.0, "{}", shown.position);
}

#[test]
fn requests_without_end_are_refused() {
    let mut node = built();
    let bea = node.enter("Bea");
    let client = &mut node.clients[bea];
    let agent_data =
        || RequestMultipleObjectsAgentData { agent_id: client.agent.0, session_id: client.session_id.0 };
    let row = RequestMultipleObjectsObjectData { cache_miss_type: 0, id: 5 };
    let requests: Vec<Message> = (0..60)
        .map(|_| {
            RequestMultipleObjects { agent_data: agent_data(), object_data: vec![row.clone(); 200] }.into()
        })
        .collect();
    requests.iter().for_each(|request| client.send(request));
    node.run_ms(300);
    assert!(node.drops("flood") > 0);
}
