//! Names of accounts: which are valid, and when two are the same.
//!
//! A name has two parts. Clients that show one word send `Resident` as the second, and so does the server. A part is one of:
//!
//! - ASCII letters, digits, `_`, `-` and `'`, kept in the capitals that were typed. The store compares them in any capitals.
//! - Letters and digits of one script, as UTS 39 allows them in identifiers, and the three signs. It is kept in one form for all spellings
//!   (NFKC, case folded, the first letter a capital), so that the store compares it exactly and every spelling finds the account.
//!
//! Two names that look alike must not be two accounts. A part in other letters is refused if it mixes scripts, or if its skeleton by
//! UTS 39 is plain ASCII: Cyrillic `сосо` looks like Latin `coco`. Lookalikes within ASCII (`I`, `l`, `1`) and between two other scripts are
//! not refused.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_security::{GeneralSecurityProfile, MixedScript, skeleton};

/// A valid name for an account, in the form in which it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// First name.
    pub first: String,
    /// Last name.
    pub last: String,
}

/// Reason of a refused name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A part is empty or too long.
    #[error(
        "each part of a name has 1 to {} bytes, which are fewer letters in other scripts than Latin",
        Name::PART_MAX
    )]
    Length,
    /// A part holds something else, or no letter and no digit. Names stand in URLs, chat logs and `First.Last` forms.
    #[error("names are made of letters and digits of one script, and of _ - '")]
    Letter,
    /// A part looks like a name in ASCII letters, or mixes scripts.
    #[error("this name looks like another one: write it in the letters of one script")]
    Lookalike,
    /// The name would pass for the server or its operators.
    #[error("this name is reserved")]
    Reserved,
}

/// Reserved last names: viewers do not let users mute a Linden, and the others would pass for the server.
const RESERVED_LAST: [&str; 5] = ["Linden", "Operator", "Server", "System", "Throng"];

impl Name {
    /// Bytes of each part at most: the protocol's name fields and viewers end there.
    pub const PART_MAX: usize = 31;

    /// Last name of accounts with a single name.
    pub const SINGLE_LAST: &str = "Resident";

    /// Reads a name from its two parts. Without a last part, the first may be `First Last` or `first.last`, as some
    /// clients send it.
    ///
    /// # Errors
    /// [`NameError::Length`], [`NameError::Letter`] and [`NameError::Lookalike`]: no account can have this name.
    pub fn parse(first: &str, last: &str) -> Result<Self, NameError> {
        let (first, last) = match (first.trim(), last.trim()) {
            (whole, "") => whole.split_once([' ', '.']).unwrap_or((whole, Self::SINGLE_LAST)),
            parts => parts,
        };
        Ok(Self { first: part(first)?, last: part(last)? })
    }

    /// Checks that a user may register it.
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

/// A part of a name in the form in which it is kept.
fn part(typed: &str) -> Result<String, NameError> {
    // Folding can shorten a text to a third, so a longer one cannot become valid.
    if typed.is_empty() || typed.len() > 3 * Name::PART_MAX {
        return Err(NameError::Length);
    }
    let kept = canonical(typed);
    let is_sign = |letter| matches!(letter, '_' | '-' | '\'');
    let is_allowed = |letter: char| match letter {
        letter if letter.is_ascii() => letter.is_ascii_alphanumeric() || is_sign(letter),
        letter => letter.identifier_allowed() && (letter.is_alphanumeric() || is_combining_mark(letter)),
    };
    if !kept.chars().all(is_allowed) || !kept.chars().any(char::is_alphanumeric) {
        return Err(NameError::Letter);
    }
    if kept.len() > Name::PART_MAX {
        return Err(NameError::Length);
    }
    let looks_ascii = |text: &str| skeleton(text).all(|letter| letter.is_ascii());
    let is_other = !kept.is_ascii();
    if is_other && (!kept.is_single_script() || looks_ascii(&kept) || looks_ascii(&kept.to_lowercase())) {
        return Err(NameError::Lookalike);
    }
    Ok(kept)
}

/// The form in which a part of a name, or the beginning of one, is kept.
pub(crate) fn canonical(typed: &str) -> String {
    let composed: String = typed.nfkc().collect();
    if composed.is_ascii() {
        return composed;
    }
    // Capitals first: letters that differ only in small letters (ς and σ) become one.
    let folded: String = composed.to_uppercase().to_lowercase().nfkc().collect();
    let mut letters = folded.chars();
    let Some(first) = letters.next() else { return folded };
    let mut capitals = first.to_uppercase();
    // Georgian has capitals that are not for names.
    let capital = capitals.next().filter(|capital| capitals.len() == 0 && capital.identifier_allowed());
    std::iter::once(capital.unwrap_or(first)).chain(letters).nfkc().collect()
}

/// Account name as newer viewers show it: `ada.lovelace`, or `ada` for a single name.
#[must_use]
pub fn username(first: &str, last: &str) -> String {
    let first = first.to_lowercase();
    if last.eq_ignore_ascii_case(Name::SINGLE_LAST) {
        first
    } else {
        format!("{first}.{}", last.to_lowercase())
    }
}

/// Name beside an avatar: `Ada Lovelace`, or `Ada` for a single name.
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
    fn an_impossible_name_is_refused() {
        assert_eq!(name("", ""), Err(NameError::Length));
        assert_eq!(name("", "Lovelace"), Err(NameError::Length));
        assert_eq!(name(&"a".repeat(32), "b"), Err(NameError::Length));
        assert!(name(&"a".repeat(31), "b").is_ok());
        for bad in ["a b", "a.b", "a<b", "a\0", "a\u{202e}b", "_-'", "a\u{200b}b", "😀", "a/b"] {
            assert_eq!(name(bad, "Lovelace"), Err(NameError::Letter), "{bad}");
        }
        assert_eq!(name("a b c", ""), Err(NameError::Letter));
        assert_eq!(name(&"名".repeat(11), "b"), Err(NameError::Length), "33 bytes");
    }

    #[test]
    fn names_of_other_grids_and_other_scripts_are_accepted() {
        for good in [
            "ada_l",
            "4711",
            "O'Brien",
            "Anne-Marie",
            "Ädä",
            "Ольга",
            "名前",
            "しろネコ",
            "अनिल",
            "გიორგი",
            "مريم",
        ] {
            assert!(name(good, "Lovelace").is_ok(), "{good}: {:?}", name(good, "Lovelace"));
        }
        assert_eq!(name("ada_l", "X"), Ok(("ada_l".into(), "X".into())), "as typed");
    }

    #[test]
    fn every_spelling_of_a_name_is_the_same_account() {
        for (one, other) in [
            ("Ömer", "ömer"),
            ("Ömer", "O\u{308}MER"),
            ("Ольга", "ОЛЬГА"),
            ("Οδυσσεύς", "ΟΔΥΣΣΕΎΣ"),
            ("Ａda", "Ada"),
            ("Straße", "STRASSE"),
        ] {
            let (one, other) = (name(one, "X").unwrap().0, name(other, "X").unwrap().0);
            assert!(one.eq_ignore_ascii_case(&other), "{one} {other}");
        }
        assert_eq!(name("ömer", "X").unwrap().0, "Ömer");
    }

    #[test]
    fn names_that_look_like_others_are_refused() {
        // Cyrillic letters that look like Latin ones, alone and among Latin ones.
        for lookalike in ["сосо", "Аdа", "а", "Lindеn"] {
            assert_eq!(name(lookalike, "Lovelace"), Err(NameError::Lookalike), "{lookalike}");
        }
        assert_eq!(name("Ada", "Lіnden"), Err(NameError::Lookalike));
    }

    proptest::proptest! {
        #[test]
        fn a_parsed_name_parses_to_itself(first in "\\PC{1,12}", last in "[\\w'-]{1,12}") {
            if let Ok(name) = Name::parse(&first, &last) {
                let again = Name::parse(&name.first, &name.last);
                proptest::prop_assert_eq!(again, Ok(name));
            }
        }
    }

    #[test]
    fn names_that_pass_for_the_operators_are_reserved_in_any_capitals() {
        assert_eq!(Name::parse("Ada", "LINDEN").unwrap().check_unreserved(), Err(NameError::Reserved));
        assert_eq!(Name::parse("Linden", "Tree").unwrap().check_unreserved(), Ok(()));
    }

    #[test]
    fn a_user_with_one_name_is_shown_with_one() {
        assert_eq!(
            (username("Ada", "Resident").as_str(), display_name("Ada", "resident").as_str()),
            ("ada", "Ada")
        );
        assert_eq!(username("Ada", "Lovelace"), "ada.lovelace");
        assert_eq!(display_name("Ada", "Lovelace"), "Ada Lovelace");
    }
}
