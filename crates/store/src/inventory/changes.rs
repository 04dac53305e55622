//! Changes of an inventory as callers ask for them, and their outcomes. The rules are in `edit`.

use super::{Item, Permissions, Sale};
use uuid::Uuid;

/// Types of folders of which an inventory has one each, in its root: the root itself (8) and those that clients put new items into by their kind. All other
/// types are the user's own, such as −1 for a plain folder and 47 for a saved outfit.
pub const SYSTEM_FOLDER_TYPES: [i8; 21] =
    [0, 1, 2, 3, 5, 6, 7, 8, 10, 13, 14, 15, 16, 20, 21, 23, 46, 48, 49, 56, 57];

/// A change of one owner's inventory. Ids are the owner's: that of another owner is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InventoryChange {
    /// Makes an empty folder.
    CreateFolder(NewFolder),
    /// Gives a folder another name and type.
    UpdateFolder {
        /// The folder.
        folder: Uuid,
        /// Its new name.
        name: String,
        /// Its new type; none keeps it. That of a system folder stays.
        type_default: Option<i8>,
    },
    /// Moves a folder with everything in it.
    MoveFolder {
        /// The folder, which is no system folder.
        folder: Uuid,
        /// The folder that holds it from now on.
        parent: Uuid,
    },
    /// Removes a folder with everything in it.
    RemoveFolder {
        /// The folder, which neither is a system folder nor holds one.
        folder: Uuid,
    },
    /// Removes everything in a folder, which stays.
    PurgeFolder {
        /// The folder, which holds no system folder.
        folder: Uuid,
    },
    /// Makes an item, or a link to one.
    CreateItem(Item),
    /// Gives an item other properties.
    UpdateItem(ItemUpdate),
    /// Moves an item to a folder.
    MoveItem {
        /// The item.
        item: Uuid,
        /// The folder that holds it from now on.
        folder: Uuid,
        /// Its new name; none keeps it.
        name: Option<String>,
    },
    /// Removes an item. Links to it stay, and lead nowhere.
    RemoveItem {
        /// The item.
        item: Uuid,
    },
}

/// A folder to be made. Its first version is 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFolder {
    /// Its id, which no folder of the owner has.
    pub id: Uuid,
    /// Folder that holds it.
    pub parent: Uuid,
    /// Name as shown.
    pub name: String,
    /// Its type; one of [`SYSTEM_FOLDER_TYPES`] only if there is none of that type, and in the root.
    pub type_default: i8,
}

/// New properties of an item; the others stay. Its kinds and the time of its creation never change. Whether the owner may do this is the caller's question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemUpdate {
    /// The item.
    pub item: Uuid,
    /// The asset; for a link the id of the item it points to.
    pub asset: Option<Uuid>,
    /// Name as shown.
    pub name: Option<String>,
    /// Description as shown.
    pub description: Option<String>,
    /// Flags by kind.
    pub flags: Option<u32>,
    /// Creator, owners and permissions.
    pub permissions: Option<Permissions>,
    /// Sale.
    pub sale: Option<Sale>,
}

/// Bounds of one owner's inventory. An inventory beyond one of them stays as it is, and may shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InventoryLimits {
    /// Items, links included.
    pub items_max: u32,
    /// Folders, system folders included.
    pub folders_max: u32,
    /// Folders from the root to the deepest one, both counted.
    pub depth_max: u32,
}

impl InventoryLimits {
    /// Those without an effect: of transfers, which the worlds have carried out already, and of a transaction that only holds off others.
    pub(crate) const NONE: Self = Self { items_max: u32::MAX, folders_max: u32::MAX, depth_max: u32::MAX };
}

impl Default for InventoryLimits {
    fn default() -> Self {
        Self { items_max: 200_000, folders_max: 20_000, depth_max: 64 }
    }
}

/// Effect of a change. One that leaves everything as it was raises no version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InventoryOutcome {
    /// Folders with another direct content than before, each with its new version: of a move, the former folder first.
    pub versions: Vec<(Uuid, i32)>,
    /// Items that were removed.
    pub n_items_removed: u64,
    /// Folders that were removed.
    pub n_folders_removed: u64,
}

/// Reason for which a change has no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InventoryRefusal {
    /// The owner has no such folder.
    #[error("there is no folder {0} in the inventory")]
    UnknownFolder(Uuid),
    /// The owner has no such item.
    #[error("there is no item {0} in the inventory")]
    UnknownItem(Uuid),
    /// The id of a new folder is that of another one.
    #[error("there is already a folder {0} in the inventory")]
    FolderExists(Uuid),
    /// The id of a new item is that of another one.
    #[error("there is already an item {0} in the inventory")]
    ItemExists(Uuid),
    /// The nil id stands for the parent of the root, and for no item.
    #[error("a folder or an item cannot have the nil id")]
    NilId,
    /// It would move, remove or alter the type of a system folder.
    #[error("folder {0} is a system folder: it stays where it is, with its type")]
    SystemFolder(Uuid),
    /// The inventory has a folder of this type.
    #[error("the inventory already has its folder of type {0}")]
    SecondSystemFolder(i8),
    /// A folder of this type is in the root, where nothing removes it.
    #[error("a folder of type {0} can only be in the root of the inventory")]
    SystemFolderOutsideRoot(i8),
    /// A folder would be in itself, or in one that it holds.
    #[error("folder {0} cannot be moved into itself or a folder in it")]
    IntoItself(Uuid),
    /// The owner has as many items as there may be.
    #[error("the inventory has no room for more than {max} items")]
    TooManyItems {
        /// Items of an inventory at most.
        max: u32,
    },
    /// The owner has as many folders as there may be.
    #[error("the inventory has no room for more than {max} folders")]
    TooManyFolders {
        /// Folders of an inventory at most.
        max: u32,
    },
    /// A folder would be too far from the root.
    #[error("folders can be nested only {max} deep")]
    TooDeep {
        /// Folders from the root to the deepest one at most.
        max: u32,
    },
    /// PostgreSQL keeps no such text.
    #[error("a name or a description cannot contain a NUL")]
    Nul,
    /// The item is on its way into a world, or a folder that would be removed holds it.
    #[error("item {0} is on its way into a region")]
    Busy(Uuid),
    /// The avatar wears the item, or one in a folder that would be removed.
    #[error("item {0} is worn: take it off first")]
    Worn(Uuid),
}
