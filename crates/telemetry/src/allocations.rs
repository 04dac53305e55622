//! How often each thread asks for memory, and how much of it. What runs at every tick should not (DESIGN §5), and only a count tells.
//!
//! The executable makes [`CountingAllocator`] its global allocator; threads that are [counted](count_here) have a place each.

#![expect(unsafe_code, reason = "an allocator is unsafe to implement; this one hands everything on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The system's allocator, with a count. Costs a nanosecond a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

/// Blocks from so many bytes on come from the system and go back to it.
const LARGE_BYTES: i32 = 256 * 1024;

/// Has large blocks go back to the system when they are freed. glibc does so only until the first is freed, and keeps what
/// comes later: a capture's tables, tens of megabytes, stayed with the process for good, as if its clients needed them (1,500
/// walking clients on a 2-core VM: 129 MB resident after four captures, 138 after three without this, 122 without any).
///
/// Call it before there are threads. Elsewhere than with glibc it does nothing.
pub fn give_large_blocks_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: settings of the allocator, which it reads when it is asked for memory; none is touched.
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES) };
}

/// Gives memory that the allocator keeps for later back to the system. It locks each thread's share in turn, and
/// what is asked for next has to be had anew: for when there is no memory left. Elsewhere than with glibc it does nothing.
pub fn give_spare_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the allocator returns pages that hold no block; it takes its own locks.
    let _ = unsafe { libc::malloc_trim(0) };
}

/// Where the threads of one name count, one after the other. Never freed, so that threads can hold it without counting holders:
/// there are as many as threads of that name ever ran at once.
#[derive(Debug)]
struct Place {
    name: String,
    /// Only the thread that sits here writes it.
    count: AtomicU64,
    /// Bytes asked for less bytes given back, likewise. Who frees more than it asked for comes below zero.
    held: AtomicI64,
    is_taken: AtomicBool,
}

static PLACES: Mutex<Vec<&'static Place>> = Mutex::new(Vec::new());

thread_local! {
    // Without a destructor and known at compile time, so that looking at it allocates nothing.
    static HERE: Cell<Option<&'static Place>> = const { Cell::new(None) };
    static SEAT: Cell<Option<Seat>> = const { Cell::new(None) };
}

/// Gives the thread's place back when it ends: a runtime's threads come and go for as long as the server runs.
#[derive(Debug)]
struct Seat(&'static Place);

impl Drop for Seat {
    fn drop(&mut self) {
        HERE.set(None);
        // Whoever sits here next goes on from this thread's count.
        self.0.is_taken.store(false, Ordering::Release);
    }
}

/// Counts the calling thread's requests for memory from now on, under this name.
pub fn count_here(name: &str) {
    drop(SEAT.take());
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    let is_free = |place: &&&Place| place.name == name && !place.is_taken.swap(true, Ordering::Acquire);
    let place = places.iter().find(is_free).copied().unwrap_or_else(|| {
        let (name, is_taken) = (name.to_owned(), AtomicBool::new(true));
        let place = Place { name, count: AtomicU64::new(0), held: AtomicI64::new(0), is_taken };
        let place: &Place = Box::leak(Box::new(place));
        places.push(place);
        place
    });
    drop(places);
    SEAT.set(Some(Seat(place)));
    HERE.set(Some(place));
}

/// Requests for memory so far, new blocks and changed sizes, by the names of the threads; threads of one name together. All zero
/// unless the executable's allocator is [`CountingAllocator`].
#[must_use]
pub fn counted() -> BTreeMap<String, u64> {
    let mut counted = BTreeMap::new();
    for place in PLACES.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        *counted.entry(place.name.clone()).or_default() += place.count.load(Ordering::Relaxed);
    }
    counted
}

/// Requests of the calling thread's place so far; zero of a thread that is not [counted](count_here).
#[must_use]
pub fn counted_here() -> u64 {
    HERE.get().map_or(0, |place| place.count.load(Ordering::Relaxed))
}

/// Bytes that the calling thread's place has asked for less those that it gave back, as they were asked for: zero of a thread that is
/// not [counted](count_here). What one piece of work keeps is the difference from before it to behind it, whatever others do
/// meanwhile, unless it frees what it did not ask for or leaves something to others to free.
#[must_use]
pub fn held_here() -> i64 {
    HERE.get().map_or(0, |place| place.held.load(Ordering::Relaxed))
}

fn note(requests: u64, bytes: i64) {
    // A thread that is ending may have nothing to look at any more.
    if let Ok(Some(Place { count, held, .. })) = HERE.try_with(Cell::get) {
        // Nobody else writes, so nothing is lost between the two.
        count.store(count.load(Ordering::Relaxed) + requests, Ordering::Relaxed);
        held.store(held.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }
}

/// No block is as large as half the address space ([`Layout`]).
const fn signed(size: usize) -> i64 {
    size as i64
}

// SAFETY: every call goes to the system's allocator as it is; counting allocates nothing and cannot unwind.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(1, signed(layout.size()));
        // SAFETY: the caller keeps the promises of `alloc`, which are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(1, signed(layout.size()));
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(1, signed(size) - signed(layout.size()));
        // SAFETY: as above, and the block came from the system's allocator.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(0, -signed(layout.size()));
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
    fn a_counted_thread_is_charged_for_what_it_asks_for_and_nobody_else_is() {
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
            // One and its growth, ten boxes and the list of them; and what asking for the count takes.
            let asked = count("counted") - before;
            assert!((13..40).contains(&asked), "{asked}");
        })
        .join()
        .expect("no panic");
        assert_eq!(count("somebody else"), 0);
    }

    #[test]
    fn what_a_thread_keeps_is_told_and_what_it_frees_is_not_in_it() {
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
    fn threads_of_one_name_are_added_up_and_those_that_follow_each_other_share_a_place() {
        let places = || PLACES.lock().unwrap().iter().filter(|place| place.name == "twins").count();
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
            assert_eq!(places(), 1);
        }
        count_here("twins");
        std::thread::spawn(|| count_here("twins")).join().expect("no panic");
        assert_eq!(places(), 2, "two at once do not share");
    }
}
