//! Transfers between a region and the store: their effects on held objects and inventories as far as the disk lacks them, and the node's orders that belong to them.
//!
//! Effects are a log in the order of the tickets. A batch has all of it, with the objects of the same frame, so that a ticket has all of its effects on the
//! disk or none. [`Escrow`] forgets them once they are on the disk, and lets the world forget them, too. What it remembers beyond that, for a world that goes back
//! to a checkpoint, is in `recent`.

mod recent;

use crate::items::{content_transfer, item_of, origin_of};
use crate::rows::{RowError, held_object, push_held};
use crate::worn::{TrackedWorn, WornEffect, WornObject, arrival};
use ids::{AgentId, HeldKey, Instant, Ticket, Uuid, WorldId};
use link::{
    Action, ContentReplacement, ContentRezzing, EditRefusal, Event, HeldItem, HeldObject, ItemRestoration,
    Restoration, RestorePlace, Transfer, WornTransfer,
};
use prim::ContentItem;
use recent::{RecentTransfers, RecentWorn, RecentWornChange, Undone};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use store::{HeldChange, HeldRow, Item, ItemEffect, ItemOrigin};

/// Orders to put objects into one region that the world has not answered, at most.
pub(crate) const ORDERS_MAX: usize = 256;

/// An order for an object that the store holds, or that an item describes: [`Keeper::order_restore`](crate::Keeper::order_restore).
#[derive(Clone, Debug, PartialEq)]
pub struct RestoreOrder {
    /// The object.
    pub source: RestoreSource,
    /// As in [`Restoration::place`].
    pub place: RestorePlace,
    /// As in [`Restoration::ids`]. No two orders have the same.
    pub ids: Uuid,
}

/// The object of an order.
#[derive(Clone, Debug, PartialEq)]
pub enum RestoreSource {
    /// An object that the store holds in a row, marked for this region: [`store::Store::take_held`].
    Held(HeldRow),
    /// The object of an item that goes with it, marked for this region: [`store::Store::mark_item`].
    Item {
        /// Key of the mark.
        key: HeldKey,
        /// Owner of the item.
        owner: AgentId,
        /// The item as it is.
        item: Box<Item>,
        /// The object.
        object: Arc<HeldObject>,
    },
    /// The object of an item that stays.
    Copy(Arc<HeldObject>),
    /// The object of an item in a prim of the region, as in [`ContentRezzing`].
    Content {
        /// Id of the prim.
        holder: Uuid,
        /// The item as it is there.
        item: Arc<ContentItem>,
        /// The object, as its user would have it.
        object: Arc<HeldObject>,
    },
}

/// An order for an item that goes into a prim: [`Keeper::order_item`](crate::Keeper::order_item).
#[derive(Clone, Debug, PartialEq)]
pub struct ItemOrder {
    /// The item as it is with its owner, marked for this region: [`store::Store::mark_item`]. `None` for a copy of one that stays, and for a new one: then
    /// `restoration` has no mark, either.
    pub marked: Option<(AgentId, Box<Item>)>,
    /// Prim, user, mark, and the item as it comes into the prim: [`content_of`](crate::content_of).
    pub restoration: ItemRestoration,
}

/// An order, by the mark of its object or item; without a mark by [`RestoreOrder::ids`], by the item's id in the prim, or by the asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrderKey {
    /// Key of an order for a marked object or item.
    Marked(HeldKey),
    /// Key of another order.
    Copy(Uuid),
}

/// An order of any kind: [`Keeper::order`](crate::Keeper::order).
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// An order for an object.
    Object(RestoreOrder),
    /// An order for an item that goes into a prim.
    Item(ItemOrder),
    /// An order for other content of an item of a prim.
    Content(ContentReplacement),
}

impl Order {
    /// Its key.
    #[must_use]
    pub fn key(&self) -> OrderKey {
        match self {
            Self::Object(order) => order.key(),
            Self::Item(order) => order.key(),
            Self::Content(order) => OrderKey::Copy(order.asset),
        }
    }
}

impl ItemOrder {
    /// Its key.
    #[must_use]
    pub fn key(&self) -> OrderKey {
        let ItemRestoration { key, item, .. } = &self.restoration;
        key.map_or(OrderKey::Copy(item.id), OrderKey::Marked)
    }
}

impl RestoreOrder {
    /// Its key.
    #[must_use]
    pub const fn key(&self) -> OrderKey {
        match &self.source {
            RestoreSource::Held(row) => OrderKey::Marked(row.key),
            RestoreSource::Item { key, .. } => OrderKey::Marked(*key),
            RestoreSource::Copy(_) | RestoreSource::Content { .. } => OrderKey::Copy(self.ids),
        }
    }
}

/// Reasons to refuse an order. The mark of the object is to be taken back, unless it belongs to another order.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Too many orders are under way.
    #[error("{ORDERS_MAX} objects are on their way into the region; try again in a moment")]
    Busy,
    /// The object is on its way already, and the mark belongs to the order under way.
    #[error("it is on its way into the region")]
    Twice,
    /// The item came by a ticket that is undone: the region has its object, and the disk loses the item.
    #[error("the region has gone back to a time when the object lay there")]
    Undone,
    /// The value of the object cannot be decoded.
    #[error("it cannot be read: {0}")]
    Row(#[from] RowError),
}

/// Outcome of an order: of a marked object or item, and of content, once it is on the disk; of another one once a frame has shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreOutcome {
    /// The order.
    pub order: OrderKey,
    /// The world's reason to refuse it; `None` if the object is in the region.
    pub refusal: Option<EditRefusal>,
}

/// Transfers of one region.
#[derive(Debug)]
pub(crate) struct Escrow {
    region: WorldId,
    /// Seconds since 1970 at the begin of the keeper's time.
    unix_start_s: i64,
    /// The last ticket that was seen.
    last: Ticket,
    /// The last ticket with its effects on the disk.
    stored: Ticket,
    log: Vec<Logged>,
    orders: BTreeMap<OrderKey, Ordered>,
    recent: RecentTransfers,
    outcomes: VecDeque<RestoreOutcome>,
    /// The order to settle all tickets up to `stored` is due.
    is_settle_due: bool,
    /// Ticket by which the world has reported that it has gone back, until the order to settle it is sent. The world carries out no other order before.
    undone: Option<Ticket>,
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
    former: Former,
    action: Action,
    is_sent: bool,
}

/// Former place of an order's object or item, which goes back there if the order is undone.
#[derive(Debug)]
enum Former {
    /// A row.
    Row(HeldRow),
    /// An item of this owner's that goes.
    Item(AgentId, Box<Item>),
    /// An item that stays, or one in a prim: the world has that again when it goes back.
    Copy,
}

impl Escrow {
    /// Transfers of a region whose rows have the effects up to this ticket.
    pub(crate) fn new(region: WorldId, unix_start_s: i64, stored: Ticket) -> Self {
        Self {
            region,
            unix_start_s,
            last: stored,
            stored,
            log: Vec::new(),
            orders: BTreeMap::new(),
            recent: RecentTransfers::default(),
            outcomes: VecDeque::new(),
            is_settle_due: false,
            undone: None,
        }
    }

    /// Takes the transfers of a frame that follows the one before; transfers of worn objects with the objects of the region.
    pub(crate) fn take_events(&mut self, now: Instant, events: &[Event], worn: &mut TrackedWorn) {
        for event in events {
            match event {
                Event::Transfer(ticket, transfer) => self.take(now, *ticket, transfer, worn),
                Event::Rezzed { order, refusal } => {
                    let order = OrderKey::Copy(*order);
                    // An order that went out again is answered again.
                    if self.orders.remove(&order).is_some() {
                        self.outcomes.push_back(RestoreOutcome { order, refusal: *refusal });
                    }
                }
                _ => {}
            }
        }
    }

    /// Takes all transfers that the world has not forgotten, after a gap or in a later epoch. Orders that have no answer among them may be lost, and go
    /// out again: the world carries each out once. One that has gone back ignores those that come before this is settled.
    pub(crate) fn take_snapshot(
        &mut self,
        now: Instant,
        transfers: &[(Ticket, Transfer)],
        worn: &mut TrackedWorn,
    ) {
        self.is_settle_due |= transfers.first().is_some_and(|(ticket, _)| *ticket <= self.stored);
        for (ticket, transfer) in transfers {
            // Known already, if the world has lost the order to settle it.
            if matches!(transfer, Transfer::Undone { .. }) {
                self.undone = self.undone.max(Some(*ticket));
            }
            self.take(now, *ticket, transfer, worn);
        }
        self.orders.values_mut().for_each(|order| order.is_sent = false);
    }

    /// The last ticket that was seen, with all effects that the disk lacks, and the times at which they were seen.
    pub(crate) fn batch(&self) -> (Ticket, Vec<(Ticket, HeldChange)>, Vec<Instant>) {
        let changes = self.log.iter().map(|logged| (logged.ticket, logged.change.clone()));
        (self.last, changes.collect(), self.log.iter().map(|logged| logged.seen_at).collect())
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
        self.settle_without_effects();
    }

    /// Notes the effects of a save on inventories.
    pub(crate) fn note_items(&mut self, effects: &[ItemEffect]) {
        effects.iter().for_each(|effect| self.recent.note_item(effect));
    }

    /// True if an effect on a worn object of the user is not on the disk.
    pub(crate) fn has_worn_of(&self, owner: AgentId) -> bool {
        self.log.iter().any(|logged| match &logged.change {
            HeldChange::PutOn(arrival) => arrival.origin.owner == owner,
            HeldChange::Worn(save) => save.row.owner == owner,
            HeldChange::PutDown { owner: other, .. } | HeldChange::UndoPutOn { owner: other, .. } => {
                *other == owner
            }
            HeldChange::WearAgain(row, _) => row.owner == owner,
            _ => false,
        })
    }

    /// Time of the first transfer that is not on the disk.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.log.first().map(|logged| logged.seen_at)
    }

    /// Takes an order, which [`Self::send_orders`] hands to the world.
    pub(crate) fn order(&mut self, order: RestoreOrder) -> Result<(), RestoreError> {
        let key = order.key();
        let item = match &order.source {
            RestoreSource::Item { item, .. } => Some(item.id),
            RestoreSource::Held(_) | RestoreSource::Copy(_) | RestoreSource::Content { .. } => None,
        };
        self.check_order(key, item)?;
        let RestoreOrder { source, place, ids } = order;
        let (mark, object, former, content) = match source {
            RestoreSource::Held(row) => (Some(row.key), Arc::new(held_object(&row)?), Former::Row(row), None),
            RestoreSource::Item { key, owner, item, object } => {
                (Some(key), object, Former::Item(owner, item), None)
            }
            RestoreSource::Copy(object) => (None, object, Former::Copy, None),
            RestoreSource::Content { holder, item, object } => {
                (None, object, Former::Copy, Some((holder, item)))
            }
        };
        let restoration = Restoration { key: mark, object, place, ids };
        let action = match content {
            None => Action::Restore(Box::new(restoration)),
            Some((holder, item)) => {
                Action::RezContent(Box::new(ContentRezzing { restoration, holder, item }))
            }
        };
        self.orders.insert(key, Ordered { former, action, is_sent: false });
        Ok(())
    }

    /// Takes an order for an item of a prim, likewise.
    pub(crate) fn order_item(&mut self, order: ItemOrder) -> Result<(), RestoreError> {
        let key = order.key();
        self.check_order(key, order.marked.as_ref().map(|(_, item)| item.id))?;
        let ItemOrder { marked, restoration } = order;
        let former = marked.map_or(Former::Copy, |(owner, item)| Former::Item(owner, item));
        let action = Action::RestoreItem(Box::new(restoration));
        self.orders.insert(key, Ordered { former, action, is_sent: false });
        Ok(())
    }

    fn check_order(&self, key: OrderKey, item: Option<Uuid>) -> Result<(), RestoreError> {
        if self.orders.contains_key(&key) {
            return Err(RestoreError::Twice);
        }
        if item.is_some_and(|item| self.recent.is_undone(item)) {
            return Err(RestoreError::Undone);
        }
        if self.orders.len() >= ORDERS_MAX {
            return Err(RestoreError::Busy);
        }
        Ok(())
    }

    /// Hands out the order to settle the tickets on the disk, if it is due. False if no other order may go out: there is no room, or the world has gone back and ignores it until
    /// that is settled.
    pub(crate) fn send_settlement(&mut self, mut send: impl FnMut(Action) -> bool) -> bool {
        if self.is_settle_due {
            if !send(Action::Settle(self.stored)) {
                return false;
            }
            self.is_settle_due = false;
            let stored = self.stored;
            self.undone = self.undone.filter(|undone| *undone > stored);
        }
        self.undone.is_none()
    }

    /// Hands out the orders that are due, until there is no room for more.
    ///
    /// An order waits until the last transfer of its object is settled: until then the world ignores it as answered. Such an order exists if the store
    /// carried out a save that counts as failed.
    pub(crate) fn send_orders(&mut self, mut send: impl FnMut(Action) -> bool) {
        let answers = self.log.iter().filter_map(|logged| logged.outcome.as_ref());
        let unsettled: Vec<OrderKey> = answers.map(|outcome| outcome.order).collect();
        for (key, order) in &mut self.orders {
            if order.is_sent || unsettled.contains(key) {
                continue;
            }
            if !send(order.action.clone()) {
                return;
            }
            order.is_sent = true;
        }
    }

    /// The next outcome of an order.
    pub(crate) fn poll_outcome(&mut self) -> Option<RestoreOutcome> {
        self.outcomes.pop_front()
    }

    fn take(&mut self, now: Instant, ticket: Ticket, transfer: &Transfer, worn: &mut TrackedWorn) {
        if ticket <= self.last {
            return;
        }
        self.last = ticket;
        self.recent.forget_old(now);
        match transfer {
            Transfer::Held(object) => {
                let row = self.row_of(now, ticket, object);
                self.recent.note_made(now, origin_of(&row));
                self.log(now, HeldChange::Insert(row), None);
            }
            Transfer::HeldItem(held) => self.hold_item(now, ticket, held),
            Transfer::Restored(key) => {
                let order = OrderKey::Marked(*key);
                let mut change = HeldChange::Remove(*key);
                if let Some(Ordered { former, .. }) = self.orders.remove(&order) {
                    if let Former::Item(owner, item) = &former {
                        change = HeldChange::RemoveItem { key: *key, owner: *owner, item: item.id };
                    }
                    self.recent.note_restored(now, ticket, former);
                }
                self.log(now, change, Some(RestoreOutcome { order, refusal: None }));
            }
            Transfer::Refused(key, why) => {
                let order = OrderKey::Marked(*key);
                self.orders.remove(&order);
                let outcome = RestoreOutcome { order, refusal: Some(*why) };
                self.log(now, HeldChange::Release(*key), Some(outcome));
            }
            Transfer::Undone { first, last } => self.undo(now, *first, *last, worn),
            Transfer::Worn(transfer) => self.take_worn(now, transfer, worn),
        }
    }

    fn take_worn(&mut self, now: Instant, transfer: &WornTransfer, tracked: &mut TrackedWorn) {
        let Some(effect) = tracked.take_transfer(now, transfer) else {
            self.settle_without_effects();
            return;
        };
        let ticket = self.last;
        let (owner, item) = (transfer.object.owner, transfer.item);
        let change = match effect {
            WornEffect::PutOn(worn) => {
                let key = HeldKey { region: self.region, ticket };
                let origin = ItemOrigin { key, owner, held_s: self.unix_s(now) };
                let change = HeldChange::PutOn(Box::new(arrival(origin, &worn)));
                self.recent.note_worn(now, ticket, worn, RecentWornChange::PutOn);
                change
            }
            WornEffect::Saved(save) => {
                if save.ends {
                    let worn = worn_of(transfer, save.row.point, save.row.revision);
                    self.recent.note_worn(now, ticket, worn, RecentWornChange::TakenOff);
                }
                HeldChange::Worn(Box::new(save))
            }
            WornEffect::PutDown(worn) => {
                let made = Item { id: item, ..item_of(&worn.object, self.unix_s(now)) };
                self.recent.note_worn(now, ticket, worn, RecentWornChange::PutDown(Box::new(made)));
                HeldChange::PutDown { owner, item }
            }
        };
        self.log(now, change, None);
    }

    /// Settles tickets without effects, if the disk has all effects of those before them: no batch is written for their sake. Tickets that no row has are
    /// given again after the end of the process.
    fn settle_without_effects(&mut self) {
        if self.log.is_empty() && self.stored < self.last {
            self.stored = self.last;
            self.is_settle_due = true;
        }
    }

    fn hold_item(&mut self, now: Instant, ticket: Ticket, held: &HeldItem) {
        let key = HeldKey { region: self.region, ticket };
        let origin = ItemOrigin { key, owner: held.owner, held_s: self.unix_s(now) };
        self.recent.note_made(now, origin);
        self.log(now, HeldChange::InsertItem(Box::new(content_transfer(origin, held))), None);
    }

    /// Takes the effects of tickets back: objects that had left the region are in it, and those that had come into it are held again, or are items again.
    ///
    /// An order for an item that had come by one of these tickets is refused: the region has the object. So is a later one, since the disk has the item until the
    /// undo is saved.
    fn undo(&mut self, now: Instant, first: Ticket, last: Ticket, tracked: &mut TrackedWorn) {
        self.undone = Some(self.last);
        self.log(now, HeldChange::Undo { first, last }, None);
        let undone = first..=last;
        let Undone { made, restored, worn } = self.recent.take(&undone);
        let put_on = worn.iter().filter(|recent| matches!(recent.change, RecentWornChange::PutOn));
        let put_on = put_on.map(|recent| recent.worn.item);
        let items: Vec<Uuid> = made.iter().filter_map(|made| made.item).chain(put_on).collect();
        let is_doubled = |order: &Ordered| match &order.former {
            Former::Item(_, item) => items.contains(&item.id),
            Former::Row(_) | Former::Copy => false,
        };
        for (order, _) in self.orders.extract_if(.., |_, order| is_doubled(&*order)) {
            self.outcomes.push_back(RestoreOutcome { order, refusal: Some(EditRefusal::Unknown) });
        }
        items.into_iter().for_each(|item| self.recent.note_undone(now, item));
        for made in made {
            self.log(now, HeldChange::UndoItem(made.origin), None);
        }
        for former in restored {
            match former {
                Former::Row(row) => {
                    if row.key.region != self.region || !undone.contains(&row.key.ticket) {
                        self.log(now, HeldChange::Insert(row), None);
                    }
                }
                Former::Item(owner, item) => {
                    self.log(now, HeldChange::ReturnItem { owner, item }, None);
                }
                Former::Copy => {}
            }
        }
        self.undo_worn(now, worn, tracked);
    }

    /// Takes changes of hands back: objects that were put on lie on the ground, and others are worn.
    fn undo_worn(&mut self, now: Instant, undone: Vec<RecentWorn>, tracked: &mut TrackedWorn) {
        let (put_on, ended): (Vec<RecentWorn>, Vec<RecentWorn>) =
            undone.into_iter().partition(|recent| matches!(recent.change, RecentWornChange::PutOn));
        let from_ground: Vec<Uuid> = put_on.iter().map(|recent| recent.worn.item).collect();
        for RecentWorn { worn: WornObject { owner, item, .. }, .. } in put_on {
            tracked.give_up(owner, item);
            self.log(now, HeldChange::UndoPutOn { owner, item }, None);
        }
        for RecentWorn { worn, change, .. } in ended {
            if from_ground.contains(&worn.item) {
                continue;
            }
            let item = match change {
                RecentWornChange::PutDown(item) => Some(item),
                RecentWornChange::PutOn | RecentWornChange::TakenOff => None,
            };
            let worn = tracked.take_back(now, worn);
            self.log(now, HeldChange::WearAgain(Box::new(worn.row()), item), None);
        }
    }

    fn log(&mut self, now: Instant, change: HeldChange, outcome: Option<RestoreOutcome>) {
        self.log.push(Logged { ticket: self.last, seen_at: now, change, outcome });
    }

    fn row_of(&self, now: Instant, ticket: Ticket, object: &HeldObject) -> HeldRow {
        let mut value = Vec::new();
        push_held(&mut value, object);
        HeldRow {
            key: HeldKey { region: self.region, ticket },
            owner: object.owner,
            kind: object.kind.code(),
            by: object.by,
            held_s: self.unix_s(now),
            value: value.into(),
        }
    }

    const fn unix_s(&self, now: Instant) -> i64 {
        self.unix_start_s.saturating_add_unsigned(now.since(Instant::ZERO).as_secs())
    }
}

/// The object of a transfer, whose row had this state.
fn worn_of(transfer: &WornTransfer, point: u8, revision: i64) -> WornObject {
    let (owner, item, object) = (transfer.object.owner, transfer.item, Arc::new(transfer.object.clone()));
    WornObject { owner, item, point, revision, is_ahead: true, object }
}
