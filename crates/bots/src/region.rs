//! Minimal region for tests: the server's end of a circuit that gives the answers without which a client stops, and moves the avatar by
//! its flags.

use crate::behavior::{AT_POS, WALK_M_PER_S};
use crate::scene;
use circuit::{Circuit, Config, Received, Reliability};
use glam::{Quat, Vec3};
use ids::{AgentId, Instant, LocalId, Uuid};
use wire::messages::{
    AgentMovementComplete, AgentUpdate, AgentUpdateAgentData, AgentWearablesUpdate,
    ImprovedTerseObjectUpdate, LogoutReply, Message, MessageNumber, ObjectUpdate, RegionHandshake,
    UUIDNameReply, UUIDNameReplyUUIDNameBlock,
};
use wire::text;

/// Local id of the own avatar.
const OWN: LocalId = LocalId(77);

/// A region with one avatar, as the server's end of one circuit.
pub(crate) struct ServedRegion {
    pub(crate) circuit: Circuit,
    /// Messages of the bot, in order of arrival.
    pub(crate) received: Vec<(Instant, Message)>,
    /// Reasons of its refused datagrams and messages.
    pub(crate) refused: Vec<&'static str>,
    pub(crate) position: Vec3,
    rotation: Quat,
    walking: bool,
    shown: bool,
    agent: AgentId,
}

impl ServedRegion {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            circuit: Circuit::new(now, &Config::server(), 1),
            received: Vec::new(),
            refused: Vec::new(),
            position: Vec3::new(128.0, 128.0, 25.0),
            rotation: Quat::IDENTITY,
            walking: false,
            shown: false,
            agent: AgentId(Uuid::nil()),
        }
    }

    pub(crate) fn handle(&mut self, now: Instant, bytes: &[u8]) {
        let mut scratch = Vec::new();
        let Received { number, body, .. } = match self.circuit.handle_datagram(now, bytes, &mut scratch) {
            Ok(Some(received)) => received,
            Ok(None) => return,
            Err(reason) => return self.refused.push(reason.as_str()),
        };
        match Message::decode_numbered(number, body) {
            Ok(message) => {
                self.answer(&message);
                self.received.push((now, message));
            }
            Err(reason) => self.refused.push(reason.as_str()),
        }
    }

    fn answer(&mut self, message: &Message) {
        match message {
            Message::UseCircuitCode(opened) => self.agent = AgentId(opened.circuit_code.id),
            Message::CompleteAgentMovement(_) => {
                let mut handshake = RegionHandshake::default();
                handshake.region_info.sim_name = b"Harbour\0".to_vec();
                self.send(|out| handshake.encode(out));
                let mut complete = AgentMovementComplete::default();
                complete.data.position = self.position;
                self.send(|out| complete.encode(out));
            }
            Message::AgentWearablesRequest(_) => self.send(|out| AgentWearablesUpdate::default().encode(out)),
            Message::RegionHandshakeReply(_) => {
                self.shown = true;
                let body = scene::full_update(self.agent, OWN, self.position);
                self.send_body(ObjectUpdate::NUMBER, &body);
            }
            Message::AgentUpdate(update) => {
                self.rotation = update.agent_data.body_rotation;
                self.walking = update.agent_data.control_flags & AT_POS != 0;
            }
            Message::UUIDNameRequest(request) => {
                let row = |id| UUIDNameReplyUUIDNameBlock {
                    id,
                    first_name: text::to_wire("Ada", text::VARIABLE1_MAX),
                    last_name: text::to_wire("Lovelace", text::VARIABLE1_MAX),
                };
                let uuid_name_block = request.uuid_name_block.iter().map(|asked| row(asked.id)).collect();
                self.send(|out| UUIDNameReply { uuid_name_block }.encode(out));
            }
            Message::LogoutRequest(_) => self.send(|out| LogoutReply::default().encode(out)),
            _ => {}
        }
    }

    /// A tenth of a second passes in the region.
    pub(crate) fn step(&mut self) {
        let velocity = if self.walking { self.rotation * Vec3::X * WALK_M_PER_S } else { Vec3::ZERO };
        self.position += velocity * 0.1;
        if self.shown {
            let other = (LocalId(1), Vec3::ONE, Vec3::ZERO);
            let body = scene::terse_update(&[other, (OWN, self.position, velocity)]);
            let mut message = Vec::new();
            ImprovedTerseObjectUpdate::NUMBER.write(&mut message);
            message.extend_from_slice(&body);
            self.circuit.send(Reliability::Unreliable, &message, false).expect("room");
        }
    }

    pub(crate) fn send(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        let mut message = Vec::new();
        encode(&mut message);
        self.circuit.send(Reliability::Reliable, &message, true).expect("room");
    }

    pub(crate) fn send_body(&mut self, number: MessageNumber, body: &[u8]) {
        let mut message = Vec::new();
        number.write(&mut message);
        message.extend_from_slice(body);
        self.circuit.send(Reliability::Reliable, &message, true).expect("room");
    }

    pub(crate) fn updates(&self) -> impl Iterator<Item = (Instant, &AgentUpdateAgentData)> {
        self.received.iter().filter_map(|(at, message)| match message {
            Message::AgentUpdate(AgentUpdate { agent_data }) => Some((*at, agent_data)),
            _ => None,
        })
    }

    /// Names of received messages, without agent updates.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let names = self.received.iter().map(|(_, message)| message.schema().name);
        names.filter(|name| *name != "AgentUpdate").collect()
    }
}
