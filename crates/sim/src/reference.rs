//! A world that stays: the same commands as the one that moves between hosts, stepped beside it, and compared in every tick.
//!
//! A move must change nothing. So a lost, repeated or aged part shows at the latest in the first tick in which it matters, and the run
//! fails there. After a panic the checkpoint from which a world restarts is that of its last move, so the reference restarts from the
//! world's own state once that has recovered.

use crate::host::{CastLibrary, Resident};
use crate::trace::frame_hash;
use ids::Tick;
use link::{Command, Frame};
use std::sync::Arc;
use std::time::Duration;
use world::World;

/// The state of a world without moves.
pub(crate) struct WorldReference {
    world: World,
    inbox: Vec<Command>,
    casts: Arc<CastLibrary>,
    dt: Duration,
    frame: Frame,
    scratch: Vec<u8>,
}

impl WorldReference {
    /// A copy of a world between two ticks.
    pub(crate) fn beside(resident: &Resident, casts: &Arc<CastLibrary>) -> Self {
        let world = resident.life.world();
        Self {
            world: World::restore(resident.life.config().clone(), &world.snapshot())
                .expect("a world reads its own snapshot"),
            inbox: resident.inbox.clone(),
            casts: Arc::clone(casts),
            dt: resident.dt(),
            frame: Frame::empty(),
            scratch: Vec::new(),
        }
    }

    /// A world before its first tick, with `dt` between two of them.
    pub(crate) fn of(world: World, dt: Duration, casts: &Arc<CastLibrary>) -> Self {
        Self {
            world,
            inbox: Vec::new(),
            casts: Arc::clone(casts),
            dt,
            frame: Frame::empty(),
            scratch: Vec::new(),
        }
    }

    /// Its state between two ticks.
    pub(crate) fn snapshot(&self) -> Vec<u8> {
        self.world.snapshot()
    }

    /// Adds commands for the next step.
    pub(crate) fn send(&mut self, commands: &[Command]) {
        self.inbox.extend_from_slice(commands);
    }

    /// Steps the world, and describes its difference from the frame of the moved one.
    pub(crate) fn step(&mut self, tick: Tick, moved: &Frame) -> Option<String> {
        let Self { world, inbox, casts, dt, frame, scratch } = self;
        if let Some(reload) = casts.ordered_reload(world.cast(), inbox) {
            world.offer_reload(reload);
        }
        world.step(tick, *dt, 1.0, inbox, frame);
        // A world knows no clock: the time of the step is its host's.
        frame.at = moved.at;
        if frame.state_hash != moved.state_hash {
            return Some(format!(
                "its state hash is {:016x}, without moves {:016x}",
                moved.state_hash, frame.state_hash
            ));
        }
        (frame_hash(frame, scratch) != frame_hash(moved, scratch))
            .then(|| format!("its frame {} differs from the one without moves", moved.sequence))
    }
}
