//! Items of transfers: each transfer has its effect once, in the save of its region.

use super::*;
use crate::account::tests::{create, new_account};
use crate::engine::{Sql, values};
use crate::inventory::edit::tests::{make, new_folder, typed_folder};
use crate::inventory::tests::item;
use crate::region_objects::tests::{ONE, changes};
use crate::testing::{TestDatabase, on_both_engines, rewrite, tamper};
use crate::{
    AssetHash, Folder, HeldChange, HeldFilter, InventoryChange, MarkItem, RegionChanges, Store, StoreError,
    check,
};
use ids::{SessionKey, WorldId};

on_both_engines! {
    an_object_comes_into_the_folder_of_its_choice_with_its_asset,
    a_save_that_is_repeated_makes_nothing_twice_and_tells_the_same,
    an_object_of_a_user_without_an_inventory_is_held,
    a_marked_item_goes_with_the_save_of_its_region_or_is_released,
    items_of_tickets_that_are_undone_go_and_those_that_left_with_them_come_back,
    a_save_that_fails_leaves_inventories,
    an_item_names_an_asset_that_exists,
    items_that_leave_together_come_into_a_new_folder,
    an_object_that_is_saved_is_the_content_of_its_item,
    inventories_of_several_owners_change_in_one_save,
    a_held_object_becomes_an_item_in_place_of_its_row,
}

const ROOT: Uuid = Uuid::from_u128(0x101);
const OBJECTS: i8 = 6;

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn key(ticket: u32) -> HeldKey {
    HeldKey { region: ONE, ticket: Ticket(ticket) }
}

pub(super) fn origin(owner: AgentId, ticket: u32) -> ItemOrigin {
    ItemOrigin { key: key(ticket), owner, held_s: 1_700_000_000 }
}

/// An object of an owner, whose asset and row have these bytes.
pub(super) fn transfer(owner: AgentId, ticket: u32, name: &str, wanted: Uuid) -> (Ticket, HeldChange) {
    let origin = origin(owner, ticket);
    let nil = Uuid::nil();
    let row = HeldRow {
        key: origin.key,
        owner,
        kind: 4,
        by: SessionKey::NODE,
        held_s: origin.held_s,
        value: name.as_bytes().into(),
    };
    let asset = AssetRow {
        id: nil,
        hash: AssetHash::of(name.as_bytes()),
        kind: 6,
        length: name.len() as u32,
        creator: owner,
        created_s: origin.held_s,
        origin: "world".into(),
        used_s: None,
    };
    let item =
        Item { id: nil, asset: nil, asset_type: 6, inventory_type: 6, name: name.into(), ..item(1, nil) };
    let folder = FolderChoice { wanted, type_default: OBJECTS };
    let (new_folder, replaces) = (None, None);
    let (asset, row) = (Some(asset), Some(row));
    let transfer = ItemTransfer { origin, folder, new_folder, replaces, item, asset, row };
    (Ticket(ticket), HeldChange::InsertItem(Box::new(transfer)))
}

/// Changes with these transfers, up to the last of them.
pub(super) fn with(held: Vec<(Ticket, HeldChange)>) -> RegionChanges {
    let mut changes = changes(1, &[], &[], &[]);
    changes.row.ticket = held.last().map_or(Ticket(0), |(ticket, _)| *ticket);
    changes.held = held;
    changes
}

fn save(store: &Store, held: Vec<(Ticket, HeldChange)>) -> Vec<ItemEffect> {
    store.save_region(ONE, &with(held)).unwrap()
}

fn version(store: &Store, owner: AgentId, folder: Uuid) -> i32 {
    store.folder(owner, folder).unwrap().unwrap().version
}

fn n_held(store: &Store) -> usize {
    store.held_objects(HeldFilter::default(), None, 100).unwrap().entries.len()
}

/// Takes the right to copy an item from its owner, and marks it.
fn mark(store: &Store, owner: AgentId, item: Uuid) -> (HeldKey, Item) {
    let single = Sql::same("UPDATE inventory_items SET owner_mask = 0 WHERE item = $1");
    rewrite(store, single, values![item]);
    match store.mark_item(owner, item, ONE).unwrap() {
        MarkItem::Marked { key, item } => (key, item),
        other => panic!("{other:?}"),
    }
}

fn an_object_comes_into_the_folder_of_its_choice_with_its_asset(database: &TestDatabase) {
    let store = database.open();
    let owner = create(&store, 1, "Ada", "Lovelace");
    // Neither the wanted folder nor one of the type: the root.
    let effect = save(&store, vec![transfer(owner, 1, "first", id(1))]).remove(0);
    assert_eq!((effect.item.folder, effect.version, effect.is_there), (ROOT, 2, true));
    make(&store, owner, &[typed_folder(7, ROOT, OBJECTS), new_folder(1, ROOT)]);
    let held = vec![
        transfer(owner, 2, "second", Uuid::nil()),
        transfer(owner, 3, "third", id(77)),
        transfer(owner, 4, "fo\0urth", id(1)),
    ];
    let effects = save(&store, held);
    let folders = effects.iter().map(|effect| (effect.item.folder, effect.version));
    assert_eq!(folders.collect::<Vec<_>>(), [(id(7), 2), (id(7), 3), (id(1), 2)]);
    assert_eq!(version(&store, owner, id(7)), 3);
    for (effect, (ticket, name)) in effects.iter().zip([(2, "second"), (3, "third"), (4, "fourth")]) {
        assert_eq!((effect.ticket, effect.owner, &effect.item.name[..]), (Ticket(ticket), owner, name));
        assert_eq!(store.item(owner, effect.item.id).unwrap().as_ref(), Some(&effect.item));
        assert!(store.asset(effect.item.asset).unwrap().is_some_and(|asset| asset.row.used_s.is_none()));
    }
    assert_eq!(n_held(&store), 0);
    let problems = check(&database.url).unwrap().problems;
    assert!(problems.is_empty(), "{problems:?}");
}

fn a_save_that_is_repeated_makes_nothing_twice_and_tells_the_same(database: &TestDatabase) {
    let store = database.open();
    let owner = create(&store, 1, "Ada", "Lovelace");
    let held = vec![transfer(owner, 1, "one", ROOT), transfer(owner, 2, "two", ROOT)];
    let first = save(&store, held.clone());
    // Its answer was lost, and a frame has come since.
    let again = save(&store, [held.clone(), vec![transfer(owner, 3, "three", ROOT)]].concat());
    let told: Vec<Uuid> = again.iter().map(|effect| effect.item.id).collect();
    assert_eq!(told[..2], [first[0].item.id, first[1].item.id]);
    assert_eq!(store.items_in(owner, ROOT, 10).unwrap().len(), 4, "three beside that of the account");
    // The user has removed one of them meanwhile.
    make(&store, owner, &[InventoryChange::RemoveItem { item: told[0] }]);
    assert_eq!(save(&store, held).len(), 1);
    assert_eq!(store.item(owner, told[0]).unwrap(), None);
    // Ids follow from the database as well.
    let other = Store::open_in_memory().unwrap();
    let same = create(&other, 1, "Ada", "Lovelace");
    assert_ne!(save(&other, vec![transfer(same, 1, "one", ROOT)])[0].item.id, first[0].item.id);
}

fn an_object_of_a_user_without_an_inventory_is_held(database: &TestDatabase) {
    let store = database.open();
    let nobody = AgentId(id(77));
    let mut new = new_account(2, "Grace", "Hopper");
    (new.folders, new.items) = (Vec::new(), Vec::new());
    store.create_account(&new).unwrap();
    let held = vec![transfer(nobody, 1, "one", ROOT), transfer(new.agent, 2, "two", ROOT)];
    assert_eq!(save(&store, held.clone()), []);
    assert_eq!((n_held(&store), save(&store, held), n_held(&store)), (2, vec![], 2));
    assert_eq!(store.n_asset_contents().unwrap(), 0);
    // They come back from their rows.
    save(&store, vec![(Ticket(3), HeldChange::Undo { first: Ticket(1), last: Ticket(2) })]);
    assert_eq!(n_held(&store), 0);
}

fn a_marked_item_goes_with_the_save_of_its_region_or_is_released(database: &TestDatabase) {
    let store = database.open();
    let owner = create(&store, 1, "Ada", "Lovelace");
    let made = save(&store, vec![transfer(owner, 1, "one", ROOT), transfer(owner, 2, "two", ROOT)]);
    let [one, two] = [&made[0].item, &made[1].item].map(|item| mark(&store, owner, item.id));
    let removed = HeldChange::RemoveItem { key: one.0, owner, item: one.1.id };
    let answers = vec![(Ticket(3), removed), (Ticket(4), HeldChange::Release(two.0))];
    let effects = save(&store, answers.clone());
    let item = one.1.clone();
    let gone = ItemEffect { ticket: Ticket(3), owner, item, is_there: false, version: 4, new_folder: None };
    assert_eq!(effects, [gone]);
    assert_eq!(store.items_in(owner, ROOT, 10).unwrap().len(), 2);
    let again = mark(&store, owner, two.1.id);
    assert_ne!(again.0, two.0);
    // The save is repeated: it reports the same, and neither takes the new mark nor removes anything.
    let told =
        save(&store, answers).into_iter().map(|effect| (effect.ticket, effect.item.id, effect.is_there));
    assert_eq!(told.collect::<Vec<_>>(), [(Ticket(3), one.1.id, false)]);
    assert_eq!(store.items_in(owner, ROOT, 10).unwrap().len(), 2);
    assert_eq!(store.mark_item(owner, two.1.id, ONE).unwrap(), MarkItem::Busy(ONE));
    // A mark that is gone, as after a start, is that of no item.
    let stale = vec![(Ticket(5), HeldChange::Remove(two.0)), (Ticket(6), HeldChange::Release(two.0))];
    assert_eq!((save(&store, stale), version(&store, owner, ROOT)), (vec![], 4));
    store.release_all_marks().unwrap();
    make(&store, owner, &[InventoryChange::RemoveItem { item: two.1.id }]);
}

fn items_of_tickets_that_are_undone_go_and_those_that_left_with_them_come_back(database: &TestDatabase) {
    let store = database.open();
    let owner = create(&store, 1, "Ada", "Lovelace");
    make(&store, owner, &[new_folder(1, ROOT), new_folder(2, ROOT)]);
    let made = save(&store, vec![transfer(owner, 1, "one", id(1)), transfer(owner, 2, "two", id(2))]);
    let (one, two) = (mark(&store, owner, made[0].item.id), made[1].item.id);
    // The second is moved and renamed by its owner, and the first goes into the region.
    let moved = InventoryChange::MoveItem { item: two, folder: ROOT, name: Some("other".into()) };
    make(&store, owner, &[moved]);
    save(&store, vec![(Ticket(3), HeldChange::Remove(one.0))]);
    make(&store, owner, &[InventoryChange::RemoveFolder { folder: id(1) }]);
    let back = HeldChange::ReturnItem { owner, item: Box::new(one.1.clone()) };
    let undone = vec![
        (Ticket(4), HeldChange::Undo { first: Ticket(2), last: Ticket(3) }),
        (Ticket(4), HeldChange::UndoItem(origin(owner, 2))),
        (Ticket(4), back),
    ];
    let effects = save(&store, undone.clone());
    let told: Vec<(Uuid, bool)> = effects.iter().map(|effect| (effect.item.id, effect.is_there)).collect();
    assert_eq!(told, [(two, false), (one.1.id, true)]);
    assert_eq!(store.item(owner, two).unwrap(), None);
    let item = store.item(owner, one.1.id).unwrap().unwrap();
    assert_eq!(item, Item { folder: ROOT, ..one.1.clone() }, "its folder is gone");
    let before = store.items_in(owner, ROOT, 10).unwrap();
    let again = save(&store, undone);
    let told: Vec<(Uuid, bool)> = again.iter().map(|effect| (effect.item.id, effect.is_there)).collect();
    assert_eq!(told, [(two, false), (one.1.id, true)], "the same");
    assert_eq!((again[1].item.clone(), store.items_in(owner, ROOT, 10).unwrap()), (item, before), "once");
    // A transfer and its end in one save.
    let held = vec![
        transfer(owner, 5, "five", id(2)),
        (Ticket(6), HeldChange::Undo { first: Ticket(5), last: Ticket(5) }),
        (Ticket(6), HeldChange::UndoItem(origin(owner, 5))),
    ];
    assert_eq!(save(&store, held).len(), 2);
    assert!(store.items_in(owner, id(2), 10).unwrap().is_empty());
    // An item that is there is not put back a second time.
    let back = HeldChange::ReturnItem { owner, item: Box::new(one.1) };
    assert_eq!(save(&store, vec![(Ticket(7), back)]), []);
}

fn a_save_that_fails_leaves_inventories(database: &TestDatabase) {
    let store = database.open();
    let owner = create(&store, 1, "Ada", "Lovelace");
    let made = save(&store, vec![transfer(owner, 1, "one", ROOT)]);
    let (mark, _) = mark(&store, owner, made[0].item.id);
    let before: Vec<Folder> = store.folders(owner).unwrap();
    let mut changes = with(vec![transfer(owner, 2, "two", ROOT), (Ticket(3), HeldChange::Remove(mark))]);
    changes.bodies.push(ids::LocalId(5), b"five");
    // The last statement.
    tamper(&store, Sql::same("ALTER TABLE regions RENAME COLUMN name TO other"), &[]);
    let failed = store.save_region(ONE, &changes);
    assert!(matches!(failed, Err(StoreError::Query { .. })), "{failed:?}");
    tamper(&store, Sql::same("ALTER TABLE regions RENAME COLUMN other TO name"), &[]);
    assert_eq!((store.folders(owner).unwrap(), store.count_region_objects(ONE).unwrap()), (before, 0));
    assert_eq!(store.mark_item(owner, made[0].item.id, WorldId(2)).unwrap(), MarkItem::Busy(ONE));
    assert_eq!(store.save_region(ONE, &changes).unwrap().len(), 2);
    assert_eq!(store.count_region_objects(ONE).unwrap(), 1);
}

fn an_item_names_an_asset_that_exists(database: &TestDatabase) {
    let store = database.open();
    let owner = create(&store, 1, "Ada", "Lovelace");
    let (ticket, change) = transfer(owner, 1, "note", ROOT);
    let HeldChange::InsertItem(transfer) = change else { panic!("an item") };
    let (asset, row) = (id(9), transfer.asset.clone().unwrap());
    store.add_assets(&[AssetRow { id: asset, used_s: Some(1), ..row }]).unwrap();
    let item = Item { asset, ..transfer.item.clone() };
    let content = ItemTransfer { item, asset: None, row: None, ..(*transfer).clone() };
    let effect = save(&store, vec![(ticket, HeldChange::InsertItem(Box::new(content.clone())))]).remove(0);
    assert_eq!(effect.item.asset, asset);
    assert_eq!(store.asset(asset).unwrap().unwrap().row.used_s, None, "it is temporary no more");
    // Without an owner nothing is left of it.
    let nobody = ItemOrigin { owner: AgentId(id(77)), ..origin(owner, 2) };
    let content = ItemTransfer { origin: nobody, ..content };
    assert_eq!(save(&store, vec![(Ticket(2), HeldChange::InsertItem(Box::new(content)))]), []);
    assert_eq!(n_held(&store), 0);
}

fn items_that_leave_together_come_into_a_new_folder(database: &TestDatabase) {
    let store = database.open();
    let owner = create(&store, 1, "Ada", "Lovelace");
    let bought = |ticket| {
        let (ticket, change) = transfer(owner, ticket, "thing", id(5));
        let HeldChange::InsertItem(transfer) = change else { panic!("an item") };
        let transfer = ItemTransfer { new_folder: Some("Ch\0est".into()), ..*transfer };
        (ticket, HeldChange::InsertItem(Box::new(transfer)))
    };
    let held = vec![bought(1), bought(2)];
    let effects = save(&store, held.clone());
    let folder = Folder { id: id(5), parent: ROOT, name: "Chest".into(), type_default: -1, version: 2 };
    let made: Vec<Option<Folder>> = effects.iter().map(|effect| effect.new_folder.clone()).collect();
    assert_eq!(made, [Some(folder.clone()), None]);
    assert!(effects.iter().all(|effect| effect.item.folder == id(5)));
    assert_eq!((store.items_in(owner, id(5), 10).unwrap().len(), version(&store, owner, ROOT)), (2, 2));
    // The owner is told of the folder once more if the save is repeated.
    let again = Folder { version: 3, ..folder };
    assert!(save(&store, held).iter().all(|effect| effect.new_folder.as_ref() == Some(&again)));
    // An owner without it gets it anew.
    make(&store, owner, &[InventoryChange::RemoveFolder { folder: id(5) }]);
    assert!(save(&store, vec![bought(3)])[0].new_folder.is_some());
}

fn an_object_that_is_saved_is_the_content_of_its_item(database: &TestDatabase) {
    let store = database.open();
    let owner = create(&store, 1, "Ada", "Lovelace");
    let former = save(&store, vec![transfer(owner, 1, "first", ROOT)]).remove(0).item;
    let saved = |ticket, item| {
        let (ticket, change) = transfer(owner, ticket, "later", ROOT);
        let HeldChange::InsertItem(transfer) = change else { panic!("an item") };
        (ticket, HeldChange::InsertItem(Box::new(ItemTransfer { replaces: Some(item), ..*transfer })))
    };
    // One of them is that of the new account.
    let n_items = || store.items_in(owner, ROOT, 10).unwrap().len();
    let held = vec![saved(2, former.id)];
    let effect = save(&store, held.clone()).remove(0);
    assert_eq!(effect.item, Item { asset: effect.item.asset, ..former.clone() }, "but for its content");
    assert_ne!(effect.item.asset, former.asset);
    assert_eq!((store.item(owner, former.id).unwrap(), effect.version), (Some(effect.item.clone()), 3));
    assert_eq!(save(&store, held)[0].item, effect.item, "the repetition tells the same");
    assert_eq!(n_items(), 2);
    // Without the item, another one is made.
    let made = save(&store, vec![saved(3, id(77))]).remove(0).item;
    assert_eq!((&made.name[..], n_items()), ("later", 3));
    // So it is while the item is on its way into a region.
    let (_, marked) = mark(&store, owner, former.id);
    assert_ne!(save(&store, vec![saved(4, former.id)])[0].item.id, former.id);
    assert_eq!(store.item(owner, former.id).unwrap(), Some(marked));
}

fn inventories_of_several_owners_change_in_one_save(database: &TestDatabase) {
    let store = database.open();
    let owners = [3, 1, 2].map(|n| create(&store, n, "Ada", &format!("Lovelace{n}")));
    let held = (1..).zip(owners).map(|(ticket, owner)| transfer(owner, ticket, "object", Uuid::nil()));
    let effects = save(&store, held.collect());
    let told: Vec<AgentId> = effects.iter().map(|effect| effect.owner).collect();
    assert_eq!(told, owners);
    let ids: BTreeSet<Uuid> = effects.iter().flat_map(|effect| [effect.item.id, effect.item.asset]).collect();
    assert_eq!(ids.len(), 6, "each has an item and an asset of its own");
    assert_eq!(store.n_asset_contents().unwrap(), 1, "the bytes are the same");
}

fn a_held_object_becomes_an_item_in_place_of_its_row(database: &TestDatabase) {
    let store = database.open();
    let stranger = AgentId(id(99));
    let of = |owner, ticket| match transfer(owner, ticket, "hat", Uuid::nil()).1 {
        HeldChange::InsertItem(transfer) => *transfer,
        other => panic!("{other:?}"),
    };
    let owner = create(&store, 1, "Ada", "Lovelace");
    let rows = [of(owner, 1), of(stranger, 2)].map(|transfer| transfer.row.expect("a row"));
    let held = [1, 2].into_iter().zip(rows).map(|(ticket, row)| (Ticket(ticket), HeldChange::Insert(row)));
    save(&store, held.collect());
    let made = store.make_item(&of(owner, 1)).unwrap().expect("an item");
    assert_eq!((&*made.item.name, made.is_there, n_held(&store)), ("hat", true, 1));
    assert_eq!(store.item(owner, made.item.id).unwrap(), Some(made.item));
    assert_eq!(store.make_item(&of(owner, 1)).unwrap(), None, "its row has gone");
    assert_eq!((store.make_item(&of(stranger, 2)).unwrap(), n_held(&store)), (None, 1));
    assert!(matches!(store.take_held(key(2), ONE).unwrap(), crate::TakeHeld::Taken(_)));
    assert_eq!((store.make_item(&of(stranger, 2)).unwrap(), n_held(&store)), (None, 1), "it is on its way");
}
