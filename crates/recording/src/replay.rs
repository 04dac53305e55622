//! A recorded world under way again.

use crate::error::RecordingError;
use crate::read::Recording;
use crate::step::Step;
use link::{Action, Command, Frame};
use std::io::{Read, Seek};
use std::sync::Arc;
use world::{CastReload, NpcCast, World};

/// A world with the recorded inputs.
#[derive(Debug)]
pub struct Replay {
    world: World,
    /// To which it may go over.
    casts: Vec<Arc<NpcCast>>,
    frame: Frame,
}

impl Replay {
    /// The world as it was before the first step.
    ///
    /// # Errors
    /// [`RecordingError::Restore`].
    pub fn new<R: Read + Seek>(recording: &Recording<R>) -> Result<Self, RecordingError> {
        let world = recording.world()?;
        let casts = world.cast().into_iter().chain(recording.later_casts()).cloned().collect();
        Ok(Self { world, casts, frame: Frame::empty() })
    }

    /// Makes one step. The frame it gives is overwritten by the next one; its state hash is to be compared with the step's.
    ///
    /// # Panics
    /// When the world does, as a recorded one may have in the last step.
    pub fn step(&mut self, mut step: Step) -> &Frame {
        self.offer_reload(&step.commands);
        self.world.step(step.tick, step.dt, step.dilation, &mut step.commands, &mut self.frame);
        &self.frame
    }

    /// A reload that cannot be made shows by the state hash of its step.
    fn offer_reload(&mut self, commands: &[Command]) {
        let ordered = commands.iter().find_map(|command| match command.action {
            Action::ReloadBehaviors { cast } => Some(cast),
            _ => None,
        });
        let to = ordered.and_then(|cast| self.casts.iter().find(|one| one.fingerprint() == cast));
        if let Some((from, to)) = self.world.cast().zip(to)
            && let Ok(reload) = CastReload::new(Arc::clone(from), Arc::clone(to))
        {
            self.world.offer_reload(Arc::new(reload));
        }
    }

    /// The world after the last step.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }
}
