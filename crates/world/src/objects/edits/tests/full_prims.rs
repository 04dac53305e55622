//! Prims with as many items as they may have, and items of imports.

use super::contents::{NOTE, contents, item, put};
use super::stage::{ADA, EVE, Stage, agent_of};
use crate::objects::edits::contents::{REGION_CARRIED_MAX, REGION_ITEMS_MAX};
use glam::Vec3;
use ids::{SessionKey, Uuid};
use link::{
    Action, Command, EditRefusal, Event, InsertedLinkset, Insertion, Motion, ObjectCommand, ObjectLimits,
    PrimMotion, plain_texture,
};
use prim::{Body, CARRIED_MAX, CONTENT_ITEMS_MAX, Carried, Contents, Permissions, Shape};
use std::sync::Arc;

/// A linkset of an import with this number of prims, each with this number of items. Ids of the prims count from 5,000.
pub(super) fn full(n_prims: u128, n_items: usize) -> ObjectCommand {
    let owner = agent_of(ADA);
    let numbered = |n: usize| Arc::new(item(n as u128, owner, NOTE, &n.to_string()));
    let contents = Arc::new(Contents { serial: 1, items: (1..=n_items).map(numbered).collect() });
    let prim = |n: u128| {
        let texture = Arc::new(plain_texture(9));
        let body = Body::new(Uuid::from_u128(5_000 + n), Shape::BOX, texture, owner, 0);
        let motion = Motion { position: Vec3::new(1.0, 2.0, 3.0), ..Motion::default() };
        let body = Body { contents: Some(Arc::clone(&contents)), ..body };
        (PrimMotion { motion, ..PrimMotion::NONE }, Arc::new(body))
    };
    let linksets = vec![InsertedLinkset { prims: (0..n_prims).map(prim).collect() }];
    let insertion = Insertion { ids: Uuid::from_u128(0xfe << 64), linksets };
    ObjectCommand::Insert(Box::new(insertion))
}

#[test]
fn a_prim_and_a_region_have_a_number_of_items() {
    let mut stage = Stage::new();
    stage.ask(SessionKey::NODE, full(1, CONTENT_ITEMS_MAX));
    assert_eq!(stage.node_result, Some((1, 0, None)));
    let id = stage.store().local_id(Uuid::from_u128(5_000)).expect("its own id");
    let more = || item(1 << 20, agent_of(ADA), NOTE, "more");
    put(&mut stage, ADA, id, more()).refused(EditRefusal::ContentsFull, &[id]);
    stage.ask(ADA, ObjectCommand::RemoveItem(id, Uuid::from_u128(1))).done();
    put(&mut stage, ADA, id, more()).done();
    let too_many = full(1, CONTENT_ITEMS_MAX + 1);
    stage.ask(SessionKey::NODE, too_many);
    assert_eq!(stage.node_result, Some((0, 1, Some(EditRefusal::BadValue))));
    let n_full = (REGION_ITEMS_MAX / CONTENT_ITEMS_MAX) as u128;
    stage.ask(SessionKey::NODE, full(n_full, CONTENT_ITEMS_MAX));
    assert_eq!(stage.node_result, Some((0, 1, Some(EditRefusal::ContentsFull))));
    assert_eq!((stage.store().len(), stage.store().n_items()), (1, CONTENT_ITEMS_MAX));
}

#[test]
fn data_of_archives_are_bounded_in_a_region() {
    let mut stage = Stage::new();
    let ObjectCommand::Insert(mut import) = full(256, 0) else { unreachable!("an import") };
    let carried = Arc::new(Carried::new(vec![7; CARRIED_MAX]).expect("as many as a prim may have"));
    for (_, body) in &mut import.linksets[0].prims {
        Arc::make_mut(body).carried = Some(Arc::clone(&carried));
    }
    let n_linksets = REGION_CARRIED_MAX / (256 * CARRIED_MAX);
    // Without the check of the whole state, of which a snapshot has all data.
    let mut insert = |stage: &mut Stage, n: usize| {
        // Numbers of prims go into the upper half, where ids that count up would have the same derived ones.
        import.ids = Uuid::from_u128(0xfe << 64 | n as u128);
        let action = Action::Object(Box::new(ObjectCommand::Insert(import.clone())));
        stage.step(vec![Command::by_node(SessionKey::NODE, n as u64, action)]);
        stage.frame.events.iter().find_map(|event| match event {
            Event::ObjectsChanged { reason, .. } => Some(*reason),
            _ => None,
        })
    };
    for n in 0..n_linksets {
        assert_eq!(insert(&mut stage, n), Some(None));
    }
    assert_eq!(stage.store().carried_bytes(), REGION_CARRIED_MAX);
    assert_eq!(insert(&mut stage, n_linksets), Some(Some(EditRefusal::ContentsFull)));
    assert_eq!(stage.store().len(), 256 * n_linksets);
}

#[test]
fn imported_items_are_those_of_the_owner_of_their_prim() {
    let mut stage = Stage::new();
    let ObjectCommand::Insert(mut import) = full(1, 2) else { unreachable!("an import") };
    let body = Arc::make_mut(&mut import.linksets[0].prims[0].1);
    Arc::make_mut(&mut body.ownership).owner = agent_of(EVE);
    stage.ask(SessionKey::NODE, ObjectCommand::Insert(import));
    let id = stage.store().local_id(Uuid::from_u128(5_000)).expect("its own id");
    let held = contents(&stage, id);
    assert!(held.items.iter().all(|item| item.ownership.owner == agent_of(EVE)));
    assert_eq!(held.items[0].ownership.permissions, Permissions::NEW, "no right is lost");
}

#[test]
fn many_items_count_in_the_rate_of_a_session() {
    let mut stage = Stage::new();
    stage.ask(SessionKey::NODE, full(1, CONTENT_ITEMS_MAX));
    let id = stage.store().local_id(Uuid::from_u128(5_000)).expect("its own id");
    stage.limit(ObjectLimits { edits_per_s: 32, ..ObjectLimits::default() });
    let removal = |n| ObjectCommand::RemoveItem(id, Uuid::from_u128(n));
    stage.ask(ADA, removal(1)).done();
    stage.ask(ADA, removal(2)).refused(EditRefusal::TooFast, &[id]);
}
