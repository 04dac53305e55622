//! Durations that keep their maximum.

use crate::histogram::DurationHistogram;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the histogram of every timing, in nanoseconds. Dense around the durations that matter: 50 ms is a tick at
/// 20 Hz, 33 and 22 ms one at 30 and 45 Hz, and encoding passes take fractions of a millisecond. Only twenty, since each
/// bound is a series per label set.
pub const TIMING_BUCKETS_NS: [u64; 20] = [
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    15_000_000,
    22_000_000,
    33_000_000,
    50_000_000,
    75_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// A handle to a histogram of durations and its kept maximum. Recording is three atomic operations, without lock or allocation.
#[derive(Clone, Debug)]
pub struct Timing {
    histogram: Arc<DurationHistogram>,
    maximum: Maximum,
}

impl Timing {
    pub(crate) const fn new(histogram: Arc<DurationHistogram>, maximum: Maximum) -> Self {
        Self { histogram, maximum }
    }

    /// Adds one duration.
    pub fn record(&self, duration: Duration) {
        self.histogram.add(duration);
        self.maximum.raise_to(duration);
    }
}

/// The longest duration since the last [`Maximum::reset`], in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Maximum(Arc<AtomicU64>);

impl Maximum {
    pub(crate) fn raise_to(&self, duration: Duration) {
        // 584 years fit.
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_max(nanos, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn reset(&self) -> Duration {
        Duration::from_nanos(self.0.swap(0, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn limits_rise() {
        assert!(super::TIMING_BUCKETS_NS.is_sorted_by(|a, b| a < b));
    }
}
