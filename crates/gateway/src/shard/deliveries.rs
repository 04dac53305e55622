//! Mail of the hub and of the replica thread.

use super::{ClientIndex, Outbox, Shard};
use crate::mail::ToShard;
use circuit::Reliability;
use ids::Instant;
use link::Action;
use systems::System;

impl Shard {
    /// Handles a message from the hub or from the replica thread.
    #[inline(never)]
    pub fn handle(&mut self, now: Instant, mail: ToShard, out: &mut Outbox) {
        System::ShardMail.enter();
        match mail {
            ToShard::Ticket(ticket) => {
                self.tickets.insert((ticket.code, ticket.port), ticket);
            }
            ToShard::Revoke(circuit) => self.tickets.retain(|_, ticket| ticket.circuit != circuit),
            ToShard::Send(circuit, message) => {
                if let Some(&index) = self.by_circuit.get(&circuit) {
                    self.send_reliable(now, index, &message, out);
                }
            }
            ToShard::SendAll(message) => {
                let clients: Vec<ClientIndex> = self.by_circuit.values().copied().collect();
                for index in clients {
                    self.send_reliable(now, index, &message, out);
                }
            }
            ToShard::SendIn(world, message) => self.send_in_world(now, world, &message, out),
            ToShard::Teleport { circuit, position, look_at } => {
                if let Some(&index) = self.by_circuit.get(&circuit) {
                    self.command(index, Action::Teleport { position, look_at });
                }
            }
            ToShard::Switch { circuit, place, world, position, look_at, returns } => {
                // Visitors of a world that has ended were sent to another place before its end: the mail with that place follows.
                if let Some(&index) = self.by_circuit.get(&circuit)
                    && let Some(place) = self.places.showing(place, world)
                {
                    self.switch(now, index, &place, (position, look_at), returns);
                }
            }
            ToShard::HandedOn(circuit, message) => self.on_handed_on(now, circuit, &message, out),
            ToShard::Close(circuit, ending) => match self.by_circuit.get(&circuit) {
                Some(&index) => self.end_circuit(now, index, &ending, out),
                None => self.tickets.retain(|_, ticket| ticket.circuit != circuit),
            },
            ToShard::Object(circuit, command) => self.on_object_request(now, circuit, *command, out),
            ToShard::Land(circuit, edits) => self.on_land_mail(now, circuit, edits, out),
            ToShard::Asset(circuit, request, asset) => self.on_asset_read(now, circuit, *request, asset, out),
            ToShard::NotPut { circuit, object } => self.on_not_put(now, circuit, object, out),
            ToShard::Uploaded { circuit, asset, is_stored } => {
                self.on_uploaded(now, circuit, asset, is_stored, out);
            }
            ToShard::Events(world, events) => self.handle_events(now, world, &events, out),
        }
    }

    /// Sends a message (number and body) reliably and at once.
    pub(super) fn send_reliable(
        &mut self,
        now: Instant,
        index: ClientIndex,
        message: &[u8],
        out: &mut Outbox,
    ) {
        let client = self.client(index);
        if client.circuit.send(Reliability::Reliable, message, true).is_err() {
            self.counters.messages_refused += 1;
            return;
        }
        client.flush(now, out);
    }
}
