//! An inventory with as many items as an owner may have.

use super::item;
use crate::account::tests::create;
use crate::engine::{Engine, Sql, values};
use crate::inventory::ITEMS_IN;
use crate::inventory::edit::tests::{change, make, new_item};
use crate::seals::seal_all_rows;
use crate::testing::{TestDatabase, on_both_engines};
use crate::{
    FolderContents, InventoryChange, InventoryLimits, InventoryRefusal, Item, ItemCounts, NewFolder, Store,
};
use ids::AgentId;
use std::collections::BTreeMap;
use uuid::Uuid;

on_both_engines! {
    an_inventory_of_200_000_items_is_read_in_parts_and_removed,
}

const ROOT: Uuid = Uuid::from_u128(0x101);
/// Of the item that the tests' accounts begin with, the pattern of the others.
const FIRST_ITEM: Uuid = Uuid::from_u128(0x201);
/// Items beside that one.
const N_ITEMS: i64 = 199_999;
/// Small folders, the items in each, and the number of the folder with all other items.
const N_SMALL: i64 = 100;
const IN_SMALL: i64 = 50;
const LARGE: i64 = 0;
const IN_LARGE: usize = (N_ITEMS - N_SMALL * IN_SMALL) as usize;
/// Items that one statement makes.
const FILLED_AT_ONCE: i64 = 20_000;
/// Items that the busiest request of clients reads of a folder.
const READ_MAX: u32 = 10_000;

// Both stand in the statement, too.
const _: () = assert!(N_SMALL * IN_SMALL == 5_000 && IN_SMALL == 50);

/// Items with the numbers from `$1` to below `$2`, of which the first ones are in small folders.
macro_rules! fill {
    ($numbers:literal, $item:literal, $folder:literal, $name:literal) => {
        concat!(
            "WITH RECURSIVE numbers (n) AS (",
            $numbers,
            ") INSERT INTO inventory_items (owner, item, folder, asset, asset_type, inventory_type, name, description, \
             flags, created_s, creator, last_owner, group_id, group_owned, base_mask, owner_mask, group_mask, \
             everyone_mask, next_owner_mask, sale_type, sale_price, checksum) SELECT owner, ",
            $item,
            ", ",
            $folder,
            ", asset, asset_type, inventory_type, ",
            $name,
            ", description, flags, created_s, creator, last_owner, group_id, group_owned, base_mask, owner_mask, \
             group_mask, everyone_mask, next_owner_mask, sale_type, sale_price, checksum \
             FROM numbers CROSS JOIN inventory_items WHERE owner = $3 AND item = $4"
        )
    };
}

const FILL: Sql = Sql {
    sqlite: fill!(
        "SELECT $1 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < $2",
        "CAST(printf('%016d', n) AS BLOB)",
        "CAST(printf('%016d', CASE WHEN n < 5000 THEN n / 50 + 1 ELSE 0 END) AS BLOB)",
        "'item ' || printf('%06d', n)"
    ),
    postgres: fill!(
        "SELECT * FROM generate_series($1::bigint, $2::bigint - 1)",
        "convert_to(lpad(n::text, 16, '0'), 'UTF8')",
        "convert_to(lpad((CASE WHEN n < 5000 THEN n / 50 + 1 ELSE 0 END)::text, 16, '0'), 'UTF8')",
        "'item ' || lpad(n::text, 6, '0')"
    ),
};

/// The id with this number as 16 digits, as [`FILL`] makes it.
fn id(n: i64) -> Uuid {
    Uuid::from_slice(format!("{n:016}").as_bytes()).expect("16 bytes")
}

/// As many items as the default limit allows, all but the first in one large folder and a hundred small ones.
fn fill(store: &Store) -> AgentId {
    let owner = create(store, 1, "Ada", "Lovelace");
    let folders = (LARGE..=N_SMALL).map(|n| {
        let name = format!("folder {n}");
        InventoryChange::CreateFolder(NewFolder { id: id(n), parent: ROOT, name, type_default: -1 })
    });
    make(store, owner, &folders.collect::<Vec<_>>());
    let filled = store.write(|session| {
        let mut from = 0;
        while from < N_ITEMS {
            let to = N_ITEMS.min(from + FILLED_AT_ONCE);
            session.execute(FILL, values![from, to, owner.0, FIRST_ITEM])?;
            from = to;
        }
        seal_all_rows(session)
    });
    filled.unwrap();
    owner
}

fn nth_item(n: i64, folder: i64) -> Item {
    Item { id: id(n), name: format!("item {n:06}"), ..item(0x201, id(folder)) }
}

fn an_inventory_of_200_000_items_is_read_in_parts_and_removed(database: &TestDatabase) {
    let store = database.open();
    let owner = fill(&store);
    let max = InventoryLimits::default().items_max;
    assert!(store.has_items(owner, max).unwrap() && !store.has_items(owner, max + 1).unwrap());
    let refused = change(&store, owner, new_item(77, ROOT));
    assert_eq!(refused, Err(InventoryRefusal::TooManyItems { max }));

    let skeleton = store.folders(owner).unwrap();
    assert_eq!((skeleton.len() as i64, skeleton[0].id), (N_SMALL + 2, ROOT));

    let part = store.items_in(owner, id(LARGE), READ_MAX).unwrap();
    let expected = (N_SMALL * IN_SMALL..).take(READ_MAX as usize).map(|n| nth_item(n, LARGE));
    assert!(part.into_iter().eq(expected), "the first by name");
    let small = store.items_in(owner, id(3), READ_MAX).unwrap();
    let expected = (2 * IN_SMALL..3 * IN_SMALL).map(|n| nth_item(n, 3));
    assert_eq!(small, expected.collect::<Vec<_>>());
    assert_eq!(store.item(owner, id(123_456)).unwrap(), Some(nth_item(123_456, LARGE)));
    assert_eq!(store.folder_contents(owner, ROOT, READ_MAX).unwrap(), FolderContents::TooLarge);

    let counts = |items| ItemCounts { items, links: 0 };
    let mut expected: BTreeMap<Uuid, ItemCounts> =
        (1..=N_SMALL).map(|n| (id(n), counts(IN_SMALL as u64))).collect();
    expected.extend([(ROOT, counts(1)), (id(LARGE), counts(IN_LARGE as u64))]);
    assert_eq!(store.item_counts(owner).unwrap(), expected);
    // None of the assets is there.
    let flawed = store.flawed_items(owner, id(100_000), 1_000).unwrap();
    assert!(flawed.iter().map(|flawed| flawed.item).eq((100_001..=101_000).map(id)));

    assert_postgres_uses_indexes(&store, owner);
    let removed = change(&store, owner, InventoryChange::RemoveFolder { folder: id(LARGE) }).unwrap();
    assert_eq!((removed.n_folders_removed, removed.n_items_removed), (1, IN_LARGE as u64));
    assert_eq!(store.items_in(owner, id(LARGE), 1).unwrap(), []);
    make(&store, owner, &[new_item(77, ROOT)]);
}

/// Tests that PostgreSQL reads the rows of a small folder only. `sqlite_reads_a_folder_by_an_index` tests SQLite's plans.
fn assert_postgres_uses_indexes(store: &Store, owner: AgentId) {
    if !matches!(store.engine(), Engine::Postgres(_)) {
        return;
    }
    let collect = Sql::same("ANALYZE inventory_items");
    store.write(|session| session.batch(collect)).unwrap();
    let literal = |id: Uuid| format!("'\\x{}'::bytea", id.simple());
    let sql = ITEMS_IN.postgres.replace("$1", &literal(owner.0));
    let sql = sql.replace("$2", &literal(id(3))).replace("$3", &READ_MAX.to_string());
    let explained = Sql::same(format!("EXPLAIN {sql}").leak());
    let plan = store.read(|session| session.query(explained, &[], |row| row.get::<String>(0))).unwrap();
    let plan = plan.join("\n");
    assert!(plan.contains("inventory_items_by_folder") && !plan.contains("Seq Scan"), "{plan}");
}
