//! The `hub` thread, which carries shards' mail to the sessions, and the `store` thread, which writes what they want
//! kept. Neither holds up a shard.

use super::addresses::Bound;
use super::faults::Fuse;
use super::shards::Prepared;
use super::{Clock, ServeError};
use crate::config::Config;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use gateway::hub::{Directory, Entropy, Hub, HubConfig, Order, Record};
use gateway::mail::{FromShard, ShardIndex, Spot};
use gateway::places::Places;
use gateway::sessions::{Mailbox, Sessions};
use ids::AgentId;
use std::sync::Arc;
use std::sync::mpsc::{self, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use store::{Location, Store};
use telemetry::recorder::{Arg, Recorder, Scope, frame_end};
use telemetry::{LockWait, Metrics};

/// Mail from shards that waits for the hub; a shard keeps what does not fit.
const MAIL_MAX: usize = 8_192;
/// Facts that wait for the store; above it whoever tells the hub something waits for the disk.
const RECORDS_MAX: usize = 16_384;
/// Messages handled under one lock, so that HTTP handlers get their turn.
const BATCH: usize = 256;
/// How often the hub looks for avatars that did not arrive.
const HUB_PERIOD: Duration = Duration::from_secs(1);

/// Mail of shards, by the number of messages, with the wait for the hub's lock.
static MAIL: Scope = Scope::new("hub.mail").arg(Arg::Count).limit_us(50_000);
/// What the hub wants kept, by the number of facts. It waits for the disk, which nobody waits for.
static WRITE: Scope = Scope::new("store.write").arg(Arg::Count).limit_us(1_000_000);

/// What shards send, with their index.
pub(super) type HubMail = (ShardIndex, FromShard);

pub(super) struct SessionThreads {
    pub(super) sessions: Arc<Sessions>,
    pub(super) mail: Sender<HubMail>,
    hub: JoinHandle<()>,
    store: JoinHandle<()>,
    records: mpsc::SyncSender<Option<Record>>,
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
    pub(super) orders: mpsc::SyncSender<Order>,
    pub(super) fuse: Arc<Fuse>,
}

pub(super) fn start(start: Start<'_>) -> Result<SessionThreads, ServeError> {
    let Start { config, places, bound, store, shards, clock, metrics, recorder, orders, fuse } = start;
    let hub_config = HubConfig {
        udp_ports: bound.udp_addrs.iter().map(|addr| addr.port()).collect(),
        http_port: config.server.advertise.http_port.unwrap_or_else(|| bound.http_addr.port()),
        sessions_max: config.gateway.max_sessions as usize,
        arrival_timeout: Duration::from_secs(config.gateway.ticket_s.into()),
    };
    let names = Names { store: Arc::clone(store) };
    let hub = Hub::new(hub_config, Arc::clone(places), entropy(), Box::new(names));
    let mailboxes = shards
        .iter()
        .map(|shard| {
            let waker = shard.waker();
            Mailbox { sender: shard.sender(), wake: Box::new(move || waker.wake()) }
        })
        .collect();
    let (records, to_store) = sync_channel(RECORDS_MAX);
    let sessions =
        Arc::new(Sessions::new(hub, mailboxes, records.clone(), orders, LockWait::new(metrics, "hub")));
    let (mail, from_shards) = bounded(MAIL_MAX);
    let hub = {
        let (sessions, clock) = (Arc::clone(&sessions), Arc::clone(clock));
        spawn("hub", recorder, move || carry_mail(&sessions, &from_shards, &clock, &fuse))?
    };
    let store = {
        let (store, places) = (Arc::clone(store), Arc::clone(places));
        spawn("store", recorder, move || keep_records(&store, &places, &to_store))?
    };
    Ok(SessionThreads { sessions, mail, hub, store, records })
}

impl SessionThreads {
    /// Carries what the shards, which have ended, still had to say, and writes it down.
    pub(super) fn stop(self) {
        let Self { mail, hub, store, records, .. } = self;
        // The last sender of mail: the hub's thread ends when it has carried all.
        drop(mail);
        join("hub", hub);
        // Handlers of HTTP still hold senders of records, so the end has to be told.
        let _ = records.send(None);
        join("store", store);
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

/// Names of accounts from the database.
struct Names {
    store: Arc<Store>,
}

impl Directory for Names {
    fn name(&self, agent: AgentId) -> Option<(String, String)> {
        grid::capability::name_of(&self.store, agent).unwrap_or_else(|error| {
            tracing::error!(%error, agent = %agent.0, "cannot look a name up");
            None
        })
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

fn keep_records(store: &Store, places: &Places, records: &mpsc::Receiver<Option<Record>>) {
    let location = |spot: Spot| {
        let place = places.get(spot.place);
        Location {
            region: place.name().to_owned(),
            handle: place.handle,
            position: spot.position,
            look_at: spot.look_at,
        }
    };
    let mut ended = false;
    while !ended {
        frame_end();
        let Ok(first) = records.recv() else { return };
        let mut last = Vec::new();
        for record in std::iter::once(first).chain(records.try_iter()) {
            match record {
                Some(Record::LastLocation(agent, spot)) => last.push((agent, location(spot))),
                Some(Record::Home(agent, spot)) => {
                    let _scope = WRITE.enter(1);
                    if let Err(error) = store.save_home(agent, location(spot)) {
                        tracing::error!(%error, agent = %agent.0, "cannot keep a home");
                    }
                }
                None => ended = true,
            }
        }
        if last.is_empty() {
            continue;
        }
        let _scope = WRITE.enter(last.len() as u64);
        if let Err(error) = store.save_last_locations(&last) {
            tracing::error!(%error, n = last.len(), "cannot keep last locations");
        }
    }
}
