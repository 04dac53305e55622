//! Archives of inventories (IAR), from version 0.1 to 0.3 and from 1.0 to 1.2, as OpenSimulator reads and writes them.
//!
//! ```text
//! archive.xml                              version: IarControl
//! inventory/<name>__<id>/…/                a folder: NodeName
//! inventory/…/<name>__<id>.xml             an item or a link: ArchivedItem
//! userprofiles/<name>.xml                  names of creators: ArchivedProfile; of some programs
//! assets/<id>_<kind>                       crate::ArchivedKind, all behind the inventory
//! ```
//!
//! Versions from 1.0 on have creators of other grids (`CreatorData`), and otherwise differ in nothing. In 0.1 and 1.0 the control file may stand anywhere.
//! Several linksets of one item are one asset, which [`crate::object`] reads. [`IarReader`] returns the parts in the order of the archive; [`IarWriter`]
//! writes them in the order of its calls, in which OpenSimulator needs assets to be the last.

mod control;
mod item;
mod names;
mod part;
mod profile;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use control::IarControl;
pub use item::{ArchivedItem, LINK_TO_FOLDER, LINK_TO_ITEM};
pub use names::{FOLDER_DEPTH_MAX, NodeLocation, NodeLocationError, NodeName, read_location, write_location};
pub use part::{IarContent, IarPart, IarPartError};
pub use profile::ArchivedProfile;
pub use reader::IarReader;
pub use writer::IarWriter;

pub(crate) use names::INVENTORY;
pub(crate) use reader::{FOLDER_METADATA, PROFILES};
