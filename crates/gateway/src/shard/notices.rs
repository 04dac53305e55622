//! Notices on a client's messages that were not carried out: each message is in a notice within a second.
//!
//! A client may send hundreds of such messages in a second, and a notice is a box on its user's screen. The first message of a
//! [`NoticeKind`] brings a notice at once; those that follow within [`NOTICE_PERIOD`] are counted, and one notice at its end states
//! their number. The kinds are as many as the protocol has messages, which bounds the table.

use super::incoming::Incoming;
use super::outbox::Outbox;
use super::{ClientIndex, Shard};
use crate::coverage::{Feature, MessageOutcome};
use ids::Instant;
use link::{EditRefusal, LandRefusal};
use std::collections::BTreeMap;
use std::time::Duration;
use wire::messages::{AlertMessage, AlertMessageAlertData, MessageName};
use wire::text::{VARIABLE1_MAX, to_wire};

/// Least time between two notices of a kind to one client. With the period of a client's turns it stays below a second.
pub(super) const NOTICE_PERIOD: Duration = Duration::from_millis(800);

/// Reasons for not carrying out a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NoticeKind {
    /// The protocol has no negative reply to this message, which asks for a part of it that does not exist.
    Missing(Feature, Option<MessageName>),
    /// They were above the client's share ([`super::token_bucket::TokenBucket`]).
    Flood,
    /// A value is out of its range, or longer than it may be.
    BadValue,
    /// More came before the avatar's arrival than is kept ([`super::held`]).
    Unkept,
    /// The world has refused a change of objects.
    Edit(EditRefusal),
    /// The world has refused a change of its land.
    Land(LandRefusal),
    /// The avatar was moved out of a parcel that is closed to it.
    PutOut,
}

impl NoticeKind {
    /// The text of the AlertMessage that stands for `n` messages.
    fn text(self, n: u32) -> String {
        match self {
            Self::Missing(feature, _) if n == 1 => feature.to_string(),
            Self::Missing(feature, _) => format!("{feature} Requests refused: {n}."),
            Self::Flood => format!("You are sending too much at once. Messages not carried out: {n}."),
            Self::BadValue => {
                format!(
                    "Your viewer has sent a value that is too long or unknown. Messages not carried out: {n}."
                )
            }
            Self::Edit(reason) if n == 1 => edit_text(reason).to_owned(),
            Self::Edit(reason) => format!("{} Requests refused: {n}.", edit_text(reason)),
            Self::Land(reason) if n == 1 => reason.to_string(),
            Self::Land(reason) => format!("{reason} Requests refused: {n}."),
            Self::PutOut => "You may not be on that parcel, and were moved out of it.".to_owned(),
            Self::Unkept => {
                format!("You have sent more than is kept until you arrive. Messages not carried out: {n}.")
            }
        }
    }
}

/// Text of the notice on a refused change of objects.
const fn edit_text(reason: EditRefusal) -> &'static str {
    match reason {
        EditRefusal::NotBuiltOn => "Objects cannot be built or changed here.",
        EditRefusal::Unknown => "That object is not there any more.",
        EditRefusal::Rights => "You are not allowed to change that object in this way.",
        EditRefusal::BadNumber | EditRefusal::BadValue => {
            "Your viewer has sent a value that no object can have."
        }
        EditRefusal::TooManyObjects => "Your viewer has named more objects than a request can have.",
        EditRefusal::Full => "This region has as many objects as it can hold.",
        EditRefusal::TooFast => "You are building too fast. Try again in a moment.",
        EditRefusal::TooManyParts => "An object cannot have that many parts.",
        EditRefusal::Itself => "An object cannot be linked to itself.",
        EditRefusal::OtherOwner => "Objects of different owners cannot be linked.",
        EditRefusal::TooFar => "The parts of an object cannot be that far from each other.",
        EditRefusal::Outside => "That place is outside of the region.",
        EditRefusal::NotForSale => "That object is not for sale under these terms.",
        EditRefusal::NoHistory => "There is nothing to undo or redo.",
        EditRefusal::Part => "That is possible for whole objects only, not for their parts.",
        EditRefusal::Attached => "That object is worn.",
        EditRefusal::NoOwner => "You have no avatar here that could own the object.",
        EditRefusal::Twice => "There is an object with that id already.",
        EditRefusal::Unsupported => "This server does not have what your viewer has just asked for.",
        EditRefusal::NoBuilding => "The owner of this land does not let you build here.",
        EditRefusal::NoEntry => "The owner of that land does not let objects of others enter it.",
        EditRefusal::ParcelFull => "That parcel has as many objects as it can hold.",
        EditRefusal::TooManyPhysical => "This region has as many physical objects as it can hold.",
        EditRefusal::NotSaved => {
            "The server cannot save changes of objects at the moment. Please try again later."
        }
        EditRefusal::HeldFull => {
            "The server holds as many objects for their owner as it can. They stay here."
        }
    }
}

/// The notices of one client.
#[derive(Debug, Default)]
pub(super) struct Notices {
    /// By kind: when the last one was sent, and how many messages came since.
    sent: BTreeMap<NoticeKind, (Instant, u32)>,
    /// Due time of the first notice with a number.
    due_at: Option<Instant>,
}

impl Notices {
    /// Counts a message; true when a notice of it is to be sent now.
    fn count_message(&mut self, now: Instant, kind: NoticeKind) -> bool {
        let Some((sent_at, owed)) = self.sent.get_mut(&kind) else {
            self.sent.insert(kind, (now, 0));
            return true;
        };
        let due_at = *sent_at + NOTICE_PERIOD;
        if *owed == 0 && due_at <= now {
            *sent_at = now;
            return true;
        }
        *owed += 1;
        self.due_at = Some(self.due_at.map_or(due_at, |at| at.min(due_at)));
        false
    }

    /// A notice that is due, with the number of messages that it stands for.
    fn poll_due(&mut self, now: Instant) -> Option<(NoticeKind, u32)> {
        if self.due_at.is_none_or(|due_at| due_at > now) {
            return None;
        }
        let is_due = |&(sent_at, owed): &(Instant, u32)| owed > 0 && sent_at + NOTICE_PERIOD <= now;
        let found = self.sent.iter_mut().find(|(_, row)| is_due(row));
        let Some((&kind, row)) = found else {
            let owing = self.sent.values().filter(|(_, owed)| *owed > 0);
            self.due_at = owing.map(|&(sent_at, _)| sent_at + NOTICE_PERIOD).min();
            return None;
        };
        let (_, owed) = std::mem::replace(row, (now, 0));
        Some((kind, owed))
    }
}

impl Shard {
    /// Refuses a request for a feature that does not exist.
    pub(super) fn refuse_feature(&mut self, at: &mut Incoming<'_>, feature: Feature) -> MessageOutcome {
        let kind = NoticeKind::Missing(feature, at.name);
        self.notify(at.now, at.index, kind, at.out);
        MessageOutcome::Refused
    }

    /// Sends a client a notice that a message was not carried out: now, or with others within [`NOTICE_PERIOD`].
    pub(super) fn notify(&mut self, now: Instant, index: ClientIndex, kind: NoticeKind, out: &mut Outbox) {
        if self.client(index).notices.count_message(now, kind) {
            self.send_notice(now, index, kind, 1, out);
        }
    }

    /// Sends the notices that state how many messages were not carried out.
    pub(super) fn send_due_notices(&mut self, now: Instant, index: ClientIndex, out: &mut Outbox) {
        while let Some((kind, n)) = self.client(index).notices.poll_due(now) {
            self.send_notice(now, index, kind, n, out);
        }
    }

    fn send_notice(&mut self, now: Instant, index: ClientIndex, kind: NoticeKind, n: u32, out: &mut Outbox) {
        let message = to_wire(&kind.text(n), VARIABLE1_MAX);
        let alert_data = AlertMessageAlertData { message };
        let mut body = Vec::new();
        AlertMessage { alert_data, ..AlertMessage::default() }.encode(&mut body);
        self.send_reliable(now, index, &body, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_notice_of_a_kind_is_logged_at_once_and_the_count_of_the_others_within_a_second() {
        let groups = NoticeKind::Missing(Feature::Groups, Some(MessageName::ActivateGroup));
        let others = NoticeKind::Missing(Feature::Groups, Some(MessageName::UpdateGroupInfo));
        let mut notices = Notices::default();
        let start = Instant::from_millis(1_000);
        assert!(
            notices.count_message(start, groups)
                && notices.count_message(start, others)
                && notices.count_message(start, NoticeKind::Flood)
        );
        let soon = start + NOTICE_PERIOD / 2;
        assert!((0..7).all(|_| !notices.count_message(soon, groups)));
        assert_eq!(notices.poll_due(soon), None);
        let later = start + NOTICE_PERIOD;
        assert_eq!(notices.poll_due(later), Some((groups, 7)));
        assert_eq!(notices.poll_due(later), None);
        assert!(!notices.count_message(later, groups), "a notice has just been sent");
        assert_eq!(notices.poll_due(later + NOTICE_PERIOD), Some((groups, 1)));
        assert!(notices.count_message(later + NOTICE_PERIOD, others));
    }
}
