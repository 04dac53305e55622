//! Files of findings: records behind a header, each of them postcard.
//!
//! ```text
//! magic 4 | version u32 | clock_zero_ns u64 | record | record | …          integers little-endian
//! ```
//!
//! `clock_zero_ns` is the reading of CLOCK_MONOTONIC at 0 of the bots' clock, so that times of several processes on one machine can be brought to
//! one clock.

use ids::Instant;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use thiserror::Error;

const HEADER_LEN: usize = 16;
/// Between two writes: half a second of a hundred observers in a crowd.
const BUFFER_BYTES: usize = 1 << 20;

/// Kind of a file: its first eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileKind {
    /// The first four bytes.
    pub magic: [u8; 4],
    /// The number behind them, raised with each change of the records.
    pub version: u32,
}

/// A file of findings cannot be read or written.
#[derive(Debug, Error)]
#[error("cannot read or write {path}")]
pub struct RecordFileError {
    /// The file that was named.
    pub path: PathBuf,
    /// The system's error.
    #[source]
    pub source: io::Error,
}

/// Writes records to a file.
#[derive(Debug)]
pub struct RecordWriter<T> {
    path: PathBuf,
    out: BufWriter<File>,
    bytes: Vec<u8>,
    records: PhantomData<fn(&T)>,
}

impl<T: Serialize> RecordWriter<T> {
    /// Begins a file. `now` is the time on the bots' clock.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(path: &Path, kind: FileKind, now: Instant) -> Result<Self, RecordFileError> {
        let begin = || {
            let mut out = BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?);
            out.write_all(&kind.magic)?;
            out.write_all(&kind.version.to_le_bytes())?;
            out.write_all(&monotonic_ns().saturating_sub(now.0).to_le_bytes())?;
            Ok(out)
        };
        let out = begin().map_err(|source| RecordFileError { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), out, bytes: Vec::with_capacity(64), records: PhantomData })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// When the disk takes no more.
    pub fn write(&mut self, record: &T) -> Result<(), RecordFileError> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        self.bytes = postcard::to_extend(record, bytes).expect("numbers in memory always encode");
        self.out.write_all(&self.bytes).map_err(|source| RecordFileError { path: self.path.clone(), source })
    }

    /// Writes buffered records.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn flush(&mut self) -> Result<(), RecordFileError> {
        self.out.flush().map_err(|source| RecordFileError { path: self.path.clone(), source })
    }
}

impl<T: Serialize + DeserializeOwned> RecordWriter<T> {
    /// Continues a file behind its last whole record, or begins it. Returns the records that it has. `now` is the time on the bots' clock, of which a continued
    /// file keeps the first one.
    ///
    /// # Errors
    /// When it cannot be read or written, or is of another kind.
    pub fn append(path: &Path, kind: FileKind, now: Instant) -> Result<(Self, Vec<T>), RecordFileError> {
        let mut records = match Records::<T>::open(path, kind) {
            Ok(records) => records,
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
                return Ok((Self::create(path, kind, now)?, Vec::new()));
            }
            Err(error) => return Err(error),
        };
        let known: Vec<T> = records.by_ref().collect();
        let end = records.at as u64;
        let continue_at = || {
            let mut file = File::options().write(true).open(path)?;
            // A killed process leaves half of a record.
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            Ok(BufWriter::with_capacity(BUFFER_BYTES, file))
        };
        let out = continue_at().map_err(|source| RecordFileError { path: path.to_owned(), source })?;
        let writer = Self { path: path.to_owned(), out, bytes: Vec::with_capacity(64), records: PhantomData };
        Ok((writer, known))
    }
}

/// All records of a file, in their order.
#[derive(Debug)]
pub struct Records<T> {
    /// CLOCK_MONOTONIC at the time 0 of the records.
    pub clock_zero_ns: u64,
    bytes: Vec<u8>,
    at: usize,
    records: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Records<T> {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or is of another kind.
    pub fn open(path: &Path, kind: FileKind) -> Result<Self, RecordFileError> {
        let read = fs::read(path).and_then(|bytes| Self::parse(bytes, kind));
        read.map_err(|source| RecordFileError { path: path.to_owned(), source })
    }

    fn parse(bytes: Vec<u8>, kind: FileKind) -> io::Result<Self> {
        let foreign = || io::Error::new(io::ErrorKind::InvalidData, "not a file of this kind and version");
        let header = bytes.first_chunk::<HEADER_LEN>().ok_or_else(foreign)?;
        let (first, zero) = header.split_at(8);
        if first[..4] != kind.magic || first[4..] != kind.version.to_le_bytes() {
            return Err(foreign());
        }
        let clock_zero_ns = u64::from_le_bytes(zero.try_into().map_err(|_| foreign())?);
        Ok(Self { clock_zero_ns, bytes, at: HEADER_LEN, records: PhantomData })
    }
}

/// Ends with the last whole record: a killed process leaves half of one.
impl<T: DeserializeOwned> Iterator for Records<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let (record, rest) = postcard::take_from_bytes(&self.bytes[self.at..]).ok()?;
        self.at = self.bytes.len() - rest.len();
        Some(record)
    }
}

/// The machine's monotonic clock, in nanoseconds, as recordings and these files have it.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: FileKind = FileKind { magic: *b"THRV", version: 1 };

    #[test]
    fn records_come_back_as_they_were_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("records");
        let records = [(1_u32, "one".to_owned()), (2, "two".to_owned()), (300, String::new())];
        let mut writer = RecordWriter::create(&path, KIND, Instant::ZERO).expect("a file");
        for record in &records {
            writer.write(record).expect("room");
        }
        writer.flush().expect("room");
        let read: Records<(u32, String)> = Records::open(&path, KIND).expect("ours");
        assert!(read.clock_zero_ns > 0);
        assert_eq!(read.collect::<Vec<_>>(), records);

        let mut bytes = fs::read(&path).expect("a file");
        bytes.truncate(bytes.len() - 1);
        let parse = |bytes: &[u8]| Records::<(u32, String)>::parse(bytes.to_vec(), KIND);
        assert_eq!(parse(&bytes).expect("ours").count(), 2, "the last is not whole");
        bytes[4] = 9;
        assert!(parse(&bytes).is_err());
        assert!(parse(b"THRV").is_err());
        assert!(Records::<u8>::open(&path, FileKind { magic: *b"THRS", version: 1 }).is_err());
    }

    #[test]
    fn a_file_is_continued_behind_its_last_whole_record() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("records");
        let append = || RecordWriter::<(u32, String)>::append(&path, KIND, Instant::ZERO);
        let (mut writer, known) = append().expect("a new file");
        assert!(known.is_empty());
        for record in [(1, "one".to_owned()), (2, "two".to_owned())] {
            writer.write(&record).expect("room");
        }
        writer.flush().expect("room");
        drop(writer);
        // A process was killed in the midst of the second one.
        let bytes = fs::read(&path).expect("a file");
        fs::write(&path, &bytes[..bytes.len() - 2]).expect("room");
        let (mut writer, known) = append().expect("ours");
        assert_eq!(known, [(1, "one".to_owned())]);
        writer.write(&(3, "three".to_owned())).expect("room");
        writer.flush().expect("room");
        let all: Records<(u32, String)> = Records::open(&path, KIND).expect("ours");
        assert_eq!(all.collect::<Vec<_>>(), [(1, "one".to_owned()), (3, "three".to_owned())]);
        let other = FileKind { magic: *b"THRS", version: 1 };
        assert!(RecordWriter::<(u32, String)>::append(&path, other, Instant::ZERO).is_err());
    }
}
