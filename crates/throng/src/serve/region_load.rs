//! Objects and land of the regions as the database has them at the start, or as they are new.

use super::ServeError;
use crate::config::{Config, RegionSection, parts};
use crate::configured::{RegionGround, is_new, keeper_config, new_land};
use content_threads::content::{self, ContentStores};
use grid::names::Name;
use ids::{AgentId, Uuid, WorldId};
use keeper::{Keeper, LoadError, LoadedRegion};
use link::StoredObjects;
use region_threads::keepers::RegionRoom;
use store::{Store, StoreError};

/// A region as it was read, with its keeper.
pub(super) struct KeptWorld {
    pub(super) world: WorldId,
    pub(super) keeper: Keeper,
    pub(super) room: RegionRoom,
    pub(super) region: LoadedRegion,
}

/// Gives back what was on its way into regions when the server ended. These are the first calls into the database.
pub(super) fn release(store: &Store) -> Result<(), ServeError> {
    // Held objects that were on their way have not come into a region: the save that brings one in takes its mark away with it.
    let n_released = mending(store, || store.release_all_held())?;
    if n_released > 0 {
        tracing::info!(n_released, "held objects were on their way into regions and are held again");
    }
    let n_released = mending(store, || store.release_all_marks())?;
    if n_released > 0 {
        tracing::info!(n_released, "items were on their way into regions and are in their inventories");
    }
    Ok(())
}

/// Reads objects and land of all regions, whose described grounds are `grounds`. Damaged rows are named in the log, and set aside by the keeper's first
/// save; the others are there. A region that was never saved begins with its content.
///
/// # Errors
/// If the database or content cannot be read, a region was written by a later build or under another name, or the owner of an estate has no account.
pub(super) fn load(
    config: &Config,
    grounds: &[RegionGround],
    stores: ContentStores<'_>,
    now_s: u64,
) -> Result<Vec<KeptWorld>, ServeError> {
    let ContentStores { store, .. } = stores;
    let full = mending(store, || store.full_owners(config.store.held_per_user_max))?;
    let load = |((index, region), (ground, _)): ((usize, &RegionSection), &RegionGround)| {
        let world = region.world(index);
        let land = new_land(region, &ground.terrain, estate_owner(region, store)?, now_s);
        let keeper = keeper_config(config, (world, region), land, now_s);
        let fresh = random_id()?;
        let mut stored = store.region_objects(world)?;
        if is_new(&stored) {
            let failed = |why: content::ContentError| ServeError::Content {
                name: region.name.clone(),
                source: why.into(),
            };
            if let Some(changes) =
                content::rows(&parts::region_content(region), &keeper, fresh, stores).map_err(failed)?
            {
                store.save_region(world, &changes)?;
                stored = store.region_objects(world)?;
                tracing::info!(
                    region = region.name,
                    objects = stored.bodies.len(),
                    "a region begins with content"
                );
            }
        }
        let failed = |source| match source {
            LoadError::OtherName { number, found } => {
                ServeError::OtherRegion { name: region.name.clone(), number, found }
            }
            source => ServeError::Region { name: region.name.clone(), source },
        };
        let (keeper, mut loaded) = Keeper::load(&keeper, &stored, fresh).map_err(failed)?;
        loaded.objects.transfers.full.clone_from(&full);
        loaded.objects.version_floor = StoredObjects::floor_at(now_s);
        for table in &stored.rebuilt {
            tracing::error!(region = region.name, %table, "pages of the database were damaged");
        }
        for damage in &stored.damages {
            tracing::error!(region = region.name, %damage, "a damaged row is left out and set aside");
        }
        for damaged in &loaded.damaged {
            let name = damaged.name.as_deref().unwrap_or("without a name");
            tracing::error!(
                region = region.name,
                object = damaged.id.0,
                name,
                why = damaged.why,
                "an object cannot be read"
            );
        }
        for damaged in &loaded.damaged_land {
            let name = damaged.name.as_deref().unwrap_or("without a name");
            tracing::error!(
                region = region.name,
                row = %damaged.key,
                name,
                why = damaged.why,
                "a part of the land cannot be read and is replaced"
            );
        }
        let room = RegionRoom {
            name: region.name.clone(),
            objects_max: region.max_objects,
            physical_max: region.max_physical,
        };
        Ok(KeptWorld { world, keeper, room, region: loaded })
    };
    config.region.iter().enumerate().zip(grounds).map(load).collect()
}

/// Makes one of the first calls into the database, also if pages of it are damaged.
fn mending<T>(store: &Store, call: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    store.with_rebuild(call, |table| tracing::error!(%table, "pages of the database were damaged"))
}

/// Account of the owner that a region's estate begins with, if one is configured.
fn estate_owner(region: &RegionSection, store: &Store) -> Result<Option<AgentId>, ServeError> {
    let owner = region.estate_owner.trim();
    if owner.is_empty() {
        return Ok(None);
    }
    let account = match Name::parse(owner, "") {
        Ok(Name { first, last }) => store.account_by_name(&first, &last)?,
        Err(_) => None,
    };
    let unknown = || ServeError::NoEstateOwner { region: region.name.clone(), owner: owner.to_owned() };
    account.map(|account| Some(account.agent)).ok_or_else(unknown)
}

/// A random id.
pub(super) fn random_id() -> Result<Uuid, ServeError> {
    let [high, low] = [getrandom::u64(), getrandom::u64()];
    Ok(Uuid::from_u64_pair(high.map_err(ServeError::Random)?, low.map_err(ServeError::Random)?))
}

/// Cache ids of the places' regions, in their order.
pub(super) fn cache_ids(kept: &[KeptWorld]) -> Vec<Uuid> {
    kept.iter().map(|kept| kept.region.cache_id).collect()
}
