//! Persistence of the objects and the land of regions: follows a world's frames as a replica does, and writes the changes to the database.
//!
//! [`Keeper`] is a sans-IO core: inputs are frames, outcomes of saves and the time, outputs are batches of rows. It owns no thread, no clock and no
//! database. `store::Store` writes the rows; this crate defines the encoding of their values (`rows`). A batch contains all changes up to a frame, so
//! that the stored region is always the state of one complete frame, except for the positions of objects in motion (`movers`).
//!
//! An object that leaves a region for an inventory is converted into an item ([`itemize`]), whose asset is the object in OpenSimulator's XML ([`encode_object`]);
//! [`object_of_item`] is the reverse conversion. Worn objects are items with rows of their own, which follow the avatar from region to region ([`Wardrobe`]).
//!
//! [`region_file`] encodes a whole region as one file, for export and import.
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
pub use wardrobe::{Wardrobe, WardrobeOrder, WornQuestion, WornRegions, WornState};
pub use worn::{RenewedWorn, WearItemError, WearTask, WornNews, WornObject, renew_worn, worn_of_item};
