//! Requests about items, copies and links.

use super::*;
use crate::asset_sources::BLANK_NOTECARD;

#[test]
fn an_item_is_made_for_its_callback_with_everything_for_its_creator() {
    let (store, ada) = store_with_ada();
    let notes = folder_of(&store, ada, FolderType::NOTECARDS);
    let (is_approved, transaction, rows) = made(&done(&store, ada, create_item(notes, AssetType::NOTECARD)));
    let [row] = &rows[..] else { panic!("one item") };
    assert_eq!((is_approved, transaction, row.callback_id), (true, Uuid::nil(), 77));
    let item = store.item(ada, row.item_id).unwrap().expect("it is in the inventory");
    assert_eq!((item.folder, item.asset, item.created_s), (notes, BLANK_NOTECARD, NOW_S));
    assert_eq!((item.asset_type, item.inventory_type, item.flags), (7, 7, 0));
    assert_eq!((&*item.name, &*item.description), ("Notes", "to myself"));
    let expected = Permissions {
        creator: ada.0,
        last_owner: ada.0,
        group: Uuid::nil(),
        group_owned: false,
        base: 0x7FFF_FFFF,
        owner: 0x7FFF_FFFF,
        group_mask: 0,
        everyone: 0,
        next_owner: 0x0008_E000,
    };
    assert_eq!((&item.permissions, item.sale), (&expected, Sale::default()));
    assert_eq!((row.creator_id, row.owner_id, row.next_owner_mask), (ada.0, ada.0, 0x0008_E000));
    assert_eq!((&*row.name, row.asset_id, row.folder_id), (&b"Notes\0"[..], BLANK_NOTECARD, notes));

    let (_, _, rows) = made(&done(&store, ada, create_item(notes, AssetType::SETTINGS)));
    assert_eq!((rows[0].inv_type, rows[0].flags), (InventoryType::SETTINGS, 3));
}

#[test]
fn an_item_is_not_made_without_a_folder_or_its_content() {
    let (store, ada) = store_with_ada();
    let notes = folder_of(&store, ada, FolderType::NOTECARDS);
    let mut uploaded = create_item(notes, AssetType::NOTECARD);
    uploaded.inventory_block.transaction_id = id(0x7A);
    for (request, transaction, text) in [
        (create_item(notes, AssetType::TEXTURE), Uuid::nil(), "without its content"),
        (create_item(notes, AssetType::LINK), Uuid::nil(), "without its content"),
        (create_item(id(0xBAD), AssetType::NOTECARD), Uuid::nil(), "there is no folder"),
        (uploaded, id(0x7A), "the content that was uploaded"),
    ] {
        let (refusal, messages) = refused(&store, ada, request.clone());
        assert!(refusal.contains(text), "{refusal}");
        let (is_approved, echoed, rows) = made(&messages);
        assert_eq!((is_approved, echoed, rows.len()), (false, transaction, 1));
        assert_eq!((rows[0].callback_id, rows[0].item_id), (77, Uuid::nil()), "viewers skip it");
        let unhandled = InventoryRequest::from(request).refusal_messages(ada);
        assert_eq!(unhandled, messages, "the same if the request is not carried out");
    }
    assert!(store.items_in(ada, notes, 10).unwrap().is_empty());
}

#[test]
fn properties_change_within_the_base_mask() {
    let (store, ada) = store_with_ada();
    let part = body_part(&store, ada);
    let mut request = update_of(&part);
    assert_eq!(done(&store, ada, request.clone()), [], "it is as the client states it");
    assert_eq!(store.item(ada, part.id).unwrap().as_ref(), Some(&part));

    let row = &mut request.inventory_data[0];
    row.name = b"Tall\0".to_vec();
    row.description = b"and\nslim\0".to_vec();
    (row.everyone_mask, row.group_mask, row.next_owner_mask) = (u32::MAX, u32::MAX, 0);
    (row.base_mask, row.owner_mask, row.creator_id, row.owner_id) = (0, 0, id(0xE), id(0xE));
    (row.sale_type, row.sale_price) = (2, 0);
    row.flags = 0x4000_00FF;
    let [shown] = &bulk_items(&done(&store, ada, request.clone()))[..] else { panic!("one item") };
    let item = store.item(ada, part.id).unwrap().unwrap();
    assert_eq!((&*item.name, &*item.description), ("Tall", "and slim"));
    let permissions = &item.permissions;
    assert_eq!((permissions.base, permissions.owner), (part.permissions.base, part.permissions.owner));
    assert_eq!(permissions.creator, LIBRARY_OWNER);
    // Move, modify, copy; move, copy, export; move, transfer.
    assert_eq!(
        (permissions.group_mask, permissions.everyone, permissions.next_owner),
        (0x0008_C000, 0x0009_8000, 0x0008_2000)
    );
    assert_eq!((item.sale, item.flags), (Sale { kind: 2, price: 0 }, 0x4000_0000 | part.flags));
    assert_eq!((shown.everyone_mask, shown.callback_id), (0x0009_8000, 0), "the client showed another mask");

    request.inventory_data[0].callback_id = 9;
    let (is_approved, _, rows) = made(&done(&store, ada, request));
    assert_eq!((is_approved, rows[0].callback_id, rows[0].item_id), (true, 9, part.id));
}

#[test]
fn masks_stay_below_those_that_came_with_the_item() {
    let (store, ada) = store_with_ada();
    let item = make_item(&store, ada, root(&store, ada));
    // Move, modify and transfer.
    let bare = Permissions { base: 0x0008_6000, owner: 0x0008_6000, ..item.permissions.clone() };
    let update = ItemUpdate { item: item.id, permissions: Some(bare), ..ItemUpdate::default() };
    store.change_inventory(ada, &[InventoryChange::UpdateItem(update)], &InventoryLimits::default()).unwrap();
    let mut request = update_of(&item);
    let row = &mut request.inventory_data[0];
    (row.everyone_mask, row.next_owner_mask) = (0x0008_8000, 0x7FFF_FFFF);
    (row.base_mask, row.owner_mask) = (u32::MAX, u32::MAX);
    done(&store, ada, request);
    let permissions = store.item(ada, item.id).unwrap().unwrap().permissions;
    assert_eq!((permissions.base, permissions.owner), (0x0008_6000, 0x0008_6000));
    assert_eq!((permissions.everyone, permissions.next_owner), (0x0008_0000, 0x0008_6000));
}

#[test]
fn properties_that_no_item_has_here_are_refused() {
    let (store, ada) = store_with_ada();
    let part = body_part(&store, ada);
    let change = |change: fn(&mut UpdateInventoryItemInventoryData)| {
        let mut request = update_of(&part);
        change(&mut request.inventory_data[0]);
        request
    };
    for (request, text) in [
        (change(|row| (row.sale_type, row.sale_price) = (1, 5)), "there is no money"),
        (change(|row| row.sale_type = 9), "there are no sales of kind 9"),
        (change(|row| row.transaction_id = id(0x7A)), "the content that was uploaded"),
    ] {
        let (refusal, messages) = refused(&store, ada, request.clone());
        assert!(refusal.contains(text), "{refusal}");
        assert_eq!(bulk_items(&messages)[0].item_id, part.id, "the client is shown what there is");
        let mut awaited = request;
        awaited.inventory_data[0].callback_id = 9;
        let (is_approved, _, rows) = made(&refused(&store, ada, awaited).1);
        assert_eq!((is_approved, rows[0].callback_id, rows[0].item_id), (false, 9, Uuid::nil()));
    }
    assert_eq!(store.item(ada, part.id).unwrap(), Some(part));
}

#[test]
fn flags_change_but_for_the_kind_of_a_wearable() {
    let (store, ada) = store_with_ada();
    let (part, item) = (body_part(&store, ada), make_item(&store, ada, root(&store, ada)));
    let row = |item_id| ChangeInventoryItemFlagsInventoryData { item_id, flags: 0x0010_0077 };
    let inventory_data = vec![row(part.id), row(item.id), row(id(0xBAD))];
    let request = ChangeInventoryItemFlags { inventory_data, ..ChangeInventoryItemFlags::default() };
    let (refusal, messages) = refused(&store, ada, request);
    assert!(refusal.contains("there is no item") && messages.is_empty(), "{refusal}");
    let flags = |id| store.item(ada, id).unwrap().unwrap().flags;
    assert_eq!((flags(part.id), flags(item.id)), (0x0010_0000 | part.flags, 0x0010_0077));
}

#[test]
fn items_move_each_by_itself_and_a_refused_one_is_shown_where_it_is() {
    let (store, ada) = store_with_ada();
    let (from, to) = (root(&store, ada), make_folder(&store, ada, 1));
    let (first, second, third) =
        (make_item(&store, ada, from), make_item(&store, ada, from), make_item(&store, ada, from));
    let rows = [(first.id, to, ""), (second.id, id(0xBAD), ""), (third.id, to, "Third\0")];
    let (refusal, messages) = refused(&store, ada, move_items(&rows));
    assert!(refusal.contains("there is no folder"), "{refusal}");
    let [row] = &bulk_items(&messages)[..] else { panic!("one item") };
    assert_eq!((row.item_id, row.folder_id, row.callback_id), (second.id, from, 0));
    let place = |id| {
        let item = store.item(ada, id).unwrap().unwrap();
        (item.folder, item.name)
    };
    assert_eq!(place(first.id), (to, "Notes".to_owned()));
    assert_eq!(place(second.id), (from, "Notes".to_owned()));
    assert_eq!(place(third.id), (to, "Third".to_owned()));
    assert_eq!(done(&store, ada, move_items(&rows[..1])), [], "where it is already");
    assert_eq!(done(&store, ada, move_items(&[])), []);
}

#[test]
fn an_item_is_removed_once() {
    let (store, ada) = store_with_ada();
    let item = make_item(&store, ada, root(&store, ada));
    assert_eq!(done(&store, ada, remove_item(item.id)), []);
    assert_eq!(store.item(ada, item.id).unwrap(), None);
    let (refusal, messages) = refused(&store, ada, remove_item(item.id));
    assert!(refusal.contains("there is no item") && messages.is_empty(), "{refusal}");
}

#[test]
fn a_copy_is_another_item_with_the_masks_of_the_first() {
    let (store, ada) = store_with_ada();
    let (part, to) = (body_part(&store, ada), make_folder(&store, ada, 1));
    let [row] = &bulk_items(&done(&store, ada, copy(part.id, to, "")))[..] else { panic!("one item") };
    assert_eq!((row.callback_id, row.folder_id, row.owner_id), (5, to, ada.0));
    let copied = store.item(ada, row.item_id).unwrap().unwrap();
    let expected = Item { id: copied.id, folder: to, created_s: NOW_S, ..part.clone() };
    assert_eq!(copied, expected);
    assert_ne!(copied.id, part.id);
    let [row] = &bulk_items(&done(&store, ada, copy(part.id, to, "Second\0")))[..] else {
        panic!("one item")
    };
    assert_eq!(row.name, b"Second\0");
}

/// Masks as OpenSimulator gives them to its library and to copies of its items.
#[test]
fn a_thing_of_the_library_is_copied_with_all_its_rights_into_the_folder_of_its_kind() {
    let (store, ada) = store_with_ada();
    let elsewhere = make_folder(&store, ada, 1);
    for thing in library_items() {
        let of_kind = folder_of(&store, ada, thing.asset_type);
        for (asked, expected) in [(Uuid::nil(), of_kind), (elsewhere, elsewhere)] {
            let rows = bulk_items(&done(&store, ada, copy(thing.id, asked, "")));
            let [row] = &rows[..] else { panic!("one item") };
            assert_eq!((row.callback_id, row.folder_id, row.owner_id), (5, expected, ada.0));
            let copied = store.item(ada, row.item_id).unwrap().unwrap();
            let permissions = Permissions { last_owner: ada.0, ..thing.permissions.clone() };
            let masks = (permissions.base, permissions.owner, permissions.next_owner);
            assert_eq!((masks, permissions.everyone), ((0x9_E000, 0x9_E000, 0x9_E000), 0x9_A000));
            let (id, folder) = (copied.id, expected);
            assert_eq!(copied, Item { id, folder, created_s: NOW_S, permissions, ..thing.clone() });
            assert_ne!(copied.id, thing.id);
        }
    }
}

#[test]
fn a_link_into_the_library_is_refused() {
    let (store, ada) = store_with_ada();
    let outfit = folder_of(&store, ada, FolderType::CURRENT_OUTFIT);
    let thing = &library_items()[0];
    for (target, link_type) in [(thing.id, AssetType::LINK), (thing.folder, AssetType::FOLDER_LINK)] {
        let (refusal, messages) = refused(&store, ada, link(target, outfit, link_type));
        assert!(refusal.contains("a link cannot lead into the library"), "{refusal}");
        let (is_approved, _, rows) = made(&messages);
        assert_eq!((is_approved, rows[0].item_id), (false, Uuid::nil()));
    }
}

#[test]
fn what_may_not_be_copied_is_not() {
    let (store, ada) = store_with_ada();
    let item = make_item(&store, ada, root(&store, ada));
    let bare = Permissions { owner: 0x0008_6000, ..item.permissions.clone() };
    let update = ItemUpdate { item: item.id, permissions: Some(bare), ..ItemUpdate::default() };
    store.change_inventory(ada, &[InventoryChange::UpdateItem(update)], &InventoryLimits::default()).unwrap();
    let to = make_folder(&store, ada, 1);
    for (original, folder, text) in [
        (item.id, to, "you are not allowed to copy"),
        (id(0xBAD), to, "there is no item"),
        (body_part(&store, ada).id, id(0xBAD), "there is no folder"),
    ] {
        let (refusal, messages) = refused(&store, ada, copy(original, folder, ""));
        assert!(refusal.contains(text), "{refusal}");
        let [row] = &bulk_items(&messages)[..] else { panic!("one item") };
        assert_eq!((row.item_id, row.callback_id), (Uuid::nil(), 5));
    }
    assert!(store.items_in(ada, to, 10).unwrap().is_empty());
}

#[test]
fn links_lead_to_items_and_folders_and_carry_no_permissions() {
    let (store, ada) = store_with_ada();
    let outfit = folder_of(&store, ada, FolderType::CURRENT_OUTFIT);
    let (part, folder) = (body_part(&store, ada), make_folder(&store, ada, 1));
    for (target, link_type, inventory_type, name, flags) in [
        (part.id, AssetType::LINK, InventoryType::WEARABLE, &*part.name, part.flags),
        (folder, AssetType::FOLDER_LINK, InventoryType::FOLDER, "Folder", 0),
    ] {
        let (is_approved, transaction, rows) = made(&done(&store, ada, link(target, outfit, link_type)));
        assert_eq!((is_approved, transaction, rows[0].callback_id), (true, id(0x7A), 6));
        let made = store.item(ada, rows[0].item_id).unwrap().unwrap();
        assert_eq!((made.asset, made.asset_type, made.inventory_type), (target, link_type, inventory_type));
        assert_eq!((&*made.name, made.flags, made.folder), (name, flags, outfit));
        let Permissions { base, owner, group_mask, everyone, next_owner, .. } = made.permissions;
        assert_eq!([base, owner, group_mask, everyone, next_owner], [0; 5]);

        let (_, _, rows) = made_again(&store, ada, made.id, outfit);
        assert_eq!((rows[0].callback_id, rows[0].item_id), (6, Uuid::nil()), "no link to a link");
        // Viewers keep the order of layers in the description of a link.
        let mut order = update_of(&made);
        order.inventory_data[0].description = b"@1301\0".to_vec();
        order.inventory_data[0].everyone_mask = 0x0008_8000;
        assert_eq!(done(&store, ada, order), []);
        let ordered = store.item(ada, made.id).unwrap().unwrap();
        assert_eq!((&*ordered.description, ordered.permissions.everyone), ("@1301", 0));
        // A copied link is another one.
        assert_eq!(bulk_items(&done(&store, ada, copy(made.id, outfit, ""))).len(), 1);
    }
}

/// The refused link to a link.
fn made_again(
    store: &Store,
    agent: AgentId,
    target: Uuid,
    folder: Uuid,
) -> (bool, Uuid, Vec<UpdateCreateInventoryItemInventoryData>) {
    let (refusal, messages) = refused(store, agent, link(target, folder, AssetType::LINK));
    assert!(refusal.contains("a link cannot lead to another link"), "{refusal}");
    made(&messages)
}

#[test]
fn a_link_to_nothing_is_refused() {
    let (store, ada) = store_with_ada();
    let outfit = folder_of(&store, ada, FolderType::CURRENT_OUTFIT);
    let part = body_part(&store, ada).id;
    for (target, folder, link_type, text) in [
        (id(0xBAD), outfit, AssetType::LINK, "there is no item"),
        (part, outfit, AssetType::FOLDER_LINK, "there is no folder"),
        (part, id(0xBAD), AssetType::LINK, "there is no folder"),
        (part, outfit, AssetType::NOTECARD, "a link cannot be of type 7"),
    ] {
        let (refusal, messages) = refused(&store, ada, link(target, folder, link_type));
        assert!(refusal.contains(text), "{refusal}");
        let (is_approved, _, rows) = made(&messages);
        assert_eq!((is_approved, rows[0].item_id), (false, Uuid::nil()));
    }
    assert_eq!(store.items_in(ada, outfit, 10).unwrap().len(), 4, "those of the skeleton");
}

#[test]
fn ids_of_another_user_are_unknown() {
    let (store, ada) = store_with_ada();
    let item = make_item(&store, ada, root(&store, ada));
    let folder = make_folder(&store, ada, 1);
    let eve = AgentId(id(0xE));
    create(&store, eve, "Eve", "Resident");
    let own = root(&store, eve);
    for request in [
        InventoryRequest::from(move_items(&[(item.id, own, "")])),
        remove_item(item.id).into(),
        copy(item.id, own, "").into(),
        link(item.id, own, AssetType::LINK).into(),
        update_of(&item).into(),
        create_item(folder, AssetType::NOTECARD).into(),
        update_folder(folder, -1, "Mine").into(),
        move_folder(folder, own).into(),
        create_folder(id(2), folder, -1, "Mine").into(),
    ] {
        let (refusal, messages) = refused(&store, eve, request.clone());
        assert!(refusal.contains("there is no "), "{request:?}: {refusal}");
        let text = format!("{messages:?}");
        assert!(!text.contains(&ada.0.to_string()), "nothing of another user is shown: {text}");
    }
    assert_eq!(store.item(ada, item.id).unwrap(), Some(item));
}

#[test]
fn many_rows_are_answered_in_datagrams_that_fit() {
    let (store, ada) = store_with_ada();
    let part = body_part(&store, ada);
    let mut request = copy(part.id, root(&store, ada), "");
    request.inventory_data = vec![request.inventory_data[0].clone(); 7];
    let messages = done(&store, ada, request);
    assert_eq!((messages.len(), bulk_items(&messages).len()), (3, 7));
    for message in messages {
        let mut body = Vec::new();
        message.encode(&mut body);
        assert!(body.len() <= 1_190, "{}", body.len());
    }
}

#[test]
fn a_full_inventory_refuses_items_with_an_alert_and_still_changes() {
    let (store, ada) = store_with_ada();
    let notes = folder_of(&store, ada, FolderType::NOTECARDS);
    let items_max = (1..).find(|n| !store.has_items(ada, *n).unwrap()).expect("a skeleton is small");
    let store = store.with_inventory_limits(InventoryLimits { items_max, ..InventoryLimits::default() });
    let last = make_item(&store, ada, notes);
    let (refusal, messages) = refused(&store, ada, create_item(notes, AssetType::NOTECARD));
    assert!(refusal.contains(&format!("no room for more than {items_max} items")), "{refusal}");
    assert!(!made(&messages).0, "the client's wait ends");
    assert_eq!(store.items_in(ada, notes, 10).unwrap(), std::slice::from_ref(&last));
    let data = RemoveInventoryItemInventoryData { item_id: last.id };
    done(&store, ada, RemoveInventoryItem { inventory_data: vec![data], ..RemoveInventoryItem::default() });
    make_item(&store, ada, notes);
}
