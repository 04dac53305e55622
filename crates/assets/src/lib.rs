//! Assets: the content that objects and avatars are made of, by id: immutable bytes of one [`AssetKind`], stored once for each hash.
//!
//! [`AssetStore`] is the interface; [`DiskAssets`] keeps rows in the [`store`] and bytes in files named by their BLAKE3 hash. A write is acknowledged when
//! bytes and row are on the disk: one thread syncs and commits whole batches. A read verifies the hash of bytes that it takes from the disk, and a bounded cache
//! keeps them. Bytes that do not match are put into quarantine and answered as missing, until the same bytes arrive again. A [`Scrubber`] finds them before
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

pub use check::{Unfit, check_asset};
pub use disk::{AssetCounters, AssetWriter, DiskAssets, DiskAssetsConfig};
pub use files::FilesError;
pub use kind::{AssetKind, SizeLimits};
pub use memory::MemoryAssets;
pub use scrub::{ScrubFindings, ScrubPace, Scrubber};
pub use store::AssetHash;
pub use writer::{WRITES_BYTES_MAX, WRITES_MAX};

use bytes::Bytes;
use ids::{AgentId, Uuid};
use std::fmt::Debug;
use std::sync::Arc;
use store::StoreError;

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

/// Assets by id.
pub trait AssetStore: Debug + Send + Sync {
    /// An asset whose bytes are in memory. Does not wait.
    fn cached(&self, id: Uuid) -> Option<Asset>;

    /// An asset; none if it is unknown or in quarantine. May wait for the disk.
    ///
    /// # Errors
    /// [`ReadAssetError`], which says nothing about the asset.
    fn read(&self, id: Uuid) -> Result<Option<Asset>, ReadAssetError>;

    /// Queues an asset to be stored. `done` is called when it is on the disk, or when it is refused; then nothing of it is stored under its id.
    fn add(&self, new: NewAsset, done: AssetDone);
}
