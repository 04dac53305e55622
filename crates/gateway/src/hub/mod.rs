//! Sessions: logged-in users with their tickets, capabilities, event queues, and the routes of their avatars.
//!
//! A sans-IO state machine: HTTP handlers and shards feed it, it emits messages for shards and records for the store. It sees a
//! session's rare events only (login, arrival, teleport, instant message, logout), never its movement. Start with [`Hub::login`], then
//! [`Hub::handle`].

mod census;
mod circuits;
mod delivery;
mod displaced;
mod dressing;
mod event_queue;
mod events;
mod exchange;
mod gifts;
mod inventory;
mod lookups;
mod messages;
mod messaging;
mod operator;
mod passages;
mod ports;
mod records;
mod restarts;
mod session;
mod teleport;
#[cfg(test)]
pub(crate) mod tests;
mod ticket_map;
pub(crate) mod travel;
mod visitors;

pub use event_queue::{EVENTS_MAX, EventBatch, EventQueue, Poll};
pub use exchange::{
    Address, Admission, Entropy, EventQueueAnswer, Holder, HubConfig, HubCounters, Login, LoginRefusal,
    Record,
};
#[cfg(test)]
pub(crate) use inventory::INVENTORY_HELD_MAX;
pub use inventory::InventoryOrder;
#[cfg(test)]
pub(crate) use lookups::LOOKUPS_HELD_MAX;
pub use lookups::{StoreAnswer, StoreLookup};
pub use operator::{PresentSession, SessionCircuit};
pub use ports::{PORT_REST, PORTS_MAX};

use crate::mail::{FromShard, RawMessage, Request, ShardIndex, ToShard, dialog};
use crate::places::Places;
use dressing::SessionLook;
use event_queue::NewestPoll;
use gifts::SessionGifts;
use ids::{AgentId, CircuitCode, Instant, SessionId, SessionKey, Uuid, WorldId};
use link::{CircuitKey, LandEdit, ObjectCommand, TravelOrder};
use messages::Delivery;
use ports::SessionPorts;
use records::WaitingRecords;
use restarts::Countdowns;
use session::{Binding, Session};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use systems::System;
use tokio::sync::Notify;

/// Time for which a capability of an ended circuit still answers a last `done` poll.
pub const FAREWELL: Duration = Duration::from_secs(30);

/// Ended circuits remembered for their last poll; the oldest are forgotten first.
pub const FAREWELLS_MAX: usize = 10_000;

/// The event queue of a circuit that has ended.
#[derive(Debug)]
struct EndedQueue {
    at: Instant,
    secret: Uuid,
    newest: NewestPoll,
}

/// All sessions of the node.
pub struct Hub {
    config: HubConfig,
    places: Arc<Places>,
    entropy: Entropy,
    sessions: BTreeMap<SessionKey, Session>,
    by_agent: BTreeMap<AgentId, SessionKey>,
    by_secret: BTreeMap<Uuid, CircuitKey>,
    farewells: VecDeque<EndedQueue>,
    output: VecDeque<(Address, ToShard)>,
    records: WaitingRecords,
    orders: VecDeque<TravelOrder>,
    lookups: VecDeque<StoreLookup>,
    inventory: VecDeque<InventoryOrder>,
    /// Reports of ended sessions that wait for room among the orders for inventories.
    gone: VecDeque<InventoryOrder>,
    lures: VecDeque<travel::Lure>,
    restarts: Countdowns,
    next_key: u64,
    /// Admissions that [`Self::enter`] has granted since the start.
    n_admissions: u64,
    draining: bool,
    counters: HubCounters,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("sessions", &self.sessions.len()).finish_non_exhaustive()
    }
}

impl Hub {
    /// A node without sessions.
    #[must_use]
    pub fn new(config: HubConfig, places: Arc<Places>, entropy: Entropy) -> Self {
        assert!(!places.is_empty(), "a node without places admits no users");
        Self {
            config,
            places,
            entropy,
            sessions: BTreeMap::new(),
            by_agent: BTreeMap::new(),
            by_secret: BTreeMap::new(),
            farewells: VecDeque::new(),
            output: VecDeque::new(),
            records: WaitingRecords::default(),
            orders: VecDeque::new(),
            lookups: VecDeque::new(),
            inventory: VecDeque::new(),
            gone: VecDeque::new(),
            lures: VecDeque::new(),
            restarts: Countdowns::default(),
            next_key: 1,
            n_admissions: 0,
            draining: false,
            counters: HubCounters::default(),
        }
    }

    /// Admits a verified user: ends a session that the user still has, and issues the ticket for the first circuit.
    ///
    /// # Errors
    /// When the node or the region is full, or the node is about to stop. The earlier session then continues.
    #[inline(never)]
    pub fn login(&mut self, now: Instant, login: Login) -> Result<Admission, LoginRefusal> {
        System::Hub.enter();
        if self.draining {
            return Err(LoginRefusal::Draining);
        }
        let earlier = self.by_agent.get(&login.agent).copied();
        if self.sessions.len() - usize::from(earlier.is_some()) >= self.config.sessions_max {
            return Err(LoginRefusal::ServerFull);
        }
        let place = Arc::clone(self.places.get(login.start.place));
        if self.population(place.world(), earlier) >= place.scene.max_avatars {
            return Err(LoginRefusal::RegionFull);
        }
        let mut undelivered = Vec::new();
        if let Some(earlier) = earlier {
            self.counters.superseded += 1;
            // Messages to the same user: the new session delivers them.
            undelivered = self.take_undelivered(earlier);
            self.end_session(now, earlier, "You have logged in from another place.");
        }
        let key = SessionKey::new(login.incarnation, self.next_key);
        self.next_key += 1;
        self.counters.logins += 1;
        let session_id = SessionId(self.random_id());
        let secure_session_id = self.random_id();
        // Clients take zero for "no circuit", and node-metaverse reads the code as signed.
        let code = CircuitCode((self.random_id().as_u128() as u32 & 0x7FFF_FFFF).max(1));
        self.sessions.insert(
            key,
            Session {
                key,
                agent: login.agent,
                session_id,
                secure_session_id,
                code,
                first_name: login.first_name,
                last_name: login.last_name,
                server_ip: login.server_ip,
                wearables: login.wearables,
                look: SessionLook::of_account(login.look),
                home: login.home,
                return_to: None,
                left_by: None,
                is_ordered: false,
                ports: SessionPorts::new(self.config.udp_ports.len()),
                bindings: ticket_map::TicketMap::default(),
                root: None,
                pending: None,
                next_ticket: 1,
                undelivered,
                gifts: SessionGifts::default(),
            },
        );
        self.by_agent.insert(login.agent, key);
        let start = login.start;
        let issued = self.issue_ticket(now, key, &place, start.position, start.look_at);
        let (port, seed_url) = issued.expect("a new session has all its ports free");
        Ok(Admission { session_id, secure_session_id, code, sim_port: port, seed_url, place })
    }

    /// Takes a message of a shard.
    #[inline(never)]
    pub fn handle(&mut self, now: Instant, from: ShardIndex, message: FromShard) {
        System::Hub.enter();
        match message {
            FromShard::Opened(circuit) => self.on_opened(from, circuit),
            FromShard::Arrived(circuit, world) => self.on_arrived(circuit, world),
            FromShard::Left { circuit, spot } => self.on_left(circuit, spot),
            FromShard::Refused(circuit, world, reason) => self.on_refused(now, circuit, world, reason),
            FromShard::Closed { circuit, why, agent, spot, next_sequence } => {
                // The circuit that a teleport left says where the avatar was, not where it is; but out of an instance it comes back to there.
                let session = self.sessions.get(&circuit.session);
                let is_last = session.is_none_or(|session| session.root == Some(circuit.ticket));
                if let Some(spot) = spot
                    && (self.note_way_back(circuit, spot) || is_last)
                {
                    self.records.push_back(Record::LastLocation(agent, spot));
                }
                self.on_closed(now, circuit, why, next_sequence);
            }
            FromShard::Appeared(circuit, look) => self.on_appeared(circuit, look),
            FromShard::Request(circuit, request) => self.on_request(now, circuit, request),
        }
    }

    /// The next message for shards.
    pub fn poll_output(&mut self) -> Option<(Address, ToShard)> {
        self.output.pop_front()
    }

    /// The next fact to store.
    pub fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }

    /// Takes the fact back that [`Self::poll_record`] gave: the store has no room. It is the next one again.
    pub fn return_record(&mut self, record: Record) {
        self.records.push_front(record);
    }

    /// The next question for the store.
    pub fn poll_lookup(&mut self) -> Option<StoreLookup> {
        self.lookups.pop_front()
    }

    /// Takes the question back that [`Self::poll_lookup`] gave: the thread that reads the store has no room. It is the next one again.
    pub fn return_lookup(&mut self, lookup: StoreLookup) {
        self.lookups.push_front(lookup);
    }

    /// The next order for another thread.
    pub fn poll_order(&mut self) -> Option<TravelOrder> {
        self.orders.pop_front()
    }

    /// Gives up on avatars that did not arrive, keeps shown offers and the looks of avatars, and counts down to restarts. Call about once a
    /// second.
    #[inline(never)]
    pub fn handle_timeout(&mut self, now: Instant) {
        System::Hub.enter();
        let late: Vec<CircuitKey> = self
            .sessions
            .values()
            .filter_map(|session| {
                let ticket = session.pending?;
                (session.bindings.get(&ticket)?.arrive_by <= now).then(|| session.circuit(ticket))
            })
            .collect();
        for circuit in late {
            self.give_up(now, circuit, "The region did not hear from your viewer in time.");
        }
        self.end_late_passages(now);
        self.keep_gifts();
        self.keep_looks(now);
        self.count_down(now);
        while self.farewells.front().is_some_and(|ended| now.since(ended.at) > FAREWELL) {
            self.farewells.pop_front();
        }
    }

    /// Holder of a capability's secret; counts unknown secrets.
    pub fn holder(&mut self, secret: Uuid) -> Option<Holder> {
        let holder = self.find_holder(secret);
        if holder.is_none() {
            self.counters.unknown_capabilities += 1;
        }
        holder
    }

    /// Holder of a capability's secret by the head of a request, before the request is handled: counts nothing.
    #[must_use]
    pub fn find_holder(&self, secret: Uuid) -> Option<Holder> {
        let circuit = *self.by_secret.get(&secret)?;
        let session = self.sessions.get(&circuit.session)?;
        let place = Arc::clone(&session.bindings.get(&circuit.ticket)?.place);
        Some(Holder { agent: session.agent, circuit, place, server_ip: session.server_ip })
    }

    /// A new EventQueueGet, which displaces an older one of this secret that still waits. `done` ends this poll, never the queue: node-metaverse
    /// sends it while it changes regions.
    #[inline(never)]
    pub fn poll_events(&mut self, secret: Uuid, ack: Option<i32>) -> EventQueueAnswer {
        System::Hub.enter();
        if let Some(circuit) = self.by_secret.get(&secret).copied()
            && let Some(binding) = self.binding_mut(circuit)
        {
            return EventQueueAnswer::Poll(binding.queue.poll(ack));
        }
        if let Some(ended) = self.farewells.iter_mut().find(|ended| ended.secret == secret) {
            return EventQueueAnswer::Farewell(ended.newest.begin());
        }
        self.counters.unknown_capabilities += 1;
        EventQueueAnswer::Unknown
    }

    /// Continues an EventQueueGet that waited for `poll`. `None` once a newer one of this secret has displaced it.
    pub fn resume_poll(
        &mut self,
        secret: Uuid,
        ack: Option<i32>,
        poll: &Arc<Notify>,
    ) -> Option<EventQueueAnswer> {
        System::Hub.enter();
        if let Some(circuit) = self.by_secret.get(&secret).copied()
            && let Some(binding) = self.binding_mut(circuit)
        {
            return binding.queue.resume(ack, poll).map(EventQueueAnswer::Poll);
        }
        match self.farewells.iter().find(|ended| ended.secret == secret) {
            Some(ended) => ended.newest.is(poll).then(|| EventQueueAnswer::Farewell(Arc::clone(poll))),
            None => Some(EventQueueAnswer::Unknown),
        }
    }

    /// Passes a change of objects on that a client requests over HTTP. False if its avatar is not behind the circuit.
    pub fn change_objects(&mut self, circuit: CircuitKey, command: ObjectCommand) -> bool {
        let root = self.sessions.get(&circuit.session).and_then(Session::root_binding);
        let shard = root.filter(|root| root.ticket.circuit == circuit).and_then(|root| root.shard);
        if let Some(shard) = shard {
            self.output.push_back((Address::One(shard), ToShard::Object(circuit, Box::new(command))));
        }
        shard.is_some()
    }

    /// Puts a user out. False if no user of that name is present.
    pub fn kick(&mut self, now: Instant, name: &str, why: &str) -> bool {
        let found = self.session_named(name);
        if let Some(key) = found {
            self.end_session(now, key, why);
        }
        found.is_some()
    }

    /// Shows a text to one user.
    pub fn notify(&mut self, session: SessionKey, text: &str) {
        self.send(session, messages::alert_message(text));
    }

    /// Refuses further logins and puts all users out with a reason.
    pub fn drain(&mut self, now: Instant, why: &str) {
        self.draining = true;
        let sessions: Vec<SessionKey> = self.sessions.keys().copied().collect();
        for key in sessions {
            self.remove_session(now, key, why);
        }
        self.count_visitors();
    }

    /// First and last name of a session's user.
    #[must_use]
    pub fn session_name(&self, session: SessionKey) -> Option<(Arc<str>, Arc<str>)> {
        let session = self.sessions.get(&session)?;
        Some((Arc::clone(&session.first_name), Arc::clone(&session.last_name)))
    }

    /// Places and instances, as this hub finds them.
    #[must_use]
    pub const fn places(&self) -> &Arc<Places> {
        &self.places
    }

    /// Sessions now.
    #[must_use]
    pub fn n_sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Counters since the start.
    #[must_use]
    pub const fn counters(&self) -> HubCounters {
        self.counters
    }

    /// Sessions that are in a world or on their way to it, without `except`, which is about to end.
    fn population(&self, world: WorldId, except: Option<SessionKey>) -> u32 {
        let here = |s: &&Session| Some(s.key) != except && s.counts_for().any(|at| at == world);
        self.sessions.values().filter(here).count() as u32
    }

    /// Sends users away from a world, as its estate has decided.
    fn send_away(&mut self, now: Instant, world: WorldId, agents: &[AgentId], goes_home: bool) {
        for agent in agents {
            let Some(&key) = self.by_agent.get(agent) else { continue };
            let root = self.sessions.get(&key).and_then(Session::root_binding);
            let Some(root) = root.filter(|root| root.place.world() == world) else { continue };
            let circuit = root.ticket.circuit;
            if goes_home {
                self.notify(key, "The estate has sent you home.");
                self.teleport_home(now, circuit);
            } else {
                self.end_session(now, key, "The estate has put you out.");
            }
        }
    }

    fn on_request(&mut self, now: Instant, circuit: CircuitKey, request: Request) {
        let Some(session) = self.sessions.get(&circuit.session) else { return };
        let root = session.root.map(|ticket| session.circuit(ticket));
        let circuit = match (&request, root) {
            (
                Request::Names(_)
                | Request::LookUp(_)
                | Request::Inventory(_)
                | Request::ParcelProperties { .. }
                | Request::Event { .. }
                | Request::InstantMessage(_)
                | Request::SetHome(_)
                | Request::TeleportRefused
                | Request::SendAway { .. }
                | Request::Restart { .. }
                | Request::HandOn(_),
                _,
            ) => circuit,
            // The position in it is one of the world that the avatar has left.
            (Request::Lure { .. } | Request::Portal { .. }, root) if root != Some(circuit) => {
                return self.refuse_request(circuit.session, &request);
            }
            // The avatar may have left the circuit since this was sent.
            (_, Some(root)) => root,
            // Shards hold requests that act through an avatar until it has arrived; but its circuit may have closed meanwhile.
            (_, None) => return self.refuse_request(circuit.session, &request),
        };
        match request {
            Request::Names(ids) => self.answer_names(circuit, &ids),
            Request::LookUp(query) => self.look_up(circuit, query),
            Request::Inventory(request) => self.order_inventory(circuit, *request),
            Request::ParcelProperties { sequence_id } => self.answer_parcel(circuit, sequence_id),
            Request::InstantMessage(message) if dialog::is_of_gift(message.dialog) => {
                self.order_gift(circuit, &message);
            }
            Request::InstantMessage(message) => self.pass_on(circuit, &message),
            Request::SetHome(spot) => self.set_home(circuit.session, spot),
            Request::TeleportRefused => {
                self.send_teleport_failed(circuit.session, "You have asked for too much at once.");
            }
            Request::HandOn(message) => self.hand_on(circuit, message),
            Request::Event { name, body } => {
                if let Some(binding) = self.binding_mut(circuit) {
                    binding.queue.push(name, body);
                }
            }
            Request::TeleportTo { handle, position, look_at } => {
                self.teleport_to_handle(now, circuit, handle, position, look_at);
            }
            Request::TeleportHome => self.teleport_home(now, circuit),
            Request::TeleportLure(lure) => self.teleport_by_lure(now, circuit, lure),
            Request::TeleportLandmark(landmark) => self.teleport_by_landmark(now, circuit, landmark),
            Request::TeleportCancel => self.cancel_teleport(now, circuit),
            Request::Lure { targets, message, position } => {
                self.offer_lure(circuit, &targets, &message, position);
            }
            Request::Portal { world, number } => self.on_portal(now, circuit, world, number),
            Request::SendAway { world, agents, goes_home } => self.send_away(now, world, &agents, goes_home),
            Request::Restart { world, delay } => self.order_restart(now, circuit.session, world, delay),
        }
    }

    /// Informs a user that a request is refused because the avatar is not, or no longer, behind the circuit of the request.
    fn refuse_request(&mut self, session: SessionKey, request: &Request) {
        match request {
            Request::TeleportTo { .. }
            | Request::TeleportHome
            | Request::TeleportLure(_)
            | Request::TeleportLandmark(_) => {
                self.send_teleport_failed(session, "You have not arrived yet.");
            }
            Request::Lure { .. } => self.notify(session, "You have moved. Please invite again."),
            Request::TeleportCancel => self.notify(session, teleport::NOTHING_TO_CANCEL),
            // A portal is noticed again, and the others need no avatar.
            _ => {}
        }
    }

    /// Gives a message to the circuit that the avatar is behind, when it came on another one.
    fn hand_on(&mut self, from: CircuitKey, message: RawMessage) {
        let root = self.sessions.get(&from.session).and_then(Session::root_binding);
        if let Some(root) = root.filter(|root| root.ticket.circuit != from)
            && let Some(shard) = root.shard
        {
            let to = root.ticket.circuit;
            self.output.push_back((Address::One(shard), ToShard::HandedOn(to, message)));
        }
    }

    fn binding_mut(&mut self, circuit: CircuitKey) -> Option<&mut Binding> {
        self.sessions.get_mut(&circuit.session)?.bindings.get_mut(&circuit.ticket)
    }

    /// Queues a message (number and body) on the circuit behind which a user's avatar is. While the avatar is still arriving the
    /// message is kept; false when that is not possible either.
    fn send(&mut self, key: SessionKey, message: Arc<[u8]>) -> bool {
        self.deliver(key, Delivery { message, receipt: None })
    }

    /// Queues a message on a certain circuit.
    fn send_on(&mut self, circuit: CircuitKey, message: Arc<[u8]>) {
        if let Some(shard) = self.binding_mut(circuit).and_then(|binding| binding.shard) {
            self.output.push_back((Address::One(shard), ToShard::Send(circuit, message)));
        }
    }

    /// Passes changes of land on to the shard of a circuit, for its world. False if the circuit is not open.
    pub(crate) fn edit_land(&mut self, circuit: CircuitKey, edits: Vec<LandEdit>) -> bool {
        let shard = self.binding_mut(circuit).and_then(|binding| binding.shard);
        self.output.extend(shard.map(|shard| (Address::One(shard), ToShard::Land(circuit, edits))));
        shard.is_some()
    }

    fn random_id(&mut self) -> Uuid {
        uuid::Builder::from_random_bytes((self.entropy)()).into_uuid()
    }
}
