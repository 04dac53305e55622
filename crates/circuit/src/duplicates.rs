//! Which of the peer's sequence numbers were received: a bitmap that slides along with the newest.
//!
//! All numbers count, those of unreliable packets too, since networks duplicate them as well. It is a window
//! of numbers rather than of seconds, so its memory is fixed; [`crate::Config::duplicate_window`] says how
//! many seconds that is. What lies behind the window counts as seen: a packet that a peer resends so late was
//! delivered or is of no use.

use crate::sequence::{WRAP, distance};

/// How closely two numbers must follow each other to prove that the peer really jumped ahead. RFC 3550
/// (appendix A.1) accepts a restarted RTP source by the same evidence, with consecutive numbers; UDP may lose
/// or swap a few.
const FOLLOW_MAX: u32 = 64;

/// What the filter makes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// First time; now remembered.
    New,
    /// Seen, or behind the window.
    Duplicate,
    /// Further ahead than the window is long.
    Jump,
}

#[derive(Clone, Debug)]
pub(crate) struct Duplicates {
    /// One bit for each number of the window, at its value modulo the window.
    seen: Box<[u64]>,
    /// The number furthest ahead; none before the first.
    newest: Option<u32>,
    /// The number that last was a [`Verdict::Jump`].
    jumped: Option<u32>,
}

impl Duplicates {
    /// A filter over `window` numbers, rounded up to a power of two from 64 to a quarter of all numbers.
    pub(crate) fn new(window: u32) -> Self {
        let window = window.clamp(64, WRAP / 4).next_power_of_two();
        Self { seen: vec![0; window as usize / 64].into_boxed_slice(), newest: None, jumped: None }
    }

    /// Judges a number and remembers it when it is new. The first ever may be any.
    pub(crate) fn check(&mut self, sequence: u32) -> Verdict {
        let Some(newest) = self.newest else {
            self.begin_at(sequence);
            return Verdict::New;
        };
        let ahead = distance(newest, sequence);
        let behind = distance(sequence, newest);
        if ahead == 0 {
            Verdict::Duplicate
        } else if ahead <= self.window() {
            self.forget(newest.wrapping_add(1), ahead);
            self.newest = Some(sequence);
            self.insert(sequence);
            Verdict::New
        } else if behind < self.window() {
            if self.insert(sequence) { Verdict::New } else { Verdict::Duplicate }
        } else if behind < WRAP / 2 {
            Verdict::Duplicate
        } else {
            self.check_jump(sequence)
        }
    }

    /// A number out of any honest order is believed only once another one follows on it, so that a stray or
    /// forged datagram cannot make us deaf to all the real ones.
    fn check_jump(&mut self, sequence: u32) -> Verdict {
        match self.jumped.replace(sequence) {
            Some(before) if (1..=FOLLOW_MAX).contains(&distance(before, sequence)) => {
                self.begin_at(sequence);
                Verdict::New
            }
            _ => Verdict::Jump,
        }
    }

    fn begin_at(&mut self, sequence: u32) {
        self.seen.fill(0);
        self.newest = Some(sequence);
        self.jumped = None;
        self.insert(sequence);
    }

    fn window(&self) -> u32 {
        // At most a quarter of 2²⁴, see `new`.
        self.seen.len() as u32 * 64
    }

    /// Marks a number; false if it was marked.
    fn insert(&mut self, sequence: u32) -> bool {
        let bit = sequence & (self.window() - 1);
        let word = &mut self.seen[bit as usize / 64];
        let mask = 1 << (bit % 64);
        let is_new = *word & mask == 0;
        *word |= mask;
        is_new
    }

    /// Unmarks `count` numbers from `first` on, word by word; `count` is at most the window.
    fn forget(&mut self, first: u32, count: u32) {
        let (mut bit, mut left) = (first & (self.window() - 1), count);
        while left > 0 {
            let offset = bit % 64;
            let n = left.min(64 - offset);
            self.seen[bit as usize / 64] &= !((u64::MAX >> (64 - n)) << offset);
            bit = (bit + n) & (self.window() - 1);
            left -= n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_number_is_new_once_whatever_the_first_was() {
        for first in [0, 1, 77, 0x00FF_FFFF, u32::MAX] {
            let mut filter = Duplicates::new(64);
            for sequence in [first, first.wrapping_add(2), first.wrapping_add(1)] {
                assert_eq!(filter.check(sequence), Verdict::New);
                assert_eq!(filter.check(sequence), Verdict::Duplicate);
            }
        }
    }

    #[test]
    fn what_came_before_the_first_is_new() {
        let mut filter = Duplicates::new(64);
        assert_eq!(filter.check(1), Verdict::New);
        assert_eq!(filter.check(0), Verdict::New);
        assert_eq!(filter.check(0x00FF_FFFF), Verdict::New);
        assert_eq!(filter.check(0x00FF_FFFF), Verdict::Duplicate);
    }

    #[test]
    fn numbers_wrap_at_24_and_at_32_bits() {
        for (last, first) in [(0x00FF_FFFF_u32, 0_u32), (0x00FF_FFFF, 0x0100_0000), (u32::MAX, 0)] {
            let mut filter = Duplicates::new(64);
            assert_eq!(filter.check(last), Verdict::New);
            assert_eq!(filter.check(first), Verdict::New);
            assert_eq!(filter.check(last), Verdict::Duplicate);
            assert_eq!(filter.check(first), Verdict::Duplicate);
        }
    }

    #[test]
    fn what_lies_behind_the_window_counts_as_seen() {
        let mut filter = Duplicates::new(64);
        filter.check(1000);
        assert_eq!(filter.check(1000 - 63), Verdict::New);
        assert_eq!(filter.check(1000 - 64), Verdict::Duplicate);
    }

    #[test]
    fn a_jump_needs_a_follower() {
        let mut filter = Duplicates::new(64);
        filter.check(10);
        assert_eq!(filter.check(5000), Verdict::Jump);
        assert_eq!(filter.check(9000), Verdict::Jump);
        assert_eq!(filter.check(11), Verdict::New, "a stray datagram changes nothing");
        assert_eq!(filter.check(9002), Verdict::New);
        assert_eq!(filter.check(9001), Verdict::New, "reordered across the jump");
        assert_eq!(filter.check(11), Verdict::Duplicate);
    }

    proptest! {
        /// Against the obvious model: a set of all numbers, and the newest.
        #[test]
        fn it_agrees_with_a_set(first in any::<u32>(), steps in prop::collection::vec(-80_i64..80, 1..400)) {
            const WINDOW: i64 = 128;
            let mut filter = Duplicates::new(WINDOW as u32);
            let mut seen = BTreeSet::new();
            let (mut at, mut newest) = (0_i64, 0_i64);
            filter.check(first);
            seen.insert(0);
            for step in steps {
                at = (at + step).clamp(newest - 2 * WINDOW, newest + WINDOW);
                let sequence = first.wrapping_add(at as u32);
                let expected =
                    if at <= newest - WINDOW || !seen.insert(at) { Verdict::Duplicate } else { Verdict::New };
                newest = newest.max(at);
                prop_assert_eq!(filter.check(sequence), expected, "at {}", at);
            }
        }
    }
}
