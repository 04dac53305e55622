//! Gifts: both inventories and the offer change together, or nothing does.

use super::*;
use crate::account::tests::create;
use crate::engine::{Sql, values};
use crate::inventory::edit::tests::{change, make, new_folder};
use crate::inventory::offers::{OFFERS_MAX, OFFERS_WAITING_MAX, OfferAnswered};
use crate::inventory::tests::item;
use crate::testing::{TestDatabase, on_both_engines, rewrite};
use crate::{Folder, FolderContents, NewFolder, Store, StoreError};

on_both_engines! {
    a_copy_stays_and_the_receiver_has_its_own,
    an_item_that_leaves_is_in_one_inventory,
    a_folder_comes_with_what_is_made_in_it,
    a_repeated_gift_has_no_second_effect,
    a_gift_of_an_item_that_has_changed_has_no_effect,
    a_refused_gift_leaves_nothing_behind,
    both_sides_have_accounts,
    gifts_in_both_directions_at_once_do_not_wait_for_each_other,
    offers_wait_until_they_are_shown,
    the_first_answer_counts_and_moves_the_thing,
    an_answer_is_the_receivers_and_a_refused_move_does_not_undo_it,
    offers_that_wait_are_bounded,
    old_offers_are_forgotten,
}

const DAY_S: i64 = 86_400;
const NOW_S: i64 = 1_750_000_000;

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

/// Ada with the root 0x101 and the item 0x201, and Grace with 0x102 and 0x202.
fn ada_and_grace(store: &Store) -> (AgentId, AgentId) {
    (create(store, 1, "Ada", "Lovelace"), create(store, 2, "Grace", "Hopper"))
}

const ADAS_ROOT: Uuid = Uuid::from_u128(0x101);
const GRACES_ROOT: Uuid = Uuid::from_u128(0x102);
const ADAS_ITEM: Uuid = Uuid::from_u128(0x201);

fn offer(giver: AgentId, receiver: AgentId, n: u128, kind: OfferKind) -> Offer {
    Offer { receiver, id: id(n), giver, transaction: id(n + 0x1000), kind, made_s: NOW_S }
}

fn as_made(n: u128, folder: Uuid) -> InventoryChange {
    InventoryChange::CreateItem(item(n, folder))
}

/// A gift of Ada's item, which becomes item `n` in Grace's root.
fn gift_of(store: &Store, (giver, receiver): (AgentId, AgentId), n: u128, leaves: bool) -> InventoryGift {
    let given = store.item(giver, ADAS_ITEM).unwrap().expect("it is there");
    InventoryGift {
        offer: offer(giver, receiver, n, OfferKind::Item),
        items: vec![GivenItem { item: given, leaves }],
        made: vec![as_made(n, GRACES_ROOT)],
        limits: InventoryLimits::default(),
    }
}

fn has(store: &Store, owner: AgentId, item: Uuid) -> bool {
    store.item(owner, item).unwrap().is_some()
}

/// All rows of an owner.
fn rows(store: &Store, owner: AgentId, root: Uuid) -> (Vec<Folder>, FolderContents) {
    (store.folders(owner).unwrap(), store.folder_contents(owner, root, 10_000).unwrap())
}

fn version(store: &Store, owner: AgentId, folder: Uuid) -> i32 {
    store.folder(owner, folder).unwrap().unwrap().version
}

fn a_copy_stays_and_the_receiver_has_its_own(database: &TestDatabase) {
    let store = database.open();
    let (ada, grace) = ada_and_grace(&store);
    assert_eq!(store.give(&gift_of(&store, (ada, grace), 50, false)).unwrap(), GiftOutcome::Given);
    let again = database.open();
    assert_eq!(again.item(grace, id(50)).unwrap(), Some(item(50, GRACES_ROOT)));
    assert!(has(&again, ada, ADAS_ITEM));
    assert_eq!((version(&again, ada, ADAS_ROOT), version(&again, grace, GRACES_ROOT)), (1, 2));
}

fn an_item_that_leaves_is_in_one_inventory(database: &TestDatabase) {
    let store = database.open();
    let (ada, grace) = ada_and_grace(&store);
    assert_eq!(store.give(&gift_of(&store, (ada, grace), 50, true)).unwrap(), GiftOutcome::Given);
    assert!(has(&store, grace, id(50)) && !has(&store, ada, ADAS_ITEM));
    assert_eq!((version(&store, ada, ADAS_ROOT), version(&store, grace, GRACES_ROOT)), (2, 2));
}

fn a_folder_comes_with_what_is_made_in_it(database: &TestDatabase) {
    let store = database.open();
    let (ada, grace) = ada_and_grace(&store);
    let folder = NewFolder { id: id(50), parent: GRACES_ROOT, name: "Hats".into(), type_default: -1 };
    let gift = InventoryGift {
        offer: offer(ada, grace, 50, OfferKind::Folder),
        made: vec![InventoryChange::CreateFolder(folder), as_made(51, id(50)), as_made(52, id(50))],
        ..gift_of(&store, (ada, grace), 50, true)
    };
    assert_eq!(store.give(&gift).unwrap(), GiftOutcome::Given);
    let FolderContents::Whole { folders, items } = store.folder_contents(grace, id(50), 9).unwrap() else {
        panic!("it is there as a whole")
    };
    assert_eq!((folders.len(), items.len(), version(&store, grace, id(50))), (1, 2, 3));
}

fn a_repeated_gift_has_no_second_effect(database: &TestDatabase) {
    let store = database.open();
    let (ada, grace) = ada_and_grace(&store);
    let gift = gift_of(&store, (ada, grace), 50, true);
    assert_eq!(store.give(&gift).unwrap(), GiftOutcome::Given);
    let before = [rows(&store, ada, ADAS_ROOT), rows(&store, grace, GRACES_ROOT)];
    assert_eq!(store.give(&gift).unwrap(), GiftOutcome::Repeated);
    assert_eq!([rows(&store, ada, ADAS_ROOT), rows(&store, grace, GRACES_ROOT)], before);
    assert_eq!(store.waiting_offers(grace).unwrap(), [gift.offer]);
    // The offer is known although the item is gone.
    change(&store, grace, InventoryChange::RemoveItem { item: id(50) }).unwrap();
    assert_eq!(store.give(&gift).unwrap(), GiftOutcome::Repeated);
    assert!(!has(&store, grace, id(50)));
}

fn a_gift_of_an_item_that_has_changed_has_no_effect(database: &TestDatabase) {
    let store = database.open();
    let (ada, grace) = ada_and_grace(&store);
    make(&store, ada, &[new_folder(1, ADAS_ROOT)]);
    let gift = gift_of(&store, (ada, grace), 50, true);
    make(&store, ada, &[InventoryChange::MoveItem { item: ADAS_ITEM, folder: id(1), name: None }]);
    assert_eq!(store.give(&gift).unwrap(), GiftOutcome::Changed(ADAS_ITEM));
    make(&store, ada, &[InventoryChange::RemoveItem { item: ADAS_ITEM }]);
    assert_eq!(store.give(&gift).unwrap(), GiftOutcome::Changed(ADAS_ITEM));
    assert!(!has(&store, grace, id(50)) && store.waiting_offers(grace).unwrap().is_empty());
}

fn a_refused_gift_leaves_nothing_behind(database: &TestDatabase) {
    let store = database.open();
    let (ada, grace) = ada_and_grace(&store);
    let gift = gift_of(&store, (ada, grace), 50, true);
    let before = [rows(&store, ada, ADAS_ROOT), rows(&store, grace, GRACES_ROOT)];
    // The first of two is made, and taken back.
    let made = vec![as_made(50, GRACES_ROOT), as_made(51, id(9))];
    let elsewhere = InventoryGift { made, ..gift.clone() };
    let refusal = InventoryRefusal::UnknownFolder(id(9));
    assert_eq!(store.give(&elsewhere).unwrap(), GiftOutcome::OfReceiver(refusal));
    let limits = InventoryLimits { items_max: 1, ..InventoryLimits::default() };
    let full = InventoryGift { limits, ..gift.clone() };
    let refusal = InventoryRefusal::TooManyItems { max: 1 };
    assert_eq!(store.give(&full).unwrap(), GiftOutcome::OfReceiver(refusal));
    assert_eq!([rows(&store, ada, ADAS_ROOT), rows(&store, grace, GRACES_ROOT)], before);
    assert!(store.waiting_offers(grace).unwrap().is_empty());
    assert_eq!(store.give(&gift).unwrap(), GiftOutcome::Given);
}

fn both_sides_have_accounts(database: &TestDatabase) {
    let store = database.open();
    let (ada, grace) = ada_and_grace(&store);
    let nobody = AgentId(id(77));
    let gift = gift_of(&store, (ada, grace), 50, true);
    for (giver, receiver) in [(ada, nobody), (nobody, grace)] {
        let offer = Offer { giver, receiver, ..gift.offer };
        let outcome = store.give(&InventoryGift { offer, ..gift.clone() }).unwrap();
        assert_eq!(outcome, GiftOutcome::UnknownAccount(nobody));
    }
    assert!(has(&store, ada, ADAS_ITEM));
}

fn gifts_in_both_directions_at_once_do_not_wait_for_each_other(database: &TestDatabase) {
    let stores = [database.open(), database.open()];
    let (ada, grace) = ada_and_grace(&stores[0]);
    let gift = |giver, receiver, n, folder| InventoryGift {
        offer: offer(giver, receiver, n, OfferKind::Item),
        items: Vec::new(),
        made: vec![as_made(n, folder)],
        limits: InventoryLimits::default(),
    };
    std::thread::scope(|scope| {
        for (store, (giver, receiver, folder, first)) in
            stores.iter().zip([(ada, grace, GRACES_ROOT, 0x5000), (grace, ada, ADAS_ROOT, 0x6000)])
        {
            scope.spawn(move || {
                for n in first..first + 20 {
                    assert_eq!(store.give(&gift(giver, receiver, n, folder)).unwrap(), GiftOutcome::Given);
                }
            });
        }
    });
    let n_waiting = [ada, grace].map(|receiver| stores[0].waiting_offers(receiver).unwrap().len());
    assert_eq!(n_waiting, [20, 20]);
}

/// A gift that is made of nothing of the giver's.
fn bare(offer: Offer) -> InventoryGift {
    InventoryGift { offer, items: Vec::new(), made: Vec::new(), limits: InventoryLimits::default() }
}

fn offers_wait_until_they_are_shown(database: &TestDatabase) {
    let store = database.open();
    let (ada, grace) = ada_and_grace(&store);
    let late = Offer { made_s: NOW_S + 5, ..offer(ada, grace, 50, OfferKind::Item) };
    let early = offer(ada, grace, 51, OfferKind::CallingCard);
    for offer in [late, early] {
        assert_eq!(store.give(&bare(offer)).unwrap(), GiftOutcome::Given);
    }
    assert_eq!(database.open().waiting_offers(grace).unwrap(), [early, late]);
    assert_eq!(store.waiting_offers(ada).unwrap(), []);
    store.open_offers(grace, &[id(51), id(99)]).unwrap();
    store.open_offers(ada, &[id(50)]).unwrap();
    assert_eq!(store.waiting_offers(grace).unwrap(), [late]);
}

fn the_first_answer_counts_and_moves_the_thing(database: &TestDatabase) {
    let store = database.open();
    let (ada, grace) = ada_and_grace(&store);
    let gift = gift_of(&store, (ada, grace), 50, false);
    store.give(&gift).unwrap();
    make(&store, grace, &[new_folder(1, GRACES_ROOT), new_folder(2, GRACES_ROOT)]);
    let limits = InventoryLimits::default();
    // An offer that was not shown yet can be answered, too.
    let answered = store.answer_offer(grace, id(50), Some(id(1)), &limits).unwrap();
    assert_eq!(answered, OfferAnswered::Now { offer: gift.offer, moved: Ok(()) });
    assert!(store.waiting_offers(grace).unwrap().is_empty());
    let again = store.answer_offer(grace, id(50), Some(id(2)), &limits).unwrap();
    assert_eq!(again, OfferAnswered::Before(gift.offer));
    assert_eq!(store.item(grace, id(50)).unwrap().unwrap().folder, id(1));
    store.open_offers(grace, &[id(50)]).unwrap();
    let again = store.answer_offer(grace, id(50), None, &limits).unwrap();
    assert_eq!(again, OfferAnswered::Before(gift.offer), "it does not become open again");
}

fn an_answer_is_the_receivers_and_a_refused_move_does_not_undo_it(database: &TestDatabase) {
    let store = database.open();
    let (ada, grace) = ada_and_grace(&store);
    let folder = NewFolder { id: id(50), parent: GRACES_ROOT, name: "Hats".into(), type_default: -1 };
    let gift = InventoryGift {
        made: vec![InventoryChange::CreateFolder(folder)],
        ..bare(offer(ada, grace, 50, OfferKind::Folder))
    };
    store.give(&gift).unwrap();
    let limits = InventoryLimits::default();
    for (receiver, offer) in [(ada, id(50)), (grace, id(51))] {
        let unknown = store.answer_offer(receiver, offer, Some(GRACES_ROOT), &limits).unwrap();
        assert_eq!(unknown, OfferAnswered::Unknown);
    }
    let answered = store.answer_offer(grace, id(50), Some(ADAS_ROOT), &limits).unwrap();
    let moved = Err(InventoryRefusal::UnknownFolder(ADAS_ROOT));
    assert_eq!(answered, OfferAnswered::Now { offer: gift.offer, moved });
    assert_eq!(store.folder(grace, id(50)).unwrap().unwrap().parent, GRACES_ROOT);
    let again = store.answer_offer(grace, id(50), None, &limits).unwrap();
    assert_eq!(again, OfferAnswered::Before(gift.offer));
    let nobody = store.answer_offer(AgentId(id(77)), id(50), None, &limits);
    assert!(matches!(nobody, Err(StoreError::UnknownAccount(_))), "{nobody:?}");
}

fn offers_that_wait_are_bounded(database: &TestDatabase) {
    let store = database.open();
    let (ada, grace) = ada_and_grace(&store);
    let given = |n: u128| store.give(&bare(offer(ada, grace, n, OfferKind::Item))).unwrap();
    for n in 0..u128::from(OFFERS_WAITING_MAX) {
        assert_eq!(given(0x1_0000 + n), GiftOutcome::Given);
    }
    assert_eq!(given(0x2_0000), GiftOutcome::TooManyOffers);
    store.open_offers(grace, &[id(0x1_0000)]).unwrap();
    assert_eq!(given(0x2_0000), GiftOutcome::Given);
}

fn old_offers_are_forgotten(database: &TestDatabase) {
    let store = database.open();
    let (ada, grace) = ada_and_grace(&store);
    let made = |n, made_s| Offer { made_s, ..offer(ada, grace, n, OfferKind::Item) };
    // Waiting, open, and answered; the next gift comes a month later.
    let all = [made(50, NOW_S), made(51, NOW_S), made(52, NOW_S)];
    for offer in all {
        assert_eq!(store.give(&bare(offer)).unwrap(), GiftOutcome::Given);
    }
    store.open_offers(grace, &[id(51)]).unwrap();
    store.answer_offer(grace, id(52), None, &InventoryLimits::default()).unwrap();
    store.give(&bare(made(53, NOW_S + 31 * DAY_S))).unwrap();
    let repeated = all.map(|offer| store.give(&bare(offer)).unwrap() == GiftOutcome::Repeated);
    assert_eq!(repeated, [true, false, false]);
}

#[test]
fn offers_in_all_states_are_bounded() {
    let store = Store::open_in_memory().unwrap();
    let (ada, grace) = ada_and_grace(&store);
    let fill = Sql::same(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1) \
         INSERT INTO inventory_offers SELECT $2, randomblob(16), $3, randomblob(16), 0, $4 + n, 1, 0, 0 FROM numbers",
    );
    rewrite(&store, fill, values![OFFERS_MAX, grace.0, ada.0, NOW_S - DAY_S]);
    let newest = bare(offer(ada, grace, 50, OfferKind::Item));
    assert_eq!(store.give(&newest).unwrap(), GiftOutcome::Given);
    let count = Sql::same("SELECT count(*) FROM inventory_offers");
    let n = store.read(|session| session.query_row(count, &[], |row| row.get::<u32>(0))).unwrap();
    assert_eq!(n, Some(OFFERS_MAX - OFFERS_MAX / 4), "the oldest quarter, and one more for the new one");
    assert_eq!(store.give(&newest).unwrap(), GiftOutcome::Repeated);
}
