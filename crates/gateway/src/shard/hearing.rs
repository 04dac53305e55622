//! Events of a world and their recipients: chat by distance, teleports inside a region, refusals, health, missions, objects.

use super::outbox::Outbox;
use super::progress::Stage;
use super::switching::WITHIN_REGION;
use super::{ClientIndex, Shard};
use crate::mail::FromShard;
use ids::{Instant, SessionKey, WorldId};
use link::{Action, Audience, Chat, CircuitKey, EntryRefusal, Event, GameEvent, StoppedObject};
use replicate::Replica;
use std::ops::RangeInclusive;
use std::sync::Arc;
use wire::messages::{
    AgentAlertMessage, AgentAlertMessageAgentData, AgentAlertMessageAlertData, AlertMessage,
    AlertMessageAlertData, ChatFromSimulator, ChatFromSimulatorChatData, HealthMessage,
    HealthMessageHealthData, TeleportLocal, TeleportLocalInfo,
};
use wire::text::{CHAT_MAX, VARIABLE1_MAX, to_wire};

/// ChatFromSimulator: spoken by an agent.
const SOURCE_AGENT: u8 = 1;
/// ChatFromSimulator: fully heard.
const AUDIBLE: u8 = 1;

impl Shard {
    pub(super) fn handle_events(
        &mut self,
        now: Instant,
        world: WorldId,
        events: &Arc<[Event]>,
        out: &mut Outbox,
    ) {
        // Without clients in it there are no recipients.
        let Some((_, &first)) = self.by_world.range(circuits_of(world)).next() else { return };
        let place = Arc::clone(&self.client(first).place);
        let replica = place.scene.feed.current();
        for event in events.iter() {
            match event {
                Event::Chat(chat) => self.hear_chat(now, chat, &replica, out),
                Event::Refused { session, reason } => self.on_refused(world, *session, *reason),
                Event::Teleported(session) => self.on_teleported(now, *session, &replica, out),
                Event::Game(audience, event) => self.on_game(now, world, *audience, event, out),
                Event::ObjectCreated { session, id, is_selected, .. } => {
                    self.on_object_created(now, world, *session, *id, *is_selected, out);
                }
                Event::ObjectsRefused { session, reason, ids } => {
                    self.on_objects_refused(now, world, *session, *reason, ids, out);
                }
                // Clients see that it is gone.
                Event::Transfer(..) => {}
                // The node asked for it, and no client.
                Event::ObjectsChanged { .. } | Event::Rezzed { .. } => {}
                Event::WearRefused { owner, reason, .. } => {
                    self.on_wear_refused(now, world, *owner, *reason, out);
                }
                // For the node, which has the assets.
                Event::SolidsWanted(_) => {}
                Event::ObjectStopped(stopped) => self.on_object_stopped(now, world, stopped, out),
                Event::Seated { session, object, position, rotation } => {
                    let place = (*position, *rotation);
                    self.on_seated(now, world, *session, *object, place, out);
                }
                Event::SitRefused { session, reason } => {
                    self.on_sit_refused(now, world, *session, *reason, out);
                }
                // For scripts of the world.
                Event::Touched(_) => {}
                Event::Effect(effect) => {
                    let clients: Vec<ClientIndex> =
                        self.by_world.range(circuits_of(world)).map(|(_, &index)| index).collect();
                    self.on_effect(now, effect, &clients, &replica, out);
                }
                Event::Land(session, event) => self.on_land(now, world, *session, *event, out),
                Event::Contents(event) => self.on_contents(now, world, event, out),
            }
        }
    }

    /// Other channels than the public one are for scripts.
    fn hear_chat(&mut self, now: Instant, chat: &Chat, replica: &Replica, out: &mut Outbox) {
        if chat.channel != 0 {
            return;
        }
        let mut message = std::mem::take(&mut self.body);
        message.clear();
        chat_message(chat).encode(&mut message);
        let reach = chat.radius_m * chat.radius_m;
        let clients = self.by_world.range(circuits_of(replica.world));
        let clients: Vec<ClientIndex> = clients.map(|(_, &index)| index).collect();
        for index in clients {
            let client = self.client(index);
            let (stage, session) = (client.stage, client.session());
            if stage != Stage::Present {
                continue;
            }
            // A client shows its own words only when they come back, wherever its avatar is by then.
            let is_own = session == chat.session;
            let Some(own) = client.viewer.own_in(replica) else { continue };
            if !is_own && replica.hot()[own as usize].position.distance_squared(chat.position) > reach {
                continue;
            }
            if is_own || self.client(index).hears.take_line(now, chat.source) {
                self.counters.chat_sent += 1;
                self.send_reliable(now, index, &message, out);
            } else {
                self.counters.chat_dropped += 1;
            }
        }
        self.body = message;
    }

    fn on_refused(&mut self, world: WorldId, session: SessionKey, reason: EntryRefusal) {
        let Some(index) = self.in_world(session, world) else { return };
        // The refusal may be of an earlier attempt, and a later one may have been admitted: a rerouted client leaves no avatar behind.
        self.command(index, Action::Leave);
        let client = self.client(index);
        client.stage = Stage::Outside;
        let key = client.key();
        self.mail.push(FromShard::Refused(key, world, reason));
    }

    /// Physics has stopped an object. Its owner learns which one, if the owner is here.
    fn on_object_stopped(&mut self, now: Instant, world: WorldId, stopped: &StoppedObject, out: &mut Outbox) {
        let Some(index) = stopped.session.and_then(|session| self.in_world(session, world)) else { return };
        let [x, y, z] = stopped.position.to_array().map(|metres| metres.round() as i32);
        let text = format!(
            "Your object \"{}\" at {x}, {y}, {z} moved in an impossible way. It was stopped, and is not physical any more.",
            stopped.name
        );
        let alert_data = AlertMessageAlertData { message: to_wire(&text, VARIABLE1_MAX) };
        let mut message = Vec::new();
        AlertMessage { alert_data, ..AlertMessage::default() }.encode(&mut message);
        self.send_reliable(now, index, &message, out);
    }

    fn on_teleported(&mut self, now: Instant, session: SessionKey, replica: &Replica, out: &mut Outbox) {
        let Some(index) = self.in_world(session, replica.world) else { return };
        self.client(index).intent.forget_teleport();
        let Some(own) = replica.of_session(session).and_then(|own| replica.slot(own)) else { return };
        let mut message = Vec::new();
        TeleportLocal {
            info: TeleportLocalInfo {
                agent_id: own.agent.0,
                location_id: 4,
                position: own.motion.position,
                look_at: own.motion.rotation * glam::Vec3::X,
                teleport_flags: WITHIN_REGION,
            },
        }
        .encode(&mut message);
        self.send_reliable(now, index, &message, out);
    }

    /// Health and missions have messages of the protocol. Avatars show the rest: they strike, lie and come back.
    fn on_game(
        &mut self,
        now: Instant,
        world: WorldId,
        audience: Audience,
        event: &GameEvent,
        out: &mut Outbox,
    ) {
        match (event, audience) {
            (GameEvent::Health { points }, Audience::Session(session)) => {
                self.on_health(now, world, session, *points, out);
            }
            (GameEvent::Mission { text, .. }, audience) => self.show_text(now, world, audience, text, out),
            // One avatar's health is for its own session.
            (GameEvent::Health { .. }, Audience::All)
            | (GameEvent::Struck { .. } | GameEvent::Fell(_) | GameEvent::Rose(_), _) => {}
        }
    }

    /// Clients show it where a region's flags say that damage is on.
    fn on_health(&mut self, now: Instant, world: WorldId, session: SessionKey, points: u8, out: &mut Outbox) {
        let Some(index) = self.in_world(session, world) else { return };
        let mut message = Vec::new();
        HealthMessage { health_data: HealthMessageHealthData { health: points.into() } }.encode(&mut message);
        self.send_reliable(now, index, &message, out);
    }

    /// A notice to one client, or to all in the world.
    pub(super) fn show_text(
        &mut self,
        now: Instant,
        world: WorldId,
        audience: Audience,
        text: &str,
        out: &mut Outbox,
    ) {
        let circuits: Vec<ClientIndex> = match audience {
            Audience::Session(session) => self.in_world(session, world).into_iter().collect(),
            Audience::All => self.by_world.range(circuits_of(world)).map(|(_, &index)| index).collect(),
        };
        for index in circuits {
            let client = self.client(index);
            if !client.has_avatar() {
                continue;
            }
            let notice = AgentAlertMessage {
                agent_data: AgentAlertMessageAgentData { agent_id: client.ticket.agent.0 },
                alert_data: AgentAlertMessageAlertData {
                    modal: false,
                    message: to_wire(text, VARIABLE1_MAX),
                },
            };
            let mut message = Vec::new();
            notice.encode(&mut message);
            self.send_reliable(now, index, &message, out);
        }
    }

    /// A message to all clients whose avatars are in a world.
    pub(super) fn send_in_world(&mut self, now: Instant, world: WorldId, message: &[u8], out: &mut Outbox) {
        let clients: Vec<ClientIndex> =
            self.by_world.range(circuits_of(world)).map(|(_, &index)| index).collect();
        for index in clients {
            if self.client(index).has_avatar() {
                self.send_reliable(now, index, message, out);
            }
        }
    }

    /// A session's circuit into a world.
    pub(super) fn in_world(&mut self, session: SessionKey, world: WorldId) -> Option<ClientIndex> {
        let first = (world, CircuitKey { session, ticket: 0 });
        let last = (world, CircuitKey { session, ticket: u32::MAX });
        let circuits: Vec<ClientIndex> = self.by_world.range(first..=last).map(|(_, &index)| index).collect();
        circuits.into_iter().find(|&index| self.client(index).has_avatar())
    }
}

/// All of a world's in [`Shard::by_world`].
pub(super) fn circuits_of(world: WorldId) -> RangeInclusive<(WorldId, CircuitKey)> {
    let key = |session, ticket| (world, CircuitKey { session: SessionKey(session), ticket });
    key(0, 0)..=key(u64::MAX, u32::MAX)
}

fn chat_message(chat: &Chat) -> ChatFromSimulator {
    ChatFromSimulator {
        chat_data: ChatFromSimulatorChatData {
            from_name: to_wire(&chat.name, VARIABLE1_MAX),
            source_id: chat.source,
            owner_id: chat.source,
            source_type: SOURCE_AGENT,
            chat_type: chat.kind as u8,
            audible: AUDIBLE,
            position: chat.position,
            message: to_wire(&chat.text, CHAT_MAX),
        },
    }
}
