//! Changes of folders.
//!
//! The root and the folders of [`SYSTEM_FOLDER_TYPES`] stay where they are, with their types: clients look for them by type, and one without its Current Outfit
//! does not start. They lie in the root, so that what a user can remove holds none.

use super::{Failure, InventoryEdit, check_id, check_text, counted};
use crate::engine::{Session, Sql, values};
use crate::inventory::changes::{
    InventoryLimits, InventoryOutcome, InventoryRefusal, NewFolder, SYSTEM_FOLDER_TYPES,
};
use crate::inventory::{
    Folder, find_folder, folder_checksum, has_folder, has_folder_of_type, insert_folder, tree,
};
use crate::worn_rows;
use uuid::Uuid;

const COUNT_FOLDERS: Sql = Sql::same("SELECT count(*) FROM inventory_folders WHERE owner = $1");
const UPDATE_FOLDER: Sql = Sql::same(
    "UPDATE inventory_folders SET name = $1, type_default = $2, checksum = $3 WHERE owner = $4 AND folder = $5",
);
const MOVE_FOLDER: Sql =
    Sql::same("UPDATE inventory_folders SET parent = $1, checksum = $2 WHERE owner = $3 AND folder = $4");

impl InventoryEdit {
    pub(super) fn create_folder(
        &mut self,
        session: &mut Session<'_>,
        new: &NewFolder,
    ) -> Result<InventoryOutcome, Failure> {
        let &NewFolder { id, parent, ref name, type_default } = new;
        let InventoryLimits { folders_max, depth_max, .. } = self.limits;
        check_id(id)?;
        check_text(name)?;
        let path = tree::path(session, self.owner, parent, depth_max)?;
        let depth = path.len() as u64;
        let Some(above) = path.into_iter().next() else {
            return Err(InventoryRefusal::UnknownFolder(parent).into());
        };
        if has_folder(session, self.owner, id)? {
            return Err(InventoryRefusal::FolderExists(id).into());
        }
        if is_system_type(type_default) {
            self.check_system_type(session, type_default, is_root(&above))?;
        }
        if depth >= u64::from(depth_max) {
            return Err(InventoryRefusal::TooDeep { max: depth_max }.into());
        }
        let n = counted(session, &mut self.n_folders, COUNT_FOLDERS, self.owner)?;
        if *n >= u64::from(folders_max) {
            return Err(InventoryRefusal::TooManyFolders { max: folders_max }.into());
        }
        *n += 1;
        let folder = Folder { id, parent, name: name.clone(), type_default, version: 1 };
        insert_folder(session, self.owner, &folder)?;
        self.raise_known(session, above)
    }

    pub(super) fn update_folder(
        &self,
        session: &mut Session<'_>,
        id: Uuid,
        name: &str,
        type_default: Option<i8>,
    ) -> Result<InventoryOutcome, Failure> {
        check_text(name)?;
        let folder = self.folder(session, id)?;
        let type_default = type_default.unwrap_or(folder.type_default);
        if type_default != folder.type_default {
            check_not_system(&folder)?;
            if is_system_type(type_default) {
                let parent = find_folder(session, self.owner, folder.parent)?;
                self.check_system_type(session, type_default, parent.as_ref().is_some_and(is_root))?;
            }
        }
        if (name, type_default) == (&*folder.name, folder.type_default) {
            return Ok(InventoryOutcome::default());
        }
        let folder = Folder { name: name.to_owned(), type_default, ..folder };
        let sum = folder_checksum(self.owner, &folder);
        session.execute(UPDATE_FOLDER, values![name, type_default, sum, self.owner.0, id])?;
        self.raise_versions(session, &[folder.parent])
    }

    pub(super) fn move_folder(
        &self,
        session: &mut Session<'_>,
        id: Uuid,
        parent: Uuid,
    ) -> Result<InventoryOutcome, Failure> {
        let depth_max = self.limits.depth_max;
        let folder = self.folder(session, id)?;
        check_not_system(&folder)?;
        let path = tree::path(session, self.owner, parent, depth_max)?;
        if path.is_empty() {
            return Err(InventoryRefusal::UnknownFolder(parent).into());
        }
        if path.iter().any(|above| above.id == id) {
            return Err(InventoryRefusal::IntoItself(id).into());
        }
        if parent == folder.parent {
            return Ok(InventoryOutcome::default());
        }
        // The path into a circle of damaged rows, which the folder is not in, is as long as it may be read.
        let depth = path.len() as u64 + tree::height(session, self.owner, id)?;
        if depth > u64::from(depth_max) {
            return Err(InventoryRefusal::TooDeep { max: depth_max }.into());
        }
        let moved = Folder { parent, ..folder.clone() };
        session
            .execute(MOVE_FOLDER, values![parent, folder_checksum(self.owner, &moved), self.owner.0, id])?;
        self.raise_versions(session, &[folder.parent, parent])
    }

    pub(super) fn remove_folder(
        &mut self,
        session: &mut Session<'_>,
        id: Uuid,
    ) -> Result<InventoryOutcome, Failure> {
        let folder = self.folder(session, id)?;
        check_not_system(&folder)?;
        self.check_holds_no_system_folder(session, id)?;
        self.check_holds_no_marked_item(session, id)?;
        self.check_holds_no_worn_item(session, id)?;
        let removed = tree::remove_folder(session, self.owner, id)?;
        self.finish_removal(session, folder.parent, removed)
    }

    pub(super) fn purge_folder(
        &mut self,
        session: &mut Session<'_>,
        id: Uuid,
    ) -> Result<InventoryOutcome, Failure> {
        self.folder(session, id)?;
        self.check_holds_no_system_folder(session, id)?;
        self.check_holds_no_marked_item(session, id)?;
        self.check_holds_no_worn_item(session, id)?;
        let removed = tree::remove_content(session, self.owner, id)?;
        if removed == tree::Removed::default() {
            return Ok(InventoryOutcome::default());
        }
        self.finish_removal(session, id, removed)
    }

    /// Tests whether a folder may be of a system type. Reads the rows of all folders of the owner: some milliseconds for 20,000.
    fn check_system_type(
        &self,
        session: &mut Session<'_>,
        type_default: i8,
        is_in_root: bool,
    ) -> Result<(), Failure> {
        if !is_in_root {
            return Err(InventoryRefusal::SystemFolderOutsideRoot(type_default).into());
        }
        if has_folder_of_type(session, self.owner, type_default)? {
            return Err(InventoryRefusal::SecondSystemFolder(type_default).into());
        }
        Ok(())
    }

    fn check_holds_no_system_folder(&self, session: &mut Session<'_>, folder: Uuid) -> Result<(), Failure> {
        let below = tree::typed_folders_below(session, self.owner, folder)?;
        match below.into_iter().find(|(_, type_default)| is_system_type(*type_default)) {
            Some((held, _)) => Err(InventoryRefusal::SystemFolder(held).into()),
            None => Ok(()),
        }
    }

    fn check_holds_no_marked_item(&mut self, session: &mut Session<'_>, folder: Uuid) -> Result<(), Failure> {
        if self.marked(session)?.is_empty() {
            return Ok(());
        }
        match tree::marked_item_below(session, self.owner, folder)? {
            Some(item) => Err(InventoryRefusal::Busy(item).into()),
            None => Ok(()),
        }
    }

    fn check_holds_no_worn_item(&self, session: &mut Session<'_>, folder: Uuid) -> Result<(), Failure> {
        if worn_rows::items_of(session, self.owner)?.is_empty() {
            return Ok(());
        }
        match tree::worn_item_below(session, self.owner, folder)? {
            Some(item) => Err(InventoryRefusal::Worn(item).into()),
            None => Ok(()),
        }
    }
}

fn is_system_type(type_default: i8) -> bool {
    SYSTEM_FOLDER_TYPES.contains(&type_default)
}

const fn is_root(folder: &Folder) -> bool {
    folder.parent.is_nil()
}

fn check_not_system(folder: &Folder) -> Result<(), InventoryRefusal> {
    if is_root(folder) || is_system_type(folder.type_default) {
        return Err(InventoryRefusal::SystemFolder(folder.id));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
