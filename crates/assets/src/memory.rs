//! Assets in memory, for tests and simulations.

use crate::{AddAssetError, Asset, AssetDone, AssetStore, NewAsset, ReadAssetError};
use ids::Uuid;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use store::AssetHash;

/// Assets that live as long as the value. A write is done when [`add`](AssetStore::add) returns.
#[derive(Debug, Default)]
pub struct MemoryAssets {
    by_id: Mutex<BTreeMap<Uuid, Asset>>,
}

impl AssetStore for MemoryAssets {
    fn cached(&self, id: Uuid) -> Option<Asset> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    fn read(&self, id: Uuid) -> Result<Option<Asset>, ReadAssetError> {
        Ok(self.cached(id))
    }

    fn add(&self, new: NewAsset, done: AssetDone) {
        let NewAsset { id, kind, bytes, is_temporary, .. } = new;
        let hash = AssetHash::of(&bytes);
        let mut by_id = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        let known = by_id.entry(id).or_insert(Asset { kind, hash, bytes, is_temporary });
        let outcome = if (known.hash, known.kind) == (hash, kind) {
            known.is_temporary &= is_temporary;
            Ok(id)
        } else {
            Err(AddAssetError::Taken(id))
        };
        drop(by_id);
        done(outcome);
    }
}
