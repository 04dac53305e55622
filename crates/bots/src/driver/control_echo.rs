//! Latency of the machine: datagrams to a plain echo beside the server, on the path of the bots' datagrams.
//!
//! A ping of ten milliseconds carries no information about a server on a machine where an echo takes nine.

use super::port::BotSocket;
use crate::summary::{Summary, Times};
use ids::Instant;
use std::net::SocketAddrV4;
use std::time::Duration;

/// Between two datagrams.
const PERIOD: Duration = Duration::from_millis(5);

/// Bytes of each: the time that it left.
const LEN: usize = 8;

#[derive(Debug)]
pub(super) struct ControlEcho {
    /// Address of the echo.
    pub(super) remote: SocketAddrV4,
    /// Source of the datagrams.
    pub(super) port: BotSocket,
    next_at: Instant,
    times: Times,
}

impl ControlEcho {
    pub(super) fn new(now: Instant, remote: SocketAddrV4, port: BotSocket) -> Self {
        Self { remote, port, next_at: now, times: Times::default() }
    }

    pub(super) const fn next_at(&self) -> Instant {
        self.next_at
    }

    /// The datagram that is due, if one is.
    pub(super) fn poll(&mut self, now: Instant) -> Option<[u8; LEN]> {
        if now < self.next_at {
            return None;
        }
        // Missed times are not made up for.
        self.next_at = (self.next_at + PERIOD).max(now);
        Some(now.0.to_le_bytes())
    }

    /// One came back.
    pub(super) fn handle_reply(&mut self, now: Instant, datagram: &[u8]) {
        if let Ok(sent_at) = datagram.try_into().map(u64::from_le_bytes) {
            self.times.record(now - Instant(sent_at));
        }
    }

    /// Summary since the last call.
    pub(super) fn summary(&mut self) -> Summary {
        std::mem::take(&mut self.times).summary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn datagrams_leave_in_their_time_and_are_timed_when_they_are_back() {
        let remote = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7);
        let mut echo = ControlEcho::new(Instant::from_millis(10), remote, BotSocket::Host(remote));
        let datagram = echo.poll(Instant::from_millis(10)).expect("one is due");
        assert_eq!(echo.poll(Instant::from_millis(12)), None);
        echo.handle_reply(Instant::from_millis(13), &datagram);
        echo.handle_reply(Instant::from_millis(13), b"no time");
        assert!(echo.poll(Instant::from_millis(100)).is_some());
        assert_eq!(echo.next_at(), Instant::from_millis(100));
        let summary = echo.summary();
        assert_eq!((summary.count, summary.min_ms), (1, Some(3.0)));
        assert_eq!(echo.summary().count, 0);
    }
}
