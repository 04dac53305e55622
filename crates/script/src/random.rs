//! Random numbers of a script: a stream of its own, in its state.

use serde::{Deserialize, Serialize};

/// A stream: a counter, spread over 64 bits for each draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Random {
    seed: u64,
    n_drawn: u64,
}

impl Random {
    /// The stream of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed, n_drawn: 0 }
    }

    /// Number of draws so far.
    #[must_use]
    pub const fn n_drawn(&self) -> u64 {
        self.n_drawn
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.n_drawn = self.n_drawn.wrapping_add(1);
        // The seed is spread first, so that streams of neighbouring seeds do not share numbers.
        state_hash::mix(state_hash::fold(state_hash::mix(self.seed), self.n_drawn))
    }

    /// A number from 0 on and below 1, with 53 bits.
    pub const fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below another. 0 for 0.
    pub const fn below(&mut self, below: u32) -> u32 {
        (((self.bits() >> 32) * below as u64) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_their_range_and_spread() {
        let mut random = Random::new(7);
        let mut counts = [0; 10];
        let mut sum = 0.0;
        for _ in 0..10_000 {
            let unit = random.unit();
            assert!((0.0..1.0).contains(&unit));
            sum += unit;
            counts[random.below(10) as usize] += 1;
        }
        assert!((4_900.0..5_100.0).contains(&sum), "{sum}");
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
        assert_eq!(random.n_drawn(), 20_000);
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn a_stream_is_its_seed_and_its_draws() {
        let (mut one, mut same, mut other) = (Random::new(1), Random::new(1), Random::new(2));
        assert_eq!(one.bits(), same.bits());
        assert_ne!(one.bits(), other.bits());
        let mut copy = one;
        assert_eq!(one.bits(), copy.bits());
    }
}
