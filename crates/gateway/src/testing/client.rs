//! A small viewer: one circuit, its received messages, and its displayed avatars.

use crate::hub::Admission;
use crate::shard::CircuitAddress;
use circuit::{Circuit, Config, Reliability, Throttles};
use glam::{Quat, Vec3};
use ids::{AgentId, CircuitCode, Instant, SessionId, Uuid};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use wire::header::{Datagram, Flags};
use wire::messages::*;
use wire::{object_compressed, object_update, terse};

/// Automatic behaviour of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manners {
    /// Sends CompleteAgentMovement right behind UseCircuitCode.
    pub(crate) moves_in: bool,
    /// And expects it to arrive.
    pub(crate) move_in: Reliability,
    /// Answers RegionHandshake.
    pub(crate) replies: Option<Reliability>,
    /// Flags of that answer: 1 for a viewer that keeps objects, 2 if it has none yet.
    pub(crate) cache_flags: u32,
}

impl Default for Manners {
    fn default() -> Self {
        Self {
            moves_in: true,
            move_in: Reliability::Reliable,
            replies: Some(Reliability::Reliable),
            cache_flags: 0,
        }
    }
}

/// An avatar as it was shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) agent: Uuid,
    pub(crate) position: Vec3,
    pub(crate) velocity: Vec3,
    /// Arrival of the update.
    pub(crate) at: Instant,
    pub(crate) flags: u32,
    /// Root of the linkset that it sits on, or 0.
    pub(crate) parent: u32,
}

/// A prim as it was shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SeenPrim {
    pub(crate) crc: u32,
    pub(crate) flags: u32,
    pub(crate) position: Vec3,
    /// Message that it came in.
    pub(crate) form: MessageNumber,
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) at: Instant,
    pub(crate) sequence: u32,
    pub(crate) reliable: bool,
    pub(crate) number: MessageNumber,
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) name: String,
    pub(crate) agent: AgentId,
    pub(crate) session_id: SessionId,
    pub(crate) code: CircuitCode,
    pub(crate) port: u8,
    pub(crate) remote: SocketAddrV4,
    pub(crate) circuit: Circuit,
    pub(crate) manners: Manners,
    /// Every datagram in the order of arrival, duplicates included.
    pub(crate) arrivals: Vec<Arrival>,
    /// Every message but avatar updates.
    pub(crate) inbox: Vec<Message>,
    pub(crate) avatars: BTreeMap<u32, Seen>,
    /// Objects that it was sent: where they stand, and how often it was.
    pub(crate) objects: BTreeMap<u32, (Vec3, u32)>,
    /// The same by what is shown of them.
    pub(crate) prims: BTreeMap<u32, SeenPrim>,
    /// Their media versions and addresses as the last full updates had them.
    pub(crate) media_urls: BTreeMap<u32, Vec<u8>>,
    /// Prims of its cache: their checksums and places by local id.
    pub(crate) cache: BTreeMap<u32, (u32, Vec3)>,
    /// Terse updates of prims that it displays.
    pub(crate) movements: usize,
    pub(crate) bytes_in: u64,
    /// State of its keys and camera.
    pub(crate) update: AgentUpdateAgentData,
    /// Secret of its seed capability.
    pub(crate) seed: Uuid,
    /// Id of the events that it got last.
    pub(crate) acked: Option<i32>,
    datagrams: Vec<Vec<u8>>,
}

impl Client {
    pub(crate) fn new(
        now: Instant,
        remote: SocketAddrV4,
        port: u16,
        name: &str,
        agent: AgentId,
        admission: &Admission,
    ) -> Self {
        let seed = admission.seed_url.rsplit('/').next().and_then(|secret| Uuid::parse_str(secret).ok());
        Self {
            name: name.into(),
            agent,
            session_id: admission.session_id,
            code: admission.code,
            port: port as u8,
            remote,
            circuit: Circuit::new(now, &Config::client(), 1),
            manners: Manners::default(),
            arrivals: Vec::new(),
            inbox: Vec::new(),
            avatars: BTreeMap::new(),
            objects: BTreeMap::new(),
            prims: BTreeMap::new(),
            media_urls: BTreeMap::new(),
            cache: BTreeMap::new(),
            movements: 0,
            bytes_in: 0,
            update: AgentUpdateAgentData {
                agent_id: agent.0,
                session_id: admission.session_id.0,
                body_rotation: Quat::IDENTITY,
                head_rotation: Quat::IDENTITY,
                camera_at_axis: Vec3::X,
                camera_left_axis: Vec3::Y,
                camera_up_axis: Vec3::Z,
                far: 128.0,
                ..AgentUpdateAgentData::default()
            },
            seed: seed.expect("a seed URL ends with its secret"),
            acked: None,
            datagrams: Vec::new(),
        }
    }

    pub(crate) fn address(&self) -> CircuitAddress {
        CircuitAddress { port: self.port, remote: self.remote, local: Ipv4Addr::LOCALHOST }
    }

    /// Shows its ticket and, if it has the manners, moves in.
    pub(crate) fn open(&mut self) {
        self.send(&use_circuit_code(self.code, self.session_id, self.agent).into());
        if self.manners.moves_in {
            self.complete_movement();
        }
    }

    pub(crate) fn complete_movement(&mut self) {
        let message = CompleteAgentMovement {
            agent_data: CompleteAgentMovementAgentData {
                agent_id: self.agent.0,
                session_id: self.session_id.0,
                circuit_code: self.code.0,
            },
        };
        self.send_as(self.manners.move_in, &message.into());
    }

    pub(crate) fn send(&mut self, message: &Message) {
        self.send_as(Reliability::Reliable, message);
    }

    pub(crate) fn send_as(&mut self, reliability: Reliability, message: &Message) {
        let mut body = Vec::new();
        message.encode(&mut body);
        self.circuit.send(reliability, &body, true).expect("the circuit is open");
    }

    /// Sends a message of nothing but its number and, where messages name them, the ids of agent and session.
    pub(crate) fn send_bare(&mut self, name: MessageName) {
        let mut body = Vec::new();
        name.number().write(&mut body);
        body.extend_from_slice(self.agent.0.as_bytes());
        body.extend_from_slice(self.session_id.0.as_bytes());
        body.extend_from_slice(&[0; 64]);
        self.send_body(&body);
    }

    /// Sends a message as bytes, beginning with its number.
    pub(crate) fn send_body(&mut self, body: &[u8]) {
        self.circuit.send(Reliability::Reliable, body, true).expect("the circuit is open");
    }

    /// Sends the state of its keys and camera.
    pub(crate) fn send_update(&mut self) {
        let message = AgentUpdate { agent_data: self.update.clone() };
        self.send_as(Reliability::Unreliable, &message.into());
    }

    /// Presses these keys.
    pub(crate) fn control(&mut self, flags: link::ControlFlags) {
        self.update.control_flags = flags.0;
        self.send_update();
    }

    pub(crate) fn send_chat(&mut self, kind: link::ChatKind, text: &str) {
        let message = ChatFromViewer {
            agent_data: ChatFromViewerAgentData { agent_id: self.agent.0, session_id: self.session_id.0 },
            chat_data: ChatFromViewerChatData {
                message: wire::text::to_wire(text, wire::text::CHAT_MAX),
                r#type: kind as u8,
                channel: 0,
            },
        };
        self.send(&message.into());
    }

    pub(crate) fn log_out(&mut self) {
        let agent_data = LogoutRequestAgentData { agent_id: self.agent.0, session_id: self.session_id.0 };
        self.send(&LogoutRequest { agent_data }.into());
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.circuit.handle_timeout(now);
    }

    pub(crate) fn take_datagrams(&mut self, now: Instant) -> Vec<(CircuitAddress, Vec<u8>)> {
        loop {
            let mut bytes = Vec::new();
            if self.circuit.poll_transmit(now, &mut bytes).is_none() {
                break;
            }
            self.datagrams.push(bytes);
        }
        let address = self.address();
        self.datagrams.drain(..).map(|bytes| (address, bytes)).collect()
    }

    pub(crate) fn receive(&mut self, now: Instant, bytes: &[u8]) {
        self.bytes_in += bytes.len() as u64;
        let datagram = Datagram::parse(bytes).expect("a server's datagram");
        let (sequence, reliable) = (datagram.sequence, datagram.flags.contains(Flags::RELIABLE));
        let number = super::number_of(bytes).expect("a message");
        self.arrivals.push(Arrival { at: now, sequence, reliable, number });
        let mut scratch = Vec::new();
        let Ok(Some(received)) = self.circuit.handle_datagram(now, bytes, &mut scratch) else { return };
        match received.number {
            ImprovedTerseObjectUpdate::NUMBER => self.on_terse(now, received.body),
            ObjectUpdate::NUMBER => self.on_full(now, received.body),
            ObjectUpdateCompressed::NUMBER => self.on_compressed(received.body),
            ObjectUpdateCached::NUMBER => self.on_cached(received.body),
            _ => {
                let message = Message::decode_numbered(received.number, received.body);
                self.on_message(message.expect("a whole message"));
            }
        }
    }

    fn on_message(&mut self, message: Message) {
        match &message {
            Message::RegionHandshake(_) => {
                if let Some(reliability) = self.manners.replies {
                    self.reply_to_handshake(reliability);
                }
            }
            Message::KillObject(kill) => {
                for row in &kill.object_data {
                    self.avatars.remove(&row.id);
                    self.objects.remove(&row.id);
                    self.prims.remove(&row.id);
                    self.cache.remove(&row.id);
                }
            }
            _ => {}
        }
        self.inbox.push(message);
    }

    pub(crate) fn reply_to_handshake(&mut self, reliability: Reliability) {
        let reply = RegionHandshakeReply {
            agent_data: RegionHandshakeReplyAgentData {
                agent_id: self.agent.0,
                session_id: self.session_id.0,
            },
            region_info: RegionHandshakeReplyRegionInfo { flags: self.manners.cache_flags },
        };
        self.send_as(reliability, &reply.into());
    }

    /// Requests this bandwidth of each category, bits per second.
    pub(crate) fn throttle(&mut self, bits_per_s: [u32; 7]) {
        let mut throttles = Vec::new();
        Throttles::from_bits_per_s(bits_per_s).write(&mut throttles);
        let message = AgentThrottle {
            agent_data: AgentThrottleAgentData {
                agent_id: self.agent.0,
                session_id: self.session_id.0,
                circuit_code: self.code.0,
            },
            throttle: AgentThrottleThrottle { gen_counter: 0, throttles },
        };
        self.send(&message.into());
    }

    fn on_terse(&mut self, now: Instant, body: &[u8]) {
        for block in terse::decode(body).expect("a prefix") {
            let block = block.expect("a whole block");
            // Its full update may have got lost.
            if let Some(seen) = self.avatars.get_mut(&block.local_id.0) {
                (seen.position, seen.velocity, seen.at) = (block.position, block.velocity, now);
            }
            // A terse update evicts an object from a viewer's cache, as a full one does.
            if let Some(seen) = self.prims.get_mut(&block.local_id.0) {
                (seen.position, seen.form) = (block.position, ImprovedTerseObjectUpdate::NUMBER);
                self.cache.remove(&block.local_id.0);
                self.movements += 1;
            }
        }
    }

    /// A full update evicts an object from a viewer's cache.
    fn on_full(&mut self, now: Instant, body: &[u8]) {
        let (_, objects) = object_update::decode(body).expect("whole blocks");
        let rows = ObjectUpdate::decode(body).expect("whole blocks").object_data;
        for (object, ObjectUpdateObjectData { crc, media_url, .. }) in objects.into_iter().zip(rows) {
            if object.p_code != object_update::PCODE_AVATAR {
                let position = object.motion.position;
                self.show_object(object.local_id.0, position);
                self.cache.remove(&object.local_id.0);
                let flags = object.update_flags;
                let seen = SeenPrim { crc, flags, position, form: ObjectUpdate::NUMBER };
                self.prims.insert(object.local_id.0, seen);
                self.media_urls.insert(object.local_id.0, media_url);
                continue;
            }
            let seen = Seen {
                agent: object.id,
                position: object.motion.position,
                velocity: object.motion.velocity,
                at: now,
                flags: object.update_flags,
                parent: object.parent.0,
            };
            self.avatars.insert(object.local_id.0, seen);
        }
    }

    fn show_object(&mut self, id: u32, position: Vec3) {
        let (_, times) = self.objects.get(&id).copied().unwrap_or_default();
        self.objects.insert(id, (position, times + 1));
    }

    /// Viewers put a compressed update into their cache, and display it from there unless they display the prim already. One with the checksum
    /// that they have is ignored.
    fn on_compressed(&mut self, body: &[u8]) {
        let message = ObjectUpdateCompressed::decode(body).expect("whole blocks");
        for row in message.object_data {
            let (object, motion) = object_compressed::decode(&row.data).expect("a whole block");
            if self.cache.get(&object.id).is_some_and(|(crc, _)| *crc == object.crc) {
                continue;
            }
            self.cache.insert(object.id, (object.crc, motion.position));
            if self.prims.contains_key(&object.id) {
                continue;
            }
            self.show_object(object.id, motion.position);
            let seen = SeenPrim {
                crc: object.crc,
                flags: row.update_flags,
                position: motion.position,
                form: ObjectUpdateCompressed::NUMBER,
            };
            self.prims.insert(object.id, seen);
        }
    }

    /// Viewers show what their cache has, and ask for the rest.
    fn on_cached(&mut self, body: &[u8]) {
        let message = ObjectUpdateCached::decode(body).expect("whole blocks");
        let mut missed = Vec::new();
        for row in message.object_data {
            match self.cache.get(&row.id) {
                Some(&(crc, position)) if crc == row.crc => {
                    let (flags, form) = (row.update_flags, ObjectUpdateCached::NUMBER);
                    self.prims.insert(row.id, SeenPrim { crc, flags, position, form });
                }
                found => {
                    let cache_miss_type = u8::from(found.is_some());
                    missed.push(RequestMultipleObjectsObjectData { cache_miss_type, id: row.id });
                }
            }
        }
        if !missed.is_empty() {
            let agent_data =
                RequestMultipleObjectsAgentData { agent_id: self.agent.0, session_id: self.session_id.0 };
            self.send(&RequestMultipleObjects { agent_data, object_data: missed }.into());
        }
    }

    /// A user's avatar as this client sees it.
    pub(crate) fn sees(&self, name: &str) -> Option<Seen> {
        let agent = super::agent(name).0;
        self.avatars.values().find(|seen| seen.agent == agent).copied()
    }

    pub(crate) fn sees_itself(&self) -> bool {
        self.avatars.values().any(|seen| seen.agent == self.agent.0)
    }

    /// Number of messages of a kind.
    pub(crate) fn count(&self, is_one: impl Fn(&Message) -> bool) -> usize {
        self.inbox.iter().filter(|message| is_one(message)).count()
    }

    /// True if any message of this number arrived.
    pub(crate) fn got(&self, number: MessageNumber) -> bool {
        self.arrivals.iter().any(|arrival| arrival.number == number)
    }

    /// Heard chat, with the kinds of speech.
    pub(crate) fn heard(&self) -> Vec<(u8, String)> {
        let text = |message: &Message| match message {
            Message::ChatFromSimulator(chat) => {
                let said = &chat.chat_data;
                Some((said.chat_type, wire::text::from_wire(&said.message)))
            }
            _ => None,
        };
        self.inbox.iter().filter_map(text).collect()
    }
}

/// The message that opens a circuit.
pub(crate) fn use_circuit_code(code: CircuitCode, session: SessionId, agent: AgentId) -> UseCircuitCode {
    UseCircuitCode {
        circuit_code: UseCircuitCodeCircuitCode { code: code.0, session_id: session.0, id: agent.0 },
    }
}
