//! Linksets that avatars wear, and what becomes of them.

use super::stage::{ADA, Answer, EVE, FAY, Stage, TICK, agent_of, config, new_object};
use crate::World;
use glam::Vec3;
use ids::{LocalId, SessionKey, Tick, Uuid};
use link::{
    Action, Command, EditRefusal, Event, Frame, HeldObject, NewObject, ObjectCommand, Placement, PrimFlags,
    TakeOffOrder, Transfer, WearOrder, WornChange, WornItems, WornTransfer,
};
use std::sync::Arc;

const ITEM: Uuid = Uuid::from_u128(0x17E3);

fn attach(id: LocalId, point: u8) -> ObjectCommand {
    ObjectCommand::Attach(vec![(id, point)])
}

/// The avatar of a session.
fn avatar_of(stage: &Stage, session: SessionKey) -> LocalId {
    let avatars = stage.world.roster.iter().filter(|(_, presence)| presence.identity.session == session);
    avatars.map(|(_, presence)| presence.id).next().expect("it is here")
}

fn worn_by(stage: &Stage, session: SessionKey) -> Vec<LocalId> {
    stage.store().worn_by(avatar_of(stage, session)).to_vec()
}

/// An order for Ada to wear what a transfer has told.
fn order(item: Uuid, point: u8, replaces: bool, object: &HeldObject) -> WearOrder {
    let ids = Uuid::from_u128(0xF << 100);
    WearOrder { session: ADA, item, point, replaces, object: Arc::new(object.clone()), ids }
}

fn wear(order: WearOrder) -> Action {
    Action::Wear(Box::new(order))
}

/// The only linkset that has changed hands in the last step.
#[track_caller]
fn changed(stage: &Stage) -> Arc<WornTransfer> {
    let all = stage.worn_in_frame();
    let [worn] = &all[..] else { panic!("{all:?}") };
    Arc::clone(worn)
}

#[track_caller]
fn leave(stage: &mut Stage) {
    stage.step(vec![Command::by_session(ADA, 1 << 40, Action::Leave)]);
}

#[test]
fn a_linkset_is_worn_whole_at_its_point_and_dropped_in_front() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 3);
    let root = stage.ask(ADA, attach(prims[1], 5)).done().created[0];
    let put_on = changed(&stage);
    assert_eq!((put_on.change, put_on.object.owner), (WornChange::PutOn, agent_of(ADA)));
    assert_eq!(stage.body(root).worn_item, Some(put_on.item));
    assert_eq!(worn_by(&stage, ADA), [root]);
    let worn: Vec<LocalId> = stage.store().linkset(root).collect();
    assert!(worn.len() == 3 && worn.iter().all(|&id| stage.body(id).state == 0x50));
    assert!(worn[1..].iter().all(|&id| stage.body(id).worn_item.is_none()), "the root has it");
    assert_eq!(stage.store().motion(root).map(|prim| prim.motion.position), Some(Vec3::ZERO));
    stage.ask(ADA, attach(root, 6)).refused(EditRefusal::Attached, &[root]);
    stage.ask(EVE, ObjectCommand::PutDown(vec![root])).refused(EditRefusal::Rights, &[root]);
    stage.ask(EVE, ObjectCommand::TakeOff(vec![root])).refused(EditRefusal::Rights, &[root]);
    let dropped = stage.ask(ADA, ObjectCommand::PutDown(vec![worn[1]])).done().created[0];
    let put_down = changed(&stage);
    assert_eq!((put_down.change, put_down.item), (WornChange::PutDown, put_on.item));
    assert!(worn_by(&stage, ADA).is_empty() && !stage.store().is_temporary_id(dropped));
    let of_ground = |id| stage.body(id).state == 0 && stage.body(id).worn_item.is_none();
    assert!(stage.store().linkset(dropped).all(of_ground));
    stage.ask(ADA, ObjectCommand::PutDown(vec![dropped])).refused(EditRefusal::Rights, &[dropped]);
}

#[test]
fn only_own_objects_are_worn_and_only_at_points_of_a_body() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.ask(EVE, attach(id, 5)).refused(EditRefusal::Rights, &[id]);
    stage.ask(FAY, attach(id, 5)).refused(EditRefusal::Rights, &[id]);
    stage.ask(ADA, attach(id, 56)).refused(EditRefusal::BadValue, &[id]);
    stage.ask(SessionKey::NODE, attach(id, 5));
    assert_eq!(stage.world.counters().edits.refused_for(EditRefusal::NoOwner), 1);
    let unfit = [
        NewObject { flags: PrimFlags::TEMPORARY, ..new_object(0, Vec3::splat(60.0)) },
        NewObject { p_code: 255, state: 3, ..new_object(0, Vec3::splat(61.0)) },
    ];
    for unfit in unfit {
        let unfit = stage.rez_as(ADA, unfit);
        stage.ask(ADA, attach(unfit, 5)).refused(EditRefusal::Unsupported, &[unfit]);
    }
    // The point of a viewer that adds to the objects there; and none.
    let worn = [stage.ask(ADA, attach(id, 0x80 | 5)).done().created[0]];
    assert_eq!(stage.body(worn[0]).state, 0x50);
    let id = stage.rez(ADA);
    let worn = stage.ask(ADA, attach(id, 0)).done().created[0];
    assert_eq!(stage.body(worn).state, 0x60);
}

#[test]
fn each_linkset_from_the_ground_becomes_an_item_of_its_own() {
    let mut stage = Stage::new();
    let mut items = Vec::new();
    let mut id = stage.rez(ADA);
    for _ in 0..3 {
        let worn = stage.ask(ADA, attach(id, 5)).done().created[0];
        items.push(changed(&stage).item);
        id = stage.ask(ADA, ObjectCommand::PutDown(vec![worn])).done().created[0];
    }
    items.sort_unstable();
    items.dedup();
    assert_eq!(items.len(), 3, "also of the same linkset, worn again");
}

#[test]
fn an_object_from_the_ground_replaces_what_is_at_its_point_or_is_added() {
    let mut stage = Stage::new();
    let [hat, ring, cap, scarf, shoe] = [(); 5].map(|()| stage.rez(ADA));
    let hat = stage.ask(ADA, attach(hat, 2)).done().created[0];
    let worn_as = |stage: &Stage, id| stage.body(id).worn_item.expect("it is worn");
    let hat_item = worn_as(&stage, hat);
    let ring = stage.ask(ADA, attach(ring, 6)).done().created[0];
    let cap = stage.ask(ADA, attach(cap, 0x80 | 2)).done().created[0];
    assert_eq!(worn_by(&stage, ADA), [hat, ring, cap]);
    let cap_item = worn_as(&stage, cap);
    // Two of one request do not replace each other.
    let created = stage.ask(ADA, ObjectCommand::Attach(vec![(scarf, 2), (shoe, 2)])).done().created;
    assert_eq!(worn_by(&stage, ADA), [vec![ring], created].concat());
    let of_change = |change| {
        let worn = stage.worn_in_frame().into_iter().filter(move |worn| worn.change == change);
        worn.map(|worn| worn.item).collect::<Vec<_>>()
    };
    assert_eq!(of_change(WornChange::TakenOff), [hat_item, cap_item]);
    assert_eq!(of_change(WornChange::PutOn).len(), 2);
}

#[test]
fn a_linkset_that_is_taken_off_goes_with_its_last_state() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 2);
    let root = stage.ask(ADA, attach(prims[0], 5)).done().created[0];
    let item = changed(&stage).item;
    stage.ask(ADA, ObjectCommand::Name(vec![(root, "Hat".into())])).done();
    let part = stage.store().linkset(root).nth(1).expect("it has two prims");
    stage.ask(ADA, ObjectCommand::TakeOff(vec![part])).done();
    let off = changed(&stage);
    assert_eq!((off.change, off.item, off.object.n_prims()), (WornChange::TakenOff, item, 2));
    let (_, root) = off.object.root().expect("it has prims");
    assert_eq!((&*root.body.names.name, root.body.worn_item), ("Hat", Some(item)));
    assert!(worn_by(&stage, ADA).is_empty());
    assert_eq!(stage.store().len(), 0);
}

#[test]
fn an_avatar_that_leaves_and_comes_back_wears_what_it_wore() {
    let mut stage = Stage::new();
    let prims = stage.rez_linkset(ADA, 3);
    let root = stage.ask(ADA, attach(prims[0], 31)).done().created[0];
    let nudge =
        Placement { position: Some(Vec3::new(0.1, 0.2, 0.3)), is_linked_set: true, ..Placement::default() };
    // In the step in which it leaves.
    let place = Action::Object(Box::new(ObjectCommand::Place(vec![(root, nudge)])));
    stage.step(vec![
        Command::by_session(ADA, 1 << 40, place),
        Command::by_session(ADA, (1 << 40) + 1, Action::Leave),
    ]);
    let left = changed(&stage);
    assert_eq!((left.change, stage.store().len()), (WornChange::Left, 0));
    let (place, _) = left.object.root().expect("it has prims");
    assert_eq!(place.motion.position, Vec3::new(0.1, 0.2, 0.3));
    let again = order(left.item, 31, true, &left.object);
    let early = WearOrder { ids: Uuid::from_u128(0xD << 100), ..again.clone() };
    assert_eq!(stage.order(wear(early)).not_worn, Some((left.item, EditRefusal::NoOwner)));
    stage.step(vec![Command::by_session(ADA, (1 << 40) + 2, super::stage::enter(ADA))]);
    assert_eq!(stage.order(wear(again.clone())).not_worn, None);
    let [root] = worn_by(&stage, ADA)[..] else { panic!("one linkset") };
    let worn: Vec<_> = stage.store().linkset(root).filter_map(|id| stage.store().prim(id)).collect();
    for ((place, versioned), (former, before)) in worn.iter().zip(&left.object.linksets[0]) {
        assert_eq!((&versioned.body, place.motion, place.flags), (&before.body, former.motion, former.flags));
    }
    // The order comes twice.
    assert_eq!(stage.order(wear(again)), Answer::default());
    assert_eq!(worn_by(&stage, ADA), [root]);
}

#[test]
fn an_order_that_comes_again_puts_nothing_on_that_was_taken_off_or_replaced() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let root = stage.ask(ADA, attach(id, 5)).done().created[0];
    stage.ask(ADA, ObjectCommand::TakeOff(vec![root])).done();
    let off = changed(&stage);
    let hat = order(off.item, 5, true, &off.object);
    assert_eq!(stage.order(wear(hat.clone())), Answer::default());
    let [root] = worn_by(&stage, ADA)[..] else { panic!("one linkset") };
    stage.ask(ADA, ObjectCommand::TakeOff(vec![root])).done();
    // The user has taken it off in the step between.
    assert_eq!(stage.order(wear(hat)), Answer::default());
    assert!(worn_by(&stage, ADA).is_empty());
    // Two that replace each other, and both orders again.
    let of = |item: u128| {
        let ids = Uuid::from_u128(item << 100);
        wear(WearOrder { ids, ..order(Uuid::from_u128(item), 5, true, &off.object) })
    };
    stage.order(of(2));
    assert_eq!(stage.order(of(3)).transfers.len(), 1, "one is replaced");
    let [root] = worn_by(&stage, ADA)[..] else { panic!("one linkset") };
    assert_eq!([stage.order(of(2)), stage.order(of(3))], [Answer::default(), Answer::default()]);
    assert_eq!(worn_by(&stage, ADA), [root]);
    // A refused order stays refused, also when its avatar has come since.
    leave(&mut stage);
    let refused = Some((Uuid::from_u128(4), EditRefusal::NoOwner));
    assert_eq!(stage.order(of(4)).not_worn, refused);
    stage.step(vec![Command::by_session(ADA, (1 << 40) + 1, super::stage::enter(ADA))]);
    assert_eq!(stage.order(of(4)).not_worn, refused);
    assert!(worn_by(&stage, ADA).is_empty());
}

#[test]
fn an_item_replaces_what_is_at_its_point_or_is_added() {
    let mut stage = Stage::new();
    let [first, other] = [stage.rez(ADA), stage.rez(ADA)];
    let first = stage.ask(ADA, attach(first, 5)).done().created[0];
    let of_first = changed(&stage);
    let other = stage.ask(ADA, attach(other, 6)).done().created[0];
    let added = order(ITEM, 5, false, &of_first.object);
    assert_eq!(stage.order(wear(added)).not_worn, None);
    assert_eq!(worn_by(&stage, ADA).len(), 3);
    let added: Vec<LocalId> =
        worn_by(&stage, ADA).into_iter().filter(|root| ![first, other].contains(root)).collect();
    // Its prims are those of a linkset that is there.
    assert_ne!(stage.id_of(added[0]), stage.id_of(first));
    let replaces = order(Uuid::from_u128(9), 5, true, &of_first.object);
    let answer = stage.order(wear(WearOrder { ids: Uuid::from_u128(0xE << 100), ..replaces }));
    let off: Vec<_> = answer
        .transfers
        .iter()
        .map(|(_, transfer)| match transfer {
            Transfer::Worn(worn) => (worn.change, worn.item),
            other => panic!("{other:?}"),
        })
        .collect();
    let mut items = [of_first.item, ITEM];
    items.sort_unstable();
    let mut gone: Vec<Uuid> = off.iter().map(|(_, item)| *item).collect();
    gone.sort_unstable();
    assert!(off.iter().all(|(change, _)| *change == WornChange::TakenOff));
    assert_eq!(gone, items);
    assert!(worn_by(&stage, ADA).contains(&other) && worn_by(&stage, ADA).len() == 2);
}

#[test]
fn orders_for_other_avatars_places_and_points_are_refused_whole() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.ask(ADA, attach(id, 5)).done();
    let object = changed(&stage).object.clone();
    let mut n = 0;
    let mut refusal = |stage: &mut Stage, order: WearOrder| {
        n += 1;
        let answer = stage.order(wear(WearOrder { ids: Uuid::from_u128(n << 80), ..order }));
        answer.not_worn.map(|(_, reason)| reason)
    };
    let good = order(ITEM, 5, true, &object);
    let bad = [
        (WearOrder { session: EVE, ..good.clone() }, EditRefusal::OtherOwner),
        (WearOrder { session: SessionKey(77), ..good.clone() }, EditRefusal::NoOwner),
        (WearOrder { point: 0, ..good.clone() }, EditRefusal::BadValue),
        (WearOrder { point: 56, ..good.clone() }, EditRefusal::BadValue),
    ];
    for (bad, reason) in bad {
        assert_eq!(refusal(&mut stage, bad), Some(reason));
    }
    let with = |edit: &dyn Fn(&mut HeldObject)| {
        let mut object = object.clone();
        edit(&mut object);
        order(ITEM, 5, true, &object)
    };
    let two = with(&|object| object.linksets.push(object.linksets[0].clone()));
    assert_eq!(refusal(&mut stage, two), Some(EditRefusal::BadValue));
    let none = with(&|object| object.linksets.clear());
    assert_eq!(refusal(&mut stage, none), Some(EditRefusal::BadValue));
    let far = with(&|object| object.linksets[0][0].0.motion.position.x = 300.0);
    assert_eq!(refusal(&mut stage, far), Some(EditRefusal::TooFar));
    let nan = with(&|object| object.linksets[0][0].0.motion.position.x = f32::NAN);
    assert_eq!(refusal(&mut stage, nan), Some(EditRefusal::BadNumber));
    let foreign = with(&|object| {
        let body = Arc::make_mut(&mut object.linksets[0][0].1.body);
        Arc::make_mut(&mut body.ownership).owner = agent_of(EVE);
    });
    assert_eq!(refusal(&mut stage, foreign), Some(EditRefusal::OtherOwner));
    assert_eq!(worn_by(&stage, ADA).len(), 1, "what was there is still there");
}

#[test]
fn the_node_takes_items_off_by_name() {
    let mut stage = Stage::new();
    let mut items = Vec::new();
    for point in [5, 6, 7] {
        let id = stage.rez(ADA);
        stage.ask(ADA, attach(id, point)).done();
        items.push(changed(&stage).item);
    }
    let mut off = |owner, items: WornItems| {
        let order = TakeOffOrder { owner: agent_of(owner), items };
        stage.order(Action::TakeOff(Box::new(order))).transfers.len()
    };
    assert_eq!(off(EVE, WornItems::AllBut(Vec::new())), 0);
    assert_eq!(off(ADA, WornItems::These(vec![items[0], ITEM])), 1);
    assert_eq!(off(ADA, WornItems::AllBut(vec![items[1]])), 1);
    assert_eq!(off(ADA, WornItems::AllBut(Vec::new())), 1);
}

#[test]
fn a_world_that_restarts_without_avatars_gives_back_what_they_wore() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    stage.ask(ADA, attach(id, 5)).done();
    let item = changed(&stage).item;
    // A snapshot has the avatars, and they wear it still.
    let snapshot = stage.world.snapshot();
    let mut same = World::restore(config(), &snapshot).expect("its own snapshot");
    let mut frame = Frame::empty();
    same.step(Tick(100), TICK, 1.0, &mut Vec::new(), &mut frame);
    assert_eq!(same.objects.as_ref().map(|objects| objects.wearers().count()), Some(1));
    let stored = stage.store().stored();
    let mut bare = World::with_objects(config(), stored).expect("no contradiction");
    bare.step(Tick(0), TICK, 1.0, &mut Vec::new(), &mut frame);
    let is_adas = |event: &Event| matches!(event, Event::Transfer(_, Transfer::Worn(worn)) if (worn.item, worn.change) == (item, WornChange::Left));
    assert!(frame.events.iter().any(is_adas));
    assert_eq!(bare.objects.as_ref().map(|objects| objects.len()), Some(0));
}

#[test]
fn a_linkset_that_is_worn_as_no_item_goes_to_its_account() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let worn = stage.ask(ADA, attach(id, 5)).done().created[0];
    // As in the snapshot of a build that knew no items.
    let store = stage.world.objects.as_mut().expect("built on");
    store.edit_body(worn, link::ObjectMask::FLAGS, |body| body.worn_item = None).expect("it is there");
    leave(&mut stage);
    let held = stage.held_in_frame();
    assert_eq!((held.len(), held[0].owner, held[0].is_worn), (1, agent_of(ADA), true));
}

#[test]
fn an_avatar_whose_store_is_full_wears_nothing_more_and_loses_nothing() {
    let mut stage = Stage::new();
    let [worn, other] = [stage.rez(ADA), stage.rez(ADA)];
    stage.ask(ADA, attach(worn, 5)).done();
    stage.order(Action::HeldFull { owner: agent_of(ADA), is_full: true });
    stage.ask(ADA, attach(other, 5)).refused(EditRefusal::HeldFull, &[other]);
    leave(&mut stage);
    assert_eq!((stage.worn_in_frame().len(), stage.store().len()), (1, 1));
}

#[test]
fn a_change_on_the_ground_cannot_be_undone_while_worn_and_one_while_worn_not_on_the_ground() {
    let mut stage = Stage::new();
    let id = stage.rez(ADA);
    let object = stage.id_of(id);
    let place = |id, position| {
        let placement = Placement { position: Some(position), is_linked_set: true, ..Placement::default() };
        ObjectCommand::Place(vec![(id, placement)])
    };
    stage.ask(ADA, place(id, Vec3::new(80.0, 80.0, 30.0))).done();
    let worn = stage.ask(ADA, attach(id, 5)).done().created[0];
    stage.ask(ADA, ObjectCommand::Undo(vec![object])).refused(EditRefusal::NoHistory, &[worn]);
    let offset = |stage: &Stage| stage.store().motion(worn).map(|prim| prim.motion.position);
    assert_eq!(offset(&stage), Some(Vec3::ZERO));
    // Twice, so that the newest change has a place relative to the avatar.
    for x in [1.0, 2.0] {
        stage.ask(ADA, place(worn, x * Vec3::X)).done();
    }
    let dropped = stage.ask(ADA, ObjectCommand::PutDown(vec![worn])).done().created[0];
    let at = stage.position(dropped);
    stage.ask(ADA, ObjectCommand::Undo(vec![object])).refused(EditRefusal::NoHistory, &[dropped]);
    assert_eq!(stage.position(dropped), at);
}
