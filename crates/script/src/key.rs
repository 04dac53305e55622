//! Keys of scripts: text that usually is an id.

use crate::string::Text;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;

/// A key. Ids in canonical form take 16 bytes, any other text is kept as it is.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(KeyRepr);

/// A key has exactly one form: an id if, and only if, its text is canonical. Hence equal keys have equal forms.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum KeyRepr {
    Id([u8; 16]),
    Text(Text),
}

/// Length of an id's text.
const ID_CHARS: usize = 36;

/// Places of the hyphens in an id's text.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl Key {
    /// `NULL_KEY`
    pub const NULL: Self = Self(KeyRepr::Id([0; 16]));

    /// Logical memory of a key with at most 36 characters. Longer ones, which are no ids, count each character.
    pub const BYTES: usize = 102;

    /// Logical memory of a long key beside its characters, so that 36 characters count [`Self::BYTES`].
    const BASE_BYTES: usize = Self::BYTES - ID_CHARS * Text::CHAR_BYTES;

    /// The key of an id.
    #[must_use]
    pub const fn from_id(id: [u8; 16]) -> Self {
        Self(KeyRepr::Id(id))
    }

    /// Its id, if it has the form of one. Upper case counts as well.
    #[must_use]
    pub fn id(&self) -> Option<[u8; 16]> {
        match &self.0 {
            KeyRepr::Id(id) => Some(*id),
            KeyRepr::Text(text) => id_of(text.as_str()),
        }
    }

    /// Its value as a condition: an id that is not null.
    #[must_use]
    pub fn is_true(&self) -> bool {
        self.id().is_some_and(|id| id != [0; 16])
    }

    /// The key as a string.
    #[must_use]
    pub fn to_text(&self) -> Text {
        match &self.0 {
            KeyRepr::Id(id) => text_of(id, |text| text.into()),
            KeyRepr::Text(text) => text.clone(),
        }
    }

    /// `key == string`: the same characters, in the same case.
    #[must_use]
    pub fn is_text(&self, text: &Text) -> bool {
        self.with_str(|key| key == text.as_str())
    }

    /// Order of the characters.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            // Digits ascend in ASCII, and hyphens stand at the same places.
            (KeyRepr::Id(left), KeyRepr::Id(right)) => left.cmp(right),
            _ => self.with_str(|left| other.with_str(|right| left.cmp(right))),
        }
    }

    /// Passes its characters on, without an allocation.
    pub fn with_str<R>(&self, use_str: impl FnOnce(&str) -> R) -> R {
        match &self.0 {
            KeyRepr::Id(id) => text_of(id, use_str),
            KeyRepr::Text(text) => use_str(text.as_str()),
        }
    }

    /// Logical memory that it counts for.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.0 {
            KeyRepr::Id(_) => Self::BYTES,
            KeyRepr::Text(text) => Self::BYTES.max(Self::BASE_BYTES + text.n_chars() * Text::CHAR_BYTES),
        }
    }

    /// Physical memory behind its own bytes.
    pub(crate) fn footprint(&self) -> usize {
        match &self.0 {
            KeyRepr::Id(_) => 0,
            KeyRepr::Text(text) => text.footprint(),
        }
    }
}

impl From<Text> for Key {
    fn from(text: Text) -> Self {
        match id_of(text.as_str()) {
            Some(id) if !text.as_str().bytes().any(|byte| byte.is_ascii_uppercase()) => Self(KeyRepr::Id(id)),
            _ => Self(KeyRepr::Text(text)),
        }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self::from(Text::from(text))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_str(|text| fmt::Debug::fmt(text, formatter))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_str(|text| formatter.pad(text))
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Text in canonical form becomes an id, so that a key has one form.
        Ok(match KeyRepr::deserialize(deserializer)? {
            KeyRepr::Id(id) => Self::from_id(id),
            KeyRepr::Text(text) => Self::from(text),
        })
    }
}

/// True if a text has the form of an id, in lower or upper case.
#[must_use]
pub fn is_id(text: &str) -> bool {
    id_of(text).is_some()
}

/// The id of a text such as `01234567-89ab-cdef-0123-456789abcdef`.
fn id_of(text: &str) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    if bytes.len() != ID_CHARS || HYPHENS.iter().any(|&at| bytes[at] != b'-') {
        return None;
    }
    let mut id = [0; 16];
    let digits = bytes.iter().enumerate().filter(|(at, _)| !HYPHENS.contains(at));
    for (n, (_, &digit)) in digits.enumerate() {
        let value = u8::try_from(char::from(digit).to_digit(16)?).ok()?;
        id[n / 2] = id[n / 2] << 4 | value;
    }
    Some(id)
}

fn text_of<R>(id: &[u8; 16], use_str: impl FnOnce(&str) -> R) -> R {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'-'; ID_CHARS];
    let places = (0..ID_CHARS).filter(|at| !HYPHENS.contains(at));
    for (n, at) in places.enumerate() {
        let nibble = if n % 2 == 0 { id[n / 2] >> 4 } else { id[n / 2] & 15 };
        text[at] = DIGITS[usize::from(nibble)];
    }
    use_str(std::str::from_utf8(&text).expect("digits and hyphens are ASCII"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01234567-89ab-cdef-0123-456789abcdef";

    #[test]
    fn canonical_ids_take_16_bytes_and_come_back_as_they_were() {
        let key = Key::from(ID);
        assert_eq!(
            key.0,
            KeyRepr::Id([
                1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef
            ])
        );
        assert_eq!(key.footprint(), 0);
        for text in [ID, &ID.to_uppercase(), "", "hello", "01234567-89AB-cdef-0123-456789abcdef"] {
            assert_eq!(Key::from(text).to_text().as_str(), text);
            assert_eq!(Key::from(text).to_string(), text);
        }
    }

    #[test]
    fn keys_are_true_if_they_are_ids_and_not_null() {
        for (text, is_true) in [
            (ID, true),
            ("01234567-89AB-CDEF-0123-456789ABCDEF", true),
            ("00000000-0000-0000-0000-000000000000", false),
            ("00000000-0000-0000-0000-000000000001", true),
            ("", false),
            ("hello", false),
            ("0123456789abcdef0123456789abcdef", false),
            ("01234567-89ab-cdef-0123-456789abcdeg", false),
            ("01234567-89ab-cdef-0123-456789abcdef ", false),
            ("012345678-9ab-cdef-0123-456789abcdef", false),
            ("ä1234567-89ab-cdef-0123-456789abcde", false),
        ] {
            assert_eq!(Key::from(text).is_true(), is_true, "{text}");
        }
        assert_eq!(Key::NULL.to_string(), "00000000-0000-0000-0000-000000000000");
    }

    #[test]
    fn the_order_of_keys_is_that_of_their_text() {
        let texts = [
            "",
            "0",
            ID,
            "01234567-89AB-cdef-0123-456789abcdef",
            "09",
            "a",
            "fffffff0-0000-0000-0000-000000000000",
        ];
        for left in texts {
            for right in texts {
                assert_eq!(Key::from(left).compare(&Key::from(right)), left.cmp(right), "{left} {right}");
            }
        }
        let low = Key::from("0a000000-0000-0000-0000-000000000000");
        assert_eq!(low.compare(&Key::from("09000000-0000-0000-0000-000000000000")), Ordering::Greater);
    }

    #[test]
    fn keys_are_compared_as_text() {
        assert_eq!(Key::from(ID), Key::from_id(Key::from(ID).id().expect("an id")));
        assert_ne!(Key::from(ID), Key::from(&*ID.to_uppercase()));
        for (key, text, is_same) in [(ID, ID, true), (ID, "", false), ("a", "a", true), ("a", "A", false)] {
            assert_eq!(Key::from(key).is_text(&text.into()), is_same, "{key} {text}");
        }
        assert!(!Key::from(ID).is_text(&ID.to_uppercase().into()));
    }
}
