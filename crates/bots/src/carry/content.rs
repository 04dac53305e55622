//! Bytes of the content that bots upload. Each is another one, so that no two assets share a file.

use super::cargo::ContentHash;
use super::item_row::{NOTECARD, OBJECT, SCRIPT, TEXTURE};
use crate::rng::Rng;

/// Bytes of a texture of a carrying bot: in messages a file of four parts.
const TEXTURE_BYTES: usize = 4_000;
/// Pixels along an edge of it.
const PIXELS: u32 = 64;

/// Start of codestream, and of the size segment: its length with three components, and no capabilities beyond the standard.
const OPENING: [u8; 8] = [0xFF, 0x4F, 0xFF, 0x51, 0, 47, 0, 0];
/// Three components of eight bits, without subsampling; then the segment of the coding style, and the beginning of the first tile.
const COMPONENTS: [u8; 11] = [0, 3, 7, 1, 1, 7, 1, 1, 7, 1, 1];
const CODING_STYLE: [u8; 14] = [0xFF, 0x52, 0, 12, 0, 0, 0, 1, 1, 5, 4, 4, 0, 0];
const FIRST_TILE: [u8; 2] = [0xFF, 0x90];

/// Elements of an object's asset that the server rewrites by rule, with their ends. An item whose object was worn gets an asset of the last
/// state: placed against the attachment point, at that point, named after the item, with other ids if its own were in the region already, and
/// of its owner with that owner's rights once it has changed hands. Everything else stays, such as shape, textures, creator and time of creation.
///
/// The change comes when the object is taken off, or at a logout, also one of a later session: no request of the record names its time.
const REWRITTEN: [(&str, &str); 9] = [
    ("<BaseMask>", "</BaseMask>"),
    ("<FolderID>", "</FolderID>"),
    ("<GroupPosition>", "</GroupPosition>"),
    ("<LastOwnerID>", "</LastOwnerID>"),
    ("<Name>", "</Name>"),
    ("<OwnerID>", "</OwnerID>"),
    ("<OwnerMask>", "</OwnerMask>"),
    ("<State>", "</State>"),
    ("<UUID><UUID>", "</UUID></UUID>"),
];

/// Content of an asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Kind of the asset.
    pub asset_type: i8,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Hash of its bytes.
    pub hash: ContentHash,
}

impl Content {
    fn new(asset_type: i8, bytes: Vec<u8>) -> Self {
        let hash = hash_of(&bytes);
        Self { asset_type, bytes, hash }
    }

    /// A texture: a header that servers accept, and noise.
    #[must_use]
    pub fn texture(rng: &mut Rng, n_bytes: usize) -> Self {
        let mut bytes = Vec::with_capacity(n_bytes);
        bytes.extend(OPENING);
        // The image from its origin, then its only tile.
        for field in [PIXELS, PIXELS, 0, 0, PIXELS, PIXELS, 0, 0] {
            bytes.extend(field.to_be_bytes());
        }
        bytes.extend(COMPONENTS);
        bytes.extend(CODING_STYLE);
        bytes.extend(FIRST_TILE);
        while bytes.len() < n_bytes {
            bytes.extend(rng.next().to_le_bytes());
        }
        Self::new(TEXTURE, bytes)
    }

    /// A notecard.
    #[must_use]
    pub fn notecard(rng: &mut Rng) -> Self {
        let text = format!("Ballast {:016x}", rng.next());
        let length = text.len();
        let bytes = format!(
            "Linden text version 2\n{{\nLLEmbeddedItems version 1\n{{\ncount 0\n}}\nText length {length}\n{text}}}\n"
        );
        Self::new(NOTECARD, bytes.into_bytes())
    }

    /// A script.
    #[must_use]
    pub fn script(rng: &mut Rng) -> Self {
        let number = rng.next() >> 40;
        let text = format!("default {{ state_entry() {{ llOwnerSay(\"{number}\"); }} }}\n");
        Self::new(SCRIPT, text.into_bytes())
    }

    /// Any of them.
    #[must_use]
    pub fn any(rng: &mut Rng) -> Self {
        match rng.next() % 3 {
            0 => Self::texture(rng, TEXTURE_BYTES),
            1 => Self::notecard(rng),
            _ => Self::script(rng),
        }
    }

    /// Name of the kind in requests of NewFileAgentInventory, for the asset and for display.
    #[must_use]
    pub const fn type_names(&self) -> (&'static str, &'static str) {
        match self.asset_type {
            TEXTURE => ("texture", "texture"),
            SCRIPT => ("lsltext", "script"),
            _ => ("notecard", "notecard"),
        }
    }
}

/// Hash of an asset's bytes. It is the bots' own: the server's is not asked for.
#[must_use]
pub fn hash_of(bytes: &[u8]) -> ContentHash {
    *blake3::hash(bytes).as_bytes()
}

/// Hash by which the content of an asset of this kind is compared: that of its bytes, of an object without the elements that the server
/// rewrites when it is worn.
#[must_use]
pub fn content_hash(asset_type: i8, bytes: &[u8]) -> ContentHash {
    match std::str::from_utf8(bytes) {
        Ok(text) if asset_type == OBJECT => hash_of(without_rewritten(text).as_bytes()),
        _ => hash_of(bytes),
    }
}

/// The text of an object's asset with [`REWRITTEN`] elements empty.
fn without_rewritten(text: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('<') {
        let (before, element) = rest.split_at(at);
        kept.push_str(before);
        let rewritten = REWRITTEN.iter().find_map(|(open, close)| {
            let inside = element.strip_prefix(open)?;
            inside.find(close).map(|end| (*open, &inside[end..]))
        });
        let (opening, behind) = rewritten.unwrap_or_else(|| element.split_at(1));
        kept.push_str(opening);
        rest = behind;
    }
    kept.push_str(rest);
    kept
}

/// Key of ViewerAsset's query for a kind of asset that bots carry.
#[must_use]
pub const fn query_key(asset_type: i8) -> &'static str {
    match asset_type {
        TEXTURE => "texture_id",
        NOTECARD => "notecard_id",
        SCRIPT => "lsltext_id",
        _ => "object_id",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assets::{AssetKind, SizeLimits, check_asset};

    #[test]
    fn servers_accept_all_content_and_no_two_are_equal() {
        let mut rng = Rng::new(1, 0);
        let textures = [100, 4_000, 60_000].map(|n_bytes| Content::texture(&mut rng, n_bytes));
        assert!(textures.iter().all(|texture| (100..60_010).contains(&texture.bytes.len())));
        let mut all = textures.to_vec();
        all.extend((0..30).map(|_| Content::any(&mut rng)));
        for content in &all {
            let kind = AssetKind::from_number(content.asset_type).expect("a kind");
            assert_eq!(check_asset(kind, &content.bytes, &SizeLimits::default()), Ok(()), "{kind}");
            assert_eq!(content.hash, hash_of(&content.bytes));
            assert_eq!(AssetKind::from_type_name(content.type_names().0), Some(kind));
            assert_eq!(AssetKind::from_query(query_key(content.asset_type)), Some(kind));
        }
        assert_eq!(AssetKind::from_query(query_key(OBJECT)), Some(AssetKind::Object));
        let hashes: std::collections::BTreeSet<_> = all.iter().map(|content| content.hash).collect();
        assert_eq!(hashes.len(), all.len());
    }

    const OWNER: &str = "<OwnerID><UUID>8cef00fa-87a7-4416-a937-a26e41576d6c</UUID></OwnerID>";

    /// An object's asset, shortened to elements of each kind.
    fn object() -> String {
        format!(
            "<SceneObjectGroup><RootPart><SceneObjectPart>\
             <CreatorID><UUID>8cef00fa-87a7-4416-a937-a26e41576d6c</UUID></CreatorID>\
             <FolderID><UUID>ed3b3599-f1fd-d01e-dd0c-ffe25faa8d07</UUID></FolderID>\
             <UUID><UUID>ed3b3599-f1fd-d01e-dd0c-ffe25faa8d07</UUID></UUID><Name>carry-0-8</Name>\
             <GroupPosition><X>126.99451</X><Y>125.68414</Y><Z>32.531296</Z></GroupPosition><Description />\
             <Shape><PathCurve>16</PathCurve><State>0</State></Shape><CreationDate>1795830482</CreationDate>{OWNER}\
             <LastOwnerID><UUID>8cef00fa-87a7-4416-a937-a26e41576d6c</UUID></LastOwnerID>\
             <BaseMask>647168</BaseMask><OwnerMask>647168</OwnerMask><NextOwnerMask>581632</NextOwnerMask>\
             </SceneObjectPart></RootPart></SceneObjectGroup>"
        )
    }

    #[test]
    fn an_object_that_was_worn_has_its_content_still() {
        let hash = |text: &str| content_hash(OBJECT, text.as_bytes());
        let taken = object();
        let place = "<X>126.99451</X><Y>125.68414</Y><Z>32.531296</Z>";
        let worn = taken.replace(place, "<X>0</X><Y>0</Y><Z>0</Z>").replace("<State>0<", "<State>6<");
        let renamed = worn.replace("carry-0-8", "carry-0-8 r1");
        // Another copy of it was in the region.
        let beside = renamed.replace("ed3b3599", "9684d22c");
        let other_owner = OWNER.replace("8cef00fa", "d813ce6a");
        let given = beside
            .replace(OWNER, &other_owner)
            .replace("<BaseMask>647168", "<BaseMask>548864")
            .replace("<OwnerMask>647168", "<OwnerMask>548864");
        for text in [&worn, &renamed, &beside, &given] {
            assert_ne!(hash_of(text.as_bytes()), hash_of(taken.as_bytes()));
            assert_eq!(hash(text), hash(&taken), "{text}");
        }
    }

    #[test]
    fn another_object_and_a_damaged_one_have_other_content() {
        let hash = |text: &str| content_hash(OBJECT, text.as_bytes());
        let object = object();
        for (part, other) in [
            ("<CreatorID><UUID>8c", "<CreatorID><UUID>8d"),
            ("<PathCurve>16", "<PathCurve>32"),
            ("<CreationDate>1795830482", "<CreationDate>1795830483"),
            ("<NextOwnerMask>581632", "<NextOwnerMask>548864"),
            ("<Description />", "<Description>new</Description>"),
            ("<Name>carry-0-8</Name>", ""),
            ("</OwnerMask>", ""),
            ("</SceneObjectGroup>", ""),
        ] {
            assert!(object.contains(part), "{part}");
            assert_ne!(hash(&object.replacen(part, other, 1)), hash(&object), "{part}");
        }
        for bytes in [&b""[..], b"<", b"<State>", b"<State></Name>", b"\xFF<State>1</State>"] {
            assert_eq!(content_hash(OBJECT, bytes), hash_of(bytes));
        }
        // Bytes of other kinds are compared as they are.
        let notecard = object.replace("<State>0<", "<State>6<");
        assert_ne!(content_hash(NOTECARD, notecard.as_bytes()), content_hash(NOTECARD, object.as_bytes()));
    }
}
