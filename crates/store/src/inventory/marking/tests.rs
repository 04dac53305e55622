//! Marks: one for an item, none for a copyable one, and an item with a mark stays as it is.

use super::*;
use crate::inventory::edit::tests::{change, make, new_folder, new_item};
use crate::inventory::tests::item;
use crate::testing::{TestDatabase, on_both_engines, rewrite};
use crate::{FolderContents, InventoryChange, InventoryRefusal, ItemUpdate};

on_both_engines! {
    an_item_is_on_its_way_into_one_region,
    an_item_that_may_be_copied_gets_no_mark,
    an_item_that_its_owner_gives_up_is_marked_in_any_case,
    a_marked_item_stays_as_it_is,
    a_folder_with_a_marked_item_in_it_stays,
    marks_have_numbers_that_rise_and_begin_anew_at_their_end,
}

const ONE: WorldId = WorldId(1);
const TWO: WorldId = WorldId(2);

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

/// An owner with folder 1, which has folder 2, which has item 9, of which no copy may be made; and item 10 in the root, beside the first one.
fn ada(store: &Store) -> (AgentId, Uuid) {
    let (owner, root) = (crate::account::tests::create(store, 1, "Ada", "Lovelace"), id(0x101));
    make(store, owner, &[new_folder(1, root), new_folder(2, id(1)), new_item(10, root)]);
    let mut single = item(9, id(2));
    single.permissions.owner &= !COPY;
    make(store, owner, &[InventoryChange::CreateItem(single)]);
    (owner, root)
}

/// Key of the mark of an item that gets one.
fn mark(store: &Store, owner: AgentId, item: Uuid) -> HeldKey {
    match store.mark_item(owner, item, ONE).unwrap() {
        MarkItem::Marked { key, item: found } => {
            assert_eq!((key.region, found.id), (HeldKey::ITEMS, item));
            key
        }
        other => panic!("{other:?}"),
    }
}

fn an_item_is_on_its_way_into_one_region(database: &TestDatabase) {
    let store = database.open();
    let (owner, _) = ada(&store);
    let first = mark(&store, owner, id(9));
    for by in [ONE, TWO] {
        assert_eq!(store.mark_item(owner, id(9), by).unwrap(), MarkItem::Busy(ONE));
    }
    let stranger = AgentId(id(77));
    for (owner, item) in [(owner, id(99)), (stranger, id(9))] {
        assert_eq!(store.mark_item(owner, item, ONE).unwrap(), MarkItem::Unknown);
        assert!(!store.release_item(owner, item).unwrap());
    }
    assert!(store.release_item(owner, id(9)).unwrap() && !store.release_item(owner, id(9)).unwrap());
    assert!(mark(&database.open(), owner, id(9)) > first);
    assert_eq!((store.release_all_marks().unwrap(), store.release_all_marks().unwrap()), (1, 0));
    mark(&store, owner, id(9));
}

fn an_item_that_may_be_copied_gets_no_mark(database: &TestDatabase) {
    let store = database.open();
    let (owner, root) = ada(&store);
    for _ in 0..2 {
        assert_eq!(store.mark_item(owner, id(10), ONE).unwrap(), MarkItem::Copyable(item(10, root)));
    }
    assert_eq!(store.release_all_marks().unwrap(), 0);
    // The base bounds what the owner may do.
    let bound = Sql::same("UPDATE inventory_items SET base_mask = $1 WHERE item = $2");
    rewrite(&store, bound, values![0x7FFF_FFFF_u32 & !COPY, id(10)]);
    mark(&store, owner, id(10));
}

fn an_item_that_its_owner_gives_up_is_marked_in_any_case(database: &TestDatabase) {
    let store = database.open();
    let (owner, root) = ada(&store);
    for item_id in [9, 10] {
        match store.mark_leaving(owner, id(item_id), ONE).unwrap() {
            MarkItem::Marked { item, .. } => assert_eq!(item.id, id(item_id)),
            other => panic!("{other:?}"),
        }
        assert_eq!(store.mark_leaving(owner, id(item_id), TWO).unwrap(), MarkItem::Busy(ONE));
    }
    assert_eq!(store.mark_item(owner, id(10), ONE).unwrap(), MarkItem::Copyable(item(10, root)));
    assert_eq!(store.release_all_marks().unwrap(), 2);
}

fn a_marked_item_stays_as_it_is(database: &TestDatabase) {
    let store = database.open();
    let (owner, root) = ada(&store);
    mark(&store, owner, id(9));
    let before = (store.item(owner, id(9)).unwrap(), store.folders(owner).unwrap());
    let changes = [
        InventoryChange::UpdateItem(ItemUpdate {
            item: id(9),
            name: Some("x".into()),
            ..ItemUpdate::default()
        }),
        InventoryChange::MoveItem { item: id(9), folder: root, name: None },
        InventoryChange::RemoveItem { item: id(9) },
    ];
    for wanted in changes {
        assert_eq!(change(&store, owner, wanted), Err(InventoryRefusal::Busy(id(9))));
    }
    assert_eq!((store.item(owner, id(9)).unwrap(), store.folders(owner).unwrap()), before);
    // Others are free, and so is this one afterwards.
    make(&store, owner, &[InventoryChange::MoveItem { item: id(10), folder: id(1), name: None }]);
    store.release_item(owner, id(9)).unwrap();
    make(&store, owner, &[InventoryChange::RemoveItem { item: id(9) }]);
}

fn a_folder_with_a_marked_item_in_it_stays(database: &TestDatabase) {
    let store = database.open();
    let (owner, root) = ada(&store);
    mark(&store, owner, id(9));
    let busy = Err(InventoryRefusal::Busy(id(9)));
    for folder in [id(1), id(2)] {
        assert_eq!(change(&store, owner, InventoryChange::RemoveFolder { folder }), busy);
        assert_eq!(change(&store, owner, InventoryChange::PurgeFolder { folder }), busy);
    }
    // The item stays in its folder, wherever that goes.
    make(&store, owner, &[InventoryChange::MoveFolder { folder: id(2), parent: root }]);
    make(&store, owner, &[InventoryChange::RemoveFolder { folder: id(1) }]);
    let FolderContents::Whole { folders, items } = store.folder_contents(owner, id(2), 10).unwrap() else {
        panic!("a small folder")
    };
    assert_eq!((folders.len(), items.len()), (1, 1));
    store.release_all_marks().unwrap();
    make(&store, owner, &[InventoryChange::RemoveFolder { folder: id(2) }]);
}

fn marks_have_numbers_that_rise_and_begin_anew_at_their_end(database: &TestDatabase) {
    let store = database.open();
    let (owner, _) = ada(&store);
    let number = || {
        let Ticket(number) = mark(&store, owner, id(9)).ticket;
        store.release_item(owner, id(9)).unwrap();
        number
    };
    assert_eq!([number(), number()], [1, 2]);
    let set = Sql::same("UPDATE counters SET value = $1 WHERE name = $2");
    rewrite(&store, set, values![u32::MAX - 1, MARKS]);
    assert_eq!([number(), number(), number()], [u32::MAX, 1, 2]);
}
