//! Each sealed column of each table, changed by hand.

use super::*;
use crate::copy::tests::fill;
use crate::engine::Sql;
use crate::testing::{TestDatabase, on_both_engines, tamper};

on_both_engines! {
    a_damaged_row_is_named_with_its_table_its_owner_and_its_name,
    a_damaged_name_of_a_step_is_noticed,
}

fn damages(session: &mut Session<'_>) -> Result<Vec<RowDamage>, EngineError> {
    let (mut walk, mut damages) = (SealWalk::default(), Vec::new());
    while let Some(page) = walk.next_page(session)? {
        damages.extend(page.damages);
    }
    Ok(damages)
}

/// Gives all rows another value of the same kind. Columns that are NULL stay so.
fn changed(table: &str, column: &str) -> Sql {
    let sql = format!(
        "UPDATE {table} SET {column} = CASE typeof({column}) \
         WHEN 'integer' THEN CASE WHEN {column} > 0 THEN {column} - 1 ELSE {column} + 1 END \
         WHEN 'real' THEN {column} + 0.5 WHEN 'text' THEN {column} || 'x' \
         ELSE randomblob(length({column}) + 1) END WHERE {column} IS NOT NULL"
    );
    Sql::same(sql.leak())
}

#[test]
fn another_value_in_any_column_is_noticed() {
    let database = TestDatabase::sqlite();
    fill(&database);
    let store = database.open();
    assert_eq!(store.read(damages).unwrap(), []);
    let mut n_changed = 0;
    for seal in SEALS {
        let table = TABLES.iter().find(|table| table.name() == seal.table).expect("its table");
        let keys = &table.columns()[..table.n_keys()];
        for column in seal.columns().chain([seal.column]).filter(|column| !keys.contains(column)) {
            let sql = changed(seal.table, column);
            let mut found = None;
            let taken_back: Result<(), EngineError> = store.write(|session| {
                session.batch(Sql::same("PRAGMA defer_foreign_keys = ON"))?;
                found = Some((session.execute(sql, &[])?, damages(session)?));
                Err(EngineError::unfit("it is taken back"))
            });
            let (n, damages) = found.unwrap_or_else(|| panic!("{column} of {}: {taken_back:?}", seal.table));
            assert_eq!(damages.len(), n, "{column} of {}: {damages:?}", seal.table);
            assert!(damages.iter().all(|damage| damage.table == seal.table), "{damages:?}");
            n_changed += usize::from(n > 0);
        }
    }
    assert!(n_changed > 90, "rows of all tables: {n_changed}");
    assert_eq!(store.read(damages).unwrap(), []);
}

fn a_damaged_row_is_named_with_its_table_its_owner_and_its_name(database: &TestDatabase) {
    let store = database.open();
    let ada = crate::account::tests::create(&store, 1, "Ada", "Lovelace");
    tamper(&store, Sql::same("UPDATE accounts SET created_s = 7"), &[]);
    tamper(&store, Sql::same("UPDATE inventory_items SET name = 'Hat', owner_mask = 0"), &[]);
    let found = store.read(damages).unwrap();
    let described: Vec<String> = found.iter().map(ToString::to_string).collect();
    let (owner, item) = (ada.0, Uuid::from_u128(0x201));
    assert_eq!(
        described,
        [
            format!("row {owner} of accounts \"Ada Lovelace\" of {owner}: the checksum does not match"),
            format!("row {item} of inventory_items \"Hat\" of {owner}: the checksum does not match"),
        ]
    );
    // A place has a checksum of its own.
    tamper(&store, Sql::same("UPDATE accounts SET home_region = 'Nowhere'"), &[]);
    let found = store.read(damages).unwrap();
    assert_eq!(found[0].why, "the checksum does not match, home_checksum does not match");
}

fn a_damaged_name_of_a_step_is_noticed(database: &TestDatabase) {
    let store = database.open();
    assert_eq!(store.read(damages).unwrap(), []);
    tamper(&store, Sql::same("UPDATE schema_version SET name = 'tokenz' WHERE version = 3"), &[]);
    let found = store.read(damages).unwrap();
    assert_eq!((found.len(), found[0].table, &*found[0].id), (1, "schema_version", "3"));
}
