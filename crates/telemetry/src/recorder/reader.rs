//! Reader of the recorder's memory, while threads write to it or after they have stopped.
//!
//! No writer is held up. Instead the reader validates: after copying a block it checks that the thread still held it. Data
//! that changed hands meanwhile are left out and counted. Three rules of the writers make that sound:
//!
//! - An event is complete before the count of its block rises, and is not changed as long as the thread holds the block.
//! - A thread releases a block, which raises a count of its own, before any thread may write to it again.
//! - A slot's state changes before its next thread writes to it.
//!
//! No content is trusted: the process may have crashed because it wrote to wrong addresses. Numbers out of range drop the
//! item that they belong to; no content makes the reader panic, wait, or allocate much memory.

use super::capture::{
    Arg, Capture, KernelSample, OpenScope, SampleKind, ScopeInfo, ScopeKind, Slice, ThreadRecord,
};
use super::layout::{
    self, BLOCK_EVENTS, BLOCK_WORDS, BLOCKS_AT, EVENT_WORDS, KIND_SAMPLE, KIND_SLICE, MAGIC, OPEN_MAX,
    OPEN_WORDS, RING, SCOPE_NAME_WORDS, SCOPES_MAX, STATE_LIVE, STATE_MASK, THREAD_NAME_WORDS, THREADS_MAX,
    VERSION, block, header, scope, thread,
};
use super::scope::NO_LIMIT;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU64, fence};

/// Attempts to read a thread's open scopes, which may change meanwhile. A thread that changes them during every attempt runs
/// only very short scopes.
const OPEN_ATTEMPTS: usize = 16;

/// All words of the memory. Only relaxed loads, since it may be mapped read-only.
#[derive(Debug)]
pub(super) struct MemoryReader<'a> {
    words: &'a [AtomicU64],
    n_blocks: usize,
    /// Called before every word is read, for tests that let writers run at chosen points.
    #[cfg(test)]
    pub(super) interruption: Interruption<'a>,
}

#[cfg(test)]
pub(super) struct Interruption<'a>(pub(super) &'a dyn Fn(usize));

#[cfg(test)]
impl std::fmt::Debug for Interruption<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interruption")
    }
}

impl<'a> MemoryReader<'a> {
    /// Checks that this is a recorder's memory of this version.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] with the reason.
    pub(super) fn new(words: &'a [AtomicU64]) -> io::Result<Self> {
        let invalid = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidData, what.to_owned()));
        let header = |word: usize| words.get(word).map_or(0, |word| word.load(Relaxed));
        if header(header::MAGIC) != MAGIC {
            return invalid("not the memory of a flight recorder");
        }
        let version = header(header::VERSION);
        if version != VERSION {
            return invalid(&format!("a flight recorder's memory of version {version}; this is {VERSION}"));
        }
        if words.len() < BLOCKS_AT || header(header::WORDS) != words.len() as u64 {
            return invalid("a flight recorder's memory that is not whole");
        }
        Ok(Self {
            words,
            n_blocks: layout::blocks_in(words.len()),
            #[cfg(test)]
            interruption: Interruption(&|_| {}),
        })
    }

    /// Slices and samples that ended at or after `begin_ns`, and open scopes.
    pub(super) fn capture(&self, begin_ns: u64) -> Capture {
        let mut events_lost = 0;
        let mut threads: Vec<ThreadRecord> =
            (0..THREADS_MAX).filter_map(|slot| self.thread(slot, begin_ns, &mut events_lost)).collect();
        threads.sort_by(|a, b| (&a.name, a.tid).cmp(&(&b.name, b.tid)));
        // Read after the threads, so that every scope in their records is described by then.
        let scopes = self.scopes();
        for thread in &mut threads {
            let n_before = thread.slices.len();
            thread.slices.retain(|slice| usize::from(slice.scope) < scopes.len());
            thread.open.retain(|open| usize::from(open.scope) < scopes.len());
            events_lost += (n_before - thread.slices.len()) as u64;
        }
        Capture { begin_ns, end_ns: newest(&threads), scopes, threads, events_lost, ..Capture::default() }
    }

    /// The horizon before the last recorded time.
    pub(super) fn last_seconds(&self) -> Capture {
        let mut capture = self.capture(0);
        capture.begin_ns = capture.end_ns.saturating_sub(self.load(header::HORIZON_NS));
        for thread in &mut capture.threads {
            thread.slices.retain(|slice| slice.end_ns >= capture.begin_ns);
            thread.samples.retain(|sample| sample.at_ns >= capture.begin_ns);
        }
        capture
    }

    fn load(&self, at: usize) -> u64 {
        #[cfg(test)]
        (self.interruption.0)(at);
        self.words[at].load(Relaxed)
    }

    fn scopes(&self) -> Vec<ScopeInfo> {
        let mut scopes: Vec<Option<ScopeInfo>> = (0..SCOPES_MAX).map(|id| self.scope(id)).collect();
        let n = scopes.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        scopes.truncate(n);
        let unknown = |id| ScopeInfo {
            name: format!("scope {id}"),
            arg: Arg::None,
            kind: ScopeKind::Scope,
            limit_ns: None,
        };
        scopes.into_iter().enumerate().map(|(id, scope)| scope.unwrap_or_else(|| unknown(id))).collect()
    }

    /// The description of a scope; `None` without one, or for an id that damaged memory contains.
    fn scope(&self, id: usize) -> Option<ScopeInfo> {
        if id >= SCOPES_MAX {
            return None;
        }
        let at = layout::scope_at(id);
        let meta = self.load(at + scope::META);
        if meta == 0 {
            return None;
        }
        fence(Acquire);
        let limit_ns = self.load(at + scope::LIMIT_NS);
        let name: [u64; SCOPE_NAME_WORDS] = std::array::from_fn(|n| self.load(at + scope::NAME + n));
        Some(ScopeInfo {
            name: layout::unpack(&name),
            arg: Arg::ALL.get((meta & 0xFF) as usize).copied().unwrap_or_default(),
            kind: ScopeKind::ALL.get((meta >> 8 & 0xFF) as usize).copied().unwrap_or_default(),
            limit_ns: (limit_ns != NO_LIMIT).then_some(limit_ns),
        })
    }

    /// True for a system, which may end without a slice.
    fn is_system(&self, scope: u16) -> bool {
        self.scope(scope.into()).is_some_and(|scope| scope.kind == ScopeKind::System)
    }

    /// The record of the thread in this slot; `None` if there is none, or it ended meanwhile.
    fn thread(&self, slot: usize, begin_ns: u64, events_lost: &mut u64) -> Option<ThreadRecord> {
        let state = self.load(layout::state_at(slot));
        if state & STATE_MASK != STATE_LIVE {
            return None;
        }
        fence(Acquire);
        let at = layout::thread_at(slot);
        let name: [u64; THREAD_NAME_WORDS] = std::array::from_fn(|n| self.load(at + thread::NAME + n));
        let mut record = ThreadRecord {
            name: layout::unpack(&name),
            tid: self.load(at + thread::TID) as u32,
            // Read before the slices: a scope that ends meanwhile is in both, not in neither. A system may have no slice.
            open: self.open(at),
            blocks_recycled: self.load(at + thread::RECYCLED),
            ..ThreadRecord::default()
        };
        let mut lost = 0;
        self.blocks(at, begin_ns, &mut record, &mut lost);
        fence(Acquire);
        let still_open = self.open(at);
        if self.load(layout::state_at(slot)) != state {
            return None;
        }
        *events_lost += lost;
        record.slices.sort_by_key(|slice| (slice.begin_ns, slice.depth));
        let has_ended = |(depth, open): (u8, &OpenScope)| {
            let key = (open.begin_ns, depth);
            let is_slice = || record.slices.binary_search_by_key(&key, |s| (s.begin_ns, s.depth)).is_ok();
            let goes_on =
                || still_open.get(usize::from(depth)).is_some_and(|still| still.begin_ns == open.begin_ns);
            is_slice() || self.is_system(open.scope) && !goes_on()
        };
        // Scopes inside of an ended one have ended as well.
        if let Some(first_ended) = (0..).zip(&record.open).position(has_ended) {
            record.open.truncate(first_ended);
        }
        Some(record)
    }

    fn open(&self, thread_at: usize) -> Vec<OpenScope> {
        for _ in 0..OPEN_ATTEMPTS {
            let open = self.load(thread_at + thread::OPEN);
            fence(Acquire);
            let depth = ((open & 0xFF) as usize).min(OPEN_MAX);
            let read = |n: usize| {
                let at = thread_at + thread::FRAMES + n * OPEN_WORDS;
                OpenScope { begin_ns: self.load(at), arg: self.load(at + 1), scope: self.load(at + 2) as u16 }
            };
            let scopes = (0..depth).map(read).collect();
            fence(Acquire);
            if self.load(thread_at + thread::OPEN) == open {
                return scopes;
            }
        }
        Vec::new()
    }

    fn blocks(&self, thread_at: usize, begin_ns: u64, record: &mut ThreadRecord, lost: &mut u64) {
        let opened = self.load(thread_at + thread::OPENED);
        fence(Acquire);
        let released = self.load(thread_at + thread::RELEASED);
        let oldest = released.max(opened.saturating_sub(RING as u64));
        let mut words = Vec::with_capacity(BLOCK_WORDS);
        let mut n_gone = 0;
        for n in oldest..opened {
            let index = self.load(thread_at + thread::RING + n as usize % RING);
            fence(Acquire);
            if index >= self.n_blocks as u64 {
                *lost += BLOCK_EVENTS as u64;
                continue;
            }
            let block_at = layout::block_at(index as usize);
            let n_events = (self.load(block_at + block::COUNT) as usize).min(BLOCK_EVENTS);
            fence(Acquire);
            words.clear();
            let events = block_at + EVENT_WORDS..block_at + (n_events + 1) * EVENT_WORDS;
            words.extend(events.map(|at| self.load(at)));
            fence(Acquire);
            if self.load(thread_at + thread::RELEASED) > n {
                n_gone += 1;
                continue;
            }
            for event in words.chunks_exact(EVENT_WORDS) {
                if !decode(event, begin_ns, record) {
                    *lost += 1;
                }
            }
        }
        // Other blocks released meanwhile were older than the horizon.
        let n_early = self.load(thread_at + thread::RECYCLED).saturating_sub(record.blocks_recycled);
        *lost += n_early.min(n_gone) * BLOCK_EVENTS as u64;
    }
}

/// Adds an event to the record unless it is too old. False for an invalid event.
fn decode(event: &[u64], begin_ns: u64, record: &mut ThreadRecord) -> bool {
    let &[begin, end, arg, meta] = event else { return false };
    match layout::kind_of(meta) {
        KIND_SLICE => {
            let depth = meta >> 24;
            if begin > end || depth >= OPEN_MAX as u64 {
                return false;
            }
            if end >= begin_ns {
                let (scope, depth) = (meta as u16, depth as u8);
                record.slices.push(Slice { scope, begin_ns: begin, end_ns: end, arg, depth });
            }
            true
        }
        KIND_SAMPLE => {
            let Some(&what) = SampleKind::ALL.get((meta & 0xFFFF) as usize) else { return false };
            if begin >= begin_ns {
                record.samples.push(KernelSample { at_ns: begin, what, value: end });
            }
            true
        }
        _ => false,
    }
}

/// The latest time in any of these records.
fn newest(threads: &[ThreadRecord]) -> u64 {
    let newest = threads.iter().flat_map(|thread| {
        let slices = thread.slices.iter().map(|slice| slice.end_ns);
        let samples = thread.samples.iter().map(|sample| sample.at_ns);
        slices.chain(samples).chain(thread.open.iter().map(|open| open.begin_ns))
    });
    newest.max().unwrap_or(0)
}
