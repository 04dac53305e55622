//! Linksets of an import: their ids, owners and places, and those that no world accepts.

use super::stage::{ADA, EVE, Stage, agent_of};
use glam::{Quat, Vec3};
use ids::{LocalId, SessionKey, Uuid};
use link::{
    Action, Command, EditRefusal, InsertedLinkset, Insertion, Motion, ObjectCommand, ObjectLimits, PrimFlags,
    PrimMotion, plain_texture,
};
use prim::{Body, Shape};
use std::sync::Arc;

type InsertedPrim = (PrimMotion, Arc<Body>);

fn prim(id: u128, position: Vec3) -> InsertedPrim {
    let texture = Arc::new(plain_texture(9));
    let body = Body::new(Uuid::from_u128(id), Shape::BOX, texture, agent_of(EVE), 1 << 50);
    let motion = Motion { position, rotation: Quat::IDENTITY, ..Motion::default() };
    (PrimMotion { motion, ..PrimMotion::NONE }, Arc::new(body))
}

fn insert(linksets: Vec<Vec<InsertedPrim>>) -> ObjectCommand {
    insert_as(linksets, false)
}

fn insert_as(linksets: Vec<Vec<InsertedPrim>>, keeps_ids: bool) -> ObjectCommand {
    let linksets = linksets.into_iter().map(|prims| InsertedLinkset { prims }).collect();
    let insertion = Box::new(Insertion { ids: Uuid::from_u128(0xfe << 64), linksets });
    if keeps_ids { ObjectCommand::InsertWithIds(insertion) } else { ObjectCommand::Insert(insertion) }
}

/// An altered prim.
fn with(mut prim: InsertedPrim, change: impl FnOnce(&mut PrimMotion, &mut Body)) -> InsertedPrim {
    change(&mut prim.0, Arc::make_mut(&mut prim.1));
    prim
}

#[test]
fn a_linkset_comes_with_its_ids_and_owner_and_places() {
    let mut stage = Stage::new();
    let place = Vec3::new(40.0, 50.0, 30.0);
    let root = with(prim(7, place), |motion, body| {
        body.names.name = "Gate".into();
        motion.flags = PrimFlags::PHANTOM;
    });
    stage.ask(SessionKey::NODE, insert(vec![vec![root, prim(8, Vec3::X)]]));
    assert_eq!(stage.node_result, Some((1, 0, None)));
    let id = stage.store().local_id(Uuid::from_u128(7)).expect("its own id");
    let part = stage.store().local_id(Uuid::from_u128(8)).expect("its own id");
    assert_eq!((stage.position(id), stage.position(part)), (place, place + Vec3::X));
    assert_eq!(stage.store().linkset(id).collect::<Vec<_>>(), [id, part]);
    assert_eq!((&*stage.body(id).names.name, stage.body(id).ownership.owner), ("Gate", agent_of(EVE)));
    assert!([id, part].iter().all(|&id| stage.flags(id).any(PrimFlags::PHANTOM)));
    let versions = [id, part].map(|id| stage.store().body(id).expect("it is there").version);
    assert!(versions[0] != versions[1] && !versions.contains(&1), "{versions:?}: a cache may have version 1");
}

#[test]
fn an_id_that_is_taken_is_replaced_and_the_former_object_stays() {
    let mut stage = Stage::new();
    let former = stage.rez(ADA);
    let taken = stage.id_of(former).as_u128();
    let linksets =
        vec![vec![prim(taken, Vec3::splat(9.0)), prim(taken, Vec3::X)], vec![prim(0, Vec3::splat(5.0))]];
    stage.ask(SessionKey::NODE, insert(linksets));
    assert_eq!((stage.node_result, stage.store().len()), (Some((2, 0, None)), 4));
    assert_eq!(stage.store().local_id(Uuid::from_u128(taken)), Some(former));
    assert_eq!(stage.body(former).ownership.owner, agent_of(ADA));
    let new: Vec<LocalId> = (1..4).map(|n| LocalId(former.0 + n)).collect();
    assert!(new.iter().all(|&id| stage.id_of(id).get_version_num() == 4), "derived from a random id");
}

#[test]
fn a_linkset_that_keeps_its_ids_is_refused_for_one_that_is_taken() {
    let mut stage = Stage::new();
    let taken = stage.rez(ADA);
    let taken = stage.id_of(taken).as_u128();
    let place = Vec3::splat(9.0);
    let linksets = vec![
        vec![prim(7, place), prim(taken, Vec3::X)],
        vec![prim(8, place), prim(8, Vec3::X)],
        vec![prim(0, place)],
        vec![prim(7, place), prim(9, Vec3::X)],
    ];
    stage.ask(SessionKey::NODE, insert_as(linksets, true));
    assert_eq!((stage.node_result, stage.store().len()), (Some((1, 3, Some(EditRefusal::Twice))), 3));
    assert!([7, 9].iter().all(|&id| stage.store().local_id(Uuid::from_u128(id)).is_some()));
}

#[test]
fn a_linkset_that_no_world_accepts_is_refused_whole_and_the_others_come() {
    let place = Vec3::splat(50.0);
    type Change = fn(&mut PrimMotion, &mut Body);
    let broken: [(EditRefusal, Change); 8] = [
        (EditRefusal::BadNumber, |motion, _| motion.motion.position.x = f32::NAN),
        (EditRefusal::BadNumber, |motion, _| motion.motion.rotation = Quat::from_xyzw(0.0, 0.0, 0.0, 0.0)),
        (EditRefusal::BadNumber, |_, body| body.scale.y = f32::INFINITY),
        (EditRefusal::BadValue, |_, body| body.texture_entry = Arc::from([1; 5])),
        (EditRefusal::BadValue, |_, body| body.names.name = "n".repeat(64).into()),
        (EditRefusal::BadValue, |_, body| body.texture_animation = Arc::from([1; 3])),
        (EditRefusal::OtherOwner, |_, body| {
            Arc::make_mut(&mut body.ownership).owner = agent_of(ADA);
        }),
        (EditRefusal::TooFar, |motion, _| motion.motion.position.z = 300.0),
    ];
    for (number, (reason, change)) in broken.into_iter().enumerate() {
        let mut stage = Stage::new();
        let linksets = vec![
            vec![prim(1, place), with(prim(2, Vec3::X), change), prim(3, Vec3::Y)],
            vec![prim(4, place)],
        ];
        stage.ask(SessionKey::NODE, insert(linksets));
        assert_eq!(stage.node_result, Some((1, 1, Some(reason))), "change {number}");
        assert_eq!(stage.store().len(), 1, "change {number}");
    }
    let mut stage = Stage::new();
    stage.ask(SessionKey::NODE, insert(vec![vec![prim(1, Vec3::new(257.0, 1.0, 1.0))], Vec::new()]));
    assert_eq!((stage.node_result, stage.store().len()), (Some((0, 2, Some(EditRefusal::Outside))), 0));
}

#[test]
fn an_import_ends_at_the_bounds_of_the_region_and_of_a_request() {
    let mut stage = Stage::new();
    stage.limit(ObjectLimits { objects_max: 3, physical_max: 0, ..ObjectLimits::default() });
    let place = Vec3::splat(50.0);
    let pair = |n: u128| vec![prim(n, place), prim(n + 1, Vec3::X)];
    stage.ask(SessionKey::NODE, insert(vec![pair(1), pair(3), vec![prim(5, place)]]));
    assert_eq!((stage.node_result, stage.store().len()), (Some((2, 1, Some(EditRefusal::Full))), 3));
    stage.limit(ObjectLimits { physical_max: 0, ..ObjectLimits::default() });
    let physical = with(prim(9, place), |motion, _| motion.flags = PrimFlags::PHYSICS);
    stage.ask(SessionKey::NODE, insert(vec![vec![physical]]));
    assert_eq!(stage.node_result, Some((0, 1, Some(EditRefusal::TooManyPhysical))));
    let many = (0..257).map(|n| vec![prim(100 + n, place)]).collect();
    stage.ask(SessionKey::NODE, insert(many));
    assert_eq!(stage.node_result, Some((0, 1, Some(EditRefusal::TooManyObjects))));
    let temporary = with(prim(10, place), |motion, _| motion.flags = PrimFlags::TEMPORARY);
    stage.ask(SessionKey::NODE, insert(vec![vec![temporary]]));
    let id = stage.store().local_id(Uuid::from_u128(10)).expect("it has come");
    assert!(!stage.flags(id).any(PrimFlags::TEMPORARY), "an import stays");
}

#[test]
fn a_session_imports_nothing() {
    let mut stage = Stage::new();
    let import = Action::Object(Box::new(insert(vec![vec![prim(1, Vec3::splat(9.0))]])));
    stage.step(vec![Command::by_session(ADA, 1 << 40, import)]);
    assert_eq!((stage.store().len(), stage.world.counters().foreign), (0, 1));
}
