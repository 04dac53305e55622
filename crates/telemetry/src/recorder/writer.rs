//! The path of an event into memory: the cost of entering and leaving a scope is here.
//!
//! Each thread writes into its own slot and its own blocks, so there is no contention: an event is a few stores, and one
//! event in 511 takes another block from the pool. Readers may read at any time; `reader` describes how they detect a block
//! that changes meanwhile, and the fences here name the rule that it relies on.

use super::RecorderState;
use super::arena::{Block, Slot, release_oldest};
use super::capture::{Overrun, SampleKind, ScopeKind};
use super::clock::now_ns;
use super::layout::{self, EVENT_WORDS, OPEN_MAX, OPEN_WORDS, RING, block, header, thread};
use super::scope::{Entered, NO_LIMIT, Scope, registered};
use std::cell::Cell;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

thread_local! {
    // Without a destructor, so that access is an offset from a register, also while the thread ends.
    static WRITER: ThreadWriter = const { ThreadWriter::new() };
}

/// Interval of samples of the kernel's figures: every frame of a world, but not each of a shard's hundreds of turns per
/// second, since a sample takes a few microseconds.
const SAMPLE_PERIOD_NS: u64 = 20_000_000;

/// Slot of a thread that records nothing: no scope is open.
static NO_SLOT: Slot = [const { AtomicU64::new(0) }; layout::THREAD_WORDS];
/// Block of a thread that has none: it is full.
static NO_BLOCK: Block = {
    let mut block = [const { AtomicU64::new(0) }; layout::BLOCK_WORDS];
    block[block::COUNT] = AtomicU64::new(layout::BLOCK_EVENTS as u64);
    block
};

/// A thread's place in the recorder: its slot and id.
#[derive(Clone, Copy)]
pub(super) struct ThreadSlot {
    pub(super) shared: &'static RecorderState,
    pub(super) slot: &'static Slot,
    pub(super) tid: u32,
}

/// A thread's private state between two events. State for readers is in its slot.
struct ThreadWriter {
    /// None on a thread that records nothing.
    assigned: Cell<Option<ThreadSlot>>,
    /// Scopes with smaller numbers are described in the recorder's memory already.
    described: Cell<u32>,
    slot: Cell<&'static Slot>,
    block: Cell<&'static Block>,
    next_sample_ns: Cell<u64>,
    /// Minimum duration of recorded systems ([`record_systems_from`]).
    systems_from_ns: Cell<u64>,
    /// Sum since the thread began.
    lock_wait_ns: Cell<u64>,
}

/// Open scopes are kept only in the thread's shared memory, since a private copy would need further stores. Rare cases are in
/// functions of their own, so that this one and [`exit`] can be inlined into every user of a scope.
#[inline(always)]
pub(super) fn enter(scope: &'static Scope, arg: u64) -> Entered {
    let (described, slot) = WRITER.with(|writer| (writer.described.get(), writer.slot.get()));
    // A thread that records nothing has described no scope.
    if described == 0 && WRITER.with(|writer| writer.assigned.get().is_none()) {
        return Entered::NOT;
    }
    let id = scope.id();
    if id >= described || slot[thread::OPEN].load(Relaxed) as usize % 256 >= OPEN_MAX {
        return enter_anew(scope, arg);
    }
    begin(slot, id as u16, arg)
}

/// Rare path: the first time in this thread, or too many open scopes.
#[cold]
#[inline(never)]
fn enter_anew(scope: &'static Scope, arg: u64) -> Entered {
    let Some(assigned) = WRITER.with(|writer| writer.assigned.get()) else { return Entered::NOT };
    match WRITER.with(|writer| writer.describe(scope)) {
        Some(id) if usize::from(assigned.slot[thread::OPEN].load(Relaxed) as u8) < OPEN_MAX => {
            begin(assigned.slot, id, arg)
        }
        _ => {
            assigned.shared.arena.count(header::EVENTS_LOST);
            Entered::NOT
        }
    }
}

/// Precondition: fewer than [`OPEN_MAX`] scopes are open.
#[inline(always)]
fn begin(slot: &'static Slot, id: u16, arg: u64) -> Entered {
    let begin_ns = now_ns();
    let open = slot[thread::OPEN].load(Relaxed);
    let depth = open as u8;
    let frame = frame(slot, depth.into());
    // A reader that sees any of the following stores also sees that the scope at this depth before has ended.
    fence(Release);
    frame[0].store(begin_ns, Relaxed);
    frame[1].store(arg, Relaxed);
    frame[2].store(id.into(), Relaxed);
    slot[thread::OPEN].store(open + (1 << 8) + 1, Release);
    Entered::new(id, depth)
}

/// The words of the open scope at this depth, which is below [`OPEN_MAX`].
#[inline(always)]
fn frame(slot: &'static Slot, depth: usize) -> &'static [AtomicU64; OPEN_WORDS] {
    const { assert!(OPEN_MAX.is_power_of_two()) };
    // The remainder equals the depth; with it the compiler can prove that the index is in range.
    let at = thread::FRAMES + depth % OPEN_MAX * OPEN_WORDS;
    slot[at..].first_chunk().expect("there are frames up to the depth")
}

/// Changes the argument of an open scope.
pub(super) fn set_arg(entered: Entered, arg: u64) {
    let slot = WRITER.with(|writer| writer.assigned.get()).map(|assigned| assigned.slot);
    if let Some(slot) = slot {
        frame(slot, entered.depth())[1].store(arg, Relaxed);
    }
}

#[inline(always)]
pub(super) fn exit(scope: &'static Scope, budget_ns: u64, entered: Entered) {
    exit_at(scope, budget_ns, entered, now_ns());
}

/// Rare cases are tail calls, so that no register has to be saved for code after them.
#[inline(always)]
fn exit_at(scope: &'static Scope, budget_ns: u64, entered: Entered, end_ns: u64) {
    let (slot, block, systems_from_ns) =
        WRITER.with(|writer| (writer.slot.get(), writer.block.get(), writer.systems_from_ns.get()));
    let (open, depth) = (slot[thread::OPEN].load(Relaxed), entered.depth());
    if open as usize % 256 <= depth {
        // It outlived the scope around it, or its recorder. Slices of a capture must nest.
        return lose();
    }
    let frame = frame(slot, depth);
    let (begin_ns, arg) = (frame[0].load(Relaxed), frame[1].load(Relaxed));
    let took_ns = end_ns.saturating_sub(begin_ns);
    let declared_ns = scope.limit_ns();
    let limit_ns = if declared_ns == NO_LIMIT { budget_ns } else { declared_ns };
    let is_over = took_ns > limit_ns;
    if took_ns < systems_from_ns && !is_over && scope.kind_of() == ScopeKind::System {
        return close(slot, open, depth);
    }
    if !write_event(block, [begin_ns, end_ns, arg, entered.meta]) {
        return exit_into_next_block(scope, budget_ns, entered, end_ns);
    }
    close(slot, open, depth);
    if is_over {
        post(scope, arg, limit_ns, entered, took_ns, end_ns);
    }
}

/// Sets the number of open scopes to `depth`.
#[inline(always)]
fn close(slot: &'static Slot, open: u64, depth: usize) {
    slot[thread::OPEN].store((open & !0xFF) + (1 << 8) + depth as u64, Release);
}

#[cold]
#[inline(never)]
fn exit_into_next_block(scope: &'static Scope, budget_ns: u64, entered: Entered, end_ns: u64) {
    if WRITER.with(ThreadWriter::next_block) {
        return exit_at(scope, budget_ns, entered, end_ns);
    }
    lose();
    // The scope has ended even though its event is lost.
    if let Some(ThreadSlot { slot, .. }) = WRITER.with(|writer| writer.assigned.get()) {
        close(slot, slot[thread::OPEN].load(Relaxed), entered.depth());
    }
}

/// Writes an event into a block. False when the block is full.
#[inline(always)]
fn write_event(block: &Block, event: [u64; EVENT_WORDS]) -> bool {
    let count = block[block::COUNT].load(Relaxed) as usize + 1;
    let Some(words) = block.as_chunks::<EVENT_WORDS>().0.get(count) else { return false };
    for (word, value) in words.iter().zip(event) {
        word.store(value, Relaxed);
    }
    block[block::COUNT].store(count as u64, Release);
    true
}

/// Writes a sample of the kernel's figures.
pub(super) fn write_sample(at_ns: u64, kind: SampleKind, value: u64) {
    let event = [at_ns, value, 0, layout::sample_meta(kind as u8)];
    WRITER.with(|writer| {
        while !write_event(writer.block.get(), event) {
            if !writer.next_block() {
                return lose();
            }
        }
    });
}

/// Posts an overrun of a scope.
#[cold]
#[inline(never)]
fn post(scope: &Scope, arg: u64, limit_ns: u64, entered: Entered, took_ns: u64, at_ns: u64) {
    let assigned = WRITER.with(|writer| {
        // The figures of this frame are worth a sample: take it at the next frame end.
        writer.next_sample_ns.set(0);
        writer.assigned.get()
    });
    let Some(assigned) = assigned else { return };
    let (kind, scope, thread) = (scope.kind_of(), entered.scope(), assigned.tid);
    assigned.shared.overruns.post(Overrun { kind, scope, arg, took_ns, limit_ns, thread, at_ns });
}

/// Posts an overrun that has no slice on this thread.
#[cold]
pub(super) fn post_noted(scope: &'static Scope, arg: u64, took_ns: u64, limit_ns: u64) {
    let Some(id) = scope.register() else { return lose() };
    post(scope, arg, limit_ns, Entered::new(id, 0), took_ns, now_ns());
}

/// Counts an event that cannot be recorded.
#[cold]
#[inline(never)]
fn lose() {
    if let Some(assigned) = WRITER.with(|writer| writer.assigned.get()) {
        assigned.shared.arena.count(header::EVENTS_LOST);
    }
}

/// A frame's end that is worth a sample of the kernel's figures.
pub(super) struct DueSample {
    pub(super) now_ns: u64,
    /// Sum since the thread began.
    pub(super) lock_wait_ns: u64,
}

/// Releases the blocks whose events are all older than the horizon. `None` when no sample is due, or the thread records nothing.
pub(super) fn end_frame() -> Option<DueSample> {
    WRITER.with(|writer| {
        let assigned = writer.assigned.get()?;
        let now_ns = now_ns();
        writer.forget_old(assigned, now_ns);
        (now_ns >= writer.next_sample_ns.get()).then(|| {
            writer.next_sample_ns.set(now_ns + SAMPLE_PERIOD_NS);
            DueSample { now_ns, lock_wait_ns: writer.lock_wait_ns.get() }
        })
    })
}

/// Sets the calling thread's minimum duration of recorded systems ([`ScopeKind::System`]), in nanoseconds; 0, the default,
/// records all. A shorter system counts as own time of the scope around it, unless it exceeded its limit. For threads that
/// step thousands of small worlds per second, whose phases would fill most of the memory and say little.
pub fn record_systems_from(least_ns: u64) {
    WRITER.with(|writer| writer.systems_from_ns.set(least_ns));
}

/// Adds to the time that the calling thread has waited for locks.
pub(crate) fn add_lock_wait(ns: u64) {
    WRITER.with(|writer| writer.lock_wait_ns.set(writer.lock_wait_ns.get() + ns));
}

/// Assigns a slot to the calling thread, or none.
pub(super) fn assign_slot(assigned: Option<ThreadSlot>) {
    WRITER.with(|writer| {
        writer.assigned.set(assigned);
        writer.described.set(0);
        writer.slot.set(assigned.map_or(&NO_SLOT, |assigned| assigned.slot));
        writer.block.set(&NO_BLOCK);
        writer.next_sample_ns.set(0);
        writer.systems_from_ns.set(0);
    });
}

impl ThreadWriter {
    const fn new() -> Self {
        Self {
            assigned: Cell::new(None),
            described: Cell::new(0),
            slot: Cell::new(&NO_SLOT),
            block: Cell::new(&NO_BLOCK),
            next_sample_ns: Cell::new(0),
            systems_from_ns: Cell::new(0),
            lock_wait_ns: Cell::new(0),
        }
    }

    /// Takes another block. False when the pool is empty and the thread has none to reuse.
    fn next_block(&self) -> bool {
        let Some(ThreadSlot { shared, slot, .. }) = self.assigned.get() else { return false };
        let opened = slot[thread::OPENED].load(Relaxed);
        let n_held = opened - slot[thread::RELEASED].load(Relaxed);
        let taken = if n_held < RING as u64 { shared.arena.take_block() } else { None };
        let index = match taken {
            Some(index) => index,
            None if n_held == 0 => return false,
            None => {
                shared.arena.count(header::BLOCKS_RECYCLED);
                slot[thread::RECYCLED].store(slot[thread::RECYCLED].load(Relaxed) + 1, Relaxed);
                release_oldest(slot)
            }
        };
        // A reader that sees anything written from now on, in the block or in the ring, also sees that the block's previous
        // owner has released it.
        fence(Release);
        let block = shared.arena.block(index);
        block[block::COUNT].store(0, Relaxed);
        slot[thread::RING + opened as usize % RING].store(index as u64, Relaxed);
        slot[thread::OPENED].store(opened + 1, Release);
        self.block.set(block);
        true
    }

    /// Releases the blocks with nothing newer than the horizon; never the block being filled.
    fn forget_old(&self, assigned: ThreadSlot, now_ns: u64) {
        let arena = &assigned.shared.arena;
        let oldest_ns = now_ns.saturating_sub(arena.header(header::HORIZON_NS).load(Relaxed));
        let opened = assigned.slot[thread::OPENED].load(Relaxed);
        loop {
            let released = assigned.slot[thread::RELEASED].load(Relaxed);
            if released + 1 >= opened {
                return;
            }
            let index = assigned.slot[thread::RING + released as usize % RING].load(Relaxed) as usize;
            let last: &[_; EVENT_WORDS] =
                arena.block(index).last_chunk().expect("a block has room for its events");
            let [begin, end, _, meta] = last.each_ref().map(|word| word.load(Relaxed));
            if layout::written_at(begin, end, meta) >= oldest_ns {
                return;
            }
            arena.return_block(release_oldest(assigned.slot));
        }
    }

    /// Describes all scopes up to this one in the recorder's memory, and returns its number.
    fn describe(&self, scope: &'static Scope) -> Option<u16> {
        let arena = &self.assigned.get()?.shared.arena;
        let id = scope.register()?;
        let mut described = self.described.get();
        while let Some(next) = registered(described as usize) {
            arena.describe(described as usize, next);
            described += 1;
        }
        self.described.set(described);
        // Another thread may still be registering a smaller number.
        if u32::from(id) >= described {
            arena.describe(id.into(), scope);
        }
        Some(id)
    }
}
