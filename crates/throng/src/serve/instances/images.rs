//! How states of instances lie in the store: a world's snapshot compressed, and what is journalled as it is, each with a version.
//!
//! ```text
//! image    version u16 | length u32 | zlib of World::snapshot        integers little-endian
//! journal  version u16 | World::progress
//! ```
//!
//! Checksums are the store's, and a snapshot has another one of its own.

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use std::io::{Read, Write};
use thiserror::Error;
use world::{ProgressError, RestoreError, World, WorldConfig};

/// Rises whenever the form around a snapshot changes; the snapshot's own version is in it.
const IMAGE_VERSION: u16 = 1;
/// Likewise of what is journalled.
const JOURNAL_VERSION: u16 = 1;
/// No world of an instance takes more: whatever claims to is damaged.
const SNAPSHOT_BYTES_MAX: u32 = 64 << 20;

/// Why a state makes no world.
#[derive(Debug, Error)]
pub(super) enum ImageError {
    /// Another build wrote it.
    #[error("version {found} of a saved state, this build reads {IMAGE_VERSION}")]
    Version { found: u16 },
    /// Likewise.
    #[error("version {found} of a journal, this build reads {JOURNAL_VERSION}")]
    JournalVersion { found: u16 },
    /// It is what was written, and that was nonsense.
    #[error("it cannot be decompressed")]
    Undecodable,
    /// The snapshot makes none.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// What was journalled does not belong to the world.
    #[error(transparent)]
    Progress(#[from] ProgressError),
}

impl ImageError {
    /// Whether nothing will ever be made of it. What only another build wrote, or what fits another configuration, is whole.
    pub(super) const fn is_damage(&self) -> bool {
        match self {
            Self::Version { .. } | Self::JournalVersion { .. } => false,
            Self::Undecodable => true,
            Self::Progress(why) => {
                matches!(why, ProgressError::Undecodable(_) | ProgressError::Inconsistent)
            }
            Self::Restore(why) => matches!(
                why,
                RestoreError::NotASnapshot
                    | RestoreError::Damaged
                    | RestoreError::Undecodable(_)
                    | RestoreError::Inconsistent
            ),
        }
    }
}

/// A snapshot, to be kept.
pub(super) fn image(snapshot: &[u8]) -> Vec<u8> {
    let mut bytes = IMAGE_VERSION.to_le_bytes().to_vec();
    bytes.extend((snapshot.len() as u32).to_le_bytes());
    let mut encoder = ZlibEncoder::new(bytes, Compression::fast());
    encoder.write_all(snapshot).and_then(|()| encoder.finish()).expect("memory takes whatever is written")
}

/// What has changed, to be kept.
pub(super) fn journal(progress: &[u8]) -> Vec<u8> {
    [&JOURNAL_VERSION.to_le_bytes(), progress].concat()
}

/// A world that goes on from an image, or from the beginning without one. Nobody is in it: circuits of those who were are gone.
pub(super) fn world(config: WorldConfig, image: Option<&[u8]>) -> Result<World, ImageError> {
    match image {
        Some(image) => Ok(World::restore_without_visitors(config, &snapshot(image)?)?),
        None => Ok(World::new(config)),
    }
}

/// Puts into a world what was journalled since; false when that was of other missions, which have begun anew. When it fails nothing has
/// changed.
pub(super) fn take_up(world: &mut World, journal: &[u8]) -> Result<bool, ImageError> {
    match world.take_up_progress(body(journal)?) {
        Ok(()) => Ok(true),
        Err(ProgressError::OtherMissions { .. }) => Ok(false),
        Err(why) => Err(why.into()),
    }
}

fn snapshot(image: &[u8]) -> Result<Vec<u8>, ImageError> {
    let (version, rest) = image.split_first_chunk().ok_or(ImageError::Undecodable)?;
    match u16::from_le_bytes(*version) {
        IMAGE_VERSION => {}
        found => return Err(ImageError::Version { found }),
    }
    let (length, compressed) = rest.split_first_chunk().ok_or(ImageError::Undecodable)?;
    let length = u32::from_le_bytes(*length);
    if length > SNAPSHOT_BYTES_MAX {
        return Err(ImageError::Undecodable);
    }
    let mut snapshot = Vec::new();
    // One more byte than it should have is enough to see that.
    let read = ZlibDecoder::new(compressed).take(u64::from(length) + 1).read_to_end(&mut snapshot);
    match read {
        Ok(n) if n == length as usize => Ok(snapshot),
        _ => Err(ImageError::Undecodable),
    }
}

fn body(journal: &[u8]) -> Result<&[u8], ImageError> {
    let (version, progress) = journal.split_first_chunk().ok_or(ImageError::Undecodable)?;
    match u16::from_le_bytes(*version) {
        JOURNAL_VERSION => Ok(progress),
        found => Err(ImageError::JournalVersion { found }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_comes_back_as_it_was_and_smaller_meanwhile() {
        for bytes in [vec![], vec![7; 100_000], (0..10_000_u32).flat_map(u32::to_le_bytes).collect()] {
            let kept = image(&bytes);
            assert_eq!(snapshot(&kept).ok(), Some(bytes));
        }
        assert!(image(&vec![7; 100_000]).len() < 1_000);
    }

    #[test]
    fn no_bytes_make_it_panic_or_inflate_without_end() {
        let kept = image(&vec![7; 100_000]);
        for length in 0..kept.len() {
            assert!(snapshot(&kept[..length]).is_err(), "{length} bytes");
        }
        let mut other = kept.clone();
        other[0] = 9;
        assert!(matches!(snapshot(&other), Err(ImageError::Version { found: 9 })));
        // It says that it is shorter, or longer, than it is.
        for length in [0, 99_999, 100_001, u32::MAX] {
            let mut other = kept.clone();
            other[2..6].copy_from_slice(&length.to_le_bytes());
            assert!(matches!(snapshot(&other), Err(ImageError::Undecodable)), "{length}");
        }
        assert!(matches!(body(&[]), Err(ImageError::Undecodable)));
        assert!(matches!(body(&[2, 0, 1]), Err(ImageError::JournalVersion { found: 2 })));
        assert_eq!(body(&journal(b"blow")).ok(), Some(&b"blow"[..]));
    }
}
