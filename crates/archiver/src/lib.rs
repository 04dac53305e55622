//! Between archives and what a grid has: regions become archives and archives become regions, and so do inventories.
//!
//! [`region`] has the way of a region: a [`region::RegionPlan`] of what an archive would do to one, [`region::LinksetConverter`] and the land for a running
//! world, and [`region::write_region`] back. [`inventory`] has the same for folders of an inventory. [`AssetClosure`] finds the assets that an archive has to
//! have: those that are named in it, and those that these name.
//!
//! Rules are OpenSimulator's where it has any: accounts that are not known become a default user, groups that are not known none, ids are given anew unless
//! they are to be kept. Nothing here has a thread, a clock or a database: archives are streams of the caller, accounts and assets are functions of it.

mod accounts;
mod closure;
mod findings;
pub mod inventory;
pub mod region;
mod renewed_ids;
#[cfg(test)]
mod testing;

pub use accounts::AccountRules;
pub use closure::{AssetClosure, MissingAsset, each_asset};
pub use findings::{Finding, Findings};
pub use renewed_ids::{IdRule, RenewedIds};
