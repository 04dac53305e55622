//! Physical properties, searches, and temporary objects.

use super::stage::{ADA, EVE, Stage, new_object};
use glam::Vec3;
use ids::LocalId;
use link::{
    EditRefusal, FlagsEdit, MaskEdit, NewObject, ObjectChange, ObjectCommand, ObjectLimits, PhysicsEdit,
    PrimFlags,
};
use prim::{Mask, PhysicsShape, PrimPhysics};
use std::time::Duration;

const MATTER: PhysicsEdit =
    PhysicsEdit { shape: 2, density: 2_000.0, friction: 1.0, restitution: 0.1, gravity: 0.5 };

fn temporary() -> NewObject {
    NewObject { flags: PrimFlags::TEMPORARY, ..new_object(0, Vec3::splat(50.0)) }
}

fn set(id: LocalId, flags: FlagsEdit) -> ObjectCommand {
    ObjectCommand::Flags(id, flags)
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn flags_are_those_of_a_linkset_and_matter_is_a_prims_own() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 3);
    let edit =
        FlagsEdit { is_physical: true, is_phantom: true, physics: Some(MATTER), ..FlagsEdit::default() };
    stage.ask(ADA, set(prims[1], edit)).done();
    for &prim in &prims {
        assert!(stage.flags(prim).any(PrimFlags::PHYSICS) && stage.flags(prim).any(PrimFlags::PHANTOM));
    }
    assert_eq!(stage.body(prims[0]).physics, PrimPhysics::default());
    assert_eq!(
        (stage.body(prims[1]).physics.shape, stage.body(prims[1]).physics.gravity),
        (PhysicsShape::Convex, 0.5)
    );
    stage.ask(ADA, set(prims[0], FlagsEdit::default())).done();
    assert!(!stage.flags(prims[2]).any(PrimFlags::OF_LINKSET));
    assert!(stage.flags(prims[2]).any(PrimFlags::INVENTORY_EMPTY));
}

#[test]
fn matter_that_is_no_number_changes_no_flag_either() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let cases = [
        (PhysicsEdit { density: f32::NAN, ..MATTER }, EditRefusal::BadNumber),
        (PhysicsEdit { gravity: f32::INFINITY, ..MATTER }, EditRefusal::BadNumber),
        (PhysicsEdit { shape: 3, ..MATTER }, EditRefusal::BadValue),
    ];
    for (matter, reason) in cases {
        let edit = FlagsEdit { is_phantom: true, physics: Some(matter), ..FlagsEdit::default() };
        stage.ask(ADA, set(id, edit)).refused(reason, &[id]);
        assert!(!stage.flags(id).any(PrimFlags::PHANTOM));
    }
}

#[test]
fn a_temporary_object_vanishes_after_a_minute_of_world_time() {
    let mut stage = Stage::new();
    let kept = stage.rez(ADA);
    let id = stage.rez_as(ADA, temporary());
    assert!(stage.store().is_temporary_id(id));
    stage.pass(MINUTE - 2 * super::stage::TICK);
    assert!(stage.store().motion(id).is_some());
    stage.pass(2 * super::stage::TICK);
    assert!(stage.store().motion(id).is_none() && stage.store().motion(kept).is_some());
    super::stage::check(&stage.world);
}

#[test]
fn a_world_without_visitors_is_quiet_once_its_temporary_objects_have_vanished() {
    let mut stage = Stage::new();
    stage.rez_as(ADA, temporary());
    let sessions = [1, 2, 3, 4].map(ids::SessionKey);
    stage.step(sessions.map(|session| link::Command::by_node(session, 1 << 40, link::Action::Leave)).into());
    assert!(stage.world.n_avatars() == 0 && !stage.world.is_quiet());
    stage.pass(MINUTE);
    assert!(stage.store().len() == 0 && stage.world.is_quiet());
}

#[test]
fn a_temporary_object_that_is_kept_gets_an_id_of_kept_ones_and_its_owner_learns_it() {
    let mut stage = Stage::new();
    let root = stage.rez_as(ADA, temporary());
    let part = stage.rez_as(ADA, temporary());
    stage.ask(ADA, ObjectCommand::Link(vec![root, part])).done();
    let objects = [stage.id_of(root), stage.id_of(part)];
    let edit = FlagsEdit { physics: Some(MATTER), ..FlagsEdit::default() };
    let answer = stage.ask(ADA, set(part, edit)).done();
    let [kept] = answer.created[..] else { panic!("{answer:?}") };
    assert_eq!(stage.store().linkset(kept).map(|id| stage.id_of(id)).collect::<Vec<_>>(), objects);
    let part = stage.store().local_id(objects[1]).unwrap();
    assert_eq!(stage.body(part).physics.density, MATTER.density);
    assert!(!stage.store().is_temporary_id(kept) && !stage.store().is_temporary_id(part));
    let removed = |change: &&ObjectChange| matches!(change, ObjectChange::Removed(_));
    assert_eq!(stage.frame.objects.iter().filter(removed).count(), 2);
    stage.pass(MINUTE + MINUTE);
    assert_eq!(stage.store().len(), 2);
}

#[test]
fn an_object_that_becomes_temporary_keeps_its_id_and_may_be_kept_again() {
    let mut stage = Stage::new();
    let ids = [stage.rez(ADA), stage.rez(ADA)];
    let edit = FlagsEdit { is_temporary: true, ..FlagsEdit::default() };
    for id in ids {
        stage.ask(ADA, set(id, edit)).done();
    }
    stage.pass(MINUTE / 2);
    // Once more the same, which does not lengthen its life.
    stage.ask(ADA, set(ids[0], edit)).done();
    let answer = stage.ask(ADA, set(ids[1], FlagsEdit::default())).done();
    assert_eq!(answer.created, []);
    stage.pass(MINUTE / 2);
    assert!(stage.store().motion(ids[0]).is_none() && stage.store().motion(ids[1]).is_some());
}

#[test]
fn temporary_linksets_vanish_as_many_in_a_tick_as_are_allowed() {
    let mut stage = Stage::new();
    let id = stage.rez_as(ADA, temporary());
    stage.limit(ObjectLimits { temporary_ms: 1_000, ..ObjectLimits::default() });
    let place = link::CopyPlace::Offset(Vec3::Z);
    let copies = link::Duplicates {
        ids: ids::Uuid::from_u128(1 << 70),
        group: ids::Uuid::nil(),
        is_selected: false,
        copies: vec![(id, place); 100],
    };
    stage.ask(ADA, ObjectCommand::Duplicate(Box::new(copies))).done();
    assert_eq!(stage.store().len(), 101);
    stage.pass(Duration::from_secs(1) - super::stage::TICK);
    assert_eq!(stage.store().len(), 101);
    stage.pass(super::stage::TICK);
    assert_eq!(stage.store().len(), 101 - super::super::EXPIRED_PER_TICK_MAX);
    stage.pass(super::stage::TICK);
    assert_eq!(stage.store().len(), 1);
}

#[test]
fn a_linkset_is_shown_in_searches_by_its_modifiers_and_hidden_by_its_movers() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 2);
    let mask = MaskEdit { field: 8, is_set: true, bits: Mask::MOVE.bits() };
    stage.ask(ADA, ObjectCommand::Permissions(vec![(prims[0], mask)])).done();
    let show = |is_shown| ObjectCommand::InSearch(vec![(prims[1], is_shown)]);
    stage.ask(EVE, show(true)).refused(EditRefusal::Rights, &prims[1..]);
    stage.ask(ADA, show(true)).done();
    assert!(
        stage.flags(prims[0]).any(PrimFlags::IN_SEARCH) && !stage.flags(prims[1]).any(PrimFlags::IN_SEARCH)
    );
    stage.ask(EVE, show(false)).done();
    assert!(!stage.flags(prims[0]).any(PrimFlags::IN_SEARCH));
}
