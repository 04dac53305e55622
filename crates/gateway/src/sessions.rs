//! The hub as HTTP handlers and the hub's own thread share it: a lock held briefly, and what the hub says delivered
//! before it is released, so that shards hear things in the order in which they were decided.

use crate::hub::{Address, Hub, Order, Record};
use crate::mail::ToShard;
use std::fmt;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Mutex, PoisonError};
use telemetry::LockWait;

/// Where a shard's mail goes in, and how its thread is woken.
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

/// All sessions, shared.
pub struct Sessions {
    hub: Mutex<Hub>,
    shards: Vec<Mailbox>,
    /// `None` tells the store's thread that nothing follows.
    records: SyncSender<Option<Record>>,
    orders: SyncSender<Order>,
    lock_wait: LockWait,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("shards", &self.shards.len()).finish_non_exhaustive()
    }
}

impl Sessions {
    /// Takes the hub and where its output goes: shards in order of their indexes, the store's thread, and who carries out orders.
    /// `lock_wait` is told how long callers wait for each other.
    #[must_use]
    pub const fn new(
        hub: Hub,
        shards: Vec<Mailbox>,
        records: SyncSender<Option<Record>>,
        orders: SyncSender<Order>,
        lock_wait: LockWait,
    ) -> Self {
        Self { hub: Mutex::new(hub), shards, records, orders, lock_wait }
    }

    /// Does something with the hub and delivers what it has to say.
    pub fn with<R>(&self, act: impl FnOnce(&mut Hub) -> R) -> R {
        // A panic inside the hub is a bug, but the state between two calls is whole; others go on.
        let mut hub = self.lock_wait.lock(&self.hub).unwrap_or_else(PoisonError::into_inner);
        let result = act(&mut hub);
        while let Some(order) = hub.poll_order() {
            // Nobody waits here for worlds to be made: who walked into a portal can do so again.
            if let Err(TrySendError::Full(Order::EnterOwn { session, .. })) = self.orders.try_send(order) {
                hub.notify(session, "Too many go there just now. Please try again.");
            }
        }
        while let Some((address, mail)) = hub.poll_output() {
            match address {
                Address::One(shard) => self.deliver(shard.0.into(), mail),
                Address::All => (0..self.shards.len()).for_each(|shard| self.deliver(shard, mail.clone())),
            }
        }
        while let Some(record) = hub.poll_record() {
            // Only fails when the store's thread has ended, which is the last thing that happens.
            let _ = self.records.send(Some(record));
        }
        result
    }

    /// Tells every shard something that is none of the hub's business.
    pub fn tell_shards(&self, mail: &ToShard) {
        (0..self.shards.len()).for_each(|shard| self.deliver(shard, mail.clone()));
    }

    fn deliver(&self, shard: usize, mail: ToShard) {
        let mailbox = &self.shards[shard];
        // As above: shards end after everybody who could write to them.
        let _ = mailbox.sender.send(mail);
        (mailbox.wake)();
    }
}
