//! Inventories: folders and items, each belonging to one account.
//!
//! A row that does not match its checksum is damaged: it is left out of lists, and neither read nor changed by its id, which stays taken. It goes with its folder.
//!
//! Every read names the owner, which is the session's agent: an id of another owner is not found. Start with [`Store::change_inventory`] for writes; their
//! rules are in `edit`, walks through folders in `tree`. [`Store::give`] changes the inventories of two users at once.

mod census;
mod changes;
pub(crate) mod edit;
mod gestures;
mod gift;
mod marking;
pub(crate) mod marks;
mod offers;
mod tree;

pub use census::{FlawedItem, ItemCounts};
pub use changes::{
    InventoryChange, InventoryLimits, InventoryOutcome, InventoryRefusal, ItemUpdate, NewFolder,
    SYSTEM_FOLDER_TYPES,
};
pub use edit::FolderChoice;
pub use gestures::ActiveGesture;
pub use gift::{GiftOutcome, GivenItem, InventoryGift};
pub use marking::MarkItem;
pub use offers::{OFFERS_MAX, OFFERS_WAITING_MAX, Offer, OfferAnswered, OfferKind};
pub use tree::FolderContents;

use crate::engine::{EngineError, Row, Session, Sql, values};
use crate::seals;
use crate::{Store, StoreError};
use ids::AgentId;
use uuid::Uuid;

/// A folder of an inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Its id, unique within the owner's inventory.
    pub id: Uuid,
    /// Folder that holds it; nil for the root.
    pub parent: Uuid,
    /// Name as shown.
    pub name: String,
    /// Asset type whose new items go here (for example 20 animations, 46 the current outfit); −1 for folders made by the user.
    pub type_default: i8,
    /// Rises with every change of the folder's content, so that clients know when their cache is old.
    pub version: i32,
}

/// An item of an inventory, or a link to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its id, unique within the owner's inventory.
    pub id: Uuid,
    /// Folder that holds it.
    pub folder: Uuid,
    /// The asset; for a link the id of the item it points to.
    pub asset: Uuid,
    /// Kind of the asset; 24 for a link.
    pub asset_type: i8,
    /// Kind for display in clients.
    pub inventory_type: i8,
    /// Name as shown.
    pub name: String,
    /// Description as shown.
    pub description: String,
    /// Flags by kind; a wearable's type is in the low byte.
    pub flags: u32,
    /// Seconds since 1970.
    pub created_s: i64,
    /// Permissions.
    pub permissions: Permissions,
    /// Sale.
    pub sale: Sale,
}

/// Creator, owners and permissions of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// Creator.
    pub creator: Uuid,
    /// Previous owner.
    pub last_owner: Uuid,
    /// Group it is set to, or nil.
    pub group: Uuid,
    /// True if the group owns it.
    pub group_owned: bool,
    /// Upper bound of all masks.
    pub base: u32,
    /// Owner's permissions.
    pub owner: u32,
    /// Group members' permissions.
    pub group_mask: u32,
    /// All others' permissions.
    pub everyone: u32,
    /// Next owner's permissions.
    pub next_owner: u32,
}

/// Kind and price of a sale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sale {
    /// 0 not for sale, 1 the original, 2 a copy, 3 the contents.
    pub kind: u8,
    /// Price in the grid's currency.
    pub price: i32,
}

/// In the order of [`read_folder`].
macro_rules! select_folders {
    ($rest:literal) => {
        concat!("SELECT folder, parent, name, type_default, version, checksum FROM inventory_folders ", $rest)
    };
}

/// In the order of [`read_item`].
macro_rules! select_items {
    ($rest:literal) => {
        concat!(
            "SELECT item, folder, asset, asset_type, inventory_type, name, description, flags, created_s, \
             creator, last_owner, group_id, group_owned, base_mask, owner_mask, group_mask, everyone_mask, \
             next_owner_mask, sale_type, sale_price, checksum FROM inventory_items ",
            $rest
        )
    };
}

const SKELETON: Sql = Sql {
    sqlite: select_folders!("WHERE owner = $1 ORDER BY parent <> zeroblob(16), name, folder"),
    postgres: select_folders!(
        "WHERE owner = $1 ORDER BY parent <> '\\x00000000000000000000000000000000', name, folder"
    ),
};
const FOLDER: Sql = Sql::same(select_folders!("WHERE owner = $1 AND folder = $2"));
const FOLDER_OF_TYPE: Sql =
    Sql::same(select_folders!("WHERE owner = $1 AND type_default = $2 ORDER BY folder LIMIT 1"));
// Without the name of the index SQLite reads all rows of the owner: it takes a beginning of the primary key for as good as an index that lacks columns.
const FOLDERS_IN: Sql = Sql {
    sqlite: select_folders!(
        "INDEXED BY inventory_folders_by_parent WHERE owner = $1 AND parent = $2 ORDER BY name, folder LIMIT $3"
    ),
    postgres: select_folders!("WHERE owner = $1 AND parent = $2 ORDER BY name, folder LIMIT $3"),
};
const ITEMS_IN: Sql = Sql {
    sqlite: select_items!(
        "INDEXED BY inventory_items_by_folder WHERE owner = $1 AND folder = $2 ORDER BY name, item LIMIT $3"
    ),
    postgres: select_items!("WHERE owner = $1 AND folder = $2 ORDER BY name, item LIMIT $3"),
};
const ITEM: Sql = Sql::same(select_items!("WHERE owner = $1 AND item = $2"));
const HAS_FOLDER: Sql = Sql::same("SELECT version FROM inventory_folders WHERE owner = $1 AND folder = $2");
const HAS_ITEM: Sql = Sql::same("SELECT flags FROM inventory_items WHERE owner = $1 AND item = $2");
const COUNT_SOME_ITEMS: Sql =
    Sql::same("SELECT count(*) FROM (SELECT 1 FROM inventory_items WHERE owner = $1 LIMIT $2) AS found");
const INSERT_FOLDER: Sql = Sql::same(
    "INSERT INTO inventory_folders (owner, folder, parent, name, type_default, version, checksum) \
     VALUES ($1, $2, $3, $4, $5, $6, $7)",
);
const INSERT_ITEM: Sql = Sql::same(
    "INSERT INTO inventory_items (owner, item, folder, asset, asset_type, inventory_type, name, description, flags, \
     created_s, creator, last_owner, group_id, group_owned, base_mask, owner_mask, group_mask, everyone_mask, \
     next_owner_mask, sale_type, sale_price, checksum) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)",
);
/// All columns but the ids, the kinds and the time of creation.
const UPDATE_ITEM: Sql = Sql::same(
    "UPDATE inventory_items SET folder = $1, asset = $2, name = $3, description = $4, flags = $5, creator = $6, \
     last_owner = $7, group_id = $8, group_owned = $9, base_mask = $10, owner_mask = $11, group_mask = $12, \
     everyone_mask = $13, next_owner_mask = $14, sale_type = $15, sale_price = $16, checksum = $17 \
     WHERE owner = $18 AND item = $19",
);

impl Store {
    /// All folders of an inventory, root first, then by name: the skeleton that a login needs.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if the root is damaged, [`StoreError::Query`].
    pub fn folders(&self, owner: AgentId) -> Result<Vec<Folder>, StoreError> {
        let rows = self
            .read(|session| session.query(SKELETON, values![owner.0], |row| Ok(read_folder(owner, &row))))
            .map_err(StoreError::query("reading the folders of", owner.0))?;
        let n_rows = rows.len();
        let folders = whole(rows);
        // The others mean nothing without it.
        if folders.len() < n_rows && folders.first().is_none_or(|first| !first.parent.is_nil()) {
            let root = format!("the root of {}", owner.0);
            return Err(StoreError::damaged_row("inventory_folders", root));
        }
        Ok(folders)
    }

    /// One folder, when the owner has it.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn folder(&self, owner: AgentId, folder: Uuid) -> Result<Option<Folder>, StoreError> {
        self.read(|session| find_folder(session, owner, folder))
            .map_err(StoreError::query("reading the folder", folder))
    }

    /// The owner's folder of a system type, such as 46 for the current outfit. Of several, the one with the lowest id.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn folder_of_type(&self, owner: AgentId, type_default: i8) -> Result<Option<Folder>, StoreError> {
        self.read(|session| find_folder_of_type(session, owner, type_default))
            .map_err(StoreError::query("reading a system folder of", owner.0))
    }

    /// Up to `max` folders directly inside a folder, by name.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn folders_in(&self, owner: AgentId, parent: Uuid, max: u32) -> Result<Vec<Folder>, StoreError> {
        let read = |row: Row<'_>| Ok(read_folder(owner, &row));
        self.read(|session| session.query(FOLDERS_IN, values![owner.0, parent, max], read))
            .map(whole)
            .map_err(StoreError::query("reading the folders in", parent))
    }

    /// Up to `max` items directly inside a folder, by name.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn items_in(&self, owner: AgentId, folder: Uuid, max: u32) -> Result<Vec<Item>, StoreError> {
        let read = |row: Row<'_>| Ok(read_item(owner, &row));
        self.read(|session| session.query(ITEMS_IN, values![owner.0, folder, max], read))
            .map(whole)
            .map_err(StoreError::query("reading the items in", folder))
    }

    /// One item, when the owner has it.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn item(&self, owner: AgentId, item: Uuid) -> Result<Option<Item>, StoreError> {
        self.read(|session| find_item(session, owner, item))
            .map_err(StoreError::query("reading the item", item))
    }

    /// True if the owner has at least this number of items. Reads an index entry of each.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn has_items(&self, owner: AgentId, at_least: u32) -> Result<bool, StoreError> {
        let n = self.read(|session| {
            session.query_row(COUNT_SOME_ITEMS, values![owner.0, at_least], |row| row.get::<i64>(0))
        });
        let n = n.map_err(StoreError::query("counting the items of", owner.0))?;
        Ok(n.is_some_and(|n| n >= i64::from(at_least)))
    }
}

pub(crate) fn insert_folder(
    session: &mut Session<'_>,
    owner: AgentId,
    folder: &Folder,
) -> Result<(), EngineError> {
    let Folder { id, parent, name, type_default, version } = folder;
    let sum = folder_checksum(owner, folder);
    session.execute(INSERT_FOLDER, values![owner.0, id, parent, name, type_default, version, sum]).map(drop)
}

pub(crate) fn insert_item(session: &mut Session<'_>, owner: AgentId, item: &Item) -> Result<(), EngineError> {
    let (permissions, sum) = (&item.permissions, item_checksum(owner, item));
    let values = values![
        owner.0,
        item.id,
        item.folder,
        item.asset,
        item.asset_type,
        item.inventory_type,
        item.name,
        item.description,
        item.flags,
        item.created_s,
        permissions.creator,
        permissions.last_owner,
        permissions.group,
        permissions.group_owned,
        permissions.base,
        permissions.owner,
        permissions.group_mask,
        permissions.everyone,
        permissions.next_owner,
        item.sale.kind,
        item.sale.price,
        sum,
    ];
    session.execute(INSERT_ITEM, values).map(drop)
}

/// The checksum of a folder's row.
fn folder_checksum(owner: AgentId, folder: &Folder) -> i64 {
    let Folder { id, parent, name, type_default, version } = folder;
    seals::FOLDER.of(values![owner.0, id, parent, name, type_default, version])
}

/// The checksum of an item's row.
fn item_checksum(owner: AgentId, item: &Item) -> i64 {
    let permissions = &item.permissions;
    seals::ITEM.of(values![
        owner.0,
        item.id,
        item.folder,
        item.asset,
        item.asset_type,
        item.inventory_type,
        item.name,
        item.description,
        item.flags,
        item.created_s,
        permissions.creator,
        permissions.last_owner,
        permissions.group,
        permissions.group_owned,
        permissions.base,
        permissions.owner,
        permissions.group_mask,
        permissions.everyone,
        permissions.next_owner,
        item.sale.kind,
        item.sale.price,
    ])
}

/// Writes all of an item that may change. The rest has to be as it is stored.
fn update_item(session: &mut Session<'_>, owner: AgentId, item: &Item) -> Result<(), EngineError> {
    let (permissions, sum) = (&item.permissions, item_checksum(owner, item));
    let values = values![
        item.folder,
        item.asset,
        item.name,
        item.description,
        item.flags,
        permissions.creator,
        permissions.last_owner,
        permissions.group,
        permissions.group_owned,
        permissions.base,
        permissions.owner,
        permissions.group_mask,
        permissions.everyone,
        permissions.next_owner,
        item.sale.kind,
        item.sale.price,
        sum,
        owner.0,
        item.id,
    ];
    session.execute(UPDATE_ITEM, values).map(drop)
}

/// A folder; none if it is damaged, either.
pub(crate) fn find_folder(
    session: &mut Session<'_>,
    owner: AgentId,
    folder: Uuid,
) -> Result<Option<Folder>, EngineError> {
    let read = |row: Row<'_>| Ok(read_folder(owner, &row));
    Ok(session.query_row(FOLDER, values![owner.0, folder], read)?.flatten())
}

/// An item; none if it is damaged, either.
pub(crate) fn find_item(
    session: &mut Session<'_>,
    owner: AgentId,
    item: Uuid,
) -> Result<Option<Item>, EngineError> {
    let read = |row: Row<'_>| Ok(read_item(owner, &row));
    Ok(session.query_row(ITEM, values![owner.0, item], read)?.flatten())
}

/// True for the id of a folder, damaged or not: it is taken.
pub(crate) fn has_folder(
    session: &mut Session<'_>,
    owner: AgentId,
    folder: Uuid,
) -> Result<bool, EngineError> {
    Ok(session.query_row(HAS_FOLDER, values![owner.0, folder], |_| Ok(()))?.is_some())
}

/// True for the id of an item, damaged or not: it is taken.
pub(crate) fn has_item(session: &mut Session<'_>, owner: AgentId, item: Uuid) -> Result<bool, EngineError> {
    Ok(session.query_row(HAS_ITEM, values![owner.0, item], |_| Ok(()))?.is_some())
}

fn find_folder_of_type(
    session: &mut Session<'_>,
    owner: AgentId,
    type_default: i8,
) -> Result<Option<Folder>, EngineError> {
    let read = |row: Row<'_>| Ok(read_folder(owner, &row));
    Ok(session.query_row(FOLDER_OF_TYPE, values![owner.0, type_default], read)?.flatten())
}

/// True if a folder has this type, damaged or not.
fn has_folder_of_type(
    session: &mut Session<'_>,
    owner: AgentId,
    type_default: i8,
) -> Result<bool, EngineError> {
    Ok(session.query_row(FOLDER_OF_TYPE, values![owner.0, type_default], |_| Ok(()))?.is_some())
}

/// The folder that no other one holds.
fn find_root(session: &mut Session<'_>, owner: AgentId) -> Result<Option<Folder>, EngineError> {
    let read = |row: Row<'_>| Ok(read_folder(owner, &row));
    Ok(session.query_row(FOLDERS_IN, values![owner.0, Uuid::nil(), 1_u32], read)?.flatten())
}

/// Rows without the damaged ones.
fn whole<T>(rows: Vec<Option<T>>) -> Vec<T> {
    rows.into_iter().flatten().collect()
}

/// A folder; none if it is damaged.
fn read_folder(owner: AgentId, row: &Row<'_>) -> Option<Folder> {
    let folder = Folder {
        id: row.get(0).ok()?,
        parent: row.get(1).ok()?,
        name: row.get(2).ok()?,
        type_default: row.get(3).ok()?,
        version: row.get(4).ok()?,
    };
    (row.get(5).ok() == Some(folder_checksum(owner, &folder))).then_some(folder)
}

/// An item; none if it is damaged.
fn read_item(owner: AgentId, row: &Row<'_>) -> Option<Item> {
    let item = Item {
        id: row.get(0).ok()?,
        folder: row.get(1).ok()?,
        asset: row.get(2).ok()?,
        asset_type: row.get(3).ok()?,
        inventory_type: row.get(4).ok()?,
        name: row.get(5).ok()?,
        description: row.get(6).ok()?,
        flags: row.get(7).ok()?,
        created_s: row.get(8).ok()?,
        permissions: Permissions {
            creator: row.get(9).ok()?,
            last_owner: row.get(10).ok()?,
            group: row.get(11).ok()?,
            group_owned: row.get(12).ok()?,
            base: row.get(13).ok()?,
            owner: row.get(14).ok()?,
            group_mask: row.get(15).ok()?,
            everyone: row.get(16).ok()?,
            next_owner: row.get(17).ok()?,
        },
        sale: Sale { kind: row.get(18).ok()?, price: row.get(19).ok()? },
    };
    (row.get(20).ok() == Some(item_checksum(owner, &item))).then_some(item)
}

#[cfg(test)]
pub(crate) mod tests;
