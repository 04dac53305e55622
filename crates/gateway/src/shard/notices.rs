//! Notices on a client's messages that were not carried out: each message is in a notice within a second.
//!
//! A client may send hundreds of such messages in a second, and a notice is a box on its user's screen. The first message of a
//! [`NoticeKind`] brings a notice at once; those that follow within [`NOTICE_PERIOD`] are counted, and one notice at its end states
//! their number. The kinds are as many as the protocol has messages, which bounds the table.

use super::client_uploads::FileTrouble;
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
    /// A change came by another way than messages, and there is no avatar yet to make it.
    NoAvatar,
    /// A change of objects or land came on a circuit that the avatar had left.
    Elsewhere,
    /// The world has refused a change of objects.
    Edit(EditRefusal),
    /// The world has refused a change of its land.
    Land(LandRefusal),
    /// The avatar was moved out of a parcel that is closed to it.
    PutOut,
    /// A file was not taken.
    Upload(FileTrouble),
    /// The avatar wears as many objects as it may.
    WornFull(u32),
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
            Self::Edit(reason) if n == 1 => reason.text().to_owned(),
            Self::Edit(reason) => format!("{} Requests refused: {n}.", reason.text()),
            Self::Land(reason) if n == 1 => reason.to_string(),
            Self::Land(reason) => format!("{reason} Requests refused: {n}."),
            Self::PutOut => "You may not be on that parcel, and were moved out of it.".to_owned(),
            Self::Upload(why) if n == 1 => format!("The upload is refused: {}.", why.text()),
            Self::Upload(why) => format!("{n} uploads are refused: {}.", why.text()),
            Self::WornFull(max) => {
                format!("Your avatar wears {max} objects at most. Take something off first.")
            }
            Self::Unkept => {
                format!("You have sent more than is kept until you arrive. Messages not carried out: {n}.")
            }
            Self::NoAvatar => {
                format!("You have not arrived in the region yet. Changes not carried out: {n}.")
            }
            Self::Elsewhere => {
                format!("You are in another place than you changed. Changes not carried out: {n}.")
            }
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
