//! Folders: the tree stays one, and system folders stay in it.

use crate::engine::{Sql, values};
use crate::inventory::edit::tests::*;
use crate::testing::{TestDatabase, on_both_engines, rewrite};
use crate::{Folder, FolderContents, InventoryChange, InventoryLimits, InventoryOutcome, InventoryRefusal};

on_both_engines! {
    folders_are_made_renamed_moved_and_removed,
    a_folder_goes_with_everything_in_it,
    a_purged_folder_stays_empty_and_keeps_its_place,
    system_folders_stay_where_and_what_they_are,
    there_is_one_folder_of_a_system_type_and_in_the_root,
    a_folder_is_not_moved_into_itself,
    folders_are_nested_as_deep_as_the_limit,
    two_moves_at_once_make_no_circle,
}

fn folders_are_made_renamed_moved_and_removed(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    let changes =
        [new_folder(1, ROOT), new_folder(2, ROOT), rename(id(1), "Hats", Some(47)), move_folder(1, id(2))];
    let outcomes = make(&store, owner, &changes);
    assert_eq!(outcomes[0], raised(&[(ROOT, 2)]));
    assert_eq!(outcomes[2], raised(&[(ROOT, 4)]), "the name is content of the parent");
    assert_eq!(outcomes[3], raised(&[(ROOT, 5), (id(2), 2)]));
    let hats = Folder { id: id(1), parent: id(2), name: "Hats".into(), type_default: 47, version: 1 };
    assert_eq!(database.open().folder(owner, id(1)).unwrap(), Some(hats));
    let removed = change(&store, owner, InventoryChange::RemoveFolder { folder: id(1) }).unwrap();
    assert_eq!(removed, InventoryOutcome { n_folders_removed: 1, ..raised(&[(id(2), 3)]) });
    assert_eq!(store.folder(owner, id(1)).unwrap(), None);
}

fn a_folder_goes_with_everything_in_it(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    make_a_tree(&store, owner);
    let before = version(&store, owner, ROOT);
    let removed = change(&store, owner, InventoryChange::RemoveFolder { folder: id(1) }).unwrap();
    let expected =
        InventoryOutcome { versions: vec![(ROOT, before + 1)], n_items_removed: 3, n_folders_removed: 4 };
    assert_eq!(removed, expected);
    assert_eq!(store.folders(owner).unwrap().len(), 1);
    assert_eq!([11, 12, 13].map(|n| store.item(owner, id(n)).unwrap()), [None, None, None]);
    assert!(store.item(owner, id(14)).unwrap().is_some() && store.item(owner, FIRST_ITEM).unwrap().is_some());
}

fn a_purged_folder_stays_empty_and_keeps_its_place(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    make(&store, owner, &[typed_folder(30, ROOT, 14)]);
    make_a_tree(&store, owner);
    make(&store, owner, &[move_folder(1, id(30))]);
    let root = version(&store, owner, ROOT);
    let purged = change(&store, owner, InventoryChange::PurgeFolder { folder: id(30) }).unwrap();
    let expected = InventoryOutcome { versions: vec![(id(30), 3)], n_items_removed: 3, n_folders_removed: 4 };
    assert_eq!(purged, expected, "the trash is a system folder");
    assert_eq!(version(&store, owner, ROOT), root);
    let trash = store.folder_contents(owner, id(30), 10).unwrap();
    let FolderContents::Whole { folders, items } = trash else { panic!("{trash:?}") };
    assert_eq!((folders.len(), items.len()), (1, 0));
}

fn system_folders_stay_where_and_what_they_are(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    let changes = [typed_folder(30, ROOT, 14), new_folder(1, ROOT), typed_folder(2, ROOT, 47)];
    make(&store, owner, &changes);
    let before = rows(&store, owner);
    for folder in [ROOT, id(30)] {
        let changes = [
            InventoryChange::MoveFolder { folder, parent: id(1) },
            InventoryChange::RemoveFolder { folder },
            rename(folder, "Trash", Some(-1)),
        ];
        for wanted in changes {
            let refused = change(&store, owner, wanted.clone());
            assert_eq!(refused, Err(InventoryRefusal::SystemFolder(folder)), "{wanted:?}");
        }
    }
    let purge = InventoryChange::PurgeFolder { folder: ROOT };
    assert_eq!(change(&store, owner, purge), Err(InventoryRefusal::SystemFolder(id(30))));
    assert_eq!(rows(&store, owner), before);
    // Rows from elsewhere may have one below a folder of the user.
    let spoil = Sql::same("UPDATE inventory_folders SET parent = $1 WHERE folder = $2");
    rewrite(&store, spoil, values![id(1), id(30)]);
    let remove = InventoryChange::RemoveFolder { folder: id(1) };
    assert_eq!(change(&store, owner, remove), Err(InventoryRefusal::SystemFolder(id(30))));
    make(&store, owner, &[rename(id(30), "Bin", Some(14)), rename(ROOT, "Mine", None)]);
    make(&store, owner, &[InventoryChange::RemoveFolder { folder: id(2) }]);
}

fn there_is_one_folder_of_a_system_type_and_in_the_root(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    make(&store, owner, &[typed_folder(30, ROOT, 14), typed_folder(1, ROOT, 47), typed_folder(2, ROOT, 47)]);
    let refused = |wanted| change(&store, owner, wanted).unwrap_err();
    assert_eq!(refused(typed_folder(3, ROOT, 14)), InventoryRefusal::SecondSystemFolder(14));
    assert_eq!(refused(typed_folder(3, ROOT, 8)), InventoryRefusal::SecondSystemFolder(8));
    assert_eq!(refused(typed_folder(3, id(1), 46)), InventoryRefusal::SystemFolderOutsideRoot(46));
    assert_eq!(refused(rename(id(1), "Trash", Some(14))), InventoryRefusal::SecondSystemFolder(14));
    make(&store, owner, &[rename(id(1), "Landmarks", Some(3)), new_folder(4, id(2))]);
    assert_eq!(refused(rename(id(4), "Sounds", Some(1))), InventoryRefusal::SystemFolderOutsideRoot(1));
    assert_eq!(refused(rename(id(1), "Outfit", Some(47))), InventoryRefusal::SystemFolder(id(1)));
}

fn a_folder_is_not_moved_into_itself(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    make_a_tree(&store, owner);
    let before = rows(&store, owner);
    for parent in [1, 2, 3, 4] {
        let refused = change(&store, owner, move_folder(1, id(parent)));
        assert_eq!(refused, Err(InventoryRefusal::IntoItself(id(1))), "{parent}");
    }
    assert_eq!(rows(&store, owner), before);
    make(&store, owner, &[move_folder(3, ROOT), move_folder(1, id(3))]);
}

fn folders_are_nested_as_deep_as_the_limit(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    let limits = InventoryLimits { depth_max: 4, ..InventoryLimits::default() };
    let changes = [
        new_folder(1, ROOT),
        new_folder(2, id(1)),
        new_folder(3, id(2)),
        new_folder(4, id(3)),
        new_folder(11, ROOT),
        new_folder(12, id(11)),
        move_folder(11, id(1)),
        move_folder(11, id(2)),
        move_folder(1, ROOT),
    ];
    let outcomes = change_within(&store, owner, &limits, &changes);
    let refused: Vec<bool> = outcomes.iter().map(Result::is_err).collect();
    assert_eq!(refused, [false, false, false, true, false, false, false, true, false]);
    assert_eq!(outcomes[3], Err(InventoryRefusal::TooDeep { max: 4 }));
    assert_eq!(outcomes[7], outcomes[3], "a folder that holds one needs two levels");
    // With a lower limit what is there stays, and can be moved up and removed.
    let limits = InventoryLimits { depth_max: 2, ..limits };
    let changes = [
        new_folder(5, id(3)),
        move_folder(12, id(2)),
        move_folder(12, ROOT),
        InventoryChange::RemoveFolder { folder: id(1) },
    ];
    let outcomes = change_within(&store, owner, &limits, &changes);
    let refused: Vec<bool> = outcomes.iter().map(Result::is_err).collect();
    assert_eq!(refused, [true, true, false, false]);
}

fn two_moves_at_once_make_no_circle(database: &TestDatabase) {
    let stores = [database.open(), database.open()];
    let owner = ada(&stores[0]);
    make(&stores[0], owner, &[new_folder(1, ROOT), new_folder(2, ROOT)]);
    for _ in 0..10 {
        let moves = [move_folder(1, id(2)), move_folder(2, id(1))];
        let n_moved = std::thread::scope(|scope| {
            let threads: Vec<_> = stores
                .iter()
                .zip(moves)
                .map(|(store, wanted)| scope.spawn(move || change(store, owner, wanted).is_ok()))
                .collect();
            threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum::<usize>()
        });
        assert_eq!(n_moved, 1);
        make(&stores[0], owner, &[move_folder(1, ROOT), move_folder(2, ROOT)]);
    }
}
