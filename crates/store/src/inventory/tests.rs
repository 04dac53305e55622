//! Reads of inventories, and rows for the tests of others.

mod large;

use super::*;
use crate::account::tests::{create, new_account};
use crate::engine::Value;
use crate::inventory::edit::tests::{change, make, new_folder, new_item};
use crate::testing::{TestDatabase, on_both_engines, tamper};

on_both_engines! {
    items_return_as_they_were_written,
    the_skeleton_begins_with_the_root,
    nobody_sees_what_belongs_to_another,
    two_owners_may_use_one_id,
    a_damaged_item_is_not_handed_out_and_its_id_stays_taken,
    a_damaged_folder_is_not_handed_out,
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

/// Tests that SQLite finds rows of one folder by an index, and does not read all rows of the owner.
pub(crate) fn assert_indexed(sql: Sql, n_parameters: usize) {
    let explained = Sql::same(format!("EXPLAIN QUERY PLAN {}", sql.sqlite).leak());
    let store = Store::open_in_memory().unwrap();
    let values = vec![Value::Null; n_parameters];
    let steps = store.read(|session| session.query(explained, &values, |row| row.get::<String>(3))).unwrap();
    let is_walk = |step: &str| ["SCAN above", "SCAN below"].contains(&step);
    let is_scan = |step: &str| step.starts_with("SCAN ") && !is_walk(step) || step.ends_with("(owner=?)");
    assert!(!steps.iter().any(|step| is_scan(step)), "{}: {steps:#?}", sql.sqlite);
}

#[test]
fn sqlite_reads_a_folder_by_an_index() {
    assert_indexed(FOLDERS_IN, 3);
    assert_indexed(ITEMS_IN, 3);
    for sql in [FOLDER, ITEM, HAS_FOLDER, HAS_ITEM] {
        assert_indexed(sql, 2);
    }
}

/// The statement that the foreign key of items makes for a removed folder.
const CASCADE: Sql = Sql::same("DELETE FROM inventory_items WHERE owner = $1 AND folder = $2");

#[test]
fn sqlite_removes_a_folder_without_reading_the_owners_other_items() {
    assert_indexed(CASCADE, 2);
}

fn a_damaged_item_is_not_handed_out_and_its_id_stays_taken(database: &TestDatabase) {
    let store = database.open();
    let owner = create(&store, 1, "Ada", "Lovelace");
    let root = Uuid::from_u128(0x101);
    let (damaged, whole, folder) = (Uuid::from_u128(11), Uuid::from_u128(12), Uuid::from_u128(9));
    make(&store, owner, &[new_folder(9, root), new_item(11, folder), new_item(12, folder)]);
    tamper(&store, Sql::same("UPDATE inventory_items SET owner_mask = 1 WHERE item = $1"), values![damaged]);
    assert_eq!(store.item(owner, damaged).unwrap(), None);
    let ids = store.items_in(owner, folder, 9).unwrap().into_iter().map(|item| item.id);
    assert_eq!(ids.collect::<Vec<_>>(), [whole]);
    let update = ItemUpdate { item: damaged, flags: Some(0), ..ItemUpdate::default() };
    let changes = [InventoryChange::UpdateItem(update), InventoryChange::RemoveItem { item: damaged }];
    for wanted in changes {
        assert_eq!(change(&store, owner, wanted), Err(InventoryRefusal::UnknownItem(damaged)));
    }
    assert_eq!(change(&store, owner, new_item(11, root)), Err(InventoryRefusal::ItemExists(damaged)));
    let refused = store.folder_contents(owner, folder, 9).unwrap_err();
    assert!(refused.to_string().contains("reading everything in the folder"), "{refused}");
    // It goes with its folder.
    let removed = change(&store, owner, InventoryChange::RemoveFolder { folder }).unwrap();
    assert_eq!(removed.n_items_removed, 2);
    make(&store, owner, &[new_item(11, root)]);
}

fn a_damaged_folder_is_not_handed_out(database: &TestDatabase) {
    let store = database.open();
    let owner = create(&store, 1, "Ada", "Lovelace");
    let (root, damaged) = (Uuid::from_u128(0x101), Uuid::from_u128(9));
    make(&store, owner, &[new_folder(9, root), new_folder(8, damaged), new_item(11, damaged)]);
    tamper(
        &store,
        Sql::same("UPDATE inventory_folders SET name = 'Other' WHERE folder = $1"),
        values![damaged],
    );
    assert_eq!(store.folder(owner, damaged).unwrap(), None);
    assert_eq!(store.folders(owner).unwrap().len(), 2);
    assert!(store.folders_in(owner, root, 9).unwrap().is_empty());
    assert_eq!(change(&store, owner, new_folder(7, damaged)), Err(InventoryRefusal::UnknownFolder(damaged)));
    assert_eq!(change(&store, owner, new_folder(9, root)), Err(InventoryRefusal::FolderExists(damaged)));
    // Without its root an inventory is not handed out.
    let other = create(&store, 2, "Grace", "Hopper");
    let (moved, root_of_other) = (Uuid::from_u128(3), Uuid::from_u128(0x102));
    tamper(
        &store,
        Sql::same("UPDATE inventory_folders SET parent = $1 WHERE folder = $2"),
        values![moved, root_of_other],
    );
    let refused = store.folders(other).unwrap_err();
    assert!(matches!(refused, StoreError::DamagedRow { table: "inventory_folders", .. }), "{refused}");
    // A folder in a damaged one can be taken out.
    let out = InventoryChange::MoveFolder { folder: Uuid::from_u128(8), parent: root };
    make(&store, owner, &[out]);
    let contents = store.folder_contents(owner, Uuid::from_u128(8), 9).unwrap();
    assert!(matches!(contents, FolderContents::Whole { .. }), "{contents:?}");
}
