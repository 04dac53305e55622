//! Perishable packets whose ack was overdue: the ack may still come.
//!
//! A peer short of CPU time acks later than the resend timeout. Without these acks the timeout would stay as short as the last early ack made it,
//! every later packet would expire as well, and its contents would be sent again without end.

use crate::sequence::{distance, is_newer};
use ids::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// Expired packets remembered at most, and acked ones that the application has not asked for: as many as may be in flight by default. The oldest
/// are forgotten first.
const PACKETS_MAX: usize = 512;

/// Age at which an expired packet is forgotten: a peer silent for this long is closed (`Config::idle_timeout`).
const KEPT_FOR: Duration = Duration::from_secs(60);

/// Expired packets by number, oldest first, and the numbers of those that were acked since.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expired {
    packets: VecDeque<(u32, Instant)>,
    acked: VecDeque<u32>,
}

impl Expired {
    /// A packet sent at `sent_at` has expired. Timeouts vary: it may be older than others here.
    pub(crate) fn push(&mut self, sequence: u32, sent_at: Instant) {
        if self.packets.len() >= PACKETS_MAX {
            self.packets.pop_front();
        }
        let n_newer = self.packets.iter().rev().take_while(|&&(other, _)| is_newer(other, sequence)).count();
        self.packets.insert(self.packets.len() - n_newer, (sequence, sent_at));
    }

    /// The ack of an expired packet has come: the time at which that was sent. None if it was acked before, forgotten, or never expired.
    pub(crate) fn on_ack(&mut self, sequence: u32) -> Option<Instant> {
        let &(oldest, _) = self.packets.front()?;
        let wanted = distance(oldest, sequence);
        let at =
            self.packets.binary_search_by_key(&wanted, |&(expired, _)| distance(oldest, expired)).ok()?;
        // A peer may ack a number that differs from ours in the bits that we do not use.
        if self.packets[at].0 != sequence {
            return None;
        }
        let (_, sent_at) = self.packets.remove(at)?;
        if self.acked.len() >= PACKETS_MAX {
            self.acked.pop_front();
        }
        self.acked.push_back(sequence);
        Some(sent_at)
    }

    /// The number of a packet that was acked after it had expired.
    pub(crate) fn pop_acked(&mut self) -> Option<u32> {
        self.acked.pop_front()
    }

    /// True without packets and without acks.
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.acked.is_empty()
    }

    /// Forgets packets sent more than a minute ago, and frees the memory of a past peak.
    pub(crate) fn forget_old(&mut self, now: Instant) {
        while self.packets.pop_front_if(|&mut (_, sent_at)| now.since(sent_at) > KEPT_FOR).is_some() {}
        if self.packets.capacity() >= 8 * self.packets.len().max(8) {
            self.packets.shrink_to(2 * self.packets.len());
        }
        if self.acked.is_empty() {
            self.acked.shrink_to(8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT_AT: Instant = Instant::from_millis(5);

    #[test]
    fn an_ack_counts_once_and_only_for_an_expired_packet() {
        let mut expired = Expired::default();
        expired.push(7, SENT_AT);
        assert_eq!((expired.on_ack(6), expired.on_ack(7), expired.on_ack(7)), (None, Some(SENT_AT), None));
        assert_eq!((expired.pop_acked(), expired.pop_acked()), (Some(7), None));
    }

    #[test]
    fn packets_are_found_across_the_wrap_whatever_the_order_of_their_timeouts() {
        let numbers = [0x00FF_FFFE, 2, 0x00FF_FFFF, 1];
        for first in 0..numbers.len() {
            let mut expired = Expired::default();
            numbers.iter().for_each(|&sequence| expired.push(sequence, SENT_AT));
            assert_eq!(expired.on_ack(0x0100_0001), None, "no number of ours");
            for n in 0..numbers.len() {
                assert_eq!(expired.on_ack(numbers[(first + n) % numbers.len()]), Some(SENT_AT));
            }
            assert_eq!(expired.on_ack(1), None);
        }
    }

    #[test]
    fn packets_are_forgotten_by_number_and_by_age() {
        let mut expired = Expired::default();
        let sent_at = |sequence: u32| Instant::from_millis(u64::from(sequence));
        let newest = PACKETS_MAX as u32 + 2;
        (1..=newest).for_each(|sequence| expired.push(sequence, sent_at(sequence)));
        assert_eq!((expired.on_ack(2), expired.on_ack(3)), (None, Some(sent_at(3))));
        expired.forget_old(sent_at(60_005));
        assert_eq!((expired.on_ack(4), expired.on_ack(5)), (None, Some(sent_at(5))));
        expired.forget_old(sent_at(70_000));
        assert!(expired.packets.is_empty() && expired.packets.capacity() < 64);
        for round in 0..2 {
            (1..=newest).for_each(|n| expired.push(1_000 * (round + 1) + n, sent_at(n)));
            (1..=newest).for_each(|n| _ = expired.on_ack(1_000 * (round + 1) + n));
        }
        assert_eq!(expired.acked.len(), PACKETS_MAX, "the application does not ask");
    }
}
