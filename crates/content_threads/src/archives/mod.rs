//! Loads and saves of archives over the operator's address: `/v1/archives`, with tokens of the scope `archives`. Each is a job on the thread `archive`.
//!
//! ```text
//! api ─► JobDesk ─► thread archive: OarLoad, OarSave, IarLoad, IarSave
//!                              │ commands of the node, land orders, holds of saves
//!                              └─► world, replica, store, assets
//! ```
//!
//! A report on assets that nothing names (`asset_report`) is here as well, since it follows the same references as a save.
//!
//! The crate `archiver` has the conversion; here it meets the running server. A load into a region is all or none, on the screen and on the disk (`oar_load`).

mod api;
mod asset_report;
mod bodies;
mod figures;
mod iar_load;
mod iar_save;
mod inventory_path;
mod loaded_assets;
mod materials;
mod oar_check;
mod oar_land;
mod oar_load;
mod oar_save;
mod parts;
mod region_world;
mod saved_file;
mod steps;

pub use api::router;
pub(crate) use asset_report::AssetReport;
pub use parts::{ArchiveParts, ArchiveRegion};
