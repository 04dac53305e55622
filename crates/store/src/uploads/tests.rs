//! Uploads with and without items, and each refusal.

use super::*;
use crate::AssetHash;
use crate::account::tests::create;
use crate::inventory::tests::item;
use crate::testing::{TestDatabase, on_both_engines};
use crate::{Item, ItemUpdate};

on_both_engines! {
    assets_and_items_are_there_together,
    a_refused_change_leaves_temporary_assets_and_no_item,
    an_upload_whose_id_is_taken_leaves_nothing,
    uploads_of_several_owners_are_one_transaction,
    an_inventory_is_bounded_as_the_store_says,
    a_changed_item_keeps_its_new_asset,
    an_asset_that_an_item_names_is_no_longer_temporary,
}

/// The root of the account with id 1.
const ROOT: Uuid = Uuid::from_u128(0x101);

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn asset(n: u128, bytes: &[u8]) -> AssetRow {
    AssetRow {
        id: id(n),
        hash: AssetHash::of(bytes),
        kind: 0,
        length: bytes.len() as u32,
        creator: AgentId(id(1)),
        created_s: 1_700_000_000,
        origin: "upload".into(),
        used_s: None,
    }
}

/// A new item in a folder that names an asset.
fn naming(n: u128, folder: Uuid, asset: u128) -> InventoryChange {
    InventoryChange::CreateItem(Item { asset: id(asset), ..item(n, folder) })
}

fn upload(owner: AgentId, assets: Vec<AssetRow>, change: InventoryChange) -> UploadRows {
    UploadRows { assets, item: Some(ItemChange { owner, change }) }
}

fn add(store: &Store, uploads: &[UploadRows]) -> Vec<UploadAdded> {
    store.add_uploads(uploads).unwrap()
}

/// Last use of a stored asset, if it is temporary; `None` if it is not stored.
fn stored(store: &Store, n: u128) -> Option<Option<i64>> {
    store.asset(id(n)).unwrap().map(|asset| asset.row.used_s)
}

fn assets_and_items_are_there_together(database: &TestDatabase) {
    let store = database.open();
    let ada = create(&store, 1, "Ada", "Lovelace");
    let version = store.folder(ada, ROOT).unwrap().unwrap().version;
    let assets = vec![asset(50, b"mesh"), asset(51, b"object")];
    let without_item = UploadRows { assets: vec![asset(52, b"bake")], item: None };
    let added = add(&store, &[upload(ada, assets, naming(9, ROOT, 51)), without_item]);
    assert_eq!(added, [UploadAdded::Whole, UploadAdded::Whole]);
    let store = database.open();
    assert_eq!([50, 51, 52].map(|n| stored(&store, n)), [Some(None); 3]);
    assert_eq!(store.item(ada, id(9)).unwrap().unwrap().asset, id(51));
    assert_eq!(store.folder(ada, ROOT).unwrap().unwrap().version, version + 1);
    assert_eq!(add(&store, &[]), []);
}

fn a_refused_change_leaves_temporary_assets_and_no_item(database: &TestDatabase) {
    let store = database.open();
    let ada = create(&store, 1, "Ada", "Lovelace");
    let stranger = AgentId(id(99));
    let added = add(
        &store,
        &[
            upload(ada, vec![asset(50, b"one")], naming(9, id(77), 50)),
            upload(stranger, vec![asset(51, b"two")], naming(10, ROOT, 51)),
            upload(ada, vec![asset(52, b"three")], naming(11, ROOT, 52)),
        ],
    );
    let refused = UploadAdded::Refused(InventoryRefusal::UnknownFolder(id(77)));
    assert_eq!(added, [refused, UploadAdded::UnknownOwner, UploadAdded::Whole]);
    assert_eq!([50, 51].map(|n| stored(&store, n)), [Some(Some(1_700_000_000)); 2]);
    assert_eq!(stored(&store, 52), Some(None));
    assert_eq!([9, 10].map(|n| store.item(ada, id(n)).unwrap()), [None, None]);
    let removed = store.remove_expired_assets(1_700_000_001, 9).unwrap();
    assert_eq!(removed, [AssetHash::of(b"one"), AssetHash::of(b"two")], "their bytes go");
}

fn an_upload_whose_id_is_taken_leaves_nothing(database: &TestDatabase) {
    let store = database.open();
    let ada = create(&store, 1, "Ada", "Lovelace");
    store.add_assets(&[asset(50, b"one")]).unwrap();
    let other = vec![asset(51, b"new"), asset(50, b"other")];
    let twice = vec![asset(52, b"one"), asset(52, b"two")];
    let again = vec![asset(50, b"one"), asset(50, b"one")];
    let added = add(
        &store,
        &[
            upload(ada, other, naming(9, ROOT, 51)),
            upload(ada, twice, naming(10, ROOT, 52)),
            upload(ada, again, naming(11, ROOT, 50)),
        ],
    );
    assert_eq!(added, [UploadAdded::Taken(id(50)), UploadAdded::Taken(id(52)), UploadAdded::Whole]);
    assert_eq!([51, 52].map(|n| stored(&store, n)), [None, None]);
    assert_eq!([9, 10].map(|n| store.item(ada, id(n)).unwrap()), [None, None]);
    assert!(store.item(ada, id(11)).unwrap().is_some());
}

fn uploads_of_several_owners_are_one_transaction(database: &TestDatabase) {
    let store = database.open();
    let ada = create(&store, 1, "Ada", "Lovelace");
    let grace = create(&store, 2, "Grace", "Hopper");
    let root_of_grace = store.folders(grace).unwrap()[0].id;
    // The owner with the higher id comes first.
    let uploads = [
        upload(grace, vec![asset(50, b"one")], naming(9, root_of_grace, 50)),
        upload(ada, vec![asset(51, b"two")], naming(9, ROOT, 51)),
        upload(grace, vec![asset(52, b"three")], naming(10, root_of_grace, 52)),
    ];
    assert!(add(&store, &uploads).into_iter().all(|added| added == UploadAdded::Whole));
    assert_eq!(store.item(ada, id(9)).unwrap().unwrap().asset, id(51));
    assert_eq!([9, 10].map(|n| store.item(grace, id(n)).unwrap().unwrap().asset), [id(50), id(52)]);
}

fn an_inventory_is_bounded_as_the_store_says(database: &TestDatabase) {
    let limits = InventoryLimits { items_max: 2, ..InventoryLimits::default() };
    let store = database.open().with_inventory_limits(limits);
    let ada = create(&store, 1, "Ada", "Lovelace");
    // One item is there since the creation of the account.
    let uploads = [
        upload(ada, vec![asset(50, b"one")], naming(9, ROOT, 50)),
        upload(ada, vec![asset(51, b"two")], naming(10, ROOT, 51)),
    ];
    let refused = UploadAdded::Refused(InventoryRefusal::TooManyItems { max: 2 });
    assert_eq!(add(&store, &uploads), [UploadAdded::Whole, refused]);
    assert!(store.item(ada, id(9)).unwrap().is_some() && store.item(ada, id(10)).unwrap().is_none());
    assert!(stored(&store, 51).flatten().is_some(), "what was refused is temporary");
    assert!(store.has_items(ada, store.inventory_limits().items_max).unwrap());
}

fn a_changed_item_keeps_its_new_asset(database: &TestDatabase) {
    let store = database.open();
    let ada = create(&store, 1, "Ada", "Lovelace");
    add(&store, &[upload(ada, vec![asset(50, b"one")], naming(9, ROOT, 50))]);
    let update = ItemUpdate { item: id(9), asset: Some(id(51)), ..ItemUpdate::default() };
    let change = InventoryChange::UpdateItem(update);
    assert_eq!(add(&store, &[upload(ada, vec![asset(51, b"two")], change)]), [UploadAdded::Whole]);
    assert_eq!(store.item(ada, id(9)).unwrap().unwrap().asset, id(51));
    assert_eq!(stored(&store, 51), Some(None));
    let unknown = ItemUpdate { item: id(77), asset: Some(id(52)), ..ItemUpdate::default() };
    let change = InventoryChange::UpdateItem(unknown);
    let refused = UploadAdded::Refused(InventoryRefusal::UnknownItem(id(77)));
    assert_eq!(add(&store, &[upload(ada, vec![asset(52, b"three")], change)]), [refused]);
}

fn an_asset_that_an_item_names_is_no_longer_temporary(database: &TestDatabase) {
    let store = database.open();
    let ada = create(&store, 1, "Ada", "Lovelace");
    let temporary = |n, bytes| AssetRow { used_s: Some(5), ..asset(n, bytes) };
    store.add_assets(&[temporary(50, b"one"), temporary(51, b"two"), temporary(52, b"three")]).unwrap();
    let update = ItemUpdate { item: id(9), asset: Some(id(51)), ..ItemUpdate::default() };
    let changes = [naming(9, ROOT, 50), InventoryChange::UpdateItem(update)];
    let outcomes = store.change_inventory(ada, &changes, &InventoryLimits::default()).unwrap();
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!([50, 51, 52].map(|n| stored(&store, n)), [Some(None), Some(None), Some(Some(5))]);
    let removed = store.remove_expired_assets(6, 9).unwrap();
    assert_eq!(removed, [AssetHash::of(b"three")]);
}
