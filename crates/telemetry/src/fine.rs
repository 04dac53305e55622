//! Durations down to a microsecond, for stages that a [`Timing`](crate::Timing) would put into one bucket.

use crate::timing::Maximum;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the histogram of every fine timing, in nanoseconds: five a decade from a microsecond to a second, each 1.6
/// times the one before, and three below, where clocks end. A table for one name with few labels, since each is a series.
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

/// A handle to a histogram of short durations, the sum of their squares and their kept maximum. Recording takes four atomic
/// operations, no lock and no memory.
#[derive(Clone, Debug)]
pub struct FineTiming {
    tally: Arc<Tally>,
    maximum: Maximum,
}

impl FineTiming {
    pub(crate) const fn new(tally: Arc<Tally>, maximum: Maximum) -> Self {
        Self { tally, maximum }
    }

    /// Adds one duration.
    pub fn record(&self, duration: Duration) {
        self.tally.add(duration);
        self.maximum.raise(duration);
    }
}

/// What was recorded since the start.
#[derive(Debug)]
pub(crate) struct Tally {
    /// By bucket; the last is for all that is longer.
    counts: [AtomicU64; FINE_BUCKETS_NS.len() + 1],
    sum_ns: AtomicU64,
    /// In square seconds, as the bits of a floating-point number: whole square nanoseconds would overflow after 18 seconds.
    squares: AtomicU64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            counts: std::array::from_fn(|_| AtomicU64::new(0)),
            sum_ns: AtomicU64::new(0),
            squares: AtomicU64::new(0.0_f64.to_bits()),
        }
    }
}

impl Tally {
    fn add(&self, duration: Duration) {
        // 584 years fit.
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let bucket = FINE_BUCKETS_NS.partition_point(|&limit| limit < nanos);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(nanos, Ordering::Relaxed);
        let square = duration.as_secs_f64().powi(2);
        let with_it = |bits| Some((f64::from_bits(bits) + square).to_bits());
        // It is never refused.
        let _ = self.squares.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with_it);
    }

    /// The lines of a histogram. `labels` are `a="x",b="y"`, or empty.
    pub(crate) fn render(&self, name: &str, labels: &str, out: &mut String) {
        let comma = if labels.is_empty() { "" } else { "," };
        let limits = FINE_BUCKETS_NS.iter().map(|&limit| (limit as f64 / 1e9).to_string());
        let mut count = 0;
        for (limit, n) in limits.chain(["+Inf".to_owned()]).zip(&self.counts) {
            count += n.load(Ordering::Relaxed);
            let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"{limit}\"}} {count}");
        }
        let sum = self.sum_ns.load(Ordering::Relaxed) as f64 / 1e9;
        let braced = braced(labels);
        let _ = writeln!(out, "{name}_sum{braced} {sum}\n{name}_count{braced} {count}");
    }

    /// The line of the squares' sum.
    pub(crate) fn render_squares(&self, name: &str, labels: &str, out: &mut String) {
        let squares = f64::from_bits(self.squares.load(Ordering::Relaxed));
        let _ = writeln!(out, "{name}{} {squares}", braced(labels));
    }
}

fn braced(labels: &str) -> String {
    if labels.is_empty() { String::new() } else { format!("{{{labels}}}") }
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
