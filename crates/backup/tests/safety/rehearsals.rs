//! Rehearsals with a stand-in for the server.

use crate::driver::TestDriver;
use crate::grid::Grid;
use backup::{RehearsalError, RehearsalReport, WorkDriver, WorkEnded, list_backups, rehearse};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use store::StoreUrl;

type Started = Result<Result<Vec<String>, String>, WorkEnded>;

fn rehearsed(
    grid: &Grid,
    mut start: impl FnMut(&Path, &mut dyn WorkDriver) -> Started,
) -> Result<RehearsalReport, RehearsalError> {
    rehearse(&grid.open_backups(), None, None, &mut start, &mut TestDriver::at(5_000))
}

#[test]
fn the_worlds_start_on_data_that_equal_the_source_and_the_outcome_is_kept() {
    let grid = Grid::full();
    let name = grid.back_up(1_000, 3).manifest.name;
    let mut place = None;
    let report = rehearsed(&grid, |data, _| {
        let url = StoreUrl::of_directory(data);
        assert_eq!(store::read_back(&url).unwrap(), grid.digests());
        let found = grid.verify_at(&url, &data.join("assets"), true);
        assert!(found.faults.is_empty(), "{}", found.faults.lines());
        // No lock and no mark keeps a server out.
        drop(data_dir::DataDir::open(data).unwrap());
        place = Some(data.to_owned());
        Ok(Ok(vec!["Harbour".into()]))
    })
    .unwrap();
    assert_eq!((&report.name, report.outcome.has_succeeded(), report.outcome.at_s), (&name, true, 5_000));
    assert_eq!((report.outcome.assets, report.outcome.objects, report.outcome.missing), (3, 3, 0));
    assert!(!place.expect("it was started").exists(), "the scratch directory goes");
    let [entry] = &list_backups(&grid.backups()).unwrap()[..] else { panic!("one backup") };
    assert_eq!(entry.rehearsal.as_ref(), Some(&report.outcome));
    assert_eq!(report.to_json()["differences"], 0);
}

#[test]
fn worlds_that_do_not_start_are_a_failed_rehearsal_of_a_sound_backup() {
    let grid = Grid::full();
    grid.back_up(1_000, 3);
    let report = rehearsed(&grid, |_, _| Ok(Err("the configuration names another region".into()))).unwrap();
    assert!(!report.outcome.has_succeeded());
    assert!(report.summary().contains("another region"), "{}", report.summary());
    let entries = list_backups(&grid.backups()).unwrap();
    assert!(entries[0].sound().is_some() && entries[0].rehearsal.is_some());
}

#[test]
fn a_damaged_database_is_an_outcome_and_an_end_is_none() {
    let grid = Grid::full();
    let name = grid.back_up(1_000, 3).manifest.name;
    let ended = rehearsed(&grid, |_, _| Err(WorkEnded));
    assert!(matches!(ended, Err(RehearsalError::Ended(_))), "{ended:?}");
    assert!(list_backups(&grid.backups()).unwrap()[0].rehearsal.is_none());
    damage_database(&grid, &name);
    let report = rehearsed(&grid, |_, _| panic!("nothing is to be started")).unwrap();
    assert_eq!((report.outcome.differences, report.outcome.has_succeeded()), (1, false));
    assert!(report.outcome.failure.as_ref().is_some_and(|why| why.contains("the database")), "{report:?}");
    assert!(list_backups(&grid.backups()).unwrap()[0].sound().is_none());
}

fn damage_database(grid: &Grid, name: &str) {
    let file = grid.backups().join("backups").join(name).join("database.sqlite");
    let mut bytes = fs::read(&file).unwrap();
    bytes[5_000] ^= 1;
    fs::write(&file, bytes).unwrap();
}

/// A rehearsal into a directory.
fn rehearsed_at(grid: &Grid, scratch: &Path) -> Result<RehearsalReport, RehearsalError> {
    let mut start = |_: &Path, _: &mut dyn WorkDriver| Ok(Ok(vec!["Harbour".to_owned()]));
    rehearse(&grid.open_backups(), None, Some(scratch), &mut start, &mut TestDriver::at(5_000))
}

#[test]
fn a_directory_with_content_is_refused_and_stays_as_it_is() {
    let grid = Grid::full();
    let name = grid.back_up(1_000, 3).manifest.name;
    let elsewhere = tempfile::tempdir().unwrap();
    let [letters, unnamed, half] = ["letters", "unnamed", "half"].map(|name| elsewhere.path().join(name));
    for folder in [&letters, &unnamed] {
        fs::create_dir(folder).unwrap();
    }
    let kept = [
        letters.join("letter.txt"),
        unnamed.join(OsStr::from_bytes(b"\xFF")),
        // A restore has left it, which can be repeated.
        half.join("assets"),
    ];
    drop(data_dir::DataDir::begin_restore(&half).unwrap());
    kept.iter().for_each(|file| fs::write(file, "kept").unwrap());
    for is_damaged in [false, true] {
        if is_damaged {
            damage_database(&grid, &name);
        }
        for folder in [&letters, &unnamed, &half] {
            let refused = rehearsed_at(&grid, folder).expect_err("it is not empty").to_string();
            assert!(refused.contains("is not empty; name another directory"), "{refused}");
        }
        assert!(kept.iter().all(|file| fs::read_to_string(file).unwrap() == "kept"), "{is_damaged}");
    }
    assert!(list_backups(&grid.backups()).unwrap()[0].rehearsal.is_none(), "nothing was tried");
}

#[test]
fn an_empty_directory_is_empty_again_and_a_missing_one_is_missing_again() {
    let grid = Grid::full();
    let name = grid.back_up(1_000, 3).manifest.name;
    let elsewhere = tempfile::tempdir().unwrap();
    let [there, missing] = ["there", "missing"].map(|name| elsewhere.path().join(name));
    fs::create_dir(&there).unwrap();
    for is_damaged in [false, true] {
        if is_damaged {
            damage_database(&grid, &name);
        }
        for folder in [&there, &missing] {
            assert_eq!(rehearsed_at(&grid, folder).unwrap().outcome.has_succeeded(), !is_damaged);
        }
        assert_eq!(fs::read_dir(&there).unwrap().count(), 0, "{is_damaged}");
        assert!(!missing.exists(), "{is_damaged}");
    }
}

#[test]
fn a_scratch_directory_of_the_operator_s_is_used_and_removed() {
    let grid = Grid::full();
    grid.back_up(1_000, 3);
    let elsewhere = tempfile::tempdir().unwrap();
    let scratch = elsewhere.path().join("scratch");
    let mut start = |data: &Path, _: &mut dyn WorkDriver| Ok(Ok(vec![data.display().to_string()]));
    let dir = grid.open_backups();
    let report = rehearse(&dir, None, Some(&scratch), &mut start, &mut TestDriver::at(5_000)).unwrap();
    assert_eq!(report.outcome.worlds, [scratch.display().to_string()]);
    assert!(!scratch.exists());
}
