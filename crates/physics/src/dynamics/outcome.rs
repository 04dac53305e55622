//! Results of a step.

use glam::{Quat, Vec3};
use ids::LocalId;

/// Motion of a body, as of its root.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyMotion {
    /// Root of the linkset.
    pub root: LocalId,
    /// Metres from the region's corner.
    pub position: Vec3,
    /// A quaternion of length 1.
    pub rotation: Quat,
    /// Velocity of the position, m/s; zero at rest.
    pub velocity: Vec3,
    /// Radians per second about each axis of the region; zero at rest.
    pub angular_velocity: Vec3,
    /// Acceleration, m/s²: by gravity while nothing touches or drags the body, else zero.
    pub acceleration: Vec3,
}

/// Reasons to stop a linkset: physics moves it no more until the caller wakes it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopReason {
    /// A number of its state is not finite, or out of range.
    NotANumber,
    /// No part of it is solid.
    NoSolid,
}

/// Results of one step, in the caller's memory. Each step overwrites them; a linkset is at most once in each list.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Bodies that moved, in ascending order of their roots. A body that came to rest is in it once, without velocities.
    pub moved: Vec<BodyMotion>,
    /// Bodies that left the region, with their last motion. They are in no other list.
    pub left: Vec<BodyMotion>,
    /// Linksets that were stopped. A body that was moving is also in `moved`, at rest at its last valid position.
    pub stopped: Vec<(LocalId, StopReason)>,
}

impl Outcome {
    /// Empties the lists and keeps their memory.
    pub fn clear(&mut self) {
        self.moved.clear();
        self.left.clear();
        self.stopped.clear();
    }
}
