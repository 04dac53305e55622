//! Entries of an archive file, one after the other, with memory for one of them.

use super::entry_path::{self, PATH_BYTES_MAX, PathError};
use super::input::{ArchiveInput, InputFault};
use super::{ArchiveLimits, BLOCK, FileError};
use std::collections::HashSet;
use std::io::Read;
use tar::{EntryType, Header};

/// Bytes by which contents are skipped, and memory for them grows.
const STEP_BYTES: usize = 256 * 1_024;

/// Bytes of a pax header: a path, and times and owners beside it.
const PAX_BYTES_MAX: u64 = 64 * 1_024 + PATH_BYTES_MAX as u64;

/// The next thing in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextEntry {
    /// An entry, whose content can be read before the next one is asked for.
    Entry(ArchiveEntry),
    /// An entry that is not for an archive of a region or inventory. It is skipped.
    Refused(RefusedEntry),
}

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveEntry {
    /// Relative path, without a slash behind it; see [`PathError`] for those that are refused.
    pub path: Box<str>,
    /// A folder, which has no content.
    pub is_folder: bool,
    /// Bytes of its content.
    pub bytes: u64,
    /// Position of its header in the tar file.
    pub inflated_at: u64,
}

/// An entry that is skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedEntry {
    /// Its path as it stands in the archive, cut at [`PATH_BYTES_MAX`].
    pub path: Box<str>,
    /// Bytes of its content.
    pub bytes: u64,
    /// The reason.
    pub reason: EntryFault,
}

/// Reason to skip an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryFault {
    /// A link to another file.
    #[error("it is a link")]
    Link,
    /// A device or a pipe.
    #[error("it is a device")]
    Device,
    /// A kind that archives do not have, by its character in the header.
    #[error("it is of the unknown kind {0:?}")]
    Kind(char),
    /// Its path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Longer than [`ArchiveLimits::entry_bytes_max`].
    #[error("it has {bytes} bytes, at most {bytes_max} are read")]
    Large {
        /// Its bytes.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// An earlier entry has the same path. The first one counts, as in OpenSimulator for assets.
    #[error("an earlier entry has the same path")]
    Duplicate,
}

/// Totals of an archive, as far as it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSummary {
    /// Entries, refused ones included.
    pub n_entries: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of the tar file.
    pub inflated_bytes: u64,
    /// Compressed with gzip.
    pub is_compressed: bool,
    /// Bytes other than zeros follow the end of the archive. They are ignored.
    pub has_trailing_bytes: bool,
}

/// A reader of entries.
///
/// After an error there are no further entries.
#[derive(Debug)]
pub struct ArchiveReader<R: Read> {
    input: ArchiveInput<R>,
    limits: ArchiveLimits,
    /// The entry whose content comes next.
    current: Option<Box<str>>,
    /// Bytes of its content that were not read.
    n_rest: u64,
    /// Bytes between its content and the next header.
    n_padding: u64,
    /// Hashes of the paths of all files before; of 128 bits, so that archives cannot be made in which two are equal.
    seen: HashSet<[u8; 16]>,
    n_headers: u64,
    n_entries: u64,
    paths_bytes: u64,
    is_ended: bool,
    has_trailing_bytes: bool,
    skipped: Box<[u8]>,
}

/// Names and sizes that come before the header that they are for.
#[derive(Default)]
struct HeaderExtensions {
    path: Option<Vec<u8>>,
    bytes: Option<u64>,
}

impl<R: Read> ArchiveReader<R> {
    /// Begins to read a file, compressed with gzip or not.
    ///
    /// # Errors
    /// [`FileError::Io`], or [`FileError::OtherForm`] for a file that begins in another form.
    pub fn open(input: R, limits: ArchiveLimits) -> Result<Self, FileError> {
        let input = ArchiveInput::open(input, limits).map_err(|fault| match fault {
            InputFault::Io(reason) => FileError::Io { place: super::ArchivePosition::default(), reason },
            _ => FileError::OtherForm,
        })?;
        Ok(Self {
            input,
            limits,
            current: None,
            n_rest: 0,
            n_padding: 0,
            seen: HashSet::new(),
            n_headers: 0,
            n_entries: 0,
            paths_bytes: 0,
            is_ended: false,
            has_trailing_bytes: false,
            skipped: vec![0_u8; STEP_BYTES].into(),
        })
    }

    /// Totals so far; of the whole archive once [`ArchiveReader::next_entry`] has returned none.
    #[must_use]
    pub fn summary(&self) -> FileSummary {
        FileSummary {
            n_entries: self.n_entries,
            file_bytes: self.input.n_consumed(),
            inflated_bytes: self.input.n_inflated(),
            is_compressed: self.input.is_compressed(),
            has_trailing_bytes: self.has_trailing_bytes,
        }
    }

    /// The next entry; none behind the last one, once the checksum of the compressed data is verified. The unread rest of the one before is skipped.
    ///
    /// # Errors
    /// [`FileError`], after which there are no further entries.
    pub fn next_entry(&mut self) -> Result<Option<NextEntry>, FileError> {
        if self.is_ended {
            return Ok(None);
        }
        let next = self.find_next();
        if !matches!(next, Ok(Some(_))) {
            self.is_ended = true;
            (self.n_rest, self.n_padding) = (0, 0);
        }
        next
    }

    /// Reads the rest of the current entry's content into `content`, which is emptied before.
    ///
    /// # Errors
    /// [`FileError`], after which there are no further entries.
    pub fn read_content(&mut self, content: &mut Vec<u8>) -> Result<(), FileError> {
        content.clear();
        while self.n_rest > 0 {
            // The size in a header is a claim: memory grows with the bytes that are there.
            let start = content.len();
            let n_step = self.n_rest.min(STEP_BYTES.max(start) as u64) as usize;
            content.resize(start + n_step, 0);
            if let Err(why) = self.take(&mut content[start..]) {
                content.clear();
                return Err(why);
            }
        }
        Ok(())
    }

    /// Reads a part of the current entry's content, and returns its bytes; 0 behind the last one.
    ///
    /// # Errors
    /// [`FileError`], after which there are no further entries.
    pub fn read_part(&mut self, buffer: &mut [u8]) -> Result<usize, FileError> {
        let n_step = self.n_rest.min(buffer.len() as u64) as usize;
        self.take(&mut buffer[..n_step])?;
        Ok(n_step)
    }

    fn find_next(&mut self) -> Result<Option<NextEntry>, FileError> {
        self.skip(self.n_rest + self.n_padding)?;
        (self.n_rest, self.n_padding) = (0, 0);
        let mut extensions = HeaderExtensions::default();
        loop {
            let inflated_at = self.input.n_inflated();
            let Some(header) = self.read_header()? else {
                self.read_end()?;
                return Ok(None);
            };
            let bytes = header.entry_size().map_err(|_| self.header_error("size"))?;
            match header.entry_type() {
                EntryType::GNULongName => {
                    extensions.path = Some(self.read_extension(bytes, PATH_BYTES_MAX as u64)?);
                }
                EntryType::GNULongLink | EntryType::XGlobalHeader => self.skip_padded(bytes)?,
                EntryType::XHeader => {
                    let records = self.read_extension(bytes, PAX_BYTES_MAX)?;
                    read_pax(&records, &mut extensions).ok_or_else(|| self.header_error("pax record"))?;
                }
                kind => {
                    let bytes = extensions.bytes.unwrap_or(bytes);
                    return self.begin_entry(&header, kind, bytes, extensions.path, inflated_at).map(Some);
                }
            }
        }
    }

    /// Decides on an entry whose header was read.
    fn begin_entry(
        &mut self,
        header: &Header,
        kind: EntryType,
        bytes: u64,
        path: Option<Vec<u8>>,
        inflated_at: u64,
    ) -> Result<NextEntry, FileError> {
        self.n_entries += 1;
        let n_padding = padding(bytes);
        if bytes.checked_add(n_padding).is_none() {
            return Err(self.header_error("size"));
        }
        (self.n_rest, self.n_padding) = (bytes, n_padding);
        let raw = path.unwrap_or_else(|| header.path_bytes().into_owned());
        self.paths_bytes += raw.len() as u64;
        if self.paths_bytes > self.limits.paths_bytes_max {
            return Err(FileError::Paths(self.limits.paths_bytes_max));
        }
        let (path, reason) = match entry_path::checked(&raw) {
            Ok(path) => (path, None),
            Err((shown, why)) => (shown, Some(EntryFault::Path(why))),
        };
        // Old programs mark folders by the slash only.
        let is_folder = kind == EntryType::Directory || raw.ends_with(b"/");
        let reason = reason.or_else(|| refusal_of_kind(kind)).or_else(|| {
            let bytes_max = self.limits.entry_bytes_max;
            (bytes > bytes_max).then_some(EntryFault::Large { bytes, bytes_max })
        });
        let reason = reason.or_else(|| (!is_folder && !self.note(&path)).then_some(EntryFault::Duplicate));
        if let Some(reason) = reason {
            (self.n_rest, self.n_padding) = (0, bytes + n_padding);
            return Ok(NextEntry::Refused(RefusedEntry { path, bytes, reason }));
        }
        self.current = Some(path.clone());
        Ok(NextEntry::Entry(ArchiveEntry { path, is_folder, bytes, inflated_at }))
    }

    /// Notes the path of a file; false if it was noted before.
    fn note(&mut self, path: &str) -> bool {
        let hash = blake3::hash(path.as_bytes());
        let short = hash.as_bytes().first_chunk::<16>().expect("a hash has 32 bytes");
        self.seen.insert(*short)
    }

    /// The next header; none at the mark of the end.
    fn read_header(&mut self) -> Result<Option<Header>, FileError> {
        let mut header = Header::new_old();
        let n_read = self.fill(header.as_mut_bytes())?;
        let is_first = self.n_headers == 0;
        if n_read < BLOCK {
            return Err(match (is_first, n_read) {
                (true, 0) => FileError::Empty,
                (true, _) => FileError::OtherForm,
                (false, _) => FileError::Truncated(self.place()),
            });
        }
        if header.as_bytes().iter().all(|&byte| byte == 0) {
            return if is_first { Err(FileError::Empty) } else { Ok(None) };
        }
        if !has_checksum(&header) {
            return Err(if is_first { FileError::OtherForm } else { self.header_error("checksum") });
        }
        self.n_headers += 1;
        if self.n_headers > self.limits.entries_max {
            return Err(FileError::Entries(self.limits.entries_max));
        }
        Ok(Some(header))
    }

    /// Reads to the end of the file, which verifies the checksum of compressed data.
    fn read_end(&mut self) -> Result<(), FileError> {
        self.current = None;
        loop {
            let mut skipped = std::mem::take(&mut self.skipped);
            let result = self.fill(&mut skipped);
            let is_blank =
                result.as_ref().is_ok_and(|&n_read| skipped[..n_read].iter().all(|&byte| byte == 0));
            self.skipped = skipped;
            let n_read = result?;
            self.has_trailing_bytes |= !is_blank;
            if n_read == 0 {
                self.has_trailing_bytes |= self.input.has_trailing_bytes();
                return if self.n_entries == 0 { Err(FileError::Empty) } else { Ok(()) };
            }
        }
    }

    /// Content of an entry that extends the next header.
    fn read_extension(&mut self, bytes: u64, bytes_max: u64) -> Result<Vec<u8>, FileError> {
        if bytes > bytes_max {
            return Err(self.header_error("size of a long path"));
        }
        let mut content = vec![0; bytes as usize];
        if self.fill(&mut content)? < content.len() {
            return Err(FileError::Truncated(self.place()));
        }
        self.skip(padding(bytes))?;
        Ok(content)
    }

    fn skip_padded(&mut self, bytes: u64) -> Result<(), FileError> {
        self.skip(bytes)?;
        self.skip(padding(bytes))
    }

    fn skip(&mut self, n_bytes: u64) -> Result<(), FileError> {
        let mut n_rest = n_bytes;
        while n_rest > 0 {
            let mut skipped = std::mem::take(&mut self.skipped);
            let n_step = n_rest.min(STEP_BYTES as u64) as usize;
            let result = self.fill(&mut skipped[..n_step]);
            self.skipped = skipped;
            if result? < n_step {
                return Err(FileError::Truncated(self.place()));
            }
            n_rest -= n_step as u64;
        }
        Ok(())
    }

    /// Fills `buffer` with content of the current entry, which has that much.
    fn take(&mut self, buffer: &mut [u8]) -> Result<(), FileError> {
        let result = match self.fill(buffer) {
            Ok(n_read) if n_read < buffer.len() => Err(FileError::Truncated(self.place())),
            Ok(_) => {
                self.n_rest -= buffer.len() as u64;
                return Ok(());
            }
            Err(why) => Err(why),
        };
        self.is_ended = true;
        (self.n_rest, self.n_padding) = (0, 0);
        result
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, FileError> {
        self.input.fill(buffer).map_err(|fault| match fault {
            InputFault::Io(reason) => FileError::Io { place: self.place(), reason },
            InputFault::Other => FileError::OtherForm,
            InputFault::Damaged(reason) => FileError::Damaged { place: self.place(), reason },
            InputFault::Truncated => FileError::Truncated(self.place()),
            InputFault::Inflated(bytes_max) => FileError::Inflated(bytes_max),
            InputFault::Ratio(ratio_max) => FileError::Ratio(ratio_max),
        })
    }

    fn header_error(&self, reason: &'static str) -> FileError {
        FileError::Header { place: self.place(), reason }
    }

    fn place(&self) -> super::ArchivePosition {
        self.input.place(self.current.as_deref())
    }
}

/// Zeros between a content and the next header.
fn padding(bytes: u64) -> u64 {
    bytes.wrapping_neg() % BLOCK as u64
}

fn refusal_of_kind(kind: EntryType) -> Option<EntryFault> {
    match kind {
        EntryType::Regular | EntryType::Continuous | EntryType::Directory => None,
        EntryType::Link | EntryType::Symlink => Some(EntryFault::Link),
        EntryType::Char | EntryType::Block | EntryType::Fifo => Some(EntryFault::Device),
        other => Some(EntryFault::Kind(char::from(other.as_byte()))),
    }
}

/// Compares the checksum: the sum of the header's bytes, with blanks in place of itself. Old programs add signed bytes.
fn has_checksum(header: &Header) -> bool {
    // A fuzzer cannot guess it.
    if cfg!(fuzzing) {
        return true;
    }
    let Ok(stated) = header.cksum() else { return false };
    let bytes = header.as_bytes();
    let summed = bytes[..148].iter().chain(&[b' '; 8]).chain(&bytes[156..]);
    let (unsigned, signed) = summed.fold((0_u32, 0_i32), |(unsigned, signed), &byte| {
        (unsigned + u32::from(byte), signed + i32::from(byte.cast_signed()))
    });
    stated == unsigned || i32::try_from(stated) == Ok(signed)
}

/// Reads records of pax: `length key=value\n`, where the length covers all of the record.
fn read_pax(mut records: &[u8], extensions: &mut HeaderExtensions) -> Option<()> {
    while !records.is_empty() {
        let n_digits = records.iter().position(|&byte| byte == b' ')?;
        let n_record: usize = std::str::from_utf8(&records[..n_digits]).ok()?.parse().ok()?;
        let (record, rest) = records.split_at_checked(n_record)?;
        let pair = record.get(n_digits + 1..)?.strip_suffix(b"\n")?;
        let n_key = pair.iter().position(|&byte| byte == b'=')?;
        let value = &pair[n_key + 1..];
        match &pair[..n_key] {
            b"path" if value.len() <= PATH_BYTES_MAX => extensions.path = Some(value.to_vec()),
            b"path" => return None,
            b"size" => extensions.bytes = Some(std::str::from_utf8(value).ok()?.parse().ok()?),
            _ => {}
        }
        records = rest;
    }
    Some(())
}
