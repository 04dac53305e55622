//! Input: every message that a client may send, in one flat match.
//!
//! The match is made from the table in `coverage/messages.rs`, which names a handler or an outcome for each message. The circuit has
//! dropped duplicates and queued the ack before a message comes here. Handlers turn it into a command for the world, an answer from the
//! shard's data (`answers.rs`), or a request for the hub.

use super::client::DRAW_MAX_M;
use super::counters::Refused;
use super::filter::FilterVerdict;
use super::incoming::{Drop, Handled, Incoming};
use super::notices::NoticeKind;
use super::outbox::Outbox;
use super::progress::{Stage, ViewerCache};
use super::{COMMANDS_MAX, ClientIndex, Shard};
use crate::coverage::{Feature, MessageOutcome, message_table};
use crate::mail::{Closed, FromShard, InstantMessage, Request, Spot};
use circuit::{Category, Received, Throttles};
use glam::Vec3;
use ids::{AgentId, Instant, RegionHandle, Uuid};
use link::{Action, ChatKind, Control, ControlFlags, Enter};
use std::sync::Arc;
use wire::Malformed;
use wire::messages::*;
use wire::text::from_wire;

/// Maximum size of a chat message for scripts and clients, bytes.
const CHAT_MAX: usize = 1_023;

/// Expands the table of messages to the match that handles them.
macro_rules! message_match {
    (($shard:tt, $name:ident, $body:ident, $at:ident)
     $($area:literal { $($Message:ident: $kind:ident $($handler:ident)? $text:literal;)* })*) => {
        match $name {
            $($( MessageName::$Message => message_match!(
                @$kind $Message $($handler)?, $shard, $body, $at
            ), )*)*
            // Reserved for simulators.
            _ => Err(Refused::NotForClients.into()),
        }
    };
    (@done $Message:ident $handler:ident, $shard:tt, $body:ident, $at:ident) => {{
        let message = $Message::decode($body)?;
        $shard.check_session(&$Message::SCHEMA, $at.index, $body)?;
        $shard.$handler($at, message)
    }};
    (@refused $($rest:tt)*) => { message_match!(@done $($rest)*) };
    (@missing $Message:ident $feature:ident, $shard:tt, $body:ident, $at:ident) => {
        Ok($shard.refuse_feature($at, Feature::$feature))
    };
    (@edit $Message:ident $feature:ident, $shard:tt, $body:ident, $at:ident) => {{
        let message = $Message::decode($body)?;
        $shard.check_session(&$Message::SCHEMA, $at.index, $body)?;
        $shard.refuse_edit($at, Feature::$feature, message.object_data.iter().map(|row| row.object_local_id))
    }};
    (@edit_by_local_id $Message:ident $feature:ident, $shard:tt, $body:ident, $at:ident) => {{
        let message = $Message::decode($body)?;
        $shard.check_session(&$Message::SCHEMA, $at.index, $body)?;
        $shard.refuse_edit($at, Feature::$feature, message.object_data.iter().map(|row| row.local_id))
    }};
    (@ignored $($rest:tt)*) => { Ok(MessageOutcome::Ignored) };
    (@simulator $($rest:tt)*) => { Err(Refused::NotForClients.into()) };
    // Kept by the circuit, and handled before the match: neither comes here.
    (@circuit $($rest:tt)*) => { Ok(MessageOutcome::Done) };
    (@update $($rest:tt)*) => { Ok(MessageOutcome::Done) };
    (@names $Message:ident, $shard:tt, $body:ident, $at:ident) => { $shard.on_name_request($at, $body) };
}

impl Shard {
    pub(super) fn dispatch(
        &mut self,
        now: Instant,
        index: ClientIndex,
        received: &Received<'_>,
        out: &mut Outbox,
    ) {
        let name = MessageName::of(received.number);
        let mut at = Incoming { now, index, name, out };
        let handled = match name {
            // The most frequent message.
            Some(MessageName::AgentUpdate) => self.on_agent_update(&mut at, received),
            _ if self.dispatch_later(&mut at, received) => return,
            Some(name) => self.handle_message(&mut at, name, received.body),
            None => Err(Malformed::UnknownMessage.into()),
        };
        let outcome = handled.unwrap_or_else(|why| {
            match why {
                Drop::Malformed(why) => self.counters.drop(why.into()),
                Drop::Refused(why) => {
                    self.counters.refuse(why);
                    match why {
                        Refused::Flood => self.answer_flood(&mut at, received.number),
                        Refused::BadValue => self.notify(now, index, NoticeKind::BadValue, at.out),
                        _ => {}
                    }
                }
            }
            MessageOutcome::Dropped
        });
        self.outcomes.count(name, outcome);
    }

    fn handle_message(&mut self, at: &mut Incoming<'_>, name: MessageName, body: &[u8]) -> Handled {
        message_table!(message_match!(self, name, body, at))
    }

    /// A message that names a session has to name the circuit's. It stands in the first block, behind the agent.
    fn check_session(&mut self, schema: &Schema, index: ClientIndex, body: &[u8]) -> Result<(), Refused> {
        if !schema.names_session() {
            return Ok(());
        }
        let expected = self.client(index).ticket.session_id.0;
        let named = body.get(16..32);
        if named == Some(expected.as_bytes()) { Ok(()) } else { Err(Refused::WrongSession) }
    }

    pub(super) fn on_close_circuit(&mut self, at: &mut Incoming<'_>, _: CloseCircuit) -> Handled {
        self.begin_leaving(at.now, at.index, Closed::HungUp);
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_complete_agent_movement(
        &mut self,
        at: &mut Incoming<'_>,
        _: CompleteAgentMovement,
    ) -> Handled {
        self.on_complete_movement(at);
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_handshake_reply(&mut self, at: &mut Incoming<'_>, m: RegionHandshakeReply) -> Handled {
        let client = self.client(at.index);
        client.greeting.scene_open = true;
        // A viewer says of a filled cache what it has got from here in the meantime.
        if !client.land.take_reply() {
            client.greeting.cache = ViewerCache::of_flags(m.region_info.flags);
        }
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_pause(&mut self, at: &mut Incoming<'_>, m: AgentPause) -> Handled {
        self.client(at.index).circuit.set_paused(true, m.agent_data.serial_num);
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_resume(&mut self, at: &mut Incoming<'_>, m: AgentResume) -> Handled {
        self.client(at.index).circuit.set_paused(false, m.agent_data.serial_num);
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_always_run(&mut self, at: &mut Incoming<'_>, m: SetAlwaysRun) -> Handled {
        self.command_if_present(at.index, Action::AlwaysRun(m.agent_data.always_run));
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_teleport_location(
        &mut self,
        at: &mut Incoming<'_>,
        m: TeleportLocationRequest,
    ) -> Handled {
        let (handle, position) = (RegionHandle(m.info.region_handle), m.info.position);
        self.request(at, Request::TeleportTo { handle, position, look_at: m.info.look_at })
    }

    pub(super) fn on_teleport_region(&mut self, at: &mut Incoming<'_>, m: TeleportRequest) -> Handled {
        let place = self.places.by_region_id(m.info.region_id);
        let handle = place.map_or(RegionHandle(u64::MAX), |place| place.handle);
        let (position, look_at) = (m.info.position, m.info.look_at);
        self.request(at, Request::TeleportTo { handle, position, look_at })
    }

    pub(super) fn on_teleport_lure(&mut self, at: &mut Incoming<'_>, m: TeleportLureRequest) -> Handled {
        self.request(at, Request::TeleportLure(m.info.lure_id))
    }

    pub(super) fn on_teleport_cancel(&mut self, at: &mut Incoming<'_>, _: TeleportCancel) -> Handled {
        self.request(at, Request::TeleportCancel)
    }

    pub(super) fn on_set_home(&mut self, at: &mut Incoming<'_>, m: SetStartLocationRequest) -> Handled {
        let start = &m.start_location_data;
        let place = &self.client(at.index).place;
        let spot = place.scene.is_shared.then_some(Spot {
            place: place.id,
            position: start.location_pos,
            look_at: start.location_look_at,
        });
        self.request(at, Request::SetHome(spot))
    }

    /// Control keys, body and camera. The most frequent message, so insignificant ones end here.
    fn on_agent_update(&mut self, at: &mut Incoming<'_>, received: &Received<'_>) -> Handled {
        let update = AgentUpdate::decode(received.body)?.agent_data;
        let index = at.index;
        let mode = self.config.filter;
        let busy = self.commands.len() >= COMMANDS_MAX;
        let client = self.client(index);
        if update.session_id != client.ticket.session_id.0 {
            return Err(Refused::WrongSession.into());
        }
        if client.newest_update.is_some_and(|newest| !circuit::is_newer(received.sequence, newest)) {
            return Err(Refused::OutOfOrder.into());
        }
        client.newest_update = Some(received.sequence);
        if client.stage == Stage::Opened {
            // CompleteAgentMovement got lost, and a client that moves has surely sent it.
            self.on_complete_movement(at);
        }
        let client = self.client(index);
        let verdict = client.filter.classify(mode, &update);
        if verdict != FilterVerdict::Dropped && update.far.is_finite() {
            client.draw_m = update.far.clamp(0.0, DRAW_MAX_M);
        }
        match verdict {
            FilterVerdict::Dropped => self.counters.updates_dropped += 1,
            FilterVerdict::View => {
                client.filter.accept(verdict, &update);
                self.counters.updates_view += 1;
            }
            // The update is judged again when the client repeats it.
            FilterVerdict::Control if busy => return Err(Refused::WorldBusy.into()),
            FilterVerdict::Control if client.has_avatar() => {
                client.filter.accept(verdict, &update);
                self.counters.updates_control += 1;
                let control = Control {
                    flags: ControlFlags(update.control_flags),
                    body_rotation: update.body_rotation.normalize(),
                };
                self.command(index, Action::Control(control));
            }
            FilterVerdict::Control => {}
        }
        Ok(MessageOutcome::Done)
    }

    fn on_complete_movement(&mut self, at: &mut Incoming<'_>) {
        let must_wait = self.arrivals.must_wait(self.pressure.is_short());
        let client = self.client(at.index);
        if client.stage != Stage::Opened || client.waits {
            return;
        }
        if must_wait {
            client.waits = true;
            let circuit = client.key();
            self.arrivals.push(at.now, circuit);
        } else {
            self.enter_world(at);
        }
    }

    /// Sends a client's avatar into its world.
    pub(super) fn enter_world(&mut self, at: &mut Incoming<'_>) {
        let (now, index) = (at.now, at.index);
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
                appearance: ticket.look.as_ref().map(|look| Arc::clone(&look.appearance)),
            })),
        );
        self.send_handshake(at);
    }

    pub(super) fn on_throttle(&mut self, at: &mut Incoming<'_>, m: AgentThrottle) -> Handled {
        let throttles = Throttles::parse(&m.throttle.throttles).map_err(|_| Refused::BadValue)?;
        let most = self.egress.share();
        let client = self.client(at.index);
        client.circuit.set_throttles(at.now, &throttles);
        client.circuit.set_total_bytes_per_s(at.now, most);
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_logout(&mut self, at: &mut Incoming<'_>, _: LogoutRequest) -> Handled {
        let client = self.client(at.index);
        let reply = LogoutReply {
            agent_data: LogoutReplyAgentData {
                agent_id: client.ticket.agent.0,
                session_id: client.ticket.session_id.0,
            },
            // Clients read the first row; a null item says that nothing changed.
            inventory_data: vec![LogoutReplyInventoryData { item_id: Uuid::nil() }],
        };
        self.reply(at, reply);
        self.begin_leaving(at.now, at.index, Closed::LoggedOut);
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_animation(&mut self, at: &mut Incoming<'_>, m: AgentAnimation) -> Handled {
        let list = m.animation_list.iter().take(Action::ANIMATIONS_MAX);
        let wanted = list.map(|row| (row.anim_id, row.start_anim)).collect();
        self.command_if_present(at.index, Action::Animate(wanted));
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_chat(&mut self, at: &mut Incoming<'_>, m: ChatFromViewer) -> Handled {
        let chat = &m.chat_data;
        let kind = match chat.r#type {
            0 => ChatKind::Whisper,
            1 => ChatKind::Say,
            2 => ChatKind::Shout,
            4 => ChatKind::StartTyping,
            5 => ChatKind::StopTyping,
            _ => return Err(Refused::BadValue.into()),
        };
        let typing = matches!(kind, ChatKind::StartTyping | ChatKind::StopTyping);
        let mut text = from_wire(&chat.message);
        text.truncate(text.floor_char_boundary(CHAT_MAX));
        if text.is_empty() && !typing {
            return Ok(MessageOutcome::Ignored);
        }
        if !self.client(at.index).says.try_spend(at.now) {
            return Err(Refused::Flood.into());
        }
        self.command_if_present(at.index, Action::Chat { kind, channel: chat.channel, text });
        Ok(MessageOutcome::Done)
    }

    pub(super) fn on_instant_message(&mut self, at: &mut Incoming<'_>, m: ImprovedInstantMessage) -> Handled {
        let block = m.message_block;
        if !self.client(at.index).says.try_spend(at.now) {
            return Err(Refused::Flood.into());
        }
        if block.message.len() > wire::text::CHAT_MAX || block.binary_bucket.len() > wire::text::CHAT_MAX {
            return Err(Refused::BadValue.into());
        }
        if let Some(refused) = self.refuse_dialog(at, &block) {
            return refused;
        }
        let position = self.own_position(at.index);
        self.request(
            at,
            Request::InstantMessage(Box::new(InstantMessage {
                to: AgentId(block.to_agent_id),
                dialog: block.dialog,
                id: block.id,
                message: block.message,
                bucket: block.binary_bucket,
                position_mm: [position.x, position.y, position.z].map(|metres| (metres * 1_000.0) as i32),
            })),
        )
    }

    pub(super) fn on_lure(&mut self, at: &mut Incoming<'_>, m: StartLure) -> Handled {
        if !self.client(at.index).says.try_spend(at.now) {
            return Err(Refused::Flood.into());
        }
        let position = self.own_position(at.index);
        let targets = m.target_data.iter().map(|target| AgentId(target.target_id)).collect();
        let message = from_wire(&m.info.message);
        self.request(at, Request::Lure { targets, message, position })
    }

    /// Passes a request to the hub, within the client's share of its time.
    pub(super) fn request(&mut self, at: &Incoming<'_>, request: Request) -> Handled {
        let client = self.client(at.index);
        if !client.asks.try_spend(at.now) {
            return Err(Refused::Flood.into());
        }
        let key = client.key();
        self.mail.push(FromShard::Request(key, request));
        Ok(MessageOutcome::Done)
    }

    pub(super) fn command_if_present(&mut self, index: ClientIndex, action: Action) {
        if self.client(index).has_avatar() {
            self.command(index, action);
        }
    }

    /// Position of the client's avatar. If the world lacks it just now, the last one: a restarted world gets it back there.
    pub(super) fn own_position(&mut self, index: ClientIndex) -> Vec3 {
        let client = self.client(index);
        let replica = client.place.scene.feed.current();
        let own = replica.of_session(client.session());
        own.map_or(client.viewer.eye, |own| replica.hot()[own as usize].position)
    }
}

/// Queued for the Land category: terrain and overlays share its rate.
pub(super) const BULK: Category = Category::Land;
