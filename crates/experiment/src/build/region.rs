//! Objects of a region in a data directory: written before a server starts and read after it has ended, by the code of its keeper.

use super::content::Content;
use crate::error::ExperimentError;
use crate::server::REGION;
use bots::builder::PrimState;
use bots::prims::textures_of;
use ids::{Instant, LocalId, Uuid, WorldId};
use keeper::region_file::{self, RegionAbout};
use keeper::{Following, Keeper, KeeperConfig, NewLand, RegionIds};
use link::{
    Estate, Frame, ObjectChange, ObjectPage, PrimMotion, RestingIds, StoredObjects, Terrain, index_in_page,
    kept_object_ids, page_of, shared_local_ids, temporary_object_ids,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{Store, StoreUrl, StoredRegion};

/// The first region of a configuration.
const WORLD: WorldId = WorldId(1);
/// Name of the clients' caches of a generated region.
const CACHE_ID: Uuid = Uuid::from_u128(0x6275_696c_6400_4000_8000_0000_0000_0001);
const SAVE: Duration = Duration::from_millis(250);

/// Local ids of kept objects of the region.
pub(super) fn kept_ids() -> Range<u32> {
    kept_object_ids(&shared_local_ids(WORLD))
}

fn config() -> KeeperConfig {
    let all = shared_local_ids(WORLD);
    let ids = RegionIds { kept: kept_object_ids(&all), temporary: temporary_object_ids(&all) };
    // No frame here has land, so that none is saved.
    let terrain = Arc::new(Terrain::flat(256, 21.0));
    KeeperConfig {
        region: WORLD,
        name: REGION.into(),
        former_name: None,
        land: NewLand { terrain, estate: Estate::new("Estate", None, 20.0), now_s: 0 },
        ids,
        save: SAVE,
        moving_bytes_per_s: 1 << 20,
        unix_start_s: 0,
    }
}

fn failed(reason: impl ToString) -> ExperimentError {
    ExperimentError::Region { reason: reason.to_string() }
}

fn open(data: &Path) -> Result<Store, ExperimentError> {
    Store::open(&StoreUrl::of_directory(data)).map_err(failed)
}

/// Puts content into the database of a data directory that no server has used yet.
pub(super) fn fill(data: &Path, content: &Content) -> Result<(), ExperimentError> {
    let store = open(data)?;
    let (mut keeper, _) = Keeper::load(&config(), &StoredRegion::default(), CACHE_ID).map_err(failed)?;
    let frame = Frame { objects: vec![ObjectChange::Pages(content.pages())], ..Frame::empty() };
    let followed = keeper.handle_frame(Instant::ZERO, &frame);
    assert_eq!(followed, Following::Current, "the first frame of a region has all of its objects");
    let batch = keeper.poll_batch(Instant::ZERO + SAVE).expect("all objects are new");
    store.save_region(WORLD, &batch.changes).map(drop).map_err(failed)
}

/// Changes a region as users would while a viewer is away: of the prims that stand alone, every tenth is moved and every tenth is removed.
pub(super) fn change_some(data: &Path) -> Result<(), ExperimentError> {
    let store = open(data)?;
    let stored = store.region_objects(WORLD).map_err(failed)?;
    let (mut keeper, loaded) = Keeper::load(&config(), &stored, CACHE_ID).map_err(failed)?;
    let mut pages = loaded.objects.pages;
    let parents: BTreeSet<LocalId> =
        pages.iter().flat_map(ObjectPage::prims).map(|(_, prim, _)| prim.parent).collect();
    let is_alone = |id: LocalId, prim: &PrimMotion| prim.parent == LocalId(0) && !parents.contains(&id);
    let alone = pages.iter().flat_map(ObjectPage::prims).filter(|(id, prim, _)| is_alone(*id, prim));
    let alone: Vec<LocalId> = alone.map(|(id, ..)| id).collect();
    for (n, id) in (0_usize..).zip(alone) {
        let page = pages.iter_mut().find(|page| page.first == page_of(id)).expect("the page of a prim");
        let (motions, bodies) = (Arc::make_mut(&mut page.motions), Arc::make_mut(&mut page.bodies));
        let at = index_in_page(id);
        match n % 10 {
            0 => {
                motions[at].motion.position.z += 0.5;
                if let Some(versioned) = &mut bodies[at] {
                    versioned.version += 1;
                }
            }
            5 => {
                motions[at] = PrimMotion::NONE;
                bodies[at] = None;
            }
            _ => {}
        }
    }
    let frame = Frame { objects: vec![ObjectChange::Pages(pages)], ..Frame::empty() };
    keeper.handle_frame(Instant::ZERO, &frame);
    let batch = keeper.poll_batch(Instant::ZERO + SAVE).expect("some objects have changed");
    store.save_region(WORLD, &batch.changes).map(drop).map_err(failed)
}

/// Writes content as a region file.
pub(super) fn write_file(path: &Path, content: &Content) -> Result<(), ExperimentError> {
    let KeeperConfig { ids, .. } = config();
    let kept = RestingIds { n_used: content.n_prims(), resting: Vec::new() };
    let objects = StoredObjects { pages: content.pages(), kept, ..StoredObjects::default() };
    let about =
        RegionAbout { name: "Generated".to_owned(), size_m: 256, build: String::new(), exported_s: 0 };
    let written = File::create(path).map(BufWriter::new).and_then(|mut out| {
        region_file::write(&mut out, &about, &objects, None, &ids)?;
        out.flush()
    });
    written.map_err(|source| ExperimentError::File { path: path.to_owned(), source })
}

/// A prim as it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SavedPrim {
    pub(super) state: PrimState,
    /// Checksum of its version, as clients are shown it.
    pub(super) crc: u32,
}

/// A region as it is stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SavedRegion {
    pub(super) prims: BTreeMap<LocalId, SavedPrim>,
    /// Damaged rows and objects, and the number of prims that were relinked because of them, in sentences.
    pub(super) damages: Vec<String>,
}

/// Reads the region of a data directory whose server has ended.
pub(super) fn read(data: &Path) -> Result<SavedRegion, ExperimentError> {
    let stored = open(data)?.region_objects(WORLD).map_err(failed)?;
    let (_, loaded) = Keeper::load(&config(), &stored, CACHE_ID).map_err(failed)?;
    let rebuilt = stored.rebuilt.iter().map(ToString::to_string);
    let damages = rebuilt.chain(stored.damages.iter().map(ToString::to_string));
    let damaged = loaded.damaged.iter().map(|damaged| format!("object {}: {}", damaged.id.0, damaged.why));
    let mended =
        (loaded.n_mended > 0).then(|| format!("{} prims lack others of their linksets", loaded.n_mended));
    Ok(SavedRegion {
        damages: damages.chain(damaged).chain(mended).collect(),
        prims: loaded.objects.pages.iter().flat_map(saved_prims).collect(),
    })
}

fn saved_prims(page: &ObjectPage) -> impl Iterator<Item = (LocalId, SavedPrim)> {
    page.prims().map(|(id, prim, versioned)| {
        let state = PrimState {
            position: prim.motion.position,
            scale: versioned.body.scale,
            parent: prim.parent,
            textures: textures_of(&versioned.body.texture_entry),
        };
        (id, SavedPrim { state, crc: versioned.crc() })
    })
}

/// Number of objects that are durable in a data directory, while its server runs.
pub(super) struct DurableCount(Store);

impl DurableCount {
    /// Opens the database beside its server.
    pub(super) fn open(data: &Path) -> Result<Self, ExperimentError> {
        open(data).map(Self)
    }

    pub(super) fn count(&self) -> Result<u64, ExperimentError> {
        self.0.count_region_objects(WORLD).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_file_has_all_of_the_content() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("region");
        let content = Content::generate(700, 1, &kept_ids());
        write_file(&path, &content).expect("room");
        let bytes = std::fs::read(&path).expect("the file");
        let file = region_file::read(&mut &bytes[..], &kept_ids()).expect("a region file");
        assert_eq!(file.objects.pages, content.pages());
    }

    #[test]
    fn content_is_read_as_it_was_put_into_a_directory() {
        let data = tempfile::tempdir().expect("a directory");
        let content = Content::generate(700, 1, &kept_ids());
        fill(data.path(), &content).expect("a new database");
        assert_eq!(DurableCount::open(data.path()).unwrap().count().unwrap(), 700);
        let saved = read(data.path()).expect("the region");
        assert_eq!(saved.damages, Vec::<String>::new());
        let expected = content.pages();
        assert_eq!(saved.prims, expected.iter().flat_map(saved_prims).collect());

        change_some(data.path()).expect("the same database");
        let changed = read(data.path()).expect("the region");
        let n_gone = saved.prims.keys().filter(|id| !changed.prims.contains_key(id)).count();
        let n_other = changed.prims.iter().filter(|(id, prim)| prim.crc != saved.prims[*id].crc).count();
        assert!(n_gone > 0 && n_other > 0, "{n_gone}, {n_other}");
        assert_eq!(changed.prims.len() + n_gone, 700);
        assert_eq!(changed.damages, Vec::<String>::new());
    }
}
