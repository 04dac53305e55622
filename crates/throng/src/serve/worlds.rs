//! The worlds on their pool: each with an inbox of commands and an outbox of frames.

use super::{Clock, ServeError, threads_or_default};
use crate::config::Config;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use gateway::places::{Place, Places};
use ids::{Epoch, Tick, WorldId};
use schedule::{Laps, Pool, Task, TaskId, Waker};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use telemetry::{Metrics, Timing};
use world::{Command, Frame, World, WorldConfig, WorldCounters};

/// Commands that a world's inbox holds; a shard keeps what does not fit and tries again.
const INBOX_MAX: usize = 16_384;
/// Frames on their way to the replica thread, all worlds together: two seconds of two worlds. One that does not fit
/// is a gap, which a snapshot heals.
const FRAMES_MAX: usize = 64;
/// Local ids of one world: at 20 arrivals a second they last 14 hours, and then the oldest are used again.
const LOCAL_IDS: u32 = 1 << 20;

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
    counters: Vec<Arc<Mutex<Counted>>>,
    names: Vec<String>,
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

/// One world as a task of the pool.
struct Stepper {
    world: World,
    inbox: Receiver<Command>,
    commands: Vec<Command>,
    frames: Sender<Box<Frame>>,
    spent: Receiver<Box<Frame>>,
    counted: Arc<Mutex<Counted>>,
    timing: Timing,
    clock: Clock,
}

impl Task for Stepper {
    fn is_quiet(&mut self) -> bool {
        self.inbox.is_empty() && self.world.is_quiet()
    }

    fn step(&mut self, tick: Tick, dt: Duration, dilation: f32) {
        let began_at = (self.clock)();
        // What comes in from here on belongs to the next tick.
        for _ in 0..self.inbox.len() {
            let Ok(command) = self.inbox.try_recv() else { break };
            self.commands.push(command);
        }
        let mut frame = self.spent.try_recv().unwrap_or_else(|_| Box::new(Frame::empty()));
        self.world.step(tick, dt, dilation, &mut self.commands, &mut frame);
        let lost = matches!(self.frames.try_send(frame), Err(TrySendError::Full(_)));
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.world = *self.world.counters();
        counted.n_avatars = self.world.n_avatars();
        counted.dilation = dilation;
        counted.frames_lost += u64::from(lost);
        drop(counted);
        self.timing.record((self.clock)() - began_at);
    }
}

pub(super) fn start(
    config: &Config,
    places: &Places,
    clock: &Clock,
    metrics: &Metrics,
) -> Result<Worlds, ServeError> {
    let pool_clock = Arc::clone(clock);
    let pool = Pool::start(threads_or_default(config.world.threads), move || pool_clock())
        .map_err(|source| ServeError::Thread { name: "world", source })?;
    let dt = Duration::from_secs(1) / config.world.hz;
    let (frame_sender, frames) = bounded(FRAMES_MAX);
    let (spent, spent_receiver) = bounded(FRAMES_MAX);
    let mut inboxes = Vec::new();
    let mut counters = Vec::new();
    for place in places.iter() {
        let (commands, inbox) = bounded(INBOX_MAX);
        let counted = Arc::new(Mutex::new(Counted { dilation: 1.0, ..Counted::default() }));
        let stepper = Stepper {
            world: World::new(world_config(place)),
            inbox,
            commands: Vec::new(),
            frames: frame_sender.clone(),
            spent: spent_receiver.clone(),
            counted: Arc::clone(&counted),
            timing: metrics.timing(
                "throng_world_tick_seconds",
                "Duration of a step of the world.",
                &[("world", &place.name)],
            ),
            clock: Arc::clone(clock),
        };
        let waker = pool.add(Box::new(stepper), dt, Tick(0));
        inboxes.push(Inbox { commands, waker });
        counters.push(counted);
    }
    let names = places.iter().map(|place| place.name.clone()).collect();
    Ok(Worlds { pool: Arc::new(Mutex::new(Some(pool))), inboxes, frames, spent, counters, names })
}

fn world_config(place: &Place) -> WorldConfig {
    let WorldId(n) = place.world;
    // 0 is no id.
    let first = n * LOCAL_IDS + 1;
    WorldConfig {
        id: place.world,
        epoch: Epoch(0),
        size_m: place.size_m,
        local_ids: first..first + LOCAL_IDS - 1,
        terrain: Arc::clone(&place.terrain),
        water_m: place.water_m,
        max_avatars: place.max_avatars as usize,
        seed: place.handle.0,
    }
}

/// What the `watch` thread looks at.
pub(super) struct Watch {
    pool: Arc<Mutex<Option<Pool>>>,
    counters: Vec<Arc<Mutex<Counted>>>,
    /// By world.
    pub(super) names: Vec<String>,
}

impl Watch {
    /// What each world has counted.
    pub(super) fn counted(&self) -> Vec<Counted> {
        self.counters.iter().map(|c| *c.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// What the frames of all worlds cost since the last call.
    pub(super) fn take_laps(&self) -> Vec<(TaskId, Laps)> {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.as_ref().map_or_else(Vec::new, Pool::take_laps)
    }

    /// Worlds that panicked since the last call.
    pub(super) fn take_panics(&self) -> Vec<String> {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pool) = pool.as_ref() else { return Vec::new() };
        pool.panicked().try_iter().map(|panicked| panicked.message).collect()
    }
}

impl Worlds {
    pub(super) fn watch(&self) -> Watch {
        Watch { pool: Arc::clone(&self.pool), counters: self.counters.clone(), names: self.names.clone() }
    }

    /// Ends the steps.
    pub(super) fn stop(&self) {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(pool);
    }
}
