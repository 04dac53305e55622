//! Parts of an inventory's archive, one after the other.

use super::{
    ArchivedItem, ArchivedProfile, INVENTORY, IarContent, IarControl, IarPart, IarPartError, read_location,
};
use crate::file::{ArchiveLimits, ArchiveReader, FileError, FileSummary, NextEntry};
use crate::kind::{ASSETS, ArchivedAsset, read_asset_path};
use crate::oar::CONTROL;
use std::io::Read;

/// Folder of profiles.
pub(crate) const PROFILES: &str = "userprofiles/";

/// Description of a folder, in archives of some programs.
pub(crate) const FOLDER_METADATA: &str = "__folder_metadata.xml";

/// A reader of parts. It holds one part at a time.
#[derive(Debug)]
pub struct IarReader<R: Read> {
    entries: ArchiveReader<R>,
}

impl<R: Read> IarReader<R> {
    /// Begins to read a file, compressed with gzip or not.
    ///
    /// # Errors
    /// [`FileError::Io`], or [`FileError::OtherForm`] for a file that begins in another form.
    pub fn open(input: R, limits: ArchiveLimits) -> Result<Self, FileError> {
        Ok(Self { entries: ArchiveReader::open(input, limits)? })
    }

    /// Totals so far.
    #[must_use]
    pub fn summary(&self) -> FileSummary {
        self.entries.summary()
    }

    /// The next part; none behind the last one.
    ///
    /// # Errors
    /// [`FileError`], after which there are no further parts.
    pub fn next_part(&mut self) -> Result<Option<IarPart>, FileError> {
        let entry = match self.entries.next_entry()? {
            None => return Ok(None),
            Some(NextEntry::Refused(entry)) => {
                return Ok(Some(IarPart { path: entry.path, content: IarContent::Refused(entry.reason) }));
            }
            Some(NextEntry::Entry(entry)) => entry,
        };
        let content = if entry.is_folder {
            read_folder(&entry.path)
        } else {
            let mut bytes = Vec::new();
            self.entries.read_content(&mut bytes)?;
            read_file(&entry.path, bytes)
        };
        Ok(Some(IarPart { path: entry.path, content }))
    }
}

fn read_folder(path: &str) -> IarContent {
    if !path.starts_with(INVENTORY) {
        return IarContent::OtherFolder;
    }
    match read_location(path, true) {
        Ok(location) => IarContent::Folder(location),
        Err(why) => IarContent::Unreadable { reason: why.into(), bytes: None },
    }
}

fn read_file(path: &str, bytes: Vec<u8>) -> IarContent {
    let read = if path == CONTROL {
        IarControl::read(&bytes).map(|read| IarContent::Control(Box::new(read))).map_err(IarPartError::from)
    } else if path.starts_with(INVENTORY) && !path.ends_with(FOLDER_METADATA) {
        read_item(path, &bytes)
    } else if path.starts_with(PROFILES) {
        ArchivedProfile::read(&bytes)
            .map(|read| IarContent::Profile(Box::new(read)))
            .map_err(IarPartError::from)
    } else if path.starts_with(ASSETS) {
        match read_asset_path(path) {
            Ok((id, kind)) => return IarContent::Asset(ArchivedAsset { id, kind, bytes }),
            Err(why) => Err(why.into()),
        }
    } else {
        return IarContent::Other(bytes);
    };
    read.unwrap_or_else(|reason| IarContent::Unreadable { reason, bytes: Some(bytes) })
}

fn read_item(path: &str, bytes: &[u8]) -> Result<IarContent, IarPartError> {
    let location = read_location(path, false)?;
    Ok(IarContent::Item { location, item: Box::new(ArchivedItem::read(bytes)?) })
}
