//! Times of panics: bouts of panicking steps, at random times of the storm.

use crate::faults::Panics;
use crate::streams::{Purpose, duration, stream};
use bots::rng::Rng;
use ids::Instant;

/// Coming bouts of one world.
#[derive(Debug)]
pub(crate) struct Bouts {
    rng: Rng,
    /// Begin of the next one; unknown before the first check.
    next_at: Option<Instant>,
    /// Steps that still panic in this one.
    left: u32,
}

impl Bouts {
    pub(crate) const fn new(seed: u64, world: u32) -> Self {
        Self { rng: stream(seed, Purpose::Panics, world as u64), next_at: None, left: 0 }
    }

    /// True if the next step panics.
    pub(crate) fn strikes(&mut self, now: Instant, panics: Option<&Panics>) -> bool {
        let Some(panics) = panics else { return false };
        let mut draw = || now + duration(&mut self.rng, panics.every / 2, panics.every * 3 / 2);
        let next_at = *self.next_at.get_or_insert_with(&mut draw);
        if self.left == 0 && now >= next_at {
            self.left = panics.steps;
            self.next_at = Some(draw());
        }
        let strikes = self.left > 0;
        self.left = self.left.saturating_sub(1);
        strikes
    }
}
