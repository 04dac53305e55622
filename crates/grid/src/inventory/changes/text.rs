//! Names and descriptions as the inventory keeps them: on one line, and as short as viewers have room for.

use wire::text::from_wire;

/// Bytes of a name, without the NUL of messages.
const NAME_BYTES_MAX: usize = 63;
/// Bytes of a description.
const DESCRIPTION_BYTES_MAX: usize = 127;

/// A name from a message; none if it is blank.
pub(super) fn name(field: &[u8]) -> Option<String> {
    name_of(&from_wire(field))
}

/// The same from a text.
pub(super) fn name_of(text: &str) -> Option<String> {
    Some(line(text, NAME_BYTES_MAX)).filter(|name| !name.trim().is_empty())
}

/// A description from a message.
pub(super) fn description(field: &[u8]) -> String {
    description_of(&from_wire(field))
}

/// The same from a text.
pub(super) fn description_of(text: &str) -> String {
    line(text, DESCRIPTION_BYTES_MAX)
}

/// A text on one line, cut between two characters.
fn line(text: &str, bytes_max: usize) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.truncate(line.floor_char_boundary(bytes_max));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters_and_stay_on_a_line() {
        assert_eq!(name(b"A\tgreen\nhat\0"), Some("A green hat".to_owned()));
        assert_eq!(name("ä".repeat(40).as_bytes()), Some("ä".repeat(31)));
        assert_eq!(description(&[b'x'; 200]), "x".repeat(127));
        assert_eq!((name(b" \r\n\0"), name(b""), name_of("a\0b")), (None, None, Some("a b".to_owned())));
    }
}
