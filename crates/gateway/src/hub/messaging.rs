//! Between users: instant messages, invitations, names, and texts for everybody.

use super::messages::{Delivery, Outgoing, Receipt, encoded, instant_message};
use super::travel::{LURES_MAX, Lure, spot_beside};
use super::{AccountName, Hub, NameLookup, events};
use crate::mail::{CircuitKey, InstantMessage, NAMES_PER_REPLY};
use glam::Vec3;
use ids::{AgentId, Uuid};
use std::sync::Arc;
use wire::messages::{UUIDNameReply, UUIDNameReplyUUIDNameBlock};
use wire::text;

/// Dialog numbers (PROTOCOL §8f).
mod dialog {
    pub(super) const MESSAGE: u8 = 0;
    pub(super) const AUTO_RESPONSE: u8 = 20;
    pub(super) const LURE: u8 = 22;
    pub(super) const LURE_DECLINED: u8 = 24;
    pub(super) const LURE_REQUEST: u8 = 26;
    pub(super) const TYPING_START: u8 = 41;
    pub(super) const TYPING_STOP: u8 = 42;
}

/// Ids looked up for one UUIDNameRequest; a datagram holds 74, more are a mistake.
const NAMES_MAX: usize = 255;

/// Users that one StartLure may invite.
const LURE_TARGETS_MAX: usize = 32;

impl Hub {
    /// Passes a message on to a user who is here. A written one to somebody who is not is answered, so that its
    /// author knows that it was not kept.
    pub(super) fn pass_on(&mut self, from: CircuitKey, message: &InstantMessage) {
        let passable = matches!(
            message.dialog,
            dialog::MESSAGE
                | dialog::AUTO_RESPONSE
                | dialog::LURE_DECLINED
                | dialog::LURE_REQUEST
                | dialog::TYPING_START
                | dialog::TYPING_STOP
        );
        let Some(sender) = self.sessions.get(&from.session) else { return };
        if !passable {
            return;
        }
        let [x, y, z] = message.position_mm.map(|mm| mm as f32 / 1_000.0);
        let outgoing = instant_message(&Outgoing {
            from: sender.agent,
            from_name: &sender.name(),
            to: message.to,
            dialog: message.dialog,
            id: message.id,
            position: Vec3::new(x, y, z),
            text: &message.message,
            bucket: &message.bucket,
        });
        let is_written = message.dialog == dialog::MESSAGE;
        let receipt = Receipt { sender: from.session, to: message.to, id: message.id };
        let delivery = Delivery { message: outgoing, receipt: is_written.then_some(receipt) };
        // That a user types is of no use to one who arrives later.
        let is_passing = matches!(message.dialog, dialog::TYPING_START | dialog::TYPING_STOP);
        let receiver = self.by_agent.get(&message.to).copied();
        let receiver = receiver.filter(|&to| !is_passing || self.arrived(to).is_ok());
        if receiver.is_some_and(|to| self.deliver(to, delivery)) {
            self.counters.instant_messages += 1;
        } else if is_written {
            self.tell_undelivered(receipt);
        }
    }

    /// Tells the author of a written message that it was not delivered.
    pub(super) fn tell_undelivered(&mut self, receipt: Receipt) {
        let Some(sender) = self.sessions.get(&receipt.sender) else { return };
        let answer = instant_message(&Outgoing {
            from: receipt.to,
            from_name: "Throng",
            to: sender.agent,
            dialog: dialog::AUTO_RESPONSE,
            id: receipt.id,
            position: Vec3::ZERO,
            text: &text::to_wire("This user is not online. Your message was not delivered.", 1_024),
            bucket: &[],
        });
        self.send(receipt.sender, answer);
    }

    /// Invites users to where the inviting avatar stands.
    pub(super) fn offer_lure(
        &mut self,
        from: CircuitKey,
        targets: &[AgentId],
        message: &str,
        position: Vec3,
    ) {
        for &target in targets.iter().take(LURE_TARGETS_MAX) {
            let id = self.random_id();
            let Some(sender) = self.sessions.get(&from.session) else { return };
            let Some(binding) = sender.bindings.get(&from.ticket) else { return };
            let Some(&to_session) = self.by_agent.get(&target) else { continue };
            let place = &binding.place;
            let (world, is_shared) = (place.world(), place.scene.is_shared);
            // The form that clients parse for the map: grid position and place, split at bars.
            let (x, y) = place.handle.grid();
            let bucket =
                format!("{x}|{y}|{:.0}|{:.0}|{:.0}|PG\0", position.x, position.y, position.z).into_bytes();
            let spot = spot_beside(place, position);
            let offer = instant_message(&Outgoing {
                from: sender.agent,
                from_name: &sender.name(),
                to: target,
                dialog: dialog::LURE,
                id,
                position,
                text: &text::to_wire(message, 1_024),
                bucket: &bucket,
            });
            if self.lures.len() == LURES_MAX {
                self.lures.pop_front();
            }
            self.lures.push_back(Lure { id, to_session, world, is_shared, spot });
            self.send(to_session, offer);
        }
    }

    /// Answers names of accounts: at once when all are logged in, else when they have been looked up.
    pub(super) fn answer_names(&mut self, circuit: CircuitKey, ids: &[Uuid]) {
        for chunk in ids[..ids.len().min(NAMES_MAX)].chunks(NAMES_PER_REPLY) {
            let ids: Vec<AgentId> = chunk.iter().copied().map(AgentId).collect();
            let lookup = NameLookup { circuit, ids };
            if lookup.ids.iter().all(|id| self.by_agent.contains_key(id)) {
                self.handle_names(&lookup, &[]);
            } else {
                self.lookups.push_back(lookup);
            }
        }
    }

    /// Sends names that were looked up, in the order of the ids. An id without a name is answered too: node-metaverse waits for every id
    /// that it asked for.
    pub fn handle_names(&mut self, lookup: &NameLookup, found: &[Option<AccountName>]) {
        let names = lookup.ids.iter().enumerate().map(|(at, &agent)| {
            let online = self.by_agent.get(&agent).and_then(|key| self.sessions.get(key));
            let stored = || found.get(at).and_then(Option::as_ref);
            let (first, last) = match online {
                Some(session) => (&*session.first_name, &*session.last_name),
                None => stored().map_or(("Unknown", "User"), |(first, last)| (first, last)),
            };
            UUIDNameReplyUUIDNameBlock {
                id: agent.0,
                first_name: text::to_wire(first, 32),
                last_name: text::to_wire(last, 32),
            }
        });
        let names = names.collect();
        let reply = encoded(|out| UUIDNameReply { uuid_name_block: names }.encode(out));
        self.send_on(lookup.circuit, reply);
    }

    /// Describes the one parcel of the circuit's region through its event queue.
    pub(super) fn answer_parcel(&mut self, circuit: CircuitKey, sequence_id: i32) {
        let Some(place) = self.binding_mut(circuit).map(|binding| Arc::clone(&binding.place)) else { return };
        let here = self.population(place.world(), None);
        let event = events::parcel_properties(&place, sequence_id, here);
        if let Some(binding) = self.binding_mut(circuit) {
            binding.queue.push("ParcelProperties", event);
        }
    }
}
