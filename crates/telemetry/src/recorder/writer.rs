//! The path of an event into memory: what entering and leaving a scope costs is here.
//!
//! Each thread writes into its own slot and its own blocks, so nothing is contended: an event is a few stores. Only
//! for one event in 511 the thread goes to the pool for another block. Readers may look at any time; `reader` tells
//! what they do about a block that changes under them, and the fences here name what it relies on.

use super::arena::{Block, Slot, release_oldest};
use super::capture::Overrun;
use super::layout::{self, BLOCK_EVENTS, EVENT_WORDS, OPEN_MAX, OPEN_WORDS, RING, block, header, thread};
use super::scope::{Entered, NO_LIMIT, Scope, registered};
use super::{Shared, thread as own_thread};
use std::cell::Cell;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::fence;

thread_local! {
    // Without a destructor, so that reaching it is an offset from a register, also while the thread ends.
    static WRITER: Writer = const { Writer::new() };
}

/// How often a thread asks the kernel for its figures: at every frame of a world, and not at each of a shard's
/// hundreds of turns a second, as it takes a few microseconds.
const SAMPLE_PERIOD_NS: u64 = 20_000_000;

/// A thread's place in the recorder.
#[derive(Clone, Copy)]
pub(super) struct Seat {
    pub(super) shared: &'static Shared,
    pub(super) slot: &'static Slot,
    pub(super) tid: u32,
}

/// What a thread remembers between two events. What others may read of it stands in memory as well; this is quicker.
struct Writer {
    /// None on a thread that records nothing.
    seat: Cell<Option<Seat>>,
    /// Scopes with smaller numbers are described in the recorder's memory.
    described: Cell<u32>,
    /// As in the slot: changes « 8 | depth.
    open: Cell<u64>,
    block: Cell<Option<&'static Block>>,
    /// Events in the block. Without a block it looks like a full one.
    count: Cell<usize>,
    next_sample_ns: Cell<u64>,
    /// Sum since the thread began.
    lock_wait_ns: Cell<u64>,
}

/// Nanoseconds of CLOCK_MONOTONIC.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // Neither is ever negative.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[inline]
pub(super) fn enter(scope: &'static Scope, arg: u64) -> Option<Entered> {
    WRITER.with(|writer| {
        let seat = writer.seat.get()?;
        writer.enter(seat, scope, arg)
    })
}

#[inline]
pub(super) fn exit(scope: &'static Scope, arg: u64, budget_ns: u64, entered: Entered) {
    WRITER.with(|writer| writer.exit(scope, arg, budget_ns, entered));
}

/// Ends a frame of the calling thread: call it once a turn, when nothing is open, just before the thread waits for
/// its next work. Gives blocks back whose events have all grown older than the horizon, and every 20 ms, or after an
/// overrun, writes down what the kernel counts of the thread. Does nothing on a thread that does not record.
pub fn frame_end() {
    WRITER.with(|writer| {
        let Some(seat) = writer.seat.get() else { return };
        let now_ns = now_ns();
        writer.forget_old(seat, now_ns);
        if now_ns >= writer.next_sample_ns.get() {
            writer.next_sample_ns.set(now_ns + SAMPLE_PERIOD_NS);
            own_thread::sample(writer.lock_wait_ns.get(), |what, value| {
                writer.write(seat, [now_ns, value, 0, layout::sample_meta(what as u8)]);
            });
        }
    });
}

/// Adds to the time that the calling thread has waited for locks.
pub(crate) fn add_lock_wait(ns: u64) {
    WRITER.with(|writer| writer.lock_wait_ns.set(writer.lock_wait_ns.get() + ns));
}

/// Lets the calling thread record into its slot, or into none from now on.
pub(super) fn sit_down(seat: Option<Seat>) {
    WRITER.with(|writer| {
        writer.seat.set(seat);
        writer.described.set(0);
        writer.open.set(seat.map_or(0, |seat| seat.slot[thread::OPEN].load(Relaxed)));
        writer.block.set(None);
        writer.count.set(BLOCK_EVENTS);
        writer.next_sample_ns.set(0);
    });
}

impl Writer {
    const fn new() -> Self {
        Self {
            seat: Cell::new(None),
            described: Cell::new(0),
            open: Cell::new(0),
            block: Cell::new(None),
            count: Cell::new(BLOCK_EVENTS),
            next_sample_ns: Cell::new(0),
            lock_wait_ns: Cell::new(0),
        }
    }

    fn enter(&self, seat: Seat, scope: &'static Scope, arg: u64) -> Option<Entered> {
        let mut id = scope.id();
        if id >= self.described.get() {
            id = self.describe(seat, scope)?;
        }
        let open = self.open.get();
        let depth = open as u8;
        let at = thread::FRAMES + usize::from(depth) * OPEN_WORDS;
        if usize::from(depth) >= OPEN_MAX {
            seat.shared.arena.count(header::EVENTS_LOST);
            return None;
        }
        let begin_ns = now_ns();
        // A reader that sees a word of the following sees that the scope which was open here before has ended.
        fence(Release);
        let frame: &[_; OPEN_WORDS] =
            seat.slot[at..].first_chunk().expect("there are frames up to the depth");
        frame[0].store(begin_ns, Relaxed);
        frame[1].store(arg, Relaxed);
        frame[2].store(id.into(), Relaxed);
        self.set_open(seat, open + (1 << 8) + 1);
        Some(Entered { begin_ns, id: id as u16, depth })
    }

    fn exit(&self, scope: &'static Scope, arg: u64, budget_ns: u64, entered: Entered) {
        let end_ns = now_ns();
        let Some(seat) = self.seat.get() else { return };
        let open = self.open.get();
        let Entered { begin_ns, id, depth } = entered;
        if open as u8 <= depth {
            // It outlived what was around it, or its recorder. In a capture slices lie inside each other.
            seat.shared.arena.count(header::EVENTS_LOST);
            return;
        }
        self.write(seat, [begin_ns, end_ns, arg, layout::slice_meta(id, depth.into())]);
        self.set_open(seat, (((open >> 8) + 1) << 8) | u64::from(depth));
        let declared_ns = scope.limit_ns();
        let limit_ns = if declared_ns == NO_LIMIT { budget_ns } else { declared_ns };
        let took_ns = end_ns - begin_ns;
        if took_ns > limit_ns {
            let kind = scope.kind_of();
            let (scope, thread, at_ns) = (id, seat.tid, end_ns);
            self.post(seat, Overrun { kind, scope, arg, took_ns, limit_ns, thread, at_ns });
        }
    }

    #[inline]
    fn set_open(&self, seat: Seat, open: u64) {
        self.open.set(open);
        seat.slot[thread::OPEN].store(open, Release);
    }

    #[inline]
    fn write(&self, seat: Seat, event: [u64; EVENT_WORDS]) {
        if self.count.get() == BLOCK_EVENTS && !self.next_block(seat) {
            seat.shared.arena.count(header::EVENTS_LOST);
            return;
        }
        let Some(block) = self.block.get() else { return };
        let count = self.count.get() + 1;
        let words: &[_; EVENT_WORDS] =
            block[count * EVENT_WORDS..].first_chunk().expect("a block that is not full has room");
        for (word, value) in words.iter().zip(event) {
            word.store(value, Relaxed);
        }
        self.count.set(count);
        block[block::COUNT].store(count as u64, Release);
    }

    /// Goes on to another block. False when there is none and the thread has none to use again.
    #[cold]
    fn next_block(&self, seat: Seat) -> bool {
        let Seat { shared, slot, .. } = seat;
        let opened = slot[thread::OPENED].load(Relaxed);
        let n_held = opened - slot[thread::RELEASED].load(Relaxed);
        let taken = if n_held < RING as u64 { shared.arena.take() } else { None };
        let index = match taken {
            Some(index) => index,
            None if n_held == 0 => return false,
            None => {
                shared.arena.count(header::BLOCKS_RECYCLED);
                slot[thread::RECYCLED].store(slot[thread::RECYCLED].load(Relaxed) + 1, Relaxed);
                release_oldest(slot)
            }
        };
        // A reader that sees anything written from now on, in the block or in the ring, sees that whoever had the
        // block before has released it.
        fence(Release);
        let block = shared.arena.block(index);
        block[block::COUNT].store(0, Relaxed);
        slot[thread::RING + opened as usize % RING].store(index as u64, Relaxed);
        slot[thread::OPENED].store(opened + 1, Release);
        self.block.set(Some(block));
        self.count.set(0);
        true
    }

    /// Gives back the blocks that hold nothing newer than the horizon; never the one that is being filled.
    fn forget_old(&self, seat: Seat, now_ns: u64) {
        let arena = &seat.shared.arena;
        let oldest_ns = now_ns.saturating_sub(arena.header(header::HORIZON_NS).load(Relaxed));
        let opened = seat.slot[thread::OPENED].load(Relaxed);
        loop {
            let released = seat.slot[thread::RELEASED].load(Relaxed);
            if released + 1 >= opened {
                return;
            }
            let index = seat.slot[thread::RING + released as usize % RING].load(Relaxed) as usize;
            let last: &[_; EVENT_WORDS] =
                arena.block(index).last_chunk().expect("a block has room for its events");
            let [begin, end, _, meta] = last.each_ref().map(|word| word.load(Relaxed));
            if layout::written_at(begin, end, meta) >= oldest_ns {
                return;
            }
            arena.give(release_oldest(seat.slot));
        }
    }

    #[cold]
    fn describe(&self, seat: Seat, scope: &'static Scope) -> Option<u32> {
        let arena = &seat.shared.arena;
        let Some(id) = scope.register() else {
            arena.count(header::EVENTS_LOST);
            return None;
        };
        let mut described = self.described.get();
        while let Some(next) = registered(described as usize) {
            arena.describe(described as usize, next);
            described += 1;
        }
        self.described.set(described);
        // Another thread may be about to fill the place of a smaller number.
        if u32::from(id) >= described {
            arena.describe(id.into(), scope);
        }
        Some(id.into())
    }

    #[cold]
    fn post(&self, seat: Seat, overrun: Overrun) {
        // What the kernel knows of this frame is worth its microseconds.
        self.next_sample_ns.set(0);
        seat.shared.overruns.post(overrun);
    }
}
