//! A world and what it takes to begin again after it panicked.
//!
//! Whoever runs a world steps it through a [`Life`], which keeps two checkpoints of it. After a panic inside
//! [`Life::step`], [`Life::begin_again`] makes the next epoch's world from one of them. It neither catches the panic nor decides
//! when the world may begin again: that is the caller's part, as are the visitors who came and went since the checkpoint.
//!
//! What holds across lives, so that nobody who follows the world mistakes the new for the old:
//!
//! - *Local ids* handed out after the checkpoint are not handed out again: an id stands for one presence of one session in
//!   all epochs, until the ids of the world are used up and begin again.
//! - *Ticks* go on behind the one that failed: the caller never steps one twice. So a change of the new life is later than
//!   everything that was told of the old one.
//! - *Commands* of the step that failed were taken and are gone. They are never given to the new life, since they may be what
//!   the old one died of.

use crate::{
    command::Command,
    frame::Frame,
    snapshot::{Checkpoint, IdsUsed, RestoreError},
    world::{World, WorldConfig, system},
};
use ids::{Epoch, Instant, Tick};
use std::{fmt, time::Duration};
use telemetry::recorder::Scope;

/// It comes every few seconds, and the visitors should not see it.
static CHECKPOINT: Scope = system("world.checkpoint", 10);

/// Something to run inside a step, to see what comes of it.
pub type Fault = Box<dyn FnOnce() + Send>;

/// A world under way.
pub struct Life {
    config: WorldConfig,
    world: World,
    /// As of the last step that ended.
    ids: IdsUsed,
    /// When the next checkpoint is due, on the grid of this world.
    next_at: Instant,
    newest: Option<Checkpoint>,
    /// The one before: the newest may have been taken of a state that cannot go on.
    older: Option<Checkpoint>,
    fault: Option<Fault>,
}

/// What a new life began from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// The newest checkpoint.
    Newest,
    /// The one before.
    Older,
    /// Nothing: a new world. Its visitors come in again.
    Empty,
}

impl Life {
    /// Time between two checkpoints. A restart puts who is in the checkpoint back by so much at most; visitors who came
    /// since then come in again where they were.
    pub const CHECKPOINT_PERIOD: Duration = Duration::from_secs(4);

    /// The first life of a world. `share`, 0 to 1, is its place in the period: worlds of a node that have different ones take
    /// their checkpoints in different ticks.
    ///
    /// # Panics
    /// As [`World::new`].
    #[must_use]
    pub fn new(config: WorldConfig, share: f32) -> Self {
        let world = World::new(config.clone());
        let offset = Self::CHECKPOINT_PERIOD.mul_f32(share.clamp(0.0, 1.0));
        let ids = world.ids_used();
        Self { config, world, ids, next_at: Instant::ZERO + offset, newest: None, older: None, fault: None }
    }

    /// The world.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }

    /// What it is made from, in this epoch.
    #[must_use]
    pub const fn config(&self) -> &WorldConfig {
        &self.config
    }

    /// [`World::step`], and a checkpoint behind it when one is due.
    pub fn step(
        &mut self,
        now: Instant,
        tick: Tick,
        dt: Duration,
        dilation: f32,
        commands: &mut Vec<Command>,
        out: &mut Frame,
    ) {
        self.world.step(tick, dt, dilation, commands, out);
        if let Some(fault) = self.fault.take() {
            fault();
        }
        self.ids = self.world.ids_used();
        if now >= self.next_at {
            let _scope = CHECKPOINT.enter(self.config.id.0.into());
            self.next_at = next_on_grid(self.next_at, now);
            // The newest stands until there is another one: whatever is cut short, one is whole.
            let spare = std::mem::replace(&mut self.older, self.newest.take());
            self.newest = Some(match spare {
                Some(mut checkpoint) => {
                    self.world.checkpoint_into(&mut checkpoint);
                    checkpoint
                }
                None => self.world.checkpoint(),
            });
        }
    }

    /// Runs something in the next step, at the worst moment: the world has taken the commands and changed, and nobody was
    /// told of it. For tests and experiments; a fault that panics is a world that panics.
    pub fn arm(&mut self, fault: Fault) {
        self.fault = Some(fault);
    }

    /// Takes the world down between two steps and puts it up again from its own snapshot, in the same epoch: nobody notices.
    ///
    /// # Errors
    /// When it does not read what it wrote.
    pub fn reload(&mut self) -> Result<(), RestoreError> {
        self.world = World::restore(self.config.clone(), &self.world.snapshot())?;
        Ok(())
    }

    /// Begins the next epoch, after a step that panicked. The first attempt takes the newest checkpoint; one that follows a
    /// panic soon after, so that `in_a_row` is 2, the one before; later ones begin with an empty world. A checkpoint that
    /// turns out to be of no possible world is passed over.
    ///
    /// Returns what is left of the former life, to be dropped where that disturbs nobody.
    pub fn begin_again(&mut self, in_a_row: u32) -> (Beginning, World) {
        let Epoch(former) = self.config.epoch;
        self.config.epoch = Epoch(former + 1);
        let checkpoints = [(Beginning::Newest, &self.newest), (Beginning::Older, &self.older)];
        let tried_before = in_a_row.saturating_sub(1) as usize;
        let resumed = checkpoints.into_iter().skip(tried_before).find_map(|(beginning, checkpoint)| {
            let world = World::resume(self.config.clone(), checkpoint.as_ref()?).ok()?;
            Some((beginning, world))
        });
        let (beginning, mut world) =
            resumed.unwrap_or_else(|| (Beginning::Empty, World::new(self.config.clone())));
        world.skip_ids(self.ids);
        world.counters = self.world.counters;
        world.ask_for_snapshot();
        if beginning == Beginning::Empty {
            self.newest = None;
            self.older = None;
        }
        (beginning, std::mem::replace(&mut self.world, world))
    }
}

impl fmt::Debug for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Life").field("world", &self.world).finish_non_exhaustive()
    }
}

/// The next time after `now` on a grid that `due_at` lies on.
fn next_on_grid(due_at: Instant, now: Instant) -> Instant {
    let period = Life::CHECKPOINT_PERIOD.as_nanos() as u64;
    let missed = now.since(due_at).as_nanos() as u64 / period;
    Instant(due_at.0 + (missed + 1) * period)
}
