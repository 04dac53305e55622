//! Differences that a load and a save are documented to make (docs/operating/archives.md, "What differs").
//!
//! For archives of the experiment's own the list is short: control files, parts that old versions lack. Archives of other programs may also have unknown
//! accounts, parts that were remarked or changed, and assets that are not stored. Anything else is a difference that counts.

use super::super::command::number;
use archive::oar::{OarPath, OarSection};
use archive::read_asset_path;
use ids::Uuid;
use serde_json::Value;
use std::collections::BTreeSet;

/// The control file.
const CONTROL: &str = "archive.xml";
/// First versions with settings, and with parcels.
const WITH_SETTINGS: (u32, u32) = (0, 2);
const WITH_PARCELS: (u32, u32) = (0, 3);

/// Elements with an account or a group, which become another one without an account here.
const ACCOUNTS: [&str; 6] =
    ["OwnerID", "LastOwnerID", "CreatorID", "GroupID", "IsGroupOwned", "ParcelAccessList"];
/// Elements of movement: loaded objects are at rest.
const MOVEMENT: [&str; 3] = ["Velocity", "AngularVelocity", "Acceleration"];

/// Facts about an archive that decide about differences.
#[derive(Debug, Default)]
pub(super) struct ArchiveFacts {
    version: (u32, u32),
    has_unknown_accounts: bool,
    /// Assets that nothing names, damaged ones, and those that were there with other content.
    assets_left: BTreeSet<Uuid>,
    /// True if a list of these was cut.
    are_assets_cut: bool,
    /// Entries with remarks, and objects that became something else.
    changed: BTreeSet<String>,
}

impl ArchiveFacts {
    /// From the answers of a check, which knows no accounts, and of a load.
    pub(super) fn new(version: (u32, u32), checked: &Value, loaded: &Value) -> Self {
        let assets = [
            (checked, "unused_assets", "unused"),
            (checked, "damaged_assets", "damaged"),
            (loaded, "kept_assets", "assets_kept"),
        ];
        let parts = [(checked, "remarked_parts"), (checked, "unreadable_parts"), (loaded, "changed_parts")];
        let id = |row: &Value| {
            let text = row["id"].as_str().or_else(|| row.as_str())?;
            Uuid::try_parse(text).ok()
        };
        let path = |row: &Value| row["path"].as_str().map(str::to_owned);
        Self {
            version,
            has_unknown_accounts: ["owners_unknown", "creators_unknown"]
                .iter()
                .any(|key| number(loaded, key) > 0.0),
            assets_left: assets.iter().flat_map(|(of, list, _)| rows(of, list)).filter_map(id).collect(),
            are_assets_cut: assets
                .iter()
                .any(|(of, list, count)| number(of, count) > rows(of, list).len() as f64),
            changed: parts.iter().flat_map(|(of, list)| rows(of, list)).filter_map(path).collect(),
        }
    }

    /// True for a difference of the documented list.
    pub(super) fn explain(&self, difference: &Value) -> bool {
        let path = difference["path"].as_str().unwrap_or_default();
        let (is_new, is_gone) = (difference["a"].is_null(), difference["b"].is_null());
        if path.split('/').next() == Some(CONTROL) {
            return true;
        }
        if self.changed.iter().any(|entry| is_within(path, entry)) {
            return true;
        }
        match OarPath::read(path).section {
            OarSection::Settings => is_new && self.version < WITH_SETTINGS,
            OarSection::Parcel => {
                is_new && self.version < WITH_PARCELS || self.has_unknown_accounts && names(path, &ACCOUNTS)
            }
            OarSection::Object => {
                names(path, &MOVEMENT) || self.has_unknown_accounts && names(path, &ACCOUNTS)
            }
            OarSection::Asset => is_gone && self.explains_asset(path),
            OarSection::Other => is_gone,
            OarSection::Control | OarSection::Terrain => false,
        }
    }

    /// True for an asset that a save leaves out.
    fn explains_asset(&self, path: &str) -> bool {
        match read_asset_path(path) {
            Ok((_, None)) | Err(_) => true,
            Ok((id, Some(kind))) => {
                kind.stored().is_none() || self.are_assets_cut || self.assets_left.contains(&id)
            }
        }
    }
}

fn rows<'a>(answer: &'a Value, list: &str) -> &'a [Value] {
    answer[list].as_array().map_or(&[][..], Vec::as_slice)
}

/// True for an entry, and for an element in it.
fn is_within(path: &str, entry: &str) -> bool {
    path.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// True if an element of the path has one of these names.
fn names(path: &str, elements: &[&str]) -> bool {
    path.split('/').any(|part| elements.contains(&part.split('[').next().unwrap_or(part)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ASSET: &str = "89556747-24cb-43ed-920b-47caed15465f";

    fn explains(facts: &ArchiveFacts, path: &str, a: Option<&str>, b: Option<&str>) -> bool {
        facts.explain(&json!({ "path": path, "a": a, "b": b }))
    }

    #[test]
    fn an_archive_of_our_own_may_differ_in_its_control_file_and_in_parts_that_it_lacks() {
        // A check without a database knows no account.
        let checked = json!({ "owners_unknown": 1, "creators_unknown": 1, "unused": 0 });
        let loaded = json!({ "owners_unknown": 0, "creators_unknown": 0, "assets_kept": 0 });
        let of = |version| ArchiveFacts::new(version, &checked, &loaded);
        let old = of((0, 1));
        assert!(explains(&old, "archive.xml/archive@minor_version", Some("1"), Some("8")));
        assert!(explains(&old, "settings/Field.xml", None, Some("b")));
        for version in [(0, 1), (0, 2)] {
            assert!(explains(&of(version), "landdata/a.xml", None, Some("b")), "{version:?}");
        }
        assert!(!explains(&of((0, 2)), "settings/Field.xml", None, Some("b")));
        assert!(!explains(&of((0, 8)), "landdata/a.xml", None, Some("b")));
        assert!(!explains(&old, "settings/Field.xml", Some("a"), None), "it is gone");
        let place = "objects/a.xml/SceneObjectGroup/SceneObjectPart";
        for path in [&format!("{place}/Name"), &format!("{place}/OwnerID/UUID"), "terrains/Field.r32"] {
            assert!(!explains(&old, path, Some("a"), Some("b")), "{path}");
        }
        let asset = format!("assets/{ASSET}_texture.jp2");
        assert!(!explains(&old, &asset, Some("a"), None) && !explains(&old, &asset, Some("a"), Some("b")));
    }

    #[test]
    fn archives_of_others_may_have_unknown_accounts_remarked_parts_and_assets_that_nothing_names() {
        let checked = json!({
            "unused": 1, "unused_assets": [{ "id": ASSET }], "remarked_parts": [{ "path": "objects/b.xml" }],
        });
        let loaded = json!({ "owners_unknown": 1, "changed_parts": [{ "path": "objects/c.xml" }] });
        let facts = ArchiveFacts::new((0, 8), &checked, &loaded);
        let differs = |path: &str| explains(&facts, path, Some("a"), Some("b"));
        assert!(differs("objects/a.xml/SceneObjectGroup/SceneObjectPart/OwnerID/UUID"));
        assert!(differs("objects/a.xml/SceneObjectGroup/OtherParts/SceneObjectPart[1]/Velocity/X"));
        assert!(differs("objects/b.xml/SceneObjectGroup/Name") && differs("objects/c.xml"));
        assert!(!differs("objects/b.xml2/SceneObjectGroup/Name"), "another entry");
        assert!(!differs("objects/a.xml/SceneObjectGroup/SceneObjectPart/Name"));
        assert!(explains(&facts, &format!("assets/{ASSET}_texture.jp2"), Some("a"), None));
        assert!(explains(&facts, &format!("assets/{}_image.tga", Uuid::nil()), Some("a"), None));
        assert!(!explains(&facts, &format!("assets/{}_texture.jp2", Uuid::nil()), Some("a"), None));
        let cut = json!({ "unused": 5_000, "unused_assets": [] });
        let cut = ArchiveFacts::new((0, 8), &cut, &json!({}));
        assert!(explains(&cut, &format!("assets/{ASSET}_texture.jp2"), Some("a"), None));
    }
}
