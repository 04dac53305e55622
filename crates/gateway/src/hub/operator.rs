//! The operator's part of the hub: the sessions as a list, and texts to one user, to a region, and to all.

use super::messages::{alert_message, encoded};
use super::{Address, Hub};
use crate::mail::ToShard;
use crate::places::Place;
use glam::Vec3;
use ids::{AgentId, SessionKey, Uuid, WorldId};
use link::ChatKind;
use std::sync::Arc;
use wire::messages::{ChatFromSimulator, ChatFromSimulatorChatData};
use wire::text::{CHAT_MAX, VARIABLE1_MAX, to_wire};

/// ChatFromSimulator: spoken by the server.
const SOURCE_SYSTEM: u8 = 0;
/// ChatFromSimulator: fully heard.
const AUDIBLE: u8 = 1;

/// A session in the operator's list.
#[derive(Clone, Debug)]
pub struct PresentSession {
    /// Its key, by which a replica has its avatar.
    pub session: SessionKey,
    /// Account.
    pub agent: AgentId,
    /// "First Last".
    pub name: String,
    /// Place of the avatar, or its destination before the arrival; none between two circuits.
    pub place: Option<Arc<Place>>,
    /// True if the avatar is there.
    pub has_arrived: bool,
    /// Its circuits, the oldest first.
    pub circuits: Vec<SessionCircuit>,
}

/// A circuit of a session.
#[derive(Clone, Debug)]
pub struct SessionCircuit {
    /// UDP port of this server.
    pub port: u16,
    /// Its region, or the instance shown there.
    pub place: Arc<Place>,
    /// True once the client has opened it; before that it is announced only.
    pub is_open: bool,
    /// True for the one behind which the avatar is.
    pub is_main: bool,
}

impl Hub {
    /// All sessions, by ascending key. One pass over them.
    #[must_use]
    pub fn present(&self) -> Vec<PresentSession> {
        let session = |session: &super::Session| PresentSession {
            session: session.key,
            agent: session.agent,
            name: session.name(),
            place: session.main_binding().map(|binding| Arc::clone(&binding.place)),
            has_arrived: session.root.is_some(),
            circuits: session
                .bindings
                .values()
                .map(|binding| SessionCircuit {
                    port: self.config.udp_ports[usize::from(binding.ticket.port)],
                    place: Arc::clone(&binding.place),
                    is_open: binding.shard.is_some(),
                    is_main: session.root == Some(binding.ticket.circuit.ticket),
                })
                .collect(),
        };
        self.sessions.values().map(session).collect()
    }

    /// Shows a text to all users.
    pub fn alert(&mut self, text: &str) {
        self.output.push_back((Address::All, ToShard::SendAll(alert_message(text))));
    }

    /// Shows a text to one user. False if no user of that name is present, or as much is kept for an arriving one as may be.
    pub fn alert_user(&mut self, name: &str, text: &str) -> bool {
        let found = self.session_named(name);
        found.is_some_and(|session| self.send(session, alert_message(text)))
    }

    /// Shows a text to all users in a world.
    pub fn alert_in(&mut self, world: WorldId, text: &str) {
        self.output.push_back((Address::All, ToShard::SendIn(world, alert_message(text))));
    }

    /// A line of chat that all users in a world hear wherever they are, with this name as its speaker.
    pub fn say_in(&mut self, world: WorldId, from: &str, text: &str) {
        let line = ChatFromSimulator {
            chat_data: ChatFromSimulatorChatData {
                from_name: to_wire(from, VARIABLE1_MAX),
                source_id: Uuid::nil(),
                owner_id: Uuid::nil(),
                source_type: SOURCE_SYSTEM,
                chat_type: ChatKind::Say as u8,
                audible: AUDIBLE,
                position: Vec3::ZERO,
                message: to_wire(text, CHAT_MAX),
            },
        };
        let message = encoded(|out| line.encode(out));
        self.output.push_back((Address::All, ToShard::SendIn(world, message)));
    }
}
