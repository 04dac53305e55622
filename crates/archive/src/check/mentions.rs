//! Assets that an asset names in its bytes. Objects are read by their codec, not here.
//!
//! A mention is certain where the form of the kind has an asset's id: textures of wearables, steps of gestures, items in notecards, maps of materials. Ids in
//! scripts, settings and the text of notecards may be those of anything; they keep an asset from being called unused, and are never called missing.

use crate::kind::ArchivedKind;
use assets::AssetKind;
use ids::Uuid;
use wire::llsd::{Limits, Llsd, binary};

/// Values of settings in binary form. A day cycle with all its frames has some 5,000.
const VALUES_MAX: usize = 16_384;

/// Certainty with which an id is that of an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It may be the id of something else.
    Possible,
    /// It is.
    Certain,
}

/// Passes each id that the bytes of an asset name to `found`, except null ids. Damaged bytes name what can be read of them.
pub fn each_mention(kind: ArchivedKind, bytes: &[u8], found: &mut dyn FnMut(Uuid, Certainty)) {
    match kind.stored() {
        Some(AssetKind::Clothing | AssetKind::BodyPart) => wearable(bytes, found),
        Some(AssetKind::Gesture) => gesture(bytes, found),
        Some(AssetKind::Notecard) => notecard(bytes, found),
        Some(AssetKind::Script) => ids_in(bytes).for_each(|id| found(id, Certainty::Possible)),
        Some(AssetKind::Settings) => settings(bytes, found),
        // Maps are named in the JSON of its glTF document, which every form of LLSD has as text.
        Some(AssetKind::Material) => ids_in(bytes).for_each(|id| found(id, Certainty::Certain)),
        None if kind == ArchivedKind::OPENSIMULATOR_MATERIAL => {
            ids_in(bytes).for_each(|id| found(id, Certainty::Certain));
        }
        _ => {}
    }
}

/// Behind a line `textures N`, N lines of a face and an id.
fn wearable(bytes: &[u8], found: &mut dyn FnMut(Uuid, Certainty)) {
    let mut lines = lines(bytes);
    let Some(count) = lines.find_map(|line| line.strip_prefix("textures ")) else { return };
    let Ok(n_textures) = count.trim().parse() else { return };
    for line in lines.take(n_textures) {
        let id = line.split_whitespace().nth(1).and_then(|id| Uuid::try_parse(id).ok());
        id.filter(|id| !id.is_nil()).into_iter().for_each(|id| found(id, Certainty::Certain));
    }
}

/// Behind six lines, the last of which is the number of steps: steps of two lines, and of four with an animation (0) or a sound (1).
fn gesture(bytes: &[u8], found: &mut dyn FnMut(Uuid, Certainty)) {
    let mut lines = lines(bytes).skip(6);
    while let Some(kind) = lines.next() {
        if matches!(kind, "0" | "1") {
            let id = lines.nth(1).and_then(|id| Uuid::try_parse(id).ok());
            id.filter(|id| !id.is_nil()).into_iter().for_each(|id| found(id, Certainty::Certain));
        } else {
            lines.next();
        }
        lines.next();
    }
}

/// Lines `asset_id` of embedded items up to the line with the length of the text, and any ids in the text.
fn notecard(bytes: &[u8], found: &mut dyn FnMut(Uuid, Certainty)) {
    let mut n_items = 0;
    for raw in bytes.split_inclusive(|&byte| byte == b'\n') {
        n_items += raw.len();
        let Ok(line) = std::str::from_utf8(raw.trim_ascii()) else { continue };
        if line.starts_with("Text length") {
            break;
        }
        let id = line.strip_prefix("asset_id").and_then(|id| Uuid::try_parse(id.trim()).ok());
        id.filter(|id| !id.is_nil()).into_iter().for_each(|id| found(id, Certainty::Certain));
    }
    ids_in(&bytes[n_items..]).for_each(|id| found(id, Certainty::Possible));
}

/// Ids in text, and those of binary LLSD.
fn settings(bytes: &[u8], found: &mut dyn FnMut(Uuid, Certainty)) {
    ids_in(bytes).for_each(|id| found(id, Certainty::Possible));
    let document = bytes.trim_ascii_start();
    let is_opened = document.starts_with(b"<?");
    let body = if is_opened { behind_line(document) } else { document };
    // The highest byte of the number of entries of a map.
    if body.starts_with(&[b'{', 0]) {
        let limits = Limits { bytes_max: body.len(), values_max: VALUES_MAX };
        if let Ok((value, _)) = binary::decode_prefix(body, limits) {
            each_id(&value, found);
        }
    }
}

/// Ids in a tree. Its depth is bounded by its decoder.
fn each_id(value: &Llsd, found: &mut dyn FnMut(Uuid, Certainty)) {
    match value {
        Llsd::Uuid(id) if !id.is_nil() => found(*id, Certainty::Possible),
        Llsd::Array(values) => values.iter().for_each(|value| each_id(value, found)),
        Llsd::Map(entries) => entries.values().for_each(|value| each_id(value, found)),
        _ => {}
    }
}

/// The bytes behind the first line.
fn behind_line(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |at| at + 1);
    &bytes[end..]
}

/// Lines that are UTF-8, without blanks around them.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &str> {
    bytes.split(|&byte| byte == b'\n').map(|line| std::str::from_utf8(line.trim_ascii()).unwrap_or_default())
}

/// Ids with hyphens, wherever they stand, except null ids.
fn ids_in(bytes: &[u8]) -> impl Iterator<Item = Uuid> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let hyphen = at + bytes.get(at..)?.iter().position(|&byte| byte == b'-')?;
            at = hyphen + 1;
            let text = hyphen.checked_sub(8).and_then(|start| bytes.get(start..start + 36));
            let Some(id) = text.and_then(|text| Uuid::try_parse_ascii(text).ok()) else { continue };
            at = hyphen + 28;
            if !id.is_nil() {
                return Some(id);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n << 96 | n)
    }

    fn mentions(suffix: &str, bytes: &[u8]) -> Vec<(Uuid, Certainty)> {
        let mut all = Vec::new();
        let kind = ArchivedKind::from_suffix(suffix).unwrap();
        each_mention(kind, bytes, &mut |id, certainty| all.push((id, certainty)));
        all
    }

    fn certain(ids: &[u128]) -> Vec<(Uuid, Certainty)> {
        ids.iter().map(|&n| (id(n), Certainty::Certain)).collect()
    }

    fn possible(ids: &[u128]) -> Vec<(Uuid, Certainty)> {
        ids.iter().map(|&n| (id(n), Certainty::Possible)).collect()
    }

    #[test]
    fn wearables_name_their_textures() {
        let (one, two, nil) = (id(1), id(2), Uuid::nil());
        let shirt = format!(
            "LLWearable version 22\nShirt {}\n\n\tpermissions 0\n\t{{\n\t\towner_id\t{}\n\t}}\ntype 4\r\nparameters 1\n800 .9\n\
            textures 3\r\n1 {one}\r\n5 {nil}\n9 {two}\n10 {}",
            id(8),
            id(7),
            id(9)
        );
        assert_eq!(mentions("_clothing.txt", shirt.as_bytes()), certain(&[1, 2]));
        assert!(mentions("_bodypart.txt", b"textures 2\n").is_empty());
        assert!(mentions("_bodypart.txt", b"textures x\n1 2").is_empty());
    }

    #[test]
    fn gestures_name_their_animations_and_sounds() {
        let gesture = format!(
            "2\n0\n0\n/wave {}\n\n4\n0\nWave\n{}\n0\n3\n1.5\n1\n1\nChime\r\n{}\n0\n2\n0\n0\n",
            id(9),
            id(1),
            id(2)
        );
        assert_eq!(mentions("_gesture.txt", gesture.as_bytes()), certain(&[1, 2]));
    }

    #[test]
    fn notecards_name_their_items_and_perhaps_more_in_their_text() {
        let notecard = format!(
            "Linden text version 2\n{{\nLLEmbeddedItems version 1\n{{\ncount 1\n{{\next char index 0\n\tinv_item\t0\n\t{{\n\
            \t\titem_id\t{}\n\t\tpermissions 0\n\t{{\n\t\tcreator_id\t{}\n\t}}\n\t\tasset_id\t{}\n\t\tname\tText length|\n\t}}\n}}\n}}\n\
            Text length 40\nasset_id {}\n}}\n",
            id(8),
            id(7),
            id(1),
            id(2)
        );
        let expected = [certain(&[1]), possible(&[2])].concat();
        assert_eq!(mentions("_notecard.txt", notecard.as_bytes()), expected);
    }

    #[test]
    fn scripts_and_settings_name_ids_of_anything() {
        let script = format!("string a = \"{}\"; key b = \"{}\"; // -{}-", id(1), Uuid::nil(), id(2));
        assert_eq!(mentions("_script.lsl", script.as_bytes()), possible(&[1, 2]));
        let map = Llsd::map([("a", Llsd::Uuid(id(1))), ("b", Llsd::array([Llsd::Uuid(id(2))]))]);
        for opening in ["", "<? LLSD/Binary ?>\n"] {
            let settings = [opening.as_bytes(), &binary::encode(&map)].concat();
            assert_eq!(mentions("_settings.bin", &settings), possible(&[1, 2]), "{opening}");
        }
        let notation = wire::llsd::notation::encode(&map);
        assert_eq!(mentions("_settings.bin", notation.as_bytes()), possible(&[1, 2]));
    }

    #[test]
    fn materials_name_their_maps() {
        let map = Llsd::map([("data", Llsd::String(format!("{{\"images\":[{{\"uri\":\"{}\"}}]}}", id(1))))]);
        assert_eq!(mentions("_prmat.dat", &binary::encode(&map)), certain(&[1]));
        let xml = format!("<llsd><map><key>NormMap</key><uuid>{}</uuid></map></llsd>", id(2));
        assert_eq!(mentions("_material.xml", xml.as_bytes()), certain(&[2]));
        assert!(mentions("_texture.jp2", xml.as_bytes()).is_empty());
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(bytes in proptest::collection::vec(
            prop_oneof![Just(b'-'), Just(b'0'), Just(b'\n'), Just(b' '), any::<u8>()], 0..200,
        )) {
            for kind in ArchivedKind::all() {
                each_mention(kind, &bytes, &mut |id, _| assert!(!id.is_nil()));
            }
        }
    }
}
