//! Datagrams that a shard wants sent, in one reused buffer.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;

/// The far end of a circuit, and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CircuitAddress {
    /// Index into the pool of ports.
    pub port: u8,
    /// The client.
    pub remote: SocketAddrV4,
    /// The address that the client sends to: answers must come from it.
    pub local: Ipv4Addr,
}

/// Datagrams in the order in which they are to be sent. The driver empties it after every call into the shard.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Buffer to which cores append a datagram before [`Outbox::seal`].
    pub bytes: Vec<u8>,
    packets: Vec<(CircuitAddress, Range<usize>)>,
}

impl Outbox {
    /// Ends a datagram to `address`: the bytes since the last seal. Empty ones are dropped.
    pub fn seal(&mut self, address: CircuitAddress) {
        let start = self.packets.last().map_or(0, |(_, range)| range.end);
        if self.bytes.len() > start {
            self.packets.push((address, start..self.bytes.len()));
        }
    }

    /// Bytes appended since the last sealed datagram.
    #[must_use]
    pub fn open_len(&self) -> usize {
        self.bytes.len() - self.packets.last().map_or(0, |(_, range)| range.end)
    }

    /// The datagrams.
    pub fn packets(&self) -> impl Iterator<Item = (CircuitAddress, &[u8])> {
        self.packets.iter().map(|(address, range)| (*address, &self.bytes[range.clone()]))
    }

    /// Number of datagrams.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.packets.len()
    }

    /// True without datagrams.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Forgets everything; the buffers stay.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.packets.clear();
    }
}
