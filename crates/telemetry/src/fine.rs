//! Durations down to a microsecond, for stages that would all fall into one bucket of a [`Timing`](crate::Timing).

use crate::histogram::DurationHistogram;
use crate::timing::Maximum;
use std::sync::Arc;
use std::time::Duration;

/// Upper bounds of the histogram of every fine timing, in nanoseconds: five per decade from a microsecond to a second (ratio
/// 1.6), and three below, down to the resolution of clocks. For few names with few labels, since each bound is a series.
pub const FINE_BUCKETS_NS: [u64; 34] = [
    250,
    400,
    630,
    1_000,
    1_600,
    2_500,
    4_000,
    6_300,
    10_000,
    16_000,
    25_000,
    40_000,
    63_000,
    100_000,
    160_000,
    250_000,
    400_000,
    630_000,
    1_000_000,
    1_600_000,
    2_500_000,
    4_000_000,
    6_300_000,
    10_000_000,
    16_000_000,
    25_000_000,
    40_000_000,
    63_000_000,
    100_000_000,
    160_000_000,
    250_000_000,
    400_000_000,
    630_000_000,
    1_000_000_000,
];

/// A handle to a histogram of short durations, the sum of their squares and their kept maximum. Recording is four atomic
/// operations, without lock or allocation.
#[derive(Clone, Debug)]
pub struct FineTiming {
    histogram: Arc<DurationHistogram>,
    maximum: Maximum,
}

impl FineTiming {
    pub(crate) const fn new(histogram: Arc<DurationHistogram>, maximum: Maximum) -> Self {
        Self { histogram, maximum }
    }

    /// Adds one duration.
    pub fn record(&self, duration: Duration) {
        self.histogram.add(duration);
        self.maximum.raise_to(duration);
    }
}

#[cfg(test)]
mod tests {
    use crate::Metrics;
    use std::time::Duration;

    const NAME: &str = "throng_stage_seconds";

    /// The value of the line that begins with `series` and a space.
    fn value(text: &str, series: &str) -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{series} is not in\n{text}")).parse().unwrap()
    }

    #[test]
    fn buckets_sums_squares_and_the_longest_are_shown_by_label() {
        let metrics = Metrics::new();
        let [read, sent] =
            ["read", "sent"].map(|stage| metrics.fine_timing(NAME, "Stages.", &[("stage", stage)]));
        for nanos in [0, 250, 251, 3_000_000, 2_000_000_000] {
            read.record(Duration::from_nanos(nanos));
        }
        sent.record(Duration::from_millis(500));
        let text = metrics.render();
        let bucket = |limit: &str| value(&text, &format!("{NAME}_bucket{{stage=\"read\",le=\"{limit}\"}}"));
        assert_eq!([bucket("0.00000025"), bucket("0.0000004"), bucket("0.0025")], [2.0, 3.0, 3.0]);
        assert_eq!([bucket("0.004"), bucket("1"), bucket("+Inf")], [4.0, 4.0, 5.0]);
        assert_eq!(value(&text, &format!("{NAME}_count{{stage=\"read\"}}")), 5.0);
        assert!((value(&text, &format!("{NAME}_sum{{stage=\"read\"}}")) - 2.003_000_501).abs() < 1e-12);
        assert_eq!(value(&text, &format!("{NAME}_squared_total{{stage=\"sent\"}}")), 0.25);
        assert_eq!(value(&text, &format!("{NAME}_max{{stage=\"read\"}}")), 2.0);
        for head in
            ["# TYPE throng_stage_seconds histogram", "# TYPE throng_stage_seconds_squared_total counter"]
        {
            assert_eq!(text.lines().filter(|line| *line == head).count(), 1, "{head} in\n{text}");
        }
    }

    #[test]
    fn handles_of_one_series_share_their_values_and_may_have_no_label() {
        let metrics = Metrics::new();
        for _ in 0..2 {
            metrics.fine_timing(NAME, "Stages.", &[]).record(Duration::from_micros(2));
        }
        let text = metrics.render();
        assert_eq!(value(&text, "throng_stage_seconds_count"), 2.0);
        assert_eq!(value(&text, "throng_stage_seconds_bucket{le=\"0.0000025\"}"), 2.0);
    }

    #[test]
    fn limits_rise() {
        assert!(super::FINE_BUCKETS_NS.is_sorted_by(|a, b| a < b));
    }
}
