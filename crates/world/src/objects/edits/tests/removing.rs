//! Linksets that leave the world.

use super::stage::{ADA, EVE, FAY, OPERATOR, Stage, agent_of};
use ids::{LocalId, SessionKey, Uuid};
use link::{Action, Derez, DerezKind, EditRefusal, MaskEdit, ObjectChange, ObjectCommand};
use prim::{Mask, MaskField, Permissions};

fn derez(objects: &[LocalId], kind: DerezKind) -> ObjectCommand {
    let (folder, transaction) = (Uuid::from_u128(8), Uuid::from_u128(9));
    ObjectCommand::Derez(Derez { objects: objects.to_vec(), kind, folder, transaction })
}

#[test]
fn a_linkset_that_is_deleted_is_gone_with_its_parts() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 3);
    stage.ask(ADA, derez(&prims[1..2], DerezKind::Delete)).refused(EditRefusal::Part, &prims[1..2]);
    let answer = stage.ask(ADA, derez(&[prims[0], LocalId(7)], DerezKind::Delete));
    answer.refused(EditRefusal::Unknown, &[LocalId(7)]);
    assert_eq!((answer.held().len(), stage.store().len()), (0, 0));
    let mut removed: Vec<&ObjectChange> = stage.frame.objects.iter().collect();
    removed.retain(|change| matches!(change, ObjectChange::Removed(_)));
    assert_eq!(removed.len(), 3);
}

#[test]
fn a_linkset_that_is_returned_is_held_whole_for_its_owner() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 3);
    let (root, bodies) =
        (stage.store().motion(prims[0]).copied(), prims.iter().map(|&id| stage.body(id).clone()));
    let bodies: Vec<_> = bodies.collect();
    let held = stage.ask(OPERATOR, derez(&prims[..1], DerezKind::Return)).done().held().remove(0);
    assert_eq!((held.owner, held.by, held.kind), (agent_of(ADA), OPERATOR, DerezKind::Return));
    assert_eq!((held.folder, held.transaction), (Uuid::from_u128(8), Uuid::from_u128(9)));
    assert_eq!(Some(held.linksets[0][0].0), root);
    assert!(held.prims().map(|(_, versioned)| &*versioned.body).eq(&bodies), "as it was");
    assert_eq!(stage.store().len(), 0);
}

#[test]
fn the_node_returns_and_deletes_but_takes_nothing() {
    let mut stage = Stage::new();
    let ids = [stage.rez(ADA), stage.rez(EVE), stage.rez(ADA)];
    let node = SessionKey::NODE;
    let answer = stage.ask(node, derez(&ids[..1], DerezKind::Return));
    assert_eq!((answer.held()[0].owner, answer.held()[0].by), (agent_of(ADA), node));
    assert_eq!(stage.ask(node, derez(&ids[1..2], DerezKind::Delete)).held().len(), 0);
    assert_eq!(stage.ask(node, derez(&ids[2..], DerezKind::Take)).held().len(), 0);
    assert_eq!(stage.store().len(), 1);
    assert_eq!(stage.world.counters().edits.refused_for(EditRefusal::NoOwner), 1);
}

#[test]
fn a_linkset_that_another_user_takes_is_the_takers_as_the_next_owner() {
    let mut stage = Stage::new();
    let ids = [stage.rez(ADA), stage.rez(ADA), stage.rez(ADA)];
    let own = stage.ask(ADA, derez(&ids[..1], DerezKind::Take)).done().held().remove(0);
    let permissions = own.linksets[0][0].1.body.ownership.permissions;
    assert_eq!((own.owner, permissions), (agent_of(ADA), Permissions::NEW));
    let taken = stage.ask(FAY, derez(&ids[1..2], DerezKind::Take)).done().held().remove(0);
    let ownership = &taken.linksets[0][0].1.body.ownership;
    assert_eq!(
        (taken.owner, ownership.owner, ownership.last_owner),
        (agent_of(FAY), agent_of(FAY), agent_of(ADA))
    );
    assert_eq!(ownership.permissions, Permissions::NEW.for_next_owner());
    let copy = stage.ask(FAY, derez(&ids[2..], DerezKind::TakeCopy)).done().held().remove(0);
    assert_eq!((copy.owner, stage.store().len()), (agent_of(FAY), 1));
    assert_eq!(stage.body(ids[2]).ownership.owner, agent_of(ADA));
}

#[test]
fn linksets_that_are_taken_with_one_request_are_one_object_for_each_owner() {
    let mut stage = Stage::new();
    let pair = stage.rez_linkset(ADA, 2);
    let [single, own, foreign] = [stage.rez(ADA), stage.rez(FAY), stage.rez(EVE)];
    let objects = [pair[0], foreign, own, single, pair[0], pair[1]];
    let answer = stage.ask(FAY, derez(&objects, DerezKind::TakeCopy));
    answer.refused(EditRefusal::Rights, &[foreign, pair[0], pair[1]]);
    let lengths = |answer: &super::stage::Answer| -> Vec<Vec<usize>> {
        let held = answer.held().into_iter();
        held.map(|object| object.linksets.iter().map(Vec::len).collect()).collect()
    };
    assert_eq!((lengths(&answer), stage.store().len()), (vec![vec![2, 1], vec![1]], 5));
    let answer = stage.ask(FAY, derez(&[own, pair[0], single], DerezKind::Take)).done();
    assert_eq!((lengths(&answer), stage.store().len()), (vec![vec![1], vec![2, 1]], 1));
    let held = answer.held();
    assert!(held.iter().all(|object| (object.owner, object.by) == (agent_of(FAY), FAY)));
    let owners = held.iter().flat_map(|object| object.prims()).map(|(_, prim)| prim.body.ownership.owner);
    assert!(owners.into_iter().all(|owner| owner == agent_of(FAY)));
    // Those that are deleted can come back one by one.
    let ids = [stage.rez(ADA), stage.rez(ADA)];
    assert_eq!(lengths(&stage.ask(ADA, derez(&ids, DerezKind::Trash)).done()), [[1], [1]]);
}

#[test]
fn a_linkset_that_is_saved_stays_and_its_copy_names_the_item() {
    let mut stage = Stage::new();
    let ids = [stage.rez(ADA), stage.rez(ADA)];
    let held = stage.ask(ADA, derez(&ids, DerezKind::Save)).done().held();
    assert_eq!((held.len(), stage.store().len()), (2, 2), "one by one");
    assert!(held.iter().all(|object| (object.kind, object.folder) == (DerezKind::Save, Uuid::from_u128(8))));
    stage.ask(EVE, derez(&ids[..1], DerezKind::Save)).refused(EditRefusal::Rights, &ids[..1]);
}

#[test]
fn linksets_that_are_taken_together_stay_together_without_room() {
    let mut stage = Stage::new();
    let ids = [stage.rez(ADA), stage.rez(ADA)];
    stage.order(Action::HeldFull { owner: agent_of(ADA), is_full: true });
    for kind in [DerezKind::Take, DerezKind::TakeCopy] {
        let answer = stage.ask(ADA, derez(&ids, kind));
        answer.refused(EditRefusal::HeldFull, &ids);
        assert_eq!((answer.transfers.len(), stage.store().len()), (0, 2));
    }
}

#[test]
fn a_locked_linkset_stays() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let lock = MaskEdit { field: MaskField::Owner as u8, is_set: false, bits: Mask::MOVE.bits() };
    stage.ask(ADA, ObjectCommand::Permissions(vec![(id, lock)])).done();
    for kind in [DerezKind::Delete, DerezKind::Trash, DerezKind::Return, DerezKind::Take] {
        stage.ask(ADA, derez(&[id], kind)).refused(EditRefusal::Rights, &[id]);
    }
    assert_eq!(stage.ask(OPERATOR, derez(&[id], DerezKind::Trash)).done().held()[0].owner, agent_of(ADA));
}
