//! A message on its way through its handler, and the result.

use super::ClientIndex;
use super::counters::Refused;
use super::outbox::Outbox;
use crate::coverage::MessageOutcome;
use ids::Instant;
use wire::Malformed;
use wire::messages::MessageName;

/// An arrived message: its client, and the output for immediate replies.
pub(super) struct Incoming<'a> {
    pub(super) now: Instant,
    pub(super) index: ClientIndex,
    /// The message, unless the protocol does not have it.
    pub(super) name: Option<MessageName>,
    pub(super) out: &'a mut Outbox,
}

/// Reasons for dropping a message.
pub(super) enum Drop {
    Malformed(Malformed),
    Refused(Refused),
}

impl From<Malformed> for Drop {
    fn from(why: Malformed) -> Self {
        Self::Malformed(why)
    }
}

impl From<Refused> for Drop {
    fn from(why: Refused) -> Self {
        Self::Refused(why)
    }
}

/// Result of a message.
pub(super) type Handled = Result<MessageOutcome, Drop>;
