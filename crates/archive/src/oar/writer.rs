//! Parts of a region's archive are written in the order of the calls, the control file before them.
//!
//! OpenSimulator writes settings, parcels, terrain and objects of one region after the other, and all assets at the end.

use super::path::{object_path, parcel_path, settings_path, terrain_path};
use super::{ArchivedParcel, ArchivedSettings, CONTROL, OarContent, OarControl, OarPart, TerrainHeights};
use crate::file::{ArchiveWriteError, ArchiveWriter};
use crate::kind::{ArchivedKind, asset_path};
use ids::Uuid;
use std::io::Write;

/// A writer of parts. `region` in its methods is the folder of a region in an archive of several, and none in one of one region.
#[derive(Debug)]
pub struct OarWriter<W: Write> {
    archive: ArchiveWriter<W>,
}

impl<W: Write> OarWriter<W> {
    /// Writes the control file, which is the first entry.
    ///
    /// # Errors
    /// [`ArchiveWriteError`]: [`ArchiveWriteError::Order`] if the archive has entries already.
    pub fn begin(mut archive: ArchiveWriter<W>, control: &OarControl) -> Result<Self, ArchiveWriteError> {
        if archive.n_entries() > 0 {
            let rule = "the control file is the first entry";
            return Err(ArchiveWriteError::Order { path: CONTROL.into(), rule });
        }
        archive.append(CONTROL, control.write().as_bytes())?;
        Ok(Self { archive })
    }

    /// Writes settings of a region by its name.
    ///
    /// # Errors
    /// [`ArchiveWriteError`].
    pub fn settings(
        &mut self,
        region: Option<&str>,
        name: &str,
        settings: &ArchivedSettings,
    ) -> Result<(), ArchiveWriteError> {
        self.archive.append(&settings_path(region, name), settings.write().as_bytes())
    }

    /// Writes a parcel.
    ///
    /// # Errors
    /// [`ArchiveWriteError`].
    pub fn parcel(&mut self, region: Option<&str>, parcel: &ArchivedParcel) -> Result<(), ArchiveWriteError> {
        self.archive.append(&parcel_path(region, parcel.id), parcel.write().as_bytes())
    }

    /// Writes the terrain of a region by its name.
    ///
    /// # Errors
    /// [`ArchiveWriteError`].
    pub fn terrain(
        &mut self,
        region: Option<&str>,
        name: &str,
        terrain: &TerrainHeights,
    ) -> Result<(), ArchiveWriteError> {
        self.archive.append(&terrain_path(region, name), &terrain.write())
    }

    /// Writes the document of a linkset with the name, place and id of its root.
    ///
    /// # Errors
    /// [`ArchiveWriteError`].
    pub fn object(
        &mut self,
        region: Option<&str>,
        root: (&str, [f32; 3], Uuid),
        document: &str,
    ) -> Result<(), ArchiveWriteError> {
        let (name, at, id) = root;
        self.archive.append(&object_path(region, name, at, id), document.as_bytes())
    }

    /// Writes an asset.
    ///
    /// # Errors
    /// [`ArchiveWriteError`].
    pub fn asset(&mut self, id: Uuid, kind: ArchivedKind, bytes: &[u8]) -> Result<(), ArchiveWriteError> {
        self.archive.append(&asset_path(id, kind), bytes)
    }

    /// Writes a part at the path that it had. A control file is written at the beginning only, and refused entries are not written.
    ///
    /// # Errors
    /// [`ArchiveWriteError`].
    pub fn part(&mut self, part: &OarPart) -> Result<(), ArchiveWriteError> {
        let path = &*part.path;
        match &part.content {
            OarContent::Control(_) | OarContent::Refused(_) => Ok(()),
            OarContent::Settings(read) => self.archive.append(path, read.value.write().as_bytes()),
            OarContent::Parcel(read) => self.archive.append(path, read.value.write().as_bytes()),
            OarContent::Terrain(terrain) => self.archive.append(path, &terrain.write()),
            OarContent::Asset(asset) => self.archive.append(path, &asset.bytes),
            OarContent::Object(bytes) | OarContent::Other(bytes) | OarContent::Unreadable { bytes, .. } => {
                self.archive.append(path, bytes)
            }
            OarContent::Folder => self.archive.append_folder(path),
        }
    }

    /// Writes the end of the archive, and returns the output.
    ///
    /// # Errors
    /// [`ArchiveWriteError::Io`].
    pub fn finish(self) -> Result<W, ArchiveWriteError> {
        self.archive.finish()
    }
}
