//! Each kind of request by users without the right to it, and about ids of no object: nothing changes.

use super::stage::{ADA, Answer, EVE, Stage, agent_of};
use glam::{Quat, Vec3};
use ids::{LocalId, SessionKey, Uuid};
use link::{
    CopyPlace, Derez, DerezKind, Duplicates, EditRefusal, ExtraParamEdit, FaceMaterial, FlagsEdit, MaskEdit,
    ObjectCommand, Offer, Placement, RenderMaterialEdit, Textures, plain_texture,
};
use prim::{MaskField, MediaEntry, Shape};
use std::sync::Arc;

/// Every kind of request, about these two prims.
pub(super) fn requests(ids: [LocalId; 2], objects: [Uuid; 2]) -> Vec<ObjectCommand> {
    let [a, b] = ids;
    let places = [
        Placement { position: Some(Vec3::splat(9.0)), is_linked_set: true, ..Placement::default() },
        Placement { position: Some(Vec3::splat(9.0)), ..Placement::default() },
        Placement { rotation: Some(Quat::from_rotation_x(1.0)), is_linked_set: true, ..Placement::default() },
        Placement { scale: Some(Vec3::ONE), ..Placement::default() },
        Placement { scale: Some(Vec3::ONE), is_linked_set: true, is_uniform: true, ..Placement::default() },
    ];
    let entry: Arc<[u8]> = Arc::new(plain_texture(9));
    let textures = || Textures { entry: Arc::clone(&entry), media_url: "http://a/".into() };
    let mesh = || ExtraParamEdit { kind: 0x70, data: Some(vec![1; 4]) };
    let offset = CopyPlace::Offset(Vec3::Z);
    let at = CopyPlace::At { position: Vec3::splat(9.0), ray: None, rotation: None };
    let duplicates = |place: CopyPlace, ids| Duplicates {
        ids: Uuid::from_u128(ids),
        group: Uuid::nil(),
        is_selected: true,
        copies: vec![(a, place), (b, place)],
    };
    let ids = || vec![a, b];
    let flags = FlagsEdit { is_physical: true, is_temporary: true, is_phantom: true, physics: None };
    let offer = Offer { kind: 1, price: 0 };
    let shiny = || RenderMaterialEdit { face: None, material: Some(Uuid::from_u128(8)), changes: None };
    let bumpy = FaceMaterial { face: Some(1), material: Uuid::from_u128(9) };
    let group = Uuid::from_u128(3);
    let mut all = vec![
        ObjectCommand::Duplicate(Box::new(duplicates(offset, 1 << 80))),
        ObjectCommand::Duplicate(Box::new(duplicates(at, 2 << 80))),
        ObjectCommand::Shape(vec![(a, Shape { profile_hollow: 9, ..Shape::BOX }), (b, Shape::BOX)]),
        ObjectCommand::Textures(vec![(a, textures()), (b, textures())]),
        ObjectCommand::Material(vec![(a, 1), (b, 2)]),
        ObjectCommand::ExtraParam(vec![(a, mesh()), (b, mesh())]),
        ObjectCommand::Flags(a, flags),
        ObjectCommand::Name(vec![(a, "Mine".into()), (b, "Mine".into())]),
        ObjectCommand::Description(vec![(a, "Mine".into()), (b, "Mine".into())]),
        ObjectCommand::ClickAction(vec![(a, 1), (b, 1)]),
        ObjectCommand::InSearch(vec![(a, true), (b, false)]),
        ObjectCommand::Group { objects: ids(), group },
        ObjectCommand::Owner { objects: ids(), owner: agent_of(EVE), group },
        ObjectCommand::Sale(vec![(a, offer), (b, offer)]),
        ObjectCommand::Buy { offers: vec![(a, offer), (b, offer)], group },
        ObjectCommand::Link(ids()),
        ObjectCommand::Delink(ids()),
        ObjectCommand::Undo(objects.into()),
        ObjectCommand::Redo(objects.into()),
        ObjectCommand::Media(a, vec![Some(MediaEntry::default())]),
        ObjectCommand::RenderMaterial(vec![(a, shiny()), (b, shiny())]),
        ObjectCommand::FaceMaterial(vec![(a, bumpy), (b, bumpy)]),
        ObjectCommand::Drag { object: a, grip: Vec3::ZERO, target: Vec3::splat(9.0) },
    ];
    all.extend(places.map(|place| ObjectCommand::Place(vec![(a, place), (b, place)])));
    all.extend([1, 2, 4, 8, 16].map(|field| {
        let edit = |is_set| MaskEdit { field, is_set, bits: u32::MAX };
        ObjectCommand::Permissions(vec![(a, edit(true)), (b, edit(false))])
    }));
    let kinds =
        [DerezKind::Delete, DerezKind::Trash, DerezKind::Return, DerezKind::Take, DerezKind::TakeCopy];
    all.extend(kinds.map(|kind| {
        let (folder, transaction) = (Uuid::nil(), Uuid::nil());
        ObjectCommand::Derez(Derez { objects: ids(), kind, folder, transaction })
    }));
    all
}

/// All that a request can change, but for the rates that it uses.
fn state(stage: &Stage) -> (u64, Vec<link::ObjectPage>, u64) {
    (stage.store().hash(), stage.store().pages(), stage.world.edits.temporaries.hash())
}

#[track_caller]
fn assert_refused(stage: &mut Stage, by: SessionKey, request: &ObjectCommand, reasons: &[EditRefusal]) {
    let before = state(stage);
    let n_done = stage.world.counters().edits.done;
    let Answer { created, refused, transfers, .. } = stage.ask(by, request.clone());
    let (reason, ids) = refused.unwrap_or_else(|| panic!("{request:?} was not refused"));
    assert!(reasons.contains(&reason), "{reason:?}: {request:?}");
    let is_by_id = matches!(request, ObjectCommand::Undo(_) | ObjectCommand::Redo(_));
    assert!(ids.len() == request.n_objects() || is_by_id, "{ids:?}: {request:?}");
    assert!(created.is_empty() && transfers.is_empty() && stage.frame.objects.is_empty(), "{request:?}");
    assert!(state(stage) == before, "{request:?}");
    assert_eq!(stage.world.counters().edits.done, n_done);
}

#[test]
fn a_stranger_changes_nothing() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 2);
    let single = stage.rez(ADA);
    // A change of place that only its author may take back.
    let place = Placement { position: Some(Vec3::splat(40.0)), is_linked_set: true, ..Placement::default() };
    stage.ask(ADA, ObjectCommand::Place(vec![(prims[0], place), (single, place)])).done();
    let ids = [prims[0], single];
    let requests = requests(ids, ids.map(|id| stage.id_of(id)));
    for request in &requests {
        let reason = match request {
            ObjectCommand::Buy { .. } => EditRefusal::NotForSale,
            ObjectCommand::Undo(_) | ObjectCommand::Redo(_) => EditRefusal::NoHistory,
            _ => EditRefusal::Rights,
        };
        assert_refused(&mut stage, EVE, request, &[reason]);
    }
    assert!(requests.len() >= 36, "{}", requests.len());
}

#[test]
fn an_owner_changes_nothing_of_a_locked_object_but_its_rights() {
    let mut stage = Stage::new();
    let ids = [stage.rez(ADA), stage.rez(ADA)];
    let lock = MaskEdit { field: MaskField::Owner as u8, is_set: false, bits: prim::Mask::MOVE.bits() };
    stage.ask(ADA, ObjectCommand::Permissions(ids.map(|id| (id, lock)).into())).done();
    for request in requests(ids, ids.map(|id| stage.id_of(id))) {
        let is_of_rights = matches!(
            request,
            ObjectCommand::Permissions(_)
                | ObjectCommand::Group { .. }
                | ObjectCommand::Sale(_)
                | ObjectCommand::Buy { .. }
        );
        let is_copy = match &request {
            ObjectCommand::Duplicate(_) => true,
            ObjectCommand::Derez(derez) => derez.kind == DerezKind::TakeCopy,
            _ => false,
        };
        if !is_of_rights && !is_copy {
            assert_refused(&mut stage, ADA, &request, &[EditRefusal::Rights, EditRefusal::NoHistory]);
        }
    }
}

#[test]
fn ids_of_no_object_are_refused_as_unknown() {
    let mut stage = Stage::new();
    let kept = stage.rez(ADA);
    let avatar = stage.world.avatars().next().expect("Ada").id;
    let unused = LocalId(kept.0 + 1);
    let other_region = LocalId(5 << 20);
    for ids in [[avatar, unused], [LocalId(0), LocalId(u32::MAX)], [other_region, avatar]] {
        for request in requests(ids, [Uuid::from_u128(1), Uuid::nil()]) {
            assert_refused(&mut stage, ADA, &request, &[EditRefusal::Unknown]);
        }
    }
    assert_eq!(stage.world.counters().edits.refused_for(EditRefusal::Rights), 0);
}

#[test]
fn a_session_without_an_avatar_is_ignored() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let ghost = SessionKey(99);
    let request = ObjectCommand::Name(vec![(id, "Mine".into())]);
    let name = link::Action::Object(Box::new(request));
    let rights =
        link::Action::EditRights(Box::new(link::EditRights { is_operator: true, owners: Vec::new() }));
    let before = (state(&stage), stage.world.counters().ignored);
    stage.step(vec![link::Command::by_node(ghost, 1, rights), link::Command::by_session(ghost, 2, name)]);
    assert_eq!((state(&stage), stage.world.counters().ignored), (before.0, before.1 + 2));
    assert_eq!(stage.frame.events, []);
}
