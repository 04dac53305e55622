//! Views of observers over time, as a file, to be compared with the truth (a recording of the world).
//!
//! ```text
//! "THRV" | version u32 | clock_zero_ns u64 | View | View | …          integers little-endian, views as postcard
//! ```
//!
//! `clock_zero_ns` is the reading of CLOCK_MONOTONIC at 0 of the bots' clock; a recording has the same, so that both can be brought to
//! one clock on one machine.

use glam::{Quat, Vec3};
use ids::{AgentId, Instant, LocalId};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

const MAGIC: [u8; 4] = *b"THRV";
const VERSION: u32 = 1;
const HEADER_LEN: usize = 16;
/// Between two writes: half a second of a hundred observers in a crowd.
const BUFFER_BYTES: usize = 1 << 20;

/// Something that an observer was shown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Time, on the bots' clock.
    pub at: Instant,
    /// The observer's number among the bots of its process.
    pub observer: u32,
    /// Change.
    pub what: ViewChange,
}

/// Change of an observer's view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ViewChange {
    /// The server placed the observer's own avatar; this is its account.
    Placed(AgentId),
    /// An avatar was shown, by a full or a terse update.
    Avatar {
        /// Its number in the region.
        id: LocalId,
        /// Metres from the region's corner.
        position: Vec3,
        /// Metres per second, for extrapolation.
        velocity: Vec3,
        /// Direction of the body.
        rotation: Quat,
    },
    /// An avatar was taken away.
    Gone(LocalId),
}

/// Writes views to a file.
#[derive(Debug)]
pub struct ViewWriter {
    path: PathBuf,
    out: BufWriter<File>,
    bytes: Vec<u8>,
}

/// Views cannot be written.
#[derive(Debug, Error)]
#[error("cannot write {path}")]
pub struct ViewsError {
    /// The file that was named.
    pub path: PathBuf,
    /// The system's error.
    #[source]
    pub source: io::Error,
}

impl ViewWriter {
    /// Begins a file. `now` is the time on the bots' clock.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(path: &Path, now: Instant) -> Result<Self, ViewsError> {
        let begin = || {
            let mut out = BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?);
            out.write_all(&MAGIC)?;
            out.write_all(&VERSION.to_le_bytes())?;
            out.write_all(&monotonic_ns().saturating_sub(now.0).to_le_bytes())?;
            Ok(out)
        };
        let out = begin().map_err(|source| ViewsError { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), out, bytes: Vec::with_capacity(64) })
    }

    /// Adds a view.
    ///
    /// # Errors
    /// When the disk takes no more.
    pub fn write(&mut self, view: &View) -> Result<(), ViewsError> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        self.bytes = postcard::to_extend(view, bytes).expect("numbers in memory always encode");
        self.out.write_all(&self.bytes).map_err(|source| ViewsError { path: self.path.clone(), source })
    }

    /// Writes buffered views.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn finish(mut self) -> Result<(), ViewsError> {
        self.out.flush().map_err(|source| ViewsError { path: self.path, source })
    }
}

/// All views of a file, in the order of time.
#[derive(Debug)]
pub struct Views {
    /// CLOCK_MONOTONIC at the time 0 of the views.
    pub clock_zero_ns: u64,
    bytes: Vec<u8>,
    at: usize,
}

impl Views {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or is something else.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::parse(fs::read(path)?)
    }

    fn parse(bytes: Vec<u8>) -> io::Result<Self> {
        let foreign = || io::Error::new(io::ErrorKind::InvalidData, "not a file of views of this version");
        let header = bytes.first_chunk::<HEADER_LEN>().ok_or_else(foreign)?;
        let (kind, zero) = header.split_at(8);
        if kind[..4] != MAGIC || kind[4..] != VERSION.to_le_bytes() {
            return Err(foreign());
        }
        let clock_zero_ns = u64::from_le_bytes(zero.try_into().map_err(|_| foreign())?);
        Ok(Self { clock_zero_ns, bytes, at: HEADER_LEN })
    }
}

/// Ends with the last whole view: a killed process leaves half of one.
impl Iterator for Views {
    type Item = View;

    fn next(&mut self) -> Option<View> {
        let (view, rest) = postcard::take_from_bytes(&self.bytes[self.at..]).ok()?;
        self.at = self.bytes.len() - rest.len();
        Some(view)
    }
}

/// The machine's monotonic clock, in nanoseconds, as recordings and views have it.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::Uuid;

    #[test]
    fn views_come_back_as_they_were_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("views");
        let avatar = ViewChange::Avatar {
            id: LocalId(7),
            position: Vec3::new(1.0, 2.0, 3.0),
            velocity: Vec3::X,
            rotation: Quat::IDENTITY,
        };
        let changes = [ViewChange::Placed(AgentId(Uuid::from_u128(9))), avatar, ViewChange::Gone(LocalId(7))];
        let views: Vec<View> = (0..)
            .zip(changes)
            .map(|(n, what)| View { at: Instant::from_millis(n), observer: 3, what })
            .collect();
        let mut writer = ViewWriter::create(&path, Instant::ZERO).expect("a file");
        for view in &views {
            writer.write(view).expect("room");
        }
        writer.finish().expect("room");
        let read = Views::open(&path).expect("ours");
        assert!(read.clock_zero_ns > 0);
        assert_eq!(read.collect::<Vec<View>>(), views);

        let mut bytes = fs::read(&path).expect("a file");
        bytes.truncate(bytes.len() - 1);
        assert_eq!(Views::parse(bytes.clone()).expect("ours").count(), 2, "the last is not whole");
        bytes[4] = 9;
        assert!(Views::parse(bytes).is_err());
        assert!(Views::parse(b"THRV".to_vec()).is_err());
    }
}
