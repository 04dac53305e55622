//! Differences that a load and a save are documented to make (docs/operating/archives.md, "What differs").
//!
//! For archives of the experiment's own the list is short: control files, parts that old versions lack. Archives of other programs may also have unknown
//! accounts, parts that were remarked or changed, and assets that are not stored. Anything else is a difference that counts.

use super::super::command::number;
use archive::check::VIEWERS_OWN;
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

/// Characters of an id.
const ID_LEN: usize = 36;

/// Facts about an archive of a region that has been loaded and saved, which decide about the differences of the two archives.
#[derive(Debug, Default)]
pub struct ArchiveFacts {
    version: (u32, u32),
    has_unknown_accounts: bool,
    /// Assets that nothing names, damaged ones, and those that were there with other content.
    assets_left: BTreeSet<Uuid>,
    /// The last of these, in whose place a save has the others.
    assets_kept: BTreeSet<Uuid>,
    /// True if a list of these was cut.
    are_assets_cut: bool,
    /// Entries with remarks.
    changed: BTreeSet<String>,
    /// Objects that became something else, by the ids of their roots.
    objects: BTreeSet<Uuid>,
    /// True if one of these became several.
    has_divided: bool,
}

impl ArchiveFacts {
    /// From the answers of `throng oar check --json`, which knows no accounts, and of `throng oar load --keep-ids --json`.
    #[must_use]
    pub fn new(version: (u32, u32), checked: &Value, loaded: &Value) -> Self {
        let assets = [
            (checked, "unused_assets", "unused"),
            (checked, "damaged_assets", "damaged"),
            (loaded, "kept_assets", "assets_kept"),
        ];
        let parts = [(checked, "remarked_parts"), (checked, "unreadable_parts")];
        let objects = || rows(loaded, "changed_parts").iter();
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
            assets_kept: rows(loaded, "kept_assets").iter().filter_map(id).collect(),
            are_assets_cut: assets
                .iter()
                .any(|(of, list, count)| number(of, count) > rows(of, list).len() as f64),
            changed: parts.iter().flat_map(|(of, list)| rows(of, list)).filter_map(path).collect(),
            // Name and id.
            objects: objects().filter_map(|row| last_id(row["path"].as_str()?)).collect(),
            has_divided: objects()
                .any(|row| row["reason"].as_str().is_some_and(|why| why.ends_with("objects"))),
        }
    }

    /// True for a difference, in the form of `throng oar diff --json`, that is one of the documented list.
    #[must_use]
    pub fn explain(&self, difference: &Value) -> bool {
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
                let is_changed = root_of(path).is_some_and(|root| self.objects.contains(&root));
                is_changed
                    || is_new && self.has_divided
                    || names(path, &MOVEMENT)
                    || self.has_unknown_accounts && names(path, &ACCOUNTS)
            }
            OarSection::Asset => !is_new && self.explains_asset(path, is_gone),
            OarSection::Other => is_gone,
            OarSection::Control | OarSection::Terrain => false,
        }
    }

    /// True for an asset that a save leaves out, or that it has with the content that was there before.
    fn explains_asset(&self, path: &str, is_gone: bool) -> bool {
        match read_asset_path(path) {
            Ok((id, _)) if !is_gone => self.assets_kept.contains(&id),
            Ok((_, None)) | Err(_) => is_gone,
            Ok((id, Some(kind))) => {
                kind.stored().is_none()
                    || self.are_assets_cut
                    || self.assets_left.contains(&id)
                    || VIEWERS_OWN.contains(&id.as_u128())
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

/// Id of the root of an object, from the name of its entry.
fn root_of(path: &str) -> Option<Uuid> {
    last_id(path.split('/').find_map(|part| part.strip_suffix(".xml"))?)
}

/// The id at the end of a text.
fn last_id(text: &str) -> Option<Uuid> {
    let at = text.len().checked_sub(ID_LEN)?;
    Uuid::try_parse(text.get(at..)?).ok()
}

/// True if an element of the path has one of these names.
fn names(path: &str, elements: &[&str]) -> bool {
    path.split('/').any(|part| elements.contains(&part.split('[').next().unwrap_or(part)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ASSET: &str = "0a55e700-0000-4000-8000-000000000001";

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
        let (moved, kept) = (Uuid::from_u128(0xC), Uuid::from_u128(0xD));
        let loaded = json!({
            "owners_unknown": 1,
            "changed_parts": [{ "path": format!("Old chair {moved}"), "reason": "it is outside of the region" }],
            "kept_assets": [kept],
        });
        let facts = ArchiveFacts::new((0, 8), &checked, &loaded);
        let differs = |path: &str| explains(&facts, path, Some("a"), Some("b"));
        assert!(differs("objects/a.xml/SceneObjectGroup/SceneObjectPart/OwnerID/UUID"));
        assert!(differs("objects/a.xml/SceneObjectGroup/OtherParts/SceneObjectPart[1]/Velocity/X"));
        assert!(differs("objects/b.xml/SceneObjectGroup/Name"));
        let entry = format!("objects/Old_chair_1-2-3__{moved}.xml");
        assert!(differs(&format!("{entry}/SceneObjectGroup/SceneObjectPart/GroupPosition/X")));
        assert!(!explains(&facts, "objects/New_1-2-3__x.xml", None, Some("b")), "nothing has become several");
        assert!(differs(&format!("assets/{kept}_script.lsl")), "the content that was there");
        assert!(!differs(&format!("assets/{ASSET}_texture.jp2")), "it is left out, or it is the same");
        let plywood = format!("assets/{}_texture.jp2", Uuid::from_u128(VIEWERS_OWN[0]));
        assert!(explains(&facts, &plywood, Some("a"), None));
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
