//! The order in which clients come in while the shard is short of CPU time.
//!
//! An arriving client costs as much as several present ones: terrain, full updates, appearances. Under pressure its circuit is open, acks
//! and answers pings, but its avatar enters the world only in its turn: one client per [`PERIOD`], in the order of their
//! CompleteAgentMovement. The wait is [`WAIT_MAX`] at most, half of the hub's deadline for an arrival. At most [`WAITING_MAX`] clients
//! wait; one more lets the first one in. While that many wait on every shard, logins are refused (`throng`, admission).

use ids::Instant;
use link::CircuitKey;
use std::collections::VecDeque;
use std::time::Duration;

/// Between two arrivals.
const PERIOD: Duration = Duration::from_millis(100);
/// Longest wait.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Most clients that wait: the number that enters within the longest wait.
pub const WAITING_MAX: usize = (WAIT_MAX.as_millis() / PERIOD.as_millis()) as usize;

/// Clients that wait for their arrival, first come first.
#[derive(Debug, Default)]
pub(super) struct ArrivalQueue {
    waiting: VecDeque<(Instant, CircuitKey)>,
    /// Earliest time of the next arrival.
    next_at: Instant,
}

impl ArrivalQueue {
    /// True if a client that completes its movement now has to wait.
    pub(super) fn must_wait(&self, is_short: bool) -> bool {
        is_short || !self.waiting.is_empty()
    }

    /// A client waits from now on.
    pub(super) fn push(&mut self, now: Instant, circuit: CircuitKey) {
        self.waiting.push_back((now, circuit));
    }

    /// The next client that may enter at `now`; without a shortage every waiting one in turn.
    pub(super) fn pop(&mut self, now: Instant, is_short: bool) -> Option<CircuitKey> {
        let (came_at, _) = *self.waiting.front()?;
        let is_full = self.waiting.len() > WAITING_MAX;
        let comes_in = !is_short || now >= self.next_at || is_full || now >= came_at + WAIT_MAX;
        if !comes_in {
            return None;
        }
        self.next_at = now + PERIOD;
        self.waiting.pop_front().map(|(_, circuit)| circuit)
    }

    /// Time of the next call of [`Self::pop`].
    pub(super) fn due_at(&self) -> Option<Instant> {
        let (came_at, _) = self.waiting.front()?;
        Some(self.next_at.min(*came_at + WAIT_MAX))
    }

    /// Clients that wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::SessionKey;

    fn key(n: u64) -> CircuitKey {
        CircuitKey { session: SessionKey(n), ticket: 0 }
    }

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn while_time_is_short_clients_come_in_one_by_one_and_in_order() {
        let mut queue = ArrivalQueue::default();
        assert!(!queue.must_wait(false) && queue.must_wait(true));
        (0..3).for_each(|n| queue.push(at(1_000), key(n)));
        assert!(queue.must_wait(false), "behind the waiting ones");
        assert_eq!([queue.pop(at(1_000), true), queue.pop(at(1_050), true)], [Some(key(0)), None]);
        assert_eq!(queue.due_at(), Some(at(1_100)));
        assert_eq!(queue.pop(at(1_100), true), Some(key(1)));
        assert_eq!([queue.pop(at(1_101), false), queue.pop(at(1_101), false)], [Some(key(2)), None]);
        assert_eq!(queue.due_at(), None);
    }

    #[test]
    fn no_client_waits_for_long_and_no_more_wait_than_may() {
        let mut queue = ArrivalQueue::default();
        queue.push(at(0), key(0));
        assert_eq!(queue.pop(at(0), true), Some(key(0)));
        (1..=WAITING_MAX as u64 + 1).for_each(|n| queue.push(at(1), key(n)));
        assert_eq!(queue.pop(at(1), true), Some(key(1)), "they were too many");
        assert_eq!((queue.pop(at(1), true), queue.len()), (None, WAITING_MAX));
        for n in 0..WAITING_MAX as u64 {
            assert_eq!(
                queue.pop(at(10_001), true),
                Some(key(n + 2)),
                "the longest wait is over for all of them"
            );
        }
    }
}
