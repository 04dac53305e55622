//! The `hub` thread, which carries shards' mail to the sessions; the `store` thread, which persists their records; the `lookups`
//! thread, which reads the store for clients: names, people, profiles, inventories over UDP; and the `inventory` thread, which changes
//! inventories for them. None delays a shard, and the hub's lock is never held during a query of the store.

use super::addresses::Bound;
use super::estate_restarts::EstateRestarts;
use super::faults::Fuse;
use super::inventories::{self, ORDERS_MAX};
use super::{Clock, ServeError};
use crate::config::Config;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use gateway::hub::{Entropy, Hub, HubConfig, InventoryOrder, Record, StoreLookup};
use gateway::mail::{FromShard, ShardIndex, Spot};
use gateway::places::Places;
use gateway::sessions::{Mailbox, Sessions, TakeOrder};
use grid::asset_sources::AssetSources;
use grid::inventory::InventoryParts;
use grid::pending_places::{MediaHealth, Medium, PendingPlaces};
use ids::WorldId;
use region_threads::keepers::{RestoreOrders, WardrobeOrders};
use region_threads::transfer_figures::TransferFigures;
use region_threads::world_orders::{self, OrderEnds, TransferThread};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use store::{Location, Store, StoreError};
use telemetry::recorder::{Arg, Recorder, Scope, frame_end};
use telemetry::{LockWait, Metrics};

/// Maximum of waiting mail from shards to the hub; a shard keeps messages without room.
const MAIL_MAX: usize = 8_192;
/// Facts that are on their way to the store; others wait in the hub, where an account's newest replaces earlier ones.
const RECORDS_MAX: usize = 16_384;
/// Questions for the store that wait; more are refused and counted.
const LOOKUPS_MAX: usize = 1_024;
/// Messages handled under one lock, so that HTTP handlers get their turn.
const BATCH: usize = 256;
/// Between two probes of the database and of the disk.
const PROBE_PERIOD: Duration = Duration::from_secs(5);
/// Period of the hub's check for avatars that did not arrive.
const HUB_PERIOD: Duration = Duration::from_secs(1);

/// Mail of shards, by the number of messages, with the wait for the hub's lock.
static MAIL: Scope = Scope::new("hub.mail").arg(Arg::Count).limit_us(50_000);
/// Facts that the hub persists, by their number. Only this thread waits for the disk.
static WRITE: Scope = Scope::new("store.write").arg(Arg::Count).limit_us(1_000_000);

/// A write to the database that is taken back, and a file on the disk.
static PROBE: Scope = Scope::new("store.probe").limit_us(1_000_000);

/// Questions of clients to the store; the number is 1.
static LOOK_UP: Scope = Scope::new("hub.lookup").arg(Arg::Count).limit_us(1_000_000);

/// Messages of shards, with their index.
pub(super) type HubMail = (ShardIndex, FromShard);

pub(super) struct SessionThreads {
    pub(super) sessions: Arc<Sessions>,
    pub(super) mail: Sender<HubMail>,
    pub(super) writes: Arc<Writes>,
    hub: JoinHandle<()>,
    store: JoinHandle<()>,
    reader: JoinHandle<()>,
    inventories: JoinHandle<()>,
    records: mpsc::SyncSender<Option<Record>>,
    lookups: mpsc::SyncSender<Option<StoreLookup>>,
    inventory: Sender<Option<InventoryOrder>>,
}

/// Arguments of the threads.
pub(super) struct SessionThreadsConfig<'a> {
    pub(super) config: &'a Config,
    pub(super) places: &'a Arc<Places>,
    pub(super) bound: &'a Bound,
    pub(super) store: &'a Arc<Store>,
    pub(super) assets: &'a Arc<AssetSources>,
    /// Of the shards, by their index.
    pub(super) mailboxes: Vec<Mailbox>,
    pub(super) clock: &'a Clock,
    /// Seconds since 1970 at the clock's zero.
    pub(super) unix_start_s: u64,
    pub(super) metrics: &'a Metrics,
    pub(super) recorder: Recorder,
    pub(super) orders: TakeOrder,
    /// Way of restarts that managers of estates order.
    pub(super) restarts: EstateRestarts,
    /// Way of objects and items into regions.
    pub(super) restores: RestoreOrders,
    /// Way of worn objects to avatars.
    pub(super) wardrobe: WardrobeOrders,
    pub(super) figures: Arc<TransferFigures>,
    pub(super) fuse: Arc<Fuse>,
    pub(super) store_fuse: Arc<Fuse>,
    pub(super) probe: Probe,
}

/// Starts the threads, and that which ends orders for regions: it ends behind the keepers.
pub(super) fn start(start: SessionThreadsConfig<'_>) -> Result<(SessionThreads, TransferThread), ServeError> {
    let SessionThreadsConfig {
        config,
        places,
        bound,
        store,
        assets,
        mailboxes,
        clock,
        unix_start_s,
        metrics,
        recorder,
        orders,
        restarts,
        restores,
        wardrobe,
        figures,
        fuse,
        store_fuse,
        probe,
    } = start;
    let hub_config = HubConfig {
        udp_ports: bound.udp_addrs.iter().map(|addr| addr.port()).collect(),
        http_port: config.server.advertise.http_port.unwrap_or_else(|| bound.http_addr.port()),
        sessions_max: config.gateway.max_sessions as usize,
        arrival_timeout: Duration::from_secs(config.gateway.ticket_s.into()),
    };
    let hub = Hub::new(hub_config, Arc::clone(places), entropy());
    let (records, to_store) = sync_channel(RECORDS_MAX);
    let (lookups, to_reader) = sync_channel(LOOKUPS_MAX);
    let (inventory, to_inventories) = bounded(ORDERS_MAX);
    let lock_wait = LockWait::new(metrics, "hub");
    let sessions = Arc::new(Sessions::new(
        hub,
        mailboxes,
        records.clone(),
        orders,
        lookups.clone(),
        inventory.clone(),
        lock_wait,
    ));
    let (mail, from_shards) = bounded(MAIL_MAX);
    let hub = {
        let (sessions, clock) = (Arc::clone(&sessions), Arc::clone(clock));
        spawn("hub", recorder, move || carry_mail(&sessions, &from_shards, &restarts, &clock, &fuse))?
    };
    let writes = Arc::new(Writes::new(probe, store_fuse));
    let reader = {
        let (store, assets, sessions) = (Arc::clone(store), Arc::clone(assets), Arc::clone(&sessions));
        spawn("lookups", recorder, move || read_for_clients(&store, &assets, &sessions, &to_reader))?
    };
    let (world_orders, transfers) = {
        let (store, sessions, clock) = (Arc::clone(store), Arc::clone(&sessions), Arc::clone(clock));
        world_orders::start(restores, OrderEnds { store, sessions, figures, clock }, recorder)?
    };
    let inventories = {
        let (store, assets) = (Arc::clone(store), Arc::clone(assets));
        let (sessions, clock) = (Arc::clone(&sessions), Arc::clone(clock));
        let run = move || {
            let parts = InventoryParts { store: &store, assets: &assets };
            let unix_s = || unix_start_s.saturating_add(clock().0 / 1_000_000_000).cast_signed();
            let ways = (&world_orders, &wardrobe);
            inventories::change_for_clients(parts, &sessions, &to_inventories, ways, &clock, unix_s);
        };
        spawn("inventory", recorder, run)?
    };
    let store = {
        let (store, places, writes) = (Arc::clone(store), Arc::clone(places), Arc::clone(&writes));
        let clock = Arc::clone(clock);
        spawn("store", recorder, move || keep_records(&store, &places, &to_store, &clock, &writes))?
    };
    let threads = SessionThreads {
        sessions,
        mail,
        writes,
        hub,
        store,
        reader,
        inventories,
        records,
        lookups,
        inventory,
    };
    Ok((threads, transfers))
}

impl SessionThreads {
    /// Delivers the last messages of the ended shards, and persists their records.
    ///
    /// # Errors
    /// If some of them could not be written.
    pub(super) fn stop(self) -> Result<(), ServeError> {
        let Self { sessions, mail, hub, store, reader, inventories, records, lookups, inventory, writes } =
            self;
        // The last sender of mail: the hub's thread ends when it has carried all.
        drop(mail);
        join("hub", hub);
        // HTTP handlers still hold senders of all three, so the end needs a message.
        let _ = lookups.send(None);
        join("lookups", reader);
        let _ = inventory.send(None);
        join("inventory", inventories);
        sessions.finish_records();
        let _ = records.send(None);
        join("store", store);
        match writes.lost() {
            0 => Ok(()),
            n => Err(ServeError::PlacesNotSaved { n }),
        }
    }
}

fn spawn(
    name: &'static str,
    recorder: Recorder,
    run: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, ServeError> {
    let builder = std::thread::Builder::new().name(name.into());
    let recorded = move || {
        recorder.thread(name).install();
        run();
    };
    builder.spawn(recorded).map_err(|source| ServeError::Thread { name, source })
}

fn join(name: &str, thread: JoinHandle<()>) {
    if thread.join().is_err() {
        tracing::error!("the {name} thread has panicked");
    }
}

/// Unguessable numbers of the system.
fn entropy() -> Entropy {
    Box::new(|| {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system gave random numbers at the start");
        bytes
    })
}

/// Asks the store first, and takes the hub's lock with the answer.
fn read_for_clients(
    store: &Store,
    assets: &AssetSources,
    sessions: &Sessions,
    lookups: &mpsc::Receiver<Option<StoreLookup>>,
) {
    while let Ok(Some(lookup)) = lookups.recv() {
        let scope = LOOK_UP.enter(1);
        match lookup.read(store, assets) {
            Ok(answer) => sessions.with(|hub| hub.handle_answer(&lookup, answer)),
            Err(error) => {
                tracing::error!(%error, query = ?lookup.query, "cannot answer a client's lookup");
                sessions.with(|hub| hub.refuse_lookup(&lookup));
            }
        }
        drop(scope);
        frame_end();
    }
}

fn carry_mail(
    sessions: &Sessions,
    mail: &Receiver<HubMail>,
    restarts: &EstateRestarts,
    clock: &Clock,
    fuse: &Fuse,
) {
    let mut next_look = clock() + HUB_PERIOD;
    loop {
        let first = match mail.recv_timeout(next_look - clock()) {
            Ok(first) => Some(first),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let now = clock();
        let scope = MAIL.enter(mail.len() as u64 + u64::from(first.is_some()));
        fuse.strike();
        let due: Vec<WorldId> = sessions.with(|hub| {
            let rest = mail.try_iter().take(BATCH);
            for (shard, message) in first.into_iter().chain(rest) {
                hub.handle(now, shard, message);
            }
            if now >= next_look {
                hub.handle_timeout(now);
            }
            std::iter::from_fn(|| hub.poll_restart()).collect()
        });
        due.into_iter().for_each(|world| restarts.order(world));
        drop(scope);
        frame_end();
        if now >= next_look {
            next_look = now + HUB_PERIOD;
        }
    }
}

/// Writes places with the records that come, and probes both media on a schedule of its own, whether records come or not.
fn keep_records(
    store: &Store,
    places: &Places,
    records: &mpsc::Receiver<Option<Record>>,
    clock: &Clock,
    writes: &Writes,
) {
    let location = |spot: Spot| {
        let place = places.get(spot.place);
        Location {
            region: place.name().to_owned(),
            handle: place.handle,
            position: spot.position,
            look_at: spot.look_at,
        }
    };
    let mut pending = PendingPlaces::default();
    let mut next_probe = clock() + PROBE_PERIOD;
    loop {
        frame_end();
        let first = match records.recv_timeout(next_probe - clock()) {
            Ok(first) => Some(first),
            Err(mpsc::RecvTimeoutError::Timeout) => None,
            Err(mpsc::RecvTimeoutError::Disconnected) => Some(None),
        };
        let mut ended = false;
        for record in first.into_iter().chain(records.try_iter()) {
            match record {
                Some(Record::LastLocation(agent, spot)) => pending.keep_last(agent, location(spot)),
                Some(Record::Home(agent, spot)) => pending.keep_home(agent, location(spot)),
                Some(Record::Appearance(agent, look)) => pending.keep_appearance(agent, (&look).into()),
                None => ended = true,
            }
        }
        if !pending.is_empty() {
            let _scope = WRITE.enter(pending.len() as u64);
            let written = writes.attempt(|| pending.write(store));
            writes.health.record_outcome(Medium::Database, written);
        }
        if ended {
            writes.lost.store(pending.unwritten(), Ordering::Release);
            return;
        }
        if clock() >= next_probe {
            let _scope = PROBE.enter(0);
            writes.health.record_outcome(Medium::Disk, (writes.probe)());
            writes.health.record_outcome(Medium::Database, writes.attempt(|| store.probe()));
            next_probe = clock() + PROBE_PERIOD;
        }
    }
}

/// Reasons for which places were not written.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a fault that was ordered at store")]
    Ordered,
}

/// Tries whether the disk takes a file.
pub(super) type Probe = Box<dyn Fn() -> io::Result<()> + Send + Sync>;

/// Health of writes to the database and the disk.
pub(super) struct Writes {
    probe: Probe,
    fuse: Arc<Fuse>,
    health: MediaHealth,
    /// Places that were not written when the thread ended.
    lost: AtomicUsize,
}

impl Writes {
    fn new(probe: Probe, fuse: Arc<Fuse>) -> Self {
        Self { probe, fuse, health: MediaHealth::default(), lost: AtomicUsize::new(0) }
    }

    /// A write to the database, unless a fault was ordered.
    fn attempt(&self, write: impl FnOnce() -> Result<(), StoreError>) -> Result<(), KeepError> {
        if self.fuse.fails() { Err(KeepError::Ordered) } else { Ok(write()?) }
    }

    /// A sentence for the operator, while anything is refused.
    pub(super) fn trouble(&self) -> Option<String> {
        self.health.trouble()
    }

    fn lost(&self) -> usize {
        self.lost.load(Ordering::Acquire)
    }
}
