//! The hub as HTTP handlers and the hub's own thread share it: a briefly held lock, with the hub's output delivered before its release,
//! so that shards get it in the order of its decisions.

use crate::hub::{Address, Hub, InventoryOrder, Record, StoreLookup};
use crate::lock_order::{HUB, MAILBOX};
use crate::mail::ToShard;
use crate::places::Places;
use crossbeam_channel::Sender;
use link::TravelOrder;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use telemetry::{LockHold, LockWait};

/// Input of a shard's mail, and the waker of its thread.
pub struct Mailbox {
    /// The shard's bounded inbox. A shard never waits for the hub, so waiting for room here cannot deadlock.
    pub sender: SyncSender<ToShard>,
    /// Ends the wait of the shard's thread.
    pub wake: Box<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

/// Takes an order of the hub to where it is carried out, without waiting: called while the hub is locked.
pub type TakeOrder = Box<dyn Fn(TravelOrder) -> Result<(), TrySendError<TravelOrder>> + Send + Sync>;

/// All sessions, shared.
pub struct Sessions {
    hub: Mutex<Hub>,
    /// The hub's, found without its lock.
    places: Arc<Places>,
    shards: Vec<Mailbox>,
    /// `None` marks the end for the store's thread.
    records: SyncSender<Option<Record>>,
    orders: TakeOrder,
    /// `None` marks the end for the thread that reads the store for clients.
    lookups: SyncSender<Option<StoreLookup>>,
    /// `None` marks the end for the thread that changes inventories. It waits for other answers at the same time.
    inventory: Sender<Option<InventoryOrder>>,
    lock_wait: LockWait,
    /// Optional mail dropped because a shard had no room.
    offers_dropped: AtomicU64,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("shards", &self.shards.len()).finish_non_exhaustive()
    }
}

impl Sessions {
    /// Takes the hub and the destinations of its output: shards in order of their indexes, the store's thread, the one that carries out
    /// orders, the one that reads the store for clients, and the one that changes inventories for them. `lock_wait` gets the time for which
    /// callers wait for each other.
    #[must_use]
    pub fn new(
        hub: Hub,
        shards: Vec<Mailbox>,
        records: SyncSender<Option<Record>>,
        orders: TakeOrder,
        lookups: SyncSender<Option<StoreLookup>>,
        inventory: Sender<Option<InventoryOrder>>,
        lock_wait: LockWait,
    ) -> Self {
        Self {
            places: Arc::clone(hub.places()),
            hub: Mutex::new(hub),
            shards,
            records,
            orders,
            lookups,
            inventory,
            lock_wait,
            offers_dropped: AtomicU64::new(0),
        }
    }

    /// Places, and the directory of instances.
    #[must_use]
    pub const fn places(&self) -> &Arc<Places> {
        &self.places
    }

    /// Calls the hub and delivers its output.
    pub fn with<R>(&self, act: impl FnOnce(&mut Hub) -> R) -> R {
        // A panic inside the hub is a bug, but the state between two calls is whole; others go on.
        let mut hub = HUB.hold(|| self.lock_wait.lock(&self.hub).unwrap_or_else(PoisonError::into_inner));
        let result = act(&mut hub);
        while let Some(order) = hub.poll_order() {
            // Never waits for the creation of a world: a refused visitor can walk into the portal again.
            match (self.orders)(order) {
                Ok(()) => {}
                Err(TrySendError::Full(order)) => {
                    hub.refuse_order(&order, "Too many go there just now. Please try again.");
                }
                Err(TrySendError::Disconnected(order)) => {
                    hub.refuse_order(&order, "Portals lead nowhere until the server is started again.");
                }
            }
        }
        while let Some(lookup) = hub.poll_lookup() {
            // The thread that reads takes this lock itself, so nothing waits for it here. It takes the lock with each answer, so that
            // lookups without room in its queue are offered again when there is room.
            match self.lookups.try_send(Some(lookup)) {
                Ok(()) => {}
                Err(TrySendError::Full(lookup)) => {
                    lookup.into_iter().for_each(|lookup| hub.return_lookup(lookup));
                    break;
                }
                Err(TrySendError::Disconnected(lookup)) => {
                    lookup.iter().for_each(|lookup| hub.refuse_lookup(lookup));
                }
            }
        }
        while let Some(order) = hub.poll_inventory() {
            // As with lookups.
            match self.inventory.try_send(Some(order)) {
                Ok(()) => {}
                Err(crossbeam_channel::TrySendError::Full(order)) => {
                    order.into_iter().for_each(|order| hub.return_inventory(order));
                    break;
                }
                Err(crossbeam_channel::TrySendError::Disconnected(order)) => {
                    order.iter().for_each(|order| hub.refuse_inventory(order));
                }
            }
        }
        while let Some((address, mail)) = hub.poll_output() {
            match address {
                Address::One(shard) => self.deliver(shard.0.into(), mail),
                Address::All => (0..self.shards.len()).for_each(|shard| self.deliver(shard, mail.clone())),
            }
        }
        while let Some(record) = hub.poll_record() {
            // The lock is held: records without room in the store's queue wait in the hub, and are offered again by the next call.
            match self.records.try_send(Some(record)) {
                Ok(()) => {}
                Err(TrySendError::Full(record)) => {
                    record.into_iter().for_each(|record| hub.return_record(record));
                    break;
                }
                // The store's thread has ended, which is the last thing that happens.
                Err(TrySendError::Disconnected(_)) => {}
            }
        }
        result
    }

    /// Hands over the facts that wait for the store, and waits for it: for the stop of the node. The lock is not held meanwhile.
    pub fn finish_records(&self) {
        loop {
            let record = HUB.hold(|| self.hub.lock().unwrap_or_else(PoisonError::into_inner)).poll_record();
            let Some(record) = record else { return };
            // As in [`Self::with`].
            let _ = self.records.send(Some(record));
        }
    }

    /// Sends every shard something that does not concern the hub.
    pub fn send_to_shards(&self, mail: &ToShard) {
        (0..self.shards.len()).for_each(|shard| self.deliver(shard, mail.clone()));
    }

    /// The same without waiting: a shard with a full mailbox is skipped.
    pub fn offer_shards(&self, mail: &ToShard) {
        for mailbox in &self.shards {
            match mailbox.sender.try_send(mail.clone()) {
                Ok(()) => (mailbox.wake)(),
                // It is awake, having all that to read.
                Err(TrySendError::Full(_)) => {
                    self.offers_dropped.fetch_add(1, Ordering::Relaxed);
                }
                // As below.
                Err(TrySendError::Disconnected(_)) => {}
            }
        }
    }

    /// Number of skipped optional messages.
    pub fn offers_dropped(&self) -> u64 {
        self.offers_dropped.load(Ordering::Relaxed)
    }

    fn deliver(&self, shard: usize, mail: ToShard) {
        let mailbox = &self.shards[shard];
        let _hold = LockHold::begin(MAILBOX);
        // As above: shards end after all their writers.
        let _ = mailbox.sender.send(mail);
        (mailbox.wake)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::{INVENTORY_HELD_MAX, LOOKUPS_HELD_MAX, StoreAnswer};
    use crate::mail::{FromShard, Request, ShardIndex, Spot};
    use crate::testing::{HARBOUR, Node, OFFLINE_AGENT};
    use crossbeam_channel::bounded;
    use glam::Vec3;
    use grid::inventory::{InventoryReplies, InventoryTask};
    use ids::{Instant, Uuid, WorldId};
    use std::sync::mpsc::{Receiver, sync_channel};
    use wire::messages::RemoveInventoryItem;

    fn taken_by(orders: SyncSender<TravelOrder>) -> TakeOrder {
        Box::new(move |order| orders.try_send(order))
    }

    fn shared(hub: Hub, mail_max: usize, orders: SyncSender<TravelOrder>) -> (Sessions, Receiver<ToShard>) {
        let (sender, mail) = sync_channel(mail_max);
        let (records, _) = sync_channel(16);
        let mailbox = Mailbox { sender, wake: Box::new(|| {}) };
        let orders = taken_by(orders);
        let (lookups, inventory) = (sync_channel(0).0, bounded(0).0);
        let wait = LockWait::default();
        (Sessions::new(hub, vec![mailbox], records, orders, lookups, inventory, wait), mail)
    }

    #[test]
    fn offers_do_not_wait_and_lost_ones_are_counted() {
        let (orders, _ordered) = sync_channel(1);
        let (sessions, mail) = shared(Node::new().hub, 2, orders);
        let events = ToShard::Events(WorldId(7), [].into());
        (0..5).for_each(|_| sessions.offer_shards(&events));
        assert_eq!((mail.try_iter().count(), sessions.offers_dropped()), (2, 3));
        sessions.offer_shards(&events);
        assert_eq!((mail.try_iter().count(), sessions.offers_dropped()), (1, 3));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "the hub is locked by a thread that holds the hub")]
    fn the_hub_is_not_called_from_within() {
        let (sessions, _mail) = shared(Node::new().hub, 2, sync_channel(1).0);
        sessions.with(|_| sessions.with(|_| {}));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(
        expected = "a shard's mailbox is locked by a thread that holds the directory of instances"
    )]
    fn a_wait_for_a_mailbox_is_no_part_of_a_look_at_the_instances() {
        let (sessions, _mail) = shared(Node::new().hub, 2, sync_channel(1).0);
        let _instances = sessions.places().instances_mut();
        sessions.send_to_shards(&ToShard::Events(WorldId(7), [].into()));
    }

    #[test]
    fn facts_wait_in_the_hub_while_the_store_takes_none() {
        let mut node = Node::new();
        node.enter("Ada");
        let (records, to_store) = sync_channel(1);
        let mailbox = Mailbox { sender: sync_channel(64).0, wake: Box::new(|| {}) };
        let (orders, _ordered) = sync_channel(1);
        let (orders, wait) = (taken_by(orders), LockWait::default());
        let (lookups, inventory) = (sync_channel(0).0, bounded(0).0);
        let sessions = Sessions::new(node.hub, vec![mailbox], records, orders, lookups, inventory, wait);
        let spot = Spot { place: HARBOUR, position: Vec3::ZERO, look_at: Vec3::X };
        // Would never end if it waited for the store.
        sessions.with(|hub| {
            let fact = |_| Record::Home(OFFLINE_AGENT, spot);
            (0..3).map(fact).for_each(|fact| hub.return_record(fact));
        });
        assert_eq!(to_store.try_iter().count(), 1);
        sessions.with(|_| {});
        assert_eq!(to_store.try_iter().count(), 1);
        let finished = std::thread::scope(|scope| {
            let finish = scope.spawn(|| sessions.finish_records());
            let first = to_store.recv().expect("the last one");
            finish.join().expect("it ends");
            first
        });
        assert_eq!(finished, Some(Record::Home(OFFLINE_AGENT, spot)));
        assert!(to_store.try_recv().is_err());
    }

    #[test]
    fn names_are_looked_up_elsewhere_and_each_request_is_answered() {
        let mut node = Node::new();
        node.enter("Ada");
        let session = node.hub.session_named("Ada Resident").expect("she is here");
        let circuit = node.hub.circuit_of(session).expect("she is here");
        let ((sender, mail), (lookups, asked)) = (sync_channel(16), sync_channel(1));
        let ((records, _), (orders, _)) = (sync_channel(16), sync_channel(1));
        let mailbox = Mailbox { sender, wake: Box::new(|| {}) };
        let (orders, inventory, wait) = (taken_by(orders), bounded(0).0, LockWait::default());
        let sessions = Sessions::new(node.hub, vec![mailbox], records, orders, lookups, inventory, wait);
        let request = FromShard::Request(circuit, Request::Names(vec![OFFLINE_AGENT.0]));
        let n_requests = 3 + LOOKUPS_HELD_MAX;
        for _ in 0..n_requests {
            sessions.with(|hub| hub.handle(Instant::from_millis(1), ShardIndex(0), request.clone()));
        }
        // One is in the queue of the other thread, and the hub holds as many as it may. The two others are refused.
        let refused = sessions.with(|hub| hub.counters().lookups_refused);
        assert_eq!((refused, mail.try_iter().count()), (2, 2));
        // Looked up while the lock is free; the answer goes to the shard, and the next lookup into the queue.
        let found = StoreAnswer::Names(vec![Some(("Grace".to_owned(), "Hopper".to_owned()))]);
        let mut n_answered = 0;
        while let Ok(Some(lookup)) = asked.try_recv() {
            sessions.with(|hub| hub.handle_answer(&lookup, found.clone()));
            n_answered += mail.try_iter().count();
        }
        assert_eq!(n_answered, 1 + LOOKUPS_HELD_MAX);
        // The other thread has ended.
        drop(asked);
        sessions.with(|hub| hub.handle(Instant::from_millis(1), ShardIndex(0), request));
        let refused = sessions.with(|hub| hub.counters().lookups_refused);
        assert_eq!((refused, mail.try_iter().count()), (3, 1));
    }

    #[test]
    fn inventories_are_changed_elsewhere_in_order_and_each_order_without_room_is_refused() {
        let mut node = Node::new();
        node.enter("Ada");
        let session = node.hub.session_named("Ada Resident").expect("she is here");
        let circuit = node.hub.circuit_of(session).expect("she is here");
        let ((sender, mail), (inventory, ordered)) = (sync_channel(16), bounded(1));
        let ((records, _), (orders, _)) = (sync_channel(16), sync_channel(1));
        let mailbox = Mailbox { sender, wake: Box::new(|| {}) };
        let (orders, lookups, wait) = (taken_by(orders), sync_channel(0).0, LockWait::default());
        let sessions = Sessions::new(node.hub, vec![mailbox], records, orders, lookups, inventory, wait);
        let ask = |n: u128| {
            let mut request = RemoveInventoryItem::default();
            request.agent_data.agent_id = Uuid::from_u128(n);
            let request = FromShard::Request(circuit, Request::Inventory(Box::new(request.into())));
            sessions.with(|hub| hub.handle(Instant::from_millis(1), ShardIndex(0), request));
        };
        let n_requests = 3 + INVENTORY_HELD_MAX;
        (0..n_requests as u128).for_each(ask);
        let refused = sessions.with(|hub| hub.counters().inventory_refused);
        assert_eq!((refused, mail.try_iter().count()), (2, 2));
        let mut expected = 0;
        while let Ok(Some(order)) = ordered.try_recv() {
            let mut request = RemoveInventoryItem::default();
            request.agent_data.agent_id = Uuid::from_u128(expected);
            assert_eq!(order.task, InventoryTask::from(request));
            expected += 1;
            let replies = InventoryReplies { refusal: Some("no".into()), ..InventoryReplies::default() };
            sessions.with(|hub| hub.handle_inventory_reply(&order, replies));
            assert_eq!(mail.try_iter().count(), 1);
        }
        assert_eq!(expected, 1 + INVENTORY_HELD_MAX as u128);
        // The other thread has ended.
        drop(ordered);
        ask(0);
        let refused = sessions.with(|hub| hub.counters().inventory_refused);
        assert_eq!((refused, mail.try_iter().count()), (3, 1));
    }

    /// Lets a visitor walk into the harbour's portal; returns the refused orders, and the messages to the shard.
    fn walk_in(orders: SyncSender<TravelOrder>, times: usize) -> (u64, usize) {
        let mut node = Node::new();
        node.enter("Ada");
        let session = node.hub.session_named("Ada Resident").expect("she is here");
        let circuit = node.hub.circuit_of(session).expect("she is here");
        let portal = Request::Portal { world: node.places.get(HARBOUR).world(), number: 0 };
        let (sessions, mail) = shared(node.hub, 16, orders);
        for _ in 0..times {
            let walked = FromShard::Request(circuit, portal.clone());
            sessions.with(|hub| hub.handle(Instant::from_millis(1), ShardIndex(0), walked));
        }
        (sessions.with(|hub| hub.counters().orders_refused), mail.try_iter().count())
    }

    #[test]
    fn each_order_without_a_receiver_is_answered() {
        let (orders, ordered) = sync_channel(1);
        assert_eq!(walk_in(orders, 3), (0, 0), "one waits, and that is all");
        assert_eq!(ordered.try_iter().count(), 1);

        let (dead, _) = sync_channel(1);
        assert_eq!(walk_in(dead, 3), (3, 3));

        let (full, _ordered) = sync_channel(0);
        assert_eq!(walk_in(full, 2), (2, 2));
    }
}
