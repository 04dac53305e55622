//! Export and import in the database of a stopped server.
//!
//! The database is claimed for as long as the command runs, so that no server begins meanwhile. An import goes through a keeper, as if a world had
//! shown it in a frame: rows, local ids and the region's own row are those that a server would write.

use super::RegionCommandError;
use crate::config::{Config, RegionSection};
use crate::configured::{grounds, is_new, keeper_config, new_land};
use crate::database;
use content_threads::region_transfer::{self, WrittenRegion};
use data_dir::{create_privately, make_private};
use ids::{Epoch, Instant, Uuid};
use keeper::region_file::{LandToWrite, RegionAbout};
use keeper::{Imported, Keeper, KeeperConfig, LoadedRegion, import as place};
use link::{Frame, LandChange, ObjectChange, StoredLand};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use store::{RegionRow, Store};

/// Writes the region in the database to a new file, and changes nothing in the database.
pub(super) fn export(
    config: &Config,
    name: &str,
    file: &Path,
    is_partial: bool,
) -> Result<Value, RegionCommandError> {
    let StoredWorld { section, keeper: settings, store } = StoredWorld::open(config, name)?;
    let stored = store.read_region(settings.region)?;
    let (epoch, sequence) = frame_of(stored.row.as_ref());
    let (_, loaded) = Keeper::load(&settings, &stored, Uuid::nil())?;
    let damaged = region_transfer::check_whole(&stored, &loaded, is_partial)?;
    let LoadedRegion { objects, land, .. } = loaded;
    let about = RegionAbout {
        name: section.name.clone(),
        size_m: section.size_m,
        build: format!("throng {}", env!("CARGO_PKG_VERSION")),
        exported_s: unix_s(),
    };
    let land = LandToWrite { land: &land, described: &settings.land.terrain };
    let written = region_transfer::write(file, &about, (&objects, Some(land)), &settings.ids)?;
    let WrittenRegion { n_prims, bytes } = written;
    Ok(json!({ "epoch": epoch, "sequence": sequence, "prims": n_prims, "bytes": bytes, "damaged": damaged }))
}

/// Adds a file to the region in the database, and with `takes_land` puts its land in place of the region's: all of it, or nothing.
pub(super) fn import(
    config: &Config,
    name: &str,
    file: &Path,
    takes_land: bool,
) -> Result<Value, RegionCommandError> {
    let StoredWorld { section, keeper: settings, store } = StoredWorld::open(config, name)?;
    let read = region_transfer::read_import(file, &settings.ids, &settings.land.terrain, takes_land);
    let (linksets, land) = read?;
    let (n_linksets, n_prims) = (linksets.len(), linksets.iter().map(Vec::len).sum::<usize>());
    let stored = store.region_objects(settings.region)?;
    // With a row in the database the region would begin without its content, and without the content's land.
    if is_new(&stored) && !section.content.as_os_str().is_empty() {
        return Err(RegionCommandError::ContentFirst(section.name.clone()));
    }
    let fresh = Uuid::from_u64_pair(random()?, random()?);
    let (mut keeper, region) = Keeper::load(&settings, &stored, fresh)?;
    // Numbers for ids and versions come from one that is asked for here, where its lack can be reported.
    let (seed, mut n) = (random()?, 0_u64);
    let numbers = || {
        n += 1;
        state_of(seed, n)
    };
    let n_max = section.max_objects as usize;
    let Imported { changes, .. } = place(&region.objects, &settings.ids, linksets, n_max, numbers)?;
    let frame = |sequence, objects| Frame { world: settings.region, sequence, objects, ..Frame::empty() };
    let mut first = frame(0, vec![ObjectChange::Pages(region.objects.pages)]);
    let has_land = land.is_some();
    if let Some(StoredLand { state, ground, baked, .. }) = land {
        // As a world that begins with this land shows it.
        (first.ground, first.land) = (ground, vec![LandChange::Whole(state), LandChange::Baked(baked)]);
    }
    for frame in [first, frame(1, changes)] {
        keeper.handle_frame(Instant::ZERO, &frame);
    }
    keeper.order_save();
    let batch = keeper.poll_batch(Instant::ZERO).expect("a save that was ordered, of frames that have come");
    store.save_region(settings.region, &batch.changes)?;
    Ok(json!({
        "linksets": n_linksets,
        "prims": n_prims,
        "added": n_linksets,
        "refused": 0,
        "reason": null,
        "land": has_land,
    }))
}

/// A region of the configuration, with its database.
struct StoredWorld<'a> {
    section: &'a RegionSection,
    keeper: KeeperConfig,
    store: Store,
}

impl<'a> StoredWorld<'a> {
    fn open(config: &'a Config, name: &str) -> Result<Self, RegionCommandError> {
        let (index, section) = region(config, name)?;
        let world = section.world(index);
        let (url, data) = (database::url(config), &config.server.data);
        if url.is_file() {
            create_privately();
            make_private(data)?;
        }
        let store = Store::open_claimed(&url, &database::server_name())?;
        let (ground, _) = grounds(config).swap_remove(index);
        let now_s = unix_s();
        let land = new_land(section, &ground.terrain, None, now_s);
        Ok(Self { section, keeper: keeper_config(config, (world, section), land, now_s), store })
    }
}

fn region<'a>(config: &'a Config, name: &str) -> Result<(usize, &'a RegionSection), RegionCommandError> {
    let mut regions = config.region.iter().enumerate();
    let found = regions.find(|(_, region)| region.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let known: Vec<&str> = config.region.iter().map(|region| region.name.as_str()).collect();
        RegionCommandError::NoRegion { name: name.to_owned(), known: known.join(", ") }
    })
}

/// Epoch and number of the frame that is in the database; none before the first save.
fn frame_of(row: Option<&RegionRow>) -> (Option<u32>, Option<u64>) {
    let frame = row.map(|row| (row.epoch, row.sequence));
    frame.map(|(Epoch(epoch), sequence)| (epoch, sequence)).unzip()
}

fn random() -> Result<u64, RegionCommandError> {
    getrandom::u64().map_err(RegionCommandError::Random)
}

/// The n-th number of a random sequence.
fn state_of(seed: u64, n: u64) -> u64 {
    // As in SplitMix64, whose numbers do not repeat within 2^64.
    let mut mixed = seed.wrapping_add(n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

#[expect(clippy::disallowed_methods, reason = "the date of a file that a command writes")]
fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{AgentId, LocalId};
    use keeper::RegionIds;
    use link::{ObjectPage, PrimMotion, RestingIds, StoredObjects, VersionedBody};
    use prim::{Body, Shape};
    use std::path::PathBuf;
    use std::sync::Arc;
    use store::{ObjectRows, RegionChanges};

    /// A file with a linkset of the prims 1 and 3, and prim 2.
    fn write_region(path: &Path) {
        let mut page = ObjectPage::empty(LocalId(1 << 20));
        for n in 0..3_u8 {
            let (owner, id) = (AgentId(Uuid::from_u128(9)), Uuid::from_u128(u128::from(n) + 1));
            let mut body = Body::new(id, Shape::BOX, Arc::from([3; 47]), owner, 1 << 50);
            body.names.name = format!("Prim {}", n + 1).into();
            let parent = if n == 2 { LocalId(1 << 20) } else { LocalId(0) };
            Arc::make_mut(&mut page.motions)[usize::from(n)] =
                PrimMotion { parent, link_number: n / 2, ..PrimMotion::NONE };
            Arc::make_mut(&mut page.bodies)[usize::from(n)] =
                Some(VersionedBody { version: 1, body: Arc::new(body) });
        }
        let kept = RestingIds { n_used: 3, resting: Vec::new() };
        let objects = StoredObjects { pages: vec![page], kept, ..StoredObjects::default() };
        let ids =
            RegionIds { kept: 1 << 20..1 << 20 | 1 << 10, temporary: 1 << 20 | 1 << 10..1 << 20 | 1 << 11 };
        let about = RegionAbout { name: "Harbour".into(), size_m: 256, build: "test".into(), exported_s: 7 };
        region_transfer::write(path, &about, (&objects, None), &ids).expect("a file");
    }

    #[test]
    fn an_import_waits_for_the_first_start_of_a_region_with_content() {
        let data = tempfile::tempdir().expect("a directory");
        let mut config = Config::default();
        config.server.data = data.path().to_owned();
        let name = config.region[0].name.clone();
        let file = data.path().join("harbour.region");
        export(&config, &name, &file, false).expect("a file of an empty region");
        config.region[0].content = file.clone();
        let told = import(&config, &name, &file, false);
        assert!(matches!(told, Err(RegionCommandError::ContentFirst(_))), "{told:?}");
        let n_rows = |config: &Config| {
            let StoredWorld { keeper, store, .. } = StoredWorld::open(config, &name).expect("a database");
            usize::from(!is_new(&store.region_objects(keeper.region).expect("a region")))
        };
        assert_eq!(n_rows(&config), 0, "the first start loads the content");
        config.region[0].content = PathBuf::new();
        import(&config, &name, &file, false).expect("a region without content");
        assert_eq!(n_rows(&config), 1);
        config.region[0].content = file.clone();
        import(&config, &name, &file, false).expect("a region that is not new");
    }

    #[test]
    fn land_of_a_file_takes_the_place_of_the_regions_if_that_is_ordered() {
        let data = tempfile::tempdir().expect("a directory");
        let mut config = Config::default();
        config.server.data = data.path().to_owned();
        let name = config.region[0].name.clone();
        let water_of = |config: &Config| {
            let StoredWorld { keeper, store, .. } = StoredWorld::open(config, &name).expect("a database");
            let stored = store.read_region(keeper.region).expect("a region");
            let (_, region) = Keeper::load(&keeper, &stored, Uuid::nil()).expect("a region");
            region.land.state.estate.levels.water_m
        };
        let file = data.path().join("harbour.region");
        config.region[0].water_m = 12.0;
        export(&config, &name, &file, false).expect("a file of a new region");
        // A region without rows of land has that of its configuration.
        config.region[0].water_m = 13.0;
        let told = import(&config, &name, &file, false).expect("objects");
        assert_eq!((&told["land"], water_of(&config)), (&json!(false), 13.0));
        let told = import(&config, &name, &file, true).expect("objects and land");
        assert_eq!((&told["land"], water_of(&config)), (&json!(true), 12.0));
    }

    #[test]
    fn an_export_without_damaged_objects_has_to_be_ordered_and_names_them() {
        let data = tempfile::tempdir().expect("a directory");
        let mut config = Config::default();
        config.server.data = data.path().to_owned();
        let name = config.region[0].name.clone();
        let full = data.path().join("full.region");
        write_region(&full);
        import(&config, &name, &full, false).expect("three prims");
        let open = || StoredWorld::open(&config, &name).expect("a database");
        let (damaged, before) = {
            let StoredWorld { keeper, store, .. } = open();
            let stored = store.read_region(keeper.region).expect("a region");
            let (last, _) = stored.bodies.iter().last().expect("three prims");
            let mut bodies = ObjectRows::default();
            bodies.push(last, b"damaged");
            let row = stored.row.expect("it was saved");
            let changes = RegionChanges { row, bodies, ..RegionChanges::default() };
            store.save_region(keeper.region, &changes).expect("a store");
            (last, store.read_region(keeper.region).expect("a region"))
        };
        let file = data.path().join("harbour.region");
        let told = export(&config, &name, &file, false).expect_err("an object would be missing").to_string();
        assert!(told.contains(&format!("object {} \"Prim 2\": ", damaged.0)), "{told}");
        assert!(!file.exists());
        let told = export(&config, &name, &file, true).expect("a file");
        let found = told["damaged"].as_array().expect("a list");
        assert_eq!(
            (found.len(), &found[0]["id"], &told["prims"]),
            (1, &json!(damaged.0), &json!(2)),
            "{told}"
        );
        let StoredWorld { keeper, store, .. } = open();
        assert_eq!(store.read_region(keeper.region).expect("a region"), before, "nothing is set aside");
    }
}
