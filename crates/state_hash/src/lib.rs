//! 64-bit hash of simulated state: two states that differ in any bit have different hashes, up to chance.
//!
//! The numbers are compared across builds and stored in recordings, and the standard library's hashers may change with the
//! compiler; hence an arithmetic of our own. Not cryptographic: it compares runs and files that we wrote ourselves.
//! [`StateHasher`] folds values one by one, [`mix`] spreads a single number.

use glam::{Quat, Vec3};
use std::hash::Hasher;

/// Odd, without pattern: 2⁶⁴ divided by the golden ratio.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Spreads every bit of a number over all 64 (the finaliser of SplitMix64).
#[must_use]
pub const fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(MULTIPLIER);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Folds one number into a hash of those before it.
#[must_use]
pub const fn fold(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(MULTIPLIER).rotate_left(29)
}

/// Folds one value after the other into 64 bits; their order counts. Also a [`Hasher`], for types that derive `Hash`.
#[derive(Clone, Debug)]
pub struct StateHasher(u64);

impl StateHasher {
    /// A hasher that has folded nothing.
    #[must_use]
    pub const fn new() -> Self {
        // Not zero, which would swallow leading zeros.
        Self(MULTIPLIER)
    }

    /// Folds 64 bits.
    pub const fn u64(&mut self, value: u64) {
        self.0 = fold(self.0, value);
    }

    /// Folds 32 bits, as the same number of 64 bits.
    pub const fn u32(&mut self, value: u32) {
        self.u64(value as u64);
    }

    /// Folds the bits of a float: 0 and −0 differ.
    pub const fn f32(&mut self, value: f32) {
        self.u32(value.to_bits());
    }

    /// Folds the bits of three floats.
    pub const fn vec3(&mut self, value: Vec3) {
        self.u64((value.x.to_bits() as u64) << 32 | value.y.to_bits() as u64);
        self.f32(value.z);
    }

    /// Folds the bits of four floats: a rotation and its negative differ.
    pub fn quat(&mut self, value: Quat) {
        self.u64(u64::from(value.x.to_bits()) << 32 | u64::from(value.y.to_bits()));
        self.u64(u64::from(value.z.to_bits()) << 32 | u64::from(value.w.to_bits()));
    }

    /// Folds a slice, its length first: bytes cannot move from one field to its neighbour unnoticed.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for &word in words {
            self.u64(u64::from_le_bytes(word));
        }
        for &byte in rest {
            self.u64(u64::from(byte));
        }
    }

    /// The hash of all values folded so far.
    #[must_use]
    pub const fn finish(&self) -> u64 {
        mix(self.0)
    }
}

impl Default for StateHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl Hasher for StateHasher {
    fn finish(&self) -> u64 {
        mix(self.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        self.bytes(bytes);
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

    fn hash_of(values: &[u64]) -> u64 {
        let mut hasher = StateHasher::new();
        values.iter().for_each(|&value| hasher.u64(value));
        hasher.finish()
    }

    #[test]
    fn order_and_number_of_values_count() {
        assert_ne!(hash_of(&[1, 2]), hash_of(&[2, 1]));
        assert_ne!(hash_of(&[1, 0]), hash_of(&[1]));
        assert_ne!(hash_of(&[0, 1]), hash_of(&[1]));
    }

    #[test]
    fn fields_cannot_trade_bytes() {
        let pair = |a: &[u8], b: &[u8]| {
            let mut hasher = StateHasher::new();
            hasher.bytes(a);
            hasher.bytes(b);
            hasher.finish()
        };
        assert_ne!(pair(b"ab", b"c"), pair(b"a", b"bc"));
    }

    #[test]
    fn one_bit_flips_about_half_of_the_hash() {
        for bit in 0..64 {
            let flipped = (hash_of(&[77, 0]) ^ hash_of(&[77, 1 << bit])).count_ones();
            assert!((12..=52).contains(&flipped), "bit {bit} flips {flipped}");
        }
    }

    /// Hashes are stored in recordings: another arithmetic would make every recording of an earlier build fail to replay.
    #[test]
    fn hashes_are_those_of_earlier_builds() {
        let mut hasher = StateHasher::new();
        hasher.u64(1);
        hasher.u32(2);
        hasher.f32(3.0);
        hasher.vec3(Vec3::new(4.0, 5.0, 6.0));
        hasher.quat(Quat::from_xyzw(0.0, 0.0, 0.6, 0.8));
        hasher.bytes(b"nine bytes");
        assert_eq!(hasher.finish(), 0x5113_04E4_669F_1C2C);
        assert_eq!(mix(1), 0x910A_2DEC_8902_5CC1);
    }
}
