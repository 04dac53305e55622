//! Reasons of refused logins, in the form that clients understand (a reply with `login` = `false`, `reason` and `message`).

use crate::attempts::TooManyAttempts;
use crate::names::NameError;
use std::time::Duration;
use wire::llsd::Llsd;

/// Reason of a refused login. The gateway adds those that only it knows (full, draining).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginDenial {
    /// The request is no login: this field is missing or of a wrong form.
    Malformed(&'static str),
    /// No such account, or another password: strangers learn not which.
    BadCredentials,
    /// The account would be created now, but its name is not permitted.
    Name(NameError),
    /// The account is banned for this reason.
    Banned(String),
    /// The terms of this grid must be agreed to first; this is their text.
    Terms(String),
    /// A notice must be read first; this is its text.
    Notice(String),
    /// Too many failed attempts.
    RateLimited(Duration),
    /// Too many logins wait for their turn.
    Busy,
    /// The region asked for has no room.
    RegionFull(String),
    /// The server has no room.
    ServerFull,
    /// The server has no memory for more people.
    NoMemory,
    /// The server lacks CPU time for the present clients.
    Overloaded,
    /// The operator has closed logins; this is the sentence for users.
    Closed(String),
    /// The server is about to stop.
    Draining,
    /// An internal failure; its cause is in the log.
    Internal,
}

impl LoginDenial {
    /// The word that clients act on: `key` asks for the password again, `tos` and `critical` show a text to agree to,
    /// `presence` is a condition that passes.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) | Self::BadCredentials | Self::Name(_) => "key",
            Self::Terms(_) => "tos",
            Self::Notice(_) => "critical",
            Self::Banned(_)
            | Self::RateLimited(_)
            | Self::Busy
            | Self::RegionFull(_)
            | Self::ServerFull
            | Self::NoMemory
            | Self::Overloaded
            | Self::Closed(_)
            | Self::Draining
            | Self::Internal => "presence",
        }
    }

    /// The sentence that the user reads.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Malformed(field) => {
                format!(
                    "This login request cannot be understood: the field \"{field}\" is missing or has a wrong form."
                )
            }
            Self::BadCredentials => {
                "The name or the password is wrong. Please check both and try again.".into()
            }
            Self::Name(error) => format!("There is no account of this name, and none can be made: {error}."),
            Self::Banned(reason) => format!("This account is banned: {reason}"),
            Self::Terms(text) | Self::Notice(text) | Self::Closed(text) => text.clone(),
            Self::RateLimited(wait) => {
                format!("Too many failed attempts. Please try again in {} seconds.", wait.as_secs() + 1)
            }
            Self::Busy => "Very many people are logging in. Please try again in a minute.".into(),
            Self::RegionFull(region) => {
                format!("The region {region} is full. Please choose another one or try again later.")
            }
            Self::ServerFull | Self::NoMemory => "The server is full. Please try again later.".into(),
            Self::Overloaded => "The server has more to do than it can. Please try again in a minute.".into(),
            Self::Draining => "The server is about to restart. Please try again in a minute.".into(),
            Self::Internal => {
                "Something went wrong on the server. Its operator can find the cause in the log.".into()
            }
        }
    }

    /// Name of the reason in metrics.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::BadCredentials => "bad_credentials",
            Self::Name(_) => "bad_name",
            Self::Banned(_) => "banned",
            Self::Terms(_) => "terms",
            Self::Notice(_) => "notice",
            Self::RateLimited(_) => "rate_limited",
            Self::Busy => "busy",
            Self::RegionFull(_) => "region_full",
            Self::ServerFull => "server_full",
            Self::NoMemory => "no_memory",
            Self::Overloaded => "overloaded",
            Self::Closed(_) => "closed",
            Self::Draining => "draining",
            Self::Internal => "internal",
        }
    }

    /// The reply as the value of an XML-RPC response. `login` is text, since one client knows no other boolean.
    #[must_use]
    pub fn to_llsd(&self) -> Llsd {
        Llsd::map([
            ("login", Llsd::from("false")),
            ("reason", self.reason().into()),
            ("message", self.message().into()),
        ])
    }
}

impl From<TooManyAttempts> for LoginDenial {
    fn from(refused: TooManyAttempts) -> Self {
        Self::RateLimited(refused.retry_after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_a_word_that_clients_know() {
        let all = [
            (LoginDenial::Malformed("first"), "key"),
            (LoginDenial::BadCredentials, "key"),
            (LoginDenial::Name(NameError::Reserved), "key"),
            (LoginDenial::Banned("spam".into()), "presence"),
            (LoginDenial::Terms("Be nice.".into()), "tos"),
            (LoginDenial::Notice("Read me.".into()), "critical"),
            (LoginDenial::RateLimited(Duration::from_secs(9)), "presence"),
            (LoginDenial::Busy, "presence"),
            (LoginDenial::RegionFull("Plaza".into()), "presence"),
            (LoginDenial::ServerFull, "presence"),
            (LoginDenial::Closed("Later.".into()), "presence"),
            (LoginDenial::Draining, "presence"),
            (LoginDenial::Internal, "presence"),
        ];
        let labels: std::collections::BTreeSet<_> = all.iter().map(|(refusal, _)| refusal.label()).collect();
        assert_eq!(labels.len(), all.len(), "each reason is counted apart");
        for (refusal, reason) in all {
            let reply = refusal.to_llsd();
            assert_eq!(reply.get("login").as_str(), Some("false"));
            assert_eq!(reply.get("reason").as_str(), Some(reason));
            assert!(reply.get("message").as_str().is_some_and(|message| !message.is_empty()));
        }
    }

    #[test]
    fn a_refusal_names_its_reason_and_its_end() {
        assert_eq!(LoginDenial::Banned("griefing".into()).message(), "This account is banned: griefing");
        assert!(LoginDenial::RateLimited(Duration::from_millis(29_500)).message().contains("in 30 seconds"));
        assert!(LoginDenial::RegionFull("Plaza".into()).message().contains("Plaza"));
    }
}
