//! The server under test: the same worlds, replicas, hub and shards as in production, wired on one thread.
//!
//! `throng` wires them with threads, sockets and queues; here they are called in turn. Nothing in this file decides
//! anything about the protocol. What is fixed here, and left to chance in production, is when things pass between the
//! parts: a frame reaches replica and shards within its tick, mail between shards and hub waits for the next turn.

use crate::scenario::Scenario;
use crate::streams::{Purpose, stream};
use gateway::feed::Feed;
use gateway::hub::{
    self, Admission, Directory, EventQueueAnswer, Hub, HubConfig, Login, LoginRefusal, Record,
};
use gateway::mail::{CircuitKey, FromShard, ShardIndex, Spot, ToShard};
use gateway::places::{PlaceId, PlaceSettings, Places};
use gateway::shard::{Address, FilterMode, Outbox, Shard, ShardConfig, ShardCounters};
use ids::{AgentId, Epoch, Instant, RegionHandle, SessionKey, Tick, Uuid, WorldId};
use replicate::{EncodedFrame, Encoder, Intake, Publisher, Replica};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;
use world::{Action, Command, Frame, Terrain, WATER_M, World, WorldConfig};

/// Worlds step 20 times a second.
pub(crate) const TICK: Duration = Duration::from_millis(50);
/// Shards and hub have a turn 200 times a second, as often as a shard visits some of its clients.
pub(crate) const TURN: Duration = Duration::from_millis(5);
/// Ports of the pool.
pub(crate) const PORTS: u8 = 4;
/// The first of them.
pub(crate) const FIRST_PORT: u16 = 9_000;
/// How long an avatar may be on its way.
pub(crate) const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(20);
/// Edge of both regions.
pub(crate) const REGION_M: u32 = 256;
/// Local ids of each world.
const LOCAL_IDS: u32 = 1_000_000;

/// One world and the parts that follow its frames.
struct Resident {
    config: WorldConfig,
    world: World,
    inbox: Vec<Command>,
    frame: Frame,
    encoder: Encoder,
    encoded: EncodedFrame,
    publisher: Publisher,
    /// Numbers the node's own commands.
    next_command: u64,
}

/// A process that serves two worlds.
pub(crate) struct Node {
    seed: u64,
    places: Arc<Places>,
    residents: Vec<Resident>,
    feeds: Vec<Arc<Feed>>,
    hub: Hub,
    shards: Vec<Shard>,
    outbox: Outbox,
    /// Where users were last.
    last: BTreeMap<AgentId, Spot>,
    next_sweep: Instant,
    /// What shards told the hub in this turn, before it is put in order.
    mail: Vec<(CircuitKey, ShardIndex, FromShard)>,
}

/// Nobody is known who is not logged in.
struct NobodyElse;

impl Directory for NobodyElse {
    fn name(&self, _: AgentId) -> Option<(String, String)> {
        None
    }
}

impl Node {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let residents: Vec<Resident> = (0..2).map(|n| Resident::new(scenario.seed, n)).collect();
        let settings = residents.iter().zip(0..).map(|(resident, n)| PlaceSettings {
            name: format!("Region {n}"),
            grid: grid(n),
            size_m: REGION_M,
            water_m: WATER_M,
            max_avatars: 10_000,
            terrain: Arc::clone(&resident.config.terrain),
        });
        let places = Arc::new(Places::new(settings.collect()));
        let feeds: Vec<Arc<Feed>> =
            residents.iter().map(|resident| Arc::new(Feed::new(empty_replica(resident.config.id)))).collect();
        Self {
            seed: scenario.seed,
            hub: new_hub(scenario.seed, &places),
            shards: (0..scenario.shards)
                .map(|_| Shard::new(shard_config(), Arc::clone(&places), feeds.clone()))
                .collect(),
            places,
            residents,
            feeds,
            outbox: Outbox::default(),
            last: BTreeMap::new(),
            next_sweep: Instant::ZERO,
            mail: Vec::new(),
        }
    }

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// Steps every world; `misses` says whose frame does not reach its replica.
    pub(crate) fn tick(
        &mut self,
        now: Instant,
        tick: Tick,
        mut misses: impl FnMut(WorldId) -> bool,
        out: &mut Wire<'_>,
    ) {
        for n in 0..self.residents.len() {
            let resident = &mut self.residents[n];
            let world = resident.config.id;
            resident.world.step(tick, TICK, 1.0, &mut resident.inbox, &mut resident.frame);
            if misses(world) {
                continue;
            }
            resident.follow(&self.feeds[n]);
            if resident.frame.events.is_empty() {
                continue;
            }
            let events: Arc<[world::Event]> = resident.frame.events.as_slice().into();
            for shard in 0..self.shards.len() {
                self.tell_shard(now, shard, ToShard::Events(world, Arc::clone(&events)), out);
            }
        }
    }

    /// Carries the mail between shards and hub and gives every shard its turn.
    pub(crate) fn turn(&mut self, now: Instant, out: &mut Wire<'_>) {
        for (shard, index) in self.shards.iter_mut().zip(0..) {
            let mail = shard.mail().drain(..);
            self.mail.extend(mail.map(|mail| (circuit_of(&mail), ShardIndex(index), mail)));
        }
        // Shards speak at the same time; which one the hub hears first must not matter, and here it is the same one
        // whatever their number. What one circuit has to say stays in order.
        self.mail.sort_by_key(|&(circuit, ..)| circuit);
        for (_, shard, mail) in std::mem::take(&mut self.mail) {
            self.hub.handle(now, shard, mail);
        }
        if now >= self.next_sweep {
            self.next_sweep = now + Duration::from_secs(1);
            self.hub.handle_timeout(now);
        }
        while let Some((address, mail)) = self.hub.poll_output() {
            match address {
                hub::Address::One(shard) => self.tell_shard(now, shard.0.into(), mail, out),
                hub::Address::All => {
                    (0..self.shards.len()).for_each(|shard| self.tell_shard(now, shard, mail.clone(), out));
                }
            }
        }
        while let Some(record) = self.hub.poll_record() {
            if let Record::LastLocation(agent, spot) = record {
                self.last.insert(agent, spot);
            }
        }
        for shard in 0..self.shards.len() {
            self.shards[shard].poll(now, &mut self.outbox);
            self.after(shard, out);
        }
    }

    /// A datagram arrived. As with `SO_REUSEPORT`, a hash of both addresses chooses the shard.
    pub(crate) fn datagram(
        &mut self,
        now: Instant,
        port: u8,
        remote: SocketAddrV4,
        bytes: &[u8],
        out: &mut Wire<'_>,
    ) {
        let four_tuple =
            u64::from(u32::from(*remote.ip())) << 24 | u64::from(remote.port()) << 8 | u64::from(port);
        let shard = stream(self.seed, Purpose::Shard, four_tuple).next() % self.shards.len() as u64;
        let shard = shard as usize;
        let address = Address { port, remote, local: SERVER_IP };
        self.shards[shard].handle_datagram(now, address, bytes, &mut self.outbox);
        self.after(shard, out);
    }

    /// A user logs in where they were last, or in `first`.
    pub(crate) fn log_in(
        &mut self,
        now: Instant,
        agent: AgentId,
        (first_name, last_name): (&str, &str),
        first: PlaceId,
    ) -> Result<Admission, LoginRefusal> {
        let landing = self.places.get(first).landing;
        let start = Spot { place: first, position: landing, look_at: glam::Vec3::X };
        let login = Login {
            agent,
            first_name: first_name.into(),
            last_name: last_name.into(),
            server_ip: SERVER_IP,
            start: self.last.get(&agent).copied().unwrap_or(start),
            home: None,
            wearables: Arc::new([]),
        };
        self.hub.login(now, login)
    }

    pub(crate) fn poll_events(&mut self, secret: Uuid, ack: Option<i32>) -> EventQueueAnswer {
        self.hub.poll_events(secret, ack)
    }

    /// Takes a world down and puts it up again from its snapshot, between two ticks.
    pub(crate) fn restore(&mut self, world: WorldId) {
        let resident = &mut self.residents[world.0 as usize];
        let bytes = resident.world.snapshot();
        resident.world =
            World::restore(resident.config.clone(), &bytes).expect("a world reads its own snapshot");
    }

    /// The frames of the last tick.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.residents.iter().map(|resident| &resident.frame)
    }

    /// What the shards of this node know of a world.
    pub(crate) fn replica(&self, world: WorldId) -> Arc<Replica> {
        Arc::clone(&self.feeds[world.0 as usize].current())
    }

    pub(crate) const fn hub(&self) -> &Hub {
        &self.hub
    }

    pub(crate) fn counters(&self) -> impl Iterator<Item = &ShardCounters> {
        self.shards.iter().map(Shard::counters)
    }

    /// Snapshots that replicas asked for.
    pub(crate) fn resyncs(&self) -> u64 {
        self.residents.iter().map(|resident| resident.encoder.resyncs).sum()
    }

    fn tell_shard(&mut self, now: Instant, shard: usize, mail: ToShard, out: &mut Wire<'_>) {
        self.shards[shard].handle(now, mail, &mut self.outbox);
        self.after(shard, out);
    }

    /// Takes what a call into a shard left: commands go to the worlds, datagrams onto the wire.
    fn after(&mut self, shard: usize, out: &mut Wire<'_>) {
        for (world, command) in self.shards[shard].commands().drain(..) {
            self.residents[world.0 as usize].inbox.push(command);
        }
        for (address, bytes) in self.outbox.packets() {
            out(address, bytes);
        }
        self.outbox.clear();
    }
}

/// Where datagrams of the server go: port and client, bytes.
pub(crate) type Wire<'a> = dyn FnMut(Address, &[u8]) + 'a;

/// The server's address, as all its clients know it.
pub(crate) const SERVER_IP: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

impl Resident {
    fn new(seed: u64, n: u32) -> Self {
        let mut rng = stream(seed, Purpose::World, n.into());
        let config = WorldConfig {
            id: WorldId(n),
            epoch: Epoch(0),
            size_m: REGION_M,
            local_ids: 1 + n * LOCAL_IDS..(n + 1) * LOCAL_IDS,
            terrain: Arc::new(Terrain::hills(REGION_M, rng.next())),
            water_m: WATER_M,
            max_avatars: WorldConfig::MAX_AVATARS,
            seed: rng.next(),
        };
        Self {
            world: World::new(config.clone()),
            inbox: Vec::new(),
            frame: Frame::empty(),
            encoder: Encoder::new(),
            encoded: EncodedFrame::default(),
            publisher: Publisher::new(empty_replica(config.id)),
            next_command: 0,
            config,
        }
    }

    /// What the replica thread does with a frame.
    fn follow(&mut self, feed: &Feed) {
        match self.encoder.encode(&self.frame, &mut self.encoded) {
            Intake::Ready => {
                self.encoded = self.publisher.publish(std::mem::take(&mut self.encoded));
                feed.publish(Arc::clone(self.publisher.current()));
            }
            Intake::NeedsSnapshot => {
                let sequence = self.next_command;
                self.next_command += 1;
                self.inbox.push(Command { session: SessionKey::NODE, sequence, action: Action::Resync });
            }
            Intake::Waiting => {}
        }
    }
}

/// Where a region lies: far enough from the other not to be a neighbour.
const fn grid(n: u32) -> (u32, u32) {
    (1_000 + 2 * n, 1_000)
}

const fn empty_replica(world: WorldId) -> Replica {
    let (x, y) = grid(world.0);
    Replica::new(world, RegionHandle::from_grid(x, y))
}

fn new_hub(seed: u64, places: &Arc<Places>) -> Hub {
    let config = HubConfig {
        udp_ports: (0..PORTS).map(|n| FIRST_PORT + u16::from(n)).collect(),
        http_port: FIRST_PORT,
        sessions_max: 10_000,
        arrival_timeout: ARRIVAL_TIMEOUT,
    };
    let mut rng = stream(seed, Purpose::Entropy, 0);
    let entropy = move || {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&rng.next().to_le_bytes());
        bytes[8..].copy_from_slice(&rng.next().to_le_bytes());
        bytes
    };
    Hub::new(config, Arc::clone(places), Box::new(entropy), Box::new(NobodyElse))
}

fn shard_config() -> ShardConfig {
    ShardConfig {
        circuit: circuit::Config::server(),
        client_bytes_per_s: 64 * 1024,
        filter: FilterMode::Significance,
        unix_start_s: 1_700_000_000,
        world_rate_hz: 20.0,
        send_hz: 10,
    }
}

/// Whose circuit a shard speaks of.
const fn circuit_of(mail: &FromShard) -> CircuitKey {
    match mail {
        FromShard::Opened(circuit)
        | FromShard::Arrived(circuit)
        | FromShard::Refused(circuit, _)
        | FromShard::Closed { circuit, .. }
        | FromShard::Appeared(circuit, _)
        | FromShard::Request(circuit, _) => *circuit,
    }
}
