//! Buffers of sent datagrams, so that a busy circuit allocates nothing. The circuits of one thread share them: each of thousands needs a few in turn,
//! and with buffers of its own it would keep as many as its busiest moment has needed.
//!
//! Buffers say nothing: which one a message gets changes no byte that is sent.

use std::cell::RefCell;

/// Capacities of new buffers: animations and the like, looks of simple avatars, and whole datagrams.
const SIZES: [usize; 3] = [128, 512, 1_280];
/// Capacity of a kept buffer at most. Terrain expands to more before it is compressed.
const KEPT_CAPACITY_MAX: usize = 2 * SIZES[2];
/// Buffers of each size that are kept for each circuit of the thread …
const KEPT_EACH: [usize; 3] = [8, 8, 1];
/// … and at most: 2.2 MB in all. What thousands of circuits have under way varies by less from one turn to the next.
const KEPT_MAX: [usize; 3] = [4_096, 2_048, 256];

thread_local! {
    static POOL: RefCell<BufferPool> = const { RefCell::new(BufferPool::new()) };
}

/// The buffers of one thread.
struct BufferPool {
    kept: [Vec<Vec<u8>>; SIZES.len()],
    /// Circuits that were made here and live. One that ends on another thread counts there, which only moves buffers.
    n_circuits: usize,
}

impl BufferPool {
    const fn new() -> Self {
        Self { kept: [Vec::new(), Vec::new(), Vec::new()], n_circuits: 0 }
    }

    const fn kept_max(&self, size: usize) -> usize {
        let each = self.n_circuits.saturating_mul(KEPT_EACH[size]);
        if each < KEPT_MAX[size] { each } else { KEPT_MAX[size] }
    }

    fn take(&mut self, len: usize) -> Vec<u8> {
        match SIZES.iter().position(|&size| len <= size) {
            Some(size) => self.kept[size].pop().unwrap_or_else(|| Vec::with_capacity(SIZES[size])),
            None => Vec::with_capacity(len),
        }
    }

    fn give(&mut self, mut buffer: Vec<u8>) {
        let capacity = buffer.capacity();
        let Some(size) = SIZES.iter().rposition(|&size| size <= capacity) else { return };
        if capacity <= KEPT_CAPACITY_MAX && self.kept[size].len() < self.kept_max(size) {
            buffer.clear();
            self.kept[size].push(buffer);
        }
    }

    fn add_circuit(&mut self) {
        self.n_circuits += 1;
    }

    /// Frees the buffers that were kept for a circuit.
    fn remove_circuit(&mut self) {
        self.n_circuits = self.n_circuits.saturating_sub(1);
        for size in 0..SIZES.len() {
            let kept_max = self.kept_max(size);
            let kept = &mut self.kept[size];
            kept.truncate(kept_max);
            if kept.capacity() > 4 * kept_max {
                kept.shrink_to(2 * kept_max);
            }
        }
    }
}

/// A circuit's part in the buffers of its thread.
#[derive(Debug)]
pub(crate) struct Spare {
    was_used: bool,
}

impl Spare {
    fn join(was_used: bool) -> Self {
        let _ = POOL.try_with(|pool| pool.borrow_mut().add_circuit());
        Self { was_used }
    }

    /// An empty buffer for `len` bytes.
    pub(crate) fn take_buffer(&mut self, len: usize) -> Vec<u8> {
        self.was_used = true;
        // The pool is gone while its thread ends.
        POOL.try_with(|pool| pool.borrow_mut().take(len)).unwrap_or_else(|_| Vec::with_capacity(len))
    }

    /// Keeps the memory of a buffer for another message, of whichever circuit.
    pub(crate) fn return_buffer(&mut self, buffer: Vec<u8>) {
        let _ = POOL.try_with(|pool| pool.borrow_mut().give(buffer));
    }

    /// True if no buffer was needed since the last call: the circuit is at rest.
    pub(crate) fn was_idle(&mut self) -> bool {
        !std::mem::take(&mut self.was_used)
    }
}

impl Default for Spare {
    fn default() -> Self {
        Self::join(false)
    }
}

impl Clone for Spare {
    fn clone(&self) -> Self {
        Self::join(self.was_used)
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        let _ = POOL.try_with(|pool| pool.borrow_mut().remove_circuit());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool for this number of circuits.
    fn pool(n_circuits: usize) -> BufferPool {
        BufferPool { n_circuits, ..BufferPool::new() }
    }

    fn n_kept(pool: &BufferPool) -> [usize; 3] {
        [0, 1, 2].map(|size| pool.kept[size].len())
    }

    #[test]
    fn a_buffer_comes_back_empty_with_its_memory() {
        let mut pool = pool(1);
        pool.give(vec![1; 1_300]);
        pool.give(vec![1; 130]);
        let (small, large) = (pool.take(60), pool.take(1_000));
        assert!(small.is_empty() && (130..SIZES[1]).contains(&small.capacity()));
        assert!(large.is_empty() && large.capacity() >= 1_300);
        assert_eq!(n_kept(&pool), [0; 3]);
    }

    #[test]
    fn a_buffer_has_room_for_what_it_is_taken_for() {
        let mut pool = pool(1);
        for len in [0, 1, 128, 129, 512, 513, 1_200, 1_280, 1_281, 8_198] {
            let buffer = pool.take(len);
            assert!(buffer.capacity() >= len);
            pool.give(buffer);
            assert!(pool.take(len).capacity() >= len);
        }
    }

    #[test]
    fn kept_buffers_are_bounded_by_the_circuits_and_in_all() {
        let mut pool = pool(2);
        for _ in 0..20 {
            pool.give(vec![1; 200]);
            pool.give(vec![1; 600]);
            pool.give(vec![1; 1_500]);
            // Longer than any that is kept, and left by an expired perishable packet.
            pool.give(vec![1; 9_000]);
            pool.give(Vec::new());
        }
        assert_eq!(n_kept(&pool), [16, 16, 2]);
        pool.n_circuits = usize::MAX;
        (0..2 * KEPT_MAX[2]).for_each(|_| pool.give(vec![1; 1_500]));
        assert_eq!(pool.kept[2].len(), KEPT_MAX[2]);
    }

    #[test]
    fn a_circuit_that_ends_takes_its_buffers_along() {
        let mut pool = pool(0);
        (0..100).for_each(|_| pool.add_circuit());
        (0..200).for_each(|_| pool.give(vec![1; 600]));
        assert_eq!(pool.kept[1].len(), 200);
        (0..99).for_each(|_| pool.remove_circuit());
        assert_eq!(pool.kept[1].len(), KEPT_EACH[1]);
        assert!(pool.kept[1].capacity() <= 4 * KEPT_EACH[1]);
        pool.remove_circuit();
        assert_eq!((pool.kept[1].len(), pool.kept[1].capacity()), (0, 0));
        // One that was made on another thread.
        pool.remove_circuit();
        assert_eq!(pool.n_circuits, 0);
    }

    #[test]
    fn circuits_of_a_thread_use_the_buffers_of_each_other() {
        let run = || {
            let (mut first, mut second) = (Spare::default(), Spare::default());
            let buffer = first.take_buffer(100);
            let memory = buffer.as_ptr();
            first.return_buffer(buffer);
            let again = second.take_buffer(50);
            assert_eq!(again.as_ptr(), memory);
            assert!(!first.was_idle() && first.was_idle());
            let third = second.clone();
            assert_eq!(POOL.with_borrow(|pool| pool.n_circuits), 3);
            drop((first, second, third));
            assert_eq!(POOL.with_borrow(|pool| pool.n_circuits), 0);
        };
        std::thread::spawn(run).join().expect("no panic");
    }
}
