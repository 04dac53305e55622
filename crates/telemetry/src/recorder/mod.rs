//! The flight recorder: what every thread did in the last seconds, always on (DESIGN §9).
//!
//! A [`Scope`] is a static beside the code that it names; entering and leaving it writes one event of 32 bytes into
//! memory that no other thread writes to. Recording never waits and never allocates: blocks of events come from a
//! pool without locks, at the end of each of its frames ([`frame_end`]) a thread gives back those that have grown
//! older than the horizon, and when the pool has run dry it uses its own oldest block again, and counts that.
//!
//! [`Recorder::capture`] reads the last seconds of all threads while they go on; [`read_memory`] does the same from
//! another process, also after a crash. What comes out is a [`Capture`], plain data. A scope that takes longer than
//! it may posts an [`Overrun`], and one thread waits for those ([`Recorder::next_overrun`]) to decide what is worth
//! keeping. Files, quotas and formats are not known here.
//!
//! ```
//! use std::time::Duration;
//! use telemetry::recorder::{Recorder, RecorderConfig, Scope, frame_end};
//!
//! static STEP: Scope = Scope::new("example.step").limit_us(1);
//!
//! let recorder = Recorder::start(RecorderConfig::default())?;
//! let thread = recorder.thread("worker");
//! std::thread::spawn(move || {
//!     thread.install();
//!     let step = STEP.enter(0);
//!     // … work …
//! # std::thread::sleep(Duration::from_micros(2));
//!     drop(step);
//!     frame_end();
//! })
//! .join()
//! .unwrap();
//! let overrun = recorder.next_overrun(Duration::ZERO).expect("a step took longer than a microsecond");
//! assert!(overrun.took_ns > overrun.limit_ns);
//! # std::io::Result::Ok(())
//! ```
//!
//! Where to read on: `layout` draws the memory, `writer` is the path of an event into it, `clock` its times, `reader` the way out.

mod arena;
mod capture;
mod clock;
mod layout;
mod memory;
mod overruns;
mod reader;
mod scope;
#[cfg(test)]
mod tests;
mod thread;
mod ticks;
mod writer;

pub use capture::{
    Arg, Capture, Open, Overrun, Sample, SampleKind, ScopeInfo, ScopeKind, Slice, ThreadRecord,
};
pub(crate) use clock::now_ns;
pub use scope::{Scope, ScopeGuard};
pub use thread::ThreadRecorder;
pub(crate) use writer::add_lock_wait;
pub use writer::{frame_end, record_systems_from};

use arena::Arena;
use layout::header;
use memory::Memory;
use overruns::Overruns;
use reader::Reader;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How much is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecorderConfig {
    /// Room for events and tables, in bytes: 2.3 MB of tables, and 32 bytes an event. Memory that no event was
    /// written to yet is not taken.
    pub memory_bytes: usize,
    /// How far back events are kept, memory permitting.
    pub horizon: Duration,
}

impl Default for RecorderConfig {
    /// 64 MiB and 5 s: two million events, at 5,000 clients some 300,000 a shard.
    fn default() -> Self {
        Self { memory_bytes: 64 << 20, horizon: Duration::from_secs(5) }
    }
}

/// The flight recorder of a process, or none ([`Recorder::off`]). Cheap to copy: it is a reference.
///
/// Once started it is there for the rest of the process, since its threads may record up to their very end.
#[derive(Clone, Copy, Debug)]
pub struct Recorder {
    shared: Option<&'static Shared>,
}

#[derive(Debug)]
struct Shared {
    arena: Arena,
    overruns: Overruns,
}

/// What the recorder has counted since it was started; for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderCounters {
    /// Blocks in the pool.
    pub blocks: u64,
    /// Of these, those that were ever used: their memory is taken.
    pub blocks_touched: u64,
    /// Scopes that were entered, give or take one for each thread that ever recorded.
    pub scopes: u64,
    /// Blocks that were used again before their events had grown old, because none was free.
    pub blocks_recycled: u64,
    /// Events that were not recorded: there was no block at all, more than 32 scopes open, or a scope that outlived
    /// the one around it, or had no place in the table.
    pub events_lost: u64,
    /// Overruns that found the queue full, by [`ScopeKind`].
    pub overruns_lost: [u64; ScopeKind::ALL.len()],
    /// Scopes that found the table full, which has 512 places.
    pub scopes_refused: u64,
    /// Threads that found the table full, which has 256 places.
    pub threads_refused: u64,
}

impl RecorderCounters {
    /// Bytes of a block.
    pub const BLOCK_BYTES: usize = layout::BLOCK_WORDS * 8;
}

impl Recorder {
    /// Takes the memory.
    ///
    /// # Errors
    /// When the system gives none.
    pub fn start(config: RecorderConfig) -> io::Result<Self> {
        let arena = Arena::new(config.memory_bytes, nanos(config.horizon))?;
        let shared = Box::leak(Box::new(Shared { arena, overruns: Overruns::new() }));
        Ok(Self { shared: Some(shared) })
    }

    /// A recorder that records nothing and yields empty captures.
    #[must_use]
    pub const fn off() -> Self {
        Self { shared: None }
    }

    /// What a thread needs in order to record, under this name of at most 32 bytes.
    pub fn thread(&self, name: impl Into<String>) -> ThreadRecorder {
        ThreadRecorder { shared: self.shared, name: name.into() }
    }

    /// What all threads recorded in the last `horizon`, as far as it is still there, and what they are in the middle
    /// of. Stops nobody; takes some ten milliseconds for a million events, so do it where nobody waits.
    #[must_use]
    pub fn capture(&self, horizon: Duration) -> Capture {
        let Some(shared) = self.shared else { return Capture::default() };
        // Limits may have changed.
        for (id, scope) in scope::all_registered() {
            shared.arena.describe(id, scope);
        }
        let reader = Reader::new(shared.arena.memory()).expect("our own memory is as we made it");
        let mut capture = reader.capture(now_ns().saturating_sub(nanos(horizon)));
        capture.end_ns = now_ns();
        capture
    }

    /// The next scope that took too long, when one comes before `timeout`. For one thread: it is woken at once,
    /// another would only see what is there when its time is over.
    #[must_use]
    pub fn next_overrun(&self, timeout: Duration) -> Option<Overrun> {
        match self.shared {
            Some(shared) => shared.overruns.next(timeout),
            None => {
                std::thread::park_timeout(timeout);
                None
            }
        }
    }

    /// Where another process finds the memory, for [`read_memory`]: `/proc/PID/fd/N`.
    #[must_use]
    pub fn memory_path(&self) -> Option<PathBuf> {
        let fd = self.shared?.arena.memory().file().as_raw_fd();
        Some(format!("/proc/{}/fd/{fd}", std::process::id()).into())
    }

    /// Changes how far back events are kept.
    pub fn set_horizon(&self, horizon: Duration) {
        if let Some(shared) = self.shared {
            shared.arena.header(header::HORIZON_NS).store(nanos(horizon), Relaxed);
        }
    }

    /// How far back events are kept.
    #[must_use]
    pub fn horizon(&self) -> Duration {
        let horizon_ns =
            self.shared.map_or(0, |shared| shared.arena.header(header::HORIZON_NS).load(Relaxed));
        Duration::from_nanos(horizon_ns)
    }

    /// Changes the limit of the scope with this name; `None` takes it away. False when no scope of this name was
    /// entered yet.
    #[must_use]
    pub fn set_limit(&self, name: &str, limit: Option<Duration>) -> bool {
        let mut found = false;
        for (id, scope) in scope::all_registered().filter(|(_, scope)| scope.name() == name) {
            scope.set_limit(limit);
            if let Some(shared) = self.shared {
                shared.arena.describe(id, scope);
            }
            found = true;
        }
        found
    }

    /// What it has counted.
    #[must_use]
    pub fn counters(&self) -> RecorderCounters {
        let Some(shared) = self.shared else { return RecorderCounters::default() };
        let header = |word: usize| shared.arena.header(word).load(Relaxed);
        RecorderCounters {
            blocks: shared.arena.n_blocks() as u64,
            blocks_touched: header(header::FRESH),
            scopes: shared.arena.n_scopes(),
            blocks_recycled: header(header::BLOCKS_RECYCLED),
            events_lost: header(header::EVENTS_LOST),
            overruns_lost: shared.overruns.n_lost(),
            scopes_refused: scope::n_refused(),
            threads_refused: header(header::THREADS_REFUSED),
        }
    }
}

/// What the threads of another process recorded in their last seconds, from the [memory](Recorder::memory_path) that
/// it shares. The process may have stopped: as long as it is not gone altogether, its memory can be opened.
///
/// # Errors
/// When the file cannot be opened, which needs the right to trace the process; [`io::ErrorKind::InvalidData`] when it
/// is no recorder's memory, or another version's.
pub fn read_memory(path: &Path) -> io::Result<Capture> {
    let memory = Memory::open(path)?;
    Ok(Reader::new(&memory)?.last_seconds())
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
