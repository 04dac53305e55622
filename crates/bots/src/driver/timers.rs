//! Deadlines of the bots: a timer wheel with a slot for each millisecond.
//!
//! A bot's deadline moves with nearly every datagram, mostly further away. So a timer is only moved if it has to fire earlier; a timer
//! that fires too early finds its bot idle and is set again. Moving is thereby free, and each bot is in the wheel about once.

use ids::Instant;
use std::time::Duration;

/// Time per slot: deadlines are met up to this much late.
pub(super) const SLOT: Duration = Duration::from_millis(1);

/// Slots of the wheel. Deadlines beyond its turn wait in the last slot and are set again there.
const SLOTS: usize = 1024;

/// The timers of many bots.
#[derive(Debug)]
pub(super) struct Timers {
    slots: Vec<Vec<u32>>,
    /// The first slot that has not rung.
    next_slot: u64,
    /// By bot: the slot in which it rings, or none.
    set_for: Vec<Option<u64>>,
}

impl Timers {
    pub(super) fn new(now: Instant, bots: u32) -> Self {
        Self { slots: vec![Vec::new(); SLOTS], next_slot: slot_of(now), set_for: vec![None; bots as usize] }
    }

    /// Has a bot ring at `at` or earlier.
    pub(super) fn set(&mut self, bot: u32, at: Instant) {
        // Rounded up: a timer that fired before its time would be set for the same slot again.
        let wanted = (slot_of(at) + 1).clamp(self.next_slot, self.next_slot + SLOTS as u64 - 1);
        let set_for = &mut self.set_for[bot as usize];
        if set_for.is_none_or(|current| wanted < current) {
            *set_for = Some(wanted);
            self.slots[index(wanted)].push(bot);
        }
    }

    /// Moves the due bots to `due`, which is cleared before.
    pub(super) fn expire(&mut self, now: Instant, due: &mut Vec<u32>) {
        due.clear();
        let last = slot_of(now);
        // After a stop of more than a turn every slot rings once.
        let end = (last + 1).min(self.next_slot + SLOTS as u64);
        for slot in self.next_slot..end {
            let rang = std::mem::take(&mut self.slots[index(slot)]);
            for &bot in &rang {
                // Otherwise it was moved to an earlier slot and has rung there.
                if self.set_for[bot as usize] == Some(slot) {
                    self.set_for[bot as usize] = None;
                    due.push(bot);
                }
            }
            // The slot keeps its memory for the next turn.
            let mut rang = rang;
            rang.clear();
            self.slots[index(slot)] = rang;
        }
        self.next_slot = self.next_slot.max(last + 1);
    }

    /// Time of the next slot that is not empty. Checks up to a hundred slots only, so it may be early.
    pub(super) fn next(&self) -> Instant {
        const LOOKAHEAD: u64 = 100;
        let end = self.next_slot + LOOKAHEAD;
        let slot = (self.next_slot..end).find(|&slot| !self.slots[index(slot)].is_empty()).unwrap_or(end);
        Instant(slot * SLOT.as_nanos() as u64)
    }
}

fn slot_of(at: Instant) -> u64 {
    at.0 / SLOT.as_nanos() as u64
}

fn index(slot: u64) -> usize {
    (slot % SLOTS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn expired(timers: &mut Timers, at_ms: u64) -> Vec<u32> {
        let mut due = Vec::new();
        timers.expire(ms(at_ms), &mut due);
        due
    }

    #[test]
    fn bots_ring_in_their_slot_and_once() {
        let mut timers = Timers::new(ms(0), 3);
        timers.set(0, ms(5));
        timers.set(1, ms(20));
        assert_eq!(timers.next(), ms(6));
        assert_eq!(expired(&mut timers, 5), [0; 0]);
        assert_eq!(expired(&mut timers, 6), [0]);
        assert_eq!(expired(&mut timers, 30), [1]);
        assert_eq!(expired(&mut timers, 2000), [0; 0]);
    }

    #[test]
    fn an_earlier_deadline_counts_and_a_later_one_rings_early() {
        let mut timers = Timers::new(ms(0), 2);
        timers.set(0, ms(50));
        timers.set(0, ms(10));
        timers.set(1, ms(10));
        timers.set(1, ms(50));
        assert_eq!(expired(&mut timers, 11), [0, 1]);
        timers.set(1, ms(50));
        assert_eq!(expired(&mut timers, 51), [1], "bot 0 was moved, not doubled");
    }

    #[test]
    fn far_deadlines_ring_at_the_wheels_end_to_be_set_anew() {
        let mut timers = Timers::new(ms(0), 1);
        timers.set(0, ms(60_000));
        assert_eq!(expired(&mut timers, 1022), [0; 0]);
        assert_eq!(expired(&mut timers, 1023), [0]);
    }

    #[test]
    fn a_past_deadline_fires_at_once_and_a_long_stop_loses_no_timer() {
        let mut timers = Timers::new(ms(0), 2);
        assert_eq!(expired(&mut timers, 100), [0; 0]);
        timers.set(0, ms(50));
        timers.set(1, ms(900));
        assert_eq!(expired(&mut timers, 101), [0]);
        assert_eq!(expired(&mut timers, 50_000), [1]);
        timers.set(0, ms(50_010));
        assert_eq!(expired(&mut timers, 50_011), [0]);
    }
}
