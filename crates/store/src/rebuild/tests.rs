//! Damaged pages of held objects, of their index, and below a save.

use super::*;
use crate::engine::Sql;
use crate::object_damage::set_aside;
use crate::region_objects::tests::{ONE, PAGE, aside, changes, overwrite, pages_of};
use crate::testing::TestDatabase;
use crate::{HeldChange, HeldFilter, HeldRow, ObjectDamage, ObjectPart, RegionChanges, RowAside, check};
use ids::{AgentId, HeldKey, LocalId, SessionKey, Ticket, Uuid};

/// Held objects of a file.
const N: u32 = 3_000;
const INDEX: &str = "held_objects_by_owner";

fn owner(n: u32) -> AgentId {
    AgentId(Uuid::from_u128(n.into()))
}

/// A held object of one of ten users.
fn row_of(ticket: u32) -> HeldRow {
    let key = HeldKey { region: ONE, ticket: Ticket(ticket) };
    let value = format!("linkset {ticket:>5} ").repeat(20).into_bytes().into();
    HeldRow { key, owner: owner(ticket % 10), kind: 9, by: SessionKey::NODE, held_s: 5, value }
}

/// A save with held objects of these tickets.
fn insertions(tickets: std::ops::RangeInclusive<u32>) -> RegionChanges {
    let mut changes = changes(1, &[], &[], &[]);
    changes.row.ticket = Ticket(*tickets.end());
    changes.held = tickets.map(|ticket| (Ticket(ticket), HeldChange::Insert(row_of(ticket)))).collect();
    changes
}

/// A closed file with held objects, and the leaves of a table or an index in it.
fn file_with_held(name: &str) -> (TestDatabase, Vec<usize>) {
    let database = TestDatabase::sqlite();
    let store = database.open();
    store.save_region(ONE, &insertions(1..=N)).unwrap();
    let (leaves, _) = pages_of(&store, name);
    assert!(leaves.len() > 20, "{}", leaves.len());
    (database, leaves)
}

/// The first reads at the start of a server: what was built anew.
fn start(store: &Store) -> Vec<RebuiltTable> {
    let mut rebuilt = Vec::new();
    store.with_rebuild(|| store.release_all_held(), |table| rebuilt.push(table)).unwrap();
    store.with_rebuild(|| store.full_owners(1), |table| rebuilt.push(table)).unwrap();
    rebuilt
}

fn indexes(store: &Store) -> Vec<String> {
    let find = Sql::same("SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'held_objects'");
    store.read(|session| session.query(find, &[], |row| row.get(0))).unwrap()
}

fn rebuilt(former: Option<&str>, is_whole: bool) -> Vec<RebuiltTable> {
    vec![RebuiltTable { table: "held_objects", former: former.map(str::to_owned), is_whole }]
}

/// Checks that all held objects but for some are there, by their keys and by their owners, and that others come and go.
fn are_there_without(store: &Store, n_lost_max: usize) {
    let page = store.held_objects(HeldFilter::default(), None, N + 1).unwrap();
    assert!(
        page.damages.is_empty() && page.entries.len() + n_lost_max >= N as usize,
        "{}",
        page.entries.len()
    );
    assert!(page.entries.iter().all(|entry| entry.row == row_of(entry.row.key.ticket.0)));
    let n: u64 = (0..10).map(|n| store.count_held(owner(n)).unwrap()).sum();
    assert_eq!(n, page.entries.len() as u64);
    let plan = Sql::same("EXPLAIN QUERY PLAN SELECT count(*) FROM held_objects WHERE owner = x'00'");
    let plan = store.read(|session| session.query(plan, &[], |row| row.get::<String>(3))).unwrap();
    assert!(plan[0].contains(INDEX), "{plan:?}");
    store.save_region(ONE, &insertions(N + 1..=N + 500)).unwrap();
    for entry in page.entries {
        assert!(store.remove_held(entry.row.key).unwrap());
    }
    let n: u64 = (0..10).map(|n| store.count_held(owner(n)).unwrap()).sum();
    assert_eq!(n, 500);
}

#[test]
fn a_server_starts_without_the_held_objects_of_damaged_pages() {
    let (database, leaves) = file_with_held("held_objects");
    overwrite(&database, leaves[3], |_| vec![0; PAGE]);
    overwrite(&database, leaves[9], |_| vec![0xFF; PAGE]);
    assert!(!check(&database.url).unwrap().problems.is_empty());
    let store = database.open();
    assert_eq!(start(&store), rebuilt(Some("held_objects_damaged_1"), false));
    assert_eq!((indexes(&store), start(&store)), (vec![INDEX.to_owned()], vec![]));
    are_there_without(&store, 2 * PAGE / 280);
}

#[test]
fn a_page_of_held_objects_that_is_there_twice_is_noticed_at_the_start() {
    for (from, to) in [(5, 20), (20, 5)] {
        let (database, leaves) = file_with_held("held_objects");
        overwrite(&database, leaves[to], |bytes| {
            bytes[(leaves[from] - 1) * PAGE..leaves[from] * PAGE].to_vec()
        });
        let store = database.open();
        assert_eq!(start(&store), rebuilt(Some("held_objects_damaged_1"), false));
        are_there_without(&store, PAGE / 280);
    }
}

#[test]
fn an_index_with_damaged_pages_costs_no_held_object() {
    let (database, leaves) = file_with_held(INDEX);
    overwrite(&database, leaves[3], |_| vec![0; PAGE]);
    let store = database.open();
    assert_eq!(start(&store), rebuilt(Some("held_objects_damaged_1"), true));
    // The damaged one cannot be removed, and keeps its name.
    assert_eq!((indexes(&store), start(&store)), (vec![format!("{INDEX}_1")], vec![]));
    are_there_without(&store, 0);
}

#[test]
fn pages_of_a_table_and_of_its_index_may_be_damaged_at_once() {
    let (database, leaves) = file_with_held(INDEX);
    let (of_table, _) = pages_of(&database.open(), "held_objects");
    overwrite(&database, leaves[3], |_| vec![0; PAGE]);
    overwrite(&database, of_table[7], |_| vec![0; PAGE]);
    let store = database.open();
    assert_eq!(start(&store), rebuilt(Some("held_objects_damaged_1"), false));
    assert_eq!(indexes(&store), [format!("{INDEX}_1")]);
    are_there_without(&store, PAGE / 280);
}

/// Its pages can be read, and a removal finds an entry missing.
#[test]
fn an_index_that_lacks_entries_is_built_anew_when_a_save_notices_it() {
    let (database, leaves) = file_with_held(INDEX);
    overwrite(&database, leaves[3], |bytes| bytes[(leaves[4] - 1) * PAGE..leaves[4] * PAGE].to_vec());
    let store = database.open();
    let mut changes = changes(2, &[], &[], &[]);
    changes.row.ticket = Ticket(N + 1);
    let all = HeldChange::Undo { first: Ticket(1), last: Ticket(N) };
    changes.held = vec![(Ticket(N + 1), all)];
    let why = store.save_region(ONE, &changes).unwrap_err();
    assert!(why.is_damage(), "{why:?}");
    let mut tables = Vec::new();
    store.with_rebuild(|| store.save_region(ONE, &changes), |table| tables.push(table)).unwrap();
    assert_eq!((tables, indexes(&store)), (rebuilt(None, true), vec![INDEX.to_owned()]));
    assert!(store.held_objects(HeldFilter::default(), None, 1).unwrap().entries.is_empty());
    assert!(check(&database.url).unwrap().problems.is_empty());
}

#[test]
fn a_save_goes_on_after_a_page_below_it_was_damaged() {
    for name in ["object_bodies", "object_states", "held_objects"] {
        let database = TestDatabase::sqlite();
        let store = database.open();
        let value = "value ".repeat(40);
        let values: Vec<(u32, &str)> = (1..=N).map(|n| (n, &*value)).collect();
        let all = RegionChanges { held: insertions(1..=N).held, ..changes(1, &values, &values, &[]) };
        store.save_region(ONE, &all).unwrap();
        let (leaves, _) = pages_of(&store, name);
        drop(store);
        overwrite(&database, leaves[30], |_| vec![0; PAGE]);
        let store = database.open();
        assert!(store.save_region(ONE, &all).unwrap_err().is_damage(), "{name}");
        assert!(store.read_region(ONE).is_ok() == (name == "held_objects"), "{name}");
        let mut tables = Vec::new();
        store.with_rebuild(|| store.save_region(ONE, &all), |table| tables.push(table)).unwrap();
        let [RebuiltTable { table, is_whole: false, .. }] = &tables[..] else { panic!("{tables:?}") };
        assert_eq!(*table, name);
        let stored = store.read_region(ONE).unwrap();
        assert_eq!((stored.bodies.len(), stored.states.len()), (N as usize, N as usize));
        let page = store.held_objects(HeldFilter::default(), None, N + 1).unwrap();
        assert_eq!(page.entries.len(), N as usize, "{name}");
    }
}

#[test]
fn a_save_sets_rows_aside_into_a_table_that_had_damaged_pages() {
    let database = TestDatabase::sqlite();
    let store = database.open();
    let value = "value ".repeat(40);
    let values: Vec<(u32, &str)> = (1..=N).map(|n| (n, &*value)).collect();
    store.save_region(ONE, &changes(1, &values, &[], &[])).unwrap();
    let of = |n| ObjectDamage {
        region: ONE,
        object: LocalId(n),
        part: ObjectPart::Body,
        why: "no root".to_owned(),
    };
    let damages: Vec<ObjectDamage> = (1..N).map(of).collect();
    store.write(|session| set_aside(session, &damages)).unwrap();
    let (leaves, _) = pages_of(&store, "objects_set_aside");
    drop(store);
    overwrite(&database, *leaves.last().unwrap(), |_| vec![0; PAGE]);
    let store = database.open();
    let row = RowAside { damage: of(N), value: Some(value.clone().into()) };
    let next = RegionChanges { aside: vec![row], ..changes(2, &[], &[], &[]) };
    let mut tables = Vec::new();
    store.with_rebuild(|| store.save_region(ONE, &next), |table| tables.push(table.table)).unwrap();
    assert_eq!(tables, ["objects_set_aside"]);
    assert!(aside(&store).len() > N as usize - 20);
    assert_eq!(store.count_region_objects(ONE).unwrap(), 0);
}

#[test]
fn an_error_that_is_no_damage_builds_nothing_anew() {
    let (database, _) = file_with_held("held_objects");
    let store = database.open();
    let mut n_calls = 0;
    let refused = store.with_rebuild(
        || -> Result<(), StoreError> {
            n_calls += 1;
            Err(StoreError::TokenTaken("one".into()))
        },
        |table| panic!("{table}"),
    );
    assert!(refused.is_err() && n_calls == 1);
}
