//! The flight recorder: the last seconds of every thread's work, always on.
//!
//! A [`Scope`] is a static beside the code that it names; entering and leaving it writes one event of 32 bytes into memory
//! that no other thread writes to. Recording never waits and never allocates. Blocks of events come from a lock-free pool;
//! at the end of each frame ([`frame_end`]) a thread releases blocks older than the horizon; when the pool is empty, it
//! reuses its own oldest block, and counts that.
//!
//! [`Recorder::capture`] reads the last seconds of all threads while they continue; [`read_memory`] does the same from
//! another process, also after a crash. The result is a [`Capture`], plain data. A scope that exceeds its limit posts an
//! [`Overrun`], and one thread receives those ([`Recorder::next_overrun`]) to decide which to keep. Files, quotas and
//! formats are not known here.
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
//! Continue with `layout` (the memory), `writer` (the path of an event into it), `clock` (its times) and `reader`.

mod arena;
mod capture;
mod clock;
mod export;
mod guard;
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
    Arg, Capture, KernelSample, OpenScope, Overrun, SampleKind, ScopeInfo, ScopeKind, Slice, ThreadRecord,
};
pub use clock::now_ns;
pub use guard::ScopeGuard;
pub use scope::Scope;
pub use thread::{ThreadRecorder, frame_end};
pub(crate) use writer::add_lock_wait;
pub use writer::record_systems_from;

use arena::Arena;
use layout::header;
use memory::SharedMemory;
use overruns::Overruns;
use reader::MemoryReader;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Size and horizon of the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecorderConfig {
    /// Bytes for tables (2.3 MB) and events (32 bytes each). Memory that no event was written to yet is not allocated.
    pub memory_bytes: usize,
    /// Age up to which events are kept, memory permitting.
    pub horizon: Duration,
}

impl Default for RecorderConfig {
    /// 64 MiB and 5 s: two million events; with 5,000 clients a shard writes some 300,000.
    fn default() -> Self {
        Self { memory_bytes: 64 << 20, horizon: Duration::from_secs(5) }
    }
}

/// The flight recorder of a process, or none ([`Recorder::off`]). Cheap to copy: it is a reference.
///
/// Once started it stays for the rest of the process, since its threads may record until their very end.
#[derive(Clone, Copy, Debug)]
pub struct Recorder {
    shared: Option<&'static RecorderState>,
}

#[derive(Debug)]
struct RecorderState {
    arena: Arena,
    overruns: Overruns,
}

/// The recorder's counters since its start, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderCounters {
    /// Blocks in the pool.
    pub blocks: u64,
    /// Blocks that were ever used: their memory is allocated.
    pub blocks_touched: u64,
    /// Scopes entered, with an error of at most one per thread that ever recorded.
    pub scopes: u64,
    /// Blocks reused before their events were older than the horizon, because the pool was empty.
    pub blocks_recycled: u64,
    /// Events not recorded: no block, more than 32 open scopes, a scope that outlived the one around it, or a scope without
    /// a place in the table.
    pub events_lost: u64,
    /// Overruns dropped because the queue was full, by [`ScopeKind`].
    pub overruns_lost: [u64; ScopeKind::ALL.len()],
    /// Scopes refused because the table was full (512).
    pub scopes_refused: u64,
    /// Threads refused because the table was full (256).
    pub threads_refused: u64,
}

impl RecorderCounters {
    /// Bytes of a block.
    pub const BLOCK_BYTES: usize = layout::BLOCK_WORDS * 8;
}

impl Recorder {
    /// Starts a recorder: allocates its memory.
    ///
    /// # Errors
    /// When the system refuses memory.
    pub fn start(config: RecorderConfig) -> io::Result<Self> {
        let arena = Arena::new(config.memory_bytes, nanos(config.horizon))?;
        let shared = Box::leak(Box::new(RecorderState { arena, overruns: Overruns::new() }));
        Ok(Self { shared: Some(shared) })
    }

    /// A recorder that records nothing and yields empty captures.
    #[must_use]
    pub const fn off() -> Self {
        Self { shared: None }
    }

    /// Handle with which a thread records, under this name of at most 32 bytes.
    pub fn thread(&self, name: impl Into<String>) -> ThreadRecorder {
        ThreadRecorder { shared: self.shared, name: name.into() }
    }

    /// The last `horizon` of all threads, as far as it is still in memory, and their open scopes. Stops no thread. Takes
    /// some ten milliseconds for a million events, so call it where no other work waits.
    #[must_use]
    pub fn capture(&self, horizon: Duration) -> Capture {
        let Some(shared) = self.shared else { return Capture::default() };
        // Limits may have changed since the scopes were described.
        for (id, scope) in scope::all_registered() {
            shared.arena.describe(id, scope);
        }
        let reader = MemoryReader::new(shared.arena.memory()).expect("our own memory is as we made it");
        let mut capture = reader.capture(now_ns().saturating_sub(nanos(horizon)));
        capture.end_ns = now_ns();
        capture
    }

    /// The next overrun, or `None` after `timeout`. For one thread: only the first caller is notified at once, others notice an overrun
    /// when their timeout ends.
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

    /// Path of the memory for other processes, for [`read_memory`]: `/proc/PID/fd/N`.
    #[must_use]
    pub fn memory_path(&self) -> Option<PathBuf> {
        let fd = self.shared?.arena.memory().file().as_raw_fd();
        Some(format!("/proc/{}/fd/{fd}", std::process::id()).into())
    }

    /// Changes the age up to which events are kept.
    pub fn set_horizon(&self, horizon: Duration) {
        if let Some(shared) = self.shared {
            shared.arena.header(header::HORIZON_NS).store(nanos(horizon), Relaxed);
        }
    }

    /// Age up to which events are kept.
    #[must_use]
    pub fn horizon(&self) -> Duration {
        let horizon_ns =
            self.shared.map_or(0, |shared| shared.arena.header(header::HORIZON_NS).load(Relaxed));
        Duration::from_nanos(horizon_ns)
    }

    /// Changes the limit of the scope with this name; `None` removes it. False if no scope of this name was entered yet.
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

    /// Its counters.
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

/// The last seconds of another process, from its [shared memory](Recorder::memory_path). The process may have stopped: its
/// memory can be opened until the process is gone.
///
/// # Errors
/// When the file cannot be opened, which requires the right to trace the process; [`io::ErrorKind::InvalidData`] when it is
/// no recorder's memory, or of another version.
pub fn read_memory(path: &Path) -> io::Result<Capture> {
    let memory = SharedMemory::open(path)?;
    Ok(MemoryReader::new(&memory)?.last_seconds())
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
