//! Line of a slow reader: it requests the usual bandwidth and carries a twentieth of it.
//!
//! Traffic from the server queues in front of the line and is read late, so its acks are late too; overflow of the queue is lost.
//! Traffic of the bot takes another line, which is wide enough.

use super::Agent;
use crate::behavior::Behavior;
use crate::link::{Capacity, LinkFate, Narrow};
use circuit::message_number;
use ids::Instant;
use std::net::SocketAddrV4;
use wire::messages::CompletePingCheck;

/// A slow reader's line: 64 kbit/s, less than the quarter of their rate that servers leave to clients with a full path, and a queue of
/// two seconds.
pub const SLOW_LINE: Capacity = Capacity { bytes_per_s: 8_000, queue_bytes: 16_000 };

/// A datagram on the line, and from where it is.
pub(super) type Line = Narrow<(SocketAddrV4, Vec<u8>)>;

impl Agent {
    /// Gets a line of its own, or loses it with all that is on it, as it behaves.
    pub(super) fn narrow(&mut self) {
        let is_slow = self.config.behavior == Behavior::SlowReader;
        self.line = is_slow.then(|| Box::new(Narrow::new(SLOW_LINE)));
    }

    /// Puts a datagram of the server on the line.
    pub(super) fn enqueue(&mut self, now: Instant, remote: SocketAddrV4, bytes: &[u8]) {
        let Some(line) = &mut self.line else { return };
        if line.push(now, bytes.len(), (remote, bytes.to_vec())) == LinkFate::Lost {
            self.stats.overflowed += 1;
            if message_number(bytes) == Some(CompletePingCheck::NUMBER) {
                self.forgive_ping();
            }
        }
    }

    /// Handles the datagrams that the line has carried by now.
    pub(super) fn read_line(&mut self, now: Instant) {
        while let Some((remote, bytes)) = self.line.as_mut().and_then(|line| line.poll(now)) {
            self.take_in(now, remote, &bytes);
        }
    }
}
