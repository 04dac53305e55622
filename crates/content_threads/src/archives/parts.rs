//! The parts of the server that loads and saves of archives use.

use super::steps::ArchiveFailure;
use data_dir::path_below;
use gateway::places::{Place, Places};
use grid::asset_sources::AssetSources;
use grid::names::Name;
use ids::{AgentId, Uuid, WorldId};
use keeper::KeeperConfig;
use region_threads::keepers::{SaveHolds, SaveOrders, SavedFrame};
use region_threads::land_orders::LandOrders;
use region_threads::node_edits::NodeEdits;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::{Store, StoreError};
use tokio::runtime::Handle;
use workplace::Clock;

/// Archives name owners, and have texts of theirs.
const PRIVATE_DIR: u32 = 0o700;
/// Time for a region to be saved.
const SAVE_PATIENCE: Duration = Duration::from_secs(120);
/// Accounts whose names or existence are kept during one job.
const ACCOUNTS_MAX: usize = 100_000;

/// Settings of one region.
#[derive(Debug)]
pub struct ArchiveRegion {
    /// Settings of its keeper.
    pub keeper: KeeperConfig,
    /// Prims that it may have.
    pub objects_max: u32,
    /// Prims of these that physics moves.
    pub physical_max: u32,
}

/// The parts.
pub struct ArchiveParts {
    /// The regions.
    pub places: Arc<Places>,
    /// Their settings.
    pub regions: BTreeMap<WorldId, ArchiveRegion>,
    /// The database.
    pub store: Arc<Store>,
    /// The assets.
    pub assets: Arc<AssetSources>,
    /// Way of commands to their objects.
    pub node_edits: Arc<NodeEdits>,
    /// Way of orders to their land.
    pub land: Arc<LandOrders>,
    /// Way of orders to save them.
    pub saves: SaveOrders,
    /// Way of holds on their saves.
    pub holds: SaveHolds,
    /// Folder of the archives, so that a token opens no other file of the machine.
    pub folder: PathBuf,
    /// Runtime of waits for worlds, on the thread of a job.
    pub runtime: Handle,
    /// The clock of the process.
    pub clock: Clock,
    /// Time when that was zero, seconds since 1970.
    pub unix_start_s: u64,
}

impl fmt::Debug for ArchiveParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveParts").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl ArchiveParts {
    /// The region with this name, in any capitals.
    pub(super) fn region(&self, name: &str) -> Result<&Arc<Place>, String> {
        let found = self.places.iter().find(|place| place.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let names: Vec<&str> = self.places.iter().map(|place| place.name()).collect();
            format!("There is no region {name:?}; there are: {}.", names.join(", "))
        })
    }

    /// Settings of a region.
    pub(super) fn settings(&self, world: WorldId) -> &ArchiveRegion {
        self.regions.get(&world).expect("a region has settings")
    }

    /// The path of an archive by its name, in the folder of archives.
    pub(super) fn path(&self, file: &Path) -> Result<PathBuf, String> {
        path_below(&self.folder, file)
    }

    /// Makes the folder of archives.
    pub(super) fn make_folder(&self) -> Result<(), ArchiveFailure> {
        let made = DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(&self.folder);
        let unmade = |error| format!("{} cannot be made: {error}", self.folder.display());
        made.map_err(|error| ArchiveFailure::new(unmade(error)))
    }

    /// Opens an archive for reading.
    pub(super) fn open(&self, path: &Path) -> Result<File, ArchiveFailure> {
        let unread = |error| ArchiveFailure::new(format!("{} cannot be read: {error}", path.display()));
        let file = File::open(path).map_err(unread)?;
        if file.metadata().map_err(unread)?.is_file() {
            Ok(file)
        } else {
            Err(ArchiveFailure::new(format!("{} is not a file", path.display())))
        }
    }

    /// Time, seconds since 1970.
    pub(super) fn now_s(&self) -> u64 {
        self.unix_start_s + (self.clock)().0 / 1_000_000_000
    }

    /// Orders a save of a region, and waits for it.
    pub(super) async fn save(&self, world: WorldId) -> Result<SavedFrame, ArchiveFailure> {
        let reply = self.saves.order(world).map_err(ArchiveFailure::new)?;
        match tokio::time::timeout(SAVE_PATIENCE, reply).await {
            Ok(Ok(reply)) => reply.map_err(ArchiveFailure::new),
            Ok(Err(_)) => Err(ArchiveFailure::new("the server no longer saves regions")),
            Err(_) => Err(ArchiveFailure::new("the region is not saved in time")),
        }
    }

    /// An account by "First Last", if there is one.
    pub(super) fn find_account(&self, name: &str) -> Result<Option<AgentId>, StoreError> {
        let Ok(Name { first, last }) = Name::parse(name, "") else { return Ok(None) };
        Ok(self.store.account_by_name(&first, &last)?.map(|account| account.agent))
    }

    /// An account that is required to exist.
    pub(super) fn account(&self, name: &str) -> Result<AgentId, ArchiveFailure> {
        let unknown = || ArchiveFailure::new(format!("there is no account {name:?}"));
        self.find_account(name)?.ok_or_else(unknown)
    }
}

/// Random bytes for ids.
pub(super) fn random_seed() -> Result<[u8; 32], ArchiveFailure> {
    let mut seed = [0; 32];
    let filled = getrandom::fill(&mut seed);
    filled.map_err(|_| ArchiveFailure::new("the system gives no random numbers"))?;
    Ok(seed)
}

/// Accounts that were looked up, for one job. A failed look-up is noted, and fails the job.
pub(super) struct KnownAccounts<'a> {
    store: &'a Store,
    /// First and last name of each account that there is.
    names: RefCell<HashMap<AgentId, Option<Arc<str>>>>,
    failure: RefCell<Option<StoreError>>,
}

impl<'a> KnownAccounts<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self { store, names: RefCell::default(), failure: RefCell::default() }
    }

    /// True for an account that there is.
    pub(super) fn has(&self, account: AgentId) -> bool {
        self.name(account).is_some()
    }

    /// First and last name of an account.
    pub(super) fn name(&self, account: AgentId) -> Option<Arc<str>> {
        if account.0 == Uuid::nil() {
            return None;
        }
        if let Some(known) = self.names.borrow().get(&account) {
            return known.clone();
        }
        let found = match self.store.account(account) {
            Ok(found) => found.map(|found| Arc::from(format!("{} {}", found.first, found.last))),
            Err(error) => {
                self.failure.borrow_mut().get_or_insert(error);
                return None;
            }
        };
        let mut names = self.names.borrow_mut();
        if names.len() < ACCOUNTS_MAX {
            names.insert(account, found.clone());
        }
        found
    }

    /// The account with this first and last name.
    pub(super) fn by_name(&self, name: &str) -> Option<AgentId> {
        let Name { first, last } = Name::parse(name, "").ok()?;
        match self.store.account_by_name(&first, &last) {
            Ok(found) => found.map(|account| account.agent),
            Err(error) => {
                self.failure.borrow_mut().get_or_insert(error);
                None
            }
        }
    }

    /// The first look-up that failed.
    pub(super) fn check(&self) -> Result<(), ArchiveFailure> {
        self.failure.borrow_mut().take().map_or(Ok(()), |error| Err(error.into()))
    }
}

/// Assets of the server that an archive names, looked up for one job. A failed look-up is noted, and fails the job.
pub(super) struct KnownAssets<'a> {
    store: &'a Store,
    failure: RefCell<Option<StoreError>>,
}

impl<'a> KnownAssets<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self { store, failure: RefCell::default() }
    }

    /// True for an asset that is stored, or of the server's own.
    pub(super) fn has(&self, asset: Uuid) -> bool {
        AssetSources::is_own(asset)
            || self.store.asset(asset).map(|found| found.is_some()).unwrap_or_else(|error| {
                self.failure.borrow_mut().get_or_insert(error);
                false
            })
    }

    /// The first look-up that failed.
    pub(super) fn check(&self) -> Result<(), ArchiveFailure> {
        self.failure.borrow_mut().take().map_or(Ok(()), |error| Err(error.into()))
    }
}
