//! Parts of a region's archive, one after the other.

use super::{
    ArchivedParcel, ArchivedSettings, OarContent, OarControl, OarPart, OarPartError, OarPath, OarSection,
    TerrainHeights,
};
use crate::file::{ArchiveLimits, ArchiveReader, FileError, FileSummary, NextEntry};
use crate::kind::{ArchivedAsset, read_asset_path};
use std::io::Read;

/// A reader of parts. It holds one part at a time.
#[derive(Debug)]
pub struct OarReader<R: Read> {
    entries: ArchiveReader<R>,
    control: Option<OarControl>,
}

impl<R: Read> OarReader<R> {
    /// Begins to read a file, compressed with gzip or not.
    ///
    /// # Errors
    /// [`FileError::Io`], or [`FileError::OtherForm`] for a file that begins in another form.
    pub fn open(input: R, limits: ArchiveLimits) -> Result<Self, FileError> {
        Ok(Self { entries: ArchiveReader::open(input, limits)?, control: None })
    }

    /// The control file, once it was read. It stands first in archives from version 0.4 on.
    #[must_use]
    pub const fn control(&self) -> Option<&OarControl> {
        self.control.as_ref()
    }

    /// Totals so far.
    #[must_use]
    pub fn summary(&self) -> FileSummary {
        self.entries.summary()
    }

    /// The next part; none behind the last one. A terrain before the control file is taken for that of a square region.
    ///
    /// # Errors
    /// [`FileError`], after which there are no further parts.
    pub fn next_part(&mut self) -> Result<Option<OarPart>, FileError> {
        let entry = match self.entries.next_entry()? {
            None => return Ok(None),
            Some(NextEntry::Refused(entry)) => {
                let content = OarContent::Refused(entry.reason);
                return Ok(Some(OarPart { path: entry.path, region: None, content }));
            }
            Some(NextEntry::Entry(entry)) => entry,
        };
        let place = OarPath::read(&entry.path);
        let region = place.region.map(Box::from);
        let content = if entry.is_folder {
            OarContent::Folder
        } else {
            let mut bytes = Vec::new();
            self.entries.read_content(&mut bytes)?;
            // An archive may have many regions, among which the size of one is looked for.
            let control = self.control.as_ref().filter(|_| place.section == OarSection::Terrain);
            let stated = control.and_then(|control| control.size_of(place.region));
            let stated = stated.map(|size| (size.width_m, size.depth_m));
            read_content(&place, stated, bytes)
        };
        if let OarContent::Control(control) = &content {
            self.control = Some(control.value.clone());
        }
        Ok(Some(OarPart { path: entry.path, region, content }))
    }
}

fn read_content(place: &OarPath<'_>, stated: Option<(u32, u32)>, bytes: Vec<u8>) -> OarContent {
    let read = match place.section {
        OarSection::Control => OarControl::read(&bytes)
            .map(|read| OarContent::Control(Box::new(read)))
            .map_err(OarPartError::from),
        OarSection::Settings => ArchivedSettings::read(&bytes)
            .map(|read| OarContent::Settings(Box::new(read)))
            .map_err(OarPartError::from),
        OarSection::Parcel => ArchivedParcel::read(&bytes)
            .map(|read| OarContent::Parcel(Box::new(read)))
            .map_err(OarPartError::from),
        OarSection::Terrain => {
            TerrainHeights::read(&bytes, stated).map(OarContent::Terrain).map_err(OarPartError::from)
        }
        OarSection::Asset => match read_asset_path(place.path) {
            Ok((id, kind)) => return OarContent::Asset(ArchivedAsset { id, kind, bytes }),
            Err(why) => Err(why.into()),
        },
        OarSection::Object => return OarContent::Object(bytes),
        OarSection::Other => return OarContent::Other(bytes),
    };
    read.unwrap_or_else(|reason| OarContent::Unreadable { reason, bytes })
}
