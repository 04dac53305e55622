//! Times measured by many bots, as a histogram of fixed size and known error.

use std::time::Duration;

/// Width of a bucket: the error of a percentile.
pub const RESOLUTION: Duration = Duration::from_micros(100);

/// Times from here on share the last bucket: 30 s. Half a megabyte each.
const BUCKETS: usize = 300_000;

/// Measurements by duration.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    /// Grows to the longest time seen.
    buckets: Vec<u32>,
    count: u64,
}

impl Distribution {
    /// One more measurement.
    pub fn record(&mut self, time: Duration) {
        let bucket = (time.as_nanos() / RESOLUTION.as_nanos()).min(BUCKETS as u128 - 1) as usize;
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] = self.buckets[bucket].saturating_add(1);
        self.count += 1;
    }

    /// Adds another one's measurements.
    pub fn add(&mut self, other: &Self) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine = mine.saturating_add(*theirs);
        }
        self.count += other.count;
    }

    /// Measurements so far.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The time that this share (0 to 1) of the measurements did not exceed, rounded up to [`RESOLUTION`]; `None`
    /// without measurements.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<Duration> {
        let rank = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut below = 0;
        let bucket = self.buckets.iter().position(|&count| {
            below += u64::from(count);
            below >= rank
        })?;
        Some(RESOLUTION * (bucket as u32 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_to_the_resolution() {
        let mut times = Distribution::default();
        assert_eq!(times.percentile(0.5), None);
        for ms in 1..=100 {
            times.record(Duration::from_millis(ms));
        }
        for (share, ms) in [(0.0, 1), (0.5, 50), (0.99, 99), (1.0, 100)] {
            assert_eq!(times.percentile(share), Some(Duration::from_millis(ms) + RESOLUTION), "{share}");
        }
        assert_eq!(times.count(), 100);
    }

    #[test]
    fn measurements_of_two_are_those_of_both() {
        let (mut one, mut other) = (Distribution::default(), Distribution::default());
        (1..=50).for_each(|ms| one.record(Duration::from_millis(ms)));
        (51..=100).for_each(|ms| other.record(Duration::from_millis(ms)));
        one.add(&other);
        assert_eq!((one.count(), one.percentile(0.99)), (100, Some(Duration::from_millis(99) + RESOLUTION)));
    }

    #[test]
    fn endless_times_share_a_bucket() {
        let mut times = Distribution::default();
        times.record(Duration::from_secs(3600));
        assert_eq!(times.percentile(1.0), Some(Duration::from_secs(30)));
    }
}
