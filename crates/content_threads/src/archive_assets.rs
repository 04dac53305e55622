//! Assets of an archive on their way into the store: a bounded number of them at once, so that uploads have room beside them.
//!
//! An asset whose id is there with other bytes, or as another kind, stays as it is, and the archive's is left out: content never changes under an id.

use archive::check::CheckConfig;
use archive::file::{ArchiveLimits, FileError};
use archive::{ArchivedAsset, ArchivedKind};
use archiver::each_asset;
use assets::{AddAssetError, AssetStore, NewAsset, SizeLimits, check_asset};
use crossbeam_channel::{Receiver, Sender, bounded};
use grid::asset_sources::AssetSources;
use ids::{AgentId, Uuid};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

/// Writes at once, and their bytes: a part of what the store's queue takes ([`assets::WRITES_MAX`], [`assets::WRITES_BYTES_MAX`]).
const WRITES: usize = 128;
const BYTES: usize = 24 << 20;

/// Time for the store to take a write.
const PATIENCE: Duration = Duration::from_secs(120);

/// Ids of a list; further ones are counted.
const LISTED_MAX: usize = 500;

/// Outcome of the assets of an archive.
#[derive(Debug, Default)]
pub(super) struct LoadedAssets {
    /// Assets in the store now, also those that were there before with the same bytes.
    pub(super) n_stored: u64,
    /// Assets of the server's own.
    pub(super) n_own: u64,
    /// Assets that are damaged, of a kind that is not stored, or without a kind.
    pub(super) n_unfit: u64,
    /// Assets that are there with other content, which stays.
    pub(super) n_kept: u64,
    /// The first of these.
    pub(super) kept: Vec<Uuid>,
}

/// Reasons for which not all assets of an archive are stored.
#[derive(Debug, thiserror::Error)]
pub enum LoadAssetsError {
    /// The file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The store refuses an asset.
    #[error(transparent)]
    Store(#[from] AddAssetError),
    /// No outcome came.
    #[error("the store of assets does not answer")]
    Silent,
}

/// The way of assets into the store.
pub(super) struct AssetWay<'a> {
    pub(super) store: &'a dyn AssetStore,
    /// Source of the bytes, which is noted with each.
    pub(super) origin: Arc<str>,
    /// Waits for a moment, since uploads have filled the store's queue.
    pub(super) pause: &'a dyn Fn() -> Result<(), AddAssetError>,
}

/// Stores the assets of an archive. Legacy materials, which are none here, come to `take_material` with their ids and documents.
pub(super) fn store_assets(
    input: impl Read,
    way: &AssetWay<'_>,
    take_material: &mut dyn FnMut(Uuid, &[u8]),
) -> Result<LoadedAssets, LoadAssetsError> {
    let mut loader = AssetLoader {
        way,
        // As the check has them.
        sizes: CheckConfig::default().sizes,
        // A write reports once, and never waits.
        done: bounded(WRITES),
        flights: BTreeMap::new(),
        n_bytes: 0,
        next: 0,
        loaded: LoadedAssets::default(),
    };
    let mut take = |asset: ArchivedAsset| {
        if asset.kind == Some(ArchivedKind::OPENSIMULATOR_MATERIAL) {
            take_material(asset.id, &asset.bytes);
            return Ok(());
        }
        loader.add(asset)
    };
    each_asset::<LoadAssetsError>(input, ArchiveLimits::default(), &mut take)?;
    loader.finish()
}

type AssetOutcome = (u64, Result<Uuid, AddAssetError>);

/// Writes assets one after the other.
struct AssetLoader<'a> {
    way: &'a AssetWay<'a>,
    sizes: SizeLimits,
    done: (Sender<AssetOutcome>, Receiver<AssetOutcome>),
    /// Writes under way.
    flights: BTreeMap<u64, NewAsset>,
    n_bytes: usize,
    next: u64,
    loaded: LoadedAssets,
}

impl AssetLoader<'_> {
    fn add(&mut self, ArchivedAsset { id, kind, bytes }: ArchivedAsset) -> Result<(), LoadAssetsError> {
        if AssetSources::is_own(id) {
            self.loaded.n_own += 1;
            return Ok(());
        }
        let stored = kind.and_then(ArchivedKind::stored);
        let Some(kind) = stored.filter(|kind| check_asset(*kind, &bytes, &self.sizes).is_ok()) else {
            self.loaded.n_unfit += 1;
            return Ok(());
        };
        while self.is_full(bytes.len()) {
            self.wait()?;
        }
        self.n_bytes += bytes.len();
        let (creator, origin) = (AgentId(Uuid::nil()), Arc::clone(&self.way.origin));
        self.send(NewAsset { id, kind, bytes: bytes.into(), creator, origin, is_temporary: false });
        Ok(())
    }

    fn is_full(&self, n_more: usize) -> bool {
        let n_flights = self.flights.len();
        n_flights >= WRITES || (n_flights > 0 && self.n_bytes + n_more > BYTES)
    }

    fn send(&mut self, asset: NewAsset) {
        self.next += 1;
        let (number, done) = (self.next, self.done.0.clone());
        self.flights.insert(number, asset.clone());
        let report = move |outcome| {
            // The load may have ended.
            let _ = done.send((number, outcome));
        };
        self.way.store.add(asset, Box::new(report));
    }

    /// Waits for the outcome of a write.
    fn wait(&mut self) -> Result<(), LoadAssetsError> {
        let outcome = self.done.1.recv_timeout(PATIENCE);
        let (number, outcome) = outcome.map_err(|_| LoadAssetsError::Silent)?;
        let asset = self.flights.remove(&number).expect("an outcome is that of a write under way");
        match outcome {
            Ok(_) => self.loaded.n_stored += 1,
            Err(AddAssetError::Taken(id)) => {
                self.loaded.n_kept += 1;
                if self.loaded.kept.len() < LISTED_MAX {
                    self.loaded.kept.push(id);
                }
            }
            Err(AddAssetError::Busy) => {
                (self.way.pause)()?;
                self.send(asset);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        self.n_bytes -= asset.bytes.len();
        Ok(())
    }

    fn finish(mut self) -> Result<LoadedAssets, LoadAssetsError> {
        while !self.flights.is_empty() {
            self.wait()?;
        }
        Ok(self.loaded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::asset_path;
    use archive::file::ArchiveWriter;
    use assets::{AssetKind, MemoryAssets};

    fn file(assets: &[(u128, AssetKind, &str)]) -> Vec<u8> {
        let mut writer = ArchiveWriter::plain(Vec::new());
        for (id, kind, content) in assets {
            let path = asset_path(Uuid::from_u128(*id), (*kind).into());
            writer.append(&path, content.as_bytes()).expect("an entry");
        }
        let material = asset_path(Uuid::from_u128(77), ArchivedKind::OPENSIMULATOR_MATERIAL);
        writer.append(&material, b"<llsd/>").expect("an entry");
        writer.finish().expect("a file")
    }

    #[test]
    fn assets_that_are_there_with_other_content_stay() {
        let store = MemoryAssets::default();
        let pause = || Ok(());
        let way = AssetWay { store: &store, origin: "a.oar".into(), pause: &pause };
        let mut materials = Vec::new();
        let mut load = |assets: &[(u128, AssetKind, &str)]| {
            let bytes = file(assets);
            store_assets(&bytes[..], &way, &mut |id, _| materials.push(id)).expect("a file")
        };
        let own = ids::PLYWOOD_TEXTURE.as_u128();
        let script = "default { state_entry() {} }";
        let first = load(&[(1, AssetKind::Script, script), (own, AssetKind::Script, script)]);
        assert_eq!((first.n_stored, first.n_own, first.n_kept), (1, 1, 0));
        let again = load(&[
            (1, AssetKind::Script, "default {}"),
            (2, AssetKind::Texture, "no picture"),
            (3, AssetKind::Script, script),
        ]);
        assert_eq!((again.n_stored, again.n_unfit, again.n_kept), (1, 1, 1));
        assert_eq!(again.kept, [Uuid::from_u128(1)]);
        let kept = store.cached(Uuid::from_u128(1)).expect("it is there");
        assert_eq!(&kept.bytes[..], script.as_bytes());
        assert_eq!(materials, [Uuid::from_u128(77); 2]);
    }
}
