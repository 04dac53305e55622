//! Differences of two archives, element by element. [`diff`] reads both several times, with memory for the paths and for one batch of documents.
//!
//! - Entries are compared in any order: objects and assets by their ids, settings and terrain by their region, all others by their path. Folders count in an
//!   inventory only, where an item stands for the folders that it lies in.
//! - Documents are compared by elements, attributes and text. Declarations, comments, blanks between elements, and the order of attributes and of elements
//!   with different names have no meaning. Neither has the order of parts in a linkset, of items in a prim, and of entries in an access list: these
//!   are compared by their ids. Other elements of the same name are compared in their order.
//! - Text is compared character by character: `1` and `1.0` differ, and no two numbers are close enough to be called equal.
//! - All else is compared by its bytes.

mod elements;
mod index;
#[cfg(test)]
mod tests;

use crate::file::{ArchiveLimits, ArchiveReader, FileError, NextEntry};
use index::{ArchiveIndex, IndexedEntry};
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read};

/// Differences that are listed; further ones are counted.
pub const DIFFERENCES_MAX: usize = 10_000;

/// Bytes of documents of one archive that are in memory.
const BATCH_BYTES: u64 = 32 << 20;

/// Characters of a text that is shown.
const TEXT_SHOWN: usize = 200;

/// A place at which two archives differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArchiveDifference {
    /// Path of the entry, and of the element in it: `objects/House…xml/SceneObjectGroup/SceneObjectPart/Name`. Attributes have an `@`.
    pub path: Box<str>,
    /// Text in the first archive, cut; none if there is nothing.
    pub a: Option<Box<str>>,
    /// Text in the second archive, cut; none if there is nothing.
    pub b: Option<Box<str>>,
}

/// All differences of two archives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffReport {
    /// By path, at most [`DIFFERENCES_MAX`].
    pub differences: Vec<ArchiveDifference>,
    /// Number of further ones.
    pub n_more: u64,
}

/// One of two archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffSide {
    /// The first.
    A,
    /// The second.
    B,
}

impl fmt::Display for DiffSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "first",
            Self::B => "second",
        })
    }
}

/// Reason for which archives cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// A file cannot be opened.
    #[error("cannot open the {0} archive")]
    Open(DiffSide, #[source] io::Error),
    /// A file cannot be read to its end.
    #[error("cannot read the {side} archive to its end")]
    File {
        /// The archive.
        side: DiffSide,
        /// The reason.
        #[source]
        reason: FileError,
    },
}

impl DiffError {
    /// The archive that it is about.
    #[must_use]
    pub const fn side(&self) -> DiffSide {
        match self {
            Self::Open(side, _) | Self::File { side, .. } => *side,
        }
    }

    /// True if one of the files is no archive, or cannot be opened.
    #[must_use]
    pub const fn is_no_archive(&self) -> bool {
        match self {
            Self::Open(..) => true,
            Self::File { reason, .. } => reason.is_no_archive(),
        }
    }
}

/// Compares two archives of regions, or of inventories. `open` begins to read one of them, several times.
///
/// # Errors
/// [`DiffError`] if one of them cannot be read to its end.
pub fn diff<R: Read>(
    open: impl Fn(DiffSide) -> io::Result<R>,
    limits: ArchiveLimits,
) -> Result<DiffReport, DiffError> {
    let entries = |side| {
        let input = open(side).map_err(|why| DiffError::Open(side, why))?;
        ArchiveReader::open(input, limits).map_err(|reason| DiffError::File { side, reason })
    };
    let index =
        |side| ArchiveIndex::read(&mut entries(side)?).map_err(|reason| DiffError::File { side, reason });
    let (a, b) = (index(DiffSide::A)?, index(DiffSide::B)?);
    let mut report = DiffReport::default();
    let mut documents: Vec<(&IndexedEntry, &IndexedEntry)> = Vec::new();
    for (key, entry) in &a.entries {
        match b.entries.get(key) {
            None => report.add(&entry.path, Some(&entry.summary()), None),
            Some(other) if entry.is_equal(other) => {}
            Some(other) if entry.is_document && other.is_document => documents.push((entry, other)),
            Some(other) => report.add(&entry.path, Some(&entry.summary()), Some(&other.summary())),
        }
    }
    for (_, entry) in b.entries.iter().filter(|(key, _)| !a.entries.contains_key(*key)) {
        report.add(&entry.path, None, Some(&entry.summary()));
    }
    let mut rest = &documents[..];
    while !rest.is_empty() {
        let (batch, behind) = rest.split_at(batch_length(rest));
        let read = |side, paths: Vec<&str>| {
            read_contents(&mut entries(side)?, paths).map_err(|reason| DiffError::File { side, reason })
        };
        let contents_a = read(DiffSide::A, batch.iter().map(|(entry, _)| &*entry.path).collect())?;
        let contents_b = read(DiffSide::B, batch.iter().map(|(_, entry)| &*entry.path).collect())?;
        for ((entry, other), (content_a, content_b)) in batch.iter().zip(contents_a.iter().zip(&contents_b)) {
            if elements::compare(&entry.path, content_a, content_b, &mut report).is_err() {
                report.add(&entry.path, Some(&entry.summary()), Some(&other.summary()));
            }
        }
        rest = behind;
    }
    report.differences.sort();
    Ok(report)
}

/// Number of documents of the next batch, one at least.
fn batch_length(documents: &[(&IndexedEntry, &IndexedEntry)]) -> usize {
    let mut bytes = 0;
    let fits = |(entry, other): &&(&IndexedEntry, &IndexedEntry)| {
        bytes += entry.bytes.max(other.bytes);
        bytes <= BATCH_BYTES
    };
    documents.iter().take_while(fits).count().max(1)
}

/// Contents of entries, in the order of their paths.
fn read_contents(
    entries: &mut ArchiveReader<impl Read>,
    paths: Vec<&str>,
) -> Result<Vec<Vec<u8>>, FileError> {
    let mut contents = vec![Vec::new(); paths.len()];
    let mut places: HashMap<&str, usize> = paths.into_iter().zip(0..).collect();
    while let Some(next) = entries.next_entry()? {
        let NextEntry::Entry(entry) = next else { continue };
        let place = if entry.is_folder { None } else { places.remove(&*entry.path) };
        if let Some(place) = place {
            entries.read_content(&mut contents[place])?;
            if places.is_empty() {
                break;
            }
        }
    }
    Ok(contents)
}

impl DiffReport {
    /// True for archives that are equal.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty()
    }

    fn add(&mut self, path: &str, a: Option<&str>, b: Option<&str>) {
        if self.differences.len() == DIFFERENCES_MAX {
            self.n_more += 1;
            return;
        }
        let shown = |text: &str| -> Box<str> {
            let mut shown: String = text.chars().take(TEXT_SHOWN).collect();
            if shown.len() < text.len() {
                shown.push('…');
            }
            shown.into()
        };
        self.differences.push(ArchiveDifference { path: path.into(), a: a.map(shown), b: b.map(shown) });
    }
}
