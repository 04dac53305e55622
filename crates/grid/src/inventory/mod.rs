//! Inventories: the initial one of every account, the outfit, and the clients' requests.
//!
//! Start with [`skeleton`] for the shape of an inventory, [`descendents`] for the busiest request and [`change_inventory`] for changes.

mod changes;
mod datagrams;
mod fetch;
mod overview;
mod wearables;
mod worn_waits;

pub use changes::{
    ChangeInventoryError, ChangeRefusal, ContentRez, EmbeddedCopy, GIFT_ROWS_MAX, GiftAnswer, GiftOffer,
    GiftRefusal, GiftRequest, GiveError, GivenThing, InventoryNotice, InventoryParts, InventoryReplies,
    InventoryRequest, InventoryTask, InventoryUser, NewScript, NotecardCopy, NotecardPlace, PutOnRequest,
    PutRequest, REZ_MAX, RezRequest, Standing, UploadedFile, WEAR_MAX, WearItem, WearRequest, WorldAnswer,
    WorldDeed, WorldOrder, WorldOrderEnd, WorldOrderKind, WorldRequest, carry_out_task, change_inventory,
    copy_from_notecard, create_category, end_world_order, give_thing, transfer_notices, uploaded_asset_id,
};
pub(crate) use changes::{StatedItem, may_modify, uploaded_item};
pub use datagrams::{folder_messages, item_messages};
pub use fetch::{FOLDERS_MAX, ITEMS_MAX, InventoryTree, ROWS_MAX, descendents, items};
pub use overview::{FLAWED_MAX, FolderLine, InventoryOverview, overview};
pub use wearables::{WORN_MAX, WornItem, worn};
pub use worn_waits::{Attempt, Judged, WORN_TRIES, WORN_WAIT_MAX, WORN_WAITS_MAX, WornWaits};

pub use crate::kinds::{AssetType, FolderType, InventoryType, WearableType};
pub use crate::library::{
    LIBRARY_OWNER, LIBRARY_OWNER_NAME, LIBRARY_ROOT, LIBRARY_VERSION, library_folder, library_folders,
    library_item, library_items,
};

use crate::asset_sources::BODY_PARTS;
use ids::AgentId;
use store::{Folder, Item, Permissions, Sale};
use uuid::Uuid;

/// The folders and items of a new account.
#[derive(Clone, Debug)]
pub struct Skeleton {
    /// System folders, the root first.
    pub folders: Vec<Folder>,
    /// Body parts, and the links by which they are worn.
    pub items: Vec<Item>,
}

/// Folders below the root, as viewers expect them: each holds new items of its kind. Without Current Outfit one client refuses to
/// start.
const SYSTEM_FOLDERS: [(i8, &str); 20] = [
    (FolderType::ANIMATIONS, "Animations"),
    (FolderType::BODY_PARTS, "Body Parts"),
    (FolderType::CALLING_CARDS, "Calling Cards"),
    (FolderType::CLOTHING, "Clothing"),
    (FolderType::CURRENT_OUTFIT, "Current Outfit"),
    (FolderType::FAVORITES, "Favorites"),
    (FolderType::GESTURES, "Gestures"),
    (FolderType::LANDMARKS, "Landmarks"),
    (FolderType::LOST_AND_FOUND, "Lost And Found"),
    (FolderType::MATERIALS, "Materials"),
    (FolderType::MESHES, "Meshes"),
    (FolderType::NOTECARDS, "Notecards"),
    (FolderType::OBJECTS, "Objects"),
    (FolderType::OUTFITS, "Outfits"),
    (FolderType::PHOTO_ALBUM, "Photo Album"),
    (FolderType::SCRIPTS, "Scripts"),
    (FolderType::SETTINGS, "Settings"),
    (FolderType::SOUNDS, "Sounds"),
    (FolderType::TEXTURES, "Textures"),
    (FolderType::TRASH, "Trash"),
];

/// Every permission bit of the protocol.
const ALL: u32 = 0x7FFF_FFFF;

/// Move, modify, copy and transfer: the next owner's permissions for the default body parts.
const NEXT_OWNER: u32 = 0x0008_E000;

/// Inventory of a new account: system folders, the default body, and links that wear it.
///
/// # Errors
/// Errors of `new_id`, which returns random ids.
pub fn skeleton<E>(
    owner: AgentId,
    unix_s: i64,
    mut new_id: impl FnMut() -> Result<Uuid, E>,
) -> Result<Skeleton, E> {
    let root = new_id()?;
    let mut folders = vec![folder(root, Uuid::nil(), FolderType::ROOT, "My Inventory")];
    for (type_default, name) in SYSTEM_FOLDERS {
        folders.push(folder(new_id()?, root, type_default, name));
    }
    let of_type = |wanted| {
        let found = folders.iter().find(|folder: &&Folder| folder.type_default == wanted);
        found.expect("the list of system folders has both").id
    };
    let (body, outfit) = (of_type(FolderType::BODY_PARTS), of_type(FolderType::CURRENT_OUTFIT));
    let mut items = Vec::with_capacity(2 * BODY_PARTS.len());
    for part in &BODY_PARTS {
        let item = Item {
            id: new_id()?,
            folder: body,
            asset: part.asset,
            asset_type: AssetType::BODY_PART,
            inventory_type: InventoryType::WEARABLE,
            name: part.name.into(),
            description: String::new(),
            flags: u32::from(part.wearable),
            created_s: unix_s,
            permissions: Permissions {
                creator: LIBRARY_OWNER,
                last_owner: owner.0,
                group: Uuid::nil(),
                group_owned: false,
                base: ALL,
                owner: ALL,
                group_mask: 0,
                everyone: 0,
                next_owner: NEXT_OWNER,
            },
            sale: Sale::default(),
        };
        // A link's asset is the item that it points to.
        let link = Item {
            id: new_id()?,
            folder: outfit,
            asset: item.id,
            asset_type: AssetType::LINK,
            ..item.clone()
        };
        items.extend([item, link]);
    }
    Ok(Skeleton { folders, items })
}

fn folder(id: Uuid, parent: Uuid, type_default: i8, name: &str) -> Folder {
    Folder { id, parent, name: name.into(), type_default, version: 1 }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::convert::Infallible;
    use store::{NewAccount, PasswordHash, Store};

    /// A skeleton with ids 0x1000, 0x1001 … above those of other tests' agents.
    pub(crate) fn counted_skeleton(owner: AgentId) -> Skeleton {
        let mut next = 0xFFF;
        let count = || {
            next += 1;
            Ok::<_, Infallible>(Uuid::from_u128(next))
        };
        skeleton(owner, 1_700_000_000, count).unwrap()
    }

    /// A store with Ada's account and inventory.
    pub(crate) fn store_with_ada() -> (Store, AgentId) {
        let store = Store::open_in_memory().unwrap();
        let agent = AgentId(Uuid::from_u128(0xA));
        create(&store, agent, "Ada", "Lovelace");
        (store, agent)
    }

    /// The same, and a folder of hers with this number of items and five folders.
    pub(crate) fn store_with_a_large_folder(n_items: usize) -> (Store, AgentId, Uuid) {
        let store = Store::open_in_memory().unwrap();
        let agent = AgentId(Uuid::from_u128(0xA));
        let Skeleton { mut folders, mut items } = counted_skeleton(agent);
        let objects = folders.iter().find(|folder| folder.type_default == FolderType::OBJECTS).unwrap().id;
        let id = |n: usize| Uuid::from_u128(0x10_0000 + n as u128);
        folders.extend((0..5).map(|n| folder(id(n), objects, -1, &format!("Box {n}"))));
        let item = items[0].clone();
        let further = (0..n_items).map(|n| Item { id: id(n), folder: objects, ..item.clone() });
        items.extend(further);
        let new = NewAccount {
            agent,
            first: "Ada".into(),
            last: "Lovelace".into(),
            password_hash: PasswordHash(String::new()),
            created_s: 0,
            folders,
            items,
        };
        store.create_account(&new).unwrap();
        (store, agent, objects)
    }

    pub(crate) fn create(store: &Store, agent: AgentId, first: &str, last: &str) {
        let Skeleton { folders, items } = counted_skeleton(agent);
        let new = NewAccount {
            agent,
            first: first.into(),
            last: last.into(),
            password_hash: PasswordHash(String::new()),
            created_s: 0,
            folders,
            items,
        };
        store.create_account(&new).unwrap();
    }

    /// The store keeps these folders in their places.
    #[test]
    fn the_store_knows_every_system_folder() {
        let types: BTreeSet<i8> =
            SYSTEM_FOLDERS.iter().map(|(folder_type, _)| *folder_type).chain([FolderType::ROOT]).collect();
        assert_eq!(types, BTreeSet::from(store::SYSTEM_FOLDER_TYPES));
    }

    #[test]
    fn every_system_folder_is_there_once_below_one_root() {
        let skeleton = counted_skeleton(AgentId(Uuid::from_u128(1)));
        let root = &skeleton.folders[0];
        assert_eq!((root.parent, root.type_default), (Uuid::nil(), 8));
        assert!(skeleton.folders[1..].iter().all(|folder| folder.parent == root.id));
        let types: BTreeSet<_> = skeleton.folders.iter().map(|folder| folder.type_default).collect();
        assert_eq!(types.len(), skeleton.folders.len());
        let expected = [0, 1, 2, 3, 5, 6, 7, 8, 10, 13, 14, 15, 16, 20, 21, 23, 46, 48, 49, 56, 57];
        assert_eq!(types, BTreeSet::from(expected));
    }

    #[test]
    fn the_body_is_worn_by_links_to_its_items() {
        let skeleton = counted_skeleton(AgentId(Uuid::from_u128(1)));
        let (links, parts): (Vec<_>, Vec<_>) =
            skeleton.items.iter().partition(|item| item.asset_type == AssetType::LINK);
        assert_eq!((parts.len(), links.len()), (4, 4));
        for (part, link) in parts.iter().zip(&links) {
            assert_eq!((link.asset, link.flags), (part.id, part.flags));
            assert_ne!(link.folder, part.folder);
        }
        let worn: BTreeSet<_> = links.iter().map(|link| link.flags).collect();
        assert_eq!(worn, BTreeSet::from([0, 1, 2, 3]), "shape, skin, hair and eyes");
    }
}
