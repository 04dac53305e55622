//! Databases of every version that have rows: the steps behind the version keep each row, and fill the columns that its builds did not write.

use super::columns;
use crate::copy::tests::fill;
use crate::engine::{EngineError, Row, Sql, Value};
use crate::instance::tests::instance;
use crate::schema::newest;
use crate::tables::{TABLES, TableCell};
use crate::testing::{TestDatabase, on_both_engines, tamper};
use crate::{InstanceOrigin, RegionChanges, RegionRow, State, Store};
use ids::{Epoch, Uuid, WorldId};
use std::collections::BTreeMap;

on_both_engines! {
    rows_of_every_version_are_kept_by_the_steps_behind_it,
}

/// Columns that a step adds to a table: its version, the table, the column, and the value in rows from before.
const ADDED: [(u32, &str, &str, Value<'static>); 3] = [
    (4, "instances", "born", Value::Integer(0)),
    (9, "regions", "name", Value::Text("")),
    (10, "regions", "ticket", Value::Integer(0)),
];

/// The step that gives every row a checksum.
const SEALED_SINCE: u32 = 18;

/// The step that removes rows: those of instances that are gone.
const FORGETS_WORLDS: u32 = 5;

const REGION: WorldId = WorldId(7);

fn region_row() -> RegionRow {
    RegionRow { epoch: Epoch(3), sequence: 9, state: vec![1, 2], ..RegionRow::default() }
}

/// Rows of all tables as the first build with the table wrote them: no instance has a number of its birth, and no region a name or a transfer.
fn earliest_rows(database: &TestDatabase) -> Store {
    fill(database);
    let store = database.open();
    for few in [
        "DELETE FROM accounts WHERE last_name = 'Lovelace' AND first_name <> 'Ada1'",
        "DELETE FROM instances",
        "DELETE FROM regions",
        "DELETE FROM object_bodies WHERE object % 100 <> 0",
        "DELETE FROM object_states WHERE object % 100 <> 0",
    ] {
        assert!(tamper(&store, Sql::same(few), &[]) > 0, "{few}");
    }
    for n in [101, 102] {
        store.create_instance(&instance(n), 0, &InstanceOrigin::Operator).unwrap();
        let state = |sequence| State { id: Uuid::from_u128(n), sequence, bytes: vec![7; 100] };
        assert_eq!(store.save_instances(&[state(1)]).unwrap(), 1);
        assert_eq!(store.journal_instances(&[state(2)]).unwrap(), 1);
    }
    store.create_instance(&instance(103), 0, &InstanceOrigin::Portal { visited_s: 5 }).unwrap();
    // That of the first instance, which is gone, stays.
    store.note_world_of_token("backend", Uuid::from_u128(101)).unwrap();
    let changes = RegionChanges { row: region_row(), ..RegionChanges::default() };
    store.save_region(REGION, &changes).unwrap();
    store
}

fn leaked(sql: String) -> Sql {
    Sql::same(sql.leak())
}

/// Tables with rows of their own, each with its columns.
fn tables_of(store: &Store) -> BTreeMap<&'static str, Vec<String>> {
    let mut tables = BTreeMap::<&str, Vec<String>>::new();
    for (table, column) in columns(store).into_keys() {
        if let Some(known) = TABLES.iter().find(|known| known.name == table) {
            tables.entry(known.name).or_default().push(column);
        }
    }
    tables
}

/// The cells of these columns, in an order that both engines share.
fn rows_of(store: &Store, table: &str, columns: &[String]) -> Vec<Vec<TableCell>> {
    let select = leaked(format!("SELECT {} FROM {table}", columns.join(", ")));
    let read = |row: Row<'_>| {
        let cells = (0..columns.len()).map(|at| Ok(TableCell::from(row.value(at)?)));
        cells.collect::<Result<Vec<_>, EngineError>>()
    };
    let mut rows = store.read(|session| session.query(select, &[], read)).unwrap();
    rows.sort_by_cached_key(|row| format!("{row:?}"));
    rows
}

fn insert(store: &Store, table: &str, columns: &[String], rows: &[Vec<TableCell>]) {
    let places: Vec<String> = (1..=columns.len()).map(|n| format!("${n}")).collect();
    let (columns, places) = (columns.join(", "), places.join(", "));
    let sql = leaked(format!("INSERT INTO {table} ({columns}) VALUES ({places})"));
    let inserted = store.write(|session| {
        rows.iter().try_for_each(|row| {
            let cells: Vec<Value<'_>> = row.iter().map(TableCell::value).collect();
            session.execute(sql, &cells).map(drop)
        })
    });
    inserted.unwrap();
}

fn rows_of_every_version_are_kept_by_the_steps_behind_it(database: &TestDatabase) {
    let scratch = TestDatabase::sqlite();
    let source = earliest_rows(&scratch);
    for version in 1..newest() {
        let database = database.another();
        let old = Store::open_for_maintenance(&database.url, false).unwrap();
        old.migrate_to(version).unwrap();
        let written = tables_of(&old);
        // Parents before their children.
        for table in TABLES.iter().filter(|table| written.contains_key(table.name)) {
            let columns = &written[table.name];
            let rows = rows_of(&source, table.name, columns);
            assert!(!rows.is_empty(), "no row of {}", table.name);
            insert(&old, table.name, columns, &rows);
        }
        drop(old);

        let store = database.open();
        for (&table, columns) in &written {
            let mut expected = rows_of(&source, table, columns);
            if table == "api_worlds" && version < FORGETS_WORLDS {
                let gone = Uuid::from_u128(1);
                let is_gone = |cell: &TableCell| cell.value() == Value::Blob(gone.as_bytes());
                expected.retain(|row| !row.iter().any(is_gone));
                assert_eq!(expected.len(), 1, "that of an instance which exists");
            }
            assert_eq!(rows_of(&store, table, columns), expected, "{table} of version {version}");
        }
        assert_added(&store, version, &written);
        assert_read(&store, version);
    }
}

/// Asserts that rows have the stated values in all columns that came later.
fn assert_added(store: &Store, version: u32, written: &BTreeMap<&str, Vec<String>>) {
    for (table, columns) in tables_of(store) {
        let Some(former) = written.get(table) else { continue };
        for column in columns.into_iter().filter(|column| !former.contains(column)) {
            if version < SEALED_SINCE && column.ends_with("checksum") {
                // Of the values that the row has: the look at all rows compares them.
                let cells = rows_of(store, table, std::slice::from_ref(&column));
                assert!(cells.iter().all(|row| row[0].value() != Value::Integer(0)), "{table}.{column}");
                continue;
            }
            let row = ADDED.iter().find(|(_, of, name, _)| *of == table && *name == column);
            let Some((since, .., value)) = row else { panic!("nothing states {table}.{column}") };
            assert!(version < *since, "{table}.{column} is older");
            let cells = rows_of(store, table, std::slice::from_ref(&column));
            assert!(cells.iter().all(|row| row[0].value() == *value), "{table}.{column}: {cells:?}");
        }
    }
}

/// Asserts that the store finds the rows whole.
fn assert_read(store: &Store, version: u32) {
    assert_eq!(store.accounts(None, 10).unwrap().len(), 2, "version {version}");
    let list = store.instances().unwrap();
    assert!(list.damages.is_empty(), "version {version}: {list:?}");
    if version >= 2 {
        let state = store.instance_state(Uuid::from_u128(101)).unwrap();
        assert!(state.image.is_some() && state.journal.is_some() && state.damages.is_empty(), "{state:?}");
        assert_eq!(list.instances.len(), 3, "version {version}");
        let visited = list.instances.iter().filter(|listed| listed.visited_s == Some(5)).count();
        assert_eq!(visited, usize::from(version >= FORGETS_WORLDS), "version {version}");
    }
    if version >= 7 {
        assert_eq!(store.region_row(REGION).unwrap(), Some(region_row()), "version {version}");
    }
}
