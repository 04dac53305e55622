//! A gateway shard: circuits of clients, with their input and output.
//!
//! Sans-IO: the driver feeds datagrams, mail from the hub and the time, and takes datagrams, commands for worlds and mail for the hub.
//! Shards share nothing that changes: each owns its circuits, and reads the replicas that the replica thread publishes. Start with
//! [`Shard::handle_datagram`] and `dispatch` for input, and with `stream` for output.

mod address_hash;
mod answers;
mod appearing;
mod arrivals;
mod assets;
mod client;
mod client_files;
mod client_intent;
mod client_outfit;
mod client_transfers;
mod client_uploads;
mod contents;
mod counters;
mod dispatch;
mod editing;
mod effects;
mod egress;
mod epochs;
mod export;
mod file_sends;
mod file_upload;
mod files;
mod filter;
mod flood;
mod greeting;
mod heard;
mod hearing;
mod held;
mod incoming;
mod land;
mod land_stream;
mod landmarks;
mod matter;
mod mover_visits;
mod names;
mod negative;
mod notices;
mod object_stream;
mod objects;
mod outbox;
mod portals;
mod pressure;
mod progress;
mod properties;
mod scenery_stream;
mod sending;
mod sitting;
mod stages;
mod stream;
mod switching;
#[cfg(test)]
mod tests;
mod token_bucket;
mod touching;
mod turns;
mod unmade;
mod uploads;
mod wearing;

pub use arrivals::WAITING_MAX;
pub use counters::{Refused, ShardCounters};
pub use export::{ShardFigures, export};
pub use filter::{
    AXIS_SIGNIFICANT, CAMERA_SIGNIFICANT_M, FAR_SIGNIFICANT_M, FilterMode, FilterVerdict,
    ROTATION_SIGNIFICANT_RAD, UpdateFilter,
};
pub use outbox::{CircuitAddress, Outbox};
pub use pressure::{CpuTime, PRESSURE_MAX};
pub use sending::{Packing, Sending};
pub use stages::{Handled, Measured, PacketStage, Stages};

use crate::coverage::{MessageOutcome, MessageOutcomes};
use crate::mail::{Closed, Ending, FromShard, Ticket, ToShard};
use crate::places::{Place, Places};
use ::assets::SizeLimits;
use address_hash::AddressHash;
use arrivals::ArrivalQueue;
use circuit::{Circuit, DropReason, Reliability, message_number};
use client::Client;
use egress::Egress;
use grid::asset_sources::AssetSources;
use grid::uploads::UploadRoom;
use ids::{CircuitCode, Instant, LocalId, WorldId};
use incoming::Incoming;
use link::{Action, CircuitKey, Command};
use mover_visits::MoverVisits;
use pressure::Pressure;
use progress::Stage;
use replicate::Lister;
use replicate::objects::{DueMover, DueObject};
use replicate::selection::Selection;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::time::Duration;
use systems::System;
use turns::Turns;
use uploads::FILE_ROOM_BYTES;
use wire::header::Datagram;
use wire::messages::{
    DisableSimulator, KickUser, KickUserUserInfo, MessageName, MessageNumber, UseCircuitCode,
};
use wire::text::to_wire;

/// Tunables of a shard.
#[derive(Clone, Debug)]
pub struct ShardConfig {
    /// Configuration of every circuit.
    pub circuit: circuit::Config,
    /// Bytes per second that a client may be sent; less when its AgentThrottle says so.
    pub client_bytes_per_s: u32,
    /// Bytes per second, with the headers of IP and UDP, that all clients of this shard are sent in all, if that is limited.
    pub egress_bytes_per_s: Option<u64>,
    /// Avatars that a client is shown, the nearest ones, beside its own.
    pub visible_max: usize,
    /// Pace and packing of the output.
    pub sending: Sending,
    /// Filter of agent updates.
    pub filter: FilterMode,
    /// Time without a change after which viewers may keep an object.
    pub cache_after: Duration,
    /// Content for clients.
    pub assets: Arc<AssetSources>,
    /// Sizes of what clients upload in messages.
    pub asset_limits: SizeLimits,
    /// Objects that an avatar wears at most.
    pub attachments_max: u32,
    /// Unix time in seconds at [`Instant::ZERO`].
    pub unix_start_s: u64,
    /// Secret keys of the hash table of addresses, random on a real server: an attacker that knew them could choose
    /// addresses that collide.
    pub hash_keys: [u64; 2],
}

/// Bytes of output after which a turn pauses until the driver has sent them. The kernel copies them again, and more than this would
/// leave the core's cache between the two copies.
pub const TURN_BYTES: usize = 256 * 1024;
/// Time for which a circuit whose avatar is gone still delivers its last messages.
const LINGER: Duration = Duration::from_secs(3);
/// Period of dropping expired tickets.
const TICKET_SWEEP: Duration = Duration::from_secs(5);
/// Commands that may wait for the worlds' inboxes: 10,000 clients at 10 updates a second for one second. Above it
/// agent updates are refused; the next one of the client says the same or newer.
pub const COMMANDS_MAX: usize = 100_000;

/// Default of [`ShardConfig::cache_after`].
pub const CACHE_AFTER: Duration = Duration::from_secs(60);

type ClientIndex = u32;

/// The circuits of one gateway thread.
#[derive(Debug)]
pub struct Shard {
    config: ShardConfig,
    places: Arc<Places>,
    clients: Vec<Option<Box<Client>>>,
    free: Vec<ClientIndex>,
    /// Only ever looked up, so its order does not matter.
    by_address: HashMap<(u8, SocketAddrV4), ClientIndex, AddressHash>,
    by_circuit: BTreeMap<CircuitKey, ClientIndex>,
    /// Circuits by the world behind them.
    by_world: BTreeMap<(WorldId, CircuitKey), ClientIndex>,
    tickets: BTreeMap<(CircuitCode, u8), Arc<Ticket>>,
    turns: Turns,
    mover_visits: MoverVisits,
    /// Clients whose acks have to leave, soonest first.
    acks_due: VecDeque<(Instant, ClientIndex)>,
    /// Clients whose circuits ended during this turn, to be removed after it.
    ended: Vec<ClientIndex>,
    /// Its shortage of CPU time.
    pressure: Pressure,
    /// Lateness of the turn under way.
    late: Duration,
    /// Clients whose arrival waits for CPU time.
    arrivals: ArrivalQueue,
    /// Share of each client in the total bandwidth.
    egress: Egress,
    /// Memory of files that clients upload in messages.
    upload_room: UploadRoom,
    next_sweep: Instant,
    commands: Vec<(WorldId, Command)>,
    mail: Vec<FromShard>,
    counters: ShardCounters,
    outcomes: MessageOutcomes,
    lister: Lister,
    selection: Selection,
    /// Scratch buffer of a turn: objects or avatars by distance (`stream/scenery.rs`, `stream/looks.rs`).
    by_distance: Vec<(f32, u32)>,
    /// The same for objects.
    due_objects: Vec<DueObject>,
    /// The same for objects, by the message that they are sent in.
    due_by_form: [Vec<DueObject>; 3],
    /// The same for prims in motion.
    due_movers: Vec<DueMover>,
    gone: Vec<LocalId>,
    /// Buffer of expanded zero-coded datagrams.
    expanded: Vec<u8>,
    /// Buffer for building messages.
    body: Vec<u8>,
}

impl Shard {
    /// A shard without clients.
    #[must_use]
    pub fn new(config: ShardConfig, places: Arc<Places>) -> Self {
        Self {
            turns: Turns::new(config.sending.hz),
            mover_visits: MoverVisits::default(),
            egress: Egress::new(config.egress_bytes_per_s, config.client_bytes_per_s),
            counters: ShardCounters::new(config.client_bytes_per_s),
            outcomes: MessageOutcomes::default(),
            by_address: HashMap::with_hasher(AddressHash::new(config.hash_keys)),
            config,
            places,
            clients: Vec::new(),
            free: Vec::new(),
            by_circuit: BTreeMap::new(),
            by_world: BTreeMap::new(),
            tickets: BTreeMap::new(),
            acks_due: VecDeque::new(),
            ended: Vec::new(),
            pressure: Pressure::new(),
            late: Duration::ZERO,
            arrivals: ArrivalQueue::default(),
            upload_room: UploadRoom::new(FILE_ROOM_BYTES),
            next_sweep: Instant::ZERO,
            commands: Vec::new(),
            mail: Vec::new(),
            lister: Lister::default(),
            selection: Selection::default(),
            by_distance: Vec::new(),
            due_objects: Vec::new(),
            due_by_form: Default::default(),
            due_movers: Vec::new(),
            gone: Vec::new(),
            expanded: Vec::new(),
            body: Vec::new(),
        }
    }

    /// A datagram arrived.
    #[inline(never)]
    pub fn handle_datagram(&mut self, now: Instant, address: CircuitAddress, bytes: &[u8], out: &mut Outbox) {
        System::ShardReceive.enter();
        self.counters.datagrams_in += 1;
        self.counters.bytes_in += bytes.len() as u64;
        match self.by_address.get(&(address.port, address.remote)).copied() {
            // A viewer has one socket for all its circuits: it may come back to a port whose circuit lingers.
            Some(index) if self.is_leaving(index) && self.has_ticket(now, address, bytes) => {
                self.remove(index);
                self.on_stranger(now, address, bytes, out);
            }
            Some(index) => self.on_circuit(now, index, bytes, out),
            None => self.on_stranger(now, address, bytes, out),
        }
    }

    /// A datagram arrived that is longer than any honest one, so that only its beginning could be read.
    pub const fn handle_oversized(&mut self) {
        self.counters.datagrams_in += 1;
        self.counters.refuse(Refused::Oversized);
    }

    /// The hub or the replica thread has something to say.
    #[inline(never)]
    pub fn handle(&mut self, now: Instant, mail: ToShard, out: &mut Outbox) {
        System::ShardMail.enter();
        match mail {
            ToShard::Ticket(ticket) => {
                self.tickets.insert((ticket.code, ticket.port), ticket);
            }
            ToShard::Revoke(circuit) => self.tickets.retain(|_, ticket| ticket.circuit != circuit),
            ToShard::Send(circuit, message) => {
                if let Some(&index) = self.by_circuit.get(&circuit) {
                    self.send_reliable(now, index, &message, out);
                }
            }
            ToShard::SendAll(message) => {
                let clients: Vec<ClientIndex> = self.by_circuit.values().copied().collect();
                for index in clients {
                    self.send_reliable(now, index, &message, out);
                }
            }
            ToShard::SendIn(world, message) => self.send_in_world(now, world, &message, out),
            ToShard::Teleport { circuit, position, look_at } => {
                if let Some(&index) = self.by_circuit.get(&circuit) {
                    self.command(index, Action::Teleport { position, look_at });
                }
            }
            ToShard::Switch { circuit, place, world, position, look_at, returns } => {
                // If the world has ended, its visitors were sent away first: the mail with their next place follows.
                if let Some(&index) = self.by_circuit.get(&circuit)
                    && let Some(place) = self.places.showing(place, world)
                {
                    self.switch(now, index, &place, (position, look_at), returns);
                }
            }
            ToShard::HandedOn(circuit, message) => self.on_handed_on(now, circuit, &message, out),
            ToShard::Close(circuit, ending) => match self.by_circuit.get(&circuit) {
                Some(&index) => self.end_circuit(now, index, &ending, out),
                None => self.tickets.retain(|_, ticket| ticket.circuit != circuit),
            },
            ToShard::Object(circuit, command) => self.on_object_request(now, circuit, *command, out),
            ToShard::Land(circuit, edits) => self.on_land_mail(now, circuit, edits, out),
            ToShard::Asset(circuit, request, asset) => self.on_asset_read(now, circuit, *request, asset, out),
            ToShard::NotPut { circuit, object } => self.on_not_put(now, circuit, object, out),
            ToShard::Uploaded { circuit, asset, is_stored } => {
                self.on_uploaded(now, circuit, asset, is_stored, out);
            }
            ToShard::Events(world, events) => self.handle_events(now, world, &events, out),
        }
    }

    /// Serves the next clients whose turn is due: one turn per call, so that a late shard still reads its sockets between turns. Call
    /// it again while [`Self::poll_timeout`] lies in the past.
    ///
    /// A turn ends early after [`TURN_BYTES`]; true if it continues at the next call.
    pub fn poll(&mut self, now: Instant, out: &mut Outbox) -> bool {
        self.send_due_acks(now, out);
        self.let_in_arrivals(now, out);
        let places = &self.places;
        if let Some(begun) = self.turns.begin_turn(now, || places.n_avatars()) {
            self.pressure.note_slots(begun.slots, begun.slots + begun.left_out);
            self.late = begun.late;
        }
        while out.bytes.len() < TURN_BYTES
            && let Some(index) = self.turns.pop()
        {
            self.visit(now, index, out);
        }
        self.visit_after_frames(now, out);
        self.remove_ended(now);
        self.share_egress(now);
        if now >= self.next_sweep {
            self.next_sweep = now + TICKET_SWEEP;
            self.tickets.retain(|_, ticket| ticket.expires_at > now);
        }
        self.turns.is_under_way() || self.mover_visits.is_under_way()
    }

    /// CPU time of the driver's thread since the last call. Without such reports the shard never counts as short of it.
    pub fn handle_cpu_time(&mut self, now: Instant, cpu: CpuTime) {
        self.pressure.note_cpu(now, cpu);
        self.lister.set_stretch(self.pressure.value());
        self.counters.pressure = self.pressure.value();
        self.counters.cpu_need_ratio = self.pressure.need_ratio();
        self.counters.pressed_spans = self.pressure.n_short();
    }

    /// Lets waiting clients enter their worlds.
    fn let_in_arrivals(&mut self, now: Instant, out: &mut Outbox) {
        while let Some(circuit) = self.arrivals.pop(now, self.pressure.is_short()) {
            // Some are gone by now.
            if let Some(&index) = self.by_circuit.get(&circuit) {
                self.enter_world(&mut Incoming { now, index, name: None, out });
            }
        }
        self.counters.arrivals_waiting = self.arrivals.len();
    }

    /// Distributes the total bandwidth among the clients.
    fn share_egress(&mut self, now: Instant) {
        if !self.egress.is_due(now) {
            return;
        }
        let sent = self.clients.iter_mut().flatten().map(|client| client.take_sent());
        if self.egress.measure(now, sent) {
            self.counters.client_bytes_per_s = self.egress.share();
            for client in self.clients.iter_mut().flatten() {
                client.circuit.set_total_bytes_per_s(now, self.egress.share());
            }
        }
    }

    /// Time of the next call of [`Self::poll`]; never without clients.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next_ack = self.acks_due.front().map(|&(due_at, _)| due_at);
        let times = [self.turns.due_at(), self.mover_visits.due_at(), next_ack, self.arrivals.due_at()];
        times.into_iter().flatten().min()
    }

    /// Commands for worlds, in order. The driver takes those that the inboxes hold and leaves the others.
    pub const fn commands(&mut self) -> &mut Vec<(WorldId, Command)> {
        &mut self.commands
    }

    /// Mail for the hub, in order.
    pub const fn mail(&mut self) -> &mut Vec<FromShard> {
        &mut self.mail
    }

    /// Changes which agent updates count, for experiments.
    pub const fn set_filter(&mut self, mode: FilterMode) {
        self.config.filter = mode;
    }

    /// Changes the time without a change after which viewers may keep an object.
    pub const fn set_cache_after(&mut self, after: Duration) {
        self.config.cache_after = after;
    }

    /// Changes pace and packing, for experiments.
    pub fn set_sending(&mut self, now: Instant, sending: Sending) {
        if sending.hz != self.config.sending.hz {
            self.turns.set_hz(now, sending.hz);
        }
        self.config.sending = sending;
    }

    /// Frees buffers kept for reuse only.
    pub fn release_buffers(&mut self) {
        self.lister = Lister::default();
        self.selection = Selection::default();
        self.by_distance = Vec::new();
        self.due_objects = Vec::new();
        self.due_by_form = Default::default();
        self.gone = Vec::new();
        self.expanded = Vec::new();
        self.body = Vec::new();
    }

    /// Circuits open.
    #[must_use]
    pub fn n_clients(&self) -> usize {
        self.by_circuit.len()
    }

    /// Counters since the start.
    #[must_use]
    pub const fn counters(&self) -> &ShardCounters {
        &self.counters
    }

    /// Outcomes of the clients' messages since the start.
    #[must_use]
    pub const fn outcomes(&self) -> &MessageOutcomes {
        &self.outcomes
    }

    fn client(&mut self, index: ClientIndex) -> &mut Client {
        self.clients[index as usize].as_deref_mut().expect("indexes in use point at clients")
    }

    /// A datagram from an address without a circuit: only a UseCircuitCode with a ticket gets an answer, so that other senders learn
    /// nothing and cost no memory.
    fn on_stranger(&mut self, now: Instant, address: CircuitAddress, bytes: &[u8], out: &mut Outbox) {
        let Some(request) = use_circuit_code(bytes, &mut self.expanded) else {
            self.counters.refuse(Refused::UnknownAddress);
            return;
        };
        let Some(key) = self.ticket_for(now, address.port, &request) else {
            self.counters.refuse(Refused::NoTicket);
            return;
        };
        let ticket = self.tickets.remove(&key).expect("just looked at");
        // The world has ended; the revocation of its ticket is under way.
        let Some(place) = self.places.showing(ticket.place, ticket.world) else {
            self.counters.refuse(Refused::NoTicket);
            return;
        };
        let index = self.open(now, ticket, place, address);
        self.on_circuit(now, index, bytes, out);
    }

    /// The ticket that a UseCircuitCode shows on a port, if it is one of ours in every part.
    fn ticket_for(&self, now: Instant, port: u8, request: &UseCircuitCode) -> Option<(CircuitCode, u8)> {
        let shown = &request.circuit_code;
        let key = (CircuitCode(shown.code), port);
        let ticket = self.tickets.get(&key)?;
        let fits = ticket.session_id.0 == shown.session_id && ticket.agent.0 == shown.id;
        (fits && ticket.expires_at > now).then_some(key)
    }

    fn has_ticket(&mut self, now: Instant, address: CircuitAddress, bytes: &[u8]) -> bool {
        use_circuit_code(bytes, &mut self.expanded)
            .is_some_and(|request| self.ticket_for(now, address.port, &request).is_some())
    }

    fn is_leaving(&mut self, index: ClientIndex) -> bool {
        matches!(self.client(index).stage, Stage::Leaving(..))
    }

    fn open(
        &mut self,
        now: Instant,
        ticket: Arc<Ticket>,
        place: Arc<Place>,
        address: CircuitAddress,
    ) -> ClientIndex {
        self.counters.circuits_opened += 1;
        let key = ticket.circuit;
        // Sessions are numbered in order, so turns fill evenly.
        let slot = Turns::slot_of(key.session.0);
        let mut circuit = Circuit::new(now, &self.config.circuit, ticket.first_sequence);
        circuit.set_total_bytes_per_s(now, self.egress.share());
        let client = Client::new(now, ticket, place, address, circuit, slot, self.config.visible_max);
        let index = self.free.pop().unwrap_or_else(|| {
            self.clients.push(None);
            (self.clients.len() - 1) as ClientIndex
        });
        self.clients[index as usize] = Some(Box::new(client));
        self.turns.add(slot, index);
        self.by_address.insert((address.port, address.remote), index);
        self.by_circuit.insert(key, index);
        let world = self.client(index).place.world();
        self.by_world.insert((world, key), index);
        self.mail.push(FromShard::Opened(key));
        index
    }

    fn on_circuit(&mut self, now: Instant, index: ClientIndex, bytes: &[u8], out: &mut Outbox) {
        let mut expanded = std::mem::take(&mut self.expanded);
        let client = self.client(index);
        match client.circuit.handle_datagram(now, bytes, &mut expanded) {
            Ok(Some(received)) => {
                if received.reliable {
                    client.flush(now, out);
                    self.owe_ack(now, index);
                }
                self.dispatch(now, index, &received, out);
            }
            Ok(None) => {
                client.flush(now, out);
                self.count_message(bytes, MessageOutcome::Done);
            }
            Err(why) => {
                // A duplicate is acked again.
                client.flush(now, out);
                self.counters.drop(why);
                if matches!(why, DropReason::Malformed(_)) {
                    self.count_message(bytes, MessageOutcome::Dropped);
                }
            }
        }
        self.expanded = expanded;
    }

    /// Counts a message that came no further than its circuit: an ack, a ping, or one that is not whole. Its number is read a second
    /// time, a few nanoseconds for a datagram of which nothing else follows.
    fn count_message(&mut self, datagram: &[u8], outcome: MessageOutcome) {
        if let Some(number) = message_number(datagram) {
            self.outcomes.count(MessageName::of(number), outcome);
        }
    }

    /// Remembers to send a client's acks in time: its turn may come too late for them.
    fn owe_ack(&mut self, now: Instant, index: ClientIndex) {
        let due_at = now + self.config.circuit.ack_delay;
        let client = self.client(index);
        if client.owes_acks_until.is_none_or(|until| until <= now) {
            client.owes_acks_until = Some(due_at);
            self.acks_due.push_back((due_at, index));
        }
    }

    #[inline(never)]
    fn send_due_acks(&mut self, now: Instant, out: &mut Outbox) {
        System::ShardAcks.enter();
        while let Some((due_at, index)) = self.acks_due.pop_front_if(|(due_at, _)| *due_at <= now) {
            // The index may be another client's by now.
            if let Some(client) = &mut self.clients[index as usize]
                && client.owes_acks_until == Some(due_at)
            {
                client.flush(now, out);
            }
        }
    }

    /// Gives the world a command in the client's name.
    fn command(&mut self, index: ClientIndex, action: Action) {
        let client = self.client(index);
        client.intent.record_action(&action);
        let sequence = client.command_sequence();
        let (session, world) = (client.session(), client.place.world());
        self.counters.commands += 1;
        self.commands.push((world, Command::by_session(session, sequence, action)));
    }

    /// Sends a message (number and body) reliably, at once.
    fn send_reliable(&mut self, now: Instant, index: ClientIndex, message: &[u8], out: &mut Outbox) {
        let client = self.client(index);
        if client.circuit.send(Reliability::Reliable, message, true).is_err() {
            self.counters.messages_refused += 1;
            return;
        }
        client.flush(now, out);
    }

    /// The server ends a circuit.
    fn end_circuit(&mut self, now: Instant, index: ClientIndex, ending: &Ending, out: &mut Outbox) {
        let client = self.client(index);
        if matches!(client.stage, Stage::Leaving(..)) {
            return;
        }
        let mut farewell = Vec::new();
        match ending {
            Ending::Kicked(why) => KickUser {
                user_info: KickUserUserInfo {
                    agent_id: client.ticket.agent.0,
                    session_id: client.ticket.session_id.0,
                    reason: to_wire(why, 1_000),
                },
                ..KickUser::default()
            }
            .encode(&mut farewell),
            Ending::Moved => DisableSimulator {}.encode(&mut farewell),
            Ending::Silent => {}
        }
        // A client that knows of its end takes anything else for a stranger's: hippolyzer warns of it.
        client.circuit.finish();
        if !farewell.is_empty() {
            self.send_reliable(now, index, &farewell, out);
        }
        self.begin_leaving(now, index, Closed::Asked);
    }

    /// The client has no avatar from now on, and the hub gets a report; the circuit lingers to deliver its last messages.
    fn begin_leaving(&mut self, now: Instant, index: ClientIndex, why: Closed) {
        let client = self.client(index);
        if matches!(client.stage, Stage::Leaving(..)) {
            return;
        }
        let had_avatar = client.has_avatar();
        let report = self.closed_report(index, why);
        let client = self.client(index);
        client.stage = Stage::Leaving(now + LINGER, why);
        // It may be gone in a moment, and its host with it.
        client.circuit.wind_down();
        if had_avatar {
            self.command(index, Action::Leave);
        }
        if why == Closed::Asked {
            self.hand_on_held(index);
        }
        self.pass_on_all_held(index);
        self.mail.push(report);
    }

    fn closed_report(&mut self, index: ClientIndex, why: Closed) -> FromShard {
        let client = self.client(index);
        let agent = client.ticket.agent;
        // Messages sent while it lingers take numbers, too.
        let next_sequence = client.circuit.next_sequence().wrapping_add(LINGER_SEQUENCES);
        FromShard::Closed { circuit: client.key(), why, agent, spot: client.spot(), next_sequence }
    }

    /// Forgets circuits that have lingered long enough, or whose client fell silent.
    fn remove_ended(&mut self, now: Instant) {
        let mut ended = std::mem::take(&mut self.ended);
        for index in ended.drain(..) {
            if let Some(why) = self.lost(index) {
                self.counters.circuits_lost += 1;
                self.counters.circuits_unresponsive += u64::from(why == Closed::Unresponsive);
                self.begin_leaving(now, index, why);
            }
            self.remove(index);
        }
        self.ended = ended;
    }

    /// Reason for the end of a circuit that neither side has ended.
    fn lost(&mut self, index: ClientIndex) -> Option<Closed> {
        let client = self.client(index);
        match (client.stage, client.circuit.closed()) {
            (Stage::Leaving(..), _) | (_, None) => None,
            (_, Some(circuit::CloseReason::Idle)) => Some(Closed::TimedOut),
            (_, Some(_)) => Some(Closed::Unresponsive),
        }
    }

    fn remove(&mut self, index: ClientIndex) {
        let Some(mut client) = self.clients[index as usize].take() else { return };
        self.drop_uploads(&mut client.uploads);
        self.by_address.remove(&(client.address.port, client.address.remote));
        self.by_circuit.remove(&client.key());
        self.by_world.remove(&(client.place.world(), client.key()));
        self.turns.remove(client.slot, index);
        if let Some(world) = client.near_movers_in {
            self.mover_visits.remove(world, index);
        }
        self.free.push(index);
        if self.by_circuit.is_empty() {
            self.egress.reset();
            self.counters.client_bytes_per_s = self.egress.share();
        }
    }
}

/// Sequence numbers reserved for a lingering circuit: acks and a few resends.
const LINGER_SEQUENCES: u32 = 1_000;

/// Reads a UseCircuitCode out of a stranger's datagram, or nothing.
fn use_circuit_code(bytes: &[u8], expanded: &mut Vec<u8>) -> Option<UseCircuitCode> {
    let datagram = Datagram::parse(bytes).ok()?;
    let body = if datagram.flags.contains(wire::header::Flags::ZERO_CODED) {
        expanded.clear();
        wire::zero_code::expand(datagram.body, expanded).ok()?;
        expanded.as_slice()
    } else {
        datagram.body
    };
    let (number, body) = MessageNumber::split(body).ok()?;
    if number != UseCircuitCode::NUMBER {
        return None;
    }
    UseCircuitCode::decode(body).ok()
}
