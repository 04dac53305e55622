//! A damaged snapshot: a world that restores can also be stepped. (With `cfg(fuzzing)` the checksum is not compared, so
//! the input is magic, version, eight bytes of anything, and the body.)
#![no_main]

use ids::{Epoch, Tick, WorldId};
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use world::{Frame, Terrain, World, WorldConfig};

static TERRAIN: LazyLock<Arc<Terrain>> = LazyLock::new(|| Arc::new(Terrain::flat(256, 21.0)));

fuzz_target!(|bytes: &[u8]| {
    let config = WorldConfig {
        id: WorldId(0),
        epoch: Epoch(0),
        size_m: 256,
        local_ids: 1..1_000_000,
        terrain: TERRAIN.clone(),
        scenery: Arc::default(),
        cast: None,
        water_m: 20.0,
        max_avatars: 100,
        seed: 1,
    };
    let Ok(mut world) = World::restore(config, bytes) else { return };
    world.step(Tick(1), Duration::from_millis(50), 1.0, &mut Vec::new(), &mut Frame::empty());
});
