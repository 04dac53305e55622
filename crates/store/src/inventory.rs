//! Inventories: folders and items, each belonging to one account.
//!
//! Every read names the owner, which is the session's agent: an id of another owner is not found.

use crate::engine::{EngineError, Row, Session, Sql, values};
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
        concat!("SELECT folder, parent, name, type_default, version FROM inventory_folders ", $rest)
    };
}

/// In the order of [`read_item`].
macro_rules! select_items {
    ($rest:literal) => {
        concat!(
            "SELECT item, folder, asset, asset_type, inventory_type, name, description, flags, created_s, \
             creator, last_owner, group_id, group_owned, base_mask, owner_mask, group_mask, everyone_mask, \
             next_owner_mask, sale_type, sale_price FROM inventory_items ",
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
const FOLDERS_IN: Sql =
    Sql::same(select_folders!("WHERE owner = $1 AND parent = $2 ORDER BY name, folder LIMIT $3"));
const ITEMS_IN: Sql =
    Sql::same(select_items!("WHERE owner = $1 AND folder = $2 ORDER BY name, item LIMIT $3"));
const ITEM: Sql = Sql::same(select_items!("WHERE owner = $1 AND item = $2"));
const INSERT_FOLDER: Sql = Sql::same(
    "INSERT INTO inventory_folders (owner, folder, parent, name, type_default, version) \
     VALUES ($1, $2, $3, $4, $5, $6)",
);
const INSERT_ITEM: Sql = Sql::same(
    "INSERT INTO inventory_items (owner, item, folder, asset, asset_type, inventory_type, name, description, flags, \
     created_s, creator, last_owner, group_id, group_owned, base_mask, owner_mask, group_mask, everyone_mask, \
     next_owner_mask, sale_type, sale_price) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)",
);

impl Store {
    /// All folders of an inventory, root first, then by name: the skeleton that a login needs.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn folders(&self, owner: AgentId) -> Result<Vec<Folder>, StoreError> {
        self.read(|session| session.query(SKELETON, values![owner.0], read_folder))
            .map_err(StoreError::query("reading the folders of", owner.0))
    }

    /// One folder, when the owner has it.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn folder(&self, owner: AgentId, folder: Uuid) -> Result<Option<Folder>, StoreError> {
        self.read(|session| session.query_row(FOLDER, values![owner.0, folder], read_folder))
            .map_err(StoreError::query("reading the folder", folder))
    }

    /// The owner's folder of a system type, such as 46 for the current outfit. Of several, the one with the lowest id.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn folder_of_type(&self, owner: AgentId, type_default: i8) -> Result<Option<Folder>, StoreError> {
        self.read(|session| session.query_row(FOLDER_OF_TYPE, values![owner.0, type_default], read_folder))
            .map_err(StoreError::query("reading a system folder of", owner.0))
    }

    /// Up to `max` folders directly inside a folder, by name.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn folders_in(&self, owner: AgentId, parent: Uuid, max: u32) -> Result<Vec<Folder>, StoreError> {
        self.read(|session| session.query(FOLDERS_IN, values![owner.0, parent, max], read_folder))
            .map_err(StoreError::query("reading the folders in", parent))
    }

    /// Up to `max` items directly inside a folder, by name.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn items_in(&self, owner: AgentId, folder: Uuid, max: u32) -> Result<Vec<Item>, StoreError> {
        self.read(|session| session.query(ITEMS_IN, values![owner.0, folder, max], read_item))
            .map_err(StoreError::query("reading the items in", folder))
    }

    /// One item, when the owner has it.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn item(&self, owner: AgentId, item: Uuid) -> Result<Option<Item>, StoreError> {
        self.read(|session| session.query_row(ITEM, values![owner.0, item], read_item))
            .map_err(StoreError::query("reading the item", item))
    }
}

pub(crate) fn insert_folder(
    session: &mut Session<'_>,
    owner: AgentId,
    folder: &Folder,
) -> Result<(), EngineError> {
    let Folder { id, parent, name, type_default, version } = folder;
    session.execute(INSERT_FOLDER, values![owner.0, id, parent, name, type_default, version]).map(drop)
}

pub(crate) fn insert_item(session: &mut Session<'_>, owner: AgentId, item: &Item) -> Result<(), EngineError> {
    let permissions = &item.permissions;
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
    ];
    session.execute(INSERT_ITEM, values).map(drop)
}

fn read_folder(row: Row<'_>) -> Result<Folder, EngineError> {
    Ok(Folder {
        id: row.get(0)?,
        parent: row.get(1)?,
        name: row.get(2)?,
        type_default: row.get(3)?,
        version: row.get(4)?,
    })
}

fn read_item(row: Row<'_>) -> Result<Item, EngineError> {
    Ok(Item {
        id: row.get(0)?,
        folder: row.get(1)?,
        asset: row.get(2)?,
        asset_type: row.get(3)?,
        inventory_type: row.get(4)?,
        name: row.get(5)?,
        description: row.get(6)?,
        flags: row.get(7)?,
        created_s: row.get(8)?,
        permissions: Permissions {
            creator: row.get(9)?,
            last_owner: row.get(10)?,
            group: row.get(11)?,
            group_owned: row.get(12)?,
            base: row.get(13)?,
            owner: row.get(14)?,
            group_mask: row.get(15)?,
            everyone: row.get(16)?,
            next_owner: row.get(17)?,
        },
        sale: Sale { kind: row.get(18)?, price: row.get(19)? },
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::account::tests::{create, new_account};
    use crate::testing::{TestDatabase, on_both_engines};

    on_both_engines! {
        items_return_as_they_were_written,
        the_skeleton_begins_with_the_root,
        nobody_sees_what_belongs_to_another,
        two_owners_may_use_one_id,
    }

    pub(crate) fn folder(id: u128, parent: Uuid) -> Folder {
        Folder {
            id: Uuid::from_u128(id),
            parent,
            name: format!("folder {id}"),
            type_default: if parent.is_nil() { 8 } else { -1 },
            version: 1,
        }
    }

    /// An item with a different value in every column, so that two swapped columns show.
    pub(crate) fn item(id: u128, folder: Uuid) -> Item {
        Item {
            id: Uuid::from_u128(id),
            folder,
            asset: Uuid::from_u128(id + 1),
            asset_type: 13,
            inventory_type: 18,
            name: "Shape".into(),
            description: "a body".into(),
            flags: 0x8000_0003,
            created_s: 1_700_000_001,
            permissions: Permissions {
                creator: Uuid::from_u128(31),
                last_owner: Uuid::from_u128(32),
                group: Uuid::from_u128(33),
                group_owned: true,
                base: 0xFFFF_FFFF,
                owner: 0x7FFF_FFFF,
                group_mask: 3,
                everyone: 4,
                next_owner: 5,
            },
            sale: Sale { kind: 2, price: 10 },
        }
    }

    fn items_return_as_they_were_written(database: &TestDatabase) {
        let store = database.open();
        let new = new_account(1, "Ada", "Lovelace");
        store.create_account(&new).unwrap();
        assert_eq!(store.items_in(new.agent, new.folders[0].id, 10).unwrap(), new.items);
        assert_eq!(store.item(new.agent, new.items[0].id).unwrap().as_ref(), new.items.first());
    }

    fn the_skeleton_begins_with_the_root(database: &TestDatabase) {
        let store = database.open();
        let mut new = new_account(1, "Ada", "Lovelace");
        let root = new.folders[0].clone();
        new.folders.insert(0, Folder { name: "AAA".into(), ..folder(5, root.id) });
        store.create_account(&new).unwrap();
        let folders = store.folders(new.agent).unwrap();
        assert_eq!(folders[0], root);
        assert_eq!(store.folders_in(new.agent, root.id, 10).unwrap(), [folders[1].clone()]);
        assert_eq!(store.folder_of_type(new.agent, 8).unwrap(), Some(root));
    }

    fn nobody_sees_what_belongs_to_another(database: &TestDatabase) {
        let store = database.open();
        let ada = new_account(1, "Ada", "Lovelace");
        store.create_account(&ada).unwrap();
        let grace = create(&store, 2, "Grace", "Hopper");
        assert_eq!(store.folder(grace, ada.folders[0].id).unwrap(), None);
        assert_eq!(store.item(grace, ada.items[0].id).unwrap(), None);
        assert!(store.items_in(grace, ada.folders[0].id, 10).unwrap().is_empty());
    }

    fn two_owners_may_use_one_id(database: &TestDatabase) {
        let store = database.open();
        let ada = new_account(1, "Ada", "Lovelace");
        let mut grace = new_account(2, "Grace", "Hopper");
        grace.folders.clone_from(&ada.folders);
        grace.items.clone_from(&ada.items);
        store.create_account(&ada).unwrap();
        store.create_account(&grace).unwrap();
        assert_eq!(store.folders(grace.agent).unwrap(), store.folders(ada.agent).unwrap());
    }
}
