//! Handling of inbound datagrams.

use crate::duplicates::SequenceVerdict;
use crate::{Circuit, DropReason, Role, control};
use ids::Instant;
use systems::System;
use wire::header::{Datagram, Flags};
use wire::messages::MessageNumber;
use wire::zero_code;

/// A message from the peer, new and whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// The peer's number of the packet. AgentUpdate is obeyed only if this [`crate::is_newer`] than the last
    /// one's.
    pub sequence: u32,
    /// True if the peer resends it until acked; the ack is already queued.
    pub reliable: bool,
    /// Number of the message.
    pub number: MessageNumber,
    /// Body behind the number, expanded.
    pub body: &'a [u8],
}

impl Circuit {
    /// Takes in a datagram from the peer. Gives the message in it if it is new and for the application; acks
    /// and pings are handled here and give `None`. `scratch` is overwritten, and holds the body when that was
    /// zero-coded.
    ///
    /// # Errors
    /// The cause if there is no message in it, to be counted. A duplicate is acked again, since the first ack
    /// may be lost.
    #[inline(never)]
    pub fn handle_datagram<'s>(
        &mut self,
        now: Instant,
        bytes: &'s [u8],
        scratch: &'s mut Vec<u8>,
    ) -> Result<Option<Received<'s>>, DropReason> {
        System::CircuitReceive.enter();
        if self.closed.is_some() {
            return Err(DropReason::Closed);
        }
        let now = self.advance(now);
        self.stats.datagrams_in += 1;
        self.stats.bytes_in += bytes.len() as u64;
        let result = self.on_datagram(now, bytes, scratch);
        match result {
            Err(DropReason::Malformed(_)) => self.stats.malformed += 1,
            Err(DropReason::Duplicate) => self.stats.duplicates += 1,
            _ => {}
        }
        result
    }

    fn on_datagram<'s>(
        &mut self,
        now: Instant,
        bytes: &'s [u8],
        scratch: &'s mut Vec<u8>,
    ) -> Result<Option<Received<'s>>, DropReason> {
        let datagram = Datagram::parse(bytes)?;
        let sequence = datagram.sequence;
        let body = if datagram.flags.contains(Flags::ZERO_CODED) {
            scratch.clear();
            zero_code::expand(datagram.body, scratch)?;
            scratch.as_slice()
        } else {
            datagram.body
        };
        let (number, body) = MessageNumber::split(body)?;
        for id in datagram.acks() {
            self.on_ack(now, id);
        }
        // Before the duplicate filter, and never acked: one client numbers every PacketAck 0 and marks it reliable. Acks are
        // idempotent, so this loses nothing.
        if number == control::PACKET_ACK {
            for id in control::acked_ids(body)? {
                self.on_ack(now, id);
            }
            return Ok(None);
        }
        let verdict = self.duplicates.check(sequence);
        match verdict {
            // A datagram that was heard before may be a copy, and one out of order a forgery: neither shows that the peer is there.
            SequenceVerdict::New => self.idle.on_heard(now),
            SequenceVerdict::Duplicate => {}
            SequenceVerdict::Jump => return Err(DropReason::SequenceJump),
        }
        let reliable = datagram.flags.contains(Flags::RELIABLE);
        if reliable && !self.finishing {
            self.owe_ack(now, sequence, number);
        }
        if verdict == SequenceVerdict::Duplicate {
            return Err(DropReason::Duplicate);
        }
        match number {
            control::START_PING_CHECK => {
                self.ping.on_start(control::ping_id(body)?);
                self.stats.pings_in += 1;
                Ok(None)
            }
            control::COMPLETE_PING_CHECK => {
                if let Some(sent_at) = self.ping.on_complete(control::ping_id(body)?) {
                    self.stats.pings_answered += 1;
                    if self.is_measurable(sent_at) && !self.is_late() {
                        self.rtt.on_ping(now.since(sent_at));
                    }
                }
                Ok(None)
            }
            _ => Ok(Some(Received { sequence, reliable, number, body })),
        }
    }

    fn owe_ack(&mut self, now: Instant, sequence: u32, number: MessageNumber) {
        let is_owed = if self.config.role == Role::Server && number == control::USE_CIRCUIT_CODE {
            self.acks.push_alone(sequence, now)
        } else {
            self.acks.push(sequence, now + self.config.ack_delay)
        };
        self.stats.acks_dropped += u64::from(!is_owed);
    }

    fn on_ack(&mut self, now: Instant, id: u32) {
        if let Some(packet) = self.in_flight.remove(id) {
            self.idle.on_heard(now);
            if self.is_measurable(packet.first_sent_at) {
                self.rtt.on_ack(now.since(packet.first_sent_at), packet.transmissions > 1);
            }
            self.loss.on_acked();
            self.stats.acks_in += 1;
            if !packet.datagram.is_empty() {
                self.spare.return_buffer(packet.datagram);
            }
        } else if let Some(sent_at) = self.in_flight.on_late_ack(id) {
            self.idle.on_heard(now);
            if self.is_measurable(sent_at) {
                self.rtt.on_ack(now.since(sent_at), false);
            }
            self.stats.acks_late += 1;
        }
    }
}
