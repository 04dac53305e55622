//! Damaged rows of objects: whatever a region is loaded from, a world accepts the rest, and each object is there or named.
//!
//! An input is one value after the other, each with two bytes for its length, low byte first: body and state of an object in turn. An empty one is a
//! missing row.
#![no_main]

use ids::{Epoch, LocalId, Uuid, WorldId};
use keeper::{Keeper, KeeperConfig, NewLand, RegionIds};
use libfuzzer_sys::fuzz_target;
use link::{Estate, ObjectPage, Terrain};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use store::StoredRegion;
use world::{World, WorldConfig};

const FIRST: u32 = 1 << 20;

static GROUND: LazyLock<Arc<Terrain>> = LazyLock::new(|| Arc::new(Terrain::flat(256, 21.0)));

fuzz_target!(|bytes: &[u8]| {
    let (mut stored, mut rest, mut with_rows) = (StoredRegion::default(), bytes, BTreeSet::new());
    for n in 0.. {
        let Some((value, behind)) = split(rest) else { break };
        rest = behind;
        if value.is_empty() {
            continue;
        }
        let id = LocalId(FIRST + n / 2);
        with_rows.insert(id);
        if n % 2 == 0 { stored.bodies.push(id, value) } else { stored.states.push(id, value) }
    }
    let kept = FIRST..FIRST + (1 << 19);
    let ids = RegionIds { temporary: kept.end..kept.end + (1 << 17), kept };
    let (save, moving_bytes_per_s) = (Duration::from_millis(250), 0);
    let estate = Estate::new("Estate", None, 20.0);
    let config = KeeperConfig {
        region: WorldId(1),
        name: "Harbour".into(),
        former_name: None,
        land: NewLand { terrain: Arc::clone(&GROUND), estate, now_s: 0 },
        ids,
        save,
        moving_bytes_per_s,
        unix_start_s: 0,
    };
    let Ok((_, region)) = Keeper::load(&config, &stored, Uuid::nil()) else { return };
    let there = region.objects.pages.iter().flat_map(ObjectPage::prims).map(|(id, ..)| id);
    let named: BTreeSet<LocalId> = there.chain(region.damaged.iter().map(|object| object.id)).collect();
    assert_eq!(named, with_rows, "each is there or named");
    let config = WorldConfig {
        id: WorldId(1),
        epoch: Epoch(0),
        size_m: 256,
        local_ids: FIRST..2 << 20,
        terrain: Arc::clone(&GROUND),
        scenery: Arc::default(),
        objects: Some(region.objects),
        land: None,
        cast: None,
        water_m: 20.0,
        max_avatars: 10,
        seed: 1,
    };
    // It accepts them.
    let _world = World::new(config);
});

/// A value with its length before it, and the bytes behind it.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u16::from_le_bytes(*len).into())
}
