//! The library: the inventory that all users see and no user owns, of our own making and alike on all grids. Users copy its things.
//!
//! [`catalogue`] lists the things. Their content takes some 200 KB, most of it the XML of `objects`, and is made once in a process: textures lie in the
//! executable as codestreams, by `textures.py`. Copies in inventories name the library's assets, and viewers cache them, so that three rules hold:
//!
//! - ids follow from numbers in the catalogue, so that names can change, and a number is never given to another thing;
//! - the content under a number never changes and is always served: a better one gets a number of its own;
//! - [`LIBRARY_VERSION`] rises with every change of folders and items.
//!
//! Its licence is that of this program, which a notecard in it states.

mod catalogue;
mod house;
mod objects;
#[cfg(test)]
mod tests;
mod texts;
mod textures;

use crate::kinds::{FolderType, InventoryType};
use assets::AssetKind;
use bytes::Bytes;
use catalogue::{Content, Entry};
use prim::Mask;
use std::sync::LazyLock;
use store::{Folder, Item, Permissions, Sale};
use uuid::{Uuid, uuid};

/// The grid's operator: owner of the library and of the objects in regions, and creator of every account's initial items. No account
/// has this id.
pub const LIBRARY_OWNER: Uuid = uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0001");

/// First and last name of its owner for clients; the last name is reserved.
pub const LIBRARY_OWNER_NAME: (&str, &str) = ("Grid", "Operator");

/// The library's root folder.
pub const LIBRARY_ROOT: Uuid = uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0002");

/// Version of all folders. Viewers keep the library between logins, and fetch folders with another version anew. It was 1 while there were no things.
pub const LIBRARY_VERSION: i32 = 2;

/// High halves of ids. The low half of an asset's and of an item's is the number of its thing, of a folder's the type of its assets, of a part's see `objects`.
const ASSETS: u64 = 0x7468_726f_6e67_4006;
const ITEMS: u64 = 0x7468_726f_6e67_4007;
const FOLDERS: u64 = 0x7468_726f_6e67_4008;
const PARTS: u64 = 0x7468_726f_6e67_4009;

/// Time of making of all things, seconds since 1970: 27 November 2026.
const CREATED_S: i64 = 1_795_737_600;

/// Rights of owner and next owner. All masks are those that OpenSimulator gives its library: viewers read and copy by everyone's.
const RIGHTS: u32 = Mask::ALL.bits();
/// Rights of all others.
const EVERYONE: u32 = RIGHTS & !Mask::MODIFY.bits();

/// Folders below the root: kind of their things, and name.
const SHELVES: [(AssetKind, &str); 8] = [
    (AssetKind::BodyPart, "Body Parts"),
    (AssetKind::Clothing, "Clothing"),
    (AssetKind::Gesture, "Gestures"),
    (AssetKind::Landmark, "Landmarks"),
    (AssetKind::Notecard, "Notecards"),
    (AssetKind::Object, "Objects"),
    (AssetKind::Script, "Scripts"),
    (AssetKind::Texture, "Textures"),
];

struct Library {
    /// The root first.
    folders: Vec<Folder>,
    /// By folder, and by name in it.
    items: Vec<Item>,
    /// Content that only the library has.
    assets: Vec<(Uuid, AssetKind, Bytes)>,
}

static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    let entries = catalogue::entries();
    let mut items: Vec<Item> = entries.iter().map(item).collect();
    items.sort_by(|one, other| (one.folder, &one.name).cmp(&(other.folder, &other.name)));
    let assets = entries.into_iter().filter_map(|Entry { number, kind, content, .. }| match content {
        Content::Own(bytes) => Some((asset_id(number), kind, bytes)),
        Content::Served(_) => None,
    });
    Library { folders: folders().collect(), items, assets: assets.collect() }
});

/// All folders of the library, the root first.
#[must_use]
pub fn library_folders() -> &'static [Folder] {
    &LIBRARY.folders
}

/// A folder of the library.
#[must_use]
pub fn library_folder(id: Uuid) -> Option<&'static Folder> {
    LIBRARY.folders.iter().find(|folder| folder.id == id)
}

/// All items of the library, those of a folder together and by name.
#[must_use]
pub fn library_items() -> &'static [Item] {
    &LIBRARY.items
}

/// An item of the library. Its asset is served as those of users are ([`crate::asset_sources::AssetSources`]).
#[must_use]
pub fn library_item(id: Uuid) -> Option<&'static Item> {
    LIBRARY.items.iter().find(|item| item.id == id)
}

/// Assets that only the library has.
pub(crate) fn library_assets() -> impl Iterator<Item = (Uuid, AssetKind, Bytes)> {
    LIBRARY.assets.iter().cloned()
}

fn folders() -> impl Iterator<Item = Folder> {
    let folder = |id, parent, type_default, name: &str| Folder {
        id,
        parent,
        name: name.into(),
        type_default,
        version: LIBRARY_VERSION,
    };
    let root = folder(LIBRARY_ROOT, Uuid::nil(), FolderType::ROOT, "Library");
    // Types of folders are those of assets.
    let shelves = SHELVES
        .into_iter()
        .map(move |(kind, name)| folder(folder_id(kind), LIBRARY_ROOT, kind.number(), name));
    std::iter::once(root).chain(shelves)
}

fn item(entry: &Entry) -> Item {
    let &Entry { number, kind, name, description, subtype, ref content } = entry;
    Item {
        id: Uuid::from_u64_pair(ITEMS, number),
        folder: folder_id(kind),
        asset: match content {
            Content::Own(_) => asset_id(number),
            Content::Served(asset) => *asset,
        },
        asset_type: kind.number(),
        inventory_type: InventoryType::of(kind),
        name: name.into(),
        description: description.into(),
        flags: subtype.into(),
        created_s: CREATED_S,
        permissions: Permissions {
            creator: LIBRARY_OWNER,
            last_owner: LIBRARY_OWNER,
            group: Uuid::nil(),
            group_owned: false,
            base: RIGHTS,
            owner: RIGHTS,
            group_mask: 0,
            everyone: EVERYONE,
            next_owner: RIGHTS,
        },
        sale: Sale::default(),
    }
}

/// Id of the asset that the thing with a number has for itself.
const fn asset_id(number: u64) -> Uuid {
    Uuid::from_u64_pair(ASSETS, number)
}

/// Id of the folder for a kind.
const fn folder_id(kind: AssetKind) -> Uuid {
    Uuid::from_u64_pair(FOLDERS, kind.number().unsigned_abs() as u64)
}
