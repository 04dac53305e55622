//! Archive files: a tar file, compressed with gzip or not, as a stream of entries.
//!
//! [`ArchiveReader`] returns one entry after the other and holds no more than one; entries that an archive of a region or an inventory cannot have (links,
//! devices, paths that lead out of the archive) are named and skipped. [`ArchiveWriter`] writes entries with constant times, owners and modes, so that equal
//! contents in equal order make equal files.
//!
//! ```text
//! header    512 bytes: name 100, mode 8, owner 8, group 8, size 12, time 12, checksum 8, kind 1, link 100, …
//! content   size bytes, with zeros up to a multiple of 512
//! …         the next entry
//! end       two blocks of 512 zeros
//! ```
//!
//! A path of more than 100 bytes precedes its entry as the content of an entry of kind `L` (GNU) or `x` (pax). OpenSimulator writes `L` in headers of the
//! oldest form, without a mark of GNU's, with bytes above 127 as `?`, and the path without a NUL behind it.

mod entry_path;
mod input;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use entry_path::{PATH_BYTES_MAX, PathError};
pub use reader::{ArchiveEntry, ArchiveReader, EntryFault, FileSummary, NextEntry, RefusedEntry};
pub use writer::{ArchiveWriteError, ArchiveWriter};

use std::fmt;

/// Bytes of a block: of a header, and the unit of contents.
const BLOCK: usize = 512;

/// Time of every entry written, seconds since 1970, as in files of OpenSimulator.
pub(crate) const ENTRY_TIME_S: u64 = 0o11_017_037_332;

/// Bounds on an archive that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Bytes of one entry. A larger one is skipped and named. The terrain of the largest region of OpenSimulator, 4,096 m a side, has 64 MiB.
    pub entry_bytes_max: u64,
    /// Entries, and headers of long paths. Beyond it reading ends with an error.
    pub entries_max: u64,
    /// Bytes of the paths of all entries, which readers note for findings and comparisons. Beyond it reading ends with an error. Paths have 100 bytes for the most
    /// part.
    pub paths_bytes_max: u64,
    /// Bytes of the inflated archive. Beyond it reading ends with an error.
    pub inflated_bytes_max: u64,
    /// Inflated bytes for each compressed one, once 64 MiB are inflated. Beyond it reading ends with an error. Flat terrain has a ratio of 1,000, and is small
    /// beside assets, which have less than 2; XML of objects has 20.
    pub ratio_max: u64,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self {
            entry_bytes_max: 64 << 20,
            entries_max: 2_000_000,
            paths_bytes_max: 256 << 20,
            inflated_bytes_max: 256 << 30,
            ratio_max: 200,
        }
    }
}

/// A position in an archive, for messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchivePosition {
    /// Bytes of the file before it, compressed as they are.
    pub file_bytes: u64,
    /// Bytes of the tar file before it.
    pub inflated_bytes: u64,
    /// The entry that was read last.
    pub entry: Option<Box<str>>,
}

impl fmt::Display for ArchivePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {} of the file ({} uncompressed)", self.file_bytes, self.inflated_bytes)?;
        match &self.entry {
            Some(entry) => write!(f, ", in {}", entry.escape_debug()),
            None => Ok(()),
        }
    }
}

/// Reason for which the rest of an archive cannot be read. Entries returned before are whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// There is no entry.
    #[error("the archive is empty")]
    Empty,
    /// The file does not begin as a tar file does, compressed or not.
    #[error("the file is not an archive: it is neither a tar file nor one compressed with gzip")]
    OtherForm,
    /// The file could not be read.
    #[error("cannot read {place}: {reason}")]
    Io {
        /// The position.
        place: ArchivePosition,
        /// The system's reason.
        reason: String,
    },
    /// The file ends before the archive does.
    #[error("the archive ends early, at {0}")]
    Truncated(ArchivePosition),
    /// The compressed data are damaged before this position, or their checksum is.
    #[error("the compressed data are damaged at {place}: {reason}")]
    Damaged {
        /// The position.
        place: ArchivePosition,
        /// The decoder's reason.
        reason: String,
    },
    /// The header of an entry is none.
    #[error("the header of an entry is damaged at {place}: {reason}")]
    Header {
        /// The position behind it.
        place: ArchivePosition,
        /// The field that is wrong.
        reason: &'static str,
    },
    /// More entries than are read.
    #[error("the archive has more than {0} entries")]
    Entries(u64),
    /// Longer paths than are noted.
    #[error("the paths of the archive's entries have more than {0} bytes")]
    Paths(u64),
    /// More bytes than are inflated.
    #[error("the archive has more than {0} bytes uncompressed")]
    Inflated(u64),
    /// The data are compressed so well that no archive is among them.
    #[error("the archive inflates to more than {0} times its size")]
    Ratio(u64),
}

impl FileError {
    /// True if there is no archive in the file: it is empty, or another file.
    #[must_use]
    pub const fn is_no_archive(&self) -> bool {
        matches!(self, Self::Empty | Self::OtherForm)
    }
}
