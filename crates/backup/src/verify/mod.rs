//! A look through all that is stored, which changes nothing: rows against their checksums and against each other, items against assets, assets against files.
//!
//! Rows are read from one view of the database, so that a running server does not matter; files are looked at behind it, and a missing one is looked for in the
//! database again, since temporary assets expire.
//!
//! | checked | how |
//! |---|---|
//! | pages of an SQLite file, references between tables | SQLite's own checks |
//! | rows of regions, objects, land, held objects, instances and their states | checksums, versions, fields |
//! | rows of worn objects and appearances | checksums; fields of worn objects |
//! | rows of accounts, folders, items, offers, assets, tokens, jobs and all other tables | checksums |
//! | linksets | each part has a root, and each number a part |
//! | tickets | a held object's is not above the last one of its region, and the region that has taken it exists |
//! | folders | each leads to a root |
//! | items in inventories, in prims, and in held and worn ones | their assets exist |
//! | items on their way into a region | their inventories have them |
//! | contents of assets | the file exists and has its length; deeply: its bytes have their hash |

mod avatars;
mod contents;
mod flaws;
mod regions;
mod row_check;
mod rows;
mod sealed;

pub(crate) use contents::ContentFaults;
pub use flaws::{FaultList, FlawKind, StoredFlaw, StoredPart};
pub(crate) use row_check::RowFindings;
pub(crate) use rows::check_rows;

use crate::date::date;
use crate::driver::{WorkDriver, WorkEnded};
use crate::files::FileFailure;
use ids::{AgentId, Uuid, WorldId};
use keeper::NewLand;
use serde_json::{Value, json};
use std::fmt;
use std::path::Path;
use store::{StoreError, StoreUrl};

/// A region of the configuration.
#[derive(Clone, Debug)]
pub struct RegionToVerify {
    /// Its number.
    pub world: WorldId,
    /// Its name.
    pub name: String,
    /// The ground that its land lies on. Land of regions without is checked by its checksums only.
    pub land: Option<NewLand>,
}

/// Data to look through.
#[derive(Clone, Copy)]
pub struct VerifyOrder<'a> {
    /// The database.
    pub database: &'a StoreUrl,
    /// Folder of the assets.
    pub assets: &'a Path,
    /// Regions of the configuration.
    pub regions: &'a [RegionToVerify],
    /// True for the assets that the program itself has: they have no rows.
    pub is_own_asset: &'a dyn Fn(Uuid) -> bool,
    /// Read the bytes of all files, and compare their hashes.
    pub is_deep: bool,
}

impl fmt::Debug for VerifyOrder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { database, assets, is_deep, .. } = self;
        f.debug_struct("VerifyOrder")
            .field("database", database)
            .field("assets", assets)
            .field("is_deep", is_deep)
            .finish_non_exhaustive()
    }
}

/// Failure of a look through: it says nothing about the stored data.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The database.
    #[error("cannot read the database")]
    Store(#[from] StoreError),
    /// A file or folder.
    #[error(transparent)]
    File(#[from] FileFailure),
    /// It was ended.
    #[error(transparent)]
    Ended(#[from] WorkEnded),
}

/// Result of a look through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// Assets.
    pub assets: u64,
    /// Items in inventories, in prims, and in prims that are held or worn.
    pub items: u64,
    /// Prims in regions, and in linksets that are held or worn.
    pub objects: u64,
    /// True if bytes were compared with their hashes.
    pub is_deep: bool,
    /// Time of its end, seconds since 1970.
    pub verified_s: i64,
    /// Faults.
    pub faults: FaultList,
}

impl Verification {
    /// For programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "assets": self.assets,
            "items": self.items,
            "objects": self.objects,
            "damaged": self.faults.damaged(),
            "missing": self.faults.missing(),
            "deep": self.is_deep,
            "verified_at": date(self.verified_s),
            "faults": self.faults.to_json(),
        })
    }

    /// In a sentence.
    #[must_use]
    pub fn summary(&self) -> String {
        let Self { assets, items, objects, faults, .. } = self;
        format!(
            "{assets} assets, {items} items and {objects} objects; {} damaged, {} missing",
            faults.damaged(),
            faults.missing()
        )
    }
}

/// Looks through a database and the files of its assets.
///
/// # Errors
/// [`VerifyError`].
pub fn verify(order: &VerifyOrder<'_>, driver: &mut dyn WorkDriver) -> Result<Verification, VerifyError> {
    let RowFindings { assets, items, objects, mut faults } = check_rows(order, driver)?;
    contents::check(order, &mut faults, driver)?;
    name_owners(order.database, &mut faults)?;
    let verified_s = driver.unix_s();
    Ok(Verification { assets, items, objects, is_deep: order.is_deep, verified_s, faults })
}

/// Gives owners of faults the names of their accounts.
pub(crate) fn name_owners(database: &StoreUrl, faults: &mut FaultList) -> Result<(), StoreError> {
    if faults.named().iter().all(|flaw| flaw.owner.is_none()) {
        return Ok(());
    }
    store::view(database, |view| {
        let mut last: Option<(AgentId, Option<String>)> = None;
        for flaw in faults.named_mut() {
            let Some(owner) = flaw.owner else { continue };
            let name = match &last {
                Some((known, name)) if *known == owner => name.clone(),
                _ => view.account_name(owner)?,
            };
            flaw.owner_name.clone_from(&name);
            last = Some((owner, name));
        }
        Ok(())
    })
}
