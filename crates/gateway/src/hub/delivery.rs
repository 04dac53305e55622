//! Messages to users: on the circuit behind which the avatar is, or kept until it has arrived.
//!
//! A session exists from the login on, and its avatar arrives some time later. What is sent to the user in between is kept, at most
//! [`UNDELIVERED_MAX`] messages, and delivered in order on arrival. If the session ends before, the authors of written messages are told.

use super::messages::Delivery;
use super::session::Session;
use super::{Address, Hub};
use crate::mail::ToShard;
use ids::SessionKey;

/// Messages kept for a session whose avatar has not arrived; more are refused, and their authors told.
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

    /// The avatar has arrived: its user gets what was kept.
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
            self.tell_undelivered(receipt);
        }
    }
}
