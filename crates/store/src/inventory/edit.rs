//! Rules of changes of an inventory, and their application within a transaction. Start with [`InventoryEdit`].
//!
//! Each change is tested in full before its first write, so that a refused one leaves nothing behind in a transaction that goes on. A constraint of the tables
//! that is broken nevertheless ends the transaction.
//!
//! The version of a folder rises by one with each change of its direct content: of the items in it, and of the ids, names and types of the folders in it.
//! Behind [`VERSION_MAX`] it begins anew with 1: clients compare versions for equality only, and one that stayed would hide the change.

mod folders;
mod items;
mod transfers;

pub use transfers::FolderChoice;
pub(crate) use transfers::Received;

use super::changes::{InventoryChange, InventoryLimits, InventoryOutcome, InventoryRefusal};
use super::{Folder, Item, find_folder, find_item, folder_checksum, marks, tree};
use crate::engine::{EngineError, Session, Sql, values};
use crate::{Store, StoreError};
use ids::AgentId;
use std::collections::BTreeSet;
use uuid::Uuid;

/// The highest version. Clients count one ahead for their own changes, in 32 bits.
const VERSION_MAX: i32 = i32::MAX - 1;

/// Holds off other changes of the inventory until the end of the transaction. In SQLite the transaction itself does that.
const LOCK: Sql = Sql {
    sqlite: "SELECT agent FROM accounts WHERE agent = $1",
    postgres: "SELECT agent FROM accounts WHERE agent = $1 FOR NO KEY UPDATE",
};
const SET_VERSION: Sql =
    Sql::same("UPDATE inventory_folders SET version = $1, checksum = $2 WHERE owner = $3 AND folder = $4");

/// An owner's inventory in a transaction that changes it, perhaps together with other rows.
#[derive(Debug)]
pub(crate) struct InventoryEdit {
    owner: AgentId,
    limits: InventoryLimits,
    /// Rows of the owner, once they were counted. The count reads an index entry of each row (tens of milliseconds for 200,000), so there is one of each table
    /// per transaction, at its first creation.
    n_folders: Option<u64>,
    n_items: Option<u64>,
    /// Items on their way into a world, once they were read. No other transaction marks one of the owner's meanwhile.
    marked: Option<BTreeSet<Uuid>>,
}

/// Reasons for which a change was not made.
enum Failure {
    /// It breaks a rule; nothing was written.
    Refused(InventoryRefusal),
    /// A statement failed.
    Engine(EngineError),
}

impl From<InventoryRefusal> for Failure {
    fn from(refusal: InventoryRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl InventoryEdit {
    /// Begins in a transaction that writes; `None` without such an account. A transaction that changes inventories of several owners begins with each of them in
    /// the order of their ids, or two transactions could wait for each other.
    pub(crate) fn begin(
        session: &mut Session<'_>,
        owner: AgentId,
        limits: InventoryLimits,
    ) -> Result<Option<Self>, EngineError> {
        let account = session.query_row(LOCK, values![owner.0], |row| row.get::<Uuid>(0))?;
        Ok(account.map(|_| Self { owner, limits, n_folders: None, n_items: None, marked: None }))
    }

    /// Makes one change, or refuses it without any effect. After an error the transaction is rolled back.
    pub(crate) fn apply(
        &mut self,
        session: &mut Session<'_>,
        change: &InventoryChange,
    ) -> Result<Result<InventoryOutcome, InventoryRefusal>, EngineError> {
        let applied = match change {
            InventoryChange::CreateFolder(new) => self.create_folder(session, new),
            InventoryChange::UpdateFolder { folder, name, type_default } => {
                self.update_folder(session, *folder, name, *type_default)
            }
            InventoryChange::MoveFolder { folder, parent } => self.move_folder(session, *folder, *parent),
            InventoryChange::RemoveFolder { folder } => self.remove_folder(session, *folder),
            InventoryChange::PurgeFolder { folder } => self.purge_folder(session, *folder),
            InventoryChange::CreateItem(item) => self.create_item(session, item),
            InventoryChange::UpdateItem(update) => self.update_item(session, update),
            InventoryChange::MoveItem { item, folder, name } => {
                self.move_item(session, *item, *folder, name.as_deref())
            }
            InventoryChange::RemoveItem { item } => self.remove_item(session, *item),
        };
        match applied {
            Ok(outcome) => Ok(Ok(outcome)),
            Err(Failure::Refused(refusal)) => Ok(Err(refusal)),
            Err(Failure::Engine(error)) => Err(error),
        }
    }

    /// Counts removed rows off, and raises the version of the folder that held them.
    fn finish_removal(
        &mut self,
        session: &mut Session<'_>,
        holder: Uuid,
        removed: tree::Removed,
    ) -> Result<InventoryOutcome, Failure> {
        let tree::Removed { n_folders, n_items } = removed;
        self.n_folders = self.n_folders.map(|n| n.saturating_sub(n_folders));
        self.n_items = self.n_items.map(|n| n.saturating_sub(n_items));
        let raised = self.raise_versions(session, &[holder])?;
        Ok(InventoryOutcome { n_items_removed: n_items, n_folders_removed: n_folders, ..raised })
    }

    /// The outcome of a change of the direct content of these folders. One that does not exist is left out: the parent of the root, or in damaged rows.
    fn raise_versions(
        &self,
        session: &mut Session<'_>,
        folders: &[Uuid],
    ) -> Result<InventoryOutcome, Failure> {
        let mut versions = Vec::with_capacity(folders.len());
        for &folder in folders {
            versions.extend(self.raise_version(session, folder)?.map(|version| (folder, version)));
        }
        Ok(InventoryOutcome { versions, ..InventoryOutcome::default() })
    }

    /// The outcome of a change of the direct content of a folder that was just read.
    fn raise_known(&self, session: &mut Session<'_>, folder: Folder) -> Result<InventoryOutcome, Failure> {
        let id = folder.id;
        let version = self.raise(session, folder)?;
        Ok(InventoryOutcome { versions: vec![(id, version)], ..InventoryOutcome::default() })
    }

    /// The new version of a folder whose direct content changes; `None` if it does not exist, or is damaged.
    fn raise_version(&self, session: &mut Session<'_>, folder: Uuid) -> Result<Option<i32>, EngineError> {
        let folder = find_folder(session, self.owner, folder)?;
        folder.map(|folder| self.raise(session, folder)).transpose()
    }

    /// The new version of a folder that was just read: no other transaction changes it meanwhile.
    fn raise(&self, session: &mut Session<'_>, folder: Folder) -> Result<i32, EngineError> {
        let version = if (1..VERSION_MAX).contains(&folder.version) { folder.version + 1 } else { 1 };
        let folder = Folder { version, ..folder };
        let sum = folder_checksum(self.owner, &folder);
        session.execute(SET_VERSION, values![version, sum, self.owner.0, folder.id])?;
        Ok(version)
    }

    fn folder(&self, session: &mut Session<'_>, id: Uuid) -> Result<Folder, Failure> {
        find_folder(session, self.owner, id)?.ok_or_else(|| InventoryRefusal::UnknownFolder(id).into())
    }

    /// An item that is to be changed.
    fn free_item(&mut self, session: &mut Session<'_>, id: Uuid) -> Result<Item, Failure> {
        let item = find_item(session, self.owner, id)?.ok_or(InventoryRefusal::UnknownItem(id))?;
        if self.marked(session)?.contains(&id) {
            return Err(InventoryRefusal::Busy(id).into());
        }
        Ok(item)
    }

    fn marked(&mut self, session: &mut Session<'_>) -> Result<&mut BTreeSet<Uuid>, EngineError> {
        let known = match self.marked.take() {
            Some(known) => known,
            None => marks::marked_items(session, self.owner)?,
        };
        Ok(self.marked.insert(known))
    }
}

/// The number of the owner's rows in a table, which the caller keeps up.
fn counted<'n>(
    session: &mut Session<'_>,
    n: &'n mut Option<u64>,
    sql: Sql,
    owner: AgentId,
) -> Result<&'n mut u64, EngineError> {
    let known = match *n {
        Some(known) => known,
        None => {
            let found = session.query_row(sql, values![owner.0], |row| row.get::<i64>(0))?;
            found.map_or(0, i64::cast_unsigned)
        }
    };
    Ok(n.insert(known))
}

const fn check_id(id: Uuid) -> Result<(), InventoryRefusal> {
    if id.is_nil() { Err(InventoryRefusal::NilId) } else { Ok(()) }
}

fn check_text(text: &str) -> Result<(), InventoryRefusal> {
    if text.contains('\0') { Err(InventoryRefusal::Nul) } else { Ok(()) }
}

impl Store {
    /// Applies changes of one owner in order, in one transaction, which is on the disk when this returns. A refused change has no effect, and does not keep the
    /// others from theirs. Names and descriptions are kept as they come: the caller cuts them.
    ///
    /// Calls for one owner take turns. Removing a folder takes time with its content, and other callers of an SQLite file wait meanwhile.
    ///
    /// # Errors
    /// [`StoreError::UnknownAccount`], [`StoreError::Query`]; then no change has an effect, unless the outcome is unknown.
    pub fn change_inventory(
        &self,
        owner: AgentId,
        changes: &[InventoryChange],
        limits: &InventoryLimits,
    ) -> Result<Vec<Result<InventoryOutcome, InventoryRefusal>>, StoreError> {
        let changed = self.write(|session| {
            let Some(mut edit) = InventoryEdit::begin(session, owner, *limits)? else { return Ok(None) };
            let outcomes: Result<Vec<_>, _> =
                changes.iter().map(|change| edit.apply(session, change)).collect();
            outcomes.map(Some)
        });
        let changed = changed.map_err(StoreError::query("changing the inventory of", owner.0))?;
        changed.ok_or(StoreError::UnknownAccount(owner))
    }

    /// As [`Self::change_inventory`], all changes or none: the first refusal takes back those before it. Returns the place of the refused change with the
    /// reason.
    ///
    /// # Errors
    /// [`StoreError::UnknownAccount`], [`StoreError::Query`]; then no change has an effect, unless the outcome is unknown.
    pub fn change_inventory_whole(
        &self,
        owner: AgentId,
        changes: &[InventoryChange],
        limits: &InventoryLimits,
    ) -> Result<Result<Vec<InventoryOutcome>, (usize, InventoryRefusal)>, StoreError> {
        let mut refused = None;
        let changed = self.write(|session| {
            refused = None;
            let Some(mut edit) = InventoryEdit::begin(session, owner, *limits)? else { return Ok(None) };
            let mut outcomes = Vec::with_capacity(changes.len());
            for (place, change) in changes.iter().enumerate() {
                match edit.apply(session, change)? {
                    Ok(outcome) => outcomes.push(outcome),
                    Err(refusal) => {
                        refused = Some((place, refusal));
                        // The transaction is rolled back.
                        return Err(EngineError::unfit("a change was refused"));
                    }
                }
            }
            Ok(Some(outcomes))
        });
        if let Some(refused) = refused {
            return Ok(Err(refused));
        }
        let changed = changed.map_err(StoreError::query("changing the inventory of", owner.0))?;
        changed.map(Ok).ok_or(StoreError::UnknownAccount(owner))
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
pub(crate) mod tests;
