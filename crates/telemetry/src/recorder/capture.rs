//! Result of reading the recorder: plain data, independent of its layout in memory.
//!
//! Start here to write, summarise or draw captures. All times are nanoseconds of the system's CLOCK_MONOTONIC, the same clock
//! in every process of the machine.

use std::collections::BTreeMap;
use std::fmt;

/// The last seconds of all threads that record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// The horizon: slices that ended earlier are left out. Slices may have begun earlier.
    pub begin_ns: u64,
    /// Time of the reading. For a process that has stopped: the last time that any of its threads recorded.
    pub end_ns: u64,
    /// Descriptions of scopes, indexed by the number in slices, open scopes and overruns.
    pub scopes: Vec<ScopeInfo>,
    /// In order of their names, then of their ids.
    pub threads: Vec<ThreadRecord>,
    /// Names of arguments: (World, 0) → "Harbour". The recorder knows none; the caller that takes the capture fills them
    /// in.
    pub labels: BTreeMap<(Arg, u64), String>,
    /// Events missing because their memory was reused while it was read.
    pub events_lost: u64,
}

/// Description of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeInfo {
    /// Part of the server and its work: `shard.client`.
    pub name: String,
    /// Meaning of its argument.
    pub arg: Arg,
    /// Its role in the tick.
    pub kind: ScopeKind,
    /// Its limit; a longer slice is an overrun. `None` also for a frame, whose budget is its world's own.
    pub limit_ns: Option<u64>,
}

/// Meaning of the number recorded with a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Arg {
    /// Nothing.
    #[default]
    None = 0,
    /// A world, by its `WorldId`.
    World = 1,
    /// A client, by its session's number: the client that a shard served.
    Client = 2,
    /// A number of bytes.
    Bytes = 3,
    /// A number of datagrams, messages, commands or the like.
    Count = 4,
    /// A session, by its number: the session that the work was done for.
    Session = 5,
    /// A UDP port, by its index.
    Port = 6,
    /// A prim of a shared world, by its local id, which no other world of the node has.
    Object = 7,
}

/// Role of a scope in the tick. Decides the trigger of its overruns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ScopeKind {
    /// Any other piece of work.
    #[default]
    Scope = 0,
    /// One phase of a world's step.
    System = 1,
    /// A world's whole step.
    Frame = 2,
}

/// Record of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadRecord {
    /// Its own name: `shard-0`.
    pub name: String,
    /// The kernel's id of it.
    pub tid: u32,
    /// In order of their begins, parents before their children, which lie inside of them.
    pub slices: Vec<Slice>,
    /// In order of time.
    pub samples: Vec<KernelSample>,
    /// Open scopes, the outermost first.
    pub open: Vec<OpenScope>,
    /// Blocks reused before their events were older than the horizon, since the thread began, because the pool was empty.
    /// When this rises, the thread's record reaches less far back than the horizon.
    pub blocks_recycled: u64,
}

/// A scope from enter to exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Index in [`Capture::scopes`].
    pub scope: u16,
    /// Time of entering.
    pub begin_ns: u64,
    /// Time of leaving.
    pub end_ns: u64,
    /// Number with the meaning of [`ScopeInfo::arg`].
    pub arg: u64,
    /// Number of scopes open around it.
    pub depth: u8,
}

/// A scope that was entered and not left yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenScope {
    /// Index in [`Capture::scopes`].
    pub scope: u16,
    /// Time of entering.
    pub begin_ns: u64,
    /// Number with the meaning of [`ScopeInfo::arg`].
    pub arg: u64,
}

/// A sample of one of the kernel's figures of a thread. All figures only rise while the thread lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelSample {
    /// Time of the sample.
    pub at_ns: u64,
    /// The figure.
    pub what: SampleKind,
    /// Its value: a sum since the thread began.
    pub value: u64,
}

/// The kernel's figures, which separate working from waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SampleKind {
    /// Nanoseconds on a core.
    RunNs = 0,
    /// Nanoseconds in the run queue: ready, while other threads had the cores.
    WaitNs = 1,
    /// Page faults served from memory.
    MinorFaults = 2,
    /// Page faults that waited for a disk.
    MajorFaults = 3,
    /// Times the thread gave up its core to wait.
    VoluntarySwitches = 4,
    /// Times the kernel took its core away.
    InvoluntarySwitches = 5,
    /// Nanoseconds waiting for locks of the server.
    LockWaitNs = 6,
}

impl Arg {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::World,
        Self::Client,
        Self::Bytes,
        Self::Count,
        Self::Session,
        Self::Port,
        Self::Object,
    ];

    /// Its name in captures and summaries: `client`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::World => "world",
            Self::Client => "client",
            Self::Bytes => "bytes",
            Self::Count => "count",
            Self::Session => "session",
            Self::Port => "port",
            Self::Object => "object",
        }
    }
}

impl ScopeKind {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Scope, Self::System, Self::Frame];

    /// The name of the trigger: `system`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scope => "scope",
            Self::System => "system",
            Self::Frame => "frame",
        }
    }
}

impl SampleKind {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::RunNs,
        Self::WaitNs,
        Self::MinorFaults,
        Self::MajorFaults,
        Self::VoluntarySwitches,
        Self::InvoluntarySwitches,
        Self::LockWaitNs,
    ];

    /// Its name in captures, with its unit: `run_ns`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RunNs => "run_ns",
            Self::WaitNs => "wait_ns",
            Self::MinorFaults => "minor_faults",
            Self::MajorFaults => "major_faults",
            Self::VoluntarySwitches => "voluntary_switches",
            Self::InvoluntarySwitches => "involuntary_switches",
            Self::LockWaitNs => "lock_wait_ns",
        }
    }
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ScopeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for SampleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Slice {
    /// Its duration.
    #[must_use]
    pub const fn took_ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }
}

/// A scope that exceeded its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// Role of the scope, which decides the trigger.
    pub kind: ScopeKind,
    /// Index of the scope in [`Capture::scopes`] of every capture of this recorder.
    pub scope: u16,
    /// Number with the meaning of [`ScopeInfo::arg`].
    pub arg: u64,
    /// Duration.
    pub took_ns: u64,
    /// Limit that it exceeded.
    pub limit_ns: u64,
    /// The thread, by [`ThreadRecord::tid`].
    pub thread: u32,
    /// Time of its end.
    pub at_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_memory_stand_for_the_same_as_positions_in_the_lists() {
        assert!(Arg::ALL.iter().enumerate().all(|(n, &arg)| arg as usize == n));
        assert!(ScopeKind::ALL.iter().enumerate().all(|(n, &kind)| kind as usize == n));
        assert!(SampleKind::ALL.iter().enumerate().all(|(n, &what)| what as usize == n));
    }
}
