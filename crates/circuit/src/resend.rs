//! Reliable packets that the peer has not acked yet, whole, so that they can be sent again under their own
//! number.

use crate::expired::Expired;
use crate::losses::Losses;
use crate::sequence::{distance, is_newer};
use ids::Instant;
use std::collections::VecDeque;
use std::time::Duration;
use wire::header::Flags;

/// A reliable packet on its way.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) sequence: u32,
    /// The datagram as sent first, without appended acks. Empty for a perishable one, which is never sent again.
    pub(crate) datagram: Vec<u8>,
    pub(crate) first_sent_at: Instant,
    /// Time of the next transmission.
    pub(crate) due_at: Instant,
    /// Time of the latest transmission.
    pub(crate) sent_at: Instant,
    /// Number of transmissions.
    pub(crate) transmissions: u32,
    /// Number of transmissions that the peer answered with packets other than an ack.
    pub(crate) ignored: u32,
    /// The packet sent before this one. None for the first of a circuit.
    follows: Option<u32>,
    /// Its first ack was overdue: it is counted in [`Losses`].
    is_missing: bool,
}

// A client of a crowd has room for dozens.
const _: () = assert!(size_of::<Packet>() <= 72);

impl Packet {
    /// It leaves again, while the peer was last heard at `heard_at`.
    pub(crate) fn on_resend(&mut self, now: Instant, heard_at: Instant, timeout: Duration) {
        self.datagram[0] |= Flags::RESENT.0;
        self.transmissions += 1;
        self.ignored += u32::from(heard_at > self.sent_at);
        self.sent_at = now;
        self.due_at = now + timeout;
    }
}

/// The packets in flight, oldest first. Numbers rise from front to back, so an ack finds its packet by
/// bisection.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    packets: VecDeque<Packet>,
    /// Most of them at once since memory was given back last.
    peak: usize,
    /// The same over the last minute or so: it falls by an eighth each time.
    usual_peak: usize,
    bytes: usize,
    /// Packets accepted but not yet sent, and their bytes: they will need room here.
    reserved: usize,
    reserved_bytes: usize,
    /// Not later than the earliest `due_at`; none when nothing is in flight. An ack may leave it too early,
    /// which costs one look at the packets.
    earliest: Option<Instant>,
    /// Time at which the throttle allows the resend that it held back.
    held_until: Option<Instant>,
    /// Numbers of perishable packets that were not acked in time, until the application has asked for them.
    lost: VecDeque<u32>,
    /// Perishable packets whose acks may come late; none on a path that has lost nothing for a minute.
    expired: Option<Box<Expired>>,
    /// The packet sent last, whether it is still here or not.
    newest: Option<u32>,
    losses: Losses,
}

impl InFlight {
    /// True if one more packet fits these bounds, reserved ones included.
    pub(crate) fn has_room(&self, datagram_len: usize, packets_max: usize, bytes_max: usize) -> bool {
        self.unacked() < packets_max && self.bytes + self.reserved_bytes + datagram_len <= bytes_max
    }

    /// Keeps room for a packet that is accepted now and sent later.
    pub(crate) fn reserve(&mut self, datagram_len: usize) {
        self.reserved += 1;
        self.reserved_bytes += datagram_len;
    }

    /// Gives back what [`Self::reserve`] took, when the packet leaves.
    pub(crate) fn release(&mut self, datagram_len: usize) {
        self.reserved -= 1;
        self.reserved_bytes -= datagram_len;
    }

    /// A packet has left for the first time. Its number follows on all others here.
    pub(crate) fn insert(&mut self, sequence: u32, datagram: Vec<u8>, now: Instant, timeout: Duration) {
        assert!(
            self.packets.back().is_none_or(|last| is_newer(sequence, last.sequence)),
            "packet {sequence} is numbered behind an earlier sent one"
        );
        let due_at = now + timeout;
        self.bytes += datagram.len();
        self.earliest = Some(self.earliest.map_or(due_at, |earliest| earliest.min(due_at)));
        self.packets.push_back(Packet {
            sequence,
            datagram,
            first_sent_at: now,
            due_at,
            sent_at: now,
            transmissions: 1,
            ignored: 0,
            follows: self.newest.replace(sequence),
            is_missing: false,
        });
        self.peak = self.peak.max(self.packets.len());
    }

    /// The peer has a packet: it leaves this table. None if it was acked before or never sent.
    pub(crate) fn remove(&mut self, sequence: u32) -> Option<Packet> {
        let oldest = self.packets.front()?.sequence;
        let wanted = distance(oldest, sequence);
        let index =
            self.packets.binary_search_by_key(&wanted, |packet| distance(oldest, packet.sequence)).ok()?;
        // A peer may ack a number that differs from ours in the bits that we do not use.
        if self.packets[index].sequence != sequence {
            return None;
        }
        let packet = self.packets.remove(index)?;
        self.bytes -= packet.datagram.len();
        if !packet.is_missing {
            self.losses.on_acked();
        }
        if self.packets.is_empty() {
            self.earliest = None;
            self.held_until = None;
        }
        Some(packet)
    }

    /// The oldest packet whose ack is overdue.
    pub(crate) fn next_due(&mut self, now: Instant) -> Option<&mut Packet> {
        if self.earliest? > now {
            return None;
        }
        match self.packets.iter().position(|packet| packet.due_at <= now && !packet.datagram.is_empty()) {
            Some(index) => self.packets.get_mut(index),
            None => {
                self.earliest = self.packets.iter().map(|packet| packet.due_at).min();
                None
            }
        }
    }

    /// Counts packets whose first ack is overdue, and moves the perishable ones among the overdue from here to the lost ones; the number
    /// of those.
    pub(crate) fn expire_perishable(&mut self, now: Instant) -> usize {
        if self.earliest.is_none_or(|earliest| earliest > now) {
            return 0;
        }
        let before = self.lost.len();
        let Self { packets, lost, expired, losses, .. } = self;
        let mut latest_missing = None;
        packets.retain_mut(|packet| {
            let is_overdue = packet.due_at <= now;
            if is_overdue && !packet.is_missing {
                packet.is_missing = true;
                let is_after_missing = packet.follows.is_some() && packet.follows == latest_missing;
                losses.on_missing(packet.sequence, packet.follows, is_after_missing);
            }
            if packet.is_missing {
                latest_missing = Some(packet.sequence);
            }
            let expires = is_overdue && packet.datagram.is_empty();
            if expires {
                lost.push_back(packet.sequence);
                expired.get_or_insert_default().push(packet.sequence, packet.sent_at);
            }
            !expires
        });
        if self.packets.is_empty() {
            self.earliest = None;
            self.held_until = None;
        }
        self.lost.len() - before
    }

    /// Acked and missing packets so far.
    pub(crate) const fn losses(&self) -> Losses {
        self.losses
    }

    /// The number of a perishable packet that was not acked in time.
    pub(crate) fn pop_lost(&mut self) -> Option<u32> {
        self.lost.pop_front()
    }

    /// The ack of an expired perishable packet has come: the time at which that was sent, and the packet is lost no more. None if there is no such packet.
    pub(crate) fn on_late_ack(&mut self, sequence: u32) -> Option<Instant> {
        let sent_at = self.expired.as_mut()?.on_ack(sequence)?;
        self.lost.retain(|&lost| lost != sequence);
        Some(sent_at)
    }

    /// The number of a perishable packet that was acked after it had expired.
    pub(crate) fn pop_late_ack(&mut self) -> Option<u32> {
        self.expired.as_mut()?.pop_acked()
    }

    /// True if the packet with this number waits for its ack.
    pub(crate) fn contains(&self, sequence: u32) -> bool {
        let Some(oldest) = self.packets.front().map(|packet| packet.sequence) else { return false };
        let wanted = distance(oldest, sequence);
        self.packets.binary_search_by_key(&wanted, |packet| distance(oldest, packet.sequence)).is_ok()
    }

    /// True if the peer has ignored an overdue packet long and often enough to be given up. A silent peer ignores nothing: the idle
    /// timeout judges it, or it would be lost when its process stops for a while.
    pub(crate) fn is_hopeless(&self, now: Instant, after: Duration, tries: u32) -> bool {
        self.earliest.is_some_and(|earliest| earliest <= now)
            && self.packets.iter().any(|packet| {
                packet.due_at <= now && packet.ignored >= tries && now.since(packet.first_sent_at) >= after
            })
    }

    /// The throttle holds the next resend back until then, or no more.
    pub(crate) const fn hold_until(&mut self, until: Option<Instant>) {
        self.held_until = until;
    }

    /// Time at which a resend may be due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.earliest.map(|earliest| self.held_until.map_or(earliest, |until| until.max(earliest)))
    }

    /// The number of the oldest packet in flight.
    pub(crate) fn oldest(&self) -> Option<u32> {
        self.packets.front().map(|packet| packet.sequence)
    }

    /// Packets in flight or reserved.
    pub(crate) fn unacked(&self) -> usize {
        self.packets.len() + self.reserved
    }

    /// Frees the memory of a past peak: the part not needed since the last call, if that is most of it, or not needed for long, if that is much of
    /// it. A small surplus stays, since it would only be allocated again.
    pub(crate) fn free_spare(&mut self, now: Instant) {
        if let Some(expired) = &mut self.expired {
            expired.forget_old(now);
        }
        self.expired.take_if(|expired| expired.is_empty());
        let needed = std::mem::replace(&mut self.peak, self.packets.len()).max(8);
        self.usual_peak = needed.max(self.usual_peak - self.usual_peak / 8);
        let capacity = self.packets.capacity();
        if capacity >= 8 * needed {
            self.packets.shrink_to(2 * needed);
        } else if capacity >= 4 * self.usual_peak {
            self.packets.shrink_to(2 * self.usual_peak);
        }
        if self.lost.is_empty() {
            self.lost.shrink_to(8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(1);

    fn in_flight(sequences: &[u32]) -> InFlight {
        let mut in_flight = InFlight::default();
        for (i, &sequence) in (0..).zip(sequences) {
            in_flight.insert(sequence, vec![0; 100], Instant::from_millis(i * 100), TIMEOUT);
        }
        in_flight
    }

    #[test]
    #[should_panic(expected = "packet 4 is numbered behind an earlier sent one")]
    fn numbers_of_packets_rise() {
        in_flight(&[0x00FF_FFFF, 5, 4]);
    }

    #[test]
    fn acks_find_their_packets_across_the_wrap() {
        let mut in_flight = in_flight(&[0x00FF_FFFE, 0x00FF_FFFF, 1, 4]);
        assert_eq!(in_flight.oldest(), Some(0x00FF_FFFE));
        assert!(in_flight.remove(0).is_none(), "never sent");
        for sequence in [1, 0x00FF_FFFE, 4, 0x00FF_FFFF] {
            assert_eq!(in_flight.remove(sequence).map(|packet| packet.sequence), Some(sequence));
            assert!(in_flight.remove(sequence).is_none(), "acked twice");
        }
        assert_eq!((in_flight.unacked(), in_flight.bytes, in_flight.deadline()), (0, 0, None));
    }

    #[test]
    fn an_ack_of_a_number_we_never_use_is_ignored() {
        let mut in_flight = in_flight(&[5]);
        assert!(in_flight.remove(0x0100_0005).is_none());
        assert!(in_flight.remove(5).is_some());
    }

    #[test]
    fn packets_become_due_in_order() {
        let mut in_flight = in_flight(&[1, 2]);
        assert!(in_flight.next_due(Instant::from_millis(999)).is_none());
        let packet = in_flight.next_due(Instant::from_millis(1050)).expect("the first is due");
        assert_eq!(packet.sequence, 1);
        packet.due_at = Instant::from_millis(3000);
        assert!(in_flight.next_due(Instant::from_millis(1050)).is_none());
        assert_eq!(in_flight.deadline(), Some(Instant::from_millis(1100)));
    }

    #[test]
    fn a_resend_is_ignored_only_by_a_peer_that_talks() {
        let mut in_flight = in_flight(&[1]);
        let packet = &mut in_flight.packets[0];
        for (heard_ms, ignored) in [(0, 0), (1500, 1), (1500, 1), (3500, 2)] {
            let now = packet.due_at;
            packet.on_resend(now, Instant::from_millis(heard_ms), TIMEOUT);
            assert_eq!(packet.ignored, ignored, "heard at {heard_ms} ms");
        }
        assert_eq!(packet.transmissions, 5);
    }

    #[test]
    fn a_packet_is_hopeless_only_after_both_time_and_tries() {
        let mut in_flight = in_flight(&[1]);
        let late = Instant::from_millis(70_000);
        assert!(!in_flight.is_hopeless(late, Duration::from_secs(60), 10));
        in_flight.packets[0].ignored = 10;
        assert!(in_flight.is_hopeless(late, Duration::from_secs(60), 10));
        assert!(!in_flight.is_hopeless(Instant::from_millis(59_000), Duration::from_secs(60), 10));
    }

    /// Packets with these numbers, of which some are acked and the others become overdue; the losses then.
    fn losses_of(sequences: &[u32], acked: &[u32]) -> Losses {
        let mut in_flight = in_flight(sequences);
        for &sequence in acked {
            in_flight.remove(sequence).expect("in flight");
        }
        in_flight.expire_perishable(Instant::from_millis(60_000));
        in_flight.losses()
    }

    #[test]
    fn consecutive_losses_are_one_run_and_count_once() {
        let losses = losses_of(&[1, 2, 5, 6, 9, 10], &[5, 10]);
        assert_eq!((losses.acked, losses.runs), (2, 2), "1 and 2, then 6 and 9");
        let mut in_flight = in_flight(&[1, 2, 3]);
        let at = Instant::from_millis;
        in_flight.expire_perishable(at(1_000));
        let packet = in_flight.next_due(at(1_000)).expect("the first is due");
        packet.on_resend(at(1_000), Instant::ZERO, TIMEOUT);
        in_flight.expire_perishable(at(5_000));
        assert_eq!(in_flight.losses().runs, 1, "a resend is no second loss, and a row may grow");
        in_flight.remove(1).expect("in flight");
        assert_eq!(in_flight.losses().acked, 0, "it had gone missing");
    }

    #[test]
    fn a_row_goes_on_behind_perishable_packets_that_expired() {
        let mut in_flight = InFlight::default();
        for (sequence, at_ms) in [(1, 0), (2, 100), (3, 200)] {
            in_flight.insert(sequence, Vec::new(), Instant::from_millis(at_ms), TIMEOUT);
        }
        for at_ms in [1_000, 1_100, 1_200] {
            assert_eq!(in_flight.expire_perishable(Instant::from_millis(at_ms)), 1);
        }
        assert_eq!(in_flight.losses().runs, 1);
    }

    #[test]
    fn room_for_four_times_the_usual_peak_is_given_back_after_a_while() {
        let mut in_flight = InFlight::default();
        let mut sequence = 0;
        let mut burst = |in_flight: &mut InFlight, n: u32| {
            let range = sequence + 1..sequence + 1 + n;
            sequence += n;
            range.clone().for_each(|sequence| in_flight.insert(sequence, Vec::new(), Instant::ZERO, TIMEOUT));
            range.for_each(|sequence| drop(in_flight.remove(sequence)));
        };
        burst(&mut in_flight, 60);
        in_flight.free_spare(Instant::ZERO);
        let room = in_flight.packets.capacity();
        assert!(room >= 60);
        burst(&mut in_flight, 12);
        in_flight.free_spare(Instant::ZERO);
        assert_eq!(in_flight.packets.capacity(), room, "the last burst is a moment ago");
        for _ in 0..20 {
            burst(&mut in_flight, 12);
            in_flight.free_spare(Instant::ZERO);
        }
        let room = in_flight.packets.capacity();
        assert!((24..48).contains(&room), "{room}");
        // Bursts that differ by half, each behind some quiet periods, take no memory anew.
        for n in [12, 8, 3, 3, 3, 16, 3, 3, 3, 24, 3, 3, 3, 3] {
            burst(&mut in_flight, n);
            in_flight.free_spare(Instant::ZERO);
            assert_eq!(in_flight.packets.capacity(), room, "{n}");
        }
    }

    #[test]
    fn reserved_packets_take_room() {
        let mut in_flight = in_flight(&[1]);
        assert!(in_flight.has_room(100, 2, 200));
        in_flight.reserve(100);
        assert!(!in_flight.has_room(100, 2, 400));
        assert!(!in_flight.has_room(100, 9, 250));
        in_flight.release(100);
        assert!(in_flight.has_room(100, 2, 200));
    }
}
