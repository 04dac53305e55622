//! Worlds of one rate.

use crate::clock::FrameClock;
use ids::Instant;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct RateGroup {
    pub(super) clock: FrameClock,
    /// Members with frames, in the order of the last beat; and until the next beat those that fell asleep or were removed.
    pub(super) members: Vec<u32>,
    /// Tasks of this rate, asleep or not.
    pub(super) n_tasks: usize,
    pub(super) n_awake: usize,
    /// Members that are no more.
    pub(super) n_retired: usize,
    /// Expected sum of one frame's steps, as of the last beat.
    pub(super) cost: Duration,
}

/// Removed members that are kept before the list is compacted.
const RETIRED_MAX: usize = 16;

impl RateGroup {
    pub(super) const fn new(now: Instant, dt: Duration) -> Self {
        let clock = FrameClock::new(now, dt);
        Self { clock, members: Vec::new(), n_tasks: 0, n_awake: 0, n_retired: 0, cost: Duration::ZERO }
    }

    /// Worker time per time.
    pub(super) fn demand(&self) -> f32 {
        if self.n_awake == 0 {
            return 0.0;
        }
        self.cost.as_secs_f32() / self.clock.dt().as_secs_f32()
    }

    pub(super) const fn wants_tidying(&self) -> bool {
        self.n_tasks == 0 || self.n_retired > self.members.len() / 2 + RETIRED_MAX
    }
}
