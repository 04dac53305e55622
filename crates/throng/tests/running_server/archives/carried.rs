//! Archives on their way through servers: loaded, saved, and loaded into a data directory without anything, with equal counts of everything; copies with a flipped
//! byte are refused. They are archives of our own and, if `THRONG_OARS` names a folder, those of other programs in it.

use super::defective;
use super::flipped::assert_flipped_are_refused;
use super::furnished::{INVENTORY_COUNTS, REGION_COUNTS, write_inventory, write_region};
use super::reports::{assets_in, check, counts, ids_in, number, rows};
use super::{account, differences, n_objects, text_of};
use crate::regions::run;
use crate::server::Server;
use archive::check::VIEWERS_OWN;
use experiment::ArchiveFacts;
use grid::asset_sources::AssetSources;
use ids::Uuid;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Metres of a region's side, least and most.
const SIDE_M: u64 = 256;
const SIDE_MAX_M: u64 = 1_024;

/// Counts of a check that a second load and save leave as they are.
const REGION_KEYS: [&str; 8] =
    ["objects", "prims", "scripts", "assets", "missing", "damaged", "unused", "unreadable"];
const INVENTORY_KEYS: [&str; 10] = [
    "folders",
    "items",
    "links",
    "links_broken",
    "objects",
    "prims",
    "assets",
    "missing",
    "damaged",
    "unreadable",
];

/// Lists of a load with the count beside each: they name what does not come as it stands in the archive.
const NAMED: [(&str, &str); 6] = [
    ("unreadable", "unreadable_parts"),
    ("damaged", "damaged_assets"),
    ("missing", "missing_assets"),
    ("changed", "changed_parts"),
    ("remarks", "remarked_parts"),
    ("assets_kept", "kept_assets"),
];

/// A server with one account, for one archive.
struct Grid {
    server: Server,
    user: String,
    owner: Uuid,
    folder: TempDir,
}

impl Grid {
    /// With a region that has room for any archive.
    fn new(side_m: u64) -> Self {
        let server = Server::start_with(&format!(
            "[[region]]\nname = \"Harbour\"\nsize_m = {side_m}\nmax_objects = 200000\nmax_physical = 10000\n"
        ));
        let (owner, user) = account(&server);
        Self { server, user, owner: owner.parse().unwrap(), folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs an order, which may leave out what its answer names.
    fn order(&self, words: &[&str]) -> Value {
        let output = run(&self.server, &[words, &["--json"]].concat());
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{words:?}: {told}");
        let answer: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{words:?}: {why}: {told}"));
        assert_eq!(answer["state"], "done", "{words:?}: {answer}");
        for (count, list) in NAMED.iter().filter(|(count, _)| answer[count].as_u64() > Some(0)) {
            assert!(!rows(&answer, list).is_empty(), "{words:?}: {count} without a name: {answer}");
        }
        answer
    }

    /// `source` is the folder of the region in an archive of several.
    fn load_region_words<'a>(&'a self, file: &'a Path, source: &'a str) -> Vec<&'a str> {
        let mut words = vec!["oar", "load", text_of(file), "--region", "Harbour", "--keep-ids"];
        words.extend(["--default-user", self.user.as_str()]);
        if !source.is_empty() {
            words.extend(["--source", source]);
        }
        words
    }

    fn load_inventory_words<'a>(&'a self, file: &'a Path) -> Vec<&'a str> {
        vec!["iar", "load", text_of(file), "--user", &self.user, "--folder", "/Objects"]
    }

    /// Saves the region, and checks the archive.
    fn save_region(&self, file: &Path) -> Value {
        self.order(&["oar", "save", text_of(file), "--region", "Harbour"]);
        check("oar", file)
    }

    /// Saves everything that is in the folder of objects, and checks the archive.
    fn save_inventory(&self, file: &Path) -> Value {
        self.order(&["iar", "save", text_of(file), "--user", &self.user, "--folder", "/Objects/*"]);
        check("iar", file)
    }
}

/// All that a load and a save have left out is named, or viewers and servers have it; and nothing has come from elsewhere.
fn assert_assets_are_named(file: &Path, checked: &Value, loaded: &Value, saved: &Path) {
    let (before, after) = (assets_in(file), assets_in(saved));
    let named = [(checked, "unused_assets"), (loaded, "damaged_assets"), (loaded, "kept_assets")];
    let mut named: BTreeSet<Uuid> = named.into_iter().flat_map(|(of, list)| ids_in(of, list)).collect();
    named.extend(before.iter().copied().filter(|id| AssetSources::is_own(*id)));
    named.extend(before.iter().copied().filter(|id| VIEWERS_OWN.contains(&id.as_u128())));
    let lost: Vec<&Uuid> = before.difference(&after).filter(|id| !named.contains(*id)).collect();
    assert!(lost.is_empty(), "{}: {lost:?} are not in the archive again", file.display());
    let new: Vec<&Uuid> = after.difference(&before).collect();
    assert!(new.is_empty(), "{}: {new:?} were not in it", file.display());
}

/// Archives of other programs with an ending, in the order of their names; none unless a folder is named.
fn foreign(ending: &str) -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os("THRONG_OARS").map(PathBuf::from) else { return Vec::new() };
    let entries = fs::read_dir(&folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == ending));
    paths.sort();
    paths
}

/// Version of an archive that was checked; 0.0 without one.
fn version_of(checked: &Value) -> (u32, u32) {
    let text = checked["version"].as_str().unwrap_or("0.0");
    let (major, minor) = text.split_once('.').expect("two numbers");
    (major.parse().unwrap(), minor.parse().unwrap())
}

/// The differences of two archives that are not among the documented ones.
fn undocumented(a: &Path, b: &Path, facts: &ArchiveFacts) -> Vec<Value> {
    differences(a, b).into_iter().filter(|difference| !facts.explain(difference)).collect()
}

/// Brings a region of an archive into a grid, out of it, and into a second one. `source` is its folder in an archive of several.
fn carry_region(grid: &Grid, file: &Path, side_m: u64, source: &str) {
    let (shown, checked) = (file.display(), check("oar", file));
    let in_archive = rows(&checked, "regions").iter().find(|region| region["directory"] == source).unwrap();
    let loaded = grid.order(&grid.load_region_words(file, source));
    let (objects, prims) = (number(&loaded, "objects"), number(&loaded, "prims"));
    let is_as_it_was = number(&loaded, "changed") == 0;
    let [objects_before, prims_before] = ["objects", "prims"].map(|key| number(in_archive, key));
    if is_as_it_was {
        assert_eq!((objects, prims), (objects_before, prims_before), "{shown}: {loaded}");
    } else {
        assert!(objects_before - objects <= number(&loaded, "changed"), "{shown}: {loaded}");
    }
    let load = |file: &Path| run(&grid.server, &grid.load_region_words(file, source));
    let n_before = n_objects(&grid.server);
    assert_flipped_are_refused("oar", file, &grid.path("flipped.oar"), &load);
    assert_eq!(n_objects(&grid.server), n_before, "{shown}: nothing has changed");

    let saved = grid.path("saved.oar");
    let after = grid.save_region(&saved);
    assert_eq!(number(&after, "unreadable"), 0, "{shown}: {after}");
    assert_eq!(number(&after, "assets"), assets_in(&saved).len() as u64);
    if is_as_it_was {
        assert_eq!(counts(&after, &["objects", "prims"]), [objects, prims], "{shown}");
    }
    let version = version_of(&checked);
    let is_alone = rows(&checked, "regions").len() == 1;
    if is_alone {
        assert_assets_are_named(file, &checked, &loaded, &saved);
    }
    // An archive of several regions has other folders, and objects of a larger one have no place.
    let size_m = in_archive["size_m"].as_array().cloned().unwrap_or_default();
    if is_alone && version.0 == 0 && size_m.iter().all(|side| side.as_u64() <= Some(side_m)) {
        let found = undocumented(file, &saved, &ArchiveFacts::new(version, &checked, &loaded));
        assert!(found.is_empty(), "{shown}: {found:#?}");
    }

    let other = Grid::new(side_m);
    let again = other.order(&other.load_region_words(&saved, ""));
    let expected = counts(&after, &["objects", "prims"]);
    assert_eq!(counts(&again, &["objects", "prims"]), expected, "{shown}: {again}");
    assert_eq!(number(&again, "changed"), 0, "{shown}: {again}");
    // Legacy materials are assets in archives only.
    let materials = number(&again, "materials") + number(&again, "materials_left_out");
    assert_eq!(number(&again, "assets") + materials, number(&after, "assets"), "{shown}: {again}");
    let saved_again = other.path("again.oar");
    let last = other.save_region(&saved_again);
    assert_eq!(counts(&last, &REGION_KEYS), counts(&after, &REGION_KEYS), "{shown}");
    assert_eq!(assets_in(&saved_again), assets_in(&saved), "{shown}");
    let facts = ArchiveFacts::new(version_of(&after), &after, &again);
    let found = undocumented(&saved, &saved_again, &facts);
    assert!(found.is_empty(), "{shown}: {found:#?}");
}

/// Brings an inventory into a grid, out of it, and into a second one. Each load gives new ids, so that counts are compared and the assets, which keep theirs.
fn carry_inventory(grid: &Grid, file: &Path) {
    let (shown, checked) = (file.display(), check("iar", file));
    let loaded = grid.order(&grid.load_inventory_words(file));
    let nodes = counts(&loaded, &["folders", "items", "links"]);
    let [folders, items, links, broken] =
        ["folders", "items", "links", "links_broken"].map(|key| number(&checked, key));
    let is_as_it_was = number(&loaded, "changed") == 0;
    if is_as_it_was {
        assert_eq!(nodes, [folders, items, links - broken], "{shown}: {loaded}");
    } else {
        assert!(items - nodes[1] <= number(&loaded, "changed"), "{shown}: {loaded}");
    }
    let load = |file: &Path| run(&grid.server, &grid.load_inventory_words(file));
    assert_flipped_are_refused("iar", file, &grid.path("flipped.iar"), &load);

    let saved = grid.path("saved.iar");
    let after = grid.save_inventory(&saved);
    assert_eq!(counts(&after, &["folders", "items", "links"]), nodes, "{shown}: nothing else has come");
    assert_eq!(counts(&after, &["unreadable", "links_broken"]), [0, 0], "{shown}: {after}");
    assert_assets_are_named(file, &checked, &loaded, &saved);
    if is_as_it_was && number(&checked, "damaged") == 0 && number(&checked, "unused") == 0 {
        let keys = ["objects", "prims", "scripts", "missing"];
        assert_eq!(counts(&after, &keys), counts(&checked, &keys), "{shown}");
    }

    let other = Grid::new(SIDE_M);
    let again = other.order(&other.load_inventory_words(&saved));
    assert_eq!(counts(&again, &["folders", "items", "links"]), nodes, "{shown}: {again}");
    assert_eq!(number(&again, "assets"), number(&after, "assets"), "{shown}: {again}");
    let saved_again = other.path("again.iar");
    let last = other.save_inventory(&saved_again);
    assert_eq!(counts(&last, &INVENTORY_KEYS), counts(&after, &INVENTORY_KEYS), "{shown}");
    assert_eq!(assets_in(&saved_again), assets_in(&saved), "{shown}");
}

#[test]
fn regions_go_from_server_to_server_with_equal_counts_and_flipped_bytes_are_refused() {
    let grid = Grid::new(SIDE_M);
    let file = grid.path("furnished.oar");
    write_region(&file, grid.owner);
    let checked = check("oar", &file);
    assert_eq!(counts(&checked, &["objects", "prims", "assets"]), REGION_COUNTS, "{checked}");
    assert_eq!(counts(&checked, &["missing", "unused", "remarks"]), [0, 0, 0], "{checked}");
    carry_region(&grid, &file, SIDE_M, "");
    // All of it, with an owner who is known.
    let saved = grid.path("saved.oar");
    assert_eq!(counts(&check("oar", &saved), &["objects", "prims", "assets"]), REGION_COUNTS);
    for difference in differences(&file, &saved) {
        assert!(difference["path"].as_str().unwrap().starts_with("archive.xml"), "{difference}");
    }

    for file in foreign("oar") {
        let checked = check("oar", &file);
        let regions = rows(&checked, "regions");
        assert!(!regions.is_empty(), "{}: it has a region", file.display());
        for region in regions {
            let sides = region["size_m"].as_array().into_iter().flatten().filter_map(Value::as_u64);
            let side_m = sides.max().unwrap_or(SIDE_M).clamp(SIDE_M, SIDE_MAX_M).next_multiple_of(SIDE_M);
            carry_region(&Grid::new(side_m), &file, side_m, region["directory"].as_str().unwrap());
        }
    }
}

#[test]
fn inventories_go_from_server_to_server_with_equal_counts_and_flipped_bytes_are_refused() {
    let grid = Grid::new(SIDE_M);
    let file = grid.path("furnished.iar");
    write_inventory(&file, grid.owner);
    let keys = ["folders", "items", "links", "objects", "prims", "assets"];
    let checked = check("iar", &file);
    assert_eq!(counts(&checked, &keys), INVENTORY_COUNTS, "{checked}");
    assert_eq!(counts(&checked, &["missing", "unused", "remarks"]), [0, 0, 0], "{checked}");
    carry_inventory(&grid, &file);
    assert_eq!(counts(&check("iar", &grid.path("saved.iar")), &keys), INVENTORY_COUNTS);

    for file in foreign("iar") {
        carry_inventory(&Grid::new(SIDE_M), &file);
    }
}

#[test]
fn content_that_cannot_be_carried_is_named() {
    let grid = Grid::new(SIDE_M);
    let (first, second) = (grid.path("first.oar"), grid.path("second.oar"));
    defective::write(&first, grid.owner, "default {}");
    defective::write(&second, grid.owner, "default { state_entry() {} }");
    grid.order(&grid.load_region_words(&first, ""));
    let loaded = grid.order(&grid.load_region_words(&second, ""));
    for (list, key, named) in defective::named() {
        let found = rows(&loaded, list);
        let is_it = |row: &&Value| {
            let text = if key.is_empty() { row.as_str() } else { row[key].as_str() };
            text.is_some_and(|text| text.contains(&named))
        };
        assert_eq!(found.iter().filter(is_it).count(), 1, "{named} in {list}: {loaded}");
    }
    assert_eq!(json!([loaded["objects"], loaded["loads"]]), json!([2, "in part"]), "{loaded}");
    let output = run(&grid.server, &[&grid.load_region_words(&second, "")[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(1), "not all of it has come");

    let saved = grid.path("saved.oar");
    grid.save_region(&saved);
    let facts = ArchiveFacts::new((0, 8), &check("oar", &second), &loaded);
    let found = undocumented(&second, &saved, &facts);
    assert!(found.is_empty(), "{found:#?}");
    // A damaged asset is stored nowhere, so that it is missing from now on.
    let again = grid.path("again.oar");
    let again = grid.order(&["oar", "save", text_of(&again), "--region", "Harbour"]);
    let mut missing = ids_in(&loaded, "missing_assets");
    missing.extend(ids_in(&loaded, "damaged_assets"));
    assert_eq!(ids_in(&again, "missing_assets"), missing);
}
