//! Settings of the keepers of configured regions, and the land that these begin with.

use crate::config::{Config, RegionSection};
use ids::{AgentId, Ticket, WorldId};
use keeper::{KeeperConfig, NewLand, RegionIds};
use link::{Estate, Terrain, kept_object_ids, shared_local_ids, temporary_object_ids};
use std::sync::Arc;
use std::time::Duration;
use store::StoredRegion;

/// Name of the estate of a new region.
const ESTATE_NAME: &str = "My Estate";

/// True if the database has nothing of a region, which begins with its content then.
pub(crate) fn is_new(stored: &StoredRegion) -> bool {
    stored.row.is_none()
        && stored.bodies.is_empty()
        && stored.states.is_empty()
        && stored.damages.is_empty()
        && stored.rebuilt.is_empty()
        && stored.last_held == Ticket(0)
}

/// Land of a region that has none: one parcel of the estate, over the described ground.
pub(crate) fn new_land(
    region: &RegionSection,
    terrain: &Arc<Terrain>,
    owner: Option<AgentId>,
    now_s: u64,
) -> NewLand {
    let estate = Estate::new(ESTATE_NAME, owner, region.water_m);
    NewLand { terrain: Arc::clone(terrain), estate, now_s }
}

/// Settings of the keeper of a configured region, which gets `land` if it has none. `now_s` is the time when the node's clock is zero.
pub(crate) fn keeper_config(
    config: &Config,
    (world, region): (WorldId, &RegionSection),
    land: NewLand,
    now_s: u64,
) -> KeeperConfig {
    let all = shared_local_ids(world);
    KeeperConfig {
        region: world,
        name: region.name.clone(),
        former_name: Some(region.former_name.trim().to_owned()).filter(|name| !name.is_empty()),
        land,
        ids: RegionIds { kept: kept_object_ids(&all), temporary: temporary_object_ids(&all) },
        save: Duration::from_millis(config.store.save_ms.into()),
        moving_bytes_per_s: config.store.moving_bytes_per_s.into(),
        unix_start_s: now_s.cast_signed(),
    }
}
