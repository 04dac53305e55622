//! Randomness of the bots: a small generator that gives the same numbers everywhere, so that a run can be repeated
//! from its seed.

use glam::Vec2;

/// SplitMix64 (Steele, Lea, Flood 2014). Not for secrets.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator of its own for each `stream` of a seed: a bot, or a direction of a link.
    #[must_use]
    pub const fn new(seed: u64, stream: u64) -> Self {
        let mut mixed = Self(seed);
        let offset = mixed.next();
        Self(offset ^ stream.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    /// Any 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Evenly from 0 up to, but not including, 1.
    pub fn unit(&mut self) -> f64 {
        // The mantissa of an f64 has 53 bits.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Evenly between two bounds.
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit() as f32
    }

    /// Evenly within `most` of zero, on either side.
    pub fn within(&mut self, most: f32) -> f32 {
        self.between(-most, most)
    }

    /// Any direction, of length 1.
    pub fn direction(&mut self) -> Vec2 {
        Vec2::from_angle(self.between(0.0, std::f32::consts::TAU))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_a_seed_differ_and_repeat() {
        let first = |seed, stream| Rng::new(seed, stream).next();
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
    }

    #[test]
    fn numbers_fill_their_range_evenly() {
        let mut rng = Rng::new(7, 0);
        let drawn: Vec<f32> = (0..10_000).map(|_| rng.between(20.0, 60.0)).collect();
        assert!(drawn.iter().all(|number| (20.0..=60.0).contains(number)));
        let mean = drawn.iter().sum::<f32>() / 10_000.0;
        assert!((39.0..41.0).contains(&mean), "{mean}");
    }
}
