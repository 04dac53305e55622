//! The parts of the server that the handlers use.

use super::answers::RegionRefusal;
use super::claims::RestoreClaims;
use crate::serve::instances::Owners;
use gateway::places::{Place, Places};
use gateway::sessions::Sessions;
use grid::names::Name;
use ids::{AgentId, Uuid, WorldId};
use keeper::KeeperConfig;
use region_threads::keepers::{KeeperStatus, RestoreOrders, SaveOrders};
use region_threads::land_orders::LandOrders;
use region_threads::node_edits::NodeEdits;
use region_threads::parcels::ParcelMaps;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use store::Store;
use telemetry::recorder::frame_end;
use workplace::Clock;
use workplace::restarts::RestartOrders;
use workplace::worlds::WorldsView;

/// Settings of one region.
pub(in crate::serve) struct RegionSettings {
    /// Those of its keeper.
    pub(in crate::serve) keeper: KeeperConfig,
    /// Prims that it may have.
    pub(in crate::serve) objects_max: u32,
}

/// State behind the routes.
pub(in crate::serve) struct Regions {
    pub(in crate::serve) places: Arc<Places>,
    pub(in crate::serve) settings: BTreeMap<WorldId, RegionSettings>,
    pub(in crate::serve) owners: Owners,
    pub(in crate::serve) store: Arc<Store>,
    pub(in crate::serve) node_edits: Arc<NodeEdits>,
    pub(in crate::serve) orders: SaveOrders,
    pub(in crate::serve) restores: RestoreOrders,
    pub(in crate::serve) restoring: RestoreClaims,
    pub(in crate::serve) saves: Arc<KeeperStatus>,
    pub(in crate::serve) worlds: WorldsView,
    pub(in crate::serve) parcels: Arc<ParcelMaps>,
    pub(in crate::serve) land: Arc<LandOrders>,
    pub(in crate::serve) restarts: RestartOrders,
    pub(in crate::serve) sessions: Arc<Sessions>,
    pub(in crate::serve) clock: Clock,
    pub(in crate::serve) unix_start_s: u64,
    /// Folder of region files.
    pub(in crate::serve) folder: PathBuf,
}

impl Regions {
    /// Runs slow work off the async workers.
    pub(super) async fn blocking<R: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<R, RegionRefusal> + Send + 'static,
    ) -> Result<R, RegionRefusal> {
        let regions = Arc::clone(self);
        let recorded = move || {
            let done = work(&regions);
            // The runtime marks idle time of its workers, but not of these threads.
            frame_end();
            done
        };
        let done = tokio::task::spawn_blocking(recorded).await;
        done.expect("blocking work does not panic and is not cancelled")
    }

    /// The region with this name, in any capitals.
    pub(super) fn region(&self, name: &str) -> Result<&Arc<Place>, RegionRefusal> {
        let found = self.places.iter().find(|place| place.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let names: Vec<&str> = self.places.iter().map(|place| place.name()).collect();
            RegionRefusal::absent(format!("There is no region {name:?}; there are: {}.", names.join(", ")))
        })
    }

    /// Settings of a region.
    pub(super) fn settings(&self, world: WorldId) -> &RegionSettings {
        self.settings.get(&world).expect("a region has settings")
    }

    /// Account of a user, by "First Last" or by id. An id need not be that of an account: objects may have come with a file.
    pub(super) fn user(&self, text: &str) -> Result<AgentId, RegionRefusal> {
        if let Ok(id) = text.parse::<Uuid>() {
            return Ok(AgentId(id));
        }
        let unknown = || RegionRefusal::absent(format!("There is no account {text:?}."));
        let Name { first, last } = Name::parse(text, "").map_err(|_| unknown())?;
        let account = self.store.account_by_name(&first, &last);
        let account = account.map_err(|error| {
            RegionRefusal::unavailable(format!("The name cannot be looked up just now: {error}."))
        })?;
        account.map(|account| account.agent).ok_or_else(unknown)
    }

    /// The same for an account that exists.
    pub(super) fn account(&self, text: &str) -> Result<AgentId, RegionRefusal> {
        let agent = self.user(text)?;
        let account = self.store.account(agent).map_err(|error| {
            RegionRefusal::unavailable(format!("The account cannot be looked up just now: {error}."))
        })?;
        account
            .map(|account| account.agent)
            .ok_or_else(|| RegionRefusal::absent(format!("There is no account {text:?}.")))
    }
}
