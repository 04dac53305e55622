//! Gestures that are switched on and off.

use super::*;

fn make_gesture(store: &Store, agent: AgentId) -> Item {
    let folder = folder_of(store, agent, FolderType::GESTURES);
    let (_, _, rows) = made(&done(store, agent, create_item(folder, AssetType::GESTURE)));
    store.item(agent, rows[0].item_id).unwrap().expect("it was made")
}

fn activate(items: &[Uuid]) -> ActivateGestures {
    let row = |&item_id: &Uuid| ActivateGesturesData { item_id, ..ActivateGesturesData::default() };
    ActivateGestures { data: items.iter().map(row).collect(), ..ActivateGestures::default() }
}

fn deactivate(item_id: Uuid) -> DeactivateGestures {
    let data = vec![DeactivateGesturesData { item_id, gesture_flags: 0 }];
    DeactivateGestures { data, ..DeactivateGestures::default() }
}

fn flags(store: &Store, agent: AgentId, item: Uuid) -> u32 {
    store.item(agent, item).unwrap().expect("it is there").flags
}

fn n_active(store: &Store, agent: AgentId) -> usize {
    store.active_gestures(agent, 100).unwrap().len()
}

#[test]
fn gestures_stay_switched_on_until_they_are_switched_off() {
    let (store, ada) = store_with_ada();
    let [wave, bow] = [(); 2].map(|()| make_gesture(&store, ada));
    let note = make_item(&store, ada, root(&store, ada));
    // Clients state gestures of the library, too; other kinds have other flags.
    let sent = done(&store, ada, activate(&[wave.id, id(0xBAD), note.id, bow.id]));
    assert!(sent.is_empty(), "no client waits for anything");
    assert_eq!([wave.id, bow.id, note.id].map(|item| flags(&store, ada, item)), [1, 1, 0]);
    assert_eq!(n_active(&store, ada), 2);
    let version = store.folder(ada, wave.folder).unwrap().unwrap().version;
    done(&store, ada, activate(&[wave.id, bow.id]));
    assert_eq!(store.folder(ada, wave.folder).unwrap().unwrap().version, version, "nothing has changed");
    done(&store, ada, deactivate(wave.id));
    assert_eq!((flags(&store, ada, wave.id), n_active(&store, ada)), (0, 1));
}

#[test]
fn other_requests_leave_the_state_of_a_gesture_and_a_copy_is_off() {
    let (store, ada) = store_with_ada();
    let wave = make_gesture(&store, ada);
    // As a client states it that does not know that it is on.
    let renamed = update_of(&Item { name: "Wave".into(), ..wave.clone() });
    done(&store, ada, activate(&[wave.id]));
    done(&store, ada, renamed);
    let stored = store.item(ada, wave.id).unwrap().unwrap();
    assert_eq!((&*stored.name, stored.flags), ("Wave", 1));
    let rows = bulk_items(&done(&store, ada, copy(wave.id, wave.folder, "")));
    assert_eq!((rows[0].flags, n_active(&store, ada)), (0, 1));
}
