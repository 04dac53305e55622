//! Keeps the objects and the land of regions: follows a world's frames as a replica does, and writes what has changed behind them.
//!
//! [`Keeper`] is a sans-IO core: frames and outcomes of saves go in with the time, batches of rows come out. It owns no thread, no clock and no
//! database; `store::Store` has the rows, and encoding and meaning of their values lie here (`rows`). A batch has everything up to a frame, so that
//! the region on the disk is always the whole one of some frame, but for the places of objects in motion (`movers`).
//!
//! [`region_file`] is a whole region as one file, for export and import.
//!
//! Start with [`Keeper::load`] and [`Keeper::handle_frame`].

mod batch_rows;
mod escrow;
mod import;
mod keeper;
mod land;
mod linksets;
mod load;
mod load_land;
mod movers;
pub mod region_file;
mod rows;
#[cfg(test)]
mod testing;
mod tracked;
mod unsaved;
mod used_ids;

pub use escrow::{RestoreError, RestoreOrder, RestoreOutcome, held_linkset};
pub use import::{Imported, Linkset, NoRoom, import, linksets};
pub use keeper::{Batch, Following, Keeper, KeeperConfig};
pub use load::{DamagedObject, LoadError, LoadedRegion, RegionIds};
pub use load_land::{DamagedLand, NewLand};
pub use rows::RowError;
