//! Archives of regions (OAR), from version 0.1 to 0.8 with one region and 1.x with several, as OpenSimulator reads and writes them.
//!
//! ```text
//! archive.xml                                     version and regions: OarControl
//! settings/<region>.xml                           rules, ground, water, environment: ArchivedSettings
//! landdata/<parcel's id>.xml                      one parcel each: ArchivedParcel
//! terrains/<region>.r32                           heights: TerrainHeights
//! objects/<name>_<x>-<y>-<z>__<id>.xml            one linkset each: crate::object
//! assets/<id>_<kind>                              crate::ArchivedKind
//! regions/<directory>/…                           in 1.x the first four of a region
//! ```
//!
//! [`OarReader`] returns the parts in the order of the archive, each with the folder of its region; a part that cannot be read is returned with its bytes and
//! the reason, and other files with their bytes. [`OarWriter`] writes parts in the order of its calls.

mod control;
mod parcel;
mod part;
mod path;
mod reader;
mod settings;
mod terrain;
#[cfg(test)]
mod tests;
mod writer;

pub use control::{OarControl, OarRegion, RegionSize};
pub use parcel::{ArchivedMedia, ArchivedParcel, ParcelAccess, SQUARE_M};
pub use part::{OarContent, OarPart, OarPartError};
pub use path::{OarPath, OarSection};
pub use reader::OarReader;
pub use settings::{ArchivedSettings, ArchivedTelehub, CornerHeights, RegionRules, SpawnPoint};
pub use terrain::{
    HeightScan, REGION_SIDE_M, REGION_SIDE_MAX_M, TerrainFileError, TerrainHeights, terrain_size,
};
pub use writer::OarWriter;

pub(crate) use control::{CONTROL, read_version, write_with_version};
pub(crate) use path::object_id;
