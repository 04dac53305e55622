//! A node on virtual time for this crate's tests: hub, shards, two flat worlds and clients in one thread, and a network with the losses
//! of a test. Start with [`Node::enter`].

mod client;
mod disk;
mod network;
mod region;

pub(crate) use client::{Client, Seen, use_circuit_code};
pub(crate) use disk::DiskRows;
pub(crate) use network::{SimulatedLoss, TransferDirection, number_of};
pub(crate) use region::GATE;

use crate::hub::{self, Admission, Hub, HubConfig, Login, LoginRefusal, Record};
use crate::mail::{FromShard, Look, ShardIndex, Spot, ToShard};
use crate::places::{PlaceId, PlaceSettings, Places, Scene};
use crate::shard::{CACHE_AFTER, CircuitAddress, CpuTime, FilterMode, Outbox, Sending, Shard, ShardConfig};
use assets::{MemoryAssets, SizeLimits};
use disk::{DiskInventories, DiskNews, RegionDisk};
use glam::{Quat, Vec3};
use grid::asset_sources::AssetSources;
use grid::inventory::{
    InventoryParts, WorldAnswer, WorldOrder, WorldOrderEnd, end_world_order, transfer_notices,
};
use ids::{AgentId, Incarnation, Instant, RegionHandle, SessionKey, Tick, Uuid, WorldId};
use keeper::{Keeper, Wardrobe, WornRegions};
use link::{
    Action, CircuitKey, Command, CommandSeries, Control, ControlFlags, Enter, EntryRefusal, Event,
    ObjectChange, PortalTo, Scenery, Terrain, TravelOrder, WorldSpec,
};
use region::{Region, gate, ground, local_ids, spec, world_of};
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;
use store::{Folder, Item, NewAccount, PasswordHash, Permissions, Sale, Store};
use wire::llsd::Llsd;
use world::Life;

/// A 256 m region.
pub(crate) const HARBOUR: PlaceId = PlaceId(0);
/// A 512 m region.
pub(crate) const MEADOW: PlaceId = PlaceId(1);
/// Prims that a region has room for.
pub(crate) const MAX_OBJECTS: u32 = 12_800;
/// Height of the flat ground of both, metres.
pub(crate) const GROUND_M: f32 = 21.0;
/// Time limit of an avatar's arrival.
pub(crate) const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(20);
/// Latency of the network each way, and the step of all clocks.
const STEP: Duration = Duration::from_millis(5);
/// Steps between two ticks of the worlds.
const STEPS_PER_TICK: u64 = 10;
/// Ticks a second.
const HZ: u32 = 20;
/// Sessions of [`Node::crowd`], which have no clients.
const CROWD: u64 = 1 << 40;

/// Names of accounts that are not logged in.
pub(crate) const OFFLINE_AGENT: AgentId = AgentId(Uuid::from_u128(0xABCD));

/// Creation time of the account of [`OFFLINE_AGENT`]: 14 November 2023.
pub(crate) const OFFLINE_BORN_S: i64 = 1_700_000_000;
/// Id of the one parcel of a region with land.
pub(crate) const PARCEL: Uuid = Uuid::from_u128(0xACE);
/// Time of day at the start, seconds since 1970.
pub(crate) const START_S: u64 = 1_750_000_000;
/// A folder of an account's inventory, and an item in it.
pub(crate) const FOLDER: Uuid = Uuid::from_u128(0xF01);
pub(crate) const ITEM: Uuid = Uuid::from_u128(0x17E);

/// A store with an account that is not logged in, and one whose inventory has a folder and an item.
fn store() -> Arc<Store> {
    let store = Store::open_in_memory().expect("a database in memory");
    let account = |agent, first: &str, last: &str| NewAccount {
        agent,
        first: first.into(),
        last: last.into(),
        password_hash: PasswordHash(String::new()),
        created_s: OFFLINE_BORN_S,
        folders: Vec::new(),
        items: Vec::new(),
    };
    let folder =
        Folder { id: FOLDER, parent: Uuid::nil(), name: "Textures".into(), type_default: 0, version: 3 };
    let item = Item {
        id: ITEM,
        folder: FOLDER,
        asset: ids::PLYWOOD_TEXTURE,
        asset_type: 0,
        inventory_type: 0,
        name: "Wood".into(),
        description: String::new(),
        flags: 0,
        created_s: OFFLINE_BORN_S,
        permissions: Permissions {
            creator: agent("Ada").0,
            last_owner: agent("Ada").0,
            group: Uuid::nil(),
            group_owned: false,
            base: 0x7FFF_FFFF,
            owner: 0x7FFF_FFFF,
            group_mask: 0,
            everyone: 0,
            next_owner: 0,
        },
        sale: Sale::default(),
    };
    let ada =
        NewAccount { folders: vec![folder], items: vec![item], ..account(agent("Ada"), "Ada", "Resident") };
    for new in [account(OFFLINE_AGENT, "Grace", "Hopper"), ada] {
        store.create_account(&new).expect("an account");
    }
    Arc::new(store)
}

/// Variations of a test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) shards: usize,
    pub(crate) sessions_max: usize,
    pub(crate) max_avatars: u32,
    /// The world's own limit, if lower than the hub's.
    pub(crate) world_max_avatars: usize,
    pub(crate) ports: usize,
    pub(crate) client_bytes_per_s: u32,
    pub(crate) egress_bytes_per_s: Option<u64>,
    pub(crate) visible_max: usize,
    /// Objects that stand in each region.
    pub(crate) boxes: u32,
    /// True if regions have pictures on the map.
    pub(crate) maps: bool,
    /// Further regions, named Isle0 and so on.
    pub(crate) isles: u16,
    /// Owner of the estate and the one parcel of the harbour, which has land then.
    pub(crate) landlord: Option<&'static str>,
    /// Time without a change after which viewers may keep an object.
    pub(crate) cache_after: Duration,
    /// True if the store has rows of what clients upload and take out of regions, as on a server.
    pub(crate) keeps_assets: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            shards: 1,
            sessions_max: 1_000,
            max_avatars: 1_000,
            world_max_avatars: 2_000,
            ports: 4,
            client_bytes_per_s: 65_536,
            egress_bytes_per_s: None,
            visible_max: 200,
            boxes: 0,
            maps: false,
            isles: 0,
            landlord: None,
            cache_after: CACHE_AFTER,
            keeps_assets: false,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) now: Instant,
    pub(crate) places: Arc<Places>,
    pub(crate) assets: Arc<AssetSources>,
    pub(crate) hub: Hub,
    pub(crate) shards: Vec<Shard>,
    pub(crate) clients: Vec<Client>,
    pub(crate) loss: SimulatedLoss,
    /// Orders of the hub.
    pub(crate) orders: Vec<TravelOrder>,
    /// Records for the store.
    pub(crate) records: Vec<Record>,
    /// Everything that went to worlds.
    pub(crate) commands: Vec<(WorldId, Command)>,
    /// All messages of shards to the hub.
    pub(crate) mail: Vec<FromShard>,
    /// Restarts of worlds that the hub has ordered.
    pub(crate) restarts: Vec<WorldId>,
    /// Panics of worlds.
    pub(crate) panics: usize,
    /// Ticks that commands take to their worlds, as in a storm of logins.
    pub(crate) lag_ticks: u64,
    /// Commands under way, with the step at which they arrive.
    lagging: VecDeque<(u64, WorldId, Command)>,
    /// True if shards have all due turns; otherwise two in fifteen steps, in which three are due with 130 to 256 avatars, so that they
    /// miss a third.
    pub(crate) keeps_up: bool,
    regions: Vec<Region>,
    /// Commands that a world panics of.
    poison: fn(&Action) -> bool,
    /// And how often they still do.
    poisoned: usize,
    steps: u64,
    /// Delay of the clients' PacketAcks beyond that of other datagrams, as of clients short of CPU time.
    pub(crate) ack_delay: Duration,
    /// On the way to the server, with times of arrival.
    up: Vec<(Instant, CircuitAddress, Vec<u8>)>,
    out: Outbox,
    crowd: u64,
    /// Made when something is looked up or changed.
    store: Option<Arc<Store>>,
    /// Worn objects of users in saved regions.
    wardrobe: Wardrobe,
    /// Number of the servers before this one on the same disk.
    incarnation: Incarnation,
}

/// The regions that are saved.
struct Saved<'a>(&'a mut [Region]);

impl WornRegions for Saved<'_> {
    fn keepers(&mut self) -> impl Iterator<Item = &mut Keeper> {
        self.0.iter_mut().filter_map(|region| region.disk.as_mut()).map(RegionDisk::keeper)
    }
}

impl Node {
    pub(crate) fn new() -> Self {
        Self::with(Setup::default())
    }

    pub(crate) fn with(setup: Setup) -> Self {
        Self::begin(setup, None)
    }

    /// A server that begins with the objects of the harbour as they are on the disk, and saves them there.
    pub(crate) fn on_disk(setup: Setup, rows: DiskRows) -> Self {
        Self::begin(setup, Some(rows))
    }

    /// The server is killed: what is left of the harbour.
    pub(crate) fn kill(mut self) -> DiskRows {
        self.regions.swap_remove(0).disk.expect("a server with a disk").into_rows()
    }

    fn begin(setup: Setup, rows: Option<DiskRows>) -> Self {
        let n_former = rows.as_ref().map_or(0, DiskRows::n_servers);
        let inventories = setup.keeps_assets.then(|| {
            rows.as_ref().and_then(DiskRows::inventories).unwrap_or_else(|| {
                let store = store();
                DiskInventories { assets: Arc::new(MemoryAssets::beside(Arc::clone(&store))), store }
            })
        });
        let mut kept = rows.map(|rows| {
            let terrain = Arc::new(Terrain::flat(256, GROUND_M));
            RegionDisk::open(rows, world_of(0), &local_ids(0), &terrain, inventories.clone())
        });
        let cache_id = kept.as_ref().map_or(Uuid::nil(), |(_, loaded)| loaded.cache_id);
        let place = |n, name: &str, x, size_m| {
            let mut ground = ground(size_m, setup.boxes);
            if setup.maps {
                let ground = Arc::get_mut(&mut ground).expect("no world has it yet");
                ground.draw_map().expect("a picture");
            }
            let portals = gate(PortalTo::Own("cave".into()));
            let max_avatars = setup.max_avatars;
            let spec = spec(n, name, &ground);
            let cache_id = if n == 0 { cache_id } else { spec.cache_id };
            let spec = WorldSpec { is_shared: true, portals, max_avatars, cache_id, ..spec };
            PlaceSettings { grid: (x, 1_000), spec, ground }
        };
        let mut settings = vec![place(0, "Harbour", 1_000, 256), place(1, "Meadow", 1_004, 512)];
        settings.extend(
            (0..setup.isles).map(|n| place(2 + u32::from(n), &format!("Isle{n}"), 1_010 + u32::from(n), 256)),
        );
        let places = Arc::new(Places::new(settings));
        let regions: Vec<Region> = places
            .iter()
            .map(|place| {
                let landlord = setup.landlord.filter(|_| place.id == HARBOUR);
                let kept = kept.take_if(|_| place.id == HARBOUR);
                Region::new(&place.scene, setup.world_max_avatars, landlord.map(agent), kept)
            })
            .collect();
        let (store, assets) = match inventories {
            Some(DiskInventories { store, assets }) => (Some(store), AssetSources::new(assets)),
            None => (None, AssetSources::in_memory()),
        };
        let assets = Arc::new(assets);
        let config = ShardConfig {
            circuit: circuit::Config {
                total_bytes_per_s: setup.client_bytes_per_s,
                ..circuit::Config::server()
            },
            client_bytes_per_s: setup.client_bytes_per_s,
            egress_bytes_per_s: setup.egress_bytes_per_s,
            visible_max: setup.visible_max,
            sending: Sending::default(),
            filter: FilterMode::Significance,
            cache_after: setup.cache_after,
            assets: Arc::clone(&assets),
            asset_limits: SizeLimits::default(),
            attachments_max: 38,
            unix_start_s: START_S,
            hash_keys: [1, 2],
        };
        let shard = || Shard::new(config.clone(), Arc::clone(&places));
        let shards = (0..setup.shards).map(|_| shard()).collect();
        let hub_config = HubConfig {
            udp_ports: (9_000..).take(setup.ports).collect(),
            http_port: 9_000,
            sessions_max: setup.sessions_max,
            arrival_timeout: ARRIVAL_TIMEOUT,
        };
        // Ids of a server are none of the servers before it.
        let mut seed = u128::from(n_former) << 64;
        let entropy = Box::new(move || {
            seed += 1;
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835).to_le_bytes()
        });
        let hub = Hub::new(hub_config, Arc::clone(&places), entropy);
        Self {
            now: Instant::ZERO,
            places,
            assets,
            hub,
            shards,
            clients: Vec::new(),
            loss: SimulatedLoss::default(),
            orders: Vec::new(),
            records: Vec::new(),
            commands: Vec::new(),
            mail: Vec::new(),
            restarts: Vec::new(),
            panics: 0,
            lag_ticks: 0,
            lagging: VecDeque::new(),
            keeps_up: true,
            poison: |_| false,
            poisoned: 0,
            regions,
            steps: 0,
            ack_delay: Duration::ZERO,
            up: Vec::new(),
            out: Outbox::default(),
            crowd: 0,
            store,
            wardrobe: Wardrobe::new(Uuid::from_u128(0xD3E55 + u128::from(n_former))),
            incarnation: Incarnation(n_former as u16),
        }
    }

    /// An instance, with this number of boxes.
    pub(crate) fn instance(&mut self, name: &str, size_m: u32, boxes: u32, max_avatars: u32) -> Arc<Scene> {
        self.instance_for(name, (size_m, boxes), max_avatars, max_avatars as usize)
    }

    /// The same with another limit of the world itself.
    pub(crate) fn instance_for(
        &mut self,
        name: &str,
        (size_m, boxes): (u32, u32),
        max_avatars: u32,
        world_max_avatars: usize,
    ) -> Arc<Scene> {
        let (ground, portals) = (ground(size_m, boxes), gate(PortalTo::Back));
        let spec = WorldSpec { max_avatars, portals, ..spec(self.regions.len() as u32, name, &ground) };
        let scene = Arc::new(Scene::new(spec, ground));
        self.places.add_instance(Arc::clone(&scene));
        self.regions.push(Region::new(&scene, world_max_avatars, None, None));
        scene
    }

    /// A verified user asks to be let in at a place.
    pub(crate) fn admit(&mut self, name: &str, spot: Spot) -> Result<Admission, LoginRefusal> {
        self.admit_in(name, spot, None)
    }

    /// The same with an appearance that is kept with the account.
    pub(crate) fn admit_in(
        &mut self,
        name: &str,
        spot: Spot,
        look: Option<Look>,
    ) -> Result<Admission, LoginRefusal> {
        let login = Login {
            incarnation: self.incarnation,
            agent: agent(name),
            first_name: name.into(),
            last_name: "Resident".into(),
            server_ip: Ipv4Addr::LOCALHOST,
            start: spot,
            home: None,
            wearables: Arc::from([]),
            look,
        };
        self.hub.login(self.now, login)
    }

    /// A client that was let in and has said nothing yet; its index.
    pub(crate) fn login(&mut self, name: &str, spot: Spot) -> usize {
        let admission = self.admit(name, spot).expect("there is room");
        self.relay();
        self.add_client(name, &admission)
    }

    pub(crate) fn add_client(&mut self, name: &str, admission: &Admission) -> usize {
        let client =
            Client::new(self.now, self.remote(), admission.sim_port - 9_000, name, agent(name), admission);
        self.clients.push(client);
        self.clients.len() - 1
    }

    /// Opens the circuit that a TeleportFinish of a client's event queue leads to, and moves in; the client there.
    pub(crate) fn follow_teleport(&mut self, from: usize, finish: &Llsd) -> usize {
        let client = self.follow_half(from, finish);
        self.clients[client].complete_movement();
        client
    }

    /// Opens that circuit and does not move in.
    pub(crate) fn follow_half(&mut self, from: usize, finish: &Llsd) -> usize {
        let info = finish.get("Info").at(0);
        let handle = RegionHandle(info.get("RegionHandle").as_u64().expect("a handle"));
        let size_m = info.get("RegionSizeX").as_i32().expect("a size");
        let former = &self.clients[from];
        let name = former.name.clone();
        let admission = Admission {
            session_id: former.session_id,
            secure_session_id: Uuid::nil(),
            code: former.code,
            sim_port: info.get("SimPort").as_i32().expect("a port") as u16,
            seed_url: info.get("SeedCapability").as_str().expect("a URL").into(),
            place: match self.places.by_handle(handle) {
                Some(place) => Arc::clone(place),
                None => Arc::new(self.places.apart(size_m as u32).clone()),
            },
        };
        let client = self.add_client(&name, &admission);
        self.clients[client].manners.moves_in = false;
        self.clients[client].open();
        client
    }

    /// An unused socket address.
    fn remote(&self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 20_000 + self.clients.len() as u16)
    }

    /// Logs in to the harbour and waits until the client sees its own avatar.
    pub(crate) fn enter(&mut self, name: &str) -> usize {
        self.enter_at(name, self.spot(HARBOUR, 128.0, 128.0))
    }

    pub(crate) fn enter_at(&mut self, name: &str, spot: Spot) -> usize {
        let client = self.login(name, spot);
        self.clients[client].open();
        self.run_until(|node| node.clients[client].sees_itself());
        client
    }

    /// A place to stand, as clients ask for it.
    pub(crate) fn spot(&self, place: PlaceId, x: f32, y: f32) -> Spot {
        Spot { place, position: Vec3::new(x, y, GROUND_M + 1.0), look_at: Vec3::X }
    }

    /// Avatars without clients, in a square around the middle of the harbour, that walk.
    pub(crate) fn crowd(&mut self, n: u64) {
        for at in 0..n {
            let session = SessionKey(CROWD + self.crowd);
            self.crowd += 1;
            let enter = Enter {
                agent: AgentId(Uuid::from_u128(u128::from(session.0))),
                first_name: format!("Walker{at}"),
                last_name: "Resident".into(),
                position: Vec3::new(20.0 + (at % 25) as f32 * 8.0, 20.0 + (at / 25) as f32 * 8.0, 22.0),
                look_at: Vec3::X,
                flying: false,
                appearance: None,
            };
            let control =
                Control { flags: ControlFlags::AT_POS, body_rotation: Quat::from_rotation_z(at as f32) };
            for (sequence, action) in [(0, Action::Enter(Box::new(enter))), (1, Action::Control(control))] {
                self.regions[0].commands.push(Command::by_session(session, sequence, action));
            }
        }
    }

    /// Puts a change of objects into the next frame of a place's world.
    pub(crate) fn publish(&mut self, place: PlaceId, change: ObjectChange) {
        self.regions[place.0 as usize].object_changes.push(change);
    }

    /// Gives a command of the node to a place's world.
    pub(crate) fn order(&mut self, place: PlaceId, action: Action) {
        self.order_for(place, SessionKey::NODE, action);
    }

    /// The same for a session there.
    pub(crate) fn order_for(&mut self, place: PlaceId, session: SessionKey, action: Action) {
        let sequence = CommandSeries::Edits.first() + self.commands.len() as u64;
        let region = &mut self.regions[place.0 as usize];
        let command = Command::by_node(session, sequence, action);
        self.commands.push((region.scene.world, command.clone()));
        region.commands.push(command);
    }

    /// A place's world panics in a step and restarts: its newest checkpoint is 4 s old at most. The commands in its inbox are lost.
    pub(crate) fn panic(&mut self, place: PlaceId) {
        self.panics += 1;
        let region = &mut self.regions[place.0 as usize];
        region.life.begin_again(1);
        region.commands = self.hub.census_of(region.scene.world).dismissals(region.life.world().sessions());
    }

    /// Lets a world panic at such a command, this number of times.
    pub(crate) fn poison(&mut self, times: usize, poison: fn(&Action) -> bool) {
        self.poison = poison;
        self.poisoned = times;
    }

    /// Dismisses the avatars without a session in a place, as is done for a while after a restart.
    pub(crate) fn dismiss(&mut self, place: PlaceId) {
        let region = &mut self.regions[place.0 as usize];
        region
            .commands
            .extend(self.hub.census_of(region.scene.world).dismissals(region.life.world().sessions()));
    }

    /// Sessions in a place that its replica does not show.
    pub(crate) fn n_missing(&self, place: PlaceId) -> usize {
        let scene = &self.regions[place.0 as usize].scene;
        let replica = scene.feed.current();
        self.hub.census_of(scene.world).n_missing(|session| replica.of_session(session).is_some())
    }

    /// Lets time pass until a place's world has just taken a checkpoint.
    pub(crate) fn await_checkpoint(&mut self) {
        let period = Life::CHECKPOINT_PERIOD.as_nanos() as u64;
        let next = Instant((self.now.0 / period + 1) * period);
        self.run_for(next - self.now + Duration::from_millis(100));
    }

    /// Number of avatars in a world.
    pub(crate) fn avatars_in(&self, place: PlaceId) -> usize {
        self.regions[place.0 as usize].life.world().n_avatars()
    }

    /// Position of a user's avatar in a place.
    pub(crate) fn position_in(&self, place: PlaceId, name: &str) -> Option<Vec3> {
        let replica = self.regions[place.0 as usize].scene.feed.current();
        replica.entities().find(|(_, _, slot)| slot.agent == agent(name)).map(|(_, hot, _)| hot.position)
    }

    /// Distance in metres between a user's avatar as a client extrapolates it, and as it moves in a place's world.
    pub(crate) fn shown_error_m(&self, client: usize, place: PlaceId, name: &str) -> f32 {
        let replica = self.regions[place.0 as usize].scene.feed.current();
        let slot = replica.of_agent(agent(name)).expect("it is in the world");
        let motion = replica.slot(slot).expect("looked up").motion;
        let place = motion.position + motion.velocity * self.now.since(replica.at).as_secs_f32();
        let seen = self.clients[client].sees(name).expect("it is shown");
        place.distance(seen.position + seen.velocity * self.now.since(seen.at).as_secs_f32())
    }

    /// Position of every avatar in a place, by local id.
    pub(crate) fn positions_in(&self, place: PlaceId) -> BTreeMap<u32, Vec3> {
        let replica = self.regions[place.0 as usize].scene.feed.current();
        replica.entities().map(|(_, hot, _)| (hot.id, hot.position)).collect()
    }

    /// Accounts and inventories.
    pub(crate) fn store(&mut self) -> &Store {
        self.store.get_or_insert_with(store)
    }

    /// Static objects of a region.
    pub(crate) fn scenery(&self, place: PlaceId) -> &Scenery {
        &self.places.get(place).ground().scenery
    }

    pub(crate) fn run_for(&mut self, duration: Duration) {
        let end = self.now + duration;
        while self.now < end {
            self.step();
        }
    }

    pub(crate) fn run_ms(&mut self, ms: u64) {
        self.run_for(Duration::from_millis(ms));
    }

    /// Time of the next frame of all worlds.
    pub(crate) fn next_frame_at(&self) -> Instant {
        let tick = STEP * STEPS_PER_TICK as u32;
        Instant((self.steps / STEPS_PER_TICK + 1) * tick.as_nanos() as u64)
    }

    /// Lets time pass until something is so.
    pub(crate) fn run_until(&mut self, is_so: impl Fn(&Self) -> bool) {
        let end = self.now + Duration::from_secs(60);
        while !is_so(self) {
            assert!(self.now < end, "not within a minute");
            self.step();
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        self.steps += 1;
        let arrived: Vec<_> = self.up.extract_if(.., |(at, ..)| *at <= self.now).collect();
        for (_, address, bytes) in arrived {
            self.deliver_up(address, &bytes);
        }
        if self.steps.is_multiple_of(STEPS_PER_TICK) {
            self.step_worlds();
        }
        for index in 0..self.shards.len() {
            let mut is_due = self.keeps_up || [0, 5].contains(&(self.steps % 15));
            // A thread that does not keep up never waits.
            let cpu = if self.keeps_up {
                CpuTime { used: Duration::ZERO, idle: STEP }
            } else {
                CpuTime { used: STEP, idle: Duration::ZERO }
            };
            self.shards[index].handle_cpu_time(self.now, cpu);
            while is_due {
                let goes_on = self.shards[index].poll(self.now, &mut self.out);
                self.deliver_down();
                let due = self.shards[index].poll_timeout().is_some_and(|due| due <= self.now);
                is_due = goes_on || due && self.keeps_up;
            }
        }
        if self.steps.is_multiple_of(200) {
            self.hub.handle_timeout(self.now);
        }
        self.relay();
        for client in &mut self.clients {
            client.handle_timeout(self.now);
            for (address, bytes) in client.take_datagrams(self.now) {
                if !self.loss.takes(TransferDirection::Up, &bytes) {
                    let is_ack = number_of(&bytes) == Some(wire::messages::PacketAck::NUMBER);
                    let delay = if is_ack { self.ack_delay } else { Duration::ZERO };
                    self.up.push((self.now + delay, address, bytes));
                }
            }
        }
    }

    /// Hands a datagram to the shard that the client's address belongs to.
    pub(crate) fn deliver_up(&mut self, address: CircuitAddress, bytes: &[u8]) {
        let shard = usize::from(address.remote.port()) % self.shards.len();
        self.shards[shard].handle_datagram(self.now, address, bytes, &mut self.out);
        self.deliver_down();
    }

    fn deliver_down(&mut self) {
        for (address, bytes) in self.out.packets() {
            if self.loss.takes(TransferDirection::Down, bytes) {
                continue;
            }
            let client = self.clients.iter_mut().find(|client| client.address() == address);
            if let Some(client) = client {
                client.receive(self.now, bytes);
            }
        }
        self.out.clear();
    }

    fn step_worlds(&mut self) {
        let arrives_at = self.steps + self.lag_ticks * STEPS_PER_TICK;
        for shard in &mut self.shards {
            for (world, command) in shard.commands().drain(..) {
                self.commands.push((world, command.clone()));
                self.lagging.push_back((arrives_at, world, command));
            }
        }
        while let Some((_, world, command)) = self.lagging.pop_front_if(|(at, ..)| *at <= self.steps) {
            // A world that has ended takes none.
            if let Some(region) = self.regions.iter_mut().find(|region| region.scene.world == world) {
                region.commands.push(command);
            }
        }
        let tick = Tick(self.steps / STEPS_PER_TICK);
        for index in 0..self.regions.len() {
            let is_poison = |command: &Command| (self.poison)(&command.action);
            if self.poisoned > 0 && self.regions[index].commands.iter().any(is_poison) {
                self.poisoned -= 1;
                self.panic(PlaceId(index as u16));
            }
            let events = self.regions[index].step(self.now, tick);
            if !events.is_empty() {
                self.send_events(self.regions[index].scene.world, events);
            }
            let news = self.regions[index].disk.as_mut().map(RegionDisk::take_news);
            let DiskNews { items, ended } = news.unwrap_or_default();
            self.hub.send_notices(transfer_notices(&items));
            for (circuit, end, answer) in ended {
                self.end_world_order(circuit, end, &answer);
            }
            let world = self.regions[index].scene.world;
            while let Some(news) =
                self.regions[index].disk.as_mut().and_then(|disk| disk.keeper().poll_worn())
            {
                self.wardrobe.take_news(self.now, world, news, &mut Saved(&mut self.regions));
            }
        }
        self.wardrobe.drive(self.now, &mut Saved(&mut self.regions));
    }

    /// Hands orders of a client to the keepers of their regions.
    pub(crate) fn order_in_worlds(&mut self, circuit: CircuitKey, orders: Vec<WorldOrder>) {
        for order in orders {
            let end = order.end;
            let region = self.regions.iter_mut().find(|region| region.scene.world == order.region);
            let answer = match region.and_then(|region| region.disk.as_mut()) {
                Some(disk) => disk.order(circuit, order).err(),
                None => Some(WorldAnswer::NotSent("The region is not saved.".into())),
            };
            if let Some(answer) = answer {
                self.end_world_order(circuit, end, &answer);
            }
        }
    }

    fn end_world_order(&mut self, circuit: CircuitKey, end: WorldOrderEnd, answer: &WorldAnswer) {
        let replies = end_world_order(self.store.get_or_insert_with(store), end, answer);
        self.hub.handle_world_end(circuit, &end, replies);
    }

    /// Sends events of a world to all shards.
    pub(crate) fn send_events(&mut self, world: WorldId, events: Vec<Event>) {
        let mail = ToShard::Events(world, events.into());
        for shard in 0..self.shards.len() {
            self.hand_mail(shard, mail.clone());
        }
    }

    fn hand_mail(&mut self, shard: usize, mail: ToShard) {
        self.shards[shard].handle(self.now, mail, &mut self.out);
        self.deliver_down();
    }

    /// Carries mail between hub and shards until there is none.
    pub(crate) fn relay(&mut self) {
        loop {
            let mut is_quiet = true;
            for index in 0..self.shards.len() {
                for mail in std::mem::take(self.shards[index].mail()) {
                    is_quiet = false;
                    self.mail.push(mail.clone());
                    self.hub.handle(self.now, ShardIndex(index as u16), mail);
                }
            }
            while let Some(lookup) = self.hub.poll_lookup() {
                let store = self.store.get_or_insert_with(store);
                let answer = lookup.read(store, &self.assets).expect("a database in memory");
                self.hub.handle_answer(&lookup, answer);
            }
            while let Some(order) = self.hub.poll_inventory() {
                if order.task.is_of_server() && self.store.is_none() {
                    // Nothing waits for users.
                    self.hub.refuse_inventory(&order);
                    continue;
                }
                let store = self.store.get_or_insert_with(store);
                let parts = InventoryParts { store, assets: &self.assets };
                match order.carry_out(parts, START_S.cast_signed()) {
                    Ok(mut replies) => {
                        let orders = std::mem::take(&mut replies.orders);
                        for order in std::mem::take(&mut replies.wardrobe) {
                            self.wardrobe.take_order(self.now, order, &mut Saved(&mut self.regions));
                        }
                        while let Some((world, answer)) = self.wardrobe.poll_answer() {
                            self.send_events(world, vec![answer]);
                        }
                        self.hub.handle_inventory_reply(&order, replies);
                        self.order_in_worlds(order.circuit, orders);
                    }
                    // Few users have accounts.
                    Err(_) => self.hub.refuse_inventory(&order),
                }
            }
            while let Some((address, mail)) = self.hub.poll_output() {
                is_quiet = false;
                match address {
                    hub::Address::One(shard) => self.hand_mail(usize::from(shard.0), mail),
                    hub::Address::All => {
                        for shard in 0..self.shards.len() {
                            self.hand_mail(shard, mail.clone());
                        }
                    }
                }
            }
            while let Some(record) = self.hub.poll_record() {
                self.records.push(record);
            }
            self.orders.extend(std::iter::from_fn(|| self.hub.poll_order()));
            self.restarts.extend(std::iter::from_fn(|| self.hub.poll_restart()));
            if is_quiet {
                return;
            }
        }
    }

    /// Refused and dropped by all shards for this reason.
    pub(crate) fn drops(&self, label: &str) -> u64 {
        let of = |shard: &Shard| -> u64 {
            shard.counters().drops().filter(|(name, _)| *name == label).map(|(_, n)| n).sum()
        };
        self.shards.iter().map(of).sum()
    }
}

/// The account of a user.
pub(crate) fn agent(name: &str) -> AgentId {
    let mut bytes = [0; 16];
    for (byte, letter) in bytes.iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    AgentId(Uuid::from_bytes(bytes))
}

/// A world's refusal, as a shard hears it.
pub(crate) const FULL: EntryRefusal = EntryRefusal::Full;
