//! The worlds on their pool: each with an inbox of commands and an outbox of frames.
//!
//! A world that panics is taken up again by the `restarts` thread ([`super::restarts`]), which finds all that a new life needs in
//! what the pool hands back of its [`Stepper`].

use super::faults::{Fuse, Fuses};
use super::{Clock, ServeError, threads_or_default};
use crate::config::Config;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use gateway::places::{Place, Places};
use ids::{Epoch, Instant, SessionKey, Tick, WorldId};
use recording::Tape;
use schedule::{Laps, Panicked, Pool, Start, Task, TaskId, Waker};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use telemetry::recorder::{Arg, Recorder, Scope, ScopeKind, frame_end};
use telemetry::{LockWait, Metrics, Timing};
use world::{Beginning, Command, Frame, Life, World, WorldConfig, WorldCounters};

/// Commands that a world's inbox holds; a shard keeps what does not fit and tries again.
const INBOX_MAX: usize = 16_384;
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

/// Where a world's commands go in.
#[derive(Clone)]
pub(super) struct Inbox {
    pub(super) commands: Sender<Command>,
    pub(super) waker: Waker,
}

pub(super) struct Worlds {
    pool: Arc<Mutex<Option<Pool>>>,
    /// By world.
    pub(super) inboxes: Vec<Inbox>,
    /// What they made of them, and where spent frames go back.
    pub(super) frames: Receiver<Box<Frame>>,
    pub(super) spent: Sender<Box<Frame>>,
    seen: Vec<Arc<Seen>>,
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

/// One world as a task of the pool.
pub(super) struct Stepper {
    id: WorldId,
    life: Life,
    inbox: Receiver<Command>,
    commands: Vec<Command>,
    frames: Sender<Box<Frame>>,
    spent: Receiver<Box<Frame>>,
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
        self.inbox.is_empty() && self.life.world().is_quiet() && self.tape.is_none() && self.tapes.is_empty()
    }

    fn step(&mut self, start: &Start) {
        let (world, dt_ns) = (self.id.0.into(), start.dt.as_nanos() as u64);
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
        for _ in 0..self.inbox.len() {
            let Ok(command) = self.inbox.try_recv() else { break };
            self.commands.push(command);
        }
        self.take_tape();
        if let Some(tape) = &mut self.tape {
            tape.give(began_at, tick, dt, dilation, &self.commands);
        }
        let mut frame = self.spent.try_recv().unwrap_or_else(|_| Box::new(Frame::empty()));
        // At the worst moment: the commands are taken, and nobody is told anything.
        self.fuse.strike();
        self.life.step(began_at, tick, dt, dilation, &mut self.commands, &mut frame);
        if self.tape.as_mut().is_some_and(|tape| !tape.came_to(began_at, frame.state_hash)) {
            self.tape = None;
        }
        let lost = matches!(self.frames.try_send(frame), Err(TrySendError::Full(_)));
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

    /// Which world it steps.
    pub(super) const fn world(&self) -> WorldId {
        self.life.config().id
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
        self.inbox.try_iter().for_each(drop);
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
        let (commands, inbox) = bounded(INBOX_MAX);
        let counted = Mutex::new(Counted { dilation: 1.0, ..Counted::default() });
        let seen = Arc::new(Seen { counted, ..Seen::default() });
        let stepper = Stepper {
            id: place.world,
            life: Life::new(world_config(place), place.world.0 as f32 / places.len() as f32),
            inbox,
            commands: Vec::new(),
            frames: frame_sender.clone(),
            spent: spent_receiver.clone(),
            seen: Arc::clone(&seen),
            timing: metrics.timing(
                "throng_world_tick_seconds",
                "Duration of a step of the world.",
                &[("world", &place.name)],
            ),
            lateness: metrics.timing(
                "throng_world_late_seconds",
                "Time from when a step of the world was due until it began.",
                &[("world", &place.name)],
            ),
            clock: Arc::clone(clock),
            tapes: tape_receiver,
            tape: None,
            fuse: fuses.at(&format!("world:{}", place.name)),
        };
        tapes.push(tape_sender);
        let waker = pool.add(Box::new(stepper), dt, Tick(0));
        inboxes.push(Inbox { commands, waker });
        watched.push(seen);
    }
    let names = places.iter().map(|place| place.name.clone()).collect();
    let pool = Arc::new(Mutex::new(Some(pool)));
    Ok(Worlds { pool, inboxes, frames, spent, seen: watched, names, tapes, dt })
}

pub(super) fn world_config(place: &Place) -> WorldConfig {
    let WorldId(n) = place.world;
    // 0 is no id.
    let first = n * LOCAL_IDS + 1;
    WorldConfig {
        id: place.world,
        epoch: Epoch(0),
        size_m: place.size_m,
        local_ids: first..first + LOCAL_IDS - 1,
        terrain: Arc::clone(&place.terrain),
        scenery: Arc::clone(&place.scenery),
        water_m: place.water_m,
        max_avatars: place.max_avatars as usize,
        seed: place.handle.0,
    }
}

/// What the `watch` thread looks at.
pub(super) struct Watch {
    pool: Arc<Mutex<Option<Pool>>>,
    seen: Vec<Arc<Seen>>,
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

    /// What the frames of all worlds cost since the last call.
    pub(super) fn take_laps(&self) -> Vec<(TaskId, Laps)> {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.as_ref().map_or_else(Vec::new, Pool::take_laps)
    }
}

impl Worlds {
    pub(super) fn watch(&self) -> Watch {
        Watch { pool: Arc::clone(&self.pool), seen: self.seen.clone(), names: self.names.clone() }
    }

    /// Tells of worlds that panicked.
    pub(super) fn panicked(&self) -> Receiver<Panicked> {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.as_ref().expect("asked for before the end").panicked().clone()
    }

    /// Where worlds are put back to work.
    pub(super) fn workplace(&self) -> Workplace {
        Workplace { pool: Arc::clone(&self.pool), dt: self.dt }
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
    dt: Duration,
}

impl Workplace {
    /// Steps a world again, from this tick on; whoever holds the inbox reaches it. Not once the server stops.
    pub(super) fn take_back(&self, inbox: &Inbox, stepper: Box<Stepper>, first_tick: Tick) {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pool.as_ref() {
            pool.add_again(&inbox.waker, stepper, self.dt, first_tick);
        }
    }
}
