//! The threads of gateway shards: sockets in, sockets out, mail and commands in between.

use super::cpu_meter::CpuMeter;
use super::faults::{Fuse, Fuses};
use super::inboxes::Inboxes;
use super::sessions::HubMail;
use super::stages::{self, Stopwatch};
use super::{Clock, ServeError};
use crate::config::tunables::Tunables;
use crate::config::{Config, parts};
use circuit::{START_PING_CHECK, Traffic};
use crossbeam_channel::{Sender, TrySendError};
use gateway::mail::{ShardIndex, ToShard};
use gateway::places::Places;
use gateway::sessions::Mailbox;
use gateway::shard::{CircuitAddress, Outbox, Shard, ShardConfig, ShardFigures};
use grid::asset_sources::AssetSources;
use ids::Instant;
use net::{Events, FlushStatus, Interest, PollWaker, Poller, RecvBatch, SendBatch, SendCounters, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use telemetry::Metrics;
use telemetry::recorder::{Arg, Recorder, Scope, ScopeGuard, frame_end};

/// Mail that waits for a shard; a sender of more waits.
const MAIL_MAX: usize = 16_384;
/// Mail handled before sockets get their turn again.
const MAIL_PER_TURN: usize = 1_024;
/// Batches read from one socket before the others, and the sends, get their turn again.
const BATCHES_PER_TURN: usize = 8;
/// Retry period of a full queue or socket.
const RETRY: Duration = Duration::from_millis(1);
/// Period of publishing the counters.
const PUBLISH_PERIOD: Duration = Duration::from_millis(100);

/// All that a shard does between two waits. A client's turn comes every 100 ms, and the slots are 5 ms apart: a turn of
/// half a tick is late for five of them.
static TURN: Scope = Scope::new("shard.turn").limit_us(25_000);
/// A batch of datagrams, by their number.
static RECEIVE: Scope = Scope::new("shard.receive").arg(Arg::Count).limit_us(10_000);
/// Messages of the mailbox, by their number.
static MAIL: Scope = Scope::new("shard.mail").arg(Arg::Count).limit_us(10_000);
/// Datagrams handed to the kernel, by their number.
static SEND: Scope = Scope::new("shard.send").arg(Arg::Count).limit_us(10_000);

/// A shard's mailbox and poller, made before the hub that writes to it.
pub(super) struct Prepared {
    poller: Poller,
    sender: SyncSender<ToShard>,
    mail: Receiver<ToShard>,
}

impl Prepared {
    pub(super) fn waker(&self) -> PollWaker {
        self.poller.waker()
    }

    pub(super) fn mailbox(&self) -> Mailbox {
        let waker = self.waker();
        Mailbox { sender: self.sender.clone(), wake: Box::new(move || waker.wake()) }
    }
}

pub(super) fn prepare(n: usize) -> Result<Vec<Prepared>, ServeError> {
    (0..n)
        .map(|_| {
            let poller = Poller::new().map_err(|source| ServeError::Thread { name: "shard", source })?;
            let (sender, mail) = sync_channel(MAIL_MAX);
            Ok(Prepared { poller, sender, mail })
        })
        .collect()
}

/// Arguments of the shards.
pub(super) struct ShardThreadsConfig<'a> {
    pub(super) config: &'a Config,
    pub(super) tunables: &'a Arc<Tunables>,
    pub(super) places: &'a Arc<Places>,
    pub(super) assets: &'a Arc<AssetSources>,
    pub(super) prepared: Vec<Prepared>,
    pub(super) sockets: Vec<Vec<UdpSocket>>,
    pub(super) inboxes: &'a Arc<Inboxes>,
    pub(super) hub: &'a Sender<HubMail>,
    pub(super) clock: &'a Clock,
    pub(super) metrics: &'a Metrics,
    pub(super) unix_start_s: u64,
    pub(super) recorder: Recorder,
    pub(super) fuses: &'a mut Fuses,
}

pub(super) struct Shards {
    threads: Vec<JoinHandle<()>>,
    watched: Vec<Arc<Watched>>,
    wakers: Vec<PollWaker>,
    stopping: Arc<AtomicBool>,
}

/// State of a shard's thread for other threads.
#[derive(Debug, Default)]
pub(super) struct Watched {
    counters: Mutex<ShardTotals>,
    pub(super) n_clients: AtomicU64,
    /// Nanoseconds that the thread did not wait.
    pub(super) busy_ns: AtomicU64,
    /// Turns of its loop, for the health check.
    pub(super) turns: AtomicU64,
}

/// Counters of a shard.
#[derive(Clone, Debug, Default)]
pub(super) struct ShardTotals {
    pub(super) figures: ShardFigures,
    /// Datagrams that the kernel accepted, and that it refused, on the way out.
    pub(super) sent: SendCounters,
    /// Datagrams that it dropped on the way in.
    pub(super) kernel_drops: u64,
}

impl Watched {
    pub(super) fn counted(&self) -> ShardTotals {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(super) fn start(start: ShardThreadsConfig<'_>) -> Result<Shards, ServeError> {
    let stopping = Arc::new(AtomicBool::new(false));
    let mut shards = Shards {
        threads: Vec::new(),
        watched: Vec::new(),
        wakers: Vec::new(),
        stopping: Arc::clone(&stopping),
    };
    let timings = stages::timings(start.metrics);
    let shard_config = shard_config(&start)?;
    for (n, (prepared, sockets)) in start.prepared.into_iter().zip(start.sockets).enumerate() {
        let watched = Arc::new(Watched::default());
        shards.wakers.push(prepared.waker());
        shards.watched.push(Arc::clone(&watched));
        let thread = ShardThread {
            index: ShardIndex(n as u16),
            shard: Shard::new(shard_config.clone(), Arc::clone(start.places)),
            poller: prepared.poller,
            mail: prepared.mail,
            batches: sockets.iter().map(SendBatch::segmenting).collect(),
            sockets,
            inboxes: Arc::clone(start.inboxes),
            hub: start.hub.clone(),
            clock: Arc::clone(start.clock),
            stopping: Arc::clone(&stopping),
            watched,
            tunables: Arc::clone(start.tunables),
            stopwatch: Stopwatch::new(timings.clone(), Arc::clone(start.clock)),
            outbox: Outbox::default(),
            traffic: Traffic::default(),
            next_publish: Instant::ZERO,
            fuse: start.fuses.at(&format!("shard:{n}")),
        };
        let name = format!("shard-{n}");
        let record = start.recorder.thread(&name);
        let run = move || {
            record.install();
            thread.run();
        };
        let spawned = std::thread::Builder::new().name(name).spawn(run);
        shards.threads.push(spawned.map_err(|source| ServeError::Thread { name: "shard", source })?);
    }
    Ok(shards)
}

fn shard_config(start: &ShardThreadsConfig<'_>) -> Result<ShardConfig, ServeError> {
    let (gateway, tunables) = (&start.config.gateway, start.tunables);
    let n_shards = start.prepared.len();
    let mut hash_keys = [0; 2];
    for key in &mut hash_keys {
        *key = getrandom::u64().map_err(ServeError::Random)?;
    }
    Ok(ShardConfig {
        circuit: circuit::Config {
            idle_timeout: Duration::from_secs(gateway.idle_timeout_s.into()),
            ping_interval: Duration::from_secs(gateway.ping_s.into()),
            total_bytes_per_s: gateway.client_bytes_per_s,
            ..circuit::Config::server()
        },
        client_bytes_per_s: gateway.client_bytes_per_s,
        egress_bytes_per_s: match gateway.egress_mbit_per_s {
            0 => None,
            mbit => Some(u64::from(mbit) * 1_000_000 / 8 / n_shards as u64),
        },
        visible_max: match gateway.visible_max {
            // Above any real number, with room for lingering avatars.
            0 => usize::MAX / 2,
            n => n as usize,
        },
        sending: tunables.sending(),
        filter: tunables.filter(),
        cache_after: tunables.objects().cache_after,
        assets: Arc::clone(start.assets),
        asset_limits: parts::size_limits(&start.config.assets),
        attachments_max: start.config.avatar.attachments_max,
        unix_start_s: start.unix_start_s,
        hash_keys,
    })
}

impl Shards {
    pub(super) fn watch(&self) -> Vec<Arc<Watched>> {
        self.watched.clone()
    }

    pub(super) fn n_clients(&self) -> u64 {
        self.watched.iter().map(|shard| shard.n_clients.load(Ordering::Relaxed)).sum()
    }

    /// Until the last circuit is closed.
    pub(super) async fn wait_until_empty(&self) {
        let mut look = tokio::time::interval(Duration::from_millis(20));
        while self.n_clients() > 0 {
            look.tick().await;
        }
    }

    /// Ends the threads.
    pub(super) fn stop(self) {
        self.stopping.store(true, Ordering::Release);
        self.wakers.iter().for_each(PollWaker::wake);
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a shard thread has panicked");
            }
        }
    }
}

struct ShardThread {
    index: ShardIndex,
    shard: Shard,
    poller: Poller,
    mail: Receiver<ToShard>,
    /// By port.
    sockets: Vec<UdpSocket>,
    batches: Vec<SendBatch>,
    inboxes: Arc<Inboxes>,
    hub: Sender<HubMail>,
    clock: Clock,
    stopping: Arc<AtomicBool>,
    watched: Arc<Watched>,
    tunables: Arc<Tunables>,
    stopwatch: Stopwatch,
    outbox: Outbox,
    traffic: Traffic,
    next_publish: Instant,
    fuse: Arc<Fuse>,
}

impl ShardThread {
    fn run(mut self) {
        for (port, socket) in self.sockets.iter().enumerate() {
            if let Err(error) = self.poller.add(socket, port as u64, Interest::Readable) {
                tracing::error!(%error, "cannot wait for a socket");
                return;
            }
        }
        // Readers before the first client find true values.
        let now = (self.clock)();
        self.publish(now, now);
        let mut events = Events::with_capacity(self.sockets.len());
        let mut received = RecvBatch::new();
        let mut blocked = false;
        let mut cpu_meter = CpuMeter::new(now);
        while !self.stopping.load(Ordering::Acquire) {
            let timeout = self.timeout(blocked);
            let waits_from = (self.clock)();
            if let Err(error) = self.poller.wait(&mut events, timeout) {
                tracing::error!(%error, "cannot wait for sockets");
                return;
            }
            let began_at = (self.clock)();
            // The thread may resume late: waiting beyond the timeout is no time without work.
            let waited = began_at - waits_from;
            let idle = timeout.map_or(waited, |timeout| waited.min(timeout));
            let turn = TURN.enter(0);
            self.fuse.strike();
            let sending = self.tunables.sending();
            self.shard.set_filter(self.tunables.filter());
            self.shard.set_cache_after(self.tunables.objects().cache_after);
            self.shard.set_sending(began_at, sending);
            for port in events.iter().map(|event| event.token as usize) {
                self.receive(port, &mut received);
            }
            self.take_mail((self.clock)());
            // A turn with work left makes the next wait end at once, and pings are answered in between.
            let _ = self.shard.poll((self.clock)(), &mut self.outbox);
            blocked = !self.transmit();
            blocked |= !self.deliver();
            let ended_at = (self.clock)();
            if let Some(cpu) = cpu_meter.note_loop(ended_at, idle) {
                self.shard.handle_cpu_time(ended_at, cpu);
            }
            self.publish(began_at, ended_at);
            if !sending.reuses_buffers {
                self.shard.release_buffers();
                self.outbox = Outbox::default();
                self.batches.iter_mut().for_each(SendBatch::release);
                received = RecvBatch::new();
            }
            drop(turn);
            frame_end();
        }
        self.deliver();
    }

    /// Until the shard's next deadline; shortly when something waits to be tried again.
    fn timeout(&self, blocked: bool) -> Option<Duration> {
        let until_due = self.shard.poll_timeout().map(|due| due - (self.clock)());
        if blocked { Some(until_due.map_or(RETRY, |until| until.min(RETRY))) } else { until_due }
    }

    fn receive(&mut self, port: usize, received: &mut RecvBatch) {
        for _ in 0..BATCHES_PER_TURN {
            let mut batch = RECEIVE.enter(0);
            match self.sockets[port].recv_batch(received) {
                Ok(0) => return,
                Ok(n) => batch.set_arg(n as u64),
                Err(error) => {
                    tracing::warn!(%error, port, "cannot receive");
                    return;
                }
            }
            let read_at = (self.clock)();
            // A ticket is in the mail before its client can know of it, so it has to be read before the client's
            // first datagram: hippolyzer sends that one only once.
            self.take_mail(read_at);
            let now = (self.clock)();
            for datagram in received.iter() {
                let number = self.traffic.count_in(datagram.bytes);
                if datagram.truncated {
                    self.shard.handle_oversized();
                    continue;
                }
                let address =
                    CircuitAddress { port: port as u8, remote: datagram.remote, local: datagram.local };
                let begun = self.stopwatch.begin(number == Some(START_PING_CHECK), &datagram);
                let n_before = self.outbox.len();
                self.shard.handle_datagram(now, address, datagram.bytes, &mut self.outbox);
                if let Some(begun) = begun {
                    self.stopwatch.end(&begun, read_at, self.outbox.len() > n_before);
                }
            }
            self.transmit();
            if !received.is_full() {
                return;
            }
        }
    }

    fn take_mail(&mut self, now: Instant) {
        let mut recorded: Option<ScopeGuard> = None;
        for n in 1..=MAIL_PER_TURN {
            let Ok(mail) = self.mail.try_recv() else { return };
            recorded.get_or_insert_with(|| MAIL.enter(0)).set_arg(n as u64);
            self.shard.handle(now, mail, &mut self.outbox);
            if self.outbox.len() >= SendBatch::DATAGRAMS_MAX {
                self.transmit();
            }
        }
        // The rest waits for the next turn, which is to come at once.
        self.poller.waker().wake();
    }

    /// Hands the outbox to the sockets. False when a socket's buffer is full; the rest is kept, and dropped once it exceeds a batch: it
    /// is old by then, and reliable messages are resent.
    fn transmit(&mut self) -> bool {
        let n = self.outbox.len();
        let _scope = (n > 0).then(|| SEND.enter(n as u64));
        let mut all_sent = true;
        for (address, bytes) in self.outbox.packets() {
            let port = usize::from(address.port);
            let batch = &mut self.batches[port];
            if batch.is_full() && batch.flush(&self.sockets[port]) == FlushStatus::Blocked {
                batch.abandon();
                self.stopwatch.abandon();
            }
            self.traffic.count_out(bytes);
            batch.push(address.remote, address.local, bytes);
        }
        self.outbox.clear();
        for (batch, socket) in self.batches.iter_mut().zip(&self.sockets) {
            if !batch.is_empty() {
                all_sent &= batch.flush(socket) == FlushStatus::Done;
            }
        }
        if all_sent {
            self.stopwatch.sent();
        }
        all_sent
    }

    /// Hands commands to worlds and mail to the hub. False when something has to wait.
    fn deliver(&mut self) -> bool {
        let commands = self.shard.commands();
        self.inboxes.deliver(commands);
        let mut all_taken = commands.is_empty();
        let (index, hub) = (self.index, &self.hub);
        let mail = self.shard.mail();
        let full = |message: &gateway::mail::FromShard| {
            matches!(hub.try_send((index, message.clone())), Err(TrySendError::Full(_)))
        };
        let taken = mail.iter().position(full).unwrap_or(mail.len());
        all_taken &= taken == mail.len();
        mail.drain(..taken);
        all_taken
    }

    fn publish(&mut self, began_at: Instant, ended_at: Instant) {
        let busy = (ended_at - began_at).as_nanos() as u64;
        self.watched.busy_ns.fetch_add(busy, Ordering::Relaxed);
        self.watched.turns.fetch_add(1, Ordering::Relaxed);
        self.watched.n_clients.store(self.shard.n_clients() as u64, Ordering::Relaxed);
        // Without clients the next turn may be far away.
        if ended_at < self.next_publish && self.shard.n_clients() > 0 {
            return;
        }
        self.next_publish = ended_at + PUBLISH_PERIOD;
        let mut counted = self.watched.counters.lock().unwrap_or_else(PoisonError::into_inner);
        // Field by field, since that allocates nothing.
        counted.figures.shard.clone_from(self.shard.counters());
        counted.figures.n_clients = self.shard.n_clients() as u64;
        counted.kernel_drops = self.sockets.iter().map(UdpSocket::receive_drops).sum();
        counted.sent = self.batches.iter().map(SendBatch::counters).sum();
        counted.figures.traffic.copy_from(&self.traffic);
        counted.figures.outcomes.copy_from(self.shard.outcomes());
    }
}
