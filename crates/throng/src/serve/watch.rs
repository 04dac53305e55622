//! The `watch` thread: once a second it exports the cores' counters, sends the server's state to browsers and the load to the password
//! check, checks that all threads run, and has former scenes freed.

mod admission;
mod export;
mod frames;
mod long;
mod restarts;

use super::crashes::Crashes;
use super::limits::HttpConnections;
use super::local_gateway::LocalGateway;
use super::restarts::Standings;
use super::shards::Watched;
use super::{Clock, ServeError, worlds};
use crate::config::tunables::Tunables;
use crate::serve::shards;
use content_threads::asset_threads::AssetFigures;
use export::Export;
pub(super) use frames::PoolTracer;
use gateway::admission::Admission;
use gateway::http::{Figures, HttpState};
use grid::password::LoadHint;
use ids::{Instant, WorldId};
use job_desk::BackupStatus;
use operator_api::FrameLog;
use region_threads::replicas::ReplicaCounters;
use region_threads::solids::SolidDesk;
use schedule::long::{LongId, LongInfo, LongTasks};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use telemetry::captures::MissedTicks;
use telemetry::process::{self, ThreadUse};
use telemetry::recorder::{Arg, Recorder, Scope, ScopeKind, frame_end};
use telemetry::{Metrics, allocations};
use workplace::instances::Admission as InstanceAdmission;

const PERIOD: Duration = Duration::from_secs(1);
/// Time without a turn after which a thread with work counts as stuck.
const STUCK: Duration = Duration::from_secs(10);

/// A world's step that has not ended. A late one has its capture from the world's thread; this one may never end.
static UNENDED: Scope =
    Scope::new("world.unended").arg(Arg::World).kind(ScopeKind::Frame).limit_us(1_000_000);

/// One look. It takes the hub's lock and those of the counters.
static LOOK: Scope = Scope::new("watch.look").limit_us(100_000);

pub(super) struct WatchThreadConfig {
    pub(super) metrics: Arc<Metrics>,
    pub(super) clock: Clock,
    pub(super) worlds: worlds::WorldsView,
    pub(super) gateway: Arc<LocalGateway>,
    /// Threads that step them.
    pub(super) n_workers: usize,
    pub(super) instances: Arc<InstanceAdmission>,
    pub(super) frames: Arc<FrameLog>,
    pub(super) missed: Arc<MissedTicks>,
    pub(super) long: LongTasks,
    pub(super) standings: Standings,
    pub(super) shards: Vec<Arc<Watched>>,
    pub(super) replicas: Arc<ReplicaCounters>,
    pub(super) http_state: Arc<HttpState>,
    pub(super) assets: Arc<AssetFigures>,
    pub(super) solids: Arc<SolidDesk>,
    pub(super) backups: Arc<BackupStatus>,
    pub(super) unix_start_s: u64,
    pub(super) http: HttpConnections,
    pub(super) load: LoadHint,
    pub(super) tunables: Arc<Tunables>,
    pub(super) recorder: Recorder,
    pub(super) crashes: Arc<Option<Crashes>>,
}

pub(super) struct Watch {
    thread: JoinHandle<()>,
    stop: SyncSender<()>,
    health: Arc<Health>,
    clock: Clock,
}

/// State of the health check.
#[derive(Debug, Default)]
struct Health {
    looked_at: AtomicU64,
    trouble: Mutex<Option<String>>,
    /// Worlds that are down, and long tasks that do not end.
    amiss: Mutex<Vec<String>>,
}

pub(super) fn start(start: WatchThreadConfig) -> Result<Watch, ServeError> {
    let (stop, stopped) = sync_channel(0);
    let health = Arc::new(Health::default());
    let clock = Arc::clone(&start.clock);
    health.looked_at.store(clock().0, Ordering::Relaxed);
    let record = start.recorder.thread("watch");
    let mut eye = WatchSampler::new(start, Arc::clone(&health));
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

    /// Returns problems although the server is alive.
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

/// Values of the last sample, to compute rates.
struct WatchSampler {
    start: WatchThreadConfig,
    health: Arc<Health>,
    export: Export,
    seen_at: Instant,
    packets_in: u64,
    packets_out: u64,
    bytes_out: u64,
    busy_ns: Vec<u64>,
    turns: Vec<(u64, Instant)>,
    /// By world, the beginning of the last reported step that did not end.
    unended: BTreeMap<WorldId, Instant>,
    /// Reported long tasks that did not end.
    overdue: BTreeSet<LongId>,
    threads: BTreeMap<String, ThreadUse>,
    admission: Admission,
}

impl WatchSampler {
    fn new(start: WatchThreadConfig, health: Arc<Health>) -> Self {
        let now = (start.clock)();
        Self {
            export: Export::new(&start),
            busy_ns: vec![0; start.shards.len()],
            turns: vec![(0, now); start.shards.len()],
            unended: BTreeMap::new(),
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
        self.start.gateway.drop_ended();
        let shards: Vec<shards::ShardTotals> =
            self.start.shards.iter().map(|shard| shard.counted()).collect();
        let worlds = self.start.worlds.counted();
        let metrics = Arc::clone(&self.start.metrics);
        let export = metrics.begin_export();
        self.export.shards(&shards);
        self.export.worlds(&worlds);
        self.export.instances(&self.start.worlds);
        self.start.missed.add(self.start.worlds.take_missed());
        self.export.restarts(&self.start.standings);
        let listeners = [("public", &*self.start.http.public), ("operator", &*self.start.http.operator)];
        self.start.http_state.export(&mut self.export.table, &listeners);
        self.start.assets.export(&mut self.export.table);
        self.start.solids.export(&mut self.export.table);
        let now_s = self.start.unix_start_s.saturating_add(now.0 / 1_000_000_000).cast_signed();
        self.start.backups.export(&mut self.export.table, now_s);
        self.start.recorder.counters().export(&mut self.export.table);
        self.export.server(&self.start);
        self.threads(passed);
        self.export.crashes(self.start.crashes.as_ref().as_ref());

        type Count = fn(&shards::ShardTotals) -> u64;
        let sum = |of: Count| shards.iter().map(of).sum::<u64>();
        let rate = |now: u64, before: &mut u64| {
            let rate = (now - *before) as f32 / passed;
            *before = now;
            rate
        };
        let laps = self.start.worlds.drain_step_stats();
        let frames: u64 = laps.iter().map(|(_, laps)| laps.frames).sum();
        let took: Duration = laps.iter().map(|(_, laps)| laps.took).sum();
        let demand = self.export.frames(&self.start.worlds, &self.start.frames, frames, passed);
        let max_percent = self.start.tunables.instances_load_max_percent();
        self.admit(
            now,
            &shards,
            host::capacity::WorkerDemand { n_workers: self.start.n_workers, max_percent, ..demand },
        );
        let long = self.start.long.list();
        self.export.long(&self.start.long, &long);
        drop(export);
        let slowest = laps.iter().map(|(_, laps)| laps.took_max).max().unwrap_or_default();
        let figures = Figures {
            clients: self.start.shards.iter().map(|s| s.n_clients.load(Ordering::Relaxed) as u32).sum(),
            tick_ms_max: slowest.as_secs_f32() * 1_000.0,
            tick_ms_mean: took.as_secs_f32() * 1_000.0 / frames.max(1) as f32,
            packets_in_per_s: rate(sum(|c| c.figures.shard.datagrams_in), &mut self.packets_in),
            packets_out_per_s: rate(sum(|c| c.sent.sent), &mut self.packets_out),
            bytes_out_per_s: rate(sum(|c| c.sent.sent_bytes), &mut self.bytes_out),
            dilation: worlds.iter().map(|(_, world)| world.dilation).fold(1.0, f32::min),
            uptime_s: now.0 as f32 / 1e9,
        };
        self.start.http_state.live.record_figures(figures);
        let busiest_shard = self.busiest_shard(passed);
        let busy = busiest_shard.max(took.as_secs_f32() / passed);
        self.start.load.set_per_mille((busy * 1_000.0).clamp(0.0, 1_000.0) as u32);
        self.check(now, &long);
    }

    /// Exports the CPU time of the process since the last sample.
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
            self.export.count_by(
                "throng_thread_page_faults_total",
                "Page faults, threads of one name together.",
                label,
                now.faults,
            );
        }
        self.threads = uses;
        for (name, count) in allocations::counted() {
            self.export.count_by(
                "throng_thread_allocations_total",
                "Requests for memory, new blocks and changed sizes, threads of one name together.",
                ("thread", name.as_str()),
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
            // Without clients a shard may wait without limit.
            if turns != seen.0 || shard.n_clients.load(Ordering::Relaxed) == 0 {
                *seen = (turns, now);
            } else if now - seen.1 > STUCK {
                trouble = Some(format!("shard-{n} does not run."));
            }
        }
        for (world, name, since) in self.start.worlds.in_step_since() {
            let in_step = now.since(since);
            // One capture for each such step, not one a second.
            if self.unended.get(&world) != Some(&since)
                && UNENDED.check_duration(world.0.into(), in_step.as_nanos() as u64, u64::MAX)
            {
                self.unended.insert(world, since);
            }
            if in_step > STUCK {
                trouble = Some(format!("{name} does not run."));
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
