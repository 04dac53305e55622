//! Transfers between a region and the store: their unsaved effects on held objects and inventories, and the node's orders that cause transfers.
//!
//! Effects form a log in the order of the tickets. Each batch contains the whole log with the objects of the same frame, so that either all effects of a ticket
//! are on the disk or none. [`Escrow`] removes saved effects from the log, and orders the world to discard them. `recent` keeps saved transfers for longer, for a
//! world that is reset to a checkpoint.

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

/// Maximum number of unanswered orders to insert objects into one region.
pub(crate) const ORDERS_MAX: usize = 256;

/// An order to insert an object that the store holds, or the object of an item: [`Keeper::order_restore`](crate::Keeper::order_restore).
#[derive(Clone, Debug, PartialEq)]
pub struct RestoreOrder {
    /// The object.
    pub source: RestoreSource,
    /// As in [`Restoration::place`].
    pub place: RestorePlace,
    /// As in [`Restoration::ids`], unique among all orders.
    pub ids: Uuid,
}

/// The object of an order.
#[derive(Clone, Debug, PartialEq)]
pub enum RestoreSource {
    /// Object that the store holds in a row, marked for this region: [`store::Store::take_held`].
    Held(HeldRow),
    /// Object of an item that leaves the inventory, marked for this region: [`store::Store::mark_item`].
    Item {
        /// Key of the mark.
        key: HeldKey,
        /// Owner of the item.
        owner: AgentId,
        /// The item in its present state.
        item: Box<Item>,
        /// The object.
        object: Arc<HeldObject>,
    },
    /// Object of an item that stays in the inventory.
    Copy(Arc<HeldObject>),
    /// Object of an item in a prim of the region, as in [`ContentRezzing`].
    Content {
        /// Id of the prim.
        holder: Uuid,
        /// The item as it is in the prim.
        item: Arc<ContentItem>,
        /// The object as the rezzing user would own it.
        object: Arc<HeldObject>,
    },
}

/// An order to put an item into a prim: [`Keeper::order_item`](crate::Keeper::order_item).
#[derive(Clone, Debug, PartialEq)]
pub struct ItemOrder {
    /// Owner and item, marked for this region: [`store::Store::mark_item`]. `None` for a copy of an item that stays, and for a new item; then
    /// `restoration` has no mark, either.
    pub marked: Option<(AgentId, Box<Item>)>,
    /// Prim, user, mark, and the item in the form that the prim receives: [`content_of`](crate::content_of).
    pub restoration: ItemRestoration,
}

/// Key of an order: the mark of its object or item; without a mark [`RestoreOrder::ids`], the item's id in the prim, or the asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrderKey {
    /// Order with a mark.
    Marked(HeldKey),
    /// Order without a mark.
    Copy(Uuid),
}

/// An order of any kind: [`Keeper::order`](crate::Keeper::order).
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Insert an object.
    Object(RestoreOrder),
    /// Put an item into a prim.
    Item(ItemOrder),
    /// Replace the content of an item in a prim.
    Content(ContentReplacement),
}

impl Order {
    /// Key of the order.
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
    /// Key of the order.
    #[must_use]
    pub fn key(&self) -> OrderKey {
        let ItemRestoration { key, item, .. } = &self.restoration;
        key.map_or(OrderKey::Copy(item.id), OrderKey::Marked)
    }
}

impl RestoreOrder {
    /// Key of the order.
    #[must_use]
    pub const fn key(&self) -> OrderKey {
        match &self.source {
            RestoreSource::Held(row) => OrderKey::Marked(row.key),
            RestoreSource::Item { key, .. } => OrderKey::Marked(*key),
            RestoreSource::Copy(_) | RestoreSource::Content { .. } => OrderKey::Copy(self.ids),
        }
    }
}

/// Reasons for which an order is not accepted. The caller removes the mark of the object, unless it belongs to another order.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Too many orders are unanswered.
    #[error("{ORDERS_MAX} objects are on their way into the region; try again in a moment")]
    Busy,
    /// An earlier order for the same object or item is unanswered, and the mark belongs to it.
    #[error("it is on its way into the region")]
    Twice,
    /// The item was created by a ticket that is undone: the region has its object again, and the item will be deleted.
    #[error("the region has gone back to a time when the object lay there")]
    Undone,
    /// The value of the object cannot be decoded.
    #[error("it cannot be read: {0}")]
    Row(#[from] RowError),
}

/// Outcome of an order. It follows the save for a marked object or item and for content, and the frame with the answer for other orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreOutcome {
    /// The order.
    pub order: OrderKey,
    /// The world's reason for a refusal; `None` if the object is in the region.
    pub refusal: Option<EditRefusal>,
}

/// Transfers of one region.
#[derive(Debug)]
pub(crate) struct Escrow {
    region: WorldId,
    /// Seconds since 1970 at [`Instant::ZERO`].
    unix_start_s: i64,
    /// The last ticket in the frames.
    last: Ticket,
    /// The last ticket whose effects are on the disk.
    stored: Ticket,
    log: Vec<Logged>,
    orders: BTreeMap<OrderKey, Ordered>,
    recent: RecentTransfers,
    outcomes: VecDeque<RestoreOutcome>,
    /// True until the world has the order to settle all tickets up to `stored`.
    is_settle_due: bool,
    /// Ticket with which the world has reported an undo, until the order to settle it is sent. The world carries out no other order before that.
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

/// Former place of the object or item of an order. It returns there if the order is undone.
#[derive(Debug)]
enum Former {
    /// A row of a held object.
    Row(HeldRow),
    /// An item of this owner that leaves the inventory.
    Item(AgentId, Box<Item>),
    /// An item that stays, or an item in a prim: a world that is reset to a checkpoint has that item again.
    Copy,
}

impl Escrow {
    /// Creates the escrow of a region whose rows have the effects of all tickets up to `stored`.
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

    /// Applies the transfers of the next frame; `worn` receives those of worn objects.
    pub(crate) fn take_events(&mut self, now: Instant, events: &[Event], worn: &mut TrackedWorn) {
        for event in events {
            match event {
                Event::Transfer(ticket, transfer) => self.take(now, *ticket, transfer, worn),
                Event::Rezzed { order, refusal } => {
                    let order = OrderKey::Copy(*order);
                    // An order that was sent twice is answered twice.
                    if self.orders.remove(&order).is_some() {
                        self.outcomes.push_back(RestoreOutcome { order, refusal: *refusal });
                    }
                }
                _ => {}
            }
        }
    }

    /// Applies all transfers that the world still remembers, after a gap or in a later epoch. Orders without an answer among them may be lost and are
    /// sent again: the world carries each order out once. A world that was reset to a checkpoint ignores orders until the undo is settled.
    pub(crate) fn take_snapshot(
        &mut self,
        now: Instant,
        transfers: &[(Ticket, Transfer)],
        worn: &mut TrackedWorn,
    ) {
        self.is_settle_due |= transfers.first().is_some_and(|(ticket, _)| *ticket <= self.stored);
        for (ticket, transfer) in transfers {
            // The undo may be known already, if the world has lost the order to settle it.
            if matches!(transfer, Transfer::Undone { .. }) {
                self.undone = self.undone.max(Some(*ticket));
            }
            self.take(now, *ticket, transfer, worn);
        }
        self.orders.values_mut().for_each(|order| order.is_sent = false);
    }

    /// Returns the last ticket in the frames, all unsaved effects, and the time of the frame of each effect.
    pub(crate) fn batch(&self) -> (Ticket, Vec<(Ticket, HeldChange)>, Vec<Instant>) {
        let changes = self.log.iter().map(|logged| (logged.ticket, logged.change.clone()));
        (self.last, changes.collect(), self.log.iter().map(|logged| logged.seen_at).collect())
    }

    /// Records that the effects of all tickets up to this one are on the disk.
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

    /// Records the effects of a save on inventories.
    pub(crate) fn note_items(&mut self, effects: &[ItemEffect]) {
        effects.iter().for_each(|effect| self.recent.note_item(effect));
    }

    /// True if an effect on a worn object of the user is unsaved.
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

    /// True if an effect that deletes the row of the worn object is unsaved.
    pub(crate) fn has_worn_end(&self, owner: AgentId, item: Uuid) -> bool {
        self.log.iter().any(|logged| match &logged.change {
            HeldChange::Worn(save) => save.ends && (save.row.owner, save.row.item) == (owner, item),
            HeldChange::PutDown { owner: other, item: of }
            | HeldChange::UndoPutOn { owner: other, item: of } => (*other, *of) == (owner, item),
            _ => false,
        })
    }

    /// Time of the first unsaved transfer.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.log.first().map(|logged| logged.seen_at)
    }

    /// Accepts an order, which [`Self::send_orders`] sends to the world.
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

    /// Accepts an order to put an item into a prim.
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

    /// Sends the order to settle saved tickets, if it is due. Returns false if no other order may be sent: `send` has no room, or the world ignores orders until its
    /// undo is settled.
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

    /// Sends the orders that are due, until `send` has no room.
    ///
    /// An order waits until the last transfer of its object is settled: until then the world takes it for an answered one and ignores it. Such an
    /// order exists if the store has carried out a save that was reported as failed.
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

    /// Returns the next outcome of an order.
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

    /// Settles tickets without effects once all effects of earlier tickets are on the disk, since no batch is written for them alone. Tickets that are in
    /// no row are assigned again by the next process.
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

    /// Reverts the effects of tickets: objects that had left the region are in the region again, and objects that had entered it are held rows or items
    /// again.
    ///
    /// An order for an item that was created by one of these tickets is refused, because the region has the object. Later orders for the item are refused too,
    /// because it stays on the disk until the undo is saved.
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

    /// Reverts changes between worn and not worn: objects that were attached lie on the ground again, and the others are worn again.
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
