//! Parts of an inventory's archive are written in the order of the calls: the control file, folders and items, and behind them the assets.

use super::{
    ArchivedItem, ArchivedProfile, IarContent, IarControl, IarPart, NodeLocation, PROFILES, write_location,
};
use crate::file::{ArchiveWriteError, ArchiveWriter};
use crate::kind::{ArchivedKind, asset_path};
use crate::oar::CONTROL;
use ids::Uuid;
use std::io::Write;

/// A writer of parts.
#[derive(Debug)]
pub struct IarWriter<W: Write> {
    archive: ArchiveWriter<W>,
    has_assets: bool,
}

impl<W: Write> IarWriter<W> {
    /// Writes the control file, which is the first entry.
    ///
    /// # Errors
    /// [`ArchiveWriteError`]: [`ArchiveWriteError::Order`] if the archive has entries already.
    pub fn begin(mut archive: ArchiveWriter<W>, control: &IarControl) -> Result<Self, ArchiveWriteError> {
        if archive.n_entries() > 0 {
            let rule = "the control file is the first entry";
            return Err(ArchiveWriteError::Order { path: CONTROL.into(), rule });
        }
        archive.append(CONTROL, control.write().as_bytes())?;
        Ok(Self { archive, has_assets: false })
    }

    /// Writes a folder, so that it is there also without items.
    ///
    /// # Errors
    /// [`ArchiveWriteError`]: [`ArchiveWriteError::Order`] behind an asset.
    pub fn folder(&mut self, location: &NodeLocation) -> Result<(), ArchiveWriteError> {
        let path = write_location(location);
        self.check_order(&path)?;
        self.archive.append_folder(&path)
    }

    /// Writes an item or a link.
    ///
    /// # Errors
    /// [`ArchiveWriteError`]: [`ArchiveWriteError::Order`] behind an asset.
    pub fn item(&mut self, location: &NodeLocation, item: &ArchivedItem) -> Result<(), ArchiveWriteError> {
        let path = write_location(location);
        self.check_order(&path)?;
        self.archive.append(&path, item.write().as_bytes())
    }

    /// Writes a profile, under its name.
    ///
    /// # Errors
    /// [`ArchiveWriteError`].
    pub fn profile(&mut self, profile: &ArchivedProfile) -> Result<(), ArchiveWriteError> {
        let name = profile.name.replace(['/', '\\'], "_");
        self.archive.append(&format!("{PROFILES}{name}.xml"), profile.write().as_bytes())
    }

    /// Writes an asset.
    ///
    /// # Errors
    /// [`ArchiveWriteError`].
    pub fn asset(&mut self, id: Uuid, kind: ArchivedKind, bytes: &[u8]) -> Result<(), ArchiveWriteError> {
        self.has_assets = true;
        self.archive.append(&asset_path(id, kind), bytes)
    }

    /// Writes a part at the path that it had. A control file is written at the beginning only, and refused entries are not written.
    ///
    /// # Errors
    /// [`ArchiveWriteError`]: [`ArchiveWriteError::Order`] for a folder or item behind an asset.
    pub fn part(&mut self, part: &IarPart) -> Result<(), ArchiveWriteError> {
        let path = &*part.path;
        match &part.content {
            IarContent::Control(_) | IarContent::Refused(_) => Ok(()),
            IarContent::Folder(_) => {
                self.check_order(path)?;
                self.archive.append_folder(path)
            }
            IarContent::Item { item, .. } => {
                self.check_order(path)?;
                self.archive.append(path, item.value.write().as_bytes())
            }
            IarContent::Profile(read) => self.archive.append(path, read.value.write().as_bytes()),
            IarContent::Asset(asset) => {
                self.has_assets = true;
                self.archive.append(path, &asset.bytes)
            }
            IarContent::Other(bytes) | IarContent::Unreadable { bytes: Some(bytes), .. } => {
                self.archive.append(path, bytes)
            }
            IarContent::OtherFolder | IarContent::Unreadable { bytes: None, .. } => {
                self.archive.append_folder(path)
            }
        }
    }

    /// Writes the end of the archive, and returns the output.
    ///
    /// # Errors
    /// [`ArchiveWriteError::Io`].
    pub fn finish(self) -> Result<W, ArchiveWriteError> {
        self.archive.finish()
    }

    fn check_order(&self, path: &str) -> Result<(), ArchiveWriteError> {
        if self.has_assets {
            let rule = "folders and items stand before all assets";
            return Err(ArchiveWriteError::Order { path: path.into(), rule });
        }
        Ok(())
    }
}
