//! Rows of earlier versions get their seals.

use super::*;
use crate::testing::{TestDatabase, on_both_engines};
use crate::{Store, check};
use ids::Uuid;

on_both_engines! {
    rows_of_an_earlier_version_are_sealed_by_its_step,
}

/// The last version without seals.
const BEFORE: u32 = 17;
/// More rows than are sealed at once.
const WORLDS: u32 = 1_100;

fn rows_of_an_earlier_version_are_sealed_by_its_step(database: &TestDatabase) {
    const ROWS: Sql = Sql {
        sqlite: "
INSERT INTO accounts (agent, first_name, last_name, password_hash, created_s, home_region, home_handle, home_x, home_y,
    home_z, home_look_x, home_look_y, home_look_z)
    VALUES (X'000000000000000000000000000000AD', 'Ada', 'Lovelace', '$argon2id$', 7, 'Plaza', -1, 1.5, 2, 0, 1, 0, 0);
INSERT INTO inventory_folders VALUES (X'000000000000000000000000000000AD', X'000000000000000000000000000000F0',
    X'00000000000000000000000000000000', 'My Inventory', 8, 3);
INSERT INTO counters VALUES ('gateway', 4);
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1100)
    INSERT INTO api_worlds SELECT randomblob(16), 'backend' FROM numbers;
",
        postgres: r"
INSERT INTO accounts (agent, first_name, last_name, password_hash, created_s, home_region, home_handle, home_x, home_y,
    home_z, home_look_x, home_look_y, home_look_z)
    VALUES ('\x000000000000000000000000000000AD', 'Ada', 'Lovelace', '$argon2id$', 7, 'Plaza', -1, 1.5, 2, 0, 1, 0, 0);
INSERT INTO inventory_folders VALUES ('\x000000000000000000000000000000AD', '\x000000000000000000000000000000F0',
    '\x00000000000000000000000000000000', 'My Inventory', 8, 3);
INSERT INTO counters VALUES ('gateway', 4);
INSERT INTO api_worlds SELECT uuid_send(gen_random_uuid()), 'backend' FROM generate_series(1, 1100);
",
    };
    let store = Store::open_for_maintenance(&database.url, false).unwrap();
    store.migrate_to(BEFORE).unwrap();
    store.write(|session| session.batch(ROWS)).unwrap();
    drop(store);
    let store = database.open();
    let report = check(&database.url).unwrap();
    assert_eq!((report.version, report.problems), (report.newest, Vec::<String>::new()));
    let account = store.account_by_name("ada", "lovelace").unwrap().expect("the account");
    assert_eq!(account.home.expect("its home").region, "Plaza");
    let folders = store.folders(account.agent).unwrap();
    assert_eq!((folders[0].id, folders[0].version), (Uuid::from_u128(0xF0), 3));
    assert_eq!(store.begin_gateway().unwrap(), ids::Incarnation(5));
    assert_eq!(store.worlds_of_token("backend").unwrap().len(), WORLDS as usize);
}

#[test]
fn a_value_has_another_checksum_in_another_column() {
    let (one, two) = (Value::Integer(1), Value::Integer(2));
    let sums = [
        COUNTER.of(&[Value::Text("a"), one]),
        COUNTER.of(&[Value::Text("a"), two]),
        COUNTER.of(&[Value::Text("a"), Value::Null]),
        COUNTER.of(&[Value::Text("a1"), Value::Null]),
        TOKEN_WORLD.of(&[Value::Text("a"), one]),
        TAKEN.of(&[Value::Text("a"), one]),
    ];
    for (at, sum) in sums.iter().enumerate() {
        assert!(!sums[..at].contains(sum), "{sums:?}");
    }
}
