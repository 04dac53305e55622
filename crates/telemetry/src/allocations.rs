//! Number of allocations and bytes held, by thread. Steady work of a tick must not allocate, and only a count proves that.
//!
//! The executable makes [`CountingAllocator`] its global allocator; each thread that calls [`count_here`] has a counter.

#![expect(unsafe_code, reason = "an allocator is unsafe to implement; this one hands everything on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The system's allocator with counters. Counting costs about a nanosecond per call.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

/// Smallest block that is mapped from the system on its own and unmapped when freed.
const LARGE_BYTES: i32 = 256 * 1024;

/// Fixes glibc's threshold for mapped blocks, so that a large block returns to the system when it is freed. By default the
/// threshold rises with the first such block, and later ones stay with the process: a capture's tables, tens of megabytes,
/// counted as memory that clients need (1,500 walking clients on a 2-core VM: 129 MB resident after four captures, 138
/// after three without this setting, 122 without captures).
///
/// Call it before other threads start. No-op with other C libraries.
pub fn give_large_blocks_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: settings of the allocator, which it reads when it is asked for memory; none is touched.
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES) };
}

/// Returns the allocator's free memory to the system. It locks the arena of each thread in turn, and later allocations
/// fault their pages in again: meant for a shortage of memory. No-op with other C libraries.
pub fn give_spare_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the allocator returns pages that hold no block; it takes its own locks.
    let _ = unsafe { libc::malloc_trim(0) };
}

/// Counters of the threads of one name, of one thread at a time. Leaked, so that a thread holds a plain reference: the
/// number of counters of a name is the maximum of threads of that name at one time.
#[derive(Debug)]
struct ThreadCounter {
    name: String,
    /// Allocations. Written only by the thread that leases the counter.
    count: AtomicU64,
    /// Bytes allocated minus bytes freed. Negative for a thread that frees memory of others.
    held: AtomicI64,
    is_taken: AtomicBool,
}

static COUNTERS: Mutex<Vec<&'static ThreadCounter>> = Mutex::new(Vec::new());

thread_local! {
    // Initialised at compile time and without destructor, so that access never allocates.
    static HERE: Cell<Option<&'static ThreadCounter>> = const { Cell::new(None) };
    static LEASE: Cell<Option<CounterLease>> = const { Cell::new(None) };
}

/// Returns the counter when its thread ends: a runtime starts and ends threads as long as the server runs.
#[derive(Debug)]
struct CounterLease(&'static ThreadCounter);

impl Drop for CounterLease {
    fn drop(&mut self) {
        HERE.set(None);
        // The next thread of this name continues this count.
        self.0.is_taken.store(false, Ordering::Release);
    }
}

/// Counts allocations of the calling thread under `name` from now on.
pub fn count_here(name: &str) {
    drop(LEASE.take());
    let mut counters = COUNTERS.lock().unwrap_or_else(PoisonError::into_inner);
    let is_free =
        |counter: &&&ThreadCounter| counter.name == name && !counter.is_taken.swap(true, Ordering::Acquire);
    let counter = counters.iter().find(is_free).copied().unwrap_or_else(|| {
        let (name, is_taken) = (name.to_owned(), AtomicBool::new(true));
        let counter = ThreadCounter { name, count: AtomicU64::new(0), held: AtomicI64::new(0), is_taken };
        let counter: &ThreadCounter = Box::leak(Box::new(counter));
        counters.push(counter);
        counter
    });
    drop(counters);
    LEASE.set(Some(CounterLease(counter)));
    HERE.set(Some(counter));
}

/// Allocations (new blocks and changed sizes) by thread name, summed over threads of one name. All zero unless the
/// executable's allocator is [`CountingAllocator`].
#[must_use]
pub fn counted() -> BTreeMap<String, u64> {
    let mut counted = BTreeMap::new();
    for counter in COUNTERS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        *counted.entry(counter.name.clone()).or_default() += counter.count.load(Ordering::Relaxed);
    }
    counted
}

/// Allocations in the calling thread's counter; zero for a thread without one ([`count_here`]).
#[must_use]
pub fn counted_here() -> u64 {
    HERE.get().map_or(0, |counter| counter.count.load(Ordering::Relaxed))
}

/// Bytes allocated less bytes freed in the calling thread's counter; zero for a thread without one ([`count_here`]). The
/// difference across a piece of work is the memory that it retains, independent of other threads, provided that it frees
/// only its own memory and hands none to other threads to free.
#[must_use]
pub fn held_here() -> i64 {
    HERE.get().map_or(0, |counter| counter.held.load(Ordering::Relaxed))
}

fn count_request(requests: u64, bytes: i64) {
    // During the end of a thread its thread-locals may be gone.
    if let Ok(Some(ThreadCounter { count, held, .. })) = HERE.try_with(Cell::get) {
        // This thread is the only writer, so load and store lose nothing.
        count.store(count.load(Ordering::Relaxed) + requests, Ordering::Relaxed);
        held.store(held.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }
}

/// No overflow: a block is smaller than half of the address space ([`Layout`]).
const fn signed(size: usize) -> i64 {
    size as i64
}

// SAFETY: every call is forwarded unchanged to the system's allocator; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_request(1, signed(layout.size()));
        // SAFETY: the caller upholds the contract of `alloc`, which is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_request(1, signed(layout.size()));
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_request(1, signed(size) - signed(layout.size()));
        // SAFETY: as above, and the block came from the system's allocator.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count_request(0, -signed(layout.size()));
        // SAFETY: as for `realloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: CountingAllocator = CountingAllocator;

    #[test]
    fn only_a_counted_thread_is_charged_for_its_allocations() {
        let count = |name: &str| counted().get(name).copied().unwrap_or(0);
        std::thread::spawn(move || {
            let uncounted: Vec<Vec<u8>> = (0..1_000).map(|_| Vec::with_capacity(16)).collect();
            drop(uncounted);
            count_here("counted");
            let before = count("counted");
            let mut grown: Vec<u8> = Vec::with_capacity(16);
            grown.reserve(1_000);
            drop(grown);
            let boxes: Vec<Box<u8>> = (0..10).map(Box::new).collect();
            drop(boxes);
            // The vector and its growth, ten boxes and their vector, and the allocations of `counted` itself.
            let asked = count("counted") - before;
            assert!((13..40).contains(&asked), "{asked}");
        })
        .join()
        .expect("no panic");
        assert_eq!(count("another thread"), 0);
    }

    #[test]
    fn the_kept_bytes_of_a_thread_are_reported_without_freed_ones() {
        std::thread::spawn(|| {
            let uncounted: Vec<u8> = Vec::with_capacity(5_000);
            assert_eq!(held_here(), 0);
            count_here("holder");
            let before = held_here();
            let mut kept: Vec<u8> = Vec::with_capacity(1_000);
            drop(std::hint::black_box(Vec::<u8>::with_capacity(100_000)));
            assert_eq!(held_here() - before, 1_000);
            kept.reserve_exact(3_000);
            assert_eq!(held_here() - before, 3_000);
            drop((kept, uncounted));
            assert_eq!(held_here() - before, -5_000, "it has freed what it had not asked for");
        })
        .join()
        .expect("no panic");
    }

    #[test]
    fn threads_of_one_name_are_added_up_and_successors_share_a_place() {
        let counters = || COUNTERS.lock().unwrap().iter().filter(|counter| counter.name == "twins").count();
        let mut before = 0;
        for _ in 0..20 {
            std::thread::spawn(|| {
                count_here("twins");
                drop(std::hint::black_box(Box::new(1_u64)));
            })
            .join()
            .expect("no panic");
            assert!(counted()["twins"] > before, "the next one goes on counting");
            before = counted()["twins"];
            assert_eq!(counters(), 1);
        }
        count_here("twins");
        std::thread::spawn(|| count_here("twins")).join().expect("no panic");
        assert_eq!(counters(), 2, "two at once do not share");
    }
}
