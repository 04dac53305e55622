//! The library: the inventory that all users see and no user owns. It is empty so far, but clients need its owner and its root.

use super::{FolderType, folder};
use store::Folder;
use uuid::{Uuid, uuid};

/// The grid's operator: owner of the library and of the objects in regions, and creator of every account's initial items. No account
/// has this id.
pub const LIBRARY_OWNER: Uuid = uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0001");

/// First and last name of its owner for clients; the last name is reserved.
pub const LIBRARY_OWNER_NAME: (&str, &str) = ("Grid", "Operator");

/// The library's root folder.
pub const LIBRARY_ROOT: Uuid = uuid!("3b3f4d58-6c6c-4c1e-9f0e-7a3b5a1d0002");

/// All folders of the library, the root first.
#[must_use]
pub fn library_folders() -> Vec<Folder> {
    vec![folder(LIBRARY_ROOT, Uuid::nil(), FolderType::ROOT, "Library")]
}
