//! Items and links.

use crate::inventory::edit::InventoryEdit;
use crate::inventory::edit::tests::*;
use crate::inventory::find_item;
use crate::inventory::tests::item;
use crate::testing::{TestDatabase, on_both_engines};
use crate::{InventoryChange, InventoryLimits, InventoryOutcome, Item, ItemUpdate, Permissions, Sale, Store};
use std::collections::BTreeSet;

on_both_engines! {
    items_are_made_changed_moved_and_removed,
    links_are_items_that_point_to_items,
}

fn items_are_made_changed_moved_and_removed(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    let update = ItemUpdate {
        item: id(9),
        asset: Some(id(77)),
        name: Some("Hat".into()),
        description: Some("a hat".into()),
        flags: Some(6),
        sale: Some(Sale { kind: 0, price: 0 }),
        ..ItemUpdate::default()
    };
    let permissions = Permissions { everyone: 99, ..item(9, ROOT).permissions };
    let permit = ItemUpdate { item: id(9), permissions: Some(permissions.clone()), ..ItemUpdate::default() };
    let changes = [
        new_folder(1, ROOT),
        new_item(9, ROOT),
        InventoryChange::UpdateItem(update),
        InventoryChange::UpdateItem(permit),
        move_item(id(9), id(1), Some("Old hat")),
        move_item(id(9), id(1), Some("Hat")),
    ];
    let outcomes = make(&store, owner, &changes);
    assert_eq!(outcomes[1], raised(&[(ROOT, 3)]));
    assert_eq!([&outcomes[2], &outcomes[3]], [&raised(&[(ROOT, 4)]), &raised(&[(ROOT, 5)])]);
    assert_eq!(outcomes[4], raised(&[(ROOT, 6), (id(1), 2)]));
    assert_eq!(outcomes[5], raised(&[(id(1), 3)]), "renamed where it is");
    let expected = Item {
        asset: id(77),
        name: "Hat".into(),
        description: "a hat".into(),
        flags: 6,
        permissions,
        sale: Sale { kind: 0, price: 0 },
        ..item(9, id(1))
    };
    assert_eq!(database.open().items_in(owner, id(1), 9).unwrap(), [expected]);
    let removed = change(&store, owner, InventoryChange::RemoveItem { item: id(9) }).unwrap();
    assert_eq!(removed, InventoryOutcome { n_items_removed: 1, ..raised(&[(id(1), 4)]) });
    assert_eq!(store.item(owner, id(9)).unwrap(), None);
}

fn links_are_items_that_point_to_items(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    let link = |n, target| Item { asset: target, asset_type: 24, ..item(n, ROOT) };
    let changes = [link(9, FIRST_ITEM), link(10, id(77))].map(InventoryChange::CreateItem);
    make(&store, owner, &changes);
    make(&store, owner, &[InventoryChange::RemoveItem { item: FIRST_ITEM }]);
    let links = store.items_in(owner, ROOT, 9).unwrap();
    assert_eq!(links, [link(9, FIRST_ITEM), link(10, id(77))], "they may lead nowhere");
}

#[test]
#[should_panic(expected = "a marked item is neither changed nor removed")]
fn a_write_of_a_marked_item_is_noticed() {
    let store = Store::open_in_memory().unwrap();
    let owner = ada(&store);
    let written = store.write(|session| {
        let edit = InventoryEdit::begin(session, owner, InventoryLimits::default())?;
        let mut edit = edit.expect("an account");
        edit.marked = Some(BTreeSet::from([FIRST_ITEM]));
        let former = find_item(session, owner, FIRST_ITEM)?.expect("its item");
        let renamed = Item { name: "Hat".into(), ..former.clone() };
        Ok(edit.replace_item(session, &former, &renamed).is_ok())
    });
    unreachable!("it was written: {written:?}");
}
