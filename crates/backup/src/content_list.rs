//! The contents that a backup names: a file with an entry of 40 bytes for each, in the order of their hashes.
//!
//! ```text
//! hash [u8; 32] | length u32 | flags u32        little-endian
//! flags   bit 0  its bytes are in the directory of backups; without it they were lost before the backup
//! ```
//!
//! The order lets several lists be gone through side by side. The manifest has the sum of the file.

use crate::files::{FileFailure, FileSum, failed, make_file, sum_of};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Write as _};
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use store::AssetHash;

/// Bytes of an entry.
pub(crate) const ENTRY: usize = 40;
/// The bytes are there.
const PRESENT: u32 = 1;

/// A content that a backup names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListedContent {
    pub(crate) hash: AssetHash,
    pub(crate) length: u32,
    /// False if its bytes were lost before the backup.
    pub(crate) is_present: bool,
}

impl ListedContent {
    /// Its entry.
    pub(crate) fn encode(self) -> [u8; ENTRY] {
        let Self { hash, length, is_present } = self;
        let mut entry = [0; ENTRY];
        entry[..32].copy_from_slice(&hash.0);
        entry[32..36].copy_from_slice(&length.to_le_bytes());
        entry[36..].copy_from_slice(&(if is_present { PRESENT } else { 0 }).to_le_bytes());
        entry
    }

    /// The content of an entry. Flags without a meaning are left out.
    pub(crate) fn decode(entry: &[u8; ENTRY]) -> Self {
        const LONG: &str = "an entry has 40 bytes";
        let number = |at: usize| u32::from_le_bytes(*entry[at..].first_chunk().expect(LONG));
        let hash = AssetHash(*entry.first_chunk().expect(LONG));
        Self { hash, length: number(32), is_present: number(36) & PRESENT != 0 }
    }
}

/// Sums of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentSum {
    /// The file.
    pub file: FileSum,
    /// Contents in it.
    pub contents: u64,
    /// Contents with bytes that were lost before the backup.
    pub lost: u64,
    /// Bytes of all.
    pub bytes: u64,
}

/// Writes a list.
#[derive(Debug)]
pub(crate) struct ContentListWriter {
    path: PathBuf,
    out: BufWriter<File>,
    hasher: blake3::Hasher,
    last: Option<AssetHash>,
    sum: ContentSum,
}

impl ContentListWriter {
    pub(crate) fn create(path: &Path) -> Result<Self, FileFailure> {
        let out = BufWriter::new(make_file(path).map_err(failed("write", path))?);
        let (hasher, sum) = (blake3::Hasher::new(), ContentSum::default());
        Ok(Self { path: path.to_owned(), out, hasher, last: None, sum })
    }

    /// Adds a content.
    ///
    /// # Panics
    /// When its hash is not above all others.
    pub(crate) fn push(&mut self, content: ListedContent) -> Result<(), FileFailure> {
        let ListedContent { hash, length, is_present } = content;
        assert!(self.last.is_none_or(|last| last < hash), "contents come in the order of their hashes");
        self.last = Some(hash);
        let entry = content.encode();
        self.hasher.update(&entry);
        self.sum.file.bytes += ENTRY as u64;
        self.sum.contents += 1;
        self.sum.lost += u64::from(!is_present);
        self.sum.bytes += u64::from(length);
        self.out.write_all(&entry).map_err(failed("write", &self.path))
    }

    /// Brings the list to the disk.
    pub(crate) fn finish(self) -> Result<ContentSum, FileFailure> {
        let Self { path, out, hasher, mut sum, .. } = self;
        let sync = || out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all();
        sync().map_err(failed("write", &path))?;
        sum.file.blake3 = hasher.finalize().to_hex().to_string();
        Ok(sum)
    }
}

/// Failure of reading a list.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContentListError {
    #[error(transparent)]
    File(#[from] FileFailure),
    /// It is another one than the manifest says.
    #[error("{} is damaged", .0.display())]
    Damaged(PathBuf),
}

/// A list, entry by entry.
#[derive(Debug)]
pub(crate) struct ContentList {
    path: PathBuf,
    input: BufReader<File>,
    n_left: u64,
}

impl ContentList {
    /// Opens a list whose sum is this: it is read once before.
    pub(crate) fn open(path: &Path, sum: &ContentSum) -> Result<Peekable<Self>, ContentListError> {
        let found = sum_of(path, |_| Ok::<(), FileFailure>(()))?;
        if found != sum.file || found.bytes != sum.contents.saturating_mul(ENTRY as u64) {
            return Err(ContentListError::Damaged(path.to_owned()));
        }
        let input = BufReader::new(File::open(path).map_err(failed("read", path))?);
        Ok(Self { path: path.to_owned(), input, n_left: sum.contents }.peekable())
    }
}

impl Iterator for ContentList {
    type Item = Result<ListedContent, FileFailure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.n_left = self.n_left.checked_sub(1)?;
        let mut entry = [0; ENTRY];
        if let Err(why) = self.input.read_exact(&mut entry) {
            self.n_left = 0;
            return Some(Err(failed("read", &self.path)(why)));
        }
        Some(Ok(ListedContent::decode(&entry)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(n: u8) -> ListedContent {
        let is_present = !n.is_multiple_of(2);
        ListedContent { hash: AssetHash([n; 32]), length: u32::from(n) * 1_000, is_present }
    }

    fn written(path: &Path) -> ContentSum {
        let mut list = ContentListWriter::create(path).unwrap();
        [1, 2, 7].into_iter().for_each(|n| list.push(content(n)).unwrap());
        list.finish().unwrap()
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("contents.list");
        let sum = written(&path);
        assert_eq!((sum.contents, sum.lost, sum.bytes, sum.file.bytes), (3, 1, 10_000, 120));
        let list: Vec<ListedContent> = ContentList::open(&path, &sum).unwrap().map(Result::unwrap).collect();
        assert_eq!(list, [1, 2, 7].map(content));
    }

    #[test]
    fn a_damaged_list_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("contents.list");
        let sum = written(&path);
        let whole = std::fs::read(&path).unwrap();
        let is_refused = || matches!(ContentList::open(&path, &sum), Err(ContentListError::Damaged(_)));
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, bytes).unwrap();
            assert!(is_refused(), "byte {at}");
        }
        for shorter in [0, 1, 40, 119] {
            std::fs::write(&path, &whole[..shorter]).unwrap();
            assert!(is_refused(), "{shorter} bytes");
        }
        std::fs::write(&path, [&whole[..], &[0; 40]].concat()).unwrap();
        assert!(is_refused(), "longer");
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(ContentList::open(&path, &sum), Err(ContentListError::File(_))));
    }

    #[test]
    #[should_panic(expected = "in the order of their hashes")]
    fn a_list_without_order_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut list = ContentListWriter::create(&folder.path().join("contents.list")).unwrap();
        list.push(content(2)).unwrap();
        list.push(content(2)).unwrap();
    }
}
