//! Gifts between users. Instant messages about them become orders for inventories ([`super::inventory`]), and the results of an order for another user are
//! delivered here.
//!
//! A gift is in the receiver's inventory once its order is carried out, and its offer waits in the store until the receiver has been shown it. A user is shown
//! waiting offers when the avatar has arrived ([`GiftRequest::Announce`]), and later ones at once. Since orders are carried out one after the other, an offer
//! is either in the announcement or comes behind it. Shown offers are reported to the store about once a second and at the session's end
//! ([`GiftRequest::Shown`]); after a crash in between some are shown again.

use super::inventory::{INVENTORY_HELD_MAX, InventoryOrder};
use super::messages::{alert_message, encoded};
use super::{Hub, Session};
use crate::mail::{InstantMessage, dialog};
use grid::inventory::{GiftAnswer, GiftOffer, GiftRequest, InventoryNotice, InventoryTask};
use ids::{SessionKey, Uuid};
use link::CircuitKey;

/// Shown offers of a session that are still to be reported; more wait for the next login.
const SHOWN_MAX: usize = 1_024;
/// Text of the alert for an offer without an item.
const NO_THING: &str = "Nothing was given: your viewer does not say what it is.";
/// Text of the alert for the giver of a gift to an absent user.
const ABSENT: &str = "The user is not online. The gift waits in the user's inventory.";

/// Offers of gifts to the user of a session.
#[derive(Debug, Default)]
pub(crate) struct SessionGifts {
    announcement: Announcement,
    /// Offers shown to the user, and not reported yet; at most [`SHOWN_MAX`].
    shown: Vec<Uuid>,
}

/// The announcement of the waiting offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Announcement {
    /// An announcement to be ordered once the avatar has arrived.
    #[default]
    Due,
    /// An ordered announcement: later offers are in it, or come behind it.
    Ordered,
    /// A shown announcement.
    Done,
}

impl Session {
    /// True if gifts need an order.
    const fn has_gifts_to_keep(&self) -> bool {
        !self.gifts.shown.is_empty() || self.is_announcement_due()
    }

    const fn is_announcement_due(&self) -> bool {
        self.root.is_some() && matches!(self.gifts.announcement, Announcement::Due)
    }
}

impl Hub {
    /// Orders the change that an instant message about a gift requests.
    pub(super) fn order_gift(&mut self, from: CircuitKey, message: &InstantMessage) {
        let request = if message.dialog == dialog::INVENTORY_OFFERED {
            GiftOffer::of_bucket(message.to, message.id, &message.bucket).map(GiftRequest::Offer)
        } else {
            let accepts = message.dialog == dialog::INVENTORY_ACCEPTED;
            Some(GiftRequest::Answer(GiftAnswer::of_bucket(message.id, accepts, &message.bucket)))
        };
        match request {
            Some(request) => self.order_inventory(from, request.into()),
            None => self.send_on(from, alert_message(NO_THING)),
        }
    }

    /// Delivers the results of an order for a user: rows of the inventory, and an offer if the user can be shown it now. `from` is the circuit of the order.
    pub(super) fn deliver_notice(&mut self, from: CircuitKey, notice: InventoryNotice) {
        let InventoryNotice { to, mut messages, offer } = notice;
        let Some(&key) = self.by_agent.get(&to) else {
            if offer.is_some() {
                self.send_on(from, alert_message(ABSENT));
            }
            return;
        };
        let shown = offer.and_then(|offer| Some((offer, messages.pop()?)));
        for message in messages {
            self.send(key, encoded(|out| message.encode(out)));
        }
        let Some((offer, message)) = shown else { return };
        let has_arrived = self.arrived(key).is_ok();
        let Some(session) = self.sessions.get_mut(&key) else { return };
        if !has_arrived {
            // It changes regions, or has just logged in: the offer is shown at the arrival.
            session.gifts.announcement = Announcement::Due;
        } else if session.gifts.announcement == Announcement::Done
            && session.gifts.shown.len() < SHOWN_MAX
            && self.send(key, encoded(|out| message.encode(out)))
            && let Some(session) = self.sessions.get_mut(&key)
        {
            session.gifts.shown.push(offer);
        }
    }

    /// Shows a user the waiting offers, if the avatar has arrived and the announcement is due. Without room for the order it stays due.
    pub(super) fn announce_gifts(&mut self, key: SessionKey) {
        if !self.sessions.get(&key).is_some_and(Session::is_announcement_due) {
            return;
        }
        // Shown offers are reported first, so that they are not among the waiting ones.
        self.report_shown(key);
        if self.order_for_user(key, GiftRequest::Announce)
            && let Some(session) = self.sessions.get_mut(&key)
        {
            session.gifts.announcement = Announcement::Ordered;
        }
    }

    /// Reports the shown offers to the store. Without room for the order they are kept here.
    pub(super) fn report_shown(&mut self, key: SessionKey) {
        if self.inventory.len() >= INVENTORY_HELD_MAX {
            return;
        }
        let Some(session) = self.sessions.get_mut(&key) else { return };
        let shown = std::mem::take(&mut session.gifts.shown);
        if !shown.is_empty() {
            self.order_for_user(key, GiftRequest::Shown(shown));
        }
    }

    /// Orders the announcements and reports of gifts that are due.
    pub(super) fn keep_gifts(&mut self) {
        let due = self.sessions.values().filter(|session| session.has_gifts_to_keep());
        let due: Vec<SessionKey> = due.map(|session| session.key).collect();
        for key in due {
            self.report_shown(key);
            self.announce_gifts(key);
        }
    }

    /// The announcement of a session has been carried out, or could not be; then the offers wait for the next login.
    pub(super) fn end_announcement(&mut self, order: &InventoryOrder) {
        if !matches!(order.task, InventoryTask::Gift(GiftRequest::Announce)) {
            return;
        }
        if let Some(session) = self.sessions.get_mut(&order.circuit.session)
            && session.gifts.announcement == Announcement::Ordered
        {
            session.gifts.announcement = Announcement::Done;
        }
    }

    /// Queues an order of the server for a user. False if there is no room for it.
    pub(super) fn order_for_user(&mut self, key: SessionKey, request: impl Into<InventoryTask>) -> bool {
        if self.inventory.len() >= INVENTORY_HELD_MAX {
            return false;
        }
        let Some(session) = self.sessions.get(&key) else { return false };
        let order = InventoryOrder {
            circuit: session.circuit(session.root.or(session.pending).unwrap_or_default()),
            agent: session.agent,
            secure_session: session.secure_session_id,
            task: request.into(),
            standing: None,
        };
        self.inventory.push_back(order);
        true
    }
}
