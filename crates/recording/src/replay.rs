//! A recorded world under way again.

use crate::error::RecordingError;
use crate::read::Recording;
use crate::step::Step;
use link::Frame;
use std::io::{Read, Seek};
use world::World;

/// A world with the recorded inputs.
#[derive(Debug)]
pub struct Replay {
    world: World,
    frame: Frame,
}

impl Replay {
    /// The world as it was before the first step.
    ///
    /// # Errors
    /// [`RecordingError::Restore`].
    pub fn new<R: Read + Seek>(recording: &Recording<R>) -> Result<Self, RecordingError> {
        Ok(Self { world: recording.world()?, frame: Frame::empty() })
    }

    /// Makes one step. The frame it gives is overwritten by the next one; its state hash is to be compared with the step's.
    ///
    /// # Panics
    /// When the world does, as a recorded one may have in the last step.
    pub fn step(&mut self, mut step: Step) -> &Frame {
        self.world.step(step.tick, step.dt, step.dilation, &mut step.commands, &mut self.frame);
        &self.frame
    }

    /// The world after the last step.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }
}
