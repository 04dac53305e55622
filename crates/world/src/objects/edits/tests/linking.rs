//! Linksets.

use super::stage::{ADA, EVE, OPERATOR, Stage, new_object};
use glam::Vec3;
use ids::LocalId;
use link::{EditRefusal, FlagsEdit, MaskEdit, NewObject, ObjectCommand, Offer, Placement, PrimFlags};
use prim::{Mask, MaskField, Permissions, SaleKind};
use std::time::Duration;

fn link(objects: &[LocalId]) -> ObjectCommand {
    ObjectCommand::Link(objects.to_vec())
}

fn delink(objects: &[LocalId]) -> ObjectCommand {
    ObjectCommand::Delink(objects.to_vec())
}

fn linkset(stage: &Stage, root: LocalId) -> Vec<LocalId> {
    stage.store().linkset(root).collect()
}

#[test]
fn parts_are_linked_in_the_order_of_the_request_and_have_their_roots_flags_and_masks() {
    let mut stage = Stage::new();
    let prims = [stage.rez(ADA), stage.rez(ADA), stage.rez(ADA), stage.rez(ADA)];
    let free = MaskEdit { field: 8, is_set: true, bits: Mask::COPY.bits() };
    let offer = Offer { kind: 1, price: 3 };
    stage.ask(ADA, ObjectCommand::Permissions(vec![(prims[0], free)])).done();
    stage
        .ask(ADA, ObjectCommand::Flags(prims[0], FlagsEdit { is_phantom: true, ..FlagsEdit::default() }))
        .done();
    stage.ask(ADA, ObjectCommand::Sale(vec![(prims[0], offer), (prims[2], offer)])).done();
    stage.ask(ADA, link(&[prims[2], prims[3]])).done();
    stage.ask(ADA, link(&[prims[0], prims[1], prims[3]])).done();
    assert_eq!(linkset(&stage, prims[0]), prims);
    let expected = Permissions::NEW.with(MaskField::Everyone, Mask::COPY, true);
    for &prim in &prims[1..] {
        assert!(stage.flags(prim).any(PrimFlags::PHANTOM));
        assert_eq!(stage.body(prim).ownership.permissions, expected);
        assert_eq!(stage.body(prim).sale.kind, SaleKind::No);
    }
    assert_eq!(stage.body(prims[0]).sale.kind, SaleKind::Original);
}

#[test]
fn links_that_cannot_be_are_refused_one_by_one() {
    let mut stage = Stage::new();
    let [a, b, c] = [stage.rez(ADA), stage.rez(ADA), stage.rez(ADA)];
    let foreign = stage.rez(EVE);
    let avatar = stage.world.avatars().next().expect("Ada").id;
    stage.ask(ADA, link(&[a, a])).refused(EditRefusal::Itself, &[a]);
    stage.ask(ADA, link(&[a, b, b])).refused(EditRefusal::Itself, &[b]);
    // In a circle.
    stage.ask(ADA, link(&[b, a])).refused(EditRefusal::Itself, &[a]);
    stage.ask(ADA, link(&[a, foreign, avatar, c])).refused(EditRefusal::Rights, &[foreign, avatar]);
    assert_eq!(linkset(&stage, a), [a, b, c]);
    stage.ask(ADA, link(&[foreign, a])).refused(EditRefusal::Rights, &[foreign, a]);
    stage.ask(OPERATOR, link(&[foreign, a])).refused(EditRefusal::OtherOwner, &[a]);
    stage.ask(ADA, link(&[LocalId(0), a])).refused(EditRefusal::Unknown, &[LocalId(0), a]);
    let far = stage.rez_as(ADA, new_object(0, Vec3::new(50.0, 50.0, 3_000.0)));
    stage.ask(ADA, link(&[a, far])).refused(EditRefusal::TooFar, &[far]);
    assert_eq!(stage.store().linkset_len(a), 3);
}

#[test]
fn a_whole_linkset_that_is_named_becomes_single_prims_where_they_were() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 5);
    let before = prims.iter().map(|&id| stage.position(id)).collect::<Vec<_>>();
    stage.ask(ADA, delink(&prims)).done();
    for (&id, before) in prims.iter().zip(before) {
        assert_eq!(linkset(&stage, id), [id]);
        assert!(stage.position(id).distance(before) < 1e-4);
    }
    // A prim that stands alone stays so.
    stage.ask(ADA, delink(&prims[..1])).done();
}

#[test]
fn a_root_that_leaves_passes_its_other_parts_to_the_first_of_them() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 5);
    stage.ask(ADA, delink(&[prims[0], prims[2]])).done();
    assert_eq!(linkset(&stage, prims[1]), [prims[1], prims[3], prims[4]]);
    assert_eq!(linkset(&stage, prims[0]), [prims[0]]);
    stage.ask(EVE, delink(&[prims[3]])).refused(EditRefusal::Rights, &[prims[3]]);
}

#[test]
fn a_part_that_hangs_over_the_border_stays_a_part() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 3);
    let at_the_border = Placement {
        position: Some(Vec3::new(254.5, 60.0, 30.0)),
        is_linked_set: true,
        ..Placement::default()
    };
    stage.ask(ADA, ObjectCommand::Place(vec![(prims[0], at_the_border)])).done();
    assert_eq!(stage.position(prims[2]).x, 256.5);
    stage.ask(ADA, delink(&prims)).refused(EditRefusal::Outside, &[prims[2], prims[0]]);
    assert_eq!(linkset(&stage, prims[0]), [prims[0], prims[2]]);
}

#[test]
fn a_root_between_two_parts_that_are_too_far_from_each_other_stays() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 3);
    let heights = [-100.0, 200.0];
    let place = |z| Placement { position: Some(Vec3::Z * z), ..Placement::default() };
    let places = prims[1..].iter().zip(heights).map(|(&id, z)| (id, place(z)));
    stage.ask(ADA, ObjectCommand::Place(places.collect())).done();
    stage.ask(ADA, delink(&prims[..1])).refused(EditRefusal::TooFar, &prims[..1]);
    assert_eq!(linkset(&stage, prims[0]), prims);
}

#[test]
fn a_temporary_part_of_a_kept_linkset_is_kept() {
    let mut stage = Stage::new();
    let root = stage.rez(ADA);
    let temporary = NewObject { flags: PrimFlags::TEMPORARY, ..new_object(0, Vec3::splat(50.0)) };
    let part = stage.rez_as(ADA, temporary);
    let object = stage.id_of(part);
    let answer = stage.ask(ADA, link(&[root, part])).done();
    let kept = stage.store().local_id(object).unwrap();
    assert_eq!((answer.created, stage.store().is_temporary_id(kept)), (vec![kept], false));
    stage.pass(Duration::from_secs(61));
    assert_eq!(linkset(&stage, root), [root, kept]);
}

#[test]
fn parts_of_a_temporary_linkset_vanish_with_it_also_when_they_left_it() {
    let mut stage = Stage::new();
    let temporary = || NewObject { flags: PrimFlags::TEMPORARY, ..new_object(0, Vec3::splat(50.0)) };
    let root = stage.rez_as(ADA, temporary());
    let prims = [root, stage.rez(ADA), stage.rez(ADA), stage.rez(ADA)];
    stage.ask(ADA, link(&prims)).done();
    stage.ask(ADA, delink(&[prims[0], prims[1]])).done();
    assert_eq!(linkset(&stage, prims[2]), [prims[2], prims[3]]);
    stage.pass(Duration::from_secs(59));
    assert_eq!(stage.store().len(), 4);
    stage.pass(Duration::from_secs(1));
    assert_eq!(stage.store().len(), 0);
}
