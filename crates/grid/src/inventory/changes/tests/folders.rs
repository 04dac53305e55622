//! Requests about folders, and the capability.

use super::*;

#[test]
fn a_folder_is_made_with_the_id_of_the_client_and_raises_the_version_of_its_parent() {
    let (store, ada) = store_with_ada();
    let parent = root(&store, ada);
    let before = store.folder(ada, parent).unwrap().unwrap().version;
    let messages = done(&store, ada, create_folder(id(1), parent, -1, "Hats\nand caps"));
    assert_eq!(messages, [], "clients ask for the parent again");
    let folder = store.folder(ada, id(1)).unwrap().unwrap();
    assert_eq!((folder.parent, &*folder.name, folder.type_default), (parent, "Hats and caps", -1));
    assert_eq!(store.folder(ada, parent).unwrap().unwrap().version, before + 1);
    done(&store, ada, create_folder(id(2), id(1), 47, " "));
    let outfit = store.folder(ada, id(2)).unwrap().unwrap();
    assert_eq!((&*outfit.name, outfit.type_default), ("New Folder", 47));
}

#[test]
fn types_of_folders_are_those_of_the_protocol_and_system_folders_exist_once() {
    let (store, ada) = store_with_ada();
    let parent = root(&store, ada);
    for (folder_type, text) in [
        (99, "there are no folders of type 99"),
        (-2, "there are no folders of type -2"),
        (FolderType::TRASH, "the inventory already has its folder of type 14"),
    ] {
        let (refusal, messages) = refused(&store, ada, create_folder(id(1), parent, folder_type, "Mine"));
        assert_eq!(refusal, format!("Your inventory refuses the change: {text}."));
        assert_eq!(messages, []);
    }
    let (refusal, _) = refused(&store, ada, create_folder(id(1), id(0xBAD), -1, "Mine"));
    assert!(refusal.contains("there is no folder"), "{refusal}");
    assert_eq!(store.folder(ada, id(1)).unwrap(), None);
}

#[test]
fn a_folder_is_renamed_and_moved_and_a_refusal_shows_it_as_it_is() {
    let (store, ada) = store_with_ada();
    let (folder, other) = (make_folder(&store, ada, 1), make_folder(&store, ada, 2));
    assert_eq!(done(&store, ada, update_folder(folder, 47, "Blue")), []);
    assert_eq!(done(&store, ada, move_folder(folder, other)), []);
    let stored = store.folder(ada, folder).unwrap().unwrap();
    assert_eq!((stored.parent, &*stored.name, stored.type_default), (other, "Blue", 47));

    let (refusal, messages) = refused(&store, ada, move_folder(other, folder));
    assert!(refusal.contains("cannot be moved into itself"), "{refusal}");
    let [row] = &bulk_folders(&messages)[..] else { panic!("one folder") };
    assert_eq!((row.folder_id, row.parent_id), (other, root(&store, ada)));

    let trash = folder_of(&store, ada, FolderType::TRASH);
    let (_, messages) = refused(&store, ada, update_folder(trash, -1, "Bin"));
    let [row] = &bulk_folders(&messages)[..] else { panic!("one folder") };
    assert_eq!((row.r#type, &*row.name), (FolderType::TRASH, &b"Trash\0"[..]));
    done(&store, ada, update_folder(trash, FolderType::TRASH, "Bin"));
    assert_eq!(store.folder(ada, trash).unwrap().unwrap().name, "Bin", "names of system folders change");
}

#[test]
fn a_folder_goes_with_its_content_and_system_folders_stay() {
    let (store, ada) = store_with_ada();
    let folder = make_folder(&store, ada, 1);
    let item = make_item(&store, ada, folder);
    let remove = |folder_id| RemoveInventoryFolder {
        folder_data: vec![RemoveInventoryFolderFolderData { folder_id }],
        ..RemoveInventoryFolder::default()
    };
    assert_eq!(done(&store, ada, remove(folder)), []);
    assert_eq!((store.folder(ada, folder).unwrap(), store.item(ada, item.id).unwrap()), (None, None));
    let trash = folder_of(&store, ada, FolderType::TRASH);
    let (refusal, messages) = refused(&store, ada, remove(trash));
    assert!(refusal.contains("is a system folder"), "{refusal}");
    assert_eq!(bulk_folders(&messages)[0].folder_id, trash, "the client has removed it from its own list");
}

#[test]
fn the_trash_is_purged() {
    let (store, ada) = store_with_ada();
    let trash = folder_of(&store, ada, FolderType::TRASH);
    let (folder, item) = (make_folder(&store, ada, 1), make_item(&store, ada, trash));
    done(&store, ada, move_folder(folder, trash));
    let inside = make_item(&store, ada, folder);
    let purge = |folder_id| PurgeInventoryDescendents {
        inventory_data: PurgeInventoryDescendentsInventoryData { folder_id },
        ..PurgeInventoryDescendents::default()
    };
    assert_eq!(done(&store, ada, purge(trash)), []);
    assert!(store.folder(ada, trash).unwrap().is_some());
    for gone in [item.id, inside.id] {
        assert_eq!(store.item(ada, gone).unwrap(), None);
    }
    let (refusal, _) = refused(&store, ada, purge(root(&store, ada)));
    assert!(refusal.contains("is a system folder"), "{refusal}");
}

#[test]
fn folders_and_items_are_removed_in_one_request() {
    let (store, ada) = store_with_ada();
    let folder = make_folder(&store, ada, 1);
    let (inside, beside) = (make_item(&store, ada, folder), make_item(&store, ada, root(&store, ada)));
    let request = RemoveInventoryObjects {
        folder_data: vec![RemoveInventoryObjectsFolderData { folder_id: folder }],
        item_data: [inside.id, beside.id, id(0xBAD), id(0xBAE)]
            .map(|item_id| RemoveInventoryObjectsItemData { item_id })
            .to_vec(),
        ..RemoveInventoryObjects::default()
    };
    let (refusal, messages) = refused(&store, ada, request);
    assert!(refusal.ends_with("in the inventory. Changes refused: 2."), "one alert for both: {refusal}");
    assert_eq!(messages, []);
    assert_eq!(store.folder(ada, folder).unwrap(), None);
    assert_eq!((store.item(ada, inside.id).unwrap(), store.item(ada, beside.id).unwrap()), (None, None));
}

#[test]
fn the_capability_makes_a_folder_and_answers_with_it() {
    let (store, ada) = store_with_ada();
    let parent = root(&store, ada);
    let request = |id: Uuid, parent: Uuid, folder_type: i32| {
        Llsd::map([
            ("folder_id", Llsd::from(id)),
            ("parent_id", parent.into()),
            ("type", folder_type.into()),
            ("name", "Hats\n".into()),
        ])
    };
    let reply = create_category(&store, ada, &request(id(1), parent, 47)).unwrap().unwrap();
    assert_eq!(
        (reply.get("folder_id").as_uuid(), reply.get("parent_id").as_uuid()),
        (Some(id(1)), Some(parent))
    );
    assert_eq!((reply.get("type").as_i32(), reply.get("name").as_str()), (Some(47), Some("Hats ")));
    assert_eq!(store.folder(ada, id(1)).unwrap().unwrap().name, "Hats ");
    let refusal = |request: &Llsd| create_category(&store, ada, request).unwrap().unwrap_err();
    assert_eq!(refusal(&request(id(2), parent, 300)), ChangeRefusal::FolderType(300));
    assert_eq!(
        refusal(&request(id(1), parent, -1)),
        ChangeRefusal::from(store::InventoryRefusal::FolderExists(id(1)))
    );
    let unknown = store::InventoryRefusal::UnknownFolder(Uuid::nil());
    assert_eq!(refusal(&Llsd::map([("folder_id", Llsd::from(id(3)))])), ChangeRefusal::from(unknown));
}
