//! 64 bits that any difference in a state changes; the arithmetic is ours, since these numbers are compared across builds.
//!
//! Not cryptographic: it compares runs and files of our own (DESIGN §4).

use glam::Vec3;
use std::hash::Hasher;

/// Odd, without pattern: 2⁶⁴ divided by the golden ratio.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Spreads every bit of a number over all 64 (the finaliser of SplitMix64).
pub(crate) const fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(MULTIPLIER);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Folds one value after the other into 64 bits. As a [`Hasher`] it takes what derives `Hash`, too.
#[derive(Debug)]
pub(crate) struct StateHasher(u64);

impl StateHasher {
    pub(crate) const fn new() -> Self {
        // Not zero, which would swallow leading zeros.
        Self(MULTIPLIER)
    }

    pub(crate) const fn u64(&mut self, value: u64) {
        let folded = (self.0 ^ value).wrapping_mul(MULTIPLIER);
        self.0 = folded.rotate_left(29);
    }

    pub(crate) const fn u32(&mut self, value: u32) {
        self.u64(value as u64);
    }

    pub(crate) const fn vec3(&mut self, value: Vec3) {
        self.u64((value.x.to_bits() as u64) << 32 | value.y.to_bits() as u64);
        self.u32(value.z.to_bits());
    }

    pub(crate) const fn digest(&self) -> u64 {
        mix(self.0)
    }
}

impl Hasher for StateHasher {
    fn finish(&self) -> u64 {
        self.digest()
    }

    fn write(&mut self, bytes: &[u8]) {
        // Length first, so that neighbouring fields cannot trade bytes.
        self.u64(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for &word in words {
            self.u64(u64::from_le_bytes(word));
        }
        for &byte in rest {
            self.u64(u64::from(byte));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.u64(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.u64(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.u64(value as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> u64 {
        let mut hasher = StateHasher::new();
        values.iter().for_each(|&value| hasher.u64(value));
        hasher.digest()
    }

    #[test]
    fn order_and_number_of_values_count() {
        assert_ne!(of(&[1, 2]), of(&[2, 1]));
        assert_ne!(of(&[1, 0]), of(&[1]));
        assert_ne!(of(&[0, 1]), of(&[1]));
    }

    #[test]
    fn fields_cannot_trade_bytes() {
        let pair = |a: &[u8], b: &[u8]| {
            let mut hasher = StateHasher::new();
            hasher.write(a);
            hasher.write(b);
            hasher.finish()
        };
        assert_ne!(pair(b"ab", b"c"), pair(b"a", b"bc"));
    }
}
