use super::*;
use crate::testing::{TestDatabase, on_both_engines};

on_both_engines! {
    an_asset_is_read_as_it_was_added_and_after_opening_again,
    an_id_keeps_its_content,
    damage_stays_until_the_same_bytes_arrive_again,
    temporary_assets_expire_with_contents_that_no_other_asset_names,
    a_temporary_asset_that_is_used_or_kept_stays,
    contents_are_passed_in_the_order_of_their_hashes,
    a_batch_is_added_as_a_whole,
    assets_are_counted_by_kind,
    the_scrubbers_place_is_kept,
}

pub(super) fn asset(id: u128, bytes: &[u8]) -> AssetRow {
    AssetRow {
        id: Uuid::from_u128(id),
        hash: AssetHash::of(bytes),
        kind: 0,
        length: bytes.len() as u32,
        creator: AgentId(Uuid::from_u128(77)),
        created_s: 1_700_000_000,
        origin: "upload".into(),
        used_s: None,
    }
}

pub(super) fn temporary(id: u128, bytes: &[u8], used_s: i64) -> AssetRow {
    AssetRow { used_s: Some(used_s), ..asset(id, bytes) }
}

pub(super) fn add(store: &Store, row: &AssetRow) -> AssetAdded {
    store.add_assets(std::slice::from_ref(row)).unwrap()[0]
}

fn is_there(store: &Store, id: u128) -> bool {
    store.asset(Uuid::from_u128(id)).unwrap().is_some()
}

fn an_asset_is_read_as_it_was_added_and_after_opening_again(database: &TestDatabase) {
    let rows = [asset(1, b"one"), AssetRow { kind: 49, ..temporary(2, b"two", 5) }];
    assert_eq!(database.open().add_assets(&rows).unwrap(), [AssetAdded::New; 2]);
    for row in rows {
        let stored = database.open().asset(row.id).unwrap();
        assert_eq!(stored, Some(StoredAsset { row, damage: None }));
    }
    assert!(!is_there(&database.open(), 3));
}

fn an_id_keeps_its_content(database: &TestDatabase) {
    let store = database.open();
    assert_eq!(add(&store, &asset(1, b"one")), AssetAdded::New);
    assert_eq!(add(&store, &asset(1, b"one")), AssetAdded::Known);
    assert_eq!(add(&store, &asset(1, b"two")), AssetAdded::Taken);
    assert_eq!(add(&store, &AssetRow { kind: 7, ..asset(1, b"one") }), AssetAdded::Taken);
    assert_eq!(store.asset(Uuid::from_u128(1)).unwrap().unwrap().row, asset(1, b"one"));
    assert_eq!(
        store.are_contents_sound(&[AssetHash::of(b"two")]).unwrap(),
        [false],
        "nothing of it is added"
    );
    assert_eq!(add(&store, &asset(2, b"one")), AssetAdded::New, "another id with the same bytes");
    let both = [1, 2].map(Uuid::from_u128);
    assert_eq!(store.assets_of_content(AssetHash::of(b"one"), 9).unwrap(), both);
}

fn damage_stays_until_the_same_bytes_arrive_again(database: &TestDatabase) {
    let store = database.open();
    let hash = AssetHash::of(b"one");
    add(&store, &asset(1, b"one"));
    assert!(!store.quarantine_content(AssetHash::of(b"two"), "unknown").unwrap());
    assert!(store.quarantine_content(hash, "its hash is another").unwrap());
    assert!(!store.quarantine_content(hash, "again").unwrap());
    let damage = |id| store.asset(Uuid::from_u128(id)).unwrap().unwrap().damage;
    assert_eq!(damage(1).as_deref(), Some("its hash is another"), "the first evidence stays");
    assert_eq!(store.are_contents_sound(&[hash]).unwrap(), [false]);
    assert_eq!(add(&store, &asset(3, b"three")), AssetAdded::New);
    assert!(damage(1).is_some(), "other bytes heal nothing");
    assert_eq!(add(&store, &asset(1, b"one")), AssetAdded::Known);
    assert_eq!(damage(1), None);
    store.quarantine_content(hash, "damaged again").unwrap();
    assert_eq!(add(&store, &asset(2, b"one")), AssetAdded::New);
    assert_eq!((damage(1), damage(2)), (None, None), "both have the same bytes");
}

fn temporary_assets_expire_with_contents_that_no_other_asset_names(database: &TestDatabase) {
    let store = database.open();
    let rows = [
        temporary(1, b"alone", 10),
        temporary(2, b"shared", 11),
        asset(3, b"shared"),
        temporary(4, b"young", 100),
        asset(5, b"lasting"),
    ];
    store.add_assets(&rows).unwrap();
    assert_eq!(store.remove_expired_assets(50, 1).unwrap(), [AssetHash::of(b"alone")]);
    assert!(is_there(&store, 2), "one at a time");
    assert!(store.remove_expired_assets(50, 9).unwrap().is_empty(), "an asset names that content");
    let left = [1, 2, 3, 4, 5].map(|id| is_there(&store, id));
    assert_eq!(left, [false, false, true, true, true]);
    assert!(store.remove_expired_assets(50, 9).unwrap().is_empty());
}

fn a_temporary_asset_that_is_used_or_kept_stays(database: &TestDatabase) {
    let store = database.open();
    let ids = [1, 2, 3].map(Uuid::from_u128);
    for id in 1..=3 {
        add(&store, &temporary(id, &[id as u8], 10));
    }
    store.use_temporary_assets(&[ids[0], Uuid::from_u128(99)], 60).unwrap();
    store.use_temporary_assets(&ids[..1], 20).unwrap();
    let used = |id| store.asset(id).unwrap().unwrap().row.used_s;
    assert_eq!(used(ids[0]), Some(60), "the latest use counts");
    add(&store, &asset(2, &[2]));
    assert_eq!(used(ids[1]), None, "it lasts from now on");
    store.use_temporary_assets(&ids[1..2], 70).unwrap();
    assert_eq!(used(ids[1]), None);
    assert_eq!(store.remove_expired_assets(50, 9).unwrap(), [AssetHash::of(&[3])]);
    assert_eq!([1, 2, 3].map(|id| is_there(&store, id)), [true, true, false]);
}

fn contents_are_passed_in_the_order_of_their_hashes(database: &TestDatabase) {
    let store = database.open();
    let rows: Vec<AssetRow> = (0..20).map(|n| asset(n, &n.to_le_bytes()[..1])).collect();
    store.add_assets(&rows).unwrap();
    let mut hashes: Vec<AssetHash> = rows.iter().map(|row| row.hash).collect();
    hashes.sort_unstable();
    let (mut seen, mut last) = (Vec::new(), AssetHash([0; 32]));
    loop {
        let part = store.contents_after(last, 7).unwrap();
        let Some(content) = part.last() else { break };
        last = content.hash;
        seen.extend(part.into_iter().map(|content| content.hash));
    }
    assert_eq!(seen, hashes);
}

fn a_batch_is_added_as_a_whole(database: &TestDatabase) {
    let store = database.open();
    let rows = [asset(1, b"one"), asset(1, b"two"), asset(2, b"two"), asset(2, b"two")];
    let outcomes = store.add_assets(&rows).unwrap();
    assert_eq!(outcomes, [AssetAdded::New, AssetAdded::Taken, AssetAdded::New, AssetAdded::Known]);
    assert!(store.add_assets(&[]).unwrap().is_empty());
}

fn assets_are_counted_by_kind(database: &TestDatabase) {
    let store = database.open();
    assert!(store.asset_counts().unwrap().is_empty());
    let mesh = AssetRow { kind: 49, ..asset(3, b"a mesh") };
    store.add_assets(&[asset(1, b"one"), temporary(2, b"four", 5), mesh]).unwrap();
    store.quarantine_content(AssetHash::of(b"one"), "damaged").unwrap();
    let textures = AssetCount { kind: 0, assets: 2, temporary: 1, damaged: 1, bytes: 7 };
    let meshes = AssetCount { kind: 49, assets: 1, temporary: 0, damaged: 0, bytes: 6 };
    assert_eq!(store.asset_counts().unwrap(), [textures, meshes]);
}

fn the_scrubbers_place_is_kept(database: &TestDatabase) {
    let store = database.open();
    assert!(store.scrub_position().unwrap().abs() < 1e-9);
    for position in [0.25, 1.0, 0.5] {
        store.keep_scrub_position(position).unwrap();
    }
    assert!((database.open().scrub_position().unwrap() - 0.5).abs() < 1e-6);
    store.add_assets(&[asset(1, b"one"), asset(2, b"one"), asset(3, b"two")]).unwrap();
    assert_eq!(store.n_asset_contents().unwrap(), 2);
}
