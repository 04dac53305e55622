//! Regions: saved rows are read, of one region alone, and damage costs the damaged rows only.

use super::*;
use crate::engine::values;
use crate::testing::{TestDatabase, on_both_engines, tamper};
use crate::{LandKind, OBJECTS_SET_ASIDE_MAX, check};
use ids::{Epoch, Uuid};

on_both_engines! {
    a_region_is_read_as_it_was_saved_last,
    regions_do_not_see_each_others_objects,
    a_save_that_fails_changes_nothing,
    a_save_may_be_repeated,
    thousands_of_objects_are_saved_and_removed_at_once,
    damaged_rows_stay_until_a_save_sets_them_aside,
    rows_that_changed_places_are_damaged,
    a_damaged_row_of_a_region_costs_no_object,
    rows_that_mean_nothing_are_set_aside_and_newer_ones_stay,
    a_repeated_save_sets_nothing_newer_aside,
    a_save_that_fails_sets_nothing_aside,
    land_is_read_as_it_was_saved_last,
    damaged_rows_of_land_stay_until_a_save_sets_them_aside,
    a_row_of_land_of_an_unknown_kind_keeps_the_region_from_starting,
    a_row_from_before_there_was_a_name_is_read,
    of_objects_set_aside_the_oldest_go_first,
}

pub(crate) const ONE: WorldId = WorldId(1);
const TWO: WorldId = WorldId(2);

pub(crate) fn row(sequence: u64) -> RegionRow {
    RegionRow {
        epoch: Epoch(3),
        sequence,
        cache_id: Uuid::from_u128(7),
        state: b"resting".to_vec(),
        name: "Harbour".into(),
        ticket: Ticket(0),
    }
}

fn rows(values: &[(u32, &str)]) -> ObjectRows {
    let mut rows = ObjectRows::default();
    values.iter().for_each(|(object, value)| rows.push(LocalId(*object), value.as_bytes()));
    rows
}

pub(crate) fn changes(
    sequence: u64,
    bodies: &[(u32, &str)],
    states: &[(u32, &str)],
    gone: &[u32],
) -> RegionChanges {
    let gone = gone.iter().copied().map(LocalId).collect();
    let (land, held, aside) = (LandChanges::default(), Vec::new(), Vec::new());
    let (bodies, states, worn, documents) = (rows(bodies), rows(states), Vec::new(), Default::default());
    RegionChanges { row: row(sequence), bodies, states, gone, land, documents, held, worn, aside }
}

/// Damaged rows as a keeper hands them to the next save.
fn asides(damages: &[ObjectDamage]) -> Vec<RowAside> {
    damages.iter().map(|damage| RowAside { damage: damage.clone(), value: None }).collect()
}

/// A row of a region that is whole and means nothing.
fn meaningless(part: ObjectPart, object: LocalId, value: &str) -> RowAside {
    let damage = ObjectDamage { region: ONE, object, part, why: "no root".to_owned() };
    RowAside { damage, value: Some(value.into()) }
}

/// Sets an object aside, with both rows.
pub(crate) fn set_object_aside(store: &Store, region: WorldId, object: LocalId) {
    let of = |part| ObjectDamage { region, object, part, why: "no root".to_owned() };
    let damages = [ObjectPart::Body, ObjectPart::State].map(of);
    store.write(|session| set_aside(session, &damages)).unwrap();
}

/// The region without damage.
fn read(store: &Store, region: WorldId) -> StoredRegion {
    let stored = store.region_objects(region).unwrap();
    assert_eq!((&*stored.damages, &*stored.rebuilt), (&[][..], &[][..]));
    stored
}

/// Kinds and contents of the rows that were set aside.
pub(crate) fn aside(store: &Store) -> Vec<(String, Vec<u8>)> {
    let select = Sql::same("SELECT part, content FROM objects_set_aside ORDER BY number");
    store.read(|session| session.query(select, &[], |row| Ok((row.get(0)?, row.get(1)?)))).unwrap()
}

fn a_region_is_read_as_it_was_saved_last(database: &TestDatabase) {
    let store = database.open();
    assert_eq!(read(&store, ONE), StoredRegion::default());
    assert_eq!(store.region_row(ONE).unwrap(), None);
    let first = [(5, "five"), (7, "seven"), (u32::MAX, "last")];
    store.save_region(ONE, &changes(10, &first, &first, &[])).unwrap();
    let stored = read(&store, ONE);
    assert_eq!((&stored.bodies, &stored.states, stored.row), (&rows(&first), &rows(&first), Some(row(10))));
    // A state that moved, a body that stays, an object that is gone, another that was never there, a new one.
    store.save_region(ONE, &changes(u64::MAX, &[(8, "eight")], &[(5, "moved"), (8, "")], &[6, 7])).unwrap();
    let stored = read(&database.open(), ONE);
    assert_eq!(stored.bodies, rows(&[(5, "five"), (8, "eight"), (u32::MAX, "last")]));
    assert_eq!(stored.states, rows(&[(5, "moved"), (8, ""), (u32::MAX, "last")]));
    assert_eq!(store.region_row(ONE).unwrap(), Some(row(u64::MAX)));
    assert_eq!(store.count_region_objects(ONE).unwrap(), 3);
}

fn regions_do_not_see_each_others_objects(database: &TestDatabase) {
    let store = database.open();
    store.save_region(ONE, &changes(1, &[(u32::MAX, "of one")], &[], &[])).unwrap();
    store.save_region(TWO, &changes(2, &[(1, "of two")], &[], &[])).unwrap();
    store.save_region(WorldId(0), &changes(3, &[(u32::MAX, "of none")], &[], &[])).unwrap();
    store.save_region(TWO, &changes(4, &[], &[], &[u32::MAX])).unwrap();
    assert_eq!(read(&store, ONE).bodies, rows(&[(u32::MAX, "of one")]));
    assert_eq!(read(&store, TWO).bodies, rows(&[(1, "of two")]));
    assert_eq!([ONE, TWO, WorldId(3)].map(|region| store.count_region_objects(region).unwrap()), [1, 1, 0]);
}

fn a_save_that_fails_changes_nothing(database: &TestDatabase) {
    let store = database.open();
    store.save_region(ONE, &changes(1, &[(5, "five")], &[(5, "five")], &[])).unwrap();
    tamper(&store, Sql::same("ALTER TABLE regions RENAME TO elsewhere"), &[]);
    let error = store.save_region(ONE, &changes(2, &[(6, "six")], &[(5, "moved")], &[5])).unwrap_err();
    assert!(error.to_string().contains("saving the region 1"), "{error}");
    tamper(&store, Sql::same("ALTER TABLE elsewhere RENAME TO regions"), &[]);
    let stored = read(&store, ONE);
    assert_eq!((stored.bodies, stored.states), (rows(&[(5, "five")]), rows(&[(5, "five")])));
    assert_eq!(stored.row, Some(row(1)));
}

fn a_save_may_be_repeated(database: &TestDatabase) {
    let store = database.open();
    let all = changes(1, &[(5, "five"), (6, "six")], &[(5, "five"), (6, "six")], &[]);
    let next = changes(2, &[(5, "other")], &[(5, "other")], &[6]);
    store.save_region(ONE, &all).unwrap();
    store.save_region(ONE, &next).unwrap();
    let stored = read(&store, ONE);
    store.save_region(ONE, &next).unwrap();
    assert_eq!(read(&store, ONE), stored);
}

fn thousands_of_objects_are_saved_and_removed_at_once(database: &TestDatabase) {
    let store = database.open();
    let values: Vec<(u32, String)> = (1..=2_500).map(|n| (n, format!("{n:>4}").repeat(50))).collect();
    let values: Vec<(u32, &str)> = values.iter().map(|(n, value)| (*n, value.as_str())).collect();
    store.save_region(ONE, &changes(1, &values, &values, &[])).unwrap();
    assert_eq!(read(&store, ONE).states, rows(&values));
    let gone: Vec<u32> = (1..=2_400).collect();
    store.save_region(ONE, &changes(2, &[], &[], &gone)).unwrap();
    assert_eq!(read(&store, ONE).bodies, rows(&values[2_400..]));
}

fn damaged_rows_stay_until_a_save_sets_them_aside(database: &TestDatabase) {
    let store = database.open();
    let all = [(5, "five"), (6, "six"), (7, "seven")];
    store.save_region(ONE, &changes(1, &all, &all, &[])).unwrap();
    let key = key_of(ONE, LocalId(6));
    tamper(&store, Sql::same("UPDATE object_bodies SET value = $1 WHERE object = $2"), values![[0], key]);
    tamper(
        &store,
        Sql::same("UPDATE object_states SET checksum = checksum + 1 WHERE object > $1"),
        values![key],
    );
    let problems = check(&database.url).unwrap().problems;
    assert_eq!(
        problems,
        [
            "object 6 of region 1, body: the checksum does not match",
            "object 7 of region 1, state: the checksum does not match",
        ]
    );
    let stored = store.region_objects(ONE).unwrap();
    assert_eq!(stored.damages.iter().map(ToString::to_string).collect::<Vec<_>>(), problems);
    assert_eq!(stored.bodies, rows(&[(5, "five"), (7, "seven")]));
    assert_eq!(stored.states, rows(&[(5, "five"), (6, "six")]));
    assert_eq!(store.region_objects(ONE).unwrap(), stored, "a read changes nothing");
    assert_eq!((aside(&store), check(&database.url).unwrap().problems), (vec![], problems));
    let mended = RegionChanges { aside: asides(&stored.damages), ..changes(2, &[], &[(6, "root")], &[]) };
    store.save_region(ONE, &mended).unwrap();
    assert_eq!(aside(&store), [("body".to_owned(), vec![0]), ("state".to_owned(), b"seven".to_vec())]);
    let kept = read(&store, ONE);
    assert_eq!((kept.bodies, kept.states), (stored.bodies, rows(&[(5, "five"), (6, "root")])));
    assert!(check(&database.url).unwrap().problems.is_empty());
}

fn rows_that_changed_places_are_damaged(database: &TestDatabase) {
    let store = database.open();
    store.save_region(ONE, &changes(1, &[(5, "five"), (6, "six")], &[(5, "state")], &[])).unwrap();
    for (from, to) in [(5, 9), (6, 5), (9, 6)] {
        let rename = Sql::same("UPDATE object_bodies SET object = $1 WHERE object = $2");
        let key = |n| key_of(ONE, LocalId(n));
        assert_eq!(tamper(&store, rename, values![key(to), key(from)]), 1);
    }
    // The whole row of a state, as a body.
    let other = Sql::same(
        "INSERT INTO object_bodies (object, value, checksum) SELECT object + 2, value, checksum FROM object_states",
    );
    tamper(&store, other, &[]);
    let stored = store.region_objects(ONE).unwrap();
    assert_eq!((stored.bodies.len(), stored.damages.len()), (0, 3));
}

fn a_damaged_row_of_a_region_costs_no_object(database: &TestDatabase) {
    let store = database.open();
    for tampering in [
        "UPDATE regions SET epoch = epoch + 1",
        "UPDATE regions SET sequence = sequence + 1",
        "UPDATE regions SET checksum = checksum + 1",
    ] {
        store.save_region(ONE, &changes(1, &[(5, "five")], &[(5, "five")], &[])).unwrap();
        tamper(&store, Sql::same(tampering), &[]);
        assert_eq!(store.region_row(ONE).unwrap(), None);
        assert_eq!(check(&database.url).unwrap().problems, ["region 1, row: the checksum does not match"]);
        let stored = store.region_objects(ONE).unwrap();
        assert_eq!((&stored.row, stored.bodies.len(), stored.damages.len()), (&None, 1, 1));
        let next = RegionChanges { aside: asides(&stored.damages), ..changes(2, &[], &[], &[]) };
        store.save_region(ONE, &next).unwrap();
        assert_eq!(aside(&store).last(), Some(&("region".to_owned(), b"resting".to_vec())));
        assert_eq!(read(&store, ONE).row, Some(row(2)));
    }
    assert_eq!(aside(&store).len(), 3);
}

fn rows_that_mean_nothing_are_set_aside_and_newer_ones_stay(database: &TestDatabase) {
    let store = database.open();
    let all = [(5, "five"), (6, "six")];
    let first =
        RegionChanges { land: land(&[(PARCEL, "parcel")], &[]).land, ..changes(1, &all, &all[..1], &[]) };
    store.save_region(ONE, &first).unwrap();
    let of = |part, object, value| meaningless(part, LocalId(object), value);
    let aside_rows = vec![
        of(ObjectPart::Body, 5, "five"),
        of(ObjectPart::Body, 6, "other"),
        of(ObjectPart::Body, 7, "seven"),
        of(ObjectPart::State, 5, "five"),
        of(ObjectPart::State, 6, "six"),
        meaningless(ObjectPart::Land, PARCEL.place(), "parcel"),
        meaningless(ObjectPart::Land, BAKED.place(), ""),
    ];
    let next = RegionChanges { aside: aside_rows, ..changes(2, &[], &[], &[]) };
    store.save_region(ONE, &next).unwrap();
    let bodies = rows(&[(6, "six")]);
    assert_eq!(read(&store, ONE), StoredRegion { row: Some(row(2)), bodies, ..StoredRegion::default() });
    let kinds: Vec<String> = aside(&store).into_iter().map(|(part, _)| part).collect();
    assert_eq!(kinds, ["body", "state", "land"]);
}

/// As after a save with an unknown outcome that was made.
fn a_repeated_save_sets_nothing_newer_aside(database: &TestDatabase) {
    let store = database.open();
    let all = [(5, "five"), (6, "six")];
    store.save_region(ONE, &changes(1, &all, &all, &[])).unwrap();
    store.save_region(ONE, &land(&[(ESTATE, "estate"), (PARCEL, "parcel")], &[])).unwrap();
    tamper(&store, Sql::same("UPDATE regions SET epoch = epoch + 1"), &[]);
    tamper(&store, Sql::same("UPDATE object_bodies SET checksum = checksum + 1"), &[]);
    let first_land = Sql::same("UPDATE region_land SET checksum = checksum + 1 WHERE land = $1");
    tamper(&store, first_land, values![key_of(ONE, ESTATE.place())]);
    let mut aside_rows = asides(&store.region_objects(ONE).unwrap().damages);
    aside_rows.push(meaningless(ObjectPart::State, LocalId(6), "six"));
    aside_rows.push(meaningless(ObjectPart::Land, PARCEL.place(), "parcel"));
    assert_eq!(aside_rows.len(), 6);
    // Another object with the local id, and another estate and parcel in the places of the damaged ones.
    let mut next = RegionChanges {
        aside: aside_rows,
        land: land(&[(ESTATE, "new"), (PARCEL, "rest")], &[]).land,
        ..changes(2, &[(6, "new")], &[(6, "new")], &[])
    };
    next.row.ticket = Ticket(7);
    store.save_region(ONE, &next).unwrap();
    let (stored, set_aside) = (read(&store, ONE), aside(&store));
    assert_eq!((stored.bodies.len(), stored.states.len(), set_aside.len()), (1, 2, 6));
    store.save_region(ONE, &next).unwrap();
    assert_eq!((read(&store, ONE), aside(&store)), (stored, set_aside));
}

fn a_save_that_fails_sets_nothing_aside(database: &TestDatabase) {
    let store = database.open();
    store.save_region(ONE, &changes(1, &[(5, "five")], &[(5, "five")], &[])).unwrap();
    tamper(&store, Sql::same("UPDATE object_bodies SET checksum = checksum + 1"), &[]);
    let stored = store.region_objects(ONE).unwrap();
    let next = RegionChanges { aside: asides(&stored.damages), ..changes(2, &[], &[], &[]) };
    tamper(&store, Sql::same("ALTER TABLE region_land RENAME TO elsewhere"), &[]);
    let with_land = RegionChanges { land: land(&[(ESTATE, "estate")], &[]).land, ..next.clone() };
    store.save_region(ONE, &with_land).unwrap_err();
    tamper(&store, Sql::same("ALTER TABLE elsewhere RENAME TO region_land"), &[]);
    assert_eq!((store.region_objects(ONE).unwrap(), aside(&store)), (stored, vec![]));
    store.save_region(ONE, &next).unwrap();
    assert_eq!(aside(&store).len(), 1);
}

const ESTATE: LandKey = LandKey::new(LandKind::Estate, 0);
const PARCEL: LandKey = LandKey::new(LandKind::Parcel, 1);
const GROUND: LandKey = LandKey::new(LandKind::Ground, 255);
const BAKED: LandKey = LandKey::new(LandKind::Baked, 0);

fn land(rows: &[(LandKey, &str)], gone: &[LandKey]) -> RegionChanges {
    let gone = gone.to_vec();
    RegionChanges { land: LandChanges { rows: land_rows(rows), gone }, ..changes(1, &[], &[], &[]) }
}

fn land_rows(values: &[(LandKey, &str)]) -> LandRows {
    let mut rows = LandRows::default();
    values.iter().for_each(|(key, value)| rows.push(*key, value.as_bytes()));
    rows
}

fn land_is_read_as_it_was_saved_last(database: &TestDatabase) {
    let store = database.open();
    let all = [(ESTATE, "estate"), (PARCEL, "parcel"), (GROUND, "ground"), (BAKED, "baked")];
    for region in [WorldId(0), ONE, TWO] {
        store.save_region(region, &land(&all, &[])).unwrap();
    }
    assert_eq!(read(&store, ONE).land, land_rows(&all));
    store
        .save_region(ONE, &land(&[(ESTATE, "other")], &[PARCEL, LandKey::new(LandKind::Ground, 3)]))
        .unwrap();
    let stored = read(&database.open(), ONE);
    assert_eq!(stored.land, land_rows(&[(ESTATE, "other"), (GROUND, "ground"), (BAKED, "baked")]));
    assert_eq!((read(&store, WorldId(0)).land, read(&store, TWO).land), (land_rows(&all), land_rows(&all)));
}

fn damaged_rows_of_land_stay_until_a_save_sets_them_aside(database: &TestDatabase) {
    let store = database.open();
    store.save_region(ONE, &land(&[(ESTATE, "estate"), (PARCEL, "parcel"), (BAKED, "baked")], &[])).unwrap();
    let key = key_of(ONE, PARCEL.place());
    tamper(&store, Sql::same("UPDATE region_land SET value = $1 WHERE land <= $2"), values![[7], key]);
    let expected = [
        "estate of region 1: the checksum does not match",
        "parcel 1 of region 1: the checksum does not match",
    ];
    assert_eq!(check(&database.url).unwrap().problems, expected);
    let stored = store.region_objects(ONE).unwrap();
    assert_eq!(stored.damages.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    assert_eq!(stored.land, land_rows(&[(BAKED, "baked")]));
    assert_eq!(store.region_objects(ONE).unwrap(), stored, "a read changes nothing");
    let next = RegionChanges { aside: asides(&stored.damages), ..changes(2, &[], &[], &[]) };
    store.save_region(ONE, &next).unwrap();
    assert_eq!(aside(&store), [("land".to_owned(), vec![7]), ("land".to_owned(), vec![7])]);
    assert_eq!(read(&store, ONE).land, stored.land);
    assert!(check(&database.url).unwrap().problems.is_empty());
}

fn a_row_of_land_of_an_unknown_kind_keeps_the_region_from_starting(database: &TestDatabase) {
    let store = database.open();
    let key = key_of(ONE, LocalId(9 << 16));
    let insert = Sql::same("INSERT INTO region_land (land, value, checksum) VALUES ($1, $2, $3)");
    tamper(&store, insert, values![key, [1], checksum(ObjectPart::Land, key, &[1])]);
    assert!(store.region_objects(ONE).unwrap_err().to_string().contains("reading the region 1"));
    assert_eq!(read(&store, TWO), StoredRegion::default());
}

fn a_row_from_before_there_was_a_name_is_read(database: &TestDatabase) {
    let store = database.open();
    let unnamed = RegionRow { name: String::new(), ..row(1) };
    store.save_region(ONE, &RegionChanges { row: unnamed.clone(), ..changes(1, &[], &[], &[]) }).unwrap();
    assert_eq!(read(&store, ONE).row, Some(unnamed));
    let rename = Sql::same("UPDATE regions SET name = $1");
    tamper(&store, rename, values!["Elsewhere"]);
    assert_eq!(store.region_objects(ONE).unwrap().row, None, "the checksum covers the name");
}

fn of_objects_set_aside_the_oldest_go_first(database: &TestDatabase) {
    let store = database.open();
    let all = [(5, "five"), (6, "six")];
    store.save_region(ONE, &changes(1, &all, &[], &[])).unwrap();
    set_object_aside(&store, ONE, LocalId(5));
    let last = Sql::same(
        "INSERT INTO objects_set_aside (number, object, part, why, content) SELECT number + $1, object, part, why, content \
         FROM objects_set_aside",
    );
    tamper(&store, last, values![i64::from(OBJECTS_SET_ASIDE_MAX) - 1]);
    store.write(|session| set_aside(session, &[])).unwrap();
    assert_eq!(aside(&store).len(), 2);
    tamper(
        &store,
        Sql::same("UPDATE objects_set_aside SET number = number + 1 WHERE number > $1"),
        values![1],
    );
    store.write(|session| set_aside(session, &[])).unwrap();
    assert_eq!(aside(&store).len(), 1);
}

#[test]
#[should_panic(expected = "whose numbers are below those of instances")]
fn an_instance_is_no_region() {
    let store = Store::open_in_memory().unwrap();
    let _ = store.region_objects(WorldId(1 << 31));
}

/// Objects of each of two regions.
const N: u32 = 6_000;
/// Bytes of a page of a file.
pub(crate) const PAGE: usize = 4_096;

fn value(n: u32) -> String {
    format!("value {n:>5} ").repeat(20)
}

fn save_all(store: &Store, region: WorldId) {
    let values: Vec<(u32, String)> = (1..=N).map(|n| (n, value(n))).collect();
    let values: Vec<(u32, &str)> = values.iter().map(|(n, value)| (*n, value.as_str())).collect();
    store.save_region(region, &changes(1, &values, &values, &[])).unwrap();
}

/// A file with the objects, closed; pages of the table of bodies.
fn file_with_objects() -> (TestDatabase, Vec<usize>, Vec<usize>) {
    let database = TestDatabase::sqlite();
    let store = database.open();
    save_all(&store, ONE);
    save_all(&store, TWO);
    let (leaves, inner) = pages_of(&store, "object_bodies");
    assert!(leaves.len() > 500 && inner.len() > 1, "{} leaves, {} inner pages", leaves.len(), inner.len());
    (database, leaves, inner)
}

/// Numbers of the leaves and of the inner pages that a table or an index has in its file, in the order of the keys, without its root.
pub(crate) fn pages_of(store: &Store, name: &str) -> (Vec<usize>, Vec<usize>) {
    let pages = Sql::same(
        "SELECT pageno, pagetype = 'internal' FROM dbstat WHERE name = $1 AND path <> '/' AND pagetype <> 'overflow' ORDER BY path",
    );
    let read = |row: crate::engine::Row<'_>| Ok((row.get::<u32>(0)? as usize, row.get::<bool>(1)?));
    let pages = store.read(|session| session.query(pages, values![name], read)).unwrap();
    let of_kind =
        |inner| pages.iter().filter(move |(_, is_inner)| *is_inner == inner).map(|(page, _)| *page).collect();
    (of_kind(false), of_kind(true))
}

/// Overwrites a page of a closed file.
pub(crate) fn overwrite(database: &TestDatabase, page: usize, with: impl FnOnce(&[u8]) -> Vec<u8>) {
    let path = database.url.path().unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    let content = with(&bytes);
    bytes[(page - 1) * PAGE..page * PAGE].copy_from_slice(&content);
    std::fs::write(path, bytes).unwrap();
}

/// Checks that a region is there but for some bodies, and can be saved.
fn is_there_without(database: &TestDatabase, n_lost_max: usize) {
    assert!(!check(&database.url).unwrap().problems.is_empty());
    let store = database.open();
    let stored = store.region_objects(ONE).unwrap();
    let rebuilt: Vec<String> = stored.rebuilt.iter().map(ToString::to_string).collect();
    let told =
        "table object_bodies had damaged pages and is kept as object_bodies_damaged_1; rows are missing";
    assert_eq!((rebuilt, &*stored.damages), (vec![told.to_owned()], &[][..]));
    let of_two = read(&store, TWO);
    for (stored, n_max) in [(&stored, N as usize), (&of_two, N as usize)] {
        assert!(stored.bodies.len() + n_lost_max >= n_max, "{} of {n_max}", stored.bodies.len());
        assert!(stored.bodies.iter().all(|(object, body)| body == value(object.0).as_bytes()));
        assert_eq!(stored.states.len(), n_max);
    }
    save_all(&store, ONE);
    assert_eq!(read(&database.open(), ONE).bodies.len(), N as usize);
}

#[test]
fn a_region_with_an_overwritten_page_is_read_without_its_rows() {
    let (database, leaves, _) = file_with_objects();
    overwrite(&database, leaves[100], |_| vec![0; PAGE]);
    overwrite(&database, leaves[101], |_| vec![0xFF; PAGE]);
    overwrite(&database, leaves[300], |_| (0..PAGE).map(|n| (n * n) as u8).collect());
    is_there_without(&database, 3 * PAGE / 240);
}

#[test]
fn a_region_whose_first_and_last_pages_are_overwritten_is_read() {
    let (database, leaves, _) = file_with_objects();
    overwrite(&database, leaves[0], |_| vec![0; PAGE]);
    overwrite(&database, *leaves.last().unwrap(), |_| vec![0; PAGE]);
    is_there_without(&database, 2 * PAGE / 240);
}

#[test]
fn a_page_that_was_overwritten_by_another_one_of_its_table_costs_its_own_rows() {
    for (from, to) in [(50, 300), (300, 50)] {
        let (database, leaves, _) = file_with_objects();
        overwrite(&database, leaves[to], |bytes| {
            bytes[(leaves[from] - 1) * PAGE..leaves[from] * PAGE].to_vec()
        });
        is_there_without(&database, PAGE / 240);
    }
}

#[test]
fn an_overwritten_inner_page_costs_the_rows_below_it() {
    let (database, _, inner) = file_with_objects();
    overwrite(&database, inner[0], |_| vec![0; PAGE]);
    is_there_without(&database, N as usize);
}

/// Makes the body of an object of a closed file a text, or a text that is not UTF-8: the lowest bit of its type is the difference.
fn make_text(database: &TestDatabase, object: u32, is_utf8: bool) {
    let path = database.url.path().unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    let content = value(object);
    // One for each region; as a state it is there, too.
    let found: Vec<usize> =
        (0..bytes.len() - content.len()).filter(|&at| bytes[at..].starts_with(content.as_bytes())).collect();
    for at in found {
        // The type of 240 bytes, 12 + 2 × 240, in seven bits a byte.
        let header = at - 12..at;
        let of_blob = bytes[header.clone()].windows(2).position(|two| two == [0x83, 0x6C]);
        bytes[header.start + of_blob.expect("the type of its value") + 1] = 0x6D;
        if !is_utf8 {
            bytes[at] = 0xFF;
        }
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn values_of_another_type_are_set_aside() {
    for is_utf8 in [true, false] {
        let (database, _, _) = file_with_objects();
        make_text(&database, 77, is_utf8);
        let store = database.open();
        let stored = store.region_objects(ONE).unwrap();
        assert_eq!(stored.damages.len(), 2, "body and state: {:?}", stored.damages);
        assert_eq!(stored.bodies.len(), N as usize - 1);
        let next = RegionChanges { aside: asides(&stored.damages), ..changes(2, &[], &[], &[]) };
        store.save_region(ONE, &next).unwrap();
        assert_eq!(aside(&store).len(), 2);
        assert_eq!(read(&store, ONE).bodies.len(), N as usize - 1);
    }
}

#[test]
fn a_damaged_table_is_built_anew_without_values_of_another_type() {
    for is_utf8 in [true, false] {
        let (database, leaves, _) = file_with_objects();
        make_text(&database, 5_999, is_utf8);
        overwrite(&database, leaves[100], |_| vec![0; PAGE]);
        let store = database.open();
        let stored = store.region_objects(ONE).unwrap();
        assert!(stored.bodies.len() + 1 + PAGE / 240 >= N as usize, "{}", stored.bodies.len());
        assert!(stored.bodies.iter().all(|(object, _)| object.0 != 5_999));
    }
}

/// The walk through the table goes on behind the row: the next one of the file is four thousand millions of keys away.
#[test]
fn a_value_that_is_no_text_is_passed_before_damage() {
    let (database, leaves, _) = file_with_objects();
    make_text(&database, N, false);
    let first_of_two = leaves.len() / 2 + 1;
    for page in &leaves[first_of_two..first_of_two + 3] {
        overwrite(&database, *page, |_| vec![0; PAGE]);
    }
    let store = database.open();
    let stored = store.region_objects(ONE).unwrap();
    assert_eq!(stored.bodies.len(), N as usize - 1);
}
