//! Parts of an inventory's archive.

use super::{ArchivedItem, ArchivedProfile, IarControl, NodeLocation, NodeLocationError};
use crate::fields::{DocumentError, ReadDocument};
use crate::file::EntryFault;
use crate::kind::{ArchivedAsset, NoAssetName};

/// A part of an archive.
#[derive(Clone, Debug, PartialEq)]
pub struct IarPart {
    /// Path of its entry.
    pub path: Box<str>,
    /// Its content.
    pub content: IarContent,
}

/// Content of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum IarContent {
    /// The control file.
    Control(Box<ReadDocument<IarControl>>),
    /// A folder of the inventory. Folders with something in them may be absent.
    Folder(NodeLocation),
    /// An item or a link.
    Item {
        /// Its place.
        location: NodeLocation,
        /// The item.
        item: Box<ReadDocument<ArchivedItem>>,
    },
    /// A profile of a user.
    Profile(Box<ReadDocument<ArchivedProfile>>),
    /// An asset.
    Asset(ArchivedAsset),
    /// A file of no section, also a description of a folder.
    Other(Vec<u8>),
    /// A folder that is none of the inventory.
    OtherFolder,
    /// A part that cannot be read.
    Unreadable {
        /// The reason.
        reason: IarPartError,
        /// Its bytes; none of a folder.
        bytes: Option<Vec<u8>>,
    },
    /// An entry that was skipped.
    Refused(EntryFault),
}

/// Reason for which a part cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IarPartError {
    /// Its document.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// Its place.
    #[error(transparent)]
    Location(#[from] NodeLocationError),
    /// The name of an asset's file.
    #[error(transparent)]
    Asset(#[from] NoAssetName),
}
