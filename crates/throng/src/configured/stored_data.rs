//! The data of a configuration, for backups and looks through: of the running server, and of commands beside it.

use super::ground::grounds;
use super::keeper::new_land;
use crate::config::Config;
use crate::database;
use crate::trial::start_worlds;
use backup::{RegionToVerify, WorkDriver, WorkEnded};
use job_desk::{DataSource, StoredData};
use std::path::Path;

/// Name and version of this program in manifests.
const BUILD: &str = concat!("throng ", env!("CARGO_PKG_VERSION"));

/// Describes the data of a configuration with the grounds of all regions, which takes a moment. `now_s` is the time, seconds since 1970.
pub(crate) fn stored_data(config: &Config, now_s: u64) -> StoredData {
    let regions = config.region.iter().enumerate().zip(grounds(config));
    let regions = regions.map(|((index, section), (ground, _))| RegionToVerify {
        world: section.world(index),
        name: section.name.clone(),
        land: Some(new_land(section, &ground.terrain, None, now_s)),
    });
    StoredData {
        url: database::url(config),
        assets: config.server.data.join(&config.assets.directory),
        regions: regions.collect(),
        build: BUILD,
    }
}

/// The server of a configuration, for its jobs.
pub(crate) struct ConfiguredServer(pub(crate) Config);

impl DataSource for ConfiguredServer {
    fn stored_data(&self, now_s: u64) -> StoredData {
        stored_data(&self.0, now_s)
    }

    fn holder(&self) -> String {
        database::server_name()
    }

    fn start_worlds(
        &self,
        data: &Path,
        driver: &mut dyn WorkDriver,
    ) -> Result<Result<Vec<String>, String>, WorkEnded> {
        start_worlds(&self.0, data, driver)
    }
}
