//! Real time: experiments are about it.

use std::time::{Duration, Instant};

#[expect(clippy::disallowed_methods, reason = "an experiment measures real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits until a moment; not at all when it has passed.
pub(crate) fn wait_until(at: Instant) {
    loop {
        let left = at.saturating_duration_since(now());
        if left.is_zero() {
            return;
        }
        // May return early.
        std::thread::park_timeout(left);
    }
}

/// Waits for `duration`.
pub(crate) fn wait(duration: Duration) {
    wait_until(now() + duration);
}
