//! Ranges of local ids for the worlds of one host.

use super::{BlockDealer, LocalIdSpace, REST};
use ids::Instant;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// Allocates one range per world from the blocks of a host.
///
/// A released range is reused after [`REST`] at the earliest. A block without ranges is returned to the dealer, except the last one. The
/// dealer is part of the pool as long as a grid has one host.
#[derive(Clone, Debug)]
pub struct LocalIdPool {
    dealer: BlockDealer,
    /// Starts of the host's blocks.
    blocks: BTreeSet<u32>,
    /// Ranges in use or at rest, by their first id.
    ranges: BTreeMap<u32, AllocatedRange>,
    /// Ranges at rest in the order of release: end of rest, first id.
    resting: VecDeque<(Instant, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct AllocatedRange {
    end: u32,
    /// True from the release to the end of the rest.
    is_resting: bool,
}

impl LocalIdPool {
    /// A pool without blocks; all blocks of the space are undealt.
    ///
    /// # Panics
    /// As [`BlockDealer::new`].
    #[must_use]
    pub const fn new(space: LocalIdSpace) -> Self {
        let dealer = BlockDealer::new(space);
        Self { dealer, blocks: BTreeSet::new(), ranges: BTreeMap::new(), resting: VecDeque::new() }
    }

    /// Allocates a free range of `n` local ids. `None` if `n` is more than a block, or while the host's blocks have no gap and every other
    /// block is dealt or rests. Linear in the number of ranges.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn allocate(&mut self, now: Instant, n: u32) -> Option<Range<u32>> {
        assert!(n > 0, "a world has local ids");
        if n > self.dealer.block_len() {
            return None;
        }
        self.end_rests(now);
        let found = match self.blocks.iter().find_map(|&block| self.gap_in(block, n)) {
            Some(found) => found,
            None => {
                let block = self.dealer.deal(now)?;
                self.blocks.insert(block.start);
                block.start..block.start + n
            }
        };
        let before = self.ranges.range(..found.end).next_back();
        assert!(before.is_none_or(|(_, range)| range.end <= found.start), "a local id has one owner");
        self.ranges.insert(found.start, AllocatedRange { end: found.end, is_resting: false });
        Some(found)
    }

    /// Releases the range of a world that has left memory; its rest begins.
    ///
    /// # Panics
    /// If the range is not in use.
    pub fn release(&mut self, now: Instant, ids: &Range<u32>) {
        let range = self.ranges.get_mut(&ids.start).filter(|range| range.end == ids.end && !range.is_resting);
        range.expect("local ids are released once").is_resting = true;
        self.resting.push_back((now + REST, ids.start));
    }

    /// Number of ranges in use.
    #[must_use]
    pub fn n_used(&self) -> usize {
        self.ranges.len() - self.resting.len()
    }

    /// Ranges in use, in ascending order.
    pub fn used(&self) -> impl Iterator<Item = Range<u32>> {
        self.ranges.iter().filter(|(_, range)| !range.is_resting).map(|(&first, range)| first..range.end)
    }

    fn end_rests(&mut self, now: Instant) {
        while let Some((_, first)) = self.resting.pop_front_if(|(rested_at, _)| *rested_at <= now) {
            self.ranges.remove(&first);
        }
        let empty: Vec<u32> =
            self.blocks.iter().copied().filter(|&block| self.ranges_in(block).next().is_none()).collect();
        let n_returned = empty.len().min(self.blocks.len().saturating_sub(1));
        for &block in empty.iter().rev().take(n_returned) {
            self.blocks.remove(&block);
            self.dealer.take_back(now, &(block..block + self.dealer.block_len()));
        }
    }

    fn ranges_in(&self, block: u32) -> impl Iterator<Item = Range<u32>> {
        let ranges = self.ranges.range(block..block + self.dealer.block_len());
        ranges.map(|(&first, range)| first..range.end)
    }

    /// The first gap of `n` ids in a block.
    fn gap_in(&self, block: u32, n: u32) -> Option<Range<u32>> {
        let mut first = block;
        for range in self.ranges_in(block) {
            if range.start - first >= n {
                break;
            }
            first = range.end;
        }
        let is_free = block + self.dealer.block_len() - first >= n;
        is_free.then(|| first..first + n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a local id has one owner")]
    fn a_range_that_runs_into_the_next_block_is_not_given_out_again() {
        let mut pool = LocalIdPool::new(LocalIdSpace { first: 1_000, end: 1_400, block: 100 });
        pool.ranges.insert(990, AllocatedRange { end: 1_010, is_resting: false });
        pool.allocate(Instant::ZERO, 10);
    }
}
