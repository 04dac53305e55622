//! A region for tests.

use ids::WorldId;
use keeper::{KeeperConfig, NewLand, RegionIds};
use link::{Estate, Terrain, kept_object_ids, shared_local_ids, temporary_object_ids};
use std::sync::Arc;
use std::time::Duration;

/// Settings of the keeper of a new region of 256 m.
pub(crate) fn keeper_config() -> KeeperConfig {
    let region = WorldId(1);
    let all = shared_local_ids(region);
    let terrain = Arc::new(Terrain::flat(256, 21.0));
    KeeperConfig {
        region,
        name: "Harbour".into(),
        former_name: None,
        land: NewLand { terrain, estate: Estate::new("My Estate", None, 20.0), now_s: 0 },
        ids: RegionIds { kept: kept_object_ids(&all), temporary: temporary_object_ids(&all) },
        save: Duration::from_millis(250),
        moving_bytes_per_s: 4 << 20,
        unix_start_s: 0,
    }
}
