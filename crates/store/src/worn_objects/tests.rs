//! Rows of worn objects: they come and go with their items, and an earlier state never replaces a later one.

use super::*;
use crate::account::tests::{create, new_account};
use crate::engine::{Sql, values};
use crate::inventory::tests::item;
use crate::region_objects::tests::{ONE, changes};
use crate::testing::{TestDatabase, on_both_engines, rewrite, tamper};
use crate::{
    AssetHash, FolderChoice, HeldChange, InventoryChange, InventoryRefusal, ItemEffect, ItemTransfer,
    MarkItem, RegionChanges, check,
};
use ids::{HeldKey, SessionKey, Ticket, WorldId};
use uuid::Uuid;

on_both_engines! {
    an_item_is_worn_once_and_within_the_bound,
    those_that_leave_do_not_count_against_the_bound,
    a_worn_item_stays_where_it_is_until_it_is_taken_off,
    an_object_that_is_saved_does_not_become_the_content_of_a_worn_item,
    an_earlier_state_does_not_replace_a_later_one,
    an_item_gets_the_last_state_when_its_object_is_taken_off,
    an_object_that_is_taken_off_as_it_was_keeps_its_asset,
    an_object_from_the_ground_becomes_an_item_and_goes_back_without_it,
    transfers_of_worn_objects_are_undone,
    a_damaged_row_is_set_aside_and_named,
}

const ROOT: Uuid = Uuid::from_u128(0x101);
const ITEM: Uuid = Uuid::from_u128(0x201);

/// Ada, with an object in the inventory beside that of every account.
fn ada(store: &Store) -> AgentId {
    let owner = create(store, 1, "Ada", "Lovelace");
    for n in [0x201, 0x202, 0x203] {
        if n != 0x201 {
            let new = InventoryChange::CreateItem(item(n, ROOT));
            let made = store.change_inventory(owner, &[new], &InventoryLimits::default()).unwrap();
            assert!(made[0].is_ok(), "{made:?}");
        }
        let object = Sql::same("UPDATE inventory_items SET asset_type = 6, owner_mask = 0 WHERE item = $1");
        rewrite(store, object, values![Uuid::from_u128(n)]);
    }
    owner
}

fn of(store: &Store, owner: AgentId, id: Uuid) -> Item {
    store.item(owner, id).unwrap().expect("it is there")
}

fn new_worn(store: &Store, owner: AgentId, id: Uuid, revision: i64) -> NewWorn {
    NewWorn { item: of(store, owner, id), point: 5, revision, value: b"as worn"[..].into() }
}

fn row(owner: AgentId, item: Uuid, revision: i64, value: &str) -> WornRow {
    WornRow { owner, item, point: 6, revision, is_ahead: true, value: value.as_bytes().into() }
}

fn asset(value: &str) -> AssetRow {
    AssetRow {
        id: Uuid::nil(),
        hash: AssetHash::of(value.as_bytes()),
        kind: 6,
        length: value.len() as u32,
        creator: AgentId(Uuid::from_u128(1)),
        created_s: 7,
        origin: "world".into(),
        used_s: None,
    }
}

fn saved(row: WornRow) -> WornSave {
    WornSave { row, ends: false, renews: false, asset: None }
}

/// It is taken off in this state.
fn taken_off(row: WornRow) -> WornSave {
    let value = String::from_utf8(row.value.to_vec()).unwrap();
    let permissions = Permissions { base: 0xFF, owner: 0xF, ..item(1, ROOT).permissions };
    let asset = Some(WornAsset { asset: asset(&value), permissions });
    WornSave { row: WornRow { is_ahead: false, ..row }, ends: true, renews: true, asset }
}

fn save(store: &Store, worn: Vec<WornSave>) -> Vec<ItemEffect> {
    store.save_region(ONE, &RegionChanges { worn, ..changes(1, &[], &[], &[]) }).unwrap()
}

fn transfer(store: &Store, ticket: u32, change: HeldChange) -> Vec<ItemEffect> {
    let mut changes = changes(1, &[], &[], &[]);
    changes.row.ticket = Ticket(ticket);
    changes.held = vec![(Ticket(ticket), change)];
    store.save_region(ONE, &changes).unwrap()
}

fn worn(store: &Store, owner: AgentId) -> Vec<WornRow> {
    let WornList { rows, damages } = store.worn_objects(owner).unwrap();
    assert_eq!(damages, []);
    rows
}

fn remove(store: &Store, owner: AgentId, id: Uuid) -> Result<(), InventoryRefusal> {
    let change = InventoryChange::RemoveItem { item: id };
    let made = store.change_inventory(owner, &[change], &InventoryLimits::default()).unwrap();
    made.into_iter().next().expect("one change").map(drop)
}

fn an_item_is_worn_once_and_within_the_bound(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    let new = |n| new_worn(&store, owner, Uuid::from_u128(n), 1);
    let outcomes = store.wear(owner, &[new(0x201), new(0x201), new(0x202), new(0x203)], 2).unwrap();
    let expected = [WearOutcome::Worn, WearOutcome::Already, WearOutcome::Worn, WearOutcome::Full];
    assert_eq!(outcomes, expected);
    let rows = worn(&database.open(), owner);
    assert_eq!(rows.iter().map(|row| row.item).collect::<Vec<_>>(), [ITEM, Uuid::from_u128(0x202)]);
    let WornRow { point, revision, is_ahead, value, .. } = &rows[0];
    assert_eq!((*point, *revision, *is_ahead, &**value), (5, 1, false, &b"as worn"[..]));
    // Another content than the caller has read, no object, an item of another user, a marked one.
    let other = Item { asset: Uuid::from_u128(9), ..of(&store, owner, Uuid::from_u128(0x203)) };
    let changed = NewWorn { item: other, ..new(0x203) };
    let bob = new_account(0x1000, "Bob", "Babbage");
    store.create_account(&bob).unwrap();
    let of_bob = NewWorn { item: bob.items[0].clone(), ..new(0x203) };
    let outcomes = store.wear(owner, &[changed, of_bob.clone()], 9).unwrap();
    assert_eq!(outcomes, [WearOutcome::Changed, WearOutcome::Unknown]);
    assert_eq!(store.wear(bob.agent, &[of_bob], 9).unwrap(), [WearOutcome::Unknown], "it is a shape");
    let marked = store.mark_item(owner, Uuid::from_u128(0x203), WorldId(1)).unwrap();
    assert!(matches!(marked, MarkItem::Marked { .. }), "{marked:?}");
    assert_eq!(store.wear(owner, &[new(0x203)], 9).unwrap(), [WearOutcome::Busy]);
    let nobody = AgentId(Uuid::from_u128(0xBAD));
    assert!(matches!(store.wear(nobody, &[], 9), Err(StoreError::UnknownAccount(agent)) if agent == nobody));
}

fn those_that_leave_do_not_count_against_the_bound(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    let new = |n| new_worn(&store, owner, Uuid::from_u128(n), 1);
    assert_eq!(store.wear(owner, &[new(0x201)], 1).unwrap(), [WearOutcome::Worn]);
    let in_place =
        |n, leaves: &dyn Fn(Uuid, u8) -> bool| store.wear_in_place(owner, &[new(n)], 1, leaves).unwrap();
    assert_eq!(in_place(0x202, &|_, point| point == 6), [WearOutcome::Full]);
    assert_eq!(in_place(0x202, &|item, point| (item, point) == (ITEM, 5)), [WearOutcome::Worn]);
    assert_eq!(in_place(0x203, &|item, _| item == ITEM), [WearOutcome::Full], "one stays");
    assert_eq!(worn(&store, owner).len(), 2, "the wardrobe takes the first one off");
}

fn a_worn_item_stays_where_it_is_until_it_is_taken_off(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    store.wear(owner, &[new_worn(&store, owner, ITEM, 1)], 9).unwrap();
    assert_eq!(store.mark_item(owner, ITEM, WorldId(1)).unwrap(), MarkItem::Worn);
    assert_eq!(remove(&store, owner, ITEM), Err(InventoryRefusal::Worn(ITEM)));
    let purge = InventoryChange::PurgeFolder { folder: ROOT };
    let purged = store.change_inventory(owner, &[purge], &InventoryLimits::default()).unwrap();
    assert_eq!(purged[0], Err(InventoryRefusal::Worn(ITEM)));
    // Its name and its folder are the user's.
    let rename = InventoryChange::MoveItem { item: ITEM, folder: ROOT, name: Some("Hat".into()) };
    assert!(store.change_inventory(owner, &[rename], &InventoryLimits::default()).unwrap()[0].is_ok());
    save(&store, vec![taken_off(row(owner, ITEM, 2, "last"))]);
    assert_eq!(remove(&store, owner, ITEM), Ok(()));
}

fn an_object_that_is_saved_does_not_become_the_content_of_a_worn_item(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    store.wear(owner, &[new_worn(&store, owner, ITEM, 1)], 9).unwrap();
    let before = of(&store, owner, ITEM);
    let saved = |ticket| {
        let key = HeldKey { region: ONE, ticket: Ticket(ticket) };
        let nil = Uuid::nil();
        let transfer = ItemTransfer {
            origin: ItemOrigin { key, owner, held_s: 5 },
            folder: FolderChoice { wanted: nil, type_default: OBJECT },
            new_folder: None,
            replaces: Some(ITEM),
            item: Item { id: nil, folder: nil, asset: nil, asset_type: OBJECT, ..item(1, nil) },
            asset: Some(asset("saved")),
            row: None,
        };
        HeldChange::InsertItem(Box::new(transfer))
    };
    let made = transfer(&store, 1, saved(1)).remove(0);
    assert!(made.is_there && made.item.id != ITEM, "it is an item of its own");
    assert_eq!(of(&store, owner, ITEM), before);
    save(&store, vec![taken_off(row(owner, ITEM, 2, "last"))]);
    let replaced = transfer(&store, 2, saved(2)).remove(0);
    assert_eq!((replaced.item.id, of(&store, owner, ITEM)), (ITEM, replaced.item));
}

fn an_earlier_state_does_not_replace_a_later_one(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    store.wear(owner, &[new_worn(&store, owner, ITEM, 10)], 9).unwrap();
    let state = || worn(&store, owner).remove(0);
    assert_eq!(save(&store, vec![saved(row(owner, ITEM, 11, "edited"))]), []);
    assert_eq!((state().revision, &*state().value, state().is_ahead), (11, &b"edited"[..], true));
    for (revision, value) in [(11, "same time"), (10, "before"), (3, "long before")] {
        save(&store, vec![saved(row(owner, ITEM, revision, value))]);
        assert_eq!(&*state().value, b"edited");
    }
    // Of the wearing before: the avatar has put it on again since.
    assert_eq!(save(&store, vec![taken_off(row(owner, ITEM, 9, "old"))]), []);
    assert_eq!(&*state().value, b"edited");
    save(&store, vec![taken_off(row(owner, ITEM, 12, "last"))]);
    assert!(worn(&store, owner).is_empty());
    save(&store, vec![saved(row(owner, ITEM, 13, "too late"))]);
    assert!(worn(&store, owner).is_empty(), "a state makes no row");
}

fn an_item_gets_the_last_state_when_its_object_is_taken_off(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    store.wear(owner, &[new_worn(&store, owner, ITEM, 1)], 9).unwrap();
    let before = of(&store, owner, ITEM);
    let renewed = WornSave { ends: false, ..taken_off(row(owner, ITEM, 2, "left")) };
    let effect = save(&store, vec![renewed.clone()]).remove(0);
    assert_eq!((effect.owner, effect.is_there, effect.item.id), (owner, true, ITEM));
    let item = of(&store, owner, ITEM);
    assert_eq!(effect.item, item);
    assert!(item.asset != before.asset && store.asset(item.asset).unwrap().is_some());
    assert_eq!((item.permissions.base, item.permissions.owner), (0xFF, 0xF));
    assert_eq!(item.permissions.creator, before.permissions.creator);
    assert!(!worn(&store, owner)[0].is_ahead);
    let version = store.folder(owner, ROOT).unwrap().unwrap().version;
    // The save is repeated.
    assert_eq!(save(&store, vec![renewed.clone()])[0].item, item, "it reports the same");
    assert_eq!(of(&store, owner, ITEM), item);
    assert_eq!(store.folder(owner, ROOT).unwrap().unwrap().version, version);
    let off = taken_off(row(owner, ITEM, 3, "last"));
    let effect = save(&store, vec![off.clone()]).remove(0);
    assert_eq!(save(&store, vec![off])[0].item, effect.item);
    assert_eq!(save(&store, vec![renewed]), [], "the item has a later state");
    let asset = store.asset(effect.item.asset).unwrap().expect("it is there");
    assert_eq!(asset.row.hash, AssetHash::of(b"last"));
    assert!(worn(&store, owner).is_empty());
    let problems = check(&database.url).unwrap().problems;
    assert!(problems.is_empty(), "{problems:?}");
}

fn an_object_that_is_taken_off_as_it_was_keeps_its_asset(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    let assets = [("same", 10), ("same", 20), ("other", 30), ("same", 40)].map(|(value, revision)| {
        store.wear(owner, &[new_worn(&store, owner, ITEM, revision)], 9).unwrap();
        let effect = save(&store, vec![taken_off(row(owner, ITEM, revision + 1, value))]).remove(0);
        assert_eq!(of(&store, owner, ITEM), effect.item);
        assert!(worn(&store, owner).is_empty());
        effect.item.asset
    });
    assert_eq!(assets[0], assets[1]);
    assert!(assets[1] != assets[2] && assets[2] != assets[3]);
    assert_eq!(store.assets_of_content(AssetHash::of(b"same"), 9).unwrap().len(), 2);
    // Its content has come to the disk once more: it is in quarantine no longer.
    assert!(store.quarantine_content(AssetHash::of(b"same"), "damaged").unwrap());
    store.wear(owner, &[new_worn(&store, owner, ITEM, 50)], 9).unwrap();
    save(&store, vec![taken_off(row(owner, ITEM, 51, "same"))]);
    let asset = store.asset(assets[3]).unwrap().expect("it is there");
    assert_eq!((of(&store, owner, ITEM).asset, asset.damage), (assets[3], None));
}

fn arrival(owner: AgentId, ticket: u32, id: Uuid) -> HeldChange {
    let key = HeldKey { region: ONE, ticket: Ticket(ticket) };
    let origin = ItemOrigin { key, owner, held_s: 5 };
    let nil = Uuid::nil();
    let item = Item { id, folder: nil, asset: nil, asset_type: 6, name: "Hat".into(), ..item(1, nil) };
    let value = b"held"[..].into();
    let held = HeldRow { key, owner, kind: 4, by: SessionKey::NODE, held_s: 5, value };
    let row = row(owner, id, 1, "put on");
    HeldChange::PutOn(Box::new(WornArrival { origin, item, asset: Some(asset("put on")), row, held }))
}

fn an_object_from_the_ground_becomes_an_item_and_goes_back_without_it(database: &TestDatabase) {
    let store = database.open();
    let owner = create(&store, 1, "Ada", "Lovelace");
    let hat = Uuid::from_u128(0xA7);
    let effect = transfer(&store, 1, arrival(owner, 1, hat)).remove(0);
    assert_eq!((effect.item.id, effect.item.folder, effect.is_there), (hat, ROOT, true));
    assert!(store.asset(effect.item.asset).unwrap().is_some());
    assert_eq!(worn(&store, owner).len(), 1);
    // A save whose outcome was unknown.
    assert_eq!(transfer(&store, 1, arrival(owner, 1, hat))[0].item, effect.item);
    assert_eq!(worn(&store, owner).len(), 1);
    for _ in 0..2 {
        let gone = transfer(&store, 2, HeldChange::PutDown { owner, item: hat }).remove(0);
        assert_eq!((gone.item.id, gone.is_there), (hat, false));
    }
    assert!(store.item(owner, hat).unwrap().is_none() && worn(&store, owner).is_empty());
    // An item that is not worn stays.
    assert_eq!(transfer(&store, 3, HeldChange::PutDown { owner, item: ITEM }), []);
    assert!(store.item(owner, ITEM).unwrap().is_some());
    // Without an inventory the object is held.
    let nobody = AgentId(Uuid::from_u128(0xBAD));
    assert_eq!(transfer(&store, 4, arrival(nobody, 4, hat)), []);
    assert_eq!(store.count_held(nobody).unwrap(), 1);
    assert!(worn(&store, nobody).is_empty());
}

fn transfers_of_worn_objects_are_undone(database: &TestDatabase) {
    let store = database.open();
    let owner = create(&store, 1, "Ada", "Lovelace");
    let (hat, coat) = (Uuid::from_u128(0xA7), Uuid::from_u128(0xA8));
    transfer(&store, 1, arrival(owner, 1, hat));
    let gone = transfer(&store, 2, HeldChange::UndoPutOn { owner, item: hat });
    assert!(!gone[0].is_there && worn(&store, owner).is_empty());
    transfer(&store, 3, arrival(owner, 3, coat));
    let was = of(&store, owner, coat);
    transfer(&store, 4, HeldChange::PutDown { owner, item: coat });
    let again = Box::new(row(owner, coat, 9, "again"));
    let back = transfer(&store, 5, HeldChange::WearAgain(again.clone(), Some(Box::new(was.clone()))));
    assert_eq!((back[0].item.id, back[0].is_there), (coat, true));
    assert_eq!((of(&store, owner, coat), worn(&store, owner)), (was, vec![*again.clone()]));
    // Taken off, and that undone.
    transfer(&store, 6, HeldChange::Worn(Box::new(taken_off(row(owner, coat, 10, "off")))));
    assert!(worn(&store, owner).is_empty());
    assert_eq!(transfer(&store, 7, HeldChange::WearAgain(again.clone(), None)), []);
    assert_eq!(worn(&store, owner), [*again.clone()]);
    // An item that is gone meanwhile stays so.
    let lost = Box::new(row(owner, hat, 9, "lost"));
    assert_eq!(transfer(&store, 8, HeldChange::WearAgain(lost, None)), []);
    assert_eq!(worn(&store, owner), [*again]);
}

fn a_damaged_row_is_set_aside_and_named(database: &TestDatabase) {
    let store = database.open();
    let owner = ada(&store);
    let new = |n| new_worn(&store, owner, Uuid::from_u128(n), 1);
    store.wear(owner, &[new(0x201), new(0x202)], 9).unwrap();
    tamper(&store, Sql::same("UPDATE worn_objects SET point = 7 WHERE item = $1"), values![ITEM]);
    let problems = check(&database.url).unwrap().problems;
    assert!(problems.len() == 1 && problems[0].contains(&ITEM.to_string()), "{problems:?}");
    let seen: Result<_, StoreError> =
        crate::view(&database.url, |view| view.worn_after((AgentId(Uuid::nil()), Uuid::nil()), 9));
    let seen: Vec<_> =
        seen.unwrap().into_iter().map(|row| row.map(|row| row.item).map_err(|why| why.item)).collect();
    assert_eq!(seen, [Err(ITEM), Ok(Uuid::from_u128(0x202))], "a view changes nothing");
    let list = store.worn_objects(owner).unwrap();
    assert_eq!(list.damages, [WornDamage { owner, item: ITEM }]);
    assert_eq!(list.rows.len(), 1);
    assert_eq!(worn(&store, owner).len(), 1);
    assert_eq!(remove(&store, owner, ITEM), Ok(()), "its item is free");
    let kept = Sql::same("SELECT why FROM objects_set_aside WHERE part = $1");
    let why = store.read(|session| session.query_row(kept, values!["worn"], |row| row.get::<String>(0)));
    assert!(why.unwrap().is_some_and(|why| why.contains(&ITEM.to_string())));
}
