use super::*;
use crate::testing::{FaultyFolder, asset};
use crate::{AssetKind, ItemChange};
use ids::{AgentId, Uuid};
use std::sync::mpsc::channel;
use store::{InventoryChange, InventoryRefusal, NewFolder};

/// Commits each asset as a write of its own.
fn commit_all(store: &Store, folder: &FaultyFolder, assets: &[NewAsset]) -> (Vec<CommitOutcome>, CommitCost) {
    let writes: Vec<NewAssets> =
        assets.iter().map(|asset| NewAssets { assets: vec![asset.clone()], item: None }).collect();
    commit(store, &folder.files(), &writes, 100)
}

fn is_stored(store: &Store, id: u128) -> bool {
    store.asset(Uuid::from_u128(id)).unwrap().is_some_and(|stored| stored.damage.is_none())
}

#[test]
fn a_batch_is_synced_once_and_equal_bytes_are_written_once() {
    let (store, folder) = (Store::open_in_memory().unwrap(), FaultyFolder::new());
    let batch = [asset(1, b"one"), asset(2, b"two"), asset(3, b"one")];
    let (outcomes, cost) = commit_all(&store, &folder, &batch);
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(cost, CommitCost { written: 2, syncs: 1 });
    assert_eq!(folder.syncs.load(Ordering::Relaxed), 1);
    let (outcomes, cost) = commit_all(&store, &folder, &[asset(4, b"two"), asset(1, b"one")]);
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(cost, CommitCost::default(), "all bytes are there");
    assert!((1..=4).all(|id| is_stored(&store, id)));
}

#[test]
fn an_id_is_not_given_other_bytes() {
    let (store, folder) = (Store::open_in_memory().unwrap(), FaultyFolder::new());
    let other_kind = NewAsset { kind: AssetKind::Sound, ..asset(1, b"one") };
    let (outcomes, _) = commit_all(&store, &folder, &[asset(1, b"one"), asset(1, b"two"), other_kind]);
    assert!(outcomes[0].is_ok());
    let taken = Err(AddAssetError::Taken(Uuid::from_u128(1)));
    assert_eq!(outcomes[1..], [taken.clone(), taken]);
}

#[test]
fn assets_of_one_write_are_stored_together_or_not_at_all() {
    let (store, folder) = (Store::open_in_memory().unwrap(), FaultyFolder::new());
    folder.obstruct(b"two");
    let together = |ids: [u128; 2], bytes: [&[u8]; 2]| NewAssets {
        assets: vec![asset(ids[0], bytes[0]), asset(ids[1], bytes[1])],
        item: None,
    };
    let writes = [together([1, 2], [b"one", b"two"]), together([3, 4], [b"one", b"three"])];
    let (outcomes, _) = commit(&store, &folder.files(), &writes, 100);
    assert!(matches!(outcomes[0], Err(AddAssetError::Files(_))), "{outcomes:?}");
    assert_eq!(outcomes[1], Ok(vec![AssetHash::of(b"one"), AssetHash::of(b"three")]));
    assert_eq!([1, 2, 3, 4].map(|id| is_stored(&store, id)), [false, false, true, true]);
}

#[test]
fn a_write_whose_item_is_refused_is_refused_and_its_assets_are_temporary() {
    let (store, folder) = (Store::open_in_memory().unwrap(), FaultyFolder::new());
    let owner = AgentId(Uuid::from_u128(7));
    let parent = Uuid::from_u128(77);
    let in_a_folder_that_is_not_there = |owner| {
        let id = Uuid::from_u128(78);
        let change =
            InventoryChange::CreateFolder(NewFolder { id, parent, name: String::new(), type_default: -1 });
        Some(ItemChange { owner, change })
    };
    let account = store::NewAccount {
        agent: owner,
        first: "Ada".into(),
        last: "Lovelace".into(),
        password_hash: store::PasswordHash(String::new()),
        created_s: 0,
        folders: Vec::new(),
        items: Vec::new(),
    };
    store.create_account(&account).unwrap();
    let write =
        |id, owner| NewAssets { assets: vec![asset(id, b"one")], item: in_a_folder_that_is_not_there(owner) };
    let stranger = AgentId(Uuid::from_u128(8));
    let (outcomes, cost) = commit(&store, &folder.files(), &[write(1, owner), write(2, stranger)], 100);
    let refusal = AddAssetError::Item(InventoryRefusal::UnknownFolder(parent));
    assert_eq!(outcomes, [Err(refusal), Err(AddAssetError::UnknownOwner)]);
    assert_eq!(cost, CommitCost { written: 1, syncs: 1 });
    assert_eq!(remove_expired(&store, &folder.files(), 101, 10, |_| false).unwrap(), 1);
    assert!(!folder.path_of(AssetHash::of(b"one")).exists());
}

#[test]
fn bytes_that_cannot_be_written_refuse_their_asset_and_no_other() {
    let (store, folder) = (Store::open_in_memory().unwrap(), FaultyFolder::new());
    folder.obstruct(b"one");
    let (outcomes, _) = commit_all(&store, &folder, &[asset(1, b"one"), asset(2, b"two")]);
    assert!(matches!(outcomes[0], Err(AddAssetError::Files(_))), "{outcomes:?}");
    assert!(outcomes[1].is_ok() && !is_stored(&store, 1) && is_stored(&store, 2));
    folder.clear(b"one");
    assert!(commit_all(&store, &folder, &[asset(1, b"one")]).0[0].is_ok());
}

#[test]
fn nothing_that_was_not_synced_is_acknowledged() {
    let (store, folder) = (Store::open_in_memory().unwrap(), FaultyFolder::new());
    assert!(commit_all(&store, &folder, &[asset(1, b"one")]).0[0].is_ok());
    folder.is_sync_failing.store(true, Ordering::Relaxed);
    let (outcomes, _) = commit_all(&store, &folder, &[asset(2, b"two"), asset(3, b"one")]);
    let Err(AddAssetError::Files(why)) = &outcomes[0] else { panic!("{outcomes:?}") };
    assert!(why.contains("no space"), "{why}");
    assert!(outcomes[1].is_ok(), "its bytes were on the disk before");
    assert!(!is_stored(&store, 2) && is_stored(&store, 3));
    folder.is_sync_failing.store(false, Ordering::Relaxed);
    let (outcomes, cost) = commit_all(&store, &folder, &[asset(2, b"two")]);
    assert_eq!((outcomes[0].is_ok(), cost.written), (true, 1), "they are written anew");
}

#[test]
fn a_damaged_content_is_healed_by_the_same_bytes() {
    let (store, folder) = (Store::open_in_memory().unwrap(), FaultyFolder::new());
    commit_all(&store, &folder, &[asset(1, b"one")]);
    folder.damage(b"one");
    store.quarantine_content(AssetHash::of(b"one"), "damaged").unwrap();
    assert!(!is_stored(&store, 1));
    let (_, cost) = commit_all(&store, &folder, &[asset(2, b"one")]);
    assert_eq!(cost.written, 1);
    assert!(is_stored(&store, 1) && is_stored(&store, 2));
    assert_eq!(std::fs::read(folder.path_of(AssetHash::of(b"one"))).unwrap(), b"one");
}

#[test]
fn expired_assets_go_with_their_files() {
    let (store, folder) = (Store::open_in_memory().unwrap(), FaultyFolder::new());
    let temporary = NewAsset { is_temporary: true, ..asset(1, b"bake") };
    commit_all(&store, &folder, &[temporary, asset(2, b"lasting")]);
    assert_eq!(remove_expired(&store, &folder.files(), 100, 10, |_| false).unwrap(), 0, "used at 100");
    assert_eq!(remove_expired(&store, &folder.files(), 101, 10, |_| false).unwrap(), 1);
    assert!(!folder.path_of(AssetHash::of(b"bake")).exists());
    assert!(is_stored(&store, 2) && folder.path_of(AssetHash::of(b"lasting")).exists());
}

fn write(id: u128, length: usize) -> (Write, Receiver<Result<(), AddAssetError>>) {
    let (outcome, received) = channel();
    let done: AssetsDone = Box::new(move |result| drop(outcome.send(result)));
    (Write { new: NewAssets { assets: vec![asset(id, &vec![0; length])], item: None }, done }, received)
}

#[test]
fn a_full_queue_refuses_at_once() {
    let (queue, tasks) = write_queue();
    let (first, first_outcome) = write(1, WRITES_BYTES_MAX);
    queue.push(first);
    let (second, second_outcome) = write(2, 1);
    queue.push(second);
    assert_eq!(second_outcome.try_recv(), Ok(Err(AddAssetError::Busy)));
    assert!(first_outcome.try_recv().is_err(), "it waits");
    assert_eq!(tasks.next_batch().writes.len(), 1);
    assert_eq!(queue.bytes_queued(), 0);
    for id in 0..WRITES_MAX as u128 {
        queue.push(write(id, 1).0);
    }
    let (more, outcome) = write(3, 1);
    queue.push(more);
    assert_eq!(outcome.try_recv(), Ok(Err(AddAssetError::Busy)));
    let n_batches = std::iter::from_fn(|| (queue.bytes_queued() > 0).then(|| tasks.next_batch())).count();
    assert_eq!(n_batches, WRITES_MAX / BATCH_MAX);
}

#[test]
fn writes_queued_before_the_end_are_taken_and_later_ones_are_refused() {
    let (queue, tasks) = write_queue();
    queue.push(write(1, 3).0);
    queue.remove_expired(5);
    queue.remove_expired(9);
    queue.end();
    let batch = tasks.next_batch();
    assert_eq!((batch.writes.len(), batch.expire_before_s, batch.is_last), (1, Some(9), true));
    drop(tasks);
    let (late, outcome) = write(2, 3);
    queue.push(late);
    assert_eq!(outcome.try_recv(), Ok(Err(AddAssetError::Ended)));
    assert_eq!(queue.bytes_queued(), 0);
}
