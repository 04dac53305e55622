//! Durations that keep their maximum.

use ::metrics::Histogram;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the histogram of every timing, in seconds. Dense around what we must tell apart: 50 ms is a tick at
/// 20 Hz, 22 and 33 ms one at 45 and 30 Hz, and encoding passes take fractions of a millisecond. Twenty bounds, since each is a
/// series per label set.
pub const TIMING_BUCKETS_S: [f64; 20] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.015, 0.022, 0.033, 0.05, 0.075, 0.1,
    0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// A handle to a histogram of durations and its kept maximum. Recording takes two atomic operations and no lock.
#[derive(Clone)]
pub struct Timing {
    histogram: Histogram,
    maximum: Maximum,
}

impl Timing {
    pub(crate) const fn new(histogram: Histogram, maximum: Maximum) -> Self {
        Self { histogram, maximum }
    }

    /// Adds one duration.
    pub fn record(&self, duration: Duration) {
        self.histogram.record(duration.as_secs_f64());
        self.maximum.raise(duration);
    }
}

impl fmt::Debug for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timing").field("maximum", &self.maximum).finish_non_exhaustive()
    }
}

/// The longest duration since somebody took it, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Maximum(Arc<AtomicU64>);

impl Maximum {
    pub(crate) fn raise(&self, duration: Duration) {
        // 584 years fit.
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_max(nanos, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn take(&self) -> Duration {
        Duration::from_nanos(self.0.swap(0, Ordering::Relaxed))
    }
}
