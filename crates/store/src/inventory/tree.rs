//! Walks through the folders of an inventory, each a single statement: up from a folder to the root, and down to everything in it.
//!
//! All of them end on damaged rows too, where folders may hold each other in a circle.

use super::{Folder, Item, read_folder, read_item, whole};
use crate::engine::{EngineError, Row, Session, Sql, values};
use crate::{Store, StoreError};
use ids::AgentId;
use uuid::Uuid;

/// Everything in a folder, itself included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderContents {
    /// All of it.
    Whole {
        /// The folder, and all below it: each behind its parent.
        folders: Vec<Folder>,
        /// All items in these folders, side by side those of one folder.
        items: Vec<Item>,
    },
    /// More folders and items than were asked for.
    TooLarge,
    /// The owner has no such folder.
    Unknown,
}

/// Numbers of removed rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Removed {
    pub(super) n_folders: u64,
    pub(super) n_items: u64,
}

/// A folder and those above it, itself first. The number of levels is bounded, since damaged rows may have no root.
const PATH: Sql = Sql::same(
    "WITH RECURSIVE above (folder, parent, name, type_default, version, checksum, level) AS (\
     SELECT folder, parent, name, type_default, version, checksum, CAST(1 AS BIGINT) FROM inventory_folders \
     WHERE owner = $1 AND folder = $2 UNION ALL \
     SELECT f.folder, f.parent, f.name, f.type_default, f.version, f.checksum, above.level + 1 FROM above \
     JOIN inventory_folders AS f ON f.owner = $1 AND f.folder = above.parent WHERE above.level <= $3) \
     SELECT folder, parent, name, type_default, version, checksum FROM above ORDER BY level",
);

/// A statement over `below (folder, level)`: the folders of an owner (`$1`) from one (`$2`) downwards, which itself has level 1.
///
/// The walk needs no bound. A folder has one parent, so that a circle of folders below this one would have to hold it, and the walk does not come back to it:
/// it meets each folder once. It reads no columns but those of the index, which SQLite would not use otherwise;
/// CROSS JOIN keeps it from going through all folders of the owner for each level.
macro_rules! below {
    ($rest:literal) => {
        below!($rest, $rest)
    };
    ($sqlite:literal, $postgres:literal) => {
        Sql {
            sqlite: concat!(
                "WITH RECURSIVE below (folder, level) AS (\
                 SELECT folder, 1 FROM inventory_folders WHERE owner = $1 AND folder = $2 UNION ALL \
                 SELECT f.folder, below.level + 1 FROM below \
                 CROSS JOIN inventory_folders AS f INDEXED BY inventory_folders_by_parent \
                 ON f.owner = $1 AND f.parent = below.folder WHERE f.folder <> $2) ",
                $sqlite
            ),
            postgres: concat!(
                "WITH RECURSIVE below (folder, level) AS (\
                 SELECT folder, 1::bigint FROM inventory_folders WHERE owner = $1 AND folder = $2 UNION ALL \
                 SELECT f.folder, below.level + 1 FROM below \
                 JOIN inventory_folders AS f ON f.owner = $1 AND f.parent = below.folder WHERE f.folder <> $2) ",
                $postgres
            ),
        }
    };
}

const HEIGHT: Sql = below!("SELECT max(level) FROM below");
const TYPED_FOLDERS: Sql = below!(
    "SELECT t.folder, t.type_default FROM below \
     CROSS JOIN inventory_folders AS t WHERE t.owner = $1 AND t.folder = below.folder \
     AND below.level > 1 AND t.type_default <> -1 ORDER BY below.level, t.folder"
);
const FOLDERS: Sql = below!(
    "SELECT t.folder, t.parent, t.name, t.type_default, t.version, t.checksum FROM below \
     CROSS JOIN inventory_folders AS t WHERE t.owner = $1 AND t.folder = below.folder \
     ORDER BY below.level, t.name, t.folder LIMIT $3"
);
// In the order of the index, which spares a sort of all before the limit.
const ITEMS: Sql = below!(
    "SELECT item, folder, asset, asset_type, inventory_type, name, description, flags, created_s, \
     creator, last_owner, group_id, group_owned, base_mask, owner_mask, group_mask, everyone_mask, \
     next_owner_mask, sale_type, sale_price, checksum FROM inventory_items \
     WHERE owner = $1 AND folder IN (SELECT folder FROM below) ORDER BY folder, item LIMIT $3"
);
const MARKED: Sql = below!(
    "SELECT m.item FROM item_marks AS m JOIN inventory_items AS i ON i.owner = m.owner AND i.item = m.item \
     WHERE m.owner = $1 AND i.folder IN (SELECT folder FROM below) ORDER BY m.item LIMIT 1"
);
const WORN: Sql = below!(
    "SELECT w.item FROM worn_objects AS w JOIN inventory_items AS i ON i.owner = w.owner AND i.item = w.item \
     WHERE w.owner = $1 AND i.folder IN (SELECT folder FROM below) ORDER BY w.item LIMIT 1"
);
const REMOVE_ITEMS: Sql = below!(
    "DELETE FROM inventory_items INDEXED BY inventory_items_by_folder \
     WHERE owner = $1 AND folder IN (SELECT folder FROM below)",
    "DELETE FROM inventory_items WHERE owner = $1 AND folder IN (SELECT folder FROM below)"
);
const REMOVE_FOLDERS: Sql = below!(
    "DELETE FROM inventory_folders WHERE owner = $1 AND folder IN (SELECT folder FROM below WHERE level > 1)"
);
const REMOVE_FOLDER: Sql = Sql::same("DELETE FROM inventory_folders WHERE owner = $1 AND folder = $2");

impl Store {
    /// A folder with everything in it, if these are no more than `max` folders and items. For copies and gifts.
    ///
    /// # Errors
    /// [`StoreError::Query`], also with a damaged row among these: a part is not handed out for the whole.
    pub fn folder_contents(
        &self,
        owner: AgentId,
        folder: Uuid,
        max: u32,
    ) -> Result<FolderContents, StoreError> {
        let read = self.read_view(|session| {
            // One more than fits.
            let limit = i64::from(max) + 1;
            let folders = session.query(FOLDERS, values![owner.0, folder, limit], |row| {
                read_folder(owner, &row).ok_or_else(|| damaged(&row, "inventory_folders"))
            })?;
            if folders.is_empty() {
                return Ok(FolderContents::Unknown);
            }
            let limit = limit - folders.len() as i64;
            let items = session.query(ITEMS, values![owner.0, folder, limit], |row| {
                read_item(owner, &row).ok_or_else(|| damaged(&row, "inventory_items"))
            })?;
            if items.len() as i64 == limit {
                return Ok(FolderContents::TooLarge);
            }
            Ok(FolderContents::Whole { folders, items })
        });
        read.map_err(StoreError::query("reading everything in the folder", folder))
    }
}

/// The reason for which a row that begins with its id is not handed out.
fn damaged(row: &Row<'_>, table: &'static str) -> EngineError {
    match row.get::<Uuid>(0) {
        Ok(id) => EngineError::damaged_row(table, id),
        Err(why) => why,
    }
}

/// A folder and those above it, up to the root and itself first; empty without such a folder, or with a damaged one. If it is deeper than `depth_max`, one folder more
/// than that. Damaged folders above it are left out.
pub(super) fn path(
    session: &mut Session<'_>,
    owner: AgentId,
    folder: Uuid,
    depth_max: u32,
) -> Result<Vec<Folder>, EngineError> {
    let path =
        session.query(PATH, values![owner.0, folder, depth_max], |row| Ok(read_folder(owner, &row)))?;
    Ok(if matches!(path.first(), Some(None)) { Vec::new() } else { whole(path) })
}

/// Folders from this one to the deepest below it, both counted; 0 without such a folder.
pub(super) fn height(session: &mut Session<'_>, owner: AgentId, folder: Uuid) -> Result<u64, EngineError> {
    let height = session.query_row(HEIGHT, values![owner.0, folder], |row| row.get::<Option<i64>>(0))?;
    Ok(height.flatten().map_or(0, i64::cast_unsigned))
}

/// The folders below this one that have a type, and their types.
pub(super) fn typed_folders_below(
    session: &mut Session<'_>,
    owner: AgentId,
    folder: Uuid,
) -> Result<Vec<(Uuid, i8)>, EngineError> {
    session.query(TYPED_FOLDERS, values![owner.0, folder], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// The first of the items in a folder or below it that are on their way into a world.
pub(super) fn marked_item_below(
    session: &mut Session<'_>,
    owner: AgentId,
    folder: Uuid,
) -> Result<Option<Uuid>, EngineError> {
    session.query_row(MARKED, values![owner.0, folder], |row| row.get(0))
}

/// The first of the items in a folder or below it that are worn.
pub(super) fn worn_item_below(
    session: &mut Session<'_>,
    owner: AgentId,
    folder: Uuid,
) -> Result<Option<Uuid>, EngineError> {
    session.query_row(WORN, values![owner.0, folder], |row| row.get(0))
}

/// Removes a folder and everything in it.
pub(super) fn remove_folder(
    session: &mut Session<'_>,
    owner: AgentId,
    folder: Uuid,
) -> Result<Removed, EngineError> {
    let mut removed = remove_content(session, owner, folder)?;
    removed.n_folders += session.execute(REMOVE_FOLDER, values![owner.0, folder])? as u64;
    Ok(removed)
}

/// Removes everything in a folder. Items go first: those that a folder still had would go with it, a statement for each folder.
pub(super) fn remove_content(
    session: &mut Session<'_>,
    owner: AgentId,
    folder: Uuid,
) -> Result<Removed, EngineError> {
    let n_items = session.execute(REMOVE_ITEMS, values![owner.0, folder])? as u64;
    let n_folders = session.execute(REMOVE_FOLDERS, values![owner.0, folder])? as u64;
    Ok(Removed { n_folders, n_items })
}

#[cfg(test)]
mod tests;
