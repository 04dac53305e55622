//! Messages between users: instant messages, invitations, and texts for all.

use super::Hub;
use super::messages::{Delivery, Outgoing, Receipt, instant_message};
use super::travel::{LURES_MAX, Lure, spot_beside};
use crate::land::{ParcelProperties, Selection, bare_parcel};
use crate::mail::{InstantMessage, dialog};
use glam::Vec3;
use ids::{AgentId, Uuid};
use link::CircuitKey;
use std::sync::Arc;
use wire::text;

/// Users that one StartLure may invite.
const LURE_TARGETS_MAX: usize = 32;

impl Hub {
    /// Passes a message on to a present user. One to an absent user is answered if its author waits for a reaction
    /// ([`dialog::awaits`]): it was not kept.
    pub(super) fn pass_on(&mut self, from: CircuitKey, message: &InstantMessage) {
        assert!(dialog::is_passed_on(message.dialog), "shards refuse dialog {}", message.dialog);
        let Some(sender) = self.sessions.get(&from.session) else { return };
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
        let receipt = dialog::awaits(message.dialog).map(|what| Receipt {
            sender: from.session,
            to: message.to,
            id: message.id,
            what,
        });
        let delivery = Delivery { message: outgoing, receipt };
        // Typing marks are useless to a later arrival.
        let is_passing = matches!(message.dialog, dialog::TYPING_START | dialog::TYPING_STOP);
        let receiver = self.by_agent.get(&message.to).copied();
        let receiver = receiver.filter(|&to| !is_passing || self.arrived(to).is_ok());
        if receiver.is_some_and(|to| self.deliver(to, delivery)) {
            self.counters.instant_messages += 1;
        } else if let Some(receipt) = receipt {
            self.report_undelivered(receipt);
        }
    }

    /// Informs the author of a message that it was not delivered.
    pub(super) fn report_undelivered(&mut self, receipt: Receipt) {
        let Some(sender) = self.sessions.get(&receipt.sender) else { return };
        let answer = instant_message(&Outgoing {
            from: receipt.to,
            from_name: "Throng",
            to: sender.agent,
            dialog: dialog::AUTO_RESPONSE,
            id: receipt.id,
            position: Vec3::ZERO,
            text: &text::to_wire(&not_online(receipt.what), text::CHAT_MAX),
            bucket: &[],
        });
        self.send(receipt.sender, answer);
    }

    /// Invites users to the position of the inviting avatar. The inviting user gets an answer for each absent one, and a notice for those
    /// above [`LURE_TARGETS_MAX`] and for an offer without users.
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
            let receipt =
                Receipt { sender: from.session, to: target, id: Uuid::nil(), what: dialog::INVITATION };
            let Some(&to_session) = self.by_agent.get(&target) else {
                self.report_undelivered(receipt);
                continue;
            };
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
            if !self.deliver(to_session, Delivery { message: offer, receipt: Some(receipt) }) {
                self.report_undelivered(receipt);
            }
        }
        if targets.is_empty() {
            self.notify(from.session, "The offer of a teleport names no user.");
        }
        let n_left_out = targets.len().saturating_sub(LURE_TARGETS_MAX);
        if n_left_out > 0 {
            let text =
                format!("One offer invites {LURE_TARGETS_MAX} users at most. Not invited: {n_left_out}.");
            self.notify(from.session, &text);
        }
    }

    /// Describes the one parcel of the circuit's region through its event queue.
    pub(super) fn answer_parcel(&mut self, circuit: CircuitKey, sequence_id: i32) {
        let Some(place) = self.binding_mut(circuit).map(|binding| Arc::clone(&binding.place)) else { return };
        let here = self.population(place.world(), None);
        let (replica, parcel) = (place.scene.feed.current(), bare_parcel(&place));
        let selection = Selection { sequence_id, ..Selection::default() };
        let properties = ParcelProperties::new(&place, &replica, &parcel, selection).with_population(here);
        let event = properties.to_llsd();
        if let Some(binding) = self.binding_mut(circuit) {
            binding.queue.push("ParcelProperties", event);
        }
    }
}

/// Text for the author of a message to an absent user.
fn not_online(what: &str) -> String {
    format!("This user is not online. Your {what} was not delivered.")
}
