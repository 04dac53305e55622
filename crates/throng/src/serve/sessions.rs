//! The `hub` thread, which carries shards' mail to the sessions; the `store` thread, which writes what they want kept; and the `lookups` thread,
//! which reads the store for clients: names, people, profiles, inventories over UDP. None holds up a shard, and the hub's lock is never held while the store is asked.

use super::addresses::Bound;
use super::faults::Fuse;
use super::shards::Prepared;
use super::{Clock, ServeError};
use crate::config::Config;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use gateway::hub::{Entropy, Hub, HubConfig, Record, StoreLookup};
use gateway::mail::{FromShard, ShardIndex, Spot};
use gateway::places::Places;
use gateway::sessions::{Mailbox, Sessions, TakeOrder};
use ids::AgentId;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use store::{Location, Store, StoreError};
use telemetry::recorder::{Arg, Recorder, Scope, frame_end};
use telemetry::{LockWait, Metrics};

/// Mail from shards that waits for the hub; a shard keeps what does not fit.
const MAIL_MAX: usize = 8_192;
/// Facts that wait for the store; above it whoever tells the hub something waits for the disk.
const RECORDS_MAX: usize = 16_384;
/// Questions for the store that wait; more are refused and counted.
const LOOKUPS_MAX: usize = 1_024;
/// Messages handled under one lock, so that HTTP handlers get their turn.
const BATCH: usize = 256;
/// Last places that wait for a database that refuses them, and as many homes.
const UNWRITTEN_MAX: usize = 65_536;
/// How often it is looked whether the disk takes a file, when there is nothing else to write.
const PROBE_PERIOD: Duration = Duration::from_secs(5);
/// How often the hub looks for avatars that did not arrive.
const HUB_PERIOD: Duration = Duration::from_secs(1);

/// Mail of shards, by the number of messages, with the wait for the hub's lock.
static MAIL: Scope = Scope::new("hub.mail").arg(Arg::Count).limit_us(50_000);
/// What the hub wants kept, by the number of facts. It waits for the disk, which nobody waits for.
static WRITE: Scope = Scope::new("store.write").arg(Arg::Count).limit_us(1_000_000);

/// Questions of clients to the store; the number is 1.
static LOOK_UP: Scope = Scope::new("hub.lookup").arg(Arg::Count).limit_us(1_000_000);

/// What shards send, with their index.
pub(super) type HubMail = (ShardIndex, FromShard);

pub(super) struct SessionThreads {
    pub(super) sessions: Arc<Sessions>,
    pub(super) mail: Sender<HubMail>,
    pub(super) writes: Arc<Writes>,
    hub: JoinHandle<()>,
    store: JoinHandle<()>,
    reader: JoinHandle<()>,
    records: mpsc::SyncSender<Option<Record>>,
    lookups: mpsc::SyncSender<Option<StoreLookup>>,
}

/// What the threads are made of.
pub(super) struct Start<'a> {
    pub(super) config: &'a Config,
    pub(super) places: &'a Arc<Places>,
    pub(super) bound: &'a Bound,
    pub(super) store: &'a Arc<Store>,
    pub(super) shards: &'a [Prepared],
    pub(super) clock: &'a Clock,
    pub(super) metrics: &'a Metrics,
    pub(super) recorder: Recorder,
    pub(super) orders: TakeOrder,
    pub(super) fuse: Arc<Fuse>,
    pub(super) store_fuse: Arc<Fuse>,
    pub(super) probe: Probe,
}

pub(super) fn start(start: Start<'_>) -> Result<SessionThreads, ServeError> {
    let Start {
        config,
        places,
        bound,
        store,
        shards,
        clock,
        metrics,
        recorder,
        orders,
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
    let mailboxes = shards
        .iter()
        .map(|shard| {
            let waker = shard.waker();
            Mailbox { sender: shard.sender(), wake: Box::new(move || waker.wake()) }
        })
        .collect();
    let (records, to_store) = sync_channel(RECORDS_MAX);
    let (lookups, to_reader) = sync_channel(LOOKUPS_MAX);
    let lock_wait = LockWait::new(metrics, "hub");
    let sessions =
        Arc::new(Sessions::new(hub, mailboxes, records.clone(), orders, lookups.clone(), lock_wait));
    let (mail, from_shards) = bounded(MAIL_MAX);
    let hub = {
        let (sessions, clock) = (Arc::clone(&sessions), Arc::clone(clock));
        spawn("hub", recorder, move || carry_mail(&sessions, &from_shards, &clock, &fuse))?
    };
    let writes = Arc::new(Writes::new(probe, store_fuse));
    let reader = {
        let (store, sessions) = (Arc::clone(store), Arc::clone(&sessions));
        spawn("lookups", recorder, move || read_for_clients(&store, &sessions, &to_reader))?
    };
    let store = {
        let (store, places, writes) = (Arc::clone(store), Arc::clone(places), Arc::clone(&writes));
        spawn("store", recorder, move || keep_records(&store, &places, &to_store, &writes))?
    };
    Ok(SessionThreads { sessions, mail, writes, hub, store, reader, records, lookups })
}

impl SessionThreads {
    /// Carries what the shards, which have ended, still had to say, and writes it down.
    ///
    /// # Errors
    /// When some of it could not be written.
    pub(super) fn stop(self) -> Result<(), ServeError> {
        let Self { mail, hub, store, reader, records, lookups, writes, .. } = self;
        // The last sender of mail: the hub's thread ends when it has carried all.
        drop(mail);
        join("hub", hub);
        // Handlers of HTTP still hold senders of both, so the end has to be told.
        let _ = lookups.send(None);
        join("lookups", reader);
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
fn read_for_clients(store: &Store, sessions: &Sessions, lookups: &mpsc::Receiver<Option<StoreLookup>>) {
    while let Ok(Some(lookup)) = lookups.recv() {
        let scope = LOOK_UP.enter(1);
        match lookup.read(store) {
            Ok(answer) => sessions.with(|hub| hub.handle_answer(&lookup, answer)),
            Err(error) => {
                tracing::error!(%error, query = ?lookup.query, "cannot look up what a client asks");
                sessions.with(|hub| hub.refuse_lookup(&lookup));
            }
        }
        drop(scope);
        frame_end();
    }
}

fn carry_mail(sessions: &Sessions, mail: &Receiver<HubMail>, clock: &Clock, fuse: &Fuse) {
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
        sessions.with(|hub| {
            let rest = mail.try_iter().take(BATCH);
            for (shard, message) in first.into_iter().chain(rest) {
                hub.handle(now, shard, message);
            }
            if now >= next_look {
                hub.handle_timeout(now);
            }
        });
        drop(scope);
        frame_end();
        if now >= next_look {
            next_look = now + HUB_PERIOD;
        }
    }
}

fn keep_records(store: &Store, places: &Places, records: &mpsc::Receiver<Option<Record>>, writes: &Writes) {
    let location = |spot: Spot| {
        let place = places.get(spot.place);
        Location {
            region: place.name().to_owned(),
            handle: place.handle,
            position: spot.position,
            look_at: spot.look_at,
        }
    };
    // Failed writes are kept, an account's newest, and tried again with the next records and once a period.
    let (mut last, mut homes) = (BTreeMap::new(), BTreeMap::new());
    loop {
        frame_end();
        let first = match records.recv_timeout(PROBE_PERIOD) {
            Ok(first) => Some(first),
            Err(mpsc::RecvTimeoutError::Timeout) => None,
            Err(mpsc::RecvTimeoutError::Disconnected) => Some(None),
        };
        let mut ended = false;
        if first.is_none() {
            writes.note(Medium::Disk, (writes.probe)());
        }
        for record in first.into_iter().chain(records.try_iter()) {
            match record {
                Some(Record::LastLocation(agent, spot)) => writes.keep(&mut last, agent, location(spot)),
                Some(Record::Home(agent, spot)) => writes.keep(&mut homes, agent, location(spot)),
                None => ended = true,
            }
        }
        if !last.is_empty() || !homes.is_empty() {
            let _scope = WRITE.enter((last.len() + homes.len()) as u64);
            let written = match writes.fuse.fails() {
                true => Err(KeepError::Ordered),
                false => write_places(store, &mut last, &mut homes).map_err(KeepError::from),
            };
            writes.note(Medium::Database, written);
        }
        if ended {
            writes.lost.fetch_add(last.len() + homes.len(), Ordering::AcqRel);
            return;
        }
    }
}

type PlacesOfAccounts = BTreeMap<AgentId, Location>;

/// Why places were not written.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a fault that was ordered at store")]
    Ordered,
}

/// Writes what there is, and leaves what could not be written.
fn write_places(
    store: &Store,
    last: &mut PlacesOfAccounts,
    homes: &mut PlacesOfAccounts,
) -> Result<(), StoreError> {
    while let Some((agent, home)) = homes.first_key_value() {
        store.save_home(*agent, home.clone())?;
        homes.pop_first();
    }
    let all: Vec<(AgentId, Location)> = last.iter().map(|(agent, place)| (*agent, place.clone())).collect();
    store.save_last_locations(&all)?;
    last.clear();
    Ok(())
}

/// Tries whether the disk takes a file.
pub(super) type Probe = Box<dyn Fn() -> io::Result<()> + Send + Sync>;

/// What a write is made on.
#[derive(Clone, Copy, Debug)]
enum Medium {
    Database,
    Disk,
}

/// Whether the database and the disk take what has to be kept.
pub(super) struct Writes {
    probe: Probe,
    fuse: Arc<Fuse>,
    /// Why not, by [`Medium`]; the latest write says it.
    troubles: Mutex<[Option<String>; 2]>,
    /// Places that were not written: those that found no room, and at the end those that are left.
    lost: AtomicUsize,
}

impl Writes {
    fn new(probe: Probe, fuse: Arc<Fuse>) -> Self {
        Self { probe, fuse, troubles: Mutex::default(), lost: AtomicUsize::new(0) }
    }

    /// Keeps a place until it is written, in a table that does not grow for ever while nothing can be.
    fn keep(&self, places: &mut PlacesOfAccounts, agent: AgentId, place: Location) {
        if places.len() < UNWRITTEN_MAX || places.contains_key(&agent) {
            places.insert(agent, place);
        } else {
            self.lost.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn note<E: std::error::Error>(&self, medium: Medium, written: Result<(), E>) {
        let trouble = written.err().map(|error| {
            let cause = error.source().map_or_else(String::new, |cause| format!(": {cause}"));
            let what = match medium {
                Medium::Database => "The database does not keep last places and homes",
                Medium::Disk => "The data directory's disk does not take a file",
            };
            format!("{what}: {error}{cause}.")
        });
        let mut troubles = self.troubles();
        let known = &mut troubles[medium as usize];
        match (&*known, &trouble) {
            (None, Some(trouble)) => tracing::error!(trouble, "not kept"),
            (Some(_), None) => tracing::info!(?medium, "kept again"),
            _ => {}
        }
        *known = trouble;
    }

    /// A sentence for the operator, while anything is refused.
    pub(super) fn trouble(&self) -> Option<String> {
        self.troubles().iter().flatten().next().cloned()
    }

    fn lost(&self) -> usize {
        self.lost.load(Ordering::Acquire)
    }

    fn troubles(&self) -> MutexGuard<'_, [Option<String>; 2]> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_told_until_it_is_taken_again() {
        let writes = Writes::new(Box::new(|| Err(io::ErrorKind::StorageFull.into())), Arc::default());
        assert_eq!(writes.trouble(), None);
        writes.note(Medium::Disk, (writes.probe)());
        let trouble = writes.trouble().expect("the disk is full");
        assert!(trouble.starts_with("The data directory's disk does not take a file"), "{trouble}");
        writes.note(Medium::Database, Ok::<(), io::Error>(()));
        assert!(writes.trouble().is_some(), "the disk is still full");
        writes.note(Medium::Disk, Ok::<(), io::Error>(()));
        assert_eq!(writes.trouble(), None);
    }
}
