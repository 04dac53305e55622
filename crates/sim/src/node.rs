//! The server under test: the same worlds, replicas, hub and shards as in production, wired on one thread.
//!
//! `throng` wires them with threads, sockets and queues; here they are called in turn. Nothing in this file decides anything about the
//! protocol. Only the times at which data pass between the parts are fixed here and random in production: a frame reaches replica and
//! shards within its tick, mail between shards and hub waits for the next turn.

use crate::addresses::{FIRST_PORT, PORTS, SERVER_IP};
use crate::checks::{Failure, Rule};
use crate::faults::Faults;
use crate::follower::{Follower, grid};
use crate::host::{CastLibrary, Host, Resident};
use crate::input::Input;
use crate::reference::WorldReference;
use crate::sabotage::Sabotage;
use crate::scenario::Scenario;
use crate::setting::Setting;
use crate::shard_cpu::{DATAGRAMS_PER_LOOP, QueuedDatagram, ShardCpu};
use crate::streams::{Purpose, stream};
use crate::village;
use gateway::hub::{self, Admission, EventQueueAnswer, Hub, HubConfig, Login, LoginRefusal, Record};
use gateway::mail::{FromShard, ShardIndex, Spot, ToShard};
use gateway::places::{EncodedGround, PlaceId, PlaceSettings, Places};
use gateway::shard::{CircuitAddress, FilterMode, Outbox, Sending, Shard, ShardConfig, ShardCounters};
use glam::Vec3;
use grid::asset_sources::AssetSources;
use ids::{AgentId, Epoch, Incarnation, Instant, LocalId, SessionKey, Tick, Uuid, WorldId};
use link::{
    Action, CircuitKey, Command, Frame, GroundSpec, ObjectLimits, Scenery, Terrain, WATER_M, WorldSpec,
};
use replicate::Replica;
use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::time::Duration;
use world::{NpcCast, WorldCounters};

/// Shards and hub have a turn 200 times a second, as often as a shard visits some of its clients.
pub(crate) const TURN: Duration = Duration::from_millis(5);
/// Time limit of an avatar's arrival.
pub(crate) const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum size of a client's visible set, as in production.
pub(crate) const VISIBLE_MAX: usize = 200;
/// Objects that stand in each: 250 within reach of a client, a second of its bytes.
const BOXES: u32 = 1_000;
/// Local ids of each world.
const LOCAL_IDS: u32 = link::LOCAL_ID_BLOCK;
/// Avatars in each world at once.
const MAX_AVATARS: u32 = 10_000;

/// The gateway's part of one world.
struct Served {
    follower: Follower,
    /// The last frame that arrived, and whether it is of the last tick.
    frame: Frame,
    has_frame: bool,
    ground: Arc<EncodedGround>,
    /// The world that it is compared with; none while it recovers from a panic.
    reference: Option<WorldReference>,
}

/// A gateway that serves two worlds, and the hosts that step them.
pub(crate) struct Node {
    seed: u64,
    setting: Setting,
    places: Arc<Places>,
    hosts: Vec<Host>,
    casts: Arc<CastLibrary>,
    /// By world, the index of its host.
    placement: Vec<usize>,
    /// By world.
    served: Vec<Served>,
    hub: Hub,
    shards: Vec<Shard>,
    /// By shard.
    cpus: Vec<ShardCpu>,
    outbox: Outbox,
    /// Last places of users.
    last: BTreeMap<AgentId, Spot>,
    next_sweep: Instant,
    /// Messages of shards to the hub in this turn, before they are ordered.
    mail: Vec<(CircuitKey, ShardIndex, FromShard)>,
    /// True if worlds are compared with references.
    keeps_references: bool,
    /// The difference of a world from its reference.
    moved_apart: Option<String>,
    /// Every call of this run, when it is to be repeated without its clients.
    journal: Option<Vec<Input>>,
}

impl Node {
    pub(crate) fn new(seed: u64, shards: u16, hosts: u16, setting: Setting) -> Self {
        let scenario = Scenario { shards, hosts, setting, faults: Faults::NONE, ..Scenario::new(seed) };
        Self::of_scenario(&scenario)
    }

    /// The node of a scenario, whose shards may be short of CPU time for a while.
    pub(crate) fn of_scenario(scenario: &Scenario) -> Self {
        let &Scenario { seed, shards, hosts, setting, hz, ref faults, .. } = scenario;
        let shortage = faults.scarce_cpu;
        let size_m = setting.region_m();
        let worlds: Vec<(WorldSpec, Option<Arc<NpcCast>>)> =
            (0..2).map(|n| world_spec(seed, n, setting, hz)).collect();
        let with_npcs = || worlds.iter().filter_map(|(spec, cast)| Some((&spec.ground, cast.as_ref()?)));
        let other_casts = with_npcs().map(|(ground, _)| other_cast(ground));
        let casts = with_npcs().map(|(_, cast)| Arc::clone(cast)).chain(other_casts);
        let casts = Arc::new(CastLibrary::of(casts));
        let served: Vec<Served> = worlds.iter().map(|(spec, _)| Served::new(spec)).collect();
        let settings = worlds.iter().zip(&served).zip(0..).map(|(((spec, _), served), n)| PlaceSettings {
            grid: grid(n, size_m),
            spec: spec.clone(),
            ground: Arc::clone(&served.ground),
        });
        let places = Arc::new(Places::new(settings.collect()));
        let mut hosts: Vec<Host> = (0..hosts).map(|_| Host::new(Arc::clone(&casts))).collect();
        for (n, (spec, cast)) in worlds.into_iter().enumerate() {
            // The two take their checkpoints in different ticks.
            hosts[0].open(spec, cast, n as f32 / 2.0);
        }
        Self {
            seed,
            setting,
            hub: new_hub(seed, &places),
            shards: (0..shards)
                .map(|_| Shard::new(shard_config(seed, setting), Arc::clone(&places)))
                .collect(),
            cpus: (0..shards).map(|_| ShardCpu::new(shortage)).collect(),
            places,
            placement: vec![0; served.len()],
            hosts,
            casts,
            served,
            outbox: Outbox::default(),
            last: BTreeMap::new(),
            next_sweep: Instant::ZERO,
            mail: Vec::new(),
            keeps_references: false,
            moved_apart: None,
            journal: None,
        }
    }

    /// Compares every world from now on with a reference that does not move ([`Self::check_moves`]).
    pub(crate) fn keep_references(&mut self) {
        self.keeps_references = true;
        for n in 0..self.served.len() {
            let reference = WorldReference::beside(self.resident(WorldId(n as u32)), &self.casts);
            self.served[n].reference = Some(reference);
        }
    }

    /// Compares the references after a tick. A reference restarts beside a world that has recovered from a panic.
    ///
    /// # Errors
    /// If a world differs from one that did not move.
    pub(crate) fn check_moves(&mut self, now: Instant) -> Result<(), Failure> {
        if let Some(found) = self.moved_apart.take() {
            return Err(Failure::new(now, Rule::MovesChangeNothing, found));
        }
        for n in 0..self.served.len() {
            let resident = self.resident(WorldId(n as u32));
            if self.keeps_references && self.served[n].reference.is_none() && !resident.is_recovering(now) {
                self.served[n].reference = Some(WorldReference::beside(resident, &self.casts));
            }
        }
        Ok(())
    }

    /// Keeps every call from now on.
    pub(crate) fn keep_journal(&mut self) {
        self.journal = Some(Vec::new());
    }

    /// The calls since [`Self::keep_journal`].
    pub(crate) fn take_journal(&mut self) -> Vec<Input> {
        self.journal.take().unwrap_or_default()
    }

    /// Repeats a call of [`Self::take_journal`].
    pub(crate) fn repeat(&mut self, call: &Input, out: &mut Wire<'_>) {
        match call {
            Input::Tick { now, tick, missed } => {
                self.tick(*now, *tick, |_| false, |world| missed.contains(&world), out);
            }
            Input::Turn { now } => self.run_turn(*now, out),
            Input::Datagram { now, port, remote, bytes } => self.datagram(*now, *port, *remote, bytes, out),
            // A refused or waiting login is so again; the clients' part in it is in the calls that follow.
            Input::LogIn { now, agent, name: (first_name, last_name), first } => {
                let _ = self.log_in(*now, *agent, (first_name, last_name), PlaceId(*first));
            }
            Input::Poll { secret, ack } => {
                let _ = self.poll_events(*secret, *ack);
            }
        }
    }

    fn record_input(&mut self, input: impl FnOnce() -> Input) {
        if let Some(journal) = &mut self.journal {
            journal.push(input());
        }
    }

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// Initial positions of the static objects of a world.
    pub(crate) fn objects(&self, world: WorldId) -> BTreeMap<LocalId, Vec3> {
        let config = self.resident(world).life.config();
        let avatar_ids = link::avatar_ids(&config.local_ids);
        let ids = if config.objects.is_some() { avatar_ids } else { config.local_ids.clone() };
        let ids = ids.map(LocalId);
        ids.zip(config.scenery.prims()).map(|(id, object)| (id, object.position)).collect()
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
        let (mut missed, mut dismissals) = (Vec::new(), Vec::new());
        for n in 0..self.served.len() {
            let world = WorldId(n as u32);
            let crosses_as_bytes = self.hosts.len() > 1;
            let Self { hosts, placement, served, hub, places, moved_apart, .. } = self;
            let served = &mut served[n];
            let resident = hosts[placement[n]].get_mut(world);
            dismissals.clear();
            let frame =
                resident.tick(now, tick, || panics(world), |world| hub.census_of(world), &mut dismissals);
            served.has_frame = frame.is_some();
            served.reference = served.reference.take().filter(|_| served.has_frame);
            if let (Some(reference), Some(frame)) = (&mut served.reference, &frame) {
                reference.send(&dismissals);
                if let Some(difference) = reference.step(tick, frame) {
                    *moved_apart = Some(format!("{world:?}: {difference}"));
                }
            }
            let Some(frame) = frame else { continue };
            if crosses_as_bytes {
                let bytes = postcard::to_allocvec(frame).expect("frames are plain data");
                served.frame = postcard::from_bytes(&bytes).expect("frames are plain data");
            } else {
                std::mem::swap(&mut served.frame, frame);
            }
            if misses(world) {
                missed.push(world);
                continue;
            }
            let asked =
                served.follower.handle_frame(&served.frame, &places.get(PlaceId(n as u16)).scene.feed);
            if let Some(asked) = asked {
                served.receive(resident, asked);
            }
            if served.frame.events.is_empty() {
                continue;
            }
            let events: Arc<[link::Event]> = served.frame.events.as_slice().into();
            for shard in 0..self.shards.len() {
                self.hand_to_shard(now, shard, ToShard::Events(world, Arc::clone(&events)), out);
            }
        }
        self.record_input(|| Input::Tick { now, tick, missed });
    }

    /// Carries the mail between shards and hub and gives every shard its turn.
    pub(crate) fn run_turn(&mut self, now: Instant, out: &mut Wire<'_>) {
        self.record_input(|| Input::Turn { now });
        for (shard, index) in self.shards.iter_mut().zip(0..) {
            let mail = shard.mail().drain(..);
            self.mail.extend(mail.map(|mail| (circuit_of(&mail), ShardIndex(index), mail)));
        }
        // Shards act simultaneously; their order at the hub must not matter, and here it is the same for any number of them. Messages
        // of one circuit stay in order.
        self.mail.sort_by_key(|&(circuit, ..)| circuit);
        for (_, shard, mail) in std::mem::take(&mut self.mail) {
            self.hub.handle(now, shard, mail);
        }
        if now >= self.next_sweep {
            self.next_sweep = now + Duration::from_secs(1);
            self.hub.handle_timeout(now);
        }
        while let Some(lookup) = self.hub.poll_lookup() {
            // All accounts are logged in.
            self.hub.handle_answer(&lookup, lookup.answer_of_empty_store());
        }
        while let Some(order) = self.hub.poll_inventory() {
            // There are no accounts.
            self.hub.refuse_inventory(&order);
        }
        while let Some((address, mail)) = self.hub.poll_output() {
            match address {
                hub::Address::One(shard) => self.hand_to_shard(now, shard.0.into(), mail, out),
                hub::Address::All => {
                    (0..self.shards.len())
                        .for_each(|shard| self.hand_to_shard(now, shard, mail.clone(), out));
                }
            }
        }
        while let Some(record) = self.hub.poll_record() {
            if let Record::LastLocation(agent, spot) = record {
                self.last.insert(agent, spot);
            }
        }
        for shard in 0..self.shards.len() {
            self.cpus[shard].begin_turn(now, TURN);
            // A node that stood still catches up at once, as the thread of a shard does; under a shortage as far as its credit goes.
            let mut is_due = true;
            while is_due && self.cpus[shard].has_credit() {
                let has_read = self.read_queue(now, shard, out);
                let goes_on = self.shards[shard].poll(now, &mut self.outbox);
                self.after(shard, out);
                let is_late = self.shards[shard].poll_timeout().is_some_and(|due| due <= now);
                is_due = has_read || goes_on || is_late;
            }
            if let Some(cpu) = self.cpus[shard].end_turn(!is_due, TURN) {
                self.shards[shard].handle_cpu_time(now, cpu);
            }
        }
    }

    /// A shard reads the datagrams that wait in its sockets, up to the number that it reads before its clients have a turn, at any cost;
    /// false when there were none.
    fn read_queue(&mut self, now: Instant, shard: usize, out: &mut Wire<'_>) -> bool {
        for n in 0..DATAGRAMS_PER_LOOP {
            let Some(QueuedDatagram { port, remote, bytes }) = self.cpus[shard].pop_queued() else {
                return n > 0;
            };
            self.shards[shard].handle_datagram(now, address(port, remote), &bytes, &mut self.outbox);
            self.after(shard, out);
        }
        true
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
        self.record_input(|| Input::Datagram { now, port, remote, bytes: bytes.into() });
        let four_tuple =
            u64::from(u32::from(*remote.ip())) << 24 | u64::from(remote.port()) << 8 | u64::from(port);
        let shard = stream(self.seed, Purpose::Shard, four_tuple).next() % self.shards.len() as u64;
        let shard = shard as usize;
        if self.cpus[shard].is_short() {
            self.cpus[shard].queue(QueuedDatagram { port, remote, bytes: bytes.into() });
            return;
        }
        self.shards[shard].handle_datagram(now, address(port, remote), bytes, &mut self.outbox);
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
        self.record_input(|| Input::LogIn {
            now,
            agent,
            name: (first_name.to_owned(), last_name.to_owned()),
            first: first.0,
        });
        let start = Spot { place: first, position: self.first_spot(agent, first), look_at: Vec3::X };
        let login = Login {
            incarnation: Incarnation(0),
            agent,
            first_name: first_name.into(),
            last_name: last_name.into(),
            server_ip: SERVER_IP,
            start: self.last.get(&agent).copied().unwrap_or(start),
            home: None,
            wearables: Arc::new([]),
            look: None,
        };
        self.hub.login(now, login)
    }

    /// Position of a user without a former one.
    fn first_spot(&self, agent: AgentId, first: PlaceId) -> Vec3 {
        let place = self.places.get(first);
        if !self.setting.is_scattered() {
            return place.ground().landing;
        }
        let mut rng = stream(self.seed, Purpose::Spot, agent.0.as_u64_pair().1);
        let mut coordinate = || place.ground().size_m as f32 * rng.unit() as f32;
        place.ground().clamp(Vec3::new(coordinate(), coordinate(), 0.0))
    }

    pub(crate) fn poll_events(&mut self, secret: Uuid, ack: Option<i32>) -> EventQueueAnswer {
        self.record_input(|| Input::Poll { secret, ack });
        self.hub.poll_events(secret, ack)
    }

    /// Reloads a world from its snapshot, between two ticks.
    pub(crate) fn restore(&mut self, world: WorldId) {
        assert!(self.journal.is_none(), "a journal holds no restores");
        self.resident_mut(world).life.reload().expect("a world reads its own snapshot");
    }

    /// Orders a reload of the behaviours of a world's NPCs to the other edition, for its next step. False while it is down, or in a world
    /// without NPCs.
    pub(crate) fn reload_cast(&mut self, tick: Tick, world: WorldId) -> bool {
        let resident = self.resident(world);
        let Some(cast) = resident.life.config().cast.as_ref().filter(|_| !resident.is_down()) else {
            return false;
        };
        let other = self.casts.other_than(cast.fingerprint());
        let command = Command::by_node(SessionKey::NODE, tick.0, Action::ReloadBehaviors { cast: other });
        let Self { hosts, placement, served, .. } = self;
        let n = world.0 as usize;
        served[n].receive(hosts[placement[n]].get_mut(world), command);
        true
    }

    /// Moves a world to the next host, between two ticks; false while it is down.
    ///
    /// # Errors
    /// If the other host cannot read it.
    pub(crate) fn move_world(
        &mut self,
        now: Instant,
        world: WorldId,
        sabotage: Option<Sabotage>,
    ) -> Result<bool, Failure> {
        let from = self.placement[world.0 as usize];
        let Some(departed) = self.hosts[from].release(world, sabotage) else { return Ok(false) };
        let to = (from + 1) % self.hosts.len();
        self.hosts[to].take_in(departed).map_err(|error| {
            Failure::new(now, Rule::MovesChangeNothing, format!("{world:?} is not taken in: {error}"))
        })?;
        self.placement[world.0 as usize] = to;
        if sabotage == Some(Sabotage::StaleSnapshot) {
            self.resident_mut(world).keep_stale();
        }
        Ok(true)
    }

    /// Keeps the states before each step, for a sabotage that needs them.
    pub(crate) fn keep_stale(&mut self) {
        for n in 0..self.served.len() {
            self.resident_mut(WorldId(n as u32)).keep_stale();
        }
    }

    fn resident(&self, world: WorldId) -> &Resident {
        self.hosts[self.placement[world.0 as usize]].get(world)
    }

    fn resident_mut(&mut self, world: WorldId) -> &mut Resident {
        self.hosts[self.placement[world.0 as usize]].get_mut(world)
    }

    fn residents(&self) -> impl Iterator<Item = &Resident> {
        (0..self.served.len()).map(|n| self.resident(WorldId(n as u32)))
    }

    /// Begins to record a world, between two ticks.
    pub(crate) fn record(&mut self, world: WorldId) {
        self.resident_mut(world).begin_recording();
    }

    /// The recording that was made; it ends with the first panic, or now.
    pub(crate) fn take_recording(&mut self, world: WorldId) -> Option<Vec<u8>> {
        self.resident_mut(world).take_recording()
    }

    /// The frames of the last tick; none of a world that is down.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.served.iter().filter(|served| served.has_frame).map(|served| &served.frame)
    }

    /// True while a world is down, or may still hold avatars of sessions that ended meanwhile.
    pub(crate) fn is_recovering(&self, now: Instant) -> bool {
        self.residents().any(|resident| resident.is_recovering(now))
    }

    /// Restarts of worlds after a panic.
    pub(crate) fn restarts(&self) -> u32 {
        self.residents().map(Resident::restarts).sum()
    }

    /// A world's replica on this node.
    pub(crate) fn replica(&self, world: WorldId) -> Arc<Replica> {
        Arc::clone(&self.places.get(PlaceId(world.0 as u16)).scene.feed.current())
    }

    pub(crate) const fn hub(&self) -> &Hub {
        &self.hub
    }

    pub(crate) fn counters(&self) -> impl Iterator<Item = &ShardCounters> {
        self.shards.iter().map(Shard::counters)
    }

    /// Datagrams that the receive queues of shards dropped.
    pub(crate) fn queue_drops(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.n_dropped).sum()
    }

    /// Counters of the worlds.
    pub(crate) fn world_counters(&self) -> impl Iterator<Item = &WorldCounters> {
        self.residents().map(|resident| resident.life.world().counters())
    }

    /// Blocks that were encoded.
    pub(crate) fn blocks_encoded(&self) -> u64 {
        self.served.iter().map(|served| served.follower.encoder.blocks_encoded).sum()
    }

    /// Snapshots that replicas asked for.
    pub(crate) fn resyncs(&self) -> u64 {
        self.served.iter().map(|served| served.follower.encoder.resyncs).sum()
    }

    fn hand_to_shard(&mut self, now: Instant, shard: usize, mail: ToShard, out: &mut Wire<'_>) {
        self.shards[shard].handle(now, mail, &mut self.outbox);
        self.after(shard, out);
    }

    /// Handles the output of a call into a shard: commands go to the worlds, datagrams onto the wire.
    fn after(&mut self, shard: usize, out: &mut Wire<'_>) {
        let crosses_as_bytes = self.hosts.len() > 1;
        for (world, command) in self.shards[shard].commands().drain(..) {
            let command = if crosses_as_bytes {
                let bytes = postcard::to_allocvec(&command).expect("commands are plain data");
                postcard::from_bytes(&bytes).expect("commands are plain data")
            } else {
                command
            };
            let n = world.0 as usize;
            self.served[n].receive(self.hosts[self.placement[n]].get_mut(world), command);
        }
        self.cpus[shard].charge(self.shards[shard].counters(), self.outbox.len());
        for (address, bytes) in self.outbox.packets() {
            out(address, bytes);
        }
        self.outbox.clear();
    }
}

const fn address(port: u8, remote: SocketAddrV4) -> CircuitAddress {
    CircuitAddress { port, remote, local: SERVER_IP }
}

/// Outgoing datagrams of the server: port and client, bytes.
pub(crate) type Wire<'a> = dyn FnMut(CircuitAddress, &[u8]) + 'a;

impl Served {
    fn new(spec: &WorldSpec) -> Self {
        let ground = Arc::new(EncodedGround::new(Arc::clone(&spec.ground)));
        let scenery =
            replicate::scenery::SceneryReplica::new(Arc::clone(&ground.objects), spec.avatar_ids().start);
        Self {
            follower: Follower::new(spec.dt(), Replica::new(spec.world, ground.size_m as f32, scenery)),
            frame: Frame::empty(),
            has_frame: false,
            ground,
            reference: None,
        }
    }

    /// The world is sent a command.
    fn receive(&mut self, resident: &mut Resident, command: Command) {
        if let Some(reference) = &mut self.reference {
            reference.send(std::slice::from_ref(&command));
        }
        resident.inbox.push(command);
    }
}

/// The other edition of a cast on this ground.
fn other_cast(ground: &GroundSpec) -> Arc<NpcCast> {
    village::other_cast(&ground.terrain, &ground.scenery, ground.water_m)
}

/// A world with its NPCs.
pub(crate) fn world_spec(seed: u64, n: u32, setting: Setting, hz: u32) -> (WorldSpec, Option<Arc<NpcCast>>) {
    let size_m = setting.region_m();
    let mut rng = stream(seed, Purpose::World, n.into());
    let terrain = Terrain::hills(size_m, rng.next());
    let scenery = Scenery::boxes(BOXES, &terrain, rng.next());
    let cast = setting.has_npcs(n).then(|| village::contested_cast(&terrain, &scenery, WATER_M));
    let spec = WorldSpec {
        world: WorldId(n),
        epoch: Epoch(0),
        is_shared: true,
        name: format!("Region {n}"),
        max_avatars: MAX_AVATARS,
        max_objects: ObjectLimits::default().objects_max,
        hz,
        local_ids: (n + 1) * LOCAL_IDS..(n + 2) * LOCAL_IDS,
        ground: Arc::new(GroundSpec::new(Arc::new(terrain), Arc::new(scenery), WATER_M)),
        portals: Arc::default(),
        seed: rng.next(),
        cache_id: Uuid::from_u128(u128::from(n) + 1),
    };
    (spec, cast)
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
    Hub::new(config, Arc::clone(places), Box::new(entropy))
}

fn shard_config(seed: u64, setting: Setting) -> ShardConfig {
    ShardConfig {
        circuit: circuit::Config::server(),
        client_bytes_per_s: 64 * 1024,
        egress_bytes_per_s: None,
        visible_max: VISIBLE_MAX,
        filter: FilterMode::Significance,
        cache_after: setting.cache_after(),
        assets: Arc::new(AssetSources::in_memory()),
        asset_limits: Default::default(),
        attachments_max: 38,
        unix_start_s: 1_700_000_000,
        sending: Sending::default(),
        hash_keys: [seed, !seed],
    }
}

/// Circuit of a shard's message.
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
