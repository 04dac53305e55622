//! Messages to users: on the circuit of the avatar, or kept until it has arrived.
//!
//! A session exists from the login on, and its avatar arrives some time later. Messages in between are kept, at most
//! [`UNDELIVERED_MAX`], and delivered in order on arrival. If the session ends before, authors that wait for a reaction get a notice.

use super::messages::Delivery;
use super::session::Session;
use super::{Address, Hub};
use crate::mail::ToShard;
use ids::SessionKey;

/// Messages kept for a session before its avatar's arrival; more are refused, with a notice to their authors.
pub(crate) const UNDELIVERED_MAX: usize = 64;

impl Hub {
    /// Sends or keeps a message; false when the user has no session, or too much is kept already.
    pub(super) fn deliver(&mut self, key: SessionKey, delivery: Delivery) -> bool {
        let Some(session) = self.sessions.get_mut(&key) else { return false };
        if let Some(root) = session.root_binding() {
            let Some(shard) = root.shard else { return false };
            let send = ToShard::Send(root.ticket.circuit, delivery.message);
            self.output.push_back((Address::One(shard), send));
            return true;
        }
        let has_room = session.undelivered.len() < UNDELIVERED_MAX;
        if has_room {
            session.undelivered.push(delivery);
        }
        assert!(
            session.undelivered.len() <= UNDELIVERED_MAX,
            "more messages are kept for {key:?} than may be"
        );
        has_room
    }

    /// The avatar has arrived: its user gets the kept messages.
    pub(super) fn deliver_kept(&mut self, key: SessionKey) {
        for delivery in self.take_undelivered(key) {
            self.deliver(key, delivery);
        }
    }

    pub(super) fn take_undelivered(&mut self, key: SessionKey) -> Vec<Delivery> {
        let take = |session: &mut Session| std::mem::take(&mut session.undelivered);
        self.sessions.get_mut(&key).map(take).unwrap_or_default()
    }

    /// The session of these messages has ended.
    pub(super) fn return_to_senders(&mut self, undelivered: Vec<Delivery>) {
        for receipt in undelivered.into_iter().filter_map(|delivery| delivery.receipt) {
            self.report_undelivered(receipt);
        }
    }
}
