//! Order of outbound datagrams.

use crate::acks::BATCH_MAX;
use crate::config::AppendAcks;
use crate::lanes::Unnumbered;
use crate::{Circuit, control};
use ids::Instant;
use systems::System;
use wire::header::{self, DATAGRAM_MAX, Flags, HEADER_LEN};
use wire::throttle::Category;

/// One datagram that [`Circuit::poll_transmit`] wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Its length in bytes, at most [`DATAGRAM_MAX`].
    pub len: usize,
    /// Kind.
    pub kind: TransmitKind,
}

/// Purpose of an outbound datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransmitKind {
    /// A PacketAck.
    Ack,
    /// A ping or the answer to one.
    Ping,
    /// A message, for the first time.
    Message,
    /// A reliable message again.
    Resend,
}

/// Bytes of a ping: header, number, id, oldest unacked.
const PING_LEN: usize = HEADER_LEN + 6;

impl Circuit {
    /// Appends the next datagram that should leave now to `out`, or gives `None`. In this order: the ack of
    /// UseCircuitCode, alone; answers to pings; acks that are due; our ping; messages given to
    /// [`Self::send`]; resends, at the rate of the resend category; queued messages, at theirs.
    #[inline(never)]
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Transmit> {
        System::CircuitTransmit.enter();
        if self.closed.is_some() {
            return None;
        }
        let now = self.advance(now);
        self.throttle.refill(now);
        let start = out.len();
        let kind = self.write_next(now, out)?;
        let len = out.len() - start;
        assert!(len <= DATAGRAM_MAX, "a {kind:?} datagram of {len} bytes");
        self.on_sent(len);
        Some(Transmit { len, kind })
    }

    fn write_next(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<TransmitKind> {
        if let Some(id) = self.acks.take_alone() {
            self.write_acks(&[id], out);
            return Some(TransmitKind::Ack);
        }
        if let Some(id) = self.ping.take_answer() {
            header::write_header(out, Flags::NONE, self.sequence.take_number());
            control::write_complete_ping_check(out, id);
            return Some(TransmitKind::Ping);
        }
        if self.acks.is_due(now) || self.finishing && self.acks.due_at().is_some() {
            let mut acks = std::mem::take(&mut self.acks);
            acks.take_batch(BATCH_MAX, |ids| self.write_acks(ids, out));
            self.acks = acks;
            return Some(TransmitKind::Ack);
        }
        if let Some((id, was_unanswered)) = self.ping.take_due(now) {
            self.write_ping(now, id, out);
            self.stats.pings_out += 1;
            self.stats.pings_unanswered += u64::from(was_unanswered);
            return Some(TransmitKind::Ping);
        }
        if let Some(message) = self.lanes.express.pop() {
            if message.is_reliable() {
                self.in_flight.release(message.len());
            }
            self.write_message(now, message, out);
            return Some(TransmitKind::Message);
        }
        if self.write_resend(now, out) {
            return Some(TransmitKind::Resend);
        }
        let (category, message) = self.lanes.pop(&self.throttle, &self.in_flight, &self.config)?;
        self.throttle.spend(category, message.len());
        self.write_message(now, message, out);
        Some(TransmitKind::Message)
    }

    fn write_acks(&mut self, ids: &[u32], out: &mut Vec<u8>) {
        header::write_header(out, Flags::NONE, self.sequence.take_number());
        control::write_packet_ack(out, ids);
        self.stats.acks_out += ids.len() as u64;
    }

    fn write_ping(&mut self, now: Instant, id: u8, out: &mut Vec<u8>) {
        let oldest = self.in_flight.oldest().unwrap_or_else(|| self.sequence.next());
        if self.config.reliable_pings {
            let mut ping = self.spare.take_buffer(PING_LEN);
            header::write_header(&mut ping, Flags::RELIABLE, 0);
            control::write_start_ping_check(&mut ping, id, oldest);
            self.write_message(now, Unnumbered(ping), out);
        } else {
            header::write_header(out, Flags::NONE, self.sequence.take_number());
            control::write_start_ping_check(out, id, oldest);
        }
    }

    /// Numbers a message, appends it to `out`, and keeps it if the peer has to ack it.
    pub(crate) fn write_message(&mut self, now: Instant, message: Unnumbered, out: &mut Vec<u8>) -> u32 {
        let sequence = self.sequence.take_number();
        let flags = message.flags();
        let Unnumbered(mut datagram) = message;
        datagram[1..5].copy_from_slice(&sequence.to_be_bytes());
        let start = out.len();
        out.extend_from_slice(&datagram);
        let appends = match self.config.append_acks {
            AppendAcks::Never => false,
            AppendAcks::ToReliable => flags == Flags::RELIABLE,
            AppendAcks::ToAll => true,
        };
        if appends {
            self.append_acks(start, out);
        }
        if !flags.contains(Flags::RELIABLE) {
            self.spare.return_buffer(datagram);
            return sequence;
        }
        let timeout = self.ack_timeout(1);
        self.in_flight.insert(sequence, datagram, now, timeout);
        sequence
    }

    /// Appends as many waiting acks as fit the datagram that begins at `start`.
    fn append_acks(&mut self, start: usize, out: &mut Vec<u8>) {
        let room = (DATAGRAM_MAX - (out.len() - start)).saturating_sub(1) / 4;
        let max = room.min(header::APPENDED_ACKS_MAX);
        let stats = &mut self.stats;
        self.acks.take_batch(max, |ids| {
            if !ids.is_empty() {
                out[start] |= Flags::ACKS.0;
                header::write_acks(out, ids);
                stats.acks_out += ids.len() as u64;
            }
        });
    }

    /// Appends the oldest overdue packet to `out` if the resend category has the bytes for it.
    fn write_resend(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        self.expire_perishable(now);
        let (is_late, late) = (self.is_late(), self.late());
        let Some(packet) = self.in_flight.next_due(now) else { return false };
        let len = packet.datagram.len();
        if !self.throttle.category_has(Category::Resend, len) {
            let until = self.throttle.category_ready_at(Category::Resend, len);
            self.in_flight.hold_until(Some(until));
            return false;
        }
        let timeout = self.rtt.resend_timeout(&self.config, packet.transmissions + 1) + late;
        // Its ack may wait unread while this end is late.
        let heard_at = if is_late { packet.sent_at } else { self.idle.heard_at() };
        packet.on_resend(now, heard_at, timeout);
        out.extend_from_slice(&packet.datagram);
        self.in_flight.hold_until(None);
        self.throttle.spend(Category::Resend, len);
        self.loss.on_timeout();
        self.stats.resends += 1;
        true
    }

    pub(crate) fn on_sent(&mut self, len: usize) {
        self.stats.datagrams_out += 1;
        self.stats.bytes_out += len as u64;
        self.throttle.spend_total(len);
    }
}
