//! Both engines come to the same columns, and keep rows on the way.

mod rows;

use crate::Store;
use crate::engine::{EngineError, Row, Sql};
use crate::testing::TestDatabase;
use std::collections::BTreeMap;

/// A column: kind of its values, whether it may be NULL, its place in the primary key.
type Described = (&'static str, bool, i64);

/// PostgreSQL's own, which SQLite has no use for.
const ONLY_POSTGRES: &str = "commit_marks";

const COLUMNS: Sql = Sql {
    sqlite: "SELECT t.name, c.name, c.type, c.\"notnull\", c.pk FROM sqlite_master t, pragma_table_info(t.name) c \
             WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'",
    postgres: "SELECT c.table_name::text, c.column_name::text, c.data_type::text, \
               (c.is_nullable = 'NO')::int::bigint, coalesce((SELECT k.ordinal_position::bigint \
               FROM information_schema.key_column_usage k JOIN information_schema.table_constraints r \
               USING (constraint_schema, constraint_name) \
               WHERE r.constraint_type = 'PRIMARY KEY' AND k.table_schema = c.table_schema \
               AND k.table_name = c.table_name AND k.column_name = c.column_name), 0) \
               FROM information_schema.columns c WHERE c.table_schema = current_schema()",
};

fn columns(store: &Store) -> BTreeMap<(String, String), Described> {
    let read = |row: Row<'_>| {
        let kind = match &*row.get::<String>(2)? {
            "INTEGER" | "bigint" => "integer",
            "REAL" | "double precision" => "real",
            "TEXT" | "text" => "text",
            "BLOB" | "bytea" => "blob",
            other => return Err(EngineError::unfit(format!("a column of kind {other}"))),
        };
        Ok(((row.get(0)?, row.get(1)?), (kind, row.get(3)?, row.get(4)?)))
    };
    let skip_own = |row: Row<'_>| {
        if row.get::<String>(0)? == ONLY_POSTGRES { Ok(None) } else { read(row).map(Some) }
    };
    let all = store.read(|session| session.query(COLUMNS, &[], skip_own)).unwrap();
    all.into_iter().flatten().collect()
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn postgres_has_the_columns_of_sqlite() {
    let (sqlite, postgres) = (TestDatabase::sqlite(), TestDatabase::postgres());
    let of_sqlite = columns(&sqlite.open());
    assert_eq!(of_sqlite.get(&("accounts".into(), "last_x".into())), Some(&("real", false, 0)));
    assert_eq!(of_sqlite.get(&("inventory_items".into(), "item".into())), Some(&("blob", true, 2)));
    assert_eq!(columns(&postgres.open()), of_sqlite);
}

#[test]
#[ignore = "needs a PostgreSQL server: scripts/postgres.sh starts one"]
fn postgres_has_the_steps_of_sqlite() {
    let steps = |database: &TestDatabase| {
        let select = Sql::same("SELECT version, name FROM schema_version ORDER BY version");
        let read = |row: Row<'_>| Ok((row.get::<u32>(0)?, row.get::<String>(1)?));
        database.open().read(|session| session.query(select, &[], read)).unwrap()
    };
    let of_sqlite = steps(&TestDatabase::sqlite());
    assert_eq!(of_sqlite.len() as u32, super::newest());
    assert_eq!(steps(&TestDatabase::postgres()), of_sqlite);
}
