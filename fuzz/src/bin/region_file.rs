//! Damaged files of regions: whatever is read can be written, and a world accepts it. (With `cfg(fuzzing)` checksums are not compared.)
#![no_main]

use ids::{Epoch, WorldId};
use keeper::region_file::RegionFile;
use keeper::{RegionIds, region_file};
use libfuzzer_sys::fuzz_target;
use link::Terrain;
use std::sync::{Arc, LazyLock};
use world::{World, WorldConfig};

static GROUND: LazyLock<Arc<Terrain>> = LazyLock::new(|| Arc::new(Terrain::flat(256, 21.0)));

fuzz_target!(|bytes: &[u8]| {
    let kept = 1 << 20..(1 << 20) + (1 << 19);
    let ids = RegionIds { temporary: kept.end..kept.end + (1 << 17), kept };
    let Ok(file) = region_file::read(&mut &bytes[..], &ids.kept) else { return };
    // Land is written for a ground, and has tests of its own.
    let file = RegionFile { land: None, ..file };
    let mut written = Vec::new();
    region_file::write(&mut written, &file.about, &file.objects, None, &ids)
        .expect("memory takes whatever is written");
    let again = region_file::read(&mut &written[..], &ids.kept).expect("its own file");
    assert_eq!(again, file);
    let config = WorldConfig {
        id: WorldId(1),
        epoch: Epoch(0),
        size_m: 256,
        local_ids: 1 << 20..2 << 20,
        terrain: Arc::clone(&GROUND),
        scenery: Arc::default(),
        objects: Some(file.objects),
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: 10,
        seed: 1,
    };
    assert!(World::try_new(config).is_some(), "a world accepts it");
});
