//! The data of a server, as backups, restores and looks through find them.

use backup::{BackupSource, RegionToVerify, VerifyOrder, WorkDriver, WorkEnded};
use grid::asset_sources::AssetSources;
use ids::Uuid;
use std::path::{Path, PathBuf};
use store::StoreUrl;

/// A server as its jobs see it.
pub trait DataSource: Send + Sync {
    /// Describes its data, which takes a moment. `now_s` is the time, seconds since 1970.
    fn stored_data(&self, now_s: u64) -> StoredData;

    /// Name of the server, reported to a rival for a directory of backups.
    fn holder(&self) -> String;

    /// Starts a server for trial on a data directory, and ends it; the names of its regions, or the reason for which that went wrong.
    ///
    /// # Errors
    /// [`WorkEnded`] if the driver has ended the work.
    fn start_worlds(
        &self,
        data: &Path,
        driver: &mut dyn WorkDriver,
    ) -> Result<Result<Vec<String>, String>, WorkEnded>;
}

/// The data of a server.
#[derive(Debug)]
pub struct StoredData {
    /// Address of the database.
    pub url: StoreUrl,
    /// Folder of the assets.
    pub assets: PathBuf,
    /// Regions, as they are described.
    pub regions: Vec<RegionToVerify>,
    /// Name and version of the program, for manifests.
    pub build: &'static str,
}

impl StoredData {
    /// An order to look through them.
    #[must_use]
    pub fn to_verify(&self, is_deep: bool) -> VerifyOrder<'_> {
        VerifyOrder {
            database: &self.url,
            assets: &self.assets,
            regions: &self.regions,
            is_own_asset: &is_own_asset,
            is_deep,
        }
    }

    /// The source of a backup.
    #[must_use]
    pub fn to_back_up(&self) -> BackupSource<'_> {
        BackupSource {
            database: &self.url,
            assets: &self.assets,
            regions: &self.regions,
            is_own_asset: &is_own_asset,
            build: self.build,
        }
    }
}

fn is_own_asset(id: Uuid) -> bool {
    AssetSources::is_own(id)
}
