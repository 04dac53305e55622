//! The worlds on their pool: each with an inbox of commands and an outbox of frames.
//!
//! A world that panics is taken up again by the `restarts` thread ([`super::restarts`]), which finds all that a new life needs in
//! what the pool hands back of its [`Stepper`].

use super::faults::{Fuse, Fuses};
use super::inboxes::{Inbox, Inboxes, Waiting};
use super::lines::Line;
use super::{Clock, ServeError, threads_or_default};
use crate::config::Config;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use gateway::mail::ToShard;
use gateway::places::{Place, Places, Scene};
use gateway::sessions::Sessions;
use ids::{Epoch, Instant, SessionKey, Tick, WorldId};
use recording::Tape;
use schedule::{Laps, Panicked, Pool, Start, Task, TaskId};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use telemetry::recorder::{Arg, Recorder, Scope, ScopeKind, frame_end};
use telemetry::{LockWait, Metrics, Timing};
use world::{Beginning, Command, Frame, Life, World, WorldConfig, WorldCounters};

/// Commands that a world's inbox holds; a shard keeps what does not fit and tries again.
const INBOX_MAX: usize = 16_384;
/// Of an instance, which few are in.
const INSTANCE_INBOX_MAX: usize = 1_024;
/// Frames on their way to the replica thread, all worlds together: two seconds of two worlds. One that does not fit
/// is a gap, which a snapshot heals.
const FRAMES_MAX: usize = 64;
/// Local ids of one world: at 20 arrivals a second they last 14 hours, and then the oldest are used again.
const LOCAL_IDS: u32 = 1 << 20;

/// A world's step with its mail. It may take as long as a tick lasts.
static FRAME: Scope = Scope::new("world.frame").arg(Arg::World).kind(ScopeKind::Frame);

/// A step that began so long after it was due. One that misses a whole tick lags, although no frame took long: others had the
/// threads.
static LATE: Scope = Scope::new("world.late").arg(Arg::World).kind(ScopeKind::Frame);

pub(super) struct Worlds {
    pool: Arc<Mutex<Option<Pool>>>,
    pub(super) inboxes: Arc<Inboxes>,
    /// What they made of them, and where spent frames go back.
    pub(super) frames: Receiver<Box<Frame>>,
    pub(super) spent: Sender<Box<Frame>>,
    seen: Vec<Arc<Seen>>,
    instances: SeenInstances,
    names: Vec<String>,
    /// Where recordings begin.
    tapes: Vec<Sender<Tape>>,
    dt: Duration,
}

/// What a world has counted, as of its last step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) world: WorldCounters,
    pub(super) n_avatars: usize,
    pub(super) dilation: f32,
    /// Frames that found the way to the replica thread full.
    pub(super) frames_lost: u64,
}

/// What others may see of a world.
#[derive(Debug, Default)]
struct Seen {
    counted: Mutex<Counted>,
    /// When the step began that it is in, in nanoseconds; 0 between two steps.
    in_step_since: AtomicU64,
}

/// Of the instances in the pool.
type SeenInstances = Arc<Mutex<BTreeMap<WorldId, Arc<Seen>>>>;

/// Says that a world is in a step for as long as this lives, and no longer if the step panics.
struct InStep<'a>(&'a Seen);

impl<'a> InStep<'a> {
    fn new(seen: &'a Seen, now: Instant) -> Self {
        seen.in_step_since.store(now.0.max(1), Ordering::Relaxed);
        Self(seen)
    }
}

impl Drop for InStep<'_> {
    fn drop(&mut self) {
        self.0.in_step_since.store(0, Ordering::Relaxed);
    }
}

/// Name of all instances together in metrics: there are too many for one each.
pub(super) const INSTANCES: &str = "instances";

/// Where a world's frames go.
enum Outlet {
    /// To the replica thread: to encode a crowd takes time, and the next step need not wait for it.
    Away { frames: Sender<Box<Frame>>, spent: Receiver<Box<Frame>> },
    /// Nowhere: where few avatars are, they are encoded in less time than it takes to wake another thread.
    Here { line: Box<Line>, spent: Option<Box<Frame>>, sessions: Arc<Sessions> },
}

/// One world as a task of the pool.
pub(super) struct Stepper {
    scene: Arc<Scene>,
    life: Life,
    waiting: Arc<Waiting>,
    commands: Vec<Command>,
    outlet: Outlet,
    seen: Arc<Seen>,
    timing: Timing,
    lateness: Timing,
    clock: Clock,
    /// Recordings that were asked for, and the one under way.
    tapes: Receiver<Tape>,
    tape: Option<Tape>,
    fuse: Arc<Fuse>,
}

impl Task for Stepper {
    fn is_quiet(&mut self) -> bool {
        self.waiting.is_empty()
            && self.life.world().is_quiet()
            && self.tape.is_none()
            && self.tapes.is_empty()
    }

    fn step(&mut self, start: &Start) {
        let (world, dt_ns) = (self.scene.world.0.into(), start.dt.as_nanos() as u64);
        LATE.note(world, start.late_by.as_nanos() as u64, dt_ns);
        self.lateness.record(start.late_by);
        let seen = Arc::clone(&self.seen);
        let in_step = InStep::new(&seen, start.at);
        let frame = FRAME.enter_within(world, dt_ns);
        self.make_frame(start.tick, start.dt, start.dilation);
        drop(frame);
        drop(in_step);
        frame_end();
    }
}

impl Stepper {
    fn make_frame(&mut self, tick: Tick, dt: Duration, dilation: f32) {
        let began_at = (self.clock)();
        // What comes in from here on belongs to the next tick.
        self.waiting.take(&mut self.commands);
        self.take_tape();
        if let Some(tape) = &mut self.tape {
            tape.give(began_at, tick, dt, dilation, &self.commands);
        }
        let mut frame = self.outlet.take_frame();
        // At the worst moment: the commands are taken, and nobody is told anything.
        self.fuse.strike();
        self.life.step(began_at, tick, dt, dilation, &mut self.commands, &mut frame);
        if self.tape.as_mut().is_some_and(|tape| !tape.came_to(began_at, frame.state_hash)) {
            self.tape = None;
        }
        let lost = !self.outlet.tell(frame);
        let mut counted = self.seen.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.world = *self.life.world().counters();
        counted.n_avatars = self.life.world().n_avatars();
        counted.dilation = dilation;
        counted.frames_lost += u64::from(lost);
        drop(counted);
        self.timing.record((self.clock)() - began_at);
    }
}

impl Stepper {
    /// What is left of a task that panicked.
    pub(super) fn of(panicked: Panicked) -> Box<Self> {
        let task: Box<dyn Any> = panicked.task;
        task.downcast().expect("worlds are the tasks of the pool")
    }

    /// The world that it steps, as the gateway knows it.
    pub(super) const fn scene(&self) -> &Arc<Scene> {
        &self.scene
    }

    /// Its life.
    pub(super) const fn epoch(&self) -> Epoch {
        self.life.config().epoch
    }

    /// Begins a recording that was asked for, between two steps. There is one at a time; another ends it.
    fn take_tape(&mut self) {
        if let Ok(tape) = self.tapes.try_recv() {
            tape.begin(self.life.world());
            self.tape = Some(tape);
        }
    }

    /// Ends what cannot go on after a panic.
    pub(super) fn end_recording(&mut self) {
        if let Some(tape) = self.tape.take() {
            tape.panicked();
        }
    }

    /// Throws away what came into the inbox while the world is down: nobody reads it, and a shard whose commands do not fit
    /// an inbox keeps those for other worlds, too.
    pub(super) fn drain(&mut self) {
        self.waiting.take(&mut self.commands);
        self.commands.clear();
    }

    /// Begins the next life, see [`Life::begin_again`]. `dismiss` makes the commands that its first step begins with, from the
    /// sessions that have avatars in it.
    pub(super) fn begin_again(
        &mut self,
        in_a_row: u32,
        dismiss: impl FnOnce(&mut dyn Iterator<Item = SessionKey>) -> Vec<Command>,
    ) -> (Beginning, World) {
        let (beginning, remains) = self.life.begin_again(in_a_row);
        self.commands = dismiss(&mut self.life.world().sessions());
        (beginning, remains)
    }
}

impl Outlet {
    /// A frame to be filled, with the buffers of an earlier one if there are any.
    fn take_frame(&mut self) -> Box<Frame> {
        match self {
            Self::Away { spent, .. } => spent.try_recv().ok(),
            Self::Here { spent, .. } => spent.take(),
        }
        .unwrap_or_else(|| Box::new(Frame::empty()))
    }

    /// False when the frame got lost.
    fn tell(&mut self, frame: Box<Frame>) -> bool {
        match self {
            Self::Away { frames, .. } => !matches!(frames.try_send(frame), Err(TrySendError::Full(_))),
            Self::Here { line, spent, sessions } => {
                line.follow(&frame);
                if !frame.events.is_empty() {
                    sessions.tell_shards(&ToShard::Events(frame.world, frame.events.as_slice().into()));
                }
                *spent = Some(frame);
                true
            }
        }
    }
}

/// What an instance is made of.
pub(super) struct Founding {
    pub(super) scene: Arc<Scene>,
    pub(super) config: WorldConfig,
    pub(super) sessions: Arc<Sessions>,
    pub(super) dead_reckoning: bool,
    /// Of the steps of all instances.
    pub(super) timing: Timing,
    pub(super) lateness: Timing,
    pub(super) clock: Clock,
    pub(super) dt: Duration,
}

impl Stepper {
    /// An instance before its first step, and where its commands wait.
    pub(super) fn found(founding: Founding) -> (Box<Self>, Arc<Waiting>) {
        let Founding { scene, config, sessions, dead_reckoning, timing, lateness, clock, dt } = founding;
        let waiting = Waiting::new(INSTANCE_INBOX_MAX);
        let line = Box::new(Line::new(&scene, &waiting, None, dt, dead_reckoning));
        // One after the other takes its checkpoints.
        let share = (config.id.0 % 64) as f32 / 64.0;
        let stepper = Self {
            life: Life::new(config, share),
            waiting: Arc::clone(&waiting),
            commands: Vec::new(),
            outlet: Outlet::Here { line, spent: None, sessions },
            seen: Arc::new(Seen {
                counted: Mutex::new(Counted { dilation: 1.0, ..Counted::default() }),
                ..Seen::default()
            }),
            timing,
            lateness,
            clock,
            // Nobody asks for recordings of instances.
            tapes: crossbeam_channel::never(),
            tape: None,
            fuse: Arc::default(),
            scene,
        };
        (Box::new(stepper), waiting)
    }
}

pub(super) fn start(
    config: &Config,
    places: &Places,
    clock: &Clock,
    metrics: &Metrics,
    recorder: Recorder,
    fuses: &mut Fuses,
) -> Result<Worlds, ServeError> {
    let pool_clock = Arc::clone(clock);
    let n_workers = threads_or_default(config.world.threads);
    let lock_wait = LockWait::new(metrics, "schedule");
    let pool = Pool::start_recorded(n_workers, move || pool_clock(), recorder, lock_wait)
        .map_err(|source| ServeError::Thread { name: "world", source })?;
    let dt = Duration::from_secs(1) / config.world.hz;
    let (frame_sender, frames) = bounded(FRAMES_MAX);
    let (spent, spent_receiver) = bounded(FRAMES_MAX);
    let mut inboxes = Vec::new();
    let mut watched = Vec::new();
    let mut tapes = Vec::new();
    for place in places.iter() {
        // A recording that is asked for while another one waits is refused.
        let (tape_sender, tape_receiver) = bounded(1);
        let waiting = Waiting::new(INBOX_MAX);
        let counted = Mutex::new(Counted { dilation: 1.0, ..Counted::default() });
        let seen = Arc::new(Seen { counted, ..Seen::default() });
        let stepper = Stepper {
            scene: Arc::clone(&place.scene),
            life: Life::new(world_config(place), place.world().0 as f32 / places.len() as f32),
            waiting: Arc::clone(&waiting),
            commands: Vec::new(),
            outlet: Outlet::Away { frames: frame_sender.clone(), spent: spent_receiver.clone() },
            seen: Arc::clone(&seen),
            timing: metrics.timing(
                "throng_world_tick_seconds",
                "Duration of a step of the world.",
                &[("world", place.name())],
            ),
            lateness: metrics.timing(
                "throng_world_late_seconds",
                "Time from when a step of the world was due until it began.",
                &[("world", place.name())],
            ),
            clock: Arc::clone(clock),
            tapes: tape_receiver,
            tape: None,
            fuse: fuses.at(&format!("world:{}", place.name())),
        };
        tapes.push(tape_sender);
        let waker = pool.add(Box::new(stepper), dt, Tick(0));
        inboxes.push(Inbox { waiting, waker });
        watched.push(seen);
    }
    let names = places.iter().map(|place| place.name().to_owned()).collect();
    let pool = Arc::new(Mutex::new(Some(pool)));
    let inboxes = Arc::new(Inboxes::new(inboxes));
    let instances = SeenInstances::default();
    Ok(Worlds { pool, inboxes, frames, spent, seen: watched, instances, names, tapes, dt })
}

pub(super) fn world_config(place: &Place) -> WorldConfig {
    let WorldId(n) = place.world();
    // 0 is no id.
    let first = n * LOCAL_IDS + 1;
    WorldConfig {
        id: place.world(),
        epoch: Epoch(0),
        size_m: place.land().size_m,
        local_ids: first..first + LOCAL_IDS - 1,
        terrain: Arc::clone(&place.land().terrain),
        scenery: Arc::clone(&place.land().scenery),
        cast: None,
        water_m: place.land().water_m,
        max_avatars: place.scene.max_avatars as usize,
        seed: place.handle.0,
    }
}

/// What the `watch` thread looks at.
pub(super) struct Watch {
    pool: Arc<Mutex<Option<Pool>>>,
    seen: Vec<Arc<Seen>>,
    instances: SeenInstances,
    /// By world.
    pub(super) names: Vec<String>,
}

impl Watch {
    /// What each world has counted.
    pub(super) fn counted(&self) -> Vec<Counted> {
        let counted = |seen: &Arc<Seen>| *seen.counted.lock().unwrap_or_else(PoisonError::into_inner);
        self.seen.iter().map(counted).collect()
    }

    /// By world, when the step began that it is in; `None` between two steps.
    pub(super) fn in_step_since(&self) -> impl Iterator<Item = Option<Instant>> {
        let since = |seen: &Arc<Seen>| seen.in_step_since.load(Ordering::Relaxed);
        self.seen.iter().map(since).map(|since| (since > 0).then_some(Instant(since)))
    }

    /// Instances in the pool: how many there are, how many avatars are in them, and the slowest one's dilation.
    pub(super) fn instances(&self) -> (usize, usize, f32) {
        let instances = self.instances.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut n_avatars, mut dilation) = (0, 1.0_f32);
        for seen in instances.values() {
            let counted = seen.counted.lock().unwrap_or_else(PoisonError::into_inner);
            n_avatars += counted.n_avatars;
            dilation = dilation.min(counted.dilation);
        }
        (instances.len(), n_avatars, dilation)
    }

    /// When the step began that has lasted the longest, of those that instances are in.
    pub(super) fn instance_in_step_since(&self) -> Option<Instant> {
        let instances = self.instances.lock().unwrap_or_else(PoisonError::into_inner);
        let since = instances.values().map(|seen| seen.in_step_since.load(Ordering::Relaxed));
        since.filter(|&since| since > 0).min().map(Instant)
    }

    /// What the frames of all worlds cost since the last call.
    pub(super) fn take_laps(&self) -> Vec<(TaskId, Laps)> {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.as_ref().map_or_else(Vec::new, Pool::take_laps)
    }
}

impl Worlds {
    pub(super) fn watch(&self) -> Watch {
        Watch {
            pool: Arc::clone(&self.pool),
            seen: self.seen.clone(),
            instances: Arc::clone(&self.instances),
            names: self.names.clone(),
        }
    }

    /// Tells of worlds that panicked.
    pub(super) fn panicked(&self) -> Receiver<Panicked> {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.as_ref().expect("asked for before the end").panicked().clone()
    }

    /// Where worlds are put back to work.
    pub(super) fn workplace(&self) -> Workplace {
        Workplace { pool: Arc::clone(&self.pool), instances: Arc::clone(&self.instances), dt: self.dt }
    }

    /// World time between two ticks.
    pub(super) const fn dt(&self) -> Duration {
        self.dt
    }

    /// Where recordings of each world begin.
    pub(super) fn tapes(&self) -> &[Sender<Tape>] {
        &self.tapes
    }

    /// Ends the steps.
    pub(super) fn stop(&self) {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(pool);
    }
}

/// The pool, for whoever restarts worlds.
pub(super) struct Workplace {
    pool: Arc<Mutex<Option<Pool>>>,
    instances: SeenInstances,
    dt: Duration,
}

impl Workplace {
    /// Steps a world from now on; its inbox. None once the server stops.
    pub(super) fn take_in(&self, stepper: Box<Stepper>, waiting: Arc<Waiting>) -> Option<Inbox> {
        let (world, seen) = (stepper.scene.world, Arc::clone(&stepper.seen));
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let waker = pool.as_ref()?.add(stepper, self.dt, Tick(0));
        self.instances.lock().unwrap_or_else(PoisonError::into_inner).insert(world, seen);
        Some(Inbox { waiting, waker })
    }

    /// Steps a world no more. What is left of it is the caller's to drop; none when it is down, or the server stops.
    pub(super) fn let_go(&self, world: WorldId, inbox: &Inbox) -> Option<Box<dyn Task>> {
        self.instances.lock().unwrap_or_else(PoisonError::into_inner).remove(&world);
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.as_ref()?.remove(inbox.waker.id())
    }

    /// Steps a world again, from this tick on; whoever holds the inbox reaches it. Not once the server stops.
    pub(super) fn take_back(&self, inbox: &Inbox, stepper: Box<Stepper>, first_tick: Tick) {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pool.as_ref() {
            pool.add_again(&inbox.waker, stepper, self.dt, first_tick);
        }
    }
}
