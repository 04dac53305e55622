//! Keeps the objects and the land of regions: follows a world's frames as a replica does, and writes what has changed behind them.
//!
//! [`Keeper`] is a sans-IO core: frames and outcomes of saves go in with the time, batches of rows come out. It owns no thread, no clock and no
//! database; `store::Store` has the rows, and encoding and meaning of their values lie here (`rows`). A batch has everything up to a frame, so that
//! the region on the disk is always the whole one of some frame, but for the places of objects in motion (`movers`).
//!
//! Objects that leave a region for an inventory become items behind it ([`itemize`]), whose assets are objects in OpenSimulator's XML ([`encode_object`]), and come
//! out of them again ([`object_of_item`]). Those that avatars wear are items with rows of their own, which go where the avatars go ([`Wardrobe`]).
//!
//! [`region_file`] is a whole region as one file, for export and import.
//!
//! Start with [`Keeper::load`] and [`Keeper::handle_frame`].

mod batch_rows;
mod check;
mod content_orders;
mod escrow;
mod import;
mod items;
mod keeper;
mod land;
mod linksets;
mod load;
mod load_land;
mod movers;
mod object_asset;
pub mod region_file;
mod rezzed;
mod rows;
#[cfg(test)]
mod testing;
mod tracked;
mod unsaved;
mod used_ids;
mod wardrobe;
mod worn;

pub use check::{FlawedObject, RegionCheck, check_held, check_region, check_worn};
pub use escrow::{ItemOrder, Order, OrderKey, RestoreError, RestoreOrder, RestoreOutcome, RestoreSource};
pub use import::{Imported, Linkset, NoRoom, import, linksets};
pub use items::{AssetBytes, Itemized, content_of, item_of_content, itemize};
pub use keeper::{Batch, Following, Keeper, KeeperConfig, is_saved_as};
pub use load::{DamagedObject, LoadError, LoadedRegion, RegionIds};
pub use load_land::{DamagedLand, NewLand};
pub use object_asset::{TooLong, decode_object, encode_object};
pub use rezzed::{RezTerms, object_of_item};
pub use rows::{RowError, held_object};
pub use wardrobe::{Wardrobe, WardrobeOrder, WornRegions};
pub use worn::{RenewedWorn, WearItemError, WearTask, WornNews, WornObject, renew_worn, worn_of_item};
