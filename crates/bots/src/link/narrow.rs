//! A line slower than its traffic: items queue in front of it, and overflow is lost.

use super::LinkFate;
use ids::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// Capacity of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Bytes a second, at least one.
    pub bytes_per_s: u32,
    /// Bytes that may be on it or wait for it. Beyond it the newest is lost, as in a router's full queue.
    pub queue_bytes: u32,
}

/// One direction of such a line. It keeps order.
#[derive(Clone, Debug)]
pub struct Narrow<T> {
    capacity: Capacity,
    /// End of transmission, bytes and item, in order.
    waiting: VecDeque<(Instant, u32, T)>,
    waiting_bytes: u32,
    /// End of transmission of the last accepted item.
    free_at: Instant,
}

impl<T> Narrow<T> {
    /// A line with nothing on it.
    #[must_use]
    pub const fn new(capacity: Capacity) -> Self {
        Self { capacity, waiting: VecDeque::new(), waiting_bytes: 0, free_at: Instant::ZERO }
    }

    /// Sends an item of `bytes` down the line; one without any counts as one.
    pub fn push(&mut self, now: Instant, bytes: usize, thing: T) -> LinkFate {
        let room = self.capacity.queue_bytes - self.waiting_bytes;
        let Some(bytes) = u32::try_from(bytes.max(1)).ok().filter(|&bytes| bytes <= room) else {
            return LinkFate::Lost;
        };
        let takes = Duration::from_secs_f64(f64::from(bytes) / f64::from(self.capacity.bytes_per_s));
        self.free_at = self.free_at.max(now) + takes;
        self.waiting.push_back((self.free_at, bytes, thing));
        self.waiting_bytes += bytes;
        LinkFate::UnderWay
    }

    /// The next thing that is through by now.
    pub fn poll(&mut self, now: Instant) -> Option<T> {
        let (_, bytes, thing) = self.waiting.pop_front_if(|(at, ..)| *at <= now)?;
        self.waiting_bytes -= bytes;
        Some(thing)
    }

    /// End of transmission of the next item.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.front().map(|(at, ..)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: Capacity = Capacity { bytes_per_s: 1_000, queue_bytes: 500 };

    /// Sends a hundred bytes every `every_ms` for ten seconds; returns the number of losses, and the delays of the others.
    fn carry(every_ms: u64) -> (u32, Vec<u64>) {
        let mut line = Narrow::new(CAPACITY);
        let (mut lost, mut delays) = (0, Vec::new());
        for ms in 0..10_000 {
            let now = Instant::from_millis(ms);
            if ms % every_ms == 0 {
                lost += u32::from(line.push(now, 100, ms) == LinkFate::Lost);
            }
            while let Some(sent_ms) = line.poll(now) {
                delays.push(ms - sent_ms);
            }
            assert!(line.poll_timeout().is_none_or(|at| at > now));
        }
        (lost, delays)
    }

    #[test]
    fn a_datagram_that_fits_takes_as_long_as_its_bytes() {
        let (lost, delays) = carry(200);
        assert_eq!(lost, 0);
        assert!(delays.len() >= 49 && delays.iter().all(|&ms| ms == 100), "{delays:?}");
    }

    #[test]
    fn excess_datagrams_wait_up_to_the_queues_length_and_are_lost_beyond() {
        let (lost, delays) = carry(50);
        // 200 were sent and 10 a second are carried.
        assert!((95..=105).contains(&delays.len()) && (90..=100).contains(&lost), "{lost}, {}", delays.len());
        let longest = delays.iter().max().expect("some pass");
        assert!((400..=500).contains(longest), "{longest} ms: five times a hundred bytes at 1,000 a second");
    }

    #[test]
    fn a_thing_longer_than_the_queue_never_passes_and_one_without_bytes_still_takes_room() {
        let mut line = Narrow::new(CAPACITY);
        assert_eq!(line.push(Instant::ZERO, 501, ()), LinkFate::Lost);
        let taken = (0..1_000).filter(|_| line.push(Instant::ZERO, 0, ()) == LinkFate::UnderWay).count();
        assert_eq!(taken, 500);
    }
}
