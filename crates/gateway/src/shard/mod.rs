//! A gateway shard: owner of the circuits of some clients, with their input and output.
//!
//! Sans-IO: the driver passes in datagrams, mail from the hub and the time, and takes out datagrams, commands for worlds and mail for the hub. Shards
//! share no mutable state: each owns its circuits, and reads the replicas that the replica thread publishes. Start with [`Shard::handle_datagram`],
//! `circuits` and `dispatch` for input, and with `stream` for output.

mod address_hash;
mod answers;
mod appearing;
mod arrivals;
mod assets;
mod circuits;
mod client;
mod client_files;
mod client_intent;
mod client_outfit;
mod client_transfers;
mod client_uploads;
mod config;
mod contents;
mod counters;
mod deliveries;
mod dispatch;
mod editing;
mod effects;
mod egress;
mod endings;
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
pub use config::{CACHE_AFTER, ShardConfig};
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

use crate::coverage::MessageOutcomes;
use crate::mail::{FromShard, Ticket};
use crate::places::Places;
use address_hash::AddressHash;
use arrivals::ArrivalQueue;
use client::Client;
use egress::Egress;
use grid::uploads::UploadRoom;
use ids::{CircuitCode, Instant, LocalId, WorldId};
use incoming::Incoming;
use link::{Action, CircuitKey, Command};
use mover_visits::MoverVisits;
use pressure::Pressure;
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

/// Bytes of output after which a turn pauses until the driver has sent them. The kernel copies the bytes a second time; a larger output would be
/// evicted from the core's cache between the two copies.
pub const TURN_BYTES: usize = 256 * 1024;
/// Period of the removal of expired tickets.
const TICKET_SWEEP: Duration = Duration::from_secs(5);
/// Maximum number of commands that wait for the worlds' inboxes: 10,000 clients at 10 updates a second for one second. Beyond it agent updates are
/// refused; the client's next update has the same or a newer state.
pub const COMMANDS_MAX: usize = 100_000;

type ClientIndex = u32;

/// The circuits of one gateway thread.
#[derive(Debug)]
pub struct Shard {
    config: ShardConfig,
    places: Arc<Places>,
    clients: Vec<Option<Box<Client>>>,
    free: Vec<ClientIndex>,
    /// Used for lookups only and never iterated, so its order does not matter.
    by_address: HashMap<(u8, SocketAddrV4), ClientIndex, AddressHash>,
    by_circuit: BTreeMap<CircuitKey, ClientIndex>,
    /// Circuits by their world.
    by_world: BTreeMap<(WorldId, CircuitKey), ClientIndex>,
    tickets: BTreeMap<(CircuitCode, u8), Arc<Ticket>>,
    turns: Turns,
    mover_visits: MoverVisits,
    /// Clients with pending acks, by due time, earliest first.
    acks_due: VecDeque<(Instant, ClientIndex)>,
    /// Clients whose circuits ended during this turn; they are removed at its end.
    ended: Vec<ClientIndex>,
    /// Shortage of CPU time of this shard.
    pressure: Pressure,
    /// Lateness of the present turn.
    late: Duration,
    /// Clients whose arrival is delayed until CPU time is available.
    arrivals: ArrivalQueue,
    /// Share of each client in the total bandwidth.
    egress: Egress,
    /// Memory budget of files that clients upload in messages.
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
    /// Scratch buffer of a turn: due objects.
    due_objects: Vec<DueObject>,
    /// Scratch buffer of a turn: due objects by type of message.
    due_by_form: [Vec<DueObject>; 3],
    /// Scratch buffer of a turn: due prims in motion.
    due_movers: Vec<DueMover>,
    gone: Vec<LocalId>,
    /// Buffer of expanded zero-coded datagrams.
    expanded: Vec<u8>,
    /// Buffer for building messages.
    body: Vec<u8>,
}

impl Shard {
    /// Creates a shard without clients.
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

    /// Handles a received datagram.
    #[inline(never)]
    pub fn handle_datagram(&mut self, now: Instant, address: CircuitAddress, bytes: &[u8], out: &mut Outbox) {
        System::ShardReceive.enter();
        self.counters.datagrams_in += 1;
        self.counters.bytes_in += bytes.len() as u64;
        match self.by_address.get(&(address.port, address.remote)).copied() {
            // A viewer has one socket for all its circuits: it may return to a port on which its earlier circuit lingers.
            Some(index) if self.is_leaving(index) && self.has_ticket(now, address, bytes) => {
                self.remove(index);
                self.on_stranger(now, address, bytes, out);
            }
            Some(index) => self.on_circuit(now, index, bytes, out),
            None => self.on_stranger(now, address, bytes, out),
        }
    }

    /// Counts a received datagram that exceeds the size limit and was truncated.
    pub const fn handle_oversized(&mut self) {
        self.counters.datagrams_in += 1;
        self.counters.refuse(Refused::Oversized);
    }

    /// Visits the next clients whose turn is due: one turn per call, so that a late shard still reads its sockets between turns. Call it again while
    /// [`Self::poll_timeout`] is in the past.
    ///
    /// A turn pauses after [`TURN_BYTES`]. Returns true if the turn continues at the next call.
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

    /// Handles the CPU time of the driver's thread since the last call. A shard without such reports never counts as short of CPU time.
    pub fn handle_cpu_time(&mut self, now: Instant, cpu: CpuTime) {
        self.pressure.note_cpu(now, cpu);
        self.lister.set_stretch(self.pressure.value());
        self.counters.pressure = self.pressure.value();
        self.counters.cpu_need_ratio = self.pressure.need_ratio();
        self.counters.pressed_spans = self.pressure.n_short();
    }

    /// Lets waiting clients enter their worlds, as far as CPU time allows.
    fn let_in_arrivals(&mut self, now: Instant, out: &mut Outbox) {
        while let Some(circuit) = self.arrivals.pop(now, self.pressure.is_short()) {
            // The circuit may have ended while it waited.
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

    /// Time of the next call of [`Self::poll`]; `None` without clients.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next_ack = self.acks_due.front().map(|&(due_at, _)| due_at);
        let times = [self.turns.due_at(), self.mover_visits.due_at(), next_ack, self.arrivals.due_at()];
        times.into_iter().flatten().min()
    }

    /// Commands for worlds, in order. The driver removes those that fit into the inboxes, and leaves the others.
    pub const fn commands(&mut self) -> &mut Vec<(WorldId, Command)> {
        &mut self.commands
    }

    /// Mail for the hub, in order.
    pub const fn mail(&mut self) -> &mut Vec<FromShard> {
        &mut self.mail
    }

    /// Changes the filter of agent updates, for experiments.
    pub const fn set_filter(&mut self, mode: FilterMode) {
        self.config.filter = mode;
    }

    /// Changes [`ShardConfig::cache_after`].
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

    /// Frees the buffers that are kept for reuse only.
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

    /// Number of open circuits.
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

    /// Queues a command of the client for its world.
    fn command(&mut self, index: ClientIndex, action: Action) {
        let client = self.client(index);
        client.intent.record_action(&action);
        let sequence = client.command_sequence();
        let (session, world) = (client.session(), client.place.world());
        self.counters.commands += 1;
        self.commands.push((world, Command::by_session(session, sequence, action)));
    }
}
