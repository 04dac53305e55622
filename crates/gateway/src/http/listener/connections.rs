//! The connections of one listener, shared by its tasks: the table behind a lock, and for each connection the means to end it.

use super::table::{
    Caps, ConnectionAdmission, ConnectionId, ConnectionOrigin, ConnectionPhase, ConnectionTable, ShareTaken,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Connections and requests that a limit has ended.
#[derive(Debug, Default)]
pub struct EndCounters {
    /// Closed because a cap was reached.
    pub evicted: AtomicU64,
    /// Not taken, since all others were being served.
    pub refused: AtomicU64,
    /// Requests refused because their client had its share of connections served.
    pub over_share: AtomicU64,
    /// Closed because a head, a body or the reading of an answer took too long.
    pub timed_out: AtomicU64,
}

/// Numbers of connections at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Occupancy {
    /// In total.
    pub open: usize,
    /// Of these, waiting for their client.
    pub waiting: usize,
    /// Connections that clients may still have served, without regard to those that wait.
    pub spare: usize,
}

/// See the module.
#[derive(Debug)]
pub struct ConnectionLimiter {
    inner: Mutex<Inner>,
    released: Notify,
    /// Counters of limits that ended connections.
    pub counters: EndCounters,
}

#[derive(Debug)]
struct Inner {
    table: ConnectionTable,
    evictions: BTreeMap<ConnectionId, Arc<Notify>>,
}

impl ConnectionLimiter {
    /// Without connections.
    #[must_use]
    pub fn new(caps: Caps) -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner { table: ConnectionTable::new(caps), evictions: BTreeMap::new() }),
            released: Notify::new(),
            counters: EndCounters::default(),
        })
    }

    /// Their numbers now.
    pub fn occupancy(&self) -> Occupancy {
        let inner = self.lock();
        let (open, waiting) = (inner.table.open(), inner.table.waiting());
        Occupancy { open, waiting, spare: inner.table.caps().open_max.saturating_sub(open - waiting) }
    }

    /// Takes a new connection in, possibly after another one has been closed for it. `None` when all are being served.
    pub(super) async fn admit(self: &Arc<Self>, address: ConnectionOrigin) -> Option<ConnectionSlot> {
        loop {
            // Before the look, so that no release in between is missed.
            let released = self.released.notified();
            match self.try_admit(address) {
                Ok(slot) => return slot,
                Err(MustWait) => released.await,
            }
        }
    }

    fn try_admit(self: &Arc<Self>, address: ConnectionOrigin) -> Result<Option<ConnectionSlot>, MustWait> {
        let mut inner = self.lock();
        match inner.table.admit(address) {
            ConnectionAdmission::Admitted { id, evicted } => {
                let eviction = Arc::new(Notify::new());
                inner.evictions.insert(id, Arc::clone(&eviction));
                if let Some(evicted) = evicted {
                    self.evict(&inner, evicted);
                }
                Ok(Some(ConnectionSlot { connections: Arc::clone(self), id, eviction }))
            }
            ConnectionAdmission::Full => {
                self.counters.refused.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
            ConnectionAdmission::Wait => Err(MustWait),
        }
    }

    fn evict(&self, inner: &Inner, id: ConnectionId) {
        self.counters.evicted.fetch_add(1, Ordering::Relaxed);
        inner.evictions[&id].notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Evicted connections have not closed yet.
struct MustWait;

/// A connection's place in the table, for as long as its socket is open.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    connections: Arc<ConnectionLimiter>,
    id: ConnectionId,
    eviction: Arc<Notify>,
}

impl ConnectionSlot {
    /// Signal for the connection's task to end it.
    pub(super) fn eviction(&self) -> Arc<Notify> {
        Arc::clone(&self.eviction)
    }

    /// The connection waits for its client.
    pub(super) fn begin_wait(&self, phase: ConnectionPhase) {
        self.connections.lock().table.begin_wait(self.id, phase);
    }

    /// The connection's request is complete.
    ///
    /// # Errors
    /// When its client has its share of connections served.
    pub(super) fn begin_service(&self, client: ConnectionOrigin) -> Result<(), ShareTaken> {
        let served = self.connections.lock().table.begin_service(self.id, client);
        if served.is_err() {
            self.connections.counters.over_share.fetch_add(1, Ordering::Relaxed);
        }
        served
    }

    pub(super) fn receive(&self, bytes: usize) {
        let mut inner = self.connections.lock();
        if let Some(evicted) = inner.table.receive(self.id, bytes) {
            self.connections.evict(&inner, evicted);
        }
    }

    pub(super) fn count_timeout(&self) {
        self.connections.counters.timed_out.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut inner = self.connections.lock();
        inner.table.release(self.id);
        inner.evictions.remove(&self.id);
        drop(inner);
        self.connections.released.notify_one();
    }
}
