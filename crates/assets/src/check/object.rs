//! Objects: the XML of one or more linksets, as OpenSimulator writes it, or LLSD of an object.
//!
//! The check looks at the front and the end only: the name of the root element tells the form. The document is parsed when the object is rezzed.

use super::Unfit;
use crate::kind::AssetKind;

/// Root elements: a linkset, its old form, several linksets with their offsets, and the form of uploaded models.
const ROOTS: [&str; 4] = ["SceneObjectGroup", "SceneObjectPart", "CoalescedObject", "object"];

const KIND: AssetKind = AssetKind::Object;

/// Checks an object.
pub(super) fn check(bytes: &[u8]) -> Result<(), Unfit> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(Unfit::Invalid { kind: KIND, field: "UTF-8" });
    };
    if text.contains('\0') {
        return Err(Unfit::Invalid { kind: KIND, field: "NUL character" });
    }
    let document = text.trim_start_matches('\u{FEFF}').trim();
    let content = after_declaration(document)?;
    let name = content
        .strip_prefix('<')
        .and_then(|tag| tag.split(|c: char| c.is_whitespace() || "/>".contains(c)).next());
    if !name.is_some_and(|name| ROOTS.contains(&name)) {
        return Err(Unfit::OtherForm { kind: KIND, expected: "XML of a linkset" });
    }
    if content.ends_with('>') { Ok(()) } else { Err(Unfit::Truncated { kind: KIND, part: "XML" }) }
}

/// The document behind its XML declaration, which is optional.
fn after_declaration(document: &str) -> Result<&str, Unfit> {
    if !document.starts_with("<?xml") {
        return Ok(document);
    }
    let (_, content) =
        document.split_once("?>").ok_or(Unfit::Truncated { kind: KIND, part: "XML declaration" })?;
    Ok(content.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_root_is_taken_with_and_without_a_declaration() {
        for root in ROOTS {
            for document in [
                format!("<{root}><a/></{root}>"),
                format!("<{root}/>"),
                format!("<{root} xmlns:xsi=\"x\">\r\n</{root}>\r\n\0"),
                format!("\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<{root}\n></{root}>"),
            ] {
                assert_eq!(check(document.as_bytes()), Ok(()), "{document}");
            }
        }
    }

    #[test]
    fn other_documents_are_refused() {
        let other = Err(Unfit::OtherForm { kind: KIND, expected: "XML of a linkset" });
        for document in [
            "",
            "SceneObjectGroup",
            "<html></html>",
            "<SceneObjectGroups></SceneObjectGroups>",
            "<sceneobjectgroup/>",
            "< SceneObjectGroup/>",
            "<!DOCTYPE SceneObjectGroup><SceneObjectGroup/>",
            "<?xml version=\"1.0\"?>",
            "<",
        ] {
            assert_eq!(check(document.as_bytes()), other, "{document}");
        }
    }

    #[test]
    fn cut_documents_and_other_encodings_are_refused() {
        let truncated = |part| Err(Unfit::Truncated { kind: KIND, part });
        assert_eq!(check(b"<SceneObjectGroup><SceneObj"), truncated("XML"));
        assert_eq!(check(b"<SceneObjectGroup"), truncated("XML"));
        assert_eq!(check(b"<?xml version='1.0'"), truncated("XML declaration"));
        let invalid = |field| Err(Unfit::Invalid { kind: KIND, field });
        assert_eq!(check(b"<object>\xFF</object>"), invalid("UTF-8"));
        assert_eq!(check(b"<\0o\0b\0j\0e\0c\0t\0>\0"), invalid("NUL character"));
    }

    proptest! {
        #[test]
        fn any_markup_never_panics(text in "[<>?/!xml \u{FEFF}\0\u{e4}object]{0,60}") {
            let _ = check(text.as_bytes());
            let _ = check(format!("<?xml{text}").as_bytes());
        }
    }
}
