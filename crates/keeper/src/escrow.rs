//! Transfers between a region and the store: their effects on the held objects as far as the disk lacks them, and the node's orders that belong to them.
//!
//! Effects are a log in the order of the tickets. A batch has all of it, with the objects of the same frame, so that a ticket has all of its effects on the
//! disk or none. [`Escrow`] forgets them once they are on the disk, and lets the world forget them, too.

use crate::rows::{RowError, Versions, push_held, read_held};
use ids::{HeldKey, Instant, Ticket, Uuid, WorldId};
use link::{Action, EditRefusal, Event, HeldLinkset, Restoration, Transfer};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use store::{HeldChange, HeldRow};

/// Orders to restore linksets of one region that the world has not answered, at most.
pub(crate) const ORDERS_MAX: usize = 256;

/// Time for which a world may take a transfer back: it goes back to a checkpoint of at most 34 s ago.
const UNDO_TIME: Duration = Duration::from_secs(60);
/// Linksets of answered orders that are remembered for that time, at most. Beyond it the oldest are forgotten, and an undo does not restore them.
const UNDO_MAX: usize = 4_096;

/// An order for a linkset that the store holds: [`Keeper::order_restore`](crate::Keeper::order_restore).
#[derive(Clone, Debug, PartialEq)]
pub struct RestoreOrder {
    /// The linkset, marked for this region: [`store::Store::take_held`].
    pub row: HeldRow,
    /// As in [`Restoration::position`].
    pub position: Option<glam::Vec3>,
    /// As in [`Restoration::ids`].
    pub ids: Uuid,
}

/// Reasons for which an order is not taken. The mark of the linkset is to be taken back, unless it is that of another order.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Too many orders are under way.
    #[error("{ORDERS_MAX} held objects are on their way into the region; try again in a moment")]
    Busy,
    /// It is on its way already, and the mark is that of the order under way.
    #[error("it is on its way into the region")]
    Twice,
    /// The value of the linkset cannot be decoded.
    #[error("it cannot be read: {0}")]
    Row(#[from] RowError),
}

/// Outcome of an order, once it is on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreOutcome {
    /// The linkset.
    pub key: HeldKey,
    /// The world's reason to refuse it; `None` if it is in the region.
    pub refusal: Option<EditRefusal>,
}

/// The linkset of a row.
///
/// # Errors
/// [`RowError`].
pub fn held_linkset(row: &HeldRow) -> Result<HeldLinkset, RowError> {
    read_held(&row.value, Versions::Recent)
}

/// Transfers of one region.
#[derive(Debug)]
pub(crate) struct Escrow {
    region: WorldId,
    /// Seconds since 1970 at the begin of the keeper's time.
    unix_start_s: i64,
    /// The last ticket that was seen.
    last: Ticket,
    /// The last one with its effects on the disk.
    stored: Ticket,
    log: Vec<Logged>,
    orders: BTreeMap<HeldKey, Ordered>,
    /// Linksets of orders that were carried out, the oldest first.
    restored: VecDeque<Restored>,
    outcomes: VecDeque<RestoreOutcome>,
    /// The world is to be told that all up to `stored` is on the disk.
    is_settle_due: bool,
}

#[derive(Debug)]
struct Logged {
    ticket: Ticket,
    seen_at: Instant,
    change: HeldChange,
    outcome: Option<RestoreOutcome>,
}

/// An order without an answer.
#[derive(Debug)]
struct Ordered {
    row: HeldRow,
    restoration: Restoration,
    is_sent: bool,
}

#[derive(Debug)]
struct Restored {
    seen_at: Instant,
    ticket: Ticket,
    row: HeldRow,
}

impl Escrow {
    /// Of a region whose rows have the effects up to this ticket.
    pub(crate) const fn new(region: WorldId, unix_start_s: i64, stored: Ticket) -> Self {
        Self {
            region,
            unix_start_s,
            last: stored,
            stored,
            log: Vec::new(),
            orders: BTreeMap::new(),
            restored: VecDeque::new(),
            outcomes: VecDeque::new(),
            is_settle_due: false,
        }
    }

    /// Takes the transfers of a frame that follows the one before.
    pub(crate) fn take_events(&mut self, now: Instant, events: &[Event]) {
        for event in events {
            if let Event::Transfer(ticket, transfer) = event {
                self.take(now, *ticket, transfer);
            }
        }
    }

    /// Takes all transfers that the world has not forgotten, after a gap or in a later epoch. Orders that have no answer among them may be lost, and go
    /// out again: the world answers each once.
    pub(crate) fn take_snapshot(&mut self, now: Instant, transfers: &[(Ticket, Transfer)]) {
        self.is_settle_due |= transfers.first().is_some_and(|(ticket, _)| *ticket <= self.stored);
        for (ticket, transfer) in transfers {
            self.take(now, *ticket, transfer);
        }
        self.orders.values_mut().for_each(|order| order.is_sent = false);
    }

    /// The last ticket that was seen, with all effects that the disk lacks.
    pub(crate) fn batch(&self) -> (Ticket, Vec<(Ticket, HeldChange)>) {
        let changes = self.log.iter().map(|logged| (logged.ticket, logged.change.clone()));
        (self.last, changes.collect())
    }

    /// Notes that the effects up to a ticket are on the disk.
    pub(crate) fn note_saved(&mut self, ticket: Ticket) {
        if ticket <= self.stored {
            return;
        }
        self.stored = ticket;
        self.is_settle_due = true;
        let n_saved = self.log.partition_point(|logged| logged.ticket <= ticket);
        self.outcomes.extend(self.log.drain(..n_saved).filter_map(|logged| logged.outcome));
    }

    /// Time of the first transfer that is not on the disk.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.log.first().map(|logged| logged.seen_at)
    }

    /// Takes an order, which [`Self::send_orders`] hands to the world.
    pub(crate) fn order(&mut self, order: RestoreOrder) -> Result<(), RestoreError> {
        let RestoreOrder { row, position, ids } = order;
        if self.orders.contains_key(&row.key) {
            return Err(RestoreError::Twice);
        }
        if self.orders.len() >= ORDERS_MAX {
            return Err(RestoreError::Busy);
        }
        let linkset = Arc::new(held_linkset(&row)?);
        let restoration = Restoration { key: row.key, linkset, position, ids };
        self.orders.insert(row.key, Ordered { row, restoration, is_sent: false });
        Ok(())
    }

    /// Hands out the commands that are due, until there is no room for more.
    ///
    /// An order waits until the last transfer of its linkset is settled: until then the world ignores it as answered. Such an order exists if the store
    /// carried out a save that counts as failed.
    pub(crate) fn send_orders(&mut self, mut send: impl FnMut(Action) -> bool) {
        if self.is_settle_due {
            if !send(Action::Settle(self.stored)) {
                return;
            }
            self.is_settle_due = false;
        }
        let answers = self.log.iter().filter_map(|logged| logged.outcome.as_ref());
        let unsettled: Vec<HeldKey> = answers.map(|outcome| outcome.key).collect();
        let is_due = |order: &&mut Ordered| !order.is_sent && !unsettled.contains(&order.row.key);
        for order in self.orders.values_mut().filter(is_due) {
            if !send(Action::Restore(Box::new(order.restoration.clone()))) {
                return;
            }
            order.is_sent = true;
        }
    }

    /// The next outcome of an order.
    pub(crate) fn poll_outcome(&mut self) -> Option<RestoreOutcome> {
        self.outcomes.pop_front()
    }

    fn take(&mut self, now: Instant, ticket: Ticket, transfer: &Transfer) {
        if ticket <= self.last {
            return;
        }
        self.last = ticket;
        self.forget_restored(now);
        match transfer {
            Transfer::Held(linkset) => {
                let row = self.row_of(now, ticket, linkset);
                self.log(now, HeldChange::Insert(row), None);
            }
            Transfer::Restored(key) => {
                if let Some(Ordered { row, .. }) = self.orders.remove(key) {
                    self.restored.push_back(Restored { seen_at: now, ticket, row });
                }
                let outcome = RestoreOutcome { key: *key, refusal: None };
                self.log(now, HeldChange::Remove(*key), Some(outcome));
            }
            Transfer::Refused(key, why) => {
                self.orders.remove(key);
                let outcome = RestoreOutcome { key: *key, refusal: Some(*why) };
                self.log(now, HeldChange::Release(*key), Some(outcome));
            }
            Transfer::Undone { first, last } => self.undo(now, *first, *last),
        }
    }

    /// Takes the effects of tickets back: linksets that had left the region are in it, and those that had come into it are held again.
    fn undo(&mut self, now: Instant, first: Ticket, last: Ticket) {
        self.log(now, HeldChange::Undo { first, last }, None);
        let undone = first..=last;
        for Restored { seen_at, ticket, row } in std::mem::take(&mut self.restored) {
            if !undone.contains(&ticket) {
                self.restored.push_back(Restored { seen_at, ticket, row });
            } else if row.key.region != self.region || !undone.contains(&row.key.ticket) {
                self.log(now, HeldChange::Insert(row), None);
            }
        }
    }

    fn log(&mut self, now: Instant, change: HeldChange, outcome: Option<RestoreOutcome>) {
        self.log.push(Logged { ticket: self.last, seen_at: now, change, outcome });
    }

    fn row_of(&self, now: Instant, ticket: Ticket, linkset: &HeldLinkset) -> HeldRow {
        let mut value = Vec::new();
        push_held(&mut value, linkset);
        let passed = now.since(Instant::ZERO).as_secs();
        HeldRow {
            key: HeldKey { region: self.region, ticket },
            owner: linkset.owner,
            kind: linkset.kind.code(),
            by: linkset.by,
            held_s: self.unix_start_s.saturating_add_unsigned(passed),
            value: value.into(),
        }
    }

    fn forget_restored(&mut self, now: Instant) {
        let is_final = |restored: &Restored| now.since(restored.seen_at) > UNDO_TIME;
        while self.restored.len() >= UNDO_MAX || self.restored.front().is_some_and(is_final) {
            self.restored.pop_front();
        }
    }
}
