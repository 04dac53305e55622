//! What timings count: durations in buckets that are there from the start. Whoever records takes no memory and no lock, since worlds do so in
//! every tick.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Durations since the start.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Upper bounds of the buckets, nanoseconds, rising.
    limits_ns: &'static [u64],
    /// By bucket; one more than limits, for all that is longer.
    counts: Box<[AtomicU64]>,
    sum_ns: AtomicU64,
    /// In square seconds, as the bits of a floating-point number: whole square nanoseconds would overflow after 18 seconds.
    squares: Option<AtomicU64>,
}

impl Tally {
    /// Nothing yet.
    pub(crate) fn new(limits_ns: &'static [u64]) -> Self {
        let counts = (0..=limits_ns.len()).map(|_| AtomicU64::new(0)).collect();
        Self { limits_ns, counts, sum_ns: AtomicU64::new(0), squares: None }
    }

    /// Likewise, of which the sum of squares is told, too.
    pub(crate) fn with_squares(limits_ns: &'static [u64]) -> Self {
        Self { squares: Some(AtomicU64::new(0.0_f64.to_bits())), ..Self::new(limits_ns) }
    }

    pub(crate) fn add(&self, duration: Duration) {
        // 584 years fit.
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let bucket = self.limits_ns.partition_point(|&limit| limit < nanos);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(nanos, Ordering::Relaxed);
        if let Some(squares) = &self.squares {
            let square = duration.as_secs_f64().powi(2);
            let with_it = |bits| Some((f64::from_bits(bits) + square).to_bits());
            // It is never refused.
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

    /// The line of the squares' sum, when it is kept.
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
