//! A host with instances and its gateway in one process: hub, registry, inboxes and pool are the real ones. A thread takes the part of a
//! shard with willing clients: an avatar that is sent somewhere arrives, unless an instance refuses it.

mod scenes;
mod together;

use super::*;
use crate::serve::faults::Fuses;
use crossbeam_channel::bounded;
use gateway::hub::{Hub, HubConfig, Login};
use gateway::mail::{Closed, FromShard, Request, ShardIndex, Spot, ToShard};
use gateway::places::{PlaceId, PlaceSettings};
use gateway::sessions::{Mailbox, TakeOrder};
use host::local_ids::LocalIdSpace;
use host::registry::{InstanceRefusal, RegistryConfig};
use ids::{Epoch, Incarnation, Uuid};
use link::{
    CircuitKey, EntryRefusal as WorldRefusal, GroundSpec, HostNumber, Portal, PortalTo, StoredObjects,
    Terrain, shared_local_ids,
};
use region_threads::replicas::FrameQueue;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use store::{Store, StoreUrl};
use telemetry::recorder::Recorder;
use telemetry::{LockWait, Metrics};
use tempfile::TempDir;
use workplace::Clock;
use workplace::instances::{
    InstanceMailbox, InstanceOrder, InstanceStore, InstanceThreads, Instances, InstancesConfig, Refusal,
    Template, WorkplaceParts, start,
};
use workplace::worlds::{self, WorldStart, Worlds};

const USERS: u128 = 10;
const INSTANCES_MAX: usize = 5;
const ACTIVE_MAX: usize = 3;
const THREADS: u64 = 4;
const OPERATIONS: u32 = 300;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    /// From 0 up to `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % sides
    }
}

fn hub(places: Arc<Places>, seed: u64) -> Hub {
    let mut dice = Dice(seed);
    let entropy = move || {
        let mut bytes = [0; 16];
        bytes.fill_with(|| dice.roll(256) as u8);
        bytes
    };
    let config = HubConfig {
        udp_ports: (9_000..9_016).collect(),
        http_port: 9_000,
        sessions_max: 100,
        arrival_timeout: Duration::from_secs(1_000_000_000),
    };
    Hub::new(config, places, Box::new(entropy))
}

/// Place of each user's avatar, as the shard knows it.
type Standing = Arc<Mutex<BTreeMap<AgentId, (CircuitKey, WorldId)>>>;

struct Hall {
    worlds: Worlds,
    gateway: Arc<LocalGateway>,
    instances: Arc<Instances>,
    /// Gives the driver an order, as the hub does.
    order: TakeOrder,
    threads: InstanceThreads,
    clock: Clock,
    time_ms: Arc<AtomicU64>,
    standing: Standing,
    mailbox: SyncSender<ToShard>,
    shard: JoinHandle<()>,
    /// Every instance that was created.
    made: Mutex<Vec<(Uuid, WorldId)>>,
    _data: TempDir,
}

fn ground(size_m: u32) -> Arc<GroundSpec> {
    Arc::new(GroundSpec::new(Arc::new(Terrain::flat(size_m, 22.0)), Arc::default(), 20.0))
}

fn portal(to: PortalTo) -> Arc<[Portal]> {
    Arc::new([Portal { at: Vec3::new(20.0, 20.0, 22.0), radius_m: 1.0, to }])
}

fn template(name: &str, size_m: u32, portals: Arc<[Portal]>) -> Template {
    Template {
        name: name.into(),
        ground: ground(size_m),
        portals,
        cast: None,
        script: None,
        max_avatars: 3,
        hz: 20,
        keep: None,
    }
}

/// Two regions, each with a portal to its template.
fn regions() -> Places {
    let region = |(n, name, size_m, template): (u32, &str, u32, &str)| {
        let (world, encoded_ground) = (WorldId(n + 1), Arc::new(EncodedGround::new(ground(size_m))));
        let spec = WorldSpec {
            world,
            epoch: Epoch(0),
            is_shared: true,
            name: name.into(),
            max_avatars: 100,
            max_objects: 0,
            hz: 20,
            local_ids: shared_local_ids(world),
            ground: Arc::clone(encoded_ground.spec()),
            portals: portal(PortalTo::Own(template.into())),
            seed: n.into(),
            cache_id: Uuid::nil(),
        };
        PlaceSettings { grid: (1_000 + 10 * n, 1_000), spec, ground: encoded_ground }
    };
    let regions = [(0, "Harbour", 256, "Cave"), (1, "Meadows", 512, "Plain")];
    Places::new(regions.into_iter().map(region).collect())
}

const LIMITS: RegistryConfig = RegistryConfig {
    instances_max: INSTANCES_MAX,
    portal_max: INSTANCES_MAX,
    per_user_max: 0,
    active_max: ACTIVE_MAX,
    suspend_after: Duration::ZERO,
    host: HostNumber(0),
    local_ids: LocalIdSpace::INSTANCES,
    unix_start_s: 1_700_000_000,
};

impl Hall {
    fn start(seed: u64) -> Self {
        Self::start_with(seed, None)
    }

    /// Orders of the hub are carried out, or caught.
    fn start_with(seed: u64, caught: Option<SyncSender<TravelOrder>>) -> Self {
        let time_ms = Arc::new(AtomicU64::new(100_000));
        let now = Arc::clone(&time_ms);
        let clock: Clock = Arc::new(move || Instant::from_millis(now.fetch_add(1, Ordering::Relaxed)));
        let metrics = Arc::new(Metrics::new());
        let mut fuses = Fuses::default();
        let (places, frames) = (Arc::new(regions()), FrameQueue::new());
        let shared = places.iter().map(|place| WorldStart {
            spec: Arc::clone(place.scene.spec()),
            objects: StoredObjects::default(),
            land: None,
            outlet: frames.outlet(),
        });
        let worlds = worlds::start(2, shared.collect(), &clock, &metrics, Recorder::off(), &mut fuses)
            .expect("threads");

        let instance_mail = InstanceMailbox::new();
        let orders: TakeOrder = match caught {
            Some(caught) => Box::new(move |order| caught.try_send(order)),
            None => instance_mail.take_orders(),
        };
        let (mailbox, mail) = sync_channel(1 << 16);
        let shard = Mailbox { sender: mailbox.clone(), wake: Box::new(|| {}) };
        let (records, lookups, inventory) = (sync_channel(10).0, sync_channel(1).0, bounded(1).0);
        let hub = hub(places, seed);
        let wait = LockWait::default();
        let sessions = Sessions::new(hub, vec![shard], records, orders, lookups, inventory, wait);
        let sessions = Arc::new(sessions);

        let data = tempfile::tempdir().expect("a directory");
        let store = Store::open(&StoreUrl::of_directory(data.path())).expect("a database");
        let store = InstanceStore::open(store, fuses.at("instances"), &clock, &metrics);
        let (instance_store, known) = store.expect("instances");
        let gateway = Arc::new(LocalGateway::new(&sessions, true, worlds.long()));
        let order = instance_mail.take_orders();
        let (instances, _, threads) = start(InstancesConfig {
            limits: LIMITS,
            known,
            mailbox: instance_mail,
            gateway: Arc::clone(&gateway) as _,
            parts: WorkplaceParts {
                templates: vec![
                    template("Cave", 256, portal(PortalTo::Back)),
                    template("Plain", 512, Arc::default()),
                ],
                instance_store: &instance_store,
                inboxes: &worlds.inboxes,
                pool: worlds.workplace(),
                long: worlds.long(),
                gateway: Arc::clone(&gateway) as _,
                clock: &clock,
                metrics: &metrics,
            },
            metrics: &metrics,
            unix_start_s: LIMITS.unix_start_s.cast_unsigned(),
            recorder: Recorder::off(),
        })
        .expect("threads");

        let standing = Standing::default();
        let shard = Shard {
            sessions: Arc::clone(&sessions),
            clock: Arc::clone(&clock),
            standing: Arc::clone(&standing),
            agents: BTreeMap::new(),
            dice: Dice(seed),
        };
        let shard = std::thread::spawn(move || shard.run(&mail));
        Self {
            worlds,
            gateway,
            instances,
            order,
            threads,
            clock,
            time_ms,
            standing,
            mailbox,
            shard,
            made: Mutex::default(),
            _data: data,
        }
    }

    fn log_in(&self, user: u128) {
        let login = Login {
            incarnation: Incarnation(0),
            agent: agent(user),
            first_name: "User".into(),
            last_name: user.to_string().into(),
            server_ip: Ipv4Addr::LOCALHOST,
            start: Spot { place: PlaceId(user as u16 % 2), position: Vec3::splat(30.0), look_at: Vec3::X },
            home: None,
            wearables: Arc::from([]),
            look: None,
        };
        let now = (self.clock)();
        self.sessions().with(|hub| hub.login(now, login)).expect("there is room");
    }

    fn sessions(&self) -> &Sessions {
        &self.gateway.sessions
    }

    fn create(&self, template: &str, owner: Option<AgentId>) {
        match self.instances.create(order(template, owner)) {
            // It may have ended already.
            Ok((id, _)) => {
                let made = self.instances.get(id).map(|made| (id, made.summary.world));
                self.made.lock().unwrap().extend(made);
            }
            Err(Refusal::Instance(InstanceRefusal::Full(_) | InstanceRefusal::Owned)) => {}
            Err(why) => panic!("{why}"),
        }
    }

    /// Instances that exist, with their worlds.
    fn known(&self) -> Vec<(Uuid, WorldId)> {
        let listed = self.instances.list().expect("the driver runs").into_iter();
        listed.map(|listed| (listed.summary.row.id, listed.summary.world)).collect()
    }

    /// One thing that an operator or a user may do.
    fn act(&self, dice: &mut Dice) {
        // A port rests for a minute after a teleport.
        self.time_ms.fetch_add(100_000, Ordering::Relaxed);
        let user = agent(u128::from(dice.roll(USERS as u64)));
        let who = Who::Agent(user.0);
        let known = self.known();
        // Portals make some, too.
        self.made.lock().unwrap().extend(&known);
        assert!(known.len() <= INSTANCES_MAX, "{}", known.len());
        // Sometimes an ended one.
        let id = known.get(dice.roll(known.len() as u64 + 1) as usize).map_or(Uuid::nil(), |known| known.0);
        let done = match dice.roll(11) {
            0 | 1 => {
                let template = if dice.roll(2) == 0 { "Cave" } else { "Plain" };
                self.create(template, (dice.roll(2) == 0).then_some(user));
                Ok(())
            }
            2 => self.instances.end(id),
            3..6 => self.instances.enter(id, &who, None).map(|_| ()),
            6 => self.instances.leave(&who).map(|_| ()),
            7 | 8 => self.instances.suspend(id),
            _ => {
                let standing = self.standing.lock().unwrap().get(&user).copied();
                if let Some((circuit, world)) = standing {
                    let walked = FromShard::Request(circuit, Request::Portal { world, number: 0 });
                    let now = (self.clock)();
                    self.sessions().with(|hub| hub.handle(now, ShardIndex(0), walked));
                }
                Ok(())
            }
        };
        match done {
            Ok(())
            | Err(
                Refusal::Instance(
                    InstanceRefusal::NoInstance(_)
                    | InstanceRefusal::Ended
                    | InstanceRefusal::ActiveFull(_)
                    | InstanceRefusal::InUse,
                )
                | Refusal::Passage(_),
            ) => {}
            Err(why) => panic!("{why}"),
        }
    }

    /// Sessions that are in one of these worlds.
    fn n_in(&self, worlds: impl IntoIterator<Item = WorldId>) -> usize {
        self.sessions().with(|hub| worlds.into_iter().map(|world| hub.n_in(world)).sum())
    }

    /// Waits until something is so, which must come to be so by itself.
    #[expect(clippy::disallowed_methods, reason = "a test that waits for ever says nothing")]
    fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = std::time::Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::yield_now();
        }
    }

    fn stop(self) {
        self.mailbox.send(END).expect("the shard runs");
        self.shard.join().expect("the shard did not panic");
        let (rest, n_unsaved) = self.threads.save_all(Vec::new());
        assert_eq!(n_unsaved, 0, "everything can be saved");
        self.worlds.stop();
        rest.stop();
    }
}

fn order(template: &str, owner: Option<AgentId>) -> InstanceOrder {
    InstanceOrder { template: template.into(), owner, ..InstanceOrder::default() }
}

fn agent(user: u128) -> AgentId {
    AgentId(Uuid::from_u128(user + 1))
}

/// Ends the shard's thread.
const END: ToShard = ToShard::Revoke(CircuitKey { session: SessionKey(u64::MAX), ticket: 0 });

struct Shard {
    sessions: Arc<Sessions>,
    clock: Clock,
    standing: Standing,
    agents: BTreeMap<CircuitKey, AgentId>,
    dice: Dice,
}

impl Shard {
    fn run(mut self, mail: &Receiver<ToShard>) {
        for mail in mail {
            match mail {
                // Its world has ended: the hub is about to revoke it.
                ToShard::Ticket(ticket) if self.sessions.places().scene(ticket.world).is_none() => {}
                ToShard::Ticket(ticket) => {
                    self.agents.insert(ticket.circuit, ticket.agent);
                    self.send_to_hub(FromShard::Opened(ticket.circuit));
                    self.let_in(ticket.circuit, ticket.world);
                }
                ToShard::Switch { circuit, world, .. } => {
                    self.send_to_hub(FromShard::Left { circuit, spot: None });
                    self.let_in(circuit, world);
                }
                ToShard::Close(circuit, _) => {
                    let agent = self.agents[&circuit];
                    let why = Closed::Asked;
                    self.send_to_hub(FromShard::Closed { circuit, why, agent, spot: None, next_sequence: 1 });
                }
                ToShard::Revoke(circuit) if circuit.session == SessionKey(u64::MAX) => return,
                _ => {}
            }
        }
    }

    fn let_in(&mut self, circuit: CircuitKey, world: WorldId) {
        let Some(scene) = self.sessions.places().scene(world) else { return };
        if !scene.is_shared && self.dice.roll(4) == 0 {
            self.send_to_hub(FromShard::Refused(circuit, world, WorldRefusal::Full));
            return;
        }
        self.standing.lock().unwrap().insert(self.agents[&circuit], (circuit, world));
        self.send_to_hub(FromShard::Arrived(circuit, world));
    }

    fn send_to_hub(&self, mail: FromShard) {
        let now = (self.clock)();
        self.sessions.with(|hub| hub.handle(now, ShardIndex(0), mail));
    }
}
