//! Views of both engines: parts of lists, references, and one moment for all.

use super::*;
use crate::account::tests::create;
use crate::copy::tests::fill;
use crate::testing::{TestDatabase, on_both_engines, rewrite, tamper};
use crate::{AssetRow, Item, NewWorn, StoredAppearance, WearOutcome};
use ids::Ticket;

on_both_engines! {
    a_view_is_of_one_moment,
    lists_come_in_parts_and_are_whole,
    items_come_with_the_hashes_of_their_assets,
    marks_without_their_items_are_found,
    regions_are_found_by_their_rows,
    worn_objects_and_appearances_come_in_parts_with_their_damage,
}

type Seen<T> = Result<T, StoreError>;

fn a_view_is_of_one_moment(database: &TestDatabase) {
    let store = database.open();
    let (ada, later) = (create(&store, 1, "Ada", "Lovelace"), AgentId(Uuid::from_u128(0xE)));
    let seen: Seen<_> = view(&database.url, |view| {
        let before = view.account_name(ada)?;
        create(&store, 0xE, "Eve", "Late");
        Ok((before, view.account_name(later)?))
    });
    assert_eq!(seen.unwrap(), (Some("Ada Lovelace".to_owned()), None));
    let now: Seen<_> = view(&database.url, |view| view.account_name(later));
    assert_eq!(now.unwrap().as_deref(), Some("Eve Late"));
}

fn lists_come_in_parts_and_are_whole(database: &TestDatabase) {
    fill(database);
    let (items, folders, contents) = view(&database.url, |view| -> Seen<_> {
        let nil = (AgentId(Uuid::nil()), Uuid::nil());
        let (mut items, mut after) = (Vec::new(), nil);
        loop {
            let part = view.items_after(after, 7)?;
            let Some(last) = part.last() else { break };
            after = (last.owner, last.item);
            items.extend(part);
        }
        let (mut folders, mut after) = (Vec::new(), nil);
        loop {
            let part = view.folders_after(after, 7)?;
            let Some((owner, last)) = part.last() else { break };
            after = (*owner, last.id);
            folders.extend(part);
        }
        Ok((items, folders, view.contents_after(AssetHash([0; 32]), 7)?))
    })
    .unwrap();
    let rows = |table: &str| {
        let digests: Seen<_> = view(&database.url, |view| view.digests());
        digests.unwrap().into_iter().find(|digest| digest.table == table).unwrap().rows
    };
    assert_eq!(items.len() as u64, rows("inventory_items"));
    assert_eq!(folders.len() as u64, rows("inventory_folders"));
    assert!(items.is_sorted_by_key(|item| (item.owner, item.item)));
    assert!(folders.is_sorted_by_key(|(owner, folder)| (*owner, folder.id)));
    assert_eq!(contents.len(), 1);
    assert_eq!(contents[0].damage.as_deref(), Some("damaged"));
    let one: Seen<_> = view(&database.url, |view| {
        let hash = contents[0].hash;
        let contents = (view.content(hash)?, view.content(AssetHash([1; 32]))?);
        Ok((contents, view.assets_of(hash, 9)?, view.count_assets()?))
    });
    let ids = [3, 4].map(Uuid::from_u128).to_vec();
    assert_eq!(one.unwrap(), ((Some(contents[0].clone()), None), ids, 2));
}

fn items_come_with_the_hashes_of_their_assets(database: &TestDatabase) {
    let store = database.open();
    let ada = create(&store, 1, "Ada", "Lovelace");
    let of = |asset: u128| AssetRow {
        id: Uuid::from_u128(asset),
        hash: AssetHash([7; 32]),
        kind: 0,
        length: 1,
        creator: ada,
        created_s: 0,
        origin: "test".into(),
        used_s: None,
    };
    let all: Seen<_> = view(&database.url, |view| view.items_after((AgentId(Uuid::nil()), Uuid::nil()), 100));
    let all = all.unwrap();
    let first = all.first().expect("an account begins with an item");
    assert_eq!(first.hash, None);
    store.add_assets(&[AssetRow { id: first.asset, ..of(1) }]).unwrap();
    let (items, hashes) = view(&database.url, |view| -> Seen<_> {
        let items = view.items_after((AgentId(Uuid::nil()), Uuid::nil()), 100)?;
        Ok((items, view.asset_hashes(&[first.asset, Uuid::from_u128(0xBAD)])?))
    })
    .unwrap();
    assert_eq!(items[0], ItemReference { hash: Some(AssetHash([7; 32])), ..first.clone() });
    assert_eq!(hashes, [Some(AssetHash([7; 32])), None]);
}

fn marks_without_their_items_are_found(database: &TestDatabase) {
    fill(database);
    let lost = || {
        let lost: Seen<_> = view(&database.url, |view| view.lost_marks(9));
        lost.unwrap()
    };
    assert!(lost().is_empty());
    let (ada, item) = (Uuid::from_u128(1), Uuid::from_u128(0xDEAD));
    let mark = Sql::same("INSERT INTO item_marks (held, owner, item, taken_by) VALUES (7777, $1, $2, 1)");
    tamper(&database.open(), mark, values![ada, item]);
    assert_eq!(lost(), [(AgentId(ada), item)]);
}

fn regions_are_found_by_their_rows(database: &TestDatabase) {
    fill(database);
    let held = |limit: u32| -> Seen<_> { view(&database.url, |view| view.held_after(None, limit)) };
    let page = held(1).unwrap();
    assert_eq!((page.entries.len(), page.damages.len()), (1, 0));
    assert_eq!(page.next, Some(HeldKey { region: WorldId(2_047), ticket: Ticket(u32::MAX) }));
    assert_eq!(held(2).unwrap().next, None);
    let (numbers, rows, stored) = view(&database.url, |view| -> Seen<_> {
        Ok((view.regions_with_rows()?, view.regions()?, view.region(WorldId(2_047))?))
    })
    .unwrap();
    assert_eq!(numbers, BTreeSet::from([2_047]));
    assert_eq!((rows.len(), rows[0].region), (1, WorldId(2_047)));
    assert_eq!(rows[0].row, stored.row);
    assert!(stored.row.is_some() && !stored.bodies.is_empty());
    let store = database.open();
    tamper(&store, Sql::same("UPDATE regions SET checksum = 0"), &[]);
    // No region has such numbers.
    for key in [-5_i64, 3 << 32, i64::MAX] {
        let insert = Sql::same("INSERT INTO object_states (object, value, checksum) VALUES ($1, $2, 0)");
        tamper(&store, insert, values![key, Vec::<u8>::new()]);
    }
    let (numbers, rows) =
        view(&database.url, |view| -> Seen<_> { Ok((view.regions_with_rows()?, view.regions()?)) }).unwrap();
    assert_eq!(numbers, BTreeSet::from([3, 2_047, (1 << 31) - 1, u32::MAX]));
    assert_eq!(rows, [RegionRowFound { region: WorldId(2_047), row: None }]);
}

fn worn_objects_and_appearances_come_in_parts_with_their_damage(database: &TestDatabase) {
    let store = database.open();
    let (ada, bob) = (create(&store, 1, "Ada", "Lovelace"), create(&store, 2, "Bob", "Babbage"));
    let object = Sql::same("UPDATE inventory_items SET asset_type = 6");
    rewrite(&store, object, &[]);
    for owner in [ada, bob] {
        let all = store.items_in(owner, Uuid::from_u128(0x100 + owner.0.as_u128()), 1).unwrap();
        let [item] = <[Item; 1]>::try_from(all).expect("an account begins with an item");
        let new = NewWorn { item, point: 5, revision: 1, value: b"hat"[..].into() };
        assert_eq!(store.wear(owner, &[new], 1).unwrap(), [WearOutcome::Worn]);
        let look = StoredAppearance {
            height_m: 1.75,
            texture_entry: vec![1],
            visual_params: vec![2],
            bakes: Vec::new(),
        };
        store.save_appearances(&[(owner, look)]).unwrap();
    }
    tamper(&store, Sql::same("UPDATE worn_objects SET point = 6 WHERE owner = $1"), values![bob.0]);
    tamper(&store, Sql::same("UPDATE avatar_appearances SET height_m = 2 WHERE agent = $1"), values![bob.0]);
    let (first, second, end) = view(&database.url, |view| -> Seen<_> {
        let mut first = view.worn_after((AgentId(Uuid::nil()), Uuid::nil()), 1)?;
        let row = first.remove(0).expect("it is whole");
        let mut second = view.worn_after((row.owner, row.item), 9)?;
        let damage = second.remove(0).expect_err("it is damaged");
        Ok((row.owner, damage.clone(), view.worn_after((damage.owner, damage.item), 9)?))
    })
    .unwrap();
    assert_eq!((first, second.owner, end.len()), (ada, bob, 0));
    let looks = view(&database.url, |view| -> Seen<_> {
        let first = view.damaged_appearances_after(AgentId(Uuid::nil()), 1)?;
        Ok([first, view.damaged_appearances_after(ada, 1)?, view.damaged_appearances_after(bob, 1)?])
    });
    let damage = AppearanceDamage { agent: bob };
    let expected = [(vec![], Some(ada)), (vec![damage], Some(bob)), (vec![], None)];
    assert_eq!(looks.unwrap(), expected);
}

#[test]
fn problems_of_a_file_and_of_instances_are_sentences() {
    let database = TestDatabase::sqlite();
    fill(&database);
    let store = database.open();
    let rename = Sql::same("UPDATE instances SET name = 'Other' WHERE instance = $1");
    tamper(&store, rename, values![Uuid::from_u128(6)]);
    let (file, instances) =
        view(&database.url, |view| -> Seen<_> { Ok((view.file_problems()?, view.instance_problems()?)) })
            .unwrap();
    assert_eq!(file, Vec::<String>::new());
    assert!(instances.len() == 1 && instances[0].contains("the checksum does not match"), "{instances:?}");
}
