//! Tables of accounts: their inventories, offers and items on their way, worn objects and appearances.

use crate::engine::Sql;

/// Ids are 16-byte blobs, times are seconds since 1970, booleans are 0 and 1, or the absence of NULL.
///
/// Names are compared without regard to the case of ASCII letters: SQLite's NOCASE knows only those, and so does `lower` under
/// PostgreSQL's collation "C". Inventory rows are keyed by owner first: a client may choose the ids of its folders, and must neither
/// collide with nor learn of another owner's.
pub(super) const ACCOUNTS_AND_INVENTORIES: Sql = Sql {
    sqlite: "
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
",
    postgres: r#"
CREATE TABLE accounts (
    agent           BYTEA NOT NULL PRIMARY KEY,
    first_name      TEXT COLLATE "C" NOT NULL,
    last_name       TEXT COLLATE "C" NOT NULL,
    password_hash   TEXT COLLATE "C" NOT NULL,
    created_s       BIGINT NOT NULL,
    ban_reason      TEXT COLLATE "C",
    last_region     TEXT COLLATE "C",
    last_handle     BIGINT,
    last_x          DOUBLE PRECISION,
    last_y          DOUBLE PRECISION,
    last_z          DOUBLE PRECISION,
    last_look_x     DOUBLE PRECISION,
    last_look_y     DOUBLE PRECISION,
    last_look_z     DOUBLE PRECISION,
    home_region     TEXT COLLATE "C",
    home_handle     BIGINT,
    home_x          DOUBLE PRECISION,
    home_y          DOUBLE PRECISION,
    home_z          DOUBLE PRECISION,
    home_look_x     DOUBLE PRECISION,
    home_look_y     DOUBLE PRECISION,
    home_look_z     DOUBLE PRECISION
);
CREATE UNIQUE INDEX accounts_by_name ON accounts (lower(first_name), lower(last_name));

CREATE TABLE inventory_folders (
    owner           BYTEA NOT NULL REFERENCES accounts (agent) ON DELETE CASCADE,
    folder          BYTEA NOT NULL,
    parent          BYTEA NOT NULL,
    name            TEXT COLLATE "C" NOT NULL,
    type_default    BIGINT NOT NULL,
    version         BIGINT NOT NULL,
    PRIMARY KEY (owner, folder)
);
CREATE INDEX inventory_folders_by_parent ON inventory_folders (owner, parent);

CREATE TABLE inventory_items (
    owner           BYTEA NOT NULL,
    item            BYTEA NOT NULL,
    folder          BYTEA NOT NULL,
    asset           BYTEA NOT NULL,
    asset_type      BIGINT NOT NULL,
    inventory_type  BIGINT NOT NULL,
    name            TEXT COLLATE "C" NOT NULL,
    description     TEXT COLLATE "C" NOT NULL,
    flags           BIGINT NOT NULL,
    created_s       BIGINT NOT NULL,
    creator         BYTEA NOT NULL,
    last_owner      BYTEA NOT NULL,
    group_id        BYTEA NOT NULL,
    group_owned     BIGINT NOT NULL,
    base_mask       BIGINT NOT NULL,
    owner_mask      BIGINT NOT NULL,
    group_mask      BIGINT NOT NULL,
    everyone_mask   BIGINT NOT NULL,
    next_owner_mask BIGINT NOT NULL,
    sale_type       BIGINT NOT NULL,
    sale_price      BIGINT NOT NULL,
    PRIMARY KEY (owner, item),
    FOREIGN KEY (owner, folder) REFERENCES inventory_folders (owner, folder) ON DELETE CASCADE
);
CREATE INDEX inventory_items_by_folder ON inventory_items (owner, folder);
"#,
};

/// SQLite's planner takes an owner for one with ten items unless it is told otherwise, and finds the items of a folder by their owner: the cascade of
/// a removed folder then reads all items of the owner. The rows read: items in all, of an owner, and of a folder.
pub(super) const INVENTORY_STATISTICS: Sql = Sql {
    sqlite: "
ANALYZE inventory_items;
DELETE FROM sqlite_stat1 WHERE tbl = 'inventory_items';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('inventory_items', 'inventory_items', '1000000 1000 1'),
    ('inventory_items', 'inventory_items_by_folder', '1000000 1000 25');
ANALYZE sqlite_schema;
",
    postgres: "-- PostgreSQL collects its own.",
};

/// The key of a mark is a number that rises, below the keys of held objects: those have a region. The identity of a database is one row, with its first use.
pub(super) const ITEM_MARKS: Sql = Sql {
    sqlite: "
CREATE TABLE item_marks (
    held            INTEGER NOT NULL PRIMARY KEY,
    owner           BLOB    NOT NULL,
    item            BLOB    NOT NULL,
    taken_by        INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX item_marks_by_item ON item_marks (owner, item);

CREATE TABLE database_identity (
    number          INTEGER NOT NULL PRIMARY KEY,
    id              BLOB    NOT NULL
) STRICT;
",
    postgres: r#"
CREATE TABLE item_marks (
    held            BIGINT NOT NULL PRIMARY KEY,
    owner           BYTEA NOT NULL,
    item            BYTEA NOT NULL,
    taken_by        BIGINT NOT NULL
);
CREATE UNIQUE INDEX item_marks_by_item ON item_marks (owner, item);

CREATE TABLE database_identity (
    number          BIGINT NOT NULL PRIMARY KEY,
    id              BYTEA NOT NULL
);
"#,
};

/// An offer is the id of a thing that is in the receiver's inventory already; `state` is 0 while it waits to be shown, 1 while it can be answered, 2 behind that. The
/// index has the gestures that are switched on, which are few.
pub(super) const OFFERS_AND_GESTURES: Sql = Sql {
    sqlite: "
CREATE TABLE inventory_offers (
    receiver        BLOB    NOT NULL REFERENCES accounts (agent) ON DELETE CASCADE,
    offer           BLOB    NOT NULL,
    giver           BLOB    NOT NULL,
    transaction_id  BLOB    NOT NULL,
    kind            INTEGER NOT NULL,
    made_s          INTEGER NOT NULL,
    state           INTEGER NOT NULL,
    PRIMARY KEY (receiver, offer)
) STRICT, WITHOUT ROWID;
CREATE INDEX inventory_items_active ON inventory_items (owner, item) WHERE asset_type = 21 AND (flags & 1) = 1;
",
    postgres: "
CREATE TABLE inventory_offers (
    receiver        BYTEA NOT NULL REFERENCES accounts (agent) ON DELETE CASCADE,
    offer           BYTEA NOT NULL,
    giver           BYTEA NOT NULL,
    transaction_id  BYTEA NOT NULL,
    kind            BIGINT NOT NULL,
    made_s          BIGINT NOT NULL,
    state           BIGINT NOT NULL,
    PRIMARY KEY (receiver, offer)
);
CREATE INDEX inventory_items_active ON inventory_items (owner, item) WHERE asset_type = 21 AND (flags & 1) = 1;
",
};

/// A worn object is also an item, and goes with it. `revision` rises with its changes; `is_ahead` is 1 while the item's asset has an earlier state. An appearance is
/// that which the avatar's client has sent last. Its bakes are temporary assets, one for a face, which do not expire meanwhile; `cache_id` is the client's name for what
/// was baked, null for none.
pub(super) const WORN_AND_APPEARANCES: Sql = Sql {
    sqlite: "
CREATE TABLE worn_objects (
    owner           BLOB    NOT NULL,
    item            BLOB    NOT NULL,
    point           INTEGER NOT NULL,
    revision        INTEGER NOT NULL,
    is_ahead        INTEGER NOT NULL,
    value           BLOB    NOT NULL,
    checksum        INTEGER NOT NULL,
    PRIMARY KEY (owner, item),
    FOREIGN KEY (owner, item) REFERENCES inventory_items (owner, item) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE avatar_appearances (
    agent           BLOB    NOT NULL PRIMARY KEY REFERENCES accounts (agent) ON DELETE CASCADE,
    height_m        REAL    NOT NULL,
    texture_entry   BLOB    NOT NULL,
    visual_params   BLOB    NOT NULL,
    checksum        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE appearance_bakes (
    agent           BLOB    NOT NULL REFERENCES accounts (agent) ON DELETE CASCADE,
    face            INTEGER NOT NULL,
    cache_id        BLOB    NOT NULL,
    asset           BLOB    NOT NULL,
    PRIMARY KEY (agent, face)
) STRICT, WITHOUT ROWID;
CREATE INDEX appearance_bakes_by_asset ON appearance_bakes (asset);

CREATE TABLE avatar_wearables (
    agent           BLOB    NOT NULL PRIMARY KEY REFERENCES accounts (agent) ON DELETE CASCADE,
    worn            BLOB    NOT NULL
) STRICT, WITHOUT ROWID;
",
    postgres: "
CREATE TABLE worn_objects (
    owner           BYTEA NOT NULL,
    item            BYTEA NOT NULL,
    point           BIGINT NOT NULL,
    revision        BIGINT NOT NULL,
    is_ahead        BIGINT NOT NULL,
    value           BYTEA NOT NULL,
    checksum        BIGINT NOT NULL,
    PRIMARY KEY (owner, item),
    FOREIGN KEY (owner, item) REFERENCES inventory_items (owner, item) ON DELETE CASCADE
);

CREATE TABLE avatar_appearances (
    agent           BYTEA NOT NULL PRIMARY KEY REFERENCES accounts (agent) ON DELETE CASCADE,
    height_m        DOUBLE PRECISION NOT NULL,
    texture_entry   BYTEA NOT NULL,
    visual_params   BYTEA NOT NULL,
    checksum        BIGINT NOT NULL
);

CREATE TABLE appearance_bakes (
    agent           BYTEA NOT NULL REFERENCES accounts (agent) ON DELETE CASCADE,
    face            BIGINT NOT NULL,
    cache_id        BYTEA NOT NULL,
    asset           BYTEA NOT NULL,
    PRIMARY KEY (agent, face)
);
CREATE INDEX appearance_bakes_by_asset ON appearance_bakes (asset);

CREATE TABLE avatar_wearables (
    agent           BYTEA NOT NULL PRIMARY KEY REFERENCES accounts (agent) ON DELETE CASCADE,
    worn            BYTEA NOT NULL
);
",
};
