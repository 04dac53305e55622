//! Texts of an archive as those of an inventory.

/// Bytes of a name and of a description, as in messages.
pub(super) const NAME_MAX: usize = 63;
pub(super) const DESCRIPTION_MAX: usize = 127;

/// A text without control characters, cut between two characters.
pub(super) fn fitting(text: &str, bytes_max: usize) -> String {
    let mut fitting: String = text.chars().filter(|c| !c.is_control()).collect();
    fitting.truncate(fitting.floor_char_boundary(bytes_max));
    fitting
}

/// First and last name of a creator in the form `ospa:n=First Last`, in which OpenSimulator names users.
pub(super) fn ospa_name(creator: &str) -> Option<&str> {
    let fields = creator.trim().strip_prefix("ospa:")?;
    fields.split(';').find_map(|field| field.trim().strip_prefix("n=")).map(str::trim)
}

/// A creator in that form.
pub(super) fn ospa(name: &str) -> String {
    format!("ospa:n={name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lose_control_characters_and_are_cut() {
        assert_eq!(fitting("a\0b\nc", NAME_MAX), "abc");
        assert_eq!(fitting(&"é".repeat(40), NAME_MAX).len(), 62);
        assert_eq!(fitting("Chair", NAME_MAX), "Chair");
    }

    #[test]
    fn names_of_creators_are_read_as_they_are_written() {
        assert_eq!(ospa_name(&ospa("Ada Lovelace")), Some("Ada Lovelace"));
        assert_eq!(ospa_name(" ospa:u=http://a/; n=Ada Lovelace "), Some("Ada Lovelace"));
        for other in ["Ada Lovelace", "ospa:", "00000000-0000-0000-0000-000000000001", ""] {
            assert_eq!(ospa_name(other), None, "{other}");
        }
    }
}
