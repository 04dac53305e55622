//! Kinds of assets: their numbers on the wire, the names that viewers ask with, content types over HTTP, and size limits.

use std::fmt;

/// A kind of content. Its number is the asset type of messages and inventories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i8)]
pub enum AssetKind {
    /// A JPEG 2000 codestream.
    Texture = 0,
    /// Ogg Vorbis.
    Sound = 1,
    /// The id of an avatar, as text.
    CallingCard = 2,
    /// A place, as text.
    Landmark = 3,
    /// A wearable garment, as text.
    Clothing = 5,
    /// One or more linksets, as XML.
    Object = 6,
    /// Text with embedded items.
    Notecard = 7,
    /// Source of a script.
    Script = 10,
    /// A wearable part of the body, as text.
    BodyPart = 13,
    /// Key frames of joints.
    Animation = 20,
    /// Steps of a gesture, as text.
    Gesture = 21,
    /// LLSD with compressed parts of a mesh.
    Mesh = 49,
    /// LLSD of an environment: sky, water, day cycle.
    Settings = 56,
    /// LLSD around a glTF material.
    Material = 57,
}

/// Facts about a kind.
struct Facts {
    kind: AssetKind,
    /// In words, for messages to users.
    name: &'static str,
    /// Key of ViewerAsset's query, as viewers send it.
    query: &'static str,
    content_type: &'static str,
    /// Default limit.
    bytes_max: u32,
}

const KIB: u32 = 1_024;
const MIB: u32 = 1_024 * 1_024;

const fn facts(
    kind: AssetKind,
    name: &'static str,
    query: &'static str,
    content_type: &'static str,
    bytes_max: u32,
) -> Facts {
    Facts { kind, name, query, content_type, bytes_max }
}

const FACTS: [Facts; 14] = [
    facts(AssetKind::Texture, "texture", "texture_id", "image/x-j2c", 2 * MIB),
    facts(AssetKind::Sound, "sound", "sound_id", "application/ogg", 2 * MIB),
    facts(AssetKind::CallingCard, "calling card", "callcard_id", "application/vnd.ll.callingcard", 64 * KIB),
    facts(AssetKind::Landmark, "landmark", "landmark_id", "application/vnd.ll.landmark", 64 * KIB),
    facts(AssetKind::Clothing, "clothing", "clothing_id", "application/vnd.ll.clothing", 64 * KIB),
    facts(AssetKind::Object, "object", "object_id", "application/vnd.ll.primitive", 10 * MIB),
    facts(AssetKind::Notecard, "notecard", "notecard_id", "application/vnd.ll.notecard", 64 * KIB),
    facts(AssetKind::Script, "script", "lsltext_id", "application/vnd.ll.lsltext", 64 * KIB),
    facts(AssetKind::BodyPart, "body part", "bodypart_id", "application/vnd.ll.bodypart", 64 * KIB),
    facts(AssetKind::Animation, "animation", "animatn_id", "application/vnd.ll.animation", 256 * KIB),
    facts(AssetKind::Gesture, "gesture", "gesture_id", "application/vnd.ll.gesture", 64 * KIB),
    facts(AssetKind::Mesh, "mesh", "mesh_id", "application/vnd.ll.mesh", 10 * MIB),
    facts(AssetKind::Settings, "settings", "settings_id", "application/octet-stream", 256 * KIB),
    facts(AssetKind::Material, "material", "material_id", "application/llsd+xml", 64 * KIB),
];

impl AssetKind {
    /// All kinds, by rising number.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        FACTS.iter().map(|facts| facts.kind)
    }

    /// The kind with a number, if assets of it are stored.
    #[must_use]
    pub fn from_number(number: i8) -> Option<Self> {
        Self::all().find(|kind| kind.number() == number)
    }

    /// Its number on the wire and in rows.
    #[must_use]
    pub const fn number(self) -> i8 {
        self as i8
    }

    /// The kind that a key of ViewerAsset's query asks for, such as `texture_id`.
    #[must_use]
    pub fn from_query(key: &str) -> Option<Self> {
        // Another name for the same: a viewer's oldest name of a script.
        if key == "script_id" {
            return Some(Self::Script);
        }
        FACTS.iter().find(|facts| facts.query == key).map(|facts| facts.kind)
    }

    /// The kind that a type's name stands for in requests of viewers, such as `animatn`: the key of ViewerAsset's query without its end.
    #[must_use]
    pub fn from_type_name(name: &str) -> Option<Self> {
        FACTS.iter().find(|facts| facts.query.strip_suffix("_id") == Some(name)).map(|facts| facts.kind)
    }

    /// In words: "body part".
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// A kind in words by its number, also of one that is not known.
    #[must_use]
    pub fn name_of(number: i8) -> String {
        Self::from_number(number).map_or_else(|| format!("kind {number}"), |kind| kind.name().to_owned())
    }

    /// Content type over HTTP.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        self.facts().content_type
    }

    /// Bytes that an asset of this kind has at most, unless configured otherwise.
    #[must_use]
    pub fn default_bytes_max(self) -> u32 {
        self.facts().bytes_max
    }

    /// Its place in [`FACTS`].
    pub(crate) fn index(self) -> usize {
        FACTS.iter().position(|facts| facts.kind == self).expect("each kind has its facts")
    }

    fn facts(self) -> &'static Facts {
        &FACTS[self.index()]
    }
}

impl fmt::Display for AssetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Bytes that an asset of each kind has at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeLimits([u32; FACTS.len()]);

impl SizeLimits {
    /// Limit of a kind, in bytes.
    #[must_use]
    pub fn bytes_max(&self, kind: AssetKind) -> usize {
        self.0[kind.index()] as usize
    }

    /// Changes the limit of a kind, in bytes.
    #[must_use]
    pub fn with(mut self, kind: AssetKind, bytes_max: u32) -> Self {
        self.0[kind.index()] = bytes_max;
        self
    }
}

impl Default for SizeLimits {
    fn default() -> Self {
        Self(FACTS.each_ref().map(|facts| facts.bytes_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_and_query_keys_name_one_kind_each() {
        for kind in AssetKind::all() {
            assert_eq!(AssetKind::from_number(kind.number()), Some(kind));
            assert_eq!(AssetKind::name_of(kind.number()), kind.name());
            assert_eq!(AssetKind::from_query(kind.facts().query), Some(kind));
        }
        let keys: BTreeSet<_> = FACTS.iter().map(|facts| facts.query).collect();
        assert_eq!(keys.len(), FACTS.len());
        assert!(AssetKind::all().map(AssetKind::number).is_sorted());
        assert_eq!(AssetKind::from_query("script_id"), Some(AssetKind::Script));
        assert_eq!(AssetKind::from_type_name("bodypart"), Some(AssetKind::BodyPart));
        assert_eq!(AssetKind::from_type_name("animatn"), Some(AssetKind::Animation));
        for unknown in ["", "texture_id", "Texture", "category"] {
            assert_eq!(AssetKind::from_type_name(unknown), None, "{unknown}");
        }
        for unknown in [-1, 4, 8, 24] {
            assert_eq!(AssetKind::from_number(unknown), None, "{unknown}");
            assert_eq!(AssetKind::name_of(unknown), format!("kind {unknown}"));
        }
    }

    #[test]
    fn a_limit_changes_for_its_kind_only() {
        let limits = SizeLimits::default().with(AssetKind::Mesh, 5);
        assert_eq!(limits.bytes_max(AssetKind::Mesh), 5);
        assert_eq!(limits.bytes_max(AssetKind::Texture), 2 * 1_024 * 1_024);
    }
}
