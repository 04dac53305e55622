//! The way in: every message that a client may send, in one flat match.
//!
//! The circuit has dropped duplicates and queued the ack before a message comes here. Handlers turn it into a
//! command for the world, an answer from what the shard knows, or a request for the hub.

use super::client::Stage;
use super::counters::Refused;
use super::filter::Verdict;
use super::outbox::Outbox;
use super::{COMMANDS_MAX, ClientIndex, Shard};
use crate::mail::{Closed, FromShard, InstantMessage, Request};
use circuit::{Category, Received, Throttles};
use glam::Vec3;
use ids::{AgentId, Instant, RegionHandle, Uuid};
use std::sync::Arc;
use wire::messages::*;
use wire::text::from_wire;
use world::{Action, Appearance, ChatKind, Control, ControlFlags, Enter};

/// Height of an avatar whose client sends nonsense, in metres.
const AVATAR_HEIGHT_M: f32 = 1.9;
/// Bytes of chat that scripts and clients take (PROTOCOL §8a).
const CHAT_MAX: usize = 1_023;

impl Shard {
    pub(super) fn dispatch(
        &mut self,
        now: Instant,
        index: ClientIndex,
        received: &Received<'_>,
        out: &mut Outbox,
    ) {
        if received.number == AgentUpdate::NUMBER {
            self.on_agent_update(now, index, received, out);
            return;
        }
        if matches!(self.client(index).stage, Stage::Leaving(..)) {
            return;
        }
        if received.number == UUIDNameRequest::NUMBER {
            if let Err(why) = self.on_name_request(now, index, received.body) {
                self.counters.drop(why.into());
            }
            return;
        }
        let message = match Message::decode_numbered(received.number, received.body) {
            Ok(message) => message,
            Err(why) => {
                self.counters.drop(why.into());
                return;
            }
        };
        if let Err(why) = self.on_message(now, index, message, out) {
            self.counters.refuse(why);
        }
    }

    fn on_message(
        &mut self,
        now: Instant,
        index: ClientIndex,
        message: Message,
        out: &mut Outbox,
    ) -> Result<(), Refused> {
        match message {
            // Its work was done when the circuit was opened; the client repeats it until it is acked.
            Message::UseCircuitCode(_) => {}
            Message::CompleteAgentMovement(m) => {
                self.check(index, m.agent_data.session_id)?;
                self.on_complete_movement(now, index, out);
            }
            Message::RegionHandshakeReply(m) => {
                self.check(index, m.agent_data.session_id)?;
                self.client(index).greeting.scene_open = true;
            }
            Message::AgentThrottle(m) => {
                self.check(index, m.agent_data.session_id)?;
                self.on_throttle(now, index, &m.throttle.throttles)?;
            }
            Message::AgentPause(m) => {
                self.check(index, m.agent_data.session_id)?;
                self.client(index).circuit.set_paused(true, m.agent_data.serial_num);
            }
            Message::AgentResume(m) => {
                self.check(index, m.agent_data.session_id)?;
                self.client(index).circuit.set_paused(false, m.agent_data.serial_num);
            }
            Message::LogoutRequest(m) => {
                self.check(index, m.agent_data.session_id)?;
                self.on_logout(now, index, out);
            }
            Message::CloseCircuit(_) => self.leave(now, index, Closed::HungUp),

            Message::AgentAnimation(m) => {
                self.check(index, m.agent_data.session_id)?;
                self.on_animation(index, &m.animation_list);
            }
            Message::AgentSetAppearance(m) => {
                self.check(index, m.agent_data.session_id)?;
                self.on_appearance(index, m)?;
            }
            Message::SetAlwaysRun(m) => {
                self.check(index, m.agent_data.session_id)?;
                self.command_if_present(index, Action::AlwaysRun(m.agent_data.always_run));
            }
            Message::ChatFromViewer(m) => {
                self.check(index, m.agent_data.session_id)?;
                self.on_chat(now, index, &m.chat_data)?;
            }
            Message::ImprovedInstantMessage(m) => {
                self.check(index, m.agent_data.session_id)?;
                self.on_instant_message(now, index, m.message_block)?;
            }

            Message::TeleportLocationRequest(m) => {
                self.check(index, m.agent_data.session_id)?;
                self.request(
                    now,
                    index,
                    Request::TeleportTo {
                        handle: RegionHandle(m.info.region_handle),
                        position: m.info.position,
                        look_at: m.info.look_at,
                    },
                )?;
            }
            Message::TeleportRequest(m) => {
                self.check(index, m.agent_data.session_id)?;
                let place = self.places.iter().find(|place| place.region_id == m.info.region_id);
                let handle = place.map_or(RegionHandle(u64::MAX), |place| place.handle);
                let (position, look_at) = (m.info.position, m.info.look_at);
                self.request(now, index, Request::TeleportTo { handle, position, look_at })?;
            }
            Message::TeleportLandmarkRequest(m) => {
                self.check(index, m.info.session_id)?;
                // There are no landmark assets yet; the null landmark is home.
                if !m.info.landmark_id.is_nil() {
                    return Err(Refused::Unhandled);
                }
                self.request(now, index, Request::TeleportHome)?;
            }
            Message::TeleportLureRequest(m) => {
                self.check(index, m.info.session_id)?;
                self.request(now, index, Request::TeleportLure(m.info.lure_id))?;
            }
            Message::TeleportCancel(m) => {
                self.check(index, m.info.session_id)?;
                self.request(now, index, Request::TeleportCancel)?;
            }
            Message::StartLure(m) => {
                self.check(index, m.agent_data.session_id)?;
                self.on_lure(now, index, &m)?;
            }
            Message::SetStartLocationRequest(m) => {
                self.check(index, m.agent_data.session_id)?;
                let start = &m.start_location_data;
                let (position, look_at) = (start.location_pos, start.location_look_at);
                self.request(now, index, Request::SetHome { position, look_at })?;
            }

            Message::ParcelPropertiesRequest(m) => {
                self.check(index, m.agent_data.session_id)?;
                self.request(
                    now,
                    index,
                    Request::ParcelProperties { sequence_id: m.parcel_data.sequence_id },
                )?;
            }
            other => return self.answer(now, index, &other, out),
        }
        Ok(())
    }

    /// Control keys, body and camera. This is most of what clients send, so what does not matter ends here.
    fn on_agent_update(
        &mut self,
        now: Instant,
        index: ClientIndex,
        received: &Received<'_>,
        out: &mut Outbox,
    ) {
        let update = match AgentUpdate::decode(received.body) {
            Ok(update) => update.agent_data,
            Err(why) => {
                self.counters.drop(why.into());
                return;
            }
        };
        let mode = self.config.filter;
        let busy = self.commands.len() >= COMMANDS_MAX;
        let client = self.client(index);
        if update.session_id != client.ticket.session_id.0 {
            self.counters.refuse(Refused::WrongSession);
            return;
        }
        if client.newest_update.is_some_and(|newest| !circuit::is_newer(received.sequence, newest)) {
            self.counters.refuse(Refused::OutOfOrder);
            return;
        }
        client.newest_update = Some(received.sequence);
        if client.stage == Stage::Opened {
            // CompleteAgentMovement got lost, and a client that moves has surely sent it.
            self.on_complete_movement(now, index, out);
        }
        let client = self.client(index);
        let verdict = client.filter.judge(mode, &update);
        match verdict {
            Verdict::Dropped => self.counters.updates_dropped += 1,
            Verdict::View => {
                client.filter.accept(verdict, &update);
                self.counters.updates_view += 1;
            }
            // The update is judged again when the client repeats it.
            Verdict::Control if busy => self.counters.refuse(Refused::WorldBusy),
            Verdict::Control if client.has_avatar() => {
                client.filter.accept(verdict, &update);
                self.counters.updates_control += 1;
                let control = Control {
                    flags: ControlFlags(update.control_flags),
                    body_rotation: update.body_rotation.normalize(),
                };
                self.command(index, Action::Control(control));
            }
            Verdict::Control => {}
        }
    }

    fn on_complete_movement(&mut self, now: Instant, index: ClientIndex, out: &mut Outbox) {
        let client = self.client(index);
        if client.stage != Stage::Opened {
            return;
        }
        client.stage = Stage::Entering;
        client.greeting.handshake_at = Some(now);
        let (ticket, arrival) = (Arc::clone(&client.ticket), client.arrival);
        client.epoch = client.place.scene.feed.current().epoch;
        self.command(
            index,
            Action::Enter(Box::new(Enter {
                agent: ticket.agent,
                first_name: ticket.first_name.to_string(),
                last_name: ticket.last_name.to_string(),
                position: arrival.0,
                look_at: arrival.1,
                flying: false,
                appearance: ticket.appearance.clone(),
            })),
        );
        self.send_handshake(now, index, out);
    }

    fn on_throttle(&mut self, now: Instant, index: ClientIndex, bytes: &[u8]) -> Result<(), Refused> {
        let throttles = Throttles::parse(bytes).map_err(|_| Refused::BadValue)?;
        let most = self.egress.share();
        let client = self.client(index);
        client.circuit.set_throttles(now, &throttles);
        client.circuit.set_total_bytes_per_s(now, most);
        Ok(())
    }

    fn on_logout(&mut self, now: Instant, index: ClientIndex, out: &mut Outbox) {
        let client = self.client(index);
        let mut reply = Vec::new();
        LogoutReply {
            agent_data: LogoutReplyAgentData {
                agent_id: client.ticket.agent.0,
                session_id: client.ticket.session_id.0,
            },
            // Clients read the first row; a null item says that nothing changed.
            inventory_data: vec![LogoutReplyInventoryData { item_id: Uuid::nil() }],
        }
        .encode(&mut reply);
        self.send_reliable(now, index, &reply, out);
        self.leave(now, index, Closed::LoggedOut);
    }

    fn on_animation(&mut self, index: ClientIndex, list: &[AgentAnimationAnimationList]) {
        let wanted =
            list.iter().take(Action::ANIMATIONS_MAX).map(|row| (row.anim_id, row.start_anim)).collect();
        self.command_if_present(index, Action::Animate(wanted));
    }

    fn on_appearance(&mut self, index: ClientIndex, m: AgentSetAppearance) -> Result<(), Refused> {
        let texture_entry = m.object_data.texture_entry;
        if texture_entry.len() > Appearance::TEXTURE_ENTRY_MAX
            || m.visual_param.len() > Appearance::VISUAL_PARAMS_MAX
        {
            return Err(Refused::BadValue);
        }
        let client = self.client(index);
        if client.appearance_serial.is_some_and(|newest| m.agent_data.serial_num < newest) {
            return Ok(());
        }
        client.appearance_serial = Some(m.agent_data.serial_num);
        let key = client.key();
        let height_m = m.agent_data.size.z;
        let appearance = Arc::new(Appearance {
            texture_entry,
            visual_params: m.visual_param.iter().map(|param| param.param_value).collect(),
            cof_version: 0,
            height_m: if (0.1..=10.0).contains(&height_m) { height_m } else { AVATAR_HEIGHT_M },
        });
        self.mail.push(FromShard::Appeared(key, Arc::clone(&appearance)));
        self.command_if_present(index, Action::Appear(appearance));
        Ok(())
    }

    fn on_chat(
        &mut self,
        now: Instant,
        index: ClientIndex,
        chat: &ChatFromViewerChatData,
    ) -> Result<(), Refused> {
        let kind = match chat.r#type {
            0 => ChatKind::Whisper,
            1 => ChatKind::Say,
            2 => ChatKind::Shout,
            4 => ChatKind::StartTyping,
            5 => ChatKind::StopTyping,
            _ => return Err(Refused::BadValue),
        };
        let typing = matches!(kind, ChatKind::StartTyping | ChatKind::StopTyping);
        let mut text = from_wire(&chat.message);
        text.truncate(text.floor_char_boundary(CHAT_MAX));
        if text.is_empty() && !typing {
            return Ok(());
        }
        if !self.client(index).says.take(now) {
            return Err(Refused::Flood);
        }
        self.command_if_present(index, Action::Chat { kind, channel: chat.channel, text });
        Ok(())
    }

    fn on_instant_message(
        &mut self,
        now: Instant,
        index: ClientIndex,
        block: ImprovedInstantMessageMessageBlock,
    ) -> Result<(), Refused> {
        let client = self.client(index);
        if !client.says.take(now) {
            return Err(Refused::Flood);
        }
        if block.message.len() > wire::text::CHAT_MAX || block.binary_bucket.len() > wire::text::CHAT_MAX {
            return Err(Refused::BadValue);
        }
        let position = self.own_position(index).unwrap_or_default();
        self.request(
            now,
            index,
            Request::InstantMessage(Box::new(InstantMessage {
                to: AgentId(block.to_agent_id),
                dialog: block.dialog,
                id: block.id,
                message: block.message,
                bucket: block.binary_bucket,
                position_mm: [position.x, position.y, position.z].map(|metres| (metres * 1_000.0) as i32),
            })),
        )?;
        Ok(())
    }

    fn on_lure(&mut self, now: Instant, index: ClientIndex, m: &StartLure) -> Result<(), Refused> {
        if !self.client(index).says.take(now) {
            return Err(Refused::Flood);
        }
        let Some(position) = self.own_position(index) else { return Ok(()) };
        let targets = m.target_data.iter().map(|target| AgentId(target.target_id)).collect();
        let message = from_wire(&m.info.message);
        self.request(now, index, Request::Lure { targets, message, position })?;
        Ok(())
    }

    /// A message that names a session has to name the circuit's.
    fn check(&mut self, index: ClientIndex, session: Uuid) -> Result<(), Refused> {
        let expected = self.client(index).ticket.session_id.0;
        if session == expected { Ok(()) } else { Err(Refused::WrongSession) }
    }

    /// Passes a request to the hub, which serves everybody: a client gets its share of it.
    fn request(&mut self, now: Instant, index: ClientIndex, request: Request) -> Result<(), Refused> {
        let client = self.client(index);
        if !client.asks.take(now) {
            return Err(Refused::Flood);
        }
        let key = client.key();
        self.mail.push(FromShard::Request(key, request));
        Ok(())
    }

    fn command_if_present(&mut self, index: ClientIndex, action: Action) {
        if self.client(index).has_avatar() {
            self.command(index, action);
        }
    }

    /// Where the client's avatar stands, when it is in the world.
    pub(super) fn own_position(&mut self, index: ClientIndex) -> Option<Vec3> {
        let client = self.client(index);
        let replica = client.place.scene.feed.current();
        replica.of_session(client.session()).map(|own| replica.hot()[own as usize].position)
    }
}

/// Queued for the Land category: terrain and overlays share its rate.
pub(super) const BULK: Category = Category::Land;
