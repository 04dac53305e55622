//! Login request of a client.

use super::{LoginDenial, LoginStart};
use crate::password::PasswordDigest;
use wire::llsd::Llsd;

/// The used fields of a login request. The client's `options` are not among them: every reply carries everything, which all clients
/// take.
#[derive(Clone, Debug, PartialEq)]
pub struct LoginRequest {
    /// First name as typed.
    pub first: String,
    /// Last name as typed; may be empty.
    pub last: String,
    /// Digest of the password.
    pub digest: PasswordDigest,
    /// Requested place.
    pub start: LoginStart,
    /// The client's name, for the log.
    pub channel: String,
    /// Its version, for the log.
    pub version: String,
    /// The user has agreed to the terms.
    pub agrees_to_terms: bool,
    /// The user has read the notice.
    pub has_read_notice: bool,
}

/// Characters of a text field at most: they go into logs.
const TEXT_MAX: usize = 128;

impl LoginRequest {
    /// Reads the struct of a `login_to_simulator` call. Any scalar is taken as text or boolean, since the same field
    /// arrives as `<int>`, `<boolean>` or `<string>`.
    ///
    /// # Errors
    /// [`LoginDenial::Malformed`] with the field at fault.
    pub fn from_llsd(call: &Llsd) -> Result<Self, LoginDenial> {
        let text = |field: &str| {
            call.get(field).to_text().map(|text| text.chars().take(TEXT_MAX).collect::<String>())
        };
        let digest = text("passwd").and_then(|text| PasswordDigest::parse(&text));
        Ok(Self {
            first: text("first").ok_or(LoginDenial::Malformed("first"))?,
            last: text("last").unwrap_or_default(),
            digest: digest.ok_or(LoginDenial::Malformed("passwd"))?,
            start: LoginStart::parse(&text("start").unwrap_or_default()),
            channel: text("channel").unwrap_or_default(),
            version: text("version").unwrap_or_default(),
            agrees_to_terms: call.get("agree_to_tos").as_bool().unwrap_or(false),
            has_read_notice: call.get("read_critical").as_bool().unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "$1$5ebe2294ecd0e0f08eab7690d2a6ee69";

    fn call(extra: &[(&str, Llsd)]) -> Llsd {
        let fields = [("first", "Ada".into()), ("last", "Lovelace".into()), ("passwd", DIGEST.into())];
        Llsd::map(fields.into_iter().chain(extra.iter().cloned()))
    }

    #[test]
    fn agreement_is_read_from_every_scalar() {
        for yes in [Llsd::Integer(1), Llsd::Boolean(true), "true".into(), "1".into()] {
            let request = LoginRequest::from_llsd(&call(&[("agree_to_tos", yes.clone())])).unwrap();
            assert!(request.agrees_to_terms, "{yes:?}");
        }
        for no in [Llsd::Integer(0), Llsd::Undef, "false".into(), Llsd::array([1])] {
            let request = LoginRequest::from_llsd(&call(&[("agree_to_tos", no.clone())])).unwrap();
            assert!(!request.agrees_to_terms, "{no:?}");
        }
    }

    #[test]
    fn a_name_made_of_digits_may_arrive_as_a_number() {
        let request = LoginRequest::from_llsd(&call(&[("first", Llsd::Integer(1984))])).unwrap();
        assert_eq!(request.first, "1984");
    }

    #[test]
    fn optional_fields_have_defaults() {
        let request =
            LoginRequest::from_llsd(&Llsd::map([("first", "Ada".into()), ("passwd", DIGEST.into())]))
                .unwrap();
        assert_eq!(
            (request.last.as_str(), request.start, request.channel.as_str()),
            ("", LoginStart::Last, "")
        );
    }

    #[test]
    fn missing_or_wrong_fields_are_named() {
        for (call, field) in [
            (Llsd::Undef, "first"),
            (Llsd::map([("passwd", DIGEST)].map(|(key, value)| (key, value.into()))), "first"),
            (Llsd::map([("first", "Ada")].map(|(key, value)| (key, value.into()))), "passwd"),
            (call(&[("passwd", "plain text".into())]), "passwd"),
            (call(&[("first", Llsd::array([1]))]), "first"),
        ] {
            assert_eq!(LoginRequest::from_llsd(&call), Err(LoginDenial::Malformed(field)), "{call:?}");
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let request = LoginRequest::from_llsd(&call(&[("channel", "ü".repeat(5_000).into())])).unwrap();
        assert_eq!(request.channel.chars().count(), TEXT_MAX);
    }
}
