//! Bytes of assets as objects of an [`ObjectStore`], named by their hash: `ab/ab01…` with all 64 hexadecimal digits behind the first two.
//!
//! An object appears under its name as a whole, and is durable after the next [`sync`](AssetFiles::sync): one `syncfs` for a batch of files instead of two
//! `fsync` for each. On the machine of docs/performance.md, 60 kB each, that is 2,980 assets a second instead of 138.

use bytes::Bytes;
use futures_executor::block_on;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::AssetHash;

/// Makes objects durable that were written before.
pub(crate) type SyncObjects = Box<dyn Fn() -> io::Result<()> + Send + Sync>;

/// A failure of the files of assets.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The folder of assets could not be made or opened.
    #[error("cannot open the folder of assets {}", .path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Bytes of an asset could not be read, written or deleted.
    #[error("error while {doing} the bytes of the asset with the hash {hash}")]
    Object {
        /// The attempted action, such as "reading".
        doing: &'static str,
        /// Hash of the bytes.
        hash: AssetHash,
        /// The failure of the files.
        source: object_store::Error,
    },
    /// Bytes that were written could not be brought to the disk.
    #[error("error while bringing bytes of assets to the disk")]
    Sync(#[source] io::Error),
}

/// Bytes by hash. Methods wait for the disk on the calling thread.
pub(crate) struct AssetFiles {
    objects: Arc<dyn ObjectStore>,
    sync: SyncObjects,
}

impl fmt::Debug for AssetFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AssetFiles").field("objects", &self.objects).finish_non_exhaustive()
    }
}

impl AssetFiles {
    /// Files in a folder, which is made if it is missing.
    pub(crate) fn open(folder: &Path) -> Result<Self, FilesError> {
        let failed = |source| FilesError::Open { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let objects =
            LocalFileSystem::new_with_prefix(folder).map_err(|why| failed(io::Error::other(why)))?;
        let handle = File::open(folder).map_err(failed)?;
        let sync = move || rustix::fs::syncfs(&handle).map_err(io::Error::from);
        Ok(Self::new(Arc::new(objects), Box::new(sync)))
    }

    pub(crate) fn new(objects: Arc<dyn ObjectStore>, sync: SyncObjects) -> Self {
        Self { objects, sync }
    }

    /// Bytes with a hash, unverified; none if there are none.
    pub(crate) fn read(&self, hash: AssetHash) -> Result<Option<Bytes>, FilesError> {
        let bytes = block_on(async { self.objects.get(&path_of(hash)).await?.bytes().await });
        match bytes {
            Ok(bytes) => Ok(Some(bytes)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(source) => Err(FilesError::Object { doing: "reading", hash, source }),
        }
    }

    /// Bytes with a hash, or the evidence that they are damaged.
    pub(crate) fn read_verified(&self, hash: AssetHash) -> Result<Result<Bytes, String>, FilesError> {
        let Some(bytes) = self.read(hash)? else { return Ok(Err("its bytes are missing".into())) };
        let found = AssetHash::of(&bytes);
        if found == hash {
            return Ok(Ok(bytes));
        }
        Ok(Err(format!("its {} bytes have the hash {found}", bytes.len())))
    }

    /// Writes bytes in place of those that are there.
    pub(crate) fn write(&self, hash: AssetHash, bytes: Bytes) -> Result<(), FilesError> {
        block_on(self.objects.put(&path_of(hash), bytes.into()))
            .map(drop)
            .map_err(|source| FilesError::Object { doing: "writing", hash, source })
    }

    /// Brings all that was written before to the disk.
    pub(crate) fn sync(&self) -> Result<(), FilesError> {
        (self.sync)().map_err(FilesError::Sync)
    }

    /// Deletes bytes; no failure if there are none.
    pub(crate) fn delete(&self, hash: AssetHash) -> Result<(), FilesError> {
        match block_on(self.objects.delete(&path_of(hash))) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(source) => Err(FilesError::Object { doing: "deleting", hash, source }),
        }
    }
}

/// Path of the file with these bytes in a folder of assets, for programs that read the files without a store.
#[must_use]
pub fn content_path(folder: &Path, hash: AssetHash) -> PathBuf {
    let digits = hash.to_string();
    folder.join(&digits[..2]).join(&digits)
}

fn path_of(hash: AssetHash) -> ObjectPath {
    let digits = hash.to_string();
    ObjectPath::from(format!("{}/{digits}", &digits[..2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_written_and_from_another_handle() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("assets");
        let files = AssetFiles::open(&path).unwrap();
        let hash = AssetHash::of(b"some bytes");
        assert_eq!(files.read(hash).unwrap(), None);
        files.write(hash, Bytes::from_static(b"some bytes")).unwrap();
        files.sync().unwrap();
        let again = AssetFiles::open(&path).unwrap();
        assert_eq!(again.read(hash).unwrap().as_deref(), Some(&b"some bytes"[..]));
        assert!(content_path(&path, hash).is_file());
        files.delete(hash).unwrap();
        files.delete(hash).unwrap();
        assert_eq!(again.read(hash).unwrap(), None);
    }

    #[test]
    fn empty_and_replaced_bytes_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let files = AssetFiles::open(folder.path()).unwrap();
        let hash = AssetHash::of(b"");
        for bytes in [&b"damaged"[..], b""] {
            files.write(hash, Bytes::copy_from_slice(bytes)).unwrap();
            assert_eq!(files.read(hash).unwrap().as_deref(), Some(bytes));
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, b"").unwrap();
        let failed = AssetFiles::open(&file.join("assets")).unwrap_err();
        assert!(failed.to_string().contains("file/assets"), "{failed}");
    }
}
