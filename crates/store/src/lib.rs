//! Durable rows: accounts and their inventories, ids of assets, the states of instances, the objects and the land of regions, tokens of the operator's API
//! and its jobs, in an SQLite file or in a PostgreSQL database.
//!
//! This is the only crate that knows SQL. It holds rows and keeps them whole; it does not know what a name may look
//! like, which folders an account needs or how a password is hashed: that is `grid`. Times of rows are arguments.
//!
//! Start with [`Store`]. Every call blocks its thread, so an async caller makes it on a blocking thread. A write has reached the disk when
//! its call returns. With SQLite, callers take turns, and reads cost microseconds. With PostgreSQL, up to four run side by side, each
//! statement takes a journey to the server, and a call waits for a server that restarts, at most as long as the
//! pool (`engine`) says.

mod account;
mod appearance;
mod asset;
mod check;
mod copy;
mod counter;
mod cut;
mod damage;
mod database;
mod engine;
mod error;
mod held_items;
mod held_objects;
mod held_row;
mod identity;
mod instance;
mod instance_state;
mod inventory;
mod job;
mod object_damage;
mod object_rows;
mod rebuild;
mod region;
mod region_contents;
mod region_documents;
mod region_land;
mod region_materials;
mod region_objects;
mod schema;
mod seal_check;
mod seals;
mod tables;
#[cfg(test)]
mod testing;
mod token;
mod uploads;
mod url;
mod view;
mod worn_objects;
mod worn_rows;

pub use account::{Account, Location, NewAccount, PasswordHash};
pub use appearance::{AppearanceDamage, StoredAppearance, StoredBake, StoredWearable};
pub use asset::{AssetAdded, AssetContent, AssetCount, AssetHash, AssetRow, StoredAsset};
pub use check::{CheckReport, check, migrate};
pub use copy::{CopyError, CopyProgress, CopyReport, copy};
pub use cut::{
    CutError, CutProgress, CutReport, RegionCut, cut, end_quarantine, newest_version, read_back,
    remove_from_cut,
};
pub use damage::{Damage, Part, SET_ASIDE_MAX};
pub use database::Store;
pub use error::{DatabaseFailure, StoreError};
pub use held_items::{ItemEffect, ItemOrigin, ItemTransfer};
pub use held_objects::{HeldChange, HeldEntry, HeldFilter, HeldPage, TakeHeld};
pub use held_row::HeldRow;
pub use instance::{Instance, InstanceList, InstanceOrigin, Listed};
pub use instance_state::{InstanceState, State};
pub use inventory::{
    ActiveGesture, FlawedItem, Folder, FolderChoice, FolderContents, GiftOutcome, GivenItem, InventoryChange,
    InventoryGift, InventoryLimits, InventoryOutcome, InventoryRefusal, Item, ItemCounts, ItemUpdate,
    MarkItem, NewFolder, OFFERS_MAX, OFFERS_WAITING_MAX, Offer, OfferAnswered, OfferKind, Permissions,
    SYSTEM_FOLDER_TYPES, Sale,
};
pub use job::{JobList, JobRow};
pub use object_damage::{OBJECTS_SET_ASIDE_MAX, ObjectDamage, ObjectPart, RowAside};
pub use object_rows::{KeyedRows, ObjectRows};
pub use rebuild::RebuiltTable;
pub use region::RegionRow;
pub use region_contents::RegionContent;
pub use region_documents::{DocumentChanges, RegionDocument};
pub use region_land::{LandChanges, LandKey, LandKind, LandRows};
pub use region_objects::{RegionChanges, StoredRegion};
pub use seal_check::{RowDamage, SealWalk, SealedPage};
pub use tables::TableDigest;
pub use token::{ApiToken, TOKEN_HASH_BYTES};
pub use uploads::{ItemChange, UploadAdded, UploadRows};
pub use url::{StoreUrl, StoreUrlError};
pub use view::{ItemReference, RegionRowFound, StoreView, view};
pub use worn_objects::{NewWorn, WearOutcome, WornArrival, WornAsset, WornList, WornSave};
pub use worn_rows::{WornDamage, WornRow};
