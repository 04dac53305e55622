//! What users may be called.
//!
//! A name has two parts. Clients that show one word send `Resident` as the second (PROTOCOL §2.1), and so do we.

/// A valid name for an account, in the capitals it was typed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// First name.
    pub first: String,
    /// Last name.
    pub last: String,
}

/// Why nobody may be called so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A part is empty or too long.
    #[error("each part of a name has 1 to {} letters or digits", Name::PART_MAX)]
    Length,
    /// A part holds something else. Names stand in URLs, chat logs and `First.Last` forms, and two that look alike must not be
    /// two accounts.
    #[error("names are made of the letters A to Z and digits")]
    Letter,
    /// The name would pass for the server or its operators.
    #[error("this name is reserved")]
    Reserved,
}

/// Last names that nobody registers: viewers do not let users mute a Linden, and the others pass for the server.
const RESERVED_LAST: [&str; 4] = ["Linden", "System", "Server", "Throng"];

impl Name {
    /// Letters in each part; the protocol's name fields and viewers end there.
    pub const PART_MAX: usize = 31;

    /// Last name of those who have only one.
    pub const SINGLE_LAST: &str = "Resident";

    /// Reads a name from its two parts. Without a last part, the first may be `First Last` or `first.last`, as some
    /// clients send it.
    ///
    /// # Errors
    /// [`NameError::Length`] and [`NameError::Letter`]: no account can have this name.
    pub fn parse(first: &str, last: &str) -> Result<Self, NameError> {
        let (first, last) = match (first.trim(), last.trim()) {
            (whole, "") => whole.split_once([' ', '.']).unwrap_or((whole, Self::SINGLE_LAST)),
            parts => parts,
        };
        for part in [first, last] {
            if part.is_empty() || part.len() > Self::PART_MAX {
                return Err(NameError::Length);
            }
            if !part.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                return Err(NameError::Letter);
            }
        }
        Ok(Self { first: first.into(), last: last.into() })
    }

    /// Whether a user may register it.
    ///
    /// # Errors
    /// [`NameError::Reserved`].
    pub fn check_unreserved(&self) -> Result<(), NameError> {
        if RESERVED_LAST.iter().any(|reserved| self.last.eq_ignore_ascii_case(reserved)) {
            return Err(NameError::Reserved);
        }
        Ok(())
    }
}

/// The account name as newer viewers show it: `ada.lovelace`, or `ada` for who has one name.
#[must_use]
pub fn username(first: &str, last: &str) -> String {
    let first = first.to_ascii_lowercase();
    if last.eq_ignore_ascii_case(Name::SINGLE_LAST) {
        first
    } else {
        format!("{first}.{}", last.to_ascii_lowercase())
    }
}

/// The name to show beside an avatar: `Ada Lovelace`, or `Ada` for who has one name.
#[must_use]
pub fn display_name(first: &str, last: &str) -> String {
    if last.eq_ignore_ascii_case(Name::SINGLE_LAST) { first.into() } else { format!("{first} {last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(first: &str, last: &str) -> Result<(String, String), NameError> {
        Name::parse(first, last).map(|name| (name.first, name.last))
    }

    #[test]
    fn names_are_read_in_every_form_that_clients_send() {
        let ada = Ok(("Ada".to_owned(), "Lovelace".to_owned()));
        assert_eq!(name("Ada", "Lovelace"), ada);
        assert_eq!(name(" Ada ", " Lovelace\n"), ada);
        assert_eq!(name("Ada Lovelace", ""), ada);
        assert_eq!(name("Ada.Lovelace", ""), ada);
        assert_eq!(name("Ada", ""), Ok(("Ada".into(), "Resident".into())));
    }

    #[test]
    fn what_cannot_be_a_name_is_refused() {
        assert_eq!(name("", ""), Err(NameError::Length));
        assert_eq!(name("", "Lovelace"), Err(NameError::Length));
        assert_eq!(name(&"a".repeat(32), "b"), Err(NameError::Length));
        assert!(name(&"a".repeat(31), "b").is_ok());
        for bad in ["Ädä", "a b", "a.b", "a<b", "a\0", "а"] {
            assert_eq!(name(bad, "Lovelace"), Err(NameError::Letter), "{bad}");
        }
        assert_eq!(name("a b c", ""), Err(NameError::Letter));
    }

    #[test]
    fn names_that_pass_for_the_operators_are_reserved_in_any_capitals() {
        assert_eq!(Name::parse("Ada", "LINDEN").unwrap().check_unreserved(), Err(NameError::Reserved));
        assert_eq!(Name::parse("Linden", "Tree").unwrap().check_unreserved(), Ok(()));
    }

    #[test]
    fn who_has_one_name_is_shown_with_one() {
        assert_eq!(
            (username("Ada", "Resident").as_str(), display_name("Ada", "resident").as_str()),
            ("ada", "Ada")
        );
        assert_eq!(username("Ada", "Lovelace"), "ada.lovelace");
        assert_eq!(display_name("Ada", "Lovelace"), "Ada Lovelace");
    }
}
