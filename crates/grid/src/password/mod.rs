//! Passwords: the digest that clients send, its hash, the hashing thread, and remembered logins.
//!
//! Clients never send a password. They send `$1$` and the MD5 of its first 16 characters in hex, and some hash the whole password, so
//! passwords are limited to 16 characters: then all agree. A stolen digest is as good as the password, so the store keeps only an
//! Argon2id hash of it ([`Hasher`]). The hash costs some 26 ms of a core and 19 MiB, so one thread makes all of them ([`Passwords`]),
//! paced ([`DutyCycle`]), and a verified login is remembered for a while ([`Remembered`]).

mod duty;
mod hasher;
mod remembered;
mod thread;

pub use duty::{DutyCycle, LoadHint};
pub use hasher::{Cost, DamagedHash, Hasher};
pub use remembered::Remembered;
pub use thread::{Clock, Passwords, PasswordsError};

use md5::{Digest, Md5};
use std::fmt;

/// Digest that a client sends in place of a password: 32 lower-case hex digits of an MD5. Logs never show it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PasswordDigest([u8; 32]);

/// Reason of a refused new password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// It has no characters, or more than clients hash.
    #[error(
        "a password has 1 to {} characters, since clients ignore what comes after",
        PasswordDigest::CHARACTERS_MAX
    )]
    Length,
    /// It holds a line break, a tab or something else that cannot be typed into a login form.
    #[error("a password has no control characters")]
    ControlCharacter,
}

impl PasswordDigest {
    /// Characters that clients hash.
    pub const CHARACTERS_MAX: usize = 16;

    /// Reads `$1$` and 32 hex digits, or the digits alone, in any capitals.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("$1$").unwrap_or(text).as_bytes();
        let digits: [u8; 32] = hex.try_into().ok()?;
        digits.iter().all(u8::is_ascii_hexdigit).then(|| Self(digits.map(|digit| digit.to_ascii_lowercase())))
    }

    /// The digest that clients make of this password.
    ///
    /// # Errors
    /// [`PasswordError`] when two clients could disagree about it.
    pub fn of_password(password: &str) -> Result<Self, PasswordError> {
        if password.is_empty() || password.chars().nth(Self::CHARACTERS_MAX).is_some() {
            return Err(PasswordError::Length);
        }
        if password.chars().any(char::is_control) {
            return Err(PasswordError::ControlCharacter);
        }
        Ok(Self::of_bytes(password.as_bytes()))
    }

    /// True for the digest of the empty password, which no account may have.
    #[must_use]
    pub fn is_of_nothing(&self) -> bool {
        *self == Self::of_bytes(b"")
    }

    /// The hex digits, which are hashed again before they are stored.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn of_bytes(password: &[u8]) -> Self {
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(Md5::digest(password)) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 0xF)];
        }
        Self(digits)
    }
}

impl fmt::Debug for PasswordDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordDigest(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_that_clients_send_is_one_digest() {
        let secret = PasswordDigest::of_password("secret").unwrap();
        for text in [
            "$1$5ebe2294ecd0e0f08eab7690d2a6ee69",
            "5ebe2294ecd0e0f08eab7690d2a6ee69",
            "$1$5EBE2294ECD0E0F08EAB7690D2A6EE69",
        ] {
            assert_eq!(PasswordDigest::parse(text), Some(secret), "{text}");
        }
    }

    #[test]
    fn a_text_that_is_no_digest_is_refused() {
        for text in
            ["", "secret", "$1$", "$1$5ebe2294ecd0e0f08eab7690d2a6ee6", "$1$zebe2294ecd0e0f08eab7690d2a6ee69"]
        {
            assert_eq!(PasswordDigest::parse(text), None, "{text}");
        }
        assert_eq!(PasswordDigest::parse("$1$5ebe2294ecd0e0f08eab7690d2a6ee69 "), None);
    }

    #[test]
    fn passwords_on_which_clients_could_disagree_are_refused() {
        assert!(PasswordDigest::of_password("ümlautümlautümla").is_ok());
        assert_eq!(PasswordDigest::of_password("seventeen letters"), Err(PasswordError::Length));
        assert_eq!(PasswordDigest::of_password(""), Err(PasswordError::Length));
        assert_eq!(PasswordDigest::of_password("a\nb"), Err(PasswordError::ControlCharacter));
    }

    #[test]
    fn the_empty_password_is_known_by_its_digest() {
        assert!(PasswordDigest::parse("$1$d41d8cd98f00b204e9800998ecf8427e").unwrap().is_of_nothing());
        assert!(!PasswordDigest::of_password("x").unwrap().is_of_nothing());
    }

    #[test]
    fn digests_stay_out_of_logs() {
        assert_eq!(format!("{:?}", PasswordDigest::of_password("x").unwrap()), "PasswordDigest(…)");
    }
}
