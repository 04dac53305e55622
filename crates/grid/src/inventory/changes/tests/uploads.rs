//! Items that name an upload.

use super::*;
use store::{AssetHash, AssetRow};

const TRANSACTION: Uuid = Uuid::from_u128(0x7A);

/// The asset that a user has uploaded under the transaction, as the upload stores it: temporary, since no item names it yet.
fn upload(store: &Store, creator: AgentId, secure_session: Uuid, kind: i8) -> Uuid {
    let row = AssetRow {
        id: uploaded_asset_id(TRANSACTION, secure_session),
        hash: AssetHash::of(b"content"),
        kind,
        length: 7,
        creator,
        created_s: NOW_S,
        origin: "upload".into(),
        used_s: Some(NOW_S),
    };
    let id = row.id;
    store.add_assets(&[row]).unwrap();
    id
}

fn is_temporary(store: &Store, asset: Uuid) -> bool {
    store.asset(asset).unwrap().expect("it is stored").row.used_s.is_some()
}

fn create_uploaded(folder: Uuid, r#type: i8, inv_type: i8) -> CreateInventoryItem {
    let mut request = create_item(folder, r#type);
    request.inventory_block.transaction_id = TRANSACTION;
    request.inventory_block.inv_type = inv_type;
    request.inventory_block.wearable_type = 4;
    request
}

#[test]
fn ids_of_uploads_are_those_that_clients_derive() {
    // MD5 of 32 zero bytes.
    let id = uploaded_asset_id(Uuid::nil(), Uuid::nil());
    assert_eq!(id.simple().to_string(), "70bc8f4b72a86921468bf8e8441dce51");
    assert_ne!(uploaded_asset_id(TRANSACTION, SECRET), uploaded_asset_id(SECRET, TRANSACTION));
}

#[test]
fn an_item_gets_the_asset_of_its_transaction_which_lasts_from_then_on() {
    for (asset_type, asked, inventory_type, flags) in [
        (AssetType::CLOTHING, 18, InventoryType::WEARABLE, 4),
        (AssetType::BODY_PART, 0, InventoryType::WEARABLE, 4),
        (AssetType::TEXTURE, 0, InventoryType::TEXTURE, 0),
        (AssetType::TEXTURE, 15, InventoryType::SNAPSHOT, 0),
        (AssetType::NOTECARD, 99, InventoryType::NOTECARD, 0),
    ] {
        let (store, ada) = store_with_ada();
        let asset = upload(&store, ada, SECRET, asset_type);
        assert!(is_temporary(&store, asset));
        let request = create_uploaded(root(&store, ada), asset_type, asked);
        let (is_approved, transaction, rows) = made(&done(&store, ada, request));
        assert_eq!((is_approved, transaction, rows[0].callback_id), (true, TRANSACTION, 77));
        assert_eq!((rows[0].asset_id, rows[0].inv_type, rows[0].flags), (asset, inventory_type, flags));
        let item = store.item(ada, rows[0].item_id).unwrap().expect("it is in the inventory");
        assert_eq!((item.asset, item.asset_type), (asset, asset_type));
        assert!(!is_temporary(&store, asset));
    }
}

#[test]
fn uploads_of_another_user_session_or_kind_are_unknown() {
    for (creator, secure_session, kind) in [
        (AgentId(id(0xB)), SECRET, AssetType::CLOTHING),
        (AgentId(id(0xA)), id(0x5ED), AssetType::CLOTHING),
        (AgentId(id(0xA)), SECRET, AssetType::BODY_PART),
    ] {
        let (store, ada) = store_with_ada();
        let asset = upload(&store, creator, secure_session, kind);
        let request = create_uploaded(root(&store, ada), AssetType::CLOTHING, 18);
        let (refusal, messages) = refused(&store, ada, request);
        assert!(refusal.contains("the content that was uploaded"), "{refusal}");
        let (is_approved, _, rows) = made(&messages);
        assert_eq!((is_approved, rows[0].callback_id, rows[0].item_id), (false, 77, Uuid::nil()));
        assert!(is_temporary(&store, asset));
    }
}

#[test]
fn an_item_changes_its_asset_and_its_client_is_shown_it() {
    let (store, ada) = store_with_ada();
    let part = body_part(&store, ada);
    let asset = upload(&store, ada, SECRET, AssetType::BODY_PART);
    let mut request = update_of(&part);
    request.inventory_data[0].transaction_id = TRANSACTION;
    let (is_approved, _, rows) = made(&done(&store, ada, request.clone()));
    assert_eq!((is_approved, rows[0].callback_id, rows[0].item_id), (true, 0, part.id));
    assert_eq!(rows[0].asset_id, asset);
    assert_eq!(store.item(ada, part.id).unwrap(), Some(Item { asset, ..part.clone() }));
    assert!(!is_temporary(&store, asset));
    // It names the same asset again.
    request.inventory_data[0].callback_id = 9;
    let (_, _, rows) = made(&done(&store, ada, request));
    assert_eq!((rows[0].callback_id, rows[0].asset_id), (9, asset));
}

#[test]
fn an_item_that_its_owner_may_not_modify_keeps_its_asset() {
    let (store, ada) = store_with_ada();
    let part = body_part(&store, ada);
    upload(&store, ada, SECRET, AssetType::BODY_PART);
    // Move, copy and transfer.
    let bare = Permissions { base: 0x0008_A000, owner: 0x0008_A000, ..part.permissions.clone() };
    let update = ItemUpdate { item: part.id, permissions: Some(bare), ..ItemUpdate::default() };
    store.change_inventory(ada, &[InventoryChange::UpdateItem(update)], &InventoryLimits::default()).unwrap();
    let mut request = update_of(&part);
    request.inventory_data[0].transaction_id = TRANSACTION;
    let (refusal, messages) = refused(&store, ada, request);
    assert!(refusal.contains("not allowed to change"), "{refusal}");
    assert_eq!(bulk_items(&messages)[0].asset_id, part.asset, "shown as it is");
    assert_eq!(store.item(ada, part.id).unwrap().map(|item| item.asset), Some(part.asset));
}

#[test]
fn a_link_has_no_content() {
    let (store, ada) = store_with_ada();
    let target = make_item(&store, ada, root(&store, ada));
    let linked = link(target.id, root(&store, ada), AssetType::LINK);
    let (_, _, rows) = made(&done(&store, ada, linked));
    let stored = store.item(ada, rows[0].item_id).unwrap().expect("the link");
    upload(&store, ada, SECRET, AssetType::NOTECARD);
    let mut request = update_of(&stored);
    request.inventory_data[0].transaction_id = TRANSACTION;
    refused(&store, ada, request);
    assert_eq!(store.item(ada, stored.id).unwrap(), Some(stored));
}
