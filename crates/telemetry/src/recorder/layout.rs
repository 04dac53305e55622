//! Layout of the recorder's memory.
//!
//! Other processes read it, also after a crash, so this is a format: any change increments [`VERSION`]. Everything is a
//! 64-bit word in native byte order, and every word is atomic. Offsets are in words.
//!
//! ```text
//! header             0  magic             "THRNGREC"
//!                    1  version
//!                    2  words             of the whole memory
//!                    3  blocks            in the pool
//!                    4  process           its id
//!                    5  horizon_ns        older events may be forgotten
//!                    6  free              list of free blocks: tag « 32 | index + 1; 0 ends it
//!                    7  fresh             blocks from this index on were never used
//!                    8  blocks_recycled   early, because none was free
//!                    9  events_lost       there was no block at all, too many open scopes, or a scope misused
//!                   10  threads_refused   the table was full
//!                11…23  unused
//! scopes            24  512 × 8:
//!                    0  meta              0 while there is none; 1 « 63 | name's length « 16 | kind « 8 | arg
//!                    1  limit_ns          u64::MAX for none
//!                 2…7  name              48 bytes of UTF-8, zeros behind it
//! thread states   4120  256 × 1: generation « 2 | free 0, being claimed 1, live 2
//! threads         4376  256 × 1136:
//!                    0  tid
//!                 1…4  name              32 bytes of UTF-8, zeros behind it
//!                    5  opened            blocks ever taken
//!                    6  released          of these, given back again
//!                    7  recycled          of these, early
//!                    8  open              changes « 8 | depth: how many scopes are open
//!                9…15  unused
//!             16…111  32 × 3: begin_ns, arg, scope of the open scopes, the outermost first
//!           112…1135  ring: block of the n-th opening at n mod 1024
//! blocks       295424  blocks × 2048:
//!                    0  count             of its events
//!                    1  next              in the list of free ones, index + 1
//!                 2…3  unused
//!             4…2047  511 × 4: begin_ns, end_ns, arg, depth « 24 | kind « 16 | scope
//!                       kind 0: a slice; kind 1: a sample, then (at_ns, value, 0, kind « 16 | which figure)
//! ```
//!
//! The blocks begin on a page. Pages that were never touched take no memory: a pool of 64 MiB costs as much as is used of
//! it.

/// The bytes "THRNGREC", little-endian.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"THRNGREC");
/// Version of this layout.
pub(super) const VERSION: u64 = 1;

pub(super) mod header {
    pub(in super::super) const MAGIC: usize = 0;
    pub(in super::super) const VERSION: usize = 1;
    pub(in super::super) const WORDS: usize = 2;
    pub(in super::super) const BLOCKS: usize = 3;
    pub(in super::super) const PROCESS: usize = 4;
    pub(in super::super) const HORIZON_NS: usize = 5;
    pub(in super::super) const FREE: usize = 6;
    pub(in super::super) const FRESH: usize = 7;
    pub(in super::super) const BLOCKS_RECYCLED: usize = 8;
    pub(in super::super) const EVENTS_LOST: usize = 9;
    pub(in super::super) const THREADS_REFUSED: usize = 10;
}
const HEADER_WORDS: usize = 24;

/// Maximum scopes of a process; a few dozen are declared.
pub(super) const SCOPES_MAX: usize = 512;
const SCOPE_WORDS: usize = 8;
pub(super) const SCOPE_NAME_WORDS: usize = 6;
/// Maximum bytes of a scope's name.
pub(super) const SCOPE_NAME_MAX: usize = SCOPE_NAME_WORDS * 8;

pub(super) mod scope {
    pub(in super::super) const META: usize = 0;
    pub(in super::super) const LIMIT_NS: usize = 1;
    pub(in super::super) const NAME: usize = 2;
}

/// Maximum threads that record at one time: workers and shards of a machine with a hundred cores, and a few others.
pub(super) const THREADS_MAX: usize = 256;
/// Words of a thread's name, 32 bytes; the kernel's names have 15 bytes.
pub(super) const THREAD_NAME_WORDS: usize = 4;
/// Maximum open scopes of a thread. The server's nest four deep; recursion does not belong into a scope.
pub(super) const OPEN_MAX: usize = 32;
pub(super) const OPEN_WORDS: usize = 3;
/// Maximum blocks held by one thread: half a million events.
pub(super) const RING: usize = 1024;

pub(super) mod thread {
    pub(in super::super) const TID: usize = 0;
    pub(in super::super) const NAME: usize = 1;
    pub(in super::super) const OPENED: usize = 5;
    pub(in super::super) const RELEASED: usize = 6;
    pub(in super::super) const RECYCLED: usize = 7;
    pub(in super::super) const OPEN: usize = 8;
    pub(in super::super) const FRAMES: usize = 16;
    pub(in super::super) const RING: usize = FRAMES + super::OPEN_MAX * super::OPEN_WORDS;
}
pub(super) const THREAD_WORDS: usize = thread::RING + RING;

/// Values of a thread's state, below its generation.
pub(super) const STATE_FREE: u64 = 0;
pub(super) const STATE_CLAIMED: u64 = 1;
pub(super) const STATE_LIVE: u64 = 2;
pub(super) const STATE_MASK: u64 = 3;

pub(super) const EVENT_WORDS: usize = 4;
/// Events of a block; the room of one more event is the block's header.
pub(super) const BLOCK_EVENTS: usize = 511;
pub(super) const BLOCK_WORDS: usize = (BLOCK_EVENTS + 1) * EVENT_WORDS;

pub(super) mod block {
    pub(in super::super) const COUNT: usize = 0;
    pub(in super::super) const NEXT: usize = 1;
}

pub(super) const KIND_SLICE: u64 = 0;
pub(super) const KIND_SAMPLE: u64 = 1;

const SCOPES_AT: usize = HEADER_WORDS;
const STATES_AT: usize = SCOPES_AT + SCOPES_MAX * SCOPE_WORDS;
const THREADS_AT: usize = STATES_AT + THREADS_MAX;
const PAGE_WORDS: usize = 512;
pub(super) const BLOCKS_AT: usize = (THREADS_AT + THREADS_MAX * THREAD_WORDS).next_multiple_of(PAGE_WORDS);

// The offsets of the drawing. A thread's words begin on a cache line, apart from the previous thread's.
const _: () = assert!(STATES_AT == 4120 && THREADS_AT == 4376 && BLOCKS_AT == 295_424);
const _: () = assert!(THREADS_AT.is_multiple_of(8) && THREAD_WORDS.is_multiple_of(8) && THREAD_WORDS == 1136);
const _: () = assert!(BLOCK_WORDS.is_multiple_of(PAGE_WORDS));

/// First word of a scope's description.
pub(super) const fn scope_at(id: usize) -> usize {
    SCOPES_AT + id * SCOPE_WORDS
}

/// The state of a thread's slot.
pub(super) const fn state_at(slot: usize) -> usize {
    STATES_AT + slot
}

/// First word of a thread's slot.
pub(super) const fn thread_at(slot: usize) -> usize {
    THREADS_AT + slot * THREAD_WORDS
}

/// First word of a block.
pub(super) const fn block_at(index: usize) -> usize {
    BLOCKS_AT + index * BLOCK_WORDS
}

/// Number of blocks that fit into a memory of this many words.
pub(super) const fn blocks_in(words: usize) -> usize {
    words.saturating_sub(BLOCKS_AT) / BLOCK_WORDS
}

/// Position of the depth in the last word of a slice.
pub(super) const DEPTH_SHIFT: u32 = 24;

/// The last word of a slice.
pub(super) const fn slice_meta(scope: u16, depth: u64) -> u64 {
    depth << DEPTH_SHIFT | KIND_SLICE << 16 | scope as u64
}

/// The last word of a sample.
pub(super) const fn sample_meta(what: u8) -> u64 {
    KIND_SAMPLE << 16 | what as u64
}

/// Time at which an event was written: the end of a slice, the time of a sample.
pub(super) const fn written_at(begin: u64, end: u64, meta: u64) -> u64 {
    if kind_of(meta) == KIND_SAMPLE { begin } else { end }
}

pub(super) const fn kind_of(meta: u64) -> u64 {
    meta >> 16 & 0xFF
}

/// Text as words, truncated at a character boundary.
pub(super) fn pack<const N: usize>(text: &str) -> [u64; N] {
    let mut end = text.len().min(N * 8);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut words = [0; N];
    for (n, &byte) in text.as_bytes()[..end].iter().enumerate() {
        words[n / 8] |= u64::from(byte) << (n % 8 * 8);
    }
    words
}

/// The text of words from [`pack`]. Invalid UTF-8 gives replacement characters.
pub(super) fn unpack(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_their_words_and_are_cut_between_characters() {
        assert_eq!(unpack(&pack::<4>("shard-0")), "shard-0");
        assert_eq!(unpack(&pack::<4>("")), "");
        assert_eq!(unpack(&pack::<1>("welt-größe")), "welt-gr");
        assert_eq!(unpack(&pack::<1>("12345678")), "12345678");
    }
}
