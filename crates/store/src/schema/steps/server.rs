//! Tables of the server: counters, assets and jobs.

use crate::engine::Sql;

/// Numbers that are given out once: each row is the last one of its kind.
pub(super) const COUNTERS: Sql = Sql {
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

/// Bytes lie outside of the database, by their hash. `damage` is NULL, or the evidence for which a content is in quarantine; `used_s` is NULL for a lasting asset.
pub(super) const ASSETS: Sql = Sql {
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

/// Orders of the operator that take long. The newest are kept with their outcomes; their numbers rise.
pub(super) const JOBS: Sql = Sql {
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
