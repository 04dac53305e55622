//! Losses of reliable and perishable packets, counted so that a burst weighs as much as a single loss.
//!
//! A packet counts once: as acked, or as missing when its first ack is overdue, however often it is sent again. Missing packets that
//! followed each other are one run. With independent losses of share `L` there are `L / (1 - L)` missing packets per acked one and `L` runs
//! per acked packet, so `runs / acked` is the share; on a path that fades, or is cut for seconds, it stays far below the share.

/// Packets for which a loss is remembered. A path with a loss rate of 1 % always counts as lossy, one with 0.01 % hardly ever.
const MEMORY_PACKETS: u32 = 512;

/// Counters of one circuit; each only rises, and wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Packets acked before their first ack was overdue.
    pub(crate) acked: u32,
    /// Runs of packets whose first ack was overdue.
    pub(crate) runs: u32,
    /// Sequence number of the packet that went missing last.
    latest: Option<u32>,
    /// Packets acked since then.
    acked_since: u32,
}

impl Losses {
    pub(crate) const fn on_acked(&mut self) {
        self.acked = self.acked.wrapping_add(1);
        self.acked_since = self.acked_since.saturating_add(1);
    }

    /// A packet is missing that was sent next after `follows`. `is_after_missing`: packet `follows` is missing too, and still in
    /// flight.
    pub(crate) fn on_missing(&mut self, sequence: u32, follows: Option<u32>, is_after_missing: bool) {
        let continues = is_after_missing || follows.is_some() && follows == self.latest;
        self.runs = self.runs.wrapping_add(u32::from(!continues));
        self.latest = Some(sequence);
        self.acked_since = 0;
    }

    /// True if one of the last [`MEMORY_PACKETS`] packets went missing.
    pub(crate) const fn is_recent(&self) -> bool {
        self.latest.is_some() && self.acked_since < MEMORY_PACKETS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_missing_in_a_row_are_one_run() {
        let mut losses = Losses::default();
        losses.on_missing(3, Some(2), false);
        losses.on_missing(4, Some(3), false);
        losses.on_missing(9, Some(4), false);
        assert_eq!(losses.runs, 1);
        losses.on_missing(12, Some(11), false);
        assert_eq!(losses.runs, 2, "11 was acked");
        losses.on_missing(14, Some(13), true);
        assert_eq!(losses.runs, 2, "13 is missing, too");
    }

    #[test]
    fn a_loss_is_recent_for_a_fixed_number_of_packets() {
        let mut losses = Losses::default();
        losses.on_acked();
        assert!(!losses.is_recent(), "nothing was lost");
        losses.on_missing(2, Some(1), false);
        for _ in 0..MEMORY_PACKETS {
            assert!(losses.is_recent());
            losses.on_acked();
        }
        assert!(!losses.is_recent());
    }

    #[test]
    fn the_first_packet_follows_none() {
        let mut losses = Losses::default();
        losses.on_missing(1, None, false);
        assert_eq!(losses.runs, 1);
    }
}
