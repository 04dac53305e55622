//! Writes of an archive's assets into the store of a running server.

use super::parts::ArchiveParts;
use super::steps::{ArchiveFailure, WatchedFile, WorkSteps};
use crate::archive_assets::{AssetWay, LoadAssetsError, LoadedAssets, store_assets};
use ids::Uuid;
use std::fs::File;
use std::time::Duration;

/// Pause before a write that the queue had no room for is tried again.
const RETRY: Duration = Duration::from_millis(100);

/// Stores the assets of an archive. `origin` is noted with each; legacy materials come to `take_material`.
pub(super) fn load_assets(
    parts: &ArchiveParts,
    file: &File,
    origin: &str,
    take_material: &mut dyn FnMut(Uuid, &[u8]),
    steps: &WorkSteps<'_>,
) -> Result<LoadedAssets, ArchiveFailure> {
    let input = WatchedFile::new(file, steps, "assets")?;
    let pause = || {
        parts.runtime.block_on(tokio::time::sleep(RETRY));
        Ok(())
    };
    let way = AssetWay { store: &**parts.assets.stored(), origin: origin.into(), pause: &pause };
    store_assets(input, &way, take_material).map_err(|error| match error {
        LoadAssetsError::File(error) => steps.failure(&error),
        error => ArchiveFailure::of(&error),
    })
}
