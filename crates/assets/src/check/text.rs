//! Scripts, landmarks and calling cards: the assets that are a few lines of text.
//!
//! ```text
//! Landmark version 2                    Landmark version 1
//! region_id <uuid>                      position <x> <y> <z>, of the grid
//! local_pos <x> <y> <z>, of the region
//!
//! Callingcard version 2
//! avatar_id <uuid>
//! ```
//!
//! Lines behind these are ignored. OpenSimulator writes the grid of a landmark there.

use super::Unfit;
use super::landmark::read_landmark;
use super::lines::{Lines, is_uuid};
use crate::kind::AssetKind;

/// Checks the source of a script: any text. It is compiled later, with errors of its own.
pub(super) fn check_script(bytes: &[u8]) -> Result<(), Unfit> {
    let kind = AssetKind::Script;
    let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    if std::str::from_utf8(text).is_err() {
        return Err(Unfit::Invalid { kind, field: "UTF-8" });
    }
    if text.contains(&0) {
        return Err(Unfit::Invalid { kind, field: "NUL character" });
    }
    Ok(())
}

/// Checks a landmark.
pub(super) fn check_landmark(bytes: &[u8]) -> Result<(), Unfit> {
    read_landmark(bytes).map(drop)
}

/// Checks a calling card.
pub(super) fn check_calling_card(bytes: &[u8]) -> Result<(), Unfit> {
    let mut lines = Lines::new(AssetKind::CallingCard, bytes);
    let version = "Callingcard version";
    if lines.number(version)? != 2 {
        return Err(lines.invalid(version));
    }
    if is_uuid(lines.field("avatar_id")?) { Ok(()) } else { Err(lines.invalid("avatar_id")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_whole_only;
    use proptest::prelude::*;

    const ID: &str = "c228d1cf-4b5d-4ba8-84f4-899a0796aa97";

    #[test]
    fn scripts_are_text_without_nul() {
        let kind = AssetKind::Script;
        for text in ["default { state_entry() { } }", "// \u{e4}\r\n", "a\0", "\0"] {
            assert_eq!(check_script(text.as_bytes()), Ok(()), "{text:?}");
        }
        assert_eq!(check_script(b"a\xFF"), Err(Unfit::Invalid { kind, field: "UTF-8" }));
        for text in ["a\0b", "a\0\0"] {
            let refused = Err(Unfit::Invalid { kind, field: "NUL character" });
            assert_eq!(check_script(text.as_bytes()), refused, "{text:?}");
        }
    }

    #[test]
    fn landmarks_of_both_versions_are_taken() {
        let local = format!("Landmark version 2\nregion_id {ID}\nlocal_pos 128 64.5 2");
        assert_whole_only(local.as_bytes(), check_landmark);
        assert_whole_only(b"Landmark version 1\nposition 256000.5 256000 2", check_landmark);
        let with_grid =
            format!("Landmark version 2\r\nregion_id {ID}\r\nlocal_pos 1 2 3\r\ngatekeeper http://x/\r\n\0");
        assert_eq!(check_landmark(with_grid.as_bytes()), Ok(()));
    }

    #[test]
    fn landmarks_without_a_finite_position_are_refused() {
        let kind = AssetKind::Landmark;
        let invalid = |field| Err(Unfit::Invalid { kind, field });
        for (text, refused) in [
            ("Landmark version 3\nposition 1 2 3".to_owned(), invalid("Landmark version")),
            ("Landmark version 1\nposition 1 2 nan".to_owned(), invalid("position")),
            ("Landmark version 1\nposition 1 2".to_owned(), invalid("position")),
            (format!("Landmark version 2\nregion_id {ID}\nlocal_pos 1 2 inf"), invalid("position")),
            ("Landmark version 2\nregion_id x\nlocal_pos 1 2 3".to_owned(), invalid("region_id")),
            ("Landmark version 1\nplace 1 2 3".to_owned(), Err(Unfit::Missing { kind, part: "position" })),
        ] {
            assert_eq!(check_landmark(text.as_bytes()), refused, "{text}");
        }
    }

    #[test]
    fn calling_cards_name_an_avatar() {
        let kind = AssetKind::CallingCard;
        assert_whole_only(format!("Callingcard version 2\navatar_id {ID}").as_bytes(), check_calling_card);
        let other = b"Callingcard version 1\navatar_id x";
        let refused = Err(Unfit::Invalid { kind, field: "Callingcard version" });
        assert_eq!(check_calling_card(other), refused);
        let refused = Err(Unfit::Invalid { kind, field: "avatar_id" });
        assert_eq!(check_calling_card(b"Callingcard version 2\navatar_id x"), refused);
    }

    proptest! {
        #[test]
        fn any_values_never_panic(value in "[ -~\t\r\n\0]{0,60}") {
            let _ = check_script(value.as_bytes());
            for text in [
                format!("Landmark version {value}"),
                format!("Landmark version 2\nregion_id {ID}\nlocal_pos {value}"),
            ] {
                let _ = check_landmark(text.as_bytes());
            }
            let _ = check_calling_card(format!("Callingcard version 2\n{value}").as_bytes());
        }
    }
}
