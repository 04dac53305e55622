//! Uploads: assets that are added together with the change of an inventory that names them, many uploads in one transaction.
//!
//! An upload is stored as a whole or refused. The bytes of a refused one are on the disk by then: its assets are added as temporary ones, so that they and their
//! bytes are removed like all others that have no use.

use crate::asset::{AssetRow, add_asset, asset_identity};
use crate::engine::{EngineError, Session};
use crate::inventory::edit::InventoryEdit;
use crate::inventory::{InventoryChange, InventoryLimits, InventoryRefusal};
use crate::{Store, StoreError};
use ids::AgentId;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Assets that are added together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadRows {
    /// The assets. The bytes of each are on the disk already.
    pub assets: Vec<AssetRow>,
    /// The change that names one of them; none for assets without an item.
    pub item: Option<ItemChange>,
}

/// A change of an inventory by which an item names an uploaded asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemChange {
    /// Owner of the inventory.
    pub owner: AgentId,
    /// The change.
    pub change: InventoryChange,
}

/// Outcome of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UploadAdded {
    /// All of it is stored.
    Whole,
    /// The id of an asset has another kind or content, which stays. Nothing of the upload is stored.
    Taken(Uuid),
    /// The inventory refuses the change. The assets are temporary.
    Refused(InventoryRefusal),
    /// There is no such owner. The assets are temporary.
    UnknownOwner,
}

impl Store {
    /// Adds uploads in one transaction, in order, which is on the disk when this returns. A refused upload does not keep the others from theirs. Inventories are
    /// bounded by [`Store::inventory_limits`].
    ///
    /// # Errors
    /// [`StoreError::Query`]; then none was added, unless the outcome is unknown.
    pub fn add_uploads(&self, uploads: &[UploadRows]) -> Result<Vec<UploadAdded>, StoreError> {
        let added = self.write(|session| {
            let mut edits = begin_edits(session, uploads, self.inventory_limits())?;
            uploads.iter().map(|upload| add_upload(session, &mut edits, upload)).collect()
        });
        added.map_err(StoreError::query("adding uploads:", uploads.len()))
    }
}

/// The inventories that uploads change, in the order of their owners' ids.
fn begin_edits(
    session: &mut Session<'_>,
    uploads: &[UploadRows],
    limits: InventoryLimits,
) -> Result<BTreeMap<AgentId, InventoryEdit>, EngineError> {
    let items = uploads.iter().filter_map(|upload| upload.item.as_ref());
    let owners: BTreeSet<AgentId> = items.map(|item| item.owner).collect();
    let mut edits = BTreeMap::new();
    for owner in owners {
        if let Some(edit) = InventoryEdit::begin(session, owner, limits)? {
            edits.insert(owner, edit);
        }
    }
    Ok(edits)
}

fn add_upload(
    session: &mut Session<'_>,
    edits: &mut BTreeMap<AgentId, InventoryEdit>,
    upload: &UploadRows,
) -> Result<UploadAdded, EngineError> {
    if let Some(taken) = taken_id(session, &upload.assets)? {
        return Ok(UploadAdded::Taken(taken));
    }
    let outcome = match &upload.item {
        None => UploadAdded::Whole,
        Some(ItemChange { owner, change }) => match edits.get_mut(owner) {
            None => UploadAdded::UnknownOwner,
            Some(edit) => match edit.apply(session, change)? {
                Ok(_) => UploadAdded::Whole,
                Err(refusal) => UploadAdded::Refused(refusal),
            },
        },
    };
    for row in &upload.assets {
        if outcome == UploadAdded::Whole {
            add_asset(session, row)?;
        } else {
            add_asset(session, &AssetRow { used_s: Some(row.created_s), ..row.clone() })?;
        }
    }
    Ok(outcome)
}

/// An id among these that another kind or content has, stored or among these.
fn taken_id(session: &mut Session<'_>, assets: &[AssetRow]) -> Result<Option<Uuid>, EngineError> {
    let mut identities = BTreeMap::new();
    for row in assets {
        let own = (row.hash, row.kind);
        let known = match identities.entry(row.id) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => *place.insert(asset_identity(session, row.id)?.unwrap_or(own)),
        };
        if known != own {
            return Ok(Some(row.id));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
