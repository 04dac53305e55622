//! Blocks of local ids, dealt to the hosts of a grid.

use super::{LocalIdSpace, REST};
use ids::Instant;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

/// Deals each block to one host at a time. Unused blocks come first, then the block with the oldest return, [`REST`] after its return.
#[derive(Clone, Debug)]
pub struct BlockDealer {
    space: LocalIdSpace,
    /// Start of the first unused block.
    fresh: u32,
    /// Starts of the dealt blocks.
    dealt: BTreeSet<u32>,
    /// Returned blocks in the order of return: end of rest, start.
    resting: VecDeque<(Instant, u32)>,
}

impl BlockDealer {
    /// All blocks of a space, none dealt.
    ///
    /// # Panics
    /// If the space has no block, or contains the id 0.
    #[must_use]
    pub const fn new(space: LocalIdSpace) -> Self {
        assert!(space.first > 0, "local ids begin at 1");
        assert!(space.block > 0 && space.end > space.first, "a space has a block");
        assert!(space.end - space.first >= space.block, "a space has a block");
        Self { space, fresh: space.first, dealt: BTreeSet::new(), resting: VecDeque::new() }
    }

    /// Number of ids of a block.
    #[must_use]
    pub const fn block_len(&self) -> u32 {
        self.space.block
    }

    /// Deals a block; `None` while every block is dealt or rests.
    pub fn deal(&mut self, now: Instant) -> Option<Range<u32>> {
        let first = if self.space.end - self.fresh >= self.space.block {
            let first = self.fresh;
            self.fresh += self.space.block;
            first
        } else {
            self.resting.pop_front_if(|(rested_at, _)| *rested_at <= now)?.1
        };
        let is_new = self.dealt.insert(first);
        assert!(is_new, "a block of local ids has one host");
        Some(first..first + self.space.block)
    }

    /// Takes a dealt block back; its rest begins.
    ///
    /// # Panics
    /// If the block is not dealt.
    pub fn take_back(&mut self, now: Instant, block: &Range<u32>) {
        let was_dealt = block.end == block.start + self.space.block && self.dealt.remove(&block.start);
        assert!(was_dealt, "only a dealt block of local ids is returned");
        self.resting.push_back((now + REST, block.start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a block of local ids has one host")]
    fn a_dealt_block_is_not_dealt_again() {
        let mut dealer = BlockDealer::new(LocalIdSpace { first: 1_000, end: 1_400, block: 100 });
        dealer.deal(Instant::ZERO);
        dealer.fresh = 1_000;
        dealer.deal(Instant::ZERO);
    }
}
