//! The two ends of a recording under way: a [`Tape`] on the world's thread, a [`Reel`] on the writer's.
//!
//! The world never waits. When the writer has fallen behind by [`QUEUE_STEPS_MAX`] steps the tape ends there, and the file
//! says so; when the writer has gone, because the disk is full, the tape ends as well.

use crate::format::Ending;
use crate::step::Step;
use crossbeam_channel::{Receiver, Sender, bounded};
use ids::{Instant, Tick};
use link::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use world::{Checkpoint, NpcCast, World};

/// Steps between a world and the writer: ten seconds at 20 Hz, in which a disk may stall.
pub const QUEUE_STEPS_MAX: usize = 200;

#[derive(Debug, Default)]
struct Shared {
    checkpoint: Mutex<Option<Checkpoint>>,
    ending: AtomicU8,
}

/// A step on its way to the writer.
#[derive(Debug)]
pub(crate) struct Taped {
    pub(crate) step: Step,
    /// The cast to which the world goes over in it.
    pub(crate) cast: Option<Arc<NpcCast>>,
}

/// The world's end. Dropped before its time is over, it says that the world was stopped.
#[derive(Debug)]
pub struct Tape {
    steps: Sender<Taped>,
    shared: Arc<Shared>,
    until: Instant,
    /// The step that the world is in.
    current: Option<Taped>,
}

/// The writer's end.
#[derive(Debug)]
pub struct Reel {
    steps: Receiver<Taped>,
    shared: Arc<Shared>,
}

impl Tape {
    /// A tape for a world as it is between two steps, that runs until this time.
    #[must_use]
    pub fn new(until: Instant) -> (Self, Reel) {
        let (sender, steps) = bounded(QUEUE_STEPS_MAX);
        let shared = Arc::new(Shared { ending: AtomicU8::new(Ending::Stopped as u8), ..Shared::default() });
        let reel = Reel { steps, shared: Arc::clone(&shared) };
        (Self { steps: sender, shared, until, current: None }, reel)
    }

    /// Keeps the state that the recording begins with. Call it once, between two steps.
    pub fn begin(&self, world: &World) {
        *self.shared.checkpoint.lock().unwrap_or_else(PoisonError::into_inner) = Some(world.checkpoint());
    }

    /// Records the inputs of the next step.
    pub fn record_step(
        &mut self,
        at: Instant,
        tick: Tick,
        dt: Duration,
        dilation: f32,
        commands: &[Command],
    ) {
        let step = Step { tick, at, dt, dilation, commands: commands.to_vec(), state_hash: None };
        self.current = Some(Taped { step, cast: None });
    }

    /// Notes that the commands of the step order a reload to this cast.
    ///
    /// # Panics
    /// When no step was given.
    pub fn record_cast(&mut self, cast: &Arc<NpcCast>) {
        self.current.as_mut().expect("a step was given").cast = Some(Arc::clone(cast));
    }

    /// Records the result of the step. False if the recording is over and the tape is to be dropped.
    #[must_use]
    pub fn came_to(&mut self, now: Instant, state_hash: u64) -> bool {
        let Some(Taped { step, cast }) = self.current.take() else { return true };
        let step = Step { state_hash: Some(state_hash), ..step };
        if self.steps.try_send(Taped { step, cast }).is_err() {
            // The queue is full, or the writer has gone and needs no reason.
            self.end(Ending::QueueFull);
            return false;
        }
        if now >= self.until {
            self.end(Ending::Complete);
            return false;
        }
        true
    }

    /// The world panicked in the step that it was given last: the most interesting one.
    pub fn panicked(mut self) {
        let step = self.current.take();
        let was_sent = step.is_none_or(|step| self.steps.try_send(step).is_ok());
        self.end(if was_sent { Ending::Panicked } else { Ending::QueueFull });
    }

    fn end(&self, ending: Ending) {
        self.shared.ending.store(ending as u8, Ordering::Release);
    }
}

impl Reel {
    /// The state that it begins with; waits for the first step. `None` when the world ended before.
    pub(crate) fn beginning(&self) -> Option<Checkpoint> {
        let take = || self.shared.checkpoint.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The checkpoint is there before the first step is sent, and before the tape is dropped.
        let mut ready = crossbeam_channel::Select::new();
        ready.recv(&self.steps);
        ready.ready();
        take()
    }

    /// Every step; waits for the next one, ends with the tape.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Taped> {
        self.steps.iter()
    }

    /// The reason for the tape's end, once it has ended.
    pub(crate) fn ending(&self) -> Ending {
        let code = self.shared.ending.load(Ordering::Acquire);
        let all = [Ending::Complete, Ending::Stopped, Ending::QueueFull, Ending::Panicked];
        all.into_iter().find(|ending| *ending as u8 == code).expect("only endings are stored")
    }
}
