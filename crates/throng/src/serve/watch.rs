//! The `watch` thread: once a second it exports what the cores have counted, tells browsers how the server is doing
//! and the password check how busy it is, and looks whether everybody still runs.

mod admission;
mod frames;
mod long;
mod messages;
mod restarts;

use super::crashes::Crashes;
use super::frames::Frames;
use super::process::{self, ThreadUse};
use super::restarts::Standing;
use super::shards::Watched;
use super::tune::Tunables;
use super::{Clock, ServeError, instances, replicas, worlds};
use crate::serve::shards;
use admission::Admission;
use gateway::http::Portal;
use gateway::http::live::Figures;
use grid::password::LoadHint;
use ids::Instant;
use messages::Messages;
use net::{SendCounters, SendDrop};
use schedule::FrameRecord;
use schedule::long::{LongEnded, LongId, LongInfo, LongTasks};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use telemetry::recorder::{Arg, Recorder, RecorderCounters, Scope, ScopeKind, frame_end};
use telemetry::{Counter, Gauge, Metrics, Timing, allocations};

const PERIOD: Duration = Duration::from_secs(1);
/// A thread that has work and does not turn for so long is not alive.
const STUCK: Duration = Duration::from_secs(10);

/// A world's step that has not ended. What ends late has its capture from the world's thread; this one may never end.
static UNENDED: Scope =
    Scope::new("world.unended").arg(Arg::World).kind(ScopeKind::Frame).limit_us(1_000_000);

/// One look. It takes the hub's lock and those of the counters.
static LOOK: Scope = Scope::new("watch.look").limit_us(100_000);

pub(super) struct Start {
    pub(super) metrics: Arc<Metrics>,
    pub(super) clock: Clock,
    pub(super) worlds: worlds::Watch,
    /// Threads that step them.
    pub(super) n_workers: usize,
    pub(super) instances: Arc<instances::Admission>,
    pub(super) frames: Arc<Frames>,
    pub(super) long: LongTasks,
    pub(super) standings: Vec<Arc<Mutex<Standing>>>,
    pub(super) shards: Vec<Arc<Watched>>,
    pub(super) replicas: Arc<replicas::Counters>,
    pub(super) portal: Arc<Portal>,
    pub(super) load: LoadHint,
    pub(super) tunables: Arc<Tunables>,
    pub(super) figures: tokio::sync::watch::Sender<Figures>,
    pub(super) recorder: Recorder,
    pub(super) crashes: Arc<Option<Crashes>>,
}

pub(super) struct Watch {
    thread: JoinHandle<()>,
    stop: SyncSender<()>,
    health: Arc<Health>,
    clock: Clock,
}

/// What the health check knows.
#[derive(Debug, Default)]
struct Health {
    looked_at: AtomicU64,
    trouble: Mutex<Option<String>>,
    /// Worlds that are down, and long tasks that do not end.
    amiss: Mutex<Vec<String>>,
}

pub(super) fn start(start: Start) -> Result<Watch, ServeError> {
    let (stop, stopped) = sync_channel(0);
    let health = Arc::new(Health::default());
    let clock = Arc::clone(&start.clock);
    health.looked_at.store(clock().0, Ordering::Relaxed);
    let record = start.recorder.thread("watch");
    let mut eye = Eye::new(start, Arc::clone(&health));
    let thread = std::thread::Builder::new()
        .name("watch".into())
        .spawn(move || {
            record.install();
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let look = LOOK.enter(0);
                eye.look();
                drop(look);
                frame_end();
            }
        })
        .map_err(|source| ServeError::Thread { name: "watch", source })?;
    Ok(Watch { thread, stop, health, clock })
}

impl Watch {
    /// Says why the server is not alive, if so.
    pub(super) fn health(&self) -> Box<dyn Fn() -> Result<(), String> + Send + Sync> {
        let (health, clock) = (Arc::clone(&self.health), Arc::clone(&self.clock));
        Box::new(move || {
            let looked_at = Instant(health.looked_at.load(Ordering::Relaxed));
            if clock() - looked_at > STUCK {
                return Err("The watch thread does not run.".into());
            }
            match &*health.trouble.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(trouble) => Err(trouble.clone()),
                None => Ok(()),
            }
        })
    }

    /// Says what is amiss although the server is alive.
    pub(super) fn amiss(&self) -> Box<dyn Fn() -> Vec<String> + Send + Sync> {
        let health = Arc::clone(&self.health);
        Box::new(move || health.amiss.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    pub(super) fn stop(self) {
        drop(self.stop);
        if self.thread.join().is_err() {
            tracing::error!("the watch thread has panicked");
        }
    }
}

/// What was seen at the last look, to tell rates.
struct Eye {
    start: Start,
    health: Arc<Health>,
    export: Export,
    seen_at: Instant,
    packets_in: u64,
    packets_out: u64,
    bytes_out: u64,
    busy_ns: Vec<u64>,
    turns: Vec<(u64, Instant)>,
    /// By world, the beginning of the last step that was told of because it did not end.
    unended: Vec<Instant>,
    /// Long tasks that were told of because they did not end.
    overdue: BTreeSet<LongId>,
    threads: BTreeMap<String, ThreadUse>,
    admission: Admission,
}

impl Eye {
    fn new(start: Start, health: Arc<Health>) -> Self {
        let now = (start.clock)();
        Self {
            export: Export::new(&start),
            busy_ns: vec![0; start.shards.len()],
            turns: vec![(0, now); start.shards.len()],
            unended: vec![Instant::ZERO; start.worlds.names.len()],
            seen_at: now,
            packets_in: 0,
            packets_out: 0,
            bytes_out: 0,
            overdue: BTreeSet::new(),
            threads: process::thread_uses(),
            admission: Admission::default(),
            health,
            start,
        }
    }

    fn look(&mut self) {
        let now = (self.start.clock)();
        let passed = (now - self.seen_at).as_secs_f32().max(0.001);
        self.seen_at = now;
        self.start.metrics.upkeep();
        let shards: Vec<shards::Counted> = self.start.shards.iter().map(|shard| shard.counted()).collect();
        let worlds = self.start.worlds.counted();
        self.export.shards(&shards, &self.start.shards);
        self.export.worlds(&worlds);
        self.export.instances(&self.start.worlds);
        self.export.restarts(&self.start.standings);
        self.export.rest(&self.start);
        self.threads(passed);
        self.export.crashes(self.start.crashes.as_ref().as_ref());

        type Count = fn(&shards::Counted) -> u64;
        let sum = |of: Count| shards.iter().map(of).sum::<u64>();
        let rate = |now: u64, before: &mut u64| {
            let rate = (now - *before) as f32 / passed;
            *before = now;
            rate
        };
        let laps = self.start.worlds.take_laps();
        let frames: u64 = laps.iter().map(|(_, laps)| laps.frames).sum();
        let took: Duration = laps.iter().map(|(_, laps)| laps.took).sum();
        let demand = self.export.frames(&self.start.worlds, &self.start.frames, frames, passed);
        let max_percent = self.start.tunables.instances_load_max_percent();
        self.admit(
            now,
            &shards,
            instances::Demand { n_workers: self.start.n_workers, max_percent, ..demand },
        );
        let long = self.start.long.list();
        self.export.long(&self.start.long, &long);
        let slowest = laps.iter().map(|(_, laps)| laps.took_max).max().unwrap_or_default();
        let figures = Figures {
            clients: self.start.shards.iter().map(|s| s.n_clients.load(Ordering::Relaxed) as u32).sum(),
            tick_ms_max: slowest.as_secs_f32() * 1_000.0,
            tick_ms_mean: took.as_secs_f32() * 1_000.0 / frames.max(1) as f32,
            packets_in_per_s: rate(sum(|c| c.shard.datagrams_in), &mut self.packets_in),
            packets_out_per_s: rate(sum(|c| c.sent.sent), &mut self.packets_out),
            bytes_out_per_s: rate(sum(|c| c.sent.sent_bytes), &mut self.bytes_out),
            dilation: worlds.iter().map(|world| world.dilation).fold(1.0, f32::min),
            uptime_s: now.0 as f32 / 1e9,
        };
        self.start.figures.send_replace(figures);
        let busiest_shard = self.busiest_shard(passed);
        let busy = busiest_shard.max(took.as_secs_f32() / passed);
        self.start.load.set_per_mille((busy * 1_000.0).clamp(0.0, 1_000.0) as u32);
        self.check(now, &long);
    }

    /// What the kernel charged this process for since the last look.
    fn threads(&mut self, passed: f32) {
        let uses = process::thread_uses();
        for (name, now) in &uses {
            let before = self.threads.get(name).copied().unwrap_or_default();
            let share = |now: Duration, before: Duration| {
                f64::from((now.saturating_sub(before)).as_secs_f32() / passed)
            };
            let label = ("thread", name.as_str());
            self.export.gauge(
                "throng_thread_running_ratio",
                "Share of the last second that the thread ran, threads of one name together.",
                label,
                share(now.ran, before.ran),
            );
            self.export.gauge(
                "throng_thread_run_queue_ratio",
                "Share of the last second that the thread was ready to run and other threads had the cores.",
                label,
                share(now.waited, before.waited),
            );
            self.export.count_of_thread(
                "throng_thread_page_faults_total",
                "Page faults, threads of one name together.",
                name,
                now.faults,
            );
        }
        self.threads = uses;
        for (name, count) in allocations::counted() {
            self.export.count_of_thread(
                "throng_thread_allocations_total",
                "Requests for memory, new blocks and changed sizes, threads of one name together.",
                &name,
                count,
            );
        }
    }

    /// The share of the last second that the busiest shard did not wait.
    fn busiest_shard(&mut self, passed: f32) -> f32 {
        let mut busiest = 0.0_f32;
        for (shard, before) in self.start.shards.iter().zip(&mut self.busy_ns) {
            let now = shard.busy_ns.load(Ordering::Relaxed);
            busiest = busiest.max((now - *before) as f32 / 1e9 / passed);
            *before = now;
        }
        busiest
    }

    fn check(&mut self, now: Instant, long: &[LongInfo]) {
        let mut trouble = None;
        for (n, (shard, seen)) in self.start.shards.iter().zip(&mut self.turns).enumerate() {
            let turns = shard.turns.load(Ordering::Relaxed);
            // Without clients a shard waits as long as nobody comes.
            if turns != seen.0 || shard.n_clients.load(Ordering::Relaxed) == 0 {
                *seen = (turns, now);
            } else if now - seen.1 > STUCK {
                trouble = Some(format!("shard-{n} does not run."));
            }
        }
        for (n, since) in self.start.worlds.in_step_since().enumerate() {
            let Some(since) = since else { continue };
            let in_step = now.since(since);
            // One capture for each such step, not one a second.
            if self.unended[n] != since && UNENDED.note(n as u64, in_step.as_nanos() as u64, u64::MAX) {
                self.unended[n] = since;
            }
            if in_step > STUCK {
                trouble = Some(format!("{} does not run.", self.start.worlds.names[n]));
            }
        }
        if self.start.worlds.instance_in_step_since().is_some_and(|since| now.since(since) > STUCK) {
            trouble = Some("An instance does not run.".into());
        }
        if let Some(trouble) = &trouble {
            tracing::error!(trouble, "not alive");
        }
        let mut amiss = restarts::troubles(&self.start.standings);
        amiss.extend(long::troubles(now, long, &mut self.overdue));
        *self.health.amiss.lock().unwrap_or_else(PoisonError::into_inner) = amiss;
        *self.health.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
        self.health.looked_at.store(now.0, Ordering::Relaxed);
    }
}

/// The handles of all metrics that stand for a core's plain counters.
struct Export {
    metrics: Arc<Metrics>,
    world_names: Vec<String>,
    drops: BTreeMap<&'static str, Counter>,
    commands: BTreeMap<(usize, &'static str), Counter>,
    /// By world.
    restarts: BTreeMap<String, Counter>,
    messages: Messages,
    /// By the time that one lasts.
    frame_timings: BTreeMap<Duration, Timing>,
    frames_over: u64,
    long_kinds: BTreeMap<&'static str, LongKind>,
    /// Filled anew at each look.
    frame_records: Vec<FrameRecord>,
    long_ended: Vec<LongEnded>,
    counters: BTreeMap<(&'static str, &'static str), Counter>,
    by_thread: BTreeMap<(&'static str, String), Counter>,
    gauges: BTreeMap<(&'static str, String), Gauge>,
}

/// Figures of one kind of long tasks.
struct LongKind {
    done: Counter,
    failed: Counter,
    ran: Timing,
    waited: Timing,
}

impl Export {
    fn new(start: &Start) -> Self {
        Self {
            metrics: Arc::clone(&start.metrics),
            world_names: start.worlds.names.clone(),
            drops: BTreeMap::new(),
            commands: BTreeMap::new(),
            restarts: BTreeMap::new(),
            messages: Messages::default(),
            frame_timings: BTreeMap::new(),
            frames_over: 0,
            long_kinds: BTreeMap::new(),
            frame_records: Vec::new(),
            long_ended: Vec::new(),
            counters: BTreeMap::new(),
            by_thread: BTreeMap::new(),
            gauges: BTreeMap::new(),
        }
    }

    /// One counter, with a label `outcome` unless that is empty.
    fn count(&mut self, name: &'static str, help: &'static str, outcome: &'static str, value: u64) {
        self.count_by(name, help, ("outcome", outcome), value);
    }

    /// One counter, with a label unless its value is empty.
    fn count_by(
        &mut self,
        name: &'static str,
        help: &'static str,
        label: (&'static str, &'static str),
        value: u64,
    ) {
        let metrics = &self.metrics;
        let counter = self.counters.entry((name, label.1)).or_insert_with(|| {
            metrics.counter(name, help, if label.1.is_empty() { &[] } else { std::slice::from_ref(&label) })
        });
        counter.absolute(value);
    }

    /// One counter of the threads of one name.
    fn count_of_thread(&mut self, name: &'static str, help: &'static str, thread: &str, value: u64) {
        let metrics = &self.metrics;
        let counter = self
            .by_thread
            .entry((name, thread.to_owned()))
            .or_insert_with(|| metrics.counter(name, help, &[("thread", thread)]));
        counter.absolute(value);
    }

    /// One gauge, with a label unless its value is empty.
    fn gauge(&mut self, name: &'static str, help: &'static str, label: (&'static str, &str), value: f64) {
        let metrics = &self.metrics;
        let gauge = self.gauges.entry((name, label.1.to_owned())).or_insert_with(|| {
            metrics.gauge(name, help, if label.1.is_empty() { &[] } else { std::slice::from_ref(&label) })
        });
        gauge.set(value);
    }

    fn shards(&mut self, counted: &[shards::Counted], watched: &[Arc<Watched>]) {
        type Count = fn(&shards::Counted) -> u64;
        let sum = |of: Count| counted.iter().map(of).sum::<u64>();
        let sent: SendCounters = counted.iter().map(|c| c.sent).sum();
        let updates = ("throng_agent_updates_total", "Agent updates from clients, by what became of them.");
        self.count(updates.0, updates.1, "accepted", sum(|c| c.shard.updates_control + c.shard.updates_view));
        self.count(updates.0, updates.1, "dropped", sum(|c| c.shard.updates_dropped));
        let datagrams = ("throng_datagrams_total", "UDP datagrams of circuits.");
        self.count(datagrams.0, datagrams.1, "received", sum(|c| c.shard.datagrams_in));
        self.count(datagrams.0, datagrams.1, "sent", sent.sent);
        let bytes = ("throng_datagram_bytes_total", "Bytes in UDP datagrams of circuits.");
        self.count(bytes.0, bytes.1, "received", sum(|c| c.shard.bytes_in));
        self.count(bytes.0, bytes.1, "sent", sent.sent_bytes);
        let blocks: [(&str, &str, Count); 9] = [
            ("throng_terse_sent_total", "Blocks of ImprovedTerseObjectUpdate sent to clients.", |c| {
                c.shard.terse_sent
            }),
            (
                "throng_terse_datagrams_total",
                "Datagrams of ImprovedTerseObjectUpdate sent to clients.",
                |c| c.shard.terse_datagrams,
            ),
            ("throng_objects_sent_total", "Blocks of ObjectUpdate sent of what stands in a world.", |c| {
                c.shard.objects_sent
            }),
            (
                "throng_sceneries_filled_total",
                "Circuits that have been sent everything that stood near them, for the first time.",
                |c| c.shard.sceneries_filled,
            ),
            (
                "throng_far_left_out_total",
                "Turns in which clients were not told of those far away, because their shard did not keep up.",
                |c| c.shard.far_left_out,
            ),
            ("throng_full_sent_total", "Blocks of ObjectUpdate sent of avatars.", |c| c.shard.full_sent),
            ("throng_kills_sent_total", "Entities that clients were told to forget.", |c| c.shard.kills_sent),
            ("throng_animations_sent_total", "AvatarAnimation messages sent.", |c| c.shard.animations_sent),
            ("throng_appearances_sent_total", "AvatarAppearance messages sent.", |c| {
                c.shard.appearances_sent
            }),
        ];
        for (name, help, of) in blocks {
            self.count(name, help, "", sum(of));
        }
        let chat = ("throng_chat_total", "Chat messages, once per hearer.");
        self.count(chat.0, chat.1, "sent", sum(|c| c.shard.chat_sent));
        self.count(chat.0, chat.1, "dropped", sum(|c| c.shard.chat_dropped));
        let circuits = ("throng_circuits_total", "Circuits by what became of them.");
        self.count(circuits.0, circuits.1, "opened", sum(|c| c.shard.circuits_opened));
        self.count(circuits.0, circuits.1, "lost", sum(|c| c.shard.circuits_lost));
        self.count(
            "throng_messages_refused_total",
            "Reliable messages that a client's full circuit did not take.",
            "",
            sum(|c| c.shard.messages_refused),
        );
        self.count(
            "throng_udp_receive_drops_total",
            "Datagrams that the kernel dropped because a socket's receive buffer was full.",
            "",
            sum(|c| c.kernel_drops),
        );
        let drops = ("throng_udp_send_drops_total", "Datagrams that the kernel did not take, by reason.");
        for reason in SendDrop::ALL {
            self.count_by(drops.0, drops.1, ("reason", reason.as_str()), sent.dropped(reason));
        }
        self.count(
            "throng_udp_segmented_total",
            "Datagrams sent together with equal ones to the same client, to be cut apart by the device or the kernel.",
            "",
            sent.segmented,
        );
        self.count(
            "throng_udp_bursts_refused_total",
            "Bursts of datagrams that the kernel did not take as such; their datagrams were sent one by one.",
            "",
            sent.bursts_refused,
        );
        self.count(
            "throng_avatars_reentered_total",
            "Avatars that came in again after their world began again without them.",
            "",
            sum(|c| c.shard.reentered),
        );
        let mut drops: BTreeMap<&'static str, u64> = BTreeMap::new();
        for (reason, n) in counted.iter().flat_map(|c| c.shard.drops()) {
            *drops.entry(reason).or_default() += n;
        }
        for (reason, n) in drops {
            let metrics = &self.metrics;
            let counter = self.drops.entry(reason).or_insert_with(|| {
                let help = "Datagrams and messages from clients that were dropped, by reason.";
                metrics.counter("throng_dropped_total", help, &[("reason", reason)])
            });
            counter.absolute(n);
        }
        self.messages.export(&self.metrics, counted);
        for (n, shard) in watched.iter().enumerate() {
            let label = ("shard", n.to_string());
            let clients = shard.n_clients.load(Ordering::Relaxed) as f64;
            self.gauge("throng_circuits", "Circuits open now.", (label.0, &label.1), clients);
            let pressure =
                ("throng_shard_pressure", "What a shard leaves out because it does not keep up, 0 to 3.");
            self.gauge(pressure.0, pressure.1, (label.0, &label.1), counted[n].shard.pressure.into());
            let share = ("throng_client_share_bytes_per_s", "What each client may be sent a second at most.");
            self.gauge(share.0, share.1, (label.0, &label.1), counted[n].shard.client_bytes_per_s.into());
        }
    }

    fn worlds(&mut self, counted: &[worlds::Counted]) {
        let names = self.world_names.clone();
        let mut dirtied = 0;
        let mut lost = 0;
        for (n, (world, name)) in counted.iter().zip(&names).enumerate() {
            for (action, value) in world.world.commands() {
                let metrics = &self.metrics;
                let counter = self.commands.entry((n, action)).or_insert_with(|| {
                    let help = "Commands that reached the world, by action.";
                    metrics.counter(
                        "throng_world_commands_total",
                        help,
                        &[("world", name), ("action", action)],
                    )
                });
                counter.absolute(value);
            }
            dirtied += world.world.entities_dirtied;
            lost += world.frames_lost;
            let avatars = world.n_avatars as f64;
            self.gauge("throng_world_avatars", "Avatars in the world now.", ("world", name), avatars);
            self.gauge(
                "throng_world_dilation_ratio",
                "World time passed per wall time passed.",
                ("world", name),
                world.dilation.into(),
            );
        }
        self.count(
            "throng_entities_dirtied_total",
            "Entities with something new for clients, once per tick.",
            "",
            dirtied,
        );
        self.count(
            "throng_frames_lost_total",
            "Frames that found no room on the way to the replica thread.",
            "",
            lost,
        );
    }

    fn instances(&mut self, worlds: &worlds::Watch) {
        let all = worlds.instances();
        self.gauge("throng_instances", "Instances now.", ("", ""), all.n as f64);
        self.gauge(
            "throng_npcs",
            "NPCs of the instances that somebody has been in.",
            ("", ""),
            all.n_npcs as f64,
        );
        let label = ("world", worlds::INSTANCES);
        self.gauge("throng_world_avatars", "Avatars in the world now.", label, all.n_avatars as f64);
        let help = "World time passed per wall time passed.";
        self.gauge("throng_world_dilation_ratio", help, label, all.dilation.into());
        let help = "Steps of instances in which nobody came, went, fell or spoke.";
        self.count("throng_world_steady_ticks_total", help, "", all.steady.ticks);
        let help = "Requests for memory in such steps.";
        self.count("throng_world_steady_allocations_total", help, "", all.steady.allocations);
        for (what, n) in all.npcs.all() {
            self.count_by("throng_npc_work_total", "What NPCs have done, by kind.", ("what", what), n);
        }
    }

    fn crashes(&mut self, crashes: Option<&Crashes>) {
        let runs = crashes.is_some_and(Crashes::tend);
        self.gauge(
            "throng_crash_monitor_up",
            "1 while the process runs that writes crash dumps.",
            ("", ""),
            f64::from(u8::from(runs)),
        );
    }

    fn rest(&mut self, start: &Start) {
        let uptime_s = (start.clock)().0 as f64 / 1e9;
        self.gauge("throng_uptime_seconds", "Seconds since the start, at this export.", ("", ""), uptime_s);
        let replicas = &start.replicas;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.count("throng_frames_total", "Frames taken by the replica thread.", "", load(&replicas.frames));
        self.count(
            "throng_blocks_encoded_total",
            "Changes encoded for all clients together.",
            "",
            load(&replicas.blocks_encoded),
        );
        self.count(
            "throng_replica_resyncs_total",
            "Snapshots asked for after a gap in the frames.",
            "",
            load(&replicas.resyncs),
        );
        self.count(
            "throng_replica_copies_total",
            "Replicas copied whole because a reader was slow.",
            "",
            load(&replicas.copies),
        );
        let recorder = start.recorder.counters();
        let memory = recorder.blocks_touched as f64 * RecorderCounters::BLOCK_BYTES as f64;
        self.gauge(
            "throng_recorder_memory_bytes",
            "Memory that threads have recorded into.",
            ("", ""),
            memory,
        );
        self.count(
            "throng_recorder_scopes_total",
            "Scopes that the flight recorder has recorded.",
            "",
            recorder.scopes,
        );
        self.count(
            "throng_recorder_blocks_recycled_total",
            "Blocks of the flight recorder that were used again before they had grown old.",
            "",
            recorder.blocks_recycled,
        );
        self.count(
            "throng_recorder_events_lost_total",
            "Scopes that the flight recorder could not record.",
            "",
            recorder.events_lost,
        );
        self.count(
            "throng_recorder_scopes_refused_total",
            "Kinds of scopes that found the flight recorder's table full.",
            "",
            recorder.scopes_refused,
        );
        self.count(
            "throng_recorder_threads_refused_total",
            "Threads that found the flight recorder's table full.",
            "",
            recorder.threads_refused,
        );
        let http = &start.portal.counters;
        let requests = ("throng_http_requests_total", "HTTP requests by outcome.");
        self.count(requests.0, requests.1, "ok", load(&http.ok));
        self.count(requests.0, requests.1, "refused", load(&http.refused));
        self.count(requests.0, requests.1, "failed", load(&http.failed));
        let logins = ("throng_logins_total", "Logins by outcome.");
        self.count(logins.0, logins.1, "ok", load(&http.logins_ok));
        self.count(logins.0, logins.1, "refused", load(&http.logins_refused));
        let (hub, n_sessions) = start.portal.sessions.with(|hub| (hub.counters(), hub.n_sessions()));
        self.gauge("throng_sessions", "Sessions now.", ("", ""), n_sessions as f64);
        let waiting = start.portal.login.waiting() as f64;
        self.gauge("throng_password_checks_waiting", "Password checks that wait.", ("", ""), waiting);
        self.count(
            "throng_sessions_superseded_total",
            "Sessions ended because the same user logged in again.",
            "",
            hub.superseded,
        );
        let teleports = ("throng_teleports_total", "Teleports between regions.");
        self.count(teleports.0, teleports.1, "begun", hub.teleports);
        self.count(teleports.0, teleports.1, "failed", hub.teleports_failed);
        self.count(
            "throng_world_switches_total",
            "Times that another world was put behind a circuit: passages without a teleport.",
            "",
            hub.switches,
        );
        let orders = ("throng_portal_orders_total", "Instances asked for at portals.");
        self.count(orders.0, orders.1, "given", hub.orders);
        self.count(orders.0, orders.1, "refused", hub.orders_refused);
        self.count(
            "throng_instance_events_dropped_total",
            "What happened in instances and a shard was not told, for its mailbox was full.",
            "",
            start.portal.sessions.offers_dropped(),
        );
        self.count(
            "throng_unknown_capabilities_total",
            "Requests for capabilities that do not exist: altered, guessed, ended.",
            "",
            hub.unknown_capabilities,
        );
        self.count("throng_instant_messages_total", "Instant messages passed on.", "", hub.instant_messages);
        self.count(
            "throng_events_dropped_total",
            "Events dropped from queues that nobody polled.",
            "",
            hub.events_dropped,
        );
    }
}
