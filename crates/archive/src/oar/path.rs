//! Paths in a region's archive: the section of an entry, and the folder of its region.

use super::CONTROL;
use crate::kind::ASSETS;
use ids::Uuid;

/// Folder of regions in archives of several.
const REGIONS: &str = "regions/";

const OBJECTS: &str = "objects/";
const SETTINGS: &str = "settings/";
const PARCELS: &str = "landdata/";
const TERRAINS: &str = "terrains/";

/// Characters of a name in a path.
const NAME_MAX: usize = 100;

/// A section of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OarSection {
    /// The control file.
    Control,
    /// Settings of a region.
    Settings,
    /// A parcel.
    Parcel,
    /// A terrain.
    Terrain,
    /// A linkset.
    Object,
    /// An asset.
    Asset,
    /// Any other file.
    Other,
}

/// Place of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OarPath<'a> {
    /// Folder of its region; none in archives of one region, and for files that belong to no region.
    pub region: Option<&'a str>,
    /// The section.
    pub section: OarSection,
    /// The path within its region.
    pub path: &'a str,
}

impl<'a> OarPath<'a> {
    /// The place of a file.
    #[must_use]
    pub fn read(path: &'a str) -> Self {
        let in_region = path.strip_prefix(REGIONS).and_then(|rest| rest.split_once('/'));
        let (region, path) = match in_region {
            Some((region, path)) => (Some(region), path),
            None => (None, path),
        };
        let section = match path {
            CONTROL if region.is_none() => OarSection::Control,
            _ if path.starts_with(OBJECTS) => OarSection::Object,
            _ if path.starts_with(ASSETS) => OarSection::Asset,
            _ if path.starts_with(PARCELS) => OarSection::Parcel,
            _ if path.starts_with(SETTINGS) => OarSection::Settings,
            // OpenSimulator writes no other form of terrain.
            _ if path.starts_with(TERRAINS) && path.ends_with(".r32") => OarSection::Terrain,
            _ => OarSection::Other,
        };
        Self { region, section, path }
    }
}

/// A path below a region's folder.
fn in_region(region: Option<&str>, path: &str) -> String {
    match region {
        Some(region) => format!("{REGIONS}{region}/{path}"),
        None => path.to_owned(),
    }
}

/// A name without characters that separate folders, or that no file may have.
fn file_name(name: &str) -> String {
    let replaced = |c: char| if matches!(c, '/' | '\\') || c.is_control() { '_' } else { c };
    name.chars().take(NAME_MAX).map(replaced).collect()
}

/// Path of the settings of a region by its name.
pub(super) fn settings_path(region: Option<&str>, name: &str) -> String {
    in_region(region, &format!("{SETTINGS}{}.xml", file_name(name)))
}

/// Path of the terrain of a region by its name.
pub(super) fn terrain_path(region: Option<&str>, name: &str) -> String {
    in_region(region, &format!("{TERRAINS}{}.r32", file_name(name)))
}

/// Path of a parcel.
pub(super) fn parcel_path(region: Option<&str>, id: Uuid) -> String {
    in_region(region, &format!("{PARCELS}{id}.xml"))
}

/// Path of an object: its name, its place in whole metres of three digits at least, and the id of its root.
pub(super) fn object_path(region: Option<&str>, name: &str, at: [f32; 3], id: Uuid) -> String {
    // A cast from float saturates.
    let digits = at.map(|metres| {
        let metres = metres.round_ties_even() as i32;
        format!("{}{:03}", if metres < 0 { "-" } else { "" }, metres.unsigned_abs())
    });
    in_region(region, &format!("{OBJECTS}{}_{}__{id}.xml", file_name(name), digits.join("-")))
}

/// The id at the end of an object's path.
pub(crate) fn object_id(path: &str) -> Option<Uuid> {
    let (_, id) = path.strip_suffix(".xml")?.rsplit_once("__")?;
    Uuid::try_parse(id).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_told_by_their_folders() {
        for (path, region, section, rest) in [
            ("archive.xml", None, OarSection::Control, "archive.xml"),
            ("objects/a_1-2-3__x.xml", None, OarSection::Object, "objects/a_1-2-3__x.xml"),
            ("assets/x_texture.jp2", None, OarSection::Asset, "assets/x_texture.jp2"),
            ("landdata/x.xml", None, OarSection::Parcel, "landdata/x.xml"),
            ("settings/A b.xml", None, OarSection::Settings, "settings/A b.xml"),
            ("terrains/A b.r32", None, OarSection::Terrain, "terrains/A b.r32"),
            ("terrains/A b.ter", None, OarSection::Other, "terrains/A b.ter"),
            ("assets.xml", None, OarSection::Other, "assets.xml"),
            ("regions/1_1_A/objects/a.xml", Some("1_1_A"), OarSection::Object, "objects/a.xml"),
            ("regions/1_1_A/archive.xml", Some("1_1_A"), OarSection::Other, "archive.xml"),
            ("regions/1_1_A", None, OarSection::Other, "regions/1_1_A"),
        ] {
            assert_eq!(OarPath::read(path), OarPath { region, section, path: rest });
        }
    }

    #[test]
    fn paths_are_those_of_opensimulator() {
        let id = Uuid::from_u128(9);
        let place = [128.5, -7.4, 4_000.6];
        let path = object_path(None, "A/b\\c\n", place, id);
        assert_eq!(path, "objects/A_b_c__128--007-4001__00000000-0000-0000-0000-000000000009.xml");
        assert_eq!(object_id(&path), Some(id));
        assert_eq!(object_path(Some("1_1_A"), "x", [f32::NAN, 1e20, 0.0], id).len(), 84);
        assert_eq!(settings_path(Some("1_1_A"), "A b"), "regions/1_1_A/settings/A b.xml");
        assert_eq!(terrain_path(None, "A"), "terrains/A.r32");
        assert_eq!(parcel_path(None, id), "landdata/00000000-0000-0000-0000-000000000009.xml");
        assert_eq!(object_id("objects/a_1-2-3.xml"), None);
    }
}
