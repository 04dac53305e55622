//! Assets in memory, for tests and simulations.

use crate::writer::{hashes_of, in_full, outcome_of, rows_of};
use crate::{AddAssetError, Asset, AssetKind, AssetStore, AssetsDone, NewAsset, NewAssets, ReadAssetError};
use bytes::Bytes;
use ids::Uuid;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use store::{AssetHash, Store};

/// Assets that live as long as the value. A write is done when [`add_all`](AssetStore::add_all) returns.
#[derive(Debug, Default)]
pub struct MemoryAssets {
    by_id: Mutex<BTreeMap<Uuid, Asset>>,
    /// Bytes of assets that have rows alone.
    contents: Mutex<BTreeMap<AssetHash, Bytes>>,
    /// Keeps rows of assets, and inventories.
    store: Option<Arc<Store>>,
}

impl MemoryAssets {
    /// Assets whose rows are in a database; only their bytes are not kept. Without one there are no owners of items.
    #[must_use]
    pub fn beside(store: Arc<Store>) -> Self {
        Self { store: Some(store), ..Self::default() }
    }

    /// Keeps bytes, by their hashes, for assets that a transaction is about to add to the store.
    pub fn keep_contents(&self, contents: impl IntoIterator<Item = (AssetHash, Vec<u8>)>) {
        let contents = contents.into_iter().map(|(hash, bytes)| (hash, Bytes::from(bytes)));
        self.contents.lock().unwrap_or_else(PoisonError::into_inner).extend(contents);
    }

    /// An asset that was added to the store alone.
    fn of_row(&self, id: Uuid) -> Option<Asset> {
        let row = self.store.as_ref()?.asset(id).ok()??.row;
        let contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        let (kind, bytes) = (AssetKind::from_number(row.kind)?, contents.get(&row.hash)?.clone());
        Some(Asset { kind, hash: row.hash, bytes, is_temporary: false })
    }

    fn add_rows(&self, new: &NewAssets, hashes: &[AssetHash]) -> Result<(), AddAssetError> {
        let Some(store) = &self.store else {
            return if new.item.is_none() { Ok(()) } else { Err(AddAssetError::UnknownOwner) };
        };
        let added = store.add_uploads(&[rows_of(new, hashes, 0)]);
        let mut added = added.map_err(|why| AddAssetError::Database(in_full(&why)))?;
        outcome_of(added.pop().expect("the store has an outcome for each upload"))
    }
}

impl AssetStore for MemoryAssets {
    fn cached(&self, id: Uuid) -> Option<Asset> {
        let known = self.by_id.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        known.or_else(|| self.of_row(id))
    }

    fn read(&self, id: Uuid) -> Result<Option<Asset>, ReadAssetError> {
        Ok(self.cached(id))
    }

    fn add_all(&self, new: NewAssets, done: AssetsDone) {
        let hashes = hashes_of(&new);
        let mut by_id = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        let is_taken = |&(asset, hash): &(&NewAsset, &AssetHash)| {
            by_id.get(&asset.id).is_some_and(|known| (known.hash, known.kind) != (*hash, asset.kind))
        };
        let outcome = match new.assets.iter().zip(&hashes).find(is_taken) {
            Some((asset, _)) => Err(AddAssetError::Taken(asset.id)),
            None => self.add_rows(&new, &hashes),
        };
        if outcome.is_ok() {
            for (asset, hash) in new.assets.into_iter().zip(hashes) {
                let NewAsset { id, kind, bytes, is_temporary, .. } = asset;
                let known = by_id.entry(id).or_insert(Asset { kind, hash, bytes, is_temporary });
                known.is_temporary &= is_temporary;
            }
        }
        drop(by_id);
        done(outcome);
    }
}
