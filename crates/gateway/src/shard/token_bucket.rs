//! A rate with bursts, by which a client's messages are limited.

use ids::Instant;

/// A token bucket.
#[derive(Debug)]
pub(super) struct TokenBucket {
    left: f32,
    at: Instant,
    per_s: f32,
    burst: f32,
}

impl TokenBucket {
    pub(super) const fn new(now: Instant, per_s: f32, burst: f32) -> Self {
        Self { left: burst, at: now, per_s, burst }
    }

    /// Takes one, if there is one.
    pub(super) fn try_spend(&mut self, now: Instant) -> bool {
        self.take_above(now, 0.0)
    }

    /// Takes `n`, if there are so many.
    pub(super) fn try_spend_many(&mut self, now: Instant, n: f32) -> bool {
        self.take(now, n, 0.0)
    }

    /// Takes one, if `reserve` are left after it.
    pub(super) fn take_above(&mut self, now: Instant, reserve: f32) -> bool {
        self.take(now, 1.0, reserve)
    }

    fn take(&mut self, now: Instant, n: f32, reserve: f32) -> bool {
        self.left = (self.left + self.per_s * now.since(self.at).as_secs_f32()).min(self.burst);
        self.at = now;
        let granted = self.left >= reserve + n;
        if granted {
            self.left -= n;
        }
        granted
    }
}
