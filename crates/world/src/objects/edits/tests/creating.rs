//! New prims and copies.

use super::stage::{ADA, EVE, FAY, IDS, OPERATOR, Stage, agent_of, new_object};
use glam::{Quat, Vec3};
use ids::{LocalId, SessionKey, Uuid};
use link::{CopyPlace, Duplicates, EditRefusal, Event, MaskEdit, NewObject, ObjectCommand, PrimFlags};
use prim::{Mask, PCode, Permissions, Shape};

fn create(object: NewObject) -> ObjectCommand {
    ObjectCommand::Create(Box::new(object))
}

fn copy(objects: &[(LocalId, CopyPlace)]) -> ObjectCommand {
    ObjectCommand::Duplicate(Box::new(Duplicates {
        ids: Uuid::from_u128(1 << 64 | u128::from(objects[0].0.0)),
        group: Uuid::from_u128(77),
        is_selected: false,
        copies: objects.to_vec(),
    }))
}

#[test]
fn a_new_prim_is_its_makers_and_the_maker_learns_its_local_id() {
    let mut stage = Stage::new();
    let object = NewObject {
        position: Vec3::new(10.0, 20.0, 30.0),
        rotation: Quat::from_xyzw(0.0, 0.0, 2.0, 2.0),
        scale: Vec3::new(0.0, 1.0, 300.0),
        group: Uuid::from_u128(5),
        state: 7,
        ..new_object(9, Vec3::ZERO)
    };
    let answer = stage.ask(ADA, create(object)).done();
    let id = LocalId(IDS.start);
    assert_eq!(answer.created, [id]);
    let created = Event::ObjectCreated { session: ADA, id, object: Uuid::from_u128(9), is_selected: true };
    assert_eq!(stage.frame.events, [created]);
    let body = stage.body(id);
    assert_eq!((body.ownership.owner, body.ownership.creator), (agent_of(ADA), agent_of(ADA)));
    assert_eq!((body.ownership.group, body.ownership.permissions), (Uuid::from_u128(5), Permissions::NEW));
    assert_eq!((body.scale, body.state), (Vec3::new(0.001, 1.0, 256.0), 0));
    let motion = stage.store().motion(id).unwrap();
    assert_eq!(motion.motion.position, Vec3::new(10.0, 20.0, 30.0));
    assert!(motion.motion.rotation.is_normalized());
    assert!(motion.flags.any(PrimFlags::INVENTORY_EMPTY));
    assert_eq!(stage.world.counters().edits.done, 1);
}

#[test]
fn a_new_tree_keeps_its_species() {
    let mut stage = Stage::new();
    let id = stage.rez_as(ADA, NewObject { p_code: 255, state: 7, ..new_object(0, Vec3::splat(50.0)) });
    assert_eq!((stage.body(id).p_code, stage.body(id).state), (PCode::Tree, 7));
}

#[test]
fn a_new_prim_beyond_the_border_is_made_at_it() {
    let mut stage = Stage::new();
    let id = stage.rez_as(ADA, new_object(0, Vec3::new(-5.0, 1e30, -5e3)));
    assert_eq!(stage.position(id), Vec3::new(0.0, 256.0, -100.0));
}

#[test]
fn impossible_prims_are_refused_with_their_reason() {
    let mut stage = Stage::new();
    let plain = || new_object(9, Vec3::splat(50.0));
    let cases = [
        (NewObject { position: Vec3::new(f32::NAN, 1.0, 1.0), ..plain() }, EditRefusal::BadNumber),
        (NewObject { position: Vec3::INFINITY, ..plain() }, EditRefusal::BadNumber),
        (NewObject { scale: Vec3::splat(f32::NEG_INFINITY), ..plain() }, EditRefusal::BadNumber),
        (NewObject { rotation: Quat::from_xyzw(0.0, 0.0, 0.0, 0.0), ..plain() }, EditRefusal::BadNumber),
        (NewObject { rotation: Quat::from_xyzw(f32::NAN, 0.0, 0.0, 1.0), ..plain() }, EditRefusal::BadNumber),
        (NewObject { rotation: Quat::from_xyzw(1e30, 0.0, 0.0, 1.0), ..plain() }, EditRefusal::BadNumber),
        (NewObject { p_code: 47, ..plain() }, EditRefusal::BadValue),
        (NewObject { material: 8, ..plain() }, EditRefusal::BadValue),
        (NewObject { shape: Shape { path_curve: 0x11, ..Shape::BOX }, ..plain() }, EditRefusal::BadValue),
        (NewObject { id: Uuid::nil(), ..plain() }, EditRefusal::BadValue),
    ];
    for (object, reason) in cases {
        stage.ask(ADA, create(object)).refused(reason, &[]);
    }
    stage.ask(ADA, create(plain())).done();
    stage.ask(ADA, create(plain())).refused(EditRefusal::Twice, &[]);
    assert_eq!(stage.store().len(), 1);
    assert_eq!(stage.world.counters().edits.refused_for(EditRefusal::BadNumber), 6);
    // The node has no account that could own a prim.
    stage.ask(SessionKey::NODE, create(new_object(10, Vec3::splat(50.0))));
    assert_eq!(stage.world.counters().edits.refused_for(EditRefusal::NoOwner), 1);
    assert_eq!(stage.store().len(), 1);
}

#[test]
fn a_copy_has_ids_of_its_own_and_the_places_of_its_original() {
    let mut stage = Stage::new();
    let original = stage.rez_linkset(ADA, 3);
    let at =
        CopyPlace::At { position: Vec3::splat(99.0), ray: None, rotation: Some(Quat::from_rotation_z(1.0)) };
    let copies = copy(&[(original[0], CopyPlace::Offset(Vec3::Z)), (original[2], at)]);
    let answer = stage.ask(ADA, copies).done();
    let [beside, turned] = answer.created[..] else { panic!("{answer:?}") };
    let prims: Vec<LocalId> = stage.store().linkset(beside).collect();
    for (&copy, &original) in prims.iter().zip(&original) {
        assert_eq!(stage.position(copy), stage.position(original) + Vec3::Z);
        assert_ne!(stage.id_of(copy), stage.id_of(original));
        assert_eq!(stage.body(copy).ownership, stage.body(original).ownership);
        assert_eq!(stage.store().body(copy).map(|body| body.version), Some(1));
    }
    assert_eq!((prims.len(), stage.store().linkset_len(turned)), (3, 3));
    assert_eq!(stage.position(turned), Vec3::splat(99.0));
}

#[test]
fn a_copy_of_another_users_object_is_its_makers_as_the_next_owner() {
    let mut stage = Stage::new();
    let original = stage.rez_linkset(ADA, 2);
    let free = MaskEdit { field: 8, is_set: true, bits: Mask::COPY.bits() };
    stage
        .ask(EVE, copy(&[(original[0], CopyPlace::Offset(Vec3::Z))]))
        .refused(EditRefusal::Rights, &original[..1]);
    stage.ask(ADA, ObjectCommand::Permissions(vec![(original[0], free)])).done();
    for by in [EVE, FAY] {
        let answer = stage.ask(by, copy(&[(original[by.0 as usize - 2], CopyPlace::Offset(Vec3::Z))]));
        let [made] = answer.done().created[..] else { panic!("one copy") };
        for prim in stage.store().linkset(made) {
            let ownership = &stage.body(prim).ownership;
            assert_eq!((ownership.owner, ownership.last_owner), (agent_of(by), agent_of(ADA)));
            assert_eq!((ownership.creator, ownership.group), (agent_of(ADA), Uuid::from_u128(77)));
            assert_eq!(
                ownership.permissions,
                Permissions::NEW.with(prim::MaskField::Everyone, Mask::COPY, true).for_next_owner()
            );
        }
    }
}

#[test]
fn a_copy_at_an_impossible_place_is_refused_and_the_others_are_made() {
    let mut stage = Stage::new();
    let original = stage.rez(OPERATOR);
    let places = [Vec3::NAN, Vec3::X, Vec3::splat(f32::MAX), Vec3::Y];
    let request = copy(&places.map(|offset| (original, CopyPlace::Offset(offset))));
    let answer = stage.ask(OPERATOR, request);
    answer.refused(EditRefusal::BadNumber, &[original]);
    assert_eq!(answer.created.len(), 3);
    // Beyond all borders, but a number.
    assert_eq!(stage.position(answer.created[1]), Vec3::new(256.0, 256.0, link::CEILING_M));
}
