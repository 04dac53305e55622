//! The steps, in both dialects side by side.

use super::SchemaStep;
use crate::engine::Sql;
use crate::seals::seal_all_rows;

/// All steps; the version of a step is its place in the list, from 1. Steps are appended, never edited: databases in the field have gone
/// through them.
pub(super) const STEPS: &[SchemaStep] = &[
    SchemaStep { name: "accounts and inventories", sql: ACCOUNTS_AND_INVENTORIES, fill: None },
    SchemaStep { name: "instances", sql: INSTANCES, fill: None },
    SchemaStep { name: "tokens", sql: TOKENS, fill: None },
    SchemaStep { name: "births of instances", sql: BIRTHS, fill: None },
    SchemaStep { name: "instances of portals", sql: PORTAL_INSTANCES, fill: None },
    SchemaStep { name: "counters", sql: COUNTERS, fill: None },
    SchemaStep { name: "objects of regions", sql: OBJECTS, fill: None },
    SchemaStep { name: "materials of regions", sql: MATERIALS, fill: None },
    SchemaStep { name: "land and names of regions", sql: LAND, fill: None },
    SchemaStep { name: "held objects", sql: HELD_OBJECTS, fill: None },
    SchemaStep { name: "assets", sql: ASSETS, fill: None },
    SchemaStep { name: "inventory_statistics", sql: INVENTORY_STATISTICS, fill: None },
    SchemaStep { name: "jobs", sql: JOBS, fill: None },
    SchemaStep { name: "items on their way", sql: ITEM_MARKS, fill: None },
    SchemaStep { name: "offers and gestures", sql: OFFERS_AND_GESTURES, fill: None },
    SchemaStep { name: "documents of regions", sql: REGION_DOCUMENTS, fill: None },
    SchemaStep { name: "worn objects and appearances", sql: WORN_AND_APPEARANCES, fill: None },
    SchemaStep { name: "seals of rows", sql: SEALS, fill: Some(seal_all_rows) },
];

/// Ids are 16-byte blobs, times are seconds since 1970, booleans are 0 and 1, or the absence of NULL.
///
/// Names are compared without regard to the case of ASCII letters: SQLite's NOCASE knows only those, and so does `lower` under
/// PostgreSQL's collation "C". Inventory rows are keyed by owner first: a client may choose the ids of its folders, and must neither
/// collide with nor learn of another owner's.
const ACCOUNTS_AND_INVENTORIES: Sql = Sql {
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

/// The facts of each instance are one small row, so that a start reads those and nothing else. In SQLite the whole states lie in a
/// table with row ids: blobs of kilobytes in the tree of keys would make every search expensive. `sequence` orders the states.
/// Set-aside rows refer to nothing: they outlive their instances.
const INSTANCES: Sql = Sql {
    sqlite: "
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
",
    postgres: r#"
CREATE TABLE instances (
    instance        BYTEA NOT NULL PRIMARY KEY,
    template        TEXT COLLATE "C" NOT NULL,
    name            TEXT COLLATE "C" NOT NULL,
    owner           BYTEA,
    created_s       BIGINT NOT NULL,
    checksum        BIGINT NOT NULL,
    trouble         TEXT COLLATE "C"
);

CREATE TABLE instance_images (
    instance        BYTEA NOT NULL PRIMARY KEY REFERENCES instances (instance) ON DELETE CASCADE,
    sequence        BIGINT NOT NULL,
    state           BYTEA NOT NULL,
    checksum        BIGINT NOT NULL
);

CREATE TABLE instance_journal (
    instance        BYTEA NOT NULL PRIMARY KEY REFERENCES instances (instance) ON DELETE CASCADE,
    sequence        BIGINT NOT NULL,
    state           BYTEA NOT NULL,
    checksum        BIGINT NOT NULL
);

CREATE TABLE instances_set_aside (
    number          BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    instance        BYTEA NOT NULL,
    part            TEXT COLLATE "C" NOT NULL,
    why             TEXT COLLATE "C" NOT NULL,
    content         BYTEA
);
"#,
};

/// Objects made with a token refer to neither: tokens are replaced under the same name, and a count checks whether an instance still
/// exists.
const TOKENS: Sql = Sql {
    sqlite: "
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
",
    postgres: r#"
CREATE TABLE api_tokens (
    name            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    hash            BYTEA NOT NULL,
    scopes          TEXT COLLATE "C" NOT NULL,
    created_s       BIGINT NOT NULL,
    expires_s       BIGINT,
    worlds_max      BIGINT
);

CREATE TABLE api_worlds (
    instance        BYTEA NOT NULL PRIMARY KEY,
    token           TEXT COLLATE "C" NOT NULL
);
CREATE INDEX api_worlds_by_token ON api_worlds (token);
"#,
};

/// States with numbers up to `born` are of an earlier instance with the same id. Those from before this step have none.
const BIRTHS: Sql = Sql {
    sqlite: "
ALTER TABLE instances ADD COLUMN born INTEGER NOT NULL DEFAULT 0;
",
    postgres: "ALTER TABLE instances ADD COLUMN born BIGINT NOT NULL DEFAULT 0;",
};

/// An instance that a portal created has a row here, with its last visit. Those from before this step have none: they are kept. Removing an
/// instance forgets its token from here on; of those removed before, it is forgotten now.
const PORTAL_INSTANCES: Sql = Sql {
    sqlite: "
CREATE TABLE portal_instances (
    instance        BLOB    NOT NULL PRIMARY KEY REFERENCES instances (instance) ON DELETE CASCADE,
    visited_s       INTEGER NOT NULL,
    checksum        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
DELETE FROM api_worlds WHERE instance NOT IN (SELECT instance FROM instances);
",
    postgres: "
CREATE TABLE portal_instances (
    instance        BYTEA NOT NULL PRIMARY KEY REFERENCES instances (instance) ON DELETE CASCADE,
    visited_s       BIGINT NOT NULL,
    checksum        BIGINT NOT NULL
);
DELETE FROM api_worlds WHERE instance NOT IN (SELECT instance FROM instances);
",
};

/// Numbers that are given out once: each row is the last one of its kind.
const COUNTERS: Sql = Sql {
    sqlite: "
CREATE TABLE counters (
    name            TEXT    NOT NULL PRIMARY KEY,
    value           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
",
    postgres: r#"
CREATE TABLE counters (
    name            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value           BIGINT NOT NULL
);
"#,
};

/// The key of an object is `region × 2^32 + local id`, in one column: in SQLite that is the row id, so that rows of a region lie side by side and no
/// second tree has to be searched. `object_states` holds the fields that change often. Set-aside rows refer to nothing: local ids are used again.
const OBJECTS: Sql = Sql {
    sqlite: "
CREATE TABLE regions (
    region          INTEGER NOT NULL PRIMARY KEY,
    epoch           INTEGER NOT NULL,
    sequence        INTEGER NOT NULL,
    cache_id        BLOB    NOT NULL,
    state           BLOB    NOT NULL,
    checksum        INTEGER NOT NULL
) STRICT;

CREATE TABLE object_bodies (
    object          INTEGER NOT NULL PRIMARY KEY,
    value           BLOB    NOT NULL,
    checksum        INTEGER NOT NULL
) STRICT;

CREATE TABLE object_states (
    object          INTEGER NOT NULL PRIMARY KEY,
    value           BLOB    NOT NULL,
    checksum        INTEGER NOT NULL
) STRICT;

CREATE TABLE objects_set_aside (
    number          INTEGER NOT NULL PRIMARY KEY,
    object          INTEGER NOT NULL,
    part            TEXT    NOT NULL,
    why             TEXT    NOT NULL,
    content         BLOB
) STRICT;
",
    postgres: r#"
CREATE TABLE regions (
    region          BIGINT NOT NULL PRIMARY KEY,
    epoch           BIGINT NOT NULL,
    sequence        BIGINT NOT NULL,
    cache_id        BYTEA NOT NULL,
    state           BYTEA NOT NULL,
    checksum        BIGINT NOT NULL
);

CREATE TABLE object_bodies (
    object          BIGINT NOT NULL PRIMARY KEY,
    value           BYTEA NOT NULL,
    checksum        BIGINT NOT NULL
);

CREATE TABLE object_states (
    object          BIGINT NOT NULL PRIMARY KEY,
    value           BYTEA NOT NULL,
    checksum        BIGINT NOT NULL
);

CREATE TABLE objects_set_aside (
    number          BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    object          BIGINT NOT NULL,
    part            TEXT COLLATE "C" NOT NULL,
    why             TEXT COLLATE "C" NOT NULL,
    content         BYTEA
);
"#,
};

/// The id of a material is a hash of its value.
const MATERIALS: Sql = Sql {
    sqlite: "
CREATE TABLE region_materials (
    region          INTEGER NOT NULL,
    material        BLOB    NOT NULL,
    value           BLOB    NOT NULL,
    PRIMARY KEY (region, material)
) STRICT, WITHOUT ROWID;
",
    postgres: r#"
CREATE TABLE region_materials (
    region          BIGINT NOT NULL,
    material        BYTEA NOT NULL,
    value           BYTEA NOT NULL,
    PRIMARY KEY (region, material)
);
"#,
};

/// The key of a row is `region × 2^32 + kind × 2^16 + number`, in one column as that of an object. Regions saved before have no name: they get it with
/// their next save.
const LAND: Sql = Sql {
    sqlite: "
CREATE TABLE region_land (
    land            INTEGER NOT NULL PRIMARY KEY,
    value           BLOB    NOT NULL,
    checksum        INTEGER NOT NULL
) STRICT;
ALTER TABLE regions ADD COLUMN name TEXT NOT NULL DEFAULT '';
",
    postgres: r#"
CREATE TABLE region_land (
    land            BIGINT NOT NULL PRIMARY KEY,
    value           BYTEA NOT NULL,
    checksum        BIGINT NOT NULL
);
ALTER TABLE regions ADD COLUMN name TEXT COLLATE "C" NOT NULL DEFAULT '';
"#,
};

/// The key of a held object is `region × 2^32 + ticket`, as that of an object is. `ticket` of a region: the last transfer with its effects in these tables;
/// regions from before this step have had none. `taken_by` is NULL, or the region that the object is on its way to.
const HELD_OBJECTS: Sql = Sql {
    sqlite: "
ALTER TABLE regions ADD COLUMN ticket INTEGER NOT NULL DEFAULT 0;

CREATE TABLE held_objects (
    held            INTEGER NOT NULL PRIMARY KEY,
    owner           BLOB    NOT NULL,
    kind            INTEGER NOT NULL,
    author          INTEGER NOT NULL,
    held_s          INTEGER NOT NULL,
    value           BLOB    NOT NULL,
    checksum        INTEGER NOT NULL,
    taken_by        INTEGER
) STRICT;
CREATE INDEX held_objects_by_owner ON held_objects (owner, held);
",
    postgres: r#"
ALTER TABLE regions ADD COLUMN ticket BIGINT NOT NULL DEFAULT 0;

CREATE TABLE held_objects (
    held            BIGINT NOT NULL PRIMARY KEY,
    owner           BYTEA NOT NULL,
    kind            BIGINT NOT NULL,
    author          BIGINT NOT NULL,
    held_s          BIGINT NOT NULL,
    value           BYTEA NOT NULL,
    checksum        BIGINT NOT NULL,
    taken_by        BIGINT
);
CREATE INDEX held_objects_by_owner ON held_objects (owner, held);
"#,
};

/// Bytes lie outside of the database, by their hash. `damage` is NULL, or the evidence for which a content is in quarantine; `used_s` is NULL for a lasting asset.
const ASSETS: Sql = Sql {
    sqlite: "
CREATE TABLE asset_contents (
    hash            BLOB    NOT NULL PRIMARY KEY,
    length          INTEGER NOT NULL,
    damage          TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE assets (
    asset           BLOB    NOT NULL PRIMARY KEY,
    hash            BLOB    NOT NULL REFERENCES asset_contents (hash),
    kind            INTEGER NOT NULL,
    creator         BLOB    NOT NULL,
    created_s       INTEGER NOT NULL,
    origin          TEXT    NOT NULL,
    used_s          INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX assets_by_hash ON assets (hash);
CREATE INDEX assets_by_use ON assets (used_s, asset) WHERE used_s IS NOT NULL;
",
    postgres: r#"
CREATE TABLE asset_contents (
    hash            BYTEA NOT NULL PRIMARY KEY,
    length          BIGINT NOT NULL,
    damage          TEXT COLLATE "C"
);

CREATE TABLE assets (
    asset           BYTEA NOT NULL PRIMARY KEY,
    hash            BYTEA NOT NULL REFERENCES asset_contents (hash),
    kind            BIGINT NOT NULL,
    creator         BYTEA NOT NULL,
    created_s       BIGINT NOT NULL,
    origin          TEXT COLLATE "C" NOT NULL,
    used_s          BIGINT
);
CREATE INDEX assets_by_hash ON assets (hash);
CREATE INDEX assets_by_use ON assets (used_s, asset) WHERE used_s IS NOT NULL;
"#,
};

/// SQLite's planner takes an owner for one with ten items unless it is told otherwise, and finds the items of a folder by their owner: the cascade of
/// a removed folder then reads all items of the owner. The rows read: items in all, of an owner, and of a folder.
const INVENTORY_STATISTICS: Sql = Sql {
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

/// Orders of the operator that take long. The newest are kept with their outcomes; their numbers rise.
const JOBS: Sql = Sql {
    sqlite: "
CREATE TABLE jobs (
    job             INTEGER NOT NULL PRIMARY KEY,
    kind            TEXT    NOT NULL,
    subject         TEXT    NOT NULL,
    author          TEXT    NOT NULL,
    state           TEXT    NOT NULL,
    created_s       INTEGER NOT NULL,
    started_s       INTEGER,
    ended_s         INTEGER,
    outcome         TEXT,
    result          TEXT
) STRICT;
",
    postgres: r#"
CREATE TABLE jobs (
    job             BIGINT NOT NULL PRIMARY KEY,
    kind            TEXT COLLATE "C" NOT NULL,
    subject         TEXT COLLATE "C" NOT NULL,
    author          TEXT COLLATE "C" NOT NULL,
    state           TEXT COLLATE "C" NOT NULL,
    created_s       BIGINT NOT NULL,
    started_s       BIGINT,
    ended_s         BIGINT,
    outcome         TEXT COLLATE "C",
    result          TEXT COLLATE "C"
);
"#,
};

/// An offer is the id of a thing that is in the receiver's inventory already; `state` is 0 while it waits to be shown, 1 while it can be answered, 2 behind that. The
/// index has the gestures that are switched on, which are few.
const OFFERS_AND_GESTURES: Sql = Sql {
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

/// The key of a mark is a number that rises, below the keys of held objects: those have a region. The identity of a database is one row, with its first use.
const ITEM_MARKS: Sql = Sql {
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

/// The id of a document is that of its parcel, and null for the settings of the region.
const REGION_DOCUMENTS: Sql = Sql {
    sqlite: "
CREATE TABLE region_documents (
    region          INTEGER NOT NULL,
    document        BLOB    NOT NULL,
    value           BLOB    NOT NULL,
    PRIMARY KEY (region, document)
) STRICT, WITHOUT ROWID;
",
    postgres: r#"
CREATE TABLE region_documents (
    region          BIGINT NOT NULL,
    document        BYTEA NOT NULL,
    value           BYTEA NOT NULL,
    PRIMARY KEY (region, document)
);
"#,
};

/// A worn object is also an item, and goes with it. `revision` rises with its changes; `is_ahead` is 1 while the item's asset has an earlier state. An appearance is
/// that which the avatar's client has sent last. Its bakes are temporary assets, one for a face, which do not expire meanwhile; `cache_id` is the client's name for what
/// was baked, null for none.
const WORN_AND_APPEARANCES: Sql = Sql {
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

/// Checksums of rows that have no other one; `crate::seals` says what each covers. The rows that there are get theirs in the same transaction, as they are: damage from
/// before this step stays unnoticed. A later step that gives a seal other columns seals the rows again.
const SEALS: Sql = Sql {
    sqlite: "
ALTER TABLE accounts ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN last_checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN home_checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inventory_folders ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inventory_items ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE appearance_bakes ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE avatar_wearables ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inventory_offers ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inventory_offers ADD COLUMN state_checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instances ADD COLUMN trouble_checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instances_set_aside ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_tokens ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_worlds ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE counters ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE held_objects ADD COLUMN taken_checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE objects_set_aside ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE region_materials ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE region_documents ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE asset_contents ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE asset_contents ADD COLUMN damage_checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN used_checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE item_marks ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE database_identity ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
",
    postgres: "
ALTER TABLE accounts ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN last_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN home_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE inventory_folders ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE inventory_items ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE appearance_bakes ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE avatar_wearables ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE inventory_offers ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE inventory_offers ADD COLUMN state_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE instances ADD COLUMN trouble_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE instances_set_aside ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_tokens ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_worlds ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE counters ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE held_objects ADD COLUMN taken_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE objects_set_aside ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE region_materials ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE region_documents ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE asset_contents ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE asset_contents ADD COLUMN damage_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE assets ADD COLUMN used_checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE item_marks ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
ALTER TABLE database_identity ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
",
};
