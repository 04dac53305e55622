//! The recorder's memory for writers: tables, counters, and the pool of blocks.
//!
//! Nothing here waits or allocates. The reader's side, which trusts no content, is `reader`.

use super::layout::{
    self, BLOCK_WORDS, MAGIC, SCOPE_NAME_WORDS, SCOPES_MAX, STATE_CLAIMED, STATE_FREE, STATE_LIVE,
    STATE_MASK, THREAD_NAME_WORDS, THREAD_WORDS, THREADS_MAX, VERSION, block, header, scope, thread,
};
use super::memory::SharedMemory;
use super::scope::Scope;
use std::io;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// The words of one thread.
pub(super) type Slot = [AtomicU64; THREAD_WORDS];
/// The words of one block.
pub(super) type Block = [AtomicU64; BLOCK_WORDS];

#[derive(Debug)]
pub(super) struct Arena {
    memory: SharedMemory,
    n_blocks: usize,
}

impl Arena {
    /// Creates the memory, with room for at least one block.
    pub(super) fn new(memory_bytes: usize, horizon_ns: u64) -> io::Result<Self> {
        let n_words = (memory_bytes / 8).max(layout::block_at(1));
        let memory = SharedMemory::create(n_words)?;
        let n_blocks = layout::blocks_in(n_words);
        memory[header::VERSION].store(VERSION, Relaxed);
        memory[header::WORDS].store(n_words as u64, Relaxed);
        memory[header::BLOCKS].store(n_blocks as u64, Relaxed);
        memory[header::PROCESS].store(std::process::id().into(), Relaxed);
        memory[header::HORIZON_NS].store(horizon_ns, Relaxed);
        // Stored last, so that a reader which finds the magic number finds the rest.
        memory[header::MAGIC].store(MAGIC, Release);
        Ok(Self { memory, n_blocks })
    }

    pub(super) const fn memory(&self) -> &SharedMemory {
        &self.memory
    }

    pub(super) const fn n_blocks(&self) -> usize {
        self.n_blocks
    }

    /// A word of the header.
    pub(super) fn header(&self, word: usize) -> &AtomicU64 {
        &self.memory[word]
    }

    /// Adds one to a counter of the header.
    pub(super) fn count(&self, word: usize) {
        self.memory[word].fetch_add(1, Relaxed);
    }

    pub(super) fn slot(&self, index: usize) -> &Slot {
        self.memory[layout::thread_at(index)..].first_chunk().expect("slots lie before the blocks")
    }

    pub(super) fn block(&self, index: usize) -> &Block {
        self.memory[layout::block_at(index)..].first_chunk().expect("indexes come from the pool")
    }

    /// Writes a scope's description. Idempotent, so any thread may at any time; only the limit may differ between calls.
    pub(super) fn describe(&self, id: usize, described: &Scope) {
        assert!(id < SCOPES_MAX, "scope {id} has no place in the table");
        let at = layout::scope_at(id);
        let (name, arg, kind) = (described.name(), described.arg_kind() as u64, described.kind_of() as u64);
        for (n, word) in layout::pack::<SCOPE_NAME_WORDS>(name).into_iter().enumerate() {
            self.memory[at + scope::NAME + n].store(word, Relaxed);
        }
        self.memory[at + scope::LIMIT_NS].store(described.limit_ns(), Relaxed);
        let meta = 1 << 63 | (name.len() as u64) << 16 | kind << 8 | arg;
        self.memory[at + scope::META].store(meta, Release);
    }

    /// Claims a slot for a thread; `None`, and counted, when the table is full.
    pub(super) fn claim(&self, name: &str, tid: u32) -> Option<usize> {
        let free = (0..THREADS_MAX).find(|&slot| {
            let state = &self.memory[layout::state_at(slot)];
            let found = state.load(Relaxed);
            let claimed = ((found & !STATE_MASK) + (1 << 2)) | STATE_CLAIMED;
            found & STATE_MASK == STATE_FREE
                && state.compare_exchange(found, claimed, AcqRel, Relaxed).is_ok()
        });
        let Some(index) = free else {
            self.count(header::THREADS_REFUSED);
            return None;
        };
        // A reader that sees any of the following stores also sees the new generation of the slot.
        fence(Release);
        let slot = self.slot(index);
        slot[thread::TID].store(tid.into(), Relaxed);
        for (n, word) in layout::pack::<THREAD_NAME_WORDS>(name).into_iter().enumerate() {
            slot[thread::NAME + n].store(word, Relaxed);
        }
        slot[thread::RECYCLED].store(0, Relaxed);
        let open = slot[thread::OPEN].load(Relaxed);
        slot[thread::OPEN].store(((open >> 8) + 1) << 8, Relaxed);
        let state = &self.memory[layout::state_at(index)];
        state.store((state.load(Relaxed) & !STATE_MASK) | STATE_LIVE, Release);
        Some(index)
    }

    /// Scopes entered in all slots since the start. The change counter of open scopes rises by two per scope, so no other
    /// counter is needed.
    pub(super) fn n_scopes(&self) -> u64 {
        let changes = |slot| self.slot(slot)[thread::OPEN].load(Relaxed) >> 8;
        (0..THREADS_MAX).map(changes).sum::<u64>() / 2
    }

    /// Releases a slot and all of its blocks. Only the slot's thread may call it.
    pub(super) fn release(&self, index: usize) {
        let slot = self.slot(index);
        while slot[thread::RELEASED].load(Relaxed) < slot[thread::OPENED].load(Relaxed) {
            let block = release_oldest(slot);
            self.return_block(block);
        }
        let state = &self.memory[layout::state_at(index)];
        state.store((state.load(Relaxed) & !STATE_MASK) | STATE_FREE, Release);
    }

    /// Takes a block out of the pool: the last released, whose pages are warm, else a block that was never used.
    pub(super) fn take_block(&self) -> Option<usize> {
        let free = &self.memory[header::FREE];
        let mut head = free.load(Acquire);
        while head & 0xFFFF_FFFF != 0 {
            let index = (head & 0xFFFF_FFFF) as usize - 1;
            // Garbage if another thread takes the block meanwhile, but then the tag has changed and the exchange fails.
            let next = self.block(index)[block::NEXT].load(Relaxed);
            match free.compare_exchange_weak(head, next_tag(head) | next, AcqRel, Acquire) {
                Ok(_) => return Some(index),
                Err(now) => head = now,
            }
        }
        let one_more = |fresh| (fresh < self.n_blocks as u64).then_some(fresh + 1);
        let fresh = self.memory[header::FRESH].fetch_update(Relaxed, Relaxed, one_more);
        fresh.ok().map(|index| index as usize)
    }

    /// Returns a block to the pool.
    pub(super) fn return_block(&self, index: usize) {
        let free = &self.memory[header::FREE];
        let mut head = free.load(Relaxed);
        loop {
            self.block(index)[block::NEXT].store(head & 0xFFFF_FFFF, Relaxed);
            let with_it = next_tag(head) | (index as u64 + 1);
            match free.compare_exchange_weak(head, with_it, AcqRel, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }
}

/// The tag after that of `head`, in place. The tag prevents the ABA problem: a taker must not store an outdated `next` when
/// the same block was taken and given back meanwhile.
const fn next_tag(head: u64) -> u64 {
    (head >> 32).wrapping_add(1) << 32
}

/// Releases the oldest block of a thread's ring and returns it. The ring must not be empty, and the caller must be its
/// thread.
pub(super) fn release_oldest(slot: &Slot) -> usize {
    let released = slot[thread::RELEASED].load(Relaxed);
    let block = slot[thread::RING + released as usize % layout::RING].load(Relaxed) as usize;
    slot[thread::RELEASED].store(released + 1, Relaxed);
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn arena(n_blocks: usize) -> Arena {
        Arena::new(layout::block_at(n_blocks) * 8, 0).unwrap()
    }

    #[test]
    fn the_pool_hands_out_each_block_once_and_the_warmest_first() {
        let arena = arena(3);
        let taken: Vec<_> = std::iter::from_fn(|| arena.take_block()).collect();
        assert_eq!(taken, [0, 1, 2]);
        arena.return_block(1);
        arena.return_block(2);
        assert_eq!([arena.take_block(), arena.take_block(), arena.take_block()], [Some(2), Some(1), None]);
    }

    #[test]
    fn threads_that_pull_at_the_pool_never_hold_the_same_block() {
        const BLOCKS: usize = 8;
        let arena = arena(BLOCKS);
        let holders: [AtomicUsize; BLOCKS] = Default::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..20_000 {
                        let held: Vec<usize> = (0..=round % 3).filter_map(|_| arena.take_block()).collect();
                        for &block in &held {
                            assert_eq!(holders[block].fetch_add(1, Relaxed), 0);
                        }
                        for &block in &held {
                            holders[block].fetch_sub(1, Relaxed);
                            arena.return_block(block);
                        }
                    }
                });
            }
        });
        assert_eq!(std::iter::from_fn(|| arena.take_block()).count(), BLOCKS, "none is missing in the end");
    }

    #[test]
    fn a_full_table_of_threads_refuses_and_counts() {
        let arena = arena(1);
        let slots: Vec<_> = std::iter::from_fn(|| arena.claim("worker", 1)).collect();
        assert_eq!(slots.len(), THREADS_MAX);
        assert_eq!(arena.header(header::THREADS_REFUSED).load(Relaxed), 1);
        arena.release(7);
        assert_eq!(arena.claim("late", 2), Some(7));
    }
}
