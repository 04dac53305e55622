//! Parts of a region's archive.

use super::{ArchivedParcel, ArchivedSettings, OarControl, TerrainFileError, TerrainHeights};
use crate::fields::{DocumentError, ReadDocument};
use crate::file::EntryFault;
use crate::kind::{ArchivedAsset, NoAssetName};

/// A part of an archive.
#[derive(Clone, Debug, PartialEq)]
pub struct OarPart {
    /// Path of its entry.
    pub path: Box<str>,
    /// Folder of its region; none in archives of one region, and for parts that belong to no region.
    pub region: Option<Box<str>>,
    /// Its content.
    pub content: OarContent,
}

/// Content of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum OarContent {
    /// The control file.
    Control(Box<ReadDocument<OarControl>>),
    /// Settings of the region.
    Settings(Box<ReadDocument<ArchivedSettings>>),
    /// A parcel of the region.
    Parcel(Box<ReadDocument<ArchivedParcel>>),
    /// The terrain of the region.
    Terrain(TerrainHeights),
    /// The document of a linkset, which [`crate::object`] reads.
    Object(Vec<u8>),
    /// An asset.
    Asset(ArchivedAsset),
    /// A file of no section.
    Other(Vec<u8>),
    /// A folder.
    Folder,
    /// A part that cannot be read.
    Unreadable {
        /// The reason.
        reason: OarPartError,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// An entry that was skipped.
    Refused(EntryFault),
}

/// Reason for which a part cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OarPartError {
    /// Its document.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// Its heights.
    #[error(transparent)]
    Terrain(#[from] TerrainFileError),
    /// The name of an asset's file.
    #[error(transparent)]
    Asset(#[from] NoAssetName),
}
