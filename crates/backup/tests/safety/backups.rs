//! Backups and restores: equal content, small successors, changes meanwhile, ends at every step, and the end of old ones.

use crate::driver::TestDriver;
use crate::grid::{ADA, Grid, asset, bytes_of};
use assets::content_path;
use backup::{BackupError, FilesMode, RestoreError, RestoreOrder, list_backups, restore};
use data_dir::{DataDir, DataDirError};
use ids::{AgentId, Uuid};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use store::{AssetHash, Store, StoreUrl};

/// Files below a directory, by their paths there.
fn files_below(path: &Path) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    let mut open = vec![path.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap().path();
            if entry.is_dir() {
                open.push(entry);
            } else {
                files.insert(entry);
            }
        }
    }
    files.into_iter().map(|file| file.strip_prefix(path).unwrap().to_owned()).collect()
}

fn names(grid: &Grid) -> Vec<String> {
    list_backups(&grid.backups()).unwrap().into_iter().map(|entry| entry.name).collect()
}

#[test]
fn a_restored_backup_has_all_that_was_there() {
    let grid = Grid::full();
    let report = grid.back_up(1_000, 3);
    let manifest = &report.manifest;
    assert_eq!((manifest.assets, manifest.items, manifest.objects), (3, 4, 3));
    assert_eq!((manifest.damaged, manifest.missing, manifest.faults.len()), (0, 0, 0), "{manifest:?}");
    assert_eq!((manifest.copied_files, manifest.contents.contents), (3, 3));
    let [region] = &manifest.regions[..] else { panic!("one region") };
    assert_eq!((region.region, region.epoch, region.sequence, &region.name[..]), (1, 3, 77, "Harbour"));

    let (target, restored) = grid.restore(None);
    let restored = restored.unwrap();
    assert_eq!((restored.differences, restored.faults.is_empty()), (0, true), "{restored:?}");
    let data = target.path().join("data");
    let url = StoreUrl::of_directory(&data);
    assert_eq!(store::read_back(&url).unwrap(), grid.digests());
    assert_eq!(files_below(&data.join("assets")), files_below(&grid.assets()));
    let there = grid.verify_at(&url, &data.join("assets"), true);
    assert_eq!(there, grid.verify(true));
    assert!(there.faults.is_empty(), "{}", there.faults.lines());
    let account = Store::open(&url).unwrap().account(ADA).unwrap().expect("an account");
    assert_eq!(account.first, "Ada");
}

#[test]
fn the_next_backup_copies_new_files_only_and_old_ones_can_still_be_restored() {
    let grid = Grid::full();
    let before = grid.digests();
    let first = grid.back_up(1_000, 3).manifest;
    grid.add_assets(3..5);
    grid.add_account(AgentId(Uuid::from_u128(0xE)), "Eve", &[(1, asset(4))]);
    let second = grid.back_up(2_000, 3).manifest;
    assert_eq!((second.copied_files, second.contents.contents), (2, 5));
    assert_eq!(second.copied_bytes, (bytes_of(3).len() + bytes_of(4).len()) as u64);
    assert_eq!(names(&grid), [first.name.clone(), second.name.clone()]);
    let (target, restored) = grid.restore(Some(&first.name));
    assert_eq!(restored.unwrap().manifest.name, first.name);
    let data = target.path().join("data");
    assert_eq!(store::read_back(&StoreUrl::of_directory(&data)).unwrap(), before);
    assert_eq!(files_below(&data.join("assets")).len(), 3);
    let (_, unknown) = grid.restore(Some("20000101T000000Z"));
    let why = unknown.unwrap_err().to_string();
    assert!(why.contains(&first.name) && why.contains(&second.name), "{why}");
}

#[test]
fn a_backup_is_of_the_moment_of_its_cut() {
    let grid = Grid::full();
    let before = grid.digests();
    let store = grid.store();
    let mut last = 0;
    let mut driver = TestDriver::with(1_000, |call, _| {
        let row = grid.add_file(100 + call as u32, None);
        store.add_assets(&[row]).unwrap();
        last = call;
    });
    let report = grid.back_up_with(3, &mut driver).unwrap();
    drop(driver);
    assert!(last > 20, "{last} calls");
    assert_eq!(report.manifest.assets, 3);
    assert!(report.manifest.is_sound());
    let (target, restored) = grid.restore(None);
    assert_eq!(restored.unwrap().differences, 0);
    let url = StoreUrl::of_directory(&target.path().join("data"));
    assert_eq!(store::read_back(&url).unwrap(), before);
}

#[test]
fn temporary_assets_that_expire_meanwhile_are_in_no_backup() {
    let grid = Grid::full();
    let bakes = [grid.add_file(50, Some(5)), grid.add_file(51, Some(500))];
    let store = grid.store();
    store.add_assets(&bakes).unwrap();
    let mut driver = TestDriver::with(1_000, |_, progress| {
        // Behind the cut, before the files.
        if progress.part == "assets" || progress.part == "database" && progress.done == progress.total {
            for hash in store.remove_expired_assets(100, 10).unwrap() {
                fs::remove_file(content_path(&grid.assets(), hash)).unwrap();
            }
        }
    });
    let report = grid.back_up_with(3, &mut driver).unwrap();
    drop(driver);
    let manifest = report.manifest;
    assert_eq!((manifest.assets, manifest.contents.contents, manifest.contents.lost), (4, 4, 0));
    assert!(manifest.is_sound(), "{manifest:?}");
    let (_target, restored) = grid.restore(None);
    let restored = restored.unwrap();
    assert_eq!((restored.differences, restored.faults.is_empty()), (0, true), "{restored:?}");
}

#[test]
fn an_end_at_any_step_leaves_earlier_backups_as_they_were() {
    let grid = Grid::full();
    let first = grid.back_up(1_000, 2).manifest;
    let before = grid.digests();
    grid.add_assets(3..6);
    let folder = grid.backups().join("backups").join(&first.name);
    let sums = |folder: &Path| -> Vec<_> {
        files_below(folder).into_iter().map(|file| (fs::read(folder.join(&file)).unwrap(), file)).collect()
    };
    let whole = sums(&folder);
    let mut n_ended = 0;
    for call in 1.. {
        let mut driver = TestDriver::ending_at(2_000 + call as i64, call);
        match grid.back_up_with(2, &mut driver) {
            Err(BackupError::Ended(_)) => n_ended += 1,
            // Ended when the manifest was there already, or not at all.
            Ok(_) => break,
            Err(why) => panic!("call {call}: {why}"),
        }
        assert_eq!(names(&grid), std::slice::from_ref(&first.name), "call {call}");
        assert_eq!(sums(&folder), whole, "call {call}");
        if call % 8 == 0 {
            let (target, restored) = grid.restore(None);
            assert_eq!(restored.unwrap().differences, 0, "call {call}");
            let url = StoreUrl::of_directory(&target.path().join("data"));
            assert_eq!(store::read_back(&url).unwrap(), before, "call {call}");
        }
    }
    assert!(n_ended > 25, "{n_ended} steps");
    assert_eq!(names(&grid).len(), 2);
    // The next run removes what the others have left.
    let last = grid.back_up(9_000, 2).manifest;
    assert_eq!(last.copied_files, 0, "the files were there already");
    let folders = fs::read_dir(grid.backups().join("backups")).unwrap().count();
    assert_eq!((folders, names(&grid).len()), (2, 2));
    let left = files_below(&grid.backups().join("assets"));
    assert!(left.len() == 6 && left.iter().all(|file| file.extension().is_none()), "{left:?}");
    assert_eq!(grid.restore(None).1.unwrap().differences, 0);
}

#[test]
fn an_end_while_old_backups_are_removed_leaves_the_new_one() {
    let grid = Grid::full();
    grid.back_up(1_000, 1);
    let mut pruning = None;
    let mut driver = TestDriver::with(2_000, |call, progress| {
        if progress.part == "pruning" && progress.done == 7 {
            pruning = Some(call);
        }
    });
    grid.back_up_with(1, &mut driver).unwrap();
    drop(driver);
    let call = pruning.expect("contents are gone through");
    let report = grid.back_up_with(1, &mut TestDriver::ending_at(3_000, call)).unwrap();
    assert!(report.unswept.is_some_and(|why| why.contains("ended")));
    assert_eq!(names(&grid), [report.manifest.name]);
    assert_eq!(grid.restore(None).1.unwrap().differences, 0);
}

#[test]
fn old_backups_go_with_the_files_that_no_other_one_names() {
    let grid = Grid::full();
    let bake = grid.add_file(50, Some(5));
    let hash = bake.hash;
    grid.store().add_assets(&[bake]).unwrap();
    let names_of_all: Vec<String> = (1..=3).map(|n| grid.back_up(n * 1_000, 3).manifest.name).collect();
    assert_eq!(grid.store().remove_expired_assets(100, 10).unwrap(), [hash]);
    fs::remove_file(content_path(&grid.assets(), hash)).unwrap();
    let in_backups = content_path(&grid.backups().join("assets"), hash);
    let report = grid.back_up(4_000, 3);
    assert_eq!((&report.removed[..], report.swept_files), (&names_of_all[..1], 0));
    assert!(in_backups.exists(), "two backups name it");
    grid.back_up(5_000, 3);
    let report = grid.back_up(6_000, 3);
    assert_eq!((report.removed.len(), report.swept_files), (1, 1));
    assert!(!in_backups.exists());
    for name in names(&grid) {
        assert_eq!(grid.restore(Some(&name)).1.unwrap().differences, 0, "{name}");
    }
}

#[test]
fn lost_content_is_named_and_does_not_push_the_last_good_backup_out() {
    let grid = Grid::full();
    let good = grid.back_up(1_000, 2).manifest;
    // Damage that the directory of backups has no sound bytes for.
    grid.add_assets(3..5);
    let add = |id: u128, first: &str, n: u32| {
        grid.add_account(AgentId(Uuid::from_u128(id)), first, &[(id, asset(n))]);
    };
    add(0xE, "Eve", 3);
    add(0xF, "Fay", 4);
    fs::write(grid.file_of(3), b"otherwise").unwrap();
    fs::remove_file(grid.file_of(4)).unwrap();
    // Damage that it has: the file is not even looked at.
    fs::write(grid.file_of(0), b"otherwise").unwrap();
    for n in 2..6 {
        let report = grid.back_up(n * 1_000, 2);
        let manifest = &report.manifest;
        assert_eq!((manifest.damaged, manifest.missing, manifest.contents.lost), (1, 1, 2), "{manifest:?}");
        let faults = manifest.faults.join("\n");
        assert!(faults.contains("\"Item 14\" of Eve Lovelace"), "{faults}");
        assert!(faults.contains("\"Item 15\" of Fay Lovelace"), "{faults}");
        assert!(names(&grid).contains(&good.name), "round {n}");
    }
    assert_eq!(names(&grid).len(), 3);
    let (target, restored) = grid.restore(None);
    let restored = restored.unwrap();
    assert_eq!((restored.differences, restored.faults.missing()), (0, 2), "{}", restored.faults.lines());
    let path = content_path(&target.path().join("data/assets"), AssetHash::of(&bytes_of(0)));
    assert_eq!(fs::read(path).unwrap(), bytes_of(0), "the sound bytes of the first backup");
    // The same bytes arrive again, and backups are whole.
    let rows = [grid.add_file(3, None), grid.add_file(4, None)];
    grid.store().add_assets(&rows).unwrap();
    let report = grid.back_up(9_000, 2);
    assert!(report.manifest.is_sound());
    assert!(!names(&grid).contains(&good.name), "a newer one is as good");
}

#[test]
fn contents_in_quarantine_are_sound_again_after_a_restore() {
    let grid = Grid::full();
    grid.back_up(1_000, 2);
    let hash = AssetHash::of(&bytes_of(0));
    fs::write(grid.file_of(0), b"otherwise").unwrap();
    assert!(grid.store().quarantine_content(hash, "its bytes differ").unwrap());
    grid.back_up(2_000, 2);
    let (target, restored) = grid.restore(None);
    assert!(restored.unwrap().faults.is_empty());
    let store = Store::open(&StoreUrl::of_directory(&target.path().join("data"))).unwrap();
    assert_eq!(store.are_contents_sound(&[hash]).unwrap(), [true]);
}

#[test]
fn a_target_that_is_used_or_not_empty_is_refused_and_left_alone() {
    let grid = Grid::full();
    grid.back_up(1_000, 2);
    let from = grid.backups();
    let attempt = |data: &Path, assets: &Path| {
        let mode = FilesMode::Copy;
        let order = RestoreOrder { from: &from, name: None, data, assets, mode };
        restore(&order, "a test", &mut TestDriver::at(9)).map(|report| report.differences)
    };
    let target = tempfile::tempdir().unwrap();
    fs::write(target.path().join("letter.txt"), b"Dear Ada").unwrap();
    assert!(matches!(attempt(target.path(), Path::new("assets")), Err(RestoreError::Target(_))));
    assert_eq!(files_below(target.path()).len(), 1);
    let used = tempfile::tempdir().unwrap();
    let server = DataDir::open(used.path()).unwrap();
    let why = attempt(used.path(), Path::new("assets")).unwrap_err().to_string();
    assert!(why.contains("in use"), "{why}");
    drop(server);
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("other"), b"").unwrap();
    let new = tempfile::tempdir().unwrap();
    assert!(matches!(attempt(new.path(), elsewhere.path()), Err(RestoreError::Assets(_))));
    fs::remove_file(elsewhere.path().join("other")).unwrap();
    assert_eq!(attempt(new.path(), elsewhere.path()).unwrap(), 0, "and begins anew where it ended");
    assert_eq!(files_below(elsewhere.path()).len(), 3);
}

#[test]
fn a_restore_that_ended_at_any_step_is_begun_anew() {
    let grid = Grid::full();
    grid.back_up(1_000, 2);
    let (from, target) = (grid.backups(), tempfile::tempdir().unwrap());
    let data = target.path().join("data");
    for call in 1.. {
        let (assets, mode) = (Path::new("assets"), FilesMode::Copy);
        let order = RestoreOrder { from: &from, name: None, data: &data, assets, mode };
        match restore(&order, "a test", &mut TestDriver::ending_at(9, call)) {
            Ok(report) => {
                assert_eq!(report.differences, 0);
                assert!(call > 3, "{call} calls");
                break;
            }
            Err(RestoreError::Ended(_)) => {
                let refused = DataDir::open(&data).unwrap_err();
                assert!(matches!(refused, DataDirError::HalfRestored(_)), "{refused}");
            }
            Err(why) => panic!("call {call}: {why}"),
        }
    }
    assert_eq!(store::read_back(&StoreUrl::of_directory(&data)).unwrap(), grid.digests());
    drop(DataDir::open(&data).unwrap());
}
