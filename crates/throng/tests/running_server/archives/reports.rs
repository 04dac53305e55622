//! Answers of commands on archives, and the assets that archives have.

use crate::server::throng;
use archive::ArchivedAsset;
use archive::file::{ArchiveLimits, FileError};
use archiver::each_asset;
use ids::Uuid;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

/// The answer of a check, which may name faults.
pub(super) fn check(kind: &str, file: &Path) -> Value {
    let output = throng().args([kind, "check", "--json"]).arg(file).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}: {told}", file.display());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A number of an answer.
pub(super) fn number(of: &Value, key: &str) -> u64 {
    of[key].as_u64().unwrap_or_else(|| panic!("no {key} in {of}"))
}

/// Several of them.
pub(super) fn counts(of: &Value, keys: &[&str]) -> Vec<u64> {
    keys.iter().map(|key| number(of, key)).collect()
}

/// A list of an answer; an empty one if it has none of this name.
pub(super) fn rows<'a>(of: &'a Value, list: &str) -> &'a [Value] {
    of[list].as_array().map_or(&[], Vec::as_slice)
}

/// Ids in a list.
pub(super) fn ids_in(of: &Value, list: &str) -> BTreeSet<Uuid> {
    let id = |row: &Value| row["id"].as_str().or_else(|| row.as_str()).map(|id| id.parse::<Uuid>().unwrap());
    rows(of, list).iter().filter_map(id).collect()
}

/// Ids of the assets in an archive, but for those of no kind, which are unreadable.
pub(super) fn assets_in(file: &Path) -> BTreeSet<Uuid> {
    let mut ids = BTreeSet::new();
    let mut take = |asset: ArchivedAsset| -> Result<(), FileError> {
        ids.extend(asset.kind.map(|_| asset.id));
        Ok(())
    };
    each_asset::<FileError>(File::open(file).unwrap(), ArchiveLimits::default(), &mut take).unwrap();
    ids
}
