//! Sizes of prims: the bounds of each way by which one comes in, and those of prims that physics moves.

use super::stage::{ADA, Stage, agent_of, new_object};
use glam::{Quat, Vec3};
use ids::{HeldKey, LocalId, SessionKey, Ticket, Uuid, WorldId};
use link::{
    Action, CopyPlace, Derez, DerezKind, Duplicates, EditRefusal, FlagsEdit, InsertedLinkset, Insertion,
    Motion, NewObject, ObjectCommand, Placement, PrimFlags, PrimMotion, Restoration, RestorePlace,
    plain_texture,
};
use prim::{Body, Shape};
use std::sync::Arc;
use std::time::Duration;

/// A size that is asked for, what becomes of it, and what becomes of it if physics moves the prim.
const SIZES: [[Vec3; 3]; 3] = [
    [Vec3::new(0.0, 1.0, 300.0), Vec3::new(0.001, 1.0, 256.0), Vec3::new(0.01, 1.0, 64.0)],
    [Vec3::new(0.001, 0.005, 256.0), Vec3::new(0.001, 0.005, 256.0), Vec3::new(0.01, 0.01, 64.0)],
    [Vec3::new(0.01, 64.0, 64.5), Vec3::new(0.01, 64.0, 64.5), Vec3::new(0.01, 64.0, 64.0)],
];

/// A way by which a prim with these flags gets a size.
type Way = fn(&mut Stage, Vec3, PrimFlags) -> LocalId;

const WAYS: [(&str, Way); 5] = [
    ("made", made),
    ("scaled", |stage, size, flags| scaled(stage, size, flags, false)),
    ("scaled as a linkset", |stage, size, flags| scaled(stage, size, flags, true)),
    ("copied", copied),
    ("taken back", taken_back),
];

const PHYSICAL: FlagsEdit =
    FlagsEdit { is_physical: true, is_temporary: false, is_phantom: false, physics: None };

fn place(id: LocalId, scale: Vec3) -> ObjectCommand {
    ObjectCommand::Place(vec![(id, Placement { scale: Some(scale), ..Placement::default() })])
}

fn made(stage: &mut Stage, scale: Vec3, flags: PrimFlags) -> LocalId {
    stage.rez_as(ADA, NewObject { scale, flags, ..new_object(0, Vec3::splat(100.0)) })
}

fn scaled(stage: &mut Stage, scale: Vec3, flags: PrimFlags, is_whole: bool) -> LocalId {
    let id = made(stage, Vec3::ONE, flags);
    let placement = Placement {
        scale: Some(scale),
        is_linked_set: is_whole,
        is_uniform: is_whole,
        ..Placement::default()
    };
    stage.ask(ADA, ObjectCommand::Place(vec![(id, placement)])).done();
    id
}

fn copied(stage: &mut Stage, scale: Vec3, flags: PrimFlags) -> LocalId {
    let original = made(stage, scale, flags);
    let duplicates = Duplicates {
        ids: Uuid::from_u128(1 << 70),
        group: Uuid::nil(),
        is_selected: false,
        copies: vec![(original, CopyPlace::Offset(Vec3::X))],
    };
    let answer = stage.ask(ADA, ObjectCommand::Duplicate(Box::new(duplicates))).done();
    let [copy] = answer.created[..] else { panic!("{answer:?}") };
    copy
}

fn taken_back(stage: &mut Stage, scale: Vec3, flags: PrimFlags) -> LocalId {
    let id = made(stage, scale, flags);
    stage.ask(ADA, place(id, Vec3::ONE)).done();
    stage.ask(ADA, ObjectCommand::Undo(vec![stage.id_of(id)])).done();
    id
}

#[test]
fn sizes_are_bounded_on_each_way_into_the_world() {
    for [wished, plain, physical] in SIZES {
        for (flags, expected) in [(PrimFlags::default(), plain), (PrimFlags::PHYSICS, physical)] {
            for (name, way) in WAYS {
                let mut stage = Stage::new();
                let id = way(&mut stage, wished, flags);
                assert_eq!(stage.body(id).scale, expected, "{name}, {flags:?}, {wished}");
            }
        }
    }
}

#[test]
fn an_object_with_a_part_that_is_too_thin_or_too_large_does_not_become_physical() {
    for size in [Vec3::new(0.5, 0.5, 0.009), Vec3::new(64.5, 0.5, 0.5)] {
        let mut stage = Stage::new();
        let prims = stage.rez_linkset(ADA, 2);
        stage.ask(ADA, place(prims[1], size)).done();
        let request = ObjectCommand::Flags(prims[0], FlagsEdit { is_phantom: true, ..PHYSICAL });
        stage.ask(ADA, request).refused(EditRefusal::PhysicalSize, &prims[..1]);
        assert!(prims.iter().all(|&id| !stage.flags(id).any(PrimFlags::OF_LINKSET)));
        assert_eq!(stage.body(prims[1]).scale, size);
        // The root becomes physical alone, and the part cannot join it then.
        stage.ask(ADA, ObjectCommand::Delink(vec![prims[1]])).done();
        stage.ask(ADA, ObjectCommand::Flags(prims[0], PHYSICAL)).done();
        stage.ask(ADA, ObjectCommand::Link(prims.clone())).refused(EditRefusal::PhysicalSize, &prims[1..]);
    }
}

#[test]
fn a_size_from_before_a_prim_became_physical_does_not_come_back() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.ask(ADA, place(id, Vec3::new(100.0, 0.005, 1.0))).done();
    stage.ask(ADA, place(id, Vec3::ONE)).done();
    stage.ask(ADA, ObjectCommand::Flags(id, PHYSICAL)).done();
    let undo = ObjectCommand::Undo(vec![stage.id_of(id)]);
    stage.ask(ADA, undo).refused(EditRefusal::PhysicalSize, &[id]);
    assert_eq!(stage.body(id).scale, Vec3::ONE);
}

/// Two prims of an import, which both have a size that physics moves none of.
const IMPORTED: [Vec3; 2] = [Vec3::new(0.001, 200.0, 256.0), Vec3::new(0.005, 64.5, 1.0)];

fn imported() -> InsertedLinkset {
    let prim = |id: u128, position: Vec3, scale: Vec3| {
        let texture = Arc::new(plain_texture(9));
        let plain = Body::new(Uuid::from_u128(id), Shape::BOX, texture, agent_of(ADA), 1 << 50);
        let motion = Motion { position, rotation: Quat::IDENTITY, ..Motion::default() };
        let place = PrimMotion { motion, flags: PrimFlags::PHYSICS, ..PrimMotion::NONE };
        (place, Arc::new(Body { scale, ..plain }))
    };
    InsertedLinkset { prims: vec![prim(70, Vec3::splat(100.0), IMPORTED[0]), prim(71, Vec3::X, IMPORTED[1])] }
}

/// The prims of the import, which are as they came.
#[track_caller]
fn unchanged(stage: &Stage) -> [LocalId; 2] {
    let prims = [70, 71].map(|id| stage.store().local_id(Uuid::from_u128(id)).expect("it is there"));
    assert_eq!(prims.map(|id| stage.body(id).scale), IMPORTED);
    assert!(prims.iter().all(|&id| stage.flags(id).any(PrimFlags::PHYSICS)));
    assert_eq!(stage.position(prims[0]), Vec3::splat(100.0));
    prims
}

#[test]
fn an_import_keeps_sizes_and_flags_and_stays_in_place_until_its_parts_have_sizes_of_physical_ones() {
    let mut stage = Stage::new();
    let insertion = Insertion { ids: Uuid::from_u128(0xfe << 64), linksets: vec![imported()] };
    stage.ask(SessionKey::NODE, ObjectCommand::Insert(Box::new(insertion)));
    assert_eq!(stage.node_result, Some((1, 0, None)));
    stage.pass(Duration::from_secs(1));
    let [root, _] = unchanged(&stage);
    // It leaves, and comes back.
    let (folder, transaction) = (Uuid::nil(), Uuid::nil());
    let derez = Derez { objects: vec![root], kind: DerezKind::Trash, folder, transaction };
    let object = stage.ask(ADA, ObjectCommand::Derez(derez)).done().held().remove(0);
    stage.order(Action::Settle(Ticket(1)));
    let key = Some(HeldKey { region: WorldId(1), ticket: Ticket(1) });
    let ids = Uuid::from_u128(0xC0_5E << 64);
    stage.order(Action::Restore(Box::new(Restoration { key, object, place: RestorePlace::Former, ids })));
    stage.pass(Duration::from_secs(1));
    let [root, part] = unchanged(&stage);
    stage.ask(ADA, ObjectCommand::Flags(root, PHYSICAL)).refused(EditRefusal::PhysicalSize, &[root]);
    stage.ask(ADA, place(root, Vec3::splat(2.0))).done();
    stage.pass(Duration::from_secs(1));
    assert_eq!(stage.position(root), Vec3::splat(100.0));
    stage.ask(ADA, place(part, Vec3::splat(2.0))).done();
    stage.pass(Duration::from_secs(1));
    assert!(stage.position(root).z < 99.0, "it falls: {}", stage.position(root));
}
