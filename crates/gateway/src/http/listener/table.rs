//! The table of HTTP connections: caps in total and per address, and the choice of a connection to close when a cap is reached.
//!
//! A connection is *served* while its request is complete and the answer is being made; otherwise it is *waiting*: between two requests, or with
//! a head or body that is still to come. Waiting costs a client nothing, so a waiting connection is never worth more than a new one: when a cap is
//! reached, a waiting connection of the address that has the most of them is closed. `n` silent connections from `k` addresses therefore take
//! nothing from an address with fewer than `n / k` of its own. Connections that are served are never closed for others.
//!
//! Served connections (long polls, WebSockets, answers on their way) are shared by a dynamic threshold: a request is refused when its client has
//! `SHARE` × as many served as are left. One address alone gets 2/3 of all, and `k` addresses that take what they can leave 1/(2k + 1) of
//! all to others. A request that a trusted proxy passed on counts for its client, not for the proxy.
//!
//! Sans-IO; [`super::connections`] puts it behind a lock and closes the sockets.

use grid::attempts::ClientNetwork;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Maximum ratio of an address's served connections to connections that are not being served.
const SHARE: usize = 2;

/// Number of a connection, never used again.
pub(super) type ConnectionId = u64;

/// The caps of one listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Connections in total.
    pub open_max: usize,
    /// Waiting connections in total.
    pub waiting_max: usize,
    /// Waiting connections of one address; served ones have a share instead.
    pub address_max: usize,
    /// Bytes of bodies that are still arriving, in total.
    pub body_bytes_max: usize,
}

/// The client of a request has its share of connections served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShareTaken;

/// A client as far as caps go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConnectionOrigin {
    /// A client, by its network.
    Client(ClientNetwork),
    /// All trusted proxies. Their connections are those of many clients, so no cap per address holds for them, and one is closed only when
    /// no client's is waiting. They complete requests before they pass them on.
    Proxy,
}

impl ConnectionOrigin {
    pub(super) fn of(peer: IpAddr) -> Self {
        Self::Client(ClientNetwork::of(peer))
    }
}

/// States of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConnectionPhase {
    /// Between two requests.
    Idle,
    /// In the middle of a request's head or body.
    Reading,
    /// The answer is being made, or the connection has become a WebSocket.
    Served,
}

/// Results of admitting a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionAdmission {
    /// It is in the table. `evicted` has to be closed for it.
    Admitted { id: ConnectionId, evicted: Option<ConnectionId> },
    /// Evicted connections have to close first.
    Wait,
    /// Every connection is being served.
    Full,
}

#[derive(Debug)]
struct TableSlot {
    address: ConnectionOrigin,
    phase: ConnectionPhase,
    /// Position in time of the last change of phase.
    since: u64,
    body_bytes: usize,
    is_closing: bool,
    /// The client whose share it counts in, while it is served.
    client: Option<ConnectionOrigin>,
}

/// Waiting connections of one address, the first to be closed in front: idle ones before others, then the longest waiting.
#[derive(Debug, Default)]
struct OriginGroup {
    waiting: BTreeSet<(ConnectionPhase, u64, ConnectionId)>,
    open: usize,
    body_bytes: usize,
}

/// All connections of one listener.
#[derive(Debug)]
pub(super) struct ConnectionTable {
    caps: Caps,
    slots: BTreeMap<ConnectionId, TableSlot>,
    groups: BTreeMap<ConnectionOrigin, OriginGroup>,
    /// Served connections by client.
    served: BTreeMap<ConnectionOrigin, usize>,
    waiting: usize,
    closing: usize,
    body_bytes: usize,
    /// Counts changes: the table's notion of time, and the next connection's number.
    clock: u64,
}

impl ConnectionTable {
    pub(super) const fn new(caps: Caps) -> Self {
        Self {
            caps,
            slots: BTreeMap::new(),
            groups: BTreeMap::new(),
            served: BTreeMap::new(),
            waiting: 0,
            closing: 0,
            body_bytes: 0,
            clock: 0,
        }
    }

    pub(super) fn open(&self) -> usize {
        self.slots.len()
    }

    pub(super) const fn waiting(&self) -> usize {
        self.waiting
    }

    pub(super) const fn caps(&self) -> Caps {
        self.caps
    }

    /// Admits a connection, evicting another one at a cap: at most one for each new connection.
    pub(super) fn admit(&mut self, address: ConnectionOrigin) -> ConnectionAdmission {
        if self.slots.len() >= self.caps.open_max {
            if self.closing > 0 {
                return ConnectionAdmission::Wait;
            }
            let Some(victim) = self.victim() else {
                return ConnectionAdmission::Full;
            };
            self.close(victim);
            return ConnectionAdmission::Admitted { id: self.insert(address), evicted: Some(victim) };
        }
        let own = self.groups.get(&address).map_or(0, |group| group.waiting.len());
        let victim = if own >= self.caps.address_max && address != ConnectionOrigin::Proxy {
            self.groups.get(&address).and_then(OriginGroup::first)
        } else if self.waiting >= self.caps.waiting_max {
            self.victim()
        } else {
            None
        };
        if let Some(victim) = victim {
            self.close(victim);
        }
        ConnectionAdmission::Admitted { id: self.insert(address), evicted: victim }
    }

    /// A connection waits for its client. Bytes of a body count until the phase ends.
    pub(super) fn begin_wait(&mut self, id: ConnectionId, phase: ConnectionPhase) {
        assert_ne!(phase, ConnectionPhase::Served, "a served connection counts for a client");
        self.enter(id, phase);
    }

    /// The request of a connection is complete; it is served until it waits again. Bytes of its body are released.
    ///
    /// # Errors
    /// If its client has its share. The connection keeps waiting.
    pub(super) fn begin_service(
        &mut self,
        id: ConnectionId,
        client: ConnectionOrigin,
    ) -> Result<(), ShareTaken> {
        self.enter(id, ConnectionPhase::Reading);
        let own = self.served.get(&client).copied().unwrap_or(0);
        let left = self.caps.open_max.saturating_sub(self.open() - self.waiting);
        if client != ConnectionOrigin::Proxy && own >= SHARE * left {
            return Err(ShareTaken);
        }
        self.enter(id, ConnectionPhase::Served);
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.client = Some(client);
            *self.served.entry(client).or_default() += 1;
        }
        Ok(())
    }

    fn enter(&mut self, id: ConnectionId, phase: ConnectionPhase) {
        self.clock += 1;
        self.end_service(id);
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let group = self.groups.get_mut(&slot.address).expect("a connection's address has a group");
        self.body_bytes -= slot.body_bytes;
        group.body_bytes -= slot.body_bytes;
        slot.body_bytes = 0;
        if slot.is_closing {
            return;
        }
        if group.waiting.remove(&(slot.phase, slot.since, id)) {
            self.waiting -= 1;
        }
        (slot.phase, slot.since) = (phase, self.clock);
        if phase != ConnectionPhase::Served {
            group.waiting.insert((phase, slot.since, id));
            self.waiting += 1;
        }
    }

    /// Bytes of a connection's body have arrived. Gives a connection that has to be closed since all of them together hold too many: the
    /// one with the longest body of the address that has sent the most.
    pub(super) fn receive(&mut self, id: ConnectionId, bytes: usize) -> Option<ConnectionId> {
        let slot = self.slots.get_mut(&id)?;
        slot.body_bytes += bytes;
        self.groups.get_mut(&slot.address).expect("a connection's address has a group").body_bytes += bytes;
        self.body_bytes += bytes;
        if self.body_bytes <= self.caps.body_bytes_max {
            return None;
        }
        let (_, group) = self.groups.iter().max_by_key(|(_, group)| group.body_bytes)?;
        let of = |id: &ConnectionId| self.slots[id].body_bytes;
        let victim = group.waiting.iter().map(|&(_, _, id)| id).max_by_key(of)?;
        self.close(victim);
        Some(victim)
    }

    /// A connection is gone.
    pub(super) fn release(&mut self, id: ConnectionId) {
        self.end_service(id);
        let Some(slot) = self.slots.remove(&id) else { return };
        let group = self.groups.get_mut(&slot.address).expect("a connection's address has a group");
        if group.waiting.remove(&(slot.phase, slot.since, id)) {
            self.waiting -= 1;
        }
        self.closing -= usize::from(slot.is_closing);
        self.body_bytes -= slot.body_bytes;
        group.body_bytes -= slot.body_bytes;
        group.open -= 1;
        if group.open == 0 {
            self.groups.remove(&slot.address);
        }
    }

    /// Takes a connection out of its client's share, if it is in one.
    fn end_service(&mut self, id: ConnectionId) {
        let Some(client) = self.slots.get_mut(&id).and_then(|slot| slot.client.take()) else { return };
        let served = self.served.get_mut(&client).expect("a client with a served connection is counted");
        *served -= 1;
        if *served == 0 {
            self.served.remove(&client);
        }
    }

    fn insert(&mut self, address: ConnectionOrigin) -> ConnectionId {
        self.clock += 1;
        let id = self.clock;
        let (phase, since) = (ConnectionPhase::Reading, id);
        let slot = TableSlot { address, phase, since, body_bytes: 0, is_closing: false, client: None };
        self.slots.insert(id, slot);
        let group = self.groups.entry(address).or_default();
        group.waiting.insert((ConnectionPhase::Reading, id, id));
        group.open += 1;
        self.waiting += 1;
        id
    }

    /// A waiting connection of the address with most of them; of several such addresses, that with the longest wait.
    fn victim(&self) -> Option<ConnectionId> {
        let weight = |address: &ConnectionOrigin, group: &OriginGroup| {
            let oldest = group.waiting.first().map_or(u64::MAX, |&(_, since, _)| since);
            let of_clients = if *address == ConnectionOrigin::Proxy { 0 } else { group.waiting.len() };
            (of_clients, std::cmp::Reverse(oldest))
        };
        let heaviest = self.groups.iter().max_by_key(|(address, group)| weight(address, group));
        heaviest.and_then(|(_, group)| group.first())
    }

    /// Takes a connection out of the choice; it stays open until it is released.
    fn close(&mut self, id: ConnectionId) {
        let slot = self.slots.get_mut(&id).expect("a victim is in the table");
        let group = self.groups.get_mut(&slot.address).expect("a connection's address has a group");
        assert!(group.waiting.remove(&(slot.phase, slot.since, id)), "a victim waits");
        self.waiting -= 1;
        self.closing += 1;
        slot.is_closing = true;
        self.body_bytes -= slot.body_bytes;
        group.body_bytes -= slot.body_bytes;
        slot.body_bytes = 0;
    }
}

impl OriginGroup {
    fn first(&self) -> Option<ConnectionId> {
        self.waiting.first().map(|&(_, _, id)| id)
    }
}

#[cfg(test)]
mod tests;
