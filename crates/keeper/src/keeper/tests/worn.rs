//! Worn objects in batches: beside the objects of the region, with their transfers, and taken back.

use super::escrow::{effects, orders, told};
use super::*;
use crate::{WearTask, WornNews, WornObject};
use ids::{AgentId, SessionKey, Ticket};
use link::{Action, DerezKind, HeldObject, Transfer, WornChange, WornTransfer};
use store::{HeldChange, ItemEffect, WornSave};

const OWNER: AgentId = AgentId(Uuid::from_u128(1));
const ITEM: Uuid = Uuid::from_u128(0x100);
/// Local id of an avatar.
const AVATAR: LocalId = LocalId(7);

fn root(x: f32) -> (PrimMotion, VersionedBody) {
    let mut versioned = body(1);
    let edited = Arc::make_mut(&mut versioned.body);
    (edited.state, edited.worn_item) = (0x20, Some(ITEM));
    (PrimMotion { parent: AVATAR, ..at(x) }, versioned)
}

fn object(x: f32) -> HeldObject {
    let (folder, transaction, is_worn) = (Uuid::nil(), Uuid::nil(), true);
    let (by, kind) = (SessionKey(3), DerezKind::Take);
    HeldObject { owner: OWNER, by, kind, folder, transaction, is_worn, linksets: vec![vec![root(x)]] }
}

fn shown(x: f32) -> ObjectChange {
    let (place, versioned) = root(x);
    set(temporary(1), place, versioned)
}

fn hands(ticket: u32, change: WornChange, x: f32) -> (Ticket, Transfer) {
    (Ticket(ticket), Transfer::Worn(Arc::new(WornTransfer { item: ITEM, change, object: object(x) })))
}

fn gone() -> Vec<ObjectChange> {
    vec![ObjectChange::Removed(temporary(1))]
}

/// A keeper of a region in which an avatar wears the item.
fn wearing() -> Keeper {
    let mut keeper = following(&[&[set(kept(1), at(1.0), body(9))]]);
    save(&mut keeper, ms(250));
    let object = Arc::new(object(0.5));
    let worn = WornObject { owner: OWNER, item: ITEM, point: 2, revision: 10, is_ahead: false, object };
    let (session, replaces, ids) = (SessionKey(3), false, Uuid::nil());
    assert!(keeper.wear(WearTask { session, worn, replaces, ids }));
    assert!(matches!(&orders(&mut keeper)[..], [Action::Wear(order)] if order.item == ITEM));
    keeper.handle_frame(ms(300), &frame(1, vec![shown(0.5)]));
    assert!(matches!(keeper.poll_worn(), Some(WornNews::Shown(worn)) if worn.item == ITEM));
    assert_eq!((keeper.unsaved_since(), keeper.has_unsaved_worn(OWNER)), (None, false));
    keeper
}

#[test]
fn an_edit_of_a_worn_object_is_in_the_batch_until_it_is_saved() {
    let mut keeper = wearing();
    keeper.handle_frame(ms(350), &frame(2, vec![shown(0.75)]));
    assert_eq!((keeper.unsaved_since(), keeper.poll_timeout()), (Some(ms(350)), Some(ms(600))));
    let batch = poll(&mut keeper, ms(600));
    assert_eq!((content(&batch), batch.since), ((vec![], vec![], vec![]), Some(ms(350))));
    assert!(matches!(&batch.changes.worn[..], [WornSave { ends: false, renews: false, .. }]));
    assert!(keeper.has_unsaved_worn(OWNER), "under way");
    keeper.handle_saved(ms(610), batch.id, false);
    assert_eq!(keeper.unsaved_since(), Some(ms(350)));
    let again = poll(&mut keeper, ms(1_110));
    assert_eq!(again.changes.worn.len(), 1);
    assert!(again.changes.worn[0].row.revision > batch.changes.worn[0].row.revision);
    keeper.handle_saved(ms(1_120), again.id, true);
    assert_eq!((keeper.unsaved_since(), keeper.has_unsaved_worn(OWNER)), (None, false));
}

#[test]
fn an_object_that_leaves_as_it_came_is_settled_without_a_save() {
    let mut keeper = wearing();
    keeper.handle_frame(ms(350), &told(2, gone(), vec![hands(1, WornChange::Left, 0.5)]));
    assert!(matches!(keeper.poll_worn(), Some(WornNews::Left(worn)) if !worn.is_ahead));
    assert_eq!((keeper.poll_timeout(), orders(&mut keeper)), (None, vec![Action::Settle(Ticket(1))]));
    // Beside one with an effect it waits for the disk.
    let mut keeper = wearing();
    keeper.handle_frame(ms(350), &told(2, gone(), vec![hands(1, WornChange::TakenOff, 0.5)]));
    keeper.handle_frame(ms(400), &told(3, Vec::new(), vec![hands(2, WornChange::Left, 0.5)]));
    assert_eq!(orders(&mut keeper), []);
    let batch = poll(&mut keeper, ms(600));
    assert_eq!((effects(&batch), keeper.has_unsaved_worn(OWNER)), (vec![(1, "worn")], true));
    keeper.handle_saved(ms(610), batch.id, true);
    assert_eq!(orders(&mut keeper), [Action::Settle(Ticket(2))]);
}

#[test]
fn changes_of_hands_are_taken_back_with_their_tickets() {
    let mut keeper = wearing();
    let undone =
        |ticket, first, last| (Ticket(ticket), Transfer::Undone { first: Ticket(first), last: Ticket(last) });
    keeper.handle_frame(ms(350), &told(2, gone(), vec![hands(1, WornChange::PutDown, 0.5)]));
    let batch = poll(&mut keeper, ms(600));
    assert_eq!(effects(&batch), [(1, "put down")]);
    keeper.handle_saved(ms(600), batch.id, true);
    // The item that has gone, as the store has had it.
    let made = crate::items::item_of(&object(0.5), 0);
    let item = store::Item { id: ITEM, folder: Uuid::from_u128(0xF0), name: "Hat".into(), ..made };
    let effect =
        ItemEffect { ticket: Ticket(1), owner: OWNER, item, is_there: false, version: 1, new_folder: None };
    keeper.note_items(&[effect]);
    keeper.handle_frame(ms(650), &told(3, vec![shown(0.5)], vec![undone(2, 1, 1)]));
    let batch = poll(&mut keeper, ms(900));
    assert_eq!(effects(&batch), [(2, "undo"), (2, "wear again")]);
    let Some((_, HeldChange::WearAgain(row, Some(item)))) = batch.changes.held.last() else {
        panic!("{batch:?}")
    };
    assert_eq!((row.item, &*item.name, row.is_ahead), (ITEM, "Hat", true));
    keeper.handle_saved(ms(900), batch.id, true);
    let news: Vec<WornNews> = std::iter::from_fn(|| keeper.poll_worn()).collect();
    assert!(matches!(&news[..], [WornNews::Ended(..), WornNews::Shown(_)]), "{news:?}");
    // The object that was put on and taken off again lies on the ground.
    keeper.handle_frame(ms(950), &told(4, gone(), vec![hands(3, WornChange::TakenOff, 0.5)]));
    let both = vec![hands(4, WornChange::PutOn, 0.5), hands(5, WornChange::TakenOff, 0.5)];
    keeper.handle_frame(ms(1_000), &told(5, Vec::new(), both));
    keeper.handle_frame(ms(1_050), &told(6, Vec::new(), vec![undone(6, 4, 5)]));
    let batch = poll(&mut keeper, ms(1_300));
    let expected = [(3, "worn"), (4, "put on"), (5, "worn"), (6, "undo"), (6, "undo put on")];
    assert_eq!(effects(&batch), expected);
    let news: Vec<WornNews> = std::iter::from_fn(|| keeper.poll_worn()).collect();
    assert!(news.iter().all(|news| matches!(news, WornNews::Ended(..))), "{news:?}");
}

#[test]
fn a_world_that_has_lost_its_region_is_not_dressed() {
    let mut keeper = wearing();
    let emptied = Frame { epoch: Epoch(1), ..snapshot(0, Vec::new()) };
    assert_eq!(keeper.handle_frame(ms(400), &emptied), Following::Emptied);
    let Some(WornNews::Lost(worn)) = keeper.poll_worn() else { panic!("news") };
    let (session, replaces, ids) = (SessionKey(3), false, Uuid::nil());
    assert!(!keeper.wear(WearTask { session, worn, replaces, ids }));
}
