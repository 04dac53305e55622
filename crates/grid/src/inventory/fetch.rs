//! Replies of FetchInventoryDescendents2, FetchInventory2 and their library twins.
//!
//! Requests name an owner beside every id. It is ignored: the session decides the inventory ([`InventoryTree::Agent`]), so another owner's id is
//! unknown, not forbidden.

use super::{LIBRARY_OWNER, library_folder, library_folders, library_item, library_items};
use ids::AgentId;
use store::{Folder, Item, Store, StoreError};
use uuid::Uuid;
use wire::llsd::Llsd;

/// Folders answered in one reply; viewers ask for a few dozen at once. The others come back as bad, and are asked
/// for again.
pub const FOLDERS_MAX: usize = 256;

/// Items answered in one reply of [`items`]; the others are left out, and are asked for again.
pub const ITEMS_MAX: usize = 512;

/// Rows (folders and items) of a folder in a reply, each some 3 KB of memory while it is written; a larger folder is cut, its folders first. Once a reply has as many,
/// further folders come back as bad, so that it has fewer than twice as many in all.
pub const ROWS_MAX: usize = 10_000;

/// Inventory to read.
#[derive(Clone, Copy, Debug)]
pub enum InventoryTree<'a> {
    /// Inventory of the session's agent.
    Agent(&'a Store, AgentId),
    /// The library.
    Library,
}

/// Direct entries of a folder.
pub(super) struct Content {
    pub(super) version: i32,
    pub(super) folders: Vec<Folder>,
    pub(super) items: Vec<Item>,
}

impl InventoryTree<'_> {
    fn owner(self) -> Uuid {
        match self {
            Self::Agent(_, agent) => agent.0,
            Self::Library => LIBRARY_OWNER,
        }
    }

    /// Content of a folder, `rows_max` folders and items at most; `None` without such a folder. The nil id stands for the parent of the root; some viewers request it.
    pub(super) fn content(self, id: Uuid, rows_max: usize) -> Result<Option<Content>, StoreError> {
        let version = match self {
            _ if id.is_nil() => 0,
            Self::Agent(store, agent) => match store.folder(agent, id)? {
                Some(folder) => folder.version,
                None => return Ok(None),
            },
            Self::Library => match library_folder(id) {
                Some(folder) => folder.version,
                None => return Ok(None),
            },
        };
        let folders: Vec<Folder> = match self {
            Self::Agent(store, agent) => store.folders_in(agent, id, rows_max as u32)?,
            Self::Library => library_folders()
                .iter()
                .filter(|folder| folder.parent == id)
                .take(rows_max)
                .cloned()
                .collect(),
        };
        let items_max = rows_max - folders.len();
        let items = match self {
            Self::Agent(store, agent) => store.items_in(agent, id, items_max as u32)?,
            Self::Library => {
                library_items().iter().filter(|item| item.folder == id).take(items_max).cloned().collect()
            }
        };
        Ok(Some(Content { version, folders, items }))
    }

    pub(super) fn item(self, id: Uuid) -> Result<Option<Item>, StoreError> {
        match self {
            Self::Agent(store, agent) => store.item(agent, id),
            Self::Library => Ok(library_item(id).cloned()),
        }
    }
}

/// Answers FetchInventoryDescendents2 and FetchLibDescendents2: the direct contents of each requested folder.
///
/// `sort_order` is ignored, since viewers sort by themselves: rows come by name.
///
/// # Errors
/// [`StoreError::Query`].
pub fn descendents(tree: InventoryTree<'_>, request: &Llsd) -> Result<Llsd, StoreError> {
    let (mut folders, mut bad, mut rows) = (Vec::new(), Vec::new(), 0);
    for asked in request.get("folders").as_array().iter().take(4 * FOLDERS_MAX) {
        let Some(id) = asked.get("folder_id").as_uuid() else { continue };
        if folders.len() == FOLDERS_MAX || rows >= ROWS_MAX {
            bad.push(bad_folder(id, "Too much for one reply"));
            continue;
        }
        let Some(content) = tree.content(id, ROWS_MAX)? else {
            bad.push(bad_folder(id, "Unknown"));
            continue;
        };
        rows += content.folders.len() + content.items.len();
        folders.push(folder_row(tree.owner(), id, asked, &content));
    }
    let mut reply = vec![("folders", Llsd::Array(folders))];
    // Viewers take the key's mere presence for trouble.
    if !bad.is_empty() {
        reply.push(("bad_folders", Llsd::Array(bad)));
    }
    Ok(Llsd::map(reply))
}

/// Answers FetchInventory2 and FetchLib2: the items asked for, as far as they exist.
///
/// # Errors
/// [`StoreError::Query`].
pub fn items(tree: InventoryTree<'_>, request: &Llsd) -> Result<Llsd, StoreError> {
    let mut found = Vec::new();
    for asked in request.get("items").as_array().iter().take(ITEMS_MAX) {
        if let Some(id) = asked.get("item_id").as_uuid()
            && let Some(item) = tree.item(id)?
        {
            found.push(item_row(tree.owner(), &item));
        }
    }
    Ok(Llsd::map([("agent_id", tree.owner().into()), ("items", Llsd::Array(found))]))
}

fn folder_row(owner: Uuid, id: Uuid, asked: &Llsd, content: &Content) -> Llsd {
    let wanted = |key| asked.get(key).as_bool().unwrap_or(true);
    let count = content.folders.len() + content.items.len();
    let categories = content.folders.iter().filter(|_| wanted("fetch_folders"));
    let categories = categories.map(|folder| category_row(owner, folder));
    let items = content.items.iter().filter(|_| wanted("fetch_items")).map(|item| item_row(owner, item));
    Llsd::map([
        ("folder_id", Llsd::from(id)),
        ("owner_id", owner.into()),
        ("agent_id", owner.into()),
        ("version", content.version.into()),
        // Number of all entries, requested or not: viewers compare it with theirs.
        ("descendents", i32::try_from(count).unwrap_or(i32::MAX).into()),
        ("categories", Llsd::array(categories)),
        ("items", Llsd::array(items)),
    ])
}

fn bad_folder(id: Uuid, error: &str) -> Llsd {
    Llsd::map([("folder_id", Llsd::from(id)), ("error", error.into())])
}

fn category_row(owner: Uuid, folder: &Folder) -> Llsd {
    Llsd::map([
        // hippolyzer fails on a row without it, and libomv shows a folder without an owner.
        ("agent_id", Llsd::from(owner)),
        ("category_id", folder.id.into()),
        ("parent_id", folder.parent.into()),
        ("name", folder.name.as_str().into()),
        ("type_default", i32::from(folder.type_default).into()),
        ("version", folder.version.into()),
    ])
}

fn item_row(owner: Uuid, item: &Item) -> Llsd {
    let permissions = &item.permissions;
    // Masks are integers here (not binaries as in events); the top bit, if ever set, makes them negative.
    let mask = |mask: u32| Llsd::from(mask.cast_signed());
    Llsd::map([
        ("item_id", Llsd::from(item.id)),
        ("parent_id", item.folder.into()),
        ("asset_id", item.asset.into()),
        ("name", item.name.as_str().into()),
        ("desc", item.description.as_str().into()),
        ("type", i32::from(item.asset_type).into()),
        ("inv_type", i32::from(item.inventory_type).into()),
        ("flags", mask(item.flags)),
        ("created_at", i32::try_from(item.created_s).unwrap_or(i32::MAX).into()),
        (
            "permissions",
            Llsd::map([
                ("base_mask", mask(permissions.base)),
                ("owner_mask", mask(permissions.owner)),
                ("group_mask", mask(permissions.group_mask)),
                ("everyone_mask", mask(permissions.everyone)),
                ("next_owner_mask", mask(permissions.next_owner)),
                ("creator_id", permissions.creator.into()),
                ("owner_id", owner.into()),
                ("group_id", permissions.group.into()),
                ("last_owner_id", permissions.last_owner.into()),
                ("is_owner_group", permissions.group_owned.into()),
            ]),
        ),
        (
            "sale_info",
            Llsd::map([
                ("sale_price", Llsd::from(item.sale.price)),
                ("sale_type", i32::from(item.sale.kind).into()),
            ]),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::tests::{create, store_with_a_large_folder, store_with_ada};
    use crate::inventory::{FolderType, LIBRARY_ROOT, LIBRARY_VERSION};
    use wire::llsd::xml;

    fn ask_folders(ids: impl IntoIterator<Item = Uuid>) -> Llsd {
        Llsd::map([(
            "folders",
            Llsd::array(ids.into_iter().map(|id| Llsd::map([("folder_id", Llsd::from(id))]))),
        )])
    }

    fn ask_items(ids: impl IntoIterator<Item = Uuid>) -> Llsd {
        Llsd::map([(
            "items",
            Llsd::array(ids.into_iter().map(|id| Llsd::map([("item_id", Llsd::from(id))]))),
        )])
    }

    #[test]
    fn the_outfit_folder_is_answered_in_the_form_that_clients_parse() {
        let (store, ada) = store_with_ada();
        let outfit = store.folder_of_type(ada, FolderType::CURRENT_OUTFIT).unwrap().unwrap();
        let reply = descendents(InventoryTree::Agent(&store, ada), &ask_folders([outfit.id])).unwrap();
        let document = xml::encode(&reply);
        assert!(document.starts_with("<llsd>"), "a prolog breaks one client: {document}");
        insta::assert_snapshot!(document.replace("<map>", "\n<map>").replace("<key>", "\n<key>"));
    }

    #[test]
    fn the_root_lists_all_system_folders() {
        let (store, ada) = store_with_ada();
        let root = store.folders(ada).unwrap()[0].id;
        let reply = descendents(InventoryTree::Agent(&store, ada), &ask_folders([root])).unwrap();
        let folder = reply.get("folders").at(0);
        assert_eq!(folder.get("categories").as_array().len(), 20);
        assert_eq!(folder.get("descendents").as_i32(), Some(20));
        for row in folder.get("categories").as_array() {
            assert_eq!(row.get("agent_id").as_uuid(), Some(ada.0), "clients read it from every row");
        }
        assert_eq!(folder.get("owner_id").as_uuid(), Some(ada.0));
        assert!(reply.get("bad_folders").is_undef());
    }

    #[test]
    fn unwanted_items_are_not_sent_but_counted() {
        let (store, ada) = store_with_ada();
        let outfit = store.folder_of_type(ada, FolderType::CURRENT_OUTFIT).unwrap().unwrap().id;
        // Two clients write the same boolean in two ways.
        let asked = Llsd::map([
            ("folder_id", Llsd::from(outfit)),
            ("fetch_items", Llsd::Integer(0)),
            ("fetch_folders", Llsd::from("1")),
        ]);
        let reply =
            descendents(InventoryTree::Agent(&store, ada), &Llsd::map([("folders", Llsd::array([asked]))]))
                .unwrap();
        let folder = reply.get("folders").at(0);
        assert_eq!((folder.get("items").as_array().len(), folder.get("descendents").as_i32()), (0, Some(4)));
    }

    #[test]
    fn the_owner_named_in_a_request_does_not_count() {
        let (store, ada) = store_with_ada();
        let eve = AgentId(Uuid::from_u128(0xE));
        let new = store::NewAccount {
            agent: eve,
            first: "Eve".into(),
            last: "Resident".into(),
            password_hash: store::PasswordHash(String::new()),
            created_s: 0,
            folders: Vec::new(),
            items: Vec::new(),
        };
        store.create_account(&new).unwrap();
        let root = store.folders(ada).unwrap()[0].id;
        let item =
            store.items_in(ada, store.folder_of_type(ada, FolderType::BODY_PARTS).unwrap().unwrap().id, 1);
        let item = item.unwrap()[0].id;
        let folder = Llsd::map([("folder_id", Llsd::from(root)), ("owner_id", ada.0.into())]);
        let reply =
            descendents(InventoryTree::Agent(&store, eve), &Llsd::map([("folders", Llsd::array([folder]))]))
                .unwrap();
        assert!(reply.get("folders").as_array().is_empty());
        assert_eq!(reply.get("bad_folders").at(0).get("folder_id").as_uuid(), Some(root));
        let asked = Llsd::map([("item_id", Llsd::from(item)), ("owner_id", ada.0.into())]);
        let reply =
            items(InventoryTree::Agent(&store, eve), &Llsd::map([("items", Llsd::array([asked]))])).unwrap();
        assert!(reply.get("items").as_array().is_empty());
        assert_eq!(reply.get("agent_id").as_uuid(), Some(eve.0));
    }

    #[test]
    fn items_are_found_by_id_and_unknown_ones_left_out() {
        let (store, ada) = store_with_ada();
        let body = store.folder_of_type(ada, FolderType::BODY_PARTS).unwrap().unwrap().id;
        let part = store.items_in(ada, body, 1).unwrap()[0].clone();
        let request = ask_items([part.id, Uuid::from_u128(0xBAD)]);
        let reply = items(InventoryTree::Agent(&store, ada), &request).unwrap();
        let [row] = reply.get("items").as_array() else { panic!("{reply:?}") };
        assert_eq!(row.get("asset_id").as_uuid(), Some(part.asset));
        assert_eq!(row.get("permissions").get("owner_id").as_uuid(), Some(ada.0));
        assert_eq!(row.get("permissions").get("base_mask").as_i32(), Some(0x7FFF_FFFF));
        assert_eq!(row.get("sale_info").get("sale_type").as_i32(), Some(0));
    }

    #[test]
    fn two_owners_of_one_folder_id_each_see_their_own() {
        let (store, ada) = store_with_ada();
        let grace = AgentId(Uuid::from_u128(0xB));
        create(&store, grace, "Grace", "Hopper");
        let outfit = store.folder_of_type(ada, FolderType::CURRENT_OUTFIT).unwrap().unwrap().id;
        let reply = descendents(InventoryTree::Agent(&store, grace), &ask_folders([outfit])).unwrap();
        let row = reply.get("folders").at(0).get("items").at(0);
        assert_eq!(row.get("permissions").get("last_owner_id").as_uuid(), Some(grace.0));
    }

    #[test]
    fn all_of_the_library_is_found_from_its_root() {
        let asked = ask_folders([LIBRARY_ROOT, Uuid::from_u128(0xBAD)]);
        let reply = descendents(InventoryTree::Library, &asked).unwrap();
        assert_eq!(reply.get("bad_folders").as_array().len(), 1);
        let root = reply.get("folders").at(0);
        let below = root.get("categories").as_array();
        assert_eq!(below.len() + 1, library_folders().len());
        let below: Vec<Uuid> = below.iter().filter_map(|row| row.get("category_id").as_uuid()).collect();
        let reply = descendents(InventoryTree::Library, &ask_folders(below)).unwrap();
        let mut found = Vec::new();
        for folder in reply.get("folders").as_array().iter().chain([root]) {
            assert_eq!(folder.get("owner_id").as_uuid(), Some(LIBRARY_OWNER));
            assert_eq!(folder.get("version").as_i32(), Some(LIBRARY_VERSION));
            let (folders, items) = (folder.get("categories").as_array(), folder.get("items").as_array());
            let count = i32::try_from(folders.len() + items.len()).unwrap();
            assert_eq!(folder.get("descendents").as_i32(), Some(count));
            assert!(count > 0, "viewers show no empty shelf");
            found.extend(items.iter().filter_map(|item| item.get("item_id").as_uuid()));
        }
        assert_eq!(found.len(), library_items().len());
        let asked = ask_items(found.iter().copied().chain([LIBRARY_ROOT]));
        let reply = items(InventoryTree::Library, &asked).unwrap();
        let rows = reply.get("items").as_array();
        assert_eq!(rows.len(), found.len());
        let owned = |row: &Llsd| row.get("permissions").get("owner_id").as_uuid() == Some(LIBRARY_OWNER);
        assert!(rows.iter().all(owned) && reply.get("agent_id").as_uuid() == Some(LIBRARY_OWNER));
    }

    #[test]
    fn the_nil_folder_holds_the_root() {
        let (store, ada) = store_with_ada();
        let reply = descendents(InventoryTree::Agent(&store, ada), &ask_folders([Uuid::nil()])).unwrap();
        let [root] = reply.get("folders").at(0).get("categories").as_array() else { panic!("{reply:?}") };
        assert_eq!(root.get("type_default").as_i32(), Some(8));
    }

    #[test]
    fn requests_beyond_the_bounds_are_answered_in_part() {
        let (store, ada) = store_with_ada();
        let root = store.folders(ada).unwrap()[0].id;
        let reply = descendents(InventoryTree::Agent(&store, ada), &ask_folders(vec![root; FOLDERS_MAX + 3]))
            .unwrap();
        assert_eq!(reply.get("folders").as_array().len(), FOLDERS_MAX);
        assert_eq!(reply.get("bad_folders").as_array().len(), 3);
        let reply = descendents(InventoryTree::Agent(&store, ada), &Llsd::from("nonsense")).unwrap();
        assert_eq!(reply, Llsd::map([("folders", Llsd::Array(Vec::new()))]));
    }

    #[test]
    fn a_folder_beyond_the_bounds_is_cut_and_a_reply_has_an_end() {
        let (store, ada, large) = store_with_a_large_folder(ROWS_MAX);
        let root = store.folders(ada).unwrap()[0].id;
        let asked = ask_folders([root, large, large, root]);
        let reply = descendents(InventoryTree::Agent(&store, ada), &asked).unwrap();
        let [small, cut] = reply.get("folders").as_array() else { panic!("two folders") };
        assert_eq!(small.get("categories").as_array().len(), 20);
        let rows = ["categories", "items"].map(|key| cut.get(key).as_array().len());
        assert_eq!(rows, [5, ROWS_MAX - 5]);
        assert_eq!(
            cut.get("descendents").as_i32(),
            Some(ROWS_MAX as i32),
            "as many as there are in the reply"
        );
        let bad = reply.get("bad_folders").as_array().iter().map(|bad| bad.get("folder_id").as_uuid());
        assert_eq!(bad.collect::<Vec<_>>(), [Some(large), Some(root)]);
        let length = xml::encode(&reply).len();
        assert!(length < 3_000 * ROWS_MAX, "{length} bytes");
    }
}
