//! Files with faults, for tests.

use crate::files::AssetFiles;
use crate::{AssetKind, NewAsset};
use bytes::Bytes;
use ids::{AgentId, Uuid};
use object_store::local::LocalFileSystem;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use store::AssetHash;

/// A folder of assets whose sync can fail and is counted.
pub(crate) struct FaultyFolder {
    folder: tempfile::TempDir,
    pub(crate) syncs: Arc<AtomicUsize>,
    pub(crate) is_sync_failing: Arc<AtomicBool>,
}

impl FaultyFolder {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), syncs: Arc::default(), is_sync_failing: Arc::default() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn files(&self) -> AssetFiles {
        let objects = LocalFileSystem::new_with_prefix(self.path()).unwrap();
        let (syncs, is_failing) = (Arc::clone(&self.syncs), Arc::clone(&self.is_sync_failing));
        let sync = move || {
            syncs.fetch_add(1, Ordering::Relaxed);
            if is_failing.load(Ordering::Relaxed) { Err(io::Error::other("no space")) } else { Ok(()) }
        };
        AssetFiles::new(Arc::new(objects), Box::new(sync))
    }

    pub(crate) fn path_of(&self, hash: AssetHash) -> PathBuf {
        let digits = hash.to_string();
        self.path().join(&digits[..2]).join(digits)
    }

    /// Puts a file in the place of the folder for these bytes, so that they cannot be written.
    pub(crate) fn obstruct(&self, bytes: &[u8]) {
        let folder = self.path_of(AssetHash::of(bytes));
        std::fs::write(folder.parent().unwrap(), b"in the way").unwrap();
    }

    pub(crate) fn clear(&self, bytes: &[u8]) {
        let folder = self.path_of(AssetHash::of(bytes));
        std::fs::remove_file(folder.parent().unwrap()).unwrap();
    }

    /// Changes one byte of a content on the disk.
    pub(crate) fn damage(&self, bytes: &[u8]) {
        let path = self.path_of(AssetHash::of(bytes));
        let mut content = std::fs::read(&path).unwrap();
        content[bytes.len() / 2] ^= 1;
        std::fs::write(path, content).unwrap();
    }
}

pub(crate) fn asset(id: u128, bytes: &[u8]) -> NewAsset {
    NewAsset {
        id: Uuid::from_u128(id),
        kind: AssetKind::Texture,
        bytes: Bytes::copy_from_slice(bytes),
        creator: AgentId(Uuid::from_u128(7)),
        origin: "test".into(),
        is_temporary: false,
    }
}
