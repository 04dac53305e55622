//! The one real clock of the bots, in the form that the cores take.

use ids::Instant;

/// Counts from its start.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunClock {
    started_at: std::time::Instant,
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the driver reads the time that everything else is given"
)]
impl RunClock {
    pub(super) fn start() -> Self {
        Self { started_at: std::time::Instant::now() }
    }

    pub(super) fn now(self) -> Instant {
        Instant::ZERO + self.started_at.elapsed()
    }
}
