//! Checksums in the tables of earlier steps.

use crate::engine::Sql;

/// Checksums of rows that have no other one; `crate::seals` says what each covers. The rows that there are get theirs in the same transaction, as they are: damage from
/// before this step stays unnoticed. A later step that gives a seal other columns seals the rows again.
pub(super) const SEALS: Sql = Sql {
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
