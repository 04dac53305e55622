//! Rows of held objects: each transfer has its effect once, in the save of its region.

use super::*;
use crate::check;
use crate::region_objects::tests::{ONE, aside, changes};
use crate::testing::{TestDatabase, on_both_engines, tamper};
use ids::Uuid;

on_both_engines! {
    a_row_comes_and_goes_with_a_save_of_its_region,
    a_transfer_that_has_taken_effect_does_so_no_more,
    a_save_that_fails_leaves_the_rows,
    a_linkset_is_on_its_way_to_one_region,
    tickets_that_are_undone_leave_no_row,
    a_list_has_pages_by_user_and_by_region,
    users_are_full_from_a_number_on,
    a_damaged_row_is_named_and_set_aside_when_it_is_taken,
    a_damaged_mark_is_named_and_ends_with_the_next_start,
    a_region_without_a_row_goes_on_after_its_held_objects,
    thousands_of_rows_come_at_once,
}

const TWO: WorldId = WorldId(2);

const fn held(region: WorldId, ticket: u32) -> HeldKey {
    HeldKey { region, ticket: Ticket(ticket) }
}

fn owner(n: u128) -> AgentId {
    AgentId(Uuid::from_u128(n))
}

fn row_of(region: WorldId, ticket: u32, n: u128) -> HeldRow {
    let value = format!("linkset {ticket} of {}", region.0).into_bytes().into();
    let by = SessionKey(u64::MAX - u64::from(ticket));
    HeldRow { key: held(region, ticket), owner: owner(n), kind: 9, by, held_s: -5, value }
}

fn insert(ticket: u32) -> (Ticket, HeldChange) {
    (Ticket(ticket), HeldChange::Insert(row_of(ONE, ticket, 1)))
}

/// A save with these transfers, up to the last of them.
fn save(store: &Store, region: WorldId, held: Vec<(Ticket, HeldChange)>) {
    let mut changes = changes(1, &[], &[], &[]);
    changes.row.ticket = held.last().map_or(Ticket(0), |(ticket, _)| *ticket);
    changes.held = held;
    store.save_region(region, &changes).unwrap();
}

fn keys(store: &Store) -> Vec<HeldKey> {
    let page = store.held_objects(HeldFilter::default(), None, 10_000).unwrap();
    assert_eq!((page.damages, page.next), (Vec::new(), None));
    page.entries.into_iter().map(|entry| entry.row.key).collect()
}

fn a_row_comes_and_goes_with_a_save_of_its_region(database: &TestDatabase) {
    let store = database.open();
    save(&store, ONE, vec![insert(1), insert(2)]);
    let page = store.held_objects(HeldFilter::default(), None, 10).unwrap();
    let entry = |ticket| HeldEntry { row: row_of(ONE, ticket, 1), taken_by: None };
    assert_eq!(page.entries, [entry(1), entry(2)]);
    assert_eq!(store.region_row(ONE).unwrap().map(|row| row.ticket), Some(Ticket(2)));
    assert_eq!(store.take_held(held(ONE, 1), TWO).unwrap(), TakeHeld::Taken(row_of(ONE, 1, 1)));
    // By the region that it is in now, whose tickets are its own.
    save(&store, TWO, vec![(Ticket(1), HeldChange::Remove(held(ONE, 1)))]);
    assert_eq!(keys(&database.open()), [held(ONE, 2)]);
    let problems = check(&database.url).unwrap().problems;
    assert!(problems.is_empty(), "{problems:?}");
}

fn a_transfer_that_has_taken_effect_does_so_no_more(database: &TestDatabase) {
    let store = database.open();
    save(&store, ONE, vec![insert(1), insert(2)]);
    assert!(store.remove_held(held(ONE, 1)).unwrap());
    assert_eq!(store.take_held(held(ONE, 2), TWO).unwrap(), TakeHeld::Taken(row_of(ONE, 2, 1)));
    save(&store, TWO, vec![(Ticket(1), HeldChange::Remove(held(ONE, 2)))]);
    // The answer to the first save was lost.
    save(&store, ONE, vec![insert(1), insert(2), insert(3)]);
    assert_eq!(keys(&store), [held(ONE, 3)]);
    assert_eq!(store.take_held(held(ONE, 3), TWO).unwrap(), TakeHeld::Taken(row_of(ONE, 3, 1)));
    save(&store, TWO, vec![(Ticket(2), HeldChange::Release(held(ONE, 3)))]);
    assert_eq!(store.take_held(held(ONE, 3), ONE).unwrap(), TakeHeld::Taken(row_of(ONE, 3, 1)));
    save(&store, TWO, vec![(Ticket(2), HeldChange::Release(held(ONE, 3)))]);
    assert_eq!(store.take_held(held(ONE, 3), TWO).unwrap(), TakeHeld::Busy(ONE), "it was not released again");
}

fn a_save_that_fails_leaves_the_rows(database: &TestDatabase) {
    let store = database.open();
    save(&store, ONE, vec![insert(1)]);
    let mut changes = changes(2, &[(5, "five")], &[], &[]);
    changes.held = vec![insert(2), (Ticket(3), HeldChange::Remove(held(ONE, 1)))];
    changes.row.ticket = Ticket(3);
    tamper(&store, Sql::same("ALTER TABLE held_objects RENAME TO elsewhere"), &[]);
    assert!(store.save_region(ONE, &changes).is_err());
    tamper(&store, Sql::same("ALTER TABLE elsewhere RENAME TO held_objects"), &[]);
    assert_eq!((keys(&store), store.count_region_objects(ONE).unwrap()), (vec![held(ONE, 1)], 0));
    store.save_region(ONE, &changes).unwrap();
    assert_eq!((keys(&store), store.count_region_objects(ONE).unwrap()), (vec![held(ONE, 2)], 1));
}

fn a_linkset_is_on_its_way_to_one_region(database: &TestDatabase) {
    let store = database.open();
    save(&store, ONE, vec![insert(1), insert(2)]);
    assert_eq!(store.take_held(held(TWO, 1), ONE).unwrap(), TakeHeld::Unknown);
    assert_eq!(store.take_held(held(ONE, 1), TWO).unwrap(), TakeHeld::Taken(row_of(ONE, 1, 1)));
    for by in [ONE, TWO] {
        assert_eq!(store.take_held(held(ONE, 1), by).unwrap(), TakeHeld::Busy(TWO));
    }
    let page = store.held_objects(HeldFilter::default(), None, 10).unwrap();
    let taken: Vec<Option<WorldId>> = page.entries.iter().map(|entry| entry.taken_by).collect();
    assert_eq!(taken, [Some(TWO), None]);
    assert!(!store.remove_held(held(ONE, 1)).unwrap(), "it is on its way");
    assert!(store.release_held(held(ONE, 1)).unwrap() && !store.release_held(held(TWO, 9)).unwrap());
    assert_eq!(store.take_held(held(ONE, 1), ONE).unwrap(), TakeHeld::Taken(row_of(ONE, 1, 1)));
    assert_eq!((store.release_all_held().unwrap(), store.release_all_held().unwrap()), (1, 0));
    assert!(store.remove_held(held(ONE, 1)).unwrap() && !store.remove_held(held(ONE, 1)).unwrap());
}

fn tickets_that_are_undone_leave_no_row(database: &TestDatabase) {
    let store = database.open();
    save(&store, TWO, vec![(Ticket(3), HeldChange::Insert(row_of(TWO, 3, 1)))]);
    save(&store, ONE, vec![insert(1), insert(2), insert(3)]);
    // A linkset that another region had left, and that came into this one with a ticket that is undone, is put back.
    let undo = HeldChange::Undo { first: Ticket(2), last: Ticket(4) };
    let back = HeldChange::Insert(row_of(TWO, 4, 1));
    save(&store, ONE, vec![insert(4), (Ticket(5), undo), (Ticket(5), back), insert(6)]);
    assert_eq!(keys(&store), [held(ONE, 1), held(ONE, 6), held(TWO, 3), held(TWO, 4)]);
}

fn a_list_has_pages_by_user_and_by_region(database: &TestDatabase) {
    let store = database.open();
    let of = |region, ticket, n| (Ticket(ticket), HeldChange::Insert(row_of(region, ticket, n)));
    save(&store, ONE, vec![of(ONE, 1, 1), of(ONE, 2, 2), of(ONE, 3, 1), of(ONE, 4, 1)]);
    save(&store, TWO, vec![of(TWO, 1, 1), of(TWO, u32::MAX, 2)]);
    let list = |filter, limit| {
        let (mut all, mut after, mut n_pages) = (Vec::new(), None, 0);
        loop {
            let page = store.held_objects(filter, after, limit).unwrap();
            assert!(page.entries.len() <= limit as usize);
            all.extend(page.entries.into_iter().map(|entry| entry.row.key));
            n_pages += 1;
            after = page.next;
            if after.is_none() {
                return (all, n_pages);
            }
        }
    };
    let one = [1, 2, 3, 4].map(|ticket| held(ONE, ticket)).to_vec();
    let two = [1, u32::MAX].map(|ticket| held(TWO, ticket)).to_vec();
    assert_eq!(list(HeldFilter::default(), 4), ([one.clone(), two.clone()].concat(), 2));
    assert_eq!(list(HeldFilter { region: Some(ONE), ..HeldFilter::default() }, 3), (one, 2));
    assert_eq!(list(HeldFilter { region: Some(TWO), ..HeldFilter::default() }, 1).0, two);
    let of_owner = HeldFilter { owner: Some(owner(1)), ..HeldFilter::default() };
    let keys = vec![held(ONE, 1), held(ONE, 3), held(ONE, 4), held(TWO, 1)];
    assert_eq!(list(of_owner, 3), (keys, 2));
    let both = HeldFilter { owner: Some(owner(2)), region: Some(TWO) };
    assert_eq!(list(both, 10), (vec![held(TWO, u32::MAX)], 1));
}

fn users_are_full_from_a_number_on(database: &TestDatabase) {
    let store = database.open();
    let of = |ticket, n| (Ticket(ticket), HeldChange::Insert(row_of(ONE, ticket, n)));
    save(&store, ONE, vec![of(1, 1), of(2, 2), of(3, 1), of(4, 3), of(5, 3), of(6, 3)]);
    assert_eq!([1, 2, 3, 4].map(|n| store.count_held(owner(n)).unwrap()), [2, 1, 3, 0]);
    assert_eq!(store.full_owners(2).unwrap(), [owner(1), owner(3)]);
    assert_eq!(store.full_owners(4).unwrap(), []);
}

fn a_damaged_row_is_named_and_set_aside_when_it_is_taken(database: &TestDatabase) {
    let store = database.open();
    save(&store, ONE, vec![insert(1), insert(2), insert(3)]);
    let key_of_2 = key(held(ONE, 2));
    tamper(&store, Sql::same("UPDATE held_objects SET held_s = 7 WHERE held = $1"), values![key_of_2]);
    let named = "held object 1-2: the checksum does not match";
    assert_eq!(check(&database.url).unwrap().problems, [named]);
    let page = store.held_objects(HeldFilter::default(), None, 2).unwrap();
    assert_eq!((page.entries.len(), page.damages[0].to_string()), (1, named.to_owned()));
    assert_eq!(page.next, Some(held(ONE, 2)), "damage does not end the list");
    let TakeHeld::Damaged(damage) = store.take_held(held(ONE, 2), TWO).unwrap() else {
        panic!("it is damaged")
    };
    assert_eq!(damage.to_string(), named);
    store.set_held_aside(held(ONE, 3), "no prim").unwrap();
    let linkset = |ticket| row_of(ONE, ticket, 1).value.to_vec();
    assert_eq!(aside(&store), [("held".to_owned(), linkset(2)), ("held".to_owned(), linkset(3))]);
    assert_eq!(keys(&store), [held(ONE, 1)]);
}

fn a_damaged_mark_is_named_and_ends_with_the_next_start(database: &TestDatabase) {
    let store = database.open();
    save(&store, ONE, vec![insert(1), insert(2)]);
    assert!(matches!(store.take_held(held(ONE, 1), TWO).unwrap(), TakeHeld::Taken(_)));
    assert!(check(&database.url).unwrap().problems.is_empty());
    let mark = Sql::same("UPDATE held_objects SET taken_by = NULL WHERE held = $1");
    tamper(&store, mark, values![key(held(ONE, 1))]);
    let problems = check(&database.url).unwrap().problems;
    assert!(matches!(&problems[..], [why] if why.ends_with("taken_checksum does not match")), "{problems:?}");
    assert_eq!((store.release_all_held().unwrap(), store.release_all_held().unwrap()), (1, 0));
    assert!(check(&database.url).unwrap().problems.is_empty());
}

fn a_region_without_a_row_goes_on_after_its_held_objects(database: &TestDatabase) {
    let store = database.open();
    assert_eq!(store.region_objects(ONE).unwrap().last_held, Ticket(0));
    save(&store, TWO, vec![(Ticket(9), HeldChange::Insert(row_of(TWO, 9, 1)))]);
    save(&store, ONE, vec![insert(3), insert(4)]);
    tamper(&store, Sql::same("UPDATE regions SET sequence = 99 WHERE region = $1"), values![ONE.0]);
    assert_eq!(store.region_objects(ONE).unwrap().last_held, Ticket(4));
}

fn thousands_of_rows_come_at_once(database: &TestDatabase) {
    let store = database.open();
    save(&store, ONE, (1..=2_500).map(insert).collect());
    assert_eq!(store.count_held(owner(1)).unwrap(), 2_500);
    let undo = HeldChange::Undo { first: Ticket(2), last: Ticket(2_500) };
    save(&store, ONE, vec![(Ticket(2_501), undo)]);
    assert_eq!(keys(&store), [held(ONE, 1)]);
}
