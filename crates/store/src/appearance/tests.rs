//! Appearances are read as they were written, and keep the bakes that they name.

use super::*;
use crate::account::tests::create;
use crate::testing::{TestDatabase, on_both_engines, tamper};
use crate::{AssetHash, AssetRow, check};

on_both_engines! {
    the_newest_appearance_is_kept,
    bakes_that_an_appearance_names_do_not_expire,
    a_damaged_appearance_is_named_and_removed,
    an_outfit_is_kept,
}

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn bake(n: u8) -> StoredBake {
    StoredBake { face: n, cache_id: id(100 + u128::from(n)), asset: id(u128::from(n)) }
}

fn add_bake(store: &Store, n: u8, used_s: i64) {
    let row = AssetRow {
        id: id(n.into()),
        hash: AssetHash::of(&[n]),
        kind: 0,
        length: 1,
        creator: AgentId(id(1)),
        created_s: 0,
        origin: "bake".into(),
        used_s: Some(used_s),
    };
    store.add_assets(&[row]).unwrap();
}

fn look(texture: u8, bakes: &[u8]) -> StoredAppearance {
    StoredAppearance {
        height_m: 1.87,
        texture_entry: vec![texture; 40],
        visual_params: vec![7; 218],
        bakes: bakes.iter().copied().map(bake).collect(),
    }
}

fn the_newest_appearance_is_kept(database: &TestDatabase) {
    let store = database.open();
    let (ada, nobody) = (create(&store, 1, "Ada", "Lovelace"), AgentId(id(0xBAD)));
    assert_eq!(store.appearance(ada).unwrap(), None);
    add_bake(&store, 8, 0);
    store.save_appearances(&[(nobody, look(1, &[])), (ada, look(2, &[8, 9]))]).unwrap();
    assert_eq!(store.appearance(nobody).unwrap(), None);
    // The second bake is not there.
    assert_eq!(store.appearance(ada).unwrap(), Some(Ok(look(2, &[8]))));
    add_bake(&store, 9, 0);
    store.save_appearances(&[(ada, look(3, &[9]))]).unwrap();
    assert_eq!(database.open().appearance(ada).unwrap(), Some(Ok(look(3, &[9]))));
    let many: Vec<u8> = (0..=u8::MAX).collect();
    many.iter().for_each(|&n| add_bake(&store, n, 0));
    store.save_appearances(&[(ada, look(4, &many))]).unwrap();
    assert_eq!(store.appearance(ada).unwrap(), Some(Ok(look(4, &many[..BAKES_MAX]))));
}

fn bakes_that_an_appearance_names_do_not_expire(database: &TestDatabase) {
    let store = database.open();
    let ada = create(&store, 1, "Ada", "Lovelace");
    [8, 9, 10].into_iter().for_each(|n| add_bake(&store, n, 10));
    store.save_appearances(&[(ada, look(1, &[8, 9]))]).unwrap();
    assert_eq!(store.remove_expired_assets(50, 9).unwrap(), [AssetHash::of(&[10])]);
    assert!(store.asset(id(8)).unwrap().is_some() && store.asset(id(9)).unwrap().is_some());
    // Another look names one of them only.
    store.save_appearances(&[(ada, look(2, &[9]))]).unwrap();
    let later_s = 50 + NAMED_S_PASSED;
    assert_eq!(store.remove_expired_assets(later_s, 9).unwrap(), [AssetHash::of(&[8])]);
    assert!(store.asset(id(9)).unwrap().is_some());
}

/// Longer than an expired asset that was named is left alone.
const NAMED_S_PASSED: i64 = 100_000;

fn a_damaged_appearance_is_named_and_removed(database: &TestDatabase) {
    let store = database.open();
    let ada = create(&store, 1, "Ada", "Lovelace");
    store.save_appearances(&[(ada, look(1, &[8]))]).unwrap();
    tamper(&store, Sql::same("UPDATE avatar_appearances SET height_m = $1"), values![0.5_f32]);
    let problems = check(&database.url).unwrap().problems;
    assert!(problems.len() == 1 && problems[0].contains(&ada.0.to_string()), "{problems:?}");
    assert_eq!(store.appearance(ada).unwrap(), Some(Err(AppearanceDamage { agent: ada })));
    assert_eq!(store.appearance(ada).unwrap(), None);
}

fn an_outfit_is_kept(database: &TestDatabase) {
    let store = database.open();
    let ada = create(&store, 1, "Ada", "Lovelace");
    assert_eq!(store.wearables(ada).unwrap(), []);
    let worn = |n: u8| StoredWearable { item: id(n.into()), kind: n };
    let outfit: Vec<StoredWearable> = (0..=u8::MAX).map(worn).collect();
    store.save_wearables(ada, &outfit[..3]).unwrap();
    assert_eq!(store.wearables(ada).unwrap(), outfit[..3]);
    store.save_wearables(ada, &outfit).unwrap();
    assert_eq!(store.wearables(ada).unwrap(), outfit[..WEARABLES_MAX]);
    let nobody = AgentId(id(0xBAD));
    let error = store.save_wearables(nobody, &[]).unwrap_err();
    assert!(matches!(error, StoreError::UnknownAccount(agent) if agent == nobody), "{error}");
}
