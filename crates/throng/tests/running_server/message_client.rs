//! A client on a real socket that sends messages as bytes: login over XML-RPC, one circuit over UDP, and its event queue.

use crate::server::Server;
use bots::identity::Identity;
use bots::login;
use circuit::{Circuit, Config, Reliability};
use ids::Instant;
use std::net::{SocketAddrV4, UdpSocket};
use std::time::Duration;
use wire::llsd::{Limits, Llsd, xml};
use wire::messages::*;
use wire::text::{CHAT_MAX, to_wire};

/// Longest wait for anything. A machine under load takes less.
const PATIENCE: Duration = Duration::from_secs(60);

/// Longest wait of the socket for a datagram, so that the circuit sends acks and repetitions in time.
const TURN: Duration = Duration::from_millis(5);

/// A client with its avatar in the world.
pub(crate) struct MessageClient<'a> {
    server: &'a Server,
    pub(crate) identity: Identity,
    pub(crate) circuit: Circuit,
    /// Messages received since the last [`Self::send`].
    pub(crate) inbox: Vec<Message>,
    socket: UdpSocket,
    began: std::time::Instant,
    /// Path of the event queue's capability.
    event_queue: String,
    /// Id of the last events.
    ack: Llsd,
}

impl<'a> MessageClient<'a> {
    /// Logs in and waits for the arrival.
    #[expect(clippy::disallowed_methods, reason = "a circuit on a real socket needs a real clock")]
    pub(crate) fn enter(server: &'a Server, first: &str) -> Self {
        let body = login::request(first, "Resident", "secret");
        let (status, answer) = server.request(&post("/", "text/xml", &body));
        assert_eq!(status, 200, "{answer}");
        let credentials = login::read_reply(body_of(&answer)).expect("a login");
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let simulator: SocketAddrV4 = credentials.simulator;
        socket.connect(simulator).unwrap();
        socket.set_read_timeout(Some(TURN)).unwrap();
        let (_, seed) = credentials.seed_capability.split_once("/cap/").expect("a capability");
        let mut client = Self {
            server,
            identity: credentials.identity,
            circuit: Circuit::new(Instant::ZERO, &Config::client(), 1),
            inbox: Vec::new(),
            socket,
            began: std::time::Instant::now(),
            event_queue: format!("/cap/{seed}/EventQueueGet"),
            ack: Llsd::Undef,
        };
        client.open();
        client
    }

    fn open(&mut self) {
        let Identity { agent, session, circuit_code } = self.identity;
        let ticket = UseCircuitCode {
            circuit_code: UseCircuitCodeCircuitCode {
                code: circuit_code.0,
                session_id: session.0,
                id: agent.0,
            },
        };
        self.send_message(&ticket.into());
        self.turn_until("UseCircuitCode is acked", |client| client.circuit.unacked() == 0);
        let agent_data = CompleteAgentMovementAgentData {
            agent_id: agent.0,
            session_id: session.0,
            circuit_code: circuit_code.0,
        };
        self.send_message(&CompleteAgentMovement { agent_data }.into());
        self.turn_until("RegionHandshake", |client| client.has(MessageName::RegionHandshake));
        let agent_data = RegionHandshakeReplyAgentData { agent_id: agent.0, session_id: session.0 };
        self.send_kept(&RegionHandshakeReply { agent_data, ..RegionHandshakeReply::default() }.into());
        self.turn_until("the arrival", |client| client.has(MessageName::AgentMovementComplete));
    }

    /// Sends a message reliably; the inbox begins anew.
    pub(crate) fn send_message(&mut self, message: &Message) {
        self.inbox.clear();
        self.send_kept(message);
    }

    fn send_kept(&mut self, message: &Message) {
        let mut body = Vec::new();
        message.encode(&mut body);
        self.circuit.send(Reliability::Reliable, &body, true).expect("the circuit is open");
    }

    /// Sends a message as bytes, its number in front; the inbox begins anew.
    pub(crate) fn send(&mut self, reliability: Reliability, body: &[u8]) {
        self.inbox.clear();
        self.circuit.send(reliability, body, true).expect("the circuit is open");
    }

    /// True if such a message has come since the last [`Self::send`].
    pub(crate) fn has(&self, name: MessageName) -> bool {
        self.inbox.iter().any(|message| message.schema().number == name.number())
    }

    /// Says a line that the region hears, and waits until the client itself hears it.
    pub(crate) fn echo(&mut self, line: &str) {
        let chat = ChatFromViewer {
            agent_data: ChatFromViewerAgentData {
                agent_id: self.identity.agent.0,
                session_id: self.identity.session.0,
            },
            chat_data: ChatFromViewerChatData { message: to_wire(line, CHAT_MAX), r#type: 1, channel: 0 },
        };
        self.send_message(&chat.into());
        let expected = to_wire(line, CHAT_MAX);
        let is_echo = |message: &Message| match message {
            Message::ChatFromSimulator(chat) => chat.chat_data.message == expected,
            _ => false,
        };
        self.turn_until("its words come back", |client| client.inbox.iter().any(is_echo));
    }

    /// Polls the event queue until it brings an event of this name.
    pub(crate) fn await_event(&mut self, name: &str) {
        loop {
            let call = Llsd::map([("ack", self.ack.clone()), ("done", Llsd::from(false))]);
            let request = post(&self.event_queue, "application/llsd+xml", &xml::encode(&call));
            let (status, answer) = self.server.request(&request);
            assert_eq!(status, 200, "no event {name}: {answer}");
            let events = xml::decode(body_of(&answer), Limits::REPLY).expect("LLSD");
            self.ack = events.get("id").clone();
            let mut names = events.get("events").as_array().iter().map(|event| event.get("message"));
            if names.any(|message| message.to_text().as_deref() == Some(name)) {
                return;
            }
        }
    }

    /// Sends and receives until something is so.
    pub(crate) fn turn_until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = self.now();
        while !is_so(self) {
            self.turn();
            assert!(self.circuit.closed().is_none(), "{what}: the circuit is closed");
            let received: Vec<_> = self.inbox.iter().map(|message| message.schema().name).collect();
            assert!(self.now().since(began) < PATIENCE, "{what}: not within {PATIENCE:?}, but {received:?}");
        }
    }

    fn turn(&mut self) {
        let now = self.now();
        self.circuit.handle_timeout(now);
        let mut datagram = Vec::new();
        while self.circuit.poll_transmit(now, &mut datagram).is_some() {
            self.socket.send(&datagram).unwrap();
            datagram.clear();
        }
        let (mut bytes, mut scratch) = ([0; 2_048], Vec::new());
        // Nothing has come, then.
        let Ok(len) = self.socket.recv(&mut bytes) else { return };
        let now = self.now();
        if let Ok(Some(received)) = self.circuit.handle_datagram(now, &bytes[..len], &mut scratch) {
            let message = Message::decode_numbered(received.number, received.body);
            self.inbox.push(message.expect("the server sends whole messages"));
        }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + self.began.elapsed()
    }
}

fn post(path: &str, kind: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: {kind}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn body_of(answer: &str) -> &[u8] {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).as_bytes()
}
