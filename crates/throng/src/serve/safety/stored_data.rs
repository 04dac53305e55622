//! The data of a configuration, as backups, restores and looks through find them.

use crate::config::Config;
use crate::database;
use crate::serve::{grounds, new_land};
use backup::{BackupSource, RegionToVerify, VerifyOrder};
use grid::asset_sources::AssetSources;
use ids::Uuid;
use std::path::PathBuf;
use store::StoreUrl;

/// Name and version of this program in manifests.
pub(crate) const BUILD: &str = concat!("throng ", env!("CARGO_PKG_VERSION"));

/// The data of a configuration.
#[derive(Debug)]
pub(crate) struct StoredData {
    pub(crate) url: StoreUrl,
    pub(crate) assets: PathBuf,
    regions: Vec<RegionToVerify>,
}

impl StoredData {
    /// Describes the grounds of all regions, which takes a moment. `now_s` is the time, seconds since 1970.
    pub(crate) fn of(config: &Config, now_s: u64) -> Self {
        let regions = config.region.iter().enumerate().zip(grounds(config));
        let regions = regions.map(|((index, section), (ground, _))| RegionToVerify {
            world: section.world(index),
            name: section.name.clone(),
            land: Some(new_land(section, &ground.terrain, None, now_s)),
        });
        Self {
            url: database::url(config),
            assets: config.server.data.join(&config.assets.directory),
            regions: regions.collect(),
        }
    }

    pub(crate) fn to_verify(&self, is_deep: bool) -> VerifyOrder<'_> {
        VerifyOrder {
            database: &self.url,
            assets: &self.assets,
            regions: &self.regions,
            is_own_asset: &is_own_asset,
            is_deep,
        }
    }

    pub(crate) fn to_back_up(&self) -> BackupSource<'_> {
        BackupSource {
            database: &self.url,
            assets: &self.assets,
            regions: &self.regions,
            is_own_asset: &is_own_asset,
            build: BUILD,
        }
    }
}

fn is_own_asset(id: Uuid) -> bool {
    AssetSources::is_own(id)
}
