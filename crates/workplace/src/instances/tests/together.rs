//! Instances created, entered, left and ended by several threads at once: what holds in any order.
//!
//! Hub, registry, inboxes and pool are the real ones. A thread takes the part of a shard with willing clients: an avatar that is sent somewhere arrives,
//! unless an instance refuses it.

use super::*;
use gateway::hub::Login;
use gateway::mail::{Closed, FromShard, Request, ShardIndex, Spot, ToShard};
use gateway::places::PlaceId;
use gateway::sessions::{Mailbox, TakeOrder};
use ids::Incarnation;
use link::EntryRefusal as WorldRefusal;
use link::{CircuitKey, TravelOrder};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

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

/// Place of each user's avatar, as the shard knows it.
type Standing = Arc<Mutex<BTreeMap<AgentId, (CircuitKey, WorldId)>>>;

struct Hall {
    worlds: Worlds,
    instances: Arc<Instances>,
    threads: InstanceThreads,
    time_ms: Arc<AtomicU64>,
    standing: Standing,
    mailbox: SyncSender<ToShard>,
    shard: JoinHandle<()>,
    /// Every instance that was created.
    made: Mutex<Vec<(Uuid, WorldId)>>,
    _data: TempDir,
}

fn config() -> TestConfig {
    let template =
        |name, size_m, portals| TestTemplate { size_m, max_avatars: 3, portals, ..TestTemplate::new(name) };
    let mut config = super::config(&[], ACTIVE_MAX);
    config.templates = vec![template("Cave", 256, vec![PortalTo::Back]), template("Plain", 512, Vec::new())];
    config.limits.instances_max = INSTANCES_MAX;
    config.limits.portal_max = INSTANCES_MAX;
    config.limits.suspend_after = Duration::ZERO;
    config
}

impl Hall {
    fn start(seed: u64) -> Self {
        Self::start_with(seed, None)
    }

    /// Orders of the hub are carried out, or caught.
    fn start_with(seed: u64, caught: Option<SyncSender<TravelOrder>>) -> Self {
        let config = config();
        let time_ms = Arc::new(AtomicU64::new(100_000));
        let now = Arc::clone(&time_ms);
        let clock: Clock = Arc::new(move || Instant::from_millis(now.fetch_add(1, Ordering::Relaxed)));
        let mut entropy = Dice(seed);
        let entropy = move || {
            let mut bytes = [0; 16];
            bytes.fill_with(|| entropy.roll(256) as u8);
            bytes
        };
        let (mailbox, mail) = sync_channel(1 << 16);
        let data = tempfile::tempdir().expect("a directory");
        let started = StartUp {
            config: &config,
            url: url(&data),
            clock: Arc::clone(&clock),
            portals: ["Cave", "Plain"],
            sessions_max: 100,
            arrival_timeout: Duration::from_secs(1_000_000_000),
            entropy: Box::new(entropy),
            shards: vec![Mailbox { sender: mailbox.clone(), wake: Box::new(|| {}) }],
            orders: caught.map(|caught| -> TakeOrder { Box::new(move |order| caught.try_send(order)) }),
            model: None,
        };
        let Started { instances, threads, sessions, worlds, .. } = started.start();
        let standing = Standing::default();
        let shard = Shard {
            sessions,
            clock,
            standing: Arc::clone(&standing),
            agents: BTreeMap::new(),
            dice: Dice(seed),
        };
        let shard = std::thread::spawn(move || shard.run(&mail));
        Self {
            worlds,
            instances,
            threads,
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
        };
        let now = (self.instances.clock)();
        self.instances.sessions.with(|hub| hub.login(now, login)).expect("there is room");
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
        let done = match dice.roll(12) {
            0 | 1 => {
                let template = if dice.roll(2) == 0 { "Cave" } else { "Plain" };
                self.create(template, (dice.roll(2) == 0).then_some(user));
                Ok(())
            }
            2 => self.instances.end(id),
            3..6 => self.instances.enter(id, &who, None).map(|_| ()),
            6 => self.instances.leave(&who).map(|_| ()),
            7 | 8 => self.instances.suspend(id),
            9 => {
                self.instances.workplace.write_once(Instant(u64::MAX));
                Ok(())
            }
            _ => {
                let standing = self.standing.lock().unwrap().get(&user).copied();
                if let Some((circuit, world)) = standing {
                    let walked = FromShard::Request(circuit, Request::Portal { world, number: 0 });
                    let now = (self.instances.clock)();
                    self.instances.sessions.with(|hub| hub.handle(now, ShardIndex(0), walked));
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
        self.instances.sessions.with(|hub| worlds.into_iter().map(|world| hub.n_in(world)).sum())
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
                    self.tell(FromShard::Opened(ticket.circuit));
                    self.let_in(ticket.circuit, ticket.world);
                }
                ToShard::Switch { circuit, world, .. } => {
                    self.tell(FromShard::Left { circuit, spot: None });
                    self.let_in(circuit, world);
                }
                ToShard::Close(circuit, _) => {
                    let agent = self.agents[&circuit];
                    let why = Closed::Asked;
                    self.tell(FromShard::Closed { circuit, why, agent, spot: None, next_sequence: 1 });
                }
                ToShard::Revoke(circuit) if circuit.session == SessionKey(u64::MAX) => return,
                _ => {}
            }
        }
    }

    fn let_in(&mut self, circuit: CircuitKey, world: WorldId) {
        let Some(scene) = self.sessions.places().scene(world) else { return };
        if !scene.is_shared && self.dice.roll(4) == 0 {
            self.tell(FromShard::Refused(circuit, world, WorldRefusal::Full));
            return;
        }
        self.standing.lock().unwrap().insert(self.agents[&circuit], (circuit, world));
        self.tell(FromShard::Arrived(circuit, world));
    }

    fn tell(&self, mail: FromShard) {
        let now = (self.clock)();
        self.sessions.with(|hub| hub.handle(now, ShardIndex(0), mail));
    }
}

#[test]
fn under_concurrent_requests_each_user_is_in_one_world_and_ended_instances_leave_nothing() {
    for seed in 1..=6 {
        let node = Hall::start(seed);
        (0..USERS).for_each(|user| node.log_in(user));
        let regions = || [WorldId(1), WorldId(2)];
        node.wait_until("everybody is in", || node.standing.lock().unwrap().len() == USERS as usize);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let node = &node;
                let mut dice = Dice(seed << 32 | thread);
                scope.spawn(move || (0..OPERATIONS).for_each(|_| node.act(&mut dice)));
            }
        });
        // Orders of portals may still be under way.
        node.wait_until("all instances have ended", || {
            for (id, world) in node.known() {
                node.made.lock().unwrap().push((id, world));
                let ended = node.instances.end(id);
                let is_over = matches!(
                    ended,
                    Ok(()) | Err(Refusal::Instance(InstanceRefusal::Ended | InstanceRefusal::NoInstance(_)))
                );
                assert!(is_over, "{ended:?}");
            }
            node.n_in(regions()) == USERS as usize && node.known().is_empty()
        });
        let made: BTreeSet<(Uuid, WorldId)> = node.made.lock().unwrap().iter().copied().collect();
        let in_those = || node.n_in(made.iter().map(|(_, world)| *world));
        node.wait_until(&format!("everybody is in a region, seed {seed}"), || {
            node.n_in(regions()) == USERS as usize && in_those() == 0
        });
        assert!(made.len() > 20, "{} instances", made.len());
        assert_eq!(node.instances.sessions.with(|hub| hub.n_sessions()), USERS as usize);
        assert!(node.known().is_empty());
        for &(id, world) in &made {
            assert!(node.instances.get(id).is_err());
            node.wait_until(&format!("{world:?} has an inbox still"), || {
                node.worlds.inboxes.of(world).is_none()
            });
        }
        node.wait_until("some are in the pool still", || node.worlds.watch().instances().n == 0);
        node.stop();
    }
}

#[test]
fn of_concurrent_ends_one_succeeds_and_of_concurrent_creations_by_an_owner_one_succeeds() {
    let node = Hall::start(1);
    for _ in 0..20 {
        let owner = Some(agent(1));
        let together = |act: &(dyn Fn() -> bool + Sync)| {
            std::thread::scope(|scope| {
                let all: Vec<_> = (0..THREADS).map(|_| scope.spawn(act)).collect();
                all.into_iter().filter_map(|one| one.join().ok()).filter(|&did| did).count()
            })
        };
        let n_made = together(&|| node.instances.create(order("Cave", owner)).is_ok());
        let own = node.known();
        assert_eq!((n_made, own.len()), (1, 1));
        let id = own[0].0;
        assert_eq!(together(&|| node.instances.end(id).is_ok()), 1);
    }
    node.stop();
}

#[test]
fn an_order_for_an_avatar_that_has_gone_elsewhere_creates_no_world() {
    let (caught, ordered) = sync_channel(16);
    let node = Hall::start_with(3, Some(caught));
    node.log_in(0);
    node.wait_until("the user is in", || !node.standing.lock().unwrap().is_empty());
    let (circuit, world) = node.standing.lock().unwrap()[&agent(0)];
    let walked = FromShard::Request(circuit, Request::Portal { world, number: 0 });
    node.instances.sessions.with(|hub| hub.handle(Instant::from_millis(1), ShardIndex(0), walked));
    let order = ordered.try_recv().expect("an order");
    // The instance may refuse; then the next one is tried.
    node.wait_until("the user is elsewhere", || {
        node.create("Cave", None);
        let id = node.known()[0].0;
        let _ = node.instances.enter(id, &Who::Agent(agent(0).0), None);
        node.standing.lock().unwrap()[&agent(0)].1 != world
    });
    let n = node.known().len();
    node.instances.mail.send(InstanceMail::Order(order)).expect("the driver runs");
    // Handled after the order.
    let listed = node.instances.list().expect("the driver runs");
    assert_eq!(listed.len(), n);
    assert!(listed.iter().all(|listed| listed.summary.row.owner.is_none()));
    node.stop();
}

#[test]
fn a_dismissed_visitor_goes_back_and_one_outside_is_refused() {
    let node = Hall::start(5);
    node.log_in(0);
    node.wait_until("the user is in", || !node.standing.lock().unwrap().is_empty());
    let who = Who::Agent(agent(0).0);
    let stands_in = || node.standing.lock().unwrap()[&agent(0)].1;
    let region = stands_in();
    node.wait_until("the hub knows it", || node.n_in([region]) == 1);
    let outside = node.instances.leave(&who);
    assert!(matches!(outside, Err(Refusal::Passage(PassageRefusal::Outside))), "{outside:?}");
    node.create("Cave", None);
    let (id, cave) = node.known()[0];
    // The instance may refuse; then the visitor tries again.
    node.wait_until("the user is in the instance", || {
        let _ = node.instances.enter(id, &who, None);
        stands_in() == cave && node.n_in([cave]) == 1
    });
    node.instances.leave(&who).expect("the visitor is dismissed");
    node.wait_until("the user is back", || stands_in() == region && node.n_in([region]) == 1);
    assert_eq!(node.n_in([cave]), 0);
    node.stop();
}

#[test]
fn an_invitation_resumes_no_world_for_an_avatar_that_has_teleported_since() {
    let node = Hall::start(4);
    node.log_in(0);
    node.wait_until("the user is in", || !node.standing.lock().unwrap().is_empty());
    let (circuit, _) = node.standing.lock().unwrap()[&agent(0)];
    node.create("Cave", None);
    let (id, world) = node.known()[0];
    let state = || node.instances.get(id).expect("it is there").summary.phase;
    node.instances.suspend(id).expect("nobody is in it");
    let follow = |ticket: u32| {
        let circuit = CircuitKey { ticket, ..circuit };
        InstanceMail::Order(TravelOrder::Enter { circuit, world, position: Vec3::splat(30.0) })
    };
    node.instances.mail.send(follow(circuit.ticket + 1)).expect("the driver runs");
    assert_eq!(state(), "suspended");
    node.instances.mail.send(follow(circuit.ticket)).expect("the driver runs");
    node.wait_until("it is resumed", || state() == "active");
    node.stop();
}
