//! The tables, as a list of steps from an empty file. Steps are appended, never edited: files in the field have
//! gone through them. The table `schema_version` holds one row per applied step.

use crate::StoreError;
use rusqlite::{Connection, TransactionBehavior, params};
use std::path::Path;

/// One step: what it is for, and the statements that make it.
struct Migration {
    name: &'static str,
    sql: &'static str,
}

/// All steps; the version of a step is its place in the list, from 1.
const MIGRATIONS: &[Migration] = &[
    Migration { name: "accounts and inventories", sql: ACCOUNTS_AND_INVENTORIES },
    Migration { name: "instances", sql: INSTANCES },
    Migration { name: "tokens", sql: TOKENS },
    Migration { name: "births of instances", sql: BIRTHS },
];

/// Ids are 16-byte blobs, times are seconds since 1970, booleans are the absence of NULL.
///
/// Names are ASCII letters and digits, so that SQLite's NOCASE (which knows only ASCII) is the right comparison.
/// Inventory rows are keyed by owner first: a client may choose the ids of its folders, and must neither collide
/// with nor learn of another owner's.
const ACCOUNTS_AND_INVENTORIES: &str = "
CREATE TABLE accounts (
    agent           BLOB    NOT NULL PRIMARY KEY,
    first_name      TEXT    NOT NULL COLLATE NOCASE,
    last_name       TEXT    NOT NULL COLLATE NOCASE,
    password_hash   TEXT    NOT NULL,
    created_s       INTEGER NOT NULL,
    ban_reason      TEXT,
    last_region     TEXT,
    last_handle     INTEGER,
    last_x          REAL,
    last_y          REAL,
    last_z          REAL,
    last_look_x     REAL,
    last_look_y     REAL,
    last_look_z     REAL,
    home_region     TEXT,
    home_handle     INTEGER,
    home_x          REAL,
    home_y          REAL,
    home_z          REAL,
    home_look_x     REAL,
    home_look_y     REAL,
    home_look_z     REAL,
    UNIQUE (first_name, last_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE inventory_folders (
    owner           BLOB    NOT NULL REFERENCES accounts (agent) ON DELETE CASCADE,
    folder          BLOB    NOT NULL,
    parent          BLOB    NOT NULL,
    name            TEXT    NOT NULL,
    type_default    INTEGER NOT NULL,
    version         INTEGER NOT NULL,
    PRIMARY KEY (owner, folder)
) STRICT, WITHOUT ROWID;
CREATE INDEX inventory_folders_by_parent ON inventory_folders (owner, parent);

CREATE TABLE inventory_items (
    owner           BLOB    NOT NULL,
    item            BLOB    NOT NULL,
    folder          BLOB    NOT NULL,
    asset           BLOB    NOT NULL,
    asset_type      INTEGER NOT NULL,
    inventory_type  INTEGER NOT NULL,
    name            TEXT    NOT NULL,
    description     TEXT    NOT NULL,
    flags           INTEGER NOT NULL,
    created_s       INTEGER NOT NULL,
    creator         BLOB    NOT NULL,
    last_owner      BLOB    NOT NULL,
    group_id        BLOB    NOT NULL,
    group_owned     INTEGER NOT NULL,
    base_mask       INTEGER NOT NULL,
    owner_mask      INTEGER NOT NULL,
    group_mask      INTEGER NOT NULL,
    everyone_mask   INTEGER NOT NULL,
    next_owner_mask INTEGER NOT NULL,
    sale_type       INTEGER NOT NULL,
    sale_price      INTEGER NOT NULL,
    PRIMARY KEY (owner, item),
    FOREIGN KEY (owner, folder) REFERENCES inventory_folders (owner, folder) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX inventory_items_by_folder ON inventory_items (owner, folder);
";

/// What there is to know of each instance is one small row, so that a start reads those and nothing else. Its whole state lies in a table
/// with row ids: blobs of kilobytes in the tree of keys would make every search dear. `sequence` says which of two states is the later one.
/// What was set aside refers to nothing: it outlives what it was of.
const INSTANCES: &str = "
CREATE TABLE instances (
    instance        BLOB    NOT NULL PRIMARY KEY,
    template        TEXT    NOT NULL,
    name            TEXT    NOT NULL,
    owner           BLOB,
    created_s       INTEGER NOT NULL,
    checksum        INTEGER NOT NULL,
    trouble         TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE instance_images (
    instance        BLOB    NOT NULL PRIMARY KEY REFERENCES instances (instance) ON DELETE CASCADE,
    sequence        INTEGER NOT NULL,
    state           BLOB    NOT NULL,
    checksum        INTEGER NOT NULL
) STRICT;

CREATE TABLE instance_journal (
    instance        BLOB    NOT NULL PRIMARY KEY REFERENCES instances (instance) ON DELETE CASCADE,
    sequence        INTEGER NOT NULL,
    state           BLOB    NOT NULL,
    checksum        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE instances_set_aside (
    number          INTEGER NOT NULL PRIMARY KEY,
    instance        BLOB    NOT NULL,
    part            TEXT    NOT NULL,
    why             TEXT    NOT NULL,
    content         BLOB
) STRICT;
";

/// What was made with a token refers to neither: tokens are replaced under the same name, and who counts looks whether an instance is
/// still there.
const TOKENS: &str = "
CREATE TABLE api_tokens (
    name            TEXT    NOT NULL PRIMARY KEY,
    hash            BLOB    NOT NULL,
    scopes          TEXT    NOT NULL,
    created_s       INTEGER NOT NULL,
    expires_s       INTEGER,
    worlds_max      INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE api_worlds (
    instance        BLOB    NOT NULL PRIMARY KEY,
    token           TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX api_worlds_by_token ON api_worlds (token);
";

/// States with numbers up to `born` are of an earlier instance with the same id. Those from before this step have none.
const BIRTHS: &str = "
ALTER TABLE instances ADD COLUMN born INTEGER NOT NULL DEFAULT 0;
";

/// Applies the steps that the file does not have yet, each in a transaction of its own.
///
/// # Errors
/// [`StoreError::NewerSchema`] when the file has steps that this program does not know, [`StoreError::Migrate`]
/// when one fails.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |version| move |source| StoreError::Migrate { path: path.to_owned(), version, source };
    connection
        .execute_batch(
            "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL) STRICT",
        )
        .map_err(failed(0))?;
    let known = MIGRATIONS.len() as u32;
    for (version, migration) in (1..).zip(MIGRATIONS) {
        // The write lock is taken before the version is read: two programs that start on one empty file (the
        // server and `throng user add`) must not both apply the step.
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed(version))?;
        let found: u32 = transaction
            .query_row("SELECT coalesce(max(version), 0) FROM schema_version", [], |row| row.get(0))
            .map_err(failed(version))?;
        if found > known {
            return Err(StoreError::NewerSchema { path: path.to_owned(), found, known });
        }
        if found < version {
            transaction.execute_batch(migration.sql).map_err(failed(version))?;
            transaction
                .execute("INSERT INTO schema_version VALUES (?, ?)", params![version, migration.name])
                .map_err(failed(version))?;
        }
        transaction.commit().map_err(failed(version))?;
    }
    Ok(())
}
