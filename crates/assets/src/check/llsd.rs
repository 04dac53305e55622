//! Settings and materials: maps in one of the three forms of LLSD.
//!
//! Viewers upload settings as notation and materials as binary LLSD, both with an opening line; other tools write XML or leave the line out. The form is told by
//! the first bytes. A material is a map of `version`, `type` and `data`, the last a glTF document as JSON in a string.

use super::Unfit;
use crate::kind::AssetKind;
use wire::llsd::{Limits, Llsd, binary, notation, xml};

/// Values of a document. A day cycle with all its frames has some 5,000.
const VALUES_MAX: usize = 16_384;

/// `type` of materials.
const MATERIAL_TYPE: &str = "GLTF 2.0";

/// Bytes of a material's JSON. Viewers keep to 2,048 when it is minified.
const JSON_BYTES_MAX: usize = 16_384;

/// Nesting of a material's JSON; viewers write seven levels.
const JSON_DEPTH_MAX: usize = 32;

/// Checks settings: an environment's sky, water or day cycle.
pub(super) fn check_settings(bytes: &[u8]) -> Result<(), Unfit> {
    decode_map(AssetKind::Settings, bytes).map(drop)
}

/// Checks a material.
pub(super) fn check_material(bytes: &[u8]) -> Result<(), Unfit> {
    let kind = AssetKind::Material;
    let map = decode_map(kind, bytes)?;
    // Versions 1.0 and 1.1 are in use.
    if !map.get("version").as_str().is_some_and(|version| version.starts_with("1.")) {
        return Err(Unfit::Invalid { kind, field: "version" });
    }
    if map.get("type").as_str() != Some(MATERIAL_TYPE) {
        return Err(Unfit::Invalid { kind, field: "type" });
    }
    if !map.get("data").as_str().is_some_and(is_json_object) {
        return Err(Unfit::Invalid { kind, field: "data" });
    }
    Ok(())
}

fn decode_map(kind: AssetKind, bytes: &[u8]) -> Result<Llsd, Unfit> {
    // Neither NUL nor blank ends a map, so that what old tools append is cut off in each form.
    let end =
        bytes.iter().rposition(|&byte| byte != 0 && !byte.is_ascii_whitespace()).map_or(0, |last| last + 1);
    let document = bytes[..end].trim_ascii_start();
    let document = document.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(document);
    let limits = Limits { bytes_max: document.len(), values_max: VALUES_MAX };
    let decoded = match form(document) {
        Form::Binary => binary::decode(document, limits),
        Form::Notation => notation::decode(document, limits),
        Form::Xml => xml::decode(document, limits),
    };
    let value = decoded.map_err(|reason| Unfit::Llsd { kind, reason })?;
    if value.as_map().is_none() {
        return Err(Unfit::OtherForm { kind, expected: "a map of LLSD" });
    }
    Ok(value)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Binary,
    Notation,
    Xml,
}

/// The form of a document by its opening line, or else by its first bytes.
fn form(document: &[u8]) -> Form {
    if let Some(opened) = document.strip_prefix(b"<?") {
        let opened = opened.trim_ascii_start();
        let is = |name: &[u8]| opened.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        if is(b"llsd/binary") {
            return Form::Binary;
        }
        if is(b"llsd/notation") {
            return Form::Notation;
        }
        return Form::Xml;
    }
    match document {
        [b'<', ..] => Form::Xml,
        // The highest byte of the number of entries.
        [b'{', 0, ..] => Form::Binary,
        _ => Form::Notation,
    }
}

/// True for an object of JSON within the limits, by its brackets and strings. Its members are read by viewers only.
fn is_json_object(text: &str) -> bool {
    let text = text.trim();
    if text.len() > JSON_BYTES_MAX || !text.starts_with('{') {
        return false;
    }
    let mut depth = 0_usize;
    let mut is_string = false;
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        if is_string {
            is_string = is_escaped || byte != b'"';
            is_escaped = byte == b'\\' && !is_escaped;
            continue;
        }
        match byte {
            b'"' => is_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > JSON_DEPTH_MAX {
            return false;
        }
        if depth == 0 {
            return at + 1 == text.len();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::Malformed;

    fn material(version: &str, data: &str) -> Llsd {
        Llsd::map(
            [("version", version), ("type", MATERIAL_TYPE), ("data", data)]
                .map(|(key, text)| (key, text.into())),
        )
    }

    const GLTF: &str = r#"{"asset":{"version":"2.0"},"materials":[{"name":"a \"}\" b\\"}]}"#;

    #[test]
    fn each_form_is_taken_with_and_without_its_opening_line() {
        let map = material("1.1", GLTF);
        let documents = [
            ("<? LLSD/Binary ?>\n", binary::encode(&map)),
            ("<? llsd/notation ?>\n", notation::encode(&map).into()),
            ("<?xml version=\"1.0\" ?>\n", xml::encode(&map).into()),
            ("<? LLSD/XML ?>\n", xml::encode(&map).into()),
        ];
        for (opening, document) in documents {
            for bytes in [document.clone(), [opening.as_bytes(), &document].concat()] {
                assert_eq!(check_material(&bytes), Ok(()), "{opening}");
                assert_eq!(check_settings(&bytes), Ok(()), "{opening}");
                let padded = [&bytes[..], b"\r\n\0"].concat();
                assert_eq!(check_material(&padded), Ok(()), "{opening}");
                for length in 0..bytes.len() {
                    assert!(check_settings(&bytes[..length]).is_err(), "{opening} cut at {length}");
                }
            }
        }
    }

    #[test]
    fn values_that_are_no_map_are_refused() {
        let kind = AssetKind::Settings;
        let other = Err(Unfit::OtherForm { kind, expected: "a map of LLSD" });
        assert_eq!(check_settings(b"[i1]"), other);
        assert_eq!(check_settings(b"<llsd><integer>1</integer></llsd>"), other);
        assert_eq!(check_settings(b"<? LLSD/Binary ?>\n1"), other);
        let malformed = |reason| Err(Unfit::Llsd { kind, reason });
        assert_eq!(check_settings(b"{\0\xFF\xFF\xFF"), malformed(Malformed::Truncated));
        assert_eq!(check_settings(&b"{'a':".repeat(1_000)), malformed(Malformed::Depth));
        assert_eq!(check_settings(b" \0"), malformed(Malformed::Truncated));
    }

    #[test]
    fn materials_hold_a_gltf_document() {
        let kind = AssetKind::Material;
        let check = |map: &Llsd| check_material(&binary::encode(map));
        let invalid = |field| Err(Unfit::Invalid { kind, field });
        assert_eq!(check(&material("2.0", GLTF)), invalid("version"));
        assert_eq!(check(&Llsd::map([("version", Llsd::from("1.0"))])), invalid("type"));
        let deep = ["{\"a\":", &"[".repeat(40), &"]".repeat(40), "}"].concat();
        let long = format!("{{\"a\":\"{}\"}}", "b".repeat(JSON_BYTES_MAX));
        for data in ["", "x", "{", "{\"}", "{} {}", "{\"a\":[}", "[]", &deep, &long] {
            assert_eq!(check(&material("1.0", data)), invalid("data"), "{data}");
        }
        assert_eq!(check(&material("1.0", " {} ")), Ok(()));
    }

    proptest! {
        #[test]
        fn a_damaged_material_never_panics(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let map = material("1.1", GLTF);
            for mut bytes in [binary::encode(&map), notation::encode(&map).into(), xml::encode(&map).into()] {
                let at = at.index(bytes.len());
                bytes[at] = byte;
                let _ = check_material(&bytes);
            }
        }

        #[test]
        fn any_json_never_panics(text in "[{}\\[\\]\"\\\\a\u{e4}]{0,80}") {
            let _ = is_json_object(&text);
        }
    }
}
