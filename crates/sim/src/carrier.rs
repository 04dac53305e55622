//! Carries datagrams and HTTP messages between clients and the node, through each client's links and cuts.

use crate::addresses::Pair;
use crate::client::{Answer, Request};
use crate::fades::Fades;
use crate::faults::Faults;
use crate::network::{Arrivals, Cuts, Link};
use crate::queue::{Lane, Queue};
use crate::scenario::Scenario;
use crate::streams::{Purpose, stream};
use crate::trace::fold;
use gateway::shard::CircuitAddress;
use ids::Instant;
use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::time::Duration;

/// An event; its lane names the client concerned.
#[derive(Debug)]
pub(crate) enum CarrierEvent {
    Tick,
    Turn,
    Stranger,
    Up(Box<[u8]>),
    Down(Box<[u8]>),
    Request { generation: u16, request: Request },
    Answer { generation: u16, answer: Answer },
    Wake,
}

/// Both directions between a socket and a port. Circuits of one client may lie on different shards, and which of two
/// shards speaks first must not decide which of their datagrams is lost: so each pair has links of its own.
#[derive(Debug)]
struct CarrierLink {
    up: Link,
    down: Link,
    /// Folded hashes of arrived datagrams.
    arrived_up: u64,
    arrived_down: u64,
}

impl CarrierLink {
    fn new(seed: u64, pair: Pair) -> Self {
        let Pair { client, generation, port } = pair;
        let subject = u64::from(client) << 24 | u64::from(generation) << 8 | u64::from(port);
        let link = |purpose| Link::new(stream(seed, purpose, subject));
        Self { up: link(Purpose::LinkUp), down: link(Purpose::LinkDown), arrived_up: 0, arrived_down: 0 }
    }
}

/// Everything on its way.
#[derive(Debug)]
pub(crate) struct Carrier {
    pub(crate) queue: Queue<CarrierEvent>,
    pub(crate) faults: Faults,
    seed: u64,
    paths: BTreeMap<Pair, CarrierLink>,
    /// By client.
    cuts: Vec<Cuts>,
    /// An address outside our clients' that the node sent something to.
    pub(crate) answered_stranger: Option<SocketAddrV4>,
    /// Datagrams handed in, and those of them that were lost.
    pub(crate) n_sent: u64,
    pub(crate) n_lost: u64,
    /// By client, when something that was sent to it got lost last.
    lost_down_at: Vec<Instant>,
    /// By client.
    fades: Vec<Fades>,
}

impl Carrier {
    pub(crate) fn new(scenario: &Scenario, cuts: Vec<Cuts>) -> Self {
        Self {
            queue: Queue::new(),
            faults: scenario.faults,
            seed: scenario.seed,
            paths: BTreeMap::new(),
            lost_down_at: vec![Instant::ZERO; cuts.len()],
            fades: vec![Fades::default(); cuts.len()],
            cuts,
            answered_stranger: None,
            n_sent: 0,
            n_lost: 0,
        }
    }

    /// A client sends a datagram.
    pub(crate) fn send_up(&mut self, now: Instant, pair: Pair, bytes: &[u8]) {
        let faults = self.faults.link;
        let arrivals = self.path(pair).up.send(now, &faults);
        for at in self.unless_lost(now, pair, arrivals) {
            self.queue.push(at, Lane::Up(pair), CarrierEvent::Up(bytes.into()));
        }
    }

    /// The node sends a datagram.
    pub(crate) fn send_down(&mut self, now: Instant, address: CircuitAddress, bytes: &[u8]) {
        let Some(pair) = Pair::of_circuit(address) else {
            self.answered_stranger = Some(address.remote);
            return;
        };
        let client = pair.client as usize;
        let faults = self.faults.link;
        let arrivals = self.path(pair).down.send(now, &faults);
        let is_lost = self.is_lost(now, pair, arrivals);
        if is_lost {
            self.lost_down_at[client] = now;
        }
        self.fades[client].record_datagram(now, is_lost);
        for at in self.unless_lost(now, pair, arrivals) {
            self.queue.push(at, Lane::Down(pair), CarrierEvent::Down(bytes.into()));
        }
    }

    /// A client sends an HTTP request with this latency. Cut off, it waits.
    pub(crate) fn request(
        &mut self,
        now: Instant,
        client: u32,
        generation: u16,
        after: Duration,
        request: Request,
    ) {
        let at = self.http_departure(now, client) + after;
        self.queue.push(at, Lane::Request(client), CarrierEvent::Request { generation, request });
    }

    /// The node answers one.
    pub(crate) fn answer(
        &mut self,
        now: Instant,
        client: u32,
        generation: u16,
        after: Duration,
        answer: Answer,
    ) {
        let at = self.http_departure(now, client) + after;
        self.queue.push(at, Lane::Answer(client), CarrierEvent::Answer { generation, answer });
    }

    /// Notes that a datagram arrived at a port of the server.
    pub(crate) fn note_up(&mut self, now: Instant, pair: Pair, bytes: &[u8]) {
        hash_datagram(&mut self.path(pair).arrived_up, now, bytes);
    }

    /// Notes that a datagram arrived at a client.
    pub(crate) fn note_down(&mut self, now: Instant, pair: Pair, bytes: &[u8]) {
        hash_datagram(&mut self.path(pair).arrived_down, now, bytes);
    }

    /// Hash of all that arrived so far, with the time at which it did.
    pub(crate) fn traffic_hash(&self) -> u64 {
        let hashes = self.paths.values().flat_map(|path| [path.arrived_up, path.arrived_down]);
        hashes.fold(0, state_hash::fold)
    }

    fn path(&mut self, pair: Pair) -> &mut CarrierLink {
        self.paths.entry(pair).or_insert_with(|| CarrierLink::new(self.seed, pair))
    }

    /// Counts a datagram; one sent while the client is cut off is lost.
    fn unless_lost(
        &mut self,
        now: Instant,
        pair: Pair,
        arrivals: Arrivals,
    ) -> impl Iterator<Item = Instant> + use<> {
        let is_lost = self.is_lost(now, pair, arrivals);
        self.n_sent += 1;
        self.n_lost += u64::from(is_lost);
        arrivals.into_iter().flatten().filter(move |_| !is_lost)
    }

    fn is_lost(&self, now: Instant, pair: Pair, arrivals: Arrivals) -> bool {
        arrivals[0].is_none() || self.cuts[pair.client as usize].cut_until(now).is_some()
    }

    /// Time of the last loss of a datagram to a client.
    pub(crate) fn lost_down_at(&self, client: u32) -> Instant {
        self.lost_down_at[client as usize]
    }

    /// The latest fade of the path to a client.
    pub(crate) fn faded_at(&self, client: u32) -> Option<Instant> {
        self.fades[client as usize].latest()
    }

    fn http_departure(&self, now: Instant, client: u32) -> Instant {
        self.cuts[client as usize].cut_until(now).unwrap_or(now)
    }
}

fn hash_datagram(hash: &mut u64, now: Instant, bytes: &[u8]) {
    *hash = fold(state_hash::fold(*hash, now.0), bytes);
}
