//! Effects that clients show each other: gazes, pointing, beams, sounds. They go through the world, and to the clients of avatars near by.
//!
//! Nothing depends on an effect, and viewers repeat those that last: what exceeds a client's share, or finds a hearer short of bytes, is left out.

use super::client::Client;
use super::counters::Refused;
use super::incoming::{Handled, Incoming};
use super::outbox::Outbox;
use super::progress::Stage;
use super::{COMMANDS_MAX, ClientIndex, Shard};
use crate::coverage::MessageOutcome;
use crate::places::Place;
use ids::{Instant, Uuid};
use link::{Action, Effect, EffectEvent, ShownEffect};
use replicate::Replica;
use wire::messages::*;

/// Bytes of a message's effects that are passed on, so that they fit a datagram.
const SHOWN_BYTES_MAX: usize = 1_000;
/// Bytes of one effect beside its data: ids, kind, duration, color, length.
const SHOWN_BYTES: usize = 42;

impl Shard {
    /// Looking and pointing.
    pub(super) fn on_viewer_effect(&mut self, at: &mut Incoming<'_>, m: ViewerEffect) -> Handled {
        let agent = self.client(at.index).ticket.agent.0;
        let (mut shown, mut bytes) = (Vec::new(), 0);
        // Those of other agents are forged.
        for row in m.effect.into_iter().filter(|row| row.agent_id == agent) {
            bytes += SHOWN_BYTES + row.type_data.len();
            if shown.len() == Effect::SHOWN_MAX || bytes > SHOWN_BYTES_MAX {
                break;
            }
            shown.push(ShownEffect {
                id: row.id,
                kind: row.r#type,
                duration_s: row.duration,
                color: row.color,
                data: row.type_data,
            });
        }
        if shown.is_empty() {
            return Ok(MessageOutcome::Ignored);
        }
        self.show_others(at, Effect::Shown(shown))
    }

    /// A sound of the avatar.
    pub(super) fn on_sound_trigger(&mut self, at: &mut Incoming<'_>, m: SoundTrigger) -> Handled {
        let SoundTriggerSoundData { sound_id, gain, .. } = m.sound_data;
        if sound_id.is_nil() {
            return Ok(MessageOutcome::Ignored);
        }
        if !gain.is_finite() {
            return Err(Refused::BadValue.into());
        }
        self.show_others(at, Effect::Sound { id: sound_id, gain: gain.clamp(0.0, 1.0) })
    }

    fn show_others(&mut self, at: &Incoming<'_>, effect: Effect) -> Handled {
        let is_busy = self.commands.len() >= COMMANDS_MAX;
        let client = self.client(at.index);
        if is_busy || !client.has_avatar() || !client.effects.try_spend(at.now) {
            return Ok(MessageOutcome::Ignored);
        }
        self.command(at.index, Action::Effect(Box::new(effect)));
        Ok(MessageOutcome::Done)
    }

    /// A world passes an effect on.
    pub(super) fn on_effect(
        &mut self,
        now: Instant,
        event: &EffectEvent,
        clients: &[ClientIndex],
        replica: &Replica,
        out: &mut Outbox,
    ) {
        let reach = event.radius_m * event.radius_m;
        let land = replica.land().filter(|_| matches!(event.effect, Effect::Sound { .. }));
        let parcel_at = |at: glam::Vec3| land.and_then(|land| land.parcel_at(at.truncate()));
        let source = parcel_at(event.position);
        let mut message = std::mem::take(&mut self.body);
        message.clear();
        for &index in clients {
            let client = self.client(index);
            if client.stage != Stage::Present || client.session() == event.session {
                continue;
            }
            let Some(own) = client.viewer.own_in(replica) else { continue };
            let position = replica.hot()[own as usize].position;
            let parcels = source.zip(parcel_at(position));
            let is_heard = parcels.is_none_or(|(from, to)| from.parcel.carries_sound_to(&to.parcel));
            if !is_heard || position.distance_squared(event.position) > reach {
                continue;
            }
            if message.is_empty() {
                write_effect(event, &client.place, &mut message);
            }
            client.show_effect(now, &message, out);
        }
        self.body = message;
    }
}

impl Client {
    /// Sends an effect, if there is room for it.
    fn show_effect(&mut self, now: Instant, message: &[u8], out: &mut Outbox) {
        if self.circuit.budget_bytes(now) < message.len() || !self.seen_effects.try_spend(now) {
            return;
        }
        self.circuit.begin_unreliable(&mut out.bytes);
        out.bytes.extend_from_slice(message);
        self.circuit.note_sent(now, out.open_len());
        out.seal(self.address);
    }
}

fn write_effect(event: &EffectEvent, place: &Place, message: &mut Vec<u8>) {
    let agent_id = event.agent.0;
    match &event.effect {
        Effect::Shown(shown) => {
            let row = |one: &ShownEffect| ViewerEffectEffect {
                id: one.id,
                agent_id,
                r#type: one.kind,
                duration: one.duration_s,
                color: one.color,
                type_data: one.data.clone(),
            };
            let effect = shown.iter().map(row).collect();
            // A session id is a secret of its client.
            let agent_data = ViewerEffectAgentData { agent_id, session_id: Uuid::nil() };
            ViewerEffect { agent_data, effect }.encode(message);
        }
        Effect::Sound { id, gain } => {
            let sound_data = SoundTriggerSoundData {
                sound_id: *id,
                owner_id: agent_id,
                object_id: agent_id,
                parent_id: Uuid::nil(),
                handle: place.handle.0,
                position: event.position,
                gain: *gain,
            };
            SoundTrigger { sound_data }.encode(message);
        }
    }
}
