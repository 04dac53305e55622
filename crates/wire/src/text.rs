//! Text fields of messages: UTF-8 that clients end with a NUL inside the field's length.
//!
//! This module sets no rules for text (length of a chat line, allowed names): those belong to the receiver.

/// Most bytes that a `Variable1` field holds, its NUL included.
pub const VARIABLE1_MAX: usize = 255;

/// Most bytes of a chat line or an instant message, its NUL included: what viewers send and take.
pub const CHAT_MAX: usize = 1_024;

/// Reads a text field. What follows a NUL is cut off, as clients that treat the field as a C string do; bytes
/// that are not UTF-8 become U+FFFD.
#[must_use]
pub fn from_wire(field: &[u8]) -> String {
    let end = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// Makes a text field of at most `max` bytes, its NUL included: [`VARIABLE1_MAX`] or [`CHAT_MAX`]. Text that is
/// too long is cut between two characters. Nothing fits into 0 bytes, not even the NUL.
#[must_use]
pub fn to_wire(text: &str, max: usize) -> Vec<u8> {
    let Some(room) = max.checked_sub(1) else { return Vec::new() };
    let cut = &text[..text.floor_char_boundary(room)];
    let mut field = Vec::with_capacity(cut.len() + 1);
    field.extend_from_slice(cut.as_bytes());
    field.push(0);
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_ends_at_its_nul_or_with_the_field() {
        for (field, text) in [
            (&b"Ann Other\0"[..], "Ann Other"),
            (b"Ann Other", "Ann Other"),
            (b"Ann\0Other\0", "Ann"),
            (b"\0", ""),
            (b"", ""),
            (b"\xC3\xA4\xFF\0", "ä\u{FFFD}"),
        ] {
            assert_eq!(from_wire(field), text, "{field:?}");
        }
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(to_wire("aä", 4), "aä\0".as_bytes());
        assert_eq!(to_wire("aä", 3), b"a\0");
        assert_eq!(to_wire("aä", 1), b"\0");
        assert_eq!(to_wire("aä", 0), b"");
    }

    proptest! {
        #[test]
        fn text_that_fits_comes_back(text in "[^\0]{0,60}") {
            prop_assert_eq!(from_wire(&to_wire(&text, VARIABLE1_MAX)), text);
        }

        #[test]
        fn a_field_is_never_longer_than_asked(text in ".*", max in 0_usize..40) {
            prop_assert!(to_wire(&text, max).len() <= max);
        }
    }
}
