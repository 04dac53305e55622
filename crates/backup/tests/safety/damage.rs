//! Damage of every kind of file and row: found and named, in the data and in backups.

use crate::driver::TestDriver;
use crate::grid::{
    ADA, Grid, OWN, REGION, TEXTURES_OF_ADA, TOUCH_OF_HAT, asset, bytes_of, held, item, root, texts_of,
};
use assets::content_path;
use backup::{
    FlawKind, RestoreError, StoredFlaw, StoredPart, Verification, WorkDriver, list_backups, rehearse,
};
use ids::{AgentId, HeldKey, Ticket, Uuid, WorldId};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use store::{ApiToken, AssetHash, AssetRow, Folder, Item, JobRow, NewWorn, RegionChanges, RegionRow};

/// Changes one byte of a text in a file, also where former copies of the text lie in unused parts of pages.
fn flip_in(file: &Path, text: &[u8]) {
    let mut bytes = fs::read(file).unwrap();
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(text)).collect();
    assert!(!places.is_empty(), "no {:?}", String::from_utf8_lossy(text));
    places.into_iter().for_each(|at| bytes[at + text.len() / 2] ^= 1);
    fs::write(file, bytes).unwrap();
}

fn flip_at(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 1;
    fs::write(file, bytes).unwrap();
}

/// The only fault.
fn only(found: &Verification) -> &StoredFlaw {
    let [flaw] = found.faults.named() else { panic!("one fault: {}", found.faults.lines()) };
    flaw
}

#[test]
fn whole_data_has_no_fault() {
    let found = Grid::full().verify(true);
    assert!(found.faults.is_empty(), "{}", found.faults.lines());
    assert_eq!((found.assets, found.items, found.objects, found.verified_s), (3, 4, 3, 7));
    let json = found.to_json();
    assert_eq!((&json["assets"], &json["damaged"]), (&3.into(), &0.into()));
    assert_eq!(json["verified_at"], "1970-01-01T00:00:07Z");
    let nothing = Grid::empty().verify(true);
    assert!(nothing.faults.is_empty() && nothing.objects == 0, "{}", nothing.faults.lines());
}

#[test]
fn every_byte_of_a_content_matters() {
    let grid = Grid::full();
    let whole = fs::read(grid.file_of(1)).unwrap();
    for at in 0..whole.len() {
        flip_at(&grid.file_of(1), at);
        let found = grid.verify(true);
        let flaw = only(&found);
        assert_eq!((flaw.kind, flaw.part), (FlawKind::Damaged, StoredPart::Asset), "byte {at}");
        assert_eq!((&flaw.name[..], flaw.owner_name.as_deref()), ("Item 2", Some("Ada Lovelace")));
        assert!(flaw.id.contains(&asset(1).to_string()), "{flaw}");
        fs::write(grid.file_of(1), &whole).unwrap();
    }
    flip_at(&grid.file_of(1), 0);
    assert!(grid.verify(false).faults.is_empty(), "bytes are read when that is asked for");
}

#[test]
fn contents_that_are_missing_shorter_longer_or_in_quarantine_are_named() {
    let grid = Grid::full();
    fs::remove_file(grid.file_of(0)).unwrap();
    fs::write(grid.file_of(1), b"").unwrap();
    let hash = AssetHash::of(&bytes_of(2));
    assert!(grid.store().quarantine_content(hash, "seen by a reader").unwrap());
    let found = grid.verify(false);
    assert_eq!((found.faults.damaged(), found.faults.missing()), (2, 1), "{}", found.faults.lines());
    let lines = found.faults.lines();
    let missing = "\"Item 1\" of Ada Lovelace: its bytes are missing";
    for part in [missing, "\"Item 2\" of Ada", "seen by a reader"] {
        assert!(lines.contains(part), "{part}: {lines}");
    }
}

#[test]
fn a_byte_of_an_object_s_rows_is_found_and_the_object_named() {
    for (in_body, n) in [(true, 2), (false, 2), (true, 1), (false, 0)] {
        let grid = Grid::full();
        let (touch, name) = texts_of(n);
        flip_in(&grid.database(), if in_body { touch.as_bytes() } else { name.as_bytes() });
        let found = grid.verify(false);
        let lines = found.faults.lines();
        let first = found.faults.named().iter().find(|flaw| flaw.part == StoredPart::Object);
        let flaw = first.unwrap_or_else(|| panic!("an object: {lines}"));
        assert_eq!(flaw.kind, FlawKind::Damaged, "{lines}");
        assert!(flaw.why.contains("the checksum does not match"), "{lines}");
        // The other row is there, with the name or the owner.
        if in_body {
            assert_eq!(flaw.name, name, "{lines}");
        } else {
            assert_eq!(flaw.owner_name.as_deref(), Some("Ada Lovelace"), "{lines}");
        }
    }
}

#[test]
fn a_byte_of_the_rows_of_a_region_its_land_and_held_objects_is_found() {
    for (text, part) in [
        (&Uuid::from_u128(0xCACE).into_bytes()[..], StoredPart::Region),
        (b"Name of the estate", StoredPart::Land),
        (b"Your Parcel", StoredPart::Land),
        (b"value of the held object", StoredPart::Held),
    ] {
        let grid = Grid::full();
        add_held(&grid, 6, 6);
        flip_in(&grid.database(), text);
        let found = grid.verify(false);
        let lines = found.faults.lines();
        let is_it = |flaw: &&StoredFlaw| flaw.part == part && flaw.why.contains("checksum");
        assert_eq!(found.faults.named().iter().filter(is_it).count(), 1, "{part:?}: {lines}");
    }
}

#[test]
fn a_byte_of_the_rows_of_worn_objects_and_appearances_is_found() {
    for (text, part) in [(TOUCH_OF_HAT, StoredPart::Worn), (TEXTURES_OF_ADA, StoredPart::Appearance)] {
        let grid = Grid::full();
        grid.add_avatar();
        let whole = grid.verify(false);
        assert!(whole.faults.is_empty(), "{}", whole.faults.lines());
        assert_eq!((whole.items, whole.objects), (5, 4), "the worn prim counts");
        flip_in(&grid.database(), text.as_bytes());
        let found = grid.verify(false);
        let flaw = only(&found);
        assert_eq!((flaw.kind, flaw.part), (FlawKind::Damaged, part), "{flaw}");
        assert!(flaw.why.contains("checksum"), "{flaw}");
        assert_eq!(flaw.owner_name.as_deref(), Some("Ada Lovelace"), "{flaw}");
    }
}

/// Adds a row of each further kind that a text in it tells from the others.
fn add_rows(grid: &Grid) {
    let store = grid.store();
    let token = ApiToken {
        name: "scopes-token".into(),
        hash: [7; 32],
        scopes: "scopes of the token".into(),
        created_s: 1,
        expires_s: None,
        worlds_max: None,
    };
    store.create_token(&token).unwrap();
    let job = JobRow {
        number: 3,
        kind: "backup".into(),
        subject: "/backups".into(),
        author: "author of the job".into(),
        state: "done".into(),
        created_s: 1,
        started_s: None,
        ended_s: None,
        outcome: None,
        result: None,
    };
    store.save_jobs(&[job], &[]).unwrap();
    assert!(store.add_region_materials(REGION, &[(asset(9), b"value of the material".to_vec())], 9).unwrap());
    let row = AssetRow { origin: "origin of the asset".into(), ..grid.add_file(3, None) };
    store.add_assets(&[row]).unwrap();
}

#[test]
fn a_byte_of_the_rows_of_users_assets_and_the_operator_is_found() {
    let item_3 = item(3, OWN).id.to_string();
    for (text, part, id, name) in [
        ("$argon2id$", StoredPart::Account, ADA.0.to_string(), "Ada Lovelace"),
        ("My Inventory", StoredPart::Folder, root().id.to_string(), ""),
        ("Item 3", StoredPart::Item, item_3, ""),
        ("scopes of the token", StoredPart::Token, "scopes-token".to_owned(), "scopes-token"),
        ("author of the job", StoredPart::Job, "3".to_owned(), "backup /backups"),
        ("value of the material", StoredPart::Row, format!("1 {}", asset(9)), ""),
        ("origin of the asset", StoredPart::Asset, asset(3).to_string(), ""),
    ] {
        let grid = Grid::full();
        add_rows(&grid);
        assert!(grid.verify(true).faults.is_empty(), "{}", grid.verify(true).faults.lines());
        flip_in(&grid.database(), text.as_bytes());
        let found = grid.verify(false);
        let lines = found.faults.lines();
        let flaw = found.faults.named().iter().find(|flaw| flaw.part == part);
        let flaw = flaw.unwrap_or_else(|| panic!("{text}: {lines}"));
        assert_eq!((flaw.kind, &*flaw.id), (FlawKind::Damaged, &*id), "{text}: {lines}");
        assert!(flaw.why.contains("the checksum does not match"), "{lines}");
        if !name.is_empty() {
            assert_eq!(flaw.name, name, "{lines}");
        }
        let is_of_ada = matches!(part, StoredPart::Account | StoredPart::Folder | StoredPart::Item);
        assert_eq!(flaw.owner, is_of_ada.then_some(ADA), "{lines}");
        assert_eq!(found.to_json()["faults"][0]["part"], part.as_str(), "{lines}");
    }
}

#[test]
fn a_worn_object_that_means_nothing_is_named_by_its_item() {
    let grid = Grid::full();
    let worn = Item { asset_type: 6, ..item(6, OWN) };
    grid.add_account_with(AgentId(Uuid::from_u128(0xE)), "Eve", vec![root()], vec![worn.clone()]);
    let new = NewWorn { item: worn, point: 5, revision: 1, value: b"no object"[..].into() };
    grid.store().wear(AgentId(Uuid::from_u128(0xE)), &[new], 9).unwrap();
    let found = grid.verify(false);
    let flaw = only(&found);
    assert_eq!((flaw.part, &flaw.id[..]), (StoredPart::Worn, &*Uuid::from_u128(6).to_string()), "{flaw}");
    assert_eq!(flaw.owner_name.as_deref(), Some("Eve Lovelace"));
}

/// Has an object held under a ticket, by a region that has got as far as another ticket.
fn add_held(grid: &Grid, ticket: u32, last: u32) {
    let store = grid.store();
    let row = store.region_row(REGION).unwrap().expect("a row");
    let changes = RegionChanges {
        row: RegionRow { ticket: Ticket(last), ..row },
        held: vec![held(ticket)],
        ..RegionChanges::default()
    };
    store.save_region(REGION, &changes).unwrap();
}

#[test]
fn held_objects_that_mean_nothing_or_have_an_impossible_ticket_are_named() {
    let grid = Grid::full();
    add_held(&grid, 9, 6);
    let found = grid.verify(false);
    let lines = found.faults.lines();
    assert_eq!(found.faults.named().len(), 2, "{lines}");
    let is_it = |flaw: &StoredFlaw| flaw.part == StoredPart::Held && flaw.id == "1-9";
    assert!(found.faults.named().iter().all(is_it), "{lines}");
    assert!(lines.contains("its ticket is above the last one of its region, 6"), "{lines}");
    assert!(lines.contains("of Ada Lovelace"), "{lines}");
}

#[test]
fn an_object_that_a_region_has_taken_that_does_not_exist_is_named() {
    let grid = Grid::full();
    add_held(&grid, 6, 6);
    let key = HeldKey { region: REGION, ticket: Ticket(6) };
    grid.store().take_held(key, WorldId(77)).unwrap();
    let lines = grid.verify(false).faults.lines();
    assert!(lines.contains("region 77, which has taken it, does not exist"), "{lines}");
}

#[test]
fn a_part_without_its_root_is_named() {
    let grid = Grid::full();
    let store = grid.store();
    let row = store.region_row(REGION).unwrap().expect("a row");
    let stored = store.read_region(REGION).unwrap();
    let root = stored.bodies.iter().next().expect("a prim").0;
    let changes = RegionChanges { row, gone: vec![root], ..RegionChanges::default() };
    store.save_region(REGION, &changes).unwrap();
    drop(store);
    let found = grid.verify(false);
    let flaw = only(&found);
    assert_eq!(flaw.id, format!("{} of region 1", root.0 + 1));
    assert!(flaw.why.contains("the root of its linkset is missing"), "{flaw}");
    assert_eq!((&flaw.name[..], flaw.owner_name.as_deref()), (&texts_of(1).1[..], Some("Ada Lovelace")));
}

#[test]
fn items_without_assets_and_folders_without_roots_are_named() {
    let grid = Grid::full();
    let eve = AgentId(Uuid::from_u128(0xE));
    let folder = |id: u128, parent: u128| Folder {
        id: Uuid::from_u128(id),
        parent: Uuid::from_u128(parent),
        name: format!("Folder {id}"),
        type_default: -1,
        version: 1,
    };
    let folders = vec![folder(0xF0, 0), folder(7, 0xBAD)];
    let link = Item { asset_type: 24, ..item(4, Uuid::from_u128(0xBAD)) };
    let items = vec![item(1, asset(9)), item(2, OWN), item(3, Uuid::nil()), link];
    grid.add_account_with(eve, "Eve", folders, items);
    let found = grid.verify(false);
    let lines = found.faults.lines();
    assert_eq!((found.faults.missing(), found.faults.damaged()), (1, 1), "{lines}");
    let [lost, folder] = found.faults.named() else { panic!("{lines}") };
    let (id, asset) = (Uuid::from_u128(1), asset(9));
    let told = format!("missing item {id} \"Item 1\" of Eve Lovelace: its asset {asset} does not exist");
    assert_eq!(lost.to_string(), told);
    assert_eq!((&folder.name[..], &folder.why[..]), ("Folder 7", "its parent does not exist"));
}

#[test]
fn rows_of_a_region_that_cannot_be_are_named() {
    let grid = Grid::full();
    let number = WorldId(1 << 20);
    grid.store().save_region(number, &RegionChanges::default()).unwrap();
    let found = grid.verify(false);
    assert_eq!(only(&found).to_string(), "damaged region 1048576: no region has this number");
}

#[test]
fn every_byte_of_a_backup_s_small_files_matters_and_samples_of_its_database() {
    let grid = Grid::full();
    let name = grid.back_up(1_000, 3).manifest.name;
    let folder = grid.backups().join("backups").join(&name);
    for (file, step) in [("manifest.json", 7), ("contents.list", 1), ("database.sqlite", 4_999)] {
        let path = folder.join(file);
        let len = path.metadata().unwrap().len() as usize;
        for at in (0..len).step_by(step) {
            flip_at(&path, at);
            let refused = grid.restore(None).1.expect_err("it is damaged");
            assert!(refused.is_damage() && refused.to_string().contains(&name), "{file} {at}: {refused}");
            flip_at(&path, at);
        }
    }
    assert_eq!(grid.restore(None).1.unwrap().differences, 0, "it is whole again");
}

#[test]
fn a_damaged_content_of_a_backup_is_named_by_a_restore_and_copied_anew_after_a_rehearsal() {
    let grid = Grid::full();
    let first = grid.back_up(1_000, 3).manifest;
    let file = content_path(&grid.backups().join("assets"), AssetHash::of(&bytes_of(1)));
    flip_at(&file, 5);
    let (_target, restored) = grid.restore(None);
    let restored = restored.unwrap();
    assert_eq!((restored.differences, restored.faults.damaged()), (1, 1));
    assert_eq!(restored.faults.named()[0].name, "Item 2");
    assert_eq!(restored.faults.named()[0].owner, Some(ADA));
    // A backup trusts a file that was read back once.
    assert_eq!(grid.back_up(2_000, 3).manifest.copied_files, 0);
    let dir = grid.open_backups();
    let mut start = |_: &Path, _: &mut dyn WorkDriver| Ok(Ok(vec!["Harbour".to_owned()]));
    let report = rehearse(&dir, None, None, &mut start, &mut TestDriver::at(2_500)).unwrap();
    drop(dir);
    assert_eq!((report.outcome.differences, report.outcome.has_succeeded()), (1, false));
    let entries = list_backups(&grid.backups()).unwrap();
    let are_sound: Vec<bool> = entries.iter().map(|entry| entry.sound().is_some()).collect();
    assert_eq!(are_sound, [true, false], "the newest one is known to be damaged");
    assert_eq!(grid.back_up(3_000, 3).manifest.copied_files, 1, "the live file is sound");
    assert_eq!(grid.restore(None).1.unwrap().differences, 0);
    let oldest = grid.restore(Some(&first.name)).1.unwrap();
    assert_eq!(oldest.differences, 0, "the older ones are whole again, too");
}

#[test]
fn a_backup_without_its_manifest_does_not_exist() {
    let grid = Grid::full();
    let name = grid.back_up(1_000, 3).manifest.name;
    fs::remove_file(grid.backups().join("backups").join(&name).join("manifest.json")).unwrap();
    assert!(matches!(grid.restore(None).1, Err(RestoreError::Empty(_))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Whatever data there are and whichever files are damaged: a deep look names the assets of exactly these.
    #[test]
    fn exactly_the_damaged_contents_are_found(
        n_assets in 1_u32..40,
        n_prims in 0_u32..20,
        damaged in prop::collection::btree_map(0_u32..40, (any::<prop::sample::Index>(), 0_u8..3), 0..10),
    ) {
        let grid = Grid::empty();
        grid.add_assets(0..n_assets);
        let items: Vec<_> = (0..n_assets).map(|n| (u128::from(n) + 1, asset(n))).collect();
        grid.add_account(ADA, "Ada", &items);
        if n_prims > 0 {
            grid.add_region(n_prims);
        }
        let damaged: Vec<_> = damaged.into_iter().filter(|(n, _)| *n < n_assets).collect();
        for (n, (at, way)) in &damaged {
            let (file, len) = (grid.file_of(*n), bytes_of(*n).len());
            match way {
                0 => flip_at(&file, at.index(len)),
                1 => fs::remove_file(&file).unwrap(),
                _ => fs::write(&file, &bytes_of(*n)[..at.index(len)]).unwrap(),
            }
        }
        let found = grid.verify(true);
        let mut named: Vec<String> = found.faults.named().iter().map(|flaw| flaw.id.clone()).collect();
        let mut expected: Vec<String> = damaged.iter().map(|(n, _)| asset(*n).to_string()).collect();
        named.sort();
        expected.sort();
        prop_assert_eq!(named, expected);
        prop_assert_eq!((found.assets, found.items), (u64::from(n_assets), u64::from(n_assets)));
        prop_assert_eq!(found.objects, u64::from(n_prims));
        let is_hers = |flaw: &StoredFlaw| flaw.owner_name.as_deref() == Some("Ada Lovelace");
        prop_assert!(found.faults.named().iter().all(is_hers));
    }
}
