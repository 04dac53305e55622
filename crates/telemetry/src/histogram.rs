//! Histogram of durations with fixed buckets. Recording takes neither memory nor lock, since worlds record in every tick.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A histogram since the start.
#[derive(Debug)]
pub(crate) struct DurationHistogram {
    /// Upper bounds of the buckets, nanoseconds, rising.
    limits_ns: &'static [u64],
    /// By bucket; the last one holds all longer durations.
    counts: Box<[AtomicU64]>,
    sum_ns: AtomicU64,
    /// Sum of squares in s², as the bits of an f64: in whole ns² it would overflow a u64 at 18 s².
    squares: Option<AtomicU64>,
}

impl DurationHistogram {
    /// An empty histogram.
    pub(crate) fn new(limits_ns: &'static [u64]) -> Self {
        let counts = (0..=limits_ns.len()).map(|_| AtomicU64::new(0)).collect();
        Self { limits_ns, counts, sum_ns: AtomicU64::new(0), squares: None }
    }

    /// An empty histogram that also keeps the sum of squares.
    pub(crate) fn with_squares(limits_ns: &'static [u64]) -> Self {
        Self { squares: Some(AtomicU64::new(0.0_f64.to_bits())), ..Self::new(limits_ns) }
    }

    pub(crate) fn add(&self, duration: Duration) {
        // A u64 of nanoseconds holds 584 years.
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let bucket = self.limits_ns.partition_point(|&limit| limit < nanos);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(nanos, Ordering::Relaxed);
        if let Some(squares) = &self.squares {
            let square = duration.as_secs_f64().powi(2);
            let with_it = |bits| Some((f64::from_bits(bits) + square).to_bits());
            // The update function always returns a value, so this never fails.
            let _ = squares.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with_it);
        }
    }

    /// The lines of a histogram. `labels` are `a="x",b="y"`, or empty.
    pub(crate) fn render(&self, name: &str, labels: &str, out: &mut String) {
        let comma = if labels.is_empty() { "" } else { "," };
        let limits = self.limits_ns.iter().map(|&limit| (limit as f64 / 1e9).to_string());
        let mut count = 0;
        for (limit, n) in limits.chain(["+Inf".to_owned()]).zip(&self.counts) {
            count += n.load(Ordering::Relaxed);
            let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"{limit}\"}} {count}");
        }
        let sum = self.sum_ns.load(Ordering::Relaxed) as f64 / 1e9;
        let braced = braced(labels);
        let _ = writeln!(out, "{name}_sum{braced} {sum}\n{name}_count{braced} {count}");
    }

    /// The line of the sum of squares, if it is kept.
    pub(crate) fn render_squares(&self, name: &str, labels: &str, out: &mut String) {
        if let Some(squares) = &self.squares {
            let squares = f64::from_bits(squares.load(Ordering::Relaxed));
            let _ = writeln!(out, "{name}{} {squares}", braced(labels));
        }
    }
}

fn braced(labels: &str) -> String {
    if labels.is_empty() { String::new() } else { format!("{{{labels}}}") }
}
