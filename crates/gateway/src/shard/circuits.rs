//! Circuits of clients: their opening with a ticket, and their datagrams and acks.

use super::client::Client;
use super::counters::Refused;
use super::turns::Turns;
use super::{CircuitAddress, ClientIndex, Outbox, Shard};
use crate::coverage::MessageOutcome;
use crate::mail::{FromShard, Ticket};
use crate::places::Place;
use circuit::{Circuit, DropReason, message_number};
use ids::{CircuitCode, Instant};
use std::sync::Arc;
use systems::System;
use wire::header::Datagram;
use wire::messages::{MessageName, MessageNumber, UseCircuitCode};

impl Shard {
    /// Handles a datagram from an address without a circuit. Only a UseCircuitCode with a valid ticket gets an answer, so that other senders learn
    /// nothing and use no memory.
    pub(super) fn on_stranger(
        &mut self,
        now: Instant,
        address: CircuitAddress,
        bytes: &[u8],
        out: &mut Outbox,
    ) {
        let Some(request) = use_circuit_code(bytes, &mut self.expanded) else {
            self.counters.refuse(Refused::UnknownAddress);
            return;
        };
        let Some(key) = self.ticket_for(now, address.port, &request) else {
            self.counters.refuse(Refused::NoTicket);
            return;
        };
        let ticket = self.tickets.remove(&key).expect("just looked at");
        // The world has ended, and the revocation of the ticket has not arrived yet.
        let Some(place) = self.places.showing(ticket.place, ticket.world) else {
            self.counters.refuse(Refused::NoTicket);
            return;
        };
        let index = self.open(now, ticket, place, address);
        self.on_circuit(now, index, bytes, out);
    }

    /// Key of the ticket that a UseCircuitCode on a port names, if code, session and agent match and the ticket has not expired.
    fn ticket_for(&self, now: Instant, port: u8, request: &UseCircuitCode) -> Option<(CircuitCode, u8)> {
        let shown = &request.circuit_code;
        let key = (CircuitCode(shown.code), port);
        let ticket = self.tickets.get(&key)?;
        let fits = ticket.session_id.0 == shown.session_id && ticket.agent.0 == shown.id;
        (fits && ticket.expires_at > now).then_some(key)
    }

    pub(super) fn has_ticket(&mut self, now: Instant, address: CircuitAddress, bytes: &[u8]) -> bool {
        use_circuit_code(bytes, &mut self.expanded)
            .is_some_and(|request| self.ticket_for(now, address.port, &request).is_some())
    }

    fn open(
        &mut self,
        now: Instant,
        ticket: Arc<Ticket>,
        place: Arc<Place>,
        address: CircuitAddress,
    ) -> ClientIndex {
        self.counters.circuits_opened += 1;
        let key = ticket.circuit;
        // Sessions have consecutive numbers, so the slots fill evenly.
        let slot = Turns::slot_of(key.session.0);
        let mut circuit = Circuit::new(now, &self.config.circuit, ticket.first_sequence);
        circuit.set_total_bytes_per_s(now, self.egress.share());
        let client = Client::new(now, ticket, place, address, circuit, slot, self.config.visible_max);
        let index = self.free.pop().unwrap_or_else(|| {
            self.clients.push(None);
            (self.clients.len() - 1) as ClientIndex
        });
        self.clients[index as usize] = Some(Box::new(client));
        self.turns.add(slot, index);
        self.by_address.insert((address.port, address.remote), index);
        self.by_circuit.insert(key, index);
        let world = self.client(index).place.world();
        self.by_world.insert((world, key), index);
        self.mail.push(FromShard::Opened(key));
        index
    }

    pub(super) fn on_circuit(&mut self, now: Instant, index: ClientIndex, bytes: &[u8], out: &mut Outbox) {
        let mut expanded = std::mem::take(&mut self.expanded);
        let client = self.client(index);
        match client.circuit.handle_datagram(now, bytes, &mut expanded) {
            Ok(Some(received)) => {
                if received.reliable {
                    client.flush(now, out);
                    self.owe_ack(now, index);
                }
                self.dispatch(now, index, &received, out);
            }
            Ok(None) => {
                client.flush(now, out);
                self.count_message(bytes, MessageOutcome::Done);
            }
            Err(why) => {
                // A duplicate is acked again.
                client.flush(now, out);
                self.counters.drop(why);
                if matches!(why, DropReason::Malformed(_)) {
                    self.count_message(bytes, MessageOutcome::Dropped);
                }
            }
        }
        self.expanded = expanded;
    }

    /// Counts a message that its circuit has consumed or refused: an ack, a ping, or a malformed message. The message number is parsed a second time,
    /// which costs a few nanoseconds for a datagram without further processing.
    fn count_message(&mut self, datagram: &[u8], outcome: MessageOutcome) {
        if let Some(number) = message_number(datagram) {
            self.outcomes.count(MessageName::of(number), outcome);
        }
    }

    /// Schedules a client's acks, because its next turn may be too late for them.
    fn owe_ack(&mut self, now: Instant, index: ClientIndex) {
        let due_at = now + self.config.circuit.ack_delay;
        let client = self.client(index);
        if client.owes_acks_until.is_none_or(|until| until <= now) {
            client.owes_acks_until = Some(due_at);
            self.acks_due.push_back((due_at, index));
        }
    }

    #[inline(never)]
    pub(super) fn send_due_acks(&mut self, now: Instant, out: &mut Outbox) {
        System::ShardAcks.enter();
        while let Some((due_at, index)) = self.acks_due.pop_front_if(|(due_at, _)| *due_at <= now) {
            // The index may belong to another client by now.
            if let Some(client) = &mut self.clients[index as usize]
                && client.owes_acks_until == Some(due_at)
            {
                client.flush(now, out);
            }
        }
    }
}

/// Decodes the UseCircuitCode in a datagram from an unknown address; `None` for any other datagram.
fn use_circuit_code(bytes: &[u8], expanded: &mut Vec<u8>) -> Option<UseCircuitCode> {
    let datagram = Datagram::parse(bytes).ok()?;
    let body = if datagram.flags.contains(wire::header::Flags::ZERO_CODED) {
        expanded.clear();
        wire::zero_code::expand(datagram.body, expanded).ok()?;
        expanded.as_slice()
    } else {
        datagram.body
    };
    let (number, body) = MessageNumber::split(body).ok()?;
    if number != UseCircuitCode::NUMBER {
        return None;
    }
    UseCircuitCode::decode(body).ok()
}
