//! Bytes received by each bot in a second ÷ its permitted rate.

use ids::Instant;

/// Width of a step of the histogram, bytes.
const STEP: u32 = 256;
/// Seconds with more share the last step: 4 MiB.
const STEPS: usize = 16_384;

/// The second that a bot is in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Second {
    number: u64,
    bytes: u32,
}

/// Seconds of all bots by bytes received.
#[derive(Debug, Default)]
pub(super) struct Rates {
    counts: Vec<u32>,
    n: u64,
}

impl Rates {
    /// Adds a datagram to a bot's second, and counts the one before when that is over.
    pub(super) fn count_datagram(&mut self, second: &mut Second, now: Instant, bytes: usize) {
        let number = now.0 / 1_000_000_000;
        if number != second.number {
            if second.bytes > 0 {
                self.count(second.bytes);
            }
            *second = Second { number, bytes: 0 };
        }
        second.bytes += bytes as u32;
    }

    fn count(&mut self, bytes: u32) {
        let step = ((bytes / STEP) as usize).min(STEPS - 1);
        if self.counts.len() <= step {
            self.counts.resize(step + 1, 0);
        }
        self.counts[step] += 1;
        self.n += 1;
    }

    /// Bytes that this share (0 to 1) of the seconds did not exceed, rounded up to 256; `None` when there were none.
    pub(super) fn percentile(&self, share: f64) -> Option<f64> {
        let rank = ((self.n as f64 * share).ceil() as u64).max(1);
        let mut below = 0;
        let step = self.counts.iter().position(|&count| {
            below += u64::from(count);
            below >= rank
        })?;
        Some(f64::from(STEP) * (step + 1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_counted_when_they_are_over() {
        let mut rates = Rates::default();
        let mut second = Second::default();
        assert_eq!(rates.percentile(0.5), None);
        for ms in 0..3_500 {
            rates.count_datagram(&mut second, Instant::from_millis(ms), if ms < 2_000 { 10 } else { 1 });
        }
        // Three are over: 10,000, 10,000 and 1,000 bytes.
        assert_eq!((rates.percentile(0.3), rates.percentile(0.5)), (Some(1_024.0), Some(10_240.0)));
        assert_eq!(rates.n, 3);
    }
}
