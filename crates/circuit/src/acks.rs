//! The acks that we owe the peer, collected for a moment so that many share a datagram.

use ids::Instant;

/// Acks that fit one PacketAck: their count is one byte.
pub(crate) const BATCH_MAX: usize = 255;

/// Most acks that wait. Beyond it new ones are dropped: the peer resends, and is acked then. Only a caller
/// that takes in datagrams without sending any gets there.
pub(crate) const PENDING_MAX: usize = 4 * BATCH_MAX;

#[derive(Clone, Debug, Default)]
pub(crate) struct Acks {
    /// In order of arrival.
    pending: Vec<u32>,
    /// Time at which the oldest of `pending` has waited long enough; `None` without any.
    due_at: Option<Instant>,
    /// Ack of UseCircuitCode: leaves before everything else, in a datagram of its own, since clients start on exactly that packet.
    alone: Option<u32>,
}

impl Acks {
    /// Owes an ack, to be sent by `due_at` at the latest. False if too many wait already.
    pub(crate) fn push(&mut self, sequence: u32, due_at: Instant) -> bool {
        if self.pending.len() >= PENDING_MAX {
            return false;
        }
        self.pending.push(sequence);
        self.due_at = Some(self.due_at.map_or(due_at, |earliest| earliest.min(due_at)));
        true
    }

    /// Owes an ack that goes at once and alone. Should another one like it not have left yet, that one wins
    /// and this is an ordinary ack that is due now: a circuit has one UseCircuitCode.
    pub(crate) fn push_alone(&mut self, sequence: u32, now: Instant) -> bool {
        match self.alone {
            Some(waiting) if waiting != sequence => self.push(sequence, now),
            _ => {
                self.alone = Some(sequence);
                true
            }
        }
    }

    pub(crate) const fn take_alone(&mut self) -> Option<u32> {
        self.alone.take()
    }

    pub(crate) const fn is_alone_waiting(&self) -> bool {
        self.alone.is_some()
    }

    pub(crate) const fn due_at(&self) -> Option<Instant> {
        self.due_at
    }

    /// True if acks should leave now: one has waited long enough, or they fill a datagram.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.pending.len() >= BATCH_MAX || self.due_at.is_some_and(|due_at| due_at <= now)
    }

    /// Passes the oldest acks, at most `max`, to `write`. The others keep their due time: they are nearly due.
    pub(crate) fn take_batch(&mut self, max: usize, write: impl FnOnce(&[u32])) {
        let count = self.pending.len().min(max);
        write(&self.pending[..count]);
        self.pending.drain(..count);
        if self.pending.is_empty() {
            self.due_at = None;
        }
    }

    /// Gives back the memory of a past rush.
    pub(crate) fn free_spare(&mut self) {
        self.pending.shrink_to(16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Instant = Instant::from_millis(20);

    #[test]
    fn acks_wait_until_the_first_is_due() {
        let mut acks = Acks::default();
        acks.push(1, AT);
        acks.push(2, Instant::from_millis(30));
        assert_eq!(acks.due_at(), Some(AT));
        assert!(!acks.is_due(Instant::from_millis(19)));
        assert!(acks.is_due(AT));
        acks.take_batch(BATCH_MAX, |ids| assert_eq!(ids, [1, 2]));
        assert_eq!((acks.pending.len(), acks.due_at()), (0, None));
    }

    #[test]
    fn a_full_batch_does_not_wait() {
        let mut acks = Acks::default();
        for id in 0..300 {
            acks.push(id, AT);
        }
        assert!(acks.is_due(Instant::ZERO));
        acks.take_batch(BATCH_MAX, |ids| assert_eq!(ids.len(), BATCH_MAX));
        assert!(!acks.is_due(Instant::ZERO));
        acks.take_batch(BATCH_MAX, |ids| assert_eq!(ids.first(), Some(&255)));
        assert_eq!(acks.pending.len(), 0);
    }

    #[test]
    fn a_flood_is_bounded() {
        let mut acks = Acks::default();
        let kept = (0..10_000).filter(|&id| acks.push(id, AT)).count();
        assert_eq!(kept, PENDING_MAX);
        assert_eq!(acks.pending.len(), PENDING_MAX);
    }

    #[test]
    fn the_lone_ack_is_kept_once() {
        let mut acks = Acks::default();
        acks.push_alone(0, AT);
        acks.push_alone(0, AT);
        assert_eq!(acks.pending, []);
        acks.push_alone(7, AT);
        assert_eq!(acks.take_alone(), Some(0));
        assert_eq!(acks.take_alone(), None);
        assert_eq!(acks.pending, [7], "the second number waits as an ordinary ack");
        assert!(acks.is_due(AT));
    }
}
