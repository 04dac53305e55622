//! The parts of the server that the handlers use.

use super::answers::RegionRefusal;
use super::claims::RestoreClaims;
use crate::instances::Owners;
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
use workplace::restarts::RestartOrders;
use workplace::worlds::WorldsView;
use workplace::{Clock, opaque_debug};

/// Settings of one region.
#[derive(Debug)]
pub struct RegionSettings {
    /// Those of its keeper.
    pub keeper: KeeperConfig,
    /// Prims that it may have.
    pub objects_max: u32,
}

/// State behind the routes.
pub struct Regions {
    /// The regions.
    pub places: Arc<Places>,
    /// Their settings.
    pub settings: BTreeMap<WorldId, RegionSettings>,
    /// Names of owners.
    pub owners: Owners,
    /// Accounts, rows of regions, held objects.
    pub store: Arc<Store>,
    /// Way of commands to their objects.
    pub node_edits: Arc<NodeEdits>,
    /// Way of orders to save them.
    pub orders: SaveOrders,
    /// Way of held objects into them.
    pub restores: RestoreOrders,
    /// Held objects that are on that way.
    pub restoring: RestoreClaims,
    /// State of their saves.
    pub saves: Arc<KeeperStatus>,
    /// Numbers of their worlds.
    pub worlds: WorldsView,
    /// Their parcels.
    pub parcels: Arc<ParcelMaps>,
    /// Way of orders to their land.
    pub land: Arc<LandOrders>,
    /// Way of orders to restart them.
    pub restarts: RestartOrders,
    /// The sessions, for alerts.
    pub sessions: Arc<Sessions>,
    /// The clock of the process.
    pub clock: Clock,
    /// Time when that was zero, seconds since 1970.
    pub unix_start_s: u64,
    /// Folder of region files.
    pub folder: PathBuf,
}

opaque_debug!(Regions);

impl Regions {
    /// Runs slow work off the async workers.
    ///
    /// # Errors
    /// Those of the work.
    pub async fn blocking<R: Send + 'static>(
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

    /// An account that exists, by "First Last" or by id.
    ///
    /// # Errors
    /// There is no such account, or the database does not answer.
    pub fn account(&self, text: &str) -> Result<AgentId, RegionRefusal> {
        let agent = self.user(text)?;
        let account = self.store.account(agent).map_err(|error| {
            RegionRefusal::unavailable(format!("The account cannot be looked up just now: {error}."))
        })?;
        account
            .map(|account| account.agent)
            .ok_or_else(|| RegionRefusal::absent(format!("There is no account {text:?}.")))
    }
}
