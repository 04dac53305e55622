//! Received sequence numbers of the peer: a bitmap that slides along with the newest.
//!
//! All numbers count, those of unreliable packets too, since networks duplicate them as well. The window is measured in numbers rather
//! than seconds, so its memory is fixed; [`crate::Config::duplicate_window`] converts it to seconds.
//!
//! Source addresses can be forged, so a number out of any honest order proves nothing: one forged datagram far ahead would leave all
//! real ones behind the window. The window follows numbers at most an eighth of its length ahead. Numbers elsewhere are dropped until
//! [`RUN_MIN`] of them have followed closely on each other without a number of the present order in between; then that run is the
//! peer's order. A forged run therefore ends with the next few packets of the real peer.

use crate::sequence::{WRAP, distance};

/// Largest step within a run. RFC 3550 (appendix A.1) accepts a restarted RTP source by the same evidence, with consecutive numbers;
/// UDP may lose or swap a few.
const FOLLOW_MAX: u32 = 64;
/// Numbers in a run that prove it.
const RUN_MIN: u32 = 4;

/// Judgement of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SequenceVerdict {
    /// First time; now remembered.
    New,
    /// Seen.
    Duplicate,
    /// Out of the present order: too far ahead, or behind the window.
    Jump,
}

/// Numbers out of order that follow on each other.
#[derive(Clone, Copy, Debug)]
struct NumberRun {
    first: u32,
    newest: u32,
    length: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Duplicates {
    /// One bit for each number of the window, at its value modulo the window.
    seen: Box<[u64]>,
    /// Number furthest ahead; `None` before the first.
    newest: Option<u32>,
    /// The latest numbers out of order, since one in order was new.
    run: Option<NumberRun>,
}

impl Duplicates {
    /// A filter over `window` numbers, rounded up to a power of two from 64 to a quarter of all numbers.
    pub(crate) fn new(window: u32) -> Self {
        let window = window.clamp(64, WRAP / 4).next_power_of_two();
        Self { seen: vec![0; window as usize / 64].into_boxed_slice(), newest: None, run: None }
    }

    /// Judges a number and remembers it when it is new. The first ever may be any.
    pub(crate) fn check(&mut self, sequence: u32) -> SequenceVerdict {
        let Some(newest) = self.newest else {
            self.newest = Some(sequence);
            self.insert(sequence);
            return SequenceVerdict::New;
        };
        let ahead = distance(newest, sequence);
        if ahead == 0 {
            return SequenceVerdict::Duplicate;
        }
        if ahead <= self.ahead_max() {
            self.forget(newest.wrapping_add(1), ahead);
            self.newest = Some(sequence);
            self.insert(sequence);
            self.run = None;
            return SequenceVerdict::New;
        }
        if distance(sequence, newest) < self.window() {
            if !self.insert(sequence) {
                return SequenceVerdict::Duplicate;
            }
            self.run = None;
            return SequenceVerdict::New;
        }
        self.check_run(sequence)
    }

    /// Counts a number out of order. The peer resends packets dropped here, if they are reliable.
    fn check_run(&mut self, sequence: u32) -> SequenceVerdict {
        let run = match self.run {
            Some(run) if (1..=FOLLOW_MAX).contains(&distance(run.newest, sequence)) => {
                NumberRun { newest: sequence, length: run.length + 1, ..run }
            }
            // Reordered within the run.
            Some(run) if distance(sequence, run.newest) < FOLLOW_MAX => run,
            _ => NumberRun { first: sequence, newest: sequence, length: 1 },
        };
        self.run = Some(run);
        if run.length < RUN_MIN {
            return SequenceVerdict::Jump;
        }
        self.begin_at(run);
        SequenceVerdict::New
    }

    /// Accepts a run as the peer's order. Its numbers were dropped except for the newest, so they are still to come; numbers before it
    /// may have been received during an earlier order, and count as seen.
    fn begin_at(&mut self, run: NumberRun) {
        self.seen.fill(u64::MAX);
        let length = distance(run.first, run.newest) + 1;
        self.forget(run.first, length.min(self.window()));
        self.newest = Some(run.newest);
        self.run = None;
        self.insert(run.newest);
    }

    /// Numbers that the window follows without further proof.
    fn ahead_max(&self) -> u32 {
        self.window() / 8
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
                assert_eq!(filter.check(sequence), SequenceVerdict::New);
                assert_eq!(filter.check(sequence), SequenceVerdict::Duplicate);
            }
        }
    }

    #[test]
    fn numbers_before_the_first_are_new() {
        let mut filter = Duplicates::new(64);
        assert_eq!(filter.check(1), SequenceVerdict::New);
        assert_eq!(filter.check(0), SequenceVerdict::New);
        assert_eq!(filter.check(0x00FF_FFFF), SequenceVerdict::New);
        assert_eq!(filter.check(0x00FF_FFFF), SequenceVerdict::Duplicate);
    }

    #[test]
    fn numbers_wrap_at_24_and_at_32_bits() {
        for (last, first) in [(0x00FF_FFFF_u32, 0_u32), (0x00FF_FFFF, 0x0100_0000), (u32::MAX, 0)] {
            let mut filter = Duplicates::new(64);
            assert_eq!(filter.check(last), SequenceVerdict::New);
            assert_eq!(filter.check(first), SequenceVerdict::New);
            assert_eq!(filter.check(last), SequenceVerdict::Duplicate);
            assert_eq!(filter.check(first), SequenceVerdict::Duplicate);
        }
    }

    #[test]
    fn numbers_behind_the_window_are_not_new() {
        let mut filter = Duplicates::new(64);
        filter.check(1000);
        assert_eq!(filter.check(1000 - 63), SequenceVerdict::New);
        assert_eq!(filter.check(1000 - 64), SequenceVerdict::Jump);
    }

    #[test]
    fn a_jump_needs_followers_and_its_dropped_numbers_are_still_new() {
        let mut filter = Duplicates::new(64);
        filter.check(10);
        for stray in [5000, 9000, 9002] {
            assert_eq!(filter.check(stray), SequenceVerdict::Jump);
        }
        assert_eq!(filter.check(11), SequenceVerdict::New, "strays change nothing");
        for jumped in [9004, 9005, 9007] {
            assert_eq!(filter.check(jumped), SequenceVerdict::Jump);
        }
        assert_eq!(filter.check(9006), SequenceVerdict::Jump, "reordered");
        assert_eq!(filter.check(9008), SequenceVerdict::New);
        for resent in [9004, 9005, 9006, 9007] {
            assert_eq!(filter.check(resent), SequenceVerdict::New, "sent again");
        }
        assert_eq!(filter.check(9003), SequenceVerdict::Duplicate, "before the jump");
        assert_eq!(filter.check(9008), SequenceVerdict::Duplicate);
    }

    #[test]
    fn two_forged_numbers_far_ahead_leave_the_peer_heard() {
        let mut filter = Duplicates::new(8192);
        filter.check(100);
        assert_eq!([filter.check(8_100), filter.check(16_100)], [SequenceVerdict::Jump; 2]);
        assert_eq!(filter.check(101), SequenceVerdict::New);
    }

    #[test]
    fn the_peer_is_heard_again_after_a_forged_run_and_nothing_twice() {
        let mut filter = Duplicates::new(8192);
        (0..100).for_each(|n| assert_eq!(filter.check(n), SequenceVerdict::New));
        for forged in 20_000..20_010 {
            filter.check(forged);
        }
        // The real peer continues; its resends of the first packets are delivered once.
        assert_eq!([100, 101, 102].map(|n| filter.check(n)), [SequenceVerdict::Jump; 3]);
        assert_eq!([103, 100, 101, 102].map(|n| filter.check(n)), [SequenceVerdict::New; 4]);
        assert_eq!([99, 50, 103, 100].map(|n| filter.check(n)), [SequenceVerdict::Duplicate; 4]);
    }

    proptest! {
        /// Against the obvious model: a set of all numbers, and the newest.
        #[test]
        fn it_agrees_with_a_set(first in any::<u32>(), steps in prop::collection::vec(-80_i64..17, 1..400)) {
            const WINDOW: i64 = 128;
            let mut filter = Duplicates::new(WINDOW as u32);
            let mut seen = BTreeSet::new();
            let (mut at, mut newest) = (0_i64, 0_i64);
            filter.check(first);
            seen.insert(0);
            for step in steps {
                at = (at + step).clamp(newest - WINDOW + 1, newest + WINDOW / 8);
                let sequence = first.wrapping_add(at as u32);
                let expected = if seen.insert(at) { SequenceVerdict::New } else { SequenceVerdict::Duplicate };
                newest = newest.max(at);
                prop_assert_eq!(filter.check(sequence), expected, "at {}", at);
            }
        }

        /// However numbers are forged, no number of the peer's is new twice, and within a few packets after the last forged one the peer is heard.
        #[test]
        fn forged_numbers_make_deaf_for_a_few_packets_at_most(
            forged in prop::collection::vec((0..200_u32, prop::collection::vec(any::<u32>(), 1..8), 0..20_u32), 0..8),
        ) {
            let mut filter = Duplicates::new(1024);
            let (mut heard, mut deaf) = (BTreeSet::new(), 0);
            for n in 1_000..1_300_u32 {
                for (after, starts, length) in forged.iter().filter(|(after, ..)| 1_000 + after == n) {
                    for start in starts {
                        // Far away, or it is the peer's own window that it fills.
                        let start = 100_000 + start % 1_000_000 + after;
                        (0..*length).for_each(|step| { filter.check(start + step); });
                    }
                }
                match filter.check(n) {
                    SequenceVerdict::New => { prop_assert!(heard.insert(n)); deaf = 0; }
                    _ => deaf += 1,
                }
                prop_assert!(n < 1_220 || deaf < RUN_MIN, "{n}");
            }
            for n in 1_000..1_300_u32 {
                let is_new = filter.check(n) == SequenceVerdict::New;
                prop_assert!(!is_new || heard.insert(n), "{n} twice");
            }
        }
    }
}
