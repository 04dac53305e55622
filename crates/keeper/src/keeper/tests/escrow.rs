//! Transfers: their effects are in the batch of their frame, once, and their tickets are settled behind it.

use super::*;
use crate::{ItemOrder, OrderKey, RestoreError, RestoreOrder, RestoreOutcome, RestoreSource, content_of};
use ids::{AgentId, HeldKey, SessionKey, Ticket};
use link::{
    Action, ContentRezzing, DerezKind, EditRefusal, Event, HeldItem, HeldObject, ItemRestoration,
    Restoration, RestorePlace, Transfer,
};
use store::{HeldChange, HeldRow, Item, ItemEffect, Permissions, Sale, TakeHeld};

const TWO: WorldId = WorldId(2);

fn linkset(n: u128) -> Arc<HeldObject> {
    let (owner, by, kind) = (AgentId(Uuid::from_u128(7)), SessionKey::NODE, DerezKind::Return);
    let (folder, transaction) = (Uuid::nil(), Uuid::nil());
    let linksets = vec![vec![(at(1.0), body(n))]];
    Arc::new(HeldObject { owner, by, kind, folder, transaction, is_worn: false, linksets })
}

fn key(region: WorldId, ticket: u32) -> HeldKey {
    HeldKey { region, ticket: Ticket(ticket) }
}

fn held(ticket: u32) -> (Ticket, Transfer) {
    (Ticket(ticket), Transfer::Held(linkset(ticket.into())))
}

/// A frame with these transfers.
pub(super) fn told(sequence: u64, objects: Vec<ObjectChange>, transfers: Vec<(Ticket, Transfer)>) -> Frame {
    let events = transfers.into_iter().map(|(ticket, transfer)| Event::Transfer(ticket, transfer));
    Frame { events: events.collect(), ..frame(sequence, objects) }
}

/// Tickets and kinds of the effects in a batch.
pub(super) fn effects(batch: &Batch) -> Vec<(u32, &'static str)> {
    let effects = batch.changes.held.iter().map(|(ticket, change)| {
        let kind = match change {
            HeldChange::Insert(_) => "insert",
            HeldChange::InsertItem(_) => "insert item",
            HeldChange::Remove(_) | HeldChange::RemoveItem { .. } => "remove",
            HeldChange::Release(_) => "release",
            HeldChange::Undo { .. } => "undo",
            HeldChange::UndoItem(_) => "undo item",
            HeldChange::ReturnItem { .. } => "return item",
            HeldChange::PutOn(_) => "put on",
            HeldChange::PutDown { .. } => "put down",
            HeldChange::Worn(_) => "worn",
            HeldChange::UndoPutOn { .. } => "undo put on",
            HeldChange::WearAgain(..) => "wear again",
        };
        (ticket.0, kind)
    });
    effects.collect()
}

pub(super) fn orders(keeper: &mut Keeper) -> Vec<Action> {
    let mut orders = Vec::new();
    keeper.send_orders(|action| {
        orders.push(action);
        true
    });
    orders
}

/// A row as the store gives it.
fn row(region: WorldId, ticket: u32) -> HeldRow {
    let mut keeper = empty();
    keeper.handle_frame(ms(0), &told(0, Vec::new(), vec![held(1)]));
    let batch = poll(&mut keeper, ms(250));
    let [(_, HeldChange::Insert(row))] = &batch.changes.held[..] else { panic!("{batch:?}") };
    HeldRow { key: key(region, ticket), ..row.clone() }
}

fn order(region: WorldId, ticket: u32) -> RestoreOrder {
    let source = RestoreSource::Held(row(region, ticket));
    RestoreOrder { source, place: RestorePlace::Former, ids: Uuid::from_u128(5) }
}

/// An order for a marked item.
fn item_order(number: u32) -> RestoreOrder {
    let (nil, owner) = (Uuid::nil(), AgentId(Uuid::from_u128(7)));
    let permissions = Permissions {
        creator: nil,
        last_owner: nil,
        group: nil,
        group_owned: false,
        base: 0,
        owner: 0,
        group_mask: 0,
        everyone: 0,
        next_owner: 0,
    };
    let item = Item {
        id: Uuid::from_u128(number.into()),
        folder: nil,
        asset: nil,
        asset_type: 6,
        inventory_type: 6,
        name: String::new(),
        description: String::new(),
        flags: 0,
        created_s: 0,
        permissions,
        sale: Sale::default(),
    };
    let key = key(HeldKey::ITEMS, number);
    let source = RestoreSource::Item { key, owner, item: Box::new(item), object: linkset(1) };
    RestoreOrder { source, place: RestorePlace::Former, ids: Uuid::from_u128(5) }
}

/// The effect of a save that has put an item into an inventory.
fn item_effect(ticket: u32, number: u32) -> ItemEffect {
    let RestoreSource::Item { owner, item, .. } = item_order(number).source else { panic!("an item") };
    let ticket = Ticket(ticket);
    ItemEffect { ticket, owner, item: *item, is_there: true, version: 1, new_folder: None }
}

#[test]
fn a_batch_has_a_held_linkset_with_the_removal_of_its_prims() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    save(&mut keeper, ms(250));
    assert_eq!(orders(&mut keeper), [], "nothing to settle");
    let gone = told(1, vec![ObjectChange::Removed(kept(1))], vec![held(1)]);
    keeper.handle_frame(ms(300), &gone);
    let batch = poll(&mut keeper, ms(550));
    assert_eq!((content(&batch), effects(&batch)), ((vec![], vec![], vec![1]), vec![(1, "insert")]));
    assert_eq!((batch.changes.row.ticket, batch.since), (Ticket(1), Some(ms(300))));
    assert_eq!(batch.held_at, [ms(300)]);
    let [(_, HeldChange::Insert(row))] = &batch.changes.held[..] else { panic!("one") };
    assert_eq!(
        (row.key, row.owner, row.kind, row.held_s),
        (key(REGION, 1), linkset(1).owner, 9, 1_700_000_000)
    );
    assert_eq!(orders(&mut keeper), [], "not on the disk");
    keeper.handle_saved(ms(560), batch.id, true);
    assert_eq!(orders(&mut keeper), [Action::Settle(Ticket(1))]);
    assert_eq!((orders(&mut keeper), keeper.unsaved_since(), keeper.poll_timeout()), (vec![], None, None));
}

#[test]
fn a_copy_that_is_held_is_a_reason_for_a_batch_of_its_own() {
    let mut keeper = following(&[&[]]);
    keeper.handle_frame(ms(50), &told(1, Vec::new(), vec![held(1), held(2)]));
    assert_eq!((keeper.poll_timeout(), keeper.unsaved_since()), (Some(ms(300)), Some(ms(50))));
    let failed = poll(&mut keeper, ms(300));
    keeper.handle_frame(ms(310), &told(2, Vec::new(), vec![held(3)]));
    keeper.handle_saved(ms(320), failed.id, false);
    assert_eq!((orders(&mut keeper), keeper.unsaved_since()), (vec![], Some(ms(50))));
    let batch = poll(&mut keeper, ms(820));
    assert_eq!(effects(&batch), [(1, "insert"), (2, "insert"), (3, "insert")]);
    keeper.handle_frame(ms(830), &told(3, Vec::new(), vec![held(4)]));
    keeper.handle_saved(ms(840), batch.id, true);
    assert_eq!(
        (orders(&mut keeper), keeper.unsaved_since()),
        (vec![Action::Settle(Ticket(3))], Some(ms(830)))
    );
    assert_eq!(effects(&poll(&mut keeper, ms(1_080))), [(4, "insert")]);
}

#[test]
fn tickets_that_were_seen_before_are_dropped_and_those_of_a_gap_are_in_the_snapshot() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    save(&mut keeper, ms(250));
    keeper.handle_frame(ms(300), &told(1, Vec::new(), vec![held(1)]));
    save(&mut keeper, ms(550));
    assert_eq!(orders(&mut keeper), [Action::Settle(Ticket(1))]);
    // The frames with tickets 2 and 3 are lost, and so is the order to settle the first.
    keeper.handle_frame(ms(600), &told(4, Vec::new(), vec![held(4)]));
    let mut whole = snapshot(5, vec![(kept(1), at(1.0), body(1))]);
    let part = whole.snapshot.as_mut().expect("a snapshot");
    part.transfers = vec![held(1), held(2), held(3), held(4)];
    assert_eq!(keeper.handle_frame(ms(650), &whole), Following::Current);
    assert_eq!(orders(&mut keeper), [Action::Settle(Ticket(1))], "it is on the disk");
    let batch = poll(&mut keeper, ms(900));
    assert_eq!(effects(&batch), [(2, "insert"), (3, "insert"), (4, "insert")]);
    keeper.handle_saved(ms(900), batch.id, true);
    assert_eq!(orders(&mut keeper), [Action::Settle(Ticket(4))]);
}

#[test]
fn an_order_goes_out_until_it_is_answered_and_its_outcome_comes_from_the_disk() {
    let mut keeper = following(&[&[set(kept(9), at(1.0), body(9))]]);
    save(&mut keeper, ms(250));
    for ticket in [3, 4] {
        keeper.order_restore(order(TWO, ticket)).unwrap();
    }
    assert!(matches!(keeper.order_restore(order(TWO, 3)), Err(RestoreError::Twice)));
    // The inbox of the world has room for one command.
    let mut sent = Vec::new();
    keeper.send_orders(|action| {
        let has_room = sent.is_empty();
        sent.extend(has_room.then_some(action));
        has_room
    });
    let key_of = |action: &Action| match action {
        Action::Restore(order) => order.key.expect("of a row"),
        other => panic!("{other:?}"),
    };
    let of_all = |actions: &[Action]| actions.iter().map(key_of).collect::<Vec<_>>();
    assert_eq!(of_all(&sent), [key(TWO, 3)]);
    assert_eq!(of_all(&orders(&mut keeper)), [key(TWO, 4)]);
    assert_eq!(orders(&mut keeper), []);
    // The world panics before it has seen the second one.
    let next = Frame { epoch: Epoch(1), ..frame(0, Vec::new()) };
    assert_eq!(keeper.handle_frame(ms(300), &next), Following::NeedsSnapshot);
    let mut whole = Frame { epoch: Epoch(1), ..snapshot(1, vec![(kept(9), at(1.0), body(9))]) };
    let restored = (Ticket(1), Transfer::Restored(key(TWO, 3)));
    whole.snapshot.as_mut().expect("a snapshot").transfers = vec![restored];
    keeper.handle_frame(ms(350), &whole);
    assert_eq!(of_all(&orders(&mut keeper)), [key(TWO, 4)]);
    let refused = (Ticket(2), Transfer::Refused(key(TWO, 4), EditRefusal::Full));
    keeper.handle_frame(ms(400), &Frame { epoch: Epoch(1), ..told(2, Vec::new(), vec![refused]) });
    assert_eq!(keeper.poll_outcome(), None, "not on the disk");
    let batch = poll(&mut keeper, ms(600));
    assert_eq!(effects(&batch), [(1, "remove"), (2, "release")]);
    keeper.handle_saved(ms(600), batch.id, true);
    let outcome =
        |ticket, refusal| Some(RestoreOutcome { order: OrderKey::Marked(key(TWO, ticket)), refusal });
    assert_eq!(keeper.poll_outcome(), outcome(3, None));
    assert_eq!(keeper.poll_outcome(), outcome(4, Some(EditRefusal::Full)));
    assert_eq!(keeper.poll_outcome(), None);
    // Settled before the same linkset is ordered again.
    keeper.order_restore(order(TWO, 4)).unwrap();
    let orders = orders(&mut keeper);
    assert_eq!(orders[0], Action::Settle(Ticket(2)));
    assert_eq!(of_all(&orders[1..]), [key(TWO, 4)]);
}

#[test]
fn orders_beyond_the_bound_and_for_values_without_a_meaning_are_refused() {
    let mut keeper = following(&[&[]]);
    let damaged = HeldRow { value: vec![1, 2, 3].into(), ..row(TWO, 1) };
    let damaged = RestoreOrder { source: RestoreSource::Held(damaged), ..order(TWO, 1) };
    assert!(matches!(keeper.order_restore(damaged), Err(RestoreError::Row(_))));
    let (one, first) = (order(TWO, 0), row(TWO, 0));
    for ticket in 0..crate::escrow::ORDERS_MAX as u32 {
        let source = RestoreSource::Held(HeldRow { key: key(TWO, ticket), ..first.clone() });
        keeper.order_restore(RestoreOrder { source, ..one.clone() }).unwrap();
    }
    assert!(matches!(keeper.order_restore(order(TWO, 99_999)), Err(RestoreError::Busy)));
}

#[test]
fn a_world_that_goes_back_takes_its_transfers_back() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    keeper.order_restore(order(TWO, 3)).unwrap();
    let restored = |ticket, key| (Ticket(ticket), Transfer::Restored(key));
    // One linkset leaves, comes back, and another one comes from another region.
    keeper.handle_frame(ms(50), &told(1, Vec::new(), vec![held(1)]));
    save(&mut keeper, ms(250));
    keeper.order_restore(order(REGION, 1)).unwrap();
    let changes = vec![restored(2, key(TWO, 3)), restored(3, key(REGION, 1)), held(4)];
    keeper.handle_frame(ms(300), &told(2, Vec::new(), changes));
    save(&mut keeper, ms(550));
    let store = Store::open_in_memory().unwrap();
    let undone = |first| (Ticket(5), Transfer::Undone { first: Ticket(first), last: Ticket(4) });
    let mut whole = Frame { epoch: Epoch(1), ..snapshot(0, vec![(kept(1), at(1.0), body(1))]) };
    whole.snapshot.as_mut().expect("a snapshot").transfers = vec![undone(1)];
    keeper.handle_frame(ms(600), &whole);
    let batch = poll(&mut keeper, ms(850));
    let expected = [(5, "undo"), (5, "undo item"), (5, "undo item"), (5, "insert")];
    assert_eq!(effects(&batch), expected, "what had left by a ticket that is undone is there");
    store.save_region(REGION, &batch.changes).unwrap();
    keeper.handle_saved(ms(850), batch.id, true);
    assert_eq!(store.take_held(key(TWO, 3), TWO).unwrap(), TakeHeld::Taken(row(TWO, 3)));
    assert_eq!(store.take_held(key(REGION, 1), TWO).unwrap(), TakeHeld::Unknown);
    assert_eq!(orders(&mut keeper), [Action::Settle(Ticket(5))]);
    // Put back once.
    let again = (Ticket(6), Transfer::Undone { first: Ticket(1), last: Ticket(5) });
    keeper.handle_frame(ms(900), &Frame { epoch: Epoch(1), ..told(1, Vec::new(), vec![again]) });
    assert_eq!(effects(&poll(&mut keeper, ms(1_150))), [(6, "undo")]);
}

#[test]
fn an_order_for_a_copy_is_answered_by_the_frame_and_goes_out_until_then() {
    let mut keeper = following(&[&[set(kept(9), at(1.0), body(9))]]);
    save(&mut keeper, ms(250));
    let copy = |n| {
        let source = RestoreSource::Copy(linkset(1));
        RestoreOrder { source, place: RestorePlace::Former, ids: Uuid::from_u128(n) }
    };
    for n in [1, 2] {
        keeper.order_restore(copy(n)).unwrap();
    }
    assert!(matches!(keeper.order_restore(copy(1)), Err(RestoreError::Twice)));
    let ids_of = |actions: Vec<Action>| -> Vec<Uuid> {
        let ids = actions.into_iter().map(|action| match action {
            Action::Restore(order) if order.key.is_none() => order.ids,
            other => panic!("{other:?}"),
        });
        ids.collect()
    };
    let both = [1, 2].map(Uuid::from_u128);
    assert_eq!(ids_of(orders(&mut keeper)), both);
    let answered = |sequence, order, refusal| {
        let events = vec![Event::Rezzed { order, refusal }];
        Frame { events, ..frame(sequence, Vec::new()) }
    };
    keeper.handle_frame(ms(300), &answered(1, both[0], Some(EditRefusal::Full)));
    let outcome = |n: usize, refusal| Some(RestoreOutcome { order: OrderKey::Copy(both[n]), refusal });
    assert_eq!(keeper.poll_outcome(), outcome(0, Some(EditRefusal::Full)));
    // Frames are lost, and the order goes out again; each is answered once.
    keeper.handle_frame(ms(350), &frame(4, Vec::new()));
    keeper.handle_frame(ms(400), &snapshot(5, vec![(kept(9), at(1.0), body(9))]));
    assert_eq!(ids_of(orders(&mut keeper)), both[1..]);
    for sequence in [6, 7] {
        keeper.handle_frame(ms(400 + sequence), &answered(sequence, both[1], None));
    }
    assert_eq!([keeper.poll_outcome(), keeper.poll_outcome()], [outcome(1, None), None]);
    assert_eq!(keeper.unsaved_since(), None, "nothing of it is a transfer");
}

#[test]
fn items_that_came_and_went_with_tickets_that_are_undone_are_as_before() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    save(&mut keeper, ms(250));
    let content = HeldItem {
        owner: AgentId(Uuid::from_u128(7)),
        by: SessionKey(3),
        folder: Uuid::nil(),
        new_folder: None,
        item: crate::testing::item(1, "note"),
    };
    for number in [11, 12] {
        keeper.order_restore(item_order(number)).unwrap();
    }
    let restored = (Ticket(1), Transfer::Restored(key(HeldKey::ITEMS, 11)));
    let left = (Ticket(3), Transfer::HeldItem(Arc::new(content)));
    keeper.handle_frame(ms(300), &told(1, Vec::new(), vec![restored, held(2), left]));
    let batch = poll(&mut keeper, ms(550));
    assert_eq!(effects(&batch), [(1, "remove"), (2, "insert"), (3, "insert item")]);
    let RestoreSource::Item { key: mark, owner, item, .. } = item_order(11).source else { panic!("an item") };
    let named = HeldChange::RemoveItem { key: mark, owner, item: item.id };
    assert_eq!(batch.changes.held[0].1, named, "a repeated save reports it again");
    keeper.handle_saved(ms(550), batch.id, true);
    let done = RestoreOutcome { order: OrderKey::Marked(key(HeldKey::ITEMS, 11)), refusal: None };
    assert_eq!(keeper.poll_outcome(), Some(done));
    // The second item is that of the object that has left with ticket 2.
    keeper.note_items(&[item_effect(2, 12)]);
    let undone = (Ticket(4), Transfer::Undone { first: Ticket(1), last: Ticket(3) });
    keeper.handle_frame(ms(600), &told(2, Vec::new(), vec![undone]));
    let batch = poll(&mut keeper, ms(850));
    let expected = [(4, "undo"), (4, "undo item"), (4, "undo item"), (4, "return item")];
    assert_eq!(effects(&batch), expected);
    let refused = RestoreOutcome {
        order: OrderKey::Marked(key(HeldKey::ITEMS, 12)),
        refusal: Some(EditRefusal::Unknown),
    };
    assert_eq!(keeper.poll_outcome(), Some(refused), "the region has the object");
    assert!(!orders(&mut keeper).iter().any(|action| matches!(action, Action::Restore(_))));
    // The disk may have the item until the undo is saved, and an order may be under way from then.
    assert!(matches!(keeper.order_restore(item_order(12)), Err(RestoreError::Undone)));
    keeper.handle_saved(ms(850), batch.id, true);
    assert!(matches!(keeper.order_restore(item_order(12)), Err(RestoreError::Undone)));
    keeper.order_restore(item_order(11)).unwrap();
}

#[test]
fn an_item_for_a_prim_goes_with_its_ticket_and_comes_back_when_that_is_undone() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    save(&mut keeper, ms(250));
    let RestoreSource::Item { key: mark, owner, item, .. } = item_order(11).source else { panic!("an item") };
    let content = Arc::new(content_of(owner, &item, Uuid::from_u128(5)));
    let (session, object) = (SessionKey(3), Uuid::from_u128(1));
    let restoration = ItemRestoration { key: Some(mark), session, object, item: content };
    let order = ItemOrder { marked: Some((owner, item)), restoration: restoration.clone() };
    keeper.order_item(order.clone()).unwrap();
    assert!(matches!(keeper.order_item(order), Err(RestoreError::Twice)));
    assert_eq!(orders(&mut keeper), [Action::RestoreItem(Box::new(restoration))]);
    let restored = (Ticket(1), Transfer::Restored(mark));
    keeper.handle_frame(ms(300), &told(1, Vec::new(), vec![restored]));
    let batch = poll(&mut keeper, ms(550));
    assert_eq!(effects(&batch), [(1, "remove")]);
    keeper.handle_saved(ms(550), batch.id, true);
    let done = RestoreOutcome { order: OrderKey::Marked(mark), refusal: None };
    assert_eq!(keeper.poll_outcome(), Some(done));
    let undone = (Ticket(2), Transfer::Undone { first: Ticket(1), last: Ticket(1) });
    keeper.handle_frame(ms(600), &told(2, Vec::new(), vec![undone]));
    assert_eq!(effects(&poll(&mut keeper, ms(850))), [(2, "undo"), (2, "return item")]);
}

#[test]
fn a_copy_of_an_item_for_a_prim_is_answered_by_the_frame() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    save(&mut keeper, ms(250));
    let (session, object) = (SessionKey(3), Uuid::from_u128(1));
    let item = crate::testing::item(1, "note");
    let id = item.id;
    let restoration = ItemRestoration { key: None, session, object, item };
    let order = ItemOrder { marked: None, restoration: restoration.clone() };
    assert_eq!(order.key(), OrderKey::Copy(id));
    keeper.order_item(order.clone()).unwrap();
    assert!(matches!(keeper.order_item(order), Err(RestoreError::Twice)));
    assert_eq!(orders(&mut keeper), [Action::RestoreItem(Box::new(restoration))]);
    let events = vec![Event::Rezzed { order: id, refusal: None }];
    keeper.handle_frame(ms(300), &Frame { events, ..frame(1, Vec::new()) });
    let done = RestoreOutcome { order: OrderKey::Copy(id), refusal: None };
    assert_eq!(keeper.poll_outcome(), Some(done));
    assert_eq!((keeper.poll_outcome(), keeper.unsaved_since()), (None, None));
}

#[test]
fn an_object_out_of_a_prim_is_answered_by_the_frame_and_saved_with_the_prim() {
    let mut keeper = following(&[&[set(kept(9), at(1.0), body(9))]]);
    save(&mut keeper, ms(250));
    let (holder, ids) = (Uuid::from_u128(10), Uuid::from_u128(5));
    let item = crate::testing::item(1, "lamp");
    let source = RestoreSource::Content { holder, item: Arc::clone(&item), object: linkset(1) };
    let order = RestoreOrder { source, place: RestorePlace::Former, ids };
    assert_eq!(order.key(), OrderKey::Copy(ids));
    keeper.order_restore(order.clone()).unwrap();
    assert!(matches!(keeper.order_restore(order), Err(RestoreError::Twice)));
    let restoration = Restoration { key: None, object: linkset(1), place: RestorePlace::Former, ids };
    let action = Action::RezContent(Box::new(ContentRezzing { restoration, holder, item }));
    assert_eq!(orders(&mut keeper), std::slice::from_ref(&action));
    // Frames are lost, and the order goes out again.
    keeper.handle_frame(ms(300), &frame(4, Vec::new()));
    keeper.handle_frame(ms(350), &snapshot(5, vec![(kept(9), at(1.0), body(9))]));
    assert_eq!(orders(&mut keeper), [action]);
    // The item has left its prim in the frame that has the object.
    let objects = vec![set(kept(1), at(2.0), body(1)), set(kept(9), at(1.0), rich_body(9))];
    let events = vec![Event::Rezzed { order: ids, refusal: None }];
    keeper.handle_frame(ms(400), &Frame { events, ..frame(6, objects) });
    let done = RestoreOutcome { order: OrderKey::Copy(ids), refusal: None };
    assert_eq!([keeper.poll_outcome(), keeper.poll_outcome()], [Some(done), None]);
    let batch = poll(&mut keeper, ms(650));
    let (mut bodies, ..) = content(&batch);
    bodies.sort_unstable();
    assert_eq!((bodies, effects(&batch)), (vec![1, 9], vec![]), "in one transaction, and without a ticket");
}

#[test]
fn transfers_are_remembered_for_a_minute() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    save(&mut keeper, ms(250));
    keeper.order_restore(item_order(11)).unwrap();
    let restored = (Ticket(2), Transfer::Restored(key(HeldKey::ITEMS, 11)));
    keeper.handle_frame(ms(300), &told(1, Vec::new(), vec![held(1), restored]));
    save(&mut keeper, ms(550));
    let undone = (Ticket(3), Transfer::Undone { first: Ticket(1), last: Ticket(2) });
    keeper.handle_frame(ms(60_301), &told(2, Vec::new(), vec![undone]));
    assert_eq!(effects(&poll(&mut keeper, ms(60_600))), [(3, "undo")]);
}

#[test]
fn orders_for_a_world_that_has_gone_back_wait_for_the_settlement_of_that() {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(1))]]);
    save(&mut keeper, ms(250));
    let kinds = |keeper: &mut Keeper| -> Vec<&'static str> {
        let kinds = orders(keeper).into_iter().map(|action| match action {
            Action::Settle(_) => "settle",
            Action::Restore(_) => "restore",
            Action::ReplaceContent(_) => "replace",
            Action::Wear(_) => "wear",
            other => panic!("{other:?}"),
        });
        kinds.collect()
    };
    let object = HeldObject { is_worn: true, ..(*linkset(3)).clone() };
    let (owner, item, object) = (object.owner, Uuid::from_u128(0x100), Arc::new(object));
    let worn = WornObject { owner, item, point: 2, revision: 10, is_ahead: false, object };
    let (session, replaces, ids) = (SessionKey(3), false, Uuid::from_u128(9));
    let replacement = link::ContentReplacement {
        session,
        object: Uuid::from_u128(1),
        item: Uuid::from_u128(2),
        asset_type: 10,
        asset: Uuid::from_u128(3),
    };
    keeper.order_restore(item_order(11)).unwrap();
    keeper.order(Order::Content(replacement)).unwrap();
    assert!(keeper.wear(WearTask { session, worn, replaces, ids }));
    assert_eq!(kinds(&mut keeper), ["restore", "replace", "wear"]);
    // The world has gone back, and may have lost all of them.
    let back = |epoch| {
        let whole = snapshot(0, vec![(kept(1), at(1.0), body(1))]);
        let mut whole = Frame { epoch: Epoch(epoch), ..whole };
        let undone = (Ticket(2), Transfer::Undone { first: Ticket(1), last: Ticket(1) });
        whole.snapshot.as_mut().expect("a snapshot").transfers = vec![undone];
        whole
    };
    keeper.handle_frame(ms(300), &back(1));
    assert_eq!(kinds(&mut keeper), Vec::<&str>::new(), "it ignores them");
    keeper.order_restore(item_order(12)).unwrap();
    let batch = poll(&mut keeper, ms(550));
    assert_eq!((effects(&batch), kinds(&mut keeper)), (vec![(2, "undo")], vec![]));
    keeper.handle_saved(ms(560), batch.id, true);
    // The inbox has no room for the settlement, behind which all others are.
    keeper.send_orders(|action| {
        assert_eq!(action, Action::Settle(Ticket(2)));
        false
    });
    assert_eq!(kinds(&mut keeper), ["settle", "restore", "restore", "replace", "wear"]);
    assert_eq!(kinds(&mut keeper), Vec::<&str>::new());
    // The step that has had them has panicked, and was lost.
    keeper.handle_frame(ms(600), &back(2));
    assert_eq!(kinds(&mut keeper), ["settle", "restore", "restore", "replace", "wear"]);
}
