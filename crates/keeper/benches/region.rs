//! Time of a region's first save, of a start, and of its file.
//!
//! `cargo bench -p keeper --bench region` measures 45,000 prims in an SQLite file in the directory of temporary files; `cargo test` runs the same
//! with a few. Goal: to see the parts of a start and of a save. Not a goal: to promise anything, so nothing is asserted but that the region is the
//! same.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock and prints"
)]

use glam::{Quat, Vec3};
use ids::{AgentId, Epoch, Instant, LocalId, Tick, Uuid, WorldId};
use keeper::region_file::{self, RegionAbout};
use keeper::{Following, Keeper, KeeperConfig, LoadedRegion, NewLand, RegionIds};
use link::{
    Estate, Frame, Motion, ObjectChange, ObjectPage, PrimMotion, StoredObjects, Terrain, VersionedBody,
    index_in_page, page_of,
};
use prim::{Body, Names, Ownership, Permissions, Shape};
use std::sync::Arc;
use std::time::Duration;
use store::{Store, StoreUrl};
use world::{World, WorldConfig};

const REGION: WorldId = WorldId(1);
const FIRST: u32 = 1 << 20;
const SAVE: Duration = Duration::from_millis(250);
const TICK: Duration = Duration::from_millis(50);

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (n_prims, rounds) = if full { (45_000, 7) } else { (500, 1) };
    let pages = pages(n_prims);
    let mut times = Times::default();
    for _ in 0..rounds {
        run(&pages, &mut times);
    }
    println!("{n_prims} prims; milliseconds");
    println!("{:<44} {:>9} {:>9}", "", "median", "max");
    for (what, mut ms) in times.0 {
        ms.sort_unstable_by(f64::total_cmp);
        println!("{what:<44} {:>9.2} {:>9.2}", ms[ms.len() / 2], ms[ms.len() - 1]);
    }
}

/// Times of each part, one per round.
#[derive(Default)]
struct Times(Vec<(&'static str, Vec<f64>)>);

impl Times {
    fn measure<T>(&mut self, what: &'static str, act: impl FnOnce() -> T) -> T {
        let began = std::time::Instant::now();
        let result = act();
        let ms = began.elapsed().as_secs_f64() * 1e3;
        match self.0.iter_mut().find(|(name, _)| *name == what) {
            Some((_, times)) => times.push(ms),
            None => self.0.push((what, vec![ms])),
        }
        result
    }
}

fn run(pages: &[ObjectPage], times: &mut Times) {
    let directory = tempfile::tempdir().expect("a directory");
    let url = StoreUrl::of_directory(directory.path());
    let store = Store::open(&url).expect("a new file");
    let load = |stored| Keeper::load(&config(), &stored, Uuid::nil()).expect("of this build");
    let (mut keeper, _) = load(store.region_objects(REGION).expect("an empty region"));

    // All objects at once, as after an import; then a tenth of them is moved.
    let first = frame(0, vec![ObjectChange::Pages(pages.to_vec())]);
    let followed = times.measure("frame with all prims", || keeper.handle_frame(Instant::ZERO, &first));
    assert_eq!(followed, Following::Current);
    let batch = times.measure("batch of all prims", || keeper.poll_batch(Instant::ZERO + SAVE)).expect("due");
    times.measure("save of all prims", || store.save_region(REGION, &batch.changes)).expect("saved");
    times.measure("outcome", || keeper.handle_saved(Instant::ZERO + SAVE, batch.id, true));
    let tenth = pages.iter().flat_map(ObjectPage::prims).step_by(10);
    let moved = tenth.map(|(id, place, _)| ObjectChange::Moved(id, moved(place)));
    let second = frame(1, moved.collect());
    keeper.handle_frame(Instant::ZERO + SAVE, &second);
    let batch = times
        .measure("batch of a tenth, moved", || keeper.poll_batch(Instant::ZERO + 2 * SAVE))
        .expect("due");
    times.measure("save of a tenth, moved", || store.save_region(REGION, &batch.changes)).expect("saved");
    drop(store);

    let store = times.measure("open the database", || Store::open(&url)).expect("the same file");
    let stored = times.measure("read all rows", || store.region_objects(REGION)).expect("the region");
    let (mut keeper, LoadedRegion { objects, .. }) = times.measure("decode all rows", || load(stored));
    let mut world = times.measure("build the world", || world_of(objects.clone()));
    let mut frame = Frame::empty();
    times.measure("first step", || world.step(Tick(0), TICK, 1.0, &mut Vec::new(), &mut frame));
    times.measure("first frame compared with the disk", || keeper.handle_frame(Instant::ZERO, &frame));
    assert_eq!(keeper.n_unsaved(), (0, 0), "the world has the loaded objects");

    let (about, ids, mut file) = (RegionAbout::default(), config().ids, Vec::new());
    times
        .measure("write the file", || region_file::write(&mut file, &about, &objects, None, &ids))
        .expect("memory");
    let read =
        times.measure("read the file", || region_file::read(&mut &file[..], &ids.kept)).expect("a file");
    assert_eq!(read.objects.pages, objects.pages);
}

fn config() -> KeeperConfig {
    let kept = FIRST..FIRST + (1 << 19);
    let ids = RegionIds { temporary: kept.end..kept.end + (1 << 17), kept };
    let terrain = Arc::new(Terrain::flat(256, 21.0));
    let land = NewLand { terrain, estate: Estate::new("Estate", None, 20.0), now_s: 0 };
    let (name, save) = ("Harbour".into(), SAVE);
    KeeperConfig {
        region: REGION,
        name,
        former_name: None,
        land,
        ids,
        save,
        moving_bytes_per_s: 4 << 20,
        unix_start_s: 0,
    }
}

fn frame(sequence: u64, objects: Vec<ObjectChange>) -> Frame {
    Frame { sequence, objects, ..Frame::empty() }
}

fn moved(place: &PrimMotion) -> PrimMotion {
    let motion = Motion { position: place.motion.position + Vec3::X, ..place.motion };
    PrimMotion { motion, ..*place }
}

/// Linksets of ten prims; eight prims have one texture entry, as in archives of real regions.
fn pages(n_prims: u32) -> Vec<ObjectPage> {
    let mut pages: Vec<ObjectPage> = Vec::new();
    for n in 0..n_prims {
        let id = LocalId(FIRST + n);
        if pages.last().is_none_or(|page| page.first != page_of(id)) {
            pages.push(ObjectPage::empty(id));
        }
        let page = pages.last_mut().expect("just pushed");
        Arc::make_mut(&mut page.motions)[index_in_page(id)] = place(n);
        Arc::make_mut(&mut page.bodies)[index_in_page(id)] = Some(body(n));
    }
    pages
}

fn place(n: u32) -> PrimMotion {
    let (root, number) = (n / 10 * 10, (n % 10) as u8);
    let position = Vec3::new((n % 256) as f32, (n / 256 % 256) as f32, 22.0);
    let motion = Motion { position, rotation: Quat::from_rotation_z(n as f32), ..Motion::default() };
    let parent = if number == 0 { LocalId(0) } else { LocalId(FIRST + root) };
    PrimMotion { motion, parent, link_number: number, ..PrimMotion::NONE }
}

fn body(n: u32) -> VersionedBody {
    let id = |n: u32| Uuid::from_u64_pair(state_hash::mix(n.into()), state_hash::mix(!u64::from(n)));
    let texture_entry: Vec<u8> =
        (0..6).flat_map(|face| *id(n / 8 * 8 + face).as_bytes()).chain([0; 24]).collect();
    let plain = Body::new(id(n), Shape::BOX, texture_entry.into(), AgentId(id(1)), 0);
    let ownership =
        Ownership { owner: AgentId(id(n / 1_000)), permissions: Permissions::NEW, ..*plain.ownership };
    let body = Body {
        scale: Vec3::splat(0.5 + (n % 7) as f32),
        names: Names { name: format!("Prim {}", n / 5).into(), ..Names::default() },
        ownership: Arc::new(ownership),
        created_us: 1_700_000_000_000_000 + u64::from(n / 10),
        ..plain
    };
    VersionedBody { version: 1, body: Arc::new(body) }
}

fn world_of(objects: StoredObjects) -> World {
    World::new(WorldConfig {
        id: REGION,
        epoch: Epoch(0),
        size_m: 256,
        local_ids: FIRST..2 << 20,
        terrain: Arc::new(Terrain::flat(256, 21.0)),
        scenery: Arc::default(),
        objects: Some(objects),
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: 100,
        seed: 1,
    })
}
