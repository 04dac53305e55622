//! The worlds on their pool: each with an inbox of commands and an outbox of frames.
//!
//! The `restarts` thread ([`crate::restarts`]) restarts a panicked world from its `Stepper`, which the pool hands back.

use crate::faults::Fuses;
use crate::inboxes::{Inbox, Inboxes, Waiting};
use crate::serving::FrameOutlet;
use crate::world_map::WorldMap;
use crate::{Clock, ThreadError};
use crossbeam_channel::{Receiver, Sender, bounded};
use ids::{Instant, Tick, WorldId};
use link::{StoredLand, StoredObjects, WorldSpec};
use recording::Tape;
use schedule::long::LongTasks;
use schedule::{FrameRecord, FrameSummary, FrameTrace, Panicked, Pool, PoolBalance, StepStats, TaskId};
use std::any::Any;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use telemetry::captures::{MISSES_MAX, MissedTick};
use telemetry::recorder::Recorder;
use telemetry::{LockWait, Metrics};
use world::{Life, NpcCounts, ObjectCounts, WorldConfig, WorldCounters};

mod pace;
mod published;
mod stepper;

pub use pace::TickTotals;
pub use published::TimedEdit;
use published::{PublishedState, SeenInstances, SharedPool};
pub(crate) use stepper::{Founding, Stepper};

/// Maximum number of commands in a world's inbox; a shard keeps commands without room and tries again.
const INBOX_MAX: usize = 16_384;
/// The same for an instance, which has few visitors.
const INSTANCE_INBOX_MAX: usize = 1_024;

/// The worlds on their pool.
pub struct Worlds {
    pool: SharedPool,
    long: LongTasks,
    /// Inboxes of all worlds.
    pub inboxes: Arc<Inboxes>,
    shared: WorldMap<SharedWorld>,
    instances: SeenInstances,
}

/// A shared world as it is given to the pool.
pub struct WorldStart {
    /// Its description.
    pub spec: Arc<WorldSpec>,
    /// Its objects, as they were saved.
    pub objects: StoredObjects,
    /// Its land, as it was saved; without it the region is one parcel without an owner.
    pub land: Option<StoredLand>,
    /// Destination of its frames.
    pub outlet: Box<dyn FrameOutlet>,
}

/// Outer side of a shared world: description, counters, recordings.
#[derive(Clone, Debug)]
struct SharedWorld {
    spec: Arc<WorldSpec>,
    seen: Arc<PublishedState>,
    /// Receiver of new recordings.
    tapes: Sender<Tape>,
}

/// Counters of a world, as of its last step.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorldTotals {
    /// Totals of the world.
    pub world: WorldCounters,
    /// Avatars of users.
    pub n_avatars: usize,
    /// Linksets that physics moves.
    pub n_awake_bodies: usize,
    /// NPCs.
    pub n_npcs: usize,
    /// Numbers of its prims that can be changed.
    pub objects: ObjectCounts,
    /// Totals of its NPCs.
    pub npcs: NpcCounts,
    /// World time passed ÷ wall time passed, as of the last step.
    pub dilation: f32,
    /// Ticks on time and dilated ones.
    pub ticks: TickTotals,
    /// Missions that visitors have completed.
    pub missions_completed: u64,
    /// Mean time of its steps.
    pub step: Duration,
    /// Frames that found the way to the replica thread full.
    pub frames_lost: u64,
    /// Totals of steady steps.
    pub steady: Steady,
    /// Memory that its first steps asked for and kept.
    pub grown_bytes: i64,
}

/// Steps without arrivals, departures, falls, chat and snapshots: single events need buffers of their own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steady {
    /// Steps.
    pub ticks: u64,
    /// Requests for memory in these, until the frame was handed over.
    pub allocations: u64,
}

impl AddAssign for Steady {
    fn add_assign(&mut self, more: Self) {
        self.ticks += more.ticks;
        self.allocations += more.allocations;
    }
}

/// All instances together.
#[derive(Clone, Copy, Debug)]
pub struct InstancesCounted {
    /// Instances in memory.
    pub n: usize,
    /// Avatars of users.
    pub n_avatars: usize,
    /// NPCs of worlds that have had a step.
    pub n_npcs: usize,
    /// Totals of NPCs since the start of the server, ended instances included.
    pub npcs: NpcCounts,
    /// The same for steady steps.
    pub steady: Steady,
    /// The same for ticks.
    pub ticks: TickTotals,
    /// The same for completed missions.
    pub missions_completed: u64,
    /// Of the slowest one.
    pub dilation: f32,
}

/// Name of all instances together in metrics: there are too many for one each.
pub const INSTANCES: &str = "instances";

/// Starts the pool with the shared worlds.
///
/// # Errors
/// [`ThreadError`].
pub fn start(
    n_workers: usize,
    worlds: Vec<WorldStart>,
    clock: &Clock,
    metrics: &Metrics,
    recorder: Recorder,
    fuses: &mut Fuses,
) -> Result<Worlds, ThreadError> {
    let pool_clock = Arc::clone(clock);
    let lock_wait = LockWait::new(metrics, "schedule");
    let pool = Pool::start_recorded(n_workers, move || pool_clock(), recorder, lock_wait)
        .map_err(|source| ThreadError { name: "world", source })?;
    let n_worlds = worlds.len();
    let mut inboxes = Vec::new();
    let mut shared = Vec::new();
    for (WorldStart { spec, objects, land, outlet }, n) in worlds.into_iter().zip(0_u16..) {
        let (world, dt) = (spec.world, spec.dt());
        // A recording that is asked for while another one waits is refused.
        let (tape_sender, tape_receiver) = bounded(1);
        let waiting = Waiting::new(INBOX_MAX);
        let seen = PublishedState::new();
        let stepper = Stepper {
            life: Life::new(
                WorldConfig { objects: Some(objects), land, ..WorldConfig::new(&spec, None) },
                f32::from(n) / n_worlds as f32,
            ),
            waiting: Arc::clone(&waiting),
            commands: Vec::new(),
            outlet,
            seen: Arc::clone(&seen),
            timing: metrics.timing(
                "throng_world_tick_seconds",
                "Duration of a step of the world.",
                &[("world", &spec.name)],
            ),
            lateness: metrics.timing(
                "throng_world_late_seconds",
                "Time from when a step of the world was due until it began.",
                &[("world", &spec.name)],
            ),
            clock: Arc::clone(clock),
            tapes: tape_receiver,
            tape: None,
            fuse: fuses.at(&format!("world:{}", spec.name)),
            journal_buffer: None,
            next_tick: Tick(0),
            is_steady: false,
            is_frame_lost: false,
            spec: Arc::clone(&spec),
        };
        let waker = pool.add(Box::new(stepper), dt, Tick(0));
        inboxes.push((world, Inbox { waiting, waker }));
        shared.push((world, SharedWorld { spec, seen, tapes: tape_sender }));
    }
    let long = pool.long();
    let pool = SharedPool::new(pool);
    let inboxes = Arc::new(Inboxes::new(inboxes.into_iter().collect()));
    let instances = SeenInstances::default();
    Ok(Worlds { pool, long, inboxes, shared: shared.into_iter().collect(), instances })
}

/// The view of the `watch` thread.
pub struct WorldsView {
    pool: SharedPool,
    shared: WorldMap<SharedWorld>,
    instances: SeenInstances,
}

impl WorldsView {
    /// Counters of each shared world, with its name.
    pub fn counted(&self) -> Vec<(String, WorldTotals)> {
        let counted = |world: &SharedWorld| (world.spec.name.clone(), *world.seen.counted());
        self.shared.values().map(counted).collect()
    }

    /// Counters of a shared world.
    pub fn counted_of(&self, world: WorldId) -> Option<WorldTotals> {
        self.shared.get(world).map(|world| *world.seen.counted())
    }

    /// The newest edits of a shared world's objects, the newest first.
    pub fn newest_edits(&self, world: WorldId) -> Vec<TimedEdit> {
        self.shared.get(world).map_or_else(Vec::new, |world| world.seen.newest_edits())
    }

    /// Ticks that worlds missed since the last call.
    pub fn take_missed(&self) -> impl Iterator<Item = MissedTick> {
        let mut missed: Vec<MissedTick> =
            self.shared.values().flat_map(|world| world.seen.take_missed()).collect();
        let mut instances = self.instances.lock();
        missed.extend(instances.gone_missed.drain(..));
        missed.extend(instances.there.values().flat_map(|seen| seen.take_missed()));
        missed.into_iter()
    }

    /// The shared worlds that are in a step, by number and name, with the time when it began.
    pub fn in_step_since(&self) -> impl Iterator<Item = (WorldId, &str, Instant)> {
        self.shared.iter().filter_map(|(id, world)| {
            let since = world.seen.in_step_since.load(Ordering::Relaxed);
            (since > 0).then_some((id, world.spec.name.as_str(), Instant(since)))
        })
    }

    /// Counters of the instances in the pool.
    pub fn instances(&self) -> InstancesCounted {
        let seen = self.instances.lock();
        let mut all = InstancesCounted {
            n: seen.there.len(),
            n_avatars: 0,
            n_npcs: 0,
            npcs: seen.gone,
            steady: seen.gone_steady,
            ticks: seen.gone_ticks,
            missions_completed: seen.gone_missions_completed,
            dilation: 1.0,
        };
        for instance in seen.there.values() {
            let counted = instance.counted();
            all.n_avatars += counted.n_avatars;
            all.n_npcs += counted.n_npcs;
            all.npcs += counted.npcs;
            all.steady += counted.steady;
            all.ticks += counted.ticks;
            all.missions_completed += counted.missions_completed;
            all.dilation = all.dilation.min(counted.dilation);
        }
        all
    }

    /// Begin of the longest current step among instances.
    pub fn instance_in_step_since(&self) -> Option<Instant> {
        let instances = self.instances.lock();
        let since = instances.there.values().map(|seen| seen.in_step_since.load(Ordering::Relaxed));
        since.filter(|&since| since > 0).min().map(Instant)
    }

    /// Costs of all worlds' frames since the last call.
    pub fn drain_step_stats(&self) -> Vec<(TaskId, StepStats)> {
        let pool = self.pool.read();
        pool.as_ref().map_or_else(Vec::new, Pool::drain_step_stats)
    }

    /// Durations of frames since the last call: the latest are appended to `records`; returns the summary of all.
    pub fn drain_frames(&self, records: &mut Vec<FrameRecord>) -> FrameSummary {
        let pool = self.pool.read();
        pool.as_ref().map_or_else(FrameSummary::default, |pool| pool.drain_frames(records))
    }

    /// Balance of the pool between worlds and long tasks; none once the server stops.
    pub fn balance(&self) -> Option<PoolBalance> {
        let pool = self.pool.read();
        pool.as_ref().map(Pool::balance)
    }
}

impl Worlds {
    /// The view of the `watch` thread.
    pub fn watch(&self) -> WorldsView {
        WorldsView { pool: self.pool.clone(), shared: self.shared.clone(), instances: self.instances.clone() }
    }

    /// Receiver of panicked worlds.
    pub fn panicked(&self) -> Receiver<Panicked> {
        let pool = self.pool.read();
        pool.as_ref().expect("asked for before the end").panicked().clone()
    }

    /// Handle for returning worlds to the pool.
    pub fn workplace(&self) -> Workplace {
        Workplace { pool: self.pool.clone(), long: self.long.clone(), instances: self.instances.clone() }
    }

    /// Handle for long tasks.
    pub const fn long(&self) -> &LongTasks {
        &self.long
    }

    /// Descriptions of the shared worlds, in the order of their start.
    pub(crate) fn specs(&self) -> impl Iterator<Item = &Arc<WorldSpec>> {
        self.shared.values().map(|world| &world.spec)
    }

    /// Sender of new recordings of a shared world.
    pub fn tapes(&self, world: WorldId) -> Option<&Sender<Tape>> {
        self.shared.get(world).map(|world| &world.tapes)
    }

    /// Ends the steps and the long tasks; a task that ignores this is left behind after some seconds.
    pub fn stop(&self) {
        let pool = self.pool.take();
        drop(pool);
    }
}

/// The pool, as seen by the code that creates, ends and restarts worlds.
#[derive(Clone)]
pub struct Workplace {
    pool: SharedPool,
    long: LongTasks,
    instances: SeenInstances,
}

impl Workplace {
    /// Steps a world from now on; its inbox. None once the server stops.
    pub(crate) fn take_in(&self, stepper: Box<Stepper>, waiting: Arc<Waiting>) -> Option<Inbox> {
        let (world, dt, seen) = (stepper.spec.world, stepper.spec.dt(), Arc::clone(&stepper.seen));
        let pool = self.pool.read();
        let waker = pool.as_ref()?.add(stepper, dt, Tick(0));
        self.instances.lock().there.insert(world, seen);
        Some(Inbox { waiting, waker })
    }

    /// Counters of an instance while it is stepped.
    pub fn counted(&self, world: WorldId) -> Option<WorldTotals> {
        let seen = Arc::clone(self.instances.lock().there.get(&world)?);
        let counted = seen.counted();
        Some(*counted)
    }

    /// Stops stepping a world and has it dropped. Waits for its current step.
    pub(crate) fn end(&self, world: WorldId, inbox: &Inbox) {
        if let Some(stepper) = self.take_out(inbox) {
            self.dispose(stepper);
        }
        self.forget(world);
    }

    /// Stops stepping a world until it is taken back or forgotten. The caller owns it, and must not drop it on a thread with waiters;
    /// none if it is down, or the server stops. Waits for its current step.
    pub(crate) fn take_out(&self, inbox: &Inbox) -> Option<Box<Stepper>> {
        let pool = self.pool.read();
        let task: Box<dyn Any> = pool.as_ref()?.remove(inbox.waker.id())?;
        Some(task.downcast().expect("worlds are the tasks of the pool"))
    }

    /// Drops an instance that is not stepped any more. Its totals stay.
    pub(crate) fn forget(&self, world: WorldId) {
        let mut instances = self.instances.lock();
        if let Some(seen) = instances.there.remove(&world) {
            let counted = *seen.counted();
            instances.gone += counted.npcs;
            instances.gone_steady += counted.steady;
            instances.gone_ticks += counted.ticks;
            instances.gone_missions_completed += counted.missions_completed;
            instances.gone_missed.extend(seen.take_missed());
            let surplus = instances.gone_missed.len().saturating_sub(MISSES_MAX);
            instances.gone_missed.drain(..surplus);
        }
    }

    /// Drops something large off the threads of frames, and without a lock held.
    pub(crate) fn dispose(&self, what: impl Any + Send) {
        self.long.dispose(Box::new(what));
    }

    /// Records worker, world and times of each step of the next frames; see [`Pool::trace_next_frames`].
    pub fn trace_next_frames(&self, n_frames: usize) {
        let pool = self.pool.read();
        if let Some(pool) = pool.as_ref() {
            pool.trace_next_frames(n_frames);
        }
    }

    /// The trace that was asked for, once it is whole.
    pub fn take_trace(&self) -> Option<FrameTrace> {
        self.pool.read().as_ref()?.take_trace()
    }

    /// Steps a world again from this tick on; holders of the inbox reach it. No effect once the server stops.
    pub(crate) fn take_back(&self, inbox: &Inbox, stepper: Box<Stepper>, first_tick: Tick) {
        let pool = self.pool.read();
        if let Some(pool) = pool.as_ref() {
            let dt = stepper.spec.dt();
            pool.add_again(&inbox.waker, stepper, dt, first_tick);
        }
    }
}

opaque_debug!(Worlds, WorldsView, Workplace, WorldStart);
