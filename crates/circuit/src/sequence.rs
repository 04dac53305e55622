//! Sequence numbers: 24 bits that wrap.
//!
//! Viewers wrap at `0x0100_0000` and OpenSimulator uses all 32 bits. We number within 24 bits, which both understand, and compare
//! received numbers modulo 2²⁴, which is right for both: numbers that differ by a multiple of it are 16 million packets apart.

/// The number after the last one.
pub(crate) const WRAP: u32 = 0x0100_0000;

/// `to − from` modulo [`WRAP`]. More than half of that means behind.
pub(crate) const fn distance(from: u32, to: u32) -> u32 {
    to.wrapping_sub(from) & (WRAP - 1)
}

/// True if a packet was numbered after another one, across wraps. For messages of which only the newest counts, such as AgentUpdate;
/// both numbers are the peer's.
#[must_use]
pub const fn is_newer(sequence: u32, than: u32) -> bool {
    let ahead = distance(than, sequence);
    ahead != 0 && ahead < WRAP / 2
}

/// Source of our sequence numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequence {
    next: u32,
}

impl Sequence {
    pub(crate) const fn new(first: u32) -> Self {
        Self { next: first & (WRAP - 1) }
    }

    pub(crate) const fn next(&self) -> u32 {
        self.next
    }

    pub(crate) const fn take_number(&mut self) -> u32 {
        let taken = self.next;
        self.next = (taken + 1) & (WRAP - 1);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_after_24_bits() {
        let mut sequence = Sequence::new(0x00FF_FFFF);
        assert_eq!(
            [sequence.take_number(), sequence.take_number(), sequence.take_number()],
            [0x00FF_FFFF, 0, 1]
        );
    }

    #[test]
    fn distance_is_right_for_peers_of_24_and_of_32_bits() {
        assert_eq!(distance(0x00FF_FFFF, 0), 1);
        assert_eq!(distance(0x00FF_FFFF, 0x0100_0000), 1);
        assert_eq!(distance(u32::MAX, 0), 1);
        assert_eq!(distance(5, 5), 0);
        assert_eq!(distance(6, 5), WRAP - 1);
    }

    #[test]
    fn newer_is_distinguished_from_older_across_the_wrap() {
        for (older, newer) in [(0, 1), (5, 900), (0x00FF_FFFF, 0), (0x00FF_FFFF, 0x0100_0003)] {
            assert!(is_newer(newer, older) && !is_newer(older, newer), "{older} {newer}");
        }
        assert!(!is_newer(7, 7));
    }
}
