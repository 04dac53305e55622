//! Archives of regions and inventories, and the XML of objects, as OpenSimulator reads and writes them.
//!
//! [`object`] is the codec of objects: linksets with their contents, several in one document; start with [`object::read_object`] and
//! [`object::write_group`]. [`face_llsd`] is that of media and material overrides of a face, which capabilities use, too. [`xml`] is the markup that all
//! documents of an archive share: a reader within bounds, and a writer in the form of the platform on which OpenSimulator runs. [`mod@file`] reads and writes
//! tar files as streams, [`oar`] and [`iar`] the parts in them; [`check`] states how much of an archive would load, and [`diff`] the differences of two.
//! Nothing here knows a world, a store or a thread; files are streams of the caller.

pub mod check;
pub mod diff;
pub mod face_llsd;
mod fields;
pub mod file;
pub mod iar;
mod kind;
pub mod oar;
pub mod object;
#[cfg(test)]
mod testing;
pub mod xml;

pub use fields::{DocumentError, DocumentSource, ReadDocument, UnreadValue};
pub use kind::{ArchivedAsset, ArchivedKind, NoAssetName, asset_path, read_asset_path};
