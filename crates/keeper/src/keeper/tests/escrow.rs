//! Transfers: their effects are in the batch of their frame, once, and their tickets are settled behind it.

use super::*;
use crate::{RestoreError, RestoreOrder, RestoreOutcome};
use ids::{AgentId, HeldKey, SessionKey, Ticket};
use link::{Action, DerezKind, EditRefusal, Event, HeldLinkset, Transfer};
use store::{HeldChange, HeldRow, TakeHeld};

const TWO: WorldId = WorldId(2);

fn linkset(n: u128) -> Arc<HeldLinkset> {
    let (owner, by, kind) = (AgentId(Uuid::from_u128(7)), SessionKey::NODE, DerezKind::Return);
    let (folder, transaction) = (Uuid::nil(), Uuid::nil());
    Arc::new(HeldLinkset { owner, by, kind, folder, transaction, prims: vec![(at(1.0), body(n))] })
}

fn key(region: WorldId, ticket: u32) -> HeldKey {
    HeldKey { region, ticket: Ticket(ticket) }
}

fn held(ticket: u32) -> (Ticket, Transfer) {
    (Ticket(ticket), Transfer::Held(linkset(ticket.into())))
}

/// A frame with these transfers.
fn told(sequence: u64, objects: Vec<ObjectChange>, transfers: Vec<(Ticket, Transfer)>) -> Frame {
    let events = transfers.into_iter().map(|(ticket, transfer)| Event::Transfer(ticket, transfer));
    Frame { events: events.collect(), ..frame(sequence, objects) }
}

/// Tickets and kinds of the effects in a batch.
fn effects(batch: &Batch) -> Vec<(u32, &'static str)> {
    let effects = batch.changes.held.iter().map(|(ticket, change)| {
        let kind = match change {
            HeldChange::Insert(_) => "insert",
            HeldChange::Remove(_) => "remove",
            HeldChange::Release(_) => "release",
            HeldChange::Undo { .. } => "undo",
        };
        (ticket.0, kind)
    });
    effects.collect()
}

fn orders(keeper: &mut Keeper) -> Vec<Action> {
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
    RestoreOrder { row: row(region, ticket), position: None, ids: Uuid::from_u128(5) }
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
        Action::Restore(order) => order.key,
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
    let outcome = |ticket, refusal| Some(RestoreOutcome { key: key(TWO, ticket), refusal });
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
    let damaged = RestoreOrder { row: damaged, ..order(TWO, 1) };
    assert!(matches!(keeper.order_restore(damaged), Err(RestoreError::Row(_))));
    let one = order(TWO, 0);
    for ticket in 0..crate::escrow::ORDERS_MAX as u32 {
        let row = HeldRow { key: key(TWO, ticket), ..one.row.clone() };
        keeper.order_restore(RestoreOrder { row, ..one.clone() }).unwrap();
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
    assert_eq!(
        effects(&batch),
        [(5, "undo"), (5, "insert")],
        "what had left by a ticket that is undone is there"
    );
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
