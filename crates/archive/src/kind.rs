//! Kinds of assets in archives: the suffix of a file, and the number of the protocol.
//!
//! Archives have kinds that this server does not store, such as pictures of viewers and compiled scripts; they are carried with their number.

use assets::AssetKind;
use ids::Uuid;
use std::fmt;

/// A kind of asset that archives have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArchivedKind(usize);

/// Facts about a kind: its number, the end of its file's name behind the id, and its name.
const FACTS: [(i8, &str, &str); 22] = [
    (20, "_animation.bvh", "animation"),
    (13, "_bodypart.txt", "body part"),
    (2, "_callingcard.txt", "calling card"),
    (5, "_clothing.txt", "clothing"),
    (8, "_folder.txt", "folder"),
    (21, "_gesture.txt", "gesture"),
    (19, "_image.jpg", "JPEG image"),
    (18, "_image.tga", "TGA image"),
    (3, "_landmark.txt", "landmark"),
    (11, "_bytecode.lso", "compiled script"),
    (10, "_script.lsl", "script"),
    (49, "_mesh.llmesh", "mesh"),
    (7, "_notecard.txt", "notecard"),
    (6, "_object.xml", "object"),
    (22, "_simstate.bin", "simulator state"),
    (1, "_sound.ogg", "sound"),
    (17, "_sound.wav", "WAV sound"),
    (0, "_texture.jp2", "texture"),
    (12, "_texture.tga", "TGA texture"),
    (-2, "_material.xml", "OpenSimulator material"),
    (56, "_settings.bin", "settings"),
    (57, "_prmat.dat", "material"),
];

impl ArchivedKind {
    /// OpenSimulator's own form of materials of faces, as LLSD in XML; not the material of glTF, which is [`AssetKind::Material`].
    pub const OPENSIMULATOR_MATERIAL: Self = Self(19);

    /// All kinds.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        (0..FACTS.len()).map(Self)
    }

    /// The kind with a number of the protocol.
    #[must_use]
    pub fn from_number(number: i8) -> Option<Self> {
        Self::all().find(|kind| kind.number() == number)
    }

    /// The kind whose files end so, such as `_texture.jp2`.
    #[must_use]
    pub fn from_suffix(suffix: &str) -> Option<Self> {
        Self::all().find(|kind| kind.suffix() == suffix)
    }

    /// Its number in messages and inventories.
    #[must_use]
    pub const fn number(self) -> i8 {
        FACTS[self.0].0
    }

    /// The end of its files' names, behind the id.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        FACTS[self.0].1
    }

    /// In words: "body part".
    #[must_use]
    pub const fn name(self) -> &'static str {
        FACTS[self.0].2
    }

    /// The kind of the store; none if this server does not store such assets.
    #[must_use]
    pub fn stored(self) -> Option<AssetKind> {
        AssetKind::from_number(self.number())
    }
}

impl From<AssetKind> for ArchivedKind {
    fn from(kind: AssetKind) -> Self {
        Self::from_number(kind.number()).expect("archives have every kind of the store")
    }
}

impl fmt::Display for ArchivedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Folder of assets in an archive.
pub(crate) const ASSETS: &str = "assets/";

/// Id and kind of an asset's file; the kind is none with another ending, or with none.
///
/// # Errors
/// [`NoAssetName`] for a name that does not begin with an id.
pub fn read_asset_path(path: &str) -> Result<(Uuid, Option<ArchivedKind>), NoAssetName> {
    let name = path.strip_prefix(ASSETS).unwrap_or(path);
    let (id, suffix) = name.split_at(name.find('_').unwrap_or(name.len()));
    let id = Uuid::try_parse(id).map_err(|_| NoAssetName)?;
    Ok((id, ArchivedKind::from_suffix(suffix)))
}

/// Path of an asset in an archive.
#[must_use]
pub fn asset_path(id: Uuid, kind: ArchivedKind) -> String {
    format!("{ASSETS}{id}{}", kind.suffix())
}

/// An asset of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedAsset {
    /// Its id.
    pub id: Uuid,
    /// Its kind; none if the file's name has another ending, or none.
    pub kind: Option<ArchivedKind>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A file among assets whose name does not begin with an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name of an asset's file begins with its id")]
pub struct NoAssetName;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_and_suffixes_name_one_kind_each() {
        for kind in ArchivedKind::all() {
            assert_eq!(ArchivedKind::from_number(kind.number()), Some(kind));
            assert_eq!(ArchivedKind::from_suffix(kind.suffix()), Some(kind));
            assert!(kind.suffix().starts_with('_') && kind.suffix().matches('_').count() == 1, "{kind}");
        }
        let names: BTreeSet<&str> = ArchivedKind::all().map(ArchivedKind::name).collect();
        assert_eq!(names.len(), FACTS.len());
        assert_eq!(ArchivedKind::OPENSIMULATOR_MATERIAL.suffix(), "_material.xml");
    }

    #[test]
    fn every_kind_of_the_store_has_a_suffix() {
        for kind in AssetKind::all() {
            assert_eq!(ArchivedKind::from(kind).stored(), Some(kind));
            assert_eq!(ArchivedKind::from(kind).name(), kind.name());
        }
        assert_eq!(ArchivedKind::from_suffix("_image.tga").and_then(ArchivedKind::stored), None);
        assert_eq!(ArchivedKind::OPENSIMULATOR_MATERIAL.stored(), None);
    }

    #[test]
    fn paths_of_assets_are_read_as_they_are_written() {
        let id = Uuid::from_u128(0x8955_6747_24cb_43ed_920b_47ca_ed15_465f);
        for kind in ArchivedKind::all() {
            assert_eq!(read_asset_path(&asset_path(id, kind)), Ok((id, Some(kind))));
        }
        for (path, kind) in [
            ("assets/89556747-24cb-43ed-920b-47caed15465f", None),
            ("assets/89556747-24cb-43ed-920b-47caed15465f_texture.png", None),
            ("assets/8955674724cb43ed920b47caed15465f_mesh.llmesh", Some("_mesh.llmesh")),
            ("assets/89556747-24CB-43ED-920B-47CAED15465F_sound.ogg", Some("_sound.ogg")),
        ] {
            assert_eq!(read_asset_path(path), Ok((id, kind.and_then(ArchivedKind::from_suffix))));
        }
        for path in ["assets/", "assets/x_texture.jp2", "assets/8955_texture.jp2", "assets/a/b_mesh.llmesh"] {
            assert_eq!(read_asset_path(path), Err(NoAssetName));
        }
    }
}
