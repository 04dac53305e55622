//! Archive files are written entry by entry, with headers that depend on path and size only.

use super::entry_path::{self, PathError};
use super::{BLOCK, ENTRY_TIME_S};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Read, Write};
use tar::{EntryType, Header};

/// Mode and owners of every entry, those of OpenSimulator.
const MODE: u32 = 0o777;
const OWNER: u64 = 0o764;

/// Path of an entry that holds the path of the next one.
const LONG_PATH: &[u8] = b"././@LongLink";

/// Bytes of a path in a header.
const SHORT_PATH_MAX: usize = 100;

/// Size beyond which OpenSimulator cannot read an entry.
const BYTES_MAX: u64 = i32::MAX as u64;

/// Reason for which an entry was not written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveWriteError {
    /// Its path.
    #[error("cannot write {path:?}: {reason}")]
    Path {
        /// The path.
        path: Box<str>,
        /// The reason.
        reason: PathError,
    },
    /// Its content is longer than 2 GiB, or has another length than was stated.
    #[error("cannot write {path:?}: its content has not the {bytes} bytes that it can have")]
    Length {
        /// The path.
        path: Box<str>,
        /// The stated length, or the limit.
        bytes: u64,
    },
    /// It stands where an archive cannot have it: the control file is the first entry, and in archives of inventories assets are the last.
    #[error("cannot write {path:?} here: {rule}")]
    Order {
        /// The path.
        path: Box<str>,
        /// The rule.
        rule: &'static str,
    },
    /// The file.
    #[error("cannot write the archive")]
    Io(#[from] io::Error),
}

/// A writer of entries.
#[derive(Debug)]
pub struct ArchiveWriter<W: Write> {
    output: ArchiveOutput<W>,
    n_entries: u64,
}

#[derive(Debug)]
enum ArchiveOutput<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
}

impl<W: Write> ArchiveWriter<W> {
    /// Writes a tar file.
    pub const fn plain(output: W) -> Self {
        Self { output: ArchiveOutput::Plain(output), n_entries: 0 }
    }

    /// Writes a tar file compressed with gzip, at a level from 0 to 9, without time and name of the file.
    pub fn gzip(output: W, level: u32) -> Self {
        let encoder = GzEncoder::new(output, Compression::new(level.min(9)));
        Self { output: ArchiveOutput::Gzip(encoder), n_entries: 0 }
    }

    /// Number of entries written.
    pub const fn n_entries(&self) -> u64 {
        self.n_entries
    }

    /// Writes a file.
    ///
    /// # Errors
    /// [`ArchiveWriteError`]; after [`ArchiveWriteError::Io`] the archive is not whole.
    pub fn append(&mut self, path: &str, content: &[u8]) -> Result<(), ArchiveWriteError> {
        self.append_from(path, content.len() as u64, content)
    }

    /// Writes a file with `bytes` bytes of `content`.
    ///
    /// # Errors
    /// [`ArchiveWriteError`]; after [`ArchiveWriteError::Io`] and [`ArchiveWriteError::Length`] the archive is not whole.
    pub fn append_from(
        &mut self,
        path: &str,
        bytes: u64,
        content: impl Read,
    ) -> Result<(), ArchiveWriteError> {
        if bytes > BYTES_MAX {
            return Err(ArchiveWriteError::Length { path: path.into(), bytes: BYTES_MAX });
        }
        let path = checked(path)?;
        self.write_headers(path, EntryType::Regular, bytes)?;
        let n_copied = io::copy(&mut content.take(bytes), &mut self.output)?;
        if n_copied != bytes {
            return Err(ArchiveWriteError::Length { path: path.into(), bytes });
        }
        self.write_padding(bytes)
    }

    /// Writes a folder, with a slash behind its path.
    ///
    /// # Errors
    /// [`ArchiveWriteError`]; after [`ArchiveWriteError::Io`] the archive is not whole.
    pub fn append_folder(&mut self, path: &str) -> Result<(), ArchiveWriteError> {
        let path = format!("{}/", checked(path)?);
        self.write_headers(&path, EntryType::Directory, 0)
    }

    /// Writes the end of the archive, and returns the output.
    ///
    /// # Errors
    /// [`ArchiveWriteError::Io`].
    pub fn finish(mut self) -> Result<W, ArchiveWriteError> {
        self.output.write_all(&[0; 2 * BLOCK])?;
        let mut output = match self.output {
            ArchiveOutput::Plain(output) => output,
            ArchiveOutput::Gzip(encoder) => encoder.finish()?,
        };
        output.flush()?;
        Ok(output)
    }

    fn write_headers(&mut self, path: &str, kind: EntryType, bytes: u64) -> Result<(), ArchiveWriteError> {
        let path = path.as_bytes();
        if path.len() > SHORT_PATH_MAX {
            // Without a NUL behind it: OpenSimulator would take that for a part of the path.
            let n_path = path.len() as u64;
            self.output.write_all(header(LONG_PATH, EntryType::GNULongName, n_path).as_bytes())?;
            self.output.write_all(path)?;
            self.write_padding(n_path)?;
        }
        self.output.write_all(header(path, kind, bytes).as_bytes())?;
        self.n_entries += 1;
        Ok(())
    }

    fn write_padding(&mut self, bytes: u64) -> Result<(), ArchiveWriteError> {
        let n_over = (bytes % BLOCK as u64) as usize;
        if n_over > 0 {
            self.output.write_all(&[0; BLOCK][n_over..])?;
        }
        Ok(())
    }
}

impl<W: Write> Write for ArchiveOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(output) => output.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.flush(),
            Self::Gzip(encoder) => encoder.flush(),
        }
    }
}

fn checked(path: &str) -> Result<&str, ArchiveWriteError> {
    entry_path::check(path).map_err(|reason| ArchiveWriteError::Path { path: path.into(), reason })
}

/// A header with the path cut at [`SHORT_PATH_MAX`] bytes.
fn header(path: &[u8], kind: EntryType, bytes: u64) -> Header {
    let mut header = Header::new_gnu();
    let n_path = path.len().min(SHORT_PATH_MAX);
    header.as_old_mut().name[..n_path].copy_from_slice(&path[..n_path]);
    header.set_mode(MODE);
    header.set_uid(OWNER);
    header.set_gid(OWNER);
    header.set_size(bytes);
    header.set_mtime(ENTRY_TIME_S);
    header.set_entry_type(kind);
    header.set_cksum();
    header
}
