//! Summary of times in a few numbers.

use crate::distribution::Distribution;
use serde::Serialize;
use std::time::Duration;

/// Times that are being summed up.
#[derive(Clone, Debug, Default)]
pub struct Times {
    distribution: Distribution,
    min: Option<Duration>,
    max: Duration,
    sum_s: f64,
    squares_s: f64,
}

/// Milliseconds; without times all but the count are null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Number of times.
    pub count: u64,
    /// The shortest.
    pub min_ms: Option<f64>,
    /// The mean.
    pub mean_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
    /// Standard deviation.
    pub sd_ms: Option<f64>,
    /// Median, to a tenth of a millisecond.
    pub p50_ms: Option<f64>,
    /// 99th percentile, as above.
    pub p99_ms: Option<f64>,
    /// 99.9th percentile, as above.
    pub p999_ms: Option<f64>,
}

impl Times {
    /// One more.
    pub fn record(&mut self, time: Duration) {
        self.distribution.record(time);
        self.min = Some(self.min.map_or(time, |min| min.min(time)));
        self.max = self.max.max(time);
        let seconds = time.as_secs_f64();
        self.sum_s += seconds;
        self.squares_s += seconds * seconds;
    }

    /// Sums them up.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let count = self.distribution.count();
        let Some(min) = self.min else { return Summary::default() };
        let mean_s = self.sum_s / count as f64;
        // Rounding may leave less than nothing.
        let variance = (self.squares_s / count as f64 - mean_s * mean_s).max(0.0);
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        Summary {
            count,
            min_ms: Some(ms(min)),
            mean_ms: Some(mean_s * 1e3),
            max_ms: Some(ms(self.max)),
            sd_ms: Some(variance.sqrt() * 1e3),
            p50_ms: self.distribution.percentile(0.5).map(ms),
            p99_ms: self.distribution.percentile(0.99).map(ms),
            p999_ms: self.distribution.percentile(0.999).map(ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_summed_up() {
        let mut times = Times::default();
        assert_eq!(times.summary(), Summary::default());
        for ms in [1, 1, 4] {
            times.record(Duration::from_millis(ms));
        }
        let summary = times.summary();
        assert_eq!((summary.count, summary.min_ms, summary.max_ms), (3, Some(1.0), Some(4.0)));
        let close =
            |found: Option<f64>, expected: f64| (found.expect("there are times") - expected).abs() < 1e-9;
        assert!(close(summary.mean_ms, 2.0) && close(summary.sd_ms, 2.0_f64.sqrt()), "{summary:?}");
        assert!(close(summary.p50_ms, 1.1) && close(summary.p99_ms, 4.1), "{summary:?}");
    }
}
