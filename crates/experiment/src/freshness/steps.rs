//! A histogram with steps of one width: enough for percentiles of millions of samples.

/// Histogram with steps of equal width.
#[derive(Clone, Debug)]
pub(crate) struct LinearHistogram {
    width: f64,
    counts: Vec<u64>,
    n: u64,
    sum: f64,
}

impl LinearHistogram {
    /// `steps` steps of a width; the last one takes all samples beyond.
    pub(crate) fn new(width: f64, steps: usize) -> Self {
        Self { width, counts: vec![0; steps], n: 0, sum: 0.0 }
    }

    /// Adds a sample of 0 or more. NaN counts as beyond every step.
    pub(crate) fn add(&mut self, sample: f64) {
        let last = self.counts.len() - 1;
        let step = if sample.is_nan() { last } else { ((sample / self.width) as usize).min(last) };
        self.counts[step] += 1;
        self.n += 1;
        // Not a number is no greater than anything, so it becomes the last step here, too.
        self.sum += sample.min(last as f64 * self.width);
    }

    /// Adds all samples of another one with the same steps.
    pub(crate) fn add_all(&mut self, other: &Self) {
        assert!(
            self.width == other.width && self.counts.len() == other.counts.len(),
            "they have other steps"
        );
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.n += other.n;
        self.sum += other.sum;
    }

    /// The mean of the samples, of which those beyond every step count as the last one. Not a number without samples.
    pub(crate) fn mean(&self) -> f64 {
        self.sum / self.n as f64
    }

    /// Samples.
    pub(crate) const fn len(&self) -> u64 {
        self.n
    }

    /// Quantile of the samples at this share (0 to 1), rounded down to a step. NaN without samples.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        let rank = ((self.n as f64 * share).ceil() as u64).clamp(1, self.n.max(1));
        let mut below = 0;
        let step = self.counts.iter().position(|&count| {
            below += count;
            below >= rank
        });
        match step {
            None => f64::NAN,
            Some(step) => step as f64 * self.width,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_samples_to_a_step() {
        let mut steps = LinearHistogram::new(1.0, 1_000);
        assert!(steps.percentile(0.5).is_nan());
        (0..100).for_each(|n| steps.add(f64::from(n)));
        assert_eq!((steps.percentile(0.0), steps.percentile(0.5), steps.percentile(0.99)), (0.0, 49.0, 98.0));
        steps.add(f64::NAN);
        steps.add(1e9);
        assert_eq!((steps.percentile(1.0), steps.len()), (999.0, 102));
    }

    #[test]
    fn the_mean_is_that_of_the_samples_and_none_counts_more_than_the_last_step() {
        let mut steps = LinearHistogram::new(2.0, 10);
        assert!(steps.mean().is_nan());
        [0.5, 1.0, 3.0].into_iter().for_each(|sample| steps.add(sample));
        assert_eq!(steps.mean(), 1.5);
        let mut beyond = LinearHistogram::new(2.0, 10);
        [f64::NAN, 1e9].into_iter().for_each(|sample| beyond.add(sample));
        assert_eq!(beyond.mean(), 18.0);
        steps.add_all(&beyond);
        assert_eq!((steps.len(), steps.mean(), steps.percentile(1.0)), (5, 8.1, 18.0));
    }
}
