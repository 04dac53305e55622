//! Messages that wait to leave: one queue that is never held back, and one for each throttle category.

use crate::Config;
use crate::resend::InFlight;
use crate::throttle::Throttle;
use ids::Instant;
use std::collections::VecDeque;
use wire::header::Flags;
use wire::throttle::Category;

/// Most messages that wait in any one queue; its bytes are bounded too ([`Config::queue_bytes_max`]). A full
/// queue refuses.
pub const QUEUE_MESSAGES_MAX: usize = 2048;

/// Room of a lane that only a rush has needed, such as the terrain of an arrival: a busy circuit has a few messages in a lane.
const RUSH_MESSAGES: usize = 64;

/// A datagram complete but for its sequence number.
#[derive(Clone, Debug)]
pub(crate) struct Unnumbered(pub(crate) Vec<u8>);

impl Unnumbered {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn flags(&self) -> Flags {
        Flags(self.0[0])
    }

    pub(crate) fn is_reliable(&self) -> bool {
        self.flags().contains(Flags::RELIABLE)
    }
}

/// A queue with its size in bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendLane {
    messages: VecDeque<Unnumbered>,
    bytes: usize,
}

impl SendLane {
    pub(crate) fn has_room(&self, len: usize, bytes_max: usize) -> bool {
        self.messages.len() < QUEUE_MESSAGES_MAX && self.bytes + len <= bytes_max
    }

    pub(crate) fn push(&mut self, message: Unnumbered) {
        self.bytes += message.len();
        self.messages.push_back(message);
    }

    pub(crate) fn pop(&mut self) -> Option<Unnumbered> {
        let message = self.messages.pop_front()?;
        self.bytes -= message.len();
        Some(message)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    fn front(&self) -> Option<&Unnumbered> {
        self.messages.front()
    }

    fn free_spare(&mut self) {
        self.messages.shrink_to(4);
    }

    /// The same, if the lane is empty after a rush.
    fn free_after_rush(&mut self) {
        if self.messages.is_empty() && self.messages.capacity() >= RUSH_MESSAGES {
            self.free_spare();
        }
    }
}

/// The queues of a circuit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes {
    /// Leaves at the next transmission, regardless of the throttle.
    pub(crate) express: SendLane,
    paced: [SendLane; Category::COUNT],
    /// Messages in all paced lanes.
    queued: usize,
    /// The lane that is looked at first: they take turns, so that none starves when the total is scarce.
    turn: usize,
}

impl Lanes {
    pub(crate) const fn lane(&self, category: Category) -> &SendLane {
        &self.paced[category.index()]
    }

    /// Empties the paced lanes.
    pub(crate) fn drop_queued(&mut self) {
        self.paced = Default::default();
        self.queued = 0;
    }

    pub(crate) fn push(&mut self, category: Category, message: Unnumbered) {
        self.queued += 1;
        self.paced[category.index()].push(message);
    }

    /// The next message that the throttle lets go, and its category. Lanes with an empty bucket, or with a reliable message next while
    /// `in_flight` is full, are skipped. A lane that waits only for the total holds up those behind it: otherwise their small messages
    /// would always consume the total.
    pub(crate) fn pop(
        &mut self,
        throttle: &Throttle,
        in_flight: &InFlight,
        config: &Config,
    ) -> Option<(Category, Unnumbered)> {
        if self.queued == 0 {
            return None;
        }
        for step in 0..Category::COUNT {
            let index = (self.turn + step) % Category::COUNT;
            let category = Category::ALL[index];
            let Some(message) = self.paced[index].front() else { continue };
            if is_blocked(message, in_flight, config) || !throttle.category_has(category, message.len()) {
                continue;
            }
            if !throttle.total_has(message.len()) {
                return None;
            }
            self.turn = (index + 1) % Category::COUNT;
            self.queued -= 1;
            return Some((category, self.paced[index].pop()?));
        }
        None
    }

    /// Time at which the throttle lets the next message of [`Self::pop`] go: later than the throttle's last refill if that just found
    /// nothing. `None` if no message waits for time; an ack may still free a lane.
    pub(crate) fn ready_at(
        &self,
        throttle: &Throttle,
        in_flight: &InFlight,
        config: &Config,
    ) -> Option<Instant> {
        if self.queued == 0 {
            return None;
        }
        let mut earliest: Option<Instant> = None;
        for step in 0..Category::COUNT {
            let category = Category::ALL[(self.turn + step) % Category::COUNT];
            let Some(message) = self.lane(category).front() else { continue };
            if is_blocked(message, in_flight, config) {
                continue;
            }
            let len = message.len();
            if throttle.category_has(category, len) {
                return Some(throttle.total_ready_at(len));
            }
            let ready_at = throttle.category_ready_at(category, len);
            earliest = Some(earliest.map_or(ready_at, |earliest| earliest.min(ready_at)));
        }
        earliest
    }

    /// Messages in all paced lanes.
    pub(crate) const fn queued(&self) -> usize {
        self.queued
    }

    /// Gives back the memory of lanes that are empty after a rush, while the circuit goes on sending: otherwise a client in a crowd, whose circuit
    /// never rests, would keep it for its whole session.
    pub(crate) fn free_after_rush(&mut self) {
        self.paced.iter_mut().chain([&mut self.express]).for_each(SendLane::free_after_rush);
    }

    /// Gives back the memory of a circuit at rest.
    pub(crate) fn free_spare(&mut self) {
        for lane in self.paced.iter_mut().chain([&mut self.express]) {
            lane.free_spare();
        }
    }
}

fn is_blocked(message: &Unnumbered, in_flight: &InFlight, config: &Config) -> bool {
    message.is_reliable()
        && !in_flight.has_room(message.len(), config.in_flight_max, config.in_flight_bytes_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_lane_gives_the_memory_of_a_rush_back_and_a_small_one_stays() {
        let mut lanes = Lanes::default();
        let message = || Unnumbered(vec![0; 10]);
        (0..200).for_each(|_| lanes.push(Category::Land, message()));
        (0..8).for_each(|_| lanes.express.push(message()));
        lanes.free_after_rush();
        let land = Category::Land.index();
        assert!(lanes.paced[land].messages.capacity() >= 200, "it is in use");
        while lanes.paced[land].pop().is_some() {}
        while lanes.express.pop().is_some() {}
        let small = lanes.express.messages.capacity();
        lanes.free_after_rush();
        assert!(lanes.paced[land].messages.capacity() <= 4);
        assert_eq!(lanes.express.messages.capacity(), small);
    }
}
