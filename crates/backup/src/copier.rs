//! Copies contents of assets from one folder into another: hashed on the way, brought to the disk in batches, read back, and only then put under their names.
//!
//! One call to the system syncs all files of a batch: a sync for each would take many times as long. The bytes that are read back come from the disk, as far as
//! the system drops its copy in memory when it is asked to.

use crate::files::{
    CHUNK, FileFailure, failed, forget, is_lost, make_dir, make_file, read_some, sum_of, sync_all_below,
};
use assets::content_path;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use store::AssetHash;

/// Files and bytes of a batch: a second of a slow disk.
const BATCH_FILES: usize = 256;
const BATCH_BYTES: u64 = 16 * 1_024 * 1_024;

/// Ending of a file that has not been read back yet. Left over by an interrupted copy, it means nothing.
pub(crate) const UNFINISHED: &str = "part";

/// Ending of a file that was found damaged: it has no name under which bytes are looked for, and is replaced by a sound one.
pub(crate) const SET_ASIDE: &str = "damaged";

/// Failure of a copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyFailure {
    /// A file or directory.
    #[error(transparent)]
    File(#[from] FileFailure),
    /// The disk has other bytes than were written.
    #[error("{} was written and reads back otherwise; check the disk", .0.display())]
    ReadBack(PathBuf),
}

/// Outcome of one content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    /// It is on its way: after [`ContentCopier::finish`] it is there.
    Yes,
    /// There is no such file.
    Missing,
    /// The file has other bytes: the evidence.
    Damaged(String),
}

/// A file that was written and not read back.
#[derive(Debug)]
struct Unfinished {
    hash: AssetHash,
    written: PathBuf,
    path: PathBuf,
}

/// Copies files of one folder into another.
#[derive(Debug)]
pub(crate) struct ContentCopier<'a> {
    from: &'a Path,
    to: &'a Path,
    batch: Vec<Unfinished>,
    batch_bytes: u64,
    /// Directories that were made.
    made: BTreeSet<u8>,
    chunk: Vec<u8>,
}

impl<'a> ContentCopier<'a> {
    pub(crate) fn new(from: &'a Path, to: &'a Path) -> Result<Self, FileFailure> {
        make_dir(to)?;
        Ok(Self { from, to, batch: Vec::new(), batch_bytes: 0, made: BTreeSet::new(), chunk: vec![0; CHUNK] })
    }

    /// Copies one content, if its file has these bytes.
    pub(crate) fn copy(&mut self, hash: AssetHash, length: u32) -> Result<Copied, CopyFailure> {
        let source = content_path(self.from, hash);
        let mut input = match File::open(&source) {
            Ok(file) => file,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Copied::Missing),
            Err(why) if is_lost(&why) => return Ok(Copied::Damaged(unread(&why))),
            Err(why) => return Err(failed("read", &source)(why).into()),
        };
        let path = content_path(self.to, hash);
        let written = path.with_extension(UNFINISHED);
        if self.made.insert(hash.0[0]) {
            make_dir(path.parent().expect("a content lies in a directory"))?;
        }
        let mut output = make_file(&written).map_err(failed("write", &written))?;
        let (mut hasher, mut n_bytes) = (blake3::Hasher::new(), 0);
        loop {
            let n = match read_some(&mut input, &mut self.chunk) {
                Ok(0) => break,
                Ok(n) => n,
                // A sector that the disk cannot read any more.
                Err(why) if is_lost(&why) => {
                    fs::remove_file(&written).map_err(failed("remove", &written))?;
                    return Ok(Copied::Damaged(unread(&why)));
                }
                Err(why) => return Err(failed("read", &source)(why).into()),
            };
            hasher.update(&self.chunk[..n]);
            output.write_all(&self.chunk[..n]).map_err(failed("write", &written))?;
            n_bytes += n as u64;
        }
        let found = AssetHash(*hasher.finalize().as_bytes());
        if found != hash || n_bytes != u64::from(length) {
            fs::remove_file(&written).map_err(failed("remove", &written))?;
            let evidence = if found == hash {
                format!("its length is {n_bytes} instead of {length}")
            } else {
                format!("its {n_bytes} bytes have the hash {found}")
            };
            return Ok(Copied::Damaged(evidence));
        }
        self.batch.push(Unfinished { hash, written, path });
        self.batch_bytes += n_bytes;
        if self.batch.len() >= BATCH_FILES || self.batch_bytes >= BATCH_BYTES {
            self.end_batch()?;
        }
        Ok(Copied::Yes)
    }

    /// Ends the last batch, and brings the names to the disk.
    pub(crate) fn finish(mut self) -> Result<(), CopyFailure> {
        self.end_batch()?;
        Ok(sync_all_below(self.to)?)
    }

    fn end_batch(&mut self) -> Result<(), CopyFailure> {
        if self.batch.is_empty() {
            return Ok(());
        }
        sync_all_below(self.to)?;
        self.batch_bytes = 0;
        for Unfinished { hash, written, path } in self.batch.drain(..) {
            forget(&File::open(&written).map_err(failed("read", &written))?);
            let found = sum_of(&written, |_| Ok::<(), FileFailure>(()))?;
            if found.blake3 != hash.to_string() {
                return Err(CopyFailure::ReadBack(written));
            }
            fs::rename(&written, &path).map_err(failed("rename", &written))?;
        }
        Ok(())
    }
}

fn unread(why: &io::Error) -> String {
    format!("its bytes cannot be read: {why}")
}

/// Length of the file of a content; none if there is no such file.
pub(crate) fn length_of(folder: &Path, hash: AssetHash) -> Result<Option<u64>, FileFailure> {
    let path = content_path(folder, hash);
    match fs::symlink_metadata(&path) {
        Ok(metadata) => Ok(metadata.is_file().then_some(metadata.len())),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(failed("read", &path)(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, bytes: &[u8]) -> AssetHash {
        let hash = AssetHash::of(bytes);
        let path = content_path(folder, hash);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        hash
    }

    fn read(folder: &Path, hash: AssetHash) -> Option<Vec<u8>> {
        fs::read(content_path(folder, hash)).ok()
    }

    #[test]
    fn contents_are_copied_and_appear_when_they_were_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let long = vec![7; CHUNK * 3 + 1];
        let hashes = [put(&from, b""), put(&from, b"short"), put(&from, &long)];
        let mut copier = ContentCopier::new(&from, &to).unwrap();
        for (hash, length) in hashes.into_iter().zip([0, 5, long.len() as u32]) {
            assert_eq!(copier.copy(hash, length).unwrap(), Copied::Yes);
            assert_eq!(read(&to, hash), None, "it may be damaged yet");
        }
        copier.finish().unwrap();
        assert_eq!(hashes.map(|hash| read(&to, hash)), [Some(vec![]), Some(b"short".to_vec()), Some(long)]);
        assert_eq!(length_of(&to, hashes[1]).unwrap(), Some(5));
        assert_eq!(length_of(&to, AssetHash([9; 32])).unwrap(), None);
    }

    #[test]
    fn missing_and_damaged_contents_are_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let hash = put(&from, b"a content");
        fs::write(content_path(&from, hash), b"a c0ntent").unwrap();
        let mut copier = ContentCopier::new(&from, &to).unwrap();
        let Copied::Damaged(why) = copier.copy(hash, 9).unwrap() else { panic!("it is damaged") };
        assert!(why.starts_with("its 9 bytes have the hash "), "{why}");
        assert_eq!(copier.copy(AssetHash([9; 32]), 9).unwrap(), Copied::Missing);
        let sound = put(&from, b"sound");
        let of_other_length = copier.copy(sound, 6).unwrap();
        assert_eq!(of_other_length, Copied::Damaged("its length is 5 instead of 6".into()));
        copier.finish().unwrap();
        let files_in = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        assert_eq!(files_in(to).flat_map(files_in).collect::<Vec<_>>(), Vec::<PathBuf>::new());
    }

    #[test]
    fn bytes_that_read_back_otherwise_are_not_put_under_their_name() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let hash = put(&from, b"a content");
        let mut copier = ContentCopier::new(&from, &to).unwrap();
        copier.copy(hash, 9).unwrap();
        fs::write(content_path(&to, hash).with_extension(UNFINISHED), b"another!!").unwrap();
        assert!(matches!(copier.finish(), Err(CopyFailure::ReadBack(_))));
        assert_eq!(read(&to, hash), None);
    }
}
