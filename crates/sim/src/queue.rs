//! Future events in order.
//!
//! Ordered by time, then by lane, then by insertion. A lane belongs to one client's socket, one port and one direction, or to the node
//! itself. Events of different lanes in the same nanosecond are therefore ordered by the client concerned, never by the order of the
//! shards: a run is the same on 1, 2 and 4 shards.

use crate::addresses::Pair;
use ids::Instant;
use std::collections::BTreeMap;

/// Owner of an event; the order of the variants is the order within one nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// A step of the worlds.
    Tick,
    /// The shards' and the hub's turn.
    Turn,
    /// A datagram of a stranger.
    Stranger,
    /// A datagram of a client's socket arrives at a port of the server.
    Up(Pair),
    /// A client's HTTP request arrives.
    Request(u32),
    /// A datagram from a port of the server arrives at a client's socket.
    Down(Pair),
    /// An HTTP answer arrives at a client.
    Answer(u32),
    /// A client's time has come.
    Wake(u32),
}

/// The events to come.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    events: BTreeMap<(Instant, Lane, u64), E>,
    n_inserted: u64,
}

impl<E> Queue<E> {
    /// Nothing will happen.
    pub(crate) const fn new() -> Self {
        Self { events: BTreeMap::new(), n_inserted: 0 }
    }

    /// Something will happen.
    pub(crate) fn push(&mut self, at: Instant, lane: Lane, event: E) {
        self.events.insert((at, lane, self.n_inserted), event);
        self.n_inserted += 1;
    }

    /// The next event.
    pub(crate) fn pop(&mut self) -> Option<(Instant, Lane, E)> {
        let ((at, lane, _), event) = self.events.pop_first()?;
        Some((at, lane, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_before_lane_and_lane_before_insertion() {
        let mut queue = Queue::new();
        let up = |client| Lane::Up(Pair { client, generation: 1, port: 0 });
        let (early, late) = (Instant::from_millis(1), Instant::from_millis(2));
        queue.push(late, Lane::Tick, 5);
        queue.push(early, up(2), 3);
        queue.push(early, up(1), 1);
        queue.push(early, up(1), 2);
        queue.push(early, Lane::Wake(0), 4);
        let order: Vec<i32> = std::iter::from_fn(|| queue.pop()).map(|(_, _, event)| event).collect();
        assert_eq!(order, [1, 2, 3, 4, 5]);
    }
}
