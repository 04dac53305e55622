//! The manifest of a backup: its last file, with the sums and figures of the others.
//!
//! Two lines of JSON: the head has the length and the BLAKE3 hash of the second one, which is the manifest. A backup without a whole manifest does not exist.

use crate::content_list::ContentSum;
use crate::files::{FileFailure, FileSum, read_bounded, write_whole};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Number of the form.
const FORM: u32 = 1;

/// Bytes of a manifest, with a hundred sentences and the regions of a full server.
const BYTES_MAX: u64 = 4 * 1_024 * 1_024;

/// Sentences on faults that a manifest has; further ones are counted only.
pub(crate) const FAULTS_MAX: usize = 100;

/// Rows of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSum {
    /// Its name.
    pub table: String,
    /// Number of rows.
    pub rows: u64,
    /// Hash over all rows, hexadecimal digits.
    pub hash: String,
}

/// A region as of the cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionSum {
    /// Its number.
    pub region: u32,
    /// Its name.
    pub name: String,
    /// Life of its world.
    pub epoch: u32,
    /// Number of the frame.
    pub sequence: u64,
}

/// Facts about a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Name of the backup.
    pub name: String,
    /// The program that has written it.
    pub build: String,
    /// Time of the cut, seconds since 1970: everything that was acknowledged before is in it.
    pub cut_s: i64,
    /// Time at which all its files had been read back.
    pub verified_s: i64,
    /// Version of the tables.
    pub schema: u32,
    /// The file of the database.
    pub database: FileSum,
    /// The list of contents.
    pub contents: ContentSum,
    /// Rows of each table.
    pub tables: Vec<TableSum>,
    /// Regions with the numbers of their frames.
    pub regions: Vec<RegionSum>,
    /// Assets.
    pub assets: u64,
    /// Items in inventories and prims.
    pub items: u64,
    /// Prims in regions, and in linksets that are held or worn.
    pub objects: u64,
    /// Faults of rows and contents that were damaged when the backup was made.
    pub damaged: u64,
    /// Things that were missing then.
    pub missing: u64,
    /// The first of these faults, in sentences.
    pub faults: Vec<String>,
    /// Files of contents that this backup was the first to need.
    pub copied_files: u64,
    /// Their bytes.
    pub copied_bytes: u64,
}

impl Manifest {
    /// True if nothing was damaged or lost when the backup was made. Items that name assets which were never here do not count.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.damaged == 0 && self.contents.lost == 0
    }

    /// Bytes of its files, contents that it shares with other backups included.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.database.bytes + self.contents.file.bytes + self.contents.bytes
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// [`ManifestError`].
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        Self::decode(&read_bounded(path, BYTES_MAX)?)
    }

    /// Writes it, durably, as a whole or not at all.
    ///
    /// # Errors
    /// [`FileFailure`].
    pub fn write(&self, path: &Path) -> Result<(), FileFailure> {
        write_whole(path, &self.encode())
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let body = serde_json::to_string(self).expect("a manifest becomes JSON");
        let blake3 = blake3::hash(body.as_bytes()).to_hex().to_string();
        let head = Head { throng_backup: FORM, bytes: body.len() as u64, blake3 };
        let head = serde_json::to_string(&head).expect("a head becomes JSON");
        format!("{head}\n{body}\n").into_bytes()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, ManifestError> {
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or(ManifestError::Damaged)?;
        let (head, body) = (&bytes[..end], &bytes[end + 1..]);
        let head: Head = serde_json::from_slice(head).map_err(|_| ManifestError::Damaged)?;
        if head.throng_backup != FORM {
            return Err(ManifestError::OtherForm(head.throng_backup));
        }
        let body = body.strip_suffix(b"\n").ok_or(ManifestError::Damaged)?;
        let is_whole = body.len() as u64 == head.bytes && blake3::hash(body).to_hex().as_str() == head.blake3;
        if !is_whole && !cfg!(fuzzing) {
            return Err(ManifestError::Damaged);
        }
        serde_json::from_slice(body).map_err(|_| ManifestError::Damaged)
    }
}

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    throng_backup: u32,
    bytes: u64,
    blake3: String,
}

/// Reasons for which a manifest is not read.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file.
    #[error(transparent)]
    File(#[from] FileFailure),
    /// A form of another build.
    #[error("its manifest has form {0} and was written by a later build")]
    OtherForm(u32),
    /// It is not as it was written.
    #[error("its manifest is damaged")]
    Damaged,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            name: "20261224T180000Z".into(),
            build: "throng 0.0.0".into(),
            cut_s: 1_798_135_200,
            tables: vec![TableSum { table: "assets".into(), rows: 7, hash: "ab".into() }],
            regions: vec![RegionSum { region: 1, name: "Ünal\n".into(), epoch: 2, sequence: u64::MAX }],
            faults: vec!["a line\nand another".into()],
            ..Manifest::default()
        }
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manifest.json");
        manifest().write(&path).unwrap();
        assert_eq!(Manifest::read(&path).unwrap(), manifest());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_manifest_with_any_byte_flipped_or_missing_is_refused() {
        let whole = manifest().encode();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            assert!(Manifest::decode(&bytes).is_err(), "byte {at}");
            assert!(Manifest::decode(&whole[..at]).is_err(), "{at} bytes");
        }
        assert!(Manifest::decode(&[&whole[..], b"\n"].concat()).is_err());
    }

    #[test]
    fn a_later_form_is_named() {
        let text = String::from_utf8(manifest().encode()).unwrap();
        let later = text.replacen("\"throng_backup\":1", "\"throng_backup\":2", 1);
        assert!(matches!(Manifest::decode(later.as_bytes()), Err(ManifestError::OtherForm(2))));
    }

    #[test]
    fn a_backup_is_sound_without_damage_and_loss() {
        assert!(Manifest { missing: 3, ..manifest() }.is_sound());
        assert!(!Manifest { damaged: 1, ..manifest() }.is_sound());
        let contents = ContentSum { lost: 1, ..ContentSum::default() };
        assert!(!Manifest { contents, ..manifest() }.is_sound());
    }
}
