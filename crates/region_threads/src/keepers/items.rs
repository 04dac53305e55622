//! Objects that leave a region for an inventory, and worn ones whose items get their state: their assets are on the disk before the batch that names them is
//! saved.

use assets::{DiskAssets, ReadAssetError};
use gateway::sessions::Sessions;
use grid::inventory::transfer_notices;
use keeper::{AssetBytes, Batch, Itemized, RenewedWorn, encode_object, itemize, renew_worn};
use std::sync::Arc;
use store::ItemEffect;

/// Brings bytes of assets to the disk.
pub type KeepContents = Arc<KeepContentsFn>;

/// The function that a [`KeepContents`] calls.
pub(super) type KeepContentsFn = dyn Fn(Vec<AssetBytes>) -> Result<(), ReadAssetError> + Send + Sync;

/// Informs the owners of inventories of effects that are on the disk.
pub type TellOwners = Box<dyn Fn(&[ItemEffect]) + Send>;

/// Keeps them among the assets of the server.
pub fn keep_in(assets: &Arc<DiskAssets>) -> KeepContents {
    let assets = Arc::clone(assets);
    Arc::new(move |contents: Vec<AssetBytes>| {
        let contents = contents.into_iter().map(|AssetBytes { hash, bytes }| (hash, bytes)).collect();
        assets.keep_contents(contents)
    })
}

/// Informs the owners that have sessions.
pub fn tell_in(sessions: &Arc<Sessions>) -> TellOwners {
    let sessions = Arc::clone(sessions);
    Box::new(move |effects: &[ItemEffect]| {
        let notices = transfer_notices(effects);
        sessions.with(|hub| hub.send_notices(notices));
    })
}

/// Makes items of a batch's objects that are for inventories, and keeps their assets, and those of worn ones. An object that has no form as an asset stays in a
/// row.
pub(super) fn keep_items(batch: &mut Batch, keep_contents: &KeepContentsFn) -> Result<(), ReadAssetError> {
    let Itemized { mut assets, failed } = itemize(batch.region, &mut batch.changes.held, encode_object);
    for (key, why) in failed {
        tracing::warn!(%key, why, "an object cannot become an item, and is held as it is");
    }
    let RenewedWorn { assets: of_worn, failed } = renew_worn(&mut batch.changes, encode_object);
    for (item, why) in failed {
        tracing::warn!(%item, why, "a worn object cannot become the content of its item, and is kept beside it");
    }
    assets.extend(of_worn);
    if assets.is_empty() { Ok(()) } else { keep_contents(assets) }
}
