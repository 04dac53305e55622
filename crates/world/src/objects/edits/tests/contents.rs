//! Items of prims: users that may put, change, take and read them, and their way with their prim.

use super::full_prims::full;
use super::stage::{ADA, Answer, EVE, FAY, OPERATOR, Stage, agent_of, config, new_object};
use crate::World;
use glam::Vec3;
use ids::{AgentId, HeldKey, LocalId, SessionKey, Ticket, Uuid};
use link::{
    Action, Command, ContentReplacement, ContentsOutcome, CopyPlace, Duplicates, EditRefusal, HeldItem,
    ItemEdit, ItemRestoration, MaskEdit, NewObject, ObjectChange, ObjectCommand, ObjectLimits, ObjectMask,
    Offer, PrimFlags, Transfer,
};
use prim::{
    CARRIED_MAX, Carried, ContentItem, Contents, Mask, MaskField, Ownership, Permissions, Sale, SaleKind,
    item_flags,
};
use std::sync::Arc;

pub(super) const NOTE: i8 = 7;
const SCRIPT: i8 = 10;

/// An item of a user, on its way into a prim.
pub(super) fn item(n: u128, of: AgentId, kind: i8, name: &str) -> ContentItem {
    let permissions = Permissions::NEW;
    ContentItem {
        id: Uuid::from_u128(n),
        asset: Uuid::from_u128(1 << 100 | n),
        asset_type: kind,
        inventory_type: kind,
        name: name.into(),
        description: "of a test".into(),
        flags: 0,
        ownership: Ownership { creator: of, owner: of, last_owner: of, group: Uuid::nil(), permissions },
        sale: Sale::default(),
        created_s: 1_700_000_000,
        carried: Carried::default(),
    }
}

/// The node puts an item into a prim for a session.
#[track_caller]
pub(super) fn put(stage: &mut Stage, by: SessionKey, id: LocalId, item: ContentItem) -> Answer {
    stage.order_object(by, ObjectCommand::PutItem(id, Box::new(item)))
}

/// A prim of Ada's with notes of these names, numbered from 1.
#[track_caller]
fn filled(stage: &mut Stage, names: &[&str]) -> LocalId {
    let id = stage.rez(ADA);
    for (n, name) in (1..).zip(names) {
        put(stage, ADA, id, item(n, agent_of(ADA), NOTE, name)).done();
    }
    id
}

pub(super) fn contents(stage: &Stage, id: LocalId) -> Contents {
    stage.body(id).contents.as_deref().cloned().unwrap_or_default()
}

fn names(stage: &Stage, id: LocalId) -> Vec<String> {
    contents(stage, id).items.iter().map(|item| item.name.to_string()).collect()
}

/// A change of an item that keeps everything.
fn same(item: &ContentItem) -> ItemEdit {
    ItemEdit {
        item: item.id,
        name: item.name.to_string(),
        description: item.description.to_string(),
        masks: item.ownership.permissions,
        offer: Offer { kind: item.sale.kind as u8, price: item.sale.price },
    }
}

fn edit(id: LocalId, edit: ItemEdit) -> ObjectCommand {
    ObjectCommand::EditItem(id, Box::new(edit))
}

fn masks(id: LocalId, field: MaskField, bits: Mask, is_set: bool) -> ObjectCommand {
    ObjectCommand::Permissions(vec![(id, MaskEdit { field: field as u8, is_set, bits: bits.bits() })])
}

#[test]
fn an_item_comes_changes_and_goes_and_each_time_the_serial_number_rises() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let note = item(1, agent_of(ADA), NOTE, "No\nte");
    let answer = put(&mut stage, ADA, id, note).done();
    let Some(ContentsOutcome::Put(note)) = answer.contents else { panic!("{answer:?}") };
    assert_eq!((&*note.name, contents(&stage, id).serial), ("Note", 1));
    assert!(!stage.flags(id).any(PrimFlags::INVENTORY_EMPTY));
    let offer = Offer { kind: SaleKind::Copy as u8, price: 5 };
    let renamed = ItemEdit { name: "List".into(), description: "new".into(), offer, ..same(&note) };
    let answer = stage.ask(ADA, edit(id, renamed)).done();
    assert_eq!(answer.contents, Some(ContentsOutcome::Edited(note.id)));
    let held = contents(&stage, id);
    let [now] = &held.items[..] else { panic!("{held:?}") };
    assert_eq!((&*now.name, &*now.description, held.serial), ("List", "new", 2));
    assert_eq!((now.sale, now.flags), (Sale { kind: SaleKind::Copy, price: 5 }, 0));
    let read = stage.ask(ADA, ObjectCommand::ReadItem(id, note.id)).done();
    assert_eq!(read.contents, Some(ContentsOutcome::Read(Arc::clone(now))));
    assert_eq!(contents(&stage, id).serial, 2);
    let removed = stage.ask(ADA, ObjectCommand::RemoveItem(id, note.id)).done();
    assert_eq!(removed.contents, Some(ContentsOutcome::Removed(Arc::clone(now))));
    assert_eq!(contents(&stage, id), Contents { serial: 3, items: Vec::new() });
    for request in [ObjectCommand::RemoveItem(id, note.id), ObjectCommand::ReadItem(id, note.id)] {
        let answer = stage.ask(ADA, request);
        answer.refused(EditRefusal::NoItem, &[id]);
        assert_eq!(answer.contents, Some(ContentsOutcome::Refused(EditRefusal::NoItem)));
    }
    stage.ask(ADA, ObjectCommand::Undo(vec![stage.id_of(id)]));
    assert_eq!(contents(&stage, id).serial, 3, "items are not undone");
}

#[test]
fn a_frame_has_the_items_alone_while_nothing_else_changes() {
    let mut stage = Stage::new();
    let id = filled(&mut stage, &["a"]);
    let version = stage.store().body(id).expect("it is there").version;
    put(&mut stage, ADA, id, item(2, agent_of(ADA), NOTE, "b")).done();
    let [ObjectChange::Set { body, mask, .. }] = &stage.frame.objects[..] else { panic!("one change") };
    assert_eq!((*mask, body.version, body.body.n_items()), (ObjectMask::CONTENTS, version, 2));
}

#[test]
fn names_differ_within_a_prim() {
    let mut stage = Stage::new();
    let id = filled(&mut stage, &["a", "a", "b"]);
    assert_eq!(names(&stage, id), ["a", "a 1", "b"]);
    let third = Arc::clone(&contents(&stage, id).items[2]);
    stage.ask(ADA, edit(id, ItemEdit { name: "a".into(), ..same(&third) })).done();
    assert_eq!(names(&stage, id), ["a", "a 1", "a 2"]);
    // It does not stand in its own way, and an empty name is none.
    for name in ["a 2", "", "\n"] {
        stage.ask(ADA, edit(id, ItemEdit { name: name.into(), ..same(&third) })).done();
        assert_eq!(names(&stage, id), ["a", "a 1", "a 2"]);
    }
    let long = "x".repeat(99);
    let edited = ItemEdit { name: long.clone(), description: long.repeat(2), ..same(&third) };
    stage.ask(ADA, edit(id, edited)).done();
    let last = &contents(&stage, id).items[2];
    assert_eq!((last.name.len(), last.description.len()), (63, 127));
}

#[test]
fn items_are_changed_with_the_right_to_change_their_prim() {
    let mut stage = Stage::new();
    let id = filled(&mut stage, &["a"]);
    let a = Arc::clone(&contents(&stage, id).items[0]);
    let requests = || {
        let removal = ObjectCommand::RemoveItem(id, a.id);
        [edit(id, ItemEdit { name: "b".into(), ..same(&a) }), removal, ObjectCommand::ReadItem(id, a.id)]
    };
    for request in requests() {
        stage.ask(EVE, request).refused(EditRefusal::Rights, &[id]);
    }
    // A friend changes the prim, and takes nothing out of it.
    stage.ask(FAY, ObjectCommand::ReadItem(id, a.id)).refused(EditRefusal::Rights, &[id]);
    let wanted = Permissions { everyone: Mask::COPY, ..Permissions::NEW };
    let offer = Offer { kind: 1, price: 0 };
    let by_friend = ItemEdit { name: "b".into(), masks: wanted, offer, ..same(&a) };
    stage.ask(FAY, edit(id, by_friend.clone())).done();
    let now = Arc::clone(&contents(&stage, id).items[0]);
    assert_eq!((&*now.name, now.ownership, now.sale), ("b", a.ownership, a.sale));
    stage.ask(ADA, edit(id, by_friend)).done();
    let now = Arc::clone(&contents(&stage, id).items[0]);
    assert_eq!((now.ownership.permissions, now.sale.kind), (wanted, SaleKind::Original));
    assert_eq!(now.flags, item_flags::OTHER_EVERYONE);
    // A locked prim stays as it is, but for operators.
    stage.ask(ADA, masks(id, MaskField::Owner, Mask::MOVE, false)).done();
    for request in &requests()[..2] {
        stage.ask(ADA, request.clone()).refused(EditRefusal::Rights, &[id]);
    }
    put(&mut stage, ADA, id, item(9, agent_of(ADA), NOTE, "c")).refused(EditRefusal::Rights, &[id]);
    put(&mut stage, OPERATOR, id, item(9, agent_of(OPERATOR), NOTE, "c")).done();
    stage.ask(OPERATOR, ObjectCommand::RemoveItem(id, a.id)).done();
}

#[test]
fn masks_stay_within_the_base_and_an_operator_alone_changes_that() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let mut bought = item(1, agent_of(ADA), NOTE, "a");
    bought.ownership.permissions = Permissions { base: Mask::TRANSFER, owner: Mask::ALL, ..Permissions::NEW };
    put(&mut stage, ADA, id, bought).done();
    let rights = Mask::MOVE | Mask::TRANSFER;
    let held = |stage: &Stage| contents(stage, id).items[0].ownership.permissions;
    assert_eq!((held(&stage).base, held(&stage).owner), (rights, rights), "an item can be moved in any case");
    let all = Permissions { base: Mask::ALL, owner: Mask::ALL, ..Permissions::NEW };
    let wanted = ItemEdit { masks: all, ..same(&contents(&stage, id).items[0]) };
    stage.ask(ADA, edit(id, wanted.clone())).done();
    assert_eq!((held(&stage).base, held(&stage).owner), (rights, rights));
    stage.ask(OPERATOR, edit(id, wanted.clone())).done();
    assert_eq!(held(&stage), all);
    for offer in [Offer { kind: 9, price: 0 }, Offer { kind: 1, price: -1 }] {
        let request = edit(id, ItemEdit { offer, ..wanted.clone() });
        stage.ask(ADA, request).refused(EditRefusal::BadValue, &[id]);
    }
}

#[test]
fn an_item_of_another_user_becomes_the_owners_as_its_next_owners() {
    let mut stage = Stage::new();
    let note = |n| item(n, agent_of(EVE), NOTE, "note");
    let closed = stage.rez(ADA);
    put(&mut stage, EVE, closed, note(1)).refused(EditRefusal::Rights, &[closed]);
    let ObjectCommand::Insert(mut import) = full(2, 0) else { unreachable!("an import") };
    import.linksets[0].prims[0].0.flags = PrimFlags::ALLOW_DROP;
    stage.ask(SessionKey::NODE, ObjectCommand::Insert(import));
    // The flag of the root is that of the linkset.
    let id = stage.store().local_id(Uuid::from_u128(5_001)).expect("its own id");
    put(&mut stage, EVE, id, item(2, agent_of(EVE), SCRIPT, "script")).refused(EditRefusal::Rights, &[id]);
    let mut kept = note(3);
    kept.ownership.permissions.base = Mask::MOVE | Mask::COPY;
    put(&mut stage, EVE, id, kept).refused(EditRefusal::Rights, &[id]);
    let answer = put(&mut stage, EVE, id, note(1)).done();
    let Some(ContentsOutcome::Put(given)) = answer.contents else { panic!("{answer:?}") };
    let Ownership { creator, owner, last_owner, permissions, .. } = given.ownership;
    assert_eq!((creator, owner, last_owner), (agent_of(EVE), agent_of(ADA), agent_of(EVE)));
    assert_eq!(permissions, Permissions::NEW.for_next_owner());
    // A script of the owner comes in, and changes no hands.
    let answer = put(&mut stage, ADA, id, item(4, agent_of(ADA), SCRIPT, "script")).done();
    let Some(ContentsOutcome::Put(script)) = answer.contents else { panic!("{answer:?}") };
    assert_eq!(script.ownership.permissions, Permissions::NEW);
}

#[test]
fn hostile_items_and_those_beyond_the_bounds_are_refused() {
    let mut stage = Stage::new();
    let id = filled(&mut stage, &["a"]);
    let of_ada = |n| item(n, agent_of(ADA), NOTE, "b");
    put(&mut stage, ADA, id, of_ada(0)).refused(EditRefusal::BadValue, &[id]);
    put(&mut stage, ADA, id, of_ada(1)).refused(EditRefusal::Twice, &[id]);
    put(&mut stage, ADA, LocalId(7), of_ada(2)).refused(EditRefusal::Unknown, &[LocalId(7)]);
    let long = Carried::new(vec![1; CARRIED_MAX]).expect("as many as an item may have");
    for n in 2..10 {
        put(&mut stage, ADA, id, ContentItem { carried: long.clone(), ..of_ada(n) }).done();
    }
    let one_more = ContentItem { carried: long, ..of_ada(10) };
    put(&mut stage, ADA, id, one_more).refused(EditRefusal::BadValue, &[id]);
    // A session cannot put an item by itself: the rights would be those that it claims.
    let action = Action::Object(Box::new(ObjectCommand::PutItem(id, Box::new(of_ada(11)))));
    stage.step(vec![Command::by_session(ADA, 1 << 40, action)]);
    assert_eq!((contents(&stage, id).items.len(), stage.world.counters().foreign), (9, 1));
    stage.limit(ObjectLimits { is_closed: true, ..ObjectLimits::default() });
    let answer = put(&mut stage, ADA, id, of_ada(12));
    answer.refused(EditRefusal::NotSaved, &[]);
    assert_eq!(answer.contents, Some(ContentsOutcome::Refused(EditRefusal::NotSaved)));
}

#[test]
fn items_limit_the_rights_to_their_linkset() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 2);
    let mut bound = item(1, agent_of(ADA), NOTE, "a");
    bound.ownership.permissions.base = Mask::MOVE | Mask::MODIFY;
    put(&mut stage, ADA, prims[1], bound).done();
    let copy = || copies(prims[0], 1 << 64);
    stage.ask(ADA, copy()).refused(EditRefusal::Rights, &prims[..1]);
    let sale = ObjectCommand::Sale(vec![(prims[0], Offer { kind: 1, price: 0 })]);
    stage.ask(ADA, sale).refused(EditRefusal::Rights, &prims[..1]);
    stage.ask(ADA, ObjectCommand::RemoveItem(prims[1], Uuid::from_u128(1))).done();
    stage.ask(ADA, copy()).done();
}

fn copies(id: LocalId, ids: u128) -> ObjectCommand {
    let copies = vec![(id, CopyPlace::Offset(Vec3::Y))];
    let (ids, group) = (Uuid::from_u128(ids), Uuid::nil());
    ObjectCommand::Duplicate(Box::new(Duplicates { ids, group, is_selected: false, copies }))
}

#[test]
fn a_copy_has_items_with_ids_of_their_own_and_another_users_the_next_owners_rights() {
    let mut stage = Stage::new();
    let id = filled(&mut stage, &["a", "b"]);
    let of_ada = stage.ask(ADA, copies(id, 1 << 64)).done().created[0];
    let all: Vec<Uuid> = [id, of_ada]
        .iter()
        .flat_map(|&id| contents(&stage, id).items.iter().map(|item| item.id).collect::<Vec<_>>())
        .collect();
    assert!((1..all.len()).all(|n| !all[..n].contains(&all[n])), "{all:?}");
    assert_eq!(names(&stage, of_ada), ["a", "b"]);
    stage.ask(ADA, masks(id, MaskField::Everyone, Mask::COPY, true)).done();
    let of_eve = stage.ask(EVE, copies(id, 2 << 64)).done().created[0];
    for item in &contents(&stage, of_eve).items {
        assert_eq!((item.ownership.owner, item.ownership.last_owner), (agent_of(EVE), agent_of(ADA)));
        assert_eq!(item.ownership.permissions, Permissions::NEW.for_next_owner());
    }
}

#[test]
fn items_change_hands_and_groups_with_their_prim() {
    let mut stage = Stage::new();
    let id = filled(&mut stage, &["a"]);
    let group = Uuid::from_u128(0x6000);
    stage.ask(ADA, ObjectCommand::Group { objects: vec![id], group }).done();
    assert_eq!(contents(&stage, id).items[0].ownership.group, group);
    let offer = Offer { kind: 1, price: 0 };
    stage.ask(ADA, ObjectCommand::Sale(vec![(id, offer)])).done();
    let before = contents(&stage, id).serial;
    stage.ask(EVE, ObjectCommand::Buy { offers: vec![(id, offer)], group: Uuid::nil() }).done();
    let held = contents(&stage, id);
    let Ownership { owner, group, permissions, .. } = held.items[0].ownership;
    assert_eq!((owner, group), (agent_of(EVE), Uuid::nil()));
    assert_eq!((permissions, held.serial), (Permissions::NEW.for_next_owner(), before + 1));
}

#[test]
fn worn_and_temporary_prims_have_items_like_all_others() {
    let mut stage = Stage::new();
    let id = filled(&mut stage, &["a"]);
    let worn = stage.ask(ADA, ObjectCommand::Attach(vec![(id, 0)])).done().created[0];
    put(&mut stage, ADA, worn, item(2, agent_of(ADA), NOTE, "b")).done();
    put(&mut stage, FAY, worn, item(3, agent_of(FAY), NOTE, "c")).refused(EditRefusal::Rights, &[worn]);
    let id = stage.ask(ADA, ObjectCommand::PutDown(vec![worn])).done().created[0];
    assert_eq!(names(&stage, id), ["a", "b"]);
    let new = new_object(0, Vec3::splat(40.0));
    let temporary = stage.rez_as(ADA, NewObject { flags: PrimFlags::TEMPORARY, ..new });
    put(&mut stage, ADA, temporary, item(1, agent_of(ADA), NOTE, "a")).done();
    let restored = World::restore(config(), &stage.world.snapshot()).expect("its own snapshot");
    let of = |world: &World, id| {
        let store = world.objects.as_ref().expect("built on");
        store.body(id).and_then(|versioned| versioned.body.contents.clone())
    };
    for id in [id, temporary] {
        assert!(of(&restored, id).is_some());
        assert_eq!(of(&restored, id), of(&stage.world, id));
    }
}

/// Folder of an inventory.
const FOLDER: Uuid = Uuid::from_u128(0xF0);

#[test]
fn an_item_that_is_taken_leaves_its_prim_unless_it_may_be_copied() {
    let mut stage = Stage::new();
    let id = filled(&mut stage, &["a"]);
    let mut single = item(2, agent_of(ADA), NOTE, "b");
    single.ownership.permissions.owner = !Mask::COPY;
    put(&mut stage, ADA, id, single).done();
    let items = contents(&stage, id).items;
    let take = |n: usize| ObjectCommand::TakeItem { object: id, item: items[n].id, folder: FOLDER };
    // A locked prim stays as it is.
    stage.ask(ADA, masks(id, MaskField::Owner, Mask::MOVE, false)).done();
    stage.ask(ADA, take(1)).refused(EditRefusal::Rights, &[id]);
    stage.ask(ADA, masks(id, MaskField::Owner, Mask::MOVE, true)).done();
    for (n, n_left) in [(0, 2), (1, 1)] {
        let answer = stage.ask(ADA, take(n)).done();
        assert_eq!(answer.contents, Some(ContentsOutcome::Taken(Arc::clone(&items[n]))));
        let item = Arc::clone(&items[n]);
        let held = HeldItem { owner: agent_of(ADA), by: ADA, folder: FOLDER, new_folder: None, item };
        let ticket = Ticket(n as u32 + 1);
        assert_eq!(answer.transfers, [(ticket, Transfer::HeldItem(Arc::new(held)))]);
        assert_eq!(contents(&stage, id).items.len(), n_left);
    }
    stage.ask(ADA, take(1)).refused(EditRefusal::NoItem, &[id]);
    for other in [EVE, FAY] {
        stage.ask(other, take(0)).refused(EditRefusal::Rights, &[id]);
    }
    stage.order(Action::HeldFull { owner: agent_of(ADA), is_full: true });
    let answer = stage.ask(ADA, take(0));
    answer.refused(EditRefusal::HeldFull, &[id]);
    assert_eq!(answer.transfers, []);
}

/// Key of a mark.
fn mark(n: u32) -> HeldKey {
    HeldKey { region: HeldKey::ITEMS, ticket: Ticket(n) }
}

/// An order to put a note of a session's user into a prim.
fn bring(n: u32, session: SessionKey, object: Uuid) -> Action {
    let item = Arc::new(item(n.into(), agent_of(session), NOTE, "a"));
    Action::RestoreItem(Box::new(ItemRestoration { key: Some(mark(n)), session, object, item }))
}

/// The same of a copy, whose original stays.
fn bring_copy(n: u32, session: SessionKey, object: Uuid) -> Action {
    match bring(n, session, object) {
        Action::RestoreItem(order) => Action::RestoreItem(Box::new(ItemRestoration { key: None, ..*order })),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_copy_of_an_item_comes_into_a_prim_without_a_ticket_and_once() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let object = stage.id_of(id);
    let answer = stage.order_for(ADA, bring_copy(1, ADA, object));
    assert_eq!((answer.rezzed, answer.transfers.len()), (Some((Uuid::from_u128(1), None)), 0));
    let Some(ContentsOutcome::Put(note)) = answer.contents else { panic!("{answer:?}") };
    assert_eq!(contents(&stage, id).items, [note]);
    // The order comes again, since its answer may have been lost.
    let again = stage.order_for(ADA, bring_copy(1, ADA, object));
    assert_eq!((again.rezzed, again.contents), (Some((Uuid::from_u128(1), None)), None));
    assert_eq!(names(&stage, id), ["a"]);
    stage.ask(ADA, ObjectCommand::RemoveItem(id, Uuid::from_u128(1))).done();
    let again = stage.order_for(ADA, bring_copy(1, ADA, object));
    assert_eq!((again.rezzed, again.contents), (Some((Uuid::from_u128(1), None)), None));
    assert!(contents(&stage, id).items.is_empty());
    stage.order_for(ADA, bring_copy(3, ADA, object));
    let answer = stage.order_for(EVE, bring_copy(2, EVE, object));
    assert_eq!(answer.rezzed, Some((Uuid::from_u128(2), Some(EditRefusal::Rights))));
    assert_eq!(answer.contents, Some(ContentsOutcome::Refused(EditRefusal::Rights)));
    assert_eq!(names(&stage, id), ["a"]);
}

#[test]
fn an_item_of_an_inventory_comes_into_a_prim_once() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let object = stage.id_of(id);
    let answer = stage.order_for(ADA, bring(1, ADA, object));
    assert_eq!(answer.transfers, [(Ticket(1), Transfer::Restored(mark(1)))]);
    let Some(ContentsOutcome::Put(note)) = answer.contents else { panic!("{answer:?}") };
    assert_eq!(contents(&stage, id).items, [note]);
    // The order comes again, since its answer may have been lost.
    assert_eq!(stage.order_for(ADA, bring(1, ADA, object)), Answer::default());
    assert_eq!(names(&stage, id), ["a"]);
}

#[test]
fn an_item_that_does_not_come_into_a_prim_stays_in_its_inventory() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let object = stage.id_of(id);
    let absent = SessionKey(77);
    let refused = [
        (EVE, object, EditRefusal::Rights),
        (ADA, Uuid::from_u128(0xBAD), EditRefusal::Unknown),
        (absent, object, EditRefusal::NoOwner),
    ];
    for ((session, object, reason), n) in refused.into_iter().zip(1..) {
        let answer = stage.order_for(session, bring(n, session, object));
        assert_eq!(answer.transfers, [(Ticket(n), Transfer::Refused(mark(n), reason))]);
        let told = (session != absent).then_some(ContentsOutcome::Refused(reason));
        assert_eq!(answer.contents, told);
    }
    stage.limit(ObjectLimits { is_closed: true, ..ObjectLimits::default() });
    let answer = stage.order_for(ADA, bring(4, ADA, object));
    assert_eq!(answer.transfers, [(Ticket(4), Transfer::Refused(mark(4), EditRefusal::NotSaved))]);
    assert_eq!(contents(&stage, id), Contents::default());
}

/// Asset of an upload.
const ASSET: Uuid = Uuid::from_u128(0xA55E7);

/// An order to give the first note of a prim this content.
fn replace(session: SessionKey, object: Uuid, asset: Uuid) -> ContentReplacement {
    ContentReplacement { session, object, item: Uuid::from_u128(1), asset_type: NOTE, asset }
}

#[test]
fn an_item_gets_other_content_and_keeps_everything_else() {
    let mut stage = Stage::new();
    let id = filled(&mut stage, &["a", "b"]);
    let former = contents(&stage, id);
    let order = Action::ReplaceContent(Box::new(replace(ADA, stage.id_of(id), ASSET)));
    let answer = stage.order_for(ADA, order.clone());
    assert_eq!((answer.rezzed, answer.transfers.len()), (Some((ASSET, None)), 0));
    assert_eq!(answer.contents, Some(ContentsOutcome::Edited(Uuid::from_u128(1))));
    let newer = ContentItem { asset: ASSET, ..(*former.items[0]).clone() };
    let expected =
        Contents { serial: former.serial + 1, items: vec![Arc::new(newer), Arc::clone(&former.items[1])] };
    assert_eq!(contents(&stage, id), expected);
    // The order comes again, since its answer may have been lost, also when its user has left.
    stage.step(vec![Command::by_node(ADA, 90, Action::Leave)]);
    let again = stage.order_for(ADA, order);
    assert_eq!((again.rezzed, again.contents), (Some((ASSET, None)), None));
    assert_eq!(contents(&stage, id), expected);
}

#[test]
fn content_that_was_replaced_does_not_come_back_with_an_order_that_comes_again() {
    let mut stage = Stage::new();
    let id = filled(&mut stage, &["a"]);
    let object = stage.id_of(id);
    let order = |asset| Action::ReplaceContent(Box::new(replace(ADA, object, asset)));
    let newer = Uuid::from_u128(0xBEEF);
    for asset in [ASSET, newer, ASSET] {
        assert_eq!(stage.order_for(ADA, order(asset)).rezzed, Some((asset, None)));
    }
    assert_eq!(contents(&stage, id).items[0].asset, newer);
}

#[test]
fn other_content_needs_the_rights_to_prim_and_item_and_an_item_of_its_kind() {
    let mut stage = Stage::new();
    let id = filled(&mut stage, &["a"]);
    let object = stage.id_of(id);
    let former = contents(&stage, id);
    let order = replace(ADA, object, ASSET);
    let absent = SessionKey(77);
    let refused = [
        (ContentReplacement { session: EVE, ..order }, EditRefusal::Rights),
        (ContentReplacement { session: absent, ..order }, EditRefusal::NoOwner),
        (ContentReplacement { object: Uuid::from_u128(0xBAD), ..order }, EditRefusal::Unknown),
        (ContentReplacement { item: Uuid::from_u128(2), ..order }, EditRefusal::NoItem),
        (ContentReplacement { asset_type: SCRIPT, ..order }, EditRefusal::BadValue),
    ];
    for ((order, reason), n) in refused.into_iter().zip(1..) {
        let order = ContentReplacement { asset: Uuid::from_u128(n), ..order };
        let answer = stage.order_for(order.session, Action::ReplaceContent(Box::new(order)));
        assert_eq!(answer.rezzed, Some((order.asset, Some(reason))));
        let told = (order.session != absent).then_some(ContentsOutcome::Refused(reason));
        assert_eq!(answer.contents, told);
    }
    let no_modify = Permissions { owner: Mask::COPY | Mask::TRANSFER | Mask::MOVE, ..Permissions::NEW };
    let locked = ItemEdit { masks: no_modify, ..same(&former.items[0]) };
    stage.ask(ADA, edit(id, locked)).done();
    let answer = stage.order_for(ADA, Action::ReplaceContent(Box::new(order)));
    assert_eq!(answer.rezzed, Some((ASSET, Some(EditRefusal::Rights))));
    assert_eq!(contents(&stage, id).items[0].asset, former.items[0].asset);
    stage.limit(ObjectLimits { is_closed: true, ..ObjectLimits::default() });
    let other = ContentReplacement { asset: Uuid::from_u128(9), ..order };
    let answer = stage.order_for(ADA, Action::ReplaceContent(Box::new(other)));
    assert_eq!(answer.rezzed, Some((other.asset, Some(EditRefusal::NotSaved))));
}
