//! Objects that come out of the contents of prims: once, without their item unless that may be copied, or not at all.

use super::contents::{contents, item, put};
use super::stage::{ADA, Answer, EVE, FAY, Stage, agent_of};
use glam::Vec3;
use ids::{LocalId, SessionKey, Ticket, Uuid};
use link::{
    Action, Command, ContentRezzing, ContentsOutcome, Derez, DerezKind, EditRefusal, LandEdit, MaskEdit,
    ObjectCommand, ObjectLimits, ParcelEdit, ParcelFlags, Restoration, RestorePlace, Rezzing,
};
use prim::{ContentItem, Mask, MaskField};
use std::sync::Arc;

const OBJECT: i8 = 6;
/// The id of the first prim of the object.
const FRESH: Uuid = Uuid::from_u128(0xC0_5E << 64);
const OTHER: Uuid = Uuid::from_u128(0xC0_5F << 64);
const PLACE: Vec3 = Vec3::new(20.0, 20.0, 30.0);

/// The place at which a user rezzes something.
fn at(session: SessionKey, position: Vec3) -> RestorePlace {
    RestorePlace::Rezzed(Rezzing { session, position, ray: None, is_selected: true })
}

/// A prim of Ada's with an item of an object of two prims, with these rights of its owner, and Ada's order to rez the object.
#[track_caller]
fn packed(stage: &mut Stage, rights: Mask) -> (LocalId, ContentRezzing) {
    let root = stage.rez_linkset(ADA, 2)[0];
    let (folder, transaction) = (Uuid::nil(), Uuid::nil());
    let derez = Derez { objects: vec![root], kind: DerezKind::Take, folder, transaction };
    let object = stage.ask(ADA, ObjectCommand::Derez(derez)).done().held().remove(0);
    stage.order(Action::Settle(Ticket(1)));
    let holder = stage.rez(ADA);
    let mut lamp = item(1, agent_of(ADA), OBJECT, "Lamp");
    lamp.ownership.permissions.owner = rights;
    put(stage, ADA, holder, lamp).done();
    let item = Arc::clone(&contents(stage, holder).items[0]);
    let restoration = Restoration { key: None, object, place: at(ADA, PLACE), ids: FRESH };
    (holder, ContentRezzing { restoration, holder: stage.id_of(holder), item })
}

#[track_caller]
fn rez(stage: &mut Stage, by: SessionKey, order: &ContentRezzing) -> Answer {
    stage.order_for(by, Action::RezContent(Box::new(order.clone())))
}

/// An order with another place or other ids.
fn with(order: &ContentRezzing, edit: impl FnOnce(&mut Restoration)) -> ContentRezzing {
    let mut other = order.clone();
    edit(&mut other.restoration);
    other
}

#[test]
fn an_object_comes_out_of_a_prim_once_and_an_item_that_may_be_copied_stays() {
    let mut stage = Stage::new();
    let (holder, order) = packed(&mut stage, Mask::ALL);
    let before = contents(&stage, holder);
    // The order comes again, since its answer may have been lost.
    for _ in 0..2 {
        let answer = rez(&mut stage, ADA, &order);
        assert_eq!((answer.rezzed, answer.contents), (Some((FRESH, None)), None));
        assert_eq!((answer.transfers.len(), stage.store().len()), (0, 3));
    }
    let root = stage.store().local_id(FRESH).expect("the id of the order");
    assert_eq!(stage.position(root), PLACE + Vec3::Z * 0.25, "it stands there");
    assert_eq!(contents(&stage, holder), before);
    let another = with(&order, |restoration| restoration.ids = OTHER);
    assert_eq!(rez(&mut stage, ADA, &another).created.len(), 1);
    assert_eq!(stage.store().len(), 5);
}

#[test]
fn an_item_that_may_not_be_copied_leaves_its_prim_with_its_object() {
    let mut stage = Stage::new();
    let (holder, order) = packed(&mut stage, !Mask::COPY);
    let another = with(&order, |restoration| restoration.ids = OTHER);
    let answer = rez(&mut stage, ADA, &order);
    assert_eq!(answer.rezzed, Some((FRESH, None)));
    assert_eq!(answer.contents, Some(ContentsOutcome::Removed(Arc::clone(&order.item))));
    let [root] = answer.created[..] else { panic!("one object") };
    assert_eq!((contents(&stage, holder).items.len(), stage.store().len()), (0, 3));
    // The order comes again, since its answer may have been lost, also when its user has left.
    let again = rez(&mut stage, ADA, &order);
    assert_eq!((again.rezzed, again.contents, again.created.len()), (Some((FRESH, None)), None, 0));
    let refused = |ids| Some((ids, Some(EditRefusal::NoItem)));
    assert_eq!(rez(&mut stage, ADA, &another).rezzed, refused(OTHER));
    // It has the same answer when the object has left the world, and does not come a second time.
    let (folder, transaction) = (Uuid::nil(), Uuid::nil());
    let derez = Derez { objects: vec![root], kind: DerezKind::Take, folder, transaction };
    stage.ask(ADA, ObjectCommand::Derez(derez)).done();
    let again = rez(&mut stage, ADA, &order);
    assert_eq!((again.rezzed, again.created.len(), stage.store().len()), (Some((FRESH, None)), 0, 1));
    stage.step(vec![Command::by_node(ADA, 90, Action::Leave)]);
    let late = with(&order, |restoration| restoration.ids = Uuid::from_u128(0xC0_60 << 64));
    assert_eq!(
        rez(&mut stage, ADA, &late).rezzed.map(|(_, refusal)| refusal),
        Some(Some(EditRefusal::NoOwner))
    );
}

#[test]
fn a_refused_object_leaves_the_item_where_it_is() {
    let mut stage = Stage::new();
    let (holder, order) = packed(&mut stage, !Mask::COPY);
    let before = contents(&stage, holder);
    let of = |session| with(&order, |restoration| restoration.place = at(session, PLACE));
    let absent = SessionKey(77);
    let nowhere = with(&order, |restoration| restoration.place = at(ADA, Vec3::NAN));
    let renamed = ContentItem { name: "Lamp 2".into(), ..(*order.item).clone() };
    let elsewhere = ContentRezzing { holder: Uuid::from_u128(0xBAD), ..order.clone() };
    let former = ContentRezzing { item: Arc::new(renamed), ..order.clone() };
    // Each order has an id of its own, as the node gives them: an order that comes again has the answer that it had.
    let mut ids = (1_u128..).map(|n| Uuid::from_u128((0xC0_60 + n) << 64));
    for (session, order, reason) in [
        (EVE, of(EVE), EditRefusal::Rights),
        // A friend changes the prim, and takes nothing out of it.
        (FAY, of(FAY), EditRefusal::Rights),
        (absent, of(absent), EditRefusal::NoOwner),
        (ADA, elsewhere, EditRefusal::Unknown),
        (ADA, former, EditRefusal::NoItem),
        (ADA, nowhere, EditRefusal::BadNumber),
    ] {
        let order = with(&order, |restoration| restoration.ids = ids.next().unwrap());
        let answer = rez(&mut stage, session, &order);
        assert_eq!((answer.rezzed, answer.contents), (Some((order.restoration.ids, Some(reason))), None));
        assert_eq!((contents(&stage, holder), stage.store().len()), (before.clone(), 1), "{reason:?}");
    }
    for (limits, reason) in [
        (ObjectLimits { objects_max: 2, ..ObjectLimits::default() }, EditRefusal::Full),
        (ObjectLimits { is_closed: true, ..ObjectLimits::default() }, EditRefusal::NotSaved),
    ] {
        stage.limit(limits);
        let order = with(&order, |restoration| restoration.ids = ids.next().unwrap());
        assert_eq!(rez(&mut stage, ADA, &order).rezzed, Some((order.restoration.ids, Some(reason))));
    }
    stage.limit(ObjectLimits::default());
    assert_eq!((contents(&stage, holder), stage.store().len()), (before, 1));
    rez(&mut stage, ADA, &order).done();
    assert_eq!(stage.store().len(), 3);
}

#[test]
fn a_locked_prim_gives_copies_and_keeps_items_that_may_not_be_copied() {
    for (rights, refusal) in [(Mask::ALL, None), (!Mask::COPY, Some(EditRefusal::Rights))] {
        let mut stage = Stage::new();
        let (holder, order) = packed(&mut stage, rights);
        let lock = MaskEdit { field: MaskField::Owner as u8, is_set: false, bits: Mask::MOVE.bits() };
        stage.ask(ADA, ObjectCommand::Permissions(vec![(holder, lock)])).done();
        assert_eq!(rez(&mut stage, ADA, &order).rezzed, Some((FRESH, refusal)));
        assert_eq!(contents(&stage, holder).items.len(), 1);
    }
}

#[test]
fn an_object_comes_onto_land_by_its_rule_alone() {
    let mut stage = Stage::on_parcel(|parcel| {
        parcel.settings.flags = ParcelFlags(0);
        parcel.owner = Some(agent_of(ADA));
    });
    let (holder, order) = packed(&mut stage, !Mask::COPY);
    let number = stage.world.land().expect("with land").parcel_at(PLACE.truncate()).expect("a parcel").number;
    let give_to = |user| LandEdit::Parcel(number, ParcelEdit::ForceOwner(Some(agent_of(user))));
    stage.edit_land(give_to(EVE));
    let early = with(&order, |restoration| restoration.ids = OTHER);
    assert_eq!(rez(&mut stage, ADA, &early).rezzed, Some((OTHER, Some(EditRefusal::NoBuilding))));
    assert_eq!(contents(&stage, holder).items.len(), 1);
    stage.edit_land(give_to(ADA));
    assert_eq!(rez(&mut stage, ADA, &order).rezzed, Some((FRESH, None)));
    assert_eq!(contents(&stage, holder).items.len(), 0);
}

#[test]
fn no_session_rezzes_an_object_of_its_own_making() {
    let mut stage = Stage::new();
    let (holder, order) = packed(&mut stage, Mask::ALL);
    let action = Action::RezContent(Box::new(order));
    stage.step(vec![Command::by_session(ADA, 1 << 40, action)]);
    assert_eq!((stage.store().len(), stage.world.counters().foreign), (1, 1));
    assert_eq!(contents(&stage, holder).items.len(), 1);
}
