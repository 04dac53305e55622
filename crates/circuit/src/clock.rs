//! The circuit's own time: the caller's time without pauses of the process.
//!
//! A server that is stopped for 30 s (debugger, paused machine) must lose no client, so no timer of
//! a circuit may count that time. A circuit cannot see the pause, but it knows the time at which it asked to
//! be served next. Delay of service beyond a tolerance is left out.

use ids::Instant;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The latest time that the caller passed.
    latest: Instant,
    /// Part of the caller's time left out so far.
    skipped: Duration,
    /// The reading after time was left out last.
    steady_since: Instant,
}

impl Clock {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { latest: now, skipped: Duration::ZERO, steady_since: now }
    }

    /// The circuit's time.
    pub(crate) const fn reading(&self) -> Instant {
        Instant(self.latest.since(Instant::ZERO).saturating_sub(self.skipped).as_nanos() as u64)
    }

    /// The caller's time at which this clock will read `at`.
    pub(crate) fn to_caller(self, at: Instant) -> Instant {
        at + self.skipped
    }

    /// True if so much time has passed that [`Self::advance`] needs the circuit's own deadline.
    pub(crate) fn may_be_late(&self, now: Instant, stall_max: Duration) -> bool {
        now.since(self.latest) > stall_max
    }

    /// Advances to `now`, without the part of `now - expected` above `stall_max` (both are the caller's times).
    /// Time never goes back: an earlier `now` counts as the latest.
    pub(crate) fn advance(
        &mut self,
        now: Instant,
        expected: Option<Instant>,
        stall_max: Duration,
    ) -> Instant {
        let late = expected.map_or(Duration::ZERO, |expected| now.since(expected.max(self.latest)));
        self.latest = self.latest.max(now);
        if late > stall_max {
            self.skipped += late - stall_max;
            self.steady_since = self.reading();
        }
        self.reading()
    }

    /// Time since which none was left out. Measurements across this moment contain the pause, and are no measure of the network.
    pub(crate) const fn steady_since(&self) -> Instant {
        self.steady_since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STALL_MAX: Duration = Duration::from_secs(1);

    #[test]
    fn time_served_as_wanted_counts_in_full() {
        let mut clock = Clock::new(Instant::from_millis(1000));
        let now = Instant::from_millis(6000);
        assert_eq!(clock.advance(now, Some(now), STALL_MAX), now);
        assert_eq!(clock.steady_since(), Instant::from_millis(1000));
    }

    #[test]
    fn a_stop_counts_as_the_tolerance() {
        let mut clock = Clock::new(Instant::from_millis(1000));
        let reading =
            clock.advance(Instant::from_millis(33_000), Some(Instant::from_millis(3000)), STALL_MAX);
        assert_eq!(reading, Instant::from_millis(4000));
        assert_eq!(clock.steady_since(), reading);
        assert_eq!(clock.to_caller(Instant::from_millis(4500)), Instant::from_millis(33_500));
    }

    #[test]
    fn time_never_goes_back() {
        let mut clock = Clock::new(Instant::from_millis(1000));
        assert_eq!(clock.advance(Instant::from_millis(10), None, STALL_MAX), Instant::from_millis(1000));
    }
}
