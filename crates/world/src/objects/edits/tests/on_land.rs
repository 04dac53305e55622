//! Objects on parcels: rights to build, room, entry, and returns.

use super::stage::{ADA, EVE, FAY, OPERATOR, Stage, agent_of, new_object};
use glam::Vec3;
use ids::{LocalId, SessionKey, Uuid};
use link::{
    Action, Command, Derez, DerezKind, EditRefusal, EstateEdit, EstateList, Event, FlagsEdit, LandCommand,
    LandEdit, LandEvent, LandRect, LandRefusal, NewObject, ObjectCommand, ObjectLimits, Parcel, ParcelEdit,
    ParcelFlags, ParcelNumber, Placement, PrimFlags, ReturnKinds,
};
use std::collections::BTreeSet;
use std::time::Duration;

/// The western half, which [`divided`] makes another parcel.
const WEST: Vec3 = Vec3::new(20.0, 60.0, 30.0);
const EAST: Vec3 = Vec3::new(200.0, 60.0, 30.0);

fn set_flags(parcel: &mut Parcel, flags: ParcelFlags) {
    parcel.settings.flags = flags;
}

/// A region whose western half is a parcel of its own; both are Ada's, with these flags.
fn divided(flags: ParcelFlags) -> (Stage, ParcelNumber, ParcelNumber) {
    let mut stage = Stage::on_parcel(|parcel| {
        set_flags(parcel, flags);
        parcel.owner = Some(agent_of(ADA));
    });
    let area = LandRect { west: 0.0, south: 0.0, east: 128.0, north: 256.0 };
    stage.edit_land(LandEdit::Divide { area, id: Uuid::from_u128(0xB) });
    let number_at = |stage: &Stage, at: Vec3| {
        stage.world.land().expect("with land").parcel_at(at.truncate()).expect("in the region").number
    };
    let (west, east) = (number_at(&stage, WEST), number_at(&stage, EAST));
    assert_ne!(west, east);
    (stage, west, east)
}

fn n_prims_on(stage: &Stage, number: ParcelNumber) -> u32 {
    stage.world.land_use.as_ref().expect("objects on land").n_prims_on(number)
}

/// A new prim of a session at a place.
fn create(id: u128, at: Vec3) -> ObjectCommand {
    ObjectCommand::Create(Box::new(new_object(id, at)))
}

fn move_to(id: LocalId, at: Vec3) -> ObjectCommand {
    let placement = Placement { position: Some(at), is_linked_set: true, ..Placement::default() };
    ObjectCommand::Place(vec![(id, placement)])
}

fn give_to(number: ParcelNumber, owner: SessionKey) -> LandEdit {
    LandEdit::Parcel(number, ParcelEdit::ForceOwner(Some(agent_of(owner))))
}

#[test]
fn land_that_is_closed_to_builders_is_built_on_by_its_owner_and_operators_only() {
    let mut stage = Stage::on_parcel(|parcel| {
        set_flags(parcel, ParcelFlags(0));
        parcel.owner = Some(agent_of(ADA));
    });
    stage.ask(EVE, create(1, WEST)).refused(EditRefusal::NoBuilding, &[]);
    stage.ask(FAY, create(2, WEST)).refused(EditRefusal::NoBuilding, &[]);
    let made = stage.ask(ADA, create(3, WEST)).done().created;
    stage.ask(OPERATOR, create(4, WEST)).done();
    let copy = |id| {
        let copies = vec![(id, link::CopyPlace::Offset(Vec3::X))];
        let ids = Uuid::from_u128(99);
        ObjectCommand::Duplicate(Box::new(link::Duplicates {
            ids,
            group: Uuid::nil(),
            is_selected: false,
            copies,
        }))
    };
    stage.ask(FAY, copy(made[0])).refused(EditRefusal::NoBuilding, &made);
    assert_eq!(stage.store().len(), 2);
}

#[test]
fn objects_enter_land_by_its_rule_and_move_freely_on_their_own() {
    let (mut stage, west, east) = divided(ParcelFlags::CREATE_OBJECTS);
    stage.edit_land(give_to(west, EVE));
    let id = stage.ask(EVE, create(1, WEST)).done().created[0];
    stage.ask(EVE, move_to(id, WEST + Vec3::Y)).done();
    stage.ask(EVE, move_to(id, EAST)).refused(EditRefusal::NoEntry, &[id]);
    assert_eq!(stage.position(id), WEST + Vec3::Y);
    stage.ask(OPERATOR, move_to(id, EAST)).done();
    assert_eq!((n_prims_on(&stage, west), n_prims_on(&stage, east)), (0, 1));
    // Onto the owner's own land.
    stage.ask(EVE, move_to(id, WEST)).done();
    assert_eq!((n_prims_on(&stage, west), n_prims_on(&stage, east)), (1, 0));
}

#[test]
fn a_parcel_has_room_by_its_area() {
    let (mut stage, west, _) = divided(ParcelFlags::CREATE_OBJECTS);
    stage.limit(ObjectLimits { objects_max: 6, ..ObjectLimits::default() });
    let prims: Vec<LocalId> = (1..4).map(|n| stage.ask(ADA, create(n, WEST)).done().created[0]).collect();
    stage.ask(ADA, create(4, WEST)).refused(EditRefusal::ParcelFull, &[]);
    let other = stage.ask(ADA, create(5, EAST)).done().created[0];
    stage.ask(ADA, move_to(other, WEST)).refused(EditRefusal::ParcelFull, &[other]);
    // A linkset counts where its root is.
    stage.ask(ADA, ObjectCommand::Link(vec![prims[0], other])).refused(EditRefusal::ParcelFull, &[other]);
    stage.ask(ADA, ObjectCommand::Link(vec![other, prims[0]])).done();
    assert_eq!(n_prims_on(&stage, west), 2);
    stage.ask(ADA, create(6, WEST)).done();
}

#[test]
fn the_owner_of_a_parcel_returns_objects_of_others_on_it() {
    let (mut stage, west, _) = divided(ParcelFlags::CREATE_OBJECTS);
    let id = stage.ask(EVE, create(1, WEST)).done().created[0];
    let derez = |kind| {
        let (folder, transaction) = (Uuid::nil(), Uuid::nil());
        ObjectCommand::Derez(Derez { objects: vec![id], kind, folder, transaction })
    };
    stage.ask(FAY, derez(DerezKind::Return)).refused(EditRefusal::Rights, &[id]);
    stage.ask(ADA, derez(DerezKind::Delete)).refused(EditRefusal::Rights, &[id]);
    let held = stage.ask(ADA, derez(DerezKind::Return)).done().held();
    assert_eq!(held.iter().map(|held| held.owner).collect::<Vec<_>>(), [agent_of(EVE)]);
    assert_eq!(n_prims_on(&stage, west), 0);
}

#[test]
fn an_order_returns_the_objects_of_its_kinds_on_its_parcel() {
    let (mut stage, west, _) = divided(ParcelFlags::CREATE_OBJECTS);
    let prims = [(ADA, WEST), (EVE, WEST), (FAY, WEST), (EVE, EAST)];
    for (n, (session, at)) in (1..).zip(prims) {
        stage.ask(session, create(n, at)).done();
    }
    let order = |kinds, owners: &[SessionKey]| {
        let owners = owners.iter().map(|&session| agent_of(session)).collect();
        LandEdit::Parcel(west, ParcelEdit::ReturnObjects { kinds, owners })
    };
    stage.edit_land(order(ReturnKinds::LISTED, &[FAY]));
    assert_eq!(stage.returned(), [Uuid::from_u128(3)]);
    stage.edit_land(order(ReturnKinds::OTHER, &[]));
    assert_eq!(stage.returned(), [Uuid::from_u128(2)]);
    stage.edit_land(order(ReturnKinds::OWNER, &[]));
    assert_eq!(stage.returned(), [Uuid::from_u128(1)]);
    assert_eq!(stage.store().len(), 1, "another parcel's");
}

#[test]
fn many_objects_are_returned_over_several_ticks_and_each_once() {
    let (mut stage, west, _) = divided(ParcelFlags::CREATE_OBJECTS);
    for n in 0..150_u32 {
        let at = WEST + Vec3::new((n % 10) as f32, (n / 10) as f32, 0.0);
        stage.ask(EVE, create(u128::from(n) + 1, at)).done();
    }
    let kinds = ReturnKinds::OTHER;
    stage.edit_land(LandEdit::Parcel(west, ParcelEdit::ReturnObjects { kinds, owners: Vec::new() }));
    let mut returned = stage.returned();
    let first = returned.len();
    assert!((1..100).contains(&first), "{first}");
    while stage.store().len() > 0 {
        assert!(!stage.world.is_quiet());
        stage.step(Vec::new());
        assert!(!stage.returned().is_empty());
        returned.extend(stage.returned());
    }
    let all: BTreeSet<Uuid> = returned.iter().copied().collect();
    assert_eq!((returned.len(), all.len()), (150, 150));
    stage.step(Vec::new());
    assert!(stage.world.edits.is_quiet());
}

#[test]
fn objects_of_others_are_returned_after_the_time_of_their_parcel() {
    let (mut stage, west, _) = divided(ParcelFlags::CREATE_OBJECTS);
    let [own, other, elsewhere] = [(ADA, WEST), (EVE, WEST), (EVE, EAST)];
    for (n, (session, at)) in (1..).zip([own, other, elsewhere]) {
        stage.ask(session, create(n, at)).done();
    }
    stage.edit_land(LandEdit::Parcel(west, ParcelEdit::AutoReturn { minutes: 1 }));
    stage.pass(Duration::from_secs(59));
    assert_eq!(stage.store().len(), 3);
    let again = stage.world.snapshot();
    let mut returned = Vec::new();
    for _ in 0..40 {
        stage.step(Vec::new());
        returned.extend(stage.returned());
    }
    assert_eq!(returned, [Uuid::from_u128(2)]);
    let mut restored = crate::World::restore(super::stage::config(), &again).expect("its own snapshot");
    let mut frame = link::Frame::empty();
    for tick in 0..40 {
        restored.step(ids::Tick(10_000 + tick), super::stage::TICK, 1.0, &mut Vec::new(), &mut frame);
    }
    assert_eq!(restored.objects.as_ref().expect("built on").len(), 2, "its time went on");
}

#[test]
fn an_object_that_leaves_a_parcel_before_its_time_stays() {
    let (mut stage, west, _) =
        divided(ParcelFlags(ParcelFlags::CREATE_OBJECTS.0 | ParcelFlags::ALLOW_OBJECT_ENTRY.0));
    stage.edit_land(LandEdit::Parcel(west, ParcelEdit::AutoReturn { minutes: 1 }));
    let id = stage.ask(EVE, create(1, WEST)).done().created[0];
    stage.pass(Duration::from_secs(30));
    stage.ask(EVE, move_to(id, EAST)).done();
    stage.pass(Duration::from_secs(61));
    assert_eq!(stage.store().len(), 1);
    assert!(stage.world.edits.is_quiet());
}

#[test]
fn linksets_count_anew_when_parcels_are_joined() {
    let (mut stage, west, east) = divided(ParcelFlags::CREATE_OBJECTS);
    for (n, at) in (1..).zip([WEST, WEST + Vec3::X, EAST]) {
        stage.ask(ADA, create(n, at)).done();
    }
    assert_eq!((n_prims_on(&stage, west), n_prims_on(&stage, east)), (2, 1));
    stage.edit_land(LandEdit::Join(LandRect { west: 0.0, south: 0.0, east: 256.0, north: 256.0 }));
    let all = n_prims_on(&stage, west) + n_prims_on(&stage, east);
    let most = n_prims_on(&stage, west).max(n_prims_on(&stage, east));
    // The next request brings it up to date.
    stage.step(Vec::new());
    assert_eq!((all, most), (3, 3));
}

fn full(owner: SessionKey, is_full: bool) -> Action {
    Action::HeldFull { owner: agent_of(owner), is_full }
}

#[test]
fn an_order_returns_no_object_of_a_user_for_whom_the_store_is_full_and_ends() {
    let (mut stage, west, _) = divided(ParcelFlags::CREATE_OBJECTS);
    for (n, session) in (1..).zip([EVE, FAY]) {
        stage.ask(session, create(n, WEST)).done();
    }
    stage.order(full(EVE, true));
    let kinds = ReturnKinds::OTHER;
    stage.edit_land(LandEdit::Parcel(west, ParcelEdit::ReturnObjects { kinds, owners: Vec::new() }));
    assert_eq!(stage.returned(), [Uuid::from_u128(2)]);
    stage.order(full(EVE, false));
    stage.step(Vec::new());
    assert_eq!((stage.store().len(), stage.world.edits.is_quiet()), (1, true), "its author may repeat it");
}

#[test]
fn an_object_whose_time_is_over_is_returned_once_the_store_takes_it() {
    let (mut stage, west, _) = divided(ParcelFlags::CREATE_OBJECTS);
    stage.ask(EVE, create(1, WEST)).done();
    stage.order(full(EVE, true));
    stage.edit_land(LandEdit::Parcel(west, ParcelEdit::AutoReturn { minutes: 1 }));
    stage.pass(Duration::from_secs(70));
    assert_eq!(stage.store().len(), 1);
    stage.order(full(EVE, false));
    stage.pass(Duration::from_secs(60));
    assert_eq!((stage.store().len(), stage.world.edits.is_quiet()), (0, true));
}

/// Edits of an operator in one step.
fn edit_at_once(stage: &mut Stage, edits: Vec<LandEdit>) {
    let commands = edits.into_iter().zip(1_u64 << 40..).map(|(edit, sequence)| {
        Command::by_node(OPERATOR, sequence, Action::Land(Box::new(LandCommand { at_s: 0, edit })))
    });
    stage.step(commands.collect());
}

fn return_others(number: ParcelNumber) -> LandEdit {
    LandEdit::Parcel(number, ParcelEdit::ReturnObjects { kinds: ReturnKinds::OTHER, owners: Vec::new() })
}

fn auto_return(number: ParcelNumber, minutes: u32) -> LandEdit {
    LandEdit::Parcel(number, ParcelEdit::AutoReturn { minutes })
}

#[test]
fn equal_orders_in_one_step_return_each_object_once_and_end() {
    let (mut stage, west, _) = divided(ParcelFlags::CREATE_OBJECTS);
    for n in 0..40_u8 {
        stage.ask(EVE, create(u128::from(n) + 1, WEST + f32::from(n) * Vec3::Y)).done();
    }
    edit_at_once(&mut stage, vec![return_others(west), return_others(west)]);
    assert_eq!((stage.returned().len(), stage.store().len()), (40, 0));
    assert!(stage.world.edits.is_quiet());
}

#[test]
fn orders_beyond_those_that_can_wait_are_refused() {
    let (mut stage, west, _) = divided(ParcelFlags::CREATE_OBJECTS);
    edit_at_once(&mut stage, vec![return_others(west); 66]);
    let is_refused = |event: &&Event| {
        matches!(event, Event::Land(_, LandEvent::Refused { reason: LandRefusal::Busy, .. }))
    };
    assert_eq!(stage.frame.events.iter().filter(is_refused).count(), 2);
}

#[test]
fn the_time_of_a_parcel_is_a_year_at_most() {
    let (mut stage, west, _) = divided(ParcelFlags::CREATE_OBJECTS);
    stage.ask(EVE, create(1, WEST)).done();
    stage.edit_land(auto_return(west, u32::MAX));
    let minutes = stage.world.land().and_then(|land| land.parcel(west)).map(|parcel| parcel.auto_return_min);
    assert_eq!(minutes, Some(Parcel::AUTO_RETURN_MAX_MIN));
    super::stage::check(&stage.world);
}

#[test]
fn a_longer_time_of_a_parcel_replaces_a_shorter_one() {
    let (mut stage, west, _) = divided(ParcelFlags::CREATE_OBJECTS);
    stage.ask(EVE, create(1, WEST)).done();
    stage.edit_land(auto_return(west, 1));
    stage.pass(Duration::from_secs(30));
    stage.edit_land(auto_return(west, 2));
    stage.pass(Duration::from_secs(110));
    assert_eq!(stage.store().len(), 1);
    stage.pass(Duration::from_secs(20));
    assert_eq!(stage.store().len(), 0);
}

#[test]
fn an_object_whose_place_has_no_rule_is_not_returned_by_an_earlier_one() {
    let (mut stage, _, _) = divided(ParcelFlags::CREATE_OBJECTS);
    let id = stage.ask(EVE, create(1, WEST)).done().created[0];
    let object = stage.id_of(id);
    stage.world.edits.auto_returns.schedule(object, 0);
    stage.step(Vec::new());
    assert_eq!((stage.store().len(), stage.world.edits.is_quiet()), (1, true));
}

#[test]
fn an_object_that_is_removed_waits_for_no_return() {
    let (mut stage, west, _) = divided(ParcelFlags::CREATE_OBJECTS);
    stage.edit_land(auto_return(west, 1));
    let id = stage.ask(EVE, create(1, WEST)).done().created[0];
    assert!(!stage.world.edits.is_quiet());
    let (folder, transaction) = (Uuid::nil(), Uuid::nil());
    let derez = Derez { objects: vec![id], kind: DerezKind::Delete, folder, transaction };
    stage.ask(EVE, ObjectCommand::Derez(derez)).done();
    assert!(stage.world.edits.is_quiet());
}

#[test]
fn temporary_prims_that_are_to_stay_need_room() {
    let (mut stage, west, _) = divided(ParcelFlags::CREATE_OBJECTS);
    stage.limit(ObjectLimits { objects_max: 6, ..ObjectLimits::default() });
    let kept: Vec<LocalId> = (1..4).map(|n| stage.ask(ADA, create(n, WEST)).done().created[0]).collect();
    let temporary = NewObject { flags: PrimFlags::TEMPORARY, ..new_object(9, WEST) };
    let temporary = stage.ask(ADA, ObjectCommand::Create(Box::new(temporary))).done().created[0];
    let keep = ObjectCommand::Flags(temporary, FlagsEdit::default());
    stage.ask(ADA, keep).refused(EditRefusal::ParcelFull, &[temporary]);
    let link = ObjectCommand::Link(vec![kept[0], temporary]);
    stage.ask(ADA, link).refused(EditRefusal::ParcelFull, &[temporary]);
    assert_eq!(n_prims_on(&stage, west), 3);
}

#[test]
fn a_part_that_becomes_a_root_enters_land_by_its_rule() {
    let (mut stage, west, _) = divided(ParcelFlags::CREATE_OBJECTS);
    let [root, part] = [WEST, EAST].map(|at| stage.ask(EVE, create(at.x as u128, at)).done().created[0]);
    // Onto land that its owner may not bring objects to.
    stage.edit_land(give_to(west, EVE));
    stage.ask(EVE, ObjectCommand::Link(vec![root, part])).done();
    stage.ask(EVE, ObjectCommand::Delink(vec![part])).refused(EditRefusal::NoEntry, &[part]);
    assert_eq!(n_prims_on(&stage, west), 2);
    stage.ask(OPERATOR, ObjectCommand::Delink(vec![part])).done();
    assert_eq!(n_prims_on(&stage, west), 1);
}

#[test]
fn an_avatar_that_the_estate_expels_leaves_neither_attachments_nor_rights() {
    let (mut stage, _, _) = divided(ParcelFlags::CREATE_OBJECTS);
    let id = stage.ask(FAY, create(1, EAST)).done().created[0];
    stage.ask(FAY, ObjectCommand::Attach(vec![(id, 5)])).done();
    assert!(stage.world.edits.sessions.contains_key(&FAY));
    let ban = EstateEdit::List { list: EstateList::Banned, id: agent_of(FAY).0, is_added: true };
    stage.edit_land(LandEdit::Estate(ban));
    let owners: Vec<_> = stage.worn_in_frame().iter().map(|worn| worn.object.owner).collect();
    assert_eq!((owners, stage.store().len()), (vec![agent_of(FAY)], 0));
    assert!(!stage.world.edits.sessions.contains_key(&FAY));
}
