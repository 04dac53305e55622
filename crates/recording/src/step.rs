//! A step of the recorded world, in the form of the newest version.

use ids::{Instant, Tick};
use link::Command;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One step of the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its number.
    pub tick: Tick,
    /// Begin of the step, on the clock of [`About::clock_zero_ns`](crate::About::clock_zero_ns).
    pub at: Instant,
    /// World time that passed.
    pub dt: Duration,
    /// The scheduler's figure, as frames carry it.
    pub dilation: f32,
    /// The world's commands, in the order of arrival; the world sorts them.
    pub commands: Vec<Command>,
    /// [`link::Frame::state_hash`] after it. `None` for the one step in which the world panicked.
    pub state_hash: Option<u64>,
}
