//! The server under test: the same worlds, replicas, hub and shards as in production, wired on one thread.
//!
//! `throng` wires them with threads, sockets and queues; here they are called in turn. Nothing in this file decides
//! anything about the protocol. What is fixed here, and left to chance in production, is when things pass between the
//! parts: a frame reaches replica and shards within its tick, mail between shards and hub waits for the next turn.

use crate::follower::{Follower, grid};
use crate::setting::Setting;
use crate::streams::{Purpose, stream};
use crate::workload::Input;
use gateway::feed::Feed;
use gateway::hub::{
    self, Admission, Directory, EventQueueAnswer, Hub, HubConfig, Login, LoginRefusal, Record,
};
use gateway::mail::{CircuitKey, FromShard, ShardIndex, Spot, ToShard};
use gateway::places::{Land, PlaceId, PlaceSettings, Places};
use gateway::shard::{Address, FilterMode, Outbox, Sending, Shard, ShardConfig, ShardCounters};
use glam::Vec3;
use ids::{AgentId, Epoch, Instant, LocalId, Tick, Uuid, WorldId};
use recording::{About, Ending, Step, Writer};
use replicate::Replica;
use schedule::Backoff;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;
use world::{Command, Frame, Life, Scenery, Terrain, WATER_M, WorldConfig, WorldCounters};

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
/// Whom a client is shown at most, as production has it.
pub(crate) const VISIBLE_MAX: usize = 200;
/// Things that stand in each: 250 within reach of a client, a second of its bytes.
const BOXES: u32 = 1_000;
/// Local ids of each world.
const LOCAL_IDS: u32 = 1_000_000;

/// One world and the parts that follow its frames.
struct Resident {
    life: Life,
    inbox: Vec<Command>,
    frame: Frame,
    /// Whether `frame` is of the last tick.
    has_told: bool,
    /// Writes down what it is given, once it has begun to.
    writer: Option<Writer<Vec<u8>>>,
    /// A recording that was ended.
    recorded: Option<Vec<u8>>,
    backoff: Backoff,
    /// It panicked and begins again then.
    down_until: Option<Instant>,
    /// Until when it is looked at for avatars without a login, and when next.
    sweeps: Option<Sweeps>,
    follower: Follower,
    /// What clients are told of it.
    land: Arc<Land>,
}

/// Looks at a world that began again.
#[derive(Clone, Copy)]
struct Sweeps {
    next_at: Instant,
    until: Instant,
}

/// Between two looks, and for how long: as `throng` has it.
const SWEEP_PERIOD: Duration = Duration::from_secs(1);
const SWEEPS_LAST: Duration = Duration::from_secs(10);

/// A process that serves two worlds.
pub(crate) struct Node {
    seed: u64,
    setting: Setting,
    places: Arc<Places>,
    residents: Vec<Resident>,
    hub: Hub,
    shards: Vec<Shard>,
    outbox: Outbox,
    /// Where users were last.
    last: BTreeMap<AgentId, Spot>,
    next_sweep: Instant,
    /// What shards told the hub in this turn, before it is put in order.
    mail: Vec<(CircuitKey, ShardIndex, FromShard)>,
    /// Every call of this run, when it is to be repeated without its clients.
    journal: Option<Vec<Input>>,
}

/// Nobody is known who is not logged in.
struct NobodyElse;

impl Directory for NobodyElse {
    fn name(&self, _: AgentId) -> Option<(String, String)> {
        None
    }
}

impl Node {
    pub(crate) fn new(seed: u64, shards: u16, setting: Setting) -> Self {
        let size_m = setting.region_m();
        let residents: Vec<Resident> = (0..2).map(|n| Resident::new(seed, n, size_m)).collect();
        let settings = residents.iter().zip(0..).map(|(resident, n)| PlaceSettings {
            name: format!("Region {n}"),
            grid: grid(n, size_m),
            max_avatars: 10_000,
            hz: 20,
            local_ids: resident.life.config().local_ids.clone(),
            land: Arc::clone(&resident.land),
            portals: Arc::default(),
        });
        let places = Arc::new(Places::new(settings.collect()));
        Self {
            seed,
            setting,
            hub: new_hub(seed, &places),
            shards: (0..shards).map(|_| Shard::new(shard_config(seed), Arc::clone(&places))).collect(),
            places,
            residents,
            outbox: Outbox::default(),
            last: BTreeMap::new(),
            next_sweep: Instant::ZERO,
            mail: Vec::new(),
            journal: None,
        }
    }

    /// Keeps every call from now on.
    pub(crate) fn keep_journal(&mut self) {
        self.journal = Some(Vec::new());
    }

    /// The calls since [`Self::keep_journal`].
    pub(crate) fn take_journal(&mut self) -> Vec<Input> {
        self.journal.take().unwrap_or_default()
    }

    fn note(&mut self, input: impl FnOnce() -> Input) {
        if let Some(journal) = &mut self.journal {
            journal.push(input());
        }
    }

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// What stands in a world, as it is made.
    pub(crate) fn things(&self, world: WorldId) -> BTreeMap<LocalId, Vec3> {
        let config = self.residents[world.0 as usize].life.config();
        let ids = config.local_ids.clone().map(LocalId);
        ids.zip(config.scenery.prims()).map(|(id, thing)| (id, thing.position)).collect()
    }

    /// Steps every world that is not down; `panics` says whose step does, `misses` whose frame does not reach its replica.
    pub(crate) fn tick(
        &mut self,
        now: Instant,
        tick: Tick,
        mut panics: impl FnMut(WorldId) -> bool,
        mut misses: impl FnMut(WorldId) -> bool,
        out: &mut Wire<'_>,
    ) {
        let mut missed = Vec::new();
        for n in 0..self.residents.len() {
            let resident = &mut self.residents[n];
            let world = resident.id();
            let place = PlaceId(n as u16);
            resident.has_told = false;
            resident.stand_up(now, &self.hub);
            if resident.down_until.is_some() {
                // Nobody reads it, and who sends to other worlds must not wait for that.
                resident.inbox.clear();
                continue;
            }
            resident.sweep(now, &self.hub);
            resident.step(now, tick, panics(world));
            if !resident.has_told {
                continue;
            }
            if misses(world) {
                missed.push(world);
                continue;
            }
            resident.follow(&self.places.get(place).scene.feed);
            if resident.frame.events.is_empty() {
                continue;
            }
            let events: Arc<[world::Event]> = resident.frame.events.as_slice().into();
            for shard in 0..self.shards.len() {
                self.tell_shard(now, shard, ToShard::Events(world, Arc::clone(&events)), out);
            }
        }
        self.note(|| Input::Tick { now, tick, missed });
    }

    /// Carries the mail between shards and hub and gives every shard its turn.
    pub(crate) fn turn(&mut self, now: Instant, out: &mut Wire<'_>) {
        self.note(|| Input::Turn { now });
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
            // A node that stood still catches up at once, as the thread of a shard does.
            let mut is_due = true;
            while is_due {
                let goes_on = self.shards[shard].poll(now, &mut self.outbox);
                self.after(shard, out);
                is_due = goes_on || self.shards[shard].poll_timeout().is_some_and(|due| due <= now);
            }
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
        self.note(|| Input::Datagram { now, port, remote, bytes: bytes.into() });
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
        self.note(|| Input::LogIn {
            now,
            agent,
            name: (first_name.to_owned(), last_name.to_owned()),
            first: first.0,
        });
        let start = Spot { place: first, position: self.first_spot(agent, first), look_at: Vec3::X };
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

    /// Where somebody stands who was never here.
    fn first_spot(&self, agent: AgentId, first: PlaceId) -> Vec3 {
        let place = self.places.get(first);
        if !self.setting.is_scattered() {
            return place.land().landing;
        }
        let mut rng = stream(self.seed, Purpose::Spot, agent.0.as_u64_pair().1);
        let mut coordinate = || place.land().size_m as f32 * rng.unit() as f32;
        place.land().clamp(Vec3::new(coordinate(), coordinate(), 0.0))
    }

    pub(crate) fn poll_events(&mut self, secret: Uuid, ack: Option<i32>) -> EventQueueAnswer {
        self.note(|| Input::Poll { secret, ack });
        self.hub.poll_events(secret, ack)
    }

    /// Takes a world down and puts it up again from its snapshot, between two ticks.
    pub(crate) fn restore(&mut self, world: WorldId) {
        assert!(self.journal.is_none(), "a journal holds no restores");
        self.residents[world.0 as usize].life.reload().expect("a world reads its own snapshot");
    }

    /// Begins to record a world, between two ticks.
    pub(crate) fn record(&mut self, world: WorldId) {
        let resident = &mut self.residents[world.0 as usize];
        let config = resident.life.config();
        let about = About::new(&format!("Region {}", world.0), "sim", 0, config);
        let snapshot = resident.life.world().snapshot();
        resident.writer = Some(
            Writer::begin(Vec::new(), &about, &config.terrain, &config.scenery, &snapshot).expect(IN_MEMORY),
        );
    }

    /// The recording that was made; it ends with the first panic, or now.
    pub(crate) fn take_recording(&mut self, world: WorldId) -> Option<Vec<u8>> {
        let resident = &mut self.residents[world.0 as usize];
        resident.end_recording(Ending::Complete);
        resident.recorded.take()
    }

    /// The frames of the last tick; none of a world that is down.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.residents.iter().filter(|resident| resident.has_told).map(|resident| &resident.frame)
    }

    /// Whether a world is down, or has not been looked through yet for those who left meanwhile.
    pub(crate) fn is_recovering(&self, now: Instant) -> bool {
        self.residents.iter().any(|resident| {
            let began_at =
                resident.sweeps.map(|sweeps| Instant(sweeps.until.0 - SWEEPS_LAST.as_nanos() as u64));
            resident.down_until.is_some() || began_at.is_some_and(|at| now.since(at) <= 2 * SWEEP_PERIOD)
        })
    }

    /// Times that worlds began again after a panic.
    pub(crate) fn restarts(&self) -> u32 {
        self.residents.iter().map(|resident| resident.life.config().epoch.0).sum()
    }

    /// What the shards of this node know of a world.
    pub(crate) fn replica(&self, world: WorldId) -> Arc<Replica> {
        Arc::clone(&self.places.get(PlaceId(world.0 as u16)).scene.feed.current())
    }

    pub(crate) const fn hub(&self) -> &Hub {
        &self.hub
    }

    pub(crate) fn counters(&self) -> impl Iterator<Item = &ShardCounters> {
        self.shards.iter().map(Shard::counters)
    }

    /// What the worlds have counted.
    pub(crate) fn world_counters(&self) -> impl Iterator<Item = &WorldCounters> {
        self.residents.iter().map(|resident| resident.life.world().counters())
    }

    /// Blocks that were encoded.
    pub(crate) fn blocks_encoded(&self) -> u64 {
        self.residents.iter().map(|resident| resident.follower.encoder.blocks_encoded).sum()
    }

    /// Snapshots that replicas asked for.
    pub(crate) fn resyncs(&self) -> u64 {
        self.residents.iter().map(|resident| resident.follower.encoder.resyncs).sum()
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
    fn new(seed: u64, n: u32, size_m: u32) -> Self {
        let mut rng = stream(seed, Purpose::World, n.into());
        let terrain = Terrain::hills(size_m, rng.next());
        let config = WorldConfig {
            id: WorldId(n),
            epoch: Epoch(0),
            size_m,
            local_ids: 1 + n * LOCAL_IDS..(n + 1) * LOCAL_IDS,
            scenery: Arc::new(Scenery::boxes(BOXES, &terrain, rng.next())),
            terrain: Arc::new(terrain),
            cast: None,
            water_m: WATER_M,
            max_avatars: WorldConfig::MAX_AVATARS,
            seed: rng.next(),
        };
        let land =
            Arc::new(Land::new(Arc::clone(&config.terrain), Arc::clone(&config.scenery), config.water_m));
        let scenery = replicate::scenery::Scenery::new(Arc::clone(&land.things), config.local_ids.start);
        Self {
            follower: Follower::new(Replica::new(config.id, size_m as f32, scenery)),
            land,
            // The two take their checkpoints in different ticks.
            life: Life::new(config, n as f32 / 2.0),
            inbox: Vec::new(),
            frame: Frame::empty(),
            has_told: false,
            writer: None,
            recorded: None,
            backoff: Backoff::new(Instant::ZERO),
            down_until: None,
            sweeps: None,
        }
    }

    const fn id(&self) -> WorldId {
        self.life.config().id
    }

    /// What a worker of the pool does, and what the pool does when that panics.
    fn step(&mut self, now: Instant, tick: Tick, panics: bool) {
        if panics {
            // Without the hook's message, which is of no use here.
            self.life.arm(Box::new(|| resume_unwind(Box::new("a fault of the scenario"))));
        }
        let taken = self.writer.as_ref().map(|_| self.inbox.clone());
        let Self { life, inbox, frame, .. } = self;
        let step = || life.step(now, tick, TICK, 1.0, inbox, frame);
        match catch_unwind(AssertUnwindSafe(step)) {
            Ok(()) => self.has_told = true,
            Err(_) if panics => self.down_until = Some(self.backoff.panicked(now)),
            Err(bug) => resume_unwind(bug),
        }
        if let Some(commands) = taken {
            self.write_down(now, tick, commands);
        }
    }

    fn write_down(&mut self, at: Instant, tick: Tick, commands: Vec<Command>) {
        let Some(writer) = &mut self.writer else { return };
        let state_hash = self.has_told.then_some(self.frame.state_hash);
        let step = Step { tick, at, dt: TICK, dilation: 1.0, commands, state_hash };
        writer.step(&step).expect(IN_MEMORY);
        if state_hash.is_none() {
            self.end_recording(Ending::Panicked);
        }
    }

    fn end_recording(&mut self, ending: Ending) {
        if let Some(writer) = self.writer.take() {
            self.recorded = Some(writer.finish(ending).expect(IN_MEMORY).0);
        }
    }

    /// What the thread that restarts worlds does when the time has come.
    fn stand_up(&mut self, now: Instant, hub: &Hub) {
        if self.down_until.is_none_or(|until| now < until) {
            return;
        }
        self.down_until = None;
        self.life.begin_again(self.backoff.in_a_row());
        self.backoff.began(now);
        self.inbox.extend(hub.dismiss(self.id(), self.life.world().sessions()));
        self.sweeps = Some(Sweeps { next_at: now + SWEEP_PERIOD, until: now + SWEEPS_LAST });
    }

    fn sweep(&mut self, now: Instant, hub: &Hub) {
        let Some(sweeps) = &mut self.sweeps else { return };
        if now < sweeps.next_at {
            return;
        }
        sweeps.next_at = now + SWEEP_PERIOD;
        if now >= sweeps.until {
            self.sweeps = None;
        }
        self.inbox.extend(hub.dismiss(self.id(), self.life.world().sessions()));
    }

    /// What the replica thread does with a frame.
    fn follow(&mut self, feed: &Feed) {
        self.inbox.extend(self.follower.follow(&self.frame, feed));
    }
}

const IN_MEMORY: &str = "memory takes what it is given";

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

fn shard_config(seed: u64) -> ShardConfig {
    ShardConfig {
        circuit: circuit::Config::server(),
        client_bytes_per_s: 64 * 1024,
        egress_bytes_per_s: None,
        visible_max: VISIBLE_MAX,
        filter: FilterMode::Significance,
        unix_start_s: 1_700_000_000,
        sending: Sending::default(),
        hash_keys: [seed, !seed],
    }
}

/// Whose circuit a shard speaks of.
const fn circuit_of(mail: &FromShard) -> CircuitKey {
    match mail {
        FromShard::Opened(circuit)
        | FromShard::Arrived(circuit, _)
        | FromShard::Refused(circuit, ..)
        | FromShard::Left { circuit, .. }
        | FromShard::Closed { circuit, .. }
        | FromShard::Appeared(circuit, _)
        | FromShard::Request(circuit, _) => *circuit,
    }
}
