//! Cuts of both engines: beside writes, ended early, of damaged rows.

use super::*;
use crate::account::tests::new_account;
use crate::copy::tests::fill;
use crate::testing::{TestDatabase, on_both_engines, tamper};
use crate::{AssetRow, RegionChanges, RegionRow};
use ids::AgentId;
use std::path::PathBuf;
use tempfile::TempDir;
use uuid::Uuid;

on_both_engines! {
    a_cut_has_all_rows_and_is_an_ordinary_database,
    a_cut_is_of_one_moment_whatever_is_written_meanwhile,
    a_cut_ends_with_its_receiver,
    expired_contents_leave_a_cut,
    contents_leave_their_quarantine_in_a_cut,
}

fn scratch() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database.sqlite");
    (folder, path)
}

fn go_on(_: CutProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn a_cut_has_all_rows_and_is_an_ordinary_database(database: &TestDatabase) {
    fill(database);
    let (folder, path) = scratch();
    let mut last = None;
    let report = cut(&database.url, &path, |progress| {
        last = Some(progress);
        ControlFlow::Continue(())
    })
    .unwrap();
    let expected = read_back(&database.url).unwrap();
    assert_eq!(report.tables, expected);
    let url = StoreUrl::file(&path);
    assert_eq!(read_back(&url).unwrap(), expected);
    assert_eq!(report.version, schema::newest());
    let total: u64 = expected.iter().map(|table| table.rows).sum();
    let last = last.expect("progress");
    assert_eq!((last.rows, last.rows_total), (total, total));
    let region =
        RegionCut {
            region: WorldId(2_047), name: "Ünal".into(), epoch: Epoch(u32::MAX), sequence: u64::MAX
        };
    assert_eq!(report.regions, [region]);
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["database.sqlite"], "nothing lies beside it");
    assert!(Store::open(&url).unwrap().account_by_name("ZOë", "ÜNAL").unwrap().is_some());
}

fn a_cut_is_of_one_moment_whatever_is_written_meanwhile(database: &TestDatabase) {
    fill(database);
    let expected = read_back(&database.url).unwrap();
    let store = database.open();
    let (_folder, path) = scratch();
    let mut n = 0;
    let report = cut(&database.url, &path, |_| {
        n += 1;
        store.create_account(&new_account(0x100_0000 + n * 0x1_0000, &format!("Eve{n}"), "Late")).unwrap();
        let row = RegionRow { sequence: n as u64, name: "Ünal".into(), ..RegionRow::default() };
        store.save_region(WorldId(2_047), &RegionChanges { row, ..RegionChanges::default() }).unwrap();
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(n > 8, "{n} writes");
    assert_eq!(report.tables, expected);
    assert_eq!(report.regions[0].sequence, u64::MAX, "that of the moment");
    assert_eq!(read_back(&StoreUrl::file(&path)).unwrap(), expected);
    assert_ne!(read_back(&database.url).unwrap(), expected, "the database has gone its way");
}

fn a_cut_ends_with_its_receiver(database: &TestDatabase) {
    fill(database);
    let (_folder, path) = scratch();
    let mut left = 5;
    let ended = cut(&database.url, &path, |_| {
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(ended, Err(CutError::Ended)), "{ended:?}");
    assert_eq!(left, 0, "at once");
}

fn expired_contents_leave_a_cut(database: &TestDatabase) {
    let store = database.open();
    let row = |n: u128, byte| AssetRow {
        id: Uuid::from_u128(n),
        hash: AssetHash([byte; 32]),
        kind: 0,
        length: 3,
        creator: AgentId(Uuid::nil()),
        created_s: 0,
        origin: "test".into(),
        used_s: Some(0),
    };
    store.add_assets(&[row(1, 1), row(2, 2), row(3, 2)]).unwrap();
    let (_folder, path) = scratch();
    cut(&database.url, &path, go_on).unwrap();
    remove_from_cut(&path, &[AssetHash([2; 32]), AssetHash([9; 32])]).unwrap();
    let store = Store::open(&StoreUrl::file(&path)).unwrap();
    assert!(store.asset(Uuid::from_u128(1)).unwrap().is_some());
    assert!([2, 3].iter().all(|n| store.asset(Uuid::from_u128(*n)).unwrap().is_none()));
    assert_eq!(store.n_asset_contents().unwrap(), 1);
}

fn contents_leave_their_quarantine_in_a_cut(database: &TestDatabase) {
    fill(database);
    let (_folder, path) = scratch();
    cut(&database.url, &path, go_on).unwrap();
    end_quarantine(&path, &[AssetHash([0xFF; 32])]).unwrap();
    let store = Store::open(&StoreUrl::file(&path)).unwrap();
    assert_eq!(store.are_contents_sound(&[AssetHash([0xFF; 32])]).unwrap(), [true]);
}

#[test]
fn damaged_rows_are_cut_as_they_are() {
    let database = TestDatabase::sqlite();
    fill(&database);
    let store = database.open();
    tamper(&store, Sql::same("UPDATE object_bodies SET value = X'00' WHERE object % 7 = 0"), &[]);
    let (_folder, path) = scratch();
    let report = cut(&database.url, &path, go_on).unwrap();
    assert_eq!(report.tables, read_back(&StoreUrl::file(&path)).unwrap());
    let problems = |url: &StoreUrl| crate::check(url).unwrap().problems;
    assert!(!problems(&database.url).is_empty());
    assert_eq!(problems(&StoreUrl::file(&path)), problems(&database.url));
}

#[test]
fn a_database_of_another_version_is_not_cut() {
    let database = TestDatabase::sqlite();
    Store::open_for_maintenance(&database.url, false).unwrap().migrate_to(3).unwrap();
    let (folder, path) = scratch();
    let error = cut(&database.url, &path, go_on).unwrap_err();
    assert!(matches!(error, CutError::Store(StoreError::OlderSchema { found: 3, .. })), "{error}");
    assert!(error.to_string().contains("throng store migrate"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no file is begun");
}
