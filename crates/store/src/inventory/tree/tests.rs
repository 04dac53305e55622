//! Whole subtrees: read, removed, and damaged.

use super::*;
use crate::InventoryChange;
use crate::InventoryRefusal;
use crate::account::tests::{create, new_account};
use crate::inventory::edit::tests::{change, make, move_folder, new_folder, new_item};
use crate::inventory::tests::{assert_indexed, folder, item};
use crate::testing::{TestDatabase, on_both_engines, rewrite};

on_both_engines! {
    a_folder_is_read_with_everything_in_it_or_not_at_all,
    a_large_tree_is_read_and_removed_at_once,
    folders_in_a_circle_end_every_walk,
}

const ROOT: Uuid = Uuid::from_u128(0x101);

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn a_folder_is_read_with_everything_in_it_or_not_at_all(database: &TestDatabase) {
    let store = database.open();
    let owner = create(&store, 1, "Ada", "Lovelace");
    let grace = create(&store, 2, "Grace", "Hopper");
    let changes = [
        new_folder(9, ROOT),
        new_folder(1, id(9)),
        new_folder(2, id(9)),
        new_folder(3, id(1)),
        new_item(12, id(3)),
        new_item(11, id(3)),
        new_item(13, id(9)),
        new_item(14, ROOT),
    ];
    make(&store, owner, &changes);
    let contents = store.folder_contents(owner, id(9), 7).unwrap();
    let FolderContents::Whole { folders, items } = contents else { panic!("{contents:?}") };
    assert_eq!(folders.iter().map(|folder| folder.id).collect::<Vec<_>>(), [9, 1, 2, 3].map(id));
    assert_eq!(items, [item(11, id(3)), item(12, id(3)), item(13, id(9))]);
    for max in [0, 3, 4, 6] {
        assert_eq!(store.folder_contents(owner, id(9), max).unwrap(), FolderContents::TooLarge, "{max}");
    }
    for (owner, folder) in [(owner, id(77)), (grace, id(9)), (owner, Uuid::nil())] {
        assert_eq!(store.folder_contents(owner, folder, 7).unwrap(), FolderContents::Unknown);
    }
}

fn a_large_tree_is_read_and_removed_at_once(database: &TestDatabase) {
    let store = database.open();
    let mut new = new_account(1, "Ada", "Lovelace");
    // A chain of 40 folders, and 30 in each.
    let (first, n_chain, n_folders) = (0x1000_u128, 40, 40 * 31);
    for n in 0..n_folders {
        let parent = match n {
            0 => ROOT,
            n if n < n_chain => id(first + n - 1),
            n => id(first + n % n_chain),
        };
        let made = folder(first + n, parent);
        new.items.extend([0x1_0000, 0x2_0000].map(|items| item(items + n, made.id)));
        new.folders.push(made);
    }
    store.create_account(&new).unwrap();
    let contents = store.folder_contents(new.agent, id(first), 10_000).unwrap();
    let FolderContents::Whole { folders, items } = contents else { panic!("{contents:?}") };
    assert_eq!((folders.len() as u128, items.len() as u128), (n_folders, 2 * n_folders));
    let removed = change(&store, new.agent, InventoryChange::RemoveFolder { folder: id(first) }).unwrap();
    assert_eq!(removed.versions, [(ROOT, 2)]);
    let n = [removed.n_folders_removed, removed.n_items_removed].map(u128::from);
    assert_eq!(n, [n_folders, 2 * n_folders]);
    let left = store.folder_contents(new.agent, ROOT, 10).unwrap();
    let FolderContents::Whole { folders, items } = left else { panic!("{left:?}") };
    assert_eq!((folders.len(), items.len()), (1, 1));
}

fn folders_in_a_circle_end_every_walk(database: &TestDatabase) {
    let store = database.open();
    let owner = create(&store, 1, "Ada", "Lovelace");
    let changes = [
        new_folder(1, ROOT),
        new_folder(2, id(1)),
        new_folder(3, id(2)),
        new_item(11, id(3)),
        new_folder(4, ROOT),
    ];
    make(&store, owner, &changes);
    let close = || {
        let spoil = Sql::same("UPDATE inventory_folders SET parent = $1 WHERE folder = $2");
        rewrite(&store, spoil, values![id(3), id(1)]);
    };
    close();
    let too_deep = Err(InventoryRefusal::TooDeep { max: 64 });
    assert_eq!(change(&store, owner, new_folder(5, id(2))), too_deep);
    assert_eq!(change(&store, owner, move_folder(4, id(2))), too_deep);
    assert_eq!(change(&store, owner, move_folder(2, id(1))), Err(InventoryRefusal::IntoItself(id(2))));
    let contents = store.folder_contents(owner, id(2), 9).unwrap();
    let FolderContents::Whole { folders, items } = contents else { panic!("{contents:?}") };
    assert_eq!(folders.iter().map(|folder| folder.id).collect::<Vec<_>>(), [2, 3, 1].map(id));
    assert_eq!(items.len(), 1);
    // A move to the root opens it.
    make(&store, owner, &[move_folder(1, ROOT), new_folder(5, id(3))]);
    close();
    let removed = change(&store, owner, InventoryChange::RemoveFolder { folder: id(2) }).unwrap();
    assert_eq!((removed.n_folders_removed, removed.n_items_removed), (4, 1));
    assert!(removed.versions.is_empty(), "the parent is gone as well");
    assert_eq!(store.folders(owner).unwrap().len(), 2);
}

#[test]
fn sqlite_walks_by_an_index() {
    assert_indexed(PATH, 3);
    // Not REMOVE_FOLDERS: for the cascade to the items of each removed folder SQLite reads all items of the owner.
    for sql in [HEIGHT, TYPED_FOLDERS, REMOVE_ITEMS] {
        assert_indexed(sql, 2);
    }
    for sql in [FOLDERS, ITEMS] {
        assert_indexed(sql, 3);
    }
}
