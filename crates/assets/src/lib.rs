//! Assets: the content that objects and avatars are made of, by id: immutable bytes of one [`AssetKind`], stored once for each hash.
//!
//! [`AssetStore`] is the interface; [`DiskAssets`] keeps rows in the [`store`] and bytes in files named by their BLAKE3 hash. A write is acknowledged when
//! bytes and row are on the disk, with the item that names them if there is one: one thread syncs and commits whole batches. A read verifies the hash of bytes
//! that it takes from the disk, and a bounded cache keeps them. Bytes that do not match are put into quarantine and answered as missing, until the same bytes arrive again. A [`Scrubber`] finds them before
//! a reader does.
//!
//! No asset is deleted but temporary ones after a time without use. Validation is in [`check_asset`]; this crate knows no message, no capability and
//! no permission.

mod check;
mod disk;
mod files;
mod kind;
mod memory;
mod scrub;
#[cfg(test)]
mod testing;
mod writer;

pub use check::{
    EmbeddedItem, Landmark, Unfit, check_asset, landmark_text, read_embedded_items, read_landmark,
};
pub use disk::{AssetCounters, AssetWriter, DiskAssets, DiskAssetsConfig};
pub use files::{FilesError, content_path};
pub use kind::{AssetKind, SizeLimits};
pub use memory::MemoryAssets;
pub use scrub::{ScrubFindings, ScrubPace, Scrubber};
pub use store::{AssetHash, ItemChange};
pub use writer::{WRITES_BYTES_MAX, WRITES_MAX};

use bytes::Bytes;
use ids::{AgentId, Uuid};
use std::fmt::Debug;
use std::sync::Arc;
use store::{InventoryRefusal, StoreError};

/// An asset with its verified bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// Its kind.
    pub kind: AssetKind,
    /// Hash of its bytes.
    pub hash: AssetHash,
    /// Its bytes, shared.
    pub bytes: Bytes,
    /// Removed after a time without use.
    pub is_temporary: bool,
}

/// An asset to be stored. The caller has checked that its bytes are of its kind ([`check_asset`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAsset {
    /// Its id.
    pub id: Uuid,
    /// Its kind.
    pub kind: AssetKind,
    /// Its bytes.
    pub bytes: Bytes,
    /// The account that has made it; nil for the server's own.
    pub creator: AgentId,
    /// Source of the bytes, such as "upload" or the name of an archive.
    pub origin: Arc<str>,
    /// To be removed after a time without use.
    pub is_temporary: bool,
}

/// Assets to be stored together, in one transaction with the change of an inventory that names one of them: all of it, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAssets {
    /// The assets.
    pub assets: Vec<NewAsset>,
    /// The change; none for assets without an item.
    pub item: Option<ItemChange>,
}

impl NewAssets {
    /// Bytes of all of them.
    #[must_use]
    pub fn n_bytes(&self) -> usize {
        self.assets.iter().map(|asset| asset.bytes.len()).sum()
    }
}

/// Reason for which an asset was not stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddAssetError {
    /// The queue of writes is full.
    #[error("the server has too many uploads in hand; try again in a moment")]
    Busy,
    /// The id belongs to an asset with other bytes or of another kind, which stays.
    #[error("the asset {0} exists with other content")]
    Taken(Uuid),
    /// The disk did not take the bytes.
    #[error("the bytes of the asset could not be stored: {0}")]
    Files(String),
    /// The database did not take the row.
    #[error("the asset could not be stored: {0}")]
    Database(String),
    /// The inventory does not take the item.
    #[error(transparent)]
    Item(#[from] InventoryRefusal),
    /// The owner of the item has no inventory.
    #[error("there is no such account")]
    UnknownOwner,
    /// The server ends.
    #[error("the server is shutting down")]
    Ended,
}

/// Failure of a read that says nothing about the asset.
#[derive(Debug, thiserror::Error)]
pub enum ReadAssetError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The files.
    #[error(transparent)]
    Files(#[from] FilesError),
}

/// Called once with the outcome of a write, on the thread that writes: it must not wait.
pub type AssetDone = Box<dyn FnOnce(Result<Uuid, AddAssetError>) + Send>;

/// The same for assets that are stored together.
pub type AssetsDone = Box<dyn FnOnce(Result<(), AddAssetError>) + Send>;

/// Assets by id.
pub trait AssetStore: Debug + Send + Sync {
    /// An asset whose bytes are in memory. Does not wait.
    fn cached(&self, id: Uuid) -> Option<Asset>;

    /// An asset; none if it is unknown or in quarantine. May wait for the disk.
    ///
    /// # Errors
    /// [`ReadAssetError`], which says nothing about the asset.
    fn read(&self, id: Uuid) -> Result<Option<Asset>, ReadAssetError>;

    /// Queues assets to be stored. `done` is called when they are on the disk, or when they are refused; then no lasting asset of them is stored, and no item.
    fn add_all(&self, new: NewAssets, done: AssetsDone);

    /// The same for one asset without an item.
    fn add(&self, new: NewAsset, done: AssetDone) {
        let id = new.id;
        let assets = NewAssets { assets: vec![new], item: None };
        self.add_all(assets, Box::new(move |outcome| done(outcome.map(|()| id))));
    }
}
