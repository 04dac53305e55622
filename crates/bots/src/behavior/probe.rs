//! Words at a steady pace, to measure how long they take.

use super::AvatarControls;
use crate::rng::Rng;
use ids::Instant;
use std::time::Duration;

/// Period of lines: half of the lasting rate that servers permit.
pub const PROBE_PERIOD: Duration = Duration::from_millis(500);

/// State of a bot that speaks periodically.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Talker {
    speaks_at: Option<Instant>,
}

impl Talker {
    /// Has the body speak when it is time.
    pub(super) fn act(&mut self, now: Instant, body: &mut AvatarControls, rng: &mut Rng) {
        // The first time anywhere in a period, so that not all speak in one tick.
        let at = *self.speaks_at.get_or_insert_with(|| now + PROBE_PERIOD.mul_f64(rng.unit()));
        body.speaks = at <= now;
        if body.speaks {
            self.speaks_at = Some((at + PROBE_PERIOD).max(now));
        }
    }
}
