//! Places, sizes, and the way back.

use super::stage::{ADA, EVE, FAY, Stage};
use glam::{Quat, Vec3};
use ids::{LocalId, SessionKey};
use link::{EditRefusal, MaskEdit, ObjectChange, ObjectCommand, ObjectLimits, ObjectMask, Placement};
use prim::Mask;

fn linked(position: Vec3) -> Placement {
    Placement { position: Some(position), is_linked_set: true, ..Placement::default() }
}

fn single(position: Vec3) -> Placement {
    Placement { position: Some(position), ..Placement::default() }
}

fn scaled(scale: Vec3) -> Placement {
    Placement { scale: Some(scale), ..Placement::default() }
}

fn place(id: LocalId, placement: Placement) -> ObjectCommand {
    ObjectCommand::Place(vec![(id, placement)])
}

fn is_near(a: Vec3, b: Vec3) -> bool {
    a.distance(b) < 1e-3
}

#[test]
fn parts_follow_a_linked_set_and_stay_when_their_root_moves_alone() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 3);
    let before = stage.position(prims[2]);
    // By a part.
    stage.ask(ADA, place(prims[1], linked(Vec3::new(80.0, 80.0, 40.0)))).done();
    assert_eq!(stage.position(prims[0]), Vec3::new(80.0, 80.0, 40.0));
    assert!(is_near(stage.position(prims[2]), before + Vec3::new(30.0, 20.0, 10.0)));
    assert!(
        matches!(stage.frame.objects[..], [ObjectChange::Set { id, mask: ObjectMask::MOTION, .. }] if id == prims[0]),
        "the root only"
    );
    let held = stage.position(prims[2]);
    let turned = Placement { rotation: Some(Quat::from_rotation_z(1.0)), ..single(Vec3::splat(70.0)) };
    stage.ask(ADA, place(prims[0], turned)).done();
    assert_eq!(stage.position(prims[0]), Vec3::splat(70.0));
    assert!(is_near(stage.position(prims[2]), held), "{}", stage.position(prims[2]));
}

#[test]
fn the_place_of_a_part_is_relative_to_its_root() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 2);
    let root = stage.position(prims[0]);
    stage.ask(ADA, place(prims[1], single(Vec3::new(0.0, 3.0, 0.0)))).done();
    assert!(is_near(stage.position(prims[1]), root + 3.0 * Vec3::Y));
    let far = single(Vec3::new(0.0, 0.0, 256.5));
    stage.ask(ADA, place(prims[1], far)).refused(EditRefusal::TooFar, &prims[1..]);
}

#[test]
fn a_uniform_scale_is_that_of_the_linkset_and_any_other_of_the_prim() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 2);
    let (root, offset) = (stage.position(prims[0]), Vec3::X);
    let whole = Placement { is_linked_set: true, is_uniform: true, ..scaled(Vec3::splat(1.0)) };
    stage.ask(ADA, place(prims[0], whole)).done();
    assert_eq!((stage.body(prims[0]).scale, stage.body(prims[1]).scale), (Vec3::ONE, Vec3::ONE));
    assert!(is_near(stage.position(prims[1]), root + 2.0 * offset));
    let alone = Placement { is_linked_set: true, ..scaled(Vec3::splat(4.0)) };
    stage.ask(ADA, place(prims[0], alone)).done();
    stage.ask(ADA, place(prims[1], scaled(Vec3::new(1e9, -1.0, 2.0)))).done();
    assert_eq!(stage.body(prims[0]).scale, Vec3::splat(4.0));
    assert_eq!(stage.body(prims[1]).scale, Vec3::new(256.0, 0.001, 2.0));
    assert!(is_near(stage.position(prims[1]), root + 2.0 * offset));
}

#[test]
fn a_place_beyond_the_border_is_refused_and_a_height_is_cut() {
    let mut stage = Stage::new();
    let ids = [stage.rez(ADA), stage.rez(ADA)];
    for outside in [Vec3::new(-0.1, 5.0, 5.0), Vec3::new(5.0, 256.5, 5.0), Vec3::new(f32::MAX, 0.0, 0.0)] {
        stage.ask(ADA, place(ids[0], linked(outside))).refused(EditRefusal::Outside, &ids[..1]);
    }
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let request = vec![(ids[0], linked(Vec3::Z * bad)), (ids[1], linked(Vec3::new(0.0, 256.0, 1e30)))];
        stage.ask(ADA, ObjectCommand::Place(request)).refused(EditRefusal::BadNumber, &ids[..1]);
    }
    assert_eq!(stage.position(ids[1]), Vec3::new(0.0, 256.0, 4_096.0));
    stage.ask(ADA, place(ids[1], linked(Vec3::new(1.0, 1.0, f32::MIN)))).done();
    assert_eq!(stage.position(ids[1]).z, -100.0);
    let denormal = Vec3::splat(f32::MIN_POSITIVE / 4.0);
    stage.ask(ADA, place(ids[1], Placement { scale: Some(denormal), ..linked(denormal) })).done();
    assert_eq!((stage.position(ids[1]), stage.body(ids[1]).scale), (denormal, Vec3::splat(0.001)));
}

#[test]
fn a_user_who_may_move_a_linkset_may_neither_scale_it_nor_move_its_parts() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 2);
    let mask = MaskEdit { field: 8, is_set: true, bits: Mask::MOVE.bits() };
    stage.ask(ADA, ObjectCommand::Permissions(vec![(prims[0], mask)])).done();
    stage.ask(EVE, place(prims[0], linked(Vec3::splat(90.0)))).done();
    let refused = [
        (prims[0], Placement { scale: Some(Vec3::ONE), ..linked(Vec3::splat(80.0)) }),
        (prims[0], single(Vec3::splat(80.0))),
        (prims[1], single(Vec3::ZERO)),
    ];
    let ids = refused.map(|(id, _)| id);
    stage.ask(EVE, ObjectCommand::Place(refused.to_vec())).refused(EditRefusal::Rights, &ids);
    assert_eq!(stage.position(prims[0]), Vec3::splat(90.0));
}

#[test]
fn changes_of_place_are_taken_back_and_repeated_one_by_one() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 3);
    let object = stage.id_of(prims[0]);
    let whole = Placement { is_linked_set: true, is_uniform: true, ..scaled(Vec3::splat(2.0)) };
    let mut states = vec![stage.places()];
    for placement in [linked(Vec3::splat(90.0)), whole, single(Vec3::splat(92.0))] {
        stage.ask(ADA, place(prims[0], placement)).done();
        states.push(stage.places());
    }
    for n in (0..3).rev() {
        stage.ask(ADA, ObjectCommand::Undo(vec![object])).done();
        assert_eq!(stage.places(), states[n]);
    }
    stage.ask(ADA, ObjectCommand::Undo(vec![object])).refused(EditRefusal::NoHistory, &prims[..1]);
    for state in &states[1..] {
        stage.ask(ADA, ObjectCommand::Redo(vec![object])).done();
        assert_eq!(stage.places(), *state);
    }
    stage.ask(ADA, ObjectCommand::Redo(vec![object])).refused(EditRefusal::NoHistory, &prims[..1]);
}

#[test]
fn a_history_is_its_sessions_own_and_ends_with_the_visit() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let object = stage.id_of(id);
    stage.ask(FAY, place(id, linked(Vec3::splat(90.0)))).done();
    stage.ask(ADA, ObjectCommand::Undo(vec![object])).refused(EditRefusal::NoHistory, &[id]);
    let leave_and_return = |stage: &mut Stage| {
        let command = |sequence, action| link::Command::by_session(FAY, sequence, action);
        let again = super::stage::enter(FAY);
        stage.step(vec![command(1 << 40, link::Action::Leave), command(2 << 40, again)]);
    };
    leave_and_return(&mut stage);
    let undo = link::Action::Object(Box::new(ObjectCommand::Undo(vec![object])));
    stage.step(vec![link::Command::by_session(FAY, 3 << 40, undo)]);
    assert_eq!(stage.position(id), Vec3::splat(90.0));
    // The rights ended with the visit, too.
    assert_eq!(stage.world.counters().edits.refused_for(EditRefusal::NoHistory), 2);
}

#[test]
fn a_change_that_became_impossible_is_not_taken_back() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 2);
    let object = stage.id_of(prims[1]);
    stage.ask(ADA, place(prims[1], single(Vec3::X))).done();
    stage.ask(ADA, ObjectCommand::Delink(vec![prims[1]])).done();
    stage.ask(ADA, ObjectCommand::Undo(vec![object])).refused(EditRefusal::NoHistory, &prims[1..]);
    // An operator moves and locks what the owner then cannot move back.
    stage.ask(ADA, place(prims[0], linked(Vec3::splat(70.0)))).done();
    let lock = MaskEdit { field: 2, is_set: false, bits: Mask::MOVE.bits() };
    stage.ask(SessionKey::NODE, ObjectCommand::Permissions(vec![(prims[0], lock)]));
    let object = stage.id_of(prims[0]);
    stage.ask(ADA, ObjectCommand::Undo(vec![object])).refused(EditRefusal::Rights, &prims[..1]);
    assert_eq!(stage.position(prims[0]), Vec3::splat(70.0));
}

#[test]
fn a_change_that_is_taken_back_too_fast_can_be_taken_back_later() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 4);
    let object = stage.id_of(prims[0]);
    let before = stage.places();
    let whole = Placement { is_linked_set: true, is_uniform: true, ..scaled(Vec3::splat(2.0)) };
    stage.ask(ADA, place(prims[0], whole)).done();
    stage.pass(std::time::Duration::from_secs(2));
    // Enough for the request and the look at the parts, and for no more.
    stage.limit(ObjectLimits { edits_per_s: 4, ..ObjectLimits::default() });
    stage.ask(ADA, ObjectCommand::Undo(vec![object])).refused(EditRefusal::TooFast, &prims[..1]);
    stage.limit(ObjectLimits::default());
    stage.pass(std::time::Duration::from_secs(2));
    stage.ask(ADA, ObjectCommand::Undo(vec![object])).done();
    assert_eq!(stage.places(), before);
}
