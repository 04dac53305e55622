//! The entries of an archive by their meaning: hashes of contents.

use crate::file::{ArchiveReader, EntryFault, FileError, NextEntry};
use crate::iar::INVENTORY;
use crate::kind::read_asset_path;
use crate::oar::{OarPath, OarSection, object_id};
use std::collections::BTreeMap;
use std::io::Read;

/// Bytes hashed at a time.
const PART_BYTES: usize = 64 * 1_024;

/// Bytes of the paths of all folders of an inventory. Those of one item may have as many as the square of its path.
const FOLDERS_BYTES_MAX: u64 = 256 << 20;

/// All entries of an archive.
pub(super) struct ArchiveIndex {
    /// By a key that is equal for equal things in both archives.
    pub(super) entries: BTreeMap<Box<str>, IndexedEntry>,
    folders_bytes: u64,
}

/// An entry.
pub(super) struct IndexedEntry {
    pub(super) path: Box<str>,
    pub(super) bytes: u64,
    /// Its content is XML.
    pub(super) is_document: bool,
    content: IndexedContent,
}

#[derive(PartialEq)]
enum IndexedContent {
    File([u8; 32]),
    Folder,
    Refused(EntryFault),
}

impl ArchiveIndex {
    /// Reads an archive to its end.
    pub(super) fn read(entries: &mut ArchiveReader<impl Read>) -> Result<Self, FileError> {
        let mut index = Self { entries: BTreeMap::new(), folders_bytes: 0 };
        let mut part = vec![0; PART_BYTES];
        while let Some(next) = entries.next_entry()? {
            match next {
                NextEntry::Refused(entry) => {
                    let content = IndexedContent::Refused(entry.reason);
                    let key = format!("{} (refused)", entry.path);
                    index.add(key, entry.path, (entry.bytes, false, content));
                }
                NextEntry::Entry(entry) if entry.is_folder => index.add_folder(&entry.path)?,
                NextEntry::Entry(entry) => {
                    let mut hasher = blake3::Hasher::new();
                    loop {
                        match entries.read_part(&mut part)? {
                            0 => break,
                            n_read => hasher.update(&part[..n_read]),
                        };
                    }
                    if let Some((folder, _)) = entry.path.rsplit_once('/') {
                        index.add_folder(folder)?;
                    }
                    let content = IndexedContent::File(*hasher.finalize().as_bytes());
                    let is_document = entry.path.ends_with(".xml");
                    let key = key_of(&entry.path);
                    index.add(key, entry.path, (entry.bytes, is_document, content));
                }
            }
        }
        Ok(index)
    }

    /// Adds an entry; under its path if another one has its key.
    fn add(&mut self, key: String, path: Box<str>, facts: (u64, bool, IndexedContent)) {
        let (bytes, is_document, content) = facts;
        let key = if self.entries.contains_key(&*key) { path.clone() } else { key.into() };
        self.entries.insert(key, IndexedEntry { path, bytes, is_document, content });
    }

    /// Adds a folder of an inventory and those that it lies in.
    fn add_folder(&mut self, path: &str) -> Result<(), FileError> {
        let mut folder = path;
        while folder.starts_with(INVENTORY) && !self.entries.contains_key(folder) {
            let entry = IndexedEntry {
                path: folder.into(),
                bytes: 0,
                is_document: false,
                content: IndexedContent::Folder,
            };
            self.entries.insert(folder.into(), entry);
            self.folders_bytes += folder.len() as u64;
            if self.folders_bytes > FOLDERS_BYTES_MAX {
                return Err(FileError::Paths(FOLDERS_BYTES_MAX));
            }
            folder = folder.rsplit_once('/').map_or("", |(outer, _)| outer);
        }
        Ok(())
    }
}

/// The key of a file.
fn key_of(path: &str) -> String {
    let place = OarPath::read(path);
    let region = place.region.unwrap_or_default();
    match place.section {
        OarSection::Object => match object_id(path) {
            Some(id) => format!("{region}/objects/{id}"),
            None => path.to_owned(),
        },
        OarSection::Asset => match read_asset_path(place.path) {
            Ok((id, _)) => format!("assets/{id}"),
            Err(_) => path.to_owned(),
        },
        OarSection::Settings => format!("{region}/settings"),
        OarSection::Terrain => format!("{region}/terrain"),
        OarSection::Control | OarSection::Parcel | OarSection::Other => path.to_owned(),
    }
}

impl IndexedEntry {
    /// True for equal contents. An asset under another name is of another kind.
    pub(super) fn is_equal(&self, other: &Self) -> bool {
        let suffix = |path: &str| read_asset_path(path).ok().map(|(_, kind)| kind);
        self.content == other.content && suffix(&self.path) == suffix(&other.path)
    }

    /// In words.
    pub(super) fn summary(&self) -> String {
        let kind = match read_asset_path(&self.path) {
            Ok((_, Some(kind))) => format!("{kind}, "),
            _ => String::new(),
        };
        match &self.content {
            IndexedContent::Folder => "a folder".to_owned(),
            IndexedContent::Refused(why) => format!("{} bytes, refused: {why}", self.bytes),
            IndexedContent::File(hash) => {
                let hash = blake3::Hash::from_bytes(*hash).to_hex();
                format!("{kind}{} bytes, BLAKE3 {}", self.bytes, &hash[..16])
            }
        }
    }
}
